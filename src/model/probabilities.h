/* Probabilities of classes, learned from scores of rows that were left out. */
#ifndef KARMA_I_PROBABILITIES_H
#define KARMA_I_PROBABILITIES_H

#include "model/model.h"

/* Learns the probabilities of the heads with classes from scores of rows that were left out: row-major, one per output.
 */
karma_status karma_i_calibrate_heads(karma_i_task *task, const karma_table *table, const double *scores,
                                     karma_error *err);
/* The same with scores of its own making, if the options ask for them. */
karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err);

#endif
