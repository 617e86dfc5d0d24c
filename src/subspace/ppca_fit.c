/* The fit of a subspace to many rows: from samples to all rows, which may be split over processes.
 *
 * The subspace of a sample is found for a fraction of the cost and is close to that of all rows. So the start
 * is found on few rows, the first passes use some more, the next THINNING times as many, and so on, until all
 * rows need only few passes. Every process computes the samples within `sample` itself; larger samples, and
 * all rows, are summed granule by granule, each process its own granules. */
#include "subspace/ppca.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* Noise added to W, in units of σ, before a sample's subspace is fitted to more rows: EM would keep an exact
 * 0 forever. */
#define NUDGE 0.01

enum {
    THINNING = 8,        /* each sample is this many times smaller than the next */
    LEAST_SAMPLE = 2000, /* rows */
    MOST_SHARED = 16384  /* rows that every process has, unless there are many features */
};

/* Copies have at most this many cells. */
#define MOST_COPIED_CELLS 2e7

/* Passes over samples need not be exact. */
#define SAMPLE_TOLERANCE 1e-4

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t max_size(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- which rows ---- */

size_t karma_i_ppca_n_drawn(size_t n_rows, size_t n_features) {
    return min_size(n_rows, max_size(MOST_SHARED, 4 * n_features));
}

/* How many of the first `end` rows (whole granules) belong to a sample of `count` of all rows: their share,
 * rounded down, so that no granule must give more rows than it has. Products stay below 2^64. */
static size_t n_before(size_t end, size_t count, size_t n_rows) {
    if (end == n_rows) return count;
    for (; n_rows > UINT32_MAX; n_rows /= 2) end /= 2;
    return end * count / n_rows;
}

/* The rows of granule `granule`, of all granules, that are in a sample of `count` rows; returns how many.
 * `index` has room for all rows of a granule. Rows are drawn at random, since their order may be periodic,
 * and every granule gives its share, so that each process finds its own rows without the others. */
static size_t draw_granule(size_t *index, size_t granule, size_t count, size_t n_rows) {
    size_t size = karma_i_granule_rows(n_rows), first = granule * size, end = min_size(first + size, n_rows);
    size_t wanted = n_before(end, count, n_rows) - n_before(first, count, n_rows);
    karma_i_rng rng;
    karma_i_rng_init(&rng, granule + 1);
    for (size_t i = first; i < end; i++) index[i - first] = i;
    for (size_t i = 0; i < wanted; i++) {
        size_t other = i + karma_i_rng_below(&rng, end - first - i), row = index[other];
        index[other] = index[i];
        index[i] = row;
    }
    return wanted;
}

karma_status karma_i_ppca_draw(size_t *index, size_t count, size_t n_rows, karma_error *err) {
    for (size_t i = 0; count == n_rows && i < n_rows; i++) index[i] = i;
    if (count == n_rows) return KARMA_OK;
    size_t size = karma_i_granule_rows(n_rows), drawn = 0, *own = karma_i_alloc(size, sizeof *own);
    if (!own) return karma_i_fail_memory(err);
    for (size_t g = 0; g * size < n_rows; g++) {
        size_t n = draw_granule(own, g, count, n_rows);
        for (size_t i = 0; i < n; i++) index[drawn++] = own[i];
    }
    karma_i_free(own);
    return KARMA_OK;
}

/* A row and a hash of what it observes. */
typedef struct observed_row {
    uint64_t key;
    size_t row;
} observed_row;

static int by_key(const void *a, const void *b) {
    const observed_row *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Rows that observe the same attributes, one after the other. */
static karma_status sort_by_observed(size_t *index, size_t count, const karma_i_rows *rows, karma_error *err) {
    observed_row *list = karma_i_alloc(count, sizeof *list);
    if (!list) return karma_i_fail_memory(err);
    for (size_t i = 0; i < count; i++) {
        karma_i_cell cell;
        list[i] = (observed_row){0, index[i]};
        for (size_t from = 0; karma_i_rows_next_cell(&cell, rows, index[i], from); from = cell.attribute + 1)
            list[i].key = (list[i].key ^ (cell.attribute + 1)) * UINT64_C(0x9e3779b97f4a7c15) + (list[i].key >> 29);
    }
    qsort(list, count, sizeof *list, by_key);
    for (size_t i = 0; i < count; i++) index[i] = list[i].row;
    karma_i_free(list);
    return KARMA_OK;
}

/* ---- passes ---- */

/* The rows of a pass: all of `rows`, or the part of this process. */
typedef struct lesson {
    karma_i_view rows;
    const karma_i_ppca_part *part; /* NULL: none */
} lesson;

static karma_status add_lesson(karma_i_ppca_stats *stats, const lesson *from, karma_error *err) {
    return from->part ? karma_i_ppca_add_part(stats, from->part, err) : karma_i_ppca_add_rows(stats, from->rows, err);
}

/* Does a hook ask to stop, in any process? */
static karma_status ask_hooks(int *stops, const lesson *from, size_t pass, const karma_i_ppca_options *options,
                              karma_error *err) {
    *stops = karma_i_progress(options->hooks, "subspace", pass, options->most_passes);
    return from->part ? karma_i_ranks_any(stops, from->part->split.ranks, err) : KARMA_OK;
}

/* Makes passes until they gain nothing. */
static karma_status improve(karma_i_subspace *subspace, const lesson *from, const karma_i_ppca_options *options,
                            karma_error *err) {
    karma_i_ppca_stats *stats = NULL;
    karma_i_rows like = *from->rows.rows;
    if (from->part) like.n_rows = 0;
    KARMA_TRY(karma_i_ppca_stats_new(&stats, &like, options->rank, options->threads, err));
    karma_status st = KARMA_OK;
    for (size_t pass = 0; st == KARMA_OK; pass++) {
        int stops = 0;
        karma_i_ppca_begin(stats, subspace);
        if ((st = add_lesson(stats, from, err)) != KARMA_OK) break;
        double before = subspace->log_likelihood;
        subspace->log_likelihood = karma_i_ppca_log_likelihood(stats);
        subspace->n_values = karma_i_ppca_n_values(stats);
        subspace->n_passes = pass + 1;
        if (options->history) options->history[pass] = subspace->log_likelihood;
        double gain = subspace->log_likelihood - before;
        subspace->is_converged = pass > 0 && gain <= options->tolerance * (double)subspace->n_values;
        /* the last pass only evaluates: the subspace is the one that its likelihood belongs to */
        if (subspace->is_converged || pass + 1 >= options->most_passes) break;
        st = ask_hooks(&stops, from, pass + 1, options, err);
        if (st != KARMA_OK || stops) break;
        karma_i_ppca_finish(subspace, stats, options->has_own_noise);
    }
    karma_i_ppca_stats_free(stats);
    return st;
}

/* ---- samples that every process has ---- */

/* The rows in random order; a sample is its first rows. NULL: out of memory. */
static size_t *shuffled(karma_i_view rows) {
    size_t *index = karma_i_alloc(rows.count, sizeof *index);
    karma_i_rng rng;
    if (!index) return NULL;
    for (size_t i = 0; i < rows.count; i++) index[i] = rows.first + i;
    karma_i_rng_init(&rng, 1);
    karma_i_rng_shuffle(&rng, index, rows.count);
    return index;
}

/* No sample is smaller. */
static size_t least_sample(const karma_i_rows *rows, size_t rank) {
    return max_size(LEAST_SAMPLE, 4 * max_size(rows->n_features, rank));
}

/* The smallest sample after the first, and the one after `count`; n_rows: all rows. */
static size_t first_size(size_t n_rows, size_t least) {
    size_t count = n_rows;
    while (count / THINNING >= least) count /= THINNING;
    return count;
}
static size_t next_size(size_t count, size_t n_rows) {
    return count * THINNING <= n_rows / THINNING ? count * THINNING : n_rows;
}

static karma_status find_start(karma_i_subspace **subspace, karma_i_view rows, const karma_i_ppca_options *options,
                               karma_error *err) {
    KARMA_TRY(
        karma_i_ppca_start_from_pairs(subspace, rows, options->rank, options->least_together, options->threads, err));
    if (*subspace) return KARMA_OK;
    return karma_i_ppca_anneal(subspace, rows, options->rank, options->threads, options->hooks, err);
}

/* Finds a start in the sample if *subspace is NULL, and improves it there otherwise. */
static karma_status fit_sample(karma_i_subspace **subspace, const karma_i_rows *rows, size_t *index, size_t count,
                               const karma_i_ppca_options *options, karma_error *err) {
    karma_i_rows *sample = NULL;
    KARMA_TRY(sort_by_observed(index, count, rows, err));
    KARMA_TRY(karma_i_rows_new_like(&sample, rows, count, err));
    karma_status st = karma_i_rows_gather(sample, rows, index, count, err);
    karma_i_view all = karma_i_rows_all(sample);
    if (st == KARMA_OK)
        st = *subspace ? improve(*subspace, &(lesson){all, NULL}, options, err)
                       : find_start(subspace, all, options, err);
    karma_i_rows_free(sample);
    if (st == KARMA_OK) karma_i_subspace_nudge(*subspace, NUDGE * sqrt((*subspace)->sigma2), 1);
    return st;
}

/* *count becomes the size of the next sample. */
static karma_status fit_samples(karma_i_subspace **subspace, size_t *count, karma_i_view rows, size_t n_rows,
                                const karma_i_ppca_options *options, karma_error *err) {
    size_t *index = shuffled(rows), least = least_sample(rows.rows, options->rank);
    karma_status st = index ? fit_sample(subspace, rows.rows, index, min_size(least, rows.count), options, err)
                            : karma_i_fail_memory(err);
    *count = first_size(n_rows, least);
    for (; *count < n_rows && *count <= rows.count && st == KARMA_OK; *count = next_size(*count, n_rows))
        st = fit_sample(subspace, rows.rows, index, *count, options, err);
    karma_i_free(index);
    return st;
}

/* ---- rows that are not in every process ---- */

/* The rows of a part, and where granules begin among them. */
typedef struct chosen_rows {
    size_t *index, *start;
} chosen_rows;

static void clear_chosen(chosen_rows *c) {
    karma_i_free(c->index);
    karma_i_free(c->start);
}

/* This process's rows of a sample of `count`, or all its rows; sorted within each granule if requested. Clear
 * them even if this fails. */
static karma_status choose_rows(chosen_rows *c, const karma_i_ppca_rows *from, size_t count, int is_sorted,
                                karma_error *err) {
    const karma_i_partition *split = &from->split;
    size_t size = karma_i_partition_granule_rows(split), n = karma_i_partition_n_granules(split), used = 0;
    *c = (chosen_rows){karma_i_alloc(split->count + size, sizeof *c->index), karma_i_alloc(n + 1, sizeof *c->start)};
    if (!c->index || !c->start) return karma_i_fail_memory(err);
    for (size_t g = 0; g < n; g++) {
        size_t *own = c->index + used, left = split->count - g * size, drawn = min_size(left, size);
        c->start[g] = used;
        if (count < split->n_rows)
            drawn = draw_granule(own, split->first / size + g, count, split->n_rows);
        else
            for (size_t i = 0; i < drawn; i++) own[i] = split->first + g * size + i;
        for (size_t i = 0; i < drawn; i++) own[i] = own[i] - split->first + from->here.first;
        if (is_sorted) KARMA_TRY(sort_by_observed(own, drawn, from->here.rows, err));
        used += drawn;
    }
    c->start[n] = used;
    return KARMA_OK;
}

/* Passes over a sample of `count` of all rows, or over all of them, with copies of this process's rows in order. */
static karma_status improve_copies(karma_i_subspace *subspace, const karma_i_ppca_rows *from, size_t count,
                                   const karma_i_ppca_options *options, karma_error *err) {
    chosen_rows c;
    karma_i_rows *copy = NULL;
    karma_status st = choose_rows(&c, from, count, 1, err);
    size_t n = st == KARMA_OK ? c.start[karma_i_partition_n_granules(&from->split)] : 0;
    if (st == KARMA_OK) st = karma_i_rows_new_like(&copy, from->here.rows, n, err);
    if (st == KARMA_OK) st = karma_i_rows_gather(copy, from->here.rows, c.index, n, err);
    if (st == KARMA_OK) {
        karma_i_ppca_part part = {from->split, karma_i_rows_all(copy), c.start};
        st = improve(subspace, &(lesson){part.rows, &part}, options, err);
    }
    karma_i_rows_free(copy);
    clear_chosen(&c);
    return st;
}

/* All rows, in place. */
static karma_status improve_in_place(karma_i_subspace *subspace, const karma_i_ppca_rows *from,
                                     const karma_i_ppca_options *options, karma_error *err) {
    size_t size = karma_i_partition_granule_rows(&from->split), n = karma_i_partition_n_granules(&from->split);
    size_t *start = karma_i_alloc(n + 1, sizeof *start);
    if (!start) return karma_i_fail_memory(err);
    for (size_t g = 0; g <= n; g++) start[g] = min_size(g * size, from->split.count);
    karma_i_ppca_part part = {from->split, from->here, start};
    karma_status st = improve(subspace, &(lesson){part.rows, &part}, options, err);
    karma_i_free(start);
    return st;
}

/* All rows, sorted if a copy is not too large. */
static karma_status improve_all(karma_i_subspace *subspace, const karma_i_ppca_rows *from,
                                const karma_i_ppca_options *options, karma_error *err) {
    size_t n = from->split.n_rows;
    int is_large = (double)n * (double)from->here.rows->n_features > MOST_COPIED_CELLS;
    if (from->sample.count < n)
        return is_large ? improve_in_place(subspace, from, options, err)
                        : improve_copies(subspace, from, n, options, err);
    if (is_large) return improve(subspace, &(lesson){from->sample, NULL}, options, err);
    karma_i_rows *copy = NULL;
    size_t *index = karma_i_alloc(n, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) index[i] = from->sample.first + i;
    karma_status st = sort_by_observed(index, n, from->sample.rows, err);
    if (st == KARMA_OK) st = karma_i_rows_new_like(&copy, from->sample.rows, n, err);
    if (st == KARMA_OK) st = karma_i_rows_gather(copy, from->sample.rows, index, n, err);
    if (st == KARMA_OK) st = improve(subspace, &(lesson){karma_i_rows_all(copy), NULL}, options, err);
    karma_i_rows_free(copy);
    karma_i_free(index);
    return st;
}

/* ---- the fit ---- */

/* Every process takes the result of rank 0, whose hooks may have stopped it a pass earlier. */
static karma_status share(karma_i_subspace *subspace, const karma_ranks *ranks, karma_error *err) {
    size_t d = subspace->n_features;
    karma_i_subspace head = *subspace;
    KARMA_TRY(karma_i_ranks_broadcast(&head, sizeof head, ranks, err));
    head.mean = subspace->mean;
    head.W = subspace->W;
    head.noise = subspace->noise;
    *subspace = head;
    KARMA_TRY(karma_i_ranks_broadcast(subspace->mean, d * sizeof *subspace->mean, ranks, err));
    KARMA_TRY(karma_i_ranks_broadcast(subspace->W, d * subspace->rank * sizeof *subspace->W, ranks, err));
    return karma_i_ranks_broadcast(subspace->noise, d * sizeof *subspace->noise, ranks, err);
}

static karma_status fit(karma_i_subspace **subspace, const karma_i_ppca_rows *rows, const karma_i_ppca_options *options,
                        karma_error *err) {
    size_t n = rows->split.n_rows, count = n;
    karma_i_ppca_options coarse = *options;
    coarse.history = NULL;
    coarse.tolerance = options->tolerance > SAMPLE_TOLERANCE ? options->tolerance : SAMPLE_TOLERANCE;
    KARMA_TRY(fit_samples(subspace, &count, rows->sample, n, &coarse, err));
    KARMA_TRY(share(*subspace, rows->split.ranks, err));
    for (; count < n; count = next_size(count, n)) {
        KARMA_TRY(improve_copies(*subspace, rows, count, &coarse, err));
        karma_i_subspace_nudge(*subspace, NUDGE * sqrt((*subspace)->sigma2), 1);
    }
    KARMA_TRY(improve_all(*subspace, rows, options, err));
    return rows->sample.count == n ? share(*subspace, rows->split.ranks, err) : KARMA_OK;
}

karma_status karma_i_ppca_fit_split(karma_i_subspace **out, const karma_i_ppca_rows *rows,
                                    const karma_i_ppca_options *options, karma_error *err) {
    if (!(options->most_passes >= 1) || !(options->tolerance >= 0.0) || !(options->threads >= 1))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a subspace needs at least one pass, one thread and a tolerance that is not negative");
    karma_i_subspace *subspace = NULL;
    karma_status st = fit(&subspace, rows, options, err);
    if (st == KARMA_OK)
        *out = subspace;
    else
        karma_i_subspace_free(subspace);
    return st;
}

karma_status karma_i_ppca_fit(karma_i_subspace **out, karma_i_view rows, const karma_i_ppca_options *options,
                              karma_error *err) {
    karma_i_ppca_rows all = {karma_i_partition_whole(rows.count), rows, rows};
    size_t count = karma_i_ppca_n_drawn(rows.count, rows.rows->n_features);
    if (count == rows.count) return karma_i_ppca_fit_split(out, &all, options, err);
    karma_i_rows *sample = NULL;
    size_t *index = karma_i_alloc(count, sizeof *index);
    karma_status st = index ? karma_i_ppca_draw(index, count, rows.count, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++) index[i] += rows.first;
    if (st == KARMA_OK) st = karma_i_rows_select_encoding(&sample, rows.rows, index, count, err);
    karma_i_free(index);
    if (st == KARMA_OK) {
        all.sample = karma_i_rows_all(sample);
        st = karma_i_ppca_fit_split(out, &all, options, err);
    }
    karma_i_rows_free(sample);
    return st;
}
