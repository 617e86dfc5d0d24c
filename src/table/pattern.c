/* Missing rates, ranges and patterns of missing cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/table.h"

void karma_table_count_observed(const karma_table *table, size_t *n_observed) {
    memset(n_observed, 0, table->n_attributes * sizeof *n_observed);
    for (size_t k = 0; k < karma_table_n_observed(table); k++) n_observed[table->cell_owner[k]]++;
}

void karma_table_summarise(const karma_table *table, karma_column_summary *summaries) {
    size_t n_cells = karma_table_n_observed(table);
    for (size_t j = 0; j < table->n_attributes; j++) summaries[j] = (karma_column_summary){0, NAN, NAN, NAN};
    for (size_t k = 0; k < n_cells; k++) summaries[table->cell_owner[k]].n_observed++;
    for (size_t k = 0; k < n_cells; k++) {
        karma_column_summary *s = &summaries[table->cell_owner[k]];
        double value = table->cell_value[k];
        if (table->attributes[table->cell_owner[k]].kind != KARMA_COLUMN_NUMBER) continue;
        s->low = fmin(s->low, value); /* fmin and fmax ignore a NaN */
        s->high = fmax(s->high, value);
        s->mean = (isnan(s->mean) ? 0.0 : s->mean) + value / (double)s->n_observed;
    }
}

/* A row represented by its list of observed attributes. Two rows have the same pattern iff their lists are
 * equal. */
typedef struct row_pattern {
    size_t row;
    size_t count;
    const uint32_t *attributes;
} row_pattern;

static int compare_lists(const row_pattern *a, const row_pattern *b) {
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (size_t k = 0; k < a->count; k++)
        if (a->attributes[k] != b->attributes[k]) return a->attributes[k] < b->attributes[k] ? -1 : 1;
    return 0;
}

static int by_list_then_row(const void *x, const void *y) {
    const row_pattern *a = x, *b = y;
    int order = compare_lists(a, b);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static int commonest_first(const void *x, const void *y) {
    const karma_pattern *a = x, *b = y;
    if (a->n_rows != b->n_rows) return a->n_rows > b->n_rows ? -1 : 1;
    return (a->example > b->example) - (a->example < b->example);
}

karma_status karma_table_patterns(const karma_table *table, karma_pattern *patterns, size_t max_patterns,
                                  size_t *n_distinct, karma_error *err) {
    size_t n = table->n_rows, found = 0;
    row_pattern *rows = karma_i_alloc(n, sizeof *rows);
    karma_pattern *all = karma_i_alloc(n, sizeof *all);
    if (!rows || !all) {
        karma_i_free(rows);
        karma_i_free(all);
        return karma_i_fail_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        karma_i_row_cells cells = karma_i_table_cells(table, i);
        rows[i] = (row_pattern){i, cells.count, cells.attribute};
    }
    if (n > 1) qsort(rows, n, sizeof *rows, by_list_then_row);
    for (size_t i = 0; i < n; i++) {
        if (i && compare_lists(&rows[i - 1], &rows[i]) == 0)
            all[found - 1].n_rows++;
        else
            all[found++] = (karma_pattern){1, table->n_attributes - rows[i].count, rows[i].row};
    }
    if (found > 1) qsort(all, found, sizeof *all, commonest_first);
    memcpy(patterns, all, (found < max_patterns ? found : max_patterns) * sizeof *all);
    *n_distinct = found;
    karma_i_free(rows);
    karma_i_free(all);
    return KARMA_OK;
}
