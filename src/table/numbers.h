/* Numbers of several types, wherever they lie in memory. */
#ifndef KARMA_I_NUMBERS_H
#define KARMA_I_NUMBERS_H

#include "karma/data.h"

/* The number at `place`, which need not be aligned, as a double. Integers beyond 2^53 are rounded. */
double karma_i_number_at(const void *place, karma_number_type type);

/* Refuses a type that is not in the list, as that of a caller with newer headers may be. */
karma_status karma_i_check_number_type(karma_number_type type, karma_error *err);

#endif
