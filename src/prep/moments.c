#include "prep/moments.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

void karma_i_moments_clear(karma_i_moments *m) {
    karma_i_free(m->count);
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
    m->level_count = karma_i_zalloc(n_levels, sizeof(size_t));
    int ok = m->count && m->mean && m->sd && m->unit && m->low && m->high && m->level_start && m->level_count;
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

/* Two passes: the second takes deviations from the mean, so large offsets cause no rounding errors. */
static void add_cells(karma_i_moments *m, const karma_table *table) {
    size_t n_cells = karma_table_n_observed(table);
    for (size_t j = 0; j < table->n_attributes; j++) m->low[j] = INFINITY, m->high[j] = -INFINITY;
    karma_table_count_observed(table, m->count);
    for (size_t k = 0; k < n_cells; k++) {
        size_t j = table->cell_owner[k];
        double value = table->cell_value[k];
        if (table->attributes[j].kind == KARMA_COLUMN_CATEGORY)
            m->level_count[m->level_start[j] + (size_t)value]++;
        else
            m->mean[j] += value / (double)m->count[j];
        m->low[j] = fmin(m->low[j], value);
        m->high[j] = fmax(m->high[j], value);
    }
    for (size_t j = 0; j < table->n_attributes; j++)
        m->unit[j] = karma_i_unit_of(fmax(m->high[j] - m->mean[j], m->mean[j] - m->low[j]));
    for (size_t k = 0; k < n_cells; k++) {
        size_t j = table->cell_owner[k];
        double deviation = (table->cell_value[k] - m->mean[j]) * m->unit[j];
        m->sd[j] += deviation * deviation / (double)m->count[j];
    }
    for (size_t j = 0; j < table->n_attributes; j++) m->sd[j] = sqrt(m->sd[j]) / m->unit[j];
}

karma_status karma_i_moments_take(karma_i_moments *out, const karma_table *table, karma_error *err) {
    karma_i_moments m;
    karma_status st = make_room(&m, table, err);
    if (st == KARMA_OK) {
        add_cells(&m, table);
        *out = m;
    } else
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
