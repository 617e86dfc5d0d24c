/* The losses that trees are grown on, with their derivatives by the score. Numbers are standardised first, so that
 * several targets have equal influence, whatever their units. */
#ifndef KARMA_I_FOREST_LOSS_H
#define KARMA_I_FOREST_LOSS_H

#include "karma/base.h"

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
} karma_i_forest_labels;

/* One output in units of its own: y = (target - centre) / scale, scores likewise. */
typedef struct karma_i_forest_output {
    karma_i_forest_loss loss; /* its parameter in these units */
    double centre, scale;
    double base;        /* the best constant score, in these units */
    double *y, *weight; /* by row; the weights of labelled rows have a mean of 1 */
} karma_i_forest_output;

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

/* The step for the scores of some rows: -G / (H + l2), or for the pinball loss the quantile of their residuals. `times`
 * counts rows several times; NULL: once. `room`: for 2 n_rows numbers. */
double karma_i_forest_step(const karma_i_forest_output *output, const double *scores, const double *gradient,
                           const double *hessian, const uint32_t *rows, size_t n_rows, const uint32_t *times, double l2,
                           double *room);

#endif
