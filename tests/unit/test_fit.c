/* karma_fit as a caller of the public API sees it. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "karma/karma.h"

enum { ROWS = 60, COLUMNS = 3 };

/* Two classes, separated by the first column; every fifth cell is missing. */
static karma_table *two_classes(void) {
    double cells[ROWS * COLUMNS];
    const char *classes[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            cells[i * COLUMNS + j] =
                (i * COLUMNS + j) % 5 == 4 ? NAN : sin((double)(7 * i + 3 * j)) + (j == 0 ? (double)(i % 2) : 0.0);
        classes[i] = i % 2 ? "yes" : "no";
    }
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "answer", classes, NULL), KARMA_OK);
    return table;
}

static double decreasing_step(void *payload, size_t t) {
    ++*(size_t *)payload;
    return 0.5 / (double)t;
}

static void a_step_function_is_called(void **state) {
    (void)state;
    karma_table *table = two_classes();
    karma_model *model = NULL;
    karma_fit_options options;
    size_t calls = 0;
    karma_options_init(karma_fit_option_table(), &options);
    options.solver = KARMA_SOLVER_ONLINE;
    options.passes = 2;
    options.rho = 0.1;
    options.step = decreasing_step;
    options.step_payload = &calls;
    assert_int_equal(karma_fit(&model, table, &options, NULL, NULL), KARMA_OK);
    assert_int_equal(calls, 2 * ROWS);
    assert_null(karma_model_options(model)->step); /* the caller's */
    karma_model_free(model);
    karma_table_free(table);
}

/* Asks to stop from the n-th call on. */
typedef struct stopper {
    size_t calls, from;
} stopper;

static int stop_from(void *payload, const char *stage, size_t done, size_t total) {
    stopper *s = payload;
    (void)stage, (void)done, (void)total;
    return ++s->calls >= s->from;
}

static void cancelled_before_learning_gives_no_model(void **state) {
    (void)state;
    karma_table *table = two_classes();
    for (int solver = KARMA_SOLVER_BATCH; solver < KARMA_N_SOLVERS; solver++) {
        karma_model *model = NULL;
        karma_error err;
        stopper s = {0, 1};
        karma_hooks hooks = {stop_from, NULL, &s};
        karma_fit_options options;
        karma_options_init(karma_fit_option_table(), &options);
        options.solver = solver;
        assert_int_equal(karma_fit(&model, table, &options, &hooks, &err), KARMA_ERR_CANCELLED);
        assert_null(model);
    }
    karma_table_free(table);
}

static void cancelled_later_keeps_what_was_learned(void **state) {
    (void)state;
    karma_table *table = two_classes();
    karma_model *model = NULL;
    stopper s = {0, 2};
    karma_hooks hooks = {stop_from, NULL, &s};
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.tolerance = 1e-12;
    assert_int_equal(karma_fit(&model, table, &options, &hooks, NULL), KARMA_OK);
    assert_int_equal(karma_model_info(model)->stop, KARMA_STOP_CANCELLED);
    assert_true(karma_model_info(model)->n_support > 0);
    karma_model_free(model);
    karma_table_free(table);
}

static void columns_of_one_name_are_refused(void **state) {
    (void)state;
    const double cells[] = {1.0, 2.0, 3.0};
    const char *const names[] = {"a", "b", "a"};
    karma_table *table = NULL;
    karma_error err;
    assert_int_equal(karma_table_from_array(&table, cells, 1, 3, names, &err), KARMA_ERR_DATA);
    assert_null(table);
    assert_non_null(strstr(err.message, "'a'"));
}

static double rho_of(const karma_table *table, char *kernel) {
    karma_model *model = NULL;
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.solver = KARMA_SOLVER_ONLINE;
    options.schedule = KARMA_SCHEDULE_REGRET;
    options.kernel = kernel;
    assert_int_equal(karma_fit(&model, table, &options, NULL, NULL), KARMA_OK);
    double rho = karma_model_info(model)->rho;
    karma_model_free(model);
    return rho;
}

/* rho depends on the bound on |φ|; for kernels that are not in the paper, on the root of the largest k(x,x). */
static void rho_depends_on_the_length_of_rows(void **state) {
    (void)state;
    karma_table *table = two_classes();
    double composed = rho_of(table, "linear + 0*rank");
    assert_true(fabs(rho_of(table, "0.25*linear") - 0.5 * composed) < 1e-9 * composed);
    /* the bound of the paper holds for all rows with cells of that size */
    assert_true(rho_of(table, "linear") >= composed);
    karma_table_free(table);
}

/* Threads of other runtimes have small stacks. Frames of sanitized builds are larger. */
#if defined(__SANITIZE_ADDRESS__)
enum { SMALL_STACK = 1024 * 1024 };
#else
enum { SMALL_STACK = 128 * 1024 };
#endif

typedef struct small_job {
    const karma_table *table;
    char *kernel;
    karma_status status;
    double scores[ROWS];
} small_job;

static void *learn_and_predict(void *payload) {
    small_job *job = payload;
    karma_model *model = NULL;
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.kernel = job->kernel;
    options.threads = 1; /* this thread does all of the work */
    job->status = karma_fit(&model, job->table, &options, NULL, NULL);
    if (job->status == KARMA_OK) job->status = karma_predict(job->scores, model, job->table, 1, NULL, NULL);
    karma_model_free(model);
    return NULL;
}

static void a_small_stack_suffices(void **state) {
    static char *const kernels[] = {"linear", "rank", "linear*rank + subspace"};
    karma_table *table = two_classes();
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        small_job job = {.table = table, .kernel = kernels[k]};
        pthread_attr_t attributes;
        pthread_t thread;
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
        assert_int_equal(pthread_create(&thread, &attributes, learn_and_predict, &job), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(job.status, KARMA_OK);
        pthread_attr_destroy(&attributes);
    }
    karma_table_free(table);
}

/* Rows with the labels `values`, one after the other, again and again. */
static karma_task guessed_task(const double *values, size_t n_values, size_t n_rows) {
    double cells[600], labels[600];
    karma_table *table = NULL;
    karma_task task;
    size_t n_distinct;
    for (size_t i = 0; i < n_rows; i++) {
        cells[i] = (double)i;
        labels[i] = values[i % n_values];
    }
    assert_int_equal(karma_table_from_array(&table, cells, n_rows, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "y", labels, NULL), KARMA_OK);
    assert_int_equal(karma_auto_task(&task, &n_distinct, table, 0, NULL), KARMA_OK);
    assert_int_equal(n_distinct, n_values);
    karma_table_free(table);
    return task;
}

static void numbers_one_after_the_other_are_classes(void **state) {
    static const double two[] = {0.5, 1e9}, few[] = {-100, 0, 7, 1000}, gap[] = {1, 2, 3, 4, 5, 7},
                        ratings[] = {1, 1.5, 2, 2.5, 3}, halves[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20},
                        codes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 15, 16},
                        degrees[] = {0, 15, 30, 40, 50, 60, 70, 80, 85, 90, 97},
                        thirds[] = {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30};
    double many[31];
    (void)state;
    for (size_t i = 0; i < 31; i++) many[i] = (double)i;
    assert_int_equal(guessed_task(two, 2, 10), KARMA_TASK_CLASSIFY);
    assert_int_equal(guessed_task(few, 4, 12), KARMA_TASK_CLASSIFY);
    assert_int_equal(guessed_task(few, 4, 11), KARMA_TASK_REGRESS); /* fewer than three of each */
    assert_int_equal(guessed_task(gap, 6, 60), KARMA_TASK_CLASSIFY);
    assert_int_equal(guessed_task(ratings, 5, 60), KARMA_TASK_CLASSIFY);
    assert_int_equal(guessed_task(codes, 13, 60), KARMA_TASK_CLASSIFY);
    assert_int_equal(guessed_task(halves, 11, 60), KARMA_TASK_CLASSIFY); /* every second number */
    assert_int_equal(guessed_task(thirds, 11, 60), KARMA_TASK_REGRESS);
    assert_int_equal(guessed_task(degrees, 11, 600), KARMA_TASK_REGRESS);
    assert_int_equal(guessed_task(degrees, 10, 600), KARMA_TASK_CLASSIFY); /* so few may be anything */
    assert_int_equal(guessed_task(many, 30, 600), KARMA_TASK_CLASSIFY);
    assert_int_equal(guessed_task(many, 31, 600), KARMA_TASK_REGRESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_one_after_the_other_are_classes),
        cmocka_unit_test(a_step_function_is_called),
        cmocka_unit_test(cancelled_before_learning_gives_no_model),
        cmocka_unit_test(cancelled_later_keeps_what_was_learned),
        cmocka_unit_test(columns_of_one_name_are_refused),
        cmocka_unit_test(rho_depends_on_the_length_of_rows),
        cmocka_unit_test(a_small_stack_suffices),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
