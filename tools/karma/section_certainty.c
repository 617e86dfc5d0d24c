/* Intervals and prediction sets: how often they hold the truth, and how wide they are. */
#include <math.h>

#include "report_page.h"

static int has_any(const karma_model *model, size_t target) {
    return karma_model_n_left_out(model, target) > 0 || karma_model_n_quantiles(model, target) > 1;
}

static int applies(const report *r) {
    for (size_t t = 0; r->model && t < karma_model_n_targets(r->model); t++)
        if (has_any(r->model, t)) return 1;
    return 0;
}

static void write_group(report *r, const karma_coverage_group *g, int is_all, karma_task task) {
    char text[40];
    page_table_line(&r->page);
    if (is_all)
        page_cell(&r->page, "all rows");
    else if (g->least == g->most)
        page_cell(&r->page, "%zu observed", g->most);
    else
        page_cell(&r->page, "%zu to %zu observed", g->least, g->most);
    page_number(&r->page, (double)g->n_rows, "%zu", g->n_rows);
    page_number(&r->page, g->coverage, "%.1f%%", 100.0 * g->coverage);
    if (!isfinite(g->width))
        page_number(&r->page, HUGE_VAL, "unlimited");
    else if (task == KARMA_TASK_REGRESS)
        page_number(&r->page, g->width, "%s", short_number(text, g->width));
    else
        page_number(&r->page, g->width, "%.2f", g->width);
}

static void write_coverage(report *r, size_t target, const karma_coverage *c, const char *rows) {
    karma_task task = karma_model_task(r->model, target);
    int is_number = task == KARMA_TASK_REGRESS;
    const table_column columns[] = {{"columns of the row", 0},
                                    {"rows", 1},
                                    {is_number ? "truth in the interval" : "truth in the set", 1},
                                    {is_number ? "mean width" : "mean number of classes", 1}};
    char caption[300];
    (void)snprintf(caption, sizeof caption, "%.100s: %s that should hold the truth in %.3g%% of all rows, %s",
                   karma_model_target_name(r->model, target), is_number ? "intervals" : "sets", 100.0 * c->level, rows);
    page_table_begin(&r->page, caption, columns, 4);
    write_group(r, &c->all, 1, task);
    for (size_t g = 0; c->n_groups > 1 && g < c->n_groups; g++) write_group(r, &c->groups[g], 0, task);
    page_table_end(&r->page);
}

static karma_status write_section(report *r, karma_error *err) {
    int is_judged = r->scores && r->n_outcomes && !r->is_training;
    size_t n_written = 0;
    page_paragraph(&r->page,
                   "An interval is a range of numbers, a set a list of classes, that should hold the truth in a given "
                   "share of the rows. Narrow ones say much. Rows with few observed columns should have wider ones, "
                   "and not be missed more often.");
    for (size_t t = 0; t < karma_model_n_targets(r->model); t++) {
        karma_coverage coverage;
        if (is_judged && t < r->n_outcomes && r->outcomes[t].n_rows > 0 &&
            karma_measure_coverage(&coverage, r->model, t, r->rows, r->scores, KARMA_AUTO, err) == KARMA_OK)
            write_coverage(r, t, &coverage, "on the rows of this page"), n_written++;
        if (karma_left_out_coverage(&coverage, r->model, t, KARMA_AUTO, err) == KARMA_OK)
            write_coverage(r, t, &coverage, "on rows that were left out of learning"), n_written++;
    }
    if (n_written == 0) page_paragraph(&r->page, "There are no rows with labels to judge them by.");
    return KARMA_OK;
}

const report_section section_certainty = {"certainty", "How certain it is: intervals and sets", applies, write_section};
