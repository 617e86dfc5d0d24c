/* Normal scores against their definition by counting, their inverse, and moments against a fine sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "prep/normal_scores.h"

static double distribution(double z) {
    return 0.5 * erfc(-z / sqrt(2.0));
}

static void check_close(double got, double wanted, double tolerance, const char *what) {
    if (!(fabs(got - wanted) <= tolerance * fmax(1.0, fabs(wanted))))
        fail_msg("%s: got %.17g, wanted %.17g", what, got, wanted);
}

/* The share of cells below x, and half of those equal to it. */
static double counted_share(const double *cells, size_t n, double x) {
    double twice = 0.0;
    for (size_t i = 0; i < n; i++) twice += cells[i] < x ? 2.0 : cells[i] == x ? 1.0 : 0.0;
    return 0.5 * twice / (double)n;
}

static void quantiles_are_those_of_the_normal_distribution(void **state) {
    (void)state;
    static const double known[][2] = {{0.5, 0.0},
                                      {0.975, 1.959963984540054},
                                      {0.841344746068543, 1.0},
                                      {0.0013498980316300945, -3.0},
                                      {1e-9, -5.997807015007686}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        check_close(karma_i_normal_quantile(known[i][0]), known[i][1], 1e-12, "a known quantile");
    for (int k = 0; k < 50; k++) {
        double p = 1e-12 * pow(1.7, k), z = karma_i_normal_quantile(p);
        assert_true(fabs(distribution(z) / p - 1.0) < 1e-12);
        /* 1 - p has an error of its own */
        check_close(karma_i_normal_quantile(1.0 - p), -z, 1e-16 / p + 1e-12, "the other tail");
    }
}

/* Few values with ties, or all different. */
static karma_i_normal_scores learned(double *cells, size_t n, int has_ties, uint64_t seed) {
    karma_i_rng rng;
    karma_i_normal_scores s;
    karma_i_rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++) {
        double z = karma_i_rng_normal(&rng);
        cells[i] = has_ties ? floor(3.0 * z) : exp(2.0 * z);
    }
    double *sorted = malloc(n * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, cells, n * sizeof *sorted);
    assert_int_equal(karma_i_normal_scores_learn(&s, sorted, n, NULL), KARMA_OK);
    free(sorted);
    return s;
}

static void scores_are_quantiles_of_counted_shares(void **state) {
    (void)state;
    enum { N = 400 };
    static double cells[N];
    for (int has_ties = 0; has_ties < 2; has_ties++) {
        karma_i_normal_scores s = learned(cells, N, has_ties, 3);
        double low = INFINITY, high = -INFINITY, sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < N; i++) {
            double score = karma_i_normal_score_of(&s, cells[i]);
            check_close(distribution(score), counted_share(cells, N, cells[i]), 1e-12, "a score");
            check_close(karma_i_normal_score_value(&s, score), cells[i], 1e-12, "back");
            low = fmin(low, cells[i]), high = fmax(high, cells[i]);
            sum += score, squares += score * score;
        }
        check_close(s.mean, sum / N, 1e-12, "the mean");
        check_close(s.sd, sqrt(squares / N - pow(sum / N, 2)), 1e-12, "the standard deviation");
        if (has_ties) assert_true(s.n < 40);
        /* beyond the ends, and halfway between two values */
        assert_true(karma_i_normal_score_of(&s, low - 7.0) == karma_i_normal_score_of(&s, low));
        assert_true(karma_i_normal_score_of(&s, high + 7.0) == karma_i_normal_score_of(&s, high));
        assert_true(karma_i_normal_score_value(&s, -9.0) == low && karma_i_normal_score_value(&s, 9.0) == high);
        for (size_t k = 0; k + 1 < s.n; k++)
            check_close(karma_i_normal_score_of(&s, 0.5 * (s.value[k] + s.value[k + 1])),
                        0.5 * (s.score[k] + s.score[k + 1]), 1e-9, "between");
        karma_i_normal_scores_clear(&s);
    }
}

static void many_values_need_few_knots(void **state) {
    (void)state;
    enum { N = 50000 };
    double *cells = malloc(N * sizeof *cells), largest = -INFINITY, least = INFINITY;
    assert_non_null(cells);
    karma_i_normal_scores s = learned(cells, N, 0, 5);
    assert_in_range(s.n, 300, 512);
    for (size_t i = 0; i < N; i++) largest = fmax(largest, cells[i]), least = fmin(least, cells[i]);
    assert_true(s.value[0] == least && s.value[s.n - 1] == largest);
    for (size_t i = 0; i < 100; i++) /* a step of the scores is 0.017 */
        assert_true(fabs(karma_i_normal_score_of(&s, cells[i]) -
                         karma_i_normal_quantile(counted_share(cells, N, cells[i]))) < 0.02);
    karma_i_normal_scores_clear(&s);
    free(cells);
}

/* By a sum over 20,000 equally probable scores. */
static void moments_are_those_of_the_values(void **state) {
    (void)state;
    enum { N = 400, POINTS = 20000 };
    static double cells[N];
    karma_i_normal_scores s = learned(cells, N, 0, 3);
    static const double posteriors[][2] = {{0.0, 1.0}, {1.2, 0.4}, {-0.7, 0.1}, {2.0, 2.0}};
    for (size_t k = 0; k < sizeof posteriors / sizeof posteriors[0]; k++) {
        double centre = posteriors[k][0], spread = posteriors[k][1], mean, sd, sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < POINTS; i++) {
            double z = karma_i_normal_quantile(((double)i + 0.5) / POINTS);
            double x = karma_i_normal_score_value(&s, centre + spread * z);
            sum += x / POINTS, squares += x * x / POINTS;
        }
        karma_i_normal_scores_moments(&mean, &sd, &s, centre, spread);
        double truth = sqrt(squares - sum * sum);
        assert_true(fabs(mean - sum) < 0.01 * truth); /* a line between knots is not smooth */
        assert_true(fabs(sd / truth - 1.0) < 0.02);
        karma_i_normal_scores_moments(&mean, &sd, &s, centre, 0.0);
        assert_true(mean == karma_i_normal_score_value(&s, centre) && sd == 0.0);
    }
    karma_i_normal_scores_clear(&s);
}

static void a_constant_column_has_one_score(void **state) {
    (void)state;
    double cells[] = {4.0, 4.0, 4.0}, mean, sd;
    karma_i_normal_scores s;
    assert_int_equal(karma_i_normal_scores_learn(&s, cells, 3, NULL), KARMA_OK);
    assert_int_equal(s.n, 1);
    assert_true(karma_i_normal_score_of(&s, 1.0) == 0.0 && karma_i_normal_score_of(&s, 9.0) == 0.0 && s.sd == 0.0);
    karma_i_normal_scores_moments(&mean, &sd, &s, 0.3, 1.0);
    assert_true(mean == 4.0 && sd == 0.0);
    karma_i_normal_scores_clear(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_normal_distribution),
        cmocka_unit_test(scores_are_quantiles_of_counted_shares),
        cmocka_unit_test(many_values_need_few_knots),
        cmocka_unit_test(moments_are_those_of_the_values),
        cmocka_unit_test(a_constant_column_has_one_score),
    };
    return cmocka_run_group_tests_name("normal_scores", tests, NULL, NULL);
}
