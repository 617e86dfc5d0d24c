/* Passes over the rows. They are cut into slices of whole blocks, always the same ones: a slice is summed by one thread
 * in the order of its rows, and slices are added in their order, so that the number of threads changes nothing. */
#include "kernel/features.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"

enum {
    SLICES = 32,
    PANEL_ROWS = 1024, /* whose products are added at a time */
    TILE = 256         /* features by features of a product that one thread adds to */
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

void karma_i_features_free(karma_i_features *features) {
    if (features) features->kind->free(features);
}

static void free_workers(void **workers, const karma_i_features *features, int threads) {
    for (int t = 0; workers && t < threads; t++)
        if (workers[t]) features->kind->free_worker(workers[t]);
    karma_i_free(workers);
}

/* One per thread; NULL: out of memory. */
static void **new_workers(const karma_i_features *features, int threads) {
    void **workers = karma_i_zalloc((size_t)threads, sizeof *workers);
    int ok = workers != NULL;
    for (int t = 0; ok && t < threads; t++) ok = (workers[t] = features->kind->new_worker(features)) != NULL;
    if (ok) return workers;
    free_workers(workers, features, threads);
    return NULL;
}

/* --- sums over rows ------------------------------------------------------------------------------------ */

typedef struct features_pass {
    const karma_i_features *features;
    const double *vectors;
    size_t n;
    karma_i_features_fn fn;
    void *payload;
    size_t n_blocks, n_slices;
    double *slice_sums; /* n × n_features of each slice; NULL: not wanted */
} features_pass;

static void do_slice(const features_pass *pass, size_t slice, void *worker, double *values) {
    const karma_i_features *f = pass->features;
    size_t end = (slice + 1) * pass->n_blocks / pass->n_slices;
    for (size_t block = slice * pass->n_blocks / pass->n_slices; block < end; block++) {
        size_t first = block * f->block_rows, count = min_size(f->block_rows, f->n_rows - first);
        f->kind->load(worker, f, first, count);
        if (pass->vectors) f->kind->dot(values, worker, pass->vectors, pass->n);
        pass->fn(values, pass->payload, first, count);
        if (pass->slice_sums) f->kind->add(pass->slice_sums + slice * pass->n * f->n_features, worker, values, pass->n);
    }
}

static void add_slices(double *sums, const features_pass *pass) {
    size_t count = pass->n * pass->features->n_features;
    memset(sums, 0, count * sizeof *sums);
    for (size_t s = 0; s < pass->n_slices; s++)
        for (size_t i = 0; i < count; i++) sums[i] += pass->slice_sums[s * count + i];
}

karma_status karma_i_features_pass(double *sums, const karma_i_features *features, const double *vectors, size_t n,
                                   karma_i_features_fn fn, void *payload, int threads, karma_error *err) {
    features_pass pass = {features, vectors, n, fn, payload, divide_up(features->n_rows, features->block_rows),
                          0,        NULL};
    pass.n_slices = min_size(pass.n_blocks, SLICES);
    threads = (int)min_size((size_t)threads, pass.n_slices ? pass.n_slices : 1);
    void **workers = new_workers(features, threads);
    double *values = karma_i_alloc_aligned((size_t)threads * features->block_rows, n * sizeof *values);
    if (sums) pass.slice_sums = karma_i_zalloc(pass.n_slices * n, features->n_features * sizeof *pass.slice_sums);
    karma_status st = workers && values && (!sums || pass.slice_sums) ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (size_t s = 0; s < pass.n_slices; s++) {
            size_t t = (size_t)omp_get_thread_num();
            do_slice(&pass, s, workers[t], values + t * features->block_rows * n);
        }
        if (sums) add_slices(sums, &pass);
    }
    free_workers(workers, features, threads);
    karma_i_free(values);
    karma_i_free(pass.slice_sums);
    return st;
}

/* --- products of features ------------------------------------------------------------------------------ */

typedef struct panel {
    const karma_i_features *features;
    double *rows; /* PANEL_ROWS of them, each multiplied by the root of its factor */
    size_t first, count;
} panel;

static void fill_panel(panel *p, size_t block, const double *factors, void *worker) {
    const karma_i_features *f = p->features;
    size_t first = p->first + block * f->block_rows, count = min_size(f->block_rows, p->first + p->count - first);
    double scales[PANEL_ROWS];
    for (size_t i = 0; i < count; i++) scales[i] = sqrt(factors[first + i]);
    f->kind->load(worker, f, first, count);
    f->kind->expand(p->rows + block * f->block_rows * f->n_features, worker, scales);
}

/* Tile number `tile` of the lower triangle, counted row by row. */
static void add_tile(double *products, const panel *p, size_t tile) {
    size_t row = 0, n = p->features->n_features;
    for (; (row + 1) * (row + 2) / 2 <= tile; row++) {
    }
    size_t i = row * TILE, j = (tile - row * (row + 1) / 2) * TILE;
    karma_i_product_tn_add(products + i * n + j, n, p->rows + i, n, p->rows + j, n, p->count, min_size(TILE, n - i),
                           min_size(TILE, n - j));
}

karma_status karma_i_features_products(double *products, const karma_i_features *features, const double *factors,
                                       int threads, karma_error *err) {
    size_t n = features->n_features, tiles_down = divide_up(n, TILE), n_tiles = tiles_down * (tiles_down + 1) / 2;
    size_t panel_rows =
        features->block_rows * (features->block_rows < PANEL_ROWS ? PANEL_ROWS / features->block_rows : 1);
    panel p = {features, karma_i_alloc_aligned(min_size(panel_rows, features->n_rows), n * sizeof *p.rows), 0, 0};
    void **workers = new_workers(features, threads);
    karma_status st = p.rows && workers ? KARMA_OK : karma_i_fail_memory(err);
    for (; st == KARMA_OK && p.first < features->n_rows; p.first += p.count) {
        p.count = min_size(panel_rows, features->n_rows - p.first);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (size_t block = 0; block < divide_up(p.count, features->block_rows); block++)
            fill_panel(&p, block, factors, workers[omp_get_thread_num()]);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (size_t tile = 0; tile < n_tiles; tile++) add_tile(products, &p, tile);
    }
    free_workers(workers, features, threads);
    karma_i_free(p.rows);
    return st;
}

karma_status karma_i_features_squares(double *squares, const karma_i_features *features, const double *factors,
                                      karma_error *err) {
    void **workers = new_workers(features, 1);
    if (!workers) return karma_i_fail_memory(err);
    for (size_t first = 0; first < features->n_rows; first += features->block_rows) {
        features->kind->load(workers[0], features, first, min_size(features->block_rows, features->n_rows - first));
        features->kind->add_squares(squares, workers[0], factors + first);
    }
    free_workers(workers, features, 1);
    return KARMA_OK;
}
