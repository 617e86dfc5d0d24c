/* Tables as output: CSV files, two of them or none, and cells in JSON. */
#include <string.h>

#include "tool.h"

static int fail_output(const char *path, const karma_error *err) {
    return fail(path && strcmp(path, "-") != 0 ? path : "standard output", err);
}

/* Writes the table, but the file does not appear yet. */
static int write_table(const tool *t, karma_output **output, const karma_table *table, const char *path) {
    karma_error err;
    if (karma_output_open_table(output, path, t->options.replace, &err) != KARMA_OK) return fail_output(path, &err);
    if (karma_table_write_csv(table, karma_output_stream(*output), &err) == KARMA_OK) return EXIT_DONE;
    return fail_output(path, &err);
}

int write_tables(const tool *t, const karma_table *table, const char *path, const karma_table *second,
                 const char *second_path) {
    karma_error err;
    karma_output *output = NULL, *second_output = NULL;
    int code = table ? write_table(t, &output, table, path) : EXIT_DONE;
    if (code == EXIT_DONE && second) code = write_table(t, &second_output, second, second_path);
    if (code != EXIT_DONE) {
        karma_output_discard(output);
        karma_output_discard(second_output);
        return code;
    }
    karma_status st = KARMA_OK;
    if (table && second)
        st = karma_output_commit_two(output, second_output, &err);
    else if (table || second)
        st = karma_output_commit(table ? output : second_output, &err);
    if (st == KARMA_OK) return EXIT_DONE;
    return table && second ? fail(NULL, &err) : fail_output(table ? path : second_path, &err);
}

static json_t *attribute_json(const karma_table *table, size_t row, size_t attribute) {
    double value;
    if (!karma_table_cell(table, row, attribute, &value)) return json_null();
    if (karma_table_attribute_kind(table, attribute) == KARMA_COLUMN_NUMBER) return json_real(value);
    return json_string(karma_table_level(table, attribute, (size_t)value));
}

static json_t *label_json(const karma_table *table, size_t row, size_t target) {
    double value;
    if (!karma_table_target(table, target, row, &value)) return json_null();
    if (karma_table_target_kind(table, target) == KARMA_COLUMN_NUMBER) return json_real(value);
    return json_string(karma_table_class(table, target, (size_t)value));
}

void add_cells_json(json_t *object, const karma_table *table) {
    json_t *names = json_array(), *rows = json_array();
    size_t n_ids = karma_table_n_ids(table), d = karma_table_n_attributes(table),
           n_targets = karma_table_n_targets(table);
    for (size_t i = 0; i < n_ids; i++) (void)json_array_append_new(names, json_string(karma_table_id_name(table, i)));
    for (size_t j = 0; j < d; j++)
        (void)json_array_append_new(names, json_string(karma_table_attribute_name(table, j)));
    for (size_t k = 0; k < n_targets; k++)
        (void)json_array_append_new(names, json_string(karma_table_target_name(table, k)));
    for (size_t row = 0; row < karma_table_n_rows(table); row++) {
        json_t *cells = json_array();
        for (size_t i = 0; i < n_ids; i++)
            (void)json_array_append_new(cells, json_string(karma_table_id(table, i, row)));
        for (size_t j = 0; j < d; j++) (void)json_array_append_new(cells, attribute_json(table, row, j));
        for (size_t k = 0; k < n_targets; k++) (void)json_array_append_new(cells, label_json(table, row, k));
        (void)json_array_append_new(rows, cells);
    }
    (void)json_object_set_new(object, "cells", rows);
    (void)json_object_set_new(object, "columns", names);
}
