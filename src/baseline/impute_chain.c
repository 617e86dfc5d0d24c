/* Regression imputation: chained ridge regressions (van Buuren and Groothuis-Oudshoorn, mice, 2011, with the
 * conditional mean in place of a draw; Buck 1960 for one round). Missing cells start at the mean. Then, for some
 * rounds, every attribute in turn, from the one with the fewest missing cells to the one with the most (ties: the
 * first), is regressed on the current features of all others, over the training rows that have it,
 *
 *     min over w, b of Σ_i (y_i - w·x_i - b)² + α|w|²,
 *
 * and its missing cells get the regression's predictions. Indicators of a category are regressed one by one.
 * New rows go through the same regressions in the same order, so nothing is learned from them, and training
 * rows get the same values as before.
 *
 * Cost of a round: for each attribute n p² + p³/3 for n rows that have it and p features of the others, or n² p + n³/3
 * where there are fewer rows. All regressions are kept: rounds · p² numbers. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"
#include "linalg/packed.h"
#include "baseline/imputer.h"

/* The regression of each feature in each round: weight[round][feature][other], 0 for features of its own attribute. */
typedef struct chain {
    size_t *order;
    double *weight, *intercept;
} chain;

/* Room for one attribute's regression. */
typedef struct work {
    double *x;        /* the current features of the rows that have the attribute; centred, own columns 0 */
    double *y;        /* own features of these rows, centred */
    double *mean;     /* of all features */
    double *products; /* of columns or of rows */
    double *packed;
    double *right;
    size_t n; /* rows that have it */
} work;

static void clear_work(work *w) {
    karma_i_free(w->x);
    karma_i_free(w->y);
    karma_i_free(w->mean);
    karma_i_free(w->products);
    karma_i_free(w->packed);
    karma_i_free(w->right);
}

static karma_status init_work(work *w, const karma_i_grid *train, karma_error *err) {
    size_t n = train->n_rows, p = train->n_features, side = n < p ? n : p;
    *w = (work){.x = karma_i_alloc(n, p * sizeof *w->x),
                .y = karma_i_alloc(n, p * sizeof *w->y),
                .mean = karma_i_alloc(p, sizeof *w->mean),
                .products = karma_i_alloc(side, side * sizeof *w->products),
                .packed = karma_i_alloc(karma_i_packed_size(side), sizeof *w->packed),
                .right = karma_i_alloc(n < p ? p : n, sizeof *w->right)};
    if (w->x && w->y && w->mean && w->products && w->packed && w->right) return KARMA_OK;
    return karma_i_fail_memory(err);
}

static void forget(void *state) {
    chain *c = state;
    karma_i_free(c->order);
    karma_i_free(c->weight);
    karma_i_free(c->intercept);
    karma_i_free(c);
}

/* A stable insertion sort by the number of missing cells. */
static void order_by_missing(size_t *order, const size_t *n_missing, size_t n_attributes) {
    for (size_t j = 0; j < n_attributes; j++) {
        size_t place = j;
        for (; place > 0 && n_missing[order[place - 1]] > n_missing[j]; place--) order[place] = order[place - 1];
        order[place] = j;
    }
}

/* The rows that have the attribute, centred; its own features go to y. */
static void gather(work *w, const double *filled, const karma_i_grid *train, size_t attribute) {
    size_t p = train->n_features, first = train->first[attribute], n_own = train->first[attribute + 1] - first;
    w->n = 0;
    memset(w->mean, 0, p * sizeof *w->mean);
    for (size_t i = 0; i < train->n_rows; i++) {
        if (!karma_i_grid_has(train, i, attribute)) continue;
        memcpy(w->x + w->n * p, filled + i * p, p * sizeof *w->x);
        for (size_t k = 0; k < p; k++) w->mean[k] += filled[i * p + k];
        w->n++;
    }
    for (size_t k = 0; k < p; k++) w->mean[k] /= (double)w->n;
    for (size_t i = 0; i < w->n; i++) {
        double *x = w->x + i * p;
        for (size_t k = 0; k < p; k++) x[k] -= w->mean[k];
        for (size_t k = 0; k < n_own; k++) {
            w->y[i * n_own + k] = x[first + k];
            x[first + k] = 0.0;
        }
    }
}

static void factor(work *w, size_t side, double ridge) {
    for (size_t i = 0; i < side; i++)
        for (size_t j = 0; j <= i; j++)
            w->packed[karma_i_packed_size(i) + j] = w->products[i * side + j] + (i == j ? ridge : 0.0);
    karma_i_packed_cholesky(w->packed, side);
}

/* (XᵀX + αI) w = Xᵀy, or w = Xᵀβ, (XXᵀ + αI) β = y: whichever matrix is smaller. Columns of zeros get weight 0. */
static void solve(double *weight, work *w, size_t p, size_t own, size_t n_own) {
    if (w->n >= p) {
        memset(weight, 0, p * sizeof *weight);
        for (size_t i = 0; i < w->n; i++)
            for (size_t k = 0; k < p; k++) weight[k] += w->x[i * p + k] * w->y[i * n_own + own];
        karma_i_packed_solve(weight, w->packed, p);
        return;
    }
    for (size_t i = 0; i < w->n; i++) w->right[i] = w->y[i * n_own + own];
    karma_i_packed_solve(w->right, w->packed, w->n);
    memset(weight, 0, p * sizeof *weight);
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < p; k++) weight[k] += w->x[i * p + k] * w->right[i];
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static void regress(double *weight, double *intercept, work *w, const double *filled, const karma_i_grid *train,
                    size_t attribute, double ridge) {
    size_t p = train->n_features, first = train->first[attribute], n_own = train->first[attribute + 1] - first;
    gather(w, filled, train, attribute);
    if (w->n >= p)
        karma_i_column_products(w->products, w->x, w->n, p);
    else
        karma_i_row_products(w->products, w->x, w->n, p);
    factor(w, w->n < p ? w->n : p, ridge);
    for (size_t own = 0; own < n_own; own++) {
        double *of = weight + (first + own) * p;
        solve(of, w, p, own, n_own);
        intercept[first + own] = w->mean[first + own] - dot(of, w->mean, p);
    }
}

/* Predicts the missing cells of one attribute. */
static void predict(double *x, const karma_i_grid *rows, size_t attribute, const double *weight,
                    const double *intercept) {
    size_t p = rows->n_features;
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (karma_i_grid_has(rows, i, attribute)) continue;
        /* its own features have no weight, so their order does not matter */
        for (size_t k = rows->first[attribute]; k < rows->first[attribute + 1]; k++)
            x[i * p + k] = intercept[k] + dot(weight + k * p, x + i * p, p);
    }
}

static karma_status learn_rounds(chain *c, const karma_i_imputer *imputer, const karma_hooks *hooks, karma_error *err) {
    const karma_i_grid *train = &imputer->train;
    size_t p = train->n_features, rounds = imputer->options.rounds;
    double *filled = karma_i_alloc(train->n_rows, p * sizeof *filled);
    work w = {0};
    karma_status st = filled ? init_work(&w, train, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) memcpy(filled, train->x, train->n_rows * p * sizeof *filled);
    for (size_t r = 0; st == KARMA_OK && r < rounds; r++) {
        double *weight = c->weight + r * p * p, *intercept = c->intercept + r * p;
        for (size_t place = 0; st == KARMA_OK && place < train->n_attributes; place++) {
            size_t j = c->order[place];
            regress(weight, intercept, &w, filled, train, j, imputer->options.ridge);
            predict(filled, train, j, weight, intercept);
            st = karma_i_impute_progress(hooks, r * train->n_attributes + place, rounds * train->n_attributes, err);
        }
    }
    clear_work(&w);
    karma_i_free(filled);
    return st;
}

static karma_status learn(void **state, const karma_i_imputer *imputer, const karma_hooks *hooks, karma_error *err) {
    size_t p = imputer->train.n_features, rounds = imputer->options.rounds;
    double bytes = (double)rounds * (double)p * (double)p * sizeof(double);
    if (!(imputer->options.ridge > 0.0)) return karma_i_fail(err, KARMA_ERR_OPTION, "the ridge penalty is not above 0");
    if (bytes > 0.5 * (double)karma_i_memory_limit())
        return karma_i_fail(err, KARMA_ERR_DATA, "%zu rounds of regressions of %zu features would take %.0f GB", rounds,
                            p, bytes / 1e9);
    chain *c = karma_i_zalloc(1, sizeof *c);
    if (!c) return karma_i_fail_memory(err);
    c->order = karma_i_alloc(imputer->train.n_attributes, sizeof *c->order);
    c->weight = karma_i_zalloc(rounds, p * p * sizeof *c->weight);
    c->intercept = karma_i_zalloc(rounds, p * sizeof *c->intercept);
    karma_status st = c->order && c->weight && c->intercept ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        int threads = karma_i_blas_use_one_thread();
        order_by_missing(c->order, imputer->n_missing, imputer->train.n_attributes);
        st = learn_rounds(c, imputer, hooks, err);
        karma_i_blas_restore(threads);
    }
    if (st == KARMA_OK)
        *state = c;
    else
        forget(c);
    return st;
}

static karma_status fill(double *x, const karma_i_imputer *imputer, const karma_i_grid *rows, const karma_hooks *hooks,
                         karma_error *err) {
    const chain *c = imputer->state;
    size_t p = imputer->train.n_features;
    for (size_t r = 0; r < imputer->options.rounds; r++) {
        for (size_t place = 0; place < imputer->train.n_attributes; place++)
            predict(x, rows, c->order[place], c->weight + r * p * p, c->intercept + r * p);
        KARMA_TRY(karma_i_impute_progress(hooks, r, imputer->options.rounds, err));
    }
    return KARMA_OK;
}

const karma_i_imputer_kind karma_i_imputer_regression = {
    "regression",
    "missing cells are predicted by ridge regressions on the other columns, in several rounds",
    0,
    learn,
    fill,
    forget};
