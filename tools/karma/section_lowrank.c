/* Whether the rows lie near a subspace of few dimensions, which the theory assumes. */
#include <math.h>
#include <stdlib.h>

#include "report_page.h"

enum { MOST_ROWS = 2000, N_BINS = 20, MOST_DIRECTIONS = 30, MOST_TRIALS = 40 };

static int applies(const report *r) {
    return r->table != NULL && karma_table_n_attributes(r->table) > 1 && karma_table_n_rows(r->table) > 1 &&
           (!r->model || !karma_model_is_precomputed(r->model));
}

static int by_rank(const void *a, const void *b) {
    size_t x = ((const karma_rank_trial *)a)->rank, y = ((const karma_rank_trial *)b)->rank;
    return (x > y) - (x < y);
}

static void draw_trials(report *r, karma_lowrank *l) {
    double x[MOST_TRIALS], y[MOST_TRIALS];
    size_t n = l->n_trials < MOST_TRIALS ? l->n_trials : MOST_TRIALS;
    if (n < 2) return;
    qsort(l->trials, l->n_trials, sizeof *l->trials, by_rank);
    for (size_t i = 0; i < n; i++) x[i] = (double)l->trials[i].rank, y[i] = l->trials[i].score;
    figure_spec spec = {.title = "How many dimensions",
                        .caption =
                            "How well hidden cells are predicted from the others, by the rank of the subspace. The "
                            "smallest rank that is as good as the best is taken.",
                        .x = {.label = "rank", .is_whole = 1},
                        .y = {.label = "mean log density of hidden cells"}};
    range_of(&spec.x.low, &spec.x.high, x, n);
    range_of(&spec.y.low, &spec.y.high, y, n);
    figure f;
    figure_begin(&f, &r->page, &spec);
    figure_rule_x(&f, (double)l->rank, "chosen");
    figure_line(&f, 0, x, y, n, LINE_MARKED);
    figure_end(&f);
}

static void draw_spectrum(report *r, const karma_lowrank *l) {
    char texts[MOST_DIRECTIONS][24];
    const char *names[MOST_DIRECTIONS];
    size_t n = l->n_directions < MOST_DIRECTIONS ? l->n_directions : MOST_DIRECTIONS;
    if (n == 0) return;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%zu", i + 1);
        names[i] = texts[i];
    }
    figure f;
    figure_begin(&f, &r->page,
                 &(figure_spec){.title = "Spectrum",
                                .caption =
                                    "Spread of the rows along the directions of the subspace. Directions near the "
                                    "noise carry little.",
                                .x = {.label = "direction", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                                .y = {.label = "standard deviation", .high = fmax(l->spectrum[0], l->noise)}});
    for (size_t i = 0; i < n; i++) figure_bar(&f, 0, i, l->spectrum[i], NAN, NULL);
    figure_rule_y(&f, l->noise, "noise");
    figure_end(&f);
}

static void draw_lambda(report *r, const karma_lowrank *l) {
    double count[N_BINS] = {0}, most = 0.0;
    for (size_t i = 0; i < l->n_rows; i++) {
        size_t bin = (size_t)fmin(N_BINS - 1.0, fmax(0.0, l->lambda[i] * N_BINS));
        most = fmax(most, ++count[bin]);
    }
    figure f;
    figure_begin(&f, &r->page,
                 &(figure_spec){.title = "\xCE\xBB of the rows",
                                .caption =
                                    "How much of the subspace the observed cells of a row show: near 1 much, near 0 "
                                    "little. Rows with a small \xCE\xBB need a large \xCE\xB3.",
                                .x = {.label = "\xCE\xBB", .low = 0.0, .high = 1.0},
                                .y = {.label = "rows", .high = most, .is_whole = 1}});
    for (size_t b = 0; b < N_BINS; b++)
        if (count[b] > 0.0) figure_block(&f, 2, (double)b / N_BINS, (double)(b + 1) / N_BINS, count[b], NULL);
    figure_end(&f);
}

static const char *verdict_words(karma_lowrank_verdict verdict) {
    switch (verdict) {
    case KARMA_LOWRANK_HOLDS:
        return "The assumption holds: missing cells are predicted well from the observed cells of their row.";
    case KARMA_LOWRANK_PARTLY:
        return "The assumption holds in part: the observed cells predict missing ones better than the column's mean "
               "does, but not well.";
    case KARMA_LOWRANK_NO:
        return "The assumption does not hold: a subspace predicts missing cells hardly better than the column's mean.";
    default:
        return "It cannot be known: most missing cells are in columns that are never observed together with those that "
               "their rows have.";
    }
}

static void write_lowrank(report *r, karma_lowrank *l) {
    if (l->rank == 0) {
        page_paragraph(&r->page,
                       "%s No subspace was found: the mean of its column predicts a hidden cell as well as any "
                       "subspace of the observed ones. The model does not need the assumption, but what the "
                       "theory promises does.",
                       verdict_words(l->verdict));
        draw_trials(r, l);
        return;
    }
    page_paragraph(&r->page, "%s %.0f%% of the variance of hidden cells is explained by %zu dimension%s.",
                   verdict_words(l->verdict), fmax(0.0, 100.0 * l->explained), l->rank, l->rank == 1 ? "" : "s");
    page_paragraph(&r->page,
                   "%zu of %zu rows observe enough to determine their place in the subspace; %zu observe nothing of "
                   "it. The model does not need the assumption, but the guarantees of the theory do.",
                   l->n_reconstructible, l->n_rows, l->n_blind);
    draw_trials(r, l);
    draw_spectrum(r, l);
    draw_lambda(r, l);
}

static karma_status write_section(report *r, karma_error *err) {
    karma_table *sample;
    karma_lowrank *l = NULL;
    karma_fit_options options;
    karma_status st = sample_rows(&sample, NULL, r->table, MOST_ROWS, err);
    if (st != KARMA_OK) return st;
    karma_options_init(karma_fit_option_table(), &options);
    options.threads = r->t->fit.threads;
    st = karma_lowrank_new(&l, sample ? sample : r->table, &options, &r->t->hooks, err);
    if (st == KARMA_OK && sample) page_paragraph(&r->page, "Measured on %d of the rows, drawn at random.", MOST_ROWS);
    if (st == KARMA_OK) write_lowrank(r, l);
    karma_lowrank_free(l);
    karma_options_clear(karma_fit_option_table(), &options);
    karma_table_free(sample);
    return st;
}

const report_section section_lowrank = {"lowrank", "Does the low-rank assumption hold?", applies, write_section};
