/* How the model was chosen: scores by gamma and by C, the gain from each ingredient, and the choice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

enum { MOST_LINES = FIGURE_COLOURS, MOST_CANDIDATES = 100, LONGEST = 200 };

static const karma_search_info *info_of(const report *r) {
    return r->model ? karma_model_search_info(r->model) : NULL;
}

static int applies(const report *r) {
    return info_of(r) != NULL;
}

/* Points of one line: candidates that differ in one thing only. */
typedef struct path {
    char name[LONGEST];
    size_t n;
    double x[32], y[32];
    double best;
} path;

/* The candidate's place on a line: its name without that one thing, and the thing's value. False: it has none. */
typedef int (*path_key)(const karma_search_candidate *c, char name[LONGEST], double *x);

static int by_C(const karma_search_candidate *c, char name[LONGEST], double *x) {
    (void)snprintf(name, LONGEST, "%s", c->kernel);
    *x = c->C_factor;
    return 1;
}

/* Kernels with one gamma, at their best C. */
static int by_gamma(const karma_search_candidate *c, char name[LONGEST], double *x) {
    if (!c->without_gamma) return 0;
    (void)snprintf(name, LONGEST, "%s", c->without_gamma);
    *x = c->gamma;
    return 1;
}

static int is_better(double a, double b, int is_loss) {
    return is_loss ? a < b : a > b;
}

/* Keeps the best score of every x, in the order of x. */
static void add_point(path *p, double x, double y, int is_loss) {
    size_t i = 0;
    while (i < p->n && p->x[i] < x) i++;
    if (i < p->n && p->x[i] == x) {
        if (is_better(y, p->y[i], is_loss)) p->y[i] = y;
    } else if (p->n < 32) {
        memmove(p->x + i + 1, p->x + i, (p->n - i) * sizeof *p->x);
        memmove(p->y + i + 1, p->y + i, (p->n - i) * sizeof *p->y);
        p->x[i] = x;
        p->y[i] = y;
        p->n++;
    }
    if (p->n == 1 || is_better(y, p->best, is_loss)) p->best = y;
}

/* All lines of at least two points; candidates come best first, and so do the lines. */
static size_t collect(path *paths, size_t most, const karma_search_info *info, path_key key) {
    size_t n = 0, kept = 0;
    for (size_t c = 0; c < info->n_candidates; c++) {
        char name[LONGEST];
        double x;
        size_t i = 0;
        if (!isfinite(info->candidates[c].score) || !key(&info->candidates[c], name, &x)) continue;
        while (i < n && strcmp(paths[i].name, name) != 0) i++;
        if (i == most) continue;
        if (i == n) {
            paths[n] = (path){.n = 0};
            memcpy(paths[n++].name, name, LONGEST);
        }
        add_point(&paths[i], x, info->candidates[c].score, karma_goal_is_loss(info->goal));
    }
    for (size_t i = 0; i < n && kept < MOST_LINES; i++)
        if (paths[i].n > 1) paths[kept++] = paths[i];
    return kept;
}

static void draw_paths(report *r, const karma_search_info *info, path *paths, path_key key, const figure_spec *words) {
    size_t n = collect(paths, MOST_CANDIDATES, info, key);
    const char *names[MOST_LINES];
    double scores[MOST_LINES * 32 + 1], xs[MOST_LINES * 32];
    size_t total = 0;
    figure_spec spec = *words; /* a copy: it points into this function's arrays */
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) {
        names[i] = paths[i].name;
        for (size_t k = 0; k < paths[i].n; k++) {
            xs[total] = paths[i].x[k];
            scores[total++] = paths[i].y[k];
        }
    }
    range_of(&spec.x.low, &spec.x.high, xs, total);
    if (info->has_zero_imputation) scores[total++] = info->zero_score;
    padded_range_of(&spec.y.low, &spec.y.high, scores, total);
    spec.series = names;
    spec.n_series = n;
    spec.y.label = karma_goal_name(info->goal);
    figure f;
    figure_begin(&f, &r->page, &spec);
    if (info->has_zero_imputation) figure_rule_y(&f, info->zero_score, "0-imputation");
    for (size_t i = 0; i < n; i++) figure_line(&f, i, paths[i].x, paths[i].y, paths[i].n, LINE_MARKED);
    figure_end(&f);
}

static void draw_gains(report *r, const karma_search_info *info) {
    enum { MOST = 16 };
    const char *names[MOST];
    double ends[2 * MOST + 1];
    size_t n = info->n_gains < MOST ? info->n_gains : MOST;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) {
        double error = isfinite(info->gains[i].error) ? info->gains[i].error : 0.0;
        names[i] = ingredient_words(info->gains[i].ingredient);
        ends[2 * i] = info->gains[i].gain - error;
        ends[2 * i + 1] = info->gains[i].gain + error;
    }
    ends[2 * n] = 0.0;
    char label[80];
    (void)snprintf(label, sizeof label, "gain in %s", karma_goal_name(info->goal));
    figure_spec spec = {.title = "What each ingredient adds",
                        .caption = "The score with it, minus the score without it; lines are standard errors. An "
                                   "ingredient that can be replaced by another adds little; the groups show what "
                                   "their parts add together.",
                        .x = {.label = label},
                        .y = {.label = "ingredient", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                        .extra = "standard error"};
    padded_range_of(&spec.x.low, &spec.x.high, ends, 2 * n + 1);
    figure f;
    figure_begin(&f, &r->page, &spec);
    for (size_t i = 0; i < n; i++) {
        char text[40];
        figure_bar(&f, 0, i, info->gains[i].gain, info->gains[i].error, short_number(text, info->gains[i].error));
    }
    figure_end(&f);
}

static void write_members(report *r, const karma_search_info *info) {
    static const table_column columns[] = {
        {"kernel", 0}, {"weight", 1}, {"values of C, as multiples of the default", 0}};
    page_table_begin(&r->page, "The kernels that the model averages", columns, 3);
    for (size_t i = 0; i < info->n_members; i++) {
        const karma_search_member *m = &info->members[i];
        char factors[200] = "";
        double weight = 0.0;
        size_t used = 0;
        for (size_t c = 0; c < m->n_machines; c++) {
            weight += m->weights[c];
            if (used < sizeof factors)
                used += (size_t)snprintf(factors + used, sizeof factors - used, "%s%g", c ? ", " : "", m->C_factors[c]);
        }
        page_table_line(&r->page);
        page_cell(&r->page, "%s", m->kernel);
        page_number(&r->page, weight, "%.1f%%", 100.0 * weight);
        page_cell(&r->page, "%s", factors);
    }
    page_table_end(&r->page);
}

static void write_account(report *r, const karma_search_info *info) {
    page_paragraph(
        &r->page, "%zu candidates of %zu kernels were tried on %zu \xC3\x97 %zu folds of %zu rows.%s", info->n_tried,
        info->n_kernels, info->n_repeats, info->n_folds, info->n_rows_tried,
        info->end == KARMA_SEARCH_COMPLETE ? "" : " The search was cut short: more time may give a better model.");
    page_paragraph(&r->page,
                   "The score of the choice is %.4f; it is optimistic, because the same folds made the choice. %s",
                   info->score, karma_goal_is_loss(info->goal) ? "Less is better." : "More is better.");
    if (info->n_checked)
        page_paragraph(&r->page, "Learned from %zu other rows and judged on the %zu rows of the sample: %.4f.",
                       info->n_check_learned, info->n_checked, info->check_score);
}

static karma_status write_section(report *r, karma_error *err) {
    const karma_search_info *info = info_of(r);
    path *paths = malloc(MOST_CANDIDATES * sizeof *paths);
    if (!paths) return out_of_memory(err);
    write_account(r, info);
    draw_gains(r, info);
    const figure_spec gammas = {
        .title = "Score by \xCE\xB3",
        .caption = "\xCE\xB3 = 1 takes missing values as 0. The best kernels, each at its best C.",
        .x = {.label = "\xCE\xB3"},
    };
    const figure_spec weights = {
        .title = "Score by C",
        .caption = "The best kernels. C is the weight of the loss, as a multiple of its default.",
        .x = {.label = "multiple of C", .kind = AXIS_LOG},
    };
    draw_paths(r, info, paths, by_gamma, &gammas);
    draw_paths(r, info, paths, by_C, &weights);
    free(paths);
    write_members(r, info);
    return KARMA_OK;
}

const report_section section_search = {"search", "How the model was chosen", applies, write_section};
