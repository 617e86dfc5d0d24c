/* Statistics of the columns of a table, computed before they are encoded: sums over the observed cells of each, of all
 * processes that the rows are split over. */
#ifndef KARMA_I_MOMENTS_H
#define KARMA_I_MOMENTS_H

#include "table/table.h"

typedef struct karma_i_moments {
    size_t *count;       /* observed cells per attribute, */
    size_t *here;        /* and those in this process */
    double *mean, *sd;   /* per number: mean and standard deviation */
    double *low, *high;  /* per number */
    double *unit;        /* per number: a power of two, about one over the largest deviation from the mean */
    size_t *level_start; /* where a category's levels begin in level_count */
    size_t *level_count; /* cells of each level */
    size_t n_levels;     /* of all categories */
} karma_i_moments;

karma_status karma_i_moments_take(karma_i_moments *out, const karma_table *table, karma_error *err);
void karma_i_moments_clear(karma_i_moments *moments);

/* The observed cells, those of one attribute after those of another: attribute j has count[j] of them from first[j]
 * on. Two new arrays. */
karma_status karma_i_cells_by_attribute(double **cells, size_t **first, const karma_table *table, const size_t *count,
                                        karma_error *err);

#endif
