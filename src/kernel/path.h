/* The inner loops, once for each kind of processor. A path is a record of functions; all paths compute the same
 * things up to rounding, and dispatch takes the fastest one that the machine can run. */
#ifndef KARMA_I_PATH_H
#define KARMA_I_PATH_H

#include <stddef.h>
#include <stdint.h>

#include "karma/options.h"
#include "table/pairs.h"

#define KARMA_I_LARGEST_POWER 1e30
/* Of q_i q_j: what det = q_i q_j - k² counts for at least, since kernel values have single precision. */
#define KARMA_I_LEAST_DET 1e-6

/* An outer map: a function of a value t = k(x,y) of a kernel, given k(x,x) and k(y,y), s a scale of the kernel:
 *
 *   identity  t                          rbf      exp(-D / (s width²)),  D = k(x,x) + k(y,y) - 2 k(x,y)
 *   cosine    t / √(k(x,x) k(y,y))       laplace  exp(-√(D/s) / width)
 *   poly      (offset + t/s)^degree      series   Σ_p coefficients[p] (t/s)^p
 *
 * Where k(x,x) is 0, cosine is 0. Values of poly and series are kept within ±KARMA_I_LARGEST_POWER. */
typedef struct karma_i_map {
    karma_outer kind;
    double spread; /* s */
    double offset, width;
    size_t degree; /* also the last power of a series */
    double *coefficients;
} karma_i_map;

/* A quadratic function of one number β per row, each within its box: with g the negative of the derivative by β, a
 * change δ of one row makes the function fall by δ (g - ½ q δ). */
typedef struct karma_i_box {
    size_t n;
    const double *q;
    const double *low, *high; /* equal where β cannot change */
    double *beta;
    double *slope; /* g */
} karma_i_box;

typedef struct karma_i_path {
    const char *name;
    karma_i_pair_loops pairs; /* tiles of dense rows */
    /* Puts a tile of values through an outer map; k(x,x) of its rows and columns are in diagonal_a and diagonal_b. */
    void (*map)(float *tile, size_t ld, size_t n_a, size_t n_b, const karma_i_map *map, const float *diagonal_a,
                const float *diagonal_b);
    /* The same in double precision for n values of one row, whose k(x,x) is `own`. */
    void (*map_exact)(double *cells, size_t n, const karma_i_map *map, double own, const double *other);
    /* Σ_j x[j] y[j] in double precision, in an order that depends on n only */
    double (*dot)(const float *x, const double *y, size_t n);
    /* y[j] += a · x[j] */
    void (*axpy)(double *y, const float *x, double a, size_t n);
    /* y[j] += Σ_r a[r] rows[r][first + j], r in order: the same bits as axpy for one row after the other */
    void (*axpy_rows)(double *y, const float *const *rows, const double *a, size_t n_rows, size_t first, size_t n);
    /* out[k] = x[index[k]] for k < n */
    void (*gather)(float *out, const float *x, const uint32_t *index, size_t n);
    /* The row whose best change makes the function fall most, and the row j that does so together with row i if the
     * derivative of g_i by β_j is -row[j]; the first of equals, n if there is none. */
    size_t (*best_row)(const karma_i_box *box);
    size_t (*best_partner)(const karma_i_box *box, size_t i, const float *row);
} karma_i_path;

/* The paths this machine can run, fastest first; NULL ends the list. At least the portable one is there. */
const karma_i_path *const *karma_i_paths(void);

#endif
