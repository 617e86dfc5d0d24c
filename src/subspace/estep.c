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
    size_t group_size = karma_i_posterior_group_size(like->n_attributes, rank);
    karma_status st = karma_i_loadings_init(&estep->loadings, like, rank, group_size, err);
    if (st == KARMA_OK)
        st = karma_i_cell_lists_init_grouped(&estep->cells, like->n_attributes, most_rows, n_ranges, group_size, err);
    if (st == KARMA_OK) st = karma_i_posterior_init(&estep->posterior, rank, most_rows, err);
    if (st == KARMA_OK) {
        estep->scratch = karma_i_alloc_aligned((size_t)threads, estep->scratch_stride * sizeof *estep->scratch);
        estep->half_log = karma_i_alloc(most_rows, sizeof *estep->half_log);
        if (!estep->scratch || !estep->half_log) st = karma_i_fail_memory(err);
    }
    if (st != KARMA_OK) karma_i_estep_clear(estep);
    return st;
}

void karma_i_estep_clear(karma_i_estep *estep) {
    karma_i_loadings_clear(&estep->loadings);
    karma_i_cell_lists_clear(&estep->cells);
    karma_i_posterior_clear(&estep->posterior);
    karma_i_free(estep->scratch);
    karma_i_free(estep->half_log);
    estep->scratch = estep->half_log = NULL;
}

void karma_i_estep_set(karma_i_estep *estep, const karma_i_subspace *subspace) {
    karma_i_loadings_set(&estep->loadings, subspace->mean, subspace->W, subspace->sigma2, subspace->noise);
}

double *karma_i_estep_scratch(const karma_i_estep *estep) {
    return estep->scratch + (size_t)omp_get_thread_num() * estep->scratch_stride;
}

void karma_i_estep_list(karma_i_estep *estep, karma_i_view batch, size_t row) {
    karma_i_cell_lists *cells = &estep->cells;
    const karma_i_loadings *loadings = &estep->loadings;
    karma_i_cell_lists_fill(cells, batch, row, loadings->mean);
    estep->half_log[row] = 0.0;
    if (!loadings->is_scaled) return;
    karma_i_cell_range list = karma_i_row_features(cells, row);
    for (size_t c = list.first; c < list.first + list.count; c++) {
        cells->x[c] *= loadings->scale[cells->feature[c]];
        estep->half_log[row] += loadings->half_log[cells->feature[c]];
    }
}

void karma_i_estep_runs(karma_i_estep *estep, size_t first, size_t end) {
    estep->path->estimate_runs(&estep->posterior, &estep->loadings, &estep->cells, first, end - first,
                               karma_i_estep_scratch(estep));
}

size_t karma_i_estep_group(karma_i_estep *estep, karma_i_view batch, size_t first, karma_i_second second) {
    size_t left = batch.count - first, count = left < KARMA_I_LANES ? left : KARMA_I_LANES;
    for (size_t l = 0; l < count; l++) karma_i_estep_list(estep, batch, first + l);
    estep->path->estimate(&estep->posterior, &estep->loadings, &estep->cells, first, count, second,
                          karma_i_estep_scratch(estep));
    for (size_t l = 0; l < count; l++) estep->posterior.log_density[first + l] -= estep->half_log[first + l];
    return count;
}
