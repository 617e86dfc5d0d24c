/* The batch solver. Objectives are recomputed in double precision from the coefficients and the reference kernel
 * alone; optimality is shown by closed forms, by trying all active sets, by the gradient, and by steps away from the
 * solution, none of which may lower the objective. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "linalg/linalg.h"
#include "randomrows.h"
#include "solve/dual_pairs.h"
#include "solve/solver.h"
#include "table/rows_dense.h"

/* --- problems ------------------------------------------------------------------------------------------ */

typedef struct batch_case {
    karma_i_rows *rows;
    karma_i_kernel kernel;
    karma_fit_options options;
    karma_i_problem problem;
    double *targets, *weights, *coefficients;
    double *K;    /* the reference kernel */
    double *size; /* of what is added up in a kernel value: rounding errors are relative to it */
    karma_fit_info info;
} batch_case;

typedef struct case_shape {
    size_t n, d, n_outputs;
    double share; /* of the cells that are observed */
    int rank, weighted;
    size_t gamma;
    double bias, C, tolerance;
} case_shape;

static karma_i_rows *draw_ranks(size_t n, size_t d, double share, karma_i_rng *rng) {
    size_t *start = calloc(d + 1, sizeof *start);
    uint8_t *all = malloc(d);
    karma_i_rows *rows = NULL;
    assert_true(start && all);
    memset(all, KARMA_I_RANKED, d);
    karma_i_rows_layout layout = {d, start, all, 0};
    assert_int_equal(karma_i_rows_new_layout(&rows, &layout, n, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            if (!(karma_i_rng_uniform(rng) < share)) continue;
            karma_i_mask_set(karma_i_rows_mask(rows, i), j);
            karma_i_rows_ranks(rows, i)[j] = (uint8_t)(1 + karma_i_rng_below(rng, 255));
        }
    rows->n_rows = n;
    free(start);
    free(all);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    return rows;
}

/* w · (Σ|terms| + b²) */
static double size_of(const karma_i_kernel *k, const karma_i_rows *r, size_t i, size_t j) {
    double sum = k->factors[0].bias * k->factors[0].bias;
    for (size_t f = 0; f < r->n_features; f++)
        sum += fabs((double)karma_i_rows_values(r, i)[f] * (double)karma_i_rows_values(r, j)[f]);
    size_t c = karma_i_mask_overlap(karma_i_rows_mask(r, i), karma_i_rows_mask(r, j), karma_i_dense_of(r)->n_words);
    if (karma_i_dense_of(r)->rank_stride) sum += 3.0 * (double)c;
    return sum * karma_i_weight(c + (k->factors[0].bias != 0.0), k->factors[0].gamma, k->factors[0].scale,
                                k->factors[0].log_norm);
}

static void fill_reference(batch_case *b) {
    size_t n = b->rows->n_rows;
    b->K = malloc(n * n * sizeof *b->K);
    b->size = malloc(n * n * sizeof *b->size);
    assert_true(b->K && b->size);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            b->K[i * n + j] = b->K[j * n + i] = karma_i_kernel_reference(&b->kernel, b->rows, i, b->rows, j);
            b->size[i * n + j] = b->size[j * n + i] = size_of(&b->kernel, b->rows, i, j);
        }
}

/* A target that depends partly on the rows. */
static double draw_target(const batch_case *b, size_t row, size_t output, karma_i_rng *rng) {
    double hidden = 0.7 * karma_i_rng_normal(rng);
    const karma_i_rows *r = b->rows;
    for (size_t f = 0; f < r->n_features; f++)
        hidden += (double)karma_i_rows_values(r, row)[f] * ((f + output) % 3 == 0 ? 1.0 : -0.4);
    for (size_t j = 0; karma_i_dense_of(r)->rank_stride && j < r->n_attributes; j++)
        if (karma_i_rows_ranks(r, row)[j])
            hidden += ((double)karma_i_rows_ranks(r, row)[j] / 127.0 - 1.0) * ((j + output) % 2 ? 1.0 : -0.6);
    if (b->problem.loss.task == KARMA_TASK_CLASSIFY) return hidden > 0.1 ? 1.0 : -1.0;
    return karma_i_rng_below(rng, 3) ? hidden : round(2.0 * hidden) / 2.0; /* some ties */
}

static void finish_case(batch_case *b, const case_shape *s, int loss, karma_i_rng *rng) {
    assert_int_equal(karma_i_kernel_init(&b->kernel, s->gamma, 0.4 * (double)s->d + 0.5, s->bias, s->d, NULL),
                     KARMA_OK);
    karma_options_init(karma_fit_option_table(), &b->options);
    b->options.loss = loss;
    b->options.tube = 0.2;
    b->options.huber = 0.6;
    b->options.C = s->C;
    b->options.tolerance = s->tolerance;
    b->options.threads = 1;
    b->problem = (karma_i_problem){.kernel = &b->kernel, .rows = b->rows, .n_outputs = s->n_outputs};
    assert_int_equal(karma_i_loss_make(&b->problem.loss,
                                       loss <= KARMA_LOSS_LOGISTIC ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS,
                                       &b->options, 0.8, NULL),
                     KARMA_OK);
    b->targets = malloc(s->n * s->n_outputs * sizeof *b->targets);
    b->weights = malloc(s->n * s->n_outputs * sizeof *b->weights);
    b->coefficients = malloc(s->n * s->n_outputs * sizeof *b->coefficients);
    assert_true(b->targets && b->weights && b->coefficients);
    for (size_t i = 0; i < s->n * s->n_outputs; i++) {
        b->targets[i] = draw_target(b, i / s->n_outputs, i % s->n_outputs, rng);
        b->coefficients[i] = NAN;
    }
    for (size_t i = 0; i < s->n * s->n_outputs; i++)
        b->weights[i] = karma_i_rng_below(rng, 8) ? 2.5 * karma_i_rng_uniform(rng) : 0.0;
    b->problem.targets = b->targets;
    if (s->weighted) b->problem.row_weights = b->weights;
}

static batch_case make_case(const case_shape *s, int loss, karma_i_rng *rng) {
    batch_case b = {0};
    row_shape shape = {s->n, s->d, 0, 1, s->share, 0};
    b.rows = s->rank ? draw_ranks(s->n, s->d, s->share, rng) : draw_rows(&shape, rng);
    finish_case(&b, s, loss, rng);
    b.problem.kernel = NULL; /* set by run, because the struct is copied */
    return b;
}

static void free_case(batch_case *b) {
    karma_i_kernel_clear(&b->kernel);
    karma_i_rows_free(b->rows);
    free(b->targets);
    free(b->weights);
    free(b->coefficients);
    free(b->K);
    free(b->size);
}

static void run(batch_case *b, const karma_hooks *hooks) {
    karma_error err;
    b->problem.kernel = &b->kernel;
    b->info = (karma_fit_info){0};
    if (karma_i_solver(KARMA_SOLVER_BATCH)(b->coefficients, &b->info, &b->problem, &b->options, hooks, &err) !=
        KARMA_OK)
        fail_msg("%s", err.message);
}

static const char *name_of(const batch_case *b) {
    return karma_i_loss_name(b->problem.loss.kind);
}

/* --- objectives from the coefficients alone ------------------------------------------------------------ */

static double weight_of(const batch_case *b, size_t i, size_t output) {
    return b->options.C / (double)b->rows->n_rows *
           (b->problem.row_weights ? b->weights[i * b->problem.n_outputs + output] : 1.0);
}

typedef struct objectives {
    double primal, dual;
    double noise; /* the largest effect of a single-precision kernel on either */
} objectives;

static double rounding(const karma_i_rows *rows) {
    return ((double)rows->n_features + 12.0) * 0x1p-24;
}

/* For one output, whose coefficients `beta` are contiguous. */
static objectives objectives_of(const batch_case *b, size_t output, const double *beta) {
    const karma_i_loss *l = &b->problem.loss;
    size_t n = b->rows->n_rows;
    objectives out = {0};
    double square = 0.0, square_noise = 0.0;
    size_t *support = malloc(n * sizeof *support), n_support = 0;
    for (size_t j = 0; j < n; j++)
        if (beta[j] != 0.0) support[n_support++] = j;
    for (size_t i = 0; i < n; i++) {
        double c = weight_of(b, i, output), y = b->targets[i * b->problem.n_outputs + output], z = 0.0, dz = 0.0;
        for (size_t s = 0; s < n_support; s++) {
            z += b->K[i * n + support[s]] * beta[support[s]];
            dz += b->size[i * n + support[s]] * fabs(beta[support[s]]);
        }
        dz *= rounding(b->rows);
        square += beta[i] * z;
        square_noise += fabs(beta[i]) * dz;
        if (!(c > 0.0)) {
            if (beta[i] != 0.0) fail_msg("%s: row %zu has weight %g but coefficient %g", name_of(b), i, c, beta[i]);
            continue;
        }
        double a = l->project(-beta[i] / c, y, l->parameter);
        if (!(fabs(a + beta[i] / c) <= 1e-9 * (1.0 + fabs(a))))
            fail_msg("%s: row %zu is outside the domain", name_of(b), i);
        out.primal += c * l->value(z, y, l->parameter);
        out.dual -= c * l->conjugate(a, y, l->parameter);
        out.noise +=
            c * dz * fmax(fabs(l->derivative(z - dz, y, l->parameter)), fabs(l->derivative(z + dz, y, l->parameter)));
    }
    free(support);
    out.primal += 0.5 * square;
    out.dual -= 0.5 * square;
    out.noise += square_noise;
    return out;
}

static void take_output(double *beta, const batch_case *b, size_t output) {
    for (size_t i = 0; i < b->rows->n_rows; i++) beta[i] = b->coefficients[i * b->problem.n_outputs + output];
}

static objectives all_objectives(const batch_case *b) {
    objectives sum = {0};
    double *beta = malloc(b->rows->n_rows * sizeof *beta);
    for (size_t o = 0; o < b->problem.n_outputs; o++) {
        take_output(beta, b, o);
        objectives one = objectives_of(b, o, beta);
        sum.primal += one.primal;
        sum.dual += one.dual;
        sum.noise += one.noise;
    }
    free(beta);
    return sum;
}

/* The results that the solver reports agree with its coefficients. */
static objectives check_honesty(const batch_case *b) {
    objectives o = all_objectives(b);
    double allowed = 1e-9 * fabs(o.primal) + o.noise;
    if (!(fabs(o.primal - b->info.primal) <= allowed && fabs(o.dual - b->info.dual) <= allowed))
        fail_msg("%s, n %zu, C %g: says %.12g and %.12g, has %.12g and %.12g, noise %g", name_of(b), b->rows->n_rows,
                 b->options.C, b->info.primal, b->info.dual, o.primal, o.dual, o.noise);
    assert_true(b->info.dual <= b->info.primal);
    if (b->info.primal > 0.0)
        assert_true(fabs(b->info.gap - (b->info.primal - b->info.dual) / b->info.primal) <= 1e-12);
    return o;
}

static objectives check_solved(const batch_case *b) {
    objectives o = check_honesty(b);
    if (b->info.stop != KARMA_STOP_CONVERGED)
        fail_msg("%s, n %zu, d %zu, C %g, tolerance %g: %s, gap %g after %zu kernel rows", name_of(b), b->rows->n_rows,
                 b->rows->n_attributes, b->options.C, b->options.tolerance, karma_stop_name(b->info.stop), b->info.gap,
                 b->info.rounds);
    double gap = o.primal - o.dual, allowed = 1.001 * b->options.tolerance * o.primal + 2.0 * o.noise + 1e-15;
    if (!(gap <= allowed && b->info.gap <= 1.001 * b->options.tolerance + 1e-13))
        fail_msg("%s, n %zu, C %g: gap %g of %g (says %g), tolerance %g", name_of(b), b->rows->n_rows, b->options.C,
                 gap, o.primal, b->info.gap, b->options.tolerance);
    return o;
}

/* --- optimality without the dual ----------------------------------------------------------------------- */

static double primal_of(const batch_case *b, size_t output, const double *beta, double *z) {
    const karma_i_loss *l = &b->problem.loss;
    size_t n = b->rows->n_rows;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        z[i] = 0.0;
        for (size_t j = 0; j < n; j++) z[i] += b->K[i * n + j] * beta[j];
        sum += 0.5 * beta[i] * z[i] +
               weight_of(b, i, output) * l->value(z[i], b->targets[i * b->problem.n_outputs + output], l->parameter);
    }
    return sum;
}

/* The gradient of the primal in the RKHS is Σ g_i φ_i. */
static void gradient_of(double *g, const batch_case *b, size_t output, const double *beta, const double *z) {
    const karma_i_loss *l = &b->problem.loss;
    for (size_t i = 0; i < b->rows->n_rows; i++)
        g[i] = beta[i] + weight_of(b, i, output) *
                             l->derivative(z[i], b->targets[i * b->problem.n_outputs + output], l->parameter);
}

/* A direction: one row, all rows, towards 0, or down the gradient. */
static void draw_direction(double *d, const double *beta, const double *g, size_t n, size_t kind, karma_i_rng *rng) {
    for (size_t i = 0; i < n; i++)
        d[i] = kind % 4 == 1 ? karma_i_rng_normal(rng) : kind % 4 == 2 ? -beta[i] : kind % 4 == 3 ? -g[i] : 0.0;
    if (kind % 4 == 0) d[karma_i_rng_below(rng, n)] = karma_i_rng_below(rng, 2) ? 1.0 : -1.0;
}

/* Along every line the primal is convex; P and a parabola through it are cheap once K d is known. */
static void check_no_step_pays(const batch_case *b, karma_i_rng *rng) {
    const karma_i_loss *l = &b->problem.loss;
    size_t n = b->rows->n_rows;
    double *beta = malloc(5 * n * sizeof *beta), *z = beta + n, *g = z + n, *d = g + n, *dz = d + n;
    for (size_t o = 0; o < b->problem.n_outputs; o++) {
        take_output(beta, b, o);
        double here = primal_of(b, o, beta, z), noise = objectives_of(b, o, beta).noise;
        gradient_of(g, b, o, beta, z);
        for (size_t kind = 0; kind < 12; kind++) {
            draw_direction(d, beta, g, n, kind, rng);
            (void)primal_of(b, o, d, dz);
            for (double step = 100.0 * b->options.C / (double)n; step > 1e-6 * b->options.C / (double)n; step *= 0.4) {
                double there = 0.0;
                for (size_t i = 0; i < n; i++)
                    there += 0.5 * (beta[i] + step * d[i]) * (z[i] + step * dz[i]) +
                             weight_of(b, i, o) *
                                 l->value(z[i] + step * dz[i], b->targets[i * b->problem.n_outputs + o], l->parameter);
                if (!(there >= here - 1.001 * b->options.tolerance * here - 2.0 * noise))
                    fail_msg("%s, n %zu, C %g: a step of %g of kind %zu takes %.12g to %.12g", name_of(b), n,
                             b->options.C, step, kind % 4, here, there);
            }
        }
    }
    free(beta);
}

static const double CURVATURES[] = {[KARMA_LOSS_SQUARED_HINGE] = 2.0,
                                    [KARMA_LOSS_LOGISTIC] = 0.25,
                                    [KARMA_LOSS_HUBER] = 1.0,
                                    [KARMA_LOSS_SQUARED] = 1.0}; /* the rest: 0, not smooth */

/* With losses of curvature at most L, a gap of at most e leaves (β_i + c_i ℓ'(z_i))² <= 2 L c_i e for each row, and a
 * gradient with |Σ g_i φ_i|² <= 2 (1 + L Σ c_i k(x_i,x_i)) e. */
static void check_gradient(const batch_case *b) {
    size_t n = b->rows->n_rows;
    double curvature = CURVATURES[b->problem.loss.kind];
    double *beta = malloc(3 * n * sizeof *beta), *z = beta + n, *g = z + n;
    for (size_t o = 0; o < b->problem.n_outputs; o++) {
        double smoothness = 1.0;
        for (size_t i = 0; i < n; i++) smoothness += curvature * weight_of(b, i, o) * b->K[i * n + i];
        take_output(beta, b, o);
        objectives at = objectives_of(b, o, beta);
        double gap = 1.001 * b->options.tolerance * at.primal + 2.0 * at.noise, square = 0.0;
        (void)primal_of(b, o, beta, z);
        gradient_of(g, b, o, beta, z);
        for (size_t i = 0; i < n; i++) {
            if (!(g[i] * g[i] <= 2.0 * curvature * weight_of(b, i, o) * gap + 1e-20))
                fail_msg("%s, n %zu, C %g: row %zu: -β/c is %.9g off the derivative", name_of(b), n, b->options.C, i,
                         g[i] / weight_of(b, i, o));
            for (size_t j = 0; j < n; j++) square += g[i] * b->K[i * n + j] * g[j];
        }
        if (!(square <= 2.0 * smoothness * gap)) fail_msg("%s: the gradient's square is %g", name_of(b), square);
    }
    free(beta);
}

/* --- 20 problems a loss -------------------------------------------------------------------------------- */

static case_shape draw_shape(size_t number, karma_i_rng *rng) {
    static const size_t counts[] = {1, 2, 5, 17, 33, 60, 90, 130};
    static const double Cs[] = {0.01, 1.0, 20.0, 300.0, 1e4};
    case_shape s = {.n = number % 7 == 6 ? 290 : counts[karma_i_rng_below(rng, 8)]};
    s.d = 2 + karma_i_rng_below(rng, 12);
    s.n_outputs = number % 5 == 4 ? 3 : 1;
    s.share = 0.3 + 0.6 * karma_i_rng_uniform(rng);
    s.rank = number % 2 == 1;
    s.weighted = number % 3 == 2;
    s.gamma = 1 + number % 4;
    s.bias = number % 4 < 2 ? 1.0 : 0.0;
    s.C = Cs[number % 5];
    s.tolerance = number % 3 ? 1e-5 : 1e-3;
    return s;
}

static void certificates_are_right_and_no_step_improves(void **state) {
    (void)state;
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 100 + (uint64_t)loss);
        for (size_t number = 0; number < 20; number++) {
            case_shape s = draw_shape(number, &rng);
            batch_case b = make_case(&s, loss, &rng);
            fill_reference(&b);
            run(&b, NULL);
            check_solved(&b);
            if (s.n < 200) check_no_step_pays(&b, &rng);
            free_case(&b);
        }
    }
}

static void smooth_losses_end_where_the_gradient_does(void **state) {
    (void)state;
    static const int smooth[] = {KARMA_LOSS_SQUARED_HINGE, KARMA_LOSS_LOGISTIC, KARMA_LOSS_HUBER, KARMA_LOSS_SQUARED};
    for (size_t k = 0; k < 4; k++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 200 + k);
        for (size_t number = 0; number < 20; number++) {
            case_shape s = draw_shape(number, &rng);
            s.tolerance = 1e-7;
            s.C = fmin(s.C, 300.0); /* rounding in the kernel counts C times */
            if (s.n > 200) s.n = 140;
            batch_case b = make_case(&s, smooth[k], &rng);
            fill_reference(&b);
            run(&b, NULL);
            check_solved(&b);
            check_gradient(&b);
            free_case(&b);
        }
    }
}

/* --- closed forms and brute force ---------------------------------------------------------------------- */

/* Solves A x = b, n x n, by elimination with pivoting; false if a pivot is not above `least`. */
static int solve_plain(double *A, double *b, size_t n, double least) {
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(A[i * n + k]) > fabs(A[best * n + k])) best = i;
        if (!(fabs(A[best * n + k]) > least)) return 0;
        for (size_t j = 0; best != k && j < n; j++) {
            double swap = A[k * n + j];
            A[k * n + j] = A[best * n + j], A[best * n + j] = swap;
        }
        double swap = b[k];
        b[k] = b[best], b[best] = swap;
        for (size_t i = k + 1; i < n; i++) {
            double factor = A[i * n + k] / A[k * n + k];
            for (size_t j = k; j < n; j++) A[i * n + j] -= factor * A[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++) b[k] -= A[k * n + j] * b[j];
        b[k] /= A[k * n + k];
    }
    return 1;
}

/* (K + (m/C) I) β = y */
static void the_squared_loss_has_its_closed_form(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 31);
    for (size_t number = 0; number < 20; number++) {
        case_shape s = draw_shape(number, &rng);
        s.n = 1 + 11 * number;
        s.C = number % 2 ? 5.0 : 200.0;
        s.weighted = 0;
        s.tolerance = 1e-10;
        batch_case b = make_case(&s, KARMA_LOSS_SQUARED, &rng);
        fill_reference(&b);
        run(&b, NULL);
        check_solved(&b);
        size_t n = s.n;
        double *A = malloc(n * n * sizeof *A), *beta = malloc(n * sizeof *beta), *got = malloc(n * sizeof *got);
        for (size_t o = 0; o < s.n_outputs; o++) {
            memcpy(A, b.K, n * n * sizeof *A);
            double largest = 0.0;
            for (size_t i = 0; i < n; i++) {
                A[i * n + i] += (double)n / s.C;
                beta[i] = b.targets[i * s.n_outputs + o];
            }
            assert_true(solve_plain(A, beta, n, 0.0));
            for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(beta[i]));
            take_output(got, &b, o);
            for (size_t i = 0; i < n; i++)
                if (!(fabs(got[i] - beta[i]) <= 1e-4 * largest))
                    fail_msg("n %zu, C %g, row %zu: %.9g, closed form %.9g (largest %g)", n, s.C, i, got[i], beta[i],
                             largest);
            objectives mine = objectives_of(&b, o, got), best = objectives_of(&b, o, beta);
            assert_true(mine.primal >= best.primal * (1.0 - 1e-9));
            assert_true(mine.primal <= best.primal * (1.0 + 1e-8) + mine.noise);
        }
        free(A);
        free(beta);
        free(got);
        free_case(&b);
    }
}

/* The hinge's dual, max Σ α_i - ½ αᵀQα over the box, has a solution whose rows are at 0, at c, or free with a regular
 * system: all 3^n cases are tried. */
static double best_hinge_dual(const batch_case *b) {
    size_t n = b->rows->n_rows, n_cases = 1;
    double best = -INFINITY;
    for (size_t i = 0; i < n; i++) n_cases *= 3;
    for (size_t code = 0; code < n_cases; code++) {
        double alpha[6] = {0.0}, A[36], x[6];
        size_t free_rows[6], n_free = 0, rest = code;
        for (size_t i = 0; i < n; i++, rest /= 3) {
            if (rest % 3 == 2)
                free_rows[n_free++] = i;
            else
                alpha[i] = rest % 3 ? weight_of(b, i, 0) : 0.0;
        }
        for (size_t p = 0; p < n_free; p++) {
            size_t i = free_rows[p];
            x[p] = 1.0;
            for (size_t j = 0; j < n; j++) x[p] -= b->targets[i] * b->targets[j] * b->K[i * n + j] * alpha[j];
            for (size_t q = 0; q < n_free; q++)
                A[p * n_free + q] = b->targets[i] * b->targets[free_rows[q]] * b->K[i * n + free_rows[q]];
        }
        int feasible = n_free == 0 || solve_plain(A, x, n_free, 1e-9);
        for (size_t p = 0; feasible && p < n_free; p++) {
            alpha[free_rows[p]] = x[p];
            feasible = x[p] >= 0.0 && x[p] <= weight_of(b, free_rows[p], 0);
        }
        if (!feasible) continue;
        double dual = 0.0;
        for (size_t i = 0; i < n; i++) {
            dual += alpha[i];
            for (size_t j = 0; j < n; j++)
                dual -= 0.5 * b->targets[i] * b->targets[j] * b->K[i * n + j] * alpha[i] * alpha[j];
        }
        best = fmax(best, dual);
    }
    return best;
}

static void small_hinge_problems_have_the_best_of_all_active_sets(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 32);
    for (size_t number = 0; number < 60; number++) {
        case_shape s = draw_shape(number, &rng);
        s.n = 1 + number % 6;
        s.d = 1 + number % 5;
        s.n_outputs = 1;
        s.tolerance = 1e-8;
        batch_case b = make_case(&s, KARMA_LOSS_HINGE, &rng);
        fill_reference(&b);
        run(&b, NULL);
        objectives o = check_solved(&b);
        double best = best_hinge_dual(&b);
        if (!(fabs(o.primal - best) <= 2e-8 * o.primal + 2.0 * o.noise &&
              fabs(o.dual - best) <= 2e-8 * o.primal + 2.0 * o.noise))
            fail_msg("n %zu, C %g: %.12g and %.12g, best %.12g", s.n, s.C, o.primal, o.dual, best);
        free_case(&b);
    }
}

/* --- starts, limits, memory, threads ------------------------------------------------------------------- */

static void any_start_leads_to_the_same_objective(void **state) {
    (void)state;
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 40 + (uint64_t)loss);
        case_shape s = {260, 8, 2, 0.6, loss % 2, loss % 3 == 0, 3, 1.0, 20.0, 1e-6};
        batch_case b = make_case(&s, loss, &rng);
        fill_reference(&b);
        run(&b, NULL);
        objectives cold = check_solved(&b);
        size_t visits = b.info.rounds, count = s.n * s.n_outputs;
        double *start = malloc(count * sizeof *start);
        memcpy(start, b.coefficients, count * sizeof *start);
        b.problem.start = start;
        run(&b, NULL); /* from the solution */
        objectives again = check_solved(&b);
        assert_true(b.info.rounds < visits / 2);
        assert_true(fabs(again.primal - cold.primal) <= 2.1e-6 * cold.primal + 2.0 * cold.noise);
        b.options.tolerance = 1e-5;
        run(&b, NULL); /* already good enough */
        assert_int_equal(b.info.rounds, 0);
        for (size_t i = 0; i < count; i++)
            assert_true(fabs(b.coefficients[i] - start[i]) <=
                        1e-12 * (fabs(start[i]) + weight_of(&b, i / s.n_outputs, i % s.n_outputs)));
        b.options.tolerance = 1e-6;
        b.options.C = 30.0; /* from the solution for another C: most of its coefficients are inside */
        run(&b, NULL);
        check_solved(&b);
        b.options.C = 20.0;
        for (size_t i = 0; i < count; i++) start[i] = 1e4 * karma_i_rng_normal(&rng);
        run(&b, NULL);
        objectives garbage = check_solved(&b);
        assert_true(fabs(garbage.primal - cold.primal) <= 2.1e-6 * cold.primal + 2.0 * cold.noise);
        free(start);
        free_case(&b);
    }
}

static void little_memory_changes_nothing_but_the_work(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_HINGE, KARMA_LOSS_ABSOLUTE, KARMA_LOSS_LOGISTIC};
    for (size_t k = 0; k < 3; k++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 60 + k);
        case_shape s = {700, 6, 1, 0.7, k == 1, 0, 2, 1.0, 300.0, 1e-4};
        batch_case b = make_case(&s, losses[k], &rng);
        fill_reference(&b);
        run(&b, NULL);
        objectives roomy = check_solved(&b);
        double evaluations = b.info.kernel_evaluations;
        assert_true(evaluations <= 700.0 * 700.0);
        b.options.memory = 1e-6; /* a thousand bytes: less than one row */
        run(&b, NULL);
        objectives tight = check_solved(&b);
        assert_true(b.info.kernel_evaluations > evaluations); /* rows were computed more than once */
        assert_true(fabs(tight.primal - roomy.primal) <= 2.1e-4 * roomy.primal + 2.0 * roomy.noise);
        free_case(&b);
    }
}

/* --- pairs --------------------------------------------------------------------------------------------- */

/* Two rows: each coefficient is at the lower end, at the upper end or between, and a few steps reach the best of
 * these nine cases. */
static void two_rows_are_solved_by_few_steps(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 70);
    for (int number = 0; number < 400; number++) {
        case_shape s = {2, 4, 1, 0.9, 0, 0, 2, 1.0, 1.0, 1e-4};
        batch_case b = make_case(&s, KARMA_LOSS_HINGE, &rng);
        fill_reference(&b);
        double ridge[2], q[2], low[2], high[2], beta[2], slope[2], y[2], least = INFINITY;
        for (size_t i = 0; i < 2; i++) {
            ridge[i] = number % 2 ? karma_i_rng_uniform(&rng) : 0.0;
            q[i] = b.K[3 * i] + ridge[i];
            low[i] = -karma_i_rng_uniform(&rng) * (number % 3 ? 1.0 : 0.1);
            high[i] = low[i] + karma_i_rng_uniform(&rng);
            beta[i] = low[i] + (high[i] - low[i]) * (double)(karma_i_rng_below(&rng, 3)) / 2.0;
            y[i] = 2.0 * karma_i_rng_normal(&rng);
        }
        double k = (double)(float)b.K[1], start[2] = {beta[0], beta[1]};
        for (size_t i = 0; i < 2; i++) slope[i] = y[i] - q[i] * beta[i] - k * beta[1 - i];
#define OBJECTIVE(u, v) (0.5 * (q[0] * (u) * (u) + q[1] * (v) * (v)) + k * (u) * (v)-y[0] * (u)-y[1] * (v))
        double det = q[0] * q[1] - k * k, inner[2] = {(q[1] * y[0] - k * y[1]) / det, (q[0] * y[1] - k * y[0]) / det};
        for (int way = 0; way < 9; way++) {
            int first = way % 3, second = way / 3;
            double u = first == 0 ? low[0] : high[0], v = second == 0 ? low[1] : high[1];
            if (first == 2) u = second == 2 ? inner[0] : (y[0] - k * v) / q[0];
            if (second == 2) v = first == 2 ? inner[1] : (y[1] - k * u) / q[1];
            if (u >= low[0] && u <= high[0] && v >= low[1] && v <= high[1]) least = fmin(least, OBJECTIVE(u, v));
        }
        karma_i_row_cache *cache = NULL;
        b.kernel.path = *karma_i_paths();
        assert_int_equal(karma_i_row_cache_new(&cache, &b.kernel, b.rows, 2, 2, 1, NULL), KARMA_OK);
        karma_i_dual_pairs pairs = {{2, q, low, high, beta, slope}, ridge, cache, b.kernel.path};
        size_t done;
        assert_int_equal(karma_i_dual_pairs_run(&done, &pairs, 4, NULL), KARMA_OK);
        double size = 1.0 + fabs(least) + fabs(y[0]) + fabs(y[1]);
        if (det > 1e-3 * q[0] * q[1] && !(OBJECTIVE(beta[0], beta[1]) <= least + 1e-5 * size))
            fail_msg("problem %d: %.9g, the minimum is %.9g", number, OBJECTIVE(beta[0], beta[1]), least);
        assert_true(OBJECTIVE(beta[0], beta[1]) <= OBJECTIVE(start[0], start[1]) + 1e-5 * size);
        for (size_t i = 0; i < 2; i++) {
            assert_true(beta[i] >= low[i] && beta[i] <= high[i]);
            assert_true(fabs(slope[i] - (y[i] - q[i] * beta[i] - k * beta[1 - i])) <= 1e-5 * size);
        }
#undef OBJECTIVE
        karma_i_row_cache_free(cache);
        free_case(&b);
    }
}

/* With few attributes kernel rows are similar, and with large C nearly all are free: many more than the 320 rows of
 * a block when the memory just holds all kernel rows. Blocks alone need thousands of passes. */
static void more_free_rows_than_a_block_are_solved(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_ABSOLUTE, KARMA_LOSS_HUBER, KARMA_LOSS_PINBALL, KARMA_LOSS_SQUARED};
    for (size_t k = 0; k < sizeof losses / sizeof losses[0]; k++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 80 + k);
        case_shape s = {900, 12, 1, 0.7, 1, k == 2, 3, 1.0, 3e4, 1e-3};
        batch_case b = make_case(&s, losses[k], &rng);
        b.options.memory = 4e-3;
        b.options.passes = 200;
        fill_reference(&b);
        run(&b, NULL);
        check_solved(&b);
        size_t n_free = 0;
        for (size_t i = 0; i < s.n; i++) {
            double c = weight_of(&b, i, 0), beta = fabs(b.coefficients[i]);
            n_free += beta > 1e-6 * c && beta < (1.0 - 1e-6) * c;
        }
        assert_true(n_free > 330);
        free_case(&b);
    }
}

static void running_out_of_passes_is_reported_with_the_right_gap(void **state) {
    (void)state;
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 70 + (uint64_t)loss);
        case_shape s = {400, 6, 2, 0.6, loss % 2, 0, 3, 1.0, 1e4, 1e-12};
        batch_case b = make_case(&s, loss, &rng);
        fill_reference(&b);
        double primal = INFINITY;
        for (b.options.passes = 1; b.options.passes <= 4; b.options.passes *= 4) {
            run(&b, NULL);
            assert_int_equal(b.info.stop, KARMA_STOP_LIMIT);
            check_honesty(&b);
            assert_true(b.info.gap > 1e-12 && b.info.rounds >= 2 * 400);
            /* a step uses no row twice */
            assert_true(b.info.rounds <= 2 * ((size_t)b.options.passes + 1) * 400);
            primal = b.info.primal;
        }
        assert_true(isfinite(primal));
        free_case(&b);
    }
}

typedef struct patience {
    size_t calls, most;
} patience;

static int lose_patience(void *payload, const char *stage, size_t done, size_t total) {
    patience *p = payload;
    assert_true(strncmp(stage, "gap ", 4) == 0 && done <= total);
    p->calls++;
    return p->calls > p->most;
}

static void cancelling_leaves_the_best_so_far(void **state) {
    (void)state;
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 80 + (uint64_t)loss);
        case_shape s = {400, 7, 1, 0.6, loss % 2, 0, 2, 1.0, 500.0, 1e-9};
        batch_case b = make_case(&s, loss, &rng);
        fill_reference(&b);
        double dual = -INFINITY;
        for (size_t most = 0; most <= 6; most += 2) {
            patience p = {.most = most};
            karma_hooks hooks = {.progress = lose_patience, .payload = &p};
            run(&b, &hooks);
            if (b.info.stop == KARMA_STOP_CONVERGED) break;
            assert_int_equal(b.info.stop, KARMA_STOP_CANCELLED);
            assert_int_equal(p.calls, most + 1);
            check_honesty(&b);
            /* it makes one step even if it is asked to stop at once: an untrained model is worse than an error */
            size_t n_used = 0;
            for (size_t i = 0; i < s.n; i++) n_used += b.coefficients[i] != 0.0;
            assert_true(b.info.rounds > 0 && n_used > 0);
            assert_true(b.info.dual >= dual * (1.0 - 1e-12)); /* no step makes it worse */
            dual = b.info.dual;
        }
        assert_true(dual > 0.0);
        double *start = malloc(s.n * sizeof *start);
        for (size_t i = 0; i < s.n; i++) start[i] = 100.0 * karma_i_rng_normal(&rng);
        b.problem.start = start;
        patience none = {.most = 0};
        karma_hooks hooks = {.progress = lose_patience, .payload = &none};
        run(&b, &hooks); /* cancelled at once: even garbage is moved into the domain */
        assert_int_equal(b.info.stop, KARMA_STOP_CANCELLED);
        check_honesty(&b);
        free(start);
        free_case(&b);
    }
}

static void cancelling_ends_all_outputs(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 89);
    case_shape s = {400, 7, 3, 0.6, 0, 0, 2, 1.0, 2e3, 1e-9};
    batch_case b = make_case(&s, KARMA_LOSS_HINGE, &rng);
    fill_reference(&b);
    patience p = {.most = 3};
    karma_hooks hooks = {.progress = lose_patience, .payload = &p};
    run(&b, &hooks);
    assert_int_equal(b.info.stop, KARMA_STOP_CANCELLED);
    assert_true(p.calls <= 6);
    check_honesty(&b);
    free_case(&b);
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    static const struct {
        int loss, rank;
        size_t n, outputs;
        size_t patience; /* steps; the last case has more rows than one thread looks at, and some steps show it */
    } cases[] = {{KARMA_LOSS_HINGE, 0, 700, 2, 1000},
                 {KARMA_LOSS_LOGISTIC, 1, 500, 1, 1000},
                 {KARMA_LOSS_PINBALL, 1, 600, 1, 1000},
                 {KARMA_LOSS_SQUARED_HINGE, 0, 21000, 1, 4}};
    for (size_t k = 0; k < 4; k++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 90 + k);
        case_shape s = {cases[k].n, 5, cases[k].outputs, 0.6, cases[k].rank, 0, 3, 1.0, 100.0, 1e-6};
        batch_case b = make_case(&s, cases[k].loss, &rng);
        b.options.passes = 200;
        size_t count = s.n * s.n_outputs;
        double *first = malloc(count * sizeof *first);
        karma_fit_info info = {0};
        for (int64_t threads = 1; threads <= 3; threads++) {
            patience p = {.most = cases[k].patience};
            b.options.threads = threads;
            run(&b, &(karma_hooks){.progress = lose_patience, .payload = &p});
            if (threads == 1) {
                memcpy(first, b.coefficients, count * sizeof *first);
                info = b.info;
                continue;
            }
            assert_memory_equal(first, b.coefficients, count * sizeof *first);
            assert_true(info.primal == b.info.primal && info.dual == b.info.dual && info.gap == b.info.gap);
            assert_true(info.rounds == b.info.rounds && info.kernel_evaluations == b.info.kernel_evaluations);
        }
        free(first);
        free_case(&b);
    }
}

/* --- special rows ------------------------------------------------------------------------------------------ */

static void hide_row(karma_i_rows *rows, size_t i) {
    memset(karma_i_rows_mask(rows, i), 0, karma_i_dense_of(rows)->n_words * sizeof *karma_i_dense_of(rows)->mask);
    memset(karma_i_rows_values(rows, i), 0, rows->n_features * sizeof *karma_i_dense_of(rows)->values);
    memset(karma_i_rows_ranks(rows, i), 0, karma_i_dense_of(rows)->rank_stride);
}

static void rows_of_norm_zero_or_weight_zero_are_accepted(void **state) {
    (void)state;
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++)
        for (int version = 0; version < 4; version++) {
            karma_i_rng rng;
            karma_i_rng_init(&rng, 110 + (uint64_t)loss);
            case_shape s = {80, 6, 2, 0.6, version % 2, 1, 2, 0.0, 40.0, 1e-6};
            batch_case b = make_case(&s, loss, &rng);
            for (size_t i = 0; i < s.n; i++) {
                if (version == 2 || i % 3 == 0) hide_row(b.rows, i);
                for (size_t o = 0; o < s.n_outputs; o++)
                    if (version == 3 || i % 4 == 0) b.weights[i * s.n_outputs + o] = 0.0;
            }
            fill_reference(&b);
            double *start = malloc(s.n * s.n_outputs * sizeof *start);
            for (size_t i = 0; i < s.n * s.n_outputs; i++) start[i] = karma_i_rng_normal(&rng);
            for (int warm = 0; warm < 2; warm++) {
                b.problem.start = warm ? start : NULL;
                run(&b, NULL);
                objectives o = check_solved(&b);
                if (version == 3) assert_true(o.primal == 0.0 && b.info.primal == 0.0 && b.info.gap == 0.0);
            }
            free(start);
            free_case(&b);
        }
}

/* --- rounding ------------------------------------------------------------------------------------------- */

/* With large C the errors of a kernel in single precision are larger than the tolerance. There is no tolerance for
 * them here: the gap of the coefficients, by the kernel in double precision, is at most the gap that the solver
 * reports. */
static void the_gap_holds_in_double_precision(void **state) {
    (void)state;
    static const struct {
        int loss, rank;
        size_t gamma;
        double c, tolerance;
    } cases[] = {{KARMA_LOSS_SQUARED_HINGE, 0, 1, 1e5, 1e-3}, {KARMA_LOSS_ABSOLUTE, 0, 3, 30.0, 1e-5},
                 {KARMA_LOSS_ABSOLUTE, 0, 3, 1000.0, 1e-3},   {KARMA_LOSS_HINGE, 1, 2, 1000.0, 1e-4},
                 {KARMA_LOSS_SQUARED, 0, 1, 1e3, 1e-4},       {KARMA_LOSS_LOGISTIC, 1, 3, 1000.0, 1e-4}};
    size_t n_converged = 0;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 140 + k);
        size_t n = 160;
        case_shape s = {
            n, 6, 1, 0.8, cases[k].rank, 0, cases[k].gamma, 1.0, cases[k].c * (double)n, cases[k].tolerance};
        batch_case b = make_case(&s, cases[k].loss, &rng);
        fill_reference(&b);
        run(&b, NULL);
        objectives o = all_objectives(&b);
        if (!((o.primal - o.dual) / o.primal <= b.info.gap + 1e-9))
            fail_msg("%s, C/m %g: says gap %g (%s), but it is %g", name_of(&b), cases[k].c, b.info.gap,
                     karma_stop_name(b.info.stop), (o.primal - o.dual) / o.primal);
        n_converged += b.info.stop == KARMA_STOP_CONVERGED;
        free_case(&b);
    }
    if (n_converged < sizeof cases / sizeof cases[0]) fail_msg("only %zu problems converged", n_converged);
}

/* --- shrinking ----------------------------------------------------------------------------------------- */

/* Most rows are far beyond the margin or inside the tube. z of all 2500 is recomputed from the kernel. */
static void easy_rows_are_in_the_certificate(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_HINGE, KARMA_LOSS_SQUARED_HINGE, KARMA_LOSS_EPSILON_INSENSITIVE};
    double *K = NULL, *size = NULL; /* the rows are the same in every round */
    for (size_t k = 0; k < 3; k++) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, 120);
        case_shape s = {2500, 6, 1, 0.8, 0, 0, 2, 1.0, 300.0, 1e-4};
        batch_case b = make_case(&s, losses[k], &rng);
        for (size_t i = 0; i < s.n; i++) {
            const float *x = karma_i_rows_values(b.rows, i);
            double score = (double)x[0] + (double)x[1] - (double)x[2], noise = 0.3 * karma_i_rng_normal(&rng);
            if (b.problem.loss.task == KARMA_TASK_CLASSIFY)
                b.targets[i] = score + noise > 0.0 ? 1.0 : -1.0;
            else
                b.targets[i] = 0.3 * score + (i % 20 ? 0.02 * noise : noise);
        }
        if (!K) {
            fill_reference(&b);
            K = b.K;
            size = b.size;
        }
        b.K = K;
        b.size = size;
        run(&b, NULL);
        check_solved(&b);
        size_t n_support = 0;
        for (size_t i = 0; i < s.n; i++) n_support += b.coefficients[i] != 0.0;
        assert_true(n_support < s.n / 2); /* so that some rows can be left out */
        for (b.options.passes = 5; b.options.passes <= 40;
             b.options.passes *= 2) { /* whether or not rows were left out when it stopped */
            run(&b, NULL);
            check_honesty(&b);
        }
        b.K = b.size = NULL;
        free_case(&b);
    }
    free(K);
    free(size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_are_right_and_no_step_improves),
        cmocka_unit_test(smooth_losses_end_where_the_gradient_does),
        cmocka_unit_test(the_squared_loss_has_its_closed_form),
        cmocka_unit_test(small_hinge_problems_have_the_best_of_all_active_sets),
        cmocka_unit_test(any_start_leads_to_the_same_objective),
        cmocka_unit_test(little_memory_changes_nothing_but_the_work),
        cmocka_unit_test(two_rows_are_solved_by_few_steps),
        cmocka_unit_test(more_free_rows_than_a_block_are_solved),
        cmocka_unit_test(running_out_of_passes_is_reported_with_the_right_gap),
        cmocka_unit_test(cancelling_leaves_the_best_so_far),
        cmocka_unit_test(cancelling_ends_all_outputs),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(rows_of_norm_zero_or_weight_zero_are_accepted),
        cmocka_unit_test(the_gap_holds_in_double_precision),
        cmocka_unit_test(easy_rows_are_in_the_certificate),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
