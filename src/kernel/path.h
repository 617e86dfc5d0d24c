/* The inner loops, once for each kind of processor. A path is a record of functions; all paths compute the same
 * things up to rounding, and dispatch takes the fastest one that the machine can run. */
#ifndef KARMA_I_PATH_H
#define KARMA_I_PATH_H

#include <stddef.h>
#include <stdint.h>

/* Small tables of weights are kept in registers, which are loaded whole. */
enum { KARMA_I_LEAST_WEIGHTS = 64 };

/* Two sets of rows and what the kernel does with a pair of them:
 * (Σ values + |o ∩ o' ∩ ranked| - rank_step · Σ |rank - rank'| + add) · weight[|o ∩ o'|],
 * the second sum over attributes where both ranks are not 0. */
typedef struct karma_i_pairs {
    const float *values_a, *values_b; /* row-major, n_features a row */
    size_t n_features;
    const uint64_t *masks_a, *masks_b; /* row-major, n_words a row */
    size_t n_words;
    const uint8_t *ranks_a, *ranks_b; /* row-major, rank_stride a row; a multiple of 8, and 0: no ranks */
    size_t rank_stride;
    const uint64_t *ranked; /* n_words */
    float rank_step;
    size_t n_a, n_b;
    float add;
    const float *weight; /* n_weights, and at least KARMA_I_LEAST_WEIGHTS can be read */
    size_t n_weights;
} karma_i_pairs;

typedef struct karma_i_path {
    const char *name;
    /* out[i * ld + j] for all i < n_a, j < n_b */
    void (*tile)(float *out, size_t ld, const karma_i_pairs *pairs);
    /* Σ_j x[j] y[j] in double precision, in an order that depends on n only */
    double (*dot)(const float *x, const double *y, size_t n);
    /* y[j] += a · x[j] */
    void (*axpy)(double *y, const float *x, double a, size_t n);
} karma_i_path;

/* The paths this machine can run, fastest first; NULL ends the list. At least the portable one is there. */
const karma_i_path *const *karma_i_paths(void);

#endif
