/* Comparing methods that learn from rows with missing values: common baselines and karma's own. */
#ifndef KARMA_COMPARE_H
#define KARMA_COMPARE_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All methods, in the order in which they run. */
KARMA_API size_t karma_n_methods(void);
KARMA_API const char *karma_method_name(size_t method); /* as in karma_compare_options.methods */
KARMA_API const char *karma_method_help(size_t method); /* what it is, in a line */

/* The result of one method on one fold. */
typedef struct karma_compare_fold {
    double value;    /* of the goal; NaN: the method failed */
    double strength; /* of the loss against the regulariser, as a multiple of the method's default,
                        chosen on the training rows; NaN if the method chooses in its own way */
    char *kernel;    /* the chosen one, or the settings of a caller's method; NULL: no choice */
    double tune_seconds, fit_seconds, predict_seconds; /* choosing; learning with what was chosen; scoring */
    int is_cut_short;                                  /* its search was cut short by the time limit */
} karma_compare_fold;

typedef struct karma_compare_method {
    const char *name, *help;
    int is_transductive; /* it saw the test rows, without their labels */
    char *failure;       /* why the method failed; NULL: no failure */
    karma_compare_fold *folds;
    double mean, error;                  /* of the values; the standard error counts rounds as one */
    double difference;                   /* mean - that of the best method */
    double difference_error, t, p_value; /* paired with the best over the folds; NaN for the best itself */
    double adjusted_p;                   /* by Holm, over all methods that are compared with the best */
    int is_worse;                        /* the difference is real: adjusted_p is at most 0.05 */
} karma_compare_method;

typedef struct karma_comparison {
    karma_goal goal;
    size_t n_rows, n_folds, n_rounds, n_inner;
    size_t n_done;    /* folds of all rounds that all methods were judged on; fewer if it was interrupted */
    double *constant; /* the goal of a constant prediction, one per fold: the training rows' most common class, mean or
                         quantiles */
    size_t n_methods;
    karma_compare_method *methods;
    size_t best; /* the method with the best mean, the first of equals; n_methods if all failed */
} karma_comparison;

/* Cross-validates every method and scores it by search->goal. The folds are those of karma_cross_validate, the same for
 * all methods. On the training rows of each fold, inner folds, again the same for all methods, are left out in turn,
 * and each method takes the best of the strengths 0.1, 1, 10 and 100 (ties go to the one nearest to 1, then
 * to the smaller).
 *
 * `fit` sets what is learned (task, loss, weights of classes), the seed, threads and limits; each method has its own
 * kernel. `search` is for the method that uses karma_search; its goal applies to all methods. A method that fails is a
 * result like any other. If the progress hook asks to stop, the result has the folds that all methods were judged
 * on; without such a fold it is KARMA_ERR_CANCELLED. Free with karma_comparison_clear. Docs: docs/compare.md. Errors:
 * KARMA_ERR_OPTION for options out of range or an unknown method, KARMA_ERR_DATA if the table has no label or fewer
 * than two labelled rows, KARMA_ERR_CANCELLED, KARMA_ERR_MEMORY; the failure of a single method is part of its result.
 * Cost: rounds times folds fits of each method, each with its own tuning on the inner folds. Threads: safe; inputs are
 * only read. */
KARMA_API karma_status karma_compare(karma_comparison *out, const karma_table *table, const karma_fit_options *fit,
                                     const karma_search_options *search, const karma_compare_options *compare,
                                     const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_comparison_clear(karma_comparison *comparison);

/* One fold, as passed to a method of the caller. Everything is borrowed. */
typedef struct karma_contest {
    const karma_table *train, *test; /* to learn from, and to score without using its labels */
    karma_goal goal;                 /* what the scores are judged by */
    size_t n_classes;                /* 0: the label is a number */
    const double *quantiles;         /* that are asked for, ascending */
    size_t n_quantiles;
    size_t n_outputs;      /* scores per row: 1 for two classes and a number, else one per class or quantile */
    const double *labels;  /* of the training rows: the number, or that of the class from 0 */
    const double *weights; /* of the training rows: that of the row times that of its class */
    const size_t *inner;   /* of the training rows: the inner fold in which each is a test row */
    size_t n_inner;
    int64_t seed, threads;
} karma_contest;

/* What a method of the caller did. */
typedef struct karma_contest_result {
    double tune_seconds, fit_seconds, predict_seconds;
    char choice[160]; /* a description of the settings that it chose; may be empty */
} karma_contest_result;

typedef struct karma_own_method {
    const char *name, *help; /* must outlive the comparison */
    /* scores[row * n_outputs + output] of the rows of contest->test, as karma_predict gives them: numbers, or for
     * classes values whose logistic function is the probability of the second of two classes, or of each class of
     * more. Calls the progress hook from time to time, and ends with KARMA_ERR_CANCELLED if it asks to stop. */
    karma_status (*run)(void *payload, double *scores, karma_contest_result *result, const karma_contest *contest,
                        const karma_hooks *hooks, karma_error *err);
    void *payload;
} karma_own_method;

/* karma_compare with methods of the caller, which run last, on the same folds; compare->methods does not name
 * them. `own` may be NULL if n_own is 0. Errors: as of karma_compare; the failure of a method is part of its result.
 * Cost: that of karma_compare and of the methods. Threads: safe; the functions of `own` are called from the caller's
 * thread. */
KARMA_API karma_status karma_compare_with(karma_comparison *out, const karma_table *table, const karma_fit_options *fit,
                                          const karma_search_options *search, const karma_compare_options *compare,
                                          const karma_own_method *own, size_t n_own, const karma_hooks *hooks,
                                          karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
