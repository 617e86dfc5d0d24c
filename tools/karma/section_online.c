/* The regret of the online learner beside the bound of the theorem. */
#include <math.h>
#include <stdlib.h>

#include "report_page.h"

static int applies(const report *r) {
    return r->regret != NULL;
}

static void draw_losses(report *r, const karma_regret *regret, double *x, double *y, double *z) {
    static const char *const series[] = {"the learner", "the best in hindsight"};
    size_t n = regret->n_points;
    double low, high;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)regret->points[i].rounds;
        y[i] = regret->points[i].learner;
        z[i] = regret->points[i].best;
    }
    range_of(&low, &high, y, n);
    figure f;
    figure_begin(
        &f, &r->page,
        &(figure_spec){.title = "Cumulative loss",
                       .caption = "Hinge losses summed over the rounds. The distance of the lines is the regret.",
                       .x = {.label = "rounds", .low = x[0], .high = x[n - 1]},
                       .y = {.label = "loss", .high = high},
                       .series = series,
                       .n_series = 2});
    figure_line(&f, 0, x, y, n, LINE_MARKED);
    figure_line(&f, 1, x, z, n, LINE_MARKED);
    figure_end(&f);
}

static void draw_regret(report *r, const karma_regret *regret, double *x, double *y, double *z) {
    static const char *const series[] = {"regret per round", "bound per round"};
    size_t n = regret->n_points;
    double low = 1.0, high = 1.0;
    for (size_t i = 0; i < n; i++) {
        double rounds = (double)regret->points[i].rounds;
        x[i] = rounds;
        y[i] = regret->points[i].regret > 0.0 ? regret->points[i].regret / rounds : NAN;
        z[i] = exp(fmin(600.0, regret->points[i].log_bound)) / rounds;
        if (isfinite(y[i])) low = fmin(low, y[i]);
        high = fmax(high, z[i]);
    }
    figure f;
    figure_begin(&f, &r->page,
                 &(figure_spec){
                     .title = "Regret and its bound",
                     .caption =
                         "Both axes are logarithmic. The theorem allows anything below the bound; above 1 per round it "
                         "promises nothing. A negative regret is not drawn.",
                     .x = {.label = "rounds", .kind = AXIS_LOG, .low = 1.0, .high = x[n - 1]},
                     .y = {.label = "per round", .kind = AXIS_LOG, .low = low, .high = high * 1.2},
                     .series = series,
                     .n_series = 2});
    figure_line(&f, 0, x, y, n, LINE_MARKED);
    figure_line(&f, 1, x, z, n, LINE_MARKED);
    figure_end(&f);
}

static karma_status write_section(report *r, karma_error *err) {
    const karma_regret *regret = r->regret;
    size_t n = regret->n_points, above = 0;
    double *x = malloc((3 * n + 1) * sizeof *x);
    if (!x) return out_of_memory(err);
    for (size_t i = 0; i < n; i++) above += !(regret->points[i].regret <= exp(regret->points[i].log_bound));
    page_paragraph(
        &r->page,
        "Algorithm 1 on a sequence of rows with missing values, beside the best predictor that knows the subspace. %zu "
        "rounds, \xCE\xB3 = %zu, %.1f%% of the cells missing. The regret is above the bound at %zu of %zu "
        "checkpoints%s.",
        n ? regret->points[n - 1].rounds : 0, regret->gamma, 100.0 * regret->missing, above, n,
        above ? ", which contradicts the theorem" : "");
    if (n > 1) {
        draw_losses(r, regret, x, x + n, x + 2 * n);
        draw_regret(r, regret, x, x + n, x + 2 * n);
    }
    free(x);
    return KARMA_OK;
}

const report_section section_online = {"online", "Regret", applies, write_section};
