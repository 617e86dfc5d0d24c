/* Rows of a task assigned to folds, and the tables of one fold: for everything that is judged on rows it has not seen.
 */
#ifndef KARMA_I_FOLD_H
#define KARMA_I_FOLD_H

#include "model/task.h"

/* Rows assigned to folds, once or several times. Folds are numbered through all repeats: 0, ..., n_folds * n_repeats
 * - 1.
 */
typedef struct karma_i_folds {
    const karma_table *table; /* borrowed; it may be split over processes */
    size_t n_folds, n_repeats;
    size_t *fold; /* of every row that is here within its repeat, repeat by repeat */
} karma_i_folds;

/* Rows of one class of the first target, or of neighbouring numbers, are spread evenly over the folds, 2 <= n_folds <=
 * n_rows. Repeat r has the seed `seed` + r * `seed_step`. */
karma_status karma_i_folds_init(karma_i_folds *out, const karma_i_task *task, const karma_table *table, size_t n_folds,
                                size_t n_repeats, uint64_t seed, uint64_t seed_step, karma_error *err);
void karma_i_folds_clear(karma_i_folds *folds);

/* The folds of all repeats. */
static inline size_t karma_i_folds_count(const karma_i_folds *folds) {
    return folds->n_folds * folds->n_repeats;
}
/* The number of the fold that leaves out a row in a repeat. */
static inline size_t karma_i_folds_number(const karma_i_folds *folds, size_t repeat, size_t row) {
    return repeat * folds->n_folds + folds->fold[repeat * folds->table->n_rows + row];
}

/* One fold: the rows that are left out are its test rows, all others are its training rows. If the table is split, the
 * training rows are split again, and the test rows are those of this process. */
typedef struct karma_i_fold {
    karma_table *train, *test;
    size_t *train_rows, *test_rows; /* the numbers that these rows have in the table of the folds, ascending */
} karma_i_fold;

/* Fold `number` of the folds. */
karma_status karma_i_fold_split(karma_i_fold *out, const karma_i_folds *folds, size_t number, karma_error *err);
/* The same without the training rows: `train` and `train_rows` are NULL. */
karma_status karma_i_fold_test(karma_i_fold *out, const karma_i_folds *folds, size_t number, karma_error *err);
void karma_i_fold_clear(karma_i_fold *fold);
/* A new table of all rows that a fold leaves out; if the rows of the folds are split, every process gets it. */
karma_status karma_i_fold_test_rows(karma_table **out, const karma_i_folds *folds, size_t number, karma_error *err);

/* all[row] = own[i] for the fold's test rows i, which are rows of the table of the folds; n_outputs scores per row. */
void karma_i_fold_put_scores(double *all, const karma_i_fold *fold, const double *own, size_t n_outputs);
/* The other way round. */
void karma_i_fold_take_scores(double *own, const karma_i_fold *fold, const double *all, size_t n_outputs);

#endif
