/* For bench/processes: what a process of an MPI program does outside and inside MPI, by the profiling interface of MPI
 * (loaded with LD_PRELOAD). A line per process goes to the file MPI_TIME_OUT: processor time outside and inside MPI in
 * seconds, messages, bytes sent, peak memory in KiB, seconds of all this that the system took, and seconds by the clock
 * from MPI_Init to MPI_Finalize. Waiting for others is inside. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double inside, began, began_by_clock;
static size_t n_calls, n_bytes;

static double seconds(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double processor_time(void) {
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

static double enter(int bytes) {
    n_calls++;
    n_bytes += (size_t)bytes;
    return processor_time();
}

static int leave(double start, int result) {
    inside += processor_time() - start;
    return result;
}

int MPI_Send(const void *buffer, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    double start = enter(n);
    return leave(start, PMPI_Send(buffer, n, type, to, tag, comm));
}

int MPI_Recv(void *buffer, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status) {
    double start = enter(0);
    return leave(start, PMPI_Recv(buffer, n, type, from, tag, comm, status));
}

int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    double start = enter(n);
    return leave(start, PMPI_Bcast(buffer, n, type, root, comm));
}

int MPI_Allgatherv(const void *own, int n, MPI_Datatype type, void *all, const int *counts, const int *starts,
                   MPI_Datatype all_type, MPI_Comm comm) {
    double start = enter(n);
    return leave(start, PMPI_Allgatherv(own, n, type, all, counts, starts, all_type, comm));
}

int MPI_Allreduce(const void *own, void *result, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    double start = enter(n * (int)sizeof(double));
    return leave(start, PMPI_Allreduce(own, result, n, type, op, comm));
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int result = PMPI_Init_thread(argc, argv, required, provided);
    began = processor_time();
    began_by_clock = seconds(CLOCK_MONOTONIC);
    return result;
}

int MPI_Finalize(void) {
    int rank = 0;
    struct rusage usage;
    const char *path = getenv("MPI_TIME_OUT");
    FILE *file = path ? fopen(path, "a") : NULL;
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (file && getrusage(RUSAGE_SELF, &usage) == 0)
        (void)fprintf(file, "%d %.4f %.4f %zu %zu %ld %.4f %.4f\n", rank, processor_time() - began - inside, inside,
                      n_calls, n_bytes, usage.ru_maxrss,
                      (double)usage.ru_stime.tv_sec + 1e-6 * (double)usage.ru_stime.tv_usec,
                      seconds(CLOCK_MONOTONIC) - began_by_clock);
    if (file) (void)fclose(file);
    return PMPI_Finalize();
}
