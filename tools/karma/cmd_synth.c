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

/* Both files or none. */
static int write_tables(const tool *t, const karma_table *table, const karma_table *complete) {
    karma_error err;
    karma_output *output = NULL, *complete_output = NULL;
    int code = write_table(&output, table, t->options.output);
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
    return karma_output_commit(output, &err) == KARMA_OK ? EXIT_DONE : fail_output(t->options.output, &err);
}

static int describe_json(const tool *t, const karma_table *table) {
    double cells = (double)karma_table_n_rows(table) * (double)karma_table_n_attributes(table);
    return print_json(json_pack("{s:s, s:I, s:I, s:f, s:o}", "output", t->options.output, "rows",
                                (json_int_t)karma_table_n_rows(table), "attributes",
                                (json_int_t)karma_table_n_attributes(table), "missing",
                                1.0 - (double)karma_table_n_observed(table) / cells, "options",
                                options_json(karma_synth_option_table(), &t->synth)));
}

static int run(tool *t) {
    karma_error err;
    karma_table *table = NULL, *complete = NULL;
    if (t->options.complete && strcmp(t->options.complete, "-") == 0 && (t->options.json || writes_stdout(t)))
        return fail_usage(t, "--complete - needs standard output for itself: say -o FILE, and no --json");
    if (t->options.json && writes_stdout(t)) return fail_usage(t, "--json describes the table; it needs -o FILE too");
    if (karma_table_synthesise(&table, t->options.complete ? &complete : NULL, &t->synth, &err) != KARMA_OK)
        return fail(NULL, &err);
    int code = write_tables(t, table, complete);
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
