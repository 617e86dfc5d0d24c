/* The inside of a model. */
#ifndef KARMA_I_MODEL_H
#define KARMA_I_MODEL_H

#include "karma/learn.h"
#include "karma/search.h"
#include "kernel/kernel_build.h"
#include "model/stream_part.h"
#include "model/task.h"
#include "prep/encoder.h"

/* One machine of the model. A model's scores are the sum of its members'. */
typedef struct karma_i_member {
    karma_i_kernel kernel;
    double *coefficients;      /* row-major, one per support row and output */
    double *leaf_coefficients; /* while it is learned: of the leaves of its trees (leaf_machine.h); otherwise NULL */
} karma_i_member;

struct karma_model {
    karma_i_task task;   /* options as given, and heads, with what was learned of probabilities */
    karma_fit_info info; /* what was chosen from the data */
    karma_i_encoder encoder;
    karma_i_plan plan;       /* what was learned; the kernel option is its text, as given or as printed */
    karma_i_member *members; /* one per member of the plan; all share encodings and support rows */
    size_t n_members;
    karma_i_rows *support;       /* the kept rows, encoded */
    karma_search_info *search;   /* how the plan was chosen; NULL: it was given */
    size_t n_left_out;           /* rows that the search left out; files do not store them */
    size_t *left_out_rows;       /* their numbers in its table */
    double *left_out_scores;     /* of models that had not seen them */
    karma_i_stream_part *stream; /* where its learner is in a stream; NULL: it was not learned from one */
    karma_read_options *reading; /* how the training file was read (table/reading.h); NULL: it came from memory */
};

/* The columns that the model was learned from. */
static inline const karma_i_recipe *karma_i_model_recipe(const karma_model *model) {
    return model->encoder.recipes[0];
}

/* Fails if the kernel is precomputed: such a model has no columns to explain. */
karma_status karma_i_model_needs_attributes(const karma_model *model, karma_error *err);

/* scores[row * n_outputs + output] of encoded rows, in the units of the solver: the members' scores, added up. */
karma_status karma_i_model_scores(double *scores, const karma_model *model, const karma_i_rows *rows, int threads,
                                  karma_error *err);

#endif
