/* The whole text of a file in memory, and quotations from it for messages. */
#ifndef KARMA_I_SOURCE_H
#define KARMA_I_SOURCE_H

#include <stddef.h>

#include "io/feed.h"

/* Whether hints may name SQLite. */
#ifdef KARMA_HAVE_SQLITE
enum { KARMA_I_READS_SQLITE = 1 };
#else
enum { KARMA_I_READS_SQLITE = 0 };
#endif

typedef struct karma_i_source {
    const char *name; /* what messages call it: the path (borrowed) or "standard input" */
    char *text;       /* owned; text[length] is '\0' */
    size_t length;
} karma_i_source;

/* Reads the file, or standard input for "-", and unpacks it if it starts like gzip. An empty one is an error.
 * `path` must outlive the source. */
karma_status karma_i_source_load(karma_i_source *out, const char *path, karma_error *err);
/* The same for the rest of a feed. */
karma_status karma_i_source_load_feed(karma_i_source *out, karma_i_feed *feed, karma_error *err);
void karma_i_source_clear(karma_i_source *source);

/* Fails with the line if the text is not UTF-8 or has NUL bytes; removes the byte order mark at the front. */
karma_status karma_i_source_check_text(karma_i_source *source, karma_error *err);

/* The same in two steps: the length of a byte order mark at the start of a text, which must not be empty or
 * UTF-16; and a check of whole lines from `first_line` on. */
karma_status karma_i_check_start(size_t *skipped, const char *name, const char *text, size_t length, karma_error *err);
karma_status karma_i_check_text(const char *name, const char *text, size_t length, size_t first_line, karma_error *err);

/* A piece of text for one line of a message: control characters become '?', and a long text is cut after a
 * whole character and ends in "...". Returns `out`. */
enum { KARMA_I_EXCERPT_SIZE = 64 };
char *karma_i_excerpt(char out[KARMA_I_EXCERPT_SIZE], const char *text, size_t length);

#endif
