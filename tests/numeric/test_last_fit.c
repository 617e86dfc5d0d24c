/* The last fit of a search over many rows: better than the sample that candidates were tried on, and never worse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "labelled.h"
#include "model/fit_task.h"
#include "model/model.h"
#include "table/builder.h"

enum { N_COLUMNS = 3 };

/* The label is the sign of a product, so no single column predicts it, and a quarter of the labels are flipped. */
static int is_noisy_yes(const double *x, karma_i_rng *rng) {
    return (x[0] * x[1] > 0.0) == (karma_i_rng_uniform(rng) < 0.75);
}

/* P(a normal number <= x), which is uniform on 0 to 1. */
static double uniform(double x) {
    return 0.5 * erfc(-x / sqrt(2.0));
}

/* The label depends on which of thirty stripes the first column is in, and a tenth of the labels are flipped: a
 * sample shows the stripes badly. */
static int is_striped_yes(const double *x, karma_i_rng *rng) {
    int is_odd = (int)(30.0 * uniform(x[0])) % 2, is_high = x[1] > 0.0;
    return (x[2] < 0.0 ? is_odd : is_high) == (karma_i_rng_uniform(rng) < 0.9);
}

static karma_table *draw(size_t n_rows, uint64_t seed, int (*is_yes)(const double *x, karma_i_rng *rng)) {
    karma_i_rng rng;
    karma_i_builder builder;
    karma_table *table = NULL;
    const char **classes = malloc(n_rows * sizeof *classes);
    karma_i_rng_init(&rng, seed);
    assert_int_equal(karma_i_builder_init(&builder, NULL), KARMA_OK);
    for (size_t j = 0; j < N_COLUMNS; j++) add_drawn_attribute(&builder, j, 0);
    for (size_t i = 0; i < n_rows; i++) {
        double x[N_COLUMNS];
        for (size_t j = 0; j < N_COLUMNS; j++) {
            x[j] = karma_i_rng_normal(&rng);
            assert_int_equal(karma_i_builder_add_cell(&builder, j, x[j], NULL), KARMA_OK);
        }
        assert_int_equal(karma_i_builder_end_row(&builder, NULL, 1.0, NULL, NULL), KARMA_OK);
        classes[i] = is_yes(x, &rng) ? "yes" : "no";
    }
    karma_i_builder_finish(&table, &builder);
    assert_int_equal(karma_table_add_target_classes(table, "y", classes, NULL), KARMA_OK);
    free(classes);
    return table;
}

static karma_table *draw_noisy(size_t n_rows, uint64_t seed) {
    return draw(n_rows, seed, is_noisy_yes);
}

static karma_table *draw_stripes(size_t n_rows, uint64_t seed) {
    return draw(n_rows, seed, is_striped_yes);
}

/* Keeps the last warning. */
static void keep_warning(void *payload, const char *sentence) {
    if (strncmp(sentence, "warning", 7) == 0) (void)snprintf(payload, 400, "%s", sentence);
}

static karma_model *searched(const karma_table *table, const karma_fit_options *fit, char *warning) {
    karma_search_options search;
    karma_hooks hooks = {NULL, keep_warning, warning};
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_search_option_table(), &search);
    search.effort = KARMA_EFFORT_QUICK;
    warning[0] = '\0';
    if (karma_search(&model, table, fit, &search, &hooks, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

static double accuracy_of(const karma_model *model, const karma_table *table) {
    karma_metrics metrics;
    karma_error err;
    double *scores = malloc(karma_table_n_rows(table) * sizeof *scores), accuracy;
    if (karma_predict(scores, model, table, 1, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_evaluate(&metrics, model, 0, table, scores, &err) != KARMA_OK) fail_msg("%s", err.message);
    accuracy = metrics.values[0];
    karma_metrics_clear(&metrics);
    free(scores);
    return accuracy;
}

/* With more than 8000 rows outside the sample, the choice is first tried on one of two halves of them. */
static void many_noisy_rows_are_all_used(void **state) {
    (void)state;
    enum { N_ROWS = 9500 };
    char warning[400];
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_table *all = draw_noisy(N_ROWS, 1), *few = draw_noisy(1000, 1), *fresh = draw_noisy(4000, 2);
    karma_model *model = searched(all, &fit, warning);
    const karma_search_info *info = karma_model_search_info(model);
    assert_string_equal(warning, "");
    assert_true(karma_model_info(model)->stop == KARMA_STOP_CONVERGED ||
                karma_model_info(model)->stop == KARMA_STOP_FINISHED); /* the second of boosted trees alone */
    assert_int_equal(karma_model_info(model)->n_rows, N_ROWS);
    assert_int_equal(info->n_checked, info->n_rows_tried);
    assert_int_equal(info->n_check_learned, (N_ROWS - info->n_checked) / 2);
    double accuracy = accuracy_of(model, fresh);
    if (fabs(accuracy - info->check_score) > 0.05) fail_msg("check %.3f, fresh rows %.3f", info->check_score, accuracy);
    karma_model *of_few = searched(few, &fit, warning);
    double accuracy_of_few = accuracy_of(of_few, fresh);
    if (!(accuracy > 0.72 && accuracy > accuracy_of_few))
        fail_msg("accuracy %.3f, that of 1000 rows %.3f", accuracy, accuracy_of_few);
    assert_int_equal(karma_model_search_info(of_few)->n_checked, 0);
    karma_model_free(model);
    karma_model_free(of_few);
    karma_table_free(all);
    karma_table_free(few);
    karma_table_free(fresh);
}

/* Members are solved to the gap of their candidates, ten times that of a machine that stands alone, also after boosted
 * trees have been tried, which stand alone. */
static void members_are_solved_like_candidates(void **state) {
    (void)state;
    char warning[400];
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_table *table = draw_noisy(1500, 1);
    karma_model *model = searched(table, &fit, warning);
    const karma_fit_info *info = karma_model_info(model);
    assert_true(karma_model_search_info(model)->n_members > 1);
    assert_int_equal(info->stop, KARMA_STOP_CONVERGED);
    if (!(info->gap > fit.tolerance && info->gap <= 10.0 * fit.tolerance)) fail_msg("gap %g", info->gap);
    karma_model_free(model);
    karma_table_free(table);
}

/* Two landmarks cannot match the machines of the search. */
static void a_worse_model_is_not_given(void **state) {
    (void)state;
    char warning[400];
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.solver = KARMA_SOLVER_NYSTROM;
    fit.landmarks = 2;
    karma_table *all = draw_noisy(5000, 3), *fresh = draw_noisy(4000, 4);
    karma_model *model = searched(all, &fit, warning);
    const karma_search_info *info = karma_model_search_info(model);
    assert_non_null(strstr(warning, "gave a worse model"));
    assert_true(info->check_score < info->score);
    assert_int_equal(karma_model_info(model)->n_rows, info->n_rows_tried);
    double accuracy = accuracy_of(model, fresh);
    if (!(accuracy > info->check_score)) fail_msg("accuracy %.3f, refused %.3f", accuracy, info->check_score);
    karma_model_free(model);
    karma_table_free(all);
    karma_table_free(fresh);
}

/* The folds of the sample do not show what boosted trees gain from all rows. */
static void trees_are_tried_on_all_rows(void **state) {
    (void)state;
    char warning[400];
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_table *all = draw_stripes(2500, 5), *fresh = draw_stripes(2000, 6);
    karma_model *model = searched(all, &fit, warning);
    const karma_search_info *info = karma_model_search_info(model);
    double accuracy = accuracy_of(model, fresh);
    int has_trees = 0; /* alone, or in a mean with other kernels */
    for (size_t m = 0; m < info->n_members; m++) has_trees |= strcmp(info->members[m].kernel, "boost") == 0;
    assert_true(has_trees);
    if (!(accuracy > info->score + 0.05 && fabs(accuracy - info->check_score) < 0.05))
        fail_msg("accuracy %.3f, check %.3f, cross-validated on the sample %.3f", accuracy, info->check_score,
                 info->score);
    karma_model_free(model);
    karma_table_free(all);
    karma_table_free(fresh);
}

/* The scores of C = 0 are those of the forest, and a mean with a machine is a mean of scores. */
static void boosted_values_are_a_machine(void **state) {
    (void)state;
    karma_fit_options fit;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.trees = 20;
    karma_table *rows = draw_noisy(300, 7);
    static const char *const kernels[] = {"boost @ 0", "linear", "linear @ 1:0.25 | boost @ 0:0.75"};
    double scores[3][300];
    for (size_t k = 0; k < 3; k++) {
        karma_model *model = NULL;
        fit.kernel = (char *)(uintptr_t)kernels[k];
        if (karma_fit(&model, rows, &fit, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
        if (karma_predict(scores[k], model, rows, 1, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
        const karma_i_forest *forest = model->encoder.recipes[0]->forest;
        if (k == 0) {
            karma_i_rows *encoded = NULL;
            double own[300];
            assert_int_equal(karma_i_encoder_apply(&encoded, &model->encoder, rows, NULL, NULL), KARMA_OK);
            karma_i_forest_scores(own, forest, karma_i_rows_codes(encoded, 0), forest->n_trees, 300);
            for (size_t i = 0; i < 300; i++) assert_true(fabs(own[i] - scores[0][i]) < 1e-9 * (1.0 + fabs(own[i])));
            karma_i_rows_free(encoded);
        }
        karma_model_free(model);
    }
    for (size_t i = 0; i < 300; i++) assert_true(fabs(scores[2][i] - 0.25 * scores[1][i] - 0.75 * scores[0][i]) < 1e-4);
    karma_table_free(rows);
}

/* Given trees are not grown again: those of the same rows change nothing, others do.
 */
static void given_trees_are_taken(void **state) {
    (void)state;
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.trees = 20;
    fit.kernel = (char *)(uintptr_t) "linear @ 1:0.25 | boost @ 0:0.75";
    karma_table *rows = draw_noisy(300, 7), *others = draw_noisy(300, 8);
    karma_model *own = NULL, *other = NULL;
    double scores[3][300];
    assert_int_equal(karma_fit(&own, rows, &fit, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_fit(&other, others, &fit, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_predict(scores[0], own, rows, 1, NULL, NULL), KARMA_OK);
    const karma_model *givers[] = {own, other};
    int n_different = 0;
    for (size_t g = 0; g < 2; g++) {
        karma_model *model = NULL;
        const karma_i_forest *grown = givers[g]->encoder.recipes[1]->forest;
        assert_non_null(grown);
        assert_int_equal(karma_i_fit_task(&model, &own->task, &own->plan, rows, grown, NULL, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_predict(scores[1 + g], model, rows, 1, NULL, NULL), KARMA_OK);
        karma_model_free(model);
    }
    for (size_t i = 0; i < 300; i++) {
        assert_true(scores[1][i] == scores[0][i]);
        n_different += scores[2][i] != scores[0][i];
    }
    assert_true(n_different > 150);
    karma_model_free(own);
    karma_model_free(other);
    karma_table_free(rows);
    karma_table_free(others);
}

/* Trees of very many rows draw half of them, piece by piece. */
static void pieces_do_not_depend_on_threads(void **state) {
    (void)state;
    karma_fit_options fit;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.trees = 20;
    fit.kernel = (char *)(uintptr_t) "boost @ 0";
    karma_table *rows = draw_stripes(200100, 11), *fresh = draw_stripes(1000, 12);
    double scores[2][1000];
    for (int threads = 1; threads <= 2; threads++) {
        karma_model *model = NULL;
        fit.threads = threads;
        assert_int_equal(karma_fit(&model, rows, &fit, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_predict(scores[threads - 1], model, fresh, 1, NULL, NULL), KARMA_OK);
        double accuracy = accuracy_of(model, fresh);
        if (!(accuracy > 0.8)) fail_msg("accuracy %.3f, 0.9 is the best possible", accuracy);
        karma_model_free(model);
    }
    for (size_t i = 0; i < 1000; i++) assert_true(scores[0][i] == scores[1][i]);
    karma_table_free(rows);
    karma_table_free(fresh);
}

/* A committee of linear kernels that were tried on all rows: the matrix that candidates are learned from is there
 * sooner than features. Its machines have the weights and C of the choice, which a fit of the chosen formula shows: it
 * takes features, in double precision. */
static void committees_of_few_rows_take_the_matrix(void **state) {
    (void)state;
    karma_table *table = draw_noisy(150, 3);
    karma_fit_options fit;
    karma_search_options search;
    karma_model *model = NULL, *again = NULL;
    karma_error err;
    char *names[] = {"kernel", "outer"};
    double scores[150], others[150];
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    const karma_option *kernel = karma_option_find(karma_fit_option_table(), "kernel");
    assert_int_equal(karma_option_set(kernel, &fit, "linear", &err), KARMA_OK);
    search.effort = KARMA_EFFORT_QUICK;
    search.fixed = (karma_names){names, 2};
    if (karma_search(&model, table, &fit, &search, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_true(karma_i_plan_n_machines(&model->plan) > 1);
    assert_int_equal(karma_model_info(model)->solver, KARMA_SOLVER_BATCH);
    assert_int_equal(karma_option_set(kernel, &fit, model->task.options.kernel, &err), KARMA_OK);
    if (karma_fit(&again, table, &fit, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_model_info(again)->solver, KARMA_SOLVER_PRIMAL);
    assert_int_equal(karma_predict(scores, model, table, 1, NULL, &err), KARMA_OK);
    assert_int_equal(karma_predict(others, again, table, 1, NULL, &err), KARMA_OK);
    for (size_t i = 0; i < 150; i++) assert_true(fabs(scores[i] - others[i]) < 0.3);
    karma_model_free(model);
    karma_model_free(again);
    karma_options_clear(karma_fit_option_table(), &fit);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_noisy_rows_are_all_used),    cmocka_unit_test(members_are_solved_like_candidates),
        cmocka_unit_test(a_worse_model_is_not_given),      cmocka_unit_test(trees_are_tried_on_all_rows),
        cmocka_unit_test(boosted_values_are_a_machine),    cmocka_unit_test(given_trees_are_taken),
        cmocka_unit_test(pieces_do_not_depend_on_threads), cmocka_unit_test(committees_of_few_rows_take_the_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
