#include "search/search_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/fold.h"
#include "model/search_info.h"
#include "search/account.h"
#include "search/afford.h"
#include "search/candidates.h"
#include "search/estimate.h"
#include "search/last_fit.h"
#include "search/loss_choice.h"
#include "search/shorten.h"
#include "solve/nystrom.h"
#include "table/table_split.h"

/* How much an effort examines. */
typedef struct effort_plan {
    size_t repeated_rows; /* folds are repeated until this many rows are judged, */
    size_t most_repeats;  /* or this many times */
} effort_plan;

static const effort_plan effort_plans[KARMA_N_EFFORTS] = {
    [KARMA_EFFORT_QUICK] = {0, 1},
    [KARMA_EFFORT_NORMAL] = {400, 3},
    [KARMA_EFFORT_THOROUGH] = {2000, 5},
};

/* The share of the time limit for trying candidates; the rest is for learning the choice, which takes longer
 * if candidates are tried on a sample. And the share of the trying time for the first fold, which should try
 * as many kernels as possible. If candidates are tried on all rows, the last fit costs about as much as a few
 * folds, and its unused time goes to trying, up to the larger share. */
static const double TRYING_SHARE = 0.7, SAMPLE_TRYING_SHARE = 0.45, MOST_TRYING_SHARE = 0.9, FIRST_FOLD_SHARE = 0.65,
                    LAST_FIT_FOLDS = 2.0;
/* The share of the first fold's remaining time that recipes may take, since other kernels wait; and the share
 * that choosing the rank of a subspace may take, which then ends with the best rank so far. */
static const double PREPARING_SHARE = 0.8, RANK_SHARE = 0.5;
/* Actual time of a race of another effort, as a share of the time predicted from the quick race: measured 0.3
 * to 1.3, less if more kernels are dropped. And the least time for more kernels after a quick race, as a
 * share of the quick race's time. */
static const double WHOLE_FACTOR = 0.7, LEAST_MORE_SHARE = 0.25;
/* The share of the time for the last fit that recipes, which cannot be stopped, may take: when it is planned,
 * and when it begins. */
static const double RECIPE_SHARE = 0.4, MOST_RECIPE_SHARE = 0.8;
/* The share of the remaining time planned for the machines of the last fit; and how many times longer a
 * machine takes there than a candidate with the same number of pairs of rows, if candidates were tried on all
 * rows and if it is learned twice. Measured: 1.2 to 4 with 592 to 4500 rows. */
static const double LAST_FIT_SHARE = 0.9, LAST_FIT_FACTOR = 4.0, TWICE_FACTOR = 4.0;
/* The usual number of machines of a choice; and the number of rows up to which the last fit is exact under a
 * time limit. */
static const double USUAL_MACHINES = 8.0, MOST_EXACT_ROWS = 4000.0;
/* The cost, rows × rows × machines, of the last fit allowed beyond one machine; and rows × landmarks ×
 * outputs × machines if there are too many rows for an exact fit. */
static const double MOST_COMMITTEE_PAIRS = 1e9, MOST_LANDMARK_PAIRS = 3e8;

/* If candidates were tried on a sample, machines below this share of the weight are not learned. */
static const double LEAST_LARGE_SHARE = 0.01;
/* Of the others, those are learned that are needed to change squared errors by about this share, a tenth of the noise
 * of such an error among 2000 rows. */
static const double MOST_CHANGE = 0.002;

/* Passes over the rows for one machine. A large C can take thousands of passes to reach the last digits of
 * its optimum, which make no difference to the scores; the last fit has the same limit. */
enum { MOST_PASSES = 300 };

/* Candidates and members of a committee are solved to a gap this many times larger than that of a single
 * machine: the difference does not show in their scores (docs/search.md). */
static const double TRYING_TOLERANCE = 10.0;

/* The difference of the seeds of two repeats, far from other seeds that users may choose. */
static const uint64_t SEED_STEP = UINT64_C(0x9e3779b97f4a7c15);

/* --- one search ---------------------------------------------------------------------------------------- */

typedef struct search_state {
    const karma_search_options *options;
    karma_effort effort; /* that it examines: with a time limit, a quick search comes first */
    const effort_plan *plan;
    const karma_hooks *hooks;
    double began;         /* with the first race */
    double started;       /* this race */
    double deadline;      /* of all; infinite without a limit */
    double fold_deadline; /* of the fold that is being judged */
    double fold_started;
    double fold_seconds;    /* that the next fold will probably take */
    double earlier_seconds; /* of a fold of the entries judged before these */
    double best_before;     /* their best value */
    double preparing_since; /* when learning of recipes began; NaN: it is not going on */
    int passes_are_ours;    /* the user did not set them */
    int is_interrupted;     /* by the user */
    int is_out_of_time;
    int is_done_trying;
    int is_cut_short;             /* there was no time for some kernels */
    int has_floor;                /* a choice exists already: this race may end without one */
    karma_i_folds folds, samples; /* samples: all rows if candidates are tried on a sample, which is fold 0 */
    karma_i_race race;
    karma_i_judge judge;
    karma_table *sample;      /* NULL: all rows are tried on */
    const karma_table *table; /* for trying candidates: the rows or a sample of them */
    double best;              /* value so far */
    karma_i_task task;        /* its options change while the search goes on */
    double tolerance;         /* of a machine that stands alone */
} search_state;

/* At least one kernel must be judged: the time limit does not end a search before that. */
static int has_judged(const search_state *s) {
    int any = s->has_floor || s->race.n_done > 0;
    for (size_t e = 0; e < s->race.n_entries; e++) any |= s->race.entries[e].is_judged;
    return any;
}

/* The mean seconds that a machine of a candidate took. */
static double machine_seconds(const search_state *s) {
    double seconds = 0.0, n_runs = 0.0;
    for (size_t e = 0; e < s->race.n_entries; e++) {
        if (s->race.entries[e].is_out) continue;
        seconds += s->race.entries[e].seconds / (double)karma_i_threads(s->task.options.threads);
        n_runs += (double)s->race.entries[e].path.n;
    }
    return seconds / fmax(n_runs, 1.0);
}

/* Rows of a fold that candidates are learned from. */
static double learned_rows(const search_state *s) {
    double folds = (double)s->folds.n_folds;
    return (double)s->table->n_rows * (folds - 1.0) / folds;
}

/* Rows that the last fit needs at least: all rows or, if there is a sample, those of its first model. */
static double least_fit_rows(const search_state *s) {
    if (!s->samples.table) return (double)s->table->n_rows;
    size_t n_rest = s->samples.table->n_rows - s->table->n_rows;
    return (double)n_rest / fmax(1.0, (double)karma_i_first_fit_parts(n_rest));
}

/* Least seconds that slow recipes of entries take in the last fit. */
static double slow_recipe_seconds(const search_state *s) {
    double seconds = 0.0;
    for (int k = 0; k < KARMA_N_KERNELS; k++) {
        int is_wanted = 0;
        for (size_t e = 0; e < s->race.n_entries; e++)
            is_wanted |= !s->race.entries[e].is_out &&
                         karma_i_plan_kernel_has_kind(&s->race.entries[e].kernel, (karma_kernel_kind)k);
        if (is_wanted && karma_i_kind_of((karma_kernel_kind)k)->is_slow) seconds += s->race.recipe_seconds[k];
    }
    return seconds * least_fit_rows(s) / learned_rows(s);
}

/* Seconds that a machine takes in the last fit, predicted from a candidate's time for its pairs of rows. */
static double last_machine_seconds(const search_state *s, double n_rows) {
    double learned = learned_rows(s), rest = s->samples.table ? n_rows - (double)s->table->n_rows : 0.0;
    double factor = s->samples.table ? TWICE_FACTOR : LAST_FIT_FACTOR, pairs = n_rows * n_rows;
    if (rest > MOST_EXACT_ROWS)
        pairs = n_rows * fmin(n_rows, (double)karma_i_count_landmarks(&s->task.options, (size_t)n_rows));
    else
        pairs += rest * rest;
    return factor * machine_seconds(s) * fmax(pairs / (learned * learned), 1.0);
}

/* The time that the last fit needs, known after the first fold: the cost of an exact machine grows with the
 * square of its rows, and it is learned once without the sample and once with it. Landmarks and trees have no
 * such estimate. */
static double last_fit_seconds(const search_state *s) {
    double recipes = slow_recipe_seconds(s) / RECIPE_SHARE;
    if (!s->samples.table) return fmax(LAST_FIT_FOLDS * (s->fold_seconds + s->earlier_seconds), recipes);
    double n = (double)s->samples.table->n_rows;
    return n > MOST_EXACT_ROWS ? INFINITY : fmax(USUAL_MACHINES * last_machine_seconds(s, n), recipes);
}

/* The share of the time that is always for trying. */
static double trying_share(const search_state *s) {
    return s->samples.table ? SAMPLE_TRYING_SHARE : TRYING_SHARE;
}

static double trying_ends(const search_state *s) {
    double all = s->deadline - s->started, share = trying_share(s);
    if (s->race.n_done > 0) share = fmax(share, fmin(MOST_TRYING_SHARE, 1.0 - last_fit_seconds(s) / all));
    return s->started + share * all;
}

/* Whether recipes take too long. The first fold then judges other kernels instead. */
static int is_preparing_too_long(search_state *s) {
    double now = karma_i_now(), share = s->race.is_choosing_rank ? RANK_SHARE : PREPARING_SHARE;
    if (isnan(s->preparing_since)) s->preparing_since = now;
    double ends = s->preparing_since + share * fmax(s->fold_deadline - s->preparing_since, 0.0);
    return now > (s->race.n_done == 0 ? ends : s->fold_deadline) && has_judged(s);
}

/* "fold 2 of 5, kernel 3 of 31, best accuracy 0.871, 0.4 s each, about 12 s left: rank(gamma=1)" */
static int watch(void *payload, size_t n_judged, size_t n_entries, const char *kernel) {
    search_state *s = payload;
    char line[256], best[64] = "", each[32] = "";
    size_t n_folds = karma_i_folds_count(&s->folds), n_left = 0;
    for (size_t e = 0; e < n_entries; e++) n_left += s->race.entries[e].is_out ? 0 : 1;
    if (n_entries == 0) { /* a subspace is being estimated, or trees are grown */
        (void)snprintf(line, sizeof line, "fold %zu of %zu, preparing: %.100s", s->race.n_done + 1, n_folds, kernel);
        s->is_interrupted |= karma_i_progress(s->hooks, line, 0, 0) != 0;
        return s->is_interrupted || is_preparing_too_long(s);
    }
    s->preparing_since = NAN;
    double done = (double)s->race.n_done + (n_left ? (double)n_judged / (double)n_left : 0.0);
    double spent = karma_i_now() - s->started, left = done > 0.0 ? spent / done * ((double)n_folds - done) : 0.0;
    if (isfinite(s->deadline)) left = fmin(left, s->deadline - karma_i_now());
    double value = fmax(s->best_before, s->race.n_done ? s->best : karma_i_race_fold_best(&s->race));
    if (isfinite(value))
        (void)snprintf(best, sizeof best, ", best %s %.4g", karma_i_goal_name(s->judge.goal),
                       karma_i_goal_sign(s->judge.goal) * value);
    if (n_judged)
        (void)snprintf(each, sizeof each, ", %.2g s each", (karma_i_now() - s->fold_started) / (double)n_judged);
    (void)snprintf(line, sizeof line, "fold %zu of %zu, kernel %zu of %zu%s%s, about %.0f s left: %s",
                   s->race.n_done + 1, n_folds, n_judged + 1, n_left, best, each, fmax(1.0, left), kernel);
    if (karma_i_progress(s->hooks, line, 0, 0)) s->is_interrupted = 1;
    if (karma_i_now() > s->fold_deadline) s->is_out_of_time = 1;
    return s->is_interrupted || s->is_out_of_time;
}

/* Sets a time limit for the next fold. False if a fold like the last one would take too long. Until every row
 * was left out once, as probabilities require, the last fit gets less time. */
static int set_fold_deadline(search_state *s) {
    double t = karma_i_now();
    s->fold_started = t;
    s->fold_deadline = INFINITY;
    if (!isfinite(s->deadline)) return 1;
    s->fold_deadline = trying_ends(s);
    if (!s->has_floor && !s->samples.table && s->race.n_done > 0 && s->race.n_done < s->folds.n_folds)
        s->fold_deadline = fmax(s->fold_deadline, s->deadline - LAST_FIT_FOLDS * s->fold_seconds);
    if (s->race.n_done == 0) s->fold_deadline = t + FIRST_FOLD_SHARE * (s->fold_deadline - t);
    return s->race.n_done == 0 || t + s->fold_seconds < s->fold_deadline;
}

static void note_best(search_state *s) {
    s->best = -INFINITY;
    for (size_t r = 0; r < s->race.n_runs; r++)
        if (!s->race.entries[s->race.runs[r].entry].is_out) s->best = fmax(s->best, karma_i_run_value(&s->race, r));
}

/* Kernels whose recipes would take all the time of the last fit cannot be chosen. The sooner they are
 * dropped, the more other kernels can be tried. */
static void drop_slow_recipes(search_state *s) {
    double ends = s->started + trying_share(s) * (s->deadline - s->started), now = karma_i_now();
    double most =
        s->is_done_trying ? MOST_RECIPE_SHARE * (s->deadline - now) : RECIPE_SHARE * (s->deadline - fmax(now, ends));
    size_t n_fast = 0;
    for (size_t e = 0; e < s->race.n_entries; e++)
        n_fast += !s->race.entries[e].is_out && !karma_i_plan_kernel_is_slow(&s->race.entries[e].kernel);
    if (n_fast == 0 || slow_recipe_seconds(s) <= most) return;
    for (size_t e = 0; e < s->race.n_entries; e++)
        if (karma_i_plan_kernel_is_slow(&s->race.entries[e].kernel) && !s->race.entries[e].is_out)
            s->race.entries[e].is_out = s->race.entries[e].is_cut = s->is_cut_short = 1;
}

/* An error of some of the rows need not be an error of the whole table. */
static karma_status blame_fold(const search_state *s, karma_error *err) {
    if (!err || karma_table_n_observed(s->table) == 0) return KARMA_ERR_DATA; /* nor has the whole table */
    karma_error cause = *err;
    return karma_i_fail(err, cause.status,
                        "with fold %zu of %zu of the search left out: %s (option 'effort=off' learns from all rows "
                        "without a search, option 'folds' changes the folds)",
                        s->race.n_done % s->folds.n_folds + 1, s->folds.n_folds, cause.message);
}

/* Judges fold after fold. If time runs out within the first, only the entries judged there go on. */
static karma_status run_race(search_state *s, karma_error *err) {
    size_t n_folds = karma_i_folds_count(&s->folds), n_left = s->race.n_entries;
    karma_status st = KARMA_OK;
    while (st == KARMA_OK && s->race.n_done < n_folds && !s->is_interrupted) {
        int stopped;
        double began = karma_i_now();
        if (!set_fold_deadline(s)) break;
        s->is_out_of_time = 0;
        st = karma_i_race_fold(&s->race, watch, s, &stopped, err);
        s->fold_seconds = karma_i_now() - began - s->race.rank_seconds; /* the rank is chosen once */
        if (st == KARMA_ERR_DATA) st = blame_fold(s, err);
        if (st != KARMA_OK || (stopped && s->race.n_done > 1)) break;
        note_best(s);
        s->is_cut_short |= s->race.is_rank_cut_short;
        for (size_t e = 0; e < s->race.n_entries; e++) s->is_cut_short |= !s->race.entries[e].was_judged;
        st = karma_i_eliminate(&n_left, &s->race, karma_i_judge_row_loss(&s->judge), &s->judge, err);
        if (st != KARMA_OK || !isfinite(s->deadline) || s->race.n_done >= s->folds.n_folds) continue;
        drop_slow_recipes(s);
        double now = karma_i_now(), folds = (double)(s->folds.n_folds - s->race.n_done), cost;
        st = karma_i_race_afford(&cost, &s->is_cut_short, &s->race, (trying_ends(s) - now) / folds,
                                 (s->deadline - now) / (folds + LAST_FIT_FOLDS), err);
        s->fold_seconds = fmin(s->fold_seconds, cost);
    }
    return st;
}

/* A sample with the class shares, or the distribution of numbers, of the whole: one fold of many. Every
 * process gets it. */
static karma_status take_sample(search_state *s, size_t most, const karma_table *table, karma_error *err) {
    size_t n_folds = (karma_i_table_n_all(table) + most - 1) / most;
    s->table = table;
    if (n_folds < 2) return KARMA_OK;
    KARMA_TRY(karma_i_folds_init(&s->samples, &s->task, table, n_folds, 1, (uint64_t)s->task.options.seed, 0, err));
    KARMA_TRY(karma_i_fold_test_rows(&s->sample, &s->samples, 0, err));
    s->table = s->sample;
    return KARMA_OK;
}

static size_t count_repeats(const effort_plan *plan, size_t n_rows) {
    size_t repeats = (plan->repeated_rows + n_rows - 1) / n_rows;
    return repeats < 1 ? 1 : repeats > plan->most_repeats ? plan->most_repeats : repeats;
}

static karma_status start_race(search_state *s, karma_goal goal, const karma_table *rows, karma_error *err) {
    size_t n = s->table->n_rows, n_folds = (size_t)s->task.options.folds;
    if (n_folds > n) n_folds = n;
    if (n_folds < 2)
        return karma_i_fail(err, KARMA_ERR_DATA, "one row is too few to choose a model: set option 'effort=off'");
    KARMA_TRY(karma_i_judge_init(&s->judge, goal, &s->task, s->table, err));
    KARMA_TRY(karma_i_folds_init(&s->folds, &s->task, s->table, n_folds, count_repeats(s->plan, n),
                                 (uint64_t)s->task.options.seed, SEED_STEP, err));
    s->race = karma_i_race_start(&s->task, &s->folds, karma_i_goal_value, &s->judge);
    s->race.is_limited = isfinite(s->deadline);
    KARMA_TRY(karma_i_candidates_add(&s->race, s->effort, &s->options->fixed, err));
    for (size_t e = 0; s->table != rows && e < s->race.n_entries; e++) /* see plan_contender */
        s->race.entries[e].is_kept |= karma_i_plan_kernel_has_kind(&s->race.entries[e].kernel, KARMA_KERNEL_BOOST);
    return KARMA_OK;
}

/* --- the model ----------------------------------------------------------------------------------------- */

/* The number of machines that the last fit can afford: with more rows there is less noise to average out. */
static size_t count_machines(const search_state *s, size_t n_rows) {
    double n = (double)n_rows, landmarks = (double)karma_i_count_landmarks(&s->task.options, n_rows);
    double affordable = n > KARMA_I_MOST_BATCH_ROWS ? MOST_LANDMARK_PAIRS / (n * landmarks * (double)s->task.n_outputs)
                                                    : MOST_COMMITTEE_PAIRS / (n * n);
    if (isfinite(s->deadline)) {
        double left = fmax(s->deadline - karma_i_now(), 0.0);
        affordable = fmin(affordable, LAST_FIT_SHARE * left / last_machine_seconds(s, n));
    }
    return affordable >= 1e6 ? 1000000 : affordable < 1.0 ? 1 : (size_t)affordable;
}

static karma_search_end how_it_ended(const search_state *s) {
    if (s->is_interrupted) return KARMA_SEARCH_INTERRUPTED;
    return s->is_cut_short || s->race.n_done < karma_i_folds_count(&s->folds) ? KARMA_SEARCH_OUT_OF_TIME
                                                                              : KARMA_SEARCH_COMPLETE;
}

/* A choice and its plan. */
typedef struct planned_choice {
    karma_i_choice choice;
    karma_i_plan plan;
} planned_choice;

static karma_status plan_choice(planned_choice *out, search_state *s, karma_rule rule, const unsigned char *allowed,
                                size_t most, karma_error *err) {
    KARMA_TRY(
        karma_i_choose(&out->choice, rule, &s->race, allowed, karma_i_judge_row_loss(&s->judge), &s->judge, most, err));
    if (s->sample) karma_i_choice_drop_light(&out->choice, LEAST_LARGE_SHARE);
    if (s->sample && rule == KARMA_RULE_COMMITTEE)
        KARMA_TRY(karma_i_choice_shorten(&out->choice, &s->race, MOST_CHANGE, err));
    return karma_i_choice_plan(&out->plan, &out->choice, &s->race, err);
}

static void clear_planned(planned_choice *p) {
    karma_i_choice_clear(&p->choice);
    karma_i_plan_clear(&p->plan);
}

/* Boosted trees gain the most from more rows than a sample has, and are learned quickly from any number of
 * rows: their own values, machines with C = 0, are the contender. *found: whether trees are among the
 * candidates. */
static karma_status plan_contender(planned_choice *out, int *found, search_state *s, karma_error *err) {
    static const karma_i_C_grid boosted = {1, {0.0}, {1.0}};
    unsigned char *allowed = karma_i_zalloc(s->race.n_runs, 1);
    if (!allowed) return karma_i_fail_memory(err);
    *found = 0;
    for (size_t r = 0; r < s->race.n_runs; r++) {
        const karma_i_race_entry *entry = &s->race.entries[s->race.runs[r].entry];
        allowed[r] = !entry->is_out && karma_i_plan_kernel_has_kind(&entry->kernel, KARMA_KERNEL_BOOST);
        *found |= allowed[r];
    }
    karma_status st = *found ? plan_choice(out, s, KARMA_RULE_BEST, allowed, 1, err) : KARMA_OK;
    if (st == KARMA_OK && *found) out->plan.members[0].machines = boosted;
    karma_i_free(allowed);
    return st;
}

/* Learns the model and writes its account, once the choice is made. */
static karma_status learn_choice(karma_model **out, search_state *s, const planned_choice *chosen,
                                 const planned_choice *contender, size_t most, const karma_table *rows,
                                 karma_error *err) {
    karma_search_info *account = NULL, checked = {0};
    int contender_won;
    karma_i_search_facts facts = {.race = &s->race,
                                  .judge = &s->judge,
                                  .rule = (karma_rule)s->options->rule,
                                  .most_machines = most,
                                  .n_rows = karma_i_table_n_all(rows),
                                  .seconds = karma_i_now() - s->began,
                                  .end = how_it_ended(s)};
    karma_i_last_fit fit = {.task = &s->task,
                            .race = &s->race,
                            .judge = &s->judge,
                            .rule = (karma_rule)s->options->rule,
                            .most_machines = most,
                            .choice = &chosen->choice,
                            .plan = &chosen->plan,
                            .contender = contender ? &contender->plan : NULL,
                            .rows = rows,
                            .samples = s->table == rows ? NULL : &s->samples,
                            .hooks = s->hooks,
                            .deadline = s->deadline,
                            .tolerance = s->tolerance,
                            .is_interrupted = s->is_interrupted,
                            .passes_are_ours = s->passes_are_ours};
    KARMA_TRY(karma_i_last_fit_run(out, &contender_won, &checked, &fit, err));
    facts.choice = contender_won ? &contender->choice : &chosen->choice;
    facts.plan = &(*out)->plan;
    karma_status st = karma_i_account(&account, &facts, err);
    if (st != KARMA_OK) {
        karma_model_free(*out);
        *out = NULL;
        return st;
    }
    account->n_checked = checked.n_checked;
    account->n_check_learned = checked.n_check_learned;
    account->check_score = checked.check_score;
    account->check_error = checked.check_error;
    (*out)->search = account;
    return KARMA_OK;
}

/* Every process has searched the same sample. They go on together only if all came to the same result. */
static karma_status agree_on_plan(const karma_i_plan *plan, const karma_ranks *ranks, karma_error *err) {
    karma_i_gathered all = {0};
    char *text = NULL;
    if (ranks->size == 1) return KARMA_OK;
    KARMA_TRY(karma_i_plan_print(&text, plan, err));
    size_t length = strlen(text) + 1;
    int differ = 0;
    karma_status st = karma_i_ranks_gather(&all, text, length, ranks, err);
    for (size_t k = 0; st == KARMA_OK && k < ranks->size; k++)
        differ |= all.start[k + 1] - all.start[k] != length || memcmp(all.bytes + all.start[k], text, length) != 0;
    karma_i_gathered_clear(&all);
    karma_i_free(text);
    if (st != KARMA_OK || !differ) return st;
    return karma_i_fail(err, KARMA_ERR_OPTION,
                        "the processes chose different kernels: their machines do not compute alike (option "
                        "'effort=off' does not choose)");
}

static karma_status finish(karma_model **out, search_state *s, const karma_table *rows, karma_error *err) {
    planned_choice chosen = {0}, contender = {0};
    karma_model *model = NULL;
    size_t most = count_machines(s, karma_i_table_n_all(rows));
    int has_contender = 0;
    s->is_done_trying = 1;
    KARMA_TRY(karma_i_ranks_broadcast(&most, sizeof most, karma_i_table_ranks(rows), err));
    if (isfinite(s->deadline)) drop_slow_recipes(s);
    karma_status st = plan_choice(&chosen, s, (karma_rule)s->options->rule, NULL, most, err);
    int is_free = s->task.options.solver == KARMA_SOLVER_AUTO || s->task.options.solver == KARMA_SOLVER_PRIMAL;
    if (st == KARMA_OK && s->table != rows && is_free) st = plan_contender(&contender, &has_contender, s, err);
    if (st == KARMA_OK) st = agree_on_plan(&chosen.plan, karma_i_table_ranks(rows), err);
    if (st == KARMA_OK) st = learn_choice(&model, s, &chosen, has_contender ? &contender : NULL, most, rows, err);
    if (st == KARMA_OK) *out = model;
    clear_planned(&chosen);
    clear_planned(&contender);
    return st;
}

/* The options that the race starts from: the loss serves the goal, and passes are few, unless the user sets them. */
static karma_status start_task(search_state *s, karma_goal *goal, const karma_table *rows, const karma_fit_options *fit,
                               karma_error *err) {
    karma_fit_options own = *fit; /* borrows its texts */
    s->passes_are_ours = own.passes == (int64_t)KARMA_AUTO;
    if (s->passes_are_ours) own.passes = MOST_PASSES;
    KARMA_TRY(karma_i_task_learn(&s->task, rows, &own, s->hooks, err));
    KARMA_TRY(karma_i_goal_resolve(goal, (karma_goal)s->options->goal, &s->task, err));
    own.loss = (int)karma_i_goal_loss(*goal);
    if (fit->loss != KARMA_LOSS_AUTO || own.loss == KARMA_LOSS_AUTO) return karma_i_goal_check(*goal, &s->task, err);
    karma_i_task_clear(&s->task);
    return karma_i_task_learn(&s->task, rows, &own, NULL, err);
}

/* Every process has learned from the same sample; machines that do not compute alike may still differ. */
static karma_status choose_losses(search_state *s, const karma_table *rows, karma_error *err) {
    KARMA_TRY(karma_i_choose_class_losses(&s->task, &s->race, err));
    for (size_t t = 0; t < s->task.n_heads; t++)
        KARMA_TRY(karma_i_ranks_broadcast(&s->task.heads[t].loss, sizeof s->task.heads[t].loss,
                                          karma_i_table_ranks(rows), err));
    return KARMA_OK;
}

/* Prepares a search of an effort, with at most `most` rows. The task is learned. */
static karma_status prepare(search_state *s, karma_effort effort, size_t most, const karma_table *rows,
                            const karma_fit_options *fit, const karma_search_options *options, const karma_hooks *hooks,
                            karma_error *err) {
    karma_goal goal;
    *s = (search_state){.options = options, .effort = effort, .plan = &effort_plans[effort], .hooks = hooks};
    s->began = s->started = karma_i_now();
    s->preparing_since = NAN;
    s->best_before = -INFINITY;
    s->deadline = options->time > 0.0 ? s->started + options->time : INFINITY;
    KARMA_TRY(start_task(s, &goal, rows, fit, err));
    s->tolerance = s->task.options.tolerance;
    s->task.options.tolerance = fmin(1.0, TRYING_TOLERANCE * s->tolerance);
    KARMA_TRY(take_sample(s, most, rows, err));
    return start_race(s, goal, rows, err);
}

static void clear_state(search_state *s) {
    karma_i_race_clear(&s->race);
    karma_i_folds_clear(&s->folds);
    karma_i_folds_clear(&s->samples);
    karma_i_judge_clear(&s->judge);
    karma_i_task_clear(&s->task);
    karma_table_free(s->sample);
}

/* --- under a time limit -------------------------------------------------------------------------------- */

/* A quick search comes first, so that the result is not worse than that of a quick search. If much time is
 * left, everything that the effort would do without a limit follows; with less, its other kernels on the same
 * rows. */

static int can_go_on(const search_state *s) {
    return !s->is_interrupted && s->race.n_done == karma_i_folds_count(&s->folds);
}

/* Whether only the kernels differ, so that the other kernels can be tried on the same folds. */
static int is_same_but_for_kernels(const search_state *whole, const search_state *quick) {
    return whole->table->n_rows == quick->table->n_rows && whole->folds.n_repeats == quick->folds.n_repeats &&
           whole->race.entries[0].path.n == quick->race.entries[0].path.n;
}

/* Predicted from the quick race: the cost of a machine grows with the square of its rows. Every row has to be
 * left out once. */
static int has_time_for(const search_state *whole, const search_state *quick) {
    double rows = (double)whole->table->n_rows / (double)quick->table->n_rows;
    double runs = (double)whole->race.n_runs / (double)quick->race.n_runs;
    double now = karma_i_now(), seconds = (now - quick->started) * rows * rows * runs;
    return WHOLE_FACTOR * seconds <= trying_share(whole) * (whole->deadline - now);
}

static size_t count_left(const karma_i_race *race) {
    size_t n = 0;
    for (size_t e = 0; e < race->n_entries; e++) n += race->entries[e].is_out ? 0 : 1;
    return n;
}

/* Whether a race may replace the quick one: every row was left out once, it tried all kernels of the quick
 * one, and lack of time did not leave fewer kernels to average. */
static int can_stand(const search_state *whole, const search_state *quick) {
    int is_cut = 0;
    for (size_t e = 0; e < whole->race.n_entries; e++) {
        const karma_i_race_entry *entry = &whole->race.entries[e];
        if (entry->is_early && !entry->was_judged) return 0;
        is_cut |= entry->is_early && entry->is_cut;
    }
    return whole->race.n_done >= whole->folds.n_folds &&
           (!is_cut || count_left(&whole->race) >= count_left(&quick->race));
}

/* Tries kernels that a quick search leaves out, on its folds. They count if all folds were judged in time. */
static karma_status try_more(search_state *s, karma_error *err) {
    karma_i_race quick = s->race, *more = &s->race;
    s->has_floor = 1;
    s->best_before = s->best;
    s->earlier_seconds = s->fold_seconds;
    *more = karma_i_race_start(&s->task, &s->folds, quick.goal, quick.goal_payload);
    more->is_limited = 1;
    more->subspace_rank = quick.subspace_rank;
    karma_status st = karma_i_candidates_add_more(more, (karma_effort)s->options->effort, &s->options->fixed, err);
    int any = st == KARMA_OK && more->n_entries > 0;
    if (any) st = run_race(s, err);
    s->is_cut_short |= any && more->n_done < quick.n_done;
    if (st == KARMA_ERR_CANCELLED) st = KARMA_OK;
    if (any && st == KARMA_OK && more->n_done == quick.n_done) st = karma_i_race_join(&quick, more, err);
    karma_i_race_clear(more);
    s->race = quick;
    return st;
}

/* Runs the race that the effort would have without a limit, or as much of it as time allows. *best: the race
 * that the choice is made from. */
static karma_status go_on(search_state **best, search_state *whole, search_state *quick, size_t most,
                          const karma_table *rows, const karma_fit_options *fit, karma_error *err) {
    KARMA_TRY(prepare(whole, (karma_effort)quick->options->effort, most, rows, fit, quick->options, NULL, err));
    whole->hooks = quick->hooks; /* the notices on the table were already given */
    for (size_t t = 0; t < whole->task.n_heads; t++) whole->task.heads[t].loss = quick->task.heads[t].loss;
    whole->began = quick->began;
    whole->deadline = quick->deadline;
    double now = karma_i_now();
    int is_same = is_same_but_for_kernels(whole, quick), is_tried = !is_same && has_time_for(whole, quick);
    karma_status st = KARMA_OK;
    if (is_tried) {
        whole->has_floor = 1;
        st = run_race(whole, err);
        if (st == KARMA_ERR_CANCELLED) st = KARMA_OK;
        quick->is_interrupted |= whole->is_interrupted;
        if (st == KARMA_OK && can_stand(whole, quick)) *best = whole;
    }
    if (st != KARMA_OK || *best == whole || quick->is_interrupted) return st;
    quick->is_cut_short |= !is_same;
    if (is_tried || trying_ends(quick) - now < LEAST_MORE_SHARE * (now - quick->started)) {
        quick->is_cut_short |= whole->race.n_runs > quick->race.n_runs;
        return KARMA_OK;
    }
    return try_more(quick, err);
}

karma_status karma_i_search_rows(karma_model **out, const karma_table *rows, size_t most, const karma_fit_options *fit,
                                 const karma_search_options *options, const karma_hooks *hooks, karma_error *err) {
    search_state first = {0}, whole = {0}, *best = &first;
    int is_more = options->time > 0.0 && options->effort != KARMA_EFFORT_QUICK;
    karma_effort effort = is_more ? KARMA_EFFORT_QUICK : (karma_effort)options->effort;
    size_t least = is_more ? karma_i_sample_rows(fit, KARMA_EFFORT_QUICK) : most;
    karma_status st = prepare(&first, effort, least, rows, fit, options, hooks, err);
    if (st == KARMA_OK && fit->loss == KARMA_LOSS_AUTO) st = choose_losses(&first, rows, err);
    if (st == KARMA_OK) st = run_race(&first, err);
    if (st == KARMA_OK && is_more && can_go_on(&first)) st = go_on(&best, &whole, &first, most, rows, fit, err);
    if (st == KARMA_OK) st = finish(out, best, rows, err);
    clear_state(&first);
    clear_state(&whole);
    return st;
}
