/* Checked allocation: the only place in the library that calls malloc and related functions. */
#ifndef KARMA_I_MEM_H
#define KARMA_I_MEM_H

#include <stddef.h>

/* count * size bytes; NULL when the product overflows or memory runs out. A count of 0 gives a valid pointer. */
void *karma_i_alloc(size_t count, size_t size);
/* The same, zeroed. */
void *karma_i_zalloc(size_t count, size_t size);
/* The same, aligned to a cache line (64 bytes) for the arithmetic; not zeroed. */
void *karma_i_alloc_aligned(size_t count, size_t size);
/* Resizes; on failure returns NULL and leaves `old` as it was. */
void *karma_i_realloc(void *old, size_t count, size_t size);
void karma_i_free(void *memory);
/* For matrices: asks the system for large pages; memory is provided only for pages that are used. Freed by
 * karma_i_free. Not zeroed. */
void *karma_i_alloc_large(size_t count, size_t size);

/* Bytes that a process may have: the machine's memory, or less if a container (control groups) or a limit of the
 * process (ulimit -v, -d) allows less; PTRDIFF_MAX if the system does not report it. */
size_t karma_i_memory_limit(void);

/* `array` is the address of a pointer to elements of `size` bytes. Makes room for at least `needed` of them, growing
 * geometrically. 0 on failure, and then nothing has changed. */
int karma_i_reserve(void *array, size_t *capacity, size_t needed, size_t size);

char *karma_i_strndup(const char *text, size_t length);
char *karma_i_strdup(const char *text);

#endif
