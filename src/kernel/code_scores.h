/* Scores by a kernel of codes only: a fast version of karma_i_kernel_scores. */
#ifndef KARMA_I_CODE_SCORES_H
#define KARMA_I_CODE_SCORES_H

#include "kernel/kernel.h"

/* Whether the kernel is a sum over attributes, γ = 1 without a bias, and both rows have nothing but codes. */
int karma_i_code_scores_suit(const karma_i_kernel *kernel, karma_i_view a, karma_i_view b);
/* The same result as karma_i_kernel_scores, for such kernels. Cost: one addition per code of a and of b, and output. */
karma_status karma_i_code_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                 const double *coefficients, size_t n_outputs, int threads, karma_error *err);

#endif
