#include "model/splittable.h"

#include "base/error.h"
#include "model/leaf_machine.h"
#include "table/table_split.h"

static karma_status check_kind(karma_kernel_kind kind, const karma_fit_options *options, karma_error *err) {
    int is_subspace = karma_i_kind_of(kind)->is_subspace;
    if (kind == KARMA_KERNEL_FOREST || kind == KARMA_KERNEL_PRECOMPUTED)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "the kernel %s cannot be learned from rows that are split over processes",
                            karma_i_kind_of(kind)->name);
    if (is_subspace && options->refine > 0)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a subspace cannot be refined on rows that are split over processes (option 'refine=0')");
    return KARMA_OK;
}

/* The boosted trees are a machine, and others weigh their leaves anew. */
static int has_weighed_leaves(const karma_i_plan_member *member) {
    return member->machines.factors[0] == 0.0 && !karma_i_is_boosted_alone(member);
}

karma_status karma_i_check_splittable(const karma_i_plan *plan, const karma_fit_options *options,
                                      const karma_table *rows, karma_error *err) {
    int is_trees = plan->n_members > 0;
    if (karma_i_table_ranks(rows)->size == 1) return KARMA_OK;
    for (size_t m = 0; m < plan->n_members; m++) is_trees &= karma_i_is_boosted_alone(&plan->members[m]);
    if (options->solver != KARMA_SOLVER_NYSTROM && !is_trees)
        return karma_i_fail(err, KARMA_ERR_OPTION, "rows that are split over processes need option 'solver=nystrom'");
    for (size_t m = 0; m < plan->n_members; m++)
        if (has_weighed_leaves(&plan->members[m]))
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "leaves of boosted trees cannot be weighed anew on rows that are split over processes");
    for (size_t k = 0; k < plan->n_kinds; k++) KARMA_TRY(check_kind(plan->kinds[k], options, err));
    return KARMA_OK;
}
