/* Linear machines on features, in double precision, with a certificate: for each output
 *
 *     min over w of P(w) = ½ wᵀRw + Σ_i c_i ℓ(w·r_i, y_i),   c_i = (C/m) s_i,  m the number of rows */
#ifndef KARMA_I_PRIMAL_H
#define KARMA_I_PRIMAL_H

#include "karma/learn.h"
#include "kernel/features.h"
#include "solve/loss.h"

typedef struct karma_i_primal_problem {
    const karma_i_features *features;
    size_t n_outputs;
    const double *targets;      /* row-major, n_outputs per row; -1 or 1 to classify */
    const double *row_weights;  /* s_i >= 0, row-major, n_outputs per row; NULL: all 1 */
    const karma_i_loss *losses; /* one per output */
    double C;
    /* when to stop */
    double tolerance;     /* relative gap between primal and dual */
    double most_passes;   /* over the rows, for each output */
    double factor_memory; /* bytes for factors of Hessians; limits how many outputs are solved together */
    int threads;
} karma_i_primal_problem;

typedef struct karma_i_primal_result {
    double primal, dual; /* sums over the outputs */
    double passes;       /* passes over all rows; a pass over some of them counts as a fraction */
    karma_stop stop;     /* the worst of the outputs */
} karma_i_primal_result;

/* weights[output * n_features + f]: the start, then the solution; the best so far if the hooks stop it. */
karma_status karma_i_solve_primal(double *weights, karma_i_primal_result *result, const karma_i_primal_problem *problem,
                                  const karma_hooks *hooks, karma_error *err);

#endif
