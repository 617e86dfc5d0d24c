#include "model/supervise.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/fold.h"
#include "model/grow.h"
#include "model/relevance.h"
#include "solve/solver.h"
#include "table/table_split.h"

/* One of this many folds is held out to decide whether refining helps; with fewer rows nothing is held
 * out. */
enum { REFINE_FOLDS = 4 };
/* Up to this many rows, recipes are learned at the same time. */
enum { SIDE_BY_SIDE_ROWS = 4000 };

/* The data for refining a subspace: the outputs as the solver has them, and held-out rows. */
typedef struct supervision {
    karma_i_supervision labels;
    karma_i_task_loss *losses;
    uint8_t *is_held_out;
} supervision;

static void clear_supervision(supervision *s) {
    karma_i_free(s->losses);
    karma_i_free(s->is_held_out);
}

static karma_status supervise(supervision *s, const karma_i_lesson *lesson, karma_error *err) {
    const karma_i_task *task = lesson->task;
    const karma_i_outputs *o = lesson->outputs;
    size_t n = lesson->table->n_rows, K = task->n_outputs;
    karma_i_folds folds = {0};
    s->losses = karma_i_alloc(K, sizeof *s->losses);
    s->is_held_out = karma_i_alloc(n, sizeof *s->is_held_out);
    karma_status st = s->losses && s->is_held_out ? karma_i_folds_init(&folds, task, lesson->table, REFINE_FOLDS, 1,
                                                                       (uint64_t)task->options.seed, 0, err)
                                                  : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) s->is_held_out[i] = karma_i_folds_number(&folds, 0, i) == 0;
    for (size_t k = 0; st == KARMA_OK && k < K; k++)
        s->losses[k] = (karma_i_task_loss){o->losses[k].value, o->losses[k].prox, o->losses[k].parameter};
    karma_i_folds_clear(&folds);
    s->labels = (karma_i_supervision){K, o->targets, o->weights, s->losses, s->is_held_out};
    return st;
}

/* ---- relevance ---- */

/* A random sample of the table's rows, and their outputs. */
typedef struct labelled_sample {
    karma_table *table;
    double *targets, *weights;
} labelled_sample;

static void clear_sample(labelled_sample *s) {
    karma_table_free(s->table);
    karma_i_free(s->targets);
    karma_i_free(s->weights);
}

static karma_status draw_sample(labelled_sample *s, size_t most, const karma_i_task *task, const karma_i_outputs *o,
                                const karma_table *table, karma_error *err) {
    karma_i_partition split = karma_i_table_split(table);
    size_t n = split.n_rows, K = task->n_outputs, count = n < most ? n : most, *index = karma_i_alloc(n, sizeof *index);
    karma_i_rng rng;
    s->targets = karma_i_alloc(count, K * sizeof *s->targets);
    s->weights = karma_i_alloc(count, K * sizeof *s->weights);
    karma_status st = index && s->targets && s->weights ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        karma_i_rng_init(&rng, (uint64_t)task->options.seed);
        for (size_t i = 0; i < n; i++) index[i] = i;
        karma_i_rng_shuffle(&rng, index, n);
        st = karma_i_partition_fetch(s->targets, o->targets, K, index, count, &split, err);
    }
    if (st == KARMA_OK) st = karma_i_partition_fetch(s->weights, o->weights, K, index, count, &split, err);
    if (st == KARMA_OK) st = karma_i_table_gather(&s->table, table, index, count, err);
    karma_i_free(index);
    return st;
}

static karma_status weigh_recipe(karma_i_recipe *recipe, const karma_i_task *task, const karma_i_outputs *outputs,
                                 const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    (void)hooks; /* it is too quick to ask the hooks */
    size_t n = recipe->n_attributes;
    labelled_sample sample = {0};
    karma_i_rows *rows = NULL;
    double *weights = karma_i_alloc(n, sizeof *weights);
    karma_status st =
        weights ? draw_sample(&sample, karma_i_relevance_rows(n), task, outputs, table, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = karma_i_recipe_encode(&rows, NULL, recipe, sample.table, NULL, err);
    if (st == KARMA_OK)
        st = karma_i_relevance_learn(weights, rows, sample.targets, sample.weights, task->n_outputs,
                                     karma_i_threads(task->options.threads), err);
    if (st == KARMA_OK) st = karma_i_recipe_weigh(recipe, weights, table, err);
    karma_i_rows_free(rows);
    karma_i_free(weights);
    clear_sample(&sample);
    return st;
}

/* ---- all recipes ---- */

/* The second step of kinds that use labels (kernel_kind.c): learning from labels, after learning from the
 * table alone. */
typedef karma_status (*supervised_learn_fn)(karma_i_recipe *recipe, const karma_i_task *task,
                                            const karma_i_outputs *outputs, const karma_table *table,
                                            const karma_hooks *hooks, karma_error *err);
static const supervised_learn_fn supervised_learners[KARMA_N_KERNELS] = {[KARMA_KERNEL_RELEVANCE] = weigh_recipe,
                                                                         [KARMA_KERNEL_BOOST] = karma_i_grow_boosted,
                                                                         [KARMA_KERNEL_FOREST] = karma_i_grow_bagged};

static karma_status learn_recipe(karma_i_encoder *encoder, double *seconds, size_t which, karma_kernel_kind kind,
                                 const karma_i_lesson *lesson, const karma_hooks *hooks, karma_error *err) {
    const karma_i_task *task = lesson->task;
    double began = karma_i_now();
    karma_status st = karma_i_encoder_learn_kind(encoder, which, kind, lesson->table, &task->options, hooks, err);
    if (st == KARMA_OK && kind == KARMA_KERNEL_BOOST && lesson->grown)
        st = karma_i_forest_copy(&encoder->recipes[which]->forest, lesson->grown, err);
    else if (st == KARMA_OK && supervised_learners[kind])
        st = supervised_learners[kind](encoder->recipes[which], task, lesson->outputs, lesson->table, hooks, err);
    if (seconds) seconds[which] = karma_i_now() - began;
    return st;
}

/* The first recipe gives notices, and slow ones can be stopped: these use the hooks, which only the caller's
 * thread may do. */
static int asks_hooks(size_t which, karma_kernel_kind kind) {
    return which == 0 || karma_i_kind_of(kind)->is_slow;
}

/* Learns several recipes at once: a subspace is estimated while columns are weighted. Each thread learns one
 * recipe, since OpenMP makes new threads for every loop inside a loop. */
static void learn_side_by_side(karma_i_encoder *encoder, double *seconds, const karma_kernel_kind *kinds,
                               const karma_i_lesson *lesson, const karma_hooks *hooks, karma_error *errors) {
    size_t n = encoder->n;
#pragma omp parallel num_threads(karma_i_threads(lesson->task->options.threads))
    {
#pragma omp master
        for (size_t e = 0; e < n; e++)
            if (asks_hooks(e, kinds[e])) (void)learn_recipe(encoder, seconds, e, kinds[e], lesson, hooks, &errors[e]);
#pragma omp for schedule(dynamic)
        for (size_t e = 0; e < n; e++)
            if (!asks_hooks(e, kinds[e])) (void)learn_recipe(encoder, seconds, e, kinds[e], lesson, NULL, &errors[e]);
    }
}

/* Recipes are independent. With few rows they are learned in parallel. Many rows keep all threads busy with
 * one recipe; and only one thread at a time may communicate with other processes. */
static karma_status learn_all(karma_i_encoder *encoder, double *seconds, const karma_kernel_kind *kinds,
                              const karma_i_lesson *lesson, const karma_hooks *hooks, karma_error *err) {
    karma_error errors[KARMA_N_KERNELS] = {0};
    size_t n = encoder->n;
    if (n > 1 && lesson->table->n_rows <= SIDE_BY_SIDE_ROWS && karma_i_table_ranks(lesson->table)->size == 1)
        learn_side_by_side(encoder, seconds, kinds, lesson, hooks, errors);
    else
        for (size_t e = 0; e < n; e++)
            (void)learn_recipe(encoder, seconds, e, kinds[e], lesson, asks_hooks(e, kinds[e]) ? hooks : NULL,
                               &errors[e]);
    for (size_t e = 0; e < n; e++) {
        if (errors[e].status == KARMA_OK) continue;
        if (err) *err = errors[e];
        return errors[e].status;
    }
    return KARMA_OK;
}

karma_status karma_i_learn_recipes(karma_i_encoder *out, double *seconds, const karma_kernel_kind *kinds,
                                   size_t n_kinds, const karma_i_lesson *lesson, const karma_hooks *hooks,
                                   karma_error *err) {
    const karma_table *table = lesson->table;
    const karma_fit_options *options = &lesson->task->options;
    karma_i_encoder encoder = {0};
    supervision s = {0};
    karma_status st = karma_i_encoder_new(&encoder, n_kinds, err);
    if (st == KARMA_OK) st = learn_all(&encoder, seconds, kinds, lesson, hooks, err);
    if (st == KARMA_OK && options->refine > 0 && table->n_rows >= REFINE_FOLDS) {
        st = supervise(&s, lesson, err);
        if (st == KARMA_OK) st = karma_i_encoder_refine(&encoder, table, &s.labels, options, hooks, err);
    }
    clear_supervision(&s);
    if (st == KARMA_OK)
        *out = encoder;
    else
        karma_i_encoder_clear(&encoder);
    return st;
}
