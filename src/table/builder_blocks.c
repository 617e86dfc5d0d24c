/* Copies blocks of rows that were parsed in parallel into a table. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/builder.h"

karma_status karma_i_builder_extend(karma_i_builder *builder, size_t n_rows, size_t n_cells, karma_error *err) {
    karma_table *t = builder->table;
    size_t rows = t->n_rows + n_rows, cells = builder->n_cells + n_cells;
    KARMA_TRY(karma_i_builder_reserve(builder, rows, cells, err));
    if ((t->row_weight && !karma_i_reserve(&t->row_weight, &builder->weight_capacity, rows, sizeof *t->row_weight)) ||
        (t->n_ids && !karma_i_reserve(&t->ids, &builder->id_capacity, rows * t->n_ids, sizeof *t->ids)))
        return karma_i_fail_memory(err);
    for (size_t i = t->n_rows * t->n_ids; i < rows * t->n_ids; i++) t->ids[i] = NULL;
    t->n_rows = rows;
    builder->n_cells = cells;
    return KARMA_OK;
}

static int place_ids(karma_table *t, size_t first_row, const karma_i_row_block *block) {
    size_t start = 0;
    for (size_t i = 0; i < block->n_rows * t->n_ids; i++) {
        char *copy = karma_i_strndup(block->id_bytes + start, block->id_end[i] - start);
        if (!copy) return 0;
        t->ids[first_row * t->n_ids + i] = copy;
        start = block->id_end[i];
    }
    return 1;
}

int karma_i_builder_place(karma_i_builder *builder, size_t first_row, size_t first_cell,
                          const karma_i_row_block *block) {
    karma_table *t = builder->table;
    for (size_t i = 0; i < block->n_rows; i++) t->row_start[first_row + i + 1] = first_cell + block->row_end[i];
    if (block->n_cells) {
        memcpy(t->cell_owner + first_cell, block->owner, block->n_cells * sizeof *block->owner);
        memcpy(t->cell_value + first_cell, block->value, block->n_cells * sizeof *block->value);
    }
    if (t->row_weight && block->n_rows)
        memcpy(t->row_weight + first_row, block->weights, block->n_rows * sizeof *block->weights);
    return place_ids(t, first_row, block);
}

karma_status karma_i_builder_set_labels(karma_i_builder *builder, const double *labels, karma_error *err) {
    karma_table *t = builder->table;
    for (size_t k = 0; k < t->n_targets; k++) {
        double *value = karma_i_alloc(t->n_rows, sizeof *value);
        if (!value) return karma_i_fail_memory(err);
        for (size_t i = 0; i < t->n_rows; i++) value[i] = labels[i * t->n_targets + k];
        karma_i_free(t->targets[k].value);
        t->targets[k].value = value;
    }
    builder->target_capacity = t->n_rows;
    return KARMA_OK;
}

/* Shrinks an array; keeps the old one if that fails. */
static void *shrunk(void *array, size_t count, size_t size) {
    void *smaller = karma_i_realloc(array, count, size);
    return smaller ? smaller : array;
}

void karma_i_builder_trim(karma_i_builder *builder) {
    karma_table *t = builder->table;
    size_t rows = t->n_rows + 1, cells = builder->n_cells + 1;
    if (t->storage) return;
    t->row_start = shrunk(t->row_start, rows, sizeof *t->row_start);
    t->cell_owner = shrunk(t->cell_owner, cells, sizeof *t->cell_owner);
    t->cell_value = shrunk(t->cell_value, cells, sizeof *t->cell_value);
    builder->row_capacity = rows;
    builder->owner_capacity = builder->cell_capacity = cells;
}
