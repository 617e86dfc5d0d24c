/* Choosing a model by cross-validation, and estimating how good it is. */
#ifndef KARMA_SEARCH_H
#define KARMA_SEARCH_H

#include "karma/base.h"
#include "karma/certainty.h"
#include "karma/data.h"
#include "karma/learn.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An estimate, from sizes and options alone, of the most bytes of memory that karma_search will take, including this
 * table. fit->memory bounds the part of it that is kernel values. NaN if options are out of range. Cost: of order
 * columns. Threads: safe; inputs are only read. */
KARMA_API double karma_estimate_memory(const karma_table *table, const karma_fit_options *fit,
                                       const karma_search_options *search);

/* Tries kernels and values of C by cross-validation within the rows of `table`, then combines the best by the rule and
 * learns the result from all rows. Options of `fit` that `search->fixed` names are kept; the others are chosen. With
 * effort off this is karma_fit. A progress hook that asks to stop ends the search; the model is then the best found so
 * far, or KARMA_ERR_CANCELLED if there is none yet. Docs: docs/search.md. Errors: those of karma_fit, and
 * KARMA_ERR_DATA if there are too few rows for a search. Cost: about candidates times folds fits; options->time limits
 * it. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_search(karma_model **out, const karma_table *table, const karma_fit_options *fit,
                                    const karma_search_options *search, const karma_hooks *hooks, karma_error *err);

/* Whether karma_search would choose the fit option of this name ("gamma", "C"), that is, whether it describes the
 * kernel or the solver. A search should usually keep such an option if the user gives it: name it in
 * search->fixed, or turn the search off. Other options ("loss", "seed") define what is learned, and a search always
 * keeps them. Constant, any thread. */
KARMA_API int karma_search_chooses(const char *option_name);

typedef enum karma_search_end {
    KARMA_SEARCH_COMPLETE,    /* all folds were judged */
    KARMA_SEARCH_OUT_OF_TIME, /* the time limit came first */
    KARMA_SEARCH_INTERRUPTED, /* the progress hook asked to stop */
    KARMA_N_SEARCH_ENDS
} karma_search_end;

/* A candidate: a kernel and a value of C. */
typedef struct karma_search_candidate {
    char *kernel;    /* as the option "kernel" takes it */
    double C_factor; /* C as a multiple of its default */
    double score, error;
    int is_chosen;
    /* If one factor of the kernel has a gamma of its own: that gamma, and the kernel without it, so that candidates
     * that differ in nothing else have the same text. Otherwise 0 and NULL. */
    double gamma;
    char *without_gamma;
} karma_search_candidate;

/* The gain from an ingredient of kernels: the score of the choice minus that of the choice among the candidates without
 * it. Negative if the choice without it is better, unless less is better. */
typedef struct karma_search_gain {
    /* "gamma": gamma above 1, "rank", "subspace", "outer", "trees"; groups, without all of whose parts the choice is
     * made: "nonlinear" is rank, outer and trees, "missing" is gamma and subspace */
    char *ingredient;
    double gain, error;
} karma_search_gain;

/* A kernel of the committee that was chosen, and its machines: one per value of C. */
typedef struct karma_search_member {
    char *kernel;
    size_t n_machines;
    double *C_factors, *weights; /* the weights of all members sum to 1 */
} karma_search_member;

/* The score of the choice on one of several targets, by the goal of this target. */
typedef struct karma_search_target {
    karma_goal goal;
    double score, error;
    double constant_score;         /* of a constant prediction */
    double zero_score, zero_error; /* of 0-imputation; 0 without it */
} karma_search_target;

/* What a search tried and what it chose. Scores are means of the goal over folds; for some goals less is better
 * (karma_goal_is_loss). Errors are standard errors of these means; repeats count as one, and one fold has none. A
 * number that could not be computed is NaN. The struct may grow at its end in later versions; the structs in its arrays
 * keep their layout. */
typedef struct karma_search_info {
    karma_goal goal;             /* of all targets; KARMA_GOAL_AUTO: accuracy of classes and R2 of numbers */
    double score, error;         /* of the choice; optimistic: the same folds made it */
    size_t n_values;             /* folds that were judged, of all repeats */
    double *values;              /* the goal of the choice on each of them */
    size_t n_folds, n_repeats;   /* folds per repeat */
    size_t n_rows, n_rows_tried; /* with labels, and those that candidates were tried on: all, or a sample */
    size_t n_kernels;            /* that were judged on some fold */
    size_t n_kernels_to_the_end; /* that were not dropped before the last one */
    size_t n_tried;              /* candidates that were judged on some fold */
    size_t n_chosen;             /* machines of the committee; each is a candidate */
    double seconds;              /* seconds of the search, without the last fit. NaN in a model from a file */
    karma_search_end end;
    double constant_score;         /* of a constant prediction: the most common class, the mean or the quantile */
    int has_zero_imputation;       /* whether 0-imputation (linear, gamma = 1) was among the candidates */
    double zero_score, zero_error; /* of 0-imputation at its best C; 0 without it */
    double *zero_values;           /* its score on each of the n_values folds; NULL without it */
    size_t n_gains;
    karma_search_gain *gains;
    size_t n_candidates; /* those that were judged on all folds, the best first; at most 100 */
    karma_search_candidate *candidates;
    size_t n_members; /* of the committee, in the order of the option "kernel" */
    karma_search_member *members;
    /* If candidates were tried on a sample of the rows: the choice, learned from the n_check_learned other rows, is
     * judged on the n_checked rows of the sample. 0: there was no check */
    size_t n_checked, n_check_learned;
    double check_score, check_error;
    size_t n_targets; /* 0 if there is only one target, or for a model from an older file */
    karma_search_target *targets;
} karma_search_info;

/* The search that chose this model; NULL for a model that was not chosen by karma_search. It belongs to the model.
 * Model files keep it. Constant, any thread. */
KARMA_API const karma_search_info *karma_model_search_info(const karma_model *model);

/* Out-of-fold scores of karma_search, or those of its last check: (*rows)[i] is the number of a row in the table that
 * was searched, (*scores)[i * n_outputs + o] its score by a model that was learned without it. Returns the number of
 * rows: 0 for a model from a file, which does not store them, and for a search that ended early. The arrays belong to
 * the model. Constant, any thread. */
KARMA_API size_t karma_search_left_out(const karma_model *model, const size_t **rows, const double **scores);

/* Room in arrays by goal, so that goals of later versions do not change the layout of structs. */
enum { KARMA_MOST_GOALS = 32 };

/* Cross-validated numbers of one target. */
typedef struct karma_cv_target {
    karma_goal goal;    /* what it is judged by */
    double *values;     /* of the goal, one per fold */
    double *majority;   /* the goal of a constant prediction on the same rows, where it has one; else NaN */
    double mean, error; /* of the values; the standard error counts repeats as one */
    double mean_of[KARMA_MOST_GOALS], error_of[KARMA_MOST_GOALS]; /* of every goal, NaN where it does not apply */
    size_t n_of[KARMA_MOST_GOALS]; /* folds in which the metric can be computed: the AUC needs two classes */
} karma_cv_target;

typedef struct karma_cv {
    karma_goal goal;                           /* of all targets; KARMA_GOAL_AUTO: each has its own */
    size_t n_rows, n_folds, n_repeats, n_done; /* n_done of the folds of all repeats were judged */
    size_t n_targets;
    karma_cv_target *targets;
    char **kernels;     /* of each fold: what was learned there */
    size_t n_cut_short; /* folds whose search was cut short by its time limit */
    /* Intervals or sets of each target on the rows that were left out; level 0 where a model of a fold has none. */
    karma_coverage *coverages;
} karma_cv;

/* Cross-validation with `folds` folds, `repeats` times. The model of each fold is learned from the other folds by
 * karma_search, so that every choice is made without the rows that it is scored on. Rows without a label are not used.
 * Folds depend on the labels, fit->seed and their number only. Free with karma_cv_clear. Errors: those of karma_search,
 * and KARMA_ERR_DATA if fewer than two rows have a label. Cost: rounds times folds times that of karma_search. Threads:
 * safe; inputs are only read. */
KARMA_API karma_status karma_cross_validate(karma_cv *out, const karma_table *table, const karma_fit_options *fit,
                                            const karma_search_options *search, size_t folds, size_t repeats,
                                            const karma_hooks *hooks, karma_error *err);
/* A function that is called after each fold with its model, its test rows, their numbers in the whole table, and their
 * scores as karma_predict gives them. All arguments are valid during the call only. Anything but KARMA_OK ends the
 * cross-validation. */
typedef karma_status (*karma_cv_fold_fn)(void *payload, const karma_model *model, const karma_table *test,
                                         const size_t *rows, const double *scores, karma_error *err);
/* The same, and `each` is called for every fold of every repeat. Errors: the same, and those of `each`. Cost: the same.
 * Threads: safe; inputs are only read, and `each` is called from the caller's thread. */
KARMA_API karma_status karma_cross_validate_with(karma_cv *out, const karma_table *table, const karma_fit_options *fit,
                                                 const karma_search_options *search, size_t folds, size_t repeats,
                                                 karma_cv_fold_fn each, void *payload, const karma_hooks *hooks,
                                                 karma_error *err);
KARMA_API void karma_cv_clear(karma_cv *cv);
/* The words for a goal ("log loss"), and whether less of it is better. */
KARMA_API const char *karma_goal_name(karma_goal goal);
KARMA_API int karma_goal_is_loss(karma_goal goal);

#ifdef __cplusplus
}
#endif
#endif
