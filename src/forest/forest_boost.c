/* Gradient boosting (Friedman 2001, 2002; with second derivatives as in XGBoost, Chen and Guestrin 2016). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "forest/forest_learner.h"

/* Rows of one piece of work for a thread; rows from which one piece of a sample is drawn. */
enum { ROWS = 4096, DRAWN_ROWS = 32768 };

/* Rows, among which are those of this process. */
typedef struct row_list {
    uint32_t *rows; /* of this process */
    size_t n, n_before, n_of_all;
} row_list;

/* Lists have the rows of this process. If there are several, they call everything in this file together. */
typedef struct booster {
    karma_i_forest_learner *learner;
    karma_i_partition split;
    karma_i_grower *grower;
    karma_i_row_sums sums;
    double *scores, *gradient, *hessian; /* output by output, all rows */
    uint32_t *rows, *columns;            /* of the tree */
    size_t n_rows, n_columns;
    size_t first_output, n_outputs; /* that the tree has values for */
    double *values;                 /* by node and output */
    row_list learned, held_out;     /* the labelled rows: for trees, and for choosing their number */
    size_t *first_held_out;         /* by granule: the first of its held-out rows; and the end of the last */
    double *granule_loss;           /* of its held-out rows */
    size_t *n_drawn;                /* by piece of rows to draw from */
    karma_i_forest_sizes *sizes;    /* by output: of the tree's gradients */
    karma_i_forest_sums *leaf_sums; /* by node and output of the tree */
    size_t round;                   /* trees after which every output has one more */
} booster;

static void clear_booster(booster *b) {
    karma_i_grower_free(b->grower);
    karma_i_row_sums_clear(&b->sums);
    karma_i_free(b->scores);
    karma_i_free(b->gradient);
    karma_i_free(b->hessian);
    karma_i_free(b->rows);
    karma_i_free(b->columns);
    karma_i_free(b->values);
    karma_i_free(b->learned.rows);
    karma_i_free(b->held_out.rows);
    karma_i_free(b->first_held_out);
    karma_i_free(b->granule_loss);
    karma_i_free(b->n_drawn);
    karma_i_free(b->sizes);
    karma_i_free(b->leaf_sums);
}

static karma_status count_rows(row_list *list, const karma_ranks *ranks, karma_error *err) {
    return karma_i_count_before(&list->n_before, &list->n_of_all, list->n, ranks, err);
}

/* Deals the labelled rows. */
static karma_status hold_out(booster *b, karma_error *err) {
    const karma_i_forest_learner *l = b->learner;
    size_t count = (size_t)(l->options->held_out_share * (double)l->n_rows_of_all), granule, h = 0;
    karma_i_rng rng;
    karma_i_rng_init(&rng, l->options->seed);
    b->held_out.n = karma_i_draw_part(b->held_out.rows, count, l->rows, l->n_rows_of_all, l->n_rows_before,
                                      l->n_rows_before + l->n_rows, &rng);
    for (size_t i = 0; i < l->n_rows; i++) {
        if (h < b->held_out.n && b->held_out.rows[h] == l->rows[i])
            h++;
        else
            b->learned.rows[b->learned.n++] = l->rows[i];
    }
    granule = karma_i_partition_granule_rows(&b->split);
    for (size_t g = 0, i = 0; g <= karma_i_partition_n_granules(&b->split); g++) {
        while (i < b->held_out.n && b->held_out.rows[i] < g * granule) i++;
        b->first_held_out[g] = i;
    }
    KARMA_TRY(count_rows(&b->learned, b->split.ranks, err));
    return count_rows(&b->held_out, b->split.ranks, err);
}

static void add_granule_losses(double *sum, const void *payload, size_t first, size_t end) {
    const booster *b = payload;
    (void)end;
    *sum += b->granule_loss[first / karma_i_partition_granule_rows(&b->split)];
}

/* Granules are summed along their tree, so that the sum does not depend on the number of threads and processes. */
static karma_status held_out_loss(double *sum, const booster *b, karma_error *err) {
    const karma_i_forest_learner *l = b->learner;
    size_t n = l->bins.n_rows, n_granules = karma_i_partition_n_granules(&b->split);
#pragma omp parallel for num_threads(l->options->threads) if (n_granules > 1) schedule(dynamic, 16)
    for (size_t g = 0; g < n_granules; g++) {
        size_t first = b->first_held_out[g], count = b->first_held_out[g + 1] - first;
        b->granule_loss[g] = 0.0;
        for (size_t k = 0; k < l->n_outputs; k++)
            b->granule_loss[g] +=
                karma_i_forest_loss_sum(&l->outputs[k], b->scores + k * n, b->held_out.rows + first, count);
    }
    *sum = 0.0;
    return karma_i_partition_sum(sum, 1, &b->split, add_granule_losses, b, err);
}

static karma_status init_booster(booster *b, karma_i_forest_learner *l, karma_error *err) {
    const karma_i_forest_options *o = l->options;
    size_t n = l->bins.n_rows, K = l->n_outputs, all = l->bins.split.n_rows, width = l->forest->values_per_leaf;
    size_t nodes = 2 * (o->rules.most_leaves < all ? o->rules.most_leaves : all);
    size_t tree_outputs = !o->shares_trees ? 1 : K < o->tree_outputs ? K : o->tree_outputs;
    *b = (booster){.learner = l, .split = l->bins.split, .round = o->shares_trees ? 1 : K};
    size_t n_granules = karma_i_partition_n_granules(&b->split);
    KARMA_TRY(karma_i_row_sums_init_split(&b->sums, &b->split, tree_outputs, err));
    KARMA_TRY(karma_i_grower_new(&b->grower, &l->bins, &o->rules, 2 * tree_outputs, o->threads, err));
    b->scores = karma_i_alloc(n, K * sizeof *b->scores);
    b->gradient = karma_i_alloc(n, K * sizeof *b->gradient);
    b->hessian = karma_i_alloc(n, K * sizeof *b->hessian);
    b->rows = karma_i_alloc(l->n_rows, sizeof *b->rows);
    b->columns = karma_i_alloc(l->n_columns, sizeof *b->columns);
    b->values = karma_i_alloc(nodes, width * sizeof *b->values);
    b->leaf_sums = karma_i_alloc(nodes, width * sizeof *b->leaf_sums);
    b->sizes = karma_i_alloc(K, sizeof *b->sizes);
    b->learned.rows = karma_i_alloc(l->n_rows, sizeof *b->learned.rows);
    b->held_out.rows = karma_i_alloc(l->n_rows, sizeof *b->held_out.rows);
    b->n_drawn = karma_i_alloc(l->n_rows_of_all / DRAWN_ROWS + 1, sizeof *b->n_drawn);
    b->first_held_out = karma_i_alloc(n_granules + 1, sizeof *b->first_held_out);
    b->granule_loss = karma_i_alloc(n_granules, sizeof *b->granule_loss);
    if (!b->scores || !b->gradient || !b->hessian || !b->rows || !b->columns || !b->values || !b->leaf_sums ||
        !b->sizes || !b->learned.rows || !b->held_out.rows || !b->n_drawn || !b->first_held_out || !b->granule_loss)
        return karma_i_fail_memory(err);
    KARMA_TRY(hold_out(b, err));
    for (size_t k = 0; k < K; k++) {
        const karma_i_forest_output *output = &l->outputs[k];
        for (size_t i = 0; i < n; i++) b->scores[k * n + i] = output->base;
        l->forest->base[k] = output->centre + output->scale * output->base;
    }
    return KARMA_OK;
}

/* One of the pieces that rows are drawn from. */
static size_t draw_piece(booster *b, size_t piece, size_t n_pieces, size_t n_wanted, karma_i_rng *rng) {
    const row_list *from = &b->learned;
    size_t first = piece * from->n_of_all / n_pieces, end = (piece + 1) * from->n_of_all / n_pieces;
    size_t wanted = (piece + 1) * n_wanted / n_pieces - piece * n_wanted / n_pieces;
    size_t low = from->n_before > first ? from->n_before : first;
    size_t high = from->n_before + from->n < end ? from->n_before + from->n : end;
    if (low >= high) return 0;
    return karma_i_draw_part(b->rows + (low - from->n_before), wanted, from->rows + (low - from->n_before), end - first,
                             low - first, high - first, rng);
}

/* Draws the tree's rows. Very many rows are drawn piece by piece, each piece with its own random numbers, so that
 * threads and processes need not draw those of others. */
static void draw_rows(booster *b, karma_i_rng *rng) {
    const karma_i_forest_options *o = b->learner->options;
    const row_list *from = &b->learned;
    size_t n = from->n_of_all, pieces = n / DRAWN_ROWS, n_wanted = karma_i_share_of(n, o->row_share);
    uint64_t seed = pieces > 1 ? karma_i_rng_next(rng) : 0;
    b->n_rows = 0;
    if (pieces <= 1 || n_wanted == n) {
        b->n_rows = karma_i_draw_part(b->rows, n_wanted, from->rows, n, from->n_before, from->n_before + from->n, rng);
        return;
    }
#pragma omp parallel for num_threads(o->threads) schedule(dynamic)
    for (size_t p = 0; p < pieces; p++) {
        karma_i_rng own;
        karma_i_rng_init(&own, seed + p);
        b->n_drawn[p] = draw_piece(b, p, pieces, n_wanted, &own);
    }
    for (size_t p = 0; p < pieces; p++) { /* they lie where their pieces start */
        size_t first = p * n / pieces, start = first > from->n_before ? first - from->n_before : 0;
        if (b->n_drawn[p] == 0) continue; /* they may be those of other processes */
        memmove(b->rows + b->n_rows, b->rows + start, b->n_drawn[p] * sizeof *b->rows);
        b->n_rows += b->n_drawn[p];
    }
}

/* Gradients and hessians of the tree's outputs at the scores, for its rows. */
static karma_status derive(booster *b, karma_error *err) {
    size_t n = b->learner->bins.n_rows, pieces = (b->n_rows + ROWS - 1) / ROWS;
#pragma omp parallel for num_threads(b->learner->options->threads) if (pieces * b->n_outputs > 2) collapse(2)
    for (size_t k = b->first_output; k < b->first_output + b->n_outputs; k++)
        for (size_t p = 0; p < pieces; p++) {
            size_t first = p * ROWS, count = b->n_rows - first < ROWS ? b->n_rows - first : ROWS;
            karma_i_forest_gradients(b->gradient + k * n, b->hessian + k * n, &b->learner->outputs[k],
                                     b->scores + k * n, b->rows + first, count);
        }
    double *largest = karma_i_alloc(b->n_outputs, 2 * sizeof *largest);
    if (!largest) return karma_i_fail_memory(err);
    for (size_t d = 0; d < b->n_outputs; d++) {
        size_t k = b->first_output + d;
        largest[2 * d] = karma_i_largest_size(b->gradient + k * n, b->rows, b->n_rows, NULL);
        largest[2 * d + 1] = karma_i_largest_size(b->hessian + k * n, b->rows, b->n_rows, NULL);
    }
    karma_status st = karma_i_ranks_largest(largest, 2 * b->n_outputs, b->split.ranks, err);
    for (size_t d = 0; st == KARMA_OK && d < b->n_outputs; d++)
        b->sizes[b->first_output + d] = (karma_i_forest_sizes){largest[2 * d], largest[2 * d + 1], b->split.n_rows};
    karma_i_free(largest);
    return st;
}

/* The sums of the outputs by which splits are chosen. */
static void fill_sums(booster *b, karma_i_rng *rng) {
    const karma_i_forest_learner *l = b->learner;
    uint32_t outputs[KARMA_I_MOST_TREE_OUTPUTS] = {(uint32_t)b->first_output};
    size_t n = l->bins.n_rows, count = b->n_outputs == 1 ? 1 : karma_i_draw_outputs(outputs, l, rng);
    int is_plain = l->has_equal_weights;
    for (size_t d = 0; d < count; d++) is_plain &= karma_i_forest_has_plain_hessian(&l->outputs[outputs[d]].loss);
    karma_i_row_sums_shape(&b->sums, count, is_plain ? 1 : count);
    for (size_t d = 0; d < count; d++)
        karma_i_row_sums_set_gradient(&b->sums, d, b->gradient + outputs[d] * n, b->rows, b->n_rows, NULL,
                                      b->sizes[outputs[d]].gradient);
    for (size_t d = 0; d < b->sums.n_hessians; d++)
        karma_i_row_sums_set_hessian(&b->sums, d, b->hessian + outputs[d] * n, b->rows, b->n_rows, NULL,
                                     b->sizes[outputs[d]].hessian);
}

/* Of the leaves of all processes. */
static void sum_leaves(booster *b) {
    const karma_i_forest_learner *l = b->learner;
    const karma_i_grown_node *nodes = karma_i_grown_nodes(b->grower);
    const uint32_t *rows = karma_i_grown_rows(b->grower);
    const karma_ranks *ranks = b->split.ranks;
    size_t n = l->bins.n_rows, n_nodes = karma_i_grown_n_nodes(b->grower), K = b->n_outputs;
    memset(b->leaf_sums, 0, n_nodes * K * sizeof *b->leaf_sums);
#pragma omp parallel for num_threads(l->options->threads) if (b->n_rows * K > 2 * ROWS) schedule(dynamic)
    for (size_t i = 0; i < n_nodes; i++)
        for (size_t d = 0; nodes[i].left == KARMA_I_NO_CHILD && d < K; d++) {
            size_t k = b->first_output + d;
            b->leaf_sums[i * K + d] = karma_i_forest_sum(b->gradient + k * n, b->hessian + k * n, rows + nodes[i].first,
                                                         nodes[i].count, &b->sizes[k]);
        }
    ranks->add(ranks->payload, (uint64_t *)(void *)b->leaf_sums,
               n_nodes * K * (sizeof *b->leaf_sums / sizeof(uint64_t)));
}

/* The residuals of the rows of each leaf, and of the rows of all processes after them; for the pinball loss. */
static karma_status find_residuals(karma_i_gathered *items, karma_i_gathered *counts, const booster *b, size_t output,
                                   karma_error *err) {
    const karma_i_forest_output *o = &b->learner->outputs[output];
    const karma_i_grown_node *nodes = karma_i_grown_nodes(b->grower);
    const uint32_t *rows = karma_i_grown_rows(b->grower);
    const double *scores = b->scores + output * b->learner->bins.n_rows;
    size_t n_nodes = karma_i_grown_n_nodes(b->grower), *own_counts = karma_i_alloc(n_nodes, sizeof *own_counts);
    karma_i_residual *own = karma_i_alloc(b->n_rows, sizeof *own);
    karma_status st = own && own_counts ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0, at = 0; st == KARMA_OK && i < n_nodes; i++) {
        own_counts[i] = nodes[i].left == KARMA_I_NO_CHILD ? nodes[i].count : 0;
        for (size_t r = 0; r < own_counts[i]; r++) {
            size_t row = rows[nodes[i].first + r];
            own[at++] = (karma_i_residual){o->y[row] - scores[row], o->weight[row]};
        }
    }
    if (st == KARMA_OK) st = karma_i_ranks_gather(items, own, b->n_rows * sizeof *own, b->split.ranks, err);
    if (st == KARMA_OK)
        st = karma_i_ranks_gather(counts, own_counts, n_nodes * sizeof *own_counts, b->split.ranks, err);
    karma_i_free(own);
    karma_i_free(own_counts);
    return st;
}

/* quantiles[node]: of the residuals of all processes. */
static karma_status find_quantiles(double *quantiles, const booster *b, size_t output, karma_error *err) {
    const karma_i_grown_node *nodes = karma_i_grown_nodes(b->grower);
    karma_i_gathered items = {0}, counts = {0};
    size_t n_nodes = karma_i_grown_n_nodes(b->grower), n_ranks = b->split.ranks->size, most = 0;
    size_t *next = karma_i_alloc(n_ranks, sizeof *next);
    for (size_t i = 0; i < n_nodes; i++)
        if (nodes[i].n_rows > most) most = nodes[i].n_rows;
    karma_i_residual *leaf = karma_i_alloc(most, sizeof *leaf);
    karma_status st = next && leaf ? find_residuals(&items, &counts, b, output, err) : karma_i_fail_memory(err);
    for (size_t k = 0; st == KARMA_OK && k < n_ranks; k++) next[k] = items.start[k] / sizeof *leaf;
    for (size_t i = 0; st == KARMA_OK && i < n_nodes; i++) {
        size_t n = 0;
        if (nodes[i].left != KARMA_I_NO_CHILD) continue;
        for (size_t k = 0; k < n_ranks; k++) {
            size_t count = ((const size_t *)(const void *)counts.bytes)[k * n_nodes + i];
            memcpy(leaf + n, (const karma_i_residual *)(const void *)items.bytes + next[k], count * sizeof *leaf);
            next[k] += count;
            n += count;
        }
        quantiles[i] = karma_i_residual_quantile(leaf, n, b->learner->outputs[output].loss.parameter);
    }
    karma_i_gathered_clear(&items);
    karma_i_gathered_clear(&counts);
    karma_i_free(next);
    karma_i_free(leaf);
    return st;
}

/* Values of the leaves, in the units of the scores. */
static karma_status fill_values(booster *b, karma_error *err) {
    const karma_i_forest_learner *l = b->learner;
    const karma_i_grown_node *nodes = karma_i_grown_nodes(b->grower);
    size_t n_nodes = karma_i_grown_n_nodes(b->grower), K = b->n_outputs;
    double *quantiles = karma_i_alloc(n_nodes, sizeof *quantiles);
    karma_status st = quantiles ? KARMA_OK : karma_i_fail_memory(err);
    memset(b->values, 0, n_nodes * K * sizeof *b->values);
    if (st == KARMA_OK) sum_leaves(b);
    for (size_t d = 0; st == KARMA_OK && d < K; d++) {
        size_t k = b->first_output + d;
        int is_pinball = l->outputs[k].loss.kind == KARMA_I_FOREST_PINBALL;
        if (is_pinball) st = find_quantiles(quantiles, b, k, err);
        for (size_t i = 0; st == KARMA_OK && i < n_nodes; i++) {
            if (nodes[i].left != KARMA_I_NO_CHILD) continue;
            double step = is_pinball
                              ? quantiles[i]
                              : karma_i_forest_step(&b->leaf_sums[i * K + d], &b->sizes[k], l->options->rules.split.l2);
            b->values[i * K + d] = l->options->rate * step;
        }
    }
    karma_i_free(quantiles);
    return st;
}

static void update_scores(booster *b) {
    size_t n = b->learner->bins.n_rows, K = b->n_outputs, pieces = (n + KARMA_I_LEAF_BLOCK - 1) / KARMA_I_LEAF_BLOCK;
#pragma omp parallel for num_threads(b->learner->options->threads) if (n > 2 * ROWS) schedule(static)
    for (size_t p = 0; p < pieces; p++) {
        uint32_t leaf[KARMA_I_LEAF_BLOCK];
        size_t first = p * KARMA_I_LEAF_BLOCK, count = n - first < KARMA_I_LEAF_BLOCK ? n - first : KARMA_I_LEAF_BLOCK;
        karma_i_grown_leaves(leaf, b->grower, first, count);
        for (size_t d = 0; d < K; d++) {
            double *scores = b->scores + (b->first_output + d) * n + first;
            for (size_t i = 0; i < count; i++) scores[i] += b->values[leaf[i] * K + d];
        }
    }
}

/* Converts from the units of the scores to those of the targets. */
static void rescale_values(booster *b) {
    size_t n_nodes = karma_i_grown_n_nodes(b->grower), K = b->n_outputs;
    for (size_t i = 0; i < n_nodes; i++)
        for (size_t d = 0; d < K; d++) b->values[i * K + d] *= b->learner->outputs[b->first_output + d].scale;
}

static karma_status add_tree(booster *b, size_t tree, karma_error *err) {
    const karma_i_forest_learner *l = b->learner;
    const karma_i_forest_options *o = l->options;
    karma_i_rng rng = karma_i_tree_rng(l, tree);
    b->first_output = o->shares_trees ? 0 : tree % l->n_outputs;
    b->n_outputs = o->shares_trees ? l->n_outputs : 1;
    b->n_columns = karma_i_share_of(l->n_columns, o->column_share);
    draw_rows(b, &rng);
    karma_i_draw(b->columns, b->n_columns, l->columns, l->n_columns, &rng);
    KARMA_TRY(derive(b, err));
    fill_sums(b, &rng);
    karma_i_grow_tree(b->grower, &b->sums, b->rows, b->n_rows, b->columns, b->n_columns, &rng);
    KARMA_TRY(fill_values(b, err));
    update_scores(b);
    rescale_values(b);
    return karma_i_forest_append(l->forest, b->grower, b->values, err);
}

/* What the hooks want, in all processes. */
static karma_status ask_hooks(int *wanted, const booster *b, size_t n_grown, karma_error *err) {
    const karma_i_forest_learner *l = b->learner;
    *wanted = karma_i_progress_or_enough(l->hooks, "growing trees", n_grown, l->options->n_trees);
    KARMA_TRY(karma_i_ranks_broadcast(wanted, sizeof *wanted, b->split.ranks, err));
    if (*wanted && *wanted != KARMA_I_ENOUGH)
        return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted while trees were grown");
    return KARMA_OK;
}

static karma_status grow_trees(booster *b, karma_error *err) {
    const karma_i_forest_learner *l = b->learner;
    size_t best = 0, n_trees = l->options->n_trees, n_held_out = b->held_out.n_of_all;
    double least = INFINITY;
    for (size_t t = 0; t < n_trees; t++) {
        int asked;
        double loss = INFINITY;
        KARMA_TRY(add_tree(b, t, err));
        KARMA_TRY(ask_hooks(&asked, b, t + 1, err));
        if (n_held_out && (t + 1) % b->round == 0) KARMA_TRY(held_out_loss(&loss, b, err));
        if (loss < least) least = loss, best = t + 1;
        if (n_held_out && t + 1 >= best + b->round * l->options->patience) break;
        if (asked == KARMA_I_ENOUGH && (t + 1) % b->round == 0) {
            karma_i_notice(l->hooks, "the time limit ended the growing of trees after %zu of %zu", t + 1, n_trees);
            break;
        }
    }
    if (n_held_out) karma_i_forest_keep(l->forest, best > 0 ? best : 1);
    return KARMA_OK;
}

karma_status karma_i_forest_boost(karma_i_forest_learner *l, karma_error *err) {
    booster b;
    karma_status st = init_booster(&b, l, err);
    if (st == KARMA_OK) st = grow_trees(&b, err);
    clear_booster(&b);
    return st;
}
