#include "compare/tune.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "search/choose.h"

/* Ties go to the first in this order: the method's default, then the smaller strengths. */
static const double strengths[] = {1.0, 0.1, 10.0, 100.0};
enum { N_STRENGTHS = sizeof strengths / sizeof strengths[0] };

static size_t best_of(const double *sums) {
    size_t best = 0;
    for (size_t s = 1; s < N_STRENGTHS; s++)
        if (sums[s] > sums[best]) best = s;
    return best;
}

/* --- fit by fit ---------------------------------------------------------------------------------------- */

/* What a strength is judged by: a method learns from rows and predicts others. */
typedef struct trial {
    const karma_i_baseline *baseline;
    const karma_i_task *task;
    karma_goal goal;
    const karma_table *train, *test;
} trial;

static karma_status add_value(double *sum, double strength, double *scores, const trial *t, const karma_hooks *hooks,
                              karma_error *err) {
    const karma_i_judge judge = {.goal = t->goal};
    karma_i_baseline_options options;
    karma_i_learner *learner = NULL;
    double value = 0.0;
    karma_i_baseline_options_init(&options);
    options.strength = strength;
    options.impute.seed = (uint64_t)t->task->options.seed;
    KARMA_TRY(karma_i_learner_fit(&learner, t->baseline, t->task, t->train, &options, hooks, err));
    karma_status st = karma_i_learner_score(scores, learner, t->test, hooks, err);
    if (st == KARMA_OK) st = karma_i_goal_value(&value, &judge, t->task, t->test, scores, err);
    if (st == KARMA_OK) *sum += value;
    karma_i_learner_free(learner);
    return st;
}

/* Adds the goal of each strength on the rows of `test` to sums[strength]. */
static karma_status add_values(double *sums, const trial *t, const karma_hooks *hooks, karma_error *err) {
    double *scores = karma_i_alloc(t->test->n_rows, t->task->n_outputs * sizeof *scores);
    karma_status st = scores ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t s = 0; st == KARMA_OK && s < N_STRENGTHS; s++) {
        st = add_value(&sums[s], strengths[s], scores, t, hooks, err);
        if (st == KARMA_OK && karma_i_progress(hooks, "tuning", s, N_STRENGTHS))
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted");
    }
    karma_i_free(scores);
    return st;
}

/* Imputation does not depend on the strength, so it is done once; then comes the plain kernel of complete
 * rows. */
static karma_status add_filled(double *sums, const trial *t, const karma_hooks *hooks, karma_error *err) {
    karma_i_imputer *imputer = NULL;
    karma_table *full_train = NULL, *full_test = NULL;
    karma_fit_options gamma_1 = t->task->options; /* borrows its texts */
    karma_i_impute_options options;
    karma_i_impute_options_init(&options);
    options.seed = (uint64_t)t->task->options.seed;
    gamma_1.gamma = 1;
    karma_i_task plain = karma_i_task_with(t->task, &gamma_1);
    karma_status st = karma_i_imputer_learn(&imputer, t->baseline->imputer, t->train, &options, hooks, err);
    if (st == KARMA_OK) st = karma_i_imputer_apply(&full_train, imputer, t->train, hooks, err);
    if (st == KARMA_OK) st = karma_i_imputer_apply(&full_test, imputer, t->test, hooks, err);
    const trial filled = {&karma_i_baseline_karma, &plain, t->goal, full_train, full_test};
    if (st == KARMA_OK) st = add_values(sums, &filled, hooks, err);
    karma_table_free(full_train);
    karma_table_free(full_test);
    karma_i_imputer_free(imputer);
    return st;
}

static karma_status add_fold(double *sums, const karma_i_baseline *baseline, const karma_i_task *task, karma_goal goal,
                             const karma_i_folds *folds, size_t number, const karma_hooks *hooks, karma_error *err) {
    karma_i_fold fold;
    KARMA_TRY(karma_i_fold_split(&fold, folds, number, err));
    const trial t = {baseline, task, goal, fold.train, fold.test};
    karma_status st = (baseline->imputer ? add_filled : add_values)(sums, &t, hooks, err);
    karma_i_fold_clear(&fold);
    return st;
}

/* The best strength, and the sum of its goal over the folds. */
static karma_status tune(double *strength, double *sum, const karma_i_baseline *baseline, const karma_i_task *task,
                         karma_goal goal, const karma_i_folds *folds, const karma_hooks *hooks, karma_error *err) {
    double sums[N_STRENGTHS] = {0};
    for (size_t f = 0; f < folds->n_folds; f++) KARMA_TRY(add_fold(sums, baseline, task, goal, folds, f, hooks, err));
    size_t best = best_of(sums);
    *strength = strengths[best];
    *sum = sums[best];
    return KARMA_OK;
}

karma_status karma_i_tune_baseline(double *strength, const karma_i_baseline *baseline, const karma_i_contest *contest,
                                   const karma_i_outer_fold *outer, const karma_hooks *hooks, karma_error *err) {
    double sum;
    return tune(strength, &sum, baseline, contest->task, contest->goal, outer->inner, hooks, err);
}

static karma_status tune_one_by_one(const char **kernel, double *strength, const char *const *kernels,
                                    const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                    const karma_hooks *hooks, karma_error *err) {
    double best = -INFINITY;
    for (size_t k = 0; kernels[k]; k++) {
        karma_fit_options options = contest->task->options; /* borrows its texts */
        double its_strength, sum;
        options.kernel = (char *)kernels[k]; /* not written to */
        karma_i_task own = karma_i_task_with(contest->task, &options);
        KARMA_TRY(tune(&its_strength, &sum, &karma_i_baseline_karma, &own, contest->goal, outer->inner, hooks, err));
        if (!(sum > best)) continue;
        best = sum;
        *kernel = kernels[k];
        *strength = its_strength;
    }
    return KARMA_OK;
}

/* --- all kernels at once ------------------------------------------------------------------------------- */

static int ask(void *payload, size_t n_judged, size_t n_entries, const char *kernel) {
    return karma_i_progress(payload, kernel, n_judged, n_entries);
}

static karma_status add_kernels(karma_i_race *race, const char *const *kernels, karma_error *err) {
    static const karma_i_C_grid ascending = {N_STRENGTHS, {0.1, 1.0, 10.0, 100.0}, {0}};
    karma_status st = KARMA_OK;
    for (size_t k = 0; st == KARMA_OK && kernels[k]; k++) {
        karma_i_plan plan = {0};
        st = karma_i_plan_parse(&plan, kernels[k], &race->task->options, err);
        if (st == KARMA_OK) st = karma_i_race_add(race, &plan.members[0].kernel, &ascending, err);
        karma_i_plan_clear(&plan);
    }
    return st;
}

static size_t run_of(const karma_i_race *race, size_t entry, double strength) {
    size_t run = race->entries[entry].first_run;
    while (race->runs[run].C_factor != strength) run++;
    return run;
}

static void take_best(const char **kernel, double *strength, const karma_i_race *race, const char *const *kernels) {
    double best = -INFINITY;
    for (size_t e = 0; e < race->n_entries; e++)
        for (size_t s = 0; s < N_STRENGTHS; s++) {
            double value = karma_i_run_value(race, run_of(race, e, strengths[s]));
            if (!(value > best)) continue;
            best = value;
            *kernel = kernels[e];
            *strength = strengths[s];
        }
}

static karma_status tune_racing(const char **kernel, double *strength, const char *const *kernels,
                                const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                const karma_hooks *hooks, karma_error *err) {
    const karma_i_judge judge = {.goal = contest->goal};
    karma_hooks own = hooks ? *hooks : (karma_hooks){0};
    karma_i_race race = karma_i_race_start(contest->task, outer->inner, karma_i_goal_value, &judge);
    size_t n_folds = outer->inner->n_folds;
    karma_status st = add_kernels(&race, kernels, err);
    while (st == KARMA_OK && race.n_done < n_folds) {
        int stopped = 0;
        st = karma_i_race_fold(&race, ask, &own, &stopped, err);
        if (st == KARMA_OK && (stopped || karma_i_progress(hooks, "tuning", race.n_done, n_folds)))
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted");
    }
    if (st == KARMA_OK) take_best(kernel, strength, &race, kernels);
    karma_i_race_clear(&race);
    return st;
}

karma_status karma_i_tune_kernels(const char **kernel, double *strength, const char *const *kernels, size_t most_racing,
                                  const karma_i_contest *contest, const karma_i_outer_fold *outer,
                                  const karma_hooks *hooks, karma_error *err) {
    int is_racing = outer->train->n_rows <= most_racing;
    return (is_racing ? tune_racing : tune_one_by_one)(kernel, strength, kernels, contest, outer, hooks, err);
}
