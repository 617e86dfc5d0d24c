/* From a table and options to a model. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "solve/solver.h"

double karma_i_choose_scale(const karma_fit_options *options, const karma_i_rows *rows) {
    if (options->scale != KARMA_SCALE_MEAN) return options->scale;
    double observed = 0.0;
    for (size_t i = 0; i < rows->n_rows; i++) observed += (double)karma_i_rows_n_observed(rows, i);
    double mean = observed / (double)rows->n_rows + (options->bias != 0.0 ? 1.0 : 0.0);
    return mean > 0.0 ? mean : 1.0;
}

size_t karma_i_largest_overlap(const karma_i_rows *rows) {
    size_t most = 0;
    for (size_t i = 0; i < rows->n_rows; i++) {
        size_t observed = karma_i_rows_n_observed(rows, i);
        if (observed > most) most = observed;
    }
    return most;
}

/* C that weighs the average row like a unit vector in the objective: m / mean k(x,x). */
static karma_status choose_C(double *C, const karma_fit_options *options, const karma_i_kernel *kernel,
                             const karma_i_rows *rows, karma_error *err) {
    *C = options->C;
    if (options->C != KARMA_AUTO) return KARMA_OK;
    double *diagonal = karma_i_alloc(rows->n_rows, sizeof *diagonal), sum = 0.0;
    if (!diagonal) return karma_i_fail_memory(err);
    karma_i_kernel_diagonal(diagonal, kernel, karma_i_rows_all(rows));
    for (size_t i = 0; i < rows->n_rows; i++) sum += diagonal[i];
    karma_i_free(diagonal);
    *C = sum > 0.0 ? (double)rows->n_rows * (double)rows->n_rows / sum : 1.0;
    return KARMA_OK;
}

/* The rows that have a label: *out is a new table, or stays NULL when they are all of them. */
static karma_status labelled_rows(karma_table **out, const karma_table *table, const karma_hooks *hooks,
                                  karma_error *err) {
    size_t *rows = karma_i_alloc(table->n_rows, sizeof *rows), n = 0;
    if (!rows) return karma_i_fail_memory(err);
    for (size_t i = 0; i < table->n_rows; i++)
        if (!isnan(table->targets[0].value[i])) rows[n++] = i;
    karma_status st = KARMA_OK;
    if (n == 0)
        st = karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'", table->targets[0].column.name);
    else if (n < table->n_rows) {
        karma_i_notice(hooks, "%zu of %zu rows have no label in column '%s' and are left out of training",
                       table->n_rows - n, table->n_rows, table->targets[0].column.name);
        st = karma_table_select(out, table, rows, n, err);
    }
    karma_i_free(rows);
    return st;
}

/* Copies the rows that any output uses, and their coefficients, into the model. */
static karma_status keep_support(karma_model *model, const karma_i_rows *rows, const double *coefficients,
                                 karma_error *err) {
    size_t n_outputs = karma_i_labels_n_outputs(&model->labels), kept = 0;
    model->coefficients = karma_i_alloc(rows->n_rows, n_outputs * sizeof *model->coefficients);
    if (!model->coefficients) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_rows_new_like(&model->support, rows, 0, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        int used = 0;
        for (size_t k = 0; k < n_outputs; k++) used |= coefficients[i * n_outputs + k] != 0.0;
        if (!used) continue;
        KARMA_TRY(karma_i_rows_append(model->support, rows, i, err));
        memcpy(model->coefficients + kept * n_outputs, coefficients + i * n_outputs, n_outputs * sizeof *coefficients);
        kept++;
    }
    model->info.n_support = kept;
    return KARMA_OK;
}

static karma_status solve(karma_model *model, const karma_table *table, const karma_i_rows *rows,
                          const karma_hooks *hooks, karma_error *err) {
    size_t n_outputs = karma_i_labels_n_outputs(&model->labels);
    karma_fit_options resolved = model->options;
    karma_i_problem problem = {.kernel = &model->kernel, .rows = rows, .n_outputs = n_outputs};
    KARMA_TRY(karma_i_loss_make(&problem.loss, model->labels.task, &model->options, err));
    KARMA_TRY(choose_C(&resolved.C, &model->options, &model->kernel, rows, err));
    model->loss = problem.loss.kind;
    model->info.C = resolved.C;
    double *targets = karma_i_alloc(rows->n_rows, n_outputs * sizeof *targets);
    double *coefficients = karma_i_alloc(rows->n_rows, n_outputs * sizeof *coefficients);
    karma_status st = targets && coefficients ? karma_i_labels_targets(targets, &model->labels, table, err)
                                              : karma_i_fail_memory(err);
    problem.targets = targets;
    model->info.solver = karma_i_choose_solver(&model->options, rows->n_rows);
    if (model->options.solver == KARMA_SOLVER_AUTO && model->info.solver == KARMA_SOLVER_ONLINE)
        karma_i_notice(hooks, "the kernel matrix of %zu rows does not fit the memory limit: the online solver is used",
                       rows->n_rows);
    karma_i_solve_fn run = karma_i_solver(model->info.solver);
    if (st == KARMA_OK) st = run(coefficients, &model->info, &problem, &resolved, hooks, err);
    if (st == KARMA_OK) st = keep_support(model, rows, coefficients, err);
    karma_i_free(targets);
    karma_i_free(coefficients);
    return st;
}

static karma_status fit_labelled(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                 karma_error *err) {
    const karma_fit_options *options = &model->options;
    model->target_name = karma_i_strdup(table->targets[0].column.name);
    if (!model->target_name) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_labels_learn(&model->labels, table, options, hooks, err));
    KARMA_TRY(karma_i_recipe_learn(&model->recipe, table, options, hooks, err));
    for (size_t i = 0; i < table->n_rows; i++) model->target_mean += table->targets[0].value[i] / (double)table->n_rows;
    model->info.n_rows = table->n_rows;
    karma_i_rows *rows = NULL;
    KARMA_TRY(karma_i_recipe_apply(&rows, model->recipe, table, NULL, err));
    model->info.scale = karma_i_choose_scale(options, rows);
    karma_status st = karma_i_kernel_init(&model->kernel, (size_t)options->gamma, model->info.scale, options->bias,
                                          karma_i_largest_overlap(rows), err);
    model->info.log_norm = model->kernel.log_norm;
    if (st == KARMA_OK && karma_i_progress(hooks, "learning", 0, 0))
        st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before anything was learned");
    if (st == KARMA_OK) st = solve(model, table, rows, hooks, err);
    karma_i_rows_free(rows);
    return st;
}

static karma_status check_targets(const karma_table *table, karma_error *err) {
    if (table->n_targets == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no label: say which column it is with --target");
    if (table->n_targets > 1)
        return karma_i_fail(err, KARMA_ERR_OPTION, "several targets cannot be learned together yet: name one");
    if (table->row_weight) return karma_i_fail(err, KARMA_ERR_OPTION, "row weights cannot be learned with yet");
    return KARMA_OK;
}

karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                       const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_options_check(karma_fit_option_table(), options, err));
    KARMA_TRY(check_targets(table, err));
    karma_table *labelled = NULL;
    KARMA_TRY(labelled_rows(&labelled, table, hooks, err));
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    karma_status st = model ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        model->options = *options;
        if (labelled) model->info.n_unlabelled = table->n_rows - labelled->n_rows;
        st = fit_labelled(model, labelled ? labelled : table, hooks, err);
        model->options.step = NULL; /* belongs to the caller, and training is over */
        model->options.step_payload = NULL;
    }
    karma_table_free(labelled);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
