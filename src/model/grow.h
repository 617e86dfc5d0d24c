/* The trees of the kernels `boost` and `forest`, grown on the labels of the training rows. */
#ifndef KARMA_I_GROW_H
#define KARMA_I_GROW_H

#include "model/outputs.h"
#include "prep/recipe.h"

/* Give a recipe of ranks and codes its forest, from the rows that it was learned on and their outputs. */
karma_status karma_i_grow_boosted(karma_i_recipe *recipe, const karma_i_task *task, const karma_i_outputs *outputs,
                                  const karma_table *table, const karma_hooks *hooks, karma_error *err);
karma_status karma_i_grow_bagged(karma_i_recipe *recipe, const karma_i_task *task, const karma_i_outputs *outputs,
                                 const karma_table *table, const karma_hooks *hooks, karma_error *err);

#endif
