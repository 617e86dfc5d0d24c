/* The recipe of a kernel whose values come with the table: there is nothing to encode, but much to check. */
#ifndef KARMA_I_PRECOMPUTED_H
#define KARMA_I_PRECOMPUTED_H

#include "prep/recipe.h"

/* The matrix must be square, symmetric and positive semidefinite, all up to rounding. */
karma_status karma_i_precomputed_learn(karma_i_recipe **out, const karma_table *table, karma_error *err);
/* Rows that borrow the table's matrix. */
karma_status karma_i_precomputed_apply(karma_i_rows **out, const karma_i_recipe *recipe, const karma_table *table,
                                       karma_error *err);

#endif
