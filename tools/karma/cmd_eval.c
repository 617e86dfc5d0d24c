/* karma eval: predictions against the truth, beside the baseline. */
#include <stdlib.h>

#include "tool.h"

static int run(tool *t) {
    const char *model_path = t->arguments[0], *path = t->arguments[1];
    karma_error err;
    karma_model *model = NULL;
    karma_table *table = NULL;
    double *scores = NULL;
    karma_metrics metrics = {0};
    int code = EXIT_DONE;
    if (karma_model_load(&model, model_path, &err) != KARMA_OK)
        code = fail(model_path, &err);
    else if (karma_model_read_table(&table, model, path, &t->read, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else if (!(scores = calloc(karma_table_n_rows(table), karma_model_n_outputs(model) * sizeof *scores)))
        code = fail(path, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    else if (karma_predict(scores, model, table, (size_t)t->fit.threads, &t->hooks, &err) != KARMA_OK ||
             karma_evaluate(&metrics, model, table, scores, &err) != KARMA_OK)
        code = fail(path, &err);
    else
        code = report_metrics(t, model, &metrics);
    free(scores);
    karma_table_free(table);
    karma_model_free(model);
    return code;
}

static const char *const tool_names[] = {"json", "quiet", NULL};
static const char *const read_names[] = {"target",    "id",     "ignore", "missing", "format",
                                         "delimiter", "header", "absent", NULL};
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
