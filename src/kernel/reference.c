/* The kernel straight from its formula: attribute by attribute, power by power, in double precision. */
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "kernel/kernel.h"

static int observes(const karma_i_rows *rows, size_t row, size_t attribute) {
    if (rows->is_sparse) return karma_i_rows_find_cell(rows, row, attribute) < rows->cell_start[row + 1];
    return karma_i_mask_get(karma_i_rows_mask(rows, row), attribute);
}

static double sparse_value(const karma_i_rows *rows, size_t row, size_t attribute) {
    return (double)rows->cell_value[karma_i_rows_find_cell(rows, row, attribute)];
}

double karma_i_kappa(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute) {
    if (!observes(a, i, attribute) || !observes(b, j, attribute)) return 0.0;
    if (a->is_sparse) return sparse_value(a, i, attribute) * sparse_value(b, j, attribute);
    const float *x = karma_i_rows_values(a, i), *y = karma_i_rows_values(b, j);
    double sum = 0.0;
    for (size_t f = a->feature_start[attribute]; f < a->feature_start[attribute + 1]; f++)
        sum += (double)x[f] * (double)y[f];
    if (karma_i_rows_has(a, attribute, KARMA_I_RANKED))
        sum += a->rank_base -
               a->rank_step * abs(karma_i_rows_ranks(a, i)[attribute] - karma_i_rows_ranks(b, j)[attribute]);
    if (karma_i_rows_has(a, attribute, KARMA_I_CODED))
        sum += a->codes[karma_i_rows_code_at(a, i, attribute)] == b->codes[karma_i_rows_code_at(b, j, attribute)];
    if (karma_i_rows_has(a, attribute, KARMA_I_HAS_TERM))
        sum += (double)a->values[karma_i_rows_term_at(a, i, attribute)] +
               (double)b->values[karma_i_rows_term_at(b, j, attribute)];
    return sum;
}

/* w(c) (Σκ + b²) */
static double factor_value(const karma_i_factor *factor, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                           size_t j) {
    double c = 0.0, sum = 0.0;
    if (a->is_matrix) return (double)a->matrix[a->matrix_row[i] * a->matrix_stride + b->matrix_column[j]];
    size_t first = a->is_sparse ? a->cell_start[i] : 0, end = a->is_sparse ? a->cell_start[i + 1] : a->n_attributes;
    for (size_t k = first; k < end; k++) { /* a's attributes, or all */
        size_t attribute = a->is_sparse ? a->cell_attribute[k] : k;
        c += observes(a, i, attribute) && observes(b, j, attribute);
        sum += karma_i_kappa(a, i, b, j, attribute);
    }
    if (factor->bias != 0.0) {
        c += 1.0;
        sum += factor->bias * factor->bias;
    }
    double w = 0.0;
    for (size_t l = 0; l < factor->gamma; l++)
        w += l == 0 ? exp(-factor->log_norm)
                    : (c > 0.0 ? exp((double)l * log(c / factor->scale) - factor->log_norm) : 0.0);
    return w * sum;
}

static double map_value(const karma_i_map *m, double xy, double xx, double yy) {
    double squared_distance = fmax(0.0, xx + yy - 2.0 * xy), sum = 0.0;
    switch (m->kind) {
    case KARMA_OUTER_COSINE:
        return xx > 0.0 && yy > 0.0 ? xy / sqrt(xx * yy) : 0.0;
    case KARMA_OUTER_POLY:
        return pow(m->offset + xy / m->spread, (double)m->degree);
    case KARMA_OUTER_RBF:
        return exp(-squared_distance / (m->spread * m->width * m->width));
    case KARMA_OUTER_LAPLACE:
        return exp(-sqrt(squared_distance / m->spread) / m->width);
    case KARMA_OUTER_SERIES:
        for (size_t p = 0; p <= m->degree; p++) sum += m->coefficients[p] * pow(xy / m->spread, (double)p);
        return sum;
    case KARMA_OUTER_IDENTITY:
    case KARMA_N_OUTERS:
        break;
    }
    return xy;
}

double karma_i_kernel_reference(const karma_i_kernel *kernel, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                size_t j) {
    double sum = 0.0;
    for (size_t t = 0; t < kernel->n_terms; t++) {
        double product = kernel->terms[t].weight;
        for (size_t n = 0; n < kernel->terms[t].n_factors; n++) {
            const karma_i_factor *f = &kernel->factors[kernel->terms[t].first_factor + n];
            const karma_i_rows *own = karma_i_rows_encoding(a, f->encoding);
            const karma_i_rows *other = karma_i_rows_encoding(b, f->encoding);
            double xy = factor_value(f, own, i, other, j);
            product *= f->map.kind == KARMA_OUTER_IDENTITY ? xy
                                                           : map_value(&f->map, xy, factor_value(f, own, i, own, i),
                                                                       factor_value(f, other, j, other, j));
        }
        sum += product;
    }
    return sum;
}
