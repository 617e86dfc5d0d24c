/* A stream of tiny tables: learn, save after some of them, load, go on. All scores are finite, and the learner that
 * continued from the file saves the same bytes as the one that never stopped. */
#include "fuzz_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KERNELS[] = {"linear", "rank", "linear(outer=rbf)", "rank*linear(gamma=1)",
                                      "linear(outer=poly)"};

enum { MOST_TABLES = 4 };

static void draw_options(karma_fit_options *fit, karma_online_options *online, fuzz_source *source) {
    karma_options_init(karma_fit_option_table(), fit);
    karma_options_init(karma_online_option_table(), online);
    fit->threads = 1;
    fit->kernel = (char *)KERNELS[fuzz_byte(source) % (sizeof KERNELS / sizeof KERNELS[0])];
    fit->loss = (int)(fuzz_byte(source) % (KARMA_LOSS_SQUARED + 1));
    fit->standardise = fuzz_byte(source) % 4 != 0;
    fit->seed = fuzz_byte(source);
    online->budget = 1 + fuzz_byte(source) % 8;
}

/* The model as bytes, which the caller frees; NULL if nothing has been learned. */
static void *saved_model(size_t *size, karma_online *online, const karma_table *table) {
    const karma_model *model = NULL;
    karma_error err = {0};
    void *bytes = NULL;
    karma_online_account account;
    if (karma_online_model(&model, &account, online, &err) != KARMA_OK) {
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
        return NULL;
    }
    FUZZ_CHECK(isfinite(account.mean_loss) && account.error_rate >= 0.0 && account.error_rate <= 1.0,
               "a wrong account");
    size_t n = karma_table_n_rows(table) * karma_model_n_outputs(model);
    double *scores = malloc(n * sizeof *scores);
    if (scores && karma_predict(scores, model, table, 1, NULL, &err) != KARMA_OK) fuzz_fail(err.message);
    for (size_t k = 0; scores && k < n; k++) FUZZ_CHECK(isfinite(scores[k]), "a score is not finite");
    free(scores);
    if (karma_model_save_buffer(&bytes, size, model, &err) != KARMA_OK) fuzz_fail(err.message);
    return bytes;
}

/* The learner that is loaded from these bytes. */
static karma_online *load(const void *bytes, size_t size) {
    karma_online *online = NULL;
    karma_error err = {0};
    fuzz_file file = fuzz_file_open(bytes, size);
    if (karma_online_load(&online, file.path, 1, &err) != KARMA_OK) fuzz_fail(err.message);
    fuzz_file_close(&file);
    return online;
}

/* Both learn the table, and either both succeed or both fail; returns whether they succeeded. */
static int learn_both(karma_online *one, karma_online *two, const karma_table *table) {
    karma_error err = {0};
    karma_status st = karma_online_learn(one, table, NULL, &err);
    FUZZ_CHECK(st == KARMA_OK || err.message[0] != '\0', "an error without a message");
    if (two) FUZZ_CHECK(karma_online_learn(two, table, NULL, NULL) == st, "the loaded learner ends otherwise");
    return st == KARMA_OK;
}

static void run_stream(karma_online *online, const karma_table *first, fuzz_source *source) {
    karma_online *copy = NULL;
    size_t n_tables = 1 + fuzz_byte(source) % MOST_TABLES, stop = fuzz_byte(source) % MOST_TABLES;
    int goes_on = learn_both(online, NULL, first);
    for (size_t t = 0; goes_on && t < n_tables; t++) {
        karma_table *table = fuzz_table(source);
        if (t == stop) {
            size_t size = 0;
            void *bytes = saved_model(&size, online, first);
            if (bytes) copy = load(bytes, size);
            karma_buffer_free(bytes);
        }
        goes_on = table && learn_both(online, copy, table);
        karma_table_free(table);
    }
    size_t size = 0, copy_size = 0;
    void *bytes = goes_on ? saved_model(&size, online, first) : NULL;
    void *copy_bytes = bytes && copy ? saved_model(&copy_size, copy, first) : NULL;
    if (copy_bytes)
        FUZZ_CHECK(size == copy_size && memcmp(bytes, copy_bytes, size) == 0, "the loaded learner saves other bytes");
    karma_buffer_free(bytes);
    karma_buffer_free(copy_bytes);
    karma_online_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_source source = {bytes, size};
    karma_fit_options fit;
    karma_online_options options;
    karma_online *online = NULL;
    karma_error err = {0};
    draw_options(&fit, &options, &source);
    karma_table *first = fuzz_table(&source);
    if (!first) return 0;
    if (karma_online_new(&online, first, &fit, &options, NULL, &err) == KARMA_OK)
        run_stream(online, first, &source);
    else
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    karma_online_free(online);
    karma_table_free(first);
    return 0;
}
