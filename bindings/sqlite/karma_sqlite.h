/* The SQLite extension: what its functions and its table share. */
#ifndef KARMA_SQLITE_H
#define KARMA_SQLITE_H

#include <jansson.h>
#include <sqlite3ext.h>

#include "karma/karma.h"

/* A model that is loaded, and where its rows are read. Belongs to one statement, so that one thread uses it. */
typedef struct sql_model {
    karma_model *model;
    karma_row_reader *reader; /* NULL: its columns are not known yet */
    char **names;             /* of the columns of the reader */
    size_t n_names;
    double *scores;        /* of `capacity` rows */
    double *probabilities; /* of one row */
    size_t capacity;
} sql_model;

/* Loads the file. NULL after a failure, which *err describes. */
sql_model *sql_model_open(const char *path, karma_error *err);
void sql_model_free(void *model);
/* Makes a reader of these columns, unless it has one. */
karma_status sql_model_set_columns(sql_model *m, const char *const *names, size_t n, size_t threads, karma_error *err);
/* The next cell of the row. A blob is missing. */
karma_status sql_model_add_value(sql_model *m, sqlite3_value *value, karma_error *err);
/* Scores of the rows that were added, so many as one part of them has; *table is to be freed, and NULL behind the last
 * part. */
karma_status sql_model_score(karma_table **table, sql_model *m, size_t threads, karma_error *err);

/* The prediction from the scores of a row: a class or a number; with several targets, a JSON object with a member
 * per target. */
void sql_answer_prediction(sqlite3_context *context, const sql_model *m, const double *scores);
/* JSON objects with the probabilities of the classes and with the quantiles; of several targets, one for each. NULL:
 * out of memory, or the model has none. */
json_t *sql_probabilities(const sql_model *m, const double *scores);
json_t *sql_quantiles(const sql_model *m, const double *scores);
/* Gives it as the result, and releases it. */
void sql_answer_json(sqlite3_context *context, json_t *value);

/* predict_table.c */
int sql_register_table(sqlite3 *db);

#endif
