/* The inside of a table. */
#ifndef KARMA_I_TABLE_H
#define KARMA_I_TABLE_H

#include "base/partition.h"
#include "table/column.h"
#include "table/storage.h"

/* A cell of a file whose text cannot be read as the number or date that the model expects: it is missing in the table.
 */
typedef struct karma_i_text_cell {
    size_t row, attribute;
} karma_i_text_cell;

/* A target: its column and its value in every row. */
typedef struct karma_i_target {
    karma_i_column column;
    double *value; /* NaN: missing */
} karma_i_target;

/* Compressed rows: the cells of row i are those from row_start[i] to row_start[i + 1]. Invariants: attributes ascend
 * within rows; values are finite; a category's value is the index of one of its levels; weights are finite and not
 * negative. */
struct karma_table {
    size_t n_rows, n_attributes;
    karma_i_column *attributes;
    size_t *row_start;    /* n_rows + 1 */
    uint32_t *cell_owner; /* the attribute of each observed cell */
    double *cell_value;
    karma_i_storage *storage; /* of these three arrays; NULL: they are in memory */
    size_t n_targets;
    karma_i_target *targets;
    double *row_weight; /* NULL: all 1 */
    char *weight_name;  /* of the weights' column; NULL if there are none */
    /* a precomputed kernel: row i's values against the training rows, and which of them row i is */
    float *gram; /* row-major, n_gram_columns per row; NULL: none */
    size_t n_gram_columns;
    size_t *gram_column;           /* n_rows; meaningful for training rows */
    int is_matrix;                 /* columns have no meaningful names: they are matched by position */
    karma_i_text_cell *text_cells; /* in the order of rows; those of rows that were selected from a table are lost */
    size_t n_text_cells;
    karma_i_partition split;     /* of its rows over processes (table_split.h); ranks NULL: all are here */
    karma_read_options *reading; /* how its file was read (reading.h); NULL: it came from memory */
    size_t n_ids;
    char **id_names;
    char **ids; /* row-major, n_rows * n_ids */
};

/* The observed cells of one row, borrowed. */
typedef struct karma_i_row_cells {
    size_t count;
    const uint32_t *attribute;
    const double *value;
} karma_i_row_cells;

static inline karma_i_row_cells karma_i_table_cells(const karma_table *table, size_t row) {
    size_t first = table->row_start[row];
    return (karma_i_row_cells){table->row_start[row + 1] - first, table->cell_owner + first, table->cell_value + first};
}

/* Remembers how the table was read. */
karma_status karma_i_table_set_reading(karma_table *table, const karma_read_options *options, karma_error *err);

/* The kernel values of the rows that were selected into `out`, if the table has any. */
karma_status karma_i_table_select_gram(karma_table *out, const karma_table *table, const size_t *rows,
                                       karma_error *err);

void karma_i_target_clear(karma_i_target *target);
/* Takes ownership of `target`, even if it fails. */
karma_status karma_i_table_append_target(karma_table *table, karma_i_target target, karma_error *err);
/* A valid weight of a row: 0, or of a size that sums of weights and their squares can have. */
int karma_i_is_weight(double value);

#endif
