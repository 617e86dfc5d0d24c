/* The inside of a model. */
#ifndef KARMA_I_MODEL_H
#define KARMA_I_MODEL_H

#include "karma/learn.h"
#include "kernel/kernel_build.h"
#include "model/head.h"
#include "prep/encoder.h"

/* One machine of the model. A model's scores are the sum of its members'. */
typedef struct karma_i_member {
    karma_i_kernel kernel;
    double *coefficients; /* row-major, one a support row and output */
} karma_i_member;

struct karma_model {
    karma_fit_options options; /* as given; what was chosen from the data is in info */
    karma_fit_info info;
    karma_i_encoder encoder;
    karma_i_member *members; /* of the committee that options.kernel describes; all share encodings and support rows */
    size_t n_members;
    karma_i_head *heads; /* one a target */
    size_t n_heads, n_outputs;
    karma_i_rows *support; /* the kept rows, encoded */
    char *search;          /* the account of how the options were chosen, a JSON object; NULL: they were given */
};

/* The columns that the model was learned from. */
static inline const karma_i_recipe *karma_i_model_recipe(const karma_model *model) {
    return model->encoder.recipes[0];
}

/* Fails if the kernel is precomputed: what it was made of is not known, so nothing can be said of attributes. */
karma_status karma_i_model_needs_attributes(const karma_model *model, karma_error *err);

/* scores[row * n_outputs + output] of encoded rows, in the units of the solver: the members' scores, added up. */
karma_status karma_i_model_scores(double *scores, const karma_model *model, const karma_i_rows *rows, int threads,
                                  karma_error *err);

/* Scores of numbers become numbers, in the targets' units; quantiles are put in order. */
void karma_i_finish_scores(double *scores, const karma_model *model, size_t n_rows);

/* C of the options; for auto, what weighs the average row like a unit vector in the objective: m / mean k(x,x). */
karma_status karma_i_choose_C(double *C, const karma_fit_options *options, const karma_i_kernel *kernel,
                              const karma_i_rows *rows, karma_error *err);

/* The rows that have a label of some target: *out is a new table, or NULL when they are all of them. */
karma_status karma_i_labelled_rows(karma_table **out, const karma_table *table, const karma_hooks *hooks,
                                   karma_error *err);
/* A model with options and heads, and nothing learned yet but what the labels are. */
karma_status karma_i_model_start(karma_model **out, const karma_table *table, const karma_fit_options *options,
                                 const karma_hooks *hooks, karma_error *err);
/* The same with the options and the heads of another; numbers are centred and scaled by the rows of `table`. */
karma_status karma_i_model_start_like(karma_model **out, const karma_model *like, const karma_table *table,
                                      karma_error *err);

/* A model with the options and the heads of another, learned from the rows of `table`: its targets are those of the
 * heads, in their order. A class that has no row there is learned as one that never is. Not calibrated. `solving` are
 * the hooks of the solvers, which can be stopped and leave a model; encoding cannot. */
karma_status karma_i_fit_like(karma_model **out, const karma_model *like, const karma_table *table,
                              const karma_hooks *hooks, const karma_hooks *solving, karma_error *err);

/* Deals rows of one class of the first target, or of neighbouring numbers, evenly into folds. */
karma_status karma_i_assign_folds(size_t *fold, size_t n_folds, const karma_model *model, const karma_table *table,
                                  uint64_t seed, karma_error *err);
/* Scores of every row of `table`, which has the model's targets, each by a model that was learned without it: the rows
 * are left out in turn, a fold at a time. *cancelled tells that the hooks asked to stop; scores are then not complete.
 */
karma_status karma_i_out_of_fold(double *scores, int *cancelled, const karma_model *model, const karma_table *table,
                                 const karma_hooks *hooks, karma_error *err);
/* Learns the probabilities of the heads with classes from scores of rows that were left out: row-major, one an output.
 */
karma_status karma_i_calibrate_heads(karma_model *model, const karma_table *table, const double *scores,
                                     karma_error *err);
/* The same with scores of its own making, if the options ask for them. */
karma_status karma_i_calibrate_model(karma_model *model, const karma_table *table, const karma_hooks *hooks,
                                     karma_error *err);

#endif
