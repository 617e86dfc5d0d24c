/* The regret experiment (theorem regret of the paper). For a λ-regular sequence, L = 1 (hinge) and
 *
 *     B = γ        |w| <= 1 has a v with |v|² <= γ (docs/mathematics.md; corollary improper has Γ)
 *     ρ = LX√Γ/√(BT),   γ = ⌈ln(T)/λ⌉ unless it is given
 *
 * Algorithm 1 is the online solver with the paper's own kernel (ν = 1, no bias), one pass, no averaging. The theorem
 * holds for every ρ > 0, so its bound at a checkpoint t < T is that of t rounds with the ρ of the run:
 *
 *     2L²X²Γ(1 + ln t)/ρ + ρtB/2 + e^(-λγ)Lt/λ
 *
 * Where w(d) passes 10^16 the kernel is divided by N = exp(log_norm). Scores are -(1/(ρt)) Σ g k, so dividing ρ by N,
 * too, leaves them as they are. */
#include "karma/regret.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "karma/theory.h"
#include "regret/comparator.h"
#include "regret/sequence.h"
#include "solve/online.h"

/* Below this, exp is 0 or has lost digits. */
#define LEAST_LOG (-700.0)

/* Losses of the learner. */
typedef struct account {
    double *loss; /* by round */
    size_t *row;
    size_t n_rounds;
} account;

static karma_regret_terms terms_of(const karma_regret *regret, const karma_regret_options *options, double rounds) {
    return (karma_regret_terms){.lipschitz = 1.0,
                                .magnitude = regret->magnitude,
                                .log_big_gamma = regret->log_big_gamma,
                                .log_B = log((double)regret->gamma),
                                .lambda = options->lambda,
                                .gamma = (double)regret->gamma,
                                .rounds = rounds};
}

static size_t choose_gamma(const karma_regret_options *options) {
    if (options->gamma != (int64_t)KARMA_AUTO) return (size_t)options->gamma;
    return (size_t)fmax(1.0, ceil(log((double)options->rounds) / options->lambda));
}

/* The theorem's numbers for this sequence. */
static void set_constants(karma_regret *regret, const karma_i_sequence *sequence, const karma_regret_options *options) {
    regret->gamma = choose_gamma(options);
    regret->log_big_gamma = karma_theory_log_big_gamma(sequence->dim, (double)regret->gamma);
    regret->lambda = sequence->lambda;
    regret->magnitude = sequence->magnitude;
    regret->missing = sequence->missing;
    karma_regret_terms terms = terms_of(regret, options, (double)options->rounds);
    regret->log_rho = karma_theory_log_rho(&terms);
}

static karma_status learn(account *a, const karma_regret *regret, const karma_i_sequence *sequence,
                          const karma_regret_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_kernel kernel;
    karma_fit_options fit;
    karma_fit_info info = {0};
    KARMA_TRY(karma_i_kernel_init(&kernel, regret->gamma, KARMA_SCALE_PAPER, 0.0, sequence->dim, err));
    karma_options_init(karma_fit_option_table(), &fit);
    fit.loss = KARMA_LOSS_HINGE;
    fit.schedule = KARMA_SCHEDULE_REGRET;
    fit.rho = exp(regret->log_rho - kernel.factors[0].log_norm);
    fit.passes = 1;
    fit.shuffle = fit.average = 0;
    fit.threads = options->threads;
    karma_i_problem problem = {.kernel = &kernel, .rows = sequence->rows, .targets = sequence->labels, .n_outputs = 1};
    karma_i_rounds rounds = {a->loss, a->row, options->order == KARMA_ORDER_ADVERSARIAL};
    double *coefficients = karma_i_alloc(sequence->n_rows, sizeof *coefficients);
    karma_status st = coefficients ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && !(regret->log_rho - kernel.factors[0].log_norm >= LEAST_LOG))
        st = karma_i_fail(err, KARMA_ERR_OPTION, "gamma: with %zu the scores leave the range of floating-point numbers",
                          regret->gamma);
    if (st == KARMA_OK) st = karma_i_loss_make(&problem.loss, KARMA_TASK_CLASSIFY, &fit, 0.5, err);
    if (st == KARMA_OK) st = karma_i_solve_rounds(coefficients, &info, &rounds, &problem, &fit, hooks, err);
    a->n_rounds = info.rounds;
    karma_i_free(coefficients);
    karma_i_kernel_clear(&kernel);
    return st;
}

/* 1, 2, 5, 10, 20, 50, ... */
static size_t next_checkpoint(size_t t) {
    size_t power = 1;
    while (power <= t / 10) power *= 10;
    return t < 2 * power ? 2 * power : t < 5 * power ? 5 * power : 10 * power;
}

/* The checkpoints up to `last`, which is always one; their `rounds` are set if there is an array. Returns how many. */
static size_t list_checkpoints(karma_regret_point *points, size_t last) {
    size_t count = 0;
    for (size_t t = 1;; t = next_checkpoint(t)) {
        if (points) points[count].rounds = t < last ? t : last;
        count++;
        if (t >= last) return count;
    }
}

static karma_status compare(karma_regret_point *point, double *w, const karma_i_sequence *sequence, const account *a,
                            karma_error *err) {
    karma_i_interval best;
    KARMA_TRY(karma_i_best_in_hindsight(&best, w, sequence->pulled, sequence->labels, a->row, point->rounds,
                                        sequence->dim, err));
    point->learner = 0.0;
    for (size_t t = 0; t < point->rounds; t++) point->learner += a->loss[t];
    point->best = best.high;
    point->best_at_least = best.low;
    point->regret = point->learner - best.low;
    return KARMA_OK;
}

static karma_status fill_points(karma_regret *regret, const karma_i_sequence *sequence, const account *a,
                                const karma_regret_options *options, const karma_hooks *hooks, karma_error *err) {
    double *w = karma_i_alloc(sequence->dim, sizeof *w);
    regret->n_points = list_checkpoints(NULL, a->n_rounds);
    regret->points = karma_i_zalloc(regret->n_points, sizeof *regret->points);
    karma_status st = w && regret->points ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) (void)list_checkpoints(regret->points, a->n_rounds);
    for (size_t p = 0; st == KARMA_OK && p < regret->n_points; p++) {
        karma_regret_point *point = &regret->points[p];
        karma_regret_terms terms = terms_of(regret, options, (double)point->rounds);
        point->log_bound = karma_theory_log_regret_bound(&terms, regret->log_rho);
        if (karma_i_progress(hooks, "checkpoints", p, regret->n_points))
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "cancelled before the best predictor was found");
        else
            st = compare(point, w, sequence, a, err);
    }
    karma_i_free(w);
    return st;
}

static karma_status run(karma_regret *regret, const karma_i_sequence *sequence, const karma_regret_options *options,
                        const karma_hooks *hooks, karma_error *err) {
    account a = {karma_i_alloc(sequence->n_rows, sizeof(double)), karma_i_alloc(sequence->n_rows, sizeof(size_t)), 0};
    karma_status st = a.loss && a.row ? KARMA_OK : karma_i_fail_memory(err);
    set_constants(regret, sequence, options);
    if (st == KARMA_OK) st = learn(&a, regret, sequence, options, hooks, err);
    if (st == KARMA_OK) st = fill_points(regret, sequence, &a, options, hooks, err);
    karma_i_free(a.loss);
    karma_i_free(a.row);
    return st;
}

karma_status karma_regret_run(karma_regret **out, const karma_regret_options *options, const karma_hooks *hooks,
                              karma_error *err) {
    karma_regret_options own;
    KARMA_TRY(karma_i_options_accept(karma_regret_option_table(), &own, options, err));
    options = &own;
    if (options->rank > options->dim)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "rank: a subspace of %lld dimensions does not fit in %lld attributes",
                            (long long)options->rank, (long long)options->dim);
    karma_i_sequence *sequence = NULL;
    karma_regret *regret = karma_i_zalloc(1, sizeof *regret);
    karma_status st = regret ? karma_i_sequence_new(&sequence, options, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = run(regret, sequence, options, hooks, err);
    karma_i_sequence_free(sequence);
    if (st == KARMA_OK)
        *out = regret;
    else
        karma_regret_free(regret);
    return st;
}

void karma_regret_free(karma_regret *regret) {
    if (!regret) return;
    karma_i_free(regret->points);
    karma_i_free(regret);
}
