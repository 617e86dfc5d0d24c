/* The kernels that are tried, and their values of C. */
#ifndef KARMA_I_CANDIDATES_H
#define KARMA_I_CANDIDATES_H

#include "search/race.h"

/* Adds the candidates of this effort to the race, the most promising kinds first. Only kinds that suit the
 * table (ranks need numbers, γ > 1 needs missing values) and `fixed` are added; 0-imputation always is,
 * unless fixed options exclude it. */
karma_status karma_i_candidates_add(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                    karma_error *err);

/* Adds the candidates that a quick search leaves out, with as few values of C; none if the user keeps the
 * kernel. */
karma_status karma_i_candidates_add_more(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                         karma_error *err);

#endif
