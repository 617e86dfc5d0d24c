/* Encoded rows drawn at random, for tests of what works on them. Include after cmocka.h. */
#ifndef KARMA_TEST_RANDOMROWS_H
#define KARMA_TEST_RANDOMROWS_H

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "table/rows_dense.h"

/* What rows to draw. Attribute j owns `width` feature columns if j is a multiple of `every`, else one. */
typedef struct row_shape {
    size_t n_rows, n_attributes, every, width;
    double share; /* of the attributes that are observed */
    int dyadic;   /* multiples of 1/32 of at most 2: products and short sums of them are exact in single precision */
} row_shape;

static inline float draw_value(const row_shape *shape, karma_i_rng *rng) {
    if (!shape->dyadic) return (float)karma_i_rng_normal(rng);
    return ((float)karma_i_rng_below(rng, 129) - 64.0F) / 32.0F;
}

static inline karma_i_rows *draw_rows(const row_shape *shape, karma_i_rng *rng) {
    size_t *start = calloc(shape->n_attributes + 1, sizeof *start);
    karma_i_rows *rows = NULL;
    assert_non_null(start);
    for (size_t j = 0; j < shape->n_attributes; j++)
        start[j + 1] = start[j] + (shape->every && j % shape->every == 0 ? shape->width : 1);
    assert_int_equal(karma_i_rows_new(&rows, shape->n_attributes, start, shape->n_rows, NULL), KARMA_OK);
    for (size_t i = 0; i < shape->n_rows; i++)
        for (size_t j = 0; j < shape->n_attributes; j++) {
            if (!(karma_i_rng_uniform(rng) < shape->share)) continue;
            karma_i_mask_set(karma_i_rows_mask(rows, i), j);
            for (size_t f = start[j]; f < start[j + 1]; f++) karma_i_rows_values(rows, i)[f] = draw_value(shape, rng);
        }
    rows->n_rows = shape->n_rows;
    free(start);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    return rows;
}

/* One row with one feature per attribute, from values and flags. */
static inline void put_row(karma_i_rows *rows, size_t row, const double *x, const unsigned char *observed) {
    memset(karma_i_rows_mask(rows, row), 0, karma_i_dense_of(rows)->n_words * sizeof *karma_i_dense_of(rows)->mask);
    for (size_t j = 0; j < rows->n_attributes; j++) {
        karma_i_rows_values(rows, row)[j] = observed[j] ? (float)x[j] : 0.0F;
        if (observed[j]) karma_i_mask_set(karma_i_rows_mask(rows, row), j);
    }
}

#endif
