/* Tables of databases: their names, and the kinds of databases this library was built for.
 *
 *     sqlite:FILE?table=T&timeout=SECONDS        postgres://USER@HOST:PORT/DATABASE?table=T
 *
 * Characters with a special meaning are percent-encoded in the parts of such a URI (%3F for ?, %26 for &,
 * %25). */
#ifndef KARMA_I_DATABASE_URI_H
#define KARMA_I_DATABASE_URI_H

#include "io/feed.h"
#include "karma/options.h"

/* A parsed URI. All texts are its own. */
typedef struct karma_i_uri {
    const struct karma_i_driver *driver;
    char *name;     /* the URI as shown in messages, without a password */
    char *place;    /* decoded: the file; of a server, the URI without the parameters of this library */
    char *table;    /* decoded; NULL: none is named */
    double timeout; /* seconds to wait for a lock or a server */
} karma_i_uri;

/* What to read: a table or the rows of a query. */
typedef struct karma_i_rows_request {
    const karma_i_uri *uri;
    const karma_read_options *options; /* query, ignore */
    const karma_hooks *hooks;
} karma_i_rows_request;

/* What to write: delimited text with a header becomes a table. */
typedef struct karma_i_table_target {
    const karma_i_uri *uri;
    int replace; /* a table of this name may be replaced */
} karma_i_table_target;

/* Texts that are equal only for the same database and the same table. */
typedef struct karma_i_identity {
    char database[200], table[200];
} karma_i_identity;

/* One kind of database. */
typedef struct karma_i_driver {
    const char *schemes[3]; /* "sqlite"; NULL ends the list */
    int is_file;            /* the place is a file */
    const char *product;    /* "SQLite" */
    /* NULL, all of them: not built in. */
    karma_status (*open_rows)(karma_i_supply *out, const karma_i_rows_request *request, karma_error *err);
    /* Checks before the work what write_table would refuse after it. */
    karma_status (*check_target)(const karma_i_table_target *target, karma_error *err);
    /* All rows in one transaction, or nothing. */
    karma_status (*write_table)(const karma_i_table_target *target, FILE *text, karma_error *err);
    /* Which database and table the URI names, whatever its spelling; no table: an empty text. */
    karma_status (*identify)(karma_i_identity *out, const karma_i_uri *uri, karma_error *err);
} karma_i_driver;

extern const karma_i_driver karma_i_sqlite_driver, karma_i_postgres_driver;

/* The driver of the URI's scheme; NULL if it is the name of a file. */
const karma_i_driver *karma_i_find_driver(const char *path);
/* Refuses a URI of an unknown kind in place of a file name. */
karma_status karma_i_check_file_name(const char *path, karma_error *err);
/* Clear it even if this fails. */
karma_status karma_i_uri_parse(karma_i_uri *out, const char *path, karma_error *err);
void karma_i_uri_clear(karma_i_uri *uri);

/* The rows that the URI and options->query name, as delimited text with a header. *uri holds the feed's name;
 * clear it after the feed is closed, also if this fails. */
karma_status karma_i_database_feed(karma_i_feed **out, karma_i_uri *uri, const char *path,
                                   const karma_read_options *options, const karma_hooks *hooks, karma_error *err);

/* "NAME: no table 'T'; did you mean 'U'?", or with the list of all `n` tables. */
karma_status karma_i_fail_no_table(const karma_i_uri *uri, char *const *tables, size_t n, karma_error *err);
/* "this build of karma has no support for it" */
karma_status karma_i_fail_not_built(const karma_i_uri *uri, karma_error *err);
/* Refuses a query that is blank. */
karma_status karma_i_check_query(const karma_i_uri *uri, const char *query, karma_error *err);

#endif
