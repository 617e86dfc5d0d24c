/* Ordered categories: a column of texts with an order is a column of numbers, 1 for the first text. */
#ifndef KARMA_I_ORDER_H
#define KARMA_I_ORDER_H

#include "table/table.h"

/* "COL=low<medium<high": makes the category COL of the table a number. Every level that occurs must be named. */
karma_status karma_i_table_order(karma_table *table, const char *text, karma_error *err);
/* The same for a column that a model knows as ordered, if the table has it as a category; other texts are missing. */
karma_status karma_i_table_order_like(karma_table *table, const karma_i_column *known, karma_error *err);
/* Whether this is the column of an ordered category. */
static inline int karma_i_column_is_ordered(const karma_i_column *column) {
    return column->kind == KARMA_COLUMN_NUMBER && column->n_levels > 0;
}

#endif
