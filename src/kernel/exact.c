/* Tiles are the same for any number of threads, and each is computed by one of them. */
#include "kernel/exact.h"

#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"

enum { ROWS = KARMA_I_EXACT_ROWS, COLUMNS = KARMA_I_EXACT_COLUMNS };

/* What one thread needs. */
typedef struct exact_worker {
    double *tile, *product, *factor; /* ROWS x COLUMNS */
    uint32_t *overlaps;
    double *squares; /* COLUMNS: k(y, y) of a factor */
    void *scratch;   /* of the representations */
} exact_worker;

struct karma_i_exact {
    const karma_i_kernel *kernel;
    int threads;
    double **weights;      /* of each factor: w(c) for all overlaps c */
    exact_worker *workers; /* one for each thread */
};

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static karma_i_view part_of(karma_i_view v, size_t first, size_t most) {
    return (karma_i_view){v.rows, v.first + first, smaller(most, v.count - first)};
}

static karma_i_view view_of(karma_i_view v, const karma_i_factor *factor) {
    return (karma_i_view){karma_i_rows_encoding(v.rows, factor->encoding), v.first, v.count};
}

void karma_i_exact_free(karma_i_exact *x) {
    if (!x) return;
    for (size_t f = 0; x->weights && f < x->kernel->n_factors; f++) karma_i_free(x->weights[f]);
    for (int t = 0; x->workers && t < x->threads; t++) {
        karma_i_free(x->workers[t].tile);
        karma_i_free(x->workers[t].overlaps);
        karma_i_free(x->workers[t].squares);
        karma_i_free(x->workers[t].scratch);
    }
    karma_i_free(x->weights);
    karma_i_free(x->workers);
    karma_i_free(x);
}

static size_t most_scratch(const karma_i_kernel *kernel, const karma_i_rows *rows) {
    size_t most = 0;
    for (size_t f = 0; f < kernel->n_factors; f++) {
        const karma_i_rows *own = karma_i_rows_encoding(rows, kernel->factors[f].encoding);
        if (!own->ops->exact) continue;
        size_t bytes = own->ops->exact_scratch((karma_i_view){own, 0, ROWS}, (karma_i_view){own, 0, COLUMNS},
                                               &kernel->path->pairs);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int init_worker(exact_worker *w, size_t scratch) {
    w->tile = karma_i_alloc_aligned(3 * ROWS * COLUMNS, sizeof *w->tile);
    w->overlaps = karma_i_alloc_aligned((size_t)ROWS * COLUMNS, sizeof *w->overlaps);
    w->squares = karma_i_alloc_aligned(COLUMNS, sizeof *w->squares);
    w->scratch = karma_i_alloc_aligned(scratch, 1);
    if (!w->tile || !w->overlaps || !w->squares || !w->scratch) return 0;
    w->product = w->tile + (size_t)ROWS * COLUMNS;
    w->factor = w->product + (size_t)ROWS * COLUMNS;
    memset(w->scratch, 0, scratch); /* columns beyond the last row are computed too */
    return 1;
}

/* A row with all attributes is the largest overlap there is. */
static double *make_weights(const karma_i_factor *factor, const karma_i_rows *rows) {
    size_t n = karma_i_rows_encoding(rows, factor->encoding)->n_attributes + 1;
    double *weights = karma_i_alloc(n, sizeof *weights);
    for (size_t c = 0; weights && c < n; c++)
        weights[c] = karma_i_weight(c + (factor->bias != 0.0), factor->gamma, factor->scale, factor->log_norm);
    return weights;
}

karma_status karma_i_exact_new(karma_i_exact **out, const karma_i_kernel *kernel, const karma_i_rows *rows, int threads,
                               karma_error *err) {
    size_t scratch = most_scratch(kernel, rows);
    karma_i_exact *x = karma_i_zalloc(1, sizeof *x);
    if (!x) return karma_i_fail_memory(err);
    x->kernel = kernel;
    x->threads = threads;
    x->weights = karma_i_zalloc(kernel->n_factors, sizeof *x->weights);
    x->workers = karma_i_zalloc((size_t)threads, sizeof *x->workers);
    int ok = x->weights && x->workers;
    for (size_t f = 0; ok && f < kernel->n_factors; f++)
        ok = (x->weights[f] = make_weights(&kernel->factors[f], rows)) != NULL;
    for (int t = 0; ok && t < threads; t++) ok = init_worker(&x->workers[t], scratch);
    if (!ok) {
        karma_i_exact_free(x);
        return karma_i_fail_memory(err);
    }
    *out = x;
    return KARMA_OK;
}

/* --- a tile ----------------------------------------------------------------------------------------------- */

static double factor_square(const karma_i_exact *x, size_t f, const karma_i_rows *own, size_t row) {
    const karma_i_factor *factor = &x->kernel->factors[f];
    if (!own->ops->exact) return karma_i_factor_reference(factor, own, row, own, row);
    double sum = karma_i_rows_square(own, row) + factor->bias * factor->bias;
    return sum * x->weights[f][karma_i_rows_n_observed(own, row)];
}

static void factor_tile(double *out, const karma_i_exact *x, size_t f, karma_i_view a, karma_i_view b,
                        exact_worker *w) {
    const karma_i_factor *factor = &x->kernel->factors[f];
    karma_i_view own = view_of(a, factor), other = view_of(b, factor);
    size_t n = b.count;
    double add = factor->bias * factor->bias;
    const double *weights = x->weights[f];
    if (own.rows->ops->exact) {
        own.rows->ops->exact(out, w->overlaps, own, other, &x->kernel->path->pairs, w->scratch);
        for (size_t k = 0; k < a.count * n; k++) out[k] = weights[w->overlaps[k]] * (out[k] + add);
    } else {
        for (size_t i = 0; i < a.count; i++)
            for (size_t j = 0; j < n; j++)
                out[i * n + j] = karma_i_factor_reference(factor, own.rows, own.first + i, other.rows, other.first + j);
    }
    if (factor->map.kind == KARMA_OUTER_IDENTITY) return;
    for (size_t j = 0; j < n; j++) w->squares[j] = factor_square(x, f, other.rows, other.first + j);
    for (size_t i = 0; i < a.count; i++)
        x->kernel->path->map_exact(out + i * n, n, &factor->map, factor_square(x, f, own.rows, own.first + i),
                                   w->squares);
}

/* At most ROWS x COLUMNS values. */
static void exact_tile(double *out, const karma_i_exact *x, karma_i_view a, karma_i_view b, exact_worker *w) {
    const karma_i_kernel *kernel = x->kernel;
    size_t count = a.count * b.count;
    memset(out, 0, count * sizeof *out);
    for (size_t t = 0; t < kernel->n_terms; t++) {
        size_t first = kernel->terms[t].first_factor;
        factor_tile(w->product, x, first, a, b, w);
        for (size_t f = 1; f < kernel->terms[t].n_factors; f++) {
            factor_tile(w->factor, x, first + f, a, b, w);
            for (size_t k = 0; k < count; k++) w->product[k] *= w->factor[k];
        }
        for (size_t k = 0; k < count; k++) out[k] += kernel->terms[t].weight * w->product[k];
    }
}

void karma_i_exact_block(double *out, karma_i_exact *x, karma_i_view a, karma_i_view b) {
    size_t across = (b.count + COLUMNS - 1) / COLUMNS, n_tiles = (a.count + ROWS - 1) / ROWS * across;
#pragma omp parallel for schedule(dynamic) num_threads(n_tiles < 2 ? 1 : x->threads)
    for (size_t t = 0; t < n_tiles; t++) {
        exact_worker *w = &x->workers[omp_get_thread_num()];
        size_t i = t / across * ROWS, j = t % across * COLUMNS;
        karma_i_view rows = part_of(a, i, ROWS), columns = part_of(b, j, COLUMNS);
        exact_tile(w->tile, x, rows, columns, w);
        for (size_t r = 0; r < rows.count; r++)
            memcpy(out + (i + r) * b.count + j, w->tile + r * columns.count, columns.count * sizeof *out);
    }
}

void karma_i_exact_diagonal(double *out, const karma_i_exact *x, karma_i_view a) {
    for (size_t i = 0; i < a.count; i++) {
        out[i] = 0.0;
        for (size_t t = 0; t < x->kernel->n_terms; t++) {
            double product = x->kernel->terms[t].weight;
            for (size_t k = 0; k < x->kernel->terms[t].n_factors; k++) {
                size_t f = x->kernel->terms[t].first_factor + k;
                const karma_i_factor *factor = &x->kernel->factors[f];
                double square = factor_square(x, f, karma_i_rows_encoding(a.rows, factor->encoding), a.first + i);
                product *= karma_i_map_value(&factor->map, square, square, square);
            }
            out[i] += product;
        }
    }
}

/* --- scores ----------------------------------------------------------------------------------------------- */

/* Those of one tile of rows a; b and the coefficients belong together. */
static void score_rows(double *scores, const karma_i_exact *x, karma_i_view a, karma_i_view b,
                       const double *coefficients, exact_worker *w) {
    double sums[ROWS];
    memset(scores, 0, a.count * sizeof *scores);
    for (size_t j = 0; j < b.count; j += COLUMNS) {
        karma_i_view columns = part_of(b, j, COLUMNS);
        exact_tile(w->tile, x, a, columns, w);
        karma_i_product_nt(sums, w->tile, coefficients + j, a.count, columns.count, 1);
        for (size_t i = 0; i < a.count; i++) scores[i] += sums[i];
    }
}

static karma_status score_all(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                              const double *coefficients, int threads, karma_error *err) {
    karma_i_exact *x = NULL;
    KARMA_TRY(karma_i_exact_new(&x, kernel, a.rows, threads, err));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t i = 0; i < a.count; i += ROWS)
        score_rows(scores + i, x, part_of(a, i, ROWS), b, coefficients, &x->workers[omp_get_thread_num()]);
    karma_i_exact_free(x);
    return KARMA_OK;
}

karma_status karma_i_exact_scores(double *scores, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                  const size_t *index, size_t count, const double *coefficients, int threads,
                                  karma_error *err) {
    size_t n_support = 0;
    karma_i_rows *a = NULL, *b = NULL;
    size_t *support = karma_i_alloc(rows->n_rows, sizeof *support);
    double *used = karma_i_alloc(rows->n_rows, sizeof *used);
    karma_status st = support && used ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < rows->n_rows; j++)
        if (coefficients[j] != 0.0) {
            support[n_support] = j;
            used[n_support++] = coefficients[j];
        }
    if (st == KARMA_OK) st = karma_i_rows_new_like(&a, rows, count, err);
    if (st == KARMA_OK) st = karma_i_rows_new_like(&b, rows, n_support, err);
    if (st == KARMA_OK) st = karma_i_rows_gather(a, rows, index, count, err);
    if (st == KARMA_OK) st = karma_i_rows_gather(b, rows, support, n_support, err);
    if (st == KARMA_OK) st = score_all(scores, kernel, karma_i_rows_all(a), karma_i_rows_all(b), used, threads, err);
    karma_i_rows_free(a);
    karma_i_rows_free(b);
    karma_i_free(support);
    karma_i_free(used);
    return st;
}
