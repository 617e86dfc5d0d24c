/* Methods side by side, with the significant differences. */
#include <math.h>
#include <stdlib.h>

#include "report_page.h"

enum { MOST_METHODS = 64 };

static int applies(const report *r) {
    return r->comparison != NULL;
}

/* Methods with numbers, the best first. */
static size_t sort_methods(size_t order[MOST_METHODS], const karma_comparison *c) {
    size_t n = 0;
    double sign = karma_goal_is_loss(c->goal) ? 1.0 : -1.0;
    for (size_t m = 0; m < c->n_methods && n < MOST_METHODS; m++) {
        size_t at = n;
        if (c->methods[m].failure) continue;
        while (at > 0 && sign * c->methods[order[at - 1]].mean > sign * c->methods[m].mean) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = m;
        n++;
    }
    return n;
}

static void draw_methods(report *r, const karma_comparison *c, const size_t *order, size_t n, double constant) {
    const char *names[MOST_METHODS];
    double ends[2 * MOST_METHODS + 1];
    char text[40];
    for (size_t i = 0; i < n; i++) {
        const karma_compare_method *m = &c->methods[order[i]];
        double error = isfinite(m->error) ? m->error : 0.0;
        names[i] = m->name;
        ends[2 * i] = m->mean - error;
        ends[2 * i + 1] = m->mean + error;
    }
    ends[2 * n] = isfinite(constant) ? constant : 0.0;
    figure_spec spec = {
        .title = "Methods",
        .caption =
            karma_goal_is_loss(c->goal)
                ? "Mean over the folds, shorter is better; lines are standard errors. Dashed: a constant prediction."
                : "Mean over the folds, longer is better; lines are standard errors. Dashed: a constant prediction. "
                  "The "
                  "axis may not begin at 0.",
        .x = {.label = karma_goal_name(c->goal)},
        .y = {.label = "method", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
        .extra = "standard error"};
    padded_range_of(&spec.x.low, &spec.x.high, ends, 2 * n + 1);
    figure f;
    figure_begin(&f, &r->page, &spec);
    for (size_t i = 0; i < n; i++) {
        const karma_compare_method *m = &c->methods[order[i]];
        figure_bar(&f, m->is_worse ? 1 : 0, i, m->mean, m->error, short_number(text, m->error));
    }
    figure_rule_x(&f, constant, NULL); /* in front of the bars */
    figure_end(&f);
}

static void write_methods(report *r, const karma_comparison *c, const size_t *order, size_t n) {
    static const table_column columns[] = {
        {"method", 0},     {"mean", 1},         {"standard error", 1}, {"difference to the best", 1},
        {"adjusted p", 1}, {"fit, seconds", 1}, {"what it is", 0}};
    page_table_begin(&r->page, "All methods", columns, 7);
    for (size_t i = 0; i < n; i++) {
        const karma_compare_method *m = &c->methods[order[i]];
        double seconds = 0.0;
        for (size_t f = 0; f < c->n_done; f++) seconds += m->folds[f].fit_seconds / (double)c->n_done;
        page_table_line(&r->page);
        page_cell(&r->page, "%s", m->name);
        page_number(&r->page, m->mean, "%.4f", m->mean);
        page_number(&r->page, m->error, isfinite(m->error) ? "%.4f" : "", m->error);
        if (order[i] == c->best)
            page_number(&r->page, m->difference, "best");
        else
            page_number(&r->page, m->difference, "%+.4f%s", m->difference, m->is_worse ? " *" : "");
        page_number(&r->page, m->adjusted_p, isfinite(m->adjusted_p) ? "%.3f" : "", m->adjusted_p);
        page_number(&r->page, seconds, "%.3f", seconds);
        page_cell(&r->page, "%s%s", m->help,
                  m->is_transductive ? " (transductive: it saw the judged rows, without labels)" : "");
    }
    page_table_end(&r->page);
}

static karma_status write_section(report *r, karma_error *err) {
    const karma_comparison *c = r->comparison;
    size_t order[MOST_METHODS], n = sort_methods(order, c);
    double constant = 0.0;
    (void)err;
    for (size_t f = 0; f < c->n_done; f++) constant += c->constant[f] / (double)c->n_done;
    page_paragraph(&r->page,
                   "%zu rows, each left out %s, in %zu folds. The strength of every method was chosen on the training "
                   "rows of each fold. %s",
                   c->n_rows, times_text((char[TIMES_SIZE]){0}, c->n_rounds), c->n_folds,
                   "A star and the second colour mark methods that are significantly worse than the best (paired test, "
                   "corrected for the number of methods).");
    if (n) {
        draw_methods(r, c, order, n, constant);
        write_methods(r, c, order, n);
    }
    for (size_t m = 0; m < c->n_methods; m++)
        if (c->methods[m].failure) page_warning(&r->page, "%s failed: %s.", c->methods[m].name, c->methods[m].failure);
    return KARMA_OK;
}

const report_section section_compare = {"compare", "Methods side by side", applies, write_section};
