/* Functions shared by reading and writing SQLite files. */
#ifndef KARMA_I_SQLITE_FILE_H
#define KARMA_I_SQLITE_FILE_H

#include <sqlite3.h>

#include "io/database_uri.h"

/* Opens the file and, if `writes`, creates one that does not exist. Waits for locks as long as the URI says.
 * Close *out also if this fails. */
karma_status karma_i_sqlite_open(sqlite3 **out, const karma_i_uri *uri, int writes, karma_error *err);
/* "NAME: what SQLite said", by its last error. */
karma_status karma_i_sqlite_fail(sqlite3 *db, const karma_i_uri *uri, karma_error *err);
/* The user's tables and views, sorted by name; free each text and the array. */
karma_status karma_i_sqlite_tables(char ***out, size_t *n, sqlite3 *db, const karma_i_uri *uri, karma_error *err);

karma_status karma_i_sqlite_open_rows(karma_i_supply *out, const karma_i_rows_request *request, karma_error *err);
karma_status karma_i_sqlite_check_target(const karma_i_table_target *target, karma_error *err);
karma_status karma_i_sqlite_identify(karma_i_identity *out, const karma_i_uri *uri, karma_error *err);
karma_status karma_i_sqlite_write_table(const karma_i_table_target *target, FILE *text, karma_error *err);

#endif
