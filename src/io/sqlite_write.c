/* A table of a SQLite file from CSV text, in one transaction. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/source.h"
#include "io/spool.h"
#include "io/sqlite_file.h"

typedef struct sqlite_table {
    const karma_i_table_target *target;
    sqlite3 *db;
    sqlite3_stmt *insert;
    karma_i_spool_columns columns;
} sqlite_table;

static karma_status run_sql(sqlite_table *t, char *sql, karma_error *err) {
    if (!sql) return karma_i_fail_memory(err);
    int code = sqlite3_exec(t->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code == SQLITE_OK ? KARMA_OK : karma_i_sqlite_fail(t->db, t->target->uri, err);
}

/* *found: there is a table of this name. A view, or a table that may not be replaced, is an error. */
static karma_status look_for_table(int *found, sqlite_table *t, karma_error *err) {
    const karma_i_uri *uri = t->target->uri;
    sqlite3_stmt *statement = NULL;
    char name[KARMA_I_EXCERPT_SIZE];
    *found = 0;
    (void)karma_i_excerpt(name, uri->table, strlen(uri->table));
    if (sqlite3_prepare_v2(t->db, "SELECT type FROM sqlite_master WHERE name = ?1 COLLATE NOCASE", -1, &statement,
                           NULL) != SQLITE_OK)
        return karma_i_sqlite_fail(t->db, uri, err);
    (void)sqlite3_bind_text(statement, 1, uri->table, -1, SQLITE_STATIC);
    int code = sqlite3_step(statement), is_table = 0;
    if (code == SQLITE_ROW) {
        const unsigned char *type = sqlite3_column_text(statement, 0);
        is_table = type && strcmp((const char *)type, "table") == 0;
    }
    karma_status st = code == SQLITE_ROW || code == SQLITE_DONE ? KARMA_OK : karma_i_sqlite_fail(t->db, uri, err);
    (void)sqlite3_finalize(statement);
    if (st != KARMA_OK || code == SQLITE_DONE) return st;
    if (!is_table)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: '%s' exists already and is not a table", uri->name, name);
    if (!t->target->replace)
        return karma_i_fail(err, KARMA_ERR_DATA,
                            "%s: table '%s' exists already; choose another name, or option 'replace' to replace it",
                            uri->name, name);
    *found = 1;
    return KARMA_OK;
}

karma_status karma_i_sqlite_check_target(const karma_i_table_target *target, karma_error *err) {
    sqlite_table t = {.target = target};
    int found;
    if (access(target->uri->place, F_OK) != 0) return KARMA_OK;
    karma_status st = karma_i_sqlite_open(&t.db, target->uri, 0, err);
    if (st == KARMA_OK) st = look_for_table(&found, &t, err);
    if (st == KARMA_OK && access(target->uri->place, W_OK) != 0)
        st = karma_i_fail(err, KARMA_ERR_IO, "%s: the file may not be written", target->uri->name);
    (void)sqlite3_close(t.db);
    return st;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

static karma_status bind_cell(void *payload, size_t column, const karma_i_csv_field *field, karma_error *err) {
    sqlite_table *t = payload;
    int place = (int)column + 1, code;
    double value = 0.0;
    if (column >= t->columns.count) return karma_i_fail(err, KARMA_ERR_FORMAT, "the rows have too many cells");
    if (field->length == 0) {
        code = sqlite3_bind_null(t->insert, place);
    } else if (t->columns.kinds[column] == KARMA_I_SPOOL_TEXT) {
        code = sqlite3_bind_text64(t->insert, place, field->text, field->length, SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if (t->columns.kinds[column] == KARMA_I_SPOOL_REAL) {
        (void)karma_i_number_parse(&value, field->text, field->length);
        code = sqlite3_bind_double(t->insert, place, value);
    } else {
        int64_t whole = 0;
        for (size_t i = field->text[0] == '-'; i < field->length; i++) whole = 10 * whole + (field->text[i] - '0');
        code = sqlite3_bind_int64(t->insert, place, field->text[0] == '-' ? -whole : whole);
    }
    return code == SQLITE_OK ? KARMA_OK : karma_i_sqlite_fail(t->db, t->target->uri, err);
}

static karma_status insert_row(void *payload, karma_error *err) {
    sqlite_table *t = payload;
    if (sqlite3_step(t->insert) != SQLITE_DONE) return karma_i_sqlite_fail(t->db, t->target->uri, err);
    (void)sqlite3_reset(t->insert);
    return KARMA_OK;
}

/* --- the table ----------------------------------------------------------------------------------------- */

static karma_status create_table(sqlite_table *t, karma_error *err) {
    static const char *const types[] = {"INTEGER", "INTEGER", "REAL", "TEXT"};
    sqlite3_str *create = sqlite3_str_new(t->db), *insert = sqlite3_str_new(t->db);
    sqlite3_str_appendf(create, "CREATE TABLE \"%w\" (", t->target->uri->table);
    sqlite3_str_appendf(insert, "INSERT INTO \"%w\" VALUES (", t->target->uri->table);
    for (size_t j = 0; j < t->columns.count; j++) {
        sqlite3_str_appendf(create, "%s\"%w\" %s", j ? ", " : "", t->columns.names[j], types[t->columns.kinds[j]]);
        sqlite3_str_appendall(insert, j ? ", ?" : "?");
    }
    sqlite3_str_appendall(create, ")");
    sqlite3_str_appendall(insert, ")");
    char *sql = sqlite3_str_finish(insert);
    karma_status st = run_sql(t, sqlite3_str_finish(create), err);
    if (st == KARMA_OK && !sql) st = karma_i_fail_memory(err);
    if (st == KARMA_OK && sqlite3_prepare_v2(t->db, sql, -1, &t->insert, NULL) != SQLITE_OK)
        st = karma_i_sqlite_fail(t->db, t->target->uri, err);
    sqlite3_free(sql);
    return st;
}

/* From BEGIN to COMMIT; after a failure, closing the file rolls back. */
static karma_status write_rows(sqlite_table *t, FILE *text, karma_error *err) {
    const karma_i_uri *uri = t->target->uri;
    int found;
    KARMA_TRY(karma_i_sqlite_open(&t->db, uri, 1, err));
    KARMA_TRY(run_sql(t, sqlite3_mprintf("BEGIN IMMEDIATE"), err));
    KARMA_TRY(look_for_table(&found, t, err));
    if (found) KARMA_TRY(run_sql(t, sqlite3_mprintf("DROP TABLE \"%w\"", uri->table), err));
    KARMA_TRY(create_table(t, err));
    KARMA_TRY(karma_i_spool_walk(uri->name, text, bind_cell, insert_row, t, err));
    (void)sqlite3_finalize(t->insert);
    t->insert = NULL;
    return run_sql(t, sqlite3_mprintf("COMMIT"), err);
}

karma_status karma_i_sqlite_write_table(const karma_i_table_target *target, FILE *text, karma_error *err) {
    sqlite_table t = {.target = target};
    int is_new = access(target->uri->place, F_OK) != 0;
    karma_status st = karma_i_spool_survey(&t.columns, target->uri->name, text, err);
    if (st == KARMA_OK) st = write_rows(&t, text, err);
    (void)sqlite3_finalize(t.insert);
    int was_opened = t.db != NULL;
    (void)sqlite3_close(t.db);
    if (st != KARMA_OK && is_new && was_opened) (void)unlink(target->uri->place);
    karma_i_spool_clear(&t.columns);
    return st;
}
