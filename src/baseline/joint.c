/* Let Z be the completed matrix [labels | features] (and a last column of ones), and Ω_Y and Ω_X the known
 * labels and cells.
 *
 *     f(Z, b) = λ/|Ω_Y| Σ over Ω_Y of log(1 + exp(-y (z + b))) + 1/|Ω_X| Σ over Ω_X of ½(z - x)²,
 *
 *     MC-b    min over Z, b of μ‖Z‖_* + f(Z, b)
 *     MC-1    min over Z    of μ‖Z‖_* + f(Z, 0), the last column 1
 *
 * Solved by fixed-point continuation (Ma, Goldfarb and Chen 2008), as in their paper: for each μ of a
 * descending list repeat
 *
 *     b ← b - τ_b ∂f/∂b,    Z ← S_τμ(Z - τ ∂f/∂Z),    MC-1: the last column is set to 1 again.
 *
 * Steps stay below 2/L. The loss of a label bends by at most λ/(4|Ω_Y|), of a cell by 1/|Ω_X|; b moves the scores of
 * all n rows, and with b measured in units of 1/√n, Σ(z_i + b/√n)² <= 2(|z|² + b²) doubles what labels bend by. So
 *
 *     τ = min(3.8 |Ω_Y|/λ, |Ω_X|),   τ_b = 3.8 |Ω_Y|/(λ n).
 *
 * Setting the column after shrinking is not the proximal step of both at once, so MC-1 ends at a fixed point of the
 * iteration rather than at the minimum.
 *
 * The list: μ₀, the spectral norm of ∂f/∂Z at 0, beyond which Z = 0; then a quarter of it, and so on down to
 * the requested μ. Weighted labels: |Ω_Y| is the sum of weights, and τ is smaller by the largest weight. */
#include "baseline/joint.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "baseline/shrink.h"

enum { MOST_STEPS = 2000, MOST_QUARTERS = 20 };
static const double STEP = 3.8;

typedef struct work {
    const karma_i_joint *joint;
    size_t width;
    double n_labels, n_cells; /* |Ω_Y|, |Ω_X| */
    double tau, tau_b;
    double *gradient, *next;
    double *bias_gradient;
} work;

static void clear_work(work *w) {
    karma_i_free(w->gradient);
    karma_i_free(w->next);
    karma_i_free(w->bias_gradient);
}

static double weight_of(const karma_i_joint *j, size_t label) {
    return j->weights ? j->weights[label] : 1.0;
}

static karma_status init_work(work *w, const karma_i_joint *j, karma_error *err) {
    double heaviest = 0.0;
    *w = (work){.joint = j, .width = karma_i_joint_width(j)};
    for (size_t k = 0; k < j->n_rows * j->n_labels; k++) {
        if (isnan(j->labels[k])) continue;
        w->n_labels += weight_of(j, k);
        heaviest = fmax(heaviest, weight_of(j, k));
    }
    for (size_t k = 0; k < j->n_rows * j->n_features; k++) w->n_cells += isnan(j->x[k]) ? 0.0 : 1.0;
    if (!(w->n_labels > 0.0 && w->n_cells > 0.0))
        return karma_i_fail(err, KARMA_ERR_DATA, "there are no labels or no cells to complete from");
    w->tau = fmin(STEP * w->n_labels / (j->lambda * heaviest), w->n_cells);
    w->tau_b = STEP * w->n_labels / (j->lambda * heaviest * (double)j->n_rows);
    w->gradient = karma_i_alloc(j->n_rows, w->width * sizeof *w->gradient);
    w->next = karma_i_alloc(j->n_rows, w->width * sizeof *w->next);
    w->bias_gradient = karma_i_alloc(j->n_labels, sizeof *w->bias_gradient);
    return w->gradient && w->next && w->bias_gradient ? KARMA_OK : karma_i_fail_memory(err);
}

/* ∂/∂z log(1 + exp(-y z)) */
static double logistic_derivative(double z, double y) {
    return -y / (1.0 + exp(y * z));
}

static void take_gradient(work *w, const double *z, const double *bias) {
    const karma_i_joint *j = w->joint;
    size_t n_labels = j->n_labels, n_features = j->n_features;
    memset(w->gradient, 0, j->n_rows * w->width * sizeof *w->gradient);
    memset(w->bias_gradient, 0, n_labels * sizeof *w->bias_gradient);
    for (size_t i = 0; i < j->n_rows; i++) {
        double *g = w->gradient + i * w->width;
        const double *at = z + i * w->width, *x = j->x + i * n_features;
        for (size_t l = 0; l < n_labels; l++) {
            double y = j->labels[i * n_labels + l];
            if (isnan(y)) continue;
            g[l] = j->lambda / w->n_labels * weight_of(j, i * n_labels + l) * logistic_derivative(at[l] + bias[l], y);
            w->bias_gradient[l] += g[l];
        }
        for (size_t k = 0; k < n_features; k++)
            if (!isnan(x[k])) g[n_labels + k] = (at[n_labels + k] - x[k]) / w->n_cells;
    }
}

static void set_ones(double *z, const work *w) {
    if (!w->joint->has_ones) return;
    for (size_t i = 0; i < w->joint->n_rows; i++) z[(i + 1) * w->width - 1] = 1.0;
}

/* One step for this μ; returns the relative change. */
static karma_status step(double *change, double *z, double *bias, work *w, double mu, karma_error *err) {
    const karma_i_joint *j = w->joint;
    size_t n = j->n_rows * w->width;
    double moved = 0.0, size = 0.0;
    karma_i_shrunk left;
    take_gradient(w, z, bias);
    for (size_t l = 0; !j->has_ones && l < j->n_labels; l++) {
        double by = w->tau_b * w->bias_gradient[l];
        bias[l] -= by;
        moved += by * by * (double)j->n_rows; /* it moves the scores of all rows */
    }
    for (size_t k = 0; k < n; k++) w->gradient[k] = z[k] - w->tau * w->gradient[k];
    KARMA_TRY(karma_i_shrink(w->next, &left, w->gradient, j->n_rows, w->width, w->tau * mu, err));
    set_ones(w->next, w);
    for (size_t k = 0; k < n; k++) {
        moved += (w->next[k] - z[k]) * (w->next[k] - z[k]);
        size += w->next[k] * w->next[k];
    }
    memcpy(z, w->next, n * sizeof *z);
    *change = sqrt(moved / fmax(size, 1e-300));
    return KARMA_OK;
}

static karma_status settle(double *z, double *bias, work *w, double mu, const karma_hooks *hooks, karma_error *err) {
    double change = INFINITY;
    for (size_t k = 0; k < MOST_STEPS && change > w->joint->tolerance; k++) {
        KARMA_TRY(step(&change, z, bias, w, mu, err));
        if (karma_i_progress(hooks, "completing rows and labels", 0, 0))
            return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted while rows and labels were completed");
    }
    return KARMA_OK;
}

static karma_status continue_down(double *z, double *bias, double *mu, work *w, const karma_hooks *hooks,
                                  karma_error *err) {
    const karma_i_joint *j = w->joint;
    double most = 0.0;
    memset(z, 0, j->n_rows * w->width * sizeof *z);
    memset(bias, 0, j->n_labels * sizeof *bias);
    take_gradient(w, z, bias);
    KARMA_TRY(karma_i_spectral_norm(&most, w->gradient, j->n_rows, w->width, err));
    set_ones(z, w);
    for (int k = 1; k <= MOST_QUARTERS && ldexp(1.0, -2 * k) > j->mu; k++)
        KARMA_TRY(settle(z, bias, w, ldexp(most, -2 * k), hooks, err));
    *mu = j->mu * most;
    return settle(z, bias, w, *mu, hooks, err);
}

karma_status karma_i_joint_complete(double *z, double *bias, double *mu, const karma_i_joint *joint,
                                    const karma_hooks *hooks, karma_error *err) {
    work w;
    karma_status st = init_work(&w, joint, err);
    if (st == KARMA_OK) st = continue_down(z, bias, mu, &w, hooks, err);
    clear_work(&w);
    return st;
}
