/* Cholesky's factorisation with pivots. The first landmarks come from a sample of the rows, each time the row with the
 * largest residual k(x, x) - |φ(x)|². Then all rows are visited in blocks, and a row whose residual is more than a
 * rounding error becomes one more landmark. Rows visited before are orthogonal to its direction, so their new
 * feature is 0, and one pass is enough. Kernel values are computed by the formula in double precision. */
#include "kernel/features_exact.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"

enum { BLOCK = 256, SAMPLE = 1024 };

/* A row whose residual is below this share of the largest k(x, x) is in the span of the landmarks. */
static const double SPANNED = 1e-10;

/* --- how many dimensions a kernel can have ------------------------------------------------------------------ */

/* The values that occur in the observed cells of one encoding. */
typedef struct occurrence {
    size_t n_values;     /* different ranks and codes of all attributes */
    size_t n_incomplete; /* attributes that are missing somewhere */
} occurrence;

enum { CODES = 65536, MOST_ATTRIBUTES = 2000 };

/* False: not enough memory. */
static int look_at_cells(occurrence *out, const karma_i_rows *rows) {
    size_t d = rows->n_attributes;
    size_t *observed = karma_i_zalloc(d, sizeof *observed);
    uint64_t *seen = karma_i_zalloc(d, CODES / 8);
    *out = (occurrence){0, 0};
    for (size_t i = 0; seen && observed && i < rows->n_rows; i++) {
        karma_i_cell cell;
        for (size_t j = 0; karma_i_rows_next_cell(&cell, rows, i, j); j = cell.attribute + 1) {
            uint64_t *own = seen + cell.attribute * (CODES / 64);
            size_t value = cell.rank ? cell.rank : cell.code;
            observed[cell.attribute]++;
            if (value == 0 || karma_i_mask_get(own, value)) continue;
            karma_i_mask_set(own, value);
            out->n_values++;
        }
    }
    for (size_t j = 0; observed && j < d; j++) out->n_incomplete += observed[j] < rows->n_rows ? 1 : 0;
    int ok = seen && observed;
    karma_i_free(seen);
    karma_i_free(observed);
    return ok;
}

/* The dimension of sums of products of up to `degree` functions of r dimensions. */
static double power_rank(double r, size_t degree) {
    double rank = 1.0;
    for (size_t l = 1; l <= degree; l++) rank *= (r + (double)l) / (double)l;
    return rank;
}

/* Σκ has a dimension for each feature, rank and code: additive terms of an attribute are functions of these. |o ∩ o'|
 * has one for each attribute that is missing somewhere, and one for all that never are. */
static double factor_rank(const karma_i_factor *factor, const karma_i_rows *rows) {
    occurrence o;
    karma_outer map = factor->map.kind;
    int is_power = map == KARMA_OUTER_POLY || map == KARMA_OUTER_SERIES;
    if (!is_power && map != KARMA_OUTER_IDENTITY && map != KARMA_OUTER_COSINE) return INFINITY;
    if (karma_i_rows_are_given(rows) || rows->n_attributes > MOST_ATTRIBUTES || !look_at_cells(&o, rows))
        return INFINITY;
    double rank = (double)rows->n_features + (double)o.n_values + (factor->bias != 0.0 ? 1.0 : 0.0);
    rank *= power_rank((double)o.n_incomplete, factor->gamma - 1);
    return is_power ? power_rank(rank, factor->map.degree) : rank;
}

double karma_i_kernel_rank_bound(const karma_i_kernel *kernel, const karma_i_rows *rows) {
    double sum = 0.0;
    for (size_t t = 0; t < kernel->n_terms && isfinite(sum); t++) {
        const karma_i_term *term = &kernel->terms[t];
        double product = 1.0;
        for (size_t f = term->first_factor; f < term->first_factor + term->n_factors; f++)
            product *= factor_rank(&kernel->factors[f], karma_i_rows_encoding(rows, kernel->factors[f].encoding));
        sum += product;
    }
    return sum;
}

/* --- landmarks ------------------------------------------------------------------------------------------------- */

typedef struct spanning {
    const karma_i_kernel *kernel;
    const karma_i_rows *rows;
    size_t most, n; /* landmarks: allowed, there are */
    size_t *landmarks;
    double *lower;    /* `most` numbers from row to row */
    double *values;   /* φ of all rows, `most` numbers from row to row */
    double *diagonal; /* k(x, x) */
    double noise;     /* residuals up to this are rounding errors */
    int threads;
} spanning;

static double kernel_value(const spanning *s, size_t i, size_t j) {
    return karma_i_kernel_reference(s->kernel, s->rows, i, s->rows, j);
}

static double residual(const spanning *s, size_t row) {
    const double *phi = s->values + row * s->most;
    double rest = s->diagonal[row];
    for (size_t f = 0; f < s->n; f++) rest -= phi[f] * phi[f];
    return rest;
}

/* One more landmark, and the feature it brings, of the rows index[0..count). */
static void add_landmark(spanning *s, size_t landmark, const size_t *index, size_t count) {
    size_t n = s->n;
    const double *own = s->values + landmark * s->most;
    double pivot = sqrt(residual(s, landmark));
    memcpy(s->lower + n * s->most, own, n * sizeof *own);
    s->lower[n * s->most + n] = pivot;
#pragma omp parallel for schedule(static) num_threads(count < BLOCK ? 1 : s->threads)
    for (size_t i = 0; i < count; i++) {
        double *phi = s->values + index[i] * s->most, rest = kernel_value(s, index[i], landmark);
        if (index[i] == landmark) continue;
        for (size_t f = 0; f < n; f++) rest -= phi[f] * own[f];
        phi[n] = rest / pivot;
    }
    s->values[landmark * s->most + n] = pivot;
    s->landmarks[s->n++] = landmark;
}

/* Adds landmarks from index[0..count), whose features are known, until all these rows are spanned. False: too many. */
static int span(spanning *s, const size_t *index, size_t count) {
    for (;;) {
        size_t best = 0;
        double most = s->noise;
        for (size_t i = 0; i < count; i++) {
            double rest = residual(s, index[i]);
            if (!(rest > most)) continue;
            most = rest;
            best = i;
        }
        if (!(most > s->noise)) return 1;
        if (s->n == s->most) return 0;
        add_landmark(s, index[best], index, count);
    }
}

static int span_sample(spanning *s, size_t *index) {
    size_t n = s->rows->n_rows, count = n < SAMPLE ? n : SAMPLE;
    for (size_t i = 0; i < count; i++) index[i] = (size_t)((double)i * (double)n / (double)count);
    return span(s, index, count);
}

/* Features of a block by the landmarks so far: L φ = k(Z, x). Its rows in order into `index`. */
static void fill_block(spanning *s, size_t *index, double *scratch, size_t first, size_t count) {
    size_t n = s->n;
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < n; j++) scratch[i * n + j] = kernel_value(s, first + i, s->landmarks[j]);
    karma_i_solve_lower_rows(scratch, count, s->lower, s->most, n);
    for (size_t i = 0; i < count; i++) {
        index[i] = first + i;
        memcpy(s->values + (first + i) * s->most, scratch + i * n, n * sizeof *scratch);
    }
}

static karma_status span_all(int *spanned, spanning *s, size_t *index, karma_error *err) {
    double *scratch = karma_i_alloc(BLOCK, s->most * sizeof *scratch);
    if (!scratch) return karma_i_fail_memory(err);
    *spanned = span_sample(s, index);
    for (size_t first = 0; *spanned && first < s->rows->n_rows; first += BLOCK) {
        size_t count = s->rows->n_rows - first < BLOCK ? s->rows->n_rows - first : BLOCK;
        fill_block(s, index, scratch, first, count);
        *spanned = span(s, index, count);
    }
    karma_i_free(scratch);
    return KARMA_OK;
}

/* Features and L without unused memory. */
static karma_status keep(karma_i_exact_features *out, spanning *s, karma_error *err) {
    size_t n = s->n, n_rows = s->rows->n_rows;
    for (size_t i = 0; i < n_rows; i++) memmove(s->values + i * n, s->values + i * s->most, n * sizeof *s->values);
    for (size_t j = 0; j < n; j++) memmove(s->lower + j * n, s->lower + j * s->most, n * sizeof *s->lower);
    out->lower = s->lower;
    out->landmarks = s->landmarks;
    out->n_landmarks = n;
    double *values = s->values;
    s->values = s->lower = NULL;
    s->landmarks = NULL;
    return karma_i_features_dense(&out->features, values, n_rows, n, err);
}

karma_status karma_i_features_exact(karma_i_exact_features *out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                    size_t most_rank, int threads, karma_error *err) {
    size_t n = rows->n_rows, most = most_rank < n ? most_rank : n;
    spanning s = {.kernel = kernel, .rows = rows, .most = most, .threads = threads};
    int spanned = 0;
    *out = (karma_i_exact_features){0};
    size_t *index = karma_i_alloc(SAMPLE, sizeof *index);
    s.landmarks = karma_i_alloc(most, sizeof *s.landmarks);
    s.lower = karma_i_zalloc(most, most * sizeof *s.lower);
    s.values = karma_i_zalloc(n, most * sizeof *s.values);
    s.diagonal = karma_i_alloc(n, sizeof *s.diagonal);
    karma_status st = index && s.landmarks && s.lower && s.values && s.diagonal ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) {
        s.diagonal[i] = kernel_value(&s, i, i);
        s.noise = fmax(s.noise, SPANNED * s.diagonal[i]);
    }
    if (st == KARMA_OK) st = span_all(&spanned, &s, index, err);
    if (st == KARMA_OK && spanned) st = keep(out, &s, err);
    karma_i_free(index);
    karma_i_free(s.landmarks);
    karma_i_free(s.lower);
    karma_i_free(s.values);
    karma_i_free(s.diagonal);
    return st;
}

void karma_i_exact_features_clear(karma_i_exact_features *exact) {
    karma_i_features_free(exact->features);
    karma_i_free(exact->landmarks);
    karma_i_free(exact->lower);
    *exact = (karma_i_exact_features){0};
}
