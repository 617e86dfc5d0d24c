#include "search/last_fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/fit_task.h"
#include "model/probabilities.h"
#include "model/splittable.h"
#include "search/blend.h"
#include "solve/nystrom.h"
#include "solve/solver.h"
#include "table/table_split.h"

/* The cost, in rows × rows × passes, allowed for each machine of an exact fit. Solvers for more rows have
 * their own limits.
 */
static const double MOST_VISITED_PAIRS = 2e10, CHEAP_PAIRS = 2e9;
enum { MOST_PASSES = 300, MOST_CHEAP_PASSES = 100000 };

/* From this many rows on, landmarks are learned much faster than an exact machine. */
enum { MOST_HURRIED_ROWS = 4000 };

/* Landmarks of machines that are averaged: this share of the rows, and at least so many. */
static const double LANDMARK_SHARE = 0.05, LEAST_LANDMARKS = 500.0;

/* Up to this many rows the matrix of a kernel is computed faster than its features; measured up to 2000. */
enum { MOST_MATRIX_ROWS = 5000 };

/* A gap above this, relative to the objective, is not a solution: scores may be worse than those of a constant
 * prediction.
 */
static const double MOST_USABLE_GAP = 0.1;
/* One above this may show in predictions. */
static const double MOST_SILENT_GAP = 0.02;
/* A difference of up to this many standard errors may be chance, since the choice is the best of many candidates
 * on these rows: honest models were up to 2.9 behind it. */
static const double NOISE = 3.5;
/* The number of rows for comparing the choice with boosted trees, which learn from all rows in less time. A
 * choice that does not improve on the trees here is not learned from more rows. */
enum { MOST_FIRST_ROWS = 8000 };
/* Seconds per cell before the first tree has grown. */
static const double TREE_SECONDS = 1e-7;
/* From this multiple of the sample on, the sample is too small to be worth another fit. */
static const double SMALL_SHARE = 25.0;
/* Up to this many rows a choice that was tried on a sample is learned twice: without the sample, to be
 * checked, and with it. */
enum { MOST_TWICE_ROWS = 20000 };
/* The share of the remaining time that the first model may take: alone, before trees, and for trees. And how
 * many times longer the second one may take. */
static const double FIRST_SHARE = 0.6, SHARE_BEFORE_TREES = 0.4, TREE_SHARE = 0.85, SAFE_FACTOR = 1.3;
/* If there is no time for all machines of the second model, those that it has must carry this share of the
 * weight. */
static const double LEAST_WEIGHT = 0.3;

/* --- hooks ------------------------------------------------------------------------------------------------- */

/* The last fit stops when the time is over, and keeps its result so far. */
typedef struct timed_hooks {
    const karma_hooks *hooks;
    double deadline;
    size_t n_asked;
    int ran_out, is_interrupted;
} timed_hooks;

/* A user who stops the search wants the best model so far: only the time limit stops the last fit, not the
 * same request.
 */
static int progress_in_time(void *payload, const char *stage, size_t done, size_t total) {
    timed_hooks *t = payload;
    int asked = karma_i_progress(t->hooks, stage, done, total);
    if (t->n_asked++ > 0 && karma_i_now() > t->deadline) return t->ran_out = 1; /* something must be learned */
    return asked && !t->is_interrupted;
}

/* Steps before the solvers are completed, but there may be fewer trees. */
static int progress_of_encoding(void *payload, const char *stage, size_t done, size_t total) {
    const timed_hooks *t = payload;
    if (karma_i_progress(t->hooks, stage, done, total) && !t->is_interrupted) return 1;
    return karma_i_now() > t->deadline ? KARMA_I_ENOUGH : 0;
}

static void pass_notice(void *payload, const char *sentence) {
    const timed_hooks *t = payload;
    t->hooks->notice(t->hooks->payload, sentence);
}

/* --- one fit ----------------------------------------------------------------------------------------------- */

/* Of all processes, if rows are split. */
static size_t count_rows(const karma_table *table) {
    return karma_i_table_split(table).n_rows;
}

/* The conditions of a fit: the solver, the deadline, and whether the user gets its notices. */
typedef struct fit_settings {
    int solver;
    double deadline;
    int is_quiet;
    const karma_i_forest *grown; /* trees of a model that was learned from the same rows, or NULL */
} fit_settings;

/* The cost of a pass grows with the square of the number of rows. With few rows there is no limit, since
 * passes are cheap. */
static int64_t count_passes(size_t n_rows, int solver) {
    double pairs = (double)n_rows * (double)n_rows;
    if (n_rows > KARMA_I_MOST_BATCH_ROWS || solver == KARMA_SOLVER_NYSTROM) return (int64_t)KARMA_AUTO;
    double passes = fmin(MOST_VISITED_PAIRS / pairs, MOST_PASSES);
    return (int64_t)fmax(passes, fmin(CHEAP_PAIRS / pairs, MOST_CHEAP_PASSES));
}

/* Members of a committee that were tried on all rows are learned as they were tried, from their kernel
 * matrix: for so few rows it is faster than the features of a kernel with few dimensions. */
static int solver_of(const karma_i_last_fit *f, const karma_table *table, int solver) {
    double n = (double)table->n_rows;
    int fits = n <= MOST_MATRIX_ROWS && n * n * sizeof(float) <= karma_i_memory_bytes(&f->task->options);
    int is_as_tried = !f->samples && karma_i_plan_n_machines(f->plan) > 1;
    return solver == KARMA_SOLVER_AUTO && is_as_tried && fits ? KARMA_SOLVER_BATCH : solver;
}

/* Rows that are split over processes, all of them in each, if the kernels or the solver need that, or if they are so
 * few that exchanging sums would take longer. NULL: not needed. */
static karma_status gather_rows(karma_table **out, const karma_i_last_fit *f, const karma_table *table, int solver,
                                karma_error *err) {
    karma_fit_options options = f->task->options; /* borrows its texts */
    karma_error why = {0};
    size_t n = count_rows(table);
    *out = NULL;
    options.solver = solver;
    if (karma_i_table_ranks(table)->size == 1) return KARMA_OK;
    karma_status st = karma_i_check_splittable(f->plan, &options, table, &why);
    if (st == KARMA_OK && n > MOST_HURRIED_ROWS) return KARMA_OK;
    if (n > MOST_FIRST_ROWS)
        karma_i_notice(f->hooks, "every process gets all %zu rows and does the same work: %s", n, why.message);
    size_t *index = karma_i_alloc(n, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) index[i] = i;
    st = karma_i_table_gather(out, table, index, n, err);
    karma_i_free(index);
    return st;
}

/* The landmarks of each machine. Of a mean of several machines for classes, each needs fewer if there are few rows:
 * yrbss was as accurate with half of them. R2 of numbers fell by 0.001. */
static int64_t landmarks_of(const karma_i_last_fit *f, const karma_table *table) {
    const karma_fit_options *options = &f->task->options;
    size_t n_rows = count_rows(table), n_machines = 0, usual = karma_i_count_landmarks(options, n_rows);
    for (size_t m = 0; m < f->plan->n_members; m++) /* trees with their own values need none */
        for (size_t c = 0; c < f->plan->members[m].machines.n; c++)
            n_machines += f->plan->members[m].machines.factors[c] != 0.0;
    for (size_t t = 0; t < f->task->n_heads; t++)
        if (f->task->heads[t].labels.task != KARMA_TASK_CLASSIFY) n_machines = 1;
    if (!f->samples || n_machines <= 1 || options->landmarks != (int64_t)KARMA_AUTO) return options->landmarks;
    return (int64_t)fmin((double)usual, fmax(LEAST_LANDMARKS, LANDMARK_SHARE * (double)n_rows));
}

static karma_status fit_choice(karma_model **out, const karma_i_last_fit *f, const karma_table *table,
                               const fit_settings *how, karma_error *err) {
    timed_hooks timed = {f->hooks, how->deadline, 0, 0, f->is_interrupted};
    karma_notice_fn notice = f->hooks && f->hooks->notice && !how->is_quiet ? pass_notice : NULL;
    karma_hooks encoding = {progress_of_encoding, notice, &timed}, solving = {progress_in_time, notice, &timed};
    karma_fit_options *options = &f->task->options;
    int solver = options->solver;
    int64_t landmarks = options->landmarks;
    options->subspace_rank = f->race->subspace_rank;
    options->landmarks = landmarks_of(f, table);
    options->solver = solver_of(f, table, how->solver);
    if (karma_i_plan_n_machines(f->plan) == 1) options->tolerance = f->tolerance;
    if (f->passes_are_ours) options->passes = count_passes(count_rows(table), how->solver);
    karma_table *all = NULL;
    karma_status st = gather_rows(&all, f, table, options->solver, err);
    if (st == KARMA_OK)
        st = karma_i_fit_task(out, f->task, f->plan, all ? all : table, how->grown, &encoding, &solving, err);
    karma_table_free(all);
    options->solver = solver;
    options->landmarks = landmarks;
    if (st != KARMA_OK) return st;
    (*out)->task.options.solver = solver;
    (*out)->task.options.landmarks = landmarks;
    if (timed.ran_out && (*out)->info.stop == KARMA_STOP_CANCELLED) (*out)->info.stop = KARMA_STOP_LIMIT;
    return KARMA_OK;
}

static int is_usable(const karma_model *model) {
    return model->info.stop != KARMA_STOP_LIMIT || model->info.gap <= MOST_USABLE_GAP;
}

/* --- probabilities ----------------------------------------------------------------------------------------- */

/* Scores of the search's rows by models that have not seen them: `checked`, or, if every fold was judged, by
 * the choice of the other folds. They are kept for reports. */
static karma_status keep_left_out(karma_model *model, const karma_i_last_fit *f, const double *checked,
                                  karma_error *err) {
    const karma_i_race *race = f->race;
    size_t n = race->table->n_rows, K = model->task.n_outputs, used = 0;
    int is_split = karma_i_table_ranks(f->rows)->size > 1; /* reports of these rows, which need numbers, are not */
    if (!checked && race->n_done < race->folds->n_folds) return KARMA_OK;
    model->left_out_rows = karma_i_alloc(n, sizeof *model->left_out_rows);
    model->left_out_scores = karma_i_alloc(n, K * sizeof *model->left_out_scores);
    if (!model->left_out_rows || !model->left_out_scores) return karma_i_fail_memory(err);
    for (size_t i = 0; !is_split && i < f->rows->n_rows; i++)
        if (!f->samples || f->samples->fold[i] == 0) model->left_out_rows[used++] = i;
    if (checked)
        memcpy(model->left_out_scores, checked, n * K * sizeof *checked);
    else
        KARMA_TRY(karma_i_scores_by_other_folds(model->left_out_scores, f->rule, race, karma_i_judge_row_loss(f->judge),
                                                f->judge, f->most_machines, err));
    model->n_left_out = is_split ? 0 : n;
    return KARMA_OK;
}

/* Probabilities and certainty come from these scores. */
static karma_status calibrate(karma_model *model, const karma_i_last_fit *f, int is_checked, karma_error *err) {
    const karma_table *rows = f->race->table;
    karma_i_task *task = &model->task;
    int cancelled, is_small = rows->n_rows < (size_t)KARMA_I_MOST_GROUPS * KARMA_I_LEAST_GROUP_ROWS;
    if (karma_i_wanted_calibration(task, 1) == KARMA_CALIBRATE_OFF && !karma_i_wants_certainty(task, 1))
        return KARMA_OK;
    if (!model->left_out_scores) {
        karma_i_notice(f->hooks, "the search ended before every row was left out once: the model has no "
                                 "probabilities, intervals or sets");
        return KARMA_OK;
    }
    if (!is_checked && is_small && karma_i_wants_copies(task, 1)) /* the race has no scores of copies */
        return karma_i_calibrate_by_folds(task, &cancelled, f->plan, rows, 1, NULL, err);
    return karma_i_calibrate_heads(task, &(karma_i_left_out){.table = rows, .scores = model->left_out_scores}, 1, err);
}

static karma_status finish_model(karma_model *model, const karma_i_last_fit *f, const double *checked,
                                 karma_error *err) {
    KARMA_TRY(keep_left_out(model, f, checked, err));
    return calibrate(model, f, checked != NULL, err);
}

/* --- the check --------------------------------------------------------------------------------------------- */

/* How the first model does on the search's rows, compared with the choice as judged by the search. */
typedef struct check {
    double *scores; /* of these rows */
    double value, error;
    double lead, lead_error;     /* over the choice, in the unit of the goal */
    double behind, behind_error; /* mean loss per row of the choice; 0 if the goal is not a mean over rows */
    double constant;
    size_t n_learned; /* rows that the model was learned from */
} check;

static void mean_and_error(double *mean, double *error, const double *x, const double *y, size_t n) {
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) sum += (x[i] - (y ? y[i] : 0.0)) / (double)n;
    for (size_t i = 0; i < n; i++) squares += pow(x[i] - (y ? y[i] : 0.0) - sum, 2);
    *mean = sum;
    *error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : INFINITY;
}

/* values[f]: the goal on each judged fold of the first repeat, from scores of all rows. */
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

/* The same row by row, which is more precise, over the rows judged by the search. */
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

/* Whether the model is behind the models of the search by more than noise, or behind a constant prediction
 * that they beat. */
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
    c->n_learned = model->info.n_rows;
    *passed = !is_worse(c, f);
    return KARMA_OK;
}

static void record_check(karma_search_info *info, const check *c, const karma_i_last_fit *f) {
    double sign = karma_i_goal_sign(f->judge->goal);
    info->n_checked = f->race->table->n_rows;
    info->n_check_learned = c->n_learned;
    info->check_score = sign * c->value;
    info->check_error = isfinite(c->error) ? c->error : NAN;
}

/* --- the whole --------------------------------------------------------------------------------------------- */

/* The first model, learned from `rest`, by the solver of the options and then, if it fails the check, by
 * landmarks. *out is NULL if none passed. */
static karma_status fit_first(karma_model **out, fit_settings *how, check *c, const karma_i_last_fit *f,
                              const karma_table *rest, karma_error *err) {
    double now = karma_i_now(), share = FIRST_SHARE;
    if (f->contender) share = f->plan == f->contender ? TREE_SHARE : SHARE_BEFORE_TREES;
    *how = (fit_settings){f->task->options.solver, now + share * (f->deadline - now), 1, NULL};
    if (how->solver == KARMA_SOLVER_AUTO && count_rows(rest) > MOST_HURRIED_ROWS &&
        (f->contender || isfinite(f->deadline)))
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

/* A model that fails the check is replaced by a model of the sample, learned like the candidates. This fit is
 * not stopped. */
static karma_status fit_sample(karma_model **out, const karma_i_last_fit *f, karma_error *err) {
    fit_settings how = {KARMA_SOLVER_BATCH, INFINITY, 0, NULL};
    return fit_choice(out, f, f->race->table, &how, err);
}

/* The seconds that a model of the sample would take: its kernels were judged with fewer rows, and a solver's
 * cost grows with their square. */
static double sample_seconds(const karma_i_last_fit *f) {
    const karma_i_race *race = f->race;
    double seconds = race->encoding_seconds, folds = (double)race->folds->n_folds, growth = folds / (folds - 1.0);
    for (size_t e = 0; e < race->n_entries; e++) {
        int is_chosen = 0;
        for (size_t i = 0; i < f->choice->n; i++) is_chosen |= race->runs[f->choice->runs[i]].entry == e;
        if (is_chosen) seconds += race->entries[e].seconds / (double)karma_i_threads(f->task->options.threads);
    }
    return growth * growth * seconds;
}

static void warn_of_refusal(const karma_i_last_fit *f, const check *c) {
    double sign = karma_i_goal_sign(f->judge->goal);
    karma_i_notice(f->hooks,
                   "warning: learning from all %zu rows gave a worse model (%s %.4g, where models of the search had "
                   "%.4g on the same rows), so the model was learned from a random sample of %zu rows. To use all "
                   "rows, %s",
                   count_rows(f->rows), karma_i_goal_name(f->judge->goal), sign * c->value, sign * (c->value - c->lead),
                   f->race->table->n_rows,
                   isfinite(f->deadline) ? "allow more time (option 'time')"
                                         : "try option 'effort=off' with your own option 'kernel' and option 'C'");
}

/* A model and its plan, with their values on the sample's rows. */
typedef struct tried {
    karma_model *model; /* NULL: it was refused */
    fit_settings how;
    check check;
    double row_seconds; /* that it took for each row it was learned from */
} tried;

static void clear_tried(tried *t) {
    karma_model_free(t->model);
    karma_i_free(t->check.scores);
    *t = (tried){0};
}

static int is_of_trees(const karma_i_plan_kernel *kernel) {
    return karma_i_plan_kernel_has_kind(kernel, KARMA_KERNEL_BOOST);
}

/* The members of the first plan, without kernels of boosted trees, which the second plan replaces, and the
 * members of the second. */
static karma_status join_plans(karma_i_plan *out, const karma_i_plan *first, const karma_i_plan *second,
                               const karma_i_blend *blend, karma_error *err) {
    const karma_i_plan *plans[] = {first, second};
    double shares[] = {blend->first, blend->second};
    for (size_t p = 0; p < 2; p++) {
        double total = 0.0;
        for (size_t m = 0; m < plans[p]->n_members; m++)
            for (size_t c = 0; c < plans[p]->members[m].machines.n; c++)
                if (p == 1 || !is_of_trees(&plans[p]->members[m].kernel))
                    total += plans[p]->members[m].machines.weights[c];
        for (size_t m = 0; m < plans[p]->n_members; m++) {
            karma_i_C_grid machines = plans[p]->members[m].machines;
            if (p == 0 && is_of_trees(&plans[p]->members[m].kernel)) continue;
            for (size_t c = 0; c < machines.n; c++)
                machines.weights[c] = fmax(1e-4, round(1e4 * shares[p] * machines.weights[c] / total) / 1e4);
            KARMA_TRY(karma_i_plan_add_member(out, &plans[p]->members[m].kernel, &machines, err));
        }
    }
    return KARMA_OK;
}

/* The trees of a model, or NULL. */
static const karma_i_forest *boosted_trees(const karma_model *model) {
    for (size_t e = 0; e < model->plan.n_kinds; e++)
        if (model->plan.kinds[e] == KARMA_KERNEL_BOOST) return model->encoder.recipes[e]->forest;
    return NULL;
}

static int is_all_trees(const karma_i_plan *plan) {
    for (size_t m = 0; m < plan->n_members; m++)
        if (!is_of_trees(&plan->members[m].kernel)) return 0;
    return 1;
}

/* The verdict: the plan to learn, its check, and the better of the models tried. */
typedef struct verdict {
    const karma_i_plan *plan;
    karma_i_plan joined;  /* the plan for the mean of both */
    karma_i_plan shorter; /* the plan if there is no time for all machines */
    tried *best;          /* NULL: both were refused; the model until the plan is learned */
    int is_learned;       /* the plan was learned, and `check` is its check; until then that of `best` counts */
    fit_settings how;
    check check;                       /* its scores are owned */
    double row_seconds, grown_seconds; /* for each row, and how much of it was for the trees */
    size_t n_first;                    /* rows that machines were learned from in this time */
} verdict;

/* The check of the model that there is. Its probabilities come from these scores. */
static const check *check_of_model(const verdict *v) {
    return v->is_learned ? &v->check : &v->best->check;
}

static void clear_verdict(verdict *v) {
    karma_i_plan_clear(&v->joined);
    karma_i_plan_clear(&v->shorter);
    karma_i_free(v->check.scores);
}

/* Decides between the choice, the contender, and a mean of both, which is learned only afterwards. */
static karma_status decide(verdict *v, const karma_i_last_fit *f, tried *first, tried *second, karma_error *err) {
    const karma_i_race *race = f->race;
    size_t n = race->table->n_rows * race->task->n_outputs;
    int takes_first = first->model != NULL, takes_second = f->contender && second->model;
    karma_i_blend blend = {takes_first, takes_second};
    const karma_i_forest *grown = NULL;
    v->best = takes_first ? first : takes_second ? second : NULL;
    if (!v->best) return KARMA_OK;
    if (takes_first && takes_second) {
        int is_second = second->check.value > first->check.value;
        if (is_all_trees(f->plan))
            blend = (karma_i_blend){!is_second, is_second};
        else
            KARMA_TRY(karma_i_blend_weigh(&blend, f->judge, race->task, race->table, first->check.scores,
                                          second->check.scores, err));
        if (blend.second > blend.first) v->best = second;
        takes_first = blend.first > 0.0;
        takes_second = blend.second > 0.0;
        grown = boosted_trees(second->model);
    }
    v->plan = !takes_second ? f->plan : !takes_first ? f->contender : &v->joined;
    v->how = takes_first ? first->how : second->how;
    v->grown_seconds = takes_second ? second->row_seconds : 0.0;
    v->n_first = first->model ? first->check.n_learned : race->table->n_rows;
    v->row_seconds = v->grown_seconds + (takes_first ? first->row_seconds : 0.0);
    v->how.grown = grown;
    v->check = takes_first ? first->check : second->check;
    v->check.scores = karma_i_alloc(n, sizeof *v->check.scores);
    if (!v->check.scores) return karma_i_fail_memory(err);
    if (!takes_first || !takes_second) {
        v->best = takes_first ? first : second;
        memcpy(v->check.scores, v->best->check.scores, n * sizeof *v->check.scores);
        return KARMA_OK;
    }
    karma_i_blend_scores(v->check.scores, &blend, first->check.scores, second->check.scores, n);
    KARMA_TRY(compare(&v->check, f, err));
    return join_plans(&v->joined, f->plan, f->contender, &blend, err);
}

size_t karma_i_first_fit_parts(size_t n_rows) {
    return (n_rows + MOST_FIRST_ROWS - 1) / MOST_FIRST_ROWS;
}

/* The rows for the first models: all but the sample, or some of these if there are very many. */
static karma_status split_rows(karma_i_fold *out, karma_table **some, const karma_i_last_fit *f, karma_error *err) {
    karma_i_folds folds = {0};
    KARMA_TRY(karma_i_fold_split(out, f->samples, 0, err));
    size_t n_folds = karma_i_first_fit_parts(count_rows(out->train));
    if (n_folds < 2) return KARMA_OK;
    KARMA_TRY(karma_i_folds_init(&folds, f->task, out->train, n_folds, 1, (uint64_t)f->task->options.seed, 0, err));
    karma_status st = karma_i_fold_test_rows(some, &folds, 0, err);
    karma_i_folds_clear(&folds);
    return st;
}

/* The choice is tried on `some` of the rows without the sample. */
static karma_status try_both(tried *first, tried *second, karma_i_last_fit *f, const karma_table *some,
                             const karma_table *rest, karma_error *err) {
    karma_i_last_fit contender = *f;
    contender.plan = f->contender;
    double began = karma_i_now();
    KARMA_TRY(fit_first(&first->model, &first->how, &first->check, f, some, err));
    double now = karma_i_now();
    first->row_seconds = (now - began) / (double)count_rows(some);
    double seconds = TREE_SECONDS * (double)count_rows(rest) * (double)rest->n_attributes;
    if (!f->contender || now + seconds > f->deadline) return KARMA_OK;
    KARMA_TRY(fit_first(&second->model, &second->how, &second->check, &contender, rest, err));
    second->row_seconds = (karma_i_now() - now) / (double)count_rows(rest);
    return KARMA_OK;
}

/* Learns the verdict from `rows`. If these do not include the sample, the sample judges once more, and the
 * earlier model stays if it was better. *model: the earlier model, then the better one. */
static karma_status fit_verdict(karma_model **model, int *is_better, verdict *v, const karma_i_last_fit *f,
                                const karma_table *rows, int is_checked, karma_error *err) {
    karma_model *last = NULL;
    karma_i_last_fit own = *f;
    check again = {0};
    int passed = 1;
    own.plan = v->plan;
    v->how.deadline = f->deadline;
    v->how.is_quiet = 0;
    KARMA_TRY(fit_choice(&last, &own, rows, &v->how, err));
    karma_status st = is_checked ? check_model(&passed, &again, last, &own, err) : KARMA_OK;
    *is_better = st == KARMA_OK && (is_usable(last) || last->info.gap <= (*model)->info.gap) &&
                 (!is_checked || again.value >= v->best->check.value - again.error);
    if (*is_better && is_checked) {
        check before = v->check;
        v->check = again;
        again = before;
    }
    v->is_learned |= *is_better;
    karma_i_free(again.scores);
    karma_model_free(*is_better ? *model : last);
    if (*is_better) *model = last;
    return st;
}

/* The seconds per row that all machines of the verdict take. The time of an exact solver grows between
 * linearly and quadratically with the rows. */
static double machine_row_seconds(const verdict *v, const karma_table *rows) {
    double each = v->row_seconds - v->grown_seconds, growth = (double)count_rows(rows) / (double)v->n_first;
    int is_exact = count_rows(rows) <= KARMA_I_MOST_BATCH_ROWS && v->how.solver != KARMA_SOLVER_NYSTROM;
    return is_exact ? each * sqrt(fmax(1.0, growth)) : each;
}

/* Whether there is time to learn the verdict from these rows. Existing trees take none. */
static int is_in_time(const verdict *v, const karma_i_last_fit *f, const karma_table *rows) {
    double each = machine_row_seconds(v, rows) + (v->how.grown ? 0.0 : v->grown_seconds);
    return karma_i_now() + SAFE_FACTOR * each * (double)count_rows(rows) <= f->deadline;
}

/* The machines of a plan, other than trees, with a larger weight than this one, or the same and earlier. */
static size_t count_heavier(const karma_i_plan *plan, size_t member, size_t machine) {
    double weight = plan->members[member].machines.weights[machine];
    size_t n = 0;
    for (size_t m = 0; m < plan->n_members; m++)
        for (size_t c = 0; c < plan->members[m].machines.n; c++) {
            double other = plan->members[m].machines.weights[c];
            int is_earlier = m < member || (m == member && c < machine);
            n += plan->members[m].machines.factors[c] != 0.0 && (other > weight || (other == weight && is_earlier));
        }
    return n;
}

/* The `most` machines of a plan with the largest weights, the earlier ones first if weights are equal, and the
 * trees of the contender. */
static karma_status take_heavy(karma_i_plan *out, const karma_i_plan *plan, size_t most, karma_error *err) {
    for (size_t m = 0; m < plan->n_members; m++) {
        const karma_i_C_grid *from = &plan->members[m].machines;
        karma_i_C_grid machines = {0};
        for (size_t c = 0; c < from->n; c++) {
            if (from->factors[c] != 0.0 && count_heavier(plan, m, c) >= most) continue;
            machines.factors[machines.n] = from->factors[c];
            machines.weights[machines.n++] = from->weights[c];
        }
        if (machines.n) KARMA_TRY(karma_i_plan_add_member(out, &plan->members[m].kernel, &machines, err));
    }
    return KARMA_OK;
}

/* If there is no time for all machines of the verdict, the heaviest ones learn from these rows: that does
 * better than all machines with fewer rows. */
static karma_status shorten(verdict *v, const karma_i_last_fit *f, const karma_table *rows, karma_error *err) {
    if (!v->plan) return KARMA_OK;
    size_t n = karma_i_plan_n_machines(v->plan);
    double trees = v->how.grown ? 0.0 : v->grown_seconds, each = machine_row_seconds(v, rows);
    double left = (f->deadline - karma_i_now()) / SAFE_FACTOR / (double)count_rows(rows) - trees, share = left / each;
    if (!(share < 1.0) || share * (double)n < 1.0 || v->shorter.n_members > 0) return KARMA_OK;
    KARMA_TRY(take_heavy(&v->shorter, v->plan, (size_t)(share * (double)n), err));
    double weight = karma_i_plan_total_weight(&v->shorter), total = karma_i_plan_total_weight(v->plan);
    if (weight < LEAST_WEIGHT * total) return KARMA_OK;
    v->plan = &v->shorter;
    v->row_seconds = v->grown_seconds + 0.99 * share * (v->row_seconds - v->grown_seconds); /* it is checked later */
    return KARMA_OK;
}

/* After the choice was tried on `some` rows and the contender on the `rest`, those without the sample. */
static karma_status finish_verdict(karma_model **out, verdict *v, const karma_i_last_fit *f, const karma_table *rest,
                                   const karma_table *some, karma_error *err) {
    int is_small = SMALL_SHARE * (double)f->race->table->n_rows <= (double)count_rows(f->rows);
    int is_unchecked = v->plan != f->contender && some != rest;
    karma_model *model = v->best->model;
    v->best->model = NULL;
    karma_status st = is_unchecked ? shorten(v, f, rest, err) : KARMA_OK;
    int passed = !is_unchecked || is_in_time(v, f, rest);
    if (st == KARMA_OK && is_unchecked && passed) st = fit_verdict(&model, &passed, v, f, rest, 1, err);
    v->how.grown = NULL; /* they do not know the sample's rows */
    int is_last = passed && !is_small && !(is_unchecked && count_rows(f->rows) > MOST_TWICE_ROWS);
    if (st == KARMA_OK && is_last) st = shorten(v, f, f->rows, err);
    if (st == KARMA_OK && is_last && is_in_time(v, f, f->rows))
        st = fit_verdict(&model, &passed, v, f, f->rows, 0, err);
    if (st == KARMA_OK) st = finish_model(model, f, check_of_model(v)->scores, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

/* If time is limited, enough must be left for a model of the sample in case the first models fail the
 * check. */
static karma_status fit_checked(karma_model **out, karma_search_info *info, karma_i_last_fit *f, karma_error *err) {
    karma_i_fold split = {0};
    karma_table *some = NULL;
    tried first = {0}, second = {0};
    verdict v = {0};
    double of_all = f->deadline;
    f->deadline -= fmin(sample_seconds(f), 0.5 * (of_all - karma_i_now()));
    karma_status st = split_rows(&split, &some, f, err);
    const karma_table *rows = some ? some : split.train;
    if (st == KARMA_OK) st = try_both(&first, &second, f, rows, split.train, err);
    f->deadline = of_all;
    if (st == KARMA_OK) st = decide(&v, f, &first, &second, err);
    if (st == KARMA_OK && v.best) {
        st = finish_verdict(out, &v, f, split.train, rows, err);
        if (st == KARMA_OK) record_check(info, check_of_model(&v), f);
    } else if (st == KARMA_OK) {
        warn_of_refusal(f, &first.check); /* no check is recorded: it was of another model */
        karma_model *of_sample = NULL;
        st = fit_sample(&of_sample, f, err);
        if (st == KARMA_OK) st = finish_model(of_sample, f, NULL, err);
        if (st == KARMA_OK)
            *out = of_sample;
        else
            karma_model_free(of_sample);
    }
    clear_verdict(&v);
    clear_tried(&first);
    clear_tried(&second);
    karma_table_free(some);
    karma_i_fold_clear(&split);
    return st;
}

/* gap = (P - D) / P, and the minimum is not below D: P is at most gap / (1 - gap) above it. */
static void warn_of_gap(const karma_i_last_fit *f, const karma_model *model) {
    double gap = model->info.gap;
    char how_far[64] = "far";
    if (model->info.stop != KARMA_STOP_LIMIT || !(gap > MOST_SILENT_GAP)) return;
    if (gap < 0.5) (void)snprintf(how_far, sizeof how_far, "up to %.0f%%", 100.0 * gap / (1.0 - gap));
    karma_i_notice(
        f->hooks,
        "the model did not converge: its objective may be %s above the minimum, and its predictions may be "
        "worse than those of a converged model. %s",
        how_far,
        isfinite(f->deadline)
            ? "Allow more time (option 'time')"
            : "Its cross-validated score was measured under the same limit; option 'passes=100000' continues");
}

karma_status karma_i_last_fit_run(karma_model **out, int *contender_won, karma_search_info *info,
                                  const karma_i_last_fit *f, karma_error *err) {
    fit_settings how = {f->task->options.solver, f->deadline, 0, NULL};
    karma_model *model = NULL;
    *contender_won = 0;
    if (f->samples) {
        karma_i_last_fit better = *f;
        KARMA_TRY(fit_checked(out, info, &better, err));
        warn_of_gap(f, *out);
        *contender_won = f->contender && karma_i_plan_equal(&(*out)->plan, f->contender);
        return KARMA_OK;
    }
    KARMA_TRY(fit_choice(&model, f, f->rows, &how, err));
    warn_of_gap(f, model);
    karma_status st = finish_model(model, f, NULL, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
