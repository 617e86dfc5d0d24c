#include "forest/forest_learn.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "forest/forest_learner.h"

void karma_i_forest_options_init(karma_i_forest_options *o, karma_i_forest_growth growth, size_t n_attributes) {
    *o = (karma_i_forest_options){.growth = growth,
                                  .n_trees = 200,
                                  .rate = 0.1,
                                  .row_share = 1.0,
                                  .column_share = 1.0,
                                  .shares_trees = 1,
                                  .tree_outputs = 8,
                                  .patience = 20,
                                  .seed = 1,
                                  .threads = 1};
    o->rules.split = (karma_i_split_rules){.l2 = 1.0, .category_l2 = 10.0, .smoothing = 10.0, .least_rows = 5};
    if (growth == KARMA_I_FOREST_BOOSTED) {
        o->rules.most_leaves = 16;
        o->rules.most_depth = 4;
        o->row_share = 0.5;
        o->column_share = 0.5;
    } else {
        o->rules.most_leaves = 512;
        o->rules.most_depth = KARMA_I_MOST_DEPTH;
        o->rules.split_columns = (size_t)ceil(sqrt((double)n_attributes));
        o->rules.split.l2 = o->rules.split.category_l2 = 0.0;
        o->rules.split.least_rows = 2;
    }
}

static int is_share(double x) {
    return x > 0.0 && x <= 1.0;
}

static karma_status check_options(const karma_i_forest_options *o, karma_error *err) {
    const karma_i_split_rules *s = &o->rules.split;
    if (o->n_trees < 1) return karma_i_fail(err, KARMA_ERR_OPTION, "a forest needs at least one tree");
    if (o->rules.most_leaves < 1 || o->rules.most_leaves > KARMA_I_MOST_LEAVES)
        return karma_i_fail(err, KARMA_ERR_OPTION, "a tree has 1 to %d leaves, not %zu", (int)KARMA_I_MOST_LEAVES,
                            o->rules.most_leaves);
    if (o->rules.most_depth > KARMA_I_MOST_DEPTH)
        return karma_i_fail(err, KARMA_ERR_OPTION, "the depth of a tree is at most %d, not %zu",
                            (int)KARMA_I_MOST_DEPTH, o->rules.most_depth);
    if (!is_share(o->rate) || !is_share(o->row_share) || !is_share(o->column_share))
        return karma_i_fail(err, KARMA_ERR_OPTION, "rate and shares of a forest are above 0 and at most 1");
    if (!(o->held_out_share >= 0.0 && o->held_out_share <= 0.5) || o->patience < 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "at most half of the rows of a forest can be held out");
    if (o->tree_outputs < 1 || o->tree_outputs > KARMA_I_MOST_TREE_OUTPUTS)
        return karma_i_fail(err, KARMA_ERR_OPTION, "a tree looks at 1 to %d outputs, not %zu",
                            (int)KARMA_I_MOST_TREE_OUTPUTS, o->tree_outputs);
    if (!(s->l2 >= 0.0 && s->category_l2 >= 0.0 && s->smoothing >= 0.0 && s->least_hessian >= 0.0) || s->least_rows < 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "the rules for splits of a forest must not be negative");
    return KARMA_OK;
}

/* ---- samples ---- */

size_t karma_i_draw_part(uint32_t *drawn, size_t count, const uint32_t *items, size_t n, size_t first, size_t end,
                         karma_i_rng *rng) {
    size_t taken = 0, here = 0;
    for (size_t i = 0; i < n && taken < count; i++) {
        if (count - taken != n - i && !(karma_i_rng_uniform(rng) * (double)(n - i) < (double)(count - taken))) continue;
        taken++;
        if (i >= first && i < end) drawn[here++] = items[i - first];
    }
    return here;
}

void karma_i_draw(uint32_t *drawn, size_t count, const uint32_t *items, size_t n, karma_i_rng *rng) {
    (void)karma_i_draw_part(drawn, count, items, n, 0, n, rng);
}

karma_status karma_i_count_before(size_t *before, size_t *all, size_t own, const karma_ranks *ranks, karma_error *err) {
    karma_i_gathered counts;
    KARMA_TRY(karma_i_ranks_gather(&counts, &own, sizeof own, ranks, err));
    *before = *all = 0;
    for (size_t k = 0; k < ranks->size; k++) {
        size_t count = ((const size_t *)(const void *)counts.bytes)[k];
        *before += k < ranks->rank ? count : 0;
        *all += count;
    }
    karma_i_gathered_clear(&counts);
    return KARMA_OK;
}

size_t karma_i_share_of(size_t n, double share) {
    size_t count = (size_t)floor(share * (double)n + 0.5);
    return count < 1 && n > 0 ? 1 : count < n ? count : n;
}

karma_i_rng karma_i_tree_rng(const karma_i_forest_learner *l, size_t tree) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, l->options->seed + UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(tree + 1));
    return rng;
}

size_t karma_i_draw_outputs(uint32_t *drawn, const karma_i_forest_learner *l, karma_i_rng *rng) {
    size_t most = l->options->tree_outputs, count = 0, n = l->n_outputs;
    for (uint32_t k = 0; k < n; k++) {
        size_t wanted = (n < most ? n : most) - count;
        if (wanted == n - k || karma_i_rng_uniform(rng) * (double)(n - k) < (double)wanted) drawn[count++] = k;
    }
    return count;
}

/* ---- copying a tree into the forest ---- */

/* Reserves room for a tree, so that copying cannot fail half-way. */
static karma_status reserve_tree(karma_i_forest *f, size_t n_nodes, karma_error *err) {
    size_t n_leaves = (n_nodes + 1) / 2, n_splits = n_nodes - n_leaves;
    int ok =
        karma_i_reserve(&f->nodes, &f->node_capacity, f->n_nodes + n_nodes, sizeof *f->nodes) &&
        karma_i_reserve(&f->sets, &f->set_capacity, f->n_sets + n_splits, sizeof *f->sets) &&
        karma_i_reserve(&f->values, &f->value_capacity, f->n_values + n_leaves * f->values_per_leaf, sizeof *f->values);
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

static uint32_t test_of(karma_i_forest *f, const karma_i_split *split) {
    if (!karma_i_is_category(&f->levels, split->attribute))
        return 2 * (uint32_t)split->threshold + (uint32_t)karma_i_bin_set_has(&split->left, 0);
    f->sets[f->n_sets] = split->left;
    return KARMA_I_BY_SET + (uint32_t)f->n_sets++;
}

karma_status karma_i_forest_append(karma_i_forest *f, const karma_i_grower *grower, const double *values,
                                   karma_error *err) {
    const karma_i_grown_node *grown = karma_i_grown_nodes(grower);
    size_t root = f->n_nodes, n_pending = 0, n_leaves = 0, width = f->values_per_leaf;
    uint32_t pending[KARMA_I_MOST_DEPTH + 1], parent[KARMA_I_MOST_DEPTH + 1]; /* subtrees to come, and whose they are */
    KARMA_TRY(reserve_tree(f, karma_i_grown_n_nodes(grower), err));
    pending[n_pending] = 0;
    parent[n_pending++] = UINT32_MAX;
    while (n_pending > 0) {
        uint32_t from = pending[--n_pending], at = (uint32_t)(f->n_nodes - root);
        karma_i_forest_node *node = &f->nodes[f->n_nodes++];
        if (parent[n_pending] != UINT32_MAX) f->nodes[root + parent[n_pending]].right = at;
        if (grown[from].left == KARMA_I_NO_CHILD) {
            *node = (karma_i_forest_node){KARMA_I_LEAF, 0, (uint32_t)++n_leaves};
            for (size_t k = 0; k < width; k++) f->values[f->n_values++] = (float)values[from * width + k];
            continue;
        }
        *node = (karma_i_forest_node){grown[from].split.attribute, 0, test_of(f, &grown[from].split)};
        pending[n_pending] = grown[from].right;
        parent[n_pending++] = at;
        pending[n_pending] = grown[from].left;
        parent[n_pending++] = UINT32_MAX; /* it comes next, wherever that is */
    }
    f->n_trees++;
    f->tree_start[f->n_trees] = f->n_nodes;
    f->leaf_start[f->n_trees] = f->leaf_start[f->n_trees - 1] + n_leaves;
    return KARMA_OK;
}

void karma_i_forest_keep(karma_i_forest *f, size_t n_trees) {
    size_t n_sets = 0;
    for (size_t i = 0; i < f->tree_start[n_trees]; i++)
        n_sets += f->nodes[i].attribute != KARMA_I_LEAF && f->nodes[i].test >= KARMA_I_BY_SET;
    f->n_trees = n_trees;
    f->n_nodes = f->tree_start[n_trees];
    f->n_sets = n_sets;
    f->n_values = f->leaf_start[n_trees] * f->values_per_leaf;
}

/* ---- the learner ---- */

static void clear_learner(karma_i_forest_learner *l) {
    for (size_t k = 0; l->outputs && k < l->n_outputs; k++) karma_i_forest_output_clear(&l->outputs[k]);
    karma_i_free(l->outputs);
    karma_i_free(l->rows);
    karma_i_free(l->columns);
    karma_i_bins_clear(&l->bins);
    karma_i_forest_free(l->forest);
}

/* The smallest and the largest bin of each column, the smallest as its distance from 255; of all processes. */
static karma_status find_bin_ranges(double *ranges, const karma_i_bins *bins, karma_error *err) {
    for (size_t j = 0; j < bins->n_attributes; j++) {
        const uint8_t *column = bins->bin + j * bins->n_rows;
        uint8_t least = KARMA_I_MOST_BINS - 1, most = 0;
        for (size_t i = 0; i < bins->n_rows; i++) {
            if (column[i] < least) least = column[i];
            if (column[i] > most) most = column[i];
        }
        ranges[2 * j] = KARMA_I_MOST_BINS - 1 - least;
        ranges[2 * j + 1] = most;
    }
    return karma_i_ranks_largest(ranges, 2 * bins->n_attributes, bins->split.ranks, err);
}

static karma_status list_columns(karma_i_forest_learner *l, karma_error *err) {
    size_t d = l->bins.n_attributes;
    double *ranges = karma_i_alloc(d, 2 * sizeof *ranges);
    karma_status st = ranges ? find_bin_ranges(ranges, &l->bins, err) : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < d; j++)
        if (KARMA_I_MOST_BINS - 1 - ranges[2 * j] < ranges[2 * j + 1]) l->columns[l->n_columns++] = (uint32_t)j;
    karma_i_free(ranges);
    return st;
}

static karma_status list_rows(karma_i_forest_learner *l, karma_error *err) {
    const karma_ranks *ranks = l->bins.split.ranks;
    int differ = 0;
    for (size_t i = 0; i < l->bins.n_rows; i++) {
        int is_labelled = 0;
        for (size_t k = 0; k < l->n_outputs; k++) {
            is_labelled |= l->outputs[k].weight[i] > 0.0;
            differ |= l->outputs[k].weight[i] != l->outputs[0].weight[i];
        }
        if (is_labelled) l->rows[l->n_rows++] = (uint32_t)i;
    }
    KARMA_TRY(karma_i_ranks_any(&differ, ranks, err));
    l->has_equal_weights = !differ;
    return karma_i_count_before(&l->n_rows_before, &l->n_rows_of_all, l->n_rows, ranks, err);
}

static karma_status init_learner(karma_i_forest_learner *l, const karma_i_forest_column *columns, size_t n_attributes,
                                 size_t n_rows, const karma_i_forest_labels *labels, karma_error *err) {
    size_t K = labels->n_outputs;
    int is_shared = l->options->shares_trees || l->options->growth == KARMA_I_FOREST_BAGGED;
    karma_i_partition split = labels->split.ranks ? labels->split : karma_i_partition_whole(n_rows);
    if (split.ranks->size > 1 && l->options->growth == KARMA_I_FOREST_BAGGED)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a random forest cannot be grown on rows that are split over "
                            "processes");
    KARMA_TRY(karma_i_bins_make_split(&l->bins, columns, n_attributes, &split, err));
    l->n_outputs = K;
    l->outputs = karma_i_zalloc(K, sizeof *l->outputs);
    l->rows = karma_i_alloc(n_rows, sizeof *l->rows);
    l->columns = karma_i_alloc(n_attributes, sizeof *l->columns);
    if (!l->outputs || !l->rows || !l->columns) return karma_i_fail_memory(err);
    for (size_t k = 0; k < K; k++) KARMA_TRY(karma_i_forest_output_init(&l->outputs[k], labels, k, n_rows, err));
    KARMA_TRY(list_rows(l, err));
    KARMA_TRY(list_columns(l, err));
    if (l->n_rows_of_all == 0) return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label to grow trees on");
    return karma_i_forest_new(&l->forest, &l->bins.levels, l->options->n_trees, K, is_shared ? K : 1, err);
}

karma_status karma_i_forest_learn(karma_i_forest **out, const karma_i_forest_column *columns, size_t n_attributes,
                                  size_t n_rows, const karma_i_forest_labels *labels,
                                  const karma_i_forest_options *options, const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(check_options(options, err));
    karma_i_forest_learner l = {.options = options, .hooks = hooks};
    karma_status st = init_learner(&l, columns, n_attributes, n_rows, labels, err);
    if (st == KARMA_OK)
        st = options->growth == KARMA_I_FOREST_BOOSTED ? karma_i_forest_boost(&l, err) : karma_i_forest_bag(&l, err);
    if (st == KARMA_OK) {
        *out = l.forest;
        l.forest = NULL;
    }
    clear_learner(&l);
    return st;
}
