#include "model/out_of_fold.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/fit_task.h"
#include "model/fold.h"
#include "table/table_split.h"

/* Scores the copies of the rows that the fold leaves out. */
static karma_status score_copies(karma_i_copies *copies, const karma_model *model, const karma_i_folds *folds,
                                 size_t fold, karma_error *err) {
    size_t n = 0, K = model->task.n_outputs;
    karma_table *table = NULL;
    size_t *rows = karma_i_alloc(copies->table->n_rows, sizeof *rows);
    double *own = karma_i_alloc(copies->table->n_rows, K * sizeof *own);
    karma_status st = rows && own ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < copies->table->n_rows; i++)
        if (karma_i_folds_number(folds, 0, copies->source[i]) == fold) rows[n++] = i;
    if (st == KARMA_OK) st = karma_table_select(&table, copies->table, rows, n, err);
    if (st == KARMA_OK) st = karma_predict(own, model, table, (size_t)model->task.options.threads, NULL, err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) memcpy(copies->scores + rows[i] * K, own + i * K, K * sizeof *own);
    karma_table_free(table);
    karma_i_free(rows);
    karma_i_free(own);
    return st;
}

/* What the models of all folds have in common. */
typedef struct crossing {
    const karma_i_task *task;
    const karma_i_plan *plan;
    const karma_i_folds *folds;
    karma_i_copies *copies; /* or NULL */
} crossing;

/* Learns without the test rows of a fold, and scores them. */
static karma_status score_fold(double *scores, int *cancelled, const crossing *all, size_t number,
                               const karma_hooks *hooks, karma_error *err) {
    const karma_i_task *task = all->task;
    karma_i_fold split = {0};
    karma_model *model = NULL;
    double *own = NULL;
    karma_status st = karma_i_fold_split(&split, all->folds, number, err);
    if (st == KARMA_OK && !(own = karma_i_alloc(split.test->n_rows, task->n_outputs * sizeof *own)))
        st = karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_fit_task(&model, task, all->plan, split.train, NULL, hooks, hooks, err);
    if (st == KARMA_OK) {
        *cancelled = model->info.stop == KARMA_STOP_CANCELLED;
        st = karma_predict(own, model, split.test, (size_t)task->options.threads, NULL, err);
    }
    if (st == KARMA_OK) karma_i_fold_put_scores(scores, &split, own, task->n_outputs);
    if (st == KARMA_OK && all->copies && all->copies->table)
        st = score_copies(all->copies, model, all->folds, number, err);
    karma_i_fold_clear(&split);
    karma_i_free(own);
    karma_model_free(model);
    return st;
}

karma_status karma_i_out_of_fold(double *scores, int *cancelled, const karma_i_task *task, const karma_i_plan *plan,
                                 const karma_table *table, karma_i_copies *copies, const karma_hooks *hooks,
                                 karma_error *err) {
    size_t n_folds = (size_t)task->options.folds;
    karma_i_folds folds;
    size_t n_rows = karma_i_table_n_all(table);
    if (n_folds > n_rows) n_folds = n_rows;
    if (n_folds < 2) return karma_i_fail(err, KARMA_ERR_DATA, "cross-validation needs at least two labelled rows");
    KARMA_TRY(karma_i_folds_init(&folds, task, table, n_folds, 1, (uint64_t)task->options.seed, 0, err));
    karma_status st = KARMA_OK;
    const crossing all = {task, plan, &folds, copies};
    *cancelled = 0;
    for (size_t f = 0; st == KARMA_OK && !*cancelled && f < n_folds; f++)
        st = score_fold(scores, cancelled, &all, f, hooks, err);
    karma_i_folds_clear(&folds);
    return st;
}
