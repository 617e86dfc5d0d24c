/* The paper's own objects: the embedding, the classes F0 and F^gamma, and its bounds. For tests, teaching and
 * diagnostics, with small d and gamma. A row is given by d values and d flags (non-zero: observed); matrices are
 * row-major. */
#ifndef KARMA_THEORY_H
#define KARMA_THEORY_H

#include "karma/base.h"
#include "karma/options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ln Γ, Γ = Σ_{k=1..γ} d^k = (d^(γ+1) - d)/(d - 1), and γ for d = 1 (theorem main2). It is a logarithm because
 * Γ soon exceeds the range of a double. */
KARMA_API double karma_theory_log_big_gamma(size_t dim, double gamma);

/* γ(ε) = ln(2L/(λε))/λ, rounded up to a whole number and at least 1 (theorem main). */
KARMA_API double karma_theory_gamma(double lambda, double epsilon, double lipschitz);

/* ln m, m = L² Γ B ln(1/δ)/ε²: the order of the sample size of theorem main (its constant is not stated), for
 * predictors v·φ_γ with |v|² <= B. The paper takes B = Γ; B = γ is enough (karma_theory_unfold). */
KARMA_API double karma_theory_log_sample_size(double log_big_gamma, double log_B, double epsilon, double lipschitz,
                                              double delta);

/* (1-λ)^γ/λ: how far f^γ_{w,I-Q} may be from f_{w,Q} (lemma approximation); λ is the smallest positive
 * eigenvalue of Q_oo. */
KARMA_API double karma_theory_approximation_bound(double lambda, double gamma);

/* The bound of theorem regret, 2L²X²Γ(1 + ln T)/ρ + ρTB/2 + e^(-λγ)LT/λ, as a logarithm; and the ρ that
 * theorem takes, LX√Γ/√(BT), as a logarithm. It is a bound on the regret against every f_{w,Q*} with |w| <= 1 if
 * B >= γ; with a smaller B only against the predictors v·φ_γ with |v|² <= B. */
typedef struct karma_regret_terms {
    double lipschitz, magnitude, log_big_gamma, log_B, lambda, gamma;
    double rounds;
} karma_regret_terms;
KARMA_API double karma_theory_log_rho(const karma_regret_terms *terms);
KARMA_API double karma_theory_log_regret_bound(const karma_regret_terms *terms, double log_rho);

/* Number of coordinates of φ_γ, or 0 if it does not fit a size_t. Coordinates are ordered by length of the
 * sequence, then lexicographically. */
KARMA_API size_t karma_theory_embedding_size(size_t dim, size_t gamma);
/* φ_γ(x_o) into phi[0..embedding_size) (definition phi). Errors: KARMA_ERR_DATA for arguments out of range or not
 * finite and for results that are too large, KARMA_ERR_MEMORY. Cost: the dimension of the embedding, which grows as d
 * to the power gamma. Threads: safe. */
KARMA_API karma_status karma_theory_embed(double *phi, const double *x, const unsigned char *observed, size_t dim,
                                          size_t gamma, karma_error *err);
/* The v of corollary improper: v·φ_γ(x_o) = f^γ_{w,Q}(x_o). |v|² <= Γ|w|² when |Q_ij| <= 1, and |v|² <= γ|w|² when Q is
 * an orthogonal projection (docs/mathematics.md). Errors: as above. Cost: as above. Threads: safe. */
KARMA_API karma_status karma_theory_unfold(double *v, const double *w, const double *Q, size_t dim, size_t gamma,
                                           karma_error *err);

/* f_{w,Q}(x_o) = (P_o w) · Q_oo^† (P_o x), Q symmetric (definition F0). Errors: KARMA_ERR_DATA for arguments out of
 * range or not finite and for results that are too large, KARMA_ERR_MEMORY. Cost: the cube of the observed cells.
 * Threads: safe. */
KARMA_API karma_status karma_theory_f0(double *out, const double *w, const double *Q, const double *x,
                                       const unsigned char *observed, size_t dim, karma_error *err);
/* f^γ_{w,Q}(x_o) = (P_o w) · Σ_{j<γ} (Q_oo)^j (P_o x). Errors: as above. Cost: gamma times the square of the observed
 * cells. Threads: safe. */
KARMA_API karma_status karma_theory_f_gamma(double *out, const double *w, const double *Q, const double *x,
                                            const unsigned char *observed, size_t dim, size_t gamma, karma_error *err);
/* λ of one row: the smallest positive eigenvalue of Q_oo; *reconstructible is set to whether rank Q_oo = rank Q,
 * i.e. ker(P_o P_E) = ker(P_E) (definition regularity). λ is 0 when Q_oo is 0. Errors: as above. Cost: the cube of the
 * observed cells. Threads: safe. */
KARMA_API karma_status karma_theory_regularity(double *lambda, int *reconstructible, const double *Q,
                                               const unsigned char *observed, size_t dim, karma_error *err);

#ifdef __cplusplus
}
#endif
#endif
