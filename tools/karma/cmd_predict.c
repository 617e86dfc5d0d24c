/* karma predict: a model and a table become a CSV of predictions. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* One column: what kind of value ("p"), of which target where there are several, and of what ("yes"): "p:yes". */
static void write_name(FILE *stream, const karma_model *model, size_t target, const char *kind, const char *detail) {
    const char *name = karma_model_n_targets(model) > 1 ? karma_model_target_name(model, target) : NULL;
    size_t size = strlen(kind) + (name ? strlen(name) : 0) + (detail ? strlen(detail) : 0) + 3;
    char *text = malloc(size);
    if (text)
        (void)snprintf(text, size, "%s%s%s%s%s", kind, name ? ":" : "", name ? name : "", detail ? ":" : "",
                       detail ? detail : "");
    if (target > 0 || strcmp(kind, "prediction") != 0) fputc(',', stream);
    karma_csv_write_field(stream, text ? text : kind);
    free(text);
}

/* Only several quantiles have columns of their own: one is the prediction. */
static size_t n_quantile_columns(const karma_model *model, size_t target) {
    size_t n = karma_model_n_quantiles(model, target);
    return n > 1 ? n : 0;
}

static void write_target_header(FILE *stream, const karma_model *model, size_t target) {
    char text[KARMA_NUMBER_SIZE];
    size_t K = karma_model_n_classes(model, target), Q = n_quantile_columns(model, target);
    write_name(stream, model, target, "prediction", NULL);
    if (Q == 0 && karma_model_target_n_outputs(model, target) == 1)
        write_name(stream, model, target, "score", NULL);
    else if (Q == 0)
        for (size_t k = 0; k < K; k++) write_name(stream, model, target, "score", karma_model_class(model, target, k));
    for (size_t q = 0; q < Q; q++)
        write_name(stream, model, target, "q", karma_number_text(text, karma_model_quantile(model, target, q)));
    if (karma_model_has_probabilities(model, target))
        for (size_t k = 0; k < K; k++) write_name(stream, model, target, "p", karma_model_class(model, target, k));
}

static void write_header(FILE *stream, const karma_model *model, const karma_table *table) {
    for (size_t i = 0; i < karma_table_n_ids(table); i++) {
        karma_csv_write_field(stream, karma_table_id_name(table, i));
        fputc(',', stream);
    }
    for (size_t target = 0; target < karma_model_n_targets(model); target++) write_target_header(stream, model, target);
    fputc('\n', stream);
}

static void write_target(FILE *stream, const karma_model *model, size_t target, const double *scores,
                         double *probabilities) {
    char text[KARMA_NUMBER_SIZE];
    size_t first = karma_model_first_output(model, target);
    if (target > 0) fputc(',', stream);
    if (karma_model_task(model, target) == KARMA_TASK_CLASSIFY)
        karma_csv_write_field(stream, karma_model_class(model, target, karma_model_decide(model, target, scores)));
    else
        fputs(karma_number_text(text, karma_model_number(model, target, scores)), stream);
    for (size_t k = 0; k < karma_model_target_n_outputs(model, target); k++)
        fprintf(stream, ",%s", karma_number_text(text, scores[first + k]));
    if (!karma_model_probabilities(model, target, scores, probabilities)) return;
    for (size_t k = 0; k < karma_model_n_classes(model, target); k++)
        fprintf(stream, ",%s", karma_number_text(text, probabilities[k]));
}

static void write_row(FILE *stream, const karma_model *model, const karma_table *table, size_t row,
                      const double *scores, double *probabilities) {
    for (size_t i = 0; i < karma_table_n_ids(table); i++) {
        karma_csv_write_field(stream, karma_table_id(table, i, row));
        fputc(',', stream);
    }
    for (size_t target = 0; target < karma_model_n_targets(model); target++)
        write_target(stream, model, target, scores, probabilities);
    fputc('\n', stream);
}

/* An object with a number for each class. */
static json_t *classes_json(const karma_model *model, size_t target, const double *values) {
    json_t *object = json_object();
    for (size_t k = 0; k < karma_model_n_classes(model, target); k++)
        (void)json_object_set_new(object, karma_model_class(model, target, k), json_real(values[k]));
    return object;
}

static void add_target_json(json_t *object, const karma_model *model, size_t target, const double *scores,
                            double *probabilities) {
    char text[KARMA_NUMBER_SIZE];
    const double *own = scores + karma_model_first_output(model, target);
    if (karma_model_task(model, target) == KARMA_TASK_REGRESS) {
        json_t *quantiles = json_object();
        (void)json_object_set_new(object, "prediction", json_real(karma_model_number(model, target, scores)));
        for (size_t q = 0; q < n_quantile_columns(model, target); q++)
            (void)json_object_set_new(quantiles, karma_number_text(text, karma_model_quantile(model, target, q)),
                                      json_real(own[q]));
        if (json_object_size(quantiles)) (void)json_object_set(object, "quantiles", quantiles);
        json_decref(quantiles);
        return;
    }
    size_t decision = karma_model_decide(model, target, scores);
    (void)json_object_set_new(object, "prediction", json_string(karma_model_class(model, target, decision)));
    if (karma_model_target_n_outputs(model, target) == 1)
        (void)json_object_set_new(object, "score", json_real(own[0]));
    else
        (void)json_object_set_new(object, "scores", classes_json(model, target, own));
    if (karma_model_probabilities(model, target, scores, probabilities))
        (void)json_object_set_new(object, "probabilities", classes_json(model, target, probabilities));
}

static json_t *row_json(const karma_model *model, const karma_table *table, size_t row, const double *scores,
                        double *probabilities) {
    json_t *object = json_object();
    for (size_t i = 0; i < karma_table_n_ids(table); i++)
        (void)json_object_set_new(object, karma_table_id_name(table, i), json_string(karma_table_id(table, i, row)));
    if (karma_model_n_targets(model) == 1) {
        add_target_json(object, model, 0, scores, probabilities);
        return object;
    }
    json_t *targets = json_object();
    for (size_t target = 0; target < karma_model_n_targets(model); target++) {
        json_t *own = json_object();
        add_target_json(own, model, target, scores, probabilities);
        (void)json_object_set_new(targets, karma_model_target_name(model, target), own);
    }
    (void)json_object_set_new(object, "targets", targets);
    return object;
}

static json_t *predictions_json(const karma_model *model, const karma_table *table, const double *scores,
                                double *probabilities) {
    json_t *rows = json_array();
    for (size_t i = 0; i < karma_table_n_rows(table); i++)
        (void)json_array_append_new(
            rows, row_json(model, table, i, scores + i * karma_model_n_outputs(model), probabilities));
    return json_pack("{s:s, s:o, s:o}", "target", karma_model_target_name(model, 0), "targets",
                     target_names_json(model), "predictions", rows);
}

/* What was written to a file. */
static json_t *description_json(const tool *t, const karma_model *model, const karma_table *table) {
    return json_pack("{s:s, s:s, s:o, s:I}", "output", t->options.output, "target", karma_model_target_name(model, 0),
                     "targets", target_names_json(model), "rows", (json_int_t)karma_table_n_rows(table));
}

static int write_file(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                      double *probabilities) {
    karma_error err;
    karma_output *output = NULL;
    if (karma_output_open(&output, t->options.output, &err) != KARMA_OK) return fail(t->options.output, &err);
    FILE *stream = karma_output_stream(output);
    write_header(stream, model, table);
    for (size_t i = 0; i < karma_table_n_rows(table); i++)
        write_row(stream, model, table, i, scores + i * karma_model_n_outputs(model), probabilities);
    if (karma_output_commit(output, &err) != KARMA_OK) return fail(t->options.output, &err);
    return t->options.json ? print_json(description_json(t, model, table)) : EXIT_DONE;
}

static int write_predictions(tool *t, const karma_model *model, const karma_table *table, const double *scores) {
    size_t most = 0;
    for (size_t target = 0; target < karma_model_n_targets(model); target++)
        if (karma_model_n_classes(model, target) > most) most = karma_model_n_classes(model, target);
    double *probabilities = malloc((most + 1) * sizeof *probabilities);
    if (!probabilities) return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    int code = t->options.json && writes_stdout(t) ? print_json(predictions_json(model, table, scores, probabilities))
                                                   : write_file(t, model, table, scores, probabilities);
    free(probabilities);
    return code;
}

static int run(tool *t) {
    return with_scores(t, write_predictions);
}

static const char *const tool_names[] = {"output", "json", "quiet", NULL};
static const char *const read_names[] = {"id",     "ignore", "missing", "format", "delimiter", "header",
                                         "absent", "users",  "item",    "like",   "gram",      NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), read_names},
    {"Work", karma_fit_option_table, offsetof(tool, fit), fit_names},
};

const tool_command command_predict = {
    .name = "predict",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "predict the rows of a table",
    .description =
        "Writes a CSV with one line a row of DATA, in the same order: the id columns, the prediction, and the score "
        "(with more than two classes one score:CLASS each; in a regression the score is the prediction, and several "
        "quantiles have columns q:QUANTILE instead). A model with probabilities adds p:CLASS for every class. With "
        "several targets all these names go with the target's: prediction:TARGET. Columns "
        "that the model does not know are ignored; columns of the model that DATA lacks count as missing. Rows with "
        "holes in any pattern are fine.",
    .example = "  karma predict patients.karma new.csv --id patient -o predictions.csv\n"
               "  zcat new.csv.gz | karma predict patients.karma - | head\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
