/* Slopes and offsets move the border between the classes. With few rows or many classes they are fitted to
 * noise, and decisions by such probabilities are worse than decisions by the scores. A single slope,
 *
 *     minimise over s >= 0:  Σ_i w_i [ ln Σ_k exp(s z_ik) - s Σ_k t_ik z_ik ],     t Platt's targets (multinomial.c),
 *
 * keeps every decision. Both are fitted to four fifths of the rows and judged on the rest, five times. The larger
 * sigmoid is taken if its log loss is better by more than one standard error of the difference and its decisions are
 * no worse. On scores of held-out rows of 15 small tables (docs/certainty.md) this rule had an accuracy of 0.8385 and a
 * log loss of 0.438, the larger sigmoid 0.8314 and 0.444, the one slope 0.8384 and 0.440. There a row's log loss had no
 * bound; now it is at most ln(n + 2), as Platt's targets for n rows know no smaller probability: otherwise one row
 * with absurd scores, as maps of high degree give an outlier, makes the standard error so large that nothing is clear.
 *
 * With two classes z = (0, score). */
#include "solve/calibrate_choice.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "solve/calibrate_sample.h"

enum { FOLDS = 5, LEAST_ROWS = 2 * FOLDS, MOST_STEPS = 100 };

/* Standard errors by which the log loss must be better. */
#define CLEARLY 1.0
/* Of the slope, relative. */
#define CLOSE_ENOUGH 1e-12

typedef karma_i_calibration_sample sample;

/* --- one slope ----------------------------------------------------------------------------------------- */

typedef struct slope_fit {
    const sample *s;
    const karma_i_calibration *bounds; /* low and high */
    double *class_weight;              /* n_classes */
} slope_fit;

static double score_of(const slope_fit *f, size_t row, size_t k) {
    const sample *s = f->s;
    if (s->n_outputs == 1 && k == 0) return 0.0;
    size_t o = s->n_outputs == 1 ? 0 : k;
    return fmax(f->bounds->low[o], fmin(f->bounds->high[o], s->scores[row * s->n_outputs + o]));
}

/* Platt's for two classes: a positive row has (N₊ + 1)/(N₊ + 2). */
static double target_of(const slope_fit *f, size_t row, size_t k) {
    size_t own = f->s->classes[row];
    double other = 1.0 / (f->class_weight[own] + 2.0);
    return k == own ? 1.0 - other : other / ((double)f->s->n_classes - 1.0);
}

/* First and second derivative of the objective at `slope`, per unit of weight. */
static double derivative(double *second, const slope_fit *f, double slope) {
    double first = 0.0, total = 0.0;
    *second = 0.0;
    for (size_t i = 0; i < f->s->n_rows; i++) {
        double weight = karma_i_calibration_weight(f->s, i), largest = -INFINITY, sum = 0.0, mean = 0.0, square = 0.0,
               wanted = 0.0;
        if (!(weight > 0.0)) continue;
        for (size_t k = 0; k < f->s->n_classes; k++) largest = fmax(largest, score_of(f, i, k));
        for (size_t k = 0; k < f->s->n_classes; k++) {
            double z = score_of(f, i, k) - largest, e = exp(slope * z);
            sum += e, mean += e * z, square += e * z * z;
            wanted += target_of(f, i, k) * z;
        }
        mean /= sum;
        first += weight * (mean - wanted);
        *second += weight * fmax(0.0, square / sum - mean * mean);
        total += weight;
    }
    *second /= total;
    return first / total;
}

/* The root of the derivative, which is increasing: Newton's steps within a bracket, which is halved when a
 * step leaves it. */
static double best_slope(const slope_fit *f) {
    double widest = 0.0, second, low = 0.0;
    for (size_t i = 0; i < f->s->n_rows; i++)
        for (size_t k = 0; karma_i_calibration_weight(f->s, i) > 0.0 && k < f->s->n_classes; k++)
            widest = fmax(widest, fabs(score_of(f, i, k)));
    if (!(widest > 0.0 && isfinite(1.0 / widest)) || derivative(&second, f, 0.0) >= 0.0) return 0.0;
    double high = 1.0 / widest, slope;
    for (int step = 0; step < MOST_STEPS && derivative(&second, f, high) < 0.0; step++) low = high, high *= 4.0;
    slope = high;
    for (int step = 0; step < MOST_STEPS && high - low > CLOSE_ENOUGH * high; step++) {
        double first = derivative(&second, f, slope);
        if (fabs(first) < CLOSE_ENOUGH * widest) break;
        *(first < 0.0 ? &low : &high) = slope;
        double next = slope - first / second;
        slope = next > low && next < high ? next : 0.5 * (low + high);
    }
    return slope;
}

/* Puts one slope in place of all slopes and offsets; the bounds stay. */
static karma_status set_one_slope(karma_i_calibration *c, const sample *s, karma_error *err) {
    slope_fit fit = {.s = s, .bounds = c, .class_weight = karma_i_zalloc(s->n_classes, sizeof(double))};
    if (!fit.class_weight) return karma_i_fail_memory(err);
    for (size_t i = 0; i < s->n_rows; i++)
        if (karma_i_calibration_weight(s, i) > 0.0) fit.class_weight[s->classes[i]] += karma_i_calibration_weight(s, i);
    double slope = best_slope(&fit);
    for (size_t k = 0; k < c->n_outputs; k++) {
        c->offset[k] = 0.0;
        for (size_t j = 0; j < c->n_outputs; j++) c->slope[k * c->n_outputs + j] = j == k ? slope : 0.0;
    }
    karma_i_free(fit.class_weight);
    return KARMA_OK;
}

static karma_status learn_all(karma_i_calibration *out, const sample *s, karma_error *err) {
    return karma_i_calibration_learn(out, KARMA_CALIBRATE_SIGMOID, s->scores, s->classes, s->weights, s->n_rows,
                                     s->n_classes, err);
}

/* A copy with the same bounds: one slope needs nothing else of the larger sigmoid. */
static karma_status copy_of(karma_i_calibration *out, const karma_i_calibration *c, size_t n_classes,
                            karma_error *err) {
    KARMA_TRY(karma_i_calibration_new(out, KARMA_CALIBRATE_SIGMOID, n_classes, 0, err));
    memcpy(out->low, c->low, c->n_outputs * sizeof *c->low);
    memcpy(out->high, c->high, c->n_outputs * sizeof *c->high);
    return KARMA_OK;
}

static karma_status learn_one(karma_i_calibration *out, const sample *s, karma_error *err) {
    KARMA_TRY(learn_all(out, s, err));
    karma_status st = set_one_slope(out, s, err);
    if (st != KARMA_OK) karma_i_calibration_clear(out);
    return st;
}

static sample sample_of(const double *scores, const size_t *classes, const double *weights, size_t n_rows,
                        size_t n_classes) {
    return (sample){scores, classes, weights, n_rows, n_classes, karma_i_calibration_outputs(n_classes)};
}

karma_status karma_i_calibration_learn_slope(karma_i_calibration *out, const double *scores, const size_t *classes,
                                             const double *weights, size_t n_rows, size_t n_classes, karma_error *err) {
    sample s = sample_of(scores, classes, weights, n_rows, n_classes);
    return learn_one(out, &s, err);
}

/* --- the choice ---------------------------------------------------------------------------------------- */

/* How much better the larger sigmoid is on held-out rows, in log loss and in right decisions. */
typedef struct tally {
    double weight, gain, square; /* Σ w, Σ w D, Σ w D², D the difference of a row's log losses */
    double least;                /* probability that counts */
    double decided; /* Σ w over rows that only the larger gets right, minus those that only one slope does */
} tally;

/* The log loss of one row, and whether its class is the most probable. */
static double judge(int *is_right, double *probabilities, const karma_i_calibration *c, const sample *s, size_t row,
                    double least) {
    const double *scores = s->scores + row * s->n_outputs;
    karma_i_calibration_apply(c, scores, probabilities);
    *is_right = karma_i_calibration_decide(c, scores) == s->classes[row];
    return -log(fmax(probabilities[s->classes[row]], least));
}

static void add_row(tally *t, double *probabilities, const karma_i_calibration *larger, const karma_i_calibration *one,
                    const sample *s, size_t row) {
    int is_right = 0, is_right_by_one = 0;
    double weight = karma_i_calibration_weight(s, row), gain;
    gain = judge(&is_right_by_one, probabilities, one, s, row, t->least);
    gain -= judge(&is_right, probabilities, larger, s, row, t->least);
    t->weight += weight;
    t->gain += weight * gain;
    t->square += weight * gain * gain;
    t->decided += weight * (is_right - is_right_by_one);
}

/* Rows of fold `held_out` are judged, the others are learned from. `weights`: scratch, n_rows. */
static karma_status judge_fold(tally *t, double *weights, double *probabilities, const sample *s, const int *fold,
                               int held_out, karma_error *err) {
    karma_i_calibration larger = {0}, one = {0};
    sample part = *s;
    double learned = 0.0;
    for (size_t i = 0; i < s->n_rows; i++) {
        weights[i] = fold[i] == held_out ? 0.0 : karma_i_calibration_weight(s, i);
        learned += weights[i];
    }
    if (!(learned > 0.0)) return KARMA_OK;
    part.weights = weights;
    KARMA_TRY(learn_all(&larger, &part, err));
    karma_status st = copy_of(&one, &larger, s->n_classes, err);
    if (st == KARMA_OK) st = set_one_slope(&one, &part, err);
    for (size_t i = 0; st == KARMA_OK && i < s->n_rows; i++)
        if (fold[i] == held_out && karma_i_calibration_weight(s, i) > 0.0)
            add_row(t, probabilities, &larger, &one, s, i);
    karma_i_calibration_clear(&larger);
    karma_i_calibration_clear(&one);
    return st;
}

/* Deals the rows that count to the folds in random order. Returns their number. */
static size_t assign_folds(int *fold, size_t *order, const sample *s) {
    size_t n = 0;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t i = 0; i < s->n_rows; i++) {
        fold[i] = FOLDS;
        if (karma_i_calibration_weight(s, i) > 0.0) order[n++] = i;
    }
    karma_i_rng_shuffle(&rng, order, n);
    for (size_t i = 0; i < n; i++) fold[order[i]] = (int)(i % FOLDS);
    return n;
}

static int is_needed(const tally *t) {
    double mean = t->gain / t->weight, variance = fmax(0.0, t->square / t->weight - mean * mean);
    return mean > CLEARLY * sqrt(variance / t->weight) && t->decided >= 0.0;
}

/* Whether the larger sigmoid is needed. It is if there are too few rows to compare, because one slope has no
 * prior. */
static karma_status is_larger_needed(int *needed, const sample *s, karma_error *err) {
    tally t = {0};
    int *fold = karma_i_alloc(s->n_rows, sizeof *fold);
    size_t *order = karma_i_alloc(s->n_rows, sizeof *order);
    double *weights = karma_i_alloc(s->n_rows, sizeof *weights);
    double *probabilities = karma_i_alloc(s->n_classes, sizeof *probabilities);
    karma_status st = fold && order && weights && probabilities ? KARMA_OK : karma_i_fail_memory(err);
    *needed = 1;
    size_t n = st == KARMA_OK ? assign_folds(fold, order, s) : 0;
    t.least = 1.0 / ((double)n + 2.0);
    if (st == KARMA_OK && n >= LEAST_ROWS) {
        for (int held_out = 0; held_out < FOLDS && st == KARMA_OK; held_out++)
            st = judge_fold(&t, weights, probabilities, s, fold, held_out, err);
        if (st == KARMA_OK) *needed = is_needed(&t);
    }
    karma_i_free(fold);
    karma_i_free(order);
    karma_i_free(weights);
    karma_i_free(probabilities);
    return st;
}

karma_status karma_i_calibration_choose(karma_i_calibration *out, const double *scores, const size_t *classes,
                                        const double *weights, size_t n_rows, size_t n_classes, karma_error *err) {
    sample s = sample_of(scores, classes, weights, n_rows, n_classes);
    karma_i_calibration c;
    int needed = 1;
    KARMA_TRY(learn_all(&c, &s, err)); /* first: it checks the arguments */
    karma_status st = is_larger_needed(&needed, &s, err);
    if (st == KARMA_OK && !needed) st = set_one_slope(&c, &s, err);
    if (st == KARMA_OK)
        *out = c;
    else
        karma_i_calibration_clear(&c);
    return st;
}
