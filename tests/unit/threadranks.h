/* Processes that are threads, with messages through shared memory. */
#ifndef THREADRANKS_H
#define THREADRANKS_H

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "karma/ranks.h"

enum { MOST_RANKS = 7 };

typedef struct world {
    size_t size;
    pthread_barrier_t barrier;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const void *sent[MOST_RANKS][MOST_RANKS]; /* [from][to] */
    size_t sent_bytes[MOST_RANKS][MOST_RANKS];
    const void *shown[MOST_RANKS];
    double values[MOST_RANKS];
} world;

typedef struct member {
    world *w;
    karma_ranks ranks;
    int is_over;
    void (*work)(struct member *m);
    void *payload;
    karma_status status;
    karma_error err;
} member;

static void send_bytes(void *payload, size_t to, const void *bytes, size_t n) {
    member *m = payload;
    size_t from = m->ranks.rank;
    pthread_mutex_lock(&m->w->mutex);
    m->w->sent[from][to] = bytes;
    m->w->sent_bytes[from][to] = n;
    pthread_cond_broadcast(&m->w->changed);
    while (m->w->sent[from][to]) pthread_cond_wait(&m->w->changed, &m->w->mutex); /* the minimum that MPI guarantees */
    pthread_mutex_unlock(&m->w->mutex);
}

static void receive_bytes(void *payload, size_t from, void *bytes, size_t n) {
    member *m = payload;
    size_t to = m->ranks.rank;
    pthread_mutex_lock(&m->w->mutex);
    while (!m->w->sent[from][to]) pthread_cond_wait(&m->w->changed, &m->w->mutex);
    if (m->w->sent_bytes[from][to] != n) abort();
    if (n) memcpy(bytes, m->w->sent[from][to], n);
    m->w->sent[from][to] = NULL;
    pthread_cond_broadcast(&m->w->changed);
    pthread_mutex_unlock(&m->w->mutex);
}

static void wait_for_all(member *m) {
    (void)pthread_barrier_wait(&m->w->barrier);
}

static void broadcast_bytes(void *payload, size_t from, void *bytes, size_t n) {
    member *m = payload;
    m->w->shown[m->ranks.rank] = bytes;
    wait_for_all(m);
    if (n && m->ranks.rank != from) memcpy(bytes, m->w->shown[from], n);
    wait_for_all(m);
}

static void gather_bytes(void *payload, void *all, const size_t *sizes, const void *own) {
    member *m = payload;
    char *to = all;
    m->w->shown[m->ranks.rank] = own;
    wait_for_all(m);
    for (size_t k = 0; k < m->w->size; to += sizes[k++])
        if (sizes[k]) memcpy(to, m->w->shown[k], sizes[k]);
    wait_for_all(m);
}

static double largest(void *payload, double value) {
    member *m = payload;
    m->w->values[m->ranks.rank] = value;
    wait_for_all(m);
    for (size_t k = 0; k < m->w->size; k++) value = fmax(value, m->w->values[k]);
    wait_for_all(m);
    return value;
}

static void add_words(void *payload, uint64_t *words, size_t n) {
    member *m = payload;
    uint64_t *sums = calloc(n + 1, sizeof *sums);
    if (!sums) abort();
    m->w->shown[m->ranks.rank] = words;
    wait_for_all(m);
    for (size_t k = 0; k < m->w->size; k++)
        for (size_t i = 0; i < n; i++) sums[i] += ((const uint64_t *)m->w->shown[k])[i];
    wait_for_all(m);
    if (n) memcpy(words, sums, n * sizeof *sums);
    free(sums);
}

static void *live(void *payload) {
    member *m = payload;
    m->work(m);
    return NULL;
}

/* Runs `work` in so many processes, and waits for them. */
static inline void run_together(member *members, size_t size, void (*work)(member *m), void *payload) {
    world *w = calloc(1, sizeof *w);
    pthread_t threads[MOST_RANKS];
    if (!w) abort();
    w->size = size;
    if (pthread_barrier_init(&w->barrier, NULL, (unsigned)size) != 0) abort();
    if (pthread_mutex_init(&w->mutex, NULL) != 0 || pthread_cond_init(&w->changed, NULL) != 0) abort();
    for (size_t k = 0; k < size; k++) {
        members[k] = (member){.w = w, .work = work, .payload = payload};
        members[k].ranks = (karma_ranks){k,          size,          &members[k],     &members[k].is_over,
                                         send_bytes, receive_bytes, broadcast_bytes, gather_bytes,
                                         largest,    add_words};
        if (pthread_create(&threads[k], NULL, live, &members[k]) != 0) abort();
    }
    for (size_t k = 0; k < size; k++)
        if (pthread_join(threads[k], NULL) != 0) abort();
    pthread_barrier_destroy(&w->barrier);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->changed);
    free(w);
}

#endif
