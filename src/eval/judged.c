#include "eval/judged.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "karma/evaluate.h"
#include "model/answers.h"
#include "model/model.h"

void karma_i_judged_clear(karma_i_judged *judged) {
    karma_i_free(judged->weights);
    karma_i_free(judged->truth);
    karma_i_free(judged->counts);
    karma_i_free(judged->confusion);
    karma_i_free(judged->probabilities);
    karma_i_free(judged->ranked);
    karma_i_free(judged->quantiles);
    *judged = (karma_i_judged){0};
}

static karma_status find_labels(const karma_i_target **out, const karma_i_task *task, size_t target,
                                const karma_table *table, karma_error *err) {
    const char *name = task->heads[target].name;
    for (size_t t = 0; t < table->n_targets; t++)
        if (strcmp(table->targets[t].column.name, name) == 0) {
            *out = &table->targets[t];
            return KARMA_OK;
        }
    if (table->n_targets == 1 && task->n_heads == 1) {
        *out = &table->targets[0];
        return KARMA_OK;
    }
    return karma_i_fail(err, KARMA_ERR_DATA, "the data have no column '%s' to compare with", name);
}

static karma_status weigh_rows(karma_i_judged *j, const karma_table *table, karma_error *err) {
    j->weights = karma_i_alloc(j->n_rows, sizeof *j->weights);
    if (!j->weights) return karma_i_fail_memory(err);
    for (size_t i = 0; i < j->n_rows; i++) {
        int has_label = !isnan(j->labels[i]);
        j->n_labelled += has_label ? 1 : 0;
        j->weights[i] = has_label ? karma_table_row_weight(table, i) : 0.0;
        j->total += j->weights[i];
    }
    if (j->n_labelled == 0) return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label to compare with");
    if (!(j->total > 0.0)) return karma_i_fail(err, KARMA_ERR_DATA, "no row that has a label has a weight above 0");
    return KARMA_OK;
}

/* Scores that are NaN have no order, and sorting by them might not end. */
static karma_status check_scores(const karma_i_judged *j, karma_error *err) {
    for (size_t i = 0; i < j->n_rows; i++)
        for (size_t k = 0; k < j->head->n_outputs; k++)
            if (!isnan(j->labels[i]) && !isfinite(karma_i_judged_scores(j, i)[j->head->first_output + k]))
                return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: its score is not a finite number", i + 1);
    return KARMA_OK;
}

/* --- classes ------------------------------------------------------------------------------------------- */

static void fill_confusion(karma_i_judged *j) {
    size_t K = j->head->labels.n_classes;
    for (size_t i = 0; i < j->n_rows; i++) {
        if (isnan(j->labels[i])) continue;
        size_t cell = j->truth[i] * K + karma_i_head_decide(j->head, karma_i_judged_scores(j, i));
        j->counts[cell]++;
        j->confusion[cell] += j->weights[i];
    }
}

static karma_status fill_probabilities(karma_i_judged *j, karma_error *err) {
    size_t K = j->head->labels.n_classes;
    if (!karma_i_head_has_probabilities(j->head)) return KARMA_OK;
    j->probabilities = karma_i_alloc(j->n_rows, K * sizeof *j->probabilities);
    if (!j->probabilities) return karma_i_fail_memory(err);
    for (size_t i = 0; i < j->n_rows; i++)
        (void)karma_i_head_probabilities(j->probabilities + i * K, j->head, karma_i_judged_scores(j, i));
    return KARMA_OK;
}

static karma_status fill_classes(karma_i_judged *j, const karma_i_target *labels, karma_error *err) {
    size_t K = j->head->labels.n_classes;
    j->truth = karma_i_alloc(j->n_rows, sizeof *j->truth);
    j->counts = karma_i_zalloc(K + 1, K * sizeof *j->counts);
    j->confusion = karma_i_zalloc(K + 1, K * sizeof *j->confusion);
    j->ranked = karma_i_alloc(j->n_rows, sizeof *j->ranked);
    if (!j->truth || !j->counts || !j->confusion || !j->ranked) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_labels_classes(j->truth, &j->head->labels, labels, j->n_rows, err));
    fill_confusion(j);
    return fill_probabilities(j, err);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

static karma_status fail_texts(const karma_i_target *labels, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds text, but the model predicts numbers",
                        labels->column.name);
}

static karma_status fill_numbers(karma_i_judged *j, const karma_i_target *labels, karma_error *err) {
    size_t n = j->n_rows, Q = j->head->n_quantiles;
    if (labels->column.kind != KARMA_COLUMN_NUMBER) return fail_texts(labels, err);
    if (Q == 0) return KARMA_OK;
    j->quantiles = karma_i_alloc(n, Q * sizeof *j->quantiles);
    if (!j->quantiles) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t q = 0; q < Q; q++) j->quantiles[q * n + i] = karma_i_judged_scores(j, i)[j->head->first_output + q];
    return KARMA_OK;
}

karma_status karma_i_judged_init(karma_i_judged *out, const karma_i_task *task, size_t target, const karma_table *table,
                                 const double *scores, karma_error *err) {
    const karma_i_target *labels;
    KARMA_TRY(find_labels(&labels, task, target, table, err));
    karma_i_judged j = {.head = &task->heads[target],
                        .n_rows = table->n_rows,
                        .labels = labels->value,
                        .scores = scores,
                        .stride = task->n_outputs};
    karma_status st = weigh_rows(&j, table, err);
    if (st == KARMA_OK) st = check_scores(&j, err);
    if (st == KARMA_OK)
        st = j.head->labels.task == KARMA_TASK_CLASSIFY ? fill_classes(&j, labels, err) : fill_numbers(&j, labels, err);
    if (st == KARMA_OK)
        *out = j;
    else
        karma_i_judged_clear(&j);
    return st;
}

karma_status karma_model_labels(double *labels, const karma_model *model, size_t target, const karma_table *table,
                                karma_error *err) {
    const karma_i_target *own;
    const karma_i_labels *known = &model->task.heads[target].labels;
    KARMA_TRY(find_labels(&own, &model->task, target, table, err));
    if (known->task == KARMA_TASK_REGRESS) {
        if (own->column.kind != KARMA_COLUMN_NUMBER) return fail_texts(own, err);
        for (size_t i = 0; i < table->n_rows; i++) labels[i] = own->value[i];
        return KARMA_OK;
    }
    size_t *classes = karma_i_alloc(table->n_rows, sizeof *classes);
    karma_status st =
        classes ? karma_i_labels_classes(classes, known, own, table->n_rows, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++)
        labels[i] = isnan(own->value[i]) ? NAN : (double)classes[i];
    karma_i_free(classes);
    return st;
}
