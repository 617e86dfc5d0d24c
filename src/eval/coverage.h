/* The coverage of intervals and sets, row by row and together. */
#ifndef KARMA_I_COVERAGE_H
#define KARMA_I_COVERAGE_H

#include "karma/certainty.h"

/* A row with a label. */
typedef struct karma_i_covered_row {
    size_t observed;      /* columns */
    double weight, width; /* width of the interval, or size of the set */
    int is_covered;
} karma_i_covered_row;

/* Rows of `table` with a label, from rows[*n] on, where there is room for all of them. The level is not KARMA_AUTO. */
karma_status karma_i_cover_rows(karma_i_covered_row *rows, size_t *n, const karma_model *model, size_t target,
                                const karma_table *table, const double *scores, double level, karma_error *err);
/* All rows, and the quarters by the number of observed columns; n > 0. Sorts the rows. */
karma_coverage karma_i_coverage_of(karma_i_covered_row *rows, size_t n, double level);

#endif
