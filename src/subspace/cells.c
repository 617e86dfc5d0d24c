#include "subspace/cells.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

karma_status karma_i_cells_init(karma_i_cells *cells, size_t n_attributes, size_t most_rows, size_t n_ranges,
                                karma_error *err) {
    if (n_attributes >= UINT32_MAX)
        return karma_i_fail(err, KARMA_ERR_DATA, "%zu attributes are more than can be counted", n_attributes);
    *cells = (karma_i_cells){.most_rows = most_rows, .n_ranges = n_ranges};
    cells->range_end = karma_i_alloc(n_ranges, sizeof *cells->range_end);
    cells->attribute_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->attribute_cut);
    cells->feature_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->feature_cut);
    if (!cells->range_end || !cells->attribute_cut || !cells->feature_cut) {
        karma_i_cells_clear(cells);
        return karma_i_fail_memory(err);
    }
    /* the row itself, attribute n_attributes, stands in the last range */
    for (size_t k = 0; k < n_ranges; k++) cells->range_end[k] = (uint32_t)((n_attributes + 1) * (k + 1) / n_ranges);
    return KARMA_OK;
}

void karma_i_cells_clear(karma_i_cells *cells) {
    karma_i_free(cells->range_end);
    karma_i_free(cells->attribute);
    karma_i_free(cells->feature);
    karma_i_free(cells->x);
    karma_i_free(cells->attribute_cut);
    karma_i_free(cells->feature_cut);
    *cells = (karma_i_cells){0};
}

/* Where the list of a row may start so that no two rows share a place: dense rows have all the room that they could
 * need, sparse ones what their cells take. */
static size_t attribute_place(karma_i_view batch, size_t row) {
    const karma_i_rows *rows = batch.rows;
    if (!rows->is_sparse) return row * (rows->n_attributes + 1);
    return rows->cell_start[batch.first + row] - rows->cell_start[batch.first] + row;
}
static size_t feature_place(karma_i_view batch, size_t row) {
    return batch.rows->is_sparse ? attribute_place(batch, row) : row * batch.rows->n_features;
}

karma_status karma_i_cells_reserve(karma_i_cells *cells, karma_i_view batch, karma_error *err) {
    size_t attributes = attribute_place(batch, batch.count), features = feature_place(batch, batch.count);
    if (!karma_i_reserve(&cells->attribute, &cells->attribute_capacity, attributes + 1, sizeof *cells->attribute) ||
        !karma_i_reserve(&cells->feature, &cells->feature_capacity, features + 1, sizeof *cells->feature) ||
        !karma_i_reserve(&cells->x, &cells->x_capacity, features + 1, sizeof *cells->x))
        return karma_i_fail_memory(err);
    return KARMA_OK;
}

/* The list of a row while it grows. */
typedef struct row_list {
    karma_i_cells *cells;
    size_t *attribute_cut, *feature_cut;
    size_t range, attribute, feature; /* where the next ones go */
} row_list;

static row_list begin_list(karma_i_cells *cells, karma_i_view batch, size_t row) {
    size_t cut = row * (cells->n_ranges + 1);
    row_list list = {.cells = cells,
                     .attribute_cut = cells->attribute_cut + cut,
                     .feature_cut = cells->feature_cut + cut,
                     .attribute = attribute_place(batch, row),
                     .feature = feature_place(batch, row)};
    list.attribute_cut[0] = list.attribute;
    list.feature_cut[0] = list.feature;
    return list;
}

static void close_range(row_list *list) {
    list->range++;
    list->attribute_cut[list->range] = list->attribute;
    list->feature_cut[list->range] = list->feature;
}

static inline void add_attribute(row_list *list, size_t attribute) {
    while (attribute >= list->cells->range_end[list->range]) close_range(list);
    list->cells->attribute[list->attribute++] = (uint32_t)attribute;
}

static inline void add_feature(row_list *list, size_t feature, double x) {
    list->cells->feature[list->feature] = (uint32_t)feature;
    list->cells->x[list->feature++] = x;
}

static void add_sparse(row_list *list, const karma_i_rows *rows, size_t row, const double *mean) {
    for (size_t c = rows->cell_start[row]; c < rows->cell_start[row + 1]; c++) {
        size_t j = rows->cell_attribute[c];
        add_attribute(list, j);
        add_feature(list, j, (double)rows->cell_value[c] - mean[j]);
    }
}

static void add_dense(row_list *list, const karma_i_rows *rows, size_t row, const double *mean) {
    const float *values = karma_i_rows_values(rows, row);
    const uint64_t *mask = karma_i_rows_mask(rows, row);
    for (size_t w = 0; w < rows->n_words; w++)
        for (uint64_t bits = mask[w]; bits; bits &= bits - 1) {
            size_t j = 64 * w + karma_i_lowest_bit(bits);
            size_t first = rows->feature_start[j], end = rows->feature_start[j + 1];
            if (first == end) continue;
            add_attribute(list, j);
            for (size_t f = first; f < end; f++) add_feature(list, f, (double)values[f] - mean[f]);
        }
}

void karma_i_cells_fill(karma_i_cells *cells, karma_i_view batch, size_t row, const double *mean) {
    const karma_i_rows *rows = batch.rows;
    row_list list = begin_list(cells, batch, row);
    if (rows->is_sparse)
        add_sparse(&list, rows, batch.first + row, mean);
    else
        add_dense(&list, rows, batch.first + row, mean);
    if (list.attribute > list.attribute_cut[0]) add_attribute(&list, rows->n_attributes);
    while (list.range < cells->n_ranges) close_range(&list);
}
