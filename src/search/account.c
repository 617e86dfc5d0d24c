#include "search/account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/search_info.h"

/* The account lists at most this many candidates; the others are only counted. */
enum { MOST_LISTED = 100 };

/* The ingredients of kernels, and whether a kernel has one. */
typedef struct ingredient {
    const char *name;
    int (*is_used)(const karma_i_plan_kernel *kernel);
} ingredient;

/* More than a linear function of the values, or of their completions. */
static int is_nonlinear(const karma_i_plan_kernel *kernel) {
    return karma_i_plan_kernel_is_ranked(kernel) || karma_i_plan_kernel_sets_outer(kernel) ||
           karma_i_plan_kernel_has_trees(kernel);
}

static int treats_missing(const karma_i_plan_kernel *kernel) {
    return karma_i_plan_kernel_sets_gamma(kernel) || karma_i_plan_kernel_has_subspace(kernel);
}

/* The last two stand for groups: ranks, maps and trees often replace each other, so that none of them has a gain of
 * its own even if together they are what matters. */
static const ingredient ingredients[] = {
    {"gamma", karma_i_plan_kernel_sets_gamma},
    {"rank", karma_i_plan_kernel_is_ranked},
    {"subspace", karma_i_plan_kernel_has_subspace},
    {"outer", karma_i_plan_kernel_sets_outer},
    {"trees", karma_i_plan_kernel_has_trees},
    {"nonlinear", is_nonlinear},
    {"missing", treats_missing},
};
enum { N_INGREDIENTS = sizeof ingredients / sizeof ingredients[0] };

/* The mean over folds, in the goal's own sign, and its standard error. The error is that of one repeat, since
 * all repeats leave out the same rows. */
static void summarise(double *mean, double *error, const double *values, const karma_i_search_facts *f) {
    double n = (double)f->race->n_done, sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < f->race->n_done; i++) sum += values[i] / n;
    for (size_t i = 0; i < f->race->n_done; i++) squares += pow(values[i] - sum, 2);
    double folds = fmin(n, (double)f->race->folds->n_folds);
    *error = n > 1.0 ? sqrt(squares / (n - 1.0) / folds) : NAN;
    *mean = sum * karma_i_goal_sign(f->judge->goal);
}

/* The race as it would be judged by one of its targets alone. */
static karma_i_race judged_by(const karma_i_race *race, const karma_i_judge *judge) {
    karma_i_race own = *race;
    own.goal_payload = judge;
    return own;
}

/* --- the value of a choice among some candidates ------------------------------------------------------ */

static const karma_i_plan_kernel *kernel_of(const karma_i_race *race, size_t run) {
    return &race->entries[race->runs[run].entry].kernel;
}

static int is_out(const karma_i_race *race, size_t run) {
    return race->entries[race->runs[run].entry].is_out;
}

/* `f` makes the choice; `race` defines how it is judged. */
static karma_status values_of(double *values, const karma_i_search_facts *f, const karma_i_race *race,
                              const unsigned char *allowed, karma_rule rule, karma_error *err) {
    karma_i_choice choice;
    karma_i_row_loss_fn loss = karma_i_judge_row_loss(f->judge);
    KARMA_TRY(karma_i_choose(&choice, rule, f->race, allowed, loss, f->judge, f->most_machines, err));
    karma_status st = karma_i_choice_values(values, &choice, race, err);
    karma_i_choice_clear(&choice);
    return st;
}

/* Marks the candidates without an ingredient. False if choices with and without it cannot be compared. */
static int allow_without(unsigned char *allowed, const ingredient *i, const karma_i_race *race) {
    size_t n_without = 0, n_with = 0;
    for (size_t r = 0; r < race->n_runs; r++) {
        allowed[r] = !i->is_used(kernel_of(race, r));
        n_without += allowed[r] && !is_out(race, r);
        n_with += !allowed[r] && race->entries[race->runs[r].entry].was_judged;
    }
    return n_with && n_without;
}

/* Chooses without the candidates that use an ingredient: the ingredient's gain is the difference, fold by
 * fold. `chosen` has the values of the actual choice. */
static karma_status add_gain(karma_search_info *info, const ingredient *i, const karma_i_search_facts *f,
                             const double *chosen, karma_error *err) {
    unsigned char *allowed = karma_i_zalloc(f->race->n_runs, 1);
    double *values = karma_i_alloc(f->race->n_done, sizeof *values);
    karma_status st = allowed && values ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && allow_without(allowed, i, f->race)) {
        karma_search_gain *gain = &info->gains[info->n_gains++];
        st = values_of(values, f, f->race, allowed, f->rule, err);
        for (size_t n = 0; st == KARMA_OK && n < f->race->n_done; n++) values[n] = chosen[n] - values[n];
        if (st == KARMA_OK) summarise(&gain->gain, &gain->error, values, f);
        if (st == KARMA_OK && !(gain->ingredient = karma_i_strdup(i->name))) st = karma_i_fail_memory(err);
    }
    karma_i_free(allowed);
    karma_i_free(values);
    return st;
}

/* In the race more is always better; reports use the goal's own sign. */
static void restore_sign(double *values, const karma_i_search_facts *f) {
    for (size_t i = 0; i < f->race->n_done; i++) values[i] *= karma_i_goal_sign(f->judge->goal);
}

static int allow_zero_imputation(unsigned char *allowed, const karma_i_race *race) {
    int any = 0;
    for (size_t r = 0; r < race->n_runs; r++) {
        allowed[r] = karma_i_plan_kernel_is_zero_imputation(kernel_of(race, r)) && !is_out(race, r);
        any |= allowed[r];
    }
    return any;
}

/* 0-imputation at its best C: the score of the linear kernel with γ = 1 on the same folds. */
static karma_status add_zero_imputation(karma_search_info *info, const karma_i_search_facts *f, karma_error *err) {
    const karma_i_race *race = f->race;
    unsigned char *allowed = karma_i_zalloc(race->n_runs, 1);
    info->zero_values = karma_i_zalloc(race->n_done, sizeof *info->zero_values);
    karma_status st = allowed && info->zero_values ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) info->has_zero_imputation = allow_zero_imputation(allowed, race);
    if (st == KARMA_OK && info->has_zero_imputation) {
        st = values_of(info->zero_values, f, race, allowed, KARMA_RULE_BEST, err);
        if (st == KARMA_OK) summarise(&info->zero_score, &info->zero_error, info->zero_values, f);
        restore_sign(info->zero_values, f);
    }
    karma_i_free(allowed);
    return st;
}

/* Always predicting the most common class, or the mean. */
static karma_status judge_constant(double *out, const karma_i_search_facts *f, const karma_i_judge *judge,
                                   karma_error *err) {
    const karma_i_race *race = f->race;
    double value = 0.0, *scores = karma_i_zalloc(race->table->n_rows, race->task->n_outputs * sizeof *scores);
    if (!scores) return karma_i_fail_memory(err);
    karma_status st = karma_i_constant_scores(scores, race->task, race->table, err);
    if (st == KARMA_OK) st = karma_i_goal_value(&value, judge, race->task, race->table, scores, err);
    *out = karma_i_goal_sign(judge->goal) * value;
    karma_i_free(scores);
    return st;
}

/* --- one target of several ----------------------------------------------------------------------------- */

static karma_status add_target(karma_search_target *own, const karma_i_search_facts *f, size_t target,
                               const unsigned char *zero, double *values, karma_error *err) {
    karma_i_judge judge = *f->judge;
    judge.only = target + 1;
    judge.goal = own->goal = karma_i_goal_of_target(f->judge->goal, f->race->task, target);
    karma_i_race race = judged_by(f->race, &judge);
    karma_i_search_facts facts = *f;
    facts.judge = &judge;
    KARMA_TRY(karma_i_choice_values(values, f->choice, &race, err));
    summarise(&own->score, &own->error, values, &facts);
    KARMA_TRY(judge_constant(&own->constant_score, f, &judge, err));
    if (!zero) return KARMA_OK;
    KARMA_TRY(values_of(values, f, &race, zero, KARMA_RULE_BEST, err));
    summarise(&own->zero_score, &own->zero_error, values, &facts);
    return KARMA_OK;
}

/* Accuracy and R2 have no common scale: their mean is used for choosing, but is not reported. */
static karma_status add_targets(karma_search_info *info, const karma_i_search_facts *f, karma_error *err) {
    size_t n = f->race->task->n_heads;
    if (n < 2) return KARMA_OK;
    info->targets = karma_i_zalloc(n, sizeof *info->targets);
    unsigned char *zero = karma_i_zalloc(f->race->n_runs, 1);
    double *values = karma_i_alloc(f->race->n_done, sizeof *values);
    karma_status st = info->targets && zero && values ? KARMA_OK : karma_i_fail_memory(err);
    int has_zero = st == KARMA_OK && allow_zero_imputation(zero, f->race);
    for (; st == KARMA_OK && info->n_targets < n; info->n_targets++)
        st = add_target(&info->targets[info->n_targets], f, info->n_targets, has_zero ? zero : NULL, values, err);
    karma_i_free(zero);
    karma_i_free(values);
    return st;
}

/* --- candidates ---------------------------------------------------------------------------------------- */

typedef struct listed {
    size_t run;
    double value;
} listed;

static int by_value(const void *a, const void *b) {
    const listed *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

/* The γ of the only factor that has one of its own, and the kernel without it. */
static karma_status describe_gamma(karma_search_candidate *c, const karma_i_plan_kernel *kernel, karma_error *err) {
    karma_i_plan_kernel plain = {0};
    karma_i_plan_factor *only = NULL;
    size_t n = 0;
    karma_status st = karma_i_plan_kernel_copy(&plain, kernel, err);
    for (size_t f = 0; st == KARMA_OK && f < plain.n_factors; f++)
        if (plain.factors[f].own & KARMA_I_SETTING_GAMMA && ++n) only = &plain.factors[f];
    if (st == KARMA_OK && n == 1) {
        c->gamma = (double)only->gamma;
        only->own &= ~(unsigned)KARMA_I_SETTING_GAMMA;
        c->without_gamma = karma_i_plan_kernel_text(&plain);
        if (!c->without_gamma) st = karma_i_fail_memory(err);
    }
    karma_i_plan_kernel_clear(&plain);
    return st;
}

static karma_status add_candidate(karma_search_info *info, size_t run, const karma_i_search_facts *f,
                                  karma_error *err) {
    const karma_i_race_run *r = &f->race->runs[run];
    karma_search_candidate *c = &info->candidates[info->n_candidates++];
    c->C_factor = r->C_factor;
    summarise(&c->score, &c->error, r->values, f);
    for (size_t m = 0; m < f->choice->n; m++) c->is_chosen |= f->choice->runs[m] == run;
    c->kernel = karma_i_plan_kernel_text(kernel_of(f->race, run));
    return c->kernel ? describe_gamma(c, kernel_of(f->race, run), err) : karma_i_fail_memory(err);
}

static karma_status add_candidates(karma_search_info *info, const karma_i_search_facts *f, karma_error *err) {
    const karma_i_race *race = f->race;
    listed *runs = karma_i_alloc(race->n_runs, sizeof *runs);
    info->candidates = karma_i_zalloc(MOST_LISTED, sizeof *info->candidates);
    karma_status st = runs && info->candidates ? KARMA_OK : karma_i_fail_memory(err);
    size_t n = 0;
    for (size_t r = 0; st == KARMA_OK && r < race->n_runs; r++)
        if (!is_out(race, r)) runs[n++] = (listed){r, karma_i_run_value(race, r)};
    if (n > 1) qsort(runs, n, sizeof *runs, by_value);
    for (size_t i = 0; st == KARMA_OK && i < n && i < MOST_LISTED; i++) st = add_candidate(info, runs[i].run, f, err);
    karma_i_free(runs);
    return st;
}

/* --- the choice ---------------------------------------------------------------------------------------- */

static karma_status add_member(karma_search_info *info, const karma_i_plan_member *planned, double total_weight,
                               karma_error *err) {
    karma_search_member *m = &info->members[info->n_members++];
    m->n_machines = planned->machines.n;
    m->kernel = karma_i_plan_kernel_text(&planned->kernel);
    m->C_factors = karma_i_alloc(m->n_machines, sizeof *m->C_factors);
    m->weights = karma_i_alloc(m->n_machines, sizeof *m->weights);
    if (!m->kernel || !m->C_factors || !m->weights) return karma_i_fail_memory(err);
    for (size_t c = 0; c < m->n_machines; c++) {
        m->C_factors[c] = planned->machines.factors[c];
        m->weights[c] = planned->machines.weights[c] / total_weight;
    }
    return KARMA_OK;
}

static karma_status add_members(karma_search_info *info, const karma_i_plan *plan, karma_error *err) {
    info->members = karma_i_zalloc(plan->n_members, sizeof *info->members);
    if (!info->members) return karma_i_fail_memory(err);
    for (size_t m = 0; m < plan->n_members; m++)
        KARMA_TRY(add_member(info, &plan->members[m], karma_i_plan_total_weight(plan), err));
    return KARMA_OK;
}

/* Fields that need no computation. There may have been no time for some kernels. */
static void count(karma_search_info *info, const karma_i_search_facts *f) {
    const karma_i_race *race = f->race;
    info->goal = f->judge->goal;
    info->n_values = race->n_done;
    info->n_folds = race->folds->n_folds;
    info->n_repeats = race->folds->n_repeats;
    info->n_rows = f->n_rows;
    info->n_rows_tried = race->table->n_rows;
    info->n_chosen = f->choice->n;
    info->seconds = f->seconds;
    info->end = f->end;
    for (size_t e = 0; e < race->n_entries; e++) {
        info->n_kernels_to_the_end += race->entries[e].is_out ? 0 : 1;
        info->n_kernels += race->entries[e].was_judged ? 1 : 0;
        info->n_tried += race->entries[e].was_judged ? race->entries[e].path.n : 0;
    }
}

static karma_status fill(karma_search_info *info, const karma_i_search_facts *f, karma_error *err) {
    count(info, f);
    info->values = karma_i_alloc(f->race->n_done, sizeof *info->values);
    info->gains = karma_i_zalloc(N_INGREDIENTS, sizeof *info->gains);
    if (!info->values || !info->gains) return karma_i_fail_memory(err);
    KARMA_TRY(karma_i_choice_values(info->values, f->choice, f->race, err));
    summarise(&info->score, &info->error, info->values, f);
    KARMA_TRY(judge_constant(&info->constant_score, f, f->judge, err));
    KARMA_TRY(add_zero_imputation(info, f, err));
    for (size_t i = 0; i < N_INGREDIENTS; i++) KARMA_TRY(add_gain(info, &ingredients[i], f, info->values, err));
    KARMA_TRY(add_targets(info, f, err));
    KARMA_TRY(add_candidates(info, f, err));
    KARMA_TRY(add_members(info, f->plan, err));
    restore_sign(info->values, f);
    return KARMA_OK;
}

karma_status karma_i_account(karma_search_info **out, const karma_i_search_facts *f, karma_error *err) {
    karma_search_info *info = karma_i_zalloc(1, sizeof *info);
    karma_status st = info ? fill(info, f, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK)
        *out = info;
    else
        karma_i_search_info_free(info);
    return st;
}
