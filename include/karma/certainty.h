/* How far a prediction can be trusted: intervals, sets of classes and abstention that keep a stated level on new rows.
 * A model has them if it keeps the errors of rows that were left out of learning (option 'certainty');
 * docs/certainty.md states the guarantee and its assumptions. */
#ifndef KARMA_CERTAINTY_H
#define KARMA_CERTAINTY_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of left-out rows whose errors the model keeps for this target; 0: it has no intervals, sets or levels of
 * abstention. */
KARMA_API size_t karma_model_n_left_out(const karma_model *model, size_t target);
/* The level that KARMA_AUTO stands for: the level of option 'intervals' or 'sets', the share between the
 * outer quantiles, or 0.9. */
KARMA_API double karma_model_level(const karma_model *model, size_t target);
/* Whether a level was set when the model was learned, by one of these options or by several quantiles. */
KARMA_API int karma_model_level_is_given(const karma_model *model, size_t target);

/* Intervals of a number: low[row] and high[row], in the target's units, for scores of karma_predict for the rows of
 * `table`. The label of a new row lies in its interval with a probability of at least `level`, 0 < level < 1 or
 * KARMA_AUTO, with half of the rest on either side; infinite if too few rows were left out for the level. Errors:
 * KARMA_ERR_OPTION for a level out of range, KARMA_ERR_DATA if the target has classes or nothing was left out,
 * KARMA_ERR_MEMORY. Cost: a sort of the rows that were left out, and one pass over the cells. Threads: safe; inputs are
 * only read. */
KARMA_API karma_status karma_predict_intervals(double *low, double *high, const karma_model *model, size_t target,
                                               const karma_table *table, const double *scores, double level,
                                               karma_error *err);

/* Sets of classes: sets[row * karma_model_n_classes + class] is 1 if the class is in the set of the row, else 0. The
 * class of a new row is in its set with a probability of at least `level`. A set is never empty: it contains the most
 * likely class. Errors: KARMA_ERR_OPTION for a level out of range, KARMA_ERR_DATA if the target is a number or nothing
 * was left out, KARMA_ERR_MEMORY. Cost: as karma_predict_intervals. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_predict_sets(unsigned char *sets, const karma_model *model, size_t target,
                                          const karma_table *table, const double *scores, double level,
                                          karma_error *err);

/* The confidence of each row's prediction: the probability of its most likely class; for numbers with several
 * quantiles, minus the distance between the outer ones as learned. Errors: KARMA_ERR_DATA if the target has neither, or
 * nothing was left out, KARMA_ERR_MEMORY. Cost: one pass over the rows. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_predict_confidence(double *confidence, const karma_model *model, size_t target,
                                                const karma_table *table, const double *scores, karma_error *err);

/* What a threshold of confidence must achieve. */
typedef enum karma_abstain_rule {
    KARMA_ABSTAIN_SHARE,   /* answer at least this share of the rows */
    KARMA_ABSTAIN_ACCURACY /* answer as many rows as possible with at least this accuracy; classes only */
} karma_abstain_rule;

/* The threshold: predictions with less confidence should not be used. Chosen on the rows that were left out; infinite
 * if no threshold reaches the accuracy. Errors: KARMA_ERR_OPTION for a value that is not between 0 and 1,
 * KARMA_ERR_DATA as above or for the accuracy of numbers, KARMA_ERR_MEMORY. Cost: a sort of the rows that were left
 * out. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_abstention_threshold(double *out, const karma_model *model, size_t target,
                                                  karma_abstain_rule rule, double value, karma_error *err);

/* --- coverage: how often labels are in their intervals or sets --- */

/* Rows that were judged: those that observe from `least` to `most` of the model's columns. */
typedef struct karma_coverage_group {
    size_t least, most;
    size_t n_rows;
    double coverage; /* share of the rows whose label is in their interval or set, by weight */
    double width;    /* mean width of the intervals, or mean number of classes of the sets; infinite if one is */
} karma_coverage_group;

/* A group for each quarter of the rows by the number of observed columns, fewer if many rows observe the same number:
 * the first has the most missing cells. */
enum { KARMA_MOST_COVERAGE_GROUPS = 4 };
typedef struct karma_coverage {
    double level; /* 0: nothing was judged */
    karma_coverage_group all, groups[KARMA_MOST_COVERAGE_GROUPS];
    size_t n_groups;
} karma_coverage;

/* Judges intervals or sets by the labels of `table`, whose scores are those of karma_predict; rows without a label are
 * left out. Errors: those of karma_predict_intervals and karma_evaluate. Cost: a sort of the rows. Threads: safe;
 * inputs are only read. */
KARMA_API karma_status karma_measure_coverage(karma_coverage *out, const karma_model *model, size_t target,
                                              const karma_table *table, const double *scores, double level,
                                              karma_error *err);
/* The same on the rows that were left out of learning, which the model keeps. All of them together reach the level
 * because it was chosen on them; the width and the groups are more informative. Errors: KARMA_ERR_OPTION for a level
 * out of range, KARMA_ERR_DATA if nothing was left out, KARMA_ERR_MEMORY. Cost: a sort of these rows. Threads: safe;
 * inputs are only read. */
KARMA_API karma_status karma_left_out_coverage(karma_coverage *out, const karma_model *model, size_t target,
                                               double level, karma_error *err);

/* The effect of abstention on rows with labels, at one threshold. */
typedef struct karma_abstention_point {
    double asked;     /* the share of rows that should be answered */
    double threshold; /* of confidence, chosen on the rows that were left out of learning */
    double answered;  /* share of the judged rows that reach it, by weight */
    double score;     /* of these: accuracy of classes, mean absolute error of numbers; NaN if there are none */
    double rest;      /* the same for the others */
} karma_abstention_point;
/* Fills in points[0..n), whose `asked` is given, 0 < asked <= 1. Errors: those of karma_abstention_threshold and
 * karma_evaluate. Cost: n sorts of the rows that were left out. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_measure_abstention(karma_abstention_point *points, size_t n, const karma_model *model,
                                                size_t target, const karma_table *table, const double *scores,
                                                karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
