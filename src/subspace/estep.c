#include "subspace/estep.h"

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"

static size_t scratch_size(size_t rank) {
    size_t estimate = karma_i_posterior_scratch(rank), step = karma_i_packed_size(rank + 1) + rank + 1;
    return karma_i_padded(estimate > step ? estimate : step);
}

karma_status karma_i_estep_init(karma_i_estep *estep, const karma_i_rows *like, size_t rank, size_t most_rows,
                                size_t n_ranges, int threads, karma_error *err) {
    *estep = (karma_i_estep){.path = karma_i_posterior_paths()[0], .scratch_stride = scratch_size(rank)};
    karma_status st = karma_i_loadings_init(&estep->loadings, like, rank, err);
    if (st == KARMA_OK) st = karma_i_cell_lists_init(&estep->cells, like->n_attributes, most_rows, n_ranges, err);
    if (st == KARMA_OK) st = karma_i_posterior_init(&estep->posterior, rank, most_rows, err);
    if (st == KARMA_OK) {
        estep->scratch = karma_i_alloc_aligned((size_t)threads, estep->scratch_stride * sizeof *estep->scratch);
        if (!estep->scratch) st = karma_i_fail_memory(err);
    }
    if (st != KARMA_OK) karma_i_estep_clear(estep);
    return st;
}

void karma_i_estep_clear(karma_i_estep *estep) {
    karma_i_loadings_clear(&estep->loadings);
    karma_i_cell_lists_clear(&estep->cells);
    karma_i_posterior_clear(&estep->posterior);
    karma_i_free(estep->scratch);
    estep->scratch = NULL;
}

void karma_i_estep_set(karma_i_estep *estep, const karma_i_subspace *subspace) {
    karma_i_loadings_set(&estep->loadings, subspace->mean, subspace->W, subspace->sigma2, subspace->noise);
}

double *karma_i_estep_scratch(const karma_i_estep *estep) {
    return estep->scratch + (size_t)omp_get_thread_num() * estep->scratch_stride;
}

/* The listed values of a row, divided by √v; gives Σ ½ ln v over them. */
static double scale_row(karma_i_cell_lists *cells, size_t row, const karma_i_loadings *loadings) {
    karma_i_cell_range run = karma_i_row_features(cells, row);
    double half_log = 0.0;
    for (size_t c = run.first; c < run.first + run.count; c++) {
        cells->x[c] *= loadings->scale[cells->feature[c]];
        half_log += loadings->half_log[cells->feature[c]];
    }
    return half_log;
}

size_t karma_i_estep_group(karma_i_estep *estep, karma_i_view batch, size_t first, karma_i_second second) {
    size_t left = batch.count - first, count = left < KARMA_I_LANES ? left : KARMA_I_LANES;
    double half_log[KARMA_I_LANES] = {0};
    for (size_t l = 0; l < count; l++) {
        karma_i_cell_lists_fill(&estep->cells, batch, first + l, estep->loadings.mean);
        if (estep->loadings.is_scaled) half_log[l] = scale_row(&estep->cells, first + l, &estep->loadings);
    }
    estep->path->estimate(&estep->posterior, &estep->loadings, &estep->cells, first, count, second,
                          karma_i_estep_scratch(estep));
    for (size_t l = 0; l < count; l++) estep->posterior.log_density[first + l] -= half_log[l];
    return count;
}
