/* Rows that are split over processes, and sums over all rows that do not depend on the split.
 *
 * All rows, counted through the processes, are cut into granules of a power of two times 256 rows, at most 16,384 of
 * them, which depends on the number of rows alone. A process has whole granules, in order. A granule is summed from
 * its first row to its last, and granules are summed along a binary tree: 0 + 1, 2 + 3, ..., then the pairs, and so
 * on. Every sum is therefore made of the same additions for any number of threads and processes, and so are the bits
 * of it. Where two neighbours of the tree are in two processes, one sends its sum to the other, and at the end rank 0
 * sends the result to all. */
#ifndef KARMA_I_PARTITION_H
#define KARMA_I_PARTITION_H

#include "base/messages.h"

typedef struct karma_i_partition {
    const karma_ranks *ranks;
    size_t n_rows;       /* of all processes */
    size_t first, count; /* those of this one */
} karma_i_partition;

enum { KARMA_I_LEAST_GRANULE = 256, KARMA_I_MOST_GRANULES = 16384 };

/* All rows are here. */
karma_i_partition karma_i_partition_whole(size_t n_rows);
/* The part of this process. */
karma_i_partition karma_i_partition_part(size_t n_rows, const karma_ranks *ranks);
/* The first row of a rank; that of `size` is n_rows. */
size_t karma_i_partition_start(size_t n_rows, size_t rank, size_t n_ranks);

size_t karma_i_granule_rows(size_t n_rows);
static inline size_t karma_i_partition_granule_rows(const karma_i_partition *s) {
    return karma_i_granule_rows(s->n_rows);
}
/* Granules of this process. */
size_t karma_i_partition_n_granules(const karma_i_partition *s);

/* out[i * width ...] become the values of row index[i], which counts through all processes: `own` has those of this
 * process's rows. */
karma_status karma_i_partition_fetch(double *out, const double *own, size_t width, const size_t *index, size_t count,
                                     const karma_i_partition *split, karma_error *err);

/* --- sums along the tree ------------------------------------------------------------------------------- */

/* Nodes that wait for a neighbour: at most two of each level, and levels are few. */
enum { KARMA_I_MOST_NODES = 40 };

typedef struct karma_i_tree_node {
    size_t first;   /* granule */
    unsigned level; /* it has 2^level granules, or those that are left */
} karma_i_tree_node;

/* Sums of `width` numbers over granules that come one after the other; only those that still wait for a neighbour are
 * kept. */
typedef struct karma_i_tree {
    size_t width, n_granules; /* of all processes */
    size_t next;              /* granule */
    karma_i_tree_node nodes[KARMA_I_MOST_NODES];
    size_t n_nodes;
    double *sums; /* of each node */
} karma_i_tree;

/* Sums from granule `first` on; memory for at most two of each level of the tree. Clear it even if this fails. */
karma_status karma_i_tree_init(karma_i_tree *tree, size_t width, size_t n_granules, size_t first, karma_error *err);
void karma_i_tree_clear(karma_i_tree *tree);
/* The sums of the next granule, zeroed, to be filled in; then they are added. `level`: it is a node of the tree. */
double *karma_i_tree_open(karma_i_tree *tree);
void karma_i_tree_close(karma_i_tree *tree, unsigned level);
/* Both at once, for sums that several threads add up in slices: where the sums of the next granule go, which are not
 * zeroed. Once they are there, they are added to the `width` numbers before them, the result to those before it, and so
 * on, *n_additions times. */
double *karma_i_tree_pass(karma_i_tree *tree, size_t *n_additions);
/* After the last granule of a node: its sums. */
const double *karma_i_tree_node_sums(karma_i_tree *tree, unsigned level);

/* A tree for all granules of this process, and its total over all processes when they are closed. */
karma_status karma_i_tree_begin(karma_i_tree *tree, size_t width, const karma_i_partition *split, karma_error *err);
karma_status karma_i_tree_total(double *out, karma_i_tree *tree, const karma_i_partition *split, karma_error *err);

/* Adds the terms of rows `first` to `end` of this process to the sums. */
typedef void (*karma_i_add_rows_fn)(double *sums, const void *payload, size_t first, size_t end);
/* out[0..width) becomes the sum over all rows of all processes. */
karma_status karma_i_partition_sum(double *out, size_t width, const karma_i_partition *split, karma_i_add_rows_fn add,
                                   const void *payload, karma_error *err);

#endif
