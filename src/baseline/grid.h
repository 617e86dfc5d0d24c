/* Rows of a table in the features of a recipe that has features only (karma_i_recipe_learn_indicators), in double
 * precision, for methods that fill in missing cells. karma_i_recipe_decode leads back. */
#ifndef KARMA_I_GRID_H
#define KARMA_I_GRID_H

#include <math.h>

#include "prep/recipe.h"

typedef struct karma_i_grid {
    const karma_i_recipe *recipe; /* borrowed */
    size_t n_rows, n_attributes, n_features;
    const size_t *first; /* n_attributes + 1: where the features of an attribute begin; borrowed from the recipe */
    double *x;           /* row-major, n_features per row; 0 where missing, which is the training mean */
    double *raw; /* row-major, n_attributes per row: the number, or the level among the recipe's; NaN: missing */
} karma_i_grid;

/* Attributes are found by name; those of the table that the recipe lacks are left out, and a level that the recipe does
 * not know is missing. */
karma_status karma_i_grid_fill(karma_i_grid *out, const karma_i_recipe *recipe, const karma_table *table,
                               karma_error *err);
void karma_i_grid_clear(karma_i_grid *grid);

static inline int karma_i_grid_has(const karma_i_grid *grid, size_t row, size_t attribute) {
    return !isnan(grid->raw[row * grid->n_attributes + attribute]);
}
/* Rows in which the attribute is missing. */
size_t karma_i_grid_n_missing(const karma_i_grid *grid, size_t attribute);

#endif
