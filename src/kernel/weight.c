/* w(c) = 1 + r + ... + r^(γ-1), r = c/ν, without overflow. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"

/* Single precision ends at 3e38. The recipe bounds encoded values by 1e9, so sums of up to 1e4 squared values
 * stay in range while w <= 1e16. */
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

karma_status karma_i_kernel_init(karma_i_kernel *kernel, size_t gamma, double scale, double bias,
                                 size_t largest_overlap, karma_error *err) {
    size_t with_bias = bias != 0.0;
    double log_max = karma_i_log_weight(largest_overlap + with_bias, gamma, scale);
    *kernel = (karma_i_kernel){gamma, scale, bias, largest_overlap, 0.0, NULL, karma_i_paths()[0]};
    if (log_max > LOG_WEIGHT_LIMIT) kernel->log_norm = log_max;
    size_t room = largest_overlap < KARMA_I_LEAST_WEIGHTS ? KARMA_I_LEAST_WEIGHTS : largest_overlap + 1;
    kernel->weight = karma_i_zalloc(room, sizeof *kernel->weight);
    if (!kernel->weight) return karma_i_fail_memory(err);
    for (size_t c = 0; c <= largest_overlap; c++)
        kernel->weight[c] = (float)karma_i_weight(c + with_bias, gamma, scale, kernel->log_norm);
    return KARMA_OK;
}

void karma_i_kernel_clear(karma_i_kernel *kernel) {
    karma_i_free(kernel->weight);
    kernel->weight = NULL;
}
