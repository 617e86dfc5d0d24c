#include "kernel/compose.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Products and sums are kept within this, so that none of them leaves single precision. */
static const double LARGEST_VALUE = 1e37;

static karma_i_view view_of(karma_i_view v, const karma_i_factor *factor) {
    return (karma_i_view){karma_i_rows_encoding(v.rows, factor->encoding), v.first, v.count};
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t karma_i_tile_rows(const karma_i_kernel *kernel, karma_i_view a) {
    size_t n = SIZE_MAX;
    for (size_t f = 0; f < kernel->n_factors; f++)
        n = min_size(n, view_of(a, &kernel->factors[f]).rows->ops->tile_rows);
    return n;
}
size_t karma_i_tile_columns(const karma_i_kernel *kernel, karma_i_view b) {
    size_t n = SIZE_MAX;
    for (size_t f = 0; f < kernel->n_factors; f++)
        n = min_size(n, view_of(b, &kernel->factors[f]).rows->ops->tile_columns);
    return n;
}

static karma_i_weighting weighting_of(const karma_i_factor *factor, const karma_i_path *path) {
    return (karma_i_weighting){.add = (float)(factor->bias * factor->bias),
                               .weight = factor->weight,
                               .n_weights = factor->largest_overlap + 1,
                               .is_flat = factor->gamma == 1 && factor->log_norm == 0.0,
                               .loops = &path->pairs};
}

static int has_maps(const karma_i_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (kernel->factors[f].map.kind != KARMA_OUTER_IDENTITY) return 1;
    return 0;
}

/* The first factor of the same encoding, which may be this one. */
static size_t first_of_encoding(const karma_i_kernel *kernel, size_t f) {
    for (size_t before = 0; before < f; before++)
        if (kernel->factors[before].encoding == kernel->factors[f].encoding) return before;
    return f;
}

void karma_i_worker_clear(karma_i_worker *w) {
    for (size_t f = 0; f < w->n_factors; f++) {
        int is_shared = 0;
        for (size_t before = 0; before < f; before++) is_shared |= w->scratch[before] == w->scratch[f];
        if (!is_shared) karma_i_free(w->scratch[f]);
    }
    karma_i_free(w->scratch);
    karma_i_free(w->product);
    karma_i_free(w->factor);
    karma_i_free(w->diagonal_a);
    karma_i_free(w->diagonal_b);
    memset(w, 0, sizeof *w);
}

/* Scratch of the representations, zeroed. */
static int init_scratch(karma_i_worker *w, const karma_i_kernel *kernel, karma_i_view a) {
    w->scratch = karma_i_zalloc(kernel->n_factors, sizeof *w->scratch);
    if (!w->scratch) return 0;
    for (; w->n_factors < kernel->n_factors; w->n_factors++) {
        size_t f = w->n_factors, first = first_of_encoding(kernel, f);
        karma_i_view own = view_of(a, &kernel->factors[f]);
        karma_i_weighting weighting = weighting_of(&kernel->factors[f], kernel->path);
        size_t bytes = first == f ? own.rows->ops->tile_scratch(own, &weighting) : 0;
        w->scratch[f] = first == f ? karma_i_alloc_aligned(bytes, 1) : w->scratch[first];
        if (!w->scratch[f]) return 0;
        memset(w->scratch[f], 0, bytes);
    }
    return 1;
}

int karma_i_worker_init(karma_i_worker *w, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b) {
    size_t rows = karma_i_tile_rows(kernel, a), columns = karma_i_tile_columns(kernel, b);
    memset(w, 0, sizeof *w);
    if (!init_scratch(w, kernel, a)) return 0;
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

/* w of a row with itself. A new row may observe more than any training row. */
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

/* One factor; the rows compute w(c) (Σκ + b²), and the outer map follows. */
static void factor_tile(float *out, size_t ld, const karma_i_kernel *kernel, size_t f, karma_i_view a, karma_i_view b,
                        karma_i_worker *w) {
    const karma_i_factor *factor = &kernel->factors[f];
    karma_i_view own = view_of(a, factor), other = view_of(b, factor);
    karma_i_weighting weighting = weighting_of(factor, kernel->path);
    own.rows->ops->tile(out, ld, own, other, &weighting, w->scratch[f]);
    if (factor->map.kind == KARMA_OUTER_IDENTITY) return;
    factor_squares(w->diagonal_a, factor, own);
    factor_squares(w->diagonal_b, factor, other);
    kernel->path->map(out, ld, a.count, b.count, &factor->map, w->diagonal_a, w->diagonal_b);
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
        factor_tile(out, ld, kernel, 0, a, b, w);
        if (weight != 1.0F) add_tile(out, ld, out, ld, weight, a.count, b.count, 1);
        return;
    }
    size_t tile_ld = karma_i_tile_columns(kernel, b);
    for (size_t t = 0; t < kernel->n_terms; t++) {
        size_t first = kernel->terms[t].first_factor;
        factor_tile(w->product, tile_ld, kernel, first, a, b, w);
        for (size_t f = 1; f < kernel->terms[t].n_factors; f++) {
            factor_tile(w->factor, tile_ld, kernel, first + f, a, b, w);
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
