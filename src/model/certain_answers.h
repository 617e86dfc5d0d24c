/* Intervals, sets and confidence of new rows, for predictions and for judging them. */
#ifndef KARMA_I_CERTAIN_ANSWERS_H
#define KARMA_I_CERTAIN_ANSWERS_H

#include "model/model.h"

/* KARMA_AUTO becomes the model's own level. Fails if it is not between 0 and 1. */
karma_status karma_i_check_level(double *level, const karma_model *model, size_t target, karma_error *err);
/* Fails if nothing was left out. */
karma_status karma_i_check_known(const karma_model *model, size_t target, karma_error *err);

/* The columns of the model that each row of `table` observes; 0 for a precomputed kernel. */
karma_status karma_i_count_observed(size_t *observed, const karma_model *model, const karma_table *table,
                                    karma_error *err);
/* The group of each row by this number; all 0 where the target's certainty has no groups. */
karma_status karma_i_group_rows(size_t *groups, const karma_model *model, size_t target, const karma_table *table,
                                karma_error *err);

/* Adds the corrections of the quantiles of a target, learned from left-out rows, to outputs[row * n_outputs + output].
 */
karma_status karma_i_add_corrections(double *outputs, const karma_model *model, size_t target, const karma_table *table,
                                     karma_error *err);
/* Corrects quantiles by the errors of rows that were left out: scores of karma_predict, before the correction. */
karma_status karma_i_correct_quantiles(double *scores, const karma_model *model, const karma_table *table,
                                       karma_error *err);

/* By group: what is added to the first and the last output as they were learned, and how much of that corrected
 * quantiles have already. */
typedef struct karma_i_ends {
    double low[KARMA_I_MOST_GROUPS], high[KARMA_I_MOST_GROUPS];
    double low_corrected[KARMA_I_MOST_GROUPS], high_corrected[KARMA_I_MOST_GROUPS];
} karma_i_ends;
karma_status karma_i_interval_ends(karma_i_ends *out, const karma_model *model, size_t target, double level,
                                   karma_error *err);

/* bounds[group]: a class is in the set if 1 less its probability is at most this. */
karma_status karma_i_set_bounds(double *bounds, const karma_model *model, size_t target, double level,
                                karma_error *err);
/* The set of a row, set[0..n_classes), and its size. */
size_t karma_i_set_of(unsigned char *set, const double *probabilities, size_t n_classes, double bound);

/* A row that was left out, for thresholds of confidence. */
karma_i_confident karma_i_confident_row(const karma_i_head *head, size_t row);

#endif
