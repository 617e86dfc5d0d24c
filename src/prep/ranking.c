#include "prep/ranking.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void karma_i_ranking_clear(karma_i_ranking *ranking) {
    karma_i_free(ranking->value);
    karma_i_free(ranking->at);
    karma_i_free(ranking->beyond);
    *ranking = (karma_i_ranking){0};
}

/* Room for n values. */
static karma_status new_ranking(karma_i_ranking *out, size_t n, karma_error *err) {
    karma_i_ranking r = {n, karma_i_alloc(n, sizeof *r.value), karma_i_alloc(n, 1), karma_i_alloc(n, 1)};
    if (!r.value || !r.at || !r.beyond) {
        karma_i_ranking_clear(&r);
        return karma_i_fail_memory(err);
    }
    *out = r;
    return KARMA_OK;
}

/* -0 comes before 0, so that there is one order only. */
static int comes_after(double x, double y) {
    return x > y || (x == y && !signbit(x) && signbit(y));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return comes_after(x, y) - comes_after(y, x);
}

void karma_i_sort_cells(double *cells, size_t n) {
    size_t sorted = 1;
    while (sorted < n && !comes_after(cells[sorted - 1], cells[sorted])) sorted++;
    if (sorted < n) qsort(cells, n, sizeof *cells, by_value);
}

/* Neighbouring sorted parts become one, from[start[k] ...] and the next. */
static void merge(double *to, const double *from, size_t first, size_t middle, size_t end) {
    for (size_t i = first, j = middle, at = first; at < end; at++)
        to[at] = j == end || (i < middle && !comes_after(from[i], from[j])) ? from[i++] : from[j++];
}

/* Merges the sorted parts of all processes in pairs, pairs of pairs, and so on. */
static karma_status merge_parts(karma_i_gathered *all, size_t n_parts, karma_error *err) {
    double *from = (double *)(void *)all->bytes, *to = karma_i_alloc(all->start[n_parts] + 1, 1);
    if (!to) return karma_i_fail_memory(err);
    for (size_t width = 1; width < n_parts; width *= 2) {
        for (size_t k = 0; k < n_parts; k += 2 * width) {
            size_t middle = k + width < n_parts ? k + width : n_parts,
                   end = k + 2 * width < n_parts ? k + 2 * width : n_parts;
            merge(to, from, all->start[k] / sizeof *to, all->start[middle] / sizeof *to, all->start[end] / sizeof *to);
        }
        double *before = from;
        from = to;
        to = before;
    }
    karma_i_free(to);
    all->bytes = (char *)from;
    return KARMA_OK;
}

karma_status karma_i_sort_cells_of_all(karma_i_gathered *out, double *cells, size_t n, const karma_ranks *ranks,
                                       karma_error *err) {
    karma_i_gathered all;
    karma_i_sort_cells(cells, n);
    KARMA_TRY(karma_i_ranks_gather(&all, cells, n * sizeof *cells, ranks, err));
    karma_status st = merge_parts(&all, ranks->size, err);
    if (st == KARMA_OK)
        *out = all;
    else
        karma_i_gathered_clear(&all);
    return st;
}

static uint8_t byte_of(double share) {
    return (uint8_t)(1.0 + floor(254.0 * share + 0.5));
}

karma_status karma_i_ranking_learn(karma_i_ranking *out, double *cells, size_t n, karma_error *err) {
    size_t distinct = 0;
    karma_i_sort_cells(cells, n);
    for (size_t i = 0; i < n; i++) distinct += i == 0 || cells[i] != cells[i - 1];
    karma_i_ranking r;
    KARMA_TRY(new_ranking(&r, distinct, err));
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

/* Quantiles from this many cells are accurate enough. */
enum { MOST_BINNED_CELLS = 200000 };

karma_status karma_i_thin_out(size_t *left, double *cells, size_t n, const karma_ranks *ranks, karma_error *err) {
    karma_i_gathered counts;
    size_t before = 0, all = 0, kept = 0;
    KARMA_TRY(karma_i_ranks_gather(&counts, &n, sizeof n, ranks, err));
    for (size_t k = 0; k < ranks->size; k++) {
        if (k == ranks->rank) before = all;
        all += ((const size_t *)(const void *)counts.bytes)[k];
    }
    karma_i_gathered_clear(&counts);
    size_t step = (all + MOST_BINNED_CELLS - 1) / MOST_BINNED_CELLS;
    for (size_t i = 0; step > 1 && i < n; i++)
        if ((before + i) % step == 0) cells[kept++] = cells[i];
    *left = step > 1 ? kept : n;
    return KARMA_OK;
}

/* A bin is full after n_left / bins_left cells, so that cells of frequent values count for fewer bins. */
static size_t find_limits(double limits[KARMA_I_RANK_BYTES], const double *cells, size_t n, size_t n_distinct) {
    size_t n_limits = 0, in_bin = 0, distinct_left = n_distinct;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && cells[end] == cells[first];) end++;
        size_t count = end - first, left = n - (first - in_bin), bins = KARMA_I_RANK_BYTES - n_limits;
        distinct_left--;
        in_bin += count;
        int is_full = in_bin * bins >= left || distinct_left < bins;
        if (!is_full || end == n || n_limits + 1 == KARMA_I_RANK_BYTES) continue;
        limits[n_limits++] = 0.5 * cells[first] + 0.5 * cells[end];
        in_bin = 0;
    }
    return n_limits;
}

karma_status karma_i_ranking_learn_bins(karma_i_ranking *out, double *cells, size_t n, karma_error *err) {
    double limits[KARMA_I_RANK_BYTES];
    size_t distinct = 0;
    KARMA_TRY(karma_i_thin_out(&n, cells, n, &karma_i_one_rank, err));
    karma_i_sort_cells(cells, n);
    for (size_t i = 0; i < n; i++) distinct += i == 0 || cells[i] != cells[i - 1];
    size_t n_limits = find_limits(limits, cells, n, distinct);
    karma_i_ranking r;
    KARMA_TRY(new_ranking(&r, n_limits > 0 ? n_limits : 1, err));
    r.value[0] = cells[0];
    r.at[0] = r.beyond[0] = 1;
    for (size_t k = 0; k < n_limits; k++) {
        r.value[k] = limits[k];
        r.at[k] = (uint8_t)(k + 1);
        r.beyond[k] = (uint8_t)(k + 2);
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

/* --- model files --------------------------------------------------------------------------------------- */

/* The rankings of all attributes, one after the other. */
typedef struct flat_rankings {
    size_t *size; /* of each attribute */
    size_t n;     /* their sum */
    double *value;
    uint8_t *at, *beyond;
} flat_rankings;

static void clear_flat(flat_rankings *flat) {
    karma_i_free(flat->size);
    karma_i_free(flat->value);
    karma_i_free(flat->at);
    karma_i_free(flat->beyond);
}

static karma_status archive_flat(karma_i_archive *a, flat_rankings *flat, size_t n_attributes) {
    KARMA_TRY(karma_i_archive_sizes(a, "ranking_size", &flat->size, karma_i_vector_shape(n_attributes)));
    KARMA_TRY(karma_i_archive_length(a, "ranking_value", &flat->n));
    KARMA_TRY(karma_i_archive_u8(a, "ranking_at", &flat->at, karma_i_vector_shape(flat->n)));
    KARMA_TRY(karma_i_archive_u8(a, "ranking_beyond", &flat->beyond, karma_i_vector_shape(flat->n)));
    return karma_i_archive_f64(a, "ranking_value", &flat->value, karma_i_vector_shape(flat->n), DBL_MAX);
}

/* Values ascend; ranks do not descend and are not 0. */
static int is_sound(const karma_i_ranking *r) {
    for (size_t k = 0; k < r->n; k++) {
        if (r->at[k] == 0 || r->beyond[k] < r->at[k]) return 0;
        if (k && (r->value[k] <= r->value[k - 1] || r->at[k] < r->beyond[k - 1])) return 0;
    }
    return 1;
}

static karma_status read_rankings(karma_i_archive *a, karma_i_ranking *rankings, const flat_rankings *flat, size_t n) {
    size_t first = 0;
    for (size_t j = 0; j < n; first += flat->size[j++]) {
        karma_i_ranking *r = &rankings[j];
        if (flat->size[j] > flat->n - first) return karma_i_archive_fail(a, "its rankings are not complete");
        if (flat->size[j] == 0) continue;
        if (new_ranking(r, flat->size[j], NULL) != KARMA_OK) return karma_i_archive_fail_memory(a);
        memcpy(r->value, flat->value + first, r->n * sizeof *r->value);
        memcpy(r->at, flat->at + first, r->n);
        memcpy(r->beyond, flat->beyond + first, r->n);
        if (!is_sound(r)) return karma_i_archive_fail(a, "a ranking is not in order");
    }
    return first == flat->n ? KARMA_OK : karma_i_archive_fail(a, "it has more rankings than columns");
}

/* The archive then owns the arrays. */
static karma_status write_rankings(karma_i_archive *a, const karma_i_ranking *rankings, size_t n) {
    flat_rankings flat = {.size = karma_i_alloc(n, sizeof *flat.size)};
    for (size_t j = 0; j < n; j++) flat.n += rankings[j].n;
    flat.value = karma_i_alloc(flat.n, sizeof *flat.value);
    flat.at = karma_i_alloc(flat.n, 1);
    flat.beyond = karma_i_alloc(flat.n, 1);
    if (!flat.size || !flat.value || !flat.at || !flat.beyond) {
        clear_flat(&flat);
        return karma_i_archive_fail_memory(a);
    }
    for (size_t j = 0, first = 0; j < n; first += rankings[j++].n) {
        const karma_i_ranking *r = &rankings[j];
        flat.size[j] = r->n;
        if (r->n == 0) continue;
        memcpy(flat.value + first, r->value, r->n * sizeof *r->value);
        memcpy(flat.at + first, r->at, r->n);
        memcpy(flat.beyond + first, r->beyond, r->n);
    }
    void *const arrays[] = {flat.size, flat.value, flat.at, flat.beyond};
    return karma_i_archive_keep_all(a, arrays, sizeof arrays / sizeof arrays[0], archive_flat(a, &flat, n));
}

karma_status karma_i_rankings_archive(karma_i_archive *a, karma_i_ranking *rankings, size_t n) {
    if (!karma_i_archive_is_reading(a)) return write_rankings(a, rankings, n);
    flat_rankings flat = {0};
    karma_status st = archive_flat(a, &flat, n);
    if (st == KARMA_OK) st = read_rankings(a, rankings, &flat, n);
    clear_flat(&flat);
    return st;
}
