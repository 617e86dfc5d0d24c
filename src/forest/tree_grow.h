/* One tree from the sums of its rows (row_sums.h): the leaf with the largest gain is split next, until there are as
 * many leaves as allowed or no leaf can be split.
 *
 * The rows of a node are a range of one array, so a split only reorders that range. The sums of all bins (the
 * histogram) of the smaller child are added up; those of the larger one are the parent's minus these. The result does
 * not depend on the number of threads.
 *
 * If rows are split over processes, each grows the same tree: it adds up its own rows, and the histograms of all
 * processes are added before a split is looked for. */
#ifndef KARMA_I_TREE_GROW_H
#define KARMA_I_TREE_GROW_H

#include "base/rng.h"
#include "forest/tree_split.h"

enum { KARMA_I_MOST_DEPTH = 64 };

typedef struct karma_i_tree_rules {
    karma_i_split_rules split;
    size_t most_leaves;   /* at least 1 */
    size_t most_depth;    /* splits from the root to a leaf, at most KARMA_I_MOST_DEPTH */
    size_t split_columns; /* columns that each split draws from those of the tree; 0: it looks at all */
} karma_i_tree_rules;

/* Where a leaf stands in `left` of the nodes. */
#define KARMA_I_NO_CHILD UINT32_MAX

typedef struct karma_i_grown_node {
    uint32_t left, right;  /* children, with larger numbers; left KARMA_I_NO_CHILD: a leaf */
    uint32_t first, count; /* its rows in this process: a range of `rows` */
    uint32_t n_rows;       /* in all processes */
    uint32_t depth;
    karma_i_split split; /* of a leaf: without meaning */
} karma_i_grown_node;

typedef struct karma_i_grower karma_i_grower;

/* For trees of these bins under these rules; both must outlive it. `most_words`: of a row's sums. If the rows of the
 * bins are split, all processes call these functions together. */
karma_status karma_i_grower_new(karma_i_grower **out, const karma_i_bins *bins, const karma_i_tree_rules *rules,
                                size_t most_words, int threads, karma_error *err);
void karma_i_grower_free(karma_i_grower *grower);

/* Grows a tree on the given rows, ascending and at least one in all processes, and the given columns. `rng` draws the
 * columns of splits.
 * The tree belongs to the grower and lasts until its next one. */
void karma_i_grow_tree(karma_i_grower *grower, const karma_i_row_sums *sums, const uint32_t *rows, size_t n_rows,
                       const uint32_t *columns, size_t n_columns, karma_i_rng *rng);

/* The tree: node 0 is the root. */
const karma_i_grown_node *karma_i_grown_nodes(const karma_i_grower *grower);
size_t karma_i_grown_n_nodes(const karma_i_grower *grower);
/* Its rows, node by node; the rows of a node are in ascending order. */
const uint32_t *karma_i_grown_rows(const karma_i_grower *grower);

/* The leaves of any rows of the bins: leaf[i] is the node of row first + i. At most KARMA_I_LEAF_BLOCK of them. */
enum { KARMA_I_LEAF_BLOCK = 1024 };
void karma_i_grown_leaves(uint32_t *leaf, const karma_i_grower *grower, size_t first, size_t count);

#endif
