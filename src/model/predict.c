/* Model + table -> scores, and what scores say. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "solve/solver.h"

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers back into the target's units. Quantiles that cross are put in order, which never makes them worse
 * (Chernozhukov, Fernández-Val and Galichon, Quantile and probability curves without crossing, 2010). */
static void finish_numbers(double *scores, const karma_i_head *head) {
    for (size_t o = 0; o < head->n_outputs; o++) scores[o] = scores[o] / head->labels.factor + head->labels.shift;
    if (head->n_outputs > 1) qsort(scores, head->n_outputs, sizeof *scores, by_value);
}

void karma_i_finish_scores(double *scores, const karma_model *model, size_t n_rows) {
    for (size_t t = 0; t < model->n_heads; t++) {
        const karma_i_head *head = &model->heads[t];
        if (head->labels.task != KARMA_TASK_REGRESS) continue;
        for (size_t i = 0; i < n_rows; i++) finish_numbers(scores + i * model->n_outputs + head->first_output, head);
    }
}

karma_status karma_i_model_scores(double *scores, const karma_model *model, const karma_i_rows *rows, int threads,
                                  karma_error *err) {
    size_t n = rows->n_rows * model->n_outputs;
    double *own = model->n_members > 1 ? karma_i_alloc(n, sizeof *own) : scores;
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t m = 0; st == KARMA_OK && m < model->n_members; m++) {
        const karma_i_member *member = &model->members[m];
        st = karma_i_kernel_scores(m ? own : scores, &member->kernel, karma_i_rows_all(rows),
                                   karma_i_rows_all(model->support), member->coefficients, model->n_outputs, threads,
                                   err);
        for (size_t i = 0; m && st == KARMA_OK && i < n; i++) scores[i] += own[i];
    }
    if (own != scores) karma_i_free(own);
    return st;
}

karma_status karma_predict(double *scores, const karma_model *model, const karma_table *table, size_t threads,
                           const karma_hooks *hooks, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_encoder_apply(&rows, &model->encoder, table, hooks, err));
    karma_status st = karma_i_model_scores(scores, model, rows, karma_i_threads((int64_t)threads), err);
    karma_i_rows_free(rows);
    if (st == KARMA_OK) karma_i_finish_scores(scores, model, karma_table_n_rows(table));
    return st;
}

/* Without calibration only the logistic loss fits probabilities: σ(z) for two classes; for more, the classes' own
 * σ(z_k) made to sum to 1. */
static void logistic_probabilities(double *probabilities, const double *scores, size_t n) {
    double sum = 0.0;
    if (n == 2) {
        probabilities[1] = 1.0 / (1.0 + exp(-scores[0]));
        probabilities[0] = 1.0 / (1.0 + exp(scores[0]));
        return;
    }
    for (size_t k = 0; k < n; k++) sum += probabilities[k] = 1.0 / (1.0 + exp(-scores[k]));
    for (size_t k = 0; k < n; k++) probabilities[k] = sum > 0.0 ? probabilities[k] / sum : 1.0 / (double)n;
}

int karma_model_has_probabilities(const karma_model *model, size_t target) {
    const karma_i_head *head = &model->heads[target];
    return head->calibration.kind != KARMA_CALIBRATE_OFF || head->loss == KARMA_LOSS_LOGISTIC;
}

int karma_model_probabilities(const karma_model *model, size_t target, const double *scores, double *probabilities) {
    const karma_i_head *head = &model->heads[target];
    if (head->calibration.kind != KARMA_CALIBRATE_OFF)
        karma_i_calibration_apply(&head->calibration, scores + head->first_output, probabilities);
    else if (head->loss == KARMA_LOSS_LOGISTIC)
        logistic_probabilities(probabilities, scores + head->first_output, head->labels.n_classes);
    else
        return 0;
    return 1;
}

size_t karma_model_decide(const karma_model *model, size_t target, const double *scores) {
    const karma_i_head *head = &model->heads[target];
    if (head->calibration.kind != KARMA_CALIBRATE_OFF)
        return karma_i_calibration_decide(&head->calibration, scores + head->first_output);
    return karma_i_decide(scores + head->first_output, head->n_outputs);
}

double karma_model_number(const karma_model *model, size_t target, const double *scores) {
    const karma_i_head *head = &model->heads[target];
    size_t middle = 0;
    for (size_t q = 1; q < head->n_quantiles; q++)
        if (fabs(head->quantiles[q] - 0.5) < fabs(head->quantiles[middle] - 0.5)) middle = q;
    return scores[head->first_output + middle];
}
