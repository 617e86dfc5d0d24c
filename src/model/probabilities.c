#include "model/probabilities.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/out_of_fold.h"
#include "solve/calibrate_choice.h"
#include "table/table_split.h"

/* The head's own scores, side by side, and its classes; weights are those of learning, so that probabilities
 * refer to the same population. */
static karma_status calibrate_head(karma_i_head *head, karma_calibration kind, const double *scores, size_t stride,
                                   const karma_table *table, const karma_i_target *target,
                                   const karma_fit_options *options, karma_error *err) {
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
        st = options->probabilities == KARMA_CALIBRATE_AUTO && kind == KARMA_CALIBRATE_SIGMOID
                 ? karma_i_calibration_choose(&head->calibration, own, classes, weights, n, head->labels.n_classes, err)
                 : karma_i_calibration_learn(&head->calibration, kind, own, classes, weights, n, head->labels.n_classes,
                                             err);
    }
    karma_i_free(own);
    karma_i_free(weights);
    karma_i_free(class_weights);
    karma_i_free(classes);
    return st;
}

karma_status karma_i_calibrate_heads(karma_i_task *task, const karma_i_left_out *rows, int is_free, karma_error *err) {
    karma_calibration kind = karma_i_wanted_calibration(task, is_free);
    for (size_t t = 0; kind != KARMA_CALIBRATE_OFF && t < task->n_heads; t++)
        if (task->heads[t].labels.task == KARMA_TASK_CLASSIFY)
            KARMA_TRY(calibrate_head(&task->heads[t], kind, rows->scores, task->n_outputs, rows->table,
                                     &rows->table->targets[t], &task->options, err));
    return karma_i_wants_certainty(task, is_free) ? karma_i_certainty_learn(task, rows, err) : KARMA_OK;
}

/* Of rows that are split over processes, the labels and scores of all. */
typedef struct left_out_of_all {
    karma_table *labels;
    size_t *n_cells;
    karma_i_gathered scores;
} left_out_of_all;

static void clear_left_out(left_out_of_all *all) {
    karma_table_free(all->labels);
    karma_i_free(all->n_cells);
    karma_i_gathered_clear(&all->scores);
}

static karma_status gather_left_out(left_out_of_all *all, karma_i_left_out *rows, size_t n_outputs, karma_error *err) {
    karma_i_partition split = karma_i_table_split(rows->table);
    if (split.ranks->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_table_gather_labels(&all->labels, &all->n_cells, rows->table, err));
    KARMA_TRY(karma_i_ranks_gather(&all->scores, rows->scores, split.count * n_outputs * sizeof *rows->scores,
                                   split.ranks, err));
    *rows = (karma_i_left_out){
        .table = all->labels, .scores = (double *)(void *)all->scores.bytes, .observed = all->n_cells};
    return KARMA_OK;
}

karma_status karma_i_calibrate_by_folds(karma_i_task *task, int *cancelled, const karma_i_plan *plan,
                                        const karma_table *table, int is_free, const karma_hooks *hooks,
                                        karma_error *err) {
    karma_i_copies copies = {0};
    double *scores = karma_i_alloc(table->n_rows, task->n_outputs * sizeof *scores);
    karma_status st = scores ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && karma_i_wants_copies(task, is_free))
        st = karma_i_copies_make(&copies, table, task->n_outputs, (uint64_t)task->options.seed, err);
    if (st == KARMA_OK) st = karma_i_out_of_fold(scores, cancelled, task, plan, table, &copies, hooks, err);
    karma_i_left_out rows = {.table = table, .scores = scores, .copies = &copies};
    left_out_of_all all = {0};
    if (st == KARMA_OK && !*cancelled) st = gather_left_out(&all, &rows, task->n_outputs, err);
    if (st == KARMA_OK && !*cancelled) st = karma_i_calibrate_heads(task, &rows, is_free, err);
    clear_left_out(&all);
    karma_i_copies_clear(&copies);
    karma_i_free(scores);
    return st;
}

/* Whether the options ask for anything that needs left-out rows. */
static int is_asked_for(const karma_i_task *task) {
    return karma_i_wanted_calibration(task, 0) != KARMA_CALIBRATE_OFF ||
           task->options.certainty == KARMA_CERTAINTY_ON || task->options.intervals > 0.0;
}

karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err) {
    karma_i_task *task = &model->task;
    int cancelled = model->info.stop == KARMA_STOP_CANCELLED;
    karma_error fault = {0};
    if (karma_i_wanted_calibration(task, 0) == KARMA_CALIBRATE_OFF && !karma_i_wants_certainty(task, 0))
        return KARMA_OK;
    karma_status st =
        cancelled ? KARMA_OK : karma_i_calibrate_by_folds(task, &cancelled, &model->plan, table, 0, hooks, &fault);
    int is_alone = karma_i_table_ranks(table)->size == 1; /* a failure of one process is that of all */
    if (st == KARMA_ERR_DATA && is_alone && !is_asked_for(task)) {
        karma_i_notice(hooks, "the quantiles are not corrected, and there are no intervals: %s", fault.message);
        return KARMA_OK;
    }
    if (st != KARMA_OK && err) *err = fault;
    if (cancelled) {
        karma_i_notice(hooks,
                       "interrupted before rows were left out: the model has no probabilities, intervals or sets");
        model->info.stop = KARMA_STOP_CANCELLED;
    }
    return st;
}
