/* The dual problem of losses whose conjugate is ℓ*(a) = a y + ½ b a² on an interval (all but logistic and the tube):
 *
 *     min over β of  ½ βᵀKβ + ½ Σ_i b β_i²/c_i - yᵀβ,   low <= β <= high
 *
 * two rows at a time. About five steps per free row (neither at `low` nor at `high`) are enough, for any
 * number of free rows. */
#ifndef KARMA_I_DUAL_PAIRS_H
#define KARMA_I_DUAL_PAIRS_H

#include "kernel/path.h"
#include "kernel/row_cache.h"

typedef struct karma_i_dual_pairs {
    karma_i_box box;     /* q = K_ii + b/c_i, of any value where β cannot change; slope = y - z - b β/c */
    const double *ridge; /* b/c_i */
    karma_i_row_cache *cache;
    const karma_i_path *path;
} karma_i_dual_pairs;

/* At most `most` steps. *done: the number made; fewer if no step lowers the objective. */
karma_status karma_i_dual_pairs_run(size_t *done, const karma_i_dual_pairs *pairs, size_t most, karma_error *err);

#endif
