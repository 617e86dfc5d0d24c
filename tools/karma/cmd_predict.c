/* karma predict: a model and a table become a CSV of predictions. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

static void write_header(FILE *stream, const karma_model *model, const karma_table *table) {
    for (size_t i = 0; i < karma_table_n_ids(table); i++) {
        karma_csv_write_field(stream, karma_table_id_name(table, i));
        fputc(',', stream);
    }
    fputs("prediction", stream);
    if (karma_model_n_outputs(model) == 1)
        fputs(",score", stream);
    else
        for (size_t k = 0; k < karma_model_n_classes(model); k++) {
            const char *class_name = karma_model_class(model, k);
            size_t size = strlen("score:") + strlen(class_name) + 1;
            char *name = malloc(size);
            if (name) (void)snprintf(name, size, "score:%s", class_name);
            fputc(',', stream);
            karma_csv_write_field(stream, name ? name : class_name);
            free(name);
        }
    fputc('\n', stream);
}

static void write_row(FILE *stream, const karma_model *model, const karma_table *table, size_t row,
                      const double *scores) {
    char text[KARMA_NUMBER_SIZE];
    for (size_t i = 0; i < karma_table_n_ids(table); i++) {
        karma_csv_write_field(stream, karma_table_id(table, i, row));
        fputc(',', stream);
    }
    if (karma_model_task(model) == KARMA_TASK_CLASSIFY)
        karma_csv_write_field(stream, karma_model_class(model, karma_model_decide(model, scores)));
    else
        fputs(karma_number_text(text, scores[0]), stream);
    for (size_t k = 0; k < karma_model_n_outputs(model); k++)
        fprintf(stream, ",%s", karma_number_text(text, scores[k]));
    fputc('\n', stream);
}

static json_t *row_json(const karma_model *model, const karma_table *table, size_t row, const double *scores) {
    json_t *object = json_object();
    for (size_t i = 0; i < karma_table_n_ids(table); i++)
        (void)json_object_set_new(object, karma_table_id_name(table, i), json_string(karma_table_id(table, i, row)));
    if (karma_model_task(model) == KARMA_TASK_REGRESS) {
        (void)json_object_set_new(object, "prediction", json_real(scores[0]));
        return object;
    }
    (void)json_object_set_new(object, "prediction",
                              json_string(karma_model_class(model, karma_model_decide(model, scores))));
    if (karma_model_n_outputs(model) == 1) {
        (void)json_object_set_new(object, "score", json_real(scores[0]));
        return object;
    }
    json_t *all = json_object();
    for (size_t k = 0; k < karma_model_n_outputs(model); k++)
        (void)json_object_set_new(all, karma_model_class(model, k), json_real(scores[k]));
    (void)json_object_set_new(object, "scores", all);
    return object;
}

static json_t *predictions_json(const karma_model *model, const karma_table *table, const double *scores) {
    json_t *rows = json_array();
    for (size_t i = 0; i < karma_table_n_rows(table); i++)
        (void)json_array_append_new(rows, row_json(model, table, i, scores + i * karma_model_n_outputs(model)));
    return json_pack("{s:s, s:o}", "target", karma_model_target_name(model), "predictions", rows);
}

/* What was written to a file. */
static json_t *description_json(const tool *t, const karma_model *model, const karma_table *table) {
    return json_pack("{s:s, s:s, s:I}", "output", t->options.output, "target", karma_model_target_name(model), "rows",
                     (json_int_t)karma_table_n_rows(table));
}

static int write_predictions(tool *t, const karma_model *model, const karma_table *table, const double *scores) {
    karma_error err;
    karma_output *output = NULL;
    if (t->options.json && writes_stdout(t)) return print_json(predictions_json(model, table, scores));
    if (karma_output_open(&output, t->options.output, &err) != KARMA_OK) return fail(t->options.output, &err);
    FILE *stream = karma_output_stream(output);
    write_header(stream, model, table);
    for (size_t i = 0; i < karma_table_n_rows(table); i++)
        write_row(stream, model, table, i, scores + i * karma_model_n_outputs(model));
    if (karma_output_commit(output, &err) != KARMA_OK) return fail(t->options.output, &err);
    return t->options.json ? print_json(description_json(t, model, table)) : EXIT_DONE;
}

static int run(tool *t) {
    return with_scores(t, write_predictions);
}

static const char *const tool_names[] = {"output", "json", "quiet", NULL};
static const char *const read_names[] = {"id",     "ignore", "missing", "format", "delimiter", "header",
                                         "absent", "users",  "item",    "like",   NULL};
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
        "(with more than two classes one score:CLASS each; in a regression the score is the prediction). Columns "
        "that the model does not know are ignored; columns of the model that DATA lacks count as missing. Rows with "
        "holes in any pattern are fine.",
    .example = "  karma predict patients.karma new.csv --id patient -o predictions.csv\n"
               "  zcat new.csv.gz | karma predict patients.karma - | head\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
