/* Multinomial calibration. Row i has scores z_i (one per class, standardised over the rows), a class and a weight w_i.
 * W (slope) and b (offset) minimise
 *
 *     Σ_i w_i [ -Σ_k t_ik ln p_ik ] + ½ |W - s I|²,    p_i = softmax(W z_i + b),    s = trace(W)/K
 *
 * over W and b. t_ik is (N + 1)/(N + 2) for the row's own class, which has weight N, and the others share
 * 1/(N + 2) equally: Platt's targets for two classes, extended to K classes, so that the minimum is finite
 * even if the classes can be separated. The penalty is that of a normal prior of variance 1 around a multiple
 * of the identity: few rows give one common slope, many rows the whole matrix. Above MOST_MIXED_CLASSES
 * classes W is diagonal.
 *
 * The objective is convex. Newton's method with conjugate gradients; with d_i = V z_i + c,
 *
 *     gradient: Σ_i w_i (p_i - t_i) (z_i, 1)ᵀ + (W - s I, 0)
 *     Hessian times (V, c): Σ_i w_i (p_i∘d_i - p_i (p_i·d_i)) (z_i, 1)ᵀ + (V - trace(V)/K I, 0)
 *
 * A matrix (W, b) is K rows of K + 1 numbers, or of 2 where W is diagonal: W_kk and b_k. */
#include "solve/multinomial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { MOST_MIXED_CLASSES = 64, MOST_NEWTON_STEPS = 60, MOST_CG_STEPS = 200, MOST_HALVINGS = 30 };

static const double CLOSE_ENOUGH = 1e-12;    /* Newton's decrement per unit of weight */
static const double SUFFICIENT_SHARE = 1e-4; /* of the promised decrease */
static const double LOSS_ROUNDING = 1e-13;   /* relative */

typedef struct fit_state {
    size_t n, K;                                                           /* rows, classes */
    size_t columns, stride;                                                /* of W: K or 1; stride = columns + 1 */
    double *z;                                                             /* n x K: standardised scores */
    double *weight;                                                        /* n */
    size_t *class_index;                                                   /* n */
    double *class_weight;                                                  /* K */
    double total;                                                          /* weight */
    double *mean, *unit;                                                   /* K: z = (score - mean) * unit */
    double *p;                                                             /* n x K, at the current point */
    double *at, *step, *gradient, *residual, *direction, *product, *trial; /* K x stride */
    double *row;                                                           /* K */
} fit_state;

/* --- memory -------------------------------------------------------------------------------------------- */

static void clear_state(fit_state *s) {
    double **const arrays[] = {&s->z,         &s->weight,  &s->class_weight, &s->mean,     &s->unit,
                               &s->p,         &s->at,      &s->step,         &s->gradient, &s->residual,
                               &s->direction, &s->product, &s->trial,        &s->row};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) karma_i_free(*arrays[i]);
    karma_i_free(s->class_index);
}

static int allocate_state(fit_state *s) {
    double **const matrices[] = {&s->at, &s->step, &s->gradient, &s->residual, &s->direction, &s->product, &s->trial};
    int whole = 1;
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0]; i++)
        whole &= (*matrices[i] = karma_i_zalloc(s->K, s->stride * sizeof(double))) != NULL;
    s->z = karma_i_alloc(s->n, s->K * sizeof *s->z);
    s->p = karma_i_alloc(s->n, s->K * sizeof *s->p);
    s->weight = karma_i_alloc(s->n, sizeof *s->weight);
    s->class_index = karma_i_alloc(s->n, sizeof *s->class_index);
    s->class_weight = karma_i_zalloc(s->K, sizeof *s->class_weight);
    s->mean = karma_i_zalloc(s->K, sizeof *s->mean);
    s->unit = karma_i_zalloc(s->K, sizeof *s->unit);
    s->row = karma_i_alloc(s->K, sizeof *s->row);
    return whole && s->z && s->p && s->weight && s->class_index && s->class_weight && s->mean && s->unit && s->row;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* A row and its number of scores: the comparison function of qsort takes no other argument. */
typedef struct sortable {
    karma_i_scored row;
    size_t K;
} sortable;

/* By class, scores and weight. */
static int by_content(const void *a, const void *b) {
    const sortable *x = a, *y = b;
    if (x->row.class_index != y->row.class_index) return x->row.class_index < y->row.class_index ? -1 : 1;
    for (size_t k = 0; k < x->K; k++)
        if (x->row.scores[k] != y->row.scores[k]) return x->row.scores[k] < y->row.scores[k] ? -1 : 1;
    return (x->row.weight > y->row.weight) - (x->row.weight < y->row.weight);
}

static int are_alike(const karma_i_scored *a, const karma_i_scored *b, size_t K) {
    if (a->class_index != b->class_index) return 0;
    for (size_t k = 0; k < K; k++)
        if (a->scores[k] != b->scores[k]) return 0;
    return 1;
}

/* Sorts the rows and merges equal ones; *n is how many are left. */
static karma_status sort_rows(karma_i_scored *rows, size_t *n, size_t K, karma_error *err) {
    size_t kept = 0;
    sortable *sorted = karma_i_alloc(*n, sizeof *sorted);
    if (!sorted) return karma_i_fail_memory(err);
    for (size_t i = 0; i < *n; i++) sorted[i] = (sortable){rows[i], K};
    qsort(sorted, *n, sizeof *sorted, by_content);
    for (size_t i = 0; i < *n; i++) {
        if (kept > 0 && are_alike(&rows[kept - 1], &sorted[i].row, K))
            rows[kept - 1].weight += sorted[i].row.weight;
        else
            rows[kept++] = sorted[i].row;
    }
    *n = kept;
    karma_i_free(sorted);
    return KARMA_OK;
}

/* Mean and unit of output k over the rows. Scores are first divided by the largest, so that no square
 * overflows; an output with equal scores gets the unit 0. */
static void measure_output(fit_state *s, const karma_i_scored *rows, size_t k) {
    double largest = 0.0, mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < s->n; i++) largest = fmax(largest, fabs(rows[i].scores[k]));
    if (!(largest > 0.0)) return;
    for (size_t i = 0; i < s->n; i++) mean += rows[i].weight / s->total * (rows[i].scores[k] / largest);
    for (size_t i = 0; i < s->n; i++) {
        double away = rows[i].scores[k] / largest - mean;
        variance += rows[i].weight / s->total * away * away;
    }
    double unit = 1.0 / sqrt(variance) / largest;
    if (!(variance > 1e-24 && isfinite(unit))) return;
    s->mean[k] = mean * largest;
    s->unit[k] = unit;
}

static void take_rows(fit_state *s, const karma_i_scored *rows) {
    for (size_t i = 0; i < s->n; i++) {
        s->weight[i] = rows[i].weight;
        s->class_index[i] = rows[i].class_index;
        s->class_weight[rows[i].class_index] += rows[i].weight;
        s->total += rows[i].weight;
    }
    for (size_t k = 0; k < s->K; k++) measure_output(s, rows, k);
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->K; k++) s->z[i * s->K + k] = (rows[i].scores[k] - s->mean[k]) * s->unit[k];
}

static double target_of(const fit_state *s, size_t row, size_t k) {
    size_t own = s->class_index[row];
    double other = 1.0 / (s->class_weight[own] + 2.0);
    return k == own ? 1.0 - other : other / ((double)s->K - 1.0);
}

/* --- the objective ------------------------------------------------------------------------------------- */

static int is_diagonal(const fit_state *s) {
    return s->columns == 1;
}

/* Where W_kk of row k is. */
static size_t diagonal_of(const fit_state *s, size_t k) {
    return k * s->stride + (is_diagonal(s) ? 0 : k);
}

/* out_k = Σ_j W_kj z_j + b_k. */
static void map_row(double *out, const fit_state *s, const double *M, const double *z) {
    if (is_diagonal(s)) {
        for (size_t k = 0; k < s->K; k++) out[k] = M[2 * k + 1] + M[2 * k] * z[k];
        return;
    }
    for (size_t k = 0; k < s->K; k++) {
        const double *m = M + k * s->stride;
        double sum = m[s->K];
        for (size_t j = 0; j < s->K; j++) sum += m[j] * z[j];
        out[k] = sum;
    }
}

/* M += factors (z, 1)ᵀ. */
static void add_outer(double *M, const fit_state *s, const double *factors, const double *z) {
    for (size_t k = 0; k < s->K; k++) {
        double *m = M + k * s->stride;
        if (is_diagonal(s))
            m[0] += factors[k] * z[k];
        else
            for (size_t j = 0; j < s->K; j++) m[j] += factors[k] * z[j];
        m[s->columns] += factors[k];
    }
}

static double mean_slope(const fit_state *s, const double *M) {
    double trace = 0.0;
    for (size_t k = 0; k < s->K; k++) trace += M[diagonal_of(s, k)];
    return trace / (double)s->K;
}

/* The penalty's derivative, (M - trace(M)/K I, 0), added to out. */
static void add_penalty(double *out, const fit_state *s, const double *M) {
    double slope = mean_slope(s, M);
    for (size_t k = 0; k < s->K; k++)
        for (size_t at = k * s->stride; at < k * s->stride + s->columns; at++)
            out[at] += M[at] - (at == diagonal_of(s, k) ? slope : 0.0);
}

static double penalty(const fit_state *s, const double *M) {
    double slope = mean_slope(s, M), sum = 0.0;
    for (size_t k = 0; k < s->K; k++)
        for (size_t at = k * s->stride; at < k * s->stride + s->columns; at++) {
            double away = M[at] - (at == diagonal_of(s, k) ? slope : 0.0);
            sum += away * away;
        }
    return 0.5 * sum;
}

/* Returns the objective at M and sets p to the probabilities there. */
static double evaluate(fit_state *s, const double *M) {
    double loss = penalty(s, M);
    for (size_t i = 0; i < s->n; i++) {
        double *p = s->p + i * s->K, largest = -INFINITY, sum = 0.0, mean = 0.0;
        map_row(p, s, M, s->z + i * s->K);
        for (size_t k = 0; k < s->K; k++) largest = fmax(largest, p[k]);
        for (size_t k = 0; k < s->K; k++) {
            mean += target_of(s, i, k) * p[k];
            sum += p[k] = exp(p[k] - largest);
        }
        for (size_t k = 0; k < s->K; k++) p[k] /= sum;
        loss += s->weight[i] * (largest + log(sum) - mean);
    }
    return loss;
}

static void fill_gradient(fit_state *s) {
    memset(s->gradient, 0, s->K * s->stride * sizeof *s->gradient);
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->K; k++) s->row[k] = s->weight[i] * (s->p[i * s->K + k] - target_of(s, i, k));
        add_outer(s->gradient, s, s->row, s->z + i * s->K);
    }
    add_penalty(s->gradient, s, s->at);
}

/* product = Hessian times direction. */
static void multiply(fit_state *s) {
    memset(s->product, 0, s->K * s->stride * sizeof *s->product);
    for (size_t i = 0; i < s->n; i++) {
        const double *p = s->p + i * s->K;
        double mean = 0.0;
        map_row(s->row, s, s->direction, s->z + i * s->K);
        for (size_t k = 0; k < s->K; k++) mean += p[k] * s->row[k];
        for (size_t k = 0; k < s->K; k++) s->row[k] = s->weight[i] * p[k] * (s->row[k] - mean);
        add_outer(s->product, s, s->row, s->z + i * s->K);
    }
    add_penalty(s->product, s, s->direction);
}

/* --- Newton's method ----------------------------------------------------------------------------------- */

static double inner(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* step = -H⁻¹ gradient, to a relative accuracy that improves as the gradient falls; returns
 * -gradient·step. */
static double newton_step(fit_state *s) {
    size_t size = s->K * s->stride;
    double start = inner(s->gradient, s->gradient, size), rho = start;
    double enough = fmin(0.01, sqrt(start) / s->total);
    for (size_t i = 0; i < size; i++) {
        s->step[i] = 0.0;
        s->direction[i] = s->residual[i] = -s->gradient[i];
    }
    for (int round = 0; round < MOST_CG_STEPS && rho > enough * enough * start; round++) {
        multiply(s);
        double curvature = inner(s->direction, s->product, size);
        if (!(curvature > 0.0)) break;
        double length = rho / curvature, last = rho;
        for (size_t i = 0; i < size; i++) {
            s->step[i] += length * s->direction[i];
            s->residual[i] -= length * s->product[i];
        }
        rho = inner(s->residual, s->residual, size);
        for (size_t i = 0; i < size; i++) s->direction[i] = s->residual[i] + rho / last * s->direction[i];
    }
    return -inner(s->gradient, s->step, size);
}

/* Takes the whole step or, while the loss does not decrease enough, half of it. False if no part of it helps. */
static int backtrack(fit_state *s, double *loss, double promise) {
    size_t size = s->K * s->stride;
    for (int halvings = 0; halvings < MOST_HALVINGS; halvings++) {
        double length = ldexp(1.0, -halvings);
        for (size_t i = 0; i < size; i++) s->trial[i] = s->at[i] + length * s->step[i];
        double next = evaluate(s, s->trial);
        if (!(next <= *loss - SUFFICIENT_SHARE * length * promise + LOSS_ROUNDING * fabs(*loss))) continue;
        memcpy(s->at, s->trial, size * sizeof *s->at);
        *loss = next;
        return 1;
    }
    (void)evaluate(s, s->at);
    return 0;
}

static void minimise(fit_state *s) {
    for (size_t k = 0; k < s->K; k++)
        s->at[k * s->stride + s->columns] = log((s->class_weight[k] + 1.0) / (s->total + (double)s->K));
    double loss = evaluate(s, s->at);
    for (int round = 0; round < MOST_NEWTON_STEPS; round++) {
        fill_gradient(s);
        double promise = newton_step(s);
        if (!(promise > CLOSE_ENOUGH * s->total && isfinite(promise)) || !backtrack(s, &loss, promise)) break;
    }
}

/* From standardised scores back to scores. */
static void write_result(double *slope, double *offset, const fit_state *s) {
    for (size_t k = 0; k < s->K; k++) {
        const double *m = s->at + k * s->stride;
        offset[k] = m[s->columns];
        for (size_t j = 0; j < s->K; j++) {
            double own = !is_diagonal(s) ? m[j] : j == k ? m[0] : 0.0;
            slope[k * s->K + j] = own * s->unit[j];
            offset[k] -= own * s->unit[j] * s->mean[j];
        }
    }
}

karma_status karma_i_multinomial_fit(double *slope, double *offset, karma_i_scored *rows, size_t n_rows,
                                     size_t n_classes, karma_error *err) {
    KARMA_TRY(sort_rows(rows, &n_rows, n_classes, err));
    fit_state s = {.n = n_rows, .K = n_classes, .columns = n_classes > MOST_MIXED_CLASSES ? 1 : n_classes};
    s.stride = s.columns + 1;
    karma_status st = allocate_state(&s) ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        take_rows(&s, rows);
        minimise(&s);
        write_result(slope, offset, &s);
    }
    clear_state(&s);
    return st;
}
