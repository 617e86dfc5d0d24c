/* What to measure next, against brute force: random values of each missing cell in place of the rule's seven. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "karma/karma.h"

enum { D = 6, DRAWS = 4000, ROWS = 25 };

static karma_table *draw_table(int task, int64_t classes) {
    karma_synth_options o;
    karma_table *table = NULL;
    karma_options_init(karma_synth_option_table(), &o);
    o.rows = 250, o.dim = D, o.rank = 2, o.noise = 0.2, o.missing = 0.4, o.task = task, o.classes = classes, o.seed = 3;
    assert_int_equal(karma_table_synthesise(&table, NULL, &o, NULL), KARMA_OK);
    return table;
}

static karma_model *learn(const karma_table *table, int probabilities, const char *kernel) {
    karma_fit_options o;
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)(uintptr_t)kernel;
    o.subspace_rank = 2, o.threads = 1, o.probabilities = probabilities;
    if (karma_fit(&model, table, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

enum { MOST_CLASSES = 8 };

/* The relative entropy Σ p log2(p/q) of the probabilities of a row to others. */
static double divergence(const karma_model *model, const double *scores, const double *q) {
    double p[MOST_CLASSES], sum = 0.0;
    assert_true(karma_model_probabilities(model, 0, scores, p));
    for (size_t k = 0; k < karma_model_n_classes(model, 0); k++) sum += p[k] > 0.0 ? p[k] * log2(p[k] / q[k]) : 0.0;
    return sum;
}

static void mean_probabilities(double *mean, const karma_model *model, const double *scores, size_t n) {
    size_t K = karma_model_n_outputs(model), n_classes = karma_model_n_classes(model, 0);
    double p[MOST_CLASSES];
    memset(mean, 0, n_classes * sizeof *mean);
    for (size_t i = 0; i < n; i++) {
        assert_true(karma_model_probabilities(model, 0, scores + i * K, p));
        for (size_t k = 0; k < n_classes; k++) mean[k] += p[k] / (double)n;
    }
}

/* The row as numbers; NaN: missing. */
static void row_cells(double *cells, const karma_table *table, size_t row) {
    for (size_t j = 0; j < D; j++)
        if (!karma_table_cell(table, row, j, &cells[j])) cells[j] = NAN;
}

/* Mean relative entropy to the mean probabilities, which is the mutual information, or variance of the number, over
 * random values; *error: its standard error. */
static double brute_gain(double *error, double *change, const karma_model *model, const karma_table *table, size_t row,
                         size_t attribute, double mean, double sd, karma_i_rng *rng) {
    static const char *const names[D] = {"x1", "x2", "x3", "x4", "x5", "x6"};
    size_t K = karma_model_n_outputs(model);
    double *cells = malloc((DRAWS + 1) * D * sizeof *cells), *scores = malloc((DRAWS + 1) * K * sizeof *scores);
    double low, high, sum = 0.0, squares = 0.0, fourth = 0.0;
    karma_table *trials = NULL;
    int classify = karma_model_n_classes(model, 0) > 0;
    assert_true(karma_model_attribute_range(model, attribute, &low, &high));
    for (size_t i = 0; i <= DRAWS; i++) {
        row_cells(cells + i * D, table, row);
        if (i > 0) cells[i * D + attribute] = fmin(fmax(mean + sd * karma_i_rng_normal(rng), low), high);
    }
    assert_int_equal(karma_table_from_array(&trials, cells, DRAWS + 1, D, names, NULL), KARMA_OK);
    assert_int_equal(karma_predict(scores, model, trials, 1, NULL, NULL), KARMA_OK);
    double middle[MOST_CLASSES] = {0.0};
    if (classify) mean_probabilities(middle, model, scores + K, DRAWS);
    *change = 0.0;
    for (size_t i = 1; i <= DRAWS; i++) {
        const double *own = scores + i * K;
        sum += (classify ? divergence(model, own, middle) : *own) / DRAWS;
        *change += (classify ? karma_model_decide(model, 0, own) != karma_model_decide(model, 0, scores)
                             : fabs(*own - *scores)) /
                   (double)DRAWS;
    }
    for (size_t i = 1; i <= DRAWS; i++) {
        double off = (classify ? divergence(model, scores + i * K, middle) : scores[i]) - sum;
        squares += off * off / DRAWS;
        fourth += off * off * off * off / DRAWS;
    }
    *error = sqrt((classify ? squares : fourth - squares * squares) / DRAWS);
    karma_table_free(trials);
    free(cells), free(scores);
    return classify ? sum : squares;
}

/* Means and standard errors of the missing cells come from karma_complete. */
static void check_against_brute_force(int task, int64_t classes, const char *kernel) {
    karma_i_rng rng;
    karma_table *all = draw_table(task, classes), *table = NULL;
    karma_model *model =
        learn(all, task == KARMA_TASK_CLASSIFY ? KARMA_CALIBRATE_SIGMOID : KARMA_CALIBRATE_AUTO, kernel);
    karma_completion completion;
    karma_next_cells next;
    size_t rows[ROWS], n_cells = 0, n_right = 0, n_rows = 0;
    double costs[D] = {1.0, 2.0, 0.5, 1.0, 3.0, 1.0};
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < ROWS; i++) rows[i] = i;
    assert_int_equal(karma_table_select(&table, all, rows, ROWS, NULL), KARMA_OK);
    assert_int_equal(karma_complete(&completion, model, table, 1, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_measure_next(&next, model, 0, table, costs, 1, NULL, NULL), KARMA_OK);
    for (size_t i = 0; i < ROWS; i++) {
        double best = -INFINITY, error, change;
        size_t best_at = 0;
        for (size_t k = next.start[i]; k < next.start[i + 1]; k++) {
            const karma_next_cell *c = &next.cells[k];
            double mean, sd, cell;
            assert_false(karma_table_cell(table, i, c->attribute, &cell));
            assert_true(karma_table_cell(completion.table, i, c->attribute, &mean));
            assert_true(karma_table_cell(completion.errors, i, c->attribute, &sd));
            double gain = brute_gain(&error, &change, model, table, i, c->attribute, mean, sd, &rng);
            /* a rule of seven points is not exact for what is cut off at the ends of the range */
            assert_true(fabs(c->gain - gain) <= 5.0 * error + 0.05 * gain + 0.001);
            if (task == KARMA_TASK_REGRESS) assert_true(fabs(c->change - change) <= 0.15 * change + 0.02);
            assert_true(c->cost == costs[c->attribute] && c->per_cost == c->gain / c->cost);
            assert_true(k == next.start[i] || c->per_cost <= next.cells[k - 1].per_cost);
            if (gain / c->cost > best) best = gain / c->cost, best_at = k;
            n_cells++;
        }
        n_rows += next.start[i + 1] > next.start[i] + 1 ? 1 : 0;
        n_right += next.start[i + 1] > next.start[i] + 1 && best_at == next.start[i] ? 1 : 0;
    }
    assert_true(n_cells > ROWS);
    assert_true((double)n_right >= 0.8 * (double)n_rows); /* near ties may go either way */
    karma_next_cells_clear(&next);
    karma_completion_clear(&completion);
    karma_model_free(model);
    karma_table_free(all), karma_table_free(table);
}

static void gains_of_two_classes_are_those_of_brute_force(void **state) {
    (void)state;
    check_against_brute_force(KARMA_TASK_CLASSIFY, 2, "union");
}

static void gains_of_classes_are_those_of_brute_force(void **state) {
    (void)state;
    check_against_brute_force(KARMA_TASK_CLASSIFY, 3, "subspace");
}

static void gains_of_numbers_are_those_of_brute_force(void **state) {
    (void)state;
    check_against_brute_force(KARMA_TASK_REGRESS, 2, "union");
}

static void complete_rows_have_nothing_to_measure(void **state) {
    static const char *const names[D] = {"x1", "x2", "x3", "x4", "x5", "x6"};
    static const double cells[2 * D] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, NAN, NAN, NAN, NAN, NAN, NAN};
    karma_table *all = draw_table(KARMA_TASK_REGRESS, 2), *table = NULL;
    karma_model *model = learn(all, KARMA_CALIBRATE_AUTO, "union");
    karma_next_cells next;
    (void)state;
    assert_int_equal(karma_table_from_array(&table, cells, 2, D, names, NULL), KARMA_OK);
    assert_int_equal(karma_measure_next(&next, model, 0, table, NULL, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(next.start[1], 0);
    assert_int_equal(next.start[2], D); /* an empty row: every column */
    for (size_t k = 0; k < D; k++) assert_true(isfinite(next.cells[k].gain) && next.cells[k].gain >= 0.0);
    karma_next_cells_clear(&next);
    karma_model_free(model);
    karma_table_free(all), karma_table_free(table);
}

static void models_without_a_subspace_or_probabilities_are_refused(void **state) {
    karma_error err;
    karma_next_cells next;
    double costs[D] = {1.0, 1.0, 0.0, 1.0, 1.0, 1.0};
    (void)state;
    karma_table *table = draw_table(KARMA_TASK_CLASSIFY, 2);
    karma_model *plain = learn(table, KARMA_CALIBRATE_SIGMOID, "linear"),
                *scores = learn(table, KARMA_CALIBRATE_OFF, "union");
    karma_model *good = learn(table, KARMA_CALIBRATE_SIGMOID, "union");
    assert_int_equal(karma_measure_next(&next, plain, 0, table, NULL, 1, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "kernel=union"));
    assert_int_equal(karma_measure_next(&next, scores, 0, table, NULL, 1, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "probabilities=sigmoid"));
    assert_int_equal(karma_measure_next(&next, good, 0, table, costs, 1, NULL, &err), KARMA_ERR_OPTION);
    karma_model_free(plain), karma_model_free(scores), karma_model_free(good);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gains_of_two_classes_are_those_of_brute_force),
        cmocka_unit_test(gains_of_classes_are_those_of_brute_force),
        cmocka_unit_test(gains_of_numbers_are_those_of_brute_force),
        cmocka_unit_test(complete_rows_have_nothing_to_measure),
        cmocka_unit_test(models_without_a_subspace_or_probabilities_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
