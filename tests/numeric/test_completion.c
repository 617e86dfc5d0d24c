/* Completions, coordinates and regularity, against the conditional Gaussian written out, the paper's own formula with
 * pseudo-inverses, and the singular values of the observed part of the basis for every row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "karma/theory.h"
#include "linalg/linalg.h"
#include "subspace/completion.h"
#include "subspace/regularity.h"
#include "subspacecase.h"
#include "table/rows_dense.h"

static karma_i_basis *basis_of(const karma_i_subspace *s) {
    karma_i_basis *basis = NULL;
    karma_error err = {0};
    if (karma_i_basis_new(&basis, s, &err) != KARMA_OK) fail_msg("%s", err.message);
    return basis;
}

/* ---- completions ---- */

static void check_completions(const karma_i_subspace *s, const karma_i_rows *rows, int threads) {
    size_t d = rows->n_features, n = rows->n_rows;
    double *completed = calloc(n * d, sizeof *completed), *errors = calloc(n * d, sizeof *errors);
    assert_true(completed && errors);
    assert_int_equal(karma_i_complete(completed, errors, s, karma_i_rows_all(rows), threads, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++) {
        slow_row g;
        slow_condition(&g, s, rows, i);
        for (size_t f = 0; f < d; f++) {
            double mean, variance;
            int is_observed = 0;
            for (size_t a = 0; a < g.n; a++) is_observed |= g.feature[a] == f;
            slow_completion(&mean, &variance, s, &g, f);
            check_close(completed[i * d + f], mean, 1e-8, "completion");
            check_close(errors[i * d + f], sqrt(variance + (is_observed ? 0.0 : karma_i_subspace_noise(s, f))), 1e-7,
                        "standard error");
        }
    }
    free(completed);
    free(errors);
}

static void completions_are_conditional_means(void **state) {
    (void)state;
    static const size_t ranks[] = {0, 1, 3, 8, 17};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        row_shape shape = {.n_rows = 43, .n_attributes = 11, .every = 4, .width = 3, .share = 0.5};
        karma_i_rows *rows = draw_rows(&shape, &rng);
        karma_i_subspace *s = fitted_tightly(rows, ranks[k], 5);
        for (int threads = 1; threads <= 3; threads++) check_completions(s, rows, threads);
        for (size_t f = 0; f < s->n_features; f++) s->noise[f] = 0.5 + karma_i_rng_uniform(&rng);
        check_completions(s, rows, 2);
        karma_i_subspace_free(s);
        karma_i_rows_free(rows);
    }
}

/* All rows, some of the rows, and each output alone. */
static void completions_do_not_depend_on_the_batch(void **state) {
    (void)state;
    low_rank p = draw_low_rank(2500, 9, 2, 0.3, 0.4, 3);
    karma_i_subspace *s = fitted_tightly(p.rows, 2, 5);
    size_t size = p.n * p.d;
    double *all = calloc(4 * size, sizeof *all), *errors = all + size, *part = all + 2 * size, *z = all + 3 * size;
    assert_non_null(all);
    assert_int_equal(karma_i_complete(all, errors, s, karma_i_rows_all(p.rows), 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_complete(part, NULL, s, (karma_i_view){p.rows, 1003, 1400}, 2, NULL), KARMA_OK);
    assert_memory_equal(part, all + 1003 * p.d, 1400 * p.d * sizeof *all);
    assert_int_equal(karma_i_complete(NULL, part, s, (karma_i_view){p.rows, 1003, 1400}, 3, NULL), KARMA_OK);
    assert_memory_equal(part, errors + 1003 * p.d, 1400 * p.d * sizeof *all);
    assert_int_equal(karma_i_locate(z, s, karma_i_rows_all(p.rows), 2, NULL), KARMA_OK);
    for (size_t i = 0; i < p.n; i++)
        for (size_t f = 0; f < p.d; f++)
            check_close(s->mean[f] + s->W[f * 2] * z[i * 2] + s->W[f * 2 + 1] * z[i * 2 + 1], all[i * p.d + f], 1e-12,
                        "completion from the place");
    assert_int_equal(karma_i_complete(all, errors, s, (karma_i_view){p.rows, 0, 0}, 1, NULL), KARMA_OK);
    free(all);
    karma_i_subspace_free(s);
    free_low_rank(&p);
}

/* The subspace that the rows were drawn from. */
static karma_i_subspace true_subspace(const low_rank *p) {
    return (karma_i_subspace){.n_features = p->d, .rank = p->r, .mean = p->mean, .W = p->basis, .sigma2 = 1e-10};
}

static karma_i_regularity *regularity_of(const karma_i_basis *basis, const karma_i_rows *rows, int threads) {
    karma_i_regularity *regularity = NULL;
    karma_error err = {0};
    if (karma_i_regularity_new(&regularity, basis, karma_i_rows_all(rows), threads, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    return regularity;
}

static void rows_without_noise_are_recovered(void **state) {
    (void)state;
    static const struct {
        size_t n, d, r;
        double missing;
    } cases[] = {{300, 12, 3, 0.4}, {400, 20, 3, 0.6}, {200, 30, 5, 0.5}, {500, 8, 1, 0.5}, {60, 40, 4, 0.4}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        low_rank p = draw_low_rank(cases[k].n, cases[k].d, cases[k].r, 0.0, cases[k].missing, 70 + k);
        karma_i_subspace truth = true_subspace(&p);
        karma_i_ppca_options options = karma_i_ppca_defaults(p.r);
        karma_i_subspace *s = fitted(p.rows, &options);
        karma_i_basis *basis = basis_of(&truth);
        karma_i_regularity *regularity = regularity_of(basis, p.rows, 1);
        double *completed = calloc(p.n * p.d, sizeof *completed);
        assert_non_null(completed);
        assert_int_equal(karma_i_complete(completed, NULL, s, karma_i_rows_all(p.rows), 1, NULL), KARMA_OK);
        size_t n_checked = 0;
        for (size_t i = 0; i < p.n; i++) {
            if (!(regularity->is_reconstructible[i] && regularity->lambda[i] > 1e-3)) continue;
            double error = 0.0, size = 0.0;
            for (size_t f = 0; f < p.d; f++) {
                error += pow(completed[i * p.d + f] - p.truth[i * p.d + f], 2.0);
                size += pow(p.truth[i * p.d + f], 2.0);
            }
            if (!(error <= 1e-6 * size)) fail_msg("case %zu, row %zu: off by %g", k, i, sqrt(error / size));
            n_checked++;
        }
        assert_true(2 * n_checked > p.n);
        free(completed);
        karma_i_regularity_free(regularity);
        karma_i_basis_free(basis);
        karma_i_subspace_free(s);
        free_low_rank(&p);
    }
}

/* As σ² → 0 the completion is the paper's f_{w,Q}: w·x̂ = (P_o w)·Q_oo^† P_o x for w in E and the mean 0. */
static void completions_equal_the_functions_of_the_paper(void **state) {
    (void)state;
    enum { D = 9, R = 3 };
    low_rank p = draw_low_rank(60, D, R, 0.0, 0.3, 80);
    memset(p.mean, 0, D * sizeof *p.mean);
    karma_i_subspace truth = true_subspace(&p);
    karma_i_basis *basis = basis_of(&truth);
    karma_i_regularity *regularity = regularity_of(basis, p.rows, 1);
    double Q[D * D] = {0}, completed[60 * D];
    for (size_t f = 0; f < D; f++)
        for (size_t g = 0; g < D; g++)
            for (size_t k = 0; k < R; k++) Q[f * D + g] += basis->U[f * R + k] * basis->U[g * R + k];
    assert_int_equal(karma_i_complete(completed, NULL, &truth, karma_i_rows_all(p.rows), 1, NULL), KARMA_OK);
    for (size_t i = 0; i < p.n; i++) {
        double x[D], w[D], got = 0.0, wanted = 0.0;
        unsigned char observed[D];
        if (!(regularity->is_reconstructible[i] && regularity->lambda[i] > 1e-3)) continue;
        for (size_t f = 0; f < D; f++) {
            x[f] = (double)karma_i_dense_of(p.rows)->values[i * D + f];
            w[f] = basis->U[f * R + 1];
            observed[f] = (unsigned char)karma_i_mask_get(karma_i_rows_mask(p.rows, i), f);
            got += w[f] * completed[i * D + f];
        }
        /* x lies in mean + E; the functions are linear, so only the part of P_o x in E is compared */
        assert_int_equal(karma_theory_f0(&wanted, w, Q, x, observed, D, NULL), KARMA_OK);
        check_close(got, wanted, 1e-5, "f_w,Q");
    }
    karma_i_regularity_free(regularity);
    karma_i_basis_free(basis);
    free_low_rank(&p);
}

/* ---- coordinates ---- */

static double inner(const double *a, const double *b, const double *origin, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += (a[k] - (origin ? origin[k] : 0.0)) * (b[k] - (origin ? origin[k] : 0.0));
    return sum;
}

static void coordinates_have_the_inner_products_of_completions(void **state) {
    (void)state;
    static const struct { size_t d, rank; } shapes[] = {{12, 4}, {5, 9}, {7, 0}};
    for (size_t c = 0; c < sizeof shapes / sizeof *shapes; c++) {
        low_rank p = draw_low_rank(30, shapes[c].d, 3, 0.3, 0.4, 90 + c);
        karma_i_subspace *s = fitted_tightly(p.rows, shapes[c].rank, 5);
        karma_i_basis *basis = basis_of(s);
        size_t d = p.d, k = basis->rank;
        assert_true(k <= d && k <= s->rank);
        double *completed = calloc(p.n * d, sizeof *completed), *a = calloc(p.n * (k + 1), sizeof *a);
        double *b = calloc(p.n * (k + 1), sizeof *b);
        assert_true(completed && a && b);
        karma_i_view all = karma_i_rows_all(p.rows);
        assert_int_equal(karma_i_complete(completed, NULL, s, all, 1, NULL), KARMA_OK);
        assert_int_equal(karma_i_coordinates(a, s, basis, KARMA_I_CENTRED, all, 2, NULL), KARMA_OK);
        assert_int_equal(karma_i_coordinates(b, s, basis, KARMA_I_UNCENTRED, all, 1, NULL), KARMA_OK);
        for (size_t i = 0; i < p.n; i++)
            for (size_t j = 0; j < p.n; j++) {
                const double *x = completed + i * d, *y = completed + j * d;
                check_close(inner(a + i * k, a + j * k, NULL, k), inner(x, y, s->mean, d), 1e-10, "centred");
                check_close(inner(b + i * (k + 1), b + j * (k + 1), NULL, k + 1), inner(x, y, NULL, d), 1e-10,
                            "not centred");
            }
        free(completed);
        free(a);
        free(b);
        karma_i_basis_free(basis);
        karma_i_subspace_free(s);
        free_low_rank(&p);
    }
}

static void a_basis_is_orthonormal_and_spans_W(void **state) {
    (void)state;
    enum { D = 10, R = 4 };
    low_rank p = draw_low_rank(5, D, R, 0.0, 0.0, 95);
    for (size_t f = 0; f < D; f++) p.basis[f * R + 3] = 2.0 * p.basis[f * R] - p.basis[f * R + 1];
    karma_i_subspace s = true_subspace(&p);
    karma_i_basis *basis = basis_of(&s);
    assert_int_equal(basis->rank, R - 1);
    for (size_t i = 0; i < R - 1; i++)
        for (size_t k = 0; k < R - 1; k++) {
            double sum = 0.0;
            for (size_t f = 0; f < D; f++) sum += basis->U[f * (R - 1) + i] * basis->U[f * (R - 1) + k];
            check_close(sum, i == k, 1e-13, "U'U");
        }
    for (size_t f = 0; f < D; f++)
        for (size_t k = 0; k < R; k++) {
            double sum = 0.0;
            for (size_t i = 0; i < R - 1; i++) sum += basis->U[f * (R - 1) + i] * basis->to_coordinates[i * R + k];
            check_close(sum, p.basis[f * R + k], 1e-13, "U s V'");
        }
    karma_i_basis_free(basis);
    free_low_rank(&p);
}

/* ---- regularity ---- */

/* The squares of the singular values of U_o, one hidden attribute left out (none: n_attributes). */
static size_t slow_spectrum(double *squares, const karma_i_basis *basis, const karma_i_rows *rows, size_t row,
                            size_t hidden) {
    size_t r = basis->rank, n = 0;
    double Uo[MOST_FEATURES * MOST_FEATURES], u[MOST_FEATURES * MOST_FEATURES], vt[MOST_FEATURES * MOST_FEATURES];
    for (size_t j = 0; j < rows->n_attributes; j++)
        for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++)
            if (j != hidden && karma_i_mask_get(karma_i_rows_mask(rows, row), j))
                memcpy(Uo + r * n++, basis->U + f * r, r * sizeof *Uo);
    assert_int_equal(karma_i_svd(u, squares, vt, Uo, n, r, NULL), KARMA_OK);
    size_t k = n < r ? n : r;
    for (size_t i = 0; i < k; i++) squares[i] *= squares[i];
    return k;
}

static size_t slow_rank(double *least, const karma_i_basis *basis, const karma_i_rows *rows, size_t row,
                        size_t hidden) {
    double squares[MOST_FEATURES];
    size_t n = slow_spectrum(squares, basis, rows, row, hidden), rank = 0;
    while (rank < n && squares[rank] > KARMA_I_LEAST_LAMBDA) rank++;
    *least = rank ? squares[rank - 1] : 0.0;
    return rank;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_summary(const karma_i_regularity *got, double *lambda, size_t n) {
    size_t blind = 0;
    qsort(lambda, n, sizeof *lambda, ascending);
    while (blind < n && lambda[blind] == 0.0) blind++;
    assert_int_equal(got->n_blind, blind);
    if (blind == n) return;
    check_close(got->quartile[0], lambda[blind], 1e-9, "least lambda");
    check_close(got->quartile[4], lambda[n - 1], 1e-9, "largest lambda");
    for (size_t k = 1; k < 4;
         k++) { /* k quarters are at most the quartile and the others at least, except for one row */
        size_t below = 0, above = 0;
        for (size_t i = blind; i < n; i++) {
            below += lambda[i] <= got->quartile[k] + 1e-12;
            above += lambda[i] >= got->quartile[k] - 1e-12;
        }
        assert_true(4 * below >= k * (n - blind - 1) && 4 * above >= (4 - k) * (n - blind - 1));
    }
}

static void check_regularity(const karma_i_basis *basis, const karma_i_rows *rows, int threads) {
    karma_i_regularity *got = regularity_of(basis, rows, threads);
    double *lambda = calloc(rows->n_rows + 1, sizeof *lambda);
    size_t n_reconstructible = 0;
    assert_non_null(lambda);
    for (size_t i = 0; i < rows->n_rows; i++) {
        size_t rank = slow_rank(&lambda[i], basis, rows, i, rows->n_attributes);
        if (!(fabs(got->lambda[i] - lambda[i]) <= 1e-12 + 1e-8 * lambda[i]))
            fail_msg("row %zu: lambda %.17g, wanted %.17g", i, got->lambda[i], lambda[i]);
        assert_int_equal(got->is_reconstructible[i], rank == basis->rank);
        n_reconstructible += rank == basis->rank;
    }
    assert_int_equal(got->n_reconstructible, n_reconstructible);
    for (size_t j = 0; j < rows->n_attributes; j++) {
        size_t critical = 0;
        double least;
        for (size_t i = 0; i < rows->n_rows; i++)
            critical += got->is_reconstructible[i] && slow_rank(&least, basis, rows, i, j) < basis->rank;
        assert_int_equal(got->n_critical[j], critical);
    }
    check_summary(got, lambda, rows->n_rows);
    free(lambda);
    karma_i_regularity_free(got);
}

/* A random W of this rank for these rows; some attributes lie across it, one carries a direction alone. */
static karma_i_basis *odd_basis(size_t d, size_t rank, karma_i_rng *rng) {
    double mean[MOST_FEATURES] = {0}, W[MOST_FEATURES * MOST_FEATURES];
    for (size_t k = 0; k < d * rank; k++) W[k] = karma_i_rng_normal(rng);
    for (size_t f = 0; f < d && rank; f++) {
        if (f != 1) W[f * rank] = 0.0;                             /* only feature 1 sees direction 0 */
        if (f % 5 == 4) memset(W + f * rank, 0, rank * sizeof *W); /* observes nothing */
        /* observes the same as another one */
        if (f % 5 == 3) memcpy(W + f * rank, W + (f - 1) * rank, rank * sizeof *W);
    }
    karma_i_subspace s = {.n_features = d, .rank = rank, .mean = mean, .W = W, .sigma2 = 1.0};
    return basis_of(&s);
}

static void regularity_equals_singular_values(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    for (size_t rank = 0; rank <= 6; rank++)
        for (int share = 0; share <= 4; share++) {
            row_shape shape = {.n_rows = 120, .n_attributes = 9, .every = 3, .width = 2, .share = 0.25 * share};
            karma_i_rows *rows = draw_rows(&shape, &rng);
            karma_i_basis *basis = odd_basis(rows->n_features, rank, &rng);
            for (int threads = 1; threads <= 2; threads++) check_regularity(basis, rows, threads);
            karma_i_basis_free(basis);
            karma_i_rows_free(rows);
        }
}

/* The same from lists of cells. */
static void sparse_rows_are_as_regular(void **state) {
    (void)state;
    low_rank p = draw_low_rank(1100, 14, 3, 0.3, 0.7, 99);
    karma_i_rows *sparse = as_sparse(p.rows);
    karma_i_subspace *s = fitted_tightly(p.rows, 3, 10);
    karma_i_basis *basis = basis_of(s);
    karma_i_regularity *a = regularity_of(basis, p.rows, 1), *b = regularity_of(basis, sparse, 3);
    assert_memory_equal(a->lambda, b->lambda, p.n * sizeof *a->lambda);
    assert_memory_equal(a->is_reconstructible, b->is_reconstructible, p.n);
    assert_memory_equal(a->n_critical, b->n_critical, p.d * sizeof *a->n_critical);
    assert_true(a->n_reconstructible > 0 && a->n_reconstructible < p.n);
    karma_i_regularity_free(a);
    karma_i_regularity_free(b);
    karma_i_basis_free(basis);
    karma_i_subspace_free(s);
    karma_i_rows_free(sparse);
    free_low_rank(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_are_conditional_means),
        cmocka_unit_test(completions_do_not_depend_on_the_batch),
        cmocka_unit_test(rows_without_noise_are_recovered),
        cmocka_unit_test(completions_equal_the_functions_of_the_paper),
        cmocka_unit_test(coordinates_have_the_inner_products_of_completions),
        cmocka_unit_test(a_basis_is_orthonormal_and_spans_W),
        cmocka_unit_test(regularity_equals_singular_values),
        cmocka_unit_test(sparse_rows_are_as_regular),
    };
    return cmocka_run_group_tests_name("completion", tests, NULL, NULL);
}
