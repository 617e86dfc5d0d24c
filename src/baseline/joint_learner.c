/* Goldberg et al.'s MC-1 and MC-b as baselines: labels of the rows to be scored are missing cells of one matrix with
 * the training rows (baseline/joint.h). The method is transductive: all work is done when rows are scored,
 * using their features, and scores depend on the other rows scored with them. Features are standardised on
 * the training rows. More than two classes: a column of labels each, as their several tasks.
 *
 * Weights of the objective: λ = 0.1, about as good as 1 and 0.01 or better on synthetic low-rank rows, at the best
 * strength of each; μ a tenth of the largest of interest, divided by the strength. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "baseline/joint.h"
#include "baseline/baseline.h"

static const double LAMBDA = 0.1, MU = 0.1, TOLERANCE = 1e-4;

/* The matrix of both tables: training rows first. */
typedef struct work {
    karma_i_recipe *recipe;
    karma_i_grid train, test;
    double *labels, *weights, *x, *z, *bias;
} work;

static void clear_work(work *w) {
    karma_i_grid_clear(&w->train);
    karma_i_grid_clear(&w->test);
    karma_i_recipe_free(w->recipe);
    karma_i_free(w->labels);
    karma_i_free(w->weights);
    karma_i_free(w->x);
    karma_i_free(w->z);
    karma_i_free(w->bias);
}

static void put_rows(double *x, const karma_i_grid *rows) {
    memcpy(x, rows->x, rows->n_rows * rows->n_features * sizeof *x);
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t j = 0; j < rows->n_attributes; j++)
            for (size_t k = rows->first[j]; !karma_i_grid_has(rows, i, j) && k < rows->first[j + 1]; k++)
                x[i * rows->n_features + k] = NAN;
}

/* Labels and weights of training rows; those of the others are not known. */
static karma_status put_labels(work *w, const karma_i_learner *learner, size_t n_rows, karma_error *err) {
    size_t n_labels = learner->task->n_outputs, n_known = learner->train->n_rows * n_labels;
    double *targets = NULL, *weights = NULL;
    KARMA_TRY(karma_i_baseline_targets(&targets, &weights, learner, err));
    for (size_t k = 0; k < n_rows * n_labels; k++) {
        w->labels[k] = k < n_known ? targets[k] : NAN;
        w->weights[k] = k < n_known ? weights[k] : 0.0;
    }
    karma_i_free(targets);
    karma_i_free(weights);
    return KARMA_OK;
}

static karma_status fill_work(work *w, const karma_i_learner *learner, const karma_table *test, karma_error *err) {
    size_t n_labels = learner->task->n_outputs, n = learner->train->n_rows + test->n_rows;
    KARMA_TRY(karma_i_recipe_learn_indicators(&w->recipe, learner->train, err));
    KARMA_TRY(karma_i_grid_fill(&w->train, w->recipe, learner->train, err));
    KARMA_TRY(karma_i_grid_fill(&w->test, w->recipe, test, err));
    size_t p = w->train.n_features;
    w->labels = karma_i_alloc(n, n_labels * sizeof *w->labels);
    w->weights = karma_i_alloc(n, n_labels * sizeof *w->weights);
    w->x = karma_i_alloc(n, p * sizeof *w->x);
    w->z = karma_i_alloc(n, (n_labels + p + 1) * sizeof *w->z);
    w->bias = karma_i_alloc(n_labels, sizeof *w->bias);
    if (!w->labels || !w->weights || !w->x || !w->z || !w->bias) return karma_i_fail_memory(err);
    put_rows(w->x, &w->train);
    put_rows(w->x + learner->train->n_rows * p, &w->test);
    return put_labels(w, learner, n, err);
}

static karma_status score_by(int has_ones, double *scores, const karma_i_learner *learner, const karma_table *test,
                             const karma_hooks *hooks, karma_error *err) {
    size_t n_labels = learner->task->n_outputs, n_train = learner->train->n_rows;
    double mu = 0.0;
    work w = {0};
    karma_status st = fill_work(&w, learner, test, err);
    karma_i_joint joint = {.n_rows = n_train + test->n_rows,
                           .n_labels = n_labels,
                           .n_features = w.train.n_features,
                           .labels = w.labels,
                           .weights = w.weights,
                           .x = w.x,
                           .has_ones = has_ones,
                           .lambda = LAMBDA,
                           .mu = MU / learner->options.strength,
                           .tolerance = TOLERANCE};
    size_t width = karma_i_joint_width(&joint);
    if (st == KARMA_OK) st = karma_i_joint_complete(w.z, w.bias, &mu, &joint, hooks, err);
    for (size_t i = 0; st == KARMA_OK && i < test->n_rows; i++)
        for (size_t l = 0; l < n_labels; l++) scores[i * n_labels + l] = w.z[(n_train + i) * width + l] + w.bias[l];
    clear_work(&w);
    return st;
}

static karma_status score_mc_1(double *scores, const karma_i_learner *learner, const karma_table *test,
                               const karma_hooks *hooks, karma_error *err) {
    return score_by(1, scores, learner, test, hooks, err);
}

static karma_status score_mc_b(double *scores, const karma_i_learner *learner, const karma_table *test,
                               const karma_hooks *hooks, karma_error *err) {
    return score_by(0, scores, learner, test, hooks, err);
}

const karma_i_baseline karma_i_baseline_mc_1 = {
    "mc-1", "cells and labels completed together, a column of ones for the bias", 1, 1, NULL, score_mc_1, NULL, NULL,
    0};
const karma_i_baseline karma_i_baseline_mc_b = {
    "mc-b", "cells and labels completed together, an explicit bias", 1, 1, NULL, score_mc_b, NULL, NULL, 0};
