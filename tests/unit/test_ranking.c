/* Mid-ranks against their definition by counting, the recipe that makes bytes of them, and models with ranks or
 * sparse rows that are equal after saving and loading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "model/model.h"
#include "prep/recipe.h"
#include "representation.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"
#include "tempfile.h"
#include "threadranks.h"

/* --- ranks --------------------------------------------------------------------------------------------- */

/* 1 + round(254 F(x)) by counting; outside the training range, the rank of its end. Halves round up. */
static int counted_rank(const double *cells, size_t n, double x) {
    double low = cells[0], high = cells[0];
    for (size_t i = 0; i < n; i++) low = fmin(low, cells[i]), high = fmax(high, cells[i]);
    x = fmin(fmax(x, low), high);
    size_t twice = 0; /* 2 n F */
    for (size_t i = 0; i < n; i++) twice += cells[i] < x ? 2 : cells[i] == x ? 1 : 0;
    return 1 + (int)((254 * twice + n) / (2 * n)); /* floor(254 F + 1/2) in whole numbers */
}

/* Bins for trees keep the order, distinguish up to 255 values, and otherwise have about as many cells each. */
static void bins_keep_the_order(void **state) {
    (void)state;
    enum { N = 3000 };
    static double cells[N], sorted[N];
    for (size_t kind = 0; kind < 3; kind++) { /* few values, many, and one that most cells have */
        karma_i_rng rng;
        karma_i_ranking r;
        size_t count[256] = {0}, n_bins = 0, most = 0;
        karma_i_rng_init(&rng, kind + 1);
        for (size_t i = 0; i < N; i++)
            cells[i] = kind == 0                                  ? (double)karma_i_rng_below(&rng, 200)
                       : kind == 2 && karma_i_rng_below(&rng, 10) ? 0.0
                                                                  : karma_i_rng_normal(&rng);
        memcpy(sorted, cells, sizeof cells);
        assert_int_equal(karma_i_ranking_learn_bins(&r, sorted, N, NULL), KARMA_OK);
        for (size_t i = 0; i < N; i++) {
            size_t byte = karma_i_ranking_of(&r, cells[i]);
            assert_true(byte > 0);
            n_bins += count[byte]++ == 0;
            for (size_t j = 0; j < 40; j++) {
                size_t other = karma_i_ranking_of(&r, cells[j]);
                assert_true(cells[i] <= cells[j] ? byte <= other : byte >= other);
                if (kind == 0) assert_int_equal(byte == other, cells[i] == cells[j]);
            }
        }
        for (size_t b = 0; b < 256; b++)
            if (kind != 2 || b != karma_i_ranking_of(&r, 0.0)) most = count[b] > most ? count[b] : most;
        assert_int_equal(n_bins, kind == 0 ? 200 : 255);
        if (kind) assert_true(most <= 2 * N / 255);
        karma_i_ranking_clear(&r);
    }
}

typedef enum cell_kind { CONTINUOUS, TIES, CONSTANT, EXTREME, N_CELL_KINDS } cell_kind;

static void draw_cells(double *cells, size_t n, cell_kind kind, karma_i_rng *rng) {
    static const double extremes[] = {-1e308, 1e308, 0.0, -0.0, 5e-324, -5e-324, 1.0, 1.0000000000000002};
    for (size_t i = 0; i < n; i++)
        cells[i] = kind == CONTINUOUS ? karma_i_rng_normal(rng)
                   : kind == TIES     ? (double)karma_i_rng_below(rng, 6) - 2.0
                   : kind == CONSTANT ? 3.25
                                      : extremes[karma_i_rng_below(rng, 8)];
}

static karma_i_ranking learn(const double *cells, size_t n) {
    karma_i_ranking r;
    double *copy = malloc(n * sizeof *copy);
    memcpy(copy, cells, n * sizeof *copy);
    assert_int_equal(karma_i_ranking_learn(&r, copy, n, NULL), KARMA_OK);
    free(copy);
    return r;
}

/* The library divides in double precision: where 254 F + 1/2 is exactly whole, it may be rounded to either side. */
static void check_rank(const karma_i_ranking *r, const double *cells, size_t n, double x) {
    int got = karma_i_ranking_of(r, x), wanted = counted_rank(cells, n, x);
    assert_in_range(got, 1, 255);
    if (got == wanted) return;
    size_t twice = 0;
    for (size_t i = 0; i < n; i++) twice += cells[i] < x ? 2 : cells[i] == x ? 1 : 0;
    if ((254 * twice + n) % (2 * n) != 0 || abs(got - wanted) > 1)
        fail_msg("n %zu: rank of %.17g is %d, wanted %d", n, x, got, wanted);
}

static void ranks_are_what_counting_gives(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 3, 7, 40, 254, 255, 600};
    static double cells[600];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
        for (int kind = 0; kind < N_CELL_KINDS; kind++) {
            size_t n = counts[k];
            draw_cells(cells, n, (cell_kind)kind, &rng);
            karma_i_ranking r = learn(cells, n);
            size_t distinct = 0;
            for (size_t i = 0; i < n; i++) {
                int seen = 0;
                for (size_t j = 0; j < i; j++) seen |= cells[j] == cells[i];
                distinct += !seen;
                check_rank(&r, cells, n, cells[i]);
                check_rank(&r, cells, n, nextafter(cells[i], INFINITY));
                check_rank(&r, cells, n, nextafter(cells[i], -INFINITY));
            }
            assert_int_equal(r.n, distinct);
            for (size_t i = 0; i < 200; i++) check_rank(&r, cells, n, 3.0 * karma_i_rng_normal(&rng));
            for (size_t i = 1; i < r.n; i++) assert_true(r.value[i] > r.value[i - 1]);
            assert_int_equal(karma_i_ranking_of(&r, INFINITY), r.at[r.n - 1]);
            assert_int_equal(karma_i_ranking_of(&r, -INFINITY), r.at[0]);
            if (kind == CONSTANT) assert_true(r.n == 1 && r.at[0] == 128 && karma_i_ranking_of(&r, 77.0) == 128);
            karma_i_ranking_clear(&r);
        }
}

static void ranks_never_fall(void **state) {
    (void)state;
    static double cells[300];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (int kind = 0; kind <= TIES; kind++) {
        draw_cells(cells, 300, (cell_kind)kind, &rng);
        karma_i_ranking r = learn(cells, 300);
        int last = 1;
        for (double x = -6.0; x <= 6.0; x += 0.003) {
            int rank = karma_i_ranking_of(&r, x);
            assert_true(rank >= last);
            last = rank;
        }
        karma_i_ranking_clear(&r);
    }
}

static double rising(double x, int which) {
    return which == 0 ? exp(x) : which == 1 ? x * x * x : 1e5 * x - 3e6;
}

static void ranks_ignore_monotone_transforms(void **state) {
    (void)state;
    static double cells[200], moved[200];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (int kind = 0; kind <= TIES; kind++)
        for (int which = 0; which < 3; which++) {
            draw_cells(cells, 200, (cell_kind)kind, &rng);
            for (size_t i = 0; i < 200; i++) moved[i] = rising(cells[i], which);
            karma_i_ranking r = learn(cells, 200), s = learn(moved, 200);
            for (size_t i = 0; i < 200; i++)
                assert_int_equal(karma_i_ranking_of(&r, cells[i]), karma_i_ranking_of(&s, moved[i]));
            for (size_t i = 0; i < 200; i++) {
                double x = 2.0 * karma_i_rng_normal(&rng);
                assert_int_equal(karma_i_ranking_of(&r, x), karma_i_ranking_of(&s, rising(x, which)));
            }
            karma_i_ranking_clear(&r);
            karma_i_ranking_clear(&s);
        }
}

/* q of every byte against the definition, by sums over the training cells; and the meaning of centring: the mean of
 * κ over them is 0 for every byte, even one that training does not have. */
static void centred_ranks_have_mean_zero(void **state) {
    (void)state;
    static double cells[700];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (size_t n = 1; n <= 700; n = 3 * n + 1)
        for (int kind = 0; kind < N_CELL_KINDS; kind++) {
            float terms[KARMA_I_RANK_BYTES];
            draw_cells(cells, n, (cell_kind)kind, &rng);
            karma_i_ranking r = learn(cells, n);
            karma_i_ranking_terms(terms, &r, cells, n);
            double mean_A = 0.0, mean_square = 0.0;
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < n; k++)
                    mean_A += abs(karma_i_ranking_of(&r, cells[i]) - karma_i_ranking_of(&r, cells[k])) / 254.0 /
                              (double)(n * n);
            for (int byte = 1; byte <= 255; byte++) {
                double A = 0.0, mean = 0.0;
                for (size_t i = 0; i < n; i++) {
                    int other = karma_i_ranking_of(&r, cells[i]);
                    A += abs(byte - other) / 254.0 / (double)n;
                    mean += (double)terms[byte - 1] + (double)terms[other - 1] - 3.0 * abs(byte - other) / 254.0;
                    mean_square += byte == other ? 2.0 * (double)terms[byte - 1] / (double)n : 0.0; /* κ(u, u) */
                }
                assert_true(fabs((double)terms[byte - 1] - 3.0 * (A - 0.5 * mean_A)) <= 1e-6);
                assert_true(fabs(mean) <= 1e-6 * (double)n);
            }
            if (kind == CONTINUOUS && n > 30) assert_true(fabs(mean_square - 1.0) < 0.05);
            karma_i_ranking_clear(&r);
        }
}

/* --- recipes ------------------------------------------------------------------------------------------- */

static karma_table *read_text(const char *ending, const char *text, const char *target, int absent) {
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_read_option_table(), &o);
    o.absent = absent;
    if (target)
        assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &o, target, NULL),
                         KARMA_OK);
    temp_create(&file, ending, text, strlen(text));
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

static karma_fit_options rank_options(void) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = "rank";
    o.threads = 1;
    return o;
}

static const char *const MIXED =
    "size,colour,constant,label\n1,red,7,yes\n2,,7,no\n,blue,7,yes\n2,green,,no\n-3,red,7,yes\n"
    "0.25,,7,no\n,,,yes\n100,blue,7,no\n";

static void recipes_make_bytes_of_numbers_and_indicators_of_categories(void **state) {
    (void)state;
    static const double sizes[] = {1, 2, 2, -3, 0.25, 100}; /* observed */
    karma_table *table = read_text(".csv", MIXED, "label", KARMA_ABSENT_UNSET);
    karma_fit_options o = rank_options();
    karma_i_recipe *recipe = NULL;
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_RANK, &o, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_recipe_apply(&rows, recipe, table, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    assert_true(rows->n_attributes == 3 && rows->n_features == 3 && !rows_are_sparse(rows) &&
                karma_i_dense_of(rows)->rank_stride == 8);
    assert_true(karma_i_mask_get(karma_i_dense_of(rows)->ranked, 0) &&
                !karma_i_mask_get(karma_i_dense_of(rows)->ranked, 1) &&
                karma_i_mask_get(karma_i_dense_of(rows)->ranked, 2));
    for (size_t i = 0; i < 8; i++) {
        double value;
        const uint8_t *ranks = karma_i_rows_ranks(rows, i);
        int has_size = karma_table_cell(table, i, 0, &value);
        assert_int_equal(ranks[0], has_size ? counted_rank(sizes, 6, value) : 0);
        assert_int_equal(ranks[1], 0);
        assert_int_equal(ranks[2], karma_table_cell(table, i, 2, &value) ? 128 : 0);
        for (size_t k = 3; k < 8; k++) assert_int_equal(ranks[k], 0);
        int has_colour = karma_table_cell(table, i, 1, &value);
        for (size_t f = 0; f < 3; f++) { /* red 2 of 5, blue 2 of 5, green 1 of 5, in the table's order of levels */
            const char *level = karma_table_level(table, 1, f);
            double share = strcmp(level, "green") == 0 ? 0.2 : 0.4;
            double wanted = has_colour ? ((size_t)value == f ? 1.0 : 0.0) - share : 0.0;
            assert_true(fabs((double)karma_i_rows_values(rows, i)[f] - wanted) <= 1e-7);
        }
    }
    karma_i_rows_free(rows);
    /* new rows: outside the range, between two values, a level that is not known */
    rows = NULL;
    karma_table *more =
        read_text(".csv", "size,colour,constant\n-99,pink,7\n1e6,red,6\n1.5,blue,\n", NULL, KARMA_ABSENT_UNSET);
    assert_int_equal(karma_i_recipe_apply(&rows, recipe, more, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_ranks(rows, 0)[0], counted_rank(sizes, 6, -3.0));
    assert_int_equal(karma_i_rows_ranks(rows, 1)[0], counted_rank(sizes, 6, 100.0));
    assert_int_equal(karma_i_rows_ranks(rows, 2)[0], 1 + 127); /* three of six below */
    assert_int_equal(karma_i_rows_ranks(rows, 1)[2], 128);
    assert_int_equal(karma_i_rows_ranks(rows, 2)[2], 0);
    assert_false(karma_i_mask_get(karma_i_rows_mask(rows, 0), 1));
    karma_i_rows_free(rows);
    karma_table_free(more);
    karma_i_recipe_free(recipe);
    o.unit_ball = 1;
    recipe = NULL;
    assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_RANK, &o, NULL, NULL), KARMA_ERR_OPTION);
    assert_null(recipe);
    karma_table_free(table);
}

/* --- models -------------------------------------------------------------------------------------------- */

static void check_round_trip(const karma_table *table, const karma_table *more, const karma_fit_options *options,
                             int sparse) {
    karma_model *model = NULL, *again = NULL;
    karma_error err;
    temp_file file;
    if (karma_fit(&model, table, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_i_model_recipe(model)->is_sparse, sparse);
    assert_int_equal(rows_are_sparse(model->support), sparse);
    temp_create(&file, ".karma", "", 0);
    if (karma_model_save(model, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_model_load(&again, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_i_rows_validate(again->support, NULL), KARMA_OK);
    const karma_table *tables[] = {table, more};
    for (size_t t = 0; t < 2; t++) {
        size_t n = karma_table_n_rows(tables[t]) * karma_model_n_outputs(model);
        double *before = malloc(n * sizeof *before), *after = malloc(n * sizeof *after);
        assert_int_equal(karma_predict(before, model, tables[t], 1, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_predict(after, again, tables[t], 2, NULL, NULL), KARMA_OK);
        assert_memory_equal(before, after, n * sizeof *before);
        int different = 0;
        for (size_t i = 1; i < n; i++) different |= before[i] != before[0];
        assert_true(different);
        free(before);
        free(after);
    }
    temp_remove(&file);
    karma_model_free(model);
    karma_model_free(again);
}

static void models_with_ranks_survive_a_file(void **state) {
    (void)state;
    karma_table *table = read_text(".csv", MIXED, "label", KARMA_ABSENT_UNSET);
    karma_table *more =
        read_text(".csv", "colour,size,constant\nred,1.5,7\nblue,,\npink,300,1\n,-3,7\n", NULL, KARMA_ABSENT_UNSET);
    karma_fit_options o = rank_options();
    for (int solver = KARMA_SOLVER_BATCH; solver <= KARMA_SOLVER_ONLINE; solver++) {
        o.solver = solver;
        o.gamma = 1 + solver;
        check_round_trip(table, more, &o, 0);
    }
    karma_table_free(table);
    karma_table_free(more);
    karma_synth_options s;
    karma_options_init(karma_synth_option_table(), &s);
    s.rows = 120;
    s.dim = 90;
    s.missing = 0.4;
    s.classes = 3;
    table = more = NULL;
    assert_int_equal(karma_table_synthesise(&table, NULL, &s, NULL), KARMA_OK);
    s.seed = 9;
    assert_int_equal(karma_table_synthesise(&more, NULL, &s, NULL), KARMA_OK);
    check_round_trip(table, more, &o, 0);
    karma_table_free(table);
    karma_table_free(more);
}

/* Ratings: 400 attributes, about 4% observed. */
static char *libsvm_text(size_t n, size_t d, int classes, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    size_t size = n * d * 16, used = 0;
    char *text = malloc(size);
    for (size_t i = 0; i < n; i++) {
        double label = classes ? (double)(i % (size_t)classes) : karma_i_rng_normal(&rng);
        used += (size_t)snprintf(text + used, size - used, "%.6g", label);
        for (size_t j = 1; j <= d; j++)
            if (karma_i_rng_uniform(&rng) < 0.04 || (i == 0 && j == d))
                used +=
                    (size_t)snprintf(text + used, size - used, " %zu:%.4g", j, karma_i_rng_normal(&rng) + 0.3 * label);
        used += (size_t)snprintf(text + used, size - used, "\n");
    }
    return text;
}

static void sparse_models_survive_a_file(void **state) {
    (void)state;
    for (int classes = 0; classes <= 3; classes += classes ? 1 : 2) {
        char *text = libsvm_text(150, 400, classes, 20), *other = libsvm_text(60, 500, classes, 21);
        karma_table *table = read_text(".libsvm", text, NULL, KARMA_ABSENT_MISSING);
        karma_table *more = read_text(".libsvm", other, NULL, KARMA_ABSENT_MISSING);
        karma_fit_options o = rank_options();
        o.kernel = NULL;
        for (int solver = KARMA_SOLVER_BATCH; solver <= KARMA_SOLVER_ONLINE; solver++)
            for (o.unit_ball = 0; o.unit_ball < 2; o.unit_ball++) {
                o.solver = solver;
                check_round_trip(table, more, &o, 1);
            }
        o.unit_ball = 0;
        o.kernel = "rank"; /* ranks are bytes of dense rows */
        check_round_trip(table, more, &o, 0);
        karma_table_free(table);
        karma_table_free(more);
        free(text);
        free(other);
    }
}

/* One recipe, both kinds of rows: the same attributes observed, the same values. */
static void sparse_rows_encode_what_dense_ones_do(void **state) {
    (void)state;
    char *text = libsvm_text(80, 300, 2, 22);
    karma_table *table = read_text(".libsvm", text, NULL, KARMA_ABSENT_MISSING);
    karma_fit_options o = rank_options();
    o.kernel = NULL;
    karma_i_recipe *recipe = NULL;
    karma_i_rows *sparse = NULL, *dense = NULL;
    for (o.unit_ball = 0; o.unit_ball < 2; o.unit_ball++) {
        assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_LINEAR, &o, NULL, NULL), KARMA_OK);
        assert_true(recipe->is_sparse);
        assert_int_equal(karma_i_recipe_apply(&sparse, recipe, table, NULL, NULL), KARMA_OK);
        recipe->is_sparse = 0;
        assert_int_equal(karma_i_recipe_apply(&dense, recipe, table, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_validate(sparse, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_validate(dense, NULL), KARMA_OK);
        assert_true(sparse->n_rows == 80 && sparse->n_attributes == dense->n_attributes);
        for (size_t i = 0; i < 80; i++) {
            assert_int_equal(karma_i_rows_n_observed(sparse, i), karma_i_rows_n_observed(dense, i));
            for (size_t p = karma_i_sparse_of(sparse)->cell_start[i]; p < karma_i_sparse_of(sparse)->cell_start[i + 1];
                 p++) {
                double wanted = (double)karma_i_rows_values(dense, i)[karma_i_sparse_of(sparse)->cell_attribute[p]];
                assert_true(
                    karma_i_mask_get(karma_i_rows_mask(dense, i), karma_i_sparse_of(sparse)->cell_attribute[p]));
                assert_true(fabs((double)karma_i_sparse_of(sparse)->cell_value[p] - wanted) <= 1e-6 * fabs(wanted));
            }
        }
        karma_i_rows_free(sparse);
        karma_i_rows_free(dense);
        karma_i_recipe_free(recipe);
        recipe = NULL;
        sparse = dense = NULL;
    }
    karma_table_free(table);
    free(text);
}

/* --- cells of several processes ------------------------------------------------------------------------ */

enum { SHARED_CELLS = 450001 };
static double shared_cells[SHARED_CELLS], sorted_cells[SHARED_CELLS], thinned_cells[SHARED_CELLS];
static size_t n_thinned;

static void sort_part(member *m) {
    size_t first = m->ranks.rank * SHARED_CELLS / m->ranks.size,
           end = (m->ranks.rank + 1) * SHARED_CELLS / m->ranks.size;
    size_t n = end - first;
    double *own = malloc(n * sizeof *own);
    karma_i_gathered all = {0};
    if (!own) abort();
    memcpy(own, shared_cells + first, n * sizeof *own);
    m->status = karma_i_sort_cells_of_all(&all, own, n, &m->ranks, &m->err);
    if (m->status != KARMA_OK || memcmp(all.bytes, sorted_cells, sizeof sorted_cells) != 0) abort();
    karma_i_gathered_clear(&all);
    memcpy(own, shared_cells + first, n * sizeof *own);
    m->status = karma_i_thin_out(&n, own, n, &m->ranks, &m->err);
    if (m->status == KARMA_OK) m->status = karma_i_ranks_gather(&all, own, n * sizeof *own, &m->ranks, &m->err);
    if (m->status != KARMA_OK || all.start[m->ranks.size] != n_thinned * sizeof *own ||
        memcmp(all.bytes, thinned_cells, n_thinned * sizeof *own) != 0)
        abort();
    karma_i_gathered_clear(&all);
    free(own);
}

/* Sorting and thinning over processes give what they give in one; -0 and 0 have an order. */
static void cells_of_processes_are_sorted_together(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < SHARED_CELLS; i++)
        shared_cells[i] = i % 5 == 0 ? 0.0 : i % 5 == 1 ? -0.0 : floor(300.0 * karma_i_rng_normal(&rng));
    memcpy(sorted_cells, shared_cells, sizeof sorted_cells);
    karma_i_sort_cells(sorted_cells, SHARED_CELLS);
    for (size_t i = 1; i < SHARED_CELLS; i++) {
        double x = sorted_cells[i - 1], y = sorted_cells[i];
        assert_true(x < y || (x == y && !(signbit(y) && !signbit(x))));
    }
    for (size_t i = 0; i < SHARED_CELLS; i += 3) thinned_cells[n_thinned++] = shared_cells[i]; /* of three 200,000 */
    for (size_t size = 1; size <= 6; size++) {
        member members[MOST_RANKS];
        run_together(members, size, sort_part, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_what_counting_gives),
        cmocka_unit_test(ranks_never_fall),
        cmocka_unit_test(ranks_ignore_monotone_transforms),
        cmocka_unit_test(bins_keep_the_order),
        cmocka_unit_test(centred_ranks_have_mean_zero),
        cmocka_unit_test(recipes_make_bytes_of_numbers_and_indicators_of_categories),
        cmocka_unit_test(models_with_ranks_survive_a_file),
        cmocka_unit_test(sparse_models_survive_a_file),
        cmocka_unit_test(sparse_rows_encode_what_dense_ones_do),
        cmocka_unit_test(cells_of_processes_are_sorted_together),
    };
    return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
