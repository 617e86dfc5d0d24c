/* The inside of a model. */
#ifndef KARMA_I_MODEL_H
#define KARMA_I_MODEL_H

#include "karma/learn.h"
#include "kernel/kernel_build.h"
#include "model/head.h"
#include "prep/encoder.h"

struct karma_model {
    karma_fit_options options; /* as given; what was chosen from the data is in info */
    karma_fit_info info;
    karma_i_encoder encoder;
    karma_i_kernel kernel;
    karma_i_head *heads; /* one a target */
    size_t n_heads, n_outputs;
    karma_i_rows *support; /* the kept rows, encoded */
    double *coefficients;  /* row-major, one a support row and output */
};

/* The columns that the model was learned from. */
static inline const karma_i_recipe *karma_i_model_recipe(const karma_model *model) {
    return model->encoder.recipes[0];
}

/* Fails if the kernel is precomputed: what it was made of is not known, so nothing can be said of attributes. */
karma_status karma_i_model_needs_attributes(const karma_model *model, karma_error *err);

/* The encoder and the kernel that the options describe, learned on the rows of `table`, and these rows encoded.
 * `labels`, unless NULL, are for refining a subspace, if the options ask for it. */
karma_status karma_i_learn_kernel(karma_i_encoder *encoder, karma_i_kernel *kernel, karma_i_rows **rows,
                                  const karma_table *table, const karma_i_supervision *labels,
                                  const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);

/* Folds of rows: those of one class of the first target, or of neighbouring numbers, are dealt evenly. */
karma_status karma_i_assign_folds(size_t *fold, size_t n_folds, const karma_model *model, const karma_table *table,
                                  karma_error *err);

/* A model with the options and the heads of another, learned from the rows of `table`: its targets are those of the
 * heads, in their order. A class that has no row there is learned as one that never is. Not calibrated. */
karma_status karma_i_fit_like(karma_model **out, const karma_model *like, const karma_table *table,
                              const karma_hooks *hooks, karma_error *err);

/* Scores of every row of `table`, which has the model's targets, each by a model that was learned without it: the rows
 * are left out in turn, a fold at a time. *cancelled tells that the hooks asked to stop; scores are then not complete.
 */
karma_status karma_i_out_of_fold(double *scores, int *cancelled, const karma_model *model, const karma_table *table,
                                 const karma_hooks *hooks, karma_error *err);
/* Gives the heads with classes probabilities, if the options ask for them. */
karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err);

#endif
