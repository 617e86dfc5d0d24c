/* Rows of a PostgreSQL server as delimited text, which COPY writes row by row. Everything is read in one
 * read-only transaction, so that rows and columns come from one state of the database. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/postgres_server.h"
#include "io/source.h"

typedef struct postgres_rows {
    karma_i_rows_request request;
    karma_i_postgres server;
    char *line; /* owned by libpq: line[given..length) is not handed out yet */
    size_t given, length;
    int ended;
} postgres_rows;

/* Ends COPY; errors in the middle are reported here. */
static karma_status end_copy(postgres_rows *r, karma_error *err) {
    PGresult *result = r->server.pq.PQgetResult(r->server.connection);
    karma_status st = r->server.pq.PQresultStatus(result) == PGRES_COMMAND_OK
                          ? KARMA_OK
                          : karma_i_postgres_fail(&r->server, r->request.uri, err);
    r->server.pq.PQclear(result);
    r->ended = 1;
    karma_i_postgres_close(&r->server);
    return st;
}

static karma_status ask_to_stop(const postgres_rows *r, karma_error *err) {
    if (!karma_i_progress(r->request.hooks, "reading the database", 0, 0)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_CANCELLED, "%s: interrupted", r->request.uri->name);
}

/* Reads more of the answer, or waits a moment: a query may take hours before its first row. */
static karma_status wait_for_server(postgres_rows *r, karma_error *err) {
    struct pollfd socket = {.fd = r->server.pq.PQsocket(r->server.connection), .events = POLLIN};
    if (poll(&socket, 1, 100) > 0 && r->server.pq.PQconsumeInput(r->server.connection) == 0)
        return karma_i_postgres_fail(&r->server, r->request.uri, err);
    return ask_to_stop(r, err);
}

static karma_status next_line(postgres_rows *r, karma_error *err) {
    r->server.pq.PQfreemem(r->line);
    r->line = NULL;
    r->given = r->length = 0;
    KARMA_TRY(ask_to_stop(r, err));
    int n;
    while ((n = r->server.pq.PQgetCopyData(r->server.connection, &r->line, 1)) == 0) KARMA_TRY(wait_for_server(r, err));
    if (n == -2) return karma_i_postgres_fail(&r->server, r->request.uri, err);
    if (n == -1) return end_copy(r, err);
    r->length = (size_t)n;
    return KARMA_OK;
}

static karma_status read_rows(void *self, size_t *got, char *to, size_t room, karma_error *err) {
    postgres_rows *r = self;
    *got = 0;
    while (*got < room) {
        if (r->given == r->length && !r->ended) KARMA_TRY(next_line(r, err));
        if (r->given == r->length) break;
        size_t left = r->length - r->given, n = left < room - *got ? left : room - *got;
        memcpy(to + *got, r->line + r->given, n);
        *got += n;
        r->given += n;
    }
    return KARMA_OK;
}

/* A server would continue a query until it notices that the client is gone. A cancel request stops it at
 * once. */
static void stop_query(const karma_i_postgres *server) {
    char message[256];
    int is_active = server->pq.PQtransactionStatus(server->connection) == PQTRANS_ACTIVE;
    PGcancel *cancel = is_active ? server->pq.PQgetCancel(server->connection) : NULL;
    if (cancel) (void)server->pq.PQcancel(cancel, message, sizeof message);
    server->pq.PQfreeCancel(cancel);
}

static void close_rows(void *self) {
    postgres_rows *r = self;
    if (!r) return;
    if (r->line) r->server.pq.PQfreemem(r->line);
    if (r->server.connection && !r->ended) stop_query(&r->server);
    karma_i_postgres_close(&r->server);
    karma_i_free(r);
}

/* --- opening ------------------------------------------------------------------------------------------- */

/* The order of rows must not depend on what other sessions read, nor on workers. */
static karma_status begin(postgres_rows *r, karma_error *err) {
    char sql[400];
    (void)snprintf(sql, sizeof sql,
                   "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL synchronize_seqscans = off; "
                   "SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL datestyle = 'ISO'; "
                   "SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL lock_timeout = %.0f",
                   karma_i_postgres_timeout(r->request.uri));
    return karma_i_postgres_run(&r->server, r->request.uri, sql, err);
}

/* For a name that is unknown or not given: the only table, to be freed, or an error that lists the tables. */
static karma_status find_only_table(char **out, postgres_rows *r, karma_error *err) {
    static const char sql[] =
        "SELECT c.relname, c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "
        "c.relkind IN ('r', 'v', 'm', 'p', 'f') AND pg_table_is_visible(c.oid) AND n.nspname NOT IN ('pg_catalog', "
        "'information_schema') ORDER BY 1";
    PGresult *result = r->server.pq.PQexec(r->server.connection, sql);
    const karma_i_uri *uri = r->request.uri;
    int n = r->server.pq.PQntuples(result);
    if (r->server.pq.PQresultStatus(result) != PGRES_TUPLES_OK) {
        r->server.pq.PQclear(result);
        return karma_i_postgres_fail(&r->server, uri, err);
    }
    char **names = karma_i_zalloc((size_t)n + 1, sizeof *names);
    karma_status st = names ? KARMA_OK : karma_i_fail_memory(err);
    for (int i = 0; names && i < n; i++) names[i] = r->server.pq.PQgetvalue(result, i, 0);
    if (st == KARMA_OK && (uri->table || n != 1)) st = karma_i_fail_no_table(uri, names, (size_t)n, err);
    if (st == KARMA_OK && !(*out = karma_i_strdup(r->server.pq.PQgetvalue(result, 0, 1))))
        st = karma_i_fail_memory(err);
    karma_i_free(names);
    r->server.pq.PQclear(result);
    return st;
}

/* The statement whose rows are read, to be freed. */
static karma_status find_statement(char **out, postgres_rows *r, karma_error *err) {
    const char *query = r->request.options->query;
    char *table = NULL, kind;
    if (query) {
        size_t length = strlen(query);
        while (length && strchr(" \t\r\n;", query[length - 1])) length--;
        return (*out = karma_i_strndup(query, length)) ? KARMA_OK : karma_i_fail_memory(err);
    }
    if (r->request.uri->table) KARMA_TRY(karma_i_postgres_find(&table, &kind, &r->server, r->request.uri, err));
    if (!table) KARMA_TRY(find_only_table(&table, r, err));
    if (!table) return karma_i_fail_memory(err); /* cannot happen; for static analysis */
    size_t size = strlen(table) + 32;
    *out = karma_i_alloc(size, 1);
    if (*out) (void)snprintf(*out, size, "SELECT * FROM %s", table);
    karma_i_free(table);
    return *out ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status check_columns(const postgres_rows *r, const PGresult *described, karma_error *err) {
    enum { BYTEA = 17, JSON = 114, JSONB = 3802 }; /* type numbers, which never change */
    const char *uri = r->request.uri->name;
    if (r->server.pq.PQnparams(described))
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' has parameters, which have no values", uri);
    if (r->server.pq.PQnfields(described) == 0)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: option 'query' must be a SELECT", uri);
    for (int j = 0; j < r->server.pq.PQnfields(described); j++) {
        char name[KARMA_I_EXCERPT_SIZE];
        (void)karma_i_excerpt(name, r->server.pq.PQfname(described, j), strlen(r->server.pq.PQfname(described, j)));
        for (int k = 0; k < j; k++)
            if (strcmp(r->server.pq.PQfname(described, k), r->server.pq.PQfname(described, j)) == 0)
                return karma_i_fail(err, KARMA_ERR_DATA,
                                    "%s: columns %d and %d are both called '%s': rename one with AS in option 'query'",
                                    uri, k + 1, j + 1, name);
        Oid type = r->server.pq.PQftype(described, j);
        if (type == BYTEA || type == JSON || type == JSONB)
            karma_i_notice(r->request.hooks,
                           "%s: column '%s' is %s, which is read as texts; option 'ignore' leaves it out", uri, name,
                           type == BYTEA ? "bytea" : "JSON");
    }
    return KARMA_OK;
}

/* The server must accept the query as one complete statement before it becomes part of another. */
static karma_status check_statement(postgres_rows *r, const char *statement, karma_error *err) {
    PGresult *result = r->server.pq.PQprepare(r->server.connection, "", statement, 0, NULL);
    karma_status st = r->server.pq.PQresultStatus(result) == PGRES_COMMAND_OK
                          ? KARMA_OK
                          : karma_i_postgres_fail(&r->server, r->request.uri, err);
    r->server.pq.PQclear(result);
    if (st != KARMA_OK) return st;
    result = r->server.pq.PQdescribePrepared(r->server.connection, "");
    st = r->server.pq.PQresultStatus(result) == PGRES_COMMAND_OK
             ? check_columns(r, result, err)
             : karma_i_postgres_fail(&r->server, r->request.uri, err);
    r->server.pq.PQclear(result);
    return st;
}

static karma_status start_copy(postgres_rows *r, const char *statement, karma_error *err) {
    size_t size = strlen(statement) + 80;
    char *sql = karma_i_alloc(size, 1);
    if (!sql) return karma_i_fail_memory(err);
    (void)snprintf(sql, size, "COPY (\n%s\n) TO STDOUT WITH (FORMAT csv, HEADER true)", statement);
    int is_sent = r->server.pq.PQsendQuery(r->server.connection, sql);
    karma_i_free(sql);
    if (!is_sent) return karma_i_postgres_fail(&r->server, r->request.uri, err);
    while (r->server.pq.PQisBusy(r->server.connection))
        KARMA_TRY(wait_for_server(r, err)); /* the server answers with the first rows */
    PGresult *result = r->server.pq.PQgetResult(r->server.connection);
    karma_status st = r->server.pq.PQresultStatus(result) == PGRES_COPY_OUT
                          ? KARMA_OK
                          : karma_i_postgres_fail(&r->server, r->request.uri, err);
    r->server.pq.PQclear(result);
    return st;
}

static karma_status open_server(postgres_rows *r, karma_error *err) {
    char *statement = NULL;
    KARMA_TRY(karma_i_postgres_connect(&r->server, r->request.uri, err));
    KARMA_TRY(begin(r, err));
    KARMA_TRY(find_statement(&statement, r, err));
    karma_status st = check_statement(r, statement, err);
    if (st == KARMA_OK) st = start_copy(r, statement, err);
    karma_i_free(statement);
    return st;
}

karma_status karma_i_postgres_open_rows(karma_i_supply *out, const karma_i_rows_request *request, karma_error *err) {
    postgres_rows *r = karma_i_zalloc(1, sizeof *r);
    if (!r) return karma_i_fail_memory(err);
    r->request = *request;
    karma_status st = open_server(r, err);
    if (st == KARMA_OK)
        *out = (karma_i_supply){.read = read_rows, .close = close_rows, .self = r};
    else
        close_rows(r);
    return st;
}
