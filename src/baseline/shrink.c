/* With AᵀA = V Σ² Vᵀ the answer is A V diag((1 - t/σ)_+) Vᵀ, a product with a small matrix; transposed for
 * wide matrices. */
#include "baseline/shrink.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"

/* Eigenvalues, ascending, and eigenvectors, one per row, of the smaller product. */
typedef struct spectrum {
    size_t side;
    double *values, *vectors;
} spectrum;

static void clear_spectrum(spectrum *s) {
    karma_i_free(s->values);
    karma_i_free(s->vectors);
}

/* Clear it even if this fails. */
static karma_status take_spectrum(spectrum *s, const double *a, size_t n, size_t d, karma_error *err) {
    s->side = n < d ? n : d;
    s->values = karma_i_alloc(s->side, sizeof *s->values);
    s->vectors = karma_i_alloc(s->side, s->side * sizeof *s->vectors);
    if (n > INT_MAX || d > INT_MAX || !s->values || !s->vectors) return karma_i_fail_memory(err);
    if (n < d)
        karma_i_row_products(s->vectors, a, n, d);
    else
        karma_i_column_products(s->vectors, a, n, d);
    return karma_i_eigen_symmetric(s->values, s->vectors, s->side, err);
}

/* P = Σ over σ > t of (1 - t/σ) v vᵀ = BᵀB with the rows b = sqrt(1 - t/σ) v. */
static void filter(double *P, karma_i_shrunk *left, spectrum *s, double t) {
    size_t side = s->side, kept = 0;
    *left = (karma_i_shrunk){0, 0.0};
    for (size_t k = 0; k < side; k++) {
        double sigma = sqrt(fmax(s->values[k], 0.0));
        if (!(sigma > t)) continue;
        double root = sqrt(1.0 - t / sigma);
        for (size_t j = 0; j < side; j++) s->vectors[kept * side + j] = root * s->vectors[k * side + j];
        kept++;
        left->nuclear += sigma - t;
    }
    left->rank = kept;
    karma_i_column_products(P, s->vectors, kept, side);
}

static karma_status shrink(double *out, karma_i_shrunk *left, const double *a, size_t n, size_t d, double t,
                           karma_error *err) {
    spectrum s = {0};
    karma_status st = take_spectrum(&s, a, n, d, err);
    double *P = st == KARMA_OK ? karma_i_alloc(s.side, s.side * sizeof *P) : NULL;
    if (st == KARMA_OK && !P) st = karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        filter(P, left, &s, t);
        if (n < d)
            karma_i_product(out, P, a, n, n, d);
        else
            karma_i_product(out, a, P, n, d, d);
    }
    karma_i_free(P);
    clear_spectrum(&s);
    return st;
}

karma_status karma_i_shrink(double *out, karma_i_shrunk *left, const double *a, size_t n, size_t d, double t,
                            karma_error *err) {
    int threads = karma_i_blas_use_one_thread();
    karma_status st = shrink(out, left, a, n, d, t, err);
    karma_i_blas_restore(threads);
    return st;
}

karma_status karma_i_spectral_norm(double *out, const double *a, size_t n, size_t d, karma_error *err) {
    int threads = karma_i_blas_use_one_thread();
    spectrum s = {0};
    karma_status st = take_spectrum(&s, a, n, d, err);
    if (st == KARMA_OK) *out = s.side ? sqrt(fmax(s.values[s.side - 1], 0.0)) : 0.0;
    clear_spectrum(&s);
    karma_i_blas_restore(threads);
    return st;
}
