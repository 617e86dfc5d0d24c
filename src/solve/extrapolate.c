/* Minimising |U w|² with Σ w = 1 gives w ∝ (UᵀU)^{-1} 1, U the matrix of differences. */
#include "solve/extrapolate.h"

#include <math.h>

/* A little of the trace on the diagonal: differences soon point the same way. */
static const double RIDGE = 1e-10;

/* Solves the symmetric positive definite A x = b in place by Cholesky. False if A is not. */
static int solve_cholesky(double A[][KARMA_I_EXTRAPOLATE_MOST], double *b, size_t m) {
    for (size_t j = 0; j < m; j++) {
        for (size_t k = 0; k < j; k++) A[j][j] -= A[j][k] * A[j][k];
        if (!(A[j][j] > 0.0)) return 0;
        A[j][j] = sqrt(A[j][j]);
        for (size_t i = j + 1; i < m; i++) {
            for (size_t k = 0; k < j; k++) A[i][j] -= A[i][k] * A[j][k];
            A[i][j] /= A[j][j];
        }
    }
    for (size_t i = 0; i < m; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= A[i][k] * b[k];
        b[i] /= A[i][i];
    }
    for (size_t i = m; i-- > 0;) {
        for (size_t k = i + 1; k < m; k++) b[i] -= A[k][i] * b[k];
        b[i] /= A[i][i];
    }
    return 1;
}

int karma_i_extrapolate(double *weights, const double *const *iterates, size_t m, size_t n) {
    double A[KARMA_I_EXTRAPOLATE_MOST][KARMA_I_EXTRAPOLATE_MOST], b[KARMA_I_EXTRAPOLATE_MOST], trace = 0.0, sum = 0.0;
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q <= p; q++) {
            double product = 0.0;
            for (size_t i = 0; i < n; i++)
                product += (iterates[p + 1][i] - iterates[p][i]) * (iterates[q + 1][i] - iterates[q][i]);
            A[p][q] = A[q][p] = product;
        }
    for (size_t p = 0; p < m; p++) trace += A[p][p], b[p] = 1.0;
    for (size_t p = 0; p < m; p++) A[p][p] += RIDGE * trace;
    if (!solve_cholesky(A, b, m)) return 0;
    for (size_t p = 0; p < m; p++) sum += b[p];
    if (!(fabs(sum) > 1e-300) || !isfinite(sum)) return 0;
    for (size_t p = 0; p < m; p++) weights[p] = b[p] / sum;
    return 1;
}
