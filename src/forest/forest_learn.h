/* Forests grown on labelled rows.
 *
 * Boosted: each tree is grown on the gradients of the loss at the scores of all trees before it, and its leaf values
 * times the rate are added to these scores. Small trees, many of them.
 * Bagged: each tree is grown on its own bootstrap sample of the rows, on the targets themselves (classes as -1 and 1),
 * and scores are the mean over the trees. Large trees, each split looking at a few columns only.
 *
 * The same for any number of threads: sums are exact, and each tree has its own random numbers, from the seed and its
 * place. */
#ifndef KARMA_I_FOREST_LEARN_H
#define KARMA_I_FOREST_LEARN_H

#include "forest/forest.h"
#include "forest/forest_loss.h"
#include "forest/tree_grow.h"

typedef enum karma_i_forest_growth { KARMA_I_FOREST_BOOSTED, KARMA_I_FOREST_BAGGED } karma_i_forest_growth;

typedef struct karma_i_forest_options {
    karma_i_forest_growth growth;
    size_t n_trees;
    karma_i_tree_rules rules;
    double rate;         /* boosted: in (0, 1] */
    double row_share;    /* of the rows that a tree sees, in (0, 1]; bagged: drawn with replacement */
    double column_share; /* of the columns that a tree sees, in (0, 1] */
    /* Whether a tree is grown on the gradients of all outputs together. If not, tree t is grown on those of output t
     * mod n_outputs; bagged trees are always shared. */
    int shares_trees;
    /* The number of outputs in which a shared tree looks for splits, drawn for each tree; at most
     * KARMA_I_MOST_TREE_OUTPUTS. */
    size_t tree_outputs;
    /* Boosted: of the labelled rows, those that no tree is grown on. The number of trees is then the one with the
     * smallest mean loss of these rows, and growing ends after `patience` trees without a smaller one. 0: n_trees are
     * grown on all rows. */
    double held_out_share;
    size_t patience;
    uint64_t seed;
    int threads;
} karma_i_forest_options;

/* Sensible settings for a table with this number of attributes. */
void karma_i_forest_options_init(karma_i_forest_options *options, karma_i_forest_growth growth, size_t n_attributes);

/* Rows where all weights are 0 are not looked at. */
karma_status karma_i_forest_learn(karma_i_forest **out, const karma_i_forest_column *columns, size_t n_attributes,
                                  size_t n_rows, const karma_i_forest_labels *labels,
                                  const karma_i_forest_options *options, const karma_hooks *hooks, karma_error *err);

#endif
