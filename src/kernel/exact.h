/* Kernel values in double precision, a tile at a time: as accurate as the reference (kernel.h), and much faster. For
 * certificates (solve/batch.c) and exact features. */
#ifndef KARMA_I_EXACT_H
#define KARMA_I_EXACT_H

#include "kernel/kernel.h"

/* Everything that tiles of a kernel need, for any number of threads. */
typedef struct karma_i_exact karma_i_exact;

/* For tiles of `rows`, and of rows with the same columns. */
karma_status karma_i_exact_new(karma_i_exact **out, const karma_i_kernel *kernel, const karma_i_rows *rows, int threads,
                               karma_error *err);
void karma_i_exact_free(karma_i_exact *exact);

/* out[i * b.count + j] = k(a_i, b_j). */
void karma_i_exact_block(double *out, karma_i_exact *exact, karma_i_view a, karma_i_view b);
/* out[i] = k(a_i, a_i). */
void karma_i_exact_diagonal(double *out, const karma_i_exact *exact, karma_i_view a);

/* scores[k] = Σ_j k(row index[k], row j) coefficients[j] for k < count. */
karma_status karma_i_exact_scores(double *scores, const karma_i_kernel *kernel, const karma_i_rows *rows,
                                  const size_t *index, size_t count, const double *coefficients, int threads,
                                  karma_error *err);

#endif
