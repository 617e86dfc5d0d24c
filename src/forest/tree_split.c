#include "forest/tree_split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gains below this share of the node's score are rounding errors. */
static const double LEAST_GAIN = 1e-10;
/* Avoids a division by 0 if a side has no hessian, and therefore no gradient. */
static const double TINY = 1e-100;
enum { POWER_STEPS = 4 };

double karma_i_node_score(const karma_i_row_sums *sums, const uint64_t *words, double l2) {
    double score = 0.0;
    for (size_t k = 0; k < sums->n_gradients; k++) {
        double g = karma_i_sum_gradient(sums, words, k);
        double h = karma_i_sum_hessian(sums, words, sums->n_hessians == 1 ? 0 : k) + l2 + TINY;
        score += g * g / h;
    }
    return score;
}

/* The data common to the splits of a node by an attribute. */
typedef struct trial {
    const karma_i_row_sums *sums;
    const karma_i_split_rules *rules;
    const karma_i_node_sums *node;
    double l2;
} trial;

/* S(left) + S(right) of one output, with one division. */
static inline double both_scores(double g_left, double h_left, double g_right, double h_right) {
    return (g_left * g_left * h_right + g_right * g_right * h_left) / (h_left * h_right);
}

static double least_score(const karma_i_split *best, const karma_i_node_sums *node, double own_score) {
    return own_score + fmax(best->gain, LEAST_GAIN * node->score);
}

/* The side for cells that do not occur in the node: the one with more rows. */
static int left_is_heavier(const trial *t, size_t n_left) {
    return 2 * n_left > karma_i_sum_count(t->sums, t->node->words);
}

static double hessian_of_all_outputs(const trial *t, const uint64_t *words) {
    double sum = 0.0;
    for (size_t k = 0; k < t->sums->n_hessians; k++) sum += karma_i_sum_hessian(t->sums, words, k);
    return sum;
}

/* ---- prefixes ---- */

/* Bins in some order. Prefix p has the first p + 1 of them on the left, and `extra` (the missing cells) if that is not
 * NULL. */
typedef struct prefixes {
    size_t n;
    uint16_t bin[KARMA_I_MOST_BINS];
    size_t count[KARMA_I_MOST_BINS];   /* rows on the left, without the extra */
    double hessian[KARMA_I_MOST_BINS]; /* summed over the outputs */
    const uint64_t *extra;
    size_t first, end; /* prefixes that leave both sides enough rows and hessian: counts and hessians only grow */
} prefixes;

static void count_prefixes(prefixes *p, const trial *t, const uint64_t *cells) {
    size_t count = 0;
    double hessian = 0.0;
    for (size_t i = 0; i < p->n; i++) {
        const uint64_t *cell = cells + p->bin[i] * t->sums->n_words;
        p->count[i] = count += karma_i_sum_count(t->sums, cell);
        p->hessian[i] = hessian += hessian_of_all_outputs(t, cell);
    }
}

static void limit_prefixes(prefixes *p, const trial *t, const uint64_t *extra) {
    const karma_i_split_rules *rules = t->rules;
    size_t count = extra ? karma_i_sum_count(t->sums, extra) : 0;
    double hessian = extra ? hessian_of_all_outputs(t, extra) : 0.0;
    size_t all = karma_i_sum_count(t->sums, t->node->words);
    double whole = hessian_of_all_outputs(t, t->node->words);
    p->extra = extra;
    p->first = 0;
    while (p->first < p->n &&
           (p->count[p->first] + count < rules->least_rows || p->hessian[p->first] + hessian < rules->least_hessian))
        p->first++;
    p->end = p->n;
    while (p->end > p->first && (all < p->count[p->end - 1] + count + rules->least_rows ||
                                 whole - p->hessian[p->end - 1] - hessian < rules->least_hessian))
        p->end--;
}

/* S(left) + S(right) of every prefix from first to end. Sums are of whole numbers, then of doubles side by side. */
static void score_prefixes(double *score, const prefixes *p, const trial *t, const uint64_t *cells) {
    const karma_i_row_sums *sums = t->sums;
    double g_left[KARMA_I_MOST_BINS], h_left[KARMA_I_MOST_BINS], l2 = t->l2;
    for (size_t i = p->first; i < p->end; i++) score[i] = 0.0;
    for (size_t k = 0; k < sums->n_gradients; k++) {
        size_t h = sums->n_hessians == 1 ? 0 : k, h_word = sums->n_gradients + h;
        unsigned shift = h == 0 ? sums->count_bits : 0;
        uint64_t g_sum = p->extra ? p->extra[k] : 0, h_sum = p->extra ? p->extra[h_word] : 0;
        double g_unit = sums->gradient_unit[k], h_unit = sums->hessian_unit[h];
        for (size_t i = 0; i < p->end; i++) {
            const uint64_t *cell = cells + p->bin[i] * sums->n_words;
            g_sum += cell[k];
            h_sum += cell[h_word];
            g_left[i] = (double)(int64_t)g_sum * g_unit;
            h_left[i] = (double)(int64_t)(h_sum >> shift) * h_unit;
        }
        double g_all = karma_i_sum_gradient(sums, t->node->words, k);
        double h_all = karma_i_sum_hessian(sums, t->node->words, h);
        for (size_t i = p->first; i < p->end; i++)
            score[i] += both_scores(g_left[i], h_left[i] + l2, g_all - g_left[i], h_all - h_left[i] + l2);
    }
}

/* The first of the prefixes with the largest score above *most, which is replaced; n if there is none. */
static size_t best_prefix(double *most, const prefixes *p, const double *score) {
    size_t best = p->n;
    for (size_t i = p->first; i < p->end; i++)
        if (score[i] > *most) {
            *most = score[i];
            best = i;
        }
    return best;
}

/* ---- numbers ---- */

static void split_number(karma_i_split *best, size_t attribute, const trial *t, const uint64_t *cells,
                         const karma_i_bins *bins) {
    size_t n_bins = bins->n_bins[attribute], n_words = t->sums->n_words, n_missing = karma_i_sum_count(t->sums, cells);
    const uint8_t *byte = bins->byte + attribute * KARMA_I_MOST_BINS;
    double score[KARMA_I_MOST_BINS], most = least_score(best, t->node, t->node->score);
    prefixes p;
    p.n = 0;
    memset(p.bin, 0, sizeof p.bin);
    for (size_t b = 1; b < n_bins; b++) {
        p.bin[p.n] = (uint16_t)b;
        p.n += karma_i_sum_count(t->sums, cells + b * n_words) > 0;
    }
    count_prefixes(&p, t, cells);
    size_t found = p.n;
    int missing_left = 0;
    for (int side = 0; side < (n_missing > 0 ? 2 : 1); side++) {
        limit_prefixes(&p, t, side ? cells : NULL);
        score_prefixes(score, &p, t, cells);
        size_t i = best_prefix(&most, &p, score);
        if (i == p.n) continue;
        found = i;
        missing_left = side;
    }
    if (found == p.n) return;
    size_t n_left = p.count[found] + (missing_left ? n_missing : 0);
    if (n_missing == 0) missing_left = left_is_heavier(t, p.count[found]);
    *best =
        (karma_i_split){.gain = most - t->node->score, .attribute = (uint32_t)attribute, .n_left = (uint32_t)n_left};
    best->threshold =
        found + 1 < p.n ? (uint8_t)((byte[p.bin[found]] + byte[p.bin[found + 1]]) / 2) : KARMA_I_MOST_BINS - 1;
    for (size_t b = 1; b < n_bins && byte[b] <= best->threshold; b++) karma_i_bin_set_add(&best->left, b);
    if (missing_left) karma_i_bin_set_add(&best->left, 0);
}

/* ---- categories ---- */

typedef struct level {
    double key;
    size_t bin;
} level;

static int by_key(const void *a, const void *b) {
    const level *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->bin < y->bin ? -1 : 1;
}

/* The mean gradient of a bin in output k. */
static double wanted(const trial *t, const uint64_t *cell, size_t k) {
    size_t h = t->sums->n_hessians == 1 ? 0 : k;
    double per_row =
        karma_i_sum_hessian(t->sums, t->node->words, h) / (double)karma_i_sum_count(t->sums, t->node->words);
    double hessian = karma_i_sum_hessian(t->sums, cell, h) + t->rules->smoothing * per_row;
    return hessian > 0.0 ? karma_i_sum_gradient(t->sums, cell, k) / hessian : 0.0;
}

/* One step of the power method for the main direction of the bins' gradients, weighted by rows:
 * v ← Σ_b n_b m_b (m_b · v), normalised. */
static void power_step(double *v, const trial *t, const uint64_t *cells, const level *levels, size_t n) {
    size_t D = t->sums->n_gradients, n_words = t->sums->n_words;
    double next[KARMA_I_MOST_TREE_OUTPUTS] = {0.0}, m[KARMA_I_MOST_TREE_OUTPUTS], square = 0.0;
    for (size_t l = 0; l < n; l++) {
        const uint64_t *cell = cells + levels[l].bin * n_words;
        double along = 0.0;
        for (size_t k = 0; k < D; k++) {
            m[k] = wanted(t, cell, k);
            along += m[k] * v[k];
        }
        along *= (double)karma_i_sum_count(t->sums, cell);
        for (size_t k = 0; k < D; k++) next[k] += along * m[k];
    }
    for (size_t k = 0; k < D; k++) square += next[k] * next[k];
    if (square > 0.0)
        for (size_t k = 0; k < D; k++) v[k] = next[k] / sqrt(square);
}

/* Starts the power method with the output whose gradients differ most between bins. v: zeros. */
static void main_direction(double *v, const trial *t, const uint64_t *cells, const level *levels, size_t n) {
    size_t D = t->sums->n_gradients, first = 0;
    double most = -1.0;
    for (size_t k = 0; k < D; k++) {
        double spread = 0.0;
        for (size_t l = 0; l < n; l++) {
            const uint64_t *cell = cells + levels[l].bin * t->sums->n_words;
            double m = wanted(t, cell, k);
            spread += m * m * (double)karma_i_sum_count(t->sums, cell);
        }
        if (spread > most) most = spread, first = k;
    }
    v[first] = 1.0;
    for (int step = 0; D > 1 && step < POWER_STEPS; step++) power_step(v, t, cells, levels, n);
}

/* The present bins in order; returns their number. */
static size_t order_levels(level *levels, const trial *t, const uint64_t *cells, size_t n_bins) {
    double v[KARMA_I_MOST_TREE_OUTPUTS] = {0.0};
    size_t n = 0;
    for (size_t b = 0; b < n_bins; b++)
        if (karma_i_sum_count(t->sums, cells + b * t->sums->n_words) > 0) levels[n++].bin = b;
    main_direction(v, t, cells, levels, n);
    for (size_t l = 0; l < n; l++) {
        levels[l].key = 0.0;
        for (size_t k = 0; k < t->sums->n_gradients; k++)
            levels[l].key += v[k] * wanted(t, cells + levels[l].bin * t->sums->n_words, k);
    }
    qsort(levels, n, sizeof *levels, by_key);
    return n;
}

static void split_category(karma_i_split *best, size_t attribute, trial *t, const uint64_t *cells,
                           const karma_i_bins *bins) {
    level levels[KARMA_I_MOST_BINS];
    double score[KARMA_I_MOST_BINS];
    prefixes p;
    p.n = order_levels(levels, t, cells, bins->n_bins[attribute]);
    if (p.n > 2) t->l2 += t->rules->category_l2;
    double own = p.n > 2 ? karma_i_node_score(t->sums, t->node->words, t->l2) : t->node->score;
    double most = least_score(best, t->node, own);
    memset(p.bin, 0, sizeof p.bin);
    for (size_t l = 0; l < p.n; l++) p.bin[l] = (uint16_t)levels[l].bin;
    count_prefixes(&p, t, cells);
    limit_prefixes(&p, t, NULL);
    score_prefixes(score, &p, t, cells);
    size_t found = best_prefix(&most, &p, score);
    if (found == p.n) return;
    *best = (karma_i_split){.gain = most - own, .attribute = (uint32_t)attribute, .n_left = (uint32_t)p.count[found]};
    uint8_t side[KARMA_I_MOST_BINS];
    memset(side, left_is_heavier(t, p.count[found]), sizeof side);
    for (size_t l = 0; l < p.n; l++) side[p.bin[l]] = l <= found;
    for (size_t b = 0; b < bins->n_bins[attribute]; b++)
        if (side[b]) karma_i_bin_set_add(&best->left, b);
}

void karma_i_split_by(karma_i_split *best, size_t attribute, const uint64_t *cells, const karma_i_bins *bins,
                      const karma_i_node_sums *node, const karma_i_row_sums *sums, const karma_i_split_rules *rules) {
    trial t = {.sums = sums, .rules = rules, .node = node, .l2 = rules->l2 + TINY};
    if (karma_i_is_category(&bins->levels, attribute))
        split_category(best, attribute, &t, cells, bins);
    else
        split_number(best, attribute, &t, cells, bins);
}
