/* The best predictor in hindsight, between a primal and a dual value.
 *
 *     F(w) = Σ_i max(0, m_i),   m_i = 1 - y_i w·ξ_i,   |w| <= 1
 *     F(w) >= D(α) = Σ_i α_i - |Σ_i α_i y_i ξ_i|,      0 <= α_i <= 1        (max(0, m) >= α m, and w·s >= -|s|)
 *
 * so any w in the ball and any α in the cube enclose the minimum. They are found by following the central
 * path: for μ → 0, Newton's method on
 *
 *     Ψ(w) = Σ_i h(m_i) - μ ln(1 - |w|²),   h(m) = max over α in (0, 1) of α m + μ (ln α + ln(1 - α))
 *
 * h is the hinge with its kink rounded over a width of μ, h' = α, and the maximising α solves m = μ/(1-α) - μ/α:
 *
 *     α = 2μ/(R + 2μ - m),   R = √(m² + 4μ²),   1 - α(m) = α(-m),   h'' = 1/(μ (α^-2 + (1-α)^-2))
 *
 * Near the minimum of Ψ the interval is some 2μ(n + 1) wide. α is taken at the end of the Newton step,
 * linearised there, α + h''·(change of m): the equation of the step then makes |Σ αyξ| accurate to rounding,
 * whereas α(w) itself would need more digits of w than a double has. The work of a step is of order
 * n·dim². */
#include "regret/comparator.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/packed.h"

static const double WIDTH_GOAL = 1e-9; /* of the interval, per row */
static const double SMALLEST_MU = 1e-13;
static const double MU_FACTOR = 0.1;
static const double CENTRED = 1e-3; /* Newton decrement, squared, in units of μ, at which μ may fall */

enum { MOST_NEWTON_STEPS = 60, MOST_HALVINGS = 50 };

typedef struct search {
    const double *points, *labels;
    const size_t *index;
    size_t n, dim;
    double mu;
    double *w, *trial, *step; /* dim */
    double *pull;             /* dim: Σ α y ξ */
    double *gradient;         /* dim */
    double *hessian;          /* packed */
} search;

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static const double *point(const search *s, size_t i) {
    return s->points + s->index[i] * s->dim;
}

static double label(const search *s, size_t i) {
    return s->labels[s->index[i]];
}

/* m_i of w */
static double shortfall(const search *s, const double *w, size_t i) {
    return 1.0 - label(s, i) * dot(w, point(s, i), s->dim);
}

/* α(m): R - m is written without cancellation for m > 0. */
static double alpha_of(double m, double mu) {
    double R = hypot(m, 2.0 * mu);
    return 2.0 * mu / (2.0 * mu + (m > 0.0 ? 4.0 * mu * mu / (R + m) : R - m));
}

static double curvature_of(double alpha, double rest, double mu) {
    return 1.0 / (mu * (1.0 / (alpha * alpha) + 1.0 / (rest * rest)));
}

/* Ψ(w), or infinity outside the ball. */
static double potential(const search *s, const double *w) {
    double room = 1.0 - dot(w, w, s->dim), sum = 0.0;
    if (!(room > 0.0)) return INFINITY;
    for (size_t i = 0; i < s->n; i++) {
        double m = shortfall(s, w, i), alpha = alpha_of(m, s->mu), rest = alpha_of(-m, s->mu);
        sum += alpha * m + s->mu * (log(alpha) + log(rest));
    }
    return sum - s->mu * log(room);
}

/* h'' ξξᵀ is added to the packed Hessian. */
static void add_curvature(search *s, const double *xi, double curvature) {
    double *cell = s->hessian;
    for (size_t a = 0; a < s->dim; a++)
        for (size_t b = 0; b <= a; b++) *cell++ += curvature * xi[a] * xi[b];
}

/* Gradient and Hessian of Ψ at w. Returns F(w). */
static double differentiate(search *s) {
    double room = 1.0 - dot(s->w, s->w, s->dim), primal = 0.0, mu = s->mu;
    memset(s->pull, 0, s->dim * sizeof *s->pull);
    memset(s->hessian, 0, karma_i_packed_size(s->dim) * sizeof *s->hessian);
    for (size_t i = 0; i < s->n; i++) {
        const double *xi = point(s, i);
        double m = shortfall(s, s->w, i), alpha = alpha_of(m, mu);
        primal += fmax(0.0, m);
        for (size_t j = 0; j < s->dim; j++) s->pull[j] += alpha * label(s, i) * xi[j];
        add_curvature(s, xi, curvature_of(alpha, alpha_of(-m, mu), mu));
    }
    for (size_t j = 0; j < s->dim; j++) s->gradient[j] = 2.0 * mu * s->w[j] / room - s->pull[j];
    add_curvature(s, s->w, 4.0 * mu / (room * room));
    for (size_t j = 0; j < s->dim; j++) s->hessian[karma_i_packed_size(j) + j] += 2.0 * mu / room;
    return primal;
}

/* D of the α at the end of the step, cut to the cube. */
static double dual_of(search *s) {
    double sum = 0.0, mu = s->mu;
    memset(s->pull, 0, s->dim * sizeof *s->pull);
    for (size_t i = 0; i < s->n; i++) {
        const double *xi = point(s, i);
        double m = shortfall(s, s->w, i), alpha = alpha_of(m, mu), y = label(s, i);
        alpha -= curvature_of(alpha, alpha_of(-m, mu), mu) * y * dot(xi, s->step, s->dim);
        alpha = fmin(fmax(alpha, 0.0), 1.0);
        sum += alpha;
        for (size_t j = 0; j < s->dim; j++) s->pull[j] += alpha * y * xi[j];
    }
    return sum - sqrt(dot(s->pull, s->pull, s->dim));
}

/* Narrows the interval; `best` becomes w if its value is smaller. */
static void narrow(karma_i_interval *known, double *best, const search *s, double low, double high) {
    known->low = fmin(fmax(known->low, low), known->high); /* bounds that cross are equal up to rounding */
    if (high < known->high) {
        known->high = fmax(high, known->low);
        memcpy(best, s->w, s->dim * sizeof *best);
    }
}

/* w moves along `step`, halved until Ψ falls by a quarter of what its slope (the decrement) promises. False
 * if only rounding is left to gain. */
static int move(search *s, double decrement) {
    double before = potential(s, s->w), share = 1.0;
    for (int halving = 0; halving < MOST_HALVINGS; halving++) {
        for (size_t j = 0; j < s->dim; j++) s->trial[j] = s->w[j] + share * s->step[j];
        if (potential(s, s->trial) <= before - 0.25 * share * decrement) {
            memcpy(s->w, s->trial, s->dim * sizeof *s->w);
            return 1;
        }
        share *= 0.5;
    }
    return 0;
}

/* Newton's method for one μ. */
static void centre(karma_i_interval *known, double *best, search *s) {
    for (int turn = 0; turn < MOST_NEWTON_STEPS; turn++) {
        double primal = differentiate(s);
        for (size_t j = 0; j < s->dim; j++) s->step[j] = -s->gradient[j];
        karma_i_packed_cholesky(s->hessian, s->dim);
        karma_i_packed_solve(s->step, s->hessian, s->dim);
        narrow(known, best, s, dual_of(s), primal);
        double decrement = -dot(s->gradient, s->step, s->dim);
        if (!(decrement > CENTRED * s->mu) || !move(s, decrement)) return;
    }
}

karma_status karma_i_best_in_hindsight(karma_i_interval *out, double *w, const double *points, const double *labels,
                                       const size_t *index, size_t n, size_t dim, karma_error *err) {
    double *room = karma_i_zalloc(5 * dim + karma_i_packed_size(dim), sizeof *room);
    if (!room) return karma_i_fail_memory(err);
    search s = {.points = points, .labels = labels, .index = index, .n = n, .dim = dim, .mu = 1.0};
    s.w = room;
    s.trial = room + dim;
    s.step = room + 2 * dim;
    s.pull = room + 3 * dim;
    s.gradient = room + 4 * dim;
    s.hessian = room + 5 * dim;
    karma_i_interval known = {0.0, (double)n}; /* the loss is not negative; w = 0 has n */
    memset(w, 0, dim * sizeof *w);
    while (known.high - known.low > WIDTH_GOAL * (double)n && s.mu > SMALLEST_MU) {
        centre(&known, w, &s);
        s.mu *= MU_FACTOR;
    }
    karma_i_free(room);
    *out = known;
    return KARMA_OK;
}
