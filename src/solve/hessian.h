/* H = R + Σ c_i ℓ_i'' r_i r_iᵀ of a linear machine on features, before and after its products are summed. */
#ifndef KARMA_I_HESSIAN_H
#define KARMA_I_HESSIAN_H

#include "kernel/features.h"

/* The lower triangle of R. */
void karma_i_hessian_start(double *out, const karma_i_features *features);
/* The Cholesky factor of h, p × p, takes its place. Rounding errors may leave H a little indefinite: its
 * diagonal is raised until it is positive definite. The part above the diagonal keeps a copy of the part
 * below. `diagonal`: room for p numbers. */
karma_status karma_i_hessian_factor(double *h, double *diagonal, size_t p, karma_error *err);

#endif
