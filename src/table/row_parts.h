/* Rows of a weighted table that are given in parts: several equal rows, each with a part of the weight of one row.
 *
 * Only the proportions of weights matter to a loss, but folds, trees, ranks and C count rows. So a row that is given
 * twice, each time with half of its weight, should be one row again. But equal rows need not be parts: in a survey of
 * two columns most rows are equal to others, and each of them is evidence. Merging all equal rows would learn from a
 * handful of rows there, whatever their weights. Which rows are parts can be seen from the weights alone, in two cases:
 *
 * 1. The whole table is given m times: weights differ, at least ten rows do, and the number of rows with the same
 * cells, labels and weight is always a multiple of m > 1. Each m of them are one row with m times the weight. (The
 * counts of ten rows that are equal to others by chance are all even once in a thousand tables.)
 * 2. Rows of weight 1 are given in parts: wherever equal rows have two or more weights between 0 and 1, these weights
 *    add up to a whole number, s. They are s rows of weight 1.
 *
 * Otherwise all rows stay, and so they do if all weights are 1. Both cases may apply, in this order. */
#ifndef KARMA_I_ROW_PARTS_H
#define KARMA_I_ROW_PARTS_H

#include "table/table.h"

/* rows[0..*n) are some rows of a table that has weights, in ascending order; of one that is split over processes, every
 * process gives its own, and the result is that of one process. Afterwards they are the rows that stay, each where the
 * first of its parts was, and *weights, a new array, has their weights; NULL: all stay as they are. Rows are equal if
 * all cells and labels are; ids do not count. Rows of different processes are compared by digests of 128 bits. Sorts
 * the rows of all processes: 64 bytes for each. Fails with KARMA_ERR_MEMORY, or because another process has failed. */
karma_status karma_i_row_parts_join(double **weights, size_t *rows, size_t *n, const karma_table *table,
                                    karma_error *err);

#endif
