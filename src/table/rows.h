/* Encoded rows: what the arithmetic sees. Attribute j owns the feature columns feature_start[j] to
 * feature_start[j + 1], one bit of the mask and, as its traits say,
 *
 *   ranked   a byte, 1 to 255: its rank
 *   coded    a code, 1 to KARMA_I_MOST_CODES: its level
 *   term     an additive term q(x): a place in each of two blocks behind the features, Q = q(x) and O = 1
 *
 * Two rows that both observe it have
 *
 *     κ_j(x, y) = Σ_f x_f y_f + [ranked] (rank_base - rank_step · |rank - rank'|) + [code = code'] + q(x) + q(y)
 *
 * Invariant: an unobserved attribute has mask bit 0, all its features, Q and O exactly 0, byte 0 and code 0. A sum over
 * o ∩ o' is then an inner product of features, the sum of the terms Q·O' + O·Q', that of equal codes a comparison, and
 * |o ∩ o'| the population count of two masks' conjunction.
 *
 * Rows of a precomputed kernel have no attributes: row i is row matrix_row[i] of a matrix of kernel values, and what
 * others have with it stands in their rows' column matrix_column[i]. Rows of precomputed parts are the same, but know
 * the rows they were made of (kernel/parts.h).
 *
 * Sparse rows (ratings) are lists of observed cells instead, each attribute with one feature: no masks, no traits, and
 * no zeros for what is missing. */
#ifndef KARMA_I_ROWS_H
#define KARMA_I_ROWS_H

#include "karma/base.h"

/* What an attribute has beside its features and its mask bit; any sum of these. */
enum { KARMA_I_RANKED = 1, KARMA_I_CODED = 2, KARMA_I_HAS_TERM = 4 };

/* Codes have 16 bits: 0 is missing, and the largest is left to the kernel, for a code that equals none. */
enum { KARMA_I_MOST_CODES = 65534 };

/* Where an attribute's code and term stand among those of a row; without meaning where it has none. */
typedef struct karma_i_slots {
    uint32_t code, term;
} karma_i_slots;

typedef struct karma_i_rows {
    size_t n_rows, capacity;
    size_t n_attributes, n_features, n_words;
    size_t *feature_start; /* n_attributes + 1 */
    /* dense */
    uint8_t *traits;      /* of each attribute */
    karma_i_slots *slots; /* of each attribute */
    size_t n_terms;       /* attributes with a term */
    size_t n_values;      /* n_features + 2 n_terms */
    float *values;        /* row-major, n_values a row: [features | Q | O] */
    uint64_t *mask;       /* row-major, n_words a row */
    size_t n_codes;       /* attributes with a code */
    uint16_t *codes;      /* row-major, n_codes a row, by slot */
    size_t rank_stride;   /* bytes a row, a multiple of 8; 0: no attribute is ranked */
    uint64_t *ranked;     /* n_words: the ranked attributes */
    uint8_t *ranks;       /* row-major, rank_stride a row, by attribute */
    int centred_ranks;
    double rank_base, rank_step;
    /* sparse: the cells of row i are those from cell_start[i] to cell_start[i + 1], attributes ascending */
    int is_sparse;
    size_t *cell_start;
    uint32_t *cell_attribute;
    float *cell_value;
    size_t attribute_capacity, value_capacity;
    /* precomputed */
    int is_matrix;
    const float *matrix; /* borrowed; NULL: only the columns are known, as of support rows in a file */
    size_t matrix_stride;
    size_t *matrix_row, *matrix_column;
    /* The matrix may hold parts of a kernel, Σκ, with |o ∩ o'| beside them: row i is then row matrix_row[i] of
     * `original`. Both are borrowed; NULL: the matrix is the kernel. */
    const uint16_t *overlap;
    const struct karma_i_rows *original;
    struct karma_i_rows *next; /* the same rows encoded in another way, for kernels with several factors; owned */
} karma_i_rows;

/* The columns of dense rows. */
typedef struct karma_i_rows_layout {
    size_t n_attributes;
    const size_t *feature_start; /* n_attributes + 1 */
    const uint8_t *traits;       /* of each attribute; NULL: none has any */
    int centred_ranks;           /* κ of ranks u, v in [0, 1] is q(u) + q(v) - 3|u - v|; otherwise 1 - 2|u - v| */
} karma_i_rows_layout;

/* A borrowed range of rows. */
typedef struct karma_i_view {
    const karma_i_rows *rows;
    size_t first, count;
} karma_i_view;

/* Room for `capacity` rows, all of them unobserved; n_rows is 0. What the layout points to is copied. */
karma_status karma_i_rows_new_layout(karma_i_rows **out, const karma_i_rows_layout *layout, size_t capacity,
                                     karma_error *err);
/* The same for attributes that have features only. */
karma_status karma_i_rows_new(karma_i_rows **out, size_t n_attributes, const size_t *feature_start, size_t capacity,
                              karma_error *err);
/* Sparse rows. */
karma_status karma_i_rows_new_sparse(karma_i_rows **out, size_t n_attributes, size_t capacity, karma_error *err);
/* Rows of a matrix of kernel values, which is borrowed. karma_i_rows_add_matrix_row adds one. */
karma_status karma_i_rows_new_matrix(karma_i_rows **out, const float *matrix, size_t stride, size_t capacity,
                                     karma_error *err);
karma_status karma_i_rows_add_matrix_row(karma_i_rows *rows, size_t matrix_row, size_t matrix_column, karma_error *err);
/* Adds a cell to the row after the last one; karma_i_rows_end_sparse then makes it a row. Sparse rows only. */
karma_status karma_i_rows_add_cell(karma_i_rows *rows, size_t attribute, float value, karma_error *err);
karma_status karma_i_rows_end_sparse(karma_i_rows *rows, karma_error *err);
/* Room for exactly n_cells cells, for readers that then fill the three arrays of rows->n_rows rows themselves. */
karma_status karma_i_rows_make_cells(karma_i_rows *rows, size_t n_cells, karma_error *err);
/* The same for rows with the columns of `other`. */
karma_status karma_i_rows_new_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err);
void karma_i_rows_free(karma_i_rows *rows);
/* Appends a copy of row `index` of `source`, which has the same columns; grows as needed. `source` may be `rows`. */
karma_status karma_i_rows_append(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err);
/* Replaces the contents by copies of the rows that index[0..count) names. */
karma_status karma_i_rows_gather(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                 karma_error *err);
/* Makes an attribute of a row missing, in all encodings; nothing happens if it is already. Cost in sparse rows: the
 * cells and rows behind it. */
void karma_i_rows_hide(karma_i_rows *rows, size_t row, size_t attribute);
/* Checks the invariant, and that all values are finite. */
karma_status karma_i_rows_validate(const karma_i_rows *rows, karma_error *err);

/* The attributes that a row observes, ascending; `out` has room for karma_i_rows_n_observed. */
void karma_i_rows_list_observed(size_t *out, const karma_i_rows *rows, size_t row);
/* |o ∩ o'| of row i of a and row j of b, which have the same columns. */
size_t karma_i_rows_overlap(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j);
/* How many attributes a row observes, and Σ κ_j(x, x) over them: |P_o x|² if it has features only. */
size_t karma_i_rows_n_observed(const karma_i_rows *rows, size_t row);
double karma_i_rows_square(const karma_i_rows *rows, size_t row);
/* The cell of a sparse row: its place among all cells, or that of the row's end if it is missing. */
size_t karma_i_rows_find_cell(const karma_i_rows *rows, size_t row, size_t attribute);

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
    return rows->values + row * rows->n_values;
}
static inline const uint8_t *karma_i_rows_ranks(const karma_i_rows *rows, size_t row) {
    return rows->ranks + row * rows->rank_stride;
}
static inline const uint16_t *karma_i_rows_codes(const karma_i_rows *rows, size_t row) {
    return rows->codes + row * rows->n_codes;
}
static inline const uint64_t *karma_i_rows_mask(const karma_i_rows *rows, size_t row) {
    return rows->mask + row * rows->n_words;
}
static inline int karma_i_rows_has(const karma_i_rows *rows, size_t attribute, int trait) {
    return (rows->traits[attribute] & trait) != 0;
}

/* Where a coded attribute's code and the Q of an attribute with a term stand; O is n_terms after Q. */
static inline size_t karma_i_rows_code_at(const karma_i_rows *rows, size_t row, size_t attribute) {
    return row * rows->n_codes + rows->slots[attribute].code;
}
static inline size_t karma_i_rows_term_at(const karma_i_rows *rows, size_t row, size_t attribute) {
    return row * rows->n_values + rows->n_features + rows->slots[attribute].term;
}
static inline void karma_i_rows_set_term(karma_i_rows *rows, size_t row, size_t attribute, float q) {
    size_t at = karma_i_rows_term_at(rows, row, attribute);
    rows->values[at] = q;
    rows->values[at + rows->n_terms] = 1.0F;
}

#endif
