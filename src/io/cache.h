/* A parsed table in a file beside its input, so that the text need not be parsed again. The file is mapped,
 * not loaded: the table may be larger than memory. */
#ifndef KARMA_I_CACHE_H
#define KARMA_I_CACHE_H

#include "table/table.h"

/* The cache of one input. It is valid while the input has the same size, time and checksum and is read by the
 * same version of the library with the same options. */
typedef struct karma_i_cache karma_i_cache;

/* Examines the input and reads it once for its checksum. `hooks` receive the notices. */
karma_status karma_i_cache_open(karma_i_cache **out, const char *input, const karma_read_options *options,
                                const karma_hooks *hooks, karma_error *err);
void karma_i_cache_free(karma_i_cache *cache);
/* The directory of the input, where the rows are kept while it is read. */
const char *karma_i_cache_folder(const karma_i_cache *cache);
/* Hooks for reading the input: they pass notices on and record them, so that loading can repeat them. */
const karma_hooks *karma_i_cache_hooks(karma_i_cache *cache);
/* *out is NULL if there is no file, or, with a notice, if the file belongs to another state of the input or
 * cannot be used. The content of the file is checked. */
karma_status karma_i_cache_load(karma_table **out, karma_i_cache *cache, karma_error *err);
/* Writes the file completely or not at all; *out is the same table in it. If that fails for a reason other
 * than memory, gives a notice and *out is NULL. */
karma_status karma_i_cache_save(karma_table **out, karma_i_cache *cache, const karma_table *table, karma_error *err);

#endif
