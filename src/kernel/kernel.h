/* Kernels between rows with missing cells. The kernel of the paper (theorem ktrick, with the scale ν and the bias of
 * docs/mathematics.md) is a factor:
 *
 *     f(x_o, y_o') = w(c) · (Σ_{i ∈ o∩o'} κ_i(x_i, y_i) + b²),   c = |o ∩ o'| + [b ≠ 0],   w(c) = Σ_{l<γ} (c/ν)^l
 *
 * κ_i depends on how attribute i is encoded. The bias b is one more attribute that is always observed.
 * Products, ν = 1 and b = 0 are the paper's kernel. A factor may go through an outer map, which keeps it positive
 * semidefinite, and a kernel is a sum of terms, each a product of factors with a weight that is not negative:
 *
 *     k = Σ_t weight_t Π_f outer_f(f(x, y)) */
#ifndef KARMA_I_KERNEL_H
#define KARMA_I_KERNEL_H

#include "karma/base.h"
#include "karma/options.h"
#include "kernel/path.h"
#include "table/rows.h"

typedef struct karma_i_factor {
    size_t encoding; /* of the rows: which of them it is about */
    size_t gamma;
    double scale;           /* ν */
    double bias;            /* b */
    size_t largest_overlap; /* no pair of rows has more attributes in common */
    /* Where w of the largest overlap would leave the range of single precision, all of w is divided
     * by exp(log_norm); otherwise log_norm is 0. The same division makes a share of a sum over attributes that are
     * always observed. */
    double log_norm;
    int is_share;  /* the sum is divided by largest_overlap */
    float *weight; /* weight[|o ∩ o'|]: the bias is counted in */
    karma_i_map map;
} karma_i_factor;

typedef struct karma_i_term {
    double weight;
    size_t first_factor, n_factors;
} karma_i_term;

typedef struct karma_i_kernel {
    size_t n_terms, n_factors;
    karma_i_term *terms;
    karma_i_factor *factors;
    const karma_i_path *path; /* the fastest of this machine; tests take others */
} karma_i_kernel;

/* One factor without an outer map. `largest_overlap`: the most attributes that any row of one side of the pairs
 * observes. */
karma_status karma_i_kernel_init(karma_i_kernel *kernel, size_t gamma, double scale, double bias,
                                 size_t largest_overlap, karma_error *err);
/* Room for terms and factors, all zero but the path; karma_i_factor_weigh then fills in a factor's weights from its
 * other members. Clear it even if this fails. */
karma_status karma_i_kernel_alloc(karma_i_kernel *kernel, size_t n_terms, size_t n_factors, karma_error *err);
karma_status karma_i_factor_weigh(karma_i_factor *factor, karma_error *err);
void karma_i_kernel_clear(karma_i_kernel *kernel);
/* Only one factor, of weight 1 and without an outer map: scores are then sums over attributes. */
int karma_i_kernel_is_plain(const karma_i_kernel *kernel);

/* ln w(c), and w(c)/exp(log_norm) as it is used, both in double precision. */
double karma_i_log_weight(size_t c, size_t gamma, double scale);
double karma_i_weight(size_t c, size_t gamma, double scale, double log_norm);

/* out[i * ld + j] = k(a_i, b_j), by `threads` threads (at least 1). Every value is computed in tiles of a fixed
 * size, so the result does not depend on the number of threads. a and b have the same encodings. Fails with
 * KARMA_ERR_MEMORY only. */
karma_status karma_i_kernel_block(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                  int threads);

/* The whole Gram matrix of a: one half is computed, the other copied. Fails with KARMA_ERR_MEMORY only. */
karma_status karma_i_kernel_gram(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, int threads);

/* out[i] = k(a_i, a_i); and the same for one factor, before its outer map. */
void karma_i_kernel_diagonal(double *out, const karma_i_kernel *kernel, karma_i_view a);
double karma_i_factor_square(const karma_i_factor *factor, const karma_i_rows *encoding, size_t row);

/* scores[i * n_outputs + o] = Σ_j k(a_i, b_j) coefficients[j * n_outputs + o], summed in double precision in a
 * fixed order. Training and prediction both go through here. */
karma_status karma_i_kernel_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                   const double *coefficients, size_t n_outputs, int threads, karma_error *err);

/* The scores of one row, split by attribute. Of a plain kernel, whose only term has the weight t,
 *
 *     score_o(x) = Σ_i part_io + rest_o,   part_io = Σ_j α_jo t w(c_j) κ_i(x, b_j),   rest_o = Σ_j α_jo t w(c_j) b²
 *
 * with the coefficients α and the weights w of the kernel's table, summed in double precision in a fixed order.
 * parts[k * n_outputs + o] is that of the k-th attribute that the row observes; the rest follows the last of them. */
karma_status karma_i_kernel_split(double *parts, const karma_i_kernel *kernel, const karma_i_rows *rows, size_t row,
                                  karma_i_view b, const double *coefficients, size_t n_outputs, int threads,
                                  karma_error *err);

/* An outer map of the kernel values of two rows with each other and with themselves. */
double karma_i_map_value(const karma_i_map *map, double xy, double xx, double yy);

/* The slow reference: one pair, straight from the formula in double precision. The oracle of tests. */
double karma_i_kernel_reference(const karma_i_kernel *kernel, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                size_t j);
/* One factor without its outer map: w(c) (Σκ + b²), or what is given. Only this encoding of the rows counts. */
double karma_i_factor_reference(const karma_i_factor *factor, const karma_i_rows *a, size_t i, const karma_i_rows *b,
                                size_t j);

#endif
