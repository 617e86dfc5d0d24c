/* Gram tiles for processors with wide registers. The including file defines VECTOR_BYTES and STRIP, and then defines
 * weights_of, weights_at, counts_of, differences_of and count_equal.
 *
 * Panels of PANEL rows of b are packed so that the values of one feature stand side by side; they stay in cache while
 * strips of STRIP rows of a go past them, each past all panels in turn, so that cells are written in long runs. The
 * products of a strip and a panel live in registers; their weights are looked up when they are done, so that every cell
 * is written once. This costs as much as a matrix product of this shape, plus a few instructions for the overlaps of a
 * whole register of cells. (OpenBLAS would do for the product, but it does not know all new processors, and on those it
 * does not know it falls back to the oldest instructions: measured six times slower.) */
#ifndef KARMA_I_PATH_VECTOR_H
#define KARMA_I_PATH_VECTOR_H

#include "kernel/path_body.h"

#include <string.h>

enum {
    WIDTH = VECTOR_BYTES / 4,
    PANEL = 2 * WIDTH, /* rows of b at a time: two registers */
    DEPTH = 512,       /* columns of values at a time */
    WORDS = 16,        /* the longest mask that is packed */
    RANKS = 1024,      /* the longest row of ranks that is packed */
    CODES = 512,       /* the longest row of codes that is packed; their counts fit 16 bits */
    MOST_PANELS = 16   /* side by side */
};

typedef float vector __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t code_vector __attribute__((vector_size(VECTOR_BYTES))); /* one code of each row of a panel */

/* PANEL rows of b, packed. */
typedef struct panel {
    float *values;   /* by column, then row; Q and O have changed places */
    uint64_t *masks; /* by word, then row; if they are narrow, `PANEL` numbers of 32 bits */
    int is_narrow;   /* masks are one word, of which only the low half has bits */
    /* eight ranks of one row side by side, then of the next row; and 255 where a rank is not 0 */
    uint64_t *ranks, *has_rank;
    uint16_t *codes; /* by slot, then row */
} panel;

/* One code of each row of a strip. */
typedef struct strip_code {
    uint32_t twice[STRIP];
} strip_code;

/* How the scratch of a tile is divided: panels side by side, and the codes of the strip at work. */
typedef struct scratch_plan {
    size_t at_once;                                            /* panels */
    size_t values, masks, ranks, has_rank, codes, strip_codes; /* where they start, in bytes */
    size_t bytes;
} scratch_plan;

/* A strip's cells against a panel. */
typedef struct strip_cells {
    _Alignas(VECTOR_BYTES) float cells[STRIP][PANEL];
} strip_cells;

/* out[j] = weight[Σ_w |mask[w] ∩ panel word w of row j|]; masks have at most WORDS words */
static void weights_of(float out[PANEL], const uint64_t *mask, const panel *p, const karma_i_pairs *pairs);
/* out[j] = weight[counts[j]] */
static void weights_at(float out[PANEL], const uint32_t counts[PANEL], const karma_i_pairs *pairs);
/* out[j] = Σ_w |mask[w] ∩ panel word w of row j| */
static void counts_of(uint32_t out[PANEL], const uint64_t *mask, const panel *p, size_t n_words);
/* out[j] = Σ |rank - rank of row j| over 8 n_eights ranks where both are not 0 */
static void differences_of(uint32_t out[PANEL], const uint8_t *ranks, const panel *p, size_t n_eights);
/* counts, with 1 added where a code equals the one that `twice` holds in both halves */
static code_vector count_equal(code_vector counts, code_vector codes, uint32_t twice);

static size_t at_most(size_t n, size_t most) {
    return n < most ? n : most;
}

/* Columns first to end of the values of b become columns to, to + 1, ... of the panel. Rows of b beyond the last are
 * zeros. */
static void pack_columns(panel *p, const karma_i_pairs *pairs, size_t j, size_t to, size_t first, size_t end) {
    size_t count = at_most(pairs->n_b - j, PANEL), n_values = karma_i_pairs_n_values(pairs);
    float *out = p->values + to * PANEL;
    for (size_t r = 0; r < count; r++) {
        const float *row = pairs->values_b + (j + r) * n_values + first;
        for (size_t k = 0; k < end - first; k++) out[k * PANEL + r] = row[k];
    }
    for (size_t r = count; r < PANEL; r++)
        for (size_t k = 0; k < end - first; k++) out[k * PANEL + r] = 0.0F;
}

/* The `depth` columns from f on of [features | O | Q], which a's [features | Q | O] meets in one product. */
static void pack_values(panel *p, const karma_i_pairs *pairs, size_t j, size_t f, size_t depth) {
    size_t n = pairs->n_features, t = pairs->n_terms;
    const struct {
        size_t first, end, from; /* columns first to end of the panel are columns from, from + 1, ... of b */
    } runs[] = {{0, n, 0}, {n, n + t, n + t}, {n + t, n + 2 * t, n}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        size_t first = runs[i].first > f ? runs[i].first : f, end = at_most(runs[i].end, f + depth);
        if (first >= end) continue;
        size_t from = runs[i].from + first - runs[i].first;
        pack_columns(p, pairs, j, first - f, from, from + end - first);
    }
}

static void pack_masks(panel *p, const karma_i_pairs *pairs, size_t j) {
    size_t count = at_most(pairs->n_b - j, PANEL);
    uint64_t any = 0;
    for (size_t w = 0; w < pairs->n_words; w++)
        for (size_t r = 0; r < PANEL; r++)
            any |= p->masks[w * PANEL + r] = r < count ? pairs->masks_b[(j + r) * pairs->n_words + w] : 0;
    p->is_narrow = pairs->n_words == 1 && any <= UINT32_MAX;
    if (!p->is_narrow) return;
    uint32_t narrow[PANEL];
    for (size_t r = 0; r < PANEL; r++) narrow[r] = (uint32_t)p->masks[r];
    memcpy(p->masks, narrow, sizeof narrow);
}

/* The masks of a narrow panel, from row r on. */
static const void *narrow_masks(const panel *p, size_t r) {
    return (const char *)p->masks + r * sizeof(uint32_t);
}

/* 255 in every byte that is not 0. */
static uint64_t bytes_present(uint64_t eight) {
    uint64_t any = eight | eight >> 4;
    any |= any >> 2;
    any |= any >> 1;
    return (any & UINT64_C(0x0101010101010101)) * 255;
}

static uint64_t eight_ranks(const uint8_t *ranks) {
    uint64_t eight;
    memcpy(&eight, ranks, sizeof eight);
    return eight;
}

static void pack_ranks(panel *p, const karma_i_pairs *pairs, size_t j) {
    size_t count = at_most(pairs->n_b - j, PANEL);
    for (size_t e = 0; e < pairs->rank_stride / 8; e++)
        for (size_t r = 0; r < PANEL; r++) {
            uint64_t eight = r < count ? eight_ranks(pairs->ranks_b + (j + r) * pairs->rank_stride + 8 * e) : 0;
            p->ranks[e * PANEL + r] = eight;
            p->has_rank[e * PANEL + r] = bytes_present(eight);
        }
}

/* Rows beyond the last are the last one again. */
static void pack_codes(panel *p, const karma_i_pairs *pairs, size_t j) {
    size_t last = at_most(pairs->n_b - j, PANEL) - 1, n = pairs->n_codes;
    for (size_t r = 0; r < PANEL; r++) {
        const uint16_t *codes = pairs->codes_b + (j + at_most(r, last)) * n;
        for (size_t k = 0; k < n; k++) p->codes[k * PANEL + r] = comparable(codes[k]);
    }
}

/* The codes of a strip's rows, each twice: filling a register with 32 bits of memory is free, with 16 it is not. */
static void double_codes(strip_code *out, const karma_i_pairs *pairs, size_t i) {
    for (size_t s = 0; s < STRIP; s++) { /* beyond the last row: the last one again, not used */
        const uint16_t *codes = pairs->codes_a + at_most(i + s, pairs->n_a - 1) * pairs->n_codes;
        for (size_t k = 0; k < pairs->n_codes; k++) out[k].twice[s] = codes[k] * UINT32_C(0x10001);
    }
}

/* Adds Σ [code = code'] to the cells of a strip; a register holds one code of all rows of the panel. */
static void add_codes(strip_cells *strip, const strip_code *own, const panel *p, const karma_i_pairs *pairs) {
    code_vector counts[STRIP];
#pragma GCC unroll 16
    for (size_t s = 0; s < STRIP; s++) counts[s] = (code_vector){0};
    for (size_t k = 0; k < pairs->n_codes; k++) {
        code_vector other;
        memcpy(&other, p->codes + k * PANEL, sizeof other);
#pragma GCC unroll 16
        for (size_t s = 0; s < STRIP; s++) counts[s] = count_equal(counts[s], other, own[k].twice[s]);
    }
    for (size_t s = 0; s < STRIP; s++)
        for (size_t r = 0; r < PANEL; r++) strip->cells[s][r] += (float)counts[s][r];
}

/* Σ [code = code'] of one pair, where they are not 0. */
static uint32_t equal_codes(const karma_i_pairs *p, size_t i, size_t j) {
    const uint16_t *u = p->codes_a + i * p->n_codes, *v = p->codes_b + j * p->n_codes;
    uint32_t count = 0;
    for (size_t k = 0; k < p->n_codes; k++) count += u[k] == comparable(v[k]);
    return count;
}

/* The same for rows that are too long to be packed. */
static void add_long_codes(strip_cells *strip, const karma_i_pairs *pairs, size_t i, size_t j) {
    size_t n_rows = at_most(pairs->n_a - i, STRIP), n_columns = at_most(pairs->n_b - j, PANEL);
    for (size_t s = 0; s < n_rows; s++)
        for (size_t r = 0; r < n_columns; r++) strip->cells[s][r] += (float)equal_codes(pairs, i + s, j + r);
}

/* Adds rank_base · |o ∩ o' ∩ ranked| - rank_step · Σ |rank - rank'| to the cells of row i. True if all attributes that
 * the row observes are ranked: then `counts` holds |o ∩ o'|. Numbers are signed because AVX2 converts no others. */
static int add_ranks(float *cells, uint32_t counts[PANEL], const panel *p, const karma_i_pairs *pairs, size_t i) {
    uint64_t mask[WORDS], others = 0;
    uint32_t differences[PANEL];
    for (size_t w = 0; w < pairs->n_words; w++) {
        uint64_t own = pairs->masks_a[i * pairs->n_words + w];
        mask[w] = own & pairs->ranked[w];
        others |= own & ~pairs->ranked[w];
    }
    counts_of(counts, mask, p, pairs->n_words);
    differences_of(differences, pairs->ranks_a + i * pairs->rank_stride, p, pairs->rank_stride / 8);
    for (size_t r = 0; r < PANEL; r++)
        cells[r] += (float)pairs->rank_base * (float)(int32_t)counts[r] -
                    (float)pairs->rank_step * (float)(int32_t)differences[r];
    return others == 0;
}

/* The same for rows that are too long to be packed. */
static void add_long_ranks(float *cells, const karma_i_pairs *pairs, size_t i, size_t j) {
    size_t valid = at_most(pairs->n_b - j, PANEL);
    const uint8_t *u = pairs->ranks_a + i * pairs->rank_stride;
    for (size_t r = 0; r < valid; r++) {
        const uint8_t *v = pairs->ranks_b + (j + r) * pairs->rank_stride;
        uint32_t count = 0, sum = 0;
        for (size_t k = 0; k < pairs->rank_stride; k++) {
            uint32_t both = u[k] && v[k];
            count += both;
            sum += both * (u[k] > v[k] ? (uint32_t)(u[k] - v[k]) : (uint32_t)(v[k] - u[k]));
        }
        cells[r] += (float)pairs->rank_base * (float)count - (float)pairs->rank_step * (float)sum;
    }
}

/* rows[s] are the features of the strip's rows. */
static void multiply(strip_cells *out, const float *const rows[STRIP], const panel *p, size_t depth) {
    vector sums[STRIP][2];
#pragma GCC unroll 16
    for (int s = 0; s < STRIP; s++) sums[s][0] = sums[s][1] = (vector){0};
    for (size_t k = 0; k < depth; k++) {
        vector b0, b1;
        memcpy(&b0, p->values + k * PANEL, sizeof b0);
        memcpy(&b1, p->values + k * PANEL + WIDTH, sizeof b1);
#pragma GCC unroll 16
        for (int s = 0; s < STRIP; s++) {
            float a = rows[s][k];
            sums[s][0] += a * b0;
            sums[s][1] += a * b1;
        }
    }
#pragma GCC unroll 16
    for (int s = 0; s < STRIP; s++) {
        memcpy(out->cells[s], &sums[s][0], sizeof(vector));
        memcpy(out->cells[s] + WIDTH, &sums[s][1], sizeof(vector));
    }
}

/* The same for masks of more than WORDS words, which are not packed. */
static void long_weights_of(float out[PANEL], const uint64_t *mask, const karma_i_pairs *pairs, size_t j) {
    size_t counts[PANEL] = {0};
    size_t valid = at_most(pairs->n_b - j, PANEL);
    for (size_t r = 0; r < valid; r++) {
        const uint64_t *other = pairs->masks_b + (j + r) * pairs->n_words;
        for (size_t w = 0; w < pairs->n_words; w++) counts[r] += (size_t)__builtin_popcountll(mask[w] & other[w]);
    }
    for (size_t r = 0; r < PANEL; r++) out[r] = pairs->weight[counts[r]];
}

/* Adds `strip` to out, or stores it there if these are the first columns; after the last columns come codes, ranks and
 * weights. */
static void finish_strip(float *out, size_t ld, strip_cells *strip, const strip_code *codes, const panel *p,
                         const karma_i_pairs *pairs, size_t i, size_t j, int is_first, int is_last) {
    size_t n_rows = at_most(pairs->n_a - i, STRIP), n_columns = at_most(pairs->n_b - j, PANEL);
    if (is_last && pairs->n_codes > CODES)
        add_long_codes(strip, pairs, i, j);
    else if (is_last && pairs->n_codes)
        add_codes(strip, codes, p, pairs);
    for (size_t s = 0; s < n_rows; s++) {
        float *cells = strip->cells[s], *to = out + (i + s) * ld + j;
        if (!is_first)
            for (size_t r = 0; r < n_columns; r++) cells[r] += to[r];
        if (is_last) {
            float weights[PANEL];
            uint32_t counts[PANEL];
            const uint64_t *mask = pairs->masks_a + (i + s) * pairs->n_words;
            int has_counts = 0;
            if (pairs->rank_stride > RANKS)
                add_long_ranks(cells, pairs, i + s, j);
            else if (pairs->rank_stride)
                has_counts = add_ranks(cells, counts, p, pairs, i + s);
            if (has_counts)
                weights_at(weights, counts, pairs);
            else if (pairs->n_words <= WORDS)
                weights_of(weights, mask, p, pairs);
            else
                long_weights_of(weights, mask, pairs, j);
            for (size_t r = 0; r < PANEL; r++) cells[r] = (cells[r] + pairs->add) * weights[r];
        }
        if (n_columns == PANEL)
            memcpy(to, cells, sizeof strip->cells[s]);
        else
            memcpy(to, cells, n_columns * sizeof *to);
    }
}

/* What is packed; longer rows are read in place. */
static size_t packed_words(const karma_i_pairs *pairs) {
    return pairs->n_words <= WORDS ? pairs->n_words : 0;
}
static size_t packed_eights(const karma_i_pairs *pairs) {
    return pairs->rank_stride <= RANKS ? pairs->rank_stride / 8 : 0;
}
static size_t packed_codes(const karma_i_pairs *pairs) {
    return pairs->n_codes <= CODES ? pairs->n_codes : 0;
}
static size_t packed_depth(const karma_i_pairs *pairs) {
    return at_most(karma_i_pairs_n_values(pairs), DEPTH);
}

/* As many panels as stay in cache together. */
static size_t panels_at_once(const karma_i_pairs *pairs) {
    size_t n = MOST_PANELS;
    if (packed_depth(pairs)) n = at_most(n, DEPTH / packed_depth(pairs));
    if (packed_words(pairs)) n = at_most(n, WORDS / packed_words(pairs));
    if (packed_eights(pairs)) n = at_most(n, RANKS / 8 / packed_eights(pairs));
    if (packed_codes(pairs)) n = at_most(n, CODES / packed_codes(pairs));
    return n;
}

/* The next `bytes` of scratch, rounded up to whole registers. */
static size_t take(size_t *used, size_t bytes) {
    size_t at = *used;
    *used += (bytes + VECTOR_BYTES - 1) / VECTOR_BYTES * VECTOR_BYTES;
    return at;
}

static scratch_plan plan_scratch(const karma_i_pairs *pairs) {
    scratch_plan plan = {.at_once = panels_at_once(pairs)};
    size_t rows = plan.at_once * PANEL;
    plan.values = take(&plan.bytes, rows * packed_depth(pairs) * sizeof(float));
    plan.masks = take(&plan.bytes, rows * packed_words(pairs) * sizeof(uint64_t));
    plan.ranks = take(&plan.bytes, rows * packed_eights(pairs) * sizeof(uint64_t));
    plan.has_rank = take(&plan.bytes, rows * packed_eights(pairs) * sizeof(uint64_t));
    plan.codes = take(&plan.bytes, rows * packed_codes(pairs) * sizeof(uint16_t));
    plan.strip_codes = take(&plan.bytes, packed_codes(pairs) * sizeof(strip_code));
    return plan;
}

static size_t tile_scratch(const karma_i_pairs *pairs) {
    return plan_scratch(pairs).bytes;
}

/* Fills the g-th place of the scratch with the panel that starts at row j. */
static panel pack_panel(char *scratch, const scratch_plan *plan, size_t g, const karma_i_pairs *pairs, size_t j,
                        size_t f, size_t depth) {
    size_t eights = g * packed_eights(pairs) * PANEL;
    panel p = {(float *)(void *)(scratch + plan->values) + g * packed_depth(pairs) * PANEL,
               (uint64_t *)(void *)(scratch + plan->masks) + g * packed_words(pairs) * PANEL,
               0,
               (uint64_t *)(void *)(scratch + plan->ranks) + eights,
               (uint64_t *)(void *)(scratch + plan->has_rank) + eights,
               (uint16_t *)(void *)(scratch + plan->codes) + g * packed_codes(pairs) * PANEL};
    pack_values(&p, pairs, j, f, depth);
    if (packed_words(pairs)) pack_masks(&p, pairs, j);
    if (packed_eights(pairs)) pack_ranks(&p, pairs, j);
    if (packed_codes(pairs)) pack_codes(&p, pairs, j);
    return p;
}

static void tile(float *out, size_t ld, const karma_i_pairs *pairs, void *scratch) {
    scratch_plan plan = plan_scratch(pairs);
    strip_code *codes = (strip_code *)(void *)((char *)scratch + plan.strip_codes);
    panel panels[MOST_PANELS];
    strip_cells strip;
    size_t f = 0, n_values = karma_i_pairs_n_values(pairs);
    do {
        size_t depth = at_most(n_values - f, DEPTH);
        int is_last = f + depth == n_values;
        for (size_t j = 0; j < pairs->n_b; j += plan.at_once * PANEL) {
            size_t n_panels = at_most(plan.at_once, (pairs->n_b - j + PANEL - 1) / PANEL);
            for (size_t g = 0; g < n_panels; g++)
                panels[g] = pack_panel(scratch, &plan, g, pairs, j + g * PANEL, f, depth);
            for (size_t i = 0; i < pairs->n_a; i += STRIP) {
                const float *rows[STRIP];
                for (size_t s = 0; s < STRIP; s++) /* beyond the last row: the last one again, not used */
                    rows[s] = pairs->values_a + at_most(i + s, pairs->n_a - 1) * n_values + f;
                if (is_last && packed_codes(pairs)) double_codes(codes, pairs, i);
                for (size_t g = 0; g < n_panels; g++) {
                    multiply(&strip, rows, &panels[g], depth);
                    finish_strip(out, ld, &strip, codes, &panels[g], pairs, i, j + g * PANEL, f == 0, is_last);
                }
            }
        }
        f += depth;
    } while (f < n_values);
}

#endif
