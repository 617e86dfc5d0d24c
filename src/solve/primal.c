/* Newton's method. A step solves H d = -g with H = R + Σ c_i ℓ_i'' r_i r_iᵀ and moves along d as far as the
 * objective falls. With few rows and features, H is summed over all rows and factored. Otherwise it is summed
 * over a sample of the rows, and the system is solved by conjugate gradients with that factor as
 * preconditioner: each iteration is a pass over the rows that bend, those with ℓ_i'' > 0. (Falkon, Rudi,
 * Carratino and Rosasco, 2017, takes the landmarks as the sample.) Codes, features with too many entries for
 * a factor, use the diagonal of H instead.
 *
 * Losses whose slope jumps are smoothed, less and less (primal_machine.h). Rows that do not bend are left out
 * of H: for the hinge and the absolute loss these are nearly all rows.
 *
 * The machines of several outputs are solved side by side, so that one pass serves all. */
#include "solve/primal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"
#include "solve/hessian.h"
#include "solve/primal_machine.h"

enum {
    MOST_SIDE_BY_SIDE = 32,
    FEW_FEATURES = 200,
    MOST_CG_STEPS = 60,
    STALE_CG_STEPS = 10, /* a factor that needs more is replaced */
    SAMPLE_PER_FEATURE = 2,
    PASSES_AFTER_STOP = 8 /* of the remaining outputs: an output without weights would disturb the others */
};

/* A factor may always cost this much work (rows × features²), with few features and with many. */
static const double CHEAP_FACTOR = 4e9, CHEAP_LARGE_FACTOR = 1e9;
/* Conjugate gradients stop when the preconditioned residual has fallen to this share: the next step does the
 * rest.
 */
static const double INNER_REDUCTION = 0.05;

typedef struct group {
    const karma_i_primal_problem *problem;
    const karma_hooks *hooks;
    karma_i_machine *machines;
    size_t n; /* machines */
    size_t *active, n_active;
    double *vectors, *sums; /* of the active machines, n_features apart */
    double *factors;        /* Cholesky factor or diagonal of each machine, */
    unsigned char *has_factor;
    size_t factor_size;
    double passes, started, first_gap;
    int is_cancelled, has_start; /* has_start: some weight is not 0 at the start */
    /* the rows that bend for some active machine */
    size_t *bent, n_bent;
    size_t first_bent, all_bent;     /* in all processes: the number of the first one here, and the total */
    karma_i_features *bent_features; /* NULL: all rows are looked at */
    double *bent_curvature;          /* n_bent of each active machine */
} group;

/* --- passes ------------------------------------------------------------------------------------------------ */

static karma_i_machine *active_machine(const group *g, size_t a) {
    return &g->machines[g->active[a]];
}

static void give_slopes(double *values, void *payload, size_t first, size_t count) {
    const group *g = payload;
    for (size_t a = 0; a < g->n_active; a++)
        for (size_t i = 0; i < count; i++)
            values[i * g->n_active + a] = karma_i_machine_slope(active_machine(g, a), first + i);
}

static void keep_scores(double *values, void *payload, size_t first, size_t count) {
    const group *g = payload;
    for (size_t a = 0; a < g->n_active; a++)
        for (size_t i = 0; i < count; i++) active_machine(g, a)->scores[first + i] = values[i * g->n_active + a];
}

static void keep_change(double *values, void *payload, size_t first, size_t count) {
    const group *g = payload;
    for (size_t a = 0; a < g->n_active; a++)
        for (size_t i = 0; i < count; i++) active_machine(g, a)->change[first + i] = values[i * g->n_active + a];
}

static void bend_values(double *values, void *payload, size_t first, size_t count) {
    const group *g = payload;
    for (size_t a = 0; a < g->n_active; a++) {
        const double *curvature =
            g->bent_features ? g->bent_curvature + a * g->n_bent : active_machine(g, a)->curvature;
        for (size_t i = 0; i < count; i++) values[i * g->n_active + a] *= curvature[first + i];
    }
}

static karma_status pass(group *g, double *sums, const double *vectors, karma_i_features_fn fn, karma_error *err) {
    const karma_i_features *features = g->problem->features;
    int is_part = fn == bend_values && g->bent_features;
    g->passes += is_part ? (double)g->all_bent / (double)features->split.n_rows : 1.0;
    return karma_i_features_pass(sums, is_part ? g->bent_features : features, vectors, g->n_active, fn, g,
                                 g->problem->threads, err);
}

/* The weights of every active machine, or its direction. */
static void pack(group *g, int directions) {
    size_t p = g->problem->features->n_features;
    for (size_t a = 0; a < g->n_active; a++)
        memcpy(g->vectors + a * p, directions ? active_machine(g, a)->direction : active_machine(g, a)->weights,
               p * sizeof *g->vectors);
}

static karma_status compute_scores(group *g, karma_error *err) {
    pack(g, 0);
    return pass(g, NULL, g->vectors, keep_scores, err);
}

static void activate(group *g, int (*wanted)(const karma_i_machine *m)) {
    g->n_active = 0;
    for (size_t k = 0; k < g->n; k++)
        if (wanted(&g->machines[k])) g->active[g->n_active++] = k;
}

static int any_machine(const karma_i_machine *m) {
    return (void)m, 1;
}
static int is_open(const karma_i_machine *m) {
    return !m->is_done;
}

/* Sums the slopes over the rows and updates what depends on them. */
static karma_status certify(group *g, karma_error *err) {
    size_t p = g->problem->features->n_features;
    KARMA_TRY(pass(g, g->sums, NULL, give_slopes, err));
    for (size_t a = 0; a < g->n_active; a++) {
        memcpy(active_machine(g, a)->slope_sum, g->sums + a * p, p * sizeof *g->sums);
        KARMA_TRY(karma_i_machine_certify(active_machine(g, a), err));
    }
    return KARMA_OK;
}

/* --- the rows that bend -------------------------------------------------------------------------------------- */

static void clear_bent(group *g) {
    karma_i_features_free(g->bent_features);
    karma_i_free(g->bent_curvature);
    g->bent_features = NULL;
    g->bent_curvature = NULL;
}

/* The number in the processes before this one, and in all processes. */
static karma_status count_bent(group *g, karma_error *err) {
    const karma_ranks *ranks = g->problem->features->split.ranks;
    karma_i_gathered counts;
    KARMA_TRY(karma_i_ranks_gather(&counts, &g->n_bent, sizeof g->n_bent, ranks, err));
    g->first_bent = g->all_bent = 0;
    for (size_t k = 0; k < ranks->size; k++) {
        size_t count;
        memcpy(&count, counts.bytes + k * sizeof count, sizeof count);
        if (k == ranks->rank) g->first_bent = g->all_bent;
        g->all_bent += count;
    }
    karma_i_gathered_clear(&counts);
    return KARMA_OK;
}

/* If these are less than half of all rows, copies their features alone. */
static karma_status find_bent(group *g, karma_error *err) {
    size_t n = g->problem->features->n_rows;
    g->n_bent = 0;
    for (size_t i = 0; i < n; i++) {
        int bends = 0;
        for (size_t a = 0; !bends && a < g->n_active; a++) bends = active_machine(g, a)->curvature[i] > 0.0;
        if (bends) g->bent[g->n_bent++] = i;
    }
    KARMA_TRY(count_bent(g, err));
    if (2 * g->all_bent > g->problem->features->split.n_rows) return KARMA_OK;
    KARMA_TRY(g->problem->features->kind->select(&g->bent_features, g->problem->features, g->bent, g->n_bent, err));
    g->bent_curvature = karma_i_alloc(g->n_bent, g->n_active * sizeof *g->bent_curvature);
    if (!g->bent_curvature) return karma_i_fail_memory(err);
    for (size_t a = 0; a < g->n_active; a++)
        for (size_t i = 0; i < g->n_bent; i++)
            g->bent_curvature[a * g->n_bent + i] = active_machine(g, a)->curvature[g->bent[i]];
    return KARMA_OK;
}

/* --- factors of H -------------------------------------------------------------------------------------------- */

/* The number of rows, of all processes, that a factor is summed over. */
static size_t sample_size(const group *g) {
    double p = (double)g->problem->features->n_features;
    double affordable = (p <= FEW_FEATURES ? CHEAP_FACTOR : CHEAP_LARGE_FACTOR) / (p * p);
    return (size_t)fmin((double)g->all_bent, fmax(SAMPLE_PER_FEATURE * p, affordable));
}

/* True if H itself is factored in every step. With many features a factor costs as much as dozens of
 * iterations, so an earlier factor is kept while it is good: H changes little, even when widths shrink,
 * because then fewer rows bend more. */
static int is_exact(const group *g) {
    return g->problem->features->kind->expand && g->problem->features->n_features <= FEW_FEATURES &&
           sample_size(g) == g->all_bent;
}

typedef struct row_sample {
    karma_i_features *features; /* of its rows; borrowed if these are all rows that bend */
    size_t *rows, count;        /* those that are here, ascending */
    int is_borrowed;
    double *curvature, *diagonal;
} row_sample;

static void clear_sample(row_sample *s) {
    if (!s->is_borrowed) karma_i_features_free(s->features);
    karma_i_free(s->rows);
    karma_i_free(s->curvature);
    karma_i_free(s->diagonal);
}

/* Evenly spread over the rows that bend. */
static karma_status take_sample(row_sample *s, const group *g, karma_error *err) {
    const karma_i_features *features = g->problem->features;
    size_t p = features->n_features;
    size_t wanted = sample_size(g);
    *s = (row_sample){0};
    s->rows = karma_i_alloc(wanted, sizeof *s->rows);
    s->curvature = karma_i_alloc(wanted, sizeof *s->curvature);
    s->diagonal = karma_i_alloc(p, sizeof *s->diagonal);
    if (!s->rows || !s->curvature || !s->diagonal) return karma_i_fail_memory(err);
    for (size_t i = 0; i < wanted; i++) {
        size_t which = (size_t)((double)i * (double)g->all_bent / (double)wanted);
        if (which >= g->first_bent && which - g->first_bent < g->n_bent)
            s->rows[s->count++] = g->bent[which - g->first_bent];
    }
    if (wanted == g->all_bent && g->bent_features) {
        s->features = g->bent_features;
        s->is_borrowed = 1;
        return KARMA_OK;
    }
    return features->kind->select(&s->features, features, s->rows, s->count, err);
}

typedef struct curvature_sums {
    const double *curvature;
    const row_sample *sample;
} curvature_sums;

static size_t first_from(const size_t *rows, size_t n, size_t row) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of all rows, and of the sample. */
static void add_curvature(double *sums, const void *payload, size_t first, size_t end) {
    const curvature_sums *c = payload;
    const row_sample *s = c->sample;
    for (size_t i = first; i < end; i++) sums[0] += c->curvature[i];
    for (size_t i = first_from(s->rows, s->count, first); i < s->count && s->rows[i] < end; i++)
        sums[1] += c->curvature[s->rows[i]];
}

/* The curvature of the sample stands for that of all rows. */
static karma_status factor_machine(group *g, size_t which, row_sample *s, karma_error *err) {
    const karma_i_machine *m = &g->machines[which];
    size_t p = g->problem->features->n_features;
    double sums[2], *h = g->factors + which * g->factor_size;
    curvature_sums payload = {m->curvature, s};
    KARMA_TRY(karma_i_partition_sum(sums, 2, &g->problem->features->split, add_curvature, &payload, err));
    double scale = sums[1] > 0.0 ? sums[0] / sums[1] : 0.0;
    for (size_t i = 0; i < s->count; i++) s->curvature[i] = scale * m->curvature[s->rows[i]];
    karma_i_hessian_start(h, g->problem->features);
    KARMA_TRY(karma_i_features_products(h, s->features, s->curvature, g->problem->threads, err));
    return karma_i_hessian_factor(h, s->diagonal, p, err);
}

static karma_status factor_all(group *g, karma_error *err) {
    row_sample s;
    karma_status st = take_sample(&s, g, err);
    for (size_t a = 0; st == KARMA_OK && a < g->n_active; a++) {
        size_t which = g->active[a];
        if (g->has_factor[which] && !is_exact(g)) continue;
        st = factor_machine(g, which, &s, err);
        g->has_factor[which] = 1;
    }
    clear_sample(&s);
    return st;
}

/* For codes: the diagonal of H. */
static karma_status find_diagonals(group *g, karma_error *err) {
    const karma_i_features *features = g->problem->features;
    for (size_t a = 0; a < g->n_active; a++) {
        double *diagonal = g->factors + g->active[a] * g->factor_size;
        for (size_t f = 0; f < features->n_features; f++)
            diagonal[f] = features->norm ? features->norm[f * features->n_features + f] : 1.0;
        KARMA_TRY(karma_i_features_squares(diagonal, features, active_machine(g, a)->curvature, err));
        g->has_factor[g->active[a]] = 1;
    }
    return KARMA_OK;
}

static karma_status prepare_factors(group *g, karma_error *err) {
    int all_there = 1;
    if (!g->problem->features->kind->expand) return find_diagonals(g, err);
    for (size_t a = 0; a < g->n_active; a++) all_there &= g->has_factor[g->active[a]];
    return all_there && !is_exact(g) ? KARMA_OK : factor_all(g, err);
}

/* x = M⁻¹ b, where M is the factored matrix or the diagonal. */
static void precondition(double *x, const group *g, size_t which, const double *b) {
    size_t p = g->problem->features->n_features;
    const double *factor = g->factors + which * g->factor_size;
    memcpy(x, b, p * sizeof *x);
    if (g->problem->features->kind->expand)
        karma_i_cholesky_solve(x, factor, p);
    else
        for (size_t f = 0; f < p; f++) x[f] /= factor[f];
}

/* --- progress -------------------------------------------------------------------------------------------------- */

/* Reports progress and the time left: so far the gap has decreased by a constant factor per second. */
static int ask_hooks(group *g) {
    char stage[96];
    double gap = 0.0, spent = karma_i_now() - g->started, goal = g->problem->tolerance;
    if (!g->hooks || !g->hooks->progress) return 0;
    for (size_t k = 0; k < g->n; k++) gap = fmax(gap, karma_i_machine_gap(&g->machines[k]));
    if (g->first_gap == 0.0) g->first_gap = gap;
    double fallen = log(g->first_gap / gap), left = gap > goal ? spent * log(gap / goal) / fallen : 0.0;
    if (fallen > 0.0 && isfinite(left))
        (void)snprintf(stage, sizeof stage, "gap %.2g, goal %.2g, about %.0f s left", gap, goal, fmax(1.0, left));
    else
        (void)snprintf(stage, sizeof stage, "gap %.2g, goal %.2g", gap, goal);
    return karma_i_progress(g->hooks, stage, 0, 0);
}

/* If one process asks to stop, all stop. */
static karma_status ask_to_stop(group *g, karma_error *err) {
    int stop = ask_hooks(g);
    KARMA_TRY(karma_i_ranks_any(&stop, g->problem->features->split.ranks, err));
    g->is_cancelled |= stop;
    return KARMA_OK;
}

/* --- conjugate gradients --------------------------------------------------------------------------------------- */

typedef struct cg_state {
    double *residual, *search, *solved, *product; /* n_features of each machine */
    double *rho, *goal;
    unsigned char *is_open;
} cg_state;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void clear_cg(cg_state *c) {
    karma_i_free(c->residual);
    karma_i_free(c->rho);
    karma_i_free(c->is_open);
}

static karma_status start_cg(cg_state *c, group *g, karma_error *err) {
    size_t p = g->problem->features->n_features, n = g->n_active;
    *c = (cg_state){karma_i_alloc(n, 4 * p * sizeof(double)),
                    NULL,
                    NULL,
                    NULL,
                    karma_i_alloc(n, 2 * sizeof(double)),
                    NULL,
                    karma_i_alloc(n, 1)};
    if (!c->residual || !c->rho || !c->is_open) return karma_i_fail_memory(err);
    c->search = c->residual + n * p;
    c->solved = c->search + n * p;
    c->product = c->solved + n * p;
    c->goal = c->rho + n;
    for (size_t a = 0; a < n; a++) {
        karma_i_machine *m = active_machine(g, a);
        double *r = c->residual + a * p;
        for (size_t f = 0; f < p; f++) r[f] = -m->gradient[f];
        memset(m->direction, 0, p * sizeof *m->direction);
        precondition(c->search + a * p, g, g->active[a], r);
        c->rho[a] = dot(r, c->search + a * p, p);
        c->goal[a] = INNER_REDUCTION * INNER_REDUCTION * c->rho[a];
        c->is_open[a] = c->rho[a] > 0.0;
    }
    return KARMA_OK;
}

/* One iteration of machine a; the sums hold its Σ curvature r rᵀ search. */
static void iterate_cg(cg_state *c, group *g, size_t a) {
    size_t p = g->problem->features->n_features;
    karma_i_machine *m = active_machine(g, a);
    double *r = c->residual + a * p, *q = c->search + a * p, *s = c->solved + a * p, *hq = c->product + a * p;
    karma_i_norm_product(hq, g->problem->features, q);
    for (size_t f = 0; f < p; f++) hq[f] += g->sums[a * p + f];
    double bend = dot(q, hq, p);
    if (!(bend > 0.0)) {
        c->is_open[a] = 0;
        return;
    }
    double length = c->rho[a] / bend, before = c->rho[a];
    for (size_t f = 0; f < p; f++) {
        m->direction[f] += length * q[f];
        r[f] -= length * hq[f];
    }
    precondition(s, g, g->active[a], r);
    c->rho[a] = dot(r, s, p);
    c->is_open[a] = c->rho[a] > c->goal[a];
    for (size_t f = 0; f < p; f++) q[f] = s[f] + c->rho[a] / before * q[f];
}

static int any_open(const cg_state *c, size_t n) {
    for (size_t a = 0; a < n; a++)
        if (c->is_open[a]) return 1;
    return 0;
}

/* Computes the directions of all active machines; a machine that is solved waits for the others. Directions
 * stopped early still lower the objective. */
static karma_status conjugate_gradients(group *g, karma_error *err) {
    cg_state c;
    size_t p = g->problem->features->n_features, steps = 0;
    karma_status st = start_cg(&c, g, err);
    for (; st == KARMA_OK && steps < MOST_CG_STEPS && any_open(&c, g->n_active); steps++) {
        if (steps > 0) st = ask_to_stop(g, err);
        if (st != KARMA_OK || g->is_cancelled) break;
        memcpy(g->vectors, c.search, g->n_active * p * sizeof *g->vectors);
        st = pass(g, g->sums, g->vectors, bend_values, err);
        for (size_t a = 0; st == KARMA_OK && a < g->n_active; a++)
            if (c.is_open[a]) iterate_cg(&c, g, a);
    }
    for (size_t a = 0; a < g->n_active; a++)
        if (steps > STALE_CG_STEPS) g->has_factor[g->active[a]] = 0;
    clear_cg(&c);
    return st;
}

static karma_status find_directions(group *g, karma_error *err) {
    size_t p = g->problem->features->n_features;
    for (size_t a = 0; a < g->n_active; a++) karma_i_machine_bend(active_machine(g, a));
    karma_status st = find_bent(g, err);
    if (st == KARMA_OK) st = prepare_factors(g, err);
    if (st == KARMA_OK && !is_exact(g)) st = conjugate_gradients(g, err);
    for (size_t a = 0; st == KARMA_OK && is_exact(g) && a < g->n_active; a++) {
        karma_i_machine *m = active_machine(g, a);
        precondition(m->direction, g, g->active[a], m->gradient);
        for (size_t f = 0; f < p; f++) m->direction[f] = -m->direction[f];
    }
    clear_bent(g);
    return st;
}

/* --- Newton's method --------------------------------------------------------------------------------------------- */

/* Certificates of all machines that are not done; a machine whose smoothing was reduced needs a second
 * one. */
static karma_status certify_open(group *g, karma_error *err) {
    for (;;) {
        size_t sharpened = 0;
        if (g->n_active == 0) return KARMA_OK;
        KARMA_TRY(certify(g, err));
        for (size_t a = 0; a < g->n_active; a++) {
            karma_i_machine *m = active_machine(g, a);
            m->is_done = karma_i_machine_gap(m) <= g->problem->tolerance;
            if (!m->is_done && karma_i_machine_sharpen(m, g->problem->tolerance)) g->active[sharpened++] = g->active[a];
        }
        g->n_active = sharpened;
    }
}

static karma_status take_steps(group *g, karma_error *err) {
    KARMA_TRY(find_directions(g, err));
    pack(g, 1);
    KARMA_TRY(pass(g, NULL, g->vectors, keep_change, err));
    for (size_t a = 0; a < g->n_active; a++) {
        int moved;
        KARMA_TRY(karma_i_machine_step(&moved, active_machine(g, a), err));
        active_machine(g, a)->is_done = !moved;
    }
    return KARMA_OK;
}

static karma_status iterate(group *g, karma_error *err) {
    for (size_t step = 0; g->n_active > 0; step++) {
        KARMA_TRY(certify_open(g, err));
        activate(g, is_open);
        if (g->n_active == 0) break;
        if (step > 0 || g->has_start) KARMA_TRY(ask_to_stop(g, err)); /* something must be learned */
        if (g->is_cancelled) break;
        if (g->passes > g->problem->most_passes) break;
        KARMA_TRY(take_steps(g, err));
        activate(g, is_open);
    }
    return KARMA_OK;
}

/* The best weights, with scores computed again and a certificate for these. */
static karma_status settle(group *g, karma_error *err) {
    size_t p = g->problem->features->n_features;
    for (size_t k = 0; k < g->n; k++) memcpy(g->machines[k].weights, g->machines[k].best, p * sizeof(double));
    activate(g, any_machine);
    KARMA_TRY(compute_scores(g, err));
    for (size_t k = 0; k < g->n; k++) g->machines[k].best_primal = INFINITY;
    return certify(g, err);
}

static karma_status solve_group(group *g, karma_error *err) {
    activate(g, any_machine);
    KARMA_TRY(compute_scores(g, err));
    for (size_t k = 0; k < g->n; k++)
        KARMA_TRY(karma_i_machine_start_width(&g->machines[k], g->problem->tolerance, err));
    KARMA_TRY(iterate(g, err));
    return settle(g, err);
}

static void report_group(karma_i_primal_result *result, const group *g) {
    for (size_t k = 0; k < g->n; k++) {
        const karma_i_machine *m = &g->machines[k];
        karma_stop stop = karma_i_machine_gap(m) <= g->problem->tolerance ? KARMA_STOP_CONVERGED
                          : g->is_cancelled                               ? KARMA_STOP_CANCELLED
                                                                          : KARMA_STOP_LIMIT;
        result->primal += m->best_primal;
        result->dual += m->best_dual;
        if (stop > result->stop) result->stop = stop;
    }
    result->passes += g->passes;
}

static void clear_group(group *g) {
    for (size_t k = 0; g->machines && k < g->n; k++) karma_i_machine_clear(&g->machines[k]);
    clear_bent(g);
    karma_i_free(g->machines);
    karma_i_free(g->active);
    karma_i_free(g->vectors);
    karma_i_free(g->sums);
    karma_i_free(g->factors);
    karma_i_free(g->has_factor);
    karma_i_free(g->bent);
}

static karma_status init_group(group *g, const karma_i_primal_problem *problem, size_t first, size_t count,
                               const double *weights, const karma_hooks *hooks, karma_error *err) {
    size_t p = problem->features->n_features;
    *g = (group){.problem = problem, .hooks = hooks, .n = count, .started = karma_i_now()};
    g->factor_size = problem->features->kind->expand ? p * p : p;
    g->machines = karma_i_zalloc(count, sizeof *g->machines);
    g->active = karma_i_alloc(count, sizeof *g->active);
    g->vectors = karma_i_alloc(count, p * sizeof *g->vectors);
    g->sums = karma_i_alloc(count, p * sizeof *g->sums);
    g->factors = karma_i_alloc(count, g->factor_size * sizeof *g->factors);
    g->has_factor = karma_i_zalloc(count, 1);
    g->bent = karma_i_alloc(problem->features->n_rows, sizeof *g->bent);
    if (!g->machines || !g->active || !g->vectors || !g->sums || !g->factors || !g->has_factor || !g->bent)
        return karma_i_fail_memory(err);
    for (size_t k = 0; k < count; k++) {
        g->machines[k] = (karma_i_machine){
            .features = problem->features,
            .loss = &problem->losses[first + k],
            .targets = problem->targets + first + k,
            .row_weights = problem->row_weights ? problem->row_weights + first + k : NULL,
            .stride = problem->n_outputs,
            .share = problem->C / (double)problem->features->split.n_rows,
            .threads = problem->threads,
        };
        for (size_t f = 0; f < p; f++) g->has_start |= weights[k * p + f] != 0.0;
        KARMA_TRY(karma_i_machine_init(&g->machines[k], weights + k * p, err));
    }
    return KARMA_OK;
}

static size_t side_by_side(const karma_i_primal_problem *problem) {
    double p = (double)problem->features->n_features, most = problem->factor_memory / (p * p * sizeof(double));
    size_t count = most >= MOST_SIDE_BY_SIDE ? MOST_SIDE_BY_SIDE : most >= 2.0 ? (size_t)most : 1;
    return count < problem->n_outputs ? count : problem->n_outputs;
}

karma_status karma_i_solve_primal(double *weights, karma_i_primal_result *result, const karma_i_primal_problem *problem,
                                  const karma_hooks *hooks, karma_error *err) {
    size_t p = problem->features->n_features, step = side_by_side(problem);
    *result = (karma_i_primal_result){.stop = KARMA_STOP_CONVERGED};
    KARMA_TRY(karma_i_ranks_broadcast(&step, sizeof step, problem->features->split.ranks, err));
    for (size_t first = 0; first < problem->n_outputs; first += step) {
        group g;
        size_t count = problem->n_outputs - first < step ? problem->n_outputs - first : step;
        karma_i_primal_problem own = *problem;
        int stopped = result->stop == KARMA_STOP_CANCELLED;
        if (stopped) own.most_passes = PASSES_AFTER_STOP;
        karma_status st = init_group(&g, &own, first, count, weights + first * p, stopped ? NULL : hooks, err);
        if (st == KARMA_OK) st = solve_group(&g, err);
        if (st == KARMA_OK) report_group(result, &g);
        for (size_t k = 0; st == KARMA_OK && k < count; k++)
            memcpy(weights + (first + k) * p, g.machines[k].weights, p * sizeof *weights);
        clear_group(&g);
        if (st != KARMA_OK) return st;
    }
    return KARMA_OK;
}
