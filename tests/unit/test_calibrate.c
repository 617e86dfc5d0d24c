/* Calibration: values by hand, optimality conditions, brute force over partitions, and properties for any input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "solve/calibrate.h"

enum { MOST_ROWS = 600, MOST_CLASSES = 5 };

static const karma_calibration KINDS[] = {KARMA_CALIBRATE_SIGMOID, KARMA_CALIBRATE_ISOTONIC};
enum { N_KINDS = 2 };

static void assert_close(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance)) fail_msg("got %.17g, wanted %.17g", got, wanted);
}

static karma_i_calibration learn(karma_calibration kind, const double *scores, const size_t *classes,
                                 const double *weights, size_t n, size_t n_classes) {
    karma_i_calibration c;
    karma_error err;
    if (karma_i_calibration_learn(&c, kind, scores, classes, weights, n, n_classes, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    if (karma_i_calibration_validate(&c, n_classes, &err) != KARMA_OK) fail_msg("%s", err.message);
    return c;
}

/* The probability of class 1 of two. */
static double probability(const karma_i_calibration *c, double score) {
    double p[2];
    karma_i_calibration_apply(c, &score, p);
    assert_close(p[0] + p[1], 1.0, 1e-15);
    return p[1];
}

/* Rows whose class depends on their scores, with some unknown classes, tied scores and integer weights. */
typedef struct problem {
    size_t n, n_classes, n_outputs;
    double scores[MOST_ROWS * MOST_CLASSES], weights[MOST_ROWS];
    size_t classes[MOST_ROWS];
} problem;

static void draw(problem *p, karma_i_rng *rng, size_t n, size_t n_classes) {
    *p = (problem){.n = n, .n_classes = n_classes, .n_outputs = n_classes == 2 ? 1 : n_classes};
    for (size_t i = 0; i < n; i++) {
        p->classes[i] = karma_i_rng_below(rng, n_classes);
        p->weights[i] = (double)karma_i_rng_below(rng, 4);
        for (size_t o = 0; o < p->n_outputs; o++) {
            int own = p->classes[i] == (p->n_outputs == 1 ? 1 : o);
            p->scores[i * p->n_outputs + o] = floor(8.0 * (karma_i_rng_normal(rng) + (own ? 1.0 : -1.0))) / 8.0;
        }
        if (karma_i_rng_below(rng, 10) == 0) p->classes[i] = n_classes + karma_i_rng_below(rng, 3);
    }
    p->classes[0] = 0, p->weights[0] = 1.0; /* at least one class is known */
}

static karma_i_calibration learn_problem(karma_calibration kind, const problem *p, const double *weights) {
    return learn(kind, p->scores, p->classes, weights, p->n, p->n_classes);
}

static void assert_same(const karma_i_calibration *a, const karma_i_calibration *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->n_outputs, b->n_outputs);
    assert_int_equal(a->n_knots, b->n_knots);
    if (a->kind == KARMA_CALIBRATE_SIGMOID) {
        assert_memory_equal(a->slope, b->slope, a->n_outputs * a->n_outputs * sizeof *a->slope);
        assert_memory_equal(a->offset, b->offset, a->n_outputs * sizeof *a->offset);
    } else {
        assert_memory_equal(a->start, b->start, (a->n_outputs + 1) * sizeof *a->start);
        assert_memory_equal(a->at, b->at, a->n_knots * sizeof *a->at);
        assert_memory_equal(a->value, b->value, a->n_knots * sizeof *a->value);
    }
}

/* --- sigmoid ------------------------------------------------------------------------------------------- */

/* Scores ±1 only: the sigmoid meets the mean targets of both, s(1) = logit T(1), s(-1) = logit T(-1). */
static void sigmoid_by_hand(void **state) {
    (void)state;
    static const double scores[] = {1, 1, 1, -1, -1};
    static const size_t classes[] = {1, 1, 0, 0, 0};
    double high = 3.0 / 4.0, low = 1.0 / 5.0;
    double at_plus = (2.0 * high + low) / 3.0, at_minus = low;
    double s_plus = log(at_plus / (1.0 - at_plus)), s_minus = log(at_minus / (1.0 - at_minus));
    karma_i_calibration c = learn(KARMA_CALIBRATE_SIGMOID, scores, classes, NULL, 5, 2);
    assert_int_equal(c.n_outputs, 1);
    assert_close(c.slope[0], 0.5 * (s_plus - s_minus), 1e-12);
    assert_close(c.offset[0], 0.5 * (s_plus + s_minus), 1e-12);
    assert_close(probability(&c, 1.0), at_plus, 1e-12);
    assert_close(probability(&c, -1.0), at_minus, 1e-12);
    karma_i_calibration_clear(&c);
}

/* Both derivatives of the loss are 0, computed from the definition row by row. */
static void sigmoid_is_stationary(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    static problem p;
    for (int round = 0; round < 50; round++) {
        double unit = pow(10.0, (double)(round % 9) - 4.0), shift = (double)(round % 3) * 5.0;
        draw(&p, &rng, 20 + karma_i_rng_below(&rng, MOST_ROWS - 20), 2);
        for (size_t i = 0; i < p.n; i++) p.scores[i] = unit * (p.scores[i] + shift);
        karma_i_calibration c = learn_problem(KARMA_CALIBRATE_SIGMOID, &p, p.weights);
        double sides[2] = {0}, g_offset = 0.0, g_slope = 0.0;
        for (size_t i = 0; i < p.n; i++)
            if (p.classes[i] < 2) sides[p.classes[i]] += p.weights[i];
        for (size_t i = 0; i < p.n; i++) {
            if (p.classes[i] >= 2) continue;
            double target = p.classes[i] ? (sides[1] + 1.0) / (sides[1] + 2.0) : 1.0 / (sides[0] + 2.0);
            double g = p.weights[i] * (probability(&c, p.scores[i]) - target);
            g_offset += g;
            g_slope += g * p.scores[i] / unit;
        }
        assert_true(c.slope[0] > 0.0);
        assert_close(g_offset, 0.0, 1e-9);
        assert_close(g_slope, 0.0, 1e-9);
        karma_i_calibration_clear(&c);
    }
}

/* Classes that a threshold separates: Platt's targets keep the slope finite, and no row is certain. */
static void sigmoid_of_separable_classes(void **state) {
    (void)state;
    double scores[40];
    size_t classes[40];
    for (size_t i = 0; i < 40; i++) scores[i] = (double)i - 19.5, classes[i] = i >= 20;
    karma_i_calibration c = learn(KARMA_CALIBRATE_SIGMOID, scores, classes, NULL, 40, 2);
    assert_true(c.slope[0] > 0.1 && c.slope[0] < 10.0);
    assert_close(c.offset[0], 0.0, 1e-9); /* the two sides are symmetric */
    assert_true(probability(&c, 19.5) > 0.95 && probability(&c, 19.5) < 1.0);
    karma_i_calibration_clear(&c);
}

static void a_reversed_order_gives_the_prior(void **state) {
    (void)state;
    static const double scores[] = {-2, -1, 0, 1, 2}, equal[] = {3, 3, 3, 3, 3};
    static const size_t classes[] = {1, 1, 1, 0, 0};
    double prior = (3.0 * 4.0 / 5.0 + 2.0 * 1.0 / 4.0) / 5.0; /* the mean of the targets */
    for (int all_equal = 0; all_equal < 2; all_equal++) {
        karma_i_calibration c = learn(KARMA_CALIBRATE_SIGMOID, all_equal ? equal : scores, classes, NULL, 5, 2);
        assert_true(c.slope[0] == 0.0);
        assert_close(probability(&c, -1e300), prior, 1e-15);
        assert_close(probability(&c, 1e300), prior, 1e-15);
        karma_i_calibration_clear(&c);
    }
    karma_i_calibration c = learn(KARMA_CALIBRATE_ISOTONIC, scores, classes, NULL, 5, 2);
    assert_close(probability(&c, -1e300), 0.6, 1e-15);
    assert_close(probability(&c, 1e300), 0.6, 1e-15);
    karma_i_calibration_clear(&c);
}

/* --- isotonic ------------------------------------------------------------------------------------------ */

static void isotonic_by_hand(void **state) {
    (void)state;
    /*                               block 0 | 1/2 of 2 rows, 1/3 with them joined | two rows, both positive */
    static const double scores[] = {-3, -2, 0, 0, 1, 4, 5};
    static const size_t classes[] = {0, 0, 1, 0, 0, 1, 1};
    static const double at[] = {-3, -2, 0, 1, 4, 5}, value[] = {0.25, 0.25, 1.0 / 3.0, 1.0 / 3.0, 0.75, 0.75};
    karma_i_calibration c = learn(KARMA_CALIBRATE_ISOTONIC, scores, classes, NULL, 7, 2);
    assert_int_equal(c.n_knots, 6);
    for (size_t k = 0; k < 6; k++) {
        assert_close(c.at[k], at[k], 0.0);
        assert_close(c.value[k], value[k], 1e-15);
    }
    assert_close(probability(&c, -1.0), 0.5 * (0.25 + 1.0 / 3.0), 1e-15);
    assert_close(probability(&c, 2.0), 1.0 / 3.0 + (0.75 - 1.0 / 3.0) / 3.0, 1e-15);
    assert_close(probability(&c, -1e300), 0.25, 0.0);
    assert_close(probability(&c, 1e300), 0.75, 0.0);
    karma_i_calibration_clear(&c);
}

/* One negative row below a block of 1/10: Laplace's estimate for it, 1/3, would exceed that of the block. */
static void a_pure_end_does_not_exceed_its_neighbour(void **state) {
    (void)state;
    static const double scores[] = {0, 1, 1, 2, 2, 3}, weights[] = {1, 1, 9, 9, 1, 1};
    static const size_t classes[] = {0, 1, 0, 1, 0, 1};
    karma_i_calibration c = learn(KARMA_CALIBRATE_ISOTONIC, scores, classes, weights, 6, 2);
    static const double wanted[] = {0.1, 0.1, 0.9, 0.9};
    for (size_t i = 0; i < 4; i++) assert_close(probability(&c, (double)i), wanted[i], 1e-15);
    karma_i_calibration_clear(&c);
}

enum { MOST_SCORES = 9 };

/* n ascending scores, each with a negative row of weight w[2i] and a positive one of weight w[2i+1]: the least
 * Σ w (mean - y)² = Σ weight mean (1 - mean) among all ways to cut them into blocks of ascending means. */
static double best_error_of_partitions(const double *w, size_t n) {
    double best = INFINITY;
    for (unsigned cuts = 0; cuts < 1U << (n - 1); cuts++) {
        double error = 0.0, last = 0.0;
        for (size_t first = 0, end; first < n; first = end) {
            double negative = 0.0, positive = 0.0;
            for (end = first; end < n && (end == first || !(cuts >> (end - 1) & 1U)); end++)
                negative += w[2 * end], positive += w[2 * end + 1];
            double mean = positive / (positive + negative);
            error += mean >= last ? negative * mean : INFINITY; /* weight (1 - mean) = negative */
            last = mean;
        }
        best = fmin(best, error);
    }
    return best;
}

static void isotonic_is_the_best_of_all_partitions(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (int round = 0; round < 200; round++) {
        double scores[2 * MOST_SCORES], weights[2 * MOST_SCORES], error = 0.0;
        size_t classes[2 * MOST_SCORES], n = 1 + karma_i_rng_below(&rng, MOST_SCORES);
        for (size_t i = 0; i < 2 * n; i++) {
            scores[i] = (double)(i / 2) * (double)(i / 2);
            classes[i] = i % 2;
            weights[i] = 0.1 + karma_i_rng_uniform(&rng);
        }
        karma_i_calibration c = learn(KARMA_CALIBRATE_ISOTONIC, scores, classes, weights, 2 * n, 2);
        for (size_t i = 0; i < 2 * n; i++)
            error += weights[i] * pow(probability(&c, scores[i]) - (double)classes[i], 2);
        assert_close(error, best_error_of_partitions(weights, n), 1e-12);
        karma_i_calibration_clear(&c);
    }
}

/* --- both ---------------------------------------------------------------------------------------------- */

static void probabilities_are_probabilities(void **state) {
    (void)state;
    static const double extremes[] = {0.0, -0.0, 1e300, -1e300, DBL_MAX, -DBL_MAX, DBL_MIN, 1.0, -1.0};
    enum { N_EXTREMES = sizeof extremes / sizeof extremes[0] };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 11);
    static problem p;
    for (int round = 0; round < 80; round++) {
        draw(&p, &rng, 1 + karma_i_rng_below(&rng, 100), 2 + (size_t)round % 4);
        if (round % 5 == 4) /* scores as large as they can be */
            for (size_t i = 0; i < p.n * p.n_outputs; i++) p.scores[i] *= 1e307;
        karma_i_calibration c = learn_problem(KINDS[round % N_KINDS], &p, NULL);
        for (int query = 0; query < 200; query++) {
            double scores[MOST_CLASSES], q[MOST_CLASSES], sum = 0.0;
            for (size_t o = 0; o < p.n_outputs; o++)
                scores[o] = query % 2 ? extremes[karma_i_rng_below(&rng, N_EXTREMES)] : 5.0 * karma_i_rng_normal(&rng);
            karma_i_calibration_apply(&c, scores, q);
            for (size_t k = 0; k < p.n_classes; k++) {
                assert_true(q[k] >= 0.0 && q[k] <= 1.0);
                sum += q[k];
            }
            assert_close(sum, 1.0, 1e-14);
        }
        karma_i_calibration_clear(&c);
    }
}

static void two_classes_keep_the_order_of_scores(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 12);
    static problem p;
    for (int round = 0; round < 60; round++) {
        draw(&p, &rng, 1 + karma_i_rng_below(&rng, 200), 2);
        karma_i_calibration c = learn_problem(KINDS[round % N_KINDS], &p, p.weights);
        double last = 0.0;
        for (int step = -500; step <= 500; step++) {
            double now = probability(&c, (double)step / 100.0);
            assert_true(now >= last);
            last = now;
        }
        karma_i_calibration_clear(&c);
    }
}

/* Isotonic: one function per class against the rest, learned separately, then normalised. */
static void more_classes_are_normalised(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 13);
    static problem p;
    for (int round = 0; round < 20; round++) {
        size_t K = 3 + (size_t)round % 3;
        double alone[MOST_CLASSES], sum = 0.0, q[MOST_CLASSES], query[MOST_CLASSES];
        draw(&p, &rng, 150, K);
        karma_i_calibration all = learn_problem(KARMA_CALIBRATE_ISOTONIC, &p, p.weights);
        for (size_t k = 0; k < K; k++) {
            double scores[MOST_ROWS];
            size_t classes[MOST_ROWS];
            for (size_t i = 0; i < p.n; i++) {
                scores[i] = p.scores[i * K + k];
                classes[i] = p.classes[i] < K ? p.classes[i] == k : 2;
            }
            karma_i_calibration one = learn(KARMA_CALIBRATE_ISOTONIC, scores, classes, p.weights, p.n, 2);
            query[k] = 2.0 * karma_i_rng_normal(&rng);
            sum += alone[k] = probability(&one, query[k]);
            karma_i_calibration_clear(&one);
        }
        karma_i_calibration_apply(&all, query, q);
        for (size_t k = 0; k < K; k++) assert_close(q[k], alone[k] / sum, 1e-14);
        karma_i_calibration_clear(&all);
    }
}

/* The objective of solve/multinomial.c from its definition, on unscaled scores: W' = W sd, with mean and deviation
 * of each output over the rows. */
static double multinomial_objective(const karma_i_calibration *c, const problem *p) {
    size_t K = p->n_classes;
    double N[MOST_CLASSES] = {0}, total = 0.0, mean[MOST_CLASSES] = {0}, square[MOST_CLASSES] = {0}, loss = 0.0;
    double slope = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->classes[i] >= K) continue;
        N[p->classes[i]] += p->weights[i];
        total += p->weights[i];
        for (size_t k = 0; k < K; k++) {
            mean[k] += p->weights[i] * p->scores[i * K + k];
            square[k] += p->weights[i] * p->scores[i * K + k] * p->scores[i * K + k];
        }
    }
    for (size_t k = 0; k < K; k++) {
        mean[k] /= total;
        square[k] = sqrt(square[k] / total - mean[k] * mean[k]);
        slope += c->slope[k * K + k] * square[k] / (double)K;
    }
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < K; j++) loss += 0.5 * pow(c->slope[k * K + j] * square[j] - (j == k ? slope : 0.0), 2);
    for (size_t i = 0; i < p->n; i++) {
        if (p->classes[i] >= K || p->weights[i] == 0.0) continue;
        double q[MOST_CLASSES], rest = 1.0 / (N[p->classes[i]] + 2.0);
        karma_i_calibration_apply(c, p->scores + i * K, q);
        for (size_t k = 0; k < K; k++)
            loss -= p->weights[i] * log(q[k]) * (k == p->classes[i] ? 1.0 - rest : rest / (double)(K - 1));
    }
    return loss;
}

/* No step along any slope or offset lowers the objective: both neighbours are higher by the same amount. */
static void the_sigmoid_of_more_classes_is_stationary(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 21);
    static problem p;
    for (size_t round = 0; round < 12; round++) {
        size_t K = 3 + round % 3;
        draw(&p, &rng, 60 + 90 * (round % 4), K);
        karma_i_calibration c = learn_problem(KARMA_CALIBRATE_SIGMOID, &p, p.weights);
        double least = multinomial_objective(&c, &p);
        for (size_t i = 0; i < K * K + K; i++) {
            double *number = i < K * K ? &c.slope[i] : &c.offset[i - K * K], at = *number, side[2];
            for (int s = 0; s < 2; s++) {
                *number = at + (s ? 1e-3 : -1e-3);
                side[s] = multinomial_objective(&c, &p);
                assert_true(side[s] >= least - 1e-9);
            }
            *number = at;
            assert_close(side[1] - side[0], 0.0, 1e-5); /* twice the step times the derivative, which is below 5e-3 */
        }
        karma_i_calibration_clear(&c);
    }
}

/* With more than 64 classes, the probability of a class depends only on the score of its own output. */
static void many_classes_have_a_slope_each(void **state) {
    (void)state;
    enum { K = 70, N = 700 };
    static double scores[N * K], q[K];
    static size_t classes[N];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 22);
    for (size_t i = 0; i < N; i++) {
        classes[i] = i % K;
        for (size_t k = 0; k < K; k++) scores[i * K + k] = karma_i_rng_normal(&rng) + (k == classes[i] ? 4.0 : 0.0);
    }
    karma_i_calibration c = learn(KARMA_CALIBRATE_SIGMOID, scores, classes, NULL, N, K);
    size_t n_right = 0;
    for (size_t k = 0; k < K; k++)
        for (size_t j = 0; j < K; j++) assert_true(k == j ? c.slope[k * K + j] > 0.1 : c.slope[k * K + j] == 0.0);
    for (size_t i = 0; i < N; i++) {
        karma_i_calibration_apply(&c, scores + i * K, q);
        n_right += karma_i_calibration_decide(&c, scores + i * K) == classes[i];
    }
    assert_true(n_right > N * 8 / 10);
    karma_i_calibration_clear(&c);
}

/* Where every e^s is too small for a double, their ratios e^(s_j - s_k) still count. */
static void underflowing_scores_keep_their_ratios(void **state) {
    (void)state;
    double slope[] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0}, offset[] = {0.0, 0.0, 0.0}, p[3];
    double low[] = {-2001.0, -2001.0, -2001.0}, high[] = {0.0, 0.0, 0.0};
    karma_i_calibration c = {
        .kind = KARMA_CALIBRATE_SIGMOID, .n_outputs = 3, .slope = slope, .offset = offset, .low = low, .high = high};
    static const double scores[] = {-2000.0, -2001.0, -1500.0};
    karma_i_calibration_apply(&c, scores, p);
    assert_close(p[0], 1.0 / (1.0 + exp(-1.0)), 1e-12);
    assert_close(p[1], 1.0 / (1.0 + exp(1.0)), 1e-12);
    assert_true(p[2] == 0.0);
}

/* One row in two hundred has a score a thousand times too large, for the wrong class: the others keep their
 * probabilities. The oracle has the row at the bound instead. */
static void a_wild_score_does_not_flatten_the_others(void **state) {
    (void)state;
    enum { N = 200 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 21);
    for (size_t n_classes = 2; n_classes <= 4; n_classes++) {
        static problem p;
        size_t n_outputs = n_classes == 2 ? 1 : n_classes;
        draw(&p, &rng, N, n_classes);
        p.classes[1] = 0;
        p.scores[n_outputs] = 1e4; /* row 1, output 0: of two classes, this favours class 1 */
        if (n_outputs > 1) p.classes[1] = 1;
        karma_i_calibration wild = learn_problem(KARMA_CALIBRATE_SIGMOID, &p, NULL);
        double clean[MOST_CLASSES], with[MOST_CLASSES];
        assert_true(wild.high[0] > 1.0 && wild.high[0] < 30.0);
        p.scores[n_outputs] = wild.high[0];
        karma_i_calibration tame = learn_problem(KARMA_CALIBRATE_SIGMOID, &p, NULL);
        for (size_t i = 0; i < N; i++) {
            karma_i_calibration_apply(&wild, p.scores + i * n_outputs, with);
            karma_i_calibration_apply(&tame, p.scores + i * n_outputs, clean);
            for (size_t k = 0; k < n_classes; k++) assert_close(with[k], clean[k], 1e-9);
        }
        assert_true(wild.slope[0] > 0.3);
        karma_i_calibration_clear(&wild);
        karma_i_calibration_clear(&tame);
    }
}

/* Scaling all scores, up to the limits of a double, changes nothing. */
static void units_do_not_matter(void **state) {
    (void)state;
    static const int exponents[] = {-1000, -500, 500, 1000, 1017};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 16);
    static problem p, q;
    for (int round = 0; round < 40; round++) {
        int exponent = exponents[round % 5];
        draw(&p, &rng, 100, 2);
        q = p;
        for (size_t i = 0; i < p.n; i++) q.scores[i] = ldexp(p.scores[i], exponent);
        karma_i_calibration a = learn_problem(KINDS[round % N_KINDS], &p, p.weights);
        karma_i_calibration b = learn_problem(KINDS[round % N_KINDS], &q, q.weights);
        for (double z = -4.0; z <= 4.0; z += 0.03)
            assert_close(probability(&b, ldexp(z, exponent)), probability(&a, z), 1e-12);
        karma_i_calibration_clear(&a);
        karma_i_calibration_clear(&b);
    }
}

static void the_widest_gap_is_interpolated_linearly(void **state) {
    (void)state;
    static const double scores[] = {-DBL_MAX, DBL_MAX};
    static const size_t classes[] = {0, 1};
    karma_i_calibration c = learn(KARMA_CALIBRATE_ISOTONIC, scores, classes, NULL, 2, 2);
    assert_close(probability(&c, -DBL_MAX), 1.0 / 3.0, 1e-15);
    assert_close(probability(&c, 0.0), 0.5, 1e-15);
    assert_close(probability(&c, 0.5 * DBL_MAX), 7.0 / 12.0, 1e-15);
    karma_i_calibration_clear(&c);
}

static void the_order_of_rows_does_not_matter(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 14);
    static problem p, q;
    for (int round = 0; round < 40; round++) {
        size_t order[MOST_ROWS];
        draw(&p, &rng, 200, 2 + (size_t)round % 3);
        for (size_t i = 0; i < p.n; i++) p.weights[i] *= karma_i_rng_uniform(&rng), order[i] = i;
        karma_i_rng_shuffle(&rng, order, p.n);
        q = p;
        for (size_t i = 0; i < p.n; i++) {
            q.classes[i] = p.classes[order[i]];
            q.weights[i] = p.weights[order[i]];
            memcpy(q.scores + i * p.n_outputs, p.scores + order[i] * p.n_outputs, p.n_outputs * sizeof *p.scores);
        }
        karma_i_calibration a = learn_problem(KINDS[round % N_KINDS], &p, p.weights);
        karma_i_calibration b = learn_problem(KINDS[round % N_KINDS], &q, q.weights);
        assert_same(&a, &b);
        karma_i_calibration_clear(&a);
        karma_i_calibration_clear(&b);
    }
}

static void a_weight_of_two_is_a_repeated_row(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 15);
    static problem p, q;
    for (int round = 0; round < 40; round++) {
        draw(&p, &rng, 150, 2 + (size_t)round % 3);
        q = (problem){.n_classes = p.n_classes, .n_outputs = p.n_outputs};
        for (size_t i = 0; i < p.n; i++)
            for (double copies = 0.0; copies < p.weights[i]; copies += 1.0, q.n++) {
                q.classes[q.n] = p.classes[i];
                memcpy(q.scores + q.n * p.n_outputs, p.scores + i * p.n_outputs, p.n_outputs * sizeof *p.scores);
            }
        karma_i_calibration a = learn_problem(KINDS[round % N_KINDS], &p, p.weights);
        karma_i_calibration b = learn_problem(KINDS[round % N_KINDS], &q, NULL);
        assert_same(&a, &b);
        karma_i_calibration_clear(&a);
        karma_i_calibration_clear(&b);
    }
}

/* Also at scores so large that the least slope would be visible. */
static void one_class_only_gives_a_constant(void **state) {
    (void)state;
    static const double queries[] = {-1e300, -1.0, 0.1, 1e300};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 17);
    for (size_t round = 0; round < 40; round++) {
        double scores[MOST_ROWS], n = (double)(1 + karma_i_rng_below(&rng, MOST_ROWS));
        size_t classes[MOST_ROWS], class = round / 2 % 2;
        for (size_t i = 0; i < (size_t)n; i++) scores[i] = 100.0 * karma_i_rng_normal(&rng), classes[i] = class;
        karma_i_calibration c = learn(KINDS[round % N_KINDS], scores, classes, NULL, (size_t)n, 2);
        for (size_t i = 0; i < 4; i++)
            assert_close(probability(&c, queries[i]), ((class ? n : 0.0) + 1.0) / (n + 2.0), 1e-14);
        karma_i_calibration_clear(&c);
    }
}

static void a_class_without_rows_is_possible(void **state) {
    (void)state;
    static const double scores[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const size_t classes[] = {0, 2, 0}; /* the probability of class 1 alone is 1/5 */
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        karma_i_calibration c = learn(KINDS[kind], scores, classes, NULL, 3, 3);
        double p[3];
        karma_i_calibration_apply(&c, scores, p);
        assert_true(p[1] > 0.0 && p[1] < 0.4);
        karma_i_calibration_clear(&c);
    }
}

/* --- refusals ------------------------------------------------------------------------------------------ */

static void useless_input_is_refused(void **state) {
    (void)state;
    static const double good[] = {1, 2}, infinite[] = {1, INFINITY}, negative[] = {1, -1}, nan[] = {NAN, 1},
                        none[] = {0, 0}, heavy[] = {1e300, 1};
    static const size_t classes[] = {0, 1}, unknown[] = {2, 7}, half[] = {0, 9};
    karma_i_calibration c = {.n_outputs = 77};
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        karma_calibration k = KINDS[kind];
        assert_int_equal(karma_i_calibration_learn(&c, k, infinite, classes, NULL, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, nan, classes, NULL, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, classes, negative, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, classes, nan, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, classes, none, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, classes, heavy, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, unknown, NULL, 2, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, classes, NULL, 0, 2, NULL), KARMA_ERR_DATA);
        assert_int_equal(karma_i_calibration_learn(&c, k, good, classes, NULL, 2, 1, NULL), KARMA_ERR_DATA);
        assert_int_equal(c.n_outputs, 77);
        karma_i_calibration left = learn(k, infinite, half, NULL, 2, 2); /* rows of weight 0 are not looked at */
        karma_i_calibration_clear(&left);
    }
    karma_i_calibration off = learn(KARMA_CALIBRATE_OFF, NULL, NULL, NULL, 0, 2);
    assert_int_equal(off.n_outputs, 0);
    assert_int_equal(karma_i_calibration_learn(&c, KARMA_N_CALIBRATIONS, good, classes, NULL, 2, 2, NULL),
                     KARMA_ERR_OPTION);
    assert_int_equal(c.n_outputs, 77);
    karma_i_calibration_clear(&off);
}

static void refuses(const karma_i_calibration *c, size_t n_classes, const char *what) {
    karma_error err;
    if (karma_i_calibration_validate(c, n_classes, &err) != KARMA_ERR_FORMAT) fail_msg("%s passes", what);
}

static void a_broken_sigmoid_is_refused(void **state) {
    (void)state;
    static const double bad_slopes[] = {-INFINITY, NAN, INFINITY}, bad_offsets[] = {NAN, INFINITY, -INFINITY};
    karma_i_calibration c;
    assert_int_equal(karma_i_calibration_new(&c, KARMA_CALIBRATE_SIGMOID, 3, 0, NULL), KARMA_OK);
    assert_int_equal(karma_i_calibration_validate(&c, 3, NULL), KARMA_OK);
    refuses(&c, 2, "three outputs for two classes");
    refuses(&c, 4, "three outputs for four classes");
    for (size_t i = 0; i < 3; i++) {
        c.slope[2] = bad_slopes[i];
        refuses(&c, 3, "a slope");
        c.slope[2] = 0.0;
        c.offset[i] = bad_offsets[i];
        refuses(&c, 3, "an offset");
        c.offset[i] = 0.0;
        c.low[i] = bad_offsets[i];
        refuses(&c, 3, "a lower bound");
        c.low[i] = 1.0;
        refuses(&c, 3, "bounds that are crossed");
        c.low[i] = 0.0;
    }
    double falling = -1e-300, level = 0.0;
    karma_i_calibration two = {.kind = KARMA_CALIBRATE_SIGMOID, .n_outputs = 1, .slope = &falling, .offset = &level};
    refuses(&two, 2, "a sigmoid that falls");
    c.kind = KARMA_N_CALIBRATIONS;
    refuses(&c, 3, "a kind");
    karma_i_calibration_clear(&c);
    assert_int_equal(karma_i_calibration_validate(&c, 3, NULL), KARMA_OK);
}

static void a_broken_isotonic_function_is_refused(void **state) {
    (void)state;
    static const double bad_at[] = {NAN, INFINITY, 0.0, -1.0}, bad_value[] = {NAN, 0.0, 1.0, 0.2, -0.5};
    karma_i_calibration c;
    assert_int_equal(karma_i_calibration_new(&c, KARMA_CALIBRATE_ISOTONIC, 2, 2, NULL), KARMA_OK);
    c.start[1] = 2;
    c.at[1] = 1.0, c.value[0] = 0.25, c.value[1] = 0.75;
    assert_int_equal(karma_i_calibration_validate(&c, 2, NULL), KARMA_OK);
    refuses(&c, 1, "one class");
    for (size_t i = 0; i < sizeof bad_at / sizeof bad_at[0]; i++) c.at[1] = bad_at[i], refuses(&c, 2, "a score");
    c.at[1] = 1.0;
    for (size_t i = 0; i < sizeof bad_value / sizeof bad_value[0]; i++)
        c.value[1] = bad_value[i], refuses(&c, 2, "a probability");
    c.value[1] = 0.75;
    static const size_t bad_end[] = {0, 1, 3, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad_end / sizeof bad_end[0]; i++) c.start[1] = bad_end[i], refuses(&c, 2, "a range");
    c.start[0] = 1, c.start[1] = 2;
    refuses(&c, 2, "a first range that does not start at 0");
    karma_i_calibration_clear(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigmoid_by_hand),
        cmocka_unit_test(sigmoid_is_stationary),
        cmocka_unit_test(sigmoid_of_separable_classes),
        cmocka_unit_test(a_reversed_order_gives_the_prior),
        cmocka_unit_test(isotonic_by_hand),
        cmocka_unit_test(a_pure_end_does_not_exceed_its_neighbour),
        cmocka_unit_test(isotonic_is_the_best_of_all_partitions),
        cmocka_unit_test(probabilities_are_probabilities),
        cmocka_unit_test(two_classes_keep_the_order_of_scores),
        cmocka_unit_test(more_classes_are_normalised),
        cmocka_unit_test(the_sigmoid_of_more_classes_is_stationary),
        cmocka_unit_test(many_classes_have_a_slope_each),
        cmocka_unit_test(underflowing_scores_keep_their_ratios),
        cmocka_unit_test(a_wild_score_does_not_flatten_the_others),
        cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(the_widest_gap_is_interpolated_linearly),
        cmocka_unit_test(the_order_of_rows_does_not_matter),
        cmocka_unit_test(a_weight_of_two_is_a_repeated_row),
        cmocka_unit_test(one_class_only_gives_a_constant),
        cmocka_unit_test(a_class_without_rows_is_possible),
        cmocka_unit_test(useless_input_is_refused),
        cmocka_unit_test(a_broken_sigmoid_is_refused),
        cmocka_unit_test(a_broken_isotonic_function_is_refused),
    };
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}
