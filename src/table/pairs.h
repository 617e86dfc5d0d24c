/* Two sets of dense rows as plain arrays, and the value that is computed for each pair. This is all that the inner
 * loops for the different processors see (kernel/path.h). */
#ifndef KARMA_I_PAIRS_H
#define KARMA_I_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* Small tables of weights are kept in registers, which are loaded whole. */
enum { KARMA_I_LEAST_WEIGHTS = 64 };
/* The largest tile in double precision. */
enum { KARMA_I_EXACT_ROWS = 64, KARMA_I_EXACT_COLUMNS = 256 };

/* The value of a pair is
 *
 *     (Σ features + Q·O' + O·Q' + Σ [code = code'] + rank_base · |o ∩ o' ∩ ranked| - rank_step · Σ |rank - rank'| +
 * add) · weight[|o ∩ o'|]
 *
 * the sums over codes and ranks where both are not 0. */
typedef struct karma_i_pairs {
    const float *values_a, *values_b; /* row-major, n_features + 2 n_terms per row: [features | Q | O] */
    size_t n_features, n_terms;
    const uint64_t *masks_a, *masks_b; /* row-major, n_words per row */
    size_t n_words;
    const uint16_t *codes_a, *codes_b; /* row-major, n_codes per row; at most KARMA_I_MOST_CODES */
    size_t n_codes;
    const uint8_t *ranks_a, *ranks_b; /* row-major, rank_stride per row; a multiple of 8, and 0: no ranks */
    size_t rank_stride;
    const uint64_t *ranked; /* n_words */
    double rank_base, rank_step;
    size_t n_a, n_b;
    float add;
    const float *weight; /* n_weights, and at least KARMA_I_LEAST_WEIGHTS can be read */
    size_t n_weights;
} karma_i_pairs;

/* Floats from one row of values to the next. */
static inline size_t karma_i_pairs_n_values(const karma_i_pairs *pairs) {
    return pairs->n_features + 2 * pairs->n_terms;
}

/* The loops of one processor over pairs. */
typedef struct karma_i_pair_loops {
    /* Bytes of scratch that a tile of such pairs needs; the number of rows does not matter. */
    size_t (*scratch)(const karma_i_pairs *pairs);
    /* out[i * ld + j] for all i < n_a, j < n_b. `scratch` is aligned to a cache line. */
    void (*tile)(float *out, size_t ld, const karma_i_pairs *pairs, void *scratch);
    /* The sums over features, terms, codes and ranks in double precision, and |o ∩ o'|, n_b numbers from row to row;
     * n_b is at most KARMA_I_EXACT_COLUMNS. Scratch depends on the numbers of rows too. */
    size_t (*exact_scratch)(const karma_i_pairs *pairs);
    void (*exact_tile)(double *sums, uint32_t *overlaps, const karma_i_pairs *pairs, void *scratch);
} karma_i_pair_loops;

#endif
