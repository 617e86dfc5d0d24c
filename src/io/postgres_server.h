/* What reading and writing tables of PostgreSQL servers share. */
#ifndef KARMA_I_POSTGRES_SERVER_H
#define KARMA_I_POSTGRES_SERVER_H

#include <libpq-fe.h>

#include "io/database_uri.h"

/* Connects; *out is to be finished also if this fails. */
karma_status karma_i_postgres_connect(PGconn **out, const karma_i_uri *uri, karma_error *err);
/* "NAME: what the server said", by its last error, without a password. */
karma_status karma_i_postgres_fail(PGconn *server, const karma_i_uri *uri, karma_error *err);
/* For lock_timeout, where 0 would mean without end: milliseconds. */
double karma_i_postgres_timeout(const karma_i_uri *uri);
/* Runs statements that give no rows. */
karma_status karma_i_postgres_run(PGconn *server, const karma_i_uri *uri, const char *sql, karma_error *err);
/* The table or view that the URI names, quoted and in its schema, to be freed; NULL: there is none. *kind: that of
 * pg_class. */
karma_status karma_i_postgres_find(char **out, char *kind, PGconn *server, const karma_i_uri *uri, karma_error *err);

karma_status karma_i_postgres_open_rows(karma_i_supply *out, const karma_i_rows_request *request, karma_error *err);
karma_status karma_i_postgres_check_target(const karma_i_table_target *target, karma_error *err);
karma_status karma_i_postgres_identify(karma_i_identity *out, const karma_i_uri *uri, karma_error *err);
karma_status karma_i_postgres_write_table(const karma_i_table_target *target, FILE *text, karma_error *err);

#endif
