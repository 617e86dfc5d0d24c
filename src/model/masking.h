/* Copies of rows with more missing cells: how good predictions would have been if the row had observed less. The
 * construction is that of Zaffran, Josse, Romano and Dieuleveut (Predictive uncertainty quantification with missing
 * covariates, 2024: masked copies of calibration rows), with the masks of a group of rows in place of the mask of one
 * new row. It estimates the errors of the group if missing cells are independent of the values. */
#ifndef KARMA_I_MASKING_H
#define KARMA_I_MASKING_H

#include "table/table.h"

typedef struct karma_i_copies {
    karma_table *table; /* the copies, with labels and weights; NULL: none is needed */
    size_t *source;     /* the row that each is a copy of */
    size_t *observed; /* columns observed by the row whose missing cells it was given, which the copy may observe fewer
                         of */
    double *scores;   /* room for n_outputs of each; filled in by who learns without the source row */
} karma_i_copies;

/* For every group of `table` by the number of observed columns (model/certainty_rows.h) that has too few rows: a copy
 * of each row of a group that observes more, in which the cells are missing that a row drawn from the group misses. */
karma_status karma_i_copies_make(karma_i_copies *out, const karma_table *table, size_t n_outputs, uint64_t seed,
                                 karma_error *err);
void karma_i_copies_clear(karma_i_copies *copies);

#endif
