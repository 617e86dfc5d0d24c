/* Cholesky's factorisation row by row: L_ij = (A_ij - Σ_{k<j} L_ik L_jk) / L_jj, L_ii² = A_ii - Σ_{k<i} L_ik². */
#include "linalg/packed.h"

#include <float.h>
#include <math.h>

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

void karma_i_packed_cholesky(double *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double *row = a + karma_i_packed_size(i);
        for (size_t j = 0; j < i; j++) {
            const double *other = a + karma_i_packed_size(j);
            row[j] = other[j] > 0.0 ? (row[j] - dot(row, other, j)) / other[j] : 0.0;
        }
        double pivot = row[i] - dot(row, row, i), noise = (double)(i + 1) * DBL_EPSILON * row[i];
        row[i] = pivot > noise ? sqrt(pivot) : 0.0;
    }
}

void karma_i_packed_solve(double *b, const double *factor, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const double *row = factor + karma_i_packed_size(i);
        b[i] = row[i] > 0.0 ? (b[i] - dot(row, b, i)) / row[i] : 0.0;
    }
    for (size_t i = n; i-- > 0;) {
        const double *row = factor + karma_i_packed_size(i);
        b[i] = row[i] > 0.0 ? b[i] / row[i] : 0.0;
        for (size_t k = 0; k < i; k++) b[k] -= row[k] * b[i];
    }
}
