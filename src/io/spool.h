/* Tables written as CSV on their way into a database. */
#ifndef KARMA_I_SPOOL_H
#define KARMA_I_SPOOL_H

#include <stdio.h>

#include "io/csv_scan.h"

/* The narrowest kind that keeps all cells of a column as they are. */
typedef enum karma_i_spool_kind {
    KARMA_I_SPOOL_INTEGER,
    KARMA_I_SPOOL_LONG, /* also integers that a real may not hold, of 16 to 18 digits */
    KARMA_I_SPOOL_REAL,
    KARMA_I_SPOOL_TEXT
} karma_i_spool_kind;

typedef struct karma_i_spool_columns {
    char **names;
    karma_i_spool_kind *kinds;
    size_t count, capacity, kind_capacity;
} karma_i_spool_columns;

/* The columns of the text, from its start to its end. Clear it even if this fails. */
karma_status karma_i_spool_survey(karma_i_spool_columns *out, const char *name, FILE *text, karma_error *err);
void karma_i_spool_clear(karma_i_spool_columns *columns);

/* Cells of the rows in order; an empty cell is NULL in the database. */
typedef karma_status (*karma_i_spool_cell_fn)(void *payload, size_t column, const karma_i_csv_field *field,
                                              karma_error *err);
typedef karma_status (*karma_i_spool_row_fn)(void *payload, karma_error *err);
/* Reports every cell and every end of a row after the header. Cells of a row may be reported twice, first
 * without its end.
 */
karma_status karma_i_spool_walk(const char *name, FILE *text, karma_i_spool_cell_fn cell, karma_i_spool_row_fn end_row,
                                void *payload, karma_error *err);

#endif
