#include "solve/primal_machine.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"

enum {
    MANY_ROWS = 32768, /* are worth several threads */
    MOST_TRIALS = 40,  /* most step lengths tried */
    MOST_HALVINGS = 30
};

/* A step is accepted once it has removed this share of the slope along the direction. */
static const double FLAT = 0.1;
/* Smoothing is reduced when the gradient's part of the gap is below this share of smoothing's part. */
static const double SOLVED_SHARE = 0.5;
/* The width shrinks to a share of itself between these. Its part of the gap is proportional to its square,
 * and new guesses reduce that part by a factor of at least about NEW_GUESS² for any width. */
static const double LEAST_WIDTH = 0.2, MOST_WIDTH = 1.0, NEW_GUESS = 2.5;
/* If guesses left more than this share, the width was too large for them. */
static const double SLOW = 0.5;
/* The share of the tolerance that the width may use up. */
static const double WIDTH_SHARE = 0.5;
/* A start that is not 0 begins with a width that costs at most this multiple of the tolerance. */
static const double WIDE_START = 2.0;

void karma_i_norm_product(double *out, const karma_i_features *features, const double *x) {
    if (features->norm)
        karma_i_product_vector(out, features->norm, x, features->n_features);
    else
        memcpy(out, x, features->n_features * sizeof *out);
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

karma_status karma_i_machine_init(karma_i_machine *m, const double *weights, karma_error *err) {
    size_t p = m->features->n_features, n = m->features->n_rows;
    m->weights = karma_i_alloc(p, 5 * sizeof *m->weights);
    m->scores = karma_i_alloc(n, 4 * sizeof *m->scores);
    if (!m->weights || !m->scores) return karma_i_fail_memory(err);
    m->slope_sum = m->weights + p;
    m->gradient = m->weights + 2 * p;
    m->direction = m->weights + 3 * p;
    m->best = m->weights + 4 * p;
    m->change = m->scores + n;
    m->curvature = m->scores + 2 * n;
    m->guess = m->scores + 3 * n;
    memset(m->guess, 0, n * sizeof *m->guess);
    memcpy(m->weights, weights, p * sizeof *weights);
    memcpy(m->best, weights, p * sizeof *weights);
    m->best_primal = INFINITY;
    m->best_dual = -INFINITY;
    m->last_width_part = INFINITY;
    return KARMA_OK;
}

void karma_i_machine_clear(karma_i_machine *m) {
    karma_i_free(m->weights);
    karma_i_free(m->scores);
    m->weights = m->scores = NULL;
}

/* --- sums over rows, of all processes ------------------------------------------------------------------- */

typedef struct row_sums {
    double a, b;
} row_sums;

typedef row_sums (*row_sums_fn)(const karma_i_machine *m, size_t first, size_t end, double at);

static karma_status sum_rows(row_sums *out, const karma_i_machine *m, row_sums_fn fn, double at, karma_error *err) {
    const karma_i_partition *split = &m->features->split;
    size_t n = m->features->n_rows, size = karma_i_partition_granule_rows(split), n_granules = (n + size - 1) / size;
    karma_i_tree tree;
    double total[2];
    row_sums *sums = karma_i_alloc(n_granules, sizeof *sums);
    karma_status st = karma_i_tree_begin(&tree, 2, split, err);
    if (st == KARMA_OK && !sums) st = karma_i_fail_memory(err);
    if (st == KARMA_OK) {
#pragma omp parallel for schedule(static) num_threads(n < MANY_ROWS ? 1 : m->threads)
        for (size_t g = 0; g < n_granules; g++) sums[g] = fn(m, g * size, (g + 1) * size < n ? (g + 1) * size : n, at);
        for (size_t g = 0; g < n_granules; g++) {
            double *leaf = karma_i_tree_open(&tree);
            leaf[0] = sums[g].a;
            leaf[1] = sums[g].b;
            karma_i_tree_close(&tree, 0);
        }
        st = karma_i_tree_total(total, &tree, split, err);
    }
    if (st == KARMA_OK) *out = (row_sums){total[0], total[1]};
    karma_i_tree_clear(&tree);
    karma_i_free(sums);
    return st;
}

/* --- the loss, smoothed -------------------------------------------------------------------------- */

static double slope_at(const karma_i_machine *m, size_t row, double z) {
    const karma_i_loss *l = m->loss;
    double y = m->targets[row * m->stride];
    if (l->curvature) return l->derivative(z, y, l->parameter);
    double shifted = z + m->width * m->guess[row];
    return l->project((shifted - l->prox(shifted, m->width, y, l->parameter)) / m->width, y, l->parameter);
}

double karma_i_machine_slope(const karma_i_machine *m, size_t row) {
    double share = karma_i_machine_share(m, row);
    return share > 0.0 ? share * slope_at(m, row, m->scores[row]) : 0.0;
}

/* A smoothed piecewise linear loss bends where ζ stays at a kink: where the slope is strictly between the
 * slopes of two pieces. For all losses here these slopes are 0 and the ends of the conjugate's domain. */
static double curvature_at(const karma_i_machine *m, size_t row) {
    const karma_i_loss *l = m->loss;
    double y = m->targets[row * m->stride], z = m->scores[row], sure = 1e-9;
    if (l->curvature) return l->curvature(z, y, l->parameter);
    double slope = slope_at(m, row, z);
    double low = l->project(-1e300, y, l->parameter), high = l->project(1e300, y, l->parameter);
    int bends = slope > low + sure && slope < high - sure && fabs(slope) > sure;
    return bends ? 1.0 / m->width : 0.0;
}

void karma_i_machine_bend(karma_i_machine *m) {
    size_t n = m->features->n_rows;
#pragma omp parallel for schedule(static) num_threads(n < MANY_ROWS ? 1 : m->threads)
    for (size_t i = 0; i < n; i++) {
        double share = karma_i_machine_share(m, i);
        m->curvature[i] = share > 0.0 ? share * curvature_at(m, i) : 0.0;
    }
}

/* --- widths ---------------------------------------------------------------------------------------------- */

static row_sums residual_sums(const karma_i_machine *m, size_t first, size_t end, double at) {
    (void)at;
    row_sums sums = {0.0, 0.0};
    for (size_t i = first; i < end; i++) {
        double share = karma_i_machine_share(m, i);
        sums.a += share * fabs(m->scores[i] - m->targets[i * m->stride]);
        sums.b += share;
    }
    return sums;
}

static row_sums certificate_sums(const karma_i_machine *m, size_t first, size_t end, double at) {
    const karma_i_loss *l = m->loss;
    row_sums sums = {0.0, 0.0}; /* losses; Fenchel-Young terms, each at least 0 */
    (void)at;
    for (size_t i = first; i < end; i++) {
        double share = karma_i_machine_share(m, i), y = m->targets[i * m->stride], z = m->scores[i];
        if (!(share > 0.0)) continue;
        double value = l->value(z, y, l->parameter);
        sums.a += share * value;
        if (l->curvature) continue; /* slopes are those of the loss itself: the terms are 0 */
        double slope = slope_at(m, i, z);
        sums.b += share * fmax(0.0, value + l->conjugate(slope, y, l->parameter) - slope * z);
    }
    return sums;
}

/* Without a start, wide enough for most rows to bend: targets are -1 and 1, or numbers of any size. With a
 * start, which may be near the solution, not so wide that the width alone would move the weights away from
 * it. */
karma_status karma_i_machine_start_width(karma_i_machine *m, double tolerance, karma_error *err) {
    row_sums sums;
    double size = 0.0;
    m->width = 2.0;
    if (karma_i_machine_is_smooth(m)) return KARMA_OK;
    KARMA_TRY(sum_rows(&sums, m, residual_sums, 0.0, err));
    if (m->loss->task == KARMA_TASK_REGRESS && sums.a > 0.0) m->width = 2.0 * sums.a / sums.b;
    for (size_t f = 0; f < m->features->n_features; f++) size += fabs(m->weights[f]);
    for (int step = 0; size > 0.0 && step < MOST_HALVINGS; step++) {
        KARMA_TRY(sum_rows(&sums, m, certificate_sums, 0.0, err));
        if (sums.b <= WIDE_START * tolerance * sums.a) break;
        m->width *= 0.5;
    }
    return KARMA_OK;
}

int karma_i_machine_sharpen(karma_i_machine *m, double tolerance) {
    double goal = WIDTH_SHARE * tolerance * m->best_primal;
    if (karma_i_machine_is_smooth(m) || !(m->gradient_part <= SOLVED_SHARE * m->width_part)) return 0;
    for (size_t i = 0; i < m->features->n_rows; i++) m->guess[i] = slope_at(m, i, m->scores[i]);
    double share = fmin(MOST_WIDTH, fmax(LEAST_WIDTH, NEW_GUESS * sqrt(goal / m->width_part)));
    if (m->width_part > SLOW * m->last_width_part) share = LEAST_WIDTH;
    m->width *= share;
    m->last_width_part = m->width_part;
    return 1;
}

/* --- the certificate ------------------------------------------------------------------------------------- */

karma_status karma_i_machine_certify(karma_i_machine *m, karma_error *err) {
    size_t p = m->features->n_features;
    row_sums sums;
    KARMA_TRY(sum_rows(&sums, m, certificate_sums, 0.0, err));
    double *scratch = karma_i_alloc(p, sizeof *scratch);
    if (!scratch) return karma_i_fail_memory(err);
    karma_i_norm_product(m->gradient, m->features, m->weights);
    m->primal = 0.5 * dot(m->weights, m->gradient, p) + sums.a;
    for (size_t f = 0; f < p; f++) m->gradient[f] += m->slope_sum[f];
    memcpy(scratch, m->gradient, p * sizeof *scratch);
    if (m->features->norm_factor) karma_i_solve_lower(scratch, m->features->norm_factor, p);
    m->gradient_part = 0.5 * dot(scratch, scratch, p);
    m->width_part = sums.b;
    karma_i_free(scratch);
    m->best_dual = fmax(m->best_dual, m->primal - m->gradient_part - m->width_part);
    if (!(m->primal < m->best_primal)) return KARMA_OK;
    m->best_primal = m->primal;
    memcpy(m->best, m->weights, p * sizeof *m->best);
    return KARMA_OK;
}

double karma_i_machine_gap(const karma_i_machine *m) {
    return m->best_primal > 0.0 ? fmax(0.0, (m->best_primal - m->best_dual) / m->best_primal) : 0.0;
}

/* --- a step ------------------------------------------------------------------------------------------------ */

static row_sums slope_sums(const karma_i_machine *m, size_t first, size_t end, double at) {
    row_sums sums = {0.0, 0.0};
    for (size_t i = first; i < end; i++) {
        double share = karma_i_machine_share(m, i);
        if (share > 0.0 && m->change[i] != 0.0)
            sums.a += share * slope_at(m, i, m->scores[i] + at * m->change[i]) * m->change[i];
    }
    return sums;
}

/* The slope of the objective along the direction: linear + quadratic · at + the slope of the losses. It never
 * decreases as `at` grows. */
typedef struct line {
    karma_i_machine *m;
    double linear, quadratic;
} line;

static karma_status slope_along(double *out, const line *l, double at, karma_error *err) {
    row_sums sums;
    KARMA_TRY(sum_rows(&sums, l->m, slope_sums, at, err));
    *out = l->linear + l->quadratic * at + sums.a;
    return KARMA_OK;
}

/* Lengths double until one is too long. Then, between a length that is too short and one that is too long,
 * the secant is tried, and the middle if the secant did not halve the interval. */
static karma_status find_length(double *length, const line *l, double slope0, karma_error *err) {
    double low = 0.0, high = INFINITY, slope_low = slope0, slope_high = 0.0, at = 1.0, last_width = INFINITY;
    for (int trial = 0; trial < MOST_TRIALS; trial++) {
        double slope;
        KARMA_TRY(slope_along(&slope, l, at, err));
        if (slope < 0.0) {
            low = at;
            slope_low = slope;
        } else {
            high = at;
            slope_high = slope;
        }
        if (fabs(slope) <= FLAT * fabs(slope0)) break;
        double width = high - low;
        at = !isfinite(high)            ? 2.0 * at
             : width > 0.5 * last_width ? 0.5 * (low + high)
                                        : low + width * slope_low / (slope_low - slope_high);
        last_width = width;
        if (!(at > low && at < high)) break;
    }
    *length = at;
    return KARMA_OK;
}

karma_status karma_i_machine_step(int *moved, karma_i_machine *m, karma_error *err) {
    size_t p = m->features->n_features, n = m->features->n_rows;
    double length = 0.0, slope0 = dot(m->gradient, m->direction, p);
    double *product = karma_i_alloc(p, sizeof *product);
    if (!product) return karma_i_fail_memory(err);
    karma_i_norm_product(product, m->features, m->direction);
    line l = {m, dot(m->weights, product, p), dot(m->direction, product, p)};
    karma_i_free(product);
    *moved = slope0 < -4.0 * DBL_EPSILON * fabs(m->primal);
    if (!*moved) return KARMA_OK;
    KARMA_TRY(find_length(&length, &l, slope0, err));
    for (size_t f = 0; f < p; f++) m->weights[f] += length * m->direction[f];
    for (size_t i = 0; i < n; i++) m->scores[i] += length * m->change[i];
    return KARMA_OK;
}
