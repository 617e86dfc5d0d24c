#include "base/partition.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static size_t divide_up(size_t a, size_t b) {
    return (a + b - 1) / b;
}

/* --- granules ------------------------------------------------------------------------------------------ */

size_t karma_i_granule_rows(size_t n_rows) {
    size_t rows = KARMA_I_LEAST_GRANULE;
    while (divide_up(n_rows, rows) > KARMA_I_MOST_GRANULES) rows *= 2;
    return rows;
}

static size_t first_granule(size_t n_granules, size_t rank, size_t n_ranks) {
    return divide_up(rank * n_granules, n_ranks);
}

size_t karma_i_partition_start(size_t n_rows, size_t rank, size_t n_ranks) {
    size_t granule = karma_i_granule_rows(n_rows);
    size_t row = granule * first_granule(divide_up(n_rows, granule), rank, n_ranks);
    return row < n_rows ? row : n_rows;
}

karma_i_partition karma_i_partition_whole(size_t n_rows) {
    return (karma_i_partition){&karma_i_one_rank, n_rows, 0, n_rows};
}

karma_i_partition karma_i_partition_part(size_t n_rows, const karma_ranks *ranks) {
    size_t first = karma_i_partition_start(n_rows, ranks->rank, ranks->size);
    return (karma_i_partition){ranks, n_rows, first,
                               karma_i_partition_start(n_rows, ranks->rank + 1, ranks->size) - first};
}

size_t karma_i_partition_n_granules(const karma_i_partition *s) {
    return divide_up(s->count, karma_i_partition_granule_rows(s));
}

/* --- the tree ------------------------------------------------------------------------------------------ */

static unsigned top_level(size_t n_granules) {
    unsigned top = 0;
    while ((size_t)1 << top < n_granules) top++;
    return top;
}

/* In a process that starts at the first granule, one node of each level waits; otherwise nodes of increasing
 * size wait for their left neighbours first. One more is open, and one may come from another process. */
static size_t most_nodes(size_t n_granules, size_t first) {
    return (first ? 2 : 1) * (size_t)top_level(n_granules) + 3;
}

karma_status karma_i_tree_init(karma_i_tree *tree, size_t width, size_t n_granules, size_t first, karma_error *err) {
    *tree = (karma_i_tree){.width = width, .n_granules = n_granules, .next = first};
    tree->sums = karma_i_alloc_aligned(most_nodes(n_granules, first), width * sizeof *tree->sums);
    return tree->sums ? KARMA_OK : karma_i_fail_memory(err);
}

void karma_i_tree_clear(karma_i_tree *tree) {
    karma_i_free(tree->sums);
    tree->sums = NULL;
}

static double *sums_of(const karma_i_tree *tree, size_t node) {
    return tree->sums + node * tree->width;
}

double *karma_i_tree_open(karma_i_tree *tree) {
    double *sums = sums_of(tree, tree->n_nodes);
    memset(sums, 0, tree->width * sizeof *sums);
    return sums;
}

static int is_right(const karma_i_tree_node *node) {
    return (int)(node->first >> node->level & 1);
}

static void add(double *to, const double *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] += from[i];
}

/* Joins the last node with its left neighbour if both are here; their sums must still be added. */
static int join_last(karma_i_tree *tree) {
    if (tree->n_nodes < 2) return 0;
    karma_i_tree_node *left = &tree->nodes[tree->n_nodes - 2], *right = left + 1;
    if (left->level != right->level || is_right(left)) return 0;
    left->level++;
    tree->n_nodes--;
    return 1;
}

/* Adds the last node to its left neighbour while both are here. */
static void merge(karma_i_tree *tree) {
    while (join_last(tree)) add(sums_of(tree, tree->n_nodes - 1), sums_of(tree, tree->n_nodes), tree->width);
}

static void append(karma_i_tree *tree, unsigned level) {
    tree->nodes[tree->n_nodes++] = (karma_i_tree_node){tree->next, level};
    tree->next += (size_t)1 << level;
}

void karma_i_tree_close(karma_i_tree *tree, unsigned level) {
    append(tree, level);
    merge(tree);
}

double *karma_i_tree_pass(karma_i_tree *tree, size_t *n_additions) {
    double *sums = sums_of(tree, tree->n_nodes);
    append(tree, 0);
    *n_additions = 0;
    while (join_last(tree)) ++*n_additions;
    return sums;
}

/* Raises the last node to `level` if no remaining granule could be its neighbour. */
static void raise_last(karma_i_tree *tree, unsigned level) {
    while (tree->n_nodes) {
        karma_i_tree_node *last = &tree->nodes[tree->n_nodes - 1];
        if (last->level >= level || is_right(last) || last->first + ((size_t)1 << last->level) < tree->n_granules)
            return;
        last->level++;
        merge(tree);
    }
}

const double *karma_i_tree_node_sums(karma_i_tree *tree, unsigned level) {
    raise_last(tree, level);
    return sums_of(tree, 0);
}

karma_status karma_i_tree_begin(karma_i_tree *tree, size_t width, const karma_i_partition *split, karma_error *err) {
    size_t granule = karma_i_partition_granule_rows(split);
    return karma_i_tree_init(tree, width, divide_up(split->n_rows, granule), split->first / granule, err);
}

/* --- several processes --------------------------------------------------------------------------------- */

static size_t owner_of(size_t granule, size_t n_granules, size_t n_ranks) {
    size_t rank = granule * n_ranks / n_granules;
    while (first_granule(n_granules, rank, n_ranks) > granule) rank--;
    while (first_granule(n_granules, rank + 1, n_ranks) <= granule) rank++;
    return rank;
}

static size_t owner_of_row(size_t row, const karma_i_partition *s) {
    size_t granule = karma_i_partition_granule_rows(s);
    return owner_of(row / granule, divide_up(s->n_rows, granule), s->ranks->size);
}

karma_status karma_i_partition_fetch(double *out, const double *own, size_t width, const size_t *index, size_t count,
                                     const karma_i_partition *s, karma_error *err) {
    karma_i_gathered all = {0};
    size_t n = 0, bytes = width * sizeof *own, *next = karma_i_zalloc(s->ranks->size, sizeof *next);
    double *here = karma_i_alloc(count, bytes);
    karma_status st = next && here ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++)
        if (index[i] >= s->first && index[i] - s->first < s->count)
            memcpy(here + n++ * width, own + (index[i] - s->first) * width, bytes);
    if (st == KARMA_OK) st = karma_i_ranks_gather(&all, here, n * bytes, s->ranks, err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++) {
        size_t k = owner_of_row(index[i], s);
        memcpy(out + i * width, all.bytes + all.start[k] + bytes * next[k]++, bytes);
    }
    karma_i_gathered_clear(&all);
    karma_i_free(here);
    karma_i_free(next);
    return st;
}

/* The first node goes to the process of its left neighbour. */
static void send_first(karma_i_tree *tree, const karma_ranks *r) {
    size_t left = tree->nodes[0].first - ((size_t)1 << tree->nodes[0].level);
    r->send(r->payload, owner_of(left, tree->n_granules, r->size), sums_of(tree, 0), tree->width * sizeof(double));
    tree->n_nodes--;
    memmove(tree->nodes, tree->nodes + 1, tree->n_nodes * sizeof *tree->nodes);
    memmove(tree->sums, sums_of(tree, 1), tree->n_nodes * tree->width * sizeof(double));
}

/* The right neighbour of the last node comes from its process. */
static void receive_last(karma_i_tree *tree, const karma_ranks *r) {
    karma_i_tree_node *last = &tree->nodes[tree->n_nodes - 1];
    size_t right = last->first + ((size_t)1 << last->level);
    double *sums = sums_of(tree, tree->n_nodes);
    r->receive(r->payload, owner_of(right, tree->n_granules, r->size), sums, tree->width * sizeof *sums);
    add(sums_of(tree, tree->n_nodes - 1), sums, tree->width);
    last->level++;
    merge(tree);
}

/* Goes level by level. Sums are sent to lower ranks only, so that rank 0 never waits for a receiver and there
 * is no deadlock. */
static void climb(karma_i_tree *tree, unsigned top, const karma_ranks *r) {
    for (unsigned level = 0; level < top; level++) {
        if (tree->n_nodes && tree->nodes[0].level == level && is_right(&tree->nodes[0])) send_first(tree, r);
        raise_last(tree, level + 1);
        if (tree->n_nodes == 0) return;
        const karma_i_tree_node *last = &tree->nodes[tree->n_nodes - 1];
        if (last->level == level && !is_right(last)) receive_last(tree, r);
    }
}

karma_status karma_i_tree_total(double *out, karma_i_tree *tree, const karma_i_partition *split, karma_error *err) {
    const karma_ranks *r = split->ranks;
    unsigned top = top_level(tree->n_granules);
    if (r->size == 1)
        raise_last(tree, top);
    else {
        KARMA_TRY(karma_i_ranks_meet(r, err));
        climb(tree, top, r);
    }
    if (tree->n_granules == 0)
        memset(out, 0, tree->width * sizeof *out);
    else if (r->rank == 0)
        memcpy(out, sums_of(tree, 0), tree->width * sizeof *out);
    if (r->size > 1) r->broadcast(r->payload, 0, out, tree->width * sizeof *out);
    return KARMA_OK;
}

karma_status karma_i_partition_sum(double *out, size_t width, const karma_i_partition *split,
                                   karma_i_add_rows_fn add_rows, const void *payload, karma_error *err) {
    karma_i_tree tree;
    size_t granule = karma_i_partition_granule_rows(split);
    karma_status st = karma_i_tree_begin(&tree, width, split, err);
    for (size_t first = 0; st == KARMA_OK && first < split->count; first += granule) {
        size_t end = first + granule < split->count ? first + granule : split->count;
        add_rows(karma_i_tree_open(&tree), payload, first, end);
        karma_i_tree_close(&tree, 0);
    }
    if (st == KARMA_OK) st = karma_i_tree_total(out, &tree, split, err);
    karma_i_tree_clear(&tree);
    return st;
}
