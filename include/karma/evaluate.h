/* Metrics of predictions, compared with a constant prediction. */
#ifndef KARMA_EVALUATE_H
#define KARMA_EVALUATE_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a metric is written for people. */
typedef enum karma_metric_unit {
    KARMA_METRIC_SHARE, /* of 1: as a percentage */
    KARMA_METRIC_PLAIN,
    KARMA_METRIC_TARGET /* in the units of the target */
} karma_metric_unit;

/* A number that predictions are judged by. */
typedef struct karma_metric {
    const char *key;    /* for programs: "log_loss" */
    const char *name;   /* in sentences: "log loss" */
    const char *title;  /* in tables: "mean absolute error"; NULL: reports show it in another way */
    const char *remark; /* in tables, beside the value; may be empty */
    size_t remark_from; /* the remark holds for targets of at least this many classes */
    karma_task task;    /* what it applies to: classes or numbers */
    int less_is_better;
    karma_metric_unit unit;
    /* The value of a constant prediction; all NULL if reports do not show it. */
    const char *constant_key, *constant_title, *constant_remark;
} karma_metric;

/* The list of metrics. Later versions may have more, so look them up by their key. */
KARMA_API size_t karma_n_metrics(void);
/* index < karma_n_metrics(). */
KARMA_API const karma_metric *karma_metric_at(size_t index);

/* Metrics of one target. A metric that does not apply to the task or cannot be computed (the AUC if one class is
 * absent) is NaN. */
typedef struct karma_metrics {
    size_t n_rows;     /* with a label */
    size_t n_left_out; /* rows without one */
    size_t n_values;   /* karma_n_metrics() */
    double *values;    /* one per metric, in the order of karma_metric_at */
    double
        *constants; /* the values of a constant prediction: the most common class, or the mean, of the training rows */
    /* classification */
    size_t n_classes;
    size_t *confusion; /* row-major: truth, prediction; a last row counts labels that training never saw */
    /* regression */
    size_t n_quantiles;
    double *pinball, *coverage; /* of each quantile: its loss, and the share of rows at or below it */
    double interval_coverage;   /* share of rows between the first and the last of several quantiles */
} karma_metrics;

/* The value of the metric with this key ("accuracy", "rmse"), and that of a constant prediction. NaN also if there is
 * no such metric. */
KARMA_API double karma_metrics_value(const karma_metrics *metrics, const char *key);
KARMA_API double karma_metrics_constant(const karma_metrics *metrics, const char *key);

/* Compares the scores from karma_predict with the table's labels of one of the model's targets: the table's target of
 * that name, or its only one if the model has only one. Rows count by their weights, if the table has them. Free with
 * karma_metrics_clear. Errors: KARMA_ERR_DATA if there is no row to judge or the score of one is not finite,
 * KARMA_ERR_MEMORY. Cost: a sort of the scores of each class. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_evaluate(karma_metrics *out, const karma_model *model, size_t target,
                                      const karma_table *table, const double *scores, karma_error *err);
KARMA_API void karma_metrics_clear(karma_metrics *metrics);

/* The labels of a table in the terms of one of the model's targets, found as karma_evaluate does: labels[row] is the
 * number of the class in the model, its number of classes for a class that training never saw, or the number of a
 * regression; NaN where there is no label. Errors: KARMA_ERR_DATA if the table has no such labels, KARMA_ERR_MEMORY.
 * Cost: one pass over the rows. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_model_labels(double *labels, const karma_model *model, size_t target,
                                          const karma_table *table, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
