#include "table/rows_matrix.h"

#include "base/error.h"
#include "base/mem.h"

enum { TILE_ROWS = 128, TILE_COLUMNS = 512 };

static const karma_i_rows_ops matrix_ops;
static const size_t no_features[1] = {0};

/* --- places ----------------------------------------------------------------------------------------------- */

void karma_i_places_clear(karma_i_places *places) {
    karma_i_free(places->row);
    karma_i_free(places->column);
    *places = (karma_i_places){0};
}

int karma_i_places_reserve(karma_i_places *places, size_t n, size_t capacity) {
    if (places->row && capacity <= places->capacity) return 1;
    size_t *row = karma_i_rows_enlarged(places->row, n, capacity, sizeof *row);
    size_t *column = karma_i_rows_enlarged(places->column, n, capacity, sizeof *column);
    if (!row || !column) {
        karma_i_free(row);
        karma_i_free(column);
        return 0;
    }
    karma_i_places_clear(places);
    *places = (karma_i_places){capacity, row, column};
    return 1;
}

int karma_i_places_add(karma_i_places *places, size_t n, size_t row, size_t column) {
    if (n == places->capacity && !karma_i_places_reserve(places, n, karma_i_rows_grown(n))) return 0;
    places->row[n] = row;
    places->column[n] = column;
    return 1;
}

/* --- memory ----------------------------------------------------------------------------------------------- */

static void free_matrix(void *data) {
    karma_i_matrix *m = data;
    karma_i_places_clear(&m->places);
    karma_i_free(m);
}

static int reserve_matrix(karma_i_rows *rows, size_t n_rows) {
    return karma_i_places_reserve(&karma_i_matrix_of(rows)->places, rows->n_rows, n_rows);
}

karma_status karma_i_rows_new_matrix(karma_i_rows **out, const float *matrix, size_t stride, size_t capacity,
                                     karma_error *err) {
    karma_i_matrix *m = karma_i_zalloc(1, sizeof *m);
    if (!m) return karma_i_fail_memory(err);
    m->values = matrix;
    m->stride = stride;
    if (!karma_i_places_reserve(&m->places, 0, capacity)) {
        free_matrix(m);
        return karma_i_fail_memory(err);
    }
    KARMA_TRY(karma_i_rows_new_handle(out, &matrix_ops, m, err));
    (*out)->feature_start = no_features;
    return KARMA_OK;
}

static karma_status new_like_matrix(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    const karma_i_matrix *m = other->data;
    return karma_i_rows_new_matrix(out, m->values, m->stride, capacity, err);
}

static void clear_matrix(karma_i_rows *rows) {
    rows->n_rows = 0;
}

/* --- changing rows ---------------------------------------------------------------------------------------- */

karma_status karma_i_rows_add_matrix_row(karma_i_rows *rows, size_t matrix_row, size_t matrix_column,
                                         karma_error *err) {
    if (!karma_i_places_add(&karma_i_matrix_of(rows)->places, rows->n_rows, matrix_row, matrix_column))
        return karma_i_fail_memory(err);
    rows->n_rows++;
    return KARMA_OK;
}

static karma_status append_matrix(karma_i_rows *rows, const karma_i_rows *source, size_t index,
                                  const unsigned char *wanted, karma_error *err) {
    const karma_i_places *from = &karma_i_matrix_of(source)->places;
    (void)wanted;
    return karma_i_rows_add_matrix_row(rows, from->row[index], from->column[index], err);
}

static karma_status validate_matrix(const karma_i_rows *rows, karma_error *err) {
    const karma_i_matrix *m = rows->data;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (m->places.column[i] >= m->stride)
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu has no column in the kernel matrix", i);
    return KARMA_OK;
}

/* --- no attributes ------------------------------------------------------------------------------------------ */

static void hide_nothing(karma_i_rows *rows, size_t row, size_t attribute) {
    (void)rows, (void)row, (void)attribute;
}

static size_t observes_nothing(const karma_i_rows *rows, size_t row) {
    (void)rows, (void)row;
    return 0;
}

static int no_next_cell(karma_i_cell *out, const karma_i_rows *rows, size_t row, size_t from) {
    (void)out, (void)rows, (void)row, (void)from;
    return 0;
}

static karma_i_cell_count no_cells(const karma_i_rows *rows, size_t first, size_t count) {
    (void)rows, (void)first, (void)count;
    return (karma_i_cell_count){0, 0};
}

static karma_i_cell_writer list_no_cells(karma_i_cell_writer to, const karma_i_rows *rows, size_t row,
                                         const double *mean) {
    (void)rows, (void)row, (void)mean;
    return to;
}

static int same_holes_matrix(const karma_i_rows *a, const karma_i_rows *b) {
    (void)a, (void)b;
    return 1;
}

static void no_overlaps(uint32_t *out, const karma_i_rows *a, size_t i, karma_i_view b) {
    (void)a, (void)i;
    for (size_t j = 0; j < b.count; j++) out[j] = 0;
}

static double no_kappa(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute) {
    (void)a, (void)i, (void)b, (void)j, (void)attribute;
    return 0.0;
}

/* --- values that were given ----------------------------------------------------------------------------------- */

static const float *given_matrix(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    const karma_i_matrix *m = a->data;
    return m->values ? m->values + m->places.row[i] * m->stride + karma_i_matrix_of(b)->places.column[j] : NULL;
}

static double square_matrix(const karma_i_rows *rows, size_t row) {
    return (double)*given_matrix(rows, row, rows, row);
}

static size_t no_scratch(karma_i_view a, const karma_i_weighting *weighting) {
    (void)a, (void)weighting;
    return 0;
}

static void tile_matrix(float *out, size_t ld, karma_i_view a, karma_i_view b, const karma_i_weighting *weighting,
                        void *scratch) {
    const karma_i_matrix *m = a.rows->data;
    const size_t *column = karma_i_matrix_of(b.rows)->places.column + b.first;
    (void)weighting, (void)scratch;
    for (size_t i = 0; i < a.count; i++) {
        const float *row = m->values + m->places.row[a.first + i] * m->stride;
        for (size_t j = 0; j < b.count; j++) out[i * ld + j] = row[column[j]];
    }
}

/* --- model files ---------------------------------------------------------------------------------------------- */

/* The rows of the matrix are not stored: products of other rows with these need the columns only. */
static karma_status archive_matrix(karma_i_archive *a, karma_i_rows *rows, size_t n, double limit) {
    karma_i_places *places = &karma_i_matrix_of(rows)->places;
    (void)limit;
    KARMA_TRY(karma_i_archive_sizes(a, "matrix_column", &places->column, karma_i_vector_shape(n)));
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    karma_i_free(places->row);
    places->row = karma_i_zalloc(n, sizeof *places->row);
    places->capacity = n;
    return places->row ? KARMA_OK : karma_i_archive_fail_memory(a);
}

static const karma_i_rows_ops matrix_ops = {.name = "matrix",
                                            .tile_rows = TILE_ROWS,
                                            .tile_columns = TILE_COLUMNS,
                                            .new_like = new_like_matrix,
                                            .free_data = free_matrix,
                                            .reserve = reserve_matrix,
                                            .clear = clear_matrix,
                                            .append = append_matrix,
                                            .hide = hide_nothing,
                                            .validate = validate_matrix,
                                            .n_observed = observes_nothing,
                                            .next_cell = no_next_cell,
                                            .most_cells = no_cells,
                                            .list_cells = list_no_cells,
                                            .same_holes = same_holes_matrix,
                                            .overlaps = no_overlaps,
                                            .kappa = no_kappa,
                                            .square = square_matrix,
                                            .given = given_matrix,
                                            .tile_scratch = no_scratch,
                                            .tile = tile_matrix,
                                            .archive = archive_matrix};
