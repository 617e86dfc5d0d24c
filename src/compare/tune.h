/* Choosing a strength, and a kernel where there are several, on folds of the training rows. All methods choose among
 * the same strengths on the same folds, by the mean of the goal over the folds. */
#ifndef KARMA_I_TUNE_H
#define KARMA_I_TUNE_H

#include "compare/method.h"

karma_status karma_i_tune_baseline(double *strength, const karma_i_baseline *baseline, const karma_i_contest *contest,
                                   const karma_i_outer_fold *outer, const karma_hooks *hooks, karma_error *err);

/* Up to this many rows, kernels are tuned as in karma_search: their parts are computed once for all strengths and
 * kernels, which takes memory for all pairs of rows. */
enum { KARMA_I_MOST_RACING = 4000 };
/* `kernel` is one of `kernels`, which end with NULL; the first of several that do equally well. */
karma_status karma_i_tune_kernels(const char **kernel, double *strength, const char *const *kernels, size_t most_racing,
                                  const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                  const karma_hooks *hooks, karma_error *err);

#endif
