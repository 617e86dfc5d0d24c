/* The regret experiment: sequences against eigenvalues and the paper's f_{w,Q}, the best predictor against search and
 * closed forms, Algorithm 1 against its printed recursion, and the theorem itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "karma/regret.h"
#include "karma/theory.h"
#include "kernel/kernel.h"
#include "regret/comparator.h"
#include "regret/sequence.h"
#include "solve/online.h"
#include "table/rows_dense.h"

enum { MOST_DIM = 8 };

static karma_regret_options options_of(int64_t dim, int64_t rank, double lambda, int64_t gamma, int64_t rounds) {
    karma_regret_options o;
    karma_options_init(karma_regret_option_table(), &o);
    o.dim = dim, o.rank = rank, o.lambda = lambda, o.gamma = gamma, o.rounds = rounds;
    o.threads = 1;
    return o;
}

static karma_i_sequence *draw(const karma_regret_options *o) {
    karma_i_sequence *s = NULL;
    karma_error err = {0};
    if (karma_i_sequence_new(&s, o, &err) != KARMA_OK) fail_msg("%s", err.message);
    return s;
}

static karma_regret *play(const karma_regret_options *o) {
    karma_regret *regret = NULL;
    karma_error err = {0};
    if (karma_regret_run(&regret, o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return regret;
}

/* Row t in the form that the functions of the paper take. */
static void get_row(const karma_i_sequence *s, size_t t, double *x, unsigned char *observed) {
    for (size_t j = 0; j < s->dim; j++) {
        x[j] = (double)karma_i_rows_values(s->rows, t)[j];
        observed[j] = (unsigned char)karma_i_mask_get(karma_i_rows_mask(s->rows, t), j);
    }
}

static void get_projection(const karma_i_sequence *s, double *Q) {
    for (size_t i = 0; i < s->dim; i++)
        for (size_t j = 0; j < s->dim; j++) {
            Q[i * s->dim + j] = 0.0;
            for (size_t k = 0; k < s->rank; k++)
                Q[i * s->dim + j] += s->basis[i * s->rank + k] * s->basis[j * s->rank + k];
        }
}

/* --- sequences ----------------------------------------------------------------------------------------- */

/* ξ_j = f_{e_j,Q}(x_o); its projection on E is the complete row, which lies in the ball and agrees with the observed
 * cells. */
static void check_pulled(const karma_i_sequence *s, size_t t, const double *Q, const double *x,
                         const unsigned char *observed, double lambda) {
    const double *xi = s->pulled + t * s->dim;
    double square = 0.0;
    for (size_t j = 0; j < s->dim; j++) {
        double w[MOST_DIM] = {0}, f = 0.0, complete = 0.0;
        w[j] = 1.0;
        assert_int_equal(karma_theory_f0(&f, w, Q, x, observed, s->dim, NULL), KARMA_OK);
        if (!(fabs(xi[j] - f) <= 1e-12 / (lambda * lambda))) fail_msg("row %zu: %.15g, f0 has %.15g", t, xi[j], f);
        for (size_t i = 0; i < s->dim; i++) complete += Q[j * s->dim + i] * xi[i];
        if (observed[j]) assert_true(fabs(complete - x[j]) <= 1e-6 / lambda);
        square += complete * complete;
    }
    assert_true(square <= 1.0 + 1e-6 / lambda);
}

static void check_sequence(const karma_regret_options *o) {
    karma_i_sequence *s = draw(o);
    double Q[MOST_DIM * MOST_DIM], x[MOST_DIM], smallest = 1.0, largest = 0.0, n_hidden = 0.0;
    unsigned char observed[MOST_DIM];
    get_projection(s, Q);
    for (size_t i = 0; i < s->dim; i++) /* QQ = Q */
        for (size_t j = 0; j < s->dim; j++) {
            double product = 0.0;
            for (size_t k = 0; k < s->dim; k++) product += Q[i * s->dim + k] * Q[k * s->dim + j];
            assert_true(fabs(product - Q[i * s->dim + j]) <= 1e-14);
        }
    assert_int_equal(karma_i_rows_validate(s->rows, NULL), KARMA_OK);
    for (size_t t = 0; t < s->n_rows; t++) {
        double lambda = 0.0, seen = 0.0;
        int reconstructible = 0;
        get_row(s, t, x, observed);
        assert_int_equal(karma_theory_regularity(&lambda, &reconstructible, Q, observed, s->dim, NULL), KARMA_OK);
        if (!reconstructible || !(lambda >= o->lambda - 1e-12)) fail_msg("row %zu has lambda %g", t, lambda);
        for (size_t j = 0; j < s->dim; j++) {
            seen += x[j] * x[j];
            largest = fmax(largest, fabs(x[j]));
            n_hidden += !observed[j];
        }
        assert_true(seen <= 1.0);
        assert_true(fabs(s->labels[t]) == 1.0);
        smallest = fmin(smallest, lambda);
        check_pulled(s, t, Q, x, observed, lambda);
    }
    assert_true(fabs(s->lambda - smallest) <= 1e-12);
    assert_true(s->magnitude == largest);
    assert_true(fabs(s->missing - n_hidden / (double)(s->n_rows * s->dim)) <= 1e-12);
    if (o->lambda == 1.0) assert_true(n_hidden == 0.0);
    if (o->lambda < 0.5 && o->rank < o->dim) assert_true(s->missing > 0.1);
    karma_i_sequence_free(s);
}

static const struct {
    int64_t dim, rank;
    double lambda;
    int64_t gamma;
} cases[] = {{5, 2, 0.3, 2}, {5, 2, 0.1, 4}, {3, 1, 0.05, 3}, {1, 1, 0.5, 1},   {2, 2, 0.5, 2},
             {8, 3, 0.2, 2}, {8, 5, 0.4, 3}, {6, 2, 1.0, 2},  {4, 1, 0.05, -1}, {7, 2, 0.6, -1}};
enum { N_CASES = sizeof cases / sizeof cases[0] };

static karma_regret_options case_options(size_t c, int64_t rounds, int64_t seed) {
    karma_regret_options o = options_of(cases[c].dim, cases[c].rank, cases[c].lambda, cases[c].gamma, rounds);
    o.seed = seed;
    o.label_noise = (double)(seed % 3) * 0.15;
    return o;
}

static void every_row_is_regular(void **state) {
    (void)state;
    for (size_t c = 0; c < N_CASES; c++)
        for (int64_t seed = 0; seed < 3; seed++) {
            karma_regret_options o = case_options(c, 200, seed);
            check_sequence(&o);
        }
}

/* Noise flips labels and changes nothing else; a shorter sequence is the beginning of a longer one. */
static void draws_are_independent(void **state) {
    (void)state;
    karma_regret_options o = options_of(5, 2, 0.3, 2, 4000);
    karma_i_sequence *clean = draw(&o);
    o.label_noise = 0.2;
    karma_i_sequence *noisy = draw(&o);
    o.rounds = 100;
    karma_i_sequence *beginning = draw(&o);
    size_t n_turned = 0, n_positive = 0, cells = clean->n_rows * clean->dim;
    assert_memory_equal(karma_i_dense_of(clean->rows)->values, karma_i_dense_of(noisy->rows)->values,
                        cells * sizeof(float));
    assert_memory_equal(noisy->pulled, beginning->pulled, 100 * clean->dim * sizeof(double));
    assert_memory_equal(noisy->labels, beginning->labels, 100 * sizeof(double));
    for (size_t t = 0; t < clean->n_rows; t++) {
        n_turned += clean->labels[t] != noisy->labels[t];
        n_positive += clean->labels[t] > 0.0;
    }
    assert_in_range(n_turned, 680, 920); /* 800, five standard deviations */
    assert_in_range(n_positive, 1840, 2160);
    karma_i_sequence_free(clean);
    karma_i_sequence_free(noisy);
    karma_i_sequence_free(beginning);
}

/* --- the best predictor in hindsight ------------------------------------------------------------------- */

typedef struct cloud {
    size_t n, dim;
    double points[64 * 3], labels[64];
    size_t index[64];
} cloud;

static void draw_cloud(cloud *c, size_t n, size_t dim, double size, karma_i_rng *rng) {
    c->n = n, c->dim = dim;
    for (size_t i = 0; i < n; i++) {
        c->index[i] = n - 1 - i;
        c->labels[i] = karma_i_rng_below(rng, 2) ? 1.0 : -1.0;
        for (size_t j = 0; j < dim; j++) c->points[i * dim + j] = size * karma_i_rng_normal(rng);
    }
}

static double cloud_loss(const cloud *c, const double *w) {
    double sum = 0.0;
    for (size_t i = 0; i < c->n; i++) {
        double z = 0.0;
        for (size_t j = 0; j < c->dim; j++) z += w[j] * c->points[i * c->dim + j];
        sum += fmax(0.0, 1.0 - c->labels[i] * z);
    }
    return sum;
}

/* The interval is narrow, and its upper end is the loss of w. */
static karma_i_interval solve_cloud(const cloud *c) {
    karma_i_interval found;
    double w[3], square = 0.0;
    assert_int_equal(karma_i_best_in_hindsight(&found, w, c->points, c->labels, c->index, c->n, c->dim, NULL),
                     KARMA_OK);
    for (size_t j = 0; j < c->dim; j++) square += w[j] * w[j];
    assert_true(square <= 1.0);
    assert_true(fabs(cloud_loss(c, w) - found.high) <= 1e-12 * (double)c->n);
    if (!(found.low <= found.high && found.high - found.low <= 1e-9 * (double)c->n))
        fail_msg("n %zu, dim %zu: [%.15g, %.15g]", c->n, c->dim, found.low, found.high);
    return found;
}

/* One dimension: a piecewise linear function has its minimum at an end or a kink. */
static void one_dimension_by_its_kinks(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t n = 1; n <= 64; n++)
        for (int size = 0; size < 3; size++) {
            cloud c;
            draw_cloud(&c, n, 1, size == 0 ? 0.3 : size == 1 ? 2.0 : 30.0, &rng);
            double least = INFINITY;
            for (size_t i = 0; i < n + 2; i++) {
                double w = i == n ? 1.0 : i == n + 1 ? -1.0 : c.labels[i] / c.points[i];
                if (fabs(w) <= 1.0) least = fmin(least, cloud_loss(&c, &w));
            }
            karma_i_interval found = solve_cloud(&c);
            if (!(found.low <= least + 1e-12 && found.high >= least - 1e-12))
                fail_msg("n %zu: %.12g not in [%.12g, %.12g]", n, least, found.low, found.high);
        }
}

typedef double (*plane_loss)(const void *context, const double *w);

/* Two dimensions: the least value on a grid over the disc, then on ever finer ones around it. */
static double search_disc(plane_loss loss, const void *context) {
    double centre[2] = {0.0, 0.0}, half = 1.0, least = INFINITY;
    for (int zoom = 0; zoom < 30; zoom++, half *= 0.5) {
        double best[2] = {centre[0], centre[1]};
        for (int a = -12; a <= 12; a++)
            for (int b = -12; b <= 12; b++) {
                double w[2] = {centre[0] + half * a / 12.0, centre[1] + half * b / 12.0};
                double length = fmax(1.0, hypot(w[0], w[1]));
                w[0] /= length, w[1] /= length;
                double value = loss(context, w);
                if (value < least) least = value, best[0] = w[0], best[1] = w[1];
            }
        memcpy(centre, best, sizeof centre);
    }
    return least;
}

static double disc_loss(const void *context, const double *w) {
    return cloud_loss(context, w);
}

static void two_dimensions_by_search(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t n = 1; n <= 40; n += 3)
        for (int size = 0; size < 3; size++) {
            cloud c;
            draw_cloud(&c, n, 2, size == 0 ? 0.3 : size == 1 ? 1.5 : 8.0, &rng);
            double least = search_disc(disc_loss, &c);
            karma_i_interval found = solve_cloud(&c);
            if (!(found.low <= least + 1e-12 && found.high >= least - 1e-5 * (double)n))
                fail_msg("n %zu: %.12g not in [%.12g, %.12g]", n, least, found.low, found.high);
        }
}

/* The rows of a tiny sequence and their f_{w,Q*}, from the definition. */
static double paper_loss(const void *context, const double *w) {
    const karma_i_sequence *s = context;
    double Q[4], sum = 0.0, x[2];
    unsigned char observed[2];
    get_projection(s, Q);
    for (size_t t = 0; t < s->n_rows; t++) {
        double f = 0.0;
        get_row(s, t, x, observed);
        assert_int_equal(karma_theory_f0(&f, w, Q, x, observed, 2, NULL), KARMA_OK);
        sum += fmax(0.0, 1.0 - s->labels[t] * f);
    }
    return sum;
}

static void tiny_sequences_by_search(void **state) {
    (void)state;
    for (int64_t rank = 1; rank <= 2; rank++)
        for (int64_t seed = 0; seed < 3; seed++) {
            karma_regret_options o = options_of(2, rank, 0.1, 2, 8);
            o.seed = seed;
            karma_i_sequence *s = draw(&o);
            karma_regret *regret = play(&o);
            const karma_regret_point *last = &regret->points[regret->n_points - 1];
            double least = search_disc(paper_loss, s);
            if (!(last->best_at_least <= least + 1e-9 && last->best >= least - 1e-4))
                fail_msg("rank %d: %.12g not in [%.12g, %.12g]", (int)rank, least, last->best_at_least, last->best);
            karma_regret_free(regret);
            karma_i_sequence_free(s);
        }
}

/* |w·ξ| <= 1 where |ξ| <= 1: every hinge is linear, and the minimum is n - |Σ yξ|. This holds for complete rows (λ =
 * 1). */
static void complete_rows_have_a_closed_form(void **state) {
    (void)state;
    for (int64_t seed = 0; seed < 5; seed++) {
        karma_regret_options o = options_of(MOST_DIM, 3, 1.0, 2, 700);
        o.seed = seed;
        karma_i_sequence *s = draw(&o);
        karma_regret *regret = play(&o);
        for (size_t p = 0; p < regret->n_points; p++) {
            const karma_regret_point *point = &regret->points[p];
            double sum[MOST_DIM] = {0}, square = 0.0;
            for (size_t t = 0; t < point->rounds; t++)
                for (size_t j = 0; j < s->dim; j++) sum[j] += s->labels[t] * s->pulled[t * s->dim + j];
            for (size_t j = 0; j < s->dim; j++) square += sum[j] * sum[j];
            double wanted = (double)point->rounds - sqrt(square);
            assert_true(fabs(point->best - wanted) <= 1e-8 * (double)point->rounds);
            assert_true(fabs(point->best_at_least - wanted) <= 1e-8 * (double)point->rounds);
        }
        karma_regret_free(regret);
        karma_i_sequence_free(s);
    }
}

/* --- Algorithm 1 --------------------------------------------------------------------------------------- */

/* The recursion of the paper, in doubles: every coefficient shrinks in every round. */
typedef struct literal {
    const karma_i_sequence *s;
    double *gram;  /* by the reference */
    double *alpha; /* by row; 0: not used yet */
    unsigned char *met;
    double rho;
} literal;

static double literal_loss(const literal *l, size_t row) {
    double z = 0.0;
    for (size_t i = 0; i < l->s->n_rows; i++) z += l->alpha[i] * l->gram[row * l->s->n_rows + i];
    return fmax(0.0, 1.0 - l->s->labels[row] * z);
}

/* The row of round t, counted from 0: the next, or of those left in its window the one with the largest loss. */
static size_t literal_choice(const literal *l, size_t t, int adversarial) {
    size_t first = t / KARMA_I_ONLINE_BLOCK * KARMA_I_ONLINE_BLOCK, worst = t;
    double largest = -1.0;
    if (!adversarial) return t;
    for (size_t i = first; i < first + KARMA_I_ONLINE_BLOCK && i < l->s->n_rows; i++) {
        double loss = l->met[i] ? -1.0 : literal_loss(l, i);
        if (loss > largest) largest = loss, worst = i;
    }
    return worst;
}

static void fill_gram(literal *l, size_t gamma) {
    karma_i_kernel kernel;
    size_t n = l->s->n_rows;
    assert_int_equal(karma_i_kernel_init(&kernel, gamma, 1.0, 0.0, l->s->dim, NULL), KARMA_OK);
    assert_true(kernel.factors[0].log_norm == 0.0);
    l->gram = malloc(n * n * sizeof *l->gram);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            l->gram[i * n + j] = karma_i_kernel_reference(&kernel, l->s->rows, i, l->s->rows, j);
    karma_i_kernel_clear(&kernel);
}

static double literal_round(literal *l, size_t t, int adversarial) {
    size_t row = literal_choice(l, t, adversarial);
    double loss = literal_loss(l, row), eta = 1.0 / (l->rho * (double)(t + 1));
    for (size_t i = 0; i < l->s->n_rows; i++) l->alpha[i] *= 1.0 - eta * l->rho;
    if (loss > 0.0) l->alpha[row] = eta * l->s->labels[row];
    l->met[row] = 1;
    return loss;
}

static void check_recursion(const karma_regret_options *o) {
    karma_i_sequence *s = draw(o);
    karma_regret *regret = play(o);
    literal l = {.s = s, .alpha = calloc(s->n_rows, sizeof(double)), .met = calloc(s->n_rows, 1)};
    l.rho = regret->magnitude * /* LX√Γ/√(BT), B = γ */
            sqrt(exp(regret->log_big_gamma) / ((double)regret->gamma * (double)s->n_rows));
    assert_true(fabs(exp(regret->log_rho) - l.rho) <= 1e-12 * l.rho);
    fill_gram(&l, regret->gamma);
    double sum = 0.0;
    for (size_t t = 0, p = 0; t < s->n_rows; t++) {
        sum += literal_round(&l, t, o->order == KARMA_ORDER_ADVERSARIAL);
        if (t + 1 != regret->points[p].rounds) continue;
        if (!(fabs(regret->points[p].learner - sum) <= 1e-5 * sum))
            fail_msg("gamma %zu, order %d, round %zu: lost %.12g, the recursion %.12g", regret->gamma, o->order, t + 1,
                     regret->points[p].learner, sum);
        p++;
    }
    free(l.gram);
    free(l.alpha);
    free(l.met);
    karma_regret_free(regret);
    karma_i_sequence_free(s);
}

static void losses_follow_the_recursion(void **state) {
    (void)state;
    for (size_t c = 0; c < 8; c++)
        for (int order = 0; order < KARMA_N_ORDERS; order++) {
            karma_regret_options o = case_options(c, c % 4 ? 300 : 560, (int64_t)c);
            o.order = order;
            check_recursion(&o);
        }
}

/* A kernel divided by its largest weight gives the same losses as without the division: 24^12 > 10^16 > 24^11, so
 * that losses grow by about w(d) from one γ to the next whether or not it is divided. */
static void large_weights_change_nothing(void **state) {
    (void)state;
    double previous = 0.0;
    for (int64_t gamma = 10; gamma <= 15; gamma++) {
        karma_regret_options o = options_of(24, 2, 1.0, gamma, 50); /* complete rows: k = w(24) x·x' */
        karma_regret *regret = play(&o);
        double learner = regret->points[regret->n_points - 1].learner * exp(regret->log_rho); /* scores have 1/ρ */
        if (gamma > 10 && !(fabs(learner / previous - 24.0) <= 1e-3)) fail_msg("%g after %g", learner, previous);
        previous = learner;
        karma_regret_free(regret);
    }
}

/* --- the theorem --------------------------------------------------------------------------------------- */

static double bound_by_hand(const karma_regret *regret, const karma_regret_options *o, double t) {
    double d = (double)o->dim, gamma = (double)regret->gamma, Gamma = 0.0, X = regret->magnitude;
    for (double k = 1.0; k <= gamma; k++) Gamma += pow(d, k);
    double rho = X * sqrt(Gamma / (gamma * (double)o->rounds));
    return 2.0 * X * X * Gamma * (1.0 + log(t)) / rho + rho * t * gamma / 2.0 + exp(-o->lambda * gamma) * t / o->lambda;
}

static void check_bound(const karma_regret *regret, const karma_regret_options *o) {
    for (size_t p = 0; p < regret->n_points; p++) {
        const karma_regret_point *point = &regret->points[p];
        double bound = exp(point->log_bound), by_hand = bound_by_hand(regret, o, (double)point->rounds);
        assert_true(fabs(bound - by_hand) <= 1e-9 * by_hand);
        if (!(point->regret <= bound))
            fail_msg("d %d, r %d, lambda %g, gamma %zu, seed %d, order %d, round %zu: regret %g, bound %g", (int)o->dim,
                     (int)o->rank, o->lambda, regret->gamma, (int)o->seed, o->order, point->rounds, point->regret,
                     bound);
        assert_true(point->regret == point->learner - point->best_at_least);
        assert_true(point->best <= (double)point->rounds && point->best_at_least >= 0.0);
        if (!(point->best - point->best_at_least <= 1e-8 * (double)point->rounds))
            fail_msg("round %zu: the best is in [%.15g, %.15g]", point->rounds, point->best_at_least, point->best);
        if (p > 0) assert_true(point->learner >= point[-1].learner && point->best >= point[-1].best_at_least);
    }
}

/* The adversary gives the same rows in another order, so the last comparator is the same, but the learner loses
 * more. */
static void regret_is_below_the_bound(void **state) {
    (void)state;
    double lost[KARMA_N_ORDERS] = {0};
    for (size_t c = 0; c < N_CASES; c++)
        for (int64_t seed = 0; seed < 4; seed++) {
            double last_best[KARMA_N_ORDERS];
            for (int order = 0; order < KARMA_N_ORDERS; order++) {
                karma_regret_options o = case_options(c, seed % 2 ? 600 : 130, seed);
                o.order = order;
                karma_regret *regret = play(&o);
                check_bound(regret, &o);
                const karma_regret_point *last = &regret->points[regret->n_points - 1];
                last_best[order] = last->best;
                if (cases[c].gamma == 2) lost[order] += last->learner / (double)last->rounds;
                karma_regret_free(regret);
            }
            assert_true(fabs(last_best[0] - last_best[1]) <= 1e-8 * 600.0);
        }
    if (!(lost[KARMA_ORDER_ADVERSARIAL] > 1.2 * lost[KARMA_ORDER_RANDOM]))
        fail_msg("the adversary costs %g, chance %g", lost[KARMA_ORDER_ADVERSARIAL], lost[KARMA_ORDER_RANDOM]);
}

/* d = 1 and γ = 1: Γ = 1, and the bound is below T from some thousand rounds on. */
static void the_bound_is_not_trivial(void **state) {
    (void)state;
    for (int order = 0; order < KARMA_N_ORDERS; order++) {
        karma_regret_options o = options_of(1, 1, 1.0, 1, 5000);
        o.order = order;
        o.label_noise = 0.3;
        karma_regret *regret = play(&o);
        check_bound(regret, &o);
        double bound = bound_by_hand(regret, &o, 5000.0) - exp(-1.0) * 5000.0; /* nothing is lost to γ: λ = 1 */
        const karma_regret_point *last = &regret->points[regret->n_points - 1];
        assert_true(bound < 0.5 * 5000.0 && last->regret <= bound);
        karma_regret_free(regret);
    }
}

static void checkpoints_are_logarithmic(void **state) {
    (void)state;
    static const size_t wanted[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    for (int64_t rounds = 1; rounds < 600; rounds = rounds < 25 ? rounds + 1 : rounds + 61) {
        karma_regret_options o = options_of(2, 1, 0.3, 2, rounds);
        karma_regret *regret = play(&o);
        for (size_t p = 0; p + 1 < regret->n_points; p++) assert_int_equal(regret->points[p].rounds, wanted[p]);
        assert_int_equal(regret->points[regret->n_points - 1].rounds, rounds);
        assert_true(wanted[regret->n_points - 1] >= (size_t)rounds);
        karma_regret_free(regret);
    }
    karma_regret_options o = options_of(2, 1, 0.3, -1, 100);
    karma_regret *regret = play(&o);
    assert_int_equal(regret->gamma, 16); /* ln(100)/0.3 = 15.4 */
    karma_regret_free(regret);
}

/* --- threads, options, hooks
 * ------------------------------------------------------------------------------------------- */

static void any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    for (int order = 0; order < KARMA_N_ORDERS; order++) {
        karma_regret_options o = options_of(7, 3, 0.2, 3, 300);
        o.order = order;
        karma_regret *one = play(&o);
        for (int64_t threads = 2; threads <= 3; threads++) {
            o.threads = threads;
            karma_regret *many = play(&o);
            assert_int_equal(one->n_points, many->n_points);
            assert_memory_equal(one->points, many->points, one->n_points * sizeof *one->points);
            karma_regret_free(many);
        }
        karma_regret_free(one);
    }
}

static void check_refusal(const karma_regret_options *o, const char *says) {
    karma_regret *regret = NULL;
    karma_error err = {0};
    assert_int_equal(karma_regret_run(&regret, o, NULL, &err), KARMA_ERR_OPTION);
    if (!strstr(err.message, says)) fail_msg("'%s' does not say '%s'", err.message, says);
    assert_null(regret);
}

static void impossible_options_are_refused(void **state) {
    (void)state;
    karma_regret_options o = options_of(3, 4, 0.3, 2, 10);
    check_refusal(&o, "rank");
    o = options_of(3, 2, NAN, 2, 10);
    check_refusal(&o, "lambda");
    o = options_of(3, 2, 0.0, 2, 10);
    check_refusal(&o, "lambda");
    o = options_of(3, 2, 0.3, 0, 10);
    check_refusal(&o, "gamma");
    o = options_of(200, 2, 0.3, 1024, 10);
    check_refusal(&o, "gamma");
    o = options_of(50, 2, 0.01, -1, 1000);
    check_refusal(&o, "gamma");
}

typedef struct patience {
    const char *stage;
    size_t limit;
} patience;

static int lose_patience(void *payload, const char *stage, size_t done, size_t total) {
    const patience *p = payload;
    assert_true(done <= total);
    return strcmp(stage, p->stage) == 0 && done >= p->limit;
}

static void a_run_can_be_stopped(void **state) {
    (void)state;
    karma_regret_options o = options_of(3, 2, 0.3, 2, 1000);
    karma_regret *regret = NULL;
    karma_error err = {0};
    patience p = {"rounds", 300};
    karma_hooks hooks = {lose_patience, NULL, &p};
    assert_int_equal(karma_regret_run(&regret, &o, &hooks, &err), KARMA_OK);
    assert_in_range(regret->points[regret->n_points - 1].rounds, 300, 999);
    check_bound(regret, &o);
    karma_regret_free(regret);
    regret = NULL;
    p.limit = 0;
    assert_int_equal(karma_regret_run(&regret, &o, &hooks, &err), KARMA_ERR_CANCELLED);
    p = (patience){"checkpoints", 2};
    assert_int_equal(karma_regret_run(&regret, &o, &hooks, &err), KARMA_ERR_CANCELLED);
    assert_null(regret);
    karma_regret_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_regular),           cmocka_unit_test(draws_are_independent),
        cmocka_unit_test(one_dimension_by_its_kinks),     cmocka_unit_test(two_dimensions_by_search),
        cmocka_unit_test(tiny_sequences_by_search),       cmocka_unit_test(complete_rows_have_a_closed_form),
        cmocka_unit_test(losses_follow_the_recursion),    cmocka_unit_test(large_weights_change_nothing),
        cmocka_unit_test(regret_is_below_the_bound),      cmocka_unit_test(the_bound_is_not_trivial),
        cmocka_unit_test(checkpoints_are_logarithmic),    cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(impossible_options_are_refused), cmocka_unit_test(a_run_can_be_stopped),
    };
    return cmocka_run_group_tests_name("regret", tests, NULL, NULL);
}
