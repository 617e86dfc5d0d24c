/* Tasks and folds: each row is left out once per repeat, and a task is learned from the given rows only.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "karma/karma.h"
#include "model/fold.h"

enum { ROWS = 47, COLUMNS = 2, FOLDS = 5, REPEATS = 3 };

/* The first column is the row's number, so that a row is known by its cell. */
static karma_table *numbered(void) {
    double cells[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS; i++) {
        cells[i * COLUMNS] = (double)i;
        cells[i * COLUMNS + 1] = i % 3 ? sin((double)i) : NAN;
    }
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    return table;
}

static karma_table *with_classes(void) {
    const char *classes[ROWS];
    karma_table *table = numbered();
    for (size_t i = 0; i < ROWS; i++) classes[i] = i % 4 ? "often" : "seldom";
    assert_int_equal(karma_table_add_target_classes(table, "class", classes, NULL), KARMA_OK);
    return table;
}

static karma_table *with_numbers(void) {
    double numbers[ROWS];
    karma_table *table = numbered();
    for (size_t i = 0; i < ROWS; i++) numbers[i] = (double)((i * 29) % ROWS) + 0.25;
    assert_int_equal(karma_table_add_target_numbers(table, "number", numbers, NULL), KARMA_OK);
    return table;
}

static karma_i_task task_of(const karma_table *table) {
    karma_fit_options options;
    karma_i_task task;
    karma_options_init(karma_fit_option_table(), &options);
    assert_int_equal(karma_i_task_learn(&task, table, &options, NULL, NULL), KARMA_OK);
    return task;
}

static size_t number_of(const karma_table *table, size_t row) {
    double value = NAN;
    assert_true(karma_table_cell(table, row, 0, &value));
    return (size_t)value;
}

/* Training and test rows agree with their row numbers, and together they are all rows. */
static void check_fold(const karma_i_folds *folds, size_t number, size_t *n_left_out) {
    unsigned char seen[ROWS] = {0};
    karma_i_fold fold, test;
    assert_int_equal(karma_i_fold_split(&fold, folds, number, NULL), KARMA_OK);
    assert_int_equal(karma_i_fold_test(&test, folds, number, NULL), KARMA_OK);
    assert_int_equal(fold.train->n_rows + fold.test->n_rows, ROWS);
    assert_null(test.train);
    assert_null(test.train_rows);
    assert_int_equal(test.test->n_rows, fold.test->n_rows);
    for (size_t i = 0; i < fold.train->n_rows; i++) {
        assert_int_equal(number_of(fold.train, i), fold.train_rows[i]);
        seen[fold.train_rows[i]]++;
    }
    for (size_t i = 0; i < fold.test->n_rows; i++) {
        assert_int_equal(number_of(fold.test, i), fold.test_rows[i]);
        assert_int_equal(number_of(test.test, i), fold.test_rows[i]);
        assert_int_equal(karma_i_folds_number(folds, number / FOLDS, fold.test_rows[i]), number);
        seen[fold.test_rows[i]]++;
        n_left_out[fold.test_rows[i]]++;
    }
    for (size_t i = 0; i < ROWS; i++) assert_int_equal(seen[i], 1);
    karma_i_fold_clear(&fold);
    karma_i_fold_clear(&test);
}

static void every_row_is_left_out_once_per_repeat(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        size_t n_left_out[ROWS] = {0};
        karma_table *table = which ? with_numbers() : with_classes();
        karma_i_task task = task_of(table);
        karma_i_folds folds;
        assert_int_equal(karma_i_folds_init(&folds, &task, table, FOLDS, REPEATS, 7, 2, NULL), KARMA_OK);
        assert_int_equal(karma_i_folds_count(&folds), FOLDS * REPEATS);
        for (size_t f = 0; f < FOLDS * REPEATS; f++) check_fold(&folds, f, n_left_out);
        for (size_t i = 0; i < ROWS; i++) assert_int_equal(n_left_out[i], REPEATS);
        karma_i_folds_clear(&folds);
        karma_i_task_clear(&task);
        karma_table_free(table);
    }
}

/* The rare class has 12 rows: two or three in each of five folds. */
static void classes_are_spread_evenly(void **state) {
    (void)state;
    karma_table *table = with_classes();
    karma_i_task task = task_of(table);
    karma_i_folds folds;
    assert_int_equal(karma_i_folds_init(&folds, &task, table, FOLDS, 1, 3, 0, NULL), KARMA_OK);
    size_t n_seldom[FOLDS] = {0};
    for (size_t i = 0; i < ROWS; i += 4) n_seldom[karma_i_folds_number(&folds, 0, i)]++;
    for (size_t f = 0; f < FOLDS; f++) assert_in_range(n_seldom[f], 2, 3);
    karma_i_folds_clear(&folds);
    karma_i_task_clear(&task);
    karma_table_free(table);
}

/* Repeat r has seed + r * step: its folds are those of a single repeat with that seed. */
static void repeats_have_seeds_of_their_own(void **state) {
    (void)state;
    karma_table *table = with_classes();
    karma_i_task task = task_of(table);
    karma_i_folds all, one;
    assert_int_equal(karma_i_folds_init(&all, &task, table, FOLDS, REPEATS, 11, 5, NULL), KARMA_OK);
    for (size_t r = 0; r < REPEATS; r++) {
        assert_int_equal(karma_i_folds_init(&one, &task, table, FOLDS, 1, 11 + 5 * r, 0, NULL), KARMA_OK);
        assert_memory_equal(all.fold + r * ROWS, one.fold, ROWS * sizeof *one.fold);
        karma_i_folds_clear(&one);
    }
    assert_memory_not_equal(all.fold, all.fold + ROWS, ROWS * sizeof *all.fold);
    karma_i_folds_clear(&all);
    karma_i_task_clear(&task);
    karma_table_free(table);
}

static void scores_are_put_and_taken_back(void **state) {
    (void)state;
    enum { OUTPUTS = 2 };
    karma_table *table = with_classes();
    karma_i_task task = task_of(table);
    karma_i_folds folds;
    double all[ROWS * OUTPUTS], copy[ROWS * OUTPUTS], own[ROWS * OUTPUTS];
    for (size_t i = 0; i < ROWS * OUTPUTS; i++) all[i] = (double)i, copy[i] = NAN;
    assert_int_equal(karma_i_folds_init(&folds, &task, table, FOLDS, 1, 1, 0, NULL), KARMA_OK);
    for (size_t f = 0; f < FOLDS; f++) {
        karma_i_fold fold;
        assert_int_equal(karma_i_fold_split(&fold, &folds, f, NULL), KARMA_OK);
        karma_i_fold_take_scores(own, &fold, all, OUTPUTS);
        for (size_t i = 0; i < fold.test->n_rows; i++)
            assert_true(own[i * OUTPUTS + 1] == (double)(number_of(fold.test, i) * OUTPUTS + 1));
        karma_i_fold_put_scores(copy, &fold, own, OUTPUTS);
        karma_i_fold_clear(&fold);
    }
    assert_memory_equal(copy, all, sizeof all);
    karma_i_folds_clear(&folds);
    karma_i_task_clear(&task);
    karma_table_free(table);
}

static void too_many_folds_are_an_error(void **state) {
    (void)state;
    karma_table *table = with_numbers();
    karma_i_task task = task_of(table);
    karma_i_folds folds;
    static const size_t wrong[] = {0, 1, ROWS + 1};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        karma_error err;
        assert_int_equal(karma_i_folds_init(&folds, &task, table, wrong[k], 1, 1, 0, &err), KARMA_ERR_DATA);
        assert_non_null(strstr(err.message, "folds"));
    }
    assert_int_equal(karma_i_folds_init(&folds, &task, table, ROWS, 1, 1, 0, NULL), KARMA_OK);
    karma_i_folds_clear(&folds);
    karma_i_task_clear(&task);
    karma_table_free(table);
}

/* Mean and spread of a number are those of the given rows; the classes stay. */
static void a_task_can_be_relearned_from_other_rows(void **state) {
    (void)state;
    static const size_t rows[] = {1, 2, 3, 5, 6}; /* none of the rare class */
    enum { N = sizeof rows / sizeof rows[0] };
    double mean = 0.0;
    karma_table *numbers = with_numbers(), *classes = with_classes(), *few = NULL;
    karma_i_task task = task_of(numbers), own;
    assert_int_equal(karma_table_select(&few, numbers, rows, N, NULL), KARMA_OK);
    assert_int_equal(karma_i_task_relearn(&own, &task, few, NULL), KARMA_OK);
    for (size_t i = 0; i < N; i++) mean += ((double)((rows[i] * 29) % ROWS) + 0.25) / N;
    assert_true(fabs(own.heads[0].mean - mean) < 1e-12);
    assert_true(fabs(own.heads[0].labels.shift - mean) < 1e-12);
    assert_true(fabs(task.heads[0].mean - mean) > 0.1);
    karma_i_task_clear(&task);
    karma_i_task_clear(&own);
    karma_table_free(few);
    task = task_of(classes);
    assert_int_equal(karma_table_select(&few, classes, rows, N, NULL), KARMA_OK);
    assert_int_equal(karma_i_task_relearn(&own, &task, few, NULL), KARMA_OK);
    assert_int_equal(own.heads[0].labels.n_classes, 2);
    assert_int_equal(own.heads[0].labels.class_count[0], N); /* "often" */
    assert_int_equal(own.heads[0].labels.class_count[1], 0);
    assert_int_equal(own.n_outputs, task.n_outputs);
    karma_i_task_clear(&task);
    karma_i_task_clear(&own);
    karma_table_free(few);
    karma_table_free(numbers);
    karma_table_free(classes);
}

static void a_view_has_other_options_and_the_same_heads(void **state) {
    (void)state;
    karma_table *table = with_classes();
    karma_i_task task = task_of(table);
    karma_fit_options options = task.options;
    options.gamma = 7;
    karma_i_task view = karma_i_task_with(&task, &options);
    assert_int_equal(view.options.gamma, 7);
    assert_ptr_equal(view.heads, task.heads);
    assert_int_equal(view.n_outputs, task.n_outputs);
    assert_int_not_equal(task.options.gamma, 7);
    karma_i_task_clear(&task);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_left_out_once_per_repeat),
        cmocka_unit_test(classes_are_spread_evenly),
        cmocka_unit_test(repeats_have_seeds_of_their_own),
        cmocka_unit_test(scores_are_put_and_taken_back),
        cmocka_unit_test(too_many_folds_are_an_error),
        cmocka_unit_test(a_task_can_be_relearned_from_other_rows),
        cmocka_unit_test(a_view_has_other_options_and_the_same_heads),
    };
    return cmocka_run_group_tests_name("fold", tests, NULL, NULL);
}
