/* karma cv: cross-validated scores. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "report_page.h"

static json_t *numbers_json(const double *values, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) (void)json_array_append_new(array, json_number_or_null(values[i]));
    return array;
}

/* The mean over the folds that have a number; NaN if none has. */
static double mean_of(const double *values, size_t n) {
    double sum = 0.0, count = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        sum += values[i];
        count += 1.0;
    }
    return sum / count;
}

/* What the goal's metric applies to: new goals may come anywhere in their list. */
static karma_task target_task(const karma_cv_target *target) {
    for (size_t i = 0; i < karma_n_metrics(); i++)
        if (strcmp(karma_metric_at(i)->name, karma_goal_name(target->goal)) == 0) return karma_metric_at(i)->task;
    return KARMA_TASK_CLASSIFY;
}

static json_t *target_json(const karma_cv *cv, size_t t, const char *name) {
    const karma_cv_target *target = &cv->targets[t];
    json_t *metrics = json_object();
    for (int goal = KARMA_GOAL_AUTO + 1; goal < KARMA_N_GOALS; goal++)
        if (!isnan(target->mean_of[goal]))
            (void)json_object_set_new(metrics, karma_goal_name((karma_goal)goal),
                                      json_pack("{s:f, s:o}", "mean", target->mean_of[goal], "error",
                                                json_number_or_null(target->error_of[goal])));
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "name", name, "goal",
                               karma_goal_name(target->goal), "score", json_number_or_null(target->mean), "error",
                               json_number_or_null(target->error), "folds", numbers_json(target->values, cv->n_done),
                               "constant_answer", numbers_json(target->majority, cv->n_done), "metrics", metrics);
    if (cv->coverages[t].level > 0.0)
        (void)json_object_set_new(object, "certainty", coverage_json(&cv->coverages[t], target_task(target)));
    return object;
}

static json_t *cv_json(const tool *t, const karma_cv *cv, const karma_table *table) {
    json_t *targets = json_array(), *kernels = json_array();
    for (size_t i = 0; i < cv->n_targets; i++)
        (void)json_array_append_new(targets, target_json(cv, i, karma_table_target_name(table, i)));
    for (size_t f = 0; f < cv->n_done; f++) (void)json_array_append_new(kernels, json_string(cv->kernels[f]));
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:f}", "goal", karma_goal_name(cv->goal), "rows",
                     (json_int_t)cv->n_rows, "n_folds", (json_int_t)cv->n_folds, "n_repeats", (json_int_t)cv->n_repeats,
                     "folds_judged", (json_int_t)cv->n_done, "folds_cut_short", (json_int_t)cv->n_cut_short, "targets",
                     targets, "kernels", kernels, "estimated_bytes", t->estimated_bytes);
}

/* A fold of one row has no R2, and one of a single class no AUC. */
static const char *score_text(char out[40], double score) {
    if (isnan(score)) return "-";
    (void)snprintf(out, 40, "%.*f", score_decimals(score), score);
    return out;
}

/* One fold has no standard error. */
static void print_goal(karma_goal goal, double mean, double error) {
    if (isnan(mean)) {
        printf("  %-18s -   cannot be computed: the folds are too small; use fewer --folds, or another --goal",
               karma_goal_name(goal));
        return;
    }
    printf("  %-18s %.*f", karma_goal_name(goal), score_decimals(mean), mean);
    if (isfinite(error)) printf(" +- %.*f", score_decimals(mean), error);
}

static void print_verdict(const karma_cv_target *target, double constant) {
    double gain = karma_goal_is_loss(target->goal) ? constant - target->mean : target->mean - constant;
    if (isfinite(gain) && !(gain > (isfinite(target->error) ? 2.0 * target->error : 0.0)))
        puts("  Not clearly better than a constant prediction: these columns do not predict the target, or there are "
             "too few rows.");
}

/* The score of every fold: ten on a line, fewer on a narrow terminal. */
static void print_folds(const double *values, size_t n) {
    enum { PER_LINE = 10, NAME = 20 };
    size_t longest = 0, width = terminal_width(STDOUT_FILENO), per_line = PER_LINE;
    char text[40];
    for (size_t f = 0; f < n; f++) {
        size_t own = strlen(score_text(text, values[f]));
        if (own > longest) longest = own;
    }
    if (width && NAME + PER_LINE * (longest + 2) > width) per_line = (width - NAME) / (longest + 2);
    for (size_t f = 0; f < n; f++) {
        if (f % (per_line ? per_line : 1) == 0) printf("%s%-*s", f ? "\n" : "", NAME, f ? "" : "  folds");
        printf("%s%*s", f % (per_line ? per_line : 1) ? "  " : " ", (int)longest, score_text(text, values[f]));
    }
    putchar('\n');
}

static void print_target(const karma_cv *cv, size_t t) {
    const karma_cv_target *target = &cv->targets[t];
    double constant = mean_of(target->majority, cv->n_done);
    print_goal(target->goal, target->mean, target->error);
    if (!isnan(constant)) printf("   a constant prediction: %.*f", score_decimals(constant), constant);
    if (karma_goal_is_loss(target->goal) && !isnan(target->mean)) fputs(", less is better", stdout);
    putchar('\n');
    print_folds(target->values, cv->n_done);
    for (int goal = KARMA_GOAL_AUTO + 1; goal < KARMA_N_GOALS; goal++)
        if (goal != (int)target->goal && !isnan(target->mean_of[goal])) {
            print_goal((karma_goal)goal, target->mean_of[goal], target->error_of[goal]);
            putchar('\n');
        }
    print_verdict(target, constant);
    if (cv->coverages[t].level > 0.0) print_coverage(&cv->coverages[t], target_task(target), "");
}

static int print_report(const tool *t, const karma_cv *cv, const karma_table *table) {
    if (t->options.json) return print_json(cv_json(t, cv, table));
    begin_text();
    printf("%s: %zu rows, each left out %s, in %zu folds%s\n", path_text(t->arguments[0]), cv->n_rows,
           times_text((char[TIMES_SIZE]){0}, cv->n_repeats), cv->n_folds,
           t->search.effort == KARMA_EFFORT_OFF ? "" : "; each model was chosen without them");
    if (cv->n_done < cv->n_folds * cv->n_repeats) printf("  interrupted after %zu folds\n", cv->n_done);
    if (cv->n_cut_short)
        printf("  the search was cut short by the time limit in %zu of %zu folds\n", cv->n_cut_short, cv->n_done);
    for (size_t target = 0; target < cv->n_targets; target++) {
        if (cv->n_targets > 1) printf("target '%s'\n", karma_table_target_name(table, target));
        print_target(cv, target);
    }
    return finish_stdout();
}

/* The predictions of every row are kept for the page, if there is one. */
static karma_status cross_validate(karma_cv *cv, outcome_folds *folds, const tool *t, const karma_table *table,
                                   karma_error *err) {
    folds->table = table;
    return karma_cross_validate_with(cv, table, &t->fit, &t->search, (size_t)t->fit.folds, (size_t)t->options.rounds,
                                     t->options.report ? outcome_folds_add : NULL, folds, &t->hooks, err);
}

static int run(tool *t) {
    karma_error err;
    karma_table *table = NULL;
    karma_cv cv = {0};
    outcome_folds folds = {0};
    const char *path = t->arguments[0];
    int code;
    resolve_effort(t);
    collect_notes(t);
    if (read_to_learn(&table, t, &err) != KARMA_OK)
        code = fail(path, &err);
    else if (karma_table_n_targets(table) == 0)
        code = fail_usage(t, "name the column of the label with --target COL");
    else if ((code = check_memory(t, table, 1.0, 0.0)) != EXIT_DONE)
        ;
    else if (cross_validate(&cv, &folds, t, table, &err) != KARMA_OK)
        code = fail(path, &err);
    else {
        end_progress();
        code = print_report(t, &cv, table);
        if (code == EXIT_DONE) code = report_folds(t, &cv, &folds, table);
    }
    forget_notes();
    outcome_folds_clear(&folds);
    karma_cv_clear(&cv);
    karma_table_free(table);
    return code;
}

static const char *const tool_names[] = {"report", "rounds", "json", "quiet", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    LEARNING_GROUPS,
};

const tool_command command_cv = {
    .name = "cv",
    .arguments = "DATA --target COL",
    .min_arguments = 1,
    .max_arguments = 1,
    .summary = "estimate by cross-validation how good a model of this table is",
    .description =
        "Estimates by cross-validation how well `karma train` with the same options predicts new rows. The rows are "
        "divided into --folds folds; each fold is left out in turn, a model is learned from the others and scored on "
        "it. Prints the goal with its standard error, its value for each fold, and the other metrics. The whole choice "
        "of a model is made again for each fold, without its rows, so the estimate is not optimistic. The same seed "
        "gives the same folds on any machine and for any number of threads. --rounds repeats it with other folds.",
    .example = "  karma cv patients.csv --target outcome\n"
               "  karma cv patients.csv --target outcome --kernel rank --C 10 --rounds 5\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .stops_gently = 1,
    .run = run,
};
