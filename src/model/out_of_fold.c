#include "model/out_of_fold.h"

#include "base/error.h"
#include "base/mem.h"
#include "model/fit_task.h"
#include "model/fold.h"

/* Learns without the test rows of a fold, and scores them. */
static karma_status score_fold(double *scores, int *cancelled, const karma_i_fold *fold, const karma_i_task *task,
                               const karma_i_plan *plan, const karma_hooks *hooks, karma_error *err) {
    karma_model *model = NULL;
    double *own = karma_i_alloc(fold->test->n_rows, task->n_outputs * sizeof *own);
    karma_status st =
        own ? karma_i_fit_task(&model, task, plan, fold->train, hooks, hooks, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        *cancelled = model->info.stop == KARMA_STOP_CANCELLED;
        st = karma_predict(own, model, fold->test, (size_t)task->options.threads, NULL, err);
    }
    if (st == KARMA_OK) karma_i_fold_put_scores(scores, fold, own, task->n_outputs);
    karma_i_free(own);
    karma_model_free(model);
    return st;
}

karma_status karma_i_out_of_fold(double *scores, int *cancelled, const karma_i_task *task, const karma_i_plan *plan,
                                 const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    size_t n_folds = (size_t)task->options.folds;
    karma_i_folds folds;
    if (n_folds > table->n_rows) n_folds = table->n_rows;
    if (n_folds < 2) return karma_i_fail(err, KARMA_ERR_DATA, "cross-validation needs at least two labelled rows");
    KARMA_TRY(karma_i_folds_deal(&folds, task, table, n_folds, 1, (uint64_t)task->options.seed, 0, err));
    karma_status st = KARMA_OK;
    *cancelled = 0;
    for (size_t f = 0; st == KARMA_OK && !*cancelled && f < n_folds; f++) {
        karma_i_fold fold = {0};
        st = karma_i_fold_split(&fold, &folds, f, err);
        if (st == KARMA_OK) st = score_fold(scores, cancelled, &fold, task, plan, hooks, err);
        karma_i_fold_clear(&fold);
    }
    karma_i_folds_clear(&folds);
    return st;
}
