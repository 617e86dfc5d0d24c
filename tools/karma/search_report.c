/* The account of a search, as text and as JSON. */
#include <string.h>

#include <math.h>

#include "tool.h"

/* --- JSON ---------------------------------------------------------------------------------------------- */

static json_t *numbers_json(const double *values, size_t n) {
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) (void)json_array_append_new(array, json_number_or_null(values[i]));
    return array;
}

static json_t *candidates_json(const karma_search_info *info) {
    json_t *array = json_array();
    for (size_t i = 0; i < info->n_candidates; i++) {
        const karma_search_candidate *c = &info->candidates[i];
        (void)json_array_append_new(array, json_pack("{s:s, s:f, s:o, s:o, s:b}", "kernel", c->kernel, "C_factor",
                                                     c->C_factor, "score", json_number_or_null(c->score), "error",
                                                     json_number_or_null(c->error), "chosen", c->is_chosen));
    }
    return array;
}

static json_t *gains_json(const karma_search_info *info) {
    json_t *object = json_object();
    for (size_t i = 0; i < info->n_gains; i++) {
        const karma_search_gain *g = &info->gains[i];
        (void)json_object_set_new(
            object, g->ingredient,
            json_pack("{s:o, s:o}", "gain", json_number_or_null(g->gain), "error", json_number_or_null(g->error)));
    }
    return object;
}

static json_t *targets_json(const karma_search_info *info) {
    json_t *array = json_array();
    for (size_t i = 0; i < info->n_targets; i++) {
        const karma_search_target *own = &info->targets[i];
        json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "goal", karma_goal_name(own->goal), "score",
                                   json_number_or_null(own->score), "error", json_number_or_null(own->error),
                                   "constant_answer", json_number_or_null(own->constant_score));
        if (info->has_zero_imputation)
            (void)json_object_set_new(object, "zero_imputation",
                                      json_pack("{s:o, s:o}", "score", json_number_or_null(own->zero_score), "error",
                                                json_number_or_null(own->zero_error)));
        (void)json_array_append_new(array, object);
    }
    return array;
}

json_t *search_json(const karma_search_info *info) {
    json_t *o =
        json_pack("{s:s, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:b, s:o}", "goal",
                  karma_goal_name(info->goal), "less_is_better", karma_goal_is_loss(info->goal), "score",
                  json_number_or_null(info->score), "error", json_number_or_null(info->error), "folds",
                  numbers_json(info->values, info->n_values), "n_folds", (json_int_t)info->n_folds, "n_repeats",
                  (json_int_t)info->n_repeats, "rows", (json_int_t)info->n_rows, "rows_searched",
                  (json_int_t)info->n_rows_tried, "kernels", (json_int_t)info->n_kernels, "kernels_to_the_end",
                  (json_int_t)info->n_kernels_to_the_end, "candidates_tried", (json_int_t)info->n_tried, "members",
                  (json_int_t)info->n_chosen, "seconds", json_number_or_null(info->seconds), "cut_short",
                  info->end != KARMA_SEARCH_COMPLETE, "constant_answer", json_number_or_null(info->constant_score));
    if (info->has_zero_imputation)
        (void)json_object_set_new(o, "zero_imputation",
                                  json_pack("{s:o, s:o, s:o}", "score", json_number_or_null(info->zero_score), "error",
                                            json_number_or_null(info->zero_error), "folds",
                                            numbers_json(info->zero_values, info->n_values)));
    if (info->n_checked)
        (void)json_object_set_new(o, "check",
                                  json_pack("{s:I, s:I, s:o, s:o}", "rows", (json_int_t)info->n_checked, "rows_learned",
                                            (json_int_t)info->n_check_learned, "score",
                                            json_number_or_null(info->check_score), "error",
                                            json_number_or_null(info->check_error)));
    if (info->n_targets) (void)json_object_set_new(o, "targets", targets_json(info));
    (void)json_object_set_new(o, "candidates", candidates_json(info));
    (void)json_object_set_new(o, "gains", gains_json(info));
    return o;
}

/* --- text ---------------------------------------------------------------------------------------------- */

static void print_folds(const karma_search_info *info) {
    size_t most = 10;
    if (info->goal == KARMA_GOAL_AUTO) return; /* means of accuracy and R2 */
    fputs("  folds          ", stdout);
    char text[40];
    for (size_t f = 0; f < info->n_values && f < most; f++)
        printf("%s%s", f ? "  " : "", readable(text, info->values[f]));
    puts(info->n_values > most ? "  ..." : "");
}

/* Ingredients as the library names them; short names are explained here. */
const char *ingredient_words(const char *ingredient) {
    static const struct {
        const char *ingredient, *words;
    } known[] = {{"gamma", "gamma > 1"},
                 {"rank", "ranks"},
                 {"outer", "outer maps"},
                 {"nonlinear", "any of ranks, outer maps, trees"},
                 {"missing", "any of gamma > 1, subspace"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].ingredient, ingredient) == 0) return known[i].words;
    return ingredient;
}

static void print_gains(const karma_search_info *info) {
    int decimals = info->n_values ? score_decimals(info->values[0]) : 4;
    if (info->n_gains)
        printf("  gains          the score of the choice, minus that of the choice without the ingredient%s\n",
               karma_goal_is_loss(info->goal) ? "; less is better" : "");
    for (size_t i = 0; i < info->n_gains; i++) {
        double gain = fabs(info->gains[i].gain) < 0.00005 ? 0.0 : info->gains[i].gain; /* no sign before 0.0000 */
        printf("    %-31s  %+.*f", ingredient_words(info->gains[i].ingredient), decimals, gain);
        if (isfinite(info->gains[i].error)) printf(" +- %.*f", decimals, info->gains[i].error);
        putchar('\n');
    }
}

/* One kernel per line, with its weight in the average and its multiples of C. */
static void print_members(const karma_search_info *info) {
    size_t most = 10;
    printf("  learned        %zu of the candidates together\n", info->n_chosen);
    for (size_t i = 0; i < info->n_members && i < most; i++) {
        const karma_search_member *m = &info->members[i];
        double weight = 0.0;
        for (size_t c = 0; c < m->n_machines; c++) weight += m->weights[c];
        printf("    %5.1f%%  %s, C times", 100.0 * weight, m->kernel);
        for (size_t c = 0; c < m->n_machines; c++) printf("%s %g", c ? "," : "", m->C_factors[c]);
        putchar('\n');
    }
    if (info->n_members > most)
        printf("            and %zu more kernels: see inspect --json\n", info->n_members - most);
}

static void print_tried(const karma_search_info *info) {
    static const char *const ends[KARMA_N_SEARCH_ENDS] = {"", ", cut short by the time limit",
                                                          ", cut short by an interrupt"};
    printf("  tried          %zu candidates of %zu kernel%s on %zu x %zu folds", info->n_tried, info->n_kernels,
           info->n_kernels == 1 ? "" : "s", info->n_repeats, info->n_folds);
    if (info->n_rows_tried < info->n_rows) printf(" of %zu rows", info->n_rows_tried);
    if (isfinite(info->seconds)) printf(", %.1f s", info->seconds); /* files do not store it */
    puts(ends[info->end]);
}

void print_search(const karma_search_info *info) {
    print_tried(info);
    print_folds(info);
    print_gains(info);
    print_members(info);
}
