/* Tiny tables drawn from an input, for the targets that learn. */
#ifndef KARMA_FUZZ_TABLE_H
#define KARMA_FUZZ_TABLE_H

#include "fuzz.h"

/* 1 to 12 rows of 1 to 4 columns a, b, ..., with a label y; NULL if they cannot be a table. */
karma_table *fuzz_table(fuzz_source *source);

#endif
