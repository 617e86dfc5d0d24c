/* Intervals, sets and abstention: bounds against brute force, coverage against the binomial distribution, groups and
 * copies of rows, model files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "labelled.h"
#include "model/certain_answers.h"
#include "model/masking.h"
#include "solve/conformal.h"

/* --- bounds -------------------------------------------------------------------------------------------- */

/* By definition: the least value with enough weight at or below it. */
static double brute_upper(const karma_i_weighted *rows, size_t n, double level) {
    double best = INFINITY, total = 0.0;
    for (size_t i = 0; i < n; i++) total += rows[i].weight;
    for (size_t i = 0; i < n; i++) {
        double below = 0.0;
        for (size_t j = 0; j < n; j++) below += rows[j].value <= rows[i].value ? rows[j].weight : 0.0;
        if (below >= level * (total + 1.0) - 1e-7 && rows[i].value < best) best = rows[i].value;
    }
    return best;
}

static void bounds_are_those_of_brute_force(void **state) {
    karma_i_rng rng;
    (void)state;
    karma_i_rng_init(&rng, 1);
    for (size_t trial = 0; trial < 300; trial++) {
        karma_i_weighted rows[40] = {{0}}, again[40];
        size_t n = karma_i_rng_below(&rng, 41);
        double level = 0.05 + 0.9 * karma_i_rng_uniform(&rng);
        for (size_t i = 0; i < n; i++)
            rows[i] = (karma_i_weighted){(double)karma_i_rng_below(&rng, 12) - 6.0,
                                         trial % 2 ? 1.0 : (double)karma_i_rng_below(&rng, 4)};
        memcpy(again, rows, sizeof rows);
        double wanted = brute_upper(rows, n, level);
        assert_true(karma_i_conformal_upper(again, n, level) == wanted);
        memcpy(again, rows, sizeof rows);
        for (size_t i = 0; i < n; i++) again[i].value = -rows[i].value;
        wanted = -brute_upper(again, n, level);
        memcpy(again, rows, sizeof rows);
        assert_true(karma_i_conformal_lower(again, n, level) == wanted);
    }
}

static void bounds_of_nine_rows_are_the_largest_and_the_smallest(void **state) {
    karma_i_weighted rows[9];
    (void)state;
    for (size_t i = 0; i < 9; i++) rows[i] = (karma_i_weighted){(double)i, 1.0};
    assert_true(karma_i_conformal_upper(rows, 9, 0.9) == 8.0);
    assert_true(karma_i_conformal_lower(rows, 9, 0.9) == 0.0);
    assert_true(karma_i_conformal_upper(rows, 9, 0.5) == 4.0);
    assert_true(isinf(karma_i_conformal_upper(rows, 9, 0.91))); /* ten rows would be needed */
    assert_true(karma_i_conformal_lower(rows, 9, 0.91) == -INFINITY);
    assert_true(isinf(karma_i_conformal_upper(rows, 0, 0.5)));
}

/* n exchangeable rows and a new one. The new one is covered with probability ceil(level (n + 1))/(n + 1),
 * whatever the distribution; the share of 20000 draws is within five standard deviations of it. */
static void a_new_row_is_covered_at_the_given_level(void **state) {
    enum { N = 37, DRAWS = 20000 };
    karma_i_rng rng;
    double level = 0.83, wanted = ceil(level * (N + 1)) / (N + 1), covered = 0.0;
    (void)state;
    karma_i_rng_init(&rng, 2);
    for (size_t draw = 0; draw < DRAWS; draw++) {
        karma_i_weighted rows[N];
        for (size_t i = 0; i < N; i++) rows[i] = (karma_i_weighted){exp(3.0 * karma_i_rng_normal(&rng)), 1.0};
        covered += exp(3.0 * karma_i_rng_normal(&rng)) <= karma_i_conformal_upper(rows, N, level) ? 1.0 : 0.0;
    }
    assert_true(fabs(covered / DRAWS - wanted) <= 5.0 * sqrt(wanted * (1.0 - wanted) / DRAWS));
}

/* Tries the confidence of each row as the threshold. */
static double brute_accuracy(const karma_i_confident *rows, size_t n, double accuracy) {
    double best = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double right = 0.0, answered = 1.0; /* one wrong row more */
        for (size_t j = 0; j < n; j++) {
            if (rows[j].confidence < rows[i].confidence) continue;
            answered += rows[j].weight;
            right += rows[j].is_right ? rows[j].weight : 0.0;
        }
        if (right >= accuracy * answered - 1e-7 && rows[i].confidence < best) best = rows[i].confidence;
    }
    return best;
}

static double brute_share(const karma_i_confident *rows, size_t n, double share) {
    double best = -INFINITY, total = 0.0;
    for (size_t i = 0; i < n; i++) total += rows[i].weight;
    for (size_t i = 0; i < n; i++) {
        double answered = 0.0;
        for (size_t j = 0; j < n; j++) answered += rows[j].confidence >= rows[i].confidence ? rows[j].weight : 0.0;
        if (answered >= share * total - 1e-7 && rows[i].confidence > best) best = rows[i].confidence;
    }
    return best;
}

static void thresholds_are_those_of_brute_force(void **state) {
    karma_i_rng rng;
    (void)state;
    karma_i_rng_init(&rng, 3);
    for (size_t trial = 0; trial < 300; trial++) {
        karma_i_confident rows[50] = {{0}}, again[50];
        size_t n = 1 + karma_i_rng_below(&rng, 50);
        double value = 0.3 + 0.69 * karma_i_rng_uniform(&rng);
        for (size_t i = 0; i < n; i++) {
            double confidence = 0.5 + 0.05 * (double)karma_i_rng_below(&rng, 10);
            rows[i] = (karma_i_confident){confidence, trial % 2 ? 1.0 : 1.0 + (double)karma_i_rng_below(&rng, 3),
                                          karma_i_rng_uniform(&rng) < confidence};
        }
        memcpy(again, rows, sizeof rows);
        assert_true(karma_i_accuracy_threshold(again, n, value) == brute_accuracy(rows, n, value));
        memcpy(again, rows, sizeof rows);
        assert_true(karma_i_share_threshold(again, n, value) == brute_share(rows, n, value));
    }
}

/* --- models -------------------------------------------------------------------------------------------- */

static karma_fit_options options_with(const char *name, const char *value, const char *more, const char *more_value) {
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.threads = 1;
    const char *const pairs[][2] = {{name, value}, {more, more_value}};
    for (size_t i = 0; i < 2; i++)
        if (pairs[i][0])
            assert_int_equal(
                karma_option_set(karma_option_find(karma_fit_option_table(), pairs[i][0]), &options, pairs[i][1], NULL),
                KARMA_OK);
    return options;
}

/* Training rows and test rows of one table. */
typedef struct halves {
    karma_table *train, *test;
} halves;

static halves draw_halves(table_plan p, size_t n_train, size_t n_test, uint64_t seed) {
    halves h = {NULL, NULL};
    size_t *rows = malloc((n_train + n_test) * sizeof *rows);
    p.n_rows = n_train + n_test;
    karma_table *all = draw_labelled(&p, seed);
    for (size_t i = 0; i < p.n_rows; i++) rows[i] = i;
    assert_int_equal(karma_table_select(&h.train, all, rows, n_train, NULL), KARMA_OK);
    assert_int_equal(karma_table_select(&h.test, all, rows + n_train, n_test, NULL), KARMA_OK);
    karma_table_free(all);
    free(rows);
    return h;
}

static void free_halves(halves h) {
    karma_table_free(h.train), karma_table_free(h.test);
}

static karma_model *fit(const karma_table *table, karma_fit_options *options) {
    karma_model *model = NULL;
    karma_error err;
    if (karma_fit(&model, table, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_options_clear(karma_fit_option_table(), options);
    return model;
}

static double *predict(const karma_model *model, const karma_table *table) {
    double *scores = malloc(karma_table_n_rows(table) * karma_model_n_outputs(model) * sizeof *scores);
    assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
    return scores;
}

/* The share of new rows whose label is in the interval. The bound is the level minus three standard deviations,
 * which come from the n rows that were left out and the m rows that are judged. */
static double least_share(double level, size_t n, size_t m) {
    return level - 3.0 * sqrt(level * (1.0 - level) * (1.0 / (double)n + 1.0 / (double)m));
}

static double interval_coverage(const karma_model *model, const karma_table *table, double level) {
    size_t n = karma_table_n_rows(table);
    double *scores = predict(model, table), *low = malloc(n * sizeof *low), *high = malloc(n * sizeof *high), y;
    double covered = 0.0;
    assert_int_equal(karma_predict_intervals(low, high, model, 0, table, scores, level, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++) {
        assert_true(low[i] <= high[i]);
        assert_true(karma_table_target(table, 0, i, &y));
        covered += low[i] <= y && y <= high[i] ? 1.0 / (double)n : 0.0;
    }
    free(scores), free(low), free(high);
    return covered;
}

static void intervals_of_new_rows_keep_their_level(void **state) {
    static const char *const quantiles[] = {NULL, "0.1,0.9"};
    halves h = draw_halves((table_plan){.n_numbers = 6, .share = 0.7, .signal = 1.0}, 500, 1000, 5);
    (void)state;
    for (size_t q = 0; q < 2; q++) {
        karma_fit_options options = options_with("certainty", "on", quantiles[q] ? "quantile" : NULL, quantiles[q]);
        karma_model *model = fit(h.train, &options);
        assert_int_equal(karma_model_n_left_out(model, 0), 500);
        for (size_t step = 0; step < 4; step++) {
            double level = 0.5 + 0.15 * (double)step;
            double share = interval_coverage(model, h.test, level);
            assert_true(share >= least_share(level, 500, 1000));
            assert_true(share <= 2.0 * level - least_share(level, 500, 1000) + 0.02);
        }
        karma_model_free(model);
    }
    free_halves(h);
}

/* The outer quantiles are the interval of the level between them. */
static void outer_quantiles_are_the_interval(void **state) {
    table_plan p = {.n_rows = 300, .n_numbers = 4, .share = 0.8, .signal = 1.0};
    (void)state;
    karma_table *table = draw_labelled(&p, 6);
    karma_fit_options options = options_with("quantile", "0.1,0.5,0.9", NULL, NULL);
    karma_model *model = fit(table, &options);
    double *scores = predict(model, table), low[300], high[300], y;
    assert_true(karma_model_level_is_given(model, 0));
    assert_true(fabs(karma_model_level(model, 0) - 0.8) < 1e-12);
    assert_int_equal(karma_predict_intervals(low, high, model, 0, table, scores, KARMA_AUTO, NULL), KARMA_OK);
    size_t below[3] = {0};
    for (size_t i = 0; i < 300; i++) {
        assert_true(fabs(low[i] - scores[3 * i]) < 1e-9 && fabs(high[i] - scores[3 * i + 2]) < 1e-9);
        assert_true(karma_table_target(table, 0, i, &y));
        for (size_t q = 0; q < 3; q++) below[q] += y <= scores[3 * i + q];
    }
    assert_true(below[0] <= below[1] && below[1] <= below[2]);
    free(scores);
    karma_model_free(model);
    karma_table_free(table);
}

static void sets_of_new_rows_keep_their_level(void **state) {
    enum { N = 600, M = 1000, K = 4 };
    halves h = draw_halves((table_plan){.n_numbers = 6, .share = 0.7, .n_classes = K, .signal = 2.0}, N, M, 7);
    (void)state;
    karma_fit_options options = options_with("sets", "0.9", NULL, NULL);
    karma_model *model = fit(h.train, &options);
    double *scores = predict(model, h.test), y;
    unsigned char sets[M * K];
    double before = 0.0;
    for (size_t step = 0; step < 4; step++) {
        double level = 0.6 + 0.1 * (double)step, covered = 0.0, size = 0.0;
        assert_int_equal(karma_predict_sets(sets, model, 0, h.test, scores, level, NULL), KARMA_OK);
        for (size_t i = 0; i < M; i++) {
            assert_true(sets[i * K + karma_model_decide(model, 0, scores + i * K)]);
            assert_true(karma_table_target(h.test, 0, i, &y));
            covered += sets[i * K + (size_t)y] / (double)M;
            for (size_t k = 0; k < K; k++) size += sets[i * K + k] / (double)M;
        }
        assert_true(covered >= least_share(level, N, M));
        assert_true(size >= before);
        before = size;
    }
    assert_true(before < K);
    free(scores);
    karma_model_free(model);
    free_halves(h);
}

/* The number of observed columns decides how wide an interval is. */
static void levels_are_kept_by_the_number_of_missing_cells(void **state) {
    enum { N = 240, M = 3000 };
    halves h = draw_halves((table_plan){.n_numbers = 8, .share = 0.55, .signal = 3.0}, N, M, 8);
    (void)state;
    karma_fit_options options = options_with("certainty", "on", "coverage-by", "missing");
    karma_model *model = fit(h.train, &options);
    const karma_i_certainty *c = &model->task.heads[0].certainty;
    assert_in_range(c->n_groups, 2, KARMA_I_MOST_GROUPS);
    assert_true(c->n_masked > 0);
    double *scores = predict(model, h.test), *low = malloc(M * sizeof *low), *high = malloc(M * sizeof *high), y;
    double covered[KARMA_I_MOST_GROUPS] = {0}, width[KARMA_I_MOST_GROUPS] = {0}, n[KARMA_I_MOST_GROUPS] = {0};
    assert_int_equal(karma_predict_intervals(low, high, model, 0, h.test, scores, 0.8, NULL), KARMA_OK);
    for (size_t i = 0; i < M; i++) {
        size_t g = karma_i_group_of(c->group_most, c->n_groups, karma_i_table_cells(h.test, i).count);
        assert_true(karma_table_target(h.test, 0, i, &y));
        covered[g] += low[i] <= y && y <= high[i] ? 1.0 : 0.0;
        width[g] = high[i] - low[i];
        n[g] += 1.0;
    }
    for (size_t g = 0; g < c->n_groups; g++)
        assert_true(covered[g] / n[g] >= least_share(0.8, KARMA_I_LEAST_GROUP_ROWS, (size_t)n[g]));
    assert_true(width[0] > width[c->n_groups - 1]); /* more missing cells, less certainty */
    free(scores), free(low), free(high);
    karma_model_free(model);
    free_halves(h);
}

static void copies_have_the_cells_of_both_rows(void **state) {
    table_plan p = {.n_rows = 60, .n_numbers = 5, .n_categories = 2, .n_levels = 3, .share = 0.6, .n_classes = 2};
    karma_i_copies copies = {0};
    (void)state;
    karma_table *table = draw_labelled(&p, 9);
    assert_int_equal(karma_i_copies_make(&copies, table, 1, 4, NULL), KARMA_OK);
    assert_non_null(copies.table);
    assert_int_equal(karma_table_validate(copies.table, NULL), KARMA_OK);
    for (size_t i = 0; i < copies.table->n_rows; i++) {
        karma_i_row_cells own = karma_i_table_cells(copies.table, i);
        karma_i_row_cells all = karma_i_table_cells(table, copies.source[i]);
        double value;
        assert_true(own.count <= copies.observed[i] && copies.observed[i] < all.count);
        for (size_t k = 0; k < own.count; k++) {
            assert_true(karma_table_cell(table, copies.source[i], own.attribute[k], &value));
            assert_true(value == own.value[k]);
        }
        assert_true(copies.table->targets[0].value[i] == table->targets[0].value[copies.source[i]]);
    }
    karma_i_copies_clear(&copies);
    karma_table_free(table);
}

static void predicted_rows_have_the_accuracy(void **state) {
    enum { N = 800, M = 2000 };
    halves h = draw_halves((table_plan){.n_numbers = 6, .share = 0.7, .n_classes = 2, .signal = 2.0}, N, M, 10);
    (void)state;
    karma_fit_options options = options_with("probabilities", "sigmoid", NULL, NULL);
    karma_model *model = fit(h.train, &options);
    double *scores = predict(model, h.test), confidence[M], threshold, y;
    assert_int_equal(karma_predict_confidence(confidence, model, 0, h.test, scores, NULL), KARMA_OK);
    for (int rule = KARMA_ABSTAIN_SHARE; rule <= KARMA_ABSTAIN_ACCURACY; rule++) {
        double answered = 0.0, right = 0.0, all_right = 0.0;
        assert_int_equal(karma_abstention_threshold(&threshold, model, 0, (karma_abstain_rule)rule, 0.9, NULL),
                         KARMA_OK);
        for (size_t i = 0; i < M; i++) {
            assert_true(karma_table_target(h.test, 0, i, &y));
            double is_right = karma_model_decide(model, 0, scores + i) == (size_t)y;
            all_right += is_right;
            answered += confidence[i] >= threshold ? 1.0 : 0.0;
            right += confidence[i] >= threshold ? is_right : 0.0;
        }
        if (rule == KARMA_ABSTAIN_SHARE)
            assert_true(fabs(answered / M - 0.9) <= 3.0 * sqrt(0.09 * (1.0 / N + 1.0 / M)));
        else
            assert_true(right / answered >= least_share(0.9, (size_t)(answered * N / M), (size_t)answered));
        assert_true(answered > 0.0 && answered < M && right / answered > all_right / M);
    }
    free(scores);
    karma_model_free(model);
    free_halves(h);
}

static void a_model_file_keeps_certainty(void **state) {
    table_plan p = {.n_rows = 120, .n_numbers = 4, .share = 0.7, .n_classes = 3, .signal = 2.0};
    (void)state;
    karma_table *table = draw_labelled(&p, 11);
    karma_fit_options options = options_with("sets", "0.8", "coverage-by", "missing");
    karma_model *model = fit(table, &options), *again = NULL;
    void *bytes = NULL, *same = NULL;
    size_t size = 0, same_size = 0;
    unsigned char sets[2][120 * 3];
    assert_int_equal(karma_model_save_buffer(&bytes, &size, model, NULL), KARMA_OK);
    assert_int_equal(karma_model_load_buffer(&again, bytes, size, NULL), KARMA_OK);
    assert_int_equal(karma_model_save_buffer(&same, &same_size, again, NULL), KARMA_OK);
    assert_int_equal(size, same_size);
    assert_memory_equal(bytes, same, size);
    double *scores = predict(model, table), *scores_again = predict(again, table);
    assert_int_equal(karma_predict_sets(sets[0], model, 0, table, scores, KARMA_AUTO, NULL), KARMA_OK);
    assert_int_equal(karma_predict_sets(sets[1], again, 0, table, scores_again, 0.8, NULL), KARMA_OK);
    assert_memory_equal(sets[0], sets[1], sizeof sets[0]);
    free(scores), free(scores_again);
    karma_buffer_free(bytes), karma_buffer_free(same);
    karma_model_free(model), karma_model_free(again);
    karma_table_free(table);
}

/* The same bytes with one thread and with two. */
static void threads_change_nothing(void **state) {
    table_plan p = {.n_rows = 150, .n_numbers = 5, .share = 0.6, .signal = 2.0};
    void *bytes[2];
    size_t size[2];
    (void)state;
    karma_table *table = draw_labelled(&p, 12);
    for (size_t i = 0; i < 2; i++) {
        karma_fit_options options = options_with("quantile", "0.2,0.8", "coverage-by", "missing");
        options.threads = (int64_t)i + 1;
        karma_model *model = fit(table, &options);
        assert_int_equal(karma_model_save_buffer(&bytes[i], &size[i], model, NULL), KARMA_OK);
        karma_model_free(model);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    karma_buffer_free(bytes[0]), karma_buffer_free(bytes[1]);
    karma_table_free(table);
}

/* Rounding errors of the folds and of the prediction differ. */
static void a_constant_number_lies_in_its_interval(void **state) {
    enum { N = 60, D = 3 };
    static const double constants[] = {0.0, 3.5, -0.1, 1e9 / 3.0};
    karma_i_rng rng;
    (void)state;
    karma_i_rng_init(&rng, 14);
    for (size_t k = 0; k < sizeof constants / sizeof constants[0]; k++) {
        double cells[N * D], label[N];
        karma_table *table = NULL;
        for (size_t i = 0; i < N; i++) label[i] = constants[k];
        for (size_t i = 0; i < N * D; i++) cells[i] = karma_i_rng_below(&rng, 5) ? karma_i_rng_normal(&rng) : NAN;
        assert_int_equal(karma_table_from_array(&table, cells, N, D, NULL, NULL), KARMA_OK);
        assert_int_equal(karma_table_add_target_numbers(table, "y", label, NULL), KARMA_OK);
        karma_fit_options options = options_with("intervals", "0.9", "task", "regress");
        karma_model *model = fit(table, &options);
        assert_true(interval_coverage(model, table, 0.9) > 1.0 - 1e-9);
        karma_model_free(model);
        karma_table_free(table);
    }
}

static void missing_parts_are_refused(void **state) {
    table_plan p = {.n_rows = 60, .n_numbers = 3, .share = 0.8, .signal = 1.0};
    karma_error err;
    double low[60], high[60], threshold;
    unsigned char sets[60 * 3];
    (void)state;
    karma_table *table = draw_labelled(&p, 13);
    karma_fit_options plain = options_with(NULL, NULL, NULL, NULL), on = options_with("certainty", "on", NULL, NULL);
    karma_model *without = fit(table, &plain), *with = fit(table, &on);
    double *scores = predict(with, table);
    assert_int_equal(karma_model_n_left_out(without, 0), 0);
    assert_int_equal(karma_predict_intervals(low, high, without, 0, table, scores, 0.8, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "certainty=on"));
    static const double levels[] = {0.0, 1.0, -0.5, 2.0, NAN, INFINITY};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        assert_int_equal(karma_predict_intervals(low, high, with, 0, table, scores, levels[i], &err), KARMA_ERR_OPTION);
        assert_int_equal(karma_abstention_threshold(&threshold, with, 0, KARMA_ABSTAIN_SHARE,
                                                    levels[i] == 1.0 ? 1.5 : levels[i], &err),
                         KARMA_ERR_OPTION);
    }
    assert_int_equal(karma_predict_sets(sets, with, 0, table, scores, 0.8, &err), KARMA_ERR_DATA);
    static const char *const asked[][2] = {{"intervals", "0.8"}, {"coverage-by", "missing"}};
    for (size_t i = 0; i < 2; i++) {
        karma_fit_options both = options_with("certainty", "off", asked[i][0], asked[i][1]);
        karma_model *none = NULL;
        assert_int_equal(karma_fit(&none, table, &both, NULL, &err), KARMA_ERR_OPTION);
        assert_non_null(strstr(err.message, "certainty=off"));
        karma_options_clear(karma_fit_option_table(), &both);
    }
    assert_int_equal(karma_abstention_threshold(&threshold, with, 0, KARMA_ABSTAIN_SHARE, 0.5, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_predict_intervals(low, high, with, 0, table, scores, 0.999, &err), KARMA_OK);
    assert_true(low[0] == -INFINITY && high[0] == INFINITY); /* 60 rows are too few */
    free(scores);
    karma_model_free(without), karma_model_free(with);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_those_of_brute_force),
        cmocka_unit_test(bounds_of_nine_rows_are_the_largest_and_the_smallest),
        cmocka_unit_test(a_new_row_is_covered_at_the_given_level),
        cmocka_unit_test(thresholds_are_those_of_brute_force),
        cmocka_unit_test(intervals_of_new_rows_keep_their_level),
        cmocka_unit_test(outer_quantiles_are_the_interval),
        cmocka_unit_test(sets_of_new_rows_keep_their_level),
        cmocka_unit_test(levels_are_kept_by_the_number_of_missing_cells),
        cmocka_unit_test(copies_have_the_cells_of_both_rows),
        cmocka_unit_test(predicted_rows_have_the_accuracy),
        cmocka_unit_test(a_model_file_keeps_certainty),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(a_constant_number_lies_in_its_interval),
        cmocka_unit_test(missing_parts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
