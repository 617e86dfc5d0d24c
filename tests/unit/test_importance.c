/* Permutation importance: which column must be first, which must have none, and missing cells stay where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "karma/karma.h"

enum { ROWS = 300, COLUMNS = 4 };

static const char *const NAMES[COLUMNS] = {"noise", "decisive", "helpful", "constant"};

/* The label depends on the second column, less on the third, and on no other. A number and its sign. */
static karma_table *draw(uint64_t seed, int labelled) {
    static double cells[ROWS * COLUMNS], numbers[ROWS];
    static const char *classes[ROWS];
    karma_i_rng rng;
    karma_table *table = NULL;
    karma_i_rng_init(&rng, seed);
    for (size_t i = 0; i < ROWS; i++) {
        double *x = cells + i * COLUMNS;
        for (size_t j = 0; j < COLUMNS; j++) x[j] = j < 3 ? karma_i_rng_normal(&rng) : 7.0;
        numbers[i] = 3.0 * x[1] + x[2] + 0.2 * karma_i_rng_normal(&rng);
        classes[i] = numbers[i] > 0.0 ? "up" : "down";
        if (labelled < 2 && i % 10 == 3) numbers[i] = NAN, classes[i] = NULL;
        for (size_t j = 0; j < COLUMNS; j++)
            if (karma_i_rng_uniform(&rng) < 0.2) x[j] = NAN;
    }
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NAMES, NULL), KARMA_OK);
    if (labelled) {
        assert_int_equal(karma_table_add_target_classes(table, "way", classes, NULL), KARMA_OK);
        assert_int_equal(karma_table_add_target_numbers(table, "height", numbers, NULL), KARMA_OK);
    }
    return table;
}

static karma_model *fit(const karma_table *table, int outer) {
    karma_fit_options o;
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &o);
    o.outer = outer;
    if (karma_fit(&model, table, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

static karma_importances measure(const karma_model *model, const karma_table *table, karma_explain_options options) {
    karma_importances m;
    karma_error err;
    if (karma_measure_importance(&m, model, table, &options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return m;
}

static const karma_importance *item_of(const karma_importances *m, size_t target, size_t attribute) {
    const karma_importance *items = m->items + target * m->n_attributes;
    size_t k = 0;
    while (k < m->n_attributes && items[k].attribute != attribute) k++;
    assert_true(k < m->n_attributes);
    return &items[k];
}

static const karma_explain_options DEFAULTS = {
    .struct_size = sizeof(karma_explain_options), .samples = 100, .repeats = 20, .seed = 3, .threads = 1};

static void the_decisive_column_comes_first(void **state) {
    (void)state;
    karma_table *train = draw(1, 2), *test = draw(2, 1);
    for (int outer = 0; outer < 2; outer++) {
        karma_model *model = fit(train, outer ? KARMA_OUTER_RBF : KARMA_OUTER_IDENTITY);
        karma_importances m = measure(model, test, DEFAULTS);
        double *scores = malloc(ROWS * karma_model_n_outputs(model) * sizeof *scores);
        assert_non_null(scores);
        assert_int_equal(karma_predict(scores, model, test, 1, NULL, NULL), KARMA_OK);
        assert_int_equal(m.n_targets, 2);
        assert_int_equal(m.n_attributes, COLUMNS);
        assert_int_equal(m.n_rows, ROWS - ROWS / 10);
        for (size_t target = 0; target < 2; target++) {
            const karma_importance *items = m.items + target * COLUMNS, *noise = item_of(&m, target, 0);
            karma_metrics metrics;
            assert_int_equal(karma_evaluate(&metrics, model, target, test, scores, NULL), KARMA_OK);
            assert_true(fabs(m.metric[target] - karma_metrics_value(&metrics, target == 0 ? "accuracy" : "r2")) < 1e-9);
            karma_metrics_clear(&metrics);
            assert_int_equal(items[0].attribute, 1);
            assert_int_equal(items[1].attribute, 2);
            assert_true(items[0].importance > (target == 0 ? 0.2 : 1.0));
            assert_true(items[0].importance > 10.0 * items[0].error && items[0].error > 0.0);
            for (size_t k = 1; k < COLUMNS; k++) assert_true(items[k - 1].importance >= items[k].importance);
            /* for noise, the original order is only one more permutation, and no better than the others */
            assert_true(fabs(noise->importance) <= 3.0 * noise->error * sqrt(1.0 + (double)DEFAULTS.repeats));
            assert_true(fabs(noise->importance) < 0.1 * items[0].importance);
            assert_true(item_of(&m, target, 3)->importance == 0.0 && item_of(&m, target, 3)->error == 0.0);
        }
        free(scores);
        karma_importances_clear(&m);
        karma_model_free(model);
    }
    karma_table_free(train);
    karma_table_free(test);
}

/* The label determines which cells are observed, but not their values. A model that uses missingness is right, and
 * permuting the values does not change that. */
static void holes_stay_where_they_are(void **state) {
    (void)state;
    double cells[200 * 2];
    const char *classes[200];
    karma_i_rng rng;
    karma_table *table = NULL;
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < 200; i++) {
        int known = karma_i_rng_below(&rng, 2) > 0;
        cells[2 * i] = known ? 0.01 * karma_i_rng_normal(&rng) : NAN;
        cells[2 * i + 1] = 0.01 * karma_i_rng_normal(&rng);
        classes[i] = known ? "known" : "not";
    }
    assert_int_equal(karma_table_from_array(&table, cells, 200, 2, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "y", classes, NULL), KARMA_OK);
    karma_fit_options o;
    karma_model *model = NULL;
    karma_options_init(karma_fit_option_table(), &o);
    o.standardise = 0;
    o.gamma = 3;
    o.C = 1000.0;
    assert_int_equal(karma_fit(&model, table, &o, NULL, NULL), KARMA_OK);
    karma_importances m = measure(model, table, DEFAULTS);
    assert_true(m.metric[0] == 1.0);
    for (size_t k = 0; k < 2; k++) assert_true(m.items[k].importance == 0.0);
    karma_importances_clear(&m);
    karma_model_free(model);
    karma_table_free(table);
}

/* Two rows observe the column: a permutation swaps their cells or does not, and the accuracy falls by 2/4 or not. */
static void a_drop_by_hand(void **state) {
    (void)state;
    static const double cells[] = {-1, NAN, 1, NAN, NAN, -1, NAN, 1};
    static const char *const classes[] = {"a", "b", "a", "b"};
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, 4, 2, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "y", classes, NULL), KARMA_OK);
    karma_model *model = fit(table, KARMA_OUTER_IDENTITY);
    karma_importances m = measure(model, table, DEFAULTS);
    double R = (double)DEFAULTS.repeats;
    assert_true(m.metric[0] == 1.0);
    for (size_t k = 0; k < 2; k++) {
        double swaps = m.items[k].importance / 0.5 * R, share = swaps / R;
        assert_true(fabs(swaps - round(swaps)) < 1e-9);
        assert_true(swaps > 2.0 && swaps < 18.0); /* sometimes, but not always */
        assert_true(fabs(m.items[k].error - 0.5 * sqrt(share * (1.0 - share) / (R - 1.0))) < 1e-12);
    }
    karma_importances_clear(&m);
    karma_model_free(model);
    karma_table_free(table);
}

static void the_seed_decides_and_threads_do_not(void **state) {
    (void)state;
    karma_table *train = draw(1, 2), *test = draw(2, 1);
    karma_model *model = fit(train, KARMA_OUTER_IDENTITY);
    karma_explain_options o = DEFAULTS;
    karma_importances first = measure(model, test, o);
    size_t bytes = first.n_targets * first.n_attributes * sizeof *first.items;
    o.threads = 3;
    karma_importances again = measure(model, test, o);
    assert_memory_equal(first.items, again.items, bytes);
    o.seed++;
    karma_importances other = measure(model, test, o);
    assert_memory_not_equal(first.items, other.items, bytes);
    karma_importances_clear(&first);
    karma_importances_clear(&again);
    karma_importances_clear(&other);
    karma_model_free(model);
    karma_table_free(train);
    karma_table_free(test);
}

/* A column that is not in the table has no importance. */
static void absent_columns_have_no_importance(void **state) {
    (void)state;
    static double cells[ROWS], numbers[ROWS];
    static const char *const name[] = {"decisive"};
    for (size_t i = 0; i < ROWS; i++) cells[i] = sin((double)i), numbers[i] = 3.0 * cells[i];
    karma_table *train = draw(1, 2), *test = NULL;
    karma_model *model = fit(train, KARMA_OUTER_IDENTITY);
    assert_int_equal(karma_table_from_array(&test, cells, ROWS, 1, name, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(test, "height", numbers, NULL), KARMA_OK);
    karma_importances m = {0};
    karma_error err;
    assert_int_equal(karma_measure_importance(&m, model, test, &DEFAULTS, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "'way'")); /* the other target is not there */
    static const char *classes[ROWS];
    for (size_t i = 0; i < ROWS; i++) classes[i] = numbers[i] > 0.0 ? "up" : "down";
    assert_int_equal(karma_table_add_target_classes(test, "way", classes, NULL), KARMA_OK);
    m = measure(model, test, DEFAULTS);
    for (size_t target = 0; target < 2; target++) {
        assert_int_equal(m.items[target * COLUMNS].attribute, 1);
        assert_true(m.items[target * COLUMNS].importance > 0.1);
        for (size_t k = 1; k < COLUMNS; k++) assert_true(m.items[target * COLUMNS + k].importance == 0.0);
    }
    karma_importances_clear(&m);
    karma_model_free(model);
    karma_table_free(train);
    karma_table_free(test);
}

/* Permuting one column does not depend on which others are permuted, apart from the random numbers. */
static void some_columns_alone(void **state) {
    (void)state;
    const size_t few[] = {2, 1}, wrong[] = {1, COLUMNS};
    karma_table *train = draw(1, 2), *test = draw(2, 1);
    karma_model *model = fit(train, KARMA_OUTER_IDENTITY);
    karma_importances all = measure(model, test, DEFAULTS), m = {0};
    karma_error err;
    assert_int_equal(karma_measure_importance_of(&m, model, test, few, 2, &DEFAULTS, NULL, &err), KARMA_OK);
    assert_int_equal(m.n_attributes, 2);
    assert_int_equal(m.n_rows, all.n_rows);
    for (size_t target = 0; target < 2; target++) {
        const karma_importance *items = m.items + target * 2;
        assert_true(m.metric[target] == all.metric[target]);
        assert_int_equal(items[0].attribute, 1);
        assert_int_equal(items[1].attribute, 2);
        for (size_t k = 0; k < 2; k++) {
            const karma_importance *same = item_of(&all, target, items[k].attribute);
            assert_true(items[k].error > 0.0);
            assert_true(fabs(items[k].importance - same->importance) < 4.0 * hypot(items[k].error, same->error));
        }
    }
    karma_importances_clear(&m);
    karma_importances_clear(&all);
    assert_int_equal(karma_measure_importance_of(&m, model, test, wrong, 2, &DEFAULTS, NULL, &err), KARMA_ERR_OPTION);
    assert_null(m.items);
    karma_model_free(model);
    karma_table_free(train);
    karma_table_free(test);
}

static int stop(void *payload, const char *stage, size_t done, size_t total) {
    (void)payload, (void)stage, (void)total;
    return done == 2;
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    karma_table *train = draw(1, 2), *unlabelled = draw(2, 0), *constant = draw(3, 2);
    double same[ROWS];
    for (size_t i = 0; i < ROWS; i++) same[i] = 4.0;
    assert_int_equal(karma_table_add_target_numbers(constant, "height", same, NULL), KARMA_OK);
    karma_model *model = fit(train, KARMA_OUTER_IDENTITY);
    karma_importances m = {0};
    karma_explain_options o = DEFAULTS;
    karma_hooks hooks = {stop, NULL, NULL};
    karma_error err;
    assert_int_equal(karma_measure_importance(&m, model, unlabelled, &o, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "no row has a label"));
    assert_int_equal(karma_measure_importance(&m, model, constant, &o, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "'height'"));
    assert_int_equal(karma_measure_importance(&m, model, train, &o, &hooks, &err), KARMA_ERR_CANCELLED);
    o.repeats = 1;
    assert_int_equal(karma_measure_importance(&m, model, train, &o, NULL, &err), KARMA_ERR_OPTION);
    assert_null(m.items);
    karma_model_free(model);
    karma_table_free(train);
    karma_table_free(unlabelled);
    karma_table_free(constant);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_decisive_column_comes_first),
        cmocka_unit_test(holes_stay_where_they_are),
        cmocka_unit_test(a_drop_by_hand),
        cmocka_unit_test(the_seed_decides_and_threads_do_not),
        cmocka_unit_test(absent_columns_have_no_importance),
        cmocka_unit_test(some_columns_alone),
        cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests_name("importance", tests, NULL, NULL);
}
