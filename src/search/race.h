/* Candidates judged by cross-validation, all on the same folds. A candidate is a kernel and a C; those of one kernel
 * are learned one after the other on its path of C, each from the solution before. In every fold everything that is
 * learned, recipes and subspaces too, is learned from the fold's training rows; the parts of the kernel matrix are then
 * computed once for all candidates (kernel/parts.h). */
#ifndef KARMA_I_RACE_H
#define KARMA_I_RACE_H

#include "model/fold.h"
#include "model/model.h"

/* A kernel and the values of C tried with it; weights have no meaning here. */
typedef struct karma_i_race_entry {
    karma_i_plan_kernel kernel;
    karma_i_C_grid path;
    size_t first_run; /* its runs are those from here on, one per C */
    int is_kept;      /* never dropped: the baseline */
    int is_early;     /* under a time limit, judged before the others */
    int is_out;       /* dropped, or there was no time for it: no longer judged */
    int is_cut;       /* there was no time for it */
    int is_judged;    /* on the fold of the last karma_i_race_fold */
    int was_judged;   /* on any fold that counts */
    int is_waiting;   /* for a later stage of a fold */
    double seconds;   /* seconds one thread took to judge it on the last fold */
} karma_i_race_entry;

/* The results of one candidate. */
typedef struct karma_i_race_run {
    size_t entry;
    double C_factor;
    float *scores;  /* of all rows by models that have not seen them, repeat by repeat: row-major, one per output;
                       numbers in their units */
    double *values; /* of the goal, one per fold; larger is better */
} karma_i_race_run;

/* The quality of scores of some rows; larger is better. `table` has these rows, in order. */
typedef karma_status (*karma_i_goal_fn)(double *out, const void *payload, const karma_i_task *task,
                                        const karma_table *table, const double *scores, karma_error *err);

typedef struct karma_i_race {
    const karma_i_task *task;   /* borrowed, as are the folds */
    const karma_i_folds *folds; /* of rows that all have labels */
    const karma_table *table;   /* that of the folds */
    double fold_best;           /* the largest value on this fold so far; -INFINITY: none */
    size_t n_done;              /* judged folds of all repeats */
    size_t hidden_fold;         /* counted from 1: choices are made without this fold; 0: with all rows */
    karma_i_goal_fn goal;
    const void *goal_payload;
    size_t n_entries, n_runs;
    karma_i_race_entry *entries;
    karma_i_race_run *runs;
    /* The rank of the options or, if it is to be chosen, the rank suggested by hidden cells of the first
     * fold's training rows: it is chosen once, because that takes many fits and does not depend on labels. */
    int64_t subspace_rank;
    int is_choosing_rank, is_rank_cut_short; /* set while the rank is chosen; and if `stop` ended that */
    /* Time is limited: entries are judged in stages, early ones first and those whose recipes are costly last. */
    int is_limited;
    /* Seconds that the last fold took for all entries: to learn a recipe of each kind, on one thread, and to
     * encode rows and compute the parts of their kernels; and, in the first fold, to choose the rank. */
    double recipe_seconds[KARMA_N_KERNELS], encoding_seconds, rank_seconds;
} karma_i_race;

karma_i_race karma_i_race_start(const karma_i_task *task, const karma_i_folds *folds, karma_i_goal_fn goal,
                                const void *goal_payload);
/* Adds a copy of a kernel, before the first fold is judged. */
karma_status karma_i_race_add(karma_i_race *race, const karma_i_plan_kernel *kernel, const karma_i_C_grid *path,
                              karma_error *err);
/* Moves the entries of `more`, which were judged on the same folds and as many, to `race`; `more` is empty
 * afterwards. */
karma_status karma_i_race_join(karma_i_race *race, karma_i_race *more, karma_error *err);
/* Judges the entries that are not out on the next fold. `stop` (or NULL) is asked from the caller's thread
 * while recipes are learned (then n_entries is 0) and before every entry but the first. If it stops the fold,
 * the fold does not count, unless it is the first: then the judged entries stay in the race and all others
 * are out. With a time limit, the same happens to the entries of a stage of the first fold whose recipes are
 * stopped. */
typedef int (*karma_i_stop_fn)(void *payload, size_t n_judged, size_t n_entries, const char *kernel);
karma_status karma_i_race_fold(karma_i_race *race, karma_i_stop_fn stop, void *payload, int *stopped, karma_error *err);
void karma_i_race_clear(karma_i_race *race);

/* The largest value of an entry on the fold being judged; -INFINITY: none yet. */
double karma_i_race_fold_best(const karma_i_race *race);

#endif
