/* Numbers of several types, wherever they lie in memory. */
#ifndef KARMA_I_NUMBERS_H
#define KARMA_I_NUMBERS_H

#include "karma/data.h"

/* The number at `place`, which need not be aligned, as a double. Integers beyond 2^53 are rounded. */
double karma_i_number_at(const void *place, karma_number_type type);

#endif
