/* Recipes that are learned from rows with labels: the kernel `relevance` weighs columns by them, and the subspace is
 * refined if the options ask for it. */
#ifndef KARMA_I_SUPERVISE_H
#define KARMA_I_SUPERVISE_H

#include "model/outputs.h"
#include "prep/encoder.h"

/* What recipes are learned from. */
typedef struct karma_i_lesson {
    const karma_i_task *task;
    const karma_table *table;
    const karma_i_outputs *outputs; /* of the table's rows */
    const karma_i_forest *grown;    /* boosted trees that these rows and options have given before, or NULL */
} karma_i_lesson;

/* One recipe for each of the kinds. seconds (or NULL): what each of them took, on one thread. */
karma_status karma_i_learn_recipes(karma_i_encoder *out, double *seconds, const karma_kernel_kind *kinds,
                                   size_t n_kinds, const karma_i_lesson *lesson, const karma_hooks *hooks,
                                   karma_error *err);

#endif
