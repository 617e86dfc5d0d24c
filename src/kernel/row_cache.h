/* Kernel rows k(x_i, ·) against all rows, computed in blocks when they are first needed and kept within a limit of
 * memory: the least recently used are dropped first. */
#ifndef KARMA_I_ROW_CACHE_H
#define KARMA_I_ROW_CACHE_H

#include "kernel/kernel.h"

typedef struct karma_i_row_cache karma_i_row_cache;

/* Room for `max_rows` kernel rows (at most all), and never less than `min_rows`. `rows` and `kernel` are borrowed. */
karma_status karma_i_row_cache_new(karma_i_row_cache **out, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                   size_t min_rows, size_t max_rows, int threads, karma_error *err);
void karma_i_row_cache_free(karma_i_row_cache *cache);

/* out[i] = the kernel row of index[i], i < count <= min_rows; no index twice. Rows that are missing are computed in
 * one go. The pointers are valid until the next call. */
karma_status karma_i_row_cache_get(const float **out, karma_i_row_cache *cache, const size_t *index, size_t count,
                                   karma_error *err);
/* Kernel values computed so far. */
double karma_i_row_cache_evaluations(const karma_i_row_cache *cache);

#endif
