/* The functions of the SQLite extension: karma_predict, karma_probabilities, karma_quantiles, karma_explain.
 *
 * Each takes the name of a model file and one row: its cells in the order of the model's columns, or one JSON object
 * with their names. The model is loaded whole when the statement first needs it and kept as SQLite's auxiliary data, so
 * that it is loaded once per statement and a file that changes meanwhile is not looked at again. */
#include "karma_sqlite.h"

#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT1

enum { JSON_SUBTYPE = 'J' };

static karma_status describe(karma_error *err, karma_status status, const char *text) {
    err->status = status;
    (void)snprintf(err->message, sizeof err->message, "%s", text);
    return status;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

/* The names of the columns that the model was learned from; each and all to be freed. */
static char **source_names(const karma_model *model, size_t n) {
    char **names = calloc(n + 1, sizeof *names);
    for (size_t j = 0; names && j < n; j++) {
        size_t length = karma_model_source_column(NULL, 0, model, j);
        names[j] = malloc(length + 1);
        if (names[j]) (void)karma_model_source_column(names[j], length + 1, model, j);
    }
    return names;
}

static karma_status set_source_columns(sql_model *m, size_t n, karma_error *err) {
    if (n > 1 && m->reader && m->n_names == n) return KARMA_OK; /* as for the row before */
    char **names = source_names(m->model, n);
    karma_status st = names ? KARMA_OK : describe(err, KARMA_ERR_MEMORY, "out of memory");
    for (size_t j = 0; st == KARMA_OK && j < n; j++)
        if (!names[j]) st = describe(err, KARMA_ERR_MEMORY, "out of memory");
    if (st == KARMA_OK) st = sql_model_set_columns(m, (const char *const *)names, n, 1, err);
    for (size_t j = 0; names && j < n; j++) free(names[j]);
    free(names);
    return st;
}

static karma_status add_by_position(sql_model *m, int n_values, sqlite3_value **values, karma_error *err) {
    size_t n = karma_model_n_source_columns(m->model);
    if ((size_t)n_values != n) {
        (void)snprintf(
            err->message, sizeof err->message,
            "the model has %zu columns, but %d values follow its name; use json_object('name', value, ...) to "
            "name them",
            n, n_values);
        return err->status = KARMA_ERR_DATA;
    }
    karma_status st = set_source_columns(m, n, err);
    for (int j = 0; st == KARMA_OK && j < n_values; j++) st = sql_model_add_value(m, values[j], err);
    return st;
}

static karma_status add_json_value(sql_model *m, const json_t *value, karma_error *err) {
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        return karma_row_reader_add_integer(m->reader, json_integer_value(value), err);
    case JSON_REAL:
        return karma_row_reader_add_number(m->reader, json_real_value(value), err);
    case JSON_STRING:
        return karma_row_reader_add_text(m->reader, json_string_value(value), json_string_length(value), err);
    case JSON_TRUE:
    case JSON_FALSE:
        return karma_row_reader_add_integer(m->reader, json_is_true(value), err);
    case JSON_NULL:
        return karma_row_reader_add_missing(m->reader, err);
    default:
        return describe(err, KARMA_ERR_DATA, "a member of the JSON object is a list or an object, not a cell");
    }
}

static karma_status add_members(sql_model *m, json_t *object, karma_error *err) {
    size_t n = 0;
    const char *key, **names = malloc((json_object_size(object) + 1) * sizeof *names);
    json_t *value;
    if (!names) return describe(err, KARMA_ERR_MEMORY, "out of memory");
    json_object_foreach(object, key, value) names[n++] = key;
    karma_status st = sql_model_set_columns(m, names, n, 1, err);
    free(names);
    json_object_foreach(object, key, value) if (st == KARMA_OK) st = add_json_value(m, value, err);
    return st;
}

static karma_status add_by_name(sql_model *m, sqlite3_value *value, karma_error *err) {
    json_error_t fault;
    const char *text = (const char *)sqlite3_value_text(value);
    json_t *object = text ? json_loadb(text, (size_t)sqlite3_value_bytes(value), JSON_REJECT_DUPLICATES, &fault) : NULL;
    karma_status st;
    if (!json_is_object(object) || json_object_size(object) == 0)
        st = describe(err, KARMA_ERR_DATA, "the row is not a JSON object with columns, each with one name");
    else
        st = add_members(m, object, err);
    json_decref(object);
    return st;
}

/* One argument is a JSON object if SQLite says so, or if it looks like one and cannot be the only cell. */
static int is_named(const sql_model *m, int n_values, sqlite3_value **values) {
    if (n_values != 1 || sqlite3_value_type(values[0]) != SQLITE_TEXT) return 0;
    if (sqlite3_value_subtype(values[0]) == JSON_SUBTYPE) return 1;
    const unsigned char *text = sqlite3_value_text(values[0]);
    return text && text[0] == '{' && karma_model_n_source_columns(m->model) != 1;
}

/* --- functions ----------------------------------------------------------------------------------------- */

typedef void (*answer_fn)(sqlite3_context *context, sql_model *m, const karma_table *row);

static void fail(sqlite3_context *context, const karma_error *err) {
    if (err->status == KARMA_ERR_MEMORY)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_error(context, err->message, -1);
}

static void answer_row(sqlite3_context *context, sql_model *m, int n_values, sqlite3_value **values, answer_fn answer) {
    karma_error err = {0};
    karma_table *row = NULL;
    karma_status st =
        is_named(m, n_values, values) ? add_by_name(m, values[0], &err) : add_by_position(m, n_values, values, &err);
    if (st == KARMA_OK) st = sql_model_score(&row, m, 1, &err);
    if (st != KARMA_OK)
        fail(context, &err);
    else
        answer(context, m, row);
    karma_table_free(row);
}

static void run(sqlite3_context *context, int n_arguments, sqlite3_value **arguments, answer_fn answer) {
    karma_error err = {0};
    sql_model *m = sqlite3_get_auxdata(context, 0);
    int is_new = !m;
    const char *path = n_arguments ? (const char *)sqlite3_value_text(arguments[0]) : NULL;
    if (!path || !*path || n_arguments < 2) {
        sqlite3_result_error(context, "the arguments are the name of a model file and the cells of a row", -1);
        return;
    }
    if (is_new && !(m = sql_model_open(path, &err))) {
        fail(context, &err);
        return;
    }
    answer_row(context, m, n_arguments - 1, arguments + 1, answer);
    if (is_new) sqlite3_set_auxdata(context, 0, m, sql_model_free); /* it may be freed at once */
}

static void answer_prediction(sqlite3_context *context, sql_model *m, const karma_table *row) {
    (void)row;
    sql_answer_prediction(context, m, m->scores);
}

static void answer_probabilities(sqlite3_context *context, sql_model *m, const karma_table *row) {
    int has_any = 0;
    (void)row;
    for (size_t t = 0; t < karma_model_n_targets(m->model); t++) has_any |= karma_model_has_probabilities(m->model, t);
    if (has_any)
        sql_answer_json(context, sql_probabilities(m, m->scores));
    else
        sqlite3_result_error(
            context, "the model has no probabilities; karma train --probabilities sigmoid makes one that has", -1);
}

static void answer_quantiles(sqlite3_context *context, sql_model *m, const karma_table *row) {
    int has_any = 0;
    (void)row;
    for (size_t t = 0; t < karma_model_n_targets(m->model); t++) has_any |= karma_model_n_quantiles(m->model, t) > 0;
    if (has_any)
        sql_answer_json(context, sql_quantiles(m, m->scores));
    else
        sqlite3_result_error(context,
                             "the model has no quantiles; karma train --quantile 0.1,0.5,0.9 makes one that has", -1);
}

static void predict_function(sqlite3_context *context, int n, sqlite3_value **arguments) {
    run(context, n, arguments, answer_prediction);
}

static void probabilities_function(sqlite3_context *context, int n, sqlite3_value **arguments) {
    run(context, n, arguments, answer_probabilities);
}

static void quantiles_function(sqlite3_context *context, int n, sqlite3_value **arguments) {
    run(context, n, arguments, answer_quantiles);
}

/* --- explanations -------------------------------------------------------------------------------------- */

/* What an output stands for: a class, a quantile or the target. */
static const char *output_name(char text[KARMA_NUMBER_SIZE], const karma_model *model, size_t target, size_t k) {
    if (karma_model_n_quantiles(model, target) > 1)
        return karma_number_text(text, karma_model_quantile(model, target, k));
    if (karma_model_target_n_outputs(model, target) > 1) return karma_model_class(model, target, k);
    if (karma_model_task(model, target) == KARMA_TASK_CLASSIFY) return karma_model_class(model, target, 1);
    return karma_model_target_name(model, target);
}

static json_t *output_json(const sql_model *m, const karma_explanations *e, size_t target, size_t k) {
    char text[KARMA_NUMBER_SIZE];
    size_t output = karma_model_first_output(m->model, target) + k;
    json_t *parts = json_object();
    for (size_t i = e->start[0]; i < e->start[1]; i++)
        (void)json_object_set_new(parts, karma_model_attribute_name(m->model, e->attribute[i]),
                                  json_real(e->contribution[i * e->n_outputs + output]));
    return json_pack("{s:s, s:s, s:f, s:o}", "target", karma_model_target_name(m->model, target), "output",
                     output_name(text, m->model, target, k), "bias", e->bias[output], "contributions", parts);
}

static void answer_explanation(sqlite3_context *context, sql_model *m, const karma_table *row) {
    karma_error err = {0};
    karma_explanations e = {0};
    karma_explain_options options;
    karma_options_init(karma_explain_option_table(), &options);
    options.threads = 1;
    if (karma_explain(&e, m->model, row, &options, NULL, &err) != KARMA_OK) {
        fail(context, &err);
        return;
    }
    json_t *list = json_array();
    int ok = list != NULL;
    for (size_t t = 0; t < karma_model_n_targets(m->model); t++)
        for (size_t k = 0; ok && k < karma_model_target_n_outputs(m->model, t); k++)
            ok = json_array_append_new(list, output_json(m, &e, t, k)) == 0;
    karma_explanations_clear(&e);
    if (ok) {
        sql_answer_json(context, list);
    } else {
        json_decref(list);
        sqlite3_result_error_nomem(context);
    }
}

static void explain_function(sqlite3_context *context, int n, sqlite3_value **arguments) {
    run(context, n, arguments, answer_explanation);
}

/* --- the extension ------------------------------------------------------------------------------------- */

KARMA_API int sqlite3_karmasqlite_init(sqlite3 *db, char **message, const sqlite3_api_routines *api);

int sqlite3_karmasqlite_init(sqlite3 *db, char **message, const sqlite3_api_routines *api) {
    static const struct {
        const char *name;
        void (*function)(sqlite3_context *context, int n, sqlite3_value **arguments);
    } functions[] = {{"karma_predict", predict_function},
                     {"karma_probabilities", probabilities_function},
                     {"karma_quantiles", quantiles_function},
                     {"karma_explain", explain_function}};
    (void)message;
    SQLITE_EXTENSION_INIT2(api);
    int code = SQLITE_OK, flags = SQLITE_UTF8;
#if defined SQLITE_SUBTYPE && defined SQLITE_RESULT_SUBTYPE /* they look at json_object's mark, and set it */
    flags |= SQLITE_SUBTYPE | SQLITE_RESULT_SUBTYPE;
#endif
    for (size_t i = 0; code == SQLITE_OK && i < sizeof functions / sizeof functions[0]; i++)
        code =
            sqlite3_create_function_v2(db, functions[i].name, -1, flags, NULL, functions[i].function, NULL, NULL, NULL);
    return code == SQLITE_OK ? sql_register_table(db) : code;
}
