#include "forest/row_sums.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

enum { LEAST_EXPONENT = -900 };

karma_status karma_i_row_sums_init_split(karma_i_row_sums *sums, const karma_i_partition *split, size_t most_outputs,
                                         karma_error *err) {
    size_t most_rows = split->count;
    *sums = (karma_i_row_sums){.most_rows = most_rows, .most_outputs = most_outputs};
    sums->gradient_unit = karma_i_alloc(most_outputs, sizeof *sums->gradient_unit);
    sums->hessian_unit = karma_i_alloc(most_outputs, sizeof *sums->hessian_unit);
    sums->words = karma_i_alloc_aligned(most_rows, 2 * most_outputs * sizeof *sums->words);
    if (!sums->gradient_unit || !sums->hessian_unit || !sums->words) {
        karma_i_row_sums_clear(sums);
        return karma_i_fail_memory(err);
    }
    while (split->n_rows >> sums->count_bits) sums->count_bits++;
    return KARMA_OK;
}

karma_status karma_i_row_sums_init(karma_i_row_sums *sums, size_t most_rows, size_t most_outputs, karma_error *err) {
    karma_i_partition whole = karma_i_partition_whole(most_rows);
    return karma_i_row_sums_init_split(sums, &whole, most_outputs, err);
}

void karma_i_row_sums_clear(karma_i_row_sums *sums) {
    karma_i_free(sums->gradient_unit);
    karma_i_free(sums->hessian_unit);
    karma_i_free(sums->words);
    *sums = (karma_i_row_sums){0};
}

void karma_i_row_sums_shape(karma_i_row_sums *sums, size_t n_gradients, size_t n_hessians) {
    sums->n_gradients = n_gradients;
    sums->n_hessians = n_hessians;
    sums->n_words = n_gradients + n_hessians;
}

static double value_of(const double *value, size_t row, const uint32_t *times) {
    return times ? value[row] * (double)times[row] : value[row];
}

double karma_i_largest_size(const double *value, const uint32_t *rows, size_t n_rows, const uint32_t *times) {
    double largest = 0.0;
    for (size_t i = 0; i < n_rows; i++) {
        double size = fabs(value_of(value, rows[i], times));
        if (size > largest) largest = size;
    }
    return largest;
}

/* The power of two u for which no size is more than 2^bits u. */
static double unit_of(double largest, unsigned bits) {
    int exponent;
    (void)frexp(largest, &exponent);                          /* largest < 2^exponent */
    if (exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT; /* 1/u stays finite */
    return ldexp(1.0, exponent - (int)bits);
}

void karma_i_row_sums_set_gradient(karma_i_row_sums *sums, size_t k, const double *value, const uint32_t *rows,
                                   size_t n_rows, const uint32_t *times, double largest) {
    double unit = unit_of(largest, 62 - sums->count_bits), inverse = 1.0 / unit;
    sums->gradient_unit[k] = unit;
    for (size_t i = 0; i < n_rows; i++)
        sums->words[rows[i] * sums->n_words + k] = (uint64_t)(int64_t)llrint(value_of(value, rows[i], times) * inverse);
}

void karma_i_row_sums_set_hessian(karma_i_row_sums *sums, size_t k, const double *value, const uint32_t *rows,
                                  size_t n_rows, const uint32_t *times, double largest) {
    unsigned shift = k == 0 ? sums->count_bits : 0;
    double unit = unit_of(largest, 63 - 2 * sums->count_bits), inverse = 1.0 / unit;
    sums->hessian_unit[k] = unit;
    for (size_t i = 0; i < n_rows; i++) {
        double h = value_of(value, rows[i], times);
        uint64_t rounded = (uint64_t)llrint(h * inverse);
        if (rounded == 0 && h > 0.0) rounded = 1; /* gradients are divided by hessians */
        sums->words[rows[i] * sums->n_words + sums->n_gradients + k] = (rounded << shift) + (k == 0);
    }
}
