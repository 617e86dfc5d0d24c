#include "table/table_archive.h"

#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "table/reading.h"

/* More rows or cells than any file has: products with their sizes do not overflow. */
static const size_t MOST = (size_t)1 << 48;

/* --- labels and weights ---------------------------------------------------------------------------------- */

/* The values of a target as bits: NaN is allowed. */
static karma_status archive_labels(karma_i_archive *a, karma_i_target *target, size_t number, size_t n_rows) {
    char name[48];
    uint64_t *bits = (uint64_t *)(void *)target->value;
    (void)snprintf(name, sizeof name, "labels%zu", number);
    karma_status st = karma_i_archive_u64(a, name, &bits, karma_i_vector_shape(n_rows));
    target->value = (double *)(void *)bits;
    return st;
}

static karma_status write_targets(karma_i_archive *a, const karma_table *t) {
    size_t n = t->n_targets;
    karma_i_column *columns = karma_i_alloc(n, sizeof *columns);
    if (!columns) return karma_i_archive_fail_memory(a);
    for (size_t k = 0; k < n; k++) columns[k] = t->targets[k].column;
    karma_status st = karma_i_columns_archive(a, "targets", &columns, &n);
    karma_i_free(columns);
    for (size_t k = 0; st == KARMA_OK && k < n; k++) st = archive_labels(a, &t->targets[k], k, t->n_rows);
    return st;
}

static karma_status read_targets(karma_i_archive *a, karma_table *t) {
    karma_i_column *columns = NULL;
    size_t n = 0;
    karma_status st = karma_i_columns_archive(a, "targets", &columns, &n);
    for (size_t k = 0; k < n; k++) {
        karma_i_target target = {.column = columns[k]};
        if (st == KARMA_OK) st = archive_labels(a, &target, k, t->n_rows);
        if (st == KARMA_OK)
            st = karma_i_table_append_target(t, target, NULL);
        else
            karma_i_target_clear(&target);
    }
    karma_i_free(columns);
    return st == KARMA_ERR_MEMORY ? karma_i_archive_fail_memory(a) : st;
}

static karma_status archive_weights(karma_i_archive *a, karma_table *t) {
    int is_there = t->weight_name != NULL;
    karma_i_archive_find(a, "weight", &is_there);
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_text(a, "weight", &t->weight_name));
    return karma_i_archive_f64(a, "weights", &t->row_weight, karma_i_vector_shape(t->n_rows), DBL_MAX);
}

/* --- ids ----------------------------------------------------------------------------------------------- */

/* All ids, one after the other, and where each ends. */
static karma_status write_ids(karma_i_archive *a, const karma_table *t) {
    size_t n = t->n_rows * t->n_ids, total = 0, *end = karma_i_alloc(n, sizeof *end);
    for (size_t i = 0; end && i < n; i++) end[i] = total += strlen(t->ids[i]);
    uint8_t *bytes = karma_i_alloc(total, 1);
    for (size_t i = 0; end && bytes && i < n; i++) memcpy(bytes + (i ? end[i - 1] : 0), t->ids[i], strlen(t->ids[i]));
    karma_status st = end && bytes ? KARMA_OK : karma_i_archive_fail_memory(a);
    if (st == KARMA_OK) st = karma_i_archive_sizes(a, "id_end", &end, karma_i_vector_shape(n));
    if (st == KARMA_OK) st = karma_i_archive_u8(a, "ids", &bytes, karma_i_vector_shape(total));
    return karma_i_archive_keep_all(a, (void *[]){end, bytes}, 2, st);
}

static karma_status cut_ids(const karma_i_archive *a, karma_table *t, const uint8_t *bytes, size_t n_bytes,
                            const size_t *end) {
    size_t n = t->n_rows * t->n_ids;
    if (!(t->ids = karma_i_zalloc(n, sizeof *t->ids))) return karma_i_archive_fail_memory(a);
    for (size_t i = 0; i < n; i++) {
        size_t start = i ? end[i - 1] : 0;
        if (end[i] < start || end[i] > n_bytes) return karma_i_archive_fail(a, "the ids do not follow one another");
        t->ids[i] = karma_i_strndup((const char *)bytes + start, end[i] - start);
        if (!t->ids[i]) return karma_i_archive_fail_memory(a);
        if (strlen(t->ids[i]) != end[i] - start || !karma_i_is_utf8(t->ids[i]))
            return karma_i_archive_fail(a, "an id is not a text");
    }
    return KARMA_OK;
}

static karma_status read_ids(karma_i_archive *a, karma_table *t) {
    size_t n_bytes = 0, *end = NULL;
    uint8_t *bytes = NULL;
    if (t->n_ids > MOST / (t->n_rows + 1)) return karma_i_archive_fail(a, "there are too many ids");
    KARMA_TRY(karma_i_archive_length(a, "ids", &n_bytes));
    karma_status st = karma_i_archive_sizes(a, "id_end", &end, karma_i_vector_shape(t->n_rows * t->n_ids));
    if (st == KARMA_OK) st = karma_i_archive_u8(a, "ids", &bytes, karma_i_vector_shape(n_bytes));
    if (st == KARMA_OK) st = cut_ids(a, t, bytes, n_bytes, end);
    karma_i_free(end);
    karma_i_free(bytes);
    return st;
}

/* --- the whole ----------------------------------------------------------------------------------------- */

static karma_status archive_cells(karma_i_archive *a, karma_table *t, size_t *n_cells) {
    KARMA_TRY(karma_i_archive_size(a, "cells", n_cells, 0, MOST));
    KARMA_TRY(karma_i_archive_lent_sizes(a, "row_start", &t->row_start, t->n_rows + 1));
    KARMA_TRY(karma_i_archive_lent_u32(a, "cell_owner", &t->cell_owner, *n_cells));
    return karma_i_archive_lent_f64(a, "cell_value", &t->cell_value, *n_cells);
}

static karma_status archive_table(karma_i_archive *a, karma_table *t, size_t *n_cells) {
    KARMA_TRY(karma_i_archive_flag(a, "is_matrix", &t->is_matrix));
    KARMA_TRY(karma_i_archive_size(a, "rows", &t->n_rows, 0, MOST));
    KARMA_TRY(karma_i_columns_archive(a, "columns", &t->attributes, &t->n_attributes));
    KARMA_TRY(archive_cells(a, t, n_cells));
    KARMA_TRY(karma_i_archive_is_reading(a) ? read_targets(a, t) : write_targets(a, t));
    KARMA_TRY(archive_weights(a, t));
    KARMA_TRY(karma_i_reading_archive(a, &t->reading));
    return karma_i_archive_texts(a, "id_names", &t->id_names, &t->n_ids);
}

karma_status karma_i_table_archive(karma_i_archive *a, const karma_table *table) {
    size_t n_cells = karma_table_n_observed(table);
    KARMA_TRY(archive_table(a, (karma_table *)table, &n_cells)); /* writing changes nothing */
    return table->n_ids ? write_ids(a, table) : KARMA_OK;
}

/* Checks that the cells of all rows are within those of the file, then that they are valid for their
 * columns. */
static karma_status check_table(const karma_i_archive *a, const karma_table *t, size_t n_cells) {
    karma_error fault = {0};
    int is_sound = t->row_start[0] == 0 && t->row_start[t->n_rows] == n_cells;
    for (size_t i = 0; i < t->n_rows; i++) is_sound &= t->row_start[i] <= t->row_start[i + 1];
    if (!is_sound) return karma_i_archive_fail(a, "its rows do not follow one another");
    if (karma_table_validate(t, &fault) == KARMA_OK) return KARMA_OK;
    return karma_i_archive_fail(a, "%s", fault.message);
}

karma_status karma_i_table_restore(karma_table **out, karma_i_archive *a, const char *folder, karma_error *err) {
    size_t n_cells = 0;
    karma_table *t = karma_i_zalloc(1, sizeof *t);
    if (!t) return karma_i_fail_memory(err);
    karma_status st = karma_i_storage_new(&t->storage, folder, err);
    if (st == KARMA_OK) st = archive_table(a, t, &n_cells);
    if (st == KARMA_OK && t->n_ids) st = read_ids(a, t);
    if (st == KARMA_OK) st = check_table(a, t, n_cells);
    if (st == KARMA_OK)
        *out = t;
    else if (t->storage)
        karma_table_free(t);
    else
        karma_i_free(t);
    return st;
}
