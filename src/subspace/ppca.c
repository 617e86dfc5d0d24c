/* EM for probabilistic principal components of incomplete rows (model and E-step: posterior.h).
 *
 * M-step. With z̃ = (1, z) and the expectations under the old parameters, the best (μ_f, w_f) of a feature f, μ_f the
 * change of its mean, solves least squares over the rows that observe it,
 *
 *     A_j (μ_f, w_f) = g_f,     A_j = Σ_{i observes j} E[z̃ z̃ᵀ],     g_f = Σ_i c_if E[z̃],
 *
 * one matrix for all features of an attribute j, and σ² = (Σ c² - Σ_f (μ_f, w_f)·g_f) / number of values.
 *
 * Factor analysis: the same difference over the features of one attribute is the variance of its noise. It is
 * shrunk towards that of all attributes, as if PRIOR_VALUES more values with the common noise had been seen:
 * otherwise few values could give a noise near 0, which would pull the directions towards this one column.
 * The values come divided by √v (posterior.h), so (μ_f, w_f) is multiplied by √v_f, and the new variance by
 * v_f.
 *
 * Expanded parameters (PX-EM; Liu, Rubin, Wu 1998). Were z ~ N(m, S), the same step would also set m and S to mean and
 * covariance of E[z] and E[zzᵀ] over the rows. That model is ours with mean + W m for mean and W S^½ for W.
 * So the likelihood still never falls, and it rises much faster, because the length of W no longer converges
 * slowly.
 *
 * The statistics are sums over rows in a fixed order, whichever thread computes them: from the first row to
 * the last, or granule by granule along a tree (base/partition.h), so that they do not depend on the
 * processes either. Rows that observe the same attributes have the same covariance. If they are consecutive,
 * it is computed once, and their second moments are added up before they go to the attributes (ppca_fit.c
 * puts them in such an order). */
#include "subspace/ppca.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "subspace/estep.h"

/* σ² stays above this share of the cells' variance. Sums that cancel down to it then keep seven of their
 * sixteen digits, and rows without noise are completed to four or five digits. */
#define LEAST_SHARE 1e-9

/* Prior values with the common noise that are added to the values of every attribute. */
#define PRIOR_VALUES 10.0

enum {
    MOST_BATCH = 8192, /* rows; sums depend on where batches end, so it must not depend on threads */
    LEAST_BATCH = 256,
    BATCH_BYTES = 1 << 20, /* of moments and cells: they stay in cache until they are summed */
    RANGE_BYTES = 1 << 20, /* of statistics that a thread adds to */
    MOST_RANGES = 16       /* unless there are more threads */
};

/* Rows of a batch that are summed together: all of it, or a piece of one granule. */
typedef struct stretch {
    size_t end;         /* row of the batch; the first is the end of the stretch before */
    size_t end_run;     /* the same of runs */
    double *sums;       /* where to */
    int is_first;       /* of a granule: the sums begin with 0 */
    int waits;          /* sums by pattern wait for the end of the pass */
    size_t n_additions; /* after the last of a granule (karma_i_tree_pass) */
} stretch;

/* The layout of the sums. */
typedef struct layout {
    size_t cross, own_square, square, log_likelihood, width;
} layout;

struct karma_i_ppca_stats {
    size_t n_attributes, n_features, rank;
    int threads;
    karma_i_estep estep; /* of a batch */
    stretch *stretches;
    size_t n_stretches, stretch_capacity;
    size_t *group, n_groups; /* runs that are estimated together: from group[k] to group[k + 1] */
    layout at;
    double *sums;
    /* Σ E[z̃ z̃ᵀ] by pattern (cell_lists.h), not yet in A_j; NULL if each attribute is its own pattern. In passes over
     * parts of the rows they wait for the end, since the bits of a sum depend on its order. */
    double *by_pattern;
    int has_waiting;
    /* parts of the sums */
    double *second;     /* A_j; the last, n_attributes, is over all rows that observe anything */
    double *cross;      /* g_f */
    double *own_square; /* Σ c² of each feature */
    double *explained;  /* (μ_f, w_f)·g_f; not a sum over rows */
};

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}
static size_t max_size(size_t a, size_t b) {
    return a > b ? a : b;
}

/* ---- subspaces ---- */

void karma_i_subspace_free(karma_i_subspace *subspace) {
    if (!subspace) return;
    karma_i_free(subspace->mean);
    karma_i_free(subspace->W);
    karma_i_free(subspace->noise);
    karma_i_free(subspace);
}

static karma_status new_subspace(karma_i_subspace **out, size_t n_features, size_t rank, karma_error *err) {
    karma_i_subspace *subspace = karma_i_zalloc(1, sizeof *subspace);
    if (!subspace) return karma_i_fail_memory(err);
    subspace->n_features = n_features;
    subspace->rank = rank;
    subspace->sigma2 = 1.0;
    subspace->mean = karma_i_zalloc(n_features, sizeof *subspace->mean);
    subspace->W = karma_i_zalloc(n_features, rank * sizeof *subspace->W);
    subspace->noise = karma_i_alloc(n_features, sizeof *subspace->noise);
    if (!subspace->mean || !subspace->W || !subspace->noise) {
        karma_i_subspace_free(subspace);
        return karma_i_fail_memory(err);
    }
    for (size_t f = 0; f < n_features; f++) subspace->noise[f] = 1.0;
    *out = subspace;
    return KARMA_OK;
}

void karma_i_subspace_nudge(karma_i_subspace *subspace, double scale, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    for (size_t k = 0; k < subspace->n_features * subspace->rank; k++)
        subspace->W[k] += scale * karma_i_rng_normal(&rng);
}

/* ---- statistics ---- */

void karma_i_ppca_stats_free(karma_i_ppca_stats *stats) {
    if (!stats) return;
    karma_i_estep_clear(&stats->estep);
    karma_i_free(stats->stretches);
    karma_i_free(stats->group);
    karma_i_free(stats->sums);
    karma_i_free(stats->by_pattern);
    karma_i_free(stats->explained);
    karma_i_free(stats);
}

/* Rows of a batch and ranges of attributes: they affect speed only. */
static size_t batch_rows(const karma_i_ppca_stats *stats, const karma_i_rows *like) {
    size_t row_bytes = sizeof(double) * (karma_i_packed_size(stats->rank + 1) + stats->n_features);
    size_t rows = min_size(MOST_BATCH, BATCH_BYTES / row_bytes);
    if (like->n_rows) rows = min_size(rows, like->n_rows);
    return karma_i_padded(max_size(rows, LEAST_BATCH));
}
static size_t n_ranges(const karma_i_ppca_stats *stats) {
    size_t size = karma_i_posterior_group_size(stats->n_attributes, stats->rank);
    size_t bytes =
        sizeof(double) * karma_i_packed_size(stats->rank + 1) * karma_i_n_patterns(stats->n_attributes, size);
    return max_size(min_size(bytes / RANGE_BYTES + 1, MOST_RANGES), (size_t)stats->threads);
}

/* Every part begins on a cache line. */
static layout lay_out(const karma_i_ppca_stats *stats) {
    layout at = {.cross = (stats->n_attributes + 1) * stats->estep.posterior.second_stride};
    at.own_square = at.cross + stats->n_features * stats->estep.posterior.z_stride;
    at.square = at.own_square + karma_i_padded(stats->n_features);
    at.log_likelihood = at.square + 1;
    at.width = at.square + KARMA_I_LANES;
    return at;
}

static size_t n_sums_by_pattern(const karma_i_ppca_stats *stats) {
    return karma_i_n_patterns(stats->n_attributes, stats->estep.cells.group_size) *
           stats->estep.posterior.second_stride;
}

static karma_status make_room(karma_i_ppca_stats *stats, const karma_i_rows *like, karma_error *err) {
    KARMA_TRY(karma_i_estep_init(&stats->estep, like, stats->rank, batch_rows(stats, like), n_ranges(stats),
                                 stats->threads, err));
    stats->at = lay_out(stats);
    stats->sums = karma_i_alloc_aligned(stats->at.width, sizeof *stats->sums);
    stats->group = karma_i_alloc(stats->estep.cells.most_rows + 1, sizeof *stats->group);
    stats->explained = karma_i_alloc(stats->n_features, sizeof *stats->explained);
    if (!stats->sums || !stats->group || !stats->explained) return karma_i_fail_memory(err);
    if (stats->estep.cells.group_size > 1) {
        stats->by_pattern = karma_i_alloc_aligned(n_sums_by_pattern(stats), sizeof *stats->by_pattern);
        if (!stats->by_pattern) return karma_i_fail_memory(err);
        memset(stats->by_pattern, 0, n_sums_by_pattern(stats) * sizeof *stats->by_pattern);
    }
    stats->second = stats->sums;
    stats->cross = stats->sums + stats->at.cross;
    stats->own_square = stats->sums + stats->at.own_square;
    return KARMA_OK;
}

karma_status karma_i_ppca_stats_new(karma_i_ppca_stats **out, const karma_i_rows *like, size_t rank, int threads,
                                    karma_error *err) {
    karma_i_ppca_stats *stats = karma_i_zalloc(1, sizeof *stats);
    if (!stats) return karma_i_fail_memory(err);
    stats->n_attributes = like->n_attributes;
    stats->n_features = like->n_features;
    stats->rank = rank;
    stats->threads = threads;
    karma_status st = make_room(stats, like, err);
    if (st == KARMA_OK)
        *out = stats;
    else
        karma_i_ppca_stats_free(stats);
    return st;
}

void karma_i_ppca_begin(karma_i_ppca_stats *stats, const karma_i_subspace *subspace) {
    karma_i_estep_set(&stats->estep, subspace);
    memset(stats->sums, 0, stats->at.width * sizeof *stats->sums);
    if (stats->has_waiting) memset(stats->by_pattern, 0, n_sums_by_pattern(stats) * sizeof *stats->by_pattern);
    stats->has_waiting = 0;
}

/* Σ c² of the features of a range, over some rows of a batch in their order. */
static void add_squares(double *own_square, const karma_i_ppca_stats *stats, size_t first, size_t end, size_t range) {
    const karma_i_cell_lists *cells = &stats->estep.cells;
    for (size_t i = first; i < end; i++) {
        karma_i_cell_range features = karma_i_range_features(cells, i, range);
        for (size_t c = features.first; c < features.first + features.count; c++)
            own_square[cells->feature[c]] += cells->x[c] * cells->x[c];
    }
}

static void add_numbers(double *to, const double *from, size_t n) {
    for (size_t k = 0; k < n; k++) to[k] += from[k];
}

/* The sums of attributes first to end, a multiple of the size of a group, from those of their patterns, which become 0.
 * The sums of the sets with the highest attribute of a group are added to it, and to the sets without it, until only
 * sets of one attribute are left. */
static void settle_attributes(karma_i_ppca_stats *stats, double *second, size_t first, size_t end) {
    size_t size = stats->estep.cells.group_size, per_group = karma_i_group_patterns(size);
    size_t stride = stats->estep.posterior.second_stride;
    for (size_t j = first; j < end; j += size) {
        double *sets = stats->by_pattern + j / size * per_group * stride; /* set s is at (s - 1) · stride */
        for (size_t k = size; k-- > 0;) {
            double *alone = sets + (((size_t)1 << k) - 1) * stride, *rest = sets, *both = alone + stride;
            for (; rest < alone; rest += stride, both += stride) {
                add_numbers(alone, both, stride);
                add_numbers(rest, both, stride);
            }
            if (j + k < end) add_numbers(second + (j + k) * stride, alone, stride);
        }
        memset(sets, 0, per_group * stride * sizeof *sets);
    }
}

static void settle(karma_i_ppca_stats *stats) {
    if (stats->has_waiting) settle_attributes(stats, stats->second, 0, stats->n_attributes + 1);
    stats->has_waiting = 0;
}

/* The sums [first, end): 0 at the start of a granule, ... */
static void open_slice(const stretch *s, size_t first, size_t end) {
    if (s->is_first) memset(s->sums + first, 0, (end - first) * sizeof *s->sums);
}
/* ... and added along the tree after its end. */
static void close_slice(const stretch *s, size_t width, size_t first, size_t end) {
    double *from = s->sums + first;
    for (size_t k = 0; k < s->n_additions; k++, from -= width) add_numbers(from - width, from, end - first);
}

/* The sums of a range of attributes over all stretches of a batch. */
static void add_range(karma_i_ppca_stats *stats, size_t range) {
    const karma_i_estep *estep = &stats->estep;
    const karma_i_cell_lists *cells = &estep->cells;
    const size_t *start = estep->loadings.feature_start, d = stats->n_attributes;
    size_t j0 = range ? cells->range_end[range - 1] : 0, j1 = cells->range_end[range];
    size_t f0 = start[min_size(j0, d)], f1 = start[min_size(j1, d)];
    const size_t second_stride = estep->posterior.second_stride, z_stride = estep->posterior.z_stride;
    const size_t slices[3][2] = {
        {j0 * second_stride, j1 * second_stride},
        {stats->at.cross + f0 * z_stride, stats->at.cross + f1 * z_stride},
        {stats->at.own_square + f0, stats->at.own_square + f1},
    };
    for (size_t k = 0, row = 0, run = 0; k < stats->n_stretches; k++) {
        const stretch *s = &stats->stretches[k];
        for (int part = 0; part < 3; part++) open_slice(s, slices[part][0], slices[part][1]);
        estep->path->accumulate(stats->by_pattern ? stats->by_pattern : s->sums, s->sums + stats->at.cross,
                                &estep->posterior, cells, run, s->end_run, range);
        if (stats->by_pattern && !s->waits) settle_attributes(stats, s->sums, j0, j1);
        add_squares(s->sums + stats->at.own_square, stats, row, s->end, range);
        for (int part = 0; part < 3; part++) close_slice(s, stats->at.width, slices[part][0], slices[part][1]);
        row = s->end;
        run = s->end_run;
    }
}

static void add_scalars(karma_i_ppca_stats *stats) {
    const karma_i_estep *estep = &stats->estep;
    for (size_t k = 0, row = 0; k < stats->n_stretches; k++) {
        const stretch *s = &stats->stretches[k];
        open_slice(s, stats->at.square, stats->at.width);
        for (; row < s->end; row++) {
            s->sums[stats->at.log_likelihood] += estep->posterior.log_density[row] - estep->half_log[row];
            s->sums[stats->at.square] += estep->posterior.square[row];
        }
        close_slice(s, stats->at.width, stats->at.square, stats->at.width);
    }
}

/* Neither runs nor groups of runs cross the end of a stretch: the result for a row must not depend on the
 * rows of another process. */
static void find_groups(karma_i_ppca_stats *stats) {
    karma_i_cell_lists *cells = &stats->estep.cells;
    size_t row = 0, run = 0;
    stats->n_groups = cells->n_runs = 0;
    for (size_t k = 0; k < stats->n_stretches; k++) {
        stretch *s = &stats->stretches[k];
        karma_i_cell_lists_find_runs(cells, row, s->end);
        s->end_run = cells->n_runs;
        for (; run < s->end_run; run = min_size(run + KARMA_I_LANES, s->end_run)) stats->group[stats->n_groups++] = run;
        row = s->end;
    }
    stats->group[stats->n_groups] = run;
}

/* A batch: first each row alone, then each attribute over the rows. */
static void add_batch(karma_i_ppca_stats *stats, karma_i_view batch) {
    karma_i_estep *estep = &stats->estep;
#pragma omp parallel num_threads(stats->threads)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < batch.count; i++) karma_i_estep_list(estep, batch, i);
#pragma omp single
        find_groups(stats);
#pragma omp for schedule(dynamic)
        for (size_t k = 0; k < stats->n_groups; k++) karma_i_estep_runs(estep, stats->group[k], stats->group[k + 1]);
#pragma omp for schedule(dynamic)
        for (size_t range = 0; range < estep->cells.n_ranges; range++) add_range(stats, range);
    }
    add_scalars(stats);
}

static karma_status add_stretch(karma_i_ppca_stats *stats, stretch s, karma_error *err) {
    if (!karma_i_reserve(&stats->stretches, &stats->stretch_capacity, stats->n_stretches + 1, sizeof s))
        return karma_i_fail_memory(err);
    stats->stretches[stats->n_stretches++] = s;
    return KARMA_OK;
}

/* The last stretch ends with the batch. */
static karma_status add_stretches(karma_i_ppca_stats *stats, karma_i_view batch, karma_error *err) {
    KARMA_TRY(karma_i_cell_lists_reserve(&stats->estep.cells, batch, err));
    add_batch(stats, batch);
    stats->n_stretches = 0;
    return KARMA_OK;
}

karma_status karma_i_ppca_add_rows(karma_i_ppca_stats *stats, karma_i_view rows, karma_error *err) {
    size_t most = stats->estep.cells.most_rows;
    stats->n_stretches = 0;
    stats->has_waiting = stats->by_pattern != NULL;
    for (size_t i = 0; i < rows.count; i += most) {
        karma_i_view batch = {rows.rows, rows.first + i, min_size(most, rows.count - i)};
        KARMA_TRY(add_stretch(stats, (stretch){.end = batch.count, .sums = stats->sums, .waits = 1}, err));
        KARMA_TRY(add_stretches(stats, batch, err));
    }
    return KARMA_OK;
}

/* Goes through the granules of this process, as many at a time as fit a batch. A granule larger than a batch
 * is always cut at the same rows. */
static karma_status add_granules(karma_i_ppca_stats *stats, karma_i_tree *tree, const karma_i_ppca_part *part,
                                 karma_error *err) {
    size_t most = stats->estep.cells.most_rows, n_granules = karma_i_partition_n_granules(&part->split);
    karma_i_view batch = {part->rows.rows, part->rows.first, 0};
    stats->n_stretches = 0;
    for (size_t g = 0; g < n_granules; g++) {
        size_t left = part->start[g + 1] - part->start[g], n_additions;
        stretch s = {.sums = karma_i_tree_pass(tree, &n_additions), .is_first = 1};
        do {
            size_t count = min_size(left, most);
            if (batch.count + count > most) {
                KARMA_TRY(add_stretches(stats, batch, err));
                batch.first += batch.count;
                batch.count = 0;
            }
            s.end = batch.count += count;
            left -= count;
            s.n_additions = left ? 0 : n_additions;
            KARMA_TRY(add_stretch(stats, s, err));
            s.is_first = 0;
        } while (left);
    }
    return stats->n_stretches ? add_stretches(stats, batch, err) : KARMA_OK;
}

karma_status karma_i_ppca_add_part(karma_i_ppca_stats *stats, const karma_i_ppca_part *part, karma_error *err) {
    karma_i_tree tree;
    karma_status st = karma_i_tree_begin(&tree, stats->at.width, &part->split, err);
    if (st == KARMA_OK) st = add_granules(stats, &tree, part, err);
    if (st == KARMA_OK) st = karma_i_tree_total(stats->sums, &tree, &part->split, err);
    karma_i_tree_clear(&tree);
    return st;
}

double karma_i_ppca_log_likelihood(const karma_i_ppca_stats *stats) {
    return stats->sums[stats->at.log_likelihood];
}

/* A_j begins with the number of its rows. */
static const double *second_of(const karma_i_ppca_stats *stats, size_t attribute) {
    return stats->second + attribute * stats->estep.posterior.second_stride;
}

static size_t count_values(const karma_i_ppca_stats *stats) {
    const size_t *start = stats->estep.loadings.feature_start;
    double n = 0.0;
    for (size_t j = 0; j < stats->n_attributes; j++) n += *second_of(stats, j) * (double)(start[j + 1] - start[j]);
    return (size_t)n;
}

size_t karma_i_ppca_n_values(karma_i_ppca_stats *stats) {
    settle(stats);
    return count_values(stats);
}

void karma_i_ppca_merge(karma_i_ppca_stats *stats, karma_i_ppca_stats *other) {
    settle(stats);
    settle(other);
    add_numbers(stats->sums, other->sums, stats->at.width);
}

/* ---- M-step ---- */

/* Updates the features of attribute j; a feature that no row observes keeps its values. */
static void regress(karma_i_subspace *subspace, karma_i_ppca_stats *stats, size_t j) {
    const karma_i_loadings *old = &stats->estep.loadings;
    size_t r = stats->rank, size = karma_i_packed_size(r + 1);
    double *factor = karma_i_estep_scratch(&stats->estep), *solution = factor + size;
    int is_observed = *second_of(stats, j) > 0.0;
    memcpy(factor, second_of(stats, j), size * sizeof *factor);
    karma_i_packed_cholesky(factor, r + 1);
    for (size_t f = old->feature_start[j]; f < old->feature_start[j + 1]; f++) {
        const double *g = stats->cross + f * stats->estep.posterior.z_stride;
        stats->explained[f] = 0.0;
        if (!is_observed) continue;
        memcpy(solution, g, (r + 1) * sizeof *solution);
        karma_i_packed_solve(solution, factor, r + 1);
        for (size_t k = 0; k <= r; k++) stats->explained[f] += solution[k] * g[k];
        subspace->mean[f] = old->mean[f] + solution[0] / old->scale[f];
        for (size_t k = 0; k < r; k++) subspace->W[f * r + k] = solution[k + 1] / old->scale[f];
    }
}

/* σ² = residual sum of squares per value. */
static void set_equal_noise(karma_i_subspace *subspace, const karma_i_ppca_stats *stats) {
    double left = stats->sums[stats->at.square];
    for (size_t f = 0; f < stats->n_features; f++) left -= stats->explained[f];
    size_t n = count_values(stats);
    if (n == 0) return;
    double sigma2 = left / (double)n;
    subspace->sigma2 = sigma2 > subspace->least_sigma2 ? sigma2 : subspace->least_sigma2;
}

/* The residual sum of squares of attribute j, in the units of the data, and its number of values. */
static double left_of(double *n_values, const karma_i_ppca_stats *stats, size_t j) {
    const karma_i_loadings *old = &stats->estep.loadings;
    size_t first = old->feature_start[j], end = old->feature_start[j + 1];
    double left = 0.0;
    *n_values = *second_of(stats, j) * (double)(end - first);
    if (!(*n_values > 0.0)) return 0.0;
    for (size_t f = first; f < end; f++) left += stats->own_square[f] - stats->explained[f];
    return fmax(left, 0.0) / (old->scale[first] * old->scale[first]);
}

/* σ² = residual sum of squares per value; σ² v_j = the same for attribute j, shrunk towards σ². */
static void set_own_noise(karma_i_subspace *subspace, const karma_i_ppca_stats *stats) {
    const size_t *start = stats->estep.loadings.feature_start;
    double total = 0.0, n_total = 0.0, n;
    for (size_t j = 0; j < stats->n_attributes; j++) {
        total += left_of(&n, stats, j);
        n_total += n;
    }
    if (!(n_total > 0.0)) return;
    subspace->sigma2 = fmax(total / n_total, subspace->least_sigma2);
    for (size_t j = 0; j < stats->n_attributes; j++) {
        double left = left_of(&n, stats, j), own = (left + PRIOR_VALUES * subspace->sigma2) / (n + PRIOR_VALUES);
        for (size_t f = start[j]; f < start[j + 1]; f++)
            subspace->noise[f] = fmax(own, subspace->least_sigma2) / subspace->sigma2;
    }
}

/* Expanded parameters: mean + W m and W S^½, m and S mean and covariance of z over the rows. */
static void absorb_latent(karma_i_subspace *subspace, const karma_i_ppca_stats *stats) {
    size_t r = stats->rank;
    const double *total = second_of(stats, stats->n_attributes); /* n; Σz_1, Σz_1²; Σz_2, Σz_2z_1, Σz_2²; ... */
    double n = total[0], *m = stats->estep.scratch,
           *S = m + r; /* outside parallel loops: the scratch of the first thread */
    if (!(n > 0.0)) return;
    for (size_t k = 0; k < r; k++) {
        const double *row = total + karma_i_packed_size(k + 1);
        m[k] = row[0] / n;
        for (size_t l = 0; l <= k; l++) S[karma_i_packed_size(k) + l] = row[l + 1] / n - m[k] * m[l];
    }
    karma_i_packed_cholesky(S, r);
    for (size_t f = 0; f < subspace->n_features; f++) {
        double *w = subspace->W + f * r;
        for (size_t l = 0; l < r; l++) {
            subspace->mean[f] += w[l] * m[l];
            double sum = 0.0;
            for (size_t k = l; k < r; k++) sum += w[k] * S[karma_i_packed_size(k) + l];
            w[l] = sum;
        }
    }
}

void karma_i_ppca_finish(karma_i_subspace *subspace, karma_i_ppca_stats *stats, int has_own_noise) {
    settle(stats);
#pragma omp parallel for num_threads(stats->threads) schedule(static)
    for (size_t j = 0; j < stats->n_attributes; j++) regress(subspace, stats, j);
    if (has_own_noise)
        set_own_noise(subspace, stats);
    else
        set_equal_noise(subspace, stats);
    absorb_latent(subspace, stats);
}

/* ---- fitting ---- */

/* Without components EM ends after two passes: the means, then the variance about them. (One pass could give
 * both, but the variance as a difference of possibly much larger numbers.) */
static karma_status set_moments(karma_i_subspace *subspace, karma_i_view rows, int threads, karma_error *err) {
    karma_i_ppca_stats *stats = NULL;
    karma_i_subspace plain = *subspace;
    plain.rank = 0;
    KARMA_TRY(karma_i_ppca_stats_new(&stats, rows.rows, 0, threads, err));
    karma_status st = KARMA_OK;
    for (int pass = 0; pass < 2 && st == KARMA_OK; pass++) {
        karma_i_ppca_begin(stats, &plain);
        st = karma_i_ppca_add_rows(stats, rows, err);
        plain.sigma2 = 0.0;
        if (st == KARMA_OK) karma_i_ppca_finish(&plain, stats, 0);
        if (!(plain.sigma2 > 0.0)) plain.sigma2 = 1.0; /* nothing observed, or nothing varies */
    }
    karma_i_ppca_stats_free(stats);
    subspace->sigma2 = plain.sigma2;
    return st;
}

karma_status karma_i_ppca_start(karma_i_subspace **out, karma_i_view rows, size_t rank, int threads, karma_error *err) {
    karma_i_subspace *subspace = NULL;
    KARMA_TRY(new_subspace(&subspace, rows.rows->n_features, rank, err));
    karma_status st = set_moments(subspace, rows, threads, err);
    if (st != KARMA_OK) {
        karma_i_subspace_free(subspace);
        return st;
    }
    subspace->least_sigma2 = LEAST_SHARE * subspace->sigma2;
    /* on the scale of the data: from a short W weak components would take many passes to appear, which looks
     * like convergence */
    karma_i_subspace_nudge(subspace, sqrt(subspace->sigma2), 1);
    *out = subspace;
    return KARMA_OK;
}
