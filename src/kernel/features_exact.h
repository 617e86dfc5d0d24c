/* Exact features of a kernel of low rank, in double precision: rows Z, as many as the kernel has dimensions, whose
 * features span those of all rows. With k(Z, Z) = L Lᵀ every row has
 *
 *     φ(x) = L⁻¹ k(Z, x),   k(x, y) = φ(x)·φ(y)
 *
 * and a machine with weights w is Σ_j α_j k(z_j, ·) with Lᵀ α = w: a kernel machine of a few support rows. */
#ifndef KARMA_I_FEATURES_EXACT_H
#define KARMA_I_FEATURES_EXACT_H

#include "kernel/features.h"

typedef struct karma_i_exact_features {
    karma_i_features *features; /* φ, dense; NULL: the kernel has more dimensions than were allowed */
    size_t n_landmarks, *landmarks;
    double *lower; /* L, row-major */
} karma_i_exact_features;

/* No matrix of kernel values of these rows has a rank above this; INFINITY where there is no bound, NAN where
 * there is no memory to look for it. Counts features, levels and ranks that occur, and patterns of missing cells. Cost:
 * one pass over the rows. */
double karma_i_kernel_rank_bound(const karma_i_kernel *kernel, const karma_i_rows *rows);

/* At most most_rank features. Clear it even if this fails. Cost: rows × rank kernel values and rows × rank² steps.
 */
karma_status karma_i_features_exact(karma_i_exact_features *out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                    size_t most_rank, int threads, karma_error *err);
void karma_i_exact_features_clear(karma_i_exact_features *exact);

#endif
