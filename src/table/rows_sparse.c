#include "table/rows_sparse.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Rows indexed at a time. Tiles are wide, because a row of b costs a step for each of its cells however few
 * rows of a there are. */
enum { TILE_ROWS = 256, TILE_COLUMNS = 4096 };

static const karma_i_rows_ops sparse_ops;

/* --- memory ----------------------------------------------------------------------------------------------- */

static void free_sparse(void *data) {
    karma_i_sparse *s = data;
    karma_i_free(s->feature_start);
    karma_i_free(s->cell_start);
    karma_i_free(s->cell_attribute);
    karma_i_free(s->cell_value);
    karma_i_free(s);
}

/* Room for `capacity` rows, of which the first n are kept. */
static int set_capacity(karma_i_sparse *s, size_t n, size_t capacity) {
    size_t *start =
        karma_i_rows_enlarged(s->cell_start, s->cell_start ? n + 1 : 0, capacity + 1, sizeof *s->cell_start);
    if (!start) return 0;
    karma_i_free(s->cell_start);
    s->cell_start = start;
    s->capacity = capacity;
    return 1;
}

static int reserve_sparse(karma_i_rows *rows, size_t n_rows) {
    karma_i_sparse *s = rows->data;
    return n_rows <= s->capacity || set_capacity(s, rows->n_rows, n_rows);
}

static int reserve_cells(karma_i_sparse *s, size_t n_cells) {
    return karma_i_reserve(&s->cell_attribute, &s->attribute_capacity, n_cells, sizeof *s->cell_attribute) &&
           karma_i_reserve(&s->cell_value, &s->value_capacity, n_cells, sizeof *s->cell_value);
}

karma_status karma_i_rows_new_sparse(karma_i_rows **out, size_t n_attributes, size_t capacity, karma_error *err) {
    karma_i_sparse *s = karma_i_zalloc(1, sizeof *s);
    if (!s) return karma_i_fail_memory(err);
    s->n_attributes = n_attributes;
    s->feature_start = karma_i_alloc(n_attributes + 1, sizeof *s->feature_start);
    if (!s->feature_start || !set_capacity(s, 0, capacity) || !reserve_cells(s, 1)) {
        free_sparse(s);
        return karma_i_fail_memory(err);
    }
    for (size_t j = 0; j <= n_attributes; j++) s->feature_start[j] = j;
    KARMA_TRY(karma_i_rows_new_handle(out, &sparse_ops, s, err));
    (*out)->n_attributes = (*out)->n_features = n_attributes;
    (*out)->feature_start = s->feature_start;
    return KARMA_OK;
}

static karma_status new_like_sparse(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    return karma_i_rows_new_sparse(out, other->n_attributes, capacity, err);
}

static void clear_sparse(karma_i_rows *rows) {
    rows->n_rows = karma_i_sparse_of(rows)->n_cells = 0;
}

/* --- changing rows ---------------------------------------------------------------------------------------- */

karma_status karma_i_rows_add_cell(karma_i_rows *rows, size_t attribute, float value, karma_error *err) {
    karma_i_sparse *s = rows->data;
    if (!reserve_cells(s, s->n_cells + 1)) return karma_i_fail_memory(err);
    s->cell_attribute[s->n_cells] = (uint32_t)attribute;
    s->cell_value[s->n_cells++] = value;
    return KARMA_OK;
}

karma_status karma_i_rows_end_sparse(karma_i_rows *rows, karma_error *err) {
    karma_i_sparse *s = rows->data;
    if (rows->n_rows == s->capacity && !set_capacity(s, rows->n_rows, karma_i_rows_grown(s->capacity)))
        return karma_i_fail_memory(err);
    s->cell_start[++rows->n_rows] = s->n_cells;
    return KARMA_OK;
}

static karma_status append_sparse(karma_i_rows *rows, const karma_i_rows *source, size_t index,
                                  const unsigned char *wanted, karma_error *err) {
    const karma_i_sparse *from = source->data;
    size_t end = from->cell_start[index + 1];
    for (size_t k = from->cell_start[index]; k < end; k++)
        if (!wanted || wanted[from->cell_attribute[k]])
            KARMA_TRY(karma_i_rows_add_cell(rows, from->cell_attribute[k], from->cell_value[k], err));
    return karma_i_rows_end_sparse(rows, err);
}

/* The first cell of a row whose attribute is `from` or greater, or the row's end. */
static size_t find_cell(const karma_i_sparse *s, size_t row, size_t from) {
    size_t low = s->cell_start[row], high = s->cell_start[row + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->cell_attribute[middle] < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The cell of an attribute; NULL: it is missing. */
static const float *value_of(const karma_i_sparse *s, size_t row, size_t attribute) {
    size_t cell = find_cell(s, row, attribute);
    return cell < s->cell_start[row + 1] && s->cell_attribute[cell] == attribute ? &s->cell_value[cell] : NULL;
}

/* Cells after it move up. */
static void hide_sparse(karma_i_rows *rows, size_t row, size_t attribute) {
    karma_i_sparse *s = rows->data;
    if (!value_of(s, row, attribute)) return;
    size_t cell = find_cell(s, row, attribute), n_behind = s->n_cells - cell - 1;
    memmove(s->cell_attribute + cell, s->cell_attribute + cell + 1, n_behind * sizeof *s->cell_attribute);
    memmove(s->cell_value + cell, s->cell_value + cell + 1, n_behind * sizeof *s->cell_value);
    for (size_t i = row + 1; i <= rows->n_rows; i++) s->cell_start[i]--;
    s->n_cells--;
}

/* Cells of each row follow those of the row before, and the last ends where they end. */
static karma_status validate_starts(const karma_i_rows *rows, karma_error *err) {
    const karma_i_sparse *s = rows->data;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (s->cell_start[i + 1] < s->cell_start[i])
            return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu ends before it starts", i);
    if (s->cell_start[0] != 0 || s->cell_start[rows->n_rows] != s->n_cells)
        return karma_i_fail(err, KARMA_ERR_DATA, "encoded rows do not fit their cells");
    return KARMA_OK;
}

static karma_status validate_sparse(const karma_i_rows *rows, karma_error *err) {
    const karma_i_sparse *s = rows->data;
    KARMA_TRY(validate_starts(rows, err));
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t k = s->cell_start[i]; k < s->cell_start[i + 1]; k++)
            if (s->cell_attribute[k] >= s->n_attributes || !isfinite(s->cell_value[k]) ||
                (k > s->cell_start[i] && s->cell_attribute[k] <= s->cell_attribute[k - 1]))
                return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu: a cell is not valid", i);
    return KARMA_OK;
}

/* --- reading rows ------------------------------------------------------------------------------------------ */

static size_t n_observed_sparse(const karma_i_rows *rows, size_t row) {
    const size_t *start = karma_i_sparse_of(rows)->cell_start;
    return start[row + 1] - start[row];
}

static int next_cell_sparse(karma_i_cell *out, const karma_i_rows *rows, size_t row, size_t from) {
    const karma_i_sparse *s = rows->data;
    size_t cell = find_cell(s, row, from);
    if (cell == s->cell_start[row + 1]) return 0;
    *out = (karma_i_cell){
        .attribute = s->cell_attribute[cell], .features = &s->cell_value[cell], .n_features = 1, .term = NULL};
    return 1;
}

static karma_i_cell_count most_cells_sparse(const karma_i_rows *rows, size_t first, size_t count) {
    const size_t *start = karma_i_sparse_of(rows)->cell_start + first;
    return (karma_i_cell_count){start[count] - start[0], start[count] - start[0]};
}

static karma_i_cell_writer list_cells_sparse(karma_i_cell_writer to, const karma_i_rows *rows, size_t row,
                                             const double *mean) {
    const karma_i_sparse *s = rows->data;
    for (size_t c = s->cell_start[row]; c < s->cell_start[row + 1]; c++) {
        uint32_t j = s->cell_attribute[c];
        *to.attribute++ = *to.feature++ = j;
        *to.x++ = (double)s->cell_value[c] - mean[j];
    }
    return to;
}

static int same_holes_sparse(const karma_i_rows *a, const karma_i_rows *b) {
    const karma_i_sparse *s = a->data, *t = b->data;
    return s->n_cells == t->n_cells &&
           memcmp(s->cell_start, t->cell_start, (a->n_rows + 1) * sizeof *s->cell_start) == 0 &&
           memcmp(s->cell_attribute, t->cell_attribute, s->n_cells * sizeof *s->cell_attribute) == 0;
}

static uint32_t overlap(const karma_i_sparse *a, size_t i, const karma_i_sparse *b, size_t j) {
    uint32_t n = 0;
    size_t k = a->cell_start[i], l = b->cell_start[j];
    while (k < a->cell_start[i + 1] && l < b->cell_start[j + 1]) {
        uint32_t own = a->cell_attribute[k], other = b->cell_attribute[l];
        n += own == other;
        k += own <= other;
        l += other <= own;
    }
    return n;
}

static void overlaps_sparse(uint32_t *out, const karma_i_rows *a, size_t i, karma_i_view b) {
    for (size_t j = 0; j < b.count; j++) out[j] = overlap(a->data, i, b.rows->data, b.first + j);
}

static double kappa_sparse(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute) {
    const float *x = value_of(a->data, i, attribute), *y = x ? value_of(b->data, j, attribute) : NULL;
    return y ? (double)*x * (double)*y : 0.0;
}

static double square_sparse(const karma_i_rows *rows, size_t row) {
    const karma_i_sparse *s = rows->data;
    double sum = 0.0;
    for (size_t k = s->cell_start[row]; k < s->cell_start[row + 1]; k++)
        sum += (double)s->cell_value[k] * (double)s->cell_value[k];
    return sum;
}

/* --- tiles ---------------------------------------------------------------------------------------------------
 * The cost depends on the observed cells, never on the number of attributes. The cells of a tile's rows a are
 * sorted by attribute. Each row of b then goes through its own cells and meets exactly the rows of a that share the
 * attribute: one step per common cell, plus one per cell. Pairs without a common attribute all have the
 * same value, which is filled in beforehand. */

typedef struct indexed_cell {
    float value;
    uint32_t row; /* of the tile */
} indexed_cell;

/* One thread's scratch: the cells of the indexed rows by attribute. Between tiles all numbers are 0. */
typedef struct tile_index {
    float sums[TILE_ROWS]; /* of the current row of b */
    uint32_t counts[TILE_ROWS];
    uint32_t met[TILE_ROWS]; /* the rows of a it has met */
    uint32_t *begin, *end;   /* by attribute: start and end of its cells; equal if it has none */
    uint32_t *seen;          /* the attributes that occur */
    size_t n_seen;
    indexed_cell *cells;
} tile_index;

static size_t tile_scratch_sparse(karma_i_view a, const karma_i_weighting *weighting) {
    const karma_i_sparse *s = a.rows->data;
    size_t most = 0;
    (void)weighting;
    for (size_t i = 0; i < a.count; i += TILE_ROWS) {
        size_t count = a.count - i < TILE_ROWS ? a.count - i : TILE_ROWS;
        size_t cells = most_cells_sparse(a.rows, a.first + i, count).cells;
        if (cells > most) most = cells;
    }
    if (most >= UINT32_MAX) return SIZE_MAX; /* more than can be indexed or held in memory */
    return sizeof(tile_index) + most * sizeof(indexed_cell) + 3 * s->n_attributes * sizeof(uint32_t);
}

/* The arrays come after the index. */
static tile_index *index_at(void *scratch, const karma_i_sparse *s) {
    tile_index *x = scratch;
    x->begin = (uint32_t *)(void *)(x + 1);
    x->end = x->begin + s->n_attributes;
    x->seen = x->end + s->n_attributes;
    x->cells = (indexed_cell *)(void *)(x->seen + s->n_attributes);
    return x;
}

/* Sorting by counting. Only attributes that occur are touched. */
static void fill_index(tile_index *x, karma_i_view a) {
    const karma_i_sparse *s = a.rows->data;
    size_t last = s->cell_start[a.first + a.count];
    uint32_t place = 0;
    x->n_seen = 0;
    for (size_t k = s->cell_start[a.first]; k < last; k++)
        if (x->end[s->cell_attribute[k]]++ == 0) x->seen[x->n_seen++] = s->cell_attribute[k];
    for (size_t k = 0; k < x->n_seen; k++) {
        uint32_t count = x->end[x->seen[k]];
        x->begin[x->seen[k]] = x->end[x->seen[k]] = place; /* the end follows as cells come */
        place += count;
    }
    for (size_t i = 0; i < a.count; i++)
        for (size_t k = s->cell_start[a.first + i]; k < s->cell_start[a.first + i + 1]; k++)
            x->cells[x->end[s->cell_attribute[k]]++] = (indexed_cell){s->cell_value[k], (uint32_t)i};
}

static void empty_index(tile_index *x) {
    for (size_t k = 0; k < x->n_seen; k++) x->begin[x->seen[k]] = x->end[x->seen[k]] = 0;
}

/* Sums and counts over the common attributes of row j of b and the indexed rows it meets; returns how many those are.
 */
static size_t meet(tile_index *x, const karma_i_sparse *b, size_t j) {
    size_t n_met = 0;
    for (size_t k = b->cell_start[j]; k < b->cell_start[j + 1]; k++) {
        float value = b->cell_value[k];
        uint32_t end = x->end[b->cell_attribute[k]];
        for (uint32_t c = x->begin[b->cell_attribute[k]]; c < end; c++) {
            uint32_t row = x->cells[c].row;
            if (x->counts[row]++ == 0) x->met[n_met++] = row;
            x->sums[row] += value * x->cells[c].value;
        }
    }
    return n_met;
}

static void tile_sparse(float *out, size_t ld, karma_i_view a, karma_i_view b, const karma_i_weighting *weighting,
                        void *scratch) {
    tile_index *x = index_at(scratch, a.rows->data);
    float add = weighting->add, apart = add * weighting->weight[0];
    for (size_t i = 0; i < a.count; i++)
        for (size_t j = 0; j < b.count; j++) out[i * ld + j] = apart;
    fill_index(x, a);
    for (size_t j = 0; j < b.count; j++) {
        size_t n_met = meet(x, b.rows->data, b.first + j);
        for (size_t m = 0; m < n_met; m++) {
            uint32_t i = x->met[m];
            out[i * ld + j] = (x->sums[i] + add) * weighting->weight[x->counts[i]];
            x->sums[i] = 0.0F;
            x->counts[i] = 0;
        }
    }
    empty_index(x);
}

/* --- model files ---------------------------------------------------------------------------------------------- */

/* Cells of each row follow those of the row before, and the last ends where they end. */
static int are_starts(const size_t *start, size_t n, size_t n_cells) {
    if (start[0] != 0 || start[n] != n_cells) return 0;
    for (size_t i = 0; i < n; i++)
        if (start[i + 1] < start[i]) return 0;
    return 1;
}

static karma_status archive_sparse(karma_i_archive *a, karma_i_rows *rows, size_t n, double limit) {
    karma_i_sparse *s = rows->data;
    size_t n_cells = s->n_cells;
    KARMA_TRY(karma_i_archive_length(a, "cell_attribute", &n_cells));
    KARMA_TRY(karma_i_archive_u32(a, "cell_attribute", &s->cell_attribute, karma_i_vector_shape(n_cells)));
    KARMA_TRY(karma_i_archive_sizes(a, "cell_start", &s->cell_start, karma_i_vector_shape(n + 1)));
    KARMA_TRY(karma_i_archive_f32(a, "cell_value", &s->cell_value, karma_i_vector_shape(n_cells), limit));
    if (!are_starts(s->cell_start, n, n_cells)) return karma_i_archive_fail(a, "its rows do not fit its cells");
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    s->n_cells = s->attribute_capacity = s->value_capacity = n_cells;
    s->capacity = n;
    return KARMA_OK;
}

static const karma_i_rows_ops sparse_ops = {.name = "sparse",
                                            .tile_rows = TILE_ROWS,
                                            .tile_columns = TILE_COLUMNS,
                                            .new_like = new_like_sparse,
                                            .free_data = free_sparse,
                                            .reserve = reserve_sparse,
                                            .clear = clear_sparse,
                                            .append = append_sparse,
                                            .hide = hide_sparse,
                                            .validate = validate_sparse,
                                            .n_observed = n_observed_sparse,
                                            .next_cell = next_cell_sparse,
                                            .most_cells = most_cells_sparse,
                                            .list_cells = list_cells_sparse,
                                            .same_holes = same_holes_sparse,
                                            .overlaps = overlaps_sparse,
                                            .kappa = kappa_sparse,
                                            .square = square_sparse,
                                            .tile_scratch = tile_scratch_sparse,
                                            .tile = tile_sparse,
                                            .archive = archive_sparse};
