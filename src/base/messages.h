/* Messages between processes. Each of these functions is called by all processes, and begins by comparing their
 * states: if a process has failed in the meantime (karma_ranks_agree, which its outermost function calls), the
 * function fails everywhere with its message. No process waits for one that has ended. */
#ifndef KARMA_I_MESSAGES_H
#define KARMA_I_MESSAGES_H

#include "karma/ranks.h"

/* The communicator of a single process. */
extern const karma_ranks karma_i_one_rank;

/* Fails if another process has failed. */
karma_status karma_i_ranks_meet(const karma_ranks *ranks, karma_error *err);
/* *wanted becomes 1 on all processes if it is on any. */
karma_status karma_i_ranks_any(int *wanted, const karma_ranks *ranks, karma_error *err);
/* values[0..n) become those of rank 0. */
karma_status karma_i_ranks_broadcast(void *bytes, size_t n, const karma_ranks *ranks, karma_error *err);

/* The data of all processes, one after the other: `bytes` in all, those of a rank from start[rank] to start[rank +
 * 1]. */
typedef struct karma_i_gathered {
    char *bytes;
    size_t *start; /* size + 1 */
} karma_i_gathered;
karma_status karma_i_ranks_gather(karma_i_gathered *out, const void *own, size_t n, const karma_ranks *ranks,
                                  karma_error *err);
void karma_i_gathered_clear(karma_i_gathered *gathered);

/* The counts are replaced by their sums over all processes. */
karma_status karma_i_ranks_add(size_t *counts, size_t n, const karma_ranks *ranks, karma_error *err);
/* Each of the n values is replaced by the largest over all processes. */
karma_status karma_i_ranks_largest(double *values, size_t n, const karma_ranks *ranks, karma_error *err);

#endif
