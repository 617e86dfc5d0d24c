/* The goal of a choice of models: one metric (eval/metric_table.h), with its sign such that more is better,
 * averaged over the targets for which the rows have labels. */
#ifndef KARMA_I_GOAL_H
#define KARMA_I_GOAL_H

#include "model/task.h"

/* The goal itself, or for auto one that suits the targets: it stays auto, for accuracy and R2, if there are
 * both classes and numbers. Fails if the goal is not one of the targets' tasks. */
karma_status karma_i_goal_resolve(karma_goal *out, karma_goal goal, const karma_i_task *task, karma_error *err);
/* The metric that judges one target. */
karma_goal karma_i_goal_of_target(karma_goal goal, const karma_i_task *task, size_t target);
/* Fails if candidates cannot be judged by the metric: their scores are neither probabilities nor quantiles.
 */
karma_status karma_i_goal_check(karma_goal goal, const karma_i_task *task, karma_error *err);
/* The loss that suits a goal, if the user sets none. */
karma_loss_kind karma_i_goal_loss(karma_goal goal);

/* 1 if more is better, otherwise -1. */
double karma_i_goal_sign(karma_goal goal);
const char *karma_i_goal_name(karma_goal goal);

/* The labels and metric for judging rows. */
typedef struct karma_i_judge {
    karma_goal goal;
    size_t *truth; /* classes of the rows, target by target */
    size_t only;   /* the only target that karma_i_goal_value judges, counted from 1; 0: all */
} karma_i_judge;
karma_status karma_i_judge_init(karma_i_judge *out, karma_goal goal, const karma_i_task *task, const karma_table *table,
                                karma_error *err);
void karma_i_judge_clear(karma_i_judge *judge);

/* Whether rows can be judged by a target: some row with a weight has its label. */
int karma_i_goal_has_labels(const karma_table *table, size_t target);
/* A karma_i_goal_fn; the payload is a karma_i_judge. A metric that is undefined for these rows (the AUC of
 * one class) gets the value of guessing. */
karma_status karma_i_goal_value(double *out, const void *judge, const karma_i_task *task, const karma_table *table,
                                const double *scores, karma_error *err);

/* How wrong one row's scores are. */
typedef double (*karma_i_row_loss_fn)(const void *payload, const karma_i_task *task, const karma_table *table,
                                      size_t row, const double *scores);
/* A karma_i_row_loss_fn; the payload is a karma_i_judge of these rows, whose goal is a
 * mean over rows. */
double karma_i_goal_row_loss(const void *judge, const karma_i_task *task, const karma_table *table, size_t row,
                             const double *scores);
/* Whether a goal is a mean over rows, or a function of one: R2 and RMSE of the mean squared error. */
int karma_i_goal_is_mean(karma_goal goal);
/* Whether it is a function of the mean squared error (R2 and RMSE), for every target. */
int karma_i_goal_is_squared(karma_goal goal, const karma_i_task *task);
/* karma_i_goal_row_loss, or NULL if the goal is not a mean over rows. */
karma_i_row_loss_fn karma_i_judge_row_loss(const karma_i_judge *judge);

/* Scores of a constant prediction: for classes their shares among the training rows, so that the most common
 * is predicted; for numbers the mean; for quantiles those of the labels in `table`. */
karma_status karma_i_constant_scores(double *scores, const karma_i_task *task, const karma_table *table,
                                     karma_error *err);

#endif
