/* The part of a model for one target: its labels, its losses, and its outputs of the solver. All heads
 * of a model share one kernel and one Gram matrix. */
#ifndef KARMA_I_HEAD_H
#define KARMA_I_HEAD_H

#include "model/labels.h"
#include "model/certainty_rows.h"
#include "solve/calibrate.h"
#include "solve/loss.h"

typedef struct karma_i_head {
    char *name; /* of the target's column */
    karma_i_labels labels;
    karma_loss_kind loss;
    double *quantiles; /* of the pinball loss, ascending */
    size_t n_quantiles;
    double mean; /* of the training labels of a regression, for its baseline; 0 for classes */
    size_t first_output;
    /* two classes and a number: 1; more classes: one each; quantiles: one each */
    size_t n_outputs;
    karma_i_calibration calibration;
    karma_i_certainty certainty; /* errors of rows that were left out */
} karma_i_head;

/* Everything but its outputs' place. */
karma_status karma_i_head_learn(karma_i_head *out, const karma_i_target *target, const karma_i_partition *split,
                                const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);
/* Without the calibration and the certainty. */
karma_status karma_i_head_copy(karma_i_head *out, const karma_i_head *head, karma_error *err);
/* The mean and units of a copied head, learned again from other rows: those it was copied from may
 * hold rows that are to be left out. Classes stay. */
karma_status karma_i_head_relearn(karma_i_head *head, const karma_i_target *target, const karma_i_partition *split,
                                  const karma_fit_options *options, karma_error *err);
void karma_i_head_clear(karma_i_head *head);
/* One target of a model file, except for its outputs' place; reading fills in a zeroed head. */
karma_status karma_i_head_archive(karma_i_archive *archive, karma_i_head *head);
/* From the labels, the loss and the quantiles. */
size_t karma_i_head_count_outputs(const karma_i_head *head);
/* Of each row of its certainty. */
size_t karma_i_head_n_values(const karma_i_head *head);

/* The quantiles of the options: ascending, none twice. A new array. */
karma_status karma_i_quantiles_parse(double **out, size_t *n_out, const karma_fit_options *options, karma_error *err);

/* losses[0..n_outputs) of the head's outputs. */
karma_status karma_i_head_losses(karma_i_loss *losses, const karma_i_head *head, const karma_fit_options *options,
                                 karma_error *err);
/* The labels of rows for one target. */
typedef struct karma_i_labelled {
    const karma_i_target *target;
    const double *weights; /* of the rows, or NULL: all are 1 */
    size_t n;
} karma_i_labelled;

/* Fills the head's columns of targets[row * stride + output] and weights[row * stride + output]: the weight is that of
 * the row times that of its class, and 0 where there is not a label. */
karma_status karma_i_head_targets(double *targets, double *weights, size_t stride, const karma_i_head *head,
                                  const karma_i_labelled *rows, const karma_fit_options *options, karma_error *err);
/* Fails if --class-weight names a class that no target has. */
karma_status karma_i_check_class_weights(const karma_i_head *heads, size_t n_heads, const karma_fit_options *options,
                                         karma_error *err);
/* The weight of the rows of each class, class_weights[0..n_classes). */
karma_status karma_i_head_class_weights(double *class_weights, const karma_i_head *head,
                                        const karma_fit_options *options, karma_error *err);

#endif
