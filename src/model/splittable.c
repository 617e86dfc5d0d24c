#include "model/splittable.h"

#include "base/error.h"
#include "table/table_split.h"

static karma_status check_kind(karma_kernel_kind kind, const karma_fit_options *options, karma_error *err) {
    int is_subspace = karma_i_kind_of(kind)->is_subspace;
    if (kind != KARMA_KERNEL_LINEAR && kind != KARMA_KERNEL_RANK && !is_subspace)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "the kernel %s cannot be learned from rows that are split over processes; linear, rank "
                            "and subspace can",
                            karma_i_kind_of(kind)->name);
    if (is_subspace && options->refine > 0)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a subspace cannot be refined on rows that are split over processes (option 'refine=0')");
    return KARMA_OK;
}

karma_status karma_i_check_splittable(const karma_i_plan *plan, const karma_fit_options *options,
                                      const karma_table *rows, karma_error *err) {
    if (karma_i_table_ranks(rows)->size == 1) return KARMA_OK;
    if (options->solver != KARMA_SOLVER_NYSTROM)
        return karma_i_fail(err, KARMA_ERR_OPTION, "rows that are split over processes need option 'solver=nystrom'");
    for (size_t k = 0; k < plan->n_kinds; k++) KARMA_TRY(check_kind(plan->kinds[k], options, err));
    return KARMA_OK;
}
