/* Trees against a slow implementation that tries every split of every node; boosting and bagging against their
 * definitions, row by row; and properties of all forests: weights act as repetitions, random labels are not learned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/error.h"
#include "forest/forest_learn.h"

enum { MOST_ROWS = 1200, MOST_COLUMNS = 12, MOST_OUTPUTS = 3, MOST_NODES = 400 };

/* --- tables -------------------------------------------------------------------------------------------- */

typedef struct table {
    size_t n, d;
    size_t n_levels[MOST_COLUMNS];
    uint8_t ranks[MOST_COLUMNS][MOST_ROWS];
    uint16_t codes[MOST_COLUMNS][MOST_ROWS];
    karma_i_forest_column columns[MOST_COLUMNS];
} table;

/* Column j is a number with few or many ranks, or a category; a fifth of the cells is missing. */
static void draw_table(table *t, size_t n, size_t d, int with_categories, karma_i_rng *rng) {
    t->n = n;
    t->d = d;
    for (size_t j = 0; j < d; j++) {
        t->n_levels[j] = with_categories && j % 2 == 1 ? 2 + j : 0;
        size_t spread = j % 3 == 0 ? 255 : 6;
        for (size_t i = 0; i < n; i++) {
            int is_missing = karma_i_rng_uniform(rng) < 0.2;
            t->ranks[j][i] = (uint8_t)(is_missing ? 0 : 1 + karma_i_rng_below(rng, spread) * (254 / spread));
            t->codes[j][i] = (uint16_t)(is_missing || !t->n_levels[j] ? 0 : 1 + karma_i_rng_below(rng, t->n_levels[j]));
        }
        t->columns[j] = t->n_levels[j] ? (karma_i_forest_column){NULL, t->codes[j], 1, t->n_levels[j]}
                                       : (karma_i_forest_column){t->ranks[j], NULL, 1, 0};
    }
}

static size_t cell(const table *t, size_t j, size_t i) {
    return t->n_levels[j] ? t->codes[j][i] : t->ranks[j][i];
}

/* --- the slow implementation ---------------------------------------------------------------------------- */

typedef struct twin_node {
    int is_leaf, depth;
    uint8_t rows[MOST_ROWS]; /* whether a row is in it */
    double gain;
    size_t attribute;
    uint8_t goes_left[256]; /* by cell */
    size_t left, right;
} twin_node;

typedef struct twin {
    const table *t;
    const karma_i_tree_rules *rules;
    size_t n_outputs;
    long g[MOST_ROWS][MOST_OUTPUTS], h[MOST_ROWS][MOST_OUTPUTS]; /* whole numbers: sums are exact in any order */
    int shares_hessian;
    size_t n_nodes, n_leaves;
    twin_node nodes[MOST_NODES];
} twin;

/* S(left) + S(right) of a way to divide the rows of a node, with the rules applied; -1 if it is not allowed. */
static double twin_score(const twin *w, const uint8_t *rows, size_t j, const uint8_t *goes_left) {
    double G[2][MOST_OUTPUTS] = {{0}}, H[2][MOST_OUTPUTS] = {{0}}, total[2] = {0}, score = 0.0;
    size_t count[2] = {0};
    for (size_t i = 0; i < w->t->n; i++) {
        if (!rows[i]) continue;
        int side = goes_left[cell(w->t, j, i)] ? 0 : 1;
        count[side]++;
        for (size_t k = 0; k < w->n_outputs; k++) {
            G[side][k] += (double)w->g[i][k];
            H[side][k] += (double)w->h[i][k];
        }
    }
    for (int s = 0; s < 2; s++)
        for (size_t k = 0; k < (w->shares_hessian ? 1 : w->n_outputs); k++) total[s] += H[s][k];
    for (int s = 0; s < 2; s++)
        if (count[s] < w->rules->split.least_rows || total[s] < w->rules->split.least_hessian) return -1.0;
    for (size_t k = 0; k < w->n_outputs; k++) {
        double a = H[0][k] + w->rules->split.l2, b = H[1][k] + w->rules->split.l2;
        if (a > 0.0 && b > 0.0) score += (G[0][k] * G[0][k] * b + G[1][k] * G[1][k] * a) / (a * b);
    }
    return score;
}

static double twin_own_score(const twin *w, const uint8_t *rows) {
    double score = 0.0;
    for (size_t k = 0; k < w->n_outputs; k++) {
        double G = 0.0, H = w->rules->split.l2;
        for (size_t i = 0; i < w->t->n; i++)
            if (rows[i]) G += (double)w->g[i][k], H += (double)w->h[i][k];
        score += H > 0.0 ? G * G / H : 0.0;
    }
    return score;
}

static void twin_offer(twin_node *node, double *best, const twin *w, size_t j, const uint8_t *goes_left) {
    double score = twin_score(w, node->rows, j, goes_left);
    if (!(score > *best)) return;
    *best = score;
    node->attribute = j;
    memcpy(node->goes_left, goes_left, 256);
}

/* Which cell values the rows of the node have. */
static size_t twin_present(uint8_t *present, const twin *w, const twin_node *node, size_t j) {
    size_t n = 0;
    memset(present, 0, 256);
    for (size_t i = 0; i < w->t->n; i++)
        if (node->rows[i]) present[cell(w->t, j, i)] = 1;
    for (size_t b = 0; b < 256; b++) n += present[b];
    return n;
}

/* Every threshold halfway between two ranks of the node, with missing cells on either side. */
static void twin_try_number(twin_node *node, double *best, const twin *w, size_t j) {
    uint8_t present[256], goes_left[256];
    twin_present(present, w, node, j);
    for (size_t last = 1; last < 256; last++) {
        size_t next = last + 1;
        if (!present[last]) continue;
        while (next < 256 && !present[next]) next++;
        size_t threshold = next < 256 ? (last + next) / 2 : 255;
        for (int missing_left = 0; missing_left < 1 + present[0]; missing_left++) {
            goes_left[0] = (uint8_t)missing_left;
            for (size_t b = 1; b < 256; b++) goes_left[b] = b <= threshold;
            twin_offer(node, best, w, j, goes_left);
        }
    }
}

/* Every set of levels, the missing cells being one; the first one present is on the left. */
static void twin_try_category(twin_node *node, double *best, const twin *w, size_t j) {
    uint8_t present[256], goes_left[256];
    size_t n = twin_present(present, w, node, j);
    for (size_t set = 1; set < (size_t)1 << n; set += 2) {
        size_t bit = 0;
        memset(goes_left, 0, 256);
        for (size_t b = 0; b < 256; b++)
            if (present[b]) goes_left[b] = set >> bit++ & 1;
        twin_offer(node, best, w, j, goes_left);
    }
}

/* A value that no row of the node has goes to the side with more rows; for a category the left side has the lower
 * gradient. */
static void twin_complete(twin_node *node, const twin *w) {
    uint8_t present[256];
    double count[2] = {0}, G[2] = {0}, H[2] = {0};
    int is_category = w->t->n_levels[node->attribute] > 0;
    twin_present(present, w, node, node->attribute);
    for (size_t i = 0; i < w->t->n; i++) {
        if (!node->rows[i]) continue;
        int side = node->goes_left[cell(w->t, node->attribute, i)] ? 0 : 1;
        count[side] += 1.0;
        G[side] += (double)w->g[i][0];
        H[side] += (double)w->h[i][0];
    }
    if (is_category && G[0] * H[1] > G[1] * H[0]) {
        for (size_t b = 0; b < 256; b++) node->goes_left[b] = !node->goes_left[b];
        double left = count[0];
        count[0] = count[1];
        count[1] = left;
    }
    for (size_t b = 0; b < (is_category ? 256 : 1); b++)
        if (!present[b]) node->goes_left[b] = count[0] > count[1];
}

static void twin_search(twin_node *node, const twin *w) {
    double own = twin_own_score(w, node->rows), best = own + 1e-10 * own;
    node->is_leaf = 1;
    node->gain = 0.0;
    node->attribute = SIZE_MAX;
    if ((size_t)node->depth == w->rules->most_depth) return;
    for (size_t j = 0; j < w->t->d; j++) {
        if (w->t->n_levels[j])
            twin_try_category(node, &best, w, j);
        else
            twin_try_number(node, &best, w, j);
    }
    if (node->attribute == SIZE_MAX) return;
    node->gain = best - own;
    twin_complete(node, w);
}

static void twin_grow(twin *w) {
    memset(&w->nodes[0], 0, sizeof w->nodes[0]);
    memset(w->nodes[0].rows, 1, w->t->n);
    twin_search(&w->nodes[0], w);
    w->n_nodes = w->n_leaves = 1;
    while (w->n_leaves < w->rules->most_leaves) {
        twin_node *top = NULL;
        for (size_t i = 0; i < w->n_nodes; i++)
            if (w->nodes[i].is_leaf && w->nodes[i].gain > (top ? top->gain : 0.0)) top = &w->nodes[i];
        if (!top) return;
        assert_true(w->n_nodes + 2 <= MOST_NODES);
        top->is_leaf = 0;
        top->left = w->n_nodes;
        top->right = w->n_nodes + 1;
        for (int side = 0; side < 2; side++) {
            twin_node *child = &w->nodes[w->n_nodes++];
            memset(child, 0, sizeof *child);
            child->depth = top->depth + 1;
            for (size_t i = 0; i < w->t->n; i++)
                child->rows[i] = top->rows[i] && top->goes_left[cell(w->t, top->attribute, i)] == (side == 0);
            twin_search(child, w);
        }
        w->n_leaves++;
    }
}

static size_t twin_leaf(const twin *w, const table *t, size_t i) {
    size_t node = 0;
    while (!w->nodes[node].is_leaf) {
        const twin_node *n = &w->nodes[node];
        node = n->goes_left[cell(t, n->attribute, i)] ? n->left : n->right;
    }
    return node;
}

/* --- the tested tree --------------------------------------------------------------------------- */

static karma_i_tree_rules plain_rules(void) {
    return (karma_i_tree_rules){
        .split = {.l2 = 1.0, .least_rows = 3}, .most_leaves = 30, .most_depth = KARMA_I_MOST_DEPTH};
}

typedef struct own_tree {
    karma_i_bins bins;
    karma_i_row_sums sums;
    karma_i_grower *grower;
} own_tree;

static void grow_own(own_tree *o, const twin *w, karma_i_rng *rng) {
    static double values[MOST_ROWS];
    static uint32_t rows[MOST_ROWS], columns[MOST_COLUMNS];
    size_t n = w->t->n, K = w->n_outputs, n_hessians = w->shares_hessian ? 1 : K;
    for (size_t i = 0; i < n; i++) rows[i] = (uint32_t)i;
    for (size_t j = 0; j < w->t->d; j++) columns[j] = (uint32_t)j;
    assert_int_equal(karma_i_bins_make(&o->bins, w->t->columns, w->t->d, n, NULL), KARMA_OK);
    assert_int_equal(karma_i_row_sums_init(&o->sums, n, K, NULL), KARMA_OK);
    assert_int_equal(karma_i_grower_new(&o->grower, &o->bins, w->rules, 2 * K, 1, NULL), KARMA_OK);
    karma_i_row_sums_shape(&o->sums, K, n_hessians);
    for (size_t k = 0; k < K; k++) {
        for (size_t i = 0; i < n; i++) values[i] = (double)w->g[i][k];
        karma_i_row_sums_set_gradient(&o->sums, k, values, rows, n, NULL, karma_i_largest_size(values, rows, n, NULL));
        for (size_t i = 0; i < n; i++) values[i] = (double)w->h[i][k];
        if (k < n_hessians)
            karma_i_row_sums_set_hessian(&o->sums, k, values, rows, n, NULL,
                                         karma_i_largest_size(values, rows, n, NULL));
    }
    karma_i_grow_tree(o->grower, &o->sums, rows, n, columns, w->t->d, rng);
}

static void clear_own(own_tree *o) {
    karma_i_grower_free(o->grower);
    karma_i_row_sums_clear(&o->sums);
    karma_i_bins_clear(&o->bins);
}

static void draw_gradients(twin *w, size_t n_outputs, int shares_hessian, karma_i_rng *rng) {
    w->n_outputs = n_outputs;
    w->shares_hessian = shares_hessian;
    for (size_t i = 0; i < w->t->n; i++)
        for (size_t k = 0; k < n_outputs; k++) {
            w->g[i][k] = (long)karma_i_rng_below(rng, 200001) - 100000;
            if (w->t->ranks[0][i] > 128) w->g[i][k] += 40000 * (long)(k + 1);
            w->h[i][k] = shares_hessian && k > 0 ? w->h[i][0] : (long)(1 + karma_i_rng_below(rng, 9));
        }
}

/* The leaf of row i, found together with those of up to 600 rows before and after it. */
static size_t leaf_of(const karma_i_grower *grower, size_t i, size_t n) {
    uint32_t leaves[KARMA_I_LEAF_BLOCK];
    size_t first = i / 600 * 600, count = n - first < 600 ? n - first : 600;
    karma_i_grown_leaves(leaves, grower, first, count);
    return leaves[i - first];
}

static void check_same_tree(const twin *w, const own_tree *o) {
    const karma_i_grown_node *nodes = karma_i_grown_nodes(o->grower);
    assert_int_equal(karma_i_grown_n_nodes(o->grower), w->n_nodes);
    for (size_t i = 0; i < w->n_nodes; i++) {
        const twin_node *other = &w->nodes[i];
        size_t count = 0;
        for (size_t r = 0; r < w->t->n; r++) count += other->rows[r];
        assert_int_equal(nodes[i].count, count);
        assert_int_equal(nodes[i].left == KARMA_I_NO_CHILD, other->is_leaf);
        for (size_t r = 0; r < count; r++) assert_true(other->rows[karma_i_grown_rows(o->grower)[nodes[i].first + r]]);
        if (other->is_leaf) continue;
        assert_int_equal(nodes[i].left, other->left);
        assert_int_equal(nodes[i].split.attribute, other->attribute);
        assert_true(nodes[i].split.gain == other->gain);
        if (w->t->n_levels[other->attribute]) continue;
        assert_int_equal(karma_i_bin_set_has(&nodes[i].split.left, 0), other->goes_left[0]);
        assert_true(other->goes_left[nodes[i].split.threshold]);
        assert_true(nodes[i].split.threshold == 255 || !other->goes_left[nodes[i].split.threshold + 1]);
    }
    for (size_t i = 0; i < w->t->n; i++) assert_int_equal(leaf_of(o->grower, i, w->t->n), twin_leaf(w, w->t, i));
}

static twin the_twin;

static void compare_with_twin(const table *t, const karma_i_tree_rules *rules, size_t n_outputs, int shares_hessian,
                              karma_i_rng *rng) {
    own_tree own;
    the_twin.t = t;
    the_twin.rules = rules;
    draw_gradients(&the_twin, n_outputs, shares_hessian, rng);
    twin_grow(&the_twin);
    assert_true(the_twin.n_leaves > 1);
    grow_own(&own, &the_twin, rng);
    check_same_tree(&the_twin, &own);
    clear_own(&own);
}

static void trees_are_those_of_the_twin(void **state) {
    (void)state;
    static table t;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (int round = 0; round < 12; round++) {
        karma_i_tree_rules rules = plain_rules();
        if (round % 3 == 1) rules.most_depth = 3;
        if (round % 3 == 2) rules.split.l2 = 0.0;
        if (round % 4 == 3) rules.split.least_hessian = 60.0;
        draw_table(&t, 40 + 60 * (size_t)(round % 4), 1 + (size_t)round % 6, 0, &rng);
        compare_with_twin(&t, &rules, 1, 1, &rng);
        compare_with_twin(&t, &rules, 3, 1, &rng);
        compare_with_twin(&t, &rules, 3, 0, &rng);
    }
}

/* With λ = 0 and no smoothing, the best set of levels is a prefix of their order by gradient: the slow
 * implementation tries all. */
static void sets_of_levels_are_the_best_of_all(void **state) {
    (void)state;
    static table t;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (int round = 0; round < 8; round++) {
        karma_i_tree_rules rules = plain_rules();
        rules.split.l2 = 0.0;
        rules.split.least_rows = 1; /* with more outputs the best set need not be a prefix */
        rules.most_leaves = 12;
        draw_table(&t, 60 + 40 * (size_t)(round % 3), 2 + (size_t)round % 5, 1, &rng);
        compare_with_twin(&t, &rules, 1, 1, &rng);
    }
}

/* Kept histograms and columns side by side: a table of more rows than bins, against trees whose splits draw all columns
 * and so keep nothing. */
static void kept_histograms_change_nothing(void **state) {
    (void)state;
    static table t;
    own_tree kept, direct;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    draw_table(&t, MOST_ROWS, 11, 1, &rng);
    for (size_t n_outputs = 1; n_outputs <= 3; n_outputs += 2) {
        karma_i_tree_rules rules = plain_rules(), drawing = rules;
        drawing.split_columns = 11;
        the_twin.t = &t;
        draw_gradients(&the_twin, n_outputs, 0, &rng);
        the_twin.rules = &rules;
        grow_own(&kept, &the_twin, &rng);
        the_twin.rules = &drawing;
        grow_own(&direct, &the_twin, &rng);
        assert_int_equal(karma_i_grown_n_nodes(kept.grower), 59);
        for (size_t i = 0; i < t.n; i++) assert_int_equal(leaf_of(kept.grower, i, t.n), leaf_of(direct.grower, i, t.n));
        clear_own(&kept);
        clear_own(&direct);
    }
}

/* With several outputs the gain of a set of levels is what the definition gives for it. */
static void gains_of_sets_equal_their_definition(void **state) {
    (void)state;
    static table t;
    own_tree own;
    karma_i_rng rng;
    karma_i_tree_rules rules = plain_rules();
    karma_i_rng_init(&rng, 4);
    rules.split.smoothing = 10.0;
    size_t n_sets = 0;
    for (int round = 0; round < 6; round++) {
        draw_table(&t, 200, 4, 1, &rng);
        the_twin.t = &t;
        the_twin.rules = &rules;
        draw_gradients(&the_twin, 3, round % 2, &rng);
        for (size_t i = 0; i < t.n; i++)
            if (t.codes[1][i] == 2 || t.codes[3][i] == 4) the_twin.g[i][1] -= 120000;
        grow_own(&own, &the_twin, &rng);
        const karma_i_grown_node *nodes = karma_i_grown_nodes(own.grower);
        for (size_t i = 0; i < karma_i_grown_n_nodes(own.grower); i++) {
            uint8_t rows[MOST_ROWS] = {0}, goes_left[256] = {0};
            if (nodes[i].left == KARMA_I_NO_CHILD || !t.n_levels[nodes[i].split.attribute]) continue;
            size_t j = nodes[i].split.attribute;
            for (size_t r = 0; r < nodes[i].count; r++) rows[karma_i_grown_rows(own.grower)[nodes[i].first + r]] = 1;
            for (size_t code = 0; code <= t.n_levels[j]; code++)
                goes_left[code] = (uint8_t)karma_i_bin_set_has(&nodes[i].split.left,
                                                               karma_i_level_bin(&own.bins.levels, j, (uint16_t)code));
            double gain = twin_score(&the_twin, rows, j, goes_left) - twin_own_score(&the_twin, rows);
            assert_true(fabs(gain - nodes[i].split.gain) <= 1e-9 * gain);
            n_sets++;
        }
        clear_own(&own);
    }
    assert_true(n_sets >= 12);
}

/* --- forests ------------------------------------------------------------------------------------------- */

static double targets[MOST_ROWS * MOST_OUTPUTS], weights[MOST_ROWS * MOST_OUTPUTS];

/* Targets that depend on columns 0 to 2 and noise; numbers, or classes as -1 and 1. */
static void draw_labels(const table *t, size_t n_outputs, int is_class, karma_i_rng *rng) {
    for (size_t i = 0; i < t->n; i++)
        for (size_t k = 0; k < n_outputs; k++) {
            double u = (double)t->ranks[0][i] - 90.0, v = (double)cell(t, 1 + k % 2, i) - 2.0;
            double y = u * v / 100.0 + karma_i_rng_normal(rng);
            targets[i * n_outputs + k] = is_class ? (y > 0.0 ? 1.0 : -1.0) : 3.0 + 5.0 * (double)(k + 1) * y;
            weights[i * n_outputs + k] = 1.0;
        }
}

static karma_i_forest *learn(const table *t, size_t n_outputs, const karma_i_forest_loss *losses,
                             const karma_i_forest_options *options) {
    karma_i_forest *forest = NULL;
    karma_error err = {0};
    karma_i_forest_labels labels = {n_outputs, targets, weights, losses, {0}};
    karma_status st = karma_i_forest_learn(&forest, t->columns, t->d, t->n, &labels, options, NULL, &err);
    if (st != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_i_forest_validate(forest, NULL), KARMA_OK);
    assert_int_equal(forest->n_trees, options->n_trees);
    return forest;
}

static void apply(uint16_t *codes, const karma_i_forest *forest, const table *t) {
    assert_int_equal(karma_i_forest_apply(codes, forest->n_trees, forest, t->columns, t->n, 1, NULL), KARMA_OK);
}

static double loss_value(const karma_i_forest_loss *loss, double y, double f) {
    double r = y - f, p = loss->parameter;
    switch (loss->kind) {
    case KARMA_I_FOREST_LOGISTIC:
        return log1p(exp(-y * f));
    case KARMA_I_FOREST_SQUARED:
        return 0.5 * r * r;
    case KARMA_I_FOREST_HUBER:
        return fabs(r) <= p ? 0.5 * r * r : p * (fabs(r) - 0.5 * p);
    case KARMA_I_FOREST_PINBALL:
        return r > 0.0 ? p * r : (p - 1.0) * r;
    }
    return NAN;
}

static const karma_i_forest_loss LOSSES[] = {{KARMA_I_FOREST_LOGISTIC, 0.0},
                                             {KARMA_I_FOREST_SQUARED, 0.0},
                                             {KARMA_I_FOREST_HUBER, 2.0},
                                             {KARMA_I_FOREST_PINBALL, 0.5},
                                             {KARMA_I_FOREST_PINBALL, 0.9}};
enum { N_LOSSES = sizeof LOSSES / sizeof LOSSES[0] };

static void gradients_are_derivatives(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t l = 0; l < N_LOSSES; l++)
        for (int draw = 0; draw < 200; draw++) {
            double y = karma_i_rng_normal(&rng), f = 3.0 * karma_i_rng_normal(&rng), w = 0.5, g, h, step = 1e-5;
            if (LOSSES[l].kind == KARMA_I_FOREST_LOGISTIC) y = y > 0.0 ? 1.0 : -1.0;
            karma_i_forest_output o = {.loss = LOSSES[l], .scale = 1.0, .y = &y, .weight = &w};
            double low = loss_value(&o.loss, y, f - step), at = loss_value(&o.loss, y, f),
                   high = loss_value(&o.loss, y, f + step);
            if (fabs(y - f) < 2.0 * step || fabs(fabs(y - f) - 2.0) < 2.0 * step) continue; /* kinks */
            karma_i_forest_gradients(&g, &h, &o, &f, (const uint32_t[]){0}, 1);
            assert_true(fabs(g - w * (high - low) / (2.0 * step)) <= 1e-6);
            if (LOSSES[l].kind <= KARMA_I_FOREST_SQUARED)
                assert_true(fabs(h - w * (high - 2.0 * at + low) / (step * step)) <= 1e-4);
            else if (LOSSES[l].kind == KARMA_I_FOREST_HUBER) /* the curvature of a parabola above the loss */
                assert_true(fabs(h - fabs(g / (y - f))) <= 1e-12);
            else
                assert_true(h == w);
        }
}

/* The constant and the steps of leaves: for the pinball loss no number nearby has a smaller sum of losses; for
 * others it is the Newton step. */
static void constants_are_the_best(void **state) {
    (void)state;
    static table t;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    draw_table(&t, 101, 3, 0, &rng);
    for (size_t l = 0; l < N_LOSSES; l++) {
        karma_i_forest_output o;
        karma_i_forest_labels labels = {1, targets, weights, &LOSSES[l], {0}};
        draw_labels(&t, 1, LOSSES[l].kind == KARMA_I_FOREST_LOGISTIC, &rng);
        for (size_t i = 0; i < t.n; i++) weights[i] = (double)(i % 3);
        assert_int_equal(karma_i_forest_output_init(&o, &labels, 0, t.n, NULL), KARMA_OK);
        if (LOSSES[l].kind != KARMA_I_FOREST_HUBER) { /* starts from the median */
            double sums[3] = {0.0};
            for (int shift = 0; shift < 3; shift++)
                for (size_t i = 0; i < t.n; i++)
                    sums[shift] += weights[i] *
                                   loss_value(&LOSSES[l], targets[i], o.centre + o.scale * o.base + 0.01 * (shift - 1));
            assert_true(sums[1] <= sums[0] + 1e-9 && sums[1] <= sums[2] + 1e-9);
        }
        karma_i_forest_output_clear(&o);
    }
}

/* Boosting from its definition: the codes of the rows are the leaves, and each value must be the rate times the step
 * of its rows at the scores of all trees before. */
static void boosting_follows_its_definition(void **state) {
    (void)state;
    static table t;
    static uint16_t codes[MOST_ROWS * 40];
    static double f[MOST_ROWS], scores[MOST_ROWS * MOST_OUTPUTS], gradient[MOST_ROWS], hessian[MOST_ROWS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    draw_table(&t, 300, 4, 1, &rng);
    for (size_t l = 0; l < 3; l++)
        for (int shares = 0; shares < 2; shares++) {
            karma_i_forest_options o;
            karma_i_forest_loss losses[MOST_OUTPUTS] = {LOSSES[l], LOSSES[l], LOSSES[l]};
            karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, t.d);
            o.n_trees = 39;
            o.row_share = 1.0;
            o.shares_trees = shares;
            draw_labels(&t, 3, LOSSES[l].kind == KARMA_I_FOREST_LOGISTIC, &rng);
            karma_i_forest *forest = learn(&t, 3, losses, &o);
            apply(codes, forest, &t);
            for (size_t k = 0; k < 3; k++) {
                karma_i_forest_output out;
                karma_i_forest_labels labels = {3, targets, weights, losses, {0}};
                assert_int_equal(karma_i_forest_output_init(&out, &labels, k, t.n, NULL), KARMA_OK);
                double before = 0.0, after = 0.0;
                for (size_t i = 0; i < t.n; i++) f[i] = out.base, before += loss_value(&out.loss, out.y[i], f[i]);
                for (size_t tree = 0; tree < 39; tree++) {
                    size_t n_leaves = karma_i_forest_n_leaves(forest, tree);
                    if (!shares && tree % 3 != k) continue;
                    for (size_t leaf = 1; leaf <= n_leaves; leaf++) {
                        double G = 0.0, H = 1.0;
                        for (size_t i = 0; i < t.n; i++) {
                            if (codes[i * 39 + tree] != leaf) continue;
                            karma_i_forest_gradients(gradient, hessian, &out, f, (const uint32_t[]){(uint32_t)i}, 1);
                            G += gradient[i], H += hessian[i];
                        }
                        double value = -0.1 * G / H;
                        float stored = forest->values[shares ? (forest->leaf_start[tree] + leaf - 1) * 3 + k
                                                             : forest->leaf_start[tree] + leaf - 1];
                        assert_true(fabs((double)stored - out.scale * value) <= 1e-5 * out.scale);
                        for (size_t i = 0; i < t.n; i++)
                            if (codes[i * 39 + tree] == leaf) f[i] += value;
                    }
                }
                karma_i_forest_scores(scores, forest, codes, 39, t.n);
                for (size_t i = 0; i < t.n; i++) {
                    assert_true(fabs(scores[i * 3 + k] - out.centre - out.scale * f[i]) <= 1e-4 * out.scale);
                    after += loss_value(&out.loss, out.y[i], f[i]);
                }
                assert_true(after < 0.9 * before);
                karma_i_forest_output_clear(&out);
            }
            karma_i_forest_free(forest);
        }
}

static int enough_after_seven(void *payload, const char *stage, size_t done, size_t total) {
    (void)stage;
    (void)total;
    return done < 7 ? 0 : *(const int *)payload;
}

/* When the time is over, boosting keeps the trees grown so far; after an interrupt it returns none. */
static void boosting_can_end_early(void **state) {
    (void)state;
    static table t;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 17);
    draw_table(&t, 300, 4, 1, &rng);
    draw_labels(&t, 1, 1, &rng);
    karma_i_forest_options o;
    karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, t.d);
    o.n_trees = 20;
    karma_i_forest_loss loss = {KARMA_I_FOREST_LOGISTIC, 0.0};
    karma_i_forest_labels labels = {1, targets, weights, &loss, {0}};
    karma_i_forest *whole = learn(&t, 1, &loss, &o), *part = NULL;
    int answer = KARMA_I_ENOUGH;
    karma_hooks hooks = {enough_after_seven, NULL, &answer};
    assert_int_equal(karma_i_forest_learn(&part, t.columns, t.d, t.n, &labels, &o, &hooks, NULL), KARMA_OK);
    assert_int_equal(part->n_trees, 7);
    assert_int_equal(karma_i_forest_validate(part, NULL), KARMA_OK);
    assert_int_equal(part->n_values, whole->leaf_start[7]);
    assert_memory_equal(part->values, whole->values, part->n_values * sizeof *part->values);
    karma_i_forest_free(part);
    part = NULL;
    answer = 1;
    assert_int_equal(karma_i_forest_learn(&part, t.columns, t.d, t.n, &labels, &o, &hooks, NULL), KARMA_ERR_CANCELLED);
    assert_null(part);
    karma_i_forest_free(whole);
}

static void quantiles_are_covered(void **state) {
    (void)state;
    static table t;
    static uint16_t codes[MOST_ROWS * 60];
    static double scores[MOST_ROWS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 8);
    draw_table(&t, 1000, 3, 0, &rng);
    draw_labels(&t, 1, 0, &rng);
    for (size_t l = 3; l < N_LOSSES; l++) {
        karma_i_forest_options o;
        karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, t.d);
        o.n_trees = 60;
        o.rules.split.least_rows = 40;
        karma_i_forest *forest = learn(&t, 1, &LOSSES[l], &o);
        apply(codes, forest, &t);
        karma_i_forest_scores(scores, forest, codes, 60, t.n);
        double below = 0.0;
        for (size_t i = 0; i < t.n; i++) below += targets[i] <= scores[i] ? 1e-3 : 0.0;
        assert_true(fabs(below - LOSSES[l].parameter) < 0.05);
        karma_i_forest_free(forest);
    }
}

/* The targets depend on one column only, so the rows of a leaf have equal targets, in every tree. */
static void bagged_trees_average_targets(void **state) {
    (void)state;
    static table t;
    static uint16_t codes[MOST_ROWS * 50];
    static double scores[MOST_ROWS * 2];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 9);
    draw_table(&t, 600, 3, 0, &rng);
    for (size_t i = 0; i < t.n; i++) {
        targets[2 * i] = t.ranks[1][i] == 0 ? 7.0 : t.ranks[1][i] > 100 ? -2.0 : 1.0;
        targets[2 * i + 1] = 100.0 * targets[2 * i];
        weights[2 * i] = weights[2 * i + 1] = 1.0;
    }
    karma_i_forest_options o;
    karma_i_forest_loss losses[2] = {LOSSES[1], LOSSES[1]};
    karma_i_forest_options_init(&o, KARMA_I_FOREST_BAGGED, t.d);
    o.n_trees = 50;
    o.rules.split_columns = t.d; /* the column that matters is among those of every split */
    o.rules.split.least_rows = 1;
    karma_i_forest *forest = learn(&t, 2, losses, &o);
    apply(codes, forest, &t);
    karma_i_forest_scores(scores, forest, codes, 50, t.n);
    for (size_t i = 0; i < 2 * t.n; i++) assert_true(fabs(scores[i] - targets[i]) < 1e-4 * fabs(targets[i]));
    karma_i_forest_free(forest);
}

static void assert_same_forest(const karma_i_forest *a, const karma_i_forest *b) {
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_sets, b->n_sets);
    assert_memory_equal(a->nodes, b->nodes, a->n_nodes * sizeof *a->nodes);
    assert_memory_equal(a->sets, b->sets, a->n_sets * sizeof *a->sets);
    for (size_t v = 0; v < a->n_values; v++)
        assert_true(fabsf(a->values[v] - b->values[v]) <= 1e-5F * (1.0F + fabsf(a->values[v])));
}

/* A row with weight 3 acts as three rows, and one with weight 0 as none. */
static void weights_are_repetitions(void **state) {
    (void)state;
    static table t, repeated;
    karma_i_rng rng;
    karma_i_forest_options o;
    karma_i_rng_init(&rng, 10);
    draw_table(&t, 200, 5, 1, &rng);
    draw_labels(&t, 1, 1, &rng);
    karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, t.d);
    o.n_trees = 20;
    o.row_share = 1.0;
    o.rules.split.least_rows = 1;
    o.rules.split.least_hessian = 1.0;
    o.rules.split.smoothing = 0.0;
    for (size_t i = 0; i < t.n; i++) weights[i] = (double)(i % 4);
    karma_i_forest *weighted = learn(&t, 1, LOSSES, &o);
    repeated.d = t.d;
    static double own[MOST_ROWS];
    memcpy(own, targets, sizeof own);
    for (size_t i = 0; i < t.n; i++)
        for (size_t copy = 0; copy < i % 4; copy++, repeated.n++) {
            for (size_t j = 0; j < t.d; j++) {
                repeated.ranks[j][repeated.n] = t.ranks[j][i];
                repeated.codes[j][repeated.n] = t.codes[j][i];
            }
            targets[repeated.n] = own[i];
            weights[repeated.n] = 1.0;
        }
    for (size_t j = 0; j < t.d; j++) {
        repeated.columns[j] = t.columns[j];
        if (t.n_levels[j])
            repeated.columns[j].codes = repeated.codes[j];
        else
            repeated.columns[j].ranks = repeated.ranks[j];
    }
    /* weights have a mean of 1 over labelled rows, so λ and the least hessian mean twice as much there */
    o.rules.split.l2 *= 2.0, o.rules.split.category_l2 *= 2.0, o.rules.split.least_hessian *= 2.0;
    karma_i_forest *plain = learn(&repeated, 1, LOSSES, &o);
    assert_int_equal(plain->n_nodes, weighted->n_nodes);
    assert_same_forest(plain, weighted);
    karma_i_forest_free(plain);
    karma_i_forest_free(weighted);
}

/* The label depends only on which cells are missing. */
static void missing_cells_are_learned_from(void **state) {
    (void)state;
    static table t;
    static uint16_t codes[MOST_ROWS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 11);
    for (int with_categories = 0; with_categories < 2; with_categories++) {
        draw_table(&t, 200, 2, with_categories, &rng);
        for (size_t i = 0; i < t.n; i++) targets[i] = cell(&t, 1, i) == 0 ? 1.0 : -1.0, weights[i] = 1.0;
        karma_i_forest_options o;
        karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, t.d);
        o.n_trees = 1;
        o.column_share = 1.0;
        o.rules.most_leaves = 2;
        karma_i_forest *forest = learn(&t, 1, LOSSES, &o);
        apply(codes, forest, &t);
        for (size_t i = 0; i < t.n; i++)
            for (size_t k = 0; k < t.n; k++) assert_int_equal(codes[i] == codes[k], targets[i] == targets[k]);
        karma_i_forest_free(forest);
    }
}

/* Rows whose labels the majority of their own leaves predicts: Σ_i y_i K(x, x_i) over training rows that are not the
 * row itself. */
static double kernel_accuracy(const table *t, const uint16_t *codes, size_t T, const uint8_t *is_training,
                              const double *y) {
    double n_right = 0.0, n = 0.0;
    for (size_t i = 0; i < t->n; i++) {
        double sum = 0.0;
        if (is_training[i]) continue;
        for (size_t k = 0; k < t->n; k++)
            for (size_t tree = 0; is_training[k] && tree < T; tree++)
                sum += codes[i * T + tree] == codes[k * T + tree] ? y[k] : 0.0;
        n_right += (sum > 0.0) == (y[i] > 0.0);
        n += 1.0;
    }
    return n_right / n;
}

/* Random labels cannot be predicted by trees that are grown on the training rows only, but they can by trees grown
 * on all rows. A search that grew one forest for all folds would be misled by this. */
static void random_labels_are_not_learned(void **state) {
    (void)state;
    static table t;
    static uint16_t codes[MOST_ROWS * 30];
    static double y[MOST_ROWS];
    uint8_t is_training[MOST_ROWS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 12);
    draw_table(&t, 600, 6, 1, &rng);
    for (size_t i = 0; i < t.n; i++) y[i] = targets[i] = karma_i_rng_uniform(&rng) < 0.5 ? -1.0 : 1.0;
    for (int growth = KARMA_I_FOREST_BOOSTED; growth <= KARMA_I_FOREST_BAGGED; growth++) {
        double inside = 0.0, outside = 0.0;
        karma_i_forest_options o;
        karma_i_forest_options_init(&o, (karma_i_forest_growth)growth, t.d);
        o.n_trees = 30;
        o.row_share = 1.0;
        for (size_t fold = 0; fold < 4; fold++)
            for (int leaks = 0; leaks < 2; leaks++) {
                for (size_t i = 0; i < t.n; i++) {
                    is_training[i] = i % 4 != fold;
                    weights[i] = leaks || is_training[i] ? 1.0 : 0.0;
                }
                karma_i_forest *forest = learn(&t, 1, LOSSES, &o);
                apply(codes, forest, &t);
                *(leaks ? &outside : &inside) += 0.25 * kernel_accuracy(&t, codes, 30, is_training, y);
                karma_i_forest_free(forest);
            }
        assert_true(fabs(inside - 0.5) < 0.06); /* three standard errors */
        assert_true(outside > 0.6);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_those_of_the_twin),     cmocka_unit_test(sets_of_levels_are_the_best_of_all),
        cmocka_unit_test(kept_histograms_change_nothing),  cmocka_unit_test(gains_of_sets_equal_their_definition),
        cmocka_unit_test(gradients_are_derivatives),       cmocka_unit_test(constants_are_the_best),
        cmocka_unit_test(boosting_follows_its_definition), cmocka_unit_test(boosting_can_end_early),
        cmocka_unit_test(quantiles_are_covered),           cmocka_unit_test(bagged_trees_average_targets),
        cmocka_unit_test(weights_are_repetitions),         cmocka_unit_test(missing_cells_are_learned_from),
        cmocka_unit_test(random_labels_are_not_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
