/* A row's scores under a plain kernel, split by attribute. Every attribute is one sum over the support
 * rows, and one task: so the result does not depend on the number of threads. */
#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"

/* The weight of every support row in the score: t w(c_j). */
static void fill_weights(double *weights, const karma_i_kernel *kernel, const karma_i_rows *rows, size_t row,
                         karma_i_view b) {
    const float *w = kernel->factors[0].weight;
    for (size_t j = 0; j < b.count; j++)
        weights[j] = kernel->terms[0].weight * (double)w[karma_i_rows_overlap(rows, row, b.rows, b.first + j)];
}

static void add_share(double *part, double share, const double *coefficients, size_t n_outputs) {
    for (size_t o = 0; o < n_outputs; o++) part[o] += coefficients[o] * share;
}

karma_status karma_i_kernel_split(double *parts, const karma_i_kernel *kernel, const karma_i_rows *rows, size_t row,
                                  karma_i_view b, const double *coefficients, size_t n_outputs, int threads,
                                  karma_error *err) {
    rows = karma_i_rows_encoding(rows, kernel->factors[0].encoding);
    b.rows = karma_i_rows_encoding(b.rows, kernel->factors[0].encoding);
    size_t n = karma_i_rows_n_observed(rows, row);
    double square = kernel->factors[0].bias * kernel->factors[0].bias;
    size_t *attributes = karma_i_alloc(n, sizeof *attributes);
    double *weights = karma_i_alloc(b.count, sizeof *weights);
    karma_status st = attributes && weights ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_rows_list_observed(attributes, rows, row);
        fill_weights(weights, kernel, rows, row, b);
        for (size_t k = 0; k < (n + 1) * n_outputs; k++) parts[k] = 0.0;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (size_t k = 0; k <= n; k++)
            for (size_t j = 0; j < b.count; j++) {
                double kappa = k < n ? karma_i_kappa(rows, row, b.rows, b.first + j, attributes[k]) : square;
                add_share(parts + k * n_outputs, weights[j] * kappa, coefficients + j * n_outputs, n_outputs);
            }
    }
    karma_i_free(attributes);
    karma_i_free(weights);
    return st;
}
