/* Cholesky factors of dense symmetric matrices, and products in double precision that the same code needs. All matrices
 * are row-major. Everything here works on the calling thread alone, so results never depend on the number of threads.
 * Sizes are at most INT_MAX. */
#ifndef KARMA_I_CHOLESKY_H
#define KARMA_I_CHOLESKY_H

#include <stddef.h>

#include "karma/base.h"

/* Replaces the lower triangle of A, n × n, by L with A = L Lᵀ; what is above the diagonal is neither read nor changed.
 * False if A is not positive definite, and then A is undefined. Cost: n³/3. */
int karma_i_cholesky(double *a, size_t n);
/* Which rows of A a Cholesky factorisation needs: it takes the row with the largest pivot that is left, until none is
 * larger than `tolerance`. *rank is how many it took, and pivots[0..n) a permutation that begins with them. A is left
 * undefined. */
karma_status karma_i_cholesky_pivots(size_t *rank, size_t *pivots, double *a, size_t n, double tolerance,
                                     karma_error *err);

/* Replaces b by the solution of L x = b, of Lᵀ x = b, and of L Lᵀ x = b. */
void karma_i_solve_lower(double *b, const double *lower, size_t n);
void karma_i_solve_lower_transposed(double *b, const double *lower, size_t n);
void karma_i_cholesky_solve(double *b, const double *lower, size_t n);
/* Replaces every row b of B, count × n, by the solution of L x = b; L has `ld` numbers from row to row. */
void karma_i_solve_lower_rows(double *b, size_t count, const double *lower, size_t ld, size_t n);

/* out = A Bᵀ, A n × inner, B m × inner. */
void karma_i_product_nt(double *out, const double *a, const double *b, size_t n, size_t inner, size_t m);
/* out += AᵀB, A inner × n, B inner × m; the ld are the numbers from row to row. */
void karma_i_product_tn_add(double *out, size_t ld_out, const double *a, size_t ld_a, const double *b, size_t ld_b,
                            size_t inner, size_t n, size_t m);
/* out = A x of a symmetric matrix, n × n. */
void karma_i_product_vector(double *out, const double *a, const double *x, size_t n);

#endif
