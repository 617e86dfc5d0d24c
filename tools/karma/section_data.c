/* The data: columns and their missing values, which values are missing together, what the reader noticed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

enum {
    MOST_COLUMNS = 300,
    MOST_BARS = 40,
    MOST_PATTERNS = 30,
    MOST_MAPPED = 200,
    MOST_PAIRED = 25,
    MOST_SAMPLED = 20000
};

typedef struct view {
    report *r;
    const karma_table *table;
    karma_column_summary *summaries;
    double *missing; /* share of the rows, by column */
    size_t *order;   /* columns, those with most missing values first */
    size_t n_rows, n_columns;
} view;

static int applies(const report *r) {
    return r->table != NULL && karma_table_n_attributes(r->table) > 0 && karma_table_n_rows(r->table) > 0;
}

/* --- columns ------------------------------------------------------------------------------------------- */

static void write_levels(page *p, const karma_table *table, size_t j) {
    char text[200];
    size_t n = karma_table_n_levels(table, j), used = 0;
    for (size_t l = 0; l < n && l < 3 && used < sizeof text; l++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%.40s", l ? ", " : "", karma_table_level(table, j, l));
    page_cell(p, "%zu: %s%s", n, text, n > 3 ? ", \xE2\x80\xA6" : "");
}

static void write_column(const view *v, size_t j) {
    page *p = &v->r->page;
    const karma_column_summary *s = &v->summaries[j];
    size_t n_levels = karma_table_n_levels(v->table, j);
    int is_number = karma_table_attribute_kind(v->table, j) == KARMA_COLUMN_NUMBER;
    char low[40], high[40], mean[40];
    page_table_line(p);
    page_cell(p, "%s", karma_table_attribute_name(v->table, j));
    page_cell(p, "%s", is_number && n_levels ? "ordered" : is_number ? "number" : "category");
    page_number(p, v->missing[j], "%.1f%%", 100.0 * v->missing[j]);
    if (s->n_observed == 0)
        page_cell(p, "none observed");
    else if (n_levels)
        write_levels(p, v->table, j);
    else
        page_cell(p, "%s to %s, mean %s", short_number(low, s->low), short_number(high, s->high),
                  short_number(mean, s->mean));
}

static void write_columns(const view *v) {
    static const table_column columns[] = {{"column", 0}, {"type", 0}, {"missing", 1}, {"values", 0}};
    size_t n = v->n_columns < MOST_COLUMNS ? v->n_columns : MOST_COLUMNS;
    page_table_begin(&v->r->page, "Columns", columns, 4);
    for (size_t j = 0; j < n; j++) write_column(v, j);
    page_table_end(&v->r->page);
    if (n < v->n_columns)
        page_paragraph(&v->r->page, "The first %zu of %zu columns; karma inspect --json lists all.", n, v->n_columns);
}

static void draw_rates(const view *v, const char *const *names) {
    size_t n = 0;
    char caption[160], rows[40];
    while (n < v->n_columns && n < MOST_BARS && v->missing[v->order[n]] > 0.0) n++;
    if (n == 0) return;
    (void)snprintf(caption, sizeof caption, "Share of the rows whose value is missing; %zu of %zu columns.", n,
                   v->n_columns);
    figure f;
    figure_begin(&f, &v->r->page,
                 &(figure_spec){.title = "Missing values by column",
                                .caption = caption,
                                .x = {.label = "missing", .low = 0.0, .high = 1.0, .is_share = 1},
                                .y = {.label = "column", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                                .extra = "rows"});
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(rows, sizeof rows, "%zu", v->n_rows - v->summaries[v->order[i]].n_observed);
        figure_bar(&f, 1, i, v->missing[v->order[i]], NAN, rows);
    }
    figure_end(&f);
}

/* --- patterns ------------------------------------------------------------------------------------------ */

/* Names of the columns that are missing in a row, the first few. */
static void list_missing(char *text, size_t size, const karma_table *table, const size_t *columns,
                         const unsigned char *flags, size_t n) {
    size_t used = 0, shown = 0, total = 0;
    text[0] = '\0';
    for (size_t j = 0; j < n; j++) {
        total += flags[j];
        if (!flags[j] || shown == 12 || used + 44 > size) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%.40s", shown++ ? ", " : "",
                                 karma_table_attribute_name(table, columns[j]));
    }
    if (total == 0) (void)snprintf(text, size, "none");
    if (total > shown && used < size) (void)snprintf(text + used, size - used, " and %zu more", total - shown);
}

static int by_number(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Bands of the map: the most common patterns, those of few missing values first. */
static int by_missing(const void *a, const void *b) {
    const karma_pattern *x = a, *y = b;
    if (x->n_missing != y->n_missing) return x->n_missing < y->n_missing ? -1 : 1;
    return (x->n_rows < y->n_rows) - (x->n_rows > y->n_rows);
}

static void draw_strips(const view *v, karma_pattern *patterns, size_t n, const size_t *columns, size_t n_columns,
                        const char *caption) {
    unsigned char *flags = malloc(n_columns + 1);
    const char **names = malloc((n_columns + 1) * sizeof *names);
    char counts[MOST_PATTERNS][40], text[600];
    const char *bands[MOST_PATTERNS];
    double value;
    for (size_t p = 0; p < n; p++) {
        (void)snprintf(counts[p], sizeof counts[p], "%zu row%s (%.1f%%)", patterns[p].n_rows,
                       patterns[p].n_rows == 1 ? "" : "s", 100.0 * (double)patterns[p].n_rows / (double)v->n_rows);
        bands[p] = counts[p];
    }
    if (flags && names) {
        for (size_t j = 0; j < n_columns; j++) names[j] = karma_table_attribute_name(v->table, columns[j]);
        double width = fmin(900.0, fmax(400.0, 150.0 + 16.0 * (double)n_columns));
        figure f;
        figure_begin(
            &f, &v->r->page,
            &(figure_spec){.title = "Which values are missing together",
                           .caption = caption,
                           .x = {.label = "columns", .kind = AXIS_BANDS, .bands = names, .n_bands = n_columns},
                           .y = {.label = "rows of a pattern", .kind = AXIS_BANDS, .bands = bands, .n_bands = n},
                           .width = width,
                           .height = 180.0 + 14.0 * (double)n});
        for (size_t p = 0; p < n; p++) {
            for (size_t j = 0; j < n_columns; j++)
                flags[j] = !karma_table_cell(v->table, patterns[p].example, columns[j], &value);
            list_missing(text, sizeof text, v->table, columns, flags, n_columns);
            figure_strip(&f, p, flags, text);
        }
        figure_end(&f);
    }
    free(flags);
    free((void *)names);
}

/* The map: one band per pattern. Columns without missing values are left out, and those with fewest if there are many.
 */
static karma_status draw_patterns(const view *v, karma_error *err) {
    karma_pattern patterns[MOST_PATTERNS];
    size_t n_distinct, n = 0, columns[MOST_MAPPED], n_columns = 0, rows = 0;
    char caption[300];
    karma_status st = karma_table_patterns(v->table, patterns, MOST_PATTERNS, &n_distinct, err);
    if (st != KARMA_OK) return st;
    n = n_distinct < MOST_PATTERNS ? n_distinct : MOST_PATTERNS;
    while (n_columns < v->n_columns && n_columns < MOST_MAPPED && v->missing[v->order[n_columns]] > 0.0) {
        columns[n_columns] = v->order[n_columns];
        n_columns++;
    }
    if (n_columns == 0) {
        page_paragraph(&v->r->page, "No value is missing.");
        return KARMA_OK;
    }
    qsort(columns, n_columns, sizeof *columns, by_number);
    for (size_t p = 0; p < n; p++) rows += patterns[p].n_rows;
    (void)snprintf(caption, sizeof caption,
                   "Rows grouped by pattern: the %zu most common of %zu patterns, with %.1f%% of the rows. Coloured: "
                   "missing. %zu of %zu columns have missing values.",
                   n, n_distinct, 100.0 * (double)rows / (double)v->n_rows, n_columns, v->n_columns);
    qsort(patterns, n, sizeof *patterns, by_missing);
    draw_strips(v, patterns, n, columns, n_columns, caption);
    return KARMA_OK;
}

/* --- pairs --------------------------------------------------------------------------------------------- */

/* Correlation of two columns of flags with means a and b. */
static double correlation(const unsigned char *x, const unsigned char *y, size_t n) {
    double a = 0.0, b = 0.0, both = 0.0, m = (double)n;
    for (size_t i = 0; i < n; i++) a += x[i], b += y[i], both += x[i] & y[i];
    double variance = a / m * (1.0 - a / m) * b / m * (1.0 - b / m);
    return variance > 0.0 ? (both / m - a * b / (m * m)) / sqrt(variance) : NAN;
}

static void draw_pairs(const view *v, const unsigned char *flags, size_t n_rows, const char *const *names, size_t n) {
    figure f;
    double size = fmin(560.0, 200.0 + 20.0 * (double)n);
    figure_begin(&f, &v->r->page,
                 &(figure_spec){.title = "Columns that are missing together",
                                .caption = "Correlation of being missing: blue means missing together, red means that "
                                           "one is missing where the other is not.",
                                .x = {.label = "column", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                                .y = {.label = "column", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                                .extra = "correlation",
                                .width = size,
                                .height = size});
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            char text[40];
            double c = i == k ? 1.0 : correlation(flags + i * n_rows, flags + k * n_rows, n_rows);
            (void)snprintf(text, sizeof text, "%.2f", c);
            figure_cell(&f, k, i, c, NULL, text);
        }
    figure_end(&f);
}

static karma_status draw_co_missing(const view *v, const char *const *names, karma_error *err) {
    size_t n = 0, columns[MOST_PAIRED];
    const char *own[MOST_PAIRED];
    double value;
    for (size_t i = 0; i < v->n_columns && n < MOST_PAIRED; i++)
        if (v->missing[v->order[i]] > 0.0 && v->missing[v->order[i]] < 1.0) {
            own[n] = names[i];
            columns[n++] = v->order[i];
        }
    if (n < 2) return KARMA_OK;
    karma_table *sample;
    karma_status st = sample_rows(&sample, NULL, v->table, MOST_SAMPLED, err);
    if (st != KARMA_OK) return st;
    const karma_table *rows = sample ? sample : v->table;
    size_t n_rows = karma_table_n_rows(rows);
    unsigned char *flags = malloc(n * n_rows + 1);
    for (size_t j = 0; flags && j < n; j++)
        for (size_t i = 0; i < n_rows; i++) flags[j * n_rows + i] = !karma_table_cell(rows, i, columns[j], &value);
    if (flags) draw_pairs(v, flags, n_rows, own, n);
    free(flags);
    karma_table_free(sample);
    return flags ? KARMA_OK : out_of_memory(err);
}

/* --- what was noticed ---------------------------------------------------------------------------------- */

enum { MOST_FINDINGS = 40, MOST_ALIKE = 3 };

/* One item for the columns whose missing values go with the target, beyond the first few: there may be dozens. */
static void write_more_telling(const view *v, const karma_review *review) {
    char names[300] = "";
    size_t n = 0, used = 0;
    for (size_t k = 0; k < review->n_findings; k++) {
        const karma_finding *finding = &review->findings[k];
        if (finding->kind != KARMA_FINDING_TELLING_HOLES || n++ < MOST_ALIKE || used >= sizeof names) continue;
        int written = snprintf(names + used, sizeof names - used, "%s'%.60s'", used ? ", " : "",
                               karma_table_attribute_name(v->table, finding->column));
        used += written > 0 ? (size_t)written : 0;
    }
    if (n > MOST_ALIKE)
        page_list_item(&v->r->page, "missing values in %zu more columns go with the target: %s%s", n - MOST_ALIKE,
                       names, used >= sizeof names ? "..." : "");
}

static karma_status write_notices(const view *v, karma_error *err) {
    karma_review review;
    karma_status st = karma_table_review(&review, v->table, err);
    if (st != KARMA_OK) return st;
    if (review.n_findings + v->r->n_notes) {
        page_heading(&v->r->page, "Worth a look");
        page_list_begin(&v->r->page);
        for (size_t i = 0; i < v->r->n_notes; i++) page_list_item(&v->r->page, "%s", v->r->notes[i]);
        size_t n_telling = 0, n_listed = 0;
        for (size_t k = 0; k < review.n_findings; k++) {
            char text[400];
            if (review.findings[k].kind == KARMA_FINDING_TELLING_HOLES && n_telling++ >= MOST_ALIKE) continue;
            if (n_listed++ >= MOST_FINDINGS) continue;
            (void)karma_finding_text(text, sizeof text, &review.findings[k], v->table);
            page_list_item(&v->r->page, "%s", with_flags(text));
        }
        write_more_telling(v, &review);
        if (n_listed > MOST_FINDINGS)
            page_list_item(&v->r->page, "and %zu more: karma inspect --json", n_listed - MOST_FINDINGS);
        page_list_end(&v->r->page);
    }
    karma_review_clear(&review);
    return KARMA_OK;
}

/* --- all ----------------------------------------------------------------------------------------------- */

/* By missing rate, ties in the order of the table: insertion into a sorted list would be slow for thousands. */
typedef struct ranked {
    double missing;
    size_t column;
} ranked;

static int by_rate(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->missing != y->missing) return x->missing < y->missing ? 1 : -1;
    return (x->column > y->column) - (x->column < y->column);
}

static int sort_columns(view *v) {
    ranked *list = malloc((v->n_columns + 1) * sizeof *list);
    if (!list) return 0;
    for (size_t j = 0; j < v->n_columns; j++) {
        v->missing[j] = 1.0 - (double)v->summaries[j].n_observed / (double)v->n_rows;
        list[j] = (ranked){v->missing[j], j};
    }
    qsort(list, v->n_columns, sizeof *list, by_rate);
    for (size_t j = 0; j < v->n_columns; j++) v->order[j] = list[j].column;
    free(list);
    return 1;
}

static karma_status write_section(report *r, karma_error *err) {
    view v = {.r = r,
              .table = r->table,
              .n_rows = karma_table_n_rows(r->table),
              .n_columns = karma_table_n_attributes(r->table)};
    v.summaries = malloc((v.n_columns + 1) * sizeof *v.summaries);
    v.missing = malloc((v.n_columns + 1) * sizeof *v.missing);
    v.order = malloc((v.n_columns + 1) * sizeof *v.order);
    const char **names = malloc((v.n_columns + 1) * sizeof *names);
    karma_status st = KARMA_OK;
    if (v.summaries) karma_table_summarise(v.table, v.summaries);
    if (!v.summaries || !v.missing || !v.order || !names || !sort_columns(&v)) st = out_of_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < v.n_columns; i++)
        names[i] = karma_table_attribute_name(v.table, v.order[i]);
    if (st == KARMA_OK) st = write_notices(&v, err);
    if (st == KARMA_OK) draw_rates(&v, names);
    if (st == KARMA_OK) st = draw_co_missing(&v, names, err);
    if (st == KARMA_OK) st = draw_patterns(&v, err);
    if (st == KARMA_OK) write_columns(&v);
    free(v.summaries);
    free(v.missing);
    free(v.order);
    free((void *)names);
    return st;
}

const report_section section_data = {"data", "The data", applies, write_section};
