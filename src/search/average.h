/* Weights for an average of candidates, from their scores of left-out rows. */
#ifndef KARMA_I_AVERAGE_H
#define KARMA_I_AVERAGE_H

#include "search/race.h"

/* Mean products over the left-out rows, for the squared error of an average w of n runs:
 * w'Aw - 2 b'w + square. Scores are in the units of the targets (±1 for classes, numbers standardised). */
typedef struct karma_i_moments_of_scores {
    size_t n;
    double *A, *b; /* score times score, score times target */
    double square; /* target times target */
    double n_rows; /* without repeats; a row with several targets counts for each */
} karma_i_moments_of_scores;

karma_status karma_i_average_moments(karma_i_moments_of_scores *out, const karma_i_race *race, const size_t *runs,
                                     size_t n, karma_error *err);
void karma_i_moments_of_scores_clear(karma_i_moments_of_scores *m);

/* The non-negative weights, not scaled, with the least squared error. */
void karma_i_average_stack(double *weights, const karma_i_moments_of_scores *m);

/* The weights with the least n_rows / (2 T σ²) · squared error + Σ w log(w / p) among those that sum to 1. p are the
 * weights on entry, all positive; σ² is the squared error of run 0. With T = 1 it is the most probable average if
 * errors are normal and independent, and e^(-Σ w log(w/p)) is the prior. They are not independent, because rows
 * share models and folds: T = 5 (docs/search.md). */
karma_status karma_i_average_reweigh(double *weights, const karma_i_moments_of_scores *m, karma_error *err);

#endif
