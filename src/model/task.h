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

/* What is learned from. */
typedef struct karma_i_training {
    karma_table *own;        /* NULL: the table as it is */
    const karma_table *rows; /* `own` or the table, which is borrowed */
    size_t *index;           /* which rows of the table they are; NULL: all of them, or they are split over processes */
    size_t n_unlabelled;     /* rows of all processes that have no label of any target, and are left out */
    size_t n_joined;         /* and those that were put together with equal rows */
} karma_i_training;

/* The rows of `table` that have a label. With `joins`, rows that are given in parts (table/row_parts.h) are one row
 * each; not those of kernel values, which have no cells, and never for solvers that take a step for every row. */
karma_status karma_i_training_take(karma_i_training *out, const karma_table *table, int joins, const karma_hooks *hooks,
                                   karma_error *err);
void karma_i_training_clear(karma_i_training *training);

#endif
