/* By OpenBLAS and LAPACK. The lower triangle of a row-major matrix is the upper one for LAPACK, which reads
 * by columns. */
#include "linalg/cholesky.h"

#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t uplo_length);
void dpstrf_(const char *uplo, const int *n, double *a, const int *lda, int *piv, int *rank, const double *tol,
             double *work, int *info, size_t uplo_length);

int karma_i_cholesky(double *a, size_t n) {
    int order = (int)n, info = 0, threads = karma_i_blas_use_one_thread();
    if (n > 0) dpotrf_("U", &order, a, &order, &info, 1);
    karma_i_blas_restore(threads);
    return info == 0;
}

karma_status karma_i_cholesky_pivots(size_t *rank, size_t *pivots, double *a, size_t n, double tolerance,
                                     karma_error *err) {
    int order = (int)n, info = 0, found = 0;
    int *order_of = karma_i_alloc(n, sizeof *order_of);
    double *work = karma_i_alloc(n, 2 * sizeof *work);
    karma_status st = order_of && work ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && n > 0) {
        int threads = karma_i_blas_use_one_thread();
        dpstrf_("U", &order, a, &order, order_of, &found, &tolerance, work, &info, 1);
        karma_i_blas_restore(threads);
        for (size_t i = 0; i < n; i++) pivots[i] = (size_t)order_of[i] - 1;
    }
    if (st == KARMA_OK) *rank = (size_t)found;
    karma_i_free(order_of);
    karma_i_free(work);
    return st;
}

static void solve_triangle(double *b, const double *lower, size_t n, CBLAS_TRANSPOSE transposed) {
    int threads = karma_i_blas_use_one_thread();
    if (n > 0) cblas_dtrsv(CblasRowMajor, CblasLower, transposed, CblasNonUnit, (int)n, lower, (int)n, b, 1);
    karma_i_blas_restore(threads);
}

void karma_i_solve_lower(double *b, const double *lower, size_t n) {
    solve_triangle(b, lower, n, CblasNoTrans);
}
void karma_i_solve_lower_transposed(double *b, const double *lower, size_t n) {
    solve_triangle(b, lower, n, CblasTrans);
}
void karma_i_cholesky_solve(double *b, const double *lower, size_t n) {
    karma_i_solve_lower(b, lower, n);
    karma_i_solve_lower_transposed(b, lower, n);
}

void karma_i_solve_lower_rows(double *b, size_t count, const double *lower, size_t ld, size_t n) {
    if (count == 0 || n == 0) return;
    int threads = karma_i_blas_use_one_thread();
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)count, (int)n, 1.0, lower,
                (int)ld, b, (int)n);
    karma_i_blas_restore(threads);
}

void karma_i_product_nt(double *out, const double *a, const double *b, size_t n, size_t inner, size_t m) {
    if (n == 0 || m == 0) return;
    if (inner == 0) {
        memset(out, 0, n * m * sizeof *out);
        return;
    }
    int threads = karma_i_blas_use_one_thread();
    if (m == 1) /* dgemm would first copy all of A */
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)inner, 1.0, a, (int)inner, b, 1, 0.0, out, 1);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)m, (int)inner, 1.0, a, (int)inner, b,
                    (int)inner, 0.0, out, (int)m);
    karma_i_blas_restore(threads);
}

void karma_i_product_tn_add(double *out, size_t ld_out, const double *a, size_t ld_a, const double *b, size_t ld_b,
                            size_t inner, size_t n, size_t m) {
    if (n == 0 || m == 0 || inner == 0) return;
    int threads = karma_i_blas_use_one_thread();
    if (n == 1)
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)inner, (int)m, 1.0, b, (int)ld_b, a, (int)ld_a, 1.0, out, 1);
    else
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)n, (int)m, (int)inner, 1.0, a, (int)ld_a, b,
                    (int)ld_b, 1.0, out, (int)ld_out);
    karma_i_blas_restore(threads);
}

void karma_i_product_vector(double *out, const double *a, const double *x, size_t n) {
    if (n == 0) return;
    int threads = karma_i_blas_use_one_thread();
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)n, 1.0, a, (int)n, x, 1, 0.0, out, 1);
    karma_i_blas_restore(threads);
}
