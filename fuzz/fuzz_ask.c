#include "fuzz_ask.h"

#include <math.h>
#include <stdlib.h>

/* Whether there is an answer; a refusal has a message. */
static int is_answered(karma_status st, const karma_error *err) {
    FUZZ_CHECK(st == KARMA_OK || err->message[0] != '\0', "an error without a message");
    return st == KARMA_OK;
}

static void check_finite(const double *values, size_t n, const char *what) {
    for (size_t k = 0; k < n; k++) FUZZ_CHECK(isfinite(values[k]), what);
}

static void ask_for_parts(const karma_model *model, const karma_table *table) {
    karma_explain_options options;
    karma_explanations parts = {0};
    karma_importances importances = {0};
    karma_error err = {0};
    karma_options_init(karma_explain_option_table(), &options);
    options.threads = 1;
    options.samples = 4;
    options.repeats = 2;
    if (is_answered(karma_explain(&parts, model, table, &options, NULL, &err), &err)) {
        check_finite(parts.contribution, parts.start[parts.n_rows] * parts.n_outputs, "a contribution is not finite");
        check_finite(parts.bias, parts.n_rows * parts.n_outputs, "a bias is not finite");
    }
    karma_explanations_clear(&parts);
    err.message[0] = '\0';
    (void)is_answered(karma_measure_importance(&importances, model, table, &options, NULL, &err), &err);
    karma_importances_clear(&importances);
}

static void ask_for_missing_cells(const karma_model *model, const karma_table *table) {
    karma_completion completion = {0};
    karma_next_cells cells = {0};
    karma_error err = {0};
    if (is_answered(karma_complete(&completion, model, table, 1, 1, NULL, &err), &err)) {
        FUZZ_CHECK(karma_table_validate(completion.table, NULL) == KARMA_OK, "a completed table breaks its invariants");
        FUZZ_CHECK(karma_table_validate(completion.errors, NULL) == KARMA_OK,
                   "the table of errors breaks its invariants");
    }
    karma_completion_clear(&completion);
    for (size_t t = 0; t < karma_model_n_targets(model); t++) {
        err.message[0] = '\0';
        if (is_answered(karma_measure_next(&cells, model, t, table, NULL, 1, NULL, &err), &err))
            for (size_t k = 0; k < cells.start[cells.n_rows]; k++)
                FUZZ_CHECK(cells.cells[k].gain >= 0.0, "a gain is not a number");
        karma_next_cells_clear(&cells);
    }
}

static void ask_about_rows(const karma_model *model, const karma_table *table) {
    karma_cell_flags flags = {0};
    karma_error err = {0};
    karma_overlap *overlaps = malloc((karma_table_n_rows(table) + 1) * sizeof *overlaps);
    if (is_answered(karma_flag_cells(&flags, model, table, &err), &err))
        for (size_t k = 0; k < flags.n_cells; k++)
            FUZZ_CHECK(flags.cells[k].attribute < karma_model_n_attributes(model), "a flag of no column");
    karma_cell_flags_clear(&flags);
    err.message[0] = '\0';
    if (overlaps) (void)is_answered(karma_measure_overlap(overlaps, model, table, NULL, &err), &err);
    free(overlaps);
}

static void ask_how_sure(const karma_model *model, size_t target, const karma_table *table, const double *scores) {
    size_t n = karma_table_n_rows(table);
    double *low = malloc((n + 1) * sizeof *low), *high = malloc((n + 1) * sizeof *high);
    unsigned char *sets = malloc(n * karma_model_n_classes(model, target) + 1);
    karma_abstention_point points[] = {{.asked = 0.5}, {.asked = 1.0}};
    karma_coverage coverage;
    karma_error err = {0};
    if (low && high && sets) {
        if (is_answered(karma_predict_intervals(low, high, model, target, table, scores, 0.8, &err), &err))
            for (size_t i = 0; i < n; i++) FUZZ_CHECK(low[i] <= high[i], "an interval ends before it begins");
        err.message[0] = '\0';
        (void)is_answered(karma_predict_sets(sets, model, target, table, scores, 0.8, &err), &err);
        err.message[0] = '\0';
        (void)is_answered(karma_predict_confidence(low, model, target, table, scores, &err), &err);
    }
    err.message[0] = '\0';
    (void)is_answered(karma_abstention_threshold(&coverage.level, model, target, KARMA_ABSTAIN_ACCURACY, 0.9, &err),
                      &err);
    err.message[0] = '\0';
    (void)is_answered(karma_measure_coverage(&coverage, model, target, table, scores, 0.8, &err), &err);
    err.message[0] = '\0';
    (void)is_answered(karma_left_out_coverage(&coverage, model, target, KARMA_AUTO, &err), &err);
    err.message[0] = '\0';
    (void)is_answered(karma_measure_abstention(points, 2, model, target, table, scores, &err), &err);
    free(sets);
    free(high);
    free(low);
}

/* Decisions, probabilities and metrics of one target. */
static void ask_for_decisions(const karma_model *model, size_t target, const karma_table *table, const double *scores) {
    size_t n_classes = karma_model_n_classes(model, target);
    double *shares = malloc((n_classes + 1) * sizeof *shares);
    karma_metrics metrics = {0};
    karma_error err = {0};
    for (size_t i = 0; shares && i < karma_table_n_rows(table); i++) {
        const double *own = scores + i * karma_model_n_outputs(model);
        if (n_classes == 0)
            FUZZ_CHECK(isfinite(karma_model_number(model, target, own)), "a number is not finite");
        else
            FUZZ_CHECK(karma_model_decide(model, target, own) < n_classes, "a class that there is not");
        if (n_classes && karma_model_probabilities(model, target, own, shares))
            for (size_t c = 0; c < n_classes; c++)
                FUZZ_CHECK(shares[c] >= 0.0 && shares[c] <= 1.0, "a probability is none");
    }
    free(shares);
    (void)is_answered(karma_evaluate(&metrics, model, target, table, scores, &err), &err);
    karma_metrics_clear(&metrics);
}

void fuzz_ask(const karma_model *model, const karma_table *table) {
    double *scores = malloc((karma_table_n_rows(table) * karma_model_n_outputs(model) + 1) * sizeof *scores);
    if (scores && karma_predict(scores, model, table, 1, NULL, NULL) == KARMA_OK) {
        ask_for_parts(model, table);
        ask_for_missing_cells(model, table);
        ask_about_rows(model, table);
        for (size_t t = 0; t < karma_model_n_targets(model); t++) {
            ask_for_decisions(model, t, table, scores);
            ask_how_sure(model, t, table, scores);
        }
    }
    free(scores);
}
