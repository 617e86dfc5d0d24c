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

static int set_sparse_capacity(karma_i_rows *rows, size_t capacity) {
    size_t *start = enlarged(rows->cell_start, rows->cell_start ? rows->n_rows + 1 : 0, capacity + 1, sizeof *start);
    if (!start) return 0;
    karma_i_free(rows->cell_start);
    rows->cell_start = start;
    rows->capacity = capacity;
    return 1;
}

static int set_matrix_capacity(karma_i_rows *rows, size_t capacity) {
    size_t *row = enlarged(rows->matrix_row, rows->n_rows, capacity, sizeof *row);
    size_t *column = enlarged(rows->matrix_column, rows->n_rows, capacity, sizeof *column);
    if (!row || !column) {
        karma_i_free(row);
        karma_i_free(column);
        return 0;
    }
    karma_i_free(rows->matrix_row);
    karma_i_free(rows->matrix_column);
    rows->matrix_row = row;
    rows->matrix_column = column;
    rows->capacity = capacity;
    return 1;
}

static int set_capacity(karma_i_rows *rows, size_t capacity) {
    if (rows->is_matrix) return set_matrix_capacity(rows, capacity);
    if (rows->is_sparse) return set_sparse_capacity(rows, capacity);
    size_t n = rows->n_rows;
    float *values = enlarged(rows->values, n, capacity, rows->n_values * sizeof *values);
    uint64_t *mask = enlarged(rows->mask, n, capacity, rows->n_words * sizeof *mask);
    uint8_t *ranks = enlarged(rows->ranks, n, capacity, rows->rank_stride);
    uint16_t *codes = enlarged(rows->codes, n, capacity, rows->n_codes * sizeof *codes);
    int ok = values && mask && ranks && codes;
    karma_i_free(ok ? rows->values : values);
    karma_i_free(ok ? rows->mask : mask);
    karma_i_free(ok ? rows->ranks : ranks);
    karma_i_free(ok ? rows->codes : codes);
    if (!ok) return 0;
    rows->values = values;
    rows->mask = mask;
    rows->ranks = ranks;
    rows->codes = codes;
    rows->capacity = capacity;
    return 1;
}

/* What the traits ask for: slots in the order of the attributes. */
static void assign_slots(karma_i_rows *rows) {
    for (size_t j = 0; j < rows->n_attributes; j++) {
        if (karma_i_rows_has(rows, j, KARMA_I_CODED)) rows->slots[j].code = (uint32_t)rows->n_codes++;
        if (karma_i_rows_has(rows, j, KARMA_I_HAS_TERM)) rows->slots[j].term = (uint32_t)rows->n_terms++;
        if (!karma_i_rows_has(rows, j, KARMA_I_RANKED)) continue;
        karma_i_mask_set(rows->ranked, j);
        rows->rank_stride = (rows->n_attributes + 7) / 8 * 8;
    }
    rows->n_values = rows->n_features + 2 * rows->n_terms;
}

karma_status karma_i_rows_new_layout(karma_i_rows **out, const karma_i_rows_layout *layout, size_t capacity,
                                     karma_error *err) {
    size_t n = layout->n_attributes;
    karma_i_rows *rows = karma_i_zalloc(1, sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
    rows->n_attributes = n;
    rows->n_features = layout->feature_start[n];
    rows->n_words = karma_i_mask_words(n);
    /* a step of a byte is 1/254 */
    rows->centred_ranks = layout->centred_ranks;
    rows->rank_base = layout->centred_ranks ? 0.0 : 1.0;
    rows->rank_step = (layout->centred_ranks ? 3.0 : 2.0) / 254.0;
    rows->feature_start = karma_i_alloc(n + 1, sizeof *rows->feature_start);
    rows->traits = karma_i_zalloc(n, sizeof *rows->traits);
    rows->slots = karma_i_zalloc(n, sizeof *rows->slots);
    rows->ranked = karma_i_zalloc(rows->n_words, sizeof *rows->ranked);
    int ok = rows->feature_start && rows->traits && rows->slots && rows->ranked;
    if (ok) {
        memcpy(rows->feature_start, layout->feature_start, (n + 1) * sizeof *rows->feature_start);
        if (layout->traits) memcpy(rows->traits, layout->traits, n * sizeof *rows->traits);
        assign_slots(rows);
        ok = set_capacity(rows, capacity);
    }
    if (!ok) {
        karma_i_rows_free(rows);
        return karma_i_fail_memory(err);
    }
    *out = rows;
    return KARMA_OK;
}

karma_status karma_i_rows_new(karma_i_rows **out, size_t n_attributes, const size_t *feature_start, size_t capacity,
                              karma_error *err) {
    karma_i_rows_layout layout = {n_attributes, feature_start, NULL, 0};
    return karma_i_rows_new_layout(out, &layout, capacity, err);
}

karma_status karma_i_rows_new_sparse(karma_i_rows **out, size_t n_attributes, size_t capacity, karma_error *err) {
    karma_i_rows *rows = karma_i_zalloc(1, sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
    rows->is_sparse = 1;
    rows->n_attributes = rows->n_features = rows->n_values = n_attributes;
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

karma_status karma_i_rows_new_matrix(karma_i_rows **out, const float *matrix, size_t stride, size_t capacity,
                                     karma_error *err) {
    karma_i_rows *rows = karma_i_zalloc(1, sizeof *rows);
    if (!rows) return karma_i_fail_memory(err);
    rows->is_matrix = 1;
    rows->matrix = matrix;
    rows->matrix_stride = stride;
    if (!set_capacity(rows, capacity)) {
        karma_i_rows_free(rows);
        return karma_i_fail_memory(err);
    }
    *out = rows;
    return KARMA_OK;
}

karma_status karma_i_rows_add_matrix_row(karma_i_rows *rows, size_t matrix_row, size_t matrix_column,
                                         karma_error *err) {
    if (rows->n_rows == rows->capacity && !set_capacity(rows, rows->capacity + rows->capacity / 2 + 64))
        return karma_i_fail_memory(err);
    rows->matrix_row[rows->n_rows] = matrix_row;
    rows->matrix_column[rows->n_rows++] = matrix_column;
    return KARMA_OK;
}

static karma_status new_encoding_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity,
                                      karma_error *err) {
    if (other->is_matrix) {
        KARMA_TRY(karma_i_rows_new_matrix(out, other->matrix, other->matrix_stride, capacity, err));
        (*out)->overlap = other->overlap;
        (*out)->original = other->original;
        return KARMA_OK;
    }
    if (other->is_sparse) return karma_i_rows_new_sparse(out, other->n_attributes, capacity, err);
    karma_i_rows_layout layout = {other->n_attributes, other->feature_start, other->traits, other->centred_ranks};
    return karma_i_rows_new_layout(out, &layout, capacity, err);
}

karma_status karma_i_rows_new_like(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    karma_i_rows *first = NULL, **end = &first;
    karma_status st = KARMA_OK;
    for (; st == KARMA_OK && other; other = other->next) {
        st = new_encoding_like(end, other, capacity, err);
        if (st == KARMA_OK) end = &(*end)->next;
    }
    if (st == KARMA_OK)
        *out = first;
    else
        karma_i_rows_free(first);
    return st;
}

static void free_encoding(karma_i_rows *rows) {
    karma_i_free(rows->feature_start);
    karma_i_free(rows->traits);
    karma_i_free(rows->slots);
    karma_i_free(rows->values);
    karma_i_free(rows->mask);
    karma_i_free(rows->codes);
    karma_i_free(rows->ranked);
    karma_i_free(rows->ranks);
    karma_i_free(rows->cell_start);
    karma_i_free(rows->cell_attribute);
    karma_i_free(rows->cell_value);
    karma_i_free(rows->matrix_row);
    karma_i_free(rows->matrix_column);
    karma_i_free(rows);
}

void karma_i_rows_free(karma_i_rows *rows) {
    while (rows) {
        karma_i_rows *next = rows->next;
        free_encoding(rows);
        rows = next;
    }
}

static void copy_row(karma_i_rows *rows, size_t to, const karma_i_rows *source, size_t from) {
    memcpy(rows->values + to * rows->n_values, karma_i_rows_values(source, from),
           rows->n_values * sizeof *rows->values);
    memcpy(rows->mask + to * rows->n_words, karma_i_rows_mask(source, from), rows->n_words * sizeof *rows->mask);
    memcpy(rows->ranks + to * rows->rank_stride, karma_i_rows_ranks(source, from), rows->rank_stride);
    memcpy(rows->codes + to * rows->n_codes, karma_i_rows_codes(source, from), rows->n_codes * sizeof *rows->codes);
}

static karma_status append_sparse(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err) {
    for (size_t k = source->cell_start[index]; k < source->cell_start[index + 1]; k++)
        KARMA_TRY(karma_i_rows_add_cell(rows, source->cell_attribute[k], source->cell_value[k], err));
    return karma_i_rows_end_sparse(rows, err);
}

static karma_status append_encoded(karma_i_rows *rows, const karma_i_rows *source, size_t index, karma_error *err) {
    if (rows->is_matrix)
        return karma_i_rows_add_matrix_row(rows, source->matrix_row[index], source->matrix_column[index], err);
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
    for (size_t i = 0; rows->is_matrix && i < count; i++) KARMA_TRY(append_encoded(rows, source, index[i], err));
    if (rows->is_matrix) return KARMA_OK;
    if (rows->is_sparse) memset(rows->cell_start, 0, (rows->capacity + 1) * sizeof *rows->cell_start);
    for (size_t i = 0; rows->is_sparse && i < count; i++) KARMA_TRY(append_sparse(rows, source, index[i], err));
    if (rows->is_sparse) return KARMA_OK;
    for (size_t i = 0; i < count; i++) copy_row(rows, i, source, index[i]);
    rows->n_rows = count;
    return KARMA_OK;
}

karma_status karma_i_rows_gather(karma_i_rows *rows, const karma_i_rows *source, const size_t *index, size_t count,
                                 karma_error *err) {
    for (; rows; rows = rows->next, source = source->next) KARMA_TRY(gather_encoded(rows, source, index, count, err));
    return KARMA_OK;
}

/* Cells behind it move up. */
static void hide_sparse(karma_i_rows *rows, size_t row, size_t attribute) {
    size_t cell = karma_i_rows_find_cell(rows, row, attribute), end = karma_i_rows_n_cells(rows);
    if (cell == rows->cell_start[row + 1]) return;
    size_t n_behind = end - cell - 1;
    memmove(rows->cell_attribute + cell, rows->cell_attribute + cell + 1, n_behind * sizeof *rows->cell_attribute);
    memmove(rows->cell_value + cell, rows->cell_value + cell + 1, n_behind * sizeof *rows->cell_value);
    for (size_t i = row + 1; i <= rows->n_rows; i++) rows->cell_start[i]--;
}

static void hide_dense(karma_i_rows *rows, size_t row, size_t attribute) {
    size_t first = rows->feature_start[attribute], end = rows->feature_start[attribute + 1];
    float *values = rows->values + row * rows->n_values;
    karma_i_mask_clear(rows->mask + row * rows->n_words, attribute);
    for (size_t f = first; f < end; f++) values[f] = 0.0F;
    if (rows->rank_stride) rows->ranks[row * rows->rank_stride + attribute] = 0;
    if (karma_i_rows_has(rows, attribute, KARMA_I_CODED)) rows->codes[karma_i_rows_code_at(rows, row, attribute)] = 0;
    if (karma_i_rows_has(rows, attribute, KARMA_I_HAS_TERM)) {
        float *q = rows->values + karma_i_rows_term_at(rows, row, attribute);
        q[0] = q[rows->n_terms] = 0.0F;
    }
}

void karma_i_rows_hide(karma_i_rows *rows, size_t row, size_t attribute) {
    for (; rows; rows = rows->next)
        if (rows->is_sparse)
            hide_sparse(rows, row, attribute);
        else
            hide_dense(rows, row, attribute);
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

/* What is wrong with an attribute of a row; NULL: nothing. */
static const char *cell_fault(const karma_i_rows *rows, size_t i, size_t j) {
    int observed = karma_i_mask_get(karma_i_rows_mask(rows, i), j);
    const float *values = karma_i_rows_values(rows, i);
    for (size_t f = rows->feature_start[j]; f < rows->feature_start[j + 1]; f++)
        if (observed ? !isfinite(values[f]) : values[f] != 0.0F)
            return observed ? "a value is not finite" : "unobserved, but its value is not 0";
    int has_byte = rows->rank_stride && karma_i_rows_ranks(rows, i)[j] != 0;
    if (has_byte != (observed && karma_i_rows_has(rows, j, KARMA_I_RANKED))) return "its rank is wrong";
    if (karma_i_rows_has(rows, j, KARMA_I_CODED)) {
        uint16_t code = rows->codes[karma_i_rows_code_at(rows, i, j)];
        if ((code != 0) != observed || code > KARMA_I_MOST_CODES) return "its code is wrong";
    }
    if (karma_i_rows_has(rows, j, KARMA_I_HAS_TERM)) {
        const float *q = rows->values + karma_i_rows_term_at(rows, i, j);
        if (q[rows->n_terms] != (observed ? 1.0F : 0.0F) || !isfinite(*q) || (!observed && *q != 0.0F))
            return "its term is wrong";
    }
    return NULL;
}

static karma_status validate_matrix(const karma_i_rows *rows, karma_error *err) {
    for (size_t i = 0; i < rows->n_rows; i++)
        if (rows->matrix_column[i] >= rows->matrix_stride)
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu is none of the kernel matrix", i);
    return KARMA_OK;
}

static karma_status validate_encoded(const karma_i_rows *rows, karma_error *err) {
    if (rows->is_matrix) return validate_matrix(rows, err);
    if (rows->is_sparse) return validate_sparse(rows, err);
    for (size_t i = 0; i < rows->n_rows; i++) {
        for (size_t j = 0; j < rows->n_attributes; j++) {
            const char *fault = cell_fault(rows, i, j);
            if (fault) return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu, attribute %zu: %s", i, j, fault);
        }
        size_t used = rows->n_attributes % 64;
        if (used && karma_i_rows_mask(rows, i)[rows->n_words - 1] >> used)
            return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu: mask bits beyond the last attribute", i);
    }
    return KARMA_OK;
}

karma_status karma_i_rows_validate(const karma_i_rows *rows, karma_error *err) {
    for (; rows; rows = rows->next) KARMA_TRY(validate_encoded(rows, err));
    return KARMA_OK;
}

/* A row of precomputed parts is told by what it was made of. */
static void to_original(const karma_i_rows **rows, size_t *row) {
    if (!(*rows)->original) return;
    *row = (*rows)->matrix_row[*row];
    *rows = (*rows)->original;
}

size_t karma_i_rows_n_observed(const karma_i_rows *rows, size_t row) {
    to_original(&rows, &row);
    if (rows->is_matrix) return 0;
    if (rows->is_sparse) return rows->cell_start[row + 1] - rows->cell_start[row];
    const uint64_t *mask = karma_i_rows_mask(rows, row);
    return karma_i_mask_overlap(mask, mask, rows->n_words);
}

void karma_i_rows_list_observed(size_t *out, const karma_i_rows *rows, size_t row) {
    if (rows->is_sparse) {
        for (size_t k = rows->cell_start[row]; k < rows->cell_start[row + 1]; k++) *out++ = rows->cell_attribute[k];
        return;
    }
    const uint64_t *mask = karma_i_rows_mask(rows, row);
    for (size_t j = 0; j < rows->n_attributes; j++)
        if (karma_i_mask_get(mask, j)) *out++ = j;
}

static size_t sparse_overlap(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    size_t n = 0, k = a->cell_start[i], l = b->cell_start[j];
    while (k < a->cell_start[i + 1] && l < b->cell_start[j + 1]) {
        uint32_t own = a->cell_attribute[k], other = b->cell_attribute[l];
        n += own == other;
        k += own <= other;
        l += other <= own;
    }
    return n;
}

size_t karma_i_rows_overlap(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    if (a->is_sparse) return sparse_overlap(a, i, b, j);
    return karma_i_mask_overlap(karma_i_rows_mask(a, i), karma_i_rows_mask(b, j), a->n_words);
}

/* Σ κ_j(x, x) of what a row has beside features: a rank and a code are 0 away from and equal to themselves. */
static double square_of_traits(const karma_i_rows *rows, size_t row) {
    const float *q = karma_i_rows_values(rows, row) + rows->n_features;
    const uint16_t *codes = karma_i_rows_codes(rows, row);
    double sum = 0.0;
    if (rows->rank_stride)
        sum = rows->rank_base * (double)karma_i_mask_overlap(karma_i_rows_mask(rows, row), rows->ranked, rows->n_words);
    for (size_t k = 0; k < rows->n_codes; k++) sum += codes[k] != 0;
    for (size_t k = 0; k < rows->n_terms; k++) sum += 2.0 * (double)q[k];
    return sum;
}

double karma_i_rows_square(const karma_i_rows *rows, size_t row) {
    to_original(&rows, &row);
    if (rows->is_matrix)
        return (double)rows->matrix[rows->matrix_row[row] * rows->matrix_stride + rows->matrix_column[row]];
    const float *x = rows->is_sparse ? rows->cell_value + rows->cell_start[row] : karma_i_rows_values(rows, row);
    size_t n = rows->is_sparse ? karma_i_rows_n_observed(rows, row) : rows->n_features;
    double sum = rows->is_sparse ? 0.0 : square_of_traits(rows, row);
    for (size_t f = 0; f < n; f++) sum += (double)x[f] * (double)x[f];
    return sum;
}

size_t karma_i_rows_find_cell(const karma_i_rows *rows, size_t row, size_t attribute) {
    size_t low = rows->cell_start[row], end = rows->cell_start[row + 1], high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->cell_attribute[middle] < attribute)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && rows->cell_attribute[low] == attribute ? low : end;
}
