/* Which candidates go on where time is limited. */
#ifndef KARMA_I_AFFORD_H
#define KARMA_I_AFFORD_H

#include "search/race.h"

/* After a fold: of the entries, as many as a fold of so many seconds has time for; first the strongest one, then what
 * all are compared with, then the others from the strongest on. These two may take `most` seconds, or any time where
 * none takes less. *cost: seconds of a fold with these. *is_cut_short is set where an entry is left out. */
karma_status karma_i_race_afford(double *cost, int *is_cut_short, karma_i_race *race, double seconds, double most,
                                 karma_error *err);

#endif
