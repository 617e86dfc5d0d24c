/* Two methods take turns with about equal work each, because either may be much faster than the other.
 *
 * Coordinate descent: visits the rows in turn and gives each its best β, the others fixed (batch.c has the formula).
 * It finds which rows are at an end of their range or at a kink of the conjugate.
 *
 * Newton's method on the free rows, which are at neither. With ζ = prox(z - qβ, qc) a solution has ζ = z in every row.
 * Let s be the slope of prox. Linearised in the change d of β,
 *
 *     (1 - s) K d + s q d = ζ - z
 *
 * Rows with s = 1 are left to coordinate descent and keep their β. For the others
 *
 *     (K + diag(s q/(1 - s))) d = (ζ - z)/(1 - s)
 *
 * For the hinge s is 0 or 1, and this is the step of an active-set method; for smooth losses s q/(1 - s) is 1/(c ℓ'').
 * K is often nearly singular among the free rows, and steps would be very long. So a multiple of I is added,
 * which shrinks while steps succeed (Levenberg and Marquardt). The step is cut to the range of β and halved
 * until the objective falls. */
#include "solve/dual_block.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/cholesky.h"

enum {
    MOST_SWEEPS = 400,
    MOST_HALVINGS = 5,
    LEAST_SWEEPS = 2 /* before a Newton step: they find the free rows */
};

/* Added to the diagonal of the free rows' matrix, relative to its mean: the kernel is in single precision, and rows may
 * be equal. */
static const double RIDGE = 1e-7;
/* How many products of a Cholesky factorisation take as long as one of a sweep. */
static const double BLAS_SPEED = 4.0;

karma_status karma_i_dual_block_init(karma_i_dual_block *b, size_t most, karma_error *err) {
    *b = (karma_i_dual_block){.most = most};
    b->kernel = karma_i_alloc_large(most, most * sizeof *b->kernel);
    b->y = karma_i_alloc(most, sizeof *b->y);
    b->c = karma_i_alloc(most, sizeof *b->c);
    b->q = karma_i_alloc(most, sizeof *b->q);
    b->beta = karma_i_alloc(most, sizeof *b->beta);
    b->z = karma_i_alloc(most, sizeof *b->z);
    b->step = karma_i_alloc(most, sizeof *b->step);
    b->stiff = karma_i_alloc(most, sizeof *b->stiff);
    b->free_row = karma_i_alloc(most, sizeof *b->free_row);
    b->trial = karma_i_alloc(most, sizeof *b->trial);
    b->trial_z = karma_i_alloc(most, sizeof *b->trial_z);
    b->change = karma_i_alloc(most, sizeof *b->change);
    b->rows = karma_i_alloc(most, sizeof *b->rows);
    return b->kernel && b->y && b->c && b->q && b->beta && b->z && b->step && b->stiff && b->free_row && b->trial &&
                   b->trial_z && b->change && b->rows
               ? KARMA_OK
               : karma_i_fail_memory(err);
}

void karma_i_dual_block_clear(karma_i_dual_block *b) {
    karma_i_free(b->kernel);
    karma_i_free(b->y);
    karma_i_free(b->c);
    karma_i_free(b->q);
    karma_i_free(b->beta);
    karma_i_free(b->z);
    karma_i_free(b->gram);
    karma_i_free(b->step);
    karma_i_free(b->stiff);
    karma_i_free(b->free_row);
    karma_i_free(b->trial);
    karma_i_free(b->trial_z);
    karma_i_free(b->change);
    karma_i_free(b->rows);
}

/* The score of row a at its best β, minus its present score. */
static double gap_of(const karma_i_dual_block *b, size_t a) {
    double z = b->z[a], q = b->q[a];
    return b->loss->prox(z - q * b->beta[a], q * b->c[a], b->y[a], b->loss->parameter) - z;
}

double karma_i_dual_block_gap(const karma_i_dual_block *b) {
    const karma_i_loss *loss = b->loss;
    double sum = 0.0;
    for (size_t a = 0; a < b->n; a++) {
        double c = b->c[a], y = b->y[a], slope = loss->project(-b->beta[a] / c, y, loss->parameter);
        sum += c * (loss->value(b->z[a], y, loss->parameter) + loss->conjugate(slope, y, loss->parameter)) +
               b->beta[a] * b->z[a];
    }
    return sum;
}

/* Visits every row once. Returns the predicted decrease, and adds the number of products to *work. */
static double sweep(karma_i_dual_block *b, double *work) {
    double sum = 0.0;
    for (size_t a = 0; a < b->n; a++) {
        double gap = gap_of(b, a), step = gap / b->q[a];
        if (gap == 0.0) continue;
        sum += gap * step;
        b->beta[a] += step;
        b->path->axpy(b->z, b->kernel + a * b->most, step, b->n);
        *work += (double)b->n;
    }
    *work += 8.0 * (double)b->n;
    return sum;
}

/* Lists the free rows, with the right-hand side of the system in `step`. */
static size_t find_free(karma_i_dual_block *b) {
    size_t n_free = 0;
    for (size_t a = 0; a < b->n; a++) {
        double q = b->q[a], u = b->z[a] - q * b->beta[a];
        double slope = b->loss->prox_slope(u, q * b->c[a], b->y[a], b->loss->parameter);
        if (!(slope < 1.0 - 1e-9)) continue;
        b->free_row[n_free] = a;
        b->stiff[n_free] = slope * q / (1.0 - slope);
        b->step[n_free++] = gap_of(b, a) / (1.0 - slope);
    }
    return n_free;
}

/* Solves the system; false where its matrix is not positive definite in this precision. */
static int solve_free(karma_i_dual_block *b, size_t n_free, double damping) {
    double trace = 0.0;
    for (size_t i = 0; i < n_free; i++) {
        const float *row = b->kernel + b->free_row[i] * b->most;
        double *out = b->gram + i * n_free;
        for (size_t j = 0; j <= i; j++) out[j] = (double)row[b->free_row[j]];
        trace += b->q[b->free_row[i]];
    }
    for (size_t i = 0; i < n_free; i++)
        b->gram[i * n_free + i] += b->stiff[i] + RIDGE * trace / (double)n_free + damping;
    if (!karma_i_cholesky(b->gram, n_free)) return 0;
    karma_i_cholesky_solve(b->step, b->gram, n_free);
    return 1;
}

/* Sets `trial` to β + share·step of the free rows, cut to its range; computes its scores and how much the
 * objective rises. */
static double try_step(karma_i_dual_block *b, size_t n_free, double share) {
    const karma_i_loss *loss = b->loss;
    double rise = 0.0;
    memcpy(b->trial_z, b->z, b->n * sizeof *b->z);
    for (size_t i = 0; i < n_free; i++) {
        size_t a = b->free_row[i];
        double c = b->c[a];
        b->trial[i] = -c * loss->project(-(b->beta[a] + share * b->step[i]) / c, b->y[a], loss->parameter);
        b->change[i] = b->trial[i] - b->beta[a];
        b->rows[i] = b->kernel + a * b->most;
    }
    b->path->axpy_rows(b->trial_z, b->rows, b->change, n_free, 0, b->n);
    for (size_t i = 0; i < n_free; i++) {
        size_t a = b->free_row[i];
        double c = b->c[a], y = b->y[a], before = loss->project(-b->beta[a] / c, y, loss->parameter);
        rise +=
            0.5 * (b->trial[i] - b->beta[a]) * (b->z[a] + b->trial_z[a]) +
            c * (loss->conjugate(-b->trial[i] / c, y, loss->parameter) - loss->conjugate(before, y, loss->parameter));
    }
    return rise;
}

/* A damping that makes the step of the free rows about as long as the ranges of their β if K is nearly singular. */
static double usual_damping(const karma_i_dual_block *b, size_t n_free) {
    double residual = 0.0, range = 0.0;
    for (size_t i = 0; i < n_free; i++) {
        residual += fabs(b->step[i]);
        range += b->c[b->free_row[i]];
    }
    return residual / range;
}

/* False if no step lowers the objective. *damping, in units of the usual damping, falls after a step that was
 * not cut short and rises after one that was. */
static int newton(karma_i_dual_block *b, size_t n_free, double *damping) {
    int is_solved = solve_free(b, n_free, *damping * usual_damping(b, n_free));
    *damping *= 10.0;
    if (!is_solved) return 0;
    for (int halving = 0; halving <= MOST_HALVINGS; halving++) {
        if (!(try_step(b, n_free, ldexp(1.0, -halving)) < 0.0)) continue;
        for (size_t i = 0; i < n_free; i++) b->beta[b->free_row[i]] = b->trial[i];
        memcpy(b->z, b->trial_z, b->n * sizeof *b->z);
        *damping *= halving == 0 ? 0.01 : 0.3;
        return 1;
    }
    return 0;
}

static double newton_work(size_t n_free, size_t n) {
    double f = (double)n_free;
    return f * f * f / (6.0 * BLAS_SPEED) + 4.0 * f * f + 2.0 * f * (double)n;
}

karma_status karma_i_dual_block_solve(karma_i_dual_block *b, double goal, karma_error *err) {
    double work = 0.0, patience = 1.0, damping = 1.0;
    for (size_t count = 0, since = 0; count < MOST_SWEEPS; count++) {
        if (sweep(b, &work) == 0.0 || karma_i_dual_block_gap(b) <= goal) break;
        if (++since < LEAST_SWEEPS) continue;
        size_t n_free = find_free(b);
        double needed = newton_work(n_free, b->n);
        if (n_free == 0 || work < patience * needed) continue;
        if (!b->gram && !(b->gram = karma_i_alloc_large(b->most, b->most * sizeof *b->gram)))
            return karma_i_fail_memory(err);
        if (!newton(b, n_free, &damping)) patience *= 2.0;
        work = 0.0;
        since = 0;
    }
    return KARMA_OK;
}
