#include "model/task.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kernel/plan.h"
#include "table/row_parts.h"
#include "table/table_split.h"

void karma_i_task_clear(karma_i_task *task) {
    karma_options_clear(karma_fit_option_table(), &task->options);
    for (size_t t = 0; task->heads && t < task->n_heads; t++) karma_i_head_clear(&task->heads[t]);
    karma_i_free(task->heads);
    *task = (karma_i_task){0};
}

karma_i_task karma_i_task_with(const karma_i_task *task, const karma_fit_options *options) {
    karma_i_task view = *task;
    view.options = *options;
    return view;
}

/* Adds a head, whose outputs come after those of the others. */
static void place_head(karma_i_task *task) {
    karma_i_head *head = &task->heads[task->n_heads++];
    head->first_output = task->n_outputs;
    task->n_outputs += head->n_outputs;
}

/* Room for heads, and a copy of the options. Clear it even if this fails. */
static karma_status start_task(karma_i_task *task, const karma_fit_options *options, size_t n_heads, karma_error *err) {
    *task = (karma_i_task){.heads = karma_i_zalloc(n_heads, sizeof *task->heads)};
    if (!task->heads) return karma_i_fail_memory(err);
    return karma_options_copy(karma_fit_option_table(), &task->options, options, err);
}

static karma_status finish_task(karma_i_task *out, karma_i_task *task, karma_status st) {
    if (st == KARMA_OK)
        *out = *task;
    else
        karma_i_task_clear(task);
    return st;
}

/* --- from labels --------------------------------------------------------------------------------------- */

static karma_status learn_heads(karma_i_task *task, const karma_table *table, const karma_hooks *hooks,
                                karma_error *err) {
    karma_i_partition split = karma_i_table_split(table);
    for (size_t t = 0; t < table->n_targets; t++) {
        const karma_i_target *target = &table->targets[t];
        size_t n_labelled = 0;
        for (size_t i = 0; i < table->n_rows; i++) n_labelled += isnan(target->value[i]) ? 0 : 1;
        KARMA_TRY(karma_i_ranks_add(&n_labelled, 1, split.ranks, err));
        if (n_labelled == 0)
            return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'", target->column.name);
        KARMA_TRY(karma_i_head_learn(&task->heads[t], target, &split, &task->options, hooks, err));
        place_head(task);
    }
    return KARMA_OK;
}

static int is_level(double value) {
    return isfinite(value) && value > 0.0;
}

/* Levels require left-out rows. */
static karma_status check_certainty(const karma_fit_options *o, int any_numbers, int any_classes, karma_error *err) {
    if (is_level(o->intervals) && !any_numbers)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'intervals' is for numbers, but no target is a number");
    if (is_level(o->sets) && !any_classes)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'sets' is for classes, but no target has classes");
    const char *asked = is_level(o->intervals)                        ? "intervals"
                        : is_level(o->sets)                           ? "sets"
                        : o->coverage_by == KARMA_COVERAGE_BY_MISSING ? "coverage-by"
                                                                      : NULL;
    if (asked && o->certainty == KARMA_CERTAINTY_OFF)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option '%s' needs what option 'certainty=off' leaves out", asked);
    return KARMA_OK;
}

/* Options that apply to no target are an error. */
static karma_status check_settings(const karma_i_task *task, karma_error *err) {
    int any_quantiles = 0, any_classes = 0, any_numbers = 0;
    for (size_t t = 0; t < task->n_heads; t++) {
        any_quantiles |= task->heads[t].n_quantiles > 0;
        any_classes |= task->heads[t].labels.n_classes > 0;
        any_numbers |= task->heads[t].labels.n_classes == 0;
    }
    if (task->options.quantile && !any_quantiles)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'quantile' is for numbers with the loss pinball, not for %s",
                            karma_i_loss_name(task->heads[0].loss));
    if (task->options.class_weight && !any_classes)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'class-weight' is for classes, but no target has classes");
    KARMA_TRY(check_certainty(&task->options, any_numbers, any_classes, err));
    if (task->options.probabilities != KARMA_CALIBRATE_OFF && task->options.probabilities != KARMA_CALIBRATE_AUTO &&
        !any_classes)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'probabilities' is for classes, but no target has classes");
    return karma_i_check_class_weights(task->heads, task->n_heads, &task->options, err);
}

/* If the table has kernel values, they are the kernel. */
static karma_status take_given_kernel(karma_fit_options *options, karma_error *err) {
    karma_i_plan plan;
    if (!options->kernel) {
        options->kernel = karma_i_strdup("precomputed");
        return options->kernel ? KARMA_OK : karma_i_fail_memory(err);
    }
    KARMA_TRY(karma_i_plan_parse(&plan, options->kernel, options, err));
    int is_precomputed = karma_i_plan_is_precomputed(&plan);
    karma_i_plan_clear(&plan);
    if (is_precomputed) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION,
                        "the table comes with kernel values: option 'kernel' must be 'precomputed' or left out");
}

karma_status karma_i_task_learn(karma_i_task *out, const karma_table *table, const karma_fit_options *options,
                                const karma_hooks *hooks, karma_error *err) {
    karma_i_task task;
    KARMA_TRY(karma_options_check(karma_fit_option_table(), options, err));
    karma_status st = start_task(&task, options, table->n_targets, err);
    if (st == KARMA_OK && table->gram) st = take_given_kernel(&task.options, err);
    if (st == KARMA_OK) st = learn_heads(&task, table, hooks, err);
    if (st == KARMA_OK) st = check_settings(&task, err);
    return finish_task(out, &task, st);
}

karma_status karma_i_task_relearn(karma_i_task *out, const karma_i_task *task, const karma_table *table,
                                  karma_error *err) {
    karma_i_task own;
    karma_i_partition split = karma_i_table_split(table);
    karma_status st = start_task(&own, &task->options, task->n_heads, err);
    for (size_t t = 0; st == KARMA_OK && t < task->n_heads; t++) {
        st = karma_i_head_copy(&own.heads[t], &task->heads[t], err);
        if (st == KARMA_OK) place_head(&own);
        if (st == KARMA_OK) st = karma_i_head_relearn(&own.heads[t], &table->targets[t], &split, &own.options, err);
    }
    return finish_task(out, &own, st);
}

/* --- rows ---------------------------------------------------------------------------------------------- */

void karma_i_training_clear(karma_i_training *training) {
    karma_table_free(training->own);
    karma_i_free(training->index);
    *training = (karma_i_training){0};
}

/* index[0..*n): the rows of this process that have a label. */
static karma_status list_labelled(karma_i_training *t, size_t *n, const karma_table *table, const karma_hooks *hooks,
                                  karma_error *err) {
    *n = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        int any = 0;
        for (size_t k = 0; k < table->n_targets; k++) any |= !isnan(table->targets[k].value[i]);
        if (any) t->index[(*n)++] = i;
    }
    const char *name = table->targets[0].column.name, *more = table->n_targets > 1 ? " or the other targets" : "";
    size_t n_all = karma_i_table_n_all(table), labelled = *n;
    KARMA_TRY(karma_i_ranks_add(&labelled, 1, karma_i_table_ranks(table), err));
    t->n_unlabelled = n_all - labelled;
    if (labelled == 0) return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'%s", name, more);
    if (t->n_unlabelled > 0)
        karma_i_notice(hooks, "%zu of %zu rows %s no label in column '%s'%s and %s left out of training",
                       t->n_unlabelled, n_all, t->n_unlabelled == 1 ? "has" : "have", name, more,
                       t->n_unlabelled == 1 ? "is" : "are");
    return KARMA_OK;
}

/* *weights: of the rows that stay; NULL: as in the table. */
static karma_status join_parts(double **weights, karma_i_training *t, size_t *n, const karma_table *table,
                               const karma_hooks *hooks, karma_error *err) {
    size_t left, n_labelled = karma_i_table_n_all(table) - t->n_unlabelled;
    *weights = NULL;
    if (!table->row_weight || table->gram) return KARMA_OK;
    KARMA_TRY(karma_i_row_parts_join(weights, t->index, n, table, err));
    if (!*weights) return KARMA_OK;
    left = *n;
    karma_status st = karma_i_ranks_add(&left, 1, karma_i_table_ranks(table), err);
    t->n_joined = n_labelled - left;
    if (st == KARMA_OK)
        karma_i_notice(
            hooks,
            "the weights show that rows are given in parts: %zu of %zu rows are put together with equal rows, "
            "and %zu are learned from",
            t->n_joined, n_labelled, left);
    else {
        karma_i_free(*weights);
        *weights = NULL;
    }
    return st;
}

/* A new table of index[0..n), with these weights unless they are NULL. */
static karma_status take_rows(karma_i_training *t, size_t n, const double *weights, const karma_table *table,
                              karma_error *err) {
    const karma_ranks *ranks = karma_i_table_ranks(table);
    karma_table *selected = NULL;
    KARMA_TRY(karma_table_select(&selected, table, t->index, n, err));
    if (weights && n) memcpy(selected->row_weight, weights, n * sizeof *weights);
    if (ranks->size == 1) {
        t->own = selected;
        return KARMA_OK;
    }
    karma_status st = karma_i_table_balance(&t->own, selected, ranks, err);
    karma_table_free(selected);
    return st;
}

karma_status karma_i_training_take(karma_i_training *out, const karma_table *table, int joins, const karma_hooks *hooks,
                                   karma_error *err) {
    size_t n = 0;
    double *weights = NULL;
    if (table->n_targets == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no label: name its column with option 'target'");
    karma_i_training own = {.index = karma_i_alloc(table->n_rows, sizeof *own.index)};
    karma_status st = own.index ? list_labelled(&own, &n, table, hooks, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK && joins) st = join_parts(&weights, &own, &n, table, hooks, err);
    if (st == KARMA_OK && (weights || own.n_unlabelled > 0)) st = take_rows(&own, n, weights, table, err);
    karma_i_free(weights);
    own.rows = own.own ? own.own : table;
    if (!own.own || karma_i_table_ranks(table)->size > 1) {
        karma_i_free(own.index);
        own.index = NULL;
    }
    if (st == KARMA_OK)
        *out = own;
    else
        karma_i_training_clear(&own);
    return st;
}
