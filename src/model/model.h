/* The inside of a model. */
#ifndef KARMA_I_MODEL_H
#define KARMA_I_MODEL_H

#include "karma/learn.h"
#include "kernel/kernel_build.h"
#include "model/labels.h"
#include "prep/encoder.h"
#include "solve/loss.h"

struct karma_model {
    karma_fit_options options; /* as given; what was chosen from the data is in info */
    karma_fit_info info;
    karma_i_encoder encoder;
    karma_i_kernel kernel;
    karma_i_labels labels;
    char *target_name;
    karma_loss_kind loss;
    double target_mean;    /* of the training rows; for the baseline of a regression */
    karma_i_rows *support; /* the kept rows, encoded */
    double *coefficients;  /* row-major, one a support row and output */
};

/* The columns that the model was learned from. */
static inline const karma_i_recipe *karma_i_model_recipe(const karma_model *model) {
    return model->encoder.recipes[0];
}

/* The encoder and the kernel that the options describe, learned on the rows of `table`, and these rows encoded. */
karma_status karma_i_learn_kernel(karma_i_encoder *encoder, karma_i_kernel *kernel, karma_i_rows **rows,
                                  const karma_table *table, const karma_fit_options *options, const karma_hooks *hooks,
                                  karma_error *err);

#endif
