#include "search/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "search/average.h"
#include "search/judged_rows.h"

/* A candidate g standard errors behind the best gets the weight exp(-g²/2), and 0 from this g on. */
static const double NO_WEIGHT = 2.5;
/* A candidate this many standard errors of the difference behind the best is dropped. */
static const double HOPELESS = 3.0;
/* No candidate is dropped before this many folds. */
enum { LEAST_FOLDS = 2 };
/* Parts of an average below these are left out: they would cost time and hardly change it. */
static const double LEAST_STACKED = 1e-4, LEAST_PART = 1e-3;

void karma_i_choice_clear(karma_i_choice *choice) {
    karma_i_free(choice->runs);
    karma_i_free(choice->weights);
    *choice = (karma_i_choice){0};
}

double karma_i_run_value(const karma_i_race *race, size_t run) {
    double sum = 0.0, count = 0.0;
    for (size_t f = 0; f < race->n_done; f++) {
        if (!karma_i_fold_counts(race, f)) continue;
        sum += race->runs[run].values[f];
        count += 1.0;
    }
    return count > 0.0 ? sum / count : 0.0;
}

static int is_running(const karma_i_race *race, size_t run, const unsigned char *allowed) {
    return !race->entries[race->runs[run].entry].is_out && (!allowed || allowed[run]);
}

/* --- losses of rows ------------------------------------------------------------------------------------ */

/* losses[row]: means over the repeats so far; NaN where a row was not judged. */
static void fill_losses(double *losses, double *scores, const karma_i_race *race, size_t run,
                        karma_i_row_loss_fn row_loss, const void *payload) {
    size_t n = race->table->n_rows, K = race->task->n_outputs;
    for (size_t i = 0; i < n; i++) {
        double sum = 0.0, count = 0.0;
        for (size_t r = 0; r < race->folds->n_repeats; r++) {
            if (!karma_i_row_is_judged(race, r, i)) continue;
            const float *own = race->runs[run].scores + (r * n + i) * K;
            for (size_t k = 0; k < K; k++) scores[k] = (double)own[k];
            sum += row_loss(payload, race->task, race->table, i, scores);
            count += 1.0;
        }
        losses[i] = count > 0.0 ? sum / count : NAN;
    }
}

/* Mean and its standard error of x - y (y NULL: of x) over the rows that were judged. */
static void mean_and_error(double *mean, double *error, const double *x, const double *y, size_t n) {
    double sum = 0.0, squares = 0.0, count = 0.0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) continue;
        sum += x[i] - (y ? y[i] : 0.0);
        count += 1.0;
    }
    *mean = count > 0.0 ? sum / count : 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) squares += pow(x[i] - (y ? y[i] : 0.0) - *mean, 2);
    *error = count > 1.0 ? sqrt(squares / (count - 1.0) / count) : 0.0;
}

/* --- the best and those like it ------------------------------------------------------------------------ */

/* The run with the largest value, the first among equals; n_runs if there is none. */
static size_t find_best(const karma_i_race *race, const unsigned char *allowed) {
    size_t best = race->n_runs;
    for (size_t r = 0; r < race->n_runs; r++)
        if (is_running(race, r, allowed) &&
            (best == race->n_runs || karma_i_run_value(race, r) > karma_i_run_value(race, best)))
            best = r;
    return best;
}

/* gap[run] = how far a run is behind the best, in standard errors of the best's mean. */
static karma_status measure_gaps(double *gap, const karma_i_race *race, const unsigned char *allowed, size_t best,
                                 karma_i_row_loss_fn row_loss, const void *payload, karma_error *err) {
    size_t n = race->table->n_rows;
    double *losses = karma_i_alloc(n > race->n_done ? n : race->n_done, sizeof *losses);
    double *scores = karma_i_alloc(race->task->n_outputs, sizeof *scores);
    karma_status st = losses && scores ? KARMA_OK : karma_i_fail_memory(err);
    double level = 0.0, error = 0.0;
    if (st == KARMA_OK && row_loss) {
        fill_losses(losses, scores, race, best, row_loss, payload);
        mean_and_error(&level, &error, losses, NULL, n);
    } else if (st == KARMA_OK) {
        for (size_t f = 0; f < race->n_done; f++)
            losses[f] = karma_i_fold_counts(race, f) ? race->runs[best].values[f] : NAN;
        mean_and_error(&level, &error, losses, NULL, race->n_done);
        if (!race->hidden_fold) error *= sqrt((double)race->folds->n_repeats); /* repeats add little information */
    }
    for (size_t r = 0; st == KARMA_OK && r < race->n_runs; r++) {
        double mean, ignored, behind;
        if (!is_running(race, r, allowed)) continue;
        if (row_loss) {
            fill_losses(losses, scores, race, r, row_loss, payload);
            mean_and_error(&mean, &ignored, losses, NULL, n);
            behind = mean - level;
        } else
            behind = level - karma_i_run_value(race, r);
        gap[r] = behind <= 0.0 ? 0.0 : error > 0.0 ? behind / error : INFINITY;
    }
    karma_i_free(losses);
    karma_i_free(scores);
    return st;
}

typedef struct ranked_run {
    size_t run;
    double value;
} ranked_run;

static int by_value(const void *a, const void *b) {
    const ranked_run *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

/* The runs less than `noise` standard errors behind, the best first, at most `most`. */
static karma_status take_within(karma_i_choice *out, const karma_i_race *race, const unsigned char *allowed,
                                const double *gap, double noise, size_t most, karma_error *err) {
    ranked_run *ranked = karma_i_alloc(race->n_runs, sizeof *ranked);
    if (!ranked) return karma_i_fail_memory(err);
    size_t n = 0;
    for (size_t r = 0; r < race->n_runs; r++)
        if (is_running(race, r, allowed) && gap[r] < noise) ranked[n++] = (ranked_run){r, karma_i_run_value(race, r)};
    if (n > 1) qsort(ranked, n, sizeof *ranked, by_value);
    for (size_t i = 0; i < n && out->n < most; i++) {
        out->weights[out->n] = exp(-0.5 * gap[ranked[i].run] * gap[ranked[i].run]);
        out->runs[out->n++] = ranked[i].run;
    }
    karma_i_free(ranked);
    return KARMA_OK;
}

/* The simplest run within one standard error: the first kernel of the list, and the smallest C. */
static void take_simplest(karma_i_choice *out, const karma_i_race *race, const unsigned char *allowed,
                          const double *gap) {
    out->n = 0;
    for (size_t r = 0; r < race->n_runs && out->n == 0; r++)
        if (is_running(race, r, allowed) && gap[r] <= 1.0) {
            out->weights[0] = 1.0;
            out->runs[out->n++] = r;
        }
}

/* --- weights by the scores themselves ------------------------------------------------------------------- */

/* Drops runs with a tiny part of the average. At least one stays. */
static void drop_light(karma_i_choice *choice, double least) {
    double sum = 0.0;
    size_t kept = 0;
    for (size_t i = 0; i < choice->n; i++) sum += choice->weights[i];
    for (size_t i = 0; i < choice->n && sum > 0.0; i++) {
        if (!(choice->weights[i] > least * sum)) continue;
        choice->runs[kept] = choice->runs[i];
        choice->weights[kept++] = choice->weights[i];
    }
    choice->n = kept ? kept : 1;
    if (!kept) choice->weights[0] = 1.0;
}

static karma_status stack(karma_i_choice *out, const karma_i_race *race, karma_error *err) {
    karma_i_moments_of_scores m;
    KARMA_TRY(karma_i_average_moments(&m, race, out->runs, out->n, err));
    karma_i_average_stack(out->weights, &m);
    karma_i_moments_of_scores_clear(&m);
    drop_light(out, LEAST_STACKED);
    return KARMA_OK;
}

/* Numbers whose goal is a mean squared error: the scores say which weights make that error small. */
static karma_status reweigh(karma_i_choice *choice, const karma_i_race *race, karma_error *err) {
    karma_i_moments_of_scores m;
    if (choice->n < 2) return KARMA_OK;
    KARMA_TRY(karma_i_average_moments(&m, race, choice->runs, choice->n, err));
    karma_status st = karma_i_average_reweigh(choice->weights, &m, err);
    karma_i_moments_of_scores_clear(&m);
    if (st == KARMA_OK) drop_light(choice, LEAST_PART);
    return st;
}

/* --- rules --------------------------------------------------------------------------------------------- */

static void make_sum_one(karma_i_choice *choice) {
    double sum = 0.0;
    for (size_t i = 0; i < choice->n; i++) sum += choice->weights[i];
    for (size_t i = 0; i < choice->n; i++) choice->weights[i] /= sum;
}

void karma_i_choice_drop_light(karma_i_choice *choice, double least) {
    drop_light(choice, least);
    make_sum_one(choice);
}

karma_status karma_i_choose(karma_i_choice *out, karma_rule rule, const karma_i_race *race,
                            const unsigned char *allowed, karma_i_row_loss_fn row_loss, const void *payload,
                            size_t most, karma_error *err) {
    size_t best = find_best(race, allowed);
    if (best == race->n_runs) return karma_i_fail(err, KARMA_ERR_DATA, "no candidate could be judged");
    karma_i_choice choice = {0, karma_i_alloc(race->n_runs, sizeof *choice.runs),
                             karma_i_alloc(race->n_runs, sizeof *choice.weights)};
    double *gap = karma_i_zalloc(race->n_runs, sizeof *gap);
    karma_status st = choice.runs && choice.weights && gap
                          ? measure_gaps(gap, race, allowed, best, row_loss, payload, err)
                          : karma_i_fail_memory(err);
    if (st == KARMA_OK && rule == KARMA_RULE_COMMITTEE)
        st = take_within(&choice, race, allowed, gap, NO_WEIGHT, most, err);
    else if (st == KARMA_OK && rule == KARMA_RULE_STACK)
        st = take_within(&choice, race, allowed, gap, INFINITY, race->n_runs, err);
    else if (st == KARMA_OK && rule == KARMA_RULE_ONE_SE)
        take_simplest(&choice, race, allowed, gap);
    if (st == KARMA_OK && (rule == KARMA_RULE_BEST || choice.n == 0)) {
        choice.runs[0] = best;
        choice.weights[0] = 1.0;
        choice.n = 1;
    }
    if (st == KARMA_OK && rule == KARMA_RULE_STACK) st = stack(&choice, race, err);
    if (st == KARMA_OK && rule == KARMA_RULE_COMMITTEE && row_loss == karma_i_goal_row_loss &&
        karma_i_goal_is_squared(((const karma_i_judge *)payload)->goal, race->task))
        st = reweigh(&choice, race, err);
    if (st == KARMA_OK) make_sum_one(&choice);
    karma_i_free(gap);
    if (st == KARMA_OK)
        *out = choice;
    else
        karma_i_choice_clear(&choice);
    return st;
}

karma_status karma_i_eliminate(size_t *n_left, karma_i_race *race, karma_i_row_loss_fn row_loss, const void *payload,
                               karma_error *err) {
    size_t n = race->table->n_rows, best = find_best(race, NULL);
    *n_left = 0;
    for (size_t e = 0; e < race->n_entries; e++) *n_left += race->entries[e].is_out ? 0 : 1;
    if (race->n_done < LEAST_FOLDS || !row_loss || best == race->n_runs) return KARMA_OK;
    double *losses = karma_i_alloc(n, sizeof *losses), *least = karma_i_alloc(n, sizeof *least);
    double *scores = karma_i_alloc(race->task->n_outputs, sizeof *scores);
    karma_status st = losses && least && scores ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) fill_losses(least, scores, race, best, row_loss, payload);
    for (size_t e = 0; st == KARMA_OK && e < race->n_entries; e++) {
        karma_i_race_entry *entry = &race->entries[e];
        int hopeless = 1;
        for (size_t r = entry->first_run; !entry->is_out && hopeless && r < entry->first_run + entry->path.n; r++) {
            double mean, error;
            fill_losses(losses, scores, race, r, row_loss, payload);
            mean_and_error(&mean, &error, losses, least, n);
            hopeless = mean > HOPELESS * error;
        }
        if (entry->is_out || !hopeless || entry->is_kept) continue;
        entry->is_out = 1;
        --*n_left;
    }
    karma_i_free(losses);
    karma_i_free(least);
    karma_i_free(scores);
    return st;
}

/* --- the value of a choice ---------------------------------------------------------------------------- */

void karma_i_choice_scores(double *scores, const karma_i_choice *choice, const karma_i_race *race, size_t repeat) {
    size_t n = race->table->n_rows * race->task->n_outputs;
    for (size_t i = 0; i < n; i++) scores[i] = 0.0;
    for (size_t m = 0; m < choice->n; m++) {
        const float *own = race->runs[choice->runs[m]].scores + repeat * n;
        for (size_t i = 0; i < n; i++) scores[i] += choice->weights[m] * (double)own[i];
    }
}

karma_status karma_i_scores_by_other_folds(double *scores, karma_rule rule, const karma_i_race *race,
                                           karma_i_row_loss_fn row_loss, const void *payload, size_t most,
                                           karma_error *err) {
    size_t n = race->table->n_rows, K = race->task->n_outputs;
    double *all = karma_i_alloc(n, K * sizeof *all);
    karma_status st = all ? KARMA_OK : karma_i_fail_memory(err);
    karma_i_race others = *race;
    for (size_t f = 0; st == KARMA_OK && f < race->folds->n_folds; f++) {
        karma_i_choice choice;
        others.hidden_fold = f + 1;
        st = karma_i_choose(&choice, rule, &others, NULL, row_loss, payload, most, err);
        if (st != KARMA_OK) break;
        karma_i_choice_scores(all, &choice, race, 0);
        for (size_t i = 0; i < n; i++)
            if (karma_i_folds_number(race->folds, 0, i) == f) memcpy(scores + i * K, all + i * K, K * sizeof *scores);
        karma_i_choice_clear(&choice);
    }
    karma_i_free(all);
    return st;
}

/* The goal on the rows of one fold. */
static karma_status value_of_fold(double *value, const double *scores, const karma_i_race *race, size_t number,
                                  karma_error *err) {
    size_t K = race->task->n_outputs;
    karma_i_fold fold;
    KARMA_TRY(karma_i_fold_test(&fold, race->folds, number, err));
    double *own = karma_i_alloc(fold.test->n_rows, K * sizeof *own);
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_fold_take_scores(own, &fold, scores, K);
        st = race->goal(value, race->goal_payload, race->task, fold.test, own, err);
    }
    karma_i_free(own);
    karma_i_fold_clear(&fold);
    return st;
}

karma_status karma_i_choice_values(double *values, const karma_i_choice *choice, const karma_i_race *race,
                                   karma_error *err) {
    double *scores = karma_i_alloc(race->table->n_rows, race->task->n_outputs * sizeof *scores);
    karma_status st = scores ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t f = 0; st == KARMA_OK && f < race->n_done; f++) {
        if (f % race->folds->n_folds == 0) karma_i_choice_scores(scores, choice, race, f / race->folds->n_folds);
        st = value_of_fold(&values[f], scores, race, f, err);
    }
    karma_i_free(scores);
    return st;
}

/* --- as a plan ----------------------------------------------------------------------------------------- */

/* Four significant digits: the text in a model file is short, and describes exactly what is learned. */
static double round_weight(double weight) {
    double unit = pow(10.0, 3.0 - floor(log10(weight)));
    return round(weight * unit) / unit;
}

/* The chosen machines of one entry, ascending in C. */
static karma_i_C_grid chosen_machines(const karma_i_choice *choice, const karma_i_race *race, size_t e) {
    const karma_i_race_entry *entry = &race->entries[e];
    karma_i_C_grid machines = {0};
    for (size_t r = entry->first_run; r < entry->first_run + entry->path.n; r++)
        for (size_t m = 0; m < choice->n; m++) {
            if (choice->runs[m] != r) continue;
            machines.factors[machines.n] = race->runs[r].C_factor;
            machines.weights[machines.n++] = choice->n > 1 ? round_weight(choice->weights[m]) : 1.0;
        }
    return machines;
}

karma_status karma_i_choice_plan(karma_i_plan *out, const karma_i_choice *choice, const karma_i_race *race,
                                 karma_error *err) {
    unsigned char *is_there = karma_i_zalloc(race->n_entries, 1);
    karma_status st = is_there ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t m = 0; st == KARMA_OK && m < choice->n; m++) {
        size_t e = race->runs[choice->runs[m]].entry;
        if (is_there[e]) continue;
        is_there[e] = 1;
        karma_i_C_grid machines = chosen_machines(choice, race, e);
        st = karma_i_plan_add_member(out, &race->entries[e].kernel, &machines, err);
    }
    karma_i_free(is_there);
    return st;
}
