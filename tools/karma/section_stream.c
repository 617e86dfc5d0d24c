/* Learning from a stream: the rate of errors from the first row to the last. */
#include <math.h>

#include "report_page.h"

static int applies(const report *r) {
    return r->stream != NULL;
}

/* Losses, or shares of errors where classes are predicted: of all rows so far, and of the rows since the last point. */
static void draw_curve(report *r, const stream_curve *c) {
    const char *series[] = {"all rows so far", "rows since the last mark"};
    double high = 0.0;
    for (size_t i = 0; i < c->n; i++)
        if (isfinite(c->recent[i])) high = fmax(high, fmax(c->recent[i], c->so_far[i]));
    figure f;
    figure_begin(&f, &r->page,
                 &(figure_spec){.title = "Learning curve",
                                .caption = "Every row was predicted before it was learned. The axis of the rows is "
                                           "logarithmic; the line across is a constant prediction.",
                                .x = {.label = "rows", .kind = AXIS_LOG, .low = c->rows[0], .high = c->rows[c->n - 1]},
                                .y = {.label = c->classifies ? "errors" : "mean loss",
                                      .high = fmax(high, isfinite(c->constant) ? c->constant : 0.0) * 1.05,
                                      .is_share = c->classifies},
                                .series = series,
                                .n_series = 2,
                                .width = 560.0});
    if (isfinite(c->constant)) figure_rule_y(&f, c->constant, NULL);
    figure_line(&f, 0, c->rows, c->so_far, c->n, LINE_MARKED);
    figure_line(&f, 1, c->rows, c->recent, c->n, LINE_MARKED);
    figure_end(&f);
}

static karma_status write_section(report *r, karma_error *err) {
    const stream_curve *c = r->stream;
    char text[64];
    (void)err;
    if (c->n == 0) {
        page_paragraph(&r->page, "No row of the stream had a label.");
        return KARMA_OK;
    }
    page_cards_begin(&r->page);
    (void)snprintf(text, sizeof text, "%.0f", c->rows[c->n - 1]);
    page_card(&r->page, text, "rows with a label, each predicted before it was learned");
    (void)snprintf(text, sizeof text, c->classifies ? "%.1f%%" : "%.4g",
                   c->classifies ? 100.0 * c->so_far[c->n - 1] : c->so_far[c->n - 1]);
    page_card(&r->page, text,
              c->classifies ? "of them were predicted wrongly" : "mean loss, target in standard deviations");
    if (isfinite(c->constant)) {
        (void)snprintf(text, sizeof text, "%.1f%%", 100.0 * c->constant);
        page_card(&r->page, text, "errors of always predicting the most common class");
    }
    page_cards_end(&r->page);
    if (c->n > 1) draw_curve(r, c);
    return KARMA_OK;
}

const report_section section_stream = {"stream", "Learning from the stream", applies, write_section};
