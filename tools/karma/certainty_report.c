/* Reports on intervals, sets and abstention. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

double asked_level(const tool *t, const karma_model *model, size_t target) {
    return karma_model_task(model, target) == KARMA_TASK_REGRESS ? t->fit.intervals : t->fit.sets;
}

int has_certain_columns(const tool *t, const karma_model *model, size_t target) {
    if (asked_level(t, model, target) > 0.0) return 1;
    if (karma_model_n_left_out(model, target) == 0) return 0;
    const karma_fit_options *learned = karma_model_options(model); /* the outer quantiles have columns of their own */
    return (karma_model_n_classes(model, target) ? learned->sets : learned->intervals) > 0.0;
}

int check_levels(const tool *t, const karma_model *model) {
    int any[2] = {0, 0};
    for (size_t target = 0; target < karma_model_n_targets(model); target++)
        any[karma_model_task(model, target) == KARMA_TASK_REGRESS] = 1;
    if (t->fit.intervals > 0.0 && !any[1])
        return fail_usage(t, "--intervals is for numbers, but the model predicts none; --sets is for classes");
    if (t->fit.sets > 0.0 && !any[0])
        return fail_usage(t, "--sets is for classes, but the model predicts none; --intervals is for numbers");
    return EXIT_DONE;
}

/* --- coverage ------------------------------------------------------------------------------------------ */

static json_t *group_json(const karma_coverage_group *g, const char *width) {
    return json_pack("{s:I, s:I, s:I, s:o, s:o}", "least_observed", (json_int_t)g->least, "most_observed",
                     (json_int_t)g->most, "rows", (json_int_t)g->n_rows, "coverage", json_number_or_null(g->coverage),
                     width, json_number_or_null(g->width));
}

json_t *coverage_json(const karma_coverage *c, karma_task task) {
    const char *width = task == KARMA_TASK_REGRESS ? "width" : "size";
    json_t *groups = json_array(), *object = group_json(&c->all, width);
    for (size_t g = 0; g < c->n_groups; g++) (void)json_array_append_new(groups, group_json(&c->groups[g], width));
    (void)json_object_set_new(object, "level", json_real(c->level));
    (void)json_object_set_new(object, "by_observed", groups);
    return object;
}

static void print_group(const karma_coverage_group *g, karma_task task) {
    char share[16], number[40];
    printf("%10s %12s\n", percent(share, g->coverage),
           !isfinite(g->width)          ? "unlimited"
           : task == KARMA_TASK_REGRESS ? readable(number, g->width)
                                        : ((void)snprintf(number, sizeof number, "%.2f", g->width), number));
}

void print_coverage(const karma_coverage *c, karma_task task, const char *rows) {
    char name[40]; /* 0.95 - 0.05 is not quite 0.9 */
    (void)snprintf(name, sizeof name, "%.10g%% %s", 100.0 * c->level,
                   task == KARMA_TASK_REGRESS ? "intervals" : "sets");
    printf("\n  %-28s %10s %12s%s%s\n", name, "coverage", task == KARMA_TASK_REGRESS ? "mean width" : "mean size",
           *rows ? "   " : "", rows);
    printf("  %-28s ", "all rows");
    print_group(&c->all, task);
    for (size_t g = 0; c->n_groups > 1 && g < c->n_groups; g++) {
        const karma_coverage_group *group = &c->groups[g];
        char columns[64];
        if (group->least == group->most)
            (void)snprintf(columns, sizeof columns, "%zu column%s observed", group->most, group->most == 1 ? "" : "s");
        else
            (void)snprintf(columns, sizeof columns, "%zu to %zu columns observed", group->least, group->most);
        printf("  %-28s ", columns);
        print_group(group, task);
    }
    if (!isfinite(c->all.width))
        puts("  The rows that were left out are too few for this level: intervals without ends are empty in "
             "predictions.");
}

void print_left_out_coverage(const karma_model *model, size_t target) {
    karma_coverage coverage;
    char rows[200] = "on rows that were left out of learning";
    if (karma_model_n_targets(model) > 1)
        (void)snprintf(rows, sizeof rows, "target '%.80s', on rows that were left out of learning",
                       karma_model_target_name(model, target));
    if (karma_left_out_coverage(&coverage, model, target, KARMA_AUTO, NULL) == KARMA_OK)
        print_coverage(&coverage, karma_model_task(model, target), rows);
}

/* --- abstention ---------------------------------------------------------------------------------------- */

json_t *abstention_json(const karma_abstention_point *points, size_t n, karma_task task) {
    json_t *array = json_array();
    const char *score = task == KARMA_TASK_REGRESS ? "mean_absolute_error" : "accuracy";
    for (size_t i = 0; i < n; i++) {
        const karma_abstention_point *p = &points[i];
        (void)json_array_append_new(array,
                                    json_pack("{s:f, s:o, s:f, s:o, s:o}", "asked", p->asked, "threshold",
                                              json_number_or_null(p->threshold), "answered", p->answered, score,
                                              json_number_or_null(p->score), "rest", json_number_or_null(p->rest)));
    }
    return array;
}

static const char *score_text(char text[40], double score, karma_task task) {
    return task == KARMA_TASK_REGRESS ? (isfinite(score) ? readable(text, score) : "-") : percent(text, score);
}

void print_abstention(const karma_abstention_point *points, size_t n, karma_task task) {
    enum { USUAL = 28, BESIDE = 2 + 1 + 10 + 1 + 12 + 3 + 13 };
    int width = (int)label_width(USUAL, BESIDE);
    printf("\n  %-*s %10s %12s   %s\n", width, "most certain rows", "answered",
           task == KARMA_TASK_REGRESS ? "mean error" : "accuracy", "of the others");
    for (size_t i = 0; i < n; i++) {
        char asked[16], answered[16], score[40], rest[40];
        printf("  %-*s %10s %12s   %s\n", width, percent(asked, points[i].asked), percent(answered, points[i].answered),
               score_text(score, points[i].score, task), score_text(rest, points[i].rest, task));
    }
}

/* --- the option --abstain ------------------------------------------------------------------------------- */

/* A number that is the whole text, except for `end`. */
static int parse_share(double *out, const char *text, const char *end) {
    char *rest;
    *out = strtod(text, &rest);
    return rest != text && strcmp(rest, end) == 0 && *out > 0.0;
}

int parse_abstention(abstention_rule *out, const tool *t) {
    static const char accuracy[] = "accuracy=";
    const char *text = t->options.abstain;
    *out = (abstention_rule){.kind = ABSTAIN_NEVER};
    if (!text || strcmp(text, "never") == 0) return EXIT_DONE;
    if (strlen(text) == 1 && text[0] >= '1' && text[0] <= '3') {
        *out = (abstention_rule){ABSTAIN_OVERLAP, (double)(text[0] - '0')};
        return EXIT_DONE;
    }
    double value;
    if (parse_share(&value, text, "%") && value < 100.0) {
        *out = (abstention_rule){ABSTAIN_SHARE, 1.0 - value / 100.0};
        return EXIT_DONE;
    }
    if (strncmp(text, accuracy, sizeof accuracy - 1) == 0 && parse_share(&value, text + sizeof accuracy - 1, "") &&
        value < 1.0) {
        *out = (abstention_rule){ABSTAIN_ACCURACY, value};
        return EXIT_DONE;
    }
    return fail_usage(t,
                      "--abstain takes 1, 2 or 3, a share of the rows such as 10%%, or accuracy=0.95; it cannot be "
                      "'%s'",
                      text);
}
