/* EM for probabilistic principal components of incomplete rows (model and E-step: posterior.h).
 *
 * M-step. With z̃ = (1, z) and the expectations under the old parameters, the best (μ_f, w_f) of a feature f, μ_f the
 * change of its mean, solves least squares over the rows that observe it,
 *
 *     A_j (μ_f, w_f) = g_f,     A_j = Σ_{i observes j} E[z̃ z̃ᵀ],     g_f = Σ_i c_if E[z̃],
 *
 * one matrix for all features of an attribute j, and σ² = (Σ c² - Σ_f (μ_f, w_f)·g_f) / number of values.
 *
 * Factor analysis: the same difference, taken over the features of one attribute, is the variance of its noise. It is
 * shrunk towards that of all attributes, as if PRIOR_VALUES more values with the common noise had been seen: few values
 * must not show a noise near 0, which would pull the directions to this one column. The values come divided by √v
 * (posterior.h), so (μ_f, w_f) is multiplied by √v_f, and the new variance by v_f.
 *
 * Expanded parameters (PX-EM; Liu, Rubin, Wu 1998). Were z ~ N(m, S), the same step would also set m and S to mean and
 * covariance of E[z] and E[zzᵀ] over the rows. That model is ours with mean + W m for mean and W S^½ for W. So the
 * likelihood still never falls, and it rises much faster: the length of W need not converge slowly.
 *
 * The statistics are sums over rows, taken in the same order whatever thread does it. Rows that observe the same
 * attributes have the same covariance. Where they come one after the other, it is computed once, and their second
 * moments are added up before they go to the attributes: so the rows of a sample are put in the order of what they
 * observe. */
#include "subspace/ppca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "subspace/estep.h"

/* σ² stays above this share of the cells' variance: sums that cancel down to it then still have seven of their sixteen
 * digits, and rows without noise are completed to four or five. */
#define LEAST_SHARE 1e-9

/* What is added to W, in units of σ, when a sample's subspace goes on to more rows: nothing is then exactly 0, where EM
 * would stay forever. */
#define NUDGE 0.01

/* Values with the common noise that every attribute has beside its own. */
#define PRIOR_VALUES 10.0

enum {
    MOST_BATCH = 8192, /* rows; sums depend on where batches end, so threads have no part in it */
    LEAST_BATCH = 256,
    BATCH_BYTES = 1 << 23, /* of moments and cells: they stay in cache until they are added up */
    RANGE_BYTES = 1 << 15, /* of statistics that a thread adds to */
    MOST_RANGES = 16,      /* unless there are more threads */
    THINNING = 8,          /* a sample has one row in so many */
    LEAST_SAMPLE = 2000    /* rows */
};

/* A copy of so many cells is no burden. */
#define MOST_COPIED_CELLS 2e7

/* Passes over samples need not be exact. */
#define SAMPLE_TOLERANCE 1e-4

struct karma_i_ppca_stats {
    size_t n_attributes, n_features, rank;
    int threads;
    karma_i_estep estep; /* of a batch */
    double *second;      /* A_j; the last, n_attributes, is over all rows that observe anything */
    double *cross;       /* g_f */
    double *explained;   /* (μ_f, w_f)·g_f */
    double *own_square;  /* Σ c² of each attribute */
    double square;       /* Σ c² */
    double log_likelihood;
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
    karma_i_free(stats->second);
    karma_i_free(stats->cross);
    karma_i_free(stats->explained);
    karma_i_free(stats->own_square);
    karma_i_free(stats);
}

/* Rows of a batch and ranges of attributes: they decide about speed only. */
static size_t batch_rows(const karma_i_ppca_stats *stats, const karma_i_rows *like) {
    size_t row_bytes = sizeof(double) * (karma_i_packed_size(stats->rank + 1) + stats->n_features);
    size_t rows = min_size(MOST_BATCH, BATCH_BYTES / row_bytes);
    if (like->n_rows) rows = min_size(rows, like->n_rows);
    return karma_i_padded(max_size(rows, LEAST_BATCH));
}
static size_t n_ranges(const karma_i_ppca_stats *stats) {
    size_t bytes = sizeof(double) * karma_i_packed_size(stats->rank + 1) * (stats->n_attributes + 1);
    return max_size(min_size(bytes / RANGE_BYTES + 1, MOST_RANGES), (size_t)stats->threads);
}

static size_t second_size(const karma_i_ppca_stats *stats) {
    return (stats->n_attributes + 1) * stats->estep.posterior.second_stride;
}
static size_t cross_size(const karma_i_ppca_stats *stats) {
    return stats->n_features * stats->estep.posterior.z_stride;
}

static karma_status make_room(karma_i_ppca_stats *stats, const karma_i_rows *like, karma_error *err) {
    KARMA_TRY(karma_i_estep_init(&stats->estep, like, stats->rank, batch_rows(stats, like), n_ranges(stats),
                                 stats->threads, err));
    stats->second = karma_i_alloc_aligned(second_size(stats), sizeof *stats->second);
    stats->cross = karma_i_alloc_aligned(cross_size(stats), sizeof *stats->cross);
    stats->explained = karma_i_alloc(stats->n_features, sizeof *stats->explained);
    stats->own_square = karma_i_alloc(stats->n_attributes, sizeof *stats->own_square);
    if (stats->second && stats->cross && stats->explained && stats->own_square) return KARMA_OK;
    return karma_i_fail_memory(err);
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
    memset(stats->second, 0, second_size(stats) * sizeof *stats->second);
    memset(stats->cross, 0, cross_size(stats) * sizeof *stats->cross);
    memset(stats->own_square, 0, stats->n_attributes * sizeof *stats->own_square);
    stats->square = stats->log_likelihood = 0.0;
}

/* Σ c² of the attributes of a range, over the rows of a batch in their order. */
static void add_squares(karma_i_ppca_stats *stats, size_t n_rows, size_t range) {
    const karma_i_cell_lists *cells = &stats->estep.cells;
    const size_t *start = stats->estep.loadings.feature_start;
    for (size_t i = 0; i < n_rows; i++) {
        karma_i_cell_range attributes = karma_i_range_attributes(cells, i, range);
        const double *x = cells->x + karma_i_range_features(cells, i, range).first;
        for (size_t c = 0; c < attributes.count; c++) {
            size_t j = cells->attribute[attributes.first + c];
            if (j == stats->n_attributes) break; /* the row itself */
            for (size_t f = start[j]; f < start[j + 1]; f++, x++) stats->own_square[j] += *x * *x;
        }
    }
}

/* A batch: first each row alone, then each attribute over the rows. */
static void add_batch(karma_i_ppca_stats *stats, karma_i_view batch) {
    karma_i_estep *estep = &stats->estep;
#pragma omp parallel num_threads(stats->threads)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < batch.count; i++) karma_i_estep_list(estep, batch, i);
#pragma omp single
        karma_i_cell_lists_find_runs(&estep->cells, batch.count);
#pragma omp for schedule(dynamic)
        for (size_t run = 0; run < estep->cells.n_runs; run += KARMA_I_LANES) karma_i_estep_runs(estep, run);
#pragma omp for schedule(dynamic)
        for (size_t range = 0; range < estep->cells.n_ranges; range++) {
            estep->path->accumulate(stats->second, stats->cross, &estep->posterior, &estep->cells, batch.count, range);
            add_squares(stats, batch.count, range);
        }
    }
    for (size_t i = 0; i < batch.count; i++) {
        stats->log_likelihood += estep->posterior.log_density[i] - estep->half_log[i];
        stats->square += estep->posterior.square[i];
    }
}

karma_status karma_i_ppca_add_rows(karma_i_ppca_stats *stats, karma_i_view rows, karma_error *err) {
    karma_i_cell_lists *cells = &stats->estep.cells;
    for (size_t i = 0; i < rows.count; i += cells->most_rows) {
        karma_i_view batch = {rows.rows, rows.first + i, min_size(cells->most_rows, rows.count - i)};
        KARMA_TRY(karma_i_cell_lists_reserve(cells, batch, err));
        add_batch(stats, batch);
    }
    return KARMA_OK;
}

double karma_i_ppca_log_likelihood(const karma_i_ppca_stats *stats) {
    return stats->log_likelihood;
}

/* A_j begins with the number of its rows. */
static const double *second_of(const karma_i_ppca_stats *stats, size_t attribute) {
    return stats->second + attribute * stats->estep.posterior.second_stride;
}

size_t karma_i_ppca_n_values(const karma_i_ppca_stats *stats) {
    const size_t *start = stats->estep.loadings.feature_start;
    double n = 0.0;
    for (size_t j = 0; j < stats->n_attributes; j++) n += *second_of(stats, j) * (double)(start[j + 1] - start[j]);
    return (size_t)n;
}

void karma_i_ppca_merge(karma_i_ppca_stats *stats, const karma_i_ppca_stats *other) {
    for (size_t k = 0; k < second_size(stats); k++) stats->second[k] += other->second[k];
    for (size_t k = 0; k < cross_size(stats); k++) stats->cross[k] += other->cross[k];
    for (size_t j = 0; j < stats->n_attributes; j++) stats->own_square[j] += other->own_square[j];
    stats->square += other->square;
    stats->log_likelihood += other->log_likelihood;
}

/* ---- M-step ---- */

/* The features of attribute j; what no row observes stays as it was. */
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

/* σ² = what is left of the squares, per value. */
static void set_equal_noise(karma_i_subspace *subspace, const karma_i_ppca_stats *stats) {
    double left = stats->square;
    for (size_t f = 0; f < stats->n_features; f++) left -= stats->explained[f];
    size_t n = karma_i_ppca_n_values(stats);
    if (n == 0) return;
    double sigma2 = left / (double)n;
    subspace->sigma2 = sigma2 > subspace->least_sigma2 ? sigma2 : subspace->least_sigma2;
}

/* What is left of the squares of attribute j, in the units of the data, and how many values they are of. */
static double left_of(double *n_values, const karma_i_ppca_stats *stats, size_t j) {
    const karma_i_loadings *old = &stats->estep.loadings;
    size_t first = old->feature_start[j], end = old->feature_start[j + 1];
    double left = stats->own_square[j];
    *n_values = *second_of(stats, j) * (double)(end - first);
    if (!(*n_values > 0.0)) return 0.0;
    for (size_t f = first; f < end; f++) left -= stats->explained[f];
    return fmax(left, 0.0) / (old->scale[first] * old->scale[first]);
}

/* σ² = what is left of all squares per value, σ² v_j = the same of attribute j, shrunk towards it. */
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
    double n = total[0], *m = stats->estep.scratch, *S = m + r;  /* no team works here: the first one's */
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
#pragma omp parallel for num_threads(stats->threads) schedule(static)
    for (size_t j = 0; j < stats->n_attributes; j++) regress(subspace, stats, j);
    if (has_own_noise)
        set_own_noise(subspace, stats);
    else
        set_equal_noise(subspace, stats);
    absorb_latent(subspace, stats);
}

/* ---- fitting ---- */

/* Without components EM is at its end after two passes: the means, and the variance about them. (One pass gives both,
 * but the variance as a difference of what may be much larger.) */
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
    /* as long as the data: from a short W weak components would need many passes to appear, which looks like
     * convergence */
    karma_i_subspace_nudge(subspace, sqrt(subspace->sigma2), 1);
    *out = subspace;
    return KARMA_OK;
}

/* Passes over all the rows until they gain nothing any more. */
static karma_status improve(karma_i_subspace *subspace, karma_i_view rows, const karma_i_ppca_options *options,
                            karma_error *err) {
    karma_i_ppca_stats *stats = NULL;
    KARMA_TRY(karma_i_ppca_stats_new(&stats, rows.rows, options->rank, options->threads, err));
    karma_status st = KARMA_OK;
    for (size_t pass = 0; st == KARMA_OK; pass++) {
        karma_i_ppca_begin(stats, subspace);
        st = karma_i_ppca_add_rows(stats, rows, err);
        double before = subspace->log_likelihood;
        subspace->log_likelihood = karma_i_ppca_log_likelihood(stats);
        subspace->n_values = karma_i_ppca_n_values(stats);
        subspace->n_passes = pass + 1;
        if (options->history) options->history[pass] = subspace->log_likelihood;
        double gain = subspace->log_likelihood - before;
        subspace->is_converged = pass > 0 && gain <= options->tolerance * (double)subspace->n_values;
        /* the last pass only evaluates: the subspace is the one that its likelihood belongs to */
        if (subspace->is_converged || pass + 1 >= options->most_passes ||
            karma_i_progress(options->hooks, "subspace", pass + 1, options->most_passes))
            break;
        if (st == KARMA_OK) karma_i_ppca_finish(subspace, stats, options->has_own_noise);
    }
    karma_i_ppca_stats_free(stats);
    return st;
}

/* ---- samples ----
 *
 * Many rows: the subspace of a sample is found for a fraction of the cost and is nearly that of all rows. So the start
 * is looked for among few rows, the first passes are over some more, the next over THINNING times as many, until few
 * passes over all of them are left to do. */

/* The rows in random order; samples are its beginnings. Drawn at random, since rows may be in a periodic order. NULL:
 * out of memory. */
static size_t *shuffled(karma_i_view rows) {
    size_t *index = karma_i_alloc(rows.count, sizeof *index);
    karma_i_rng rng;
    if (!index) return NULL;
    for (size_t i = 0; i < rows.count; i++) index[i] = rows.first + i;
    karma_i_rng_init(&rng, 1);
    karma_i_rng_shuffle(&rng, index, rows.count);
    return index;
}

/* A row and what it observes, in short. */
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

/* No sample is smaller. */
static size_t least_sample(karma_i_view rows, size_t rank) {
    return max_size(LEAST_SAMPLE, 4 * max_size(rows.rows->n_features, rank));
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
        st = *subspace ? improve(*subspace, all, options, err)
                       : karma_i_ppca_anneal(subspace, all, options->rank, options->threads, options->hooks, err);
    karma_i_rows_free(sample);
    if (st == KARMA_OK) karma_i_subspace_nudge(*subspace, NUDGE * sqrt((*subspace)->sigma2), 1);
    return st;
}

static karma_status fit_samples(karma_i_subspace **subspace, karma_i_view rows, const karma_i_ppca_options *options,
                                karma_error *err) {
    size_t *index = shuffled(rows), least = least_sample(rows, options->rank), count = rows.count;
    karma_i_ppca_options coarse = *options;
    coarse.history = NULL;
    coarse.tolerance = options->tolerance > SAMPLE_TOLERANCE ? options->tolerance : SAMPLE_TOLERANCE;
    karma_status st =
        index ? fit_sample(subspace, rows.rows, index, min_size(least, count), &coarse, err) : karma_i_fail_memory(err);
    while (count / THINNING >= least) count /= THINNING;
    for (; count < rows.count && st == KARMA_OK;
         count = count * THINNING <= rows.count / THINNING ? count * THINNING : rows.count)
        st = fit_sample(subspace, rows.rows, index, count, &coarse, err);
    karma_i_free(index);
    return st;
}

/* All rows, put in order too where a copy of them is not large. */
static karma_status improve_all(karma_i_subspace *subspace, karma_i_view rows, const karma_i_ppca_options *options,
                                karma_error *err) {
    if ((double)rows.count * (double)rows.rows->n_features > MOST_COPIED_CELLS)
        return improve(subspace, rows, options, err);
    karma_i_rows *copy = NULL;
    size_t *index = karma_i_alloc(rows.count, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t i = 0; i < rows.count; i++) index[i] = rows.first + i;
    karma_status st = sort_by_observed(index, rows.count, rows.rows, err);
    if (st == KARMA_OK) st = karma_i_rows_new_like(&copy, rows.rows, rows.count, err);
    if (st == KARMA_OK) st = karma_i_rows_gather(copy, rows.rows, index, rows.count, err);
    if (st == KARMA_OK) st = improve(subspace, karma_i_rows_all(copy), options, err);
    karma_i_rows_free(copy);
    karma_i_free(index);
    return st;
}

karma_status karma_i_ppca_fit(karma_i_subspace **out, karma_i_view rows, const karma_i_ppca_options *options,
                              karma_error *err) {
    if (!(options->most_passes >= 1) || !(options->tolerance >= 0.0) || !(options->threads >= 1))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a subspace needs at least one pass, one thread and a tolerance that is not negative");
    karma_i_subspace *subspace = NULL;
    karma_status st = fit_samples(&subspace, rows, options, err);
    if (st == KARMA_OK) st = improve_all(subspace, rows, options, err);
    if (st == KARMA_OK)
        *out = subspace;
    else
        karma_i_subspace_free(subspace);
    return st;
}
