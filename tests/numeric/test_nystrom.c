/* Kernel machines on few features against the dual solver on all pairs of rows, and against the definition of Nyström's
 * approximation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "kernel/features_exact.h"
#include "randomrows.h"
#include "solve/nystrom.h"

#define CHECK_CLOSE(a, b, tolerance)                                                                                   \
    do {                                                                                                               \
        double a_ = (a), b_ = (b);                                                                                     \
        if (!(fabs(a_ - b_) <= (tolerance) * (1.0 + fabs(b_))))                                                        \
            fail_msg("%s = %.17g, but %s = %.17g", #a, a_, #b, b_);                                                    \
    } while (0)

/* --- exact features ------------------------------------------------------------------------------------------ */

static void make_kernel(karma_i_kernel *kernel, size_t gamma, size_t d) {
    assert_int_equal(karma_i_kernel_init(kernel, gamma, 2.5, 0.7, d, NULL), KARMA_OK);
}

/* φ(x)·φ(y) is the kernel for all pairs, and landmarks are rows of L. */
static void check_exact(const karma_i_kernel *kernel, const karma_i_rows *rows, size_t rank) {
    karma_i_exact_features e;
    double bound = karma_i_kernel_rank_bound(kernel, rows);
    assert_true(bound >= (double)rank);
    assert_int_equal(karma_i_features_exact(&e, kernel, rows, (size_t)bound, 2, NULL), KARMA_OK);
    assert_non_null(e.features);
    assert_int_equal(e.n_landmarks, rank);
    size_t n = rows->n_rows;
    double *phi = malloc(n * rank * sizeof *phi), *ones = malloc(n * sizeof *ones);
    void *worker = e.features->kind->new_worker(e.features);
    assert_true(phi && ones && worker);
    for (size_t i = 0; i < n; i++) ones[i] = 1.0;
    for (size_t first = 0; first < n; first += e.features->block_rows) {
        size_t count = n - first < e.features->block_rows ? n - first : e.features->block_rows;
        e.features->kind->load(worker, e.features, first, count);
        e.features->kind->expand(phi + first * rank, worker, ones);
    }
    e.features->kind->free_worker(worker);
    for (size_t i = 0; i < n; i += 3)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (size_t f = 0; f < rank; f++) sum += phi[i * rank + f] * phi[j * rank + f];
            CHECK_CLOSE(sum, karma_i_kernel_reference(kernel, rows, i, rows, j), 1e-7);
        }
    for (size_t j = 0; j < rank; j++)
        for (size_t f = 0; f < rank; f++)
            CHECK_CLOSE(phi[e.landmarks[j] * rank + f], f <= j ? e.lower[j * rank + f] : 0.0, 1e-7);
    karma_i_exact_features_clear(&e);
    if (rank > 1) { /* one dimension less is not enough */
        assert_int_equal(karma_i_features_exact(&e, kernel, rows, rank - 1, 1, NULL), KARMA_OK);
        assert_null(e.features);
        karma_i_exact_features_clear(&e);
    }
    free(phi);
    free(ones);
}

static void exact_features_are_the_kernel(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    karma_i_kernel plain, pairs;
    make_kernel(&plain, 1, 6);
    make_kernel(&pairs, 2, 6);
    row_shape holes = {700, 6, 0, 1, 0.7, 0}, whole = {700, 6, 0, 1, 1.0, 0};
    karma_i_rows *with_holes = draw_rows(&holes, &rng), *without = draw_rows(&whole, &rng);
    check_exact(&plain, with_holes, 7);
    check_exact(&plain, without, 7);
    check_exact(&pairs, without, 7); /* all overlaps are equal */
    /* x_j with o_i for i != j, o_j x_j = x_j = x_j · 1, and o_i · 1: 6·5 + 6 + 6 + 1 */
    check_exact(&pairs, with_holes, 43);
    karma_i_rows_free(with_holes);
    karma_i_rows_free(without);
    karma_i_kernel_clear(&plain);
    karma_i_kernel_clear(&pairs);
}

/* A direction that only the last rows have is found too. */
static void rare_directions_are_found(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    karma_i_kernel kernel;
    row_shape shape = {3000, 5, 0, 1, 1.0, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    make_kernel(&kernel, 1, 5);
    for (size_t i = 0; i < 2999; i++) karma_i_rows_hide(rows, i, 4);
    check_exact(&kernel, rows, 6);
    karma_i_rows_hide(rows, 2999, 4);
    check_exact(&kernel, rows, 5);
    karma_i_rows_free(rows);
    karma_i_kernel_clear(&kernel);
}

/* The first rows that are looked at, one in eight, observe two attributes; one in eight of the others observes all. So
 * nearly all directions are found later than space for features is made. */
static void many_directions_are_found_late(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    karma_i_kernel kernel;
    row_shape shape = {2048, 60, 0, 1, 1.0, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    make_kernel(&kernel, 1, 60);
    for (size_t i = 0; i < 2048; i++)
        for (size_t j = 2; j < 60 && i % 8 != 3; j++) karma_i_rows_hide(rows, i, j);
    check_exact(&kernel, rows, 61);
    karma_i_rows_free(rows);
    karma_i_kernel_clear(&kernel);
}

/* 256 rows are too few to find most of 14·13 + 14 + 14 + 1 dimensions. */
static void more_rows_are_looked_at_first(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    karma_i_kernel kernel;
    row_shape shape = {700, 14, 0, 1, 0.7, 0};
    karma_i_rows *rows = draw_rows(&shape, &rng);
    make_kernel(&kernel, 2, 14);
    check_exact(&kernel, rows, 211);
    karma_i_rows_free(rows);
    karma_i_kernel_clear(&kernel);
}

/* --- machines -------------------------------------------------------------------------------------------------- */

typedef struct machine_case {
    karma_i_rows *rows;
    karma_i_kernel kernel;
    karma_fit_options options;
    karma_i_problem problem;
    double *targets, *coefficients;
    karma_fit_info info;
} machine_case;

enum { OUTPUTS = 2 };

static void open_case(machine_case *c, size_t n, size_t d, size_t gamma, int outer, int loss, karma_i_rng *rng) {
    row_shape shape = {n, d, 0, 1, 0.9, 0};
    *c = (machine_case){.rows = draw_rows(&shape, rng)};
    make_kernel(&c->kernel, gamma, d);
    c->kernel.factors[0].map.kind = (karma_outer)outer;
    c->kernel.factors[0].map.spread = 4.0;
    c->kernel.factors[0].map.width = 1.5;
    karma_options_init(karma_fit_option_table(), &c->options);
    c->options.loss = loss;
    c->options.C = 3.0 * (double)n;
    c->options.tolerance = 1e-6;
    c->options.threads = 2;
    c->problem = (karma_i_problem){.kernel = &c->kernel, .rows = c->rows, .n_outputs = OUTPUTS};
    assert_int_equal(karma_i_loss_make(&c->problem.loss,
                                       loss <= KARMA_LOSS_LOGISTIC ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS,
                                       &c->options, 0.7, NULL),
                     KARMA_OK);
    c->targets = malloc(n * OUTPUTS * sizeof *c->targets);
    c->coefficients = malloc(n * OUTPUTS * sizeof *c->coefficients);
    assert_true(c->targets && c->coefficients);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < OUTPUTS; k++) {
            const float *x = karma_i_rows_values(c->rows, i);
            double y = (double)x[k] - (double)x[k + 1] * (double)x[k + 2] + 0.5 * karma_i_rng_normal(rng);
            c->targets[i * OUTPUTS + k] = loss <= KARMA_LOSS_LOGISTIC ? (y > 0.0 ? 1.0 : -1.0) : y;
        }
    c->problem.targets = c->targets;
}

static void close_case(machine_case *c) {
    karma_i_rows_free(c->rows);
    karma_i_kernel_clear(&c->kernel);
    free(c->targets);
    free(c->coefficients);
}

static void solve(machine_case *c, karma_solver_kind kind) {
    karma_error err;
    c->info = (karma_fit_info){.solver = kind};
    karma_status st = karma_i_solver(kind)(c->coefficients, &c->info, &c->problem, &c->options, NULL, &err);
    if (st != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(c->info.stop, KARMA_STOP_CONVERGED);
}

/* The objective of the coefficients, in double precision. */
static double objective(const machine_case *c) {
    size_t n = c->rows->n_rows, count = 0;
    size_t *support = malloc(n * sizeof *support);
    double sum = 0.0;
    assert_non_null(support);
    for (size_t i = 0; i < n; i++)
        if (c->coefficients[i * OUTPUTS] != 0.0 || c->coefficients[i * OUTPUTS + 1] != 0.0) support[count++] = i;
    for (size_t i = 0; i < n; i++) {
        double z[OUTPUTS] = {0.0};
        for (size_t j = 0; j < count; j++) {
            double k = karma_i_kernel_reference(&c->kernel, c->rows, i, c->rows, support[j]);
            for (size_t o = 0; o < OUTPUTS; o++) z[o] += k * c->coefficients[support[j] * OUTPUTS + o];
        }
        for (size_t o = 0; o < OUTPUTS; o++)
            sum += 0.5 * c->coefficients[i * OUTPUTS + o] * z[o] +
                   c->options.C / (double)n *
                       c->problem.loss.value(z[o], c->targets[i * OUTPUTS + o], c->problem.loss.parameter);
    }
    free(support);
    return sum;
}

/* Few dimensions: the primal solver finds the same minimum as the dual one, with as many support rows as dimensions. */
static void primal_equals_batch(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++)
        for (size_t gamma = 1; gamma <= 2; gamma++) {
            machine_case c;
            open_case(&c, 300, 5, gamma, KARMA_OUTER_IDENTITY, loss, &rng);
            solve(&c, KARMA_SOLVER_PRIMAL);
            double primal = c.info.primal, dual = c.info.dual, found = objective(&c);
            CHECK_CLOSE(found, primal, 1e-8);
            size_t n_used = 0;
            for (size_t i = 0; i < 300; i++) n_used += c.coefficients[i * OUTPUTS] != 0.0;
            assert_true(n_used <= (gamma == 1 ? 6 : 31));
            c.options.tolerance = 1e-5;
            solve(&c, KARMA_SOLVER_BATCH);
            CHECK_CLOSE(primal, c.info.primal, 2e-5);
            CHECK_CLOSE(dual, c.info.dual, 2e-5);
            close_case(&c);
        }
}

/* All rows as landmarks: nothing is approximated. */
static void all_landmarks_equal_batch(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_HINGE, KARMA_LOSS_LOGISTIC, KARMA_LOSS_HUBER};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (size_t which = 0; which < 3; which++) {
        machine_case c;
        open_case(&c, 200, 5, 1, KARMA_OUTER_RBF, losses[which], &rng);
        c.options.landmarks = 200;
        solve(&c, KARMA_SOLVER_NYSTROM);
        double primal = c.info.primal;
        assert_true(c.info.n_landmarks <= 200);
        CHECK_CLOSE(objective(&c), primal, 1e-4);
        c.options.tolerance = 1e-5;
        solve(&c, KARMA_SOLVER_BATCH);
        CHECK_CLOSE(primal, c.info.primal, 1e-4);
        close_case(&c);
    }
}

/* Squared loss: the minimum over machines of the landmarks is known. (K_mm + c K_mn K_nm) α = c K_mn y */
static void squared_loss_solves_the_normal_equations(void **state) {
    (void)state;
    enum { N = 400, M = 25 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    machine_case c;
    open_case(&c, N, 5, 1, KARMA_OUTER_RBF, KARMA_LOSS_SQUARED, &rng);
    c.options.landmarks = M;
    solve(&c, KARMA_SOLVER_NYSTROM);
    assert_int_equal(c.info.n_landmarks, M);
    size_t marks[M], m = 0;
    for (size_t i = 0; i < N; i++)
        if (c.coefficients[i * OUTPUTS] != 0.0) {
            assert_true(m < M);
            marks[m++] = i;
        }
    assert_int_equal(m, M);
    double share = c.options.C / N, K[N][M];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < M; j++) K[i][j] = karma_i_kernel_reference(&c.kernel, c.rows, i, c.rows, marks[j]);
    for (size_t o = 0; o < OUTPUTS; o++) /* the gradient at the coefficients */
        for (size_t j = 0; j < M; j++) {
            double g = 0.0, size = 0.0;
            for (size_t l = 0; l < M; l++) g += K[marks[j]][l] * c.coefficients[marks[l] * OUTPUTS + o];
            for (size_t i = 0; i < N; i++) {
                double z = -c.targets[i * OUTPUTS + o];
                for (size_t l = 0; l < M; l++) z += K[i][l] * c.coefficients[marks[l] * OUTPUTS + o];
                g += share * K[i][j] * z;
                size += share * fabs(K[i][j] * z);
            }
            assert_true(fabs(g) <= 1e-3 * size);
        }
    close_case(&c);
}

/* More landmarks are better, as the score with half of them shows; threads change nothing, and memory changes only
 * the work. */
static void halves_are_compared(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 6);
    machine_case c;
    open_case(&c, 2000, 6, 1, KARMA_OUTER_RBF, KARMA_LOSS_HINGE, &rng);
    c.options.tolerance = 1e-3;
    c.options.landmarks = 60;
    solve(&c, KARMA_SOLVER_NYSTROM);
    double few = c.info.primal;
    c.options.landmarks = 240;
    solve(&c, KARMA_SOLVER_NYSTROM);
    assert_true(c.info.primal < few && c.info.half_excess > 0.0);
    assert_true(c.info.held_out_loss > 0.0 && c.info.held_out_loss < c.info.half_held_out_loss);
    double *first = malloc(2000 * OUTPUTS * sizeof *first);
    assert_non_null(first);
    memcpy(first, c.coefficients, 2000 * OUTPUTS * sizeof *first);
    c.options.threads = 1;
    double evaluations = c.info.kernel_evaluations, primal = c.info.primal;
    solve(&c, KARMA_SOLVER_NYSTROM);
    assert_memory_equal(first, c.coefficients, 2000 * OUTPUTS * sizeof *first);
    c.options.memory = 1e-4; /* hardly any kernel value is kept, and outputs are solved one after the other */
    solve(&c, KARMA_SOLVER_NYSTROM);
    assert_true(c.info.kernel_evaluations > 3.0 * evaluations);
    CHECK_CLOSE(c.info.primal, primal, 2e-3);
    free(first);
    close_case(&c);
}

static void primal_refuses_other_kernels(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 7);
    machine_case c;
    karma_error err;
    open_case(&c, 100, 6, 1, KARMA_OUTER_RBF, KARMA_LOSS_HINGE, &rng);
    assert_int_equal(karma_i_solver(KARMA_SOLVER_PRIMAL)(c.coefficients, &c.info, &c.problem, &c.options, NULL, &err),
                     KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "primal"));
    c.options.solver = KARMA_SOLVER_AUTO;
    assert_int_equal(karma_i_choose_solver(&c.options, &c.problem), KARMA_SOLVER_BATCH);
    c.kernel.factors[0].map.kind = KARMA_OUTER_IDENTITY;
    assert_int_equal(karma_i_choose_solver(&c.options, &c.problem), KARMA_SOLVER_PRIMAL);
    c.kernel.factors[0].map.kind = KARMA_OUTER_RBF;
    karma_i_rows many = *c.problem.rows;
    karma_i_problem large = c.problem;
    large.rows = &many;
    many.n_rows = KARMA_I_MOST_BATCH_ROWS;
    assert_int_equal(karma_i_choose_other_solver(&c.options, &large), KARMA_SOLVER_BATCH);
    many.n_rows++;
    assert_int_equal(karma_i_choose_other_solver(&c.options, &large), KARMA_SOLVER_NYSTROM);
    c.options.memory = 1e-6;
    assert_int_equal(karma_i_choose_solver(&c.options, &c.problem), KARMA_SOLVER_NYSTROM);
    close_case(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_features_are_the_kernel),
        cmocka_unit_test(rare_directions_are_found),
        cmocka_unit_test(many_directions_are_found_late),
        cmocka_unit_test(more_rows_are_looked_at_first),
        cmocka_unit_test(primal_equals_batch),
        cmocka_unit_test(all_landmarks_equal_batch),
        cmocka_unit_test(squared_loss_solves_the_normal_equations),
        cmocka_unit_test(halves_are_compared),
        cmocka_unit_test(primal_refuses_other_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
