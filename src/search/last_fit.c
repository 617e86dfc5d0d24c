#include "search/last_fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "model/probabilities.h"
#include "search/verdict.h"
#include "table/table_split.h"

/* One above this may show in predictions. */
static const double MOST_SILENT_GAP = 0.02;

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

/* --- a model of the sample --------------------------------------------------------------------------------- */

/* A model that fails the check is replaced by a model of the sample, learned like the candidates. This fit is
 * not stopped. */
static karma_status fit_sample(karma_model **out, const karma_i_last_fit *f, karma_error *err) {
    karma_i_fit_settings how = {KARMA_SOLVER_BATCH, INFINITY, 0, NULL};
    return karma_i_choice_fit(out, f, f->race->table, &how, err);
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

static void warn_of_refusal(const karma_i_last_fit *f, const karma_i_fit_check *c) {
    double sign = karma_i_goal_sign(f->judge->goal);
    karma_i_notice(f->hooks,
                   "warning: learning from all %zu rows gave a worse model (%s %.4g, where models of the search had "
                   "%.4g on the same rows), so the model was learned from a random sample of %zu rows. To use all "
                   "rows, %s",
                   karma_i_table_n_all(f->rows), karma_i_goal_name(f->judge->goal), sign * c->value,
                   sign * (c->value - c->lead), f->race->table->n_rows,
                   isfinite(f->deadline) ? "allow more time (option 'time')"
                                         : "try option 'effort=off' with your own option 'kernel' and option 'C'");
}

/* --- the whole --------------------------------------------------------------------------------------------- */

/* If time is limited, enough must be left for a model of the sample in case the first models fail the
 * check. */
static karma_status fit_checked(karma_model **out, karma_search_info *info, karma_i_last_fit *f, karma_error *err) {
    karma_i_fold split = {0};
    karma_table *some = NULL;
    karma_i_tried first = {0}, second = {0};
    karma_i_verdict v = {0};
    double of_all = f->deadline;
    f->deadline -= fmin(sample_seconds(f), 0.5 * (of_all - karma_i_now()));
    karma_status st = karma_i_verdict_split(&split, &some, f, err);
    const karma_table *rows = some ? some : split.train;
    if (st == KARMA_OK) st = karma_i_verdict_try(&first, &second, f, rows, split.train, err);
    f->deadline = of_all;
    if (st == KARMA_OK) st = karma_i_verdict_decide(&v, f, &first, &second, err);
    karma_model *model = NULL;
    if (st == KARMA_OK && v.best)
        st = karma_i_verdict_learn(&model, &v, f, split.train, rows, err);
    else if (st == KARMA_OK) {
        warn_of_refusal(f, &first.check); /* no check is recorded: it was of another model */
        st = fit_sample(&model, f, err);
    }
    const karma_i_fit_check *check = st == KARMA_OK && v.best ? karma_i_verdict_check(&v) : NULL;
    if (st == KARMA_OK) st = finish_model(model, f, check ? check->scores : NULL, err);
    if (st == KARMA_OK && check) karma_i_fit_check_record(info, check, f);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    karma_i_verdict_clear(&v);
    karma_i_tried_clear(&first);
    karma_i_tried_clear(&second);
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
    karma_i_fit_settings how = {f->task->options.solver, f->deadline, 0, NULL};
    karma_model *model = NULL;
    *contender_won = 0;
    if (f->samples) {
        karma_i_last_fit better = *f;
        KARMA_TRY(fit_checked(out, info, &better, err));
        warn_of_gap(f, *out);
        *contender_won = f->contender && karma_i_plan_equal(&(*out)->plan, f->contender);
        return KARMA_OK;
    }
    KARMA_TRY(karma_i_choice_fit(&model, f, f->rows, &how, err));
    warn_of_gap(f, model);
    karma_status st = finish_model(model, f, NULL, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
