/* karma complete: fills in missing cells from the subspace of a model. */
#include <string.h>

#include "tool.h"

static json_t *description_json(const tool *t, const karma_completion *c) {
    size_t n_rows = karma_table_n_rows(c->table), d = karma_table_n_attributes(c->table);
    json_t *object = json_pack(
        "{s:s?, s:s?, s:I, s:I, s:I, s:I, s:I}", "output", writes_stdout(t) ? NULL : path_text(t->options.output),
        "errors", t->options.errors, "rows", (json_int_t)n_rows, "attributes", (json_int_t)d, "completed",
        (json_int_t)c->n_completed, "undetermined", (json_int_t)c->n_undetermined, "rank", (json_int_t)c->rank);
    if (object && writes_stdout(t)) add_cells_json(object, c->table);
    return object;
}

static int write_completion(const tool *t, const karma_completion *c) {
    int in_json = t->options.json && writes_stdout(t); /* then the JSON object has the table */
    int code = write_tables(t, in_json ? NULL : c->table, t->options.output, c->errors, t->options.errors);
    return code == EXIT_DONE && t->options.json ? print_json(description_json(t, c)) : code;
}

static int complete(tool *t, const karma_model *model, const karma_table *table) {
    karma_completion completion;
    karma_error err;
    int with_errors = t->options.errors != NULL;
    int code = find_flags(NULL, t, model, table);
    if (code != EXIT_DONE) return code;
    if (karma_complete(&completion, model, table, with_errors, (size_t)t->fit.threads, &t->hooks, &err) != KARMA_OK)
        return fail(t->arguments[karma_model_has_subspace(model) ? 1 : 0], &err);
    code = write_completion(t, &completion);
    karma_completion_clear(&completion);
    return code;
}

static int run(tool *t) {
    return with_inputs(t, complete);
}

static const char *const tool_names[] = {"output", "replace", "errors", "json", "quiet", NULL};
static const char *const role_names[] = {"id", "ignore", NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    MODEL_GROUPS(role_names, fit_names),
};

const tool_command command_complete = {
    .name = "complete",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "fill in missing cells with a model's subspace",
    .description = "Writes the rows of DATA as CSV with their missing cells filled in: the id columns, the model's "
                   "columns in its order, and the target if DATA has it. Observed cells do not change. A missing "
                   "number is its expected value given the observed cells of its row; a missing category is the most "
                   "likely level. The model must have a subspace: karma train --kernel union or --kernel subspace "
                   "makes such models. Predictions do not need completed rows: this is for people and other tools.\n\n"
                   "--errors writes a table of the same shape: 0 for observed cells, for completed numbers the "
                   "standard error in the column's units, for ordered categories the same in places of the order, and "
                   "for other categories 1 minus the share of the most likely level.",
    .example = "  karma complete patients.karma patients.csv --id patient -o full.csv --errors errors.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
