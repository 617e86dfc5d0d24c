/* Probabilities of more than two classes from their scores, all classes at once. */
#ifndef KARMA_I_MULTINOMIAL_H
#define KARMA_I_MULTINOMIAL_H

#include <stddef.h>

#include "karma/base.h"

/* Rows with a known class, a positive weight and finite scores. */
typedef struct karma_i_scored {
    const double *scores; /* of its n_classes outputs */
    size_t class_index;
    double weight;
} karma_i_scored;

/* Fills slope (n_classes x n_classes, row-major) and offset (n_classes) of p_k = softmax_k(slope z + offset).
 * Sorts `rows`, so that their order does not change a bit of the result. Fails only when memory runs out.
 * Cost: rows times n_classes squared, or rows times n_classes above 64 classes, for each of a few hundred
 * passes. */
karma_status karma_i_multinomial_fit(double *slope, double *offset, karma_i_scored *rows, size_t n_rows,
                                     size_t n_classes, karma_error *err);

#endif
