/* w(c) = 1 + r + ... + r^(γ-1), r = c/ν, without overflow. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"

/* Single precision ends at 3e38. The recipe bounds encoded values by 1e9, so sums of up to 1e4 squared values
 * stay in range as long as w <= 1e16. */
static const double LOG_WEIGHT_LIMIT = 36.84; /* ln 1e16 */

/* ln w(c). For r > 1, w = r^(γ-1) · (1 + q + ... + q^(γ-1)) with q = 1/r < 1: the bracket is between 1 and γ
 * and is summed until it stops growing. */
double karma_i_log_weight(size_t c, size_t gamma, double scale) {
    double r = (double)c / scale;
    double q = r > 1.0 ? 1.0 / r : r;
    double power = 1.0, sum = 0.0;
    for (size_t l = 0; l < gamma && power > 0x1p-60 * sum; l++) {
        sum += power;
        power *= q;
    }
    return log(sum) + (r > 1.0 ? (double)(gamma - 1) * log(r) : 0.0);
}

double karma_i_weight(size_t c, size_t gamma, double scale, double log_norm) {
    if (log_norm > 0.0) return exp(karma_i_log_weight(c, gamma, scale) - log_norm);
    double r = (double)c / scale, w = 1.0; /* Horner: no branch at c = ν, exact while w < 2^53 for whole r */
    for (size_t l = 1; l < gamma; l++) w = w * r + 1.0;
    return w;
}

karma_status karma_i_factor_weigh(karma_i_factor *factor, karma_error *err) {
    size_t with_bias = factor->bias != 0.0, largest = factor->largest_overlap;
    double log_max = karma_i_log_weight(largest + with_bias, factor->gamma, factor->scale);
    factor->log_norm = log_max > LOG_WEIGHT_LIMIT ? log_max : 0.0;
    if (factor->is_share && largest > 0) factor->log_norm = log((double)largest);
    factor->weight =
        karma_i_zalloc(largest < KARMA_I_LEAST_WEIGHTS ? KARMA_I_LEAST_WEIGHTS : largest + 1, sizeof *factor->weight);
    if (!factor->weight) return karma_i_fail_memory(err);
    for (size_t c = 0; c <= largest; c++)
        factor->weight[c] = (float)karma_i_weight(c + with_bias, factor->gamma, factor->scale, factor->log_norm);
    return KARMA_OK;
}

karma_status karma_i_kernel_alloc(karma_i_kernel *kernel, size_t n_terms, size_t n_factors, karma_error *err) {
    *kernel = (karma_i_kernel){0, 0, karma_i_zalloc(n_terms, sizeof *kernel->terms),
                               karma_i_zalloc(n_factors, sizeof *kernel->factors), karma_i_paths()[0]};
    if (!kernel->terms || !kernel->factors) return karma_i_fail_memory(err);
    kernel->n_terms = n_terms;
    kernel->n_factors = n_factors;
    return KARMA_OK;
}

karma_status karma_i_kernel_init(karma_i_kernel *kernel, size_t gamma, double scale, double bias,
                                 size_t largest_overlap, karma_error *err) {
    karma_status st = karma_i_kernel_alloc(kernel, 1, 1, err);
    if (st == KARMA_OK) {
        kernel->terms[0] = (karma_i_term){1.0, 0, 1};
        kernel->factors[0] =
            (karma_i_factor){.gamma = gamma, .scale = scale, .bias = bias, .largest_overlap = largest_overlap};
        st = karma_i_factor_weigh(&kernel->factors[0], err);
    }
    if (st != KARMA_OK) karma_i_kernel_clear(kernel);
    return st;
}

void karma_i_kernel_clear(karma_i_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++) {
        karma_i_free(kernel->factors[f].weight);
        karma_i_free(kernel->factors[f].map.coefficients);
    }
    karma_i_free(kernel->terms);
    karma_i_free(kernel->factors);
    *kernel = (karma_i_kernel){0};
}

int karma_i_kernel_is_plain(const karma_i_kernel *kernel) {
    return kernel->n_factors == 1 && kernel->factors[0].map.kind == KARMA_OUTER_IDENTITY;
}
