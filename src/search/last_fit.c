#include "search/last_fit.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/fit_task.h"
#include "model/probabilities.h"
#include "solve/solver.h"

/* Rows × rows × passes that each machine of an exact fit may cost. The solvers of more rows have limits of their own.
 */
static const double MOST_VISITED_PAIRS = 2e10, CHEAP_PAIRS = 2e9;
enum { MOST_PASSES = 300, MOST_CHEAP_PASSES = 100000 };

/* Rows from which landmarks are learned much sooner than an exact machine. */
enum { MOST_HURRIED_ROWS = 4000 };

/* A gap above this, relative to the objective, is not a solution: scores may be worse than those of a constant answer.
 */
static const double MOST_USABLE_GAP = 0.1;
/* Standard errors of a difference that may be luck. */
static const double NOISE = 2.5;
/* From so many times the sample on, its rows are too few to be worth another fit. */
static const double SMALL_SHARE = 25.0;
/* Of the time that is left, what the first model may take; and how many times as long the second one may take. */
static const double FIRST_SHARE = 0.6, SAFE_FACTOR = 1.3;

/* --- hooks ------------------------------------------------------------------------------------------------- */

/* The last fit stops when the time is over, and keeps what it has. */
typedef struct timed_hooks {
    const karma_hooks *hooks;
    double deadline;
    size_t n_asked;
    int ran_out, is_interrupted;
} timed_hooks;

/* A user who stops the search wants a model of what is known: the same request does not stop the last fit, only time
 * does.
 */
static int progress_in_time(void *payload, const char *stage, size_t done, size_t total) {
    timed_hooks *t = payload;
    int asked = karma_i_progress(t->hooks, stage, done, total);
    if (t->n_asked++ > 0 && karma_i_now() > t->deadline) return t->ran_out = 1; /* something must be learned */
    return asked && !t->is_interrupted;
}

static int progress_to_the_end(void *payload, const char *stage, size_t done, size_t total) {
    const timed_hooks *t = payload;
    return karma_i_progress(t->hooks, stage, done, total) && !t->is_interrupted;
}

static void pass_notice(void *payload, const char *sentence) {
    const timed_hooks *t = payload;
    t->hooks->notice(t->hooks->payload, sentence);
}

/* --- one fit ----------------------------------------------------------------------------------------------- */

/* How a fit goes: by which solver, until when, and whether its notices are for the user. */
typedef struct manner {
    int solver;
    double deadline;
    int is_quiet;
} manner;

/* A pass over many rows visits the square of their number. Few rows may have as many as it takes to converge, since
 * they cost next to nothing. */
static int64_t count_passes(size_t n_rows, int solver) {
    double pairs = (double)n_rows * (double)n_rows;
    if (n_rows > KARMA_I_MOST_BATCH_ROWS || solver == KARMA_SOLVER_NYSTROM) return (int64_t)KARMA_AUTO;
    double passes = fmin(MOST_VISITED_PAIRS / pairs, MOST_PASSES);
    return (int64_t)fmax(passes, fmin(CHEAP_PAIRS / pairs, MOST_CHEAP_PASSES));
}

static karma_status fit_choice(karma_model **out, const karma_i_last_fit *f, const karma_table *table,
                               const manner *how, karma_error *err) {
    timed_hooks timed = {f->hooks, how->deadline, 0, 0, f->is_interrupted};
    karma_notice_fn notice = f->hooks && f->hooks->notice && !how->is_quiet ? pass_notice : NULL;
    karma_hooks encoding = {progress_to_the_end, notice, &timed}, solving = {progress_in_time, notice, &timed};
    karma_fit_options *options = &f->task->options;
    int solver = options->solver;
    options->subspace_rank = f->race->subspace_rank;
    options->solver = how->solver;
    if (karma_i_plan_n_machines(f->plan) == 1) options->tolerance = f->tolerance;
    if (f->passes_are_ours) options->passes = count_passes(table->n_rows, how->solver);
    karma_status st = karma_i_fit_task(out, f->task, f->plan, table, &encoding, &solving, err);
    options->solver = solver;
    if (st != KARMA_OK) return st;
    (*out)->task.options.solver = solver;
    if (timed.ran_out && (*out)->info.stop == KARMA_STOP_CANCELLED) (*out)->info.stop = KARMA_STOP_LIMIT;
    return KARMA_OK;
}

static int is_usable(const karma_model *model) {
    return model->info.stop != KARMA_STOP_LIMIT || model->info.gap <= MOST_USABLE_GAP;
}

/* --- probabilities ----------------------------------------------------------------------------------------- */

/* Probabilities come from the scores of rows that were left out. */
static karma_status calibrate(karma_model *model, const karma_i_last_fit *f, const double *checked, karma_error *err) {
    const karma_i_race *race = f->race;
    karma_i_task *task = &model->task;
    int cancelled;
    if (karma_i_wanted_calibration(task, 1) == KARMA_CALIBRATE_OFF && !karma_i_wants_certainty(task, 1))
        return KARMA_OK;
    if (checked) return karma_i_calibrate_heads(task, &(karma_i_left_out){race->table, checked, NULL}, 1, err);
    if (race->n_done < race->folds->n_folds) {
        karma_i_notice(f->hooks, "not all rows were left out once before the search ended: the model has no "
                                 "probabilities, intervals or sets");
        return KARMA_OK;
    }
    int is_small = race->table->n_rows < (size_t)KARMA_I_MOST_GROUPS * KARMA_I_LEAST_GROUP_ROWS;
    if (is_small && karma_i_wants_copies(task, 1)) /* the race has no scores of copies */
        return karma_i_calibrate_by_folds(task, &cancelled, f->plan, race->table, 1, NULL, err);
    double *scores = karma_i_alloc(race->table->n_rows, model->task.n_outputs * sizeof *scores);
    if (!scores) return karma_i_fail_memory(err);
    karma_i_choice_scores(scores, f->choice, race, 0);
    karma_status st = karma_i_calibrate_heads(task, &(karma_i_left_out){race->table, scores, NULL}, 1, err);
    karma_i_free(scores);
    return st;
}

/* --- the check --------------------------------------------------------------------------------------------- */

/* What the first model did on the rows that candidates were tried on, beside the choice as the search judged it. */
typedef struct check {
    double *scores; /* of these rows */
    double value, error;
    double lead, lead_error;     /* over the choice, in the unit of the goal */
    double behind, behind_error; /* of the choice, mean loss of rows; 0 where the goal is not a mean over rows */
    double constant;
} check;

static void mean_and_error(double *mean, double *error, const double *x, const double *y, size_t n) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - (y ? y[i] : 0.0)) / (double)n;
    for (size_t i = 0; i < n; i++) squares += pow(x[i] - (y ? y[i] : 0.0) - sum, 2);
    *mean = sum;
    *error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : INFINITY;
}

/* values[f]: the goal on each fold of the first repeat that was judged, by scores of all rows. */
static karma_status judge_folds(double *values, const karma_i_last_fit *f, const double *scores, size_t n_folds,
                                karma_error *err) {
    const karma_i_race *race = f->race;
    size_t K = race->task->n_outputs;
    double *own = karma_i_alloc(race->table->n_rows, K * sizeof *own);
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n_folds; i++) {
        karma_i_fold fold = {0};
        st = karma_i_fold_test(&fold, race->folds, i, err);
        if (st == KARMA_OK) {
            karma_i_fold_take_scores(own, &fold, scores, K);
            st = karma_i_goal_value(&values[i], f->judge, race->task, fold.test, own, err);
        }
        karma_i_fold_clear(&fold);
    }
    karma_i_free(own);
    return st;
}

/* The same row by row, which tells more, over the rows that the search has judged. */
static karma_status compare_rows(check *c, const karma_i_last_fit *f, karma_error *err) {
    const karma_i_race *race = f->race;
    size_t n = race->table->n_rows, K = race->task->n_outputs, n_rows = 0;
    double *chosen = karma_i_alloc(n, K * sizeof *chosen), *difference = karma_i_alloc(n, sizeof *difference);
    karma_status st = chosen && difference ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) karma_i_choice_scores(chosen, f->choice, race, 0);
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        if (karma_i_folds_number(race->folds, 0, i) < race->n_done)
            difference[n_rows++] = karma_i_goal_row_loss(f->judge, race->task, race->table, i, c->scores + i * K) -
                                   karma_i_goal_row_loss(f->judge, race->task, race->table, i, chosen + i * K);
    if (st == KARMA_OK) mean_and_error(&c->behind, &c->behind_error, difference, NULL, n_rows);
    karma_i_free(chosen);
    karma_i_free(difference);
    return st;
}

static karma_status compare(check *c, const karma_i_last_fit *f, karma_error *err) {
    const karma_i_race *race = f->race;
    size_t n = race->n_done < race->folds->n_folds ? race->n_done : race->folds->n_folds;
    double *values = karma_i_alloc(n, sizeof *values), *chosen = karma_i_alloc(race->n_done, sizeof *chosen), unused;
    double *constant = karma_i_alloc(race->table->n_rows, race->task->n_outputs * sizeof *constant);
    karma_status st = values && chosen && constant ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = judge_folds(values, f, c->scores, n, err);
    if (st == KARMA_OK) st = karma_i_choice_values(chosen, f->choice, race, err);
    if (st == KARMA_OK) {
        mean_and_error(&c->value, &c->error, values, NULL, n);
        mean_and_error(&c->lead, &c->lead_error, values, chosen, n);
        st = karma_i_constant_scores(constant, race->task, race->table, err);
    }
    if (st == KARMA_OK) st = judge_folds(values, f, constant, n, err);
    if (st == KARMA_OK) mean_and_error(&c->constant, &unused, values, NULL, n);
    if (st == KARMA_OK && karma_i_goal_is_mean(f->judge->goal)) st = compare_rows(c, f, err);
    karma_i_free(values);
    karma_i_free(chosen);
    karma_i_free(constant);
    return st;
}

/* More than noise behind the models of the search, or behind a constant answer where these were not. */
static int is_worse(const check *c, const karma_i_last_fit *f) {
    int is_behind = karma_i_goal_is_mean(f->judge->goal) ? c->behind > NOISE * c->behind_error
                                                         : c->lead < -fmax(NOISE * c->lead_error, c->error);
    return is_behind || (c->value < c->constant && c->value - c->lead >= c->constant);
}

static karma_status check_model(int *passed, check *c, const karma_model *model, const karma_i_last_fit *f,
                                karma_error *err) {
    const karma_table *sample = f->race->table;
    if (!c->scores) c->scores = karma_i_alloc(sample->n_rows, f->race->task->n_outputs * sizeof *c->scores);
    if (!c->scores) return karma_i_fail_memory(err);
    KARMA_TRY(karma_predict(c->scores, model, sample, (size_t)f->task->options.threads, NULL, err));
    KARMA_TRY(compare(c, f, err));
    *passed = !is_worse(c, f);
    return KARMA_OK;
}

static void record_check(karma_search_info *info, const check *c, const karma_i_last_fit *f, size_t n_learned) {
    double sign = karma_i_goal_sign(f->judge->goal);
    info->n_checked = f->race->table->n_rows;
    info->n_check_learned = n_learned;
    info->check_score = sign * c->value;
    info->check_error = isfinite(c->error) ? c->error : NAN;
}

/* --- all of it --------------------------------------------------------------------------------------------- */

/* The first model, learned from `rest`, by the solver that the options leave and then by landmarks. *out is NULL if
 * none passed. */
static karma_status fit_first(karma_model **out, manner *how, check *c, const karma_i_last_fit *f,
                              const karma_table *rest, int is_last, karma_error *err) {
    double now = karma_i_now();
    *how = (manner){f->task->options.solver, now + FIRST_SHARE * (f->deadline - now), !is_last};
    if (how->solver == KARMA_SOLVER_AUTO && isfinite(f->deadline) && rest->n_rows > MOST_HURRIED_ROWS)
        how->solver = KARMA_SOLVER_NYSTROM;
    for (;;) {
        karma_model *model = NULL;
        int passed = 0;
        KARMA_TRY(fit_choice(&model, f, rest, how, err));
        karma_status st = check_model(&passed, c, model, f, err);
        int is_exact = model->info.solver == KARMA_SOLVER_BATCH && how->solver == KARMA_SOLVER_AUTO;
        int has_time = karma_i_now() < how->deadline;
        if (st == KARMA_OK && passed && (is_usable(model) || !is_exact || !has_time)) {
            *out = model;
            return KARMA_OK;
        }
        karma_model_free(model);
        if (st != KARMA_OK || !is_exact || !has_time) return st;
        how->solver = KARMA_SOLVER_NYSTROM;
    }
}

/* All rows, after the first model was found good; *model is that, and becomes the last. */
static karma_status fit_again(karma_model **model, const karma_i_last_fit *f, manner how, karma_error *err) {
    karma_model *again = NULL;
    how.deadline = f->deadline;
    how.is_quiet = 0;
    KARMA_TRY(fit_choice(&again, f, f->rows, &how, err));
    int is_better = is_usable(again) || again->info.gap <= (*model)->info.gap;
    karma_model_free(is_better ? *model : again);
    if (is_better) *model = again;
    return KARMA_OK;
}

/* What the check refused is replaced by a model of the sample, learned as candidates were. It takes a moment, and is
 * not stopped. */
static karma_status fit_sample(karma_model **out, const karma_i_last_fit *f, karma_error *err) {
    manner how = {KARMA_SOLVER_BATCH, INFINITY, 0};
    return fit_choice(out, f, f->race->table, &how, err);
}

static void tell_refusal(const karma_i_last_fit *f, const check *c) {
    double sign = karma_i_goal_sign(f->judge->goal);
    karma_i_notice(f->hooks,
                   "warning: learning from all %zu rows gave a worse model (%s %.4g, where models of the search had "
                   "%.4g on the same rows), so the model was learned from a random sample of %zu rows. To use all "
                   "rows, %s",
                   f->rows->n_rows, karma_i_goal_name(f->judge->goal), sign * c->value, sign * (c->value - c->lead),
                   f->race->table->n_rows,
                   isfinite(f->deadline) ? "allow more time (option 'time')"
                                         : "try option 'effort=off' with your own option 'kernel' and option 'C'");
}

/* A model of the contender takes the place of the first one if it does better on the sample's rows, or if there is no
 * first one; `f` is then about the contender. */
static karma_status try_contender(karma_model **model, manner *how, check *c, karma_i_last_fit *f,
                                  const karma_table *rest, int is_last, karma_error *err) {
    karma_i_last_fit own = *f;
    karma_model *other = NULL;
    check its = {0};
    manner its_manner;
    own.plan = f->contender;
    karma_status st = fit_first(&other, &its_manner, &its, &own, rest, is_last, err);
    if (st == KARMA_OK && other && (!*model || its.value > c->value)) {
        karma_model *first = *model;
        check before = *c;
        *model = other, *how = its_manner, *c = its, *f = own;
        other = first, its = before;
    }
    karma_model_free(other);
    karma_i_free(its.scores);
    return st;
}

/* The first model and its check, beside the contender's if there is time. `f` becomes that of the better one. */
static karma_status try_first(karma_model **out, manner *how, check *c, karma_i_last_fit *f, int is_last,
                              karma_error *err) {
    karma_i_fold split = {0};
    double began = karma_i_now();
    karma_status st = karma_i_fold_split(&split, f->samples, 0, err);
    if (st == KARMA_OK) st = fit_first(out, how, c, f, split.train, is_last, err);
    int has_time = 2.0 * karma_i_now() - began < f->deadline;
    if (st == KARMA_OK && f->contender && has_time) st = try_contender(out, how, c, f, split.train, is_last, err);
    karma_i_fold_clear(&split);
    return st;
}

/* Where time is limited, the model of the sample comes first: there may be no time for it later. */
static karma_status fit_checked(karma_model **out, karma_search_info *info, karma_i_last_fit *f, karma_error *err) {
    check c = {0};
    manner how;
    karma_model *model = NULL, *of_sample = NULL;
    int is_small = SMALL_SHARE * (double)f->race->table->n_rows <= (double)f->rows->n_rows;
    karma_status st = isfinite(f->deadline) ? fit_sample(&of_sample, f, err) : KARMA_OK;
    double began = karma_i_now();
    if (st == KARMA_OK) st = try_first(&model, &how, &c, f, is_small, err);
    if (st == KARMA_OK) record_check(info, &c, f, f->rows->n_rows - f->race->table->n_rows);
    double ended = karma_i_now();
    int is_short = ended + SAFE_FACTOR * (ended - began) > f->deadline, has_passed = model != NULL;
    if (st == KARMA_OK && !has_passed) {
        tell_refusal(f, &c);
        if (!of_sample) st = fit_sample(&of_sample, f, err);
        model = of_sample;
        of_sample = NULL;
    }
    if (st == KARMA_OK && has_passed && !is_small && !is_short) st = fit_again(&model, f, how, err);
    if (st == KARMA_OK) st = calibrate(model, f, has_passed ? c.scores : NULL, err);
    karma_i_free(c.scores);
    karma_model_free(of_sample);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

karma_status karma_i_last_fit_run(karma_model **out, int *contender_won, karma_search_info *info,
                                  const karma_i_last_fit *f, karma_error *err) {
    manner how = {f->task->options.solver, f->deadline, 0};
    karma_model *model = NULL;
    *contender_won = 0;
    if (f->samples) {
        karma_i_last_fit better = *f;
        KARMA_TRY(fit_checked(out, info, &better, err));
        *contender_won = better.plan != f->plan;
        return KARMA_OK;
    }
    KARMA_TRY(fit_choice(&model, f, f->rows, &how, err));
    if (!is_usable(model))
        karma_i_notice(f->hooks,
                       "the model did not converge: its objective may be %.0f%% above the minimum. Its cross-validated "
                       "score was measured under the same limit; option 'passes=100000' goes on",
                       100.0 * model->info.gap);
    karma_status st = calibrate(model, f, NULL, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
