#include "model/fold.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/folds.h"
#include "table/table_split.h"

/* --- dealing ------------------------------------------------------------------------------------------- */

void karma_i_folds_clear(karma_i_folds *folds) {
    karma_i_free(folds->fold);
    *folds = (karma_i_folds){0};
}

/* The strata to spread evenly over folds: classes, or bins of n_folds neighbouring numbers. */
static karma_status find_strata(size_t *stratum, size_t *n_strata, const karma_i_head *head,
                                const karma_i_target *target, size_t n_rows, size_t n_folds, karma_error *err) {
    if (head->labels.task == KARMA_TASK_CLASSIFY) {
        *n_strata = head->labels.n_classes;
        return karma_i_labels_classes(stratum, &head->labels, target, n_rows, err);
    }
    *n_strata = n_folds > 0 && n_folds < n_rows ? n_rows / n_folds : 1;
    return karma_i_folds_bins(stratum, target->value, n_rows, *n_strata, err);
}

/* The labels of all rows, including those of other processes, since all are dealt together. */
static karma_status gather_labels(karma_i_gathered *all, karma_i_target *target, const karma_i_partition *split,
                                  karma_error *err) {
    if (split->ranks->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_ranks_gather(all, target->value, split->count * sizeof *target->value, split->ranks, err));
    target->value = (double *)(void *)all->bytes;
    return KARMA_OK;
}

karma_status karma_i_folds_init(karma_i_folds *out, const karma_i_task *task, const karma_table *table, size_t n_folds,
                                size_t n_repeats, uint64_t seed, uint64_t seed_step, karma_error *err) {
    karma_i_partition split = karma_i_table_split(table);
    karma_i_target target = table->targets[0]; /* borrows all it has */
    karma_i_gathered labels = {0};
    size_t n = split.n_rows, n_strata = 0, *stratum = karma_i_alloc(n, sizeof *stratum);
    size_t *dealt = karma_i_alloc(n, sizeof *dealt);
    karma_i_folds folds = {table, n_folds, n_repeats, karma_i_alloc(split.count, n_repeats * sizeof *folds.fold)};
    karma_status st =
        stratum && dealt && folds.fold ? gather_labels(&labels, &target, &split, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = find_strata(stratum, &n_strata, &task->heads[0], &target, n, n_folds, err);
    for (size_t r = 0; st == KARMA_OK && r < n_repeats; r++) {
        st = karma_i_folds_assign(dealt, n, n_folds, stratum, n_strata, seed + r * seed_step, err);
        for (size_t i = 0; st == KARMA_OK && i < split.count; i++)
            folds.fold[r * split.count + i] = dealt[split.first + i];
    }
    karma_i_gathered_clear(&labels);
    karma_i_free(stratum);
    karma_i_free(dealt);
    if (st == KARMA_OK)
        *out = folds;
    else
        karma_i_folds_clear(&folds);
    return st;
}

/* --- one fold ------------------------------------------------------------------------------------------ */

void karma_i_fold_clear(karma_i_fold *fold) {
    karma_table_free(fold->train);
    karma_table_free(fold->test);
    karma_i_free(fold->train_rows);
    karma_i_free(fold->test_rows);
    *fold = (karma_i_fold){0};
}

static karma_status split(karma_i_fold *out, const karma_i_folds *folds, size_t number, int wants_train,
                          karma_error *err) {
    const karma_table *table = folds->table;
    size_t n = table->n_rows, n_train = 0, n_test = 0;
    karma_i_fold fold = {.train_rows = karma_i_alloc(n, sizeof *fold.train_rows),
                         .test_rows = karma_i_alloc(n, sizeof *fold.test_rows)};
    karma_status st = fold.train_rows && fold.test_rows ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_folds_split(fold.train_rows, &n_train, fold.test_rows, &n_test,
                            folds->fold + number / folds->n_folds * n, n, number % folds->n_folds);
        st = karma_table_select(&fold.test, table, fold.test_rows, n_test, err);
    }
    if (st == KARMA_OK && wants_train) st = karma_i_table_select(&fold.train, table, fold.train_rows, n_train, err);
    if (!wants_train) {
        karma_i_free(fold.train_rows);
        fold.train_rows = NULL;
    }
    if (st == KARMA_OK)
        *out = fold;
    else
        karma_i_fold_clear(&fold);
    return st;
}

karma_status karma_i_fold_split(karma_i_fold *out, const karma_i_folds *folds, size_t number, karma_error *err) {
    return split(out, folds, number, 1, err);
}

karma_status karma_i_fold_test(karma_i_fold *out, const karma_i_folds *folds, size_t number, karma_error *err) {
    return split(out, folds, number, 0, err);
}

karma_status karma_i_fold_test_rows(karma_table **out, const karma_i_folds *folds, size_t number, karma_error *err) {
    karma_i_partition rows = karma_i_table_split(folds->table);
    karma_i_fold fold = {0};
    karma_i_gathered all = {0};
    KARMA_TRY(karma_i_fold_test(&fold, folds, number, err));
    if (rows.ranks->size == 1) {
        *out = fold.test;
        fold.test = NULL;
        karma_i_fold_clear(&fold);
        return KARMA_OK;
    }
    size_t n = fold.test->n_rows, *index = fold.test_rows;
    for (size_t i = 0; i < n; i++) index[i] += rows.first;
    karma_status st = karma_i_ranks_gather(&all, index, n * sizeof *index, rows.ranks, err);
    karma_i_fold_clear(&fold);
    if (st == KARMA_OK)
        st = karma_i_table_gather(out, folds->table, (const size_t *)(void *)all.bytes,
                                  all.start[rows.ranks->size] / sizeof *index, err);
    karma_i_gathered_clear(&all);
    return st;
}

void karma_i_fold_put_scores(double *all, const karma_i_fold *fold, const double *own, size_t n_outputs) {
    for (size_t i = 0; i < fold->test->n_rows; i++)
        memcpy(all + fold->test_rows[i] * n_outputs, own + i * n_outputs, n_outputs * sizeof *all);
}

void karma_i_fold_take_scores(double *own, const karma_i_fold *fold, const double *all, size_t n_outputs) {
    for (size_t i = 0; i < fold->test->n_rows; i++)
        memcpy(own + i * n_outputs, all + fold->test_rows[i] * n_outputs, n_outputs * sizeof *own);
}
