/* draw-figures <DESCRIPTION >FILE.svg: draws the figures of the documents with the module of the report page. Of each
 * line the fields are separated by tabs; the first one says what it is:
 *
 *     columns N                       figures beside each other; before the first figure
 *     series NAME                     one per name; numbered from 0; before the first figure
 *     figure TITLE WIDTH HEIGHT       begins a figure; its axes come next
 *     x linear LABEL LOW HIGH         or: share (ticks are percentages), log, whole
 *     x bands LABEL NAME...           names along the axis, numbered from 0
 *     y ...                           the same
 *     line SERIES X Y ERROR ...       marks joined by a line, with error bars (0: none)
 *     stroke SERIES X Y X Y ...       a line without marks
 *     point SERIES X Y                a mark; places on bands may be fractions
 *     cell COLUMN ROW STRENGTH TEXT   of two axes with bands
 *     level Y LABEL                   a dashed line across
 *
 * A wrong line ends the program with exit code 1 and one sentence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sheet.h"

enum { MOST_FIELDS = 400, MOST_POINTS = MOST_FIELDS / 2 };

typedef struct drawing {
    sheet sheet;
    figure figure;
    figure_spec spec;
    const char *series[SHEET_MOST_SERIES];
    size_t n_series, columns, line;
    int is_sheet_open, has_figure, is_placed;
    const char *fields[MOST_FIELDS];
    size_t n_fields;
} drawing;

static void refuse(const drawing *d, const char *what) {
    fprintf(stderr, "draw-figures: line %zu: %s\n", d->line, what);
    exit(1);
}

static double number(const drawing *d, size_t field) {
    char *end = NULL;
    if (field >= d->n_fields) refuse(d, "a number is missing");
    double value = strtod(d->fields[field], &end);
    if (end == d->fields[field] || *end || !isfinite(value)) refuse(d, "a field is no number");
    return value;
}

static size_t index_below(const drawing *d, size_t field, size_t n) {
    double value = number(d, field);
    if (!(value >= 0.0 && value < (double)n) || value != floor(value)) refuse(d, "there is no such series or band");
    return (size_t)value;
}

static void copy_bands(drawing *d, axis *a) {
    a->n_bands = d->n_fields - 3;
    const char **names = calloc(a->n_bands + 1, sizeof *names);
    if (!names) refuse(d, "not enough memory");
    memcpy(names, d->fields + 3, a->n_bands * sizeof *names);
    a->bands = names; /* freed when the figure ends */
    a->kind = AXIS_BANDS;
}

static void end_figure(drawing *d) {
    if (d->has_figure && !d->is_placed) refuse(d, "the figure before has no marks");
    free((void *)d->spec.x.bands);
    free((void *)d->spec.y.bands);
    d->spec = (figure_spec){0};
    d->has_figure = d->is_placed = 0;
}

static void do_columns(drawing *d) {
    d->columns = index_below(d, 1, 100);
}

static void do_series(drawing *d) {
    if (d->n_series == SHEET_MOST_SERIES || d->is_sheet_open) refuse(d, "too many series, or after a figure");
    d->series[d->n_series++] = d->fields[1];
}

static void do_figure(drawing *d) {
    if (!d->is_sheet_open && !sheet_begin(&d->sheet, d->columns, d->series, d->n_series))
        refuse(d, "not enough memory");
    d->is_sheet_open = 1;
    end_figure(d);
    d->spec = (figure_spec){.title = d->fields[1], .width = number(d, 2), .height = number(d, 3)};
    if (!(d->spec.width >= 100.0 && d->spec.height >= 100.0)) refuse(d, "a figure is at least 100 wide and high");
    d->has_figure = 1;
}

static void read_axis(drawing *d, axis *a) {
    const char *kind = d->fields[1];
    if (!d->has_figure || d->is_placed || a->label) refuse(d, "an axis belongs right after its figure, once");
    a->label = d->fields[2];
    if (strcmp(kind, "bands") == 0) {
        copy_bands(d, a);
        return;
    }
    a->kind = strcmp(kind, "log") == 0 ? AXIS_LOG : AXIS_LINEAR;
    a->is_share = strcmp(kind, "share") == 0;
    a->is_whole = strcmp(kind, "whole") == 0;
    if (a->kind != AXIS_LOG && !a->is_share && !a->is_whole && strcmp(kind, "linear") != 0)
        refuse(d, "there is no such kind of axis");
    a->low = number(d, 3), a->high = number(d, 4);
}

static void do_x(drawing *d) {
    read_axis(d, &d->spec.x);
}

static void do_y(drawing *d) {
    read_axis(d, &d->spec.y);
}

static void place_figure(drawing *d) {
    if (!d->spec.x.label || !d->spec.y.label) refuse(d, "marks need a figure with both axes");
    if (!d->is_placed) sheet_figure(&d->sheet, &d->figure, &d->spec);
    d->is_placed = 1;
}

static size_t series_of_marks(drawing *d) {
    size_t series = index_below(d, 1, d->n_series);
    place_figure(d);
    sheet_use(&d->sheet, series);
    return series;
}

/* Points of so many numbers each: x, y and, if there are three, an error bar. */
static void put_points(drawing *d, size_t each, line_kind kind) {
    size_t series = series_of_marks(d), n = (d->n_fields - 2) / each;
    double x[MOST_POINTS], y[MOST_POINTS];
    if ((d->n_fields - 2) % each) refuse(d, "a point is not whole");
    for (size_t i = 0; i < n; i++) {
        x[i] = number(d, 2 + each * i), y[i] = number(d, 3 + each * i);
        double error = each == 3 ? number(d, 4 + each * i) : 0.0;
        if (error > 0.0) figure_error(&d->figure, series, x[i], y[i], error);
    }
    figure_line(&d->figure, series, x, y, n, kind);
}

static void do_line(drawing *d) {
    put_points(d, 3, LINE_MARKED);
}

static void do_stroke(drawing *d) {
    put_points(d, 2, LINE_PLAIN);
}

static void do_point(drawing *d) {
    size_t series = series_of_marks(d);
    figure_point(&d->figure, series, number(d, 2), number(d, 3), NULL);
}

static void do_cell(drawing *d) {
    place_figure(d);
    if (d->spec.x.kind != AXIS_BANDS || d->spec.y.kind != AXIS_BANDS) refuse(d, "cells need bands on both axes");
    size_t column = index_below(d, 1, d->spec.x.n_bands), row = index_below(d, 2, d->spec.y.n_bands);
    figure_cell(&d->figure, column, row, number(d, 3), d->fields[4], d->fields[4]);
}

static void do_level(drawing *d) {
    place_figure(d);
    figure_rule_y(&d->figure, number(d, 1), d->fields[2]);
}

static const struct word {
    const char *name;
    size_t least_fields;
    void (*act)(drawing *d);
} words[] = {{"columns", 2, do_columns},
             {"series", 2, do_series},
             {"figure", 4, do_figure},
             {"x", 3, do_x},
             {"y", 3, do_y},
             {"line", 2, do_line},
             {"stroke", 2, do_stroke},
             {"point", 4, do_point},
             {"cell", 5, do_cell},
             {"level", 3, do_level}};

/* One line, which is cut into its fields in place. */
static void do_text(drawing *d, char *line) {
    d->line++;
    d->n_fields = 0;
    for (char *field = line; field; d->n_fields++) {
        if (d->n_fields == MOST_FIELDS) refuse(d, "too many fields");
        char *tab = strchr(field, '\t');
        if (tab) *tab = '\0';
        d->fields[d->n_fields] = field;
        field = tab ? tab + 1 : NULL;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].name, d->fields[0]) == 0) {
            if (d->n_fields < words[i].least_fields) refuse(d, "it ends too early");
            words[i].act(d);
            return;
        }
    refuse(d, "it begins with no known word");
}

/* All of the input: names point into it to the end. */
static char *read_all(FILE *stream) {
    char *text = NULL, buffer[4096];
    size_t size = 0, n = 0;
    FILE *copy = open_memstream(&text, &size);
    while (copy && (n = fread(buffer, 1, sizeof buffer, stream)) > 0) fwrite(buffer, 1, n, copy);
    return copy && fclose(copy) == 0 ? text : NULL;
}

int main(void) {
    static drawing d;
    char *text = read_all(stdin);
    if (!text) refuse(&d, "not enough memory");
    for (char *line = text; *line;) {
        char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        do_text(&d, line);
        line = next;
    }
    if (!d.is_sheet_open) refuse(&d, "there is no figure");
    end_figure(&d);
    int is_written = sheet_end(&d.sheet, stdout) && fflush(stdout) == 0;
    free(text);
    if (!is_written) fputs("draw-figures: cannot write the figure\n", stderr);
    return !is_written;
}
