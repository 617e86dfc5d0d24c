#include "search/average.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/outputs.h"
#include "search/judged_rows.h"

/* --- moments -------------------------------------------------------------------------------------------- */

void karma_i_moments_of_scores_clear(karma_i_moments_of_scores *m) {
    karma_i_free(m->A);
    karma_i_free(m->b);
    *m = (karma_i_moments_of_scores){0};
}

static void add_score(karma_i_moments_of_scores *m, const double *scores, double target, double weight) {
    m->square += weight * target * target;
    for (size_t i = 0; i < m->n; i++) {
        double weighted = weight * scores[i];
        m->b[i] += weighted * target;
        for (size_t j = 0; j <= i; j++) m->A[i * m->n + j] += weighted * scores[j];
    }
}

/* Sums over the rows that were left out; `scores`: scratch for one score of each run. */
static double add_head(karma_i_moments_of_scores *m, double *scores, const karma_i_race *race, const size_t *runs,
                       const karma_i_outputs *outputs, const karma_i_head *head) {
    size_t rows = race->table->n_rows, K = race->task->n_outputs;
    int is_number = head->labels.task == KARMA_TASK_REGRESS;
    double shift = is_number ? head->labels.shift : 0.0, factor = is_number ? head->labels.factor : 1.0, total = 0.0;
    for (size_t at = 0; at < race->folds->n_repeats * rows; at++)
        for (size_t k = head->first_output; k < head->first_output + head->n_outputs; k++) {
            double weight = outputs->weights[at % rows * K + k];
            if (!karma_i_row_is_judged(race, at / rows, at % rows) || !(weight > 0.0)) continue;
            for (size_t i = 0; i < m->n; i++)
                scores[i] = ((double)race->runs[runs[i]].scores[at * K + k] - shift) * factor;
            add_score(m, scores, outputs->targets[at % rows * K + k], weight);
            total += weight;
            m->n_rows += at < rows ? 1.0 : 0.0;
        }
    return total;
}

/* From sums to means; and the other half of A. */
static void divide(karma_i_moments_of_scores *m, double total) {
    for (size_t i = 0; i < m->n; i++) {
        m->b[i] /= total;
        for (size_t j = 0; j <= i; j++) m->A[j * m->n + i] = m->A[i * m->n + j] /= total;
    }
    m->square /= total;
}

karma_status karma_i_average_moments(karma_i_moments_of_scores *out, const karma_i_race *race, const size_t *runs,
                                     size_t n, karma_error *err) {
    karma_i_moments_of_scores m = {n, karma_i_zalloc(n, n * sizeof *m.A), karma_i_zalloc(n, sizeof *m.b), 0.0, 0.0};
    double *scores = karma_i_alloc(n, sizeof *scores), total = 0.0;
    karma_i_outputs outputs = {0};
    karma_status st =
        m.A && m.b && scores ? karma_i_outputs_fill(&outputs, race->task, race->table, err) : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < race->task->n_heads; t++)
        total += add_head(&m, scores, race, runs, &outputs, &race->task->heads[t]);
    if (st == KARMA_OK && total > 0.0) divide(&m, total);
    karma_i_outputs_clear(&outputs);
    karma_i_free(scores);
    if (st == KARMA_OK)
        *out = m;
    else
        karma_i_moments_of_scores_clear(&m);
    return st;
}

/* --- least squares --------------------------------------------------------------------------------------- */

/* min ½ w'Aw - b'w over w >= 0, by coordinate descent. */
void karma_i_average_stack(double *weights, const karma_i_moments_of_scores *m) {
    size_t n = m->n;
    for (size_t i = 0; i < n; i++) weights[i] = 0.0;
    for (int sweep = 0; sweep < 2000; sweep++) {
        double moved = 0.0;
        for (size_t i = 0; i < n; i++) {
            double slope = m->b[i];
            for (size_t j = 0; j < n; j++) slope -= m->A[i * n + j] * weights[j];
            if (!(m->A[i * n + i] > 0.0)) continue;
            double next = fmax(0.0, weights[i] + slope / m->A[i * n + i]);
            moved = fmax(moved, fabs(next - weights[i]));
            weights[i] = next;
        }
        if (moved < 1e-9) break;
    }
}

/* --- least squares with a prior ---------------------------------------------------------------------------- */

/* T of the header. On half of the tables of docs/search.md 2 to 10 were equally good. */
static const double SHARED_ERRORS = 5.0;
enum { MOST_STEPS = 2000 };
/* The search ends where a step lowers the objective by less. It is a log probability: smaller differences say
 * nothing. */
static const double LEAST_STEP = 1e-6;

/* Weights as logarithms: many are tiny. */
typedef struct point {
    double *log, *weight;
    double value;
} point;

/* What is minimised: strength (w'Aw - 2 b'w) + Σ w log(w / p). */
typedef struct objective {
    const karma_i_moments_of_scores *m;
    double strength;
    const double *log_prior;
    double *gradient; /* of its first part at the point where it was last computed */
} objective;

/* Scales the weights to the sum 1, and computes the value. */
static void settle(point *at, const objective *f) {
    size_t n = f->m->n;
    double most = -INFINITY, sum = 0.0, value = 0.0;
    for (size_t i = 0; i < n; i++) most = fmax(most, at->log[i]);
    for (size_t i = 0; i < n; i++) sum += exp(at->log[i] - most);
    for (size_t i = 0; i < n; i++) {
        at->log[i] -= most + log(sum);
        at->weight[i] = exp(at->log[i]);
    }
    for (size_t i = 0; i < n; i++) {
        double product = -2.0 * f->m->b[i];
        for (size_t j = 0; j < n; j++) product += f->m->A[i * n + j] * at->weight[j];
        value += at->weight[i] * (f->strength * product + at->log[i] - f->log_prior[i]);
    }
    at->value = value;
}

static void find_gradient(const objective *f, const point *at) {
    size_t n = f->m->n;
    for (size_t i = 0; i < n; i++) {
        double product = -f->m->b[i];
        for (size_t j = 0; j < n; j++) product += f->m->A[i * n + j] * at->weight[j];
        f->gradient[i] = 2.0 * f->strength * product;
    }
}

/* One step of mirror descent: the minimum of g'w + Σ w log(w / p) + 1/size Σ w log(w / w_now). */
static void take_step(point *next, const point *at, const objective *f, double size) {
    for (size_t i = 0; i < f->m->n; i++)
        next->log[i] = (at->log[i] + size * (f->log_prior[i] - f->gradient[i])) / (1.0 + size);
    settle(next, f);
}

/* Steps grow until one fails. The objective is convex: there are no local minima. */
static void minimise(point *at, point *next, const objective *f) {
    double size = 1.0 / (1.0 + f->strength);
    settle(at, f);
    for (int step = 0; step < MOST_STEPS; step++) {
        find_gradient(f, at);
        take_step(next, at, f, size);
        for (; next->value > at->value && size > DBL_EPSILON; take_step(next, at, f, size)) size *= 0.5;
        if (!(next->value < at->value)) return;
        int is_done = at->value - next->value < LEAST_STEP;
        point before = *at;
        *at = *next;
        *next = before;
        size *= 1.5;
        if (is_done) return;
    }
}

karma_status karma_i_average_reweigh(double *weights, const karma_i_moments_of_scores *m, karma_error *err) {
    size_t n = m->n;
    double error = m->A[0] - 2.0 * m->b[0] + m->square;
    if (!(error > DBL_EPSILON * m->square)) return KARMA_OK; /* run 0 cannot be improved */
    double *room = karma_i_alloc(n, 6 * sizeof *room);
    if (!room) return karma_i_fail_memory(err);
    point at = {room, room + n, 0.0}, next = {room + 2 * n, room + 3 * n, 0.0};
    objective f = {m, m->n_rows / (2.0 * SHARED_ERRORS * error), room + 4 * n, room + 5 * n};
    for (size_t i = 0; i < n; i++) at.log[i] = log(weights[i]);
    settle(&at, &(objective){m, 0.0, at.log, NULL}); /* p has the sum 1 */
    memcpy(room + 4 * n, at.log, n * sizeof *room);
    minimise(&at, &next, &f);
    memcpy(weights, at.weight, n * sizeof *weights);
    karma_i_free(room);
    return KARMA_OK;
}
