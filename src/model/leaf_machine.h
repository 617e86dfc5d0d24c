/* Machines on the leaves of trees, for many rows. A kernel of leaves has exact features, a 1/√T for each of a row's T
 * leaves, so a machine is one weight per leaf, whatever the number of rows. The solver is solve/primal.h.
 *
 * A model keeps such a machine as support rows that observe one tree each: the row of leaf l of tree t has
 * k(row, x) = [x is in that leaf] / T, and the coefficient of the row is √T times the leaf's weight. */
#ifndef KARMA_I_LEAF_MACHINE_H
#define KARMA_I_LEAF_MACHINE_H

#include "model/model.h"
#include "solve/solver.h"

/* The forest, if the member's kernel is that of its leaves alone, and rows are so many that these options want weights
 * of leaves. Otherwise NULL: coefficients of rows are the better way. */
const karma_i_forest *karma_i_leaf_forest(const karma_model *model, size_t member, size_t n_rows,
                                          const karma_fit_options *options);

/* Boosted trees unchanged: a single machine with C = 0 on their leaves. */
int karma_i_is_boosted_alone(const karma_i_plan_member *member);

/* What machines are learned from. */
typedef struct karma_i_leaf_problem {
    const karma_i_forest *forest;
    size_t encoding;            /* the forest's among those of the problem's rows */
    const karma_i_C_grid *path; /* the machines */
    double total_weight;        /* their weights are divided by it */
    const karma_i_problem *problem;
    const karma_fit_options *options;
} karma_i_leaf_problem;

/* coefficients[leaf * n_outputs + output], leaves tree by tree: the weighted sum of the machines. */
karma_status karma_i_leaf_machine_learn(double **coefficients, karma_fit_info *info, const karma_i_leaf_problem *leaves,
                                        const karma_hooks *hooks, karma_error *err);

/* Appends one row per leaf to `support`; in all other encodings nothing of these rows is observed. */
karma_status karma_i_leaf_rows_append(karma_i_rows *support, const karma_i_forest *forest, size_t encoding,
                                      karma_error *err);

#endif
