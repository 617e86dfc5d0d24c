/* The loss that a search gives to more than two classes, on tables whose probabilities are known: each level of one
 * column has the same number of rows, and shares of the classes that are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "karma/karma.h"
#include "model/model.h"
#include "search/loss_choice.h"
#include "tempfile.h"

enum { LEVELS = 10, CLASSES = 5, ROWS_OF_LEVEL = 20, MOST_TEXT = 4096 };

/* `own` of the 20 rows of level l are of class l mod 5, the others of the other classes in equal parts. */
static karma_table *table_with_shares(size_t own) {
    char text[MOST_TEXT];
    size_t length = (size_t)snprintf(text, sizeof text, "a,y\n"), each = (ROWS_OF_LEVEL - own) / (CLASSES - 1);
    for (size_t l = 0; l < LEVELS; l++)
        for (size_t k = 0; k < CLASSES; k++)
            for (size_t i = 0; i < (k == l % CLASSES ? own : each); i++)
                length += (size_t)snprintf(text + length, sizeof text - length, "l%zu,c%zu\n", l, k);
    assert_true(length < sizeof text);
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_read_option_table(), &o);
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &o, "y", NULL), KARMA_OK);
    temp_create(&file, ".csv", text, length);
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    assert_int_equal(karma_table_n_rows(table), LEVELS * (own + (CLASSES - 1) * each));
    return table;
}

static karma_model *searched(const karma_table *table, karma_loss_kind loss, karma_goal goal) {
    karma_fit_options fit;
    karma_search_options search;
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    fit.threads = 1;
    fit.loss = (int)loss;
    search.effort = KARMA_EFFORT_QUICK;
    search.goal = (int)goal;
    if (karma_search(&model, table, &fit, &search, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

static void assert_loss(size_t own, karma_loss_kind loss, karma_goal goal, const char *wanted) {
    karma_table *table = table_with_shares(own);
    karma_model *model = searched(table, loss, goal);
    assert_string_equal(karma_model_loss_name(model, 0), wanted);
    karma_model_free(model);
    karma_table_free(table);
}

static void the_hinge_stays_where_a_class_has_more_than_half(void **state) {
    (void)state;
    assert_loss(16, KARMA_LOSS_AUTO, KARMA_GOAL_AUTO, "hinge");
}

static void where_none_has_half_the_loss_is_the_squared_hinge(void **state) {
    (void)state;
    assert_loss(8, KARMA_LOSS_AUTO, KARMA_GOAL_AUTO, "squared-hinge");
}

static void a_loss_that_is_given_stays(void **state) {
    (void)state;
    assert_loss(8, KARMA_LOSS_HINGE, KARMA_GOAL_AUTO, "hinge");
    assert_loss(8, KARMA_LOSS_AUTO, KARMA_GOAL_LOG_LOSS, "logistic");
}

/* Its machines are learned with it: scores have the order of the probabilities, and are near 2p - 1, which is -0.2 and
 * -0.7 here. Those of the hinge are near -1, all of them. */
static void scores_have_the_order_of_probabilities(void **state) {
    (void)state;
    karma_table *table = table_with_shares(8);
    karma_model *model = searched(table, KARMA_LOSS_AUTO, KARMA_GOAL_AUTO);
    karma_model *hinge = searched(table, KARMA_LOSS_HINGE, KARMA_GOAL_AUTO);
    size_t n = karma_table_n_rows(table);
    double *scores = malloc(n * CLASSES * sizeof *scores), *others = malloc(n * CLASSES * sizeof *others);
    assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_predict(others, hinge, table, 1, NULL, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < CLASSES; k++) {
            int is_own = k == i / ROWS_OF_LEVEL % CLASSES;
            double wanted = is_own ? -0.2 : -0.7, got = scores[i * CLASSES + k];
            if (!(fabs(got - wanted) < 0.15)) fail_msg("row %zu, class %zu: %.3f, not %.3f", i, k, got, wanted);
            assert_true(others[i * CLASSES + k] < -0.8);
        }
    free(scores);
    free(others);
    karma_model_free(model);
    karma_model_free(hinge);
    karma_table_free(table);
}

/* Files keep the loss, and the scores. */
static void files_keep_the_loss(void **state) {
    (void)state;
    karma_table *table = table_with_shares(8);
    karma_model *model = searched(table, KARMA_LOSS_AUTO, KARMA_GOAL_AUTO), *again = NULL;
    temp_file file;
    temp_create(&file, ".karma", "", 0);
    assert_int_equal(karma_model_save(model, file.path, NULL), KARMA_OK);
    assert_int_equal(karma_model_load(&again, file.path, NULL), KARMA_OK);
    assert_string_equal(karma_model_loss_name(again, 0), "squared-hinge");
    temp_remove(&file);
    karma_model_free(model);
    karma_model_free(again);
    karma_table_free(table);
}

/* By hand: of the four rows asked for, one has no label, and one of the others has no positive score. A score of 0 is
 * not positive, scores of the other head do not count, and neither do other rows. */
static void the_share_is_counted(void **state) {
    (void)state;
    static const float scores[] = {9, -1, -1, -1, 9, -1, 0.5F, -1, 9, -1, -2, -3,
                                   9, 0,  -1, -2, 9, 1,  1,    1,  9, -1, 2,  3};
    static const size_t rows[] = {1, 2, 4, 5};
    double labels[] = {0, 1, 2, 0, NAN, 1};
    karma_i_head head = {.first_output = 1, .n_outputs = 3};
    karma_i_target target = {.value = labels};
    assert_true(fabs(karma_i_share_without_class(&head, &target, scores, 4, rows, 4) - 1.0 / 3.0) < 1e-12);
    static const size_t zero[] = {3};
    assert_true(karma_i_share_without_class(&head, &target, scores, 4, zero, 1) == 1.0);
    static const size_t unlabelled[] = {4};
    assert_true(karma_i_share_without_class(&head, &target, scores, 4, unlabelled, 1) == 0.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hinge_stays_where_a_class_has_more_than_half),
        cmocka_unit_test(where_none_has_half_the_loss_is_the_squared_hinge),
        cmocka_unit_test(a_loss_that_is_given_stays),
        cmocka_unit_test(scores_have_the_order_of_probabilities),
        cmocka_unit_test(files_keep_the_loss),
        cmocka_unit_test(the_share_is_counted),
    };
    return cmocka_run_group_tests_name("loss_choice", tests, NULL, NULL);
}
