/* A search under a time limit, with a clock that advances by a fixed step whenever it is read, so that plans do not
 * depend on the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "labelled.h"
#include "model/model.h"

static double step = 0.01;
static double seconds;

/* Replaces the library's clock. */
double karma_i_now(void) {
    return seconds += step;
}

enum { N_ROWS = 240, N_COLUMNS = 5 };

/* y = sign(x0 x1): no linear kernel learns it. */
static karma_table *draw_product(void) {
    table_plan plan = {N_ROWS, N_COLUMNS, 0, 0, 0.9, 2, 0.0};
    karma_table *table = draw_labelled(&plan, 7);
    for (size_t i = 0; i < table->n_rows; i++) {
        double product = 1.0;
        for (size_t c = table->row_start[i]; c < table->row_start[i + 1]; c++)
            if (table->cell_owner[c] < 2) product *= table->cell_value[c];
        table->targets[0].value[i] = product > 0.0;
    }
    return table;
}

typedef struct outcome {
    double spent, score, error;
    size_t n_folds, n_kernels, n_to_the_end, n_learned;
    int has_zero, has_probabilities;
    karma_search_end end;
} outcome;

static outcome search_with(const karma_table *table, karma_effort effort, double limit, const karma_hooks *hooks) {
    karma_fit_options fit;
    karma_search_options search;
    karma_model *model = NULL;
    karma_error err;
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    fit.threads = 1;
    search.effort = (int)effort;
    search.time = limit;
    double began = seconds;
    if (karma_search(&model, table, &fit, &search, hooks, &err) != KARMA_OK) fail_msg("%s", err.message);
    const karma_search_info *info = karma_model_search_info(model);
    outcome o = {.spent = seconds - began,
                 .score = info->score,
                 .error = info->error,
                 .n_folds = info->n_values,
                 .n_kernels = info->n_kernels,
                 .n_to_the_end = info->n_kernels_to_the_end,
                 .n_learned = model->info.n_rows,
                 .has_zero = info->has_zero_imputation,
                 .has_probabilities = karma_model_has_probabilities(model, 0),
                 .end = info->end};
    karma_model_free(model);
    return o;
}

/* Trees are reported one by one only where they are the first kernel of a fold, and in the last fit: there, too, they
 * take no time. */
static int grow_for_free(void *payload, const char *stage, size_t done, size_t total) {
    (void)payload, (void)done, (void)total;
    if (strstr(stage, "growing trees")) seconds -= step;
    return 0;
}

static outcome search_in(const karma_table *table, karma_effort effort, double limit) {
    const karma_hooks hooks = {.progress = grow_for_free};
    return search_with(table, effort, limit, &hooks);
}

static void show(const char *name, double limit, const outcome *o) {
    print_message("%s %.2f: spent %.2f, %zu folds, %zu of %zu kernels, zero %d, probabilities %d, %.4f +- %.4f\n", name,
                  limit, o->spent, o->n_folds, o->n_to_the_end, o->n_kernels, o->has_zero, o->has_probabilities,
                  o->score, o->error);
}

static void more_time_is_not_worse_than_quick(void **state) {
    (void)state;
    karma_table *table = draw_product();
    outcome quick = search_in(table, KARMA_EFFORT_QUICK, 0.0);
    show("quick", 0.0, &quick);
    for (int i = 0; i < 10; i++) {
        double share = 0.5 * pow(1.5, i);
        double limit = share * quick.spent;
        outcome o = search_in(table, KARMA_EFFORT_NORMAL, limit);
        show("limit", limit, &o);
        assert_true(o.spent <= 1.1 * limit);
        assert_true(o.n_folds >= 5); /* every row was left out once */
        assert_true(o.has_probabilities);
        assert_true(o.score >= quick.score - 2.0 * quick.error);
        if (share >= 1.0) assert_true(o.has_zero);
        if (o.end == KARMA_SEARCH_OUT_OF_TIME) assert_true(o.spent >= 0.5 * limit);
    }
    karma_table_free(table);
}

/* --- many classes -------------------------------------------------------------------------------------- */

enum { N_MANY_ROWS = 1600, SIDE = 4 };

/* The class is the cell of a grid over two of the columns: a linear kernel learns only those at the corners. */
static karma_table *draw_grid(void) {
    static char names[N_MANY_ROWS][8];
    static const char *classes[N_MANY_ROWS];
    static double hidden[N_MANY_ROWS];
    table_plan plan = {N_MANY_ROWS, 3, 0, 0, 0.95, 0, 0.0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 11);
    karma_table *table = draw_attributes(&plan, hidden, &rng);
    for (size_t i = 0; i < table->n_rows; i++) {
        size_t cell = 0;
        for (size_t c = table->row_start[i]; c < table->row_start[i + 1]; c++) {
            double x = table->cell_value[c];
            size_t bin = x < -0.6 ? 0 : x < 0.0 ? 1 : x < 0.6 ? 2 : 3;
            if (table->cell_owner[c] < 2) cell += table->cell_owner[c] ? SIDE * bin : bin;
        }
        (void)snprintf(names[i], sizeof names[i], "k%zu", cell);
        classes[i] = names[i];
    }
    assert_int_equal(karma_table_add_target_classes(table, "cell", classes, NULL), KARMA_OK);
    return table;
}

/* A machine on which a kernel costs the square of the rows that it is tried on: those of a quick search, which has up
 * to nine kernels, as have those that follow on its rows, or more rows with all kernels. */
typedef struct slow_machine {
    int is_large;
} slow_machine;

static int take_time(void *payload, const char *stage, size_t done, size_t total) {
    slow_machine *m = payload;
    const char *kernel = strstr(stage, ", kernel "), *of = kernel ? strstr(kernel, " of ") : NULL;
    (void)done, (void)total;
    if (!of) return 0;
    if (strstr(stage, "fold 1 of ")) m->is_large = strtoul(of + strlen(" of "), NULL, 10) > 9;
    seconds += m->is_large ? 4.0 : 1.0;
    return 0;
}

/* A quarter of the time of a quick search is enough for a kernel that suits, and as much time or more is not worse: in
 * twice its time it goes on to other kernels. */
static void many_classes_in_time(void **state) {
    (void)state;
    karma_table *table = draw_grid();
    slow_machine quick_machine = {0};
    karma_hooks hooks = {.progress = take_time, .payload = &quick_machine};
    outcome quick = search_with(table, KARMA_EFFORT_QUICK, 0.0, &hooks);
    show("quick", 0.0, &quick);
    for (double share = 0.25; share <= 8.0; share *= 2.0) {
        slow_machine machine = {0};
        hooks.payload = &machine;
        outcome o = search_with(table, KARMA_EFFORT_NORMAL, share * quick.spent, &hooks);
        show("limit", share * quick.spent, &o);
        assert_true(o.n_folds >= 5);
        assert_true(o.has_probabilities);
        assert_true(o.score >= (share < 1.0 ? 0.9 : quick.score - 2.0 * quick.error));
        if (share >= 1.0) assert_true(o.n_kernels > 4 && o.n_learned == N_MANY_ROWS);
        if (share >= 2.0) assert_true(o.n_kernels > quick.n_kernels);
    }
    karma_table_free(table);
}

/* --- no time to learn twice ------------------------------------------------------------------------------ */

/* A machine on which the last fit is slow: each report of it takes this long. */
static int take_time_in_the_last_fit(void *payload, const char *stage, size_t done, size_t total) {
    const double *cost = payload;
    (void)done, (void)total;
    seconds += strstr(stage, "fold ") ? 0.2 : *cost;
    return 0;
}

/* Trees find the steps, kernels the slopes, and the noise leaves something to a mean of both. */
static karma_table *draw_steps_and_slopes(void) {
    static const char *classes[N_MANY_ROWS];
    static double hidden[N_MANY_ROWS];
    table_plan plan = {N_MANY_ROWS, 6, 0, 0, 0.95, 0, 0.0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, 13);
    karma_table *table = draw_attributes(&plan, hidden, &rng);
    for (size_t i = 0; i < table->n_rows; i++) {
        double sum = karma_i_rng_normal(&rng);
        for (size_t c = table->row_start[i]; c < table->row_start[i + 1]; c++) {
            double x = table->cell_value[c];
            sum += table->cell_owner[c] < 3 ? x : fabs(x) < 0.6 ? 1.0 : -1.0;
        }
        classes[i] = sum > 0.0 ? "yes" : "no";
    }
    assert_int_equal(karma_table_add_target_classes(table, "answer", classes, NULL), KARMA_OK);
    return table;
}

/* The first models are learned without the sample's rows, which judge them. If there is no time for another one, the
 * scores behind the probabilities are those of the model that is given: not of the mean that was planned. */
static void scores_are_those_of_the_model(void **state) {
    (void)state;
    karma_table *table = draw_steps_and_slopes();
    double *scores = malloc(N_MANY_ROWS * sizeof *scores);
    size_t n_first = 0;
    for (double cost = 0.01; cost < 6.0; cost *= 1.5) {
        karma_hooks hooks = {.progress = take_time_in_the_last_fit, .payload = &cost};
        karma_fit_options fit;
        karma_search_options search;
        karma_model *model = NULL;
        karma_error err;
        karma_options_init(karma_fit_option_table(), &fit);
        karma_options_init(karma_search_option_table(), &search);
        fit.threads = 1;
        search.time = 60.0;
        if (karma_search(&model, table, &fit, &search, &hooks, &err) != KARMA_OK) fail_msg("%s", err.message);
        const karma_search_info *info = karma_model_search_info(model);
        size_t n = model->n_left_out;
        print_message("cost %.3f: learned from %zu rows, checked %zu\n", cost, model->info.n_rows, info->n_checked);
        if (info->n_checked > 0 && model->info.n_rows == info->n_check_learned) {
            n_first++;
            assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
            for (size_t i = 0; i < n; i++) {
                double own = scores[model->left_out_rows[i]], kept = model->left_out_scores[i];
                if (!(fabs(own - kept) < 1e-6)) fail_msg("row %zu has the score %g, %g was kept", i, own, kept);
            }
        }
        karma_model_free(model);
    }
    assert_true(n_first > 0);
    free(scores);
    karma_table_free(table);
}

/* --- a subspace ---------------------------------------------------------------------------------------- */

/* Rows in a subspace, half of the cells missing, and a label of the subspace: a kernel of this subspace is far
 * better than others, but takes the longest to learn. */
static karma_table *draw_low_rank(void) {
    karma_synth_options synth;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_synth_option_table(), &synth);
    synth.rows = 300;
    synth.dim = 16;
    synth.rank = 3;
    synth.missing = 0.5;
    synth.seed = 5;
    if (karma_table_synthesise(&table, NULL, &synth, &err) != KARMA_OK) fail_msg("%s", err.message);
    return table;
}

/* The candidates of a quick search come first, and the choice of the rank may end early: with the time of a quick
 * search the subspace is found. */
static void a_subspace_in_time(void **state) {
    (void)state;
    karma_table *table = draw_low_rank();
    outcome quick = search_in(table, KARMA_EFFORT_QUICK, 0.0);
    show("quick", 0.0, &quick);
    for (double share = 1.0; share <= 4.0; share *= 1.5) {
        outcome o = search_in(table, KARMA_EFFORT_NORMAL, share * quick.spent);
        show("limit", share * quick.spent, &o);
        assert_true(o.n_folds >= 5 && o.has_probabilities);
        assert_true(o.score >= quick.score - 2.0 * quick.error);
        assert_true(o.spent <= 1.1 * share * quick.spent);
    }
    karma_table_free(table);
}

/* --- time left ----------------------------------------------------------------------------------------- */

enum { MOST_REPORTS = 20000 };

/* A progress line and its time. */
typedef struct left_report {
    size_t fold;
    double at, left, each; /* each: seconds of one method on one fold */
    int names_best;
} left_report;

typedef struct left_reports {
    left_report items[MOST_REPORTS];
    size_t n;
} left_reports;

static int note_left(void *payload, const char *stage, size_t done, size_t total) {
    left_reports *reports = payload;
    const char *fold = strstr(stage, ", fold "), *left = strstr(stage, ", about "), *each = strstr(stage, " s each");
    (void)done, (void)total;
    if (!fold || !left || !each || reports->n == MOST_REPORTS) return 0;
    while (each[-1] != ' ') each--;
    left_report *r = &reports->items[reports->n++];
    *r = (left_report){.fold = (size_t)strtoul(fold + strlen(", fold "), NULL, 10), .at = seconds};
    r->left = strtod(left + strlen(", about "), NULL);
    r->each = strtod(each, NULL);
    r->names_best = strstr(stage, ", best mean 0.") != NULL;
    return 0;
}

/* A method that takes payload seconds on every fold, and reports after each of them. */
static karma_status take_seconds(void *payload, double *scores, karma_contest_result *result,
                                 const karma_contest *contest, const karma_hooks *hooks, karma_error *err) {
    const double *own = payload;
    (void)err;
    for (double spent = 0.0; spent < *own; spent += 1.0) {
        seconds += 1.0;
        (void)hooks->progress(hooks->payload, "working", 0, 0);
    }
    result->fit_seconds = *own;
    for (size_t i = 0; i < karma_table_n_rows(contest->test) * contest->n_outputs; i++) scores[i] = 0.0;
    return KARMA_OK;
}

/* Slow and fast methods: the time left is known after the first fold, and correct from then on. */
static void time_left_of_a_comparison_counts_down(void **state) {
    (void)state;
    static left_reports reports;
    double takes[] = {20.0, 3.0, 40.0};
    const karma_own_method own[] = {{"twenty", "", take_seconds, &takes[0]},
                                    {"three", "", take_seconds, &takes[1]},
                                    {"forty", "", take_seconds, &takes[2]}};
    char *mean = "mean";
    karma_table *table = draw_product();
    karma_comparison c = {0};
    karma_fit_options fit;
    karma_search_options search;
    karma_compare_options compare;
    karma_error err;
    karma_hooks hooks = {.progress = note_left, .payload = &reports};
    karma_options_init(karma_fit_option_table(), &fit);
    karma_options_init(karma_search_option_table(), &search);
    karma_options_init(karma_compare_option_table(), &compare);
    compare.methods = (karma_names){&mean, 1};
    fit.threads = 1;
    step = 1e-6; /* looking at the clock takes no time here */
    if (karma_compare_with(&c, table, &fit, &search, &compare, own, 3, &hooks, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    assert_true(reports.n > 100 && reports.n < MOST_REPORTS);
    assert_int_equal(reports.items[0].fold, 2);
    for (size_t i = 0; i < reports.n; i++) {
        const left_report *r = &reports.items[i];
        double truth = seconds - r->at, before = i ? r[-1].left : INFINITY;
        if (fabs(r->left - truth) > 1.0) fail_msg("fold %zu: %g s left, not %g", r->fold, r->left, truth);
        if (fabs(r->each - (20.0 + 3.0 + 40.0) / 4.0) > 0.5) fail_msg("fold %zu: %g s each", r->fold, r->each);
        assert_true(r->names_best); /* the others give every row the same score */
        if (r->left > before) fail_msg("fold %zu: %g s left, before it %g", r->fold, r->left, before);
    }
    assert_true(reports.items[reports.n - 1].left <= 1.0);
    print_message("%zu reports, the first with %g s left\n", reports.n, reports.items[0].left);
    karma_comparison_clear(&c);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_time_is_not_worse_than_quick),     cmocka_unit_test(many_classes_in_time),
        cmocka_unit_test(scores_are_those_of_the_model),         cmocka_unit_test(a_subspace_in_time),
        cmocka_unit_test(time_left_of_a_comparison_counts_down),
    };
    return cmocka_run_group_tests_name("time_limit", tests, NULL, NULL);
}
