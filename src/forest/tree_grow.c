#include "forest/tree_grow.h"

#include <omp.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "forest/histogram.h"

/* Bytes of the histograms that a grower keeps for the children of their nodes. */
static const size_t MOST_KEPT = (size_t)64 << 20;
/* With fewer cells than this, starting other threads does not pay. */
static const size_t LEAST_SHARED_CELLS = 1 << 16;

enum { BLOCK = KARMA_I_HISTOGRAM_COLUMNS };

struct karma_i_grower {
    const karma_i_bins *bins;
    const karma_i_tree_rules *rules;
    const karma_ranks *ranks; /* that have the rows together */
    size_t most_words;
    int threads;
    /* the tree */
    const karma_i_row_sums *sums;
    karma_i_grown_node *nodes;
    size_t n_nodes, n_leaves;
    uint64_t *node_words;       /* by node: the sums of its rows */
    uint64_t **node_histograms; /* by node, for nodes that are still to be split; NULL: not kept */
    uint32_t *rows, *moved;     /* the rows by node; room for one side of a split */
    uint64_t *in_order;         /* words of the rows being examined; only for one gradient and one hessian */
    uint32_t *heap;             /* leaves that can be split, the one with the largest gain first */
    size_t n_heap;
    /* its columns */
    const uint32_t *columns;
    size_t n_columns;
    size_t *cell_start;      /* by column of the tree: its first bin in a histogram; n_columns + 1 */
    uint32_t *drawn;         /* columns in the order in which a split draws them */
    karma_i_split *found[2]; /* by block of columns: the best split of a node, and of its sibling */
    /* histograms */
    uint64_t *scratch; /* by thread: BLOCK columns */
    uint64_t *shared;  /* several processes: all columns of a node whose histogram is not kept */
    uint64_t **kept;   /* all that were allocated */
    uint64_t **unused; /* a stack of those not in use */
    size_t n_kept, n_unused, most_kept;
};

/* ---- memory ---- */

static size_t n_blocks(size_t n_columns) {
    return (n_columns + BLOCK - 1) / BLOCK;
}

static size_t count_bins(const karma_i_grower *g) {
    size_t bins = 0;
    for (size_t j = 0; j < g->bins->n_attributes; j++) bins += g->bins->n_bins[j];
    return bins;
}

/* As many histograms as the memory allows; none if splits draw columns, because siblings then have different
 * columns. */
static size_t count_kept(const karma_i_grower *g, size_t most_leaves) {
    if (g->rules->split_columns > 0) return 0;
    size_t n = MOST_KEPT / (count_bins(g) * g->most_words * sizeof(uint64_t) + 1);
    return n < most_leaves ? n : most_leaves;
}

/* Which histograms are kept must be the same in all processes: if there are several, memory for them must be there from
 * the start. */
static karma_status allocate_shared(karma_i_grower *g, karma_error *err) {
    if (g->ranks->size == 1) return KARMA_OK;
    size_t bins = count_bins(g);
    g->shared = karma_i_alloc_aligned(bins, g->most_words * sizeof *g->shared);
    if (!g->shared) return karma_i_fail_memory(err);
    while (g->n_kept < g->most_kept) {
        uint64_t *histogram = karma_i_alloc_aligned(bins, g->most_words * sizeof *histogram);
        if (!histogram) return karma_i_fail_memory(err);
        g->kept[g->n_kept++] = histogram;
    }
    return KARMA_OK;
}

static karma_status allocate(karma_i_grower *g, karma_error *err) {
    size_t n = g->bins->n_rows, d = g->bins->n_attributes, all = g->bins->split.n_rows;
    size_t leaves = g->rules->most_leaves < all ? g->rules->most_leaves : all, nodes = 2 * leaves;
    size_t block_cells = (size_t)BLOCK * KARMA_I_MOST_BINS * g->most_words;
    g->most_kept = count_kept(g, leaves);
    g->nodes = karma_i_alloc(nodes, sizeof *g->nodes);
    g->node_words = karma_i_alloc(nodes, g->most_words * sizeof *g->node_words);
    g->node_histograms = karma_i_alloc(nodes, sizeof *g->node_histograms);
    g->rows = karma_i_alloc(n, sizeof *g->rows);
    g->moved = karma_i_alloc(n, sizeof *g->moved);
    g->in_order = karma_i_alloc_aligned(n, 2 * sizeof *g->in_order);
    g->heap = karma_i_alloc(leaves, sizeof *g->heap);
    g->cell_start = karma_i_alloc(d + 1, sizeof *g->cell_start);
    g->drawn = karma_i_alloc(d, sizeof *g->drawn);
    g->found[0] = karma_i_alloc(n_blocks(d), sizeof *g->found[0]);
    g->found[1] = karma_i_alloc(n_blocks(d), sizeof *g->found[1]);
    g->scratch = karma_i_alloc_aligned((size_t)g->threads, block_cells * sizeof *g->scratch);
    g->kept = karma_i_alloc(g->most_kept, sizeof *g->kept);
    g->unused = karma_i_alloc(g->most_kept, sizeof *g->unused);
    int ok = g->nodes && g->node_words && g->node_histograms && g->rows && g->moved && g->in_order && g->heap &&
             g->cell_start && g->drawn && g->found[0] && g->found[1] && g->scratch && g->kept && g->unused;
    return ok ? allocate_shared(g, err) : karma_i_fail_memory(err);
}

karma_status karma_i_grower_new(karma_i_grower **out, const karma_i_bins *bins, const karma_i_tree_rules *rules,
                                size_t most_words, int threads, karma_error *err) {
    karma_i_grower *g = karma_i_zalloc(1, sizeof *g);
    if (!g) return karma_i_fail_memory(err);
    g->bins = bins;
    g->ranks = bins->split.ranks;
    g->rules = rules;
    g->most_words = most_words;
    g->threads = threads;
    karma_status st = allocate(g, err);
    if (st == KARMA_OK)
        *out = g;
    else
        karma_i_grower_free(g);
    return st;
}

void karma_i_grower_free(karma_i_grower *g) {
    if (!g) return;
    for (size_t h = 0; h < g->n_kept; h++) karma_i_free(g->kept[h]);
    karma_i_free(g->nodes);
    karma_i_free(g->node_words);
    karma_i_free(g->node_histograms);
    karma_i_free(g->rows);
    karma_i_free(g->moved);
    karma_i_free(g->in_order);
    karma_i_free(g->heap);
    karma_i_free(g->cell_start);
    karma_i_free(g->drawn);
    karma_i_free(g->found[0]);
    karma_i_free(g->found[1]);
    karma_i_free(g->scratch);
    karma_i_free(g->shared);
    karma_i_free(g->kept);
    karma_i_free(g->unused);
    karma_i_free(g);
}

/* Room for a histogram; NULL if none is left, and then it is not kept. */
static uint64_t *take_histogram(karma_i_grower *g) {
    if (g->n_unused > 0) return g->unused[--g->n_unused];
    if (g->n_kept == g->most_kept) return NULL;
    uint64_t *histogram = karma_i_alloc_aligned(count_bins(g), g->most_words * sizeof *histogram);
    if (histogram) g->kept[g->n_kept++] = histogram;
    return histogram;
}

static void return_histogram(karma_i_grower *g, uint32_t node) {
    if (g->node_histograms[node]) g->unused[g->n_unused++] = g->node_histograms[node];
    g->node_histograms[node] = NULL;
}

/* ---- leaves that wait to be split ---- */

static int comes_before(const karma_i_grower *g, uint32_t a, uint32_t b) {
    double x = g->nodes[a].split.gain, y = g->nodes[b].split.gain;
    return x != y ? x > y : a < b;
}

static void push(karma_i_grower *g, uint32_t node) {
    size_t at = g->n_heap++;
    for (; at > 0 && comes_before(g, node, g->heap[(at - 1) / 2]); at = (at - 1) / 2)
        g->heap[at] = g->heap[(at - 1) / 2];
    g->heap[at] = node;
}

static uint32_t pop(karma_i_grower *g) {
    uint32_t top = g->heap[0], last = g->heap[--g->n_heap];
    size_t at = 0;
    for (size_t child = 1; child < g->n_heap; child = 2 * at + 1) {
        if (child + 1 < g->n_heap && comes_before(g, g->heap[child + 1], g->heap[child])) child++;
        if (!comes_before(g, g->heap[child], last)) break;
        g->heap[at] = g->heap[child];
        at = child;
    }
    g->heap[at] = last;
    return top;
}

/* ---- the sums of a node's rows ---- */

static int has_threads(const karma_i_grower *g, size_t n_rows) {
    return g->threads > 1 && n_rows * g->n_columns >= LEAST_SHARED_CELLS;
}

/* Pairs of words: their sum, and the pairs one after the other. */
static void add_in_order(uint64_t *total, uint64_t *in_order, const uint64_t *words, const uint32_t *rows, size_t n,
                         int threads) {
    uint64_t first = 0, second = 0;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static) reduction(+ : first, second)
    for (size_t i = 0; i < n; i++) {
        const uint64_t *pair = words + 2 * (size_t)rows[i];
        first += in_order[2 * i] = pair[0];
        second += in_order[2 * i + 1] = pair[1];
    }
    total[0] = first;
    total[1] = second;
}

/* Sums them and reorders the pairs. */
static karma_i_node_rows collect(karma_i_grower *g, uint32_t node) {
    const karma_i_row_sums *sums = g->sums;
    const karma_i_grown_node *n = &g->nodes[node];
    size_t n_words = sums->n_words;
    uint64_t *total = g->node_words + node * n_words;
    const uint32_t *rows = g->rows + n->first;
    karma_i_node_rows out = {rows, n->count, n_words, sums->words, n_words == 2 ? g->in_order : NULL};
    if (n_words == 2) {
        add_in_order(total, g->in_order, sums->words, rows, n->count, has_threads(g, n->count) ? g->threads : 1);
        return out;
    }
    memset(total, 0, n_words * sizeof *total);
    for (size_t i = 0; i < n->count; i++) {
        const uint64_t *words = sums->words + rows[i] * n_words;
        for (size_t w = 0; w < n_words; w++) total[w] += words[w];
    }
    return out;
}

/* ---- the best split of a node ---- */

/* A node whose histogram is computed from its rows, and its sibling, whose histogram is the parent's minus
 * that one; either may be unneeded. */
typedef struct search {
    const uint32_t *columns;
    size_t n_columns;
    karma_i_node_rows rows; /* of this process */
    uint32_t node, sibling, parent;
    int wants_node, wants_sibling;
    uint64_t *histogram;         /* of the node; NULL: it is not kept */
    uint64_t *sibling_histogram; /* the parent's, and then the sibling's; NULL: there is no sibling */
} search;

static karma_i_node_sums node_sums(const karma_i_grower *g, uint32_t node) {
    const uint64_t *words = g->node_words + node * g->sums->n_words;
    return (karma_i_node_sums){words, karma_i_node_score(g->sums, words, g->rules->split.l2)};
}

/* A block of columns: where their histograms are. */
typedef struct block {
    size_t first, n;
    uint64_t *cells[BLOCK];
    const uint8_t *columns[BLOCK];
} block;

static block find_block(const karma_i_grower *g, const search *s, size_t which, int thread) {
    size_t n_words = g->sums->n_words, first = which * BLOCK;
    uint64_t *scratch = g->scratch + (size_t)thread * BLOCK * KARMA_I_MOST_BINS * g->most_words;
    uint64_t *whole = s->histogram ? s->histogram : g->shared;
    block b = {.first = first, .n = s->n_columns - first < BLOCK ? s->n_columns - first : BLOCK};
    for (size_t c = 0; c < b.n; c++) {
        b.cells[c] = whole ? whole + g->cell_start[first + c] * n_words : scratch + c * KARMA_I_MOST_BINS * n_words;
        b.columns[c] = g->bins->bin + s->columns[first + c] * g->bins->n_rows;
    }
    return b;
}

/* Adds up this process's rows. */
static void add_block(const karma_i_grower *g, const search *s, size_t which, int thread) {
    block b = find_block(g, s, which, thread);
    for (size_t c = 0; c < b.n; c++)
        memset(b.cells[c], 0, g->bins->n_bins[s->columns[b.first + c]] * g->sums->n_words * sizeof *b.cells[c]);
    karma_i_histogram_add(b.cells, b.columns, b.n, &s->rows);
}

static void split_block(karma_i_grower *g, const search *s, size_t which, int thread) {
    size_t n_words = g->sums->n_words;
    block b = find_block(g, s, which, thread);
    karma_i_node_sums node = node_sums(g, s->node), sibling = {0};
    karma_i_split *found = &g->found[0][which], *found_sibling = &g->found[1][which];
    if (s->sibling_histogram) sibling = node_sums(g, s->sibling);
    found->gain = found_sibling->gain = 0.0;
    for (size_t c = 0; c < b.n; c++) {
        size_t j = s->columns[b.first + c], n_cells = g->bins->n_bins[j] * n_words;
        if (s->wants_node) karma_i_split_by(found, j, b.cells[c], g->bins, &node, g->sums, &g->rules->split);
        if (!s->sibling_histogram) continue;
        uint64_t *rest = s->sibling_histogram + g->cell_start[b.first + c] * n_words;
        for (size_t w = 0; w < n_cells; w++) rest[w] -= b.cells[c][w];
        if (s->wants_sibling) karma_i_split_by(found_sibling, j, rest, g->bins, &sibling, g->sums, &g->rules->split);
    }
}

static void keep_best(karma_i_split *best, const karma_i_split *found, size_t n) {
    best->gain = 0.0;
    for (size_t b = 0; b < n; b++)
        if (found[b].gain > best->gain) *best = found[b];
}

typedef void (*block_fn)(karma_i_grower *g, const search *s, size_t which, int thread);

/* One process splits a block while it is in the cache. */
static void search_block(karma_i_grower *g, const search *s, size_t which, int thread) {
    add_block(g, s, which, thread);
    split_block(g, s, which, thread);
}

static void add_block_alone(karma_i_grower *g, const search *s, size_t which, int thread) {
    add_block(g, s, which, thread);
}

static void each_block(karma_i_grower *g, const search *s, block_fn work) {
    size_t n = n_blocks(s->n_columns);
    if (has_threads(g, s->rows.n)) {
#pragma omp parallel for num_threads(g->threads) schedule(dynamic)
        for (size_t b = 0; b < n; b++) work(g, s, b, omp_get_thread_num());
    } else {
        for (size_t b = 0; b < n; b++) work(g, s, b, 0);
    }
}

/* The sums over a node's rows of all processes are those of the bins of any column. */
static void sum_bins(karma_i_grower *g, const search *s) {
    size_t n_words = g->sums->n_words;
    const uint64_t *cells = s->histogram ? s->histogram : g->shared;
    uint64_t *total = g->node_words + s->node * n_words;
    memset(total, 0, n_words * sizeof *total);
    for (size_t b = 0; b < g->bins->n_bins[s->columns[0]]; b++)
        for (size_t w = 0; w < n_words; w++) total[w] += cells[b * n_words + w];
}

/* What the parent has more than the node. */
static void subtract_node(karma_i_grower *g, const search *s) {
    size_t n_words = g->sums->n_words;
    const uint64_t *node = g->node_words + s->node * n_words, *parent = g->node_words + s->parent * n_words;
    uint64_t *sibling = g->node_words + s->sibling * n_words;
    for (size_t w = 0; s->sibling_histogram && w < n_words; w++) sibling[w] = parent[w] - node[w];
}

static void search_columns(karma_i_grower *g, const search *s) {
    size_t n = n_blocks(s->n_columns);
    if (g->ranks->size > 1 && n > 0) {
        each_block(g, s, add_block_alone);
        g->ranks->add(g->ranks->payload, s->histogram ? s->histogram : g->shared,
                      g->cell_start[s->n_columns] * g->sums->n_words);
        sum_bins(g, s);
        subtract_node(g, s);
        each_block(g, s, split_block);
    } else {
        subtract_node(g, s);
        each_block(g, s, search_block);
    }
    keep_best(&g->nodes[s->node].split, g->found[0], n);
    if (s->sibling_histogram) keep_best(&g->nodes[s->sibling].split, g->found[1], n);
}

/* Draws columns until one gives a split. */
static void search_drawn_columns(karma_i_grower *g, search *s, karma_i_rng *rng) {
    size_t n_drawn = 0;
    memcpy(g->drawn, g->columns, g->n_columns * sizeof *g->drawn);
    g->nodes[s->node].split.gain = 0.0;
    while (n_drawn < g->n_columns && !(g->nodes[s->node].split.gain > 0.0)) {
        size_t first = n_drawn, end = n_drawn + g->rules->split_columns;
        for (; n_drawn < end && n_drawn < g->n_columns; n_drawn++) {
            size_t other = n_drawn + karma_i_rng_below(rng, g->n_columns - n_drawn);
            uint32_t column = g->drawn[other];
            g->drawn[other] = g->drawn[n_drawn];
            g->drawn[n_drawn] = column;
        }
        s->columns = g->drawn + first;
        s->n_columns = n_drawn - first;
        search_columns(g, s);
    }
}

/* ---- growing ---- */

static int can_split(const karma_i_grower *g, uint32_t node) {
    const karma_i_grown_node *n = &g->nodes[node];
    return n->depth < g->rules->most_depth && n->n_rows >= 2 * g->rules->split.least_rows && n->n_rows >= 2;
}

/* A histogram is worth keeping if subtracting from it is less work than summing the rows of the larger
 * child. */
static int is_worth_keeping(const karma_i_grower *g, uint32_t node) {
    return (size_t)g->nodes[node].n_rows * g->n_columns / 2 > g->cell_start[g->n_columns];
}

/* Finds the split of one node by itself. */
static void explore_node(karma_i_grower *g, uint32_t node, karma_i_rng *rng) {
    search s = {.columns = g->columns, .n_columns = g->n_columns, .node = node, .wants_node = 1};
    if (!can_split(g, node)) return;
    s.rows = collect(g, node);
    if (g->rules->split_columns > 0) {
        search_drawn_columns(g, &s, rng);
        return;
    }
    if (is_worth_keeping(g, node)) s.histogram = g->node_histograms[node] = take_histogram(g);
    search_columns(g, &s);
}

/* Finds the splits of two children; the parent's histogram becomes that of the larger one. */
static void explore_children(karma_i_grower *g, uint32_t parent, karma_i_rng *rng) {
    uint32_t left = g->nodes[parent].left, right = g->nodes[parent].right;
    int left_is_smaller = g->nodes[left].n_rows <= g->nodes[right].n_rows;
    uint32_t small = left_is_smaller ? left : right, large = left_is_smaller ? right : left;
    int any = can_split(g, small) || can_split(g, large);
    if (!any || !g->node_histograms[parent]) {
        return_histogram(g, parent);
        explore_node(g, small, rng);
        explore_node(g, large, rng);
        return;
    }
    search s = {.columns = g->columns, .n_columns = g->n_columns, .node = small, .sibling = large, .parent = parent};
    s.wants_node = can_split(g, small);
    s.wants_sibling = can_split(g, large);
    s.rows = collect(g, small);
    if (s.wants_node && is_worth_keeping(g, small)) s.histogram = g->node_histograms[small] = take_histogram(g);
    s.sibling_histogram = g->node_histograms[large] = g->node_histograms[parent];
    g->node_histograms[parent] = NULL;
    search_columns(g, &s);
    if (!s.wants_sibling || !is_worth_keeping(g, large)) return_histogram(g, large);
}

static void add_node(karma_i_grower *g, uint32_t first, uint32_t count, uint32_t n_rows, uint32_t depth) {
    g->node_histograms[g->n_nodes] = NULL;
    g->nodes[g->n_nodes++] = (karma_i_grown_node){.left = KARMA_I_NO_CHILD,
                                                  .right = KARMA_I_NO_CHILD,
                                                  .first = first,
                                                  .count = count,
                                                  .n_rows = n_rows,
                                                  .depth = depth};
}

/* Both sides keep the order of their rows. */
static uint32_t partition(karma_i_grower *g, const karma_i_grown_node *node) {
    uint32_t *rows = g->rows + node->first;
    const uint8_t *column = g->bins->bin + node->split.attribute * g->bins->n_rows;
    uint8_t goes_left[KARMA_I_MOST_BINS];
    size_t n_left = 0, n_right = 0;
    for (size_t b = 0; b < KARMA_I_MOST_BINS; b++) goes_left[b] = (uint8_t)karma_i_bin_set_has(&node->split.left, b);
    for (size_t i = 0; i < node->count; i++) {
        uint32_t row = rows[i];
        size_t is_left = goes_left[column[row]];
        rows[n_left] = row;
        g->moved[n_right] = row;
        n_left += is_left;
        n_right += 1 - is_left;
    }
    memcpy(rows + n_left, g->moved, n_right * sizeof *rows);
    return (uint32_t)n_left;
}

static void wait_if_splittable(karma_i_grower *g, uint32_t node) {
    if (g->nodes[node].split.gain > 0.0)
        push(g, node);
    else
        return_histogram(g, node);
}

static void split_leaf(karma_i_grower *g, uint32_t node, karma_i_rng *rng) {
    karma_i_grown_node *n = &g->nodes[node];
    uint32_t n_left = partition(g, n), left = (uint32_t)g->n_nodes;
    n->left = left;
    n->right = left + 1;
    add_node(g, n->first, n_left, n->split.n_left, n->depth + 1);
    add_node(g, n->first + n_left, n->count - n_left, n->n_rows - n->split.n_left, n->depth + 1);
    g->n_leaves++;
    if (g->n_leaves == g->rules->most_leaves) return;
    explore_children(g, node, rng);
    wait_if_splittable(g, left);
    wait_if_splittable(g, left + 1);
}

static void start_tree(karma_i_grower *g, const uint32_t *rows, size_t n_rows) {
    uint64_t n_all = n_rows;
    g->ranks->add(g->ranks->payload, &n_all, 1);
    memcpy(g->rows, rows, n_rows * sizeof *rows);
    g->n_nodes = g->n_heap = 0;
    g->n_leaves = 1;
    g->n_unused = g->n_kept;
    memcpy(g->unused, g->kept, g->n_kept * sizeof *g->unused);
    g->cell_start[0] = 0;
    for (size_t c = 0; c < g->n_columns; c++) g->cell_start[c + 1] = g->cell_start[c] + g->bins->n_bins[g->columns[c]];
    add_node(g, 0, (uint32_t)n_rows, (uint32_t)n_all, 0);
}

void karma_i_grow_tree(karma_i_grower *g, const karma_i_row_sums *sums, const uint32_t *rows, size_t n_rows,
                       const uint32_t *columns, size_t n_columns, karma_i_rng *rng) {
    g->sums = sums;
    g->columns = columns;
    g->n_columns = n_columns;
    start_tree(g, rows, n_rows);
    if (g->rules->most_leaves > 1) {
        explore_node(g, 0, rng);
        wait_if_splittable(g, 0);
    }
    while (g->n_heap > 0 && g->n_leaves < g->rules->most_leaves) split_leaf(g, pop(g), rng);
}

/* ---- the tree ---- */

const karma_i_grown_node *karma_i_grown_nodes(const karma_i_grower *g) {
    return g->nodes;
}

size_t karma_i_grown_n_nodes(const karma_i_grower *g) {
    return g->n_nodes;
}

const uint32_t *karma_i_grown_rows(const karma_i_grower *g) {
    return g->rows;
}

/* Rows of a block at some node: a range of their order. */
typedef struct descent {
    uint32_t node, first, count;
} descent;

/* Both sides of a split, within a range of the block's order; returns how many go left. No branch depends on a cell,
 * which a processor could not predict. */
static uint32_t separate(uint16_t *order, uint32_t count, const uint8_t *column, const karma_i_split *split) {
    uint16_t moved[KARMA_I_LEAF_BLOCK];
    uint32_t n_left = 0, n_right = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint16_t row = order[i];
        uint32_t is_left = (uint32_t)karma_i_bin_set_has(&split->left, column[row]);
        order[n_left] = row;
        moved[n_right] = row;
        n_left += is_left;
        n_right += 1 - is_left;
    }
    memcpy(order + n_left, moved, n_right * sizeof *order);
    return n_left;
}

void karma_i_grown_leaves(uint32_t *leaf, const karma_i_grower *g, size_t first, size_t count) {
    uint16_t order[KARMA_I_LEAF_BLOCK];
    descent pending[KARMA_I_MOST_DEPTH + 1];
    size_t n_pending = 0;
    for (size_t i = 0; i < count; i++) order[i] = (uint16_t)i;
    pending[n_pending++] = (descent){0, 0, (uint32_t)count};
    while (n_pending > 0) {
        descent at = pending[--n_pending];
        const karma_i_grown_node *node = &g->nodes[at.node];
        if (node->left == KARMA_I_NO_CHILD) {
            for (uint32_t i = 0; i < at.count; i++) leaf[order[at.first + i]] = at.node;
            continue;
        }
        const uint8_t *column = g->bins->bin + node->split.attribute * g->bins->n_rows + first;
        uint32_t n_left = separate(order + at.first, at.count, column, &node->split);
        if (n_left < at.count) pending[n_pending++] = (descent){node->right, at.first + n_left, at.count - n_left};
        if (n_left > 0) pending[n_pending++] = (descent){node->left, at.first, n_left};
    }
}
