/* The paper's embedding φ_γ and the classes F0 and F^γ, written out in full: small d and γ only.
 *
 *     d  dim      γ  gamma      o  observed      k = |o|      Γ = d + d² + ... + d^γ
 *
 * Coordinates of R^Γ are the non-empty sequences s over {0, ..., d-1} of length at most γ, ordered by length
 * and then lexicographically: s = (s_1, ..., s_l) has the place Σ_i s_i d^(l-i) among those of its length. */
#include "karma/theory.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "linalg/linalg.h"

/* Eigenvalues of Q_oo below this share of |Q| (Frobenius) are rounding errors of a zero: a projection
 * computed in doubles is off by some 1e-16 per cell. */
#define RANK_TOLERANCE 1e-12

/* The asymmetry that rounding may cause in a matrix, as a share of |Q|. */
#define SYMMETRY_TOLERANCE 1e-9

size_t karma_theory_embedding_size(size_t dim, size_t gamma) {
    if (dim == 0) return 0;
    if (dim == 1) return gamma;
    size_t size = 0;
    for (size_t length = 1; length <= gamma; length++) { /* Horner; at most 64 rounds */
        if (size == SIZE_MAX || size + 1 > SIZE_MAX / dim) return 0;
        size = (size + 1) * dim;
    }
    return size;
}

/* Γ, if an array of Γ doubles can exist. */
static karma_status checked_size(size_t *size, size_t dim, size_t gamma, karma_error *err) {
    if (dim == 0 || gamma == 0)
        return karma_i_fail(err, KARMA_ERR_DATA, "the embedding needs d >= 1 and gamma >= 1, not d = %zu, gamma = %zu",
                            dim, gamma);
    size_t coordinates = karma_theory_embedding_size(dim, gamma);
    if (coordinates == 0 || coordinates > PTRDIFF_MAX / sizeof(double))
        return karma_i_fail(err, KARMA_ERR_DATA, "the embedding for d = %zu and gamma = %zu is too large for memory",
                            dim, gamma);
    *size = coordinates;
    return KARMA_OK;
}

static karma_status check_observed(const double *x, const unsigned char *observed, size_t dim, karma_error *err) {
    for (size_t i = 0; i < dim; i++)
        if (observed[i] && !isfinite(x[i]))
            return karma_i_fail(err, KARMA_ERR_DATA, "the observed attribute %zu is not a finite number", i + 1);
    return KARMA_OK;
}

static karma_status check_finite(const double *values, size_t n, const char *name, karma_error *err) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return karma_i_fail(err, KARMA_ERR_DATA, "entry %zu of %s is not a finite number", i + 1, name);
    return KARMA_OK;
}

/* φ_s = x_{s_end} if every element of s is observed, otherwise 0 (definition phi). So the sequences of length
 * l that begin with i carry, if i is observed, all those of length l-1, in their order. */
karma_status karma_theory_embed(double *phi, const double *x, const unsigned char *observed, size_t dim, size_t gamma,
                                karma_error *err) {
    size_t size;
    KARMA_TRY(checked_size(&size, dim, gamma, err));
    KARMA_TRY(check_observed(x, observed, dim, err));
    for (size_t i = 0; i < dim; i++) phi[i] = observed[i] ? x[i] : 0.0;
    double *shorter = phi; /* the sequences of length l-1, n_shorter = d^(l-1) of them */
    size_t n_shorter = dim;
    for (size_t length = 2; length <= gamma; length++) {
        double *block = shorter + n_shorter;
        for (size_t i = 0; i < dim; i++, block += n_shorter) {
            if (observed[i])
                memcpy(block, shorter, n_shorter * sizeof *phi);
            else
                memset(block, 0, n_shorter * sizeof *phi);
        }
        shorter += n_shorter;
        n_shorter *= dim;
    }
    return KARMA_OK;
}

/* v_s = w_{s_1} Q_{s_1,s_2} ··· Q_{s_(l-1),s_l} (proof of corollary improper): the sequence s of place p,
 * longer by j, has the place p·d + j, and the last element of s is p mod d. */
karma_status karma_theory_unfold(double *v, const double *w, const double *Q, size_t dim, size_t gamma,
                                 karma_error *err) {
    size_t size;
    KARMA_TRY(checked_size(&size, dim, gamma, err));
    KARMA_TRY(check_finite(w, dim, "w", err));
    KARMA_TRY(check_finite(Q, dim * dim, "Q", err));
    memcpy(v, w, dim * sizeof *v);
    double *shorter = v;
    size_t n_shorter = dim;
    for (size_t length = 2; length <= gamma; length++) {
        double *longer = shorter + n_shorter;
        for (size_t p = 0; p < n_shorter; p++)
            for (size_t j = 0; j < dim; j++) longer[p * dim + j] = shorter[p] * Q[p % dim * dim + j];
        shorter = longer;
        n_shorter *= dim;
    }
    return KARMA_OK;
}

/* The inputs of the functions of one row: Q_oo, P_o x and P_o w. */
typedef struct restriction {
    size_t k;      /* |o| */
    double *Q;     /* k × k */
    double *x, *w; /* k */
    double *work;  /* k */
} restriction;

static void restriction_clear(restriction *r) {
    karma_i_free(r->Q);
    karma_i_free(r->x);
    karma_i_free(r->w);
    karma_i_free(r->work);
}

/* `x` and `w` may be NULL where they are not needed. On failure nothing is to be cleared. */
static karma_status restrict_to(restriction *r, const double *w, const double *Q, const double *x,
                                const unsigned char *observed, size_t dim, karma_error *err) {
    KARMA_TRY(check_finite(Q, dim * dim, "Q", err));
    if (w) KARMA_TRY(check_finite(w, dim, "w", err));
    if (x) KARMA_TRY(check_observed(x, observed, dim, err));
    size_t k = 0;
    for (size_t i = 0; i < dim; i++) k += observed[i] != 0;
    *r = (restriction){k, karma_i_alloc(k * k, sizeof(double)), karma_i_alloc(k, sizeof(double)),
                       karma_i_alloc(k, sizeof(double)), karma_i_alloc(k, sizeof(double))};
    if (!r->Q || !r->x || !r->w || !r->work) {
        restriction_clear(r);
        return karma_i_fail_memory(err);
    }
    size_t row = 0;
    double *cell = r->Q;
    for (size_t i = 0; i < dim; i++) {
        if (!observed[i]) continue;
        if (x) r->x[row] = x[i];
        if (w) r->w[row] = w[i];
        row++;
        for (size_t j = 0; j < dim; j++)
            if (observed[j]) *cell++ = Q[i * dim + j];
    }
    return KARMA_OK;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Fills in |Q| (Frobenius), the scale against which eigenvalues and asymmetries count as zero. */
static karma_status check_symmetric(double *norm, const double *Q, size_t dim, karma_error *err) {
    double scale = sqrt(dot(Q, Q, dim * dim));
    if (!isfinite(scale)) return karma_i_fail(err, KARMA_ERR_DATA, "the entries of Q are too large");
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < i; j++)
            if (fabs(Q[i * dim + j] - Q[j * dim + i]) > SYMMETRY_TOLERANCE * scale)
                return karma_i_fail(err, KARMA_ERR_DATA, "Q is not symmetric at row %zu, column %zu", i + 1, j + 1);
    *norm = scale;
    return KARMA_OK;
}

/* A result that is not finite can only come from overflow. */
static karma_status deliver(double *out, double value, karma_error *err) {
    if (!isfinite(value)) return karma_i_fail(err, KARMA_ERR_DATA, "the result is too large for a double");
    *out = value;
    return KARMA_OK;
}

/* Q_oo^† = Σ v_i v_iᵀ/λ_i over the eigenvalues that are not zero. */
karma_status karma_theory_f0(double *out, const double *w, const double *Q, const double *x,
                             const unsigned char *observed, size_t dim, karma_error *err) {
    restriction r = {0};
    double norm = 0.0, sum = 0.0;
    KARMA_TRY(restrict_to(&r, w, Q, x, observed, dim, err));
    karma_status st = check_symmetric(&norm, Q, dim, err);
    if (st == KARMA_OK) st = karma_i_eigen_symmetric(r.work, r.Q, r.k, err);
    if (st == KARMA_OK) {
        for (size_t i = 0; i < r.k; i++) {
            const double *vector = r.Q + i * r.k;
            if (fabs(r.work[i]) > RANK_TOLERANCE * norm)
                sum += dot(r.w, vector, r.k) * dot(vector, r.x, r.k) / r.work[i];
        }
        st = deliver(out, sum, err);
    }
    restriction_clear(&r);
    return st;
}

/* By Horner's rule: y ← P_o x + Q_oo y, γ times from y = 0. */
karma_status karma_theory_f_gamma(double *out, const double *w, const double *Q, const double *x,
                                  const unsigned char *observed, size_t dim, size_t gamma, karma_error *err) {
    restriction r = {0};
    KARMA_TRY(restrict_to(&r, w, Q, x, observed, dim, err));
    size_t k = r.k;
    double *y = karma_i_zalloc(k, sizeof *y), *next = r.work;
    if (!y) {
        restriction_clear(&r);
        return karma_i_fail_memory(err);
    }
    for (size_t round = 0; round < gamma; round++) {
        for (size_t i = 0; i < k; i++) next[i] = r.x[i] + dot(r.Q + i * k, y, k);
        memcpy(y, next, k * sizeof *y);
    }
    karma_status st = deliver(out, dot(r.w, y, k), err);
    karma_i_free(y);
    restriction_clear(&r);
    return st;
}

/* Smallest positive eigenvalue (0: none) and rank of Q_oo. */
static karma_status spectrum(double *smallest, size_t *rank, const double *Q, const unsigned char *observed, size_t dim,
                             karma_error *err) {
    restriction r = {0};
    double norm = 0.0;
    KARMA_TRY(restrict_to(&r, NULL, Q, NULL, observed, dim, err));
    karma_status st = check_symmetric(&norm, Q, dim, err);
    if (st == KARMA_OK) st = karma_i_eigen_symmetric(r.work, r.Q, r.k, err);
    double zero = RANK_TOLERANCE * norm;
    *smallest = 0.0;
    *rank = 0;
    for (size_t i = r.k; st == KARMA_OK && i-- > 0;) { /* descending: the last one kept is the smallest */
        if (fabs(r.work[i]) > zero) (*rank)++;
        if (r.work[i] > zero) *smallest = r.work[i];
    }
    if (*smallest > 1.0 && *smallest <= 1.0 + zero) *smallest = 1.0; /* projections: 1 except for rounding */
    restriction_clear(&r);
    return st;
}

/* rank Q_oo = rank Q is equivalent to ker(P_o P_E) = ker(P_E), by claim technical1. */
karma_status karma_theory_regularity(double *lambda, int *reconstructible, const double *Q,
                                     const unsigned char *observed, size_t dim, karma_error *err) {
    double row_lambda = 0.0, full_lambda = 0.0;
    size_t row_rank = 0, full_rank = 0;
    unsigned char *everything = karma_i_alloc(dim, 1);
    if (!everything) return karma_i_fail_memory(err);
    memset(everything, 1, dim);
    karma_status st = spectrum(&row_lambda, &row_rank, Q, observed, dim, err);
    if (st == KARMA_OK) st = spectrum(&full_lambda, &full_rank, Q, everything, dim, err);
    karma_i_free(everything);
    if (st != KARMA_OK) return st;
    *lambda = row_lambda;
    *reconstructible = row_rank == full_rank;
    return KARMA_OK;
}
