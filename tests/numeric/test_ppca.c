/* EM for the hidden subspace, against results computed in other ways: the closed form on complete rows, the Gaussian
 * density with d × d matrices, finite differences of it; and against itself: threads, parts and encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "linalg/linalg.h"
#include "subspace/posterior.h"
#include "subspacecase.h"
#include "table/rows_dense.h"

/* ---- the loops ---- */

/* A random subspace. */
static void set_subspace(karma_i_subspace *s, size_t d, size_t r, double sigma2, karma_i_rng *rng) {
    *s = (karma_i_subspace){.n_features = d, .rank = r, .sigma2 = sigma2};
    s->mean = calloc(d, sizeof *s->mean);
    s->W = calloc(d * r + 1, sizeof *s->W);
    assert_true(s->mean && s->W);
    for (size_t f = 0; f < d; f++) s->mean[f] = karma_i_rng_normal(rng);
    for (size_t k = 0; k < d * r; k++) s->W[k] = karma_i_rng_normal(rng);
}

static void clear_subspace(karma_i_subspace *s) {
    free(s->mean);
    free(s->W);
}

/* W ẑ + mean and w·C w against the conditional Gaussian, at every feature: ẑ and C are right where W has rank r. */
static void check_row(const karma_i_posterior *p, const karma_i_subspace *s, const karma_i_rows *rows, size_t row) {
    size_t r = s->rank;
    const double *z = p->z + row * p->z_stride, *second = p->second + row * p->second_stride;
    slow_row g;
    slow_condition(&g, s, rows, row);
    check_close(p->log_density[row], slow_log_density(s, rows, row), 1e-8, "log density");
    assert_true(z[0] == 1.0 && second[0] == 1.0);
    for (size_t f = 0; f < s->n_features; f++) {
        double mean = s->mean[f], variance = 0.0, slow_mean, slow_variance;
        const double *w = s->W + f * r;
        for (size_t k = 0; k < r; k++) {
            const double *moment = second + karma_i_packed_size(k + 1);
            assert_true(moment[0] == z[k + 1]);
            mean += w[k] * z[k + 1];
            for (size_t l = 0; l <= k; l++)
                variance += (l < k ? 2.0 : 1.0) * w[k] * w[l] * (moment[l + 1] - z[k + 1] * z[l + 1]);
        }
        slow_completion(&slow_mean, &slow_variance, s, &g, f);
        check_close(mean, slow_mean, 1e-7, "mean of the posterior");
        check_close(variance, slow_variance, 1e-7, "variance of the posterior");
    }
}

/* The sum over the patterns of attribute j's group that contain it. */
static double of_attribute(const double *second, size_t j, size_t group_size, size_t stride, size_t q) {
    size_t per_group = ((size_t)1 << group_size) - 1;
    double sum = 0.0;
    for (size_t set = 1; set <= per_group; set++)
        if (set >> j % group_size & 1) sum += second[(j / group_size * per_group + set - 1) * stride + q];
    return sum;
}

/* The sums over rows, attribute by attribute, in plain loops. */
static void check_sums(const double *second, const double *cross, const karma_i_posterior *p, const karma_i_rows *rows,
                       const double *mean, size_t group_size) {
    for (size_t j = 0; j <= rows->n_attributes; j++)
        for (size_t q = 0; q < p->second_stride; q++) {
            double sum = 0.0, found = of_attribute(second, j, group_size, p->second_stride, q);
            for (size_t i = 0; i < rows->n_rows; i++) {
                int counts = j < rows->n_attributes ? karma_i_mask_get(karma_i_rows_mask(rows, i), j)
                                                    : karma_i_rows_n_observed(rows, i) > 0;
                if (counts) sum += p->second[i * p->second_stride + q];
            }
            check_close(found, sum, 1e-12, "sum of second moments");
        }
    for (size_t j = 0; j < rows->n_attributes; j++)
        for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++)
            for (size_t k = 0; k < p->z_stride; k++) {
                double sum = 0.0;
                for (size_t i = 0; i < rows->n_rows; i++)
                    if (karma_i_mask_get(karma_i_rows_mask(rows, i), j))
                        sum += ((double)karma_i_rows_values(rows, i)[f] - mean[f]) * p->z[i * p->z_stride + k];
                check_close(cross[f * p->z_stride + k], sum, 1e-12, "sum of products");
            }
}

/* Rows are in one run exactly if they observe the same and no other row is between them; runs are not too long. */
static void check_runs(const karma_i_cell_lists *cells, const karma_i_rows *rows) {
    assert_int_equal(cells->run_start[0], 0);
    assert_int_equal(cells->run_start[cells->n_runs], rows->n_rows);
    for (size_t k = 0; k < cells->n_runs; k++) {
        size_t first = cells->run_start[k], end = cells->run_start[k + 1];
        assert_in_range(end - first, 1, KARMA_I_LONGEST_RUN);
        for (size_t i = first + 1; i <= end && i < rows->n_rows; i++) {
            int is_same = 1;
            for (size_t j = 0; j < rows->n_attributes; j++)
                is_same &= karma_i_mask_get(karma_i_rows_mask(rows, i), j) ==
                           karma_i_mask_get(karma_i_rows_mask(rows, i - 1), j);
            if (i < end)
                assert_true(is_same);
            else
                assert_true(!is_same || end - first == KARMA_I_LONGEST_RUN);
        }
    }
}

/* Run by run the same as row by row. */
static void check_rows_of_runs(const karma_i_posterior *of_runs, const karma_i_posterior *p,
                               const karma_i_cell_lists *cells, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < p->z_stride; k++)
            check_close(of_runs->z[i * p->z_stride + k], p->z[i * p->z_stride + k], 1e-10, "place");
        check_close(of_runs->log_density[i], p->log_density[i], 1e-10, "log density");
        check_close(of_runs->square[i], p->square[i], 1e-12, "square");
    }
    for (size_t run = 0; run < cells->n_runs; run++)
        for (size_t q = 0; q < p->second_stride; q++) {
            double sum = 0.0;
            for (size_t i = cells->run_start[run]; i < cells->run_start[run + 1]; i++)
                sum += p->second[i * p->second_stride + q];
            check_close(of_runs->second[run * p->second_stride + q], sum, 1e-10, "second moments of a run");
        }
}

static void check_path(const karma_i_posterior_path *path, const karma_i_subspace *s, const karma_i_rows *rows,
                       size_t group_size) {
    karma_i_loadings loadings;
    karma_i_cell_lists cells;
    karma_i_posterior p;
    karma_i_view all = karma_i_rows_all(rows);
    size_t n = rows->n_rows;
    assert_int_equal(karma_i_loadings_init(&loadings, rows, s->rank, group_size, NULL), KARMA_OK);
    assert_int_equal(karma_i_cell_lists_init_grouped(&cells, rows->n_attributes, n, 3, group_size, NULL), KARMA_OK);
    assert_int_equal(karma_i_posterior_init(&p, s->rank, n, NULL), KARMA_OK);
    assert_int_equal(karma_i_cell_lists_reserve(&cells, all, NULL), KARMA_OK);
    size_t scratch_size = karma_i_posterior_scratch(s->rank);
    size_t second_size = karma_i_n_patterns(rows->n_attributes, group_size) * p.second_stride;
    size_t cross_size = rows->n_features * p.z_stride;
    double *scratch = aligned_alloc(64, (scratch_size + second_size + cross_size + 8) * sizeof *scratch / 64 * 64 + 64);
    assert_non_null(scratch);
    double *second = scratch + karma_i_padded(scratch_size), *cross = second + second_size;
    memset(second, 0, (second_size + cross_size) * sizeof *second);
    karma_i_loadings_set(&loadings, s->mean, s->W, s->sigma2, s->noise);
    for (size_t i = 0; i < n; i++) karma_i_cell_lists_fill(&cells, all, i, s->mean);
    for (size_t i = 0; i < n; i += KARMA_I_LANES)
        path->estimate(&p, &loadings, &cells, i, n - i < KARMA_I_LANES ? n - i : KARMA_I_LANES, KARMA_I_MOMENTS,
                       scratch);
    for (size_t i = 0; i < n; i++) check_row(&p, s, rows, i);
    karma_i_posterior of_runs;
    assert_int_equal(karma_i_posterior_init(&of_runs, s->rank, n, NULL), KARMA_OK);
    karma_i_cell_lists_find_runs(&cells, 0, n);
    check_runs(&cells, rows);
    for (size_t k = 0; k < cells.n_runs; k += KARMA_I_LANES)
        path->estimate_runs(&of_runs, &loadings, &cells, k,
                            cells.n_runs - k < KARMA_I_LANES ? cells.n_runs - k : KARMA_I_LANES, scratch);
    check_rows_of_runs(&of_runs, &p, &cells, n);
    for (size_t range = 0; range < cells.n_ranges; range++)
        path->accumulate(second, cross, &of_runs, &cells, 0, cells.n_runs, range);
    check_sums(second, cross, &p, rows, s->mean, group_size);
    karma_i_posterior_clear(&of_runs);
    free(scratch);
    karma_i_loadings_clear(&loadings);
    karma_i_cell_lists_clear(&cells);
    karma_i_posterior_clear(&p);
}

/* Ranks on both sides of every register width, attributes of several features, all shares of observed cells, groups of
 * every size, and one table with more attributes than a word has bits. */
static void every_path_equals_the_gaussian(void **state) {
    (void)state;
    static const size_t ranks[] = {0, 1, 2, 3, 5, 7, 8, 9, 12, 16, 23};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (const karma_i_posterior_path *const *path = karma_i_posterior_paths(); *path; path++)
        for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
            for (int share = 0; share <= 2; share++) {
                row_shape shape = {.n_rows = 11, .n_attributes = 13, .every = 4, .width = 3, .share = 0.5 * share};
                if (share == 2) shape.n_rows = 60;
                if (share == 1 && ranks[k] == 3) shape.n_attributes = 70, shape.every = 8;
                karma_i_rows *rows = draw_rows(&shape, &rng);
                for (size_t i = 40; i < rows->n_rows; i++) karma_i_rows_hide(rows, i, i < 45 ? 2 : i < 46 ? 5 : 7);
                karma_i_subspace s;
                set_subspace(&s, rows->n_features, ranks[k], 0.3, &rng);
                for (size_t size = 1; size <= KARMA_I_MOST_GROUPED; size *= 2) check_path(*path, &s, rows, size);
                clear_subspace(&s);
                karma_i_rows_free(rows);
            }
}

/* ---- complete rows ---- */

/* The maximum of the likelihood (Tipping, Bishop 1999): with λ_i, u_i of the rows' covariance, descending,
 * σ² = mean of λ_i, i > r, and WWᵀ = Σ_{i≤r} (λ_i - σ²) u_i u_iᵀ. */
static void complete_rows_give_the_closed_form(void **state) {
    (void)state;
    enum { N = 200, D = 8, R = 3 };
    low_rank p = draw_low_rank(N, D, R, 0.4, 0.0, 3);
    double mean[D] = {0}, S[D * D] = {0}, values[D], sigma2 = 0.0, log_likelihood = 0.0;
    for (size_t i = 0; i < N; i++)
        for (size_t f = 0; f < D; f++) mean[f] += (double)karma_i_dense_of(p.rows)->values[i * D + f] / N;
    for (size_t i = 0; i < N; i++)
        for (size_t f = 0; f < D; f++)
            for (size_t g = 0; g < D; g++)
                S[f * D + g] += ((double)karma_i_dense_of(p.rows)->values[i * D + f] - mean[f]) *
                                ((double)karma_i_dense_of(p.rows)->values[i * D + g] - mean[g]) / N;
    assert_int_equal(karma_i_eigen_symmetric(values, S, D, NULL), KARMA_OK);
    for (size_t i = 0; i < D - R; i++) sigma2 += values[i] / (D - R);
    for (size_t i = 0; i < D; i++) log_likelihood -= 0.5 * N * (log(2.0 * acos(-1.0)) + 1.0);
    for (size_t i = 0; i < D; i++) log_likelihood -= 0.5 * N * log(i < D - R ? sigma2 : values[i]);
    karma_i_subspace *s = fitted_tightly(p.rows, R, 5000);
    check_close(s->sigma2, sigma2, 1e-6, "sigma2");
    check_close(s->log_likelihood, log_likelihood, 1e-9, "log likelihood");
    for (size_t f = 0; f < D; f++) {
        check_close(s->mean[f], mean[f], 1e-6, "mean");
        for (size_t g = 0; g < D; g++) {
            double wanted = 0.0;
            for (size_t i = D - R; i < D; i++) wanted += (values[i] - sigma2) * S[i * D + f] * S[i * D + g];
            check_close(signal_covariance(s, f, g), wanted, 1e-6, "W W'");
        }
    }
    karma_i_subspace_free(s);
    free_low_rank(&p);
}

/* ---- incomplete rows ---- */

/* The rounding errors of a likelihood: the terms that are divided by σ² cancel down to the size of σ². (Cells have a
 * variance of about 1.) */
static void check_monotone(const double *history, const karma_i_subspace *s, const char *what) {
    for (size_t t = 1; t < s->n_passes; t++) {
        double rounding = 1e-13 * fabs(history[t]) + 1e-15 * (double)s->n_values / s->sigma2;
        if (!(history[t] >= history[t - 1] - rounding))
            fail_msg("%s: pass %zu of %zu lets the log likelihood fall from %.17g to %.17g", what, t, s->n_passes,
                     history[t - 1], history[t]);
    }
}

/* ln p(x) of a complete row whose mean is 0, in long double and without differences of large numbers:
 * A = I + WᵀW/σ² = L D Lᵀ, A z = Wᵀx/σ², and |x - W z|²/σ² + |z|². */
static double precise_log_density(const karma_i_subspace *s, const float *x) {
    enum { MOST_RANK = 4 };
    size_t r = s->rank, d = s->n_features;
    long double A[MOST_RANK][MOST_RANK] = {{0}}, z[MOST_RANK] = {0}, log_determinant = 0, distance = 0;
    for (size_t f = 0; f < d; f++)
        for (size_t k = 0; k < r; k++) {
            z[k] += (long double)s->W[f * r + k] * (long double)x[f] / s->sigma2;
            for (size_t l = 0; l < r; l++) A[k][l] += (long double)s->W[f * r + k] * s->W[f * r + l] / s->sigma2;
        }
    for (size_t k = 0; k < r; k++) A[k][k] += 1;
    for (size_t k = 0; k < r; k++) /* elimination */
        for (size_t i = k + 1; i < r; i++) {
            long double factor = A[i][k] / A[k][k];
            z[i] -= factor * z[k];
            for (size_t l = k; l < r; l++) A[i][l] -= factor * A[k][l];
        }
    for (size_t k = r; k-- > 0;) {
        for (size_t l = k + 1; l < r; l++) z[k] -= A[k][l] * z[l];
        z[k] /= A[k][k];
        log_determinant += logl(A[k][k]);
        distance += z[k] * z[k];
    }
    for (size_t f = 0; f < d; f++) {
        long double rest = (long double)x[f];
        for (size_t k = 0; k < r; k++) rest -= (long double)s->W[f * r + k] * z[k];
        distance += rest * rest / s->sigma2;
    }
    return (double)(-0.5L * ((long double)d * logl(2.0L * acosl(-1.0L) * s->sigma2) + log_determinant + distance));
}

/* Cells that lie in E up to single precision, under a very small σ²: |c|²/σ² alone is larger than the distance that is
 * wanted by eleven orders of magnitude. */
static void small_noise_loses_no_digits(void **state) {
    (void)state;
    enum { D = 12, R = 3, N = 16 };
    low_rank p = draw_low_rank(N, D, R, 0.0, 0.0, 1);
    karma_i_subspace s = {.n_features = D, .rank = R, .mean = p.mean, .W = p.basis, .sigma2 = 1e-10};
    karma_i_ppca_stats *stats = NULL;
    for (size_t i = 0; i < N * D; i++) karma_i_dense_of(p.rows)->values[i] = (float)(p.truth[i] - p.mean[i % D]);
    memset(p.mean, 0, D * sizeof *p.mean);
    assert_int_equal(karma_i_ppca_stats_new(&stats, p.rows, R, 1, NULL), KARMA_OK);
    for (size_t i = 0; i < N; i++) {
        karma_i_ppca_begin(stats, &s);
        assert_int_equal(karma_i_ppca_add_rows(stats, (karma_i_view){p.rows, i, 1}, NULL), KARMA_OK);
        check_close(karma_i_ppca_log_likelihood(stats), precise_log_density(&s, karma_i_rows_values(p.rows, i)), 1e-9,
                    "log likelihood");
    }
    karma_i_ppca_stats_free(stats);
    free_low_rank(&p);
}

static void the_likelihood_is_the_gaussians_and_never_falls(void **state) {
    (void)state;
    enum { PASSES = 60 };
    for (uint64_t seed = 1; seed <= 6; seed++) {
        double history[PASSES];
        low_rank p = draw_low_rank(90, 10, 3, seed % 2 ? 0.5 : 0.01, 0.4, seed);
        karma_i_ppca_options options = karma_i_ppca_defaults(seed % 3 + 2);
        options.tolerance = 0.0;
        options.history = history;
        for (options.most_passes = 1; options.most_passes <= PASSES; options.most_passes += 7) {
            karma_i_subspace *s = fitted(p.rows, &options);
            check_close(s->log_likelihood, slow_log_likelihood(s, p.rows), 1e-9, "log likelihood");
            assert_true(history[s->n_passes - 1] == s->log_likelihood);
            check_monotone(history, s, "low rank");
            karma_i_subspace_free(s);
        }
        free_low_rank(&p);
    }
}

/* Factor analysis: the likelihood is that of the Gaussian with a noise per attribute, the variances are those that the
 * rows were made with, and the standard errors of hidden cells are correct. */
static void a_noise_per_attribute_is_found(void **state) {
    (void)state;
    enum { D = 14, R = 2, N = 3000 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        low_rank p = draw_low_rank(N, D, R, 0.0, 0.3, seed);
        karma_i_ppca_options options = karma_i_ppca_defaults(R);
        karma_i_rng rng;
        double v[D], mean = 0.0;
        karma_i_subspace truth = {.n_features = D, .rank = R, .sigma2 = 1.0, .mean = p.mean, .W = p.basis, .noise = v};
        karma_i_rng_init(&rng, seed);
        for (size_t f = 0; f < D; f++) v[f] = pow(0.3 + 0.05 * (double)f, 2.0);
        for (size_t i = 0; i < N * D; i++)
            karma_i_dense_of(p.rows)->values[i] += (float)(sqrt(v[i % D]) * karma_i_rng_normal(&rng));
        options.has_own_noise = 1;
        options.tolerance = 1e-8;
        karma_i_subspace *s = fitted(p.rows, &options);
        check_close(s->log_likelihood, slow_log_likelihood(s, p.rows), 1e-9, "log likelihood");
        assert_true(s->log_likelihood > slow_log_likelihood(&truth, p.rows));
        for (size_t f = 0; f < D; f++) {
            double found = karma_i_subspace_noise(s, f);
            mean += found / D;
            if (!(fabs(sqrt(found / v[f]) - 1.0) < 0.1)) fail_msg("noise %g where it is %g", sqrt(found), sqrt(v[f]));
        }
        check_close(mean, s->sigma2, 0.05, "mean of the noise");
        karma_i_subspace_free(s);
        free_low_rank(&p);
    }
}

/* Few values say little about their noise: a column of three values gets nearly the common noise. */
static void few_values_have_the_common_noise(void **state) {
    (void)state;
    enum { D = 6, N = 200 };
    low_rank p = draw_low_rank(N, D, 2, 0.3, 0.0, 5);
    karma_i_ppca_options options = karma_i_ppca_defaults(2);
    for (size_t i = 3; i < N; i++) karma_i_mask_clear(karma_i_rows_mask(p.rows, i), D - 1);
    options.has_own_noise = 1;
    karma_i_subspace *s = fitted(p.rows, &options);
    assert_true(s->noise[D - 1] > 0.5 && s->noise[D - 1] < 2.0);
    for (size_t f = 0; f < D; f++) assert_true(isfinite(s->noise[f]) && s->noise[f] > 0.0);
    karma_i_subspace_free(s);
    free_low_rank(&p);
}

/* A mean shifted along W, and a W that is too long: plain EM would be slow, but expanded parameters correct both in
 * one pass. */
static void a_pass_undoes_shift_and_length(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 12);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        low_rank p = draw_low_rank(60, 8, 2, 0.3, 0.3, seed);
        karma_i_subspace s;
        karma_i_ppca_stats *stats = NULL;
        set_subspace(&s, p.d, 2, 0.2, &rng);
        for (size_t f = 0; f < p.d; f++) {
            for (size_t k = 0; k < 2; k++) s.W[f * 2 + k] = 3.0 * p.basis[f * 2 + k];
            s.mean[f] = p.mean[f] + 4.0 * p.basis[f * 2] - 3.0 * p.basis[f * 2 + 1];
        }
        double before = slow_log_likelihood(&s, p.rows);
        assert_int_equal(karma_i_ppca_stats_new(&stats, p.rows, 2, 1, NULL), KARMA_OK);
        karma_i_ppca_begin(stats, &s);
        assert_int_equal(karma_i_ppca_add_rows(stats, karma_i_rows_all(p.rows), NULL), KARMA_OK);
        check_close(karma_i_ppca_log_likelihood(stats), before, 1e-11, "log likelihood");
        karma_i_ppca_finish(&s, stats, 0);
        double after = slow_log_likelihood(&s, p.rows);
        karma_i_subspace *best = fitted_tightly(p.rows, 2, 500);
        double share = (after - before) / (best->log_likelihood - before);
        if (!(share > 0.9)) fail_msg("one pass does %g of what can be done", share);
        karma_i_subspace_free(best);
        karma_i_ppca_stats_free(stats);
        clear_subspace(&s);
        free_low_rank(&p);
    }
}

/* Tables too large for groups of four attributes: the size of the groups does not show. */
static void large_tables_have_smaller_groups(void **state) {
    (void)state;
    static const size_t dims[] = {19, 41, 90}, sizes[] = {4, 2, 1};
    enum { RANK = 50 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 13);
    for (size_t k = 0; k < 3; k++) {
        low_rank p = draw_low_rank(70, dims[k], 3, 0.3, 0.4, 50 + k);
        karma_i_subspace s;
        karma_i_ppca_stats *stats = NULL;
        assert_int_equal(karma_i_posterior_group_size(dims[k], RANK), sizes[k]);
        set_subspace(&s, p.d, RANK, 0.2, &rng);
        double before = slow_log_likelihood(&s, p.rows);
        assert_int_equal(karma_i_ppca_stats_new(&stats, p.rows, RANK, 1, NULL), KARMA_OK);
        for (int pass = 0; pass < 3; pass++) {
            karma_i_ppca_begin(stats, &s);
            assert_int_equal(karma_i_ppca_add_rows(stats, karma_i_rows_all(p.rows), NULL), KARMA_OK);
            check_close(karma_i_ppca_log_likelihood(stats), before, 1e-9, "log likelihood");
            karma_i_ppca_finish(&s, stats, 0);
            double after = slow_log_likelihood(&s, p.rows);
            assert_true(after > before);
            before = after;
        }
        karma_i_ppca_stats_free(stats);
        clear_subspace(&s);
        free_low_rank(&p);
    }
}

/* As many attributes as patterns can have, and one more: too many for the slow twin, so only values are counted. */
static void the_widest_tables_are_accepted(void **state) {
    (void)state;
    for (size_t d = KARMA_I_MOST_PATTERN_ATTRIBUTES; d <= KARMA_I_MOST_PATTERN_ATTRIBUTES + 1; d++) {
        low_rank p = draw_low_rank(9, d, 1, 0.3, 0.5, 60);
        size_t n_values = 0;
        for (size_t i = 0; i < 9; i++) n_values += karma_i_rows_n_observed(p.rows, i);
        assert_int_equal(karma_i_posterior_group_size(d, 1) > 1, d == KARMA_I_MOST_PATTERN_ATTRIBUTES);
        karma_i_subspace *s = fitted_tightly(p.rows, 1, 3);
        assert_int_equal(s->n_values, n_values);
        karma_i_subspace_free(s);
        free_low_rank(&p);
    }
}

/* Central differences of the slow likelihood in one parameter. */
static double slope(double *parameter, double step, const karma_i_subspace *s, const karma_i_rows *rows) {
    double at = *parameter;
    *parameter = at + step;
    double above = slow_log_likelihood(s, rows);
    *parameter = at - step;
    double below = slow_log_likelihood(s, rows);
    *parameter = at;
    return (above - below) / (2.0 * step);
}

static double steepest(karma_i_subspace *s, const karma_i_rows *rows) {
    double most = fabs(slope(&s->sigma2, 1e-5 * s->sigma2, s, rows));
    for (size_t f = 0; f < s->n_features; f++) {
        most = fmax(most, fabs(slope(&s->mean[f], 1e-5, s, rows)));
        for (size_t k = 0; k < s->rank; k++) most = fmax(most, fabs(slope(&s->W[f * s->rank + k], 1e-5, s, rows)));
    }
    return most;
}

static void the_gradient_vanishes_at_the_end(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        low_rank p = draw_low_rank(80, 7, 2, 0.5, 0.3, seed);
        karma_i_subspace *early = fitted_tightly(p.rows, 2, 2), *late = fitted_tightly(p.rows, 2, 20000);
        double before = steepest(early, p.rows), after = steepest(late, p.rows);
        if (!(before > 1.0 && after < 2e-3)) fail_msg("steepest slope %g after 2 passes, %g in the end", before, after);
        karma_i_subspace_free(early);
        karma_i_subspace_free(late);
        free_low_rank(&p);
    }
}

/* With few rows and many holes; the truth is a point of the same family, so the maximum must be at least as likely. */
static void the_truth_is_less_likely_than_the_maximum(void **state) {
    (void)state;
    low_rank p = draw_low_rank(3000, 20, 3, 0.3, 0.6, 8);
    karma_i_ppca_options options = karma_i_ppca_defaults(3);
    karma_i_subspace *s = fitted(p.rows, &options), truth = {.n_features = 20, .rank = 3, .sigma2 = 0.09};
    truth.mean = p.mean;
    truth.W = p.basis;
    assert_true(s->is_converged);
    assert_true(s->log_likelihood > slow_log_likelihood(&truth, p.rows));
    check_close(s->sigma2, 0.09, 0.01, "sigma2");
    karma_i_subspace_free(s);
    free_low_rank(&p);
}

/* Attributes of several features: the mask is the attribute's, the arithmetic the features'. */
static void categories_enter_through_their_features(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    row_shape shape = {.n_rows = 70, .n_attributes = 9, .every = 3, .width = 4, .share = 0.6};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    double history[40];
    karma_i_ppca_options options = karma_i_ppca_defaults(4);
    options.tolerance = 0.0;
    options.most_passes = 40;
    options.history = history;
    karma_i_subspace *s = fitted(rows, &options);
    size_t n_values = 0, feature[MOST_FEATURES];
    double x[MOST_FEATURES];
    for (size_t i = 0; i < rows->n_rows; i++) n_values += observed_features(feature, x, rows, i);
    assert_int_equal(s->n_values, n_values);
    check_close(s->log_likelihood, slow_log_likelihood(s, rows), 1e-9, "log likelihood");
    check_monotone(history, s, "features");
    karma_i_subspace_free(s);
    karma_i_rows_free(rows);
}

/* ---- difficult tables ---- */

static void check_survives(const karma_i_rows *rows, size_t rank, const char *what) {
    enum { PASSES = 100 };
    double history[PASSES];
    karma_i_ppca_options options = karma_i_ppca_defaults(rank);
    options.tolerance = 0.0;
    options.most_passes = PASSES;
    options.history = history;
    karma_i_subspace *s = fitted(rows, &options);
    int finite = isfinite(s->sigma2) && s->sigma2 > 0.0 && isfinite(s->log_likelihood);
    for (size_t f = 0; f < s->n_features; f++) finite &= isfinite(s->mean[f]) != 0;
    for (size_t k = 0; k < s->n_features * rank; k++) finite &= isfinite(s->W[k]) != 0;
    if (!finite) fail_msg("%s, rank %zu: not finite", what, rank);
    check_monotone(history, s, what);
    karma_i_subspace_free(s);
}

static void check_survives_all_ranks(const karma_i_rows *rows, const char *what) {
    static const size_t ranks[] = {0, 1, 2, 5, 9, 20};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) check_survives(rows, ranks[k], what);
}

static void odd_tables_are_accepted(void **state) {
    (void)state;
    low_rank p = draw_low_rank(40, 9, 3, 0.3, 0.3, 6);
    check_survives_all_ranks(p.rows, "as drawn"); /* ranks 9 and 20 are not below d */
    for (size_t i = 0; i < p.n; i++) hide(p.rows, i, i % 2 ? 1 : 2);
    check_survives_all_ranks(p.rows, "attributes never observed together");
    for (size_t i = 1; i < p.n; i++) hide(p.rows, i, 0);
    check_survives_all_ranks(p.rows, "an attribute seen at most once");
    hide(p.rows, 0, 0);
    check_survives_all_ranks(p.rows, "an attribute never seen");
    for (size_t i = 0; i < p.n; i++)
        if (karma_i_mask_get(karma_i_rows_mask(p.rows, i), 4))
            karma_i_dense_of(p.rows)->values[i * p.d + 4] = 12345.678F;
    check_survives_all_ranks(p.rows, "a constant attribute");
    for (size_t i = 0; i < p.n; i += 3)
        for (size_t j = 0; j < p.d; j++) hide(p.rows, i, j);
    check_survives_all_ranks(p.rows, "rows with nothing observed");
    for (size_t i = 1; i < p.n; i += 3)
        for (size_t j = 0; j < p.d; j++)
            if (j != i % p.d) hide(p.rows, i, j);
    check_survives_all_ranks(p.rows, "rows with fewer cells than the rank");
    for (size_t i = 0; i < p.n * p.d; i++)
        if (karma_i_dense_of(p.rows)->values[i] != 0.0F) karma_i_dense_of(p.rows)->values[i] = 7.0F;
    check_survives_all_ranks(p.rows, "nothing varies");
    free_low_rank(&p);
}

static void odd_shapes_are_accepted(void **state) {
    (void)state;
    static const struct {
        size_t n, d;
        double missing, noise;
        const char *what;
    } shapes[] = {{8, 40, 0.3, 0.3, "more columns than rows"}, {1, 12, 0.3, 0.3, "a single row"},
                  {30, 1, 0.3, 0.3, "a single column"},        {1, 1, 0.0, 0.3, "a single cell"},
                  {25, 10, 1.0, 0.3, "nothing observed"},      {60, 12, 0.3, 0.0, "no noise"},
                  {60, 12, 0.9, 0.0, "no noise and few cells"}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        low_rank p = draw_low_rank(shapes[k].n, shapes[k].d, 2, shapes[k].noise, shapes[k].missing, 10 + k);
        check_survives_all_ranks(p.rows, shapes[k].what);
        free_low_rank(&p);
    }
    low_rank empty = draw_low_rank(3, 4, 1, 0.1, 0.0, 1);
    empty.rows->n_rows = 0;
    check_survives_all_ranks(empty.rows, "no rows");
    free_low_rank(&empty);
}

/* With means far from 0 and different scales. */
static void units_do_not_matter(void **state) {
    (void)state;
    low_rank p = draw_low_rank(200, 8, 2, 0.3, 0.3, 9);
    karma_i_subspace *plain = fitted_tightly(p.rows, 2, 300);
    for (size_t i = 0; i < p.n * p.d; i++)
        if (karma_i_dense_of(p.rows)->values[i] != 0.0F)
            karma_i_dense_of(p.rows)->values[i] = karma_i_dense_of(p.rows)->values[i] * 1024.0F + 65536.0F;
    karma_i_subspace *moved = fitted_tightly(p.rows, 2, 300);
    check_close(moved->sigma2 / (1024.0 * 1024.0), plain->sigma2, 1e-4, "sigma2");
    for (size_t f = 0; f < p.d; f++) check_close((moved->mean[f] - 65536.0) / 1024.0, plain->mean[f], 1e-3, "mean");
    karma_i_subspace_free(plain);
    karma_i_subspace_free(moved);
    free_low_rank(&p);
}

/* ---- the same bits ---- */

static void check_same(const karma_i_subspace *a, const karma_i_subspace *b) {
    assert_true(a->sigma2 == b->sigma2 && a->log_likelihood == b->log_likelihood && a->n_passes == b->n_passes);
    assert_memory_equal(a->mean, b->mean, a->n_features * sizeof *a->mean);
    assert_memory_equal(a->W, b->W, a->n_features * a->rank * sizeof *a->W);
}

/* The larger table starts from a sample of its rows. */
static void threads_and_encodings_do_not_change_a_bit(void **state) {
    (void)state;
    static const size_t sizes[] = {37, 1500, 16100};
    for (size_t k = 0; k < 3; k++) {
        low_rank p = draw_low_rank(sizes[k], 11, 3, 0.3, 0.5, 20 + k);
        karma_i_rows *sparse = as_sparse(p.rows);
        karma_i_ppca_options options = karma_i_ppca_defaults(3);
        options.most_passes = 12;
        karma_i_subspace *one = fitted(p.rows, &options);
        for (options.threads = 1; options.threads <= 3; options.threads++) {
            karma_i_subspace *dense = fitted(p.rows, &options), *listed = fitted(sparse, &options);
            check_same(dense, one);
            check_same(listed, one);
            karma_i_subspace_free(dense);
            karma_i_subspace_free(listed);
        }
        karma_i_subspace_free(one);
        karma_i_rows_free(sparse);
        free_low_rank(&p);
    }
}

/* One pass from the same start; parts of `part` rows. */
static karma_i_subspace *one_pass(const karma_i_rows *rows, const karma_i_rows *like, size_t part, int threads,
                                  double *log_likelihood) {
    karma_i_subspace *s = NULL;
    karma_i_ppca_stats *stats = NULL;
    assert_int_equal(karma_i_ppca_start(&s, karma_i_rows_all(rows), 4, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_ppca_stats_new(&stats, like, 4, threads, NULL), KARMA_OK);
    for (int pass = 0; pass < 3; pass++) {
        karma_i_ppca_begin(stats, s);
        for (size_t i = 0; i < rows->n_rows; i += part) {
            karma_i_view view = {rows, i, rows->n_rows - i < part ? rows->n_rows - i : part};
            assert_int_equal(karma_i_ppca_add_rows(stats, view, NULL), KARMA_OK);
        }
        *log_likelihood = karma_i_ppca_log_likelihood(stats);
        karma_i_ppca_finish(s, stats, 0);
    }
    karma_i_ppca_stats_free(stats);
    return s;
}

static void parts_do_not_change_a_bit(void **state) {
    (void)state;
    low_rank p = draw_low_rank(700, 13, 4, 0.3, 0.5, 30), small = draw_low_rank(20, 13, 4, 0.3, 0.5, 31);
    double whole_likelihood, part_likelihood;
    karma_i_subspace *whole = one_pass(p.rows, p.rows, 700, 1, &whole_likelihood);
    static const size_t parts[] = {1, 7, 64, 299, 700};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (int threads = 1; threads <= 2; threads++) {
            karma_i_subspace *s = one_pass(p.rows, small.rows, parts[k], threads, &part_likelihood);
            check_same(s, whole);
            assert_true(part_likelihood == whole_likelihood);
            karma_i_subspace_free(s);
        }
    karma_i_subspace_free(whole);
    free_low_rank(&p);
    free_low_rank(&small);
}

static void statistics_of_parts_can_be_merged(void **state) {
    (void)state;
    low_rank p = draw_low_rank(300, 13, 3, 0.3, 0.5, 32);
    karma_i_subspace *start = NULL, *again = NULL;
    karma_i_ppca_stats *all = NULL, *parts[2] = {NULL, NULL};
    assert_int_equal(karma_i_ppca_start(&start, karma_i_rows_all(p.rows), 3, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_ppca_start(&again, karma_i_rows_all(p.rows), 3, 1, NULL), KARMA_OK);
    check_same(start, again);
    assert_int_equal(karma_i_ppca_stats_new(&all, p.rows, 3, 1, NULL), KARMA_OK);
    karma_i_ppca_begin(all, start);
    assert_int_equal(karma_i_ppca_add_rows(all, karma_i_rows_all(p.rows), NULL), KARMA_OK);
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(karma_i_ppca_stats_new(&parts[k], p.rows, 3, 1, NULL), KARMA_OK);
        karma_i_ppca_begin(parts[k], start);
        assert_int_equal(karma_i_ppca_add_rows(parts[k], (karma_i_view){p.rows, 150 * k, 150}, NULL), KARMA_OK);
    }
    karma_i_ppca_merge(parts[0], parts[1]);
    assert_int_equal(karma_i_ppca_n_values(parts[0]), karma_i_ppca_n_values(all));
    check_close(karma_i_ppca_log_likelihood(parts[0]), karma_i_ppca_log_likelihood(all), 1e-13, "log likelihood");
    karma_i_ppca_finish(start, all, 0);
    karma_i_ppca_finish(again, parts[0], 0);
    check_close(again->sigma2, start->sigma2, 1e-12, "sigma2");
    for (size_t k = 0; k < p.d * 3; k++) check_close(again->W[k], start->W[k], 1e-10, "W");
    karma_i_ppca_stats_free(all);
    karma_i_ppca_stats_free(parts[0]);
    karma_i_ppca_stats_free(parts[1]);
    karma_i_subspace_free(start);
    karma_i_subspace_free(again);
    free_low_rank(&p);
}

/* ---- the rank, hooks, refusals ---- */

static size_t chosen(const karma_i_rows *rows, uint64_t seed, size_t limit, karma_i_rank_choice *choice) {
    karma_i_ppca_options options = karma_i_ppca_defaults(limit);
    karma_error err = {0};
    if (karma_i_ppca_choose_rank(choice, karma_i_rows_all(rows), seed, &options, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < choice->n_scores; i++)
        for (size_t k = 0; k < i; k++) assert_true(choice->scores[i].rank != choice->scores[k].rank);
    return choice->rank;
}

static void the_rank_is_found(void **state) {
    (void)state;
    karma_i_rank_choice choice;
    for (size_t rank = 0; rank <= 7; rank++) /* 4, 6 and 7 lie between the rungs */
        for (uint64_t seed = 1; seed <= 2; seed++) {
            low_rank p = draw_low_rank(300, 20, rank, 0.3, 0.3, 10 * rank + seed);
            size_t got = chosen(p.rows, seed, 0, &choice);
            if (got != rank) fail_msg("rank %zu, seed %d: chosen %zu", rank, (int)seed, got);
            free_low_rank(&p);
        }
}

/* Rank 1 or 2 predicts less than none in five of these tables: if the search ended there, they would have no
 * subspace. */
static void few_rows_show_their_rank(void **state) {
    (void)state;
    karma_i_rank_choice choice;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        low_rank p = draw_low_rank(24, 20, 3, 0.0, 0.5, seed);
        size_t got = chosen(p.rows, seed, 0, &choice);
        if (got != 3) fail_msg("seed %d: chosen %zu", (int)seed, got);
        free_low_rank(&p);
    }
}

/* Here larger ranks happen to predict the hidden cells best, but within chance. */
static void chance_adds_no_components(void **state) {
    (void)state;
    karma_i_rank_choice choice;
    for (size_t rank = 2; rank <= 4; rank += 2) {
        uint64_t seed = rank == 2 ? 2 : 5;
        low_rank p = draw_low_rank(400, 16, rank, 0.4, 0.3, 100 * rank + seed);
        assert_int_equal(chosen(p.rows, seed, 0, &choice), rank);
        free_low_rank(&p);
    }
}

static void the_encoding_does_not_change_the_rank(void **state) {
    (void)state;
    karma_i_rank_choice dense, listed;
    low_rank p = draw_low_rank(200, 11, 2, 0.3, 0.3, 35);
    karma_i_rows *sparse = as_sparse(p.rows);
    (void)chosen(p.rows, 1, 0, &dense);
    (void)chosen(sparse, 1, 0, &listed);
    assert_int_equal(dense.n_scores, listed.n_scores);
    for (size_t i = 0; i < dense.n_scores; i++) assert_true(dense.scores[i].score == listed.scores[i].score);
    karma_i_rows_free(sparse);
    free_low_rank(&p);
}

static void the_rank_respects_its_limits(void **state) {
    (void)state;
    karma_i_rank_choice choice;
    low_rank p = draw_low_rank(300, 12, 6, 0.05, 0.2, 50);
    assert_true(chosen(p.rows, 1, 3, &choice) <= 3);
    p.rows->n_rows = 4;
    assert_true(chosen(p.rows, 1, 0, &choice) <= 3);
    p.rows->n_rows = 1;
    assert_int_equal(chosen(p.rows, 1, 0, &choice), 0);
    free_low_rank(&p);
}

/* Asks to stop from the third call on, or from the third pass over all rows on. */
static int stop_at_third(void *payload, const char *stage, size_t done, size_t total) {
    (void)stage, (void)done, (void)total;
    return ++*(int *)payload >= 3;
}
static int stop_at_third_pass(void *payload, const char *stage, size_t done, size_t total) {
    return done > 0 && stop_at_third(payload, stage, done, total);
}

static void hooks_can_stop(void **state) {
    (void)state;
    low_rank p = draw_low_rank(100, 8, 2, 0.3, 0.7, 60); /* pairs are rare, and the start needs passes too */
    int calls = 0;
    karma_hooks hooks = {.progress = stop_at_third_pass, .payload = &calls};
    karma_i_ppca_options options = karma_i_ppca_defaults(2);
    karma_i_rank_choice choice = {.rank = 77};
    options.hooks = &hooks;
    options.tolerance = 0.0;
    for (int passes = 3; passes >= 1; passes -= 2) {
        karma_i_subspace *s = fitted(p.rows, &options);
        assert_int_equal(s->n_passes, passes);
        assert_false(s->is_converged);
        check_close(s->log_likelihood, slow_log_likelihood(s, p.rows), 1e-9, "log likelihood");
        karma_i_subspace_free(s);
        hooks.progress = stop_at_third; /* while computing the start: only the pass that evaluates follows */
        calls = 0;
    }
    calls = 2; /* the first rank is not tried */
    assert_int_equal(karma_i_ppca_choose_rank(&choice, karma_i_rows_all(p.rows), 1, &options, NULL),
                     KARMA_ERR_CANCELLED);
    assert_int_equal(choice.rank, 77);
    free_low_rank(&p);
}

/* ---- the start ---- */

/* Columns in five blocks, and rows that show one or two of them: few rows show how the blocks are related. The rows
 * have no noise, so the maximum of the likelihood has none. From a random start EM stays at a local one with a σ of
 * about 0.2 in three of these eight cases. */
static void blocks_are_joined(void **state) {
    (void)state;
    enum { N = 500, D = 20, R = 3, WIDTH = 4 };
    for (uint64_t seed = 1; seed <= 8; seed++) {
        low_rank p = draw_low_rank(N, D, R, 0.0, 0.0, seed);
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        for (size_t i = 0; i < N; i++) {
            size_t one = karma_i_rng_below(&rng, D / WIDTH), other = karma_i_rng_below(&rng, 2 * D / WIDTH);
            for (size_t f = 0; f < D; f++)
                if (f / WIDTH != one && f / WIDTH != other) hide(p.rows, i, f);
        }
        karma_i_ppca_options options = karma_i_ppca_defaults(R);
        karma_i_subspace *s = fitted(p.rows, &options);
        if (!(sqrt(s->sigma2) < 1e-3)) fail_msg("seed %d: noise %g is left", (int)seed, sqrt(s->sigma2));
        karma_i_subspace_free(s);
        free_low_rank(&p);
    }
}

/* The highest log likelihood per value that passes reach from a start. */
static double end_from(karma_i_subspace *s, const karma_i_rows *rows) {
    karma_i_ppca_stats *stats = NULL;
    double reached = -INFINITY;
    assert_int_equal(karma_i_ppca_stats_new(&stats, rows, s->rank, 1, NULL), KARMA_OK);
    for (int pass = 0; pass < 150; pass++) {
        karma_i_ppca_begin(stats, s);
        assert_int_equal(karma_i_ppca_add_rows(stats, karma_i_rows_all(rows), NULL), KARMA_OK);
        reached = karma_i_ppca_log_likelihood(stats) / (double)karma_i_ppca_n_values(stats);
        karma_i_ppca_finish(s, stats, 0);
    }
    karma_i_ppca_stats_free(stats);
    karma_i_subspace_free(s);
    return reached;
}

/* Attributes of one and of two features, a third of the cells missing: EM ends where it does after annealing. */
static void components_of_pairs_lead_to_the_same_end(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 71);
    row_shape shape = {.n_rows = 200, .n_attributes = 9, .every = 3, .width = 2, .share = 0.67};
    for (size_t rank = 1; rank <= 4; rank += 3) {
        karma_i_rows *rows = draw_rows(&shape, &rng);
        for (size_t i = 0; i < rows->n_rows; i++) { /* a common part and noise */
            double z = karma_i_rng_normal(&rng);
            for (size_t f = 0; f < rows->n_features; f++)
                karma_i_rows_values(rows, i)[f] += (float)(z * (1.0 + (double)(f % 3)));
        }
        karma_i_view all = karma_i_rows_all(rows);
        karma_i_subspace *by_pairs = NULL, *annealed = NULL;
        assert_int_equal(karma_i_ppca_start_from_pairs(&by_pairs, all, rank, 0.15, 1, NULL), KARMA_OK);
        assert_int_equal(karma_i_ppca_anneal(&annealed, all, rank, 1, NULL, NULL), KARMA_OK);
        assert_non_null(by_pairs);
        double reached = end_from(by_pairs, rows), wanted = end_from(annealed, rows);
        if (!(reached > wanted - 1e-3)) fail_msg("rank %zu: %g, annealed %g", rank, reached, wanted);
        karma_i_rows_free(rows);
    }
}

/* On complete rows EM has nothing left to do. */
static void components_of_complete_pairs_are_the_maximum(void **state) {
    (void)state;
    low_rank p = draw_low_rank(150, 10, 3, 0.4, 0.0, 72);
    karma_i_ppca_options options = karma_i_ppca_defaults(3);
    karma_i_subspace *start = NULL, *best = NULL;
    karma_i_ppca_stats *stats = NULL;
    options.tolerance = 1e-12;
    options.most_passes = 2000;
    best = fitted(p.rows, &options);
    assert_int_equal(karma_i_ppca_start_from_pairs(&start, karma_i_rows_all(p.rows), 3, 0.15, 1, NULL), KARMA_OK);
    assert_non_null(start);
    assert_int_equal(karma_i_ppca_stats_new(&stats, p.rows, 3, 1, NULL), KARMA_OK);
    karma_i_ppca_begin(stats, start);
    assert_int_equal(karma_i_ppca_add_rows(stats, karma_i_rows_all(p.rows), NULL), KARMA_OK);
    check_close(karma_i_ppca_log_likelihood(stats), best->log_likelihood, 1e-7, "likelihood of the start");
    karma_i_ppca_stats_free(stats);
    karma_i_subspace_free(start);
    karma_i_subspace_free(best);
    free_low_rank(&p);
}

/* Two halves of the attributes that no row observes together; as many directions as features. */
static void few_pairs_give_no_components(void **state) {
    (void)state;
    enum { N = 100, D = 8 };
    low_rank p = draw_low_rank(N, D, 2, 0.1, 0.0, 73);
    karma_i_subspace *s = NULL;
    assert_int_equal(karma_i_ppca_start_from_pairs(&s, karma_i_rows_all(p.rows), D, 0.15, 1, NULL), KARMA_OK);
    assert_null(s);
    for (size_t i = 0; i < N; i++)
        for (size_t f = 0; f < D; f++)
            if ((f < D / 2) == (i < N / 2)) hide(p.rows, i, f);
    assert_int_equal(karma_i_ppca_start_from_pairs(&s, karma_i_rows_all(p.rows), 2, 0.15, 1, NULL), KARMA_OK);
    assert_null(s);
    free_low_rank(&p);
}

static void impossible_options_are_refused(void **state) {
    (void)state;
    low_rank p = draw_low_rank(10, 3, 1, 0.3, 0.3, 61);
    for (int which = 0; which < 3; which++) {
        karma_i_ppca_options options = karma_i_ppca_defaults(1);
        karma_i_subspace *s = NULL;
        if (which == 0) options.most_passes = 0;
        if (which == 1) options.tolerance = NAN;
        if (which == 2) options.threads = 0;
        assert_int_equal(karma_i_ppca_fit(&s, karma_i_rows_all(p.rows), &options, NULL), KARMA_ERR_OPTION);
        assert_null(s);
    }
    free_low_rank(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_equals_the_gaussian),
        cmocka_unit_test(complete_rows_give_the_closed_form),
        cmocka_unit_test(small_noise_loses_no_digits),
        cmocka_unit_test(the_likelihood_is_the_gaussians_and_never_falls),
        cmocka_unit_test(a_noise_per_attribute_is_found),
        cmocka_unit_test(few_values_have_the_common_noise),
        cmocka_unit_test(a_pass_undoes_shift_and_length),
        cmocka_unit_test(large_tables_have_smaller_groups),
        cmocka_unit_test(the_widest_tables_are_accepted),
        cmocka_unit_test(the_gradient_vanishes_at_the_end),
        cmocka_unit_test(the_truth_is_less_likely_than_the_maximum),
        cmocka_unit_test(categories_enter_through_their_features),
        cmocka_unit_test(odd_tables_are_accepted),
        cmocka_unit_test(odd_shapes_are_accepted),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(threads_and_encodings_do_not_change_a_bit),
        cmocka_unit_test(parts_do_not_change_a_bit),
        cmocka_unit_test(statistics_of_parts_can_be_merged),
        cmocka_unit_test(the_rank_is_found),
        cmocka_unit_test(few_rows_show_their_rank),
        cmocka_unit_test(chance_adds_no_components),
        cmocka_unit_test(the_encoding_does_not_change_the_rank),
        cmocka_unit_test(the_rank_respects_its_limits),
        cmocka_unit_test(hooks_can_stop),
        cmocka_unit_test(blocks_are_joined),
        cmocka_unit_test(components_of_pairs_lead_to_the_same_end),
        cmocka_unit_test(components_of_complete_pairs_are_the_maximum),
        cmocka_unit_test(few_pairs_give_no_components),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests_name("ppca", tests, NULL, NULL);
}
