#include "table/rows.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

/* A copy of the first `used` of an array's items in a new array of `count`, the rest 0. NULL: out of memory. */
static void *enlarged(const void *old, size_t used, size_t count, size_t size) {
    char *grown = karma_i_alloc_aligned(count + 1, size ? size : 1);
    if (!grown) return NULL;
    if (used) memcpy(grown, old, used * size);
    memset(grown + used * size, 0, (count - used) * size);
    return grown;
}

static int set_capacity(karma_i_rows *rows, size_t capacity) {
    if (rows->is_sparse) {
        size_t *start =
            enlarged(rows->cell_start, rows->cell_start ? rows->n_rows + 1 : 0, capacity + 1, sizeof *start);
        if (!start) return 0;
        karma_i_free(rows->cell_start);
        rows->cell_start = start;
        rows->capacity = capacity;
        return 1;
    }
    size_t value_size = rows->n_features * sizeof *rows->values, mask_size = rows->n_words * sizeof *rows->mask;
    float *values = enlarged(rows->values, rows->n_rows, capacity, value_size);
    uint64_t *mask = enlarged(rows->mask, rows->n_rows, capacity, mask_size);
    uint8_t *ranks = enlarged(rows->ranks, rows->n_rows, capacity, rows->rank_stride);
    if (!values || !mask || !ranks) {
        karma_i_free(values);
        karma_i_free(mask);
        karma_i_free(ranks);
        return 0;
    }
    karma_i_free(rows->values);
    karma_i_free(rows->mask);
    karma_i_free(rows->ranks);
    rows->values = values;
    rows->mask = mask;
    rows->ranks = ranks;
    rows->capacity = capacity;
    return 1;
}

karma_status karma_i_rows_new_ranked(karma_i_rows **out, size_t n_attributes, const size_t *feature_start,
                                     const unsigned char *is_ranked, size_t capacity, karma_error *err) {
    karma_i_rows *rows = karma_i_zalloc(1, sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
    rows->n_attributes = n_attributes;
    rows->n_features = feature_start[n_attributes];
    rows->n_words = karma_i_mask_words(n_attributes);
    rows->feature_start = karma_i_alloc(n_attributes + 1, sizeof *rows->feature_start);
    rows->ranked = karma_i_zalloc(rows->n_words, sizeof *rows->ranked);
    for (size_t j = 0; rows->ranked && is_ranked && j < n_attributes; j++) {
        if (!is_ranked[j]) continue;
        karma_i_mask_set(rows->ranked, j);
        rows->rank_stride = (n_attributes + 7) / 8 * 8;
    }
    if (!rows->feature_start || !rows->ranked || !set_capacity(rows, capacity)) {
        karma_i_rows_free(rows);
        return karma_i_fail_memory(err);
    }
    memcpy(rows->feature_start, feature_start, (n_attributes + 1) * sizeof *feature_start);
    *out = rows;
    return KARMA_OK;
}

karma_status karma_i_rows_new(karma_i_rows **out, size_t n_attributes, const size_t *feature_start, size_t capacity,
                              karma_error *err) {
    return karma_i_rows_new_ranked(out, n_attributes, feature_start, NULL, capacity, err);
}

karma_status karma_i_rows_new_sparse(karma_i_rows **out, size_t n_attributes, size_t capacity, karma_error *err) {
    karma_i_rows *rows = karma_i_zalloc(1, sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
    rows->is_sparse = 1;
    rows->n_attributes = rows->n_features = n_attributes;
    if (!set_capacity(rows, capacity) ||
        !karma_i_reserve(&rows->cell_attribute, &rows->attribute_capacity, 1, sizeof *rows->cell_attribute) ||
        !karma_i_reserve(&rows->cell_value, &rows->value_capacity, 1, sizeof *rows->cell_value)) {
        karma_i_rows_free(rows);
        return karma_i_fail_memory(err);
    }
    *out = rows;
    return KARMA_OK;
}

/* The cells of the row that is being added stand behind those of all rows; cell_start[n_rows + 1] is where it ends. */
static size_t open_end(const karma_i_rows *rows) {
    size_t closed = rows->cell_start[rows->n_rows];
    return rows->n_rows < rows->capacity && rows->cell_start[rows->n_rows + 1] > closed
               ? rows->cell_start[rows->n_rows + 1]
               : closed;
}

karma_status karma_i_rows_add_cell(karma_i_rows *rows, size_t attribute, float value, karma_error *err) {
    if (rows->n_rows == rows->capacity && !set_capacity(rows, rows->capacity + rows->capacity / 2 + 64))
        return karma_i_fail_memory(err);
    size_t end = open_end(rows);
    if (!karma_i_reserve(&rows->cell_attribute, &rows->attribute_capacity, end + 1, sizeof *rows->cell_attribute) ||
        !karma_i_reserve(&rows->cell_value, &rows->value_capacity, end + 1, sizeof *rows->cell_value))
        return karma_i_fail_memory(err);
    rows->cell_attribute[end] = (uint32_t)attribute;
    rows->cell_value[end] = value;
    rows->cell_start[rows->n_rows + 1] = end + 1;
    return KARMA_OK;
}

karma_status karma_i_rows_make_cells(karma_i_rows *rows, size_t n_cells, karma_error *err) {
    if (!karma_i_reserve(&rows->cell_attribute, &rows->attribute_capacity, n_cells, sizeof *rows->cell_attribute) ||
        !karma_i_reserve(&rows->cell_value, &rows->value_capacity, n_cells, sizeof *rows->cell_value))
        return karma_i_fail_memory(err);
    rows->cell_start[rows->n_rows] = n_cells;
    return KARMA_OK;
}

karma_status karma_i_rows_end_sparse(karma_i_rows *rows, karma_error *err) {
    if (rows->n_rows == rows->capacity && !set_capacity(rows, rows->capacity + rows->capacity / 2 + 64))
        return karma_i_fail_memory(err);
    rows->cell_start[rows->n_rows + 1] = open_end(rows);
    rows->n_rows++;
    return KARMA_OK;
}

static karma_status new_encoding_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity,
                                      karma_error *err) {
    if (other->is_sparse) return karma_i_rows_new_sparse(out, other->n_attributes, capacity, err);
    unsigned char *is_ranked = karma_i_zalloc(other->n_attributes, 1);
    if (!is_ranked) return karma_i_fail_memory(err);
    for (size_t j = 0; j < other->n_attributes; j++) is_ranked[j] = (unsigned char)karma_i_mask_get(other->ranked, j);
    karma_status st = karma_i_rows_new_ranked(out, other->n_attributes, other->feature_start, is_ranked, capacity, err);
    karma_i_free(is_ranked);
    return st;
}

karma_status karma_i_rows_new_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(new_encoding_like(&rows, other, capacity, err));
    karma_status st = other->next ? karma_i_rows_new_like(&rows->next, other->next, capacity, err) : KARMA_OK;
    if (st == KARMA_OK)
        *out = rows;
    else
        karma_i_rows_free(rows);
    return st;
}

void karma_i_rows_free(karma_i_rows *rows) {
    if (!rows) return;
    karma_i_rows_free(rows->next);
    karma_i_free(rows->feature_start);
    karma_i_free(rows->values);
    karma_i_free(rows->mask);
    karma_i_free(rows->ranked);
    karma_i_free(rows->ranks);
    karma_i_free(rows->cell_start);
    karma_i_free(rows->cell_attribute);
    karma_i_free(rows->cell_value);
    karma_i_free(rows);
}

static void copy_row(karma_i_rows *rows, size_t to, const karma_i_rows *source, size_t from) {
    memcpy(rows->values + to * rows->n_features, karma_i_rows_values(source, from),
           rows->n_features * sizeof *rows->values);
    memcpy(rows->mask + to * rows->n_words, karma_i_rows_mask(source, from), rows->n_words * sizeof *rows->mask);
    memcpy(rows->ranks + to * rows->rank_stride, karma_i_rows_ranks(source, from), rows->rank_stride);
}

static karma_status append_sparse(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err) {
    for (size_t k = source->cell_start[index]; k < source->cell_start[index + 1]; k++)
        KARMA_TRY(karma_i_rows_add_cell(rows, source->cell_attribute[k], source->cell_value[k], err));
    return karma_i_rows_end_sparse(rows, err);
}

static karma_status append_encoded(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err) {
    if (rows->is_sparse) return append_sparse(rows, source, index, err);
    if (rows->n_rows == rows->capacity && !set_capacity(rows, rows->capacity + rows->capacity / 2 + 64))
        return karma_i_fail_memory(err);
    copy_row(rows, rows->n_rows, source, index);
    rows->n_rows++;
    return KARMA_OK;
}

karma_status karma_i_rows_append(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err) {
    for (; rows; rows = rows->next, source = source->next) KARMA_TRY(append_encoded(rows, source, index, err));
    return KARMA_OK;
}

static karma_status gather_encoded(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                   karma_error *err) {
    rows->n_rows = 0;
    if (count > rows->capacity && !set_capacity(rows, count)) return karma_i_fail_memory(err);
    if (rows->is_sparse) memset(rows->cell_start, 0, (rows->capacity + 1) * sizeof *rows->cell_start);
    for (size_t i = 0; rows->is_sparse && i < count; i++) KARMA_TRY(append_sparse(rows, source, index[i], err));
    if (rows->is_sparse) return KARMA_OK;
    for (size_t i = 0; i < count; i++) copy_row(rows, i, source, index[i]);
    rows->n_rows = count;
    return KARMA_OK;
}

karma_status karma_i_rows_gather(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                 karma_error *err) {
    for (; rows; rows = rows->next, source = source->next)
        KARMA_TRY(gather_encoded(rows, source, index, count, err));
    return KARMA_OK;
}

static karma_status validate_sparse(const karma_i_rows *rows, karma_error *err) {
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (rows->cell_start[i + 1] < rows->cell_start[i])
            return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu ends before it starts", i);
        for (size_t k = rows->cell_start[i]; k < rows->cell_start[i + 1]; k++)
            if (rows->cell_attribute[k] >= rows->n_attributes || !isfinite(rows->cell_value[k]) ||
                (k > rows->cell_start[i] && rows->cell_attribute[k] <= rows->cell_attribute[k - 1]))
                return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu: a cell is not as it should be", i);
    }
    return KARMA_OK;
}

static karma_status validate_encoded(const karma_i_rows *rows, karma_error *err) {
    if (rows->is_sparse) return validate_sparse(rows, err);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const float *values = karma_i_rows_values(rows, i);
        const uint64_t *mask = karma_i_rows_mask(rows, i);
        for (size_t j = 0; j < rows->n_attributes; j++) {
            int observed = karma_i_mask_get(mask, j);
            int has_byte = rows->rank_stride && karma_i_rows_ranks(rows, i)[j] != 0;
            if (has_byte != (observed && rows->rank_stride && karma_i_mask_get(rows->ranked, j)))
                return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu, attribute %zu: its rank is wrong", i, j);
            for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++)
                if (observed ? !isfinite(values[f]) : values[f] != 0.0F)
                    return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu, attribute %zu: %s", i, j,
                                        observed ? "a value is not finite" : "unobserved, but its value is not 0");
        }
        size_t used = rows->n_attributes % 64;
        if (used && mask[rows->n_words - 1] >> used)
            return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu: mask bits beyond the last attribute", i);
    }
    return KARMA_OK;
}

karma_status karma_i_rows_validate(const karma_i_rows *rows, karma_error *err) {
    for (; rows; rows = rows->next) KARMA_TRY(validate_encoded(rows, err));
    return KARMA_OK;
}

size_t karma_i_rows_n_observed(const karma_i_rows *rows, size_t row) {
    if (rows->is_sparse) return rows->cell_start[row + 1] - rows->cell_start[row];
    const uint64_t *mask = karma_i_rows_mask(rows, row);
    return karma_i_mask_overlap(mask, mask, rows->n_words);
}

double karma_i_rows_square(const karma_i_rows *rows, size_t row) {
    const float *x = rows->is_sparse ? rows->cell_value + rows->cell_start[row] : karma_i_rows_values(rows, row);
    size_t n = rows->is_sparse ? karma_i_rows_n_observed(rows, row) : rows->n_features;
    double sum = 0.0;
    for (size_t f = 0; f < n; f++) sum += (double)x[f] * (double)x[f];
    return sum;
}
