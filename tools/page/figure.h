/* Figures as SVG inside a page: axes with round ticks, and marks that know their values. Every mark shows them when the
 * pointer or the keyboard reaches it, and every figure ends with a table of them.
 *
 *     figure f;
 *     figure_begin(&f, p, &(figure_spec){.title = "ROC curve", .caption = "...", .x = {...}, .y = {...}});
 *     figure_line(&f, 0, x, y, n, LINE_PLAIN);
 *     figure_end(&f);
 *
 * Values that are not finite are left out; those outside an axis are drawn at its end. */
#ifndef PAGE_FIGURE_H
#define PAGE_FIGURE_H

#include "page.h"

typedef enum axis_kind { AXIS_LINEAR, AXIS_LOG, AXIS_BANDS } axis_kind;

typedef struct axis {
    const char *label;
    axis_kind kind;
    double low, high;         /* values at its ends; of bands: not used */
    const char *const *bands; /* names; the first is at the left or at the top */
    size_t n_bands;
    int is_share;  /* ticks are percentages */
    int is_whole;  /* values are whole numbers, and so are ticks */
    int is_silent; /* bands without names */
} axis;

typedef struct figure_spec {
    const char *title, *caption; /* the caption says what can be seen */
    axis x, y;
    const char *const *series; /* names; a legend is drawn if there are several */
    size_t n_series;
    const char *extra;    /* what the third value of marks is, such as "rows"; NULL: they have none */
    double width, height; /* of the whole drawing; 0: 400 and 280 */
} figure_spec;

typedef struct figure {
    FILE *stream;
    figure_spec spec;
    double left, top, width, height; /* of the area between the axes */
    FILE *values;                    /* the lines of the table */
    char *values_text;
    size_t values_size, n_values;
} figure;

/* A figure has so many colours; series beyond them begin again with the first. */
enum { FIGURE_COLOURS = 8 };
/* A table of values ends after so many, and says so. */
enum { FIGURE_MOST_VALUES = 400 };

void figure_begin(figure *f, page *p, const figure_spec *spec);
void figure_end(figure *f);
/* The axes of a figure without page, title, legend and table, into an SVG element that begins at its corner. It has no
 * figure_end. sheet.h puts several of them into one file. */
void figure_place(figure *f, FILE *stream, const figure_spec *spec);

typedef enum line_kind { LINE_PLAIN, LINE_STEPS, LINE_MARKED, LINE_DASHED } line_kind;
/* Points in the order of x. LINE_MARKED has a visible mark at each of them. */
void figure_line(figure *f, size_t series, const double *x, const double *y, size_t n, line_kind kind);
/* A single mark; `extra` is printed with its values (NULL: none). */
void figure_point(figure *f, size_t series, double x, double y, const char *extra);
/* A vertical error bar from y - error to y + error; nothing if the error is not finite. */
void figure_error(figure *f, size_t series, double x, double y, double error);
/* Bars from 0: `band` is that of the axis with bands. Errors as above. */
void figure_bar(figure *f, size_t series, size_t band, double value, double error, const char *extra);
/* A bar of a histogram, from x0 to x1. */
void figure_block(figure *f, size_t series, double x0, double x1, double y, const char *extra);
/* A cell of two axes with bands; strength from 0 to 1, negative values in the second colour. `text` may be NULL. */
void figure_cell(figure *f, size_t column, size_t row, double strength, const char *text, const char *value);
/* Straight lines through the area: at a value of y, of x, or along x = y. `label` may be NULL. */
void figure_rule_y(figure *f, double y, const char *label);
/* The same with the label below the line, for curves that end on it. */
void figure_rule_below(figure *f, double y, const char *label);
void figure_rule_x(figure *f, double x, const char *label);
void figure_diagonal(figure *f);
/* Cells of one band of y that are marked: those bands of x whose flags are set, as one mark with one text. */
void figure_strip(figure *f, size_t band, const unsigned char *flags, const char *value);

/* --- helpers --- */

/* The beginning of an element in the shape and colour of a series, up to its >. */
void put_shape(FILE *stream, size_t series, double x, double y);

/* The least and the largest finite value, a little apart if they are equal; 0 and 1 if there is none. */
void range_of(double *low, double *high, const double *values, size_t n);
/* The same with a little room on both sides, but none beyond 0. */
void padded_range_of(double *low, double *high, const double *values, size_t n);
/* A number in a few digits. */
const char *short_number(char text[40], double value);

#endif
