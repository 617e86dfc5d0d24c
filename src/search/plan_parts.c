#include "search/plan_parts.h"

#include <math.h>

#include "base/error.h"

static int is_boosted(const karma_i_plan_kernel *kernel) {
    return karma_i_plan_kernel_has_kind(kernel, KARMA_KERNEL_BOOST);
}

karma_status karma_i_plan_join(karma_i_plan *out, const karma_i_plan *first, const karma_i_plan *second,
                               const karma_i_blend *blend, karma_error *err) {
    const karma_i_plan *plans[] = {first, second};
    double shares[] = {blend->first, blend->second};
    for (size_t p = 0; p < 2; p++) {
        double total = 0.0;
        for (size_t m = 0; m < plans[p]->n_members; m++)
            for (size_t c = 0; c < plans[p]->members[m].machines.n; c++)
                if (p == 1 || !is_boosted(&plans[p]->members[m].kernel))
                    total += plans[p]->members[m].machines.weights[c];
        for (size_t m = 0; m < plans[p]->n_members; m++) {
            karma_i_C_grid machines = plans[p]->members[m].machines;
            if (p == 0 && is_boosted(&plans[p]->members[m].kernel)) continue;
            for (size_t c = 0; c < machines.n; c++)
                machines.weights[c] = fmax(1e-4, round(1e4 * shares[p] * machines.weights[c] / total) / 1e4);
            KARMA_TRY(karma_i_plan_add_member(out, &plans[p]->members[m].kernel, &machines, err));
        }
    }
    return KARMA_OK;
}

int karma_i_plan_is_all_trees(const karma_i_plan *plan) {
    for (size_t m = 0; m < plan->n_members; m++)
        if (!is_boosted(&plan->members[m].kernel)) return 0;
    return 1;
}

/* The machines of a plan, other than trees, with a larger weight than this one, or the same and earlier. */
static size_t count_heavier(const karma_i_plan *plan, size_t member, size_t machine) {
    double weight = plan->members[member].machines.weights[machine];
    size_t n = 0;
    for (size_t m = 0; m < plan->n_members; m++)
        for (size_t c = 0; c < plan->members[m].machines.n; c++) {
            double other = plan->members[m].machines.weights[c];
            int is_earlier = m < member || (m == member && c < machine);
            n += plan->members[m].machines.factors[c] != 0.0 && (other > weight || (other == weight && is_earlier));
        }
    return n;
}

karma_status karma_i_plan_take_heavy(karma_i_plan *out, const karma_i_plan *plan, size_t most, karma_error *err) {
    for (size_t m = 0; m < plan->n_members; m++) {
        const karma_i_C_grid *from = &plan->members[m].machines;
        karma_i_C_grid machines = {0};
        for (size_t c = 0; c < from->n; c++) {
            if (from->factors[c] != 0.0 && count_heavier(plan, m, c) >= most) continue;
            machines.factors[machines.n] = from->factors[c];
            machines.weights[machines.n++] = from->weights[c];
        }
        if (machines.n) KARMA_TRY(karma_i_plan_add_member(out, &plan->members[m].kernel, &machines, err));
    }
    return KARMA_OK;
}
