/* Rows and slow truths for tests of the subspace: the Gaussian N(mean, WWᵀ + σ²I) with its d × d matrices written out.
 * Include after cmocka.h. */
#ifndef KARMA_TEST_SUBSPACECASE_H
#define KARMA_TEST_SUBSPACECASE_H

#include <math.h>
#include <stdlib.h>

#include "randomrows.h"
#include "subspace/ppca.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"

enum { MOST_FEATURES = 96 };

static inline void check_close(double got, double wanted, double tolerance, const char *what) {
    if (!(fabs(got - wanted) <= tolerance * fmax(1.0, fabs(wanted))))
        fail_msg("%s: got %.17g, wanted %.17g, tolerance %g", what, got, wanted, tolerance);
}

/* ---- rows ---- */

typedef struct low_rank {
    size_t n, d, r;
    double noise, missing;
    double *basis, *mean; /* d × r, d */
    double *truth;        /* n × d, without noise */
    karma_i_rows *rows;
} low_rank;

/* x = mean + B z + noise; missing cells at random. B has entries of about 1/√r, so cells have a variance of about 1. */
static inline low_rank draw_low_rank(size_t n, size_t d, size_t r, double noise, double missing, uint64_t seed) {
    low_rank p = {.n = n, .d = d, .r = r, .noise = noise, .missing = missing};
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    p.basis = calloc(d * r + 1, sizeof *p.basis);
    p.mean = calloc(d, sizeof *p.mean);
    p.truth = calloc(n * d, sizeof *p.truth);
    size_t *start = calloc(d + 1, sizeof *start);
    double *z = calloc(r + 1, sizeof *z);
    assert_true(p.basis && p.mean && p.truth && start && z);
    for (size_t j = 0; j <= d; j++) start[j] = j;
    assert_int_equal(karma_i_rows_new(&p.rows, d, start, n, NULL), KARMA_OK);
    for (size_t k = 0; k < d * r; k++) p.basis[k] = karma_i_rng_normal(&rng) / sqrt((double)r);
    for (size_t j = 0; j < d; j++) p.mean[j] = karma_i_rng_normal(&rng);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < r; k++) z[k] = karma_i_rng_normal(&rng);
        for (size_t j = 0; j < d; j++) {
            double x = p.mean[j];
            for (size_t k = 0; k < r; k++) x += p.basis[j * r + k] * z[k];
            p.truth[i * d + j] = x;
            x += noise * karma_i_rng_normal(&rng);
            if (karma_i_rng_uniform(&rng) < missing) continue;
            karma_i_mask_set(karma_i_rows_mask(p.rows, i), j);
            karma_i_dense_of(p.rows)->values[i * d + j] = (float)x;
        }
    }
    p.rows->n_rows = n;
    free(start);
    free(z);
    return p;
}

static inline void free_low_rank(low_rank *p) {
    free(p->basis);
    free(p->mean);
    free(p->truth);
    karma_i_rows_free(p->rows);
}

/* Hides a cell of dense rows. */
static inline void hide(karma_i_rows *rows, size_t row, size_t j) {
    karma_i_dense_of(rows)->mask[row * karma_i_dense_of(rows)->n_words + j / 64] &= ~(UINT64_C(1) << j % 64);
    for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++)
        karma_i_rows_values(rows, row)[f] = 0.0F;
}

/* The same rows as lists of cells; one feature per attribute. */
static inline karma_i_rows *as_sparse(const karma_i_rows *rows) {
    karma_i_rows *sparse = NULL;
    assert_int_equal(karma_i_rows_new_sparse(&sparse, rows->n_attributes, rows->n_rows, NULL), KARMA_OK);
    for (size_t i = 0; i < rows->n_rows; i++) {
        for (size_t j = 0; j < rows->n_attributes; j++)
            if (karma_i_mask_get(karma_i_rows_mask(rows, i), j))
                assert_int_equal(karma_i_rows_add_cell(sparse, j, karma_i_rows_values(rows, i)[j], NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_end_sparse(sparse, NULL), KARMA_OK);
    }
    return sparse;
}

static inline karma_i_subspace *fitted(const karma_i_rows *rows, const karma_i_ppca_options *options) {
    karma_i_subspace *subspace = NULL;
    karma_error err = {0};
    if (karma_i_ppca_fit(&subspace, karma_i_rows_all(rows), options, &err) != KARMA_OK) fail_msg("%s", err.message);
    return subspace;
}

/* Until rounding stops the progress, or the passes are used up. */
static inline karma_i_subspace *fitted_tightly(const karma_i_rows *rows, size_t rank, size_t passes) {
    karma_i_ppca_options options = karma_i_ppca_defaults(rank);
    options.tolerance = 0.0;
    options.most_passes = passes;
    return fitted(rows, &options);
}

/* ---- the Gaussian ---- */

/* The features that a row of dense rows observes, and the values. */
static inline size_t observed_features(size_t *feature, double *x, const karma_i_rows *rows, size_t row) {
    size_t n = 0;
    for (size_t j = 0; j < rows->n_attributes; j++)
        for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++) {
            if (!karma_i_mask_get(karma_i_rows_mask(rows, row), j)) continue;
            feature[n] = f;
            x[n++] = (double)karma_i_rows_values(rows, row)[f];
        }
    return n;
}

/* (WWᵀ)_fg */
static inline double signal_covariance(const karma_i_subspace *s, size_t f, size_t g) {
    double sum = 0.0;
    for (size_t k = 0; k < s->rank; k++) sum += s->W[f * s->rank + k] * s->W[g * s->rank + k];
    return sum;
}

/* In place, lower triangle; n × n. */
static inline void slow_cholesky(double *A, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = A[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
            if (j == i) assert_true(sum > 0.0);
            A[i * n + j] = j < i ? sum / A[j * n + j] : sqrt(sum);
        }
}

/* b = L⁻¹ b */
static inline void slow_forward(double *b, const double *L, size_t n) {
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= L[i * n + k] * b[k];
        b[i] /= L[i * n + i];
    }
}

/* The Gaussian of the observed part of a row: its features, L with L Lᵀ = Σ_oo, and L⁻¹(x_o - mean_o). */
typedef struct slow_row {
    size_t n, feature[MOST_FEATURES];
    double L[MOST_FEATURES * MOST_FEATURES], white[MOST_FEATURES];
} slow_row;

static inline void slow_condition(slow_row *out, const karma_i_subspace *s, const karma_i_rows *rows, size_t row) {
    assert_true(rows->n_features <= MOST_FEATURES);
    out->n = observed_features(out->feature, out->white, rows, row);
    for (size_t a = 0; a < out->n; a++) {
        out->white[a] -= s->mean[out->feature[a]];
        for (size_t b = 0; b < out->n; b++)
            out->L[a * out->n + b] = signal_covariance(s, out->feature[a], out->feature[b]) +
                                     (a == b) * karma_i_subspace_noise(s, out->feature[a]);
    }
    slow_cholesky(out->L, out->n);
    slow_forward(out->white, out->L, out->n);
}

static inline double slow_log_density(const karma_i_subspace *s, const karma_i_rows *rows, size_t row) {
    slow_row g;
    slow_condition(&g, s, rows, row);
    double sum = 0.0;
    for (size_t a = 0; a < g.n; a++)
        sum -= 0.5 * log(2.0 * acos(-1.0)) + log(g.L[a * g.n + a]) + 0.5 * g.white[a] * g.white[a];
    return sum;
}

static inline double slow_log_likelihood(const karma_i_subspace *s, const karma_i_rows *rows) {
    double sum = 0.0;
    for (size_t i = 0; i < rows->n_rows; i++) sum += slow_log_density(s, rows, i);
    return sum;
}

/* Conditional mean and variance of the signal mean + W z at feature f, given the observed part. */
static inline void slow_completion(double *mean, double *variance, const karma_i_subspace *s, const slow_row *g,
                                   size_t f) {
    double c[MOST_FEATURES];
    *mean = s->mean[f];
    *variance = signal_covariance(s, f, f);
    for (size_t a = 0; a < g->n; a++) c[a] = signal_covariance(s, f, g->feature[a]);
    slow_forward(c, g->L, g->n);
    for (size_t a = 0; a < g->n; a++) {
        *mean += c[a] * g->white[a];
        *variance -= c[a] * c[a];
    }
}

#endif
