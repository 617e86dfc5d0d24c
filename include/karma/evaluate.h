/* How good predictions are, always beside what no learning at all would reach. */
#ifndef KARMA_EVALUATE_H
#define KARMA_EVALUATE_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers that do not apply to the task, or cannot be computed (AUC when one class is absent), are NaN. */
typedef struct karma_metrics {
    size_t n_rows;     /* with a label */
    size_t n_left_out; /* rows without one */
    /* classification */
    double accuracy, majority; /* majority: always saying the commonest class of the training rows */
    double balanced_accuracy;  /* mean recall over the classes that occur */
    double f1;                 /* mean F1 over the classes that occur or are predicted */
    double auc;                /* two classes: of the second one; more: mean over one-against-rest */
    double log_loss;           /* where the model has probabilities, as are the next two */
    double brier;              /* mean squared error of the probabilities */
    double calibration_error;  /* expected calibration error: mean |confidence - accuracy| over ten bins */
    size_t n_classes;
    size_t *confusion; /* row-major: truth, prediction; a last row counts labels that training never saw */
    /* regression */
    double mae, rmse, r2;
    double baseline_mae, baseline_rmse; /* always saying the training mean */
    size_t n_quantiles;
    double *pinball, *coverage; /* of each quantile: its loss, and the share of rows that do not pass it */
    double interval_coverage;   /* share of rows between the first and the last of several quantiles */
} karma_metrics;

/* Compares the scores from karma_predict with the table's labels of one of the model's targets: the table's target of
 * that name, or its only one if the model has only one. Rows count by their weights, if the table has them. Free with
 * karma_metrics_clear. */
KARMA_API karma_status karma_evaluate(karma_metrics *out, const karma_model *model, size_t target,
                                      const karma_table *table, const double *scores, karma_error *err);
KARMA_API void karma_metrics_clear(karma_metrics *metrics);

#ifdef __cplusplus
}
#endif
#endif
