/* Sums of the rows of a node, bin by bin, of a few columns at once. */
#ifndef KARMA_I_HISTOGRAM_H
#define KARMA_I_HISTOGRAM_H

#include "karma/base.h"

/* Columns that are added up side by side: rows and their sums are read once for all of them, and additions to the same
 * bin of one column must wait for one another, those to other columns need not. */
enum { KARMA_I_HISTOGRAM_COLUMNS = 4 };

/* The rows of a node. */
typedef struct karma_i_node_rows {
    const uint32_t *rows; /* ascending */
    size_t n;
    size_t n_words;
    const uint64_t *words;    /* of all rows, by row number */
    const uint64_t *in_order; /* of the rows of the node, in their order; NULL: they are looked up in `words` */
} karma_i_node_rows;

/* cells[c] has the sums of every bin of column c, n_words each, and is added to. */
void karma_i_histogram_add(uint64_t *const *cells, const uint8_t *const *columns, size_t n_columns,
                           const karma_i_node_rows *node);

#endif
