/* Kernels composed of parts (Σκ and overlaps that were computed once) against the reference in double precision and
 * against kernels computed from the rows themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel_build.h"
#include "kernel/parts.h"
#include "kernel/row_cache.h"
#include "labelled.h"
#include "prep/encoder.h"
#include "randomrows.h"
#include "table/rows_matrix.h"
#include "table/rows_sparse.h"

/* --- rows and their parts ------------------------------------------------------------------------------ */

enum { N_KINDS = 3 };
static const karma_kernel_kind kinds[N_KINDS] = {KARMA_KERNEL_LINEAR, KARMA_KERNEL_RANK, KARMA_KERNEL_SUBSPACE};

typedef struct world {
    karma_i_rows *rows, *train, *others; /* all of them, and copies of either side */
    unsigned char *is_train;
    karma_i_parts parts;
} world;

/* The copies are gathered rows of all encodings. */
static karma_i_rows *gather(const karma_i_rows *rows, const unsigned char *is_train, int want) {
    karma_i_rows *out = NULL;
    size_t *index = malloc(rows->n_rows * sizeof *index), n = 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        if ((is_train[i] != 0) == want) index[n++] = i;
    assert_int_equal(karma_i_rows_new_like(&out, rows, n, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_gather(out, rows, index, n, NULL), KARMA_OK);
    free(index);
    return out;
}

/* The world takes ownership of `rows`. Every `every`-th row is not a training row. */
static world make_world(karma_i_rows *rows, size_t every, int threads) {
    world w = {.rows = rows, .is_train = malloc(rows->n_rows)};
    for (size_t i = 0; i < rows->n_rows; i++) w.is_train[i] = i % every != every - 1;
    w.train = gather(rows, w.is_train, 1);
    w.others = gather(rows, w.is_train, 0);
    assert_int_equal(karma_i_parts_compute(&w.parts, rows, w.is_train, threads, NULL), KARMA_OK);
    assert_int_equal(w.parts.train->n_rows, w.train->n_rows);
    assert_int_equal(w.parts.others->n_rows, w.others->n_rows);
    return w;
}

static void free_world(world *w) {
    karma_i_parts_clear(&w->parts);
    karma_i_rows_free(w->rows);
    karma_i_rows_free(w->train);
    karma_i_rows_free(w->others);
    free(w->is_train);
}

static karma_fit_options defaults(void) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.subspace_rank = 2;
    o.threads = 1;
    return o;
}

/* Numbers and categories under the three encodings: 8 levels are codes, 2 are indicators. */
static karma_i_rows *encoded_rows(const table_plan *plan, int rank_form, uint64_t seed) {
    karma_table *table = draw_labelled(plan, seed);
    karma_fit_options o = defaults();
    karma_i_encoder encoder;
    karma_i_rows *rows = NULL;
    o.rank_form = rank_form;
    assert_int_equal(karma_i_encoder_learn(&encoder, table, kinds, N_KINDS, &o, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_encoder_apply(&rows, &encoder, table, NULL, NULL), KARMA_OK);
    karma_i_encoder_clear(&encoder);
    karma_table_free(table);
    return rows;
}

static karma_i_rows *sparse_rows(size_t n_rows, size_t n_attributes, uint64_t seed) {
    karma_i_rows *rows = NULL;
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    assert_int_equal(karma_i_rows_new_sparse(&rows, n_attributes, n_rows, NULL), KARMA_OK);
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_attributes; j++)
            if (karma_i_rng_uniform(&rng) < 0.15)
                assert_int_equal(karma_i_rows_add_cell(rows, j, (float)karma_i_rng_normal(&rng), NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_end_sparse(rows, NULL), KARMA_OK);
    }
    return rows;
}

/* --- kernels ------------------------------------------------------------------------------------------- */

static void learn(karma_i_kernel *kernel, const char *text, const karma_i_rows *rows) {
    karma_fit_options o = defaults();
    karma_i_plan plan;
    karma_kernel_kind order[KARMA_N_KERNELS] = {KARMA_KERNEL_LINEAR, KARMA_KERNEL_RANK, KARMA_KERNEL_SUBSPACE};
    size_t n = N_KINDS;
    karma_error err;
    if (karma_i_plan_parse(&plan, text, &o, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_i_plan_kernel_number(&plan.members[0].kernel, order, &n);
    assert_int_equal(karma_i_kernel_learn(kernel, &plan.members[0].kernel, rows, 1, NULL), KARMA_OK);
    karma_i_plan_clear(&plan);
}

/* Relative to the larger of k(x,x) and k(y,y), which bounds k(x,y). A distance near 0 has no correct digits, and
 * laplace takes its root. */
static double tolerance(const char *text) {
    return strstr(text, "laplace") ? 4e-3 : strstr(text, "rbf") ? 4e-5 : 1e-5;
}

static void check_block(const char *text, const karma_i_kernel *kernel, const world *w, int want_train) {
    const karma_i_rows *parts = want_train ? w->parts.train : w->parts.others;
    const karma_i_rows *rows = want_train ? w->train : w->others;
    size_t n = w->train->n_rows, step = 1 + rows->n_rows * n / 400;
    float *got = malloc((rows->n_rows * n + 1) * sizeof *got), *block = malloc((rows->n_rows * n + 1) * sizeof *block);
    double *own = malloc((rows->n_rows + 1) * sizeof *own), *diagonal = malloc((n + 1) * sizeof *diagonal);
    assert_int_equal(karma_i_kernel_block(got, n, kernel, karma_i_rows_all(parts), karma_i_rows_all(w->parts.train), 1),
                     KARMA_OK);
    assert_int_equal(karma_i_kernel_block(block, n, kernel, karma_i_rows_all(rows), karma_i_rows_all(w->train), 1),
                     KARMA_OK);
    karma_i_kernel_diagonal(own, kernel, karma_i_rows_all(parts));
    karma_i_kernel_diagonal(diagonal, kernel, karma_i_rows_all(w->train));
    for (size_t i = 0; i < rows->n_rows; i++) {
        double reference = karma_i_kernel_reference(kernel, rows, i, rows, i);
        if (!(fabs(own[i] - reference) <= 1e-5 * (1e-6 + fabs(reference))))
            fail_msg("'%s': row %zu with itself is %.9g, not %.9g", text, i, own[i], reference);
    }
    for (size_t p = 0; p < rows->n_rows * n; p++) {
        double size = fmax(1e-6, fmax(own[p / n], diagonal[p % n])), off = tolerance(text) * size;
        if (!(fabs((double)got[p] - (double)block[p]) <= off))
            fail_msg("'%s': %.9g of parts, %.9g of rows %zu and %zu", text, (double)got[p], (double)block[p], p / n,
                     p % n);
        if (p % step) continue;
        double reference = karma_i_kernel_reference(kernel, rows, p / n, w->train, p % n);
        if (!(fabs((double)got[p] - reference) <= off))
            fail_msg("'%s': %.9g of parts, %.9g by the formula, rows %zu and %zu", text, (double)got[p], reference,
                     p / n, p % n);
    }
    free(got);
    free(block);
    free(own);
    free(diagonal);
}

/* What a kernel learns from its training rows is the same from their parts. */
static void check_facts(const char *text, const karma_i_kernel *a, const karma_i_kernel *b) {
    assert_int_equal(a->n_factors, b->n_factors);
    for (size_t f = 0; f < a->n_factors; f++) {
        karma_i_factor_facts x = karma_i_factor_known(&a->factors[f]), y = karma_i_factor_known(&b->factors[f]);
        if (x.scale != y.scale || x.largest_overlap != y.largest_overlap ||
            !(fabs(x.spread - y.spread) <= 1e-5 * y.spread))
            fail_msg("'%s': scale %.9g, %zu observed, spread %.9g of parts; %.9g, %zu, %.9g of rows", text, x.scale,
                     x.largest_overlap, x.spread, y.scale, y.largest_overlap, y.spread);
    }
}

static void check_formula(const char *text, const world *w) {
    karma_i_kernel kernel, again;
    learn(&kernel, text, w->train);
    learn(&again, text, w->parts.train);
    check_facts(text, &again, &kernel);
    check_block(text, &kernel, w, 1);
    check_block(text, &kernel, w, 0);
    karma_i_kernel_clear(&kernel);
    karma_i_kernel_clear(&again);
}

/* Every encoding under every map and γ, and sums and products of them. */
static void check_formulas(const world *w, size_t n_kinds) {
    static const char *const names[] = {"linear", "rank", "subspace"};
    static const char *const maps[] = {"identity",      "cosine",  "poly,degree=3,offset=0.5",
                                       "rbf,width=0.7", "laplace", "series,series=1:0:0.5"};
    static const char *const mixed[] = {
        "linear + 0.5*rank",
        "linear(gamma=1,outer=rbf) * rank(gamma=4)",
        "linear(gamma=2) + 10*subspace(bias=0)",
        "rank(outer=rbf) * subspace(outer=cosine) + 0.1*linear(gamma=1) + 2*rank(gamma=1,bias=0)",
    };
    char text[200];
    for (size_t k = 0; k < n_kinds; k++)
        for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++)
            for (size_t gamma = 1; gamma <= (k < 2 ? 5U : 1U); gamma += 2)
                for (int bias = 0; bias < 2; bias++) {
                    (void)snprintf(text, sizeof text, "%s(%s%.0zu%sbias=%d,outer=%s)", names[k], k < 2 ? "gamma=" : "",
                                   k < 2 ? gamma : (size_t)0, k < 2 ? "," : "", bias, maps[m]);
                    check_formula(text, w);
                }
    for (size_t f = 0; n_kinds == N_KINDS && f < sizeof mixed / sizeof mixed[0]; f++) check_formula(mixed[f], w);
}

static void dense_rows(void **state) {
    (void)state;
    table_plan plans[] = {{70, 5, 3, 8, 0.6, 2, 1.0}, {40, 3, 2, 2, 0.5, 2, 1.0}, {25, 4, 0, 0, 1.0, 2, 1.0}};
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++)
        for (int form = 0; form < KARMA_N_RANK_FORMS; form++) {
            world w = make_world(encoded_rows(&plans[p], form, 3 + p), 3, 1);
            check_formulas(&w, N_KINDS);
            free_world(&w);
        }
}

static void only_categories(void **state) {
    (void)state;
    table_plan plan = {50, 0, 4, 6, 0.7, 2, 1.0};
    world w = make_world(encoded_rows(&plan, 0, 11), 4, 1);
    check_formulas(&w, N_KINDS);
    free_world(&w);
}

static void sparse_rows_have_parts(void **state) {
    (void)state;
    world w = make_world(sparse_rows(60, 50, 5), 4, 1);
    check_formulas(&w, 1);
    free_world(&w);
}

/* More than 64 attributes, more than one tile of rows, one row that is left out, or none. */
static void many_of_everything(void **state) {
    (void)state;
    table_plan wide = {30, 130, 0, 0, 0.3, 2, 1.0}, tall = {560, 3, 1, 5, 0.6, 2, 1.0};
    static const char *const texts[] = {"linear(gamma=3)", "rank(gamma=2,outer=rbf)", "linear + rank * subspace"};
    for (int shape = 0; shape < 2; shape++)
        for (size_t every = 30; every <= 600; every += 570) {
            world w = make_world(encoded_rows(shape ? &tall : &wide, 0, 17), every, 1);
            for (size_t f = 0; f < sizeof texts / sizeof texts[0]; f++) check_formula(texts[f], &w);
            free_world(&w);
        }
}

/* --- threads and caches -------------------------------------------------------------------------------- */

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    table_plan plan = {300, 5, 2, 8, 0.6, 2, 1.0};
    world one = make_world(encoded_rows(&plan, 0, 21), 3, 1), more = make_world(encoded_rows(&plan, 0, 21), 3, 3);
    size_t n = one.train->n_rows, n_all = one.rows->n_rows * n;
    float *a = malloc(n * n * sizeof *a), *b = malloc(n * n * sizeof *b);
    karma_i_kernel kernel;
    for (size_t e = 0; e < N_KINDS; e++) {
        assert_memory_equal(one.parts.sums[e], more.parts.sums[e], n_all * sizeof(float));
        assert_memory_equal(one.parts.overlaps[e], more.parts.overlaps[e], n_all * sizeof(uint16_t));
    }
    learn(&kernel, "linear(gamma=3) + rank(outer=rbf) * subspace", one.parts.train);
    for (int threads = 1; threads <= 3; threads++) {
        karma_i_view train = karma_i_rows_all(one.parts.train);
        assert_int_equal(karma_i_kernel_gram(threads == 1 ? a : b, n, &kernel, train, threads), KARMA_OK);
        if (threads > 1) assert_memory_equal(a, b, n * n * sizeof *a);
    }
    karma_i_kernel_clear(&kernel);
    free_world(&one);
    free_world(&more);
    free(a);
    free(b);
}

/* Linear and rank rows have the same holes, coordinates of the subspace have none. */
static void encodings_with_the_same_holes_share_overlaps(void **state) {
    (void)state;
    table_plan plan = {20, 4, 1, 8, 0.5, 2, 1.0};
    world w = make_world(encoded_rows(&plan, 0, 23), 5, 1);
    assert_ptr_equal(w.parts.overlaps[0], w.parts.overlaps[1]);
    assert_ptr_not_equal(w.parts.overlaps[0], w.parts.overlaps[2]);
    for (size_t i = 0; i < w.rows->n_rows; i++)
        for (size_t j = 0; j < w.train->n_rows; j++) {
            assert_int_equal(w.parts.overlaps[0][i * w.train->n_rows + j], karma_i_rows_overlap(w.rows, i, w.train, j));
            assert_int_equal(w.parts.overlaps[2][i * w.train->n_rows + j], 1);
        }
    free_world(&w);
}

/* As many attributes, but other holes: nothing is shared. */
static void encodings_with_other_holes_do_not(void **state) {
    (void)state;
    row_shape shape = {20, 6, 0, 1, 0.5, 0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 31);
    karma_i_rows *rows = draw_rows(&shape, &rng);
    rows->next = draw_rows(&shape, &rng);
    world w = make_world(rows, 5, 1);
    check_formula("linear(gamma=3) + linear", &w);
    for (size_t i = 0; i < w.rows->n_rows; i++)
        for (size_t j = 0; j < w.train->n_rows; j++)
            assert_int_equal(w.parts.overlaps[1][i * w.train->n_rows + j],
                             karma_i_rows_overlap(w.rows->next, i, w.train->next, j));
    free_world(&w);
}

static void a_cache_gives_kernel_rows_of_parts(void **state) {
    (void)state;
    world w = make_world(sparse_rows(40, 30, 29), 4, 1);
    size_t n = w.train->n_rows, index[] = {7, 0, 21};
    const float *rows[3];
    float *gram = malloc(n * n * sizeof *gram);
    karma_i_kernel kernel;
    karma_i_row_cache *cache = NULL;
    learn(&kernel, "linear(gamma=3)", w.parts.train);
    karma_i_view train = karma_i_rows_all(w.parts.train);
    assert_int_equal(karma_i_kernel_block(gram, n, &kernel, train, train, 1), KARMA_OK);
    assert_int_equal(karma_i_row_cache_new(&cache, &kernel, w.parts.train, 3, n, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_row_cache_get(rows, cache, index, 3, NULL), KARMA_OK);
    for (size_t i = 0; i < 3; i++) assert_memory_equal(rows[i], gram + index[i] * n, n * sizeof *gram);
    karma_i_row_cache_free(cache);
    karma_i_kernel_clear(&kernel);
    free(gram);
    free_world(&w);
}

/* Rows of a full matrix are handed out unchanged if they are in order, and reordered if not; a kernel that is not
 * the matrix itself is computed. */
static void a_cache_hands_out_matrix_rows(void **state) {
    (void)state;
    enum { N = 5 };
    float matrix[N * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) matrix[i * N + j] = (float)(10 * (i + 1) * (j + 1)) + (float)(i == j);
    for (int order = 0; order < 2; order++)
        for (int weight = 1; weight <= 2; weight++) {
            karma_i_rows *rows = NULL;
            karma_i_kernel kernel;
            karma_i_row_cache *cache = NULL;
            const float *got[N];
            size_t index[N] = {3, 1, 0, 4, 2};
            assert_int_equal(karma_i_rows_new_matrix(&rows, matrix, N, N, NULL), KARMA_OK);
            for (size_t i = 0; i < N; i++) {
                size_t at = order ? N - 1 - i : i;
                assert_int_equal(karma_i_rows_add_matrix_row(rows, at, at, NULL), KARMA_OK);
            }
            assert_int_equal(karma_i_kernel_init(&kernel, 1, 1.0, 0.0, 0, NULL), KARMA_OK);
            kernel.terms[0].weight = weight;
            assert_int_equal(karma_i_row_cache_new(&cache, &kernel, rows, N, N, 1, NULL), KARMA_OK);
            assert_int_equal(karma_i_row_cache_get(got, cache, index, N, NULL), KARMA_OK);
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j < N; j++) {
                    size_t r = order ? N - 1 - index[i] : index[i], c = order ? N - 1 - j : j;
                    assert_true(got[i][j] == (float)weight * matrix[r * N + c]);
                }
            if (!order && weight == 1) assert_ptr_equal(got[0], matrix + 3 * N);
            karma_i_row_cache_free(cache);
            karma_i_kernel_clear(&kernel);
            karma_i_rows_free(rows);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_rows),
        cmocka_unit_test(only_categories),
        cmocka_unit_test(sparse_rows_have_parts),
        cmocka_unit_test(many_of_everything),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(encodings_with_the_same_holes_share_overlaps),
        cmocka_unit_test(encodings_with_other_holes_do_not),
        cmocka_unit_test(a_cache_gives_kernel_rows_of_parts),
        cmocka_unit_test(a_cache_hands_out_matrix_rows),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
