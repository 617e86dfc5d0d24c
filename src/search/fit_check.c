#include "search/fit_check.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

/* A difference of up to this many standard errors may be chance, since the choice is the best of many candidates
 * on these rows: honest models were up to 2.9 behind it. */
static const double NOISE = 3.5;

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
static karma_status compare_rows(karma_i_fit_check *c, const karma_i_last_fit *f, karma_error *err) {
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

karma_status karma_i_fit_check_compare(karma_i_fit_check *c, const karma_i_last_fit *f, karma_error *err) {
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
static int is_worse(const karma_i_fit_check *c, const karma_i_last_fit *f) {
    int is_behind = karma_i_goal_is_mean(f->judge->goal) ? c->behind > NOISE * c->behind_error
                                                         : c->lead < -fmax(NOISE * c->lead_error, c->error);
    return is_behind || (c->value < c->constant && c->value - c->lead >= c->constant);
}

karma_status karma_i_fit_check_model(int *passed, karma_i_fit_check *c, const karma_model *model,
                                     const karma_i_last_fit *f, karma_error *err) {
    const karma_table *sample = f->race->table;
    if (!c->scores) c->scores = karma_i_alloc(sample->n_rows, f->race->task->n_outputs * sizeof *c->scores);
    if (!c->scores) return karma_i_fail_memory(err);
    KARMA_TRY(karma_predict(c->scores, model, sample, (size_t)f->task->options.threads, NULL, err));
    KARMA_TRY(karma_i_fit_check_compare(c, f, err));
    c->n_learned = model->info.n_rows;
    *passed = !is_worse(c, f);
    return KARMA_OK;
}

void karma_i_fit_check_record(karma_search_info *info, const karma_i_fit_check *c, const karma_i_last_fit *f) {
    double sign = karma_i_goal_sign(f->judge->goal);
    info->n_checked = f->race->table->n_rows;
    info->n_check_learned = c->n_learned;
    info->check_score = sign * c->value;
    info->check_error = isfinite(c->error) ? c->error : NAN;
}
