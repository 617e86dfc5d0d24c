#include "table/rows_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

enum { TILE_ROWS = 128, TILE_COLUMNS = 512 };

static const karma_i_rows_ops dense_ops;

/* --- memory ----------------------------------------------------------------------------------------------- */

static void free_dense(void *data) {
    karma_i_dense *d = data;
    karma_i_free(d->feature_start);
    karma_i_free(d->traits);
    karma_i_free(d->slots);
    karma_i_free(d->values);
    karma_i_free(d->mask);
    karma_i_free(d->codes);
    karma_i_free(d->ranked);
    karma_i_free(d->ranks);
    karma_i_free(d);
}

/* Room for `capacity` rows, of which the first n are kept. */
static int set_capacity(karma_i_dense *d, size_t n, size_t capacity) {
    float *values = karma_i_rows_enlarged(d->values, n, capacity, d->n_values * sizeof *values);
    uint64_t *mask = karma_i_rows_enlarged(d->mask, n, capacity, d->n_words * sizeof *mask);
    uint8_t *ranks = karma_i_rows_enlarged(d->ranks, n, capacity, d->rank_stride);
    uint16_t *codes = karma_i_rows_enlarged(d->codes, n, capacity, d->n_codes * sizeof *codes);
    int ok = values && mask && ranks && codes;
    karma_i_free(ok ? d->values : values);
    karma_i_free(ok ? d->mask : mask);
    karma_i_free(ok ? d->ranks : ranks);
    karma_i_free(ok ? d->codes : codes);
    if (!ok) return 0;
    d->values = values;
    d->mask = mask;
    d->ranks = ranks;
    d->codes = codes;
    d->capacity = capacity;
    return 1;
}

static int reserve_dense(karma_i_rows *rows, size_t n_rows) {
    karma_i_dense *d = rows->data;
    return n_rows <= d->capacity || set_capacity(d, rows->n_rows, n_rows);
}

/* Slots for the traits, in the order of the attributes. */
static void assign_slots(karma_i_dense *d) {
    for (size_t j = 0; j < d->n_attributes; j++) {
        if (d->traits[j] & KARMA_I_CODED) d->slots[j].code = (uint32_t)d->n_codes++;
        if (d->traits[j] & KARMA_I_HAS_TERM) d->slots[j].term = (uint32_t)d->n_terms++;
        if (!(d->traits[j] & KARMA_I_RANKED)) continue;
        karma_i_mask_set(d->ranked, j);
        d->rank_stride = (d->n_attributes + 7) / 8 * 8;
    }
    d->n_values = d->n_features + 2 * d->n_terms;
}

/* NULL: out of memory. */
static karma_i_dense *new_dense(const karma_i_rows_layout *layout, size_t capacity) {
    size_t n = layout->n_attributes;
    karma_i_dense *d = karma_i_zalloc(1, sizeof *d);
    if (!d) return NULL;
    d->n_attributes = n;
    d->n_features = layout->feature_start[n];
    d->n_words = karma_i_mask_words(n);
    /* a step of a byte is 1/254 */
    d->centred_ranks = layout->centred_ranks;
    d->rank_base = layout->centred_ranks ? 0.0 : 1.0;
    d->rank_step = (layout->centred_ranks ? 3.0 : 2.0) / 254.0;
    d->feature_start = karma_i_alloc(n + 1, sizeof *d->feature_start);
    d->traits = karma_i_zalloc(n, sizeof *d->traits);
    d->slots = karma_i_zalloc(n, sizeof *d->slots);
    d->ranked = karma_i_zalloc(d->n_words, sizeof *d->ranked);
    int ok = d->feature_start && d->traits && d->slots && d->ranked;
    if (ok) {
        memcpy(d->feature_start, layout->feature_start, (n + 1) * sizeof *d->feature_start);
        if (layout->traits) memcpy(d->traits, layout->traits, n * sizeof *d->traits);
        assign_slots(d);
        ok = set_capacity(d, 0, capacity);
    }
    if (ok) return d;
    free_dense(d);
    return NULL;
}

karma_status karma_i_rows_new_layout(karma_i_rows **out, const karma_i_rows_layout *layout, size_t capacity,
                                     karma_error *err) {
    karma_i_dense *d = new_dense(layout, capacity);
    if (!d) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_rows_new_handle(out, &dense_ops, d, err));
    (*out)->n_attributes = d->n_attributes;
    (*out)->n_features = d->n_features;
    (*out)->feature_start = d->feature_start;
    return KARMA_OK;
}

karma_status karma_i_rows_new(karma_i_rows **out, size_t n_attributes, const size_t *feature_start, size_t capacity,
                              karma_error *err) {
    karma_i_rows_layout layout = {n_attributes, feature_start, NULL, 0};
    return karma_i_rows_new_layout(out, &layout, capacity, err);
}

static karma_status new_like_dense(karma_i_rows **out, const karma_i_rows *other, size_t capacity, karma_error *err) {
    const karma_i_dense *d = other->data;
    karma_i_rows_layout layout = {d->n_attributes, d->feature_start, d->traits, d->centred_ranks};
    return karma_i_rows_new_layout(out, &layout, capacity, err);
}

static void clear_dense(karma_i_rows *rows) {
    rows->n_rows = 0;
}

/* --- changing rows ---------------------------------------------------------------------------------------- */

static void hide_dense(karma_i_rows *rows, size_t row, size_t attribute) {
    const karma_i_dense *d = rows->data;
    float *values = karma_i_rows_values(rows, row);
    karma_i_mask_clear(karma_i_rows_mask(rows, row), attribute);
    for (size_t f = d->feature_start[attribute]; f < d->feature_start[attribute + 1]; f++) values[f] = 0.0F;
    if (d->rank_stride) karma_i_rows_ranks(rows, row)[attribute] = 0;
    if (d->traits[attribute] & KARMA_I_CODED) *karma_i_rows_code(rows, row, attribute) = 0;
    if (d->traits[attribute] & KARMA_I_HAS_TERM) {
        float *q = karma_i_rows_term(rows, row, attribute);
        q[0] = q[d->n_terms] = 0.0F;
    }
}

static karma_status append_dense(karma_i_rows *rows, const karma_i_rows *source, size_t index,
                                 const unsigned char *wanted, karma_error *err) {
    karma_i_dense *d = rows->data;
    size_t to = rows->n_rows;
    if (to == d->capacity && !set_capacity(d, to, karma_i_rows_grown(d->capacity))) return karma_i_fail_memory(err);
    memcpy(karma_i_rows_values(rows, to), karma_i_rows_values(source, index), d->n_values * sizeof *d->values);
    memcpy(karma_i_rows_mask(rows, to), karma_i_rows_mask(source, index), d->n_words * sizeof *d->mask);
    memcpy(karma_i_rows_ranks(rows, to), karma_i_rows_ranks(source, index), d->rank_stride);
    memcpy(karma_i_rows_codes(rows, to), karma_i_rows_codes(source, index), d->n_codes * sizeof *d->codes);
    rows->n_rows++;
    for (size_t j = 0; wanted && j < d->n_attributes; j++)
        if (!wanted[j]) hide_dense(rows, to, j);
    return KARMA_OK;
}

/* How an attribute of a row violates the invariants; NULL: it does not. */
static const char *cell_fault(const karma_i_rows *rows, size_t i, size_t j) {
    const karma_i_dense *d = rows->data;
    int observed = karma_i_mask_get(karma_i_rows_mask(rows, i), j);
    const float *values = karma_i_rows_values(rows, i);
    for (size_t f = d->feature_start[j]; f < d->feature_start[j + 1]; f++)
        if (observed ? !isfinite(values[f]) : values[f] != 0.0F)
            return observed ? "a value is not finite" : "unobserved, but its value is not 0";
    int has_byte = d->rank_stride && karma_i_rows_ranks(rows, i)[j] != 0;
    if (has_byte != (observed && karma_i_rows_has(rows, j, KARMA_I_RANKED))) return "its rank is wrong";
    if (karma_i_rows_has(rows, j, KARMA_I_CODED)) {
        uint16_t code = *karma_i_rows_code(rows, i, j);
        if ((code != 0) != observed || code > KARMA_I_MOST_CODES) return "its code is wrong";
    }
    if (karma_i_rows_has(rows, j, KARMA_I_HAS_TERM)) {
        const float *q = karma_i_rows_term(rows, i, j);
        if (q[d->n_terms] != (observed ? 1.0F : 0.0F) || !isfinite(*q) || (!observed && *q != 0.0F))
            return "its term is wrong";
    }
    return NULL;
}

static karma_status validate_dense(const karma_i_rows *rows, karma_error *err) {
    const karma_i_dense *d = rows->data;
    for (size_t i = 0; i < rows->n_rows; i++) {
        for (size_t j = 0; j < d->n_attributes; j++) {
            const char *fault = cell_fault(rows, i, j);
            if (fault) return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu, attribute %zu: %s", i, j, fault);
        }
        size_t used = d->n_attributes % 64;
        if (used && karma_i_rows_mask(rows, i)[d->n_words - 1] >> used)
            return karma_i_fail(err, KARMA_ERR_DATA, "encoded row %zu: mask bits beyond the last attribute", i);
    }
    return KARMA_OK;
}

/* --- reading rows ------------------------------------------------------------------------------------------ */

static size_t n_observed_dense(const karma_i_rows *rows, size_t row) {
    const uint64_t *mask = karma_i_rows_mask(rows, row);
    return karma_i_mask_overlap(mask, mask, karma_i_dense_of(rows)->n_words);
}

/* The first set bit at `from` or after it; n_attributes: there is none. */
static size_t next_bit(const karma_i_dense *d, const uint64_t *mask, size_t from) {
    if (from >= d->n_attributes) return d->n_attributes;
    size_t word = from / 64;
    uint64_t bits = mask[word] >> from % 64 << from % 64;
    while (!bits && ++word < d->n_words) bits = mask[word];
    return bits ? 64 * word + karma_i_lowest_bit(bits) : d->n_attributes;
}

static int next_cell_dense(karma_i_cell *out, const karma_i_rows *rows, size_t row, size_t from) {
    const karma_i_dense *d = rows->data;
    size_t j = next_bit(d, karma_i_rows_mask(rows, row), from);
    if (j == d->n_attributes) return 0;
    *out = (karma_i_cell){.attribute = j,
                          .features = karma_i_rows_values(rows, row) + d->feature_start[j],
                          .n_features = d->feature_start[j + 1] - d->feature_start[j]};
    if (d->traits[j] & KARMA_I_RANKED) out->rank = karma_i_rows_ranks(rows, row)[j];
    if (d->traits[j] & KARMA_I_CODED) out->code = *karma_i_rows_code(rows, row, j);
    if (d->traits[j] & KARMA_I_HAS_TERM) out->term = karma_i_rows_term(rows, row, j);
    return 1;
}

static karma_i_cell_count most_cells_dense(const karma_i_rows *rows, size_t first, size_t count) {
    (void)first;
    return (karma_i_cell_count){count * rows->n_attributes, count * rows->n_features};
}

/* Attributes first, without branches on what a row observes; then their features. */
static karma_i_cell_writer list_cells_dense(karma_i_cell_writer to, const karma_i_rows *rows, size_t row,
                                            const double *mean) {
    const karma_i_dense *d = rows->data;
    const size_t *start = d->feature_start;
    const float *values = karma_i_rows_values(rows, row);
    const uint64_t *mask = karma_i_rows_mask(rows, row);
    const uint32_t *attribute = to.attribute;
    size_t n = 0, n_features = 0;
    for (size_t w = 0; w < d->n_words; w++)
        for (uint64_t bits = mask[w]; bits; bits &= bits - 1) {
            size_t j = 64 * w + karma_i_lowest_bit(bits), width = start[j + 1] - start[j];
            to.attribute[n] = (uint32_t)j;
            n += width > 0;
            n_features += width;
        }
    for (size_t c = 0; c < n && n_features == n; c++) { /* one each */
        size_t f = start[attribute[c]];
        to.feature[c] = (uint32_t)f;
        to.x[c] = (double)values[f] - mean[f];
    }
    for (size_t c = 0, k = 0; c < n && n_features > n; c++)
        for (size_t f = start[attribute[c]]; f < start[attribute[c] + 1]; f++, k++) {
            to.feature[k] = (uint32_t)f;
            to.x[k] = (double)values[f] - mean[f];
        }
    return (karma_i_cell_writer){to.attribute + n, to.feature + n_features, to.x + n_features};
}

static int same_holes_dense(const karma_i_rows *a, const karma_i_rows *b) {
    const karma_i_dense *own = a->data, *other = b->data;
    return memcmp(own->mask, other->mask, a->n_rows * own->n_words * sizeof *own->mask) == 0;
}

static void overlaps_dense(uint32_t *out, const karma_i_rows *a, size_t i, karma_i_view b) {
    size_t n_words = karma_i_dense_of(a)->n_words;
    const uint64_t *own = karma_i_rows_mask(a, i), *others = karma_i_rows_mask(b.rows, b.first);
    for (size_t j = 0; j < b.count; j++) out[j] = (uint32_t)karma_i_mask_overlap(own, others + j * n_words, n_words);
}

static double kappa_dense(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j, size_t attribute) {
    const karma_i_dense *d = a->data;
    if (!karma_i_mask_get(karma_i_rows_mask(a, i), attribute) || !karma_i_mask_get(karma_i_rows_mask(b, j), attribute))
        return 0.0;
    const float *x = karma_i_rows_values(a, i), *y = karma_i_rows_values(b, j);
    double sum = 0.0;
    for (size_t f = d->feature_start[attribute]; f < d->feature_start[attribute + 1]; f++)
        sum += (double)x[f] * (double)y[f];
    if (d->traits[attribute] & KARMA_I_RANKED)
        sum += d->rank_base -
               d->rank_step * abs(karma_i_rows_ranks(a, i)[attribute] - karma_i_rows_ranks(b, j)[attribute]);
    if (d->traits[attribute] & KARMA_I_CODED)
        sum += *karma_i_rows_code(a, i, attribute) == *karma_i_rows_code(b, j, attribute);
    if (d->traits[attribute] & KARMA_I_HAS_TERM)
        sum += (double)*karma_i_rows_term(a, i, attribute) + (double)*karma_i_rows_term(b, j, attribute);
    return sum;
}

/* Σ κ_j(x, x) over the ranks and codes of a row: a rank has distance 0 from itself, and a code equals
 * itself. */
static double square_of_traits(const karma_i_rows *rows, size_t row) {
    const karma_i_dense *d = rows->data;
    const float *q = karma_i_rows_values(rows, row) + d->n_features;
    const uint16_t *codes = karma_i_rows_codes(rows, row);
    double sum = 0.0;
    if (d->rank_stride)
        sum = d->rank_base * (double)karma_i_mask_overlap(karma_i_rows_mask(rows, row), d->ranked, d->n_words);
    for (size_t k = 0; k < d->n_codes; k++) sum += codes[k] != 0;
    for (size_t k = 0; k < d->n_terms; k++) sum += 2.0 * (double)q[k];
    return sum;
}

static double square_dense(const karma_i_rows *rows, size_t row) {
    const float *x = karma_i_rows_values(rows, row);
    double sum = square_of_traits(rows, row);
    for (size_t f = 0; f < rows->n_features; f++) sum += (double)x[f] * (double)x[f];
    return sum;
}

/* --- tiles -------------------------------------------------------------------------------------------------- */

static karma_i_pairs pairs_of(karma_i_view a, karma_i_view b, const karma_i_weighting *weighting) {
    const karma_i_dense *d = a.rows->data;
    return (karma_i_pairs){
        .values_a = karma_i_rows_values(a.rows, a.first),
        .values_b = karma_i_rows_values(b.rows, b.first),
        .n_features = d->n_features,
        .n_terms = d->n_terms,
        .masks_a = karma_i_rows_mask(a.rows, a.first),
        .masks_b = karma_i_rows_mask(b.rows, b.first),
        .n_words = d->n_words,
        .codes_a = karma_i_rows_codes(a.rows, a.first),
        .codes_b = karma_i_rows_codes(b.rows, b.first),
        .n_codes = d->n_codes,
        .ranks_a = karma_i_rows_ranks(a.rows, a.first),
        .ranks_b = karma_i_rows_ranks(b.rows, b.first),
        .rank_stride = d->rank_stride,
        .ranked = d->ranked,
        .rank_base = d->rank_base,
        .rank_step = d->rank_step,
        .n_a = a.count,
        .n_b = b.count,
        .add = weighting->add,
        .weight = weighting->weight,
        .n_weights = weighting->n_weights,
    };
}

static size_t tile_scratch_dense(karma_i_view a, const karma_i_weighting *weighting) {
    karma_i_pairs pairs = pairs_of(a, a, weighting);
    return weighting->loops->scratch(&pairs);
}

static void tile_dense(float *out, size_t ld, karma_i_view a, karma_i_view b, const karma_i_weighting *weighting,
                       void *scratch) {
    karma_i_pairs pairs = pairs_of(a, b, weighting);
    weighting->loops->tile(out, ld, &pairs, scratch);
}

static size_t exact_scratch_dense(karma_i_view a, karma_i_view b, const karma_i_pair_loops *loops) {
    karma_i_pairs pairs = pairs_of(a, b, &(karma_i_weighting){0});
    return loops->exact_scratch(&pairs);
}

static void exact_dense(double *sums, uint32_t *overlaps, karma_i_view a, karma_i_view b,
                        const karma_i_pair_loops *loops, void *scratch) {
    karma_i_pairs pairs = pairs_of(a, b, &(karma_i_weighting){0});
    loops->exact_tile(sums, overlaps, &pairs, scratch);
}

/* --- model files ---------------------------------------------------------------------------------------------- */

static karma_status archive_dense(karma_i_archive *a, karma_i_rows *rows, size_t n, double limit) {
    karma_i_dense *d = rows->data;
    KARMA_TRY(karma_i_archive_u16(a, "codes", &d->codes, karma_i_matrix_shape(n, d->n_codes)));
    KARMA_TRY(karma_i_archive_u64(a, "mask", &d->mask, karma_i_matrix_shape(n, d->n_words)));
    KARMA_TRY(karma_i_archive_u8(a, "ranks", &d->ranks, karma_i_matrix_shape(n, d->rank_stride)));
    KARMA_TRY(karma_i_archive_f32(a, "values", &d->values, karma_i_matrix_shape(n, d->n_values), limit));
    if (karma_i_archive_is_reading(a)) d->capacity = n;
    return KARMA_OK;
}

static const uint16_t *only_codes(size_t *n_codes, const karma_i_rows *rows) {
    const karma_i_dense *d = karma_i_dense_of(rows);
    *n_codes = d->n_codes;
    return d->n_codes == d->n_attributes && d->n_values == 0 && d->rank_stride == 0 ? d->codes : NULL;
}

static const karma_i_rows_ops dense_ops = {.name = "dense",
                                           .tile_rows = TILE_ROWS,
                                           .tile_columns = TILE_COLUMNS,
                                           .new_like = new_like_dense,
                                           .free_data = free_dense,
                                           .reserve = reserve_dense,
                                           .clear = clear_dense,
                                           .append = append_dense,
                                           .hide = hide_dense,
                                           .validate = validate_dense,
                                           .n_observed = n_observed_dense,
                                           .next_cell = next_cell_dense,
                                           .most_cells = most_cells_dense,
                                           .list_cells = list_cells_dense,
                                           .same_holes = same_holes_dense,
                                           .overlaps = overlaps_dense,
                                           .kappa = kappa_dense,
                                           .square = square_dense,
                                           .tile_scratch = tile_scratch_dense,
                                           .tile = tile_dense,
                                           .exact_scratch = exact_scratch_dense,
                                           .exact = exact_dense,
                                           .only_codes = only_codes,
                                           .archive = archive_dense};
