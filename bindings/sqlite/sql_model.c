/* Models in SQL: one row or many to scores, and scores to values of SQL. */
#include "karma_sqlite.h"

#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

static karma_status fail_memory(karma_error *err) {
    *err = (karma_error){KARMA_ERR_MEMORY, "out of memory"};
    return KARMA_ERR_MEMORY;
}

static void forget_columns(sql_model *m) {
    karma_row_reader_free(m->reader);
    for (size_t j = 0; j < m->n_names; j++) free(m->names[j]);
    free(m->names);
    m->reader = NULL;
    m->names = NULL;
    m->n_names = 0;
}

void sql_model_free(void *model) {
    sql_model *m = model;
    if (!m) return;
    forget_columns(m);
    karma_model_free(m->model);
    free(m->scores);
    free(m->probabilities);
    free(m);
}

sql_model *sql_model_open(const char *path, karma_error *err) {
    sql_model *m = calloc(1, sizeof *m);
    size_t most = 1;
    if (!m) {
        (void)fail_memory(err);
        return NULL;
    }
    karma_status st = karma_model_load(&m->model, path, err);
    for (size_t t = 0; st == KARMA_OK && t < karma_model_n_targets(m->model); t++)
        if (karma_model_n_classes(m->model, t) > most) most = karma_model_n_classes(m->model, t);
    if (st == KARMA_OK && !(m->probabilities = calloc(most, sizeof *m->probabilities))) st = fail_memory(err);
    if (st == KARMA_OK) return m;
    sql_model_free(m);
    return NULL;
}

static int has_columns(const sql_model *m, const char *const *names, size_t n) {
    if (!m->reader || m->n_names != n) return 0;
    for (size_t j = 0; j < n; j++)
        if (strcmp(m->names[j], names[j]) != 0) return 0;
    return 1;
}

karma_status sql_model_set_columns(sql_model *m, const char *const *names, size_t n, size_t threads, karma_error *err) {
    if (has_columns(m, names, n)) return KARMA_OK;
    forget_columns(m);
    m->names = calloc(n + 1, sizeof *m->names);
    if (!m->names) return fail_memory(err);
    for (; m->n_names < n; m->n_names++)
        if (!(m->names[m->n_names] = strdup(names[m->n_names]))) return fail_memory(err);
    return karma_row_reader_new(&m->reader, m->model, names, n, threads, err);
}

karma_status sql_model_add_value(sql_model *m, sqlite3_value *value, karma_error *err) {
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return karma_row_reader_add_integer(m->reader, sqlite3_value_int64(value), err);
    case SQLITE_FLOAT:
        return karma_row_reader_add_number(m->reader, sqlite3_value_double(value), err);
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_value_text(value);
        if (!text) return fail_memory(err);
        return karma_row_reader_add_text(m->reader, text, (size_t)sqlite3_value_bytes(value), err);
    }
    default:
        return karma_row_reader_add_missing(m->reader, err);
    }
}

karma_status sql_model_score(karma_table **table, sql_model *m, size_t threads, karma_error *err) {
    karma_table *rows = NULL;
    *table = NULL;
    karma_status st = karma_row_reader_read(&rows, m->reader, err);
    if (st != KARMA_OK || !rows) return st;
    size_t n = karma_table_n_rows(rows);
    if (n > m->capacity) {
        free(m->scores);
        m->scores = calloc(n, karma_model_n_outputs(m->model) * sizeof *m->scores);
        m->capacity = m->scores ? n : 0;
    }
    st = m->scores ? karma_predict(m->scores, m->model, rows, threads, NULL, err) : fail_memory(err);
    if (st == KARMA_OK)
        *table = rows;
    else
        karma_table_free(rows);
    return st;
}

/* --- answers ------------------------------------------------------------------------------------------- */

/* Sets a member of an object, either of which may be NULL. The object, or NULL. */
static json_t *put(json_t *object, const char *key, json_t *value) {
    if (object && json_object_set_new(object, key, value) == 0) return object;
    json_decref(object);
    return NULL;
}

static const char *class_of(const sql_model *m, size_t target, const double *scores) {
    return karma_model_class(m->model, target, karma_model_decide(m->model, target, scores));
}

void sql_answer_json(sqlite3_context *context, json_t *value) {
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    sqlite3_result_subtype(context, 'J');
    free(text);
}

void sql_answer_prediction(sqlite3_context *context, const sql_model *m, const double *scores) {
    size_t n_targets = karma_model_n_targets(m->model);
    if (n_targets == 1 && karma_model_task(m->model, 0) == KARMA_TASK_CLASSIFY) {
        sqlite3_result_text(context, class_of(m, 0, scores), -1, SQLITE_TRANSIENT);
    } else if (n_targets == 1) {
        sqlite3_result_double(context, karma_model_number(m->model, 0, scores));
    } else {
        json_t *object = json_object();
        for (size_t t = 0; t < n_targets; t++)
            object = put(object, karma_model_target_name(m->model, t),
                         karma_model_task(m->model, t) == KARMA_TASK_CLASSIFY
                             ? json_string(class_of(m, t, scores))
                             : json_real(karma_model_number(m->model, t, scores)));
        sql_answer_json(context, object);
    }
}

/* What one target has, or NULL. */
typedef json_t *(*target_json)(const sql_model *m, size_t target, const double *scores);

static json_t *target_probabilities(const sql_model *m, size_t target, const double *scores) {
    if (!karma_model_probabilities(m->model, target, scores, m->probabilities)) return NULL;
    json_t *object = json_object();
    for (size_t k = 0; k < karma_model_n_classes(m->model, target); k++)
        object = put(object, karma_model_class(m->model, target, k), json_real(m->probabilities[k]));
    return object;
}

static json_t *target_quantiles(const sql_model *m, size_t target, const double *scores) {
    char text[KARMA_NUMBER_SIZE];
    size_t n = karma_model_n_quantiles(m->model, target), first = karma_model_first_output(m->model, target);
    if (n == 0) return NULL;
    json_t *object = json_object();
    for (size_t q = 0; q < n; q++)
        object = put(object, karma_number_text(text, karma_model_quantile(m->model, target, q)),
                     json_real(scores[first + q]));
    return object;
}

static json_t *all_targets(const sql_model *m, const double *scores, target_json of) {
    if (karma_model_n_targets(m->model) == 1) return of(m, 0, scores);
    json_t *object = json_object();
    for (size_t t = 0; object && t < karma_model_n_targets(m->model); t++) {
        json_t *own = of(m, t, scores);
        if (own) object = put(object, karma_model_target_name(m->model, t), own);
    }
    if (object && json_object_size(object)) return object;
    json_decref(object);
    return NULL;
}

json_t *sql_probabilities(const sql_model *m, const double *scores) {
    return all_targets(m, scores, target_probabilities);
}

json_t *sql_quantiles(const sql_model *m, const double *scores) {
    return all_targets(m, scores, target_quantiles);
}
