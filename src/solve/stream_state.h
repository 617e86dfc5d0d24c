/* Learning from a stream in constant memory: the best linear machine over landmark features, block by block.
 *
 * Landmarks z_1, ..., z_n are rows of the stream, at most `budget` of them, K their kernel matrix and K = L Lᵀ. A row
 * has the features r(x) = L⁻¹ k(Z, x), its coordinates in the span of the landmarks. A new landmark adds one
 * coordinate and leaves the others as they are, so that what was learned before stays right: earlier rows count as 0 in
 * the new one. For each output k
 *
 *     z_ik = w_k·r(x_i),   g_ik = ∂ℓ/∂z(z_ik, y_ik),   h_i = max over k of ∂²ℓ/∂z²(z_ik, y_ik)
 *     A ← A + Σ_i h_i r(x_i) r(x_i)ᵀ,   w_k ← w_k - A⁻¹ Σ_i g_ik r(x_i),   i over the rows of a block
 *
 * where h_i is at least LEAST_CURVATURE and A = λI at first. This is Newton's method with one pass over the
 * rows: recursive least squares for the squared loss, an extended Kalman filter for the others (De Vilmarest
 * and Wintenberger, Stochastic online optimization using Kalman recursion, 2021). Scores z are those before
 * the block. */
#ifndef KARMA_I_STREAM_STATE_H
#define KARMA_I_STREAM_STATE_H

#include "kernel/kernel.h"
#include "solve/loss.h"

/* How well numbers were predicted: the first output of the rows that have a label for it, in the units of the solver.
 */
typedef struct karma_i_stream_numbers {
    size_t n;
    double mean;           /* of the labels so far */
    double error;          /* sum of |prediction - label| */
    double constant_error; /* sum of |mean of the labels before it - label| */
} karma_i_stream_numbers;

/* What has been learned from the first n_rows rows. */
typedef struct karma_i_stream_state {
    size_t n_rows;
    karma_i_rows *landmarks;
    double *factor;    /* L, row-major; what is above the diagonal is 0 */
    double *precision; /* A, row-major, the lower triangle */
    double *weights;   /* w, one row per output */
    /* the account: rows with a label, the sum of their losses before they were learned, wrong decisions */
    size_t n_labelled, n_errors;
    double loss;
    karma_i_stream_numbers numbers; /* zeros for classes */
} karma_i_stream_state;

/* What does not change. Everything is borrowed. */
typedef struct karma_i_stream_task {
    const karma_i_kernel *kernel;
    const karma_i_loss *losses;   /* one per output; all have a curvature */
    size_t n_outputs, n_deciding; /* as in karma_i_problem */
    double ridge;                 /* λ */
    size_t budget;
    int threads;
} karma_i_stream_task;

/* A state that has learned nothing; `like` has the columns of the rows to come. Clear it even if this
 * fails. */
karma_status karma_i_stream_state_init(karma_i_stream_state *out, const karma_i_rows *like, karma_error *err);
void karma_i_stream_state_clear(karma_i_stream_state *state);

/* The size of the block that follows n_rows rows. It grows with n_rows, up to KARMA_I_MOST_STREAM_BLOCK,
 * because a single new row matters less and less. */
enum { KARMA_I_MOST_STREAM_BLOCK = 512 };
size_t karma_i_stream_block(size_t n_rows);

/* A new state: `from`, and then all of `rows` as one block. targets and weights are row-major, one per row and output;
 * a weight of 0 means no label. Fails with KARMA_ERR_DATA if scores are not finite. The result does not
 * depend on the number of threads. Cost per row: the square of the number of landmarks. */
karma_status karma_i_stream_state_learn(karma_i_stream_state *out, const karma_i_stream_state *from,
                                        const karma_i_stream_task *task, const karma_i_rows *rows,
                                        const double *targets, const double *weights, karma_error *err);

/* out[j * n_outputs + k]: the machine as Σ_j out_jk k(z_j, ·), that is L⁻ᵀ w_k. Fails with KARMA_ERR_MEMORY only. */
karma_status karma_i_stream_coefficients(double *out, const karma_i_stream_state *state, size_t n_outputs,
                                         karma_error *err);

#endif
