/* Columns: names, kinds and levels; and lists of texts. */
#include "table/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void karma_i_free_texts(char **texts, size_t n) {
    if (!texts) return;
    for (size_t i = 0; i < n; i++) karma_i_free(texts[i]);
    karma_i_free(texts);
}

void karma_i_column_clear(karma_i_column *column) {
    karma_i_free(column->name);
    karma_i_free_texts(column->levels, column->n_levels);
    *column = (karma_i_column){0};
}

static char **copy_texts(char *const *texts, size_t n) {
    char **copy = karma_i_zalloc(n, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = karma_i_strdup(texts[i]);
        if (!copy[i]) {
            karma_i_free_texts(copy, n);
            return NULL;
        }
    }
    return copy;
}

karma_status karma_i_column_init(karma_i_column *column, const char *name, karma_column_kind kind, char **levels,
                                 size_t n_levels, karma_error *err) {
    *column = (karma_i_column){
        .name = karma_i_strdup(name), .kind = kind, .levels = levels, .n_levels = n_levels, .low = NAN, .high = NAN};
    if (column->name) return KARMA_OK;
    karma_i_column_clear(column);
    return karma_i_fail_memory(err);
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
