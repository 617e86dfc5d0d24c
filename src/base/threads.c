#include "base/threads.h"

#include <omp.h>
#include <stdatomic.h>
#include <unistd.h>

/* The first process that used several threads; 0: none so far. OpenMP keeps its threads for the next loop.
 * They do not exist in a child made by fork, whose first loop would wait for them forever, so the child uses
 * one thread. */
static _Atomic long first_process;

int karma_i_threads(int64_t wanted) {
    int threads = wanted > 0 ? (int)wanted : omp_get_num_procs();
    if (threads <= 1) return threads;
    long mine = (long)getpid(), first = 0;
    if (atomic_compare_exchange_strong(&first_process, &first, mine) || first == mine) return threads;
    return 1;
}
