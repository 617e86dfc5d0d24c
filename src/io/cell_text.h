/* Cells of a database as delimited text. Such rows are then read like CSV files: types are inferred in one
 * place, and a table and its export give the same model. */
#ifndef KARMA_I_CELL_TEXT_H
#define KARMA_I_CELL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "karma/base.h"

/* Lines with commas between the cells. All zero is an empty one. */
typedef struct karma_i_cell_text {
    char *bytes;
    size_t length, capacity;
    size_t n_columns; /* of a row; set before the first cell */
    size_t n_cells;   /* of the row that is being written */
} karma_i_cell_text;

void karma_i_cell_text_clear(karma_i_cell_text *text);
/* Every function adds the next cell of the row; the last cell ends the row. False: out of memory. */
int karma_i_cell_text_add_missing(karma_i_cell_text *text);
int karma_i_cell_text_add_integer(karma_i_cell_text *text, int64_t value);
/* With the fewest digits that read back as the same number, and always with a point or an exponent, as SQLite casts
 * numbers to text: 1.0, 0.1, 1.0e+20. */
int karma_i_cell_text_add_real(karma_i_cell_text *text, double value);
/* A text, quoted where CSV needs it. */
int karma_i_cell_text_add_text(karma_i_cell_text *text, const char *bytes, size_t length);

#endif
