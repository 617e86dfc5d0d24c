/* Columns of a table that is built in memory, before they become rows. */
#ifndef KARMA_I_COLUMNS_H
#define KARMA_I_COLUMNS_H

#include "table/table.h"

/* Adds a column of numbers; values[row] NaN: missing. Takes ownership of `values`, even if it fails. */
karma_status karma_i_columns_take_numbers(karma_columns *columns, const char *name, double *values, karma_error *err);
/* The same with codes of `levels`, which are copied. Levels that no row has are dropped, equal ones are joined, and the
 * empty text is missing. */
karma_status karma_i_columns_take_codes(karma_columns *columns, const char *name, double *codes,
                                        const karma_i_text *levels, size_t n_levels, karma_error *err);

#endif
