/* Gram blocks: the matrix product of the zero-filled values, each cell multiplied by the weight of its overlap, a
 * lookup in a table of d + 1 numbers, while it is still in cache. What is done with a tile is the path's business.
 *
 * Parallel over tiles of a fixed size. Inside a parallel region OpenBLAS works with one thread, and the tiles are the
 * same for any number of threads: so are the results, to the bit. */
#include <string.h>

#include <omp.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"
#include "kernel/sparse.h"

/* Sparse tiles are wide: a row of b costs a step for each of its cells however few rows of a there are. */
enum { TILE_ROWS = 128, TILE_COLUMNS = 512, SPARSE_COLUMNS = 4096, TILE_PADDING = 16 };

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t n_tiles(size_t count, size_t tile) {
    return (count + tile - 1) / tile;
}

static karma_i_view part_of(karma_i_view v, size_t first, size_t most) {
    return (karma_i_view){v.rows, v.first + first, min_size(most, v.count - first)};
}

static size_t tile_rows(karma_i_view a) {
    return a.rows->is_sparse ? KARMA_I_SPARSE_ROWS : TILE_ROWS;
}
static size_t tile_columns(karma_i_view b) {
    return b.rows->is_sparse ? SPARSE_COLUMNS : TILE_COLUMNS;
}

/* What each thread needs beside the rows: an index, if they are sparse. */
typedef struct workers {
    int threads;
    karma_i_sparse_index *indices; /* NULL: dense */
} workers;

static void free_workers(workers *w) {
    for (int t = 0; w->indices && t < w->threads; t++) karma_i_sparse_index_clear(&w->indices[t]);
    karma_i_free(w->indices);
}

static karma_status new_workers(workers *w, karma_i_view a, int threads) {
    *w = (workers){threads, NULL};
    if (!a.rows->is_sparse) return KARMA_OK;
    size_t most_cells = karma_i_sparse_most_cells(a);
    w->indices = karma_i_zalloc((size_t)threads, sizeof *w->indices);
    int ok = w->indices != NULL;
    for (int t = 0; ok && t < threads; t++)
        ok = karma_i_sparse_index_init(&w->indices[t], a.rows->n_attributes, most_cells);
    if (ok) return KARMA_OK;
    free_workers(w);
    return KARMA_ERR_MEMORY;
}

/* One tile, at most tile_rows x tile_columns cells. */
static void fill_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                      const workers *w) {
    if (a.rows->is_sparse) {
        karma_i_sparse_tile(out, ld, kernel, a, b, &w->indices[omp_get_thread_num()]);
        return;
    }
    karma_i_pairs pairs = {
        .values_a = karma_i_rows_values(a.rows, a.first),
        .values_b = karma_i_rows_values(b.rows, b.first),
        .n_features = a.rows->n_features,
        .masks_a = karma_i_rows_mask(a.rows, a.first),
        .masks_b = karma_i_rows_mask(b.rows, b.first),
        .n_words = a.rows->n_words,
        .ranks_a = karma_i_rows_ranks(a.rows, a.first),
        .ranks_b = karma_i_rows_ranks(b.rows, b.first),
        .rank_stride = a.rows->rank_stride,
        .ranked = a.rows->ranked,
        .rank_step = (float)KARMA_I_RANK_STEP,
        .n_a = a.count,
        .n_b = b.count,
        .add = (float)(kernel->bias * kernel->bias),
        .weight = kernel->weight,
        .n_weights = kernel->largest_overlap + 1,
    };
    kernel->path->tile(out, ld, &pairs);
}

karma_status karma_i_kernel_block(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                  int threads) {
    size_t rows = tile_rows(a), columns = tile_columns(b);
    size_t tiles_down = n_tiles(a.count, rows), tiles_across = n_tiles(b.count, columns);
    workers w;
    KARMA_TRY(new_workers(&w, a, threads));
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1); /* of this task only: a team of one would let OpenBLAS start its own threads */
#pragma omp for schedule(dynamic)
        for (size_t tile = 0; tile < tiles_down * tiles_across; tile++) {
            size_t i = tile / tiles_across * rows, j = tile % tiles_across * columns;
            fill_tile(out + i * ld + j, ld, kernel, part_of(a, i, rows), part_of(b, j, columns), &w);
        }
    }
    free_workers(&w);
    return KARMA_OK;
}

/* A finished tile goes to its place at (i, j) and, turned over, to (j, i). It was computed in memory of its own: rows
 * of a large matrix are often a power of two apart, and reading a column of it would use few of the cache's lines. */
static void place_tile(float *out, size_t ld, const float *tile, size_t tile_ld, size_t i, size_t n_rows, size_t j,
                       size_t n_columns) {
    for (size_t r = 0; r < n_rows; r++) memcpy(out + (i + r) * ld + j, tile + r * tile_ld, n_columns * sizeof *out);
    for (size_t c = 0; c < n_columns; c++) {
        /* on the diagonal only what is below it: what is above was just written */
        size_t end = min_size(n_rows, j + c > i ? j + c - i : 0);
        float *to = out + (j + c) * ld + i;
        for (size_t r = 0; r < end; r++) to[r] = tile[r * tile_ld + c];
    }
}

karma_status karma_i_kernel_gram(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, int threads) {
    size_t n_rows = tile_rows(a), n_columns = tile_columns(a), tile_ld = n_columns + TILE_PADDING;
    size_t tiles_down = n_tiles(a.count, n_rows), tiles_across = n_tiles(a.count, n_columns);
    workers w;
    KARMA_TRY(new_workers(&w, a, threads));
    float *scratch = karma_i_alloc_aligned((size_t)threads * n_rows, tile_ld * sizeof *scratch);
    if (!scratch) {
        free_workers(&w);
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
            /* a tile on the diagonal starts at its own first row: what is left of it comes from another tile */
            size_t skip = i > j ? i - j : 0;
            columns.first += skip;
            columns.count -= skip;
            fill_tile(local, tile_ld, kernel, rows, columns, &w);
            place_tile(out, ld, local, tile_ld, i, rows.count, j + skip, columns.count);
        }
    }
    karma_i_free(scratch);
    free_workers(&w);
    return KARMA_OK;
}

void karma_i_kernel_diagonal(double *out, const karma_i_kernel *kernel, karma_i_view a) {
    for (size_t i = 0; i < a.count; i++) {
        size_t row = a.first + i;
        double sum = kernel->bias * kernel->bias + karma_i_rows_square(a.rows, row);
        if (a.rows->rank_stride)
            sum += (double)karma_i_mask_overlap(karma_i_rows_mask(a.rows, row), a.rows->ranked, a.rows->n_words);
        out[i] = sum * (double)kernel->weight[karma_i_rows_n_observed(a.rows, row)];
    }
}

/* Coefficients of one output side by side, b_count apart from the next output's. NULL: out of memory. */
static double *by_output(const double *coefficients, size_t b_count, size_t n_outputs) {
    double *out = karma_i_alloc(b_count, n_outputs * sizeof *out);
    for (size_t j = 0; out && j < b_count; j++)
        for (size_t o = 0; o < n_outputs; o++) out[o * b_count + j] = coefficients[j * n_outputs + o];
    return out;
}

/* Adds what the support rows b say to the scores of the query rows a; `tile` is scratch. */
static void add_scores(double *scores, float *tile, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                       const double *coefficients, size_t stride, size_t n_outputs, const workers *w) {
    size_t ld = tile_columns(b);
    fill_tile(tile, ld, kernel, a, b, w);
    for (size_t i = 0; i < a.count; i++)
        for (size_t o = 0; o < n_outputs; o++)
            scores[i * n_outputs + o] += kernel->path->dot(tile + i * ld, coefficients + o * stride, b.count);
}

karma_status karma_i_kernel_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                   const double *coefficients, size_t n_outputs, int threads, karma_error *err) {
    size_t rows = tile_rows(a), columns = tile_columns(b);
    workers w;
    if (new_workers(&w, a, threads) != KARMA_OK) return karma_i_fail_memory(err);
    float *scratch = karma_i_alloc_aligned((size_t)threads * rows, columns * sizeof *scratch);
    double *sorted = by_output(coefficients, b.count, n_outputs);
    karma_status st = scratch && sorted ? KARMA_OK : karma_i_fail_memory(err);
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
                               sorted + j, b.count, n_outputs, &w);
        }
    }
    free_workers(&w);
    karma_i_free(scratch);
    karma_i_free(sorted);
    return st;
}
