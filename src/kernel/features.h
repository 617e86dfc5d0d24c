/* The features of rows for a linear machine: p numbers r(x) per row, and a norm for its weights w:
 *
 *     f(x) = w·r(x),   |f|² = wᵀ R w
 *
 * Three kinds. Dense: numbers with k(x, y) = r(x)·r(y), R the identity. Landmarks: r(x) = k(x, Z) for some of the rows
 * Z, R = k(Z, Z); f is then the kernel machine Σ w_j k(z_j, ·), and the best of these is Nyström's approximation.
 * Codes: r(x) has a 1 in place of each of the row's codes, as the leaves of a forest give them.
 *
 * Solvers make passes over all rows. The features of a block of rows are computed when a pass reaches it, and kept only
 * if there is memory for them. */
#ifndef KARMA_I_FEATURES_H
#define KARMA_I_FEATURES_H

#include "base/partition.h"
#include "kernel/kernel.h"

typedef struct karma_i_features karma_i_features;

/* The operations of a kind of features on a block of rows; `worker` belongs to one thread. */
typedef struct karma_i_features_kind {
    /* NULL: out of memory */
    void *(*new_worker)(const karma_i_features *features);
    void (*free_worker)(void *worker);
    /* Makes the rows from `first` on, at most block_rows of them, the block that the next three functions mean. */
    void (*load)(void *worker, const karma_i_features *features, size_t first, size_t count);
    /* out[i * n + k] = vectors_k · r(row i) for n vectors, n_features apart */
    void (*dot)(double *out, const void *worker, const double *vectors, size_t n);
    /* sums_k += Σ_i factors[i * n + k] r(row i) */
    void (*add)(double *sums, const void *worker, const double *factors, size_t n);
    /* out[i * n_features + f] = scales[i] r_f(row i). NULL: there are too many features to work with their products */
    void (*expand)(double *out, const void *worker, const double *scales);
    /* sums_f += Σ_i factors[i] r_f(row i)² */
    void (*add_squares)(double *sums, const void *worker, const double *factors);
    /* Features of the rows that index[0..count) names. `features` are all rows; they and the index must outlive them.
     */
    karma_status (*select)(karma_i_features **out, const karma_i_features *features, const size_t *index, size_t count,
                           karma_error *err);
    void (*free)(karma_i_features *features);
} karma_i_features_kind;

/* The first member of each kind's own struct. */
struct karma_i_features {
    const karma_i_features_kind *kind;
    size_t n_rows, n_features, block_rows;
    const double *norm;        /* R, row-major; NULL: the identity */
    const double *norm_factor; /* L, lower, with R = L Lᵀ */
    karma_i_partition
        split;              /* of the rows; n_rows are here. Of selected rows: of those that they were selected from, */
    const size_t *selected; /* and which these are, ascending; NULL: all */
};

/* Numbers in memory, row-major. The array is owned by the features from then on, even if this fails. */
karma_status karma_i_features_dense(karma_i_features **out, double *values, size_t n_rows, size_t n_features,
                                    karma_error *err);

/* Kernel values against landmarks, which are copies of some rows. Everything is borrowed. */
typedef struct karma_i_landmarks {
    const karma_i_kernel *kernel;
    const karma_i_rows *rows, *landmarks;
    const double *norm, *norm_factor; /* as above, of all landmarks */
    double memory; /* bytes that kernel values may take; those that do not fit are computed again in each pass */
    karma_i_partition split; /* of the rows */
} karma_i_landmarks;
karma_status karma_i_features_landmarks(karma_i_features **out, const karma_i_landmarks *landmarks, karma_error *err);
/* The same rows against the first n_landmarks of the landmarks. Kernel values are shared, so `features` must outlive
 * them and not be used by another thread. norm_factor is that of the smaller norm, with n_landmarks per row. */
karma_status karma_i_features_fewer(karma_i_features **out, const karma_i_features *features, size_t n_landmarks,
                                    const double *norm, const double *norm_factor, karma_error *err);
/* Kernel values computed so far. */
double karma_i_features_evaluations(const karma_i_features *features);

/* codes[i * n_codes + t] < n_features: where row i has its ones, no place twice. The array is borrowed. All ones are
 * multiplied by `value`. */
karma_status karma_i_features_codes(karma_i_features **out, const uint32_t *codes, size_t n_rows, size_t n_codes,
                                    size_t n_features, double value, karma_error *err);

void karma_i_features_free(karma_i_features *features);

/* Given the dot products of a block of rows with n vectors, values[i * n + k], puts a factor in place of each.
 * Called by several threads at once, for different rows. */
typedef void (*karma_i_features_fn)(double *values, void *payload, size_t first, size_t count);

/* One pass over all rows: dot products with n vectors, n_features apart, then `fn`, then sums_k = Σ_i factor_ik r(row
 * i). vectors NULL: `fn` gives factors without looking at values. sums NULL: only `fn` is wanted, and of the rows that
 * are here. The same for any number of threads and of processes, all of which get the sums. */
karma_status karma_i_features_pass(double *sums, const karma_i_features *features, const double *vectors, size_t n,
                                   karma_i_features_fn fn, void *payload, int threads, karma_error *err);

/* products += Σ_i factors[i] r(row i) r(row i)ᵀ, n_features × n_features; the lower triangle and what shares its tiles.
 * factors >= 0, of the rows that are here. Processes share the work, and all get the products. */
karma_status karma_i_features_products(double *products, const karma_i_features *features, const double *factors,
                                       int threads, karma_error *err);
/* squares[f] += Σ_i factors[i] r_f(row i)². For rows that are not split. */
karma_status karma_i_features_squares(double *squares, const karma_i_features *features, const double *factors,
                                      karma_error *err);

#endif
