/* Model files with a right checksum: whatever they hold is refused, or makes a model that predicts finite scores,
 * answers every question and can be saved, and the saved one predicts the same. A model of a stream goes on with it, or
 * says why not. */
#include "fuzz_ask.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

static const char MARK[] = "\"checksum\":\"";
enum { DIGITS = 8, ROWS = 3 };

/* Signs the file, so that the loader reads its contents. */
static void sign(uint8_t *bytes, size_t size) {
    size_t length = sizeof MARK - 1;
    for (size_t i = 8; i + length + DIGITS <= size; i++)
        if (memcmp(bytes + i, MARK, length) == 0) {
            char digits[DIGITS + 1];
            memset(bytes + i + length, '0', DIGITS);
            (void)snprintf(digits, sizeof digits, "%08lx", crc32(0, bytes, (uInt)size) & 0xffffffffUL);
            memcpy(bytes + i + length, digits, DIGITS);
            return;
        }
}

/* Labels to judge the model by: its classes in turn, and one that it does not know. */
static void label_rows(karma_table *table, const karma_model *model) {
    for (size_t t = 0; t < karma_model_n_targets(model); t++) {
        static const double numbers[ROWS] = {0.0, 1.5, -2.0};
        const char *classes[ROWS] = {NULL, NULL, "unheard of"}, *name = karma_model_target_name(model, t);
        size_t n_classes = karma_model_n_classes(model, t);
        for (size_t i = 0; i + 1 < ROWS && n_classes; i++) classes[i] = karma_model_class(model, t, i % n_classes);
        (void)(n_classes ? karma_table_add_target_classes(table, name, classes, NULL)
                         : karma_table_add_target_numbers(table, name, numbers, NULL));
    }
}

/* One column as the model knows it: its levels in turn, or numbers; a few cells are missing. */
static karma_status add_column(karma_columns *columns, const karma_model *model, size_t j) {
    const char *texts[ROWS], *name = karma_model_attribute_name(model, j);
    double values[ROWS];
    size_t n_levels = karma_model_attribute_n_levels(model, j);
    int is_text = karma_model_attribute_kind(model, j) == KARMA_COLUMN_CATEGORY;
    for (size_t i = 0; i < ROWS; i++) {
        int is_missing = (i + j) % 4 == 3;
        values[i] = is_missing ? NAN : (double)i - 0.5 * (double)j;
        texts[i] = is_missing || n_levels == 0 ? NULL : karma_model_attribute_level(model, j, (i + j) % n_levels);
    }
    return is_text
               ? karma_columns_add_texts(columns, name, texts, NULL)
               : karma_columns_add_numbers(columns, name, values, KARMA_FLOAT64, (ptrdiff_t)sizeof *values, NULL, NULL);
}

/* Rows with the model's columns and labels; NULL if there cannot be any, as for two columns of one name. */
static karma_table *some_rows(const karma_model *model) {
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    karma_status st = karma_columns_new(&columns, ROWS, NULL);
    for (size_t j = 0; st == KARMA_OK && j < karma_model_n_attributes(model); j++) st = add_column(columns, model, j);
    if (st == KARMA_OK)
        st = karma_columns_finish(&table, columns, NULL);
    else
        karma_columns_free(columns);
    if (st == KARMA_OK) label_rows(table, model);
    return table;
}

static void predict_both(const karma_model *model, const karma_model *copy, const karma_table *table) {
    size_t n = ROWS * karma_model_n_outputs(model);
    double *scores = malloc(2 * n * sizeof *scores);
    if (!scores) return;
    karma_status st = karma_predict(scores, model, table, 1, NULL, NULL);
    FUZZ_CHECK(karma_predict(scores + n, copy, table, 1, NULL, NULL) == st, "the saved model ends otherwise");
    for (size_t k = 0; st == KARMA_OK && k < n; k++) {
        FUZZ_CHECK(isfinite(scores[k]), "a score is not finite");
        FUZZ_CHECK(scores[k] == scores[n + k], "the saved model predicts something else");
    }
    free(scores);
}

/* A learner accepts or refuses the rows. */
static void go_on(const uint8_t *bytes, size_t size, const karma_table *table) {
    karma_online *online = NULL;
    const karma_model *model = NULL;
    karma_error err = {0};
    fuzz_file file = fuzz_file_open(bytes, size);
    karma_status st = karma_online_load(&online, file.path, 1, &err);
    if (st == KARMA_OK) st = karma_online_model(&model, NULL, online, &err);
    if (st == KARMA_OK) st = karma_online_learn(online, table, NULL, &err);
    FUZZ_CHECK(st == KARMA_OK || err.message[0] != '\0', "an error without a message");
    karma_online_free(online);
    fuzz_file_close(&file);
}

static void use(const karma_model *model) {
    void *saved = NULL;
    size_t size = 0;
    karma_model *copy = NULL;
    karma_error err = {0};
    if (karma_model_save_buffer(&saved, &size, model, &err) != KARMA_OK) fuzz_fail(err.message);
    if (karma_model_load_buffer(&copy, saved, size, &err) != KARMA_OK) fuzz_fail(err.message);
    karma_table *table = some_rows(model);
    if (table) predict_both(model, copy, table);
    if (table) fuzz_ask(model, table);
    if (table && karma_model_n_stream_rows(model)) go_on(saved, size, table);
    karma_table_free(table);
    karma_model_free(copy);
    karma_buffer_free(saved);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    uint8_t *signed_bytes = malloc(size + 1);
    karma_model *model = NULL;
    karma_error err = {0};
    if (!signed_bytes) return 0;
    memcpy(signed_bytes, bytes, size);
    sign(signed_bytes, size);
    if (karma_model_load_buffer(&model, signed_bytes, size, &err) == KARMA_OK)
        use(model);
    else
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    karma_model_free(model);
    free(signed_bytes);
    return 0;
}
