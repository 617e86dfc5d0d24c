/* Functions shared by reading and writing tables of PostgreSQL servers. */
#ifndef KARMA_I_POSTGRES_SERVER_H
#define KARMA_I_POSTGRES_SERVER_H

#include "io/database_uri.h"
#include "io/libpq.h"

/* A connection. All zero: not connected. */
typedef struct karma_i_postgres {
    karma_i_libpq pq;
    PGconn *connection;
} karma_i_postgres;

/* Connects; close *out also if this fails. */
karma_status karma_i_postgres_connect(karma_i_postgres *out, const karma_i_uri *uri, karma_error *err);
void karma_i_postgres_close(karma_i_postgres *server);
/* "NAME: the server's last message", without a password. */
karma_status karma_i_postgres_fail(const karma_i_postgres *server, const karma_i_uri *uri, karma_error *err);
/* Milliseconds for lock_timeout, in which 0 would mean no limit. */
double karma_i_postgres_timeout(const karma_i_uri *uri);
/* Runs statements that return no rows. */
karma_status karma_i_postgres_run(const karma_i_postgres *server, const karma_i_uri *uri, const char *sql,
                                  karma_error *err);
/* The table or view that the URI names, quoted and with its schema, to be freed; NULL: not found. *kind: as
 * in pg_class. */
karma_status karma_i_postgres_find(char **out, char *kind, const karma_i_postgres *server, const karma_i_uri *uri,
                                   karma_error *err);

karma_status karma_i_postgres_open_rows(karma_i_supply *out, const karma_i_rows_request *request, karma_error *err);
karma_status karma_i_postgres_check_target(const karma_i_table_target *target, karma_error *err);
karma_status karma_i_postgres_identify(karma_i_identity *out, const karma_i_uri *uri, karma_error *err);
karma_status karma_i_postgres_write_table(const karma_i_table_target *target, FILE *text, karma_error *err);

#endif
