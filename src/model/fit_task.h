/* From a task and rows to a model. */
#ifndef KARMA_I_FIT_TASK_H
#define KARMA_I_FIT_TASK_H

#include "model/model.h"

/* Fills in a model that has its task and its plan, from the rows of `table`, which have labels; its targets are those
 * of the task's heads, in their order. Not calibrated. `grown`: boosted trees of a model that was learned from the same
 * rows by the same options, which need not be grown again; or NULL. `solving` are the hooks of the solvers, which can
 * be stopped and leave a model; encoding cannot. */
karma_status karma_i_fit_rows(karma_model *model, const karma_table *table, const karma_i_forest *grown,
                              const karma_hooks *hooks, const karma_hooks *solving, karma_error *err);
/* A new model of the task and this plan, which becomes its kernel option. What the task knows about labels is learned
 * again from these rows; a class that has no row there is learned as one that never occurs. */
karma_status karma_i_fit_task(karma_model **out, const karma_i_task *task, const karma_i_plan *plan,
                              const karma_table *table, const karma_i_forest *grown, const karma_hooks *hooks,
                              const karma_hooks *solving, karma_error *err);

#endif
