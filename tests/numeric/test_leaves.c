/* The kernels of trees: kernel values against leaves found by a plain walk from raw cells and counted; a stored
 * forest is restored, and altered arrays are refused; a model predicts the same after saving and loading;
 * interactions are learned and random labels are not, also as judged by the search; threads change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "forest/forest_store.h"
#include "karma/karma.h"
#include "karma/search.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "tempfile.h"

enum { NUMBERS = 4 };

typedef enum labelling { INTERACTION, RANDOM, THREE_CLASSES, NUMBER } labelling;

/* Four numbers, a category of two levels and one of six; a fifth of the cells are missing. */
static void write_rows(char *text, size_t size, size_t n, labelling labels, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    size_t used = (size_t)snprintf(text, size, "x0,x1,x2,x3,two,six,y\n");
    for (size_t i = 0; i < n; i++) {
        double x[NUMBERS];
        for (size_t j = 0; j < NUMBERS; j++) {
            x[j] = karma_i_rng_normal(&rng);
            if (karma_i_rng_uniform(&rng) < 0.2)
                used += (size_t)snprintf(text + used, size - used, ",");
            else
                used += (size_t)snprintf(text + used, size - used, "%.4f,", x[j]);
        }
        used += (size_t)snprintf(text + used, size - used, "%c,%c,", "uv"[karma_i_rng_below(&rng, 2)],
                                 "abcdef"[karma_i_rng_below(&rng, 6)]);
        if (labels == NUMBER)
            used += (size_t)snprintf(text + used, size - used, "%.4f\n", x[0] * x[1]);
        else if (labels == THREE_CLASSES)
            used += (size_t)snprintf(text + used, size - used, "%s\n", x[0] > 0.5 ? "p" : x[1] > 0.0 ? "q" : "r");
        else if (labels == RANDOM)
            used += (size_t)snprintf(text + used, size - used, "%c\n", "pq"[karma_i_rng_below(&rng, 2)]);
        else
            used += (size_t)snprintf(text + used, size - used, "%c\n", x[0] * x[1] > 0.0 ? 'p' : 'q');
        assert_true(used < size);
    }
}

static karma_table *make_table(size_t n, labelling labels, uint64_t seed) {
    static char text[400000];
    temp_file file;
    karma_read_options read;
    karma_table *table = NULL;
    karma_error err;
    write_rows(text, sizeof text, n, labels, seed);
    temp_create(&file, ".csv", text, strlen(text));
    karma_options_init(karma_read_option_table(), &read);
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &read, "y", NULL),
                     KARMA_OK);
    if (karma_table_read(&table, file.path, &read, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_options_clear(karma_read_option_table(), &read);
    temp_remove(&file);
    return table;
}

static karma_model *fit_model(const karma_table *table, const char *kernel, int64_t trees, int64_t threads) {
    karma_fit_options fit;
    karma_model *model = NULL;
    karma_error err;
    char text[100];
    (void)snprintf(text, sizeof text, "%s", kernel);
    karma_options_init(karma_fit_option_table(), &fit);
    fit.kernel = text;
    fit.trees = trees;
    fit.threads = threads;
    fit.tolerance = 1e-6;
    if (karma_fit(&model, table, &fit, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

/* --- kernel values --------------------------------------------------------------------------------------- */

/* The leaf of a row of the table, found from the root by its raw cells. */
static uint32_t walk(const karma_i_recipe *r, size_t tree, const karma_table *table, size_t row) {
    const karma_i_forest *f = r->forest;
    const karma_i_forest_node *root = f->nodes + f->tree_start[tree], *node = root;
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    while (node->attribute != KARMA_I_LEAF) {
        size_t bin = 0, attribute = node->attribute;
        for (size_t k = 0; k < cells.count; k++) {
            if (strcmp(table->attributes[cells.attribute[k]].name, r->columns[attribute].name) != 0) continue;
            if (r->columns[attribute].kind == KARMA_COLUMN_NUMBER) {
                bin = karma_i_ranking_of(&r->rankings[attribute], cells.value[k]);
            } else {
                const char *level = table->attributes[cells.attribute[k]].levels[(size_t)cells.value[k]];
                for (size_t l = 0; l < r->columns[attribute].n_levels; l++)
                    if (strcmp(level, r->columns[attribute].levels[l]) == 0)
                        bin = f->levels.bin[f->levels.start[attribute] + l + 1];
            }
        }
        int left = r->columns[attribute].kind == KARMA_COLUMN_CATEGORY
                       ? karma_i_bin_set_has(&f->sets[node->test ^ KARMA_I_BY_SET], bin)
                   : bin ? 2 * bin <= node->test
                         : (int)(node->test & 1);
        node = left ? node + 1 : root + node->right;
    }
    return node->test;
}

static void kernel_is_the_share_of_equal_leaves(void **state) {
    (void)state;
    const char *kernels[] = {"boost", "forest"};
    karma_table *train = make_table(120, INTERACTION, 1), *test = make_table(40, INTERACTION, 2);
    for (size_t which = 0; which < 2; which++) {
        enum { TREES = 30, TESTS = 40, TRAINS = 120 };
        karma_model *model = fit_model(train, kernels[which], TREES, 1);
        const karma_i_recipe *r = model->encoder.recipes[0];
        karma_i_rows *a = NULL, *b = NULL;
        static float gram[TESTS * TRAINS];
        size_t n_between = 0;
        assert_int_equal(r->forest->n_trees, TREES);
        assert_int_equal(karma_i_encoder_apply(&a, &model->encoder, test, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_i_encoder_apply(&b, &model->encoder, train, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_validate(a, NULL), KARMA_OK);
        const karma_i_kernel *kernel = &model->members[0].kernel;
        assert_int_equal(karma_i_kernel_block(gram, TRAINS, kernel, karma_i_rows_all(a), karma_i_rows_all(b), 2),
                         KARMA_OK);
        for (size_t i = 0; i < TESTS; i++)
            for (size_t k = 0; k < TRAINS; k++) {
                size_t equal = 0;
                for (size_t t = 0; t < TREES; t++) equal += walk(r, t, test, i) == walk(r, t, train, k);
                double wanted = (double)equal / TREES;
                assert_true(fabs((double)gram[i * TRAINS + k] - wanted) < 1e-6);
                assert_true(fabs(karma_i_kernel_reference(kernel, a, i, b, k) - wanted) < 1e-12);
                n_between += equal > 0 && equal < TREES;
            }
        assert_true(n_between > TESTS * TRAINS / 10); /* shows that the test could fail */
        double diagonal[TESTS];
        karma_i_kernel_diagonal(diagonal, kernel, karma_i_rows_all(a));
        for (size_t i = 0; i < TESTS; i++) assert_true(fabs(diagonal[i] - 1.0) < 1e-6);
        karma_i_rows_free(a);
        karma_i_rows_free(b);
        karma_model_free(model);
    }
    karma_table_free(train);
    karma_table_free(test);
}

/* --- files ----------------------------------------------------------------------------------------------- */

static void refuse(const karma_i_stored_forest *s, const karma_i_level_bins *levels, const char *what) {
    karma_i_forest *f = NULL;
    karma_error err = {0};
    if (karma_i_forest_restore(&f, s, levels, &err) != KARMA_ERR_FORMAT) fail_msg("%s is not refused", what);
    assert_null(f);
    assert_true(err.message[0] != 0);
}

static size_t find_node(const karma_i_stored_forest *s, const karma_i_level_bins *levels, int wants_leaf,
                        int wants_set) {
    for (size_t i = 0; i < s->n_nodes; i++) {
        int is_leaf = s->attribute[i] == KARMA_I_LEAF;
        if (is_leaf == wants_leaf && (is_leaf || karma_i_is_category(levels, s->attribute[i]) == wants_set)) return i;
    }
    fail_msg("no such node");
    return 0;
}

static void stored_arrays_are_a_forest(void **state) {
    (void)state;
    karma_table *train = make_table(200, THREE_CLASSES, 3);
    karma_model *model = fit_model(train, "forest", 10, 1);
    const karma_i_forest *f = model->encoder.recipes[0]->forest;
    karma_i_stored_forest s;
    karma_i_forest *again = NULL;
    assert_int_equal(karma_i_forest_store(&s, f, NULL), KARMA_OK);
    assert_int_equal(karma_i_forest_restore(&again, &s, &f->levels, NULL), KARMA_OK);
    assert_int_equal(again->n_nodes, f->n_nodes);
    for (size_t i = 0; i < f->n_nodes; i++) {
        assert_int_equal(again->nodes[i].attribute, f->nodes[i].attribute);
        assert_int_equal(again->nodes[i].right, f->nodes[i].right);
        assert_int_equal(again->nodes[i].test, f->nodes[i].test);
    }
    assert_memory_equal(again->tree_start, f->tree_start, 11 * sizeof *f->tree_start);
    assert_memory_equal(again->leaf_start, f->leaf_start, 11 * sizeof *f->leaf_start);
    assert_memory_equal(again->sets, f->sets, f->n_sets * sizeof *f->sets);
    size_t leaf = find_node(&s, &f->levels, 1, 0), number = find_node(&s, &f->levels, 0, 0),
           set = find_node(&s, &f->levels, 0, 1);
#define REFUSE(place, value)                                                                                           \
    do {                                                                                                               \
        karma_i_stored_forest kept = s;                                                                                \
        uint32_t attribute = s.attribute[number], at_leaf = s.attribute[leaf], at_set = s.attribute[set];              \
        uint16_t threshold = s.threshold[number], leaf_threshold = s.threshold[leaf];                                  \
        (place) = (value);                                                                                             \
        refuse(&s, &f->levels, #place " = " #value);                                                                   \
        s = kept;                                                                                                      \
        s.attribute[number] = attribute, s.attribute[leaf] = at_leaf, s.attribute[set] = at_set;                       \
        s.threshold[number] = threshold, s.threshold[leaf] = leaf_threshold, s.threshold[set] = 0;                     \
    } while (0)
    REFUSE(s.n_trees, 0);
    REFUSE(s.n_trees, 9);
    REFUSE(s.n_trees, 11);
    REFUSE(s.n_nodes, s.n_nodes - 1);
    REFUSE(s.n_nodes, 0);
    REFUSE(s.n_sets, s.n_sets - 1);
    REFUSE(s.n_sets, s.n_sets + 1);
    REFUSE(s.attribute[number], 6);
    REFUSE(s.attribute[number], KARMA_I_LEAF);
    REFUSE(s.attribute[leaf], 0);
    REFUSE(s.attribute[set], 0);
    REFUSE(s.threshold[number], 512);
    REFUSE(s.threshold[leaf], 1);
    REFUSE(s.threshold[set], 1);
    karma_i_free(s.attribute);
    karma_i_free(s.threshold);
    karma_i_forest_free(again);
    karma_model_free(model);
    karma_table_free(train);
}

static void models_survive_a_file(void **state) {
    (void)state;
    const char *kernels[] = {"boost", "forest(outer=rbf)", "boost + rank(outer=rbf)", "forest*linear | boost@0.1,1"};
    for (int labels = INTERACTION; labels <= NUMBER; labels++)
        for (size_t k = 0; k < 4; k++) {
            karma_table *train = make_table(150, (labelling)labels, 4), *test = make_table(60, (labelling)labels, 5);
            karma_model *model = fit_model(train, kernels[k], 20, 1), *threaded = fit_model(train, kernels[k], 20, 3);
            karma_model *copy = NULL;
            temp_file file;
            karma_error err;
            double scores[3][180];
            temp_create(&file, ".karma", "", 0);
            if (karma_model_save(model, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
            if (karma_model_load(&copy, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
            size_t used = 60 * model->task.n_outputs * sizeof(double);
            const karma_model *models[] = {model, threaded, copy};
            for (size_t m = 0; m < 3; m++)
                assert_int_equal(karma_predict(scores[m], models[m], test, m + 1, NULL, NULL), KARMA_OK);
            assert_memory_equal(scores[0], scores[1], used);
            assert_memory_equal(scores[0], scores[2], used);
            temp_remove(&file);
            karma_model_free(model);
            karma_model_free(threaded);
            karma_model_free(copy);
            karma_table_free(train);
            karma_table_free(test);
        }
}

/* --- weights of leaves ----------------------------------------------------------------------------------- */

/* Two machines of one objective are no further from its minimum than their gaps allow: ½|v - v*|² ≤ P(v) - P*, and
 * k(x, x) = 1. For several outputs and machines the gaps are sums. */
static double most_distance(const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    return sqrt(2.0 * fmax(0.0, info->primal - info->dual));
}

static void weights_of_leaves_are_those_of_rows(void **state) {
    (void)state;
    const char *losses[] = {"hinge", "logistic", "logistic", "huber"};
    for (int labels = INTERACTION; labels <= NUMBER; labels++) {
        karma_table *train = make_table(150, (labelling)labels, 4), *test = make_table(60, (labelling)labels, 5);
        karma_model *models[2] = {NULL, NULL};
        double scores[2][180], size = 0.0;
        for (size_t m = 0; m < 2; m++) {
            karma_fit_options fit;
            karma_error err;
            karma_options_init(karma_fit_option_table(), &fit);
            char kernel[] = "boost";
            fit.kernel = kernel;
            fit.trees = 40;
            fit.threads = (int64_t)m + 1;
            fit.tolerance = 1e-7;
            fit.solver = m ? KARMA_SOLVER_PRIMAL : KARMA_SOLVER_BATCH;
            assert_int_equal(
                karma_option_set(karma_option_find(karma_fit_option_table(), "loss"), &fit, losses[labels], NULL),
                KARMA_OK);
            if (karma_fit(&models[m], train, &fit, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
            assert_int_equal(karma_model_info(models[m])->stop, KARMA_STOP_CONVERGED);
            assert_int_equal(karma_predict(scores[m], models[m], test, 1, NULL, NULL), KARMA_OK);
        }
        const karma_i_forest *forest = models[1]->encoder.recipes[0]->forest;
        assert_int_equal(models[1]->support->n_rows, forest->leaf_start[forest->n_trees]); /* not rows */
        double allowed = most_distance(models[0]) + most_distance(models[1]) + 1e-4;       /* single precision */
        if (labels == NUMBER) allowed /= models[0]->task.heads[0].labels.factor;
        for (size_t i = 0; i < 60 * models[0]->task.n_outputs; i++) {
            size = fmax(size, fabs(scores[0][i]));
            if (!(fabs(scores[0][i] - scores[1][i]) <= allowed))
                fail_msg("%s: %g and %g, %g apart at most", losses[labels], scores[0][i], scores[1][i], allowed);
        }
        assert_true(allowed < 0.05 * size); /* the bound is not trivial */
        for (size_t m = 0; m < 2; m++) karma_model_free(models[m]);
        karma_table_free(train);
        karma_table_free(test);
    }
}

/* With so many rows a member of leaves has weights of leaves, and the others are learned as before. */
static void many_rows_have_weights_of_leaves(void **state) {
    (void)state;
    karma_table *train = make_table(4100, INTERACTION, 4), *test = make_table(100, INTERACTION, 5);
    const char *kernels[] = {"boost", "subspace(bias=0)", "boost@0.1,1 | subspace(bias=0)"};
    karma_model *models[3], *copy = NULL;
    double scores[4][100];
    temp_file file;
    karma_error err;
    for (size_t m = 0; m < 3; m++) {
        models[m] = fit_model(train, kernels[m], 10, 2);
        assert_int_equal(karma_predict(scores[m], models[m], test, 1, NULL, NULL), KARMA_OK);
    }
    const karma_i_forest *forest = models[0]->encoder.recipes[0]->forest;
    size_t n_leaves = forest->leaf_start[forest->n_trees];
    assert_int_equal(models[0]->support->n_rows, n_leaves);
    assert_int_equal(models[2]->support->n_rows, n_leaves + models[1]->support->n_rows);
    temp_create(&file, ".karma", "", 0);
    if (karma_model_save(models[2], file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_model_load(&copy, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_predict(scores[3], copy, test, 2, NULL, NULL), KARMA_OK);
    assert_memory_equal(scores[2], scores[3], sizeof scores[2]);
    temp_remove(&file);
    karma_model *small = fit_model(train, "boost@0.1", 10, 1);
    double other[100], size = 0.0;
    assert_int_equal(karma_predict(other, small, test, 1, NULL, NULL), KARMA_OK);
    for (size_t i = 0; i < 100; i++) { /* the committee is the mean of its three machines */
        double wanted = (scores[0][i] + scores[1][i] + other[i]) / 3.0;
        assert_true(fabs(scores[2][i] - wanted) < 0.1); /* gaps of 1e-6, objectives of 2000 */
        size = fmax(size, fabs(wanted));
    }
    assert_true(size > 1.0);
    karma_model_free(small);
    karma_model_free(copy);
    for (size_t m = 0; m < 3; m++) karma_model_free(models[m]);
    karma_table_free(train);
    karma_table_free(test);
}

/* --- what is learned ------------------------------------------------------------------------------------- */

static double accuracy(const char *kernel, labelling labels) {
    karma_table *train = make_table(500, labels, 6), *test = make_table(500, labels, 7);
    karma_model *model = fit_model(train, kernel, 100, 1);
    karma_metrics metrics;
    double scores[500];
    assert_int_equal(karma_predict(scores, model, test, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_evaluate(&metrics, model, 0, test, scores, NULL), KARMA_OK);
    double value = karma_metrics_value(&metrics, "accuracy");
    karma_metrics_clear(&metrics);
    karma_model_free(model);
    karma_table_free(train);
    karma_table_free(test);
    return value;
}

/* The class is x0 x1 > 0, which no linear function predicts. A third of the rows lack one of the two, so 0.82 is the
 * best possible accuracy. */
static void interactions_are_learned_and_noise_is_not(void **state) {
    (void)state;
    const char *kernels[] = {"boost", "forest"};
    for (size_t k = 0; k < 2; k++) {
        double signal = accuracy(kernels[k], INTERACTION), noise = accuracy(kernels[k], RANDOM);
        if (!(signal > 0.7)) fail_msg("%s: %.3f", kernels[k], signal);
        if (!(fabs(noise - 0.5) < 0.09)) fail_msg("%s of noise: %.3f", kernels[k], noise); /* four standard errors */
    }
}

/* Trees are grown again in each fold, on its training rows. */
static void folds_do_not_leak(void **state) {
    (void)state;
    char kernels[][8] = {"boost", "forest"};
    karma_table *table = make_table(400, RANDOM, 8);
    for (size_t k = 0; k < 2; k++) {
        karma_fit_options fit;
        karma_search_options search;
        karma_model *model = NULL;
        karma_error err;
        char fixed[] = "kernel", *names[] = {fixed};
        karma_options_init(karma_fit_option_table(), &fit);
        karma_options_init(karma_search_option_table(), &search);
        fit.kernel = kernels[k];
        fit.trees = 50;
        search.fixed = (karma_names){names, 1};
        search.rule = KARMA_RULE_BEST;
        if (karma_search(&model, table, &fit, &search, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
        double score = karma_model_search_info(model)->score;
        if (!(fabs(score - 0.5) < 0.1)) fail_msg("%s: %.3f", kernels[k], score); /* four standard errors */
        karma_model_free(model);
    }
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_is_the_share_of_equal_leaves),
        cmocka_unit_test(stored_arrays_are_a_forest),
        cmocka_unit_test(models_survive_a_file),
        cmocka_unit_test(weights_of_leaves_are_those_of_rows),
        cmocka_unit_test(many_rows_have_weights_of_leaves),
        cmocka_unit_test(interactions_are_learned_and_noise_is_not),
        cmocka_unit_test(folds_do_not_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
