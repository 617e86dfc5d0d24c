/* Ranks of an attribute's values: F(x), the share of training cells below x plus half of those equal to it (mid-ranks),
 * as a byte 1 + round(254 F). 0 is left for missing. Values between two training values have the rank of the gap,
 * values outside the training range that of its end. */
#ifndef KARMA_I_RANKING_H
#define KARMA_I_RANKING_H

#include <stddef.h>
#include <stdint.h>

#include "base/archive.h"
#include "base/messages.h"

typedef struct karma_i_ranking {
    size_t n;        /* distinct training values; 0: the attribute is not ranked */
    double *value;   /* ascending */
    uint8_t *at;     /* rank of the value itself */
    uint8_t *beyond; /* rank of what lies between it and the next; of the last: its own */
} karma_i_ranking;

/* Ascending, -0 before 0. */
void karma_i_sort_cells(double *cells, size_t n);
/* The cells of all processes, sorted: each sorts its own n, which are in place, and all merge them. */
karma_status karma_i_sort_cells_of_all(karma_i_gathered *out, double *cells, size_t n, const karma_ranks *ranks,
                                       karma_error *err);
/* Keeps those of this process's n cells that bins are learned from: if all processes have very many, some of them,
 * evenly spaced. */
karma_status karma_i_thin_out(size_t *n_kept, double *cells, size_t n, const karma_ranks *ranks, karma_error *err);

/* From the observed training cells, which are sorted in place; n > 0. */
karma_status karma_i_ranking_learn(karma_i_ranking *out, double *cells, size_t n, karma_error *err);
/* Bins for trees, which only ask for the order: the byte of a value is the number of its bin. Up to 255 distinct values
 * have a bin each; of more, those that are frequent do, and the others share bins of about as many cells. Limits lie
 * half-way between values. Of very many cells some are looked at, evenly spaced. */
karma_status karma_i_ranking_learn_bins(karma_i_ranking *out, double *cells, size_t n, karma_error *err);
void karma_i_ranking_clear(karma_i_ranking *ranking);

/* The centred kernel of ranks, κ(u, v) = q(u) + q(v) - 3|u - v|, has over the training cells mean 0 for every u:
 *
 *     q(u) = 3 (A(u) - E A/2),   A(u) = E|u - v| over the cells' ranks v, E A = the mean of A over them
 *
 * u = (byte - 1)/254. terms[byte - 1] = q; with uniform ranks κ(u, u) is 1 on average, as in the plain form. */
enum { KARMA_I_RANK_BYTES = 255 };
void karma_i_ranking_terms(float terms[KARMA_I_RANK_BYTES], const karma_i_ranking *ranking, const double *cells,
                           size_t n);

/* Ranks become `factor` times as large; factor in [0, 1]. */
void karma_i_ranking_scale(karma_i_ranking *ranking, double factor);

/* The rankings of n attributes in a model file; reading fills in zeroed ones. */
karma_status karma_i_rankings_archive(karma_i_archive *archive, karma_i_ranking *rankings, size_t n);

/* 1 to 255. Cost: log of the number of distinct values. */
uint8_t karma_i_ranking_of(const karma_i_ranking *ranking, double x);

#endif
