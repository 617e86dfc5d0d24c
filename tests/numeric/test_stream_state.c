/* The learner of streams against its definition, carried out literally: every row's features are kept, the matrix A is
 * summed from them again after every block, and systems are solved by elimination. Kernel values come from the
 * reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "randomrows.h"
#include "solve/solver.h"
#include "solve/stream_state.h"
#include "table/rows_dense.h"

enum { ROWS = 90, MOST = 40 };

typedef struct literal {
    size_t n, landmark[MOST];
    double L[MOST][MOST], features[ROWS][MOST], h[ROWS], w[3][MOST];
    double loss;
    size_t n_errors;
} literal;

typedef struct instance {
    karma_i_rows *rows;
    karma_i_kernel kernel;
    karma_i_loss losses[3];
    double targets[ROWS * 3], weights[ROWS * 3];
    karma_i_stream_task task;
} instance;

static void draw_instance(instance *it, karma_loss_kind kind, size_t outputs, size_t budget, uint64_t seed) {
    karma_i_rng rng;
    karma_fit_options options;
    karma_options_init(karma_fit_option_table(), &options);
    options.loss = (int)kind;
    karma_i_rng_init(&rng, seed);
    it->rows = draw_rows(&(row_shape){ROWS, 6, 0, 1, 0.6, 1}, &rng);
    assert_int_equal(karma_i_kernel_init(&it->kernel, 3, 1.0, 0.5, 6, NULL), KARMA_OK);
    int classify = kind <= KARMA_LOSS_LOGISTIC;
    for (size_t k = 0; k < outputs; k++)
        assert_int_equal(
            karma_i_loss_make(&it->losses[k], classify ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS, &options, 0.5, NULL),
            KARMA_OK);
    for (size_t i = 0; i < ROWS; i++) {
        double weight = i % 7 == 3 ? 0.0 : i % 5 == 2 ? 2.5 : 1.0; /* 0: no label */
        size_t class = karma_i_rng_below(&rng, outputs == 1 ? 2 : outputs);
        for (size_t k = 0; k < outputs; k++) {
            it->weights[i * outputs + k] = weight;
            it->targets[i * outputs + k] = !classify                                 ? karma_i_rng_normal(&rng)
                                           : class == (outputs == 1 ? (size_t)1 : k) ? 1.0
                                                                                     : -1.0;
        }
    }
    it->task = (karma_i_stream_task){.kernel = &it->kernel,
                                     .losses = it->losses,
                                     .n_outputs = outputs,
                                     .n_deciding = classify ? outputs : 0,
                                     .ridge = 3.5,
                                     .budget = budget,
                                     .threads = 1};
}

static void clear_instance(instance *it) {
    karma_i_kernel_clear(&it->kernel);
    karma_i_rows_free(it->rows);
}

/* --- the definition ------------------------------------------------------------------------------------ */

static double k_of(const instance *it, size_t i, size_t j) {
    return karma_i_kernel_reference(&it->kernel, it->rows, i, it->rows, j);
}

/* L⁻¹ k(Z, x), and the rest of k(x, x). */
static double place(double *r, const literal *l, const instance *it, size_t row) {
    double left = k_of(it, row, row);
    for (size_t j = 0; j < l->n; j++) {
        r[j] = k_of(it, row, l->landmark[j]);
        for (size_t i = 0; i < j; i++) r[j] -= l->L[j][i] * r[i];
        r[j] /= l->L[j][j];
        left -= r[j] * r[j];
    }
    return left;
}

static void eliminate(double *x, double a[MOST][MOST + 1], size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double factor = a[j][i] / a[i][i];
            for (size_t k = i; k <= n; k++) a[j][k] -= factor * a[i][k];
        }
    for (size_t i = n; i-- > 0;) {
        x[i] = a[i][n];
        for (size_t j = i + 1; j < n; j++) x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
    }
}

static void learn_literally(literal *l, const instance *it, size_t first, size_t count) {
    size_t K = it->task.n_outputs, allowed = (size_t)ceil(10.0 * sqrt((double)(first + count)));
    static double g[ROWS][3], a[MOST][MOST + 1];
    double z[3] = {0}, r[MOST], step[MOST];
    if (allowed > it->task.budget) allowed = it->task.budget;
    for (size_t i = first; i < first + count; i++) {
        const double *y = it->targets + i * K, *weight = it->weights + i * K;
        (void)place(r, l, it, i);
        l->h[i] = 0.0;
        for (size_t k = 0; k < K; k++) {
            const karma_i_loss *loss = &it->losses[k];
            z[k] = 0.0;
            for (size_t j = 0; j < l->n; j++) z[k] += l->w[k][j] * r[j];
            l->loss += weight[k] * loss->value(z[k], y[k], loss->parameter);
            g[i][k] = weight[k] * loss->derivative(z[k], y[k], loss->parameter);
            l->h[i] = fmax(l->h[i], weight[k] * fmax(0.02, loss->curvature(z[k], y[k], loss->parameter)));
        }
        if (it->task.n_deciding && weight[0] > 0.0) l->n_errors += karma_i_decide(z, K) != karma_i_decide(y, K);
    }
    for (size_t i = first; i < first + count && l->n < allowed; i++) {
        double left = place(l->L[l->n], l, it, i);
        if (left <= 1e-3 * k_of(it, i, i)) continue;
        l->L[l->n][l->n] = sqrt(left);
        l->landmark[l->n++] = i;
    }
    for (size_t i = first; i < first + count; i++) (void)place(l->features[i], l, it, i); /* followed by zeros */
    for (size_t k = 0; k < K; k++) {
        memset(a, 0, sizeof a);
        for (size_t j = 0; j < l->n; j++) a[j][j] = it->task.ridge;
        for (size_t i = 0; i < first + count; i++)
            for (size_t j = 0; j < l->n; j++) {
                for (size_t m = 0; m < l->n; m++) a[j][m] += l->h[i] * l->features[i][j] * l->features[i][m];
                if (i >= first) a[j][l->n] += g[i][k] * l->features[i][j];
            }
        eliminate(step, a, l->n);
        for (size_t j = 0; j < l->n; j++) l->w[k][j] -= step[j];
    }
}

/* --- the same ------------------------------------------------------------------------------------------ */

static void learn_range(karma_i_stream_state *state, const instance *it, size_t first, size_t count, int threads) {
    karma_i_rows *block = NULL;
    karma_i_stream_state next;
    karma_i_stream_task task = it->task;
    size_t K = task.n_outputs;
    task.threads = threads;
    assert_int_equal(karma_i_rows_new_like(&block, it->rows, count, NULL), KARMA_OK);
    for (size_t i = first; i < first + count; i++)
        assert_int_equal(karma_i_rows_append(block, it->rows, i, NULL), KARMA_OK);
    assert_int_equal(
        karma_i_stream_state_learn(&next, state, &task, block, it->targets + first * K, it->weights + first * K, NULL),
        KARMA_OK);
    karma_i_stream_state_clear(state);
    *state = next;
    karma_i_rows_free(block);
}

static void compare(const karma_i_stream_state *state, const literal *l, const instance *it) {
    size_t K = it->task.n_outputs, n = state->landmarks->n_rows;
    assert_int_equal(n, l->n);
    assert_int_equal(state->n_errors, l->n_errors);
    assert_true(fabs(state->loss - l->loss) <= 1e-6 * fmax(1.0, l->loss));
    double *c = malloc(n * K * sizeof *c), r[MOST];
    assert_int_equal(karma_i_stream_coefficients(c, state, K, NULL), KARMA_OK);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < K; k++) {
            double got = 0.0, wanted = 0.0, size = 1.0;
            (void)place(r, l, it, i);
            for (size_t j = 0; j < n; j++) {
                double term = c[j * K + k] * karma_i_kernel_reference(&it->kernel, state->landmarks, j, it->rows, i);
                got += term;
                size += fabs(term);
                wanted += l->w[k][j] * r[j];
            }
            if (!(fabs(got - wanted) <= 1e-7 * size))
                fail_msg("row %zu, output %zu: %.10g, the definition has %.10g", i, k, got, wanted);
        }
    free(c);
}

static void run_and_compare(karma_loss_kind kind, size_t outputs, size_t budget, uint64_t seed) {
    instance it;
    karma_i_stream_state state;
    literal *l = calloc(1, sizeof *l);
    draw_instance(&it, kind, outputs, budget, seed);
    assert_int_equal(karma_i_stream_state_init(&state, it.rows, NULL), KARMA_OK);
    for (size_t t = 0, block; t < ROWS; t += block) {
        block = karma_i_stream_block(t);
        if (block > ROWS - t) block = ROWS - t;
        learn_range(&state, &it, t, block, 1);
        learn_literally(l, &it, t, block);
        assert_int_equal(state.n_rows, t + block);
    }
    compare(&state, l, &it);
    karma_i_stream_state_clear(&state);
    clear_instance(&it);
    free(l);
}

static void every_smooth_loss_follows_the_definition(void **test) {
    (void)test;
    const karma_loss_kind kinds[] = {KARMA_LOSS_SQUARED, KARMA_LOSS_HUBER, KARMA_LOSS_LOGISTIC,
                                     KARMA_LOSS_SQUARED_HINGE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (size_t outputs = 1; outputs <= 3; outputs += 2)
            for (size_t budget = 1; budget <= MOST; budget = budget * 3 + 1)
                run_and_compare(kinds[i], outputs, budget, i);
}

/* For the squared loss blocks make no difference: the result is that of least squares on all rows. */
static void squared_loss_is_least_squares(void **test) {
    (void)test;
    instance it;
    karma_i_stream_state one, many;
    draw_instance(&it, KARMA_LOSS_SQUARED, 1, 5, 11);
    assert_int_equal(karma_i_stream_state_init(&one, it.rows, NULL), KARMA_OK);
    assert_int_equal(karma_i_stream_state_init(&many, it.rows, NULL), KARMA_OK);
    learn_range(&one, &it, 0, 10, 1);
    learn_range(&many, &it, 0, 10, 1);
    assert_int_equal(one.landmarks->n_rows, 5); /* the whole budget */
    learn_range(&one, &it, 10, 80, 1);
    for (size_t t = 10; t < 90; t += 8) learn_range(&many, &it, t, 8, 1);
    for (size_t j = 0; j < 5; j++) assert_true(fabs(one.weights[j] - many.weights[j]) <= 1e-9);
    karma_i_stream_state_clear(&one);
    karma_i_stream_state_clear(&many);
    clear_instance(&it);
}

static void threads_change_nothing(void **test) {
    (void)test;
    instance it;
    karma_i_stream_state one, four;
    draw_instance(&it, KARMA_LOSS_LOGISTIC, 3, 30, 5);
    assert_int_equal(karma_i_stream_state_init(&one, it.rows, NULL), KARMA_OK);
    assert_int_equal(karma_i_stream_state_init(&four, it.rows, NULL), KARMA_OK);
    for (size_t t = 0; t < ROWS; t += 30) {
        learn_range(&one, &it, t, 30, 1);
        learn_range(&four, &it, t, 30, 4);
    }
    size_t n = one.landmarks->n_rows;
    assert_int_equal(four.landmarks->n_rows, n);
    assert_memory_equal(one.weights, four.weights, 3 * n * sizeof *one.weights);
    assert_memory_equal(one.precision, four.precision, n * n * sizeof *one.precision);
    karma_i_stream_state_clear(&one);
    karma_i_stream_state_clear(&four);
    clear_instance(&it);
}

static void blocks_grow_to_their_limit(void **test) {
    (void)test;
    assert_int_equal(karma_i_stream_block(0), 1);
    assert_int_equal(karma_i_stream_block(80), 11);
    assert_int_equal(karma_i_stream_block(SIZE_MAX), KARMA_I_MOST_STREAM_BLOCK);
    for (size_t t = 0; t < 10000; t++) assert_true(karma_i_stream_block(t + 1) >= karma_i_stream_block(t));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_smooth_loss_follows_the_definition),
        cmocka_unit_test(squared_loss_is_least_squares),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(blocks_grow_to_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
