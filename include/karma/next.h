/* What to measure next: the missing cells of a row whose values would make its prediction most certain. */
#ifndef KARMA_NEXT_H
#define KARMA_NEXT_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A missing cell and the expected gain from measuring it, over the values it may have given the observed cells of its
 * row, under the model's subspace. */
typedef struct karma_next_cell {
    size_t attribute; /* of the model */
    /* Expected decrease of the uncertainty, never below 0. For classes, in bits: the entropy of their mean
     * probabilities over the values, minus the mean of the entropies (the mutual information of class and
     * cell). For a number: the variance of the prediction over the values. */
    double gain;
    double cost;     /* of measuring it */
    double per_cost; /* gain / cost: cells are in descending order of it */
    double change;   /* probability that the predicted class changes; of a number: mean absolute change */
} karma_next_cell;

typedef struct karma_next_cells {
    size_t n_rows;
    size_t *start; /* n_rows + 1: the missing cells of row i are cells[start[i]] to before cells[start[i + 1]] */
    karma_next_cell *cells;
    double *uncertainty; /* of each row now: entropy of the classes in bits; 0 for numbers */
} karma_next_cells;

/* For every row of `table`, all columns of the model that are missing in it. Values of a number are the seven points of
 * a Gauss-Hermite rule, within the range of the training cells; those of a category its levels by their completed
 * shares. costs[attribute] > 0, NULL: all are 1. The gain is that of one cell alone: measure the best cell, then call
 * it again. Free with karma_next_cells_clear. Errors: KARMA_ERR_DATA if the model has no subspace, the classes have no
 * probabilities, or the table does not fit the model, KARMA_ERR_OPTION for a cost that is not above 0,
 * KARMA_ERR_CANCELLED, KARMA_ERR_MEMORY. Cost: for each missing cell, seven predictions, or one per level. Threads:
 * safe; inputs are only read. */
KARMA_API karma_status karma_measure_next(karma_next_cells *out, const karma_model *model, size_t target,
                                          const karma_table *table, const double *costs, size_t threads,
                                          const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_next_cells_clear(karma_next_cells *cells);

#ifdef __cplusplus
}
#endif
#endif
