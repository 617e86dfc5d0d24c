/* Cells of new rows that are unlike those of the training rows. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/model.h"
#include "table/order.h"

typedef struct flag_list {
    karma_cell_flags flags;
    size_t capacity;
} flag_list;

static karma_status add_flag(flag_list *list, size_t row, size_t attribute, karma_cell_flag why, karma_error *err) {
    karma_cell_flags *f = &list->flags;
    if (!karma_i_reserve(&f->cells, &list->capacity, f->n_cells + 1, sizeof *f->cells)) return karma_i_fail_memory(err);
    f->cells[f->n_cells++] = (karma_flagged_cell){row, attribute, why};
    return KARMA_OK;
}

/* Whether an observed cell is flagged, and how. `levels`: those of the table in the recipe. */
static int flag_of(karma_cell_flag *why, const karma_i_column *column, const ptrdiff_t *levels, double value) {
    if (column->kind == KARMA_COLUMN_CATEGORY) {
        *why = KARMA_CELL_UNSEEN;
        return levels[(size_t)value] == KARMA_I_UNKNOWN;
    }
    if (karma_i_column_is_ordered(column)) return 0; /* it has a place in the order */
    *why = value < column->low ? KARMA_CELL_BELOW : KARMA_CELL_ABOVE;
    return value < column->low || value > column->high; /* never where the range is not known */
}

static karma_status flag_row(flag_list *list, const karma_i_recipe *recipe, const karma_table *table,
                             const karma_i_matching *match, size_t row, karma_error *err) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    for (size_t k = 0; k < cells.count; k++) {
        ptrdiff_t attribute = match->attribute[cells.attribute[k]];
        karma_cell_flag why;
        if (attribute != KARMA_I_UNKNOWN &&
            flag_of(&why, &recipe->columns[attribute], match->level[cells.attribute[k]], cells.value[k]))
            KARMA_TRY(add_flag(list, row, (size_t)attribute, why, err));
    }
    return KARMA_OK;
}

static karma_status flag_rows(flag_list *list, const karma_i_recipe *recipe, const karma_table *table,
                              const karma_i_matching *match, karma_error *err) {
    size_t text = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        KARMA_TRY(flag_row(list, recipe, table, match, i, err));
        for (; text < table->n_text_cells && table->text_cells[text].row == i; text++) {
            ptrdiff_t attribute = match->attribute[table->text_cells[text].attribute];
            if (attribute == KARMA_I_UNKNOWN) continue;
            int is_ordered = karma_i_column_is_ordered(&recipe->columns[attribute]);
            KARMA_TRY(add_flag(list, i, (size_t)attribute, is_ordered ? KARMA_CELL_UNSEEN : KARMA_CELL_TEXT, err));
        }
    }
    return KARMA_OK;
}

karma_status karma_flag_cells(karma_cell_flags *out, const karma_model *model, const karma_table *table,
                              karma_error *err) {
    flag_list list = {{NULL, 0}, 0};
    karma_i_matching match;
    if (karma_model_is_precomputed(model)) {
        *out = list.flags;
        return KARMA_OK;
    }
    KARMA_TRY(karma_i_encoder_check_matrix(&model->encoder, model->info.n_columns, table, err));
    KARMA_TRY(karma_i_recipe_match(&match, karma_i_model_recipe(model), table, err));
    karma_status st = flag_rows(&list, karma_i_model_recipe(model), table, &match, err);
    karma_i_matching_clear(&match);
    if (st == KARMA_OK)
        *out = list.flags;
    else
        karma_cell_flags_clear(&list.flags);
    return st;
}

void karma_cell_flags_clear(karma_cell_flags *flags) {
    if (!flags) return;
    karma_i_free(flags->cells);
    *flags = (karma_cell_flags){NULL, 0};
}

int karma_model_attribute_range(const karma_model *model, size_t attribute, double *low, double *high) {
    const karma_i_column *column = &karma_i_model_recipe(model)->columns[attribute];
    if (column->kind != KARMA_COLUMN_NUMBER || column->n_levels || !isfinite(column->low)) return 0;
    *low = column->low;
    *high = column->high;
    return 1;
}
