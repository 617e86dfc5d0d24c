#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

static int product_overflows(size_t count, size_t size) { return size != 0 && count > PTRDIFF_MAX / size; }

void *karma_i_alloc(size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    size_t bytes = count * size;
    return malloc(bytes ? bytes : 1);
}

void *karma_i_zalloc(size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

void *karma_i_alloc_aligned(size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    size_t bytes = count * size;
    if (bytes > PTRDIFF_MAX - CACHE_LINE) return NULL;
    bytes = (bytes + CACHE_LINE) / CACHE_LINE * CACHE_LINE; /* aligned_alloc wants a multiple */
    return aligned_alloc(CACHE_LINE, bytes);
}

void *karma_i_realloc(void *old, size_t count, size_t size) {
    if (product_overflows(count, size)) return NULL;
    size_t bytes = count * size;
    return realloc(old, bytes ? bytes : 1);
}

void karma_i_free(void *memory) { free(memory); }

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

char *karma_i_strdup(const char *text) { return karma_i_strndup(text, strlen(text)); }
