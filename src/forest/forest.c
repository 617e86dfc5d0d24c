#include "forest/forest.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "forest/tree_grow.h"

/* Rows that are passed through the trees together, so that a tree stays in the cache for all of them. */
enum { ROWS = 128 };

karma_status karma_i_forest_new(karma_i_forest **out, const karma_i_level_bins *levels, size_t most_trees,
                                size_t n_outputs, size_t values_per_leaf, karma_error *err) {
    karma_i_forest *f = karma_i_zalloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    f->n_outputs = n_outputs;
    f->values_per_leaf = values_per_leaf;
    f->tree_start = karma_i_zalloc(most_trees + 1, sizeof *f->tree_start);
    f->leaf_start = karma_i_zalloc(most_trees + 1, sizeof *f->leaf_start);
    f->base = karma_i_zalloc(n_outputs, sizeof *f->base);
    karma_status st = f->tree_start && f->leaf_start && f->base ? karma_i_level_bins_copy(&f->levels, levels, err)
                                                                : karma_i_fail_memory(err);
    if (st == KARMA_OK)
        *out = f;
    else
        karma_i_forest_free(f);
    return st;
}

static int copy_array(void *out, const void *from, size_t count, size_t size) {
    void *copy = karma_i_alloc(count, size);
    if (copy && count > 0) memcpy(copy, from, count * size);
    memcpy(out, &copy, sizeof copy);
    return copy != NULL;
}

karma_status karma_i_forest_copy(karma_i_forest **out, const karma_i_forest *from, karma_error *err) {
    karma_i_forest *f = NULL;
    KARMA_TRY(karma_i_forest_new(&f, &from->levels, from->n_trees, from->n_outputs, from->values_per_leaf, err));
    memcpy(f->tree_start, from->tree_start, (from->n_trees + 1) * sizeof *f->tree_start);
    memcpy(f->leaf_start, from->leaf_start, (from->n_trees + 1) * sizeof *f->leaf_start);
    memcpy(f->base, from->base, from->n_outputs * sizeof *f->base);
    if (!copy_array(&f->nodes, from->nodes, from->n_nodes, sizeof *f->nodes) ||
        !copy_array(&f->sets, from->sets, from->n_sets, sizeof *f->sets) ||
        !copy_array(&f->values, from->values, from->n_values, sizeof *f->values)) {
        karma_i_forest_free(f);
        return karma_i_fail_memory(err);
    }
    f->n_trees = from->n_trees;
    f->node_capacity = f->n_nodes = from->n_nodes;
    f->set_capacity = f->n_sets = from->n_sets;
    f->value_capacity = f->n_values = from->n_values;
    *out = f;
    return KARMA_OK;
}

void karma_i_forest_free(karma_i_forest *f) {
    if (!f) return;
    karma_i_level_bins_clear(&f->levels);
    karma_i_free(f->tree_start);
    karma_i_free(f->leaf_start);
    karma_i_free(f->nodes);
    karma_i_free(f->sets);
    karma_i_free(f->values);
    karma_i_free(f->base);
    karma_i_free(f);
}

/* ---- leaves of rows ---- */

static inline int goes_left(const karma_i_forest *f, const karma_i_forest_node *node, uint8_t bin) {
    if (node->test & KARMA_I_BY_SET) return karma_i_bin_set_has(&f->sets[node->test ^ KARMA_I_BY_SET], bin);
    return bin ? bin <= node->test >> 1 : (int)(node->test & 1);
}

/* `bins`: of a block of rows, by attribute. */
static uint16_t leaf_of(const karma_i_forest *f, const karma_i_forest_node *root, const uint8_t *bins) {
    const karma_i_forest_node *node = root;
    while (node->attribute != KARMA_I_LEAF)
        node = goes_left(f, node, bins[(size_t)node->attribute * ROWS]) ? node + 1 : root + node->right;
    return (uint16_t)node->test;
}

/* The bins of a block of rows, as nodes test them: ranks of numbers, bins of levels. Only of attributes in use. */
static void read_bins(uint8_t *bins, const karma_i_forest *f, const karma_i_forest_column *columns,
                      const uint8_t *is_used, size_t first, size_t n) {
    for (size_t j = 0; j < f->levels.n_attributes; j++) {
        const karma_i_forest_column *column = &columns[j];
        uint8_t *own = bins + j * ROWS;
        if (!is_used[j]) continue;
        for (size_t i = 0; i < n; i++)
            own[i] = karma_i_is_category(&f->levels, j)
                         ? karma_i_level_bin(&f->levels, j, column->codes[(first + i) * column->stride])
                         : column->ranks[(first + i) * column->stride];
    }
}

static void apply_block(uint16_t *codes, size_t stride, const karma_i_forest *f, const uint8_t *bins, size_t n) {
    for (size_t t = 0; t < f->n_trees; t++)
        for (size_t i = 0; i < n; i++) codes[i * stride + t] = leaf_of(f, f->nodes + f->tree_start[t], bins + i);
}

karma_status karma_i_forest_apply(uint16_t *codes, size_t stride, const karma_i_forest *f,
                                  const karma_i_forest_column *columns, size_t n_rows, int threads, karma_error *err) {
    size_t d = f->levels.n_attributes, n_blocks = (n_rows + ROWS - 1) / ROWS;
    uint8_t *is_used = karma_i_zalloc(d, 1);
    int failed = !is_used;
    for (size_t i = 0; is_used && i < f->n_nodes; i++)
        if (f->nodes[i].attribute != KARMA_I_LEAF) is_used[f->nodes[i].attribute] = 1;
#pragma omp parallel num_threads(threads) if (n_blocks > 1)
    {
        uint8_t *bins = karma_i_alloc(d, ROWS);
#pragma omp for schedule(dynamic)
        for (size_t b = 0; b < n_blocks; b++) {
            size_t first = b * ROWS, n = n_rows - first < ROWS ? n_rows - first : ROWS;
            if (!bins || !is_used) {
#pragma omp atomic write
                failed = 1;
                continue;
            }
            read_bins(bins, f, columns, is_used, first, n);
            apply_block(codes + first * stride, stride, f, bins, n);
        }
        karma_i_free(bins);
    }
    karma_i_free(is_used);
    return failed ? karma_i_fail_memory(err) : KARMA_OK;
}

void karma_i_forest_scores(double *scores, const karma_i_forest *f, const uint16_t *codes, size_t stride,
                           size_t n_rows) {
    size_t K = f->n_outputs;
    for (size_t i = 0; i < n_rows; i++) {
        double *own = scores + i * K;
        memcpy(own, f->base, K * sizeof *own);
        for (size_t t = 0; t < f->n_trees; t++) {
            const float *value = f->values + (f->leaf_start[t] + codes[i * stride + t] - 1) * f->values_per_leaf;
            for (size_t k = 0; k < f->values_per_leaf; k++)
                own[f->values_per_leaf == 1 ? t % K : k] += (double)value[k];
        }
    }
}

/* ---- validation ---- */

static karma_status fail_format(karma_error *err, const char *what, size_t tree) {
    return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: %s in tree %zu", what, tree);
}

static karma_status validate_split(const karma_i_forest *f, const karma_i_forest_node *node, size_t tree,
                                   karma_error *err) {
    if (node->attribute >= f->levels.n_attributes) return fail_format(err, "an unknown attribute", tree);
    if (!karma_i_is_category(&f->levels, node->attribute))
        return node->test < 2 * KARMA_I_MOST_BINS ? KARMA_OK : fail_format(err, "a threshold above 255", tree);
    size_t set = node->test ^ KARMA_I_BY_SET; /* not below KARMA_I_BY_SET where the flag is missing */
    return set < f->n_sets && f->n_sets <= KARMA_I_BY_SET ? KARMA_OK
                                                          : fail_format(err, "an unknown set of levels", tree);
}

/* Walks through the nodes in preorder: `pending` has the right children still expected, and each must follow
 * its left sibling's subtree directly. So every node is reached once, and there are no cycles. */
static karma_status validate_tree(const karma_i_forest *f, size_t tree, karma_error *err) {
    const karma_i_forest_node *nodes = f->nodes + f->tree_start[tree];
    size_t n = f->tree_start[tree + 1] - f->tree_start[tree], n_pending = 0, n_leaves = 0;
    uint32_t pending[KARMA_I_MOST_DEPTH];
    for (size_t i = 0; i < n; i++) {
        if (nodes[i].attribute != KARMA_I_LEAF) {
            KARMA_TRY(validate_split(f, &nodes[i], tree, err));
            if (n_pending == KARMA_I_MOST_DEPTH) return fail_format(err, "too long a path", tree);
            pending[n_pending++] = nodes[i].right;
            continue;
        }
        if (nodes[i].test != ++n_leaves) return fail_format(err, "a leaf with a wrong number", tree);
        if (n_pending == 0 ? i + 1 != n : pending[--n_pending] != i + 1 || i + 1 == n)
            return fail_format(err, "a child out of place", tree);
    }
    if (n_leaves == 0 || n_leaves != karma_i_forest_n_leaves(f, tree) || n_leaves > KARMA_I_MOST_LEAVES)
        return fail_format(err, "a wrong number of leaves", tree);
    return KARMA_OK;
}

static karma_status validate_levels(const karma_i_level_bins *levels, karma_error *err) {
    size_t start = 0;
    for (size_t j = 0; j < levels->n_attributes; j++) {
        if (levels->start[j] != start || levels->n_levels[j] > UINT16_MAX)
            return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: attribute %zu has wrong levels", j);
        if (levels->n_levels[j] > 0 && levels->bin[start] != 0)
            return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: attribute %zu has a bin for missing cells", j);
        start += levels->n_levels[j] ? (size_t)levels->n_levels[j] + 1 : 0;
    }
    if (levels->start[levels->n_attributes] != start)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: the levels do not end where they should");
    return KARMA_OK;
}

/* Trees and leaves follow one another and end with their arrays. */
static karma_status validate_sizes(const karma_i_forest *f, karma_error *err) {
    if (f->n_outputs == 0 || (f->values_per_leaf != f->n_outputs && f->values_per_leaf != 1))
        return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: %zu values per leaf for %zu outputs", f->values_per_leaf,
                            f->n_outputs);
    if (f->tree_start[0] != 0 || f->leaf_start[0] != 0)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: the first tree does not begin at 0");
    for (size_t t = 0; t < f->n_trees; t++)
        if (f->tree_start[t + 1] <= f->tree_start[t] || f->leaf_start[t + 1] <= f->leaf_start[t])
            return fail_format(err, "no node", t);
    size_t n_leaves = f->leaf_start[f->n_trees];
    if (f->tree_start[f->n_trees] != f->n_nodes || n_leaves > f->n_nodes || f->n_values % f->values_per_leaf != 0 ||
        f->n_values / f->values_per_leaf != n_leaves)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: nodes, leaves and values differ in number");
    return KARMA_OK;
}

karma_status karma_i_forest_validate(const karma_i_forest *f, karma_error *err) {
    KARMA_TRY(validate_levels(&f->levels, err));
    KARMA_TRY(validate_sizes(f, err));
    for (size_t t = 0; t < f->n_trees; t++) KARMA_TRY(validate_tree(f, t, err));
    for (size_t v = 0; v < f->n_values; v++)
        if (!isfinite(f->values[v])) return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: a value is not finite");
    for (size_t k = 0; k < f->n_outputs; k++)
        if (!isfinite(f->base[k])) return karma_i_fail(err, KARMA_ERR_FORMAT, "forest: a base is not finite");
    return KARMA_OK;
}
