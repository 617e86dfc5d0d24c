/* The race against its definition: every candidate is learned and judged alone, fold by fold, by code that uses no
 * parts, paths or races. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labelled.h"
#include "model/out_of_fold.h"
#include "search/candidates.h"
#include "search/choose.h"
#include "search/goal.h"
#include "search/shorten.h"

enum { FOLDS = 4 };

static const karma_i_C_grid PATH = {3, {0.1, 1, 30}, {0}};

static karma_fit_options tight_options(int threads) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.threads = threads;
    o.folds = FOLDS;
    o.seed = 5;
    o.tolerance = 1e-9;
    o.passes = 20000;
    o.subspace_rank = 2;
    return o;
}

/* A race and everything that it borrows. */
typedef struct racing {
    karma_i_task task;
    karma_i_folds folds;
    karma_i_judge judge;
    karma_i_race race;
} racing;

static void add(racing *r, const char *kernel, const karma_i_C_grid *path) {
    karma_i_plan plan;
    karma_error err;
    if (karma_i_plan_parse(&plan, kernel, &r->task.options, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_i_race_add(&r->race, &plan.members[0].kernel, path, NULL), KARMA_OK);
    karma_i_plan_clear(&plan);
}

/* Caller frees. */
static char *kernel_of(const karma_i_race *race, size_t entry) {
    char *text = karma_i_plan_kernel_text(&race->entries[entry].kernel);
    assert_non_null(text);
    return text;
}

static void start(racing *r, const karma_table *table, const karma_fit_options *o, size_t n_repeats,
                  const char *const *kernels, size_t n) {
    karma_goal goal;
    karma_error err;
    *r = (racing){0};
    if (karma_i_task_learn(&r->task, table, o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(karma_i_goal_resolve(&goal, KARMA_GOAL_AUTO, &r->task, NULL), KARMA_OK);
    assert_int_equal(karma_i_judge_init(&r->judge, goal, &r->task, table, NULL), KARMA_OK);
    assert_int_equal(karma_i_folds_init(&r->folds, &r->task, table, FOLDS, n_repeats, (uint64_t)o->seed, 1, NULL),
                     KARMA_OK);
    r->race = karma_i_race_start(&r->task, &r->folds, karma_i_goal_value, &r->judge);
    for (size_t k = 0; k < n; k++) add(r, kernels[k], &PATH);
}

static void run(racing *r) {
    while (r->race.n_done < karma_i_folds_count(&r->folds)) {
        int stopped;
        karma_error err;
        if (karma_i_race_fold(&r->race, NULL, NULL, &stopped, &err) != KARMA_OK) fail_msg("%s", err.message);
        assert_int_equal(stopped, 0);
    }
}

static void finish(racing *r) {
    karma_i_race_clear(&r->race);
    karma_i_folds_clear(&r->folds);
    karma_i_judge_clear(&r->judge);
    karma_i_task_clear(&r->task);
}

static const char *const KERNELS[] = {
    "linear(gamma=1)",
    "linear(gamma=3)",
    "rank(gamma=2,outer=rbf,width=1)",
    "subspace(bias=0)",
    "rank",
    "linear(outer=poly)",
    "linear(gamma=1) + 10*subspace(bias=0)",
    "linear(outer=laplace) + rank",
};
enum { N_KERNELS = sizeof KERNELS / sizeof KERNELS[0] };

/* --- scores -------------------------------------------------------------------------------------------- */

/* Scores of one machine for rows that were not in training. */
static double *out_of_fold(const karma_table *table, const karma_fit_options *options, const char *kernel, double C) {
    char text[200];
    karma_fit_options o = *options;
    karma_i_task task;
    karma_i_plan plan;
    int cancelled;
    (void)snprintf(text, sizeof text, "%s @ %g", kernel, C);
    o.kernel = text;
    assert_int_equal(karma_i_task_learn(&task, table, &o, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_plan_parse(&plan, text, &o, NULL), KARMA_OK);
    double *scores = malloc(karma_table_n_rows(table) * task.n_outputs * sizeof *scores);
    assert_int_equal(karma_i_out_of_fold(scores, &cancelled, &task, &plan, table, NULL, NULL, NULL), KARMA_OK);
    karma_i_plan_clear(&plan);
    karma_i_task_clear(&task);
    return scores;
}

static void check_runs(const karma_table *table, const char *const *kernels, size_t n_kernels) {
    karma_fit_options o = tight_options(1);
    racing r;
    start(&r, table, &o, 1, kernels, n_kernels);
    run(&r);
    size_t K = r.task.n_outputs, n = karma_table_n_rows(table) * K;
    assert_int_equal(r.race.n_runs, n_kernels * PATH.n);
    for (size_t c = 0; c < n_kernels * PATH.n; c++) {
        const karma_i_race_run *one = &r.race.runs[c];
        const char *kernel = kernels[c / PATH.n];
        double *wanted = out_of_fold(table, &o, kernel, PATH.factors[c % PATH.n]), spread = 0.0;
        for (size_t i = 0; i < n; i++) spread = fmax(spread, fabs(wanted[i] - wanted[i % K]));
        assert_true(spread > 0.0);
        for (size_t i = 0; i < n; i++)
            if (!(fabs((double)one->scores[i] - wanted[i]) <= 2e-4 * fmax(0.1, spread)))
                fail_msg("%s @ %g, score %zu: %.9g in the race, %.9g alone", kernel, one->C_factor, i,
                         (double)one->scores[i], wanted[i]);
        free(wanted);
    }
    finish(&r);
}

static void scores_are_those_of_models_alone(void **state) {
    (void)state;
    static const table_plan plans[] = {
        {48, 4, 2, 6, 0.7, 2, 1.5}, {48, 4, 1, 2, 0.7, 3, 1.5}, {48, 5, 1, 6, 0.8, 0, 1.5}};
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++) {
        karma_table *table = draw_labelled(&plans[p], 3 + p);
        double weights[48];
        for (size_t i = 0; i < 48; i++) weights[i] = 0.5 + (double)(i % 3);
        if (p) assert_int_equal(karma_table_set_row_weights(table, weights, NULL), KARMA_OK);
        check_runs(table, KERNELS, N_KERNELS);
        karma_table_free(table);
    }
}

/* Given kernel values have no parts. */
static void scores_of_given_kernels_are_too(void **state) {
    (void)state;
    table_plan plan = {40, 4, 1, 6, 0.7, 2, 1.5};
    static const char *const given[] = {"precomputed"};
    karma_table *table = draw_labelled(&plan, 9);
    karma_fit_options o = tight_options(1);
    karma_gram *gram = NULL;
    float values[40 * 40];
    assert_int_equal(karma_gram_new(&gram, table, NULL, &o, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_gram_rows(values, gram, 0, 40, NULL), KARMA_OK);
    assert_int_equal(karma_table_set_gram(table, values, 40, NULL), KARMA_OK);
    check_runs(table, given, 1);
    karma_gram_free(gram);
    karma_table_free(table);
}

/* Few observed cells in many numeric columns: sparse rows. */
static void scores_of_sparse_rows_are_too(void **state) {
    (void)state;
    enum { N = 40, D = 400 };
    static const char *const linear[] = {"linear(gamma=1)", "linear(gamma=2,outer=rbf)"};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    double *cells = malloc(N * D * sizeof *cells);
    const char *classes[N];
    for (size_t i = 0; i < N * D; i++) cells[i] = NAN;
    for (size_t i = 0; i < N; i++) {
        for (size_t c = 0; c < 12; c++)
            cells[i * D + karma_i_rng_below(&rng, 40)] = karma_i_rng_normal(&rng) + (double)(i % 2);
        cells[i * D + 40 + karma_i_rng_below(&rng, D - 40)] = 1.0;
        classes[i] = i % 2 ? "yes" : "no";
    }
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, N, D, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_add_target_classes(table, "label", classes, NULL), KARMA_OK);
    check_runs(table, linear, 2);
    karma_table_free(table);
    free(cells);
}

/* --- values -------------------------------------------------------------------------------------------- */

/* Accuracy and R2 of every fold, counted here from the scores. */
static void values_are_those_of_the_scores(void **state) {
    (void)state;
    for (size_t n_classes = 0; n_classes <= 2; n_classes += 2) {
        table_plan plan = {60, 4, 1, 6, 0.7, n_classes, 1.0};
        karma_table *table = draw_labelled(&plan, 12);
        karma_fit_options o = tight_options(1);
        racing r;
        start(&r, table, &o, 2, KERNELS, 2);
        run(&r);
        for (size_t c = 0; c < r.race.n_runs; c++)
            for (size_t f = 0; f < 2 * FOLDS; f++) {
                double n = 0.0, right = 0.0, sum = 0.0, squares = 0.0, errors = 0.0;
                for (size_t i = 0; i < 60; i++) {
                    if (r.folds.fold[f / FOLDS * 60 + i] != f % FOLDS) continue;
                    double y, score = (double)r.race.runs[c].scores[f / FOLDS * 60 + i];
                    assert_true(karma_table_target(table, 0, i, &y));
                    n += 1.0;
                    right += (score > 0.0) == (y > 0.5);
                    sum += y;
                    squares += y * y;
                    errors += (score - y) * (score - y);
                }
                double wanted = n_classes ? right / n : 1.0 - errors / (squares - sum * sum / n);
                assert_true(fabs(r.race.runs[c].values[f] - wanted) < 1e-5 * fmax(1.0, fabs(wanted)));
            }
        finish(&r);
        karma_table_free(table);
    }
}

/* --- folds --------------------------------------------------------------------------------------------- */

static void repeats_have_folds_of_their_own(void **state) {
    (void)state;
    table_plan plan = {40, 3, 0, 0, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    racing a, b, c;
    start(&a, table, &o, 3, KERNELS, 1);
    o.threads = 3;
    start(&b, table, &o, 3, KERNELS, 1);
    o.seed = 6;
    start(&c, table, &o, 3, KERNELS, 1);
    assert_memory_equal(a.folds.fold, b.folds.fold, 3 * 40 * sizeof(size_t));
    assert_true(memcmp(a.folds.fold, c.folds.fold, 40 * sizeof(size_t)) != 0);
    assert_true(memcmp(a.folds.fold, a.folds.fold + 40, 40 * sizeof(size_t)) != 0);
    assert_true(memcmp(a.folds.fold + 40, a.folds.fold + 80, 40 * sizeof(size_t)) != 0);
    for (size_t i = 0; i < 120; i++) assert_true(a.folds.fold[i] < FOLDS);
    finish(&a);
    finish(&b);
    finish(&c);
    karma_table_free(table);
}

static void threads_do_not_change_a_bit(void **state) {
    (void)state;
    table_plan plan = {60, 4, 2, 6, 0.7, 3, 1.0};
    karma_table *table = draw_labelled(&plan, 7);
    racing one, more;
    karma_fit_options o = tight_options(1);
    o.tolerance = 1e-3;
    start(&one, table, &o, 1, KERNELS, N_KERNELS);
    o.threads = 3;
    start(&more, table, &o, 1, KERNELS, N_KERNELS);
    run(&one);
    run(&more);
    for (size_t c = 0; c < one.race.n_runs; c++) {
        assert_memory_equal(one.race.runs[c].scores, more.race.runs[c].scores, 60 * 3 * sizeof(float));
        assert_memory_equal(one.race.runs[c].values, more.race.runs[c].values, FOLDS * sizeof(double));
    }
    finish(&one);
    finish(&more);
    karma_table_free(table);
}

/* --- leaks --------------------------------------------------------------------------------------------- */

/* A row that is left out does not change the scores of other rows that are left out with it: not by its cells or its
 * label, and not through means, ranks, subspaces, spreads, overlaps or C. */
static void left_out_rows_teach_nothing(void **state) {
    (void)state;
    enum { N = 40 };
    table_plan plan = {N, 5, 2, 6, 0.7, 2, 1.0};
    karma_table *tables[2] = {draw_labelled(&plan, 15), draw_labelled(&plan, 15)};
    size_t strange = 7;
    /* all numbers beyond the others, all categories the last one, and the other class */
    for (size_t c = tables[1]->row_start[strange]; c < tables[1]->row_start[strange + 1]; c++)
        tables[1]->cell_value[c] = tables[1]->cell_owner[c] < 5 ? 1e6 : 5.0;
    tables[1]->targets[0].value[strange] = 1.0 - tables[1]->targets[0].value[strange];
    racing r[2];
    for (int k = 0; k < 2; k++) {
        int stopped;
        karma_fit_options o = tight_options(1);
        start(&r[k], tables[k], &o, 1, KERNELS, N_KERNELS);
        for (size_t i = 0; i < N; i++) r[k].folds.fold[i] = i % 3 == strange % 3 ? 0 : 1 + i % 2;
        assert_int_equal(karma_i_race_fold(&r[k].race, NULL, NULL, &stopped, NULL), KARMA_OK);
    }
    for (size_t c = 0; c < r[0].race.n_runs; c++)
        for (size_t i = strange % 3; i < N; i += 3) {
            float a = r[0].race.runs[c].scores[i], b = r[1].race.runs[c].scores[i];
            if (i != strange && a != b)
                fail_msg("%s: row %zu has the score %.9g, and %.9g beside another row", KERNELS[c / PATH.n], i,
                         (double)a, (double)b);
        }
    for (int k = 0; k < 2; k++) {
        finish(&r[k]);
        karma_table_free(tables[k]);
    }
}

/* --- stopping ------------------------------------------------------------------------------------------ */

typedef struct stopper {
    size_t calls, from;
} stopper;

static int stop_from(void *payload, size_t n_judged, size_t n_entries, const char *kernel) {
    stopper *s = payload;
    assert_non_null(kernel);
    assert_true(n_entries == 0 || (n_judged > 0 && n_judged < n_entries));
    return n_entries > 0 && ++s->calls >= s->from;
}

static void a_stop_in_the_first_fold_keeps_what_was_judged(void **state) {
    (void)state;
    table_plan plan = {40, 4, 0, 0, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    racing r;
    int stopped;
    stopper s = {0, 2};
    start(&r, table, &o, 1, KERNELS, 5);
    assert_int_equal(karma_i_race_fold(&r.race, stop_from, &s, &stopped, NULL), KARMA_OK);
    assert_true(stopped);
    assert_int_equal(r.race.n_done, 1);
    for (size_t e = 0; e < 5; e++) {
        assert_int_equal(r.race.entries[e].is_out, e >= 2);
        assert_int_equal(r.race.entries[e].was_judged, e < 2);
    }
    /* later folds count as a whole or not at all */
    s = (stopper){0, 1};
    assert_int_equal(karma_i_race_fold(&r.race, stop_from, &s, &stopped, NULL), KARMA_OK);
    assert_true(stopped);
    assert_int_equal(r.race.n_done, 1);
    assert_int_equal(r.race.entries[1].is_out, 0);
    s = (stopper){0, 100};
    assert_int_equal(karma_i_race_fold(&r.race, stop_from, &s, &stopped, NULL), KARMA_OK);
    assert_false(stopped);
    assert_int_equal(r.race.n_done, 2);
    assert_int_equal(r.race.entries[3].was_judged, 0);
    finish(&r);
    karma_table_free(table);
}

/* Two stages give the same as one. */
static void slow_entries_may_come_last(void **state) {
    (void)state;
    table_plan plan = {40, 4, 0, 0, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 3);
    karma_fit_options o = tight_options(2);
    racing r[2];
    for (int k = 0; k < 2; k++) {
        start(&r[k], table, &o, 1, KERNELS, N_KERNELS);
        r[k].race.is_limited = k;
        run(&r[k]);
    }
    for (size_t c = 0; c < r[0].race.n_runs; c++)
        for (size_t i = 0; i < plan.n_rows; i++)
            assert_true(fabs((double)r[0].race.runs[c].scores[i] - (double)r[1].race.runs[c].scores[i]) <= 1e-4);
    for (int k = 0; k < 2; k++) finish(&r[k]);
    karma_table_free(table);
}

/* Stops while a subspace is estimated, and asks for the rest to go on. */
static int stop_encoding(void *payload, size_t n_judged, size_t n_entries, const char *kernel) {
    (void)payload, (void)n_judged, (void)kernel;
    return n_entries == 0;
}

static void lack_of_time_drops_only_slow_recipes(void **state) {
    (void)state;
    table_plan plan = {40, 4, 0, 0, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 3);
    karma_fit_options o = tight_options(1);
    o.subspace_rank = (int64_t)KARMA_AUTO; /* choosing it asks */
    racing r;
    int stopped;
    start(&r, table, &o, 1, KERNELS, N_KERNELS);
    r.race.is_limited = 1;
    assert_int_equal(karma_i_race_fold(&r.race, stop_encoding, NULL, &stopped, NULL), KARMA_OK);
    assert_false(stopped);
    assert_int_equal(r.race.n_done, 1);
    for (size_t e = 0; e < N_KERNELS; e++) {
        assert_int_equal(r.race.entries[e].is_out, strstr(KERNELS[e], "subspace") != NULL);
        assert_int_equal(r.race.entries[e].was_judged, !r.race.entries[e].is_out);
    }
    finish(&r);
    karma_table_free(table);
}

/* --- candidates ---------------------------------------------------------------------------------------- */

static void candidates(racing *r, const karma_table *table, karma_effort effort, const karma_fit_options *o,
                       const char *const *fixed, size_t n_fixed) {
    karma_names names = {(char **)(uintptr_t)fixed, n_fixed};
    karma_error err;
    start(r, table, o, 1, NULL, 0);
    if (karma_i_candidates_add(&r->race, effort, &names, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_true(r->race.n_entries > 0);
    for (size_t e = 0; e < r->race.n_entries; e++) { /* all can be parsed, and none occurs twice */
        karma_i_plan plan;
        char *kernel = kernel_of(&r->race, e);
        assert_int_equal(karma_i_plan_parse(&plan, kernel, o, NULL), KARMA_OK);
        assert_true(karma_i_plan_kernel_equal(&plan.members[0].kernel, &r->race.entries[e].kernel));
        karma_i_plan_clear(&plan);
        for (size_t before = 0; before < e; before++) {
            char *other = kernel_of(&r->race, before);
            assert_string_not_equal(other, kernel);
            free(other);
        }
        free(kernel);
    }
}

static size_t count_with(const karma_i_race *race, const char *word) {
    size_t n = 0;
    for (size_t e = 0; e < race->n_entries; e++) {
        char *kernel = kernel_of(race, e);
        n += strstr(kernel, word) != NULL;
        free(kernel);
    }
    return n;
}

static void zero_imputation_is_always_a_candidate(void **state) {
    (void)state;
    static const table_plan plans[] = {
        {30, 4, 1, 6, 0.7, 2, 1.0}, {30, 4, 0, 0, 1.0, 0, 1.0}, {30, 0, 3, 4, 0.7, 2, 1.0}, {30, 1, 0, 0, 0.7, 2, 1.0}};
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++) {
        karma_table *table = draw_labelled(&plans[p], 2);
        size_t last = 0;
        for (int effort = KARMA_EFFORT_QUICK; effort < KARMA_N_EFFORTS; effort++) {
            karma_fit_options o = tight_options(1);
            racing r;
            candidates(&r, table, (karma_effort)effort, &o, NULL, 0);
            char *first = kernel_of(&r.race, 0);
            assert_string_equal(first, "linear(gamma=1)");
            free(first);
            for (size_t e = 0; e < r.race.n_entries; e++) assert_int_equal(r.race.entries[e].is_kept, e == 0);
            assert_true(r.race.n_entries > last || p == 3);
            last = r.race.n_entries;
            size_t gammas = 0; /* γ > 1 is for holes, ranks for numbers, a subspace for several columns */
            for (size_t e = 0; e < r.race.n_entries; e++)
                gammas += karma_i_plan_kernel_sets_gamma(&r.race.entries[e].kernel) ? 1 : 0;
            assert_int_equal(gammas > 0, plans[p].share < 1.0);
            assert_int_equal(count_with(&r.race, "rank") > 0, plans[p].n_numbers > 0);
            assert_int_equal(count_with(&r.race, "subspace") > 0, p != 3);
            finish(&r);
        }
        karma_table_free(table);
    }
}

/* In wide tables that are mostly empty only kernels of common cells are tried, unless the user asks for ranks. */
static void ranks_are_not_for_wide_and_empty_tables(void **state) {
    (void)state;
    static const char *const kernel[] = {"kernel"};
    static const struct {
        table_plan plan;
        int has_ranks;
    } cases[] = {
        {{20, 1001, 0, 0, 0.05, 2, 1.0}, 0}, {{20, 1001, 0, 0, 0.5, 2, 1.0}, 1}, {{20, 900, 0, 0, 0.05, 2, 1.0}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        karma_table *table = draw_labelled(&cases[i].plan, 2);
        karma_fit_options o = tight_options(1);
        racing r;
        candidates(&r, table, KARMA_EFFORT_NORMAL, &o, NULL, 0);
        assert_int_equal(count_with(&r.race, "rank") > 0, cases[i].has_ranks);
        assert_true(count_with(&r.race, "linear") > 0);
        finish(&r);
        o.kernel = "rank";
        candidates(&r, table, KARMA_EFFORT_NORMAL, &o, kernel, 1);
        assert_true(count_with(&r.race, "rank") > 0);
        finish(&r);
        karma_table_free(table);
    }
}

static void what_is_fixed_is_kept(void **state) {
    (void)state;
    static const char *const kernel[] = {"kernel"}, *const gamma[] = {"gamma"}, *const outer[] = {"outer"},
                             *const C[] = {"C"}, *const both[] = {"kernel", "outer", "width"}, *const mu[] = {"mu"},
                             *const kernel_and_mu[] = {"kernel", "mu"};
    table_plan plan = {30, 4, 1, 6, 0.7, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    racing r;
    o.kernel = "rank";
    candidates(&r, table, KARMA_EFFORT_QUICK, &o, kernel, 1);
    assert_int_equal(count_with(&r.race, "rank"), r.race.n_entries);
    assert_int_equal(count_with(&r.race, "linear") + count_with(&r.race, "subspace"), 0);
    assert_true(r.race.n_entries > 3);
    finish(&r);
    o.kernel = "linear * rank"; /* a formula is one candidate, with every C */
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, kernel, 1);
    assert_int_equal(r.race.n_entries, 1);
    assert_int_equal(count_with(&r.race, "linear * rank"), 1);
    assert_int_equal(r.race.n_runs, 5);
    finish(&r);
    o.kernel = "union"; /* sums, and each part alone: μ = 0 and μ → ∞ */
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, kernel, 1);
    assert_true(count_with(&r.race, "linear(gamma=1) + 10*subspace") > 0);
    assert_int_equal(count_with(&r.race, "subspace") - count_with(&r.race, "*subspace"), 1);
    assert_true(count_with(&r.race, "linear") > count_with(&r.race, "*subspace"));
    assert_int_equal(count_with(&r.race, "linear") + 1, r.race.n_entries);
    assert_int_equal(count_with(&r.race, "outer="), 0);
    finish(&r);
    o.mu = 7; /* and without them where μ is given */
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, kernel_and_mu, 2);
    assert_int_equal(count_with(&r.race, " + 7*subspace"), r.race.n_entries);
    assert_true(r.race.n_entries > 1);
    finish(&r);
    o = tight_options(1);
    o.kernel = NULL;
    o.gamma = 3;
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, gamma, 1);
    assert_int_equal(count_with(&r.race, "gamma="), 0);
    finish(&r);
    o = tight_options(1);
    o.outer = KARMA_OUTER_RBF;
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, outer, 1);
    assert_int_equal(count_with(&r.race, "outer="), 0);
    assert_true(count_with(&r.race, "width=") > 0);
    assert_int_equal(count_with(&r.race, "degree="), 0);
    finish(&r);
    o = tight_options(1);
    o.C = 3;
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, C, 1);
    assert_int_equal(r.race.n_runs, r.race.n_entries);
    for (size_t c = 0; c < r.race.n_runs; c++) assert_true(r.race.runs[c].C_factor == 1.0);
    finish(&r);
    o = tight_options(1);
    o.kernel = "rank", o.outer = KARMA_OUTER_RBF, o.width = 3;
    candidates(&r, table, KARMA_EFFORT_QUICK, &o, both, 3);
    assert_int_equal(count_with(&r.race, "outer=") + count_with(&r.race, "width="), 0);
    assert_int_equal(count_with(&r.race, "rank"), r.race.n_entries);
    finish(&r);
    o = tight_options(1);
    o.mu = 17;
    candidates(&r, table, KARMA_EFFORT_NORMAL, &o, mu, 1);
    assert_true(count_with(&r.race, "17*subspace") > 0);
    assert_int_equal(count_with(&r.race, "10*subspace") + count_with(&r.race, "100*subspace"), 0);
    assert_int_equal(count_with(&r.race, "subspace(bias=0)"), 0); /* it has its own constant */
    finish(&r);
    karma_table_free(table);
}

static void a_committee_is_not_searched(void **state) {
    (void)state;
    static const char *const kernel[] = {"kernel"};
    table_plan plan = {30, 4, 1, 6, 0.7, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    karma_names names = {(char **)(uintptr_t)kernel, 1};
    karma_error err;
    racing r;
    static const struct {
        char *kernel, *says;
    } cases[] = {{"linear | rank", "committee"}, {"rank @ 10", "values of C"}, {"rank @ 1,10", "values of C"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        o.kernel = cases[i].kernel;
        start(&r, table, &o, 1, NULL, 0);
        assert_int_equal(karma_i_candidates_add(&r.race, KARMA_EFFORT_QUICK, &names, &err), KARMA_ERR_OPTION);
        assert_non_null(strstr(err.message, cases[i].says));
        finish(&r);
    }
    karma_table_free(table);
}

/* --- rules --------------------------------------------------------------------------------------------- */

/* Two folds' values by hand; scores are not looked at without a row's loss. Means 0.70, 0.80, 0.78, 0.60; the standard
 * error of the best's mean is 0.05. */
static void rules_choose_by_their_definition(void **state) {
    (void)state;
    static const double values[4][4] = {
        {0.70, 0.70, 0.70, 0.70}, {0.70, 0.70, 0.90, 0.90}, {0.78, 0.78, 0.78, 0.78}, {0.60, 0.60, 0.60, 0.60}};
    static const char *const kernels[] = {"linear(gamma=1)", "rank", "linear(gamma=2)", "subspace"};
    static const karma_i_C_grid one = {1, {1}, {0}};
    table_plan plan = {20, 3, 0, 0, 0.8, 2, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    racing r;
    karma_i_choice choice;
    start(&r, table, &o, 1, NULL, 0);
    for (size_t k = 0; k < 4; k++) {
        add(&r, kernels[k], &one);
        memcpy(r.race.runs[k].values, values[k], sizeof values[k]);
    }
    r.race.n_done = FOLDS;
    double error = sqrt(4.0 * 0.01 / 3.0 / 4.0);
    assert_int_equal(karma_i_choose(&choice, KARMA_RULE_BEST, &r.race, NULL, NULL, NULL, 9, NULL), KARMA_OK);
    assert_true(choice.n == 1 && choice.runs[0] == 1 && choice.weights[0] == 1.0);
    karma_i_choice_clear(&choice);
    assert_int_equal(karma_i_choose(&choice, KARMA_RULE_ONE_SE, &r.race, NULL, NULL, NULL, 9, NULL), KARMA_OK);
    assert_true(choice.n == 1 && choice.runs[0] == (0.10 <= error ? 0U : 1U));
    karma_i_choice_clear(&choice);
    assert_int_equal(karma_i_choose(&choice, KARMA_RULE_COMMITTEE, &r.race, NULL, NULL, NULL, 9, NULL), KARMA_OK);
    double gaps[] = {0.0, 0.02 / error, 0.10 / error}, sum = 0.0;
    static const size_t order[] = {1, 2, 0};
    assert_int_equal(choice.n, 3); /* the last is 3.5 standard errors behind */
    for (size_t m = 0; m < 3; m++) sum += exp(-0.5 * gaps[m] * gaps[m]);
    for (size_t m = 0; m < 3; m++) {
        assert_int_equal(choice.runs[m], order[m]);
        assert_true(fabs(choice.weights[m] - exp(-0.5 * gaps[m] * gaps[m]) / sum) < 1e-12);
    }
    char *text = NULL;
    karma_i_plan chosen = {0};
    assert_int_equal(karma_i_choice_plan(&chosen, &choice, &r.race, NULL), KARMA_OK);
    assert_int_equal(karma_i_plan_print(&text, &chosen, NULL), KARMA_OK);
    karma_i_plan_clear(&chosen);
    char wanted[200];
    (void)snprintf(wanted, sizeof wanted, "rank @ 1:%.4g | linear(gamma=2) @ 1:%.4g | linear(gamma=1) @ 1:%.4g",
                   choice.weights[0], choice.weights[1], choice.weights[2]);
    assert_string_equal(text, wanted);
    free(text);
    karma_i_choice_clear(&choice);
    /* at most two kernels; and of those that are allowed */
    assert_int_equal(karma_i_choose(&choice, KARMA_RULE_COMMITTEE, &r.race, NULL, NULL, NULL, 2, NULL), KARMA_OK);
    assert_int_equal(choice.n, 2);
    karma_i_choice_clear(&choice);
    unsigned char allowed[] = {1, 0, 0, 1};
    assert_int_equal(karma_i_choose(&choice, KARMA_RULE_BEST, &r.race, allowed, NULL, NULL, 9, NULL), KARMA_OK);
    assert_int_equal(choice.runs[0], 0);
    karma_i_choice_clear(&choice);
    memset(allowed, 0, sizeof allowed);
    karma_error err;
    assert_int_equal(karma_i_choose(&choice, KARMA_RULE_BEST, &r.race, allowed, NULL, NULL, 9, &err), KARMA_ERR_DATA);
    finish(&r);
    karma_table_free(table);
}

/* Of one candidate that is right, one that is half right and one that guesses, stacking takes the first; and where the
 * truth is a mean of two, both. */
static void stacking_finds_the_mix(void **state) {
    (void)state;
    enum { N = 60 };
    static const karma_i_C_grid one = {1, {1}, {0}};
    table_plan plan = {N, 3, 0, 0, 0.8, 0, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    racing r;
    karma_i_choice choice;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    start(&r, table, &o, 1, NULL, 0);
    for (size_t k = 0; k < 3; k++) add(&r, KERNELS[k], &one);
    r.race.n_done = FOLDS;
    for (int mixed = 0; mixed < 2; mixed++) {
        for (size_t i = 0; i < N; i++) {
            double y = table->targets[0].value[i], noise = 5.0 * karma_i_rng_normal(&rng);
            r.race.runs[0].scores[i] = (float)(y + (mixed ? noise : 0.0));
            r.race.runs[1].scores[i] = (float)(mixed ? y - 3.0 * noise : 100.0 + 0.5 * (y - 100.0));
            r.race.runs[2].scores[i] = (float)(100.0 + 7.0 * karma_i_rng_normal(&rng));
        }
        assert_int_equal(
            karma_i_choose(&choice, KARMA_RULE_STACK, &r.race, NULL, karma_i_goal_row_loss, &r.judge, 9, NULL),
            KARMA_OK);
        double weight[3] = {0.0, 0.0, 0.0}, sum = 0.0;
        for (size_t m = 0; m < choice.n; m++) {
            assert_true(choice.weights[m] > 0.0);
            weight[choice.runs[m]] += choice.weights[m];
            sum += choice.weights[m];
        }
        assert_true(fabs(sum - 1.0) < 1e-12);
        assert_true(fabs(weight[0] - (mixed ? 0.75 : 1.0)) < 0.02);
        assert_true(weight[2] < 0.02);
        karma_i_choice_clear(&choice);
    }
    finish(&r);
    karma_table_free(table);
}

/* What a committee for squared error minimises, for given weights: n / (10 σ²) mean squared error + Σ w log(w / p),
 * straight from the scores. Errors are in units of the label: only their ratio counts. */
static double reweighed_objective(const racing *r, const double *w, const double *p, size_t n) {
    size_t N = karma_table_n_rows(r->race.table);
    double squared = 0.0, best = INFINITY, divergence = 0.0;
    for (size_t k = 0; k < n; k++) {
        double own = 0.0;
        for (size_t i = 0; i < N; i++)
            own += pow((double)r->race.runs[k].scores[i] - r->race.table->targets[0].value[i], 2);
        best = fmin(best, own / (double)N);
        if (w[k] > 0.0) divergence += w[k] * log(w[k] / p[k]);
    }
    for (size_t i = 0; i < N; i++) {
        double error = -r->race.table->targets[0].value[i];
        for (size_t k = 0; k < n; k++) error += w[k] * (double)r->race.runs[k].scores[i];
        squared += error * error / (double)N;
    }
    return (double)N / (10.0 * best) * squared + divergence;
}

/* exp(-g²/2), g the gap of the mean squared error in standard errors of the best's mean. */
static void soft_weights(double *p, const racing *r, size_t n) {
    size_t N = karma_table_n_rows(r->race.table), best = 0;
    double mean[9] = {0.0}, spread = 0.0, sum = 0.0;
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < N; i++)
            mean[k] += pow((double)r->race.runs[k].scores[i] - r->race.table->targets[0].value[i], 2) / (double)N;
        if (mean[k] < mean[best]) best = k;
    }
    for (size_t i = 0; i < N; i++)
        spread +=
            pow(pow((double)r->race.runs[best].scores[i] - r->race.table->targets[0].value[i], 2) - mean[best], 2);
    double error = sqrt(spread / (double)(N - 1) / (double)N);
    for (size_t k = 0; k < n; k++) sum += p[k] = exp(-0.5 * pow((mean[k] - mean[best]) / error, 2));
    for (size_t k = 0; k < n; k++) p[k] /= sum;
}

enum { RUNS = 4 };

/* Scores of numbers: errors of the first two runs cancel, the third is a copy of the first. */
static void draw_scores(racing *r, karma_i_rng *rng) {
    size_t n = r->race.table->n_rows;
    for (size_t i = 0; i < n; i++) {
        double y = r->race.table->targets[0].value[i], a = karma_i_rng_normal(rng), b = karma_i_rng_normal(rng);
        for (size_t at = i; at < r->folds.n_repeats * n; at += n) {
            r->race.runs[0].scores[at] = (float)(y + 3.0 * a);
            r->race.runs[1].scores[at] = (float)(y - 3.0 * a + b);
            r->race.runs[2].scores[at] = (float)(y + 3.0 * a);
            r->race.runs[3].scores[at] = (float)(y + 2.0 * a + 2.0 * b);
        }
    }
}

static void judge_scores(racing *r) {
    double *own = malloc(r->race.table->n_rows * sizeof *own);
    assert_non_null(own);
    for (size_t f = 0; f < r->race.n_done; f++) {
        karma_i_fold fold;
        assert_int_equal(karma_i_fold_test(&fold, &r->folds, f, NULL), KARMA_OK);
        for (size_t k = 0; k < RUNS; k++) {
            for (size_t i = 0; i < fold.test->n_rows; i++) own[i] = (double)r->race.runs[k].scores[fold.test_rows[i]];
            assert_int_equal(karma_i_goal_value(&r->race.runs[k].values[f], &r->judge, &r->task, fold.test, own, NULL),
                             KARMA_OK);
        }
        karma_i_fold_clear(&fold);
    }
    free(own);
}

/* No weights near w have a smaller objective, and the soft weights p have a much larger one. */
static void no_weights_are_better(const racing *r, const double *w, const double *p, karma_i_rng *rng) {
    double least = reweighed_objective(r, w, p, RUNS);
    for (int trial = 0; trial < 2000; trial++) {
        double other[RUNS], total = 0.0, size = pow(10.0, -4.0 * karma_i_rng_uniform(rng));
        for (size_t k = 0; k < RUNS; k++) total += other[k] = fmax(w[k], 1e-9) * exp(size * karma_i_rng_normal(rng));
        for (size_t k = 0; k < RUNS; k++) other[k] /= total;
        assert_true(reweighed_objective(r, other, p, RUNS) > least - 1e-4);
    }
    assert_true(reweighed_objective(r, p, p, RUNS) > least + 1.0);
}

/* Numbers: no other weights than the committee's have a smaller objective. Two candidates whose errors cancel get more
 * weight than by their own errors, and a copy shares its weight. */
static void a_committee_of_numbers_fits_its_scores(void **state) {
    (void)state;
    static const karma_i_C_grid one = {1, {1}, {0}};
    table_plan plan = {80, 3, 0, 0, 0.8, 0, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    for (size_t repeats = 1; repeats <= 2; repeats++) {
        racing r;
        karma_i_choice choice;
        karma_i_rng rng;
        karma_i_rng_init(&rng, 7);
        start(&r, table, &o, repeats, NULL, 0);
        for (size_t k = 0; k < RUNS; k++) add(&r, KERNELS[k], &one);
        r.race.n_done = repeats * FOLDS;
        draw_scores(&r, &rng);
        judge_scores(&r);
        assert_int_equal(
            karma_i_choose(&choice, KARMA_RULE_COMMITTEE, &r.race, NULL, karma_i_goal_row_loss, &r.judge, 9, NULL),
            KARMA_OK);
        double w[RUNS] = {0.0}, p[RUNS], sum = 0.0;
        soft_weights(p, &r, RUNS);
        for (size_t m = 0; m < choice.n; m++) sum += w[choice.runs[m]] = choice.weights[m];
        assert_true(fabs(sum - 1.0) < 1e-12);
        assert_true(w[1] > p[1] + 0.1);
        assert_true(fabs(w[0] - w[2]) < 1e-6);
        no_weights_are_better(&r, w, p, &rng);
        karma_i_choice_clear(&choice);
        /* by absolute error the weights stay soft */
        karma_i_judge absolute = r.judge;
        absolute.goal = KARMA_GOAL_MAE;
        assert_int_equal(
            karma_i_choose(&choice, KARMA_RULE_COMMITTEE, &r.race, NULL, karma_i_goal_row_loss, &absolute, 9, NULL),
            KARMA_OK);
        for (size_t m = 0; m < choice.n; m++) w[choice.runs[m]] = choice.weights[m];
        assert_true(fabs(w[0] - w[2]) < 1e-12 && w[1] < 0.5);
        karma_i_choice_clear(&choice);
        finish(&r);
    }
    karma_table_free(table);
}

/* The mean squared change of scores from weights w to v, at the best scale of w, as a share of the squared error of w
 * or of the square of its scores, whichever is smaller: straight from the scores. */
static double change_of_scores(const racing *r, const double *w, const double *v) {
    size_t n = r->race.table->n_rows * r->folds.n_repeats;
    double shift = r->task.heads[0].labels.shift, cross = 0.0, square = 0.0, change = 0.0, error = 0.0, scaled = 0.0;
    for (int turn = 0; turn < 2; turn++) /* the scale comes first */
        for (size_t i = 0; i < n; i++) {
            double before = 0.0, after = 0.0, y = r->race.table->targets[0].value[i % r->race.table->n_rows] - shift;
            for (size_t k = 0; k < RUNS; k++) {
                before += w[k] * ((double)r->race.runs[k].scores[i] - shift);
                after += v[k] * ((double)r->race.runs[k].scores[i] - shift);
            }
            if (turn == 0) {
                cross += before * y;
                square += before * before;
            } else {
                change += pow(cross / square * (before - after), 2);
                error += pow(cross / square * before - y, 2);
                scaled += pow(cross / square * before, 2);
            }
        }
    return change / fmin(error, scaled);
}

/* The least change by weights that are 0 where v is 0, and of the runs first to end: on a grid. */
static double least_change_without(const racing *r, const double *w, const double *v, size_t first, size_t end) {
    enum { STEPS = 40 };
    double least = INFINITY;
    for (size_t a = 0; a <= STEPS; a++)
        for (size_t b = 0; a + b <= STEPS; b++)
            for (size_t c = 0; a + b + c <= STEPS; c++) {
                double other[RUNS] = {(double)a / STEPS, (double)b / STEPS, (double)c / STEPS,
                                      (double)(STEPS - a - b - c) / STEPS};
                int fits = 1;
                for (size_t k = 0; k < RUNS; k++) fits &= other[k] == 0.0 || (v[k] > 0.0 && (k < first || k >= end));
                if (fits) least = fmin(least, change_of_scores(r, w, other));
            }
    return least;
}

static size_t shorten(double v[RUNS], const racing *r, const double *w, double share) {
    karma_i_choice choice = {RUNS, malloc(RUNS * sizeof(size_t)), malloc(RUNS * sizeof(double))};
    double sum = 0.0;
    assert_true(choice.runs && choice.weights);
    for (size_t k = 0; k < RUNS; k++) {
        choice.runs[k] = RUNS - 1 - k; /* any order */
        choice.weights[k] = w[RUNS - 1 - k];
        v[k] = 0.0;
    }
    assert_int_equal(karma_i_choice_shorten(&choice, &r->race, share, NULL), KARMA_OK);
    size_t n = choice.n;
    for (size_t m = 0; m < n; m++) sum += v[choice.runs[m]] = choice.weights[m];
    assert_true(fabs(sum - 1.0) < 1e-12);
    karma_i_choice_clear(&choice);
    return n;
}

/* Run 2 has the scores of run 0, and either is left out if nothing may change. With a share the change stays within it,
 * and without any other kernel it would not: the first kernel has the runs 0 and 1. With all of the error, one is left.
 */
static void a_shorter_committee_has_nearly_the_same_scores(void **state) {
    (void)state;
    static const karma_i_C_grid one = {1, {1}, {0}}, two = {2, {1, 10}, {0}};
    static const double w[RUNS] = {0.4, 0.25, 0.2, 0.15}, shares[] = {1e-9, 1e-3, 0.03, 0.1, 0.3};
    table_plan plan = {80, 3, 0, 0, 0.8, 0, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    for (size_t repeats = 1; repeats <= 2; repeats++) {
        racing r;
        double v[RUNS];
        karma_i_rng rng;
        karma_i_rng_init(&rng, 7);
        start(&r, table, &o, repeats, NULL, 0);
        for (size_t k = 0; k < RUNS - 1; k++) add(&r, KERNELS[k], k == 0 ? &two : &one);
        r.race.n_done = repeats * FOLDS;
        draw_scores(&r, &rng);
        for (size_t s = 0; s < sizeof shares / sizeof shares[0]; s++) {
            size_t n = shorten(v, &r, w, shares[s]);
            assert_true(n < RUNS);
            assert_true(change_of_scores(&r, w, v) <= shares[s]);
            for (size_t k = 0; n > 1 && k < RUNS; k++)
                if (v[k] > 0.0) assert_true(least_change_without(&r, w, v, k, k + 1) > 0.9 * shares[s]);
        }
        assert_int_equal(shorten(v, &r, w, 1e-9), RUNS - 1);
        assert_true(v[2] == 0.0 && fabs(v[0] - w[0] - w[2]) < 1e-6); /* its kernel goes, not the one of two runs */
        assert_int_equal(shorten(v, &r, w, 10.0), 1);
        finish(&r);
    }
    karma_table_free(table);
}

/* A candidate that is worse on nearly all rows is dropped after two folds, except for the one that all are compared
 * with. */
static void hopeless_candidates_are_dropped(void **state) {
    (void)state;
    enum { N = 60 };
    static const karma_i_C_grid one = {1, {1}, {0}};
    table_plan plan = {N, 3, 0, 0, 0.8, 0, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    racing r;
    start(&r, table, &o, 1, NULL, 0);
    for (size_t k = 0; k < 4; k++) add(&r, KERNELS[k], &one);
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < N; i++) {
            double off = k == 1 ? 0.1 : k == 2 ? (i % 2 ? 0.0 : 0.17) : 9.0 + (double)(i % 5);
            r.race.runs[k].scores[i] = (float)(table->targets[0].value[i] + off);
        }
    static const double level[] = {-9.0, -0.1, -0.15, -9.0}; /* of the losses, 2 is some 1.8 standard errors behind 1 */
    for (size_t k = 0; k < 4; k++)
        for (size_t f = 0; f < FOLDS; f++) r.race.runs[k].values[f] = level[k];
    size_t n_left;
    r.race.entries[0].is_kept = 1;
    r.race.n_done = 1;
    assert_int_equal(karma_i_eliminate(&n_left, &r.race, karma_i_goal_row_loss, &r.judge, NULL), KARMA_OK);
    assert_int_equal(n_left, 4); /* one fold is not enough to drop any */
    r.race.n_done = 2;
    assert_int_equal(karma_i_eliminate(&n_left, &r.race, karma_i_goal_row_loss, &r.judge, NULL), KARMA_OK);
    assert_int_equal(n_left, 3);
    for (size_t k = 0; k < 4; k++) assert_int_equal(r.race.entries[k].is_out, k == 3); /* 0 is 0-imputation */
    finish(&r);
    karma_table_free(table);
}

/* The second candidate leads because of fold 2. Rows of that fold have scores of the first, all others of the second.
 * Values of a second repeat, which has rows of every fold, are not counted. */
static void rows_are_scored_by_the_choice_of_other_folds(void **state) {
    (void)state;
    enum { N = 40, LUCKY = 2 };
    static const karma_i_C_grid one = {1, {1}, {0}};
    table_plan plan = {N, 3, 0, 0, 0.8, 0, 1.0};
    karma_table *table = draw_labelled(&plan, 2);
    karma_fit_options o = tight_options(1);
    double scores[N];
    for (size_t repeats = 1; repeats <= 2; repeats++)
        for (int by_rows = 0; by_rows < 2; by_rows++) {
            racing r;
            start(&r, table, &o, repeats, NULL, 0);
            for (size_t k = 0; k < 2; k++) add(&r, KERNELS[k], &one);
            r.race.n_done = repeats * FOLDS;
            for (size_t f = 0; f < r.race.n_done; f++) {
                r.race.runs[0].values[f] = -2.0;
                r.race.runs[1].values[f] = f >= FOLDS ? 9.0 : f == LUCKY ? 1.0 : -2.5;
            }
            for (size_t i = 0; i < repeats * N; i++) {
                int is_lucky = karma_i_folds_number(r.race.folds, i / N, i % N) == LUCKY;
                r.race.runs[0].scores[i] = (float)(table->targets[0].value[i % N] + 2.0);
                r.race.runs[1].scores[i] = (float)(table->targets[0].value[i % N] + (is_lucky ? -1.0 : 2.5));
            }
            karma_i_choice choice;
            assert_int_equal(karma_i_choose(&choice, KARMA_RULE_BEST, &r.race, NULL, NULL, NULL, 9, NULL), KARMA_OK);
            assert_int_equal(choice.runs[0], 1);
            karma_i_choice_clear(&choice);
            assert_int_equal(karma_i_scores_by_other_folds(scores, KARMA_RULE_BEST, &r.race,
                                                           by_rows ? karma_i_goal_row_loss : NULL, &r.judge, 9, NULL),
                             KARMA_OK);
            for (size_t i = 0; i < N; i++) {
                size_t chosen = karma_i_folds_number(r.race.folds, 0, i) == LUCKY ? 0 : 1;
                assert_true(scores[i] == (double)r.race.runs[chosen].scores[i]);
            }
            finish(&r);
        }
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_models_alone),
        cmocka_unit_test(scores_of_given_kernels_are_too),
        cmocka_unit_test(scores_of_sparse_rows_are_too),
        cmocka_unit_test(values_are_those_of_the_scores),
        cmocka_unit_test(repeats_have_folds_of_their_own),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(left_out_rows_teach_nothing),
        cmocka_unit_test(a_stop_in_the_first_fold_keeps_what_was_judged),
        cmocka_unit_test(slow_entries_may_come_last),
        cmocka_unit_test(lack_of_time_drops_only_slow_recipes),
        cmocka_unit_test(zero_imputation_is_always_a_candidate),
        cmocka_unit_test(ranks_are_not_for_wide_and_empty_tables),
        cmocka_unit_test(what_is_fixed_is_kept),
        cmocka_unit_test(a_committee_is_not_searched),
        cmocka_unit_test(rules_choose_by_their_definition),
        cmocka_unit_test(stacking_finds_the_mix),
        cmocka_unit_test(a_committee_of_numbers_fits_its_scores),
        cmocka_unit_test(a_shorter_committee_has_nearly_the_same_scores),
        cmocka_unit_test(hopeless_candidates_are_dropped),
        cmocka_unit_test(rows_are_scored_by_the_choice_of_other_folds),
    };
    return cmocka_run_group_tests_name("race", tests, NULL, NULL);
}
