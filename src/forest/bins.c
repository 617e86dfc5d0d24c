#include "forest/bins.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { MOST_LEVELS = 65535, MOST_ATTRIBUTES = 1 << 24, MOST_ROWS = 1 << 27 };

/* ---- the bins of levels ---- */

void karma_i_level_bins_clear(karma_i_level_bins *levels) {
    karma_i_free(levels->n_levels);
    karma_i_free(levels->start);
    karma_i_free(levels->bin);
    *levels = (karma_i_level_bins){0};
}

karma_status karma_i_level_bins_new(karma_i_level_bins *out, const uint32_t *n_levels, size_t n_attributes,
                                    karma_error *err) {
    karma_i_level_bins levels = {.n_attributes = n_attributes};
    levels.n_levels = karma_i_alloc(n_attributes, sizeof *levels.n_levels);
    levels.start = karma_i_alloc(n_attributes + 1, sizeof *levels.start);
    size_t n = 0;
    for (size_t j = 0; j < n_attributes; j++) n += n_levels[j] ? (size_t)n_levels[j] + 1 : 0;
    levels.bin = karma_i_zalloc(n, sizeof *levels.bin);
    if (!levels.n_levels || !levels.start || !levels.bin) {
        karma_i_level_bins_clear(&levels);
        return karma_i_fail_memory(err);
    }
    levels.start[0] = 0;
    for (size_t j = 0; j < n_attributes; j++) {
        levels.n_levels[j] = n_levels[j];
        levels.start[j + 1] = levels.start[j] + (n_levels[j] ? (size_t)n_levels[j] + 1 : 0);
    }
    *out = levels;
    return KARMA_OK;
}

karma_status karma_i_level_bins_copy(karma_i_level_bins *out, const karma_i_level_bins *from, karma_error *err) {
    karma_i_level_bins copy;
    KARMA_TRY(karma_i_level_bins_new(&copy, from->n_levels, from->n_attributes, err));
    memcpy(copy.bin, from->bin, from->start[from->n_attributes]);
    *out = copy;
    return KARMA_OK;
}

typedef struct level_count {
    uint32_t code, count;
} level_count;

static int by_count(const void *a, const void *b) {
    const level_count *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return x->code < y->code ? -1 : 1;
}

/* `counts` has the level of every code from 1 on, and is reordered. Bins follow the order of codes. Returns
 * their number.
 */
static uint16_t bin_levels(uint8_t *bin, level_count *counts, size_t n_levels) {
    size_t n_present = 0, n_own;
    qsort(counts, n_levels, sizeof *counts, by_count);
    while (n_present < n_levels && counts[n_present].count > 0) n_present++;
    n_own = n_present < KARMA_I_MOST_BINS ? n_present : KARMA_I_MOST_BINS - 2;
    for (size_t l = 0; l < n_present; l++) bin[counts[l].code] = l < n_own ? 1 : KARMA_I_MOST_BINS - 1;
    uint8_t next = 0;
    for (size_t code = 1; code <= n_levels; code++)
        if (bin[code] == 1) bin[code] = ++next;
    return (uint16_t)(1 + (n_own < n_present ? n_own + 1 : n_own));
}

/* ---- the bins of columns ---- */

void karma_i_bins_clear(karma_i_bins *bins) {
    karma_i_free(bins->bin);
    karma_i_free(bins->n_bins);
    karma_i_free(bins->byte);
    karma_i_level_bins_clear(&bins->levels);
    *bins = (karma_i_bins){0};
}

/* counts[start[j] + b]: how often byte or code b occurs in attribute j, in all processes. */
typedef struct occurrences {
    size_t *start; /* n_attributes + 1 */
    uint64_t *count;
} occurrences;

static void clear_occurrences(occurrences *o) {
    karma_i_free(o->start);
    karma_i_free(o->count);
}

static karma_status count_column(uint64_t *counts, size_t j, const karma_i_forest_column *column, size_t n_rows,
                                 karma_error *err) {
    for (size_t i = 0; i < n_rows; i++) {
        size_t code = column->n_levels ? column->codes[i * column->stride] : column->ranks[i * column->stride];
        if (column->n_levels && code > column->n_levels)
            return karma_i_fail(err, KARMA_ERR_DATA, "attribute %zu has the code %zu, but only %zu levels", j, code,
                                column->n_levels);
        counts[code]++;
    }
    return KARMA_OK;
}

static karma_status count_occurrences(occurrences *o, const karma_i_bins *bins, const karma_i_forest_column *columns,
                                      karma_error *err) {
    const karma_ranks *ranks = bins->split.ranks;
    size_t d = bins->n_attributes;
    o->start = karma_i_alloc(d + 1, sizeof *o->start);
    if (!o->start) return karma_i_fail_memory(err);
    o->start[0] = 0;
    for (size_t j = 0; j < d; j++)
        o->start[j + 1] = o->start[j] + (columns[j].n_levels ? columns[j].n_levels + 1 : KARMA_I_MOST_BINS);
    o->count = karma_i_zalloc(o->start[d], sizeof *o->count);
    if (!o->count) return karma_i_fail_memory(err);
    for (size_t j = 0; j < d; j++) KARMA_TRY(count_column(o->count + o->start[j], j, &columns[j], bins->n_rows, err));
    KARMA_TRY(karma_i_ranks_meet(ranks, err));
    ranks->add(ranks->payload, o->count, o->start[d]);
    return KARMA_OK;
}

static void bin_number(karma_i_bins *bins, size_t j, const karma_i_forest_column *column, const uint64_t *counts) {
    uint8_t *own = bins->bin + j * bins->n_rows, *byte = bins->byte + j * KARMA_I_MOST_BINS;
    uint8_t bin_of[KARMA_I_MOST_BINS] = {0};
    uint16_t n = 1;
    for (size_t rank = 1; rank < KARMA_I_MOST_BINS; rank++) {
        if (!counts[rank]) continue;
        byte[n] = (uint8_t)rank;
        bin_of[rank] = (uint8_t)n++;
    }
    for (size_t i = 0; i < bins->n_rows; i++) own[i] = bin_of[column->ranks[i * column->stride]];
    bins->n_bins[j] = n;
}

static karma_status bin_category(karma_i_bins *bins, size_t j, const karma_i_forest_column *column,
                                 const uint64_t *counts, karma_error *err) {
    uint8_t *own = bins->bin + j * bins->n_rows, *level_bin = bins->levels.bin + bins->levels.start[j];
    size_t n_levels = column->n_levels;
    level_count *levels = karma_i_alloc(n_levels, sizeof *levels);
    if (!levels) return karma_i_fail_memory(err);
    for (size_t l = 0; l < n_levels; l++) levels[l] = (level_count){(uint32_t)l + 1, (uint32_t)counts[l + 1]};
    bins->n_bins[j] = bin_levels(level_bin, levels, n_levels);
    for (size_t i = 0; i < bins->n_rows; i++) own[i] = level_bin[column->codes[i * column->stride]];
    karma_i_free(levels);
    return KARMA_OK;
}

static karma_status init_bins(karma_i_bins *bins, const karma_i_forest_column *columns, karma_error *err) {
    size_t d = bins->n_attributes;
    uint32_t *n_levels = karma_i_alloc(d, sizeof *n_levels);
    bins->bin = karma_i_alloc(d, bins->n_rows);
    bins->n_bins = karma_i_alloc(d, sizeof *bins->n_bins);
    bins->byte = karma_i_zalloc(d, KARMA_I_MOST_BINS);
    karma_status st = n_levels && bins->bin && bins->n_bins && bins->byte ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < d; j++) {
        n_levels[j] = (uint32_t)columns[j].n_levels;
        if (columns[j].n_levels > MOST_LEVELS)
            st = karma_i_fail(err, KARMA_ERR_DATA, "attribute %zu has %zu levels, more than %d", j, columns[j].n_levels,
                              (int)MOST_LEVELS);
    }
    if (st == KARMA_OK) st = karma_i_level_bins_new(&bins->levels, n_levels, d, err);
    karma_i_free(n_levels);
    return st;
}

karma_status karma_i_bins_make_split(karma_i_bins *out, const karma_i_forest_column *columns, size_t n_attributes,
                                     const karma_i_partition *split, karma_error *err) {
    if (n_attributes > MOST_ATTRIBUTES || split->n_rows > MOST_ROWS)
        return karma_i_fail(err, KARMA_ERR_DATA, "%zu rows of %zu attributes are too many for a forest", split->n_rows,
                            n_attributes);
    karma_i_bins bins = {.n_rows = split->count, .n_attributes = n_attributes, .split = *split};
    occurrences o = {0};
    karma_status st = init_bins(&bins, columns, err);
    if (st == KARMA_OK) st = count_occurrences(&o, &bins, columns, err);
    for (size_t j = 0; st == KARMA_OK && j < n_attributes; j++) {
        if (karma_i_is_category(&bins.levels, j))
            st = bin_category(&bins, j, &columns[j], o.count + o.start[j], err);
        else
            bin_number(&bins, j, &columns[j], o.count + o.start[j]);
    }
    clear_occurrences(&o);
    if (st == KARMA_OK)
        *out = bins;
    else
        karma_i_bins_clear(&bins);
    return st;
}

karma_status karma_i_bins_make(karma_i_bins *out, const karma_i_forest_column *columns, size_t n_attributes,
                               size_t n_rows, karma_error *err) {
    karma_i_partition whole = karma_i_partition_whole(n_rows);
    return karma_i_bins_make_split(out, columns, n_attributes, &whole, err);
}
