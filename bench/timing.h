/* Shared by the programs that bench/run calls. */
#ifndef KARMA_BENCH_TIMING_H
#define KARMA_BENCH_TIMING_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "karma/base.h"

/* Seconds since some moment. */
static inline double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of processor time that this process has used, all threads together. */
static inline double processor_now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void must(int ok, const char *what) {
    if (ok) return;
    (void)fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline void check(karma_status status, const karma_error *err) {
    must(status == KARMA_OK, err->message);
}

#endif
