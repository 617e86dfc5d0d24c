/* From a table to the model that does best on unseen rows: karma_search. */
#include "karma/search.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "model/model.h"
#include "search/estimate.h"
#include "search/goal.h"
#include "search/search_rows.h"
#include "search/without_search.h"
#include "table/table_split.h"

/* Turns indices among the rows that were learned from into indices of the table. */
static void number_rows(karma_model *model, const karma_i_training *training) {
    for (size_t i = 0; training->index && i < model->n_left_out; i++)
        model->left_out_rows[i] = training->index[model->left_out_rows[i]];
}

size_t karma_search_left_out(const karma_model *model, const size_t **rows, const double **scores) {
    *rows = model->left_out_rows;
    *scores = model->left_out_scores;
    return model->n_left_out;
}

/* --- rows that are split over processes ---------------------------------------------------------------- */

/* Every process searches the same sample, in which nothing may depend on its clock. */
static karma_status check_split(const karma_table *table, const karma_search_options *options, karma_error *err) {
    if (karma_i_table_ranks(table)->size == 1 || !(options->time > 0.0)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION,
                        "a search of rows that are split over processes cannot have a time limit: their clocks differ");
}

/* A process that stopped alone would leave the others waiting. */
static int show_progress(void *payload, const char *stage, size_t done, size_t total) {
    (void)karma_i_progress(payload, stage, done, total);
    return 0;
}

static void pass_notice(void *payload, const char *sentence) {
    const karma_hooks *hooks = payload;
    if (hooks->notice) hooks->notice(hooks->payload, sentence);
}

static karma_status search_split(karma_model **out, const karma_table *rows, size_t most, const karma_fit_options *fit,
                                 const karma_search_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_partition split = karma_i_table_split(rows);
    karma_hooks own = *hooks, shown = {show_progress, pass_notice, &own};
    if (split.n_rows > most) return karma_i_search_rows(out, rows, most, fit, options, &shown, err);
    karma_table *all = NULL; /* few rows: every process does all the work */
    size_t *index = karma_i_alloc(split.n_rows, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t i = 0; i < split.n_rows; i++) index[i] = i;
    karma_status st = karma_i_table_gather(&all, rows, index, split.n_rows, err);
    karma_i_free(index);
    if (st == KARMA_OK) st = karma_i_search_rows(out, all, most, fit, options, &shown, err);
    karma_table_free(all);
    return st;
}

static karma_status search_labelled(karma_model **out, const karma_table *table, const karma_fit_options *fit,
                                    const karma_search_options *options, const karma_hooks *hooks, karma_error *err) {
    static const karma_hooks silent;
    const karma_ranks *ranks = karma_i_table_ranks(table);
    karma_i_training training;
    size_t most = karma_i_sample_rows(fit, options->effort); /* machines may have different memory */
    KARMA_TRY(check_split(table, options, err));
    KARMA_TRY(karma_i_ranks_broadcast(&most, sizeof most, ranks, err));
    KARMA_TRY(karma_i_training_take(&training, table, fit->solver != KARMA_SOLVER_ONLINE, hooks, err));
    const karma_table *rows = training.rows;
    karma_status st = ranks->size == 1 ? karma_i_search_rows(out, rows, most, fit, options, hooks, err)
                                       : search_split(out, rows, most, fit, options, hooks ? hooks : &silent, err);
    if (st == KARMA_OK) {
        number_rows(*out, &training);
        (*out)->info.n_unlabelled = training.n_unlabelled;
        (*out)->info.n_joined = training.n_joined;
        (*out)->task.options.step = NULL;
        (*out)->task.options.step_payload = NULL;
    }
    karma_i_training_clear(&training);
    return st;
}

karma_status karma_search(karma_model **out, const karma_table *table, const karma_fit_options *fit,
                          const karma_search_options *search, const karma_hooks *hooks, karma_error *err) {
    karma_search_options options;
    karma_fit_options own_fit;
    karma_model *model = NULL;
    karma_error fault = {0};
    KARMA_TRY(karma_i_options_accept(karma_search_option_table(), &options, search, err));
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own_fit, fit, err));
    if (options.effort == KARMA_EFFORT_OFF) {
        karma_i_notice_idle_search(&options, 0, hooks);
        return karma_fit(out, table, &own_fit, hooks, err);
    }
    if (options.effort == KARMA_EFFORT_AUTO) options.effort = KARMA_EFFORT_NORMAL;
    karma_status st = search_labelled(&model, table, &own_fit, &options, hooks, &fault);
    st = karma_ranks_agree(karma_i_table_ranks(table), st, &fault);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    if (st != KARMA_OK && err) *err = fault;
    return st;
}

int karma_search_chooses(const char *option_name) {
    static const char *const kept[] = {
        "task",      "loss", "tube",        "huber", "quantile", "class-weight", "probabilities", "certainty",
        "intervals", "sets", "coverage-by", "folds", "seed",     "threads",      "memory",        "tolerance"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (strcmp(kept[i], option_name) == 0) return 0;
    return karma_option_find(karma_fit_option_table(), option_name) != NULL;
}

const char *karma_goal_name(karma_goal goal) {
    return karma_i_goal_name(goal);
}
int karma_goal_is_loss(karma_goal goal) {
    return karma_i_goal_sign(goal) < 0.0;
}
