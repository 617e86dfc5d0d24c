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

enum { TILE_ROWS = 128, TILE_COLUMNS = 512, MIRROR = 32 };

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t n_tiles(size_t count, size_t tile) { return (count + tile - 1) / tile; }

static karma_i_view part_of(karma_i_view v, size_t first, size_t most) {
    return (karma_i_view){v.rows, v.first + first, min_size(most, v.count - first)};
}

/* One tile: at most TILE_ROWS x TILE_COLUMNS cells. */
static void fill_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b) {
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
    };
    kernel->path->tile(out, ld, &pairs);
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
            fill_tile(out + i * ld + j, ld, kernel, part_of(a, i, TILE_ROWS), part_of(b, j, TILE_COLUMNS));
        }
    }
}

/* out[j][i] = out[i][j] for the tile at (i, j), in small squares so that both sides stay in cache. */
static void mirror_tile(float *out, size_t ld, size_t i, size_t n_rows, size_t j, size_t n_columns) {
    for (size_t jj = j; jj < j + n_columns; jj += MIRROR)
        for (size_t ii = i; ii < i + n_rows; ii += MIRROR)
            for (size_t c = jj; c < min_size(jj + MIRROR, j + n_columns); c++)
                for (size_t r = ii; r < min_size(ii + MIRROR, i + n_rows); r++)
                    if (c > r) out[c * ld + r] = out[r * ld + c];
}

void karma_i_kernel_gram(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, int threads) {
    size_t tiles_down = n_tiles(a.count, TILE_ROWS), tiles_across = n_tiles(a.count, TILE_COLUMNS);
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1);
#pragma omp for schedule(dynamic)
        for (size_t tile = 0; tile < tiles_down * tiles_across; tile++) {
            size_t i = tile / tiles_across * TILE_ROWS, j = tile % tiles_across * TILE_COLUMNS;
            if (j + TILE_COLUMNS <= i) continue; /* wholly below the diagonal */
            karma_i_view rows = part_of(a, i, TILE_ROWS), columns = part_of(a, j, TILE_COLUMNS);
            /* a tile on the diagonal starts at its own first row: what is left of it comes from another tile */
            size_t skip = i > j ? i - j : 0;
            columns.first += skip;
            columns.count -= skip;
            fill_tile(out + i * ld + j + skip, ld, kernel, rows, columns);
            mirror_tile(out, ld, i, rows.count, j + skip, columns.count);
        }
    }
}

void karma_i_kernel_diagonal(double *out, const karma_i_kernel *kernel, karma_i_view a) {
    for (size_t i = 0; i < a.count; i++) {
        const float *x = karma_i_rows_values(a.rows, a.first + i);
        const uint64_t *mask = karma_i_rows_mask(a.rows, a.first + i);
        double sum = kernel->bias * kernel->bias;
        if (a.rows->rank_stride) sum += (double)karma_i_mask_overlap(mask, a.rows->ranked, a.rows->n_words);
        for (size_t f = 0; f < a.rows->n_features; f++) sum += (double)x[f] * (double)x[f];
        out[i] = sum * (double)kernel->weight[karma_i_mask_overlap(mask, mask, a.rows->n_words)];
    }
}

/* Adds the part of the support rows b to the scores of the query rows a; `tile` is scratch. With several outputs
 * the coefficients of one output stand side by side, `stride` apart from the next. */
static void add_scores(double *scores, float *tile, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                       const double *coefficients, size_t stride, size_t n_outputs) {
    fill_tile(tile, TILE_COLUMNS, kernel, a, b);
    for (size_t i = 0; i < a.count; i++)
        for (size_t o = 0; o < n_outputs; o++)
            scores[i * n_outputs + o] +=
                kernel->path->dot(tile + i * TILE_COLUMNS, coefficients + o * stride, b.count);
}

karma_status karma_i_kernel_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                   const double *coefficients, size_t n_outputs, int threads, karma_error *err) {
    float *scratch = karma_i_alloc_aligned((size_t)threads * TILE_ROWS, TILE_COLUMNS * sizeof *scratch);
    double *by_output = n_outputs > 1 ? karma_i_alloc(b.count, n_outputs * sizeof *by_output) : NULL;
    if (!scratch || (n_outputs > 1 && !by_output)) {
        karma_i_free(scratch);
        karma_i_free(by_output);
        return karma_i_fail_memory(err);
    }
    for (size_t j = 0; by_output && j < b.count; j++)
        for (size_t o = 0; o < n_outputs; o++) by_output[o * b.count + j] = coefficients[j * n_outputs + o];
    const double *side_by_side = by_output ? by_output : coefficients;
    memset(scores, 0, a.count * n_outputs * sizeof *scores);
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1);
        float *tile = scratch + (size_t)omp_get_thread_num() * TILE_ROWS * TILE_COLUMNS;
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < a.count; i += TILE_ROWS)
            for (size_t j = 0; j < b.count; j += TILE_COLUMNS)
                add_scores(scores + i * n_outputs, tile, kernel, part_of(a, i, TILE_ROWS), part_of(b, j, TILE_COLUMNS),
                           side_by_side + j, b.count, n_outputs);
    }
    karma_i_free(scratch);
    karma_i_free(by_output);
    return KARMA_OK;
}
