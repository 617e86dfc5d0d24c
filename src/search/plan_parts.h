/* Plans made of parts of others. */
#ifndef KARMA_I_PLAN_PARTS_H
#define KARMA_I_PLAN_PARTS_H

#include "kernel/plan.h"
#include "search/blend.h"

/* Whether all kernels are those of boosted trees. */
int karma_i_plan_is_all_trees(const karma_i_plan *plan);
/* The members of the first plan, without kernels of boosted trees, which the second plan replaces, and the
 * members of the second. */
karma_status karma_i_plan_join(karma_i_plan *out, const karma_i_plan *first, const karma_i_plan *second,
                               const karma_i_blend *blend, karma_error *err);
/* The `most` machines of a plan with the largest weights, the earlier ones first if weights are equal, and the
 * trees of the contender. */
karma_status karma_i_plan_take_heavy(karma_i_plan *out, const karma_i_plan *plan, size_t most, karma_error *err);

#endif
