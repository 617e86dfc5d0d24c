/* How far a factor w(c) (Σκ + b²) in single precision may be from its value. */
#ifndef KARMA_TEST_ROUNDING_H
#define KARMA_TEST_ROUNDING_H

#include <math.h>

#include "base/bits.h"
#include "kernel/kernel.h"
#include "representation.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"

/* w · (Σ|terms| + b²): what the roundings are relative to. Bytes are exact integers, so a rank part is one number of
 * size at most 3 · count; so are equal codes. a and b are the factor's own encoding. */
static inline double factor_size(const karma_i_factor *f, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                 size_t j) {
    double sum = f->bias * f->bias;
    size_t c = 0;
    if (rows_are_sparse(a)) {
        for (size_t p = karma_i_sparse_of(a)->cell_start[i]; p < karma_i_sparse_of(a)->cell_start[i + 1]; p++)
            for (size_t q = karma_i_sparse_of(b)->cell_start[j]; q < karma_i_sparse_of(b)->cell_start[j + 1]; q++)
                if (karma_i_sparse_of(a)->cell_attribute[p] == karma_i_sparse_of(b)->cell_attribute[q])
                    c++, sum += fabs((double)karma_i_sparse_of(a)->cell_value[p] *
                                     (double)karma_i_sparse_of(b)->cell_value[q]);
    } else {
        for (size_t g = 0; g < a->n_features; g++)
            sum += fabs((double)karma_i_rows_values(a, i)[g] * (double)karma_i_rows_values(b, j)[g]);
        c = karma_i_mask_overlap(karma_i_rows_mask(a, i), karma_i_rows_mask(b, j), karma_i_dense_of(a)->n_words);
        for (size_t t = 0; karma_i_dense_of(a)->rank_stride && t < a->n_attributes; t++)
            if (karma_i_rows_ranks(a, i)[t] && karma_i_rows_ranks(b, j)[t]) sum += 3.0;
        for (size_t t = 0; t < karma_i_dense_of(a)->n_codes; t++)
            sum += karma_i_rows_codes(a, i)[t] && karma_i_rows_codes(b, j)[t];
        const float *q = karma_i_rows_values(a, i) + a->n_features, *p = karma_i_rows_values(b, j) + a->n_features;
        for (size_t t = 0; t < karma_i_dense_of(a)->n_terms; t++)
            sum += fabs((double)q[t] * (double)p[t + karma_i_dense_of(a)->n_terms]) +
                   fabs((double)q[t + karma_i_dense_of(a)->n_terms] * (double)p[t]);
    }
    return sum * karma_i_weight(c + (f->bias != 0.0), f->gamma, f->scale, f->log_norm);
}

/* A sum of n products in any order, whose roundings have no common sign; and the rank part's two roundings and its
 * step's, the bias, the weight, the product. */
static inline double rounding(const karma_i_rows *r) {
    int is_sparse = rows_are_sparse(r), has_ranks = !is_sparse && karma_i_dense_of(r)->rank_stride;
    double n = (double)(is_sparse ? r->n_features : karma_i_dense_of(r)->n_values);
    return (fmin(n, 2.0 * sqrt(n)) + (has_ranks ? 12.0 : 6.0)) * 0x1p-24;
}

#endif
