/* Chains of encodings, and functions common to all representations. */
#include "table/rows.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void *karma_i_rows_enlarged(const void *old, size_t used, size_t count, size_t size) {
    char *grown = karma_i_alloc_aligned(count + 1, size ? size : 1);
    if (!grown) return NULL;
    if (used) memcpy(grown, old, used * size);
    memset(grown + used * size, 0, (count - used) * size);
    return grown;
}

karma_status karma_i_rows_new_handle(karma_i_rows **out, const karma_i_rows_ops *ops, void *data, karma_error *err) {
    karma_i_rows *rows = karma_i_zalloc(1, sizeof *rows);
    if (!rows) {
        ops->free_data(data);
        return karma_i_fail_memory(err);
    }
    rows->ops = ops;
    rows->data = data;
    *out = rows;
    return KARMA_OK;
}

karma_status karma_i_rows_new_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    karma_i_rows *first = NULL, **end = &first;
    karma_status st = KARMA_OK;
    for (; st == KARMA_OK && other; other = other->next) {
        st = other->ops->new_like(end, other, capacity, err);
        if (st == KARMA_OK) end = &(*end)->next;
    }
    if (st == KARMA_OK)
        *out = first;
    else
        karma_i_rows_free(first);
    return st;
}

void karma_i_rows_free(karma_i_rows *rows) {
    while (rows) {
        karma_i_rows *next = rows->next;
        rows->ops->free_data(rows->data);
        karma_i_free(rows);
        rows = next;
    }
}

/* One row stands for all. */
static size_t place_of(const karma_i_rows *encoding, size_t index) {
    return encoding->n_rows == 1 ? 0 : index;
}

karma_status karma_i_rows_append(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err) {
    for (; rows; rows = rows->next, source = source->next)
        KARMA_TRY(rows->ops->append(rows, source, place_of(source, index), NULL, err));
    return KARMA_OK;
}

karma_status karma_i_rows_append_some(karma_i_rows *rows, const karma_i_rows *source, size_t index,
                                      const unsigned char *wanted, karma_error *err) {
    return rows->ops->append(rows, source, index, wanted, err);
}

static karma_status gather_encoding(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                    karma_error *err) {
    rows->ops->clear(rows);
    if (!rows->ops->reserve(rows, count)) return karma_i_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        KARMA_TRY(rows->ops->append(rows, source, place_of(source, index[i]), NULL, err));
    return KARMA_OK;
}

karma_status karma_i_rows_gather(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                 karma_error *err) {
    for (; rows; rows = rows->next, source = source->next) KARMA_TRY(gather_encoding(rows, source, index, count, err));
    return KARMA_OK;
}

karma_status karma_i_rows_select_encoding(karma_i_rows **out, const karma_i_rows *source, const size_t *index,
                                          size_t count, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(source->ops->new_like(&rows, source, count, err));
    karma_status st = gather_encoding(rows, source, index, count, err);
    if (st == KARMA_OK)
        *out = rows;
    else
        karma_i_rows_free(rows);
    return st;
}

void karma_i_rows_hide(karma_i_rows *rows, size_t row, size_t attribute) {
    for (; rows; rows = rows->next) rows->ops->hide(rows, row, attribute);
}

karma_status karma_i_rows_validate(const karma_i_rows *rows, karma_error *err) {
    for (; rows; rows = rows->next) KARMA_TRY(rows->ops->validate(rows, err));
    return KARMA_OK;
}

void karma_i_rows_list_observed(size_t *out, const karma_i_rows *rows, size_t row) {
    karma_i_cell cell;
    for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, row, from); from = cell.attribute + 1)
        *out++ = cell.attribute;
}

size_t karma_i_rows_overlap(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    uint32_t overlap;
    karma_i_rows_overlaps(&overlap, a, i, (karma_i_view){b, j, 1});
    return overlap;
}

karma_status karma_i_rows_archive(karma_i_archive *a, karma_i_rows *rows, size_t n_rows, double limit) {
    karma_error fault = {0};
    KARMA_TRY(rows->ops->archive(a, rows, n_rows, limit));
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    rows->n_rows = n_rows;
    return rows->ops->validate(rows, &fault) == KARMA_OK ? KARMA_OK : karma_i_archive_fail(a, "%s", fault.message);
}
