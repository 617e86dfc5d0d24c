/* The loops of a path. The including file defines how many numbers are in a vector (LANES: what a register of the
 * processor holds, since longer vectors would live in memory), how many vectors stay in registers (MOST_WIDTH), and
 * lists the numbers up to that (EACH_WIDTH).
 *
 * There are two kinds of loops. Sums over cells run along the packed matrices, MOST_WIDTH vectors at a time,
 * and the sum stays in registers. Factorisations run across LANES rows, one per lane, since a single
 * small one would wait for its own divisions. The order of every sum is that of the cells or of the rows:
 * results depend neither on the pieces nor on the batches. */
#ifndef KARMA_I_POSTERIOR_BODY_H
#define KARMA_I_POSTERIOR_BODY_H

#include <math.h>
#include <string.h>

#include "subspace/posterior_list.h"

_Static_assert(KARMA_I_LANES % LANES == 0, "rows of numbers are whole vectors");

typedef double vector __attribute__((vector_size(LANES * sizeof(double)), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* If c·(c - W_oẑ) is at most this share of |c|², the sum that does not cancel is used. */
#define CANCELLED 1e-6

/* ---- sums over cells ---- */

/* A row of cells: indices of panel rows and, unless NULL, their weights. */
typedef struct listed {
    const uint32_t *index;
    const double *weight;
    size_t count;
} listed;

/* sum += Σ_c weight_c panel[index_c], over `width` vectors */
INLINE void sum_fixed(double *sum, const double *panel, size_t stride, listed cells, size_t width) {
    vector total[MOST_WIDTH];
    memcpy(total, sum, width * sizeof(vector));
    for (size_t c = 0; c < cells.count; c++) {
        const vector *row = (const vector *)(panel + cells.index[c] * stride);
#pragma GCC unroll 12
        for (size_t v = 0; v < width; v++)
            if (cells.weight)
                total[v] += cells.weight[c] * row[v];
            else
                total[v] += row[v];
    }
    memcpy(sum, total, width * sizeof(vector));
}

/* panel[index_c] += weight_c addend, over `width` vectors */
INLINE void spread_fixed(double *panel, size_t stride, const double *addend, listed cells, size_t width) {
    vector kept[MOST_WIDTH];
    memcpy(kept, addend, width * sizeof(vector));
    for (size_t c = 0; c < cells.count; c++) {
        vector *row = (vector *)(panel + cells.index[c] * stride);
#pragma GCC unroll 12
        for (size_t v = 0; v < width; v++)
            if (cells.weight)
                row[v] += cells.weight[c] * kept[v];
            else
                row[v] += kept[v];
    }
}

/* The compiler makes one loop for each width, with and without weights. */
static void sum_piece(double *sum, const double *panel, size_t stride, listed cells, size_t width) {
    switch (width) {
#define CASE(WIDTH)                                                                                                    \
    case WIDTH:                                                                                                        \
        if (cells.weight)                                                                                              \
            sum_fixed(sum, panel, stride, cells, WIDTH);                                                               \
        else                                                                                                           \
            sum_fixed(sum, panel, stride, (listed){cells.index, NULL, cells.count}, WIDTH);                            \
        break;
        EACH_WIDTH(CASE)
#undef CASE
    default:
        break;
    }
}

static void spread_piece(double *panel, size_t stride, const double *addend, listed cells, size_t width) {
    switch (width) {
#define CASE(WIDTH)                                                                                                    \
    case WIDTH:                                                                                                        \
        if (cells.weight)                                                                                              \
            spread_fixed(panel, stride, addend, cells, WIDTH);                                                         \
        else                                                                                                           \
            spread_fixed(panel, stride, addend, (listed){cells.index, NULL, cells.count}, WIDTH);                      \
        break;
        EACH_WIDTH(CASE)
#undef CASE
    default:
        break;
    }
}

/* Rows of n numbers are cut into pieces of about the same width, in vectors. */
static size_t piece_width(size_t n) {
    size_t vectors = n / LANES, pieces = (vectors + MOST_WIDTH - 1) / MOST_WIDTH;
    return pieces ? (vectors + pieces - 1) / pieces : 1;
}

static size_t width_at(size_t done, size_t n, size_t width) {
    size_t left = (n - done) / LANES;
    return left < width ? left : width;
}

/* sum[0..n) = Σ_c weight_c panel[index_c] */
static void sum_cells(double *sum, const double *panel, size_t n, listed cells) {
    size_t width = piece_width(n);
    memset(sum, 0, n * sizeof *sum);
    for (size_t done = 0; done < n; done += width * LANES)
        sum_piece(sum + done, panel + done, n, cells, width_at(done, n, width));
}

/* ---- factorisations across rows ---- */

/* Scratch, all of it by lane but `rows`. */
typedef struct lanes {
    double *rows;    /* LANES sums of one kind, row by row, before they are turned; or of a run */
    vector *a;       /* packed: I + W_oᵀW_o/σ², then its factor L (unit diagonal), then C */
    vector *inverse; /* packed: L⁻¹ */
    vector *unpivot; /* r: 1/D, D the pivots */
    vector *b, *z;   /* r: W_oᵀc/σ², ẑ */
} lanes;

static lanes lanes_in(double *scratch, size_t r) {
    size_t packed = karma_i_packed_size(r);
    lanes s = {.rows = scratch};
    s.a = (vector *)(scratch + KARMA_I_LANES * karma_i_padded(packed)); /* rows of a run need more than LANES of them */
    s.inverse = s.a + packed;
    s.unpivot = s.inverse + packed;
    s.b = s.unpivot + r;
    s.z = s.b + r;
    return s;
}

/* Lane l of out[q] = number q of row l. */
static void turn(vector *out, const double *rows, size_t stride, size_t n) {
    double *to = (double *)out;
    for (size_t l = 0; l < LANES; l++)
        for (size_t q = 0; q < n; q++) to[q * LANES + l] = rows[l * stride + q];
}

/* A = L D Lᵀ, no square roots. A is I + something positive semidefinite, so a pivot below 1 is a rounding error. */
static void factorise(lanes *s, size_t r) {
    for (size_t i = 0; i < r; i++) {
        vector *row = s->a + karma_i_packed_size(i);
        for (size_t j = 0; j < i; j++) { /* L_ij D_j */
            const vector *other = s->a + karma_i_packed_size(j);
            vector sum = row[j];
            for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
            row[j] = sum;
        }
        vector pivot = row[i];
        for (size_t j = 0; j < i; j++) {
            vector scaled = row[j] * s->unpivot[j];
            pivot -= row[j] * scaled;
            row[j] = scaled;
        }
        for (size_t l = 0; l < LANES; l++) pivot[l] = pivot[l] > 1.0 ? pivot[l] : 1.0;
        s->unpivot[i] = 1.0 / pivot;
    }
}

/* z = A⁻¹ b by substitution. */
static void solve(lanes *s, size_t r) {
    for (size_t i = 0; i < r; i++) {
        const vector *row = s->a + karma_i_packed_size(i);
        vector sum = s->b[i];
        for (size_t k = 0; k < i; k++) sum -= row[k] * s->z[k];
        s->z[i] = sum;
    }
    for (size_t i = 0; i < r; i++) s->z[i] *= s->unpivot[i];
    for (size_t i = r; i-- > 0;) {
        const vector *row = s->a + karma_i_packed_size(i);
        for (size_t k = 0; k < i; k++) s->z[k] -= row[k] * s->z[i];
    }
}

/* a = A⁻¹ = L⁻ᵀ D⁻¹ L⁻¹ */
static void invert(lanes *s, size_t r) {
    for (size_t i = 0; i < r; i++) {
        const vector *row = s->a + karma_i_packed_size(i);
        vector *inverse = s->inverse + karma_i_packed_size(i);
        for (size_t j = 0; j < i; j++) {
            vector sum = row[j];
            for (size_t k = j + 1; k < i; k++) sum += row[k] * s->inverse[karma_i_packed_size(k) + j];
            inverse[j] = -sum;
        }
        inverse[i] = (vector){0} + 1.0;
    }
    memset(s->a, 0, karma_i_packed_size(r) * sizeof(vector));
    for (size_t k = 0; k < r; k++) {
        const vector *inverse = s->inverse + karma_i_packed_size(k);
        for (size_t i = 0; i <= k; i++) {
            vector scaled = inverse[i] * s->unpivot[k], *out = s->a + karma_i_packed_size(i);
            for (size_t j = 0; j <= i; j++) out[j] += scaled * inverse[j];
        }
    }
}

/* ln det A of each lane. A product of eight pivots stays within range and saves seven logarithms. */
static void log_determinants(double out[LANES], const lanes *s, size_t r) {
    memset(out, 0, LANES * sizeof *out);
    for (size_t i = 0; i < r; i += LANES) {
        vector product = s->unpivot[i];
        for (size_t k = i + 1; k < r && k < i + LANES; k++) product *= s->unpivot[k];
        for (size_t l = 0; l < LANES; l++) out[l] -= log(product[l]);
    }
}

/* ---- one row, before and after ---- */

static listed patterns_of(const karma_i_cell_lists *cells, karma_i_cell_range run) {
    return (listed){karma_i_listed_patterns(cells) + run.first, NULL, run.count};
}
static listed features_of(const karma_i_cell_lists *cells, karma_i_cell_range run) {
    return (listed){cells->feature + run.first, cells->x + run.first, run.count};
}

static double square_of(const double *x, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += x[k] * x[k];
    return sum;
}

/* |c - W_oẑ|²/σ² + |ẑ|²; loadings hold W/σ² */
static double residual_of(const karma_i_loadings *loadings, listed features, const double *z) {
    size_t r = loadings->rank;
    double sum = 0.0;
    for (size_t c = 0; c < features.count; c++) {
        const double *w = loadings->W + features.index[c] * loadings->W_stride;
        double fitted = 0.0;
        for (size_t k = 0; k < r; k++) fitted += w[k] * z[k];
        double residual = features.weight[c] - loadings->sigma2 * fitted;
        sum += residual * residual;
    }
    return sum / loadings->sigma2 + square_of(z, r);
}

/* A of some rows, by lane; lanes without a row are rows without cells. */
static void set_matrices(lanes *s, const karma_i_loadings *loadings, const karma_i_cell_lists *cells,
                         const size_t *rows, size_t count) {
    size_t r = loadings->rank, packed = karma_i_packed_size(r);
    for (size_t l = 0; l < LANES; l++) {
        karma_i_cell_range list = l < count ? karma_i_row_patterns(cells, rows[l]) : (karma_i_cell_range){0, 0};
        sum_cells(s->rows + l * loadings->outer_stride, loadings->outer, loadings->outer_stride,
                  patterns_of(cells, list));
    }
    turn(s->a, s->rows, loadings->outer_stride, packed);
    for (size_t i = 0; i < r; i++) s->a[karma_i_packed_size(i) + i] += 1.0;
}

/* b of the same rows. */
static void set_vectors(lanes *s, const karma_i_loadings *loadings, const karma_i_cell_lists *cells, const size_t *rows,
                        size_t count) {
    for (size_t l = 0; l < LANES; l++) {
        karma_i_cell_range list = l < count ? karma_i_row_features(cells, rows[l]) : (karma_i_cell_range){0, 0};
        sum_cells(s->rows + l * loadings->W_stride, loadings->W, loadings->W_stride, features_of(cells, list));
    }
    turn(s->b, s->rows, loadings->W_stride, loadings->rank);
}

/* (1, ẑ) of lane l to row `row`, and its second moments to place `at`. */
static void put_moments(karma_i_posterior *out, size_t row, size_t at, const lanes *s, size_t l,
                        karma_i_second second) {
    size_t r = out->rank;
    double *z = out->z + row * out->z_stride, *to = out->second + at * out->second_stride;
    const double *covariance = (const double *)s->a + l, *mean = (const double *)s->z + l;
    double share = second == KARMA_I_MOMENTS ? 1.0 : 0.0; /* of z̃ z̃ᵀ that is added to the covariance */
    z[0] = 1.0;
    *to++ = share;
    for (size_t k = 0; k < r; k++) {
        z[k + 1] = mean[k * LANES];
        double along = share * z[k + 1];
        *to++ = along;
        for (size_t i = 0; i <= k; i++, covariance += LANES) *to++ = *covariance + along * z[i + 1];
    }
}

/* fitted: b·ẑ */
static void put_density(karma_i_posterior *out, size_t row, double fitted, double log_determinant,
                        const karma_i_loadings *loadings, listed features) {
    const double log_2pi = 1.837877066409345483560659472811235279722794947275567;
    double square = square_of(features.weight, features.count);
    double distance = square / loadings->sigma2 - fitted;
    if (!(distance > CANCELLED * square / loadings->sigma2))
        distance = residual_of(loadings, features, out->z + row * out->z_stride + 1);
    out->square[row] = square;
    out->log_density[row] =
        -0.5 * ((double)features.count * (log_2pi + log(loadings->sigma2)) + log_determinant + distance);
}

/* ---- rows that observe the same ---- */

/* L⁻¹ of lane l, its rows `stride` apart and filled up with zeros. */
static void unpack_inverse(double *to, const lanes *s, size_t l, size_t r, size_t stride) {
    const double *packed = (const double *)s->inverse + l;
    memset(to, 0, r * stride * sizeof *to);
    for (size_t k = 0; k < r; k++)
        for (size_t i = 0; i <= k; i++, packed += LANES) to[k * stride + i] = *packed;
}

/* ẑ = L⁻ᵀ D⁻¹ L⁻¹ b, which loses fewer digits than C b. */
static void place(vector *z, const double *b, const double *inverse, const lanes *s, size_t l, size_t r,
                  size_t stride) {
    size_t width = stride / LANES;
    const vector *right = (const vector *)b;
    memset(z, 0, stride * sizeof(double));
    for (size_t k = 0; k < r; k++) {
        const vector *row = (const vector *)(inverse + k * stride);
        vector sums = {0};
        double sum = 0.0;
        for (size_t v = 0; v < width; v++) sums += row[v] * right[v];
        for (size_t i = 0; i < LANES; i++) sum += sums[i];
        sum *= s->unpivot[k][l];
        for (size_t v = 0; v < width; v++) z[v] += sum * row[v];
    }
}

/* The rows of run `run`: one covariance for all of them, and the sum of their second moments. */
static void put_run(karma_i_posterior *out, size_t run, const lanes *s, size_t l, double log_determinant,
                    const karma_i_loadings *loadings, const karma_i_cell_lists *cells) {
    size_t r = out->rank, stride = loadings->W_stride, end = cells->run_start[run + 1];
    double *to = out->second + run * out->second_stride, *b = s->rows, *inverse = b + stride;
    const double *covariance = (const double *)s->a + l, count = (double)(end - cells->run_start[run]);
    unpack_inverse(inverse, s, l, r, stride);
    memset(to, 0, karma_i_packed_size(r + 1) * sizeof *to);
    for (size_t row = cells->run_start[run]; row < end; row++) {
        listed features = features_of(cells, karma_i_row_features(cells, row));
        double *z = out->z + row * out->z_stride, *sum = to, fitted = 0.0;
        sum_cells(b, loadings->W, stride, features);
        place(s->z, b, inverse, s, l, r, stride);
        z[0] = 1.0;
        memcpy(z + 1, s->z, r * sizeof *z);
        for (size_t k = 0; k < r; k++) fitted += b[k] * z[k + 1];
        for (size_t k = 0; k <= r; sum += ++k)
            for (size_t i = 0; i <= k; i++) sum[i] += z[k] * z[i];
        put_density(out, row, fitted, log_determinant, loadings, features);
    }
    for (size_t k = 0; k < r; k++)
        for (size_t i = 0; i <= k; i++, covariance += LANES)
            to[karma_i_packed_size(k + 1) + i + 1] += count * *covariance;
}

/* ---- the path ---- */

/* A row of each lane: C, ẑ and ln det A. */
static void estimate_lanes(lanes *s, double *log_determinant, const karma_i_loadings *loadings,
                           const karma_i_cell_lists *cells, const size_t *rows, size_t count) {
    size_t r = loadings->rank;
    set_matrices(s, loadings, cells, rows, count);
    set_vectors(s, loadings, cells, rows, count);
    factorise(s, r);
    log_determinants(log_determinant, s, r);
    solve(s, r);
    invert(s, r);
}

static void put_lane(karma_i_posterior *out, size_t row, size_t at, const lanes *s, size_t l, double log_determinant,
                     karma_i_second second, const karma_i_loadings *loadings, const karma_i_cell_lists *cells) {
    double fitted = 0.0;
    for (size_t k = 0; k < out->rank; k++) fitted += s->b[k][l] * s->z[k][l];
    put_moments(out, row, at, s, l, second);
    put_density(out, row, fitted, log_determinant, loadings, features_of(cells, karma_i_row_features(cells, row)));
}

static size_t at_most_lanes(size_t count) {
    return count < LANES ? count : LANES;
}

static void estimate(karma_i_posterior *posterior, const karma_i_loadings *loadings, const karma_i_cell_lists *cells,
                     size_t first, size_t count, karma_i_second second, double *scratch) {
    lanes s = lanes_in(scratch, loadings->rank);
    for (size_t done = 0, part; done < count; done += part) {
        double log_determinant[LANES];
        size_t rows[LANES] = {0};
        part = at_most_lanes(count - done);
        for (size_t l = 0; l < part; l++) rows[l] = first + done + l;
        estimate_lanes(&s, log_determinant, loadings, cells, rows, part);
        for (size_t l = 0; l < part; l++)
            put_lane(posterior, rows[l], rows[l], &s, l, log_determinant[l], second, loadings, cells);
    }
}

/* The runs from `first` on, one per lane. */
static void estimate_some_runs(karma_i_posterior *posterior, const karma_i_loadings *loadings,
                               const karma_i_cell_lists *cells, size_t first, size_t count, lanes *s) {
    size_t r = loadings->rank;
    double log_determinant[LANES];
    const size_t *rows = cells->run_start + first; /* the first of each run stands for all */
    if (rows[count] - rows[0] == count) {
        estimate_lanes(s, log_determinant, loadings, cells, rows, count);
        for (size_t l = 0; l < count; l++)
            put_lane(posterior, rows[l], first + l, s, l, log_determinant[l], KARMA_I_MOMENTS, loadings, cells);
        return;
    }
    set_matrices(s, loadings, cells, rows, count);
    factorise(s, r);
    log_determinants(log_determinant, s, r);
    invert(s, r);
    for (size_t l = 0; l < count; l++) put_run(posterior, first + l, s, l, log_determinant[l], loadings, cells);
}

static void estimate_runs(karma_i_posterior *posterior, const karma_i_loadings *loadings,
                          const karma_i_cell_lists *cells, size_t first, size_t count, double *scratch) {
    lanes s = lanes_in(scratch, loadings->rank);
    for (size_t done = 0, part; done < count; done += part) {
        part = at_most_lanes(count - done);
        estimate_some_runs(posterior, loadings, cells, first + done, part, &s);
    }
}

static void accumulate(double *second, double *cross, const karma_i_posterior *posterior,
                       const karma_i_cell_lists *cells, size_t first, size_t end, size_t range) {
    size_t n = posterior->second_stride, width = piece_width(n);
    for (size_t done = 0; done < n; done += width * LANES)
        for (size_t run = first; run < end; run++)
            spread_piece(second + done, n, posterior->second + run * n + done,
                         patterns_of(cells, karma_i_range_patterns(cells, cells->run_start[run], range)),
                         width_at(done, n, width));
    n = posterior->z_stride;
    width = piece_width(n);
    for (size_t done = 0; done < n; done += width * LANES)
        for (size_t i = cells->run_start[first]; i < cells->run_start[end]; i++)
            spread_piece(cross + done, n, posterior->z + i * n + done,
                         features_of(cells, karma_i_range_features(cells, i, range)), width_at(done, n, width));
}

#endif
