/* Which folds and rows of a race count. */
#ifndef KARMA_I_JUDGED_ROWS_H
#define KARMA_I_JUDGED_ROWS_H

#include "search/race.h"

/* Folds of later repeats contain rows of the hidden fold: then only the first repeat counts. */
static inline int karma_i_fold_counts(const karma_i_race *race, size_t fold) {
    if (fold >= race->n_done) return 0;
    return !race->hidden_fold || (fold < race->folds->n_folds && fold != race->hidden_fold - 1);
}

/* Whether the row was left out so far in this repeat. */
static inline int karma_i_row_is_judged(const karma_i_race *race, size_t repeat, size_t row) {
    return karma_i_fold_counts(race, karma_i_folds_number(race->folds, repeat, row));
}

#endif
