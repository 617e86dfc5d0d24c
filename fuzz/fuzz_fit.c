/* Tiny tables and options drawn from the input: learn, predict, ask, save, load, predict. Scores are finite, and the
 * loaded model gives the same. */
#include "fuzz_ask.h"
#include "fuzz_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const KERNELS[] = {"linear",
                                      "rank",
                                      "subspace",
                                      "union",
                                      "relevance",
                                      "boost",
                                      "forest",
                                      "linear(outer=rbf) + 0.5*rank",
                                      "rank*linear(gamma=1) | linear @ 1,10:0.5",
                                      "linear(outer=laplace)",
                                      "rank(outer=poly,degree=3)",
                                      "linear(outer=cosine) + linear(outer=series)",
                                      "subspace(space=ranks,outer=rbf)",
                                      "boost + relevance(outer=rbf)",
                                      "linear | forest | union"};

/* One of these numbers, or the text of these. */
#define DRAW(source, choices) ((choices)[fuzz_byte(source) % (sizeof(choices) / sizeof *(choices))])

static void draw_kernel(karma_fit_options *options, fuzz_source *source) {
    static const int64_t ranks[] = {1, 2, 1, 3, 1, 2, 1, (int64_t)KARMA_AUTO}; /* choosing one takes long */
    options->kernel = (char *)DRAW(source, KERNELS);
    options->series = (char *)"1,0,2";
    options->gamma = 1 + fuzz_byte(source) % 5;
    options->subspace_rank = DRAW(source, ranks);
    options->subspace_noise = (int)(fuzz_byte(source) % KARMA_N_NOISES);
    options->refine = fuzz_byte(source) % 8 == 7 ? 2 : 0;
    options->rank_form = (int)(fuzz_byte(source) % KARMA_N_RANK_FORMS);
    options->encoding = fuzz_byte(source) % 4 == 3 ? KARMA_ENCODING_POLAR : KARMA_ENCODING_PLAIN;
    options->unit_ball = fuzz_byte(source) % 8 == 7;
    options->trees = 1 + fuzz_byte(source) % 4;
    options->leaves = 2 + fuzz_byte(source) % 6;
    options->bias = fuzz_byte(source) % 4 ? 1.0 : 0.0;
    options->standardise = fuzz_byte(source) % 4 != 3;
}

static void draw_options(karma_fit_options *options, fuzz_source *source) {
    static const double strengths[] = {KARMA_AUTO, 1e-3, 1.0, 1e6};
    static const char *const quantiles[] = {NULL, "0.1,0.9", "0.5", "0.01,0.5,0.99"};
    static const char *const weights[] = {NULL, NULL, "balanced", "a=2"};
    karma_options_init(karma_fit_option_table(), options);
    options->threads = 1;
    options->passes = 50;
    draw_kernel(options, source);
    options->C = DRAW(source, strengths);
    options->solver = (int)(fuzz_byte(source) % KARMA_N_SOLVERS);
    options->loss = (int)(fuzz_byte(source) % KARMA_N_LOSSES);
    options->quantile = (char *)DRAW(source, quantiles);
    if (options->quantile) options->loss = KARMA_LOSS_PINBALL;
    options->class_weight = (char *)DRAW(source, weights);
    options->probabilities =
        fuzz_byte(source) % 2 ? KARMA_CALIBRATE_AUTO : (int)(fuzz_byte(source) % KARMA_N_CALIBRATIONS);
    options->folds = 2 + fuzz_byte(source) % 2;
    options->certainty = (int)(fuzz_byte(source) % KARMA_N_CERTAINTIES);
    if (options->certainty == KARMA_CERTAINTY_ON)
        options->coverage_by = (int)(fuzz_byte(source) % KARMA_N_COVERAGE_BYS);
    options->schedule = (int)(fuzz_byte(source) % KARMA_N_SCHEDULES);
    options->average = fuzz_byte(source) % 2;
    options->landmarks = fuzz_byte(source) % 2 ? 2 : (int64_t)KARMA_AUTO;
    options->seed = fuzz_byte(source);
}

/* Weights for one table in four, some of them 0 or far from the others. */
static void draw_weights(karma_table *table, fuzz_source *source) {
    static const double choices[] = {1.0, 0.5, 0.0, 2.0, 1e-12, 1e12};
    double *weights = malloc(karma_table_n_rows(table) * sizeof *weights);
    if (weights && fuzz_byte(source) % 4 == 3) {
        for (size_t i = 0; i < karma_table_n_rows(table); i++) weights[i] = DRAW(source, choices);
        (void)karma_table_set_row_weights(table, weights, NULL);
    }
    free(weights);
}

static void check_model(const karma_model *model, const karma_table *table) {
    size_t n = karma_table_n_rows(table) * karma_model_n_outputs(model), size = 0;
    double *scores = malloc(2 * n * sizeof *scores);
    void *saved = NULL;
    karma_model *copy = NULL;
    karma_error err = {0};
    if (!scores) return;
    if (karma_predict(scores, model, table, 1, NULL, &err) != KARMA_OK) fuzz_fail(err.message);
    if (karma_model_save_buffer(&saved, &size, model, &err) != KARMA_OK) fuzz_fail(err.message);
    if (karma_model_load_buffer(&copy, saved, size, &err) != KARMA_OK) fuzz_fail(err.message);
    if (karma_predict(scores + n, copy, table, 1, NULL, &err) != KARMA_OK) fuzz_fail(err.message);
    for (size_t k = 0; k < n; k++) {
        FUZZ_CHECK(isfinite(scores[k]), "a score is not finite");
        FUZZ_CHECK(scores[k] == scores[n + k], "the loaded model predicts something else");
    }
    fuzz_ask(copy, table);
    karma_model_free(copy);
    karma_buffer_free(saved);
    free(scores);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_source source = {bytes, size};
    karma_fit_options options;
    karma_model *model = NULL;
    karma_error err = {0};
    draw_options(&options, &source);
    karma_table *table = fuzz_table(&source);
    if (!table) return 0;
    draw_weights(table, &source);
    if (karma_fit(&model, table, &options, NULL, &err) == KARMA_OK)
        check_model(model, table);
    else
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    karma_model_free(model);
    karma_table_free(table);
    return 0;
}
