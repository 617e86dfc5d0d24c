/* What a model is chosen by: one metric (eval/metric_table.h), turned so that more is better, averaged over the targets
 * that the rows in question have labels of. */
#ifndef KARMA_I_GOAL_H
#define KARMA_I_GOAL_H

#include "model/task.h"

/* The goal itself, or for auto what suits the targets: it stays auto, for accuracy and R2, if they are classes and
 * numbers. Fails if the goal is not one of the targets' tasks. */
karma_status karma_i_goal_resolve(karma_goal *out, karma_goal goal, const karma_i_task *task, karma_error *err);
/* What one of them is judged by. */
karma_goal karma_i_goal_of_target(karma_goal goal, const karma_i_task *task, size_t target);
/* Fails if the metric is undefined for what candidates predict: their scores are neither probabilities nor quantiles.
 */
karma_status karma_i_goal_check(karma_goal goal, const karma_i_task *task, karma_error *err);
/* The loss that serves a goal, where the user has none. */
karma_loss_kind karma_i_goal_loss(karma_goal goal);

/* 1 if more is better, otherwise -1. */
double karma_i_goal_sign(karma_goal goal);
const char *karma_i_goal_name(karma_goal goal);

/* What rows are judged by. */
typedef struct karma_i_judge {
    karma_goal goal;
    size_t *truth; /* classes of the rows, target by target */
    size_t only;   /* the one target that karma_i_goal_value is to judge, counted from 1; 0: all */
} karma_i_judge;
karma_status karma_i_judge_init(karma_i_judge *out, karma_goal goal, const karma_i_task *task, const karma_table *table,
                                karma_error *err);
void karma_i_judge_clear(karma_i_judge *judge);

/* Whether rows can be judged by a target: some that have a weight have its label. */
int karma_i_goal_has_labels(const karma_table *table, size_t target);
/* A karma_i_goal_fn; the payload is a karma_i_judge. A number that is undefined for these rows (the AUC of one class)
 * is taken for that of guessing. */
karma_status karma_i_goal_value(double *out, const void *judge, const karma_i_task *task, const karma_table *table,
                                const double *scores, karma_error *err);

/* How wrong one row's scores are. */
typedef double (*karma_i_row_loss_fn)(const void *payload, const karma_i_task *task, const karma_table *table,
                                      size_t row, const double *scores);
/* A karma_i_row_loss_fn; the payload is a karma_i_judge of these rows, whose goal is a
 * mean over rows. */
double karma_i_goal_row_loss(const void *judge, const karma_i_task *task, const karma_table *table, size_t row,
                             const double *scores);
/* Whether a goal is a mean over rows, or follows from one: R2 and RMSE from that of the squared errors. */
int karma_i_goal_is_mean(karma_goal goal);
/* karma_i_goal_row_loss, or NULL if the goal is not a mean over rows. */
karma_i_row_loss_fn karma_i_judge_row_loss(const karma_i_judge *judge);

/* Scores of a constant prediction: of classes their shares among the training rows, so that the most common is
 * predicted; of numbers the mean; of quantiles those of the labels in `table`. */
karma_status karma_i_constant_scores(double *scores, const karma_i_task *task, const karma_table *table,
                                     karma_error *err);

#endif
