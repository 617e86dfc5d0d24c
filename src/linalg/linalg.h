/* Dense linear algebra: the only interface to BLAS and LAPACK. */
#ifndef KARMA_I_LINALG_H
#define KARMA_I_LINALG_H

#include <stddef.h>

#include "karma/base.h"

/* out = A Bᵀ, all row-major: A is n_a × inner with ld_a floats from row to row, B is n_b × inner, out is
 * n_a × n_b. Gaps between the rows of `out` are not touched; inner == 0 gives zeros. Every size and every ld is
 * at most INT_MAX (the caller works in blocks and sees to it) and no row is longer than its ld. */
void karma_i_gemm_nt(float *out, size_t ld_out, const float *a, size_t ld_a, size_t n_a, const float *b, size_t ld_b,
                     size_t n_b, size_t inner);
/* The same, added to `out`. */
void karma_i_gemm_nt_add(float *out, size_t ld_out, const float *a, size_t ld_a, size_t n_a, const float *b,
                         size_t ld_b, size_t n_b, size_t inner);

/* The eigenvalues of a symmetric n × n matrix, ascending, into `values`; eigenvector i, of length 1, replaces
 * row i of the matrix. Fails, leaving `matrix` undefined, with KARMA_ERR_DATA if
 * an entry is not finite or the iteration does not converge, and KARMA_ERR_MEMORY. Cost: of order n³. */
karma_status karma_i_eigen_symmetric(double *values, double *matrix, size_t n, karma_error *err);

/* The thin singular value decomposition A = U diag(s) Vᵀ of an n_rows × n_columns matrix, all row-major; with
 * k = min(n_rows, n_columns): U n_rows × k, s descending, Vᵀ k × n_columns. `a` is left undefined. Fails as above. */
karma_status karma_i_svd(double *u, double *s, double *vt, double *a, size_t n_rows, size_t n_columns,
                         karma_error *err);

/* In double precision: out = A B, row-major, A n × inner, B inner × m. Sizes as above. */
void karma_i_product(double *out, const double *a, const double *b, size_t n, size_t inner, size_t m);
/* Inner products of a row-major n × d matrix: of its columns, AᵀA (d × d), or of its rows, AAᵀ (n × n). */
void karma_i_column_products(double *out, const double *a, size_t n, size_t d);
void karma_i_row_products(double *out, const double *a, size_t n, size_t d);

/* From here on BLAS and LAPACK work on the calling thread only, so that their results do not depend on the number of
 * threads. Returns what karma_i_blas_restore needs to end it. */
int karma_i_blas_use_one_thread(void);
void karma_i_blas_restore(int threads);

#endif
