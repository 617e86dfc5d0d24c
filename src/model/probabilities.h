/* Probabilities of classes and certainty, learned from scores of rows that were left out. */
#ifndef KARMA_I_PROBABILITIES_H
#define KARMA_I_PROBABILITIES_H

#include "model/left_out.h"
#include "model/model.h"

/* Learns the probabilities of the heads with classes, and the certainty of all heads, from rows that were left out:
 * what the options ask for. `is_free`: the scores come from a search and cost nothing. */
karma_status karma_i_calibrate_heads(karma_i_task *task, const karma_i_left_out *rows, int is_free, karma_error *err);
/* The same with scores by models of this plan, each learned without a part of the rows. Nothing is learned if
 * *cancelled. */
karma_status karma_i_calibrate_by_folds(karma_i_task *task, int *cancelled, const karma_i_plan *plan,
                                        const karma_table *table, int is_free, const karma_hooks *hooks,
                                        karma_error *err);
/* The same for a model that was not searched for, if the options ask for it. */
karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err);

#endif
