/* Goes fold by fold and method by method, so that an interrupted comparison has judged all methods on the
 * same rows. */
#include "karma/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "compare/method.h"
#include "compare/paired.h"
#include "eval/metric_table.h"
#include "table/table_split.h"

/* The probability of a false positive, over all methods together. */
static const double LEVEL = 0.05;

/* Passes over the rows for one fit, unless the user sets them; as in a search. The last digits of the optimum
 * for a large strength would take thousands of passes and do not change the scores. */
enum { MOST_PASSES = 300 };

void karma_comparison_clear(karma_comparison *c) {
    if (!c) return;
    for (size_t m = 0; c->methods && m < c->n_methods; m++) {
        karma_compare_fold *folds = c->methods[m].folds;
        for (size_t f = 0; folds && f < c->n_folds * c->n_rounds; f++) karma_i_free(folds[f].kernel);
        karma_i_free(folds);
        karma_i_free(c->methods[m].failure);
    }
    karma_i_free(c->methods);
    karma_i_free(c->constant);
    *c = (karma_comparison){0};
}

/* --- which methods ------------------------------------------------------------------------------------- */

/* The names of all methods, as many as fit into a message. */
static void list_names(char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t m = 0; m < karma_n_methods() && used < size; m++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", m ? ", " : "", karma_method_name(m));
}

static karma_status refuse_name(const char *name, karma_error *err) {
    const char *names[64], *nearest;
    char all[360];
    size_t n = karma_n_methods();
    for (size_t m = 0; m < n; m++) names[m] = karma_method_name(m);
    if ((nearest = karma_nearest_word(name, names, n)))
        return karma_i_fail(err, KARMA_ERR_OPTION, "there is no method '%.60s'; did you mean %s?", name, nearest);
    list_names(all, sizeof all);
    return karma_i_fail(err, KARMA_ERR_OPTION, "there is no method '%.60s'; there are %s", name, all);
}

static karma_status take_name(unsigned char *wanted, const char *name, size_t length, karma_error *err) {
    char copy[64];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), name);
    size_t m = karma_i_method_find(copy);
    if (m == karma_n_methods()) return refuse_name(copy, err);
    wanted[m] = 1;
    return KARMA_OK;
}

/* wanted[method]: whether it is named; all are wanted if none is named. */
static karma_status choose_methods(unsigned char *wanted, const karma_names *names, karma_error *err) {
    memset(wanted, names->count == 0, karma_n_methods());
    for (size_t i = 0; i < names->count; i++)
        for (const char *at = names->items[i];;) {
            size_t length = strcspn(at, ",");
            KARMA_TRY(take_name(wanted, at, length, err));
            if (!at[length]) break;
            at += length + 1;
        }
    return KARMA_OK;
}

/* Methods of the caller come after ours. */
typedef struct own_methods {
    const karma_own_method *items;
    size_t count;
} own_methods;

static karma_status add_method(karma_comparison *c, karma_i_method method, karma_error *err) {
    size_t n = c->n_folds * c->n_rounds;
    karma_compare_method *m = &c->methods[c->n_methods++];
    *m = (karma_compare_method){.name = method.name,
                                .help = method.help,
                                .is_transductive = method.is_baseline && method.baseline.is_transductive,
                                .folds = karma_i_zalloc(n, sizeof *m->folds)};
    if (!m->folds) return karma_i_fail_memory(err);
    for (size_t f = 0; f < n; f++) m->folds[f].value = m->folds[f].strength = NAN;
    return KARMA_OK;
}

static karma_status add_methods(karma_comparison *c, const karma_names *names, own_methods own, karma_error *err) {
    unsigned char *wanted = karma_i_alloc(karma_n_methods(), 1);
    c->methods = karma_i_zalloc(karma_n_methods() + own.count, sizeof *c->methods);
    c->constant = karma_i_alloc(c->n_folds * c->n_rounds, sizeof *c->constant);
    karma_status st =
        wanted && c->methods && c->constant ? choose_methods(wanted, names, err) : karma_i_fail_memory(err);
    for (size_t m = 0; st == KARMA_OK && m < karma_n_methods(); m++)
        if (wanted[m]) st = add_method(c, karma_i_method_at(m), err);
    for (size_t m = 0; st == KARMA_OK && m < own.count; m++)
        st = add_method(c, (karma_i_method){.name = own.items[m].name, .help = own.items[m].help}, err);
    karma_i_free(wanted);
    return st;
}

/* --- one method on one fold ---------------------------------------------------------------------------- */

/* Reports progress, and stops a method that is out of time, or all of them if the user asks. */
typedef struct watch {
    const karma_hooks *hooks;
    const karma_comparison *comparison;
    size_t method;
    double started, deadline; /* of this method on this fold */
    int is_interrupted, is_out_of_time;
} watch;

static double spent_by(const karma_compare_method *m, size_t n_folds) {
    double seconds = 0.0;
    for (size_t f = 0; f < n_folds; f++)
        seconds += m->folds[f].tune_seconds + m->folds[f].fit_seconds + m->folds[f].predict_seconds;
    return seconds;
}

/* The seconds of all folds and of the remaining ones, predicted from the times of every method on the
 * finished folds: methods differ too much to count runs, so there is no estimate before the first fold is
 * finished. A method that takes longer than expected stops the countdown. */
static void estimate_seconds(double *all, double *left, const watch *w) {
    const karma_comparison *c = w->comparison;
    double folds = (double)(c->n_folds * c->n_rounds), done = (double)c->n_done;
    *all = *left = 0.0;
    for (size_t m = 0; m < c->n_methods; m++) {
        if (c->methods[m].failure) continue;
        double each = spent_by(&c->methods[m], c->n_done) / done, here = m > w->method ? each : 0.0;
        if (m == w->method) here = fmax(0.0, each - (karma_i_now() - w->started));
        *left += here + (folds - done - 1.0) * each;
        *all += folds * each;
    }
}

/* ", best zero 0.756": by the mean over the finished folds. "" if no method has been judged on all of them. */
static void put_best(char *text, size_t size, const karma_comparison *c) {
    size_t best = c->n_methods;
    double most = -INFINITY, sign = karma_i_goal_sign(c->goal);
    *text = '\0';
    for (size_t m = 0; m < c->n_methods; m++) {
        double sum = 0.0;
        for (size_t f = 0; f < c->n_done; f++) sum += sign * c->methods[m].folds[f].value;
        if (!c->methods[m].failure && sum > most) most = sum, best = m;
    }
    if (best < c->n_methods)
        (void)snprintf(text, size, ", best %.40s %.4g", c->methods[best].name, sign * most / (double)c->n_done);
}

/* "karma-2, fold 1 of 5, method 3 of 21", and after the first fold
 * "karma-2, fold 2 of 5 (34%), best zero 0.756, 0.8 s each, about 12 s left" */
static int keep_watch(void *payload, const char *stage, size_t done, size_t total) {
    watch *w = payload;
    const karma_comparison *c = w->comparison;
    double all = 0.0, left = 0.0, n_runs = (double)(c->n_folds * c->n_rounds * c->n_methods);
    char line[300], rest[160], best[80];
    (void)stage, (void)done, (void)total; /* of one fit among hundreds */
    (void)snprintf(rest, sizeof rest, ", method %zu of %zu", w->method + 1, c->n_methods);
    if (c->n_done) estimate_seconds(&all, &left, w);
    if (all > 0.0) {
        put_best(best, sizeof best, c);
        (void)snprintf(rest, sizeof rest, " (%.0f%%)%s, %.2g s each, about %.0f s left",
                       fmin(99.0, 100.0 * (1.0 - left / all)), best, all / n_runs, fmax(1.0, left));
    }
    (void)snprintf(line, sizeof line, "%.60s, fold %zu of %zu%s", c->methods[w->method].name, c->n_done + 1,
                   c->n_folds * c->n_rounds, rest);
    if (karma_i_progress(w->hooks, line, 0, 0)) w->is_interrupted = 1;
    if (karma_i_now() > w->deadline) w->is_out_of_time = 1;
    return w->is_interrupted || w->is_out_of_time;
}

static karma_status note_failure(karma_compare_method *m, const char *why, karma_error *err) {
    m->failure = karma_i_strdup(why);
    return m->failure ? KARMA_OK : karma_i_fail_memory(err);
}

static void forget_fold(karma_compare_fold *fold) {
    karma_i_free(fold->kernel);
    *fold = (karma_compare_fold){.value = NAN, .strength = NAN};
}

/* CANCELLED if the user stops it. Any other failure is recorded as the method's. */
static karma_status run_method(karma_comparison *c, size_t which, const karma_i_contest *contest,
                               const karma_i_outer_fold *outer, double time, const karma_hooks *hooks,
                               karma_error *err) {
    karma_compare_method *m = &c->methods[which];
    karma_compare_fold *fold = &m->folds[c->n_done];
    size_t n_ours = c->n_methods - contest->n_own;
    karma_i_method method = which < n_ours ? karma_i_method_at(karma_i_method_find(m->name))
                                           : (karma_i_method){.name = m->name, .own = &contest->own[which - n_ours]};
    double left = time > 0.0 ? time - spent_by(m, c->n_done) : INFINITY;
    watch w = {hooks, c, which, karma_i_now(), karma_i_now() + left, 0, 0};
    karma_hooks watching = {keep_watch, NULL, &w};
    karma_i_outer_fold own = *outer;
    karma_error failure = {KARMA_OK, ""};
    if (time > 0.0) own.time = fmax(0.05, left / (double)(c->n_folds * c->n_rounds - c->n_done));
    karma_status st = karma_i_method_run(fold, &method, contest, &own, &watching, &failure);
    (void)keep_watch(&w, "", 0, 0);
    if (w.is_interrupted) return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before a fold was done");
    if (w.is_out_of_time) {
        forget_fold(fold);
        return note_failure(m, "out of time", err);
    }
    return st == KARMA_OK ? KARMA_OK : note_failure(m, failure.message, err);
}

/* --- one fold ------------------------------------------------------------------------------------------ */

static karma_status run_fold(karma_comparison *c, const karma_i_contest *contest, const karma_i_fold *fold, double time,
                             const karma_hooks *hooks, karma_error *err) {
    size_t n = fold->train->n_rows, n_inner = c->n_inner < n ? c->n_inner : n;
    karma_i_folds inner;
    /* with the user's seed, the inner folds are those that karma_search will take */
    KARMA_TRY(karma_i_folds_init(&inner, contest->task, fold->train, n_inner, 1, (uint64_t)contest->fit->seed, 0, err));
    karma_i_outer_fold outer = {.train = fold->train, .test = fold->test, .inner = &inner};
    karma_status st = karma_i_contest_constant(&c->constant[c->n_done], contest, &outer, err);
    for (size_t m = 0; st == KARMA_OK && m < c->n_methods; m++)
        if (!c->methods[m].failure) st = run_method(c, m, contest, &outer, time, hooks, err);
    karma_i_folds_clear(&inner);
    return st;
}

/* --- results ---------------------------------------------------------------------------------- */

static void summarise(karma_compare_method *m, const karma_comparison *c) {
    double n = (double)c->n_done, squares = 0.0, folds = fmin(n, (double)c->n_folds);
    m->mean = 0.0;
    for (size_t f = 0; f < c->n_done; f++) m->mean += m->folds[f].value / n;
    for (size_t f = 0; f < c->n_done; f++) squares += pow(m->folds[f].value - m->mean, 2);
    m->error = c->n_done > 1 ? sqrt(squares / (n - 1.0) / folds) : NAN;
}

/* By more than rounding: equal methods stay equal, whatever the order of the folds. */
static int is_better(double a, double b) {
    return a - b > 1e-12 * fmax(1.0, fabs(b));
}

static void find_best(karma_comparison *c) {
    double sign = karma_i_goal_sign(c->goal);
    c->best = c->n_methods;
    for (size_t i = 0; i < c->n_methods; i++) {
        karma_compare_method *m = &c->methods[i];
        m->mean = m->error = m->difference = m->difference_error = m->t = m->p_value = m->adjusted_p = NAN;
        if (m->failure) continue;
        summarise(m, c);
        if (c->best == c->n_methods || is_better(sign * m->mean, sign * c->methods[c->best].mean)) c->best = i;
    }
}

static void compare_with_best(karma_compare_method *m, const karma_comparison *c, double *differences, double ratio) {
    size_t n_counted = karma_i_metric_of_goal(c->goal)->is_share_of_rows ? c->n_rows / c->n_folds : 0;
    for (size_t f = 0; f < c->n_done; f++) differences[f] = m->folds[f].value - c->methods[c->best].folds[f].value;
    karma_i_paired test = karma_i_paired_test(differences, c->n_done, ratio, n_counted);
    m->difference = test.mean;
    m->difference_error = test.error;
    m->t = test.t;
    m->p_value = test.p_value;
}

/* Room for the numbers of all methods. */
typedef struct tests {
    double *differences, *p, *adjusted;
    size_t *method, *order;
} tests;

static void judge_differences(karma_comparison *c, tests *t, double ratio) {
    size_t n = 0;
    c->methods[c->best].difference = 0.0;
    for (size_t i = 0; i < c->n_methods; i++) {
        if (i == c->best || c->methods[i].failure) continue;
        compare_with_best(&c->methods[i], c, t->differences, ratio);
        t->p[n] = c->methods[i].p_value;
        t->method[n++] = i;
    }
    if (c->n_done < 2) return;
    karma_i_holm(t->adjusted, t->order, t->p, n);
    for (size_t k = 0; k < n; k++) {
        c->methods[t->method[k]].adjusted_p = t->adjusted[k];
        c->methods[t->method[k]].is_worse = t->adjusted[k] <= LEVEL;
    }
}

static karma_status finish(karma_comparison *c, double ratio, karma_error *err) {
    size_t n = c->n_methods;
    find_best(c);
    if (c->best == n) return KARMA_OK;
    tests t = {karma_i_alloc(c->n_done, sizeof *t.differences), karma_i_alloc(n, sizeof *t.p),
               karma_i_alloc(n, sizeof *t.adjusted), karma_i_alloc(n, sizeof *t.method),
               karma_i_alloc(n, sizeof *t.order)};
    int ok = t.differences && t.p && t.adjusted && t.method && t.order;
    if (ok) judge_differences(c, &t, ratio);
    karma_i_free(t.differences);
    karma_i_free(t.p);
    karma_i_free(t.adjusted);
    karma_i_free(t.method);
    karma_i_free(t.order);
    return ok ? KARMA_OK : karma_i_fail_memory(err);
}

/* --- the whole ----------------------------------------------------------------------------------------- */

/* Fixes the task for all folds, and the loss that suits the goal unless the user chose one. */
static karma_status settle_task(karma_i_task *task, karma_goal *goal, karma_fit_options *fit, const karma_table *rows,
                                karma_goal wanted, const karma_hooks *hooks, karma_error *err) {
    karma_i_task first;
    KARMA_TRY(karma_i_baseline_task(&first, rows, fit, hooks, err));
    karma_status st = karma_i_goal_resolve(goal, wanted, &first, err);
    if (st == KARMA_OK) {
        fit->task = (int)first.heads[0].labels.task;
        if (fit->loss == KARMA_LOSS_AUTO) fit->loss = (int)karma_i_goal_loss(*goal);
        st = karma_i_baseline_task(task, rows, fit, NULL, err);
    }
    karma_i_task_clear(&first);
    return st;
}

/* All folds of one round. Adds the ratios of test rows to training rows. */
static karma_status run_round(karma_comparison *c, double *ratios, const karma_i_contest *contest,
                              const karma_i_folds *folds, double time, const karma_hooks *hooks, karma_error *err) {
    karma_status st = KARMA_OK;
    for (size_t f = 0; st == KARMA_OK && f < folds->n_folds; f++) {
        karma_i_fold fold = {0};
        st = karma_i_fold_split(&fold, folds, f, err);
        if (st == KARMA_OK) st = run_fold(c, contest, &fold, time, hooks, err);
        if (st == KARMA_OK) {
            *ratios += (double)fold.test->n_rows / (double)fold.train->n_rows;
            c->n_done++;
        }
        karma_i_fold_clear(&fold);
    }
    return st;
}

static karma_status run_rounds(karma_comparison *c, const karma_i_contest *contest, const karma_table *rows,
                               double time, const karma_hooks *hooks, karma_error *err) {
    double ratios = 0.0;
    karma_status st = KARMA_OK;
    for (size_t r = 0; st == KARMA_OK && r < c->n_rounds; r++) {
        karma_i_folds folds = {0};
        st = karma_i_folds_init(&folds, contest->task, rows, c->n_folds, 1, (uint64_t)contest->fit->seed + r, 0, err);
        if (st == KARMA_OK) st = run_round(c, &ratios, contest, &folds, time, hooks, err);
        karma_i_folds_clear(&folds);
    }
    if (st == KARMA_ERR_CANCELLED && c->n_done > 0) {
        for (size_t m = 0; m < c->n_methods; m++) forget_fold(&c->methods[m].folds[c->n_done]);
        st = KARMA_OK;
    }
    return st == KARMA_OK ? finish(c, ratios / (double)c->n_done, err) : st;
}

static karma_status compare_rows(karma_comparison *c, const karma_table *rows, const karma_fit_options *fit,
                                 const karma_search_options *search, const karma_compare_options *options,
                                 own_methods methods, const karma_hooks *hooks, karma_error *err) {
    karma_i_task task;
    karma_fit_options own = *fit; /* borrows its texts */
    if (own.passes == (int64_t)KARMA_AUTO) own.passes = MOST_PASSES;
    c->n_rows = rows->n_rows;
    c->n_folds = (size_t)options->folds < rows->n_rows ? (size_t)options->folds : rows->n_rows;
    c->n_rounds = (size_t)options->rounds;
    c->n_inner = (size_t)options->inner;
    KARMA_TRY(add_methods(c, &options->methods, methods, err));
    KARMA_TRY(settle_task(&task, &c->goal, &own, rows, (karma_goal)search->goal, hooks, err));
    karma_i_contest contest = {&task, c->goal, &own, search, methods.items, methods.count};
    karma_status st = run_rounds(c, &contest, rows, options->time, hooks, err);
    karma_i_task_clear(&task);
    return st;
}

karma_status karma_compare_with(karma_comparison *out, const karma_table *table, const karma_fit_options *fit,
                                const karma_search_options *search, const karma_compare_options *compare,
                                const karma_own_method *own, size_t n_own, const karma_hooks *hooks, karma_error *err) {
    karma_i_training training;
    karma_comparison c = {0};
    karma_fit_options own_fit;
    karma_search_options own_search;
    karma_compare_options own_compare;
    KARMA_TRY(karma_i_table_check_whole(table, err));
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own_fit, fit, err));
    KARMA_TRY(karma_i_options_accept(karma_search_option_table(), &own_search, search, err));
    KARMA_TRY(karma_i_options_accept(karma_compare_option_table(), &own_compare, compare, err));
    fit = &own_fit;
    search = &own_search;
    compare = &own_compare;
    if (table->n_targets != 1)
        return karma_i_fail(err, KARMA_ERR_DATA, "methods are compared on one target, but there are %zu",
                            table->n_targets);
    if (table->gram) return karma_i_fail(err, KARMA_ERR_DATA, "methods are compared on columns, not on kernel values");
    KARMA_TRY(karma_i_training_take(&training, table, fit->solver != KARMA_SOLVER_ONLINE, hooks, err));
    const karma_table *rows = training.rows;
    karma_status st;
    if (rows->n_rows < 4) /* two folds, and two inner folds of what is learned from */
        st = karma_i_fail(err, KARMA_ERR_DATA, "a comparison needs at least 4 rows with a label, but there are %zu",
                          rows->n_rows);
    else
        st = compare_rows(&c, rows, fit, search, compare, (own_methods){own, n_own}, hooks, err);
    karma_i_training_clear(&training);
    if (st == KARMA_OK)
        *out = c;
    else
        karma_comparison_clear(&c);
    return st;
}

karma_status karma_compare(karma_comparison *out, const karma_table *table, const karma_fit_options *fit,
                           const karma_search_options *search, const karma_compare_options *compare,
                           const karma_hooks *hooks, karma_error *err) {
    return karma_compare_with(out, table, fit, search, compare, NULL, 0, hooks, err);
}
