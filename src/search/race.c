#include "search/race.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernel/parts.h"
#include "model/answers.h"
#include "model/fold.h"
#include "model/solve_grid.h"
#include "model/supervise.h"

void karma_i_race_clear(karma_i_race *race) {
    for (size_t e = 0; e < race->n_entries; e++) karma_i_plan_kernel_clear(&race->entries[e].kernel);
    for (size_t r = 0; r < race->n_runs; r++) {
        karma_i_free(race->runs[r].scores);
        karma_i_free(race->runs[r].values);
    }
    karma_i_free(race->entries);
    karma_i_free(race->runs);
    *race = (karma_i_race){0};
}

karma_i_race karma_i_race_start(const karma_i_task *task, const karma_i_folds *folds, karma_i_goal_fn goal,
                                const void *goal_payload) {
    return (karma_i_race){.task = task,
                          .folds = folds,
                          .table = folds->table,
                          .goal = goal,
                          .goal_payload = goal_payload,
                          .subspace_rank = task->options.subspace_rank};
}

static karma_status add_run(karma_i_race *race, double C_factor, karma_error *err) {
    karma_i_race_run *runs = karma_i_zalloc(race->n_runs + 1, sizeof *runs);
    if (!runs) return karma_i_fail_memory(err);
    if (race->n_runs) memcpy(runs, race->runs, race->n_runs * sizeof *runs);
    karma_i_free(race->runs);
    race->runs = runs;
    karma_i_race_run *run = &runs[race->n_runs++];
    run->entry = race->n_entries - 1;
    run->C_factor = C_factor;
    run->scores =
        karma_i_zalloc(race->folds->n_repeats * race->table->n_rows, race->task->n_outputs * sizeof *run->scores);
    run->values = karma_i_zalloc(karma_i_folds_count(race->folds), sizeof *run->values);
    return run->scores && run->values ? KARMA_OK : karma_i_fail_memory(err);
}

karma_status karma_i_race_add(karma_i_race *race, const karma_i_plan_kernel *kernel, const karma_i_C_grid *path,
                              karma_error *err) {
    karma_i_race_entry *entries = karma_i_zalloc(race->n_entries + 1, sizeof *entries);
    if (!entries) return karma_i_fail_memory(err);
    if (race->n_entries) memcpy(entries, race->entries, race->n_entries * sizeof *entries);
    karma_i_free(race->entries);
    race->entries = entries;
    karma_i_race_entry *entry = &entries[race->n_entries++];
    entry->first_run = race->n_runs;
    entry->path = *path;
    KARMA_TRY(karma_i_plan_kernel_copy(&entry->kernel, kernel, err));
    for (size_t c = 0; c < path->n; c++) KARMA_TRY(add_run(race, path->factors[c], err));
    return KARMA_OK;
}

static karma_status join_entries(karma_i_race *race, karma_i_race *more, karma_error *err) {
    size_t n = race->n_entries + more->n_entries;
    karma_i_race_entry *entries = karma_i_alloc(n, sizeof *entries);
    if (!entries) return karma_i_fail_memory(err);
    memcpy(entries, race->entries, race->n_entries * sizeof *entries);
    memcpy(entries + race->n_entries, more->entries, more->n_entries * sizeof *entries);
    for (size_t e = race->n_entries; e < n; e++) entries[e].first_run += race->n_runs;
    karma_i_free(race->entries);
    karma_i_free(more->entries);
    more->entries = NULL;
    race->entries = entries;
    return KARMA_OK;
}

karma_status karma_i_race_join(karma_i_race *race, karma_i_race *more, karma_error *err) {
    size_t n = race->n_runs + more->n_runs;
    karma_i_race_run *runs = karma_i_alloc(n, sizeof *runs);
    karma_status st = runs ? join_entries(race, more, err) : karma_i_fail_memory(err);
    if (st != KARMA_OK) {
        karma_i_free(runs);
        return st;
    }
    memcpy(runs, race->runs, race->n_runs * sizeof *runs);
    memcpy(runs + race->n_runs, more->runs, more->n_runs * sizeof *runs);
    for (size_t r = race->n_runs; r < n; r++) runs[r].entry += race->n_entries;
    karma_i_free(race->runs);
    karma_i_free(more->runs);
    more->runs = NULL;
    race->runs = runs;
    race->n_runs = n;
    race->n_entries += more->n_entries;
    more->n_runs = more->n_entries = 0;
    race->encoding_seconds += more->encoding_seconds;
    for (int k = 0; k < KARMA_N_KERNELS; k++)
        race->recipe_seconds[k] = fmax(race->recipe_seconds[k], more->recipe_seconds[k]);
    return KARMA_OK;
}

/* --- one fold ------------------------------------------------------------------------------------------ */

/* What all entries share in a fold. */
typedef struct fold_data {
    karma_i_fold tables;
    karma_i_task task; /* with labels as in the fold's training rows */
    karma_i_outputs outputs;
    karma_i_encoder encoder;
    karma_i_rows *rows; /* the whole table, encoded by recipes learned from the training rows */
    karma_i_parts parts;
    karma_i_rows *train_rows, *test_rows; /* for a kernel without parts: gathered here */
    const karma_i_rows *learned, *asked;  /* training and test rows for which kernels are computed */
} fold_data;

static void clear_fold(fold_data *f) {
    karma_i_parts_clear(&f->parts);
    karma_i_rows_free(f->train_rows);
    karma_i_rows_free(f->test_rows);
    karma_i_rows_free(f->rows);
    karma_i_encoder_clear(&f->encoder);
    karma_i_outputs_clear(&f->outputs);
    karma_i_task_clear(&f->task);
    karma_i_fold_clear(&f->tables);
}

/* The tables of the fold, and its task. */
static karma_status split_table(fold_data *f, unsigned char *is_train, const karma_i_race *race, karma_error *err) {
    KARMA_TRY(karma_i_fold_split(&f->tables, race->folds, race->n_done, err));
    memset(is_train, 1, race->table->n_rows);
    for (size_t i = 0; i < f->tables.test->n_rows; i++) is_train[f->tables.test_rows[i]] = 0;
    KARMA_TRY(karma_i_task_relearn(&f->task, race->task, f->tables.train, err));
    return karma_i_outputs_fill(&f->outputs, &f->task, f->tables.train, err);
}

/* The kinds of the entries being judged; a kind's position numbers the encodings of factors. */
static size_t number_encodings(karma_kernel_kind *kinds, karma_i_race *race) {
    size_t n_kinds = 0;
    for (size_t e = 0; e < race->n_entries; e++)
        if (!race->entries[e].is_out && !race->entries[e].is_waiting)
            karma_i_plan_kernel_number(&race->entries[e].kernel, kinds, &n_kinds);
    return n_kinds;
}

/* With a time limit, entries are judged in stages. Those of a quick search come first, so that more time is
 * not spent on weaker kernels; within both groups the cheap ones come first. All kernels with a slow recipe
 * are in one stage, since they share it. */
enum { EARLY_STAGE, SLOW_STAGE, CHEAP_STAGE, COSTLY_STAGE, N_STAGES };

static int stage_of(const karma_i_race_entry *entry) {
    const karma_i_plan_kernel *kernel = &entry->kernel;
    if (karma_i_plan_kernel_is_slow(kernel)) return SLOW_STAGE;
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (karma_i_kind_of(kernel->factors[f].kind)->is_costly) return COSTLY_STAGE;
    return entry->is_early ? EARLY_STAGE : CHEAP_STAGE;
}

/* Drops a stage because there is no time for its recipes. Returns how many entries are left. */
static size_t drop_stage(karma_i_race *race, int stage) {
    size_t n_left = 0;
    for (size_t e = 0; e < race->n_entries; e++) {
        if (stage_of(&race->entries[e]) == stage) race->entries[e].is_out = race->entries[e].is_cut = 1;
        n_left += race->entries[e].is_out ? 0 : 1;
    }
    return n_left;
}

/* Given kernel values, and rows with very many attributes, have no parts. */
static karma_status gather_rows(fold_data *f, const unsigned char *is_train, karma_error *err) {
    KARMA_TRY(karma_i_rows_new_like(&f->train_rows, f->rows, 0, err));
    KARMA_TRY(karma_i_rows_new_like(&f->test_rows, f->rows, 0, err));
    for (size_t i = 0; i < f->rows->n_rows; i++)
        KARMA_TRY(karma_i_rows_append(is_train[i] ? f->train_rows : f->test_rows, f->rows, i, err));
    f->learned = f->train_rows;
    f->asked = f->test_rows;
    return KARMA_OK;
}

/* Lets `stop` end the estimation of a subspace, the one part of encoding that can take long. */
typedef struct encoding_watch {
    karma_i_stop_fn stop;
    void *payload;
    int has_stopped;
} encoding_watch;

static int watch_encoding(void *payload, const char *stage, size_t done, size_t total) {
    encoding_watch *w = payload;
    (void)done, (void)total;
    w->has_stopped |= w->stop && w->stop(w->payload, 0, 0, stage);
    return w->has_stopped;
}

/* Once for all folds, from the training rows of the first, without labels. (Fewer rows would suggest a
 * smaller rank: with 300 of 768 rows of digits, half of the cells hidden, it costs one and a half points of
 * accuracy.) */
static karma_status choose_rank(karma_i_race *race, karma_kernel_kind kind, const karma_i_task *task,
                                const karma_table *train, const karma_hooks *hooks, karma_error *err) {
    karma_fit_options options = task->options; /* borrows its texts */
    karma_i_recipe *recipe = NULL;
    karma_i_rows *rows = NULL;
    size_t rank = 0;
    double began = karma_i_now();
    options.subspace_rank = 0; /* only the features are needed */
    karma_status st = karma_i_recipe_learn(&recipe, train, kind, &options, hooks, err);
    if (st == KARMA_OK) st = karma_i_recipe_encode(&rows, NULL, recipe, train, NULL, err);
    if (st == KARMA_OK) st = karma_i_latent_coarse_rank(&rank, rows, &options, hooks, err);
    if (st == KARMA_OK) race->subspace_rank = (int64_t)rank;
    race->rank_seconds = karma_i_now() - began;
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    return st;
}

/* Learns the recipes of the kinds of all entries. If there is no time for a slow one in the first fold,
 * entries that need it are out. */
static karma_status learn_encoder(fold_data *f, karma_i_race *race, encoding_watch *watch, karma_error *err) {
    karma_hooks hooks = {watch_encoding, NULL, watch};
    for (;;) {
        karma_kernel_kind kinds[KARMA_N_KERNELS];
        double seconds[KARMA_N_KERNELS] = {0};
        size_t n_kinds = number_encodings(kinds, race);
        karma_kernel_kind subspace = KARMA_N_KERNELS; /* the first kind of it */
        int has_slow = 0;
        for (size_t k = 0; k < n_kinds; k++) {
            if (subspace == KARMA_N_KERNELS && karma_i_kind_of(kinds[k])->is_subspace) subspace = kinds[k];
            has_slow |= karma_i_kind_of(kinds[k])->is_slow;
        }
        race->is_choosing_rank = subspace != KARMA_N_KERNELS && race->subspace_rank == (int64_t)KARMA_AUTO;
        karma_status st =
            race->is_choosing_rank ? choose_rank(race, subspace, &f->task, f->tables.train, &hooks, err) : KARMA_OK;
        race->is_rank_cut_short |= watch->has_stopped && race->is_choosing_rank;
        race->is_choosing_rank = watch->has_stopped = 0;
        f->task.options.subspace_rank = race->subspace_rank;
        const karma_i_lesson lesson = {&f->task, f->tables.train, &f->outputs, NULL};
        if (st == KARMA_OK) st = karma_i_learn_recipes(&f->encoder, seconds, kinds, n_kinds, &lesson, &hooks, err);
        for (size_t k = 0; k < n_kinds; k++) race->recipe_seconds[kinds[k]] = seconds[k];
        if (st == KARMA_OK && watch->has_stopped) { /* a subspace after one step says nothing about its kernels */
            karma_i_encoder_clear(&f->encoder);
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "cancelled while recipes were learned");
        }
        watch->has_stopped = 0;
        if (st != KARMA_ERR_CANCELLED || race->n_done > 0 || !has_slow || n_kinds == 1 || race->is_limited) return st;
        if (drop_stage(race, SLOW_STAGE) == 0) return st;
    }
}

static karma_status prepare_fold(fold_data *f, karma_i_race *race, encoding_watch *watch, karma_error *err) {
    int threads = karma_i_threads(race->task->options.threads);
    unsigned char *is_train = karma_i_alloc(race->table->n_rows, 1);
    karma_status st = is_train ? split_table(f, is_train, race, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = learn_encoder(f, race, watch, err);
    double began = karma_i_now();
    if (st == KARMA_OK) st = karma_i_encoder_apply(&f->rows, &f->encoder, race->table, NULL, err);
    if (st == KARMA_OK && karma_i_parts_suit(f->rows)) {
        st = karma_i_parts_compute(&f->parts, f->rows, is_train, threads, err);
        f->learned = f->parts.train;
        f->asked = f->parts.others;
    } else if (st == KARMA_OK)
        st = gather_rows(f, is_train, err);
    race->encoding_seconds += karma_i_now() - began;
    karma_i_free(is_train);
    return st;
}

/* --- one entry of a fold ------------------------------------------------------------------------------- */

/* Adds the scores of the test rows to those of a run; their goal is the value of this fold. */
static karma_status record(karma_i_race *race, size_t run, double *scores, const fold_data *f, karma_error *err) {
    size_t K = race->task->n_outputs;
    float *all = race->runs[run].scores + race->n_done / race->folds->n_folds * race->table->n_rows * K;
    karma_i_finish_scores(scores, &f->task, f->tables.test->n_rows);
    for (size_t i = 0; i < f->tables.test->n_rows; i++)
        for (size_t k = 0; k < K; k++) all[f->tables.test_rows[i] * K + k] = (float)scores[i * K + k];
    return race->goal(&race->runs[run].values[race->n_done], race->goal_payload, race->task, f->tables.test, scores,
                      err);
}

static karma_status judge_scores(karma_i_race *race, size_t which, const double *scores, const fold_data *f,
                                 karma_error *err) {
    const karma_i_race_entry *entry = &race->entries[which];
    size_t K = race->task->n_outputs, n = f->tables.test->n_rows;
    double *own = karma_i_alloc(n, K * sizeof *own);
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t c = 0; st == KARMA_OK && c < entry->path.n; c++) {
        for (size_t i = 0; i < n; i++) memcpy(own + i * K, scores + (i * entry->path.n + c) * K, K * sizeof *own);
        st = record(race, entry->first_run + c, own, f, err);
    }
    karma_i_free(own);
    return st;
}

static karma_status judge_entry(karma_i_race *race, size_t which, const fold_data *f, karma_error *err) {
    const karma_i_race_entry *entry = &race->entries[which];
    size_t n = f->learned->n_rows, n_outputs = entry->path.n * race->task->n_outputs;
    karma_i_kernel kernel = {0};
    double *coefficients = karma_i_alloc(n, n_outputs * sizeof *coefficients);
    double *scores = karma_i_alloc(f->asked->n_rows, n_outputs * sizeof *scores);
    karma_status st = coefficients && scores ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_kernel_learn(&kernel, &entry->kernel, f->learned, 1, err);
    karma_i_problem problem = {.kernel = &kernel,
                               .rows = f->learned,
                               .n_outputs = race->task->n_outputs,
                               .targets = f->outputs.targets,
                               .row_weights = f->outputs.weights,
                               .losses = f->outputs.losses};
    karma_fit_options options = f->task.options; /* borrows its texts */
    options.threads = 1;
    karma_fit_info info = {.solver = KARMA_SOLVER_BATCH};
    if (st == KARMA_OK) st = karma_i_solve_grid(coefficients, &info, &entry->path, &problem, &options, NULL, err);
    if (st == KARMA_OK)
        st = karma_i_kernel_scores(scores, &kernel, karma_i_rows_all(f->asked), karma_i_rows_all(f->learned),
                                   coefficients, n_outputs, 1, err);
    if (st == KARMA_OK) st = judge_scores(race, which, scores, f, err);
    karma_i_kernel_clear(&kernel);
    karma_i_free(coefficients);
    karma_i_free(scores);
    return st;
}

static int wants_to_stop(const karma_i_race *race, size_t which, size_t n_judged, karma_i_stop_fn stop, void *payload) {
    char kernel[200];
    (void)karma_i_plan_kernel_print(kernel, sizeof kernel, &race->entries[which].kernel);
    return stop(payload, n_judged, race->n_entries, kernel);
}

/* The best value of the fold so far, for progress reports. */
static void note_best_of_fold(karma_i_race *race, const karma_i_race_entry *entry) {
    double best = -INFINITY;
    for (size_t r = entry->first_run; r < entry->first_run + entry->path.n; r++)
        best = fmax(best, race->runs[r].values[race->n_done]);
#pragma omp critical
    race->fold_best = fmax(race->fold_best, best);
}

double karma_i_race_fold_best(const karma_i_race *race) {
    double best;
#pragma omp critical
    best = race->fold_best;
    return best;
}

/* If time is limited, the second candidate, a map of ranks, comes before the linear kernel, the baseline: if
 * there is time for only one kernel, it should be the stronger one. */
static size_t place_of(const karma_i_race *race, size_t i) {
    return race->is_limited && race->n_entries > 1 && i < 2 ? 1 - i : i;
}

/* Entries are independent: the result does not depend on which thread judges which. */
static karma_status judge_entries(karma_i_race *race, const fold_data *f, karma_i_stop_fn stop, void *payload,
                                  int *stopped, karma_error *err) {
    int wants_stop = 0;
    size_t n_judged = 0;
    karma_error *errors = karma_i_zalloc(race->n_entries, sizeof *errors);
    if (!errors) return karma_i_fail_memory(err);
#pragma omp parallel for schedule(dynamic) num_threads(karma_i_threads(race->task->options.threads))
    for (size_t i = 0; i < race->n_entries; i++) {
        int quit;
        size_t so_far, e = place_of(race, i);
#pragma omp atomic read
        quit = wants_stop;
#pragma omp atomic read
        so_far = n_judged;
        if (quit || race->entries[e].is_out || race->entries[e].is_waiting) continue;
        double began = karma_i_now();
        quit = stop && omp_get_thread_num() == 0 && so_far > 0 && wants_to_stop(race, e, so_far, stop, payload);
        race->entries[e].is_judged = !quit && judge_entry(race, e, f, &errors[e]) == KARMA_OK;
        race->entries[e].seconds = karma_i_now() - began;
        if (race->entries[e].is_judged) note_best_of_fold(race, &race->entries[e]);
#pragma omp atomic
        n_judged += race->entries[e].is_judged ? 1 : 0;
        if (!race->entries[e].is_judged) {
#pragma omp atomic write
            wants_stop = 1;
        }
    }
    karma_status st = KARMA_OK;
    for (size_t e = 0; e < race->n_entries && st == KARMA_OK; e++) {
        st = errors[e].status;
        if (st != KARMA_OK && err) *err = errors[e];
    }
    karma_i_free(errors);
    *stopped = wants_stop && st == KARMA_OK;
    return st;
}

/* Marks the entries that wait while a stage is run; returns the first one that does not wait, n_entries if
 * there is none. */
static size_t mark_stage(karma_i_race *race, int stage) {
    size_t first = race->n_entries;
    for (size_t e = race->n_entries; e-- > 0;) {
        karma_i_race_entry *entry = &race->entries[e];
        entry->is_waiting = (race->is_limited ? stage_of(entry) : EARLY_STAGE) != stage;
        if (!entry->is_out && !entry->is_waiting) first = e;
    }
    return first;
}

static size_t count_judged(const karma_i_race *race) {
    size_t n = 0;
    for (size_t e = 0; e < race->n_entries; e++) n += race->entries[e].is_judged ? 1 : 0;
    return n;
}

static karma_status run_stage(karma_i_race *race, karma_i_stop_fn stop, void *payload, int *stopped, karma_error *err) {
    fold_data f = {0};
    encoding_watch watch = {stop, payload, 0};
    karma_status st = prepare_fold(&f, race, &watch, err);
    if (st == KARMA_OK) st = judge_entries(race, &f, stop, payload, stopped, err);
    clear_fold(&f);
    return st;
}

/* If there is no time for the recipes of a stage but there are other entries, the first fold uses those. */
static karma_status run_stages(karma_i_race *race, karma_i_stop_fn stop, void *payload, int *stopped,
                               karma_error *err) {
    karma_status st = KARMA_OK;
    for (int stage = 0; st == KARMA_OK && !*stopped && stage < N_STAGES; stage++) {
        size_t first = mark_stage(race, stage), n_judged = count_judged(race);
        if (first == race->n_entries) continue;
        *stopped = stop && n_judged > 0 && wants_to_stop(race, first, n_judged, stop, payload);
        if (!*stopped) st = run_stage(race, stop, payload, stopped, err);
        if (st == KARMA_ERR_CANCELLED && race->is_limited && race->n_done == 0 && drop_stage(race, stage) > 0)
            st = KARMA_OK;
    }
    return st;
}

karma_status karma_i_race_fold(karma_i_race *race, karma_i_stop_fn stop, void *payload, int *stopped,
                               karma_error *err) {
    *stopped = 0;
    race->encoding_seconds = race->rank_seconds = 0.0;
    race->fold_best = -INFINITY;
    for (size_t e = 0; e < race->n_entries; e++) race->entries[e].is_judged = 0;
    karma_status st = run_stages(race, stop, payload, stopped, err);
    for (size_t e = 0; e < race->n_entries; e++) race->entries[e].is_waiting = 0;
    if (st == KARMA_ERR_CANCELLED && race->n_done > 0) {
        *stopped = 1;
        st = KARMA_OK;
    }
    if (st != KARMA_OK) return st;
    if (*stopped && race->n_done == 0)
        for (size_t e = 0; e < race->n_entries; e++)
            if (!race->entries[e].is_judged && !race->entries[e].is_out)
                race->entries[e].is_out = race->entries[e].is_cut = 1;
    if (*stopped && race->n_done > 0) return KARMA_OK;
    for (size_t e = 0; e < race->n_entries; e++) race->entries[e].was_judged |= race->entries[e].is_judged;
    race->n_done++;
    return KARMA_OK;
}
