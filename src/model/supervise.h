/* Recipes that are learned from rows with labels: the kernel `relevance` weighs columns by them, and the subspace is
 * refined if the options ask for it. */
#ifndef KARMA_I_SUPERVISE_H
#define KARMA_I_SUPERVISE_H

#include "model/outputs.h"
#include "prep/encoder.h"

/* One recipe for each of the kinds, from the rows of `table`, whose outputs these are. seconds (or NULL): what each of
 * them took, on one thread. grown (or NULL): boosted trees that these rows and options have given before; they are
 * copied. */
karma_status karma_i_learn_recipes(karma_i_encoder *out, double *seconds, const karma_kernel_kind *kinds,
                                   size_t n_kinds, const karma_i_task *task, const karma_i_outputs *outputs,
                                   const karma_table *table, const karma_i_forest *grown, const karma_hooks *hooks,
                                   karma_error *err);

#endif
