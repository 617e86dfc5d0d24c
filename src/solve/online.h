/* The online solver with its rounds observed, for the measurement of regret. */
#ifndef KARMA_I_ONLINE_H
#define KARMA_I_ONLINE_H

#include "solve/solver.h"

/* Rows that the online solver takes together. */
enum { KARMA_I_ONLINE_BLOCK = 256 };

/* Records of round t = 1, 2, ..., at index t - 1; both arrays have one element per round. */
typedef struct karma_i_rounds {
    double *loss; /* before the update */
    size_t *row;
    int is_adversarial; /* the next row is always the one of its block of KARMA_I_ONLINE_BLOCK with the largest loss */
} karma_i_rounds;

/* The online solver as a karma_i_solve_fn, which also fills the arrays of `rounds`. NULL: it fills none. */
karma_status karma_i_solve_rounds(double *coefficients, karma_fit_info *info, const karma_i_rounds *rounds,
                                  const karma_i_problem *problem, const karma_fit_options *options,
                                  const karma_hooks *hooks, karma_error *err);

#endif
