/* karma eval: predictions against the truth, beside the baseline. */
#include "tool.h"

static int judge(tool *t, const karma_model *model, const karma_table *table, const double *scores) {
    karma_error err;
    karma_metrics metrics;
    if (t->read.format == KARMA_FORMAT_RATINGS && !karma_table_has_target(table))
        return fail_usage(t,
                          "say where the label '%s' is: --users FILE with that column, or --item ID and --like "
                          "THRESHOLD",
                          karma_model_target_name(model));
    if (karma_evaluate(&metrics, model, table, scores, &err) != KARMA_OK) return fail(t->arguments[1], &err);
    return report_metrics(t, model, &metrics);
}

static int run(tool *t) {
    return with_scores(t, judge);
}

static const char *const tool_names[] = {"json", "quiet", NULL};
static const char *const read_names[] = {"target", "id",     "ignore", "missing", "format", "delimiter",
                                         "header", "absent", "users",  "item",    "like",   NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), read_names},
    {"Work", karma_fit_option_table, offsetof(tool, fit), fit_names},
};

const tool_command command_eval = {
    .name = "eval",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "tell how good a model is on rows with known labels",
    .description =
        "Predicts the rows of DATA and compares with their labels: accuracy, balanced accuracy, F1, AUC, log loss "
        "where the model has probabilities, and the confusion matrix; for a regression mean absolute error, root "
        "mean square error and R2. Always beside what a constant answer would reach.",
    .example = "  karma eval patients.karma held-out.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
