#include "forest/forest_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* If all targets are equal, log odds are infinite. */
static const double LEAST_SHARE = 1e-6;

/* Of the size of gradients: what 1 divided by a unit needs to be finite. */
enum { LEAST_EXPONENT = -800 };

/* Of the logistic loss, far from 0. */
static const double LEAST_CURVATURE = 1e-6;

int karma_i_forest_has_plain_hessian(const karma_i_forest_loss *loss) {
    return loss->kind == KARMA_I_FOREST_SQUARED || loss->kind == KARMA_I_FOREST_PINBALL;
}

/* ---- quantiles ---- */

static int by_value(const void *a, const void *b) {
    const karma_i_residual *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

double karma_i_residual_quantile(karma_i_residual *items, size_t n, double share) {
    double total = 0.0, below = 0.0;
    qsort(items, n, sizeof *items, by_value);
    for (size_t i = 0; i < n; i++) total += items[i].weight;
    for (size_t i = 0; i < n; i++) {
        below += items[i].weight;
        if (items[i].weight > 0.0 && below >= share * total) return items[i].value;
    }
    return 0.0;
}

/* ---- one output ---- */

void karma_i_forest_output_clear(karma_i_forest_output *o) {
    karma_i_free(o->y);
    karma_i_free(o->weight);
    *o = (karma_i_forest_output){0};
}

static double weighted_mean(const karma_i_forest_output *o, size_t n) {
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < n; i++) sum += o->weight[i] * o->y[i], total += o->weight[i];
    return total > 0.0 ? sum / total : 0.0;
}

static void standardise(karma_i_forest_output *o, size_t n) {
    double square = 0.0, total = 0.0;
    o->centre = weighted_mean(o, n);
    for (size_t i = 0; i < n; i++) {
        o->y[i] -= o->centre;
        square += o->weight[i] * o->y[i] * o->y[i];
        total += o->weight[i];
    }
    o->scale = total > 0.0 && square > 0.0 ? sqrt(square / total) : 1.0;
    for (size_t i = 0; i < n; i++) o->y[i] = o->weight[i] > 0.0 ? o->y[i] / o->scale : 0.0;
    if (o->loss.kind == KARMA_I_FOREST_HUBER) o->loss.parameter /= o->scale;
}

static karma_status learn_base(karma_i_forest_output *o, size_t n, karma_error *err) {
    double mean = weighted_mean(o, n);
    if (o->loss.kind == KARMA_I_FOREST_LOGISTIC) {
        double share = fmin(fmax(0.5 * (1.0 + mean), LEAST_SHARE), 1.0 - LEAST_SHARE);
        o->base = log(share / (1.0 - share));
    } else if (o->loss.kind == KARMA_I_FOREST_SQUARED) {
        o->base = mean;
    } else {
        karma_i_residual *items = karma_i_alloc(n, sizeof *items);
        if (!items) return karma_i_fail_memory(err);
        for (size_t i = 0; i < n; i++) items[i] = (karma_i_residual){o->y[i], o->weight[i]};
        o->base = karma_i_residual_quantile(items, n, o->loss.kind == KARMA_I_FOREST_PINBALL ? o->loss.parameter : 0.5);
        karma_i_free(items);
    }
    return KARMA_OK;
}

static karma_status init_output(karma_i_forest_output *out, const karma_i_forest_labels *labels, size_t output,
                                size_t n_rows, karma_error *err) {
    size_t K = labels->n_outputs;
    karma_i_forest_output o = {.loss = labels->losses[output], .scale = 1.0};
    double total = 0.0, n_labelled = 0.0;
    o.y = karma_i_alloc(n_rows, sizeof *o.y);
    o.weight = karma_i_alloc(n_rows, sizeof *o.weight);
    karma_status st = o.y && o.weight ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++) {
        double target = labels->targets[i * K + output], weight = labels->weights[i * K + output];
        if (!(weight >= 0.0 && isfinite(weight)) || (weight > 0.0 && !isfinite(target)))
            st = karma_i_fail(err, KARMA_ERR_DATA, "row %zu has a target or a weight that is not a number", i);
        o.weight[i] = weight;
        o.y[i] = !(weight > 0.0) ? 0.0 : o.loss.kind == KARMA_I_FOREST_LOGISTIC ? (target > 0.0 ? 1.0 : -1.0) : target;
        total += weight;
        n_labelled += weight > 0.0;
    }
    for (size_t i = 0; st == KARMA_OK && total > 0.0 && i < n_rows; i++) o.weight[i] *= n_labelled / total;
    if (st == KARMA_OK && o.loss.kind != KARMA_I_FOREST_LOGISTIC) standardise(&o, n_rows);
    if (st == KARMA_OK) st = learn_base(&o, n_rows, err);
    if (st == KARMA_OK)
        *out = o;
    else
        karma_i_forest_output_clear(&o);
    return st;
}

/* Targets and weights of an output in all processes, one after the other. */
static karma_status gather_labels(karma_i_gathered *targets, karma_i_gathered *weights,
                                  const karma_i_forest_labels *labels, size_t output, size_t n_rows, karma_error *err) {
    double *own = karma_i_alloc(n_rows, 2 * sizeof *own);
    const karma_ranks *ranks = labels->split.ranks;
    if (!own) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n_rows; i++) {
        own[i] = labels->targets[i * labels->n_outputs + output];
        own[n_rows + i] = labels->weights[i * labels->n_outputs + output];
    }
    karma_status st = karma_i_ranks_gather(targets, own, n_rows * sizeof *own, ranks, err);
    if (st == KARMA_OK) st = karma_i_ranks_gather(weights, own + n_rows, n_rows * sizeof *own, ranks, err);
    karma_i_free(own);
    return st;
}

static karma_status keep_part(double **values, const karma_i_partition *split, karma_error *err) {
    double *own = karma_i_alloc(split->count, sizeof *own);
    if (!own) return karma_i_fail_memory(err);
    if (split->count) memcpy(own, *values + split->first, split->count * sizeof *own);
    karma_i_free(*values);
    *values = own;
    return KARMA_OK;
}

/* Every process learns from the labels of all rows, which are few bytes, and then keeps its own. */
static karma_status init_output_split(karma_i_forest_output *out, const karma_i_forest_labels *labels, size_t output,
                                      karma_error *err) {
    karma_i_gathered targets = {0}, weights = {0};
    karma_i_forest_output o = {0};
    karma_status st = gather_labels(&targets, &weights, labels, output, labels->split.count, err);
    const karma_i_forest_labels all = {1,
                                       (const double *)(const void *)targets.bytes,
                                       (const double *)(const void *)weights.bytes,
                                       &labels->losses[output],
                                       {NULL, 0, 0, 0}};
    if (st == KARMA_OK) st = init_output(&o, &all, 0, labels->split.n_rows, err);
    karma_i_gathered_clear(&targets);
    karma_i_gathered_clear(&weights);
    if (st == KARMA_OK) st = keep_part(&o.y, &labels->split, err);
    if (st == KARMA_OK) st = keep_part(&o.weight, &labels->split, err);
    if (st == KARMA_OK)
        *out = o;
    else
        karma_i_forest_output_clear(&o);
    return st;
}

karma_status karma_i_forest_output_init(karma_i_forest_output *out, const karma_i_forest_labels *labels, size_t output,
                                        size_t n_rows, karma_error *err) {
    int is_split = labels->split.ranks && labels->split.ranks->size > 1;
    return is_split ? init_output_split(out, labels, output, err) : init_output(out, labels, output, n_rows, err);
}

/* ---- steps ---- */

static double slope(const karma_i_forest_loss *loss, double y, double score) {
    double residual = y - score;
    switch (loss->kind) {
    case KARMA_I_FOREST_LOGISTIC:
        return -y / (1.0 + exp(y * score));
    case KARMA_I_FOREST_SQUARED:
        return -residual;
    case KARMA_I_FOREST_HUBER:
        return -fmax(fmin(residual, loss->parameter), -loss->parameter);
    case KARMA_I_FOREST_PINBALL:
        return residual > 0.0 ? -loss->parameter : residual < 0.0 ? 1.0 - loss->parameter : 0.0;
    }
    return 0.0;
}

/* For Huber's loss, which has no curvature beyond the parameter, the curvature of the parabola that touches
 * it from above; steps are then weighted means of residuals and never too long. */
static double curvature(const karma_i_forest_loss *loss, double y, double score, double g) {
    switch (loss->kind) {
    case KARMA_I_FOREST_LOGISTIC: {
        double odds = fabs(g) * (1.0 - fabs(g));
        return odds > LEAST_CURVATURE ? odds : LEAST_CURVATURE;
    }
    case KARMA_I_FOREST_HUBER:
        return fabs(y - score) > loss->parameter ? loss->parameter / fabs(y - score) : 1.0;
    case KARMA_I_FOREST_SQUARED:
    case KARMA_I_FOREST_PINBALL:
        break;
    }
    return 1.0;
}

void karma_i_forest_gradients(double *gradient, double *hessian, const karma_i_forest_output *o, const double *scores,
                              const uint32_t *rows, size_t n_rows) {
    for (size_t r = 0; r < n_rows; r++) {
        size_t i = rows[r];
        double g = slope(&o->loss, o->y[i], scores[i]);
        gradient[i] = o->weight[i] * g;
        hessian[i] = o->weight[i] * curvature(&o->loss, o->y[i], scores[i], g);
    }
}

static double loss_value(const karma_i_forest_loss *loss, double y, double score) {
    double residual = y - score, size = fabs(residual);
    switch (loss->kind) {
    case KARMA_I_FOREST_LOGISTIC:
        return fmax(-y * score, 0.0) + log1p(exp(-fabs(score)));
    case KARMA_I_FOREST_SQUARED:
        return 0.5 * residual * residual;
    case KARMA_I_FOREST_HUBER:
        return size <= loss->parameter ? 0.5 * size * size : loss->parameter * (size - 0.5 * loss->parameter);
    case KARMA_I_FOREST_PINBALL:
        return residual > 0.0 ? loss->parameter * residual : (loss->parameter - 1.0) * residual;
    }
    return 0.0;
}

double karma_i_forest_loss_sum(const karma_i_forest_output *o, const double *scores, const uint32_t *rows,
                               size_t n_rows) {
    double sum = 0.0;
    for (size_t i = 0; i < n_rows; i++)
        sum += o->weight[rows[i]] * loss_value(&o->loss, o->y[rows[i]], scores[rows[i]]);
    return sum;
}

/* --- steps ----------------------------------------------------------------------------------------------- */

/* A unit for which sums of n values up to `largest` fit into a word, and a unit for what is left. */
typedef struct units {
    double coarse, fine;
} units;

static units units_of(double largest, size_t n) {
    int exponent, bits = 62;
    while (n >> (62 - bits)) bits--;
    (void)frexp(largest, &exponent);
    if (exponent < LEAST_EXPONENT) exponent = LEAST_EXPONENT;
    double coarse = ldexp(1.0, exponent - bits);
    return (units){coarse, ldexp(coarse, -bits)};
}

static void add_exactly(uint64_t *sum, const double *value, const uint32_t *rows, size_t n_rows, units unit) {
    double coarse = 1.0 / unit.coarse, fine = 1.0 / unit.fine;
    uint64_t whole = 0, rest = 0;
    for (size_t r = 0; r < n_rows; r++) {
        long long rounded = llrint(value[rows[r]] * coarse);
        whole += (uint64_t)rounded;
        rest += (uint64_t)llrint((value[rows[r]] - (double)rounded * unit.coarse) * fine);
    }
    sum[0] = whole;
    sum[1] = rest;
}

karma_i_forest_sums karma_i_forest_sum(const double *gradient, const double *hessian, const uint32_t *rows,
                                       size_t n_rows, const karma_i_forest_sizes *sizes) {
    karma_i_forest_sums sums;
    add_exactly(sums.gradient, gradient, rows, n_rows, units_of(sizes->gradient, sizes->n_rows));
    add_exactly(sums.hessian, hessian, rows, n_rows, units_of(sizes->hessian, sizes->n_rows));
    return sums;
}

static double sum_of(const uint64_t *words, units unit) {
    return (double)(int64_t)words[0] * unit.coarse + (double)(int64_t)words[1] * unit.fine;
}

double karma_i_forest_step(const karma_i_forest_sums *sums, const karma_i_forest_sizes *sizes, double l2) {
    double G = sum_of(sums->gradient, units_of(sizes->gradient, sizes->n_rows));
    double H = sum_of(sums->hessian, units_of(sizes->hessian, sizes->n_rows)) + l2;
    return H > 0.0 ? -G / H : 0.0;
}
