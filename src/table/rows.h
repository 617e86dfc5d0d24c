/* Encoded rows, on which all arithmetic works. Rows are stored in one of several representations:
 *
 *   dense    arrays of values, masks, ranks and codes (table/rows_dense.h)
 *   sparse   lists of the observed cells (table/rows_sparse.h)
 *   matrix   rows and columns of a matrix of kernel values (table/rows_matrix.h)
 *   parts    rows of the sums and overlaps that a search computes once for all its kernels (kernel/parts.h)
 *
 * A representation is one file with one record of operations, karma_i_rows_ops. All other code calls the functions
 * below and does not ask for the representation; only code that creates rows knows it.
 *
 * A row has attributes, and observes some of them. Attribute j owns the features from feature_start[j] to
 * feature_start[j + 1]. Two rows that both observe it have the κ_j(x, y) that the representation defines.
 *
 * The same rows in several encodings are a chain: kernels with several factors have one encoding per kind of factor.
 * The structure is only a handle: a copy of it refers to the same data, which belongs to the original. */
#ifndef KARMA_I_ROWS_H
#define KARMA_I_ROWS_H

#include "base/archive.h"
#include "karma/base.h"
#include "table/pairs.h"

typedef struct karma_i_rows_ops karma_i_rows_ops;

typedef struct karma_i_rows {
    const karma_i_rows_ops *ops;
    void *data; /* of the representation */
    size_t n_rows;
    size_t n_attributes, n_features;
    const size_t *feature_start; /* n_attributes + 1; part of the data */
    struct karma_i_rows *next;   /* the same rows in another encoding; owned */
} karma_i_rows;

/* A borrowed range of rows. */
typedef struct karma_i_view {
    const karma_i_rows *rows;
    size_t first, count;
} karma_i_view;

/* An observed cell. Its features are those of its attribute. */
typedef struct karma_i_cell {
    size_t attribute;
    const float *features;
    size_t n_features;
    unsigned rank, code; /* 0: it has none */
    const float *term;   /* NULL: it has none */
} karma_i_cell;

/* Numbers of cells, and of the features they have. */
typedef struct karma_i_cell_count {
    size_t cells, features;
} karma_i_cell_count;

/* Where lists of cells grow: the attributes; the features, and their values. */
typedef struct karma_i_cell_writer {
    uint32_t *attribute, *feature;
    double *x;
} karma_i_cell_writer;

/* How a kernel weights the sums over a pair of rows: (Σκ + add) · weight[|o ∩ o'|]. */
typedef struct karma_i_weighting {
    float add;
    const float *weight; /* n_weights, and at least KARMA_I_LEAST_WEIGHTS can be read */
    size_t n_weights;
    int is_flat;                     /* every weight is 1 */
    const karma_i_pair_loops *loops; /* of this processor, for dense rows */
} karma_i_weighting;

/* The operations of a representation, each on one encoding. The functions below are documented; arguments named a
 * and b, or rows and source, have the same representation and columns. */
struct karma_i_rows_ops {
    const char *name;
    size_t tile_rows, tile_columns; /* the largest tile */

    karma_status (*new_like)(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err);
    void (*free_data)(void *data);
    int (*reserve)(karma_i_rows *rows, size_t n_rows); /* room for n_rows rows; 0: out of memory */
    void (*clear)(karma_i_rows *rows);                 /* no rows; the capacity stays */
    karma_status (*append)(karma_i_rows *rows, const karma_i_rows *source, size_t index, const unsigned char *wanted,
                           karma_error *err);
    void (*hide)(karma_i_rows *rows, size_t row, size_t attribute);
    karma_status (*validate)(const karma_i_rows *rows, karma_error *err);

    size_t (*n_observed)(const karma_i_rows *rows, size_t row);
    int (*next_cell)(karma_i_cell *out, const karma_i_rows *rows, size_t row, size_t from);
    karma_i_cell_count (*most_cells)(const karma_i_rows *rows, size_t first, size_t count);
    karma_i_cell_writer (*list_cells)(karma_i_cell_writer to, const karma_i_rows *rows, size_t row, const double *mean);
    int (*same_holes)(const karma_i_rows *a, const karma_i_rows *b);
    void (*overlaps)(uint32_t *out, const karma_i_rows *a, size_t i, karma_i_view b);
    double (*kappa)(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute);
    double (*square)(const karma_i_rows *rows, size_t row);
    /* The codes of all rows, row-major, if κ depends on equal codes only; otherwise NULL. NULL: never */
    const uint16_t *(*only_codes)(size_t *n_codes, const karma_i_rows *rows);
    const float *(*given)(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j); /* NULL: none is */

    size_t (*tile_scratch)(karma_i_view a, const karma_i_weighting *weighting); /* bytes per thread */
    void (*tile)(float *out, size_t ld, karma_i_view a, karma_i_view b, const karma_i_weighting *weighting,
                 void *scratch);

    /* Σκ and |o ∩ o'| in double precision, b.count numbers from row to row, of a tile of at most KARMA_I_EXACT_ROWS x
     * KARMA_I_EXACT_COLUMNS; and the bytes that takes. NULL: cell by cell, by the functions above. */
    size_t (*exact_scratch)(karma_i_view a, karma_i_view b, const karma_i_pair_loops *loops);
    void (*exact)(double *sums, uint32_t *overlaps, karma_i_view a, karma_i_view b, const karma_i_pair_loops *loops,
                  void *scratch);

    karma_status (*archive)(karma_i_archive *archive, karma_i_rows *rows, size_t n_rows, double limit);
};

/* --- making rows: all encodings of a chain -------------------------------------------------------------- */

/* A handle for `data`, which it owns from now on; if memory runs out the data are freed. For representations. */
karma_status karma_i_rows_new_handle(karma_i_rows **out, const karma_i_rows_ops *ops, void *data, karma_error *err);
/* No rows yet, with the columns of `other` and room for `capacity` rows, all of them unobserved. */
karma_status karma_i_rows_new_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err);
void karma_i_rows_free(karma_i_rows *rows);
/* Appends a copy of row `index` of `source`, which has the same columns; grows as needed. `source` may be `rows`. An
 * encoding of `source` that has one row where the others have more has this row for all, here and in
 * karma_i_rows_gather. */
karma_status karma_i_rows_append(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err);
/* The same for the first encoding alone, and only those attributes observed that have wanted[attribute] != 0. */
karma_status karma_i_rows_append_some(karma_i_rows *rows, const karma_i_rows *source, size_t index,
                                      const unsigned char *wanted, karma_error *err);
/* Replaces the contents by copies of the rows that index[0..count) names. */
karma_status karma_i_rows_gather(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                 karma_error *err);
/* New rows: copies of some rows of the first encoding of `source`, without the others. */
karma_status karma_i_rows_select_encoding(karma_i_rows **out, const karma_i_rows *source, const size_t *index,
                                          size_t count, karma_error *err);
/* Makes an attribute of a row missing; nothing happens if it is already. Cost in sparse rows: the cells and rows after
 * it. */
void karma_i_rows_hide(karma_i_rows *rows, size_t row, size_t attribute);
/* Checks the invariants of the representation, and that all values are finite. */
karma_status karma_i_rows_validate(const karma_i_rows *rows, karma_error *err);

/* Encoding number `index` of the rows; they themselves are number 0. */
static inline const karma_i_rows *karma_i_rows_encoding(const karma_i_rows *rows, size_t index) {
    for (; index > 0; index--) rows = rows->next;
    return rows;
}
static inline karma_i_view karma_i_rows_all(const karma_i_rows *rows) {
    return (karma_i_view){rows, 0, rows->n_rows};
}

/* --- reading rows: one encoding -------------------------------------------------------------------------- */

/* How many attributes a row observes, and which, ascending; `out` has room for that many. */
static inline size_t karma_i_rows_n_observed(const karma_i_rows *rows, size_t row) {
    return rows->ops->n_observed(rows, row);
}
void karma_i_rows_list_observed(size_t *out, const karma_i_rows *rows, size_t row);
/* The first observed cell whose attribute is `from` or greater. Returns 0 if there is none. To visit all cells of a
 * row, start from 0 and continue with the attribute after the last result. */
static inline int karma_i_rows_next_cell(karma_i_cell *out, const karma_i_rows *rows, size_t row, size_t from) {
    return rows->ops->next_cell(out, rows, row, from);
}
/* Upper bounds for what `count` rows observe; they add up over consecutive ranges. */
static inline karma_i_cell_count karma_i_rows_most_cells(const karma_i_rows *rows, size_t first, size_t count) {
    return rows->ops->most_cells(rows, first, count);
}
/* Lists the cells of a row that have features, attributes ascending: x is a feature's value less its mean. Returns
 * where the lists end. */
static inline karma_i_cell_writer karma_i_rows_list_cells(karma_i_cell_writer to, const karma_i_rows *rows, size_t row,
                                                          const double *mean) {
    return rows->ops->list_cells(to, rows, row, mean);
}
/* Whether the same cells are known to be missing in both; two representations are not compared. */
static inline int karma_i_rows_same_holes(const karma_i_rows *a, const karma_i_rows *b) {
    return a->ops == b->ops && a->n_rows == b->n_rows && a->n_attributes == b->n_attributes && a->ops->same_holes(a, b);
}
/* |o ∩ o'| of row i of a and each row of b; and of one row. */
static inline void karma_i_rows_overlaps(uint32_t *out, const karma_i_rows *a, size_t i, karma_i_view b) {
    a->ops->overlaps(out, a, i, b);
}
size_t karma_i_rows_overlap(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j);
/* κ of one attribute of two rows in double precision; 0 unless both observe it. */
static inline double karma_i_kappa(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute) {
    return a->ops->kappa(a, i, b, j, attribute);
}
/* Σ κ_j(x, x) over the observed attributes: |P_o x|² if they have features only. */
static inline double karma_i_rows_square(const karma_i_rows *rows, size_t row) {
    return rows->ops->square(rows, row);
}
/* The address of the kernel value of two rows, if values are given and not computed; otherwise NULL. */
static inline const float *karma_i_rows_given(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    return a->ops->given ? a->ops->given(a, i, b, j) : NULL;
}
static inline int karma_i_rows_are_given(const karma_i_rows *rows) {
    return rows->ops->given != NULL;
}

/* --- model files: one encoding ---------------------------------------------------------------------------- */

/* The arrays of n_rows rows, with values within ± limit. Reading fills in rows that have their columns and no rows yet,
 * and validates them. */
karma_status karma_i_rows_archive(karma_i_archive *archive, karma_i_rows *rows, size_t n_rows, double limit);

/* The capacity to reserve when one more row is needed. */
static inline size_t karma_i_rows_grown(size_t capacity) {
    return capacity + capacity / 2 + 64;
}
/* A copy of the first `used` items of an array in a new array of `count`, the rest 0. NULL: out of memory. */
void *karma_i_rows_enlarged(const void *old, size_t used, size_t count, size_t size);

#endif
