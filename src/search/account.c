#include "search/account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "search/candidates.h"

/* Candidates that the account lists; the others are counted. */
enum { MOST_LISTED = 100 };

typedef struct summary {
    double mean, error;
} summary;

/* The standard error is that of one repeat: repeats leave the same rows out. */
static summary summarise(const double *values, const karma_i_race *race, double sign) {
    summary s = {0.0, 0.0};
    double n = (double)race->n_done, squares = 0.0;
    for (size_t f = 0; f < race->n_done; f++) s.mean += values[f] / n;
    for (size_t f = 0; f < race->n_done; f++) squares += pow(values[f] - s.mean, 2);
    double folds = fmin(n, (double)race->n_folds);
    s.error = n > 1.0 ? sqrt(squares / (n - 1.0) / folds) : 0.0;
    s.mean *= sign;
    return s;
}

/* Numbers beyond all bounds, as of labels that nearly are, have no JSON. */
static json_t *number_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* NULL when memory is out, as everything here. */
static json_t *values_json(const double *values, size_t n, double sign) {
    json_t *array = json_array();
    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, number_json(sign * values[i]))) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

static karma_status put(json_t *object, const char *name, json_t *value, karma_error *err) {
    return json_object_set_new(object, name, value) ? karma_i_fail_memory(err) : KARMA_OK;
}

/* --- what a choice among some candidates is worth ------------------------------------------------------ */

static karma_status values_of(double *values, const karma_i_search_facts *f, const unsigned char *allowed,
                              karma_rule rule, karma_error *err) {
    karma_i_choice choice;
    karma_i_row_loss_fn loss = karma_i_goal_is_mean(f->judge->goal) ? karma_i_goal_row_loss : NULL;
    KARMA_TRY(karma_i_choose(&choice, rule, f->race, allowed, loss, f->judge, f->most_machines, err));
    karma_status st = karma_i_choice_values(values, &choice, f->race, err);
    karma_i_choice_clear(&choice);
    return st;
}

/* The choice without the candidates that use something: what that brought is the difference, fold by fold. */
static karma_status add_worth(json_t *object, const char *name, const karma_i_search_facts *f, const double *chosen,
                              int use, karma_error *err) {
    const karma_i_race *race = f->race;
    double sign = karma_i_goal_sign(f->judge->goal);
    unsigned char *allowed = karma_i_zalloc(race->n_runs, 1);
    double *values = karma_i_alloc(race->n_done, sizeof *values);
    karma_status st = allowed && values ? KARMA_OK : karma_i_fail_memory(err);
    size_t n_without = 0, n_with = 0;
    for (size_t r = 0; st == KARMA_OK && r < race->n_runs; r++) {
        const karma_i_entry *entry = &race->entries[race->runs[r].entry];
        allowed[r] = !(karma_i_candidate_uses(entry->kernel) & use);
        n_without += !entry->is_out && allowed[r];
        n_with += entry->was_judged && !allowed[r];
    }
    if (st == KARMA_OK && n_with && n_without) {
        st = values_of(values, f, allowed, f->rule, err);
        if (st == KARMA_OK) {
            for (size_t i = 0; i < race->n_done; i++) values[i] = chosen[i] - values[i];
            summary s = summarise(values, race, sign);
            st = put(object, name, json_pack("{s:o, s:o}", "gain", number_json(s.mean), "error", number_json(s.error)),
                     err);
        }
    }
    karma_i_free(allowed);
    karma_i_free(values);
    return st;
}

/* 0-imputation at its best C: what γ = 1 and the linear kernel reach on the same folds. */
static karma_status add_zero_imputation(json_t *object, const karma_i_search_facts *f, karma_error *err) {
    const karma_i_race *race = f->race;
    double sign = karma_i_goal_sign(f->judge->goal);
    unsigned char *allowed = karma_i_zalloc(race->n_runs, 1);
    double *values = karma_i_alloc(race->n_done, sizeof *values);
    karma_status st = allowed && values ? KARMA_OK : karma_i_fail_memory(err);
    int any = 0;
    for (size_t r = 0; st == KARMA_OK && r < race->n_runs; r++) {
        const karma_i_entry *entry = &race->entries[race->runs[r].entry];
        allowed[r] = strcmp(entry->kernel, KARMA_I_ZERO_IMPUTATION) == 0 && !entry->is_out;
        any |= allowed[r];
    }
    if (st == KARMA_OK && any) {
        st = values_of(values, f, allowed, KARMA_RULE_BEST, err);
        if (st == KARMA_OK) {
            summary s = summarise(values, race, sign);
            st = put(object, "zero_imputation",
                     json_pack("{s:o, s:o, s:o}", "score", number_json(s.mean), "error", number_json(s.error), "folds",
                               values_json(values, race->n_done, sign)),
                     err);
        }
    }
    karma_i_free(allowed);
    karma_i_free(values);
    return st;
}

/* Always saying the commonest class, or the mean. */
static karma_status add_constant(json_t *object, const karma_i_search_facts *f, karma_error *err) {
    const karma_i_race *race = f->race;
    size_t K = race->like->n_outputs;
    double sign = karma_i_goal_sign(f->judge->goal), value;
    double *scores = karma_i_zalloc(race->table->n_rows, K * sizeof *scores);
    if (!scores) return karma_i_fail_memory(err);
    karma_status st = karma_i_constant_scores(scores, race->like, race->table, err);
    if (st == KARMA_OK) st = karma_i_goal_value(&value, f->judge, race->like, race->table, scores, err);
    if (st == KARMA_OK) st = put(object, "constant_answer", number_json(sign * value), err);
    karma_i_free(scores);
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

static json_t *run_json(const karma_i_search_facts *f, size_t r) {
    const karma_i_race *race = f->race;
    double sign = karma_i_goal_sign(f->judge->goal);
    summary s = summarise(race->runs[r].values, race, sign);
    int is_chosen = 0;
    for (size_t m = 0; m < f->choice->n; m++) is_chosen |= f->choice->runs[m] == r;
    return json_pack("{s:s, s:f, s:o, s:o, s:b}", "kernel", race->entries[race->runs[r].entry].kernel, "C_factor",
                     race->runs[r].C_factor, "score", number_json(s.mean), "error", number_json(s.error), "chosen",
                     is_chosen);
}

static karma_status add_candidates(json_t *object, const karma_i_search_facts *f, karma_error *err) {
    const karma_i_race *race = f->race;
    listed *runs = karma_i_alloc(race->n_runs, sizeof *runs);
    if (!runs) return karma_i_fail_memory(err);
    size_t n = 0;
    for (size_t r = 0; r < race->n_runs; r++)
        if (!race->entries[race->runs[r].entry].is_out) runs[n++] = (listed){r, karma_i_run_value(race, r)};
    if (n > 1) qsort(runs, n, sizeof *runs, by_value);
    json_t *array = json_array();
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < n && i < MOST_LISTED; i++)
        if (json_array_append_new(array, run_json(f, runs[i].run))) st = karma_i_fail_memory(err);
    if (st == KARMA_OK)
        st = put(object, "candidates", array, err);
    else
        json_decref(array);
    karma_i_free(runs);
    return st;
}

karma_status karma_i_account(char **out, const karma_i_search_facts *f, karma_error *err) {
    const karma_i_race *race = f->race;
    double sign = karma_i_goal_sign(f->judge->goal);
    double *values = karma_i_alloc(race->n_done, sizeof *values);
    if (!values) return karma_i_fail_memory(err);
    karma_status st = karma_i_choice_values(values, f->choice, race, err);
    size_t n_left = 0, n_kernels = 0, n_runs = 0; /* time may have been too short for some kernels */
    for (size_t e = 0; e < race->n_entries; e++) {
        n_left += race->entries[e].is_out ? 0 : 1;
        n_kernels += race->entries[e].was_judged ? 1 : 0;
        n_runs += race->entries[e].was_judged ? race->entries[e].path.n : 0;
    }
    json_t *gains = json_object(), *object = NULL;
    if (st == KARMA_OK) {
        summary s = summarise(values, race, sign);
        object = json_pack("{s:s, s:b, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:b}", "goal",
                           karma_i_goal_name(f->judge->goal), "less_is_better", sign < 0.0, "score",
                           number_json(s.mean), "error", number_json(s.error), "folds",
                           values_json(values, race->n_done, sign), "n_folds", (json_int_t)race->n_folds, "n_repeats",
                           (json_int_t)race->n_repeats, "rows", (json_int_t)f->n_rows, "rows_searched",
                           (json_int_t)race->table->n_rows, "kernels", (json_int_t)n_kernels, "kernels_to_the_end",
                           (json_int_t)n_left, "candidates_tried", (json_int_t)n_runs, "members",
                           (json_int_t)f->choice->n, "seconds", f->seconds, "cut_short", f->is_cut_short);
        st = object ? add_constant(object, f, err) : karma_i_fail_memory(err);
    }
    if (st == KARMA_OK) st = add_zero_imputation(object, f, err);
    if (st == KARMA_OK) st = add_worth(gains, "gamma", f, values, KARMA_I_USES_GAMMA, err);
    if (st == KARMA_OK) st = add_worth(gains, "rank", f, values, KARMA_I_USES_RANK, err);
    if (st == KARMA_OK) st = add_worth(gains, "subspace", f, values, KARMA_I_USES_SUBSPACE, err);
    if (st == KARMA_OK) st = add_worth(gains, "outer", f, values, KARMA_I_USES_MAP, err);
    if (st == KARMA_OK) st = add_candidates(object, f, err);
    if (st == KARMA_OK)
        st = put(object, "gains", gains, err);
    else
        json_decref(gains);
    if (st == KARMA_OK) {
        size_t n = json_dumpb(object, NULL, 0, JSON_COMPACT);
        *out = n ? karma_i_zalloc(n + 1, 1) : NULL;
        if (!*out || json_dumpb(object, *out, n, JSON_COMPACT) != n) {
            karma_i_free(*out);
            *out = NULL;
            st = karma_i_fail_memory(err);
        }
    }
    json_decref(object);
    karma_i_free(values);
    return st;
}
