/* Calibration: increasing functions f_o that turn the score of an output into the probability of its class, learned
 * from rows whose class is known and that the scores were not learned from. */
#ifndef KARMA_I_CALIBRATE_H
#define KARMA_I_CALIBRATE_H

#include "base/archive.h"
#include "karma/options.h"

/* Plain arrays, so that a file can hold them as they are. */
typedef struct karma_i_calibration {
    karma_calibration kind;
    size_t n_outputs; /* 1 for two classes (a positive score means class 1), else one per class; 0 when kind is off */

    /* sigmoid. Two classes: f(z) = 1/(1 + exp(-(slope z + offset))), slope >= 0. More: p = softmax(slope z + offset),
     * slope a row-major matrix, n_outputs x n_outputs, fitted to all classes together. Scores below low[o] count as
     * low[o], scores above high[o] as high[o]. */
    double *slope, *offset, *low, *high;

    /* isotonic: output o has the knots start[o] to start[o+1]-1, at least one. f is linear between knots, and
     * constant before the first and after the last. */
    size_t *start;  /* n_outputs + 1, from 0 to n_knots */
    size_t n_knots; /* of all outputs */
    double *at;     /* scores, strictly ascending within an output */
    double *value;  /* probabilities, 0 < value < 1, not descending within an output */
} karma_i_calibration;

/* Room for the arrays of this kind, zeroed. n_knots is 0 unless the kind is isotonic. */
karma_status karma_i_calibration_new(karma_i_calibration *out, karma_calibration kind, size_t n_classes, size_t n_knots,
                                     karma_error *err);
/* Afterwards the kind is off, and the struct may be cleared again. */
void karma_i_calibration_clear(karma_i_calibration *calibration);

/* From scores[row * n_outputs + output]. A row whose class is not below n_classes, or whose weight is 0, is left out.
 * A weight (NULL: all are 1) counts as that many equal rows. The order of the rows does not change a bit of
 * the result. Unless the classes are fitted together, a class without rows gets the constant 1/(n + 2), where
 * n is the weight of all rows, and a class that all rows have gets (n + 1)/(n + 2). Fails when no row is
 * left, or a score or weight cannot be used. Kind off learns nothing and does not fail. */
karma_status karma_i_calibration_learn(karma_i_calibration *out, karma_calibration kind, const double *scores,
                                       const size_t *classes, const double *weights, size_t n_rows, size_t n_classes,
                                       karma_error *err);

/* probabilities[class] of one row from its scores, which are finite; the kind is not off. Two classes: p_1 = f(z),
 * p_0 = 1 - f(z). More: the sigmoid's softmax, or p_k = f_k(z_k) / Σ_j f_j(z_j). In [0, 1],
 * sum 1. Any number of threads may call it. */
void karma_i_calibration_apply(const karma_i_calibration *calibration, const double *scores, double *probabilities);

/* The class with the largest of these probabilities; ties go to the first. */
size_t karma_i_calibration_decide(const karma_i_calibration *calibration, const double *scores);

/* Checks everything stated above, so that karma_i_calibration_apply is safe for a calibration from a file. The arrays
 * have the lengths that karma_i_calibration_new gives them. */
karma_status karma_i_calibration_validate(const karma_i_calibration *calibration, size_t n_classes, karma_error *err);
/* The calibration of `n_classes` classes in a model file, where there is one: the object "calibration". Reading fills
 * in one of kind off, and validates it. */
karma_status karma_i_calibration_archive(karma_i_archive *archive, karma_i_calibration *calibration, size_t n_classes);

#endif
