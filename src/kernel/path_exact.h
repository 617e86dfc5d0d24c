/* Tiles in double precision, for certificates and exact features. Sums over codes and ranks are sums of integers. The
 * rows of b are laid out column by column, so that the compiler can vectorise the loops over them. */
#ifndef KARMA_I_PATH_EXACT_H
#define KARMA_I_PATH_EXACT_H

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/kernel.h"
#include "kernel/path_body.h"
#include "linalg/cholesky.h"

/* So many ranks add up to at most 256 · 254 in 16 bits; of codes, each adds 1. */
enum { EXACT_AT_A_TIME = 256, EXACT_ALIGNMENT = 64 };

/* Where the parts of the scratch start, in bytes. */
typedef struct exact_plan {
    size_t values_a, values_b, masks, ranks, codes, bytes;
} exact_plan;

static size_t exact_part(exact_plan *plan, size_t bytes) {
    size_t at = plan->bytes;
    plan->bytes += (bytes + EXACT_ALIGNMENT - 1) / EXACT_ALIGNMENT * EXACT_ALIGNMENT;
    return at;
}

static exact_plan plan_exact(const karma_i_pairs *p) {
    exact_plan plan = {0};
    size_t n_values = karma_i_pairs_n_values(p);
    plan.values_a = exact_part(&plan, p->n_a * n_values * sizeof(double));
    plan.values_b = exact_part(&plan, p->n_b * n_values * sizeof(double));
    plan.masks = exact_part(&plan, KARMA_I_EXACT_COLUMNS * p->n_words * sizeof(uint64_t));
    plan.ranks = exact_part(&plan, KARMA_I_EXACT_COLUMNS * p->rank_stride);
    plan.codes = exact_part(&plan, KARMA_I_EXACT_COLUMNS * p->n_codes * sizeof(uint16_t));
    return plan;
}

static size_t exact_scratch(const karma_i_pairs *p) {
    return plan_exact(p).bytes;
}

/* [features | Q | O] of a meets [features | O | Q] of b in one product. */
static void exact_products(double *sums, const karma_i_pairs *p, double *a, double *b) {
    size_t n_values = karma_i_pairs_n_values(p), n = p->n_features, t = p->n_terms;
    for (size_t k = 0; k < p->n_a * n_values; k++) a[k] = (double)p->values_a[k];
    for (size_t j = 0; j < p->n_b; j++) {
        const float *from = p->values_b + j * n_values;
        double *to = b + j * n_values;
        for (size_t k = 0; k < n; k++) to[k] = (double)from[k];
        for (size_t k = 0; k < t; k++) {
            to[n + k] = (double)from[n + t + k];
            to[n + t + k] = (double)from[n + k];
        }
    }
    karma_i_product_nt(sums, a, b, p->n_a, n_values, p->n_b);
}

/* Columns beyond the last row of b stay as they are; what they give is not used. */
static void lay_out_columns(const karma_i_pairs *p, uint64_t *masks, uint8_t *ranks, uint16_t *codes) {
    for (size_t j = 0; j < p->n_b; j++) {
        for (size_t w = 0; w < p->n_words; w++) masks[w * KARMA_I_EXACT_COLUMNS + j] = p->masks_b[j * p->n_words + w];
        for (size_t k = 0; k < p->rank_stride; k++)
            ranks[k * KARMA_I_EXACT_COLUMNS + j] = p->ranks_b[j * p->rank_stride + k];
        for (size_t k = 0; k < p->n_codes; k++)
            codes[k * KARMA_I_EXACT_COLUMNS + j] = comparable(p->codes_b[j * p->n_codes + k]);
    }
}

/* out[j] = Σ_w |own[w] ∩ only[w] ∩ word w of column j|; only NULL: all. */
static void count_common(uint32_t *restrict out, const uint64_t *own, const uint64_t *only,
                         const uint64_t *restrict masks, size_t n_words) {
    uint64_t sums[KARMA_I_EXACT_COLUMNS] = {0};
    for (size_t w = 0; w < n_words; w++) {
        uint64_t word = only ? own[w] & only[w] : own[w];
        const uint64_t *column = masks + w * KARMA_I_EXACT_COLUMNS;
        for (size_t j = 0; j < KARMA_I_EXACT_COLUMNS; j++) sums[j] += karma_i_popcount(word & column[j]);
    }
    for (size_t j = 0; j < KARMA_I_EXACT_COLUMNS; j++) out[j] = (uint32_t)sums[j];
}

/* out[j] += Σ_k |own[k] - rank k of column j| where both are not 0. Without branches, or the loop is not vectorised. */
static void add_differences(uint32_t *restrict out, const uint8_t *restrict own, const uint8_t *restrict ranks,
                            size_t n) {
    for (size_t first = 0; first < n; first += EXACT_AT_A_TIME) {
        uint16_t sums[KARMA_I_EXACT_COLUMNS] = {0};
        size_t end = n - first < EXACT_AT_A_TIME ? n : first + EXACT_AT_A_TIME;
        for (size_t k = first; k < end; k++) {
            const uint8_t *column = ranks + k * KARMA_I_EXACT_COLUMNS;
            if (own[k] == 0) continue;
            for (size_t j = 0; j < KARMA_I_EXACT_COLUMNS; j++) {
                uint8_t v = column[j], u = (uint8_t)(own[k] & -(v != 0));
                uint8_t high = u > v ? u : v, low = u > v ? v : u;
                sums[j] = (uint16_t)(sums[j] + (uint8_t)(high - low));
            }
        }
        for (size_t j = 0; j < KARMA_I_EXACT_COLUMNS; j++) out[j] += sums[j];
    }
}

/* out[j] += Σ_k [own[k] = code k of column j] */
static void add_equal(uint32_t *restrict out, const uint16_t *restrict own, const uint16_t *restrict codes, size_t n) {
    for (size_t first = 0; first < n; first += EXACT_AT_A_TIME) {
        uint16_t sums[KARMA_I_EXACT_COLUMNS] = {0};
        size_t end = n - first < EXACT_AT_A_TIME ? n : first + EXACT_AT_A_TIME;
        for (size_t k = first; k < end; k++) {
            uint16_t code = own[k];
            const uint16_t *column = codes + k * KARMA_I_EXACT_COLUMNS;
            for (size_t j = 0; j < KARMA_I_EXACT_COLUMNS; j++) sums[j] = (uint16_t)(sums[j] + (column[j] == code));
        }
        for (size_t j = 0; j < KARMA_I_EXACT_COLUMNS; j++) out[j] += sums[j];
    }
}

static void exact_tile(double *sums, uint32_t *overlaps, const karma_i_pairs *p, void *scratch) {
    exact_plan plan = plan_exact(p);
    char *at = scratch;
    uint64_t *masks = (uint64_t *)(void *)(at + plan.masks);
    uint8_t *ranks = (uint8_t *)(at + plan.ranks);
    uint16_t *codes = (uint16_t *)(void *)(at + plan.codes);
    exact_products(sums, p, (double *)(void *)(at + plan.values_a), (double *)(void *)(at + plan.values_b));
    lay_out_columns(p, masks, ranks, codes);
    for (size_t i = 0; i < p->n_a; i++) {
        uint32_t common[KARMA_I_EXACT_COLUMNS], counts[KARMA_I_EXACT_COLUMNS] = {0};
        uint32_t differences[KARMA_I_EXACT_COLUMNS] = {0}, equal[KARMA_I_EXACT_COLUMNS] = {0};
        const uint64_t *mask = p->masks_a + i * p->n_words;
        double *row = sums + i * p->n_b;
        count_common(common, mask, NULL, masks, p->n_words);
        memcpy(overlaps + i * p->n_b, common, p->n_b * sizeof *common);
        if (p->rank_stride) {
            count_common(counts, mask, p->ranked, masks, p->n_words);
            add_differences(differences, p->ranks_a + i * p->rank_stride, ranks, p->rank_stride);
        }
        add_equal(equal, p->codes_a + i * p->n_codes, codes, p->n_codes);
        for (size_t j = 0; j < p->n_b; j++)
            row[j] += (double)equal[j] + p->rank_base * (double)counts[j] - p->rank_step * (double)differences[j];
    }
}

/* --- outer maps ------------------------------------------------------------------------------------------- */

#define EXACT_ROUNDING 1e-14

/* e^-t within a few units in the last place, for t from 0 to MOST_EXACT_DISTANCE: as exp_of_minus, with more terms. */
#define MOST_EXACT_DISTANCE 700.0
static double exact_exp_of_minus(double t) {
    union {
        int64_t bits;
        double value;
    } power;
    int32_t n = (int32_t)(t * -1.4426950408889634 - 0.5);
    double x = (double)n, r = (x * -0.693147180369123816490 - t) - x * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    power.bits = (int64_t)(n + 1023) * (INT64_C(1) << 52);
    return p * power.value;
}

static void map_exact(double *cells, size_t n, const karma_i_map *map, double own, const double *other) {
    double width = map->width, g = 1.0 / (map->spread * width * width);
    if (map->kind != KARMA_OUTER_RBF && map->kind != KARMA_OUTER_LAPLACE) {
        for (size_t j = 0; j < n; j++) cells[j] = karma_i_map_value(map, cells[j], own, other[j]);
        return;
    }
    for (size_t j = 0; j < n; j++) {
        double squares = own + other[j], distance = squares - 2.0 * cells[j];
        distance -= EXACT_ROUNDING * squares; /* what is left of equal rows by rounding is not a distance */
        cells[j] = distance > 0.0 ? g * distance : 0.0;
    }
    if (map->kind == KARMA_OUTER_LAPLACE)
        for (size_t j = 0; j < n; j++) cells[j] = sqrt(cells[j]);
    for (size_t j = 0; j < n; j++) cells[j] = cells[j] < MOST_EXACT_DISTANCE ? cells[j] : MOST_EXACT_DISTANCE;
    for (size_t j = 0; j < n; j++) cells[j] = exact_exp_of_minus(cells[j]);
}

#endif
