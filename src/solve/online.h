/* The online solver with a record of its rounds, to measure regret. */
#ifndef KARMA_I_ONLINE_H
#define KARMA_I_ONLINE_H

#include "solve/solver.h"

/* Rows that the online solver processes together. */
enum { KARMA_I_ONLINE_BLOCK = 256 };

/* Records of round t = 1, 2, ..., at index t - 1; both arrays have one element per round. */
typedef struct karma_i_rounds {
    double *loss; /* before the update */
    size_t *row;
    int is_adversarial; /* next comes the row with the largest loss in its block of KARMA_I_ONLINE_BLOCK */
} karma_i_rounds;

/* The online solver as a karma_i_solve_fn, which also fills the arrays of `rounds`. NULL: it fills none. */
karma_status karma_i_solve_rounds(double *coefficients, karma_fit_info *info, const karma_i_rounds *rounds,
                                  const karma_i_problem *problem, const karma_fit_options *options,
                                  const karma_hooks *hooks, karma_error *err);

#endif
