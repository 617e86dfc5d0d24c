/* Comparing methods: the test of differences by hand, and the results of a comparison. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/paired.h"
#include "compare/tune.h"
#include "karma/karma.h"
#include "table/folds.h"

static void assert_near(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g and %.17g", a, b);
}

/* --- the test of differences --------------------------------------------------------------------------- */

/* The density of Student's T integrated over [0, t] by Simpson's rule. */
static double tail_by_integration(double t, size_t degrees) {
    enum { N = 20000 };
    double v = (double)degrees, h = t / N, sum = 0.0;
    double factor = exp(lgamma((v + 1.0) / 2.0) - lgamma(v / 2.0)) / sqrt(v * acos(-1.0));
    for (int i = 0; i <= N; i++) {
        double x = h * i, weight = i == 0 || i == N ? 1.0 : i % 2 ? 4.0 : 2.0;
        sum += weight * factor * pow(1.0 + x * x / v, -(v + 1.0) / 2.0);
    }
    return 1.0 - 2.0 * sum * h / 3.0;
}

static void tail_of_student_t(void **state) {
    (void)state;
    assert_near(karma_i_student_tail(0.0, 1), 1.0, 1e-15);
    assert_near(karma_i_student_tail(1.0, 1), 0.5, 1e-15);                   /* Cauchy: 1 - 2/π atan 1 */
    assert_near(karma_i_student_tail(sqrt(2.0), 2), 1.0 - sqrt(0.5), 1e-15); /* 1 - t/√(2 + t²) */
    assert_near(karma_i_student_tail(2.776445105198, 4), 0.05, 1e-12);       /* tables */
    assert_near(karma_i_student_tail(2.262157163, 9), 0.05, 1e-9);
    assert_near(karma_i_student_tail(INFINITY, 3), 0.0, 1e-15);
    static const size_t degrees[] = {1, 2, 3, 4, 5, 9, 10, 29, 49, 100};
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++)
        for (double t = 0.25; t < 6.0; t += 0.75)
            assert_near(karma_i_student_tail(t, degrees[i]), tail_by_integration(t, degrees[i]), 1e-10);
}

static void corrected_t_by_hand(void **state) {
    (void)state;
    /* mean 2, s² = 1, so the error is √(1/3 + 1/2), t² = 4/(5/6) = 4.8, p = 1 - √(4.8/6.8) */
    static const double d[] = {1.0, 2.0, 3.0};
    karma_i_paired test = karma_i_paired_test(d, 3, 0.5, 0);
    assert_near(test.mean, 2.0, 1e-15);
    assert_near(test.error, sqrt(5.0 / 6.0), 1e-15);
    assert_near(test.t, sqrt(4.8), 1e-14);
    assert_near(test.p_value, 1.0 - sqrt(4.8 / 6.8), 1e-14);
    /* the ordinary paired test has no ratio: t² = 12 */
    assert_near(karma_i_paired_test(d, 3, 0.0, 0).t, sqrt(12.0), 1e-14);
    static const double opposite[] = {-1.0, -2.0, -3.0};
    assert_near(karma_i_paired_test(opposite, 3, 0.5, 0).p_value, test.p_value, 1e-15);
}

/* Equal differences in all folds give no estimate of their variance, and neither do differences from rounding. */
static void differences_without_noise(void **state) {
    (void)state;
    static const double none[] = {0.0, 0.0, 0.0}, same[] = {0.5, 0.5, 0.5}, rounded[] = {0.7 - 0.6, 0.6 - 0.5};
    assert_near(karma_i_paired_test(none, 3, 0.25, 0).p_value, 1.0, 0.0);
    assert_near(karma_i_paired_test(none, 3, 0.25, 20).p_value, 1.0, 0.0);
    assert_near(karma_i_paired_test(same, 3, 0.25, 0).p_value, 1.0, 0.0);
    assert_near(karma_i_paired_test(rounded, 2, 1.0, 0).p_value, 1.0, 0.0);
    karma_i_paired one = karma_i_paired_test(same, 1, 0.25, 0);
    assert_near(one.mean, 0.5, 0.0);
    assert_true(isnan(one.error) && isnan(one.t) && isnan(one.p_value));
}

/* Of 10 rows each, 0.1 better on both folds: no less than the error √((1/2 + 1)·(0.1 - 0.01)/10), so z =
 * 0.1/√0.0135, of which tables have P(|Z| > 0.86066) = 0.38943. Where folds differ by more than the number of their
 * rows explains, nothing changes; with many rows the correction vanishes. */
static void shares_vary_at_least_as_their_rows(void **state) {
    (void)state;
    static const double same[] = {0.7 - 0.6, 0.6 - 0.5}, apart[] = {0.4, -0.2}, all[] = {1.0, 1.0};
    karma_i_paired test = karma_i_paired_test(same, 2, 1.0, 10);
    assert_near(test.p_value, 0.38943, 1e-5);
    assert_true(isnan(test.t));
    assert_near(karma_i_paired_test(apart, 2, 1.0, 10).p_value, karma_i_paired_test(apart, 2, 1.0, 0).p_value, 0.0);
    assert_true(karma_i_paired_test(same, 2, 1.0, 10000).p_value < 1e-9);
    assert_near(karma_i_paired_test(all, 2, 1.0, 10).p_value, 0.0, 0.0); /* every row */
}

static void holm_by_hand(void **state) {
    (void)state;
    /* 0.005·4, 0.01·3, 0.03·2, and 0.04·1, raised to the value before it */
    static const double p[] = {0.01, 0.04, 0.03, 0.005}, wanted[] = {0.03, 0.06, 0.06, 0.02};
    double adjusted[4];
    size_t order[4];
    karma_i_holm(adjusted, order, p, 4);
    for (size_t i = 0; i < 4; i++) assert_near(adjusted[i], wanted[i], 1e-15);
    static const double large[] = {0.7, 0.6};
    karma_i_holm(adjusted, order, large, 2);
    assert_near(adjusted[0], 1.0, 0.0);
    assert_near(adjusted[1], 1.0, 0.0);
    karma_i_holm(adjusted, order, p, 0);
}

/* --- comparisons --------------------------------------------------------------------------------------- */

typedef struct setting {
    karma_fit_options fit;
    karma_search_options search;
    karma_compare_options compare;
    karma_table *table;
    karma_comparison got;
    karma_error err;
} setting;

static void set_up(setting *s, karma_task task, size_t n_rows, const char *methods) {
    karma_synth_options synth;
    memset(s, 0, sizeof *s);
    karma_options_init(karma_fit_option_table(), &s->fit);
    karma_options_init(karma_search_option_table(), &s->search);
    karma_options_init(karma_compare_option_table(), &s->compare);
    karma_options_init(karma_synth_option_table(), &synth);
    synth.rows = (int64_t)n_rows;
    synth.dim = 12;
    synth.rank = 2;
    synth.missing = 0.5;
    synth.task = (int)task;
    synth.seed = 1;
    s->fit.threads = 1;
    s->compare.folds = 4;
    s->compare.inner = 2;
    s->search.effort = KARMA_EFFORT_QUICK;
    if (methods && karma_option_set(karma_option_find(karma_compare_option_table(), "methods"), &s->compare, methods,
                                    &s->err) != KARMA_OK)
        fail_msg("%s", s->err.message);
    if (karma_table_synthesise(&s->table, NULL, &synth, &s->err) != KARMA_OK) fail_msg("%s", s->err.message);
}

static void tear_down(setting *s) {
    karma_comparison_clear(&s->got);
    karma_table_free(s->table);
    karma_options_clear(karma_compare_option_table(), &s->compare);
}

static karma_status run(setting *s, const karma_hooks *hooks) {
    karma_comparison_clear(&s->got);
    return karma_compare(&s->got, s->table, &s->fit, &s->search, &s->compare, hooks, &s->err);
}

static void must_run(setting *s) {
    if (run(s, NULL) != KARMA_OK) fail_msg("%s", s->err.message);
}

static const karma_compare_method *method(const setting *s, const char *name) {
    for (size_t m = 0; m < s->got.n_methods; m++)
        if (strcmp(s->got.methods[m].name, name) == 0) return &s->got.methods[m];
    fail_msg("no method %s", name);
    return NULL;
}

static void zero_imputation_loses_to_the_subspace(void **state) {
    (void)state;
    setting s;
    set_up(&s, KARMA_TASK_REGRESS, 100, "zero,karma-subspace");
    must_run(&s);
    const karma_compare_method *zero = method(&s, "zero"), *subspace = method(&s, "karma-subspace");
    assert_int_equal(s.got.goal, KARMA_GOAL_R2);
    assert_int_equal(s.got.n_done, 4);
    assert_ptr_equal(&s.got.methods[s.got.best], subspace);
    assert_true(subspace->mean > 0.99);
    assert_true(zero->is_worse && zero->adjusted_p <= 0.05 && !subspace->is_worse);
    assert_near(zero->difference, zero->mean - subspace->mean, 1e-12);
    assert_true(fabs(s.got.constant[0]) < 0.5);
    for (size_t f = 0; f < 4; f++) assert_non_null(subspace->folds[f].kernel);
    tear_down(&s);
}

/* The summary of a comparison follows from its folds. */
static void summaries_follow_from_the_folds(void **state) {
    (void)state;
    setting s;
    set_up(&s, KARMA_TASK_CLASSIFY, 60, "zero,knn,karma-4");
    s.compare.rounds = 2;
    s.search.goal = KARMA_GOAL_LOG_LOSS;
    must_run(&s);
    const karma_compare_method *best = &s.got.methods[s.got.best];
    for (size_t m = 0; m < 3; m++) {
        const karma_compare_method *own = &s.got.methods[m];
        double mean = 0.0, squares = 0.0, d[8];
        for (size_t f = 0; f < 8; f++) mean += own->folds[f].value / 8.0;
        for (size_t f = 0; f < 8; f++) squares += pow(own->folds[f].value - mean, 2);
        for (size_t f = 0; f < 8; f++) d[f] = own->folds[f].value - best->folds[f].value;
        assert_near(own->mean, mean, 1e-12);
        assert_near(own->error, sqrt(squares / 7.0 / 4.0), 1e-12);
        assert_true(own->mean >= best->mean); /* a loss */
        if (own != best) assert_near(own->p_value, karma_i_paired_test(d, 8, 15.0 / 45.0, 0).p_value, 1e-12);
    }
    tear_down(&s);
}

static void failures_are_results(void **state) {
    (void)state;
    setting s;
    set_up(&s, KARMA_TASK_REGRESS, 40, "geom,mc-b,zero");
    must_run(&s);
    assert_non_null(strstr(method(&s, "geom")->failure, "learns classes"));
    assert_non_null(method(&s, "mc-b")->failure);
    assert_true(method(&s, "mc-b")->is_transductive && isnan(method(&s, "mc-b")->mean));
    assert_null(method(&s, "zero")->failure);
    assert_true(isnan(method(&s, "zero")->p_value)); /* alone, there is nothing to compare it with */
    tear_down(&s);
    set_up(&s, KARMA_TASK_REGRESS, 40, "geom");
    must_run(&s);
    assert_int_equal(s.got.best, s.got.n_methods);
    tear_down(&s);
}

static void threads_do_not_matter(void **state) {
    (void)state;
    setting one, two;
    const char *methods = "zero,regression,hot-deck-random,soft-impute,geom,karma-2,karma-union,karma-auto";
    set_up(&one, KARMA_TASK_CLASSIFY, 40, methods);
    set_up(&two, KARMA_TASK_CLASSIFY, 40, methods);
    one.compare.folds = two.compare.folds = 2;
    one.search.goal = two.search.goal = KARMA_GOAL_AUC;
    two.fit.threads = 2;
    must_run(&one);
    must_run(&two);
    assert_int_equal(one.got.n_methods, 8);
    for (size_t m = 0; m < one.got.n_methods; m++) {
        assert_null(one.got.methods[m].failure);
        for (size_t f = 0; f < 2; f++) {
            assert_true(one.got.methods[m].folds[f].value == two.got.methods[m].folds[f].value);
            assert_memory_equal(&one.got.methods[m].folds[f].strength, &two.got.methods[m].folds[f].strength,
                                sizeof(double));
        }
    }
    tear_down(&one);
    tear_down(&two);
}

/* 0-imputation is karma with γ = 1, tuned by other code. */
static void equal_methods_have_equal_scores(void **state) {
    (void)state;
    setting s;
    set_up(&s, KARMA_TASK_CLASSIFY, 60, "zero,karma-1");
    s.fit.tolerance = 1e-8;
    must_run(&s);
    for (size_t f = 0; f < 4; f++) {
        assert_near(s.got.methods[0].folds[f].value, s.got.methods[1].folds[f].value, 1e-12);
        assert_near(s.got.methods[0].folds[f].strength, s.got.methods[1].folds[f].strength, 0.0);
    }
    assert_int_equal(s.got.best, 0);
    assert_near(s.got.methods[1].p_value, 1.0, 0.0);
    tear_down(&s);
}

static void all_methods_have_a_name_and_help(void **state) {
    (void)state;
    for (size_t m = 0; m < karma_n_methods(); m++) {
        assert_non_null(karma_method_name(m));
        assert_non_null(karma_method_help(m));
        assert_int_equal(karma_i_method_find(karma_method_name(m)), m);
    }
    assert_int_equal(karma_i_method_find("frobnicate"), karma_n_methods());
    setting s;
    set_up(&s, KARMA_TASK_CLASSIFY, 20, "zero,frobnicate");
    assert_int_equal(run(&s, NULL), KARMA_ERR_OPTION);
    assert_non_null(strstr(s.err.message, "frobnicate"));
    assert_non_null(strstr(s.err.message, "karma-auto"));
    tear_down(&s);
}

/* --- time and interruptions ---------------------------------------------------------------------------- */

typedef struct patience {
    size_t n_asked;
    const char *end; /* asks to stop at this stage */
} patience;

static int grow_tired(void *payload, const char *stage, size_t done, size_t total) {
    patience *p = payload;
    p->n_asked++;
    assert_true(done < total || total == 0);
    return p->end && strstr(stage, p->end) != NULL;
}

static void out_of_time(void **state) {
    (void)state;
    setting s;
    set_up(&s, KARMA_TASK_CLASSIFY, 150, "zero,mc-1");
    s.compare.time = 0.05; /* the least there is; mc-1 takes a second, and slow machines may not finish the other */
    s.compare.inner = 10;
    must_run(&s);
    assert_string_equal(method(&s, "mc-1")->failure, "out of time");
    assert_true(isnan(method(&s, "mc-1")->folds[3].value));
    tear_down(&s);
}

static void an_interrupted_comparison_keeps_whole_folds(void **state) {
    (void)state;
    setting s;
    patience p = {0, "karma-2, fold 2 of 4"};
    karma_hooks hooks = {grow_tired, NULL, &p};
    set_up(&s, KARMA_TASK_CLASSIFY, 40, "zero,karma-2");
    assert_int_equal(run(&s, &hooks), KARMA_OK);
    assert_int_equal(s.got.n_done, 1);
    assert_true(isnan(s.got.methods[0].folds[1].value));
    assert_true(!isnan(s.got.methods[0].mean) && isnan(s.got.methods[0].error));
    assert_false(s.got.methods[0].is_worse || s.got.methods[1].is_worse);
    assert_true(p.n_asked > 0);
    p.end = "fold 1";
    assert_int_equal(run(&s, &hooks), KARMA_ERR_CANCELLED);
    tear_down(&s);
}

/* Kernels tuned together and one by one. */
static void both_ways_of_tuning_agree(void **state) {
    (void)state;
    static const char *const kernels[] = {"linear(gamma=1)", "linear(gamma=4)", NULL};
    setting s;
    karma_i_task task;
    karma_i_folds inner;
    const char *kernel[2] = {NULL, NULL};
    double strength[2] = {0.0, 0.0};
    set_up(&s, KARMA_TASK_CLASSIFY, 60, NULL);
    s.fit.loss = KARMA_LOSS_LOGISTIC;
    s.fit.tolerance = 1e-7;
    assert_int_equal(karma_i_baseline_task(&task, s.table, &s.fit, NULL, &s.err), KARMA_OK);
    assert_int_equal(karma_i_folds_init(&inner, &task, s.table, 3, 1, 0, 0, &s.err), KARMA_OK);
    for (size_t i = 0; i < 60; i++) inner.fold[i] = i % 3;
    karma_i_contest contest = {.task = &task, .goal = KARMA_GOAL_LOG_LOSS, .fit = &s.fit, .search = &s.search};
    karma_i_outer_fold outer = {.train = s.table, .inner = &inner};
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(
            karma_i_tune_kernels(&kernel[k], &strength[k], kernels, k ? 60 : 0, &contest, &outer, NULL, &s.err),
            KARMA_OK);
    assert_ptr_equal(kernel[0], kernel[1]);
    assert_near(strength[0], strength[1], 0.0);
    karma_i_folds_clear(&inner);
    karma_i_task_clear(&task);
    tear_down(&s);
}

/* The classes are those of the given rows, not of all rows. */
static void classes_are_counted_in_the_training_rows(void **state) {
    (void)state;
    setting s;
    karma_i_task task, own_task;
    karma_table *few = NULL;
    size_t rows[10], n[2] = {0, 0};
    set_up(&s, KARMA_TASK_CLASSIFY, 60, NULL);
    for (size_t i = 0; i < 10; i++) {
        rows[i] = 5 * i;
        n[s.table->targets[0].value[rows[i]] > 0]++;
    }
    assert_int_equal(karma_table_select(&few, s.table, rows, 10, &s.err), KARMA_OK);
    assert_int_equal(karma_i_baseline_task(&task, s.table, &s.fit, NULL, &s.err), KARMA_OK);
    assert_int_equal(karma_i_task_relearn(&own_task, &task, few, &s.err), KARMA_OK);
    const size_t *all = task.heads[0].labels.class_count, *own = own_task.heads[0].labels.class_count;
    assert_int_equal(all[0] + all[1], 60);
    assert_int_equal(own[0], n[0]);
    assert_int_equal(own[1], n[1]);
    karma_i_task_clear(&task);
    karma_i_task_clear(&own_task);
    karma_table_free(few);
    tear_down(&s);
}

/* A class of one row: the fold with this row is trained on rows of the other class only. */
static void a_fold_of_one_class_is_answered_by_it(void **state) {
    (void)state;
    setting s;
    double cells[40], labels[20];
    set_up(&s, KARMA_TASK_CLASSIFY, 20, "zero,geom,mc-1,karma-2,karma-auto");
    for (size_t i = 0; i < 40; i++) cells[i] = (double)(i * 7 % 11);
    for (size_t i = 0; i < 20; i++) labels[i] = i == 3 ? 1 : 0;
    karma_table *other = s.table;
    s.table = NULL;
    assert_int_equal(karma_table_from_array(&s.table, cells, 20, 2, NULL, &s.err), KARMA_OK);
    assert_int_equal(karma_table_add_target_numbers(s.table, "y", labels, &s.err), KARMA_OK);
    must_run(&s);
    for (size_t m = 0; m < s.got.n_methods; m++) {
        if (s.got.methods[m].failure) fail_msg("%s: %s", s.got.methods[m].name, s.got.methods[m].failure);
        assert_near(s.got.methods[m].mean, 0.95, 1e-12);
    }
    karma_table_free(other);
    tear_down(&s);
}

static void bad_comparisons_are_refused(void **state) {
    (void)state;
    setting s;
    double cells[6] = {1, 2, 3, 4, 5, 6}, labels[3] = {1, 2, 3};
    karma_table *few = NULL;
    set_up(&s, KARMA_TASK_CLASSIFY, 20, "zero");
    s.search.goal = KARMA_GOAL_RMSE;
    assert_int_equal(run(&s, NULL), KARMA_ERR_OPTION);
    s.search.goal = KARMA_GOAL_AUTO;
    s.fit.class_weight = (char[]){"nobody=2"};
    assert_int_equal(run(&s, NULL), KARMA_ERR_OPTION);
    assert_non_null(strstr(s.err.message, "has no class 'nobody'"));
    s.fit.class_weight = NULL;
    s.compare.folds = 1;
    assert_int_equal(run(&s, NULL), KARMA_ERR_OPTION);
    s.compare.folds = 5;
    assert_int_equal(karma_table_from_array(&few, cells, 3, 2, NULL, &s.err), KARMA_OK);
    karma_table *other = s.table;
    s.table = few;
    assert_int_equal(run(&s, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_table_add_target_numbers(few, "y", labels, &s.err), KARMA_OK);
    assert_int_equal(run(&s, NULL), KARMA_ERR_DATA);
    assert_non_null(strstr(s.err.message, "at least 4 rows"));
    s.table = other;
    karma_table_free(few);
    tear_down(&s);
}

/* A method that looks up the label as its answer, and checks its inputs. */
static karma_status cheat(void *payload, double *scores, karma_contest_result *result, const karma_contest *contest,
                          const karma_hooks *hooks, karma_error *err) {
    size_t *calls = payload;
    (void)hooks, (void)err;
    assert_int_equal(contest->n_classes, 2);
    assert_int_equal(contest->n_outputs, 1);
    assert_int_equal(contest->n_inner, 2);
    assert_int_equal(karma_table_n_rows(contest->train) + karma_table_n_rows(contest->test), 40);
    for (size_t i = 0; i < karma_table_n_rows(contest->train); i++) {
        double label;
        assert_true(karma_table_target(contest->train, 0, i, &label));
        assert_near(contest->labels[i], label, 0.0);
        assert_near(contest->weights[i], label > 0.5 ? 3.0 : 1.0, 0.0); /* of its class */
        assert_true(contest->inner[i] < 2);
    }
    for (size_t i = 0; i < karma_table_n_rows(contest->test); i++) {
        double label;
        assert_true(karma_table_target(contest->test, 0, i, &label));
        scores[i] = label > 0.5 ? 1.0 : -1.0;
    }
    *result = (karma_contest_result){1.0, 2.0, 3.0, "by looking it up"};
    ++*calls;
    return KARMA_OK;
}

static karma_status give_up(void *payload, double *scores, karma_contest_result *result, const karma_contest *contest,
                            const karma_hooks *hooks, karma_error *err) {
    (void)payload, (void)result, (void)contest, (void)hooks, (void)err;
    scores[0] = NAN; /* and report success */
    return KARMA_OK;
}

static void the_caller_can_add_methods(void **state) {
    (void)state;
    setting s;
    size_t calls = 0;
    set_up(&s, KARMA_TASK_CLASSIFY, 40, "zero");
    s.compare.folds = 4;
    s.compare.inner = 2;
    s.fit.class_weight = (char *)"1=3";
    const karma_own_method own[] = {{"cheat", "looks it up", cheat, &calls}, {"lazy", "gives up", give_up, NULL}};
    karma_comparison c = {0};
    karma_status st = karma_compare_with(&c, s.table, &s.fit, &s.search, &s.compare, own, 2, NULL, &s.err);
    s.fit.class_weight = NULL;
    if (st != KARMA_OK) fail_msg("%s", s.err.message);
    assert_int_equal(calls, 4);
    assert_int_equal(c.n_methods, 3);
    assert_int_equal(c.best, 1);
    assert_string_equal(c.methods[1].name, "cheat");
    assert_near(c.methods[1].mean, 1.0, 0.0);
    assert_near(c.methods[1].folds[2].tune_seconds, 1.0, 0.0);
    assert_string_equal(c.methods[1].folds[2].kernel, "by looking it up");
    assert_true(c.methods[0].mean < 1.0 && !isnan(c.methods[0].p_value));
    assert_string_equal(c.methods[2].failure, "a score is not a finite number");
    karma_comparison_clear(&c);
    tear_down(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tail_of_student_t),
        cmocka_unit_test(corrected_t_by_hand),
        cmocka_unit_test(differences_without_noise),
        cmocka_unit_test(shares_vary_at_least_as_their_rows),
        cmocka_unit_test(holm_by_hand),
        cmocka_unit_test(zero_imputation_loses_to_the_subspace),
        cmocka_unit_test(summaries_follow_from_the_folds),
        cmocka_unit_test(failures_are_results),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(equal_methods_have_equal_scores),
        cmocka_unit_test(all_methods_have_a_name_and_help),
        cmocka_unit_test(out_of_time),
        cmocka_unit_test(an_interrupted_comparison_keeps_whole_folds),
        cmocka_unit_test(both_ways_of_tuning_agree),
        cmocka_unit_test(classes_are_counted_in_the_training_rows),
        cmocka_unit_test(a_fold_of_one_class_is_answered_by_it),
        cmocka_unit_test(bad_comparisons_are_refused),
        cmocka_unit_test(the_caller_can_add_methods),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
