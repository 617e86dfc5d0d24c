/* karma predict: a model and a table become a CSV of predictions. */
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* What there is to write. */
typedef struct predictions {
    const karma_model *model;
    const karma_table *table;
    const double *scores;  /* of all rows */
    double *probabilities; /* room for those of one target of a row */
    abstention abstained;
    karma_cell_flags flags;
    int with_flags;
} predictions;

static const double *scores_of(const predictions *p, size_t row) {
    return p->scores + row * karma_model_n_outputs(p->model);
}
static int is_answered(const predictions *p, size_t row) {
    return !p->abstained.flags || !p->abstained.flags[row];
}

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

static void write_header(FILE *stream, const predictions *p) {
    write_id_names(stream, p->table);
    for (size_t target = 0; target < karma_model_n_targets(p->model); target++)
        write_target_header(stream, p->model, target);
    fputs(p->with_flags ? ",flags\n" : "\n", stream);
}

static void write_answer(FILE *stream, const karma_model *model, size_t target, const double *scores) {
    char text[KARMA_NUMBER_SIZE];
    if (karma_model_task(model, target) == KARMA_TASK_CLASSIFY)
        karma_csv_write_field(stream, karma_model_class(model, target, karma_model_decide(model, target, scores)));
    else
        fputs(karma_number_text(text, karma_model_number(model, target, scores)), stream);
}

/* Of a row without an answer the prediction is empty; what it would have come from is there. */
static void write_target(FILE *stream, const predictions *p, size_t row, size_t target) {
    char text[KARMA_NUMBER_SIZE];
    const double *scores = scores_of(p, row);
    size_t first = karma_model_first_output(p->model, target);
    if (target > 0) fputc(',', stream);
    if (is_answered(p, row)) write_answer(stream, p->model, target, scores);
    for (size_t k = 0; k < karma_model_target_n_outputs(p->model, target); k++)
        fprintf(stream, ",%s", karma_number_text(text, scores[first + k]));
    if (!karma_model_probabilities(p->model, target, scores, p->probabilities)) return;
    for (size_t k = 0; k < karma_model_n_classes(p->model, target); k++)
        fprintf(stream, ",%s", karma_number_text(text, p->probabilities[k]));
}

static void write_csv(FILE *stream, const void *what) {
    const predictions *p = what;
    size_t next = 0;
    write_header(stream, p);
    for (size_t i = 0; i < karma_table_n_rows(p->table); i++) {
        write_ids(stream, p->table, i);
        for (size_t target = 0; target < karma_model_n_targets(p->model); target++) write_target(stream, p, i, target);
        if (p->with_flags) fputc(',', stream);
        if (p->with_flags) write_row_flags(stream, p->model, &p->flags, i, &next);
        fputc('\n', stream);
    }
}

/* An object with a number for each class. */
static json_t *classes_json(const karma_model *model, size_t target, const double *values) {
    json_t *object = json_object();
    for (size_t k = 0; k < karma_model_n_classes(model, target); k++)
        (void)json_object_set_new(object, karma_model_class(model, target, k), json_real(values[k]));
    return object;
}

static void add_number_json(json_t *object, const karma_model *model, size_t target, const double *scores) {
    char text[KARMA_NUMBER_SIZE];
    const double *own = scores + karma_model_first_output(model, target);
    json_t *quantiles = json_object();
    (void)json_object_set_new(object, "prediction", json_real(karma_model_number(model, target, scores)));
    for (size_t q = 0; q < n_quantile_columns(model, target); q++)
        (void)json_object_set_new(quantiles, karma_number_text(text, karma_model_quantile(model, target, q)),
                                  json_real(own[q]));
    if (json_object_size(quantiles)) (void)json_object_set(object, "quantiles", quantiles);
    json_decref(quantiles);
}

static void add_class_json(json_t *object, const karma_model *model, size_t target, const double *scores,
                           double *probabilities) {
    const double *own = scores + karma_model_first_output(model, target);
    size_t decision = karma_model_decide(model, target, scores);
    (void)json_object_set_new(object, "prediction", json_string(karma_model_class(model, target, decision)));
    if (karma_model_target_n_outputs(model, target) == 1)
        (void)json_object_set_new(object, "score", json_real(own[0]));
    else
        (void)json_object_set_new(object, "scores", classes_json(model, target, own));
    if (karma_model_probabilities(model, target, scores, probabilities))
        (void)json_object_set_new(object, "probabilities", classes_json(model, target, probabilities));
}

static void add_target_json(json_t *object, const predictions *p, size_t row, size_t target) {
    if (karma_model_task(p->model, target) == KARMA_TASK_REGRESS)
        add_number_json(object, p->model, target, scores_of(p, row));
    else
        add_class_json(object, p->model, target, scores_of(p, row), p->probabilities);
    if (!is_answered(p, row)) (void)json_object_set_new(object, "prediction", json_null());
}

static json_t *row_json(const predictions *p, size_t row) {
    json_t *object = json_object();
    add_ids_json(object, p->table, row);
    if (karma_model_n_targets(p->model) == 1) {
        add_target_json(object, p, row, 0);
        return object;
    }
    json_t *targets = json_object();
    for (size_t target = 0; target < karma_model_n_targets(p->model); target++) {
        json_t *own = json_object();
        add_target_json(own, p, row, target);
        (void)json_object_set_new(targets, karma_model_target_name(p->model, target), own);
    }
    (void)json_object_set_new(object, "targets", targets);
    return object;
}

/* The predictions, or a description of the file that they were written to. */
static json_t *result_json(const tool *t, const predictions *p) {
    json_t *object =
        json_pack("{s:s, s:o}", "target", karma_model_target_name(p->model, 0), "targets", target_names_json(p->model));
    if (p->abstained.flags)
        (void)json_object_set_new(object, "abstained", json_integer((json_int_t)p->abstained.count));
    if (!writes_stdout(t)) {
        (void)json_object_update_new(object, json_pack("{s:s, s:I}", "output", t->options.output, "rows",
                                                       (json_int_t)karma_table_n_rows(p->table)));
        return object;
    }
    json_t *rows = json_array();
    for (size_t i = 0, next = 0; i < karma_table_n_rows(p->table); i++) {
        json_t *row = row_json(p, i);
        if (p->with_flags) (void)json_object_set_new(row, "flags", row_flags_json(p->model, &p->flags, i, &next));
        (void)json_array_append_new(rows, row);
    }
    (void)json_object_set_new(object, "predictions", rows);
    return object;
}

static void note_abstention(const tool *t, const predictions *p) {
    char sentence[200];
    if (p->abstained.count == 0 || !t->hooks.notice) return;
    (void)snprintf(sentence, sizeof sentence,
                   "%zu of %zu predictions are left empty: the model knows too little of such rows (--abstain %d)",
                   p->abstained.count, karma_table_n_rows(p->table), (int)t->options.abstain);
    t->hooks.notice(t->hooks.payload, sentence);
}

static int write_predictions(tool *t, const karma_model *model, const karma_table *table, const double *scores,
                             const karma_cell_flags *flags) {
    size_t most = 0;
    for (size_t target = 0; target < karma_model_n_targets(model); target++)
        if (karma_model_n_classes(model, target) > most) most = karma_model_n_classes(model, target);
    predictions p = {model, table, scores, NULL, {NULL, 0}, *flags, t->options.flags};
    int code = find_abstention(&p.abstained, t, model, table);
    if (code != EXIT_DONE) return code;
    p.probabilities = malloc((most + 1) * sizeof *p.probabilities);
    if (!p.probabilities)
        code = fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    else if (!t->options.json || !writes_stdout(t))
        code = write_output(t, write_csv, &p);
    if (code == EXIT_DONE && t->options.json) code = print_json(result_json(t, &p));
    if (code == EXIT_DONE) note_abstention(t, &p);
    free(p.probabilities);
    free(p.abstained.flags);
    return code;
}

static int run(tool *t) {
    return with_scores(t, write_predictions);
}

static const char *const tool_names[] = {"output", "abstain", "flags", "json", "quiet", NULL};
static const char *const role_names[] = {"id", "ignore", "gram", NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Columns", karma_read_option_table, offsetof(tool, read), role_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), model_file_option_names},
    {"Work", karma_fit_option_table, offsetof(tool, fit), fit_names},
};

const tool_command command_predict = {
    .name = "predict",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "predict the rows of a table",
    .description =
        "Writes a CSV with one line per row of DATA, in the same order: the id columns, the prediction, and the score "
        "(with more than two classes one score:CLASS each; in a regression the score is the prediction, and several "
        "quantiles have columns q:QUANTILE instead). A model with probabilities adds p:CLASS for every class. With "
        "several targets all these names go with the target's: prediction:TARGET. Columns "
        "that the model does not know are ignored; columns of the model that DATA lacks count as missing. Rows with "
        "holes in any pattern are fine. With --abstain rows about which the model knows too little get an empty "
        "prediction. A notice counts the cells with categories that the training rows did not have and with numbers "
        "outside "
        "their range; --flags names them row by row.",
    .example = "  karma predict patients.karma new.csv --id patient -o predictions.csv\n"
               "  zcat new.csv.gz | karma predict patients.karma - | head\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
