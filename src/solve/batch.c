/* The exact minimum, with a certificate. For each output
 *
 *   primal   P(v) = ½|v|² + Σ_i c_i ℓ(z_i, y_i),   z_i = v·φ(x_i),   c_i = (C/m) s_i
 *   dual     D(β) = -½ βᵀKβ - Σ_i c_i ℓ*(-β_i/c_i)
 *   with     v = Σ_i β_i φ(x_i),   z = Kβ
 *
 * D(β) <= min P <= P(v), and since βᵀKβ = Σ β_i z_i the gap P - D is a sum over rows of Fenchel-Young terms, each
 * at least 0. There is no equality constraint: the bias is an attribute.
 *
 * One row: let q = K_ii. With the other coefficients fixed, the best β_i moves the row's score to ζ = prox of
 * q c_i ℓ at z_i - q β_i, so β_i grows by (ζ - z_i)/q.
 *
 * A step takes a block of rows: the free rows, whose β is inside its range and not at a kink (they depend on
 * each other), and the rows with the largest terms of the gap. It gets their kernel rows in one call, solves
 * the problem of the block (dual_block.c), and updates z of all rows by one product. If free rows alone do
 * not fit a block, blocks undo each other's work, and steps take pairs of rows instead (dual_pairs.c). */
#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/exact.h"
#include "kernel/row_cache.h"
#include "solve/dual_block.h"
#include "solve/dual_pairs.h"
#include "solve/solver.h"

enum {
    LEAST_BLOCK = 320, /* rows per step when memory allows no more */
    MOST_BLOCK = 1024,
    SHARES = 3,               /* a block has at most a third of the rows: its matrix should stay in cache */
    CHUNK = 512,              /* rows whose z is updated at a time: fits the first cache */
    PARALLEL_LOOK = 20000,    /* from this many rows, several threads look at them */
    PARALLEL_SPREAD = 500000, /* from this many products, several threads spread a change */
    MOST_CORRECTIONS = 8,     /* how often scores are refreshed before the solver gives up */
    PASSES_BY_DEFAULT = 1000,
    ROWS_BY_DEFAULT = 4000000
};

/* A block is solved until its gap has fallen by this factor, or to this share of the allowed gap. */
static const double INNER_REDUCTION = 0.1, INNER_SHARE = 0.2;
/* The same when the next block undoes much of the work. */
static const double CROWDED_REDUCTION = 0.5;
/* The mean of c k(x, x) at the start if the final one is larger, the largest factor of one increase, and the
 * gap to reach before an increase. */
static const double FIRST_WEIGHT = 1.0, MOST_RAISE = 5.0, FIRST_TOLERANCE = 5e-2;
/* The error of a score Σ_j K_ij β_j is about this times √(K_ii Σ_j K_jj β_j²): K is in single precision, and its errors
 * are independent. */
static const double SCORE_ERROR = 8.0 * 0x1p-24;
/* The share of the allowed gap that may stay uncertain, and how many kernel values may be computed in double
 * precision to reduce the uncertainty. */
static const double UNCERTAIN_SHARE = 0.1, MOST_EXACT_VALUES = 5e7;
/* A row needs at least this share of the gap allowed per row to be worth a place in the block. */
static const double NEGLIGIBLE = 1e-2;

/* How the β of a row would change: inside its range, up or down to an end of it, or not at all. */
enum row_kind { FREE, RISES, FALLS, STAYS };

typedef struct dual_problem {
    const karma_i_problem *problem;
    const karma_i_loss *loss;
    karma_i_row_cache *cache;
    int threads;
    double C;
    size_t n, stride;                           /* of the targets: the number of outputs */
    const double *y;                            /* of this output, stride apart */
    double *c, *q;                              /* per row: weight and K_ii */
    double *beta, *z;                           /* per row */
    double *kept_beta, *kept_z;                 /* the solution for smaller weights */
    double *excess, *row_loss;                  /* share of the gap, and of the losses in P */
    unsigned char *kind;                        /* enum row_kind */
    double *low, *high, *ridge, *curve, *slope; /* per row: the box of the pairs */
    /* the block at work */
    size_t most_block;
    size_t *block; /* also scratch for choosing it */
    size_t n_block;
    const float **rows;
    uint32_t *columns;
    double *change;
    karma_i_dual_block small;
    int is_given;         /* the kernel's values are given, not computed with rounding errors */
    int keeps_all;        /* there is memory for the kernel rows of all rows */
    int is_turn_of_pairs; /* whether the last step took pairs */
    double primal, dual, gap;
} dual_problem;

static void free_dual(dual_problem *d) {
    karma_i_row_cache_free(d->cache);
    karma_i_dual_block_clear(&d->small);
    karma_i_free(d->c);
    karma_i_free(d->q);
    karma_i_free(d->beta);
    karma_i_free(d->z);
    karma_i_free(d->kept_beta);
    karma_i_free(d->kept_z);
    karma_i_free(d->excess);
    karma_i_free(d->row_loss);
    karma_i_free(d->kind);
    karma_i_free(d->low);
    karma_i_free(d->high);
    karma_i_free(d->ridge);
    karma_i_free(d->curve);
    karma_i_free(d->slope);
    karma_i_free(d->block);
    karma_i_free(d->rows);
    karma_i_free(d->columns);
    karma_i_free(d->change);
}

static size_t clamp_size(double x, size_t low, size_t high) {
    return !(x > (double)low) ? low : x < (double)high ? (size_t)x : high;
}

static karma_status init_dual(dual_problem *d, const karma_i_problem *problem, const karma_fit_options *options,
                              karma_error *err) {
    size_t n = problem->rows->n_rows;
    double affordable = karma_i_memory_bytes(options) / ((double)n * sizeof(float));
    size_t most = clamp_size(fmin(0.25 * affordable, (double)n / SHARES), LEAST_BLOCK, MOST_BLOCK);
    *d = (dual_problem){.problem = problem, .n = n, .stride = problem->n_outputs};
    d->most_block = most < n ? most : n;
    d->keeps_all = affordable >= (double)n;
    d->threads = karma_i_threads(options->threads);
    d->C = options->C;
    d->c = karma_i_alloc(n, sizeof *d->c);
    d->q = karma_i_alloc(n, sizeof *d->q);
    d->beta = karma_i_alloc(n, sizeof *d->beta);
    d->z = karma_i_alloc(n, sizeof *d->z);
    d->kept_beta = karma_i_alloc(n, sizeof *d->kept_beta);
    d->kept_z = karma_i_alloc(n, sizeof *d->kept_z);
    d->excess = karma_i_alloc(n, sizeof *d->excess);
    d->row_loss = karma_i_alloc(n, sizeof *d->row_loss);
    d->kind = karma_i_alloc(n, 1);
    d->low = karma_i_alloc(n, sizeof *d->low);
    d->high = karma_i_alloc(n, sizeof *d->high);
    d->ridge = karma_i_alloc(n, sizeof *d->ridge);
    d->curve = karma_i_alloc(n, sizeof *d->curve);
    d->slope = karma_i_alloc(n, sizeof *d->slope);
    d->block = karma_i_alloc(n, sizeof *d->block);
    d->rows = karma_i_alloc(d->most_block, sizeof *d->rows);
    d->columns = karma_i_alloc(d->most_block, sizeof *d->columns);
    d->change = karma_i_alloc(d->most_block, sizeof *d->change);
    KARMA_TRY(karma_i_dual_block_init(&d->small, d->most_block, err));
    if (!d->c || !d->q || !d->beta || !d->z || !d->kept_beta || !d->kept_z || !d->excess || !d->row_loss || !d->kind ||
        !d->low || !d->high || !d->ridge || !d->curve || !d->slope || !d->block || !d->rows || !d->columns ||
        !d->change)
        return karma_i_fail_memory(err);
    d->is_given = n > 0 && problem->kernel->n_factors == 1 && karma_i_rows_given(problem->rows, 0, problem->rows, 0);
    karma_i_kernel_diagonal(d->q, problem->kernel, karma_i_rows_all(problem->rows));
    return karma_i_row_cache_new(&d->cache, problem->kernel, problem->rows, d->most_block, clamp_size(affordable, 0, n),
                                 d->threads, err);
}

/* New coefficients of some rows, whose kernel rows are available; and z += K change of all rows. */
static void spread_change(dual_problem *d, const size_t *index, const double *beta, size_t count) {
    const karma_i_path *path = d->problem->kernel->path;
    size_t used = 0;
    for (size_t a = 0; a < count; a++) {
        double change = beta[a] - d->beta[index[a]];
        if (change == 0.0) continue;
        d->beta[index[a]] = beta[a];
        d->rows[used] = d->rows[a];
        d->change[used++] = change;
    }
#pragma omp parallel for schedule(dynamic) num_threads(used * d->n < PARALLEL_SPREAD ? 1 : d->threads)
    for (size_t first = 0; first < d->n; first += CHUNK) {
        size_t part = d->n - first < CHUNK ? d->n - first : CHUNK;
        path->axpy_rows(d->z + first, d->rows, d->change, used, first, part);
    }
}

/* The same for the first `count` rows of the list in `block`; there may be any number. */
static karma_status spread_listed(dual_problem *d, const double *beta, size_t count, karma_error *err) {
    for (size_t first = 0; first < count; first += d->most_block) {
        size_t part = count - first < d->most_block ? count - first : d->most_block;
        KARMA_TRY(karma_i_row_cache_get(d->rows, d->cache, d->block + first, part, err));
        spread_change(d, d->block + first, beta + first, part);
    }
    return KARMA_OK;
}

/* z = Kβ. If the kernel's values are in memory, only the columns with nonzero β are needed. */
static karma_status compute_scores(dual_problem *d, karma_error *err) {
    karma_i_view all = karma_i_rows_all(d->problem->rows);
    size_t count = 0;
    if (!d->is_given) return karma_i_kernel_scores(d->z, d->problem->kernel, all, all, d->beta, 1, d->threads, err);
    for (size_t i = 0; i < d->n; i++) {
        if (d->beta[i] == 0.0) continue;
        d->block[count] = i;
        d->excess[count++] = d->beta[i]; /* not in use yet */
        d->beta[i] = 0.0;
    }
    memset(d->z, 0, d->n * sizeof *d->z);
    return spread_listed(d, d->excess, count, err);
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
    if (any) return compute_scores(d, err);
    memset(d->z, 0, d->n * sizeof *d->z);
    return KARMA_OK;
}

/* The share of row i in the gap, and how its β would change. A row of norm 0 has the same score for every
 * β. */
static void look_at(dual_problem *d, size_t i) {
    const karma_i_loss *loss = d->loss;
    double q = d->q[i], c = d->c[i], z = d->z[i], y = d->y[i * d->stride], p = loss->parameter;
    d->excess[i] = d->row_loss[i] = 0.0;
    d->kind[i] = STAYS;
    if (!(c > 0.0)) return;
    if (!(q > 0.0)) d->beta[i] = -c * loss->derivative(z, y, p); /* what the conjugate wants */
    /* rounding may leave β/c slightly outside the domain */
    double conjugate = loss->conjugate(loss->project(-d->beta[i] / c, y, p), y, p);
    d->row_loss[i] = c * loss->value(z, y, p);
    d->excess[i] = d->row_loss[i] + c * conjugate + d->beta[i] * z;
    if (!(q > 0.0)) return;
    double u = z - q * d->beta[i], rise = loss->prox(u, q * c, y, p) - z;
    if (loss->prox_slope(u, q * c, y, p) < 1.0)
        d->kind[i] = FREE;
    else if (rise != 0.0)
        d->kind[i] = rise > 0.0 ? RISES : FALLS;
}

/* How much larger the share of row i in the gap may be if its score is off by up to `error`. */
static double uncertainty(const dual_problem *d, size_t i, double error) {
    const karma_i_loss *loss = d->loss;
    double c = d->c[i], z = d->z[i], y = d->y[i * d->stride], most = 0.0;
    if (!(c > 0.0)) return 0.0;
    for (int side = -1; side <= 1; side += 2) {
        double other = z + side * error;
        double more = c * (loss->value(other, y, loss->parameter) - loss->value(z, y, loss->parameter));
        most = fmax(most, more + d->beta[i] * (other - z));
    }
    return most;
}

/* Lists in `block` the rows whose uncertainty is above `least`. Returns the joint uncertainty of the others:
 * errors of different rows are independent too. */
static double find_uncertain(dual_problem *d, double least, size_t *count) {
    double sum = 0.0, rest = 0.0;
    *count = 0;
    if (d->is_given) return 0.0;
    for (size_t i = 0; i < d->n; i++) sum += d->q[i] * d->beta[i] * d->beta[i];
    for (size_t i = 0; i < d->n; i++) {
        double more = uncertainty(d, i, SCORE_ERROR * sqrt(d->q[i] * sum));
        if (more > least)
            d->block[(*count)++] = i;
        else
            rest += more * more;
    }
    return sqrt(rest);
}

/* Computes the state of every row and the certificate. */
static void look(dual_problem *d) {
    double half_norm = 0.0, losses = 0.0, gap = 0.0;
#pragma omp parallel for schedule(static) num_threads(d->n < PARALLEL_LOOK ? 1 : d->threads)
    for (size_t i = 0; i < d->n; i++) look_at(d, i);
    for (size_t i = 0; i < d->n; i++) {
        if (d->c[i] > 0.0) half_norm += 0.5 * d->beta[i] * d->z[i];
        losses += d->row_loss[i];
        gap += d->excess[i];
    }
    d->gap = fmax(0.0, gap); /* below 0 by rounding only */
    d->primal = half_norm + losses;
    d->dual = d->primal - d->gap;
}

/* Splits the block around the k-th largest excess: Hoare's selection on (excess, row), so that ties are
 * broken by row and the choice is always the same. */
static int exceeds(const dual_problem *d, size_t a, size_t b) {
    return d->excess[a] != d->excess[b] ? d->excess[a] > d->excess[b] : a < b;
}

static void select_best(dual_problem *d, size_t first, size_t count, size_t k) {
    size_t low = first, high = count;
    while (high - low > 1) {
        size_t pivot = d->block[low + (high - low) / 2], i = low, j = high;
        for (;;) {
            while (exceeds(d, d->block[i], pivot)) i++;
            do j--;
            while (exceeds(d, pivot, d->block[j]));
            if (i >= j) break;
            size_t swap = d->block[i];
            d->block[i++] = d->block[j];
            d->block[j] = swap;
        }
        /* block[low..j] exceed as much as block[j+1..high), or more */
        if (k <= j)
            high = j + 1 == high ? high - 1 : j + 1;
        else
            low = j + 1;
    }
}

/* Appends the rows of a kind with the largest excess, until the block has `most` rows. */
static void add_to_block(dual_problem *d, int kind, double least, size_t most) {
    size_t count = d->n_block;
    for (size_t i = 0; i < d->n; i++)
        if (d->kind[i] == kind && d->excess[i] > least) d->block[count++] = i;
    if (count > most) {
        if (most > d->n_block) select_best(d, d->n_block, count, most - 1);
        count = most;
    }
    d->n_block = count;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}
/* How many of `room` places one kind of rows gets that has `count` rows, beside `others` rows of another
 * kind: half, or more if places are left.
 */
static size_t fair_share(size_t room, size_t count, size_t others) {
    size_t half = room / 2, rest = room - smaller(others, room);
    return smaller(count, half > rest ? half : rest);
}

/* Free rows fill at most half of the block if there are enough others. Of the others, half rise and half
 * fall: a block of one kind would move the scores of all rows in one direction, and the next block would move
 * them back. */
static void choose_block(dual_problem *d, double goal) {
    double least = NEGLIGIBLE * goal / (double)d->n;
    size_t counts[4] = {0};
    for (size_t i = 0; i < d->n; i++)
        if (d->kind[i] == FREE || d->excess[i] > least) counts[d->kind[i]]++;
    if (counts[RISES] + counts[FALLS] + counts[FREE] == 0) {
        least = 0.0;
        counts[RISES] = counts[FALLS] = d->n; /* all of them */
    }
    size_t n_free = fair_share(d->most_block, counts[FREE], counts[RISES] + counts[FALLS]);
    size_t room = d->most_block - n_free, n_rise = fair_share(room, counts[RISES], counts[FALLS]);
    d->n_block = 0;
    add_to_block(d, FREE, -INFINITY, n_free);
    add_to_block(d, RISES, least, n_free + n_rise);
    add_to_block(d, FALLS, least, d->most_block);
}

static void gather_small(dual_problem *d) {
    karma_i_dual_block *b = &d->small;
    b->path = d->problem->kernel->path;
    b->loss = d->loss;
    b->n = d->n_block;
    for (size_t a = 0; a < d->n_block; a++) d->columns[a] = (uint32_t)d->block[a];
    for (size_t a = 0; a < d->n_block; a++) {
        size_t i = d->block[a];
        b->path->gather(b->kernel + a * b->most, d->rows[a], d->columns, d->n_block);
        b->y[a] = d->y[i * d->stride];
        b->c[a] = d->c[i];
        b->q[a] = d->q[i];
        b->beta[a] = d->beta[i];
        b->z[a] = d->z[i];
    }
}

/* `share`: how much of the block's gap may remain. */
static karma_status step_block(dual_problem *d, double share, double goal, karma_error *err) {
    KARMA_TRY(karma_i_row_cache_get(d->rows, d->cache, d->block, d->n_block, err));
    gather_small(d);
    double inner_goal = fmax(share * karma_i_dual_block_gap(&d->small), INNER_SHARE * goal);
    KARMA_TRY(karma_i_dual_block_solve(&d->small, inner_goal, err));
    spread_change(d, d->block, d->small.beta, d->n_block);
    return KARMA_OK;
}

/* Whether there are more free rows than fit a block, and pairs can be moved instead. */
static int is_crowded(const dual_problem *d) {
    size_t n_free = 0;
    for (size_t i = 0; i < d->n; i++) n_free += d->kind[i] == FREE;
    return d->loss->bend >= 0.0 && d->keeps_all && n_free > d->most_block;
}

/* The problem as that of a box (dual_pairs.h). */
static void fill_box(dual_problem *d) {
    const karma_i_loss *loss = d->loss;
    for (size_t i = 0; i < d->n; i++) {
        double y = d->y[i * d->stride], c = d->c[i], p = loss->parameter;
        d->low[i] = d->high[i] = d->beta[i];
        d->ridge[i] = c > 0.0 ? loss->bend / c : 0.0;
        d->curve[i] = d->q[i] + d->ridge[i];
        d->slope[i] = y - d->z[i] - d->ridge[i] * d->beta[i];
        if (!(c > 0.0 && d->q[i] > 0.0)) continue;
        d->low[i] = -c * loss->project(INFINITY, y, p);
        d->high[i] = -c * loss->project(-INFINITY, y, p);
    }
}

/* Pairs of any rows; the kernel rows of the block are computed in one go, since most steps will be among them. */
static karma_status step_pairs(dual_problem *d, karma_error *err) {
    size_t done;
    fill_box(d);
    karma_i_dual_pairs pairs = {
        {d->n, d->curve, d->low, d->high, d->beta, d->slope}, d->ridge, d->cache, d->problem->kernel->path};
    KARMA_TRY(karma_i_row_cache_get(d->rows, d->cache, d->block, d->n_block, err));
    KARMA_TRY(karma_i_dual_pairs_run(&done, &pairs, d->most_block / 2, err));
    for (size_t i = 0; i < d->n; i++) d->z[i] = d->y[i * d->stride] - d->slope[i] - d->ridge[i] * d->beta[i];
    return KARMA_OK;
}

/* Blocks and pairs take turns when blocks alone may make no progress: either may be much faster than the
 * other. The first pass uses blocks only, since far fewer rows may be free after it. */
static karma_status take_step(dual_problem *d, int is_first_pass, double goal, karma_error *err) {
    if (!is_crowded(d)) return step_block(d, INNER_REDUCTION, goal, err);
    d->is_turn_of_pairs = !d->is_turn_of_pairs && !is_first_pass;
    return d->is_turn_of_pairs ? step_pairs(d, err) : step_block(d, CROWDED_REDUCTION, goal, err);
}

/* Turns the solution for weights c into a start for weights `factor` times as large. Rows at an end of their
 * range stay there; free rows keep their β, so that rows at a kink may keep their score. */
static karma_status raise_weights(dual_problem *d, double factor, karma_error *err) {
    size_t count = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->kind[i] == FREE && d->beta[i] != 0.0) {
            d->block[count] = i;
            d->excess[count++] = d->beta[i] / factor; /* not in use until the next look */
        }
    KARMA_TRY(spread_listed(d, d->excess, count, err));
    for (size_t i = 0; i < d->n; i++) {
        d->c[i] *= factor;
        d->beta[i] *= factor;
        d->z[i] *= factor;
    }
    return KARMA_OK;
}

static void widen_gap(dual_problem *d, double more) {
    d->gap += more;
    d->dual -= more;
}

/* Whether the gap is within the tolerance in double precision too. If rounding errors of the kernel leave
 * that open, the scores in question are recomputed, and later steps start from the correct ones. */
static karma_status make_certain(int *is_certain, dual_problem *d, double tolerance, karma_error *err) {
    size_t count, n_support = 0;
    double rest = find_uncertain(d, UNCERTAIN_SHARE * tolerance * d->primal / sqrt((double)d->n), &count);
    for (size_t j = 0; j < d->n; j++) n_support += d->beta[j] != 0.0;
    if (count > 0 && (double)count * (double)n_support <= MOST_EXACT_VALUES) {
        KARMA_TRY(karma_i_exact_scores(d->excess, d->problem->kernel, d->problem->rows, d->block, count, d->beta,
                                       d->threads, err));
        for (size_t k = 0; k < count; k++) d->z[d->block[k]] = d->excess[k];
        look(d);
    } else if (count > 0) {
        rest = find_uncertain(d, INFINITY, &count);
    }
    widen_gap(d, rest);
    *is_certain = d->gap <= tolerance * d->primal;
    return KARMA_OK;
}

/* The number of kernel rows that steps used. */
typedef struct row_budget {
    size_t used, most;
    size_t n_corrections; /* of the scores */
} row_budget;

/* Reports the gap as progress. */
static int ask_to_stop(const dual_problem *d, double tolerance, const karma_hooks *hooks) {
    char stage[80];
    if (!hooks || !hooks->progress) return 0;
    (void)snprintf(stage, sizeof stage, "gap %.2g, goal %.2g", d->primal > 0.0 ? d->gap / d->primal : 0.0, tolerance);
    return karma_i_progress(hooks, stage, 0, 0);
}

static karma_status solve_level(dual_problem *d, karma_fit_info *info, double tolerance, int is_last,
                                row_budget *budget, const karma_hooks *hooks, karma_error *err) {
    for (;;) {
        look(d);
        /* not before the first step: an output that has learned nothing would disturb the others */
        if (budget->used > 0 && ask_to_stop(d, tolerance, hooks)) {
            info->stop = KARMA_STOP_CANCELLED;
            return KARMA_OK;
        }
        if (d->gap <= tolerance * d->primal) {
            int is_certain = 1;
            if (is_last) KARMA_TRY(make_certain(&is_certain, d, tolerance, err));
            if (is_certain) {
                info->stop = KARMA_STOP_CONVERGED;
                return KARMA_OK;
            }
            if (++budget->n_corrections > MOST_CORRECTIONS) {
                info->stop = KARMA_STOP_LIMIT;
                return KARMA_OK;
            }
            look(d);
        }
        choose_block(d, tolerance * d->primal);
        /* out of rows; or no row can be improved, and rounding is all that is left of the gap */
        if (budget->used >= budget->most || d->n_block == 0) {
            info->stop = KARMA_STOP_LIMIT;
            return KARMA_OK;
        }
        KARMA_TRY(take_step(d, budget->used < d->n, tolerance * d->primal, err));
        budget->used += d->n_block;
    }
}

static void multiply_weights(dual_problem *d, double factor) {
    for (size_t i = 0; i < d->n; i++) d->c[i] *= factor;
}

static void exchange_kept(dual_problem *d) {
    double *beta = d->beta, *z = d->z;
    d->beta = d->kept_beta;
    d->z = d->kept_z;
    d->kept_beta = beta;
    d->kept_z = z;
    look(d);
}

/* Keeps the better of two: the point where the solver was stopped, or the last solution for smaller
 * weights. */
static void take_better(dual_problem *d) {
    look(d);
    double dual = d->dual;
    exchange_kept(d);
    if (d->dual < dual) exchange_kept(d);
}

/* The total factor by which weights are raised, and the number of steps. */
static size_t plan_raises(double *factor, const dual_problem *d) {
    double sum = 0.0;
    for (size_t i = 0; i < d->n; i++) sum += d->c[i] * d->q[i];
    double whole = sum / (double)d->n / FIRST_WEIGHT;
    size_t count = whole > 1.0 ? (size_t)ceil(log(whole) / log(MOST_RAISE) - 1e-3) : 0;
    *factor = count ? pow(whole, 1.0 / (double)count) : 1.0;
    return count;
}

/* Large weights are reached by way of smaller ones: from 0 the steps would be far too long. */
static karma_status solve_output(dual_problem *d, karma_fit_info *info, double tolerance, row_budget *budget,
                                 int is_cold, const karma_hooks *hooks, karma_error *err) {
    double factor = 1.0;
    size_t n_raises = is_cold ? plan_raises(&factor, d) : 0, left = n_raises;
    multiply_weights(d, pow(factor, -(double)n_raises));
    info->stop = KARMA_STOP_CONVERGED;
    for (; left > 0; left--) {
        KARMA_TRY(solve_level(d, info, fmax(tolerance, FIRST_TOLERANCE), 0, budget, hooks, err));
        if (info->stop != KARMA_STOP_CONVERGED) break;
        memcpy(d->kept_beta, d->beta, d->n * sizeof *d->beta);
        memcpy(d->kept_z, d->z, d->n * sizeof *d->z);
        KARMA_TRY(raise_weights(d, factor, err));
    }
    if (left > 0)
        multiply_weights(d, pow(factor, (double)left));
    else
        KARMA_TRY(solve_level(d, info, tolerance, 1, budget, hooks, err));
    if (info->stop != KARMA_STOP_CONVERGED) {
        size_t count;
        if (left < n_raises) take_better(d);
        look(d);
        widen_gap(d, find_uncertain(d, INFINITY, &count));
    }
    return KARMA_OK;
}

/* Passes over few rows cost little, so more of them are allowed. */
static size_t most_rows(const karma_fit_options *options, size_t n) {
    if (options->passes != (int64_t)KARMA_AUTO) return (size_t)options->passes * n;
    size_t rows = PASSES_BY_DEFAULT * n;
    return rows > ROWS_BY_DEFAULT ? rows : ROWS_BY_DEFAULT;
}

static karma_status solve_batch(double *coefficients, karma_fit_info *info, const karma_i_problem *problem,
                                const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    dual_problem d = {0};
    karma_status st = init_dual(&d, problem, options, err);
    karma_stop worst = KARMA_STOP_CONVERGED;
    info->primal = info->dual = 0.0;
    for (size_t o = 0; st == KARMA_OK && o < problem->n_outputs; o++) {
        /* once cancelled, each other output gets one pass: a class that was never learned would disturb all others */
        int cancelled = worst == KARMA_STOP_CANCELLED;
        row_budget budget = {.most = cancelled ? d.n : most_rows(options, d.n)};
        st = start_from(&d, o, problem->start, err);
        if (st == KARMA_OK)
            st = solve_output(&d, info, options->tolerance, &budget, !problem->start, cancelled ? NULL : hooks, err);
        if (st != KARMA_OK) break;
        for (size_t i = 0; i < d.n; i++) coefficients[i * d.stride + o] = d.beta[i];
        info->rounds += budget.used;
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

KARMA_I_SOLVER(KARMA_SOLVER_BATCH) = {solve_batch};
