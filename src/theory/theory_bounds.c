/* The paper's quantities: γ(ε), Γ, the sample size, the approximation bound and the regret bound.
 *
 *     d  dim          L  lipschitz    λ  lambda    Γ  given by its logarithm, log_big_gamma
 *     γ  gamma        X  magnitude    ε  epsilon   ρ  given by its logarithm, log_rho
 *     T  rounds       B  log_B        δ  delta
 *
 * Γ is about d^γ: beyond the floating-point range for realistic arguments, so everything that contains Γ is computed as
 * a logarithm. Arguments outside their ranges give NaN. */
#include "karma/theory.h"

#include <math.h>

#define LN_2 0.69314718055994530942

/* Σ_{k=1..γ} d^k by Horner's rule if every partial sum is below 2^53, and so exact; otherwise 0. d >= 2, so
 * that there are at most 53 rounds. */
static double small_big_gamma(double d, double gamma) {
    double sum = 0.0;
    int rounds = gamma < 64.0 ? (int)gamma : 64;
    for (int k = 0; k < rounds; k++) {
        if (sum + 1.0 > 0x1.0p53 / d) return 0.0;
        sum = (sum + 1.0) * d;
    }
    return sum;
}

/* ln Γ (theorem main2). Γ = d·(d^γ - 1)/(d - 1) = d^(γ+1)·(1 - d^-γ)/(d - 1), which also serves a γ that is
 * not whole. d = 1: the quotient's limit, γ. */
double karma_theory_log_big_gamma(size_t dim, double gamma) {
    if (!(gamma >= 0.0)) return NAN;
    if (dim == 0 || gamma == 0.0) return -INFINITY;
    if (dim == 1) return log(gamma);
    double d = (double)dim;
    double exact = gamma == floor(gamma) ? small_big_gamma(d, gamma) : 0.0;
    if (exact > 0.0) return log(exact);
    double log_d = log(d);
    return (gamma + 1.0) * log_d + log(-expm1(-gamma * log_d)) - log(d - 1.0);
}

/* γ(ε) = ⌈ln(2L/(λε))/λ⌉ (theorem main). The quotient may leave a double's range, not its logarithm. */
double karma_theory_gamma(double lambda, double epsilon, double lipschitz) {
    if (!(lambda > 0.0 && lambda <= 1.0 && epsilon > 0.0 && lipschitz > 0.0)) return NAN;
    double log_quotient = LN_2 + log(lipschitz) - log(lambda) - log(epsilon);
    return fmax(1.0, ceil(log_quotient / lambda));
}

/* ln(L² Γ B ln(1/δ)/ε²) (theorem main, with B = Γ) */
double karma_theory_log_sample_size(double log_big_gamma, double log_B, double epsilon, double lipschitz,
                                    double delta) {
    if (!(epsilon > 0.0 && lipschitz > 0.0 && delta > 0.0 && delta < 1.0)) return NAN;
    return 2.0 * (log(lipschitz) - log(epsilon)) + log_big_gamma + log_B + log(-log(delta));
}

/* (1-λ)^γ/λ (lemma approximation). A large γ would magnify the rounding error of 1-λ: hence log1p. */
double karma_theory_approximation_bound(double lambda, double gamma) {
    if (!(lambda > 0.0 && lambda <= 1.0 && gamma >= 0.0)) return NAN;
    double rest = 1.0 - lambda;
    int exact = 1.0 - rest == lambda; /* and so wherever λ >= 1/2: λ = 1 ends here */
    return (exact ? pow(rest, gamma) : exp(gamma * log1p(-lambda))) / lambda;
}

static int regret_terms_in_range(const karma_regret_terms *terms) {
    return terms->lipschitz > 0.0 && terms->magnitude > 0.0 && terms->log_B < INFINITY && terms->lambda > 0.0 &&
           terms->lambda <= 1.0 && terms->gamma >= 0.0 && terms->rounds >= 1.0;
}

/* ln ρ, ρ = LX√Γ/√(BT) (theorem regret) */
double karma_theory_log_rho(const karma_regret_terms *terms) {
    if (!regret_terms_in_range(terms)) return NAN;
    return log(terms->lipschitz) + log(terms->magnitude) +
           0.5 * (terms->log_big_gamma - terms->log_B - log(terms->rounds));
}

/* ln(e^a + e^b), without leaving the range of a double. */
static double log_add(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    double high = a > b ? a : b, low = a > b ? b : a;
    if (isinf(high)) return high; /* both terms 0, or one of them infinite */
    return high + log1p(exp(low - high));
}

/* ln(2L²X²Γ(1 + ln T)/ρ + ρTB/2 + e^(-λγ)LT/λ) (theorem regret) */
double karma_theory_log_regret_bound(const karma_regret_terms *terms, double log_rho) {
    if (!regret_terms_in_range(terms)) return NAN;
    double log_L = log(terms->lipschitz), log_T = log(terms->rounds);
    double gradients = LN_2 + 2.0 * (log_L + log(terms->magnitude)) + terms->log_big_gamma + log1p(log_T) - log_rho;
    double shrinkage = log_rho + log_T + terms->log_B - LN_2;
    double approximation = log_L + log_T - terms->lambda * terms->gamma - log(terms->lambda);
    return log_add(log_add(gradients, shrinkage), approximation);
}
