/* The two implementations of the kernel against each other, and the slow one against the paper: the explicit
 * embedding φ_γ, which uses neither population counts nor a closed form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "karma/theory.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"
#include "randomrows.h"
#include "table/rows_dense.h"

static karma_i_kernel make_kernel(size_t gamma, double scale, double bias, size_t n_attributes) {
    karma_i_kernel kernel;
    assert_int_equal(karma_i_kernel_init(&kernel, gamma, scale, bias, n_attributes, NULL), KARMA_OK);
    return kernel;
}

/* --- single precision against double ------------------------------------------------------------------- */

/* w · (Σ|x_f y_f| + b²): what rounding errors of one kernel value are relative to. Written without the library's
 * weights. */
static double size_of(const karma_i_kernel *k, const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    double sum = k->factors[0].bias * k->factors[0].bias, c = k->factors[0].bias != 0.0, w = 0.0;
    for (size_t f = 0; f < a->n_features; f++)
        sum += fabs((double)karma_i_rows_values(a, i)[f] * (double)karma_i_rows_values(b, j)[f]);
    for (size_t t = 0; t < a->n_attributes; t++)
        c += karma_i_mask_get(karma_i_rows_mask(a, i), t) && karma_i_mask_get(karma_i_rows_mask(b, j), t);
    for (size_t l = 0; l < k->factors[0].gamma; l++) w = w * (c / k->factors[0].scale) + 1.0;
    return w * exp(-k->factors[0].log_norm) * sum;
}

/* A sum of n products in single precision, in any order, is within n·2^-24 of the sum of magnitudes (to first
 * order); the bias, its square, the weight and the last product add a rounding each. */
static double rounding(const karma_i_rows *rows) {
    return ((double)rows->n_features + 6.0) * 0x1p-24;
}

enum { GAP = 3 };

static void compare_with_reference(const karma_i_kernel *kernel, karma_i_view a, karma_i_view b, int threads) {
    size_t ld = b.count + GAP;
    float *out = malloc(a.count * ld * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < a.count * ld; i++) out[i] = -12345.0F;
    karma_i_kernel_block(out, ld, kernel, a, b, threads);
    for (size_t i = 0; i < a.count; i++)
        for (size_t j = 0; j < ld; j++) {
            double got = (double)out[i * ld + j];
            if (j >= b.count) {
                assert_true(got == -12345.0); /* the gaps between rows are not written */
                continue;
            }
            double wanted = karma_i_kernel_reference(kernel, a.rows, a.first + i, b.rows, b.first + j);
            double allowed = rounding(a.rows) * size_of(kernel, a.rows, a.first + i, b.rows, b.first + j) + FLT_MIN;
            if (!(fabs(got - wanted) <= allowed))
                fail_msg("d %zu, gamma %zu, rows %zu and %zu: got %.9g, wanted %.9g, allowed %g",
                         kernel->factors[0].largest_overlap, kernel->factors[0].gamma, i, j, got, wanted, allowed);
        }
    free(out);
}

static void compare_scores(const karma_i_kernel *kernel, karma_i_view a, karma_i_view b, size_t n_outputs, int threads,
                           karma_i_rng *rng) {
    if (b.count > 1000000 || a.count > 1000000) fail(); /* and so the compiler knows */
    double *c = calloc(b.count + 1, n_outputs * sizeof *c), *scores = calloc(a.count, n_outputs * sizeof *scores);
    for (size_t i = 0; i < b.count * n_outputs; i++) c[i] = karma_i_rng_normal(rng);
    assert_int_equal(karma_i_kernel_scores(scores, kernel, a, b, c, n_outputs, threads, NULL), KARMA_OK);
    for (size_t i = 0; i < a.count; i++)
        for (size_t o = 0; o < n_outputs; o++) {
            double wanted = 0.0, allowed = FLT_MIN;
            for (size_t j = 0; j < b.count; j++) {
                double value = c[j * n_outputs + o];
                wanted += value * karma_i_kernel_reference(kernel, a.rows, a.first + i, b.rows, b.first + j);
                allowed += fabs(value) * (rounding(a.rows) + 1e-13) *
                           size_of(kernel, a.rows, a.first + i, b.rows, b.first + j);
            }
            if (!(fabs(scores[i * n_outputs + o] - wanted) <= allowed))
                fail_msg("score %zu, %zu: got %.9g, wanted %.9g, allowed %g", i, o, scores[i * n_outputs + o], wanted,
                         allowed);
        }
    free(c);
    free(scores);
}

static void blocks_equal_the_reference_for_every_number_of_attributes(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 11);
    for (size_t d = 1; d <= 200; d += d < 20 || (d > 60 && d < 68) || (d > 125 && d < 132) ? 1 : 7) {
        row_shape shape = {6, d, d % 3 == 0 ? 4 : 0, 1 + d % 5, d % 2 ? 0.6 : 0.3, 0};
        karma_i_rows *rows = draw_rows(&shape, &rng);
        for (size_t gamma = 1; gamma <= 6; gamma++)
            for (int version = 0; version < 3; version++) {
                karma_i_kernel k =
                    make_kernel(gamma, version == 0 ? 1.0 : 0.37 * (double)d + 0.5, version == 2 ? 0.8 : 0.0, d);
                compare_with_reference(&k, karma_i_rows_all(rows), karma_i_rows_all(rows), 1);
                karma_i_kernel_clear(&k);
            }
        karma_i_rows_free(rows);
    }
}

/* Numbers of rows around the sizes of tiles, ranges of larger sets of rows, empty ranges. */
static void blocks_and_scores_equal_the_reference_for_every_shape(void **state) {
    (void)state;
    static const size_t counts[][2] = {{1, 1},    {1, 513}, {2, 512}, {63, 3},  {64, 64},  {65, 2},  {3, 511},
                                       {66, 515}, {5, 0},   {0, 5},   {130, 9}, {127, 33}, {200, 1}, {4, 1030}};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 12);
    for (size_t s = 0; s < sizeof counts / sizeof counts[0]; s++) {
        size_t d = s % 2 ? 70 : 13;
        row_shape shape = {counts[s][0] + 3, d, s % 3 ? 0 : 5, 3, 0.5, 0};
        karma_i_rows *a = draw_rows(&shape, &rng);
        shape.n_rows = counts[s][1] + 2;
        karma_i_rows *b = draw_rows(&shape, &rng);
        karma_i_view part_a = {a, 2, counts[s][0]}, part_b = {b, 1, counts[s][1]};
        karma_i_kernel k = make_kernel(1 + s % 4, s % 2 ? 1.0 : 6.5, s % 3 ? 1.0 : 0.0, d);
        compare_with_reference(&k, part_a, part_b, 2);
        compare_scores(&k, part_a, part_b, 1, 2, &rng);
        compare_scores(&k, part_a, part_b, 3, 1, &rng);
        karma_i_kernel_clear(&k);
        karma_i_rows_free(a);
        karma_i_rows_free(b);
    }
}

static void the_diagonal_is_the_kernel_of_a_row_with_itself(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 13);
    row_shape shape = {40, 67, 3, 4, 0.5, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    for (size_t gamma = 1; gamma <= 5; gamma++) {
        karma_i_kernel k = make_kernel(gamma, 9.0, gamma % 2 ? 0.7 : 0.0, 67);
        double diagonal[30];
        karma_i_kernel_diagonal(diagonal, &k, (karma_i_view){rows, 5, 30});
        for (size_t i = 0; i < 30; i++) {
            double wanted = karma_i_kernel_reference(&k, rows, 5 + i, rows, 5 + i);
            assert_true(fabs(diagonal[i] - wanted) <= 0x1p-23 * wanted); /* the weight is single precision */
        }
        karma_i_kernel_clear(&k);
    }
    karma_i_rows_free(rows);
}

/* Under an outer map k(x,x) of a row that observes more than any training row does is not in the table of weights. */
static void rows_fuller_than_all_training_rows_are_mapped(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 23);
    for (size_t d = 8; d <= 80; d += 72) { /* the table has room for 64 */
        row_shape sparse = {20, d, 0, 1, 0.1, 0}, full = {5, d, 0, 1, 1.0, 0};
        karma_i_rows *training = draw_rows(&sparse, &rng), *rows = draw_rows(&full, &rng);
        size_t most = 0;
        for (size_t i = 0; i < 20; i++)
            if (karma_i_rows_n_observed(training, i) > most) most = karma_i_rows_n_observed(training, i);
        assert_true(most < d);
        karma_i_kernel k = make_kernel(3, 2.0, 1.0, most);
        k.factors[0].map = (karma_i_map){.kind = KARMA_OUTER_COSINE, .spread = 1.0};
        float got[5 * 20];
        assert_int_equal(karma_i_kernel_block(got, 20, &k, karma_i_rows_all(rows), karma_i_rows_all(training), 1), 0);
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < 20; j++) {
                double wanted = karma_i_kernel_reference(&k, rows, i, training, j);
                assert_true(fabs((double)got[i * 20 + j] - wanted) < 1e-5);
                assert_true(fabs(wanted) > 1e-6);
            }
        karma_i_kernel_clear(&k);
        karma_i_rows_free(training);
        karma_i_rows_free(rows);
    }
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 5};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 14);
    row_shape shape = {333, 90, 7, 3, 0.4, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    karma_i_kernel k = make_kernel(3, 30.0, 1.0, 90);
    size_t n = rows->n_rows, cells = n * n;
    float *first = malloc(cells * sizeof *first), *again = malloc(cells * sizeof *again);
    double *c = malloc(2 * n * sizeof *c), *scores = malloc(4 * n * sizeof *scores);
    for (size_t i = 0; i < 2 * n; i++) c[i] = karma_i_rng_normal(&rng);
    for (size_t v = 0; v < sizeof threads / sizeof threads[0]; v++) {
        karma_i_view all = karma_i_rows_all(rows);
        karma_i_kernel_block(v ? again : first, n, &k, all, all, threads[v]);
        assert_int_equal(karma_i_kernel_scores(v ? scores + 2 * n : scores, &k, all, all, c, 2, threads[v], NULL),
                         KARMA_OK);
        if (v == 0) continue;
        assert_memory_equal(first, again, cells * sizeof *first);
        assert_memory_equal(scores, scores + 2 * n, 2 * n * sizeof *scores);
    }
    free(first);
    free(again);
    free(c);
    free(scores);
    karma_i_kernel_clear(&k);
    karma_i_rows_free(rows);
}

/* --- against the paper --------------------------------------------------------------------------------- */

enum { MAX_DIM = 5, MAX_GAMMA = 5, MAX_EMBEDDING = 3905 };

static double embedded_product(const double *x, const unsigned char *o, const double *y, const unsigned char *p,
                               size_t dim, size_t gamma) {
    static double phi[MAX_EMBEDDING], psi[MAX_EMBEDDING];
    size_t size = karma_theory_embedding_size(dim, gamma);
    assert_in_range(size, 1, MAX_EMBEDDING);
    assert_int_equal(karma_theory_embed(phi, x, o, dim, gamma, NULL), KARMA_OK);
    assert_int_equal(karma_theory_embed(psi, y, p, dim, gamma, NULL), KARMA_OK);
    double sum = 0.0;
    for (size_t i = 0; i < size; i++) sum += phi[i] * psi[i];
    return sum;
}

static void check_pair(const double *x, const unsigned char *o, const double *y, const unsigned char *p, size_t dim,
                       size_t gamma, double bias) {
    size_t start[MAX_DIM + 1] = {0, 1, 2, 3, 4, 5};
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_rows_new(&rows, dim, start, 2, NULL), KARMA_OK);
    put_row(rows, 0, x, o);
    put_row(rows, 1, y, p);
    rows->n_rows = 2;
    karma_i_kernel k = make_kernel(gamma, 1.0, bias, dim);
    double wanted, got = karma_i_kernel_reference(&k, rows, 0, rows, 1);
    if (bias == 0.0) {
        wanted = embedded_product(x, o, y, p, dim, gamma);
    } else { /* one more attribute that is always observed */
        double x1[MAX_DIM], y1[MAX_DIM];
        unsigned char o1[MAX_DIM], p1[MAX_DIM];
        memcpy(x1, x, dim * sizeof *x), memcpy(y1, y, dim * sizeof *y);
        memcpy(o1, o, dim), memcpy(p1, p, dim);
        x1[dim] = y1[dim] = bias, o1[dim] = p1[dim] = 1;
        wanted = embedded_product(x1, o1, y1, p1, dim + 1, gamma);
    }
    if (!(fabs(got - wanted) <= 1e-11 * fmax(1.0, fabs(wanted))))
        fail_msg("d %zu, gamma %zu, bias %g: got %.17g, wanted %.17g", dim, gamma, bias, got, wanted);
    float block;
    karma_i_kernel_block(&block, 1, &k, (karma_i_view){rows, 0, 1}, (karma_i_view){rows, 1, 1}, 1);
    double allowed = rounding(rows) * size_of(&k, rows, 0, rows, 1) + 1e-11;
    assert_true(fabs((double)block - wanted) <= allowed);
    karma_i_kernel_clear(&k);
    karma_i_rows_free(rows);
}

static void flags_of(unsigned char *o, size_t dim, size_t code) {
    for (size_t i = 0; i < dim && i < MAX_DIM; i++) o[i] = code >> i & 1;
}

/* Theorem ktrick: every pair of masks up to d = 4, random ones for d = 5; c = 0 and c = 1 are among them. */
static void kernel_equals_explicit_embedding(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 15);
    for (size_t dim = 1; dim <= MAX_DIM; dim++)
        for (size_t gamma = 1; gamma <= MAX_GAMMA; gamma++)
            for (size_t pair = 0; pair < (dim < MAX_DIM ? (size_t)1 << 2 * dim : 80); pair++) {
                size_t code = dim < MAX_DIM ? pair : karma_i_rng_below(&rng, 1024);
                double x[MAX_DIM], y[MAX_DIM];
                unsigned char o[MAX_DIM], p[MAX_DIM];
                if (dim == 4 && pair % 3) continue;
                flags_of(o, dim, code >> dim);
                flags_of(p, dim, code);
                for (size_t i = 0; i < dim; i++) {
                    x[i] = (double)(float)karma_i_rng_normal(&rng);
                    y[i] = (double)(float)karma_i_rng_normal(&rng);
                }
                check_pair(x, o, y, p, dim, gamma, 0.0);
                if (dim < MAX_DIM) check_pair(x, o, y, p, dim, gamma, 0.75);
            }
}

static void weights_are_those_of_the_paper(void **state) {
    (void)state;
    for (size_t gamma = 1; gamma <= 6; gamma++) {
        karma_i_kernel k = make_kernel(gamma, 1.0, 0.0, 40);
        assert_true(k.factors[0].log_norm == 0.0);
        assert_true(k.factors[0].weight[0] == 1.0F);
        assert_true(k.factors[0].weight[1] == (float)gamma);
        for (size_t c = 2; c <= 40; c++) {
            double power = 1.0;
            for (size_t l = 0; l < gamma; l++) power *= (double)c;
            double wanted = (power - 1.0) / ((double)c - 1.0); /* whole numbers below 2^53 */
            assert_true(karma_i_weight(c, gamma, 1.0, 0.0) == wanted);
            assert_true(k.factors[0].weight[c] == (float)wanted);
            assert_true(fabs(karma_i_log_weight(c, gamma, 1.0) - log(wanted)) < 1e-12 * fmax(1.0, log(wanted)));
        }
        karma_i_kernel_clear(&k);
    }
}

/* γ = 1 is 0-imputation: the inner product of the zero-filled rows, whatever ν. */
static void gamma_one_is_the_inner_product_of_zero_filled_rows(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 16);
    row_shape shape = {50, 66, 5, 3, 0.5, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    for (int with_bias = 0; with_bias < 2; with_bias++) {
        double b = with_bias ? 0.6 : 0.0;
        karma_i_kernel k = make_kernel(1, with_bias ? 7.0 : 1.0, b, 66);
        float block[50 * 50];
        karma_i_kernel_block(block, 50, &k, karma_i_rows_all(rows), karma_i_rows_all(rows), 1);
        for (size_t i = 0; i < 50; i++)
            for (size_t j = 0; j < 50; j++) {
                double sum = b * b, magnitude = b * b;
                for (size_t f = 0; f < rows->n_features; f++) {
                    double term = (double)karma_i_rows_values(rows, i)[f] * (double)karma_i_rows_values(rows, j)[f];
                    sum += term, magnitude += fabs(term);
                }
                assert_true(fabs(karma_i_kernel_reference(&k, rows, i, rows, j) - sum) <= 1e-14 * magnitude);
                assert_true(fabs((double)block[i * 50 + j] - sum) <= rounding(rows) * magnitude);
            }
        karma_i_kernel_clear(&k);
    }
    karma_i_rows_free(rows);
}

static double smallest_over_largest(const karma_i_kernel *k, const karma_i_rows *rows) {
    size_t n = rows->n_rows;
    double *gram = malloc(n * n * sizeof *gram), *values = malloc(n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) gram[i * n + j] = karma_i_kernel_reference(k, rows, i, rows, j);
    assert_int_equal(karma_i_eigen_symmetric(values, gram, n, NULL), KARMA_OK);
    double ratio = values[0] / values[n - 1];
    free(gram);
    free(values);
    return ratio;
}

/* Few attributes and many rows, so that the Gram matrix is far from its diagonal; some rows are empty. */
static void gram_matrices_are_positive_semidefinite(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 17);
    for (size_t trial = 0; trial < 24; trial++) {
        row_shape shape = {45, 2 + trial % 7, trial % 3 ? 0 : 2, 3, 0.15 + 0.1 * (double)(trial % 8), 0};
        karma_i_rows *rows = draw_rows(&shape, &rng);
        for (size_t i = 0; i < 3; i++) { /* nothing observed */
            memset(karma_i_rows_mask(rows, i), 0,
                   karma_i_dense_of(rows)->n_words * sizeof *karma_i_dense_of(rows)->mask);
            memset(karma_i_rows_values(rows, i), 0, rows->n_features * sizeof *karma_i_dense_of(rows)->values);
        }
        karma_i_kernel k = make_kernel(1 + trial % 6, trial % 4 ? 1.0 : 2.7, trial % 2 ? 0.5 : 0.0, shape.n_attributes);
        double ratio = smallest_over_largest(&k, rows);
        if (!(ratio >= -1e-9)) fail_msg("trial %zu: smallest / largest eigenvalue %g", trial, ratio);
        karma_i_kernel_clear(&k);
        karma_i_rows_free(rows);
    }
}

/* Shows that the check above can fail: weights 1/(1 + c), which favour small overlaps, belong to no embedding. */
static void a_wrong_weight_is_not_positive_semidefinite(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 18);
    row_shape shape = {20, 4, 0, 1, 0.5, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    double gram[400], values[20];
    for (size_t i = 0; i < 20; i++)
        for (size_t j = 0; j < 20; j++) {
            double sum = 0.0;
            for (size_t f = 0; f < 4; f++)
                sum += (double)karma_i_dense_of(rows)->values[4 * i + f] *
                       (double)karma_i_dense_of(rows)->values[4 * j + f];
            gram[20 * i + j] =
                sum / (1.0 + (double)karma_i_mask_overlap(karma_i_rows_mask(rows, i), karma_i_rows_mask(rows, j), 1));
        }
    assert_int_equal(karma_i_eigen_symmetric(values, gram, 20, NULL), KARMA_OK);
    assert_true(values[0] < -1e-9 * values[19]);
    karma_i_rows_free(rows);
}

/* --- large γ and d ------------------------------------------------------------------------------------- */

static void huge_weights_are_normalised(void **state) {
    (void)state;
    static const struct {
        size_t gamma, d;
        double scale, bias;
    } cases[] = {{1000, 500, 1.0, 0.0},
                 {1000, 500, 1.0, 1.0},
                 {1024, 2000, 1.0, 1.0},
                 {1024, 64, 1e-3, 0.0},
                 {40, 300, 20.0, 1.0}};
    for (size_t s = 0; s < sizeof cases / sizeof cases[0]; s++) {
        size_t gamma = cases[s].gamma, d = cases[s].d, extra = cases[s].bias != 0.0;
        karma_i_kernel k = make_kernel(gamma, cases[s].scale, cases[s].bias, d);
        assert_true(k.factors[0].log_norm > 0.0 && isfinite(k.factors[0].log_norm));
        for (size_t c = 0; c <= d; c++) {
            assert_true(isfinite(k.factors[0].weight[c]) && k.factors[0].weight[c] >= 0.0F);
            double log_weight = karma_i_log_weight(c + extra, gamma, cases[s].scale);
            double wanted = exp(log_weight - karma_i_log_weight(d + extra, gamma, cases[s].scale));
            double ratio = karma_i_weight(c + extra, gamma, cases[s].scale, k.factors[0].log_norm) /
                           karma_i_weight(d + extra, gamma, cases[s].scale, k.factors[0].log_norm);
            assert_true(fabs(ratio - wanted) <= 1e-10 * wanted + DBL_MIN);
            assert_true(fabs((double)(k.factors[0].weight[c] / k.factors[0].weight[d]) - wanted) <=
                        1e-6 * wanted + (double)FLT_MIN);
            /* ln w against the geometric sum in another form: r^(γ-1) (1 - r^-γ)/(1 - 1/r) */
            double r = (double)(c + extra) / cases[s].scale;
            if (r > 1.5) {
                double other = (double)(gamma - 1) * log(r) + log1p(-pow(r, -(double)gamma)) - log1p(-1.0 / r);
                assert_true(fabs(log_weight - other) <= 1e-11 * fmax(1.0, fabs(other)));
            }
            if (c) assert_true(k.factors[0].weight[c] >= k.factors[0].weight[c - 1]);
        }
        karma_i_kernel_clear(&k);
    }
}

/* The largest values that the recipe allows and the largest weights: nothing overflows single precision. */
static void nothing_overflows(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 19);
    row_shape shape = {70, 500, 0, 1, 0.9, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    for (size_t i = 0; i < 70 * 500; i++)
        if (karma_i_dense_of(rows)->values[i] != 0.0F)
            karma_i_dense_of(rows)->values[i] = karma_i_dense_of(rows)->values[i] > 0.0F ? 1e9F : -1e9F;
    static const size_t gammas[] = {1, 2, 6, 7, 60, 1000};
    for (size_t g = 0; g < sizeof gammas / sizeof gammas[0]; g++) {
        karma_i_kernel k = make_kernel(gammas[g], 1.0, 1e6, 500);
        float block[70 * 70];
        karma_i_kernel_block(block, 70, &k, karma_i_rows_all(rows), karma_i_rows_all(rows), 2);
        for (size_t i = 0; i < 70 * 70; i++) assert_true(isfinite(block[i]));
        assert_true(block[0] > 0.0F);
        karma_i_kernel_clear(&k);
    }
    karma_i_rows_free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_equal_the_reference_for_every_number_of_attributes),
        cmocka_unit_test(blocks_and_scores_equal_the_reference_for_every_shape),
        cmocka_unit_test(the_diagonal_is_the_kernel_of_a_row_with_itself),
        cmocka_unit_test(rows_fuller_than_all_training_rows_are_mapped),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(kernel_equals_explicit_embedding),
        cmocka_unit_test(weights_are_those_of_the_paper),
        cmocka_unit_test(gamma_one_is_the_inner_product_of_zero_filled_rows),
        cmocka_unit_test(gram_matrices_are_positive_semidefinite),
        cmocka_unit_test(a_wrong_weight_is_not_positive_semidefinite),
        cmocka_unit_test(huge_weights_are_normalised),
        cmocka_unit_test(nothing_overflows),
    };
    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
