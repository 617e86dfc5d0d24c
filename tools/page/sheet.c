/* A sheet keeps its figures in memory, because an SVG file begins with its size. */
#include <math.h>
#include <stdlib.h>

#include "markup.h"
#include "page_files.h"
#include "sheet.h"

enum { TITLE_HEIGHT = 26, ENTRY_HEIGHT = 18, LETTER = 7, SWATCH = 26, GAP = 16, MOST_LETTERS = 60 };

int sheet_begin(sheet *s, size_t columns, const char *const *series, size_t n_series) {
    *s = (sheet){.columns = columns ? columns : 1, .series = series};
    s->n_series = n_series < SHEET_MOST_SERIES ? n_series : SHEET_MOST_SERIES;
    s->drawing = open_memstream(&s->text, &s->size);
    return s->drawing != NULL;
}

static void end_group(sheet *s) {
    if (s->n_figures) fputs("\n</g>\n", s->drawing);
}

void sheet_figure(sheet *s, figure *f, const figure_spec *spec) {
    figure_spec own = *spec;
    own.series = s->series, own.n_series = s->n_series;
    end_group(s);
    if (s->n_figures % s->columns == 0) s->x = 0.0, s->line_top += s->line_height, s->line_height = 0.0;
    fprintf(s->drawing, "<g transform=\"translate(%.1f %.1f)\">\n", s->x, s->line_top + TITLE_HEIGHT);
    figure_place(f, s->drawing, &own);
    fprintf(s->drawing, "<text class=\"label\" x=\"%.1f\" y=\"-6\" text-anchor=\"middle\" font-weight=\"bold\">",
            f->left + f->width / 2.0);
    put_short_text(s->drawing, spec->title, (size_t)(f->spec.width / LETTER));
    fputs("</text>", s->drawing);
    s->n_figures++;
    s->x += f->spec.width;
    s->width = fmax(s->width, s->x);
    s->line_height = fmax(s->line_height, f->spec.height + TITLE_HEIGHT);
}

void sheet_use(sheet *s, size_t series) {
    if (series < s->n_series) s->is_used[series] = 1;
}

static double entry_width(const char *name) {
    size_t n = count_characters(name);
    return SWATCH + GAP + (double)((n < MOST_LETTERS ? n : MOST_LETTERS) * LETTER);
}

static void put_entry(sheet *s, size_t series, double x, double y) {
    fprintf(s->drawing, "<path class=\"line l%zu\" d=\"M%.1f %.1fh22\"/>", series % FIGURE_COLOURS, x, y);
    put_shape(s->drawing, series, x + 11.0, y);
    fprintf(s->drawing, "/><text class=\"label\" x=\"%.1f\" y=\"%.1f\">", x + SWATCH, y + 4.0);
    put_short_text(s->drawing, s->series[series], MOST_LETTERS);
    fputs("</text>\n", s->drawing);
}

/* Names in lines; returns where the file ends. */
static double put_legend(sheet *s) {
    double x = GAP, y = s->line_top + s->line_height + 0.6 * ENTRY_HEIGHT;
    size_t n = 0;
    for (size_t i = 0; i < s->n_series; i++) {
        if (!s->is_used[i]) continue;
        double width = entry_width(s->series[i]);
        if (x > GAP && x + width > s->width) x = GAP, y += ENTRY_HEIGHT;
        put_entry(s, i, x, y);
        x += width;
        n++;
    }
    return n ? y + ENTRY_HEIGHT : s->line_top + s->line_height;
}

int sheet_end(sheet *s, FILE *stream) {
    end_group(s);
    double height = put_legend(s);
    int is_kept = !ferror(s->drawing);
    is_kept = fclose(s->drawing) == 0 && is_kept;
    if (is_kept) {
        fprintf(
            stream,
            "<svg class=\"figure\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
            s->width, height, s->width, height, figure_css);
        fwrite(s->text, 1, s->size, stream);
        fputs("</svg>\n", stream);
    }
    free(s->text);
    return is_kept && !ferror(stream);
}
