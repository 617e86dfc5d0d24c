/* Scores of rows by models that have not seen them, and what is learned from such scores: probabilities. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "table/folds.h"

karma_status karma_i_assign_folds(size_t *fold, size_t n_folds, const karma_model *model, const karma_table *table,
                                  uint64_t seed, karma_error *err) {
    const karma_i_head *head = &model->heads[0];
    size_t n = table->n_rows, n_strata = head->labels.n_classes;
    size_t *stratum = karma_i_alloc(n, sizeof *stratum);
    karma_status st;
    if (!stratum)
        st = karma_i_fail_memory(err);
    else if (head->labels.task == KARMA_TASK_CLASSIFY)
        st = karma_i_labels_classes(stratum, &head->labels, &table->targets[0], n, err);
    else
        st = karma_i_folds_bins(stratum, table->targets[0].value, n, n_strata = n / n_folds, err);
    if (st == KARMA_OK) st = karma_i_folds_assign(fold, n, n_folds, stratum, n_strata, seed, err);
    karma_i_free(stratum);
    return st;
}

typedef struct split {
    size_t *fold, *train, *test;
    size_t n_train, n_test;
} split;

/* Learns without fold number `which`, and scores it. */
static karma_status score_fold(double *scores, int *cancelled, split *s, size_t which, const karma_model *model,
                               const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    karma_table *train = NULL, *test = NULL;
    karma_model *part = NULL;
    double *own = NULL;
    size_t n_outputs = model->n_outputs;
    karma_i_folds_split(s->train, &s->n_train, s->test, &s->n_test, s->fold, table->n_rows, which);
    karma_status st = karma_table_select(&train, table, s->train, s->n_train, err);
    if (st == KARMA_OK) st = karma_table_select(&test, table, s->test, s->n_test, err);
    if (st == KARMA_OK) st = karma_i_fit_like(&part, model, train, hooks, hooks, err);
    if (st == KARMA_OK && !(own = karma_i_alloc(s->n_test, n_outputs * sizeof *own))) st = karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        *cancelled = part->info.stop == KARMA_STOP_CANCELLED;
        st = karma_predict(own, part, test, (size_t)model->options.threads, NULL, err);
    }
    for (size_t i = 0; st == KARMA_OK && i < s->n_test; i++)
        memcpy(scores + s->test[i] * n_outputs, own + i * n_outputs, n_outputs * sizeof *scores);
    karma_i_free(own);
    karma_model_free(part);
    karma_table_free(train);
    karma_table_free(test);
    return st;
}

karma_status karma_i_out_of_fold(double *scores, int *cancelled, const karma_model *model, const karma_table *table,
                                 const karma_hooks *hooks, karma_error *err) {
    size_t n = table->n_rows, n_folds = (size_t)model->options.folds;
    if (n_folds > n) n_folds = n;
    if (n_folds < 2) return karma_i_fail(err, KARMA_ERR_DATA, "one row cannot be left out of itself");
    split s = {karma_i_alloc(n, sizeof *s.fold), karma_i_alloc(n, sizeof *s.train), karma_i_alloc(n, sizeof *s.test), 0,
               0};
    karma_status st = s.fold && s.train && s.test
                          ? karma_i_assign_folds(s.fold, n_folds, model, table, (uint64_t)model->options.seed, err)
                          : karma_i_fail_memory(err);
    *cancelled = 0;
    for (size_t f = 0; st == KARMA_OK && !*cancelled && f < n_folds; f++)
        st = score_fold(scores, cancelled, &s, f, model, table, hooks, err);
    karma_i_free(s.fold);
    karma_i_free(s.train);
    karma_i_free(s.test);
    return st;
}

/* The head's own scores, side by side, and its classes; weights as in learning, so that probabilities are those of the
 * population that was learned. */
static karma_status calibrate_head(karma_i_head *head, const double *scores, size_t stride, const karma_table *table,
                                   const karma_i_target *target, const karma_fit_options *options, karma_error *err) {
    size_t n = table->n_rows, K = head->n_outputs;
    double *own = karma_i_alloc(n, K * sizeof *own), *weights = karma_i_alloc(n, sizeof *weights);
    double *class_weights = karma_i_alloc(head->labels.n_classes, sizeof *class_weights);
    size_t *classes = karma_i_alloc(n, sizeof *classes);
    karma_status st = own && weights && class_weights && classes
                          ? karma_i_labels_classes(classes, &head->labels, target, n, err)
                          : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_head_class_weights(class_weights, head, options, err);
    if (st == KARMA_OK) {
        for (size_t i = 0; i < n; i++) {
            memcpy(own + i * K, scores + i * stride + head->first_output, K * sizeof *own);
            weights[i] = classes[i] < head->labels.n_classes
                             ? class_weights[classes[i]] * karma_table_row_weight(table, i)
                             : 0.0;
        }
        st = karma_i_calibration_learn(&head->calibration, (karma_calibration)options->probabilities, own, classes,
                                       weights, n, head->labels.n_classes, err);
    }
    karma_i_free(own);
    karma_i_free(weights);
    karma_i_free(class_weights);
    karma_i_free(classes);
    return st;
}

karma_status karma_i_calibrate_heads(karma_model *model, const karma_table *table, const double *scores,
                                     karma_error *err) {
    for (size_t t = 0; t < model->n_heads; t++)
        if (model->heads[t].labels.task == KARMA_TASK_CLASSIFY)
            KARMA_TRY(calibrate_head(&model->heads[t], scores, model->n_outputs, table, &table->targets[t],
                                     &model->options, err));
    return KARMA_OK;
}

karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err) {
    int any = 0, cancelled = model->info.stop == KARMA_STOP_CANCELLED;
    for (size_t t = 0; t < model->n_heads; t++) any |= model->heads[t].labels.task == KARMA_TASK_CLASSIFY;
    if (model->options.probabilities == KARMA_CALIBRATE_OFF || !any) return KARMA_OK;
    double *scores = karma_i_alloc(table->n_rows, model->n_outputs * sizeof *scores);
    karma_status st = scores ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && !cancelled) st = karma_i_out_of_fold(scores, &cancelled, model, table, hooks, err);
    if (cancelled) {
        karma_i_notice(hooks, "interrupted before probabilities were calibrated: the model has none");
        model->info.stop = KARMA_STOP_CANCELLED;
    }
    if (st == KARMA_OK && !cancelled) st = karma_i_calibrate_heads(model, table, scores, err);
    karma_i_free(scores);
    return st;
}
