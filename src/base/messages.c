#include "base/messages.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* The states that processes compare: nothing, a request to stop, or a failure. A failure is WISH plus at
 * least 1, and more for lower ranks, so that the failed process of lowest rank is reported. */
#define NOTHING 0.0
#define WISH    1.0

static void take_own(void *payload, void *all, const size_t *sizes, const void *own) {
    (void)payload;
    if (sizes[0]) memcpy(all, own, sizes[0]);
}

static double own_value(void *payload, double value) {
    return (void)payload, value;
}

static void keep_bytes(void *payload, size_t from, void *bytes, size_t n) {
    (void)payload, (void)from, (void)bytes, (void)n;
}

static void keep_words(void *payload, uint64_t *words, size_t n) {
    (void)payload, (void)words, (void)n;
}

/* No process sends a message to itself. */
const karma_ranks karma_i_one_rank = {
    .size = 1, .broadcast = keep_bytes, .gather = take_own, .largest = own_value, .add = keep_words};

static double failure_of(const karma_ranks *r) {
    return WISH + (double)(r->size - r->rank);
}

/* All processes get the message of the process whose state is `shown`. */
static karma_status share_failure(const karma_ranks *r, double shown, const karma_error *own, karma_error *err) {
    size_t from = r->size - (size_t)(shown - WISH);
    karma_error message = own ? *own : (karma_error){0};
    r->broadcast(r->payload, from, &message, sizeof message);
    *r->is_over = 1;
    if (err) *err = message;
    return message.status;
}

static karma_status meet(double *shown, const karma_ranks *r, double own, karma_error *err) {
    *shown = r->largest(r->payload, own);
    return *shown > WISH ? share_failure(r, *shown, NULL, err) : KARMA_OK;
}

karma_status karma_i_ranks_meet(const karma_ranks *r, karma_error *err) {
    double shown;
    return r->size == 1 ? KARMA_OK : meet(&shown, r, NOTHING, err);
}

karma_status karma_i_ranks_any(int *wanted, const karma_ranks *r, karma_error *err) {
    double shown = NOTHING;
    if (r->size == 1) return KARMA_OK;
    KARMA_TRY(meet(&shown, r, *wanted ? WISH : NOTHING, err));
    *wanted = shown > NOTHING;
    return KARMA_OK;
}

karma_status karma_ranks_agree(const karma_ranks *r, karma_status status, karma_error *err) {
    if (r->size == 1 || *r->is_over) return status;
    if (status == KARMA_OK) return karma_i_ranks_meet(r, err);
    karma_error own = err ? *err : (karma_error){.message = "a process has failed"};
    own.status = status;
    return share_failure(r, r->largest(r->payload, failure_of(r)), &own, err);
}

karma_status karma_i_ranks_broadcast(void *bytes, size_t n, const karma_ranks *r, karma_error *err) {
    if (r->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_ranks_meet(r, err));
    r->broadcast(r->payload, 0, bytes, n);
    return KARMA_OK;
}

void karma_i_gathered_clear(karma_i_gathered *g) {
    karma_i_free(g->bytes);
    karma_i_free(g->start);
    *g = (karma_i_gathered){0};
}

/* sizes[rank] of all processes. */
static karma_status gather_sizes(size_t *sizes, size_t own, const karma_ranks *r, karma_error *err) {
    size_t *widths = karma_i_alloc(r->size, sizeof *widths);
    if (!widths) return karma_i_fail_memory(err);
    for (size_t k = 0; k < r->size; k++) widths[k] = sizeof own;
    karma_status st = karma_i_ranks_meet(r, err);
    if (st == KARMA_OK) r->gather(r->payload, sizes, widths, &own);
    karma_i_free(widths);
    return st;
}

karma_status karma_i_ranks_gather(karma_i_gathered *out, const void *own, size_t n, const karma_ranks *r,
                                  karma_error *err) {
    karma_i_gathered g = {0};
    size_t *sizes = karma_i_alloc(r->size, sizeof *sizes), total = 0;
    g.start = karma_i_alloc(r->size + 1, sizeof *g.start);
    karma_status st = sizes && g.start ? gather_sizes(sizes, n, r, err) : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < r->size; k++) {
        g.start[k] = total;
        total += sizes[k];
    }
    if (st == KARMA_OK) {
        g.start[r->size] = total;
        g.bytes = karma_i_alloc(total, 1);
        st = g.bytes ? karma_i_ranks_meet(r, err) : karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) {
        r->gather(r->payload, g.bytes, sizes, own);
        *out = g;
    } else
        karma_i_gathered_clear(&g);
    karma_i_free(sizes);
    return st;
}

karma_status karma_i_ranks_add(size_t *counts, size_t n, const karma_ranks *r, karma_error *err) {
    enum { AT_A_TIME = 1 << 16 };
    if (r->size == 1) return KARMA_OK;
    for (size_t first = 0; first < n; first += AT_A_TIME) {
        karma_i_gathered all;
        size_t count = n - first < AT_A_TIME ? n - first : AT_A_TIME;
        KARMA_TRY(karma_i_ranks_gather(&all, counts + first, count * sizeof *counts, r, err));
        memset(counts + first, 0, count * sizeof *counts);
        for (size_t i = 0; i < r->size * count; i++)
            counts[first + i % count] += ((const size_t *)(void *)all.bytes)[i];
        karma_i_gathered_clear(&all);
    }
    return KARMA_OK;
}

karma_status karma_i_ranks_largest(double *values, size_t n, const karma_ranks *r, karma_error *err) {
    karma_i_gathered all;
    if (r->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_ranks_gather(&all, values, n * sizeof *values, r, err));
    for (size_t i = 0; i < r->size * n; i++) {
        double value = ((const double *)(void *)all.bytes)[i];
        if (value > values[i % n]) values[i % n] = value;
    }
    karma_i_gathered_clear(&all);
    return KARMA_OK;
}
