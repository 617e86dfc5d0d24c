/* A text whose beginning is read twice, even from a pipe: once for its first rows, from which the kinds of
 * columns are learned, and once as part of the whole. Waiting for more of it can be interrupted. */
#ifndef KARMA_I_FIRST_ROWS_H
#define KARMA_I_FIRST_ROWS_H

#include "io/feed.h"

typedef struct karma_i_first_rows karma_i_first_rows;

/* Opens the file, or standard input for "-", and waits for its first n_records records (lines, but for line feeds
 * in quoted fields), or its end; 0: for none. `delimiter` as in karma_read_options. `path` must outlive it. Fails
 * with KARMA_ERR_CANCELLED if the progress hook asks to stop while it waits, and as karma_i_feed_open does. */
karma_status karma_i_first_rows_open(karma_i_first_rows **out, const char *path, size_t n_records, int delimiter,
                                     const karma_hooks *hooks, karma_error *err);
void karma_i_first_rows_free(karma_i_first_rows *first);
/* Its name in messages. */
const char *karma_i_first_rows_name(const karma_i_first_rows *first);

/* The text of the first records alone, any number of times; and the whole text, once. The reader closes
 * neither. */
karma_i_supply karma_i_first_rows_part(karma_i_first_rows *first);
karma_i_supply karma_i_first_rows_and_rest(karma_i_first_rows *first);

#endif
