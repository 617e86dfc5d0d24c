/* Cholesky's factorisation with pivots. The first landmarks come from a sample of the rows, each time the row with the
 * largest residual k(x, x) - |φ(x)|²; the sample has about twice as many rows as they span dimensions. Then all rows
 * are visited in blocks, and a row whose residual is more than a rounding error becomes one more landmark. Rows visited
 * before are orthogonal to its direction, so their new feature is 0, and one pass is enough. Kernel values are in
 * double precision. */
#include "kernel/features_exact.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernel/exact.h"
#include "linalg/cholesky.h"

enum { BLOCK = 256, LEAST_SAMPLE = 256, MOST_SAMPLE = 1024 };

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
    if (karma_i_rows_are_given(rows) || rows->n_attributes > MOST_ATTRIBUTES) return INFINITY;
    if (!look_at_cells(&o, rows)) return NAN;
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
    const karma_i_rows *rows;
    karma_i_exact *exact; /* the kernel */
    size_t most, n;       /* landmarks: allowed, there are */
    size_t room;          /* for how many `values` has space */
    size_t *landmarks;
    karma_i_rows *copies; /* of the landmarks, in order */
    double *lower;        /* `most` numbers from row to row */
    double *values;       /* φ of all rows, `room` numbers from row to row */
    double *diagonal;     /* k(x, x) */
    double noise;         /* residuals up to this are rounding errors */
    int threads;
} spanning;

static double residual(const spanning *s, size_t row) {
    const double *phi = s->values + row * s->room;
    double rest = s->diagonal[row];
    for (size_t f = 0; f < s->n; f++) rest -= phi[f] * phi[f];
    return rest;
}

/* The rank of `count` rows, evenly spread, which become landmarks in the order of their pivots. */
static karma_status span_some(size_t *rank, spanning *s, size_t count, karma_error *err) {
    size_t n = s->rows->n_rows;
    karma_i_rows *sample = NULL;
    size_t *index = karma_i_alloc(count, sizeof *index), *pivots = karma_i_alloc(count, sizeof *pivots);
    double *gram = karma_i_alloc_large(count, count * sizeof *gram);
    karma_status st =
        index && pivots && gram ? karma_i_rows_new_like(&sample, s->rows, count, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++) index[i] = (size_t)((double)i * (double)n / (double)count);
    if (st == KARMA_OK) st = karma_i_rows_gather(sample, s->rows, index, count, err);
    if (st == KARMA_OK) {
        karma_i_exact_block(gram, s->exact, karma_i_rows_all(sample), karma_i_rows_all(sample));
        st = karma_i_cholesky_pivots(rank, pivots, gram, count, s->noise, err);
    }
    for (size_t k = 0; st == KARMA_OK && k < *rank && k < s->most; k++) s->landmarks[k] = index[pivots[k]];
    karma_i_rows_free(sample);
    karma_i_free(index);
    karma_i_free(pivots);
    karma_i_free(gram);
    return st;
}

/* The first landmarks, from a sample that grows until half of it is in the span of the others. *fits: there are not too
 * many. */
static karma_status span_sample(int *fits, spanning *s, karma_error *err) {
    size_t n = s->rows->n_rows, most = n < MOST_SAMPLE ? n : MOST_SAMPLE, rank = 0, count = 0;
    do {
        size_t wanted = count ? 2 * count : LEAST_SAMPLE;
        count = wanted < most ? wanted : most;
        KARMA_TRY(span_some(&rank, s, count, err));
    } while (count < most && 2 * rank > count && rank <= s->most);
    *fits = rank <= s->most;
    for (size_t k = 0; *fits && k < rank; k++) KARMA_TRY(karma_i_rows_append(s->copies, s->rows, s->landmarks[k], err));
    if (*fits) s->n = rank;
    return KARMA_OK;
}

/* Space for `room` features of every row; new features are 0. */
static karma_status make_room(spanning *s, size_t room, karma_error *err) {
    size_t n = s->rows->n_rows;
    if (room > s->most) room = s->most;
    if (!s->values) {
        s->values = karma_i_zalloc(n, room * sizeof *s->values);
        s->room = room;
        return s->values ? KARMA_OK : karma_i_fail_memory(err);
    }
    double *grown = karma_i_realloc(s->values, n, room * sizeof *s->values);
    if (!grown) return karma_i_fail_memory(err);
    s->values = grown;
    for (size_t i = n; i-- > 0;) {
        memmove(grown + i * room, grown + i * s->room, s->n * sizeof *grown);
        memset(grown + i * room + s->n, 0, (room - s->n) * sizeof *grown);
    }
    s->room = room;
    return KARMA_OK;
}

/* L of the landmarks of the sample. False: rounding left a pivot that is not positive. */
static int factor_sample(spanning *s, double *scratch) {
    karma_i_exact_block(scratch, s->exact, karma_i_rows_all(s->copies), karma_i_rows_all(s->copies));
    if (!karma_i_cholesky(scratch, s->n)) return 0;
    for (size_t j = 0; j < s->n; j++) memcpy(s->lower + j * s->most, scratch + j * s->n, (j + 1) * sizeof *scratch);
    return 1;
}

/* One more landmark, and the feature it brings, of the rows from `first` on. */
static karma_status add_landmark(spanning *s, size_t landmark, size_t first, size_t count, karma_error *err) {
    size_t n = s->n;
    double column[BLOCK], pivot = sqrt(residual(s, landmark));
    if (n == s->room) KARMA_TRY(make_room(s, 2 * n, err));
    const double *own = s->values + landmark * s->room;
    KARMA_TRY(karma_i_rows_append(s->copies, s->rows, landmark, err));
    karma_i_exact_block(column, s->exact, (karma_i_view){s->copies, n, 1}, (karma_i_view){s->rows, first, count});
    memcpy(s->lower + n * s->most, own, n * sizeof *own);
    s->lower[n * s->most + n] = pivot;
    for (size_t i = 0; i < count; i++) {
        double *phi = s->values + (first + i) * s->room, rest = column[i];
        for (size_t f = 0; f < n; f++) rest -= phi[f] * own[f];
        phi[n] = first + i == landmark ? pivot : rest / pivot;
    }
    s->landmarks[s->n++] = landmark;
    return KARMA_OK;
}

/* Adds landmarks from a block of rows, whose features are known, until all of them are spanned. *fits: there are not
 * too many. */
static karma_status span_block(int *fits, spanning *s, size_t first, size_t count, karma_error *err) {
    for (*fits = 1;;) {
        size_t best = 0;
        double most = s->noise;
        for (size_t i = first; i < first + count; i++) {
            double rest = residual(s, i);
            if (!(rest > most)) continue;
            most = rest;
            best = i;
        }
        if (!(most > s->noise)) return KARMA_OK;
        if (s->n == s->most) {
            *fits = 0;
            return KARMA_OK;
        }
        KARMA_TRY(add_landmark(s, best, first, count, err));
    }
}

/* Features of a block by the landmarks so far: L φ = k(Z, x). */
static void fill_block(spanning *s, double *scratch, size_t first, size_t count) {
    size_t n = s->n;
    karma_i_exact_block(scratch, s->exact, (karma_i_view){s->rows, first, count}, karma_i_rows_all(s->copies));
    karma_i_solve_lower_rows(scratch, count, s->lower, s->most, n);
    for (size_t i = 0; i < count; i++) memcpy(s->values + (first + i) * s->room, scratch + i * n, n * sizeof *scratch);
}

static karma_status span_all(int *fits, spanning *s, karma_error *err) {
    size_t n = s->rows->n_rows, least = s->most > BLOCK ? s->most : BLOCK;
    double *scratch = karma_i_alloc_large(least, s->most * sizeof *scratch);
    karma_status st = scratch ? span_sample(fits, s, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK && *fits) *fits = factor_sample(s, scratch);
    if (st == KARMA_OK && *fits) st = make_room(s, 2 * s->n + 1, err);
    for (size_t first = 0; st == KARMA_OK && *fits && first < n; first += BLOCK) {
        size_t count = n - first < BLOCK ? n - first : BLOCK;
        fill_block(s, scratch, first, count);
        st = span_block(fits, s, first, count, err);
    }
    karma_i_free(scratch);
    return st;
}

/* Features and L without unused memory. */
static karma_status keep(karma_i_exact_features *out, spanning *s, karma_error *err) {
    size_t n = s->n, n_rows = s->rows->n_rows;
    for (size_t i = 0; i < n_rows; i++) memmove(s->values + i * n, s->values + i * s->room, n * sizeof *s->values);
    for (size_t j = 0; j < n; j++) memmove(s->lower + j * n, s->lower + j * s->most, n * sizeof *s->lower);
    out->lower = s->lower;
    out->landmarks = s->landmarks;
    out->n_landmarks = n;
    double *values = s->values;
    s->values = s->lower = NULL;
    s->landmarks = NULL;
    return karma_i_features_dense(&out->features, values, n_rows, n, err);
}

static karma_status init_spanning(spanning *s, const karma_i_kernel *kernel, const karma_i_rows *rows, size_t most,
                                  int threads, karma_error *err) {
    size_t n = rows->n_rows;
    *s = (spanning){.rows = rows, .most = most, .threads = threads};
    s->landmarks = karma_i_alloc(most, sizeof *s->landmarks);
    s->lower = karma_i_zalloc(most, most * sizeof *s->lower);
    s->diagonal = karma_i_alloc(n, sizeof *s->diagonal);
    if (!s->landmarks || !s->lower || !s->diagonal) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_rows_new_like(&s->copies, rows, most, err));
    KARMA_TRY(karma_i_exact_new(&s->exact, kernel, rows, threads, err));
    karma_i_exact_diagonal(s->diagonal, s->exact, karma_i_rows_all(rows));
    for (size_t i = 0; i < n; i++) s->noise = fmax(s->noise, SPANNED * s->diagonal[i]);
    return KARMA_OK;
}

karma_status karma_i_features_exact(karma_i_exact_features *out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                    size_t most_rank, int threads, karma_error *err) {
    spanning s;
    int fits = 0;
    *out = (karma_i_exact_features){0};
    karma_status st =
        init_spanning(&s, kernel, rows, most_rank < rows->n_rows ? most_rank : rows->n_rows, threads, err);
    if (st == KARMA_OK) st = span_all(&fits, &s, err);
    if (st == KARMA_OK && fits) st = keep(out, &s, err);
    karma_i_exact_free(s.exact);
    karma_i_rows_free(s.copies);
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
