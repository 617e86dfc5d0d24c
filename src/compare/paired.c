/* Nadeau and Bengio, Inference for the generalization error, 2003. Training rows of cross-validation folds overlap, so
 * the differences d_1, ..., d_J of two methods are not independent, and their variance divided by J
 * underestimates the variance of their mean. They compare
 *
 *     t = mean(d) / sqrt((1/J + n_test/n_train) s²),    s² the sample variance of d,
 *
 * with Student's distribution with J - 1 degrees of freedom.
 *
 * If the values are shares of n_test rows, few folds often have nearly the same difference by chance, and s²
 * is close to 0. But two methods whose shares differ by d give different answers on at least |d| of the rows,
 * so a row's difference, -1, 0 or 1, has a variance of at least |d| - d², and the mean over a fold a variance
 * of at least that divided by n_test. The mean divided by this known error, compared with the normal
 * distribution, is a second test, and the larger p-value counts.
 *
 * Holm, A simple sequentially rejective multiple test procedure, 1979: of m p-values in ascending order the
 * i-th (from 0) is multiplied by m - i, and raised to at least those before it. Results of at most 0.05 are
 * significant, and the probability that any of these is a mistake is at most 5 %. */
#include "compare/paired.h"

#include <math.h>

/* For an angle θ = atan(t/√ν) and whole ν, P(|T| <= t) is a finite sum of powers of cos θ: integrate
 * (1 + x²/ν)^(-(ν+1)/2), which is ∫cos^(ν-1) up to a factor, by parts.
 *   ν odd:  2/π (θ + sin θ (cos θ + 2/3 cos³θ + 2·4/(3·5) cos⁵θ + ...)),  powers up to ν - 2
 *   ν even: sin θ (1 + 1/2 cos²θ + 1·3/(2·4) cos⁴θ + ...),               powers up to ν - 2 */
double karma_i_student_tail(double t, size_t degrees) {
    static const double PI = 3.14159265358979323846;
    double angle = atan(t / sqrt((double)degrees)), cosine = cos(angle), square = cosine * cosine, sum = 0.0;
    size_t first = degrees % 2 ? 1 : 0;
    double term = first ? cosine : 1.0;
    if (isnan(t)) return NAN;
    for (size_t power = first; power + 2 <= degrees; power += 2) {
        sum += term;
        term *= square * (double)(power + 1) / (double)(power + 2);
    }
    double inside = first ? 2.0 / PI * (angle + sin(angle) * sum) : sin(angle) * sum;
    return fmin(1.0, fmax(0.0, 1.0 - inside));
}

/* Rounding errors of sums. */
static const double ROUNDING = 1e-12;

karma_i_paired karma_i_paired_test(const double *differences, size_t n, double ratio, size_t n_counted) {
    karma_i_paired test = {0.0, NAN, NAN, NAN};
    double squares = 0.0;
    for (size_t i = 0; i < n; i++) test.mean += differences[i] / (double)n;
    if (n < 2) return test;
    for (size_t i = 0; i < n; i++) squares += pow(differences[i] - test.mean, 2);
    double size = fabs(test.mean), scale = 1.0 / (double)n + ratio;
    test.error = sqrt(scale * squares / (double)(n - 1));
    if (size == 0.0)
        test.t = 0.0;
    else if (test.error > ROUNDING * size)
        test.t = test.mean / test.error;
    /* else all differences are equal, and their variance is unknown */
    test.p_value = !isnan(test.t) ? karma_i_student_tail(fabs(test.t), n - 1) : n_counted ? 0.0 : 1.0;
    if (n_counted && size > 0.0)
        test.p_value = fmax(test.p_value, erfc(size / sqrt(2.0 * scale * (size - size * size) / (double)n_counted)));
    return test;
}

void karma_i_holm(double *adjusted, size_t *order, const double *p, size_t n) {
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) { /* a few methods: insertion is enough */
        size_t at = i;
        for (; at > 0 && p[order[at - 1]] > p[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fmin(1.0, (double)(n - i) * p[order[i]]));
        adjusted[order[i]] = largest;
    }
}
