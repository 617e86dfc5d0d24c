#include "failing_heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <execinfo.h>
#include <stdlib.h>

#include <jansson.h>

/* --- the allocator ------------------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

enum { MOST_LIVE = 1 << 16, MOST_REQUESTS = 1 << 14, MOST_CALLS = 32, NEVER = -1 };

static struct {
    long fail_at; /* the request that fails, counted from 0; NEVER: none */
    int for_good; /* and all requests after it */
    long requests;
    int is_paused;                  /* requests are neither counted nor refused until the operation ends */
    int is_recorded;                /* the chain of calls of each request is recorded in `chains` */
    uint64_t chains[MOST_REQUESTS]; /* a hash of the return addresses */
    size_t n_live;
    void *live[MOST_LIVE];
} heap = {.fail_at = NEVER};

static uint64_t hash_calls(void) {
    void *calls[MOST_CALLS];
    int n = backtrace(calls, MOST_CALLS);
    uint64_t hash = 0xcbf29ce484222325u;
    for (int k = 0; k < n; k++) hash = (hash ^ (uint64_t)(uintptr_t)calls[k]) * 0x100000001b3u;
    return hash;
}

static int refuses(void) {
    if (heap.is_paused) return 0;
    long n = heap.requests++;
    if (heap.is_recorded && n < MOST_REQUESTS) heap.chains[n] = hash_calls();
    return heap.fail_at != NEVER && (n == heap.fail_at || (heap.for_good && n > heap.fail_at));
}

static void *register_live(void *memory) {
    if (memory && heap.n_live == MOST_LIVE) abort();
    if (memory) heap.live[heap.n_live++] = memory;
    return memory;
}

static void forget(void *memory) {
    for (size_t i = heap.n_live; i > 0; i--)
        if (heap.live[i - 1] == memory) {
            heap.live[i - 1] = heap.live[--heap.n_live];
            return;
        } /* a block that is not found was allocated inside the C library */
}

void *__wrap_malloc(size_t size) {
    return refuses() ? NULL : register_live(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size) {
    return refuses() ? NULL : register_live(__real_calloc(count, size));
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return refuses() ? NULL : register_live(__real_aligned_alloc(alignment, size));
}
void *__wrap_realloc(void *old, size_t size) {
    if (refuses()) return NULL;
    if (old) forget(old);
    return register_live(__real_realloc(old, size));
}
void __wrap_free(void *memory) {
    if (memory) forget(memory);
    __real_free(memory);
}

/* When the buffer for a string cannot grow, jansson 2.14 loses a character and may abort (its issue 362). Requests
 * of that kind, powers of two, are granted. */
static void *allocate_for_jansson(size_t size) {
    int grows = size >= 32 && (size & (size - 1)) == 0;
    return grows ? register_live(__real_malloc(size)) : __wrap_malloc(size);
}

/* --- the harness --------------------------------------------------------------------------------------- */

/* Makes the call without a failure; returns the number of its requests, and leaves their chains of calls in
 * heap.chains. */
static long record(operation run, void *context, const char *what) {
    size_t live = heap.n_live;
    heap.requests = 0;
    heap.fail_at = NEVER; /* a test before this one may have failed */
    heap.is_recorded = 1;
    karma_status st = run(context);
    heap.is_paused = heap.is_recorded = 0;
    if (st != KARMA_OK) fail_msg("%s: fails without cause with status %d", what, (int)st);
    if (heap.n_live != live) fail_msg("%s: %zu remain", what, heap.n_live - live);
    if (heap.requests < 1 || heap.requests > MOST_REQUESTS) fail_msg("%s: %ld allocations", what, heap.requests);
    return heap.requests;
}

/* How often the chain of calls of request n occurred before; 2 stands for two or more. */
static int count_before(long n) {
    int before = 0;
    for (long k = 0; k < n && before < 2; k++) before += heap.chains[k] == heap.chains[n];
    return before;
}

static int comes_again(long n, long n_requests) {
    for (long k = n + 1; k < n_requests; k++)
        if (heap.chains[k] == heap.chains[n]) return 1;
    return 0;
}

static void check_failure(operation run, void *context, const char *what, long n, int for_good) {
    size_t live = heap.n_live;
    heap.requests = 0;
    heap.for_good = for_good;
    heap.fail_at = n;
    karma_status st = run(context);
    heap.is_paused = 0;
    heap.fail_at = NEVER;
    if (heap.requests <= n) fail_msg("%s: allocation %ld is not there again", what, n);
    if (heap.n_live != live) fail_msg("%s: allocation %ld fails, %zu remain", what, n, heap.n_live - live);
    if (for_good && st == KARMA_OK && n == 0) fail_msg("%s: succeeds without memory", what);
}

void check_every_allocation(operation run, void *context, const char *what) {
    long n_requests = record(run, context, what);
    for (long n = 0; n < n_requests; n++) {
        int before = count_before(n);
        if (before < 2 || !comes_again(n, n_requests)) check_failure(run, context, what, n, 0);
        if (before < 1) check_failure(run, context, what, n, 1);
    }
}

karma_status judge(karma_status st, const karma_error *err, const void *untouched) {
    if (st == KARMA_OK) return st;
    if (untouched) fail_msg("failed with '%s' and yet gave something back", err->message);
    if (err->status != st || err->message[0] == '\0') fail_msg("status %d without a message", (int)st);
    if (st != KARMA_ERR_MEMORY && st != KARMA_ERR_IO) fail_msg("status %d: %s", (int)st, err->message);
    return st;
}

void failing_heap_begin(void) {
    (void)hash_calls(); /* backtrace loads a library when it is first called */
    json_set_alloc_funcs(allocate_for_jansson, __wrap_free);
}

void failing_heap_pause(void) {
    heap.fail_at = NEVER;
    heap.is_paused = 1;
}
