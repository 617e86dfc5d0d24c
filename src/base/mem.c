#define _DEFAULT_SOURCE /* madvise */
#include "base/mem.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CACHE_LINE = 64, LARGE_PAGE = 2 << 20 };

static int product_overflows(size_t count, size_t size) {
    return size != 0 && count > PTRDIFF_MAX / size;
}

void *karma_i_alloc(size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    size_t bytes = count * size;
    return malloc(bytes ? bytes : 1);
}

void *karma_i_zalloc(size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

static void *alloc_multiple(size_t count, size_t size, size_t alignment) {
    if (product_overflows(count, size)) return NULL;
    size_t bytes = count * size;
    if (bytes > PTRDIFF_MAX - alignment) return NULL;
    bytes = (bytes + alignment) / alignment * alignment; /* aligned_alloc wants a multiple */
    return aligned_alloc(alignment, bytes);
}

void *karma_i_alloc_aligned(size_t count, size_t size) {
    return alloc_multiple(count, size, CACHE_LINE);
}

void *karma_i_alloc_large(size_t count, size_t size) {
    if (!product_overflows(count, size) && count * size < LARGE_PAGE) return karma_i_alloc_aligned(count, size);
    void *memory = alloc_multiple(count, size, LARGE_PAGE);
#ifdef MADV_HUGEPAGE
    if (memory) (void)madvise(memory, count * size, MADV_HUGEPAGE); /* only a hint; without it pages are small */
#endif
    return memory;
}

static size_t physical_memory(void) {
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0 && (size_t)pages <= PTRDIFF_MAX / (size_t)page) return (size_t)pages * (size_t)page;
#endif
    return PTRDIFF_MAX;
}

/* The number in a system file; the largest number if there is no such file or no limit in it. */
static size_t limit_in(const char *path) {
    char text[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) (void)close(file);
    size_t value = 0, i = 0;
    while ((ssize_t)i < length && text[i] >= '0' && text[i] <= '9' && value < PTRDIFF_MAX / 20)
        value = value * 10 + (size_t)(text[i++] - '0');
    return i > 0 && value > 0 ? value : PTRDIFF_MAX;
}

size_t karma_i_memory_limit(void) {
    size_t least = physical_memory();
    /* the limit of a container, in both versions of control groups */
    const char *const files[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        size_t own = limit_in(files[i]);
        if (own < least) least = own;
    }
    const int kinds[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct rlimit limit;
        if (getrlimit(kinds[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < least)
            least = (size_t)limit.rlim_cur;
    }
    return least;
}

void *karma_i_realloc(void *old, size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    size_t bytes = count * size;
    return realloc(old, bytes ? bytes : 1);
}

void karma_i_free(void *memory) {
    free(memory);
}

int karma_i_reserve(void *array, size_t *capacity, size_t needed, size_t size) {
    if (needed <= *capacity) return 1;
    size_t larger = *capacity + *capacity / 2 + 16;
    if (larger < needed) larger = needed;
    void *old, *grown;
    memcpy(&old, array, sizeof old); /* the pointer's own type is not known here */
    grown = karma_i_realloc(old, larger, size);
    if (!grown) return 0;
    memcpy(array, &grown, sizeof grown);
    *capacity = larger;
    return 1;
}

char *karma_i_strndup(const char *text, size_t length) {
    char *copy = karma_i_alloc(length + 1, 1);
    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *karma_i_strdup(const char *text) {
    return karma_i_strndup(text, strlen(text));
}
