/* karma synth: low-rank rows with missing values. */
#include "tool.h"

/* A description of the table; and the table itself if it is not written to a file. */
static int describe_json(const tool *t, const karma_table *table) {
    double cells = (double)karma_table_n_rows(table) * (double)karma_table_n_attributes(table);
    json_t *object =
        json_pack("{s:s?, s:I, s:I, s:f, s:o}", "output", writes_stdout(t) ? NULL : t->options.output, "rows",
                  (json_int_t)karma_table_n_rows(table), "attributes", (json_int_t)karma_table_n_attributes(table),
                  "missing", 1.0 - (double)karma_table_n_observed(table) / cells, "options",
                  options_json(karma_synth_option_table(), &t->synth));
    if (object && writes_stdout(t)) add_cells_json(object, table);
    return print_json(object);
}

static int run(tool *t) {
    karma_error err;
    karma_table *table = NULL, *complete = NULL;
    if (karma_table_synthesise(&table, t->options.complete ? &complete : NULL, &t->synth, &err) != KARMA_OK)
        return fail(NULL, &err);
    int in_json = t->options.json && writes_stdout(t); /* then the JSON object has the table */
    int code = write_tables(t, in_json ? NULL : table, t->options.output, complete, t->options.complete);
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
    .summary = "make a low-rank table with missing values",
    .description =
        "Makes rows that lie in a hidden subspace, x = U z + noise, with a label that is a linear function of the row, "
        "and hides cells: completely at random (mcar), depending on other cells (mar), on the cell itself (mnar) or "
        "whole blocks of columns (block). Attributes are x1, x2, ...; the label column is target.",
    .example = "  karma synth --rows 1000 --dim 20 --rank 3 --missing 0.5 --seed 1 -o holes.csv --complete full.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
