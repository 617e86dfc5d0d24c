/* A forest as a few arrays, for model files.
 *
 * For nodes in preorder only the splits are stored. The right children, the ends of trees and the numbers of leaves
 * follow from them. The leaves' values are not kept. */
#ifndef KARMA_I_FOREST_STORE_H
#define KARMA_I_FOREST_STORE_H

#include "forest/forest.h"

typedef struct karma_i_stored_forest {
    size_t n_trees, n_nodes, n_sets;
    uint32_t *attribute;   /* of each node, or KARMA_I_LEAF */
    uint16_t *threshold;   /* of each node: 2 · threshold + (missing cells go left) of a number, otherwise 0 */
    karma_i_bin_set *sets; /* of the splits by categories, in their order */
} karma_i_stored_forest;

/* Of a forest that karma_i_forest_append made. The sets are the forest's, the other two arrays the caller's. */
karma_status karma_i_forest_store(karma_i_stored_forest *out, const karma_i_forest *forest, karma_error *err);
/* The forest again, with leaves whose values are all 0. Fails where the arrays are not those of trees. */
karma_status karma_i_forest_restore(karma_i_forest **out, const karma_i_stored_forest *stored,
                                    const karma_i_level_bins *levels, karma_error *err);

#endif
