/* A table as it was read, in a file beside its input, so that it need not be read from the text again. The file is
 * mapped and never loaded: the table may be larger than the memory. */
#ifndef KARMA_I_CACHE_H
#define KARMA_I_CACHE_H

#include "table/table.h"

/* The cache of one input. It holds as long as the input has the same size, time and checksum and is read by the same
 * version of the library with the same options. */
typedef struct karma_i_cache karma_i_cache;

/* Looks at the input, which is read once for its checksum. `hooks` receive the notices. */
karma_status karma_i_cache_open(karma_i_cache **out, const char *input, const karma_read_options *options,
                                const karma_hooks *hooks, karma_error *err);
void karma_i_cache_free(karma_i_cache *cache);
/* The directory of the input, where the rows are kept while it is read. */
const char *karma_i_cache_folder(const karma_i_cache *cache);
/* Those that the input is to be read with: notices are passed on and kept, and loading repeats them. */
const karma_hooks *karma_i_cache_hooks(karma_i_cache *cache);
/* *out is NULL if there is no file, if it is of another state of the input, or if it cannot be used; all but the first
 * with a notice. What is in the file is checked. */
karma_status karma_i_cache_load(karma_table **out, karma_i_cache *cache, karma_error *err);
/* Writes the file, whole or not at all; *out is the same table in it. If that fails for other reasons than memory there
 * is a notice, and *out is NULL. */
karma_status karma_i_cache_save(karma_table **out, karma_i_cache *cache, const karma_table *table, karma_error *err);

#endif
