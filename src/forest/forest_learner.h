/* Shared by boosting and bagging: rows as bins and outputs, samples, and adding a tree to the forest. */
#ifndef KARMA_I_FOREST_LEARNER_H
#define KARMA_I_FOREST_LEARNER_H

#include "forest/forest_learn.h"

typedef struct karma_i_forest_learner {
    const karma_i_forest_options *options;
    const karma_hooks *hooks;
    karma_i_bins bins;
    size_t n_outputs;
    karma_i_forest_output *outputs;
    int has_equal_weights; /* the weights of rows are the same for all outputs */
    uint32_t *rows;        /* labelled rows of this process, ascending */
    size_t n_rows;
    size_t n_rows_before, n_rows_of_all; /* in the processes before this one, and in all */
    uint32_t *columns;                   /* those that differ between rows, ascending */
    size_t n_columns;
    karma_i_forest *forest; /* what has grown so far */
} karma_i_forest_learner;

/* Some of the items, in their order: `count` drawn without replacement. */
void karma_i_draw(uint32_t *drawn, size_t count, const uint32_t *items, size_t n, karma_i_rng *rng);
/* The same where only items `first` to `end` of the n are here, the first of them in items[0]; returns how many of them
 * were drawn. */
size_t karma_i_draw_part(uint32_t *drawn, size_t count, const uint32_t *items, size_t n, size_t first, size_t end,
                         karma_i_rng *rng);
/* How many there are in the processes before this one, and in all, of which this one has `own`. */
karma_status karma_i_count_before(size_t *before, size_t *all, size_t own, const karma_ranks *ranks, karma_error *err);
/* A share of n, rounded, at least 1 of any. */
size_t karma_i_share_of(size_t n, double share);
/* The random numbers of one tree. */
karma_i_rng karma_i_tree_rng(const karma_i_forest_learner *learner, size_t tree);

/* The outputs that a shared tree looks at, and how many; ascending. */
size_t karma_i_draw_outputs(uint32_t *drawn, const karma_i_forest_learner *learner, karma_i_rng *rng);

/* Appends the grower's tree. values: values_per_leaf for each of its nodes, of which those of leaves are kept. */
karma_status karma_i_forest_append(karma_i_forest *forest, const karma_i_grower *grower, const double *values,
                                   karma_error *err);

/* Only the first n_trees stay. */
void karma_i_forest_keep(karma_i_forest *forest, size_t n_trees);

karma_status karma_i_forest_boost(karma_i_forest_learner *learner, karma_error *err);
karma_status karma_i_forest_bag(karma_i_forest_learner *learner, karma_error *err);

#endif
