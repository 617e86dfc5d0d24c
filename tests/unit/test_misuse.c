/* Calls that a careful program does not make: structs of a wrong size, empty tables and buffers, rows that there are
 * not, formulas of megabytes. Each ends in an error with a sentence, and nothing is read outside of its memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "karma/karma.h"

static const double CELLS[] = {1, 2, 3, 4, 5, 6}, LABELS[] = {0, 1, 0};

static void refused(karma_status st, karma_status wanted, const karma_error *err, const char *part) {
    if (st != wanted || !strstr(err->message, part)) fail_msg("%d: '%s', wanted '%s'", (int)st, err->message, part);
}

static karma_table *labelled_table(void) {
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, CELLS, 3, 2, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(table, "y", LABELS, NULL), KARMA_OK);
    return table;
}

static void structs_of_a_wrong_size(void **state) {
    (void)state;
    karma_table *table = labelled_table();
    struct {
        karma_fit_options options;
        char behind[64];
    } given = {.behind = {7}};
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &given.options);
    const size_t size = sizeof given.options,
                 sizes[] = {0, 1, 7, 9, size - 1, size + 1, size + 8, size + 64, SIZE_MAX, (size_t)1 << 40};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        given.options.struct_size = sizes[k];
        refused(karma_fit(&model, table, &given.options, NULL, &err), KARMA_ERR_OPTION, &err, "an options struct");
        assert_null(model);
    }
    memset(&given, 0xff, sizeof given); /* -1 and NaN everywhere */
    given.options.kernel = given.options.series = given.options.quantile = given.options.class_weight = NULL;
    given.options.linear = given.options.rank = (karma_names){0};
    given.options.struct_size = size;
    refused(karma_fit(&model, table, &given.options, NULL, &err), KARMA_ERR_OPTION, &err, "option 'task' takes");
    karma_table_free(table);
}

static void tables_without_rows_or_columns(void **state) {
    (void)state;
    karma_table *no_rows = NULL, *no_columns = NULL, *none = NULL, *table = labelled_table();
    karma_model *model = NULL;
    karma_error err;
    assert_int_equal(karma_table_from_array(&no_rows, CELLS, 0, 2, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_from_array(&no_columns, CELLS, 3, 0, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_select(&none, table, NULL, 0, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(no_rows, "y", LABELS, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(no_columns, "y", LABELS, NULL), KARMA_OK);
    refused(karma_fit(&model, no_rows, NULL, NULL, &err), KARMA_ERR_DATA, &err, "no row has a label");
    refused(karma_fit(&model, none, NULL, NULL, &err), KARMA_ERR_DATA, &err, "no row has a label");
    refused(karma_fit(&model, no_columns, NULL, NULL, &err), KARMA_ERR_DATA, &err, "there is no column");
    refused(karma_table_from_array(&table, CELLS, SIZE_MAX, SIZE_MAX, NULL, &err), KARMA_ERR_MEMORY, &err,
            "do not fit");
    karma_table_free(no_rows);
    karma_table_free(no_columns);
    karma_table_free(none);
    karma_table_free(table);
}

static void buffers_without_bytes(void **state) {
    (void)state;
    karma_model *model = NULL;
    karma_error err;
    refused(karma_model_load_buffer(&model, NULL, 0, &err), KARMA_ERR_FORMAT, &err, "the file is too short");
    refused(karma_model_load_buffer(&model, "", 0, &err), KARMA_ERR_FORMAT, &err, "the file is too short");
    refused(karma_model_load_buffer(&model, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, &err), KARMA_ERR_FORMAT, &err,
            "not a model file");
}

static void rows_that_there_are_not(void **state) {
    (void)state;
    static const size_t ranges[][2] = {{2, 2}, {3, 1}, {4, 0}, {0, 4}, {1, SIZE_MAX}, {SIZE_MAX, 2}};
    karma_table *table = labelled_table(), *selected = NULL;
    karma_gram *gram = NULL;
    karma_error err;
    float values[9];
    refused(karma_table_select(&selected, table, (const size_t[]){0, 5}, 2, &err), KARMA_ERR_DATA, &err, "row 5");
    for (int is_rank = 0; is_rank < 2; is_rank++) {
        karma_fit_options options;
        karma_options_init(karma_fit_option_table(), &options);
        options.kernel = (char *)(is_rank ? "rank" : "subspace");
        assert_int_equal(karma_gram_new(&gram, table, NULL, &options, NULL, NULL), KARMA_OK);
        for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++)
            refused(karma_gram_rows(values, gram, ranges[k][0], ranges[k][1], &err), KARMA_ERR_DATA, &err, "of 3 rows");
        assert_int_equal(karma_gram_rows(values, gram, 1, 2, &err), KARMA_OK);
        assert_int_equal(karma_gram_rows(values, gram, 3, 0, &err), KARMA_OK);
        karma_gram_free(gram);
    }
    karma_table_free(table);
}

static void formulas_of_megabytes(void **state) {
    (void)state;
    enum { REPEATS = 200000 };
    static const char *const parts[] = {"(", "linear+", "linear|", "rank*", "0."};
    karma_table *table = labelled_table();
    char *formula = malloc((REPEATS + 1) * 8 + 1);
    assert_non_null(formula);
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        size_t length = strlen(parts[k]);
        karma_fit_options options;
        karma_model *model = NULL;
        karma_error err;
        for (size_t i = 0; i <= REPEATS; i++) memcpy(formula + i * length, parts[k], length + 1);
        karma_options_init(karma_fit_option_table(), &options);
        options.kernel = formula;
        refused(karma_fit(&model, table, &options, NULL, &err), KARMA_ERR_OPTION, &err, "option 'kernel'");
    }
    free(formula);
    karma_table_free(table);
}

static void nothing_is_freed(void **state) {
    (void)state;
    karma_metrics metrics = {0};
    karma_review review = {0};
    karma_table_free(NULL);
    karma_model_free(NULL);
    karma_buffer_free(NULL);
    karma_columns_free(NULL);
    karma_gram_free(NULL);
    karma_row_stream_free(NULL);
    karma_row_reader_free(NULL);
    karma_online_free(NULL);
    karma_lowrank_free(NULL);
    karma_output_discard(NULL);
    for (int twice = 0; twice < 2; twice++) {
        karma_metrics_clear(&metrics);
        karma_review_clear(&review);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_of_a_wrong_size), cmocka_unit_test(tables_without_rows_or_columns),
        cmocka_unit_test(buffers_without_bytes),   cmocka_unit_test(rows_that_there_are_not),
        cmocka_unit_test(formulas_of_megabytes),   cmocka_unit_test(nothing_is_freed),
    };
    return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}
