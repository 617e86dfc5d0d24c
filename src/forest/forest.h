/* A forest: trees that give every row one leaf each. Two rows are as similar as the share of trees in which their
 * leaves are equal.
 *
 * The nodes of a tree are in preorder: the left child of node i is node i + 1, so only the right one is stored.
 * Leaves are numbered from 1 in that order; these numbers are the codes of rows. Everything a file needs is in plain
 * arrays. */
#ifndef KARMA_I_FOREST_H
#define KARMA_I_FOREST_H

#include "forest/tree_split.h"

/* Instead of an attribute: the node is a leaf. */
#define KARMA_I_LEAF UINT32_MAX

/* Added to the number of a set. */
#define KARMA_I_BY_SET (UINT32_C(1) << 31)

/* Leaves of a tree: codes have 16 bits, and rows keep two of them for other things (table/rows.h). */
enum { KARMA_I_MOST_LEAVES = 65534 };

typedef struct karma_i_forest_node {
    uint32_t attribute; /* that is split by, or KARMA_I_LEAF */
    uint32_t right;     /* the right child, counted from the root of the tree; 0 in a leaf */
    /* of a number: 2 · threshold + (missing cells go left), ranks up to the threshold go left;
     * of a category: KARMA_I_BY_SET + the number of the set of bins that go left; of a leaf: its code */
    uint32_t test;
} karma_i_forest_node;

typedef struct karma_i_forest {
    size_t n_trees, n_outputs;
    karma_i_level_bins levels;  /* of the attributes */
    size_t *tree_start;         /* n_trees + 1: the root of each tree among all nodes */
    size_t *leaf_start;         /* n_trees + 1: the first leaf of each tree among all leaves */
    karma_i_forest_node *nodes; /* tree by tree */
    karma_i_bin_set *sets;
    /* Scores: the base of an output plus the values of a row's leaves. Leaves have a value for every output or, where
     * values_per_leaf is 1 and there are several outputs, tree t only for output t mod n_outputs. */
    size_t values_per_leaf;
    float *values;                    /* leaf by leaf */
    double *base;                     /* n_outputs */
    size_t n_nodes, n_sets, n_values; /* lengths of the arrays */
    size_t node_capacity, set_capacity, value_capacity;
} karma_i_forest;

/* A forest without trees and room for `most_trees`. The levels are copied. */
karma_status karma_i_forest_new(karma_i_forest **out, const karma_i_level_bins *levels, size_t most_trees,
                                size_t n_outputs, size_t values_per_leaf, karma_error *err);
karma_status karma_i_forest_copy(karma_i_forest **out, const karma_i_forest *forest, karma_error *err);
void karma_i_forest_free(karma_i_forest *forest);

/* Checks that arrays from a file are a forest: trees without cycles, attributes, sets and bins that exist, codes in
 * order, finite values. All other functions rely on it. */
karma_status karma_i_forest_validate(const karma_i_forest *forest, karma_error *err);

/* The leaf of each row in each tree: codes[i * stride + t], 1 to the number of leaves. Columns as in training; codes of
 * levels that training did not have count as missing. */
karma_status karma_i_forest_apply(uint16_t *codes, size_t stride, const karma_i_forest *forest,
                                  const karma_i_forest_column *columns, size_t n_rows, int threads, karma_error *err);

/* Scores from codes: scores[i * n_outputs + k]. */
void karma_i_forest_scores(double *scores, const karma_i_forest *forest, const uint16_t *codes, size_t stride,
                           size_t n_rows);

static inline size_t karma_i_forest_n_leaves(const karma_i_forest *forest, size_t tree) {
    return forest->leaf_start[tree + 1] - forest->leaf_start[tree];
}

#endif
