/* karma eval: predictions against the truth, compared with the baseline. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* Intervals, sets and the curve of abstention, if the model has them. False: err has the reason. */
static int judge_certainty(judged_target *judged, const tool *t, const karma_model *model, size_t target,
                           const karma_table *table, const double *scores, int with_curve, karma_error *err) {
    static const double shares[] = {1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5};
    enum { N_SHARES = sizeof shares / sizeof shares[0] };
    double level = asked_level(t, model, target);
    int has_confidence = karma_model_n_classes(model, target) > 0 || karma_model_n_quantiles(model, target) > 1;
    if (karma_model_n_left_out(model, target) == 0 && !(level > 0.0)) return 1;
    if (karma_measure_coverage(&judged->coverage, model, target, table, scores, level > 0.0 ? level : KARMA_AUTO,
                               err) != KARMA_OK)
        return 0;
    if (!has_confidence || !with_curve) return 1;
    for (size_t i = 0; i < N_SHARES; i++) judged->points[i].asked = shares[i];
    judged->n_points = N_SHARES;
    return karma_measure_abstention(judged->points, N_SHARES, model, target, table, scores, err) == KARMA_OK;
}

static int judge(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                 const abstention *left_out, size_t n_rows) {
    if (t->read.format == KARMA_FORMAT_RATINGS && karma_table_n_targets(table) == 0)
        return fail_usage(t,
                          "name the column of the label '%s': --users FILE with that column, or --item ID and --like "
                          "THRESHOLD",
                          karma_model_target_name(model, 0));
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    size_t n = karma_model_n_targets(model), done = 0;
    judged_target *judged = calloc(n, sizeof *judged);
    int ok = judged != NULL;
    while (ok && done < n) {
        ok = karma_evaluate(&judged[done].metrics, model, done, table, scores, &err) == KARMA_OK;
        done += ok ? 1 : 0;
        ok = ok && judge_certainty(&judged[done - 1], t, model, done - 1, table, scores, !left_out->flags, &err);
    }
    end_progress();
    int code = ok ? report_metrics(t, model, judged, left_out, n_rows) : fail(t->arguments[1], &err);
    for (size_t i = 0; i < done; i++) karma_metrics_clear(&judged[i].metrics);
    free(judged);
    return code;
}

/* Judges the rows that are answered, as if the others were not there. */
static int judge_answered(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                          const abstention *left_out) {
    size_t n = karma_table_n_rows(table), K = karma_model_n_outputs(model), kept = 0;
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    karma_table *answered = NULL;
    size_t *rows = malloc((n + 1) * sizeof *rows);
    double *own = malloc((n * K + 1) * sizeof *own);
    int ok = rows && own;
    for (size_t i = 0; ok && i < n; i++) {
        if (left_out->flags[i]) continue;
        memcpy(own + kept * K, scores + i * K, K * sizeof *own);
        rows[kept++] = i;
    }
    if (ok && kept == 0) {
        err = (karma_error){KARMA_ERR_DATA, "--abstain leaves no row to judge the model on"};
        ok = 0;
    }
    ok = ok && karma_table_select(&answered, table, rows, kept, &err) == KARMA_OK;
    int code = ok ? judge(t, model, answered, own, left_out, n) : fail(t->arguments[1], &err);
    karma_table_free(answered);
    free(rows);
    free(own);
    return code;
}

static int judge_rows(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                      const karma_cell_flags *flags) {
    abstention left_out;
    (void)flags;
    int code = check_levels(t, model);
    if (code == EXIT_DONE) code = find_abstention(&left_out, t, model, table, scores);
    if (code != EXIT_DONE) return code;
    if (left_out.count > 0)
        code = judge_answered(t, model, table, scores, &left_out);
    else
        code = judge(t, model, table, scores, &left_out, karma_table_n_rows(table));
    free(left_out.flags);
    return code;
}

static int run(tool *t) {
    return with_scores(t, judge_rows);
}

static const char *const tool_names[] = {"abstain", "json", "quiet", NULL};
static const char *const role_names[] = {"target", "row-weight", "id", "ignore", "gram", NULL};
static const char *const fit_names[] = {"intervals", "sets", "threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    MODEL_GROUPS(role_names, fit_names),
};

const tool_command command_eval = {
    .name = "eval",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "measure how good a model is on rows with known labels",
    .description =
        "Predicts the rows of DATA and compares with their labels: accuracy, balanced accuracy, F1, AUC, and the "
        "confusion matrix; where the model has probabilities log loss, Brier score and expected calibration error; for "
        "a regression mean absolute error, root mean square error and R2; for quantiles their loss and coverage. With "
        "--row-weight rows count by their weights. The scores of a constant prediction are printed for comparison. "
        "Where the model keeps rows that were left out of learning, also the coverage and the width of intervals or "
        "sets, over all rows and by the number of observed columns, and how good the most certain predictions are. "
        "With --abstain, rows about which the model knows too little are left out, and coverage is the share that "
        "remains.",
    .example = "  karma eval patients.karma held-out.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
