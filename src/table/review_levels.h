/* The form of the levels of a category: numbers, numbers with units, dates, durations, steps; words that may
 * mean the same. */
#ifndef KARMA_I_REVIEW_LEVELS_H
#define KARMA_I_REVIEW_LEVELS_H

#include "table/table.h"

enum { KARMA_I_LEAST_LEVELS = 5 }; /* fewer could be names */

int karma_i_level_is_number(const char *text);
/* The share of the levels that are numbers: high for a numeric column that a few texts made a category. */
double karma_i_share_of_numbers(const karma_i_column *column);
/* Whether every level is a number with a unit or signs around it: "12 kg", "PLN 12". *other becomes a level whose unit
 * is not that of level 0, and 0 if all have the same. Several units count only if `may_differ`. */
int karma_i_levels_have_units(size_t *other, const karma_i_column *column, int may_differ);
/* Whether most levels look like dates, months or quarters. Dates of the forms that the reader knows were read as dates.
 */
int karma_i_levels_are_dates(const karma_i_column *column);
/* Whether all levels are spans of time: 30:05:20, 13h20, 2y 7m. Times of day were read as such. */
int karma_i_levels_are_durations(const karma_i_column *column);
/* Whether all levels are ranges of numbers or places in an order: 46-55, 3rd; among them bounds such as 65+. */
int karma_i_levels_are_steps(const karma_i_column *column);
/* Whether all levels are two or three numbers: 120/80, 12 (30%), 4.5 +/- 0.3. */
int karma_i_levels_are_pairs(const karma_i_column *column);
/* Whether two levels differ only in upper and lower case or in blanks at their ends, which quoted cells keep. */
int karma_i_levels_are_alike(const char *a, const char *b);
/* Whether all levels are words for yes and no, TRUE and N for example. */
int karma_i_levels_are_answers(const karma_i_column *column);
/* Of two such words: whether both mean yes or both no. One letter each proves nothing: T and Y may be codes. */
int karma_i_answers_are_alike(const char *a, const char *b);
/* Whether a level is nothing but dashes or points. */
int karma_i_level_is_mark(const char *text);

#endif
