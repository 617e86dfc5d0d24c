#include "table/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { MOST_LEVELS = 1000 };

static void free_texts(char **texts, size_t n) {
    for (size_t i = 0; texts && i < n; i++) karma_i_free(texts[i]);
    karma_i_free(texts);
}

/* Index of an attribute by name; n_attributes: there is none. */
static size_t find_attribute(const karma_table *table, const char *name, size_t length) {
    size_t j = 0;
    while (j < table->n_attributes &&
           (strlen(table->attributes[j].name) != length || memcmp(table->attributes[j].name, name, length) != 0))
        j++;
    return j;
}

static size_t find_text(char *const *texts, size_t n, const char *text) {
    size_t i = 0;
    while (i < n && strcmp(texts[i], text) != 0) i++;
    return i;
}

/* In the order of rows. */
static int by_row(const void *a, const void *b) {
    const karma_i_text_cell *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

/* Cells whose level has no place in the order are recorded, so that predictions can name them. */
static karma_status remember_dropped(karma_table *table, size_t attribute, const size_t *place_of_level,
                                     karma_error *err) {
    size_t n = table->n_text_cells, capacity = n;
    for (size_t i = 0; i < table->n_rows; i++)
        for (size_t k = table->row_start[i]; k < table->row_start[i + 1]; k++) {
            if (table->cell_owner[k] != attribute || place_of_level[(size_t)table->cell_value[k]]) continue;
            if (!karma_i_reserve(&table->text_cells, &capacity, n + 1, sizeof *table->text_cells))
                return karma_i_fail_memory(err);
            table->text_cells[n++] = (karma_i_text_cell){i, attribute};
        }
    if (n > table->n_text_cells && table->n_text_cells) qsort(table->text_cells, n, sizeof *table->text_cells, by_row);
    table->n_text_cells = n;
    return KARMA_OK;
}

/* Replaces the cells of an attribute by their places in the order, counted from 1; cells whose level has none
 * (place 0) are removed.
 */
static void renumber(karma_table *table, size_t attribute, const size_t *place_of_level) {
    size_t to = 0, from = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        size_t end = table->row_start[i + 1];
        for (; from < end; from++) {
            double value = table->cell_value[from];
            if (table->cell_owner[from] == attribute) value = (double)place_of_level[(size_t)value];
            if (table->cell_owner[from] == attribute && value == 0.0) continue;
            table->cell_owner[to] = table->cell_owner[from];
            table->cell_value[to++] = value;
        }
        table->row_start[i + 1] = to;
    }
}

/* `order` is moved into the column, unless this fails. */
static karma_status order_attribute(karma_table *table, size_t attribute, char **order, size_t n, int all_named,
                                    karma_error *err) {
    karma_i_column *column = &table->attributes[attribute];
    size_t *place = karma_i_alloc(column->n_levels, sizeof *place);
    if (!place) return karma_i_fail_memory(err);
    for (size_t l = 0; l < column->n_levels; l++) {
        size_t at = find_text(order, n, column->levels[l]);
        place[l] = at < n ? at + 1 : 0;
        if (at == n && all_named) {
            karma_i_free(place);
            return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': the order does not name '%s'", column->name,
                                column->levels[l]);
        }
    }
    karma_status st = remember_dropped(table, attribute, place, err);
    if (st == KARMA_OK) renumber(table, attribute, place);
    karma_i_free(place);
    if (st != KARMA_OK) return st;
    free_texts(column->levels, column->n_levels);
    column->kind = KARMA_COLUMN_NUMBER;
    column->levels = order;
    column->n_levels = n;
    return KARMA_OK;
}

/* A new array of the texts between '<': distinct, at least two. */
static karma_status split_order(char ***out, size_t *n_out, const char *text, const char *whole, karma_error *err) {
    char **order = karma_i_zalloc(MOST_LEVELS, sizeof *order);
    size_t n = 0;
    karma_status st = order ? KARMA_OK : karma_i_fail_memory(err);
    for (const char *at = text; st == KARMA_OK; at++) {
        size_t length = strcspn(at, "<");
        char *level = karma_i_strndup(at, length);
        if (!level)
            st = karma_i_fail_memory(err);
        else if (n == MOST_LEVELS || length == 0 || find_text(order, n, level) < n) {
            karma_i_free(level);
            st = karma_i_fail(err, KARMA_ERR_OPTION, "option 'ordered' '%s': write each level once, separated by <",
                              whole);
        } else
            order[n++] = level;
        at += length;
        if (!*at) break;
    }
    if (st == KARMA_OK && n < 2)
        st = karma_i_fail(err, KARMA_ERR_OPTION,
                          "option 'ordered' '%s': an order needs at least two levels: COL=low<high", whole);
    if (st == KARMA_OK) {
        *out = order;
        *n_out = n;
    } else
        free_texts(order, n);
    return st;
}

karma_status karma_i_table_order(karma_table *table, const char *text, karma_error *err) {
    const char *equals = strchr(text, '=');
    size_t attribute = table->n_attributes;
    /* a name may contain =: take the first = that ends a column's name */
    for (; equals; equals = strchr(equals + 1, '='))
        if ((attribute = find_attribute(table, text, (size_t)(equals - text))) < table->n_attributes) break;
    if (!equals)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "option 'ordered' '%s': there is no column of this name; write COL=low<medium<high", text);
    if (table->attributes[attribute].kind != KARMA_COLUMN_CATEGORY)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "option 'ordered': column '%s' holds numbers, which are ordered already",
                            table->attributes[attribute].name);
    char **order;
    size_t n;
    KARMA_TRY(split_order(&order, &n, equals + 1, text, err));
    karma_status st = order_attribute(table, attribute, order, n, 1, err);
    if (st != KARMA_OK) free_texts(order, n);
    return st;
}

karma_status karma_i_table_order_like(karma_table *table, const karma_i_column *known, karma_error *err) {
    size_t attribute = find_attribute(table, known->name, strlen(known->name));
    if (attribute == table->n_attributes || table->attributes[attribute].kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    karma_i_column copy;
    KARMA_TRY(karma_i_column_copy(&copy, known, err));
    karma_status st = order_attribute(table, attribute, copy.levels, copy.n_levels, 0, err);
    if (st == KARMA_OK) copy.levels = NULL, copy.n_levels = 0;
    karma_i_column_clear(&copy);
    return st;
}

/* A new array with copies of the texts: distinct, at least two. *err names the column. */
static karma_status copy_order(char ***out, const char *name, const char *const *levels, size_t n, karma_error *err) {
    char **order = karma_i_zalloc(n, sizeof *order);
    karma_status st = order ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && n < 2)
        st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s': an order needs at least two levels", name);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) {
        if (find_text(order, i, levels[i]) < i)
            st = karma_i_fail(err, KARMA_ERR_DATA, "column '%s': the order names '%s' twice", name, levels[i]);
        else if (!(order[i] = karma_i_strdup(levels[i])))
            st = karma_i_fail_memory(err);
    }
    if (st == KARMA_OK)
        *out = order;
    else
        free_texts(order, n);
    return st;
}

karma_status karma_table_order_category(karma_table *table, const char *name, const char *const *levels,
                                        size_t n_levels, karma_error *err) {
    size_t attribute = find_attribute(table, name, strlen(name));
    if (attribute == table->n_attributes || table->attributes[attribute].kind != KARMA_COLUMN_CATEGORY)
        return karma_i_fail(err, KARMA_ERR_DATA, "column '%s': there is no category of this name", name);
    char **order;
    KARMA_TRY(copy_order(&order, name, levels, n_levels, err));
    karma_status st = order_attribute(table, attribute, order, n_levels, 1, err);
    if (st != KARMA_OK) free_texts(order, n_levels);
    return st;
}
