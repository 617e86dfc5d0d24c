/* Algorithm 1 (KARMA) of the paper, exact and in blocks.
 *
 *   v_1 = 0;  v_{t+1} = (1 - η_t ρ) v_t - η_t g_t φ(x_t),   g_t = ℓ'(v_t·φ(x_t), y_t)
 *
 * The iterates are kept as v_t = s_t Σ_i a_i φ(x_i), so that shrinking is one multiplication:
 *
 *   s_{t+1} = (1 - η_t ρ) s_t,   a_t = -η_t g_t / s_{t+1}
 *
 * With η_t = 1/(ρt) the first factor 1 - η_1 ρ is 0, but the later ones telescope: s_{t+1} = 1/t, a_t = -g_t/ρ,
 * and no product is ever formed. The schedule "pegasos" of theorem main2 is the same with ρ = 1/C (as printed,
 * η_t = C/t with ρ = 1, the factor would be negative for t < C).
 *
 * The average v̄ = (1/T) Σ_{t<=T} v_t needs S_t = Σ_{τ<=t} s_τ: a term a_i added in round t is in v_{t+1}, ...,
 * v_T, hence v̄ has the coefficients (a_i S_T - b_i)/T where b_i collects a_i S_t. For η_t = 1/(ρt), S_t is the
 * harmonic number H_{t-1}.
 *
 * Rows come in blocks. The scores of a block against the rows kept so far are one pass of Gram tiles; inside the
 * block the terms are added one by one from the block's own Gram matrix. The result is that of the row-by-row
 * algorithm up to rounding. Rows whose g_t is 0 are not kept.
 *
 * An adversary may order the rows of a block: the scores of the remaining rows are always those of v_t, so in
 * every round it can put the row with the largest loss under v_t first. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "karma/theory.h"
#include "solve/online.h"

enum { BLOCK = KARMA_I_ONLINE_BLOCK, PASSES_BY_DEFAULT = 10 };

/* Below this the running scale s_t of a user's schedule is folded into the coefficients. It is not far below
 * 1, because a_i S_T - b_i = a_i (S_T - S_t) cancels: S_T - S_t, of the order of s_t, loses digits next to
 * S_T. */
static const double SMALLEST_SCALE = 0x1p-10;

typedef struct learner {
    const karma_i_problem *problem;
    const karma_i_rounds *rounds; /* NULL: not recorded */
    const karma_fit_options *options;
    double rho;
    size_t passes;
    int threads;
    size_t n, outputs;
    /* the iterate, by position of the kept row */
    karma_i_rows *kept;
    size_t *kept_row; /* position -> row */
    size_t *position; /* row -> position, or n if it is not kept */
    double *a, *b;    /* the first kept->n_rows are in use */
    double *folded;   /* part of T v̄ from before the last fold */
    double s, S;
    size_t t;
    /* the block at work */
    karma_i_rows *block;
    size_t *order;
    float *gram;   /* BLOCK x BLOCK, inside the block */
    double *score; /* BLOCK x outputs: Σ_i a_i k(x_i, x_t), still without s_t */
    double *step;  /* BLOCK x outputs: what each row of the block added to a */
    double loss_sum;
    size_t n_errors;
} learner;

static void free_learner(learner *l) {
    karma_i_rows_free(l->kept);
    karma_i_rows_free(l->block);
    karma_i_free(l->kept_row);
    karma_i_free(l->position);
    karma_i_free(l->a);
    karma_i_free(l->b);
    karma_i_free(l->folded);
    karma_i_free(l->order);
    karma_i_free(l->gram);
    karma_i_free(l->score);
    karma_i_free(l->step);
}

static size_t choose_passes(const karma_fit_options *options) {
    return options->passes == (int64_t)KARMA_AUTO ? PASSES_BY_DEFAULT : (size_t)options->passes;
}

/* X: the square root of the largest κ(x, x) of a cell or the bias; for a plain number, its absolute value. */
static double largest_cell(const karma_i_rows *rows, double bias) {
    double largest = bias * bias;
    karma_i_cell cell;
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, i, from); from = cell.attribute + 1)
            largest = fmax(largest, karma_i_kappa(rows, i, rows, i, cell.attribute));
    return sqrt(largest);
}

/* X√Γ, the bound on |φ|. For the paper's own kernel X bounds the cells and Γ = d·w(d), the paper's Γ for ν =
 * 1; for other kernels the largest |φ| of the rows is used instead. */
static karma_status log_norm_bound(double *magnitude, double *log_big_gamma, const karma_i_problem *problem,
                                   karma_error *err) {
    const karma_i_rows *rows = problem->rows;
    const karma_i_factor *factor = &problem->kernel->factors[0];
    *log_big_gamma = 0.0;
    if (karma_i_kernel_is_plain(problem->kernel) && problem->kernel->terms[0].weight == 1.0) {
        size_t d = rows->n_attributes + (factor->bias != 0.0);
        *magnitude = largest_cell(rows, factor->bias);
        *log_big_gamma = log((double)d) + karma_i_log_weight(d, factor->gamma, factor->scale) - factor->log_norm;
        return KARMA_OK;
    }
    double *squares = karma_i_alloc(rows->n_rows, sizeof *squares), largest = 0.0;
    if (!squares) return karma_i_fail_memory(err);
    karma_i_kernel_diagonal(squares, problem->kernel, karma_i_rows_all(rows));
    for (size_t i = 0; i < rows->n_rows; i++) largest = fmax(largest, squares[i]);
    karma_i_free(squares);
    *magnitude = sqrt(largest);
    return KARMA_OK;
}

/* 1 for a loss that has no such constant. */
static double largest_lipschitz(const karma_i_problem *problem) {
    double largest = 0.0;
    for (size_t k = 0; k < problem->n_outputs; k++) {
        double constant = karma_i_problem_loss(problem, k)->lipschitz;
        largest = fmax(largest, isfinite(constant) ? constant : 1.0);
    }
    return largest;
}

/* The ρ of the schedule. */
static karma_status choose_rho(double *rho, const karma_i_problem *problem, const karma_fit_options *options,
                               karma_error *err) {
    if (options->schedule == KARMA_SCHEDULE_PEGASOS && !options->step) {
        *rho = 1.0 / options->C;
        return KARMA_OK;
    }
    *rho = options->rho;
    if (options->rho != KARMA_AUTO) return KARMA_OK;
    double magnitude, log_big_gamma;
    KARMA_TRY(log_norm_bound(&magnitude, &log_big_gamma, problem, err));
    karma_regret_terms terms = {
        .lipschitz = largest_lipschitz(problem),
        .magnitude = magnitude > 0.0 ? magnitude : 1.0, /* rows of zeros: all scores are 0 for every ρ */
        .log_big_gamma = log_big_gamma,
        .log_B = log(options->B),
        .lambda = 1.0, /* not used in ρ, but must be in its range */
        .rounds = (double)choose_passes(options) * (double)problem->rows->n_rows,
    };
    *rho = exp(karma_theory_log_rho(&terms));
    return KARMA_OK;
}

static karma_status init_learner(learner *l, const karma_i_problem *problem, const karma_i_rounds *rounds,
                                 const karma_fit_options *options, karma_error *err) {
    const karma_i_rows *rows = problem->rows;
    size_t n = rows->n_rows, outputs = problem->n_outputs;
    *l = (learner){.problem = problem, .rounds = rounds, .options = options, .n = n, .outputs = outputs};
    l->threads = karma_i_threads(options->threads);
    l->passes = choose_passes(options);
    l->s = 1.0;
    l->kept_row = karma_i_alloc(n, sizeof *l->kept_row);
    l->position = karma_i_alloc(n, sizeof *l->position);
    l->a = karma_i_zalloc(n, outputs * sizeof *l->a);
    l->b = karma_i_zalloc(n, outputs * sizeof *l->b);
    l->folded = karma_i_zalloc(n, outputs * sizeof *l->folded);
    l->order = karma_i_alloc(n, sizeof *l->order);
    l->gram = karma_i_alloc_aligned(BLOCK, BLOCK * sizeof *l->gram);
    l->score = karma_i_alloc(BLOCK, outputs * sizeof *l->score);
    l->step = karma_i_alloc(BLOCK, outputs * sizeof *l->step);
    if (!l->kept_row || !l->position || !l->a || !l->b || !l->folded || !l->order || !l->gram || !l->score || !l->step)
        return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) l->position[i] = n, l->order[i] = i;
    KARMA_TRY(choose_rho(&l->rho, problem, options, err));
    KARMA_TRY(karma_i_rows_new_like(&l->kept, rows, 0, err));
    return karma_i_rows_new_like(&l->block, rows, BLOCK, err);
}

/* v_t = s Σ a φ becomes 1 · Σ (factor a) φ; the sum Σ v_τ so far moves to `folded`. */
static void fold(learner *l, double factor) {
    for (size_t i = 0; i < l->kept->n_rows * l->outputs; i++) {
        l->folded[i] += l->a[i] * l->S - l->b[i];
        l->a[i] *= factor;
        l->b[i] = 0.0;
    }
    l->S = 0.0;
    l->s = 1.0;
}

/* Moves s from round t to t + 1 and returns η_t / s_{t+1}. *refold is the factor by which this multiplied the
 * coefficients of the block's rows, usually 1. */
static karma_status advance_scale(learner *l, double *gain, double *refold, karma_error *err) {
    *refold = 1.0;
    l->S += l->t == 1 ? 0.0 : l->s; /* s_t; v_1 is 0 */
    if (!l->options->step) {
        l->s = 1.0 / (double)l->t;
        *gain = 1.0 / l->rho;
        return KARMA_OK;
    }
    double eta = l->options->step(l->options->step_payload, l->t);
    if (!(eta > 0.0 && isfinite(eta)))
        return karma_i_fail(err, KARMA_ERR_OPTION, "the step size of round %zu is not a positive number", l->t);
    double next = (1.0 - eta * l->rho) * l->s;
    if (fabs(next) < SMALLEST_SCALE) {
        *refold = next;
        fold(l, next);
        next = 1.0;
    }
    l->s = next;
    *gain = eta / next;
    return KARMA_OK;
}

static karma_status keep_row(learner *l, size_t row, karma_error *err) {
    if (l->position[row] < l->n) return KARMA_OK;
    KARMA_TRY(karma_i_rows_append(l->kept, l->problem->rows, row, err));
    l->position[row] = l->kept->n_rows - 1;
    l->kept_row[l->kept->n_rows - 1] = row;
    return KARMA_OK;
}

/* v_t·φ of row number j of the block in the coming round t; v_1 is 0. */
static double current_score(const learner *l, size_t j, size_t output) {
    return l->t == 0 ? 0.0 : l->s * l->score[j * l->outputs + output];
}

static double loss_of(const learner *l, size_t row, size_t output, double z) {
    const karma_i_loss *loss = karma_i_problem_loss(l->problem, output);
    double y = l->problem->targets[row * l->outputs + output];
    return karma_i_problem_row_weight(l->problem, row, output) * loss->value(z, y, loss->parameter);
}

/* Records the loss of one row before the update and writes the derivatives g to step[]. True if any is not 0. */
static int record_loss(learner *l, size_t row, const double *z, double *step) {
    const karma_i_problem *problem = l->problem;
    const double *y = problem->targets + row * l->outputs;
    size_t n_deciding = problem->n_deciding;
    int any = 0;
    double sum = 0.0;
    for (size_t k = 0; k < l->outputs; k++) {
        const karma_i_loss *loss = karma_i_problem_loss(problem, k);
        sum += loss_of(l, row, k, z[k]);
        step[k] = karma_i_problem_row_weight(problem, row, k) * loss->derivative(z[k], y[k], loss->parameter);
        any |= step[k] != 0.0;
    }
    l->loss_sum += sum;
    if (l->rounds) l->rounds->loss[l->t - 1] = sum, l->rounds->row[l->t - 1] = row;
    if (n_deciding && karma_i_problem_row_weight(problem, row, 0) > 0.0)
        l->n_errors += karma_i_decide(z, n_deciding) != karma_i_decide(y, n_deciding);
    return any;
}

/* Round t for row number j of the block. z is scratch for one row's scores. */
static karma_status make_round(learner *l, size_t j, size_t row, size_t n_block, double *z, karma_error *err) {
    double *step = l->step + j * l->outputs;
    double gain = 0.0, refold = 1.0;
    int finite = 1;
    for (size_t k = 0; k < l->outputs; k++) {
        z[k] = current_score(l, j, k);
        finite &= isfinite(z[k]) != 0;
    }
    l->t++;
    if (!finite)
        return karma_i_fail(err, KARMA_ERR_DATA, "the online solver diverged in round %zu: try a smaller C", l->t);
    int any = record_loss(l, row, z, step);
    KARMA_TRY(advance_scale(l, &gain, &refold, err));
    if (refold != 1.0)
        for (size_t i = (j + 1) * l->outputs; i < n_block * l->outputs; i++) l->score[i] *= refold;
    if (!any) return KARMA_OK;
    KARMA_TRY(keep_row(l, row, err));
    double *a = l->a + l->position[row] * l->outputs, *b = l->b + l->position[row] * l->outputs;
    for (size_t k = 0; k < l->outputs; k++) {
        step[k] *= -gain;
        a[k] += step[k];
        b[k] += step[k] * l->S;
    }
    for (size_t i = j + 1; i < n_block; i++)
        for (size_t k = 0; k < l->outputs; k++)
            l->score[i * l->outputs + k] += step[k] * (double)l->gram[j * BLOCK + i];
    return KARMA_OK;
}

/* The number in the block, j or later, of the row with the largest loss under v_t; ties go to the smallest
 * index. */
static size_t find_worst(const learner *l, const size_t *index, size_t j, size_t count) {
    size_t worst = j;
    double largest = -INFINITY;
    for (size_t i = j; i < count; i++) {
        double loss = 0.0;
        for (size_t k = 0; k < l->outputs; k++) loss += loss_of(l, index[i], k, current_score(l, i, k));
        if (loss > largest || (loss == largest && index[i] < index[worst])) worst = i, largest = loss;
    }
    return worst;
}

static void swap_floats(float *a, float *b) {
    float kept = *a;
    *a = *b;
    *b = kept;
}

/* Swaps rows number a and b of the block, with everything stored for rows still to come. */
static void swap_in_block(learner *l, size_t *index, size_t a, size_t b, size_t count) {
    size_t row = index[a];
    index[a] = index[b];
    index[b] = row;
    for (size_t k = 0; k < l->outputs; k++) {
        double score = l->score[a * l->outputs + k];
        l->score[a * l->outputs + k] = l->score[b * l->outputs + k];
        l->score[b * l->outputs + k] = score;
    }
    for (size_t i = 0; i < count; i++) swap_floats(l->gram + a * BLOCK + i, l->gram + b * BLOCK + i);
    for (size_t i = 0; i < count; i++) swap_floats(l->gram + i * BLOCK + a, l->gram + i * BLOCK + b);
}

/* Reorders `index` to the order in which the rows were taken. */
static karma_status make_block(learner *l, size_t *index, size_t count, double *z, karma_fit_info *info,
                               karma_error *err) {
    KARMA_TRY(karma_i_rows_gather(l->block, l->problem->rows, index, count, err));
    karma_i_view block = karma_i_rows_all(l->block), kept = karma_i_rows_all(l->kept);
    info->kernel_evaluations += (double)count * (double)(kept.count + count);
    KARMA_TRY(karma_i_kernel_scores(l->score, l->problem->kernel, block, kept, l->a, l->outputs, l->threads, err));
    if (karma_i_kernel_block(l->gram, BLOCK, l->problem->kernel, block, block, l->threads) != KARMA_OK)
        return karma_i_fail_memory(err);
    for (size_t j = 0; j < count; j++) {
        if (l->rounds && l->rounds->is_adversarial) swap_in_block(l, index, j, find_worst(l, index, j, count), count);
        KARMA_TRY(make_round(l, j, index[j], count, z, err));
    }
    return KARMA_OK;
}

static karma_status run(learner *l, karma_fit_info *info, const karma_hooks *hooks, karma_error *err) {
    double *z = karma_i_alloc(l->outputs, sizeof *z);
    if (!z) return karma_i_fail_memory(err);
    karma_i_rng rng;
    karma_i_rng_init(&rng, (uint64_t)l->options->seed);
    size_t passes = l->passes;
    karma_status st = KARMA_OK;
    info->stop = KARMA_STOP_FINISHED;
    for (size_t pass = 0; pass < passes && info->stop == KARMA_STOP_FINISHED; pass++) {
        if (l->options->shuffle) karma_i_rng_shuffle(&rng, l->order, l->n);
        for (size_t first = 0; st == KARMA_OK && first < l->n; first += BLOCK) {
            if (karma_i_progress(hooks, "rounds", l->t, passes * l->n)) {
                info->stop = KARMA_STOP_CANCELLED;
                break;
            }
            size_t count = l->n - first < BLOCK ? l->n - first : BLOCK;
            st = make_block(l, l->order + first, count, z, info, err);
        }
        if (st != KARMA_OK) break;
    }
    karma_i_free(z);
    if (st == KARMA_OK && l->t == 0)
        return karma_i_fail(err, KARMA_ERR_CANCELLED, "cancelled before the first row was learned");
    return st;
}

/* Coefficient number i of the result: v̄ or the last iterate. */
static double coefficient_of(const learner *l, size_t i) {
    return l->options->average ? (l->folded[i] + l->a[i] * l->S - l->b[i]) / (double)l->t : l->s * l->a[i];
}

/* No score was too large, but the last update or the sum of losses may have been. */
static int all_finite(const learner *l) {
    for (size_t i = 0; i < l->kept->n_rows * l->outputs; i++)
        if (!isfinite(coefficient_of(l, i))) return 0;
    return isfinite(l->loss_sum) != 0;
}

karma_status karma_i_solve_rounds(double *coefficients, karma_fit_info *info, const karma_i_rounds *rounds,
                                  const karma_i_problem *problem, const karma_fit_options *options,
                                  const karma_hooks *hooks, karma_error *err) {
    learner l = {0};
    karma_status st = init_learner(&l, problem, rounds, options, err);
    if (st == KARMA_OK) st = run(&l, info, hooks, err);
    if (st == KARMA_OK && !all_finite(&l))
        st = karma_i_fail(err, KARMA_ERR_DATA, "the online solver diverged in round %zu: try a smaller C", l.t);
    if (st == KARMA_OK) {
        memset(coefficients, 0, l.n * l.outputs * sizeof *coefficients);
        for (size_t p = 0; p < l.kept->n_rows; p++)
            for (size_t k = 0; k < l.outputs; k++) {
                size_t i = p * l.outputs + k;
                coefficients[l.kept_row[p] * l.outputs + k] = coefficient_of(&l, i);
            }
        info->rounds = l.t;
        info->rho = l.rho;
        info->mean_loss = l.loss_sum / (double)l.t;
        info->error_rate = (double)l.n_errors / (double)l.t;
    }
    free_learner(&l);
    return st;
}

static karma_status solve_online(double *coefficients, karma_fit_info *info, const karma_i_problem *problem,
                                 const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    return karma_i_solve_rounds(coefficients, info, NULL, problem, options, hooks, err);
}

KARMA_I_SOLVER(KARMA_SOLVER_ONLINE) = {solve_online};
