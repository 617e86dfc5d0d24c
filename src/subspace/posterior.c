/* Memory and layout for the loops of posterior_body.h, and which of them this machine can run. */
#include "subspace/posterior.h"

#include <math.h>
#include <string.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/mem.h"
#include "subspace/posterior_list.h"

#ifdef KARMA_X86_PATHS
const karma_i_posterior_path *const *karma_i_posterior_paths(void) {
    static const karma_i_posterior_path *const all[] = {&karma_i_posterior_avx512, &karma_i_posterior_avx2,
                                                        &karma_i_posterior_portable, NULL};
    if (karma_i_has_avx512()) return all;
    return karma_i_has_avx2() ? all + 1 : all + 2;
}
#else
const karma_i_posterior_path *const *karma_i_posterior_paths(void) {
    static const karma_i_posterior_path *const all[] = {&karma_i_posterior_portable, NULL};
    return all;
}
#endif

/* Tables of patterns are read and written at random, so they should stay in the second cache. */
#define MOST_TABLE_BYTES ((size_t)1 << 20)

size_t karma_i_posterior_group_size(size_t n_attributes, size_t rank) {
    size_t size = KARMA_I_MOST_GROUPED, row = karma_i_padded(karma_i_packed_size(rank + 1)) * sizeof(double);
    if (n_attributes > KARMA_I_MOST_PATTERN_ATTRIBUTES) return 1;
    while (size > 1 && karma_i_n_patterns(n_attributes, size) * row > MOST_TABLE_BYTES) size /= 2;
    return size;
}

karma_status karma_i_loadings_init(karma_i_loadings *loadings, const karma_i_rows *like, size_t rank, size_t group_size,
                                   karma_error *err) {
    size_t d = like->n_features, n_attributes = like->n_attributes;
    *loadings = (karma_i_loadings){.rank = rank,
                                   .n_attributes = n_attributes,
                                   .n_features = d,
                                   .group_size = group_size,
                                   .W_stride = karma_i_padded(rank),
                                   .outer_stride = karma_i_padded(karma_i_packed_size(rank))};
    loadings->W = karma_i_alloc_aligned(d, loadings->W_stride * sizeof *loadings->W);
    loadings->outer = karma_i_alloc_aligned(karma_i_n_patterns(n_attributes, group_size),
                                            loadings->outer_stride * sizeof *loadings->outer);
    loadings->mean = karma_i_alloc(d, sizeof *loadings->mean);
    loadings->scale = karma_i_alloc(d, sizeof *loadings->scale);
    loadings->half_log = karma_i_alloc(d, sizeof *loadings->half_log);
    loadings->feature_start = karma_i_alloc(n_attributes + 1, sizeof *loadings->feature_start);
    if (!loadings->W || !loadings->outer || !loadings->mean || !loadings->scale || !loadings->half_log ||
        !loadings->feature_start) {
        karma_i_loadings_clear(loadings);
        return karma_i_fail_memory(err);
    }
    memcpy(loadings->feature_start, like->feature_start, (n_attributes + 1) * sizeof *loadings->feature_start);
    return KARMA_OK;
}

void karma_i_loadings_clear(karma_i_loadings *loadings) {
    karma_i_free(loadings->W);
    karma_i_free(loadings->outer);
    karma_i_free(loadings->mean);
    karma_i_free(loadings->scale);
    karma_i_free(loadings->half_log);
    karma_i_free(loadings->feature_start);
    *loadings = (karma_i_loadings){0};
}

/* Adds w wᵀ / σ². */
static void add_outer(double *outer, const double *w, size_t rank, double sigma2) {
    for (size_t k = 0; k < rank; k++)
        for (size_t l = 0; l <= k; l++) *outer++ += w[k] * w[l] / sigma2;
}

/* Set by set, from a smaller set and its lowest attribute. The sets of one attribute are known. */
static void add_up_sets(double *outer, size_t stride, size_t group_size) {
    for (size_t set = 1; set <= karma_i_group_patterns(group_size); set++) {
        size_t lowest = set & (~set + 1), rest = set - lowest;
        if (rest == 0) continue;
        for (size_t q = 0; q < stride; q++)
            outer[(set - 1) * stride + q] = outer[(rest - 1) * stride + q] + outer[(lowest - 1) * stride + q];
    }
}

static void set_outer(karma_i_loadings *loadings, const double *W, double sigma2, const double *noise) {
    size_t r = loadings->rank, stride = loadings->outer_stride, size = loadings->group_size;
    size_t n = karma_i_n_patterns(loadings->n_attributes, size), per_group = karma_i_group_patterns(size);
    memset(loadings->outer, 0, n * stride * sizeof *W);
    for (size_t j = 0; j < loadings->n_attributes; j++) {
        size_t pattern = j / size * per_group + ((size_t)1 << j % size) - 1;
        for (size_t f = loadings->feature_start[j]; f < loadings->feature_start[j + 1]; f++)
            add_outer(loadings->outer + pattern * stride, W + f * r, r, noise ? sigma2 * noise[f] : sigma2);
    }
    for (size_t p = 0; p < n; p += per_group) add_up_sets(loadings->outer + p * stride, stride, size);
}

static void set_scales(karma_i_loadings *loadings, const double *noise) {
    loadings->is_scaled = 0;
    for (size_t f = 0; f < loadings->n_features; f++) {
        double v = noise ? noise[f] : 1.0;
        loadings->scale[f] = 1.0 / sqrt(v);
        loadings->half_log[f] = 0.5 * log(v);
        loadings->is_scaled |= v != 1.0;
    }
}

void karma_i_loadings_set(karma_i_loadings *loadings, const double *mean, const double *W, double sigma2,
                          const double *noise) {
    size_t r = loadings->rank;
    set_scales(loadings, noise);
    loadings->sigma2 = sigma2;
    memcpy(loadings->mean, mean, loadings->n_features * sizeof *mean);
    memset(loadings->W, 0, loadings->n_features * loadings->W_stride * sizeof *W);
    for (size_t f = 0; f < loadings->n_features; f++)
        for (size_t k = 0; k < r; k++)
            loadings->W[f * loadings->W_stride + k] = loadings->scale[f] * W[f * r + k] / sigma2;
    set_outer(loadings, W, sigma2, noise);
}

karma_status karma_i_posterior_init(karma_i_posterior *posterior, size_t rank, size_t most_rows, karma_error *err) {
    size_t z_stride = karma_i_padded(rank + 1), second_stride = karma_i_padded(karma_i_packed_size(rank + 1));
    *posterior =
        (karma_i_posterior){.rank = rank, .most_rows = most_rows, .z_stride = z_stride, .second_stride = second_stride};
    posterior->z = karma_i_alloc_aligned(most_rows, z_stride * sizeof *posterior->z);
    posterior->second = karma_i_alloc_aligned(most_rows, second_stride * sizeof *posterior->second);
    posterior->log_density = karma_i_alloc(most_rows, sizeof *posterior->log_density);
    posterior->square = karma_i_alloc(most_rows, sizeof *posterior->square);
    if (!posterior->z || !posterior->second || !posterior->log_density || !posterior->square) {
        karma_i_posterior_clear(posterior);
        return karma_i_fail_memory(err);
    }
    /* the padding stays 0 */
    memset(posterior->z, 0, most_rows * z_stride * sizeof *posterior->z);
    memset(posterior->second, 0, most_rows * second_stride * sizeof *posterior->second);
    return KARMA_OK;
}

void karma_i_posterior_clear(karma_i_posterior *posterior) {
    karma_i_free(posterior->z);
    karma_i_free(posterior->second);
    karma_i_free(posterior->log_density);
    karma_i_free(posterior->square);
    *posterior = (karma_i_posterior){0};
}

/* The layout of posterior_body.h: a row of sums for each lane, then by lane two packed matrices and three
 * vectors. */
size_t karma_i_posterior_scratch(size_t rank) {
    size_t packed = karma_i_packed_size(rank);
    return KARMA_I_LANES * (karma_i_padded(packed) + 2 * packed + 3 * rank);
}
