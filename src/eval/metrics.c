/* All metrics of one target. */
#include "eval/metrics.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "eval/metric_table.h"
#include "eval/reliability.h"
#include "model/model.h"

void karma_metrics_clear(karma_metrics *metrics) {
    if (!metrics) return;
    karma_i_free(metrics->values);
    karma_i_free(metrics->constants);
    karma_i_free(metrics->confusion);
    karma_i_free(metrics->pinball);
    karma_i_free(metrics->coverage);
    metrics->values = metrics->constants = metrics->pinball = metrics->coverage = NULL;
    metrics->confusion = NULL;
}

static double find_value(const double *values, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(karma_metric_at(i)->key, key) == 0) return values[i];
    return NAN;
}

double karma_metrics_value(const karma_metrics *metrics, const char *key) {
    return find_value(metrics->values, metrics->n_values, key);
}

double karma_metrics_constant(const karma_metrics *metrics, const char *key) {
    return find_value(metrics->constants, metrics->n_values, key);
}

static karma_status fill_values(karma_metrics *m, const karma_i_judged *j, karma_error *err) {
    m->n_values = karma_n_metrics();
    m->values = karma_i_alloc(m->n_values, sizeof *m->values);
    m->constants = karma_i_alloc(m->n_values, sizeof *m->constants);
    if (!m->values || !m->constants) return karma_i_fail_memory(err);
    for (size_t i = 0; i < m->n_values; i++) {
        const karma_i_metric *metric = karma_i_metric_at(i);
        int applies = metric->about.task == j->head->labels.task;
        m->values[i] = applies ? metric->value(j) : NAN;
        m->constants[i] = applies && metric->constant ? metric->constant(j) : NAN;
    }
    return KARMA_OK;
}

static karma_status fill_quantiles(karma_metrics *m, const karma_i_judged *j, karma_error *err) {
    size_t n = j->n_rows, Q = m->n_quantiles = j->head->n_quantiles;
    if (Q == 0) return KARMA_OK;
    m->pinball = karma_i_alloc(Q, sizeof *m->pinball);
    m->coverage = karma_i_alloc(Q, sizeof *m->coverage);
    if (!m->pinball || !m->coverage) return karma_i_fail_memory(err);
    for (size_t q = 0; q < Q; q++) {
        const double *predicted = j->quantiles + q * n;
        m->pinball[q] = karma_i_pinball_loss(predicted, j->labels, j->weights, n, j->head->quantiles[q]);
        m->coverage[q] = karma_i_coverage(predicted, j->labels, j->weights, n);
    }
    if (Q > 1)
        m->interval_coverage =
            karma_i_interval_coverage(j->quantiles, j->quantiles + (Q - 1) * n, j->labels, j->weights, n);
    return KARMA_OK;
}

karma_status karma_i_evaluate(karma_metrics *out, const karma_i_task *task, size_t target, const karma_table *table,
                              const double *scores, karma_error *err) {
    karma_i_judged judged;
    KARMA_TRY(karma_i_judged_init(&judged, task, target, table, scores, err));
    karma_metrics m = {.n_rows = judged.n_labelled,
                       .n_left_out = judged.n_rows - judged.n_labelled,
                       .n_classes = judged.head->labels.n_classes,
                       .interval_coverage = NAN};
    karma_status st = fill_values(&m, &judged, err);
    if (st == KARMA_OK) st = fill_quantiles(&m, &judged, err);
    if (st == KARMA_OK) {
        m.confusion = judged.counts;
        judged.counts = NULL;
        *out = m;
    } else
        karma_metrics_clear(&m);
    karma_i_judged_clear(&judged);
    return st;
}

karma_status karma_evaluate(karma_metrics *out, const karma_model *model, size_t target, const karma_table *table,
                            const double *scores, karma_error *err) {
    return karma_i_evaluate(out, &model->task, target, table, scores, err);
}
