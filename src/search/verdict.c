#include "search/verdict.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "search/blend.h"
#include "search/plan_parts.h"
#include "solve/solver.h"
#include "table/table_split.h"

/* The number of rows for comparing the choice with boosted trees, which learn from all rows in less time. A
 * choice that does not improve on the trees here is not learned from more rows. */
enum { MOST_FIRST_ROWS = 8000 };
/* Seconds per cell before the first tree has grown. */
static const double TREE_SECONDS = 1e-7;
/* From this multiple of the sample on, the sample is too small to be worth another fit. */
static const double SMALL_SHARE = 25.0;
/* Up to this many rows a choice that was tried on some of the rows is learned from all of them next, at most 3.4
 * times as many. With more, it is learned from all but the sample, which judges it once more, and that is final. */
enum { MOST_WHOLE_ROWS = 20000 };
/* The share of the remaining time that the first model may take: alone, before trees, and for trees. And how
 * many times longer the second one may take. */
static const double FIRST_SHARE = 0.6, SHARE_BEFORE_TREES = 0.4, TREE_SHARE = 0.85, SAFE_FACTOR = 1.3;
/* If there is no time for all machines of the second model, those that it has must carry this share of the
 * weight. */
static const double LEAST_WEIGHT = 0.3;

void karma_i_tried_clear(karma_i_tried *t) {
    karma_model_free(t->model);
    karma_i_free(t->check.scores);
    *t = (karma_i_tried){0};
}

/* --- the first models --------------------------------------------------------------------------------------- */

size_t karma_i_first_fit_parts(size_t n_rows) {
    return (n_rows + MOST_FIRST_ROWS - 1) / MOST_FIRST_ROWS;
}

karma_status karma_i_verdict_split(karma_i_fold *out, karma_table **some, const karma_i_last_fit *f, karma_error *err) {
    karma_i_folds folds = {0};
    KARMA_TRY(karma_i_fold_split(out, f->samples, 0, err));
    size_t n_folds = karma_i_first_fit_parts(karma_i_table_n_all(out->train));
    if (n_folds < 2) return KARMA_OK;
    KARMA_TRY(karma_i_folds_init(&folds, f->task, out->train, n_folds, 1, (uint64_t)f->task->options.seed, 0, err));
    karma_status st = karma_i_fold_test_rows(some, &folds, 0, err);
    karma_i_folds_clear(&folds);
    return st;
}

/* The first model, learned from `rest`, by the solver of the options and then, if it fails the check, by
 * landmarks. *out is NULL if none passed. */
static karma_status fit_first(karma_model **out, karma_i_fit_settings *how, karma_i_fit_check *c,
                              const karma_i_last_fit *f, const karma_table *rest, karma_error *err) {
    double now = karma_i_now(), share = FIRST_SHARE;
    if (f->contender) share = f->plan == f->contender ? TREE_SHARE : SHARE_BEFORE_TREES;
    *how = (karma_i_fit_settings){f->task->options.solver, now + share * (f->deadline - now), 1, NULL};
    if (how->solver == KARMA_SOLVER_AUTO && karma_i_table_n_all(rest) > MOST_HURRIED_ROWS &&
        (f->contender || isfinite(f->deadline)))
        how->solver = KARMA_SOLVER_NYSTROM;
    for (;;) {
        karma_model *model = NULL;
        int passed = 0;
        KARMA_TRY(karma_i_choice_fit(&model, f, rest, how, err));
        karma_status st = karma_i_fit_check_model(&passed, c, model, f, err);
        int is_exact = model->info.solver == KARMA_SOLVER_BATCH && how->solver == KARMA_SOLVER_AUTO;
        int has_time = karma_i_now() < how->deadline;
        if (st == KARMA_OK && passed && (karma_i_choice_fit_is_usable(model) || !is_exact || !has_time)) {
            *out = model;
            return KARMA_OK;
        }
        karma_model_free(model);
        if (st != KARMA_OK || !is_exact || !has_time) return st;
        how->solver = KARMA_SOLVER_NYSTROM;
    }
}

karma_status karma_i_verdict_try(karma_i_tried *first, karma_i_tried *second, karma_i_last_fit *f,
                                 const karma_table *some, const karma_table *rest, karma_error *err) {
    karma_i_last_fit contender = *f;
    contender.plan = f->contender;
    double began = karma_i_now();
    KARMA_TRY(fit_first(&first->model, &first->how, &first->check, f, some, err));
    double now = karma_i_now();
    first->row_seconds = (now - began) / (double)karma_i_table_n_all(some);
    double seconds = TREE_SECONDS * (double)karma_i_table_n_all(rest) * (double)rest->n_attributes;
    if (!f->contender || now + seconds > f->deadline) return KARMA_OK;
    KARMA_TRY(fit_first(&second->model, &second->how, &second->check, &contender, rest, err));
    second->row_seconds = (karma_i_now() - now) / (double)karma_i_table_n_all(rest);
    return KARMA_OK;
}

/* --- the verdict -------------------------------------------------------------------------------------------- */

/* The trees of a model, or NULL. */
static const karma_i_forest *boosted_trees(const karma_model *model) {
    for (size_t e = 0; e < model->plan.n_kinds; e++)
        if (model->plan.kinds[e] == KARMA_KERNEL_BOOST) return model->encoder.recipes[e]->forest;
    return NULL;
}

const karma_i_fit_check *karma_i_verdict_check(const karma_i_verdict *v) {
    return v->is_learned ? &v->check : &v->best->check;
}

void karma_i_verdict_clear(karma_i_verdict *v) {
    karma_i_plan_clear(&v->joined);
    karma_i_plan_clear(&v->shorter);
    karma_i_free(v->check.scores);
}

karma_status karma_i_verdict_decide(karma_i_verdict *v, const karma_i_last_fit *f, karma_i_tried *first,
                                    karma_i_tried *second, karma_error *err) {
    const karma_i_race *race = f->race;
    size_t n = race->table->n_rows * race->task->n_outputs;
    int takes_first = first->model != NULL, takes_second = f->contender && second->model;
    karma_i_blend blend = {takes_first, takes_second};
    const karma_i_forest *grown = NULL;
    v->best = takes_first ? first : takes_second ? second : NULL;
    if (!v->best) return KARMA_OK;
    if (takes_first && takes_second) {
        int is_second = second->check.value > first->check.value;
        if (karma_i_plan_is_all_trees(f->plan))
            blend = (karma_i_blend){!is_second, is_second};
        else
            KARMA_TRY(karma_i_blend_weigh(&blend, f->judge, race->task, race->table, first->check.scores,
                                          second->check.scores, err));
        if (blend.second > blend.first) v->best = second;
        takes_first = blend.first > 0.0;
        takes_second = blend.second > 0.0;
        grown = boosted_trees(second->model);
    }
    v->plan = !takes_second ? f->plan : !takes_first ? f->contender : &v->joined;
    v->how = takes_first ? first->how : second->how;
    v->grown_seconds = takes_second ? second->row_seconds : 0.0;
    v->n_first = first->model ? first->check.n_learned : race->table->n_rows;
    v->row_seconds = v->grown_seconds + (takes_first ? first->row_seconds : 0.0);
    v->how.grown = grown;
    v->check = takes_first ? first->check : second->check;
    v->check.scores = karma_i_alloc(n, sizeof *v->check.scores);
    if (!v->check.scores) return karma_i_fail_memory(err);
    if (!takes_first || !takes_second) {
        v->best = takes_first ? first : second;
        memcpy(v->check.scores, v->best->check.scores, n * sizeof *v->check.scores);
        return KARMA_OK;
    }
    karma_i_blend_scores(v->check.scores, &blend, first->check.scores, second->check.scores, n);
    KARMA_TRY(karma_i_fit_check_compare(&v->check, f, err));
    return karma_i_plan_join(&v->joined, f->plan, f->contender, &blend, err);
}

/* --- time --------------------------------------------------------------------------------------------------- */

/* The seconds per row that all machines of the verdict take. The time of an exact solver grows between
 * linearly and quadratically with the rows. */
static double machine_row_seconds(const karma_i_verdict *v, const karma_table *rows) {
    double each = v->row_seconds - v->grown_seconds, growth = (double)karma_i_table_n_all(rows) / (double)v->n_first;
    int is_exact = karma_i_table_n_all(rows) <= KARMA_I_MOST_BATCH_ROWS && v->how.solver != KARMA_SOLVER_NYSTROM;
    return is_exact ? each * sqrt(fmax(1.0, growth)) : each;
}

/* Whether there is time to learn the verdict from these rows. Existing trees take none. */
static int is_in_time(const karma_i_verdict *v, const karma_i_last_fit *f, const karma_table *rows) {
    double each = machine_row_seconds(v, rows) + (v->how.grown ? 0.0 : v->grown_seconds);
    return karma_i_now() + SAFE_FACTOR * each * (double)karma_i_table_n_all(rows) <= f->deadline;
}

/* If there is no time for all machines of the verdict, the heaviest ones learn from these rows: that does
 * better than all machines with fewer rows. */
static karma_status shorten(karma_i_verdict *v, const karma_i_last_fit *f, const karma_table *rows, karma_error *err) {
    if (!v->plan) return KARMA_OK;
    size_t n = karma_i_plan_n_machines(v->plan);
    double trees = v->how.grown ? 0.0 : v->grown_seconds, each = machine_row_seconds(v, rows);
    double left = (f->deadline - karma_i_now()) / SAFE_FACTOR / (double)karma_i_table_n_all(rows) - trees,
           share = left / each;
    if (!(share < 1.0) || share * (double)n < 1.0 || v->shorter.n_members > 0) return KARMA_OK;
    KARMA_TRY(karma_i_plan_take_heavy(&v->shorter, v->plan, (size_t)(share * (double)n), err));
    double weight = karma_i_plan_total_weight(&v->shorter), total = karma_i_plan_total_weight(v->plan);
    if (weight < LEAST_WEIGHT * total) return KARMA_OK;
    v->plan = &v->shorter;
    v->row_seconds = v->grown_seconds + 0.99 * share * (v->row_seconds - v->grown_seconds); /* it is checked later */
    return KARMA_OK;
}

/* --- learning it -------------------------------------------------------------------------------------------- */

/* Learns the verdict from `rows`. If these do not include the sample, the sample judges once more, and the
 * earlier model stays if it was better. *model: the earlier model, then the better one. */
static karma_status fit_verdict(karma_model **model, int *is_better, karma_i_verdict *v, const karma_i_last_fit *f,
                                const karma_table *rows, int is_checked, karma_error *err) {
    karma_model *last = NULL;
    karma_i_last_fit own = *f;
    karma_i_fit_check again = {0};
    int passed = 1;
    own.plan = v->plan;
    v->how.deadline = f->deadline;
    v->how.is_quiet = 0;
    KARMA_TRY(karma_i_choice_fit(&last, &own, rows, &v->how, err));
    karma_status st = is_checked ? karma_i_fit_check_model(&passed, &again, last, &own, err) : KARMA_OK;
    *is_better = st == KARMA_OK && (karma_i_choice_fit_is_usable(last) || last->info.gap <= (*model)->info.gap) &&
                 (!is_checked || again.value >= v->best->check.value - again.error);
    if (*is_better && is_checked) {
        karma_i_fit_check before = v->check;
        v->check = again;
        again = before;
    }
    v->is_learned |= *is_better;
    karma_i_free(again.scores);
    karma_model_free(*is_better ? *model : last);
    if (*is_better) *model = last;
    return st;
}

/* After the choice was tried on `some` rows and the contender on the `rest`, those without the sample. */
karma_status karma_i_verdict_learn(karma_model **out, karma_i_verdict *v, const karma_i_last_fit *f,
                                   const karma_table *rest, const karma_table *some, karma_error *err) {
    int is_small = SMALL_SHARE * (double)f->race->table->n_rows <= (double)karma_i_table_n_all(f->rows);
    int is_whole = karma_i_table_n_all(f->rows) <= MOST_WHOLE_ROWS;
    int is_unchecked = v->plan != f->contender && some != rest && !is_whole;
    karma_model *model = v->best->model;
    v->best->model = NULL;
    karma_status st = is_unchecked ? shorten(v, f, rest, err) : KARMA_OK;
    int passed = !is_unchecked || is_in_time(v, f, rest);
    if (st == KARMA_OK && is_unchecked && passed) st = fit_verdict(&model, &passed, v, f, rest, 1, err);
    v->how.grown = NULL; /* they do not know the sample's rows */
    int is_last = passed && !is_small && !is_unchecked;
    if (st == KARMA_OK && is_last) st = shorten(v, f, f->rows, err);
    if (st == KARMA_OK && is_last && is_in_time(v, f, f->rows))
        st = fit_verdict(&model, &passed, v, f, f->rows, 0, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
