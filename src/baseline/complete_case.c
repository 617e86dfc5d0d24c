/* Rows with missing cells are discarded. A row is complete if it has every attribute that some training row has.
 *
 * complete-case     learns from the complete training rows.
 * horvitz-thompson  weights each of them by 1/p, p the probability of being complete (Horvitz and Thompson, A
 *                   generalization of sampling without replacement from a finite universe, 1952). p is a
 *                   logistic regression on the attributes that all training rows have and on the label:
 *                   whether a row is complete may depend on values that are always observed, and if these
 *                   include the label, unweighted complete rows are a biased sample of it.
 *
 * Neither defines the score of an incomplete row. Here its missing cells count 0 after standardising, that
 * is, they get the mean of the complete rows. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "baseline/baseline.h"
#include "table/builder.h"

/* The largest weight of a row. */
static const double LEAST_PROBABILITY = 0.01;

static void forget(void *state) {
    karma_model_free(state);
}

/* Counts the training rows that observe each attribute, and finds the complete rows. */
typedef struct survey {
    size_t *n_observed;
    size_t *complete; /* row numbers, ascending */
    size_t n_complete;
} survey;

static void clear_survey(survey *s) {
    karma_i_free(s->n_observed);
    karma_i_free(s->complete);
}

/* Clear it even if this fails. */
static karma_status take_survey(survey *s, const karma_table *train, karma_error *err) {
    size_t n_used = 0;
    *s = (survey){.n_observed = karma_i_alloc(train->n_attributes, sizeof *s->n_observed),
                  .complete = karma_i_alloc(train->n_rows, sizeof *s->complete)};
    if (!s->n_observed || !s->complete) return karma_i_fail_memory(err);
    karma_table_count_observed(train, s->n_observed);
    for (size_t j = 0; j < train->n_attributes; j++) n_used += s->n_observed[j] > 0;
    for (size_t i = 0; i < train->n_rows; i++)
        if (karma_i_table_cells(train, i).count == n_used) s->complete[s->n_complete++] = i;
    if (s->n_complete == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "none of %zu training rows is complete", train->n_rows);
    return KARMA_OK;
}

/* `weights`, by training row: the weights of complete rows; NULL: those of the table. */
static karma_status learn_complete(void **state, const karma_i_learner *learner, const survey *s, const double *weights,
                                   const karma_hooks *hooks, karma_error *err) {
    karma_fit_options options = learner->task->options;
    karma_table *rows = NULL;
    karma_model *model = NULL;
    options.gamma = 1;
    KARMA_TRY(karma_table_select(&rows, learner->train, s->complete, s->n_complete, err));
    karma_status st = KARMA_OK;
    if (weights) {
        double *own = karma_i_alloc(s->n_complete, sizeof *own);
        for (size_t i = 0; own && i < s->n_complete; i++)
            own[i] = weights[s->complete[i]] * karma_table_row_weight(rows, i);
        st = own ? karma_table_set_row_weights(rows, own, err) : karma_i_fail_memory(err);
        karma_i_free(own);
    }
    if (st == KARMA_OK) st = karma_i_baseline_fit(&model, learner, rows, &options, hooks, err);
    karma_table_free(rows);
    if (st == KARMA_OK) *state = model;
    return st;
}

static karma_status learn(void **state, const karma_i_learner *learner, const karma_hooks *hooks, karma_error *err) {
    survey s;
    karma_status st = take_survey(&s, learner->train, err);
    if (st == KARMA_OK) st = learn_complete(state, learner, &s, NULL, hooks, err);
    clear_survey(&s);
    return st;
}

/* --- the probability of being complete ----------------------------------------------------------------- */

/* Columns have their number in their name, so that no two names are equal, whatever the user's names are. */
static karma_status add_column(karma_i_builder *b, const karma_i_column *like, karma_error *err) {
    karma_i_column copy;
    char name[160];
    (void)snprintf(name, sizeof name, "%.120s #%zu", like->name, b->table->n_attributes);
    KARMA_TRY(karma_i_column_copy(&copy, like, err));
    karma_status st = karma_i_builder_add_attribute(b, name, copy.kind, copy.levels, copy.n_levels, err);
    karma_i_free(copy.name);
    return st;
}

/* The columns of the regression: the attributes that are always observed, then the label. */
static karma_status add_columns(karma_i_builder *b, const karma_i_learner *learner, const survey *s, karma_error *err) {
    const karma_table *train = learner->train;
    char name[] = "label";
    const karma_i_column label = {.name = name, .kind = KARMA_COLUMN_NUMBER};
    for (size_t j = 0; j < train->n_attributes; j++)
        if (s->n_observed[j] == train->n_rows) KARMA_TRY(add_column(b, &train->attributes[j], err));
    for (size_t o = 0; o < learner->task->n_outputs; o++) KARMA_TRY(add_column(b, &label, err));
    return karma_i_builder_add_target(b, "complete", KARMA_COLUMN_NUMBER, NULL, 0, err);
}

static karma_status add_row(karma_i_builder *b, const karma_i_learner *learner, const survey *s, size_t row,
                            const double *labels, int is_complete, karma_error *err) {
    karma_i_row_cells cells = karma_i_table_cells(learner->train, row);
    size_t attribute = 0;
    double target = is_complete;
    for (size_t k = 0; k < cells.count; k++)
        if (s->n_observed[cells.attribute[k]] == learner->train->n_rows)
            KARMA_TRY(karma_i_builder_add_cell(b, attribute++, cells.value[k], err));
    for (size_t o = 0; o < learner->task->n_outputs; o++)
        KARMA_TRY(karma_i_builder_add_cell(b, attribute++, labels[o], err));
    return karma_i_builder_end_row(b, &target, 1.0, NULL, err);
}

static karma_status completeness_table(karma_table **out, const karma_i_learner *learner, const survey *s,
                                       karma_error *err) {
    karma_i_builder b = {0};
    double *labels = NULL, *weights = NULL;
    size_t next = 0;
    KARMA_TRY(karma_i_baseline_targets(&labels, &weights, learner, err));
    karma_status st = karma_i_builder_init(&b, err);
    if (st == KARMA_OK) st = add_columns(&b, learner, s, err);
    for (size_t i = 0; st == KARMA_OK && i < learner->train->n_rows; i++) {
        int is_complete = next < s->n_complete && s->complete[next] == i;
        next += is_complete ? 1 : 0;
        st = add_row(&b, learner, s, i, labels + i * learner->task->n_outputs, is_complete, err);
    }
    if (st == KARMA_OK) karma_i_builder_finish(out, &b);
    karma_i_builder_clear(&b);
    karma_i_free(labels);
    karma_i_free(weights);
    return st;
}

/* weights[row] = 1/p: by karma_fit with the logistic loss and its own C, the same for all strengths of the baselines.
 */
static karma_status inverse_probabilities(double *weights, const karma_i_learner *learner, const survey *s,
                                          const karma_hooks *hooks, karma_error *err) {
    karma_fit_options options;
    karma_table *table = NULL;
    karma_model *model = NULL;
    karma_options_init(karma_fit_option_table(), &options);
    options.task = KARMA_TASK_CLASSIFY;
    options.loss = KARMA_LOSS_LOGISTIC;
    options.gamma = 1;
    options.tolerance = 1e-6;
    options.threads = learner->task->options.threads;
    KARMA_TRY(completeness_table(&table, learner, s, err));
    karma_status st = karma_fit(&model, table, &options, hooks, err);
    if (st == KARMA_OK) st = karma_predict(weights, model, table, (size_t)options.threads, hooks, err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_rows; i++)
        weights[i] = 1.0 / fmax(1.0 / (1.0 + exp(-weights[i])), LEAST_PROBABILITY);
    karma_model_free(model);
    karma_table_free(table);
    return st;
}

static karma_status learn_weighted(void **state, const karma_i_learner *learner, const karma_hooks *hooks,
                                   karma_error *err) {
    survey s;
    double *weights = NULL;
    karma_status st = take_survey(&s, learner->train, err);
    int all = st == KARMA_OK && s.n_complete == learner->train->n_rows; /* then every weight is 1 */
    if (st == KARMA_OK && !all) {
        weights = karma_i_alloc(learner->train->n_rows, sizeof *weights);
        st = weights ? inverse_probabilities(weights, learner, &s, hooks, err) : karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) st = learn_complete(state, learner, &s, weights, hooks, err);
    karma_i_free(weights);
    clear_survey(&s);
    return st;
}

static karma_status score(double *scores, const karma_i_learner *learner, const karma_table *test,
                          const karma_hooks *hooks, karma_error *err) {
    return karma_predict(scores, learner->state, test, (size_t)learner->task->options.threads, hooks, err);
}

const karma_i_baseline karma_i_baseline_complete_case = {
    "complete-case", "learned from complete rows only", 0, 0, learn, score, forget, NULL, 0};
const karma_i_baseline karma_i_baseline_horvitz_thompson = {
    "horvitz-thompson",
    "complete rows, each weighted by the number of rows like it",
    0,
    0,
    learn_weighted,
    score,
    forget,
    NULL,
    0};
