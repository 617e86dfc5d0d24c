/* Files as memory: the system reads their pages when they are used and may drop them again, so that an array can be
 * larger than the machine's memory. Pages of what is reserved are written to a file first. */
#ifndef KARMA_I_MAPPED_H
#define KARMA_I_MAPPED_H

#include "karma/base.h"

/* All zero: none. */
typedef struct karma_i_mapped {
    void *memory; /* NULL: nothing is open */
    size_t size;
    int file; /* of what is reserved */
} karma_i_mapped;

/* A whole file, to be read only. An empty one is an error, and so is what is not a file. */
karma_status karma_i_mapped_open(karma_i_mapped *out, const char *path, karma_error *err);
/* karma_i_reserve in a file of the directory `folder` that has no name and ends with the process. `array` is the
 * address of a pointer to elements of `size` bytes, which are those of `mapped`. */
karma_status karma_i_mapped_reserve(karma_i_mapped *mapped, const char *folder, void *array, size_t *capacity,
                                    size_t needed, size_t size, karma_error *err);
void karma_i_mapped_clear(karma_i_mapped *mapped);

#endif
