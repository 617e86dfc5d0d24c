/* Likely problems of a table: shared by the files of the review. */
#ifndef KARMA_I_REVIEW_H
#define KARMA_I_REVIEW_H

#include "table/table.h"

/* The text that marks the last row as a total; NULL: none. A text that other rows have too does not count. */
const char *karma_i_table_total(const karma_table *table);

#endif
