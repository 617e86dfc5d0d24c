/* The inside of a model. */
#ifndef KARMA_I_MODEL_H
#define KARMA_I_MODEL_H

#include "karma/learn.h"
#include "kernel/kernel.h"
#include "model/labels.h"
#include "prep/recipe.h"
#include "solve/loss.h"

struct karma_model {
    karma_fit_options options; /* as given; what was chosen from the data is in info */
    karma_fit_info info;
    karma_i_recipe *recipe;
    karma_i_kernel kernel;
    karma_i_labels labels;
    char *target_name;
    karma_loss_kind loss;
    double target_mean;    /* of the training rows; for the baseline of a regression */
    karma_i_rows *support; /* the kept rows, encoded */
    double *coefficients;  /* row-major, one a support row and output */
};

/* ν: the mean number of observed attributes of these rows, the bias among them, or the number that was given. */
double karma_i_choose_scale(const karma_fit_options *options, const karma_i_rows *rows);
/* The most attributes that one of these rows observes. */
size_t karma_i_largest_overlap(const karma_i_rows *rows);

#endif
