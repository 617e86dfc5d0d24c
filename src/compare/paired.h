/* Whether the difference of two methods that were judged on the same folds is more than noise. */
#ifndef KARMA_I_PAIRED_H
#define KARMA_I_PAIRED_H

#include <stddef.h>

typedef struct karma_i_paired {
    double mean;    /* of the differences */
    double error;   /* the standard error that the test takes */
    double t;       /* mean/error */
    double p_value; /* two-sided */
} karma_i_paired;

/* The corrected resampled t-test of n differences, one per fold; `ratio` is the number of test rows of a fold over that
 * of its training rows. n_counted: the test rows of a fold, if the differences are of shares of them; otherwise 0. All
 * but the mean are NaN where there are fewer than two differences. */
karma_i_paired karma_i_paired_test(const double *differences, size_t n, double ratio, size_t n_counted);

/* P(|T| > t) for Student's T with `degrees` degrees of freedom, at least 1; t at least 0. Absolute error below 1e-12.
 */
double karma_i_student_tail(double t, size_t degrees);

/* Holm's step-down correction of p[0..n): adjusted values, to be compared with the level that all tests together may
 * err with. `order` has room for n numbers. */
void karma_i_holm(double *adjusted, size_t *order, const double *p, size_t n);

#endif
