/* The exact minimum, with a certificate. For each output
 *
 *   primal   P(v) = ½|v|² + Σ_i c_i ℓ(z_i, y_i),   z_i = v·φ(x_i),   c_i = (C/m) s_i
 *   dual     D(β) = -½ βᵀKβ - Σ_i c_i ℓ*(-β_i/c_i)
 *   with     v = Σ_i β_i φ(x_i),   z = Kβ
 *
 * D(β) <= min P <= P(v), and since βᵀKβ = Σ β_i z_i the gap P - D is a sum over rows of Fenchel-Young terms, each
 * at least 0. There is no equality constraint: the bias is an attribute.
 *
 * One row: with q = K_ii, the best β_i, the others fixed, moves the row's score to ζ = prox of q c_i ℓ at z_i - q β_i,
 * hence β_i grows by (ζ - z_i)/q and D by at least (ζ - z_i)²/(2q). That number, `promise`, orders the rows.
 *
 * A step takes the block of rows that promise most, gets their kernel rows in one call, visits the rows of the block
 * in turn until the small problem is solved, and updates z of all rows by one product. Rows that promise nothing for
 * a while are left out (shrinking) until the rest is solved; then all are looked at again. */
#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/row_cache.h"
#include "solve/extrapolate.h"
#include "solve/solver.h"

enum {
    BLOCK = 320,              /* rows of a step */
    MOST_SWEEPS = 200,        /* over the block in one step */
    MEMORY = 5,               /* sweeps between two extrapolations */
    PATIENCE = 8,             /* looks without promise before a row is left out */
    CHUNK = 512,              /* rows whose z is updated at a time: fits the first cache */
    PARALLEL_LOOK = 20000,    /* rows from which looking is worth several threads */
    PARALLEL_SPREAD = 500000, /* products from which spreading a change is */
    PASSES_BY_DEFAULT = 10000,
    VISITS_BY_DEFAULT = 50000000
};

/* Of the memory limit, what is kept for the packed kernel; the rest is the cache's. */
static const double PACKED_SHARE = 0.25;

/* The small problem is solved until the promises in it have fallen by this factor. */
static const double INNER_REDUCTION = 1e-1;

typedef struct dual_problem {
    const karma_i_problem *problem;
    const karma_i_loss *loss;
    karma_i_row_cache *cache;
    int threads;
    double C;
    size_t n, stride; /* of targets: the number of outputs */
    const double *y;  /* of this output, stride apart */
    double *c, *q;    /* per row: weight and K_ii */
    double *beta, *z; /* per row */
    double *promise;
    unsigned char *idle; /* looks without promise, up to PATIENCE */
    size_t *active;      /* rows not left out, ascending */
    size_t n_active;
    /* when most rows are left out: the kernel among the rest, packed, one row when it is first needed */
    float *packed;   /* n_columns x n_columns, or NULL: nothing is left out */
    size_t *columns; /* the rows it is about, ascending; all active ones are among them */
    size_t n_columns;
    size_t *place;            /* of a row among the columns */
    unsigned char *is_packed; /* by place */
    double most_packed_bytes;
    /* the block at work */
    size_t *block; /* also scratch for choosing it */
    size_t n_block;
    const float **rows;
    float *small;             /* BLOCK x BLOCK: K inside the block */
    double *small_z, *change; /* of the block's rows */
    double (*past)[BLOCK];    /* the last MEMORY + 1 changes */
    double primal, dual;      /* when all rows were last looked at */
    double gap;               /* of the active rows */
} dual_problem;

static void free_dual(dual_problem *d) {
    karma_i_row_cache_free(d->cache);
    karma_i_free(d->c);
    karma_i_free(d->q);
    karma_i_free(d->beta);
    karma_i_free(d->z);
    karma_i_free(d->promise);
    karma_i_free(d->idle);
    karma_i_free(d->active);
    karma_i_free(d->packed);
    karma_i_free(d->columns);
    karma_i_free(d->place);
    karma_i_free(d->is_packed);
    karma_i_free(d->block);
    karma_i_free(d->rows);
    karma_i_free(d->small);
    karma_i_free(d->small_z);
    karma_i_free(d->change);
    karma_i_free(d->past);
}

/* Kernel rows that the memory limit allows. */
static size_t rows_within_memory(const karma_fit_options *options, size_t n) {
    double rows = (1.0 - PACKED_SHARE) * karma_i_memory_bytes(options) / ((double)n * sizeof(float));
    return rows < (double)n ? (size_t)rows : n;
}

static karma_status init_dual(dual_problem *d, const karma_i_problem *problem, const karma_fit_options *options,
                              karma_error *err) {
    size_t n = problem->rows->n_rows;
    *d = (dual_problem){.problem = problem, .n = n, .stride = problem->n_outputs};
    d->threads = karma_i_threads(options->threads);
    d->c = karma_i_alloc(n, sizeof *d->c);
    d->q = karma_i_alloc(n, sizeof *d->q);
    d->beta = karma_i_alloc(n, sizeof *d->beta);
    d->z = karma_i_alloc(n, sizeof *d->z);
    d->promise = karma_i_alloc(n, sizeof *d->promise);
    d->idle = karma_i_alloc(n, 1);
    d->active = karma_i_alloc(n, sizeof *d->active);
    d->columns = karma_i_alloc(n, sizeof *d->columns);
    d->place = karma_i_alloc(n, sizeof *d->place);
    d->is_packed = karma_i_alloc(n, 1);
    d->most_packed_bytes = PACKED_SHARE * karma_i_memory_bytes(options);
    d->block = karma_i_alloc(n, sizeof *d->block);
    d->rows = karma_i_alloc(BLOCK, sizeof *d->rows);
    d->small = karma_i_alloc_aligned(BLOCK, BLOCK * sizeof *d->small);
    d->small_z = karma_i_alloc(BLOCK, sizeof *d->small_z);
    d->change = karma_i_alloc(BLOCK, sizeof *d->change);
    d->past = karma_i_alloc(MEMORY + 1, sizeof *d->past);
    if (!d->c || !d->q || !d->beta || !d->z || !d->promise || !d->idle || !d->active || !d->columns || !d->place ||
        !d->is_packed || !d->block || !d->rows || !d->small || !d->small_z || !d->change || !d->past)
        return karma_i_fail_memory(err);
    d->C = options->C;
    karma_i_kernel_diagonal(d->q, problem->kernel, karma_i_rows_all(problem->rows));
    return karma_i_row_cache_new(&d->cache, problem->kernel, problem->rows, n < BLOCK ? n : BLOCK,
                                 rows_within_memory(options, n), d->threads, err);
}

static void look_at_all(dual_problem *d) {
    for (size_t i = 0; i < d->n; i++) d->active[i] = i;
    d->n_active = d->n;
    memset(d->idle, 0, d->n);
}

/* β from an earlier solution, brought into the domain of the conjugates, or 0; z to match. */
static karma_status start_from(dual_problem *d, size_t output, const double *start, karma_error *err) {
    const karma_i_loss *loss = d->loss = karma_i_problem_loss(d->problem, output);
    d->y = d->problem->targets + output;
    for (size_t i = 0; i < d->n; i++) d->c[i] = d->C / (double)d->n * karma_i_problem_row_weight(d->problem, i, output);
    int any = 0;
    for (size_t i = 0; i < d->n; i++) {
        double b = start ? start[i * d->stride + output] : 0.0, c = d->c[i];
        d->beta[i] = c > 0.0 ? -c * loss->project(-b / c, d->y[i * d->stride], loss->parameter) : 0.0;
        any |= d->beta[i] != 0.0;
    }
    look_at_all(d);
    if (!any) {
        memset(d->z, 0, d->n * sizeof *d->z);
        return KARMA_OK;
    }
    karma_i_view all = karma_i_rows_all(d->problem->rows);
    return karma_i_kernel_scores(d->z, d->problem->kernel, all, all, d->beta, 1, d->threads, err);
}

/* The score that row i would have at its best β. A row without norm keeps its score whatever its β is. */
static double best_score(const dual_problem *d, size_t i, double z, double beta) {
    double q = d->q[i];
    return d->loss->prox(z - q * beta, q * d->c[i], d->y[i * d->stride], d->loss->parameter);
}

/* Promises of the active rows, and the gap's terms over them; primal and dual when no row is left out. */
static void look(dual_problem *d) {
    const karma_i_loss *loss = d->loss;
    double half_norm = 0.0, losses = 0.0, conjugates = 0.0;
#pragma omp parallel for schedule(static) num_threads(d->n_active < PARALLEL_LOOK ? 1 : d->threads)
    for (size_t k = 0; k < d->n_active; k++) {
        size_t i = d->active[k];
        double q = d->q[i], step = best_score(d, i, d->z[i], d->beta[i]) - d->z[i];
        if (q <= 0.0 && d->c[i] > 0.0) /* nothing to move: β is what the conjugate wants */
            d->beta[i] = -d->c[i] * loss->derivative(d->z[i], d->y[i * d->stride], loss->parameter);
        d->promise[i] = q > 0.0 && d->c[i] > 0.0 ? step * step / q : 0.0;
    }
    for (size_t k = 0; k < d->n_active; k++) {
        size_t i = d->active[k];
        double y = d->y[i * d->stride], c = d->c[i];
        if (!(c > 0.0)) continue;
        half_norm += 0.5 * d->beta[i] * d->z[i];
        losses += c * loss->value(d->z[i], y, loss->parameter);
        /* rounding may leave β/c a hair outside the domain */
        conjugates += c * loss->conjugate(loss->project(-d->beta[i] / c, y, loss->parameter), y, loss->parameter);
    }
    d->gap = fmax(0.0, 2.0 * half_norm + losses + conjugates); /* below 0 by rounding only */
    if (d->packed) return;
    d->primal = half_norm + losses;
    d->dual = d->primal - d->gap;
}

/* The active rows in two parts around the k-th largest promise: Hoare's selection on (promise, row), so that equal
 * promises are told apart and the choice is the same every time. */
static int promises_more(const dual_problem *d, size_t a, size_t b) {
    return d->promise[a] != d->promise[b] ? d->promise[a] > d->promise[b] : a < b;
}

static void select_best(dual_problem *d, size_t count, size_t k) {
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t pivot = d->block[low + (high - low) / 2], i = low, j = high;
        for (;;) {
            while (promises_more(d, d->block[i], pivot)) i++;
            do j--;
            while (promises_more(d, pivot, d->block[j]));
            if (i >= j) break;
            size_t swap = d->block[i];
            d->block[i++] = d->block[j];
            d->block[j] = swap;
        }
        /* block[low..j] promise at least as much as block[j+1..high) */
        if (k <= j)
            high = j + 1 == high ? high - 1 : j + 1;
        else
            low = j + 1;
    }
}

/* Rows with some promise, at most BLOCK, those with most. */
static void choose_block(dual_problem *d) {
    size_t count = 0;
    for (size_t k = 0; k < d->n_active; k++)
        if (d->promise[d->active[k]] > 0.0) d->block[count++] = d->active[k];
    if (count > BLOCK) {
        select_best(d, count, BLOCK - 1);
        count = BLOCK;
    }
    d->n_block = count;
}

/* Kernel rows of the block: against all rows, or against the columns when the kernel is packed. */
static karma_status get_rows(dual_problem *d, karma_error *err) {
    if (!d->packed) return karma_i_row_cache_get(d->rows, d->cache, d->block, d->n_block, err);
    size_t missing[BLOCK] = {0}, n_missing = 0;
    for (size_t a = 0; a < d->n_block; a++)
        if (!d->is_packed[d->place[d->block[a]]]) missing[n_missing++] = d->block[a];
    KARMA_TRY(karma_i_row_cache_get(d->rows, d->cache, missing, n_missing, err));
    for (size_t a = 0; a < n_missing; a++) {
        float *row = d->packed + d->place[missing[a]] * d->n_columns;
        for (size_t k = 0; k < d->n_columns; k++) row[k] = d->rows[a][d->columns[k]];
        d->is_packed[d->place[missing[a]]] = 1;
    }
    for (size_t a = 0; a < d->n_block; a++) d->rows[a] = d->packed + d->place[d->block[a]] * d->n_columns;
    return KARMA_OK;
}

static void gather_small(dual_problem *d) {
    uint32_t column[BLOCK];
    for (size_t a = 0; a < d->n_block; a++) column[a] = (uint32_t)(d->packed ? d->place[d->block[a]] : d->block[a]);
    for (size_t a = 0; a < d->n_block; a++) {
        d->problem->kernel->path->gather(d->small + a * BLOCK, d->rows[a], column, d->n_block);
        d->small_z[a] = d->z[d->block[a]];
        d->change[a] = 0.0;
    }
}

/* What the changes of the block's rows take off -D: Σ change (z_before + z)/2 + Σ c ℓ*(-β/c), less is better. */
static double small_objective(const dual_problem *d, const double *change, const double *z) {
    const karma_i_loss *loss = d->loss;
    double sum = 0.0;
    for (size_t a = 0; a < d->n_block; a++) {
        size_t i = d->block[a];
        double c = d->c[i], y = d->y[i * d->stride];
        double slope = loss->project(-(d->beta[i] + change[a]) / c, y, loss->parameter);
        sum += 0.5 * change[a] * (d->z[i] + z[a]) + c * loss->conjugate(slope, y, loss->parameter);
    }
    return sum;
}

/* Jumps to where the last MEMORY sweeps seem to lead, cut to the domain, if D gains by it. Scores are computed anew:
 * weights are large and of both signs, and combining scores by them would lose digits. */
static void extrapolate_small(dual_problem *d) {
    const double *iterates[MEMORY + 1];
    double weights[MEMORY], change[BLOCK], z[BLOCK];
    for (size_t k = 0; k <= MEMORY; k++) iterates[k] = d->past[k];
    if (!karma_i_extrapolate(weights, iterates, MEMORY, d->n_block)) return;
    for (size_t a = 0; a < d->n_block; a++) z[a] = d->z[d->block[a]];
    for (size_t a = 0; a < d->n_block; a++) {
        size_t i = d->block[a];
        double beta = d->beta[i], c = d->c[i];
        for (size_t k = 0; k < MEMORY; k++) beta += weights[k] * d->past[k + 1][a];
        change[a] = -c * d->loss->project(-beta / c, d->y[i * d->stride], d->loss->parameter) - d->beta[i];
        if (change[a] != 0.0) d->problem->kernel->path->axpy(z, d->small + a * BLOCK, change[a], d->n_block);
    }
    if (!(small_objective(d, change, z) < small_objective(d, d->change, d->small_z))) return;
    memcpy(d->change, change, d->n_block * sizeof *change);
    memcpy(d->small_z, z, d->n_block * sizeof *z);
}

/* Visits every row of the block once; returns the sum of what was promised. */
static double sweep_small(dual_problem *d) {
    double sum = 0.0;
    for (size_t a = 0; a < d->n_block; a++) {
        size_t i = d->block[a];
        double step = best_score(d, i, d->small_z[a], d->beta[i] + d->change[a]) - d->small_z[a];
        if (step == 0.0) continue;
        sum += step * step / d->q[i];
        step /= d->q[i];
        d->change[a] += step;
        d->problem->kernel->path->axpy(d->small_z, d->small + a * BLOCK, step, d->n_block);
    }
    return sum;
}

/* Solves the block's own problem, the other rows fixed. Returns the rows visited. */
static size_t solve_small(dual_problem *d) {
    double first_sum = 0.0;
    size_t n_past = 0, sweep = 0;
    for (; sweep < MOST_SWEEPS; sweep++) {
        double sum = sweep_small(d);
        if (sweep == 0) first_sum = sum;
        if (sum <= INNER_REDUCTION * first_sum) break;
        memcpy(d->past[n_past], d->change, d->n_block * sizeof *d->change);
        if (n_past++ < MEMORY) continue;
        extrapolate_small(d);
        n_past = 0;
    }
    return (sweep + 1) * d->n_block;
}

/* β and, for all rows or the columns of the packed kernel, z += K change. */
static void spread_change(dual_problem *d) {
    const karma_i_path *path = d->problem->kernel->path;
    size_t used = 0, count = d->packed ? d->n_columns : d->n;
    for (size_t a = 0; a < d->n_block; a++) {
        if (d->change[a] == 0.0) continue;
        d->beta[d->block[a]] += d->change[a];
        d->rows[used] = d->rows[a];
        d->change[used++] = d->change[a];
    }
#pragma omp parallel for schedule(static) num_threads(used *count < PARALLEL_SPREAD ? 1 : d->threads)
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t part = count - first < CHUNK ? count - first : CHUNK;
        double sums[CHUNK];
        for (size_t k = 0; k < part; k++) sums[k] = d->z[d->packed ? d->columns[first + k] : first + k];
        for (size_t a = 0; a < used; a++) path->axpy(sums, d->rows[a] + first, d->change[a], part);
        for (size_t k = 0; k < part; k++) d->z[d->packed ? d->columns[first + k] : first + k] = sums[k];
    }
}

static karma_status step(dual_problem *d, size_t *visits, karma_error *err) {
    KARMA_TRY(get_rows(d, err));
    gather_small(d);
    *visits += solve_small(d);
    spread_change(d);
    return KARMA_OK;
}

static int is_busy(const dual_problem *d, size_t row) {
    return d->idle[row] < PATIENCE;
}

/* Leaves out rows that have promised nothing for a while, once they are half of those that are carried along, and packs
 * the kernel among the others. Where there is no memory for that, nothing is left out. */
static void shrink(dual_problem *d) {
    size_t busy = 0, kept = 0, carried = d->packed ? d->n_columns : d->n;
    for (size_t k = 0; k < d->n_active; k++) {
        size_t i = d->active[k];
        if (d->promise[i] > 0.0)
            d->idle[i] = 0;
        else if (is_busy(d, i))
            d->idle[i]++;
        busy += is_busy(d, i) ? 1 : 0;
    }
    if (busy > carried / 2 || (double)busy * (double)busy * sizeof(float) > d->most_packed_bytes) return;
    float *packed = karma_i_alloc_large(busy, busy * sizeof *packed);
    if (!packed) return;
    for (size_t k = 0; k < d->n_active; k++)
        if (is_busy(d, d->active[k])) d->active[kept++] = d->active[k];
    karma_i_free(d->packed);
    d->packed = packed;
    d->n_active = d->n_columns = kept;
    for (size_t k = 0; k < kept; k++) {
        d->columns[k] = d->active[k];
        d->place[d->active[k]] = k;
        d->is_packed[k] = 0;
    }
}

/* All rows back, with their z as it is now: only rows with β != 0 count. */
static karma_status unshrink(dual_problem *d, karma_error *err) {
    look_at_all(d);
    if (!d->packed) return KARMA_OK;
    karma_i_free(d->packed);
    d->packed = NULL;
    memset(d->z, 0, d->n * sizeof *d->z);
    for (size_t next = 0; next < d->n;) {
        for (d->n_block = 0; next < d->n && d->n_block < BLOCK; next++)
            if (d->beta[next] != 0.0) d->block[d->n_block++] = next;
        KARMA_TRY(get_rows(d, err));
        for (size_t a = 0; a < d->n_block; a++) {
            d->change[a] = d->beta[d->block[a]];
            d->beta[d->block[a]] = 0.0; /* spread_change puts it back */
        }
        spread_change(d);
    }
    return KARMA_OK;
}

typedef struct visit_budget {
    size_t visits, most_visits;
} visit_budget;

/* Tells how far the certificate is. */
static int ask_to_stop(const dual_problem *d, double tolerance, const karma_hooks *hooks) {
    char stage[80];
    if (!hooks || !hooks->progress) return 0;
    (void)snprintf(stage, sizeof stage, "gap %.2g, goal %.2g", d->primal > 0.0 ? d->gap / d->primal : 0.0, tolerance);
    return karma_i_progress(hooks, stage, 0, 0);
}

static karma_status solve_output(dual_problem *d, karma_fit_info *info, double tolerance, visit_budget *budget,
                                 const karma_hooks *hooks, karma_error *err) {
    info->stop = KARMA_STOP_CONVERGED;
    for (;;) {
        look(d);
        int whole = !d->packed;
        double goal = tolerance * d->primal;
        /* not before the first step: an output that has learned nothing would disturb the others */
        if (budget->visits > 0 && ask_to_stop(d, tolerance, hooks)) {
            info->stop = KARMA_STOP_CANCELLED;
            break;
        }
        if (whole && d->gap <= goal) break;
        choose_block(d);
        /* out of visits; or no row can be improved, and rounding is all that is left of the gap */
        if (budget->visits >= budget->most_visits || (d->n_block == 0 && whole)) {
            info->stop = KARMA_STOP_LIMIT;
            break;
        }
        if (d->n_block == 0 || (!whole && d->gap <= 0.9 * goal)) {
            KARMA_TRY(unshrink(d, err));
            continue;
        }
        KARMA_TRY(step(d, &budget->visits, err));
        shrink(d);
    }
    if (d->packed) { /* stopped early: the certificate is for all rows */
        KARMA_TRY(unshrink(d, err));
        look(d);
    }
    return KARMA_OK;
}

/* Passes over few rows cost nothing, so they may have more of them. */
static size_t most_visits(const karma_fit_options *options, size_t n) {
    if (options->passes != (int64_t)KARMA_AUTO) return (size_t)options->passes * n;
    size_t visits = PASSES_BY_DEFAULT * n;
    return visits > VISITS_BY_DEFAULT ? visits : VISITS_BY_DEFAULT;
}

karma_status karma_i_solve_batch(double *coefficients, karma_fit_info *info, const karma_i_problem *problem,
                                 const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    dual_problem d = {0};
    karma_status st = init_dual(&d, problem, options, err);
    karma_stop worst = KARMA_STOP_CONVERGED;
    info->primal = info->dual = 0.0;
    for (size_t o = 0; st == KARMA_OK && o < problem->n_outputs; o++) {
        /* once cancelled, each output that is still to come gets one pass: a class never looked at would be in the way
         * of all others */
        int cancelled = worst == KARMA_STOP_CANCELLED;
        visit_budget budget = {0, cancelled ? d.n : most_visits(options, d.n)};
        st = start_from(&d, o, problem->start, err);
        if (st == KARMA_OK) st = solve_output(&d, info, options->tolerance, &budget, cancelled ? NULL : hooks, err);
        if (st != KARMA_OK) break;
        for (size_t i = 0; i < d.n; i++) coefficients[i * d.stride + o] = d.beta[i];
        info->rounds += budget.visits;
        info->primal += d.primal;
        info->dual += d.dual;
        if (info->stop > worst) worst = info->stop;
    }
    if (st == KARMA_OK) {
        info->stop = worst;
        info->gap = info->primal > 0.0 ? (info->primal - info->dual) / info->primal : 0.0;
        info->kernel_evaluations = karma_i_row_cache_evaluations(d.cache);
        info->rho = 1.0 / options->C;
    }
    free_dual(&d);
    return st;
}
