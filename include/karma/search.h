/* Choosing a model well, and telling honestly how good it is. */
#ifndef KARMA_SEARCH_H
#define KARMA_SEARCH_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tries kernels and values of C by cross-validation within the rows of `table`, then learns from all of them what the
 * rule makes of the best. What `fit` says is kept where `search->fixed` names it; the rest is chosen. With effort off
 * this is karma_fit. A progress hook that asks to stop ends the trying; what was learned so far is then made a model
 * of, and if nothing was it is an error. Docs: docs/search.md. */
KARMA_API karma_status karma_search(karma_model **out, const karma_table *table, const karma_fit_options *fit,
                                    const karma_search_options *search, const karma_hooks *hooks, karma_error *err);

/* What was tried and what came of it, as one JSON object; NULL for a model that was not chosen by karma_search. It is
 * kept in model files. docs/search.md tells its members. */
KARMA_API const char *karma_model_search(const karma_model *model);

/* Cross-validated numbers of one target. */
typedef struct karma_cv_target {
    karma_goal goal;    /* what it is judged by */
    double *values;     /* of the goal, one a fold */
    double *majority;   /* the goal of a constant answer on the same rows, where it has one; else NaN */
    double mean, error; /* of the values; the standard error counts repeats as one */
    double mean_of[KARMA_N_GOALS], error_of[KARMA_N_GOALS]; /* of every goal, NaN where it does not apply */
    size_t n_of[KARMA_N_GOALS]; /* folds that have a number: the AUC of one class is none, nor is that of no label */
} karma_cv_target;

typedef struct karma_cv {
    karma_goal goal;                           /* of all targets; KARMA_GOAL_AUTO: each has its own */
    size_t n_rows, n_folds, n_repeats, n_done; /* n_done of the folds of all repeats were judged */
    size_t n_targets;
    karma_cv_target *targets;
    char **kernels; /* of each fold: what was learned there */
} karma_cv;

/* Leaves the rows out in turn, `folds` parts of them, `repeats` times: learns from the others by karma_search, so that
 * whatever is chosen is chosen anew without the rows it is judged on, and judges. Rows without a label have no part in
 * it. Folds depend on the labels, fit->seed and their number only. Free with karma_cv_clear. */
KARMA_API karma_status karma_cross_validate(karma_cv *out, const karma_table *table, const karma_fit_options *fit,
                                            const karma_search_options *search, size_t folds, size_t repeats,
                                            const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_cv_clear(karma_cv *cv);
/* The words for a goal ("log loss"), and whether less of it is better. */
KARMA_API const char *karma_goal_name(karma_goal goal);
KARMA_API int karma_goal_is_loss(karma_goal goal);

#ifdef __cplusplus
}
#endif
#endif
