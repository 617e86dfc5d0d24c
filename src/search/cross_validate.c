/* How good a way of learning is, on rows that had no part in it. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "karma/search.h"
#include "search/goal.h"
#include "table/folds.h"

void karma_cv_clear(karma_cv *cv) {
    for (size_t t = 0; cv->targets && t < cv->n_targets; t++) {
        karma_i_free(cv->targets[t].values);
        karma_i_free(cv->targets[t].majority);
    }
    for (size_t f = 0; cv->kernels && f < cv->n_folds * cv->n_repeats; f++) karma_i_free(cv->kernels[f]);
    karma_i_free(cv->targets);
    karma_i_free(cv->kernels);
    *cv = (karma_cv){0};
}

/* A progress line that tells the fold before what is done in it. */
typedef struct fold_hooks {
    const karma_hooks *hooks;
    size_t fold, n_folds;
} fold_hooks;

static int progress_of_fold(void *payload, const char *stage, size_t done, size_t total) {
    const fold_hooks *f = payload;
    char line[256];
    (void)snprintf(line, sizeof line, "part %zu of %zu: %.200s", f->fold + 1, f->n_folds, stage);
    return karma_i_progress(f->hooks, line, done, total);
}

/* What a constant answer reaches by the goal on the rows that `m` is about. */
static double constant_value(const karma_metrics *m, karma_goal goal) {
    switch (goal) {
    case KARMA_GOAL_ACCURACY:
        return m->majority;
    case KARMA_GOAL_BALANCED_ACCURACY:
        return 1.0 / (double)m->n_classes;
    case KARMA_GOAL_AUC:
        return 0.5;
    case KARMA_GOAL_MAE:
        return m->baseline_mae;
    case KARMA_GOAL_RMSE:
        return m->baseline_rmse;
    case KARMA_GOAL_R2:
        /* 1 - r2 = rmse²/spread */
        return 1.0 - m->baseline_rmse * m->baseline_rmse * (1.0 - m->r2) / (m->rmse * m->rmse);
    case KARMA_GOAL_LOG_LOSS:
    case KARMA_GOAL_F1:
    case KARMA_GOAL_PINBALL:
    case KARMA_GOAL_AUTO:
    case KARMA_N_GOALS:
        break;
    }
    return NAN;
}

/* Running sums of every goal. */
static void add_goals(karma_cv_target *target, const karma_metrics *m) {
    for (int goal = 0; goal < KARMA_N_GOALS; goal++) {
        double value = karma_i_goal_of(m, (karma_goal)goal);
        if (isnan(value)) continue;
        target->n_of[goal]++;
        target->mean_of[goal] += value;
        target->error_of[goal] += value * value;
    }
}

static karma_status judge_fold(karma_cv *cv, const karma_model *model, const karma_table *test, size_t threads,
                               karma_error *err) {
    double *scores = karma_i_alloc(test->n_rows, model->n_outputs * sizeof *scores);
    karma_status st = scores ? karma_predict(scores, model, test, threads, NULL, err) : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < cv->n_targets; t++) {
        karma_metrics metrics;
        karma_goal goal = cv->targets[t].goal;
        cv->targets[t].values[cv->n_done] = cv->targets[t].majority[cv->n_done] = NAN;
        if (!karma_i_goal_has_labels(test, t)) continue;
        st = karma_evaluate(&metrics, model, t, test, scores, err);
        if (st != KARMA_OK) break;
        cv->targets[t].values[cv->n_done] = karma_i_goal_of(&metrics, goal);
        cv->targets[t].majority[cv->n_done] = constant_value(&metrics, goal);
        add_goals(&cv->targets[t], &metrics);
        karma_metrics_clear(&metrics);
    }
    karma_i_free(scores);
    return st;
}

/* What is wrong with the rows that are left need not be wrong with all of them. */
static karma_status blame_part(const karma_cv *cv, karma_error *err) {
    if (!err) return KARMA_ERR_DATA;
    karma_error cause = *err;
    return karma_i_fail(err, cause.status, "with part %zu of %zu of the rows left out: %s",
                        cv->n_done % cv->n_folds + 1, cv->n_folds, cause.message);
}

static karma_status run_fold(karma_cv *cv, const size_t *fold, const karma_table *table, const karma_fit_options *fit,
                             const karma_search_options *search, const karma_hooks *hooks, karma_error *err) {
    size_t n = table->n_rows, n_train, n_test;
    fold_hooks own = {hooks, cv->n_done, cv->n_folds * cv->n_repeats};
    karma_hooks quiet = {progress_of_fold, NULL, &own};
    size_t *train = karma_i_alloc(n, sizeof *train), *test = karma_i_alloc(n, sizeof *test);
    karma_table *train_rows = NULL, *test_rows = NULL;
    karma_model *model = NULL;
    karma_status st = train && test ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_folds_split(train, &n_train, test, &n_test, fold, n, cv->n_done % cv->n_folds);
        st = karma_table_select(&train_rows, table, train, n_train, err);
    }
    if (st == KARMA_OK) st = karma_table_select(&test_rows, table, test, n_test, err);
    if (st == KARMA_OK) {
        st = karma_search(&model, train_rows, fit, search, &quiet, err);
        if (st == KARMA_ERR_DATA) st = blame_part(cv, err);
    }
    if (st == KARMA_OK && karma_i_progress(hooks, "judging", cv->n_done, own.n_folds))
        st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted");
    if (st == KARMA_OK) st = judge_fold(cv, model, test_rows, (size_t)fit->threads, err);
    if (st == KARMA_OK) {
        const char *kernel = model->options.kernel ? model->options.kernel : "linear";
        if (!(cv->kernels[cv->n_done] = karma_i_strdup(kernel))) st = karma_i_fail_memory(err);
    }
    karma_model_free(model);
    karma_table_free(train_rows);
    karma_table_free(test_rows);
    karma_i_free(train);
    karma_i_free(test);
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

static karma_status new_cv(karma_cv *cv, const karma_model *like, size_t n_folds, size_t n_repeats, karma_error *err) {
    cv->n_folds = n_folds;
    cv->n_repeats = n_repeats;
    cv->n_targets = like->n_heads;
    cv->targets = karma_i_zalloc(cv->n_targets, sizeof *cv->targets);
    cv->kernels = karma_i_zalloc(n_folds * n_repeats, sizeof *cv->kernels);
    if (!cv->targets || !cv->kernels) return karma_i_fail_memory(err);
    for (size_t t = 0; t < cv->n_targets; t++) {
        cv->targets[t].goal = karma_i_goal_of_target(cv->goal, like, t);
        cv->targets[t].values = karma_i_alloc(n_folds * n_repeats, sizeof(double));
        cv->targets[t].majority = karma_i_alloc(n_folds * n_repeats, sizeof(double));
        if (!cv->targets[t].values || !cv->targets[t].majority) return karma_i_fail_memory(err);
    }
    return KARMA_OK;
}

static karma_status validate_rows(karma_cv *cv, const karma_table *rows, const karma_fit_options *fit,
                                  const karma_search_options *search, size_t n_folds, size_t n_repeats,
                                  const karma_hooks *hooks, karma_error *err) {
    karma_model *like = NULL;
    size_t *fold = karma_i_alloc(rows->n_rows, sizeof *fold);
    karma_status st = fold ? karma_i_model_start(&like, rows, fit, hooks, err) : karma_i_fail_memory(err);
    karma_fit_options own = *fit; /* borrows its texts; what the labels are is settled for all folds */
    if (n_folds > rows->n_rows) n_folds = rows->n_rows;
    if (st == KARMA_OK) {
        cv->n_rows = rows->n_rows;
        if (own.task == KARMA_TASK_AUTO && like->n_heads == 1) own.task = (int)like->heads[0].labels.task;
        st = karma_i_goal_resolve(&cv->goal, (karma_goal)search->goal, like, err);
    }
    if (st == KARMA_OK) st = new_cv(cv, like, n_folds, n_repeats, err);
    while (st == KARMA_OK && cv->n_done < n_folds * n_repeats) {
        if (cv->n_done % n_folds == 0)
            st = karma_i_assign_folds(fold, n_folds, like, rows, (uint64_t)fit->seed + cv->n_done / n_folds, err);
        if (st == KARMA_OK) st = run_fold(cv, fold, rows, &own, search, hooks, err);
        if (st == KARMA_OK) cv->n_done++;
    }
    if (st == KARMA_ERR_CANCELLED && cv->n_done > 0) st = KARMA_OK;
    if (st == KARMA_OK) finish_sums(cv);
    karma_model_free(like);
    karma_i_free(fold);
    return st;
}

karma_status karma_cross_validate(karma_cv *out, const karma_table *table, const karma_fit_options *fit,
                                  const karma_search_options *search, size_t folds, size_t repeats,
                                  const karma_hooks *hooks, karma_error *err) {
    karma_table *labelled = NULL;
    karma_cv cv = {0};
    KARMA_TRY(karma_options_check(karma_fit_option_table(), fit, err));
    KARMA_TRY(karma_options_check(karma_search_option_table(), search, err));
    if (folds < 2 || repeats < 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "cross-validation takes at least 2 folds and 1 repeat");
    KARMA_TRY(karma_i_labelled_rows(&labelled, table, hooks, err));
    const karma_table *rows = labelled ? labelled : table;
    karma_status st;
    if (rows->n_rows < 2)
        st = karma_i_fail(err, KARMA_ERR_DATA, "one row cannot be left out of itself");
    else
        st = validate_rows(&cv, rows, fit, search, folds, repeats, hooks, err);
    karma_table_free(labelled);
    if (st == KARMA_OK)
        *out = cv;
    else
        karma_cv_clear(&cv);
    return st;
}
