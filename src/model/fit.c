/* From a table and options to a model. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "solve/solver.h"

static karma_status learn_formula(karma_i_encoder *encoder, karma_i_kernel *kernel, karma_i_rows **rows,
                                  const karma_i_formula *formula, const karma_table *table,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_i_encoder_learn(encoder, table, formula->kinds, formula->n_kinds, options, hooks, err));
    KARMA_TRY(karma_i_encoder_apply(rows, encoder, table, NULL, err));
    return karma_i_kernel_learn(kernel, formula, *rows, karma_i_threads(options->threads), err);
}

karma_status karma_i_learn_kernel(karma_i_encoder *encoder, karma_i_kernel *kernel, karma_i_rows **rows,
                                  const karma_table *table, const karma_fit_options *options, const karma_hooks *hooks,
                                  karma_error *err) {
    karma_i_formula formula;
    karma_i_encoder learned = {0};
    karma_i_rows *encoded = NULL;
    KARMA_TRY(karma_i_formula_parse(&formula, options, err));
    karma_status st = learn_formula(&learned, kernel, &encoded, &formula, table, options, hooks, err);
    karma_i_formula_clear(&formula);
    if (st == KARMA_OK) {
        *encoder = learned;
        *rows = encoded;
    } else {
        karma_i_encoder_clear(&learned);
        karma_i_rows_free(encoded);
    }
    return st;
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
        if (!isnan(table->target_value[i])) rows[n++] = i;
    karma_status st = KARMA_OK;
    if (n == 0)
        st = karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'", table->target.name);
    else if (n < table->n_rows) {
        karma_i_notice(hooks, "%zu of %zu rows have no label in column '%s' and are left out of training",
                       table->n_rows - n, table->n_rows, table->target.name);
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
    model->target_name = karma_i_strdup(table->target.name);
    if (!model->target_name) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_labels_learn(&model->labels, table, options, hooks, err));
    for (size_t i = 0; i < table->n_rows; i++) model->target_mean += table->target_value[i] / (double)table->n_rows;
    model->info.n_rows = table->n_rows;
    karma_i_rows *rows = NULL;
    karma_status st = karma_i_learn_kernel(&model->encoder, &model->kernel, &rows, table, options, hooks, err);
    if (st == KARMA_OK) {
        model->info.scale = model->kernel.factors[0].scale;
        model->info.log_norm = model->kernel.factors[0].log_norm;
    }
    if (st == KARMA_OK && karma_i_progress(hooks, "learning", 0, 0))
        st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before anything was learned");
    if (st == KARMA_OK) st = solve(model, table, rows, hooks, err);
    karma_i_rows_free(rows);
    return st;
}

karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                       const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_options_check(karma_fit_option_table(), options, err));
    if (!table->has_target)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no label: say which column it is with --target");
    karma_table *labelled = NULL;
    KARMA_TRY(labelled_rows(&labelled, table, hooks, err));
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    karma_status st =
        model ? karma_options_copy(karma_fit_option_table(), &model->options, options, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
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
