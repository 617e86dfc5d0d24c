#include "prep/moments.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "table/table_split.h"

void karma_i_moments_clear(karma_i_moments *m) {
    karma_i_free(m->count);
    karma_i_free(m->here);
    karma_i_free(m->mean);
    karma_i_free(m->sd);
    karma_i_free(m->unit);
    karma_i_free(m->low);
    karma_i_free(m->high);
    karma_i_free(m->level_start);
    karma_i_free(m->level_count);
    *m = (karma_i_moments){0};
}

static karma_status make_room(karma_i_moments *m, const karma_table *table, karma_error *err) {
    size_t n = table->n_attributes, n_levels = 0;
    *m = (karma_i_moments){.count = karma_i_zalloc(n, sizeof(size_t)),
                           .here = karma_i_zalloc(n, sizeof(size_t)),
                           .mean = karma_i_zalloc(n, sizeof(double)),
                           .sd = karma_i_zalloc(n, sizeof(double)),
                           .unit = karma_i_zalloc(n, sizeof(double)),
                           .low = karma_i_zalloc(n, sizeof(double)),
                           .high = karma_i_zalloc(n, sizeof(double)),
                           .level_start = karma_i_zalloc(n, sizeof(size_t))};
    for (size_t j = 0; m->level_start && j < n; j++) {
        m->level_start[j] = n_levels;
        n_levels += table->attributes[j].n_levels;
    }
    m->n_levels = n_levels;
    m->level_count = karma_i_zalloc(n_levels, sizeof(size_t));
    int ok =
        m->count && m->here && m->mean && m->sd && m->unit && m->low && m->high && m->level_start && m->level_count;
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

/* The cells of the summed rows. */
typedef struct cell_sums {
    const karma_i_moments *m;
    const karma_table *table;
} cell_sums;

static void add_to_mean(double *mean, const void *payload, size_t first, size_t end) {
    const cell_sums *s = payload;
    const karma_table *t = s->table;
    for (size_t k = t->row_start[first]; k < t->row_start[end]; k++) {
        size_t j = t->cell_owner[k];
        if (t->attributes[j].kind != KARMA_COLUMN_CATEGORY) mean[j] += t->cell_value[k] / (double)s->m->count[j];
    }
}

static void add_to_variance(double *variance, const void *payload, size_t first, size_t end) {
    const cell_sums *s = payload;
    const karma_table *t = s->table;
    for (size_t k = t->row_start[first]; k < t->row_start[end]; k++) {
        size_t j = t->cell_owner[k];
        double deviation = (t->cell_value[k] - s->m->mean[j]) * s->m->unit[j];
        variance[j] += deviation * deviation / (double)s->m->count[j];
    }
}

/* Counts, levels and ranges. */
static karma_status count_cells(karma_i_moments *m, const karma_table *table, karma_error *err) {
    const karma_ranks *ranks = karma_i_table_ranks(table);
    size_t n = table->n_attributes, n_cells = karma_table_n_observed(table);
    for (size_t j = 0; j < n; j++) m->low[j] = m->high[j] = -INFINITY;
    karma_table_count_observed(table, m->count);
    memcpy(m->here, m->count, n * sizeof *m->here);
    for (size_t k = 0; k < n_cells; k++) {
        size_t j = table->cell_owner[k];
        double value = table->cell_value[k];
        if (table->attributes[j].kind == KARMA_COLUMN_CATEGORY) m->level_count[m->level_start[j] + (size_t)value]++;
        m->low[j] = fmax(m->low[j], -value);
        m->high[j] = fmax(m->high[j], value);
    }
    KARMA_TRY(karma_i_ranks_add(m->count, n, ranks, err));
    KARMA_TRY(karma_i_ranks_add(m->level_count, m->n_levels, ranks, err));
    KARMA_TRY(karma_i_ranks_largest(m->low, n, ranks, err));
    KARMA_TRY(karma_i_ranks_largest(m->high, n, ranks, err));
    for (size_t j = 0; j < n; j++) m->low[j] = -m->low[j];
    return KARMA_OK;
}

/* Two passes: the second takes deviations from the mean, so large offsets cause no rounding errors. */
static karma_status add_cells(karma_i_moments *m, const karma_table *table, karma_error *err) {
    karma_i_partition split = karma_i_table_split(table);
    cell_sums sums = {m, table};
    size_t n = table->n_attributes;
    KARMA_TRY(count_cells(m, table, err));
    KARMA_TRY(karma_i_partition_sum(m->mean, n, &split, add_to_mean, &sums, err));
    for (size_t j = 0; j < n; j++) m->unit[j] = karma_i_unit_of(fmax(m->high[j] - m->mean[j], m->mean[j] - m->low[j]));
    KARMA_TRY(karma_i_partition_sum(m->sd, n, &split, add_to_variance, &sums, err));
    for (size_t j = 0; j < n; j++) m->sd[j] = sqrt(m->sd[j]) / m->unit[j];
    return KARMA_OK;
}

karma_status karma_i_moments_take(karma_i_moments *out, const karma_table *table, karma_error *err) {
    karma_i_moments m;
    karma_status st = make_room(&m, table, err);
    if (st == KARMA_OK) st = add_cells(&m, table, err);
    if (st == KARMA_OK)
        *out = m;
    else
        karma_i_moments_clear(&m);
    return st;
}

karma_status karma_i_cells_by_attribute(double **cells, size_t **first, const karma_table *table, const size_t *count,
                                        karma_error *err) {
    size_t n = table->n_attributes, n_cells = karma_table_n_observed(table), total = 0;
    double *sorted = karma_i_alloc(n_cells, sizeof *sorted);
    size_t *start = karma_i_alloc(n, sizeof *start), *next = karma_i_alloc(n, sizeof *next);
    if (!sorted || !start || !next) {
        karma_i_free(sorted);
        karma_i_free(start);
        karma_i_free(next);
        return karma_i_fail_memory(err);
    }
    for (size_t j = 0; j < n; total += count[j++]) start[j] = next[j] = total;
    for (size_t k = 0; k < n_cells; k++) sorted[next[table->cell_owner[k]]++] = table->cell_value[k];
    karma_i_free(next);
    *cells = sorted;
    *first = start;
    return KARMA_OK;
}
