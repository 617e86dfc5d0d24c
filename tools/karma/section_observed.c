/* Quality by the number of observed columns: does the model cope with rows that have few of them? */
#include <math.h>
#include <stdlib.h>

#include "report_page.h"

enum { MOST_BINS = 8, LEAST_ROWS = 10 };

static int applies(const report *r) {
    return r->n_outcomes > 0 && r->overlaps;
}

static int by_value(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Bounds of bins with about as many rows each; equal counts are in one bin. bounds[i] is the least count of bin i. */
static size_t choose_bins(size_t bounds[MOST_BINS], size_t *counts, size_t n) {
    size_t wanted = n / LEAST_ROWS < MOST_BINS ? n / LEAST_ROWS : MOST_BINS, n_bins = 0;
    qsort(counts, n, sizeof *counts, by_value);
    for (size_t b = 0; b < (wanted ? wanted : 1); b++) {
        size_t bound = counts[b * n / (wanted ? wanted : 1)];
        if (n_bins == 0 || bound > bounds[n_bins - 1]) bounds[n_bins++] = bound;
    }
    return n_bins;
}

typedef struct bin {
    size_t n;
    double sum, squares; /* of the losses */
    size_t low, high;    /* observed columns */
} bin;

static double mean_of(const bin *b, int is_class) {
    double mean = b->sum / (double)b->n;
    return is_class ? 1.0 - mean : mean;
}

static double error_of(const bin *b) {
    double n = (double)b->n, mean = b->sum / n;
    return n > 1.0 ? sqrt(fmax(0.0, b->squares / n - mean * mean) / (n - 1.0)) : NAN;
}

static void draw_bins(report *r, const outcome *o, const bin *bins, size_t n) {
    char texts[MOST_BINS][48], rows[40];
    const char *names[MOST_BINS];
    int is_class = o->n_classes > 0;
    double most = 0.0;
    for (size_t b = 0; b < n; b++) {
        if (bins[b].low == bins[b].high)
            (void)snprintf(texts[b], sizeof texts[b], "%zu", bins[b].low);
        else
            (void)snprintf(texts[b], sizeof texts[b], "%zu\xE2\x80\x93%zu", bins[b].low, bins[b].high);
        names[b] = texts[b];
        double error = error_of(&bins[b]);
        most = fmax(most, mean_of(&bins[b], 0) + (isfinite(error) ? error : 0.0));
    }
    figure f;
    figure_begin(&f, &r->page,
                 &(figure_spec){.title = is_class ? "Accuracy by number of observed columns"
                                                  : "Error by number of observed columns",
                                .caption = "Each bar is a group of rows; lines are standard errors.",
                                .x = {.label = "observed columns", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                                .y = {.label = is_class ? "accuracy" : "mean absolute error",
                                      .high = is_class ? 1.0 : most,
                                      .is_share = is_class},
                                .extra = "rows"});
    for (size_t b = 0; b < n; b++) {
        (void)snprintf(rows, sizeof rows, "%zu", bins[b].n);
        figure_bar(&f, 0, b, mean_of(&bins[b], is_class), error_of(&bins[b]), rows);
    }
    figure_end(&f);
}

/* Rows with the fewest observed columns compared with those with the most, in a sentence. */
static void compare_ends(report *r, const outcome *o, const bin *bins, size_t n) {
    if (n < 2) {
        page_paragraph(&r->page, "All rows have about the same number of observed columns.");
        return;
    }
    int is_class = o->n_classes > 0;
    double low = mean_of(&bins[0], is_class), high = mean_of(&bins[n - 1], is_class);
    double error = sqrt(pow(error_of(&bins[0]), 2) + pow(error_of(&bins[n - 1]), 2));
    int is_worse = is_class ? high - low > 2.0 * error : low - high > 2.0 * error;
    page_paragraph(&r->page, "%s",
                   is_worse ? "Rows with few observed columns are predicted clearly worse: look at how many a row has "
                              "before relying on its prediction."
                            : "Rows with few observed columns are not predicted clearly worse than those with many.");
}

static karma_status write_outcome(report *r, const outcome *o, karma_error *err) {
    size_t bounds[MOST_BINS], n = o->n_rows, *counts = malloc((n + 1) * sizeof *counts);
    bin bins[MOST_BINS] = {{0}};
    if (!counts) return out_of_memory(err);
    for (size_t i = 0; i < n; i++) counts[i] = r->overlaps[o->row[i]].observed;
    size_t n_bins = choose_bins(bounds, counts, n);
    for (size_t i = 0; i < n; i++) {
        size_t seen = r->overlaps[o->row[i]].observed, b = n_bins - 1;
        double loss = outcome_loss(o, i);
        while (b > 0 && seen < bounds[b]) b--;
        if (bins[b].n == 0 || seen < bins[b].low) bins[b].low = seen;
        if (seen > bins[b].high) bins[b].high = seen;
        bins[b].n++;
        bins[b].sum += loss;
        bins[b].squares += loss * loss;
    }
    free(counts);
    compare_ends(r, o, bins, n_bins);
    draw_bins(r, o, bins, n_bins);
    return KARMA_OK;
}

static karma_status write_section(report *r, karma_error *err) {
    for (size_t i = 0; i < r->n_outcomes; i++) {
        if (r->n_outcomes > 1) page_heading(&r->page, "%s", r->outcomes[i].target);
        karma_status st = write_outcome(r, &r->outcomes[i], err);
        if (st != KARMA_OK) return st;
    }
    return KARMA_OK;
}

const report_section section_observed = {"observed", "Quality by number of observed columns", applies, write_section};
