/* Tiny tables and options drawn from the input: learn, predict, save, load, predict. Scores are finite, and the loaded
 * model gives the same. */
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
                                      "rank*linear(gamma=1) | linear @ 1,10:0.5"};

static void draw_options(karma_fit_options *options, fuzz_source *source) {
    static const double strengths[] = {KARMA_AUTO, 1e-3, 1.0, 1e6};
    karma_options_init(karma_fit_option_table(), options);
    options->threads = 1;
    options->passes = 50;
    options->kernel = (char *)KERNELS[fuzz_byte(source) % (sizeof KERNELS / sizeof KERNELS[0])];
    options->gamma = 1 + fuzz_byte(source) % 5;
    options->C = strengths[fuzz_byte(source) % 4];
    options->solver = (int)(fuzz_byte(source) % (KARMA_SOLVER_NYSTROM + 1));
    options->loss = (int)(fuzz_byte(source) % (KARMA_LOSS_SQUARED + 1));
    options->probabilities = (int)(fuzz_byte(source) % 3);
    options->standardise = fuzz_byte(source) % 4 != 0;
    options->bias = fuzz_byte(source) % 4 ? 1.0 : 0.0;
    options->seed = fuzz_byte(source);
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
    if (karma_fit(&model, table, &options, NULL, &err) == KARMA_OK)
        check_model(model, table);
    else
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    karma_model_free(model);
    karma_table_free(table);
    return 0;
}
