/* Which kernels are tried, and with which C. */
#ifndef KARMA_I_CANDIDATES_H
#define KARMA_I_CANDIDATES_H

#include "search/race.h"

/* What a kernel is made of, for the account of what each part is worth; any sum of these. */
enum { KARMA_I_USES_GAMMA = 1, KARMA_I_USES_RANK = 2, KARMA_I_USES_SUBSPACE = 4, KARMA_I_USES_MAP = 8 };

/* The kernel that is 0-imputation: always among the candidates, unless options that are kept exclude it. */
#define KARMA_I_ZERO_IMPUTATION "linear(gamma=1)"

/* Adds the candidates of this effort to the race, the most promising kinds first: those that the table has a use for
 * (ranks need numbers, γ > 1 needs holes), within what `fixed` keeps. */
karma_status karma_i_candidates_add(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                    karma_error *err);
/* What a formula is made of, as far as its text says. */
int karma_i_candidate_uses(const char *kernel);

#endif
