/* Kernel values that come with a table instead of being computed from its cells. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/table.h"

karma_status karma_table_set_gram(karma_table *table, const float *values, size_t n_columns, karma_error *err) {
    size_t n = table->n_rows;
    if (n_columns == 0) return karma_i_fail(err, KARMA_ERR_DATA, "the kernel matrix has no columns");
    for (size_t k = 0; k < n * n_columns; k++)
        if (!isfinite(values[k]))
            return karma_i_fail(err, KARMA_ERR_DATA, "kernel matrix, row %zu, column %zu: not a finite number",
                                k / n_columns + 1, k % n_columns + 1);
    float *copy = karma_i_alloc_large(n, n_columns * sizeof *copy);
    size_t *column = karma_i_alloc(n, sizeof *column);
    if (!copy || !column) {
        karma_i_free(copy);
        karma_i_free(column);
        return karma_i_fail_memory(err);
    }
    memcpy(copy, values, n * n_columns * sizeof *copy);
    for (size_t i = 0; i < n; i++) column[i] = i;
    karma_i_free(table->gram);
    karma_i_free(table->gram_column);
    table->gram = copy;
    table->gram_column = column;
    table->n_gram_columns = n_columns;
    return KARMA_OK;
}

size_t karma_table_n_gram_columns(const karma_table *table) {
    return table->n_gram_columns;
}

karma_status karma_i_table_select_gram(karma_table *out, const karma_table *table, const size_t *rows,
                                       karma_error *err) {
    if (!table->gram) return KARMA_OK;
    size_t width = table->n_gram_columns;
    out->gram = karma_i_alloc_large(out->n_rows, width * sizeof *out->gram);
    out->gram_column = karma_i_alloc(out->n_rows, sizeof *out->gram_column);
    if (!out->gram || !out->gram_column) return karma_i_fail_memory(err);
    out->n_gram_columns = width;
    for (size_t i = 0; i < out->n_rows; i++) {
        memcpy(out->gram + i * width, table->gram + rows[i] * width, width * sizeof *out->gram);
        out->gram_column[i] = table->gram_column[rows[i]];
    }
    return KARMA_OK;
}
