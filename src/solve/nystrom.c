#include "solve/nystrom.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/cholesky.h"
#include "solve/primal.h"

/* At most this many exact features, and at most this share of the rows: with more, the dual is as good. */
static const double MOST_EXACT = 1000.0, EXACT_SHARE = 0.5;
/* Parts of the landmarks' kernel below this are rounding errors of single precision; relative to the largest
 * k(z, z). */
static const double SPANNED = 1e-6;
/* Kernel values are kept up to this many bytes unless the options set a limit. */
static const double MOST_STORED = 1e9;
/* The share of rows held out to compare numbers of landmarks. */
static const double HELD_OUT_SHARE = 0.05, MOST_HELD_OUT = 5000.0;
/* Machines that are only compared may have a gap this many times larger. */
static const double ROUGH = 5.0;
/* Landmarks by default: a multiple of the square root of the number of rows, between these limits. */
static const double LANDMARKS_PER_ROOT = 10.0, LEAST_LANDMARKS = 500.0, MOST_LANDMARKS = 2000.0;

/* With little memory there are fewer. Half of the memory is for matrices of landmarks × landmarks, which take
 * about this many bytes per entry: the norm, its factor, a factor of the Hessian, and temporary copies. */
static const double FEWEST_LANDMARKS = 50.0, MATRIX_BYTES = 48.0;

enum { PASSES_BY_DEFAULT = 2000 };

void karma_i_reduction_clear(karma_i_reduction *r) {
    karma_i_features_free(r->features);
    karma_i_free(r->landmarks);
    karma_i_free(r->lower);
    karma_i_rows_free(r->rows);
    karma_i_free(r->norm);
    karma_i_free(r->norm_factor);
    *r = (karma_i_reduction){0};
}

int karma_i_is_reducible(const karma_i_kernel *kernel, const karma_i_rows *rows, const karma_fit_options *options) {
    double n = (double)rows->n_rows, bound = karma_i_kernel_rank_bound(kernel, rows);
    return bound <= fmin(MOST_EXACT, EXACT_SHARE * n) && n * bound * sizeof(double) <= karma_i_memory_bytes(options);
}

karma_status karma_i_reduce_exactly(karma_i_reduction *out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                    const karma_fit_options *options, karma_error *err) {
    karma_i_exact_features exact;
    double bound = karma_i_kernel_rank_bound(kernel, rows);
    *out = (karma_i_reduction){0};
    if (isnan(bound)) return karma_i_fail_memory(err);
    if (!(bound <= MOST_EXACT)) return KARMA_OK;
    karma_status st =
        karma_i_features_exact(&exact, kernel, rows, (size_t)bound, karma_i_threads(options->threads), err);
    out->features = exact.features;
    out->landmarks = exact.landmarks;
    out->n_landmarks = exact.n_landmarks;
    out->lower = exact.lower;
    return st;
}

/* --- landmarks --------------------------------------------------------------------------------------------------- */

static double bytes_to_store(const karma_fit_options *options) {
    double limit = karma_i_memory_bytes(options);
    return options->memory == KARMA_AUTO ? fmin(limit, MOST_STORED) : 0.5 * limit;
}

size_t karma_i_count_landmarks(const karma_fit_options *options, size_t n_rows) {
    double n = (double)n_rows, count = (double)options->landmarks;
    if (options->landmarks == (int64_t)KARMA_AUTO) {
        count = fmin(MOST_LANDMARKS, fmax(LEAST_LANDMARKS, LANDMARKS_PER_ROOT * sqrt(n)));
        count = fmin(count, fmax(FEWEST_LANDMARKS, sqrt(0.5 * karma_i_memory_bytes(options) / MATRIX_BYTES)));
        /* recomputing values in each pass costs more than further landmarks gain */
        count = fmin(count, fmax(FEWEST_LANDMARKS, bytes_to_store(options) / (sizeof(float) * n)));
    }
    return (size_t)fmin(n, count);
}

/* Up to this many rows, all are shuffled. Beyond it that would take too much memory, so only the rows needed
 * are drawn. */
static const size_t MOST_SHUFFLED = (size_t)1 << 24;

/* The first `count` rows of a random order of all rows. */
static size_t *draw_rows(size_t count, size_t n_rows, uint64_t seed) {
    int shuffles = n_rows <= MOST_SHUFFLED || count > n_rows / 2;
    karma_i_rng rng;
    size_t *rows = karma_i_alloc(shuffles ? n_rows : count, sizeof *rows);
    if (!rows) return NULL;
    karma_i_rng_init(&rng, seed);
    for (size_t i = 0; shuffles && i < n_rows; i++) rows[i] = i;
    if (shuffles)
        karma_i_rng_shuffle(&rng, rows, n_rows);
    else if (!karma_i_rng_draw(&rng, rows, count, n_rows)) {
        karma_i_free(rows);
        return NULL;
    }
    size_t *kept = karma_i_realloc(rows, count, sizeof *rows);
    return kept ? kept : rows;
}

/* Distinct rows in the order in which they were drawn: so the first half is a random sample of landmarks as
 * well. */
static karma_status draw_landmarks(karma_i_reduction *r, const karma_i_partition *split,
                                   const karma_fit_options *options, karma_error *err) {
    r->n_landmarks = karma_i_count_landmarks(options, split->n_rows); /* machines may have different memory */
    KARMA_TRY(karma_i_ranks_broadcast(&r->n_landmarks, sizeof r->n_landmarks, split->ranks, err));
    r->landmarks = draw_rows(r->n_landmarks, split->n_rows, (uint64_t)options->seed);
    return r->landmarks ? KARMA_OK : karma_i_fail_memory(err);
}

/* Copies of rows of all processes. */
static karma_status copy_rows(karma_i_rows **out, const karma_i_problem *problem, const size_t *index, size_t count,
                              karma_error *err) {
    karma_i_rows *rows = NULL;
    if (karma_i_problem_split(problem).ranks->size > 1)
        return problem->source.fetch(out, problem->source.payload, index, count, err);
    KARMA_TRY(karma_i_rows_new_like(&rows, problem->rows, count, err));
    karma_status st = karma_i_rows_gather(rows, problem->rows, index, count, err);
    if (st == KARMA_OK)
        *out = rows;
    else
        karma_i_rows_free(rows);
    return st;
}

/* k(Z, Z) in double precision. */
static karma_status compute_norm(karma_i_reduction *r, const karma_i_problem *problem, int threads, karma_error *err) {
    size_t m = r->n_landmarks;
    r->norm = karma_i_alloc(m, m * sizeof *r->norm);
    float *gram = karma_i_alloc_aligned(m, m * sizeof *gram);
    karma_status st = gram && r->norm ? copy_rows(&r->rows, problem, r->landmarks, m, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK && karma_i_kernel_gram(gram, m, problem->kernel, karma_i_rows_all(r->rows), threads) != KARMA_OK)
        st = karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < m * m; i++) r->norm[i] = (double)gram[i];
    karma_i_free(gram);
    return st;
}

static double largest_diagonal(const double *matrix, size_t n) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, matrix[i * (n + 1)]);
    return largest;
}

/* Keeps copies of the landmarks that index[0..count) names. */
static karma_status keep_rows(karma_i_reduction *r, const size_t *index, size_t count, karma_error *err) {
    karma_i_rows *kept = NULL;
    KARMA_TRY(karma_i_rows_new_like(&kept, r->rows, count, err));
    karma_status st = karma_i_rows_gather(kept, r->rows, index, count, err);
    karma_i_rows_free(r->rows);
    r->rows = kept;
    return st;
}

/* Removes landmarks in the span of others; the rest keep their order. */
static karma_status drop_spanned(karma_i_reduction *r, karma_error *err) {
    size_t m = r->n_landmarks, rank = 0, kept = 0;
    double *copy = karma_i_alloc(m, m * sizeof *copy);
    size_t *pivots = karma_i_alloc(m, sizeof *pivots);
    unsigned char *is_kept = karma_i_zalloc(m, 1);
    karma_status st = copy && pivots && is_kept ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        memcpy(copy, r->norm, m * m * sizeof *copy);
        st = karma_i_cholesky_pivots(&rank, pivots, copy, m, SPANNED * largest_diagonal(r->norm, m), err);
    }
    if (st == KARMA_OK) {
        for (size_t j = 0; j < rank; j++) is_kept[pivots[j]] = 1;
        for (size_t i = 0; i < m; i++) {
            if (!is_kept[i]) continue;
            size_t column = 0;
            for (size_t j = 0; j < m; j++)
                if (is_kept[j]) r->norm[kept * rank + column++] = r->norm[i * m + j]; /* never ahead of what is read */
            r->landmarks[kept] = r->landmarks[i];
            pivots[kept++] = i; /* they are not needed any more */
        }
        r->n_landmarks = kept;
        st = keep_rows(r, pivots, kept, err);
    }
    karma_i_free(copy);
    karma_i_free(pivots);
    karma_i_free(is_kept);
    return st;
}

/* Rounding errors may leave the kernel of the landmarks a little indefinite: its diagonal is raised until it
 * is positive definite. */
static karma_status factor_norm(karma_i_reduction *r, karma_error *err) {
    size_t m = r->n_landmarks;
    double largest = largest_diagonal(r->norm, m), raised = 0.0;
    r->norm_factor = karma_i_alloc(m, m * sizeof *r->norm_factor);
    if (!r->norm_factor) return karma_i_fail_memory(err);
    double ridge = 0.1 * SPANNED;
    while (ridge < 1.0) {
        for (size_t i = 0; i < m; i++) r->norm[i * (m + 1)] += ridge * largest - raised;
        raised = ridge * largest;
        memcpy(r->norm_factor, r->norm, m * m * sizeof *r->norm);
        if (karma_i_cholesky(r->norm_factor, m)) return KARMA_OK;
        ridge *= 10.0;
    }
    return karma_i_fail(err, KARMA_ERR_DATA, "the kernel of %zu landmark rows is not positive definite", m);
}

karma_status karma_i_reduce(karma_i_reduction *out, const karma_i_problem *problem, const karma_fit_options *options,
                            karma_error *err) {
    int threads = karma_i_threads(options->threads);
    karma_i_partition split = karma_i_problem_split(problem);
    *out = (karma_i_reduction){0};
    karma_status st = draw_landmarks(out, &split, options, err);
    if (st == KARMA_OK) st = compute_norm(out, problem, threads, err);
    if (st == KARMA_OK) st = drop_spanned(out, err);
    if (st == KARMA_OK) st = factor_norm(out, err);
    karma_i_landmarks landmarks = {problem->kernel,  problem->rows,           out->rows, out->norm,
                                   out->norm_factor, bytes_to_store(options), split};
    if (st == KARMA_OK) st = karma_i_features_landmarks(&out->features, &landmarks, err);
    if (st != KARMA_OK) karma_i_reduction_clear(out);
    return st;
}

/* --- solving -------------------------------------------------------------------------------------------------------
 */

static int is_here(const karma_i_partition *s, size_t row) {
    return row >= s->first && row - s->first < s->count;
}

/* Shares values with all processes; each value is known to one process and 0 in the others. */
static karma_status share_values(double *values, size_t n, const karma_ranks *ranks, karma_error *err) {
    karma_i_gathered all;
    if (ranks->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_ranks_gather(&all, values, n * sizeof *values, ranks, err));
    memset(values, 0, n * sizeof *values);
    for (size_t i = 0; i < ranks->size * n; i++) values[i % n] += ((const double *)(void *)all.bytes)[i];
    karma_i_gathered_clear(&all);
    return KARMA_OK;
}

/* Coefficients of the landmarks, n_outputs each, that the problem starts from. */
static karma_status start_coefficients(double *alpha, const karma_i_reduction *r, const karma_i_problem *problem,
                                       karma_error *err) {
    size_t K = problem->n_outputs;
    karma_i_partition split = karma_i_problem_split(problem);
    memset(alpha, 0, r->n_landmarks * K * sizeof *alpha);
    for (size_t j = 0; j < r->n_landmarks; j++)
        if (is_here(&split, r->landmarks[j]))
            memcpy(alpha + j * K, problem->start + (r->landmarks[j] - split.first) * K, K * sizeof *alpha);
    return share_values(alpha, r->n_landmarks * K, split.ranks, err);
}

/* Weights of these coefficients. */
static void start_weights(double *weights, const karma_i_reduction *r, const double *start, size_t K) {
    size_t p = r->n_landmarks;
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < p; j++) {
            double alpha = start[j * K + k];
            if (!r->lower)
                weights[k * p + j] = alpha;
            else
                for (size_t f = 0; f <= j; f++) weights[k * p + f] += r->lower[j * p + f] * alpha; /* Lᵀ α */
        }
}

static void put_coefficients(double *coefficients, double *weights, const karma_i_reduction *r,
                             const karma_i_problem *problem) {
    size_t p = r->n_landmarks, K = problem->n_outputs;
    karma_i_partition split = karma_i_problem_split(problem);
    memset(coefficients, 0, problem->rows->n_rows * K * sizeof *coefficients);
    for (size_t k = 0; k < K; k++) {
        if (r->lower) karma_i_solve_lower_transposed(weights + k * p, r->lower, p);
        for (size_t j = 0; j < p; j++)
            if (is_here(&split, r->landmarks[j]))
                coefficients[(r->landmarks[j] - split.first) * K + k] = weights[k * p + j];
    }
}

typedef struct reduced_solve {
    const karma_i_reduction *reduction;
    const karma_i_problem *problem;
    karma_i_partition split;
    karma_i_primal_problem primal;
    karma_i_loss *losses;
    double *weights;
    const karma_hooks *hooks;
} reduced_solve;

static karma_status init_solve(reduced_solve *s, const karma_i_reduction *r, const karma_i_problem *problem,
                               const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    size_t K = problem->n_outputs;
    *s = (reduced_solve){.reduction = r, .problem = problem, .split = karma_i_problem_split(problem), .hooks = hooks};
    s->losses = karma_i_alloc(K, sizeof *s->losses);
    s->weights = karma_i_zalloc(K, r->n_landmarks * sizeof *s->weights);
    if (!s->losses || !s->weights) return karma_i_fail_memory(err);
    for (size_t k = 0; k < K; k++) s->losses[k] = *karma_i_problem_loss(problem, k);
    int is_auto = options->passes == (int64_t)KARMA_AUTO;
    s->primal = (karma_i_primal_problem){.features = r->features,
                                         .n_outputs = K,
                                         .targets = problem->targets,
                                         .row_weights = problem->row_weights,
                                         .losses = s->losses,
                                         .C = options->C,
                                         .tolerance = options->tolerance,
                                         .most_passes = is_auto ? PASSES_BY_DEFAULT : (double)options->passes,
                                         .factor_memory = bytes_to_store(options),
                                         .threads = karma_i_threads(options->threads)};
    if (!problem->start) return KARMA_OK;
    double *alpha = karma_i_alloc(K, r->n_landmarks * sizeof *alpha);
    karma_status st = alpha ? start_coefficients(alpha, r, problem, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) start_weights(s->weights, r, alpha, K);
    karma_i_free(alpha);
    return st;
}

static void clear_solve(reduced_solve *s) {
    karma_i_free(s->losses);
    karma_i_free(s->weights);
}

/* --- half as many landmarks ------------------------------------------------------------------------------------------
 */

/* Held-out rows, and the problem without them. */
typedef struct held_out {
    size_t *rows, count; /* counted through all processes */
    double *row_weights; /* of the problem, 0 for these rows */
} held_out;

static karma_status hold_out(held_out *h, const reduced_solve *s, uint64_t seed, karma_error *err) {
    const karma_i_problem *problem = s->problem;
    size_t n = s->split.n_rows, here = problem->rows->n_rows, K = problem->n_outputs;
    h->count = (size_t)fmin(MOST_HELD_OUT, HELD_OUT_SHARE * (double)n);
    h->rows = draw_rows(h->count, n, seed + 1);
    h->row_weights = karma_i_alloc(here, K * sizeof *h->row_weights);
    if (!h->rows || !h->row_weights) return karma_i_fail_memory(err);
    for (size_t i = 0; i < here * K; i++) h->row_weights[i] = karma_i_problem_row_weight(problem, i / K, i % K);
    for (size_t i = 0; i < h->count; i++)
        if (is_here(&s->split, h->rows[i]))
            memset(h->row_weights + (h->rows[i] - s->split.first) * K, 0, K * sizeof *h->row_weights);
    return KARMA_OK;
}

static void clear_held_out(held_out *h) {
    karma_i_free(h->rows);
    karma_i_free(h->row_weights);
}

typedef struct loss_sums {
    const reduced_solve *solve;
    size_t *rows, *place; /* held-out rows that are here, and which of all held-out rows they are */
    size_t count;
    double *losses; /* weighted, one per held-out row of all processes */
} loss_sums;

static void sum_losses(double *values, void *payload, size_t first, size_t count) {
    const loss_sums *sums = payload;
    const karma_i_problem *problem = sums->solve->problem;
    size_t K = problem->n_outputs;
    for (size_t i = first; i < first + count; i++) {
        double *loss = &sums->losses[sums->place[i]];
        for (size_t k = 0; k < K; k++) {
            const karma_i_loss *l = &sums->solve->losses[k];
            double weight = karma_i_problem_row_weight(problem, sums->rows[i], k);
            *loss +=
                weight * l->value(values[(i - first) * K + k], problem->targets[sums->rows[i] * K + k], l->parameter);
        }
    }
}

/* The mean loss of the held-out rows under the current weights. */
static karma_status judge(double *out, const reduced_solve *s, const held_out *h, karma_error *err) {
    const karma_i_features *all = s->primal.features;
    karma_i_features *features = NULL;
    loss_sums sums = {s, NULL, NULL, 0, NULL};
    double total = 0.0;
    sums.rows = karma_i_alloc(h->count, sizeof *sums.rows);
    sums.place = karma_i_alloc(h->count, sizeof *sums.place);
    sums.losses = karma_i_zalloc(h->count, sizeof *sums.losses);
    karma_status st = sums.rows && sums.place && sums.losses ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < h->count; i++)
        if (is_here(&s->split, h->rows[i])) {
            sums.place[sums.count] = i;
            sums.rows[sums.count++] = h->rows[i] - s->split.first;
        }
    if (st == KARMA_OK) st = all->kind->select(&features, all, sums.rows, sums.count, err);
    if (st == KARMA_OK)
        st = karma_i_features_pass(NULL, features, s->weights, s->primal.n_outputs, sum_losses, &sums,
                                   s->primal.threads, err);
    if (st == KARMA_OK) st = share_values(sums.losses, h->count, s->split.ranks, err);
    for (size_t i = 0; st == KARMA_OK && i < h->count; i++) total += sums.losses[i] / (double)h->count;
    if (st == KARMA_OK) *out = total;
    karma_i_features_free(features);
    karma_i_free(sums.rows);
    karma_i_free(sums.place);
    karma_i_free(sums.losses);
    return st;
}

/* The leading part of the norm and of its factor, which is the factor of the part. */
static double *leading_part(const double *matrix, size_t n, size_t part) {
    double *out = karma_i_alloc(part, part * sizeof *out);
    for (size_t i = 0; out && i < part; i++) memcpy(out + i * part, matrix + i * n, part * sizeof *out);
    return out;
}

/* Weights of the first landmarks, as if there were no others; packed, one output after the other. */
static karma_status solve_half(reduced_solve *s, karma_i_primal_result *result, double *loss, const held_out *h,
                               karma_error *err) {
    const karma_i_reduction *r = s->reduction;
    size_t half = r->n_landmarks / 2;
    double *norm = leading_part(r->norm, r->n_landmarks, half);
    double *factor = leading_part(r->norm_factor, r->n_landmarks, half);
    karma_i_features *fewer = NULL;
    karma_status st = norm && factor ? karma_i_features_fewer(&fewer, r->features, half, norm, factor, err)
                                     : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        s->primal.features = fewer;
        st = karma_i_solve_primal(s->weights, result, &s->primal, s->hooks, err);
    }
    if (st == KARMA_OK) st = judge(loss, s, h, err);
    s->primal.features = r->features;
    karma_i_features_free(fewer);
    karma_i_free(norm);
    karma_i_free(factor);
    return st;
}

/* Expands the packed weights of half the landmarks to all landmarks, with 0 for the others. */
static void spread_weights(double *weights, size_t half, size_t all, size_t n_outputs) {
    for (size_t k = n_outputs; k-- > 0;) {
        memmove(weights + k * all, weights + k * half, half * sizeof *weights);
        memset(weights + k * all + half, 0, (all - half) * sizeof *weights);
    }
}

/* Learns without the held-out rows, first with half of the landmarks and from there with all, and records
 * what the other half gained. */
static karma_status compare_halves(reduced_solve *s, karma_fit_info *info, uint64_t seed, int *stopped,
                                   karma_error *err) {
    held_out h = {0};
    size_t all = s->reduction->n_landmarks, half = all / 2;
    karma_i_primal_result by_half, by_all;
    double tolerance = s->primal.tolerance;
    karma_status st = hold_out(&h, s, seed, err);
    s->primal.row_weights = h.row_weights;
    s->primal.tolerance = fmin(1.0, ROUGH * tolerance);
    if (st == KARMA_OK) st = solve_half(s, &by_half, &info->half_held_out_loss, &h, err);
    if (st == KARMA_OK) {
        spread_weights(s->weights, half, all, s->primal.n_outputs);
        *stopped = by_half.stop == KARMA_STOP_CANCELLED;
    }
    if (st == KARMA_OK && !*stopped) {
        st = karma_i_solve_primal(s->weights, &by_all, &s->primal, s->hooks, err);
        if (st == KARMA_OK) st = judge(&info->held_out_loss, s, &h, err);
        if (st == KARMA_OK) {
            info->half_excess = by_all.primal > 0.0 ? by_half.primal / by_all.primal - 1.0 : 0.0;
            info->rounds += (size_t)((by_half.passes + by_all.passes) * (double)s->split.n_rows);
            *stopped = by_all.stop == KARMA_STOP_CANCELLED;
        }
    }
    s->primal.row_weights = s->problem->row_weights;
    s->primal.tolerance = tolerance;
    clear_held_out(&h);
    return st;
}

/* Whether there are enough rows and landmarks to compare halves. */
static int is_comparable(const karma_i_reduction *r, const karma_i_problem *problem) {
    return !r->lower && !problem->start && !problem->is_repeat && r->n_landmarks >= 50 &&
           karma_i_problem_split(problem).n_rows >= 1000;
}

karma_status karma_i_solve_reduced(double *coefficients, karma_fit_info *info, const karma_i_reduction *reduction,
                                   const karma_i_problem *problem, const karma_fit_options *options,
                                   const karma_hooks *hooks, karma_error *err) {
    reduced_solve s;
    karma_i_primal_result result;
    int stopped = 0;
    double evaluations = karma_i_features_evaluations(reduction->features);
    karma_status st = init_solve(&s, reduction, problem, options, hooks, err);
    if (st == KARMA_OK && is_comparable(reduction, problem))
        st = compare_halves(&s, info, (uint64_t)options->seed, &stopped, err);
    if (st == KARMA_OK) {
        if (stopped) s.primal.most_passes = 0.0; /* computes only the certificate of the present weights */
        st = karma_i_solve_primal(s.weights, &result, &s.primal, stopped ? NULL : hooks, err);
    }
    evaluations = karma_i_features_evaluations(reduction->features) - evaluations;
    if (st == KARMA_OK) st = share_values(&evaluations, 1, s.split.ranks, err);
    if (st == KARMA_OK) {
        put_coefficients(coefficients, s.weights, reduction, problem);
        info->stop = stopped ? KARMA_STOP_CANCELLED : result.stop;
        info->primal = result.primal;
        info->dual = result.dual;
        info->gap = result.primal > 0.0 ? (result.primal - result.dual) / result.primal : 0.0;
        info->rounds += (size_t)(result.passes * (double)s.split.n_rows);
        info->kernel_evaluations += evaluations;
        info->n_landmarks = reduction->n_landmarks;
        info->rho = 1.0 / options->C;
    }
    clear_solve(&s);
    return st;
}

static karma_status solve_exactly(double *coefficients, karma_fit_info *info, const karma_i_problem *problem,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_reduction reduction;
    karma_status st = karma_i_reduce_exactly(&reduction, problem->kernel, problem->rows, options, err);
    if (st == KARMA_OK && !reduction.features)
        st =
            karma_i_fail(err, KARMA_ERR_OPTION,
                         "the solver primal is for kernels of at most %.0f dimensions, and this one may have more: the "
                         "solver batch takes any kernel",
                         MOST_EXACT);
    if (st == KARMA_OK) st = karma_i_solve_reduced(coefficients, info, &reduction, problem, options, hooks, err);
    karma_i_reduction_clear(&reduction);
    return st;
}

static karma_status solve_nystrom(double *coefficients, karma_fit_info *info, const karma_i_problem *problem,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_reduction reduction;
    KARMA_TRY(karma_i_reduce(&reduction, problem, options, err));
    karma_status st = karma_i_solve_reduced(coefficients, info, &reduction, problem, options, hooks, err);
    karma_i_reduction_clear(&reduction);
    return st;
}

KARMA_I_SOLVER(KARMA_SOLVER_PRIMAL) = {solve_exactly};
KARMA_I_SOLVER(KARMA_SOLVER_NYSTROM) = {solve_nystrom};
