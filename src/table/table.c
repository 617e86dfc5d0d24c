/* Tables: selection of rows, validation, access. */
#include "table/table.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/builder.h"
#include "table/reading.h"

int karma_i_is_weight(double value) {
    return value == 0.0 || (value >= 1e-100 && value <= 1e100);
}

void karma_i_target_clear(karma_i_target *target) {
    karma_i_column_clear(&target->column);
    karma_i_free(target->value);
    target->value = NULL;
}

karma_status karma_i_table_append_target(karma_table *table, karma_i_target target, karma_error *err) {
    karma_i_target *grown = karma_i_realloc(table->targets, table->n_targets + 1, sizeof *grown);
    if (!grown) {
        karma_i_target_clear(&target);
        return karma_i_fail_memory(err);
    }
    grown[table->n_targets++] = target;
    table->targets = grown;
    return KARMA_OK;
}

static void free_reading(karma_table *table) {
    karma_i_reading_free(table->reading);
    table->reading = NULL;
}

karma_status karma_i_table_set_reading(karma_table *table, const karma_read_options *options, karma_error *err) {
    karma_read_options *reading = NULL;
    KARMA_TRY(karma_i_reading_new(&reading, options, err));
    free_reading(table);
    table->reading = reading;
    return KARMA_OK;
}

void karma_table_free(karma_table *table) {
    if (!table) return;
    for (size_t j = 0; j < table->n_attributes; j++) karma_i_column_clear(&table->attributes[j]);
    karma_i_free(table->attributes);
    karma_i_free(table->text_cells);
    for (size_t k = 0; k < table->n_targets; k++) karma_i_target_clear(&table->targets[k]);
    karma_i_free(table->targets);
    karma_i_free(table->row_weight);
    karma_i_free(table->weight_name);
    if (!table->storage) {
        karma_i_free(table->row_start);
        karma_i_free(table->cell_owner);
        karma_i_free(table->cell_value);
    }
    karma_i_storage_free(table->storage);
    karma_i_free(table->gram);
    karma_i_free(table->gram_column);
    free_reading(table);
    karma_i_free_texts(table->id_names, table->n_ids);
    karma_i_free_texts(table->ids, table->n_rows * table->n_ids);
    karma_i_free(table);
}

/* --- selection ----------------------------------------------------------------------------------------- */

static karma_status copy_columns_and_ids(karma_i_builder *b, const karma_table *table, karma_error *err) {
    b->table->is_matrix = table->is_matrix;
    if (table->reading) KARMA_TRY(karma_i_table_set_reading(b->table, table->reading, err));
    KARMA_TRY(karma_i_builder_copy_columns(b, table, err));
    return karma_i_builder_copy_roles(b, table, 0, err);
}

static karma_status copy_row(karma_i_builder *b, const karma_table *table, size_t row, karma_error *err) {
    KARMA_TRY(karma_i_builder_copy_cells(b, table, row, err));
    return karma_i_builder_end_row_like(b, table, row, err);
}

/* The cells of the selected rows are stored like those of the table. */
static karma_status store_like(karma_i_builder *b, const karma_table *table, const size_t *rows, size_t count,
                               karma_error *err) {
    size_t n_cells = 0;
    if (!table->storage) return KARMA_OK;
    for (size_t i = 0; i < count; i++) n_cells += karma_i_table_cells(table, rows[i]).count;
    KARMA_TRY(karma_i_builder_store(b, table->storage->folder, err));
    return karma_i_builder_reserve(b, count, n_cells, err);
}

karma_status karma_table_select(karma_table **out, const karma_table *table, const size_t *rows, size_t count,
                                karma_error *err) {
    for (size_t i = 0; i < count; i++)
        if (rows[i] >= table->n_rows)
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu of a table of %zu rows", rows[i], table->n_rows);
    karma_i_builder builder;
    KARMA_TRY(karma_i_builder_init(&builder, err));
    karma_status st = store_like(&builder, table, rows, count, err);
    if (st == KARMA_OK) st = copy_columns_and_ids(&builder, table, err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++) st = copy_row(&builder, table, rows[i], err);
    if (st == KARMA_OK) st = karma_i_table_select_gram(builder.table, table, rows, err);
    if (st == KARMA_OK)
        karma_i_builder_finish(out, &builder);
    else
        karma_i_builder_clear(&builder);
    return st;
}

/* --- validation ---------------------------------------------------------------------------------------- */

static int valid_value(const karma_i_column *column, double value) {
    if (column->kind == KARMA_COLUMN_NUMBER) return isfinite(value) != 0;
    return value >= 0.0 && value < (double)column->n_levels && value == floor(value);
}

static karma_status validate_row(const karma_table *table, size_t row, karma_error *err) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    for (size_t k = 0; k < cells.count; k++) {
        if (cells.attribute[k] >= table->n_attributes || (k && cells.attribute[k] <= cells.attribute[k - 1]))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: cells are not in ascending order of attributes",
                                row + 1);
        if (!valid_value(&table->attributes[cells.attribute[k]], cells.value[k]))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, attribute '%s': the value is not allowed", row + 1,
                                table->attributes[cells.attribute[k]].name);
    }
    for (size_t k = 0; k < table->n_targets; k++) {
        const karma_i_target *target = &table->targets[k];
        if (!isnan(target->value[row]) && !valid_value(&target->column, target->value[row]))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, target '%s': the label is not allowed", row + 1,
                                target->column.name);
    }
    if (!karma_i_is_weight(karma_table_row_weight(table, row)))
        return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: the row weight is not allowed", row + 1);
    return KARMA_OK;
}

karma_status karma_table_validate(const karma_table *table, karma_error *err) {
    for (size_t row = 0; row < table->n_rows; row++) {
        if (table->row_start[row + 1] < table->row_start[row])
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu ends before it starts", row + 1);
        KARMA_TRY(validate_row(table, row, err));
    }
    return KARMA_OK;
}

/* --- access -------------------------------------------------------------------------------------------- */

size_t karma_table_n_rows(const karma_table *table) {
    return table->n_rows;
}
size_t karma_table_n_attributes(const karma_table *table) {
    return table->n_attributes;
}
size_t karma_table_n_observed(const karma_table *table) {
    return table->row_start[table->n_rows];
}

const char *karma_table_attribute_name(const karma_table *table, size_t attribute) {
    return table->attributes[attribute].name;
}
karma_column_kind karma_table_attribute_kind(const karma_table *table, size_t attribute) {
    return table->attributes[attribute].kind;
}
size_t karma_table_n_levels(const karma_table *table, size_t attribute) {
    return table->attributes[attribute].n_levels;
}
const char *karma_table_level(const karma_table *table, size_t attribute, size_t level) {
    return table->attributes[attribute].levels[level];
}

int karma_table_cell(const karma_table *table, size_t row, size_t attribute, double *value) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    size_t low = 0, high = cells.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cells.attribute[middle] < attribute)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == cells.count || cells.attribute[low] != attribute) return 0;
    *value = cells.value[low];
    return 1;
}

size_t karma_table_n_targets(const karma_table *table) {
    return table->n_targets;
}
const char *karma_table_target_name(const karma_table *table, size_t target) {
    return table->targets[target].column.name;
}
karma_column_kind karma_table_target_kind(const karma_table *table, size_t target) {
    return table->targets[target].column.kind;
}
size_t karma_table_n_classes(const karma_table *table, size_t target) {
    return table->targets[target].column.n_levels;
}
const char *karma_table_class(const karma_table *table, size_t target, size_t index) {
    return table->targets[target].column.levels[index];
}

int karma_table_target(const karma_table *table, size_t target, size_t row, double *value) {
    if (target >= table->n_targets || isnan(table->targets[target].value[row])) return 0;
    *value = table->targets[target].value[row];
    return 1;
}

const char *karma_table_weight_name(const karma_table *table) {
    return table->weight_name;
}
double karma_table_row_weight(const karma_table *table, size_t row) {
    return table->row_weight ? table->row_weight[row] : 1.0;
}

size_t karma_table_n_ids(const karma_table *table) {
    return table->n_ids;
}
const char *karma_table_id_name(const karma_table *table, size_t id) {
    return table->id_names[id];
}
const char *karma_table_id(const karma_table *table, size_t id, size_t row) {
    return table->ids[row * table->n_ids + id];
}
