#include "io/sqlite_file.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

const karma_i_driver karma_i_sqlite_driver = {{"sqlite"},
                                              1,
                                              "SQLite",
                                              karma_i_sqlite_open_rows,
                                              karma_i_sqlite_check_target,
                                              karma_i_sqlite_write_table,
                                              karma_i_sqlite_identify};

karma_status karma_i_sqlite_fail(sqlite3 *db, const karma_i_uri *uri, karma_error *err) {
    const char *name = uri->name;
    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_NOMEM:
        return karma_i_fail_memory(err);
    case SQLITE_INTERRUPT:
        return karma_i_fail(err, KARMA_ERR_CANCELLED, "%s: interrupted", name);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return karma_i_fail(
            err, KARMA_ERR_IO,
            "%s: the database is locked by another program; waited %g s (add timeout=SECONDS to the URI "
            "to wait longer)",
            name, uri->timeout);
    case SQLITE_NOTADB:
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the file is not a SQLite database, or is encrypted", name);
    case SQLITE_CORRUPT:
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the database is damaged (%.200s)", name, sqlite3_errmsg(db));
    case SQLITE_AUTH:
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' may only read tables (%.200s)", name,
                            sqlite3_errmsg(db));
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: /* the file itself could be opened */
        if (sqlite3_db_readonly(db, "main") == 1)
            return karma_i_fail(
                err, KARMA_ERR_IO,
                "%s: the database has a write-ahead log, which also readers need, and its directory may "
                "not be written: copy the file to another one",
                name);
        return karma_i_fail(err, KARMA_ERR_IO, "%s: %.200s", name, sqlite3_errmsg(db));
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_FULL:
        return karma_i_fail(err, KARMA_ERR_IO, "%s: %.200s", name, sqlite3_errmsg(db));
    default:
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: %.300s", name, sqlite3_errmsg(db));
    }
}

static karma_status check_file(const karma_i_uri *uri, int writes, karma_error *err) {
    struct stat info;
    if (stat(uri->place, &info) != 0) {
        if (errno == ENOENT && writes) return KARMA_OK;
        if (errno == ENOENT)
            return karma_i_fail(
                err, KARMA_ERR_IO, "%s: there is no such file%s", uri->name,
                strncmp(uri->place, "//", 2) == 0 ? "; the path follows sqlite: without slashes of its own" : "");
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot open: %s", uri->name, strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) return karma_i_fail(err, KARMA_ERR_IO, "%s: is a directory, not a file", uri->name);
    if (!S_ISREG(info.st_mode)) return karma_i_fail(err, KARMA_ERR_IO, "%s: is not a regular file", uri->name);
    if (access(uri->place, writes ? R_OK | W_OK : R_OK) != 0)
        return karma_i_fail(err, KARMA_ERR_IO, "%s: cannot open: %s", uri->name, strerror(errno));
    return KARMA_OK;
}

/* Names that start like a URI or with a colon have a special meaning for SQLite; a path does not. */
static char *plain_path(const char *place) {
    return sqlite3_mprintf("%s%s", place[0] == '/' ? "" : "./", place);
}

/* The schema in the file is not trusted. Settings that an old library does not know are ignored. */
static void distrust(sqlite3 *db) {
#ifdef SQLITE_DBCONFIG_DEFENSIVE
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
#endif
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
#endif
    (void)sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
}

karma_status karma_i_sqlite_open(sqlite3 **out, const karma_i_uri *uri, int writes, karma_error *err) {
    *out = NULL;
    KARMA_TRY(check_file(uri, writes, err));
    char *path = plain_path(uri->place);
    if (!path) return karma_i_fail_memory(err);
    int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    int code = sqlite3_open_v2(path, out, flags | SQLITE_OPEN_PRIVATECACHE, NULL);
    sqlite3_free(path);
    if (!*out) return karma_i_fail_memory(err);
    if (code != SQLITE_OK) return karma_i_sqlite_fail(*out, uri, err);
    double wait = 1000.0 * uri->timeout;
    (void)sqlite3_busy_timeout(*out, wait < INT_MAX ? (int)wait : INT_MAX);
    distrust(*out);
    return KARMA_OK;
}

static void free_names(char **names, size_t n) {
    for (size_t i = 0; i < n; i++) karma_i_free(names[i]);
    karma_i_free(names);
}

static int add_name(char ***names, size_t *n, size_t *capacity, const unsigned char *name) {
    if (!name || !karma_i_reserve(names, capacity, *n + 1, sizeof **names)) return 0;
    char *copy = karma_i_strdup((const char *)name);
    if (!copy) return 0;
    (*names)[(*n)++] = copy;
    return 1;
}

karma_status karma_i_sqlite_tables(char ***out, size_t *n, sqlite3 *db, const karma_i_uri *uri, karma_error *err) {
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
                              "'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    sqlite3_stmt *statement = NULL;
    char **names = NULL;
    size_t count = 0, capacity = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return karma_i_sqlite_fail(db, uri, err);
    int code, fits = 1;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && fits)
        fits = add_name(&names, &count, &capacity, sqlite3_column_text(statement, 0));
    karma_status st = !fits                 ? karma_i_fail_memory(err)
                      : code == SQLITE_DONE ? KARMA_OK
                                            : karma_i_sqlite_fail(db, uri, err);
    (void)sqlite3_finalize(statement);
    if (st == KARMA_OK) {
        *out = names;
        *n = count;
    } else {
        free_names(names, count);
    }
    return st;
}

karma_status karma_i_sqlite_identify(karma_i_identity *out, const karma_i_uri *uri, karma_error *err) {
    struct stat info;
    sqlite3 *db = NULL;
    char **tables = NULL;
    size_t n = 0;
    *out = (karma_i_identity){0};
    karma_status st = karma_i_sqlite_open(&db, uri, 0, err);
    if (st == KARMA_OK) st = karma_i_sqlite_tables(&tables, &n, db, uri, err);
    (void)sqlite3_close(db);
    if (st != KARMA_OK) return st;
    if (stat(uri->place, &info) == 0)
        (void)snprintf(out->database, sizeof out->database, "%ju %ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
    for (size_t i = 0; uri->table && i < n; i++) /* by its place in the list: the name may be long */
        if (sqlite3_stricmp(tables[i], uri->table) == 0) (void)snprintf(out->table, sizeof out->table, "%zu", i + 1);
    free_names(tables, n);
    return KARMA_OK;
}
