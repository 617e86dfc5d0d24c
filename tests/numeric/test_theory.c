/* The paper's statements, checked against results computed in other ways: sums over sequences written
 * out, orthonormal bases by Gram-Schmidt, eigenvalues by Jacobi rotations. λ is the smallest positive
 * eigenvalue of Q_oo (the definition prints "singular value of P_o P_E", its square root: see
 * approximation_needs_eigenvalues). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "karma/theory.h"
#include "linalg/linalg.h"

enum { MAX_DIM = 8, MAX_GAMMA = 5, MAX_EMBEDDING = 3905 }; /* 5 + 5² + ... + 5^5 */

static void check_close(double got, double wanted, double tolerance) {
    if (!(fabs(got - wanted) <= tolerance * fmax(1.0, fabs(wanted))))
        fail_msg("got %.17g, wanted %.17g, tolerance %g", got, wanted, tolerance);
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void draw_normal(double *out, size_t n, karma_i_rng *rng) {
    for (size_t i = 0; i < n; i++) out[i] = karma_i_rng_normal(rng);
}

static void shrink_to_length(double *x, size_t n, double length) {
    double norm = sqrt(dot(x, x, n));
    for (size_t i = 0; i < n && norm > 0.0; i++) x[i] *= length / norm;
}

static void draw_mask(unsigned char *observed, size_t dim, double share, karma_i_rng *rng) {
    for (size_t i = 0; i < dim; i++) observed[i] = karma_i_rng_uniform(rng) < share;
}

/* --- a random subspace --------------------------------------------------------------------------------- */

/* r orthonormal rows of length d, and the projection Q onto their span. */
typedef struct subspace {
    size_t dim, rank;
    double basis[MAX_DIM * MAX_DIM];
    double Q[MAX_DIM * MAX_DIM];
} subspace;

static void draw_subspace(subspace *E, size_t dim, size_t rank, karma_i_rng *rng) {
    E->dim = dim;
    E->rank = rank;
    for (size_t i = 0; i < rank; i++) {
        double *row = E->basis + i * dim;
        draw_normal(row, dim, rng);
        for (int twice = 0; twice < 2; twice++)
            for (size_t k = 0; k < i; k++) {
                double along = dot(row, E->basis + k * dim, dim);
                for (size_t j = 0; j < dim; j++) row[j] -= along * E->basis[k * dim + j];
            }
        shrink_to_length(row, dim, 1.0);
    }
    for (size_t i = 0; i < dim; i++)
        for (size_t j = 0; j < dim; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < rank; k++) sum += E->basis[k * dim + i] * E->basis[k * dim + j];
            E->Q[i * dim + j] = sum;
        }
}

/* x = Σ a_k u_k */
static void combine(double *x, const subspace *E, const double *a) {
    for (size_t j = 0; j < E->dim; j++) {
        x[j] = 0.0;
        for (size_t k = 0; k < E->rank; k++) x[j] += a[k] * E->basis[k * E->dim + j];
    }
}

/* Cyclic Jacobi: eigenvalues on the diagonal of A, eigenvectors in the rows of V. */
static void jacobi(double *A, double *V, size_t n) {
    for (size_t i = 0; i < n * n; i++) V[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < 60; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                double angle = 0.5 * atan2(2.0 * A[p * n + q], A[q * n + q] - A[p * n + p]);
                double c = cos(angle), s = sin(angle);
                for (size_t k = 0; k < n; k++) { /* columns */
                    double a = A[k * n + p], b = A[k * n + q];
                    A[k * n + p] = c * a - s * b;
                    A[k * n + q] = s * a + c * b;
                }
                for (size_t k = 0; k < n; k++) { /* rows */
                    double a = A[p * n + k], b = A[q * n + k];
                    A[p * n + k] = c * a - s * b;
                    A[q * n + k] = s * a + c * b;
                    a = V[p * n + k], b = V[q * n + k];
                    V[p * n + k] = c * a - s * b;
                    V[q * n + k] = s * a + c * b;
                }
            }
}

/* The smallest eigenvalue of the r × r matrix U_oᵀ U_o, which has the positive eigenvalues of Q_oo = U_o
 * U_oᵀ, and its eigenvector. About 0: the subspace cannot be reconstructed from o. */
static double smallest_by_jacobi(double *vector, const subspace *E, const unsigned char *observed) {
    size_t r = E->rank, best = 0;
    double A[MAX_DIM * MAX_DIM], V[MAX_DIM * MAX_DIM];
    for (size_t i = 0; i < r; i++)
        for (size_t k = 0; k < r; k++) {
            A[i * r + k] = 0.0;
            for (size_t j = 0; j < E->dim; j++)
                if (observed[j]) A[i * r + k] += E->basis[i * E->dim + j] * E->basis[k * E->dim + j];
        }
    jacobi(A, V, r);
    for (size_t i = 1; i < r; i++)
        if (A[i * r + i] < A[best * r + best]) best = i;
    memcpy(vector, V + best * r, r * sizeof *vector);
    return A[best * r + best];
}

/* --- theorem ktrick ------------------------------------------------------------------------------------ */

static double product_of_embeddings(const double *x, const unsigned char *o, const double *y, const unsigned char *p,
                                    size_t dim, size_t gamma) {
    static double phi_x[MAX_EMBEDDING], phi_y[MAX_EMBEDDING];
    assert_int_equal(karma_theory_embed(phi_x, x, o, dim, gamma, NULL), KARMA_OK);
    assert_int_equal(karma_theory_embed(phi_y, y, p, dim, gamma, NULL), KARMA_OK);
    return dot(phi_x, phi_y, karma_theory_embedding_size(dim, gamma));
}

/* (c^γ - 1)/(c - 1) Σ_{i ∈ o∩p} x_i y_i, γ Σ for c = 1. */
static double closed_form(const double *x, const unsigned char *o, const double *y, const unsigned char *p, size_t dim,
                          size_t gamma) {
    double c = 0.0, sum = 0.0;
    for (size_t i = 0; i < dim; i++)
        if (o[i] && p[i]) {
            c += 1.0;
            sum += x[i] * y[i];
        }
    double weight = c == 1.0 ? (double)gamma : (pow(c, (double)gamma) - 1.0) / (c - 1.0);
    return weight * sum;
}

static void kernel_equals_explicit_embedding(void **state) {
    (void)state;
    size_t n_overlap[3] = {0, 0, 0}; /* how often c = 0, c = 1, c > 1 */
    for (size_t dim = 1; dim <= 5; dim++)
        for (size_t gamma = 1; gamma <= MAX_GAMMA; gamma++)
            for (uint64_t seed = 1; seed <= 40; seed++) {
                karma_i_rng rng;
                karma_i_rng_init(&rng, seed * 100 + dim * 10 + gamma);
                double x[MAX_DIM], y[MAX_DIM];
                unsigned char o[MAX_DIM], p[MAX_DIM];
                draw_normal(x, dim, &rng);
                draw_normal(y, dim, &rng);
                draw_mask(o, dim, 0.3 + 0.01 * (double)seed, &rng);
                draw_mask(p, dim, 0.3 + 0.01 * (double)seed, &rng);
                size_t c = 0;
                for (size_t i = 0; i < dim; i++) {
                    c += o[i] && p[i];
                    if (!o[i]) x[i] = NAN; /* unobserved cells must not be read */
                    if (!p[i]) y[i] = NAN;
                }
                n_overlap[c < 2 ? c : 2]++;
                double got = product_of_embeddings(x, o, y, p, dim, gamma);
                check_close(got, closed_form(x, o, y, p, dim, gamma), 1e-12);
                if (c == 0) assert_true(got == 0.0);
            }
    for (size_t i = 0; i < 3; i++) assert_true(n_overlap[i] > 50);
}

static void one_common_attribute_weighs_gamma(void **state) {
    (void)state;
    const double x[3] = {2.0, 3.0, 5.0}, y[3] = {7.0, 11.0, 13.0};
    const unsigned char o[3] = {1, 1, 0}, p[3] = {0, 1, 1}, rest[3] = {0, 0, 1};
    for (size_t gamma = 1; gamma <= 6; gamma++) {
        assert_true(product_of_embeddings(x, o, y, p, 3, gamma) == 33.0 * (double)gamma);
        assert_true(product_of_embeddings(x, o, y, rest, 3, gamma) == 0.0);
        assert_true(product_of_embeddings(x, o, y, o, 3, gamma) == (14.0 + 33.0) * (pow(2.0, (double)gamma) - 1.0));
    }
}

/* d = 2, γ = 3: the coordinates in their documented order, written out. */
static void embedding_is_ordered_by_length_then_lexicographically(void **state) {
    (void)state;
    const double x[2] = {2.0, 3.0};
    const unsigned char both[2] = {1, 1}, second[2] = {0, 1};
    double phi[14];
    const double all[14] = {2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3};
    const double one[14] = {0, 3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3};
    assert_int_equal(karma_theory_embedding_size(2, 3), 14);
    assert_int_equal(karma_theory_embed(phi, x, both, 2, 3, NULL), KARMA_OK);
    assert_memory_equal(phi, all, sizeof all);
    assert_int_equal(karma_theory_embed(phi, x, second, 2, 3, NULL), KARMA_OK);
    assert_memory_equal(phi, one, sizeof one);

    const double w[2] = {2.0, 3.0}, Q[4] = {0.5, 0.25, -1.0, 0.125};
    double v[14];
    assert_int_equal(karma_theory_unfold(v, w, Q, 2, 3, NULL), KARMA_OK);
    size_t at = 0;
    for (size_t i = 0; i < 2; i++) assert_true(v[at++] == w[i]);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++) assert_true(v[at++] == w[i] * Q[i * 2 + j]);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            for (size_t k = 0; k < 2; k++) assert_true(v[at++] == w[i] * Q[i * 2 + j] * Q[j * 2 + k]);
}

static void an_embedding_that_does_not_fit_is_reported(void **state) {
    (void)state;
    assert_int_equal(karma_theory_embedding_size(1, 7), 7);
    assert_int_equal(karma_theory_embedding_size(1, SIZE_MAX), SIZE_MAX);
    assert_int_equal(karma_theory_embedding_size(5, 5), MAX_EMBEDDING);
    assert_int_equal(karma_theory_embedding_size(SIZE_MAX, 1), SIZE_MAX);
    assert_int_equal(karma_theory_embedding_size(SIZE_MAX, 2), 0);
    assert_int_equal(karma_theory_embedding_size(2, 63) != 0, SIZE_MAX > UINT32_MAX); /* 2^64 - 2 */
    assert_int_equal(karma_theory_embedding_size(2, 64), 0);
    assert_int_equal(karma_theory_embedding_size(10, 1000000000), 0);

    const double x[2] = {1.0, 2.0}, Q[4] = {1.0, 0.0, 0.0, 1.0};
    const unsigned char o[2] = {1, 1};
    double out[2] = {-1.0, -1.0};
    karma_error err;
    assert_int_equal(karma_theory_embed(out, x, o, 2, 64, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "too large"));
    assert_int_equal(karma_theory_embed(out, x, o, 2, 62, NULL), KARMA_ERR_DATA); /* fits a size_t, but not memory */
    assert_int_equal(karma_theory_unfold(out, x, Q, 2, 64, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_embed(out, x, o, 2, 0, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_embed(out, x, o, 0, 2, &err), KARMA_ERR_DATA);
    assert_true(out[0] == -1.0 && out[1] == -1.0);
}

/* --- F0 and F^γ ---------------------------------------------------------------------------------------- */

/* Lemma lintof0: for x in E and w = P_E w*, f_{w,Q}(x_o) = w*·x whenever o reconstructs E. */
static void f0_is_the_linear_function_of_the_whole_row(void **state) {
    (void)state;
    size_t n_checked = 0, n_hopeless = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        subspace E;
        size_t dim = 2 + karma_i_rng_below(&rng, MAX_DIM - 1);
        draw_subspace(&E, dim, 1 + karma_i_rng_below(&rng, dim / 2), &rng);
        double a[MAX_DIM], x[MAX_DIM], w_star[MAX_DIM], w[MAX_DIM], ignored[MAX_DIM], lambda, f;
        unsigned char o[MAX_DIM];
        int reconstructible;
        draw_normal(a, E.rank, &rng);
        combine(x, &E, a);
        draw_normal(w_star, dim, &rng);
        for (size_t i = 0; i < dim; i++) w[i] = dot(E.Q + i * dim, w_star, dim);
        draw_mask(o, dim, 0.7, &rng);
        double truth = smallest_by_jacobi(ignored, &E, o);
        assert_int_equal(karma_theory_regularity(&lambda, &reconstructible, E.Q, o, dim, NULL), KARMA_OK);
        double whole = dot(w_star, x, dim);
        for (size_t i = 0; i < dim; i++)
            if (!o[i]) x[i] = NAN;
        assert_int_equal(karma_theory_f0(&f, w, E.Q, x, o, dim, NULL), KARMA_OK);
        if (truth < 1e-13) {
            assert_false(reconstructible);
            n_hopeless++;
        } else if (truth > 1e-4) {
            assert_true(reconstructible);
            check_close(lambda, truth, 1e-12);
            check_close(f, whole, 1e-9);
            n_checked++;
        }
    }
    assert_true(n_checked > 300);
    assert_true(n_hopeless > 20);
}

static double gap(const double *w, const subspace *E, const double *x, const unsigned char *o, size_t gamma) {
    double rest[MAX_DIM * MAX_DIM], near, exact; /* I - Q */
    for (size_t i = 0; i < E->dim * E->dim; i++) rest[i] = (i % (E->dim + 1) == 0) - E->Q[i];
    assert_int_equal(karma_theory_f_gamma(&near, w, rest, x, o, E->dim, gamma, NULL), KARMA_OK);
    assert_int_equal(karma_theory_f0(&exact, w, E->Q, x, o, E->dim, NULL), KARMA_OK);
    return fabs(near - exact);
}

/* Lemma approximation on a row in E with |P_o x| <= 1 and any |w| <= 1. */
static void f_gamma_approaches_f0_as_in_the_lemma(void **state) {
    (void)state;
    size_t n_checked = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        subspace E;
        draw_subspace(&E, 6, 1 + karma_i_rng_below(&rng, 3), &rng);
        double a[MAX_DIM], x[MAX_DIM], w[MAX_DIM], ignored[MAX_DIM], lambda;
        unsigned char o[MAX_DIM];
        int reconstructible;
        draw_mask(o, E.dim, 0.75, &rng);
        assert_int_equal(karma_theory_regularity(&lambda, &reconstructible, E.Q, o, E.dim, NULL), KARMA_OK);
        if (!reconstructible || lambda < 1e-4) continue;
        check_close(lambda, smallest_by_jacobi(ignored, &E, o), 1e-12);
        draw_normal(a, E.rank, &rng);
        combine(x, &E, a);
        double seen[MAX_DIM];
        for (size_t i = 0; i < E.dim; i++) seen[i] = o[i] ? x[i] : 0.0;
        double length = sqrt(dot(seen, seen, E.dim));
        for (size_t i = 0; i < E.dim; i++) x[i] /= length;
        draw_normal(w, E.dim, &rng);
        shrink_to_length(w, E.dim, 1.0);
        for (size_t gamma = 1; gamma <= 12; gamma++)
            assert_true(gap(w, &E, x, o, gamma) <= karma_theory_approximation_bound(lambda, (double)gamma) + 1e-10);
        n_checked++;
    }
    assert_true(n_checked > 150);
}

/* The bound is attained: with U_oᵀU_o a = λa take x = Ua/√λ, so that P_o x is the unit eigenvector of λ, and
 * w = P_o x. So it fails with anything larger in λ's place, the singular value √λ of the definition as
 * printed included. */
static void approximation_needs_eigenvalues(void **state) {
    (void)state;
    size_t n_checked = 0, n_broken = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        subspace E;
        draw_subspace(&E, 6, 1 + karma_i_rng_below(&rng, 3), &rng);
        double a[MAX_DIM], x[MAX_DIM], w[MAX_DIM];
        unsigned char o[MAX_DIM];
        draw_mask(o, E.dim, 0.75, &rng);
        double lambda = smallest_by_jacobi(a, &E, o);
        if (lambda < 1e-3) continue;
        combine(x, &E, a);
        for (size_t i = 0; i < E.dim; i++) {
            x[i] /= sqrt(lambda);
            w[i] = o[i] ? x[i] : 0.0;
        }
        check_close(dot(w, w, E.dim), 1.0, 1e-12);
        for (size_t gamma = 1; gamma <= 12; gamma++) {
            double attained = gap(w, &E, x, o, gamma);
            check_close(attained, pow(1.0 - lambda, (double)gamma) / lambda, 1e-10);
            check_close(attained, karma_theory_approximation_bound(lambda, (double)gamma), 1e-10);
            n_broken += attained > 2.0 * karma_theory_approximation_bound(sqrt(lambda), (double)gamma);
        }
        n_checked++;
    }
    assert_true(n_checked > 50);
    assert_true(n_broken > 100); /* by more than a factor of 2 */
}

/* Lemma ftunfold and corollary improper, with Q a projection. */
static void unfolding_is_f_gamma(void **state) {
    (void)state;
    static double v[MAX_EMBEDDING], phi[MAX_EMBEDDING];
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (size_t dim = 1; dim <= 5; dim++)
            for (size_t gamma = 1; gamma <= MAX_GAMMA; gamma++) {
                karma_i_rng rng;
                karma_i_rng_init(&rng, seed * 100 + dim * 10 + gamma);
                subspace E;
                double x[MAX_DIM], w[MAX_DIM], f;
                unsigned char o[MAX_DIM];
                draw_subspace(&E, dim, 1 + karma_i_rng_below(&rng, dim), &rng);
                draw_normal(x, dim, &rng);
                draw_normal(w, dim, &rng);
                draw_mask(o, dim, 0.7, &rng);
                size_t size = karma_theory_embedding_size(dim, gamma);
                assert_int_equal(karma_theory_unfold(v, w, E.Q, dim, gamma, NULL), KARMA_OK);
                assert_int_equal(karma_theory_embed(phi, x, o, dim, gamma, NULL), KARMA_OK);
                assert_int_equal(karma_theory_f_gamma(&f, w, E.Q, x, o, dim, gamma, NULL), KARMA_OK);
                check_close(f, dot(v, phi, size), 1e-12);
                double big_gamma = exp(karma_theory_log_big_gamma(dim, (double)gamma));
                assert_true(dot(v, v, size) <= big_gamma * dot(w, w, dim) * (1.0 + 1e-12));
            }
}

/* For an orthogonal projection |v|² <= γ|w|², each length of sequences at most |w|²: Σ_j A_ij² = A_ii <= 1. The bound
 * is reached by w in the coordinate subspace of A, and nearly by one of full rank. */
static void unfolding_of_a_projection_is_short(void **state) {
    (void)state;
    static double v[MAX_EMBEDDING];
    double largest = 0.0;
    for (uint64_t seed = 1; seed <= 100; seed++)
        for (size_t dim = 1; dim <= 5; dim++) {
            enum { GAMMA = 4 };
            karma_i_rng rng;
            karma_i_rng_init(&rng, seed * 10 + dim);
            subspace E;
            double w[MAX_DIM];
            draw_subspace(&E, dim, 1 + karma_i_rng_below(&rng, dim), &rng);
            draw_normal(w, dim, &rng);
            assert_int_equal(karma_theory_unfold(v, w, E.Q, dim, GAMMA, NULL), KARMA_OK);
            size_t first = 0, count = dim;
            for (size_t k = 1; k <= GAMMA; k++, first += count, count *= dim) {
                double share = dot(v + first, v + first, count) / dot(w, w, dim);
                if (!(share <= 1.0 + 1e-12)) fail_msg("d %zu, length %zu: %.17g of |w|^2", dim, k, share);
            }
            largest = fmax(largest, dot(v, v, first) / dot(w, w, dim) / GAMMA);
        }
    assert_true(largest > 0.999 && largest <= 1.0 + 1e-12);
}

/* (P_o w)·Σ (Q_oo)^j (P_o x) by powers of a matrix that is neither symmetric nor a projection. */
static void f_gamma_is_the_sum_of_powers(void **state) {
    (void)state;
    const double Q[9] = {0.5, 9.0, 2.0, 9.0, 9.0, 9.0, -1.0, 9.0, 3.0}, w[3] = {2.0, 9.0, 5.0};
    const double x[3] = {7.0, NAN, -1.0};
    const unsigned char o[3] = {1, 0, 1}, none[3] = {0, 0, 0};
    double f, y[2] = {7.0, -1.0}, sum = 0.0;
    for (size_t gamma = 1; gamma <= 6; gamma++) {
        sum += 2.0 * y[0] + 5.0 * y[1];
        double next[2] = {0.5 * y[0] + 2.0 * y[1], -1.0 * y[0] + 3.0 * y[1]};
        memcpy(y, next, sizeof y);
        assert_int_equal(karma_theory_f_gamma(&f, w, Q, x, o, 3, gamma, NULL), KARMA_OK);
        check_close(f, sum, 1e-13);
    }
    assert_int_equal(karma_theory_f_gamma(&f, w, Q, x, none, 3, 4, NULL), KARMA_OK);
    assert_true(f == 0.0);
}

/* --- regularity, by hand ------------------------------------------------------------------------------- */

static void check_regularity(const double *Q, const unsigned char *o, size_t dim, double lambda, int reconstructible) {
    double got_lambda;
    int got_reconstructible;
    assert_int_equal(karma_theory_regularity(&got_lambda, &got_reconstructible, Q, o, dim, NULL), KARMA_OK);
    check_close(got_lambda, lambda, 1e-13);
    assert_int_equal(got_reconstructible, reconstructible);
}

static void regularity_of_cases_made_by_hand(void **state) {
    (void)state;
    const double axis[9] = {1, 0, 0, 0, 0, 0, 0, 0, 0};                /* the first coordinate */
    const double diagonal[4] = {0.5, 0.5, 0.5, 0.5};                   /* the line x = y */
    const double plane[9] = {1, 0, 0, 0, 0.5, 0.5, 0, 0.5, 0.5};       /* the first coordinate and y = z */
    const double slanted[4] = {0.36, 0.48, 0.48, 0.64}, zero[4] = {0}; /* along (3, 4)/5 */
    check_regularity(axis, (const unsigned char[]){1, 0, 0}, 3, 1.0, 1);
    check_regularity(axis, (const unsigned char[]){0, 1, 1}, 3, 0.0, 0); /* hidden altogether */
    check_regularity(axis, (const unsigned char[]){0, 0, 0}, 3, 0.0, 0);
    check_regularity(diagonal, (const unsigned char[]){1, 0}, 2, 0.5, 1);
    check_regularity(diagonal, (const unsigned char[]){7, 1}, 2, 1.0, 1); /* a flag is any non-zero byte */
    check_regularity(plane, (const unsigned char[]){1, 1, 0}, 3, 0.5, 1);
    check_regularity(plane, (const unsigned char[]){0, 1, 1}, 3, 1.0, 0); /* one direction of two */
    check_regularity(slanted, (const unsigned char[]){1, 0}, 2, 0.36, 1); /* and not 0.6, the singular value */
    check_regularity(slanted, (const unsigned char[]){0, 1}, 2, 0.64, 1);
    check_regularity(zero, (const unsigned char[]){1, 1}, 2, 0.0, 1);
}

static void bad_matrices_and_rows_are_refused(void **state) {
    (void)state;
    const double skew[4] = {1.0, 0.5, 0.0, 1.0}, bad[4] = {1.0, NAN, NAN, 1.0}, good[4] = {1.0, 0.0, 0.0, 1.0};
    const double huge[4] = {1e200, 0.0, 0.0, 1e200}, w[2] = {1.0, 1.0}, x[2] = {1.0, INFINITY};
    const unsigned char o[2] = {1, 1}, first[2] = {1, 0};
    double out = -7.0, room[6];
    int flag = -7;
    karma_error err;
    assert_int_equal(karma_theory_f0(&out, w, skew, w, o, 2, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "symmetric"));
    assert_int_equal(karma_theory_regularity(&out, &flag, skew, o, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_f0(&out, w, bad, w, o, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_regularity(&out, &flag, bad, o, 2, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_regularity(&out, &flag, huge, o, 2, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_f_gamma(&out, w, huge, w, o, 2, 5, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_f0(&out, w, good, x, o, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_f_gamma(&out, w, good, x, o, 2, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_embed(room, x, o, 2, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_unfold(room, x, good, 2, 2, &err), KARMA_ERR_DATA);
    assert_int_equal(karma_theory_unfold(room, w, bad, 2, 2, &err), KARMA_ERR_DATA);
    assert_true(out == -7.0 && flag == -7);
    assert_int_equal(karma_theory_f0(&out, w, good, x, first, 2, &err), KARMA_OK);
    assert_true(out == 1.0);
}

/* --- bounds -------------------------------------------------------------------------------------------- */

static void big_gamma_is_the_sum_of_powers(void **state) {
    (void)state;
    for (size_t dim = 1; dim <= 12; dim++)
        for (size_t gamma = 1; gamma <= 60; gamma++) {
            long double sum = 0.0L, power = 1.0L;
            for (size_t k = 0; k < gamma; k++) sum += power *= (long double)dim;
            double got = karma_theory_log_big_gamma(dim, (double)gamma), wanted = (double)logl(sum);
            assert_true(fabs(got - wanted) <= 2.0 * DBL_EPSILON * fmax(1.0, wanted));
        }
    assert_true(karma_theory_log_big_gamma(5, 5.0) == log(3905.0));
    assert_true(karma_theory_log_big_gamma(1, 1.0) == 0.0);
    assert_true(karma_theory_log_big_gamma(1, 1e6) == log(1e6));
    assert_true(karma_theory_log_big_gamma(7, 1.0) == log(7.0));
    assert_true(karma_theory_log_big_gamma(7, 0.0) == -INFINITY);
    check_close(karma_theory_log_big_gamma(4, 1.5), log((pow(4.0, 2.5) - 4.0) / 3.0), 1e-15);
    double huge = karma_theory_log_big_gamma(1000000000, 1e6);
    assert_true(isfinite(huge));
    check_close(huge, 1e6 * log(1e9), 1e-14); /* Γ = d^γ (1 + 1/(d-1) + ...) */
    assert_true(isnan(karma_theory_log_big_gamma(3, NAN)));
}

static void gamma_of_epsilon_by_hand(void **state) {
    (void)state;
    assert_true(karma_theory_gamma(0.5, 0.1, 1.0) == 8.0);   /* ln 40/0.5 = 7.378 */
    assert_true(karma_theory_gamma(1.0, 0.1, 1.0) == 3.0);   /* ln 20 = 2.996 */
    assert_true(karma_theory_gamma(0.1, 0.01, 2.0) == 83.0); /* ln 4000/0.1 = 82.94 */
    assert_true(karma_theory_gamma(1.0, 5.0, 1.0) == 1.0);   /* ln 0.4 < 0 */
    assert_true(karma_theory_gamma(1.0, 2.0, 1.0) == 1.0);   /* ln 1 = 0 */
    assert_true(isfinite(karma_theory_gamma(1e-9, 1e-300, 1e9)));
    check_close(karma_theory_gamma(1e-9, 1e-300, 1e9), 1e9 * (log(2.0) + 318.0 * log(10.0)), 1e-12);
    assert_true(isnan(karma_theory_gamma(0.0, 0.1, 1.0)));
    assert_true(isnan(karma_theory_gamma(1.5, 0.1, 1.0)));
    assert_true(isnan(karma_theory_gamma(NAN, 0.1, 1.0)));
    assert_true(isnan(karma_theory_gamma(0.5, -0.1, 1.0)));
    /* With this γ the approximation costs at most ε/2 (proof of theorem main2). */
    for (double lambda = 0.05; lambda <= 1.0; lambda += 0.05) {
        double gamma = karma_theory_gamma(lambda, 0.01, 3.0);
        assert_true(3.0 * karma_theory_approximation_bound(lambda, gamma) <= 0.005);
    }
}

static void approximation_bound_at_its_edges(void **state) {
    (void)state;
    assert_true(karma_theory_approximation_bound(1.0, 1.0) == 0.0);
    assert_true(karma_theory_approximation_bound(1.0, 0.0) == 1.0);
    assert_true(karma_theory_approximation_bound(0.5, 2.0) == 0.5);
    assert_true(karma_theory_approximation_bound(0.25, 1.0) == 3.0);
    check_close(karma_theory_approximation_bound(0.1, 3.0), 7.29, 1e-14);
    check_close(karma_theory_approximation_bound(1e-9, 1e9) * 1e-9, exp(-1.0 - 0.5e-9), 1e-14);
    assert_true(karma_theory_approximation_bound(0.3, 1e9) == 0.0);
    assert_true(isnan(karma_theory_approximation_bound(0.0, 1.0)));
    assert_true(isnan(karma_theory_approximation_bound(0.5, NAN)));
    for (double gamma = 1.0; gamma < 50.0; gamma++)
        assert_true(karma_theory_approximation_bound(0.2, gamma + 1.0) < karma_theory_approximation_bound(0.2, gamma));
}

static void sample_size_in_plain_arithmetic(void **state) {
    (void)state;
    double got = karma_theory_log_sample_size(log(30.0), log(30.0), 0.1, 2.0, 0.05);
    check_close(exp(got), 4.0 * 900.0 * log(20.0) / 0.01, 1e-12);
    assert_true(karma_theory_log_sample_size(log(31.0), log(30.0), 0.1, 2.0, 0.05) > got);
    assert_true(karma_theory_log_sample_size(log(30.0), log(30.0), 0.2, 2.0, 0.05) < got);
    assert_true(karma_theory_log_sample_size(log(30.0), log(30.0), 0.1, 2.0, 0.01) > got);
    check_close(exp(karma_theory_log_sample_size(log(30.0), log(2.0), 0.1, 2.0, 0.05)), 4.0 * 60.0 * log(20.0) / 0.01,
                1e-12);
    double log_huge = karma_theory_log_big_gamma(1000000000, 1e6);
    double huge = karma_theory_log_sample_size(log_huge, log_huge, 1e-300, 1e9, 1e-300);
    assert_true(isfinite(huge));
    assert_true(isfinite(karma_theory_log_sample_size(1.0, 1.0, 1.0, 1.0, 1.0 - 1e-9)));
    assert_true(isnan(karma_theory_log_sample_size(1.0, 1.0, 1.0, 1.0, 1.0)));
}

static void regret_bound_in_plain_arithmetic(void **state) {
    (void)state;
    double L = 2.0, X = 3.0, Gamma = 30.0, B = 5.0, lambda = 0.25, gamma = 4.0, T = 100.0;
    karma_regret_terms terms = {L, X, log(Gamma), log(B), lambda, gamma, T};
    double rho = L * X * sqrt(Gamma) / sqrt(B * T);
    check_close(exp(karma_theory_log_rho(&terms)), rho, 1e-13);
    for (double r = 0.01; r < 100.0; r *= 3.0) {
        double bound =
            2.0 * L * L * X * X * Gamma * (1.0 + log(T)) / r + r * T * B / 2.0 + exp(-lambda * gamma) * L * T / lambda;
        check_close(exp(karma_theory_log_regret_bound(&terms, log(r))), bound, 1e-12);
    }
    double before = karma_theory_log_regret_bound(&terms, log(rho));
    terms.rounds = 1.0; /* ln T = 0 */
    assert_true(karma_theory_log_regret_bound(&terms, log(rho)) < before);
    check_close(exp(karma_theory_log_regret_bound(&terms, 0.0)), 2.0 * 36.0 * 30.0 + 2.5 + exp(-1.0) * 2.0 / 0.25,
                1e-12);
    terms.rounds = 0.0;
    assert_true(isnan(karma_theory_log_regret_bound(&terms, 0.0)));
    assert_true(isnan(karma_theory_log_rho(&terms)));
}

static void regret_bound_of_huge_terms_is_finite(void **state) {
    (void)state;
    karma_regret_terms terms = {1e9, 1e9, karma_theory_log_big_gamma(1000000000, 1e6), log(1e300), 1e-9, 1e6, 0x1.0p53};
    double log_rho = karma_theory_log_rho(&terms), bound = karma_theory_log_regret_bound(&terms, log_rho);
    assert_true(isfinite(log_rho) && isfinite(bound));
    /* With this ρ the first two terms are LX√(ΓBT)·(2(1 + ln T) + 1/2); the third is nothing beside them. */
    double log_T = log(0x1.0p53);
    check_close(bound, 2.0 * log(1e9) + 0.5 * (terms.log_big_gamma + log(1e300) + log_T) + log(2.5 + 2.0 * log_T),
                1e-13);
    terms = (karma_regret_terms){1e-300, 1e-300, 0.0, log(1e-300), 1.0, 1.0, 1.0};
    assert_true(isfinite(karma_theory_log_regret_bound(&terms, karma_theory_log_rho(&terms))));
}

/* --- linear algebra ------------------------------------------------------------------------------------ */

static void eigenvectors_are_rows_and_values_ascend(void **state) {
    (void)state;
    enum { N = 7 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    double A[N * N], V[N * N], values[N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++) A[i * N + j] = A[j * N + i] = karma_i_rng_normal(&rng);
    memcpy(V, A, sizeof A);
    assert_int_equal(karma_i_eigen_symmetric(values, V, N, NULL), KARMA_OK);
    for (size_t i = 0; i < N; i++) {
        if (i > 0) assert_true(values[i - 1] <= values[i]);
        check_close(dot(V + i * N, V + i * N, N), 1.0, 1e-13);
        for (size_t j = 0; j < N; j++) check_close(dot(A + j * N, V + i * N, N), values[i] * V[i * N + j], 1e-13);
    }
    A[3] = INFINITY;
    assert_int_equal(karma_i_eigen_symmetric(values, A, N, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_i_eigen_symmetric(values, A, 0, NULL), KARMA_OK);
}

static void gemm_multiplies_by_the_transpose(void **state) {
    (void)state;
    enum { N_A = 3, N_B = 5, INNER = 4, LD_A = 6, LD_B = 4, LD_OUT = 7 };
    float a[N_A * LD_A], b[N_B * LD_B], out[N_A * LD_OUT];
    for (size_t inner = 0; inner <= INNER; inner += INNER) {
        for (size_t i = 0; i < N_A * LD_A; i++) a[i] = (float)i - 5.0f;
        for (size_t i = 0; i < N_B * LD_B; i++) b[i] = 3.0f - (float)i;
        for (size_t i = 0; i < N_A * LD_OUT; i++) out[i] = 99.0f;
        karma_i_gemm_nt(out, LD_OUT, a, LD_A, N_A, b, LD_B, N_B, inner);
        for (size_t i = 0; i < N_A; i++)
            for (size_t j = 0; j < LD_OUT; j++) {
                float sum = 0.0f;
                for (size_t k = 0; k < inner && j < N_B; k++) sum += a[i * LD_A + k] * b[j * LD_B + k];
                assert_true(out[i * LD_OUT + j] == (j < N_B ? sum : 99.0f)); /* small whole numbers: exact */
            }
    }
    karma_i_gemm_nt(out, LD_OUT, a, LD_A, 0, b, LD_B, N_B, INNER);
    karma_i_gemm_nt(out, LD_OUT, a, LD_A, N_A, b, LD_B, 0, INNER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_equals_explicit_embedding),
        cmocka_unit_test(one_common_attribute_weighs_gamma),
        cmocka_unit_test(embedding_is_ordered_by_length_then_lexicographically),
        cmocka_unit_test(an_embedding_that_does_not_fit_is_reported),
        cmocka_unit_test(f0_is_the_linear_function_of_the_whole_row),
        cmocka_unit_test(f_gamma_approaches_f0_as_in_the_lemma),
        cmocka_unit_test(approximation_needs_eigenvalues),
        cmocka_unit_test(unfolding_is_f_gamma),
        cmocka_unit_test(unfolding_of_a_projection_is_short),
        cmocka_unit_test(f_gamma_is_the_sum_of_powers),
        cmocka_unit_test(regularity_of_cases_made_by_hand),
        cmocka_unit_test(bad_matrices_and_rows_are_refused),
        cmocka_unit_test(big_gamma_is_the_sum_of_powers),
        cmocka_unit_test(gamma_of_epsilon_by_hand),
        cmocka_unit_test(approximation_bound_at_its_edges),
        cmocka_unit_test(sample_size_in_plain_arithmetic),
        cmocka_unit_test(regret_bound_in_plain_arithmetic),
        cmocka_unit_test(regret_bound_of_huge_terms_is_finite),
        cmocka_unit_test(eigenvectors_are_rows_and_values_ascend),
        cmocka_unit_test(gemm_multiplies_by_the_transpose),
    };
    return cmocka_run_group_tests_name("theory", tests, NULL, NULL);
}
