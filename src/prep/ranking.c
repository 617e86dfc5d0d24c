#include "prep/ranking.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

void karma_i_ranking_clear(karma_i_ranking *ranking) {
    karma_i_free(ranking->value);
    karma_i_free(ranking->at);
    karma_i_free(ranking->beyond);
    *ranking = (karma_i_ranking){0};
}

karma_status karma_i_ranking_new(karma_i_ranking *out, size_t n, karma_error *err) {
    karma_i_ranking r = {n, karma_i_alloc(n, sizeof *r.value), karma_i_alloc(n, 1), karma_i_alloc(n, 1)};
    if (!r.value || !r.at || !r.beyond) {
        karma_i_ranking_clear(&r);
        return karma_i_fail_memory(err);
    }
    *out = r;
    return KARMA_OK;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint8_t byte_of(double share) {
    return (uint8_t)(1.0 + floor(254.0 * share + 0.5));
}

karma_status karma_i_ranking_learn(karma_i_ranking *out, double *cells, size_t n, karma_error *err) {
    size_t distinct = 0;
    qsort(cells, n, sizeof *cells, by_value);
    for (size_t i = 0; i < n; i++) distinct += i == 0 || cells[i] != cells[i - 1];
    karma_i_ranking r;
    KARMA_TRY(karma_i_ranking_new(&r, distinct, err));
    size_t k = 0;
    for (size_t first = 0; first < n; k++) {
        size_t end = first;
        while (end < n && cells[end] == cells[first]) end++;
        r.value[k] = cells[first];
        r.at[k] = byte_of(0.5 * (double)(first + end) / (double)n);
        r.beyond[k] = end < n ? byte_of((double)end / (double)n) : r.at[k];
        first = end;
    }
    *out = r;
    return KARMA_OK;
}

void karma_i_ranking_scale(karma_i_ranking *r, double factor) {
    for (size_t k = 0; k < r->n; k++) {
        r->at[k] = byte_of(factor * (double)(r->at[k] - 1) / 254.0);
        r->beyond[k] = byte_of(factor * (double)(r->beyond[k] - 1) / 254.0);
    }
}

uint8_t karma_i_ranking_of(const karma_i_ranking *r, double x) {
    size_t low = 0, high = r->n; /* the first value above x */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->value[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) return r->at[0];
    return r->value[low - 1] == x ? r->at[low - 1] : r->beyond[low - 1];
}

/* From one byte to the next, |u - v| grows by a step where v is at or below u, and falls by one where it is above. */
void karma_i_ranking_terms(float terms[KARMA_I_RANK_BYTES], const karma_i_ranking *r, const double *cells, size_t n) {
    double share[KARMA_I_RANK_BYTES] = {0.0}, A[KARMA_I_RANK_BYTES] = {0.0}, below = 0.0, mean = 0.0;
    for (size_t i = 0; i < n; i++) share[karma_i_ranking_of(r, cells[i]) - 1] += 1.0 / (double)n;
    for (size_t u = 0; u < KARMA_I_RANK_BYTES; u++) A[0] += share[u] * (double)u / 254.0;
    for (size_t u = 0; u + 1 < KARMA_I_RANK_BYTES; u++) {
        below += share[u];
        A[u + 1] = A[u] + (2.0 * below - 1.0) / 254.0;
    }
    for (size_t u = 0; u < KARMA_I_RANK_BYTES; u++) mean += share[u] * A[u];
    for (size_t u = 0; u < KARMA_I_RANK_BYTES; u++) terms[u] = (float)(3.0 * (A[u] - 0.5 * mean));
}
