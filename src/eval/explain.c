/* Model + table -> the contributions of columns to every row's scores. */
#include "karma/explain.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "eval/shapley.h"
#include "model/certain_answers.h"
#include "model/model.h"
#include "solve/solver.h"

enum { AUTO_SAMPLES = 100, LEAST_SAMPLES = 10, MOST_AUTO_SETS = 20000 };
/* A second or more of one processor. */
#define NOTEWORTHY_VALUES 1e8

void karma_explanations_clear(karma_explanations *explanations) {
    if (!explanations) return;
    karma_i_free(explanations->start);
    karma_i_free(explanations->attribute);
    karma_i_free(explanations->contribution);
    karma_i_free(explanations->error);
    karma_i_free(explanations->bias);
    *explanations = (karma_explanations){0};
}

/* Whether the member's scores are sums over attributes. Scores from coordinates in a subspace are sums too,
 * but each coordinate depends on all attributes, and so does a leaf. */
static int is_split(const karma_model *model, const karma_i_member *member) {
    return karma_i_kernel_is_plain(&member->kernel) &&
           !karma_i_recipe_is_placed(model->encoder.recipes[member->kernel.factors[0].encoding]);
}

/* Allocates the parts of all rows and sets their attributes. */
static karma_status new_explanations(karma_explanations *e, const karma_model *model, const karma_i_rows *rows,
                                     karma_error *err) {
    size_t n = rows->n_rows, item = model->task.n_outputs * sizeof(double);
    e->n_rows = n;
    e->n_outputs = model->task.n_outputs;
    e->is_split = 1;
    for (size_t m = 0; m < model->n_members; m++) e->is_split &= is_split(model, &model->members[m]);
    e->start = karma_i_zalloc(n + 1, sizeof *e->start);
    if (!e->start) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) e->start[i + 1] = e->start[i] + karma_i_rows_n_observed(rows, i);
    e->attribute = karma_i_alloc(e->start[n], sizeof *e->attribute);
    e->contribution = karma_i_zalloc(e->start[n], item);
    e->error = karma_i_zalloc(e->start[n], item);
    e->bias = karma_i_zalloc(n, item);
    if (!e->attribute || !e->contribution || !e->error || !e->bias) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) karma_i_rows_list_observed(e->attribute + e->start[i], rows, i);
    return KARMA_OK;
}

/* Every row has its own random numbers, so its explanation does not depend on the other rows. */
static uint64_t row_seed(uint64_t seed, size_t row) {
    return seed ^ ((uint64_t)row + 1) * UINT64_C(0xd1b54a32d192ed03);
}

/* Every member's scores are sums over attributes, and so is their sum. */
static karma_status split_row(double *parts, const karma_i_game *game, size_t row, size_t n_attributes,
                              karma_error *err) {
    const karma_model *model = game->model;
    size_t n = (n_attributes + 1) * model->task.n_outputs;
    double *own = karma_i_alloc(n, sizeof *own);
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    memset(parts, 0, n * sizeof *parts);
    for (size_t m = 0; st == KARMA_OK && m < model->n_members; m++) {
        const karma_i_member *member = &model->members[m];
        st = karma_i_kernel_split(own, &member->kernel, game->rows, row, karma_i_rows_all(model->support),
                                  member->coefficients, model->task.n_outputs, game->threads, err);
        for (size_t i = 0; st == KARMA_OK && i < n; i++) parts[i] += own[i];
    }
    karma_i_free(own);
    return st;
}

/* The number of orders for a row with n columns, such that the work grows with the number of columns and not
 * with its square. */
static size_t choose_samples(const karma_explain_options *options, size_t n) {
    if (options->samples != (int64_t)KARMA_AUTO) return (size_t)options->samples;
    size_t most = n ? MOST_AUTO_SETS / n : AUTO_SAMPLES;
    return most > AUTO_SAMPLES ? AUTO_SAMPLES : most < LEAST_SAMPLES ? LEAST_SAMPLES : most;
}

/* A notice before an explanation that will take long. */
static void notify_cost(const karma_explanations *e, const karma_model *model, const karma_explain_options *options,
                        const karma_hooks *hooks) {
    double sets = 0.0, values = (double)model->support->n_rows * (double)model->n_members;
    size_t widest = 0, n_rows = 0;
    for (size_t i = 0; i < e->n_rows && !e->is_split; i++) {
        size_t n = e->start[i + 1] - e->start[i];
        if (n <= KARMA_EXACT_SHAPLEY) continue;
        sets += (double)n * (double)choose_samples(options, n);
        if (n > widest) widest = n;
        n_rows++;
    }
    if (sets * values < NOTEWORTHY_VALUES) return;
    karma_i_notice(hooks,
                   "explaining %zu rows of up to %zu columns takes about %.2g kernel values: %zu sampled orders of the "
                   "columns each (option 'samples')",
                   n_rows, widest, sets * values, choose_samples(options, widest));
}

/* The parts of one row, then the bias, in the units of the solver. */
static karma_status explain_row(double *parts, double *errors, const karma_explanations *e, karma_i_game *game,
                                size_t row, const karma_explain_options *options, karma_error *err) {
    size_t n = e->start[row + 1] - e->start[row];
    const karma_i_players players = {row, e->attribute + e->start[row], n};
    if (e->is_split) return split_row(parts, game, row, n, err);
    if (n <= KARMA_EXACT_SHAPLEY) return karma_i_shapley_exact(parts, errors, game, &players, err);
    return karma_i_shapley_sample(parts, errors, game, &players, choose_samples(options, n),
                                  row_seed((uint64_t)options->seed, row), err);
}

static size_t most_parts(const karma_explanations *e) {
    size_t most = 0;
    for (size_t i = 0; i < e->n_rows; i++)
        if (e->start[i + 1] - e->start[i] > most) most = e->start[i + 1] - e->start[i];
    return most;
}

static karma_status explain_rows(karma_explanations *e, karma_i_game *game, const karma_explain_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    size_t item = e->n_outputs * sizeof(double);
    double *parts = karma_i_alloc(most_parts(e) + 1, item);
    karma_status st = parts ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < e->n_rows; i++) {
        size_t first = e->start[i] * e->n_outputs, count = (e->start[i + 1] - e->start[i]) * e->n_outputs;
        if (karma_i_progress(hooks, "explaining rows", i, e->n_rows))
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before all rows were explained");
        else
            st = explain_row(parts, e->error + first, e, game, i, options, err);
        if (st != KARMA_OK) break;
        memcpy(e->contribution + first, parts, count * sizeof *parts);
        memcpy(e->bias + i * e->n_outputs, parts + count, item);
    }
    karma_i_free(parts);
    return st;
}

/* Converts numbers back to the target's units: y = score/factor + shift; the shift belongs to no column. */
static void finish_numbers(karma_explanations *e, const karma_i_head *head) {
    size_t K = e->n_outputs;
    for (size_t o = head->first_output; o < head->first_output + head->n_outputs; o++) {
        for (size_t part = 0; part < e->start[e->n_rows]; part++) {
            e->contribution[part * K + o] /= head->labels.factor;
            e->error[part * K + o] /= head->labels.factor;
        }
        for (size_t i = 0; i < e->n_rows; i++)
            e->bias[i * K + o] = e->bias[i * K + o] / head->labels.factor + head->labels.shift;
    }
}

/* Quantiles are corrected in sorted order (model/certain_answers.h): the correction of a place goes to the
 * output at this place in this row, and is part of the bias. */
static void correct_row(double *bias, const double *totals, const double *corrections, const karma_i_head *head) {
    for (size_t o = 0; o < head->n_outputs; o++) {
        size_t place = 0;
        for (size_t other = 0; other < head->n_outputs; other++)
            place += totals[other] < totals[o] || (totals[other] == totals[o] && other < o);
        bias[o] += corrections[place];
    }
}

static karma_status correct_quantiles(karma_explanations *e, const karma_model *model, size_t target,
                                      const karma_table *table, karma_error *err) {
    const karma_i_head *head = &model->task.heads[target];
    size_t K = e->n_outputs, first = head->first_output;
    if (head->n_quantiles == 0) return KARMA_OK;
    double *corrections = karma_i_zalloc(e->n_rows, K * sizeof *corrections);
    double *totals = karma_i_alloc(K, sizeof *totals);
    karma_status st = corrections && totals ? karma_i_add_corrections(corrections, model, target, table, err)
                                            : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < e->n_rows; i++) {
        memcpy(totals, e->bias + i * K, K * sizeof *totals);
        for (size_t part = e->start[i]; part < e->start[i + 1]; part++)
            for (size_t o = 0; o < K; o++) totals[o] += e->contribution[part * K + o];
        correct_row(e->bias + i * K + first, totals + first, corrections + i * K + first, head);
    }
    karma_i_free(corrections);
    karma_i_free(totals);
    return st;
}

karma_status karma_explain(karma_explanations *out, const karma_model *model, const karma_table *table,
                           const karma_explain_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_explain_options own;
    KARMA_TRY(karma_i_options_accept(karma_explain_option_table(), &own, options, err));
    options = &own;
    KARMA_TRY(karma_i_model_needs_attributes(model, err));
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_encoder_check_matrix(&model->encoder, model->info.n_columns, table, err));
    KARMA_TRY(karma_i_encoder_encode(&rows, &model->encoder, table, hooks, err));
    karma_explanations e = {0};
    karma_i_game game = {.model = model, .threads = karma_i_threads(options->threads), .rows = rows};
    karma_status st = karma_i_game_init(&game, err);
    if (st == KARMA_OK) st = new_explanations(&e, model, rows, err);
    if (st == KARMA_OK) notify_cost(&e, model, options, hooks);
    if (st == KARMA_OK) st = explain_rows(&e, &game, options, hooks, err);
    for (size_t t = 0; st == KARMA_OK && t < model->task.n_heads; t++)
        if (model->task.heads[t].labels.task == KARMA_TASK_REGRESS) {
            finish_numbers(&e, &model->task.heads[t]);
            st = correct_quantiles(&e, model, t, table, err);
        }
    karma_i_game_clear(&game);
    karma_i_rows_free(rows);
    if (st == KARMA_OK)
        *out = e;
    else
        karma_explanations_clear(&e);
    return st;
}
