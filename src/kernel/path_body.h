/* What every path has in the same words; the compiler turns it into the instructions of the file that includes it.
 * Accumulators are many and fixed, so that sums can be vectorised without leave to reorder. */
#ifndef KARMA_I_PATH_BODY_H
#define KARMA_I_PATH_BODY_H

#include "kernel/path.h"

enum { LANES = 16 };

static double dot(const float *x, const double *y, size_t n) {
    double sums[LANES] = {0.0};
    size_t whole = n - n % LANES;
    for (size_t j = 0; j < whole; j += LANES)
        for (size_t k = 0; k < LANES; k++) sums[k] += (double)x[j + k] * y[j + k];
    for (size_t j = whole; j < n; j++) sums[j - whole] += (double)x[j] * y[j];
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t k = 0; k < width; k++) sums[k] += sums[k + width];
    return sums[0];
}

static void axpy(double *y, const float *x, double a, size_t n) {
    for (size_t j = 0; j < n; j++) y[j] += a * (double)x[j];
}

#endif
