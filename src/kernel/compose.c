#include "kernel/compose.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"

/* Products and sums are kept within this, so that none of them leaves single precision. */
static const double LARGEST_VALUE = 1e37;

static int all_sparse(const karma_i_rows *rows) {
    for (; rows; rows = rows->next)
        if (!rows->is_sparse) return 0;
    return 1;
}

static int any_sparse(const karma_i_rows *rows) {
    for (; rows; rows = rows->next)
        if (rows->is_sparse) return 1;
    return 0;
}

size_t karma_i_tile_rows(karma_i_view a) {
    return all_sparse(a.rows) ? KARMA_I_SPARSE_ROWS : KARMA_I_TILE_ROWS;
}
size_t karma_i_tile_columns(karma_i_view b) {
    return all_sparse(b.rows) ? KARMA_I_SPARSE_COLUMNS : KARMA_I_TILE_COLUMNS;
}

static int has_maps(const karma_i_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (kernel->factors[f].map.kind != KARMA_OUTER_IDENTITY) return 1;
    return 0;
}

void karma_i_worker_clear(karma_i_worker *w) {
    karma_i_sparse_index_clear(&w->index);
    karma_i_free(w->product);
    karma_i_free(w->factor);
    karma_i_free(w->diagonal_a);
    karma_i_free(w->diagonal_b);
    memset(w, 0, sizeof *w);
}

/* Room for the largest of the sparse encodings. */
static int init_index(karma_i_worker *w, karma_i_view a) {
    size_t n_attributes = 0, most_cells = 0;
    for (const karma_i_rows *rows = a.rows; rows; rows = rows->next) {
        if (!rows->is_sparse) continue;
        size_t cells = karma_i_sparse_most_cells((karma_i_view){rows, a.first, a.count});
        if (cells > most_cells) most_cells = cells;
        if (rows->n_attributes > n_attributes) n_attributes = rows->n_attributes;
    }
    return karma_i_sparse_index_init(&w->index, n_attributes, most_cells);
}

int karma_i_worker_init(karma_i_worker *w, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b) {
    size_t rows = karma_i_tile_rows(a), columns = karma_i_tile_columns(b);
    memset(w, 0, sizeof *w);
    if (any_sparse(a.rows) && !init_index(w, a)) return 0;
    if (kernel->n_factors > 1) {
        w->product = karma_i_alloc_aligned(rows, columns * sizeof *w->product);
        w->factor = karma_i_alloc_aligned(rows, columns * sizeof *w->factor);
        if (!w->product || !w->factor) return 0;
    }
    if (has_maps(kernel)) {
        w->diagonal_a = karma_i_alloc(rows, sizeof *w->diagonal_a);
        w->diagonal_b = karma_i_alloc(columns, sizeof *w->diagonal_b);
        if (!w->diagonal_a || !w->diagonal_b) return 0;
    }
    return 1;
}

/* Kernel values that were given. */
static void matrix_tile(float *out, size_t ld, karma_i_view a, karma_i_view b) {
    for (size_t i = 0; i < a.count; i++) {
        const float *row = a.rows->matrix + a.rows->matrix_row[a.first + i] * a.rows->matrix_stride;
        for (size_t j = 0; j < b.count; j++) out[i * ld + j] = row[b.rows->matrix_column[b.first + j]];
    }
}

/* Consecutive columns of a matrix, the usual case, are read in order. */
static int are_consecutive(const size_t *columns, size_t n) {
    for (size_t j = 1; j < n; j++)
        if (columns[j] != columns[0] + j) return 0;
    return 1;
}

/* w(c) (Σκ + b²) of parts that were given. */
static void parts_tile(float *out, size_t ld, const karma_i_factor *factor, karma_i_view a, karma_i_view b) {
    const size_t *columns = b.rows->matrix_column + b.first;
    const float *weight = factor->weight, add = (float)(factor->bias * factor->bias);
    int in_order = are_consecutive(columns, b.count), weighted = factor->gamma > 1;
    for (size_t i = 0; i < a.count; i++) {
        size_t at = a.rows->matrix_row[a.first + i] * a.rows->matrix_stride;
        const float *sum = a.rows->matrix + at;
        const uint16_t *overlap = a.rows->overlap + at;
        float *to = out + i * ld;
        if (!in_order) {
            for (size_t j = 0; j < b.count; j++) to[j] = (sum[columns[j]] + add) * weight[overlap[columns[j]]];
            continue;
        }
        sum += b.count ? columns[0] : 0;
        overlap += b.count ? columns[0] : 0;
        for (size_t j = 0; j < b.count; j++) to[j] = sum[j] + add;
        if (weighted)
            for (size_t j = 0; j < b.count; j++) to[j] *= weight[overlap[j]];
    }
}

/* w(c) (Σκ + b²) */
static void base_tile(float *out, size_t ld, const karma_i_factor *factor, const karma_i_path *path, karma_i_view a,
                      karma_i_view b, karma_i_worker *w) {
    if (a.rows->is_matrix) {
        if (a.rows->overlap)
            parts_tile(out, ld, factor, a, b);
        else
            matrix_tile(out, ld, a, b);
        return;
    }
    if (a.rows->is_sparse) {
        karma_i_sparse_tile(out, ld, factor, a, b, &w->index);
        return;
    }
    karma_i_pairs pairs = {
        .values_a = karma_i_rows_values(a.rows, a.first),
        .values_b = karma_i_rows_values(b.rows, b.first),
        .n_features = a.rows->n_features,
        .n_terms = a.rows->n_terms,
        .masks_a = karma_i_rows_mask(a.rows, a.first),
        .masks_b = karma_i_rows_mask(b.rows, b.first),
        .n_words = a.rows->n_words,
        .codes_a = karma_i_rows_codes(a.rows, a.first),
        .codes_b = karma_i_rows_codes(b.rows, b.first),
        .n_codes = a.rows->n_codes,
        .ranks_a = karma_i_rows_ranks(a.rows, a.first),
        .ranks_b = karma_i_rows_ranks(b.rows, b.first),
        .rank_stride = a.rows->rank_stride,
        .ranked = a.rows->ranked,
        .rank_base = (float)a.rows->rank_base,
        .rank_step = (float)a.rows->rank_step,
        .n_a = a.count,
        .n_b = b.count,
        .add = (float)(factor->bias * factor->bias),
        .weight = factor->weight,
        .n_weights = factor->largest_overlap + 1,
    };
    path->tile(out, ld, &pairs);
}

/* w of a row with itself. A row that is not of the training rows may observe more than any of them. */
static double own_weight(const karma_i_factor *factor, size_t n_observed) {
    if (n_observed <= factor->largest_overlap) return (double)factor->weight[n_observed];
    double w = karma_i_weight(n_observed + (factor->bias != 0.0), factor->gamma, factor->scale, factor->log_norm);
    return fmin(w, LARGEST_VALUE);
}

double karma_i_factor_square(const karma_i_factor *factor, const karma_i_rows *rows, size_t row) {
    double sum = factor->bias * factor->bias + karma_i_rows_square(rows, row);
    return fmin(sum * own_weight(factor, karma_i_rows_n_observed(rows, row)), LARGEST_VALUE);
}

static void factor_squares(float *out, const karma_i_factor *factor, karma_i_view a) {
    for (size_t i = 0; i < a.count; i++) out[i] = (float)karma_i_factor_square(factor, a.rows, a.first + i);
}

static void factor_tile(float *out, size_t ld, const karma_i_factor *factor, const karma_i_path *path, karma_i_view a,
                        karma_i_view b, karma_i_worker *w) {
    karma_i_view own = {karma_i_rows_encoding(a.rows, factor->encoding), a.first, a.count};
    karma_i_view other = {karma_i_rows_encoding(b.rows, factor->encoding), b.first, b.count};
    base_tile(out, ld, factor, path, own, other, w);
    if (factor->map.kind == KARMA_OUTER_IDENTITY) return;
    factor_squares(w->diagonal_a, factor, own);
    factor_squares(w->diagonal_b, factor, other);
    path->map(out, ld, a.count, b.count, &factor->map, w->diagonal_a, w->diagonal_b);
}

static float cut(float x) {
    const float most = (float)LARGEST_VALUE;
    return x < -most ? -most : x < most ? x : most;
}

static void multiply_tile(float *out, const float *by, size_t ld, size_t n_rows, size_t n_columns) {
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++) out[i * ld + j] = cut(out[i * ld + j] * by[i * ld + j]);
}

/* out = or += weight · tile */
static void add_tile(float *out, size_t ld, const float *tile, size_t tile_ld, float weight, size_t n_rows,
                     size_t n_columns, int is_first) {
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_columns; j++)
            out[i * ld + j] = cut((is_first ? 0.0F : out[i * ld + j]) + weight * tile[i * tile_ld + j]);
}

void karma_i_kernel_tile(float *out, size_t ld, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                         karma_i_worker *w) {
    if (kernel->n_factors == 1) {
        float weight = (float)kernel->terms[0].weight;
        factor_tile(out, ld, &kernel->factors[0], kernel->path, a, b, w);
        if (weight != 1.0F) add_tile(out, ld, out, ld, weight, a.count, b.count, 1);
        return;
    }
    size_t tile_ld = karma_i_tile_columns(b);
    for (size_t t = 0; t < kernel->n_terms; t++) {
        const karma_i_factor *factors = kernel->factors + kernel->terms[t].first_factor;
        factor_tile(w->product, tile_ld, &factors[0], kernel->path, a, b, w);
        for (size_t f = 1; f < kernel->terms[t].n_factors; f++) {
            factor_tile(w->factor, tile_ld, &factors[f], kernel->path, a, b, w);
            multiply_tile(w->product, w->factor, tile_ld, a.count, b.count);
        }
        add_tile(out, ld, w->product, tile_ld, (float)kernel->terms[t].weight, a.count, b.count, t == 0);
    }
}

/* The map of k(x,x) itself: no distance, no angle. */
static double map_square(const karma_i_map *map, double square) {
    double t = square / map->spread, sum = 0.0;
    switch (map->kind) {
    case KARMA_OUTER_COSINE:
        return square > 0.0 ? 1.0 : 0.0;
    case KARMA_OUTER_RBF:
    case KARMA_OUTER_LAPLACE:
        return 1.0;
    case KARMA_OUTER_POLY:
        return fmin(pow(map->offset + t, (double)map->degree), KARMA_I_LARGEST_POWER);
    case KARMA_OUTER_SERIES:
        for (size_t p = map->degree + 1; p > 0; p--) sum = sum * t + map->coefficients[p - 1];
        return fmin(sum, KARMA_I_LARGEST_POWER);
    case KARMA_OUTER_IDENTITY:
    case KARMA_N_OUTERS:
        break;
    }
    return square;
}

void karma_i_kernel_diagonal(double *out, const karma_i_kernel *kernel, karma_i_view a) {
    for (size_t i = 0; i < a.count; i++) {
        out[i] = 0.0;
        for (size_t t = 0; t < kernel->n_terms; t++) {
            double product = kernel->terms[t].weight;
            for (size_t f = 0; f < kernel->terms[t].n_factors; f++) {
                const karma_i_factor *factor = &kernel->factors[kernel->terms[t].first_factor + f];
                const karma_i_rows *rows = karma_i_rows_encoding(a.rows, factor->encoding);
                product = fmin(LARGEST_VALUE,
                               product * map_square(&factor->map, karma_i_factor_square(factor, rows, a.first + i)));
            }
            out[i] = fmin(LARGEST_VALUE, out[i] + product);
        }
    }
}
