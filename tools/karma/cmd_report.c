/* karma report: a page about a model, for people. */
#include "report_page.h"

static int run(tool *t) {
    karma_model *model = NULL;
    karma_table *table = NULL;
    if (!t->options.output) return fail_usage(t, "name the page with -o FILE.html");
    if (t->options.json && writes_stdout(t))
        return fail_usage(t, "-o - and --json both need standard output: use -o FILE");
    const char *data = t->n_arguments > 1 ? t->arguments[1] : NULL;
    collect_notes(t);
    int code = data ? load_inputs(t, &model, &table) : load_model(t, &model);
    if (code == EXIT_DONE) code = report_model(t, model, table, data, t->options.output);
    end_progress();
    if (code == EXIT_DONE && t->options.json) {
        code = print_json(json_pack("{s:s, s:o, s:I}", "output", t->options.output, "targets", target_names_json(model),
                                    "rows", (json_int_t)(table ? karma_table_n_rows(table) : 0)));
    } else if (code == EXIT_DONE && !t->options.quiet && !writes_stdout(t)) {
        printf("%s: open it in a browser\n", t->options.output);
        code = finish_stdout();
    }
    forget_notes();
    karma_table_free(table);
    karma_model_free(model);
    return code;
}

static const char *const tool_names[] = {"output", "json", "quiet", NULL};
static const char *const role_names[] = {"target", "id", "ignore", "gram", NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    MODEL_GROUPS(role_names, fit_names),
};

const tool_command command_report = {
    .name = "report",
    .arguments = "MODEL [DATA] -o PAGE",
    .min_arguments = 1,
    .max_arguments = 2,
    .summary = "write a web page that shows how far a model can be trusted",
    .description =
        "Writes one HTML file that needs no network. It shows how good the model is on the rows of DATA, also by "
        "number of "
        "observed columns, which columns matter and how, the least certain rows and why, the data and their missing "
        "values, whether the low-rank assumption holds, and how the model was chosen. DATA should be rows that the "
        "model "
        "has not seen. Without labels the page has no quality; without DATA it has only what the model file contains. "
        "Large tables are judged by a sample of their rows, and the page says so.",
    .example = "  karma report patients.karma held-out.csv --id patient -o report.html\n"
               "  karma report patients.karma -o model.html\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .stops_gently = 1,
    .run = run,
};
