/* Rows that stand in a table more than once. */
#ifndef KARMA_I_COPIES_H
#define KARMA_I_COPIES_H

#include "table/table.h"

/* rows[0..*n) are some rows of a table that has weights, in ascending order. Of rows that are equal in all cells and
 * labels only the first stays, and *weights, a new array, has the sum of their weights; ids do not count. The sums are
 * in units that may differ from the table's, since only their proportions matter. *weights is NULL if all rows stay.
 * Costs n log n comparisons of rows, whatever the cells are. Fails with KARMA_ERR_MEMORY only. */
karma_status karma_i_drop_copies(size_t *rows, size_t *n, double **weights, const karma_table *table, karma_error *err);

#endif
