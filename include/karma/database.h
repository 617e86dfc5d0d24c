/* Tables that live in databases. Wherever the library reads a table from a file, the file may be a URI instead:
 *
 *     sqlite:FILE?table=NAME              postgres://USER@HOST:PORT/DATABASE?table=NAME
 *
 * or, with karma_read_options.query, the same without a table. docs/sql.md has examples. */
#ifndef KARMA_DATABASE_H
#define KARMA_DATABASE_H

#include "karma/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a path is the URI of a database. To open a file of such a name, write ./sqlite:NAME. */
KARMA_API int karma_is_database(const char *path);
/* The path for display, in one line: a URI without its password. `text` has `size` bytes; returns `text`. */
KARMA_API char *karma_source_text(char *text, size_t size, const char *path);
/* True and the name of the file, with escapes resolved, if the path is the URI of a database in a file. */
KARMA_API int karma_database_file(char *text, size_t size, const char *path);
/* Whether two paths are URIs of the same table, which the second must name and which must exist; the first may leave it
 * out if its database has one table only. Asks the databases; 0 if they do not answer. */
KARMA_API int karma_is_same_table(const char *first, const char *second);

/* Like karma_output_open, but the path may be the URI of a table. CSV with a header that is written to the stream then
 * becomes this table when the output is committed, in one transaction: all rows or none. A column is INTEGER, REAL or
 * TEXT, the narrowest that keeps all its cells; empty cells are NULL. A SQLite file is created if it does not exist.
 * Errors: those of karma_output_open, KARMA_ERR_DATA if the table exists and `replace` is 0, KARMA_ERR_IO if the
 * database refuses; karma_output_commit has the same errors. Cost: that of the database; the rows are kept in a
 * temporary file until the commit. Threads: safe. */
KARMA_API karma_status karma_output_open_table(karma_output **out, const char *path, int replace, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
