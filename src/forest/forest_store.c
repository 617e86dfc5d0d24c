#include "forest/forest_store.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "forest/tree_grow.h"

karma_status karma_i_forest_store(karma_i_stored_forest *out, const karma_i_forest *f, karma_error *err) {
    karma_i_stored_forest stored = {.n_trees = f->n_trees, .n_nodes = f->n_nodes, .n_sets = f->n_sets, .sets = f->sets};
    stored.attribute = karma_i_alloc(f->n_nodes, sizeof *stored.attribute);
    stored.threshold = karma_i_zalloc(f->n_nodes, sizeof *stored.threshold);
    if (!stored.attribute || !stored.threshold) {
        karma_i_free(stored.attribute);
        karma_i_free(stored.threshold);
        return karma_i_fail_memory(err);
    }
    for (size_t i = 0; i < f->n_nodes; i++) {
        const karma_i_forest_node *node = &f->nodes[i];
        stored.attribute[i] = node->attribute;
        if (node->attribute != KARMA_I_LEAF && !karma_i_is_category(&f->levels, node->attribute))
            stored.threshold[i] = (uint16_t)node->test;
    }
    *out = stored;
    return KARMA_OK;
}

/* The nodes of one tree, from node `first` of the stored ones on. Returns their number, 0 if they are not a tree.
 * `sets` is the number of sets that were used before. */
static size_t restore_tree(karma_i_forest *f, const karma_i_stored_forest *s, size_t first, size_t *sets) {
    uint32_t pending[KARMA_I_MOST_DEPTH];
    size_t n_pending = 0, n_leaves = 0;
    karma_i_forest_node *nodes = f->nodes + first;
    for (size_t i = 0; first + i < s->n_nodes; i++) {
        uint32_t attribute = s->attribute[first + i], threshold = s->threshold[first + i];
        if (attribute == KARMA_I_LEAF) {
            if (threshold != 0 || n_leaves == KARMA_I_MOST_LEAVES) return 0;
            nodes[i] = (karma_i_forest_node){KARMA_I_LEAF, 0, (uint32_t)++n_leaves};
            if (n_pending == 0) return i + 1;
            nodes[pending[--n_pending]].right = (uint32_t)(i + 1);
            continue;
        }
        if (attribute >= f->levels.n_attributes || n_pending == KARMA_I_MOST_DEPTH) return 0;
        int by_set = karma_i_is_category(&f->levels, attribute);
        if (by_set ? threshold != 0 || *sets == s->n_sets : threshold >= 2 * KARMA_I_MOST_BINS) return 0;
        nodes[i] = (karma_i_forest_node){attribute, 0, by_set ? KARMA_I_BY_SET + (uint32_t)(*sets)++ : threshold};
        pending[n_pending++] = (uint32_t)i;
    }
    return 0;
}

static karma_status restore_trees(karma_i_forest *f, const karma_i_stored_forest *s, karma_error *err) {
    size_t sets = 0;
    for (; f->n_trees < s->n_trees; f->n_trees++) {
        size_t first = f->tree_start[f->n_trees], n = restore_tree(f, s, first, &sets);
        if (n == 0) return karma_i_fail(err, KARMA_ERR_FORMAT, "the nodes of tree %zu are not a tree", f->n_trees + 1);
        f->tree_start[f->n_trees + 1] = first + n;
        f->leaf_start[f->n_trees + 1] = f->leaf_start[f->n_trees] + (n + 1) / 2;
    }
    if (f->tree_start[f->n_trees] != s->n_nodes || sets != s->n_sets)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "there are more nodes or sets of levels than trees have");
    return KARMA_OK;
}

karma_status karma_i_forest_restore(karma_i_forest **out, const karma_i_stored_forest *s,
                                    const karma_i_level_bins *levels, karma_error *err) {
    karma_i_forest *f = NULL;
    if (s->n_trees == 0 || s->n_nodes < s->n_trees || s->n_nodes >= KARMA_I_BY_SET)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "a forest of %zu trees does not have %zu nodes", s->n_trees,
                            s->n_nodes);
    KARMA_TRY(karma_i_forest_new(&f, levels, s->n_trees, 1, 1, err));
    size_t n_leaves = (s->n_nodes + s->n_trees) / 2;
    f->nodes = karma_i_alloc(s->n_nodes, sizeof *f->nodes);
    f->sets = karma_i_alloc(s->n_sets, sizeof *f->sets);
    f->values = karma_i_zalloc(n_leaves, sizeof *f->values);
    karma_status st = f->nodes && f->sets && f->values ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        f->n_nodes = f->node_capacity = s->n_nodes;
        f->n_sets = f->set_capacity = s->n_sets;
        f->n_values = f->value_capacity = n_leaves;
        if (s->n_sets) memcpy(f->sets, s->sets, s->n_sets * sizeof *f->sets);
        st = restore_trees(f, s, err);
    }
    if (st == KARMA_OK) st = karma_i_forest_validate(f, err);
    if (st == KARMA_OK)
        *out = f;
    else
        karma_i_forest_free(f);
    return st;
}
