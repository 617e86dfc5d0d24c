/* The regret experiment: Algorithm 1 of the paper on a λ-regular sequence, compared with the best f_{w,Q*} in hindsight
 * and the bound of theorem regret. docs/mathematics.md describes the sequence and the constants of the bound. */
#ifndef KARMA_REGRET_H
#define KARMA_REGRET_H

#include "karma/base.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result after the first `rounds` rounds. */
typedef struct karma_regret_point {
    size_t rounds;        /* t */
    double learner;       /* Σ ℓ(v_τ·φ(x_τ), y_τ), τ <= t, ℓ the hinge loss */
    double best;          /* Σ ℓ(f_{w,Q*}(x_τ), y_τ) of the best w that was found with |w| <= 1 */
    double best_at_least; /* a lower bound, by duality, on this sum for every such w */
    double regret;        /* learner - best_at_least: an upper bound on the regret */
    double log_bound;     /* natural logarithm of the theorem's bound for T = t and the ρ of the run */
} karma_regret_point;

typedef struct karma_regret {
    size_t gamma;
    double log_big_gamma; /* ln Γ */
    double log_rho;       /* ln ρ */
    double lambda;        /* smallest λ of the rows; at least that of the options, which the bound uses */
    double magnitude;     /* X: largest absolute value of an observed cell */
    double missing;       /* share of missing cells */
    size_t n_points;
    karma_regret_point *points; /* t = 1, 2, 5, 10, 20, 50, ... and the last round */
} karma_regret;

/* A run that the progress hook ends early has fewer rounds. Errors: KARMA_ERR_OPTION for options out of
 * range, a rank above dim, or a γ so large that scores leave the range of a double; KARMA_ERR_CANCELLED,
 * KARMA_ERR_MEMORY. Cost: the square of the rounds, in kernel evaluations, and one minimisation per checkpoint.
 * Threads: safe. */
KARMA_API karma_status karma_regret_run(karma_regret **out, const karma_regret_options *options,
                                        const karma_hooks *hooks, karma_error *err);
KARMA_API void karma_regret_free(karma_regret *regret);

#ifdef __cplusplus
}
#endif
#endif
