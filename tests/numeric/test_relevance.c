/* Weights of columns against their definition, in double precision, over rows whose cells are hidden one after the
 * other; columns of noise get small weights; a weighted recipe has a weighted κ; the model predicts the same after
 * saving and loading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "karma/karma.h"
#include "kernel/kernel.h"
#include "prep/recipe.h"
#include "model/relevance.h"
#include "randomrows.h"
#include "tempfile.h"

enum { ROWS = 24, ATTRIBUTES = 5, OUTPUTS = 2, ROUNDS = 2 };
#define RIDGE 0.1

/* --- the definition ------------------------------------------------------------------------------------ */

/* Solves A x = b by elimination with pivots; A is destroyed. */
static void eliminate(double A[ROWS][ROWS], double *b) {
    for (size_t c = 0; c < ROWS; c++) {
        size_t pivot = c;
        for (size_t r = c; r < ROWS; r++)
            if (fabs(A[r][c]) > fabs(A[pivot][c])) pivot = r;
        for (size_t k = 0; k < ROWS; k++) {
            double swap = A[c][k];
            A[c][k] = A[pivot][k];
            A[pivot][k] = swap;
        }
        double swap = b[c];
        b[c] = b[pivot];
        b[pivot] = swap;
        for (size_t r = 0; r < ROWS; r++) {
            if (r == c) continue;
            double factor = A[r][c] / A[c][c];
            for (size_t k = c; k < ROWS; k++) A[r][k] -= factor * A[c][k];
            b[r] -= factor * b[c];
        }
    }
    for (size_t c = 0; c < ROWS; c++) b[c] /= A[c][c];
}

static double product(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t k, const double *weights) {
    double sum = 0.0;
    for (size_t j = 0; j < a->n_attributes; j++) sum += weights[j] * karma_i_kappa(a, i, b, k, j);
    return sum;
}

static double gauss(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t k, const double *weights, double s) {
    return exp(-(product(a, i, a, i, weights) + product(b, k, b, k, weights) - 2.0 * product(a, i, b, k, weights)) / s);
}

/* One round: f on all rows, then on the rows without attribute j. S: weights of the rows, none of them 0. */
static void reference_round(double *weights, const karma_i_rows *rows, const double *targets, const double *S) {
    double alpha[OUTPUTS][ROWS], s = 0.0, next[ATTRIBUTES], total = 0.0;
    for (size_t i = 0; i < ROWS; i++) s += 2.0 * product(rows, i, rows, i, weights) / ROWS;
    for (size_t o = 0; o < OUTPUTS; o++) {
        double A[ROWS][ROWS], mean = 0.0, all = 0.0;
        for (size_t i = 0; i < ROWS; i++) all += S[i];
        for (size_t i = 0; i < ROWS; i++) mean += S[i] * targets[i * OUTPUTS + o] / all;
        for (size_t i = 0; i < ROWS; i++) {
            alpha[o][i] = targets[i * OUTPUTS + o] - mean;
            for (size_t k = 0; k < ROWS; k++)
                A[i][k] = gauss(rows, i, rows, k, weights, s) + (i == k ? RIDGE / S[i] : 0.0);
        }
        eliminate(A, alpha[o]);
    }
    for (size_t j = 0; j < ATTRIBUTES; j++) {
        karma_i_rows *hidden = NULL;
        assert_int_equal(karma_i_rows_new_like(&hidden, rows, ROWS, NULL), KARMA_OK);
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(karma_i_rows_append(hidden, rows, i, NULL), KARMA_OK);
            karma_i_rows_hide(hidden, i, j);
        }
        next[j] = 0.0;
        for (size_t i = 0; i < ROWS; i++)
            for (size_t o = 0; o < OUTPUTS; o++) {
                double change = 0.0;
                for (size_t k = 0; k < ROWS; k++)
                    change +=
                        alpha[o][k] * (gauss(hidden, i, rows, k, weights, s) - gauss(rows, i, rows, k, weights, s));
                next[j] += S[i] * change * change;
            }
        karma_i_rows_free(hidden);
        total += next[j] = sqrt(next[j]);
    }
    for (size_t j = 0; j < ATTRIBUTES; j++) weights[j] = next[j] * ATTRIBUTES / total;
}

static void follows_the_definition(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        row_shape shape = {ROWS, ATTRIBUTES, 2, 3, 0.7, 0};
        karma_i_rows *rows = draw_rows(&shape, &rng);
        double targets[ROWS * OUTPUTS], label_weights[ROWS * OUTPUTS], weights[ATTRIBUTES], wanted[ATTRIBUTES];
        double largest = 0.0, row_weights[ROWS];
        for (size_t i = 0; i < ROWS; i++) row_weights[i] = seed % 2 ? 1.0 : 0.2 + karma_i_rng_uniform(&rng);
        for (size_t i = 0; i < ROWS * OUTPUTS; i++) {
            targets[i] = karma_i_rng_uniform(&rng) < 0.5 ? -1.0 : 1.0;
            label_weights[i] = row_weights[i / OUTPUTS];
        }
        for (size_t j = 0; j < ATTRIBUTES; j++) wanted[j] = 1.0;
        for (int round = 0; round < ROUNDS; round++) reference_round(wanted, rows, targets, row_weights);
        for (size_t j = 0; j < ATTRIBUTES; j++) largest = fmax(largest, wanted[j]);
        assert_int_equal(karma_i_relevance_learn(weights, rows, targets, label_weights, OUTPUTS, 1, NULL), KARMA_OK);
        for (size_t j = 0; j < ATTRIBUTES; j++)
            if (fabs(weights[j] - wanted[j] / largest) > 1e-4)
                fail_msg("seed %d, column %zu: %g instead of %g", (int)seed, j, weights[j], wanted[j] / largest);
        double again[ATTRIBUTES];
        assert_int_equal(karma_i_relevance_learn(again, rows, targets, label_weights, OUTPUTS, 3, NULL), KARMA_OK);
        assert_memory_equal(weights, again, sizeof weights); /* for any number of threads */
        karma_i_rows_free(rows);
    }
}

/* --- tables -------------------------------------------------------------------------------------------- */

/* y depends on the signs of x0 and x1 together; the others are noise, and so is k, a category. A fifth is missing. */
static void write_interaction(char *text, size_t size, size_t n, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    size_t used = (size_t)snprintf(text, size, "x0,x1,x2,x3,x4,x5,x6,x7,k,y\n");
    for (size_t i = 0; i < n; i++) {
        double x0 = 0.0, x1 = 0.0;
        for (size_t j = 0; j < 9; j++) {
            double x = karma_i_rng_normal(&rng);
            if (j == 0) x0 = x;
            if (j == 1) x1 = x;
            if (karma_i_rng_uniform(&rng) < 0.2)
                used += (size_t)snprintf(text + used, size - used, ",");
            else if (j == 8)
                used += (size_t)snprintf(text + used, size - used, "%c,", 'a' + (int)karma_i_rng_below(&rng, 5));
            else
                used += (size_t)snprintf(text + used, size - used, "%.4f,", x);
        }
        used += (size_t)snprintf(text + used, size - used, "%s\n", x0 * x1 > 0.0 ? "same" : "other");
        assert_true(used < size);
    }
}

static void set(const karma_option_table *table, void *options, const char *name, const char *value) {
    assert_int_equal(karma_option_set(karma_option_find(table, name), options, value, NULL), KARMA_OK);
}

static karma_table *interaction_table(temp_file *file, size_t n, uint64_t seed) {
    static char text[200000];
    karma_read_options read;
    karma_table *table = NULL;
    karma_error err;
    write_interaction(text, sizeof text, n, seed);
    temp_create(file, ".csv", text, strlen(text));
    karma_options_init(karma_read_option_table(), &read);
    set(karma_read_option_table(), &read, "target", "y");
    if (karma_table_read(&table, file->path, &read, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_options_clear(karma_read_option_table(), &read);
    return table;
}

static double accuracy(const char *kernel, const karma_table *train, const char *test_path, const char *model_path) {
    karma_fit_options fit;
    karma_read_options read;
    karma_model *model = NULL, *copy = NULL;
    karma_table *test = NULL;
    karma_metrics metrics;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_read_option_table(), &read);
    set(karma_fit_option_table(), &fit, "kernel", kernel);
    if (karma_fit(&model, train, &fit, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_model_read_table(&test, model, test_path, &read, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    size_t n = karma_table_n_rows(test);
    double *scores = malloc(n * sizeof *scores), *again = malloc(n * sizeof *again);
    assert_int_equal(karma_predict(scores, model, test, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_model_save(model, model_path, &err), KARMA_OK);
    if (karma_model_load(&copy, model_path, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_predict(again, copy, test, 1, NULL, NULL), KARMA_OK);
    assert_memory_equal(scores, again, n * sizeof *scores);
    assert_int_equal(karma_evaluate(&metrics, model, 0, test, scores, NULL), KARMA_OK);
    double value = karma_metrics_value(&metrics, "accuracy");
    karma_metrics_clear(&metrics);
    free(scores);
    free(again);
    karma_table_free(test);
    karma_model_free(model);
    karma_model_free(copy);
    karma_options_clear(karma_fit_option_table(), &fit);
    karma_options_clear(karma_read_option_table(), &read);
    return value;
}

static void noise_gets_small_weights(void **state) {
    (void)state;
    temp_file learn, ask, saved;
    karma_table *train = interaction_table(&learn, 400, 1), *test = interaction_table(&ask, 400, 2);
    temp_create(&saved, ".karma", "", 0);
    double plain = accuracy("rank(gamma=1,outer=rbf)", train, ask.path, saved.path);
    double weighed = accuracy("relevance(gamma=1,outer=rbf)", train, ask.path, saved.path);
    /* a third of the rows lack x0 or x1, and half of these are guessed right: 82% is the best possible */
    if (!(weighed > plain + 0.04)) fail_msg("%.3f with weights, %.3f without", weighed, plain);
    karma_table_free(train);
    karma_table_free(test);
    temp_remove(&learn);
    temp_remove(&ask);
    temp_remove(&saved);
}

/* κ of a weighted recipe is weight · κ: for indicators up to rounding, for ranks up to the steps of the bytes. */
static void recipe_is_weighed(void **state) {
    (void)state;
    temp_file file;
    karma_table *table = interaction_table(&file, 60, 3);
    karma_fit_options fit;
    karma_i_recipe *recipe = NULL;
    karma_i_rows *before = NULL, *after = NULL;
    double weights[9];
    karma_options_init(karma_fit_option_table(), &fit);
    assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_RELEVANCE, &fit, NULL, NULL), KARMA_OK);
    assert_int_equal(recipe->n_attributes, 9);
    for (size_t j = 0; j < 9; j++) weights[j] = (double)(9 - j) / 9.0;
    weights[7] = 0.0;
    assert_int_equal(karma_i_recipe_apply(&before, recipe, table, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_recipe_weigh(recipe, weights, table, NULL), KARMA_OK);
    assert_int_equal(karma_i_recipe_apply(&after, recipe, table, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_validate(after, NULL), KARMA_OK);
    for (size_t j = 0; j < 9; j++)
        for (size_t i = 0; i < after->n_rows; i++)
            for (size_t k = 0; k < after->n_rows; k++) {
                double wanted = weights[j] * karma_i_kappa(before, i, before, k, j);
                double rounding = j == 8 ? 1e-6 : 3.0 * 3.0 / 254.0; /* |u - v| and A of two bytes, half a step each */
                assert_true(fabs(karma_i_kappa(after, i, after, k, j) - wanted) <= rounding);
            }
    karma_i_rows_free(before);
    karma_i_rows_free(after);
    karma_i_recipe_free(recipe);
    karma_options_clear(karma_fit_option_table(), &fit);
    karma_table_free(table);
    temp_remove(&file);
}

/* With one class only there is nothing to learn, so columns are not weighted. */
static void one_class_gives_no_weights(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    row_shape shape = {ROWS, ATTRIBUTES, 0, 1, 0.5, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    double targets[ROWS], label_weights[ROWS], weights[ATTRIBUTES];
    for (size_t i = 0; i < ROWS; i++) targets[i] = label_weights[i] = 1.0;
    assert_int_equal(karma_i_relevance_learn(weights, rows, targets, label_weights, 1, 1, NULL), KARMA_OK);
    for (size_t j = 0; j < ATTRIBUTES; j++) assert_true(weights[j] == 1.0);
    karma_i_rows_free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_definition),
        cmocka_unit_test(noise_gets_small_weights),
        cmocka_unit_test(recipe_is_weighed),
        cmocka_unit_test(one_class_gives_no_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
