/* Algorithm 1 against its recursion in the paper, carried out literally here: every coefficient is shrunk in every
 * round, every kernel value comes from the reference. Then the theorems about it: regret, and item 2 of main2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "karma/theory.h"
#include "randomrows.h"
#include "solve/solver.h"
#include "table/rows_dense.h"

static karma_fit_options fit_defaults(void) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.C = 1.2345678;
    o.passes = 1;
    o.shuffle = 0;
    o.threads = 1;
    return o;
}

/* A problem and the data it refers to. */
typedef struct instance {
    karma_i_rows *rows;
    karma_i_kernel kernel;
    double *targets, *gram; /* gram: by the reference */
    karma_i_problem problem;
} instance;

static void fill_gram(instance *it) {
    size_t n = it->rows->n_rows;
    it->gram = malloc(n * n * sizeof *it->gram);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            it->gram[i * n + j] = it->gram[j * n + i] = karma_i_kernel_reference(&it->kernel, it->rows, i, it->rows, j);
}

/* Dyadic rows with ν = 1 have kernel values that single precision holds exactly: then the two computations differ
 * by rounding of doubles only. */
static void draw_instance(instance *it, size_t n, size_t outputs, const karma_fit_options *options, int dyadic,
                          uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    row_shape shape = {n, 6, 0, 1, 0.6, dyadic};
    it->rows = draw_rows(&shape, &rng);
    assert_int_equal(karma_i_kernel_init(&it->kernel, 3, dyadic ? 1.0 : 4.3, dyadic ? 0.5 : 0.9, 6, NULL), KARMA_OK);
    karma_i_loss loss;
    int classify = options->loss <= KARMA_LOSS_LOGISTIC;
    assert_int_equal(
        karma_i_loss_make(&loss, classify ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS, options, 0.317, NULL), KARMA_OK);
    it->targets = malloc(n * outputs * sizeof *it->targets);
    for (size_t i = 0; i < n; i++) {
        size_t class = karma_i_rng_below(&rng, outputs == 1 ? 2 : outputs);
        for (size_t k = 0; k < outputs; k++)
            it->targets[i * outputs + k] = !classify                                 ? karma_i_rng_normal(&rng)
                                           : class == (outputs == 1 ? (size_t)1 : k) ? 1.0
                                                                                     : -1.0;
    }
    it->problem = (karma_i_problem){
        .kernel = &it->kernel, .rows = it->rows, .targets = it->targets, .n_outputs = outputs, .loss = loss};
    it->problem.n_deciding = loss.task == KARMA_TASK_CLASSIFY ? outputs : 0;
    fill_gram(it);
}

static void clear_instance(instance *it) {
    karma_i_kernel_clear(&it->kernel);
    karma_i_rows_free(it->rows);
    free(it->targets);
    free(it->gram);
}

/* --- the literal algorithm ----------------------------------------------------------------------------- */

typedef struct literal {
    double *alpha, *sum; /* of v_t, and of v_1 + ... + v_T */
    double loss_sum, largest_size;
    size_t n_errors, n_unclear; /* unclear: a score whose sign rounding may change */
} literal;

static double eta_of(const karma_fit_options *options, double rho, size_t t) {
    if (options->step) return options->step(options->step_payload, t);
    return 1.0 / (rho * (double)t); /* for pegasos C/t with ρ = 1/C: the same */
}

/* True if rounding decides which subgradient near a kink is chosen. */
static int near_kink(const karma_i_loss *loss, double z, double y, double size) {
    double below = loss->derivative(z - 1e-10 * size, y, loss->parameter);
    double above = loss->derivative(z + 1e-10 * size, y, loss->parameter);
    int smooth = loss->kind == KARMA_LOSS_LOGISTIC || loss->kind == KARMA_LOSS_SQUARED ||
                 loss->kind == KARMA_LOSS_HUBER || loss->kind == KARMA_LOSS_SQUARED_HINGE;
    return !smooth && size > 0.0 && below != above;
}

static void run_literally(literal *out, const instance *it, const karma_fit_options *options, double rho,
                          size_t rounds) {
    size_t n = it->rows->n_rows, K = it->problem.n_outputs;
    const karma_i_loss *loss = &it->problem.loss;
    *out = (literal){.alpha = calloc(n * K, sizeof *out->alpha), .sum = calloc(n * K, sizeof *out->sum)};
    double *z = malloc(K * sizeof *z), *g = malloc(K * sizeof *g);
    for (size_t t = 1; t <= rounds; t++) {
        size_t row = (t - 1) % n;
        const double *y = it->targets + row * K;
        double eta = eta_of(options, rho, t);
        int unclear = 0;
        for (size_t k = 0; k < K; k++) {
            double size = 0.0;
            z[k] = 0.0;
            for (size_t i = 0; i < n; i++) {
                double term = out->alpha[i * K + k] * it->gram[i * n + row];
                z[k] += term;
                size += fabs(term);
            }
            if (near_kink(loss, z[k], y[k], size)) fail_msg("round %zu is at a kink: choose another seed", t);
            unclear |= size > 0.0 && fabs(z[k]) < 1e-10 * size;
            for (size_t other = 0; other < k; other++) unclear |= size > 0.0 && fabs(z[k] - z[other]) < 1e-10 * size;
            out->largest_size = fmax(out->largest_size, size);
            out->loss_sum += loss->value(z[k], y[k], loss->parameter);
            g[k] = loss->derivative(z[k], y[k], loss->parameter);
        }
        out->n_unclear += (size_t)unclear;
        if (loss->task == KARMA_TASK_CLASSIFY && !unclear)
            out->n_errors += karma_i_decide(z, K) != karma_i_decide(y, K);
        for (size_t i = 0; i < n * K; i++) {
            out->sum[i] += out->alpha[i];
            out->alpha[i] *= 1.0 - eta * rho;
        }
        for (size_t k = 0; k < K; k++) out->alpha[row * K + k] -= eta * g[k];
    }
    free(z);
    free(g);
}

static void clear_literal(literal *l) {
    free(l->alpha);
    free(l->sum);
}

/* The effect of an error of `relative` in the scores on the coefficients, times ten because errors accumulate. */
static void compare(const instance *it, const karma_fit_options *options, const karma_hooks *hooks, size_t rounds,
                    double relative) {
    size_t size = it->rows->n_rows * it->problem.n_outputs;
    double *got = malloc(size * sizeof *got), largest = 0.0;
    karma_fit_info info = {0};
    karma_error err = {0};
    if (karma_i_solver(KARMA_SOLVER_ONLINE)(got, &info, &it->problem, options, hooks, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    literal l;
    double rho = options->schedule == KARMA_SCHEDULE_PEGASOS && !options->step ? 1.0 / options->C : options->rho;
    run_literally(&l, it, options, rho, rounds);
    assert_int_equal(info.rounds, rounds);
    assert_true(info.rho == rho);
    for (size_t i = 0; i < size; i++) {
        double wanted = options->average ? l.sum[i] / (double)rounds : l.alpha[i];
        largest = fmax(largest, fabs(wanted));
    }
    double allowed = 10.0 * relative * largest * fmax(1.0, l.largest_size);
    for (size_t i = 0; i < size; i++) {
        double wanted = options->average ? l.sum[i] / (double)rounds : l.alpha[i];
        if (!(fabs(got[i] - wanted) <= allowed))
            fail_msg("loss %s, %zu rounds, average %d: coefficient %zu is %.12g, the recursion has %.12g (allowed %g)",
                     karma_i_loss_name(it->problem.loss.kind), rounds, options->average, i, got[i], wanted, allowed);
    }
    double mean = l.loss_sum / (double)rounds;
    if (!(fabs(info.mean_loss - mean) <= 10.0 * relative * fmax(mean, 1.0) * fmax(1.0, l.largest_size)))
        fail_msg("mean loss %.12g, the recursion %.12g", info.mean_loss, mean);
    double errors = info.error_rate * (double)rounds;
    if (!(errors >= (double)l.n_errors - 1e-6 && errors <= (double)(l.n_errors + l.n_unclear) + 1e-6))
        fail_msg("%g errors, the recursion has %zu and %zu unclear", errors, l.n_errors, l.n_unclear);
    clear_literal(&l);
    free(got);
}

static void draw_and_compare(size_t n, size_t outputs, const karma_fit_options *options, uint64_t seed) {
    instance it;
    draw_instance(&it, n, outputs, options, 1, seed);
    compare(&it, options, NULL, n * (size_t)options->passes, 1e-12);
    clear_instance(&it);
}

/* --- telescoped = literal ------------------------------------------------------------------------------ */

static void every_loss_and_schedule_follows_the_recursion(void **state) {
    (void)state;
    for (int loss = KARMA_LOSS_HINGE; loss < KARMA_N_LOSSES; loss++)
        for (int schedule = 0; schedule < KARMA_N_SCHEDULES; schedule++)
            for (int average = 0; average < 2; average++) {
                karma_fit_options o = fit_defaults();
                int unbounded = loss == KARMA_LOSS_SQUARED || loss == KARMA_LOSS_SQUARED_HINGE;
                o.loss = loss;
                o.schedule = schedule;
                o.average = average;
                o.rho = unbounded ? 97.31 : 0.7391; /* gradients of these two grow with the score: small steps */
                o.C = unbounded ? 0.0123 : 1.2345678;
                o.tube = 0.237, o.huber = 0.61;
                o.passes = 1 + loss % 2;
                draw_and_compare(140, loss % 3 ? 1 : 3, &o, 100 + (uint64_t)loss);
            }
}

static void blocks_change_nothing(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 3, 255, 256, 257, 511, 512, 513, 700};
    for (size_t s = 0; s < sizeof counts / sizeof counts[0]; s++)
        for (size_t outputs = 1; outputs <= 3; outputs += 2) {
            karma_fit_options o = fit_defaults();
            o.loss = s % 2 ? KARMA_LOSS_LOGISTIC : KARMA_LOSS_HINGE;
            o.average = s % 3 != 0;
            o.passes = counts[s] < 300 ? 3 : 1;
            draw_and_compare(counts[s], outputs, &o, 200 + s);
        }
}

/* General values: kernels are rounded to single precision, smooth losses pass that on without jumps. */
static void single_precision_kernels_stay_close(void **state) {
    (void)state;
    static const int losses[] = {KARMA_LOSS_LOGISTIC, KARMA_LOSS_HUBER};
    for (size_t s = 0; s < 4; s++) {
        karma_fit_options o = fit_defaults();
        o.loss = losses[s % 2];
        o.average = s / 2 != 0;
        o.passes = 2;
        instance it;
        draw_instance(&it, 300, 1, &o, 0, 300 + s);
        compare(&it, &o, NULL, 600, 14.0 * 0x1p-24); /* 6 attributes and 8 roundings */
        clear_instance(&it);
    }
}

/* --- a user's steps ------------------------------------------------------------------------------------ */

typedef struct steps {
    double rho, factor, power;
    size_t forget_at; /* the round whose factor 1 - ηρ is 0 */
} steps;

/* η = factor / (ρ t^power) */
static double user_step(void *payload, size_t t) {
    const steps *s = payload;
    if (t == s->forget_at) return 1.0 / s->rho;
    return s->factor / (s->rho * pow((double)t, s->power));
}

static void steps_of_the_caller_follow_the_recursion(void **state) {
    (void)state;
    static const steps cases[] = {
        {0.5, 1.0, 1.0, 0},  /* the schedule "regret", as a function of the caller */
        {0.5, 0.3, 0.5, 0},  /* slower */
        {0.5, 0.3, 0.5, 50}, /* one round forgets everything */
        {0.5, 0.3, 0.5, 256}, {0.5, 0.3, 0.5, 257}, {0.5, 0.3, 0.5, 1}, {0.5, 0.01, 0.0, 0}, /* a constant step */
        {0.5, 1.7, 1.0, 0},  /* negative factors at first */
        {0.5, 1.5, 0.0, 0},  /* always -1/2 */
        {0.5, 0.5, 0.0, 0},  /* halves: 2^-600 within the rounds */
        {0.5, 0.99, 0.0, 0}, /* 1e-2 per round: folds all the time */
    };
    for (size_t s = 0; s < sizeof cases / sizeof cases[0]; s++)
        for (int average = 0; average < 2; average++) {
            steps mine = cases[s];
            karma_fit_options o = fit_defaults();
            o.loss = s % 2 ? KARMA_LOSS_HINGE : KARMA_LOSS_ABSOLUTE; /* long steps of smooth losses magnify rounding */
            o.rho = mine.rho;
            o.step = user_step;
            o.step_payload = &mine;
            o.average = average;
            o.passes = 2;
            draw_and_compare(300, s % 4 ? 1 : 3, &o, 400 + s);
        }
}

/* The schedule given by hand is the schedule. */
static void steps_of_the_caller_can_be_the_schedule(void **state) {
    (void)state;
    karma_fit_options o = fit_defaults();
    instance it;
    double named[300], by_hand[300];
    karma_fit_info info = {0};
    o.loss = KARMA_LOSS_LOGISTIC;
    o.schedule = KARMA_SCHEDULE_REGRET;
    o.rho = 0.5;
    o.passes = 3;
    draw_instance(&it, 300, 1, &o, 1, 41);
    assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(named, &info, &it.problem, &o, NULL, NULL), KARMA_OK);
    steps mine = {0.5, 1.0, 1.0, 0};
    o.step = user_step;
    o.step_payload = &mine;
    assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(by_hand, &info, &it.problem, &o, NULL, NULL), KARMA_OK);
    for (size_t i = 0; i < 300; i++) assert_true(fabs(named[i] - by_hand[i]) <= 1e-11);
    clear_instance(&it);
}

static double bad_step(void *payload, size_t t) {
    return t < 7 ? 0.1 : *(const double *)payload;
}

static void impossible_steps_are_refused(void **state) {
    (void)state;
    static const double bad[] = {0.0, -1.0, NAN, INFINITY};
    karma_fit_options o = fit_defaults();
    instance it;
    o.loss = KARMA_LOSS_HINGE;
    draw_instance(&it, 20, 1, &o, 1, 42);
    for (size_t s = 0; s < 4; s++) {
        double c[20], payload = bad[s];
        karma_fit_info info = {0};
        karma_error err = {0};
        for (size_t i = 0; i < 20; i++) c[i] = 7.0;
        o.rho = 0.5;
        o.step = bad_step;
        o.step_payload = &payload;
        assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, NULL, &err), KARMA_ERR_OPTION);
        assert_non_null(strstr(err.message, "round 7"));
        for (size_t i = 0; i < 20; i++) assert_true(c[i] == 7.0);
    }
    clear_instance(&it);
}

/* --- early ends ------------------------------------------------------------------------- */

static int stop_at(void *payload, const char *stage, size_t done, size_t total) {
    const size_t *when = payload;
    assert_string_equal(stage, "rounds");
    assert_true(done <= total);
    return done >= *when;
}

static void cancelled_training_is_the_recursion_stopped_early(void **state) {
    (void)state;
    karma_fit_options o = fit_defaults();
    instance it;
    o.loss = KARMA_LOSS_HINGE;
    o.passes = 2;
    draw_instance(&it, 700, 1, &o, 1, 43);
    for (size_t when = 1; when < 1400; when += 311)
        for (int average = 0; average < 2; average++) {
            karma_hooks hooks = {stop_at, NULL, &when};
            karma_fit_info info = {0};
            double c[700];
            o.average = average;
            assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, &hooks, NULL), KARMA_OK);
            assert_in_range(info.rounds, when, 1400);
            assert_int_equal(info.stop, info.rounds < 1400 ? KARMA_STOP_CANCELLED : KARMA_STOP_FINISHED);
            if (when < 500) assert_int_equal(info.stop, KARMA_STOP_CANCELLED);
            compare(&it, &o, &hooks, info.rounds, 1e-12);
        }
    clear_instance(&it);
}

static void cancelled_before_the_first_row_is_an_error(void **state) {
    (void)state;
    karma_fit_options o = fit_defaults();
    size_t when = 0;
    karma_hooks hooks = {stop_at, NULL, &when};
    instance it;
    karma_fit_info info = {0};
    double c[20];
    for (size_t i = 0; i < 20; i++) c[i] = 7.0;
    o.loss = KARMA_LOSS_HINGE;
    draw_instance(&it, 20, 1, &o, 1, 44);
    assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, &hooks, NULL), KARMA_ERR_CANCELLED);
    for (size_t i = 0; i < 20; i++) assert_true(c[i] == 7.0);
    clear_instance(&it);
}

static double given_step(void *payload, size_t t) {
    return (void)t, *(const double *)payload;
}

/* A squared loss with steps that are too long gives an error or finite numbers for every length of the sequence,
 * even if only the last round overflows. */
static void divergence_is_an_error_and_not_nan(void **state) {
    (void)state;
    size_t refused = 0;
    for (size_t n = 1; n <= 60; n += n < 12 ? 1 : 7)
        for (int how = 0; how < 3; how++)
            for (int average = 0; average < 2; average++) {
                karma_fit_options o = fit_defaults();
                double step = how == 1 ? 1e5 : 1e300;
                o.loss = KARMA_LOSS_SQUARED;
                o.C = 1e15;
                o.rho = 1e-5;
                o.average = average;
                o.step = how ? given_step : NULL;
                o.step_payload = &step;
                instance it;
                karma_fit_info info = {0};
                karma_error err = {0};
                double c[60];
                draw_instance(&it, n, 1, &o, 0, 45);
                karma_status st = karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, NULL, &err);
                if (st == KARMA_OK) {
                    for (size_t i = 0; i < n; i++)
                        if (!isfinite(c[i])) fail_msg("%zu rows, way %d: coefficient %zu is %g", n, how, i, c[i]);
                    if (!isfinite(info.mean_loss)) fail_msg("%zu rows, way %d: mean loss %g", n, how, info.mean_loss);
                } else {
                    assert_int_equal(st, KARMA_ERR_DATA);
                    assert_non_null(strstr(err.message, "diverged"));
                    refused++;
                }
                clear_instance(&it);
            }
    assert_true(refused > 0);
}

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    double c[2][3 * 400];
    karma_fit_info info[2] = {{0}, {0}};
    karma_fit_options o = fit_defaults();
    instance it;
    o.loss = KARMA_LOSS_HINGE;
    o.passes = 3;
    o.shuffle = 1;
    o.seed = 5;
    draw_instance(&it, 400, 3, &o, 0, 46);
    for (int v = 0; v < 2; v++) {
        o.threads = v ? 3 : 1;
        assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c[v], &info[v], &it.problem, &o, NULL, NULL), KARMA_OK);
    }
    assert_memory_equal(c[0], c[1], sizeof c[0]);
    assert_true(info[0].mean_loss == info[1].mean_loss && info[0].error_rate == info[1].error_rate);
    o.seed = 6;
    assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c[1], &info[1], &it.problem, &o, NULL, NULL), KARMA_OK);
    assert_memory_not_equal(c[0], c[1], sizeof c[0]); /* another order gives another result */
    clear_instance(&it);
}

/* --- theorem regret ------------------------------------------------------------------------------------ */

enum { DIM = 5, ROUNDS = 300, MAX_PHI = 3905 };

/* A λ-regular sequence: rows of a random plane, masks that reconstruct it, |P_o x| <= 1. */
typedef struct sequence {
    double Q[DIM * DIM];
    double x[ROUNDS][DIM];
    unsigned char o[ROUNDS][DIM];
    double y[ROUNDS];
    double lambda, magnitude;
    double f0[ROUNDS][DIM]; /* f_{e_i,Q}(x_o): f_{w,Q} is linear in w */
} sequence;

static void draw_plane(double *u, double *v, double *Q, karma_i_rng *rng) {
    double uu = 0.0, uv = 0.0, vv = 0.0;
    for (size_t j = 0; j < DIM; j++) {
        u[j] = karma_i_rng_normal(rng), v[j] = karma_i_rng_normal(rng);
        uu += u[j] * u[j], uv += u[j] * v[j];
    }
    for (size_t j = 0; j < DIM; j++) v[j] -= uv / uu * u[j], vv += v[j] * v[j];
    for (size_t j = 0; j < DIM; j++) u[j] /= sqrt(uu), v[j] /= sqrt(vv);
    for (size_t i = 0; i < DIM; i++)
        for (size_t j = 0; j < DIM; j++) Q[i * DIM + j] = u[i] * u[j] + v[i] * v[j];
}

static void draw_sequence(sequence *s, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    double u[DIM], v[DIM], truth[DIM];
    draw_plane(u, v, s->Q, &rng);
    for (size_t j = 0; j < DIM; j++) truth[j] = karma_i_rng_normal(&rng);
    s->lambda = 1.0;
    s->magnitude = 0.0;
    for (size_t t = 0; t < ROUNDS;) {
        double a = karma_i_rng_normal(&rng), b = karma_i_rng_normal(&rng), seen = 0.0, lambda, side = 0.0;
        int whole;
        for (size_t j = 0; j < DIM; j++) {
            s->x[t][j] = a * u[j] + b * v[j];
            s->o[t][j] = karma_i_rng_uniform(&rng) < 0.7;
            seen += s->o[t][j] ? s->x[t][j] * s->x[t][j] : 0.0;
            side += truth[j] * s->x[t][j];
        }
        assert_int_equal(karma_theory_regularity(&lambda, &whole, s->Q, s->o[t], DIM, NULL), KARMA_OK);
        if (!whole || lambda < 0.15) continue;
        for (size_t j = 0; j < DIM; j++) { /* single precision is what the kernel sees */
            s->x[t][j] = (double)(float)(s->x[t][j] * (0.999 / sqrt(seen)));
            if (s->o[t][j]) s->magnitude = fmax(s->magnitude, fabs(s->x[t][j]));
        }
        s->lambda = fmin(s->lambda, lambda);
        s->y[t] = (side > 0.0) == (karma_i_rng_uniform(&rng) > 0.05) ? 1.0 : -1.0; /* some labels are wrong */
        t++;
    }
}

static void swap_rounds(sequence *s, size_t a, size_t b) {
    for (size_t j = 0; j < DIM; j++) {
        double x = s->x[a][j];
        unsigned char o = s->o[a][j];
        s->x[a][j] = s->x[b][j], s->x[b][j] = x;
        s->o[a][j] = s->o[b][j], s->o[b][j] = o;
    }
    double y = s->y[a];
    s->y[a] = s->y[b], s->y[b] = y;
}

/* 0: as drawn; 1: all of one label first; 2: labels take turns while they last. */
static void reorder(sequence *s, int order) {
    for (size_t t = 0; order && t < ROUNDS; t++) {
        double wanted = order == 1 ? 1.0 : t % 2 ? 1.0 : -1.0;
        for (size_t i = t; i < ROUNDS; i++)
            if (s->y[i] == wanted) {
                swap_rounds(s, t, i);
                break;
            }
    }
    for (size_t t = 0; t < ROUNDS; t++)
        for (size_t j = 0; j < DIM; j++) {
            double w[DIM] = {0};
            w[j] = 1.0;
            assert_int_equal(karma_theory_f0(&s->f0[t][j], w, s->Q, s->x[t], s->o[t], DIM, NULL), KARMA_OK);
        }
}

static double hinge_sum(const sequence *s, const double *w) {
    double sum = 0.0;
    for (size_t t = 0; t < ROUNDS; t++) {
        double z = 0.0;
        for (size_t j = 0; j < DIM; j++) z += w[j] * s->f0[t][j];
        sum += fmax(0.0, 1.0 - s->y[t] * z);
    }
    return sum;
}

static void into_unit_ball(double *w, int onto) {
    double norm = 0.0;
    for (size_t j = 0; j < DIM; j++) norm += w[j] * w[j];
    norm = sqrt(norm);
    for (size_t j = 0; j < DIM && (onto || norm > 1.0); j++) w[j] /= norm;
}

/* The best of random w and of projected subgradient descent: |w| <= 1 with small Σ ℓ(f_{w,Q*}). */
static double best_w(double *best, const sequence *s, karma_i_rng *rng) {
    double w[DIM] = {0}, least = hinge_sum(s, w);
    memcpy(best, w, sizeof w);
    for (size_t step = 0; step < 600; step++) {
        if (step < 200) {
            for (size_t j = 0; j < DIM; j++) w[j] = karma_i_rng_normal(rng);
            into_unit_ball(w, 1);
        } else {
            if (step == 200) memcpy(w, best, sizeof w);
            double g[DIM] = {0};
            for (size_t t = 0; t < ROUNDS; t++) {
                double z = 0.0;
                for (size_t j = 0; j < DIM; j++) z += w[j] * s->f0[t][j];
                for (size_t j = 0; j < DIM && s->y[t] * z < 1.0; j++) g[j] -= s->y[t] * s->f0[t][j] / ROUNDS;
            }
            for (size_t j = 0; j < DIM; j++) w[j] -= 2.0 / sqrt((double)(step - 199)) * g[j];
            into_unit_ball(w, 0);
        }
        double sum = hinge_sum(s, w);
        if (sum < least) least = sum, memcpy(best, w, sizeof w);
    }
    return least;
}

static void put_sequence(instance *it, const sequence *s, size_t gamma, const karma_fit_options *o) {
    static const size_t start[DIM + 1] = {0, 1, 2, 3, 4, 5};
    *it = (instance){0};
    assert_int_equal(karma_i_rows_new(&it->rows, DIM, start, ROUNDS, NULL), KARMA_OK);
    for (size_t t = 0; t < ROUNDS; t++) put_row(it->rows, t, s->x[t], s->o[t]);
    it->rows->n_rows = ROUNDS;
    assert_int_equal(karma_i_kernel_init(&it->kernel, gamma, 1.0, 0.0, DIM, NULL), KARMA_OK);
    it->targets = malloc(ROUNDS * sizeof *it->targets);
    memcpy(it->targets, s->y, sizeof s->y);
    it->problem = (karma_i_problem){.kernel = &it->kernel, .rows = it->rows, .targets = it->targets, .n_outputs = 1};
    assert_int_equal(karma_i_loss_make(&it->problem.loss, KARMA_TASK_CLASSIFY, o, 0.317, NULL), KARMA_OK);
}

/* The comparator v of corollary improper, with its actual norm and the largest k(x,x) that occurs, in the standard
 * bound 2L²K(1 + ln T)/ρ + ρT|v|²/2. Much smaller than the theorem's. */
static double sharper_bound(const instance *it, const sequence *s, const double *w, size_t gamma, double rho) {
    static double v[MAX_PHI], phi[MAX_PHI];
    double complement[DIM * DIM], K = 0.0, norm = 0.0, loss = 0.0;
    size_t size = karma_theory_embedding_size(DIM, gamma);
    assert_in_range(size, 1, MAX_PHI);
    for (size_t i = 0; i < DIM * DIM; i++) complement[i] = (i % (DIM + 1) == 0) - s->Q[i];
    assert_int_equal(karma_theory_unfold(v, w, complement, DIM, gamma, NULL), KARMA_OK);
    for (size_t i = 0; i < size; i++) norm += v[i] * v[i];
    for (size_t t = 0; t < ROUNDS; t++) {
        double z = 0.0;
        assert_int_equal(karma_theory_embed(phi, s->x[t], s->o[t], DIM, gamma, NULL), KARMA_OK);
        for (size_t i = 0; i < size; i++) z += v[i] * phi[i];
        loss += fmax(0.0, 1.0 - s->y[t] * z);
        K = fmax(K, karma_i_kernel_reference(&it->kernel, it->rows, t, it->rows, t));
    }
    return loss + 2.0 * K * (1.0 + log(ROUNDS)) / rho + 0.5 * rho * ROUNDS * norm;
}

static void check_regret(sequence *s, size_t gamma, karma_i_rng *rng) {
    double w[DIM], least = best_w(w, s, rng), c[ROUNDS];
    assert_true(least < 0.9 * ROUNDS); /* there is something to learn */
    double log_big_gamma = karma_theory_log_big_gamma(DIM, (double)gamma);
    karma_regret_terms terms = {1.0, s->magnitude, log_big_gamma, log((double)gamma), s->lambda, (double)gamma, ROUNDS};
    double log_rho = karma_theory_log_rho(&terms);
    karma_fit_options o = fit_defaults();
    o.loss = KARMA_LOSS_HINGE;
    o.schedule = KARMA_SCHEDULE_REGRET;
    o.rho = exp(log_rho);
    o.B = (double)gamma;
    karma_fit_info info = {0};
    instance it;
    put_sequence(&it, s, gamma, &o);
    assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, NULL, NULL), KARMA_OK);
    double total_loss = info.mean_loss * ROUNDS, bound = exp(karma_theory_log_regret_bound(&terms, log_rho));
    if (!(total_loss - least <= bound)) fail_msg("gamma %zu: regret %g, bound %g", gamma, total_loss - least, bound);
    double sharper = sharper_bound(&it, s, w, gamma, o.rho);
    if (!(total_loss <= sharper)) fail_msg("gamma %zu: loss %g, at most %g", gamma, total_loss, sharper);
    /* ρ = auto is the theorem's ρ */
    o.rho = KARMA_AUTO;
    karma_error err = {0};
    if (karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, NULL, &err) != KARMA_OK)
        fail_msg("rho auto: %s", err.message);
    if (!(fabs(info.rho - exp(log_rho)) <= 1e-9 * info.rho)) fail_msg("rho %g, wanted %g", info.rho, exp(log_rho));
    clear_instance(&it);
}

/* λ: the smallest positive eigenvalue of Q_oo, measured. B: the bound on |v|², which for |w| <= 1 is Γ (corollary
 * improper). */
static void regret_is_below_the_bound(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 50);
    for (int order = 0; order < 3; order++) {
        sequence s;
        draw_sequence(&s, 51);
        reorder(&s, order);
        for (size_t gamma = 1; gamma <= 5; gamma++) check_regret(&s, gamma, &rng);
    }
}

/* X of the regret schedule is the root of the largest κ(x, x): here of a code whose level is rare. */
static void rho_accounts_for_codes(void **state) {
    (void)state;
    static const size_t start[] = {0, 1, 1};
    static const uint8_t traits[] = {0, KARMA_I_CODED | KARMA_I_HAS_TERM};
    static const float term[] = {0.25F, 0.45F, -0.3F, 0.125F};
    const karma_i_rows_layout layout = {2, start, traits, 0};
    karma_fit_options o = fit_defaults();
    karma_fit_info info = {0};
    instance it;
    double c[4];
    o.loss = KARMA_LOSS_HINGE;
    o.schedule = KARMA_SCHEDULE_REGRET;
    o.rho = KARMA_AUTO;
    o.passes = 3;
    draw_instance(&it, 4, 1, &o, 1, 70);
    karma_i_rows_free(it.rows);
    assert_int_equal(karma_i_rows_new_layout(&it.rows, &layout, 4, NULL), KARMA_OK);
    it.rows->n_rows = 4;
    it.problem.rows = it.rows;
    for (size_t i = 0; i < 4; i++) {
        karma_i_dense_of(it.rows)->mask[i] = 3;
        karma_i_dense_of(it.rows)->values[i * karma_i_dense_of(it.rows)->n_values] =
            1.25F; /* its square is 1.5625, below 1 + 2 · 0.45 */
        karma_i_dense_of(it.rows)->codes[i] = (uint16_t)(i + 1);
        karma_i_rows_set_term(it.rows, i, 1, term[i]);
    }
    assert_int_equal(karma_i_rows_validate(it.rows, NULL), KARMA_OK);
    assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, NULL, NULL), KARMA_OK);
    double log_big_gamma = log(3.0) + karma_i_log_weight(3, 3, 1.0); /* two attributes and the bias */
    karma_regret_terms terms = {1.0, sqrt(1.9), log_big_gamma, log(o.B), 1.0, 3.0, 12.0};
    double wanted = exp(karma_theory_log_rho(&terms));
    if (!(fabs(info.rho - wanted) <= 1e-6 * wanted)) fail_msg("rho %g, wanted %g", info.rho, wanted);
    clear_instance(&it);
}

/* --- theorem main2, item 2 ----------------------------------------------------------------------------- */

/* ½|v|² + (C/m) Σ hinge, of coefficients over the rows. */
static double objective(const instance *it, const double *c, double C) {
    size_t n = it->rows->n_rows;
    double norm = 0.0, loss = 0.0;
    for (size_t i = 0; i < n; i++) {
        double z = 0.0;
        for (size_t j = 0; j < n; j++) z += c[j] * it->gram[i * n + j];
        norm += c[i] * z;
        loss += fmax(0.0, 1.0 - it->targets[i] * z);
    }
    return 0.5 * norm + C / (double)n * loss;
}

/* The optimum by another method: coordinate ascent on the dual, max Σ a_i - ½|Σ a_i y_i φ_i|², 0 <= a_i <= C/m. The
 * dual's value is a lower bound of every objective. */
static double dual_optimum(const instance *it, double C) {
    size_t n = it->rows->n_rows;
    double *c = calloc(n, sizeof *c), *z = calloc(n, sizeof *z), value = 0.0;
    for (size_t sweep = 0; sweep < 1000; sweep++)
        for (size_t i = 0; i < n; i++) {
            double y = it->targets[i], a = y * c[i], k = it->gram[i * n + i];
            double next = fmin(fmax(a + (1.0 - y * z[i]) / k, 0.0), C / (double)n), change = (next - a) * y;
            c[i] += change;
            for (size_t j = 0; j < n; j++) z[j] += change * it->gram[i * n + j];
        }
    for (size_t i = 0; i < n; i++) value += it->targets[i] * c[i] - 0.5 * c[i] * z[i];
    assert_true(objective(it, c, C) - value < 1e-6 * value); /* no gap: it is the optimum */
    free(c);
    free(z);
    return value;
}

/* Reading: ρ = 1/C. Excess at most 2(CL)² max k(x,x) (1 + ln T)/T, the bound of the Pegasos analysis. */
static void pegasos_approaches_the_optimum(void **state) {
    (void)state;
    karma_fit_options o = fit_defaults();
    instance it;
    o.loss = KARMA_LOSS_HINGE;
    o.shuffle = 1;
    draw_instance(&it, 80, 1, &o, 1, 60);
    for (size_t i = 0; i < 80; i++) /* labels that depend on the rows */
        it.targets[i] =
            karma_i_dense_of(it.rows)->values[6 * i] + karma_i_dense_of(it.rows)->values[6 * i + 1] > 0.1F ? 1.0 : -1.0;
    double K = 0.0, c[80], excess[4];
    for (size_t i = 0; i < 80; i++) K = fmax(K, it.gram[i * 80 + i]);
    o.C = 0.05;
    double best = dual_optimum(&it, o.C), nothing[80] = {0};
    assert_true(best < 0.9 * objective(&it, nothing, o.C));
    for (int s = 0; s < 4; s++) {
        karma_fit_info info = {0};
        o.passes = s == 0 ? 1 : s == 1 ? 10 : s == 2 ? 60 : 400;
        assert_int_equal(karma_i_solver(KARMA_SOLVER_ONLINE)(c, &info, &it.problem, &o, NULL, NULL), KARMA_OK);
        double T = (double)info.rounds;
        excess[s] = objective(&it, c, o.C) - best;
        double bound = 2.0 * o.C * o.C * K * (1.0 + log(T)) / T;
        if (!(excess[s] >= -1e-6 * best && excess[s] <= bound))
            fail_msg("%g rounds: excess %g, bound %g, optimum %g", T, excess[s], bound, best);
    }
    assert_true(excess[3] < 0.01 * best && excess[3] < 0.1 * excess[1]);
    clear_instance(&it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_loss_and_schedule_follows_the_recursion),
        cmocka_unit_test(blocks_change_nothing),
        cmocka_unit_test(single_precision_kernels_stay_close),
        cmocka_unit_test(steps_of_the_caller_follow_the_recursion),
        cmocka_unit_test(steps_of_the_caller_can_be_the_schedule),
        cmocka_unit_test(impossible_steps_are_refused),
        cmocka_unit_test(cancelled_training_is_the_recursion_stopped_early),
        cmocka_unit_test(cancelled_before_the_first_row_is_an_error),
        cmocka_unit_test(divergence_is_an_error_and_not_nan),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(regret_is_below_the_bound),
        cmocka_unit_test(rho_accounts_for_codes),
        cmocka_unit_test(pegasos_approaches_the_optimum),
    };
    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
