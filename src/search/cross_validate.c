/* Cross-validation of a whole way of learning. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "eval/coverage.h"
#include "eval/metric_table.h"
#include "karma/search.h"
#include "model/fold.h"
#include "model/idle_options.h"
#include "model/model.h"
#include "search/goal.h"
#include "search/without_search.h"
#include "table/table_split.h"

_Static_assert((int)KARMA_N_GOALS <= KARMA_MOST_GOALS, "arrays by goal have room for every goal");

void karma_cv_clear(karma_cv *cv) {
    if (!cv) return;
    for (size_t t = 0; cv->targets && t < cv->n_targets; t++) {
        karma_i_free(cv->targets[t].values);
        karma_i_free(cv->targets[t].majority);
    }
    for (size_t f = 0; cv->kernels && f < cv->n_folds * cv->n_repeats; f++) karma_i_free(cv->kernels[f]);
    karma_i_free(cv->targets);
    karma_i_free(cv->kernels);
    karma_i_free(cv->coverages);
    *cv = (karma_cv){0};
}

/* What the caller wants from each fold. */
typedef struct fold_visitor {
    karma_cv_fold_fn each; /* NULL: nothing */
    void *payload;
    const size_t *index; /* of the rows that are used, in the whole table; NULL: all are used */
    size_t *rows;        /* scratch */
} fold_visitor;

static karma_status visit_fold(const fold_visitor *v, const karma_model *model, const karma_i_fold *fold,
                               const double *scores, karma_error *err) {
    if (!v->each) return KARMA_OK;
    for (size_t i = 0; i < fold->test->n_rows; i++)
        v->rows[i] = v->index ? v->index[fold->test_rows[i]] : fold->test_rows[i];
    return v->each(v->payload, model, fold->test, v->rows, scores, err);
}

/* A progress line with the number of the fold in front. */
typedef struct fold_hooks {
    const karma_hooks *hooks;
    size_t fold, n_folds;
} fold_hooks;

static int progress_of_fold(void *payload, const char *stage, size_t done, size_t total) {
    const fold_hooks *f = payload;
    char line[256];
    (void)done, (void)total; /* of one model among many */
    (void)snprintf(line, sizeof line, "outer fold %zu of %zu: %.200s;", f->fold + 1, f->n_folds, stage);
    return karma_i_progress(f->hooks, line, f->fold, f->n_folds);
}

/* For every target, the rows that intervals or sets were judged on. */
typedef struct covered {
    karma_i_covered_row *rows; /* with room for all rows and repeats; NULL: some model has no certainty */
    size_t n;
} covered;

static void clear_covered(covered *all, size_t n_targets) {
    for (size_t t = 0; all && t < n_targets; t++) karma_i_free(all[t].rows);
    karma_i_free(all);
}

static karma_status new_covered(covered **out, const karma_cv *cv, karma_error *err) {
    covered *all = karma_i_zalloc(cv->n_targets, sizeof *all);
    karma_status st = all ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < cv->n_targets; t++)
        if (!(all[t].rows = karma_i_alloc(cv->n_rows * cv->n_repeats, sizeof *all[t].rows)))
            st = karma_i_fail_memory(err);
    if (st == KARMA_OK)
        *out = all;
    else
        clear_covered(all, cv->n_targets);
    return st;
}

static karma_status cover_fold(covered *c, const karma_model *model, size_t target, const karma_table *test,
                               const double *scores, karma_error *err) {
    if (karma_model_n_left_out(model, target) == 0) {
        karma_i_free(c->rows);
        c->rows = NULL;
    }
    return c->rows
               ? karma_i_cover_rows(c->rows, &c->n, model, target, test, scores, karma_model_level(model, target), err)
               : KARMA_OK;
}

/* Running sums of every goal. */
static void add_goals(karma_cv_target *target, const karma_metrics *m) {
    for (size_t i = 0; i < m->n_values; i++) {
        karma_goal goal = karma_i_metric_at(i)->goal;
        double value = m->values[i];
        if (goal == KARMA_GOAL_AUTO || isnan(value)) continue;
        target->n_of[goal]++;
        target->mean_of[goal] += value;
        target->error_of[goal] += value * value;
    }
}

/* The goal of always predicting the quantiles of the training labels, which models do not keep (they keep the
 * mean). */
static karma_status judge_constant_quantiles(double *out, const karma_i_task *task, size_t t, karma_goal goal,
                                             const karma_i_fold *fold, karma_error *err) {
    size_t K = task->n_outputs, n = fold->test->n_rows;
    double *train = karma_i_alloc(fold->train->n_rows, K * sizeof *train), *test = karma_i_alloc(n, K * sizeof *test);
    karma_status st = train && test ? karma_i_constant_scores(train, task, fold->train, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n * K; i++) test[i] = train[i % K];
    if (st == KARMA_OK) st = karma_i_metric_value(out, karma_i_metric_of_goal(goal), task, t, fold->test, test, err);
    karma_i_free(train);
    karma_i_free(test);
    return st;
}

/* The log loss of always predicting the class shares p of the training rows: the mean of -ln p(truth).
 * Classes without training rows get the smallest probability, as in the metric. */
static karma_status judge_class_shares(double *out, const karma_i_task *task, size_t t, const karma_i_fold *fold,
                                       karma_error *err) {
    const karma_i_labels *labels = &task->heads[t].labels;
    const karma_table *tables[] = {fold->train, fold->test};
    size_t K = labels->n_classes;
    double *share = karma_i_zalloc(K + 1, sizeof *share), known = 0.0, sum = 0.0, judged = 0.0;
    karma_status st = share ? KARMA_OK : karma_i_fail_memory(err);
    for (int p = 0; st == KARMA_OK && p < 2; p++) {
        size_t n = tables[p]->n_rows, *truth = karma_i_alloc(n, sizeof *truth);
        st = truth ? karma_i_labels_classes(truth, labels, &tables[p]->targets[t], n, err) : karma_i_fail_memory(err);
        for (size_t i = 0; st == KARMA_OK && i < n; i++) {
            double weight = karma_table_row_weight(tables[p], i);
            if (isnan(tables[p]->targets[t].value[i]) || !(weight > 0.0)) continue;
            if (p == 0)
                share[truth[i]] += weight, known += weight;
            else {
                double of_class = truth[i] < K ? share[truth[i]] / known : 0.0;
                sum -= weight * log(fmax(of_class, KARMA_I_LEAST_PROBABILITY));
                judged += weight;
            }
        }
        karma_i_free(truth);
    }
    if (st == KARMA_OK) *out = sum / judged;
    karma_i_free(share);
    return st;
}

/* Constant predictions that models do not keep. */
static karma_status judge_constant(double *out, const karma_i_task *task, size_t t, karma_goal goal,
                                   const karma_i_fold *fold, karma_error *err) {
    if (goal == KARMA_GOAL_LOG_LOSS) return judge_class_shares(out, task, t, fold, err);
    return goal == KARMA_GOAL_PINBALL ? judge_constant_quantiles(out, task, t, goal, fold, err) : KARMA_OK;
}

static karma_status judge_fold(karma_cv *cv, covered *cover, const fold_visitor *visitor, const karma_model *model,
                               const karma_i_fold *fold, size_t threads, karma_error *err) {
    const karma_table *test = fold->test;
    double *scores = karma_i_alloc(test->n_rows, model->task.n_outputs * sizeof *scores);
    karma_status st = scores ? karma_predict(scores, model, test, threads, NULL, err) : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < cv->n_targets; t++) {
        karma_metrics metrics;
        size_t goal = karma_i_metric_index(karma_i_metric_of_goal(cv->targets[t].goal));
        cv->targets[t].values[cv->n_done] = cv->targets[t].majority[cv->n_done] = NAN;
        if (!karma_i_goal_has_labels(test, t)) continue;
        st = karma_evaluate(&metrics, model, t, test, scores, err);
        if (st != KARMA_OK) break;
        if (cv->targets[t].goal == KARMA_GOAL_LOG_LOSS && isnan(metrics.values[goal])) {
            karma_metrics_clear(&metrics);
            st = karma_i_fail(err, KARMA_ERR_OPTION,
                              "option 'goal': log loss needs probabilities, which these options do not learn: set "
                              "option 'probabilities=sigmoid', or leave the choice to a search (option 'effort')");
            break;
        }
        cv->targets[t].values[cv->n_done] = metrics.values[goal];
        cv->targets[t].majority[cv->n_done] = metrics.constants[goal];
        add_goals(&cv->targets[t], &metrics);
        karma_metrics_clear(&metrics);
        st = cover_fold(&cover[t], model, t, test, scores, err);
        cv->coverages[t].level = karma_model_level(model, t);
        if (st == KARMA_OK)
            st = judge_constant(&cv->targets[t].majority[cv->n_done], &model->task, t, cv->targets[t].goal, fold, err);
    }
    if (st == KARMA_OK) st = visit_fold(visitor, model, fold, scores, err);
    karma_i_free(scores);
    return st;
}

/* An error of the remaining rows need not be an error of the whole table. */
static karma_status blame_fold(const karma_cv *cv, karma_error *err) {
    if (!err) return KARMA_ERR_DATA;
    karma_error cause = *err;
    return karma_i_fail(err, cause.status, "with fold %zu of %zu of the rows left out: %s",
                        cv->n_done % cv->n_folds + 1, cv->n_folds, cause.message);
}

/* Chooses and learns without the test rows of the fold, then judges on them. */
static karma_status run_fold(karma_cv *cv, covered *cover, const fold_visitor *visitor, const karma_i_fold *fold,
                             const karma_fit_options *fit, const karma_search_options *search, const karma_hooks *hooks,
                             karma_error *err) {
    fold_hooks own = {hooks, cv->n_done, cv->n_folds * cv->n_repeats};
    karma_hooks quiet = {progress_of_fold, NULL, &own};
    karma_model *model = NULL;
    karma_status st = karma_search(&model, fold->train, fit, search, &quiet, err);
    if (st == KARMA_ERR_DATA) st = blame_fold(cv, err);
    if (st == KARMA_OK && karma_i_progress(hooks, "judging", cv->n_done, own.n_folds))
        st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted");
    if (st == KARMA_OK) st = judge_fold(cv, cover, visitor, model, fold, (size_t)fit->threads, err);
    if (st == KARMA_OK && cv->n_done == 0 && !model->search) { /* the same in all folds */
        karma_i_notice_idle_search(search, 1, hooks);
        karma_i_notice_idle_options(model, hooks);
    }
    if (st == KARMA_OK) {
        cv->n_cut_short += model->search && model->search->end != KARMA_SEARCH_COMPLETE;
        const char *kernel = model->task.options.kernel ? model->task.options.kernel : "linear";
        if (!(cv->kernels[cv->n_done] = karma_i_strdup(kernel))) st = karma_i_fail_memory(err);
    }
    karma_model_free(model);
    return st;
}

static void finish_sums(karma_cv *cv) {
    for (size_t t = 0; t < cv->n_targets; t++) {
        karma_cv_target *target = &cv->targets[t];
        for (int goal = 0; goal < KARMA_N_GOALS; goal++) {
            double n = (double)target->n_of[goal], folds = fmin(n, (double)cv->n_folds);
            double mean = target->mean_of[goal] / n, squares = target->error_of[goal] / n - mean * mean;
            target->mean_of[goal] = mean;
            target->error_of[goal] = n > 1.0 ? sqrt(fmax(0.0, squares) * n / (n - 1.0) / folds) : NAN;
        }
        target->mean = target->mean_of[target->goal];
        target->error = target->error_of[target->goal];
    }
}

/* The arrays; the numbers of folds and repeats are set. */
static karma_status new_cv(karma_cv *cv, const karma_i_task *task, karma_error *err) {
    size_t n_values = cv->n_folds * cv->n_repeats;
    cv->n_targets = task->n_heads;
    cv->targets = karma_i_zalloc(cv->n_targets, sizeof *cv->targets);
    cv->kernels = karma_i_zalloc(n_values, sizeof *cv->kernels);
    cv->coverages = karma_i_zalloc(cv->n_targets, sizeof *cv->coverages);
    if (!cv->targets || !cv->kernels || !cv->coverages) return karma_i_fail_memory(err);
    for (size_t t = 0; t < cv->n_targets; t++) {
        cv->targets[t].goal = karma_i_goal_of_target(cv->goal, task, t);
        cv->targets[t].values = karma_i_alloc(n_values, sizeof(double));
        cv->targets[t].majority = karma_i_alloc(n_values, sizeof(double));
        if (!cv->targets[t].values || !cv->targets[t].majority) return karma_i_fail_memory(err);
    }
    return KARMA_OK;
}

/* All folds of one repeat. */
static karma_status run_repeat(karma_cv *cv, covered *cover, const fold_visitor *visitor, const karma_i_folds *folds,
                               const karma_fit_options *fit, const karma_search_options *search,
                               const karma_hooks *hooks, karma_error *err) {
    karma_status st = KARMA_OK;
    for (size_t f = 0; st == KARMA_OK && f < folds->n_folds; f++) {
        karma_i_fold fold = {0};
        st = karma_i_fold_split(&fold, folds, f, err);
        if (st == KARMA_OK) st = run_fold(cv, cover, visitor, &fold, fit, search, hooks, err);
        if (st == KARMA_OK) cv->n_done++;
        karma_i_fold_clear(&fold);
    }
    return st;
}

static karma_status run_repeats(karma_cv *cv, const fold_visitor *visitor, const karma_i_task *task,
                                const karma_table *rows, const karma_fit_options *fit,
                                const karma_search_options *search, const karma_hooks *hooks, karma_error *err) {
    covered *cover = NULL;
    karma_status st = new_covered(&cover, cv, err);
    for (size_t r = 0; st == KARMA_OK && r < cv->n_repeats; r++) {
        karma_i_folds folds = {0};
        st = karma_i_folds_init(&folds, task, rows, cv->n_folds, 1, (uint64_t)fit->seed + r, 0, err);
        if (st == KARMA_OK) st = run_repeat(cv, cover, visitor, &folds, fit, search, hooks, err);
        karma_i_folds_clear(&folds);
    }
    if (st == KARMA_ERR_CANCELLED && cv->n_done > 0) st = KARMA_OK;
    if (st == KARMA_OK) finish_sums(cv);
    for (size_t t = 0; st == KARMA_OK && t < cv->n_targets; t++) {
        int has_rows = cover[t].rows && cover[t].n > 0;
        cv->coverages[t] =
            has_rows ? karma_i_coverage_of(cover[t].rows, cover[t].n, cv->coverages[t].level) : (karma_coverage){0};
    }
    clear_covered(cover, cv->n_targets);
    return st;
}

static karma_status validate_rows(karma_cv *cv, const fold_visitor *visitor, const karma_table *rows,
                                  const karma_fit_options *fit, const karma_search_options *search,
                                  const karma_hooks *hooks, karma_error *err) {
    karma_i_task task;
    karma_fit_options own = *fit; /* borrows its texts; the kind of the labels is fixed for all folds */
    KARMA_TRY(karma_i_task_learn(&task, rows, fit, hooks, err));
    cv->n_rows = rows->n_rows;
    if (own.task == KARMA_TASK_AUTO && task.n_heads == 1) own.task = (int)task.heads[0].labels.task;
    karma_status st = karma_i_goal_resolve(&cv->goal, (karma_goal)search->goal, &task, err);
    if (st == KARMA_OK) st = new_cv(cv, &task, err);
    if (st == KARMA_OK) st = run_repeats(cv, visitor, &task, rows, &own, search, hooks, err);
    karma_i_task_clear(&task);
    return st;
}

/* Room for the rows of a fold. */
static karma_status start_visits(fold_visitor *v, const karma_i_training *training, karma_error *err) {
    v->index = training->index;
    v->rows = karma_i_alloc(training->rows->n_rows, sizeof *v->rows);
    return v->rows ? KARMA_OK : karma_i_fail_memory(err);
}

karma_status karma_cross_validate_with(karma_cv *out, const karma_table *table, const karma_fit_options *fit,
                                       const karma_search_options *search, size_t folds, size_t repeats,
                                       karma_cv_fold_fn each, void *payload, const karma_hooks *hooks,
                                       karma_error *err) {
    karma_i_training training;
    karma_cv cv = {0};
    karma_fit_options own_fit;
    karma_search_options own_search;
    fold_visitor visitor = {.each = each, .payload = payload};
    KARMA_TRY(karma_i_table_check_whole(table, err));
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own_fit, fit, err));
    KARMA_TRY(karma_i_options_accept(karma_search_option_table(), &own_search, search, err));
    if (folds < 2 || repeats < 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "cross-validation takes at least 2 folds and 1 repeat");
    KARMA_TRY(karma_i_training_take(&training, table, own_fit.solver != KARMA_SOLVER_ONLINE, hooks, err));
    const karma_table *rows = training.rows;
    cv.n_folds = folds < rows->n_rows ? folds : rows->n_rows;
    cv.n_repeats = repeats;
    karma_status st = start_visits(&visitor, &training, err);
    if (st == KARMA_OK && rows->n_rows < 2)
        st = karma_i_fail(err, KARMA_ERR_DATA, "cross-validation needs at least two labelled rows");
    else if (st == KARMA_OK)
        st = validate_rows(&cv, &visitor, rows, &own_fit, &own_search, hooks, err);
    karma_i_free(visitor.rows);
    karma_i_training_clear(&training);
    if (st == KARMA_OK)
        *out = cv;
    else
        karma_cv_clear(&cv);
    return st;
}

karma_status karma_cross_validate(karma_cv *out, const karma_table *table, const karma_fit_options *fit,
                                  const karma_search_options *search, size_t folds, size_t repeats,
                                  const karma_hooks *hooks, karma_error *err) {
    return karma_cross_validate_with(out, table, fit, search, folds, repeats, NULL, NULL, hooks, err);
}
