/* One kernel, several values of C: each machine is learned from the solution before. */
#ifndef KARMA_I_SOLVE_GRID_H
#define KARMA_I_SOLVE_GRID_H

#include "kernel/plan.h"
#include "solve/solver.h"

/* coefficients[(row * path->n + c) * n_outputs + output] of machine c. `options` have the C that the path multiplies,
 * or auto; `info` gets the sums of the solver's figures, and C of the first machine. Where rows are few, and the
 * kernel matrix fits the memory limit, it is computed once for all of them. */
karma_status karma_i_solve_grid(double *coefficients, karma_fit_info *info, const karma_i_C_grid *path,
                                const karma_i_problem *problem, const karma_fit_options *options,
                                const karma_hooks *hooks, karma_error *err);

/* Combines the figures of several solvers: certificates and work add up, and the worst end is the result. */
void karma_i_info_add(karma_fit_info *sum, const karma_fit_info *one);

#endif
