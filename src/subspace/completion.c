#include "subspace/completion.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"
#include "subspace/estep.h"

/* Singular values of W below this share of the largest are rounding errors of a zero. */
#define RANK_TOLERANCE 1e-12

enum { MOST_ROWS = 1024 };

/* Processes a group of rows whose posterior is known: rows first to first + count of the batch, which begins
 * at row `offset` of the view. `outputs` belongs to the caller. */
typedef void group_fn(void *outputs, const karma_i_subspace *subspace, const karma_i_estep *estep, size_t offset,
                      size_t first, size_t count);

/* All rows in parallel, each written by one thread. */
static karma_status for_each_group(group_fn *act, void *outputs, const karma_i_subspace *subspace, karma_i_view rows,
                                   int threads, karma_error *err) {
    karma_i_estep estep;
    size_t most_rows = rows.count < MOST_ROWS ? rows.count : MOST_ROWS;
    if (rows.count == 0) return KARMA_OK;
    KARMA_TRY(karma_i_estep_init(&estep, rows.rows, subspace->rank, most_rows, 1, threads, err));
    karma_i_estep_set(&estep, subspace);
    karma_status st = KARMA_OK;
    for (size_t offset = 0; offset < rows.count && st == KARMA_OK; offset += most_rows) {
        size_t left = rows.count - offset;
        karma_i_view batch = {rows.rows, rows.first + offset, left < most_rows ? left : most_rows};
        st = karma_i_cell_lists_reserve(&estep.cells, batch, err);
        if (st != KARMA_OK) break;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
        for (size_t i = 0; i < batch.count; i += KARMA_I_LANES) {
            size_t count = karma_i_estep_group(&estep, batch, i, KARMA_I_COVARIANCE);
            act(outputs, subspace, &estep, offset, i, count);
        }
    }
    karma_i_estep_clear(&estep);
    return st;
}

/* ẑ, after the 1 that precedes it. */
static const double *place_of(const karma_i_estep *estep, size_t row) {
    return estep->posterior.z + row * estep->posterior.z_stride + 1;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

/* ---- completions ---- */

typedef struct completions {
    double *completed, *standard_error;
} completions;

/* The posterior covariances of a group, packed, row l in lane l; lanes without a row are 0. */
static void covariance_lanes(double *out, const karma_i_estep *estep, size_t first, size_t count) {
    size_t r = estep->posterior.rank;
    memset(out, 0, KARMA_I_LANES * karma_i_packed_size(r) * sizeof *out);
    for (size_t l = 0; l < count; l++) {
        const double *second = estep->posterior.second + (first + l) * estep->posterior.second_stride;
        for (size_t k = 0; k < r; k++)
            for (size_t i = 0; i <= k; i++)
                out[(karma_i_packed_size(k) + i) * KARMA_I_LANES + l] = second[karma_i_packed_size(k + 1) + i + 1];
    }
}

/* w·C w of every lane */
static void quadratic_forms(double out[KARMA_I_LANES], const double *covariance, const double *w, size_t r) {
    memset(out, 0, KARMA_I_LANES * sizeof *out);
    for (size_t k = 0; k < r; k++)
        for (size_t i = 0; i <= k; i++, covariance += KARMA_I_LANES) {
            double weight = (i < k ? 2.0 : 1.0) * w[k] * w[i];
            for (size_t l = 0; l < KARMA_I_LANES; l++) out[l] += weight * covariance[l];
        }
}

/* From w·C w to the standard error. The features of a row are listed in their order. */
static void finish_errors(double *errors, const karma_i_subspace *subspace, const karma_i_cell_lists *cells,
                          size_t row) {
    karma_i_cell_range run = karma_i_row_features(cells, row);
    const uint32_t *observed = cells->feature + run.first;
    size_t seen = 0;
    for (size_t f = 0; f < subspace->n_features; f++) {
        int is_observed = seen < run.count && observed[seen] == f;
        seen += (size_t)is_observed;
        double variance = errors[f] > 0.0 ? errors[f] : 0.0;
        errors[f] = sqrt(is_observed ? variance : variance + karma_i_subspace_noise(subspace, f));
    }
}

static void complete_group(void *outputs, const karma_i_subspace *subspace, const karma_i_estep *estep, size_t offset,
                           size_t first, size_t count) {
    completions *to = outputs;
    size_t r = subspace->rank, d = subspace->n_features;
    double *covariance = karma_i_estep_scratch(estep), variance[KARMA_I_LANES];
    if (to->standard_error) covariance_lanes(covariance, estep, first, count);
    for (size_t f = 0; f < d; f++) {
        const double *w = subspace->W + f * r;
        if (to->standard_error) quadratic_forms(variance, covariance, w, r);
        for (size_t l = 0; l < count; l++) {
            size_t cell = (offset + first + l) * d + f;
            if (to->completed) to->completed[cell] = subspace->mean[f] + dot(w, place_of(estep, first + l), r);
            if (to->standard_error) to->standard_error[cell] = variance[l];
        }
    }
    for (size_t l = 0; to->standard_error && l < count; l++)
        finish_errors(to->standard_error + (offset + first + l) * d, subspace, &estep->cells, first + l);
}

karma_status karma_i_complete(double *completed, double *standard_error, const karma_i_subspace *subspace,
                              karma_i_view rows, int threads, karma_error *err) {
    completions to = {completed, standard_error};
    return for_each_group(complete_group, &to, subspace, rows, threads, err);
}

/* ---- places and coordinates ---- */

static void locate_group(void *outputs, const karma_i_subspace *subspace, const karma_i_estep *estep, size_t offset,
                         size_t first, size_t count) {
    double *z = outputs;
    for (size_t l = 0; l < count; l++)
        memcpy(z + (offset + first + l) * subspace->rank, place_of(estep, first + l), subspace->rank * sizeof *z);
}

karma_status karma_i_locate(double *z, const karma_i_subspace *subspace, karma_i_view rows, int threads,
                            karma_error *err) {
    return for_each_group(locate_group, z, subspace, rows, threads, err);
}

typedef struct coordinates {
    double *out;
    const karma_i_basis *basis;
    karma_i_centring centring;
} coordinates;

/* x̂ - mean = U (s Vᵀ ẑ). The coordinates of x̂ add Uᵀ mean, and one more coordinate, the same for all rows,
 * for the part of the mean orthogonal to E. */
static void coordinates_of_group(void *outputs, const karma_i_subspace *subspace, const karma_i_estep *estep,
                                 size_t offset, size_t first, size_t count) {
    const coordinates *to = outputs;
    const karma_i_basis *basis = to->basis;
    size_t n = karma_i_n_coordinates(basis, to->centring), r = subspace->rank;
    for (size_t l = 0; l < count; l++) {
        double *out = to->out + (offset + first + l) * n;
        for (size_t k = 0; k < basis->rank; k++) {
            out[k] = dot(basis->to_coordinates + k * r, place_of(estep, first + l), r);
            if (to->centring == KARMA_I_UNCENTRED) out[k] += basis->mean[k];
        }
        if (to->centring == KARMA_I_UNCENTRED) out[basis->rank] = basis->mean_beyond;
    }
}

karma_status karma_i_coordinates(double *out, const karma_i_subspace *subspace, const karma_i_basis *basis,
                                 karma_i_centring centring, karma_i_view rows, int threads, karma_error *err) {
    coordinates to = {out, basis, centring};
    return for_each_group(coordinates_of_group, &to, subspace, rows, threads, err);
}

/* ---- the basis ---- */

void karma_i_basis_free(karma_i_basis *basis) {
    if (!basis) return;
    karma_i_free(basis->U);
    karma_i_free(basis->s);
    karma_i_free(basis->to_coordinates);
    karma_i_free(basis->mean);
    karma_i_free(basis);
}

/* Reduces the k columns of the decomposition to the basis->rank significant ones: removes columns of U and
 * rows of diag(s) Vᵀ. */
static void keep_directions(karma_i_basis *basis, size_t k, size_t r) {
    while (basis->rank < k && basis->s[basis->rank] > RANK_TOLERANCE * basis->s[0]) basis->rank++;
    for (size_t f = 0; f < basis->n_features; f++)
        memmove(basis->U + f * basis->rank, basis->U + f * k, basis->rank * sizeof *basis->U);
    for (size_t i = 0; i < basis->rank; i++)
        for (size_t l = 0; l < r; l++) basis->to_coordinates[i * r + l] *= basis->s[i];
}

static void project_mean(karma_i_basis *basis, const double *mean) {
    double beyond = 0.0;
    memset(basis->mean, 0, basis->rank * sizeof *basis->mean);
    for (size_t f = 0; f < basis->n_features; f++)
        for (size_t k = 0; k < basis->rank; k++) basis->mean[k] += basis->U[f * basis->rank + k] * mean[f];
    for (size_t f = 0; f < basis->n_features; f++) {
        double rest = mean[f] - dot(basis->U + f * basis->rank, basis->mean, basis->rank);
        beyond += rest * rest;
    }
    basis->mean_beyond = sqrt(beyond);
}

karma_status karma_i_basis_new(karma_i_basis **out, const karma_i_subspace *subspace, karma_error *err) {
    size_t d = subspace->n_features, r = subspace->rank, k = d < r ? d : r;
    karma_i_basis *basis = karma_i_zalloc(1, sizeof *basis);
    if (!basis) return karma_i_fail_memory(err);
    basis->n_features = d;
    basis->U = karma_i_alloc(d, k * sizeof *basis->U);
    basis->s = karma_i_alloc(k, sizeof *basis->s);
    basis->to_coordinates = karma_i_alloc(k, r * sizeof *basis->to_coordinates);
    basis->mean = karma_i_alloc(k, sizeof *basis->mean);
    double *W = karma_i_alloc(d, r * sizeof *W);
    karma_status st = KARMA_OK;
    if (basis->U && basis->s && basis->to_coordinates && basis->mean && W) {
        memcpy(W, subspace->W, d * r * sizeof *W);
        st = karma_i_svd(basis->U, basis->s, basis->to_coordinates, W, d, r, err);
    } else {
        st = karma_i_fail_memory(err);
    }
    karma_i_free(W);
    if (st != KARMA_OK) {
        karma_i_basis_free(basis);
        return st;
    }
    keep_directions(basis, k, r);
    project_mean(basis, subspace->mean);
    *out = basis;
    return KARMA_OK;
}
