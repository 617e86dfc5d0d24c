/* Columns in model files. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "table/order.h"

enum { NUMBER, CATEGORY, ORDERED, N_KINDS };
static const char *const kinds[N_KINDS] = {"number", "category", "ordered"};

/* The levels of a category ascend, those of an ordered one have their own order. */
static karma_status archive_levels(karma_i_archive *a, karma_i_column *column, int is_ordered) {
    KARMA_TRY(karma_i_archive_texts(a, "levels", &column->levels, &column->n_levels));
    if (column->n_levels == 0) return karma_i_archive_fail(a, "column '%.60s' has no levels", column->name);
    for (size_t l = 1; !is_ordered && l < column->n_levels; l++)
        if (strcmp(column->levels[l - 1], column->levels[l]) >= 0)
            return karma_i_archive_fail(a, "the levels of column '%.60s' are not in order", column->name);
    return KARMA_OK;
}

/* Only reported; older files do not have it. */
static karma_status archive_range(karma_i_archive *a, karma_i_column *column) {
    int is_there = isfinite(column->low) && isfinite(column->high);
    karma_i_archive_find(a, "low", &is_there);
    if (karma_i_archive_is_reading(a)) column->low = column->high = NAN;
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_measure(a, "low", &column->low));
    return karma_i_archive_measure(a, "high", &column->high);
}

static karma_status archive_column(karma_i_archive *a, void *item) {
    karma_i_column *column = item;
    int kind = karma_i_column_is_ordered(column) ? ORDERED : column->kind == KARMA_COLUMN_CATEGORY ? CATEGORY : NUMBER;
    KARMA_TRY(karma_i_archive_text(a, "name", &column->name));
    KARMA_TRY(karma_i_archive_word(a, "kind", &kind, kinds, N_KINDS));
    if (karma_i_archive_is_reading(a)) column->kind = kind == CATEGORY ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER;
    return kind == NUMBER ? archive_range(a, column) : archive_levels(a, column, kind == ORDERED);
}

karma_status karma_i_columns_archive(karma_i_archive *a, const char *name, karma_i_column **columns, size_t *n) {
    return karma_i_archive_list(a, name, columns, n, sizeof **columns, archive_column);
}
