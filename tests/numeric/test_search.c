/* The public search: honest on noise, the same for any number of threads, it keeps fixed options, and it accepts
 * every table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labelled.h"
#include "model/model.h"
#include "tempfile.h"

static karma_fit_options fit_options(int threads) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.threads = threads;
    return o;
}

static karma_search_options search_options(void) {
    karma_search_options o;
    karma_options_init(karma_search_option_table(), &o);
    o.effort = KARMA_EFFORT_QUICK;
    return o;
}

static karma_model *searched(const karma_table *table, const karma_fit_options *fit,
                             const karma_search_options *search) {
    karma_model *model = NULL;
    karma_error err;
    if (karma_search(&model, table, fit, search, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

static const karma_search_info *info_of(const karma_model *model) {
    const karma_search_info *info = karma_model_search_info(model);
    assert_non_null(info);
    return info;
}

/* Equal bit for bit, except for the time. */
static void assert_same_info(const karma_search_info *a, const karma_search_info *b) {
    assert_int_equal(a->goal, b->goal);
    assert_true(a->score == b->score && a->error == b->error);
    assert_int_equal(a->n_values, b->n_values);
    assert_memory_equal(a->values, b->values, a->n_values * sizeof *a->values);
    assert_true(a->n_folds == b->n_folds && a->n_repeats == b->n_repeats && a->n_rows == b->n_rows);
    assert_true(a->n_rows_tried == b->n_rows_tried && a->n_kernels == b->n_kernels && a->n_tried == b->n_tried);
    assert_true(a->n_kernels_to_the_end == b->n_kernels_to_the_end && a->n_chosen == b->n_chosen && a->end == b->end);
    assert_true(a->constant_score == b->constant_score && a->has_zero_imputation == b->has_zero_imputation);
    assert_true(a->zero_score == b->zero_score && a->zero_error == b->zero_error);
    assert_memory_equal(a->zero_values, b->zero_values, a->n_values * sizeof *a->values);
    assert_int_equal(a->n_gains, b->n_gains);
    for (size_t i = 0; i < a->n_gains; i++) {
        assert_string_equal(a->gains[i].ingredient, b->gains[i].ingredient);
        assert_true(a->gains[i].gain == b->gains[i].gain && a->gains[i].error == b->gains[i].error);
    }
    assert_int_equal(a->n_candidates, b->n_candidates);
    for (size_t i = 0; i < a->n_candidates; i++) {
        const karma_search_candidate *x = &a->candidates[i], *y = &b->candidates[i];
        assert_string_equal(x->kernel, y->kernel);
        assert_true(x->C_factor == y->C_factor && x->score == y->score && x->error == y->error);
        assert_int_equal(x->is_chosen, y->is_chosen);
    }
    assert_int_equal(a->n_members, b->n_members);
    for (size_t i = 0; i < a->n_members; i++) {
        const karma_search_member *x = &a->members[i], *y = &b->members[i];
        assert_string_equal(x->kernel, y->kernel);
        assert_int_equal(x->n_machines, y->n_machines);
        assert_memory_equal(x->C_factors, y->C_factors, x->n_machines * sizeof *x->C_factors);
        assert_memory_equal(x->weights, y->weights, x->n_machines * sizeof *x->weights);
    }
}

/* --- honesty ------------------------------------------------------------------------------------------- */

/* The nested cross-validated score of the automatic choice, averaged over tables. */
static double validated(const table_plan *plan, size_t n_tables, uint64_t seed, double *majority) {
    double sum = 0.0, constant = 0.0;
    for (size_t k = 0; k < n_tables; k++) {
        karma_table *table = draw_labelled(plan, seed + k);
        karma_fit_options fit = fit_options(1);
        karma_search_options search = search_options();
        karma_cv cv;
        karma_error err;
        fit.seed = (int64_t)k;
        if (karma_cross_validate(&cv, table, &fit, &search, 3, 1, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
        assert_int_equal(cv.n_done, 3);
        for (size_t f = 0; f < 3; f++) constant += cv.targets[0].majority[f] / 3.0;
        sum += cv.targets[0].mean;
        karma_cv_clear(&cv);
        karma_table_free(table);
    }
    if (majority) *majority = constant / (double)n_tables;
    return sum / (double)n_tables;
}

/* Labels that depend on nothing give the level of chance. 240 decisions have a standard error of 0.032; four are
 * allowed. The second table has more columns than rows: anything fitted to all of its rows could memorise them. */
static void noise_has_the_level_of_chance(void **state) {
    (void)state;
    static const table_plan narrow = {80, 4, 2, 6, 0.7, 2, 0.0}, wide = {40, 60, 0, 0, 0.8, 2, 0.0};
    double accuracy = validated(&narrow, 3, 100, NULL);
    if (!(fabs(accuracy - 0.5) <= 0.13)) fail_msg("accuracy %.3f on noise", accuracy);
    accuracy = validated(&wide, 3, 200, NULL);
    if (!(fabs(accuracy - 0.5) <= 0.18)) fail_msg("accuracy %.3f on noise of many columns", accuracy);
}

static void noise_explains_no_numbers(void **state) {
    (void)state;
    static const table_plan narrow = {80, 4, 2, 6, 0.7, 0, 0.0}, wide = {40, 60, 0, 0, 0.8, 0, 0.0};
    double r2 = validated(&narrow, 3, 300, NULL);
    if (!(r2 <= 0.05 && r2 >= -0.5)) fail_msg("R2 %.3f on noise", r2);
    r2 = validated(&wide, 2, 400, NULL);
    if (!(r2 <= 0.08 && r2 >= -0.7)) fail_msg("R2 %.3f on noise of many columns", r2);
}

/* What can be learned is learned. */
static void signal_is_found(void **state) {
    (void)state;
    static const table_plan classes = {80, 4, 1, 6, 0.8, 2, 3.0}, numbers = {80, 4, 1, 6, 0.8, 0, 3.0};
    double got = validated(&classes, 1, 500, NULL);
    if (!(got > 0.62)) fail_msg("accuracy %.3f", got);
    assert_true(validated(&numbers, 1, 500, NULL) > 0.3);
}

/* Three of four rows are of one class: the model must not be worse than the most common class. */
static void noise_is_not_predicted_worse_than_by_the_majority(void **state) {
    (void)state;
    enum { N = 80 };
    double lost = 0.0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        table_plan plan = {N, 4, 1, 6, 0.7, 0, 0.0};
        karma_table *table = draw_labelled(&plan, seed);
        const char *classes[N];
        for (size_t i = 0; i < N; i++) classes[i] = table->targets[0].value[i] > 100.0 + 7.0 * 0.674 ? "rare" : "usual";
        assert_int_equal(karma_table_add_target_classes(table, "label", classes, NULL), KARMA_OK);
        karma_fit_options fit = fit_options(1);
        karma_search_options search = search_options();
        karma_cv cv;
        assert_int_equal(karma_cross_validate(&cv, table, &fit, &search, 4, 1, NULL, NULL), KARMA_OK);
        for (size_t f = 0; f < 4; f++) lost += (cv.targets[0].majority[f] - cv.targets[0].values[f]) / 12.0;
        karma_cv_clear(&cv);
        karma_table_free(table);
    }
    if (!(lost <= 0.06)) fail_msg("%.3f worse than the majority", lost);
}

/* --- threads and seeds --------------------------------------------------------------------------------- */

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    table_plan plan = {60, 4, 2, 6, 0.7, 3, 1.0};
    karma_table *table = draw_labelled(&plan, 3);
    double *scores[2];
    karma_model *models[2];
    for (int k = 0; k < 2; k++) {
        karma_fit_options fit = fit_options(k ? 3 : 1);
        karma_search_options search = search_options();
        fit.probabilities = KARMA_CALIBRATE_SIGMOID;
        karma_model *model = searched(table, &fit, &search);
        scores[k] = malloc(60 * 3 * sizeof *scores[k]);
        assert_int_equal(karma_predict(scores[k], model, table, 1, NULL, NULL), KARMA_OK);
        assert_true(karma_model_has_probabilities(model, 0));
        models[k] = model;
    }
    assert_memory_equal(scores[0], scores[1], 60 * 3 * sizeof *scores[0]);
    assert_same_info(info_of(models[0]), info_of(models[1]));
    for (int k = 0; k < 2; k++) {
        free(scores[k]);
        karma_model_free(models[k]);
    }
    karma_table_free(table);
}

static void validate(karma_cv *cv, const karma_table *table, int threads, int64_t seed, size_t repeats) {
    karma_fit_options fit = fit_options(threads);
    karma_search_options search = search_options();
    fit.seed = seed;
    search.effort = KARMA_EFFORT_OFF;
    assert_int_equal(karma_cross_validate(cv, table, &fit, &search, 5, repeats, NULL, NULL), KARMA_OK);
}

static void a_seed_gives_the_same_folds(void **state) {
    (void)state;
    table_plan plan = {60, 4, 2, 6, 0.7, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 3);
    karma_cv a, b, c, twice;
    validate(&a, table, 1, 7, 1);
    validate(&b, table, 3, 7, 1);
    validate(&c, table, 1, 8, 1);
    validate(&twice, table, 2, 7, 2);
    assert_memory_equal(a.targets[0].values, b.targets[0].values, 5 * sizeof(double));
    assert_memory_equal(a.targets[0].values, twice.targets[0].values, 5 * sizeof(double));
    assert_true(memcmp(a.targets[0].values, c.targets[0].values, 5 * sizeof(double)) != 0);
    assert_int_equal(twice.n_done, 10);
    /* mean and error by hand: repeats make no more rows */
    double mean = 0.0, squares = 0.0;
    for (size_t f = 0; f < 10; f++) mean += twice.targets[0].values[f] / 10.0;
    for (size_t f = 0; f < 10; f++) squares += pow(twice.targets[0].values[f] - mean, 2.0);
    assert_true(fabs(twice.targets[0].mean - mean) < 1e-12);
    assert_true(fabs(twice.targets[0].error - sqrt(squares / 9.0 / 5.0)) < 1e-9);
    karma_cv_clear(&a);
    karma_cv_clear(&b);
    karma_cv_clear(&c);
    karma_cv_clear(&twice);
    karma_table_free(table);
}

/* --- goals and rules ----------------------------------------------------------------------------------- */

static void check_goal(const karma_table *table, karma_goal goal, const char *loss, const double *constant) {
    karma_fit_options fit = fit_options(1);
    karma_search_options search = search_options();
    search.goal = (int)goal;
    karma_model *model = searched(table, &fit, &search);
    const karma_search_info *info = info_of(model);
    double sum = 0.0, zeros = 0.0, score = info->score, other = info->constant_score, zero = info->zero_score;
    int is_loss =
        goal == KARMA_GOAL_LOG_LOSS || goal == KARMA_GOAL_MAE || goal == KARMA_GOAL_RMSE || goal == KARMA_GOAL_PINBALL;
    assert_int_equal(info->goal, goal);
    assert_true(info->has_zero_imputation);
    assert_int_equal(karma_goal_is_loss(goal), is_loss);
    assert_string_equal(karma_model_loss_name(model, 0), loss);
    assert_int_equal(info->n_values, 5);
    for (size_t f = 0; f < 5; f++) sum += info->values[f] / 5.0, zeros += info->zero_values[f] / 5.0;
    assert_true(fabs(sum - score) < 1e-9 * fmax(1.0, fabs(sum)));
    assert_true(fabs(zeros - zero) < 1e-9 * fmax(1.0, fabs(zeros)));
    double gain = is_loss ? other - score : score - other;
    if (!(gain > 0.0)) fail_msg("%s: %.4g, a constant prediction %.4g", karma_goal_name(goal), score, other);
    if (constant && !(fabs(other - *constant) < 1e-6 * fmax(1.0, fabs(*constant))))
        fail_msg("%s: a constant prediction reaches %.6g, not %.6g", karma_goal_name(goal), other, *constant);
    if (is_loss)
        assert_true(score > 0.0 && zero > 0.0);
    else
        assert_true(score <= 1.0 && zero <= 1.0);
    assert_true(info->error >= 0.0);
    karma_model_free(model);
}

static void every_goal_of_classes(void **state) {
    (void)state;
    table_plan plan = {80, 4, 1, 6, 0.8, 2, 3.0};
    karma_table *table = draw_labelled(&plan, 4);
    double ones = 0.0;
    for (size_t i = 0; i < 80; i++) ones += table->targets[0].value[i] / 80.0;
    double majority = fmax(ones, 1.0 - ones), entropy = -ones * log(ones) - (1.0 - ones) * log(1.0 - ones), half = 0.5;
    check_goal(table, KARMA_GOAL_ACCURACY, "hinge", &majority);
    check_goal(table, KARMA_GOAL_BALANCED_ACCURACY, "hinge", &half);
    check_goal(table, KARMA_GOAL_AUC, "hinge", &half);
    check_goal(table, KARMA_GOAL_LOG_LOSS, "logistic", &entropy);
    check_goal(table, KARMA_GOAL_F1, "hinge", NULL);
    karma_table_free(table);
}

static void every_goal_of_numbers(void **state) {
    (void)state;
    table_plan plan = {80, 4, 1, 6, 0.8, 0, 3.0};
    karma_table *table = draw_labelled(&plan, 4);
    double mean = 0.0, square = 0.0, absolute = 0.0, zero = 0.0;
    const double *y = table->targets[0].value;
    for (size_t i = 0; i < 80; i++) mean += y[i] / 80.0;
    for (size_t i = 0; i < 80; i++) square += pow(y[i] - mean, 2.0) / 80.0;
    for (size_t i = 0; i < 80; i++) absolute += fabs(y[i] - mean) / 80.0;
    double rmse = sqrt(square);
    check_goal(table, KARMA_GOAL_R2, "huber", &zero);
    check_goal(table, KARMA_GOAL_RMSE, "huber", &rmse);
    check_goal(table, KARMA_GOAL_MAE, "absolute", &absolute);
    check_goal(table, KARMA_GOAL_PINBALL, "pinball", NULL);
    karma_table_free(table);
}

static void goals_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t n_classes;
        karma_goal goal;
        karma_loss_kind loss;
        const char *says;
    } cases[] = {{2, KARMA_GOAL_R2, KARMA_LOSS_AUTO, "option 'goal'"},
                 {0, KARMA_GOAL_ACCURACY, KARMA_LOSS_AUTO, "option 'goal'"},
                 {2, KARMA_GOAL_LOG_LOSS, KARMA_LOSS_HINGE, "option 'loss=logistic'"},
                 {0, KARMA_GOAL_PINBALL, KARMA_LOSS_HUBER, "option 'loss=pinball'"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        table_plan plan = {20, 3, 0, 0, 0.8, cases[k].n_classes, 1.0};
        karma_table *table = draw_labelled(&plan, 4);
        karma_fit_options fit = fit_options(1);
        karma_search_options search = search_options();
        karma_model *model = NULL;
        karma_error err;
        search.goal = (int)cases[k].goal;
        fit.loss = (int)cases[k].loss;
        assert_int_equal(karma_search(&model, table, &fit, &search, NULL, &err), KARMA_ERR_OPTION);
        assert_null(model);
        if (!strstr(err.message, cases[k].says)) fail_msg("%s", err.message);
        karma_table_free(table);
    }
}

static size_t count_of(const char *text, char wanted) {
    size_t n = 0;
    for (; *text; text++) n += *text == wanted;
    return n;
}

/* The members are those of the model's plan, with weights that sum to 1. */
static void check_members(const karma_search_info *info, const karma_model *model) {
    double sum = 0.0;
    size_t n_machines = 0;
    assert_int_equal(info->n_members, model->plan.n_members);
    for (size_t m = 0; m < info->n_members; m++) {
        const karma_search_member *member = &info->members[m];
        const karma_i_C_grid *machines = &model->plan.members[m].machines;
        char *kernel = karma_i_plan_kernel_text(&model->plan.members[m].kernel);
        assert_string_equal(member->kernel, kernel);
        assert_non_null(strstr(karma_model_options(model)->kernel, kernel));
        free(kernel);
        assert_int_equal(member->n_machines, machines->n);
        for (size_t c = 0; c < machines->n; c++) {
            assert_true(member->C_factors[c] == machines->factors[c]);
            sum += member->weights[c];
        }
        n_machines += member->n_machines;
    }
    assert_true(fabs(sum - 1.0) < 1e-12);
    assert_int_equal(n_machines, info->n_chosen);
}

static void every_rule_gives_a_model(void **state) {
    (void)state;
    table_plan plan = {60, 4, 1, 6, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 4);
    for (int rule = 0; rule < KARMA_N_RULES; rule++) {
        karma_fit_options fit = fit_options(1);
        karma_search_options search = search_options();
        search.rule = rule;
        karma_model *model = searched(table, &fit, &search);
        const karma_search_info *info = info_of(model);
        const char *kernel = karma_model_options(model)->kernel;
        size_t members = info->n_chosen, chosen = 0;
        for (size_t i = 0; i < info->n_candidates; i++) chosen += info->candidates[i].is_chosen ? 1 : 0;
        assert_int_equal(chosen, members);
        check_members(info, model);
        if (rule == KARMA_RULE_BEST || rule == KARMA_RULE_ONE_SE) {
            assert_int_equal(members, 1);
            assert_int_equal(count_of(kernel, '|') + count_of(kernel, ','), count_of(kernel, ',')); /* one member */
            assert_int_equal(model->n_members, 1);
        } else
            assert_true(members > 1);  /* 60 rows leave many within the noise */
        if (rule == KARMA_RULE_BEST) { /* the first of the sorted list */
            assert_true(info->candidates[0].is_chosen);
            assert_true(fabs(info->candidates[0].score - info->score) < 1e-6);
        }
        karma_model_free(model);
    }
    karma_table_free(table);
}

/* --- what is fixed ------------------------------------------------------------------------------------- */

static void fixed_options_are_in_the_model(void **state) {
    (void)state;
    static char *names[] = {"kernel", "C", "loss"};
    table_plan plan = {40, 4, 1, 6, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 4);
    karma_fit_options fit = fit_options(1);
    karma_search_options search = search_options();
    search.fixed = (karma_names){names, 3};
    fit.kernel = "rank";
    fit.C = 2.5;
    fit.loss = KARMA_LOSS_SQUARED_HINGE;
    karma_model *model = searched(table, &fit, &search);
    const char *kernel = karma_model_options(model)->kernel;
    assert_non_null(strstr(kernel, "rank"));
    assert_null(strstr(kernel, "linear"));
    assert_null(strstr(kernel, "subspace"));
    assert_true(karma_model_options(model)->C == 2.5);
    assert_true(karma_model_info(model)->C == 2.5);
    assert_string_equal(karma_model_loss_name(model, 0), "squared-hinge");
    assert_false(info_of(model)->has_zero_imputation); /* it was not allowed */
    karma_model_free(model);
    karma_table_free(table);
}

static void options_of_kernel_and_solver_are_chosen(void **state) {
    (void)state;
    static const char *const chosen[] = {"kernel", "gamma", "C", "solver", "subspace-rank", "passes"};
    static const char *const kept[] = {"task", "loss", "class-weight", "seed", "threads", "effort", "no such option"};
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) assert_true(karma_search_chooses(chosen[i]));
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) assert_false(karma_search_chooses(kept[i]));
}

static void without_effort_it_is_a_fit(void **state) {
    (void)state;
    table_plan plan = {40, 4, 1, 6, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 4);
    karma_fit_options fit = fit_options(1);
    karma_search_options search = search_options();
    karma_model *plain = NULL;
    double a[40], b[40];
    search.effort = KARMA_EFFORT_OFF;
    karma_model *model = searched(table, &fit, &search);
    assert_int_equal(karma_fit(&plain, table, &fit, NULL, NULL), KARMA_OK);
    assert_null(karma_model_search_info(model));
    assert_int_equal(karma_predict(a, model, table, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_predict(b, plain, table, 1, NULL, NULL), KARMA_OK);
    assert_memory_equal(a, b, sizeof a);
    karma_model_free(model);
    karma_model_free(plain);
    karma_table_free(table);
}

/* --- no time, no patience ------------------------------------------------------------------------------ */

static void a_moment_is_enough_for_a_model(void **state) {
    (void)state;
    table_plan plan = {600, 30, 1, 6, 0.8, 2, 1.0}; /* more than can be tried in that time */
    karma_table *table = draw_labelled(&plan, 4);
    for (int threads = 1; threads <= 2; threads++) {
        karma_fit_options fit = fit_options(threads);
        karma_search_options search = search_options();
        search.effort = KARMA_EFFORT_THOROUGH;
        search.time = 0.05; /* the least there is; to try everything takes a hundred times as long */
        fit.probabilities = KARMA_CALIBRATE_SIGMOID;
        karma_model *model = searched(table, &fit, &search);
        const karma_search_info *info = info_of(model);
        assert_int_equal(info->end, KARMA_SEARCH_OUT_OF_TIME);
        assert_true(info->n_kernels >= 1 && info->n_kernels < 40);
        assert_true(info->n_tried == 3 * info->n_kernels); /* what a quick search tries comes first */
        assert_true(info->n_values >= 1);
        double scores[600];
        assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
        karma_model_free(model);
    }
    karma_table_free(table);
}

typedef struct stopper {
    size_t calls, from;
} stopper;

static int stop_from(void *payload, const char *stage, size_t done, size_t total) {
    stopper *s = payload;
    (void)done, (void)total;
    assert_non_null(stage);
    return ++s->calls >= s->from;
}

/* Whenever the hook asks to stop, there is a model of the results so far, or one sentence. */
static void stopping_leaves_a_model_or_a_sentence(void **state) {
    (void)state;
    table_plan plan = {30, 4, 1, 6, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 4);
    size_t n_models = 0, from = 1;
    stopper s;
    do {
        karma_fit_options fit = fit_options(1);
        karma_search_options search = search_options();
        karma_model *model = NULL;
        karma_error err;
        s = (stopper){0, from};
        karma_hooks hooks = {stop_from, NULL, &s};
        karma_status st = karma_search(&model, table, &fit, &search, &hooks, &err);
        if (st == KARMA_OK) {
            double scores[30];
            size_t n_folds = info_of(model)->n_folds * info_of(model)->n_repeats;
            karma_search_end end = info_of(model)->end;
            assert_true(end == KARMA_SEARCH_INTERRUPTED || end == KARMA_SEARCH_COMPLETE);
            assert_true(end == KARMA_SEARCH_INTERRUPTED || info_of(model)->n_values == n_folds);
            assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
            for (size_t i = 0; i < 30; i++) assert_true(isfinite(scores[i]));
            n_models++;
        } else {
            assert_int_equal(st, KARMA_ERR_CANCELLED);
            assert_true(err.message[0] != '\0');
            assert_null(model);
        }
        karma_model_free(model);
        from += from < 20 ? 1 : from / 3;
    } while (s.calls >= s.from);
    assert_true(n_models > 3);
    karma_table_free(table);
}

static void stopping_a_validation_keeps_the_folds_before(void **state) {
    (void)state;
    table_plan plan = {30, 4, 1, 6, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 4);
    for (size_t from = 1; from < 40; from += 3) {
        karma_fit_options fit = fit_options(1);
        karma_search_options search = search_options();
        karma_cv cv;
        karma_error err;
        stopper s = {0, from};
        karma_hooks hooks = {stop_from, NULL, &s};
        search.effort = KARMA_EFFORT_OFF;
        karma_status st = karma_cross_validate(&cv, table, &fit, &search, 5, 1, &hooks, &err);
        if (st == KARMA_OK) {
            assert_true(cv.n_done >= 1 && cv.n_done <= 5);
            for (size_t f = 0; f < cv.n_done; f++) assert_true(cv.targets[0].values[f] >= 0.0);
            karma_cv_clear(&cv);
        } else
            assert_int_equal(st, KARMA_ERR_CANCELLED);
    }
    karma_table_free(table);
}

/* --- tables of all kinds ------------------------------------------------------------------------------- */

static karma_table *read_table(const char *ending, const char *text, const char *const *settings) {
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_read_option_table(), &o);
    for (; *settings; settings += 2)
        assert_int_equal(
            karma_option_set(karma_option_find(karma_read_option_table(), settings[0]), &o, settings[1], NULL),
            KARMA_OK);
    temp_create(&file, ending, text, strlen(text));
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

/* Searches and validates; both give finite numbers, or (says) the same sentence. */
static void check_table(const char *what, karma_task task, karma_table *table, const char *says) {
    karma_fit_options fit = fit_options(1);
    fit.task = (int)task;
    karma_search_options search = search_options();
    karma_model *model = NULL;
    karma_error err = {0};
    karma_status st = karma_search(&model, table, &fit, &search, NULL, &err);
    if (says) {
        if (st == KARMA_OK || !strstr(err.message, says)) fail_msg("%s: %s", what, err.message);
        assert_null(model);
    } else {
        if (st != KARMA_OK) fail_msg("%s: %s", what, err.message);
        size_t n = karma_table_n_rows(table) * karma_model_n_outputs(model);
        double *scores = malloc(n * sizeof *scores);
        assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
        for (size_t i = 0; i < n; i++)
            if (!isfinite(scores[i])) fail_msg("%s: score %zu is %g", what, i, scores[i]);
        assert_true(isfinite(info_of(model)->score));
        free(scores);
        karma_model_free(model);
        karma_cv cv;
        st = karma_cross_validate(&cv, table, &fit, &search, 3, 1, NULL, &err);
        int too_few = karma_table_n_rows(table) == 2; /* the rest has one class, or is one row */
        if (st != KARMA_OK && !too_few) fail_msg("%s, validated: %s", what, err.message);
        if (st != KARMA_OK) assert_true(strstr(err.message, "only one class") || strstr(err.message, "one row"));
        if (st == KARMA_OK) karma_cv_clear(&cv);
    }
    karma_table_free(table);
}

static const char *const LABEL[] = {"target", "y", NULL};

static void tables_of_all_kinds(void **state) {
    (void)state;
    check_table("rows without a label", KARMA_TASK_AUTO,
                read_table(".csv", "a,b,y\n1,2,p\n2,,q\n,3,\n4,1,p\n5,5,q\n0,,\n-1,-2,p\n3,2,q\n1,1,p\n2,2,q\n", LABEL),
                NULL);
    check_table("a class of one row", KARMA_TASK_AUTO,
                read_table(".csv", "a,b,y\n1,2,p\n2,,p\n,3,q\n4,1,p\n5,5,r\n0,,r\n-1,-2,p\n", LABEL), NULL);
    check_table("one class", KARMA_TASK_AUTO, read_table(".csv", "a,b,y\n1,2,p\n2,,p\n,3,p\n4,1,p\n5,5,p\n", LABEL),
                "class");
    check_table("two rows", KARMA_TASK_AUTO, read_table(".csv", "a,b,y\n1,2,p\n2,,q\n", LABEL), NULL);
    check_table("two rows with numbers", KARMA_TASK_REGRESS, read_table(".csv", "a,b,y\n1,2,1.5\n2,,2.25\n", LABEL),
                NULL);
    check_table("one row", KARMA_TASK_REGRESS, read_table(".csv", "a,b,y\n1,2,1.5\n", LABEL), "one row is too few");
    check_table("constant columns", KARMA_TASK_AUTO,
                read_table(".csv", "a,b,y\n1,2,p\n1,2,q\n1,,p\n1,2,q\n1,2,p\n1,2,q\n", LABEL), NULL);
    check_table("an empty column", KARMA_TASK_AUTO,
                read_table(".csv", "a,b,y\n1,,p\n2,,q\n3,,p\n4,,q\n5,,p\n6,,q\n", LABEL), NULL);
    check_table("nothing but holes", KARMA_TASK_AUTO,
                read_table(".csv", "a,b,y\n,,p\n,,q\n,,p\n,,q\n,,p\n,,q\n", LABEL), "nothing to learn from");
    check_table("categories", KARMA_TASK_AUTO,
                read_table(".csv", "a,b,y\nred,x,p\nblue,,q\nred,z,p\n,x,q\ngreen,z,p\nblue,x,q\n", LABEL), NULL);
    check_table("one column", KARMA_TASK_AUTO, read_table(".csv", "a,y\n1,p\n2,q\n3,p\n4,q\n5,p\n6,q\n", LABEL), NULL);
    check_table("a constant number", KARMA_TASK_REGRESS,
                read_table(".csv", "a,b,y\n1,2,1.5\n2,,1.5\n,3,1.5\n4,1,1.5\n5,5,1.5\n6,1,1.5\n", LABEL), NULL);
    static const char *const libsvm[] = {"format", "libsvm", "absent", "missing", NULL};
    check_table("LIBSVM", KARMA_TASK_AUTO,
                read_table(".txt", "+1 1:0.5 4:2\n-1 2:1\n+1 1:0.1 2:3\n-1 3:1 4:1\n+1 1:1\n-1 2:2 5:1\n", libsvm),
                NULL);
    static const char *const ratings[] = {"format", "ratings", "item", "b", "like", "4", NULL};
    check_table(
        "ratings", KARMA_TASK_AUTO,
        read_table(".csv",
                   "user,item,rating\n1,a,5\n1,b,4\n2,a,1\n2,b,2\n3,a,4\n3,b,5\n3,c,1\n4,b,1\n4,c,3\n5,b,5\n5,c,2\n",
                   ratings),
        NULL);
}

static void kernels_that_were_given(void **state) {
    (void)state;
    table_plan plan = {30, 3, 0, 0, 1.0, 2, 2.0};
    karma_table *table = draw_labelled(&plan, 6);
    float values[30 * 30];
    karma_gram *gram = NULL;
    karma_fit_options o = fit_options(1);
    assert_int_equal(karma_gram_new(&gram, table, NULL, &o, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_gram_rows(values, gram, 0, 30, NULL), KARMA_OK);
    assert_int_equal(karma_table_set_gram(table, values, 30, NULL), KARMA_OK);
    karma_gram_free(gram);
    karma_search_options search = search_options();
    karma_model *model = searched(table, &o, &search);
    assert_non_null(strstr(karma_model_options(model)->kernel, "precomputed"));
    assert_int_equal(model->n_members, 1);
    karma_model_free(model);
    check_table("kernel values", KARMA_TASK_AUTO, table, NULL);
}

/* Classes and numbers together; some folds have no label of one of them. */
static void targets_of_both_kinds(void **state) {
    (void)state;
    enum { N = 40 };
    table_plan plan = {N, 4, 1, 6, 0.8, 2, 2.0};
    karma_table *table = draw_labelled(&plan, 6);
    double numbers[N];
    for (size_t i = 0; i < N; i++)
        numbers[i] = i < 12 ? 1.7 * (double)i + 0.3 * table->targets[0].value[i] : (double)NAN;
    assert_int_equal(karma_table_add_target_numbers(table, "few", numbers, NULL), KARMA_OK);
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t i = 0; i < N; i++) numbers[i] = karma_i_rng_normal(&rng);
    add_drawn_target(table, "number", 0, 1.0, numbers, &rng);
    karma_fit_options fit = fit_options(1);
    karma_search_options search = search_options();
    karma_model *model = searched(table, &fit, &search);
    assert_string_equal(karma_goal_name(info_of(model)->goal), "accuracy and R2");
    karma_model_free(model);
    karma_cv cv;
    search.effort = KARMA_EFFORT_OFF;
    karma_error err;
    if (karma_cross_validate(&cv, table, &fit, &search, 20, 1, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(cv.targets[0].goal, KARMA_GOAL_ACCURACY);
    assert_int_equal(cv.targets[1].goal, KARMA_GOAL_R2);
    assert_true(isnan(cv.targets[0].mean_of[KARMA_GOAL_R2]));
    assert_true(cv.targets[1].n_of[KARMA_GOAL_MAE] >= 1);
    assert_true(isfinite(cv.targets[1].mean_of[KARMA_GOAL_MAE]));
    assert_true(cv.targets[1].n_of[KARMA_GOAL_MAE] < 20); /* some have no label of it */
    assert_int_equal(cv.targets[2].n_of[KARMA_GOAL_MAE], 20);
    karma_cv_clear(&cv);
    karma_table_free(table);
}

/* Bit for bit, like scores. */
static void files_keep_the_account_of_a_search(void **state) {
    (void)state;
    table_plan plan = {40, 4, 1, 6, 0.8, 3, 1.0};
    karma_table *table = draw_labelled(&plan, 4);
    karma_fit_options fit = fit_options(1);
    karma_search_options search = search_options();
    karma_model *model = searched(table, &fit, &search), *again = NULL;
    temp_file file;
    double a[120], b[120];
    temp_create(&file, ".karma", "", 0);
    assert_int_equal(karma_model_save(model, file.path, NULL), KARMA_OK);
    assert_int_equal(karma_model_load(&again, file.path, NULL), KARMA_OK);
    assert_same_info(info_of(model), info_of(again));
    assert_true(isnan(info_of(again)->seconds)); /* not part of a model: the same data give the same bytes */
    assert_int_equal(karma_predict(a, model, table, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_predict(b, again, table, 1, NULL, NULL), KARMA_OK);
    assert_memory_equal(a, b, sizeof a);
    temp_remove(&file);
    karma_model_free(model);
    karma_model_free(again);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_has_the_level_of_chance),
        cmocka_unit_test(noise_explains_no_numbers),
        cmocka_unit_test(signal_is_found),
        cmocka_unit_test(noise_is_not_predicted_worse_than_by_the_majority),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(a_seed_gives_the_same_folds),
        cmocka_unit_test(every_goal_of_classes),
        cmocka_unit_test(every_goal_of_numbers),
        cmocka_unit_test(goals_that_do_not_fit_are_refused),
        cmocka_unit_test(every_rule_gives_a_model),
        cmocka_unit_test(fixed_options_are_in_the_model),
        cmocka_unit_test(options_of_kernel_and_solver_are_chosen),
        cmocka_unit_test(without_effort_it_is_a_fit),
        cmocka_unit_test(a_moment_is_enough_for_a_model),
        cmocka_unit_test(stopping_leaves_a_model_or_a_sentence),
        cmocka_unit_test(stopping_a_validation_keeps_the_folds_before),
        cmocka_unit_test(tables_of_all_kinds),
        cmocka_unit_test(kernels_that_were_given),
        cmocka_unit_test(targets_of_both_kinds),
        cmocka_unit_test(files_keep_the_account_of_a_search),
    };
    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
