/* The kernel straight from its formula: attribute by attribute, power by power, in double precision. */
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "kernel/kernel.h"

/* The sum over common attributes of two sparse rows, and how many there are. */
static double sparse_sum(double *count, const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    double sum = 0.0;
    for (size_t p = a->cell_start[i]; p < a->cell_start[i + 1]; p++)
        for (size_t q = b->cell_start[j]; q < b->cell_start[j + 1]; q++)
            if (a->cell_attribute[p] == b->cell_attribute[q]) {
                *count += 1.0;
                sum += (double)a->cell_value[p] * (double)b->cell_value[q];
            }
    return sum;
}

double karma_i_kernel_reference(const karma_i_kernel *kernel, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                size_t j) {
    double c = 0.0, sum = a->is_sparse ? sparse_sum(&c, a, i, b, j) : 0.0;
    for (size_t k = 0; !a->is_sparse && k < a->n_attributes; k++) {
        const float *x = karma_i_rows_values(a, i), *y = karma_i_rows_values(b, j);
        if (!karma_i_mask_get(karma_i_rows_mask(a, i), k) || !karma_i_mask_get(karma_i_rows_mask(b, j), k)) continue;
        c += 1.0;
        if (a->rank_stride && karma_i_mask_get(a->ranked, k))
            sum += 1.0 - KARMA_I_RANK_STEP * abs(karma_i_rows_ranks(a, i)[k] - karma_i_rows_ranks(b, j)[k]);
        for (size_t f = a->feature_start[k]; f < a->feature_start[k + 1]; f++) sum += (double)x[f] * (double)y[f];
    }
    if (kernel->bias != 0.0) {
        c += 1.0;
        sum += kernel->bias * kernel->bias;
    }
    double w = 0.0;
    for (size_t l = 0; l < kernel->gamma; l++)
        w += l == 0 ? exp(-kernel->log_norm)
                    : (c > 0.0 ? exp((double)l * log(c / kernel->scale) - kernel->log_norm) : 0.0);
    return w * sum;
}
