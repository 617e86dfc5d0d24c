/* At a glance: the model, its quality, and warnings. */
#include <math.h>

#include "report_page.h"

static int applies(const report *r) {
    return r->model != NULL;
}

static void describe_model(report *r) {
    const karma_model *model = r->model;
    const karma_fit_info *info = karma_model_info(model);
    for (size_t t = 0; t < karma_model_n_targets(model); t++) {
        size_t K = karma_model_n_classes(model, t);
        char what[64] = "a number";
        if (K) (void)snprintf(what, sizeof what, "one of %zu classes", K);
        page_paragraph(&r->page, "The model predicts %s, %s, from %zu columns. It was learned from %zu rows.",
                       karma_model_target_name(model, t), what, karma_model_n_attributes(model), info->n_rows);
    }
}

/* "0.7800 +- 0.0084" */
static const char *with_error(char text[64], double score, double error) {
    if (isfinite(error))
        (void)snprintf(text, 64, "%.3f \xC2\xB1 %.3f", score, error);
    else
        (void)snprintf(text, 64, "%.3f", score);
    return text;
}

static double mean_loss(const outcome *o) {
    double sum = 0.0;
    for (size_t i = 0; i < o->n_rows; i++) sum += outcome_loss(o, i) / (double)o->n_rows;
    return sum;
}

/* The most common class, or the mean, of the training rows for every row. */
static double constant_loss(const report *r, const outcome *o, size_t target) {
    double sum = 0.0, mean = karma_model_target_mean(r->model, target);
    size_t best = 0;
    for (size_t k = 1; k < o->n_classes; k++)
        if (karma_model_class_count(r->model, target, k) > karma_model_class_count(r->model, target, best)) best = k;
    for (size_t i = 0; i < o->n_rows; i++)
        sum += o->n_classes ? (double)(o->truth[i] != (double)best) : fabs(o->truth[i] - mean);
    return sum / (double)o->n_rows;
}

static void show_outcome(report *r, const outcome *o, size_t target) {
    char text[64], number[40];
    double loss = mean_loss(o), constant = constant_loss(r, o, target);
    const char *rows = r->is_left_out   ? "rows that were left out"
                       : r->is_training ? "the training rows: optimistic"
                                        : "these rows";
    if (o->n_classes) {
        double share = 1.0 - loss, error = sqrt(share * loss / (double)o->n_rows);
        (void)snprintf(text, sizeof text, "%.1f%% \xC2\xB1 %.1f", 100.0 * share, 100.0 * error);
        page_card(&r->page, text, "accuracy for %s on %s (%zu)", o->target, rows, o->n_rows);
        (void)snprintf(text, sizeof text, "%.1f%%", 100.0 * (1.0 - constant));
        page_card(&r->page, text, "always predicting the most common class");
    } else {
        page_card(&r->page, short_number(number, loss), "mean absolute error for %s on %s (%zu)", o->target, rows,
                  o->n_rows);
        page_card(&r->page, short_number(number, constant), "always predicting the mean of the training rows");
    }
}

static void show_search(report *r, const karma_search_info *info) {
    char text[64];
    page_card(&r->page, with_error(text, info->score, info->error), "cross-validated %s when it was trained%s",
              karma_goal_name(info->goal), karma_goal_is_loss(info->goal) ? " (less is better)" : "");
    if (info->has_zero_imputation)
        page_card(&r->page, with_error(text, info->zero_score, info->zero_error),
                  "the same for 0-imputation: a linear model, missing values as 0");
    if (isfinite(info->constant_score))
        page_card(&r->page, with_error(text, info->constant_score, NAN), "the same for a constant prediction");
}

static void show_table(report *r) {
    char text[64];
    size_t n = karma_table_n_rows(r->table), d = karma_table_n_attributes(r->table);
    double missing = n && d ? 1.0 - (double)karma_table_n_observed(r->table) / ((double)n * (double)d) : 0.0;
    (void)snprintf(text, sizeof text, "%zu", n);
    page_card(&r->page, text, "rows in %s", path_text(r->data));
    (void)snprintf(text, sizeof text, "%.1f%%", 100.0 * missing);
    page_card(&r->page, text, "of their cells are missing");
}

/* Rows about which the model knows too little to be trusted. */
static void warn_of_thin_rows(report *r) {
    size_t n = karma_table_n_rows(r->rows), thin = 0, nothing = 0;
    for (size_t i = 0; i < n; i++) {
        thin += r->overlaps[i].level >= KARMA_OVERLAP_THIN;
        nothing += r->overlaps[i].level == KARMA_OVERLAP_NOTHING;
    }
    if (nothing)
        page_warning(&r->page,
                     "%zu of %zu rows have no value in the model's columns: their predictions are a constant.", nothing,
                     n);
    if (thin > nothing)
        page_warning(&r->page,
                     "%zu of %zu rows have a combination of observed columns that few training rows share: their "
                     "predictions are based on little data. karma predict --abstain 1 leaves them empty.",
                     thin - nothing, n);
}

/* Scores of fewer rows get a warning. */
enum { FEW_ROWS = 20 };

static void warn_of_outcome(report *r, const outcome *o, size_t target) {
    double loss = mean_loss(o), constant = constant_loss(r, o, target);
    if (o->n_rows < FEW_ROWS)
        page_warning(&r->page,
                     "Only %zu row%s of this page ha%s a label of %s: scores of so few rows are mostly chance.",
                     o->n_rows, o->n_rows == 1 ? "" : "s", o->n_rows == 1 ? "s" : "ve", o->target);
    if (o->n_unknown)
        page_warning(&r->page, "%zu rows have a label of %s that no training row had; they are left out.", o->n_unknown,
                     o->target);
    if (!(loss < constant))
        page_warning(&r->page, "For %s the model is not better than a constant prediction on these rows.", o->target);
}

static void write_warnings(report *r) {
    const karma_fit_info *info = karma_model_info(r->model);
    const karma_search_info *search = karma_model_search_info(r->model);
    if (r->is_training && r->n_outcomes && !r->is_left_out)
        page_warning(&r->page,
                     "These are the rows that the model was learned from, or look like them: as many, with the same "
                     "labels. Scores on them are better than scores on new rows will be. Make this report with rows "
                     "that were held out, or use karma cv.");
    if (info->solver != KARMA_SOLVER_ONLINE && info->stop != KARMA_STOP_CONVERGED && info->gap > 0.02)
        page_warning(&r->page, "Training stopped before it converged; a model with more time may be better.");
    if (search && !karma_goal_is_loss(search->goal) && isfinite(search->error) &&
        !(search->score - search->constant_score > 2.0 * search->error))
        page_warning(&r->page, "In cross-validation the model was not clearly better than a constant prediction.");
    for (size_t i = 0; i < r->n_outcomes; i++) warn_of_outcome(r, &r->outcomes[i], i);
    if (r->overlaps) warn_of_thin_rows(r);
}

static karma_status write_section(report *r, karma_error *err) {
    (void)err;
    describe_model(r);
    page_cards_begin(&r->page);
    for (size_t i = 0; i < r->n_outcomes; i++) show_outcome(r, &r->outcomes[i], i);
    if (karma_model_search_info(r->model)) show_search(r, karma_model_search_info(r->model));
    if (r->table) show_table(r);
    page_cards_end(&r->page);
    write_warnings(r);
    if (r->table && !r->scores)
        page_paragraph(
            &r->page,
            "The score is cross-validated, but the same folds chose the model, so it is somewhat optimistic: karma cv "
            "with the same options repeats the choice inside every fold. With rows that were held out, karma report "
            "MODEL DATA shows quality on new rows, the columns that matter and the least certain rows.");
    if (!r->table && !r->stream)
        page_paragraph(&r->page,
                       "This page shows what the model file alone knows. With rows that the model has not seen, karma "
                       "report MODEL DATA also shows its quality, the columns that matter and the least certain rows.");
    return KARMA_OK;
}

const report_section section_summary = {"summary", "At a glance", applies, write_section};
