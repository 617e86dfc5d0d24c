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

/* Whether a path is the URI of a database. A file of such a name is ./sqlite:NAME. */
KARMA_API int karma_is_database(const char *path);
/* The path as it may be shown, in one line: a URI without its password. `text` has `size` bytes; returns `text`. */
KARMA_API char *karma_source_text(char *text, size_t size, const char *path);
/* True and the name of the file, with escapes resolved, if the path is the URI of a database in a file. */
KARMA_API int karma_database_file(char *text, size_t size, const char *path);

#ifdef __cplusplus
}
#endif
#endif
