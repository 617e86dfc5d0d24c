/* The text of a file as it arrives: a moving window, unpacked if the file is gzip. */
#ifndef KARMA_I_FEED_H
#define KARMA_I_FEED_H

#include <stddef.h>

#include "karma/base.h"

typedef struct karma_i_feed karma_i_feed;

/* The source of a feed, if it is not a file. */
typedef struct karma_i_supply {
    /* Writes up to `room` (> 0) bytes to `to`; *got is how many, 0 at the end. */
    karma_status (*read)(void *self, size_t *got, char *to, size_t room, karma_error *err);
    void (*close)(void *self);     /* may be NULL */
    int (*would_wait)(void *self); /* whether reading would wait now; NULL: never */
    void *self;
    int is_file; /* a text like those of files; otherwise written by this library, as for databases */
} karma_i_supply;

/* Opens the file, or standard input for "-". `path` must outlive the feed. */
karma_status karma_i_feed_open(karma_i_feed **out, const char *path, karma_error *err);
/* The same for a supply; the feed closes it, also if this fails. `name` must outlive the feed. */
karma_status karma_i_feed_open_supply(karma_i_feed **out, const char *name, karma_i_supply supply, karma_error *err);
void karma_i_feed_close(karma_i_feed *feed);
/* Its name in messages: the path or "standard input". */
const char *karma_i_feed_name(const karma_i_feed *feed);

/* Keeps all text from now on, so that karma_i_feed_rewind works with input that cannot be read twice. */
void karma_i_feed_hold(karma_i_feed *feed);
/* Whether the file can be read twice without that. */
int karma_i_feed_is_seekable(const karma_i_feed *feed);
karma_status karma_i_feed_rewind(karma_i_feed *feed, karma_error *err);
/* Call at the start of the text: excludes this many bytes from it, even after rewinding. */
void karma_i_feed_skip(karma_i_feed *feed, size_t length);

/* The size of a file that can be read from any place: neither packed nor a pipe. 0: it cannot. */
size_t karma_i_feed_size(const karma_i_feed *feed);
/* Where its text starts: karma_i_feed_skip. */
size_t karma_i_feed_origin(const karma_i_feed *feed);
/* Reads n bytes of such a file from offset `first`, without moving the window. */
karma_status karma_i_feed_peek(char *out, const karma_i_feed *feed, size_t first, size_t n, karma_error *err);
/* Restricts such a file to its bytes from `first` to `end`, none of which may have been read. */
karma_status karma_i_feed_restrict(karma_i_feed *feed, size_t first, size_t end, karma_error *err);

/* The text read but not yet passed, followed by a '\0'. Reading and passing invalidate it. */
char *karma_i_feed_text(const karma_i_feed *feed, size_t *length);
/* No text follows the window. */
int karma_i_feed_at_end(const karma_i_feed *feed);
void karma_i_feed_pass(karma_i_feed *feed, size_t length);
/* Reads on until the window has `length` bytes or the text ends. If `patient` is false it stops early, after
 * at least one more byte, when the writer of a pipe would make it wait. */
karma_status karma_i_feed_fill(karma_i_feed *feed, size_t length, int patient, karma_error *err);

/* Waits until there is something to read or the time in milliseconds is over; false: there is nothing. The
 * end of the file counts as something. */
int karma_i_feed_wait(const karma_i_feed *feed, int milliseconds);

/* Takes the window out of a feed at its end: all text, if it was kept. To be freed. */
char *karma_i_feed_take(karma_i_feed *feed, size_t *length);

#endif
