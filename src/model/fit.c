/* From a table and options to a model: karma_fit. */
#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "model/fit_task.h"
#include "model/idle_options.h"
#include "model/left_out.h"
#include "model/probabilities.h"
#include "model/splittable.h"
#include "table/table_split.h"

/* Masked copies of rows would have to be scored in the process of their row. */
static karma_status check_copies(const karma_i_task *task, const karma_table *rows, karma_error *err) {
    if (karma_i_table_ranks(rows)->size == 1 || !karma_i_wants_copies(task, 0)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION,
                        "coverage by missing cells cannot be learned from rows that are split over processes (option "
                        "'coverage-by=all')");
}

static karma_status fit_labelled(karma_model *model, const karma_table *rows, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_i_task_learn(&model->task, rows, options, hooks, err));
    const karma_fit_options *own = &model->task.options;
    KARMA_TRY(karma_i_plan_parse(&model->plan, own->kernel, own, err));
    KARMA_TRY(karma_i_check_splittable(&model->plan, own, rows, err));
    KARMA_TRY(check_copies(&model->task, rows, err));
    KARMA_TRY(karma_i_fit_rows(model, rows, NULL, hooks, hooks, err));
    KARMA_TRY(karma_i_calibrate_model(model, rows, hooks, err));
    karma_i_notice_idle_options(model, hooks);
    model->task.options.step = NULL; /* belongs to the caller, and training is over */
    model->task.options.step_payload = NULL;
    return KARMA_OK;
}

static karma_status fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                        const karma_hooks *hooks, karma_error *err) {
    karma_fit_options own;
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own, options, err));
    options = &own;
    karma_i_training training;
    KARMA_TRY(karma_i_training_take(&training, table, options->solver != KARMA_SOLVER_ONLINE, hooks, err));
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    karma_status st = model ? fit_labelled(model, training.rows, options, hooks, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        model->info.n_unlabelled = training.n_unlabelled;
        model->info.n_joined = training.n_joined;
        *out = model;
    } else
        karma_model_free(model);
    karma_i_training_clear(&training);
    return st;
}

karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                       const karma_hooks *hooks, karma_error *err) {
    karma_error fault = {0};
    karma_model *model = NULL;
    karma_status st = fit(&model, table, options, hooks, &fault);
    st = karma_ranks_agree(karma_i_table_ranks(table), st, &fault);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    if (st != KARMA_OK && err) *err = fault;
    return st;
}
