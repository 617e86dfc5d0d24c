/* Every path of this machine, and sparse rows, against the double-precision reference. Half a Gram matrix, ranges of
 * rows and any number of threads give the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/exact.h"
#include "blocks.h"
#include "randomrows.h"
#include "rounding.h"
#include "representation.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"

/* --- rows ---------------------------------------------------------------------------------------------- */

typedef enum row_kind { LINEAR, RANKED, MIXED, CENTRED, CODED, ALL, N_ROW_KINDS } row_kind;

typedef struct path_shape {
    row_kind kind;
    size_t n_rows, d;
    size_t width; /* features of every third attribute that has any; the others have one */
    double share;
} path_shape;

static uint8_t traits_of(row_kind kind, size_t j) {
    static const uint8_t all[] = {0, KARMA_I_RANKED | KARMA_I_HAS_TERM, KARMA_I_CODED | KARMA_I_HAS_TERM, KARMA_I_CODED,
                                  KARMA_I_RANKED};
    switch (kind) {
    case RANKED:
        return KARMA_I_RANKED;
    case MIXED:
        return j % 3 ? KARMA_I_RANKED : 0;
    case CENTRED:
        return KARMA_I_RANKED | KARMA_I_HAS_TERM;
    case CODED:
        return j % 3 ? KARMA_I_CODED | KARMA_I_HAS_TERM : KARMA_I_CODED;
    case ALL:
        return all[j % 5];
    default:
        return 0;
    }
}

static void draw_cell(karma_i_rows *rows, size_t i, size_t j, karma_i_rng *rng) {
    static const size_t levels[] = {2, 1, 7, 300, KARMA_I_MOST_CODES, 3};
    karma_i_mask_set(karma_i_rows_mask(rows, i), j);
    for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++)
        karma_i_rows_values(rows, i)[f] = (float)karma_i_rng_normal(rng);
    if (karma_i_rows_has(rows, j, KARMA_I_RANKED))
        karma_i_rows_ranks(rows, i)[j] = (uint8_t)(1 + karma_i_rng_below(rng, 255));
    if (karma_i_rows_has(rows, j, KARMA_I_CODED)) /* the last levels: the largest codes among them */
        *karma_i_rows_code(rows, i, j) = (uint16_t)(KARMA_I_MOST_CODES - karma_i_rng_below(rng, levels[j % 6]));
    if (karma_i_rows_has(rows, j, KARMA_I_HAS_TERM)) karma_i_rows_set_term(rows, i, j, (float)karma_i_rng_normal(rng));
}

/* Ranked and coded attributes have no features. In mixed rows every third attribute is a category. Every seventh row
 * is empty. */
static karma_i_rows *draw(const path_shape *s, karma_i_rng *rng) {
    size_t *start = calloc(s->d + 1, sizeof *start);
    uint8_t *traits = calloc(s->d, 1);
    karma_i_rows *rows = NULL;
    assert_true(start && traits);
    for (size_t j = 0; j < s->d; j++) {
        traits[j] = traits_of(s->kind, j);
        start[j + 1] = start[j] + (traits[j] ? 0 : j % 3 == 0 ? s->width : 1);
    }
    karma_i_rows_layout layout = {s->d, start, traits, s->kind == CENTRED || s->kind == ALL};
    assert_int_equal(karma_i_rows_new_layout(&rows, &layout, s->n_rows, NULL), KARMA_OK);
    for (size_t i = 0; i < s->n_rows; i++)
        for (size_t j = 0; j < s->d && i % 7 != 3; j++)
            if (karma_i_rng_uniform(rng) < s->share) draw_cell(rows, i, j, rng);
    rows->n_rows = s->n_rows;
    free(start);
    free(traits);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    return rows;
}

static karma_i_kernel make_kernel(size_t gamma, double scale, double bias, size_t d) {
    karma_i_kernel k;
    assert_int_equal(karma_i_kernel_init(&k, gamma, scale, bias, d, NULL), KARMA_OK);
    return k;
}

/* About 1000 pairs are checked, including those at borders. */
static void compare(const float *out, size_t ld, const karma_i_kernel *k, karma_i_view a, karma_i_view b,
                    const char *what) {
    size_t step = a.count * b.count / 1000 + 1;
    for (size_t i = 0; i < a.count; i++) {
        for (size_t j = b.count; j < ld; j++) assert_true(out[i * ld + j] == UNTOUCHED);
        for (size_t j = 0; j < b.count; j++) {
            int border = i < 2 || j < 2 || i + 2 > a.count || j + 2 > b.count;
            if (!(border && (i + j) % 3 == 0) && (i * b.count + j) % step != 0) continue;
            double got = (double)out[i * ld + j],
                   size = factor_size(&k->factors[0], a.rows, a.first + i, b.rows, b.first + j);
            double wanted = karma_i_kernel_reference(k, a.rows, a.first + i, b.rows, b.first + j);
            if (!(fabs(got - wanted) <= rounding(a.rows) * size + FLT_MIN))
                fail_msg("%s, %s: d %zu, %zu features, gamma %zu, bias %g, rows %zu of %zu and %zu of %zu: %.9g, "
                         "wanted %.9g",
                         k->path->name, what, a.rows->n_attributes, a.rows->n_features, k->factors[0].gamma,
                         k->factors[0].bias, i, a.count, j, b.count, got, wanted);
        }
    }
}

/* 2, 3, 5 in turn: bits must be those of one thread. (All three every time would take long where processors are few.)
 */
static int other_threads(void) {
    static const int threads[] = {2, 3, 5};
    static size_t turn;
    return threads[turn++ % 3];
}

static void check_block(const karma_i_kernel *k, karma_i_view a, karma_i_view b) {
    size_t ld = b.count + GAP;
    float *out = new_block(a.count, ld), *again = new_block(a.count, ld);
    assert_int_equal(karma_i_kernel_block(out, ld, k, a, b, 1), KARMA_OK);
    compare(out, ld, k, a, b, "block");
    assert_int_equal(karma_i_kernel_block(again, ld, k, a, b, other_threads()), KARMA_OK);
    assert_memory_equal(out, again, a.count * ld * sizeof *out);
    free(out);
    free(again);
}

/* The same in double precision, and scores of some rows. */
static void check_exact(const karma_i_kernel *k, karma_i_view a, karma_i_view b) {
    size_t n = a.count * b.count;
    double *out = malloc((n + 1) * sizeof *out), *again = malloc((n + 1) * sizeof *again);
    double *own = malloc((a.count + 1) * sizeof *own);
    assert_true(out && again && own);
    for (int more = 0; more < 2; more++) {
        karma_i_exact *exact = NULL;
        assert_int_equal(karma_i_exact_new(&exact, k, a.rows, more ? other_threads() : 1, NULL), KARMA_OK);
        karma_i_exact_block(more ? again : out, exact, a, b);
        karma_i_exact_diagonal(own, exact, a);
        karma_i_exact_free(exact);
    }
    assert_memory_equal(out, again, n * sizeof *out);
    for (size_t p = 0; p < n; p += n / 1000 + 1) {
        size_t i = a.first + p / b.count, j = b.first + p % b.count;
        double wanted = karma_i_kernel_reference(k, a.rows, i, b.rows, j);
        if (!(fabs(out[p] - wanted) <= 1e-13 * factor_size(&k->factors[0], a.rows, i, b.rows, j)))
            fail_msg("%s, exact: rows %zu and %zu: %.17g, wanted %.17g", k->path->name, i, j, out[p], wanted);
    }
    for (size_t i = 0; i < a.count; i++) {
        double wanted = karma_i_kernel_reference(k, a.rows, a.first + i, a.rows, a.first + i);
        assert_true(fabs(own[i] - wanted) <=
                    1e-13 * factor_size(&k->factors[0], a.rows, a.first + i, a.rows, a.first + i));
    }
    free(out);
    free(again);
    free(own);
}

/* Some rows against those whose coefficients are not 0. */
static void check_exact_scores(const karma_i_kernel *k, const karma_i_rows *rows, karma_i_rng *rng) {
    enum { SOME = 7 };
    size_t n = rows->n_rows, index[SOME] = {0}, count = n < SOME ? n : SOME;
    double *c = calloc(n + 1, sizeof *c), scores[SOME], again[SOME];
    assert_non_null(c);
    for (size_t j = 0; j < n; j++) c[j] = karma_i_rng_below(rng, 3) ? karma_i_rng_normal(rng) : 0.0;
    for (size_t s = 0; s < count; s++) index[s] = (s * 13 + 1) % n;
    assert_int_equal(karma_i_exact_scores(scores, k, rows, index, count, c, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_exact_scores(again, k, rows, index, count, c, other_threads(), NULL), KARMA_OK);
    assert_memory_equal(scores, again, count * sizeof *scores);
    for (size_t s = 0; s < count; s++) {
        double wanted = 0.0, size = 0.0;
        for (size_t j = 0; j < n; j++) {
            wanted += c[j] * karma_i_kernel_reference(k, rows, index[s], rows, j);
            size += fabs(c[j]) * factor_size(&k->factors[0], rows, index[s], rows, j);
        }
        assert_true(fabs(scores[s] - wanted) <= 1e-13 * size);
    }
    free(c);
}

static int is_portable(const karma_i_kernel *k) {
    return strcmp(k->path->name, "portable") == 0;
}

static void check_gram(const karma_i_kernel *k, karma_i_view a) {
    size_t ld = a.count + GAP;
    float *gram = new_block(a.count, ld), *again = new_block(a.count, ld), *block = new_block(a.count, ld);
    double *diagonal = malloc((a.count + 1) * sizeof *diagonal);
    assert_int_equal(karma_i_kernel_gram(gram, ld, k, a, 1), KARMA_OK);
    compare(gram, ld, k, a, a, "gram");
    for (size_t i = 0; i < a.count; i++)
        for (size_t j = 0; j < i; j++) assert_memory_equal(&gram[i * ld + j], &gram[j * ld + i], sizeof *gram);
    assert_int_equal(karma_i_kernel_gram(again, ld, k, a, other_threads()), KARMA_OK);
    assert_memory_equal(gram, again, a.count * ld * sizeof *gram);
    assert_int_equal(karma_i_kernel_block(block, ld, k, a, a, 1), KARMA_OK);
    /* the two products of the terms are added in a fixed order, which differs if the rows are swapped */
    if (rows_are_sparse(a.rows) || !(is_portable(k) || karma_i_dense_of(a.rows)->n_terms))
        assert_memory_equal(gram, block, a.count * ld * sizeof *gram);
    karma_i_kernel_diagonal(diagonal, k, a);
    for (size_t i = 0; i < a.count; i++) {
        double wanted = karma_i_kernel_reference(k, a.rows, a.first + i, a.rows, a.first + i);
        double size = factor_size(&k->factors[0], a.rows, a.first + i, a.rows, a.first + i);
        assert_true(fabs(diagonal[i] - wanted) <= 0x1p-23 * fabs(wanted) + 1e-14 * size + FLT_MIN);
    }
    free(gram);
    free(again);
    free(block);
    free(diagonal);
}

static void check_scores(const karma_i_kernel *k, karma_i_view a, karma_i_view b, size_t n_outputs, karma_i_rng *rng) {
    double *c = malloc((b.count + 1) * n_outputs * sizeof *c),
           *scores = malloc((a.count + 1) * n_outputs * sizeof *scores);
    double *again = malloc((a.count + 1) * n_outputs * sizeof *again);
    for (size_t i = 0; i < b.count * n_outputs; i++) c[i] = karma_i_rng_normal(rng);
    assert_int_equal(karma_i_kernel_scores(scores, k, a, b, c, n_outputs, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_kernel_scores(again, k, a, b, c, n_outputs, other_threads(), NULL), KARMA_OK);
    assert_memory_equal(scores, again, a.count * n_outputs * sizeof *scores);
    for (size_t i = 0; i < a.count; i += 1 + a.count / 4)
        for (size_t o = 0; o < n_outputs; o++) {
            double wanted = 0.0, allowed = FLT_MIN;
            for (size_t j = 0; j < b.count; j++) {
                double value = c[j * n_outputs + o];
                wanted += value * karma_i_kernel_reference(k, a.rows, a.first + i, b.rows, b.first + j);
                allowed += fabs(value) * (rounding(a.rows) + 1e-13) *
                           factor_size(&k->factors[0], a.rows, a.first + i, b.rows, b.first + j);
            }
            assert_true(fabs(scores[i * n_outputs + o] - wanted) <= allowed);
        }
    free(c);
    free(scores);
    free(again);
}

/* --- dense rows, path by path -------------------------------------------------------------------------- */

static void check_shape(const path_shape *shape, size_t n_b, size_t gamma, double bias, karma_i_rng *rng) {
    karma_i_rows *a = draw(shape, rng);
    path_shape other = *shape;
    other.n_rows = n_b + 3;
    karma_i_rows *b = draw(&other, rng);
    karma_i_kernel k = make_kernel(gamma, 0.3 * (double)shape->d + 1.0, bias, shape->d);
    for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
        k.path = *path;
        size_t skip = a->n_rows > 5 ? 4 : 0;
        karma_i_view part_a = {a, skip, a->n_rows - skip}, part_b = {b, 3, n_b};
        check_block(&k, part_a, part_b);
        check_gram(&k, part_a);
        check_scores(&k, part_a, part_b, 1 + a->n_rows % 3, rng);
        check_exact(&k, part_a, part_b);
        check_exact_scores(&k, a, rng);
    }
    karma_i_kernel_clear(&k);
    karma_i_rows_free(a);
    karma_i_rows_free(b);
}

/* Numbers of rows around strips (6, 12), panels (16, 32) and tiles (128 x 512). */
static void paths_equal_the_reference_for_every_number_of_rows(void **state) {
    (void)state;
    static const size_t counts[][2] = {{1, 1},  {2, 31},  {7, 33},   {11, 15},  {12, 16},   {13, 17},  {31, 2},
                                       {33, 7}, {127, 1}, {128, 65}, {129, 32}, {133, 513}, {517, 130}};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t s = 0; s < sizeof counts / sizeof counts[0]; s++)
        for (int kind = 0; kind < N_ROW_KINDS; kind++) {
            path_shape shape = {(row_kind)kind, counts[s][0], 5 + 13 * ((s + (size_t)kind) % 6), 1 + s % 4, 0.5};
            check_shape(&shape, counts[s][1], 1 + (s + (size_t)kind) % 4, (s + (size_t)kind) % 2 ? 1.0 : 0.0, &rng);
        }
}

static void paths_equal_the_reference_for_every_number_of_attributes(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t d = 1; d < 200; d += d < 36 || (d > 60 && d < 67) || (d > 125 && d < 131) ? 1 : 19)
        for (int kind = 0; kind < N_ROW_KINDS; kind++) {
            path_shape shape = {(row_kind)kind, 20, d, 3, 0.6};
            check_shape(&shape, 35, 1 + d % 4, d % 2 ? 1.0 : 0.0, &rng);
        }
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    static const int threads[] = {2, 3, 5};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 9);
    for (int kind = 0; kind < N_ROW_KINDS; kind++) {
        path_shape shape = {(row_kind)kind, 700, 70, 2, 0.5};
        karma_i_rows *rows = draw(&shape, &rng);
        karma_i_kernel k = make_kernel(3, 20.0, 1.0, 70);
        size_t n = rows->n_rows;
        karma_i_view all = karma_i_rows_all(rows);
        float *one = new_block(n, n), *more = new_block(n, n);
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++)
            for (int gram = 0; gram < 2; gram++)
                for (size_t t = 0; t < 4; t++) {
                    k.path = *path;
                    float *out = t ? more : one;
                    int n_threads = t ? threads[t - 1] : 1;
                    if (gram)
                        assert_int_equal(karma_i_kernel_gram(out, n, &k, all, n_threads), KARMA_OK);
                    else
                        assert_int_equal(karma_i_kernel_block(out, n, &k, all, all, n_threads), KARMA_OK);
                    if (t) assert_memory_equal(one, more, n * n * sizeof *one);
                }
        free(one);
        free(more);
        karma_i_kernel_clear(&k);
        karma_i_rows_free(rows);
    }
}

/* Beyond what is packed at a time: 512 columns of values, 16 words of mask, 1024 ranks, 512 codes. */
static void long_rows_equal_the_reference(void **state) {
    (void)state;
    static const struct {
        row_kind kind;
        size_t d, width;
    } shapes[] = {{LINEAR, 511, 1},  {LINEAR, 512, 1},  {LINEAR, 513, 1},   {LINEAR, 60, 60},  {LINEAR, 1024, 1},
                  {LINEAR, 1025, 1}, {LINEAR, 2100, 2}, {RANKED, 1016, 1},  {RANKED, 1024, 1}, {RANKED, 1025, 1},
                  {RANKED, 2050, 1}, {MIXED, 1024, 2},  {MIXED, 1030, 3},   {MIXED, 1800, 2},  {CENTRED, 255, 1},
                  {CENTRED, 256, 1}, {CENTRED, 257, 1}, {CENTRED, 1200, 1}, {CODED, 383, 1},   {CODED, 385, 1},
                  {CODED, 511, 1},   {CODED, 512, 1},   {CODED, 513, 1},    {CODED, 1100, 1},  {ALL, 640, 30},
                  {ALL, 1281, 2},    {ALL, 2600, 1}};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        path_shape shape = {shapes[s].kind, 27, shapes[s].d, shapes[s].width, s % 2 ? 0.8 : 0.3};
        check_shape(&shape, 41, 1 + s % 4, s % 3 ? 1.0 : 0.0, &rng);
    }
}

/* All ranks at the ends of their range: the sums are the largest there are. */
static void the_largest_differences_fit(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (size_t d = 1000; d <= 1100; d += 50) {
        path_shape shape = {RANKED, 40, d, 1, 1.1};
        karma_i_rows *rows = draw(&shape, &rng);
        for (size_t i = 0; i < rows->n_rows; i++)
            for (size_t j = 0; j < d; j++)
                if (karma_i_rows_ranks(rows, i)[j]) karma_i_rows_ranks(rows, i)[j] = i % 2 ? 1 : 255;
        karma_i_kernel k = make_kernel(2, 300.0, 1.0, d);
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
            k.path = *path;
            check_gram(&k, karma_i_rows_all(rows));
            check_exact(&k, karma_i_rows_all(rows), karma_i_rows_all(rows));
        }
        karma_i_kernel_clear(&k);
        karma_i_rows_free(rows);
    }
}

/* All codes are equal and the largest possible: the counts are exact, and cells missing on one side or both do not
 * count. */
static void the_largest_counts_fit(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 10);
    for (size_t d = 510; d <= 514; d++) {
        path_shape shape = {CODED, 40, d, 1, 0.95};
        karma_i_rows *rows = draw(&shape, &rng);
        karma_i_kernel k = make_kernel(1, 1.0, 0.0, d);
        for (size_t i = 0; i < rows->n_rows * d; i++)
            if (karma_i_dense_of(rows)->codes[i]) karma_i_dense_of(rows)->codes[i] = KARMA_I_MOST_CODES;
        for (size_t i = 0; i < rows->n_rows * karma_i_dense_of(rows)->n_values; i++)
            karma_i_dense_of(rows)->values[i] = 0.0F;
        float *out = new_block(40, 40);
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
            k.path = *path;
            assert_int_equal(karma_i_kernel_block(out, 40, &k, karma_i_rows_all(rows), karma_i_rows_all(rows), 1),
                             KARMA_OK);
            for (size_t i = 0; i < 40; i++)
                for (size_t j = 0; j < 40; j++) {
                    size_t common = karma_i_mask_overlap(karma_i_rows_mask(rows, i), karma_i_rows_mask(rows, j),
                                                         karma_i_dense_of(rows)->n_words);
                    assert_true(out[i * 40 + j] == (float)common);
                }
        }
        free(out);
        karma_i_kernel_clear(&k);
        karma_i_rows_free(rows);
    }
}

static void dot_and_axpy_equal_plain_loops(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    static float x[1200];
    static double y[1200], z[1200];
    for (size_t n = 0; n < 1100; n += n < 70 ? 1 : 103) {
        for (size_t j = 0; j < 1200; j++) x[j] = (float)karma_i_rng_normal(&rng), y[j] = karma_i_rng_normal(&rng);
        double wanted = 0.0, size = 0.0, a = karma_i_rng_normal(&rng);
        for (size_t j = 0; j < n; j++) wanted += (double)x[j] * y[j], size += fabs((double)x[j] * y[j]);
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
            assert_true(fabs((*path)->dot(x, y, n) - wanted) <= (double)(n + 2) * DBL_EPSILON * size);
            memcpy(z, y, sizeof z);
            (*path)->axpy(z, x, a, n);
            for (size_t j = 0; j < 1200; j++) {
                double moved = j < n ? y[j] + a * (double)x[j] : y[j];
                assert_true(fabs(z[j] - moved) <=
                            (j < n ? 2.0 * DBL_EPSILON * (fabs(y[j]) + fabs(a * (double)x[j])) : 0.0));
            }
        }
    }
}

/* To the bit: results must not depend on how many rows are added at a time. */
static void axpy_of_rows_is_axpy_of_each(void **state) {
    (void)state;
    enum { ROWS = 11, LENGTH = 600 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    static float x[ROWS][LENGTH];
    static double y[LENGTH], z[LENGTH];
    const float *rows[ROWS];
    double a[ROWS];
    for (size_t r = 0; r < ROWS; r++) {
        rows[r] = x[r];
        a[r] = karma_i_rng_normal(&rng);
        for (size_t j = 0; j < LENGTH; j++) x[r][j] = (float)karma_i_rng_normal(&rng);
    }
    for (size_t n_rows = 0; n_rows <= ROWS; n_rows++)
        for (size_t n = 0; n < 560; n += n < 40 ? 1 : 103)
            for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
                size_t first = (n_rows + n) % 9;
                for (size_t j = 0; j < LENGTH; j++) y[j] = z[j] = (double)j / 7.0;
                (*path)->axpy_rows(z, rows, a, n_rows, first, n);
                for (size_t r = 0; r < n_rows; r++) (*path)->axpy(y, x[r] + first, a[r], n);
                assert_memory_equal(z, y, sizeof z);
            }
}

/* By how much the function of a box decreases when one row or two free rows change: path.h. */
static double gain_alone(const karma_i_box *b, size_t i) {
    double change = fmin(fmax(b->beta[i] + b->slope[i] / b->q[i], b->low[i]), b->high[i]) - b->beta[i];
    return change * (b->slope[i] - 0.5 * b->q[i] * change);
}

static double gain_together(const karma_i_box *b, size_t i, size_t j, double k) {
    double det = fmax(b->q[i] * b->q[j] - k * k, 1e-6 * b->q[i] * b->q[j]), gi = b->slope[i], gj = b->slope[j];
    double di = (b->q[j] * gi - k * gj) / det, dj = (b->q[i] * gj - k * gi) / det;
    if (j == i || !(di * gi > 0.0) || !(dj > 0.0 ? b->beta[j] < b->high[j] : b->beta[j] > b->low[j])) return 0.0;
    return gi * di + gj * dj;
}

static void rows_of_a_box_are_the_best(void **state) {
    (void)state;
    enum { MOST = 700 };
    static double q[MOST], low[MOST], high[MOST], beta[MOST], slope[MOST];
    static float row[MOST];
    static const size_t counts[] = {1, 2, 15, 16, 17, 255, 256, 257, 513, MOST};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    for (int number = 0; number < 60; number++) {
        size_t n = counts[number % 10], i = karma_i_rng_below(&rng, n);
        karma_i_box box = {n, q, low, high, beta, slope};
        for (size_t j = 0; j < n; j++) {
            q[j] = 0.5 + karma_i_rng_uniform(&rng);
            low[j] = -karma_i_rng_uniform(&rng);
            high[j] = karma_i_rng_below(&rng, 5) ? low[j] + karma_i_rng_uniform(&rng) : low[j];
            beta[j] = karma_i_rng_below(&rng, 2) ? low[j] : high[j];
            slope[j] = number < 50 ? karma_i_rng_normal(&rng) : beta[j] == low[j] ? -1.0 : 1.0;
            if (number >= 50) high[j] = fmax(beta[j], low[j]), low[j] = fmin(low[j], beta[j]);
            row[j] = (float)(0.6 * karma_i_rng_normal(&rng));
        }
        double alone = 0.0, together = 0.0;
        for (size_t j = 0; j < n; j++) {
            alone = fmax(alone, gain_alone(&box, j));
            together = fmax(together, gain_together(&box, i, j, (double)row[j]));
        }
        for (const karma_i_path *const *path = karma_i_paths(); *path; path++) {
            size_t first = (*path)->best_row(&box), second = (*path)->best_partner(&box, i, row);
            assert_true((first == n) == (alone == 0.0) && (second == n) == (together == 0.0));
            if (first < n) assert_true(gain_alone(&box, first) >= alone * (1.0 - 1e-12));
            if (second < n) assert_true(gain_together(&box, i, second, (double)row[second]) >= together * (1.0 - 1e-9));
        }
    }
}

static void paths_have_names_and_end_with_the_portable_one(void **state) {
    (void)state;
    size_t n = 0;
    const karma_i_path *const *paths = karma_i_paths();
    for (; paths[n]; n++)
        for (size_t other = 0; other < n; other++) assert_string_not_equal(paths[n]->name, paths[other]->name);
    assert_in_range(n, 1, 10);
    assert_string_equal(paths[n - 1]->name, "portable");
}

/* --- sparse rows --------------------------------------------------------------------------------------- */

/* Rows with `cells` observed attributes on average, every fifth empty; the first attributes are the most common. */
static karma_i_rows *draw_sparse(size_t n, size_t d, double cells, karma_i_rng *rng) {
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_rows_new_sparse(&rows, d, 1, NULL), KARMA_OK); /* grows */
    for (size_t i = 0; i < n; i++) {
        size_t next = 0;
        while (i % 5 != 2) {
            double gap = -log(1.0 - karma_i_rng_uniform(rng)) * (double)d / cells;
            next += (size_t)(gap * (next < d / 10 ? 0.5 : 1.0));
            if (next >= d) break;
            assert_int_equal(karma_i_rows_add_cell(rows, next++, (float)karma_i_rng_normal(rng), NULL), KARMA_OK);
        }
        assert_int_equal(karma_i_rows_end_sparse(rows, NULL), KARMA_OK);
    }
    assert_int_equal(rows->n_rows, n);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    return rows;
}

static karma_i_rows *dense_copy(const karma_i_rows *sparse) {
    size_t d = sparse->n_attributes, *start = malloc((d + 1) * sizeof *start);
    karma_i_rows *rows = NULL;
    for (size_t j = 0; j <= d; j++) start[j] = j;
    assert_int_equal(karma_i_rows_new(&rows, d, start, sparse->n_rows, NULL), KARMA_OK);
    for (size_t i = 0; i < sparse->n_rows; i++)
        for (size_t p = karma_i_sparse_of(sparse)->cell_start[i]; p < karma_i_sparse_of(sparse)->cell_start[i + 1];
             p++) {
            karma_i_dense_of(rows)->values[i * d + karma_i_sparse_of(sparse)->cell_attribute[p]] =
                karma_i_sparse_of(sparse)->cell_value[p];
            karma_i_mask_set(karma_i_rows_mask(rows, i), karma_i_sparse_of(sparse)->cell_attribute[p]);
        }
    rows->n_rows = sparse->n_rows;
    free(start);
    return rows;
}

static size_t longest(const karma_i_rows *rows) {
    size_t most = 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (karma_i_rows_n_observed(rows, i) > most) most = karma_i_rows_n_observed(rows, i);
    return most;
}

static void sparse_rows_equal_the_reference_and_their_dense_copies(void **state) {
    (void)state;
    static const size_t counts[][2] = {{1, 1}, {3, 17}, {16, 15}, {255, 2}, {256, 33}, {257, 16}, {520, 40}, {2, 700}};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    for (size_t s = 0; s < sizeof counts / sizeof counts[0]; s++) {
        size_t d = 40 + 97 * s;
        karma_i_rows *a = draw_sparse(counts[s][0] + 5, d, 6.0, &rng), *b = draw_sparse(counts[s][1] + 2, d, 9.0, &rng);
        karma_i_rows *dense_a = dense_copy(a), *dense_b = dense_copy(b);
        karma_i_kernel k =
            make_kernel(1 + s % 4, 5.0, s % 2 ? 1.0 : 0.0, longest(a) > longest(b) ? longest(a) : longest(b));
        karma_i_view va = {a, 5, counts[s][0]}, vb = {b, 2, counts[s][1]};
        check_block(&k, va, vb);
        check_block(&k, vb, va);
        check_gram(&k, va);
        check_gram(&k, karma_i_rows_all(b));
        check_scores(&k, va, vb, 1 + s % 3, &rng);
        float *sparse = new_block(va.count, vb.count), *dense = new_block(va.count, vb.count);
        assert_int_equal(karma_i_kernel_block(sparse, vb.count, &k, va, vb, 2), KARMA_OK);
        assert_int_equal(karma_i_kernel_block(dense, vb.count, &k, (karma_i_view){dense_a, 5, va.count},
                                              (karma_i_view){dense_b, 2, vb.count}, 2),
                         KARMA_OK);
        for (size_t i = 0; i < va.count; i++)
            for (size_t j = 0; j < vb.count; j++) {
                double size = factor_size(&k.factors[0], a, 5 + i, b, 2 + j);
                assert_true(fabs((double)sparse[i * vb.count + j] - (double)dense[i * vb.count + j]) <=
                            1e-5 * size + FLT_MIN);
                assert_true(karma_i_kernel_reference(&k, a, 5 + i, b, 2 + j) ==
                            karma_i_kernel_reference(&k, dense_a, 5 + i, dense_b, 2 + j));
            }
        for (size_t i = 0; i < a->n_rows; i++) {
            assert_int_equal(karma_i_rows_n_observed(a, i), karma_i_rows_n_observed(dense_a, i));
            assert_true(fabs(karma_i_rows_square(a, i) - karma_i_rows_square(dense_a, i)) <=
                        1e-14 * karma_i_rows_square(a, i));
        }
        free(sparse);
        free(dense);
        karma_i_kernel_clear(&k);
        karma_i_rows_free(a);
        karma_i_rows_free(b);
        karma_i_rows_free(dense_a);
        karma_i_rows_free(dense_b);
    }
}

static void unobserved_attributes_cost_nothing(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    karma_i_rows *rows = draw_sparse(1500, 50000, 30.0, &rng);
    karma_i_kernel k = make_kernel(3, 8.0, 1.0, longest(rows));
    check_block(&k, (karma_i_view){rows, 3, 290}, (karma_i_view){rows, 100, 1400});
    check_gram(&k, (karma_i_view){rows, 11, 700});
    check_scores(&k, karma_i_rows_all(rows), karma_i_rows_all(rows), 1, &rng);
    karma_i_kernel_clear(&k);
    karma_i_rows_free(rows);
}

static void assert_same_row(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    size_t n = karma_i_rows_n_observed(a, i);
    assert_int_equal(n, karma_i_rows_n_observed(b, j));
    for (size_t p = 0; p < n; p++) {
        assert_int_equal(karma_i_sparse_of(a)->cell_attribute[karma_i_sparse_of(a)->cell_start[i] + p],
                         karma_i_sparse_of(b)->cell_attribute[karma_i_sparse_of(b)->cell_start[j] + p]);
        assert_true(karma_i_sparse_of(a)->cell_value[karma_i_sparse_of(a)->cell_start[i] + p] ==
                    karma_i_sparse_of(b)->cell_value[karma_i_sparse_of(b)->cell_start[j] + p]);
    }
}

static void sparse_rows_are_copied_whole(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 8);
    karma_i_rows *rows = draw_sparse(300, 90, 12.0, &rng), *copy = NULL;
    assert_int_equal(karma_i_rows_new_like(&copy, rows, 0, NULL), KARMA_OK);
    assert_true(rows_are_sparse(copy) && copy->n_attributes == 90 && copy->n_rows == 0);
    for (size_t i = 0; i < 300; i++) assert_int_equal(karma_i_rows_append(copy, rows, 299 - i, NULL), KARMA_OK);
    assert_int_equal(copy->n_rows, 300);
    assert_int_equal(karma_i_sparse_of(copy)->n_cells, karma_i_sparse_of(rows)->n_cells);
    for (size_t i = 0; i < 300; i++) assert_same_row(copy, i, rows, 299 - i);
    for (size_t count = 0; count <= 400; count += 57) { /* longer and shorter than before, rows twice */
        size_t index[400];
        for (size_t i = 0; i < count; i++) index[i] = karma_i_rng_below(&rng, 300);
        size_t shown = (count * 7) % 401; /* a different length in between */
        size_t other[401] = {0};
        assert_int_equal(karma_i_rows_gather(copy, rows, other, shown, NULL), KARMA_OK);
        assert_int_equal(copy->n_rows, shown);
        assert_int_equal(karma_i_rows_gather(copy, rows, index, count, NULL), KARMA_OK);
        assert_int_equal(copy->n_rows, count);
        assert_int_equal(karma_i_rows_validate(copy, NULL), KARMA_OK);
        for (size_t i = 0; i < count; i++) assert_same_row(copy, i, rows, index[i]);
    }
    assert_int_equal(karma_i_rows_gather(copy, rows, (size_t[]){7}, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_append(copy, rows, 2, NULL), KARMA_OK); /* an empty row after a gather */
    assert_int_equal(karma_i_rows_append(copy, rows, 9, NULL), KARMA_OK);
    assert_same_row(copy, 0, rows, 7);
    assert_same_row(copy, 1, rows, 2);
    assert_same_row(copy, 2, rows, 9);
    karma_i_rows_free(copy);
    karma_i_rows_free(rows);
}

static void assert_invalid(const karma_i_rows *rows) {
    karma_error err = {0};
    assert_int_equal(karma_i_rows_validate(rows, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "row 1"));
}

static void broken_sparse_rows_are_refused(void **state) {
    (void)state;
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_rows_new_sparse(&rows, 10, 4, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK); /* no rows */
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = i; j < 10; j += 3) assert_int_equal(karma_i_rows_add_cell(rows, j, 1.5F, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_end_sparse(rows, NULL), KARMA_OK);
    }
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    size_t cell = karma_i_sparse_of(rows)->cell_start[1];
    karma_i_sparse_of(rows)->cell_value[cell] = NAN;
    assert_invalid(rows);
    karma_i_sparse_of(rows)->cell_value[cell] = INFINITY;
    assert_invalid(rows);
    karma_i_sparse_of(rows)->cell_value[cell] = 0.0F; /* observed, and 0 */
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    uint32_t attribute = karma_i_sparse_of(rows)->cell_attribute[cell + 1];
    karma_i_sparse_of(rows)->cell_attribute[cell + 1] = 10;
    assert_invalid(rows);
    karma_i_sparse_of(rows)->cell_attribute[cell + 1] = karma_i_sparse_of(rows)->cell_attribute[cell];
    assert_invalid(rows);
    karma_i_sparse_of(rows)->cell_attribute[cell + 1] = 0;
    assert_invalid(rows);
    karma_i_sparse_of(rows)->cell_attribute[cell + 1] = attribute;
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    size_t end = karma_i_sparse_of(rows)->cell_start[2];
    karma_i_sparse_of(rows)->cell_start[2] = karma_i_sparse_of(rows)->cell_start[1] - 1;
    assert_invalid(rows);
    karma_i_sparse_of(rows)->cell_start[2] = end;
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    karma_i_rows_free(rows);
}

/* The environment variable KARMA_CPU leaves out the paths that are faster than the one it names. */
static void the_environment_limits_the_path(void **state) {
    (void)state;
    const karma_i_path *const *all = karma_i_paths();
    for (const karma_i_path *const *path = all; *path; path++) {
        assert_int_equal(setenv("KARMA_CPU", (*path)->name, 1), 0);
        assert_ptr_equal(karma_i_paths()[0], *path);
    }
    assert_int_equal(unsetenv("KARMA_CPU"), 0);
    assert_ptr_equal(karma_i_paths()[0], all[0]);
}

int main(void) {
    (void)unsetenv("KARMA_CPU"); /* all paths of this machine, whatever the environment says */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_equal_the_reference_for_every_number_of_rows),
        cmocka_unit_test(paths_equal_the_reference_for_every_number_of_attributes),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(long_rows_equal_the_reference),
        cmocka_unit_test(the_largest_differences_fit),
        cmocka_unit_test(the_largest_counts_fit),
        cmocka_unit_test(dot_and_axpy_equal_plain_loops),
        cmocka_unit_test(axpy_of_rows_is_axpy_of_each),
        cmocka_unit_test(rows_of_a_box_are_the_best),
        cmocka_unit_test(paths_have_names_and_end_with_the_portable_one),
        cmocka_unit_test(the_environment_limits_the_path),
        cmocka_unit_test(sparse_rows_equal_the_reference_and_their_dense_copies),
        cmocka_unit_test(unobserved_attributes_cost_nothing),
        cmocka_unit_test(sparse_rows_are_copied_whole),
        cmocka_unit_test(broken_sparse_rows_are_refused),
    };
    return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
