/* Cross-validates the candidates of one effort once, and prints the test score of the model of every rule as one JSON
 * object.
 *
 *   bench_search TRAIN TEST EFFORT
 *
 * Both files have their labels in a column `target`. Scores are accuracies, or R2 for numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eval/metric_table.h"
#include "karma/karma.h"
#include "search/candidates.h"
#include "search/choose.h"
#include "search/goal.h"
#include "timing.h"

enum { FOLDS = 5, MOST_PASSES = 300, REPEATED_ROWS = 400, MOST_REPEATS = 3 };

static const char *const rule_names[KARMA_N_RULES] = {"committee", "best", "one-se", "stack"};

static void set(const karma_option_table *table, void *options, const char *name, const char *value) {
    karma_error err = {0};
    check(karma_option_set(karma_option_find(table, name), options, value, &err), &err);
}

/* The score of the model with this kernel text on the test rows. */
static double score(const char *kernel, const karma_table *train, const char *test_path, karma_fit_options *fit,
                    karma_goal goal) {
    karma_error err = {0};
    karma_model *model = NULL;
    karma_table *test = NULL;
    karma_metrics metrics;
    karma_read_options read;
    karma_options_init(karma_read_option_table(), &read);
    set(karma_fit_option_table(), fit, "kernel", kernel);
    check(karma_fit(&model, train, fit, NULL, &err), &err);
    check(karma_model_read_table(&test, model, test_path, &read, NULL, &err), &err);
    double *scores = malloc(karma_table_n_rows(test) * karma_model_n_outputs(model) * sizeof *scores);
    must(scores != NULL, "out of memory");
    check(karma_predict(scores, model, test, 0, NULL, &err), &err);
    check(karma_evaluate(&metrics, model, 0, test, scores, &err), &err);
    double value = metrics.values[karma_i_metric_index(karma_i_metric_of_goal(goal))];
    karma_metrics_clear(&metrics);
    free(scores);
    karma_table_free(test);
    karma_model_free(model);
    return value;
}

static void race_all(karma_i_race *race, const karma_i_judge *judge) {
    karma_error err = {0};
    karma_i_row_loss_fn loss = karma_i_goal_is_mean(judge->goal) ? karma_i_goal_row_loss : NULL;
    while (race->n_done < karma_i_folds_count(race->folds)) {
        size_t n_left;
        int stopped;
        check(karma_i_race_fold(race, NULL, NULL, &stopped, &err), &err);
        check(karma_i_eliminate(&n_left, race, loss, judge, &err), &err);
    }
}

static void print_rules(const karma_i_race *race, const karma_i_judge *judge, const karma_table *train,
                        const char *test_path, karma_fit_options *fit) {
    karma_error err = {0};
    karma_i_row_loss_fn loss = karma_i_goal_is_mean(judge->goal) ? karma_i_goal_row_loss : NULL;
    printf("{\"candidates\": %zu", race->n_runs);
    for (int rule = 0; rule < KARMA_N_RULES; rule++) {
        karma_i_choice choice;
        karma_i_plan plan = {0};
        char *text = NULL;
        double *values = malloc((race->n_done + 1) * sizeof *values), mean = 0.0;
        must(values != NULL, "out of memory");
        check(karma_i_choose(&choice, (karma_rule)rule, race, NULL, loss, judge, race->n_runs, &err), &err);
        check(karma_i_choice_plan(&plan, &choice, race, &err), &err);
        check(karma_i_plan_print(&text, &plan, &err), &err);
        check(karma_i_choice_values(values, &choice, race, &err), &err);
        for (size_t f = 0; f < race->n_done; f++) mean += values[f] / (double)race->n_done;
        printf(", \"%s\": {\"members\": %zu, \"inner\": %.6f, \"outer\": %.6f}", rule_names[rule], choice.n, mean,
               score(text, train, test_path, fit, judge->goal));
        free(values);
        karma_i_free(text);
        karma_i_plan_clear(&plan);
        karma_i_choice_clear(&choice);
    }
    puts("}");
}

static karma_effort effort_named(const char *word) {
    karma_search_options search;
    karma_options_init(karma_search_option_table(), &search);
    set(karma_search_option_table(), &search, "effort", word);
    return (karma_effort)search.effort;
}

int main(int argc, char **argv) {
    must(argc == 4, "usage: bench_search TRAIN TEST EFFORT");
    karma_error err = {0};
    karma_read_options read;
    karma_fit_options fit;
    karma_table *train = NULL;
    karma_i_task task;
    karma_goal goal;
    karma_i_judge judge;
    karma_i_folds folds;
    karma_i_race race;
    karma_options_init(karma_read_option_table(), &read);
    karma_options_init(karma_fit_option_table(), &fit);
    set(karma_read_option_table(), &read, "target", "target");
    fit.passes = MOST_PASSES;
    check(karma_table_read(&train, argv[1], &read, NULL, &err), &err);
    check(karma_i_task_learn(&task, train, &fit, NULL, &err), &err);
    check(karma_i_goal_resolve(&goal, KARMA_GOAL_AUTO, &task, &err), &err);
    check(karma_i_judge_init(&judge, goal, &task, train, &err), &err);
    size_t n = karma_table_n_rows(train), repeats = (REPEATED_ROWS + n - 1) / n;
    if (repeats > MOST_REPEATS) repeats = MOST_REPEATS;
    check(karma_i_folds_init(&folds, &task, train, FOLDS, repeats, (uint64_t)fit.seed, 1, &err), &err);
    race = karma_i_race_start(&task, &folds, karma_i_goal_value, &judge);
    check(karma_i_candidates_add(&race, effort_named(argv[3]), &(karma_names){NULL, 0}, &err), &err);
    race_all(&race, &judge);
    print_rules(&race, &judge, train, argv[2], &fit);
    karma_i_race_clear(&race);
    karma_i_folds_clear(&folds);
    karma_i_judge_clear(&judge);
    karma_i_task_clear(&task);
    karma_table_free(train);
    karma_options_clear(karma_fit_option_table(), &fit);
    karma_options_clear(karma_read_option_table(), &read);
    return 0;
}
