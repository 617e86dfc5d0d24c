#include "model/grow.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "prep/leaves.h"
#include "solve/solver.h"
#include "table/table_split.h"

/* The loss for growing trees: that of the machine or, if its slope jumps or is flat, a related one. */
static karma_i_forest_loss loss_of(const karma_i_loss *loss) {
    if (loss->task == KARMA_TASK_CLASSIFY) return (karma_i_forest_loss){KARMA_I_FOREST_LOGISTIC, 0.0};
    if (loss->kind == KARMA_LOSS_SQUARED) return (karma_i_forest_loss){KARMA_I_FOREST_SQUARED, 0.0};
    if (loss->kind == KARMA_LOSS_HUBER) return (karma_i_forest_loss){KARMA_I_FOREST_HUBER, loss->parameter};
    if (loss->kind == KARMA_LOSS_PINBALL) return (karma_i_forest_loss){KARMA_I_FOREST_PINBALL, loss->parameter};
    return (karma_i_forest_loss){KARMA_I_FOREST_PINBALL, 0.5};
}

/* From this many rows on, trees are large and few, and held-out rows decide their number; with fewer rows
 * trees are small, and a machine weighs their leaves again. If there are very many rows, half of them are
 * enough for a tree. */
enum { MOST_FEW_ROWS = 2000, MOST_WHOLE_ROWS = 200000 };

/* Limit of rows × outputs × trees: with very many outputs and rows there are fewer trees, with longer
 * steps. */
static const double MOST_TREE_WORK = 5e8, MOST_RATE = 0.3;

static void grow_large(karma_i_forest_options *options, size_t n_rows, size_t n_outputs) {
    double affordable = MOST_TREE_WORK / ((double)n_rows * (double)n_outputs);
    options->n_trees = (size_t)fmax(50.0, fmin(300.0, affordable));
    options->rate = fmin(MOST_RATE, fmax(options->rate, options->rate * 150.0 / (double)options->n_trees));
    options->held_out_share = 0.1;
    options->rules.most_leaves = 31;
    options->rules.most_depth = KARMA_I_MOST_DEPTH;
    options->rules.split.least_rows = 20;
    options->row_share = n_rows <= MOST_WHOLE_ROWS ? 1.0 : 0.5;
}

static karma_i_forest_options options_of(const karma_fit_options *fit, karma_i_forest_growth growth,
                                         size_t n_attributes, size_t n_rows, size_t n_outputs) {
    karma_i_forest_options options;
    karma_i_forest_options_init(&options, growth, n_attributes);
    if (growth == KARMA_I_FOREST_BOOSTED && n_rows > MOST_FEW_ROWS) grow_large(&options, n_rows, n_outputs);
    if (fit->trees != (int64_t)KARMA_AUTO) {
        options.n_trees = (size_t)fit->trees;
        options.held_out_share = 0.0; /* as many as were asked for */
    }
    if (fit->leaves != (int64_t)KARMA_AUTO) {
        options.rules.most_leaves = (size_t)fit->leaves;
        options.rules.most_depth = KARMA_I_MOST_DEPTH;
    }
    options.seed = (uint64_t)fit->seed;
    options.threads = karma_i_threads(fit->threads);
    return options;
}

static karma_status grow(karma_i_recipe *recipe, karma_i_forest_growth growth, const karma_i_task *task,
                         const karma_i_outputs *outputs, const karma_table *table, const karma_hooks *hooks,
                         karma_error *err) {
    size_t K = task->n_outputs;
    karma_i_rows *rows = NULL;
    karma_i_forest_options options =
        options_of(&task->options, growth, recipe->n_attributes, karma_i_table_n_all(table), K);
    karma_i_forest_loss *losses = karma_i_alloc(K, sizeof *losses);
    if (!losses) return karma_i_fail_memory(err);
    for (size_t k = 0; k < K; k++) losses[k] = loss_of(&outputs->losses[k]);
    karma_i_forest_labels labels = {K, outputs->targets, outputs->weights, losses, karma_i_table_split(table)};
    karma_status st = karma_i_recipe_encode(&rows, NULL, recipe, table, NULL, err);
    if (st == KARMA_OK)
        st = karma_i_leaves_learn(&recipe->forest, rows, recipe->columns, &labels, &options, hooks, err);
    karma_i_rows_free(rows);
    karma_i_free(losses);
    return st;
}

karma_status karma_i_grow_boosted(karma_i_recipe *recipe, const karma_i_task *task, const karma_i_outputs *outputs,
                                  const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    return grow(recipe, KARMA_I_FOREST_BOOSTED, task, outputs, table, hooks, err);
}

karma_status karma_i_grow_bagged(karma_i_recipe *recipe, const karma_i_task *task, const karma_i_outputs *outputs,
                                 const karma_table *table, const karma_hooks *hooks, karma_error *err) {
    return grow(recipe, KARMA_I_FOREST_BAGGED, task, outputs, table, hooks, err);
}
