#include "forest/forest_loss.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

/* If all targets are equal, log odds are infinite. */
static const double LEAST_SHARE = 1e-6;

/* Of the logistic loss, far from 0. */
static const double LEAST_CURVATURE = 1e-6;

int karma_i_forest_has_plain_hessian(const karma_i_forest_loss *loss) {
    return loss->kind == KARMA_I_FOREST_SQUARED || loss->kind == KARMA_I_FOREST_PINBALL;
}

/* ---- quantiles ---- */

typedef struct weighted {
    double value, weight;
} weighted;

static int by_value(const void *a, const void *b) {
    const weighted *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* The smallest value with at least this share of the weight at or below it; 0 if nothing has weight. */
static double quantile(weighted *items, size_t n, double share) {
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
        weighted *items = karma_i_alloc(n, sizeof *items);
        if (!items) return karma_i_fail_memory(err);
        for (size_t i = 0; i < n; i++) items[i] = (weighted){o->y[i], o->weight[i]};
        o->base = quantile(items, n, o->loss.kind == KARMA_I_FOREST_PINBALL ? o->loss.parameter : 0.5);
        karma_i_free(items);
    }
    return KARMA_OK;
}

karma_status karma_i_forest_output_init(karma_i_forest_output *out, const karma_i_forest_labels *labels, size_t output,
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

double karma_i_forest_step(const karma_i_forest_output *o, const double *scores, const double *gradient,
                           const double *hessian, const uint32_t *rows, size_t n_rows, const uint32_t *times, double l2,
                           double *room) {
    if (o->loss.kind == KARMA_I_FOREST_PINBALL) {
        weighted *items = (weighted *)(void *)room;
        for (size_t i = 0; i < n_rows; i++) {
            size_t row = rows[i];
            items[i] = (weighted){o->y[row] - scores[row], o->weight[row] * (times ? (double)times[row] : 1.0)};
        }
        return quantile(items, n_rows, o->loss.parameter);
    }
    double G = 0.0, H = l2;
    for (size_t i = 0; i < n_rows; i++) {
        double n = times ? (double)times[rows[i]] : 1.0;
        G += n * gradient[rows[i]];
        H += n * hessian[rows[i]];
    }
    return H > 0.0 ? -G / H : 0.0;
}
