/* The best predictor in hindsight: min over |w| <= 1 of Σ_i max(0, 1 - y_i w·ξ_i). */
#ifndef KARMA_I_COMPARATOR_H
#define KARMA_I_COMPARATOR_H

#include "karma/base.h"

typedef struct karma_i_interval {
    double low, high; /* the minimum lies between; `high` is attained */
} karma_i_interval;

/* `points` has n rows of dim numbers, `labels` n of -1 or 1, `index` says which row is number i. `w` (dim numbers)
 * receives the one that attains `high`. The interval is at most 1e-9 n wide, unless rounding keeps it wider. */
karma_status karma_i_best_in_hindsight(karma_i_interval *out, double *w, const double *points, const double *labels,
                                       const size_t *index, size_t n, size_t dim, karma_error *err);

#endif
