#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "eval/reliability.h"
#include "karma/evaluate.h"
#include "model/model.h"

void karma_metrics_clear(karma_metrics *metrics) {
    karma_i_free(metrics->confusion);
    karma_i_free(metrics->pinball);
    karma_i_free(metrics->coverage);
    metrics->confusion = NULL;
    metrics->pinball = metrics->coverage = NULL;
}

/* One target of a model beside the labels of a table. */
typedef struct comparison {
    const karma_model *model;
    size_t target; /* of the model */
    const karma_i_head *head;
    const karma_i_target *labels;
    const karma_table *table;
    size_t n_rows;
    const double *scores;
    size_t stride;
} comparison;

static double weight_of(const comparison *c, size_t row) {
    return isnan(c->labels->value[row]) ? 0.0 : karma_table_row_weight(c->table, row);
}
static const double *scores_of(const comparison *c, size_t row) {
    return c->scores + row * c->stride;
}

/* --- classification ------------------------------------------------------------------------------------ */

typedef struct scored {
    double score, weight;
    int positive;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x > y) - (x < y);
}

/* The share of (positive, negative) pairs in the right order, ties counting half. NaN when one side is empty. Sorts its
 * input. */
static double auc_of(scored *items, size_t n) {
    double positive = 0.0, negative = 0.0, right = 0.0;
    if (n > 1) qsort(items, n, sizeof *items, by_score);
    for (size_t first = 0, end = 0; first < n; first = end) {
        double tied_positive = 0.0, tied_negative = 0.0;
        for (; end < n && items[end].score == items[first].score; end++)
            *(items[end].positive ? &tied_positive : &tied_negative) += items[end].weight;
        right += tied_positive * (negative + 0.5 * tied_negative);
        positive += tied_positive;
        negative += tied_negative;
    }
    return positive > 0.0 && negative > 0.0 ? right / (positive * negative) : NAN;
}

/* One output against the rest, over the rows whose class the model knows. */
static double auc_of_output(scored *items, const comparison *c, const size_t *truth, size_t output, size_t positive) {
    size_t n = 0;
    for (size_t i = 0; i < c->n_rows; i++)
        if (truth[i] < c->head->labels.n_classes)
            items[n++] =
                (scored){scores_of(c, i)[c->head->first_output + output], weight_of(c, i), truth[i] == positive};
    return auc_of(items, n);
}

static double mean_auc(scored *items, const comparison *c, const size_t *truth) {
    if (c->head->n_outputs == 1) return auc_of_output(items, c, truth, 0, 1);
    double sum = 0.0, n = 0.0;
    for (size_t k = 0; k < c->head->n_outputs; k++) {
        double auc = auc_of_output(items, c, truth, k, k);
        if (!isnan(auc)) sum += auc, n += 1.0;
    }
    return n > 0.0 ? sum / n : NAN;
}

static size_t commonest_class(const karma_i_labels *labels) {
    size_t best = 0;
    for (size_t k = 1; k < labels->n_classes; k++)
        if (labels->class_count[k] > labels->class_count[best]) best = k;
    return best;
}

/* Counts of rows go to the metrics; their weights, laid out alike, to `weights`. */
static void fill_confusion(karma_metrics *m, double *weights, const comparison *c, const size_t *truth) {
    size_t K = m->n_classes;
    for (size_t i = 0; i < c->n_rows; i++) {
        if (isnan(c->labels->value[i])) continue;
        size_t cell = truth[i] * K + karma_model_decide(c->model, c->target, scores_of(c, i));
        m->confusion[cell]++;
        weights[cell] += weight_of(c, i);
    }
}

/* Everything that follows from the confusion matrix. */
static void rates_from_confusion(karma_metrics *m, const double *confusion, size_t majority) {
    size_t K = m->n_classes;
    double total = 0.0, right = 0.0, recall_sum = 0.0, n_present = 0.0, f1_sum = 0.0, n_f1 = 0.0, common = 0.0;
    for (size_t k = 0; k < (K + 1) * K; k++) total += confusion[k];
    for (size_t k = 0; k < K; k++) {
        double hits = confusion[k * K + k], truths = 0.0, claims = 0.0;
        for (size_t j = 0; j < K; j++) truths += confusion[k * K + j];
        for (size_t j = 0; j <= K; j++) claims += confusion[j * K + k];
        right += hits;
        if (truths > 0.0) recall_sum += hits / truths, n_present += 1.0;
        if (truths + claims > 0.0) f1_sum += 2.0 * hits / (truths + claims), n_f1 += 1.0;
        if (k == majority) common = truths;
    }
    m->accuracy = right / total;
    m->majority = common / total;
    m->balanced_accuracy = n_present > 0.0 ? recall_sum / n_present : NAN;
    m->f1 = n_f1 > 0.0 ? f1_sum / n_f1 : NAN;
}

/* Mean of -ln p(truth). Labels unknown to the model count as p = 1e-15. */
static double log_loss_of(const double *probabilities, const comparison *c, const size_t *truth) {
    size_t K = c->head->labels.n_classes;
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < c->n_rows; i++) {
        double weight = weight_of(c, i), p = truth[i] < K ? probabilities[i * K + truth[i]] : 0.0;
        if (weight > 0.0) sum -= weight * log(fmax(p, 1e-15));
        total += weight;
    }
    return sum / total;
}

static karma_status evaluate_probabilities(karma_metrics *m, const comparison *c, const size_t *truth,
                                           karma_error *err) {
    size_t n = c->n_rows, K = m->n_classes;
    if (!karma_model_has_probabilities(c->model, c->target)) return KARMA_OK;
    double *probabilities = karma_i_alloc(n, K * sizeof *probabilities);
    double *weights = karma_i_alloc(n, sizeof *weights);
    karma_status st = probabilities && weights ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS];
        for (size_t i = 0; i < n; i++) {
            (void)karma_model_probabilities(c->model, c->target, scores_of(c, i), probabilities + i * K);
            weights[i] = weight_of(c, i);
        }
        karma_i_reliability(bins, probabilities, truth, weights, n, K);
        m->log_loss = log_loss_of(probabilities, c, truth);
        m->brier = karma_i_brier_score(probabilities, truth, weights, n, K);
        m->calibration_error = karma_i_expected_calibration_error(bins);
    }
    karma_i_free(probabilities);
    karma_i_free(weights);
    return st;
}

static karma_status evaluate_classes(karma_metrics *m, const comparison *c, karma_error *err) {
    const karma_i_labels *labels = &c->head->labels;
    size_t K = m->n_classes = labels->n_classes;
    size_t *truth = karma_i_alloc(c->n_rows, sizeof *truth);
    scored *items = karma_i_alloc(c->n_rows, sizeof *items);
    double *weights = karma_i_zalloc(K + 1, K * sizeof *weights);
    m->confusion = karma_i_zalloc(K + 1, K * sizeof *m->confusion);
    karma_status st = truth && items && weights && m->confusion
                          ? karma_i_labels_classes(truth, labels, c->labels, c->n_rows, err)
                          : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        fill_confusion(m, weights, c, truth);
        rates_from_confusion(m, weights, commonest_class(labels));
        m->auc = mean_auc(items, c, truth);
        st = evaluate_probabilities(m, c, truth, err);
    }
    karma_i_free(truth);
    karma_i_free(items);
    karma_i_free(weights);
    return st;
}

/* --- regression ---------------------------------------------------------------------------------------- */

static void evaluate_numbers(karma_metrics *m, const comparison *c) {
    double total = 0.0, mean = 0.0, absolute = 0.0, squared = 0.0, spread = 0.0;
    double base_absolute = 0.0, base_squared = 0.0;
    for (size_t i = 0; i < c->n_rows; i++) total += weight_of(c, i);
    for (size_t i = 0; i < c->n_rows; i++)
        if (weight_of(c, i) > 0.0) mean += weight_of(c, i) / total * c->labels->value[i];
    for (size_t i = 0; i < c->n_rows; i++) {
        double share = weight_of(c, i) / total, y = c->labels->value[i];
        if (!(share > 0.0)) continue;
        double error = karma_model_number(c->model, c->target, scores_of(c, i)) - y, base = c->head->mean - y;
        absolute += share * fabs(error);
        squared += share * error * error;
        spread += share * (y - mean) * (y - mean);
        base_absolute += share * fabs(base);
        base_squared += share * base * base;
    }
    m->mae = absolute;
    m->rmse = sqrt(squared);
    /* what is left of a constant after rounding is not spread */
    m->r2 = sqrt(spread) > 1e-12 * fabs(mean) ? 1.0 - squared / spread : NAN;
    m->baseline_mae = base_absolute;
    m->baseline_rmse = sqrt(base_squared);
}

static karma_status evaluate_quantiles(karma_metrics *m, const comparison *c, karma_error *err) {
    size_t n = c->n_rows, Q = m->n_quantiles = c->head->n_quantiles;
    double *predicted = karma_i_alloc(n, Q * sizeof *predicted), *weights = karma_i_alloc(n, sizeof *weights);
    m->pinball = karma_i_alloc(Q, sizeof *m->pinball);
    m->coverage = karma_i_alloc(Q, sizeof *m->coverage);
    karma_status st = predicted && weights && m->pinball && m->coverage ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        const double *truth = c->labels->value;
        for (size_t i = 0; i < n; i++) {
            weights[i] = weight_of(c, i);
            for (size_t q = 0; q < Q; q++) predicted[q * n + i] = scores_of(c, i)[c->head->first_output + q];
        }
        for (size_t q = 0; q < Q; q++) {
            m->pinball[q] = karma_i_pinball_loss(predicted + q * n, truth, weights, n, c->head->quantiles[q]);
            m->coverage[q] = karma_i_coverage(predicted + q * n, truth, weights, n);
        }
        if (Q > 1)
            m->interval_coverage = karma_i_interval_coverage(predicted, predicted + (Q - 1) * n, truth, weights, n);
    }
    karma_i_free(predicted);
    karma_i_free(weights);
    return st;
}

/* --- both ---------------------------------------------------------------------------------------------- */

static karma_status find_labels(const karma_i_target **out, const karma_model *model, size_t target,
                                const karma_table *table, karma_error *err) {
    const char *name = model->heads[target].name;
    for (size_t t = 0; t < table->n_targets; t++)
        if (strcmp(table->targets[t].column.name, name) == 0) {
            *out = &table->targets[t];
            return KARMA_OK;
        }
    if (table->n_targets == 1 && model->n_heads == 1) {
        *out = &table->targets[0];
        return KARMA_OK;
    }
    return karma_i_fail(err, KARMA_ERR_DATA, "the data have no column '%s' to compare with", name);
}

/* Counts the rows that can be compared; there must be some. */
static karma_status count_rows(karma_metrics *m, const comparison *c, karma_error *err) {
    double total = 0.0;
    for (size_t i = 0; i < c->n_rows; i++) {
        m->n_rows += isnan(c->labels->value[i]) ? 0 : 1;
        total += weight_of(c, i);
    }
    m->n_left_out = c->n_rows - m->n_rows;
    if (m->n_rows == 0) return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label to compare with");
    if (!(total > 0.0)) return karma_i_fail(err, KARMA_ERR_DATA, "no row that has a label has a weight above 0");
    return KARMA_OK;
}

karma_status karma_evaluate(karma_metrics *out, const karma_model *model, size_t target, const karma_table *table,
                            const double *scores, karma_error *err) {
    karma_metrics m = {.accuracy = NAN,
                       .majority = NAN,
                       .balanced_accuracy = NAN,
                       .f1 = NAN,
                       .auc = NAN,
                       .log_loss = NAN,
                       .brier = NAN,
                       .calibration_error = NAN,
                       .mae = NAN,
                       .rmse = NAN,
                       .r2 = NAN,
                       .baseline_mae = NAN,
                       .baseline_rmse = NAN,
                       .interval_coverage = NAN};
    comparison c = {.model = model, .target = target, .head = &model->heads[target], .table = table, .scores = scores};
    c.n_rows = table->n_rows;
    c.stride = model->n_outputs;
    KARMA_TRY(find_labels(&c.labels, model, target, table, err));
    KARMA_TRY(count_rows(&m, &c, err));
    karma_status st = KARMA_OK;
    if (c.head->labels.task == KARMA_TASK_CLASSIFY)
        st = evaluate_classes(&m, &c, err);
    else if (c.labels->column.kind != KARMA_COLUMN_NUMBER)
        st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds text, but the model predicts numbers",
                          c.labels->column.name);
    else {
        evaluate_numbers(&m, &c);
        if (c.head->n_quantiles) st = evaluate_quantiles(&m, &c, err);
    }
    if (st == KARMA_OK)
        *out = m;
    else
        karma_metrics_clear(&m);
    return st;
}
