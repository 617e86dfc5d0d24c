#include "subspace/cell_lists.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

karma_status karma_i_cell_lists_init(karma_i_cell_lists *cells, size_t n_attributes, size_t most_rows, size_t n_ranges,
                                     karma_error *err) {
    if (n_attributes >= UINT32_MAX)
        return karma_i_fail(err, KARMA_ERR_DATA, "%zu attributes are more than can be counted", n_attributes);
    *cells = (karma_i_cell_lists){.most_rows = most_rows, .n_ranges = n_ranges};
    cells->range_end = karma_i_alloc(n_ranges, sizeof *cells->range_end);
    cells->attribute_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->attribute_cut);
    cells->feature_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->feature_cut);
    cells->run_start = karma_i_alloc(most_rows + 1, sizeof *cells->run_start);
    if (!cells->range_end || !cells->attribute_cut || !cells->feature_cut || !cells->run_start) {
        karma_i_cell_lists_clear(cells);
        return karma_i_fail_memory(err);
    }
    /* the row itself, attribute n_attributes, is in the last range */
    for (size_t k = 0; k < n_ranges; k++) cells->range_end[k] = (uint32_t)((n_attributes + 1) * (k + 1) / n_ranges);
    return KARMA_OK;
}

void karma_i_cell_lists_clear(karma_i_cell_lists *cells) {
    karma_i_free(cells->range_end);
    karma_i_free(cells->attribute);
    karma_i_free(cells->feature);
    karma_i_free(cells->x);
    karma_i_free(cells->attribute_cut);
    karma_i_free(cells->feature_cut);
    karma_i_free(cells->run_start);
    *cells = (karma_i_cell_lists){0};
}

/* A start for the list of a row such that no two lists overlap; after its attributes comes the row itself. */
static size_t attribute_place(karma_i_view batch, size_t row) {
    return karma_i_rows_most_cells(batch.rows, batch.first, row).cells + row;
}
static size_t feature_place(karma_i_view batch, size_t row) {
    return karma_i_rows_most_cells(batch.rows, batch.first, row).features;
}

karma_status karma_i_cell_lists_reserve(karma_i_cell_lists *cells, karma_i_view batch, karma_error *err) {
    size_t attributes = attribute_place(batch, batch.count), features = feature_place(batch, batch.count);
    if (!karma_i_reserve(&cells->attribute, &cells->attribute_capacity, attributes + 1, sizeof *cells->attribute) ||
        !karma_i_reserve(&cells->feature, &cells->feature_capacity, features + 1, sizeof *cells->feature) ||
        !karma_i_reserve(&cells->x, &cells->x_capacity, features + 1, sizeof *cells->x))
        return karma_i_fail_memory(err);
    return KARMA_OK;
}

/* How many of an ascending list are below a bound. */
static size_t count_below(const uint32_t *list, size_t n, size_t bound) {
    size_t first = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (list[first + half] < bound) {
            first += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return first;
}

/* Both lists cut where the ranges end; the last range ends after everything. */
static void cut_lists(karma_i_cell_lists *cells, const karma_i_rows *rows, size_t row, karma_i_cell_range attributes,
                      karma_i_cell_range features) {
    size_t *attribute_cut = cells->attribute_cut + row * (cells->n_ranges + 1);
    size_t *feature_cut = cells->feature_cut + row * (cells->n_ranges + 1);
    attribute_cut[0] = attributes.first;
    feature_cut[0] = features.first;
    for (size_t k = 0; k + 1 < cells->n_ranges; k++) {
        size_t end = cells->range_end[k], feature_end = rows->feature_start[end];
        attribute_cut[k + 1] =
            attributes.first + count_below(cells->attribute + attributes.first, attributes.count, end);
        feature_cut[k + 1] = features.first + count_below(cells->feature + features.first, features.count, feature_end);
    }
    attribute_cut[cells->n_ranges] = attributes.first + attributes.count;
    feature_cut[cells->n_ranges] = features.first + features.count;
}

void karma_i_cell_lists_fill(karma_i_cell_lists *cells, karma_i_view batch, size_t row, const double *mean) {
    const karma_i_rows *rows = batch.rows;
    karma_i_cell_range attributes = {attribute_place(batch, row), 0}, features = {feature_place(batch, row), 0};
    uint32_t *attribute = cells->attribute + attributes.first;
    karma_i_cell_writer end = {attribute, cells->feature + features.first, cells->x + features.first};
    end = karma_i_rows_list_cells(end, rows, batch.first + row, mean);
    if (end.attribute > attribute) *end.attribute++ = (uint32_t)rows->n_attributes;
    attributes.count = (size_t)(end.attribute - attribute);
    features.count = (size_t)(end.feature - cells->feature) - features.first;
    cut_lists(cells, rows, row, attributes, features);
}

static int observe_the_same(const karma_i_cell_lists *cells, size_t a, size_t b) {
    karma_i_cell_range of_a = karma_i_row_attributes(cells, a), of_b = karma_i_row_attributes(cells, b);
    return of_a.count == of_b.count && memcmp(cells->attribute + of_a.first, cells->attribute + of_b.first,
                                              of_a.count * sizeof *cells->attribute) == 0;
}

void karma_i_cell_lists_find_runs(karma_i_cell_lists *cells, size_t first, size_t end) {
    if (first == 0) cells->n_runs = 0;
    for (size_t i = first; i < end; i++)
        if (i == first || i - cells->run_start[cells->n_runs - 1] == KARMA_I_LONGEST_RUN ||
            !observe_the_same(cells, i - 1, i))
            cells->run_start[cells->n_runs++] = i;
    cells->run_start[cells->n_runs] = end;
}
