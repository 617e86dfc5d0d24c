/* How far predictions can be trusted, from rows that were left out of learning: the errors of numbers and the
 * probabilities of classes, from which intervals, sets and levels of abstention of any level are computed. */
#ifndef KARMA_I_CERTAINTY_ROWS_H
#define KARMA_I_CERTAINTY_ROWS_H

#include "base/archive.h"
#include "karma/base.h"
#include "solve/conformal.h"

/* A group with at least this many rows is judged by its own rows only; a smaller group also by others. */
enum { KARMA_I_LEAST_GROUP_ROWS = 100, KARMA_I_MOST_GROUPS = 4 };

typedef struct karma_i_certainty {
    size_t n_rows;   /* that were left out; 0: nothing is known */
    size_t n_masked; /* copies of such rows with more missing cells, after them */
    size_t n_values; /* of each row */
    /* Of numbers: the label less each output, in the target's units, and after them the last output less the first if
     * there are several. Of classes: the probability of each, and after them the number of the class that is true. */
    double *values;
    double *weights;  /* the mean of the rows that are not copies is 1 */
    size_t *observed; /* columns that each row observes; of a copy those of the row whose missing cells it was given */
    size_t n_groups;  /* of rows by the number of columns that they observe; 0: all rows are one group */
    size_t *group_most; /* the most columns that rows of each group observe, ascending; the last has no limit */
} karma_i_certainty;

/* Room for rows, zeroed. */
karma_status karma_i_certainty_new(karma_i_certainty *out, size_t n_rows, size_t n_masked, size_t n_values,
                                   karma_error *err);
void karma_i_certainty_clear(karma_i_certainty *certainty);
/* The object "certainty" of a target, where there is one: rows of n_values. Reading fills in a zeroed one. `n_classes`:
 * 0 for numbers. */
karma_status karma_i_certainty_archive(karma_i_archive *archive, karma_i_certainty *certainty, size_t n_values,
                                       size_t n_classes);

/* Quarters by the number of observed columns, fewer where many rows observe as many: group_most[0..return), at most
 * KARMA_I_MOST_GROUPS. `room` is for n numbers. */
size_t karma_i_certainty_groups(size_t *group_most, const size_t *observed, size_t n, size_t *room);
/* The group, of `n_groups`, for rows that observe this number of columns; 0 if there are no groups. */
size_t karma_i_group_of(const size_t *group_most, size_t n_groups, size_t observed);

/* The rows that a group is judged by, as `room` has them: values of one column. Its own rows; if these are fewer than
 * KARMA_I_LEAST_GROUP_ROWS also the copies that were made for it, then rows of the groups that observe less, the
 * nearest first, then of those that observe more, until there are enough. All rows that are not copies where there are
 * no groups. Returns how many; room for all rows and copies. */
size_t karma_i_certainty_gather(karma_i_weighted *room, const karma_i_certainty *certainty, size_t group,
                                size_t column);
/* The same for classes: values are 1 less the probability of the true class. */
size_t karma_i_certainty_gather_classes(karma_i_weighted *room, const karma_i_certainty *certainty, size_t group);

/* What is added to an output so that a number lies at or below it with a probability of at least `level` (upper), or at
 * or above it (lower). */
karma_status karma_i_certainty_upper(double *out, const karma_i_certainty *certainty, size_t group, size_t column,
                                     double level, karma_error *err);
karma_status karma_i_certainty_lower(double *out, const karma_i_certainty *certainty, size_t group, size_t column,
                                     double level, karma_error *err);

#endif
