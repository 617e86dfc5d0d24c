/* The table of metrics: one record per metric. Reports, goals of a search and cross-validation all take theirs from it.
 */
#ifndef KARMA_I_METRIC_TABLE_H
#define KARMA_I_METRIC_TABLE_H

#include "eval/judged.h"
#include "karma/evaluate.h"

/* The kind of scores that a metric needs, so that a model can be chosen by it. */
typedef enum karma_i_metric_needs {
    KARMA_I_NEEDS_SCORES,
    KARMA_I_NEEDS_PROBABILITIES, /* scores of the logistic loss */
    KARMA_I_NEEDS_QUANTILES
} karma_i_metric_needs;

/* Log loss replaces smaller probabilities by this one. */
#define KARMA_I_LEAST_PROBABILITY 1e-15

typedef struct karma_i_metric {
    karma_metric about;
    karma_goal goal; /* that it serves; KARMA_GOAL_AUTO: none */
    /* For goals: the loss that candidates are learned with, where the user names none. */
    karma_loss_kind loss;
    karma_i_metric_needs needs;
    double fallback;      /* the value for rows that have none, as the AUC of one class; 0: there is no such value */
    int is_share_of_rows; /* a mean of zeros and ones over the rows */
    double (*value)(const karma_i_judged *judged);
    /* The value for a constant prediction on the same rows. NULL: it is not known. */
    double (*constant)(const karma_i_judged *judged);
    /* How wrong the scores of one row are, in the units of the solver; `truth` is its class, `label` its number. The
     * metric is a mean of these over rows, or follows from one. NULL: it does not. */
    double (*row_loss)(const karma_i_head *head, size_t truth, double label, const double *scores);
} karma_i_metric;

/* index < karma_n_metrics(). */
const karma_i_metric *karma_i_metric_at(size_t index);
/* The metric of a goal; NULL for KARMA_GOAL_AUTO, which stands for several. */
const karma_i_metric *karma_i_metric_of_goal(karma_goal goal);
/* Its place in the table. */
size_t karma_i_metric_index(const karma_i_metric *metric);

/* Its value for these scores. Fails as karma_evaluate does. */
karma_status karma_i_metric_value(double *out, const karma_i_metric *metric, const karma_i_task *task, size_t target,
                                  const karma_table *table, const double *scores, karma_error *err);

#endif
