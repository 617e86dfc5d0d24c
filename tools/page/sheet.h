/* Several figures side by side in one SVG file, with one legend below them.
 *
 *     sheet s;
 *     sheet_begin(&s, 2, names, n_names);
 *     figure f;
 *     sheet_figure(&s, &f, &(figure_spec){.title = "mcar", .x = {...}, .y = {...}});
 *     figure_line(&f, 0, x, y, n, LINE_MARKED);
 *     sheet_use(&s, 0);
 *     sheet_end(&s, stdout);
 */
#ifndef PAGE_SHEET_H
#define PAGE_SHEET_H

#include "figure.h"

enum { SHEET_MOST_SERIES = 40 };

typedef struct sheet {
    FILE *drawing; /* the figures, kept until the size of the file is known */
    char *text;
    size_t size;
    size_t columns, n_figures;
    const char *const *series;
    size_t n_series;
    unsigned char is_used[SHEET_MOST_SERIES];
    double x, width, line_top, line_height; /* where the next figure goes, and what they take so far */
} sheet;

/* Figures stand in lines of so many columns. There are at most SHEET_MOST_SERIES names; they stay the caller's. Returns
 * whether there is memory. */
int sheet_begin(sheet *s, size_t columns, const char *const *series, size_t n_series);
/* Places the next figure: its title, axes and marks, no caption. `series` of the spec are those of the sheet. */
void sheet_figure(sheet *s, figure *f, const figure_spec *spec);
/* A series that has marks: the legend names only those. */
void sheet_use(sheet *s, size_t series);
/* Writes the file; returns whether all of it was kept and written. */
int sheet_end(sheet *s, FILE *stream);

#endif
