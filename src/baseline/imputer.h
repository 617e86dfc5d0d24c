/* Imputers: methods that fill in the missing cells of a table, after which any learner of complete rows can follow.
 * Learned on training rows without looking at labels, applied to any rows. All work on a grid (baseline/grid.h), so
 * that columns are standardised and categories are shares; a filled category is the level with the largest share. */
#ifndef KARMA_I_IMPUTER_H
#define KARMA_I_IMPUTER_H

#include "baseline/grid.h"

typedef struct karma_i_impute_options {
    uint64_t seed;     /* of random donors and of the cells that the threshold is chosen by */
    size_t neighbours; /* of knn */
    size_t rounds;     /* of chained regressions */
    double ridge;      /* their penalty, for standardised columns */
    double threshold;  /* of soft-impute, as a share of the largest singular value of the observed cells; < 0: chosen */
    double tolerance;  /* of soft-impute: relative change |Z' - Z|/|Z| at which the iteration for a threshold stops */
} karma_i_impute_options;
void karma_i_impute_options_init(karma_i_impute_options *options);

typedef struct karma_i_imputer karma_i_imputer;

/* One method. A new one is a file with its record, and its name in KARMA_I_IMPUTER_LIST. */
typedef struct karma_i_imputer_kind {
    const char *name, *help;
    int adds_indicators; /* a column for each that has missing cells in training: 1 where it is missing */
    /* What it learns in addition to the training rows; NULL: nothing */
    karma_status (*learn)(void **state, const karma_i_imputer *imputer, const karma_hooks *hooks, karma_error *err);
    /* `x` has the features of the rows, 0 in missing cells, which are filled in. NULL: they stay at the mean
     */
    karma_status (*fill)(double *x, const karma_i_imputer *imputer, const karma_i_grid *rows, const karma_hooks *hooks,
                         karma_error *err);
    void (*forget)(void *state);
} karma_i_imputer_kind;

struct karma_i_imputer {
    const karma_i_imputer_kind *kind;
    karma_i_impute_options options;
    karma_i_recipe *recipe;
    karma_i_grid train; /* kept: donors and neighbours are rows of it */
    size_t *n_missing;  /* per attribute: training rows without it */
    void *state;
};

#define KARMA_I_IMPUTER_LIST(X)                                                                                        \
    X(mean)                                                                                                            \
    X(mean_indicator)                                                                                                  \
    X(regression)                                                                                                      \
    X(random_donor)                                                                                                    \
    X(nearest_donor)                                                                                                   \
    X(knn)                                                                                                             \
    X(soft_impute)
#define KARMA_I_DECLARE_IMPUTER(name) extern const karma_i_imputer_kind karma_i_imputer_##name;
KARMA_I_IMPUTER_LIST(KARMA_I_DECLARE_IMPUTER)
#undef KARMA_I_DECLARE_IMPUTER

/* All kinds, in the order of the list. */
size_t karma_i_imputer_n_kinds(void);
const karma_i_imputer_kind *karma_i_imputer_kind_at(size_t index);
/* NULL: there is none of this name. */
const karma_i_imputer_kind *karma_i_imputer_find(const char *name);

karma_status karma_i_imputer_learn(karma_i_imputer **out, const karma_i_imputer_kind *kind, const karma_table *train,
                                   const karma_i_impute_options *options, const karma_hooks *hooks, karma_error *err);
void karma_i_imputer_free(karma_i_imputer *imputer);

/* A new table without missing cells: the columns that training rows have, then the indicators; ids, targets and weights
 * are those of `table`. Observed cells stay as they are, but a level that no training row has is filled like a missing
 * cell. */
karma_status karma_i_imputer_apply(karma_table **out, const karma_i_imputer *imputer, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err);

/* The same for rows of a grid of the imputer's recipe: features[row * n_features + feature], room for all. */
karma_status karma_i_imputer_fill(double *features, const karma_i_imputer *imputer, const karma_i_grid *rows,
                                  const karma_hooks *hooks, karma_error *err);

/* For loops: KARMA_ERR_CANCELLED if the hooks ask to stop. */
karma_status karma_i_impute_progress(const karma_hooks *hooks, size_t done, size_t total, karma_error *err);

#endif
