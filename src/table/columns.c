/* A table built column by column, from a caller's arrays. Columns are stored as one number per row, NaN for a
 * missing cell, and become compressed rows at the end. */
#include "table/columns.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/numbers.h"
#include "table/builder.h"

typedef struct waiting_column {
    karma_i_column column;
    double *values; /* one per row */
} waiting_column;

typedef struct id_column {
    char *name;
    char **texts; /* one per row */
} id_column;

struct karma_columns {
    size_t n_rows;
    waiting_column *columns;
    size_t n_columns, capacity;
    id_column *ids;
    size_t n_ids, id_capacity;
};

karma_status karma_columns_new(karma_columns **out, size_t n_rows, karma_error *err) {
    karma_columns *columns = karma_i_zalloc(1, sizeof *columns);
    if (!columns) return karma_i_fail_memory(err);
    columns->n_rows = n_rows;
    *out = columns;
    return KARMA_OK;
}

static void free_id_column(id_column *id, size_t n_rows) {
    for (size_t i = 0; id->texts && i < n_rows; i++) karma_i_free(id->texts[i]);
    karma_i_free(id->texts);
    karma_i_free(id->name);
}

void karma_columns_free(karma_columns *columns) {
    if (!columns) return;
    for (size_t j = 0; j < columns->n_columns; j++) {
        karma_i_column_clear(&columns->columns[j].column);
        karma_i_free(columns->columns[j].values);
    }
    for (size_t k = 0; k < columns->n_ids; k++) free_id_column(&columns->ids[k], columns->n_rows);
    karma_i_free(columns->columns);
    karma_i_free(columns->ids);
    karma_i_free(columns);
}

/* --- adding columns ------------------------------------------------------------------------------------ */

/* Takes over the levels and the values of `column`, not its name. */
static karma_status add_column(karma_columns *columns, waiting_column column, const char *name, karma_error *err) {
    column.column.name = karma_i_strdup(name);
    if (column.column.name &&
        karma_i_reserve(&columns->columns, &columns->capacity, columns->n_columns + 1, sizeof *columns->columns)) {
        columns->columns[columns->n_columns++] = column;
        return KARMA_OK;
    }
    karma_i_column_clear(&column.column);
    karma_i_free(column.values);
    return karma_i_fail_memory(err);
}

karma_status karma_i_columns_take_numbers(karma_columns *columns, const char *name, double *values, karma_error *err) {
    for (size_t i = 0; i < columns->n_rows; i++)
        if (isinf(values[i])) {
            karma_i_free(values);
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, column '%.60s': the value is infinite", i + 1,
                                name ? name : "");
        }
    return add_column(columns, (waiting_column){{.kind = KARMA_COLUMN_NUMBER}, values}, name, err);
}

karma_status karma_columns_add_numbers(karma_columns *columns, const char *name, const void *values,
                                       karma_number_type type, ptrdiff_t stride, const unsigned char *missing,
                                       karma_error *err) {
    KARMA_TRY(karma_i_check_number_type(type, err));
    double *own = karma_i_alloc(columns->n_rows, sizeof *own);
    if (!own) return karma_i_fail_memory(err);
    for (size_t i = 0; i < columns->n_rows; i++)
        own[i] = missing && missing[i] ? NAN : karma_i_number_at((const char *)values + (ptrdiff_t)i * stride, type);
    return karma_i_columns_take_numbers(columns, name, own, err);
}

/* The index of each given level in the sorted list; SIZE_MAX: missing. */
static karma_status sort_levels(karma_i_column *out, size_t *place, const karma_i_text *levels, size_t n_levels,
                                const unsigned char *is_used, karma_error *err) {
    char **texts = karma_i_zalloc(n_levels, sizeof *texts);
    size_t n_used = 0, n_kept = 0;
    karma_status st = texts ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < n_levels; k++) {
        if (!is_used[k] || levels[k].length == 0) continue;
        texts[n_used] = karma_i_strndup(levels[k].text, levels[k].length);
        if (!texts[n_used++]) st = karma_i_fail_memory(err);
    }
    if (st != KARMA_OK) {
        for (size_t k = 0; texts && k < n_used; k++) karma_i_free(texts[k]);
        karma_i_free(texts);
        return st;
    }
    karma_i_sort_texts(texts, n_used);
    for (size_t k = 0; k < n_used; k++) {
        if (n_kept && strcmp(texts[n_kept - 1], texts[k]) == 0)
            karma_i_free(texts[k]);
        else
            texts[n_kept++] = texts[k];
    }
    *out = (karma_i_column){.kind = KARMA_COLUMN_CATEGORY, .levels = texts, .n_levels = n_kept};
    for (size_t k = 0; k < n_levels; k++)
        place[k] = levels[k].length ? karma_i_column_find_level(out, levels[k].text, levels[k].length) : SIZE_MAX;
    return KARMA_OK;
}

static karma_status check_codes(const double *codes, size_t n_rows, const char *name, size_t n_levels,
                                unsigned char *is_used, karma_error *err) {
    for (size_t i = 0; i < n_rows; i++) {
        if (isnan(codes[i])) continue;
        if (!(codes[i] >= 0.0 && codes[i] < (double)n_levels))
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu, column '%.60s': code %.0f, and there are %zu levels",
                                i + 1, name ? name : "", codes[i], n_levels);
        is_used[(size_t)codes[i]] = 1;
    }
    return KARMA_OK;
}

karma_status karma_i_columns_take_codes(karma_columns *columns, const char *name, double *codes,
                                        const karma_i_text *levels, size_t n_levels, karma_error *err) {
    unsigned char *is_used = karma_i_zalloc(n_levels, 1);
    size_t *place = karma_i_alloc(n_levels, sizeof *place);
    karma_i_column column = {0};
    karma_status st = is_used && place ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = check_codes(codes, columns->n_rows, name, n_levels, is_used, err);
    if (st == KARMA_OK) st = sort_levels(&column, place, levels, n_levels, is_used, err);
    for (size_t i = 0; st == KARMA_OK && i < columns->n_rows; i++) {
        if (isnan(codes[i])) continue;
        size_t level = place[(size_t)codes[i]];
        codes[i] = level == SIZE_MAX ? NAN : (double)level;
    }
    karma_i_free(is_used);
    karma_i_free(place);
    if (st == KARMA_OK) return add_column(columns, (waiting_column){column, codes}, name, err);
    karma_i_free(codes);
    return st;
}

karma_status karma_columns_add_categories(karma_columns *columns, const char *name, const int32_t *codes,
                                          ptrdiff_t stride, const char *const *levels, size_t n_levels,
                                          karma_error *err) {
    double *own = karma_i_alloc(columns->n_rows, sizeof *own);
    karma_i_text *texts = karma_i_alloc(n_levels, sizeof *texts);
    if (!own || !texts) {
        karma_i_free(own);
        karma_i_free(texts);
        return karma_i_fail_memory(err);
    }
    for (size_t k = 0; k < n_levels; k++) texts[k] = (karma_i_text){levels[k], strlen(levels[k])};
    for (size_t i = 0; i < columns->n_rows; i++) {
        double code = karma_i_number_at((const char *)codes + (ptrdiff_t)i * stride, KARMA_INT32);
        own[i] = code < 0.0 ? NAN : code;
    }
    karma_status st = karma_i_columns_take_codes(columns, name, own, texts, n_levels, err);
    karma_i_free(texts);
    return st;
}

karma_status karma_columns_add_texts(karma_columns *columns, const char *name, const char *const *texts,
                                     karma_error *err) {
    size_t n_levels = 0;
    karma_i_column column = {.kind = KARMA_COLUMN_CATEGORY};
    double *codes = karma_i_alloc(columns->n_rows, sizeof *codes);
    if (codes) column.levels = karma_i_distinct_texts(texts, columns->n_rows, &n_levels);
    if (!column.levels) {
        karma_i_free(codes);
        return karma_i_fail_memory(err);
    }
    column.n_levels = n_levels;
    for (size_t i = 0; i < columns->n_rows; i++)
        codes[i] = texts[i] && *texts[i] ? (double)karma_i_column_find_level(&column, texts[i], strlen(texts[i])) : NAN;
    return add_column(columns, (waiting_column){column, codes}, name, err);
}

karma_status karma_columns_add_ids(karma_columns *columns, const char *name, const char *const *texts,
                                   karma_error *err) {
    id_column id = {karma_i_strdup(name), karma_i_zalloc(columns->n_rows, sizeof *id.texts)};
    int ok = id.name && id.texts &&
             karma_i_reserve(&columns->ids, &columns->id_capacity, columns->n_ids + 1, sizeof *columns->ids);
    for (size_t i = 0; ok && i < columns->n_rows; i++)
        ok = (id.texts[i] = karma_i_strdup(texts[i] ? texts[i] : "")) != NULL;
    if (!ok) {
        free_id_column(&id, columns->n_rows);
        return karma_i_fail_memory(err);
    }
    columns->ids[columns->n_ids++] = id;
    return KARMA_OK;
}

/* --- the table ----------------------------------------------------------------------------------------- */

/* Columns are matched by name later, so no two may share one. */
static karma_status check_column_names(const karma_columns *columns, karma_error *err) {
    const char **names = karma_i_alloc(columns->n_columns, sizeof *names);
    if (!names) return karma_i_fail_memory(err);
    for (size_t j = 0; j < columns->n_columns; j++) names[j] = columns->columns[j].column.name;
    karma_status st = karma_i_check_names(names, columns->n_columns, err);
    karma_i_free(names);
    return st;
}

/* Moves levels out of the stored columns. */
static karma_status make_columns(karma_i_builder *b, karma_columns *columns, karma_error *err) {
    for (size_t j = 0; j < columns->n_columns; j++) {
        karma_i_column *column = &columns->columns[j].column;
        char **levels = column->levels;
        column->levels = NULL;
        KARMA_TRY(karma_i_builder_add_attribute(b, column->name, column->kind, levels, column->n_levels, err));
        column->n_levels = 0;
    }
    for (size_t k = 0; k < columns->n_ids; k++) KARMA_TRY(karma_i_builder_add_id(b, columns->ids[k].name, err));
    return KARMA_OK;
}

static karma_status add_rows(karma_i_builder *b, const karma_columns *columns, karma_i_text *ids, karma_error *err) {
    for (size_t i = 0; i < columns->n_rows; i++) {
        for (size_t j = 0; j < columns->n_columns; j++) {
            double value = columns->columns[j].values[i];
            if (!isnan(value)) KARMA_TRY(karma_i_builder_add_cell(b, j, value, err));
        }
        for (size_t k = 0; k < columns->n_ids; k++)
            ids[k] = (karma_i_text){columns->ids[k].texts[i], strlen(columns->ids[k].texts[i])};
        KARMA_TRY(karma_i_builder_end_row(b, NULL, 1.0, ids, err));
    }
    return KARMA_OK;
}

karma_status karma_columns_finish(karma_table **out, karma_columns *columns, karma_error *err) {
    karma_i_builder builder;
    karma_i_text *ids = karma_i_alloc(columns->n_ids, sizeof *ids);
    karma_status st = ids ? check_column_names(columns, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_builder_init(&builder, err);
    if (st == KARMA_OK) {
        st = make_columns(&builder, columns, err);
        if (st == KARMA_OK) st = add_rows(&builder, columns, ids, err);
        if (st == KARMA_OK)
            karma_i_builder_finish(out, &builder);
        else
            karma_i_builder_clear(&builder);
    }
    karma_i_free(ids);
    karma_columns_free(columns);
    return st;
}
