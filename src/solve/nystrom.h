/* Kernel machines as linear machines on few features (solve/primal.h), and back: a reduction names the rows that carry
 * the coefficients of the machine, and what its features are.
 *
 * Exact, where the kernel has few dimensions: kernel/features_exact.h. By landmarks otherwise (Nyström): m rows drawn
 * at random; the machine is the best of all Σ_j α_j k(z_j, ·) over them, at a cost of rows × m per pass instead of
 * rows². */
#ifndef KARMA_I_NYSTROM_H
#define KARMA_I_NYSTROM_H

#include "kernel/features_exact.h"
#include "solve/solver.h"

typedef struct karma_i_reduction {
    karma_i_features *features;
    size_t n_landmarks, *landmarks; /* rows, counted through all processes; one for each feature */
    double *lower;                  /* exact: weights w belong to coefficients α with Lᵀα = w. NULL: w = α */
    /* by landmarks only */
    karma_i_rows *rows;         /* copies of the landmarks */
    double *norm, *norm_factor; /* k(Z, Z) and its Cholesky factor */
} karma_i_reduction;

/* True if the kernel of these rows has so few dimensions that exact features are faster. */
int karma_i_is_reducible(const karma_i_kernel *kernel, const karma_i_rows *rows, const karma_fit_options *options);
/* Exact features. *out is empty, without features, where the kernel has too many dimensions. */
karma_status karma_i_reduce_exactly(karma_i_reduction *out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                    const karma_fit_options *options, karma_error *err);
/* Landmarks, as many as the options ask for, without those in the span of the others. */
karma_status karma_i_reduce(karma_i_reduction *out, const karma_i_problem *problem, const karma_fit_options *options,
                            karma_error *err);
void karma_i_reduction_clear(karma_i_reduction *reduction);

/* How many landmarks the options ask for: a number, or for auto one that depends on the number of rows. */
size_t karma_i_count_landmarks(const karma_fit_options *options, size_t n_rows);

/* As a karma_i_solve_fn, over a reduction of the problem's kernel and rows. Coefficients are 0 except for landmarks. By
 * landmarks and without a start, `info` also gets a comparison with half as many landmarks. */
karma_status karma_i_solve_reduced(double *coefficients, karma_fit_info *info, const karma_i_reduction *reduction,
                                   const karma_i_problem *problem, const karma_fit_options *options,
                                   const karma_hooks *hooks, karma_error *err);

#endif
