#include "compare/method.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "compare/tune.h"
#include "karma/search.h"

static const char *const gamma_1[] = {"linear(gamma=1)", NULL};
static const char *const gamma_2[] = {"linear(gamma=2)", NULL};
static const char *const gamma_4[] = {"linear(gamma=4)", NULL};
static const char *const ranks[] = {"rank(gamma=2)", NULL};
static const char *const subspace[] = {"subspace", NULL};
static const char *const unions[] = {"linear(gamma=2) + 1*subspace", "linear(gamma=2) + 10*subspace",
                                     "linear(gamma=2) + 100*subspace", NULL};

/* Those without help are rivals, and have theirs. */
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
    {"karma-union", "gamma 2 and the subspace, weighed by a mu of 1, 10 or 100", unions},
    {"karma-auto", "a committee of the kernels that do best, as karma train chooses it", NULL},
};

size_t karma_n_methods(void) {
    return sizeof records / sizeof records[0];
}

karma_i_method karma_i_method_at(size_t index) {
    karma_i_method method = {
        .name = records[index].name, .help = records[index].help, .kernels = records[index].kernels};
    if (!method.help && karma_i_rival_find(&method.rival, method.name)) {
        method.is_rival = 1;
        method.help = method.rival.help;
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

double karma_i_seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

karma_status karma_i_contest_value(double *out, karma_goal goal, const karma_model *like, const karma_table *table,
                                   const double *scores, karma_error *err) {
    karma_metrics metrics;
    KARMA_TRY(karma_evaluate(&metrics, like, 0, table, scores, err));
    double value = karma_i_goal_of(&metrics, goal);
    karma_metrics_clear(&metrics);
    if (isnan(value) && goal == KARMA_GOAL_AUC) value = 0.5;
    if (isnan(value))
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "the %s of a part of %zu row%s cannot be told: fewer --folds or another --goal may help",
                            karma_i_goal_name(goal), table->n_rows, table->n_rows == 1 ? "" : "s");
    *out = value;
    return KARMA_OK;
}

karma_status karma_i_contest_constant(double *out, const karma_i_contest *contest, const karma_i_part *part,
                                      karma_error *err) {
    size_t K = contest->task->n_outputs, n = part->train->n_rows, n_test = part->test->n_rows;
    karma_model *model = NULL;
    double *scores = karma_i_alloc(n > n_test ? n : n_test, K * sizeof *scores);
    karma_status st =
        scores ? karma_i_model_start_like(&model, contest->task, part->train, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_constant_scores(scores, model, part->train, err);
    for (size_t i = n; st == KARMA_OK && i < n_test; i++) memcpy(scores + i * K, scores, K * sizeof *scores);
    if (st == KARMA_OK) st = karma_i_contest_value(out, contest->goal, model, part->test, scores, err);
    if (st == KARMA_ERR_DATA) { /* a loss without probabilities has none here either */
        *out = NAN;
        st = KARMA_OK;
    }
    karma_model_free(model);
    karma_i_free(scores);
    return st;
}

/* --- rivals, and karma with a kernel that was chosen --------------------------------------------------- */

static karma_status score_learner(karma_compare_fold *out, const karma_i_learner *learner, karma_goal goal,
                                  const karma_table *test, const karma_hooks *hooks, karma_error *err) {
    double began = karma_i_seconds(), *scores = karma_i_alloc(test->n_rows, learner->task->n_outputs * sizeof *scores);
    karma_status st = scores ? karma_i_learner_score(scores, learner, test, hooks, err) : karma_i_fail_memory(err);
    out->predict_seconds = karma_i_seconds() - began;
    if (st == KARMA_OK) st = karma_i_contest_value(&out->value, goal, learner->task, test, scores, err);
    karma_i_free(scores);
    return st;
}

/* With the strength in `out`. */
static karma_status learn_and_judge(karma_compare_fold *out, const karma_i_rival *rival, const karma_model *task,
                                    karma_goal goal, const karma_i_part *part, const karma_hooks *hooks,
                                    karma_error *err) {
    karma_i_rival_options options;
    karma_i_learner *learner = NULL;
    karma_i_rival_options_init(&options);
    options.strength = out->strength;
    options.impute.seed = (uint64_t)task->options.seed;
    double began = karma_i_seconds();
    KARMA_TRY(karma_i_learner_fit(&learner, rival, task, part->train, &options, hooks, err));
    out->fit_seconds = karma_i_seconds() - began;
    karma_status st = score_learner(out, learner, goal, part->test, hooks, err);
    karma_i_learner_free(learner);
    return st;
}

static karma_status run_rival(karma_compare_fold *out, const karma_i_rival *rival, const karma_i_contest *contest,
                              const karma_i_part *part, const karma_hooks *hooks, karma_error *err) {
    double began = karma_i_seconds();
    if (contest->goal == KARMA_GOAL_LOG_LOSS && rival->tells_no_odds)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s tells no probabilities, and log loss is about them", rival->name);
    KARMA_TRY(karma_i_tune_rival(&out->strength, rival, contest, part, hooks, err));
    out->tune_seconds = karma_i_seconds() - began;
    return learn_and_judge(out, rival, contest->task, contest->goal, part, hooks, err);
}

static karma_status run_kernels(karma_compare_fold *out, const char *const *kernels, const karma_i_contest *contest,
                                const karma_i_part *part, const karma_hooks *hooks, karma_error *err) {
    const char *kernel = kernels[0];
    double began = karma_i_seconds();
    karma_model own = *contest->task; /* borrows */
    KARMA_TRY(karma_i_tune_kernels(&kernel, &out->strength, kernels, KARMA_I_MOST_RACING, contest, part, hooks, err));
    out->tune_seconds = karma_i_seconds() - began;
    own.options.kernel = (char *)kernel; /* not written to */
    KARMA_TRY(learn_and_judge(out, &karma_i_rival_karma, &own, contest->goal, part, hooks, err));
    out->kernel = karma_i_strdup(kernel);
    return out->kernel ? KARMA_OK : karma_i_fail_memory(err);
}

/* --- karma_search -------------------------------------------------------------------------------------- */

/* Seconds that were spent on choosing, as the search's own account has it. */
static double searching_seconds(const karma_model *model) {
    const char *account = karma_model_search(model);
    json_t *object = account ? json_loads(account, 0, NULL) : NULL;
    double seconds = json_number_value(json_object_get(object, "seconds"));
    json_decref(object);
    return seconds;
}

static karma_status judge_model(karma_compare_fold *out, const karma_model *model, const karma_i_contest *contest,
                                const karma_table *test, const karma_hooks *hooks, karma_error *err) {
    double began = karma_i_seconds(), *scores = karma_i_alloc(test->n_rows, model->n_outputs * sizeof *scores);
    karma_status st = scores ? karma_predict(scores, model, test, (size_t)contest->fit->threads, hooks, err)
                             : karma_i_fail_memory(err);
    out->predict_seconds = karma_i_seconds() - began;
    if (st == KARMA_OK) st = karma_i_contest_value(&out->value, contest->goal, model, test, scores, err);
    if (st == KARMA_OK && !(out->kernel = karma_i_strdup(model->options.kernel ? model->options.kernel : "linear")))
        st = karma_i_fail_memory(err);
    karma_i_free(scores);
    return st;
}

/* Whether these rows have nothing to tell apart, though all rows have. */
static karma_status is_of_one_class(int *out, const karma_model *task, const karma_table *train, karma_error *err) {
    karma_model *model = NULL;
    KARMA_TRY(karma_i_model_start_like(&model, task, train, err));
    const karma_i_labels *labels = &model->heads[0].labels;
    size_t n_seen = 0;
    for (size_t k = 0; k < labels->n_classes; k++) n_seen += labels->class_count[k] > 0;
    *out = labels->n_classes > 0 && n_seen < 2;
    karma_model_free(model);
    return KARMA_OK;
}

static karma_status run_search(karma_compare_fold *out, const karma_i_contest *contest, const karma_i_part *part,
                               const karma_hooks *hooks, karma_error *err) {
    karma_fit_options fit = *contest->fit; /* both borrow their texts */
    karma_search_options search = *contest->search;
    karma_model *model = NULL;
    double began = karma_i_seconds();
    int is_settled;
    KARMA_TRY(is_of_one_class(&is_settled, contest->task, part->train, err));
    if (is_settled) return karma_i_contest_constant(&out->value, contest, part, err); /* as the others learn it */
    fit.folds = (int64_t)part->n_inner;
    search.goal = (int)contest->goal;
    search.time = part->time;
    KARMA_TRY(karma_search(&model, part->train, &fit, &search, hooks, err));
    out->tune_seconds = searching_seconds(model);
    out->fit_seconds = karma_i_seconds() - began - out->tune_seconds;
    karma_status st = judge_model(out, model, contest, part->test, hooks, err);
    karma_model_free(model);
    return st;
}

karma_status karma_i_method_run(karma_compare_fold *out, const karma_i_method *method, const karma_i_contest *contest,
                                const karma_i_part *part, const karma_hooks *hooks, karma_error *err) {
    karma_compare_fold fold = {.value = NAN, .strength = NAN};
    karma_status st = method->is_rival  ? run_rival(&fold, &method->rival, contest, part, hooks, err)
                      : method->kernels ? run_kernels(&fold, method->kernels, contest, part, hooks, err)
                                        : run_search(&fold, contest, part, hooks, err);
    if (st == KARMA_OK)
        *out = fold;
    else
        karma_i_free(fold.kernel);
    return st;
}
