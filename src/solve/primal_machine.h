/* One output of a primal problem: the current weights, a certificate of how good they are, and a step along a
 * direction.
 *
 * A loss whose slope jumps is smoothed (the method of multipliers): with a width h and a guess b of the slope,
 *
 *     ℓ_h(z) = min over ζ of ℓ(ζ) + b (z - ζ) + (z - ζ)²/(2h),   ℓ_h'(z) = (z + hb - ζ)/h, ζ = prox of h ℓ at z + hb
 *
 * Slopes a_i = ℓ_h'(z_i) lie in the domain of ℓ's conjugate, so they are a dual point of the loss itself and
 *
 *     P(w) - D(a) = ½ |R w + Σ c_i a_i r_i|² in the norm of R⁻¹ + Σ c_i (ℓ(z_i) + ℓ*(a_i) - a_i z_i)
 *
 * bounds how far w is from the minimum. Further solving reduces the first part; better guesses (the best are
 * the slopes at the solution) and a smaller width reduce the second. With the right guesses any width gives
 * the minimum of the loss itself, so the width need not become so small that rounding errors matter. */
#ifndef KARMA_I_PRIMAL_MACHINE_H
#define KARMA_I_PRIMAL_MACHINE_H

#include "kernel/features.h"
#include "solve/loss.h"

typedef struct karma_i_machine {
    const karma_i_features *features;
    const karma_i_loss *loss;
    const double *targets, *row_weights; /* one per row, `stride` apart; row_weights NULL: all 1 */
    size_t stride;
    double share; /* C / number of rows */
    int threads;
    double width; /* h; not used with smooth losses */
    /* one per feature */
    double *weights, *slope_sum, *gradient, *direction; /* slope_sum: Σ c_i a_i r_i */
    double *best;                                       /* the weights with the smallest objective so far */
    /* one per row */
    double *scores, *change, *curvature; /* w·r, direction·r and c ℓ_h'' */
    double *guess;                       /* b */
    /* the last certificate */
    double primal, gradient_part, width_part;
    double last_width_part;        /* when smoothing was last reduced */
    double best_primal, best_dual; /* of all */
    int is_done;
} karma_i_machine;

/* Clear it even if this fails. weights: the start. */
karma_status karma_i_machine_init(karma_i_machine *m, const double *weights, karma_error *err);
void karma_i_machine_clear(karma_i_machine *m);

/* Smooth losses have no width to narrow. */
static inline int karma_i_machine_is_smooth(const karma_i_machine *m) {
    return m->loss->curvature != NULL;
}
/* c_i. */
static inline double karma_i_machine_share(const karma_i_machine *m, size_t row) {
    return m->row_weights ? m->share * m->row_weights[row * m->stride] : m->share;
}
/* c_i ℓ_h'(z_i) at the machine's scores. */
double karma_i_machine_slope(const karma_i_machine *m, size_t row);

/* A width to begin with, from the scores. */
karma_status karma_i_machine_start_width(karma_i_machine *m, double tolerance, karma_error *err);
/* From scores and slope_sum: gradient, certificate, best weights. */
karma_status karma_i_machine_certify(karma_i_machine *m, karma_error *err);
/* (best primal - best dual) / best primal, at least 0. */
double karma_i_machine_gap(const karma_i_machine *m);
/* Returns true if smoothing dominated the gap, after reducing it by new guesses and perhaps a smaller
 * width. */
int karma_i_machine_sharpen(karma_i_machine *m, double tolerance);
/* Fills in the curvature. */
void karma_i_machine_bend(karma_i_machine *m);
/* Moves along the direction, whose dot products with the rows are in `change`, to where the objective stops falling.
 * False if it does not fall: only rounding errors are left. */
karma_status karma_i_machine_step(int *moved, karma_i_machine *m, karma_error *err);

/* out = R x. */
void karma_i_norm_product(double *out, const karma_i_features *features, const double *x);

#endif
