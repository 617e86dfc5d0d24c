/* The hidden low-rank subspace that a model has, or that a table may lie in. */
#ifndef KARMA_SUBSPACE_H
#define KARMA_SUBSPACE_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a factor of the model's kernel has a subspace. Those of the kernels subspace and union do. */
KARMA_API int karma_model_has_subspace(const karma_model *model);

/* A completed table. */
typedef struct karma_completion {
    karma_table *table;  /* ids, the model's attributes in its order, targets and weights */
    karma_table *errors; /* ids and the standard error of each of these cells; NULL unless asked for */
    size_t n_completed;  /* cells that were missing */
    size_t rank;         /* dimension of the subspace */
    /* Completed cells about which the observed cells of their row give no information, because their columns are never
     * observed together in the training rows: they are the column's mean, with the column's standard deviation as
     * error. */
    size_t n_undetermined;
} karma_completion;

/* Completes the rows of a table by the subspace of a model whose kernel has one (of several the first). Observed cells
 * do not change, even if their level is not in the training data. A missing number becomes its conditional
 * mean given the observed cells of the row, in the column's units; a missing category the level with the largest
 * completed share, an ordered one the nearest level.
 *
 * Errors are 0 for observed cells. For numbers they are the standard error of the cell (not of its mean alone), for
 * ordered categories the same in places of the order; a category has no standard error but 1 minus the largest share,
 * from 0 to 1.
 *
 * Any number of threads may call it with one model; `threads`, 0 for all processors, does not change the result. Free
 * with karma_completion_clear. Errors: KARMA_ERR_DATA if the model has no subspace or the table does not fit it,
 * KARMA_ERR_MEMORY. Cost: for each row, its observed features times the square of the rank. Threads: safe; inputs are
 * only read. */
KARMA_API karma_status karma_complete(karma_completion *out, const karma_model *model, const karma_table *table,
                                      int with_errors, size_t threads, const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_completion_clear(karma_completion *completion);

/* Whether the low-rank assumption holds, judged by the share of the variance of hidden cells that the subspace
 * explains. */
#define KARMA_LOWRANK_HOLDS_FROM  0.5
#define KARMA_LOWRANK_PARTLY_FROM 0.1
typedef enum karma_lowrank_verdict {
    KARMA_LOWRANK_NO, /* completions predict missing cells hardly better than column means */
    KARMA_LOWRANK_PARTLY,
    KARMA_LOWRANK_HOLDS,
    KARMA_LOWRANK_UNKNOWN /* most missing cells are in columns never observed together with those of their rows */
} karma_lowrank_verdict;

typedef struct karma_rank_trial {
    size_t rank;
    double score; /* mean log density of hidden cells given the rest of their rows */
} karma_rank_trial;

enum { KARMA_N_QUARTILES = 5 };

/* A check of the assumption that the rows of a table lie in a subspace. Rows are encoded as training would; λ of a row
 * is the smallest positive eigenvalue of Q_oo, Q the projection onto the subspace (definition regularity). */
typedef struct karma_lowrank {
    size_t n_rows, n_attributes, rank;
    size_t n_trials;
    karma_rank_trial *trials; /* the ranks that were tried, in the order of trying; none if the rank was given */
    size_t n_directions;      /* at most `rank` */
    double *spectrum;         /* standard deviations along the directions, descending */
    double noise;             /* σ, the standard deviation of the cells around the subspace */
    double explained; /* share of the variance of hidden cells, compared with the columns' means; may be below 0 */
    karma_lowrank_verdict verdict;
    double *lambda;                     /* by row; 0: the row observes nothing of the subspace */
    unsigned char *is_reconstructible;  /* by row: do its observed cells determine its place in the subspace? */
    size_t *n_observed;                 /* by row: attributes */
    size_t n_reconstructible, n_blind;  /* rows; blind: λ = 0 */
    double quartile[KARMA_N_QUARTILES]; /* least, quartiles and largest λ of the rows that are not blind */
    size_t *n_critical; /* by attribute: rows that are reconstructible, but not without this attribute */
    /* Which columns are observed together. Columns in different groups are not linked by enough pairs to know how they
     * are related: a missing cell is undetermined if its row observes no column of its group. A row with such a cell is
     * not reconstructible. 0 pairs: there are too many to examine. */
    size_t n_pairs, n_pairs_together; /* of columns; together: in some row */
    size_t n_groups;
    size_t *group;                    /* by attribute; those never observed are in group 0 */
    size_t n_missing, n_undetermined; /* cells of columns that are observed somewhere */
} karma_lowrank;

/* Uses the options for the encoding of rows and for the subspace. Errors: KARMA_ERR_OPTION for options out of range,
 * KARMA_ERR_DATA for a table that cannot be encoded, KARMA_ERR_CANCELLED, KARMA_ERR_MEMORY. Cost: that of finding the
 * subspace, several ranks with tens of passes over the cells. Threads: safe; inputs are only read. */
KARMA_API karma_status karma_lowrank_new(karma_lowrank **out, const karma_table *table,
                                         const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_lowrank_free(karma_lowrank *report);

#ifdef __cplusplus
}
#endif
#endif
