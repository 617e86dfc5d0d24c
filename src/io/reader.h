/* From a file to a table: the choice of the reader, and the request that every reader gets. */
#ifndef KARMA_I_READER_H
#define KARMA_I_READER_H

#include "io/source.h"
#include "table/table.h"

/* What a model knows about the columns it was learned from. Columns of these names take these kinds unless
 * the options say otherwise; names that are not in the file are ignored. */
typedef struct karma_i_expectation {
    const karma_i_column *columns;
    size_t n_columns;
    const char *const *targets; /* the label columns if the options name none; only those in the file */
    size_t n_targets;
    const karma_read_options *reading; /* how the training file was read: defaults for the options. NULL: none */
} karma_i_expectation;

typedef struct karma_i_read_request {
    const karma_i_source *source;           /* checked */
    const karma_read_options *options;      /* checked */
    const karma_i_expectation *expectation; /* NULL: nothing is expected */
    const karma_hooks *hooks;
    int likely_delimiter;      /* suggested by the file's name; 0: none */
    karma_read_options *found; /* receives what was inferred: the decimal mark, the order of dates */
    karma_i_feed *feed;        /* the origin of the text; NULL: it is all in `source`. CSV only */
    int is_cut;                /* `source` holds its first lines only */
    int is_database;           /* messages count rows from 1; the header is written by this library */
    const karma_ranks *ranks;  /* each process reads a part; NULL: all is read. CSV only */
    size_t lines_above;        /* lines of the file between the header and the rows that `source` lacks */
    const char *folder;        /* the rows are kept in files of this directory; NULL: in memory. CSV only */
    int names_elsewhere;       /* --numeric, --category and --ignore may also name what another file has */
} karma_i_read_request;

/* A format. Each is a record KARMA_I_READER(name) = {...} in its own file; reader.c lists the names. */
typedef struct karma_i_reader {
    karma_format format;
    const char *endings[4]; /* of file names: lower case, also followed by ".gz"; NULL ends the list */
    int likely_delimiter;   /* for karma_i_read_request */
    /* Whether a text starts like this format, if its file name does not show the format. NULL: it cannot be recognised.
     */
    int (*recognises)(const karma_i_source *start);
    karma_status (*read)(karma_table **out, const karma_i_read_request *request, karma_error *err);
} karma_i_reader;
#define KARMA_I_READER(name) const karma_i_reader karma_i_reader_##name

/* karma_table_read with an expectation, which may be NULL. `options` NULL: the defaults. */
karma_status karma_i_table_read(karma_table **out, const char *path, const karma_read_options *options,
                                const karma_i_expectation *expectation, const karma_hooks *hooks, karma_error *err);

/* The same for a supply, which is read to its end and has nothing to close; without an expectation. */
karma_status karma_i_table_read_supply(karma_table **out, const char *name, karma_i_supply supply,
                                       const karma_read_options *options, const karma_hooks *hooks, karma_error *err);

/* Reads table by table, for data of any length: CSV comes in parts, other formats as one table. The
 * expectation, everything it points to and the path must outlive the stream. *out is NULL after the last
 * table. With ranks, each process reads a part of the file. */
typedef struct karma_i_table_stream karma_i_table_stream;
karma_status karma_i_table_stream_open(karma_i_table_stream **out, const char *path, const karma_read_options *options,
                                       const karma_i_expectation *expectation, const karma_ranks *ranks,
                                       const karma_hooks *hooks, karma_error *err);
/* The same for a supply, whose text has a header unless it is like a file's; the text available at one time
 * is one table. The supply has nothing to close. `name` must outlive the stream. */
karma_status karma_i_table_stream_open_supply(karma_i_table_stream **out, const char *name, karma_i_supply supply,
                                              const karma_read_options *options, const karma_i_expectation *expectation,
                                              const karma_hooks *hooks, karma_error *err);
karma_status karma_i_table_stream_next(karma_table **out, karma_i_table_stream *stream, karma_error *err);
void karma_i_table_stream_free(karma_i_table_stream *stream);

#endif
