/* Losses against their definitions: derivatives against differences, conjugates against a search for the supremum,
 * Lipschitz constants against slopes. No formula of a loss is repeated here except for a few points by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "solve/loss.h"

static karma_i_loss make_loss(int kind, double parameter) {
    karma_fit_options o;
    karma_i_loss loss;
    karma_options_init(karma_fit_option_table(), &o);
    o.loss = kind;
    o.tube = o.huber = parameter;
    assert_int_equal(karma_i_loss_make(&loss, kind <= KARMA_LOSS_LOGISTIC ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS,
                                       &o, parameter, NULL),
                     KARMA_OK);
    assert_int_equal(loss.kind, kind);
    return loss;
}

/* Every loss with several parameters and targets. */
typedef void (*check_fn)(const karma_i_loss *loss, double y);

static void for_every_loss(check_fn check) {
    static const double parameters[] = {0.07, 0.5, 0.9};
    static const double targets[] = {-2.3, 0.0, 0.4, 5.0};
    for (int kind = KARMA_LOSS_HINGE; kind < KARMA_N_LOSSES; kind++)
        for (size_t p = 0; p < 3; p++) {
            karma_i_loss loss = make_loss(kind, parameters[p]);
            if (loss.task == KARMA_TASK_CLASSIFY) {
                check(&loss, -1.0);
                check(&loss, 1.0);
            } else {
                for (size_t t = 0; t < 4; t++) check(&loss, targets[t]);
            }
        }
}

static double value(const karma_i_loss *l, double z, double y) {
    return l->value(z, y, l->parameter);
}
static double slope(const karma_i_loss *l, double z, double y) {
    return l->derivative(z, y, l->parameter);
}
static double conjugate(const karma_i_loss *l, double a, double y) {
    return l->conjugate(a, y, l->parameter);
}

static const char *name_of(const karma_i_loss *l) {
    return karma_i_loss_name(l->kind);
}

/* --- derivative ---------------------------------------------------------------------------------------- */

static void check_derivative(const karma_i_loss *l, double y) {
    const double h = 1e-6;
    size_t smooth = 0;
    for (double z = -8.0; z <= 8.0; z += 0.0137) {
        double below = slope(l, z - 2.0 * h, y), above = slope(l, z + 2.0 * h, y);
        if (fabs(above - below) > 1e-4) continue; /* a kink */
        double difference = (value(l, z + h, y) - value(l, z - h, y)) / (2.0 * h);
        smooth++;
        if (!(fabs(difference - slope(l, z, y)) <= 1e-7 * fmax(1.0, fabs(difference))))
            fail_msg("%s (%g), y %g, z %g: derivative %.9g, difference %.9g", name_of(l), l->parameter, y, z,
                     slope(l, z, y), difference);
    }
    assert_true(smooth > 1100);
}

static void derivatives_equal_differences(void **state) {
    (void)state;
    for_every_loss(check_derivative);
}

/* A loss with a curvature has a continuous derivative, and the curvature is its derivative; without one it jumps
 * somewhere. */
static void check_curvature(const karma_i_loss *l, double y) {
    const double h = 1e-6;
    double largest_jump = 0.0;
    for (double z = -8.0; z <= 8.0; z += 0.0137) {
        double jump = slope(l, z + 0.0137, y) - slope(l, z, y);
        largest_jump = fmax(largest_jump, jump);
        if (!l->curvature) continue;
        double here = l->curvature(z, y, l->parameter), above = l->curvature(z + 2.0 * h, y, l->parameter);
        if (fabs(here - above) > 1e-3) continue;
        assert_true(here >= 0.0);
        double difference = (slope(l, z + h, y) - slope(l, z - h, y)) / (2.0 * h);
        if (!(fabs(difference - here) <= 1e-6))
            fail_msg("%s (%g), y %g, z %g: curvature %.9g, difference %.9g", name_of(l), l->parameter, y, z, here,
                     difference);
    }
    assert_true(l->curvature ? largest_jump < 0.03 : largest_jump > 0.05);
}

static void curvatures_equal_differences(void **state) {
    (void)state;
    for_every_loss(check_curvature);
}

/* At a kink the answer is a subgradient: between the slopes on both sides. */
static void check_kinks(const karma_i_loss *l, double y) {
    double p = l->parameter, points[] = {y, y - p, y + p, 1.0, -1.0, 0.0};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        double z = points[i], g = slope(l, z, y);
        assert_true(g >= slope(l, z - 1e-9, y) - 1e-8 && g <= slope(l, z + 1e-9, y) + 1e-8);
    }
}

static void kinks_have_subgradients(void **state) {
    (void)state;
    for_every_loss(check_kinks);
}

/* --- shape --------------------------------------------------------------------------------------------- */

static void check_convexity(const karma_i_loss *l, double y) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (size_t i = 0; i < 500; i++) {
        double a = 6.0 * karma_i_rng_normal(&rng), b = 6.0 * karma_i_rng_normal(&rng),
               share = karma_i_rng_uniform(&rng);
        double between = value(l, share * a + (1.0 - share) * b, y);
        double chord = share * value(l, a, y) + (1.0 - share) * value(l, b, y);
        assert_true(between >= 0.0);
        assert_true(between <= chord + 1e-12 * fmax(1.0, chord));
        /* the tangent lies below */
        assert_true(value(l, b, y) >=
                    value(l, a, y) + slope(l, a, y) * (b - a) - 1e-12 * fmax(1.0, value(l, b, y) + fabs(b - a)));
    }
}

static void losses_are_convex(void **state) {
    (void)state;
    for_every_loss(check_convexity);
}

static void check_lipschitz(const karma_i_loss *l, double y) {
    double steepest = 0.0;
    for (double z = -60.0; z <= 60.0; z += 0.031) {
        steepest = fmax(steepest, fabs(slope(l, z, y)));
        if (isfinite(l->lipschitz))
            assert_true(fabs(value(l, z + 0.4, y) - value(l, z, y)) <= 0.4 * l->lipschitz + 1e-12);
    }
    if (isfinite(l->lipschitz)) {
        assert_true(steepest <= l->lipschitz + 1e-12);
        assert_true(steepest >= (1.0 - 1e-9) * l->lipschitz); /* attained, or approached by the logistic loss */
    } else {
        assert_true(steepest > 50.0);
    }
}

static void lipschitz_constants_are_right(void **state) {
    (void)state;
    for_every_loss(check_lipschitz);
    assert_true(isinf(make_loss(KARMA_LOSS_SQUARED, 0.1).lipschitz));
    assert_true(isinf(make_loss(KARMA_LOSS_SQUARED_HINGE, 0.1).lipschitz));
    assert_true(make_loss(KARMA_LOSS_PINBALL, 0.9).lipschitz == 0.9);
    assert_true(make_loss(KARMA_LOSS_PINBALL, 0.25).lipschitz == 0.75);
    assert_true(make_loss(KARMA_LOSS_HUBER, 0.07).lipschitz == 0.07);
}

/* --- conjugate ----------------------------------------------------------------------------------------- */

/* sup_z (a z - ℓ(z)) over a grid, then finer around the best. */
static double search_supremum(const karma_i_loss *l, double a, double y) {
    double best = -INFINITY, where = 0.0;
    for (double z = -60.0; z <= 60.0; z += 0.05) {
        double gain = a * z - value(l, z, y);
        if (gain > best) best = gain, where = z;
    }
    for (double width = 0.05; width > 1e-7; width *= 0.1) {
        double centre = where;
        for (int k = -10; k <= 10; k++) {
            double z = centre + 0.1 * (double)k * width, gain = a * z - value(l, z, y);
            if (gain > best) best = gain, where = z;
        }
    }
    return best;
}

static void check_conjugate(const karma_i_loss *l, double y) {
    size_t inside = 0;
    for (int k = -200; k <= 200; k++) {
        double a = 0.02017 * (double)k, star = conjugate(l, a, y);
        if (isinf(star)) {
            /* outside: the gain grows without bound */
            double far = 1e9 * (a > slope(l, 1e6, y) ? 1.0 : -1.0);
            if (!(a * far - value(l, far, y) > 1e5))
                fail_msg("%s (%g), y %g: the conjugate at %g is finite", name_of(l), l->parameter, y, a);
            continue;
        }
        inside++;
        double found = search_supremum(l, a, y);
        if (!(fabs(star - found) <= 1e-5 && star >= found - 1e-9))
            fail_msg("%s (%g), y %g: conjugate at %g is %.9g, found %.9g", name_of(l), l->parameter, y, a, star, found);
    }
    assert_true(inside >= 3);
}

/* Inside its domain the conjugate is a y + ½ b a², for the losses that have such a b. */
static void check_bend(const karma_i_loss *l, double y) {
    for (int k = -400; k <= 400; k++) {
        double a = 0.01013 * (double)k, star = conjugate(l, a, y);
        if (l->bend < 0.0 || !isfinite(star)) continue;
        if (!(fabs(star - a * y - 0.5 * l->bend * a * a) <= 1e-12 * (1.0 + fabs(star))))
            fail_msg("%s (%g), y %g: the conjugate at %g is %.9g", name_of(l), l->parameter, y, a, star);
    }
}

static void bends_are_those_of_conjugates(void **state) {
    (void)state;
    for_every_loss(check_bend);
}

static void conjugates_are_suprema(void **state) {
    (void)state;
    for_every_loss(check_conjugate);
}

/* ℓ(z) + ℓ*(a) >= a z, with equality at a = ℓ'(z). */
static void check_fenchel_young(const karma_i_loss *l, double y) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t i = 0; i < 400; i++) {
        double z = 4.0 * karma_i_rng_normal(&rng), a = 2.0 * karma_i_rng_normal(&rng), g = slope(l, z, y);
        double size = 1.0 + fabs(z) + value(l, z, y);
        assert_true(value(l, z, y) + conjugate(l, a, y) >= a * z - 1e-12 * size);
        double tight = value(l, z, y) + conjugate(l, g, y) - g * z;
        if (!(fabs(tight) <= 1e-11 * size * size))
            fail_msg("%s (%g), y %g, z %g: gap %g", name_of(l), l->parameter, y, z, tight);
    }
}

static void fenchel_young_is_tight_at_the_derivative(void **state) {
    (void)state;
    for_every_loss(check_fenchel_young);
}

/* The ends of the domain are inside, the next number is outside. */
static void check_ends(int kind, double parameter, double y, double low, double high) {
    karma_i_loss l = make_loss(kind, parameter);
    assert_true(isfinite(conjugate(&l, low, y)) && isfinite(conjugate(&l, high, y)));
    assert_true(isfinite(conjugate(&l, 0.5 * (low + high), y)));
    assert_true(conjugate(&l, low - 1e-9, y) == INFINITY);
    assert_true(conjugate(&l, high + 1e-9, y) == INFINITY);
}

static void domains_end_where_they_should(void **state) {
    (void)state;
    check_ends(KARMA_LOSS_HINGE, 0.1, 1.0, -1.0, 0.0);
    check_ends(KARMA_LOSS_HINGE, 0.1, -1.0, 0.0, 1.0);
    check_ends(KARMA_LOSS_LOGISTIC, 0.1, 1.0, -1.0, 0.0);
    check_ends(KARMA_LOSS_LOGISTIC, 0.1, -1.0, 0.0, 1.0);
    check_ends(KARMA_LOSS_EPSILON_INSENSITIVE, 0.1, 3.0, -1.0, 1.0);
    check_ends(KARMA_LOSS_ABSOLUTE, 0.1, 3.0, -1.0, 1.0);
    check_ends(KARMA_LOSS_HUBER, 0.3, 3.0, -0.3, 0.3);
    check_ends(KARMA_LOSS_PINBALL, 0.25, 3.0, -0.25, 0.75);
    karma_i_loss l = make_loss(KARMA_LOSS_SQUARED_HINGE, 0.1);
    assert_true(conjugate(&l, 1e-9, 1.0) == INFINITY && conjugate(&l, -1e-9, -1.0) == INFINITY);
    assert_true(isfinite(conjugate(&l, -1e3, 1.0)) && isfinite(conjugate(&l, 1e3, -1.0)));
    l = make_loss(KARMA_LOSS_SQUARED, 0.1);
    assert_true(isfinite(conjugate(&l, 1e3, 2.0)) && isfinite(conjugate(&l, -1e3, 2.0)));
    l = make_loss(KARMA_LOSS_LOGISTIC, 0.1);
    assert_true(conjugate(&l, 0.0, 1.0) == 0.0 && conjugate(&l, -1.0, 1.0) == 0.0); /* 0 ln 0 = 0 */
}

/* --- prox and projection ------------------------------------------------------------------------------- */

static double prox_value(const karma_i_loss *l, double zeta, double u, double t, double y) {
    return 0.5 * (zeta - u) * (zeta - u) + t * value(l, zeta, y);
}

/* argmin of ½(ζ - u)² + t ℓ(ζ), which is strictly convex: a grid over where it must lie, then finer ones around the
 * best. Between u and where the loss is least, the farther the larger t. */
static double search_prox(const karma_i_loss *l, double u, double t, double y) {
    double aim = l->task == KARMA_TASK_CLASSIFY ? y * (1.0 + fabs(u) + 30.0) : y;
    double low = fmin(u, aim) - 1.0, high = fmax(u, aim) + 1.0;
    for (int round = 0; round < 60 && high - low > 1e-13 * (1.0 + fabs(low)); round++) {
        double best = INFINITY, step = (high - low) / 20.0, where = low;
        for (int k = 0; k <= 20; k++) {
            double zeta = low + step * (double)k, now = prox_value(l, zeta, u, t, y);
            if (now < best) best = now, where = zeta;
        }
        low = where - step;
        high = where + step;
    }
    return 0.5 * (low + high);
}

static void check_prox(const karma_i_loss *l, double y) {
    static const double us[] = {-300.0, -40.0, -5.0, -2.75, -1.0, -0.3, 0.0, 0.2, 0.4, 1.0, 1.6, 2.9, 18.3, 90.0};
    static const double ts[] = {0.0, 1e-9, 0.01, 0.3, 1.0, 2.5, 29.0, 63.7, 800.0, 1e5, 1e9};
    for (size_t a = 0; a < sizeof us / sizeof us[0]; a++)
        for (size_t b = 0; b < sizeof ts / sizeof ts[0]; b++) {
            double u = us[a] + (a % 2 ? y : 0.0), t = ts[b];
            double zeta = l->prox(u, t, y, l->parameter), found = search_prox(l, u, t, y);
            double at = prox_value(l, zeta, u, t, y), best = prox_value(l, found, u, t, y);
            /* never worse than what the search finds, except for rounding; and where ½(ζ - u)² tells points apart,
             * there
             */
            if (!(at <= best + (1e-12 + 1e-15 * t) * (1.0 + fabs(best) + fabs(u))))
                fail_msg("%s (%g), y %g: prox(%.17g, %g) = %.17g has %.17g, %.17g has %.17g", name_of(l), l->parameter,
                         y, u, t, zeta, at, found, best);
            assert_true(fabs(zeta - found) <= 1e-6 * (1.0 + fabs(u) + fabs(y)) * fmax(1.0, sqrt(best)));
            if (t == 0.0) assert_true(fabs(zeta - u) <= 1e-14 * (fabs(u) + fabs(y)));
        }
}

/* Against differences, away from the places where the slope jumps: there the differences to the left and to the right
 * disagree. */
static void check_prox_slope(const karma_i_loss *l, double y) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    size_t n_checked = 0;
    for (size_t i = 0; i < 5000; i++) {
        double u = (i % 2 ? 2.0 : 20.0) * karma_i_rng_normal(&rng), t = exp(10.0 * karma_i_rng_uniform(&rng) - 4.0);
        double h = 1e-5 * (1.0 + fabs(u)), p = l->parameter, here = l->prox(u, t, y, p);
        double left = (here - l->prox(u - h, t, y, p)) / h, right = (l->prox(u + h, t, y, p) - here) / h;
        double found = l->prox_slope(u, t, y, p);
        assert_true(found >= 0.0 && found <= 1.0);
        if (fabs(left - right) > 1e-4) continue;
        n_checked++;
        if (!(fabs(found - 0.5 * (left + right)) <= 2e-4))
            fail_msg("%s (%g), y %g: slope of prox(%.17g, %.17g) is %.9g, differences %.9g and %.9g", name_of(l), p, y,
                     u, t, found, left, right);
    }
    assert_true(n_checked > 4000);
}

static void slopes_of_proxes_are_those_of_differences(void **state) {
    (void)state;
    for_every_loss(check_prox_slope);
}

static void proxes_are_minimisers(void **state) {
    (void)state;
    for_every_loss(check_prox);
}

/* ζ = u - t a with a a subgradient at ζ, for many more u and t than a search can afford. */
static void check_prox_equation(const karma_i_loss *l, double y) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    for (size_t i = 0; i < 20000; i++) {
        double u = (i % 2 ? 3.0 : 50.0) * karma_i_rng_normal(&rng), t = exp(14.0 * karma_i_rng_uniform(&rng) - 4.0);
        double zeta = l->prox(u, t, y, l->parameter), a = (u - zeta) / t, h = 1e-9 * (1.0 + fabs(zeta));
        double low = slope(l, zeta - h, y), high = slope(l, zeta + h, y);
        double allowed = 1e-12 * (1.0 + fabs(u) + fabs(y)) / t + 1e-8 * (1.0 + fabs(a));
        if (!(a >= low - allowed && a <= high + allowed))
            fail_msg("%s (%g), y %g: prox(%.17g, %.17g) = %.17g wants slope %.9g, slopes are %.9g to %.9g", name_of(l),
                     l->parameter, y, u, t, zeta, a, low, high);
    }
}

static void proxes_solve_their_equation(void **state) {
    (void)state;
    for_every_loss(check_prox_equation);
}

/* The nearest point of the domain; points inside do not move. */
static void check_project(const karma_i_loss *l, double y) {
    for (int k = -400; k <= 400; k++) {
        double a = 0.0173 * (double)k, p = l->project(a, y, l->parameter);
        assert_true(isfinite(conjugate(l, p, y)));
        assert_true(l->project(p, y, l->parameter) == p);
        if (isfinite(conjugate(l, a, y))) assert_true(p == a);
        for (int step = 1; step < 1000; step++) { /* no point of the domain lies between */
            double between = a + (p - a) * (double)step / 1000.0;
            if (fabs(between - p) > 1e-12 && isfinite(conjugate(l, between, y)) && p != a)
                fail_msg("%s (%g), y %g: %g is nearer to %g than %g", name_of(l), l->parameter, y, between, a, p);
        }
        if (p != a) assert_true(isinf(conjugate(l, 2.0 * a - p, y))); /* nor at the same distance on the other side */
    }
}

static void projections_are_the_nearest_points(void **state) {
    (void)state;
    for_every_loss(check_project);
}

/* --- points by hand, extremes, tasks ------------------------------------------------------------------- */

static void some_values_by_hand(void **state) {
    (void)state;
    static const struct {
        int kind;
        double parameter, z, y, value;
    } points[] = {
        {KARMA_LOSS_HINGE, 0.1, 0.25, 1, 0.75},
        {KARMA_LOSS_HINGE, 0.1, 0.25, -1, 1.25},
        {KARMA_LOSS_SQUARED_HINGE, 0.1, 0.5, 1, 0.25},
        {KARMA_LOSS_SQUARED_HINGE, 0.1, 2, -1, 9},
        {KARMA_LOSS_EPSILON_INSENSITIVE, 0.5, 3, 1, 1.5},
        {KARMA_LOSS_EPSILON_INSENSITIVE, 0.5, 1.25, 1, 0},
        {KARMA_LOSS_ABSOLUTE, 0.5, -1, 1, 2},
        {KARMA_LOSS_HUBER, 0.5, 1.25, 1, 0.03125},
        {KARMA_LOSS_HUBER, 0.5, 3, 1, 0.875},
        {KARMA_LOSS_PINBALL, 0.75, 3, 1, 0.5},
        {KARMA_LOSS_PINBALL, 0.75, -1, 1, 1.5},
        {KARMA_LOSS_SQUARED, 0.5, 4, 1, 4.5},
    };
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        karma_i_loss l = make_loss(points[i].kind, points[i].parameter);
        assert_true(value(&l, points[i].z, points[i].y) == points[i].value);
    }
    karma_i_loss l = make_loss(KARMA_LOSS_LOGISTIC, 0.1);
    assert_true(fabs(value(&l, 0.0, 1.0) - 0.69314718055994531) < 1e-15);
    assert_true(fabs(value(&l, 1.0, 1.0) - 0.31326168751822286) < 1e-15);
    assert_true(fabs(value(&l, 1.0, -1.0) - 1.3132616875182228) < 1e-15);
}

static void logistic_does_not_overflow(void **state) {
    (void)state;
    karma_i_loss l = make_loss(KARMA_LOSS_LOGISTIC, 0.1);
    assert_true(value(&l, 1e4, -1.0) == 1e4 && value(&l, -1e300, 1.0) == 1e300);
    assert_true(value(&l, 1e4, 1.0) == 0.0 && value(&l, 40.0, 1.0) > 0.0);
    assert_true(slope(&l, 1e300, -1.0) == 1.0 && slope(&l, 1e300, 1.0) == 0.0 && slope(&l, -1e300, 1.0) == -1.0);
}

static void losses_of_another_task_are_refused(void **state) {
    (void)state;
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    for (int kind = KARMA_LOSS_HINGE; kind < KARMA_N_LOSSES; kind++) {
        karma_i_loss l = {.parameter = 42.0};
        karma_error err = {0};
        o.loss = kind;
        karma_task wrong = kind <= KARMA_LOSS_LOGISTIC ? KARMA_TASK_REGRESS : KARMA_TASK_CLASSIFY;
        assert_int_equal(karma_i_loss_make(&l, wrong, &o, 0.5, &err), KARMA_ERR_OPTION);
        assert_non_null(strstr(err.message, karma_i_loss_name((karma_loss_kind)kind)));
        assert_true(l.parameter == 42.0);
    }
    karma_i_loss l;
    o.loss = KARMA_LOSS_AUTO;
    assert_int_equal(karma_i_loss_make(&l, KARMA_TASK_CLASSIFY, &o, 0.5, NULL), KARMA_OK);
    assert_int_equal(l.kind, KARMA_LOSS_HINGE);
    assert_int_equal(karma_i_loss_make(&l, KARMA_TASK_REGRESS, &o, 0.5, NULL), KARMA_OK);
    assert_int_equal(l.kind, KARMA_LOSS_HUBER);
    assert_true(l.parameter == o.huber && l.lipschitz == o.huber);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(derivatives_equal_differences),
        cmocka_unit_test(curvatures_equal_differences),
        cmocka_unit_test(kinks_have_subgradients),
        cmocka_unit_test(losses_are_convex),
        cmocka_unit_test(lipschitz_constants_are_right),
        cmocka_unit_test(conjugates_are_suprema),
        cmocka_unit_test(bends_are_those_of_conjugates),
        cmocka_unit_test(fenchel_young_is_tight_at_the_derivative),
        cmocka_unit_test(domains_end_where_they_should),
        cmocka_unit_test(proxes_are_minimisers),
        cmocka_unit_test(slopes_of_proxes_are_those_of_differences),
        cmocka_unit_test(proxes_solve_their_equation),
        cmocka_unit_test(projections_are_the_nearest_points),
        cmocka_unit_test(some_values_by_hand),
        cmocka_unit_test(logistic_does_not_overflow),
        cmocka_unit_test(losses_of_another_task_are_refused),
    };
    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
