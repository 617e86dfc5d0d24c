/* One eigenvalue decomposition G = U_oᵀU_o = V diag(λ) Vᵀ per row, and the leverage of each attribute: hiding
 * attribute j leaves
 *
 *     G_j = G - Σ_{f of j} u_f u_fᵀ  ⪰  (1 - h_j) G,     h_j = Σ_{f of j} u_fᵀ G⁻¹ u_f,
 *
 * so all its eigenvalues are at least (1 - h_j) λ, and most attributes need no further computation. For the
 * others we test whether G_j - least I is positive definite. */
#include "subspace/regularity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"
#include "subspace/posterior.h"

enum { MOST_ROWS = 1024 };

/* What all threads share, and what each needs for itself. */
typedef struct survey {
    karma_i_regularity *out;
    karma_i_loadings loadings; /* U with σ² = 1: outer products by attribute */
    karma_i_cell_lists cells;
    size_t scratch_stride;
    double *scratch;
} survey;

void karma_i_regularity_free(karma_i_regularity *regularity) {
    if (!regularity) return;
    karma_i_free(regularity->lambda);
    karma_i_free(regularity->is_reconstructible);
    karma_i_free(regularity->n_critical);
    karma_i_free(regularity);
}

static karma_status new_regularity(karma_i_regularity **out, size_t n_rows, size_t n_attributes, karma_error *err) {
    karma_i_regularity *regularity = karma_i_zalloc(1, sizeof *regularity);
    if (!regularity) return karma_i_fail_memory(err);
    regularity->n_rows = n_rows;
    regularity->n_attributes = n_attributes;
    regularity->lambda = karma_i_zalloc(n_rows, sizeof *regularity->lambda);
    regularity->is_reconstructible = karma_i_zalloc(n_rows, 1);
    regularity->n_critical = karma_i_zalloc(n_attributes, sizeof *regularity->n_critical);
    if (!regularity->lambda || !regularity->is_reconstructible || !regularity->n_critical) {
        karma_i_regularity_free(regularity);
        return karma_i_fail_memory(err);
    }
    *out = regularity;
    return KARMA_OK;
}

static void clear_survey(survey *s) {
    karma_i_loadings_clear(&s->loadings);
    karma_i_cell_lists_clear(&s->cells);
    karma_i_free(s->scratch);
}

static karma_status init_survey(survey *s, const karma_i_basis *basis, const karma_i_rows *rows, int threads,
                                karma_error *err) {
    size_t r = basis->rank;
    *s = (survey){.scratch_stride = karma_i_padded(2 * karma_i_packed_size(r) + r * r + 2 * r)};
    double *origin = karma_i_zalloc(basis->n_features, sizeof *origin);
    karma_status st = origin ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_loadings_init(&s->loadings, rows, r, 1, err);
    if (st == KARMA_OK) st = karma_i_cell_lists_init(&s->cells, rows->n_attributes, MOST_ROWS, 1, err);
    if (st == KARMA_OK) {
        karma_i_loadings_set(&s->loadings, origin, basis->U, 1.0, NULL);
        s->scratch = karma_i_alloc_aligned((size_t)threads, s->scratch_stride * sizeof *s->scratch);
        if (!s->scratch) st = karma_i_fail_memory(err);
    }
    karma_i_free(origin);
    if (st != KARMA_OK) clear_survey(s);
    return st;
}

/* G = U_oᵀU_o, packed. */
static void sum_outer(double *G, const survey *s, karma_i_cell_range attributes) {
    size_t size = karma_i_packed_size(s->loadings.rank);
    memset(G, 0, size * sizeof *G);
    for (size_t c = 0; c < attributes.count; c++) {
        const double *outer = s->loadings.outer + s->cells.attribute[attributes.first + c] * s->loadings.outer_stride;
        for (size_t q = 0; q < size; q++) G[q] += outer[q];
    }
}

static void unpack(double *matrix, const double *packed, size_t r) {
    for (size_t k = 0; k < r; k++)
        for (size_t l = 0; l <= k; l++) matrix[k * r + l] = matrix[l * r + k] = *packed++;
}

/* Is G - outer - least I positive definite? Pivots one by one; `A` is scratch. */
static int stays_definite(double *A, const double *G, const double *outer, size_t r) {
    for (size_t q = 0; q < karma_i_packed_size(r); q++) A[q] = G[q] - outer[q];
    for (size_t k = 0; k < r; k++) A[karma_i_packed_size(k) + k] -= KARMA_I_LEAST_LAMBDA;
    for (size_t i = 0; i < r; i++) {
        double *row = A + karma_i_packed_size(i);
        for (size_t j = 0; j <= i; j++) {
            const double *other = A + karma_i_packed_size(j);
            for (size_t k = 0; k < j; k++) row[j] -= row[k] * other[k];
            if (j < i) row[j] /= other[j];
        }
        if (!(row[i] > 0.0)) return 0;
        row[i] = sqrt(row[i]);
    }
    return 1;
}

/* h_j by the eigenvectors, which are the rows of `vectors`. */
static double leverage(const survey *s, size_t attribute, const double *values, const double *vectors) {
    size_t r = s->loadings.rank;
    double sum = 0.0;
    for (size_t f = s->loadings.feature_start[attribute]; f < s->loadings.feature_start[attribute + 1]; f++)
        for (size_t i = 0; i < r; i++) {
            const double *u = s->loadings.W + f * s->loadings.W_stride;
            double along = 0.0;
            for (size_t k = 0; k < r; k++) along += vectors[i * r + k] * u[k];
            sum += along * along / values[i];
        }
    return sum;
}

static void count_critical(const survey *s, karma_i_cell_range attributes, const double *G, const double *values,
                           const double *vectors, double *A) {
    for (size_t c = 0; c < attributes.count; c++) {
        size_t j = s->cells.attribute[attributes.first + c];
        if ((1.0 - leverage(s, j, values, vectors)) * values[0] > 2.0 * KARMA_I_LEAST_LAMBDA) continue;
        if (stays_definite(A, G, s->loadings.outer + j * s->loadings.outer_stride, s->loadings.rank)) continue;
#pragma omp atomic
        s->out->n_critical[j]++;
    }
}

/* Row `row` of the batch, `index` of the whole. */
static karma_status survey_row(const survey *s, size_t row, size_t index) {
    size_t r = s->loadings.rank, size = karma_i_packed_size(r);
    double *G = s->scratch + (size_t)omp_get_thread_num() * s->scratch_stride, *A = G + size;
    double *vectors = A + size, *values = vectors + r * r;
    karma_i_cell_range attributes = karma_i_row_attributes(&s->cells, row);
    sum_outer(G, s, attributes);
    unpack(vectors, G, r);
    KARMA_TRY(karma_i_eigen_symmetric(values, vectors, r, NULL));
    size_t zeros = 0;
    while (zeros < r && !(values[zeros] > KARMA_I_LEAST_LAMBDA)) zeros++;
    s->out->lambda[index] = zeros < r ? values[zeros] : 0.0;
    s->out->is_reconstructible[index] = zeros == 0;
    if (zeros == 0 && r > 0) count_critical(s, attributes, G, values, vectors, A);
    return KARMA_OK;
}

static karma_status survey_batch(survey *s, karma_i_view batch, size_t offset, int threads, karma_error *err) {
    int failures = 0;
    KARMA_TRY(karma_i_cell_lists_reserve(&s->cells, batch, err));
#pragma omp parallel num_threads(threads) reduction(+ : failures)
    {
        omp_set_num_threads(1); /* of this call only: LAPACK starts no threads of its own */
#pragma omp for schedule(dynamic, 16)
        for (size_t i = 0; i < batch.count; i++) {
            karma_i_cell_lists_fill(&s->cells, batch, i, s->loadings.mean);
            failures += survey_row(s, i, offset + i) != KARMA_OK;
        }
    }
    return failures ? karma_i_fail_memory(err) : KARMA_OK;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A quantile, interpolated linearly between the two nearest values. */
static double quantile(const double *sorted, size_t n, double share) {
    double place = share * (double)(n - 1);
    size_t below = (size_t)place, above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

static karma_status summarise(karma_i_regularity *out, karma_error *err) {
    double *sorted = karma_i_alloc(out->n_rows, sizeof *sorted);
    size_t n = 0;
    if (!sorted) return karma_i_fail_memory(err);
    for (size_t i = 0; i < out->n_rows; i++) {
        out->n_reconstructible += out->is_reconstructible[i];
        if (out->lambda[i] > 0.0) sorted[n++] = out->lambda[i];
    }
    out->n_blind = out->n_rows - n;
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t k = 0; n > 0 && k < KARMA_I_N_QUARTILES; k++)
        out->quartile[k] = quantile(sorted, n, (double)k / (KARMA_I_N_QUARTILES - 1));
    karma_i_free(sorted);
    return KARMA_OK;
}

karma_status karma_i_regularity_new(karma_i_regularity **out, const karma_i_basis *basis, karma_i_view rows,
                                    int threads, karma_error *err) {
    karma_i_regularity *regularity = NULL;
    survey s;
    KARMA_TRY(new_regularity(&regularity, rows.count, rows.rows->n_attributes, err));
    karma_status st = init_survey(&s, basis, rows.rows, threads, err);
    if (st == KARMA_OK) {
        s.out = regularity;
        for (size_t i = 0; i < rows.count && st == KARMA_OK; i += MOST_ROWS) {
            size_t left = rows.count - i;
            karma_i_view batch = {rows.rows, rows.first + i, left < MOST_ROWS ? left : MOST_ROWS};
            st = survey_batch(&s, batch, i, threads, err);
        }
        clear_survey(&s);
    }
    if (st == KARMA_OK) st = summarise(regularity, err);
    if (st == KARMA_OK)
        *out = regularity;
    else
        karma_i_regularity_free(regularity);
    return st;
}
