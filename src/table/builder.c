/* The builder: columns first, then row by row; and copies of another table's columns and rows. */
#include "table/builder.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

karma_status karma_i_builder_reserve(karma_i_builder *builder, size_t n_rows, size_t n_cells, karma_error *err) {
    karma_table *t = builder->table;
    karma_i_storage *s = t->storage;
    if (s) {
        KARMA_TRY(karma_i_mapped_reserve(&s->row_start, s->folder, &t->row_start, &builder->row_capacity, n_rows + 1,
                                         sizeof *t->row_start, err));
        KARMA_TRY(karma_i_mapped_reserve(&s->cell_owner, s->folder, &t->cell_owner, &builder->owner_capacity, n_cells,
                                         sizeof *t->cell_owner, err));
        return karma_i_mapped_reserve(&s->cell_value, s->folder, &t->cell_value, &builder->cell_capacity, n_cells,
                                      sizeof *t->cell_value, err);
    }
    if (karma_i_reserve(&t->row_start, &builder->row_capacity, n_rows + 1, sizeof *t->row_start) &&
        karma_i_reserve(&t->cell_owner, &builder->owner_capacity, n_cells, sizeof *t->cell_owner) &&
        karma_i_reserve(&t->cell_value, &builder->cell_capacity, n_cells, sizeof *t->cell_value))
        return KARMA_OK;
    return karma_i_fail_memory(err);
}

/* The arrays of cells are never NULL, so that the cells of an empty row have valid pointers. */
static karma_status start_arrays(karma_i_builder *builder, karma_error *err) {
    KARMA_TRY(karma_i_builder_reserve(builder, 0, 1, err));
    builder->table->row_start[0] = 0;
    return KARMA_OK;
}

karma_status karma_i_builder_init(karma_i_builder *builder, karma_error *err) {
    *builder = (karma_i_builder){0};
    karma_table *table = karma_i_zalloc(1, sizeof *table);
    if (!table) return karma_i_fail_memory(err);
    builder->table = table;
    karma_status st = start_arrays(builder, err);
    if (st != KARMA_OK) karma_i_builder_clear(builder);
    return st;
}

karma_status karma_i_builder_store(karma_i_builder *builder, const char *folder, karma_error *err) {
    karma_table *t = builder->table;
    karma_i_storage *storage;
    KARMA_TRY(karma_i_storage_new(&storage, folder, err));
    karma_i_free(t->row_start);
    karma_i_free(t->cell_owner);
    karma_i_free(t->cell_value);
    t->row_start = NULL;
    t->cell_owner = NULL;
    t->cell_value = NULL;
    t->storage = storage;
    builder->row_capacity = builder->owner_capacity = builder->cell_capacity = 0;
    return start_arrays(builder, err);
}

void karma_i_builder_clear(karma_i_builder *builder) {
    karma_table_free(builder->table);
    *builder = (karma_i_builder){0};
}

karma_status karma_i_builder_add_attribute(karma_i_builder *builder, const char *name, karma_column_kind kind,
                                           char **levels, size_t n_levels, karma_error *err) {
    karma_table *t = builder->table;
    if (t->n_attributes >= UINT32_MAX ||
        !karma_i_reserve(&t->attributes, &builder->attribute_capacity, t->n_attributes + 1, sizeof *t->attributes)) {
        karma_i_free_texts(levels, n_levels);
        return karma_i_fail_memory(err);
    }
    KARMA_TRY(karma_i_column_init(&t->attributes[t->n_attributes], name, kind, levels, n_levels, err));
    t->n_attributes++;
    return KARMA_OK;
}

karma_status karma_i_builder_name_columns(karma_i_builder *b, size_t n_columns, const char *const *names,
                                          karma_error *err) {
    b->table->is_matrix = !names;
    if (n_columns > karma_i_memory_limit() / sizeof(karma_i_column) || n_columns > UINT32_MAX)
        return karma_i_fail(err, KARMA_ERR_MEMORY, "%zu columns do not fit in memory", n_columns);
    if (names) KARMA_TRY(karma_i_check_names(names, n_columns, err));
    for (size_t j = 0; j < n_columns; j++) {
        char name[32];
        (void)snprintf(name, sizeof name, "c%zu", j + 1);
        KARMA_TRY(karma_i_builder_add_attribute(b, names ? names[j] : name, KARMA_COLUMN_NUMBER, NULL, 0, err));
    }
    return KARMA_OK;
}

karma_status karma_i_builder_add_target(karma_i_builder *builder, const char *name, karma_column_kind kind,
                                        char **levels, size_t n_levels, karma_error *err) {
    karma_i_target target = {0};
    KARMA_TRY(karma_i_column_init(&target.column, name, kind, levels, n_levels, err));
    return karma_i_table_append_target(builder->table, target, err);
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
    if (needed > builder->owner_capacity || needed > builder->cell_capacity)
        KARMA_TRY(karma_i_builder_reserve(builder, t->n_rows, needed, err));
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

/* The bytes that are always in memory. */
static int reserve_beside(karma_i_builder *builder, size_t rows) {
    karma_table *t = builder->table;
    return reserve_targets(builder, rows) &&
           (!t->row_weight ||
            karma_i_reserve(&t->row_weight, &builder->weight_capacity, rows, sizeof *t->row_weight)) &&
           (!t->n_ids || karma_i_reserve(&t->ids, &builder->id_capacity, rows * t->n_ids, sizeof *t->ids));
}

karma_status karma_i_builder_end_row(karma_i_builder *builder, const double *targets, double weight,
                                     const karma_i_text *ids, karma_error *err) {
    karma_table *t = builder->table;
    if (t->n_rows + 2 > builder->row_capacity)
        KARMA_TRY(karma_i_builder_reserve(builder, t->n_rows + 1, builder->n_cells, err));
    if (!reserve_beside(builder, t->n_rows + 1)) return karma_i_fail_memory(err);
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

/* --- copies of another table ------------------------------------------------------------------------------ */

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
