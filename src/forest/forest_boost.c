/* Gradient boosting (Friedman 2001, 2002; with second derivatives as in XGBoost, Chen and Guestrin 2016). */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "forest/forest_learner.h"

/* Rows of one piece of work for a thread; rows from which one piece of a sample is drawn. */
enum { ROWS = 4096, DRAWN_ROWS = 32768 };

typedef struct booster {
    karma_i_forest_learner *learner;
    karma_i_grower *grower;
    karma_i_row_sums sums;
    double *scores, *gradient, *hessian; /* output by output, all rows */
    uint32_t *rows, *columns;            /* of the tree */
    size_t n_rows, n_columns;
    size_t first_output, n_outputs; /* that the tree has values for */
    double *values;                 /* by node and output */
    double *room;                   /* two numbers per row */
    uint32_t *learned, *held_out;   /* the labelled rows: for trees, and for choosing their number */
    size_t n_learned, n_held_out;
    double *piece_loss; /* of ROWS held-out rows each */
    size_t round;       /* trees after which every output has one more */
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
    karma_i_free(b->room);
    karma_i_free(b->learned);
    karma_i_free(b->held_out);
    karma_i_free(b->piece_loss);
}

/* Deals the labelled rows. */
static void hold_out(booster *b) {
    const karma_i_forest_learner *l = b->learner;
    karma_i_rng rng;
    karma_i_rng_init(&rng, l->options->seed);
    b->n_held_out = (size_t)(l->options->held_out_share * (double)l->n_rows);
    karma_i_draw(b->held_out, b->n_held_out, l->rows, l->n_rows, &rng);
    for (size_t i = 0, h = 0; i < l->n_rows; i++) {
        if (h < b->n_held_out && b->held_out[h] == l->rows[i])
            h++;
        else
            b->learned[b->n_learned++] = l->rows[i];
    }
}

/* Pieces are summed in order, so that the sum does not depend on the number of threads. */
static double held_out_loss(const booster *b) {
    const karma_i_forest_learner *l = b->learner;
    size_t n = l->bins.n_rows, pieces = (b->n_held_out + ROWS - 1) / ROWS;
    double sum = 0.0;
#pragma omp parallel for num_threads(l->options->threads) if (pieces > 1) schedule(dynamic)
    for (size_t p = 0; p < pieces; p++) {
        size_t first = p * ROWS, count = b->n_held_out - first < ROWS ? b->n_held_out - first : ROWS;
        b->piece_loss[p] = 0.0;
        for (size_t k = 0; k < l->n_outputs; k++)
            b->piece_loss[p] += karma_i_forest_loss_sum(&l->outputs[k], b->scores + k * n, b->held_out + first, count);
    }
    for (size_t p = 0; p < pieces; p++) sum += b->piece_loss[p];
    return sum;
}

static karma_status init_booster(booster *b, karma_i_forest_learner *l, karma_error *err) {
    const karma_i_forest_options *o = l->options;
    size_t n = l->bins.n_rows, K = l->n_outputs, leaves = o->rules.most_leaves < n ? o->rules.most_leaves : n;
    size_t tree_outputs = !o->shares_trees ? 1 : K < o->tree_outputs ? K : o->tree_outputs;
    *b = (booster){.learner = l, .round = o->shares_trees ? 1 : K};
    KARMA_TRY(karma_i_row_sums_init(&b->sums, n, tree_outputs, err));
    KARMA_TRY(karma_i_grower_new(&b->grower, &l->bins, &o->rules, 2 * tree_outputs, o->threads, err));
    b->scores = karma_i_alloc(n, K * sizeof *b->scores);
    b->gradient = karma_i_alloc(n, K * sizeof *b->gradient);
    b->hessian = karma_i_alloc(n, K * sizeof *b->hessian);
    b->rows = karma_i_alloc(l->n_rows, sizeof *b->rows);
    b->columns = karma_i_alloc(l->n_columns, sizeof *b->columns);
    b->values = karma_i_alloc(2 * leaves, l->forest->values_per_leaf * sizeof *b->values);
    b->room = karma_i_alloc(n, 2 * sizeof *b->room);
    b->learned = karma_i_alloc(l->n_rows, sizeof *b->learned);
    b->held_out = karma_i_alloc(l->n_rows, sizeof *b->held_out);
    b->piece_loss = karma_i_alloc(l->n_rows / ROWS + 1, sizeof *b->piece_loss);
    if (!b->learned || !b->held_out || !b->piece_loss) return karma_i_fail_memory(err);
    hold_out(b);
    if (!b->scores || !b->gradient || !b->hessian || !b->rows || !b->columns || !b->values || !b->room)
        return karma_i_fail_memory(err);
    for (size_t k = 0; k < K; k++) {
        const karma_i_forest_output *output = &l->outputs[k];
        for (size_t i = 0; i < n; i++) b->scores[k * n + i] = output->base;
        l->forest->base[k] = output->centre + output->scale * output->base;
    }
    return KARMA_OK;
}

/* Draws the tree's rows. Very many rows are drawn piece by piece, each piece with its own random numbers. */
static void draw_rows(booster *b, karma_i_rng *rng) {
    const karma_i_forest_options *o = b->learner->options;
    size_t pieces = b->n_learned / DRAWN_ROWS;
    uint64_t seed = pieces > 1 ? karma_i_rng_next(rng) : 0;
    b->n_rows = karma_i_share_of(b->n_learned, o->row_share);
    if (pieces <= 1 || b->n_rows == b->n_learned) {
        karma_i_draw(b->rows, b->n_rows, b->learned, b->n_learned, rng);
        return;
    }
#pragma omp parallel for num_threads(o->threads) schedule(dynamic)
    for (size_t p = 0; p < pieces; p++) {
        size_t first = p * b->n_learned / pieces, end = (p + 1) * b->n_learned / pieces;
        size_t drawn = p * b->n_rows / pieces, drawn_end = (p + 1) * b->n_rows / pieces;
        karma_i_rng own;
        karma_i_rng_init(&own, seed + p);
        karma_i_draw(b->rows + drawn, drawn_end - drawn, b->learned + first, end - first, &own);
    }
}

/* Gradients and hessians of the tree's outputs at the scores, for its rows. */
static void derive(booster *b) {
    size_t n = b->learner->bins.n_rows, pieces = (b->n_rows + ROWS - 1) / ROWS;
#pragma omp parallel for num_threads(b->learner->options->threads) if (pieces * b->n_outputs > 2) collapse(2)
    for (size_t k = b->first_output; k < b->first_output + b->n_outputs; k++)
        for (size_t p = 0; p < pieces; p++) {
            size_t first = p * ROWS, count = b->n_rows - first < ROWS ? b->n_rows - first : ROWS;
            karma_i_forest_gradients(b->gradient + k * n, b->hessian + k * n, &b->learner->outputs[k],
                                     b->scores + k * n, b->rows + first, count);
        }
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
        karma_i_row_sums_set_gradient(&b->sums, d, b->gradient + outputs[d] * n, b->rows, b->n_rows, NULL);
    for (size_t d = 0; d < b->sums.n_hessians; d++)
        karma_i_row_sums_set_hessian(&b->sums, d, b->hessian + outputs[d] * n, b->rows, b->n_rows, NULL);
}

/* Values of the leaves, in the units of the scores. */
static void fill_values(booster *b) {
    const karma_i_forest_learner *l = b->learner;
    const karma_i_grown_node *nodes = karma_i_grown_nodes(b->grower);
    const uint32_t *rows = karma_i_grown_rows(b->grower);
    size_t n = l->bins.n_rows, n_nodes = karma_i_grown_n_nodes(b->grower), K = b->n_outputs;
#pragma omp parallel for num_threads(l->options->threads) if (b->n_rows * K > 2 * ROWS) schedule(dynamic)
    for (size_t i = 0; i < n_nodes; i++) {
        if (nodes[i].left != KARMA_I_NO_CHILD) continue;
        for (size_t d = 0; d < K; d++) {
            size_t k = b->first_output + d, first = nodes[i].first;
            b->values[i * K + d] =
                l->options->rate * karma_i_forest_step(&l->outputs[k], b->scores + k * n, b->gradient + k * n,
                                                       b->hessian + k * n, rows + first, nodes[i].count, NULL,
                                                       l->options->rules.split.l2, b->room + 2 * first);
        }
    }
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
    derive(b);
    fill_sums(b, &rng);
    karma_i_grow_tree(b->grower, &b->sums, b->rows, b->n_rows, b->columns, b->n_columns, &rng);
    memset(b->values, 0, karma_i_grown_n_nodes(b->grower) * b->n_outputs * sizeof *b->values);
    fill_values(b);
    update_scores(b);
    rescale_values(b);
    return karma_i_forest_append(l->forest, b->grower, b->values, err);
}

karma_status karma_i_forest_boost(karma_i_forest_learner *l, karma_error *err) {
    booster b;
    karma_status st = init_booster(&b, l, err);
    size_t best = 0;
    double least = INFINITY;
    int asked = 0;
    for (size_t t = 0; st == KARMA_OK && t < l->options->n_trees; t++) {
        st = add_tree(&b, t, err);
        if (st == KARMA_OK) asked = karma_i_progress_or_enough(l->hooks, "growing trees", t + 1, l->options->n_trees);
        if (asked && asked != KARMA_I_ENOUGH)
            st = karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted while trees were grown");
        double loss = b.n_held_out && (t + 1) % b.round == 0 ? held_out_loss(&b) : INFINITY;
        if (loss < least) least = loss, best = t + 1;
        if (b.n_held_out && t + 1 >= best + b.round * l->options->patience) break;
        if (asked == KARMA_I_ENOUGH && (t + 1) % b.round == 0) {
            karma_i_notice(l->hooks, "the time limit ended the growing of trees after %zu of %zu", t + 1,
                           l->options->n_trees);
            break;
        }
    }
    if (st == KARMA_OK && b.n_held_out) karma_i_forest_keep(l->forest, best > 0 ? best : 1);
    clear_booster(&b);
    return st;
}
