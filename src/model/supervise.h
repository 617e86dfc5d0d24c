/* Recipes that are learned from rows with labels: the kernel
 * `relevance` weighs columns by them, and where the options ask for it, the subspace is refined. */
#ifndef KARMA_I_SUPERVISE_H
#define KARMA_I_SUPERVISE_H

#include "model/outputs.h"

/* One recipe for each of the kinds, from the rows of `table`, whose outputs these are. The model has its options and
 * its heads. */
karma_status karma_i_learn_recipes(karma_i_encoder *out, const karma_kernel_kind *kinds, size_t n_kinds,
                                   const karma_model *model, const karma_i_outputs *outputs, const karma_table *table,
                                   const karma_hooks *hooks, karma_error *err);

#endif
