/* With m = y z (margin) for classification and r = z - y (residual) for regression:
 *
 *   hinge                max(0, 1 - m)                 conjugate, u = y a:  u             on -1 <= u <= 0
 *   squared hinge        max(0, 1 - m)²                                     u + u²/4      on u <= 0
 *   logistic             ln(1 + exp(-m))                   -u ln(-u) + (1+u) ln(1+u)      on -1 <= u <= 0
 *   ε-insensitive        max(0, |r| - ε)               conjugate:           a y + ε|a|    on |a| <= 1
 *   absolute             |r|                                                a y           on |a| <= 1
 *   Huber                r²/2, or δ(|r| - δ/2) beyond δ                     a y + a²/2    on |a| <= δ
 *   pinball              -τ r below, (1-τ) r above                          a y           on -τ <= a <= 1-τ
 *   squared              r²/2                                               a y + a²/2
 *
 * prox: ζ = u - t ℓ'(ζ), in closed form for all but the logistic loss. */
#include "solve/loss.h"

#include <math.h>

#include "base/error.h"

static double positive(double x) {
    return x > 0.0 ? x : 0.0;
}
static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

static double hinge_value(double z, double y, double p) {
    return (void)p, positive(1.0 - y * z);
}
static double hinge_derivative(double z, double y, double p) {
    return (void)p, y * z < 1.0 ? -y : 0.0;
}
static double hinge_conjugate(double a, double y, double p) {
    (void)p;
    double u = y * a;
    return u >= -1.0 && u <= 0.0 ? u : INFINITY;
}

static double hinge_project(double a, double y, double p) {
    return (void)p, y * clamp(y * a, -1.0, 0.0);
}
static double hinge_prox(double u, double t, double y, double p) {
    (void)p;
    return u + y * clamp(1.0 - y * u, 0.0, t); /* towards the margin 1, at most by t */
}
static double hinge_prox_slope(double u, double t, double y, double p) {
    (void)p;
    double slack = 1.0 - y * u;
    return slack > 0.0 && slack < t ? 0.0 : 1.0;
}

static double squared_hinge_value(double z, double y, double p) {
    double slack = hinge_value(z, y, p);
    return slack * slack;
}
static double squared_hinge_derivative(double z, double y, double p) {
    return -2.0 * y * hinge_value(z, y, p);
}
static double squared_hinge_conjugate(double a, double y, double p) {
    (void)p;
    double u = y * a;
    return u <= 0.0 ? u + 0.25 * u * u : INFINITY;
}

static double squared_hinge_project(double a, double y, double p) {
    return (void)p, y * fmin(y * a, 0.0);
}
static double squared_hinge_prox(double u, double t, double y, double p) {
    return u + y * 2.0 * t / (1.0 + 2.0 * t) * hinge_value(u, y, p);
}
static double squared_hinge_prox_slope(double u, double t, double y, double p) {
    return (void)p, y * u < 1.0 ? 1.0 / (1.0 + 2.0 * t) : 1.0;
}
static double squared_hinge_curvature(double z, double y, double p) {
    return (void)p, y * z < 1.0 ? 2.0 : 0.0;
}

static double logistic_value(double z, double y, double p) {
    (void)p;
    double m = y * z;
    return m > 0.0 ? log1p(exp(-m)) : log1p(exp(m)) - m; /* neither overflows */
}
static double logistic_derivative(double z, double y, double p) {
    (void)p;
    double m = y * z;
    return m > 0.0 ? -y * exp(-m) / (1.0 + exp(-m)) : -y / (1.0 + exp(m));
}
#define logistic_project hinge_project /* the same domain */
static double entropy(double x) {
    return x > 0.0 ? x * log(x) : 0.0;
}
static double logistic_conjugate(double a, double y, double p) {
    (void)p;
    double u = y * a;
    return u >= -1.0 && u <= 0.0 ? entropy(-u) + entropy(1.0 + u) : INFINITY;
}

/* The root of m - y u - t σ(-m) in m = y ζ, which lies between y u and y u + t: Newton, kept inside a
 * bracket. If a step is more than half the previous one, as happens when σ bends sharply (t large), the
 * bracket is halved instead. */
static double logistic_prox(double u, double t, double y, double p) {
    (void)p;
    double low = y * u, high = low + t, m = low + 0.5 * t, last = t;
    for (int step = 0; step < 200 && high - low > 1e-15 * (1.0 + fabs(m)); step++) {
        double sigma = m > 0.0 ? exp(-m) / (1.0 + exp(-m)) : 1.0 / (1.0 + exp(m));
        double f = m - y * u - t * sigma;
        if (f > 0.0)
            high = m;
        else
            low = m;
        double next = m - f / (1.0 + t * sigma * (1.0 - sigma));
        if (!(next > low && next < high) || fabs(next - m) > 0.5 * last) next = 0.5 * (low + high);
        last = fabs(next - m);
        if (fabs(next - m) <= 1e-15 * (1.0 + fabs(m))) return y * next;
        m = next;
    }
    return y * m;
}
static double logistic_prox_slope(double u, double t, double y, double p) {
    double slope = fabs(logistic_derivative(logistic_prox(u, t, y, p), y, p));
    return 1.0 / (1.0 + t * slope * (1.0 - slope));
}
static double logistic_curvature(double z, double y, double p) {
    double slope = fabs(logistic_derivative(z, y, p));
    return slope * (1.0 - slope);
}

static double tube_value(double z, double y, double tube) {
    return positive(fabs(z - y) - tube);
}
static double tube_derivative(double z, double y, double tube) {
    double r = z - y;
    return r > tube ? 1.0 : r < -tube ? -1.0 : 0.0;
}
static double tube_conjugate(double a, double y, double tube) {
    return fabs(a) <= 1.0 ? a * y + tube * fabs(a) : INFINITY;
}

static double tube_project(double a, double y, double tube) {
    return (void)y, (void)tube, clamp(a, -1.0, 1.0);
}
static double tube_prox(double u, double t, double y, double tube) {
    double r = u - y;
    return r > tube ? u - fmin(t, r - tube) : r < -tube ? u + fmin(t, -r - tube) : u;
}
static double tube_prox_slope(double u, double t, double y, double tube) {
    double r = fabs(u - y);
    return r > tube && r < tube + t ? 0.0 : 1.0;
}

static double huber_value(double z, double y, double delta) {
    double r = fabs(z - y);
    return r <= delta ? 0.5 * r * r : delta * (r - 0.5 * delta);
}
static double huber_derivative(double z, double y, double delta) {
    double r = z - y;
    return r > delta ? delta : r < -delta ? -delta : r;
}
static double huber_conjugate(double a, double y, double delta) {
    return fabs(a) <= delta ? a * y + 0.5 * a * a : INFINITY;
}

static double huber_project(double a, double y, double delta) {
    return (void)y, clamp(a, -delta, delta);
}
static double huber_prox(double u, double t, double y, double delta) {
    double r = u - y;
    return u - t * clamp(r / (1.0 + t), -delta, delta);
}
static double huber_prox_slope(double u, double t, double y, double delta) {
    return fabs(u - y) < (1.0 + t) * delta ? 1.0 / (1.0 + t) : 1.0;
}
static double huber_curvature(double z, double y, double delta) {
    return fabs(z - y) <= delta ? 1.0 : 0.0;
}

static double pinball_value(double z, double y, double tau) {
    double r = z - y;
    return r < 0.0 ? -tau * r : (1.0 - tau) * r;
}
static double pinball_derivative(double z, double y, double tau) {
    double r = z - y;
    return r < 0.0 ? -tau : r > 0.0 ? 1.0 - tau : 0.0;
}
static double pinball_conjugate(double a, double y, double tau) {
    return a >= -tau && a <= 1.0 - tau ? a * y : INFINITY;
}

static double pinball_project(double a, double y, double tau) {
    return (void)y, clamp(a, -tau, 1.0 - tau);
}
static double pinball_prox(double u, double t, double y, double tau) {
    return u - clamp(u - y, -t * tau, t * (1.0 - tau));
}
static double pinball_prox_slope(double u, double t, double y, double tau) {
    double r = u - y;
    return r > -t * tau && r < t * (1.0 - tau) ? 0.0 : 1.0;
}

static double squared_value(double z, double y, double p) {
    return (void)p, 0.5 * (z - y) * (z - y);
}
static double squared_derivative(double z, double y, double p) {
    return (void)p, z - y;
}
static double squared_conjugate(double a, double y, double p) {
    return (void)p, a * y + 0.5 * a * a;
}
static double squared_project(double a, double y, double p) {
    return (void)y, (void)p, a;
}
static double squared_prox(double u, double t, double y, double p) {
    return (void)p, y + (u - y) / (1.0 + t);
}
static double squared_prox_slope(double u, double t, double y, double p) {
    return (void)u, (void)y, (void)p, 1.0 / (1.0 + t);
}
static double squared_curvature(double z, double y, double p) {
    return (void)z, (void)y, (void)p, 1.0;
}

#define FUNCTIONS(prefix)                                                                                              \
    prefix##_value, prefix##_derivative, prefix##_conjugate, prefix##_project, prefix##_prox, prefix##_prox_slope
#define CLASSIFY KARMA_TASK_CLASSIFY
#define REGRESS  KARMA_TASK_REGRESS

/* The absolute loss is the tube of width 0. */
static const karma_i_loss losses[] = {
    {KARMA_LOSS_HINGE, CLASSIFY, 0.0, 1.0, 0.0, FUNCTIONS(hinge), NULL},
    {KARMA_LOSS_SQUARED_HINGE, CLASSIFY, 0.0, INFINITY, 0.5, FUNCTIONS(squared_hinge), squared_hinge_curvature},
    {KARMA_LOSS_LOGISTIC, CLASSIFY, 0.0, 1.0, -1.0, FUNCTIONS(logistic), logistic_curvature},
    {KARMA_LOSS_EPSILON_INSENSITIVE, REGRESS, 0.0, 1.0, -1.0, FUNCTIONS(tube), NULL},
    {KARMA_LOSS_ABSOLUTE, REGRESS, 0.0, 1.0, 0.0, FUNCTIONS(tube), NULL},
    {KARMA_LOSS_HUBER, REGRESS, 0.0, 1.0, 1.0, FUNCTIONS(huber), huber_curvature},
    {KARMA_LOSS_PINBALL, REGRESS, 0.0, 1.0, 0.0, FUNCTIONS(pinball), NULL},
    {KARMA_LOSS_SQUARED, REGRESS, 0.0, INFINITY, 1.0, FUNCTIONS(squared), squared_curvature},
};

/* Fills in the fields that depend on the options. */
static void set_parameter(karma_i_loss *loss, const karma_fit_options *options, double quantile) {
    if (loss->kind == KARMA_LOSS_EPSILON_INSENSITIVE) loss->parameter = options->tube;
    if (loss->kind == KARMA_LOSS_HUBER) loss->parameter = loss->lipschitz = options->huber;
    if (loss->kind == KARMA_LOSS_PINBALL) {
        loss->parameter = quantile;
        loss->lipschitz = fmax(quantile, 1.0 - quantile);
    }
}

/* Quantiles imply the loss that estimates them. */
static int default_loss(karma_task task, const karma_fit_options *options) {
    if (task == KARMA_TASK_CLASSIFY) return KARMA_LOSS_HINGE;
    return options->quantile ? KARMA_LOSS_PINBALL : KARMA_LOSS_HUBER;
}

karma_status karma_i_loss_make(karma_i_loss *out, karma_task task, const karma_fit_options *options, double quantile,
                               karma_error *err) {
    int kind = options->loss;
    if (kind == KARMA_LOSS_AUTO) kind = default_loss(task, options);
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
        if ((int)losses[i].kind != kind) continue;
        if (losses[i].task != task)
            return karma_i_fail(err, KARMA_ERR_OPTION, "option 'loss=%s' is for %s, but the task is to %s",
                                karma_i_loss_name(losses[i].kind),
                                losses[i].task == CLASSIFY ? "classification" : "regression",
                                task == CLASSIFY ? "classify" : "regress");
        *out = losses[i];
        set_parameter(out, options, quantile);
        return KARMA_OK;
    }
    return karma_i_fail(err, KARMA_ERR_OPTION, "loss %d is unknown", kind);
}

const char *karma_i_loss_name(karma_loss_kind kind) {
#define WORD(constant, word)                                                                                           \
    case constant:                                                                                                     \
        return word;
    switch (kind) {
        KARMA_LOSS_LIST(WORD)
    case KARMA_N_LOSSES:
        break;
    }
    return "unknown";
}
