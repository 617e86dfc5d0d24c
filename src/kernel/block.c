/* Gram blocks: one matrix product of the zero-filled values, then each cell is multiplied by the weight of its
 * overlap, a lookup in a table of d + 1 numbers, while the tile is still in cache.
 *
 * Parallel over tiles of a fixed size. Inside a parallel region OpenBLAS works with one thread, and the tiles
 * are the same for any number of threads: so are the results, to the bit. */
#include <string.h>

#include <omp.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernel/kernel.h"
#include "linalg/linalg.h"

enum { TILE_ROWS = 64, TILE_COLUMNS = 512 };

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t n_tiles(size_t count, size_t tile) { return (count + tile - 1) / tile; }

/* One tile: at most TILE_ROWS x TILE_COLUMNS cells. */
static void fill_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b) {
    size_t n_words = a.rows->n_words, n_features = a.rows->n_features;
    float bias_square = (float)(kernel->bias * kernel->bias);
    const float *weight = kernel->weight;
    karma_i_gemm_nt(out, ld, karma_i_rows_values(a.rows, a.first), n_features, a.count,
                    karma_i_rows_values(b.rows, b.first), n_features, b.count, n_features);
    for (size_t i = 0; i < a.count; i++) {
        const uint64_t *mask_a = karma_i_rows_mask(a.rows, a.first + i);
        const uint64_t *mask_b = karma_i_rows_mask(b.rows, b.first);
        float *row = out + i * ld;
        if (n_words == 1) {
            for (size_t j = 0; j < b.count; j++)
                row[j] = (row[j] + bias_square) * weight[karma_i_popcount(mask_a[0] & mask_b[j])];
        } else {
            for (size_t j = 0; j < b.count; j++)
                row[j] = (row[j] + bias_square) *
                         weight[karma_i_mask_overlap(mask_a, mask_b + j * n_words, n_words)];
        }
    }
}

void karma_i_kernel_block(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                          int threads) {
    size_t tiles_down = n_tiles(a.count, TILE_ROWS), tiles_across = n_tiles(b.count, TILE_COLUMNS);
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1); /* of this task only: a team of one would let OpenBLAS start its own threads */
#pragma omp for schedule(dynamic)
        for (size_t tile = 0; tile < tiles_down * tiles_across; tile++) {
            size_t i = tile / tiles_across * TILE_ROWS, j = tile % tiles_across * TILE_COLUMNS;
            karma_i_view part_a = {a.rows, a.first + i, min_size(TILE_ROWS, a.count - i)};
            karma_i_view part_b = {b.rows, b.first + j, min_size(TILE_COLUMNS, b.count - j)};
            fill_tile(out + i * ld + j, ld, kernel, part_a, part_b);
        }
    }
}

void karma_i_kernel_diagonal(double *out, const karma_i_kernel *kernel, karma_i_view a) {
    for (size_t i = 0; i < a.count; i++) {
        const float *x = karma_i_rows_values(a.rows, a.first + i);
        const uint64_t *mask = karma_i_rows_mask(a.rows, a.first + i);
        double sum = kernel->bias * kernel->bias;
        for (size_t f = 0; f < a.rows->n_features; f++) sum += (double)x[f] * (double)x[f];
        out[i] = sum * (double)kernel->weight[karma_i_mask_overlap(mask, mask, a.rows->n_words)];
    }
}

/* Adds the part of the support rows b to the scores of the query rows a; `tile` is scratch. */
static void add_scores(double *scores, float *tile, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                       const double *coefficients, size_t n_outputs) {
    fill_tile(tile, TILE_COLUMNS, kernel, a, b);
    for (size_t i = 0; i < a.count; i++) {
        const float *row = tile + i * TILE_COLUMNS;
        double *score = scores + i * n_outputs;
        if (n_outputs == 1) {
            double sum = 0.0;
            for (size_t j = 0; j < b.count; j++) sum += (double)row[j] * coefficients[j];
            *score += sum;
            continue;
        }
        for (size_t j = 0; j < b.count; j++)
            for (size_t o = 0; o < n_outputs; o++) score[o] += (double)row[j] * coefficients[j * n_outputs + o];
    }
}

karma_status karma_i_kernel_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                   const double *coefficients, size_t n_outputs, int threads, karma_error *err) {
    float *scratch = karma_i_alloc_aligned((size_t)threads * TILE_ROWS, TILE_COLUMNS * sizeof *scratch);
    if (!scratch) return karma_i_fail_memory(err);
    memset(scores, 0, a.count * n_outputs * sizeof *scores);
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1);
        float *tile = scratch + (size_t)omp_get_thread_num() * TILE_ROWS * TILE_COLUMNS;
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < a.count; i += TILE_ROWS) {
            karma_i_view part_a = {a.rows, a.first + i, min_size(TILE_ROWS, a.count - i)};
            for (size_t j = 0; j < b.count; j += TILE_COLUMNS) {
                karma_i_view part_b = {b.rows, b.first + j, min_size(TILE_COLUMNS, b.count - j)};
                add_scores(scores + i * n_outputs, tile, kernel, part_a, part_b, coefficients + j * n_outputs,
                           n_outputs);
            }
        }
    }
    karma_i_free(scratch);
    return KARMA_OK;
}
