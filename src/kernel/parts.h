/* Shared by all kernels over the same rows: Σκ of every encoding and |o ∩ o'|, for all pairs of some rows with the
 * training rows. No γ, ν, bias, outer map or weight changes them. A search computes them once, and every kernel over
 * these encodings is computed from them by the same code that computes it from the rows (kernel/compose.h): the rows
 * of these matrices are one more representation (table/rows.h). */
#ifndef KARMA_I_PARTS_H
#define KARMA_I_PARTS_H

#include "kernel/kernel.h"

typedef struct karma_i_parts {
    size_t n_encodings;
    float **sums;         /* one per encoding: all rows x training rows */
    uint16_t **overlaps;  /* likewise; encodings with the same missing cells share them */
    karma_i_rows *train;  /* rows of these matrices, one encoding after the other: */
    karma_i_rows *others; /* the training rows and all others */
} karma_i_parts;

/* Whether there are parts to compute: kernel values that are given have none, and overlaps must fit 16 bits. */
int karma_i_parts_suit(const karma_i_rows *rows);
/* is_train[row]: whether it is a training row. `rows` is borrowed. Clear it even if this fails. */
karma_status karma_i_parts_compute(karma_i_parts *out, const karma_i_rows *rows, const unsigned char *is_train,
                                   int threads, karma_error *err);
void karma_i_parts_clear(karma_i_parts *parts);

#endif
