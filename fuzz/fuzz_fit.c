/* Tiny tables and options drawn from the input: learn, predict, save, load, predict. Scores are finite, and the loaded
 * model gives the same. */
#include "fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 12, MOST_COLUMNS = 4 };

static const char *const KERNELS[] = {"linear",
                                      "rank",
                                      "subspace",
                                      "union",
                                      "relevance",
                                      "boost",
                                      "forest",
                                      "linear(outer=rbf) + 0.5*rank",
                                      "rank*linear(gamma=1) | linear @ 1,10:0.5"};
static const char *const LEVELS[] = {"a", "b", "c d", "<e>"};

/* A small set of values, the extreme ones among them. */
static double draw_value(fuzz_source *source) {
    static const double extreme[] = {0.0, -0.0, 1e-300, 1e300, -1e300, 1e-5, 9007199254740993.0, 5e-324};
    unsigned byte = fuzz_byte(source);
    if (byte >= 224) return NAN;
    if (byte >= 208) return extreme[byte % 8];
    return ((double)byte - 100.0) / 8.0;
}

static karma_table *draw_table(fuzz_source *source) {
    size_t n_rows = 1 + fuzz_byte(source) % MOST_ROWS, n_columns = 1 + fuzz_byte(source) % MOST_COLUMNS;
    karma_columns *columns = NULL;
    karma_table *table = NULL;
    double values[MOST_ROWS];
    const char *texts[MOST_ROWS];
    if (karma_columns_new(&columns, n_rows, NULL) != KARMA_OK) return NULL;
    for (size_t j = 0; j < n_columns; j++) {
        char name[] = {(char)('a' + (int)j), '\0'};
        int is_text = fuzz_byte(source) % 3 == 0;
        for (size_t i = 0; i < n_rows; i++) {
            values[i] = draw_value(source);
            texts[i] = isnan(values[i]) ? NULL : LEVELS[(size_t)fabs(fmod(values[i] * 8.0, 4.0))];
        }
        karma_status st = is_text ? karma_columns_add_texts(columns, name, texts, NULL)
                                  : karma_columns_add_numbers(columns, name, values, KARMA_FLOAT64,
                                                              (ptrdiff_t)sizeof *values, NULL, NULL);
        if (st != KARMA_OK) break;
    }
    if (karma_columns_finish(&table, columns, NULL) != KARMA_OK) return NULL;
    for (size_t i = 0; i < n_rows; i++) {
        values[i] = draw_value(source);
        texts[i] = isnan(values[i]) ? NULL : LEVELS[(size_t)fabs(fmod(values[i] * 8.0, 4.0))];
    }
    karma_status st = fuzz_byte(source) % 2 ? karma_table_add_target_numbers(table, "y", values, NULL)
                                            : karma_table_add_target_classes(table, "y", texts, NULL);
    if (st != KARMA_OK) {
        karma_table_free(table);
        return NULL;
    }
    return table;
}

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
    karma_table *table = draw_table(&source);
    if (!table) return 0;
    if (karma_fit(&model, table, &options, NULL, &err) == KARMA_OK)
        check_model(model, table);
    else
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    karma_model_free(model);
    karma_table_free(table);
    return 0;
}
