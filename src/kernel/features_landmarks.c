/* Features that are kernel values against landmarks. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/compose.h"
#include "kernel/features.h"

enum { MOST_BLOCK_ROWS = 256 };

/* Stored kernel values of the first rows, as many as fit in memory. A block is computed when it is first
 * needed. */
typedef struct value_store {
    float *values;            /* n_rows × n_columns */
    unsigned char *is_filled; /* by block */
    size_t n_rows;            /* a multiple of the block, or all */
    double evaluations;       /* of the store and beside it */
} value_store;

typedef struct landmark_features {
    karma_i_features base;
    karma_i_landmarks source;
    size_t n_columns;   /* all landmarks; features are the first of them */
    value_store *store; /* owned unless `is_part` */
    int is_part;        /* of other features */
    /* of selected rows: where they are in the store, and copies of them unless all are stored */
    size_t *index;
    karma_i_rows *copies;
} landmark_features;

typedef struct landmark_worker {
    const landmark_features *features;
    karma_i_worker kernel;
    float *tile; /* of a block that is not stored */
    const float *rows[MOST_BLOCK_ROWS];
    size_t count;
} landmark_worker;

static void free_worker(void *worker) {
    landmark_worker *w = worker;
    karma_i_worker_clear(&w->kernel);
    karma_i_free(w->tile);
    karma_i_free(w);
}

static int is_whole(const value_store *store, size_t n_rows, size_t block_rows) {
    if (store->n_rows < n_rows) return 0;
    for (size_t first = 0; first < n_rows; first += block_rows)
        if (!store->is_filled[first / block_rows]) return 0;
    return 1;
}

static void *new_worker(const karma_i_features *features) {
    const landmark_features *f = (const landmark_features *)features;
    landmark_worker *w = karma_i_zalloc(1, sizeof *w);
    if (!w) return NULL;
    w->features = f;
    int ok = karma_i_worker_init(&w->kernel, f->source.kernel, karma_i_rows_all(f->source.rows),
                                 karma_i_rows_all(f->source.landmarks));
    if (ok && (f->index ? f->copies != NULL : f->store->n_rows < features->n_rows))
        ok = (w->tile = karma_i_alloc_aligned(features->block_rows, f->n_columns * sizeof *w->tile)) != NULL;
    if (ok) return w;
    free_worker(w);
    return NULL;
}

static void compute(float *out, landmark_worker *w, size_t first, size_t count) {
    const landmark_features *f = w->features;
    karma_i_view rows = {f->source.rows, first, count}, columns = karma_i_rows_all(f->source.landmarks);
    size_t n = f->n_columns, step = karma_i_tile_columns(f->source.kernel, columns);
    for (size_t j = 0; j < n; j += step) {
        karma_i_view part = {columns.rows, j, n - j < step ? n - j : step};
        karma_i_kernel_tile(out + j, n, f->source.kernel, rows, part, &w->kernel);
    }
    double computed = (double)count * (double)n;
#pragma omp atomic
    f->store->evaluations += computed;
}

static void point_to(landmark_worker *w, const float *rows) {
    for (size_t i = 0; i < w->count; i++) w->rows[i] = rows + i * w->features->n_columns;
}

/* Selected rows: from the store if all are there. */
static void load_selected(landmark_worker *w, size_t first) {
    const landmark_features *f = w->features;
    int all = 1;
    for (size_t i = 0; all && i < w->count; i++) {
        size_t row = f->index[first + i];
        all = row < f->store->n_rows && f->store->is_filled[row / f->base.block_rows];
        if (all) w->rows[i] = f->store->values + row * f->n_columns;
    }
    if (all) return;
    compute(w->tile, w, first, w->count);
    point_to(w, w->tile);
}

/* A block is asked for by one thread at a time: whoever computes it may store it. */
static void load(void *worker, const karma_i_features *features, size_t first, size_t count) {
    landmark_worker *w = worker;
    value_store *store = w->features->store;
    size_t block = first / features->block_rows;
    w->count = count;
    if (w->features->index) {
        load_selected(w, first);
    } else if (first >= store->n_rows) {
        compute(w->tile, w, first, count);
        point_to(w, w->tile);
    } else {
        float *rows = store->values + first * w->features->n_columns;
        if (!store->is_filled[block]) compute(rows, w, first, count);
        store->is_filled[block] = 1;
        point_to(w, rows);
    }
}

static void dot(double *out, const void *worker, const double *vectors, size_t n) {
    const landmark_worker *w = worker;
    const karma_i_path *path = w->features->source.kernel->path;
    size_t n_features = w->features->base.n_features;
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < n; k++) out[i * n + k] = path->dot(w->rows[i], vectors + k * n_features, n_features);
}

static void add(double *sums, const void *worker, const double *factors, size_t n) {
    const landmark_worker *w = worker;
    const karma_i_path *path = w->features->source.kernel->path;
    size_t n_features = w->features->base.n_features;
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < n; k++)
            if (factors[i * n + k] != 0.0)
                path->axpy(sums + k * n_features, w->rows[i], factors[i * n + k], n_features);
}

static void expand(double *out, const void *worker, const double *scales) {
    const landmark_worker *w = worker;
    size_t n_features = w->features->base.n_features;
    for (size_t i = 0; i < w->count; i++)
        for (size_t f = 0; f < n_features; f++) out[i * n_features + f] = scales[i] * (double)w->rows[i][f];
}

static void add_squares(double *sums, const void *worker, const double *factors) {
    const landmark_worker *w = worker;
    for (size_t i = 0; i < w->count; i++)
        for (size_t f = 0; f < w->features->base.n_features; f++) {
            double value = (double)w->rows[i][f];
            sums[f] += factors[i] * value * value;
        }
}

static void free_features(karma_i_features *features) {
    landmark_features *f = (landmark_features *)features;
    if (f->store && !f->is_part) {
        karma_i_free(f->store->values);
        karma_i_free(f->store->is_filled);
        karma_i_free(f->store);
    }
    karma_i_free(f->index);
    karma_i_rows_free(f->copies);
    karma_i_free(f);
}

static karma_status copy_rows(landmark_features *to, const karma_i_rows *rows, karma_error *err) {
    KARMA_TRY(karma_i_rows_new_like(&to->copies, rows, to->base.n_rows, err));
    KARMA_TRY(karma_i_rows_gather(to->copies, rows, to->index, to->base.n_rows, err));
    to->source.rows = to->copies;
    return KARMA_OK;
}

/* The selected rows share the store. No rows are selected from them again. */
static karma_status select_rows(karma_i_features **out, const karma_i_features *features, const size_t *index,
                                size_t count, karma_error *err) {
    const landmark_features *from = (const landmark_features *)features;
    landmark_features *f = karma_i_alloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    *f = *from;
    f->base.n_rows = count;
    f->is_part = 1;
    f->copies = NULL;
    f->index = karma_i_alloc(count, sizeof *f->index);
    karma_status st = f->index ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) memcpy(f->index, index, count * sizeof *index);
    f->base.selected = f->index;
    if (st == KARMA_OK && !is_whole(from->store, features->n_rows, features->block_rows))
        st = copy_rows(f, from->source.rows, err);
    if (st == KARMA_OK)
        *out = &f->base;
    else
        free_features(&f->base);
    return st;
}

static const karma_i_features_kind kind = {new_worker, free_worker, load,        dot,          add,
                                           expand,     add_squares, select_rows, free_features};

static value_store *new_store(const landmark_features *f) {
    size_t block = f->base.block_rows, n = f->base.n_rows;
    double rows = f->source.memory / ((double)f->n_columns * sizeof(float));
    value_store *store = karma_i_zalloc(1, sizeof *store);
    if (!store) return NULL;
    store->n_rows = rows >= (double)n ? n : (size_t)rows / block * block;
    store->is_filled = karma_i_zalloc(n / block + 1, 1);
    store->values = karma_i_alloc_large(store->n_rows, f->n_columns * sizeof *store->values);
    if (store->is_filled && store->values) return store;
    karma_i_free(store->is_filled);
    karma_i_free(store->values);
    karma_i_free(store);
    return NULL;
}

karma_status karma_i_features_landmarks(karma_i_features **out, const karma_i_landmarks *landmarks, karma_error *err) {
    landmark_features *f = karma_i_zalloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    size_t n = landmarks->landmarks->n_rows,
           block = karma_i_tile_rows(landmarks->kernel, karma_i_rows_all(landmarks->rows));
    f->base = (karma_i_features){&kind,
                                 landmarks->rows->n_rows,
                                 n,
                                 block < MOST_BLOCK_ROWS ? block : MOST_BLOCK_ROWS,
                                 landmarks->norm,
                                 landmarks->norm_factor,
                                 landmarks->split,
                                 NULL};
    f->source = *landmarks;
    f->n_columns = n;
    if (!(f->store = new_store(f))) {
        free_features(&f->base);
        return karma_i_fail_memory(err);
    }
    *out = &f->base;
    return KARMA_OK;
}

karma_status karma_i_features_fewer(karma_i_features **out, const karma_i_features *features, size_t n_landmarks,
                                    const double *norm, const double *norm_factor, karma_error *err) {
    landmark_features *f = karma_i_alloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    *f = *(const landmark_features *)features;
    f->base.n_features = n_landmarks;
    f->base.norm = norm;
    f->base.norm_factor = norm_factor;
    f->is_part = 1;
    *out = &f->base;
    return KARMA_OK;
}

double karma_i_features_evaluations(const karma_i_features *features) {
    return features->kind == &kind ? ((const landmark_features *)features)->store->evaluations : 0.0;
}
