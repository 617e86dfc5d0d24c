/* Eight threads use one model at the same time, as the headers allow, and all get the results of one thread. Under
 * the thread sanitizer (dev/thread-sanitize) also: none of them writes what another one reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "karma/karma.h"

enum { N_THREADS = 8, N_ROUNDS = 3, ROWS = 60, COLUMNS = 4, MOST_OUTPUTS = 3 };

typedef struct answer {
    double scores[ROWS * MOST_OUTPUTS], probabilities[MOST_OUTPUTS];
    size_t n_flagged, saved_size;
    unsigned saved_sum; /* of the bytes of the model file */
    double completed;
    karma_status status;
} answer;

typedef struct job {
    const karma_model *model;
    const karma_table *table;
    answer got;
} job;

static void keep(answer *a, karma_status st) {
    if (a->status == KARMA_OK) a->status = st;
}

static void complete(answer *out, const karma_model *model, const karma_table *table) {
    karma_completion completion;
    karma_status st = karma_complete(&completion, model, table, 0, 1, NULL, NULL);
    keep(out, st);
    if (st != KARMA_OK) return;
    (void)karma_table_cell(completion.table, 3, 1, &out->completed);
    karma_completion_clear(&completion);
}

static void ask(answer *out, const karma_model *model, const karma_table *table) {
    karma_cell_flags flags = {0};
    void *bytes = NULL;
    memset(out, 0, sizeof *out); /* padding too, because all bytes are compared */
    keep(out, karma_predict(out->scores, model, table, 1, NULL, NULL));
    (void)karma_model_probabilities(model, 0, out->scores, out->probabilities);
    keep(out, karma_flag_cells(&flags, model, table, NULL));
    out->n_flagged = flags.n_cells;
    karma_cell_flags_clear(&flags);
    if (karma_model_has_subspace(model)) complete(out, model, table);
    keep(out, karma_model_save_buffer(&bytes, &out->saved_size, model, NULL));
    for (size_t i = 0; i < out->saved_size; i++)
        out->saved_sum = 31 * out->saved_sum + ((const unsigned char *)bytes)[i];
    karma_buffer_free(bytes);
}

static void *work(void *context) {
    job *j = context;
    for (int round = 0; round < N_ROUNDS; round++) ask(&j->got, j->model, j->table);
    return NULL;
}

static karma_table *some_table(void) {
    double cells[ROWS * COLUMNS];
    const char *labels[ROWS], *const words[] = {"a", "b", "c"};
    karma_table *table = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++)
            cells[i * COLUMNS + j] = (i + j) % 4 == 0 ? NAN : sin((double)(i * (j + 1))) + (double)(i % 3);
        labels[i] = words[i % 3];
    }
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "y", labels, NULL), KARMA_OK);
    return table;
}

static void one_model_for_all_threads(void **state) {
    (void)state;
    static const char *const kernels[] = {"linear", "rank", "linear(outer=rbf) + rank", "union", "boost"};
    karma_table *table = some_table();
    job *jobs = calloc(N_THREADS, sizeof *jobs);
    assert_non_null(jobs);
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        pthread_t threads[N_THREADS];
        karma_fit_options options;
        karma_model *model = NULL;
        answer alone;
        karma_options_init(karma_fit_option_table(), &options);
        options.kernel = (char *)kernels[k];
        options.threads = 1;
        options.trees = 4;
        options.subspace_rank = 1;
        options.probabilities = KARMA_CALIBRATE_SIGMOID;
        assert_int_equal(karma_fit(&model, table, &options, NULL, NULL), KARMA_OK);
        ask(&alone, model, table);
        assert_int_equal(alone.status, KARMA_OK);
        for (size_t t = 0; t < N_THREADS; t++) {
            jobs[t] = (job){.model = model, .table = table};
            assert_int_equal(pthread_create(&threads[t], NULL, work, &jobs[t]), 0);
        }
        for (size_t t = 0; t < N_THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
        for (size_t t = 0; t < N_THREADS; t++) assert_memory_equal(&jobs[t].got, &alone, sizeof alone);
        karma_model_free(model);
    }
    free(jobs);
    karma_table_free(table);
}

/* Number k of the ways to learn. */
static void learn(answer *out, const karma_table *table, size_t k) {
    static const char *const kernels[N_THREADS] = {"linear", "rank",   "linear(outer=rbf)", "relevance",
                                                   "boost",  "forest", "subspace",          "linear | rank"};
    karma_fit_options options;
    karma_model *model = NULL;
    memset(out, 0, sizeof *out);
    karma_options_init(karma_fit_option_table(), &options);
    options.kernel = (char *)kernels[k];
    options.threads = 1;
    options.trees = 4;
    options.subspace_rank = 1;
    options.solver = k == 1 ? KARMA_SOLVER_NYSTROM : KARMA_SOLVER_AUTO;
    options.seed = (int64_t)k;
    keep(out, karma_fit(&model, table, &options, NULL, NULL));
    if (out->status == KARMA_OK) ask(out, model, table);
    karma_model_free(model);
}

typedef struct lesson {
    const karma_table *table;
    size_t number;
    answer got;
} lesson;

static void *take_lesson(void *context) {
    lesson *l = context;
    learn(&l->got, l->table, l->number);
    return NULL;
}

static void threads_learn_with_their_own_options(void **state) {
    (void)state;
    karma_table *table = some_table();
    lesson *lessons = calloc(N_THREADS, sizeof *lessons);
    pthread_t threads[N_THREADS];
    assert_non_null(lessons);
    for (size_t t = 0; t < N_THREADS; t++) {
        lessons[t] = (lesson){.table = table, .number = t};
        assert_int_equal(pthread_create(&threads[t], NULL, take_lesson, &lessons[t]), 0);
    }
    for (size_t t = 0; t < N_THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (size_t t = 0; t < N_THREADS; t++) {
        answer alone;
        learn(&alone, table, t);
        assert_int_equal(alone.status, KARMA_OK);
        assert_memory_equal(&lessons[t].got, &alone, sizeof alone);
    }
    free(lessons);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_model_for_all_threads),
                                       cmocka_unit_test(threads_learn_with_their_own_options)};
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
