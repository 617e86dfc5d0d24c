/* Sparse rows (ratings): lists of observed cells, each attribute with one feature, κ a product. There are no masks,
 * and missing cells take no space. */
#ifndef KARMA_I_ROWS_SPARSE_H
#define KARMA_I_ROWS_SPARSE_H

#include "table/rows.h"

typedef struct karma_i_sparse {
    size_t n_attributes;
    size_t *feature_start; /* j has the feature j */
    size_t capacity;       /* rows */
    /* The cells of row i are those from cell_start[i] to cell_start[i + 1], attributes ascending. Those after the last
     * row belong to the row that is being added. */
    size_t *cell_start, n_cells;
    uint32_t *cell_attribute;
    float *cell_value;
    size_t attribute_capacity, value_capacity;
} karma_i_sparse;

karma_status karma_i_rows_new_sparse(karma_i_rows **out, size_t n_attributes, size_t capacity, karma_error *err);
/* Adds a cell to the row after the last one; karma_i_rows_end_sparse then makes it a row. */
karma_status karma_i_rows_add_cell(karma_i_rows *rows, size_t attribute, float value, karma_error *err);
karma_status karma_i_rows_end_sparse(karma_i_rows *rows, karma_error *err);

/* For sparse rows only. */
static inline karma_i_sparse *karma_i_sparse_of(const karma_i_rows *rows) {
    return rows->data;
}

#endif
