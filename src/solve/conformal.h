/* Quantiles of left-out rows, corrected for one more row: the bounds of conformal prediction. With n exchangeable
 * rows of weight 1 and a new one, the new value is at most the ceil(level (n + 1))-th smallest with a probability of at
 * least `level` (Vovk, Gammerman and Shafer, Algorithmic learning in a random world, 2005). */
#ifndef KARMA_I_CONFORMAL_H
#define KARMA_I_CONFORMAL_H

#include <stddef.h>

typedef struct karma_i_weighted {
    double value, weight; /* finite; weight >= 0 */
} karma_i_weighted;

/* The smallest value v such that the rows with values up to v weigh at least level (W + 1), where W is the
 * weight of all rows and 1 that of the new row; infinite if all rows together weigh less. 0 < level < 1.
 * Sorts the rows. */
double karma_i_conformal_upper(karma_i_weighted *rows, size_t n, double level);
/* From above: the largest v such that the rows with values from v on weigh at least level (W + 1), or minus infinity.
 */
double karma_i_conformal_lower(karma_i_weighted *rows, size_t n, double level);

/* The smallest threshold of confidence, so that as many rows as possible are answered: among the rows with at
 * least this confidence, and one more wrong row, the share of `right` ones is at least `accuracy`. Infinite
 * if there is none. */
typedef struct karma_i_confident {
    double confidence, weight;
    int is_right;
} karma_i_confident;
double karma_i_accuracy_threshold(karma_i_confident *rows, size_t n, double accuracy);
/* The largest threshold that a share of at least `share` of the rows, by weight, reaches. Sorts the rows. */
double karma_i_share_threshold(karma_i_confident *rows, size_t n, double share);

#endif
