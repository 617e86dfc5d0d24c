/* Several processes that learn from one table, each from a part of its rows (docs/scale.md). The library does not know
 * how they exchange messages: a caller fills in karma_ranks, as the program karma-mpi does with MPI. */
#ifndef KARMA_RANKS_H
#define KARMA_RANKS_H

#include "karma/base.h"
#include "karma/data.h"
#include "karma/learn.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One of `size` processes, numbered from 0. All of them call the same functions of the library with the same arguments
 * in the same order, each with its own rank; only rank 0 needs hooks. The callbacks may rely on that: every
 * message sent to a process is received by it, and broadcast, gather, largest and add are called by all. A
 * callback that fails must end the process. They are called from one thread at a time. */
typedef struct karma_ranks {
    size_t rank, size;
    void *payload;
    int *is_over; /* 0 at first; the library sets it when all processes know of the failure of one */
    /* n bytes to and from another process */
    void (*send)(void *payload, size_t to, const void *bytes, size_t n);
    void (*receive)(void *payload, size_t from, void *bytes, size_t n);
    /* the bytes of one process become those of all */
    void (*broadcast)(void *payload, size_t from, void *bytes, size_t n);
    /* `all` becomes the bytes of all processes in their order; sizes[rank] of each */
    void (*gather)(void *payload, void *all, const size_t *sizes, const void *own);
    /* the largest of the values of all processes */
    double (*largest)(void *payload, double value);
    /* each of the n words becomes its sum over all processes, modulo 2^64 */
    void (*add)(void *payload, uint64_t *words, size_t n);
} karma_ranks;

/* Reads a CSV file of which every process keeps a part: bytes of the file that start and end between records, so that
 * all processes read at once. Kinds of columns and levels of categories are those of the whole file. Then rows move
 * between neighbours until each process has whole granules (docs/scale.md). Ids are not kept. karma_fit learns from
 * such a table with the solver nystrom and all kernels but forest, and karma_search without a time limit; the model is
 * the same, to the last bit, for any number of processes, and every process has it. `ranks` must outlive the table.
 * Errors: those of karma_table_read, KARMA_ERR_OPTION for formats and files that cannot be read in parts. An error of
 * one process is returned by all. Cost: that of karma_table_read for a part of the rows. Threads: one at a time per
 * communicator. */
KARMA_API karma_status karma_table_read_split(karma_table **out, const char *path, const karma_read_options *options,
                                              const karma_ranks *ranks, const karma_hooks *hooks, karma_error *err);

/* As karma_row_stream_open, but the stream has only this process's part of the rows, maybe none. The parts in the order
 * of the ranks are all rows. Errors: those of karma_row_stream_open, KARMA_ERR_OPTION for formats and files that cannot
 * be read in parts. An error while it is opened is that of all processes; one of karma_row_stream_next is this
 * process's own, to be shared by karma_ranks_agree. Cost: that of reading a part of the file. Threads: one at a time
 * per communicator. */
KARMA_API karma_status karma_row_stream_open_split(karma_row_stream **out, const karma_model *model, const char *path,
                                                   const karma_read_options *options, const karma_ranks *ranks,
                                                   const karma_hooks *hooks, karma_error *err);

/* Called by every process with the status of its own work. All of them return KARMA_OK, or the status and the message
 * of the first process that failed; no messages can be exchanged after a failure. Errors: those of another process.
 * Cost: one message. Threads: one at a time per communicator. */
KARMA_API karma_status karma_ranks_agree(const karma_ranks *ranks, karma_status status, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
