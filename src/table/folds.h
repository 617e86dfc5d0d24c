/* Rows assigned to folds of equal size, for cross-validation. Whole-number arithmetic and the generator of base/rng
 * only, so that a seed gives the same folds on every machine. */
#ifndef KARMA_I_FOLDS_H
#define KARMA_I_FOLDS_H

#include "karma/base.h"

/* fold[row] in 0, ..., n_folds-1, 2 <= n_folds <= n_rows. The sizes of two folds differ by at most 1, and so do the
 * numbers of rows that any stratum has in them. Strata are 0, ..., n_strata-1; rows of a higher number (a class that is
 * not known) form one more. `stratum` NULL: all rows are one. */
karma_status karma_i_folds_assign(size_t *fold, size_t n_rows, size_t n_folds, const size_t *stratum, size_t n_strata,
                                  uint64_t seed, karma_error *err);

/* Strata of a number: the rows in ascending order of `target`, ties in the order of the rows, cut into n_bins > 0 bins
 * whose sizes differ by at most 1. NaN gives n_bins. With n_rows/n_folds bins every fold gets a row of every bin. */
karma_status karma_i_folds_bins(size_t *stratum, const double *target, size_t n_rows, size_t n_bins, karma_error *err);

/* The rows of fold `which` in `test`, the others in `train`, both ascending. Either has room for n_rows. */
void karma_i_folds_split(size_t *train, size_t *n_train, size_t *test, size_t *n_test, const size_t *fold,
                         size_t n_rows, size_t which);

#endif
