/* Tables and targets from the caller's arrays. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/builder.h"
#include "table/numbers.h"

static karma_status fill_from_array(karma_i_builder *b, const char *cells, karma_number_type type, size_t n_rows,
                                    size_t n_columns, ptrdiff_t row_stride, ptrdiff_t column_stride, karma_error *err) {
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0; j < n_columns; j++) {
            double value = karma_i_number_at(cells + (ptrdiff_t)i * row_stride + (ptrdiff_t)j * column_stride, type);
            if (isnan(value)) continue;
            if (isinf(value))
                return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, column %zu: the value is infinite", i + 1, j + 1);
            KARMA_TRY(karma_i_builder_add_cell(b, j, value, err));
        }
        KARMA_TRY(karma_i_builder_end_row(b, NULL, 1.0, NULL, err));
    }
    return KARMA_OK;
}

karma_status karma_table_from_strided(karma_table **out, const void *cells, karma_number_type type, size_t n_rows,
                                      size_t n_columns, ptrdiff_t row_stride, ptrdiff_t column_stride,
                                      const char *const *names, karma_error *err) {
    karma_i_builder builder;
    KARMA_TRY(karma_i_check_number_type(type, err));
    KARMA_TRY(karma_i_builder_init(&builder, err));
    karma_status st = karma_i_builder_name_columns(&builder, n_columns, names, err);
    if (st == KARMA_OK) st = fill_from_array(&builder, cells, type, n_rows, n_columns, row_stride, column_stride, err);
    if (st == KARMA_OK)
        karma_i_builder_finish(out, &builder);
    else
        karma_i_builder_clear(&builder);
    return st;
}

karma_status karma_table_from_array(karma_table **out, const double *cells, size_t n_rows, size_t n_columns,
                                    const char *const *names, karma_error *err) {
    return karma_table_from_strided(out, cells, KARMA_FLOAT64, n_rows, n_columns,
                                    (ptrdiff_t)(n_columns * sizeof *cells), sizeof *cells, names, err);
}

/* Adds a target, or replaces the one of its name; always takes ownership of `target`. */
static karma_status put_target(karma_table *table, karma_i_target target, karma_error *err) {
    for (size_t k = 0; k < table->n_targets; k++) {
        if (strcmp(table->targets[k].column.name, target.column.name) != 0) continue;
        karma_i_target_clear(&table->targets[k]);
        table->targets[k] = target;
        return KARMA_OK;
    }
    return karma_i_table_append_target(table, target, err);
}

/* A copy of one number per row. */
static double *copy_values(const karma_table *table, const double *values) {
    double *copy = karma_i_alloc(table->n_rows, sizeof *copy);
    if (copy && table->n_rows) memcpy(copy, values, table->n_rows * sizeof *copy);
    return copy;
}

karma_status karma_table_add_target_numbers(karma_table *table, const char *name, const double *values,
                                            karma_error *err) {
    for (size_t i = 0; i < table->n_rows; i++)
        if (isinf(values[i])) return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: the label is infinite", i + 1);
    karma_i_target target = {0};
    KARMA_TRY(karma_i_column_init(&target.column, name, KARMA_COLUMN_NUMBER, NULL, 0, err));
    target.value = copy_values(table, values);
    if (target.value) return put_target(table, target, err);
    karma_i_target_clear(&target);
    return karma_i_fail_memory(err);
}

karma_status karma_table_add_target_classes(karma_table *table, const char *name, const char *const *classes,
                                            karma_error *err) {
    size_t n_levels = 0;
    char **levels = karma_i_distinct_texts(classes, table->n_rows, &n_levels);
    if (!levels) return karma_i_fail_memory(err);
    karma_i_target target = {0};
    KARMA_TRY(karma_i_column_init(&target.column, name, KARMA_COLUMN_CATEGORY, levels, n_levels, err));
    target.value = karma_i_alloc(table->n_rows, sizeof *target.value);
    if (!target.value) {
        karma_i_target_clear(&target);
        return karma_i_fail_memory(err);
    }
    for (size_t i = 0; i < table->n_rows; i++)
        target.value[i] = classes[i] && *classes[i]
                              ? (double)karma_i_column_find_level(&target.column, classes[i], strlen(classes[i]))
                              : NAN;
    return put_target(table, target, err);
}

static karma_status check_weights(const double *weights, size_t n, karma_error *err) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (!karma_i_is_weight(weights[i]))
            return karma_i_fail(err, KARMA_ERR_DATA,
                                "row %zu: the row weight is not 0 or a number from 1e-100 to 1e100", i + 1);
        largest = fmax(largest, weights[i]);
    }
    if (n && largest == 0.0) return karma_i_fail(err, KARMA_ERR_DATA, "all row weights are 0");
    return KARMA_OK;
}

karma_status karma_table_set_row_weights(karma_table *table, const double *weights, karma_error *err) {
    KARMA_TRY(check_weights(weights, table->n_rows, err));
    double *copy = copy_values(table, weights);
    char *name = table->weight_name ? table->weight_name : karma_i_strdup("row_weight");
    if (!copy || !name) {
        karma_i_free(copy);
        if (!table->weight_name) karma_i_free(name);
        return karma_i_fail_memory(err);
    }
    karma_i_free(table->row_weight);
    table->row_weight = copy;
    table->weight_name = name;
    return KARMA_OK;
}
