/* Probabilities from scores. Each output is fitted separately: row i has score z_i, weight w_i, and y_i = 1
 * if it belongs to the output's class, else 0. We look for an increasing f with f(z) ≈ P(y = 1 | z). The
 * exception is the sigmoid of more than two classes, whose outputs are fitted together (solve/multinomial.c).
 *
 * Both methods start from the same blocks: rows of equal score form one block with its weight and its
 * positive weight, and blocks are sorted. So the order of the rows changes no bit, and neither does writing
 * one row of weight 2 as two rows.
 *
 * Sigmoid (Platt 1999; in the form of Lin, Lin and Weng 2007). f(z) = σ(slope z + offset) minimises
 *
 *     Σ_i w_i [ t_i softplus(-s_i) + (1 - t_i) softplus(s_i) ],    s_i = slope z_i + offset
 *
 *     softplus(s) = ln(1 + e^s),   t_i = (N₊ + 1)/(N₊ + 2) if y_i = 1, else 1/(N₋ + 2),   N± the weight of either side
 *
 * over slope >= 0, by Newton steps with backtracking on standardised scores. The targets t are not 0 and 1,
 * so that the minimum is finite even if the classes are separable. A single extreme score on the wrong side
 * would make the slope nearly 0 and all probabilities nearly the class shares. So scores are first cut off
 * far outside the range of nearly all rows (bounds_of_output), in learning and in use.
 *
 * Isotonic (Ayer et al. 1955; Zadrozny and Elkan 2002). f minimises Σ_i w_i (f(z_i) - y_i)² over all increasing
 * functions: pool adjacent violators. f is the share of positives in each block, and linear between blocks. */
#include "solve/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "solve/calibrate_sample.h"
#include "solve/multinomial.h"

#define LARGEST_TERM 1e290
#define MOST_WEIGHT  0x1.0p53 /* up to here (n + 1)/(n + 2) < 1 in double precision, and numbers of rows are exact */

/* --- the object ---------------------------------------------------------------------------------------- */

void karma_i_calibration_clear(karma_i_calibration *c) {
    karma_i_free(c->slope);
    karma_i_free(c->offset);
    karma_i_free(c->low);
    karma_i_free(c->high);
    karma_i_free(c->start);
    karma_i_free(c->at);
    karma_i_free(c->value);
    *c = (karma_i_calibration){.kind = KARMA_CALIBRATE_OFF};
}

karma_status karma_i_calibration_new(karma_i_calibration *out, karma_calibration kind, size_t n_classes, size_t n_knots,
                                     karma_error *err) {
    karma_i_calibration c = {.kind = kind};
    int whole = 1;
    if (kind != KARMA_CALIBRATE_OFF) c.n_outputs = karma_i_calibration_outputs(n_classes);
    if (kind == KARMA_CALIBRATE_SIGMOID) {
        c.slope = karma_i_zalloc(c.n_outputs, c.n_outputs * sizeof *c.slope);
        c.offset = karma_i_zalloc(c.n_outputs, sizeof *c.offset);
        c.low = karma_i_zalloc(c.n_outputs, sizeof *c.low);
        c.high = karma_i_zalloc(c.n_outputs, sizeof *c.high);
        whole = c.slope && c.offset && c.low && c.high;
    } else if (kind == KARMA_CALIBRATE_ISOTONIC) {
        c.n_knots = n_knots;
        c.start = karma_i_zalloc(c.n_outputs + 1, sizeof *c.start);
        c.at = karma_i_zalloc(n_knots, sizeof *c.at);
        c.value = karma_i_zalloc(n_knots, sizeof *c.value);
        whole = c.start && c.at && c.value;
    } else if (kind != KARMA_CALIBRATE_OFF) {
        return karma_i_fail(err, KARMA_ERR_OPTION, "calibration %d is unknown", (int)kind);
    }
    if (!whole) {
        karma_i_calibration_clear(&c);
        return karma_i_fail_memory(err);
    }
    *out = c;
    return KARMA_OK;
}

static karma_status validate_sigmoid(const karma_i_calibration *c, karma_error *err) {
    if (c->n_outputs == 1 && !(c->slope[0] >= 0.0))
        return karma_i_fail(err, KARMA_ERR_FORMAT, "a sigmoid of slope %g does not increase", c->slope[0]);
    for (size_t o = 0; o < c->n_outputs; o++) {
        int finite = isfinite(c->offset[o]);
        for (size_t j = 0; j < c->n_outputs; j++) finite &= isfinite(c->slope[o * c->n_outputs + j]);
        if (!finite) return karma_i_fail(err, KARMA_ERR_FORMAT, "output %zu: a slope or its offset is not finite", o);
        if (!(isfinite(c->low[o]) && isfinite(c->high[o]) && c->low[o] <= c->high[o]))
            return karma_i_fail(err, KARMA_ERR_FORMAT, "output %zu: %g to %g is no range of scores", o, c->low[o],
                                c->high[o]);
    }
    return KARMA_OK;
}

static karma_status validate_isotonic(const karma_i_calibration *c, karma_error *err) {
    for (size_t o = 0; o < c->n_outputs; o++)
        if (c->start[0] != 0 || c->start[o + 1] <= c->start[o])
            return karma_i_fail(err, KARMA_ERR_FORMAT, "output %zu has no proper range of knots", o);
    if (c->start[c->n_outputs] != c->n_knots)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%zu knots where %zu are used", c->n_knots, c->start[c->n_outputs]);
    for (size_t o = 0; o < c->n_outputs; o++)
        for (size_t k = c->start[o]; k < c->start[o + 1]; k++) {
            int first = k == c->start[o];
            if (!(isfinite(c->at[k]) && (first || c->at[k] > c->at[k - 1])))
                return karma_i_fail(err, KARMA_ERR_FORMAT, "knot %zu: its score %g is not above the last", k, c->at[k]);
            if (!(c->value[k] > 0.0 && c->value[k] < 1.0 && (first || c->value[k] >= c->value[k - 1])))
                return karma_i_fail(err, KARMA_ERR_FORMAT, "knot %zu: %g is not a probability at or above the last", k,
                                    c->value[k]);
        }
    return KARMA_OK;
}

karma_status karma_i_calibration_validate(const karma_i_calibration *c, size_t n_classes, karma_error *err) {
    int off = c->kind == KARMA_CALIBRATE_OFF;
    if (c->n_outputs != (off ? 0 : karma_i_calibration_outputs(n_classes)) || (!off && n_classes < 2))
        return karma_i_fail(err, KARMA_ERR_FORMAT, "a calibration of %zu outputs for %zu classes", c->n_outputs,
                            n_classes);
    switch (c->kind) {
    case KARMA_CALIBRATE_OFF:
        return KARMA_OK;
    case KARMA_CALIBRATE_SIGMOID:
        return validate_sigmoid(c, err);
    case KARMA_CALIBRATE_ISOTONIC:
        return validate_isotonic(c, err);
    case KARMA_CALIBRATE_AUTO: /* only once the kind is known */
    case KARMA_N_CALIBRATIONS:
        break;
    }
    return karma_i_fail(err, KARMA_ERR_FORMAT, "calibration %d is unknown", (int)c->kind);
}

static karma_status archive_arrays(karma_i_archive *a, karma_i_calibration *c) {
    if (c->kind == KARMA_CALIBRATE_SIGMOID) {
        KARMA_TRY(karma_i_archive_f64(a, "offset", &c->offset, karma_i_vector_shape(c->n_outputs), DBL_MAX));
        KARMA_TRY(karma_i_archive_f64(a, "low", &c->low, karma_i_vector_shape(c->n_outputs), DBL_MAX));
        KARMA_TRY(karma_i_archive_f64(a, "high", &c->high, karma_i_vector_shape(c->n_outputs), DBL_MAX));
        return karma_i_archive_f64(a, "slope", &c->slope, karma_i_matrix_shape(c->n_outputs, c->n_outputs), DBL_MAX);
    }
    KARMA_TRY(karma_i_archive_sizes(a, "start", &c->start, karma_i_vector_shape(c->n_outputs + 1)));
    KARMA_TRY(karma_i_archive_length(a, "at", &c->n_knots));
    KARMA_TRY(karma_i_archive_f64(a, "at", &c->at, karma_i_vector_shape(c->n_knots), DBL_MAX));
    return karma_i_archive_f64(a, "value", &c->value, karma_i_vector_shape(c->n_knots), 1.0);
}

karma_status karma_i_calibration_archive(karma_i_archive *a, karma_i_calibration *c, size_t n_classes) {
    static const char *const kinds[KARMA_N_CALIBRATIONS] = {
        [KARMA_CALIBRATE_SIGMOID] = "sigmoid", [KARMA_CALIBRATE_ISOTONIC] = "isotonic"};
    int is_there = c->kind != KARMA_CALIBRATE_OFF, kind = (int)c->kind;
    karma_error fault = {0};
    karma_i_archive_find(a, "calibration", &is_there);
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_enter(a, "calibration"));
    KARMA_TRY(karma_i_archive_word(a, "kind", &kind, kinds, KARMA_N_CALIBRATIONS));
    if (karma_i_archive_is_reading(a)) {
        c->kind = (karma_calibration)kind;
        c->n_outputs = karma_i_calibration_outputs(n_classes);
    }
    KARMA_TRY(archive_arrays(a, c));
    if (karma_i_calibration_validate(c, n_classes, &fault) != KARMA_OK)
        return karma_i_archive_fail(a, "its calibration: %s", fault.message);
    karma_i_archive_leave(a);
    return KARMA_OK;
}

/* --- applying ------------------------------------------------------------------------------------------ */

static double softplus(double s) {
    return fmax(s, 0.0) + log1p(exp(-fabs(s)));
}

static double sigmoid(double s) {
    double e = exp(-fabs(s));
    return (s < 0.0 ? e : 1.0) / (1.0 + e);
}

static double clamp(double x, double low, double high) {
    return fmax(low, fmin(high, x));
}

/* Σ_j slope_j z_j + offset of an output, z the scores within their bounds. Every term is cut off where larger
 * values change nothing, so that the sum is finite. */
static double argument(const karma_i_calibration *c, size_t output, const double *scores) {
    const double *slope = c->slope + output * c->n_outputs;
    double sum = c->offset[output];
    for (size_t j = 0; j < c->n_outputs; j++)
        if (slope[j] != 0.0) /* with many classes only a class's own slope is nonzero */
            sum += clamp(slope[j] * clamp(scores[j], c->low[j], c->high[j]), -LARGEST_TERM, LARGEST_TERM);
    return clamp(sum, -DBL_MAX, DBL_MAX);
}

/* The position of z between low and high, from 0 to 1. Halved if the difference exceeds the range of a double. */
static double progress(double z, double low, double high) {
    double unit = isfinite(high - low) ? 1.0 : 0.5;
    return (unit * z - unit * low) / (unit * high - unit * low);
}

static double interpolated(const karma_i_calibration *c, size_t output, double z) {
    size_t first = c->start[output], end = c->start[output + 1], low = first, high = end;
    while (low < high) { /* the first knot above z */
        size_t middle = low + (high - low) / 2;
        if (c->at[middle] <= z)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == first) return c->value[first];
    if (low == end) return c->value[end - 1];
    double from = c->value[low - 1], to = c->value[low];
    return fmin(to, from + (to - from) * progress(z, c->at[low - 1], c->at[low]));
}

/* ln p of one of several classes, up to a term common to all. */
static double log_share(const karma_i_calibration *c, size_t output, const double *scores) {
    return c->kind == KARMA_CALIBRATE_SIGMOID ? argument(c, output, scores)
                                              : log(interpolated(c, output, scores[output]));
}

/* x_k becomes exp(x_k) / Σ_j exp(x_j); the largest is subtracted first, so that the sum is at least 1. */
static void softmax(double *x, size_t n) {
    double largest = x[0], sum = 0.0;
    for (size_t k = 1; k < n; k++) largest = fmax(largest, x[k]);
    for (size_t k = 0; k < n; k++) sum += x[k] = exp(x[k] - largest);
    for (size_t k = 0; k < n; k++) x[k] /= sum;
}

void karma_i_calibration_apply(const karma_i_calibration *c, const double *scores, double *probabilities) {
    if (c->n_outputs > 1) {
        for (size_t k = 0; k < c->n_outputs; k++) probabilities[k] = log_share(c, k, scores);
        softmax(probabilities, c->n_outputs);
    } else if (c->kind == KARMA_CALIBRATE_SIGMOID) {
        double s = argument(c, 0, scores);
        probabilities[1] = sigmoid(s);
        probabilities[0] = sigmoid(-s); /* more digits than 1 - σ(s) */
    } else {
        probabilities[1] = interpolated(c, 0, scores[0]);
        probabilities[0] = 1.0 - probabilities[1];
    }
}

size_t karma_i_calibration_decide(const karma_i_calibration *c, const double *scores) {
    if (c->n_outputs == 1) {
        double probabilities[2];
        karma_i_calibration_apply(c, scores, probabilities);
        return probabilities[1] > probabilities[0];
    }
    size_t best = 0;
    double largest = log_share(c, 0, scores);
    for (size_t k = 1; k < c->n_outputs; k++) {
        double share = log_share(c, k, scores);
        if (share > largest) largest = share, best = k;
    }
    return best;
}

/* --- blocks of rows ------------------------------------------------------------------------------------ */

typedef karma_i_calibration_sample sample;

typedef struct block {
    double low, high; /* the scores of its rows lie between these */
    double weight;    /* of its rows */
    double positive;  /* of its rows of the output's class; never more than weight */
} block;

static karma_status check_sample(const sample *s, karma_error *err) {
    double total = 0.0;
    if (s->n_classes < 2)
        return karma_i_fail(err, KARMA_ERR_DATA, "probabilities need two classes or more, not %zu", s->n_classes);
    for (size_t i = 0; i < s->n_rows; i++) {
        double weight = karma_i_calibration_weight(s, i);
        if (!(weight >= 0.0 && isfinite(weight)))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: %g is not a weight", i + 1, weight);
        for (size_t o = 0; weight > 0.0 && o < s->n_outputs; o++)
            if (!isfinite(s->scores[i * s->n_outputs + o]))
                return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: its score is not finite", i + 1);
        total += weight;
    }
    if (!(total > 0.0))
        return karma_i_fail(err, KARMA_ERR_DATA, "no row with a known class to learn probabilities from");
    if (!(total <= MOST_WEIGHT))
        return karma_i_fail(err, KARMA_ERR_DATA, "the weights sum to %g, which is more than 2^53", total);
    return KARMA_OK;
}

/* By score; equal scores by weight and side, so that sums do not depend on the order of the rows. */
static int by_score(const void *a, const void *b) {
    const block *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    return (x->positive > y->positive) - (x->positive < y->positive);
}

static double share_of(const block *b) {
    return b->positive / b->weight;
}

static int tied(const block *before, const block *after) {
    return before->low == after->low;
}
static int not_ascending(const block *before, const block *after) {
    return share_of(before) >= share_of(after);
}

/* Pools adjacent violators until there are none. Returns the number of blocks left. */
static size_t pool(block *blocks, size_t n, int (*must_join)(const block *before, const block *after)) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        block last = blocks[i];
        for (; kept > 0 && must_join(&blocks[kept - 1], &last); kept--) {
            const block *before = &blocks[kept - 1];
            last = (block){before->low, last.high, before->weight + last.weight, before->positive + last.positive};
        }
        blocks[kept++] = last;
    }
    return kept;
}

/* One block per distinct score of the output, ascending. Returns their number. */
static size_t blocks_of_output(block *blocks, const sample *s, size_t output) {
    size_t n = 0, own_class = s->n_outputs == 1 ? 1 : output;
    for (size_t i = 0; i < s->n_rows; i++) {
        double weight = karma_i_calibration_weight(s, i),
               score = s->scores[i * s->n_outputs + output] + 0.0; /* -0 becomes 0 */
        if (weight > 0.0) blocks[n++] = (block){score, score, weight, s->classes[i] == own_class ? weight : 0.0};
    }
    qsort(blocks, n, sizeof *blocks, by_score);
    return pool(blocks, n, tied);
}

/* --- bounds -------------------------------------------------------------------------------------------- */

#define TRIMMED_SHARE 0.005 /* share of the weight at either end, and at least one row */

/* The first score beyond `trimmed` of the weight, going from `first` in steps of `step`. */
static double score_beyond(const block *blocks, size_t n, size_t first, ptrdiff_t step, double trimmed) {
    double passed = 0.0;
    const block *b = blocks + first;
    for (size_t i = 0; i + 1 < n && (passed += b->weight) <= trimmed; i++) b += step;
    return b->low;
}

/* [low - range, high + range] with range = high - low, where low to high are the scores left after trimming
 * TRIMMED_SHARE of the rows at either end. If these are all equal, nothing is cut off. */
static void bounds_of_output(double *low, double *high, const block *blocks, size_t n) {
    double total = 0.0;
    for (size_t i = 0; i < n; i++) total += blocks[i].weight;
    double trimmed = fmax(1.0, TRIMMED_SHARE * total);
    double from = score_beyond(blocks, n, 0, 1, trimmed), to = score_beyond(blocks, n, n - 1, -1, trimmed);
    double range = to - from;
    *low = range > 0.0 ? clamp(from - range, -DBL_MAX, from) : -DBL_MAX;
    *high = range > 0.0 ? clamp(to + range, to, DBL_MAX) : DBL_MAX;
}

/* Sets the bounds and returns the scores cut off at them, which the caller frees; NULL: out of memory. */
static double *cut_scores(karma_i_calibration *c, const sample *s) {
    size_t size = s->n_rows * s->n_outputs;
    double *scores = karma_i_alloc(s->n_rows, s->n_outputs * sizeof *scores);
    block *blocks = karma_i_alloc(s->n_rows, sizeof *blocks);
    if (scores && blocks) {
        for (size_t o = 0; o < s->n_outputs; o++)
            bounds_of_output(&c->low[o], &c->high[o], blocks, blocks_of_output(blocks, s, o));
        for (size_t i = 0; i < size; i++)
            scores[i] = clamp(s->scores[i], c->low[i % s->n_outputs], c->high[i % s->n_outputs]);
    } else {
        karma_i_free(scores);
        scores = NULL;
    }
    karma_i_free(blocks);
    return scores;
}

/* --- sigmoid ------------------------------------------------------------------------------------------- */

#define CLOSE_ENOUGH     1e-24 /* Newton's gᵀH⁻¹g: twice the decrease of the mean loss that is still possible */
#define SUFFICIENT_SHARE 1e-4  /* of the promised decrease */
#define LOSS_ROUNDING    1e-12

enum { MOST_NEWTON_STEPS = 100, MOST_HALVINGS = 34 };

typedef struct line {
    double slope, offset;
} line;

typedef struct sides {
    double positive, negative;
} sides;

static sides weights_of_sides(const block *blocks, size_t n) {
    sides sum = {0.0, 0.0};
    for (size_t i = 0; i < n; i++) {
        sum.positive += blocks[i].positive;
        sum.negative += blocks[i].weight - blocks[i].positive;
    }
    return sum;
}

/* Positives become Σ w t, and weights become shares of the total. */
static void smooth_targets(block *blocks, size_t n) {
    sides N = weights_of_sides(blocks, n);
    double total = N.positive + N.negative, high = (N.positive + 1.0) / (N.positive + 2.0);
    double low = 1.0 / (N.negative + 2.0);
    for (size_t i = 0; i < n; i++) {
        block *b = &blocks[i];
        b->positive = (high * b->positive + low * (b->weight - b->positive)) / total;
        b->weight /= total;
    }
}

/* Turns the scores into (z - mean)/sd and returns the line that does so. A slope that is not positive and
 * finite means that the scores do not differ. Scores are first divided by the largest, so that no square
 * overflows. */
static line standardise(block *blocks, size_t n) {
    double largest = fmax(fabs(blocks[0].low), fabs(blocks[n - 1].low)), mean = 0.0, variance = 0.0;
    for (size_t i = 0; i < n; i++) mean += blocks[i].weight * (blocks[i].low /= largest);
    for (size_t i = 0; i < n; i++) {
        double away = blocks[i].low -= mean;
        variance += blocks[i].weight * away * away;
    }
    double deviation = sqrt(variance);
    for (size_t i = 0; i < n; i++) blocks[i].low /= deviation;
    return (line){1.0 / deviation / largest, -mean / deviation};
}

/* The best line of slope 0: ln(p/(1-p)), p the mean target. */
static line level(const block *blocks, size_t n) {
    sides targets = weights_of_sides(blocks, n);
    return (line){0.0, log(targets.positive / targets.negative)};
}

static double loss_of(const block *blocks, size_t n, line f) {
    double loss = 0.0;
    for (size_t i = 0; i < n; i++) {
        double s = f.slope * blocks[i].low + f.offset;
        loss += blocks[i].positive * softplus(-s) + (blocks[i].weight - blocks[i].positive) * softplus(s);
    }
    return loss;
}

/* step = -H⁻¹g; gives gᵀH⁻¹g. With x = (z, 1): g = Σ (w σ(s) - w t) x,  H = Σ w σ(s) σ(-s) x xᵀ. */
static double newton_step(line *step, const block *blocks, size_t n, line f) {
    double g_slope = 0.0, g_offset = 0.0, h_slope = 0.0, h_both = 0.0, h_offset = 0.0;
    for (size_t i = 0; i < n; i++) {
        double z = blocks[i].low, s = f.slope * z + f.offset;
        double g = blocks[i].weight * sigmoid(s) - blocks[i].positive;
        double h = blocks[i].weight * sigmoid(s) * sigmoid(-s);
        g_slope += g * z, g_offset += g;
        h_slope += h * z * z, h_both += h * z, h_offset += h;
    }
    double ridge = 1e-14 * (h_slope + h_offset); /* H is singular where one block has all the curvature */
    h_slope += ridge, h_offset += ridge;
    double determinant = h_slope * h_offset - h_both * h_both;
    step->slope = (h_both * g_offset - h_offset * g_slope) / determinant;
    step->offset = (h_both * g_slope - h_slope * g_offset) / determinant;
    return -(g_slope * step->slope + g_offset * step->offset);
}

/* Takes the whole step or, while the loss does not decrease enough, half of it. False if no part of it helps. */
static int backtrack(line *f, double *loss, const block *blocks, size_t n, line step, double promise) {
    for (int halvings = 0; halvings < MOST_HALVINGS; halvings++) {
        double length = ldexp(1.0, -halvings);
        line next = {f->slope + length * step.slope, f->offset + length * step.offset};
        double next_loss = loss_of(blocks, n, next);
        if (!(next_loss <= *loss - SUFFICIENT_SHARE * length * promise + LOSS_ROUNDING)) continue;
        *f = next, *loss = next_loss;
        return 1;
    }
    return 0;
}

static line minimise(const block *blocks, size_t n, line f) {
    double loss = loss_of(blocks, n, f);
    for (int round = 0; round < MOST_NEWTON_STEPS; round++) {
        line step;
        double promise = newton_step(&step, blocks, n, f);
        if (!(promise > CLOSE_ENOUGH && isfinite(promise))) break;
        if (!backtrack(&f, &loss, blocks, n, step, promise)) break;
    }
    return f;
}

/* The loss is convex: if its minimum has no positive slope, the best slope >= 0 is 0. If score and target are
 * uncorrelated but for rounding, the search ends where it starts, at a slope of exactly 0. */
static line fit_sigmoid(block *blocks, size_t n) {
    smooth_targets(blocks, n);
    line constant = level(blocks, n);
    if (n == 1) return constant;
    line unit = standardise(blocks, n);
    if (!(unit.slope > 0.0 && isfinite(unit.slope))) return constant;
    line f = minimise(blocks, n, constant);
    line back = {f.slope * unit.slope, f.offset + f.slope * unit.offset};
    return back.slope > 0.0 && isfinite(back.slope) && isfinite(back.offset) ? back : constant;
}

/* --- isotonic ------------------------------------------------------------------------------------------ */

/* The share of positives. A block with only one class (it must be the first or the last) does not prove that
 * the other class is impossible: it gets Laplace's (positive + 1)/(weight + 2), limited by its neighbour's
 * value. */
static double value_of(const block *blocks, size_t n, size_t i) {
    double share = share_of(&blocks[i]), laplace = (blocks[i].positive + 1.0) / (blocks[i].weight + 2.0);
    if (share == 0.0) return i + 1 < n ? fmin(laplace, share_of(&blocks[i + 1])) : laplace;
    if (share == 1.0) return i > 0 ? fmax(laplace, share_of(&blocks[i - 1])) : laplace;
    return share;
}

static void add_knot(karma_i_calibration *c, double at, double value) {
    c->at[c->n_knots] = at;
    c->value[c->n_knots++] = value;
}

static int reserve_knots(karma_i_calibration *c, size_t n) {
    double *at = karma_i_realloc(c->at, n, sizeof *at);
    if (at) c->at = at;
    double *value = karma_i_realloc(c->value, n, sizeof *value);
    if (value) c->value = value;
    return at && value;
}

/* One knot at either end of every block, output by output. */
static karma_status fit_isotonic(karma_i_calibration *c, size_t output, block *blocks, size_t n, karma_error *err) {
    n = pool(blocks, n, not_ascending);
    if (!reserve_knots(c, c->n_knots + 2 * n)) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        double value = value_of(blocks, n, i);
        add_knot(c, blocks[i].low, value);
        if (blocks[i].high > blocks[i].low) add_knot(c, blocks[i].high, value);
    }
    c->start[output + 1] = c->n_knots;
    return KARMA_OK;
}

/* --- learning ------------------------------------------------------------------------------------------ */

static karma_status learn_outputs(karma_i_calibration *c, const sample *s, karma_error *err) {
    block *blocks = karma_i_alloc(s->n_rows, sizeof *blocks);
    karma_status st = blocks ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t o = 0; st == KARMA_OK && o < c->n_outputs; o++) {
        size_t n = blocks_of_output(blocks, s, o);
        if (c->kind == KARMA_CALIBRATE_SIGMOID) { /* the only output */
            line f = fit_sigmoid(blocks, n);
            c->slope[o] = f.slope, c->offset[o] = f.offset;
        } else {
            st = fit_isotonic(c, o, blocks, n, err);
        }
    }
    karma_i_free(blocks);
    return st;
}

/* The sigmoid of more than two classes. */
static karma_status learn_together(karma_i_calibration *c, const sample *s, karma_error *err) {
    karma_i_scored *rows = karma_i_alloc(s->n_rows, sizeof *rows);
    size_t n = 0;
    if (!rows) return karma_i_fail_memory(err);
    for (size_t i = 0; i < s->n_rows; i++)
        if (karma_i_calibration_weight(s, i) > 0.0)
            rows[n++] = (karma_i_scored){s->scores + i * s->n_outputs, s->classes[i], karma_i_calibration_weight(s, i)};
    karma_status st = karma_i_multinomial_fit(c->slope, c->offset, rows, n, s->n_classes, err);
    karma_i_free(rows);
    return st;
}

karma_status karma_i_calibration_learn(karma_i_calibration *out, karma_calibration kind, const double *scores,
                                       const size_t *classes, const double *weights, size_t n_rows, size_t n_classes,
                                       karma_error *err) {
    sample s = {scores, classes, weights, n_rows, n_classes, karma_i_calibration_outputs(n_classes)};
    karma_i_calibration c;
    if (kind != KARMA_CALIBRATE_OFF) KARMA_TRY(check_sample(&s, err));
    KARMA_TRY(karma_i_calibration_new(&c, kind, n_classes, 0, err));
    double *cut = NULL;
    karma_status st = KARMA_OK;
    if (kind == KARMA_CALIBRATE_SIGMOID) {
        cut = cut_scores(&c, &s);
        s.scores = cut;
        if (!cut) st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK && kind == KARMA_CALIBRATE_SIGMOID && n_classes > 2)
        st = learn_together(&c, &s, err);
    else if (st == KARMA_OK && kind != KARMA_CALIBRATE_OFF)
        st = learn_outputs(&c, &s, err);
    karma_i_free(cut);
    if (st == KARMA_OK)
        *out = c;
    else
        karma_i_calibration_clear(&c);
    return st;
}
