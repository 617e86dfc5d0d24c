/* Bagging with random columns for each split (Breiman 2001). */
#include "base/error.h"
#include "base/mem.h"
#include "forest/forest_learner.h"

#include <string.h>

/* The state for growing one tree; one per thread. */
typedef struct worker {
    karma_i_grower *grower;
    karma_i_row_sums sums;
    uint32_t *times; /* by row: how often it was drawn */
    uint32_t *rows, *columns;
    double *values; /* by node and output */
} worker;

typedef struct bagger {
    karma_i_forest_learner *learner;
    double *gradient; /* output by output: minus the residual of a constant, times the row's weight */
    size_t n_workers;
    worker *workers;
} bagger;

static void clear_bagger(bagger *b) {
    for (size_t w = 0; b->workers && w < b->n_workers; w++) {
        karma_i_grower_free(b->workers[w].grower);
        karma_i_row_sums_clear(&b->workers[w].sums);
        karma_i_free(b->workers[w].times);
        karma_i_free(b->workers[w].rows);
        karma_i_free(b->workers[w].columns);
        karma_i_free(b->workers[w].values);
    }
    karma_i_free(b->workers);
    karma_i_free(b->gradient);
}

static karma_status init_worker(worker *w, const karma_i_forest_learner *l, karma_error *err) {
    const karma_i_forest_options *o = l->options;
    size_t n = l->bins.n_rows, leaves = o->rules.most_leaves < n ? o->rules.most_leaves : n;
    size_t tree_outputs = l->n_outputs < o->tree_outputs ? l->n_outputs : o->tree_outputs;
    KARMA_TRY(karma_i_row_sums_init(&w->sums, n, tree_outputs, err));
    KARMA_TRY(karma_i_grower_new(&w->grower, &l->bins, &o->rules, 2 * tree_outputs, 1, err));
    w->times = karma_i_alloc(n, sizeof *w->times);
    w->rows = karma_i_alloc(l->n_rows, sizeof *w->rows);
    w->columns = karma_i_alloc(l->n_columns, sizeof *w->columns);
    w->values = karma_i_alloc(2 * leaves, l->n_outputs * sizeof *w->values);
    return w->times && w->rows && w->columns && w->values ? KARMA_OK : karma_i_fail_memory(err);
}

/* The mean of an output's targets, in its units; 0 if they were standardised. */
static double mean_target(const karma_i_forest_output *o, size_t n) {
    double sum = 0.0, total = 0.0;
    for (size_t i = 0; i < n; i++) sum += o->weight[i] * o->y[i], total += o->weight[i];
    return total > 0.0 ? sum / total : 0.0;
}

static karma_status init_bagger(bagger *b, karma_i_forest_learner *l, karma_error *err) {
    size_t n = l->bins.n_rows, K = l->n_outputs, threads = (size_t)l->options->threads;
    *b = (bagger){.learner = l, .n_workers = threads < l->options->n_trees ? threads : l->options->n_trees};
    b->workers = karma_i_zalloc(b->n_workers, sizeof *b->workers);
    b->gradient = karma_i_alloc(n, K * sizeof *b->gradient);
    if (!b->workers || !b->gradient) return karma_i_fail_memory(err);
    for (size_t w = 0; w < b->n_workers; w++) KARMA_TRY(init_worker(&b->workers[w], l, err));
    for (size_t k = 0; k < K; k++) {
        const karma_i_forest_output *output = &l->outputs[k];
        double mean = mean_target(output, n);
        for (size_t i = 0; i < n; i++) b->gradient[k * n + i] = output->weight[i] * (mean - output->y[i]);
        l->forest->base[k] = output->centre + output->scale * mean;
    }
    return KARMA_OK;
}

/* Draws rows with replacement; returns the number of distinct ones. */
static size_t draw_bootstrap(worker *w, const karma_i_forest_learner *l, karma_i_rng *rng) {
    size_t n_draws = karma_i_share_of(l->n_rows, l->options->row_share), n = 0;
    memset(w->times, 0, l->bins.n_rows * sizeof *w->times);
    for (size_t i = 0; i < n_draws; i++) w->times[l->rows[karma_i_rng_below(rng, l->n_rows)]]++;
    for (size_t i = 0; i < l->n_rows; i++)
        if (w->times[l->rows[i]] > 0) w->rows[n++] = l->rows[i];
    return n;
}

static void fill_sums(worker *w, const bagger *b, size_t n_rows, karma_i_rng *rng) {
    const karma_i_forest_learner *l = b->learner;
    uint32_t outputs[KARMA_I_MOST_TREE_OUTPUTS];
    size_t n = l->bins.n_rows, count = karma_i_draw_outputs(outputs, l, rng);
    karma_i_row_sums_shape(&w->sums, count, l->has_equal_weights ? 1 : count);
    for (size_t d = 0; d < count; d++)
        karma_i_row_sums_set_gradient(&w->sums, d, b->gradient + outputs[d] * n, w->rows, n_rows, w->times,
                                      karma_i_largest_size(b->gradient + outputs[d] * n, w->rows, n_rows, w->times));
    for (size_t d = 0; d < w->sums.n_hessians; d++)
        karma_i_row_sums_set_hessian(&w->sums, d, l->outputs[outputs[d]].weight, w->rows, n_rows, w->times,
                                     karma_i_largest_size(l->outputs[outputs[d]].weight, w->rows, n_rows, w->times));
}

/* The mean of the targets of a leaf's rows minus that of all rows, divided by the number of trees. */
static void fill_values(worker *w, const bagger *b) {
    const karma_i_forest_learner *l = b->learner;
    const karma_i_grown_node *nodes = karma_i_grown_nodes(w->grower);
    size_t n = l->bins.n_rows, n_nodes = karma_i_grown_n_nodes(w->grower), K = l->n_outputs;
    for (size_t i = 0; i < n_nodes; i++) {
        const uint32_t *rows = karma_i_grown_rows(w->grower) + nodes[i].first;
        for (size_t k = 0; k < K; k++) {
            double G = 0.0, H = l->options->rules.split.l2;
            for (size_t r = 0; nodes[i].left == KARMA_I_NO_CHILD && r < nodes[i].count; r++) {
                G += (double)w->times[rows[r]] * b->gradient[k * n + rows[r]];
                H += (double)w->times[rows[r]] * l->outputs[k].weight[rows[r]];
            }
            w->values[i * K + k] = H > 0.0 ? -G / H * l->outputs[k].scale / (double)l->options->n_trees : 0.0;
        }
    }
}

static void grow(worker *w, const bagger *b, size_t tree) {
    const karma_i_forest_learner *l = b->learner;
    karma_i_rng rng = karma_i_tree_rng(l, tree);
    size_t n_columns = karma_i_share_of(l->n_columns, l->options->column_share);
    size_t n_rows = draw_bootstrap(w, l, &rng);
    karma_i_draw(w->columns, n_columns, l->columns, l->n_columns, &rng);
    fill_sums(w, b, n_rows, &rng);
    karma_i_grow_tree(w->grower, &w->sums, w->rows, n_rows, w->columns, n_columns, &rng);
    fill_values(w, b);
}

karma_status karma_i_forest_bag(karma_i_forest_learner *l, karma_error *err) {
    bagger b;
    size_t n_trees = l->options->n_trees;
    karma_status st = init_bagger(&b, l, err);
    for (size_t done = 0; st == KARMA_OK && done < n_trees;) {
        size_t n = n_trees - done < b.n_workers ? n_trees - done : b.n_workers;
#pragma omp parallel for num_threads((int)n) schedule(static, 1)
        for (size_t w = 0; w < n; w++) grow(&b.workers[w], &b, done + w);
        for (size_t w = 0; st == KARMA_OK && w < n; w++)
            st = karma_i_forest_append(l->forest, b.workers[w].grower, b.workers[w].values, err);
        done += n;
        if (st == KARMA_OK && karma_i_progress(l->hooks, "growing trees", done, n_trees))
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted while trees were grown");
    }
    clear_bagger(&b);
    return st;
}
