/* Joint completion of features and labels: Goldberg, Zhu, Recht, Xu and Nowak, Transduction with matrix completion:
 * three birds with one stone, 2010. Rows are items here (their columns). */
#ifndef KARMA_I_JOINT_H
#define KARMA_I_JOINT_H

#include "karma/base.h"

/* All rows, with known labels and with labels to predict. All arrays row-major. */
typedef struct karma_i_joint {
    size_t n_rows, n_labels, n_features;
    const double *labels;  /* -1 or 1; NaN: not known */
    const double *weights; /* of the labels; NULL: all 1. Looked at where they are known */
    const double *x;       /* features; NaN: missing */
    int has_ones;          /* MC-1: a column of ones is the bias; otherwise MC-b: each label has a bias b */
    double lambda;         /* weight of the labels' loss */
    double mu;             /* of the nuclear norm, as a share of the largest of interest */
    double tolerance;      /* relative change |Z' - Z|/|Z'| at which the iteration for a μ stops */
} karma_i_joint;

/* Columns of Z: labels, features, and for MC-1 the ones. */
static inline size_t karma_i_joint_width(const karma_i_joint *joint) {
    return joint->n_labels + joint->n_features + (joint->has_ones ? 1 : 0);
}

/* z[row * width + column] and bias[label], 0 for MC-1. The score of a label is z + bias. *mu: in absolute terms. */
karma_status karma_i_joint_complete(double *z, double *bias, double *mu, const karma_i_joint *joint,
                                    const karma_hooks *hooks, karma_error *err);

#endif
