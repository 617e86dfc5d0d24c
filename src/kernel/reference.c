/* The kernel straight from its formula: attribute by attribute, power by power, in double precision. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"
#include "kernel/plan.h"

double karma_i_factor_reference(const karma_i_factor *factor, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                size_t j) {
    double c = 0.0, sum = 0.0;
    karma_i_cell own, other;
    const float *given = karma_i_rows_given(a, i, b, j);
    if (given) return (double)*given;
    for (size_t from = 0; karma_i_rows_next_cell(&own, a, i, from); from = own.attribute + 1) {
        c += karma_i_rows_next_cell(&other, b, j, own.attribute) && other.attribute == own.attribute;
        sum += karma_i_kappa(a, i, b, j, own.attribute);
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

double karma_i_map_value(const karma_i_map *m, double xy, double xx, double yy) {
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

/* squares_a[f], squares_b[f]: k(x, x) of row i and of row j in factor f of the kernel. */
static double kernel_value(const karma_i_kernel *kernel, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                           size_t j, const double *squares_a, const double *squares_b) {
    double sum = 0.0;
    for (size_t t = 0; t < kernel->n_terms; t++) {
        double product = kernel->terms[t].weight;
        for (size_t n = 0; n < kernel->terms[t].n_factors; n++) {
            size_t at = kernel->terms[t].first_factor + n;
            const karma_i_factor *f = &kernel->factors[at];
            double xy = karma_i_factor_reference(f, karma_i_rows_encoding(a, f->encoding), i,
                                                 karma_i_rows_encoding(b, f->encoding), j);
            product *= karma_i_map_value(&f->map, xy, squares_a[at], squares_b[at]);
        }
        sum += product;
    }
    return sum;
}

/* Only what an outer map asks for. */
static void fill_squares(double *squares, const karma_i_kernel *kernel, const karma_i_rows *a, size_t i) {
    for (size_t at = 0; at < kernel->n_factors; at++) {
        const karma_i_factor *f = &kernel->factors[at];
        const karma_i_rows *own = karma_i_rows_encoding(a, f->encoding);
        squares[at] = f->map.kind == KARMA_OUTER_IDENTITY ? 0.0 : karma_i_factor_reference(f, own, i, own, i);
    }
}

double karma_i_kernel_reference(const karma_i_kernel *kernel, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                size_t j) {
    double squares_a[KARMA_I_MOST_FACTORS], squares_b[KARMA_I_MOST_FACTORS];
    fill_squares(squares_a, kernel, a, i);
    fill_squares(squares_b, kernel, b, j);
    return kernel_value(kernel, a, i, b, j, squares_a, squares_b);
}
