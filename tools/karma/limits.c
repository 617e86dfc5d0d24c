/* Limits of the system that would end a run in the middle, found before it begins. */
#define _DEFAULT_SOURCE /* _SC_NPROCESSORS_ONLN */
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tool.h"

static void *wait_for_gate(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* How many threads there can be at the same time, the calling one included, up to `wanted`. OpenMP would end the
 * process with a message of its own when it cannot start one. */
static int64_t threads_at_once(int64_t wanted) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *others = malloc((size_t)wanted * sizeof *others);
    int64_t n = 0;
    pthread_mutex_lock(&gate);
    while (others && n < wanted - 1 && pthread_create(&others[n], NULL, wait_for_gate, &gate) == 0) n++;
    pthread_mutex_unlock(&gate);
    for (int64_t i = 0; i < n; i++) (void)pthread_join(others[i], NULL);
    pthread_mutex_destroy(&gate);
    free(others);
    return n + 1;
}

int check_threads(tool *t) {
    struct rlimit space;
    int64_t processors = sysconf(_SC_NPROCESSORS_ONLN), wanted = t->fit.threads;
    int is_limited = getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
    if (!is_limited && wanted <= processors) return EXIT_DONE;
    int64_t possible = threads_at_once(wanted > 0 ? wanted : processors);
    if (possible < wanted)
        return fail_usage(t, "--threads %lld: the system allows only %lld threads here (ulimit -u, ulimit -v)",
                          (long long)wanted, (long long)possible);
    if (wanted == 0) t->read.threads = t->fit.threads = possible; /* the result does not depend on their number */
    return EXIT_DONE;
}
