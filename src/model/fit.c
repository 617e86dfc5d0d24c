/* From a table and options to a model: karma_fit. */
#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "model/fit_task.h"
#include "model/probabilities.h"

static karma_status fit_labelled(karma_model *model, const karma_table *rows, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(karma_i_task_learn(&model->task, rows, options, hooks, err));
    const karma_fit_options *own = &model->task.options;
    KARMA_TRY(karma_i_plan_parse(&model->plan, own->kernel, own, err));
    KARMA_TRY(karma_i_fit_rows(model, rows, NULL, hooks, hooks, err));
    KARMA_TRY(karma_i_calibrate_model(model, rows, hooks, err));
    model->task.options.step = NULL; /* belongs to the caller, and training is over */
    model->task.options.step_payload = NULL;
    return KARMA_OK;
}

karma_status karma_fit(karma_model **out, const karma_table *table, const karma_fit_options *options,
                       const karma_hooks *hooks, karma_error *err) {
    karma_fit_options own;
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own, options, err));
    options = &own;
    karma_table *labelled = NULL;
    KARMA_TRY(karma_i_labelled_rows(&labelled, table, hooks, err));
    const karma_table *rows = labelled ? labelled : table;
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    karma_status st = model ? fit_labelled(model, rows, options, hooks, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        model->info.n_unlabelled = table->n_rows - rows->n_rows;
        *out = model;
    } else
        karma_model_free(model);
    karma_table_free(labelled);
    return st;
}
