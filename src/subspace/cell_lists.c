#include "subspace/cell_lists.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Attributes of a word of bits; the words of all attributes and the row itself, and one that may be read. */
enum { WORD = 64, MOST_WORDS = (KARMA_I_MOST_PATTERN_ATTRIBUTES + 1) / WORD + 1 };

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The ranges end where groups end; the row itself, attribute n_attributes, is in the last. */
static void set_ranges(karma_i_cell_lists *cells, size_t n_attributes) {
    size_t n_groups = (n_attributes + cells->group_size) / cells->group_size;
    for (size_t k = 0; k < cells->n_ranges; k++)
        cells->range_end[k] =
            (uint32_t)min_size(n_groups * (k + 1) / cells->n_ranges * cells->group_size, n_attributes + 1);
}

karma_status karma_i_cell_lists_init_grouped(karma_i_cell_lists *cells, size_t n_attributes, size_t most_rows,
                                             size_t n_ranges, size_t group_size, karma_error *err) {
    if (n_attributes >= UINT32_MAX)
        return karma_i_fail(err, KARMA_ERR_DATA, "%zu attributes are more than can be counted", n_attributes);
    *cells = (karma_i_cell_lists){.most_rows = most_rows,
                                  .n_ranges = n_ranges,
                                  .group_size = group_size,
                                  .most_groups = (n_attributes + group_size) / group_size};
    cells->range_end = karma_i_alloc(n_ranges, sizeof *cells->range_end);
    cells->attribute_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->attribute_cut);
    cells->feature_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->feature_cut);
    cells->run_start = karma_i_alloc(most_rows + 1, sizeof *cells->run_start);
    int is_grouped = group_size > 1;
    if (is_grouped) {
        cells->pattern = karma_i_alloc(most_rows, cells->most_groups * sizeof *cells->pattern);
        cells->pattern_cut = karma_i_alloc(most_rows, (n_ranges + 1) * sizeof *cells->pattern_cut);
    }
    if (!cells->range_end || !cells->attribute_cut || !cells->feature_cut || !cells->run_start ||
        (is_grouped && (!cells->pattern || !cells->pattern_cut))) {
        karma_i_cell_lists_clear(cells);
        return karma_i_fail_memory(err);
    }
    set_ranges(cells, n_attributes);
    return KARMA_OK;
}

karma_status karma_i_cell_lists_init(karma_i_cell_lists *cells, size_t n_attributes, size_t most_rows, size_t n_ranges,
                                     karma_error *err) {
    return karma_i_cell_lists_init_grouped(cells, n_attributes, most_rows, n_ranges, 1, err);
}

void karma_i_cell_lists_clear(karma_i_cell_lists *cells) {
    karma_i_free(cells->range_end);
    karma_i_free(cells->attribute);
    karma_i_free(cells->feature);
    karma_i_free(cells->x);
    karma_i_free(cells->attribute_cut);
    karma_i_free(cells->feature_cut);
    karma_i_free(cells->run_start);
    karma_i_free(cells->pattern);
    karma_i_free(cells->pattern_cut);
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

/* The list of attributes cut where the ranges end; the last range ends after everything. */
static void cut_attributes(karma_i_cell_lists *cells, size_t row, karma_i_cell_range attributes) {
    size_t *cut = cells->attribute_cut + row * (cells->n_ranges + 1);
    cut[0] = attributes.first;
    for (size_t k = 0; k + 1 < cells->n_ranges; k++)
        cut[k + 1] =
            attributes.first + count_below(cells->attribute + attributes.first, attributes.count, cells->range_end[k]);
    cut[cells->n_ranges] = attributes.first + attributes.count;
}

/* The patterns of a row, and all cuts but those of features. Places of empty patterns are written and then
 * overwritten, which is faster than a branch. */
static void list_patterns(karma_i_cell_lists *cells, size_t row, karma_i_cell_range attributes) {
    static const unsigned char n_in_set[1 << KARMA_I_MOST_GROUPED] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    uint64_t words[MOST_WORDS];
    size_t size = cells->group_size, all = karma_i_group_patterns(size), g = 0, before = attributes.first;
    size_t *attribute_cut = cells->attribute_cut + row * (cells->n_ranges + 1);
    size_t *cut = cells->pattern_cut + row * (cells->n_ranges + 1);
    uint32_t *to = cells->pattern + row * cells->most_groups;
    memset(words, 0, (cells->most_groups * size / WORD + 1) * sizeof *words);
    for (size_t c = attributes.first; c < attributes.first + attributes.count; c++)
        words[cells->attribute[c] / WORD] |= UINT64_C(1) << cells->attribute[c] % WORD;
    for (size_t k = 0; k < cells->n_ranges; k++) {
        attribute_cut[k] = before;
        cut[k] = (size_t)(to - cells->pattern);
        for (size_t end = (cells->range_end[k] + size - 1) / size; g < end; g++) {
            size_t set = (size_t)(words[g * size / WORD] >> g * size % WORD) & all;
            *to = (uint32_t)(g * all + set - 1);
            to += set > 0;
            before += n_in_set[set];
        }
    }
    attribute_cut[cells->n_ranges] = before;
    cut[cells->n_ranges] = (size_t)(to - cells->pattern);
}

/* After the attributes. If each has one feature, both lists have the same cuts; the row itself has none. */
static void cut_features(karma_i_cell_lists *cells, const karma_i_rows *rows, size_t row, karma_i_cell_range features) {
    const size_t *attribute_cut = cells->attribute_cut + row * (cells->n_ranges + 1);
    size_t *cut = cells->feature_cut + row * (cells->n_ranges + 1);
    int is_one_each = features.count + 1 == attribute_cut[cells->n_ranges] - attribute_cut[0];
    cut[0] = features.first;
    for (size_t k = 0; k + 1 < cells->n_ranges; k++)
        cut[k + 1] =
            features.first +
            (is_one_each ? min_size(attribute_cut[k + 1] - attribute_cut[0], features.count)
                         : count_below(cells->feature + features.first, features.count,
                                       rows->feature_start[min_size(cells->range_end[k], rows->n_attributes)]));
    cut[cells->n_ranges] = features.first + features.count;
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
    if (cells->group_size > 1)
        list_patterns(cells, row, attributes);
    else
        cut_attributes(cells, row, attributes);
    cut_features(cells, rows, row, features);
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
