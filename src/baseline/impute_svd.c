/* Matrix completion by soft-thresholded singular values (Mazumder, Hastie and Tibshirani, Spectral regularization
 * algorithms for learning large incomplete matrices, 2010, algorithm 1). Of the standardised features X with the set Ω
 * of observed cells,
 *
 *     min over Z of ½ Σ over Ω of (X_ij - Z_ij)² + λ‖Z‖_*,
 *
 * by Z ← S_λ(X on Ω, Z elsewhere), from the largest λ of interest down, each starting from the previous Z.
 * That is a proximal gradient step of length 1, and with few observed cells it takes hundreds of steps. So
 * the step is taken from
 *
 *     Y = Z + (t' - 1)/t (Z - Z'),    t = (1 + sqrt(1 + 4t'²))/2,    Z' and t' those of the step before,
 *
 * in place of Z (Beck and Teboulle 2009), with t reset to 1 when Y leads backwards (O'Donoghue and Candès
 * 2015): the same minimum in fewer steps.
 *
 * λ = λ₀/2^k, where λ₀ is the largest singular value of X with zeros in its missing cells (from there on Z =
 * 0). To choose k, a tenth of the observed cells is hidden; the k that predicts them best is used for all
 * cells, at the same share of their λ₀. When two values in a row predict worse than the best before, smaller
 * λ are not tried.
 *
 * New rows. λ‖Z‖_* is the minimum of λ/2 (|A|² + |B|²) over Z = ABᵀ, reached at B = V D^½ for Z = U D Vᵀ
 * (Srebro, Rennie and Jaakkola 2005). With this B held fixed, a row's best coordinates are a ridge regression
 * of its observed cells,
 *
 *     a = argmin ½|x_o - B_o a|² + λ/2 |a|²,    z = B a.
 *
 * The rows of A at the optimum solve the same problem, so training rows get their rows of Z again. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/linalg.h"
#include "linalg/packed.h"
#include "baseline/imputer.h"
#include "baseline/shrink.h"

enum { PATH_LENGTH = 8, MOST_WORSE = 2, MOST_STEPS = 500 };
static const double HIDDEN_SHARE = 0.1;

typedef struct completion {
    size_t rank;
    double lambda;
    double *B; /* row-major, `rank` per feature */
} completion;

static void forget(void *state) {
    completion *c = state;
    karma_i_free(c->B);
    karma_i_free(c);
}

/* One run of the iteration, and room for it. */
typedef struct work {
    const karma_i_grid *train;
    unsigned char *hidden; /* per row and attribute: observed, but not shown */
    size_t n_hidden;
    double *z, *filled;
    double tolerance;
} work;

static void clear_work(work *w) {
    karma_i_free(w->hidden);
    karma_i_free(w->z);
    karma_i_free(w->filled);
}

static karma_status init_work(work *w, const karma_i_imputer *imputer, karma_error *err) {
    size_t n = imputer->train.n_rows, p = imputer->train.n_features;
    *w = (work){.train = &imputer->train,
                .hidden = karma_i_zalloc(n, imputer->train.n_attributes),
                .z = karma_i_zalloc(n, p * sizeof *w->z),
                .filled = karma_i_alloc(n, p * sizeof *w->filled),
                .tolerance = imputer->options.tolerance};
    return w->hidden && w->z && w->filled ? KARMA_OK : karma_i_fail_memory(err);
}

/* Hides each cell with the same probability, but every row keeps one cell. */
static void hide_cells(work *w, uint64_t seed) {
    const karma_i_grid *g = w->train;
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    for (size_t i = 0; i < w->train->n_rows; i++) {
        size_t n_left = 0;
        for (size_t j = 0; j < g->n_attributes; j++) n_left += karma_i_grid_has(w->train, i, j) ? 1 : 0;
        for (size_t j = 0; j < g->n_attributes; j++) {
            if (!karma_i_grid_has(w->train, i, j) || karma_i_rng_uniform(&rng) >= HIDDEN_SHARE || n_left < 2) continue;
            w->hidden[i * g->n_attributes + j] = 1;
            w->n_hidden++;
            n_left--;
        }
    }
}

/* filled = X where a cell is shown, y elsewhere. */
static void put_shown(work *w, const double *y) {
    const karma_i_grid *g = w->train;
    memcpy(w->filled, y, w->train->n_rows * g->n_features * sizeof *y);
    for (size_t i = 0; i < w->train->n_rows; i++)
        for (size_t j = 0; j < g->n_attributes; j++) {
            if (!karma_i_grid_has(w->train, i, j) || w->hidden[i * g->n_attributes + j]) continue;
            for (size_t k = g->first[j]; k < g->first[j + 1]; k++)
                w->filled[i * g->n_features + k] = w->train->x[i * g->n_features + k];
        }
}

/* |a - b|² and |b|² */
static void measure(double *change, double *size, const double *a, const double *b, size_t n) {
    *change = *size = 0.0;
    for (size_t k = 0; k < n; k++) {
        *change += (a[k] - b[k]) * (a[k] - b[k]);
        *size += b[k] * b[k];
    }
}

/* Moves y, the starting point of the step from z to `next`, to the starting point of the next step; t as
 * above. */
static void carry_on(double *y, double *t, const double *next, const double *z, size_t n) {
    double back = 0.0, before = *t;
    for (size_t k = 0; k < n; k++) back += (y[k] - next[k]) * (next[k] - z[k]);
    *t = back > 0.0 ? 1.0 : 0.5 * (1.0 + sqrt(1.0 + 4.0 * before * before));
    double share = back > 0.0 ? 0.0 : (before - 1.0) / *t;
    for (size_t k = 0; k < n; k++) y[k] = next[k] + share * (next[k] - z[k]);
}

/* From the current z to the minimum for this λ; `next` and `y` are scratch. */
static karma_status iterate_in(work *w, double *next, double *y, double lambda, const karma_hooks *hooks,
                               karma_error *err) {
    size_t n = w->train->n_rows, p = w->train->n_features;
    double change = INFINITY, size = 0.0, t = 1.0;
    memcpy(y, w->z, n * p * sizeof *y);
    for (size_t step = 0; step < MOST_STEPS && change > w->tolerance * w->tolerance * size; step++) {
        karma_i_shrunk left;
        put_shown(w, y);
        KARMA_TRY(karma_i_shrink(next, &left, w->filled, n, p, lambda, err));
        measure(&change, &size, w->z, next, n * p);
        carry_on(y, &t, next, w->z, n * p);
        memcpy(w->z, next, n * p * sizeof *next);
        KARMA_TRY(karma_i_impute_progress(hooks, step, 0, err));
    }
    return KARMA_OK;
}

static karma_status iterate(work *w, double lambda, const karma_hooks *hooks, karma_error *err) {
    size_t n = w->train->n_rows, p = w->train->n_features;
    double *next = karma_i_alloc(n, p * sizeof *next), *y = karma_i_alloc(n, p * sizeof *y);
    karma_status st = next && y ? iterate_in(w, next, y, lambda, hooks, err) : karma_i_fail_memory(err);
    karma_i_free(next);
    karma_i_free(y);
    return st;
}

static double hidden_error(const work *w) {
    const karma_i_grid *g = w->train;
    double sum = 0.0;
    for (size_t i = 0; i < w->train->n_rows; i++)
        for (size_t j = 0; j < g->n_attributes; j++) {
            if (!w->hidden[i * g->n_attributes + j]) continue;
            for (size_t k = i * g->n_features + g->first[j]; k < i * g->n_features + g->first[j + 1]; k++)
                sum += (w->z[k] - w->train->x[k]) * (w->z[k] - w->train->x[k]);
        }
    return sum;
}

/* λ₀ of the shown cells; leaves z = 0. */
static karma_status largest_lambda(double *out, work *w, karma_error *err) {
    size_t n = w->train->n_rows, p = w->train->n_features;
    memset(w->z, 0, n * p * sizeof *w->z);
    put_shown(w, w->z);
    return karma_i_spectral_norm(out, w->filled, n, p, err);
}

/* The share of λ₀ that predicts the hidden cells best. */
static karma_status choose_share(double *share, work *w, uint64_t seed, const karma_hooks *hooks, karma_error *err) {
    double most = 0.0, best = INFINITY;
    *share = 0.25; /* if nothing can be hidden */
    hide_cells(w, seed);
    if (w->n_hidden == 0) return KARMA_OK;
    KARMA_TRY(largest_lambda(&most, w, err));
    for (int k = 1, n_worse = 0; k <= PATH_LENGTH && n_worse < MOST_WORSE; k++) {
        KARMA_TRY(iterate(w, ldexp(most, -k), hooks, err));
        double error = hidden_error(w);
        n_worse = error < best ? 0 : n_worse + 1;
        if (error < best) best = error, *share = ldexp(1.0, -k);
    }
    memset(w->hidden, 0, w->train->n_rows * w->train->n_attributes);
    return KARMA_OK;
}

/* Halves λ down to `share` of λ₀: each minimum is close to the previous one. */
static karma_status descend(double *lambda, work *w, double share, const karma_hooks *hooks, karma_error *err) {
    double most = 0.0;
    KARMA_TRY(largest_lambda(&most, w, err));
    for (int k = 1; k <= PATH_LENGTH && ldexp(1.0, -k) > share; k++) KARMA_TRY(iterate(w, ldexp(most, -k), hooks, err));
    *lambda = share * most;
    return iterate(w, *lambda, hooks, err);
}

/* B = V D^½ of the current z. */
static karma_status factor(completion *c, const work *w, karma_error *err) {
    size_t n = w->train->n_rows, p = w->train->n_features, side = n < p ? n : p;
    double *u = karma_i_alloc(n, side * sizeof *u), *s = karma_i_alloc(side, sizeof *s);
    double *vt = karma_i_alloc(side, p * sizeof *vt), *z = karma_i_alloc(n, p * sizeof *z);
    karma_status st = u && s && vt && z ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        memcpy(z, w->z, n * p * sizeof *z);
        int threads = karma_i_blas_use_one_thread();
        st = karma_i_svd(u, s, vt, z, n, p, err);
        karma_i_blas_restore(threads);
    }
    if (st == KARMA_OK) {
        while (c->rank < side && s[c->rank] > 1e-7 * s[0]) c->rank++;
        c->B = karma_i_alloc(p, c->rank * sizeof *c->B);
        if (!c->B) st = karma_i_fail_memory(err);
    }
    for (size_t k = 0; st == KARMA_OK && k < p; k++)
        for (size_t r = 0; r < c->rank; r++) c->B[k * c->rank + r] = vt[r * p + k] * sqrt(s[r]);
    karma_i_free(u);
    karma_i_free(s);
    karma_i_free(vt);
    karma_i_free(z);
    return st;
}

static karma_status learn_into(completion *c, const karma_i_imputer *imputer, const karma_hooks *hooks,
                               karma_error *err) {
    work w;
    double share = imputer->options.threshold;
    karma_status st = init_work(&w, imputer, err);
    if (st == KARMA_OK && share < 0.0) st = choose_share(&share, &w, imputer->options.seed, hooks, err);
    if (st == KARMA_OK) st = descend(&c->lambda, &w, share, hooks, err);
    if (st == KARMA_OK) st = factor(c, &w, err);
    clear_work(&w);
    return st;
}

static karma_status learn(void **state, const karma_i_imputer *imputer, const karma_hooks *hooks, karma_error *err) {
    completion *c = karma_i_zalloc(1, sizeof *c);
    if (!c) return karma_i_fail_memory(err);
    karma_status st = learn_into(c, imputer, hooks, err);
    if (st == KARMA_OK)
        *state = c;
    else
        forget(c);
    return st;
}

/* --- new rows ------------------------------------------------------------------------------------------ */

/* Adds b bᵀ to the lower triangle and b x to the right-hand side. */
static void add_cell(double *packed, double *a, const double *b, double x, size_t r) {
    for (size_t i = 0; i < r; i++) {
        for (size_t j = 0; j <= i; j++) packed[karma_i_packed_size(i) + j] += b[i] * b[j];
        a[i] += b[i] * x;
    }
}

/* (B_oᵀB_o + λI) a = B_oᵀ x_o; `packed` and `a` are scratch. */
static void complete_row(double *x, const completion *c, const karma_i_grid *rows, size_t row, double *packed,
                         double *a) {
    size_t r = c->rank;
    memset(packed, 0, karma_i_packed_size(r) * sizeof *packed);
    memset(a, 0, r * sizeof *a);
    for (size_t i = 0; i < r; i++) packed[karma_i_packed_size(i) + i] = c->lambda;
    for (size_t j = 0; j < rows->n_attributes; j++)
        if (karma_i_grid_has(rows, row, j))
            for (size_t k = rows->first[j]; k < rows->first[j + 1]; k++) add_cell(packed, a, c->B + k * r, x[k], r);
    karma_i_packed_cholesky(packed, r);
    karma_i_packed_solve(a, packed, r);
    for (size_t j = 0; j < rows->n_attributes; j++) {
        if (karma_i_grid_has(rows, row, j)) continue;
        for (size_t k = rows->first[j]; k < rows->first[j + 1]; k++) {
            x[k] = 0.0;
            for (size_t i = 0; i < r; i++) x[k] += c->B[k * r + i] * a[i];
        }
    }
}

static karma_status fill(double *x, const karma_i_imputer *imputer, const karma_i_grid *rows, const karma_hooks *hooks,
                         karma_error *err) {
    (void)hooks;
    const completion *c = imputer->state;
    double *packed = karma_i_alloc(karma_i_packed_size(c->rank), sizeof *packed);
    double *a = karma_i_alloc(c->rank, sizeof *a);
    karma_status st = packed && a ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++)
        complete_row(x + i * imputer->train.n_features, c, rows, i, packed, a);
    karma_i_free(packed);
    karma_i_free(a);
    return st;
}

const karma_i_imputer_kind karma_i_imputer_soft_impute = {
    "soft-impute",
    "missing cells come from a matrix of small nuclear norm that fits the observed cells",
    0,
    learn,
    fill,
    forget};
