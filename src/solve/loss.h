/* Losses: convex functions ℓ(z, y) of a score z and a target y. One record each. */
#ifndef KARMA_I_LOSS_H
#define KARMA_I_LOSS_H

#include "karma/options.h"

typedef struct karma_i_loss {
    karma_loss_kind kind;
    karma_task task;  /* classify: y is -1 or 1 */
    double parameter; /* tube, huber or quantile; 0 for losses without one */
    double lipschitz; /* in z, for this parameter; INFINITY if there is none */
    double bend;      /* b, if ℓ*(a) = a y + ½ b a² inside its domain; otherwise -1 */
    double (*value)(double z, double y, double parameter);
    /* ∂ℓ/∂z; at a kink the subgradient 0 */
    double (*derivative)(double z, double y, double parameter);
    /* ℓ*(a) = sup_z (a z - ℓ(z, y)); INFINITY outside its domain */
    double (*conjugate)(double a, double y, double parameter);
    /* the point of the conjugate's domain that is nearest to a */
    double (*project)(double a, double y, double parameter);
    /* argmin over ζ of ½(ζ - u)² + t ℓ(ζ, y), t >= 0: one row's share of the dual solved exactly */
    double (*prox)(double u, double t, double y, double parameter);
    /* ∂prox/∂u, within 0 and 1; at a jump, the value of either side */
    double (*prox_slope)(double u, double t, double y, double parameter);
    /* ∂²ℓ/∂z²; NULL if ∂ℓ/∂z jumps */
    double (*curvature)(double z, double y, double parameter);
} karma_i_loss;

/* The loss that the options name, or the default of the task, with its parameter; `quantile` is that of the pinball
 * loss. Fails when the loss is not one for the task. */
karma_status karma_i_loss_make(karma_i_loss *out, karma_task task, const karma_fit_options *options, double quantile,
                               karma_error *err);
/* The word for a loss: "hinge". */
const char *karma_i_loss_name(karma_loss_kind kind);

#endif
