/* Features that are numbers in memory. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/features.h"
#include "linalg/cholesky.h"

enum { BLOCK_ROWS = 256 };

typedef struct dense_features {
    karma_i_features base;
    double *values;
} dense_features;

typedef struct dense_worker {
    size_t n_features, count;
    const double *rows;
} dense_worker;

static void *new_worker(const karma_i_features *features) {
    dense_worker *w = karma_i_zalloc(1, sizeof *w);
    if (w) w->n_features = features->n_features;
    return w;
}

static void load(void *worker, const karma_i_features *features, size_t first, size_t count) {
    dense_worker *w = worker;
    w->rows = ((const dense_features *)features)->values + first * w->n_features;
    w->count = count;
}

static void dot(double *out, const void *worker, const double *vectors, size_t n) {
    const dense_worker *w = worker;
    karma_i_product_nt(out, w->rows, vectors, w->count, w->n_features, n);
}

static void add(double *sums, const void *worker, const double *factors, size_t n) {
    const dense_worker *w = worker;
    karma_i_product_tn_add(sums, w->n_features, factors, n, w->rows, w->n_features, w->count, n, w->n_features);
}

static void expand(double *out, const void *worker, const double *scales) {
    const dense_worker *w = worker;
    for (size_t i = 0; i < w->count; i++)
        for (size_t f = 0; f < w->n_features; f++)
            out[i * w->n_features + f] = scales[i] * w->rows[i * w->n_features + f];
}

static void add_squares(double *sums, const void *worker, const double *factors) {
    const dense_worker *w = worker;
    for (size_t i = 0; i < w->count; i++)
        for (size_t f = 0; f < w->n_features; f++) {
            double value = w->rows[i * w->n_features + f];
            sums[f] += factors[i] * value * value;
        }
}

static karma_status select_rows(karma_i_features **out, const karma_i_features *features, const size_t *index,
                                size_t count, karma_error *err) {
    size_t n = features->n_features;
    const double *from = ((const dense_features *)features)->values;
    double *values = karma_i_alloc_aligned(count, n * sizeof *values);
    if (!values) return karma_i_fail_memory(err);
    for (size_t i = 0; i < count; i++) memcpy(values + i * n, from + index[i] * n, n * sizeof *values);
    KARMA_TRY(karma_i_features_dense(out, values, count, n, err));
    (*out)->split = features->split;
    (*out)->selected = index;
    return KARMA_OK;
}

static void free_features(karma_i_features *features) {
    karma_i_free(((dense_features *)features)->values);
    karma_i_free(features);
}

static const karma_i_features_kind kind = {new_worker, karma_i_free, load,        dot,          add,
                                           expand,     add_squares,  select_rows, free_features};

karma_status karma_i_features_dense(karma_i_features **out, double *values, size_t n_rows, size_t n_features,
                                    karma_error *err) {
    dense_features *f = karma_i_zalloc(1, sizeof *f);
    if (!f) {
        karma_i_free(values);
        return karma_i_fail_memory(err);
    }
    f->base =
        (karma_i_features){&kind, n_rows, n_features, BLOCK_ROWS, NULL, NULL, karma_i_partition_whole(n_rows), NULL};
    f->values = values;
    *out = &f->base;
    return KARMA_OK;
}
