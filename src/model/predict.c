/* Model + table -> scores, and predictions from scores. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/threads.h"
#include "model/answers.h"
#include "model/certain_answers.h"
#include "model/model.h"

/* Kernel values beyond single precision give scores that are NaN, which cannot be used for decisions. */
static karma_status check_scores(const double *scores, size_t n_rows, size_t n_outputs, karma_error *err) {
    for (size_t i = 0; i < n_rows * n_outputs; i++)
        if (!isfinite(scores[i]))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: its score is not a finite number", i / n_outputs + 1);
    return KARMA_OK;
}

karma_status karma_i_model_scores(double *scores, const karma_model *model, const karma_i_rows *rows, int threads,
                                  karma_error *err) {
    size_t n = rows->n_rows * model->task.n_outputs;
    double *own = model->n_members > 1 ? karma_i_alloc(n, sizeof *own) : scores;
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t m = 0; st == KARMA_OK && m < model->n_members; m++) {
        const karma_i_member *member = &model->members[m];
        st = karma_i_kernel_scores(m ? own : scores, &member->kernel, karma_i_rows_all(rows),
                                   karma_i_rows_all(model->support), member->coefficients, model->task.n_outputs,
                                   threads, err);
        for (size_t i = 0; m && st == KARMA_OK && i < n; i++) scores[i] += own[i];
    }
    if (own != scores) karma_i_free(own);
    return st == KARMA_OK ? check_scores(scores, rows->n_rows, model->task.n_outputs, err) : st;
}

static karma_status predict_rows(double *scores, const karma_model *model, const karma_i_rows *rows, int threads,
                                 karma_error *err) {
    KARMA_TRY(karma_i_model_scores(scores, model, rows, threads, err));
    karma_i_finish_scores(scores, &model->task, rows->n_rows);
    return check_scores(scores, rows->n_rows, model->task.n_outputs, err);
}

karma_status karma_predict(double *scores, const karma_model *model, const karma_table *table, size_t threads,
                           const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *rows = NULL;
    size_t n = karma_table_n_rows(table) * model->task.n_outputs;
    KARMA_TRY(karma_i_encoder_check_matrix(&model->encoder, model->info.n_columns, table, err));
    KARMA_TRY(karma_i_encoder_apply(&rows, &model->encoder, table, hooks, err));
    double *own = karma_i_alloc(n, sizeof *own); /* a failure leaves the caller's as they were */
    karma_status st =
        own ? predict_rows(own, model, rows, karma_i_threads((int64_t)threads), err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_correct_quantiles(own, model, table, err);
    if (st == KARMA_OK && n) memcpy(scores, own, n * sizeof *scores);
    karma_i_free(own);
    karma_i_rows_free(rows);
    return st;
}

int karma_model_has_probabilities(const karma_model *model, size_t target) {
    return karma_i_head_has_probabilities(&model->task.heads[target]);
}

int karma_model_probabilities(const karma_model *model, size_t target, const double *scores, double *probabilities) {
    return karma_i_head_probabilities(probabilities, &model->task.heads[target], scores);
}

size_t karma_model_decide(const karma_model *model, size_t target, const double *scores) {
    return karma_i_head_decide(&model->task.heads[target], scores);
}

double karma_model_number(const karma_model *model, size_t target, const double *scores) {
    return karma_i_head_number(&model->task.heads[target], scores);
}
