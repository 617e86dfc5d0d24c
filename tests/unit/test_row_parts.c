/* Rows that are given in parts. The oracle compares every row with every other one, cell by cell. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "table/row_parts.h"
#include "threadranks.h"

enum { MOST_ROWS = 240, COLUMNS = 3, TABLES = 3000 };

typedef struct rows {
    size_t n;
    double cell[MOST_ROWS][COLUMNS], label[MOST_ROWS][2], weight[MOST_ROWS]; /* NaN: missing */
} rows;

static karma_table *table_of(const rows *r) {
    karma_table *table = NULL;
    double labels[2][MOST_ROWS];
    for (size_t i = 0; i < r->n; i++)
        for (size_t t = 0; t < 2; t++) labels[t][i] = r->label[i][t];
    assert_int_equal(karma_table_from_array(&table, r->cell[0], r->n, COLUMNS, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "a", labels[0], NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "b", labels[1], NULL), KARMA_OK);
    assert_int_equal(karma_table_set_row_weights(table, r->weight, NULL), KARMA_OK);
    return table;
}

/* --- the oracle ---------------------------------------------------------------------------------------- */

/* What is left: stays[i], and the weight. */
typedef struct result {
    int stays[MOST_ROWS], any;
    double weight[MOST_ROWS];
} result;

static int same(double a, double b) {
    return isnan(a) ? isnan(b) : a == b;
}

static int same_rows(const rows *r, size_t a, size_t b) {
    int equal = same(r->label[a][0], r->label[b][0]) && same(r->label[a][1], r->label[b][1]);
    for (size_t j = 0; j < COLUMNS; j++) equal &= same(r->cell[a][j], r->cell[b][j]);
    return equal;
}

static int twins(const rows *r, size_t a, size_t b) {
    return same_rows(r, a, b) && r->weight[a] == r->weight[b];
}

/* The table given m times, for the largest m that is possible. */
static int slow_repeats(result *out, const rows *r) {
    size_t m = 0, n_distinct = 0;
    int differ = 0;
    for (size_t i = 0; i < r->n; i++) differ |= r->weight[i] != r->weight[0];
    for (size_t tried = r->n; differ && tried > 1 && m == 0; tried--) {
        int fits = 1;
        for (size_t i = 0; i < r->n; i++) {
            size_t count = 0;
            for (size_t k = 0; k < r->n; k++) count += twins(r, i, k) ? 1 : 0;
            fits &= count % tried == 0;
        }
        if (fits) m = tried;
    }
    for (size_t i = 0; i < r->n; i++) {
        size_t earlier = 0;
        for (size_t k = 0; k < i; k++) earlier += twins(r, i, k) ? 1 : 0;
        n_distinct += earlier == 0;
    }
    if (m < 2 || n_distinct < 10) return 0;
    for (size_t i = 0; i < r->n; i++) {
        size_t earlier = 0;
        for (size_t k = 0; k < i; k++) earlier += twins(r, i, k) ? 1 : 0;
        out->stays[i] = earlier % m == 0;
        out->weight[i] = r->weight[i] * (double)m;
    }
    return 1;
}

static int is_part(const result *x, size_t i) {
    return x->stays[i] && x->weight[i] > 0.0 && x->weight[i] < 1.0;
}

/* Parts of rows of weight 1: a row stays if it is the first of its equals, or if their sum reaches a whole number
 * between the part before it and itself. */
static int slow_parts(result *x, const rows *r) {
    const result given = *x;
    int any = 0;
    for (size_t i = 0; i < r->n; i++) {
        double sum = 0.0;
        size_t count = 0;
        for (size_t k = 0; k < r->n; k++) {
            if (!is_part(&given, i) || !is_part(&given, k) || !same_rows(r, i, k)) continue;
            sum += given.weight[k];
            count++;
        }
        if (count < 2) continue;
        if (sum < 0.5 || fabs(sum - floor(sum + 0.5)) > 1e-5) return 0;
        any = 1;
    }
    for (size_t i = 0; any && i < r->n; i++) {
        double before = 0.0, sum = 0.0, last = -1.0;
        size_t count = 0;
        for (size_t k = 0; k < r->n; k++) {
            if (!is_part(&given, i) || !is_part(&given, k) || !same_rows(r, i, k)) continue;
            if (k < i) last = before;
            if (k < i) before += given.weight[k];
            sum += given.weight[k];
            count++;
        }
        if (count < 2) continue;
        x->stays[i] = (last < 0.0 || floor(before + 1e-5) > floor(last + 1e-5)) && before < floor(sum + 0.5) - 1e-5;
        x->weight[i] = 1.0;
    }
    return any;
}

/* Bits: 1, the table was given several times; 2, there were parts. */
static int slowly(result *out, const rows *r) {
    for (size_t i = 0; i < r->n; i++) {
        out->stays[i] = 1;
        out->weight[i] = r->weight[i];
    }
    int found = slow_repeats(out, r);
    found |= 2 * slow_parts(out, r);
    out->any = found != 0;
    return found;
}

/* --- tables -------------------------------------------------------------------------------------------- */

/* Few values, so that rows are equal by chance; a zero may be negative. */
static double draw_cell(karma_i_rng *rng, size_t n_values) {
    size_t value = karma_i_rng_below(rng, n_values + 1);
    if (value == n_values) return NAN;
    return value == 0 && karma_i_rng_below(rng, 2) ? -0.0 : (double)value;
}

static double draw_weight(karma_i_rng *rng, size_t kind) {
    static const double some[] = {0.0, 0.5, 1.0, 2.0};
    if (kind == 0) return 1.0;
    if (kind == 1) return some[karma_i_rng_below(rng, 4)];
    return kind == 2 ? 0.5 : 0.1 + 2.0 * karma_i_rng_uniform(rng);
}

static void add_row(rows *r, const rows *from, size_t i, double weight) {
    if (r->n == MOST_ROWS) return;
    memcpy(r->cell[r->n], from->cell[i], sizeof r->cell[0]);
    memcpy(r->label[r->n], from->label[i], sizeof r->label[0]);
    r->weight[r->n++] = weight;
}

static void draw_rows(rows *out, karma_i_rng *rng) {
    rows first = {.n = 1 + karma_i_rng_below(rng, 40)};
    size_t n_values = 1 + karma_i_rng_below(rng, 6), kind = karma_i_rng_below(rng, 4);
    for (size_t i = 0; i < first.n; i++) {
        for (size_t j = 0; j < COLUMNS; j++) first.cell[i][j] = draw_cell(rng, n_values);
        for (size_t t = 0; t < 2; t++) first.label[i][t] = draw_cell(rng, 2);
        first.weight[i] = draw_weight(rng, kind);
    }
    size_t way = karma_i_rng_below(rng, 7), m = 2 + karma_i_rng_below(rng, 3);
    out->n = 0;
    for (size_t copy = 0; copy < (way == 0 ? m : 1); copy++) /* the table, then again */
        for (size_t i = 0; i < first.n; i++) {
            double w = first.weight[i];
            if (way == 0)
                add_row(out, &first, i, w / (double)m);
            else if (way == 1)
                for (size_t k = 0; k < m; k++) add_row(out, &first, i, w / (double)m);
            else if (way == 6) /* halves of halves, and of whole rows */
                for (size_t k = 0; k < (i % 2 ? 4 : 2); k++) add_row(out, &first, i, i % 2 ? 0.25 : 0.5);
            else if (way == 2 || (way == 3 && i % 5 == 2)) {
                add_row(out, &first, i, 0.2 * w);
                add_row(out, &first, i, 0.3 * w);
                add_row(out, &first, i, 0.5 * w);
            } else if (way == 4) {
                add_row(out, &first, i, floor(w / 3.0 * 1e6) / 1e6);
                add_row(out, &first, i, floor(w / 3.0 * 1e6) / 1e6);
                add_row(out, &first, i, floor(w / 3.0 * 1e6) / 1e6);
                if (i % 7 == 3) add_row(out, &first, i, 1e-7); /* begins no row */
            } else
                add_row(out, &first, i, w);
        }
    if (way == 0 && out->n > 0 && karma_i_rng_below(rng, 4) == 0) out->n--; /* not quite */
    double largest = 0.0;
    for (size_t i = 0; i < out->n; i++) largest = fmax(largest, out->weight[i]);
    if (out->n == 0 || largest == 0.0) add_row(out, &first, 0, 1.0);
}

/* --- comparisons --------------------------------------------------------------------------------------- */

typedef struct outcome {
    size_t n, row[MOST_ROWS];
    double weight[MOST_ROWS];
    int any;
} outcome;

static void compare(const outcome *got, const result *wanted, const rows *r) {
    size_t k = 0;
    assert_int_equal(got->any, wanted->any);
    for (size_t i = 0; i < r->n; i++) {
        if (!wanted->stays[i]) continue;
        assert_true(k < got->n);
        assert_int_equal(got->row[k], i);
        assert_true(got->weight[k++] == wanted->weight[i]);
    }
    assert_int_equal(got->n, k);
}

static void join(outcome *out, const karma_table *table, size_t first) {
    double *weights = NULL;
    out->n = karma_table_n_rows(table);
    for (size_t i = 0; i < out->n; i++) out->row[i] = i;
    assert_int_equal(karma_i_row_parts_join(&weights, out->row, &out->n, table, NULL), KARMA_OK);
    out->any = weights != NULL;
    for (size_t i = 0; i < out->n; i++) {
        out->weight[i] = weights ? weights[i] : karma_table_row_weight(table, out->row[i]);
        out->row[i] += first;
    }
    karma_i_free(weights);
}

static void rows_in_one_process(void **state) {
    (void)state;
    karma_i_rng rng;
    size_t found[4] = {0};
    karma_i_rng_init(&rng, 1);
    for (size_t k = 0; k < TABLES; k++) {
        rows r;
        result wanted;
        outcome got;
        draw_rows(&r, &rng);
        karma_table *table = table_of(&r);
        found[slowly(&wanted, &r)]++;
        join(&got, table, 0);
        compare(&got, &wanted, &r);
        karma_table_free(table);
    }
    for (size_t k = 0; k < 4; k++)
        if (found[k] < 100) fail_msg("case %zu occurs %zu times", k, found[k]);
}

/* Processes with any numbers of rows, some without. */
typedef struct shared {
    const karma_table *table;
    size_t cut[MOST_RANKS + 1];
    outcome own[MOST_RANKS];
} shared;

static void join_together(member *m) {
    shared *s = m->payload;
    size_t rank = m->ranks.rank, first = s->cut[rank], n = s->cut[rank + 1] - first, index[MOST_ROWS];
    karma_table *part = NULL;
    for (size_t i = 0; i < n; i++) index[i] = first + i;
    assert_int_equal(karma_table_select(&part, s->table, index, n, NULL), KARMA_OK);
    part->split = (karma_i_partition){&m->ranks, s->table->n_rows, first, n};
    join(&s->own[rank], part, first);
    karma_table_free(part);
}

static void rows_of_several_processes(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 3, 5};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t k = 0; k < 300; k++) {
        rows r;
        result wanted;
        outcome got = {0};
        shared s = {0};
        member members[MOST_RANKS];
        size_t size = sizes[k % 3];
        draw_rows(&r, &rng);
        karma_table *table = table_of(&r);
        s.table = table;
        for (size_t p = 1; p < size; p++) s.cut[p] = s.cut[p - 1] + karma_i_rng_below(&rng, r.n - s.cut[p - 1] + 1);
        s.cut[size] = r.n;
        run_together(members, size, join_together, &s);
        for (size_t p = 0; p < size; p++) {
            got.any |= s.own[p].any;
            for (size_t i = 0; i < s.own[p].n; i++) {
                got.row[got.n] = s.own[p].row[i];
                got.weight[got.n++] = s.own[p].weight[i];
            }
        }
        (void)slowly(&wanted, &r);
        compare(&got, &wanted, &r);
        karma_table_free(table);
    }
}

/* --- rows that are no parts ---------------------------------------------------------------------------- */

/* A survey: twelve different rows, each many times. Every row is evidence. */
static void equal_rows_stay(void **state) {
    (void)state;
    static const double weights[] = {1.0, 0.5, 1.0 / 240.0, 3.0, 1e-9};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (size_t k = 0; k < 6; k++) {
        rows r = {.n = MOST_ROWS};
        outcome got;
        for (size_t i = 0; i < r.n; i++) {
            r.cell[i][0] = (double)karma_i_rng_below(&rng, 2);
            r.cell[i][1] = (double)karma_i_rng_below(&rng, 3);
            r.cell[i][2] = NAN;
            r.label[i][0] = r.label[i][1] = (double)karma_i_rng_below(&rng, 2);
            r.weight[i] = k < 5 ? weights[k] : 0.5 + 0.25 * (double)karma_i_rng_below(&rng, 4);
        }
        karma_table *table = table_of(&r);
        join(&got, table, 0);
        assert_false(got.any);
        assert_int_equal(got.n, MOST_ROWS);
        karma_table_free(table);
    }
}

/* --- what is learned ----------------------------------------------------------------------------------- */

static karma_model *searched(const karma_table *table) {
    karma_model *model = NULL;
    karma_fit_options fit;
    karma_search_options search;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    search.effort = KARMA_EFFORT_QUICK;
    assert_int_equal(karma_search(&model, table, &fit, &search, NULL, NULL), KARMA_OK);
    return model;
}

/* 59 rows with a label, and one without, in uneven parts. */
static void draw_parts(rows *whole, rows *parts) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    whole->n = 60;
    parts->n = 0;
    for (size_t i = 0; i < whole->n; i++) {
        double sum = 0.0;
        for (size_t j = 0; j < COLUMNS; j++) sum += whole->cell[i][j] = karma_i_rng_normal(&rng);
        whole->label[i][0] = whole->label[i][1] = i == 5 ? NAN : sum;
        whole->weight[i] = 1.0;
        add_row(parts, whole, i, 0.25);
        add_row(parts, whole, i, 0.75);
    }
}

/* Rows that were left out keep their numbers in the table that was given, those of their first parts. */
static void left_out_rows_have_their_numbers(void **state) {
    (void)state;
    rows whole, parts;
    const size_t *one, *two;
    const double *wanted, *got;
    draw_parts(&whole, &parts);
    karma_table *a = table_of(&whole), *b = table_of(&parts);
    karma_model *first = searched(a), *second = searched(b);
    assert_int_equal(karma_model_info(second)->n_rows, 59);
    assert_int_equal(karma_model_info(second)->n_joined, 59);
    assert_int_equal(karma_model_info(second)->n_unlabelled, 2);
    size_t n = karma_search_left_out(first, &one, &wanted);
    assert_int_equal(n, 59);
    assert_int_equal(karma_search_left_out(second, &two, &got), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(one[i], i < 5 ? i : i + 1);
        assert_int_equal(two[i], 2 * one[i]);
    }
    assert_memory_equal(got, wanted, 2 * n * sizeof *got);
    karma_model_free(first);
    karma_model_free(second);
    karma_table_free(a);
    karma_table_free(b);
}

static karma_status mark_rows(void *payload, const karma_model *model, const karma_table *test, const size_t *index,
                              const double *scores, karma_error *err) {
    size_t *times = payload;
    (void)model, (void)scores, (void)err;
    for (size_t i = 0; i < karma_table_n_rows(test); i++) times[index[i]]++;
    return KARMA_OK;
}

/* Each row is judged once, under the number of its first part. */
static void folds_have_whole_rows(void **state) {
    (void)state;
    rows whole, parts;
    size_t times[MOST_ROWS] = {0};
    karma_cv cv;
    karma_fit_options fit;
    karma_search_options search;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    search.effort = KARMA_EFFORT_OFF;
    draw_parts(&whole, &parts);
    karma_table *table = table_of(&parts);
    assert_int_equal(karma_cross_validate_with(&cv, table, &fit, &search, 4, 1, mark_rows, times, NULL, NULL),
                     KARMA_OK);
    assert_int_equal(cv.n_rows, 59);
    for (size_t i = 0; i < parts.n; i++) assert_int_equal(times[i], i % 2 == 0 && i / 2 != 5);
    karma_cv_clear(&cv);
    karma_table_free(table);
}

/* Rows of kernel values have no cells; every row is a step of the online solver. */
static void rows_that_are_never_joined(void **state) {
    (void)state;
    rows whole, parts;
    draw_parts(&whole, &parts);
    for (int online = 0; online < 2; online++) {
        static float gram[MOST_ROWS * MOST_ROWS];
        karma_table *table = table_of(&parts);
        karma_model *model = NULL;
        karma_fit_options fit;
        karma_options_init(karma_fit_option_table(), &fit);
        fit.solver = online ? KARMA_SOLVER_ONLINE : KARMA_SOLVER_AUTO;
        for (size_t i = 0; i < parts.n * parts.n; i++) gram[i] = i % (parts.n + 1) ? 0.5F : 1.0F;
        if (!online) assert_int_equal(karma_table_set_gram(table, gram, parts.n, NULL), KARMA_OK);
        assert_int_equal(karma_fit(&model, table, &fit, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_model_info(model)->n_rows, 118);
        assert_int_equal(karma_model_info(model)->n_joined, 0);
        karma_model_free(model);
        karma_table_free(table);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_one_process),   cmocka_unit_test(rows_of_several_processes),
        cmocka_unit_test(equal_rows_stay),       cmocka_unit_test(left_out_rows_have_their_numbers),
        cmocka_unit_test(folds_have_whole_rows), cmocka_unit_test(rows_that_are_never_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
