/* Anderson extrapolation of a fixed-point iteration: from x_0, ..., x_m the affine combination of x_1, ..., x_m whose
 * residual Σ w_k (x_k - x_{k-1}), Σ w_k = 1, is smallest. On a quadratic problem this does for coordinate descent what
 * conjugate gradients do for gradient descent. */
#ifndef KARMA_I_EXTRAPOLATE_H
#define KARMA_I_EXTRAPOLATE_H

#include <stddef.h>

enum { KARMA_I_EXTRAPOLATE_MOST = 8 };

/* weights[k] for x_{k+1}, k < m <= KARMA_I_EXTRAPOLATE_MOST, from iterates[0..m], each of n numbers. False when the
 * differences give no answer; weights are then not set. */
int karma_i_extrapolate(double *weights, const double *const *iterates, size_t m, size_t n);

#endif
