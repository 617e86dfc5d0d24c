/* A table of a PostgreSQL server from CSV text, in one transaction. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/postgres_server.h"
#include "io/source.h"
#include "io/spool.h"

typedef struct postgres_table {
    const karma_i_table_target *target;
    karma_i_postgres server;
    karma_i_spool_columns columns;
    char *sql; /* a statement that grows */
    size_t length, capacity;
} postgres_table;

static karma_status add(postgres_table *t, const char *text, karma_error *err) {
    size_t length = strlen(text);
    if (!karma_i_reserve(&t->sql, &t->capacity, t->length + length + 1, 1)) return karma_i_fail_memory(err);
    memcpy(t->sql + t->length, text, length + 1);
    t->length += length;
    return KARMA_OK;
}

/* A name in quotes. */
static karma_status add_name(postgres_table *t, const char *name, size_t length, karma_error *err) {
    char *quoted = t->server.pq.PQescapeIdentifier(t->server.connection, name, length);
    if (!quoted) return karma_i_postgres_fail(&t->server, t->target->uri, err);
    karma_status st = add(t, quoted, err);
    t->server.pq.PQfreemem(quoted);
    return st;
}

/* "table" or "schema"."table". */
static karma_status add_table(postgres_table *t, karma_error *err) {
    const char *name = t->target->uri->table, *dot = strchr(name, '.');
    if (dot) {
        KARMA_TRY(add_name(t, name, (size_t)(dot - name), err));
        KARMA_TRY(add(t, ".", err));
        name = dot + 1;
    }
    return add_name(t, name, strlen(name), err);
}

/* *found, to be freed: the table to replace, or NULL. */
static karma_status look_for_table(char **found, postgres_table *t, karma_error *err) {
    const karma_i_uri *uri = t->target->uri;
    char name[KARMA_I_EXCERPT_SIZE], kind = 0;
    (void)karma_i_excerpt(name, uri->table, strlen(uri->table));
    KARMA_TRY(karma_i_postgres_find(found, &kind, &t->server, uri, err));
    if (!*found || (kind == 'r' && t->target->replace)) return KARMA_OK;
    karma_i_free(*found);
    *found = NULL;
    if (kind != 'r')
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: '%s' exists already and is not a table", uri->name, name);
    return karma_i_fail(err, KARMA_ERR_DATA,
                        "%s: table '%s' exists already; choose another name, or option 'replace' to replace it",
                        uri->name, name);
}

karma_status karma_i_postgres_check_target(const karma_i_table_target *target, karma_error *err) {
    postgres_table t = {.target = target};
    char *found = NULL;
    karma_status st = karma_i_postgres_connect(&t.server, target->uri, err);
    if (st == KARMA_OK) st = look_for_table(&found, &t, err);
    karma_i_free(found);
    karma_i_postgres_close(&t.server);
    return st;
}

static karma_status run_collected(postgres_table *t, karma_error *err) {
    karma_status st = karma_i_postgres_run(&t->server, t->target->uri, t->sql, err);
    t->length = 0;
    return st;
}

static karma_status create_table(postgres_table *t, karma_error *err) {
    static const char *const types[] = {" bigint", " bigint", " double precision", " text"};
    char *found = NULL;
    KARMA_TRY(look_for_table(&found, t, err));
    karma_status st = found ? add(t, "DROP TABLE ", err) : KARMA_OK;
    if (found && st == KARMA_OK) st = add(t, found, err);
    if (found && st == KARMA_OK) st = run_collected(t, err);
    karma_i_free(found);
    KARMA_TRY(st);
    KARMA_TRY(add(t, "CREATE TABLE ", err));
    KARMA_TRY(add_table(t, err));
    for (size_t j = 0; j < t->columns.count; j++) {
        KARMA_TRY(add(t, j ? ", " : " (", err));
        KARMA_TRY(add_name(t, t->columns.names[j], strlen(t->columns.names[j]), err));
        KARMA_TRY(add(t, types[t->columns.kinds[j]], err));
    }
    KARMA_TRY(add(t, ")", err));
    return run_collected(t, err);
}

static karma_status send_text(postgres_table *t, FILE *text, karma_error *err) {
    char block[8192];
    size_t n;
    rewind(text);
    while ((n = fread(block, 1, sizeof block, text)))
        if (t->server.pq.PQputCopyData(t->server.connection, block, (int)n) != 1)
            return karma_i_postgres_fail(&t->server, t->target->uri, err);
    if (ferror(text)) return karma_i_fail(err, KARMA_ERR_IO, "cannot read a temporary file: %s", strerror(errno));
    if (t->server.pq.PQputCopyEnd(t->server.connection, NULL) != 1)
        return karma_i_postgres_fail(&t->server, t->target->uri, err);
    PGresult *result = t->server.pq.PQgetResult(t->server.connection);
    karma_status st = t->server.pq.PQresultStatus(result) == PGRES_COMMAND_OK
                          ? KARMA_OK
                          : karma_i_postgres_fail(&t->server, t->target->uri, err);
    t->server.pq.PQclear(result);
    while ((result = t->server.pq.PQgetResult(t->server.connection))) t->server.pq.PQclear(result);
    return st;
}

static karma_status fill_table(postgres_table *t, FILE *text, karma_error *err) {
    KARMA_TRY(add(t, "COPY ", err));
    KARMA_TRY(add_table(t, err));
    KARMA_TRY(add(t, " FROM STDIN WITH (FORMAT csv, HEADER true)", err));
    PGresult *result = t->server.pq.PQexec(t->server.connection, t->sql);
    int copies = t->server.pq.PQresultStatus(result) == PGRES_COPY_IN;
    t->server.pq.PQclear(result);
    return copies ? send_text(t, text, err) : karma_i_postgres_fail(&t->server, t->target->uri, err);
}

/* A failed transaction is rolled back when the connection ends. */
karma_status karma_i_postgres_write_table(const karma_i_table_target *target, FILE *text, karma_error *err) {
    postgres_table t = {.target = target};
    char begin[80];
    (void)snprintf(begin, sizeof begin, "BEGIN; SET LOCAL lock_timeout = %.0f", karma_i_postgres_timeout(target->uri));
    karma_status st = karma_i_spool_survey(&t.columns, target->uri->name, text, err);
    if (st == KARMA_OK) st = karma_i_postgres_connect(&t.server, target->uri, err);
    if (st == KARMA_OK) st = karma_i_postgres_run(&t.server, target->uri, begin, err);
    if (st == KARMA_OK) st = create_table(&t, err);
    if (st == KARMA_OK) st = fill_table(&t, text, err);
    if (st == KARMA_OK) st = karma_i_postgres_run(&t.server, target->uri, "COMMIT", err);
    karma_i_postgres_close(&t.server);
    karma_i_spool_clear(&t.columns);
    karma_i_free(t.sql);
    return st;
}
