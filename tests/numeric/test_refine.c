/* Supervised refinement of a subspace, against slow implementations: objective and gradient by elimination and
 * differences in double precision, smoothed losses in closed form. A refinement that does not help held-out rows is
 * not kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "subspacecase.h"

#include "solve/loss.h"
#include "subspace/completion.h"
#include "subspace/refine.h"
#include "table/rows_dense.h"

/* t of refine.c's envelope, and its ridge in units of rank / rows. */
static const double SMOOTHING = 0.5, RIDGE = 0.01;

enum { MOST_OUTPUTS = 3 };

/* ---- labels ---- */

typedef struct labelled {
    size_t n, K;
    double *targets, *weights;
    uint8_t *is_held_out;
    karma_i_task_loss losses[MOST_OUTPUTS];
    karma_i_supervision view;
} labelled;

static karma_i_task_loss loss_of(karma_loss_kind kind) {
    karma_fit_options o;
    karma_i_loss loss;
    karma_options_init(karma_fit_option_table(), &o);
    o.loss = (int)kind;
    karma_task task = kind <= KARMA_LOSS_LOGISTIC ? KARMA_TASK_CLASSIFY : KARMA_TASK_REGRESS;
    assert_int_equal(karma_i_loss_make(&loss, task, &o, 0.5, NULL), KARMA_OK);
    karma_options_clear(karma_fit_option_table(), &o);
    return (karma_i_task_loss){loss.value, loss.prox, loss.parameter};
}

/* All rows have weight 1 and the hinge loss; one in four is held out. The caller fills in the targets. */
static labelled new_labels(size_t n, size_t K) {
    labelled l = {.n = n, .K = K};
    l.targets = calloc(n * K, sizeof *l.targets);
    l.weights = calloc(n * K, sizeof *l.weights);
    l.is_held_out = calloc(n, 1);
    assert_true(l.targets && l.weights && l.is_held_out);
    for (size_t i = 0; i < n * K; i++) l.weights[i] = 1.0;
    for (size_t i = 0; i < n; i++) l.is_held_out[i] = i % 4 == 3;
    for (size_t k = 0; k < K; k++) l.losses[k] = loss_of(KARMA_LOSS_HINGE);
    return l;
}

static const karma_i_supervision *supervision_of(labelled *l) {
    l->view = (karma_i_supervision){l->K, l->targets, l->weights, l->losses, l->is_held_out};
    return &l->view;
}

static void free_labels(labelled *l) {
    free(l->targets);
    free(l->weights);
    free(l->is_held_out);
}

/* ---- the slow implementation ---- */

/* ẑ = (W_oᵀV⁻¹W_o + σ²I)⁻¹ W_oᵀV⁻¹(x_o - mean_o), V the noise in units of σ², by elimination with pivots. */
static void slow_place(double *z, const karma_i_subspace *s, const karma_i_rows *rows, size_t row) {
    size_t r = s->rank, feature[MOST_FEATURES], n;
    double x[MOST_FEATURES], v[MOST_FEATURES], A[8][9] = {{0}};
    assert_true(r <= 8);
    n = observed_features(feature, x, rows, row);
    for (size_t o = 0; o < n; o++) v[o] = s->noise ? s->noise[feature[o]] : 1.0;
    for (size_t a = 0; a < r; a++) {
        for (size_t b = 0; b < r; b++)
            for (size_t o = 0; o < n; o++) A[a][b] += s->W[feature[o] * r + a] * s->W[feature[o] * r + b] / v[o];
        A[a][a] += s->sigma2;
        for (size_t o = 0; o < n; o++) A[a][r] += s->W[feature[o] * r + a] * (x[o] - s->mean[feature[o]]) / v[o];
    }
    for (size_t a = 0; a < r; a++) {
        size_t pivot = a;
        for (size_t b = a; b < r; b++)
            if (fabs(A[b][a]) > fabs(A[pivot][a])) pivot = b;
        for (size_t c = 0; c <= r; c++) {
            double swapped = A[a][c];
            A[a][c] = A[pivot][c];
            A[pivot][c] = swapped;
        }
        for (size_t b = 0; b < r; b++) {
            double factor = b == a ? 0.0 : A[b][a] / A[a][a];
            for (size_t c = a; c <= r; c++) A[b][c] -= factor * A[a][c];
        }
    }
    for (size_t a = 0; a < r; a++) z[a] = A[a][r] / A[a][a];
}

/* The envelopes of hinge and |z - y|, by hand. */
static double slow_smooth(size_t output, double z, double y) {
    double t = SMOOTHING, gap = output % 2 ? fabs(z - y) : 1.0 - y * z;
    if (gap <= 0.0) return 0.0;
    return gap <= t ? gap * gap / (2.0 * t) : gap - 0.5 * t;
}

static double slow_objective(const karma_i_subspace *s, const double *heads, const karma_i_rows *rows,
                             const labelled *l) {
    size_t r = s->rank, n_steps = 0;
    double z[8], sum = 0.0;
    for (size_t i = 0; i < l->n; i++) n_steps += !l->is_held_out[i];
    for (size_t k = 0; k < l->K; k++) {
        const double *head = heads + k * (r + 1);
        double total = 0.0, losses = 0.0, square = 0.0;
        for (size_t i = 0; i < l->n; i++) {
            double weight = l->weights[i * l->K + k], score = head[0];
            if (l->is_held_out[i] || weight == 0.0) continue;
            slow_place(z, s, rows, i);
            for (size_t a = 0; a < r; a++) score += head[a + 1] * z[a];
            losses += weight * slow_smooth(k, score, l->targets[i * l->K + k]);
            total += weight;
        }
        for (size_t a = 0; a < r; a++) square += head[a + 1] * head[a + 1];
        sum += losses / total + 0.5 * RIDGE * (double)r / (double)n_steps * square;
    }
    return sum;
}

/* ---- gradients ---- */

/* Attributes of several features, rows that observe nothing or fewer than r cells, rows without a label of one
 * output or of any, weights; outputs of both tasks. */
static void the_gradient_equals_differences(void **state) {
    (void)state;
    enum { N = 40, R = 3, K = 2 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (int share = 0; share <= 2; share++) {
        row_shape shape = {.n_rows = N, .n_attributes = 7, .every = 3, .width = 2, .share = 0.3 + 0.35 * share};
        karma_i_rows *rows = draw_rows(&shape, &rng);
        size_t d = rows->n_features;
        double mean[MOST_FEATURES], W[MOST_FEATURES * R], by_W[MOST_FEATURES * R], by_mean[MOST_FEATURES];
        double heads[K * (R + 1)], value, unused;
        double noise[MOST_FEATURES];
        karma_i_subspace s = {
            .n_features = d, .rank = R, .mean = mean, .W = W, .sigma2 = 0.3, .noise = share == 1 ? noise : NULL};
        labelled l = new_labels(N, K);
        for (size_t f = 0; f < d; f++) noise[f] = 0.3 + (double)(f % 4);
        for (size_t f = 0; f < d; f++) mean[f] = 0.3 * karma_i_rng_normal(&rng);
        for (size_t k = 0; k < d * R; k++) W[k] = karma_i_rng_normal(&rng);
        for (size_t k = 0; k < K * (R + 1); k++) heads[k] = karma_i_rng_normal(&rng);
        l.losses[1] = loss_of(KARMA_LOSS_ABSOLUTE);
        for (size_t i = 0; i < N; i++) {
            l.targets[i * K] = karma_i_rng_uniform(&rng) < 0.5 ? -1.0 : 1.0;
            l.targets[i * K + 1] = karma_i_rng_normal(&rng);
            for (size_t k = 0; k < K; k++) {
                l.weights[i * K + k] = karma_i_rng_uniform(&rng) < 0.2 ? 0.0 : 0.5 + karma_i_rng_uniform(&rng);
                if (l.weights[i * K + k] == 0.0) l.targets[i * K + k] = NAN;
            }
        }
        assert_int_equal(karma_i_refine_objective(&value, by_W, by_mean, &s, heads, karma_i_rows_all(rows),
                                                  supervision_of(&l), 2, NULL),
                         KARMA_OK);
        check_close(value, slow_objective(&s, heads, rows, &l), 1e-10, "objective");
        assert_int_equal(
            karma_i_refine_objective(&unused, NULL, NULL, &s, heads, karma_i_rows_all(rows), &l.view, 1, NULL),
            KARMA_OK);
        assert_true(unused == value);
        for (size_t p = 0; p < d * (R + 1); p++) {
            double *at = p < d ? mean + p : W + (p - d), kept = *at, step = 1e-6, around[2];
            for (int side = 0; side < 2; side++) {
                *at = kept + (side ? step : -step);
                around[side] = slow_objective(&s, heads, rows, &l);
            }
            *at = kept;
            check_close(p < d ? by_mean[p] : by_W[p - d], (around[1] - around[0]) / (2.0 * step), 2e-6, "derivative");
        }
        free_labels(&l);
        karma_i_rows_free(rows);
    }
}

static void smoothed_losses_are_envelopes(void **state) {
    (void)state;
    for (int kind = KARMA_LOSS_AUTO + 1; kind < KARMA_N_LOSSES; kind++) {
        karma_i_task_loss loss = loss_of((karma_loss_kind)kind);
        for (double z = -3.0; z <= 3.0; z += 0.37)
            for (double y = -1.0; y <= 1.0; y += 2.0) {
                double derivative, unused, least = INFINITY, step = 1e-6;
                double value = karma_i_refine_smooth(&derivative, &loss, z, y);
                for (double other = -8.0; other <= 8.0; other += 1e-3)
                    least = fmin(least,
                                 loss.value(other, y, loss.parameter) + (other - z) * (other - z) / (2.0 * SMOOTHING));
                check_close(value, least, 1e-5, "envelope");
                double above = karma_i_refine_smooth(&unused, &loss, z + step, y);
                double below = karma_i_refine_smooth(&unused, &loss, z - step, y);
                check_close(derivative, (above - below) / (2.0 * step), 1e-5, "its derivative");
            }
    }
}

/* Convex: if no coordinate step lowers it, no step does. */
static void heads_are_the_minimum(void **state) {
    (void)state;
    enum { N = 80, R = 2, K = 2 };
    low_rank p = draw_low_rank(N, 8, R, 0.3, 0.4, 5);
    karma_i_ppca_options options = karma_i_ppca_defaults(R);
    karma_i_subspace *s = fitted(p.rows, &options);
    labelled l = new_labels(N, K);
    double heads[K * (R + 1)];
    l.losses[1] = loss_of(KARMA_LOSS_ABSOLUTE);
    for (size_t i = 0; i < N; i++) {
        l.targets[i * K] = p.truth[i * p.d] > p.mean[0] ? 1.0 : -1.0;
        l.targets[i * K + 1] = p.truth[i * p.d + 1];
    }
    assert_int_equal(karma_i_refine_heads(heads, s, karma_i_rows_all(p.rows), supervision_of(&l), 2, NULL), KARMA_OK);
    double least = slow_objective(s, heads, p.rows, &l);
    for (size_t c = 0; c < K * (R + 1); c++)
        for (double step = -1e-2; step <= 1e-2; step += 2e-2) {
            heads[c] += step;
            assert_true(slow_objective(s, heads, p.rows, &l) > least);
            heads[c] -= step;
        }
    free_labels(&l);
    karma_i_subspace_free(s);
    free_low_rank(&p);
}

/* ---- what is kept ---- */

static karma_i_refinement refined(karma_i_subspace *s, const karma_i_rows *rows, labelled *l, size_t steps,
                                  int threads) {
    karma_i_refinement out;
    karma_error err = {0};
    if (karma_i_refine(s, &out, karma_i_rows_all(rows), supervision_of(l), steps, threads, NULL, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    return out;
}

/* The mean hinge loss of the held-out rows, by heads that are learned from the others. */
static double held_out_loss(const karma_i_subspace *s, const karma_i_rows *rows, labelled *l) {
    double heads[MOST_OUTPUTS * 9], z[8], sum = 0.0, n = 0.0;
    assert_int_equal(karma_i_refine_heads(heads, s, karma_i_rows_all(rows), supervision_of(l), 1, NULL), KARMA_OK);
    for (size_t i = 0; i < l->n; i++) {
        if (!l->is_held_out[i]) continue;
        slow_place(z, s, rows, i);
        for (size_t k = 0; k < l->K; k++) {
            double score = heads[k * (s->rank + 1)];
            for (size_t a = 0; a < s->rank; a++) score += heads[k * (s->rank + 1) + a + 1] * z[a];
            sum += fmax(0.0, 1.0 - l->targets[i * l->K + k] * score);
        }
        n += 1.0;
    }
    return sum / n;
}

static karma_i_subspace copy_of(const karma_i_subspace *s) {
    karma_i_subspace copy = *s;
    size_t d = s->n_features;
    copy.mean = malloc(d * sizeof *copy.mean);
    copy.W = malloc(d * s->rank * sizeof *copy.W);
    assert_true(copy.mean && copy.W);
    memcpy(copy.mean, s->mean, d * sizeof *copy.mean);
    memcpy(copy.W, s->W, d * s->rank * sizeof *copy.W);
    return copy;
}

static int same_bits(const karma_i_subspace *a, const karma_i_subspace *b) {
    return memcmp(a->mean, b->mean, a->n_features * sizeof *a->mean) == 0 &&
           memcmp(a->W, b->W, a->n_features * a->rank * sizeof *a->W) == 0 && a->sigma2 == b->sigma2;
}

static void free_copy(karma_i_subspace *s) {
    free(s->mean);
    free(s->W);
}

/* Random and informative labels, ranks that are too small and too large. */
static void refined_helps_or_is_not_kept(void **state) {
    (void)state;
    enum { N = 160 };
    size_t n_kept = 0, n_refused = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        low_rank p = draw_low_rank(N, 10, 3, 0.2, 0.5, seed);
        karma_i_ppca_options options = karma_i_ppca_defaults(seed % 4 + 1);
        karma_i_subspace *s = fitted(p.rows, &options), before = copy_of(s);
        labelled l = new_labels(N, 1);
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        for (size_t i = 0; i < N; i++)
            l.targets[i] =
                (seed % 3 ? p.truth[i * p.d] - p.mean[0] : karma_i_rng_uniform(&rng) - 0.5) > 0.0 ? 1.0 : -1.0;
        karma_i_refinement r = refined(s, p.rows, &l, 20, 1);
        assert_int_equal(r.n_held_out, N / 4);
        assert_true(r.after <= r.before && r.n_steps <= r.n_tried && r.n_tried <= 20);
        check_close(r.before, held_out_loss(&before, p.rows, &l), 1e-3, "loss before");
        if (r.n_steps) {
            assert_true(r.after < r.before);
            check_close(r.after, held_out_loss(s, p.rows, &l), 1e-3, "loss after");
            n_kept++;
        } else {
            assert_true(same_bits(s, &before));
            n_refused++;
        }
        free_copy(&before);
        karma_i_subspace_free(s);
        free_labels(&l);
        free_low_rank(&p);
    }
    assert_true(n_kept > 0 && n_refused > 0);
}

/* By chance the best of many steps beats none, but not by two standard errors. */
static void chance_is_not_kept(void **state) {
    (void)state;
    enum { N = 120, TRIES = 20 };
    size_t n_better = 0, n_kept = 0;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        low_rank p = draw_low_rank(N, 8, 2, 0.2, 0.4, seed);
        karma_i_ppca_options options = karma_i_ppca_defaults(2);
        karma_i_subspace *s = fitted(p.rows, &options);
        labelled l = new_labels(N, 1);
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed + 100);
        for (size_t i = 0; i < N; i++) l.targets[i] = karma_i_rng_uniform(&rng) < 0.5 ? -1.0 : 1.0;
        karma_i_refinement r = refined(s, p.rows, &l, 20, 1);
        n_better += r.after < r.before;
        n_kept += r.n_steps > 0;
        karma_i_subspace_free(s);
        free_labels(&l);
        free_low_rank(&p);
    }
    assert_true(n_better >= TRIES / 4);
    assert_true(n_kept <= TRIES / 10);
}

/* Two long directions use up the rank, and the label depends on a third, short one. */
static void a_direction_that_only_the_label_wants_is_found(void **state) {
    (void)state;
    enum { N = 600, D = 12, R = 2, LEARN = 400 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 8);
    low_rank p = draw_low_rank(N, D, R, 0.1, 0.0, 8);
    labelled l = new_labels(LEARN, 1);
    double truth[N];
    for (size_t i = 0; i < N; i++) {
        truth[i] = karma_i_rng_normal(&rng);
        for (size_t f = 0; f < D; f++)
            karma_i_dense_of(p.rows)->values[i * D + f] += (float)((f % 2 ? 0.4 : -0.4) * truth[i]);
        for (size_t f = 0; f < D; f++)
            if (karma_i_rng_uniform(&rng) < 0.3) hide(p.rows, i, f);
        if (i < LEARN) l.targets[i] = truth[i] > 0.0 ? 1.0 : -1.0;
    }
    p.rows->n_rows = LEARN;
    karma_i_ppca_options options = karma_i_ppca_defaults(R);
    karma_i_subspace *s = fitted(p.rows, &options);
    double heads[R + 1], z[8], correct[2] = {0.0, 0.0};
    for (int after = 0; after < 2; after++) {
        if (after) assert_true(refined(s, p.rows, &l, 100, 1).n_steps > 0);
        assert_int_equal(karma_i_refine_heads(heads, s, karma_i_rows_all(p.rows), supervision_of(&l), 1, NULL),
                         KARMA_OK);
        for (size_t i = LEARN; i < N; i++) {
            slow_place(z, s, p.rows, i);
            correct[after] += (heads[0] + heads[1] * z[0] + heads[2] * z[1] > 0.0) == (truth[i] > 0.0);
        }
    }
    assert_true(correct[0] < 0.7 * (N - LEARN));
    assert_true(correct[1] > 0.85 * (N - LEARN));
    karma_i_subspace_free(s);
    free_labels(&l);
    free_low_rank(&p);
}

/* ---- special tables ---- */

/* Several outputs; lists of cells; more rows than a batch has. */
static void threads_and_encodings_do_not_change_a_bit(void **state) {
    (void)state;
    enum { N = 1500, K = 3 };
    low_rank p = draw_low_rank(N, 12, 3, 0.2, 0.5, 21);
    karma_i_ppca_options options = karma_i_ppca_defaults(1);
    karma_i_subspace *s = fitted(p.rows, &options);
    karma_i_rows *sparse = as_sparse(p.rows);
    labelled l = new_labels(N, K);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < K; k++) l.targets[i * K + k] = p.truth[i * p.d + k] > p.mean[k] ? 1.0 : -1.0;
    karma_i_subspace one = copy_of(s);
    assert_true(refined(&one, p.rows, &l, 10, 1).n_steps > 0);
    for (int threads = 2; threads <= 5; threads += 3) {
        karma_i_subspace many = copy_of(s);
        (void)refined(&many, threads == 2 ? p.rows : sparse, &l, 10, threads);
        assert_true(same_bits(&many, &one));
        free_copy(&many);
    }
    free_copy(&one);
    karma_i_rows_free(sparse);
    karma_i_subspace_free(s);
    free_labels(&l);
    free_low_rank(&p);
}

static void rows_without_a_label_are_passed_over(void **state) {
    (void)state;
    enum { N = 600 };
    low_rank p = draw_low_rank(N, 10, 3, 0.1, 0.3, 32);
    karma_i_ppca_options options = karma_i_ppca_defaults(1);
    karma_i_subspace *s = fitted(p.rows, &options), a = copy_of(s), b = copy_of(s);
    labelled l = new_labels(N, 1);
    for (size_t i = 0; i < N; i++) {
        l.targets[i] = p.truth[i * p.d] > p.mean[0] ? 1.0 : -1.0;
        if (i % 3 == 0) l.weights[i] = 0.0;
    }
    karma_i_refinement one = refined(&a, p.rows, &l, 30, 1);
    for (size_t i = 0; i < N; i += 3) l.targets[i] = NAN;
    karma_i_refinement other = refined(&b, p.rows, &l, 30, 1);
    assert_true(one.n_steps > 0 && one.n_steps == other.n_steps && one.after == other.after);
    assert_int_equal(one.n_held_out, N / 4 - N / 12);
    assert_true(same_bits(&a, &b));
    free_copy(&a);
    free_copy(&b);
    karma_i_subspace_free(s);
    free_labels(&l);
    free_low_rank(&p);
}

/* Without rank, labels, held-out rows or steps, nothing happens. */
static void nothing_to_do_is_no_error(void **state) {
    (void)state;
    enum { N = 40 };
    for (int which = 0; which < 4; which++) {
        low_rank p = draw_low_rank(N, 6, 2, 0.2, 0.4, 41);
        karma_i_ppca_options options = karma_i_ppca_defaults(which == 0 ? 0 : 2);
        karma_i_subspace *s = fitted(p.rows, &options), before = copy_of(s);
        labelled l = new_labels(N, 1);
        for (size_t i = 0; i < N; i++) {
            l.targets[i] = i % 2 ? 1.0 : -1.0;
            if (which == 1) l.weights[i] = 0.0;
            if (which == 2) l.is_held_out[i] = 0;
        }
        assert_int_equal(refined(s, p.rows, &l, which == 3 ? 0 : 10, 1).n_steps, 0);
        assert_true(same_bits(s, &before));
        free_copy(&before);
        karma_i_subspace_free(s);
        free_labels(&l);
        free_low_rank(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_equals_differences),
        cmocka_unit_test(smoothed_losses_are_envelopes),
        cmocka_unit_test(heads_are_the_minimum),
        cmocka_unit_test(refined_helps_or_is_not_kept),
        cmocka_unit_test(chance_is_not_kept),
        cmocka_unit_test(a_direction_that_only_the_label_wants_is_found),
        cmocka_unit_test(threads_and_encodings_do_not_change_a_bit),
        cmocka_unit_test(rows_without_a_label_are_passed_over),
        cmocka_unit_test(nothing_to_do_is_no_error),
    };
    return cmocka_run_group_tests_name("refine", tests, NULL, NULL);
}
