/* A subspace improved for the task: (w, U) learned jointly, starting from the estimate of EM, which does not
 * look at labels. The paper's "joint subspace learning and classification", with the predictor of its class
 * F₀:
 *
 *     f_k(x_o) = b_k + v_k·ẑ(x_o),     ẑ(x_o) = (W_oᵀW_o + σ²I)⁻¹ W_oᵀ (x_o - mean_o)
 *
 * Part of the rows are held out: the others give the steps, and the held-out rows decide whether the result
 * is kept. */
#ifndef KARMA_I_REFINE_H
#define KARMA_I_REFINE_H

#include "subspace/ppca.h"

/* A convex loss ℓ(score, y), as the records of src/solve have it. */
typedef struct karma_i_task_loss {
    double (*value)(double score, double y, double parameter);
    double (*prox)(double u, double t, double y, double parameter); /* argmin over ζ of ½(ζ - u)² + t ℓ(ζ, y) */
    double parameter;
} karma_i_task_loss;

/* Targets and weights of the rows, output by output. */
typedef struct karma_i_supervision {
    size_t n_outputs;
    const double *targets, *weights; /* rows × n_outputs; weight 0: not labelled, the target is not looked at */
    const karma_i_task_loss *losses; /* n_outputs */
    const uint8_t *is_held_out;      /* rows */
} karma_i_supervision;

/* The result. */
typedef struct karma_i_refinement {
    size_t n_steps;       /* steps up to the subspace that was kept; 0: the given subspace is unchanged */
    size_t n_tried;       /* steps taken */
    size_t n_held_out;    /* labelled rows held out */
    double before, after; /* mean loss of these rows; `after` at the best step, whether it is kept or not */
} karma_i_refinement;

/* At most `steps` gradient steps on mean and W; σ² stays. The step with the smallest loss on the held-out
 * rows is kept if it beats the given subspace by more than two standard errors of the difference, row by row.
 * Deterministic for any number of threads. A progress hook that asks to stop ends the steps. */
karma_status karma_i_refine(karma_i_subspace *subspace, karma_i_refinement *out, karma_i_view rows,
                            const karma_i_supervision *labels, size_t steps, int threads, const karma_hooks *hooks,
                            karma_error *err);

/* ---- its parts ---- */

/* The objective that the steps lower, over the rows that are not held out,
 *
 *     F(mean, W, heads) = Σ_k [ (Σ_i s_ik ℓ̃_k(f_k(x_i), y_ik)) / Σ_i s_ik + ridge/2 |v_k|² ],
 *
 * ℓ̃ the loss made smooth (refine.c), and its derivatives by W (n_features × rank) and mean, unless NULL. `heads` has
 * (b_k, v_k) for every output. */
karma_status karma_i_refine_objective(double *value, double *by_W, double *by_mean, const karma_i_subspace *subspace,
                                      const double *heads, karma_i_view rows, const karma_i_supervision *labels,
                                      int threads, karma_error *err);
/* The heads at which F is least. */
karma_status karma_i_refine_heads(double *heads, const karma_i_subspace *subspace, karma_i_view rows,
                                  const karma_i_supervision *labels, int threads, karma_error *err);
double karma_i_refine_smooth(double *derivative, const karma_i_task_loss *loss, double score, double y);

#endif
