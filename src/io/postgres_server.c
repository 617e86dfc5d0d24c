#include "io/postgres_server.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

const karma_i_driver karma_i_postgres_driver = {{"postgres", "postgresql"},
                                                0,
                                                "PostgreSQL",
                                                karma_i_postgres_open_rows,
                                                karma_i_postgres_check_target,
                                                karma_i_postgres_write_table,
                                                karma_i_postgres_identify};

/* Replaces every occurrence of the word by dots. */
static void hide(char *text, const char *word) {
    size_t length = word ? strlen(word) : 0;
    for (char *found = text; length && (found = strstr(found, word)); found += length) memset(found, '.', length);
}

double karma_i_postgres_timeout(const karma_i_uri *uri) {
    return uri->timeout < 0.001 ? 1.0 : 1000.0 * uri->timeout;
}

karma_status karma_i_postgres_fail(const karma_i_postgres *server, const karma_i_uri *uri, karma_error *err) {
    char text[1000];
    (void)snprintf(text, sizeof text, "%s",
                   server->connection ? server->pq.PQerrorMessage(server->connection) : "out of memory");
    if (server->connection) hide(text, server->pq.PQpass(server->connection));
    text[strcspn(text, "\n")] = '\0'; /* the rest is hints and places in statements of this library */
    text[300] = '\0';                 /* shortened after hiding: a cut password would not be found */
    const char *start = strncmp(text, "ERROR:  ", 8) == 0 ? text + 8 : text;
    return karma_i_fail(err, KARMA_ERR_IO, "%s: %s", uri->name, *start ? start : "the server does not answer");
}

karma_status karma_i_postgres_connect(karma_i_postgres *out, const karma_i_uri *uri, karma_error *err) {
    char wait[32];
    *out = (karma_i_postgres){0};
    KARMA_TRY(karma_i_libpq_load(&out->pq, uri->name, err));
    /* libpq's messages about a URI quote it, with the password */
    PQconninfoOption *parsed = out->pq.PQconninfoParse(uri->place, NULL);
    if (!parsed)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: not a valid URI: postgres://USER@HOST:PORT/DATABASE?table=NAME",
                            uri->name);
    out->pq.PQconninfoFree(parsed);
    (void)snprintf(wait, sizeof wait, "%.0f", uri->timeout < 2.0 ? 2.0 : uri->timeout);
    const char *const keys[] = {"dbname", "connect_timeout", "client_encoding", "fallback_application_name", NULL};
    const char *const values[] = {uri->place, wait, "UTF8", "karma", NULL};
    out->connection = out->pq.PQconnectdbParams(keys, values, 1);
    return out->pq.PQstatus(out->connection) == CONNECTION_OK ? KARMA_OK : karma_i_postgres_fail(out, uri, err);
}

void karma_i_postgres_close(karma_i_postgres *server) {
    if (server->connection) server->pq.PQfinish(server->connection);
    server->connection = NULL;
}

karma_status karma_i_postgres_run(const karma_i_postgres *server, const karma_i_uri *uri, const char *sql,
                                  karma_error *err) {
    PGresult *result = server->pq.PQexec(server->connection, sql);
    karma_status st =
        server->pq.PQresultStatus(result) == PGRES_COMMAND_OK ? KARMA_OK : karma_i_postgres_fail(server, uri, err);
    server->pq.PQclear(result);
    return st;
}

/* Every part is quoted, so that no name can contain SQL. */
karma_status karma_i_postgres_find(char **out, char *kind, const karma_i_postgres *server, const karma_i_uri *uri,
                                   karma_error *err) {
    static const char sql[] =
        "SELECT c.oid::regclass::text, c.relkind FROM pg_class c WHERE c.oid = coalesce(to_regclass(quote_ident($1)), "
        "to_regclass(quote_ident(split_part($1, '.', 1)) || '.' || quote_ident(substr($1, strpos($1, '.') + 1))), "
        "to_regclass(quote_ident(lower($1))))";
    const char *const values[] = {uri->table};
    PGresult *result = server->pq.PQexecParams(server->connection, sql, 1, NULL, values, NULL, NULL, 0);
    karma_status st =
        server->pq.PQresultStatus(result) == PGRES_TUPLES_OK ? KARMA_OK : karma_i_postgres_fail(server, uri, err);
    *out = NULL;
    if (st == KARMA_OK && server->pq.PQntuples(result)) {
        *kind = server->pq.PQgetvalue(result, 0, 1)[0];
        *out = karma_i_strdup(server->pq.PQgetvalue(result, 0, 0));
        if (!*out) st = karma_i_fail_memory(err);
    }
    server->pq.PQclear(result);
    return st;
}

karma_status karma_i_postgres_identify(karma_i_identity *out, const karma_i_uri *uri, karma_error *err) {
    karma_i_postgres server;
    char *table = NULL, kind;
    *out = (karma_i_identity){0};
    karma_status st = karma_i_postgres_connect(&server, uri, err);
    if (st == KARMA_OK && uri->table) st = karma_i_postgres_find(&table, &kind, &server, uri, err);
    if (st == KARMA_OK) {
        /* a server can have many names, but its start time identifies it */
        const char *const values[] = {table};
        PGresult *result =
            server.pq.PQexecParams(server.connection,
                                   "SELECT pg_postmaster_start_time()::text || ' ' || current_database(), "
                                   "coalesce($1::regclass::oid::text, '')",
                                   1, NULL, values, NULL, NULL, 0);
        if (server.pq.PQresultStatus(result) == PGRES_TUPLES_OK) {
            (void)snprintf(out->database, sizeof out->database, "%s", server.pq.PQgetvalue(result, 0, 0));
            (void)snprintf(out->table, sizeof out->table, "%s", server.pq.PQgetvalue(result, 0, 1));
        } else {
            st = karma_i_postgres_fail(&server, uri, err);
        }
        server.pq.PQclear(result);
    }
    karma_i_free(table);
    karma_i_postgres_close(&server);
    return st;
}
