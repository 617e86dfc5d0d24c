/* The sums over the rows of a node: gradients, hessians and the number of rows, as whole numbers.
 *
 * A row has D gradients g_k and H hessians h_k, H = 1 (one that all outputs share) or D. They are rounded to multiples
 * of a unit, a power of two that is small enough not to matter and large enough that sums over all rows fit into a
 * word. Sums of whole numbers are exact: they do not depend on the order of the rows or on the number of threads, and
 * the sums of one child are those of the parent minus those of the other.
 *
 *     words of a row: [ g_1 ... g_D | h_1 · 2^count_bits + 1 | h_2 ... h_H ]
 *
 * The first hessian shares its word with the count. Hessians and counts are never negative, so neither overflows into
 * the other. With n rows and b = ⌈log2(n + 1)⌉, gradients keep 62 - b bits and hessians 63 - 2b: 45 and 29 for 100,000
 * rows. */
#ifndef KARMA_I_ROW_SUMS_H
#define KARMA_I_ROW_SUMS_H

#include "base/partition.h"

/* A tree looks at no more outputs than this. */
enum { KARMA_I_MOST_TREE_OUTPUTS = 32, KARMA_I_MOST_SUM_WORDS = 2 * KARMA_I_MOST_TREE_OUTPUTS };

typedef struct karma_i_row_sums {
    size_t most_rows, most_outputs;
    size_t n_gradients, n_hessians, n_words;
    unsigned count_bits;
    double *gradient_unit, *hessian_unit; /* what 1 stands for; by gradient and hessian */
    uint64_t *words;                      /* by row */
} karma_i_row_sums;

/* most_outputs: at most KARMA_I_MOST_TREE_OUTPUTS. */
karma_status karma_i_row_sums_init(karma_i_row_sums *sums, size_t most_rows, size_t most_outputs, karma_error *err);
/* The same for the rows of this process, so that sums over the rows of all fit. */
karma_status karma_i_row_sums_init_split(karma_i_row_sums *sums, const karma_i_partition *split, size_t most_outputs,
                                         karma_error *err);
void karma_i_row_sums_clear(karma_i_row_sums *sums);

/* How many gradients and hessians rows have from now on; n_hessians is 1 or n_gradients. */
void karma_i_row_sums_shape(karma_i_row_sums *sums, size_t n_gradients, size_t n_hessians);

/* The largest |value[row]| of these rows, times[row] times (NULL: once each). */
double karma_i_largest_size(const double *value, const uint32_t *rows, size_t n_rows, const uint32_t *times);

/* Sets gradient k, or hessian k, of these rows from value[row], times[row] times. `largest` is the size of the largest
 * value, of the rows of all processes. All values must be finite, and hessians not negative. */
void karma_i_row_sums_set_gradient(karma_i_row_sums *sums, size_t k, const double *value, const uint32_t *rows,
                                   size_t n_rows, const uint32_t *times, double largest);
void karma_i_row_sums_set_hessian(karma_i_row_sums *sums, size_t k, const double *value, const uint32_t *rows,
                                  size_t n_rows, const uint32_t *times, double largest);

/* Of the words of one row, or of the sum of several. */
static inline double karma_i_sum_gradient(const karma_i_row_sums *sums, const uint64_t *words, size_t k) {
    return (double)(int64_t)words[k] * sums->gradient_unit[k];
}
static inline double karma_i_sum_hessian(const karma_i_row_sums *sums, const uint64_t *words, size_t k) {
    uint64_t word = words[sums->n_gradients + k];
    return (double)(int64_t)(k == 0 ? word >> sums->count_bits : word) * sums->hessian_unit[k];
}
static inline size_t karma_i_sum_count(const karma_i_row_sums *sums, const uint64_t *words) {
    return (size_t)(words[sums->n_gradients] & ((UINT64_C(1) << sums->count_bits) - 1));
}

#endif
