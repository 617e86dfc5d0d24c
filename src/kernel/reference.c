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

/* w(c) (Σκ + b²) */
static double factor_value(const karma_i_factor *factor, const karma_i_rows *a, size_t i, const karma_i_rows *b,
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
