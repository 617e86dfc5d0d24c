/* The task: the options, and one head per target with its labels and its losses.
 * Models, baselines and the search share one task, so that scores mean the same everywhere. */
#ifndef KARMA_I_TASK_H
#define KARMA_I_TASK_H

#include "model/head.h"

typedef struct karma_i_task {
    karma_fit_options options; /* as given */
    karma_i_head *heads;       /* one per target */
    size_t n_heads, n_outputs; /* outputs of the solver: the heads' outputs, one head after the other */
} karma_i_task;

/* From the labels of `table`. A table of kernel values has the precomputed kernel. Fails if an option does not fit any
 * target. */
karma_status karma_i_task_learn(karma_i_task *out, const karma_table *table, const karma_fit_options *options,
                                const karma_hooks *hooks, karma_error *err);
/* The same task for other rows, whose targets are those of the heads, in their order: classes stay the same, but are
 * counted in `table`, and numbers are centred and scaled by its rows. Calibrations are not copied. */
karma_status karma_i_task_relearn(karma_i_task *out, const karma_i_task *task, const karma_table *table,
                                  karma_error *err);
void karma_i_task_clear(karma_i_task *task);

/* The same heads with other options. It borrows both and is never cleared. */
karma_i_task karma_i_task_with(const karma_i_task *task, const karma_fit_options *options);

/* The rows that have a label of some target: *out is a new table, or NULL if all rows do. */
karma_status karma_i_labelled_rows(karma_table **out, const karma_table *table, const karma_hooks *hooks,
                                   karma_error *err);

#endif
