/* Small symmetric matrices, packed: the lower triangle row by row, entry (i, j), j <= i, at i(i+1)/2 + j. */
#ifndef KARMA_I_PACKED_H
#define KARMA_I_PACKED_H

#include <stddef.h>

/* Entries of an n × n matrix, and where row i starts. */
static inline size_t karma_i_packed_size(size_t n) {
    return n * (n + 1) / 2;
}

/* Replaces a positive semidefinite A by the lower triangular L with A = L Lᵀ. A pivot that is only the rounding error
 * of a zero is a zero: its column of L is 0. */
void karma_i_packed_cholesky(double *a, size_t n);

/* Replaces b by a solution x of L Lᵀ x = b; where L has a zero pivot x is 0. */
void karma_i_packed_solve(double *b, const double *factor, size_t n);

#endif
