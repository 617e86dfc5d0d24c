#include "kernel/parts.h"

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/rows_matrix.h"

/* --- rows of the matrices ------------------------------------------------------------------------------- */

enum { TILE_ROWS = 128, TILE_COLUMNS = 512 };

/* Row i is row places.row[i] of the original rows and of the matrices; as a training row it is column places.column[i].
 * Sums, overlaps and the original are borrowed. */
typedef struct part_rows {
    const float *sums;
    const uint16_t *overlaps;
    size_t stride;
    const karma_i_rows *original;
    karma_i_places places;
} part_rows;

static const karma_i_rows_ops part_ops;

static void free_part(void *data) {
    part_rows *p = data;
    karma_i_places_clear(&p->places);
    karma_i_free(p);
}

static karma_status new_part(karma_i_rows **out, const part_rows *like, size_t capacity, karma_error *err) {
    part_rows *p = karma_i_alloc(1, sizeof *p);
    if (!p) return karma_i_fail_memory(err);
    *p = *like;
    p->places = (karma_i_places){0};
    if (!karma_i_places_reserve(&p->places, 0, capacity)) {
        free_part(p);
        return karma_i_fail_memory(err);
    }
    KARMA_TRY(karma_i_rows_new_handle(out, &part_ops, p, err));
    (*out)->n_attributes = p->original->n_attributes;
    (*out)->n_features = p->original->n_features;
    (*out)->feature_start = p->original->feature_start;
    return KARMA_OK;
}

static karma_status new_like_part(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    return new_part(out, other->data, capacity, err);
}

static int reserve_part(karma_i_rows *rows, size_t n_rows) {
    part_rows *p = rows->data;
    return karma_i_places_reserve(&p->places, rows->n_rows, n_rows);
}

static void clear_part(karma_i_rows *rows) {
    rows->n_rows = 0;
}

static karma_status add_part_row(karma_i_rows *rows, size_t row, size_t column, karma_error *err) {
    part_rows *p = rows->data;
    if (!karma_i_places_add(&p->places, rows->n_rows, row, column)) return karma_i_fail_memory(err);
    rows->n_rows++;
    return KARMA_OK;
}

/* Precomputed sums cannot be computed again without some attributes. */
static karma_status cannot_change(karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_DATA, "rows of computed parts cannot be changed or stored");
}

static karma_status append_part(karma_i_rows *rows, const karma_i_rows *source, size_t index,
                                const unsigned char *wanted, karma_error *err) {
    const part_rows *from = source->data;
    if (wanted) return cannot_change(err);
    return add_part_row(rows, from->places.row[index], from->places.column[index], err);
}

static void hide_part(karma_i_rows *rows, size_t row, size_t attribute) {
    (void)rows, (void)row, (void)attribute;
}

static karma_status validate_part(const karma_i_rows *rows, karma_error *err) {
    const part_rows *p = rows->data;
    for (size_t i = 0; i < rows->n_rows; i++)
        if (p->places.row[i] >= p->original->n_rows || p->places.column[i] >= p->stride)
            return karma_i_fail(err, KARMA_ERR_DATA, "row %zu is not one of the computed parts", i);
    return KARMA_OK;
}

/* Operations on one row use the original row. */
static size_t n_observed_part(const karma_i_rows *rows, size_t row) {
    const part_rows *p = rows->data;
    return karma_i_rows_n_observed(p->original, p->places.row[row]);
}

static int next_cell_part(karma_i_cell *out, const karma_i_rows *rows, size_t row, size_t from) {
    const part_rows *p = rows->data;
    return karma_i_rows_next_cell(out, p->original, p->places.row[row], from);
}

static karma_i_cell_count most_cells_part(const karma_i_rows *rows, size_t first, size_t count) {
    (void)first;
    return (karma_i_cell_count){count * rows->n_attributes, count * rows->n_features};
}

static karma_i_cell_writer list_cells_part(karma_i_cell_writer to, const karma_i_rows *rows, size_t row,
                                           const double *mean) {
    const part_rows *p = rows->data;
    return karma_i_rows_list_cells(to, p->original, p->places.row[row], mean);
}

static int same_holes_part(const karma_i_rows *a, const karma_i_rows *b) {
    const part_rows *own = a->data, *other = b->data;
    return own->overlaps == other->overlaps; /* encodings with the same missing cells share them */
}

static void overlaps_part(uint32_t *out, const karma_i_rows *a, size_t i, karma_i_view b) {
    const part_rows *own = a->data, *other = b.rows->data;
    const uint16_t *overlaps = own->overlaps + own->places.row[i] * own->stride;
    for (size_t j = 0; j < b.count; j++) out[j] = overlaps[other->places.column[b.first + j]];
}

static double kappa_part(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute) {
    const part_rows *own = a->data, *other = b->data;
    return karma_i_kappa(own->original, own->places.row[i], other->original, other->places.row[j], attribute);
}

static double square_part(const karma_i_rows *rows, size_t row) {
    const part_rows *p = rows->data;
    return karma_i_rows_square(p->original, p->places.row[row]);
}

static size_t no_scratch(karma_i_view a, const karma_i_weighting *weighting) {
    (void)a, (void)weighting;
    return 0;
}

/* Consecutive columns of a matrix, the usual case, are read in order. */
static int are_consecutive(const size_t *columns, size_t n) {
    for (size_t j = 1; j < n; j++)
        if (columns[j] != columns[0] + j) return 0;
    return 1;
}

static void tile_part(float *out, size_t ld, karma_i_view a, karma_i_view b, const karma_i_weighting *weighting,
                      void *scratch) {
    const part_rows *own = a.rows->data, *other = b.rows->data;
    const size_t *columns = other->places.column + b.first;
    const float *weight = weighting->weight, add = weighting->add;
    int in_order = are_consecutive(columns, b.count);
    (void)scratch;
    for (size_t i = 0; i < a.count; i++) {
        size_t at = own->places.row[a.first + i] * own->stride;
        const float *sum = own->sums + at;
        const uint16_t *overlap = own->overlaps + at;
        float *to = out + i * ld;
        if (!in_order) {
            for (size_t j = 0; j < b.count; j++) to[j] = (sum[columns[j]] + add) * weight[overlap[columns[j]]];
            continue;
        }
        sum += b.count ? columns[0] : 0;
        overlap += b.count ? columns[0] : 0;
        for (size_t j = 0; j < b.count; j++) to[j] = sum[j] + add;
        if (!weighting->is_flat)
            for (size_t j = 0; j < b.count; j++) to[j] *= weight[overlap[j]];
    }
}

/* Parts exist only during a search. */
static karma_status archive_part(karma_i_archive *a, karma_i_rows *rows, size_t n_rows, double limit) {
    (void)rows, (void)n_rows, (void)limit;
    return karma_i_archive_fail(a, "rows of precomputed parts are not kept in files");
}

static const karma_i_rows_ops part_ops = {.name = "parts",
                                          .tile_rows = TILE_ROWS,
                                          .tile_columns = TILE_COLUMNS,
                                          .new_like = new_like_part,
                                          .free_data = free_part,
                                          .reserve = reserve_part,
                                          .clear = clear_part,
                                          .append = append_part,
                                          .hide = hide_part,
                                          .validate = validate_part,
                                          .n_observed = n_observed_part,
                                          .next_cell = next_cell_part,
                                          .most_cells = most_cells_part,
                                          .list_cells = list_cells_part,
                                          .same_holes = same_holes_part,
                                          .overlaps = overlaps_part,
                                          .kappa = kappa_part,
                                          .square = square_part,
                                          .tile_scratch = no_scratch,
                                          .tile = tile_part,
                                          .archive = archive_part};

/* --- the matrices ----------------------------------------------------------------------------------------- */

int karma_i_parts_suit(const karma_i_rows *rows) {
    for (; rows; rows = rows->next)
        if (karma_i_rows_are_given(rows) || rows->n_attributes > UINT16_MAX) return 0;
    return 1;
}

void karma_i_parts_clear(karma_i_parts *parts) {
    for (size_t e = 0; parts->overlaps && e < parts->n_encodings; e++) {
        int shared = 0;
        for (size_t before = 0; before < e; before++) shared |= parts->overlaps[before] == parts->overlaps[e];
        if (!shared) karma_i_free(parts->overlaps[e]);
    }
    for (size_t e = 0; parts->sums && e < parts->n_encodings; e++) karma_i_free(parts->sums[e]);
    karma_i_free(parts->sums);
    karma_i_free(parts->overlaps);
    karma_i_rows_free(parts->train);
    karma_i_rows_free(parts->others);
    *parts = (karma_i_parts){0};
}

/* Σκ is the kernel with γ = 1 and no bias. Only the first encoding of the rows counts. */
static karma_status compute_sums(float *out, const karma_i_rows *rows, const karma_i_rows *train, int threads,
                                 karma_error *err) {
    karma_i_kernel kernel;
    KARMA_TRY(karma_i_kernel_init(&kernel, 1, 1.0, 0.0, rows->n_attributes, err));
    karma_status st =
        karma_i_kernel_block(out, train->n_rows, &kernel, karma_i_rows_all(rows), karma_i_rows_all(train), threads);
    karma_i_kernel_clear(&kernel);
    return st == KARMA_OK ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status compute_overlaps(uint16_t *out, const karma_i_rows *rows, const karma_i_rows *train, int threads,
                                     karma_error *err) {
    size_t n = train->n_rows;
    uint32_t *counts = karma_i_alloc((size_t)threads, n * sizeof *counts);
    if (!counts) return karma_i_fail_memory(err);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
    for (size_t i = 0; i < rows->n_rows; i++) {
        uint32_t *own = counts + (size_t)omp_get_thread_num() * n;
        karma_i_rows_overlaps(own, rows, i, karma_i_rows_all(train));
        for (size_t j = 0; j < n; j++) out[i * n + j] = (uint16_t)own[j];
    }
    karma_i_free(counts);
    return KARMA_OK;
}

static karma_status compute_encoding(karma_i_parts *p, size_t e, const karma_i_rows *rows, const size_t *index,
                                     size_t n_train, int threads, karma_error *err) {
    const karma_i_rows *own = karma_i_rows_encoding(rows, e);
    karma_i_rows *train = NULL;
    if (!(p->sums[e] = karma_i_alloc_aligned(rows->n_rows, n_train * sizeof *p->sums[e])))
        return karma_i_fail_memory(err);
    for (size_t before = 0; before < e && !p->overlaps[e]; before++)
        if (karma_i_rows_same_holes(own, karma_i_rows_encoding(rows, before))) p->overlaps[e] = p->overlaps[before];
    int overlaps_known = p->overlaps[e] != NULL;
    if (!overlaps_known && !(p->overlaps[e] = karma_i_alloc(rows->n_rows, n_train * sizeof *p->overlaps[e])))
        return karma_i_fail_memory(err);
    karma_status st = karma_i_rows_select_encoding(&train, own, index, n_train, err);
    if (st == KARMA_OK) st = compute_sums(p->sums[e], own, train, threads, err);
    if (st == KARMA_OK && !overlaps_known) st = compute_overlaps(p->overlaps[e], own, train, threads, err);
    karma_i_rows_free(train);
    return st;
}

/* The training rows, or all others, as rows of the matrices. */
static karma_status make_rows(karma_i_rows **out, const karma_i_parts *p, const karma_i_rows *rows,
                              const unsigned char *is_train, size_t n_train, int want_train, karma_error *err) {
    for (size_t e = 0; e < p->n_encodings; e++, out = &(*out)->next) {
        part_rows like = {.sums = p->sums[e],
                          .overlaps = p->overlaps[e],
                          .stride = n_train,
                          .original = karma_i_rows_encoding(rows, e)};
        KARMA_TRY(new_part(out, &like, rows->n_rows, err));
        for (size_t i = 0, place = 0; i < rows->n_rows; place += is_train[i++] != 0)
            if ((is_train[i] != 0) == want_train) KARMA_TRY(add_part_row(*out, i, want_train ? place : 0, err));
    }
    return KARMA_OK;
}

karma_status karma_i_parts_compute(karma_i_parts *out, const karma_i_rows *rows, const unsigned char *is_train,
                                   int threads, karma_error *err) {
    size_t n = rows->n_rows, n_train = 0, n_encodings = 0;
    for (const karma_i_rows *e = rows; e; e = e->next) n_encodings++;
    *out = (karma_i_parts){n_encodings, karma_i_zalloc(n_encodings, sizeof(float *)),
                           karma_i_zalloc(n_encodings, sizeof(uint16_t *)), NULL, NULL};
    size_t *index = karma_i_alloc(n, sizeof *index);
    karma_status st = out->sums && out->overlaps && index ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        if (is_train[i]) index[n_train++] = i;
    for (size_t e = 0; st == KARMA_OK && e < n_encodings; e++)
        st = compute_encoding(out, e, rows, index, n_train, threads, err);
    if (st == KARMA_OK) st = make_rows(&out->train, out, rows, is_train, n_train, 1, err);
    if (st == KARMA_OK) st = make_rows(&out->others, out, rows, is_train, n_train, 0, err);
    karma_i_free(index);
    return st;
}
