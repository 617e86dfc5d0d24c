/* Features that are 0 except for one place per code of a row. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/features.h"

enum { BLOCK_ROWS = 256 };

typedef struct code_features {
    karma_i_features base;
    const uint32_t *codes;
    uint32_t *own; /* those of selected rows */
    size_t n_codes;
    double value;
} code_features;

typedef struct code_worker {
    const code_features *features;
    const uint32_t *codes;
    size_t count;
} code_worker;

static void *new_worker(const karma_i_features *features) {
    code_worker *w = karma_i_zalloc(1, sizeof *w);
    if (w) w->features = (const code_features *)features;
    return w;
}

static void load(void *worker, const karma_i_features *features, size_t first, size_t count) {
    (void)features;
    code_worker *w = worker;
    w->codes = w->features->codes + first * w->features->n_codes;
    w->count = count;
}

static void dot(double *out, const void *worker, const double *vectors, size_t n) {
    const code_worker *w = worker;
    size_t n_codes = w->features->n_codes;
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < n; k++) {
            const double *vector = vectors + k * w->features->base.n_features;
            double sum = 0.0;
            for (size_t c = 0; c < n_codes; c++) sum += vector[w->codes[i * n_codes + c]];
            out[i * n + k] = w->features->value * sum;
        }
}

static void add(double *sums, const void *worker, const double *factors, size_t n) {
    const code_worker *w = worker;
    size_t n_codes = w->features->n_codes;
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < n; k++) {
            double *sum = sums + k * w->features->base.n_features, factor = w->features->value * factors[i * n + k];
            if (factor == 0.0) continue;
            for (size_t c = 0; c < n_codes; c++) sum[w->codes[i * n_codes + c]] += factor;
        }
}

static void add_squares(double *sums, const void *worker, const double *factors) {
    const code_worker *w = worker;
    size_t n_codes = w->features->n_codes;
    double square = w->features->value * w->features->value;
    for (size_t i = 0; i < w->count; i++)
        for (size_t c = 0; c < n_codes; c++) sums[w->codes[i * n_codes + c]] += factors[i] * square;
}

static karma_status select_rows(karma_i_features **out, const karma_i_features *features, const size_t *index,
                                size_t count, karma_error *err) {
    const code_features *from = (const code_features *)features;
    size_t n_codes = from->n_codes;
    uint32_t *codes = karma_i_alloc(count, n_codes * sizeof *codes);
    if (!codes) return karma_i_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        memcpy(codes + i * n_codes, from->codes + index[i] * n_codes, n_codes * sizeof *codes);
    karma_status st = karma_i_features_codes(out, codes, count, n_codes, features->n_features, from->value, err);
    if (st == KARMA_OK) {
        ((code_features *)*out)->own = codes;
        (*out)->split = features->split;
        (*out)->selected = index;
    } else
        karma_i_free(codes);
    return st;
}

static void free_features(karma_i_features *features) {
    karma_i_free(((code_features *)features)->own);
    karma_i_free(features);
}

static const karma_i_features_kind kind = {new_worker, karma_i_free, load,        dot,          add,
                                           NULL,       add_squares,  select_rows, free_features};

karma_status karma_i_features_codes(karma_i_features **out, const uint32_t *codes, size_t n_rows, size_t n_codes,
                                    size_t n_features, double value, karma_error *err) {
    code_features *f = karma_i_zalloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    f->base =
        (karma_i_features){&kind, n_rows, n_features, BLOCK_ROWS, NULL, NULL, karma_i_partition_whole(n_rows), NULL};
    f->codes = codes;
    f->n_codes = n_codes;
    f->value = value;
    *out = &f->base;
    return KARMA_OK;
}
