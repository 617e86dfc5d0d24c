/* Quality of a regression: predictions against the truth, residuals, coverage and width of intervals. */
#include <math.h>
#include <stdlib.h>

#include "quality.h"

enum { MOST_POINTS = 1000, N_BINS = 24 };

/* Rows are drawn at regular intervals. */
static size_t thinned(const outcome *o) {
    return (o->n_rows + MOST_POINTS - 1) / MOST_POINTS;
}

static void draw_against_truth(report *r, const outcome *o, const char *caption) {
    figure_spec spec = {.title = "Predicted and true",
                        .caption = caption,
                        .x = {.label = "true"},
                        .y = {.label = "predicted"},
                        .extra = "row"};
    double low, high;
    padded_range_of(&low, &high, o->truth, o->n_rows);
    padded_range_of(&spec.y.low, &spec.y.high, o->answer, o->n_rows);
    spec.x.low = spec.y.low = fmin(low, spec.y.low);
    spec.x.high = spec.y.high = fmax(high, spec.y.high);
    figure f;
    figure_begin(&f, &r->page, &spec);
    figure_diagonal(&f);
    for (size_t i = 0; i < o->n_rows; i += thinned(o)) {
        char name[160];
        figure_point(&f, 0, o->truth[i], o->answer[i], row_name(name, r, o->row[i]));
    }
    figure_end(&f);
}

static void draw_residuals(report *r, const outcome *o, const double *residuals, const char *caption) {
    figure_spec spec = {.title = "Residuals by prediction",
                        .caption = caption,
                        .x = {.label = "predicted"},
                        .y = {.label = "true minus predicted"},
                        .extra = "row"};
    padded_range_of(&spec.x.low, &spec.x.high, o->answer, o->n_rows);
    padded_range_of(&spec.y.low, &spec.y.high, residuals, o->n_rows);
    figure f;
    figure_begin(&f, &r->page, &spec);
    figure_rule_y(&f, 0.0, NULL);
    for (size_t i = 0; i < o->n_rows; i += thinned(o)) {
        char name[160];
        figure_point(&f, 0, o->answer[i], residuals[i], row_name(name, r, o->row[i]));
    }
    figure_end(&f);
}

static void draw_histogram(report *r, const double *values, size_t n, const char *title, const char *caption,
                           const char *label) {
    double count[N_BINS] = {0}, most = 0.0;
    figure_spec spec = {
        .title = title, .caption = caption, .x = {.label = label}, .y = {.label = "rows", .is_whole = 1}};
    range_of(&spec.x.low, &spec.x.high, values, n);
    double width = (spec.x.high - spec.x.low) / N_BINS;
    for (size_t i = 0; i < n; i++) {
        size_t b = (size_t)fmin(N_BINS - 1.0, fmax(0.0, (values[i] - spec.x.low) / width));
        most = fmax(most, ++count[b]);
    }
    spec.y.high = most;
    figure f;
    figure_begin(&f, &r->page, &spec);
    for (size_t b = 0; b < N_BINS; b++)
        if (count[b] > 0.0)
            figure_block(&f, 0, spec.x.low + width * (double)b, spec.x.low + width * (double)(b + 1), count[b], NULL);
    figure_end(&f);
}

static void write_interval(report *r, const outcome *o, double *widths) {
    double inside = 0.0, mean = 0.0, n = (double)o->n_rows;
    char text[40];
    for (size_t i = 0; i < o->n_rows; i++) {
        widths[i] = o->high[i] - o->low[i];
        mean += widths[i] / n;
        inside += o->truth[i] >= o->low[i] && o->truth[i] <= o->high[i];
    }
    double share = inside / n, error = sqrt(share * (1.0 - share) / n);
    page_paragraph(&r->page,
                   "The interval between the outer quantiles should cover %.0f%% of the rows; it covers %.1f%% "
                   "\xC2\xB1 %.1f, and is %s wide on average.%s",
                   100.0 * o->nominal, 100.0 * share, 100.0 * error, short_number(text, mean),
                   share < o->nominal - 2.0 * error ? " That is too few: the intervals are too narrow." : "");
    draw_histogram(r, widths, o->n_rows, "Width of the intervals",
                   "Rows about which the model is uncertain have wide intervals.", "width");
}

static void write_scores(report *r, const outcome *o, const double *residuals) {
    double n = (double)o->n_rows, mean = 0.0, mae = 0.0, squares = 0.0, total = 0.0, bias = 0.0;
    char a[40], b[40], c[40];
    for (size_t i = 0; i < o->n_rows; i++) mean += o->truth[i] / n;
    for (size_t i = 0; i < o->n_rows; i++) {
        mae += fabs(residuals[i]) / n;
        bias += residuals[i] / n;
        squares += residuals[i] * residuals[i] / n;
        total += (o->truth[i] - mean) * (o->truth[i] - mean) / n;
    }
    page_paragraph(&r->page,
                   "R\xC2\xB2 %.3f; mean absolute error %s; root mean square error %s; the truth is on average %s "
                   "%s the prediction (%zu rows).",
                   1.0 - squares / total, short_number(a, mae), short_number(b, sqrt(squares)),
                   short_number(c, fabs(bias)), bias < 0.0 ? "below" : "above", o->n_rows);
}

karma_status write_number_quality(report *r, const outcome *o, karma_error *err) {
    double *residuals = malloc((o->n_rows + 1) * sizeof *residuals);
    char caption[120];
    if (!residuals) return out_of_memory(err);
    for (size_t i = 0; i < o->n_rows; i++) residuals[i] = o->truth[i] - o->answer[i];
    write_scores(r, o, residuals);
    (void)snprintf(caption, sizeof caption, "On the dashed line both agree.%s",
                   thinned(o) > 1 ? " Some of the rows, evenly spread over the file." : "");
    draw_against_truth(r, o, caption);
    draw_residuals(r, o, residuals, "A pattern here is something that the model missed.");
    draw_histogram(r, residuals, o->n_rows, "Residuals", "How far the truth is from the prediction.",
                   "true minus predicted");
    if (o->low) write_interval(r, o, residuals);
    free(residuals);
    return KARMA_OK;
}
