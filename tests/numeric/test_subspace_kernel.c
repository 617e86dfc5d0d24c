/* The kernel of completions and its sum with the paper's kernel: against completions multiplied in double precision,
 * and against bounds for a larger class of functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "karma/karma.h"
#include "model/fit_task.h"
#include "model/out_of_fold.h"
#include "table/folds.h"
#include "tempfile.h"

/* ---- tables ---- */

static karma_synth_options low_rank_options(int64_t rows, int64_t dim, int64_t rank, int task, int64_t seed) {
    karma_synth_options o;
    karma_options_init(karma_synth_option_table(), &o);
    o.rows = rows, o.dim = dim, o.rank = rank, o.task = task, o.seed = seed;
    o.missing = 0.4, o.noise = 0.1;
    return o;
}

static karma_table *synthesised(const karma_synth_options *options) {
    karma_table *table = NULL;
    karma_error err = {0};
    if (karma_table_synthesise(&table, NULL, options, &err) != KARMA_OK) fail_msg("%s", err.message);
    return table;
}

/* Numbers, related categories of two and five levels, missing cells, and rows with nothing observed. */
static karma_table *mixed_table(void) {
    enum { ROWS = 60, ROOM = 8192 };
    static const char *const fruits[] = {"fig", "kiwi", "lime", "pear", "plum"};
    char text[ROOM];
    size_t used = (size_t)snprintf(text, ROOM, "a,b,c,big,fruit,label\n");
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (int i = 0; i < ROWS; i++) {
        double z = karma_i_rng_normal(&rng), numbers[3];
        size_t fruit = (size_t)fmin(fmax(z + 2.5, 0.0), 4.0);
        for (int k = 0; k < 3; k++) numbers[k] = 10.0 * k + (k + 1) * z + 0.3 * karma_i_rng_normal(&rng);
        for (int k = 0; k < 3; k++)
            used += (size_t)(i % 9 && (i + k) % 3 ? snprintf(text + used, ROOM - used, "%.4f,", numbers[k])
                                                  : snprintf(text + used, ROOM - used, ","));
        used += (size_t)snprintf(text + used, ROOM - used, "%s,%s,%s\n", i % 9 && i % 4 ? (z > 0 ? "yes" : "no") : "",
                                 i % 9 && i % 5 ? fruits[fruit] : "", z > 0.2 ? "up" : "down");
    }
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err = {0};
    karma_options_init(karma_read_option_table(), &o);
    assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "target"), &o, "label", NULL),
                     KARMA_OK);
    temp_create(&file, ".csv", text, used);
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

/* The least width at which rows with so few observed cells are stored as lists of cells. */
static karma_table *sparse_table(void) {
    karma_synth_options o = low_rank_options(40, 256, 2, KARMA_TASK_CLASSIFY, 3);
    o.missing = 0.95;
    return synthesised(&o);
}

static karma_fit_options fit_options(const char *kernel, int64_t rank) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)kernel;
    o.subspace_rank = rank;
    o.threads = 1;
    o.solver = KARMA_SOLVER_BATCH;
    return o;
}

static karma_model *model_of(const karma_table *table, const karma_fit_options *options) {
    karma_model *model = NULL;
    karma_error err = {0};
    if (karma_fit(&model, table, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return model;
}

static double *scores_of(const karma_model *model, const karma_table *table, size_t threads) {
    double *scores = calloc(karma_table_n_rows(table) * karma_model_n_outputs(model) + 1, sizeof *scores);
    karma_error err = {0};
    assert_non_null(scores);
    if (karma_predict(scores, model, table, threads, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    return scores;
}

/* ---- the kernel ---- */

/* The rows' completions under the options, less the mean: n × *n_features. */
static double *centred_completions(size_t *n_features, const karma_table *table, const karma_fit_options *options) {
    karma_i_recipe *recipe = NULL;
    karma_i_rows *rows = NULL;
    karma_error err = {0};
    if (karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_SUBSPACE, options, NULL, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    karma_i_recipe plain = *recipe; /* encodes without storing rows */
    plain.latent = NULL;
    assert_int_equal(karma_i_recipe_apply(&rows, &plain, table, NULL, &err), KARMA_OK);
    const karma_i_subspace *s = recipe->latent->subspace;
    size_t n = rows->n_rows, d = *n_features = s->n_features;
    double *completed = calloc(n * d + 1, sizeof *completed);
    assert_non_null(completed);
    assert_int_equal(karma_i_complete(completed, NULL, s, karma_i_rows_all(rows), 2, &err), KARMA_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < d; f++) completed[i * d + f] -= s->mean[f];
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    return completed;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static void check_gram(const karma_table *table, const karma_fit_options *options, const char *what) {
    size_t n = karma_table_n_rows(table), d = 0;
    double *x = centred_completions(&d, table, options), square = options->bias * options->bias;
    float *gram = calloc(n * n, sizeof *gram);
    karma_gram *values = NULL;
    karma_error err = {0};
    assert_non_null(gram);
    if (karma_gram_new(&values, table, NULL, options, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_gram_rows(gram, values, 0, n, &err), KARMA_OK);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double wanted = dot(x + i * d, x + j * d, d) + square, got = (double)gram[i * n + j];
            double size = sqrt(dot(x + i * d, x + i * d, d) * dot(x + j * d, x + j * d, d)) + square;
            if (!(fabs(got - wanted) <= 2e-6 * size))
                fail_msg("%s: k(%zu, %zu) is %.9g, not %.9g", what, i, j, got, wanted);
        }
    karma_gram_free(values);
    free(gram);
    free(x);
}

static void the_kernel_multiplies_completions(void **state) {
    (void)state;
    static const int64_t ranks[] = {0, 1, 3, 12, (int64_t)KARMA_AUTO}; /* 12: more than dense rows have features */
    karma_synth_options synth = low_rank_options(70, 9, 3, KARMA_TASK_CLASSIFY, 1);
    karma_table *tables[] = {synthesised(&synth), mixed_table(), sparse_table()};
    static const char *const names[] = {"numbers", "categories", "sparse"};
    for (size_t t = 0; t < 3; t++) {
        for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
            for (int bias = 0; bias < 2; bias++) {
                karma_fit_options o = fit_options("subspace", ranks[k]);
                o.bias = bias ? 1.5 : 0.0;
                check_gram(tables[t], &o, names[t]);
            }
        karma_fit_options o = fit_options("subspace", 2);
        o.gamma = 5; /* completions have no holes: nothing depends on it */
        check_gram(tables[t], &o, "gamma");
        o.unit_ball = 1;
        check_gram(tables[t], &o, "unit ball");
        o.unit_ball = 0, o.standardise = 0;
        check_gram(tables[t], &o, "as they are");
        o.standardise = 1, o.encoding = KARMA_ENCODING_POLAR;
        check_gram(tables[t], &o, "polar");
        karma_table_free(tables[t]);
    }
}

/* ---- the union ---- */

static karma_fit_info trained(const karma_table *table, const char *kernel, int task, int loss, double C) {
    karma_fit_options o = fit_options(kernel, 2);
    o.task = task, o.loss = loss, o.C = C, o.tolerance = 1e-5;
    karma_model *model = model_of(table, &o);
    karma_fit_info info = *karma_model_info(model);
    assert_int_equal(info.stop, KARMA_STOP_CONVERGED);
    karma_model_free(model);
    return info;
}

/* The functions of k₁ + μk₂ are the sums f₁ + f₂, of squared norm min |f₁|² + |f₂|²/μ: those of either part are among
 * them with the norm they have there, so the least objective of the sum is at most that of either part. */
static void check_union(const karma_table *table, int task, int loss, double C) {
    karma_fit_info both = trained(table, "linear + 2*subspace(bias=0)", task, loss, C);
    karma_fit_info parts[] = {trained(table, "linear", task, loss, C),
                              trained(table, "2*subspace(bias=0)", task, loss, C)};
    for (int k = 0; k < 2; k++)
        if (!(both.primal <= parts[k].primal + (both.primal - both.dual) + 1e-6 * parts[k].primal))
            fail_msg("C %g, loss %d: the union reaches %.9g, part %d alone %.9g", C, loss, both.primal, k,
                     parts[k].primal);
    if (!(both.dual <= both.primal)) fail_msg("the dual %.9g passes the primal %.9g", both.dual, both.primal);
}

static void the_union_is_never_worse_than_its_parts(void **state) {
    (void)state;
    static const double Cs[] = {0.3, 10.0, 300.0};
    for (int64_t seed = 0; seed < 8; seed++)
        for (int regress = 0; regress < 2; regress++) {
            int task = regress ? KARMA_TASK_REGRESS : KARMA_TASK_CLASSIFY;
            karma_synth_options synth = low_rank_options(40 + 5 * seed, 5 + seed, 1 + seed % 4, task, seed);
            synth.noise = seed % 2 ? 1.0 : 0.1; /* also a subspace with almost no weight */
            synth.missing = 0.1 * (double)(seed + 1);
            karma_table *table = synthesised(&synth);
            for (size_t c = 0; c < 3; c++)
                check_union(table, task, regress ? KARMA_LOSS_SQUARED : KARMA_LOSS_HINGE, Cs[c]);
            karma_table_free(table);
        }
}

/* The alias is the formula, with μ from the options. */
static void union_is_a_name_for_a_sum(void **state) {
    (void)state;
    karma_table *table = mixed_table();
    karma_fit_options named = fit_options("union", 2), spelt = fit_options("linear + 0.25*subspace(bias=0)", 2);
    named.mu = 0.25;
    karma_model *a = model_of(table, &named), *b = model_of(table, &spelt);
    double *x = scores_of(a, table, 1), *y = scores_of(b, table, 1);
    assert_memory_equal(x, y, karma_table_n_rows(table) * sizeof *x);
    free(x), free(y);
    karma_model_free(a), karma_model_free(b);
    karma_table_free(table);
}

/* ---- rows and ranks at the edge ---- */

/* A row with nothing observed is completed by the mean: without a bias it scores 0, with one the bias. */
static void blank_rows_are_average_rows(void **state) {
    (void)state;
    karma_table *table = mixed_table(), *blank = NULL;
    static const char *const names[] = {"a", "b"};
    const double nothing[] = {NAN, NAN};
    assert_int_equal(karma_table_from_array(&blank, nothing, 1, 2, names, NULL), KARMA_OK);
    karma_fit_options o = fit_options("subspace(bias=0)", 2);
    karma_model *model = model_of(table, &o);
    double *score = scores_of(model, blank, 1);
    assert_true(score[0] == 0.0);
    free(score);
    karma_model_free(model);
    o = fit_options("union", 2);
    model = model_of(table, &o);
    score = scores_of(model, blank, 1);
    assert_true(isfinite(score[0]) && score[0] != 0.0);
    free(score);
    karma_model_free(model);
    karma_table_free(blank);
    karma_table_free(table);
}

static void count_notice(void *payload, const char *sentence) {
    if (strstr(sentence, "no subspace was found")) ++*(size_t *)payload;
}

/* Independent columns: rank 0 is chosen, one notice says so, and only the bias is left. */
static void without_a_subspace_only_the_bias_is_left(void **state) {
    (void)state;
    enum { ROWS = 200, COLUMNS = 5 };
    double cells[ROWS * COLUMNS];
    const char *classes[ROWS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 5);
    for (size_t k = 0; k < ROWS * COLUMNS; k++) cells[k] = k % 4 ? karma_i_rng_normal(&rng) : NAN;
    for (size_t i = 0; i < ROWS; i++) classes[i] = i % 3 ? "no" : "yes";
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "y", classes, NULL), KARMA_OK);
    static const char *const kernels[] = {"subspace", "union"};
    for (int k = 0; k < 2; k++)
        for (int given = 0; given < 2; given++) {
            karma_fit_options o = fit_options(kernels[k], given ? 0 : (int64_t)KARMA_AUTO);
            size_t n_notices = 0;
            karma_hooks hooks = {NULL, count_notice, &n_notices};
            karma_model *model = NULL;
            assert_int_equal(karma_fit(&model, table, &o, &hooks, NULL), KARMA_OK);
            assert_int_equal(n_notices, given ? 0 : 1);
            double *scores = scores_of(model, table, 1);
            int differ = 0;
            for (size_t i = 1; i < ROWS; i++) differ |= scores[i] != scores[0];
            assert_int_equal(differ, k);
            free(scores);
            karma_model_free(model);
        }
    karma_table_free(table);
}

static int stop_at_once(void *payload, const char *stage, size_t done, size_t total) {
    (void)payload, (void)stage, (void)done, (void)total;
    return 1;
}

/* Also where the subspace is not the first encoding. */
static void the_search_for_a_rank_can_be_cancelled(void **state) {
    (void)state;
    karma_table *table = mixed_table();
    static const char *const kernels[] = {"subspace", "union"};
    for (int k = 0; k < 2; k++) {
        karma_fit_options o = fit_options(kernels[k], (int64_t)KARMA_AUTO);
        karma_hooks hooks = {stop_at_once, NULL, NULL};
        karma_model *model = NULL;
        karma_error err = {0};
        assert_int_equal(karma_fit(&model, table, &o, &hooks, &err), KARMA_ERR_CANCELLED);
        assert_non_null(strstr(err.message, "the rank was chosen"));
    }
    karma_table_free(table);
}

/* ---- folds, threads, repetition ---- */

/* Out-of-fold scores are those of models whose subspace was also learned without the fold. */
static void folds_learn_a_subspace_of_their_own(void **state) {
    (void)state;
    enum { ROWS = 60, FOLDS = 3 };
    karma_synth_options synth = low_rank_options(ROWS, 8, 2, KARMA_TASK_REGRESS, 2);
    karma_table *table = synthesised(&synth);
    karma_fit_options o = fit_options("union", 2);
    o.task = KARMA_TASK_REGRESS, o.folds = FOLDS;
    karma_model *model = model_of(table, &o);
    double scores[ROWS], targets[ROWS];
    size_t fold[ROWS], stratum[ROWS], train[ROWS], test[ROWS], n_train, n_test;
    int cancelled = 0;
    assert_int_equal(karma_i_out_of_fold(scores, &cancelled, &model->task, &model->plan, table, NULL, NULL, NULL),
                     KARMA_OK);
    for (size_t i = 0; i < ROWS; i++) assert_true(karma_table_target(table, 0, i, &targets[i]));
    assert_int_equal(karma_i_folds_bins(stratum, targets, ROWS, ROWS / FOLDS, NULL), KARMA_OK);
    assert_int_equal(karma_i_folds_assign(fold, ROWS, FOLDS, stratum, ROWS / FOLDS, (uint64_t)o.seed, NULL), KARMA_OK);
    for (size_t f = 0; f < FOLDS; f++) {
        karma_table *seen = NULL, *unseen = NULL;
        karma_model *part = NULL;
        karma_i_folds_split(train, &n_train, test, &n_test, fold, ROWS, f);
        assert_int_equal(karma_table_select(&seen, table, train, n_train, NULL), KARMA_OK);
        assert_int_equal(karma_table_select(&unseen, table, test, n_test, NULL), KARMA_OK);
        assert_int_equal(karma_i_fit_task(&part, &model->task, &model->plan, seen, NULL, NULL, NULL, NULL), KARMA_OK);
        const karma_i_subspace *own = part->encoder.recipes[1]->latent->subspace;
        const karma_i_subspace *whole = model->encoder.recipes[1]->latent->subspace;
        assert_memory_not_equal(own->W, whole->W, own->n_features * own->rank * sizeof *own->W);
        double *wanted = scores_of(part, unseen, 1);
        for (size_t i = 0; i < n_test; i++) assert_true(scores[test[i]] == wanted[i]);
        free(wanted);
        karma_model_free(part);
        karma_table_free(seen);
        karma_table_free(unseen);
    }
    karma_model_free(model);
    karma_table_free(table);
}

static void probabilities_come_with_it(void **state) {
    (void)state;
    karma_table *table = mixed_table();
    static const char *const kernels[] = {"subspace", "union", "rank + 0.5*subspace"};
    for (int k = 0; k < 3; k++) {
        karma_fit_options o = fit_options(kernels[k], (int64_t)KARMA_AUTO);
        o.probabilities = KARMA_CALIBRATE_SIGMOID, o.folds = 3;
        karma_model *model = model_of(table, &o);
        double *scores = scores_of(model, table, 1), right = 0.0, p[2], truth;
        for (size_t i = 0; i < karma_table_n_rows(table); i++) {
            assert_true(karma_model_probabilities(model, 0, scores + i, p));
            assert_true(p[0] >= 0.0 && p[1] >= 0.0 && fabs(p[0] + p[1] - 1.0) < 1e-12);
            assert_true(karma_table_target(table, 0, i, &truth));
            right += p[(size_t)truth];
        }
        assert_true(right > 0.65 * (double)karma_table_n_rows(table)); /* mean probability of the right class */
        free(scores);
        karma_model_free(model);
    }
    karma_table_free(table);
}

/* The rank is chosen, which takes most of the time, for one kernel; the first table has more rows than are judged at
 * once. */
static void threads_and_repetition_change_nothing(void **state) {
    (void)state;
    static const char *const kernels[] = {"subspace", "union", "rank + 0.5*subspace"};
    karma_synth_options synth = low_rank_options(700, 12, 3, KARMA_TASK_CLASSIFY, 6);
    karma_table *tables[] = {synthesised(&synth), mixed_table(), sparse_table()};
    for (size_t t = 0; t < 3; t++) {
        size_t n = karma_table_n_rows(tables[t]);
        for (int k = 0; k < 3; k++) {
            double *first = NULL;
            for (int64_t threads = 1; threads <= 4; threads++) {
                karma_fit_options o = fit_options(kernels[k], k == 1 ? (int64_t)KARMA_AUTO : 3);
                o.threads = threads < 4 ? threads : 1; /* and once more */
                karma_model *model = model_of(tables[t], &o);
                double *scores = scores_of(model, tables[t], (size_t)o.threads);
                if (first)
                    assert_memory_equal(scores, first, n * sizeof *first);
                else
                    first = scores;
                if (scores != first) free(scores);
                karma_model_free(model);
            }
            free(first);
        }
        karma_table_free(tables[t]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_multiplies_completions),
        cmocka_unit_test(the_union_is_never_worse_than_its_parts),
        cmocka_unit_test(union_is_a_name_for_a_sum),
        cmocka_unit_test(blank_rows_are_average_rows),
        cmocka_unit_test(without_a_subspace_only_the_bias_is_left),
        cmocka_unit_test(the_search_for_a_rank_can_be_cancelled),
        cmocka_unit_test(folds_learn_a_subspace_of_their_own),
        cmocka_unit_test(probabilities_come_with_it),
        cmocka_unit_test(threads_and_repetition_change_nothing),
    };
    return cmocka_run_group_tests_name("subspace_kernel", tests, NULL, NULL);
}
