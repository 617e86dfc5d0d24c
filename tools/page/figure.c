/* Figures: layout and marks. Lengths are in pixels of the drawing, whose fonts have 11. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "markup.h"

enum { LETTER = 6, DIGIT = 7, LINE_HEIGHT = 16, MOST_LETTERS = 22, GAP = 8, BAND_HEIGHT = 18 };

const char *short_number(char text[40], double value) {
    double size = fabs(value);
    if (size >= 1e4 && size < 1e15)
        (void)snprintf(text, 40, "%.0f", value);
    else
        (void)snprintf(text, 40, "%.4g", value == 0.0 ? 0.0 : value); /* no -0 */
    return text;
}

void range_of(double *low, double *high, const double *values, size_t n) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(values[i])) continue;
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    if (least > most) least = 0.0, most = 1.0;
    if (least == most) {
        double room = least == 0.0 ? 1.0 : fabs(least) / 2.0;
        least -= room, most += room;
    }
    *low = least;
    *high = most;
}

void padded_range_of(double *low, double *high, const double *values, size_t n) {
    range_of(low, high, values, n);
    double room = 0.04 * (*high - *low);
    if (*low != 0.0) *low -= room;
    if (*high != 0.0) *high += room;
}

/* --- axes ---------------------------------------------------------------------------------------------- */

/* A step of 1, 2 or 5 times a power of ten that makes about `wanted` ticks; at least 1 where values are whole. */
static double round_step(const axis *a, double wanted) {
    double raw = (a->high - a->low) / wanted, power = pow(10.0, floor(log10(raw))), first = raw / power;
    double step = power * (first < 1.5 ? 1.0 : first < 3.5 ? 2.0 : first < 7.5 ? 5.0 : 10.0);
    return a->is_whole ? fmax(1.0, step) : step;
}

/* A tick of a linear axis with no more decimals than its steps need. */
static const char *tick_text(char text[40], const axis *a, double value, double step) {
    double factor = a->is_share ? 100.0 : 1.0, size = fmax(fabs(a->low), fabs(a->high)) * factor;
    int decimals = (int)fmax(0.0, -floor(log10(step * factor) + 1e-9));
    int digits =
        (int)fmax(3.0, 1.0 + floor(log10(size)) - floor(log10(step * factor) + 1e-9)); /* that tell ticks apart */
    if (size >= 1e6 || decimals > 4)
        (void)snprintf(text, 40, "%.*g", digits < 15 ? digits : 15, value * factor);
    else
        (void)snprintf(text, 40, "%.*f%s", decimals, fabs(value) < step / 2.0 ? 0.0 : value * factor,
                       a->is_share ? "%" : "");
    return text;
}

static const char *value_text(char text[40], const axis *a, double value) {
    if (!a->is_share) return short_number(text, value);
    (void)snprintf(text, 40, "%.1f%%", 100.0 * value);
    return text;
}

/* From 0 to 1 along the axis. */
static double place(const axis *a, double value) {
    if (a->kind == AXIS_BANDS) return a->n_bands ? (value + 0.5) / (double)a->n_bands : 0.5;
    double at =
        a->kind == AXIS_LOG ? log(value / a->low) / log(a->high / a->low) : (value - a->low) / (a->high - a->low);
    return fmin(1.0, fmax(0.0, at));
}

static double place_x(const figure *f, double x) {
    return f->left + f->width * place(&f->spec.x, x);
}

static double place_y(const figure *f, double y) {
    double at = place(&f->spec.y, y);
    return f->top + f->height * (f->spec.y.kind == AXIS_BANDS ? at : 1.0 - at);
}

static size_t longest_name(const axis *a) {
    size_t longest = 0;
    for (size_t i = 0; i < a->n_bands && !a->is_silent; i++) {
        size_t n = count_characters(a->bands[i]);
        if (n > longest) longest = n;
    }
    return longest < MOST_LETTERS ? longest : MOST_LETTERS;
}

/* Names under bands are turned where they would touch each other. */
static int has_turned_names(const figure *f) {
    const axis *x = &f->spec.x;
    return x->kind == AXIS_BANDS && x->n_bands &&
           (double)(longest_name(x) * LETTER + GAP) > f->width / (double)x->n_bands;
}

static void put_tick_label(figure *f, double x, double y, const char *anchor, int is_turned, const char *text) {
    if (is_turned)
        fprintf(f->stream, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"%s\">", x, y, anchor);
    else
        fprintf(f->stream, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_short_text(f->stream, text, MOST_LETTERS);
    fputs("</text>", f->stream);
}

static void put_tick(figure *f, int is_x, double value, const char *text) {
    if (is_x) {
        double x = place_x(f, value), bottom = f->top + f->height;
        fprintf(f->stream, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, f->top, bottom);
        put_tick_label(f, x, bottom + 15.0, "middle", 0, text);
    } else {
        double y = place_y(f, value);
        fprintf(f->stream, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", f->left, y, f->left + f->width);
        put_tick_label(f, f->left - 6.0, y + 4.0, "end", 0, text);
    }
}

/* How many values from the first on, one step apart, are not above the last. */
static size_t count_ticks(double first, double last, double step) {
    return first <= last + step * 1e-9 ? (size_t)((last - first) / step + 1e-9) + 1 : 0;
}

static void put_linear_ticks(figure *f, const axis *a, int is_x, double wanted) {
    char text[40];
    double step = round_step(a, wanted);
    double first = ceil(a->low / step - 1e-9) * step;
    size_t n = count_ticks(first, a->high, step);
    for (size_t i = 0; i < n; i++) {
        double value = first + (double)i * step;
        put_tick(f, is_x, value, tick_text(text, a, value, step));
    }
}

/* Powers of ten, every so many of them that there is room for their labels; where there are few, 2 and 5 times them. */
static void put_log_ticks(figure *f, const axis *a, int is_x) {
    enum { MOST_POWERS = 6, FEW_DECADES = 2 };
    static const double factors[] = {1.0, 2.0, 5.0};
    char text[40];
    double low = log10(a->low) - 1e-9, high = log10(a->high) + 1e-9, first = floor(low), last = floor(high);
    double step = fmax(1.0, ceil((last - first) / MOST_POWERS));
    size_t n = count_ticks(first, last, step), n_factors = high - low <= FEW_DECADES ? 3 : 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n_factors; k++) {
            double e = first + (double)i * step, value = factors[k] * pow(10.0, e);
            if (log10(value) < low || log10(value) > high) continue;
            (void)snprintf(text, sizeof text, fabs(e) < 5.0 ? "%g" : "%.0e", value);
            put_tick(f, is_x, value, text);
        }
}

/* Bytes that all names begin with, up to a blank, where long names would be alike once they are cut; else 0. */
static size_t shared_start(const axis *a) {
    size_t shared = a->n_bands > 1 ? strlen(a->bands[0]) : 0, end = 0;
    for (size_t i = 1; i < a->n_bands; i++) {
        size_t n = 0;
        while (n < shared && a->bands[i][n] == a->bands[0][n]) n++;
        shared = n;
    }
    for (size_t n = 0; n < shared; n++)
        if (a->bands[0][n] == ' ') end = n + 1;
    return longest_name(a) == MOST_LETTERS && end > MOST_LETTERS / 2 ? end : 0;
}

/* Where bands are thinner than letters, only every so many have names. */
static void put_band_names(figure *f, const axis *a, int is_x) {
    int is_turned = is_x && has_turned_names(f);
    double room = (is_x ? f->width : f->height) / (double)(a->n_bands ? a->n_bands : 1);
    size_t every = is_x && !is_turned ? 1 : (size_t)ceil(12.0 / room), skipped = shared_start(a);
    for (size_t i = 0; i < a->n_bands && !a->is_silent; i += every) {
        char name[256];
        (void)snprintf(name, sizeof name, "%s%.240s", skipped ? "\xE2\x80\xA6" : "", a->bands[i] + skipped);
        if (is_x)
            put_tick_label(f, place_x(f, (double)i) + (is_turned ? 4.0 : 0.0),
                           f->top + f->height + (is_turned ? 6.0 : 15.0), is_turned ? "end" : "middle", is_turned,
                           name);
        else
            put_tick_label(f, f->left - 6.0, place_y(f, (double)i) + 4.0, "end", 0, name);
    }
}

static void put_axis(figure *f, int is_x) {
    const axis *a = is_x ? &f->spec.x : &f->spec.y;
    if (a->kind == AXIS_BANDS)
        put_band_names(f, a, is_x);
    else if (a->kind == AXIS_LOG)
        put_log_ticks(f, a, is_x);
    else
        put_linear_ticks(f, a, is_x, is_x ? f->width / 70.0 : f->height / 45.0);
}

/* What the labels of an axis take, beside their title. */
static double label_room(const axis *a, double room_for_numbers) {
    return a->kind == AXIS_BANDS ? 1.15 * (double)(longest_name(a) * LETTER)
                                 : room_for_numbers; /* capitals are wider */
}

static double numbers_room(const axis *a) {
    char text[40];
    if (a->kind == AXIS_LOG) return 42.0;
    double step = round_step(a, 5.0), first = ceil(a->low / step) * step, widest = 0.0;
    size_t n = count_ticks(first, a->high, step);
    for (size_t i = 0; i < n; i++)
        widest = fmax(widest, (double)(strlen(tick_text(text, a, first + (double)i * step, step)) * DIGIT));
    return widest;
}

/* Axes whose values do not differ, or are not positive where logarithms are taken, would have no scale. */
static void repair_axis(axis *a) {
    if (a->kind == AXIS_BANDS) return;
    if (a->kind == AXIS_LOG && !(a->low > 0.0)) a->low = 1e-3;
    if (!(a->high > a->low)) a->high = a->kind == AXIS_LOG ? a->low * 10.0 : a->low + 1.0;
}

static void set_size(figure_spec *s) {
    if (s->width == 0.0) s->width = 400.0;
    if (s->height == 0.0) s->height = s->y.kind == AXIS_BANDS ? 60.0 + BAND_HEIGHT * (double)s->y.n_bands : 280.0;
}

static void lay_out(figure *f) {
    figure_spec *s = &f->spec;
    repair_axis(&s->x);
    repair_axis(&s->y);
    set_size(s);
    f->left = GAP + LINE_HEIGHT + label_room(&s->y, s->y.kind == AXIS_BANDS ? 0.0 : numbers_room(&s->y)) + 4.0;
    f->width = s->width - f->left - 18.0;
    f->top = 10.0;
    double bottom = LINE_HEIGHT + 20.0;
    if (has_turned_names(f)) bottom = LINE_HEIGHT + 14.0 + (double)(longest_name(&s->x) * LETTER);
    f->height = s->height - f->top - bottom;
}

/* --- beginning and end --------------------------------------------------------------------------------- */

static void put_legend(figure *f) {
    if (f->spec.n_series < 2) return;
    fputs("<ul class=\"legend\">", f->stream);
    for (size_t i = 0; i < f->spec.n_series; i++) {
        fprintf(f->stream,
                "<li><svg class=\"figure\" width=\"14\" height=\"10\" aria-hidden=\"true\"><rect class=\"s%zu\" "
                "width=\"14\" height=\"10\"/></svg> ",
                i % FIGURE_COLOURS);
        put_short_text(f->stream, f->spec.series[i], 60);
        fputs("</li>", f->stream);
    }
    fputs("</ul>", f->stream);
}

static void put_frame(figure *f) {
    fprintf(f->stream, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", f->left, f->top, f->top + f->height,
            f->left + f->width);
    if (f->spec.x.label) {
        fprintf(f->stream, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                f->left + f->width / 2.0, f->spec.height - 4.0);
        put_short_text(f->stream, f->spec.x.label, (size_t)(f->width / LETTER));
        fputs("</text>", f->stream);
    }
    if (f->spec.y.label) {
        /* a title that is longer than its axis may take the whole height */
        int is_long = (double)(count_characters(f->spec.y.label) * LETTER) > f->height;
        fprintf(f->stream, "<text class=\"label\" transform=\"translate(%d %.1f) rotate(-90)\" text-anchor=\"middle\">",
                LINE_HEIGHT - 2, is_long ? f->spec.height / 2.0 : f->top + f->height / 2.0);
        put_short_text(f->stream, f->spec.y.label, (size_t)((is_long ? f->spec.height - GAP : f->height) / LETTER));
        fputs("</text>", f->stream);
    }
}

void figure_place(figure *f, FILE *stream, const figure_spec *spec) {
    *f = (figure){.stream = stream, .spec = *spec};
    lay_out(f);
    put_axis(f, 1);
    put_axis(f, 0);
    put_frame(f);
}

static void put_opening(figure *f, size_t number) {
    const figure_spec *s = &f->spec;
    const char *class = s->width > 480.0 ? " class=\"wide\"" : s->width < 360.0 ? " class=\"small\"" : "";
    fprintf(f->stream, "<figure id=\"figure-%zu\"%s>\n<figcaption><strong>", number, class);
    put_text(f->stream, s->title);
    fputs("</strong> ", f->stream);
    put_text(f->stream, s->caption);
    fputs("</figcaption>\n", f->stream);
    put_legend(f);
    fprintf(
        f->stream,
        "<div class=\"drawing\"><svg class=\"figure\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
        "width=\"%.0f\" height=\"%.0f\" role=\"img\" tabindex=\"0\" aria-label=\"",
        s->width, s->height, s->width, s->height);
    put_text(f->stream, s->title);
    fputs(". The values are in the table below it.\">\n", f->stream);
}

void figure_begin(figure *f, page *p, const figure_spec *spec) {
    figure_spec sized = *spec;
    set_size(&sized);
    *f = (figure){.stream = p->stream, .spec = sized};
    page_figure_row(p);
    put_opening(f, ++p->n_figures);
    figure_place(f, p->stream, &sized);
    f->values = open_memstream(&f->values_text, &f->values_size);
}

static void put_value_heading(figure *f, const char *name) {
    fputs("<th scope=\"col\">", f->stream);
    put_text(f->stream, name);
    fputs("</th>", f->stream);
}

void figure_end(figure *f) {
    fputs("\n</svg></div>\n<details><summary>Values<span class=\"sr\"> of ", f->stream);
    put_text(f->stream, f->spec.title);
    fputs("</span></summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Values of ", f->stream);
    put_text(f->stream, f->spec.title);
    fputs("\"><table><thead><tr>", f->stream);
    if (f->spec.n_series > 1) put_value_heading(f, "series");
    put_value_heading(f, f->spec.x.label ? f->spec.x.label : "column");
    put_value_heading(f, f->spec.y.label ? f->spec.y.label : "row");
    if (f->spec.extra) put_value_heading(f, f->spec.extra);
    fputs("</tr></thead><tbody>", f->stream);
    if (f->values && fclose(f->values) == 0) fwrite(f->values_text, 1, f->values_size, f->stream);
    free(f->values_text);
    fputs("</tbody></table>", f->stream);
    if (f->n_values > FIGURE_MOST_VALUES)
        fprintf(f->stream, "<p>The first %d of %zu values.</p>", FIGURE_MOST_VALUES, f->n_values);
    fputs("</div></details>\n</figure>\n", f->stream);
}

/* --- marks --------------------------------------------------------------------------------------------- */

/* The values of a mark: as its title, one per line, and as a line of the table. */
typedef struct mark_values {
    size_t series;
    const char *x, *y, *extra;
} mark_values;

static void put_title_line(figure *f, const char *name, const char *value) {
    if (!value || !*value) return;
    if (name) put_text(f->stream, name);
    fputs(name ? ": " : "", f->stream);
    put_text(f->stream, value);
    fputc('\n', f->stream);
}

static void put_value(figure *f, const char *value) {
    fputs("<td>", f->values);
    if (value) put_text(f->values, value);
}

static void put_values(figure *f, const mark_values *v) {
    const char *series = f->spec.n_series > 1 ? f->spec.series[v->series % f->spec.n_series] : NULL;
    fputs("<title>", f->stream);
    if (series) put_title_line(f, NULL, series);
    put_title_line(f, f->spec.x.label, v->x);
    put_title_line(f, f->spec.y.label, v->y);
    put_title_line(f, f->spec.extra, v->extra);
    fputs("</title>", f->stream);
    if (!f->values || f->n_values++ >= FIGURE_MOST_VALUES) return;
    fputs("\n<tr>", f->values);
    if (series) put_value(f, series);
    put_value(f, v->x);
    put_value(f, v->y);
    if (f->spec.extra) put_value(f, v->extra);
}

static const char *place_name(char text[40], const axis *a, double value) {
    if (a->kind != AXIS_BANDS) return value_text(text, a, value);
    double nearest = fmin(fmax(0.0, round(value)), (double)(a->n_bands ? a->n_bands - 1 : 0));
    return a->n_bands ? a->bands[(size_t)nearest] : "";
}

static void put_xy_values(figure *f, size_t series, double x, double y, const char *extra) {
    char a[40], b[40];
    put_values(f, &(mark_values){series, place_name(a, &f->spec.x, x), place_name(b, &f->spec.y, y), extra});
}

/* Circle, square, triangle, diamond, triangle: they tell series apart where colours do not. Five of them and eight
 * colours make forty series differ. */
static const char *const shapes[] = {"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "m-3.2 -3.2h6.4v6.4h-6.4z",
                                     "m0 -4.6l4.2 7.6h-8.4z", "m0 -4.6l4.4 4.6l-4.4 4.6l-4.4 -4.6z",
                                     "m0 4.6l4.2 -7.6h-8.4z"};

void put_shape(FILE *stream, size_t series, double x, double y) {
    fprintf(stream, "<path class=\"mark s%zu\" d=\"M%.1f %.1f%s\"", series % FIGURE_COLOURS, x, y,
            shapes[series % (sizeof shapes / sizeof shapes[0])]);
}

static void put_visible_mark(figure *f, size_t series, double x, double y, const char *extra) {
    fputc('\n', f->stream);
    put_shape(f->stream, series, place_x(f, x), place_y(f, y));
    fputc('>', f->stream);
    put_xy_values(f, series, x, y, extra);
    fputs("</path>", f->stream);
}

static void put_path(figure *f, const double *x, const double *y, size_t n, int has_steps) {
    int is_open = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            is_open = 0;
            continue;
        }
        if (is_open && has_steps) fprintf(f->stream, "H%.1f", place_x(f, x[i]));
        fprintf(f->stream, "%c%.1f %.1f", is_open ? 'L' : 'M', place_x(f, x[i]), place_y(f, y[i]));
        is_open = 1;
    }
}

void figure_line(figure *f, size_t series, const double *x, const double *y, size_t n, line_kind kind) {
    enum { MOST_MARKS = 60 };
    size_t colour = series % FIGURE_COLOURS, every = n > MOST_MARKS ? (n + MOST_MARKS - 1) / MOST_MARKS : 1;
    fprintf(f->stream, "\n<path class=\"line l%zu%s\" d=\"", colour, kind == LINE_DASHED ? " dashed" : "");
    put_path(f, x, y, n, kind == LINE_STEPS);
    fputs("\"/>", f->stream);
    for (size_t i = 0; i < n; i++) {
        if ((i % every && i + 1 < n) || !isfinite(x[i]) || !isfinite(y[i])) continue;
        if (kind == LINE_MARKED) {
            put_visible_mark(f, series, x[i], y[i], NULL);
            continue;
        }
        fprintf(f->stream, "\n<circle class=\"mark s%zu ghost\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\">", colour,
                place_x(f, x[i]), place_y(f, y[i]));
        put_xy_values(f, series, x[i], y[i], NULL);
        fputs("</circle>", f->stream);
    }
}

void figure_point(figure *f, size_t series, double x, double y, const char *extra) {
    if (isfinite(x) && isfinite(y)) put_visible_mark(f, series, x, y, extra);
}

void figure_error(figure *f, size_t series, double x, double y, double error) {
    if (!isfinite(x) || !isfinite(y) || !isfinite(error)) return;
    double at = place_x(f, x), low = place_y(f, y - error), high = place_y(f, y + error);
    fprintf(f->stream, "<path class=\"line l%zu\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\"/>",
            series % FIGURE_COLOURS, at, low, high, at - 3.0, low, at - 3.0, high);
}

static void put_error_across(figure *f, double y, double value, double error) {
    double low = place_x(f, value - error), high = place_x(f, value + error);
    fprintf(f->stream, "<path class=\"error\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\"/>", low, y, high, low,
            y - 3.0, high, y - 3.0);
}

static void put_error_along(figure *f, double x, double value, double error) {
    double low = place_y(f, value - error), high = place_y(f, value + error);
    fprintf(f->stream, "<path class=\"error\" d=\"M%.1f %.1fV%.1fM%.1f %.1fh6M%.1f %.1fh6\"/>", x, low, high, x - 3.0,
            low, x - 3.0, high);
}

void figure_bar(figure *f, size_t series, size_t band, double value, double error, const char *extra) {
    int across = f->spec.y.kind == AXIS_BANDS;
    const axis *along = across ? &f->spec.x : &f->spec.y, *bands = across ? &f->spec.y : &f->spec.x;
    char text[40];
    if (!isfinite(value)) return;
    double room = (across ? f->height : f->width) / (double)bands->n_bands,
           thickness = fmin(fmax(1.0, 0.7 * room), 60.0);
    double zero = fmin(along->high, fmax(along->low, 0.0));
    double a = across ? place_x(f, zero) : place_y(f, zero), b = across ? place_x(f, value) : place_y(f, value);
    double middle = across ? place_y(f, (double)band) : place_x(f, (double)band), edge = middle - thickness / 2.0;
    double length = fmax(fabs(b - a), 0.5);
    fprintf(f->stream, "\n<rect class=\"mark s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
            series % FIGURE_COLOURS, across ? fmin(a, b) : edge, across ? edge : fmin(a, b),
            across ? length : thickness, across ? thickness : length);
    const char *number = value_text(text, along, value);
    put_values(f, across ? &(mark_values){series, number, bands->bands[band], extra}
                         : &(mark_values){series, bands->bands[band], number, extra});
    fputs("</rect>", f->stream);
    if (!isfinite(error) || error == 0.0) return;
    if (across)
        put_error_across(f, middle, value, error);
    else
        put_error_along(f, middle, value, error);
}

void figure_block(figure *f, size_t series, double x0, double x1, double y, const char *extra) {
    char range[96], a[40], b[40];
    if (!isfinite(y)) return;
    double left = place_x(f, x0), right = place_x(f, x1), top = place_y(f, y),
           bottom = place_y(f, fmax(0.0, f->spec.y.low));
    (void)snprintf(range, sizeof range, "%s to %s", value_text(a, &f->spec.x, x0), value_text(b, &f->spec.x, x1));
    fprintf(f->stream, "\n<rect class=\"mark s%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
            series % FIGURE_COLOURS, left + 0.5, top, fmax(0.5, right - left - 1.0), fmax(0.0, bottom - top));
    put_values(f, &(mark_values){series, range, value_text(a, &f->spec.y, y), extra});
    fputs("</rect>", f->stream);
}

void figure_cell(figure *f, size_t column, size_t row, double strength, const char *text, const char *value) {
    double w = f->width / (double)f->spec.x.n_bands, h = f->height / (double)f->spec.y.n_bands;
    double x = f->left + w * (double)column, y = f->top + h * (double)row;
    if (!isfinite(strength)) return;
    fprintf(f->stream,
            "\n<rect class=\"mark s%d\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">",
            strength < 0.0, fmin(1.0, fabs(strength)) * 0.75, x, y, w, h);
    put_values(f, &(mark_values){0, f->spec.x.bands[column], f->spec.y.bands[row], value});
    fputs("</rect>", f->stream);
    if (!text || (double)(count_characters(text) * LETTER) > w || h < 12.0) return;
    fprintf(f->stream, "<text class=\"cell\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x + w / 2.0,
            y + h / 2.0 + 4.0);
    put_text(f->stream, text);
    fputs("</text>", f->stream);
}

void figure_strip(figure *f, size_t band, const unsigned char *flags, const char *value) {
    double w = f->width / (double)f->spec.x.n_bands, h = f->height / (double)f->spec.y.n_bands;
    double y = f->top + h * (double)band;
    size_t n = f->spec.x.n_bands;
    fprintf(f->stream,
            "\n<g class=\"mark\"><rect class=\"seen\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/><path "
            "class=\"s1\" d=\"",
            f->left, y + 0.5, f->width, h - 1.0);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && flags[end]) end++;
        if (end > i)
            fprintf(f->stream, "M%.1f %.1fh%.1fv%.1fh%.1fz", f->left + w * (double)i, y + 0.5, w * (double)(end - i),
                    h - 1.0, -w * (double)(end - i));
        i = end + 1;
    }
    fputs("\"/>", f->stream);
    put_values(f, &(mark_values){0, value, f->spec.y.bands[band], NULL});
    fputs("</g>", f->stream);
}

/* --- lines through the area ---------------------------------------------------------------------------- */

static void put_rule(figure *f, const char *path, double x, double y, const char *anchor, const char *label) {
    fprintf(f->stream, "\n<path class=\"rule\" d=\"%s\"/>", path);
    if (!label) return;
    fprintf(f->stream, "<text class=\"rule-label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_text(f->stream, label);
    fputs("</text>", f->stream);
}

void figure_rule_y(figure *f, double y, const char *label) {
    char path[80];
    if (!isfinite(y)) return;
    (void)snprintf(path, sizeof path, "M%.1f %.1fH%.1f", f->left, place_y(f, y), f->left + f->width);
    put_rule(f, path, f->left + f->width - 2.0, place_y(f, y) - 4.0, "end", label);
}

void figure_rule_below(figure *f, double y, const char *label) {
    char path[80];
    if (!isfinite(y)) return;
    (void)snprintf(path, sizeof path, "M%.1f %.1fH%.1f", f->left, place_y(f, y), f->left + f->width);
    put_rule(f, path, f->left + f->width - 2.0, place_y(f, y) + 12.0, "end", label);
}

void figure_rule_x(figure *f, double x, const char *label) {
    char path[80];
    if (!isfinite(x)) return;
    (void)snprintf(path, sizeof path, "M%.1f %.1fV%.1f", place_x(f, x), f->top, f->top + f->height);
    int is_right = place_x(f, x) > f->left + f->width / 2.0;
    put_rule(f, path, place_x(f, x) + (is_right ? -4.0 : 4.0), f->top + f->height - 5.0, is_right ? "end" : "start",
             label);
}

void figure_diagonal(figure *f) {
    char path[80];
    double low = fmax(f->spec.x.low, f->spec.y.low), high = fmin(f->spec.x.high, f->spec.y.high);
    (void)snprintf(path, sizeof path, "M%.1f %.1fL%.1f %.1f", place_x(f, low), place_y(f, low), place_x(f, high),
                   place_y(f, high));
    put_rule(f, path, 0.0, 0.0, "", NULL);
}
