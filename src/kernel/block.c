/* Gram blocks: the matrix product of the zero-filled values, each cell multiplied by the weight of its overlap, a
 * lookup in a table of d + 1 numbers, while it is still in cache. The path computes a tile.
 *
 * Parallel over tiles of a fixed size. Inside a parallel region OpenBLAS works with one thread, and the tiles are the
 * same for any number of threads: so are the results, to the bit. */
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/code_scores.h"
#include "kernel/compose.h"
#include "kernel/kernel.h"

enum { TILE_PADDING = 16 };

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t n_tiles(size_t count, size_t tile) {
    return (count + tile - 1) / tile;
}

static karma_i_view part_of(karma_i_view v, size_t first, size_t most) {
    return (karma_i_view){v.rows, v.first + first, min_size(most, v.count - first)};
}

static void free_workers(karma_i_worker *workers, int threads) {
    for (int t = 0; workers && t < threads; t++) karma_i_worker_clear(&workers[t]);
    karma_i_free(workers);
}

/* One per thread; NULL: out of memory. */
static karma_i_worker *new_workers(const karma_i_kernel *kernel, karma_i_view a, karma_i_view b, int threads) {
    karma_i_worker *workers = karma_i_zalloc((size_t)threads, sizeof *workers);
    int ok = workers != NULL;
    for (int t = 0; ok && t < threads; t++) ok = karma_i_worker_init(&workers[t], kernel, a, b);
    if (ok) return workers;
    free_workers(workers, threads);
    return NULL;
}

karma_status karma_i_kernel_block(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                  int threads) {
    size_t rows = karma_i_tile_rows(kernel, a), columns = karma_i_tile_columns(kernel, b);
    size_t tiles_down = n_tiles(a.count, rows), tiles_across = n_tiles(b.count, columns);
    karma_i_worker *workers = new_workers(kernel, a, b, threads);
    if (!workers) return KARMA_ERR_MEMORY;
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1); /* of this task only: a team of one would let OpenBLAS start its own threads */
#pragma omp for schedule(dynamic)
        for (size_t tile = 0; tile < tiles_down * tiles_across; tile++) {
            size_t i = tile / tiles_across * rows, j = tile % tiles_across * columns;
            karma_i_kernel_tile(out + i * ld + j, ld, kernel, part_of(a, i, rows), part_of(b, j, columns),
                                &workers[omp_get_thread_num()]);
        }
    }
    free_workers(workers, threads);
    return KARMA_OK;
}

/* Copies a finished tile to its place at (i, j) and, transposed, to (j, i). It was computed in a separate
 * buffer: rows of a large matrix are often a power of two apart, and reading one of its columns would use few
 * cache lines.
 */
static void place_tile(float *out, size_t ld, const float *tile, size_t tile_ld, size_t i, size_t n_rows, size_t j,
                       size_t n_columns) {
    for (size_t r = 0; r < n_rows; r++) memcpy(out + (i + r) * ld + j, tile + r * tile_ld, n_columns * sizeof *out);
    for (size_t c = 0; c < n_columns; c++) {
        /* on the diagonal only the part below it: the part above was just written */
        size_t end = min_size(n_rows, j + c > i ? j + c - i : 0);
        float *to = out + (j + c) * ld + i;
        for (size_t r = 0; r < end; r++) to[r] = tile[r * tile_ld + c];
    }
}

karma_status karma_i_kernel_gram(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, int threads) {
    size_t n_rows = karma_i_tile_rows(kernel, a), n_columns = karma_i_tile_columns(kernel, a),
           tile_ld = n_columns + TILE_PADDING;
    size_t tiles_down = n_tiles(a.count, n_rows), tiles_across = n_tiles(a.count, n_columns);
    karma_i_worker *workers = new_workers(kernel, a, a, threads);
    float *scratch = karma_i_alloc_aligned((size_t)threads * n_rows, tile_ld * sizeof *scratch);
    if (!workers || !scratch) {
        free_workers(workers, threads);
        karma_i_free(scratch);
        return KARMA_ERR_MEMORY;
    }
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1);
        float *local = scratch + (size_t)omp_get_thread_num() * n_rows * tile_ld;
#pragma omp for schedule(dynamic)
        for (size_t tile = 0; tile < tiles_down * tiles_across; tile++) {
            size_t i = tile / tiles_across * n_rows, j = tile % tiles_across * n_columns;
            if (j + n_columns <= i) continue; /* wholly below the diagonal */
            karma_i_view rows = part_of(a, i, n_rows), columns = part_of(a, j, n_columns);
            /* a tile on the diagonal starts at its own first row: the part to its left comes from another
             * tile */
            size_t skip = i > j ? i - j : 0;
            columns.first += skip;
            columns.count -= skip;
            karma_i_kernel_tile(local, tile_ld, kernel, rows, columns, &workers[omp_get_thread_num()]);
            place_tile(out, ld, local, tile_ld, i, rows.count, j + skip, columns.count);
        }
    }
    karma_i_free(scratch);
    free_workers(workers, threads);
    return KARMA_OK;
}

/* Coefficients of one output side by side, b_count apart from the next output's. NULL: out of memory. */
static double *by_output(const double *coefficients, size_t b_count, size_t n_outputs) {
    double *out = karma_i_alloc(b_count, n_outputs * sizeof *out);
    for (size_t j = 0; out && j < b_count; j++)
        for (size_t o = 0; o < n_outputs; o++) out[o * b_count + j] = coefficients[j * n_outputs + o];
    return out;
}

/* Adds the contributions of the support rows b to the scores of the query rows a; `tile` is scratch. */
static void add_scores(double *scores, float *tile, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                       const double *coefficients, size_t stride, size_t n_outputs, karma_i_worker *worker) {
    size_t ld = karma_i_tile_columns(kernel, b);
    karma_i_kernel_tile(tile, ld, kernel, a, b, worker);
    for (size_t i = 0; i < a.count; i++)
        for (size_t o = 0; o < n_outputs; o++)
            scores[i * n_outputs + o] += kernel->path->dot(tile + i * ld, coefficients + o * stride, b.count);
}

karma_status karma_i_kernel_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                   const double *coefficients, size_t n_outputs, int threads, karma_error *err) {
    if (karma_i_code_scores_suit(kernel, a, b))
        return karma_i_code_scores(scores, kernel, a, b, coefficients, n_outputs, threads, err);
    size_t rows = karma_i_tile_rows(kernel, a), columns = karma_i_tile_columns(kernel, b);
    karma_i_worker *workers = new_workers(kernel, a, b, threads);
    float *scratch = karma_i_alloc_aligned((size_t)threads * rows, columns * sizeof *scratch);
    double *sorted = by_output(coefficients, b.count, n_outputs);
    karma_status st = workers && scratch && sorted ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        memset(scores, 0, a.count * n_outputs * sizeof *scores);
#pragma omp parallel num_threads(threads)
        {
            omp_set_num_threads(1);
            float *tile = scratch + (size_t)omp_get_thread_num() * rows * columns;
#pragma omp for schedule(dynamic)
            for (size_t i = 0; i < a.count; i += rows)
                for (size_t j = 0; j < b.count; j += columns)
                    add_scores(scores + i * n_outputs, tile, kernel, part_of(a, i, rows), part_of(b, j, columns),
                               sorted + j, b.count, n_outputs, &workers[omp_get_thread_num()]);
        }
    }
    free_workers(workers, threads);
    karma_i_free(scratch);
    karma_i_free(sorted);
    return st;
}
