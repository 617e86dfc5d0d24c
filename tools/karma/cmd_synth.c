/* karma synth: low-rank rows with holes. */
#include <string.h>

#include "tool.h"

static int fail_output(const char *path, const karma_error *err) {
    return fail(path && strcmp(path, "-") != 0 ? path : "standard output", err);
}

/* Writes the table but does not make it appear yet. */
static int write_table(karma_output **output, const karma_table *table, const char *path) {
    karma_error err;
    if (karma_output_open(output, path, &err) != KARMA_OK) return fail_output(path, &err);
    if (karma_table_write_csv(table, karma_output_stream(*output), &err) == KARMA_OK) return EXIT_DONE;
    return fail_output(path, &err);
}

/* Both files or none; a table that is NULL goes nowhere. */
static int write_tables(const tool *t, const karma_table *table, const karma_table *complete) {
    karma_error err;
    karma_output *output = NULL, *complete_output = NULL;
    int code = table ? write_table(&output, table, t->options.output) : EXIT_DONE;
    if (code == EXIT_DONE && complete) code = write_table(&complete_output, complete, t->options.complete);
    if (code != EXIT_DONE) {
        karma_output_discard(output);
        karma_output_discard(complete_output);
        return code;
    }
    if (complete && karma_output_commit(complete_output, &err) != KARMA_OK) {
        karma_output_discard(output);
        return fail_output(t->options.complete, &err);
    }
    if (!table || karma_output_commit(output, &err) == KARMA_OK) return EXIT_DONE;
    return fail_output(t->options.output, &err);
}

/* Names of the attributes and the target, and the rows: null where a cell is missing. */
static json_t *cells_json(const karma_table *table, json_t *names) {
    json_t *rows = json_array();
    size_t d = karma_table_n_attributes(table);
    int classify = karma_table_target_kind(table, 0) == KARMA_COLUMN_CATEGORY;
    for (size_t j = 0; j < d; j++)
        (void)json_array_append_new(names, json_string(karma_table_attribute_name(table, j)));
    (void)json_array_append_new(names, json_string(karma_table_target_name(table, 0)));
    for (size_t i = 0; i < karma_table_n_rows(table); i++) {
        json_t *row = json_array();
        double value = 0.0;
        for (size_t j = 0; j < d; j++)
            (void)json_array_append_new(row, karma_table_cell(table, i, j, &value) ? json_real(value) : json_null());
        (void)karma_table_target(table, 0, i, &value);
        (void)json_array_append_new(row, classify ? json_string(karma_table_class(table, 0, (size_t)value))
                                                  : json_real(value));
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

/* About the table; and the table itself when no file has it. */
static int describe_json(const tool *t, const karma_table *table) {
    double cells = (double)karma_table_n_rows(table) * (double)karma_table_n_attributes(table);
    json_t *object =
        json_pack("{s:s?, s:I, s:I, s:f, s:o}", "output", writes_stdout(t) ? NULL : t->options.output, "rows",
                  (json_int_t)karma_table_n_rows(table), "attributes", (json_int_t)karma_table_n_attributes(table),
                  "missing", 1.0 - (double)karma_table_n_observed(table) / cells, "options",
                  options_json(karma_synth_option_table(), &t->synth));
    if (object && writes_stdout(t)) {
        json_t *names = json_array();
        (void)json_object_set_new(object, "cells", cells_json(table, names));
        (void)json_object_set_new(object, "columns", names);
    }
    return print_json(object);
}

static int run(tool *t) {
    karma_error err;
    karma_table *table = NULL, *complete = NULL;
    if (t->options.complete && strcmp(t->options.complete, "-") == 0 && (t->options.json || writes_stdout(t)))
        return fail_usage(t, "--complete - needs standard output for itself: say -o FILE, and no --json");
    if (karma_table_synthesise(&table, t->options.complete ? &complete : NULL, &t->synth, &err) != KARMA_OK)
        return fail(NULL, &err);
    int in_json = t->options.json && writes_stdout(t); /* the object has the table then */
    int code = write_tables(t, in_json ? NULL : table, complete);
    if (code == EXIT_DONE && t->options.json) code = describe_json(t, table);
    karma_table_free(table);
    karma_table_free(complete);
    return code;
}

static const char *const tool_names[] = {"output", "complete", "json", "quiet", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Rows", karma_synth_option_table, offsetof(tool, synth), NULL},
};

const tool_command command_synth = {
    .name = "synth",
    .arguments = "",
    .summary = "make a table of low-rank rows with holes",
    .description =
        "Makes rows that lie in a hidden subspace, x = U z + noise, with a label that is a linear function of the row, "
        "and hides cells: completely at random (mcar), depending on other cells (mar), on the cell itself (mnar) or "
        "whole blocks of columns (block). Attributes are x1, x2, ...; the label column is target.",
    .example = "  karma synth --rows 1000 --dim 20 --rank 3 --missing 0.5 --seed 1 -o holes.csv --complete full.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
