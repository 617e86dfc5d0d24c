/* The observed cells of a batch of encoded rows as lists, the same from dense and from sparse rows, so that
 * later code needs no masks. A cell of attribute j has its feature values, centred by the mean. Attributes without
 * features (ranked numbers) are left out.
 *
 * After its attributes, a row that observes anything has one more, number n_attributes: the row itself. So
 * every sum over the rows of an attribute is also made over all rows that observe anything.
 *
 * The attributes are split into ranges; one thread at a time works on a range.
 *
 * Patterns (the method of four Russians; Arlazarov, Dinic, Kronrod, Faradžev 1970). Sums over observed attributes of
 * something that each attribute has cost an addition per cell. Take four attributes at a time: a row observes one of 15
 * sets of them, or none, and with the sums of all 15 sets in a table it costs one addition per four attributes. The
 * same backwards: a row adds its amount to one place of 15, and in the end each attribute
 * gets the places of the sets that it is in. */
#ifndef KARMA_I_CELL_LISTS_H
#define KARMA_I_CELL_LISTS_H

#include "karma/base.h"
#include "table/rows.h"

/* A run is the work of one thread. */
enum { KARMA_I_LONGEST_RUN = 32 };

/* In group g of `size` attributes, the set that has attribute g size + k if bit k of s is 1 is pattern
 * g (2^size - 1) + s - 1. With groups of one attribute, pattern j is attribute j. */
enum { KARMA_I_MOST_GROUPED = 4, KARMA_I_MOST_PATTERN_ATTRIBUTES = 4095 };

static inline size_t karma_i_group_patterns(size_t group_size) {
    return ((size_t)1 << group_size) - 1;
}
/* Of all attributes and the row itself. */
static inline size_t karma_i_n_patterns(size_t n_attributes, size_t group_size) {
    return (n_attributes + group_size) / group_size * karma_i_group_patterns(group_size);
}

typedef struct karma_i_cell_lists {
    size_t most_rows, n_ranges;
    uint32_t *range_end; /* n_ranges: the first attribute beyond each range, ascending */
    uint32_t *attribute, *feature;
    double *x; /* beside `feature` */
    /* (n_ranges + 1) per row: range k has the attributes, and the features, from cut k to cut k + 1 */
    size_t *attribute_cut, *feature_cut;
    size_t attribute_capacity, feature_capacity, x_capacity;
    /* Unless group_size is 1: the patterns of a row that are not empty, most_groups places for each row, and the cuts
     * of the ranges among them. */
    size_t group_size, most_groups;
    uint32_t *pattern;
    size_t *pattern_cut;
    /* Runs of rows that observe the same attributes, at most KARMA_I_LONGEST_RUN of them: run k has the rows from
     * run_start[k] to run_start[k + 1]. */
    size_t *run_start, n_runs;
} karma_i_cell_lists;

karma_status karma_i_cell_lists_init(karma_i_cell_lists *cells, size_t n_attributes, size_t most_rows, size_t n_ranges,
                                     karma_error *err);
/* The same with patterns of group_size attributes, 1, 2 or 4; more than 1 only with at most
 * KARMA_I_MOST_PATTERN_ATTRIBUTES attributes. */
karma_status karma_i_cell_lists_init_grouped(karma_i_cell_lists *cells, size_t n_attributes, size_t most_rows,
                                             size_t n_ranges, size_t group_size, karma_error *err);
void karma_i_cell_lists_clear(karma_i_cell_lists *cells);

/* Room for the rows of a batch, at most most_rows of them. */
karma_status karma_i_cell_lists_reserve(karma_i_cell_lists *cells, karma_i_view batch, karma_error *err);
/* Lists the cells of row `row` of the batch. Different rows may be filled by different threads. */
void karma_i_cell_lists_fill(karma_i_cell_lists *cells, karma_i_view batch, size_t row, const double *mean);

/* Finds the runs among rows `first` to `end`, which must all be filled, and appends them to those of earlier
 * rows. */
void karma_i_cell_lists_find_runs(karma_i_cell_lists *cells, size_t first, size_t end);

/* A part of a row's list. */
typedef struct karma_i_cell_range {
    size_t first, count;
} karma_i_cell_range;

static inline karma_i_cell_range karma_i_cell_range_between(const size_t *cut, size_t first, size_t end) {
    return (karma_i_cell_range){cut[first], cut[end] - cut[first]};
}
static inline karma_i_cell_range karma_i_range_attributes(const karma_i_cell_lists *cells, size_t row, size_t range) {
    return karma_i_cell_range_between(cells->attribute_cut + row * (cells->n_ranges + 1), range, range + 1);
}
static inline karma_i_cell_range karma_i_range_features(const karma_i_cell_lists *cells, size_t row, size_t range) {
    return karma_i_cell_range_between(cells->feature_cut + row * (cells->n_ranges + 1), range, range + 1);
}
/* Places in `pattern`, or in `attribute` if group_size is 1: karma_i_listed_patterns. */
static inline karma_i_cell_range karma_i_range_patterns(const karma_i_cell_lists *cells, size_t row, size_t range) {
    const size_t *cut = cells->group_size > 1 ? cells->pattern_cut : cells->attribute_cut;
    return karma_i_cell_range_between(cut + row * (cells->n_ranges + 1), range, range + 1);
}
static inline const uint32_t *karma_i_listed_patterns(const karma_i_cell_lists *cells) {
    return cells->group_size > 1 ? cells->pattern : cells->attribute;
}
/* All ranges, without the row itself. */
static inline karma_i_cell_range karma_i_row_attributes(const karma_i_cell_lists *cells, size_t row) {
    karma_i_cell_range run =
        karma_i_cell_range_between(cells->attribute_cut + row * (cells->n_ranges + 1), 0, cells->n_ranges);
    return (karma_i_cell_range){run.first, run.count ? run.count - 1 : 0};
}
/* All patterns; the row itself is in the last one, but not if group_size is 1. */
static inline karma_i_cell_range karma_i_row_patterns(const karma_i_cell_lists *cells, size_t row) {
    if (cells->group_size == 1) return karma_i_row_attributes(cells, row);
    return karma_i_cell_range_between(cells->pattern_cut + row * (cells->n_ranges + 1), 0, cells->n_ranges);
}
static inline karma_i_cell_range karma_i_row_features(const karma_i_cell_lists *cells, size_t row) {
    return karma_i_cell_range_between(cells->feature_cut + row * (cells->n_ranges + 1), 0, cells->n_ranges);
}

#endif
