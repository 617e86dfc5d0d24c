/* Features against plain loops; the primal solver against its own certificate recomputed here, against closed forms, a
 * plain Newton method, and the dual batch solver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "randomrows.h"
#include "solve/primal.h"
#include "solve/solver.h"

#define CHECK_CLOSE(a, b, tolerance)                                                                                   \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (tolerance) * (1.0 + fabs(b_))))                                                        \
            fail_msg("%s = %.17g, but %s = %.17g", #a, a_, #b, b_);                                                    \
    } while (0)

static double *draw_numbers(size_t n, karma_i_rng *rng) {
    double *out = malloc(n * sizeof *out);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++) out[i] = karma_i_rng_normal(rng);
    return out;
}

/* --- features -------------------------------------------------------------------------------------------------- */

/* Features and the same numbers as a plain matrix. */
typedef struct feature_case {
    karma_i_features *features;
    double *matrix;
    uint32_t *codes;
    karma_i_rows *rows, *landmarks;
    karma_i_kernel kernel;
} feature_case;

static feature_case dense_case(size_t n, size_t p, karma_i_rng *rng) {
    feature_case c = {.matrix = draw_numbers(n * p, rng)};
    double *values = karma_i_alloc_aligned(n, p * sizeof *values);
    assert_non_null(values);
    memcpy(values, c.matrix, n * p * sizeof *values);
    assert_int_equal(karma_i_features_dense(&c.features, values, n, p, NULL), KARMA_OK);
    return c;
}

static feature_case code_case(size_t n, size_t n_codes, size_t per_code, karma_i_rng *rng) {
    size_t p = n_codes * per_code;
    feature_case c = {.matrix = calloc(n * p, sizeof *c.matrix), .codes = malloc(n * n_codes * sizeof *c.codes)};
    assert_true(c.matrix && c.codes);
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < n_codes; t++) {
            size_t place = t * per_code + karma_i_rng_below(rng, per_code);
            c.codes[i * n_codes + t] = (uint32_t)place;
            c.matrix[i * p + place] = 0.25;
        }
    assert_int_equal(karma_i_features_codes(&c.features, c.codes, n, n_codes, p, 0.25, NULL), KARMA_OK);
    return c;
}

/* Each tenth row is a landmark. */
static feature_case landmark_case(size_t n, size_t d, karma_i_rng *rng) {
    feature_case c = {0};
    row_shape shape = {n, d, 3, 2, 0.7, 0};
    c.rows = draw_rows(&shape, rng);
    size_t p = n / 10, *index = malloc(p * sizeof *index);
    assert_non_null(index);
    for (size_t j = 0; j < p; j++) index[j] = 10 * j;
    assert_int_equal(karma_i_kernel_init(&c.kernel, 2, 3.0, 1.0, d, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_new_like(&c.landmarks, c.rows, p, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_gather(c.landmarks, c.rows, index, p, NULL), KARMA_OK);
    c.matrix = malloc(n * p * sizeof *c.matrix);
    assert_non_null(c.matrix);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < p; j++)
            c.matrix[i * p + j] = karma_i_kernel_reference(&c.kernel, c.rows, i, c.rows, index[j]);
    free(index);
    return c;
}

/* The kernel must stay at its address: features refer to it. */
static void open_landmarks(feature_case *c, double memory) {
    karma_i_landmarks landmarks = {
        &c->kernel, c->rows, c->landmarks, NULL, NULL, memory, karma_i_partition_whole(c->rows->n_rows)};
    assert_int_equal(karma_i_features_landmarks(&c->features, &landmarks, NULL), KARMA_OK);
}

static void close_case(feature_case *c) {
    karma_i_features_free(c->features);
    if (c->rows) karma_i_kernel_clear(&c->kernel);
    karma_i_rows_free(c->rows);
    karma_i_rows_free(c->landmarks);
    free(c->matrix);
    free(c->codes);
}

/* Keeps the arguments that it is called with, and returns factors that depend on the row. */
typedef struct seen_values {
    double *values;
    size_t n;
} seen_values;

static double factor_of(size_t row, size_t k) {
    return row % 7 == 0 ? 0.0 : sin((double)(row + 3 * k));
}

static void see_values(double *values, void *payload, size_t first, size_t count) {
    seen_values *seen = payload;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < seen->n; k++) {
            seen->values[(first + i) * seen->n + k] = values[i * seen->n + k];
            values[i * seen->n + k] = factor_of(first + i, k);
        }
}

static void check_pass(const karma_i_features *f, const double *matrix, double tolerance, karma_i_rng *rng) {
    enum { N = 3 };
    size_t n = f->n_rows, p = f->n_features;
    double *vectors = draw_numbers(N * p, rng), *sums = malloc(2 * N * p * sizeof *sums);
    seen_values seen = {malloc(n * N * sizeof(double)), N};
    assert_true(sums && seen.values);
    for (int threads = 1; threads <= 3; threads += 2) {
        double *own = sums + (threads == 1 ? 0 : N * p);
        assert_int_equal(karma_i_features_pass(own, f, vectors, N, see_values, &seen, threads, NULL), KARMA_OK);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < N; k++) {
                double sum = 0.0;
                for (size_t j = 0; j < p; j++) sum += matrix[i * p + j] * vectors[k * p + j];
                CHECK_CLOSE(seen.values[i * N + k], sum, tolerance);
            }
        for (size_t k = 0; k < N; k++)
            for (size_t j = 0; j < p; j++) {
                double sum = 0.0;
                for (size_t i = 0; i < n; i++) sum += factor_of(i, k) * matrix[i * p + j];
                CHECK_CLOSE(own[k * p + j], sum, tolerance);
            }
    }
    assert_memory_equal(sums, sums + N * p, N * p * sizeof *sums);
    free(vectors);
    free(sums);
    free(seen.values);
}

static void check_products(const karma_i_features *f, const double *matrix, double tolerance) {
    size_t n = f->n_rows, p = f->n_features;
    double *factors = malloc(n * sizeof *factors), *squares = calloc(p, sizeof *squares);
    double *products = calloc(2 * p * p, sizeof *products);
    assert_true(factors && squares && products);
    for (size_t i = 0; i < n; i++) factors[i] = fabs(factor_of(i, 1));
    assert_int_equal(karma_i_features_squares(squares, f, factors, NULL), KARMA_OK);
    if (f->kind->expand) {
        assert_int_equal(karma_i_features_products(products, f, factors, 1, NULL), KARMA_OK);
        assert_int_equal(karma_i_features_products(products + p * p, f, factors, 3, NULL), KARMA_OK);
        assert_memory_equal(products, products + p * p, p * p * sizeof *products);
    }
    for (size_t a = 0; a < p; a++)
        for (size_t b = 0; b <= a; b++) {
            double sum = 0.0;
            for (size_t i = 0; i < n; i++) sum += factors[i] * matrix[i * p + a] * matrix[i * p + b];
            if (f->kind->expand) CHECK_CLOSE(products[a * p + b], sum, tolerance);
            if (a == b) CHECK_CLOSE(squares[a], sum, tolerance);
        }
    free(factors);
    free(squares);
    free(products);
}

static void check_selected(const karma_i_features *f, const double *matrix, double tolerance, karma_i_rng *rng) {
    size_t p = f->n_features, count = f->n_rows / 2, *index = malloc(count * sizeof *index);
    double *part = malloc(count * p * sizeof *part);
    karma_i_features *selected = NULL;
    assert_true(index && part);
    for (size_t i = 0; i < count; i++) {
        index[i] = karma_i_rng_below(rng, f->n_rows);
        memcpy(part + i * p, matrix + index[i] * p, p * sizeof *part);
    }
    assert_int_equal(f->kind->select(&selected, f, index, count, NULL), KARMA_OK);
    assert_int_equal(selected->n_rows, count);
    check_pass(selected, part, tolerance, rng);
    check_products(selected, part, tolerance);
    karma_i_features_free(selected);
    free(index);
    free(part);
}

static void check_features(const feature_case *c, double tolerance, karma_i_rng *rng) {
    check_pass(c->features, c->matrix, tolerance, rng);
    check_products(c->features, c->matrix, tolerance);
    check_selected(c->features, c->matrix, tolerance, rng);
}

static void features_equal_plain_loops(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    feature_case dense = dense_case(1500, 300, &rng), codes = code_case(700, 5, 9, &rng);
    check_features(&dense, 1e-11, &rng);
    check_features(&codes, 1e-12, &rng);
    close_case(&dense);
    close_case(&codes);
    /* nothing is stored, the first rows are, or everything */
    static const double memories[] = {0.0, 4.0 * 300 * 60, 1e9};
    for (size_t m = 0; m < 3; m++) {
        feature_case landmarks = landmark_case(610, 6, &rng);
        open_landmarks(&landmarks, memories[m]);
        check_features(&landmarks, 1e-4, &rng);
        double first = karma_i_features_evaluations(landmarks.features);
        check_pass(landmarks.features, landmarks.matrix, 1e-4, &rng);
        double more = karma_i_features_evaluations(landmarks.features) - first;
        if (m == 2)
            assert_true(more == 0.0);
        else
            assert_true(more > 0.0);
        close_case(&landmarks);
    }
}

/* With the first landmarks only, the features are the same except for those that are left out. */
static void fewer_landmarks_are_a_part(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    feature_case c = landmark_case(400, 5, &rng);
    open_landmarks(&c, 1e9);
    karma_i_features *fewer = NULL;
    size_t p = c.features->n_features, q = p / 3;
    assert_int_equal(karma_i_features_fewer(&fewer, c.features, q, NULL, NULL, NULL), KARMA_OK);
    double *part = malloc(400 * q * sizeof *part);
    assert_non_null(part);
    for (size_t i = 0; i < 400; i++) memcpy(part + i * q, c.matrix + i * p, q * sizeof *part);
    check_pass(fewer, part, 1e-4, &rng);
    check_products(fewer, part, 1e-4);
    check_selected(fewer, part, 1e-4, &rng);
    free(part);
    karma_i_features_free(fewer);
    close_case(&c);
}

/* --- the solver ------------------------------------------------------------------------------------------------ */

typedef struct primal_case {
    feature_case source;
    karma_i_primal_problem problem;
    karma_i_loss losses[3];
    double *targets, *row_weights, *weights;
    karma_i_primal_result result;
} primal_case;

static karma_i_loss loss_of(int kind, double parameter) {
    karma_fit_options o;
    karma_i_loss loss;
    karma_options_init(karma_fit_option_table(), &o);
    o.loss = kind;
    o.tube = 0.2;
    o.huber = 0.6;
    assert_int_equal(karma_i_loss_make(&loss, kind <= KARMA_LOSS_LOGISTIC ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS,
                                       &o, parameter, NULL),
                     KARMA_OK);
    return loss;
}

static void open_primal(primal_case *c, feature_case source, int loss, double C, karma_i_rng *rng) {
    enum { K = 3 };
    const karma_i_features *f = source.features;
    size_t n = f->n_rows, p = f->n_features;
    *c = (primal_case){.source = source};
    double *hidden = draw_numbers(K * p, rng);
    c->targets = malloc(n * K * sizeof *c->targets);
    c->row_weights = malloc(n * K * sizeof *c->row_weights);
    c->weights = calloc(K * p, sizeof *c->weights);
    assert_true(c->targets && c->row_weights && c->weights);
    for (size_t k = 0; k < K; k++) c->losses[k] = loss_of(loss, k == 1 ? 0.8 : 0.5);
    for (size_t i = 0; i < n * K; i++) {
        double z = 0.8 * karma_i_rng_normal(rng);
        for (size_t j = 0; j < p; j++) z += source.matrix[i / K * p + j] * hidden[i % K * p + j] / sqrt((double)p);
        c->targets[i] = loss <= KARMA_LOSS_LOGISTIC ? (z > 0.2 ? 1.0 : -1.0) : z;
        c->row_weights[i] = karma_i_rng_below(rng, 6) ? 2.0 * karma_i_rng_uniform(rng) : 0.0;
    }
    c->problem = (karma_i_primal_problem){.features = f,
                                          .n_outputs = K,
                                          .targets = c->targets,
                                          .row_weights = c->row_weights,
                                          .losses = c->losses,
                                          .C = C,
                                          .tolerance = 1e-8,
                                          .most_passes = 5000.0,
                                          .factor_memory = 1e9,
                                          .threads = 1};
    free(hidden);
}

static void close_primal(primal_case *c) {
    close_case(&c->source);
    free(c->targets);
    free(c->row_weights);
    free(c->weights);
}

/* The objective from nothing but the weights. */
static double objective(const primal_case *c, size_t output, const double *w) {
    const karma_i_features *f = c->problem.features;
    size_t n = f->n_rows, p = f->n_features;
    double sum = 0.0;
    for (size_t a = 0; a < p; a++)
        for (size_t b = 0; b < p; b++) sum += 0.5 * w[a] * w[b] * (f->norm ? f->norm[a * p + b] : a == b ? 1.0 : 0.0);
    for (size_t i = 0; i < n; i++) {
        double z = 0.0;
        for (size_t j = 0; j < p; j++) z += c->source.matrix[i * p + j] * w[j];
        sum += c->problem.C / (double)n * c->row_weights[i * 3 + output] *
               c->losses[output].value(z, c->targets[i * 3 + output], c->losses[output].parameter);
    }
    return sum;
}

static double objective_sum(const primal_case *c) {
    size_t p = c->problem.features->n_features;
    double sum = 0.0;
    for (size_t k = 0; k < 3; k++) sum += objective(c, k, c->weights + k * p);
    return sum;
}

static void solve(primal_case *c) {
    assert_int_equal(karma_i_solve_primal(c->weights, &c->result, &c->problem, NULL, NULL), KARMA_OK);
}

/* The objective agrees with the weights, the gap is closed, and no step away from the weights lowers the objective:
 * together with the dual below, this shows the minimum. */
static void every_loss_reaches_its_certificate(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++)
        for (double C = 1.0; C < 2e6; C *= 100.0) {
            primal_case c;
            open_primal(&c, dense_case(400, 30, &rng), loss, C, &rng);
            c.problem.tolerance = 1e-10;
            solve(&c);
            double found = objective_sum(&c);
            if (c.result.stop != KARMA_STOP_CONVERGED)
                fail_msg("%s, C = %g: gap %.3g after %.0f passes", karma_i_loss_name(c.losses[0].kind), C,
                         (c.result.primal - c.result.dual) / c.result.primal, c.result.passes);
            CHECK_CLOSE(c.result.primal, found, 1e-10);
            assert_true(c.result.dual <= found * (1.0 + 1e-13) && c.result.dual >= found * (1.0 - 1.1e-10));
            size_t p = 30;
            for (int trial = 0; trial < 60; trial++) {
                double *w = draw_numbers(p, &rng), step = pow(10.0, -1.0 - trial % 5);
                size_t k = (size_t)trial % 3;
                for (size_t j = 0; j < p; j++) w[j] = c.weights[k * p + j] + step * w[j];
                assert_true(objective(&c, k, w) >= objective(&c, k, c.weights + k * p) * (1.0 - 1e-10));
                free(w);
            }
            close_primal(&c);
        }
}

/* (I + Σ c r rᵀ) w = Σ c y r, by elimination here. */
static void solve_plainly(double *x, double *a, size_t p) {
    for (size_t k = 0; k < p; k++)
        for (size_t i = k + 1; i < p; i++) {
            double factor = a[i * p + k] / a[k * p + k];
            for (size_t j = k; j < p; j++) a[i * p + j] -= factor * a[k * p + j];
            x[i] -= factor * x[k];
        }
    for (size_t k = p; k-- > 0;) {
        for (size_t j = k + 1; j < p; j++) x[k] -= a[k * p + j] * x[j];
        x[k] /= a[k * p + k];
    }
}

/* The plain Newton method, for a smooth loss: derivatives by differences of values. */
static void newton_plainly(double *w, const primal_case *c, size_t output, int steps) {
    size_t n = c->problem.features->n_rows, p = c->problem.features->n_features;
    const karma_i_loss *l = &c->losses[output];
    double *h = malloc(p * p * sizeof *h), *g = malloc(p * sizeof *g);
    assert_true(h && g);
    memset(w, 0, p * sizeof *w);
    for (int step = 0; step < steps; step++) {
        for (size_t i = 0; i < p * p; i++) h[i] = i % (p + 1) == 0 ? 1.0 : 0.0;
        for (size_t i = 0; i < p; i++) g[i] = w[i];
        for (size_t i = 0; i < n; i++) {
            const double *r = c->source.matrix + i * p;
            double z = 0.0, y = c->targets[i * 3 + output], e = 1e-4;
            double share = c->problem.C / (double)n * c->row_weights[i * 3 + output];
            for (size_t j = 0; j < p; j++) z += r[j] * w[j];
            double up = l->value(z + e, y, l->parameter), at = l->value(z, y, l->parameter);
            double down = l->value(z - e, y, l->parameter);
            for (size_t a = 0; a < p; a++) {
                g[a] += share * (up - down) / (2.0 * e) * r[a];
                for (size_t b = 0; b < p; b++) h[a * p + b] += share * (up - 2.0 * at + down) / (e * e) * r[a] * r[b];
            }
        }
        solve_plainly(g, h, p);
        for (size_t a = 0; a < p; a++) w[a] -= g[a];
    }
    free(h);
    free(g);
}

static void smooth_losses_equal_plain_newton(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_SQUARED, KARMA_LOSS_LOGISTIC};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (size_t which = 0; which < 2; which++) {
        primal_case c;
        double w[12];
        open_primal(&c, dense_case(200, 12, &rng), losses[which], 300.0, &rng);
        c.problem.tolerance = 1e-12;
        solve(&c);
        for (size_t k = 0; k < 3; k++) {
            newton_plainly(w, &c, k, which == 0 ? 2 : 12);
            for (size_t j = 0; j < 12; j++) CHECK_CLOSE(c.weights[k * 12 + j], w[j], 1e-5);
        }
        close_primal(&c);
    }
}

/* Only a sample is factorised: 30000 · 400² is too much for a cheap factorisation. */
static void samples_end_at_the_minimum(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_HINGE, KARMA_LOSS_LOGISTIC};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 9);
    for (size_t which = 0; which < 2; which++) {
        primal_case c;
        open_primal(&c, dense_case(30000, 400, &rng), losses[which], 3e4, &rng);
        c.problem.tolerance = 1e-4;
        solve(&c);
        assert_int_equal(c.result.stop, KARMA_STOP_CONVERGED);
        CHECK_CLOSE(c.result.primal, objective_sum(&c), 1e-9);
        close_primal(&c);
    }
}

/* For codes only the diagonal of the Hessian is computed. They reach the same minimum as dense features of the same
 * numbers. */
static void codes_end_at_the_same_minimum(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++) {
        primal_case codes, same;
        open_primal(&codes, code_case(500, 6, 10, &rng), loss, 2e3, &rng);
        codes.problem.tolerance = 1e-5;
        double *values = karma_i_alloc_aligned(500 * 60, sizeof *values);
        assert_non_null(values);
        memcpy(values, codes.source.matrix, 500 * 60 * sizeof *values);
        solve(&codes);
        same = codes;
        same.weights = calloc(180, sizeof *same.weights);
        assert_non_null(same.weights);
        karma_i_features *dense = NULL;
        assert_int_equal(karma_i_features_dense(&dense, values, 500, 60, NULL), KARMA_OK);
        same.problem.features = dense;
        solve(&same);
        assert_int_equal(codes.result.stop, KARMA_STOP_CONVERGED);
        CHECK_CLOSE(codes.result.primal, same.result.primal, 2e-5);
        free(same.weights);
        karma_i_features_free(dense);
        close_primal(&codes);
    }
}

/* The dual solver on the kernel of the same rows. */
static void every_loss_agrees_with_the_dual(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++) {
        row_shape shape = {250, 9, 0, 1, 0.8, 1};
        karma_i_rows *rows = draw_rows(&shape, &rng);
        karma_i_kernel kernel;
        feature_case source = {.matrix = malloc(250 * 10 * sizeof(double))};
        double *values = karma_i_alloc_aligned(250 * 10, sizeof *values), *coefficients = malloc(750 * sizeof(double));
        assert_true(source.matrix && values && coefficients);
        assert_int_equal(karma_i_kernel_init(&kernel, 1, 1.0, 0.5, 9, NULL), KARMA_OK);
        for (size_t i = 0; i < 250; i++)
            for (size_t j = 0; j < 10; j++)
                values[i * 10 + j] = source.matrix[i * 10 + j] = j < 9 ? (double)karma_i_rows_values(rows, i)[j] : 0.5;
        assert_int_equal(karma_i_features_dense(&source.features, values, 250, 10, NULL), KARMA_OK);
        primal_case c;
        open_primal(&c, source, loss, 100.0, &rng);
        solve(&c);
        karma_i_problem problem = {.kernel = &kernel,
                                   .rows = rows,
                                   .targets = c.targets,
                                   .n_outputs = 3,
                                   .losses = c.losses,
                                   .row_weights = c.row_weights};
        karma_fit_options options;
        karma_fit_info info = {0};
        karma_options_init(karma_fit_option_table(), &options);
        options.C = 100.0;
        options.tolerance = 1e-6;
        options.threads = 1;
        assert_int_equal(karma_i_solver(KARMA_SOLVER_BATCH)(coefficients, &info, &problem, &options, NULL, NULL),
                         KARMA_OK);
        CHECK_CLOSE(c.result.primal, info.primal, 3e-6);
        CHECK_CLOSE(c.result.dual, info.dual, 3e-6);
        karma_i_kernel_clear(&kernel);
        karma_i_rows_free(rows);
        free(coefficients);
        close_primal(&c);
    }
}

/* Few outputs at a time, more threads and a start near the end change nothing but the work. */
static void groups_threads_and_starts_change_nothing(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    primal_case c;
    open_primal(&c, dense_case(900, 20, &rng), KARMA_LOSS_HINGE, 500.0, &rng);
    c.problem.tolerance = 1e-6;
    solve(&c);
    double first[60], primal = c.result.primal;
    memcpy(first, c.weights, sizeof first);
    memset(c.weights, 0, sizeof first);
    c.problem.threads = 3;
    solve(&c);
    assert_memory_equal(first, c.weights, sizeof first);
    memset(c.weights, 0, sizeof first);
    c.problem.factor_memory = 1.0; /* one after the other */
    solve(&c);
    CHECK_CLOSE(c.result.primal, primal, 2e-6);
    double passes = c.result.passes;
    c.problem.C *= 1.1;
    solve(&c); /* from there */
    assert_true(c.result.passes < 0.7 * passes);
    c.problem.C /= 1.1;
    solve(&c);
    CHECK_CLOSE(c.result.primal, primal, 2e-6);
    close_primal(&c);
}

typedef struct stopper {
    size_t asked, stop_at;
} stopper;

static int stop_soon(void *payload, const char *stage, size_t done, size_t total) {
    stopper *s = payload;
    (void)stage, (void)done, (void)total;
    return ++s->asked >= s->stop_at;
}

/* The result after an early stop has a certificate too, and is better than zero weights. */
static void a_stopped_solver_keeps_its_best(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 8);
    primal_case c;
    open_primal(&c, dense_case(500, 25, &rng), KARMA_LOSS_ABSOLUTE, 1e4, &rng);
    double nothing = objective_sum(&c);
    stopper s = {0, 2};
    karma_hooks hooks = {stop_soon, NULL, &s};
    assert_int_equal(karma_i_solve_primal(c.weights, &c.result, &c.problem, &hooks, NULL), KARMA_OK);
    assert_int_equal(c.result.stop, KARMA_STOP_CANCELLED);
    assert_true(c.result.primal < 0.7 * nothing);
    CHECK_CLOSE(c.result.primal, objective_sum(&c), 1e-10);
    memset(c.weights, 0, 75 * sizeof *c.weights);
    c.problem.most_passes = 6.0;
    solve(&c);
    assert_int_equal(c.result.stop, KARMA_STOP_LIMIT);
    assert_true(c.result.dual < c.result.primal);
    close_primal(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_equal_plain_loops),
        cmocka_unit_test(fewer_landmarks_are_a_part),
        cmocka_unit_test(every_loss_reaches_its_certificate),
        cmocka_unit_test(smooth_losses_equal_plain_newton),
        cmocka_unit_test(samples_end_at_the_minimum),
        cmocka_unit_test(codes_end_at_the_same_minimum),
        cmocka_unit_test(every_loss_agrees_with_the_dual),
        cmocka_unit_test(groups_threads_and_starts_change_nothing),
        cmocka_unit_test(a_stopped_solver_keeps_its_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
