/* Learning from a stream: a model that continues to learn (karma/stream.h). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "base/threads.h"
#include "io/first_rows.h"
#include "io/numeral.h"
#include "karma/stream.h"
#include "model/outputs.h"
#include "model/row_stream.h"
#include "model/stream_part.h"
#include "model/supervise.h"
#include "table/reading.h"
#include "table/table_split.h"

static const char DEFAULT_KERNEL[] = "rank";
/* From this k(x, x) on, sums over a block of rows could leave the range of doubles or of single precision. */
static const double LARGEST_KERNEL_VALUE = 1e30;

struct karma_online {
    karma_model *model;   /* its stream part is the learner's state */
    karma_i_loss *losses; /* one per output */
    int threads;
    int has_noted; /* attributes that the first table lacks */
};

void karma_online_free(karma_online *online) {
    if (!online) return;
    karma_model_free(online->model);
    karma_i_free(online->losses);
    karma_i_free(online);
}

/* --- a new learner ------------------------------------------------------------------------------------- */

/* For auto, chooses a loss that Newton's method can use. */
static karma_status learn_task(karma_i_task *out, const karma_table *table, karma_fit_options *options,
                               const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_i_task_learn(out, table, options, hooks, err));
    size_t n_classify = 0;
    for (size_t t = 0; t < out->n_heads; t++) n_classify += out->heads[t].labels.task == KARMA_TASK_CLASSIFY;
    if (options->loss != KARMA_LOSS_AUTO || n_classify == 0) return KARMA_OK;
    karma_i_task_clear(out);
    if (n_classify < table->n_targets)
        return karma_i_fail(err, KARMA_ERR_DATA, "a stream has either classes or numbers to learn, not both");
    options->loss = KARMA_LOSS_LOGISTIC;
    return karma_i_task_learn(out, table, options, hooks, err);
}

/* Says which rows are meant: with more of them there might be labels, or another class. */
static karma_status learn_first_task(karma_i_task *out, const karma_table *first, karma_fit_options *fit,
                                     const karma_online_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_error fault = {0};
    karma_status st = learn_task(out, first, fit, hooks, &fault);
    if (st == KARMA_OK) return st;
    if (st == KARMA_ERR_DATA && first->n_rows >= (size_t)options->warm_up)
        return karma_i_fail(err, st, "%s (the first %zu rows decide on it: option 'warm-up' sets how many these are)",
                            fault.message, first->n_rows);
    if (err) *err = fault;
    return st;
}

static karma_status check_plan(const karma_i_plan *plan, karma_error *err) {
    if (karma_i_plan_is_precomputed(plan))
        return karma_i_fail(err, KARMA_ERR_OPTION, "a stream has rows and no kernel values: option 'kernel'");
    if (plan->n_members == 1 && plan->members[0].machines.n == 1) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': a stream is learned with one kernel and one machine");
}

/* Rows that are still to come may have more cells than any of these. */
static karma_status learn_kernel(karma_i_kernel *kernel, const karma_i_plan_kernel *plan, const karma_i_rows *rows,
                                 int threads, karma_error *err) {
    karma_i_kernel first = {0};
    karma_i_factor_facts *facts = karma_i_alloc(plan->n_factors, sizeof *facts);
    karma_status st = facts ? karma_i_kernel_learn(&first, plan, rows, threads, err) : karma_i_fail_memory(err);
    for (size_t f = 0; st == KARMA_OK && f < plan->n_factors; f++) {
        facts[f] = karma_i_factor_known(&first.factors[f]);
        facts[f].largest_overlap = karma_i_rows_encoding(rows, plan->factors[f].encoding)->n_attributes;
    }
    if (st == KARMA_OK) st = karma_i_kernel_restore(kernel, plan, facts, err);
    karma_i_kernel_clear(&first);
    karma_i_free(facts);
    return st;
}

/* λ = mean k(x, x) / 10, which equals ten times the C of the other solvers, for any number of rows: landmarks
 * already limit the fit. */
static const double RIDGE_SHARE = 0.1;

static karma_status choose_ridge(double *ridge, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                 karma_error *err) {
    double *diagonal = karma_i_alloc(rows->n_rows, sizeof *diagonal), sum = 0.0;
    if (!diagonal) return karma_i_fail_memory(err);
    karma_i_kernel_diagonal(diagonal, kernel, karma_i_rows_all(rows));
    for (size_t i = 0; i < rows->n_rows; i++) sum += diagonal[i] / (double)rows->n_rows;
    karma_i_free(diagonal);
    if (!isfinite(sum) || sum > 1e100)
        return karma_i_fail(err, KARMA_ERR_DATA, "kernel values of the first rows are too large to learn from");
    *ridge = RIDGE_SHARE * (sum > 1e-100 ? sum : 1.0);
    return KARMA_OK;
}

static karma_status start_part(karma_model *model, const karma_i_rows *rows, size_t budget, karma_error *err) {
    karma_i_stream_part *p = model->stream = karma_i_zalloc(1, sizeof *p);
    if (!p) return karma_i_fail_memory(err);
    p->budget = budget;
    p->n_classes = model->task.heads[0].labels.n_classes;
    p->class_seen = karma_i_zalloc(p->n_classes, sizeof *p->class_seen);
    if (!p->class_seen) return karma_i_fail_memory(err);
    KARMA_TRY(choose_ridge(&p->ridge, &model->members[0].kernel, rows, err));
    KARMA_TRY(karma_i_stream_state_init(&p->state, rows, err));
    return karma_i_rows_new_like(&p->waiting, rows, 0, err);
}

static karma_status learn_columns(karma_model *model, const karma_table *first, size_t budget, int threads,
                                  const karma_hooks *hooks, karma_error *err) {
    karma_i_outputs outputs = {0};
    karma_i_rows *rows = NULL;
    const karma_i_plan *plan = &model->plan;
    if (first->reading) KARMA_TRY(karma_i_reading_new(&model->reading, first->reading, err));
    model->info.n_columns = first->n_attributes;
    model->members = karma_i_zalloc(1, sizeof *model->members);
    if (!model->members) return karma_i_fail_memory(err);
    model->n_members = 1;
    karma_status st = karma_i_outputs_fill(&outputs, &model->task, first, err);
    const karma_i_lesson lesson = {&model->task, first, &outputs, NULL};
    if (st == KARMA_OK)
        st = karma_i_learn_recipes(&model->encoder, NULL, plan->kinds, plan->n_kinds, &lesson, hooks, err);
    if (st == KARMA_OK) st = karma_i_encoder_apply(&rows, &model->encoder, first, NULL, err);
    if (st == KARMA_OK) st = learn_kernel(&model->members[0].kernel, &plan->members[0].kernel, rows, threads, err);
    if (st == KARMA_OK) st = start_part(model, rows, budget, err);
    karma_i_rows_free(rows);
    karma_i_outputs_clear(&outputs);
    return st;
}

/* The parts of a learner besides its model. */
static karma_status prepare(karma_online *online, karma_error *err) {
    const karma_i_task *task = &online->model->task;
    online->losses = karma_i_alloc(task->n_outputs, sizeof *online->losses);
    if (!online->losses) return karma_i_fail_memory(err);
    for (size_t t = 0; t < task->n_heads; t++)
        KARMA_TRY(
            karma_i_head_losses(online->losses + task->heads[t].first_output, &task->heads[t], &task->options, err));
    for (size_t k = 0; k < task->n_outputs; k++)
        if (!online->losses[k].curvature)
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "option 'loss': a stream is learned with a loss that has a second derivative: logistic "
                                "or squared-hinge to classify, squared or huber to regress");
    return KARMA_OK;
}

static karma_status refuse_weights(const karma_table *table, karma_error *err) {
    if (!table->row_weight) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "rows of a stream have no weights: option 'row-weight'");
}

static karma_status make_online(karma_online *online, const karma_table *first, karma_fit_options *fit,
                                const karma_online_options *options, const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(refuse_weights(first, err));
    if (first->n_targets == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no label: name its column with option 'target'");
    karma_model *model = online->model = karma_i_zalloc(1, sizeof *model);
    if (!model) return karma_i_fail_memory(err);
    online->threads = karma_i_threads(fit->threads);
    KARMA_TRY(learn_first_task(&model->task, first, fit, options, hooks, err));
    KARMA_TRY(prepare(online, err));
    KARMA_TRY(karma_i_plan_parse(&model->plan, model->task.options.kernel, &model->task.options, err));
    KARMA_TRY(check_plan(&model->plan, err));
    return learn_columns(model, first, (size_t)options->budget, online->threads, hooks, err);
}

karma_status karma_online_new(karma_online **out, const karma_table *first, const karma_fit_options *fit,
                              const karma_online_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_fit_options own;
    karma_online_options wanted;
    char kernel[sizeof DEFAULT_KERNEL];
    KARMA_TRY(karma_i_table_check_whole(first, err));
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own, fit, err));
    KARMA_TRY(karma_i_options_accept(karma_online_option_table(), &wanted, options, err));
    memcpy(kernel, DEFAULT_KERNEL, sizeof kernel);
    if (!own.kernel) own.kernel = kernel;
    own.solver = KARMA_SOLVER_ONLINE;
    karma_online *online = karma_i_zalloc(1, sizeof *online);
    if (!online) return karma_i_fail_memory(err);
    karma_status st = make_online(online, first, &own, &wanted, hooks, err);
    if (st == KARMA_OK)
        *out = online;
    else
        karma_online_free(online);
    return st;
}

/* --- from a file --------------------------------------------------------------------------------------- */

/* A forged file may have a kernel whose table of weights is too short for rows that it has not seen. */
static karma_status check_overlaps(const karma_model *model, karma_error *err) {
    const karma_i_kernel *kernel = &model->members[0].kernel;
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (kernel->factors[f].largest_overlap !=
            karma_i_rows_encoding(model->support, kernel->factors[f].encoding)->n_attributes)
            return karma_i_fail(err, KARMA_ERR_FORMAT, "the model's kernel is not that of a stream");
    return KARMA_OK;
}

karma_status karma_online_load(karma_online **out, const char *path, size_t threads, karma_error *err) {
    karma_online *online = karma_i_zalloc(1, sizeof *online);
    if (!online) return karma_i_fail_memory(err);
    online->threads = karma_i_threads((int64_t)threads);
    karma_status st = karma_model_load(&online->model, path, err);
    if (st == KARMA_OK && (!online->model->stream || online->model->n_members != 1))
        st = karma_i_fail(err, KARMA_ERR_DATA, "%s: the model was not learned from a stream: it cannot go on with one",
                          path);
    if (st == KARMA_OK) st = check_plan(&online->model->plan, err); /* a forged file may have any */
    if (st == KARMA_OK) st = check_overlaps(online->model, err);
    if (st == KARMA_OK) st = prepare(online, err);
    if (st == KARMA_OK)
        *out = online;
    else
        karma_online_free(online);
    return st;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

karma_status karma_online_rows(karma_row_stream **out, const karma_online *online, const char *path,
                               const karma_read_options *read, const karma_hooks *hooks, karma_error *err) {
    karma_i_first_rows *text = NULL;
    KARMA_TRY(karma_i_first_rows_open(&text, path, 0, 0, hooks, err));
    return karma_i_row_stream_of_text(out, online->model, text, read, hooks, err);
}

karma_status karma_online_start(karma_online **out, karma_row_stream **rows, const char *path,
                                const karma_read_options *read, const karma_fit_options *fit,
                                const karma_online_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_online_options wanted;
    karma_read_options reading;
    karma_i_first_rows *text = NULL;
    karma_table *first = NULL;
    karma_online *online = NULL;
    KARMA_TRY(karma_i_options_accept(karma_online_option_table(), &wanted, options, err));
    KARMA_TRY(karma_i_options_accept(karma_read_option_table(), &reading, read, err));
    const size_t n_records = (size_t)wanted.warm_up + 1; /* and the header */
    KARMA_TRY(karma_i_first_rows_open(&text, path, n_records, reading.delimiter, hooks, err));
    karma_status st = karma_i_table_read_supply(&first, karma_i_first_rows_name(text), karma_i_first_rows_part(text),
                                                read, hooks, err);
    if (st == KARMA_OK) st = karma_online_new(&online, first, fit, options, hooks, err);
    karma_table_free(first);
    if (st == KARMA_OK) {
        st = karma_i_row_stream_of_text(rows, online->model, text, read, hooks, err);
        text = NULL;
    }
    karma_i_first_rows_free(text);
    if (st == KARMA_OK)
        *out = online;
    else
        karma_online_free(online);
    return st;
}

/* --- learning ------------------------------------------------------------------------------------------ */

static karma_i_stream_task task_of(const karma_online *online) {
    const karma_model *model = online->model;
    const karma_i_head *first = &model->task.heads[0];
    return (karma_i_stream_task){.kernel = &model->members[0].kernel,
                                 .losses = online->losses,
                                 .n_outputs = model->task.n_outputs,
                                 .n_deciding = first->labels.task == KARMA_TASK_CLASSIFY ? first->n_outputs : 0,
                                 .ridge = model->stream->ridge,
                                 .budget = model->stream->budget,
                                 .threads = online->threads};
}

static karma_status learn_waiting(karma_i_stream_state *out, const karma_online *online, karma_error *err) {
    const karma_i_stream_part *p = online->model->stream;
    karma_i_stream_task task = task_of(online);
    return karma_i_stream_state_learn(out, &p->state, &task, p->waiting, p->targets, p->weights, err);
}

/* Learns the waiting rows, which are a full block. */
static karma_status end_block(karma_online *online, karma_error *err) {
    karma_i_stream_part *p = online->model->stream;
    karma_i_stream_state next;
    karma_i_rows *none = NULL;
    KARMA_TRY(karma_i_rows_new_like(&none, p->waiting, 0, err));
    karma_status st = learn_waiting(&next, online, err);
    if (st != KARMA_OK) {
        karma_i_rows_free(none);
        return st;
    }
    karma_i_stream_state_clear(&p->state);
    p->state = next;
    karma_i_rows_free(p->waiting);
    p->waiting = none;
    return KARMA_OK;
}

static karma_status take_row(karma_online *online, const karma_i_rows *rows, const karma_i_outputs *outputs, size_t row,
                             karma_error *err) {
    karma_i_stream_part *p = online->model->stream;
    size_t K = online->model->task.n_outputs, n = p->waiting->n_rows;
    if (!karma_i_reserve(&p->targets, &p->target_capacity, (n + 1) * K, sizeof *p->targets) ||
        !karma_i_reserve(&p->weights, &p->weight_capacity, (n + 1) * K, sizeof *p->weights))
        return karma_i_fail_memory(err);
    memcpy(p->targets + n * K, outputs->targets + row * K, K * sizeof *p->targets);
    memcpy(p->weights + n * K, outputs->weights + row * K, K * sizeof *p->weights);
    KARMA_TRY(karma_i_rows_append(p->waiting, rows, row, err));
    return n + 1 == karma_i_stream_block(p->state.n_rows) ? end_block(online, err) : KARMA_OK;
}

static char decimal_mark(const karma_model *model) {
    return model->reading && model->reading->decimal == KARMA_DECIMAL_COMMA ? ',' : '.';
}

/* Among labels that are texts because one of them is no number, names that one. */
static karma_status fail_for_text(const karma_i_target *target, char mark, karma_error *err) {
    const karma_i_column *column = &target->column;
    const char *text = column->n_levels ? column->levels[0] : "";
    for (size_t l = 0; l < column->n_levels; l++) {
        double value;
        unsigned how;
        if (karma_i_numeral_parse(&value, &how, column->levels[l], strlen(column->levels[l]), mark)) continue;
        text = column->levels[l];
        break;
    }
    return karma_i_fail(err, KARMA_ERR_DATA,
                        "column '%s' has labels that are no numbers, such as '%.60s', but numbers are learned",
                        column->name, text);
}

static karma_status check_targets(const karma_i_task *task, char mark, const karma_table *table, karma_error *err) {
    for (size_t t = 0; t < task->n_heads; t++) {
        const karma_i_head *head = &task->heads[t];
        if (t < table->n_targets && strcmp(table->targets[t].column.name, head->name) != 0)
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "the model learns column '%.100s', not '%.100s': leave option 'target' out", head->name,
                                table->targets[t].column.name);
        if (t >= table->n_targets)
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "the rows have no column '%s', which is the label to learn; does the first line name "
                                "the columns?",
                                head->name);
        if (head->labels.task == KARMA_TASK_REGRESS && table->targets[t].column.kind != KARMA_COLUMN_NUMBER)
            return fail_for_text(&table->targets[t], mark, err);
    }
    return refuse_weights(table, err);
}

/* Values that were cut to KARMA_I_LARGEST_VALUE when they were encoded. In a kernel of all rows the standard deviation
 * would have grown with them. */
static karma_status check_values(const karma_model *model, const karma_i_rows *rows, size_t row, size_t number,
                                 karma_error *err) {
    karma_i_cell cell;
    for (size_t e = 0; rows; rows = rows->next, e++) {
        if (karma_i_recipe_is_placed(model->encoder.recipes[e])) continue;
        for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, row, from); from = cell.attribute + 1)
            for (size_t f = 0; f < cell.n_features; f++)
                if (!(fabsf(cell.features[f]) < (float)KARMA_I_LARGEST_VALUE))
                    return karma_i_fail(err, KARMA_ERR_DATA,
                                        "row %zu: the value in column '%s' is too far from those of the first rows to "
                                        "learn from",
                                        number, model->encoder.recipes[e]->columns[cell.attribute].name);
    }
    return KARMA_OK;
}

/* Labels of a regression, in standard deviations of the first ones. */
static karma_status check_labels(const karma_i_task *task, const karma_i_outputs *outputs, size_t row, size_t number,
                                 karma_error *err) {
    for (size_t k = 0; k < task->n_outputs; k++)
        if (outputs->weights[row * task->n_outputs + k] > 0.0 &&
            !(fabs(outputs->targets[row * task->n_outputs + k]) < KARMA_I_LARGEST_VALUE))
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "row %zu: its label is too far from those of the first rows to learn from", number);
    return KARMA_OK;
}

/* *n_good: the number of rows before the first that cannot be learned. */
static karma_status check_rows(size_t *n_good, const karma_online *online, const karma_i_rows *rows,
                               const karma_i_outputs *outputs, karma_error *err) {
    const karma_model *model = online->model;
    size_t n_seen = model->stream->state.n_rows + model->stream->waiting->n_rows;
    double *diagonal = karma_i_alloc(rows->n_rows, sizeof *diagonal);
    if (!diagonal) return karma_i_fail_memory(err);
    karma_i_kernel_diagonal(diagonal, &model->members[0].kernel, karma_i_rows_all(rows));
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++) {
        st = check_values(model, rows, i, n_seen + i + 1, err);
        if (st == KARMA_OK) st = check_labels(&model->task, outputs, i, n_seen + i + 1, err);
        if (st == KARMA_OK && !(fabs(diagonal[i]) <= LARGEST_KERNEL_VALUE))
            st = karma_i_fail(err, KARMA_ERR_DATA, "row %zu: its values are too large for this kernel", n_seen + i + 1);
        *n_good = st == KARMA_OK ? i + 1 : i;
    }
    karma_i_free(diagonal);
    return st;
}

/* The prediction of the first target for each row. */
static karma_status count_labels(karma_i_stream_part *p, const karma_i_head *head, const karma_i_target *target,
                                 size_t n_rows, const karma_hooks *hooks, karma_error *err) {
    size_t *classes = karma_i_alloc(n_rows, sizeof *classes), before = p->n_unknown;
    karma_status st = classes ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && p->n_classes) st = karma_i_labels_classes(classes, &head->labels, target, n_rows, err);
    for (size_t i = 0; st == KARMA_OK && i < n_rows; i++) {
        if (isnan(target->value[i]))
            p->n_unlabelled++;
        else if (p->n_classes && classes[i] == p->n_classes)
            p->n_unknown++;
        else if (p->n_classes)
            p->class_seen[classes[i]]++;
    }
    if (st == KARMA_OK && before == 0 && p->n_unknown)
        karma_i_notice(hooks,
                       "warning: a row after the first ones has a class in column '%s' that these did not have; such "
                       "rows count as errors and are not learned (option 'warm-up' sets how many rows are the first)",
                       head->name);
    karma_i_free(classes);
    return st;
}

karma_status karma_online_learn(karma_online *online, const karma_table *table, const karma_hooks *hooks,
                                karma_error *err) {
    karma_model *model = online->model;
    karma_i_outputs outputs = {0};
    karma_i_rows *rows = NULL;
    KARMA_TRY(check_targets(&model->task, decimal_mark(model), table, err));
    KARMA_TRY(karma_i_encoder_check_matrix(&model->encoder, model->info.n_columns, table, err));
    KARMA_TRY(karma_i_encoder_apply(&rows, &model->encoder, table, online->has_noted ? NULL : hooks, err));
    online->has_noted = 1;
    size_t n_good = 0;
    karma_status checked = karma_i_outputs_fill(&outputs, &model->task, table, err);
    if (checked == KARMA_OK) checked = check_rows(&n_good, online, rows, &outputs, err);
    karma_error *other = checked == KARMA_OK ? err : NULL; /* report only the refused row */
    karma_status st = count_labels(model->stream, &model->task.heads[0], &table->targets[0], n_good, hooks, other);
    for (size_t i = 0; st == KARMA_OK && i < n_good; i++) st = take_row(online, rows, &outputs, i, other);
    if (checked != KARMA_OK) st = checked;
    karma_i_outputs_clear(&outputs);
    karma_i_rows_free(rows);
    return st;
}

/* --- results ------------------------------------------------------------------------------------------- */

/* `factor`: from the units of the label to those of the solver. */
static void fill_account(karma_online_account *out, const karma_i_stream_part *p, const karma_i_stream_state *state,
                         double factor) {
    const karma_i_stream_numbers *numbers = &state->numbers;
    size_t seen = p->n_unknown, most = 0;
    for (size_t k = 0; k < p->n_classes; k++) {
        seen += p->class_seen[k];
        if (p->class_seen[k] > most) most = p->class_seen[k];
    }
    size_t judged = state->n_labelled + p->n_unknown;
    *out = (karma_online_account){.n_rows = p->state.n_rows + p->waiting->n_rows,
                                  .n_judged = state->n_labelled,
                                  .n_unlabelled = p->n_unlabelled,
                                  .n_unknown = p->n_unknown,
                                  .n_landmarks = state->landmarks->n_rows};
    if (state->n_labelled) out->mean_loss = state->loss / (double)state->n_labelled;
    if (numbers->n) {
        out->absolute_error = numbers->error / (double)numbers->n / factor;
        out->constant_error = numbers->constant_error / (double)numbers->n / factor;
    }
    if (!p->n_classes) return;
    if (judged) out->error_rate = (double)(state->n_errors + p->n_unknown) / (double)judged;
    if (seen) out->majority_error = 1.0 - (double)most / (double)seen;
}

karma_task karma_online_task(const karma_online *online) {
    return online->model->task.heads[0].labels.task;
}

void karma_online_get_account(karma_online_account *out, const karma_online *online) {
    const karma_model *model = online->model;
    fill_account(out, model->stream, &model->stream->state, model->task.heads[0].labels.factor);
}

/* The landmarks of the state become the support rows, and its machine the coefficients. */
static karma_status show_state(karma_model *model, const karma_i_stream_state *state, karma_error *err) {
    size_t K = model->task.n_outputs, n = state->landmarks->n_rows;
    karma_i_rows *support = NULL;
    double *coefficients = karma_i_alloc(n, K * sizeof *coefficients);
    karma_status st =
        coefficients ? karma_i_stream_coefficients(coefficients, state, K, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_rows_new_like(&support, state->landmarks, n, err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) st = karma_i_rows_append(support, state->landmarks, i, err);
    if (st != KARMA_OK) {
        karma_i_free(coefficients);
        karma_i_rows_free(support);
        return st;
    }
    karma_i_free(model->members[0].coefficients);
    karma_i_rows_free(model->support);
    model->members[0].coefficients = coefficients;
    model->support = support;
    return KARMA_OK;
}

/* Class weights that depend on the class counts stay those of the first rows, and so do the counts. */
static void fill_info(karma_model *model, const karma_online_account *account) {
    const karma_i_stream_part *p = model->stream;
    if (!model->task.options.class_weight)
        for (size_t k = 0; k < p->n_classes; k++) model->task.heads[0].labels.class_count[k] = p->class_seen[k];
    const karma_i_factor *factor = &model->members[0].kernel.factors[0];
    model->info = (karma_fit_info){.solver = KARMA_SOLVER_ONLINE,
                                   .stop = KARMA_STOP_FINISHED,
                                   .n_rows = account->n_rows - account->n_unlabelled,
                                   .n_unlabelled = account->n_unlabelled,
                                   .n_support = account->n_landmarks,
                                   .n_landmarks = account->n_landmarks,
                                   .rounds = account->n_rows,
                                   .C = (double)account->n_rows / model->stream->ridge,
                                   .rho = model->stream->ridge / (double)account->n_rows,
                                   .scale = factor->scale,
                                   .log_norm = factor->log_norm,
                                   .mean_loss = account->mean_loss,
                                   .error_rate = account->error_rate,
                                   .n_columns = model->info.n_columns};
}

karma_status karma_online_model(const karma_model **out, karma_online_account *account, karma_online *online,
                                karma_error *err) {
    karma_model *model = online->model;
    karma_i_stream_part *p = model->stream;
    karma_i_stream_state ahead = {0};
    karma_online_account own;
    if (p->state.n_rows + p->waiting->n_rows == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "there were no rows to learn from");
    int waits = p->waiting->n_rows > 0;
    if (waits) KARMA_TRY(learn_waiting(&ahead, online, err));
    const karma_i_stream_state *state = waits ? &ahead : &p->state;
    karma_status st = show_state(model, state, err);
    if (st == KARMA_OK) {
        fill_account(&own, p, state, model->task.heads[0].labels.factor);
        fill_info(model, &own);
        if (account) *account = own;
        *out = model;
    }
    karma_i_stream_state_clear(&ahead);
    return st;
}

size_t karma_model_n_stream_rows(const karma_model *model) {
    return model->stream ? model->stream->state.n_rows + model->stream->waiting->n_rows : 0;
}
