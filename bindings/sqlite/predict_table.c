/* karma_predict_table('m.karma', 't'): predictions for all rows of a table, in blocks. Columns are matched by name, so
 * that a table may have more of them than a function takes arguments. */
#include "karma_sqlite.h"

#include <stdlib.h>
#include <string.h>

SQLITE_EXTENSION_INIT3

enum { BLOCK_ROWS = 2048, MAX_DEPTH = 4 };
enum { COLUMN_ID, COLUMN_PREDICTION, COLUMN_PROBABILITIES, COLUMN_QUANTILES, COLUMN_MODEL, COLUMN_SOURCE };

typedef struct predict_table {
    sqlite3_vtab base;
    sqlite3 *db;
    int depth; /* tables of this kind whose rows are being read now, each by the one before */
} predict_table;

typedef struct predict_cursor {
    sqlite3_vtab_cursor base;
    sql_model *model;
    sqlite3_stmt *rows;
    int has_rowid, rows_ended;
    sqlite3_int64 ids[BLOCK_ROWS];
    size_t n_ids;       /* rows of the block that are read */
    karma_table *part;  /* those of them that have scores: from first_of_part on */
    size_t first, next; /* row of the block that the part starts with; row of the part */
    sqlite3_int64 n_before;
} predict_cursor;

static int fail(sqlite3_vtab *table, const char *message) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", message);
    return SQLITE_ERROR;
}

static int fail_with(sqlite3_vtab *table, const karma_error *err) {
    return err->status == KARMA_ERR_MEMORY ? SQLITE_NOMEM : fail(table, err->message);
}

/* --- the table ----------------------------------------------------------------------------------------- */

static int connect_table(sqlite3 *db, void *payload, int n, const char *const *arguments, sqlite3_vtab **out,
                         char **message) {
    (void)payload, (void)n, (void)arguments, (void)message;
    int code =
        sqlite3_declare_vtab(db, "CREATE TABLE x(id INTEGER, prediction, probabilities, quantiles, model HIDDEN, "
                                 "source HIDDEN)");
    if (code != SQLITE_OK) return code;
    predict_table *table = sqlite3_malloc(sizeof *table);
    if (!table) return SQLITE_NOMEM;
    memset(table, 0, sizeof *table);
    table->db = db;
    *out = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

/* Both arguments must be known; nothing else helps. */
static int choose_index(sqlite3_vtab *table, sqlite3_index_info *info) {
    int places[2] = {-1, -1}, unusable = 0;
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = info->aConstraint[i].iColumn - COLUMN_MODEL;
        if (argument < 0 || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (info->aConstraint[i].usable)
            places[argument] = i;
        else
            unusable = 1;
    }
    if (places[0] < 0 || places[1] < 0)
        return unusable ? SQLITE_CONSTRAINT : fail(table, "karma_predict_table takes a model file and a table");
    for (int k = 0; k < 2; k++) {
        info->aConstraintUsage[places[k]].argvIndex = k + 1;
        info->aConstraintUsage[places[k]].omit = 1;
    }
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

static void clear_cursor(predict_cursor *c) {
    (void)sqlite3_finalize(c->rows);
    karma_table_free(c->part);
    sql_model_free(c->model);
    sqlite3_vtab *table = c->base.pVtab;
    memset(c, 0, sizeof *c);
    c->base.pVtab = table;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
    (void)table;
    predict_cursor *c = sqlite3_malloc(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    memset(c, 0, sizeof *c);
    *out = &c->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor) {
    predict_cursor *c = (predict_cursor *)(void *)cursor;
    clear_cursor(c);
    sqlite3_free(c);
    return SQLITE_OK;
}

/* The next row of the source, which may be a view on this kind of table: on another model, or on itself without end. */
static int step_source(predict_cursor *c) {
    predict_table *table = (predict_table *)(void *)c->base.pVtab;
    if (table->depth == MAX_DEPTH) return SQLITE_MISUSE;
    table->depth++;
    int code = sqlite3_step(c->rows);
    table->depth--;
    return code;
}

/* Reads the next rows of the source, at most a block of them, into the reader. */
static int read_block(predict_cursor *c) {
    karma_error err = {0};
    int n_columns = sqlite3_column_count(c->rows), code = SQLITE_ROW;
    c->n_before += (sqlite3_int64)c->n_ids;
    c->n_ids = c->first = c->next = 0;
    while (c->n_ids < BLOCK_ROWS && (code = step_source(c)) == SQLITE_ROW) {
        int has_id = c->has_rowid && sqlite3_column_type(c->rows, 0) == SQLITE_INTEGER; /* a view may have NULL */
        c->ids[c->n_ids] = has_id ? sqlite3_column_int64(c->rows, 0) : c->n_before + (sqlite3_int64)c->n_ids + 1;
        c->n_ids++;
        for (int j = c->has_rowid; j < n_columns; j++)
            if (sql_model_add_value(c->model, sqlite3_column_value(c->rows, j), &err) != KARMA_OK)
                return fail_with(c->base.pVtab, &err);
    }
    c->rows_ended = code == SQLITE_DONE;
    if (code == SQLITE_ROW || code == SQLITE_DONE) return SQLITE_OK;
    if (code == SQLITE_MISUSE) return fail(c->base.pVtab, "karma_predict_table reads itself through a view");
    return fail(c->base.pVtab, sqlite3_errmsg(sqlite3_db_handle(c->rows)));
}

/* The next rows with scores, unless there are none. */
static int next_part(predict_cursor *c) {
    karma_error err = {0};
    if (c->part) c->first += karma_table_n_rows(c->part);
    karma_table_free(c->part);
    c->part = NULL;
    c->next = 0;
    if (c->first == c->n_ids) {
        if (c->rows_ended) return SQLITE_OK;
        int code = read_block(c);
        if (code != SQLITE_OK || c->n_ids == 0) return code;
    }
    return sql_model_score(&c->part, c->model, 1, &err) == KARMA_OK ? SQLITE_OK : fail_with(c->base.pVtab, &err);
}

static int is_at_end(sqlite3_vtab_cursor *cursor) {
    return ((predict_cursor *)(void *)cursor)->part == NULL;
}

static int next_row(sqlite3_vtab_cursor *cursor) {
    predict_cursor *c = (predict_cursor *)(void *)cursor;
    if (++c->next < karma_table_n_rows(c->part)) return SQLITE_OK;
    return next_part(c);
}

/* Tables have a rowid; views and tables WITHOUT ROWID have not, and their rows are counted. */
static int prepare_rows(predict_cursor *c, const char *source) {
    sqlite3 *db = ((predict_table *)(void *)c->base.pVtab)->db;
    int code = SQLITE_ERROR;
    for (c->has_rowid = 1; code == SQLITE_ERROR && c->has_rowid >= 0; c->has_rowid--) {
        char *sql = sqlite3_mprintf("SELECT %s* FROM \"%w\"", c->has_rowid ? "rowid, " : "", source);
        if (!sql) return SQLITE_NOMEM;
        code = sqlite3_prepare_v2(db, sql, -1, &c->rows, NULL);
        sqlite3_free(sql);
    }
    c->has_rowid++;
    return code == SQLITE_OK ? SQLITE_OK : fail(c->base.pVtab, sqlite3_errmsg(db));
}

static int set_columns(predict_cursor *c) {
    karma_error err = {0};
    int n = sqlite3_column_count(c->rows) - c->has_rowid;
    const char **names = malloc(((size_t)n + 1) * sizeof *names);
    if (!names) return SQLITE_NOMEM;
    for (int j = 0; j < n; j++) {
        const char *name = sqlite3_column_name(c->rows, j + c->has_rowid);
        names[j] = name ? name : "";
    }
    karma_status st = sql_model_set_columns(c->model, names, (size_t)n, 1, &err);
    free(names);
    return st == KARMA_OK ? SQLITE_OK : fail_with(c->base.pVtab, &err);
}

static int filter(sqlite3_vtab_cursor *cursor, int index, const char *index_text, int n, sqlite3_value **arguments) {
    predict_cursor *c = (predict_cursor *)(void *)cursor;
    karma_error err = {0};
    (void)index, (void)index_text;
    clear_cursor(c);
    const char *path = n == 2 ? (const char *)sqlite3_value_text(arguments[0]) : NULL;
    const char *source = n == 2 ? (const char *)sqlite3_value_text(arguments[1]) : NULL;
    if (!path || !*path || !source) return fail(cursor->pVtab, "karma_predict_table takes a model file and a table");
    c->model = sql_model_open(path, &err);
    if (!c->model) return fail_with(cursor->pVtab, &err);
    int code = prepare_rows(c, source);
    if (code == SQLITE_OK) code = set_columns(c);
    return code == SQLITE_OK ? next_part(c) : code;
}

static void answer_or_null(sqlite3_context *context, json_t *value) {
    if (value)
        sql_answer_json(context, value);
    else
        sqlite3_result_null(context);
}

static int answer_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    predict_cursor *c = (predict_cursor *)(void *)cursor;
    const double *scores = c->model->scores + c->next * karma_model_n_outputs(c->model->model);
    if (column == COLUMN_ID)
        sqlite3_result_int64(context, c->ids[c->first + c->next]);
    else if (column == COLUMN_PREDICTION)
        sql_answer_prediction(context, c->model, scores);
    else if (column == COLUMN_PROBABILITIES)
        answer_or_null(context, sql_probabilities(c->model, scores));
    else if (column == COLUMN_QUANTILES)
        answer_or_null(context, sql_quantiles(c->model, scores));
    return SQLITE_OK;
}

static int answer_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out) {
    predict_cursor *c = (predict_cursor *)(void *)cursor;
    *out = c->n_before + (sqlite3_int64)(c->first + c->next) + 1;
    return SQLITE_OK;
}

int sql_register_table(sqlite3 *db) {
    static const sqlite3_module module = {.xConnect = connect_table,
                                          .xBestIndex = choose_index,
                                          .xDisconnect = disconnect_table,
                                          .xOpen = open_cursor,
                                          .xClose = close_cursor,
                                          .xFilter = filter,
                                          .xNext = next_row,
                                          .xEof = is_at_end,
                                          .xColumn = answer_column,
                                          .xRowid = answer_rowid};
    return sqlite3_create_module_v2(db, "karma_predict_table", &module, NULL, NULL);
}
