/* karma explain: contributions to scores, importance of columns, overlap of rows with the training rows. */
#include <stdlib.h>

#include "tool.h"

static karma_explain_options explain_options(const tool *t) {
    karma_explain_options options = t->explain;
    options.seed = t->fit.seed;
    options.threads = t->fit.threads;
    return options;
}

static int explain_scores(tool *t, const karma_model *model, const karma_table *table) {
    karma_explain_options options = explain_options(t);
    karma_explanations e;
    karma_error err;
    if (karma_explain(&e, model, table, &options, &t->hooks, &err) != KARMA_OK) return fail(t->arguments[1], &err);
    end_progress();
    int code = report_explanations(t, model, table, &e);
    karma_explanations_clear(&e);
    return code;
}

static int explain_importance(tool *t, const karma_model *model, const karma_table *table) {
    karma_explain_options options = explain_options(t);
    karma_importances importances;
    karma_error err;
    if (karma_measure_importance(&importances, model, table, &options, &t->hooks, &err) != KARMA_OK)
        return fail(t->arguments[1], &err);
    end_progress();
    int code = report_importance(t, model, &importances);
    karma_importances_clear(&importances);
    return code;
}

static int explain_overlap(tool *t, const karma_model *model, const karma_table *table) {
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    karma_overlap *overlaps = calloc(karma_table_n_rows(table) + 1, sizeof *overlaps);
    int ok = overlaps && karma_measure_overlap(overlaps, model, table, &t->hooks, &err) == KARMA_OK;
    end_progress();
    int code = ok ? report_overlap(t, model, table, overlaps) : fail(t->arguments[1], &err);
    free(overlaps);
    return code;
}

static int explain(tool *t, const karma_model *model, const karma_table *table) {
    int code = find_flags(NULL, t, model, table);
    if (code != EXIT_DONE) return code;
    if (t->options.importance) return explain_importance(t, model, table);
    return t->options.overlap ? explain_overlap(t, model, table) : explain_scores(t, model, table);
}

static int run(tool *t) {
    if (t->options.importance && t->options.overlap) return fail_usage(t, "use --importance or --overlap, not both");
    if (t->options.overlap && t->options.top) return fail_usage(t, "--top does not apply to --overlap");
    return with_inputs(t, explain);
}

static const char *const tool_names[] = {"output", "importance", "overlap", "top", "json", "quiet", NULL};
static const char *const explain_names[] = {"samples", "repeats", NULL};
static const char *const role_names[] = {"target", "row-weight", "id", "ignore", NULL};
static const char *const fit_names[] = {"seed", "threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Explaining", karma_explain_option_table, offsetof(tool, explain), explain_names},
    MODEL_GROUPS(role_names, fit_names),
};

const tool_command command_explain = {
    .name = "explain",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "show what each column adds to a score, and which columns matter",
    .description = "Writes a CSV with one line for every row of DATA, score and observed column: the contribution of "
                   "the column to the score, the largest first, and (bias), the rest; together they sum to the score. "
                   "With two classes a positive score means the second one. If every kernel of the model has one "
                   "factor, without an outer map and not of a subspace, the contributions are exact. Otherwise they "
                   "are Shapley values, in which a column that is left out is missing: exact for rows with at most 10 "
                   "observed columns, otherwise sampled, with standard errors.\n"
                   "--importance shows instead how much accuracy (or R2) is lost when the observed cells of a column "
                   "are permuted among its rows, the mean over --repeats with its standard error; DATA need labels and "
                   "should not be the training rows. --overlap shows for every row how many columns it has, how many "
                   "support rows have at least half of them, and a warning level: 1 thin (fewer than 30 rows, or 1% of "
                   "all), 2 very thin (fewer than 5, or 0.1%), 3 nothing observed.",
    .example = "  karma explain patients.karma new.csv --id patient --top 5 -o parts.csv\n"
               "  karma explain patients.karma held-out.csv --importance\n"
               "  karma explain patients.karma new.csv --overlap -o overlap.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
