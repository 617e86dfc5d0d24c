/* Rows of a kernel that was computed elsewhere. They have no attributes: each row is a row of a matrix of kernel
 * values, and the values of other rows with it are in one column of their rows. */
#ifndef KARMA_I_ROWS_MATRIX_H
#define KARMA_I_ROWS_MATRIX_H

#include "table/rows.h"

/* The row and the column of the matrix for each row. */
typedef struct karma_i_places {
    size_t capacity;
    size_t *row, *column;
} karma_i_places;

void karma_i_places_clear(karma_i_places *places);
/* Room for n; the first n are kept. 0: out of memory. */
int karma_i_places_reserve(karma_i_places *places, size_t n, size_t capacity);
/* Makes these the places of row n, and grows as needed. 0: out of memory. */
int karma_i_places_add(karma_i_places *places, size_t n, size_t row, size_t column);

typedef struct karma_i_matrix {
    const float *values; /* borrowed; NULL: only the columns are known, as of support rows in a file */
    size_t stride;
    karma_i_places places;
} karma_i_matrix;

/* The matrix is borrowed. */
karma_status karma_i_rows_new_matrix(karma_i_rows **out, const float *matrix, size_t stride, size_t capacity,
                                     karma_error *err);
karma_status karma_i_rows_add_matrix_row(karma_i_rows *rows, size_t matrix_row, size_t matrix_column, karma_error *err);

/* For rows of a matrix only. */
static inline karma_i_matrix *karma_i_matrix_of(const karma_i_rows *rows) {
    return rows->data;
}

#endif
