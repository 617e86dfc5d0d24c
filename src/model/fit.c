/* From a table and options to a model. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "solve/solver.h"

static karma_status learn_formula(karma_i_encoder *encoder, karma_i_kernel *kernel, karma_i_rows **rows,
                                  const karma_i_formula *formula, const karma_table *table,
                                  const karma_i_supervision *labels, const karma_fit_options *options,
                                  const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_i_encoder_learn(encoder, table, formula->kinds, formula->n_kinds, options, hooks, err));
    if (labels && options->refine > 0) KARMA_TRY(karma_i_encoder_refine(encoder, table, labels, options, hooks, err));
    KARMA_TRY(karma_i_encoder_apply(rows, encoder, table, NULL, err));
    return karma_i_kernel_learn(kernel, formula, *rows, karma_i_threads(options->threads), err);
}

karma_status karma_i_learn_kernel(karma_i_encoder *encoder, karma_i_kernel *kernel, karma_i_rows **rows,
                                  const karma_table *table, const karma_i_supervision *labels,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_formula formula;
    karma_i_encoder learned = {0};
    karma_i_rows *encoded = NULL;
    KARMA_TRY(karma_i_formula_parse(&formula, options, err));
    karma_status st = learn_formula(&learned, kernel, &encoded, &formula, table, labels, options, hooks, err);
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

/* The rows that have a label of some target: *out is a new table, or stays NULL when they are all of them. */
static karma_status labelled_rows(karma_table **out, const karma_table *table, const karma_hooks *hooks,
                                  karma_error *err) {
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

/* Copies the rows that any output uses, and their coefficients, into the model. */
static karma_status keep_support(karma_model *model, const karma_i_rows *rows, const double *coefficients,
                                 karma_error *err) {
    size_t n_outputs = model->n_outputs, kept = 0;
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

/* What the solver is given, output by output. */
typedef struct outputs {
    double *targets, *weights;
    karma_i_loss *losses;
} outputs;

static void free_outputs(outputs *o) {
    karma_i_free(o->targets);
    karma_i_free(o->weights);
    karma_i_free(o->losses);
}

/* The table's weights, divided by their mean so that C keeps its meaning. A new array, or NULL where there are none. */
static karma_status mean_one_weights(double **out, const karma_table *table, karma_error *err) {
    *out = NULL;
    if (!table->row_weight) return KARMA_OK;
    double sum = 0.0;
    for (size_t i = 0; i < table->n_rows; i++) sum += table->row_weight[i] / (double)table->n_rows;
    if (!(sum > 0.0 && isfinite(sum)))
        return karma_i_fail(err, KARMA_ERR_DATA, "no row that has a label has a weight above 0");
    double *weights = karma_i_alloc(table->n_rows, sizeof *weights);
    if (!weights) return karma_i_fail_memory(err);
    for (size_t i = 0; i < table->n_rows; i++) weights[i] = table->row_weight[i] / sum;
    *out = weights;
    return KARMA_OK;
}

static karma_status fill_outputs(outputs *o, const karma_model *model, const karma_table *table, karma_error *err) {
    size_t n = model->n_outputs;
    double *row_weights;
    KARMA_TRY(mean_one_weights(&row_weights, table, err));
    o->targets = karma_i_alloc(table->n_rows, n * sizeof *o->targets);
    o->weights = karma_i_alloc(table->n_rows, n * sizeof *o->weights);
    o->losses = karma_i_alloc(n, sizeof *o->losses);
    karma_status st = o->targets && o->weights && o->losses ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t t = 0; st == KARMA_OK && t < model->n_heads; t++) {
        const karma_i_head *head = &model->heads[t];
        st = karma_i_head_losses(o->losses + head->first_output, head, &model->options, err);
        if (st == KARMA_OK)
            st = karma_i_head_targets(o->targets, o->weights, n, head, &table->targets[t], row_weights, table->n_rows,
                                      &model->options, err);
    }
    karma_i_free(row_weights);
    return st;
}

static karma_status solve(karma_model *model, const outputs *o, const karma_i_rows *rows, const karma_hooks *hooks,
                          karma_error *err) {
    karma_fit_options resolved = model->options; /* borrows its texts */
    const karma_i_head *first = &model->heads[0];
    karma_i_problem problem = {.kernel = &model->kernel, .rows = rows, .n_outputs = model->n_outputs};
    KARMA_TRY(choose_C(&resolved.C, &model->options, &model->kernel, rows, err));
    model->info.C = resolved.C;
    model->info.solver = karma_i_choose_solver(&model->options, rows->n_rows);
    if (model->options.solver == KARMA_SOLVER_AUTO && model->info.solver == KARMA_SOLVER_ONLINE)
        karma_i_notice(hooks, "the kernel matrix of %zu rows does not fit the memory limit: the online solver is used",
                       rows->n_rows);
    double *coefficients = karma_i_alloc(rows->n_rows, model->n_outputs * sizeof *coefficients);
    karma_status st = coefficients ? KARMA_OK : karma_i_fail_memory(err);
    problem.targets = o->targets;
    problem.row_weights = o->weights;
    problem.losses = o->losses;
    problem.n_deciding = first->labels.task == KARMA_TASK_CLASSIFY ? first->n_outputs : 0;
    karma_i_solve_fn run = karma_i_solver(model->info.solver);
    if (st == KARMA_OK) st = run(coefficients, &model->info, &problem, &resolved, hooks, err);
    if (st == KARMA_OK) st = keep_support(model, rows, coefficients, err);
    karma_i_free(coefficients);
    return st;
}

/* ---- refining a subspace ---- */

/* One fold in so many is held out to say whether refining helps. */
enum { REFINE_FOLDS = 4 };

/* What refining a subspace looks at: the outputs as the solver has them, and a hold-out. */
typedef struct supervision {
    karma_i_supervision labels;
    karma_i_task_loss *losses;
    uint8_t *is_held_out;
} supervision;

static void clear_supervision(supervision *s) {
    karma_i_free(s->losses);
    karma_i_free(s->is_held_out);
}

static karma_status supervise(supervision *s, const karma_model *model, const outputs *o, const karma_table *table,
                              karma_error *err) {
    size_t n = table->n_rows, K = model->n_outputs, *fold = karma_i_alloc(n, sizeof *fold);
    s->losses = karma_i_alloc(K, sizeof *s->losses);
    s->is_held_out = karma_i_alloc(n, sizeof *s->is_held_out);
    karma_status st = fold && s->losses && s->is_held_out ? karma_i_assign_folds(fold, REFINE_FOLDS, model, table, err)
                                                          : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) s->is_held_out[i] = fold[i] == 0;
    for (size_t k = 0; st == KARMA_OK && k < K; k++)
        s->losses[k] = (karma_i_task_loss){o->losses[k].value, o->losses[k].prox, o->losses[k].parameter};
    karma_i_free(fold);
    s->labels = (karma_i_supervision){K, o->targets, o->weights, s->losses, s->is_held_out};
    return st;
}

/* ---- all of it ---- */

/* The encoder, the kernel and the encoded rows. Fewer rows than folds have none to hold out. */
static karma_status learn_kernel(karma_model *model, karma_i_rows **rows, const outputs *o, const karma_table *table,
                                 const karma_hooks *hooks, karma_error *err) {
    supervision s = {0};
    int refines = model->options.refine > 0 && table->n_rows >= REFINE_FOLDS;
    karma_status st = refines ? supervise(&s, model, o, table, err) : KARMA_OK;
    if (st == KARMA_OK)
        st = karma_i_learn_kernel(&model->encoder, &model->kernel, rows, table, refines ? &s.labels : NULL,
                                  &model->options, hooks, err);
    clear_supervision(&s);
    return st;
}

/* The model has its options and its heads; the rest is learned here. */
static karma_status fit_rows(karma_model *model, const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    model->info.n_rows = table->n_rows;
    karma_i_rows *rows = NULL;
    outputs o = {0};
    karma_status st = fill_outputs(&o, model, table, err);
    if (st == KARMA_OK) st = learn_kernel(model, &rows, &o, table, hooks, err);
    if (st == KARMA_OK) {
        model->info.scale = model->kernel.factors[0].scale;
        model->info.log_norm = model->kernel.factors[0].log_norm;
        if (karma_i_progress(hooks, "learning", 0, 0))
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before anything was learned");
    }
    if (st == KARMA_OK) st = solve(model, &o, rows, hooks, err);
    free_outputs(&o);
    karma_i_rows_free(rows);
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

karma_status karma_i_fit_like(karma_model **out, const karma_model *like, const karma_table *table,
                              const karma_hooks *hooks, karma_error *err) {
    karma_model *model = NULL;
    KARMA_TRY(new_model(&model, &like->options, like->n_heads, err));
    karma_status st = KARMA_OK;
    for (size_t t = 0; st == KARMA_OK && t < like->n_heads; t++) {
        st = karma_i_head_copy(&model->heads[t], &like->heads[t], err);
        if (st == KARMA_OK) place_head(model);
    }
    if (st == KARMA_OK) st = fit_rows(model, table, hooks, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}

karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                       const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_options_check(karma_fit_option_table(), options, err));
    if (table->n_targets == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the data have no label: say which column it is with --target");
    karma_table *labelled = NULL;
    KARMA_TRY(labelled_rows(&labelled, table, hooks, err));
    const karma_table *rows = labelled ? labelled : table;
    karma_model *model = NULL;
    karma_status st = new_model(&model, options, table->n_targets, err);
    if (st == KARMA_OK && table->gram && !model->options.kernel) {
        model->options.kernel = karma_i_strdup("precomputed");
        if (!model->options.kernel) st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) {
        model->info.n_unlabelled = table->n_rows - rows->n_rows;
        st = learn_heads(model, rows, hooks, err);
    }
    if (st == KARMA_OK) st = check_settings(model, err);
    if (st == KARMA_OK) st = fit_rows(model, rows, hooks, err);
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
