/* Which candidates are kept when time is limited. */
#ifndef KARMA_I_AFFORD_H
#define KARMA_I_AFFORD_H

#include "search/race.h"

/* After a fold: keeps as many entries as fit a fold of `seconds`: the strongest, the baseline, then the
 * others in descending order of strength. The first two may take `most` seconds, or any time if no entry
 * takes less. *cost: seconds of a fold with these. *is_cut_short is set if an entry is left out. */
karma_status karma_i_race_afford(double *cost, int *is_cut_short, karma_i_race *race, double seconds, double most,
                                 karma_error *err);

#endif
