#include "compare/method.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "compare/tune.h"
#include "eval/metric_table.h"
#include "karma/search.h"

static const char *const gamma_1[] = {"linear(gamma=1)", NULL};
static const char *const gamma_2[] = {"linear(gamma=2)", NULL};
static const char *const gamma_4[] = {"linear(gamma=4)", NULL};
static const char *const ranks[] = {"rank(gamma=2)", NULL};
static const char *const subspace[] = {"subspace", NULL};
static const char *const unions[] = {"linear(gamma=2) + 1*subspace", "linear(gamma=2) + 10*subspace",
                                     "linear(gamma=2) + 100*subspace", NULL};

/* Methods without a help text are baselines, which have their own. */
static const struct {
    const char *name, *help;
    const char *const *kernels;
} records[] = {
    {"complete-case", NULL, NULL},
    {"horvitz-thompson", NULL, NULL},
    {"zero", NULL, NULL},
    {"mean", NULL, NULL},
    {"mean-indicator", NULL, NULL},
    {"regression", NULL, NULL},
    {"hot-deck-nearest", NULL, NULL},
    {"hot-deck-random", NULL, NULL},
    {"knn", NULL, NULL},
    {"soft-impute", NULL, NULL},
    {"mc-1", NULL, NULL},
    {"mc-b", NULL, NULL},
    {"geom", NULL, NULL},
    {"polar", NULL, NULL},
    {"karma-1", "karma's linear kernel, gamma 1", gamma_1},
    {"karma-2", "karma's linear kernel, gamma 2", gamma_2},
    {"karma-4", "karma's linear kernel, gamma 4", gamma_4},
    {"karma-rank", "karma's rank kernel, gamma 2", ranks},
    {"karma-subspace", "the product of completions in a hidden subspace", subspace},
    {"karma-union", "gamma 2 plus the subspace, weighted by a mu of 1, 10 or 100", unions},
    {"karma-auto", "a committee of the best kernels, chosen as karma train does", NULL},
};

size_t karma_n_methods(void) {
    return sizeof records / sizeof records[0];
}

karma_i_method karma_i_method_at(size_t index) {
    karma_i_method method = {
        .name = records[index].name, .help = records[index].help, .kernels = records[index].kernels};
    if (!method.help && karma_i_baseline_find(&method.baseline, method.name)) {
        method.is_baseline = 1;
        method.help = method.baseline.help;
    }
    return method;
}

const char *karma_method_name(size_t method) {
    return records[method].name;
}

const char *karma_method_help(size_t method) {
    return karma_i_method_at(method).help;
}

size_t karma_i_method_find(const char *name) {
    size_t m = 0;
    while (m < karma_n_methods() && strcmp(records[m].name, name) != 0) m++;
    return m;
}

karma_status karma_i_contest_value(double *out, karma_goal goal, const karma_i_task *task, const karma_table *table,
                                   const double *scores, karma_error *err) {
    const karma_i_metric *metric = karma_i_metric_of_goal(goal);
    double value;
    KARMA_TRY(karma_i_metric_value(&value, metric, task, 0, table, scores, err));
    if (isnan(value) && metric->fallback > 0.0) value = metric->fallback;
    if (isnan(value))
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "the %s of a fold of %zu row%s cannot be computed: set option 'folds' to a smaller number, "
                            "or another option 'goal'",
                            metric->about.name, table->n_rows, table->n_rows == 1 ? "" : "s");
    *out = value;
    return KARMA_OK;
}

karma_status karma_i_contest_constant(double *out, const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                      karma_error *err) {
    size_t K = contest->task->n_outputs, n = outer->train->n_rows, n_test = outer->test->n_rows;
    karma_i_task task = {0}; /* with the labels of the training rows */
    double *scores = karma_i_alloc(n > n_test ? n : n_test, K * sizeof *scores);
    karma_status st = scores ? karma_i_task_relearn(&task, contest->task, outer->train, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_constant_scores(scores, &task, outer->train, err);
    for (size_t i = n; st == KARMA_OK && i < n_test; i++) memcpy(scores + i * K, scores, K * sizeof *scores);
    if (st == KARMA_OK) st = karma_i_contest_value(out, contest->goal, &task, outer->test, scores, err);
    if (st == KARMA_ERR_DATA) { /* a loss without probabilities has none here either */
        *out = NAN;
        st = KARMA_OK;
    }
    karma_i_task_clear(&task);
    karma_i_free(scores);
    return st;
}

/* --- baselines, and karma with a kernel that was chosen --------------------------------------------------- */

static karma_status score_learner(karma_compare_fold *out, const karma_i_learner *learner, karma_goal goal,
                                  const karma_table *test, const karma_hooks *hooks, karma_error *err) {
    double began = karma_i_now(), *scores = karma_i_alloc(test->n_rows, learner->task->n_outputs * sizeof *scores);
    karma_status st = scores ? karma_i_learner_score(scores, learner, test, hooks, err) : karma_i_fail_memory(err);
    out->predict_seconds = karma_i_now() - began;
    if (st == KARMA_OK) st = karma_i_contest_value(&out->value, goal, learner->task, test, scores, err);
    karma_i_free(scores);
    return st;
}

/* With the strength in `out`. */
static karma_status learn_and_judge(karma_compare_fold *out, const karma_i_baseline *baseline, const karma_i_task *task,
                                    karma_goal goal, const karma_i_outer_fold *outer, const karma_hooks *hooks,
                                    karma_error *err) {
    karma_i_baseline_options options;
    karma_i_learner *learner = NULL;
    karma_i_baseline_options_init(&options);
    options.strength = out->strength;
    options.impute.seed = (uint64_t)task->options.seed;
    double began = karma_i_now();
    KARMA_TRY(karma_i_learner_fit(&learner, baseline, task, outer->train, &options, hooks, err));
    out->fit_seconds = karma_i_now() - began;
    karma_status st = score_learner(out, learner, goal, outer->test, hooks, err);
    karma_i_learner_free(learner);
    return st;
}

static karma_status run_baseline(karma_compare_fold *out, const karma_i_baseline *baseline,
                                 const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                 const karma_hooks *hooks, karma_error *err) {
    double began = karma_i_now();
    const karma_i_metric *metric = karma_i_metric_of_goal(contest->goal);
    if (metric->needs == KARMA_I_NEEDS_PROBABILITIES && baseline->lacks_probabilities)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s has no probabilities, but %s needs them", baseline->name,
                            metric->about.name);
    KARMA_TRY(karma_i_tune_baseline(&out->strength, baseline, contest, outer, hooks, err));
    out->tune_seconds = karma_i_now() - began;
    return learn_and_judge(out, baseline, contest->task, contest->goal, outer, hooks, err);
}

static karma_status run_kernels(karma_compare_fold *out, const char *const *kernels, const karma_i_contest *contest,
                                const karma_i_outer_fold *outer, const karma_hooks *hooks, karma_error *err) {
    const char *kernel = kernels[0];
    double began = karma_i_now();
    karma_fit_options options = contest->task->options; /* borrows its texts */
    KARMA_TRY(karma_i_tune_kernels(&kernel, &out->strength, kernels, KARMA_I_MOST_RACING, contest, outer, hooks, err));
    out->tune_seconds = karma_i_now() - began;
    options.kernel = (char *)kernel; /* not written to */
    karma_i_task own = karma_i_task_with(contest->task, &options);
    KARMA_TRY(learn_and_judge(out, &karma_i_baseline_karma, &own, contest->goal, outer, hooks, err));
    out->kernel = karma_i_strdup(kernel);
    return out->kernel ? KARMA_OK : karma_i_fail_memory(err);
}

/* --- karma_search -------------------------------------------------------------------------------------- */

static karma_status judge_model(karma_compare_fold *out, const karma_model *model, const karma_i_contest *contest,
                                const karma_table *test, const karma_hooks *hooks, karma_error *err) {
    double began = karma_i_now(), *scores = karma_i_alloc(test->n_rows, model->task.n_outputs * sizeof *scores);
    karma_status st = scores ? karma_predict(scores, model, test, (size_t)contest->fit->threads, hooks, err)
                             : karma_i_fail_memory(err);
    out->predict_seconds = karma_i_now() - began;
    if (st == KARMA_OK) st = karma_i_contest_value(&out->value, contest->goal, &model->task, test, scores, err);
    if (st == KARMA_OK &&
        !(out->kernel = karma_i_strdup(model->task.options.kernel ? model->task.options.kernel : "linear")))
        st = karma_i_fail_memory(err);
    karma_i_free(scores);
    return st;
}

/* Whether all these rows have the same class, although the table has several. */
static karma_status is_of_one_class(int *out, const karma_i_task *task, const karma_table *train, karma_error *err) {
    karma_i_task own;
    KARMA_TRY(karma_i_task_relearn(&own, task, train, err));
    const karma_i_labels *labels = &own.heads[0].labels;
    size_t n_seen = 0;
    for (size_t k = 0; k < labels->n_classes; k++) n_seen += labels->class_count[k] > 0;
    *out = labels->n_classes > 0 && n_seen < 2;
    karma_i_task_clear(&own);
    return KARMA_OK;
}

static karma_status run_search(karma_compare_fold *out, const karma_i_contest *contest, const karma_i_outer_fold *outer,
                               const karma_hooks *hooks, karma_error *err) {
    karma_fit_options fit = *contest->fit; /* both borrow their texts */
    karma_search_options search = *contest->search;
    karma_model *model = NULL;
    double began = karma_i_now();
    int is_settled;
    KARMA_TRY(is_of_one_class(&is_settled, contest->task, outer->train, err));
    if (is_settled) return karma_i_contest_constant(&out->value, contest, outer, err); /* as the others learn it */
    fit.folds = (int64_t)outer->inner->n_folds;
    search.goal = (int)contest->goal;
    search.time = outer->time;
    KARMA_TRY(karma_search(&model, outer->train, &fit, &search, hooks, err));
    out->tune_seconds = model->search ? model->search->seconds : 0.0; /* none without an effort */
    out->is_cut_short = model->search && model->search->end != KARMA_SEARCH_COMPLETE;
    out->fit_seconds = karma_i_now() - began - out->tune_seconds;
    karma_status st = judge_model(out, model, contest, outer->test, hooks, err);
    karma_model_free(model);
    return st;
}

/* --- the caller's own ---------------------------------------------------------------------------------- */

static karma_status run_own(karma_compare_fold *out, const karma_own_method *method, const karma_i_contest *contest,
                            const karma_i_outer_fold *outer, const karma_hooks *hooks, karma_error *err) {
    double *scores = NULL;
    karma_contest_result result;
    KARMA_TRY(karma_i_own_method_score(&scores, &result, method, contest, outer, hooks, err));
    karma_status st = karma_i_contest_value(&out->value, contest->goal, contest->task, outer->test, scores, err);
    karma_i_free(scores);
    KARMA_TRY(st);
    out->tune_seconds = result.tune_seconds;
    out->fit_seconds = result.fit_seconds;
    out->predict_seconds = result.predict_seconds;
    if (!*result.choice) return KARMA_OK;
    out->kernel = karma_i_strdup(result.choice);
    return out->kernel ? KARMA_OK : karma_i_fail_memory(err);
}

karma_status karma_i_method_run(karma_compare_fold *out, const karma_i_method *method, const karma_i_contest *contest,
                                const karma_i_outer_fold *outer, const karma_hooks *hooks, karma_error *err) {
    karma_compare_fold fold = {.value = NAN, .strength = NAN};
    karma_status st = method->own           ? run_own(&fold, method->own, contest, outer, hooks, err)
                      : method->is_baseline ? run_baseline(&fold, &method->baseline, contest, outer, hooks, err)
                      : method->kernels     ? run_kernels(&fold, method->kernels, contest, outer, hooks, err)
                                            : run_search(&fold, contest, outer, hooks, err);
    if (st == KARMA_OK)
        *out = fold;
    else
        karma_i_free(fold.kernel);
    return st;
}
