/* The dual problem of a few rows, all other rows fixed:
 *
 *     min over β of  ½ (β - β⁰)ᵀ K (β - β⁰) + z⁰ᵀ (β - β⁰) + Σ_a c_a ℓ*(-β_a/c_a)
 *
 * with β⁰ and z⁰ the coefficients and scores at the start, and K the kernel among the rows of the block. */
#ifndef KARMA_I_DUAL_BLOCK_H
#define KARMA_I_DUAL_BLOCK_H

#include "kernel/path.h"
#include "solve/loss.h"

typedef struct karma_i_dual_block {
    size_t most; /* rows there is room for */
    /* filled in by the caller */
    const karma_i_path *path;
    const karma_i_loss *loss;
    size_t n;      /* rows */
    float *kernel; /* K, `most` numbers from row to row */
    double *y, *c; /* target; weight, > 0 */
    double *q;     /* K_aa > 0 */
    double *beta;  /* start, then solution */
    double *z;     /* scores at the start, then of the solution */
    /* scratch */
    double *gram;     /* of the free rows, in double precision; most², allocated when first needed */
    double *step;     /* of the free rows */
    double *stiff;    /* of the free rows: second derivative of c ℓ*(-β/c) */
    size_t *free_row; /* their places in the block */
    double *trial, *trial_z, *change;
    const float **rows; /* of the kernel, those of the free rows */
} karma_i_dual_block;

karma_status karma_i_dual_block_init(karma_i_dual_block *block, size_t most, karma_error *err);
void karma_i_dual_block_clear(karma_i_dual_block *block);

/* The duality gap of the problem: Σ_a c_a ℓ(z_a) + c_a ℓ*(-β_a/c_a) + β_a z_a. */
double karma_i_dual_block_gap(const karma_i_dual_block *block);
/* Improves β until the gap is at most `goal`, or as far as the method gets. The objective never rises. Works on the
 * calling thread. */
karma_status karma_i_dual_block_solve(karma_i_dual_block *block, double goal, karma_error *err);

#endif
