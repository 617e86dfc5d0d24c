/* Contributions of attributes to scores, the importance of attributes, and how much a row has in common with the
 * training rows. docs/explain.md shows all three, docs/mathematics.md has the formulas. */
#ifndef KARMA_EXPLAIN_H
#define KARMA_EXPLAIN_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- one row's scores --- */

/* The parts of the scores of many rows. Every observed attribute that the model knows has one part in its row; the
 * parts of row i are those from start[i] to before start[i + 1], attributes ascending. For every output
 *
 *     score = bias[i] + sum of the row's contributions
 *
 * in the units of karma_predict, with two differences: kernel values of a plain kernel are taken in double precision
 * here and in single precision there, and quantiles that cross are not sorted.
 *
 * If all kernels of the model are plain (one factor, no outer map, no subspace), a contribution is the attribute's own
 * part of the sum, and exact. Otherwise it is the attribute's Shapley value in the game in which the value of a set of
 * attributes is the score of the row with all others missing: exact if the row observes at most KARMA_EXACT_SHAPLEY of
 * them, otherwise the mean over permutations drawn in pairs, one the reverse of the other, by the seed and the row's
 * number.
 * */
enum { KARMA_EXACT_SHAPLEY = 10 };

typedef struct karma_explanations {
    size_t n_rows, n_outputs;
    int is_split;         /* plain kernels: not Shapley values */
    size_t *start;        /* n_rows + 1 */
    size_t *attribute;    /* of each part: its number in the model */
    double *contribution; /* contribution[part * n_outputs + output] */
    double *error;        /* standard errors, in the same layout: 0 where the contribution is exact */
    double *bias;         /* bias[row * n_outputs + output]: what the score would be without the attributes */
} karma_explanations;

/* Explains every row of the table. A precomputed kernel has no attributes and is refused. Memory: 16 bytes
 * per observed cell and output. Cost per row: for plain kernels, support rows times observed attributes; otherwise
 * support rows times kernels, times 2^observed or times samples · observed. Free with karma_explanations_clear.
 * Errors: KARMA_ERR_OPTION for options out of range, KARMA_ERR_DATA for a table that does not match the model or a
 * model without columns, KARMA_ERR_CANCELLED, KARMA_ERR_MEMORY. Cost: one prediction per row where contributions are
 * exact, otherwise `samples` times the observed columns of each row. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_explain(karma_explanations *out, const karma_model *model, const karma_table *table,
                                     const karma_explain_options *options, const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_explanations_clear(karma_explanations *explanations);

/* --- which attributes matter --- */

/* How much worse the model gets when the observed cells of an attribute are permuted among the rows that observe it.
 */
typedef struct karma_importance {
    size_t attribute;  /* its number in the model */
    double importance; /* decrease of the metric, mean over the repeats; 0 where fewer than two rows observe it */
    double error;      /* its standard error over the repeats; see docs/mathematics.md */
} karma_importance;

typedef struct karma_importances {
    size_t n_targets, n_attributes, n_rows; /* attributes: those measured; rows: those with a label */
    double *metric;                         /* of each target, not permuted: accuracy of classes, R2 of numbers */
    karma_importance *items;                /* items[target * n_attributes + k]: the largest first */
} karma_importances;

/* By permutation on the rows that have a label; they should not be the training rows. Missing cells stay missing. Row
 * weights count as in karma_evaluate. Cost: for each attribute, `repeats` predictions of the rows that observe it. Free
 * with karma_importances_clear. Errors: KARMA_ERR_OPTION for options out of range, KARMA_ERR_DATA if no row has a
 * label, KARMA_ERR_CANCELLED, KARMA_ERR_MEMORY. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_measure_importance(karma_importances *out, const karma_model *model,
                                                const karma_table *table, const karma_explain_options *options,
                                                const karma_hooks *hooks, karma_error *err);
/* The same of n attributes of the model, by their numbers; items are of these alone. NULL: of all. For tables of
 * thousands of columns. Errors: as above, and KARMA_ERR_OPTION for a number that the model does not have. Cost: for
 * each of these attributes as above. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_measure_importance_of(karma_importances *out, const karma_model *model,
                                                   const karma_table *table, const size_t *attributes, size_t n,
                                                   const karma_explain_options *options, const karma_hooks *hooks,
                                                   karma_error *err);
KARMA_API void karma_importances_clear(karma_importances *importances);

/* --- how much a row has in common with the training rows --- */

/* A support row shares a row's attributes if it observes at least half of those the row observes. Levels of warning: */
typedef enum karma_overlap_level {
    KARMA_OVERLAP_GOOD,      /* none of the following */
    KARMA_OVERLAP_THIN,      /* fewer than KARMA_THIN_ROWS sharing rows, or a share below KARMA_THIN_SHARE */
    KARMA_OVERLAP_VERY_THIN, /* the same with KARMA_VERY_THIN_ROWS, KARMA_VERY_THIN_SHARE */
    KARMA_OVERLAP_NOTHING    /* the row observes nothing that the model knows */
} karma_overlap_level;

#define KARMA_THIN_ROWS       30
#define KARMA_THIN_SHARE      0.01
#define KARMA_VERY_THIN_ROWS  5
#define KARMA_VERY_THIN_SHARE 0.001

typedef struct karma_overlap {
    size_t observed; /* attributes of the model that the row observes */
    size_t sharing;  /* support rows that share them; 0 if the row observes none */
    double share;    /* of all support rows */
    karma_overlap_level level;
} karma_overlap;

/* overlaps[0..rows of the table). A precomputed kernel is refused. Cost: one comparison of masks per row and support
 * row. Errors: KARMA_ERR_DATA for a table or a model without columns that can be compared, KARMA_ERR_MEMORY. Threads:
 * safe; inputs are only read. */
KARMA_API karma_status karma_measure_overlap(karma_overlap *overlaps, const karma_model *model,
                                             const karma_table *table, const karma_hooks *hooks, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
