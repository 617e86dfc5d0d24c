/* One slope or the larger sigmoid: the optimal slope by brute force, unchanged decisions, and cases where the choice
 * is clear. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "solve/calibrate_choice.h"

enum { MOST_ROWS = 2000, MOST_CLASSES = 8 };

typedef struct problem {
    size_t n, n_classes, n_outputs;
    double scores[MOST_ROWS * MOST_CLASSES], weights[MOST_ROWS];
    size_t classes[MOST_ROWS];
} problem;

/* Scores are ±1 by the row's class and noise. */
static void draw(problem *p, uint64_t seed, size_t n, size_t n_classes, double noise) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    *p = (problem){.n = n, .n_classes = n_classes, .n_outputs = n_classes == 2 ? 1 : n_classes};
    for (size_t i = 0; i < n; i++) {
        p->classes[i] = karma_i_rng_below(&rng, n_classes);
        p->weights[i] = 0.5 + karma_i_rng_uniform(&rng);
        for (size_t o = 0; o < p->n_outputs; o++) {
            int own = p->classes[i] == (p->n_outputs == 1 ? 1 : o);
            p->scores[i * p->n_outputs + o] = (own ? 1.0 : -1.0) + noise * karma_i_rng_normal(&rng);
        }
    }
}

static karma_i_calibration chosen(const problem *p) {
    karma_i_calibration c;
    karma_error err;
    if (karma_i_calibration_choose(&c, p->scores, p->classes, p->weights, p->n, p->n_classes, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(karma_i_calibration_validate(&c, p->n_classes, NULL), KARMA_OK);
    return c;
}

static int has_one_slope(const karma_i_calibration *c) {
    for (size_t k = 0; k < c->n_outputs; k++) {
        if (c->offset[k] != 0.0) return 0;
        for (size_t j = 0; j < c->n_outputs; j++)
            if (c->slope[k * c->n_outputs + j] != (j == k ? c->slope[0] : 0.0)) return 0;
    }
    return 1;
}

static size_t decide_by_scores(const problem *p, size_t row) {
    const double *scores = p->scores + row * p->n_outputs;
    size_t best = 0;
    if (p->n_outputs == 1) return scores[0] > 0.0;
    for (size_t k = 1; k < p->n_outputs; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

/* The objective from its definition. */
static double objective(const karma_i_calibration *c, const problem *p) {
    double known[MOST_CLASSES] = {0}, sum = 0.0, q[MOST_CLASSES];
    for (size_t i = 0; i < p->n; i++) known[p->classes[i]] += p->weights[i];
    for (size_t i = 0; i < p->n; i++) {
        double other = 1.0 / (known[p->classes[i]] + 2.0);
        karma_i_calibration_apply(c, p->scores + i * p->n_outputs, q);
        for (size_t k = 0; k < p->n_classes; k++) {
            double target = k == p->classes[i] ? 1.0 - other : other / ((double)p->n_classes - 1.0);
            sum -= p->weights[i] * target * log(q[k]);
        }
    }
    return sum;
}

static void no_other_slope_is_better(void **state) {
    (void)state;
    static problem p;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        karma_i_calibration c;
        draw(&p, seed, 40 + 30 * seed, 2 + seed % 4, seed % 2 ? 0.3 : 1.5);
        for (size_t i = 0; i < p.n * p.n_outputs; i++) p.scores[i] *= pow(10.0, (double)(seed % 5) - 2.0);
        assert_int_equal(karma_i_calibration_learn_slope(&c, p.scores, p.classes, p.weights, p.n, p.n_classes, NULL),
                         KARMA_OK);
        assert_true(has_one_slope(&c) && c.slope[0] > 0.0);
        double best = objective(&c, &p), slope = c.slope[0];
        for (int step = -20; step <= 20; step++) {
            for (size_t k = 0; k < c.n_outputs; k++) c.slope[k * c.n_outputs + k] = slope * pow(1.2, step);
            if (step != 0 && !(objective(&c, &p) > best))
                fail_msg("seed %d: a slope %g is better than %g: %.9g, %.9g", (int)seed, c.slope[0], slope,
                         objective(&c, &p), best);
            if (step == 0) assert_true(fabs(objective(&c, &p) - best) <= 1e-9 * best);
        }
        karma_i_calibration_clear(&c);
    }
}

static void one_slope_keeps_every_decision(void **state) {
    (void)state;
    static problem p;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        karma_i_calibration c;
        draw(&p, seed, 200, 2 + seed % 5, 1.0);
        assert_int_equal(karma_i_calibration_learn_slope(&c, p.scores, p.classes, NULL, p.n, p.n_classes, NULL),
                         KARMA_OK);
        for (size_t i = 0; i < p.n; i++)
            assert_int_equal(karma_i_calibration_decide(&c, p.scores + i * p.n_outputs), decide_by_scores(&p, i));
        karma_i_calibration_clear(&c);
    }
}

/* Scores that need only a slope: with few rows and many classes, no matrix is fitted to their noise. */
static void few_rows_get_one_slope(void **state) {
    (void)state;
    static problem p;
    size_t n_one = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        draw(&p, seed, 80, 8, 1.0);
        karma_i_calibration c = chosen(&p);
        n_one += (size_t)has_one_slope(&c);
        karma_i_calibration_clear(&c);
    }
    assert_true(n_one >= 18);
}

/* Many rows, and scores with a shifted decision threshold: one slope would be wrong. */
static void a_shifted_threshold_is_found(void **state) {
    (void)state;
    static problem p;
    for (size_t n_classes = 2; n_classes <= 4; n_classes++) {
        draw(&p, 7, MOST_ROWS, n_classes, 0.5);
        for (size_t i = 0; i < p.n; i++) p.scores[i * p.n_outputs] += 1.5;
        karma_i_calibration c = chosen(&p);
        size_t n_right = 0, n_right_by_scores = 0;
        assert_false(has_one_slope(&c));
        for (size_t i = 0; i < p.n; i++) {
            n_right += karma_i_calibration_decide(&c, p.scores + i * p.n_outputs) == p.classes[i];
            n_right_by_scores += decide_by_scores(&p, i) == p.classes[i];
        }
        assert_true(n_right > n_right_by_scores + p.n / 20);
        karma_i_calibration_clear(&c);
    }
}

/* One row with absurd scores and another class than they say does not hide what all others show. */
static void one_row_does_not_decide(void **state) {
    (void)state;
    static problem p;
    for (size_t n_classes = 3; n_classes <= 6; n_classes++)
        for (int is_absurd = 0; is_absurd < 2; is_absurd++) {
            draw(&p, 7, 300, n_classes, 1.2);
            for (size_t i = 0; i < p.n; i++) p.scores[i * p.n_outputs] += 1.2;
            for (size_t k = 0; is_absurd && k < n_classes; k++) p.scores[k] = k == 0 || k == p.classes[0] ? -7e4 : 2e4;
            karma_i_calibration c = chosen(&p);
            assert_false(has_one_slope(&c));
            karma_i_calibration_clear(&c);
        }
}

/* Uninformative scores: the probabilities are the shares of the classes, not equal ones. */
static void uninformative_scores_give_the_shares(void **state) {
    (void)state;
    static problem p;
    double q[2], score = 0.0;
    draw(&p, 3, 400, 2, 1.0);
    for (size_t i = 0; i < p.n; i++) {
        p.scores[i] = -1.0 + 0.001 * (double)(i % 7);
        p.classes[i] = i % 10 == 0;
        p.weights[i] = 1.0;
    }
    karma_i_calibration c = chosen(&p);
    score = -1.0;
    karma_i_calibration_apply(&c, &score, q);
    if (!(q[1] > 0.07 && q[1] < 0.14)) fail_msg("%g where one row in ten is of the class", q[1]);
    karma_i_calibration_clear(&c);
}

static void useless_input_is_refused(void **state) {
    (void)state;
    static const double scores[] = {1.0, NAN, -1.0};
    static const size_t classes[] = {1, 0, 0}, unknown[] = {2, 2, 2};
    karma_i_calibration c;
    karma_error err;
    assert_int_equal(karma_i_calibration_choose(&c, scores, classes, NULL, 3, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_i_calibration_choose(&c, scores, unknown, NULL, 3, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_i_calibration_learn_slope(&c, scores, classes, NULL, 3, 2, &err), KARMA_ERR_DATA);
}

/* Three rows, a class of one row, a fold that learns nothing of a class. */
static void the_smallest_samples(void **state) {
    (void)state;
    static problem p;
    for (size_t n = 1; n <= 15; n++) {
        draw(&p, n, n, 3, 1.0);
        karma_i_calibration c = chosen(&p);
        double q[3], sum = 0.0;
        karma_i_calibration_apply(&c, p.scores, q);
        for (size_t k = 0; k < 3; k++) sum += q[k];
        assert_true(fabs(sum - 1.0) < 1e-12);
        karma_i_calibration_clear(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_slope_is_better), cmocka_unit_test(one_slope_keeps_every_decision),
        cmocka_unit_test(few_rows_get_one_slope),   cmocka_unit_test(a_shifted_threshold_is_found),
        cmocka_unit_test(one_row_does_not_decide),  cmocka_unit_test(uninformative_scores_give_the_shares),
        cmocka_unit_test(useless_input_is_refused), cmocka_unit_test(the_smallest_samples),
    };
    return cmocka_run_group_tests_name("calibrate_choice", tests, NULL, NULL);
}
