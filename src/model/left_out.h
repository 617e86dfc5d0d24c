/* The certainty of a model, from scores of rows that were left out of learning. */
#ifndef KARMA_I_LEFT_OUT_H
#define KARMA_I_LEFT_OUT_H

#include "model/masking.h"
#include "model/task.h"

typedef struct karma_i_left_out {
    const karma_table *table;     /* has the task's targets, in the order of its heads */
    const double *scores;         /* row-major, one per output, numbers in their units */
    const karma_i_copies *copies; /* NULL: there are none */
    const size_t *observed;       /* how many cells each row has; NULL: the table's rows have them */
} karma_i_left_out;

/* Fills in the certainty of every head: errors of numbers, probabilities of classes if the head has them. A row without
 * a label, of an unknown class or with weight 0 is left out. */
karma_status karma_i_certainty_learn(karma_i_task *task, const karma_i_left_out *rows, karma_error *err);

/* The calibration, and whether certainty, that the options ask for; `is_free`: scores of rows that were left out are
 * there anyway, from a search. */
karma_calibration karma_i_wanted_calibration(const karma_i_task *task, int is_free);
int karma_i_wants_certainty(const karma_i_task *task, int is_free);
/* Whether copies of rows with more missing cells may be needed for it. */
int karma_i_wants_copies(const karma_i_task *task, int is_free);

#endif
