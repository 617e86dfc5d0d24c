/* The losses that trees are grown on, with their derivatives by the score. Numbers are standardised first, so that
 * several targets have equal influence, whatever their units. */
#ifndef KARMA_I_FOREST_LOSS_H
#define KARMA_I_FOREST_LOSS_H

#include "base/partition.h"

typedef enum karma_i_forest_loss_kind {
    KARMA_I_FOREST_LOGISTIC, /* ln(1 + e^(-yf)), y = 1 for targets above 0, else -1 */
    KARMA_I_FOREST_SQUARED,  /* ½ (y - f)² */
    KARMA_I_FOREST_HUBER,    /* ½ r² up to |r| = parameter, linear beyond */
    KARMA_I_FOREST_PINBALL   /* parameter · r for r = y - f > 0, else (parameter - 1) · r; ½: the absolute loss */
} karma_i_forest_loss_kind;

typedef struct karma_i_forest_loss {
    karma_i_forest_loss_kind kind;
    double parameter; /* a quantile in (0, 1), or a residual above 0 */
} karma_i_forest_loss;

/* The labels and weights of the rows. */
typedef struct karma_i_forest_labels {
    size_t n_outputs;
    const double *targets, *weights;   /* by row, n_outputs each; weight 0: not labelled, the target is not looked at */
    const karma_i_forest_loss *losses; /* n_outputs */
    karma_i_partition split;           /* of the rows over processes; ranks NULL: all are here */
} karma_i_forest_labels;

/* One output in units of its own: y = (target - centre) / scale, scores likewise. */
typedef struct karma_i_forest_output {
    karma_i_forest_loss loss; /* its parameter in these units */
    double centre, scale;
    double base;        /* the best constant score, in these units */
    double *y, *weight; /* by row; the weights of labelled rows have a mean of 1 */
} karma_i_forest_output;

/* What is learned is that of all rows, y and weight are those of this process's. */
karma_status karma_i_forest_output_init(karma_i_forest_output *out, const karma_i_forest_labels *labels, size_t output,
                                        size_t n_rows, karma_error *err);
void karma_i_forest_output_clear(karma_i_forest_output *output);

/* Of some rows, for the given scores; both times the row's weight. */
void karma_i_forest_gradients(double *gradient, double *hessian, const karma_i_forest_output *output,
                              const double *scores, const uint32_t *rows, size_t n_rows);
/* Σ weight · loss of some rows at these scores. */
double karma_i_forest_loss_sum(const karma_i_forest_output *output, const double *scores, const uint32_t *rows,
                               size_t n_rows);
/* Whether hessians are the weights, whatever the scores. */
int karma_i_forest_has_plain_hessian(const karma_i_forest_loss *loss);

/* The largest sizes of gradients and hessians, and the number of rows, of all processes: from them follow the units of
 * sums. */
typedef struct karma_i_forest_sizes {
    double gradient, hessian;
    size_t n_rows;
} karma_i_forest_sizes;

/* Sums of gradients and of hessians. Both are rounded to whole numbers of a unit, and what is left to whole numbers of
 * a much smaller one, so that sums are exact: they do not depend on the order of the rows, and those of processes can
 * be added. */
typedef struct karma_i_forest_sums {
    uint64_t gradient[2], hessian[2];
} karma_i_forest_sums;

karma_i_forest_sums karma_i_forest_sum(const double *gradient, const double *hessian, const uint32_t *rows,
                                       size_t n_rows, const karma_i_forest_sizes *sizes);
/* The step for the scores of these rows: -G / (H + l2). Not for the pinball loss. */
double karma_i_forest_step(const karma_i_forest_sums *sums, const karma_i_forest_sizes *sizes, double l2);

/* A number and its weight. */
typedef struct karma_i_residual {
    double value, weight;
} karma_i_residual;

/* The smallest value with at least this share of the weight at or below it; 0 if nothing has weight. For the pinball
 * loss the step is this quantile of the residuals y - f. Items are sorted. */
double karma_i_residual_quantile(karma_i_residual *items, size_t n, double share);

#endif
