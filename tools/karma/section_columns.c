/* Which columns matter, and the effects of single columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

enum {
    MOST_ROWS = 1000,
    LEAST_ROWS = 40,
    LEAST_COLUMNS = 20,
    MOST_BARS = 30,
    MOST_EFFECTS = 12,
    LEAST_EFFECTS = 4,
    MOST_GRID = 12,
    REPEATS = 5,
    NARROW = 200 /* columns: all are permuted */
};
/* Kernel values of a narrow table that importance and effects may take each: a few seconds. */
#define WORK 1e8
/* A kernel value of so many columns takes twice the time of one of a few columns. */
#define COLUMNS_OF_A_VALUE 200.0

static int applies(const report *r) {
    return r->model && r->rows && !karma_model_is_precomputed(r->model) && karma_model_n_attributes(r->model) > 0;
}

/* Predictions of a row that stay within the work. */
static double affordable_predictions(const report *r) {
    const karma_search_info *search = karma_model_search_info(r->model);
    double support = (double)karma_model_info(r->model)->n_support + 100.0;
    double members = search && search->n_members ? (double)search->n_members : 1.0;
    double width = 1.0 + (double)karma_model_n_attributes(r->model) / COLUMNS_OF_A_VALUE;
    return WORK / (support * members * width);
}

/* Rows that can be predicted so many times. */
static size_t affordable_rows(const report *r, double times) {
    return (size_t)fmin(MOST_ROWS, fmax(LEAST_ROWS, affordable_predictions(r) / times));
}

/* Columns that can be permuted: all of them, unless there are too many for the fewest rows. */
static size_t affordable_columns(const report *r) {
    double d = (double)karma_model_n_attributes(r->model);
    if (d <= NARROW) return (size_t)d;
    return (size_t)fmin(d, fmax(LEAST_COLUMNS, affordable_predictions(r) / (LEAST_ROWS * REPEATS)));
}

static size_t affordable_effects(const report *r) {
    double d = (double)karma_model_n_attributes(r->model), most = fmin(d, MOST_EFFECTS);
    if (d <= NARROW) return (size_t)most;
    return (size_t)fmin(most, fmax(LEAST_EFFECTS, affordable_predictions(r) / (LEAST_ROWS * (MOST_GRID + 1))));
}

/* --- importance ---------------------------------------------------------------------------------------- */

static void draw_importance(report *r, const karma_importances *all, size_t target, size_t n_rows) {
    const karma_importance *items = all->items + target * all->n_attributes;
    size_t n = all->n_attributes < MOST_BARS ? all->n_attributes : MOST_BARS;
    const char *names[MOST_BARS];
    double ends[2 * MOST_BARS + 1];
    char caption[300], text[40];
    int is_class = karma_model_n_classes(r->model, target) > 0;
    for (size_t i = 0; i < n; i++) {
        names[i] = karma_model_attribute_name(r->model, items[i].attribute);
        ends[2 * i] = items[i].importance - items[i].error;
        ends[2 * i + 1] = items[i].importance + items[i].error;
    }
    ends[2 * n] = 0.0;
    (void)snprintf(caption, sizeof caption,
                   "What %s loses when the values of a column are exchanged among the rows (%zu); lines are standard "
                   "errors. Columns that can replace each other share their importance.%s",
                   is_class ? "accuracy" : "R\xC2\xB2", n_rows, all->n_attributes > n ? " The 30 largest." : "");
    figure_spec spec = {.title = "Importance of the columns",
                        .caption = caption,
                        .x = {.label = is_class ? "loss of accuracy" : "loss of R\xC2\xB2"},
                        .y = {.label = "column", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                        .extra = "standard error"};
    padded_range_of(&spec.x.low, &spec.x.high, ends, 2 * n + 1);
    figure f;
    figure_begin(&f, &r->page, &spec);
    for (size_t i = 0; i < n; i++)
        figure_bar(&f, 0, i, items[i].importance, items[i].error, short_number(text, items[i].error));
    figure_end(&f);
}

/* Columns of the model in the order of their importance for the first target; as they are if it is not known. */
static karma_status write_importance(report *r, size_t *order, karma_error *err) {
    size_t d = karma_model_n_attributes(r->model);
    for (size_t j = 0; j < d; j++) order[j] = j;
    if (r->n_outcomes == 0 || r->is_left_out) {
        page_paragraph(&r->page, r->is_training
                                     ? "Importance is measured on rows that the model has not seen: karma report "
                                       "MODEL DATA."
                                     : "Without labels the importance of the columns cannot be measured.");
        return KARMA_OK;
    }
    karma_explain_options options;
    karma_importances all;
    karma_table *sample;
    karma_options_init(karma_explain_option_table(), &options);
    options.repeats = REPEATS;
    options.threads = r->t->fit.threads;
    size_t n = affordable_columns(r);
    karma_status st = sample_rows(&sample, NULL, r->rows, affordable_rows(r, (double)(n * REPEATS)), err);
    if (st == KARMA_OK && n < d) st = rank_columns(order, r, err);
    if (st == KARMA_OK)
        st = karma_measure_importance_of(&all, r->model, sample ? sample : r->rows, order, n, &options, &r->t->hooks,
                                         err);
    karma_table_free(sample);
    if (st != KARMA_OK) return st;
    for (size_t j = 0; j < n; j++) order[j] = all.items[j].attribute;
    if (n < d)
        page_paragraph(&r->page,
                       "Of the %zu columns, the %zu were permuted whose values go most with the predictions; a column "
                       "that matters only together with others may not be among them. karma explain --importance "
                       "permutes all columns, which takes longer.",
                       d, n);
    for (size_t t = 0; t < all.n_targets; t++) {
        if (all.n_targets > 1) page_heading(&r->page, "%s", karma_model_target_name(r->model, t));
        draw_importance(r, &all, t, all.n_rows);
    }
    karma_importances_clear(&all);
    return KARMA_OK;
}

/* --- effects ------------------------------------------------------------------------------------------- */

/* Values that a column is set to, in all rows in turn; the last one is missing. */
typedef struct grid {
    size_t n;
    double value[MOST_GRID + 1];
} grid;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Levels: the most common; numbers: quantiles from 2% to 98%. */
static int fill_grid(grid *g, const karma_table *rows, size_t column) {
    size_t n = 0, n_rows = karma_table_n_rows(rows);
    double *values = malloc((n_rows + 1) * sizeof *values);
    if (!values) return 0;
    for (size_t i = 0; i < n_rows; i++) n += karma_table_cell(rows, i, column, &values[n]) != 0;
    g->n = 0;
    qsort(values, n, sizeof *values, by_size);
    size_t n_distinct = n ? 1 : 0;
    for (size_t i = 1; i < n; i++) n_distinct += values[i] != values[i - 1];
    for (size_t k = 0; k < MOST_GRID && n; k++) {
        double at = 0.02 + 0.96 * (double)k / (MOST_GRID - 1.0);
        double value = values[(size_t)(at * (double)(n - 1) + 0.5)];
        if (n_distinct > MOST_GRID && (g->n == 0 || value > g->value[g->n - 1])) g->value[g->n++] = value;
    }
    for (size_t i = 0; n_distinct <= MOST_GRID && i < n; i++)
        if (i == 0 || values[i] != values[i - 1]) g->value[g->n++] = values[i];
    g->value[g->n++] = NAN;
    free(values);
    return 1;
}

/* One column of the new table: cell (row, k) is that of the row, or of the grid in the column that is set. */
static karma_status add_column(karma_columns *columns, const karma_table *rows, size_t j, const grid *set,
                               size_t n_copies, karma_error *err) {
    size_t n = karma_table_n_rows(rows), total = n * n_copies, n_levels = karma_table_n_levels(rows, j);
    double *cells = malloc((total + 1) * sizeof *cells), value;
    const char **texts = n_levels ? malloc((total + 1) * sizeof *texts) : NULL;
    int is_category = karma_table_attribute_kind(rows, j) == KARMA_COLUMN_CATEGORY;
    karma_status st = cells && (texts || !n_levels) ? KARMA_OK : out_of_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < total; i++) {
        cells[i] = set ? set->value[i / n] : karma_table_cell(rows, i % n, j, &value) ? value : NAN;
        size_t level = isnan(cells[i]) ? 0 : (size_t)cells[i] - (is_category ? 0 : 1);
        if (texts) texts[i] = isnan(cells[i]) ? NULL : karma_table_level(rows, j, level);
    }
    const char *name = karma_table_attribute_name(rows, j);
    if (st == KARMA_OK)
        st = texts ? karma_columns_add_texts(columns, name, texts, err)
                   : karma_columns_add_numbers(columns, name, cells, KARMA_FLOAT64, sizeof *cells, NULL, err);
    free(cells);
    free((void *)texts);
    return st;
}

/* The rows once for every value of the grid, in which the column has that value everywhere. */
static karma_status set_column(karma_table **out, const karma_table *rows, size_t column, const grid *g,
                               karma_error *err) {
    karma_columns *columns = NULL;
    karma_status st = karma_columns_new(&columns, karma_table_n_rows(rows) * g->n, err);
    for (size_t j = 0; st == KARMA_OK && j < karma_table_n_attributes(rows); j++)
        st = add_column(columns, rows, j, j == column ? g : NULL, g->n, err);
    if (st == KARMA_OK) return karma_columns_finish(out, columns, err);
    karma_columns_free(columns);
    return st;
}

/* What is averaged: the number, or of classes the probability of the last one (of two), else its score. */
static double response(const karma_model *model, const double *scores, double *room) {
    size_t K = karma_model_n_classes(model, 0);
    if (K == 0) return karma_model_number(model, 0, scores);
    if (karma_model_probabilities(model, 0, scores, room)) return room[K == 2 ? 1 : 0];
    return scores[karma_model_first_output(model, 0)];
}

typedef struct effect {
    grid g;
    double mean[MOST_GRID + 1];
} effect;

static karma_status measure_effect(effect *e, const report *r, const karma_table *rows, size_t column,
                                   karma_error *err) {
    const karma_model *model = r->model;
    size_t n = karma_table_n_rows(rows), O = karma_model_n_outputs(model);
    karma_table *changed = NULL;
    if (!fill_grid(&e->g, rows, column)) return out_of_memory(err);
    if (e->g.n < 3) return KARMA_OK; /* one value and missing: nothing to compare */
    karma_status st = set_column(&changed, rows, column, &e->g, err);
    if (st != KARMA_OK) return st;
    double *scores = malloc((n * e->g.n + 1) * O * sizeof *scores);
    double *room = malloc((karma_model_n_classes(model, 0) + 1) * sizeof *room);
    st = scores && room ? karma_predict(scores, model, changed, (size_t)r->t->fit.threads, NULL, err)
                        : out_of_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < e->g.n; k++) {
        e->mean[k] = 0.0;
        for (size_t i = 0; i < n; i++) e->mean[k] += response(model, scores + (k * n + i) * O, room) / (double)n;
    }
    free(scores);
    free(room);
    karma_table_free(changed);
    return st;
}

static const char *response_words(char text[160], const karma_model *model) {
    size_t K = karma_model_n_classes(model, 0);
    if (K == 0)
        (void)snprintf(text, 160, "predicted %.100s", karma_model_target_name(model, 0));
    else
        (void)snprintf(text, 160, "%s of %.100s", karma_model_has_probabilities(model, 0) ? "probability" : "score",
                       karma_model_class(model, 0, K == 2 ? 1 : 0));
    return text;
}

static void draw_effect(report *r, const karma_table *rows, size_t column, const effect *e, double low, double high) {
    const char *name = karma_table_attribute_name(rows, column), *bands[MOST_GRID + 1];
    size_t n = e->g.n, n_levels = karma_table_n_levels(rows, column);
    int is_category = karma_table_attribute_kind(rows, column) == KARMA_COLUMN_CATEGORY;
    char words[160];
    figure_spec spec = {.title = name,
                        .caption = n_levels ? "Mean prediction if all rows had this level; the last mark: missing."
                                            : "Mean prediction if all rows had this value; dashed: if it were missing.",
                        .x = {.label = name},
                        .y = {.label = response_words(words, r->model), .low = low, .high = high},
                        .width = 300.0,
                        .height = 220.0};
    figure f;
    if (n_levels) {
        for (size_t k = 0; k + 1 < n; k++)
            bands[k] = karma_table_level(rows, column, (size_t)e->g.value[k] - (is_category ? 0 : 1));
        bands[n - 1] = "(missing)";
        spec.x.kind = AXIS_BANDS;
        spec.x.bands = bands;
        spec.x.n_bands = n;
        figure_begin(&f, &r->page, &spec);
        for (size_t k = 0; k < n; k++) figure_point(&f, k + 1 == n, (double)k, e->mean[k], NULL);
    } else {
        range_of(&spec.x.low, &spec.x.high, e->g.value, n - 1);
        spec.x.is_whole = 1;
        for (size_t k = 0; k + 1 < n; k++) spec.x.is_whole &= e->g.value[k] == floor(e->g.value[k]);
        figure_begin(&f, &r->page, &spec);
        figure_line(&f, 0, e->g.value, e->mean, n - 1, LINE_MARKED);
        double x[2] = {spec.x.low, spec.x.high}, y[2] = {e->mean[n - 1], e->mean[n - 1]};
        figure_line(&f, 1, x, y, 2, LINE_DASHED);
    }
    figure_end(&f);
}

static karma_status write_effects(report *r, const size_t *order, karma_error *err) {
    size_t n = affordable_effects(r), total = 0;
    effect *effects = calloc(n + 1, sizeof *effects);
    size_t columns[MOST_EFFECTS];
    double ends[MOST_EFFECTS * (MOST_GRID + 1)], low, high;
    karma_table *sample = NULL;
    karma_status st = effects ? KARMA_OK : out_of_memory(err);
    if (st == KARMA_OK)
        st = sample_rows(&sample, NULL, r->rows, affordable_rows(r, (double)(n * (MOST_GRID + 1))) / 2, err);
    const karma_table *rows = sample ? sample : r->rows;
    for (size_t i = 0; st == KARMA_OK && i < n; i++) {
        columns[i] = find_column(rows, karma_model_attribute_name(r->model, order[i]), order[i]);
        if (columns[i] < karma_table_n_attributes(rows)) st = measure_effect(&effects[i], r, rows, columns[i], err);
        for (size_t k = 0; st == KARMA_OK && effects[i].g.n > 2 && k < effects[i].g.n; k++)
            ends[total++] = effects[i].mean[k];
    }
    if (st == KARMA_OK && total) {
        padded_range_of(&low, &high, ends, total);
        page_heading(&r->page, "Effects of single columns");
        page_paragraph(&r->page,
                       "One column is set to the same value in %zu rows while the others stay as they are, and the "
                       "predictions are averaged. All figures have the same scale. This includes combinations of "
                       "values that no real row has, so it describes the model, not the world.",
                       karma_table_n_rows(rows));
        for (size_t i = 0; i < n; i++)
            if (effects[i].g.n > 2) draw_effect(r, rows, columns[i], &effects[i], low, high);
    }
    free(effects);
    karma_table_free(sample);
    return st;
}

static karma_status write_section(report *r, karma_error *err) {
    size_t *order = calloc(karma_model_n_attributes(r->model) + 1, sizeof *order);
    karma_status st = order ? write_importance(r, order, err) : out_of_memory(err);
    if (st == KARMA_OK) st = write_effects(r, order, err);
    free(order);
    return st;
}

const report_section section_columns = {"columns", "Which columns matter", applies, write_section};
