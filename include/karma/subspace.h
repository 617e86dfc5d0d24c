/* The hidden low-rank subspace that a model has, or that a table may lie in. */
#ifndef KARMA_SUBSPACE_H
#define KARMA_SUBSPACE_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Has a factor of the model's kernel a subspace? Those of --kernel subspace and union have. */
KARMA_API int karma_model_has_subspace(const karma_model *model);

/* A table without holes. */
typedef struct karma_completion {
    karma_table *table;  /* ids, the model's attributes in its order, targets and weights */
    karma_table *errors; /* ids and the standard error of each of these cells; NULL unless asked for */
    size_t n_completed;  /* cells that were missing */
    size_t rank;         /* dimension of the subspace */
} karma_completion;

/* Completes the rows of a table by the subspace of a model whose kernel has one (of several the first). Observed cells
 * stay as they are, also those of levels that training did not know. A missing number becomes its conditional mean
 * given the observed cells of the row, in the column's units; a missing category the level with the largest completed
 * share, an ordered one the nearest level.
 *
 * Errors are 0 for observed cells. For numbers they are the standard error of the cell (not of its mean alone), for
 * ordered categories the same in places of the order; a category has no standard error, and 1 minus the largest share,
 * from 0 to 1, in its place.
 *
 * Any number of threads may call it with one model; `threads`, 0 for all processors, does not change the result. Free
 * with karma_completion_clear. */
KARMA_API karma_status karma_complete(karma_completion *out, const karma_model *model, const karma_table *table,
                                      int with_errors, size_t threads, const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_completion_clear(karma_completion *completion);

#ifdef __cplusplus
}
#endif
#endif
