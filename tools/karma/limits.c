/* Limits of the system that would end a run in the middle, found before it begins. */
#define _DEFAULT_SOURCE /* _SC_NPROCESSORS_ONLN */
#include <pthread.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
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

/* Bytes of address space that the system allows; INFINITY: no limit. */
static double address_space(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? (double)limit.rlim_cur : INFINITY;
}

/* Bytes of it that are taken. */
static double taken_space(void) {
    char line[256] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && !fgets(line, sizeof line, file)) line[0] = '\0';
    if (file) (void)fclose(file);
    double pages = strtod(line, NULL);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

/* Less than this is not worth a line on a terminal, or anywhere. */
static const double WORTH_SHOWING = 2e8, WORTH_SAYING = 1e9;
/* From this ratio on two estimates are shown. */
static const double CLEARLY_MORE = 1.5;
/* A thread that calls OpenBLAS takes a buffer, and every thread a stack. */
static const double BLAS_BUFFER = 134217728.0, STACK = 8388608.0;

/* A search of a large table may choose trees, which need no kernel values, or kernels, for which an estimate is a
 * bound: then the user sees both. */
static void note_memory(const tool *t, const karma_table *table, double needed, double copies) {
    karma_fit_options without = t->fit; /* borrows its texts */
    without.memory = 0.001;
    double few = karma_estimate_memory(table, &without, &t->search) + copies;
    double least = t->options.verbose ? 0.0 : isatty(STDERR_FILENO) ? WORTH_SHOWING : WORTH_SAYING;
    if (needed < least || t->options.quiet) return;
    if (t->search.effort != KARMA_EFFORT_OFF && needed > CLEARLY_MORE * few)
        fprintf(stderr,
                "karma: note: this may take about %.2g GB of memory, and up to %.2g GB if the model has kernels of all "
                "rows; --memory limits that share\n",
                few / 1e9, needed / 1e9);
    else
        fprintf(stderr,
                "karma: note: this may take up to %.2g GB of memory; --memory limits the share of kernel values\n",
                needed / 1e9);
}

int check_memory(tool *t, const karma_table *table, double copies, double filled_copies) {
    enum { CELL = 12, ROW = 16 }; /* bytes of an observed cell, and of a row's place and label */
    double rows = (double)karma_table_n_rows(table), observed = (double)karma_table_n_observed(table);
    double filled = CELL * rows * (double)karma_table_n_attributes(table);
    double more = copies * (CELL * observed + ROW * rows) + filled_copies * filled;
    double needed = karma_estimate_memory(table, &t->fit, &t->search) + more;
    double limit = address_space();
    t->estimated_bytes = needed;
    note_memory(t, table, needed, more);
    if (limit == INFINITY) return EXIT_DONE;
    int64_t threads = t->fit.threads > 0 ? t->fit.threads : sysconf(_SC_NPROCESSORS_ONLN);
    double room = limit - taken_space() - (double)threads * (BLAS_BUFFER + STACK);
    if (needed <= room) return EXIT_DONE;
    karma_error err = {KARMA_ERR_MEMORY, ""};
    (void)snprintf(err.message, sizeof err.message,
                   "this run may need %.2f GB, and the limit on address space (ulimit -v) leaves %.2f GB for it; a "
                   "smaller --memory, fewer --threads or fewer rows need less",
                   needed / 1e9, fmax(room, 0.0) / 1e9);
    return fail(t->arguments[0], &err);
}

double peak_bytes(void) {
    struct rusage usage; /* Linux counts in KiB */
    return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss : 0.0;
}

int check_threads(tool *t) {
    int64_t processors = sysconf(_SC_NPROCESSORS_ONLN), wanted = t->fit.threads;
    if (address_space() != INFINITY) (void)mallopt(M_ARENA_MAX, 1); /* each thread's own would reserve 64 MB */
    /* a limit on processes may be that of a container, which can only be found out by trying */
    int64_t possible = threads_at_once(wanted > 0 ? wanted : processors);
    if (possible < wanted)
        return fail_usage(t, "--threads %lld: the system allows only %lld thread%s here (ulimit -u, ulimit -v)",
                          (long long)wanted, (long long)possible, possible == 1 ? "" : "s");
    if (wanted == 0 && possible < processors)
        t->read.threads = t->fit.threads = possible; /* the result does not depend on their number */
    return EXIT_DONE;
}
