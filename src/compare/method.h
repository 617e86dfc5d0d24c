/* The methods of a comparison under one interface: baselines (baseline/baseline.h), karma with given kernels, and
 * karma_search. A new one is a line in method.c. */
#ifndef KARMA_I_METHOD_H
#define KARMA_I_METHOD_H

#include "karma/compare.h"
#include "baseline/baseline.h"
#include "model/fold.h"
#include "search/goal.h"

typedef struct karma_i_method {
    const char *name, *help;
    int is_baseline;
    karma_i_baseline baseline;   /* if it is */
    const karma_own_method *own; /* of the caller; NULL: one of ours */
    const char *const *kernels;  /* else formulas to choose from, ending with NULL; NULL: karma_search chooses */
} karma_i_method;

/* index < karma_n_methods(). */
karma_i_method karma_i_method_at(size_t index);
/* karma_n_methods() if there is no method of this name. */
size_t karma_i_method_find(const char *name);

/* The same for all methods. */
typedef struct karma_i_contest {
    const karma_i_task *task;
    karma_goal goal;
    const karma_fit_options *fit; /* for karma_search, with its options */
    const karma_search_options *search;
    const karma_own_method *own; /* the caller's */
    size_t n_own;
} karma_i_contest;

/* Rows to learn from and rows to judge by; inner folds of the rows to learn from, for tuning. */
typedef struct karma_i_outer_fold {
    const karma_table *train, *test;
    const karma_i_folds *inner;
    double time; /* for karma_search: seconds that this fold may take; 0: unlimited */
} karma_i_outer_fold;

/* A method of the caller, for karma_i_method_run: *scores of the rows of outer->test, a new array, and its description
 * of itself.
 */
karma_status karma_i_own_method_score(double **scores, karma_contest_result *result, const karma_own_method *method,
                                      const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                      const karma_hooks *hooks, karma_error *err);

/* `out` has no text yet, and gets one only with success. */
karma_status karma_i_method_run(karma_compare_fold *out, const karma_i_method *method, const karma_i_contest *contest,
                                const karma_i_outer_fold *outer, const karma_hooks *hooks, karma_error *err);

/* The goal of scores, with its usual sign. Where the AUC is undefined, because all rows are of one class, it is that of
 * guessing; any other undefined number is an error. */
karma_status karma_i_contest_value(double *out, karma_goal goal, const karma_i_task *task, const karma_table *table,
                                   const double *scores, karma_error *err);

/* The goal of the best constant prediction according to the training labels; NaN if the goal has none. */
karma_status karma_i_contest_constant(double *out, const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                      karma_error *err);

#endif
