/* The program karma-mpi: the commands of karma by several processes that MPI has started. This file is all that knows
 * MPI. Messages longer than an int can count are sent in pieces. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* A power of two, so that all processes cut in the same way. */
#define MOST_BYTES ((size_t)1 << 30)

static int piece(size_t left) {
    return (int)(left < MOST_BYTES ? left : MOST_BYTES);
}

/* MPI ends all processes where one of its functions fails, which is its default. */
static void send_bytes(void *payload, size_t to, const void *bytes, size_t n) {
    (void)payload;
    for (size_t at = 0; at < n; at += MOST_BYTES)
        (void)MPI_Send((const char *)bytes + at, piece(n - at), MPI_BYTE, (int)to, 0, MPI_COMM_WORLD);
}

static void receive_bytes(void *payload, size_t from, void *bytes, size_t n) {
    (void)payload;
    for (size_t at = 0; at < n; at += MOST_BYTES)
        (void)MPI_Recv((char *)bytes + at, piece(n - at), MPI_BYTE, (int)from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void broadcast_bytes(void *payload, size_t from, void *bytes, size_t n) {
    (void)payload;
    for (size_t at = 0; at < n; at += MOST_BYTES)
        (void)MPI_Bcast((char *)bytes + at, piece(n - at), MPI_BYTE, (int)from, MPI_COMM_WORLD);
}

/* In one step if an int can count all bytes. */
static void gather_bytes(void *payload, void *all, const size_t *sizes, const void *own) {
    const karma_ranks *r = payload;
    size_t total = 0;
    int *counts = malloc(2 * r->size * sizeof *counts), *starts = counts ? counts + r->size : NULL;
    for (size_t k = 0; k < r->size; k++) total += sizes[k];
    int is_short = total < INT_MAX && counts; /* a process without memory for this would do otherwise than the others */
    if (!counts) (void)MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
    size_t start = 0;
    for (size_t k = 0; k < r->size; start += sizes[k++]) {
        if (is_short) {
            counts[k] = (int)sizes[k];
            starts[k] = (int)start;
        } else {
            if (k == r->rank && sizes[k]) memcpy((char *)all + start, own, sizes[k]);
            broadcast_bytes(payload, k, (char *)all + start, sizes[k]);
        }
    }
    if (is_short) (void)MPI_Allgatherv(own, counts[r->rank], MPI_BYTE, all, counts, starts, MPI_BYTE, MPI_COMM_WORLD);
    free(counts);
}

static double largest(void *payload, double value) {
    double result = value;
    (void)payload;
    (void)MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return result;
}

static void add_words(void *payload, uint64_t *words, size_t n) {
    (void)payload;
    for (size_t at = 0; at < n; at += MOST_BYTES)
        (void)MPI_Allreduce(MPI_IN_PLACE, words + at, piece(n - at), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* Messages and results come from rank 0 alone: what another process has to say reaches it through karma_ranks_agree. */
static void be_silent(void) {
    (void)freopen("/dev/null", "w", stdout);
    (void)freopen("/dev/null", "w", stderr);
}

int main(int argc, char **argv) {
    int rank = 0, size = 1, is_over = 0, level = 0, code, worst;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return EXIT_FAILED;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    karma_ranks ranks = {.rank = (size_t)rank,
                         .size = (size_t)size,
                         .is_over = &is_over,
                         .send = send_bytes,
                         .receive = receive_bytes,
                         .broadcast = broadcast_bytes,
                         .gather = gather_bytes,
                         .largest = largest,
                         .add = add_words};
    ranks.payload = &ranks;
    if (rank > 0) be_silent();
    code = worst = run_tool(argc, argv, &ranks);
    (void)MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    (void)MPI_Finalize();
    return worst;
}
