/* The E-step of a batch of rows: memory for everything that posterior.h computes, and one call for each group of rows.
 */
#ifndef KARMA_I_ESTEP_H
#define KARMA_I_ESTEP_H

#include "subspace/posterior.h"
#include "subspace/ppca.h"

typedef struct karma_i_estep {
    const karma_i_posterior_path *path;
    karma_i_loadings loadings;
    karma_i_cell_lists cells;
    karma_i_posterior posterior;
    size_t scratch_stride;
    double *scratch;  /* of each thread */
    double *half_log; /* by row of the batch: Σ ½ ln v over its features, to subtract from its log density */
} karma_i_estep;

/* Batches of at most most_rows rows with the columns of `like`, their attributes cut into n_ranges. */
karma_status karma_i_estep_init(karma_i_estep *estep, const karma_i_rows *like, size_t rank, size_t most_rows,
                                size_t n_ranges, int threads, karma_error *err);
void karma_i_estep_clear(karma_i_estep *estep);
/* Sets the subspace for the rows that follow. */
void karma_i_estep_set(karma_i_estep *estep, const karma_i_subspace *subspace);

/* The scratch of the calling thread: karma_i_posterior_scratch(rank) numbers, and at least what the M-step needs, a
 * packed matrix and a vector of size rank + 1. */
double *karma_i_estep_scratch(const karma_i_estep *estep);

/* Sums over many rows (ppca.c): lists the cells of one row of the batch, for which karma_i_cell_lists_reserve has been
 * called; different rows may go to different threads. When all are listed and karma_i_cell_lists_find_runs has found
 * the runs, karma_i_estep_runs estimates runs first to end, at most KARMA_I_LANES of them, without `half_log` in the
 * densities. */
void karma_i_estep_list(karma_i_estep *estep, karma_i_view batch, size_t row);
void karma_i_estep_runs(karma_i_estep *estep, size_t first, size_t end);

/* Row by row: lists the cells and computes the posterior of rows first to first + KARMA_I_LANES of the batch (fewer at
 * its end), for which karma_i_cell_lists_reserve has been called. Returns their number. Different groups may
 * go to different threads. */
size_t karma_i_estep_group(karma_i_estep *estep, karma_i_view batch, size_t first, karma_i_second second);

#endif
