/* From a table and options to a model. */
#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/solve_path.h"
#include "model/supervise.h"

/* Up to so many rows members are learned side by side: each has its kernel matrix in memory. */
enum { SIDE_BY_SIDE_ROWS = 4000 };

karma_status karma_i_choose_C(double *C, const karma_fit_options *options, const karma_i_kernel *kernel,
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

karma_status karma_i_labelled_rows(karma_table **out, const karma_table *table, const karma_hooks *hooks,
                                   karma_error *err) {
    *out = NULL;
    if (table->n_targets == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no label: say which column it is with --target");
    size_t *rows = karma_i_alloc(table->n_rows, sizeof *rows), n = 0;
    if (!rows) return karma_i_fail_memory(err);
    for (size_t i = 0; i < table->n_rows; i++) {
        int any = 0;
        for (size_t t = 0; t < table->n_targets; t++) any |= !isnan(table->targets[t].value[i]);
        if (any) rows[n++] = i;
    }
    const char *name = table->targets[0].column.name, *more = table->n_targets > 1 ? " or the other targets" : "";
    karma_status st = KARMA_OK;
    if (n == 0)
        st = karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'%s", name, more);
    else if (n < table->n_rows) {
        karma_i_notice(hooks, "%zu of %zu rows have no label in column '%s'%s and are left out of training",
                       table->n_rows - n, table->n_rows, name, more);
        st = karma_table_select(out, table, rows, n, err);
    }
    karma_i_free(rows);
    return st;
}

static int is_used(const karma_model *model, size_t row) {
    for (size_t m = 0; m < model->n_members; m++)
        for (size_t k = 0; k < model->n_outputs; k++)
            if (model->members[m].coefficients[row * model->n_outputs + k] != 0.0) return 1;
    return 0;
}

/* Keeps the rows that any output of any member uses: the members' coefficients are of all rows before, and of the
 * support rows after. */
static karma_status keep_support(karma_model *model, const karma_i_rows *rows, karma_error *err) {
    size_t n_outputs = model->n_outputs, kept = 0;
    KARMA_TRY(karma_i_rows_new_like(&model->support, rows, 0, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (!is_used(model, i)) continue;
        KARMA_TRY(karma_i_rows_append(model->support, rows, i, err));
        for (size_t m = 0; m < model->n_members; m++) {
            double *coefficients = model->members[m].coefficients;
            memmove(coefficients + kept * n_outputs, coefficients + i * n_outputs, n_outputs * sizeof *coefficients);
        }
        kept++;
    }
    model->info.n_support = kept;
    return KARMA_OK;
}

/* A member's kernel and its machines, whose weighted sum is one machine: they share the kernel. */
static karma_status learn_member(karma_model *model, size_t which, karma_fit_info *info,
                                 const karma_i_committee *committee, const karma_i_outputs *outputs,
                                 const karma_i_rows *rows, const karma_fit_options *options, const karma_hooks *hooks,
                                 karma_error *err) {
    karma_i_member *member = &model->members[which];
    const karma_i_C_path *path = &committee->paths[which];
    const karma_i_head *first = &model->heads[0];
    size_t K = model->n_outputs;
    karma_i_problem problem = {.kernel = &member->kernel,
                               .rows = rows,
                               .n_outputs = K,
                               .targets = outputs->targets,
                               .row_weights = outputs->weights,
                               .losses = outputs->losses};
    problem.n_deciding = first->labels.task == KARMA_TASK_CLASSIFY ? first->n_outputs : 0;
    KARMA_TRY(karma_i_kernel_learn(&member->kernel, &committee->formulas[which], rows,
                                   karma_i_threads(options->threads), err));
    member->coefficients = karma_i_zalloc(rows->n_rows, K * sizeof *member->coefficients);
    double *all = karma_i_alloc(rows->n_rows, path->n * K * sizeof *all);
    karma_status st = member->coefficients && all ? KARMA_OK : karma_i_fail_memory(err);
    *info = (karma_fit_info){.solver = model->info.solver};
    if (st == KARMA_OK) st = karma_i_solve_path(all, info, path, &problem, options, hooks, err);
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++)
        for (size_t c = 0; c < path->n; c++)
            for (size_t k = 0; k < K; k++)
                member->coefficients[i * K + k] += path->weights[c] * all[(i * path->n + c) * K + k];
    karma_i_free(all);
    return st;
}

/* All members. Where they are several and rows are few, a thread learns one member at a time: their solvers are too
 * small for several. Which thread learns which changes nothing; the hooks are asked from the caller's thread only. */
static karma_status learn_all_members(karma_model *model, const karma_i_committee *committee,
                                      const karma_i_outputs *outputs, const karma_i_rows *rows,
                                      const karma_hooks *hooks, karma_error *err) {
    size_t n = model->n_members;
    int side_by_side = n > 1 && rows->n_rows <= SIDE_BY_SIDE_ROWS;
    karma_fit_options options = model->options; /* borrows its texts */
    karma_fit_info *infos = karma_i_zalloc(n, sizeof *infos);
    karma_error *errors = karma_i_zalloc(n, sizeof *errors);
    karma_status st = infos && errors ? KARMA_OK : karma_i_fail_memory(err);
    if (side_by_side) options.threads = 1;
    if (st == KARMA_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(side_by_side ? karma_i_threads(model->options.threads) : 1)
        for (size_t m = 0; m < n; m++)
            (void)learn_member(model, m, &infos[m], committee, outputs, rows, &options,
                               omp_get_thread_num() == 0 ? hooks : NULL, &errors[m]);
    }
    for (size_t m = 0; st == KARMA_OK && m < n; m++) {
        st = errors[m].status;
        if (st != KARMA_OK && err) *err = errors[m];
        karma_i_info_add(&model->info, &infos[m]);
    }
    karma_i_free(infos);
    karma_i_free(errors);
    return st;
}

static karma_status solve(karma_model *model, const karma_i_committee *committee, const karma_i_outputs *outputs,
                          const karma_i_rows *rows, const karma_hooks *hooks, karma_error *err) {
    model->info.solver = karma_i_choose_solver(&model->options, rows->n_rows);
    if (model->options.solver == KARMA_SOLVER_AUTO && model->info.solver == KARMA_SOLVER_ONLINE)
        karma_i_notice(hooks, "the kernel matrix of %zu rows does not fit the memory limit: the online solver is used",
                       rows->n_rows);
    KARMA_TRY(learn_all_members(model, committee, outputs, rows, hooks, err));
    model->info.scale = model->members[0].kernel.factors[0].scale;
    model->info.log_norm = model->members[0].kernel.factors[0].log_norm;
    return keep_support(model, rows, err);
}

static karma_status learn_members(karma_model *model, const karma_i_committee *committee,
                                  const karma_i_outputs *outputs, const karma_i_rows *rows, const karma_hooks *hooks,
                                  karma_error *err) {
    model->members = karma_i_zalloc(committee->n, sizeof *model->members);
    if (!model->members) return karma_i_fail_memory(err);
    model->n_members = committee->n;
    if (karma_i_progress(hooks, "learning", 0, 0))
        return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before anything was learned");
    return solve(model, committee, outputs, rows, hooks, err);
}

/* The model has its options and its heads; the rest is learned here. `solving`: the hooks of the solvers. */
static karma_status fit_rows(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                             const karma_hooks *solving, karma_error *err) {
    karma_i_committee committee;
    karma_i_outputs outputs = {0};
    karma_i_rows *rows = NULL;
    model->info.n_rows = table->n_rows;
    KARMA_TRY(karma_i_committee_parse(&committee, &model->options, err));
    karma_status st = karma_i_outputs_fill(&outputs, model, table, err);
    if (st == KARMA_OK)
        st = karma_i_learn_recipes(&model->encoder, committee.kinds, committee.n_kinds, model, &outputs, table, hooks,
                                   err);
    if (st == KARMA_OK) st = karma_i_encoder_apply(&rows, &model->encoder, table, NULL, err);
    if (st == KARMA_OK) st = learn_members(model, &committee, &outputs, rows, solving, err);
    karma_i_rows_free(rows);
    karma_i_outputs_clear(&outputs);
    karma_i_committee_clear(&committee);
    return st;
}

/* --- heads --------------------------------------------------------------------------------------------- */

static karma_status new_model(karma_model **out, const karma_fit_options *options, size_t n_heads, karma_error *err) {
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    if (!model) return karma_i_fail_memory(err);
    model->heads = karma_i_zalloc(n_heads, sizeof *model->heads);
    karma_status st = model->heads ? karma_options_copy(karma_fit_option_table(), &model->options, options, err)
                                   : karma_i_fail_memory(err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

/* One more head, after the others' outputs. */
static void place_head(karma_model *model) {
    karma_i_head *head = &model->heads[model->n_heads++];
    head->first_output = model->n_outputs;
    model->n_outputs += head->n_outputs;
}

static karma_status learn_heads(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                karma_error *err) {
    for (size_t t = 0; t < table->n_targets; t++) {
        size_t n_labelled = 0;
        for (size_t i = 0; i < table->n_rows; i++) n_labelled += isnan(table->targets[t].value[i]) ? 0 : 1;
        if (n_labelled == 0)
            return karma_i_fail(err, KARMA_ERR_DATA, "no row has a label in column '%s'",
                                table->targets[t].column.name);
        KARMA_TRY(karma_i_head_learn(&model->heads[t], &table->targets[t], table->n_rows, &model->options, hooks, err));
        place_head(model);
    }
    return KARMA_OK;
}

/* Settings that no head would look at are not passed over in silence. */
static karma_status check_settings(const karma_model *model, karma_error *err) {
    int any_quantiles = 0, any_classes = 0;
    for (size_t t = 0; t < model->n_heads; t++) {
        any_quantiles |= model->heads[t].n_quantiles > 0;
        any_classes |= model->heads[t].labels.n_classes > 0;
    }
    if (model->options.quantile && !any_quantiles)
        return karma_i_fail(err, KARMA_ERR_OPTION, "--quantile is for numbers with the loss pinball, not for %s",
                            karma_i_loss_name(model->heads[0].loss));
    if (model->options.class_weight && !any_classes)
        return karma_i_fail(err, KARMA_ERR_OPTION, "--class-weight is for classes, and there are none");
    if (model->options.probabilities != KARMA_CALIBRATE_OFF && !any_classes)
        return karma_i_fail(err, KARMA_ERR_OPTION, "--probabilities are of classes, and there are none");
    return karma_i_check_class_weights(model->heads, model->n_heads, &model->options, err);
}

karma_status karma_i_model_start(karma_model **out, const karma_table *table, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    karma_model *model = NULL;
    KARMA_TRY(karma_options_check(karma_fit_option_table(), options, err));
    KARMA_TRY(new_model(&model, options, table->n_targets, err));
    karma_status st = KARMA_OK;
    if (table->gram && !model->options.kernel) {
        model->options.kernel = karma_i_strdup("precomputed");
        if (!model->options.kernel) st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) st = learn_heads(model, table, hooks, err);
    if (st == KARMA_OK) st = check_settings(model, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

karma_status karma_i_model_start_like(karma_model **out, const karma_model *like, const karma_table *table,
                                      karma_error *err) {
    karma_model *model = NULL;
    KARMA_TRY(new_model(&model, &like->options, like->n_heads, err));
    karma_status st = KARMA_OK;
    for (size_t t = 0; st == KARMA_OK && t < like->n_heads; t++) {
        st = karma_i_head_copy(&model->heads[t], &like->heads[t], err);
        if (st == KARMA_OK) place_head(model);
        if (st == KARMA_OK)
            st = karma_i_head_relearn(&model->heads[t], &table->targets[t], table->n_rows, &model->options, err);
    }
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

karma_status karma_i_fit_like(karma_model **out, const karma_model *like, const karma_table *table,
                              const karma_hooks *hooks, const karma_hooks *solving, karma_error *err) {
    karma_model *model = NULL;
    KARMA_TRY(karma_i_model_start_like(&model, like, table, err));
    karma_status st = fit_rows(model, table, hooks, solving, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                       const karma_hooks *hooks, karma_error *err) {
    karma_table *labelled = NULL;
    karma_model *model = NULL;
    KARMA_TRY(karma_options_check(karma_fit_option_table(), options, err));
    KARMA_TRY(karma_i_labelled_rows(&labelled, table, hooks, err));
    const karma_table *rows = labelled ? labelled : table;
    karma_status st = karma_i_model_start(&model, rows, options, hooks, err);
    if (st == KARMA_OK) {
        model->info.n_unlabelled = table->n_rows - rows->n_rows;
        st = fit_rows(model, rows, hooks, hooks, err);
    }
    if (st == KARMA_OK) st = karma_i_calibrate_model(model, rows, hooks, err);
    karma_table_free(labelled);
    if (st == KARMA_OK) {
        model->options.step = NULL; /* belongs to the caller, and training is over */
        model->options.step_payload = NULL;
        *out = model;
    } else
        karma_model_free(model);
    return st;
}
