/* Encoded rows: what the arithmetic sees. Attribute j owns the feature columns feature_start[j] to
 * feature_start[j + 1], one bit of the mask and, if it is ranked, one byte.
 *
 * Invariant: an unobserved attribute has mask bit 0, all its feature values exactly 0, and byte 0; the byte of an
 * observed ranked attribute is 1 to 255. A sum over o ∩ o' is then a plain inner product of values, and |o ∩ o'| the
 * population count of two masks' conjunction.
 *
 * Sparse rows (ratings) are lists of observed cells instead, each attribute with one feature: no masks, no ranks, and
 * no zeros for what is missing. */
#ifndef KARMA_I_ROWS_H
#define KARMA_I_ROWS_H

#include "karma/base.h"

typedef struct karma_i_rows {
    size_t n_rows, capacity;
    size_t n_attributes, n_features, n_words;
    size_t *feature_start; /* n_attributes + 1 */
    size_t rank_stride;    /* bytes a row, a multiple of 8; 0: no attribute is ranked */
    uint64_t *ranked;      /* n_words: the ranked attributes */
    uint8_t *ranks;        /* row-major, rank_stride a row, by attribute */
    /* sparse: the cells of row i are those from cell_start[i] to cell_start[i + 1], attributes ascending */
    int is_sparse;
    size_t *cell_start;
    uint32_t *cell_attribute;
    float *cell_value;
    size_t attribute_capacity, value_capacity;
    /* dense */
    float *values;  /* row-major, n_features a row */
    uint64_t *mask; /* row-major, n_words a row */
    struct karma_i_rows *next; /* the same rows encoded in another way, for kernels with several factors; owned */
} karma_i_rows;

/* A borrowed range of rows. */
typedef struct karma_i_view {
    const karma_i_rows *rows;
    size_t first, count;
} karma_i_view;

/* Room for `capacity` rows, all of them unobserved; n_rows is 0. feature_start is copied. */
karma_status karma_i_rows_new(karma_i_rows **out, size_t n_attributes, const size_t *feature_start, size_t capacity,
                              karma_error *err);
/* The same with ranks: is_ranked[j] tells which attributes have them; NULL: none. */
karma_status karma_i_rows_new_ranked(karma_i_rows **out, size_t n_attributes, const size_t *feature_start,
                                     const unsigned char *is_ranked, size_t capacity, karma_error *err);
/* Sparse rows. */
karma_status karma_i_rows_new_sparse(karma_i_rows **out, size_t n_attributes, size_t capacity, karma_error *err);
/* Adds a cell to the row after the last one; karma_i_rows_end_sparse then makes it a row. Sparse rows only. */
karma_status karma_i_rows_add_cell(karma_i_rows *rows, size_t attribute, float value, karma_error *err);
karma_status karma_i_rows_end_sparse(karma_i_rows *rows, karma_error *err);
/* Room for exactly n_cells cells, for readers that then fill the three arrays of rows->n_rows rows themselves. */
karma_status karma_i_rows_make_cells(karma_i_rows *rows, size_t n_cells, karma_error *err);
/* The same for rows with the columns of `other`. */
karma_status karma_i_rows_new_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err);
void karma_i_rows_free(karma_i_rows *rows);
/* Appends a copy of row `index` of `source`, which has the same columns; grows as needed. */
karma_status karma_i_rows_append(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err);
/* Replaces the contents by copies of the rows that index[0..count) names. */
karma_status karma_i_rows_gather(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                 karma_error *err);
/* Checks the invariant, and that all values are finite. */
karma_status karma_i_rows_validate(const karma_i_rows *rows, karma_error *err);

/* How many attributes row i observes, and |P_o x|² of its features. */
size_t karma_i_rows_n_observed(const karma_i_rows *rows, size_t row);
double karma_i_rows_square(const karma_i_rows *rows, size_t row);

/* Encoding number `index` of the rows; they themselves are number 0. */
static inline const karma_i_rows *karma_i_rows_encoding(const karma_i_rows *rows, size_t index) {
    for (; index > 0; index--) rows = rows->next;
    return rows;
}
static inline karma_i_view karma_i_rows_all(const karma_i_rows *rows) {
    return (karma_i_view){rows, 0, rows->n_rows};
}
/* Cells of all rows together; sparse rows only. */
static inline size_t karma_i_rows_n_cells(const karma_i_rows *rows) {
    return rows->cell_start[rows->n_rows];
}
static inline const float *karma_i_rows_values(const karma_i_rows *rows, size_t row) {
    return rows->values + row * rows->n_features;
}
static inline const uint8_t *karma_i_rows_ranks(const karma_i_rows *rows, size_t row) {
    return rows->ranks + row * rows->rank_stride;
}
static inline const uint64_t *karma_i_rows_mask(const karma_i_rows *rows, size_t row) {
    return rows->mask + row * rows->n_words;
}

#endif
