/* Scores of rows by models that have not seen them. */
#ifndef KARMA_I_OUT_OF_FOLD_H
#define KARMA_I_OUT_OF_FOLD_H

#include "kernel/plan.h"
#include "model/masking.h"
#include "model/task.h"

/* Scores of every row of `table` that is here, which has the task's targets, each by a model of this plan that was
 * learned without it: the rows are left out in turn, one fold at a time. Copies of rows with more missing cells (NULL:
 * none) are scored by the models that have not seen the row. *cancelled is set if the hooks asked to stop; scores are
 * then not complete.
 */
karma_status karma_i_out_of_fold(double *scores, int *cancelled, const karma_i_task *task, const karma_i_plan *plan,
                                 const karma_table *table, karma_i_copies *copies, const karma_hooks *hooks,
                                 karma_error *err);

#endif
