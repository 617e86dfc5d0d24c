/* Which kernels are tried, and with which C. */
#ifndef KARMA_I_CANDIDATES_H
#define KARMA_I_CANDIDATES_H

#include "search/race.h"

/* Adds the candidates of this effort to the race, the most promising kinds first: those that the table has a use for
 * (ranks need numbers, γ > 1 needs missing values), within what `fixed` keeps. 0-imputation is always among them,
 * unless options that are kept exclude it. */
karma_status karma_i_candidates_add(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                    karma_error *err);

/* Those that a quick search leaves out, with as few values of C; none where the user keeps the kernel. */
karma_status karma_i_candidates_add_more(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                         karma_error *err);

#endif
