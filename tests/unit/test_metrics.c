/* Metrics against small cases by hand and against their definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "eval/metric_table.h"
#include "karma/karma.h"
#include "model/model.h"

/* A model of the classes that `classes` names (or of numbers), learned from one meaningless column: only its labels
 * matter here. */
static karma_model *model_of(const char *const *classes, const double *numbers, size_t n, int loss) {
    double *cells = malloc(n * sizeof *cells);
    karma_table *table = NULL;
    karma_model *model = NULL;
    karma_fit_options o;
    karma_error err;
    for (size_t i = 0; i < n; i++) cells[i] = (double)i;
    assert_int_equal(karma_table_from_array(&table, cells, n, 1, NULL, NULL), KARMA_OK);
    free(cells);
    if (classes)
        assert_int_equal(karma_table_add_target_classes(table, "y", classes, NULL), KARMA_OK);
    else
        assert_int_equal(karma_table_add_target_numbers(table, "y", numbers, NULL), KARMA_OK);
    karma_options_init(karma_fit_option_table(), &o);
    o.task = classes ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS;
    o.solver = KARMA_SOLVER_ONLINE;
    o.passes = 1;
    o.threads = 1;
    o.loss = loss;
    if (karma_fit(&model, table, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    karma_table_free(table);
    return model;
}

static karma_table *labelled(const char *const *classes, const double *numbers, size_t n) {
    double *cells = calloc(n, sizeof *cells);
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, n, 1, NULL, NULL), KARMA_OK);
    free(cells);
    if (classes) assert_int_equal(karma_table_add_target_classes(table, "y", classes, NULL), KARMA_OK);
    if (numbers) assert_int_equal(karma_table_add_target_numbers(table, "y", numbers, NULL), KARMA_OK);
    return table;
}

static karma_metrics evaluate(const karma_model *model, const karma_table *table, const double *scores) {
    karma_metrics m;
    karma_error err;
    if (karma_evaluate(&m, model, 0, table, scores, &err) != KARMA_OK) fail_msg("%s", err.message);
    return m;
}

static void assert_close(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12)) fail_msg("got %.15g, wanted %.15g", got, wanted);
}

static const char *const AB[] = {"a", "b", "b", "a", "b"};
static const char *const ABC[] = {"a", "b", "c", "c", "b", "c"};

/* --- two classes --------------------------------------------------------------------------------------- */

static void two_classes_by_hand(void **state) {
    (void)state;
    static const char *const truth[] = {"b", "b", "b", "a", "a", "b", "a", "a"};
    static const double scores[] = {2.0, 0.5, -0.5, -1.0, 0.5, 0.25, -2.0, 0.0};
    /* says b, b, a, a, b, b, a, a (0 goes to the first class) */
    karma_model *model = model_of(AB, NULL, 5, KARMA_LOSS_HINGE);
    karma_table *table = labelled(truth, NULL, 8);
    karma_metrics m = evaluate(model, table, scores);
    assert_int_equal(m.n_rows, 8);
    assert_int_equal(m.n_left_out, 0);
    assert_int_equal(m.n_classes, 2);
    static const size_t confusion[] = {3, 1, 1, 3, 0, 0};
    for (size_t i = 0; i < 6; i++) assert_int_equal(m.confusion[i], confusion[i]);
    assert_close(karma_metrics_value(&m, "accuracy"), 0.75);
    /* b is the most common in training; half of these rows are b */
    assert_close(karma_metrics_constant(&m, "accuracy"), 0.5);
    assert_close(karma_metrics_value(&m, "balanced_accuracy"), 0.75);
    assert_close(karma_metrics_value(&m, "f1"), 0.75);
    /* pairs (b, a): 2 beats all 4; .5 ties .5, beats 3; -.5 beats 2; .25 beats 3 */
    assert_close(karma_metrics_value(&m, "auc"), (4.0 + 3.5 + 2.0 + 3.0) / 16.0);
    assert_true(isnan(karma_metrics_value(&m, "log_loss")) && isnan(karma_metrics_value(&m, "mae")) &&
                isnan(karma_metrics_value(&m, "rmse")) && isnan(karma_metrics_value(&m, "r2")) &&
                isnan(karma_metrics_constant(&m, "mae")));
    karma_metrics_clear(&m);
    assert_null(m.confusion);
    karma_table_free(table);
    karma_model_free(model);
}

/* The majority class is that of the training rows, not of the given rows. */
static void the_majority_is_that_of_training(void **state) {
    (void)state;
    static const char *const truth[] = {"a", "a", "a", "b"};
    static const double scores[] = {1, 1, 1, 1};
    karma_model *model = model_of(AB, NULL, 5, KARMA_LOSS_HINGE);
    karma_table *table = labelled(truth, NULL, 4);
    karma_metrics m = evaluate(model, table, scores);
    assert_close(karma_metrics_constant(&m, "accuracy"), 0.25);
    assert_close(karma_metrics_value(&m, "accuracy"), 0.25);
    assert_close(karma_metrics_value(&m, "balanced_accuracy"), 0.5);
    assert_close(karma_metrics_value(&m, "f1"), 0.5 * (0.0 + 2.0 / 5.0));
    assert_close(karma_metrics_value(&m, "auc"), 0.5);
    karma_metrics_clear(&m);
    karma_table_free(table);
    karma_model_free(model);
}

/* O(n²): every pair of a positive and a negative, ties one half. */
static double auc_by_pairs(const double *scores, size_t stride, const size_t *truth, size_t positive, size_t n) {
    double right = 0.0, pairs = 0.0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (truth[i] != positive || truth[j] == positive) continue;
            double a = scores[i * stride], b = scores[j * stride];
            right += a > b ? 1.0 : a == b ? 0.5 : 0.0;
            pairs += 1.0;
        }
    return pairs > 0.0 ? right / pairs : (double)NAN;
}

static void auc_equals_the_count_of_pairs(void **state) {
    (void)state;
    enum { ROWS = 150 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    karma_model *two = model_of(AB, NULL, 5, KARMA_LOSS_HINGE), *three = model_of(ABC, NULL, 6, KARMA_LOSS_HINGE);
    for (size_t trial = 0; trial < 20; trial++) {
        size_t n_classes = trial % 2 ? 3 : 2, outputs = trial % 2 ? 3 : 1, truth[ROWS];
        const char *names[ROWS];
        double scores[ROWS * 3];
        for (size_t i = 0; i < ROWS; i++) {
            truth[i] = karma_i_rng_below(&rng, n_classes);
            names[i] = ABC[truth[i]];
            for (size_t k = 0; k < outputs; k++) { /* coarse: many ties */
                double bump = truth[i] == (outputs == 1 ? 1 : k);
                scores[i * outputs + k] = floor(3.0 * (karma_i_rng_normal(&rng) + bump)) / (trial < 10 ? 1.0 : 3.0);
            }
        }
        karma_table *table = labelled(names, NULL, ROWS);
        karma_metrics m = evaluate(outputs == 1 ? two : three, table, scores);
        double wanted = 0.0;
        if (outputs == 1) wanted = auc_by_pairs(scores, 1, truth, 1, ROWS);
        for (size_t k = 0; outputs == 3 && k < 3; k++) wanted += auc_by_pairs(scores + k, 3, truth, k, ROWS) / 3.0;
        assert_close(karma_metrics_value(&m, "auc"), wanted);
        assert_true(karma_metrics_value(&m, "auc") > 0.55 && karma_metrics_value(&m, "auc") < 0.99);
        karma_metrics_clear(&m);
        karma_table_free(table);
    }
    karma_model_free(two);
    karma_model_free(three);
}

/* This call once did not return. The score of a row without a label does not matter. */
static void scores_that_are_not_finite(void **state) {
    (void)state;
    static const char *const truth[] = {"a", "b", "b", NULL, "a"};
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    karma_model *model = model_of(AB, NULL, 5, KARMA_LOSS_HINGE);
    karma_table *table = labelled(truth, NULL, 5);
    for (size_t row = 0; row < 5; row++)
        for (size_t k = 0; k < 3; k++) {
            double scores[] = {1, -1, 2, -2, 0.5};
            karma_metrics m = {.n_rows = 77};
            scores[row] = bad[k];
            karma_status st = karma_evaluate(&m, model, 0, table, scores, NULL);
            assert_int_equal(st, row == 3 ? KARMA_OK : KARMA_ERR_DATA);
            if (st == KARMA_OK)
                karma_metrics_clear(&m);
            else
                assert_int_equal(m.n_rows, 77);
        }
    karma_table_free(table);
    karma_model_free(model);
}

static void auc_without_both_classes_is_nan(void **state) {
    (void)state;
    static const char *const truth[] = {"b", "b"};
    static const double scores[] = {1, -1};
    karma_model *model = model_of(AB, NULL, 5, KARMA_LOSS_HINGE);
    karma_table *table = labelled(truth, NULL, 2);
    karma_metrics m = evaluate(model, table, scores);
    assert_true(isnan(karma_metrics_value(&m, "auc")));
    assert_close(karma_metrics_value(&m, "accuracy"), 0.5);
    assert_close(karma_metrics_value(&m, "balanced_accuracy"), 0.5); /* of the only class that occurs */
    assert_close(karma_metrics_value(&m, "f1"), 0.5 * (2.0 / 3.0));  /* b: 2/3; a is predicted once, wrongly: 0 */
    karma_metrics_clear(&m);
    karma_table_free(table);
    karma_model_free(model);
}

/* --- more classes, labels that are not there ----------------------------------------------------------- */

/* truth a a b b c ? z with decisions a b b b a c a: "?" has no label, "z" is unknown to the model. */
static void unknown_and_missing_labels(void **state) {
    (void)state;
    static const char *const truth[] = {"a", "a", "b", "b", "c", NULL, "z"};
    static const double scores[] = {2, 1, 0, 0, 3, 1, -1, 0, -1, 1, 2, 2, 1, 0, 1, 0, 0, 5, 1, 1, 1};
    karma_model *model = model_of(ABC, NULL, 6, KARMA_LOSS_HINGE);
    karma_table *table = labelled(truth, NULL, 7);
    karma_metrics m = evaluate(model, table, scores);
    assert_int_equal(m.n_rows, 6);
    assert_int_equal(m.n_left_out, 1);
    static const size_t confusion[] = {1, 1, 0, 0, 2, 0, 1, 0, 0, 1, 0, 0};
    for (size_t i = 0; i < 12; i++) assert_int_equal(m.confusion[i], confusion[i]);
    assert_close(karma_metrics_value(&m, "accuracy"), 3.0 / 6.0);
    assert_close(karma_metrics_constant(&m, "accuracy"), 1.0 / 6.0); /* c */
    assert_close(karma_metrics_value(&m, "balanced_accuracy"), (0.5 + 1.0 + 0.0) / 3.0);
    /* F1: a: 1 hit, 2 true, 3 claimed; b: 2 hits, 2 true, 3 claimed; c: 0 */
    assert_close(karma_metrics_value(&m, "f1"), (2.0 / 5.0 + 4.0 / 5.0 + 0.0) / 3.0);
    static const size_t known[] = {0, 0, 1, 1, 2};
    double auc = 0.0;
    for (size_t k = 0; k < 3; k++) auc += auc_by_pairs(scores + k, 3, known, k, 5) / 3.0;
    assert_close(karma_metrics_value(&m, "auc"), auc);
    karma_metrics_clear(&m);
    karma_table_free(table);
    karma_model_free(model);
}

/* Macro F1 from definitions, on random decisions. */
static void macro_f1_and_balanced_accuracy_by_definition(void **state) {
    (void)state;
    enum { ROWS = 90 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 8);
    karma_model *model = model_of(ABC, NULL, 6, KARMA_LOSS_HINGE);
    const char *names[ROWS];
    size_t truth[ROWS], said[ROWS];
    double scores[3 * ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        truth[i] = karma_i_rng_below(&rng, 3);
        said[i] = karma_i_rng_uniform(&rng) < 0.5 ? truth[i] : karma_i_rng_below(&rng, 3);
        names[i] = ABC[truth[i]];
        for (size_t k = 0; k < 3; k++) scores[3 * i + k] = k == said[i] ? 1.0 : karma_i_rng_uniform(&rng) - 0.5;
    }
    karma_table *table = labelled(names, NULL, ROWS);
    karma_metrics m = evaluate(model, table, scores);
    double f1 = 0.0, recall = 0.0, right = 0.0;
    for (size_t k = 0; k < 3; k++) {
        double hits = 0.0, truths = 0.0, claims = 0.0;
        for (size_t i = 0; i < ROWS; i++) {
            hits += truth[i] == k && said[i] == k;
            truths += truth[i] == k;
            claims += said[i] == k;
        }
        double p = hits / claims, r = hits / truths;
        f1 += 2.0 * p * r / (p + r) / 3.0;
        recall += r / 3.0;
        right += hits / ROWS;
    }
    assert_close(karma_metrics_value(&m, "f1"), f1);
    assert_close(karma_metrics_value(&m, "balanced_accuracy"), recall);
    assert_close(karma_metrics_value(&m, "accuracy"), right);
    karma_metrics_clear(&m);
    karma_table_free(table);
    karma_model_free(model);
}

/* Classes that are numbers are matched by value, however they are spelled. */
static void classes_that_are_numbers(void **state) {
    (void)state;
    static const char *const training[] = {"10", "2.5", "10", "2.5", "10"};
    static const double truth[] = {2.5, 10.0, 10.0, 7.0, NAN}, scores[] = {-1, 1, -1, 1, 1};
    karma_model *model = model_of(training, NULL, 5, KARMA_LOSS_HINGE); /* in byte order: 10, 2.5 */
    karma_table *table = labelled(NULL, truth, 5);
    karma_metrics m = evaluate(model, table, scores);
    assert_int_equal(m.n_rows, 4);
    static const size_t confusion[] = {1, 1, 1, 0, 0, 1};
    for (size_t i = 0; i < 6; i++) assert_int_equal(m.confusion[i], confusion[i]);
    karma_metrics_clear(&m);
    karma_table_free(table);
    karma_model_free(model);
}

static void no_labels_are_an_error(void **state) {
    (void)state;
    static const char *const none[] = {NULL, NULL}, *const text[] = {"x", "y"};
    static const double scores[] = {1, 2}, numbers[] = {1, 2, 3, 4, 5};
    karma_model *model = model_of(AB, NULL, 5, KARMA_LOSS_HINGE),
                *regression = model_of(NULL, numbers, 5, KARMA_LOSS_HUBER);
    karma_table *bare = labelled(NULL, NULL, 2), *empty = labelled(none, NULL, 2), *texts = labelled(text, NULL, 2);
    karma_metrics m = {.n_rows = 77};
    assert_int_equal(karma_evaluate(&m, model, 0, bare, scores, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_evaluate(&m, model, 0, empty, scores, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_evaluate(&m, regression, 0, texts, scores, NULL), KARMA_ERR_DATA);
    assert_int_equal(m.n_rows, 77);
    karma_table_free(bare);
    karma_table_free(empty);
    karma_table_free(texts);
    karma_model_free(model);
    karma_model_free(regression);
}

/* --- probabilities ------------------------------------------------------------------------------------- */

static void log_loss_of_the_logistic_model(void **state) {
    (void)state;
    static const char *const truth[] = {"a", "b", "b", "z"};
    static const double scores[] = {-1.0, 2.0, 0.0, 4.0};
    karma_model *model = model_of(AB, NULL, 5, KARMA_LOSS_LOGISTIC);
    karma_table *table = labelled(truth, NULL, 4);
    karma_metrics m = evaluate(model, table, scores);
    double wanted = log(1.0 + exp(-1.0)) + log(1.0 + exp(-2.0)) + log(2.0) + -log(1e-15); /* z: unknown to the model */
    assert_close(karma_metrics_value(&m, "log_loss"), wanted / 4.0);
    karma_metrics_clear(&m);
    double p[3], sure[] = {800.0};
    assert_true(karma_model_probabilities(model, 0, sure, p));
    assert_true(p[1] == 1.0 && p[0] == 0.0);
    karma_table_free(table);
    karma_model_free(model);

    model = model_of(ABC, NULL, 6, KARMA_LOSS_LOGISTIC);
    static const double three[] = {0.0, 1.0, -1.0}, hopeless[] = {-1e4, -1e4, -1e4};
    assert_true(karma_model_probabilities(model, 0, three, p));
    double s1 = 1.0 / (1.0 + exp(-1.0)), s2 = 1.0 / (1.0 + exp(1.0)), sum = 0.5 + s1 + s2;
    assert_close(p[0], 0.5 / sum);
    assert_close(p[1], s1 / sum);
    assert_close(p[2], s2 / sum);
    assert_true(karma_model_probabilities(model, 0, hopeless, p));
    assert_close(p[0] + p[1] + p[2], 1.0);
    karma_model_free(model);

    model = model_of(AB, NULL, 5, KARMA_LOSS_HINGE);
    assert_false(karma_model_probabilities(model, 0, three, p));
    karma_model_free(model);
}

/* --- regression ---------------------------------------------------------------------------------------- */

static void regression_by_hand(void **state) {
    (void)state;
    static const double training[] = {1, 2, 3, 4, 10}; /* mean 4 */
    static const double truth[] = {1, 3, NAN, 5, 7}, scores[] = {2, 3, 100, 4, 9};
    karma_model *model = model_of(NULL, training, 5, KARMA_LOSS_HUBER);
    karma_table *table = labelled(NULL, truth, 5);
    karma_metrics m = evaluate(model, table, scores);
    assert_int_equal(m.n_rows, 4);
    assert_int_equal(m.n_left_out, 1);
    assert_close(karma_metrics_value(&m, "mae"), (1 + 0 + 1 + 2) / 4.0);
    assert_close(karma_metrics_value(&m, "rmse"), sqrt((1 + 0 + 1 + 4) / 4.0));
    assert_close(karma_metrics_value(&m, "r2"), 1.0 - 6.0 / 20.0);
    assert_close(karma_metrics_constant(&m, "mae"), (3 + 1 + 1 + 3) / 4.0);
    assert_close(karma_metrics_constant(&m, "rmse"), sqrt((9 + 1 + 1 + 9) / 4.0));
    assert_true(isnan(karma_metrics_value(&m, "accuracy")) && isnan(karma_metrics_value(&m, "auc")) &&
                isnan(karma_metrics_value(&m, "f1")) && isnan(karma_metrics_constant(&m, "accuracy")) &&
                isnan(karma_metrics_value(&m, "log_loss")));
    assert_null(m.confusion);
    karma_metrics_clear(&m);
    karma_table_free(table);
    static const double constant[] = {4, 4, 4, 4, 4, 4, 4}, any[7] = {0};
    table = labelled(NULL, constant, 7); /* their mean is not 4 in floating point */
    m = evaluate(model, table, any);
    assert_true(isnan(karma_metrics_value(&m, "r2")));
    karma_metrics_clear(&m);
    karma_table_free(table);
    karma_model_free(model);
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* The word of --goal is the key with hyphens, and every goal but auto has one metric. */
static void goals_are_metrics(void **state) {
    (void)state;
    const karma_option *goal = karma_option_find(karma_search_option_table(), "goal");
    for (const karma_option_word *word = goal->words; word->word; word++) {
        char key[64];
        size_t n = 0;
        (void)snprintf(key, sizeof key, "%s", word->word);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        for (size_t i = 0; i < karma_n_metrics(); i++) n += karma_i_metric_at(i)->goal == (karma_goal)word->value;
        if ((karma_goal)word->value == KARMA_GOAL_AUTO) continue;
        assert_int_equal(n, 1);
        assert_string_equal(karma_i_metric_of_goal((karma_goal)word->value)->about.key, key);
    }
    assert_null(karma_i_metric_of_goal(KARMA_GOAL_AUTO));
}

static void metrics_have_names_and_values(void **state) {
    (void)state;
    karma_metrics none = {0};
    for (size_t i = 0; i < karma_n_metrics(); i++) {
        const karma_i_metric *metric = karma_i_metric_at(i);
        assert_ptr_equal(karma_metric_at(i), &metric->about);
        assert_int_equal(karma_i_metric_index(metric), i);
        assert_true(metric->about.key && metric->about.name && metric->about.remark && metric->value);
        assert_true(metric->about.task == KARMA_TASK_CLASSIFY || metric->about.task == KARMA_TASK_REGRESS);
        if (metric->about.constant_key)
            assert_true(metric->constant && metric->about.constant_title && metric->about.constant_remark);
        for (size_t j = 0; j < i; j++) assert_string_not_equal(karma_metric_at(j)->key, metric->about.key);
    }
    assert_true(isnan(karma_metrics_value(&none, "accuracy")) && isnan(karma_metrics_constant(&none, "no such")));
}

enum { TABLE_ROWS = 40 };

/* A table of two classes or of numbers, with weights, and scores that are right more often than not. */
static karma_table *judged_table(double *scores, int classify) {
    const char *classes[TABLE_ROWS];
    double numbers[TABLE_ROWS], weights[TABLE_ROWS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < TABLE_ROWS; i++) {
        scores[i] = karma_i_rng_normal(&rng);
        numbers[i] = scores[i] + karma_i_rng_normal(&rng);
        classes[i] = numbers[i] > 0.0 ? "b" : "a";
        weights[i] = 0.5 + (double)(i % 4);
    }
    karma_table *table = labelled(classify ? classes : NULL, classify ? NULL : numbers, TABLE_ROWS);
    assert_int_equal(karma_table_set_row_weights(table, weights, NULL), KARMA_OK);
    return table;
}

static double mean_row_loss(const karma_i_metric *metric, const karma_i_judged *j) {
    double sum = 0.0;
    for (size_t i = 0; i < j->n_rows; i++)
        sum += j->weights[i] *
               metric->row_loss(j->head, j->truth ? j->truth[i] : 0, j->labels[i], karma_i_judged_scores(j, i));
    return sum / j->total;
}

/* The metric that follows from this mean over rows. */
static double value_of_mean(const karma_i_metric *metric, double mean, const karma_i_judged *j) {
    double factor = j->head->labels.factor, label = 0.0, spread = 0.0;
    switch (metric->goal) {
    case KARMA_GOAL_ACCURACY:
        return 1.0 - mean;
    case KARMA_GOAL_LOG_LOSS:
        return mean;
    case KARMA_GOAL_MAE:
    case KARMA_GOAL_PINBALL:
        return mean / factor;
    case KARMA_GOAL_RMSE:
        return sqrt(mean) / factor;
    case KARMA_GOAL_R2:
        for (size_t i = 0; i < j->n_rows; i++) label += j->weights[i] * j->labels[i] / j->total;
        for (size_t i = 0; i < j->n_rows; i++) spread += j->weights[i] * pow(j->labels[i] - label, 2) / j->total;
        return 1.0 - mean / (factor * factor) / spread;
    default:
        fail_msg("%s: write down what follows from the mean of its losses", metric->about.key);
        return NAN;
    }
}

/* The losses of single rows, by which a search compares candidates, add up to the metric. */
static void row_losses_give_the_metric(void **state) {
    (void)state;
    static const double training[] = {1, 2, 3, 4, 10};
    for (size_t i = 0; i < karma_n_metrics(); i++) {
        const karma_i_metric *metric = karma_i_metric_at(i);
        int classify = metric->about.task == KARMA_TASK_CLASSIFY;
        double scores[TABLE_ROWS];
        karma_i_judged judged;
        if (!metric->row_loss) continue;
        karma_model *model =
            model_of(classify ? AB : NULL, training, 5, metric->loss ? (int)metric->loss : KARMA_LOSS_AUTO);
        karma_table *table = judged_table(scores, classify);
        assert_int_equal(karma_i_judged_init(&judged, &model->task, 0, table, scores, NULL), KARMA_OK);
        assert_close(metric->value(&judged), value_of_mean(metric, mean_row_loss(metric, &judged), &judged));
        karma_i_judged_clear(&judged);
        karma_table_free(table);
        karma_model_free(model);
    }
}

/* What a constant prediction reaches is the metric of scores that give this answer for every row. */
static void constants_are_metrics_of_a_constant_answer(void **state) {
    (void)state;
    static const double training[] = {1, 2, 3, 4, 10}; /* mean 4; b is the most common of the classes */
    for (int classify = 0; classify < 2; classify++) {
        double scores[TABLE_ROWS], constant[TABLE_ROWS];
        karma_model *model = model_of(classify ? AB : NULL, training, 5, KARMA_LOSS_AUTO);
        karma_table *table = judged_table(scores, classify);
        for (size_t i = 0; i < TABLE_ROWS; i++) constant[i] = classify ? 1.0 : 4.0;
        karma_metrics learned = evaluate(model, table, scores), same = evaluate(model, table, constant);
        for (size_t i = 0; i < karma_n_metrics(); i++) {
            if (isnan(learned.constants[i])) continue;
            assert_close(learned.constants[i], same.values[i]);
            assert_true(fabs(learned.values[i] - learned.constants[i]) > 0.01);
        }
        karma_metrics_clear(&learned);
        karma_metrics_clear(&same);
        karma_table_free(table);
        karma_model_free(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_classes_by_hand),
        cmocka_unit_test(the_majority_is_that_of_training),
        cmocka_unit_test(auc_equals_the_count_of_pairs),
        cmocka_unit_test(scores_that_are_not_finite),
        cmocka_unit_test(auc_without_both_classes_is_nan),
        cmocka_unit_test(unknown_and_missing_labels),
        cmocka_unit_test(macro_f1_and_balanced_accuracy_by_definition),
        cmocka_unit_test(classes_that_are_numbers),
        cmocka_unit_test(no_labels_are_an_error),
        cmocka_unit_test(log_loss_of_the_logistic_model),
        cmocka_unit_test(regression_by_hand),
        cmocka_unit_test(goals_are_metrics),
        cmocka_unit_test(metrics_have_names_and_values),
        cmocka_unit_test(row_losses_give_the_metric),
        cmocka_unit_test(constants_are_metrics_of_a_constant_answer),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
