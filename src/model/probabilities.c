#include "model/probabilities.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/out_of_fold.h"

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

karma_status karma_i_calibrate_heads(karma_i_task *task, const karma_table *table, const double *scores,
                                     karma_error *err) {
    for (size_t t = 0; t < task->n_heads; t++)
        if (task->heads[t].labels.task == KARMA_TASK_CLASSIFY)
            KARMA_TRY(calibrate_head(&task->heads[t], scores, task->n_outputs, table, &table->targets[t],
                                     &task->options, err));
    return KARMA_OK;
}

karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err) {
    int any = 0, cancelled = model->info.stop == KARMA_STOP_CANCELLED;
    for (size_t t = 0; t < model->task.n_heads; t++) any |= model->task.heads[t].labels.task == KARMA_TASK_CLASSIFY;
    if (model->task.options.probabilities == KARMA_CALIBRATE_OFF || !any) return KARMA_OK;
    double *scores = karma_i_alloc(table->n_rows, model->task.n_outputs * sizeof *scores);
    karma_status st = scores ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && !cancelled)
        st = karma_i_out_of_fold(scores, &cancelled, &model->task, &model->plan, table, hooks, err);
    if (cancelled) {
        karma_i_notice(hooks, "interrupted before probabilities were calibrated: the model has none");
        model->info.stop = KARMA_STOP_CANCELLED;
    }
    if (st == KARMA_OK && !cancelled) st = karma_i_calibrate_heads(&model->task, table, scores, err);
    karma_i_free(scores);
    return st;
}
