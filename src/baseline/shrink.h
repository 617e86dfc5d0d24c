/* Soft-thresholded singular values: the proximal step of the nuclear norm. */
#ifndef KARMA_I_SHRINK_H
#define KARMA_I_SHRINK_H

#include "karma/base.h"

/* The singular values that remain. */
typedef struct karma_i_shrunk {
    size_t rank;
    double nuclear; /* their sum */
} karma_i_shrunk;

/* out = argmin over Z of ½|Z - A|² + t‖Z‖_* = U (Σ - t)_+ Vᵀ for A = U Σ Vᵀ, row-major n × d, t >= 0. `out` may not be
 * `a`. By the eigenvectors of the smaller of AᵀA and AAᵀ, so singular values below about 1e-8 of the largest are lost
 * in rounding. Always on one thread. Cost: of order (n + d) min(n, d)². */
karma_status karma_i_shrink(double *out, karma_i_shrunk *left, const double *a, size_t n, size_t d, double t,
                            karma_error *err);

/* The largest singular value. */
karma_status karma_i_spectral_norm(double *out, const double *a, size_t n, size_t d, karma_error *err);

#endif
