/* karma eval: predictions against the truth, beside the baseline. */
#include <stdlib.h>

#include "tool.h"

static int judge(tool *t, const karma_model *model, const karma_table *table, const double *scores) {
    if (t->read.format == KARMA_FORMAT_RATINGS && karma_table_n_targets(table) == 0)
        return fail_usage(t,
                          "say where the label '%s' is: --users FILE with that column, or --item ID and --like "
                          "THRESHOLD",
                          karma_model_target_name(model, 0));
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    size_t n = karma_model_n_targets(model), done = 0;
    karma_metrics *metrics = calloc(n, sizeof *metrics);
    int ok = metrics != NULL;
    while (ok && done < n) {
        ok = karma_evaluate(&metrics[done], model, done, table, scores, &err) == KARMA_OK;
        done += ok ? 1 : 0;
    }
    int code = ok ? report_metrics(t, model, metrics) : fail(t->arguments[1], &err);
    for (size_t i = 0; i < done; i++) karma_metrics_clear(&metrics[i]);
    free(metrics);
    return code;
}

static int run(tool *t) {
    return with_scores(t, judge);
}

static const char *const tool_names[] = {"json", "quiet", NULL};
static const char *const read_names[] = {"target", "row-weight", "id",    "ignore", "missing", "format", "delimiter",
                                         "header", "absent",     "users", "item",   "like",    "gram",   NULL};
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
        "Predicts the rows of DATA and compares with their labels: accuracy, balanced accuracy, F1, AUC, and the "
        "confusion matrix; where the model has probabilities log loss, Brier score and expected calibration error; for "
        "a regression mean absolute error, root mean square error and R2; for quantiles their loss and coverage. With "
        "--row-weight rows count by their weights. Always beside what a constant answer would reach.",
    .example = "  karma eval patients.karma held-out.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
