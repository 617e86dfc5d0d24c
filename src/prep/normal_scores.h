/* Normal scores of an attribute's values: Φ⁻¹(F(x)), Φ the distribution function of N(0, 1) and F(x) the share of
 * training cells below x plus half of those equal to it. Between training values the scores are interpolated linearly;
 * beyond them they are those of the ends. So the map is a line of knots, and back it is the quantile function. */
#ifndef KARMA_I_NORMAL_SCORES_H
#define KARMA_I_NORMAL_SCORES_H

#include <stddef.h>

#include "base/archive.h"

typedef struct karma_i_normal_scores {
    size_t n;              /* knots; 0: the attribute has no scores */
    double *value, *score; /* both ascending */
    double mean, sd;       /* of the scores of the training cells; not kept in model files */
} karma_i_normal_scores;

/* From the observed training cells, which are sorted in place; n > 0. At most 512 knots: of more distinct values those
 * that are about evenly spaced in the scores, and both ends. */
karma_status karma_i_normal_scores_learn(karma_i_normal_scores *out, double *cells, size_t n, karma_error *err);
void karma_i_normal_scores_clear(karma_i_normal_scores *scores);

/* Cost of both: log of the number of knots. */
double karma_i_normal_score_of(const karma_i_normal_scores *scores, double x);
double karma_i_normal_score_value(const karma_i_normal_scores *scores, double score);

/* Mean and standard deviation of the value whose score has the distribution N(centre, spread²). */
void karma_i_normal_scores_moments(double *mean, double *sd, const karma_i_normal_scores *scores, double centre,
                                   double spread);

/* Φ⁻¹(p), 0 < p < 1, to about 14 digits. */
double karma_i_normal_quantile(double p);

/* The scores of n attributes in a model file; reading fills in zeroed ones. */
karma_status karma_i_normal_scores_archive(karma_i_archive *archive, karma_i_normal_scores *scores, size_t n);

#endif
