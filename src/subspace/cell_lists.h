/* The observed cells of a batch of encoded rows as lists, the same from dense and from sparse rows, so that
 * later code needs no masks. A cell of attribute j has its feature values, centred by the mean. Attributes without
 * features (ranked numbers) are left out.
 *
 * After its attributes, a row that observes anything has one more, number n_attributes: the row itself. So
 * every sum over the rows of an attribute is also made over all rows that observe anything.
 *
 * The attributes are split into ranges; one thread at a time works on a range. */
#ifndef KARMA_I_CELL_LISTS_H
#define KARMA_I_CELL_LISTS_H

#include "karma/base.h"
#include "table/rows.h"

/* A run is the work of one thread. */
enum { KARMA_I_LONGEST_RUN = 32 };

typedef struct karma_i_cell_lists {
    size_t most_rows, n_ranges;
    uint32_t *range_end; /* n_ranges: the first attribute beyond each range, ascending */
    uint32_t *attribute, *feature;
    double *x; /* beside `feature` */
    /* (n_ranges + 1) per row: range k has the attributes, and the features, from cut k to cut k + 1 */
    size_t *attribute_cut, *feature_cut;
    size_t attribute_capacity, feature_capacity, x_capacity;
    /* Runs of rows that observe the same attributes, at most KARMA_I_LONGEST_RUN of them: run k has the rows from
     * run_start[k] to run_start[k + 1]. */
    size_t *run_start, n_runs;
} karma_i_cell_lists;

karma_status karma_i_cell_lists_init(karma_i_cell_lists *cells, size_t n_attributes, size_t most_rows, size_t n_ranges,
                                     karma_error *err);
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
/* All ranges, without the row itself. */
static inline karma_i_cell_range karma_i_row_attributes(const karma_i_cell_lists *cells, size_t row) {
    karma_i_cell_range run =
        karma_i_cell_range_between(cells->attribute_cut + row * (cells->n_ranges + 1), 0, cells->n_ranges);
    return (karma_i_cell_range){run.first, run.count ? run.count - 1 : 0};
}
static inline karma_i_cell_range karma_i_row_features(const karma_i_cell_lists *cells, size_t row) {
    return karma_i_cell_range_between(cells->feature_cut + row * (cells->n_ranges + 1), 0, cells->n_ranges);
}

#endif
