#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "karma/evaluate.h"
#include "model/model.h"

void karma_metrics_clear(karma_metrics *metrics) {
    karma_i_free(metrics->confusion);
    metrics->confusion = NULL;
}

/* --- classification ------------------------------------------------------------------------------------ */

typedef struct scored {
    double score;
    int positive;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* The share of (positive, negative) pairs in the right order, ties counting half: the rank-sum statistic with
 * mid-ranks. NaN when one side is empty. Sorts its input. */
static double auc_of(scored *items, size_t n) {
    double n_positive = 0.0, rank_sum = 0.0;
    if (n > 1) qsort(items, n, sizeof *items, by_score);
    for (size_t first = 0; first < n;) {
        size_t end = first, positives = 0;
        for (; end < n && items[end].score == items[first].score; end++) positives += (size_t)items[end].positive;
        double mid_rank = 0.5 * (double)(first + end + 1);
        rank_sum += mid_rank * (double)positives;
        n_positive += (double)positives;
        first = end;
    }
    double n_negative = (double)n - n_positive;
    if (n_positive == 0.0 || n_negative == 0.0) return NAN;
    return (rank_sum - 0.5 * n_positive * (n_positive + 1.0)) / (n_positive * n_negative);
}

/* One output against the rest, over the labelled rows. */
static double auc_of_output(scored *items, const double *scores, size_t n_outputs, size_t output, size_t positive,
                            const size_t *truth, size_t n_rows, size_t n_classes) {
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (truth[i] < n_classes) items[n++] = (scored){scores[i * n_outputs + output], truth[i] == positive};
    return auc_of(items, n);
}

static double mean_auc(scored *items, const double *scores, size_t n_outputs, const size_t *truth, size_t n_rows,
                       size_t n_classes) {
    if (n_outputs == 1) return auc_of_output(items, scores, 1, 0, 1, truth, n_rows, n_classes);
    double sum = 0.0, n = 0.0;
    for (size_t k = 0; k < n_outputs; k++) {
        double auc = auc_of_output(items, scores, n_outputs, k, k, truth, n_rows, n_classes);
        if (!isnan(auc)) sum += auc, n += 1.0;
    }
    return n > 0.0 ? sum / n : NAN;
}

static size_t commonest_class(const karma_model *model) {
    size_t best = 0;
    for (size_t k = 1; k < model->labels.n_classes; k++)
        if (model->labels.class_count[k] > model->labels.class_count[best]) best = k;
    return best;
}

/* Everything that follows from the confusion matrix. */
static void rates_from_confusion(karma_metrics *m, size_t majority) {
    size_t K = m->n_classes;
    double n = (double)m->n_rows, right = 0.0, recall_sum = 0.0, n_present = 0.0, f1_sum = 0.0, n_f1 = 0.0;
    for (size_t k = 0; k < K; k++) {
        double hits = (double)m->confusion[k * K + k], truths = 0.0, claims = 0.0;
        for (size_t j = 0; j < K; j++) truths += (double)m->confusion[k * K + j];
        for (size_t j = 0; j <= K; j++) claims += (double)m->confusion[j * K + k];
        right += hits;
        if (truths > 0.0) recall_sum += hits / truths, n_present += 1.0;
        if (truths + claims > 0.0) f1_sum += 2.0 * hits / (truths + claims), n_f1 += 1.0;
        if (k == majority) m->majority = truths / n;
    }
    m->accuracy = right / n;
    m->balanced_accuracy = n_present > 0.0 ? recall_sum / n_present : NAN;
    m->f1 = n_f1 > 0.0 ? f1_sum / n_f1 : NAN;
}

/* Mean of -ln p(truth); NaN when the model has no probabilities. Labels unknown to it count as p = 1e-15. */
static double log_loss_of(const karma_model *model, const double *scores, const size_t *truth, const karma_table *table,
                          double *probabilities) {
    size_t n_outputs = karma_model_n_outputs(model), n_classes = model->labels.n_classes, n = 0;
    double sum = 0.0, value;
    for (size_t i = 0; i < karma_table_n_rows(table); i++) {
        if (!karma_table_target(table, 0, i, &value)) continue;
        if (!karma_model_probabilities(model, scores + i * n_outputs, probabilities)) return NAN;
        double p = truth[i] < n_classes ? probabilities[truth[i]] : 0.0;
        sum -= log(fmax(p, 1e-15));
        n++;
    }
    return sum / (double)n;
}

static karma_status evaluate_classes(karma_metrics *m, const karma_model *model, const karma_table *table,
                                     const double *scores, karma_error *err) {
    size_t n_rows = karma_table_n_rows(table), K = model->labels.n_classes, n_outputs = karma_model_n_outputs(model);
    size_t *truth = karma_i_alloc(n_rows, sizeof *truth);
    scored *items = karma_i_alloc(n_rows, sizeof *items);
    double *probabilities = karma_i_alloc(K, sizeof *probabilities), value;
    m->n_classes = K;
    m->confusion = karma_i_zalloc(K + 1, K * sizeof *m->confusion);
    karma_status st = truth && items && probabilities && m->confusion
                          ? karma_i_labels_classes(truth, &model->labels, table, err)
                          : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        for (size_t i = 0; i < n_rows; i++)
            if (karma_table_target(table, 0, i, &value))
                m->confusion[truth[i] * K + karma_model_decide(model, scores + i * n_outputs)]++;
        rates_from_confusion(m, commonest_class(model));
        m->auc = mean_auc(items, scores, n_outputs, truth, n_rows, K);
        m->log_loss = log_loss_of(model, scores, truth, table, probabilities);
    }
    karma_i_free(truth);
    karma_i_free(items);
    karma_i_free(probabilities);
    return st;
}

/* --- regression ---------------------------------------------------------------------------------------- */

static void evaluate_numbers(karma_metrics *m, const karma_model *model, const karma_table *table,
                             const double *scores) {
    double n = (double)m->n_rows, mean = 0.0, absolute = 0.0, squared = 0.0, total = 0.0, y;
    double base_absolute = 0.0, base_squared = 0.0;
    for (size_t i = 0; i < karma_table_n_rows(table); i++)
        if (karma_table_target(table, 0, i, &y)) mean += y / n;
    for (size_t i = 0; i < karma_table_n_rows(table); i++) {
        if (!karma_table_target(table, 0, i, &y)) continue;
        double error = scores[i] - y, base = model->target_mean - y;
        absolute += fabs(error);
        squared += error * error;
        total += (y - mean) * (y - mean);
        base_absolute += fabs(base);
        base_squared += base * base;
    }
    m->mae = absolute / n;
    m->rmse = sqrt(squared / n);
    m->r2 = total > 0.0 ? 1.0 - squared / total : NAN;
    m->baseline_mae = base_absolute / n;
    m->baseline_rmse = sqrt(base_squared / n);
}

static karma_status check_target(const karma_model *model, const karma_table *table, karma_error *err) {
    if (karma_table_n_targets(table) == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no column '%s' to compare with", model->target_name);
    if (karma_table_n_targets(table) > 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "several targets cannot be compared with yet: name one");
    if (karma_table_weight_name(table))
        return karma_i_fail(err, KARMA_ERR_OPTION, "row weights cannot be evaluated with yet");
    return KARMA_OK;
}

karma_status karma_evaluate(karma_metrics *out, const karma_model *model, const karma_table *table,
                            const double *scores, karma_error *err) {
    karma_metrics m = {.accuracy = NAN,
                       .majority = NAN,
                       .balanced_accuracy = NAN,
                       .f1 = NAN,
                       .auc = NAN,
                       .log_loss = NAN,
                       .mae = NAN,
                       .rmse = NAN,
                       .r2 = NAN,
                       .baseline_mae = NAN,
                       .baseline_rmse = NAN};
    double value;
    KARMA_TRY(check_target(model, table, err));
    for (size_t i = 0; i < karma_table_n_rows(table); i++) m.n_rows += karma_table_target(table, 0, i, &value) != 0;
    m.n_left_out = karma_table_n_rows(table) - m.n_rows;
    if (m.n_rows == 0) return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label to compare with");
    karma_status st = KARMA_OK;
    if (model->labels.task == KARMA_TASK_CLASSIFY)
        st = evaluate_classes(&m, model, table, scores, err);
    else if (karma_table_target_kind(table, 0) != KARMA_COLUMN_NUMBER)
        st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds text, but the model predicts numbers",
                          karma_table_target_name(table, 0));
    else
        evaluate_numbers(&m, model, table, scores);
    if (st == KARMA_OK)
        *out = m;
    else
        karma_metrics_clear(&m);
    return st;
}
