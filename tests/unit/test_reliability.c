/* Brier score, calibration error, pinball loss and coverage against values by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "eval/reliability.h"

static void assert_close(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-12)) fail_msg("got %.15g, wanted %.15g", got, wanted);
}

static double calibration_error(const double *probabilities, const size_t *classes, const double *weights,
                                size_t n_rows, size_t n_classes) {
    karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS];
    karma_i_reliability(bins, probabilities, classes, weights, n_rows, n_classes);
    return karma_i_expected_calibration_error(bins);
}

static void brier_of_two_classes_is_binary(void **state) {
    (void)state;
    static const double p[] = {0.2, 0.8, 0.5, 0.5, 0.9, 0.1, 0.4, 0.6};
    static const size_t classes[] = {1, 0, 0, 2};
    assert_close(karma_i_brier_score(p, classes, NULL, 4, 2), (0.04 + 0.25 + 0.01) / 3.0);
    static const double weights[] = {2, 0, 3, 5};
    assert_close(karma_i_brier_score(p, classes, weights, 4, 2), (2 * 0.04 + 3 * 0.01) / 5.0);
}

static void brier_of_three_classes_sums(void **state) {
    (void)state;
    static const double p[] = {0.2, 0.3, 0.5, 1, 0, 0};
    static const size_t classes[] = {2, 1};
    assert_close(karma_i_brier_score(p, classes, NULL, 2, 3), (0.04 + 0.09 + 0.25 + 2.0) / 2.0);
}

static void bins_by_hand(void **state) {
    (void)state;
    /* confidences 0.4 (first of equals), 0.55, 0.58, 1, 0.9; the last row is unknown */
    static const double p[] = {0.4, 0.4, 0.2, /**/ 0.2, 0.55, 0.25, /**/ 0.58, 0.4,  0.02,
                               0,   0,   1,   /**/ 0.9, 0.05, 0.05, /**/ 0.35, 0.35, 0.3};
    static const size_t classes[] = {1, 1, 1, 2, 0, 3};
    karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS];
    karma_i_reliability(bins, p, classes, NULL, 6, 3);
    static const double weights[] = {0, 0, 0, 0, 1, 2, 0, 0, 0, 2};
    for (size_t b = 0; b < KARMA_I_RELIABILITY_BINS; b++) {
        assert_close(bins[b].weight, weights[b]);
        assert_int_equal(isnan(bins[b].confidence) != 0, weights[b] == 0.0);
        assert_int_equal(isnan(bins[b].accuracy) != 0, weights[b] == 0.0);
    }
    assert_close(bins[4].confidence, 0.4);
    assert_close(bins[4].accuracy, 0.0);
    assert_close(bins[5].confidence, 0.565);
    assert_close(bins[5].accuracy, 0.5);
    assert_close(bins[9].confidence, 0.95);
    assert_close(bins[9].accuracy, 1.0);
    assert_close(karma_i_expected_calibration_error(bins), (0.4 + 2 * 0.065 + 2 * 0.05) / 5.0);
}

/* Any number may be given; none may write outside the bins. */
static void values_that_are_not_probabilities_are_safe(void **state) {
    (void)state;
    static const double p[] = {NAN, NAN, -3, -2, 1e300, 0, INFINITY, 0, 1.0 - 0x1.0p-53, 0};
    static const size_t classes[] = {0, 0, 0, 0, 0};
    karma_i_reliability_bin bins[KARMA_I_RELIABILITY_BINS];
    karma_i_reliability(bins, p, classes, NULL, 5, 2);
    assert_close(bins[0].weight, 1.0);
    assert_close(bins[9].weight, 4.0);
}

static void quantiles_by_hand(void **state) {
    (void)state;
    static const double q[] = {1, 2, 3, 4}, y[] = {2, 2, 0, NAN}, weights[] = {1, 1, 2, 1};
    assert_close(karma_i_pinball_loss(q, y, NULL, 4, 0.9), (0.9 * 1 + 0 + 0.1 * 3) / 3.0);
    assert_close(karma_i_pinball_loss(q, y, weights, 4, 0.9), (0.9 * 1 + 0 + 2 * 0.1 * 3) / 4.0);
    assert_close(karma_i_coverage(q, y, NULL, 4), 2.0 / 3.0);
    assert_close(karma_i_coverage(q, y, weights, 4), 3.0 / 4.0);
    static const double low[] = {2, 2.5, -1, 0}, high[] = {3, 3, 0, 9};
    assert_close(karma_i_interval_coverage(low, high, y, NULL, 4), 2.0 / 3.0); /* both ends belong to it */
    assert_close(karma_i_interval_coverage(low, high, y, weights, 4), 3.0 / 4.0);
}

static void nothing_to_average_is_nan(void **state) {
    (void)state;
    static const double p[] = {0.5, 0.5}, y[] = {NAN}, q[] = {1}, none[] = {0};
    static const size_t unknown[] = {2}, known[] = {1};
    assert_true(isnan(karma_i_brier_score(p, unknown, NULL, 1, 2)));
    assert_true(isnan(karma_i_brier_score(p, known, none, 1, 2)));
    assert_true(isnan(calibration_error(p, unknown, NULL, 1, 2)));
    assert_true(isnan(karma_i_pinball_loss(q, y, NULL, 1, 0.5)));
    assert_true(isnan(karma_i_coverage(q, y, NULL, 1)));
    assert_true(isnan(karma_i_interval_coverage(q, q, y, NULL, 1)));
}

/* Classes are drawn with the predicted probabilities: the error is near 0, and doubling the confidence raises it. */
static void correct_probabilities_have_little_error(void **state) {
    (void)state;
    enum { N = 20000 };
    static double honest[2 * N], bold[2 * N];
    static size_t classes[N];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < N; i++) {
        double p = 0.25 + 0.5 * karma_i_rng_uniform(&rng), bolder = 0.5 + 2.0 * (p - 0.5);
        classes[i] = karma_i_rng_uniform(&rng) < p;
        honest[2 * i] = 1.0 - p, honest[2 * i + 1] = p;
        bold[2 * i] = 1.0 - bolder, bold[2 * i + 1] = bolder;
    }
    assert_true(calibration_error(honest, classes, NULL, N, 2) < 0.02);
    assert_true(calibration_error(bold, classes, NULL, N, 2) > 0.1);
    assert_true(karma_i_brier_score(honest, classes, NULL, N, 2) < karma_i_brier_score(bold, classes, NULL, N, 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brier_of_two_classes_is_binary),
        cmocka_unit_test(brier_of_three_classes_sums),
        cmocka_unit_test(bins_by_hand),
        cmocka_unit_test(values_that_are_not_probabilities_are_safe),
        cmocka_unit_test(quantiles_by_hand),
        cmocka_unit_test(nothing_to_average_is_nan),
        cmocka_unit_test(correct_probabilities_have_little_error),
    };
    return cmocka_run_group_tests_name("reliability", tests, NULL, NULL);
}
