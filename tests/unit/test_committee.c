/* Committees: what --kernel says of several machines, and models that are their weighted mean. The oracle is each
 * machine learned alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/committee.h"
#include "labelled.h"
#include "model/model.h"
#include "tempfile.h"

/* --- the grammar --------------------------------------------------------------------------------------- */

static karma_fit_options options_for(const char *kernel) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)(uintptr_t)kernel; /* never cleared, so not owned */
    o.threads = 1;
    return o;
}

/* A text, and what it must be taken for: machines as "member:factor:weight", weights before they sum to 1. */
typedef struct reading {
    const char *text;
    size_t n_members, n_machines, n_kinds;
    struct {
        size_t member;
        double factor, weight;
    } machines[4];
} reading;

static void texts_are_taken_apart(void **state) {
    (void)state;
    static const reading readings[] = {
        {"linear", 1, 1, 1, {{0, 1, 1}}},
        {"linear@10", 1, 1, 1, {{0, 10, 1}}},
        {" linear @ 1 , 10:0.5 ", 1, 2, 1, {{0, 1, 1}, {0, 10, 0.5}}},
        {"rank(outer=rbf) @ 1,10:0.5 | linear", 2, 3, 2, {{0, 1, 1}, {0, 10, 0.5}, {1, 1, 1}}},
        {"linear | rank | linear(gamma=1) @ 1e-3:2", 3, 3, 2, {{0, 1, 1}, {1, 1, 1}, {2, 1e-3, 2}}},
        {"linear + 0.5*rank @ 2:3\t|\tsubspace @ 0.1:1,0.2:2", 2, 3, 3, {{0, 2, 3}, {1, 0.1, 1}, {1, 0.2, 2}}},
        {"union | rank", 2, 2, 3, {{0, 1, 1}, {1, 1, 1}}},
    };
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const reading *r = &readings[i];
        karma_fit_options o = options_for(r->text);
        karma_i_committee c;
        karma_error err;
        if (karma_i_committee_parse(&c, &o, &err) != KARMA_OK) fail_msg("'%s': %s", r->text, err.message);
        assert_int_equal(c.n, r->n_members);
        assert_int_equal(c.n_kinds, r->n_kinds);
        double sum = 0.0, all = 0.0;
        for (size_t k = 0; k < r->n_machines; k++) sum += r->machines[k].weight;
        size_t at = 0;
        for (size_t m = 0; m < c.n; m++)
            for (size_t k = 0; k < c.paths[m].n; k++, at++) {
                assert_true(at < r->n_machines && r->machines[at].member == m);
                assert_true(c.paths[m].factors[k] == r->machines[at].factor);
                assert_true(fabs(c.paths[m].weights[k] - r->machines[at].weight / sum) < 1e-15);
                all += c.paths[m].weights[k];
            }
        assert_int_equal(at, r->n_machines);
        assert_true(fabs(all - 1.0) < 1e-14);
        for (size_t m = 0; m < c.n; m++) /* encodings are numbered for all members together */
            for (size_t f = 0; f < c.formulas[m].n_factors; f++)
                assert_int_equal(c.kinds[c.formulas[m].factors[f].encoding], c.formulas[m].factors[f].kind);
        karma_i_committee_clear(&c);
    }
}

static void wrong_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } wrongs[] = {
        {"linear @", "ascending multiples"},
        {"linear @ ", "ascending multiples"},
        {"linear @ x", "'x' after '@'"},
        {"linear @ 0", "ascending multiples"},
        {"linear @ -1", "ascending multiples"},
        {"linear @ nan", "ascending multiples"},
        {"linear @ inf", "ascending multiples"},
        {"linear @ 1,1", "ascending multiples"},
        {"linear @ 2,1", "ascending multiples"},
        {"linear @ 1,", "ascending multiples"},
        {"linear @ 1:0", "ascending multiples"},
        {"linear @ 1:-2", "ascending multiples"},
        {"linear @ 1:", "ascending multiples"},
        {"linear @ 1:2:3", "ascending multiples"},
        {"linear @ 1 @ 2", "ascending multiples"},
        {"linear @ 1e300", "ascending multiples"},
        {"linear @ 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16"},
        {"@ 1", "--kernel"},
        {"", "--kernel"},
        {"linear |", "--kernel"},
        {"| linear", "--kernel"},
        {"linear || rank", "--kernel"},
        {"linear | cubic", "cubic"},
        {"linear | precomputed", "a precomputed kernel stands alone"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        karma_fit_options o = options_for(wrongs[i].text);
        karma_i_committee c = {.n = 77};
        karma_error err;
        if (karma_i_committee_parse(&c, &o, &err) != KARMA_ERR_OPTION) fail_msg("'%s' is taken", wrongs[i].text);
        assert_int_equal(c.n, 77);
        if (!strstr(err.message, wrongs[i].says)) fail_msg("'%s': %s", wrongs[i].text, err.message);
    }
}

static void too_many_members_are_refused(void **state) {
    (void)state;
    char text[64 * 10 + 16] = "linear";
    for (size_t m = 1; m < 64; m++) strcat(text, "|linear");
    karma_fit_options o = options_for(text);
    karma_i_committee c;
    karma_error err;
    assert_int_equal(karma_i_committee_parse(&c, &o, &err), KARMA_OK);
    assert_int_equal(c.n, 64);
    karma_i_committee_clear(&c);
    strcat(text, "|rank");
    assert_int_equal(karma_i_committee_parse(&c, &o, &err), KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "more than 64 members"));
    char *longer = calloc(20001, 1);
    memset(longer, ' ', 20000);
    memcpy(longer, "linear", 6);
    o = options_for(longer);
    assert_int_equal(karma_i_committee_parse(&c, &o, &err), KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "too long"));
    free(longer);
}

/* --- the mean of machines ------------------------------------------------------------------------------ */

static karma_model *fitted(const karma_table *table, const char *kernel) {
    karma_fit_options o = options_for(kernel);
    karma_model *model = NULL;
    karma_error err;
    o.tolerance = 1e-10;
    o.passes = 100000;
    o.subspace_rank = 2;
    if (karma_fit(&model, table, &o, NULL, &err) != KARMA_OK) fail_msg("'%s': %s", kernel, err.message);
    assert_int_equal(karma_model_info(model)->stop, KARMA_STOP_CONVERGED);
    return model;
}

static double *scores_of(const karma_model *model, const karma_table *table) {
    double *scores = malloc(karma_table_n_rows(table) * karma_model_n_outputs(model) * sizeof *scores);
    assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
    return scores;
}

static const char COMMITTEE[] =
    "linear(gamma=1) @ 0.1,10:0.5 | rank(outer=rbf) @ 1:2 | linear(gamma=3) + 0.5*subspace @ 3";
static const struct {
    const char *kernel;
    double weight;
} machines[] = {{"linear(gamma=1) @ 0.1", 1.0},
                {"linear(gamma=1) @ 10", 0.5},
                {"rank(outer=rbf) @ 1", 2.0},
                {"linear(gamma=3) + 0.5*subspace @ 3", 1.0}};

static void check_mean(const karma_table *table, const karma_table *later) {
    karma_model *together = fitted(table, COMMITTEE);
    size_t n = karma_table_n_rows(later) * karma_model_n_outputs(together);
    double *got = scores_of(together, later), *wanted = calloc(n, sizeof *wanted), spread = 0.0;
    assert_int_equal(together->n_members, 3);
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        karma_model *alone = fitted(table, machines[m].kernel);
        double *own = scores_of(alone, later);
        for (size_t i = 0; i < n; i++) wanted[i] += machines[m].weight / 4.5 * own[i];
        free(own);
        karma_model_free(alone);
    }
    for (size_t i = 0; i < n; i++) spread = fmax(spread, fabs(wanted[i] - wanted[i % karma_model_n_outputs(together)]));
    assert_true(spread > 0.1); /* they say something */
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - wanted[i]) <= 1e-4 * fmax(1.0, spread)))
            fail_msg("score %zu is %.9g, the mean of the machines' %.9g", i, got[i], wanted[i]);
    free(got);
    free(wanted);
    karma_model_free(together);
}

static karma_table *several_targets(size_t n_rows, uint64_t seed) {
    table_plan plan = {n_rows, 4, 1, 6, 0.75, 0, 1.0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    double *hidden = malloc(n_rows * sizeof *hidden);
    karma_table *table = draw_attributes(&plan, hidden, &rng);
    add_drawn_target(table, "two", 2, 1.0, hidden, &rng);
    add_drawn_target(table, "number", 0, 2.0, hidden, &rng);
    add_drawn_target(table, "three", 3, 1.0, hidden, &rng);
    free(hidden);
    return table;
}

static void scores_are_the_mean_of_the_machines(void **state) {
    (void)state;
    static const size_t n_classes[] = {2, 3, 0};
    for (size_t k = 0; k < 3; k++) {
        table_plan plan = {45, 4, 1, 6, 0.75, n_classes[k], 1.5};
        karma_table *table = draw_labelled(&plan, 5 + k), *later = draw_labelled(&plan, 50 + k);
        check_mean(table, later);
        karma_table_free(table);
        karma_table_free(later);
    }
    karma_table *table = several_targets(45, 8), *later = several_targets(20, 9);
    check_mean(table, later);
    karma_table_free(table);
    karma_table_free(later);
}

/* One machine with a weight is that machine; and so are two of the same. */
static void weights_of_equal_machines_do_not_matter(void **state) {
    (void)state;
    table_plan plan = {45, 4, 1, 6, 0.75, 2, 1.5};
    karma_table *table = draw_labelled(&plan, 5);
    karma_model *one = fitted(table, "linear @ 3"), *weighted = fitted(table, "linear @ 3:0.1"),
                *twice = fitted(table, "linear @ 3:0.1 | linear @ 3:7");
    double *a = scores_of(one, table), *b = scores_of(weighted, table), *c = scores_of(twice, table);
    for (size_t i = 0; i < 45; i++) {
        assert_true(a[i] == b[i]);
        assert_true(fabs(a[i] - c[i]) < 1e-12 * (1.0 + fabs(a[i])));
    }
    free(a);
    free(b);
    free(c);
    karma_model_free(one);
    karma_model_free(weighted);
    karma_model_free(twice);
    karma_table_free(table);
}

/* The matrix that is computed once for all C of a kernel may not fit: rows are then computed as they are wanted. */
static void memory_does_not_matter(void **state) {
    (void)state;
    table_plan plan = {60, 4, 1, 6, 0.75, 2, 1.5};
    karma_table *table = draw_labelled(&plan, 6);
    double *scores[2];
    for (int little = 0; little < 2; little++) {
        karma_fit_options o = options_for("linear @ 0.1,1,10 | rank");
        karma_model *model = NULL;
        o.tolerance = 1e-10;
        o.solver = KARMA_SOLVER_BATCH;
        if (little) o.memory = 1e-5; /* ten kilobytes, 60 rows want 14 */
        assert_int_equal(karma_fit(&model, table, &o, NULL, NULL), KARMA_OK);
        scores[little] = scores_of(model, table);
        karma_model_free(model);
    }
    for (size_t i = 0; i < 60; i++) assert_true(fabs(scores[0][i] - scores[1][i]) < 1e-4);
    free(scores[0]);
    free(scores[1]);
    karma_table_free(table);
}

/* --- files --------------------------------------------------------------------------------------------- */

static void files_keep_every_bit(void **state) {
    (void)state;
    karma_table *table = several_targets(45, 8), *later = several_targets(20, 9);
    karma_model *model = fitted(table, COMMITTEE), *again = NULL;
    temp_file file;
    karma_error err;
    temp_create(&file, ".karma", "", 0);
    assert_int_equal(karma_model_save(model, file.path, NULL), KARMA_OK);
    if (karma_model_load(&again, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    double *a = scores_of(model, later), *b = scores_of(again, later);
    assert_memory_equal(a, b, 20 * karma_model_n_outputs(model) * sizeof *a);
    assert_int_equal(again->n_members, 3);
    assert_string_equal(karma_model_options(again)->kernel, COMMITTEE);
    assert_null(karma_model_search(again));
    free(a);
    free(b);
    temp_remove(&file);
    karma_model_free(model);
    karma_model_free(again);
    karma_table_free(table);
    karma_table_free(later);
}

/* --- explanations -------------------------------------------------------------------------------------- */

/* Of plain kernels the parts are exact sums; of others Shapley values, which sum to the score as well. */
static void explanations_sum_to_the_score(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        int is_split;
    } cases[] = {{"linear(gamma=1) @ 0.1,10:0.5 | rank(gamma=2) @ 3:2 | linear", 1},
                 {"linear(gamma=1) | rank(outer=rbf) @ 1,10", 0}};
    static const karma_explain_options explaining = {.samples = 4, .repeats = 2, .seed = 1, .threads = 1};
    karma_table *table = several_targets(45, 8);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        karma_model *model = fitted(table, cases[k].kernel);
        size_t K = karma_model_n_outputs(model);
        double *scores = scores_of(model, table);
        karma_explanations e;
        assert_int_equal(karma_explain(&e, model, table, &explaining, NULL, NULL), KARMA_OK);
        assert_int_equal(e.is_split, cases[k].is_split);
        assert_int_equal(e.start[45], karma_table_n_observed(table));
        for (size_t i = 0; i < 45; i++)
            for (size_t o = 0; o < K; o++) {
                double sum = e.bias[i * K + o];
                for (size_t p = e.start[i]; p < e.start[i + 1]; p++) sum += e.contribution[p * K + o];
                if (!(fabs(sum - scores[i * K + o]) <= 1e-4 * fmax(1.0, fabs(sum))))
                    fail_msg("'%s': row %zu, output %zu: parts sum to %.9g, the score is %.9g", cases[k].kernel, i, o,
                             sum, scores[i * K + o]);
            }
        karma_explanations_clear(&e);
        free(scores);
        karma_model_free(model);
    }
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_taken_apart),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(too_many_members_are_refused),
        cmocka_unit_test(scores_are_the_mean_of_the_machines),
        cmocka_unit_test(weights_of_equal_machines_do_not_matter),
        cmocka_unit_test(memory_does_not_matter),
        cmocka_unit_test(files_keep_every_bit),
        cmocka_unit_test(explanations_sum_to_the_score),
    };
    return cmocka_run_group_tests_name("committee", tests, NULL, NULL);
}
