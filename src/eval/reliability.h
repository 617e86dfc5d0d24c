/* How far predicted probabilities, quantiles and intervals can be trusted. Functions of plain arrays:
 *
 *     probabilities[row * n_classes + class]
 *     classes[row], a row with a number not below n_classes is left out
 *     truth[row] of a regression, a row with NaN is left out
 *     weights[row] >= 0, or NULL: all are 1
 *
 * What has no rows is NaN. */
#ifndef KARMA_I_RELIABILITY_H
#define KARMA_I_RELIABILITY_H

#include <stddef.h>

/* The mean of Σ_k (p_k - [k is the class])². For two classes the mean of (p_1 - [1 is the class])², as is usual: half
 * of that sum. Proper: no other probabilities have a smaller expectation than the true ones. */
double karma_i_brier_score(const double *probabilities, const size_t *classes, const double *weights, size_t n_rows,
                           size_t n_classes);

/* Rows by confidence, the probability of their most likely class (of equal ones the first): bin b holds those from b/10
 * to below (b+1)/10, the last one also 1. */
enum { KARMA_I_RELIABILITY_BINS = 10 };

typedef struct karma_i_reliability_bin {
    double weight;     /* of its rows */
    double confidence; /* their mean confidence; NaN if the weight is 0 */
    double accuracy;   /* the share of rows whose most likely class is the right one; NaN if the weight is 0 */
} karma_i_reliability_bin;

void karma_i_reliability(karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS], const double *probabilities,
                         const size_t *classes, const double *weights, size_t n_rows, size_t n_classes);

/* The mean over rows of |accuracy - confidence| of the row's bin. */
double karma_i_expected_calibration_error(const karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS]);

/* The mean of max(τ (y - q), (τ - 1)(y - q)): least in expectation where q is the τ-quantile of y. */
double karma_i_pinball_loss(const double *predicted, const double *truth, const double *weights, size_t n_rows,
                            double quantile);

/* The share of rows with y <= q: τ, if q is the τ-quantile. */
double karma_i_coverage(const double *predicted, const double *truth, const double *weights, size_t n_rows);

/* The share of rows with low <= y <= high. */
double karma_i_interval_coverage(const double *low, const double *high, const double *truth, const double *weights,
                                 size_t n_rows);

#endif
