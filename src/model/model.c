/* A model's life and what it reports about itself. */
#include "model/model.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/gram_file.h"
#include "io/reader.h"
#include "model/search_info.h"
#include "solve/solver.h"
#include "table/reading.h"
#include "table/rows_dense.h"

void karma_model_free(karma_model *model) {
    if (!model) return;
    karma_i_encoder_clear(&model->encoder);
    for (size_t m = 0; model->members && m < model->n_members; m++) {
        karma_i_kernel_clear(&model->members[m].kernel);
        karma_i_free(model->members[m].coefficients);
        karma_i_free(model->members[m].leaf_coefficients);
    }
    karma_i_free(model->members);
    karma_i_task_clear(&model->task);
    karma_i_rows_free(model->support);
    karma_i_plan_clear(&model->plan);
    karma_i_search_info_free(model->search);
    karma_i_free(model->left_out_rows);
    karma_i_free(model->left_out_scores);
    karma_i_stream_part_free(model->stream);
    karma_i_reading_free(model->reading);
    karma_i_free(model);
}

size_t karma_model_n_targets(const karma_model *model) {
    return model->task.n_heads;
}
size_t karma_model_n_outputs(const karma_model *model) {
    return model->task.n_outputs;
}
const char *karma_model_target_name(const karma_model *model, size_t target) {
    return model->task.heads[target].name;
}
karma_task karma_model_task(const karma_model *model, size_t target) {
    return model->task.heads[target].labels.task;
}
size_t karma_model_first_output(const karma_model *model, size_t target) {
    return model->task.heads[target].first_output;
}
size_t karma_model_target_n_outputs(const karma_model *model, size_t target) {
    return model->task.heads[target].n_outputs;
}
size_t karma_model_n_classes(const karma_model *model, size_t target) {
    return model->task.heads[target].labels.n_classes;
}
const char *karma_model_class(const karma_model *model, size_t target, size_t index) {
    return model->task.heads[target].labels.classes[index];
}
size_t karma_model_class_count(const karma_model *model, size_t target, size_t index) {
    return model->task.heads[target].labels.class_count[index];
}
double karma_model_target_mean(const karma_model *model, size_t target) {
    return model->task.heads[target].mean;
}
size_t karma_model_n_quantiles(const karma_model *model, size_t target) {
    return model->task.heads[target].n_quantiles;
}
double karma_model_quantile(const karma_model *model, size_t target, size_t index) {
    return model->task.heads[target].quantiles[index];
}
const char *karma_model_loss_name(const karma_model *model, size_t target) {
    return karma_i_loss_name(model->task.heads[target].loss);
}
size_t karma_model_n_attributes(const karma_model *model) {
    return karma_i_model_recipe(model)->n_attributes;
}
const char *karma_model_attribute_name(const karma_model *model, size_t attribute) {
    return karma_i_model_recipe(model)->columns[attribute].name;
}
karma_column_kind karma_model_attribute_kind(const karma_model *model, size_t attribute) {
    return karma_i_model_recipe(model)->columns[attribute].kind;
}
size_t karma_model_attribute_n_levels(const karma_model *model, size_t attribute) {
    return karma_i_model_recipe(model)->columns[attribute].n_levels;
}
const char *karma_model_attribute_level(const karma_model *model, size_t attribute, size_t level) {
    return karma_i_model_recipe(model)->columns[attribute].levels[level];
}
const karma_fit_options *karma_model_options(const karma_model *model) {
    return &model->task.options;
}
const karma_read_options *karma_model_reading(const karma_model *model) {
    return model->reading;
}
const karma_search_info *karma_model_search_info(const karma_model *model) {
    return model->search;
}
/* A row has a leaf in every tree; the support row of a leaf has that leaf alone. */
static int is_leaf(const karma_model *model, size_t row) {
    for (size_t e = 0; e < model->encoder.n; e++) {
        const karma_i_forest *forest = model->encoder.recipes[e]->forest;
        if (!forest) continue;
        const uint64_t *mask = karma_i_rows_mask(karma_i_rows_encoding(model->support, e), row);
        for (size_t t = 0; t < forest->n_trees; t++)
            if (!karma_i_mask_get(mask, t)) return 1;
    }
    return 0;
}

size_t karma_model_n_rows_kept(const karma_model *model) {
    size_t n = 0;
    for (size_t i = 0; i < model->support->n_rows; i++) n += is_leaf(model, i) ? 0 : 1;
    return n;
}

int karma_model_is_precomputed(const karma_model *model) {
    return karma_i_plan_is_precomputed(&model->plan);
}
int karma_model_has_plain_kernel(const karma_model *model) {
    return model->plan.n_members == 1 && karma_i_plan_kernel_is_word(&model->plan.members[0].kernel);
}
const karma_fit_info *karma_model_info(const karma_model *model) {
    return &model->info;
}
const char *karma_model_solver_name(const karma_model *model) {
    return karma_i_solver_name(model->info.solver);
}

karma_status karma_i_model_needs_attributes(const karma_model *model, karma_error *err) {
    if (!karma_i_model_recipe(model)->n_matrix_columns) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "the model's kernel is precomputed: it has no columns to explain");
}

karma_status karma_model_read_table(karma_table **out, const karma_model *model, const char *path,
                                    const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    if (recipe->n_matrix_columns && !(options && options->gram)) return karma_i_gram_read_only(out, path, err);
    const char **names = karma_i_alloc(model->task.n_heads, sizeof *names);
    if (!names) return karma_i_fail_memory(err);
    for (size_t t = 0; t < model->task.n_heads; t++) names[t] = model->task.heads[t].name;
    karma_i_expectation expected = {recipe->columns, recipe->n_attributes, names, model->task.n_heads, model->reading};
    karma_status st = karma_i_table_read(out, path, options, &expected, hooks, err);
    karma_i_free(names);
    return st;
}
