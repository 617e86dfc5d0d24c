/* The forest as an object: leaves of rows counted by hand, invalid arrays, the same bits for any number of
 * threads, categories with many levels, and input that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "forest/forest_learner.h"
#include "threadranks.h"

/* --- by hand ------------------------------------------------------------------------------------------- */

/* Attribute 0 is a number, attribute 1 a category with four levels; level 4 did not occur in training.
 *
 *     tree 0:  rank <= 100, missing right? -> leaf 1 : (level in {1, 3} or missing -> leaf 2 : leaf 3)
 *     tree 1:  rank <= 50, missing left -> leaf 1 : leaf 2                                                  */
typedef struct by_hand {
    karma_i_forest forest;
    uint32_t n_levels[2];
    size_t level_start[3], tree_start[3], leaf_start[3];
    uint8_t level_bin[5];
    karma_i_forest_node nodes[8];
    karma_i_bin_set sets[1];
    float values[10];
    double base[2];
} by_hand;

static void make_by_hand(by_hand *h) {
    *h = (by_hand){.n_levels = {0, 4},
                   .level_start = {0, 0, 5},
                   .tree_start = {0, 5, 8},
                   .leaf_start = {0, 3, 5},
                   .level_bin = {0, 1, 2, 3, 0},
                   .nodes = {{0, 2, 2 * 100 + 0},
                             {KARMA_I_LEAF, 0, 1},
                             {1, 4, KARMA_I_BY_SET + 0},
                             {KARMA_I_LEAF, 0, 2},
                             {KARMA_I_LEAF, 0, 3},
                             {0, 2, 2 * 50 + 1},
                             {KARMA_I_LEAF, 0, 1},
                             {KARMA_I_LEAF, 0, 2}},
                   .sets = {{{1 << 0 | 1 << 1 | 1 << 3}}},
                   .values = {1, -1, 2, -2, 3, -3, 10, -10, 20, -20},
                   .base = {0.5, 0.25}};
    h->forest = (karma_i_forest){.n_trees = 2,
                                 .n_outputs = 2,
                                 .levels = {2, h->n_levels, h->level_start, h->level_bin},
                                 .tree_start = h->tree_start,
                                 .leaf_start = h->leaf_start,
                                 .nodes = h->nodes,
                                 .sets = h->sets,
                                 .values_per_leaf = 2,
                                 .values = h->values,
                                 .base = h->base,
                                 .n_nodes = 8,
                                 .n_sets = 1,
                                 .n_values = 10};
}

static void leaves_are_those_counted_by_hand(void **state) {
    (void)state;
    static const uint8_t ranks[] = {100, 101, 0, 0, 50, 51, 255};
    static const uint16_t codes[] = {2, 3, 2, 0, 4, 1, 4}; /* level 4 counts as missing */
    static const uint16_t expected[7][2] = {{1, 2}, {2, 2}, {3, 1}, {2, 1}, {1, 1}, {1, 2}, {2, 2}};
    /* number of trees in which two rows share a leaf */
    static const int equal[7][7] = {{2, 1, 0, 0, 1, 2, 1}, {1, 2, 0, 1, 0, 1, 2}, {0, 0, 2, 1, 1, 0, 0},
                                    {0, 1, 1, 2, 1, 0, 1}, {1, 0, 1, 1, 2, 1, 0}, {2, 1, 0, 0, 1, 2, 1},
                                    {1, 2, 0, 1, 0, 1, 2}};
    by_hand h;
    make_by_hand(&h);
    assert_int_equal(karma_i_forest_validate(&h.forest, NULL), KARMA_OK);
    karma_i_forest_column columns[2] = {{ranks, NULL, 1, 0}, {NULL, codes, 1, 4}};
    uint16_t found[7 * 3];
    double scores[14];
    assert_int_equal(karma_i_forest_apply(found, 3, &h.forest, columns, 7, 2, NULL), KARMA_OK);
    for (size_t i = 0; i < 7; i++) {
        for (size_t t = 0; t < 2; t++) assert_int_equal(found[i * 3 + t], expected[i][t]);
        for (size_t k = 0; k < 7; k++)
            assert_int_equal((found[i * 3] == found[k * 3]) + (found[i * 3 + 1] == found[k * 3 + 1]), equal[i][k]);
    }
    karma_i_forest_scores(scores, &h.forest, found, 3, 7);
    for (size_t i = 0; i < 7; i++) {
        double value = (double)expected[i][0] + 10.0 * (double)expected[i][1];
        assert_true(scores[2 * i] == 0.5 + value && scores[2 * i + 1] == 0.25 - value);
    }
}

/* --- arrays that are no forest ------------------------------------------------------------------------- */

static void refuse(const by_hand *h, const char *what) {
    karma_error err = {0};
    if (karma_i_forest_validate(&h->forest, &err) != KARMA_ERR_FORMAT) fail_msg("%s is not refused", what);
    assert_true(strstr(err.message, "forest") != NULL);
}

#define REFUSE(change)                                                                                                 \
    do {                                                                                                               \
        by_hand h;                                                                                                     \
        make_by_hand(&h);                                                                                              \
        change;                                                                                                        \
        refuse(&h, #change);                                                                                           \
    } while (0)

static void corrupted_arrays_are_refused(void **state) {
    (void)state;
    REFUSE(h.nodes[0].attribute = 2);
    REFUSE(h.nodes[0].attribute = KARMA_I_LEAF);
    REFUSE(h.nodes[0].attribute = 1);
    REFUSE(h.nodes[0].test = 512);
    REFUSE(h.nodes[0].test = KARMA_I_BY_SET);
    REFUSE(h.nodes[0].right = 0);
    REFUSE(h.nodes[0].right = 1);
    REFUSE(h.nodes[0].right = 3);
    REFUSE(h.nodes[0].right = UINT32_MAX);
    REFUSE(h.nodes[2].right = 2); /* a cycle */
    REFUSE(h.nodes[2].right = 5); /* into the next tree */
    REFUSE(h.nodes[2].attribute = 0);
    REFUSE(h.nodes[2].test = KARMA_I_BY_SET + 1);
    REFUSE(h.nodes[2].test = 7);
    REFUSE(h.nodes[4].attribute = 0); /* a tree without an end */
    REFUSE(h.nodes[3].test = 0);
    REFUSE(h.nodes[3].test = 3);
    REFUSE(h.tree_start[0] = 1);
    REFUSE(h.tree_start[1] = 0);
    REFUSE(h.tree_start[1] = 4);
    REFUSE(h.tree_start[1] = 6);
    REFUSE(h.tree_start[2] = 9);
    REFUSE(h.leaf_start[0] = 1);
    REFUSE(h.leaf_start[1] = 4);
    REFUSE(h.leaf_start[2] = 6);
    REFUSE(h.forest.n_nodes = 7);
    REFUSE(h.forest.n_values = 8);
    REFUSE(h.forest.n_values = 11);
    REFUSE(h.forest.n_sets = 0);
    REFUSE(h.forest.n_outputs = 0);
    REFUSE(h.forest.values_per_leaf = 3);
    REFUSE(h.forest.values_per_leaf = 0);
    REFUSE(h.values[7] = NAN);
    REFUSE(h.values[0] = INFINITY);
    REFUSE(h.base[1] = NAN);
    REFUSE(h.level_bin[0] = 1);
    REFUSE(h.level_start[1] = 1);
    REFUSE(h.level_start[2] = 6);
    REFUSE(h.n_levels[1] = 70000);
    REFUSE(h.n_levels[1] = 0);
}

/* A forest that is accepted can be applied; sanitizers would find bad accesses. */
static void what_is_accepted_can_be_applied(void **state) {
    (void)state;
    karma_i_rng rng;
    size_t n_accepted = 0;
    karma_i_rng_init(&rng, 1);
    for (int round = 0; round < 20000; round++) {
        by_hand h;
        uint8_t rank = (uint8_t)karma_i_rng_below(&rng, 256);
        uint16_t code = (uint16_t)karma_i_rng_below(&rng, 65536), found[2];
        karma_i_forest_column columns[2] = {{&rank, NULL, 1, 0}, {NULL, &code, 1, 4}};
        make_by_hand(&h);
        for (size_t change = 0; change <= karma_i_rng_below(&rng, 3); change++) {
            size_t at = karma_i_rng_below(&rng, 8);
            uint32_t value = karma_i_rng_uniform(&rng) < 0.2 ? (uint32_t)karma_i_rng_next(&rng)
                                                             : (uint32_t)karma_i_rng_below(&rng, 12);
            switch (karma_i_rng_below(&rng, 4)) {
            case 0:
                h.nodes[at].attribute = value;
                break;
            case 1:
                h.nodes[at].right = value;
                break;
            case 2:
                h.nodes[at].test = value;
                break;
            default:
                h.level_bin[at % 5] = (uint8_t)value;
            }
        }
        if (karma_i_forest_validate(&h.forest, NULL) != KARMA_OK) continue;
        assert_int_equal(karma_i_forest_apply(found, 2, &h.forest, columns, 1, 1, NULL), KARMA_OK);
        assert_in_range(found[0], 1, 3);
        assert_in_range(found[1], 1, 2);
        n_accepted++;
    }
    assert_true(n_accepted > 100);
}

/* --- learned forests ----------------------------------------------------------------------------------- */

enum { ROWS = 6000, COLUMNS = 24, OUTPUTS = 3, TREES = 7 };

typedef struct labelled {
    uint8_t ranks[COLUMNS * ROWS]; /* row by row */
    uint16_t codes[ROWS];
    karma_i_forest_column columns[COLUMNS];
    double targets[ROWS * OUTPUTS], weights[ROWS * OUTPUTS];
    karma_i_forest_loss losses[OUTPUTS];
    karma_i_forest_labels labels;
} labelled;

static void draw_labelled(labelled *l, size_t n_levels) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t j = 0; j < COLUMNS; j++)
        l->columns[j] = j == 5 ? (karma_i_forest_column){NULL, l->codes, 1, n_levels}
                               : (karma_i_forest_column){l->ranks + j, NULL, COLUMNS, 0};
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++) l->ranks[i * COLUMNS + j] = (uint8_t)karma_i_rng_below(&rng, 256);
        l->codes[i] = (uint16_t)karma_i_rng_below(&rng, n_levels + 1);
        for (size_t k = 0; k < OUTPUTS; k++) {
            double y = l->ranks[i * COLUMNS + k] > 90 ? 1.0 : l->codes[i] % 2 ? 0.5 : -1.0;
            l->targets[i * OUTPUTS + k] = y + karma_i_rng_normal(&rng);
            l->weights[i * OUTPUTS + k] = karma_i_rng_below(&rng, 5) == 0 ? 0.0 : 1.0 + karma_i_rng_uniform(&rng);
        }
    }
    for (size_t k = 0; k < OUTPUTS; k++)
        l->losses[k] = (karma_i_forest_loss){(karma_i_forest_loss_kind)k, k == KARMA_I_FOREST_HUBER ? 1.0 : 0.0};
    l->labels = (karma_i_forest_labels){OUTPUTS, l->targets, l->weights, l->losses, {0}};
}

static labelled the_rows;

static karma_i_forest *learn(const karma_i_forest_options *options) {
    karma_i_forest *forest = NULL;
    karma_error err = {0};
    if (karma_i_forest_learn(&forest, the_rows.columns, COLUMNS, ROWS, &the_rows.labels, options, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(karma_i_forest_validate(forest, NULL), KARMA_OK);
    return forest;
}

static void assert_same(const karma_i_forest *a, const karma_i_forest *b) {
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_sets, b->n_sets);
    assert_int_equal(a->n_values, b->n_values);
    assert_memory_equal(a->nodes, b->nodes, a->n_nodes * sizeof *a->nodes);
    assert_memory_equal(a->sets, b->sets, a->n_sets * sizeof *a->sets);
    assert_memory_equal(a->values, b->values, a->n_values * sizeof *a->values);
    assert_memory_equal(a->base, b->base, a->n_outputs * sizeof *a->base);
}

static void threads_change_nothing(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 5};
    static uint16_t codes[2][ROWS * TREES];
    draw_labelled(&the_rows, 300);
    for (int kind = 0; kind < 4; kind++) {
        karma_i_forest *first = NULL;
        for (size_t c = 0; c < sizeof threads / sizeof threads[0]; c++) {
            karma_i_forest_options o;
            karma_i_forest_options_init(&o, kind < 3 ? KARMA_I_FOREST_BOOSTED : KARMA_I_FOREST_BAGGED, COLUMNS);
            o.n_trees = TREES;
            o.threads = threads[c];
            o.shares_trees = kind != 0;
            if (kind == 2) o.tree_outputs = 2;
            karma_i_forest *forest = learn(&o);
            assert_int_equal(
                karma_i_forest_apply(codes[c > 0], TREES, forest, the_rows.columns, ROWS, threads[c], NULL), KARMA_OK);
            if (c == 0) {
                first = forest;
                continue;
            }
            assert_same(first, forest);
            assert_memory_equal(codes[0], codes[1], sizeof codes[0]);
            karma_i_forest_free(forest);
        }
        karma_i_forest_free(first);
    }
}

/* --- rows that are split over processes ---------------------------------------------------------------- */

typedef struct shared_growth {
    const karma_i_forest_options *options;
    const karma_i_forest *whole;
    karma_i_forest_labels labels;
} shared_growth;

static void grow_part(member *m) {
    const shared_growth *g = m->payload;
    karma_i_partition split = karma_i_partition_part(ROWS, &m->ranks);
    karma_i_forest_column columns[COLUMNS];
    karma_i_forest_labels labels = g->labels;
    karma_i_forest *forest = NULL;
    for (size_t j = 0; j < COLUMNS; j++) {
        columns[j] = the_rows.columns[j];
        if (columns[j].ranks) columns[j].ranks += split.first * columns[j].stride;
        if (columns[j].codes) columns[j].codes += split.first * columns[j].stride;
    }
    labels.targets += split.first * labels.n_outputs;
    labels.weights += split.first * labels.n_outputs;
    labels.split = split;
    m->status = karma_i_forest_learn(&forest, columns, COLUMNS, split.count, &labels, g->options, NULL, &m->err);
    if (m->status == KARMA_OK) assert_same(forest, g->whole);
    karma_i_forest_free(forest);
}

/* All losses at once, of each alone, with held-out rows, samples of rows and columns, shared trees and others. */
static void processes_change_nothing(void **state) {
    (void)state;
    draw_labelled(&the_rows, 300);
    for (size_t variant = 0; variant < 6; variant++) {
        const karma_i_forest_loss pinball[OUTPUTS] = {
            {KARMA_I_FOREST_PINBALL, 0.3}, {KARMA_I_FOREST_PINBALL, 0.5}, {KARMA_I_FOREST_SQUARED, 0.0}};
        karma_i_forest_options o;
        karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, COLUMNS);
        o.n_trees = TREES;
        o.shares_trees = variant % 2 == 0;
        o.row_share = variant < 2 ? 1.0 : 0.7;
        o.column_share = variant < 4 ? 1.0 : 0.5;
        o.held_out_share = variant % 3 == 0 ? 0.0 : 0.2;
        o.patience = 2;
        if (variant == 3) o.tree_outputs = 2;
        shared_growth g = {&o, NULL, the_rows.labels};
        if (variant >= 4) g.labels.losses = pinball;
        karma_i_forest *whole = NULL;
        assert_int_equal(karma_i_forest_learn(&whole, the_rows.columns, COLUMNS, ROWS, &g.labels, &o, NULL, NULL),
                         KARMA_OK);
        g.whole = whole;
        for (size_t size = 2; size <= 5; size++) {
            member members[MOST_RANKS];
            run_together(members, size, grow_part, &g);
            for (size_t k = 0; k < size; k++)
                if (members[k].status != KARMA_OK) fail_msg("%s", members[k].err.message);
        }
        karma_i_forest_free(whole);
    }
}

/* Very many rows are drawn in pieces, which processes share. */
static void pieces_are_drawn_by_their_processes(void **state) {
    (void)state;
    enum { MANY = 70000 };
    static uint32_t items[MANY], drawn[MANY], part[MANY];
    karma_i_rng a, b;
    for (uint32_t i = 0; i < MANY; i++) items[i] = 2 * i;
    karma_i_rng_init(&a, 3);
    karma_i_draw(drawn, MANY / 3, items, MANY, &a);
    for (size_t k = 0, at = 0; k < 3; k++) {
        size_t first = k * MANY / 3, end = (k + 1) * MANY / 3;
        karma_i_rng_init(&b, 3);
        size_t n = karma_i_draw_part(part, MANY / 3, items + first, MANY, first, end, &b);
        for (size_t i = 0; i < n; i++) assert_int_equal(part[i], drawn[at++]);
        if (k == 2) assert_int_equal(at, MANY / 3);
    }
}

/* A forest grown on split rows by bagging is refused. */
static void grow_bagged_part(member *m) {
    karma_i_forest_options o;
    karma_i_forest *forest = NULL;
    karma_i_forest_labels labels = the_rows.labels;
    karma_i_forest_options_init(&o, KARMA_I_FOREST_BAGGED, COLUMNS);
    labels.split = (karma_i_partition){&m->ranks, ROWS, 0, ROWS};
    m->status = karma_i_forest_learn(&forest, the_rows.columns, COLUMNS, ROWS, &labels, &o, NULL, &m->err);
}

static void bagging_needs_all_rows(void **state) {
    (void)state;
    member members[MOST_RANKS];
    draw_labelled(&the_rows, 3);
    run_together(members, 2, grow_bagged_part, NULL);
    for (size_t k = 0; k < 2; k++) assert_int_equal(members[k].status, KARMA_ERR_OPTION);
}

static void seeds_change_samples(void **state) {
    (void)state;
    draw_labelled(&the_rows, 4);
    for (int growth = 0; growth < 2; growth++) {
        karma_i_forest_options o;
        karma_i_forest_options_init(&o, (karma_i_forest_growth)growth, COLUMNS);
        o.n_trees = 3;
        karma_i_forest *a = learn(&o), *b = learn(&o);
        assert_same(a, b);
        karma_i_forest_free(b);
        o.seed = 2;
        b = learn(&o);
        assert_true(a->n_nodes != b->n_nodes || memcmp(a->nodes, b->nodes, a->n_nodes * sizeof *a->nodes) != 0);
        karma_i_forest_free(a);
        karma_i_forest_free(b);
    }
}

/* Levels beyond the most frequent 254 share a bin, and levels that do not occur have the bin of missing cells. */
static void many_levels_share_a_bin(void **state) {
    (void)state;
    enum { LEVELS = 65535, SEEN = 400 };
    static uint16_t codes[SEEN * (SEEN + 1) / 2 + 1];
    karma_i_bins bins;
    size_t n = 0;
    for (size_t l = 1; l <= SEEN; l++)
        for (size_t copy = 0; copy < l; copy++) codes[n++] = (uint16_t)(100 * l); /* level 100 l occurs l times */
    codes[n++] = 0;
    karma_i_forest_column column = {NULL, codes, 1, LEVELS};
    assert_int_equal(karma_i_bins_make(&bins, &column, 1, n, NULL), KARMA_OK);
    assert_int_equal(bins.n_bins[0], 256);
    for (size_t code = 0; code <= LEVELS; code++) {
        size_t l = code / 100, seen = code % 100 == 0 && l >= 1 && l <= SEEN;
        int expected = !seen ? 0 : l <= SEEN - 254 ? 255 : (int)(l - (SEEN - 254));
        assert_int_equal(karma_i_level_bin(&bins.levels, 0, (uint16_t)code), expected);
    }
    for (size_t i = 0; i < n; i++) assert_int_equal(bins.bin[i], karma_i_level_bin(&bins.levels, 0, codes[i]));
    karma_i_bins_clear(&bins);
}

static karma_status try_learning(const karma_i_forest_options *options, karma_error *err) {
    karma_i_forest *forest = NULL;
    karma_status st =
        karma_i_forest_learn(&forest, the_rows.columns, COLUMNS, ROWS, &the_rows.labels, options, NULL, err);
    assert_true((st == KARMA_OK) == (forest != NULL));
    karma_i_forest_free(forest);
    return st;
}

#define REFUSE_OPTION(change)                                                                                          \
    do {                                                                                                               \
        karma_i_forest_options o;                                                                                      \
        karma_error err = {0};                                                                                         \
        karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, COLUMNS);                                              \
        change;                                                                                                        \
        if (try_learning(&o, &err) != KARMA_ERR_OPTION) fail_msg("%s is not refused", #change);                        \
        assert_true(err.message[0] != '\0');                                                                           \
    } while (0)

static void bad_input_is_refused(void **state) {
    (void)state;
    draw_labelled(&the_rows, 4);
    REFUSE_OPTION(o.n_trees = 0);
    REFUSE_OPTION(o.rules.most_leaves = 0);
    REFUSE_OPTION(o.rules.most_leaves = 65535);
    REFUSE_OPTION(o.rules.most_depth = 65);
    REFUSE_OPTION(o.rate = 0.0);
    REFUSE_OPTION(o.row_share = 1.5);
    REFUSE_OPTION(o.column_share = NAN);
    REFUSE_OPTION(o.tree_outputs = 33);
    REFUSE_OPTION(o.held_out_share = 0.6);
    REFUSE_OPTION(o.rules.split.l2 = -1.0);
    REFUSE_OPTION(o.rules.split.least_rows = 0);
    karma_i_forest_options o;
    karma_error err = {0};
    karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, COLUMNS);
    o.n_trees = 1;
    the_rows.codes[7] = 5;
    assert_int_equal(try_learning(&o, &err), KARMA_ERR_DATA);
    assert_string_equal(err.message, "attribute 5 has the code 5, but only 4 levels");
    the_rows.codes[7] = 4;
    the_rows.targets[30] = NAN;
    the_rows.weights[30] = 1.0;
    assert_int_equal(try_learning(&o, &err), KARMA_ERR_DATA);
    the_rows.weights[30] = 0.0;
    assert_int_equal(try_learning(&o, &err), KARMA_OK);
    memset(the_rows.weights, 0, sizeof the_rows.weights);
    assert_int_equal(try_learning(&o, &err), KARMA_ERR_DATA);
}

/* A forest that stops early, when held-out rows no longer improve, equals the first trees of one that does not stop.
 */
static void held_out_rows_end_the_growth(void **state) {
    (void)state;
    karma_i_forest_options o;
    draw_labelled(&the_rows, 4);
    karma_i_forest_options_init(&o, KARMA_I_FOREST_BOOSTED, COLUMNS);
    o.rate = 0.5;
    o.n_trees = 200;
    o.held_out_share = 0.2;
    o.patience = 5;
    karma_i_forest *stopped = learn(&o);
    o.patience = 1000;
    karma_i_forest *whole = learn(&o);
    assert_true(stopped->n_trees >= 1 && stopped->n_trees < 200);
    assert_true(whole->n_trees >= stopped->n_trees);
    assert_memory_equal(stopped->nodes, whole->nodes, stopped->n_nodes * sizeof *stopped->nodes);
    assert_memory_equal(stopped->values, whole->values, stopped->n_values * sizeof *stopped->values);
    karma_i_forest_free(stopped);
    karma_i_forest_free(whole);
}

/* Nothing to split by: every tree is one leaf, and scores are the best constants. */
static void constant_columns_give_single_leaves(void **state) {
    (void)state;
    uint8_t ranks[10];
    double targets[10], weights[10], score;
    uint16_t code;
    karma_i_forest_column column = {ranks, NULL, 1, 0};
    karma_i_forest_loss loss = {KARMA_I_FOREST_SQUARED, 0.0};
    karma_i_forest_labels labels = {1, targets, weights, &loss, {0}};
    for (size_t i = 0; i < 10; i++) ranks[i] = 128, targets[i] = (double)i, weights[i] = 1.0;
    for (int growth = 0; growth < 2; growth++)
        for (size_t d = 0; d < 2; d++) {
            karma_i_forest *forest = NULL;
            karma_i_forest_options o;
            karma_i_forest_options_init(&o, (karma_i_forest_growth)growth, d);
            o.n_trees = 1;
            o.row_share = 1.0;
            assert_int_equal(karma_i_forest_learn(&forest, &column, d, 10, &labels, &o, NULL, NULL), KARMA_OK);
            assert_int_equal(karma_i_forest_validate(forest, NULL), KARMA_OK);
            assert_int_equal(karma_i_forest_apply(&code, 1, forest, &column, 1, 1, NULL), KARMA_OK);
            assert_int_equal(code, 1);
            karma_i_forest_scores(&score, forest, &code, 1, 1);
            assert_true(fabs(score - 4.5) < (growth == KARMA_I_FOREST_BAGGED ? 3.0 : 1e-6));
            karma_i_forest_free(forest);
        }
}

static int stop_at_two(void *payload, const char *stage, size_t done, size_t total) {
    (void)payload;
    assert_string_equal(stage, "growing trees");
    assert_int_equal(total, 5);
    return done >= 2;
}

static void growing_can_be_interrupted(void **state) {
    (void)state;
    draw_labelled(&the_rows, 4);
    for (int growth = 0; growth < 2; growth++) {
        karma_i_forest *forest = NULL;
        karma_i_forest_options o;
        karma_hooks hooks = {.progress = stop_at_two};
        karma_i_forest_options_init(&o, (karma_i_forest_growth)growth, COLUMNS);
        o.n_trees = 5;
        assert_int_equal(
            karma_i_forest_learn(&forest, the_rows.columns, COLUMNS, ROWS, &the_rows.labels, &o, &hooks, NULL),
            KARMA_ERR_CANCELLED);
        assert_null(forest);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_are_those_counted_by_hand), cmocka_unit_test(corrupted_arrays_are_refused),
        cmocka_unit_test(what_is_accepted_can_be_applied),  cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(processes_change_nothing),         cmocka_unit_test(pieces_are_drawn_by_their_processes),
        cmocka_unit_test(bagging_needs_all_rows),           cmocka_unit_test(seeds_change_samples),
        cmocka_unit_test(many_levels_share_a_bin),          cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(held_out_rows_end_the_growth),     cmocka_unit_test(constant_columns_give_single_leaves),
        cmocka_unit_test(growing_can_be_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
