/* Linear algebra by OpenBLAS. */
#include "linalg/linalg.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <cblas.h>
#include <omp.h>

#include "base/error.h"
#include "base/mem.h"

/* LAPACK's eigenvalues of a real symmetric matrix, by its Fortran interface: arguments by address, matrices
 * by columns, and after the others the length of every text (gfortran's convention since version 8). */
void dsyev_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w, double *work,
            const int *lwork, int *info, size_t jobz_length, size_t uplo_length);
/* and its singular values */
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a, const int *lda, double *s,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *info,
             size_t jobu_length, size_t jobvt_length);

void karma_i_gemm_nt(float *out, size_t ld_out, const float *a, size_t ld_a, size_t n_a, const float *b, size_t ld_b,
                     size_t n_b, size_t inner) {
    if (n_a == 0 || n_b == 0) return;
    if (inner == 0) { /* BLAS wants ld >= 1 even of a matrix without columns */
        for (size_t i = 0; i < n_a; i++) memset(out + i * ld_out, 0, n_b * sizeof *out);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n_a, (int)n_b, (int)inner, 1.0f, a, (int)ld_a, b,
                (int)ld_b, 0.0f, out, (int)ld_out);
}

void karma_i_gemm_nt_add(float *out, size_t ld_out, const float *a, size_t ld_a, size_t n_a, const float *b,
                         size_t ld_b, size_t n_b, size_t inner) {
    if (n_a == 0 || n_b == 0 || inner == 0) return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n_a, (int)n_b, (int)inner, 1.0f, a, (int)ld_a, b,
                (int)ld_b, 1.0f, out, (int)ld_out);
}

/* LAPACK may loop forever on a NaN. */
static int all_finite(const double *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return 0;
    return 1;
}

/* Decompositions work on one thread. They call BLAS thousands of times for little work, so threads do not help on an
 * idle machine; on a busy one they spin while they wait for one another: size 500 took 100 s instead of 3 beside
 * fifteen other processes. And the result does not depend on the number of threads. */
karma_status karma_i_eigen_symmetric(double *values, double *matrix, size_t n, karma_error *err) {
    if (n == 0) return KARMA_OK;
    if (n > INT_MAX) return karma_i_fail_memory(err);
    if (!all_finite(matrix, n * n))
        return karma_i_fail(err, KARMA_ERR_DATA, "a matrix of size %zu has an entry that is not finite", n);

    /* Upper or lower does not matter, and column i of LAPACK's result is row i of ours. */
    int order = (int)n, query = -1, info = 0;
    double best_size = 0.0;
    dsyev_("V", "U", &order, matrix, &order, values, &best_size, &query, &info, 1, 1);
    if (!(best_size >= 1.0 && best_size <= INT_MAX)) return karma_i_fail_memory(err);
    int work_size = (int)best_size;
    double *work = karma_i_alloc((size_t)work_size, sizeof *work);
    if (!work) return karma_i_fail_memory(err);
    int threads = karma_i_blas_use_one_thread();
    dsyev_("V", "U", &order, matrix, &order, values, work, &work_size, &info, 1, 1);
    karma_i_blas_restore(threads);
    karma_i_free(work);
    if (info != 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the eigenvalues of a matrix of size %zu do not converge", n);
    return KARMA_OK;
}

karma_status karma_i_svd(double *u, double *s, double *vt, double *a, size_t n_rows, size_t n_columns,
                         karma_error *err) {
    if (n_rows == 0 || n_columns == 0) return KARMA_OK;
    if (n_rows > INT_MAX || n_columns > INT_MAX) return karma_i_fail_memory(err);
    if (!all_finite(a, n_rows * n_columns))
        return karma_i_fail(err, KARMA_ERR_DATA, "a matrix of %zu rows has an entry that is not finite", n_rows);

    /* LAPACK sees Aᵀ = V diag(s) Uᵀ, and its left vectors by columns are our rows of Vᵀ. */
    int m = (int)n_columns, n = (int)n_rows, k = m < n ? m : n, query = -1, info = 0;
    double best_size = 0.0;
    dgesvd_("S", "S", &m, &n, a, &m, s, vt, &m, u, &k, &best_size, &query, &info, 1, 1);
    if (!(best_size >= 1.0 && best_size <= INT_MAX)) return karma_i_fail_memory(err);
    int work_size = (int)best_size;
    double *work = karma_i_alloc((size_t)work_size, sizeof *work);
    if (!work) return karma_i_fail_memory(err);
    int threads = karma_i_blas_use_one_thread();
    dgesvd_("S", "S", &m, &n, a, &m, s, vt, &m, u, &k, work, &work_size, &info, 1, 1);
    karma_i_blas_restore(threads);
    karma_i_free(work);
    if (info != 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the singular values of a matrix of %zu rows do not converge", n_rows);
    return KARMA_OK;
}

void karma_i_product(double *out, const double *a, const double *b, size_t n, size_t inner, size_t m) {
    if (n == 0 || m == 0) return;
    if (inner == 0) {
        memset(out, 0, n * m * sizeof *out);
        return;
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)m, (int)inner, 1.0, a, (int)inner, b, (int)m,
                0.0, out, (int)m);
}

/* BLAS fills one triangle. */
static void mirror(double *matrix, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) matrix[i * n + j] = matrix[j * n + i];
}

void karma_i_column_products(double *out, const double *a, size_t n, size_t d) {
    if (d == 0) return;
    if (n == 0) {
        memset(out, 0, d * d * sizeof *out);
        return;
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (int)d, (int)n, 1.0, a, (int)d, 0.0, out, (int)d);
    mirror(out, d);
}

void karma_i_row_products(double *out, const double *a, size_t n, size_t d) {
    if (n == 0) return;
    if (d == 0) {
        memset(out, 0, n * n * sizeof *out);
        return;
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)n, (int)d, 1.0, a, (int)d, 0.0, out, (int)n);
    mirror(out, n);
}

/* OpenBLAS asks OpenMP how many threads it may have, and the answer belongs to the calling task. */
int karma_i_blas_use_one_thread(void) {
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

void karma_i_blas_restore(int threads) {
    omp_set_num_threads(threads);
}
