/* With g = y - z - b β/c and q = K_ii + b/c, a row alone moves by δ = clamp(β + g/q, low, high) - β, and the objective
 * falls by δ (g - ½ q δ). The first row of a pair is the one with the largest decrease.
 *
 * Two rows i and j that are free in the direction of the step move by
 *
 *     δ_i = (q_j g_i - k g_j)/(q_i q_j - k²),   δ_j = (q_i g_j - k g_i)/(q_i q_j - k²),   k = K_ij
 *
 * and the objective falls by ½ (g_i δ_i + g_j δ_j). The second row is the one with the largest decrease: this
 * is the second-order choice of LIBSVM (Fan, Chen and Lin 2005), without its equality constraint (Steinwart,
 * Hush and Scovel 2011). Then the problem of the two is solved exactly within its box. */
#include "solve/dual_pairs.h"

#include <math.h>

#include "base/error.h"

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* The change that moves β to its best value or to an end of its range. */
static double step_to(const karma_i_box *b, size_t i, double change) {
    return clamp(b->beta[i] + change, b->low[i], b->high[i]) - b->beta[i];
}

/* The minimum over the box of two rows: inside, or on the edge where one of them ends. */
static void solve_two(double step[2], const karma_i_box *box, size_t i, size_t j, double k) {
    double qi = box->q[i], qj = box->q[j], gi = box->slope[i], gj = box->slope[j];
    double det = fmax(qi * qj - k * k, KARMA_I_LEAST_DET * qi * qj);
    double di = step_to(box, i, (qj * gi - k * gj) / det), dj = step_to(box, j, (qi * gj - k * gi) / det);
    double best = -INFINITY;
    /* One row goes to its end of the joint step, the other to its best value. The last case is for a det that
     * was too small: it gains at least what row i gains alone. */
    for (int way = 0; way < 3; way++) {
        double a = way == 0 ? di : step_to(box, i, (way == 1 ? gi - k * dj : gi) / qi);
        double b = way == 1 ? dj : step_to(box, j, (gj - k * a) / qj);
        double gain = a * (gi - 0.5 * qi * a) + b * (gj - 0.5 * qj * b) - k * a * b;
        if (gain > best) {
            best = gain;
            step[0] = a;
            step[1] = b;
        }
    }
}

static void move(const karma_i_dual_pairs *p, size_t i, const float *row, double step) {
    const karma_i_box *b = &p->box;
    if (step == 0.0) return;
    b->beta[i] = clamp(b->beta[i] + step, b->low[i], b->high[i]);
    p->path->axpy(b->slope, row, -step, b->n);
    b->slope[i] -= step * p->ridge[i];
}

karma_status karma_i_dual_pairs_run(size_t *done, const karma_i_dual_pairs *p, size_t most, karma_error *err) {
    const karma_i_box *b = &p->box;
    for (*done = 0; *done < most; ++*done) {
        const float *rows[2];
        size_t pair[2] = {p->path->best_row(b), 0};
        double step[2] = {0.0, 0.0};
        if (pair[0] == b->n) break;
        KARMA_TRY(karma_i_row_cache_get(rows, p->cache, pair, 1, err));
        pair[1] = p->path->best_partner(b, pair[0], rows[0]);
        if (pair[1] == b->n) {
            move(p, pair[0], rows[0], step_to(b, pair[0], b->slope[pair[0]] / b->q[pair[0]]));
            continue;
        }
        KARMA_TRY(karma_i_row_cache_get(rows, p->cache, pair, 2, err));
        solve_two(step, b, pair[0], pair[1], (double)rows[0][pair[1]]);
        move(p, pair[0], rows[0], step[0]);
        move(p, pair[1], rows[1], step[1]);
    }
    return KARMA_OK;
}
