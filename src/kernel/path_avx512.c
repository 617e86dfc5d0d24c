/* AVX-512 with its own population count: sixteen cells at a time. */
#define VECTOR_BYTES 64
#define STRIP        8
#include "kernel/path_exact.h"
#include "kernel/path_vector.h"

#include <immintrin.h>

#include "kernel/path_list.h"

/* The low halves of sixteen words, in order. */
static __m512i narrow(__m512i first, __m512i second) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(first)), _mm512_cvtepi64_epi32(second), 1);
}

/* Counts for sixteen neighbouring rows of the panel, from row r on, as sixteen 32-bit numbers. */
static __m512i count_sixteen(const uint64_t *mask, const panel *p, size_t r, size_t n_words) {
    const uint64_t *masks = p->masks + r;
    if (p->is_narrow) {
        __m512i others = _mm512_load_si512(narrow_masks(p, r));
        return _mm512_popcnt_epi32(_mm512_and_si512(others, _mm512_set1_epi32((int)(uint32_t)mask[0])));
    }
    __m512i first = _mm512_setzero_si512(), second = _mm512_setzero_si512();
    for (size_t w = 0; w < n_words; w++) {
        __m512i own = _mm512_set1_epi64((long long)mask[w]);
        __m512i a = _mm512_load_si512(masks + w * PANEL), b = _mm512_load_si512(masks + w * PANEL + 8);
        first = _mm512_add_epi64(first, _mm512_popcnt_epi64(_mm512_and_si512(own, a)));
        second = _mm512_add_epi64(second, _mm512_popcnt_epi64(_mm512_and_si512(own, b)));
    }
    return narrow(first, second);
}

/* The weights of sixteen counts: up to 64 of them are picked from registers, more are gathered from memory. */
static __m512 look_up(__m512i counts, const karma_i_pairs *pairs) {
    const float *w = pairs->weight;
    if (pairs->n_weights > 64) return _mm512_i32gather_ps(counts, w, 4);
    __m512 low = _mm512_permutex2var_ps(_mm512_loadu_ps(w), counts, _mm512_loadu_ps(w + 16));
    if (pairs->n_weights <= 32) return low;
    __m512 high = _mm512_permutex2var_ps(_mm512_loadu_ps(w + 32), counts, _mm512_loadu_ps(w + 48));
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(counts, _mm512_set1_epi32(32)), low, high);
}

static void weights_of(float out[PANEL], const uint64_t *mask, const panel *p, const karma_i_pairs *pairs) {
    for (size_t r = 0; r < PANEL; r += 16)
        _mm512_storeu_ps(out + r, look_up(count_sixteen(mask, p, r, pairs->n_words), pairs));
}

static void weights_at(float out[PANEL], const uint32_t counts[PANEL], const karma_i_pairs *pairs) {
    for (size_t r = 0; r < PANEL; r += 16) _mm512_storeu_ps(out + r, look_up(_mm512_loadu_si512(counts + r), pairs));
}

static void counts_of(uint32_t out[PANEL], const uint64_t *mask, const panel *p, size_t n_words) {
    for (size_t r = 0; r < PANEL; r += 16) _mm512_storeu_si512(out + r, count_sixteen(mask, p, r, n_words));
}

/* vpsadbw adds up eight differences in each word: eight rows of the panel at a time. */
static void differences_of(uint32_t out[PANEL], const uint8_t *ranks, const panel *p, size_t n_eights) {
    __m512i sums[PANEL / 8];
    for (size_t g = 0; g < PANEL / 8; g++) sums[g] = _mm512_setzero_si512();
    for (size_t e = 0; e < n_eights; e++) {
        __m512i own = _mm512_set1_epi64((long long)eight_ranks(ranks + 8 * e));
        __m512i own_has = _mm512_movm_epi8(_mm512_test_epi8_mask(own, own));
#pragma GCC unroll 4
        for (size_t g = 0; g < PANEL / 8; g++) {
            __m512i other = _mm512_load_si512(p->ranks + e * PANEL + 8 * g);
            __m512i other_has = _mm512_load_si512(p->has_rank + e * PANEL + 8 * g);
            __m512i sad = _mm512_sad_epu8(_mm512_and_si512(own, other_has), _mm512_and_si512(other, own_has));
            sums[g] = _mm512_add_epi64(sums[g], sad);
        }
    }
    for (size_t g = 0; g < PANEL / 8; g += 2) /* in registers: narrowing directly into memory is slow */
        _mm512_storeu_si512(out + 8 * g, narrow(sums[g], sums[g + 1]));
}

static code_vector count_equal(code_vector counts, code_vector codes, uint32_t twice) {
    __mmask32 equal = _mm512_cmpeq_epi16_mask((__m512i)codes, _mm512_set1_epi32((int)twice));
    return (code_vector)_mm512_mask_add_epi16((__m512i)counts, equal, (__m512i)counts, _mm512_set1_epi16(1));
}

const karma_i_path karma_i_path_avx512 = {.name = "avx512",
                                          .pairs = {tile_scratch, tile, exact_scratch, exact_tile},
                                          .map = map_tile,
                                          .map_exact = map_exact,
                                          .dot = dot,
                                          .axpy = axpy,
                                          .axpy_rows = axpy_rows,
                                          .gather = gather,
                                          .best_row = best_row,
                                          .best_partner = best_partner};
