/* A model's life and what it tells of itself. */
#include "model/model.h"

#include "base/mem.h"
#include "io/reader.h"
#include "solve/solver.h"

void karma_model_free(karma_model *model) {
    if (!model) return;
    karma_i_recipe_free(model->recipe);
    karma_i_kernel_clear(&model->kernel);
    karma_i_labels_clear(&model->labels);
    karma_i_free(model->target_name);
    karma_i_rows_free(model->support);
    karma_i_free(model->coefficients);
    karma_i_free(model);
}

karma_task karma_model_task(const karma_model *model) {
    return model->labels.task;
}
size_t karma_model_n_outputs(const karma_model *model) {
    return karma_i_labels_n_outputs(&model->labels);
}
size_t karma_model_n_classes(const karma_model *model) {
    return model->labels.n_classes;
}
const char *karma_model_class(const karma_model *model, size_t index) {
    return model->labels.classes[index];
}
size_t karma_model_class_count(const karma_model *model, size_t index) {
    return model->labels.class_count[index];
}
double karma_model_target_mean(const karma_model *model) {
    return model->target_mean;
}
const char *karma_model_target_name(const karma_model *model) {
    return model->target_name;
}
size_t karma_model_n_attributes(const karma_model *model) {
    return model->recipe->n_attributes;
}
const char *karma_model_attribute_name(const karma_model *model, size_t attribute) {
    return model->recipe->columns[attribute].name;
}
karma_column_kind karma_model_attribute_kind(const karma_model *model, size_t attribute) {
    return model->recipe->columns[attribute].kind;
}
size_t karma_model_attribute_n_levels(const karma_model *model, size_t attribute) {
    return model->recipe->columns[attribute].n_levels;
}
const karma_fit_options *karma_model_options(const karma_model *model) {
    return &model->options;
}
const karma_fit_info *karma_model_info(const karma_model *model) {
    return &model->info;
}
const char *karma_model_solver_name(const karma_model *model) {
    return karma_i_solver_name(model->info.solver);
}
const char *karma_model_loss_name(const karma_model *model) {
    return karma_i_loss_name(model->loss);
}

size_t karma_model_decide(const karma_model *model, const double *scores) {
    return karma_i_decide(scores, karma_model_n_outputs(model));
}

karma_status karma_model_read_table(karma_table **out, const karma_model *model, const char *path,
                                    const karma_read_options *options, const karma_hooks *hooks, karma_error *err) {
    const char *target = model->target_name;
    karma_i_expectation expected = {model->recipe->columns, model->recipe->n_attributes, &target, 1};
    return karma_i_table_read(out, path, options, &expected, hooks, err);
}
