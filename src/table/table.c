/* Tables: construction through the builder, selection of rows, validation, access. */
#include "table/table.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/numbers.h"
#include "table/reading.h"

/* --- columns ------------------------------------------------------------------------------------------- */

static void free_texts(char **texts, size_t n) {
    if (!texts) return;
    for (size_t i = 0; i < n; i++) karma_i_free(texts[i]);
    karma_i_free(texts);
}

void karma_i_column_clear(karma_i_column *column) {
    karma_i_free(column->name);
    free_texts(column->levels, column->n_levels);
    *column = (karma_i_column){0};
}

static void clear_target(karma_i_target *target) {
    karma_i_column_clear(&target->column);
    karma_i_free(target->value);
    target->value = NULL;
}

static char **copy_texts(char *const *texts, size_t n) {
    char **copy = karma_i_zalloc(n, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = karma_i_strdup(texts[i]);
        if (!copy[i]) {
            free_texts(copy, n);
            return NULL;
        }
    }
    return copy;
}

karma_status karma_i_column_copy(karma_i_column *out, const karma_i_column *column, karma_error *err) {
    karma_i_column copy = {
        .kind = column->kind, .n_levels = column->n_levels, .low = column->low, .high = column->high};
    copy.name = karma_i_strdup(column->name);
    copy.levels = column->levels ? copy_texts(column->levels, column->n_levels) : NULL;
    if (!copy.name || (column->levels && !copy.levels)) {
        if (!copy.levels) copy.n_levels = 0;
        karma_i_column_clear(&copy);
        return karma_i_fail_memory(err);
    }
    *out = copy;
    return KARMA_OK;
}

size_t karma_i_column_find_level(const karma_i_column *column, const char *text, size_t length) {
    size_t low = 0, high = column->n_levels;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *level = column->levels[middle];
        int order = strncmp(level, text, length);
        if (order == 0 && level[length] != '\0') order = 1;
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return column->n_levels;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void karma_i_sort_texts(char **texts, size_t n) {
    if (n > 1) qsort(texts, n, sizeof *texts, compare_texts);
}

int karma_i_is_weight(double value) {
    return value >= 0.0 && value <= DBL_MAX;
}

/* --- builder ------------------------------------------------------------------------------------------- */

karma_status karma_i_builder_init(karma_i_builder *builder, karma_error *err) {
    *builder = (karma_i_builder){0};
    karma_table *table = karma_i_zalloc(1, sizeof *table);
    if (!table) return karma_i_fail_memory(err);
    builder->table = table;
    /* never NULL, so that a row without cells has pointers to nothing and not nothing to point at */
    if (karma_i_reserve(&table->row_start, &builder->row_capacity, 1, sizeof *table->row_start) &&
        karma_i_reserve(&table->cell_owner, &builder->owner_capacity, 1, sizeof *table->cell_owner) &&
        karma_i_reserve(&table->cell_value, &builder->cell_capacity, 1, sizeof *table->cell_value)) {
        table->row_start[0] = 0;
        return KARMA_OK;
    }
    karma_i_builder_clear(builder);
    return karma_i_fail_memory(err);
}

void karma_i_builder_clear(karma_i_builder *builder) {
    karma_table_free(builder->table);
    *builder = (karma_i_builder){0};
}

/* Takes `levels` over in any case. */
static karma_status fill_column(karma_i_column *column, const char *name, karma_column_kind kind, char **levels,
                                size_t n_levels, karma_error *err) {
    *column = (karma_i_column){
        .name = karma_i_strdup(name), .kind = kind, .levels = levels, .n_levels = n_levels, .low = NAN, .high = NAN};
    if (column->name) return KARMA_OK;
    karma_i_column_clear(column);
    return karma_i_fail_memory(err);
}

karma_status karma_i_builder_add_attribute(karma_i_builder *builder, const char *name, karma_column_kind kind,
                                           char **levels, size_t n_levels, karma_error *err) {
    karma_table *t = builder->table;
    if (t->n_attributes >= UINT32_MAX ||
        !karma_i_reserve(&t->attributes, &builder->attribute_capacity, t->n_attributes + 1, sizeof *t->attributes)) {
        free_texts(levels, n_levels);
        return karma_i_fail_memory(err);
    }
    KARMA_TRY(fill_column(&t->attributes[t->n_attributes], name, kind, levels, n_levels, err));
    t->n_attributes++;
    return KARMA_OK;
}

/* Takes `target` over in any case. */
static karma_status append_target(karma_table *table, karma_i_target target, karma_error *err) {
    karma_i_target *grown = karma_i_realloc(table->targets, table->n_targets + 1, sizeof *grown);
    if (!grown) {
        clear_target(&target);
        return karma_i_fail_memory(err);
    }
    grown[table->n_targets++] = target;
    table->targets = grown;
    return KARMA_OK;
}

karma_status karma_i_builder_add_target(karma_i_builder *builder, const char *name, karma_column_kind kind,
                                        char **levels, size_t n_levels, karma_error *err) {
    karma_i_target target = {0};
    KARMA_TRY(fill_column(&target.column, name, kind, levels, n_levels, err));
    return append_target(builder->table, target, err);
}

karma_status karma_i_builder_set_weighted(karma_i_builder *builder, const char *name, karma_error *err) {
    karma_table *t = builder->table;
    char *copy = karma_i_strdup(name);
    if (!copy || !karma_i_reserve(&t->row_weight, &builder->weight_capacity, 1, sizeof *t->row_weight)) {
        karma_i_free(copy);
        return karma_i_fail_memory(err);
    }
    karma_i_free(t->weight_name);
    t->weight_name = copy;
    return KARMA_OK;
}

karma_status karma_i_builder_add_id(karma_i_builder *builder, const char *name, karma_error *err) {
    karma_table *t = builder->table;
    char **grown = karma_i_realloc(t->id_names, t->n_ids + 1, sizeof *grown);
    if (!grown) return karma_i_fail_memory(err);
    t->id_names = grown;
    grown[t->n_ids] = karma_i_strdup(name);
    if (!grown[t->n_ids]) return karma_i_fail_memory(err);
    t->n_ids++;
    return KARMA_OK;
}

karma_status karma_i_builder_add_cell(karma_i_builder *builder, size_t attribute, double value, karma_error *err) {
    karma_table *t = builder->table;
    size_t needed = builder->n_cells + 1;
    if (!karma_i_reserve(&t->cell_owner, &builder->owner_capacity, needed, sizeof *t->cell_owner) ||
        !karma_i_reserve(&t->cell_value, &builder->cell_capacity, needed, sizeof *t->cell_value))
        return karma_i_fail_memory(err);
    t->cell_owner[builder->n_cells] = (uint32_t)attribute;
    t->cell_value[builder->n_cells] = value;
    builder->n_cells = needed;
    return KARMA_OK;
}

karma_status karma_i_builder_add_text_cell(karma_i_builder *builder, size_t row, size_t attribute, karma_error *err) {
    karma_table *t = builder->table;
    if (!karma_i_reserve(&t->text_cells, &builder->text_capacity, t->n_text_cells + 1, sizeof *t->text_cells))
        return karma_i_fail_memory(err);
    t->text_cells[t->n_text_cells++] = (karma_i_text_cell){row, attribute};
    return KARMA_OK;
}

/* All targets have the same number of values, so one capacity serves them all. */
static int reserve_targets(karma_i_builder *builder, size_t rows) {
    size_t capacity = builder->target_capacity;
    for (size_t k = 0; k < builder->table->n_targets; k++) {
        capacity = builder->target_capacity;
        if (!karma_i_reserve(&builder->table->targets[k].value, &capacity, rows, sizeof(double))) return 0;
    }
    builder->target_capacity = capacity;
    return 1;
}

static int reserve_row(karma_i_builder *builder) {
    karma_table *t = builder->table;
    size_t rows = t->n_rows + 1;
    return karma_i_reserve(&t->row_start, &builder->row_capacity, rows + 1, sizeof *t->row_start) &&
           reserve_targets(builder, rows) &&
           (!t->row_weight ||
            karma_i_reserve(&t->row_weight, &builder->weight_capacity, rows, sizeof *t->row_weight)) &&
           (!t->n_ids || karma_i_reserve(&t->ids, &builder->id_capacity, rows * t->n_ids, sizeof *t->ids));
}

karma_status karma_i_builder_end_row(karma_i_builder *builder, const double *targets, double weight,
                                     const karma_i_text *ids, karma_error *err) {
    karma_table *t = builder->table;
    if (!reserve_row(builder)) return karma_i_fail_memory(err);
    char **row_ids = t->n_ids ? t->ids + t->n_rows * t->n_ids : NULL;
    for (size_t i = 0; i < t->n_ids; i++) {
        row_ids[i] = karma_i_strndup(ids[i].text, ids[i].length);
        if (!row_ids[i]) {
            while (i > 0) karma_i_free(row_ids[--i]);
            return karma_i_fail_memory(err);
        }
    }
    for (size_t k = 0; k < t->n_targets; k++) t->targets[k].value[t->n_rows] = targets[k];
    if (t->row_weight) t->row_weight[t->n_rows] = weight;
    t->row_start[++t->n_rows] = builder->n_cells;
    return KARMA_OK;
}

void karma_i_builder_finish(karma_table **out, karma_i_builder *builder) {
    *out = builder->table;
    *builder = (karma_i_builder){0};
}

/* --- other ways to a table ----------------------------------------------------------------------------- */

karma_status karma_i_check_names(const char *const *names, size_t n, karma_error *err) {
    char **sorted = karma_i_alloc(n, sizeof *sorted);
    if (!sorted) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) sorted[i] = (char *)(uintptr_t)names[i];
    karma_i_sort_texts(sorted, n);
    karma_status st = KARMA_OK;
    for (size_t i = 1; st == KARMA_OK && i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            st = karma_i_fail(err, KARMA_ERR_DATA, "two columns are called '%s'", sorted[i]);
    karma_i_free(sorted);
    return st;
}

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

karma_status karma_i_builder_name_columns(karma_i_builder *b, size_t n_columns, const char *const *names,
                                          karma_error *err) {
    b->table->is_matrix = !names;
    if (names) KARMA_TRY(karma_i_check_names(names, n_columns, err));
    for (size_t j = 0; j < n_columns; j++) {
        char name[32];
        (void)snprintf(name, sizeof name, "c%zu", j + 1);
        KARMA_TRY(karma_i_builder_add_attribute(b, names ? names[j] : name, KARMA_COLUMN_NUMBER, NULL, 0, err));
    }
    return KARMA_OK;
}

karma_status karma_table_from_strided(karma_table **out, const void *cells, karma_number_type type, size_t n_rows,
                                      size_t n_columns, ptrdiff_t row_stride, ptrdiff_t column_stride,
                                      const char *const *names, karma_error *err) {
    karma_i_builder builder;
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

/* Adds a target, or replaces the one of its name; takes `target` over in any case. */
static karma_status put_target(karma_table *table, karma_i_target target, karma_error *err) {
    for (size_t k = 0; k < table->n_targets; k++) {
        if (strcmp(table->targets[k].column.name, target.column.name) != 0) continue;
        clear_target(&table->targets[k]);
        table->targets[k] = target;
        return KARMA_OK;
    }
    return append_target(table, target, err);
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
    KARMA_TRY(fill_column(&target.column, name, KARMA_COLUMN_NUMBER, NULL, 0, err));
    target.value = copy_values(table, values);
    if (target.value) return put_target(table, target, err);
    clear_target(&target);
    return karma_i_fail_memory(err);
}

char **karma_i_distinct_texts(const char *const *texts, size_t n, size_t *n_out) {
    char **all = karma_i_alloc(n, sizeof *all);
    if (!all) return NULL;
    size_t used = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        if (texts[i] && *texts[i]) all[used++] = (char *)(uintptr_t)texts[i];
    karma_i_sort_texts(all, used);
    for (size_t i = 0; i < used; i++)
        if (kept == 0 || strcmp(all[kept - 1], all[i]) != 0) all[kept++] = all[i];
    char **copy = copy_texts(all, kept);
    karma_i_free(all);
    *n_out = kept;
    return copy;
}

karma_status karma_table_add_target_classes(karma_table *table, const char *name, const char *const *classes,
                                            karma_error *err) {
    size_t n_levels = 0;
    char **levels = karma_i_distinct_texts(classes, table->n_rows, &n_levels);
    if (!levels) return karma_i_fail_memory(err);
    karma_i_target target = {0};
    KARMA_TRY(fill_column(&target.column, name, KARMA_COLUMN_CATEGORY, levels, n_levels, err));
    target.value = karma_i_alloc(table->n_rows, sizeof *target.value);
    if (!target.value) {
        clear_target(&target);
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
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu: the row weight is not a finite number of at least 0",
                                i + 1);
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

typedef karma_status (*add_column_fn)(karma_i_builder *builder, const char *name, karma_column_kind kind, char **levels,
                                      size_t n_levels, karma_error *err);

static karma_status copy_column(karma_i_builder *b, add_column_fn add, const karma_i_column *column, karma_error *err) {
    karma_i_column copy;
    KARMA_TRY(karma_i_column_copy(&copy, column, err));
    karma_status st = add(b, copy.name, copy.kind, copy.levels, copy.n_levels, err);
    karma_i_free(copy.name);
    return st;
}

static karma_status copy_labels(karma_i_builder *b, const karma_table *table, karma_error *err) {
    for (size_t k = 0; k < table->n_targets; k++)
        KARMA_TRY(copy_column(b, karma_i_builder_add_target, &table->targets[k].column, err));
    if (table->row_weight) KARMA_TRY(karma_i_builder_set_weighted(b, table->weight_name, err));
    return KARMA_OK;
}

karma_status karma_i_builder_copy_columns(karma_i_builder *builder, const karma_table *table, karma_error *err) {
    for (size_t j = 0; j < table->n_attributes; j++)
        KARMA_TRY(copy_column(builder, karma_i_builder_add_attribute, &table->attributes[j], err));
    return copy_labels(builder, table, err);
}

static karma_status copy_ids(karma_i_builder *b, const karma_table *table, karma_error *err) {
    for (size_t i = 0; i < table->n_ids; i++) KARMA_TRY(karma_i_builder_add_id(b, table->id_names[i], err));
    return KARMA_OK;
}

karma_status karma_i_builder_copy_roles(karma_i_builder *builder, const karma_table *table, int with_labels,
                                        karma_error *err) {
    if (with_labels) KARMA_TRY(copy_labels(builder, table, err));
    return copy_ids(builder, table, err);
}

karma_status karma_i_builder_copy_cells(karma_i_builder *builder, const karma_table *table, size_t row,
                                        karma_error *err) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    for (size_t k = 0; k < cells.count; k++)
        KARMA_TRY(karma_i_builder_add_cell(builder, cells.attribute[k], cells.value[k], err));
    return KARMA_OK;
}

static karma_status copy_columns_and_ids(karma_i_builder *b, const karma_table *table, karma_error *err) {
    b->table->is_matrix = table->is_matrix;
    if (table->reading) KARMA_TRY(karma_i_table_set_reading(b->table, table->reading, err));
    KARMA_TRY(karma_i_builder_copy_columns(b, table, err));
    return copy_ids(b, table, err);
}

karma_status karma_i_builder_end_row_like(karma_i_builder *builder, const karma_table *table, size_t row,
                                          karma_error *err) {
    karma_i_text *ids = karma_i_alloc(table->n_ids, sizeof *ids);
    double *targets = karma_i_alloc(table->n_targets, sizeof *targets);
    karma_status st = ids && targets ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < table->n_ids; i++) {
        const char *text = table->ids[row * table->n_ids + i];
        ids[i] = (karma_i_text){text, strlen(text)};
    }
    for (size_t k = 0; st == KARMA_OK && k < table->n_targets; k++) targets[k] = table->targets[k].value[row];
    if (st == KARMA_OK) st = karma_i_builder_end_row(builder, targets, karma_table_row_weight(table, row), ids, err);
    karma_i_free(ids);
    karma_i_free(targets);
    return st;
}

static karma_status copy_row(karma_i_builder *b, const karma_table *table, size_t row, karma_error *err) {
    KARMA_TRY(karma_i_builder_copy_cells(b, table, row, err));
    return karma_i_builder_end_row_like(b, table, row, err);
}

karma_status karma_table_select(karma_table **out, const karma_table *table, const size_t *rows, size_t count,
                                karma_error *err) {
    for (size_t i = 0; i < count; i++)
        if (rows[i] >= table->n_rows)
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu of a table of %zu rows", rows[i], table->n_rows);
    karma_i_builder builder;
    KARMA_TRY(karma_i_builder_init(&builder, err));
    karma_status st = copy_columns_and_ids(&builder, table, err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++) st = copy_row(&builder, table, rows[i], err);
    if (st == KARMA_OK) st = karma_i_table_select_gram(builder.table, table, rows, err);
    if (st == KARMA_OK)
        karma_i_builder_finish(out, &builder);
    else
        karma_i_builder_clear(&builder);
    return st;
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
    for (size_t k = 0; k < table->n_targets; k++) clear_target(&table->targets[k]);
    karma_i_free(table->targets);
    karma_i_free(table->row_weight);
    karma_i_free(table->weight_name);
    karma_i_free(table->row_start);
    karma_i_free(table->cell_owner);
    karma_i_free(table->cell_value);
    karma_i_free(table->gram);
    karma_i_free(table->gram_column);
    free_reading(table);
    free_texts(table->id_names, table->n_ids);
    free_texts(table->ids, table->n_rows * table->n_ids);
    karma_i_free(table);
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
