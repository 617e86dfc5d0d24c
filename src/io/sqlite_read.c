/* Rows of a SQLite file as delimited text. Everything is read in one transaction, so that the rows come from
 * one state of the database whatever a writer does meanwhile. After the last row the file is closed and its
 * lock released. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/cell_text.h"
#include "io/source.h"
#include "io/sqlite_file.h"

enum { STEPS_PER_QUESTION = 1 << 20 }; /* steps of SQLite's virtual machine between checks whether to stop */

typedef struct sqlite_rows {
    karma_i_rows_request request;
    sqlite3 *db;
    sqlite3_stmt *statement;
    int n_columns;
    unsigned char *skipped; /* of each column: whether it is skipped */
    size_t *n_blobs;        /* of each column */
    size_t n_rows;
    karma_i_cell_text text; /* bytes from `given` on are not handed out yet */
    size_t given;
} sqlite_rows;

static const char *column_name(const sqlite_rows *r, int column) {
    const char *name = sqlite3_column_name(r->statement, column);
    return name ? name : "";
}

/* --- cells --------------------------------------------------------------------------------------------- */

static karma_status fail_cell(const sqlite_rows *r, int column, const char *what, karma_error *err) {
    char name[KARMA_I_EXCERPT_SIZE];
    const char *own = column_name(r, column);
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: row %zu, column '%s': %s", r->request.uri->name, r->n_rows,
                        karma_i_excerpt(name, own, strlen(own)), what);
}

static karma_status add_text(sqlite_rows *r, int column, karma_error *err) {
    const char *text = (const char *)sqlite3_column_text(r->statement, column);
    size_t length = (size_t)sqlite3_column_bytes(r->statement, column);
    if (!text) return karma_i_fail_memory(err);
    if (strlen(text) < length) return fail_cell(r, column, "the text has a NUL byte", err);
    if (!karma_i_is_utf8(text)) return fail_cell(r, column, "the text is not UTF-8", err);
    return karma_i_cell_text_add_text(&r->text, text, length) ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status add_cell(sqlite_rows *r, int column, karma_error *err) {
    int fits;
    int type = r->skipped[column] ? SQLITE_NULL : sqlite3_column_type(r->statement, column);
    switch (type) {
    case SQLITE_INTEGER:
        fits = karma_i_cell_text_add_integer(&r->text, sqlite3_column_int64(r->statement, column));
        break;
    case SQLITE_FLOAT:
        fits = karma_i_cell_text_add_real(&r->text, sqlite3_column_double(r->statement, column));
        break;
    case SQLITE_TEXT:
        return add_text(r, column, err);
    default:
        r->n_blobs[column] += type == SQLITE_BLOB;
        fits = karma_i_cell_text_add_missing(&r->text);
    }
    return fits ? KARMA_OK : karma_i_fail_memory(err);
}

/* --- rows ---------------------------------------------------------------------------------------------- */

static void notice_blobs(const sqlite_rows *r) {
    for (int j = 0; j < r->n_columns; j++) {
        char name[KARMA_I_EXCERPT_SIZE];
        const char *own = column_name(r, j);
        if (r->n_blobs[j] == 0) continue;
        (void)karma_i_excerpt(name, own, strlen(own));
        karma_i_notice(r->request.hooks,
                       "%s: column '%s' has %zu blobs, which count as missing; option 'ignore' '%s' leaves the column "
                       "out",
                       r->request.uri->name, name, r->n_blobs[j], name);
    }
}

static void close_database(sqlite_rows *r) {
    (void)sqlite3_finalize(r->statement);
    (void)sqlite3_close(r->db);
    r->statement = NULL;
    r->db = NULL;
}

/* One more row, or the end. */
static karma_status take_row(sqlite_rows *r, karma_error *err) {
    int code = sqlite3_step(r->statement);
    if (code == SQLITE_DONE) {
        notice_blobs(r);
        close_database(r);
        return KARMA_OK;
    }
    if (code != SQLITE_ROW) return karma_i_sqlite_fail(r->db, r->request.uri, err);
    r->n_rows++;
    for (int j = 0; j < r->n_columns; j++) KARMA_TRY(add_cell(r, j, err));
    return KARMA_OK;
}

static karma_status read_rows(void *self, size_t *got, char *to, size_t room, karma_error *err) {
    sqlite_rows *r = self;
    if (r->given == r->text.length) r->given = r->text.length = 0;
    while (r->statement && r->text.length - r->given < room) KARMA_TRY(take_row(r, err));
    size_t n = r->text.length - r->given;
    *got = n < room ? n : room;
    memcpy(to, r->text.bytes + r->given, *got);
    r->given += *got;
    if (r->given < r->text.length) { /* the rest is less than a row */
        memmove(r->text.bytes, r->text.bytes + r->given, r->text.length - r->given);
        r->text.length -= r->given;
        r->given = 0;
    }
    return KARMA_OK;
}

static void close_rows(void *self) {
    sqlite_rows *r = self;
    if (!r) return;
    close_database(r);
    karma_i_cell_text_clear(&r->text);
    karma_i_free(r->skipped);
    karma_i_free(r->n_blobs);
    karma_i_free(r);
}

/* --- opening ------------------------------------------------------------------------------------------- */

/* Statements may only read tables and call functions. */
static int allow(void *payload, int action, const char *first, const char *second, const char *schema,
                 const char *trigger) {
    (void)payload, (void)schema, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_UPDATE: /* virtual tables declare themselves like this; the file is open for reading only */
        return first && sqlite3_stricmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA: /* full-text tables need it */
        return first && sqlite3_stricmp(first, "data_version") == 0 ? SQLITE_OK : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

static int ask_to_stop(void *payload) {
    const sqlite_rows *r = payload;
    return karma_i_progress(r->request.hooks, "reading the database", 0, 0);
}

/* The name of the table, or of the only table if none is named, as SQLite spells it; to be freed. */
static karma_status find_table(char **out, const sqlite_rows *r, karma_error *err) {
    const karma_i_uri *uri = r->request.uri;
    char **tables = NULL;
    size_t n = 0, found;
    KARMA_TRY(karma_i_sqlite_tables(&tables, &n, r->db, uri, err));
    for (found = 0; uri->table && found < n; found++)
        if (sqlite3_stricmp(tables[found], uri->table) == 0) break;
    if (!uri->table) found = n == 1 ? 0 : n;
    karma_status st = found < n ? KARMA_OK : karma_i_fail_no_table(uri, tables, n, err);
    if (st == KARMA_OK && !(*out = karma_i_strdup(tables[found]))) st = karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) karma_i_free(tables[i]);
    karma_i_free(tables);
    return st;
}

static karma_status prepare_table(sqlite_rows *r, karma_error *err) {
    char *table = NULL;
    KARMA_TRY(find_table(&table, r, err));
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    karma_i_free(table);
    if (!sql) return karma_i_fail_memory(err);
    int code = sqlite3_prepare_v2(r->db, sql, -1, &r->statement, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? KARMA_OK : karma_i_sqlite_fail(r->db, r->request.uri, err);
}

/* Only blanks and comments may follow the first statement. */
static karma_status check_tail(const sqlite_rows *r, const char *tail, karma_error *err) {
    sqlite3_stmt *second = NULL;
    while (tail && *tail) {
        const char *next = NULL;
        int code = sqlite3_prepare_v2(r->db, tail, -1, &second, &next);
        (void)sqlite3_finalize(second);
        if (code != SQLITE_OK || second)
            return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' must be one statement",
                                r->request.uri->name);
        if (next == tail) break;
        tail = next;
    }
    return KARMA_OK;
}

static karma_status prepare_query(sqlite_rows *r, karma_error *err) {
    const char *tail = NULL, *name = r->request.uri->name;
    if (sqlite3_prepare_v2(r->db, r->request.options->query, -1, &r->statement, &tail) != SQLITE_OK)
        return karma_i_sqlite_fail(r->db, r->request.uri, err);
    if (!r->statement) return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' is empty", name);
    KARMA_TRY(check_tail(r, tail, err));
    if (!sqlite3_stmt_readonly(r->statement) || sqlite3_column_count(r->statement) == 0)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' must be a SELECT", name);
    if (sqlite3_bind_parameter_count(r->statement))
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' has parameters, which have no values", name);
    return KARMA_OK;
}

static karma_status begin_columns(sqlite_rows *r, karma_error *err) {
    const karma_names *ignored = &r->request.options->ignore;
    r->n_columns = sqlite3_column_count(r->statement);
    r->text.n_columns = (size_t)r->n_columns;
    r->skipped = karma_i_zalloc((size_t)r->n_columns, sizeof *r->skipped);
    r->n_blobs = karma_i_zalloc((size_t)r->n_columns, sizeof *r->n_blobs);
    if (!r->skipped || !r->n_blobs) return karma_i_fail_memory(err);
    for (int j = 0; j < r->n_columns; j++) {
        const char *name = column_name(r, j);
        for (int k = 0; k < j; k++)
            if (strcmp(column_name(r, k), name) == 0)
                return karma_i_fail(
                    err, KARMA_ERR_DATA,
                    "%s: columns %d and %d are both called '%.60s': rename one with AS in option 'query'",
                    r->request.uri->name, k + 1, j + 1, name);
        for (size_t i = 0; i < ignored->count; i++) r->skipped[j] |= strcmp(ignored->items[i], name) == 0;
        if (!karma_i_is_utf8(name))
            return karma_i_fail(err, KARMA_ERR_DATA, "%s: the name of column %d is not UTF-8", r->request.uri->name,
                                j + 1);
        if (!karma_i_cell_text_add_text(&r->text, name, strlen(name))) return karma_i_fail_memory(err);
    }
    return KARMA_OK;
}

static karma_status open_database(sqlite_rows *r, karma_error *err) {
    KARMA_TRY(karma_i_sqlite_open(&r->db, r->request.uri, 0, err));
    /* from here on reads see this state of the database, so names and rows match */
    if (sqlite3_exec(r->db, "BEGIN; SELECT count(*) FROM sqlite_master", NULL, NULL, NULL) != SQLITE_OK)
        return karma_i_sqlite_fail(r->db, r->request.uri, err);
    sqlite3_progress_handler(r->db, STEPS_PER_QUESTION, ask_to_stop, r);
    (void)sqlite3_set_authorizer(r->db, allow, NULL);
    KARMA_TRY(r->request.options->query ? prepare_query(r, err) : prepare_table(r, err));
    return begin_columns(r, err);
}

karma_status karma_i_sqlite_open_rows(karma_i_supply *out, const karma_i_rows_request *request, karma_error *err) {
    sqlite_rows *r = karma_i_zalloc(1, sizeof *r);
    if (!r) return karma_i_fail_memory(err);
    r->request = *request;
    karma_status st = open_database(r, err);
    if (st == KARMA_OK)
        *out = (karma_i_supply){.read = read_rows, .close = close_rows, .self = r};
    else
        close_rows(r);
    return st;
}
