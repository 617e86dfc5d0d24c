/* The geometric margin of Chechik, Heitz, Elidan, Abbeel and Koller (Max-margin classification of data with absent
 * features, 2008): a row's margin is measured in the subspace of the attributes that it has, so a linear
 * classifier w pays for row i
 *
 *     max(0, 1 - y_i (w·x_i + b)/s_i),   s_i = |w_o(i)|/|w|,  w_o(i) the part of w that row i sees.
 *
 * As s depends on w the problem is not convex. Their iteration: solve the support vector machine for given s, starting
 * from s = 1 (which is 0-imputation); take s from its w; again. It need not converge. It stops when s no
 * longer changes or after MOST_ROUNDS, and keeps the w for which
 *
 *     J(w) = ½(|w|² + b²) + C/m Σ_i weight_i max(0, 1 - y_i (w·x_i + b)/s_i(w))
 *
 * was smallest, so by their own criterion the answer is never worse than 0-imputation. For given s the
 * machine is an ordinary one on the rows (x_i, 1)/s_i, solved by the batch solver. C is chosen as by
 * karma_fit for s = 1. The score of a new row is w·x + b over its observed attributes: dividing by s > 0
 * would not change the class. More than two classes: one against the others. Rows without any cell have no
 * margin and are left out of training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "baseline/baseline.h"

enum { MOST_ROUNDS = 20 };
static const double LEAST_PART = 1e-3; /* lower bound of s, for rows that observe almost none of w */
static const double STEADY = 1e-3;     /* the iteration ends when no s changes by more than this */
static const double LEAST_TOLERANCE = 1e-4;

/* One classifier per output: the weights of all features, then the bias. */
typedef struct geom {
    karma_i_recipe *recipe;
    double *w;
} geom;

static void forget(void *state) {
    geom *g = state;
    karma_i_recipe_free(g->recipe);
    karma_i_free(g->w);
    karma_i_free(g);
}

/* The state of the rounds for one output. */
typedef struct work {
    const karma_i_learner *learner;
    const karma_i_grid *rows;
    const size_t *used; /* the rows that have a cell */
    size_t n;           /* how many */
    double *y, *weight; /* of those */
    double *s, *next_s;
    double *cells;    /* their scaled rows, n_features + 1 each */
    double *identity; /* n_features + 1 rows, whose scores are the weights */
    double C;
} work;

static void clear_work(work *k) {
    karma_i_free(k->y);
    karma_i_free(k->weight);
    karma_i_free(k->s);
    karma_i_free(k->next_s);
    karma_i_free(k->cells);
    karma_i_free(k->identity);
}

static karma_status init_work(work *k, const karma_i_learner *learner, const karma_i_grid *rows, const size_t *used,
                              size_t n, karma_error *err) {
    size_t p = rows->n_features + 1;
    *k = (work){.learner = learner,
                .rows = rows,
                .used = used,
                .n = n,
                .y = karma_i_alloc(n, sizeof *k->y),
                .weight = karma_i_alloc(n, sizeof *k->weight),
                .s = karma_i_alloc(n, sizeof *k->s),
                .next_s = karma_i_alloc(n, sizeof *k->next_s),
                .cells = karma_i_alloc(n, p * sizeof *k->cells),
                .identity = karma_i_zalloc(p, p * sizeof *k->identity)};
    if (!k->y || !k->weight || !k->s || !k->next_s || !k->cells || !k->identity) return karma_i_fail_memory(err);
    for (size_t j = 0; j < p; j++) k->identity[j * p + j] = 1.0;
    return KARMA_OK;
}

static const double *row_of(const work *k, size_t i) {
    return k->rows->x + k->used[i] * k->rows->n_features;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t j = 0; j < n; j++) sum += a[j] * b[j];
    return sum;
}

/* C = m / mean k(x, x) for k = x·x' + 1, times the strength; or the value in the options. */
static double choose_C(const work *k) {
    size_t p = k->rows->n_features;
    double sum = 0.0, wanted = k->learner->task->options.C;
    for (size_t i = 0; i < k->n; i++) sum += dot(row_of(k, i), row_of(k, i), p) + 1.0;
    return k->learner->options.strength * (wanted == KARMA_AUTO ? (double)k->n * (double)k->n / sum : wanted);
}

/* s_i(w); 1 where w is 0. */
static void take_parts(double *s, const work *k, const double *w) {
    const karma_i_grid *g = k->rows;
    double all = dot(w, w, g->n_features);
    for (size_t i = 0; i < k->n; i++) {
        double seen = 0.0;
        for (size_t j = 0; j < g->n_attributes; j++)
            if (karma_i_grid_has(k->rows, k->used[i], j))
                seen += dot(w + g->first[j], w + g->first[j], g->first[j + 1] - g->first[j]);
        s[i] = all > 0.0 ? fmax(sqrt(seen / all), LEAST_PART) : 1.0;
    }
}

/* J(w), given its s. */
static double objective(const work *k, const double *w, const double *s) {
    size_t p = k->rows->n_features;
    double loss = 0.0;
    for (size_t i = 0; i < k->n; i++)
        loss += k->weight[i] * fmax(0.0, 1.0 - k->y[i] * (dot(w, row_of(k, i), p) + w[p]) / s[i]);
    return 0.5 * dot(w, w, p + 1) + k->C / (double)k->n * loss;
}

static void scale_rows(work *k) {
    size_t p = k->rows->n_features;
    for (size_t i = 0; i < k->n; i++) {
        double *cells = k->cells + i * (p + 1);
        for (size_t j = 0; j < p; j++) cells[j] = row_of(k, i)[j] / k->s[i];
        cells[p] = 1.0 / k->s[i];
    }
}

static karma_status machine_table(karma_table **out, const work *k, karma_error *err) {
    KARMA_TRY(karma_table_from_array(out, k->cells, k->n, k->rows->n_features + 1, NULL, err));
    KARMA_TRY(karma_table_add_target_numbers(*out, "y", k->y, err));
    return karma_table_set_row_weights(*out, k->weight, err);
}

/* The support vector machine of the rows divided by s. */
static karma_status solve(double *w, work *k, const karma_hooks *hooks, karma_error *err) {
    const karma_fit_options *task = &k->learner->task->options;
    size_t p = k->rows->n_features + 1;
    karma_fit_options options;
    karma_table *table = NULL, *unit = NULL;
    karma_model *model = NULL;
    karma_options_init(karma_fit_option_table(), &options);
    options.task = KARMA_TASK_CLASSIFY;
    options.loss = KARMA_LOSS_HINGE;
    options.gamma = 1;
    options.bias = 0.0;
    options.standardise = 0;
    options.C = k->C;
    options.tolerance = fmin(task->tolerance, LEAST_TOLERANCE);
    options.passes = task->passes;
    options.memory = task->memory;
    options.threads = task->threads;
    scale_rows(k);
    karma_status st = machine_table(&table, k, err);
    if (st == KARMA_OK) st = karma_fit(&model, table, &options, hooks, err);
    if (st == KARMA_OK) st = karma_table_from_array(&unit, k->identity, p, p, NULL, err);
    if (st == KARMA_OK) st = karma_predict(w, model, unit, (size_t)options.threads, NULL, err);
    karma_model_free(model);
    karma_table_free(unit);
    karma_table_free(table);
    return st;
}

static double largest_change(const double *a, const double *b, size_t n) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(a[i] - b[i]));
    return largest;
}

/* The rounds. `best` receives p + 1 numbers. */
static karma_status iterate(double *best, work *k, const karma_hooks *hooks, karma_error *err) {
    size_t p = k->rows->n_features + 1;
    double *w = karma_i_alloc(p, sizeof *w), least = INFINITY;
    if (!w) return karma_i_fail_memory(err);
    for (size_t i = 0; i < k->n; i++) k->s[i] = 1.0;
    karma_status st = KARMA_OK;
    for (int round = 0; st == KARMA_OK && round < MOST_ROUNDS; round++) {
        st = solve(w, k, hooks, err);
        if (st != KARMA_OK) break;
        take_parts(k->next_s, k, w);
        double value = objective(k, w, k->next_s);
        if (value < least) {
            least = value;
            memcpy(best, w, p * sizeof *w);
        }
        double change = largest_change(k->s, k->next_s, k->n);
        memcpy(k->s, k->next_s, k->n * sizeof *k->s);
        if (change < STEADY) break;
    }
    karma_i_free(w);
    return st;
}

/* Labels and weights of the used rows for one output, the weights with mean 1. False: the rows are of one class. */
static int take_output(work *k, const double *targets, const double *weights, size_t output) {
    size_t n_outputs = k->learner->task->n_outputs, n_positive = 0;
    double sum = 0.0;
    for (size_t i = 0; i < k->n; i++) {
        k->y[i] = targets[k->used[i] * n_outputs + output];
        k->weight[i] = weights[k->used[i] * n_outputs + output];
        n_positive += k->y[i] > 0.0;
        sum += k->weight[i] / (double)k->n;
    }
    for (size_t i = 0; sum > 0.0 && i < k->n; i++) k->weight[i] /= sum;
    return n_positive > 0 && n_positive < k->n;
}

static karma_status learn_outputs(geom *g, work *k, const karma_hooks *hooks, karma_error *err) {
    size_t p = karma_i_recipe_n_features(g->recipe) + 1;
    double *targets = NULL, *weights = NULL;
    KARMA_TRY(karma_i_baseline_targets(&targets, &weights, k->learner, err));
    karma_status st = KARMA_OK;
    k->C = choose_C(k);
    for (size_t o = 0; st == KARMA_OK && o < k->learner->task->n_outputs; o++) {
        double *w = g->w + o * p;
        if (take_output(k, targets, weights, o))
            st = iterate(w, k, hooks, err);
        else
            w[p - 1] = k->y[0]; /* the one class, always */
    }
    karma_i_free(targets);
    karma_i_free(weights);
    return st;
}

static int has_any(const karma_i_grid *rows, size_t row) {
    for (size_t j = 0; j < rows->n_attributes; j++)
        if (karma_i_grid_has(rows, row, j)) return 1;
    return 0;
}

static karma_status learn_into(geom *g, const karma_i_learner *learner, const karma_hooks *hooks, karma_error *err) {
    karma_i_grid rows = {0};
    work k = {0};
    KARMA_TRY(karma_i_recipe_learn_indicators(&g->recipe, learner->train, err));
    KARMA_TRY(karma_i_grid_fill(&rows, g->recipe, learner->train, err));
    size_t *used = karma_i_alloc(rows.n_rows, sizeof *used), n = 0;
    for (size_t i = 0; used && i < rows.n_rows; i++)
        if (has_any(&rows, i)) used[n++] = i;
    g->w = karma_i_zalloc(learner->task->n_outputs, (karma_i_recipe_n_features(g->recipe) + 1) * sizeof *g->w);
    karma_status st = used && g->w ? init_work(&k, learner, &rows, used, n, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = learn_outputs(g, &k, hooks, err);
    clear_work(&k);
    karma_i_free(used);
    karma_i_grid_clear(&rows);
    return st;
}

static karma_status learn(void **state, const karma_i_learner *learner, const karma_hooks *hooks, karma_error *err) {
    geom *g = karma_i_zalloc(1, sizeof *g);
    if (!g) return karma_i_fail_memory(err);
    karma_status st = learn_into(g, learner, hooks, err);
    if (st == KARMA_OK)
        *state = g;
    else
        forget(g);
    return st;
}

static karma_status score(double *scores, const karma_i_learner *learner, const karma_table *test,
                          const karma_hooks *hooks, karma_error *err) {
    (void)hooks;
    const geom *g = learner->state;
    size_t p = karma_i_recipe_n_features(g->recipe), n_outputs = learner->task->n_outputs;
    karma_i_grid rows = {0};
    KARMA_TRY(karma_i_grid_fill(&rows, g->recipe, test, err));
    for (size_t i = 0; i < rows.n_rows; i++)
        for (size_t o = 0; o < n_outputs; o++)
            scores[i * n_outputs + o] = dot(g->w + o * (p + 1), rows.x + i * p, p) + g->w[o * (p + 1) + p];
    karma_i_grid_clear(&rows);
    return KARMA_OK;
}

const karma_i_baseline karma_i_baseline_geom = {
    "geom", "a margin for each row in the subspace of its observed columns; not convex",
    0,      1,
    learn,  score,
    forget, NULL,
    1};
