/* A λ-regular sequence of labelled rows with missing cells (definition regularity of the paper). */
#ifndef KARMA_I_SEQUENCE_H
#define KARMA_I_SEQUENCE_H

#include "karma/options.h"
#include "table/rows_dense.h"

typedef struct karma_i_sequence {
    size_t n_rows, dim, rank;
    double *basis;      /* U, dim × rank, columns orthonormal: Q* = UUᵀ */
    karma_i_rows *rows; /* |x| <= 1, x in E except for rounding to single precision */
    double *labels;     /* -1 or 1 */
    double *pulled;     /* ξ_t, n_rows × dim: f_{w,Q*}(x_t) = w·ξ_t */
    double lambda;      /* smallest of the rows */
    double magnitude;   /* largest |x_j| that is observed */
    double missing;     /* share of cells */
} karma_i_sequence;

/* Needs dim, rank <= dim, lambda, rounds, label_noise and seed of the options; the order is that of the draw. The same
 * seed with fewer rounds gives a beginning of the longer sequence. */
karma_status karma_i_sequence_new(karma_i_sequence **out, const karma_regret_options *options, karma_error *err);
void karma_i_sequence_free(karma_i_sequence *sequence);

#endif
