#include "baseline/baseline.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/fit_task.h"

#define RECORD(name) &karma_i_baseline_##name,
static const karma_i_baseline *const learners[] = {KARMA_I_BASELINE_LIST(RECORD)};
#undef RECORD
enum { N_LEARNERS = sizeof learners / sizeof learners[0] };

void karma_i_baseline_options_init(karma_i_baseline_options *options) {
    options->strength = 1.0;
    karma_i_impute_options_init(&options->impute);
}

/* --- common steps --------------------------------------------------------------------------------------- */

karma_status karma_i_baseline_fit(karma_model **out, const karma_i_learner *learner, const karma_table *rows,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_task task = karma_i_task_with(learner->task, options);
    karma_i_plan plan;
    KARMA_TRY(karma_i_plan_parse(&plan, options->kernel, options, err));
    karma_i_plan_multiply_C(&plan, learner->options.strength);
    karma_status st = karma_i_fit_task(out, &task, &plan, rows, NULL, hooks, hooks, err);
    karma_i_plan_clear(&plan);
    return st;
}

karma_status karma_i_baseline_targets(double **targets, double **weights, const karma_i_learner *learner,
                                      karma_error *err) {
    const karma_table *train = learner->train;
    const karma_fit_options *options = &learner->task->options;
    size_t n = train->n_rows, n_outputs = learner->task->n_outputs;
    double *y = karma_i_alloc(n, n_outputs * sizeof *y), *w = karma_i_alloc(n, n_outputs * sizeof *w);
    const karma_i_labelled rows = {&train->targets[0], train->row_weight, n};
    karma_i_head head = {0}; /* the task's, as these rows have it */
    karma_i_partition split = karma_i_partition_whole(n);
    karma_status st = y && w ? karma_i_head_copy(&head, &learner->task->heads[0], err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_head_relearn(&head, &train->targets[0], &split, options, err);
    if (st == KARMA_OK) st = karma_i_head_targets(y, w, n_outputs, &head, &rows, options, err);
    karma_i_head_clear(&head);
    if (st == KARMA_OK) {
        *targets = y;
        *weights = w;
    } else {
        karma_i_free(y);
        karma_i_free(w);
    }
    return st;
}

karma_status karma_i_baseline_task(karma_i_task *out, const karma_table *table, const karma_fit_options *options,
                                   const karma_hooks *hooks, karma_error *err) {
    if (table->n_targets != 1)
        return karma_i_fail(err, KARMA_ERR_DATA, "exactly one target is needed, but there are %zu", table->n_targets);
    return karma_i_task_learn(out, table, options, hooks, err);
}

/* --- learners ------------------------------------------------------------------------------------------ */

void karma_i_learner_free(karma_i_learner *learner) {
    if (!learner) return;
    if (learner->state) learner->baseline.forget(learner->state);
    karma_table_free(learner->labelled);
    karma_i_free(learner);
}

/* The training rows that have a label. */
static karma_status take_labelled(karma_i_learner *learner, const karma_table *train, karma_error *err) {
    const char *name = learner->task->heads[0].name;
    if (train->n_targets != 1 || strcmp(train->targets[0].column.name, name) != 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the rows do not have the target '%s'", name);
    size_t *rows = karma_i_alloc(train->n_rows, sizeof *rows), n = 0;
    if (!rows) return karma_i_fail_memory(err);
    for (size_t i = 0; i < train->n_rows; i++)
        if (!isnan(train->targets[0].value[i])) rows[n++] = i;
    karma_status st = KARMA_OK;
    if (n == 0)
        st = karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'", name);
    else if (n < train->n_rows)
        st = karma_table_select(&learner->labelled, train, rows, n, err);
    learner->train = learner->labelled ? learner->labelled : train;
    karma_i_free(rows);
    return st;
}

static karma_status check_baseline(const karma_i_baseline *baseline, const karma_i_task *task,
                                   const karma_i_baseline_options *options, karma_error *err) {
    if (baseline->only_classes && task->heads[0].labels.task != KARMA_TASK_CLASSIFY)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s learns classes, but column '%s' holds numbers", baseline->name,
                            task->heads[0].name);
    if (!(options->strength > 0.0 && isfinite(options->strength)))
        return karma_i_fail(err, KARMA_ERR_OPTION, "the strength of %s is not a finite number above 0", baseline->name);
    return KARMA_OK;
}

karma_status karma_i_learner_fit(karma_i_learner **out, const karma_i_baseline *baseline, const karma_i_task *task,
                                 const karma_table *train, const karma_i_baseline_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(check_baseline(baseline, task, options, err));
    karma_i_learner *learner = karma_i_zalloc(1, sizeof *learner);
    if (!learner) return karma_i_fail_memory(err);
    learner->baseline = *baseline;
    learner->options = *options;
    learner->task = task;
    karma_status st = take_labelled(learner, train, err);
    if (st == KARMA_OK && baseline->learn) st = baseline->learn(&learner->state, learner, hooks, err);
    if (st == KARMA_OK)
        *out = learner;
    else
        karma_i_learner_free(learner);
    return st;
}

karma_status karma_i_learner_score(double *scores, const karma_i_learner *learner, const karma_table *test,
                                   const karma_hooks *hooks, karma_error *err) {
    return learner->baseline.score(scores, learner, test, hooks, err);
}

/* --- those that are karma_fit with other options ------------------------------------------------------- */

static void forget_model(void *state) {
    karma_model_free(state);
}

static karma_status learn_with(void **state, const karma_i_learner *learner, const karma_fit_options *options,
                               const karma_hooks *hooks, karma_error *err) {
    karma_model *model = NULL;
    KARMA_TRY(karma_i_baseline_fit(&model, learner, learner->train, options, hooks, err));
    *state = model;
    return KARMA_OK;
}

static karma_status score_model(double *scores, const karma_i_learner *learner, const karma_table *test,
                                const karma_hooks *hooks, karma_error *err) {
    return karma_predict(scores, learner->state, test, (size_t)learner->task->options.threads, hooks, err);
}

static karma_status learn_karma(void **state, const karma_i_learner *learner, const karma_hooks *hooks,
                                karma_error *err) {
    return learn_with(state, learner, &learner->task->options, hooks, err);
}

/* missing values are 0 after standardising: γ = 1 and a bias that is always there. */
static karma_status learn_zero(void **state, const karma_i_learner *learner, const karma_hooks *hooks,
                               karma_error *err) {
    karma_fit_options options = learner->task->options;
    options.gamma = 1;
    options.bias = 1.0;
    return learn_with(state, learner, &options, hooks, err);
}

static karma_status learn_polar(void **state, const karma_i_learner *learner, const karma_hooks *hooks,
                                karma_error *err) {
    karma_fit_options options = learner->task->options;
    options.encoding = KARMA_ENCODING_POLAR;
    options.gamma = 1;
    return learn_with(state, learner, &options, hooks, err);
}

const karma_i_baseline karma_i_baseline_karma = {
    "karma", "the paper's kernel with the options as they are", 0, 0, learn_karma, score_model, forget_model, NULL, 0};
const karma_i_baseline karma_i_baseline_zero = {
    "zero", "missing values are 0 after standardising", 0, 0, learn_zero, score_model, forget_model, NULL, 0};
const karma_i_baseline karma_i_baseline_polar = {
    "polar", "numbers as u and 1 - u; both are 0 if missing", 0, 0, learn_polar, score_model, forget_model, NULL, 0};

/* --- those that fill in missing cells first ----------------------------------------------------------------------- */

typedef struct filled {
    karma_i_imputer *imputer;
    karma_model *model;
} filled;

static void forget_filled(void *state) {
    filled *f = state;
    karma_i_imputer_free(f->imputer);
    karma_model_free(f->model);
    karma_i_free(f);
}

/* All cells are observed, so all pairs share the same number and γ only scales the kernel. */
static karma_status learn_completed(filled *f, const karma_i_learner *learner, const karma_hooks *hooks,
                                    karma_error *err) {
    const karma_i_imputer_kind *kind = learner->baseline.imputer;
    karma_fit_options options = learner->task->options;
    karma_table *complete = NULL;
    options.gamma = 1;
    KARMA_TRY(karma_i_imputer_learn(&f->imputer, kind, learner->train, &learner->options.impute, hooks, err));
    KARMA_TRY(karma_i_imputer_apply(&complete, f->imputer, learner->train, hooks, err));
    karma_status st = karma_i_baseline_fit(&f->model, learner, complete, &options, hooks, err);
    karma_table_free(complete);
    return st;
}

static karma_status learn_filled(void **state, const karma_i_learner *learner, const karma_hooks *hooks,
                                 karma_error *err) {
    filled *f = karma_i_zalloc(1, sizeof *f);
    if (!f) return karma_i_fail_memory(err);
    karma_status st = learn_completed(f, learner, hooks, err);
    if (st == KARMA_OK)
        *state = f;
    else
        forget_filled(f);
    return st;
}

static karma_status score_filled(double *scores, const karma_i_learner *learner, const karma_table *test,
                                 const karma_hooks *hooks, karma_error *err) {
    const filled *f = learner->state;
    karma_table *complete = NULL;
    KARMA_TRY(karma_i_imputer_apply(&complete, f->imputer, test, hooks, err));
    karma_status st = karma_predict(scores, f->model, complete, (size_t)learner->task->options.threads, hooks, err);
    karma_table_free(complete);
    return st;
}

/* --- the list ------------------------------------------------------------------------------------------ */

size_t karma_i_n_baselines(void) {
    return N_LEARNERS + karma_i_imputer_n_kinds();
}

karma_i_baseline karma_i_baseline_at(size_t index) {
    if (index < N_LEARNERS) return *learners[index];
    const karma_i_imputer_kind *kind = karma_i_imputer_kind_at(index - N_LEARNERS);
    return (karma_i_baseline){kind->name, kind->help, 0, 0, learn_filled, score_filled, forget_filled, kind, 0};
}

int karma_i_baseline_find(karma_i_baseline *out, const char *name) {
    for (size_t k = 0; k < karma_i_n_baselines(); k++) {
        karma_i_baseline baseline = karma_i_baseline_at(k);
        if (strcmp(baseline.name, name) != 0) continue;
        *out = baseline;
        return 1;
    }
    return 0;
}
