/* Cross-validation: the goal fold by fold, and every metric. */
#include <math.h>
#include <stdlib.h>

#include "report_page.h"

enum { MOST_FOLDS = 60 };

static int applies(const report *r) {
    return r->cv != NULL;
}

static void draw_folds(report *r, const karma_cv_target *target, size_t n) {
    char texts[MOST_FOLDS][24];
    const char *names[MOST_FOLDS], *series[] = {"the model", "a constant prediction"};
    double ends[2 * MOST_FOLDS + 1];
    if (n > MOST_FOLDS) n = MOST_FOLDS;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%zu", i + 1);
        names[i] = texts[i];
        ends[2 * i] = target->values[i];
        ends[2 * i + 1] = target->majority[i];
    }
    ends[2 * n] = 0.0;
    figure_spec spec = {.title = "Fold by fold",
                        .caption = "Each mark is one fold that was left out; the line is the mean.",
                        .x = {.label = "fold", .kind = AXIS_BANDS, .bands = names, .n_bands = n},
                        .y = {.label = karma_goal_name(target->goal)},
                        .series = series,
                        .n_series = 2};
    padded_range_of(&spec.y.low, &spec.y.high, ends, 2 * n + 1);
    figure f;
    figure_begin(&f, &r->page, &spec);
    figure_rule_y(&f, target->mean, NULL); /* the caption names it: a label would meet the marks */
    for (size_t i = 0; i < n; i++) {
        figure_point(&f, 1, (double)i, target->majority[i], NULL);
        figure_point(&f, 0, (double)i, target->values[i], NULL);
    }
    figure_end(&f);
}

static void write_metrics(report *r, const karma_cv_target *target) {
    static const table_column columns[] = {{"metric", 0}, {"mean", 1}, {"standard error", 1}};
    page_table_begin(&r->page, "All metrics", columns, 3);
    for (int goal = KARMA_GOAL_AUTO + 1; goal < KARMA_N_GOALS; goal++) {
        if (isnan(target->mean_of[goal])) continue;
        page_table_line(&r->page);
        page_cell(&r->page, "%s", karma_goal_name((karma_goal)goal));
        page_number(&r->page, target->mean_of[goal], "%.4f", target->mean_of[goal]);
        page_number(&r->page, target->error_of[goal], isfinite(target->error_of[goal]) ? "%.4f" : "",
                    target->error_of[goal]);
    }
    page_table_end(&r->page);
}

static karma_status write_section(report *r, karma_error *err) {
    const karma_cv *cv = r->cv;
    (void)err;
    page_paragraph(
        &r->page,
        "%zu rows, each left out %s, in %zu folds. Every model was chosen without the rows that it is judged "
        "on, so these numbers can be expected on new rows like these.",
        cv->n_rows, times_text((char[TIMES_SIZE]){0}, cv->n_repeats), cv->n_folds);
    if (cv->n_done < cv->n_folds * cv->n_repeats)
        page_warning(&r->page, "It was interrupted after %zu folds.", cv->n_done);
    for (size_t t = 0; t < cv->n_targets; t++) {
        const karma_cv_target *target = &cv->targets[t];
        char error[40] = "";
        if (isfinite(target->error)) (void)snprintf(error, sizeof error, " \xC2\xB1 %.4f", target->error);
        page_heading(&r->page, "%s", karma_table_target_name(r->table, t));
        if (isnan(target->mean))
            page_paragraph(&r->page, "%s cannot be computed, because the folds are too small.",
                           karma_goal_name(target->goal));
        else {
            page_paragraph(&r->page, "%s %.4f%s%s.", karma_goal_name(target->goal), target->mean, error,
                           karma_goal_is_loss(target->goal) ? ", less is better" : "");
            draw_folds(r, target, cv->n_done);
        }
        write_metrics(r, target);
    }
    return KARMA_OK;
}

const report_section section_cv = {"cv", "Cross-validation", applies, write_section};
