/* Dense rows. Attribute j owns some feature columns, one bit of the mask and, as its traits say,
 *
 *   ranked   a byte, 1 to 255: its rank
 *   coded    a code, 1 to KARMA_I_MOST_CODES: its level
 *   term     an additive term q(x): a place in each of two blocks after the features, Q = q(x) and O = 1
 *
 * Two rows that both observe it have
 *
 *     κ_j(x, y) = Σ_f x_f y_f + [ranked] (rank_base - rank_step · |rank - rank'|) + [code = code'] + q(x) + q(y)
 *
 * Invariant: an unobserved attribute has mask bit 0, all its features, Q and O exactly 0, byte 0 and code 0. A sum over
 * o ∩ o' is then an inner product of features, the sum of the terms Q·O' + O·Q', that of equal codes a comparison, and
 * |o ∩ o'| the population count of two masks' conjunction. */
#ifndef KARMA_I_ROWS_DENSE_H
#define KARMA_I_ROWS_DENSE_H

#include "table/rows.h"

/* Traits of an attribute, besides its features and its mask bit; any sum of these. */
enum { KARMA_I_RANKED = 1, KARMA_I_CODED = 2, KARMA_I_HAS_TERM = 4 };

/* Codes have 16 bits: 0 is missing, and the largest is left to the kernel, for a code that equals none. */
enum { KARMA_I_MOST_CODES = 65534 };

/* The place of an attribute's code and term among the row's; without meaning where it has none. */
typedef struct karma_i_slots {
    uint32_t code, term;
} karma_i_slots;

typedef struct karma_i_dense {
    size_t capacity, n_attributes, n_features, n_words;
    size_t *feature_start; /* n_attributes + 1 */
    uint8_t *traits;       /* of each attribute */
    karma_i_slots *slots;  /* of each attribute */
    size_t n_terms;        /* attributes with a term */
    size_t n_values;       /* n_features + 2 n_terms */
    float *values;         /* row-major, n_values per row: [features | Q | O] */
    uint64_t *mask;        /* row-major, n_words per row */
    size_t n_codes;        /* attributes with a code */
    uint16_t *codes;       /* row-major, n_codes per row, by slot */
    size_t rank_stride;    /* bytes per row, a multiple of 8; 0: no attribute is ranked */
    uint64_t *ranked;      /* n_words: the ranked attributes */
    uint8_t *ranks;        /* row-major, rank_stride per row, by attribute */
    int centred_ranks;
    double rank_base, rank_step;
} karma_i_dense;

/* The columns of dense rows. */
typedef struct karma_i_rows_layout {
    size_t n_attributes;
    const size_t *feature_start; /* n_attributes + 1 */
    const uint8_t *traits;       /* of each attribute; NULL: none has any */
    int centred_ranks;           /* κ of ranks u, v in [0, 1] is q(u) + q(v) - 3|u - v|; otherwise 1 - 2|u - v| */
} karma_i_rows_layout;

/* Room for `capacity` rows, all of them unobserved; n_rows is 0. What the layout points to is copied. To fill in
 * rows, write to the arrays and then set n_rows. */
karma_status karma_i_rows_new_layout(karma_i_rows **out, const karma_i_rows_layout *layout, size_t capacity,
                                     karma_error *err);
/* The same for attributes that have features only. */
karma_status karma_i_rows_new(karma_i_rows **out, size_t n_attributes, const size_t *feature_start, size_t capacity,
                              karma_error *err);

/* The rest is for dense rows only. */
static inline karma_i_dense *karma_i_dense_of(const karma_i_rows *rows) {
    return rows->data;
}
static inline float *karma_i_rows_values(const karma_i_rows *rows, size_t row) {
    return karma_i_dense_of(rows)->values + row * karma_i_dense_of(rows)->n_values;
}
static inline uint8_t *karma_i_rows_ranks(const karma_i_rows *rows, size_t row) {
    return karma_i_dense_of(rows)->ranks + row * karma_i_dense_of(rows)->rank_stride;
}
static inline uint16_t *karma_i_rows_codes(const karma_i_rows *rows, size_t row) {
    return karma_i_dense_of(rows)->codes + row * karma_i_dense_of(rows)->n_codes;
}
static inline uint64_t *karma_i_rows_mask(const karma_i_rows *rows, size_t row) {
    return karma_i_dense_of(rows)->mask + row * karma_i_dense_of(rows)->n_words;
}
static inline int karma_i_rows_has(const karma_i_rows *rows, size_t attribute, int trait) {
    return (karma_i_dense_of(rows)->traits[attribute] & trait) != 0;
}

/* Where the code of a coded attribute stands, and the Q of an attribute with a term; its O is n_terms after Q. */
static inline uint16_t *karma_i_rows_code(const karma_i_rows *rows, size_t row, size_t attribute) {
    return karma_i_rows_codes(rows, row) + karma_i_dense_of(rows)->slots[attribute].code;
}
static inline float *karma_i_rows_term(const karma_i_rows *rows, size_t row, size_t attribute) {
    return karma_i_rows_values(rows, row) + rows->n_features + karma_i_dense_of(rows)->slots[attribute].term;
}
static inline void karma_i_rows_set_term(karma_i_rows *rows, size_t row, size_t attribute, float q) {
    float *to = karma_i_rows_term(rows, row, attribute);
    to[0] = q;
    to[karma_i_dense_of(rows)->n_terms] = 1.0F;
}

#endif
