/* Encoded rows: what the arithmetic sees. Attribute j owns the feature columns feature_start[j] to
 * feature_start[j + 1], one bit of the mask and, if it is ranked, one byte.
 *
 * Invariant: an unobserved attribute has mask bit 0, all its feature values exactly 0, and byte 0; the byte of an
 * observed ranked attribute is 1 to 255. A sum over o ∩ o' is then a plain inner product of values, and |o ∩ o'| the
 * population count of two masks' conjunction. */
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
    float *values;         /* row-major, n_features a row */
    uint64_t *mask;        /* row-major, n_words a row */
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

static inline karma_i_view karma_i_rows_all(const karma_i_rows *rows) {
    return (karma_i_view){rows, 0, rows->n_rows};
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
