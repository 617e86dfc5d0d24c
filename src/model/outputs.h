/* The input of the solver for each output, from the labels of a table and the heads of a task. */
#ifndef KARMA_I_OUTPUTS_H
#define KARMA_I_OUTPUTS_H

#include "model/task.h"

typedef struct karma_i_outputs {
    double *targets, *weights; /* row-major, one per row and output */
    karma_i_loss *losses;      /* one per output */
} karma_i_outputs;

/* Of all rows of `table`, which has the task's targets. Clear it even if this fails. */
karma_status karma_i_outputs_fill(karma_i_outputs *out, const karma_i_task *task, const karma_table *table,
                                  karma_error *err);
void karma_i_outputs_clear(karma_i_outputs *outputs);

#endif
