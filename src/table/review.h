/* What is noticed about a table before it is learned from: what its parts share. */
#ifndef KARMA_I_REVIEW_H
#define KARMA_I_REVIEW_H

#include "table/table.h"

/* The text of the last row that says that it is a total; NULL: none. A text that other rows have too says nothing. */
const char *karma_i_table_total(const karma_table *table);

#endif
