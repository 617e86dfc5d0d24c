#include "rival/frame.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const size_t UNKNOWN = SIZE_MAX;

void karma_i_frame_clear(karma_i_frame *frame) {
    for (size_t j = 0; frame->columns && j < frame->n_attributes; j++) karma_i_column_clear(&frame->columns[j]);
    karma_i_free(frame->columns);
    karma_i_free(frame->first);
    karma_i_free(frame->shift);
    karma_i_free(frame->factor);
    karma_i_free(frame->n_missing);
    *frame = (karma_i_frame){0};
}

void karma_i_grid_clear(karma_i_grid *grid) {
    karma_i_free(grid->x);
    karma_i_free(grid->raw);
    *grid = (karma_i_grid){0};
}

/* --- learning ------------------------------------------------------------------------------------------ */

/* Of one attribute: how many training cells, their mean and mean squared deviation; of a category the cells of each
 * level. */
typedef struct summary {
    size_t count;
    double mean, spread;
    size_t *level_count; /* into one array */
} summary;

/* Two passes: the second takes deviations from the mean. */
static void summarise(summary *of, const karma_table *table) {
    size_t n_cells = karma_table_n_observed(table);
    for (size_t k = 0; k < n_cells; k++) {
        size_t j = table->cell_owner[k];
        of[j].count++;
        if (table->attributes[j].kind == KARMA_COLUMN_CATEGORY) of[j].level_count[(size_t)table->cell_value[k]]++;
    }
    for (size_t k = 0; k < n_cells; k++) {
        summary *s = &of[table->cell_owner[k]];
        s->mean += table->cell_value[k] / (double)s->count;
    }
    for (size_t k = 0; k < n_cells; k++) {
        summary *s = &of[table->cell_owner[k]];
        s->spread += pow(table->cell_value[k] - s->mean, 2) / (double)s->count;
    }
}

static karma_status copy_occurring(karma_i_column *out, const karma_i_column *column, const size_t *count,
                                   karma_error *err) {
    *out = (karma_i_column){karma_i_strdup(column->name), KARMA_COLUMN_CATEGORY, NULL, 0};
    out->levels = karma_i_zalloc(column->n_levels, sizeof *out->levels);
    if (!out->name || !out->levels) return karma_i_fail_memory(err);
    for (size_t l = 0; l < column->n_levels; l++) {
        if (count[l] == 0) continue;
        if (!(out->levels[out->n_levels] = karma_i_strdup(column->levels[l]))) return karma_i_fail_memory(err);
        out->n_levels++;
    }
    return KARMA_OK;
}

static karma_status learn_category(karma_i_frame *f, const karma_i_column *column, const summary *s, karma_error *err) {
    KARMA_TRY(copy_occurring(&f->columns[f->n_attributes], column, s->level_count, err));
    for (size_t l = 0; l < column->n_levels; l++) {
        if (s->level_count[l] == 0) continue;
        f->shift[f->n_features] = (double)s->level_count[l] / (double)s->count;
        f->factor[f->n_features++] = 1.0;
    }
    return KARMA_OK;
}

static karma_status learn_number(karma_i_frame *f, const karma_i_column *column, const summary *s, karma_error *err) {
    double sd = sqrt(s->spread);
    if (!isfinite(s->mean) || !isfinite(sd))
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': its values are too large to be standardised",
                            column->name);
    KARMA_TRY(karma_i_column_copy(&f->columns[f->n_attributes], column, err));
    /* what is left of a constant after rounding is not spread */
    int constant = !(sd > 1e-12 * fabs(s->mean)) || !isfinite(1.0 / sd);
    f->shift[f->n_features] = s->mean;
    f->factor[f->n_features++] = constant ? 1.0 : 1.0 / sd;
    return KARMA_OK;
}

static karma_status learn_columns(karma_i_frame *f, const karma_table *train, const summary *of, karma_error *err) {
    for (size_t j = 0; j < train->n_attributes; j++) {
        const karma_i_column *column = &train->attributes[j];
        if (of[j].count == 0) continue;
        karma_status st = column->kind == KARMA_COLUMN_CATEGORY ? learn_category(f, column, &of[j], err)
                                                                : learn_number(f, column, &of[j], err);
        f->n_missing[f->n_attributes++] =
            train->n_rows - of[j].count; /* counted before anything can fail: to be freed */
        if (st != KARMA_OK) return st;
        f->first[f->n_attributes] = f->n_features;
    }
    if (f->n_attributes == 0) return karma_i_fail(err, KARMA_ERR_DATA, "no training row has any cell");
    return KARMA_OK;
}

karma_status karma_i_frame_learn(karma_i_frame *out, const karma_table *train, karma_error *err) {
    size_t n = train->n_attributes, n_levels = 0, n_most = 0;
    for (size_t j = 0; j < n; j++) {
        int is_category = train->attributes[j].kind == KARMA_COLUMN_CATEGORY;
        n_levels += is_category ? train->attributes[j].n_levels : 0;
        n_most += is_category ? 0 : 1;
    }
    n_most += n_levels;
    summary *of = karma_i_zalloc(n, sizeof *of);
    size_t *level_count = karma_i_zalloc(n_levels, sizeof *level_count);
    karma_i_frame f = {.columns = karma_i_zalloc(n, sizeof *f.columns),
                       .first = karma_i_zalloc(n + 1, sizeof *f.first),
                       .shift = karma_i_alloc(n_most, sizeof *f.shift),
                       .factor = karma_i_alloc(n_most, sizeof *f.factor),
                       .n_missing = karma_i_alloc(n, sizeof *f.n_missing)};
    int has_room = of && level_count && f.columns && f.first && f.shift && f.factor && f.n_missing;
    karma_status st = has_room ? KARMA_OK : karma_i_fail_memory(err);
    if (has_room) {
        size_t used = 0;
        for (size_t j = 0; j < n; j++) {
            of[j].level_count = level_count + used;
            used += train->attributes[j].kind == KARMA_COLUMN_CATEGORY ? train->attributes[j].n_levels : 0;
        }
        summarise(of, train);
        st = learn_columns(&f, train, of, err);
    }
    karma_i_free(of);
    karma_i_free(level_count);
    if (st == KARMA_OK)
        *out = f;
    else
        karma_i_frame_clear(&f);
    return st;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* The frame's attribute of this name; a table usually has the frame's columns in its order, so the search starts where
 * the last one ended. */
static size_t find_attribute(const karma_i_frame *f, const char *name, size_t guess) {
    for (size_t k = 0; k < f->n_attributes; k++) {
        size_t j = (guess + k) % f->n_attributes;
        if (strcmp(f->columns[j].name, name) == 0) return j;
    }
    return UNKNOWN;
}

/* Where the table's attributes and levels are in the frame. */
typedef struct match {
    size_t *attribute;
    size_t **level; /* per attribute of the table, for categories */
    size_t *levels; /* all of them */
} match;

static void clear_match(match *m) {
    karma_i_free(m->attribute);
    karma_i_free(m->level);
    karma_i_free(m->levels);
}

static karma_status match_levels(match *m, size_t attribute, const karma_i_column *known, const karma_i_column *own,
                                 karma_error *err) {
    if (known->kind != own->kind)
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s' holds %s here and %s in training", own->name,
                            own->kind == KARMA_COLUMN_CATEGORY ? "categories" : "numbers",
                            own->kind == KARMA_COLUMN_CATEGORY ? "numbers" : "categories");
    if (own->kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    for (size_t l = 0; l < own->n_levels; l++) {
        size_t found = karma_i_column_find_level(known, own->levels[l], strlen(own->levels[l]));
        m->level[attribute][l] = found < known->n_levels ? found : UNKNOWN;
    }
    return KARMA_OK;
}

/* To be cleared also when it fails. */
static karma_status make_match(match *m, const karma_i_frame *f, const karma_table *table, karma_error *err) {
    size_t n = table->n_attributes, n_levels = 0, guess = 0;
    for (size_t j = 0; j < n; j++) n_levels += table->attributes[j].n_levels;
    *m = (match){.attribute = karma_i_alloc(n, sizeof *m->attribute),
                 .level = karma_i_alloc(n, sizeof *m->level),
                 .levels = karma_i_alloc(n_levels, sizeof *m->levels)};
    if (!m->attribute || !m->level || !m->levels) return karma_i_fail_memory(err);
    size_t *next = m->levels;
    for (size_t j = 0; j < n; j++) {
        const karma_i_column *own = &table->attributes[j];
        m->level[j] = next;
        next += own->n_levels;
        size_t at = m->attribute[j] = find_attribute(f, own->name, guess);
        if (at == UNKNOWN) continue;
        guess = at + 1;
        KARMA_TRY(match_levels(m, j, &f->columns[at], own, err));
    }
    return KARMA_OK;
}

static void encode(double *features, const karma_i_frame *f, size_t attribute, double raw) {
    size_t first = f->first[attribute], last = f->first[attribute + 1];
    if (f->columns[attribute].kind == KARMA_COLUMN_NUMBER)
        features[first] = (raw - f->shift[first]) * f->factor[first];
    else
        for (size_t k = first; k < last; k++) features[k] = (k - first == (size_t)raw ? 1.0 : 0.0) - f->shift[k];
}

static void fill_row(karma_i_grid *g, size_t row, const match *m, const karma_table *table) {
    const karma_i_frame *f = g->frame;
    karma_i_cells cells = karma_i_table_cells(table, row);
    double *raw = g->raw + row * f->n_attributes;
    for (size_t j = 0; j < f->n_attributes; j++) raw[j] = NAN;
    for (size_t k = 0; k < cells.count; k++) {
        size_t j = cells.attribute[k], at = m->attribute[j];
        double value = cells.value[k];
        if (at == UNKNOWN) continue;
        if (f->columns[at].kind == KARMA_COLUMN_CATEGORY) {
            if (m->level[j][(size_t)value] == UNKNOWN) continue;
            value = (double)m->level[j][(size_t)value];
        }
        raw[at] = value;
        encode(g->x + row * f->n_features, f, at, value);
    }
}

karma_status karma_i_grid_fill(karma_i_grid *out, const karma_i_frame *frame, const karma_table *table,
                               karma_error *err) {
    karma_i_grid g = {.frame = frame,
                      .n_rows = table->n_rows,
                      .x = karma_i_zalloc(table->n_rows, frame->n_features * sizeof *g.x),
                      .raw = karma_i_alloc(table->n_rows, frame->n_attributes * sizeof *g.raw)};
    match m = {0};
    karma_status st = g.x && g.raw ? make_match(&m, frame, table, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++) fill_row(&g, i, &m, table);
    clear_match(&m);
    if (st == KARMA_OK)
        *out = g;
    else
        karma_i_grid_clear(&g);
    return st;
}

double karma_i_frame_decode(const karma_i_frame *frame, size_t attribute, const double *features) {
    size_t first = frame->first[attribute], last = frame->first[attribute + 1], best = first;
    if (frame->columns[attribute].kind == KARMA_COLUMN_NUMBER)
        return features[first] / frame->factor[first] + frame->shift[first];
    for (size_t k = first + 1; k < last; k++)
        if (features[k] + frame->shift[k] > features[best] + frame->shift[best]) best = k;
    return (double)(best - first);
}
