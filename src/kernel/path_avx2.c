/* AVX2: bits of four words are counted at a time by looking up half bytes; up to 64 weights are picked from registers,
 * more are gathered from memory, which is slow on many processors. */
#define VECTOR_BYTES 32
#define STRIP        6
#include "kernel/path_exact.h"
#include "kernel/path_vector.h"

#include <immintrin.h>

#include "kernel/path_list.h"

/* Bits in each byte. */
static __m256i count_in_bytes(__m256i x) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
                           _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
}

/* Bits in each of the four words, and in each of the eight halves. */
static __m256i count_bits(__m256i x) {
    return _mm256_sad_epu8(count_in_bytes(x), _mm256_setzero_si256());
}
static __m256i count_in_halves(__m256i x) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(count_in_bytes(x), _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
}

/* The low halves of eight words, in order. */
static __m256i narrow(__m256i first, __m256i second) {
    __m256 packed = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), _MM_SHUFFLE(2, 0, 2, 0));
    return _mm256_permute4x64_epi64(_mm256_castps_si256(packed), _MM_SHUFFLE(3, 1, 2, 0));
}

/* Counts for eight neighbouring rows of the panel, from row r on, as eight 32-bit numbers. */
static __m256i count_eight(const uint64_t *mask, const panel *p, size_t r, size_t n_words) {
    const uint64_t *masks = p->masks + r;
    if (p->is_narrow) {
        __m256i others = _mm256_load_si256((const __m256i *)narrow_masks(p, r));
        return count_in_halves(_mm256_and_si256(others, _mm256_set1_epi32((int)(uint32_t)mask[0])));
    }
    __m256i first = _mm256_setzero_si256(), second = _mm256_setzero_si256();
    for (size_t w = 0; w < n_words; w++) {
        __m256i own = _mm256_set1_epi64x((long long)mask[w]);
        __m256i a = _mm256_load_si256((const __m256i *)(const void *)(masks + w * PANEL));
        __m256i b = _mm256_load_si256((const __m256i *)(const void *)(masks + w * PANEL + 4));
        first = _mm256_add_epi64(first, count_bits(_mm256_and_si256(own, a)));
        second = _mm256_add_epi64(second, count_bits(_mm256_and_si256(own, b)));
    }
    return narrow(first, second);
}

/* w[count] of eight counts below 16. A blend looks at the highest bit of its mask. */
static __m256 pick(const float *w, __m256i counts) {
    __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(w), counts);
    __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(w + 8), counts);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(counts, 28)));
}

/* The weights of eight counts. */
static __m256 look_up(__m256i counts, const karma_i_pairs *pairs) {
    const float *w = pairs->weight;
    if (pairs->n_weights > 32) return _mm256_i32gather_ps(w, counts, 4);
    __m256 low = pick(w, counts);
    if (pairs->n_weights <= 16) return low;
    return _mm256_blendv_ps(low, pick(w + 16, counts), _mm256_castsi256_ps(_mm256_slli_epi32(counts, 27)));
}

static void counts_of(uint32_t out[PANEL], const uint64_t *mask, const panel *p, size_t n_words) {
    for (size_t r = 0; r < PANEL; r += 8)
        _mm256_storeu_si256((__m256i *)(void *)(out + r), count_eight(mask, p, r, n_words));
}

/* w[count] of counts below 64. Not inlined: beside it, the loops for fewer weights are slower. */
static __attribute__((noinline)) void pick_of_many(float out[PANEL], const uint32_t counts[PANEL], const float *w) {
    for (size_t r = 0; r < PANEL; r += 8) {
        __m256i own = _mm256_loadu_si256((const __m256i *)(const void *)(counts + r));
        __m256 bit_4 = _mm256_castsi256_ps(_mm256_slli_epi32(own, 27));
        __m256 low = _mm256_blendv_ps(pick(w, own), pick(w + 16, own), bit_4);
        __m256 high = _mm256_blendv_ps(pick(w + 32, own), pick(w + 48, own), bit_4);
        _mm256_storeu_ps(out + r, _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(own, 26))));
    }
}

static int has_many(const karma_i_pairs *pairs) {
    return pairs->n_weights > 32 && pairs->n_weights <= KARMA_I_LEAST_WEIGHTS;
}

static void weights_at(float out[PANEL], const uint32_t counts[PANEL], const karma_i_pairs *pairs) {
    if (has_many(pairs)) {
        pick_of_many(out, counts, pairs->weight);
        return;
    }
    for (size_t r = 0; r < PANEL; r += 8)
        _mm256_storeu_ps(out + r, look_up(_mm256_loadu_si256((const __m256i *)(const void *)(counts + r)), pairs));
}

static void weights_of(float out[PANEL], const uint64_t *mask, const panel *p, const karma_i_pairs *pairs) {
    uint32_t counts[PANEL];
    if (has_many(pairs)) {
        counts_of(counts, mask, p, pairs->n_words);
        pick_of_many(out, counts, pairs->weight);
        return;
    }
    for (size_t r = 0; r < PANEL; r += 8)
        _mm256_storeu_ps(out + r, look_up(count_eight(mask, p, r, pairs->n_words), pairs));
}

/* vpsadbw adds up eight differences in each word: four rows of the panel at a time. */
static void differences_of(uint32_t out[PANEL], const uint8_t *ranks, const panel *p, size_t n_eights) {
    __m256i sums[PANEL / 4];
    for (size_t g = 0; g < PANEL / 4; g++) sums[g] = _mm256_setzero_si256();
    for (size_t e = 0; e < n_eights; e++) {
        __m256i own = _mm256_set1_epi64x((long long)eight_ranks(ranks + 8 * e));
        __m256i own_lacks = _mm256_cmpeq_epi8(own, _mm256_setzero_si256());
#pragma GCC unroll 4
        for (size_t g = 0; g < PANEL / 4; g++) {
            __m256i other = _mm256_load_si256((const __m256i *)(const void *)(p->ranks + e * PANEL + 4 * g));
            __m256i other_has = _mm256_load_si256((const __m256i *)(const void *)(p->has_rank + e * PANEL + 4 * g));
            __m256i sad = _mm256_sad_epu8(_mm256_and_si256(own, other_has), _mm256_andnot_si256(own_lacks, other));
            sums[g] = _mm256_add_epi64(sums[g], sad);
        }
    }
    for (size_t g = 0; g < PANEL / 4; g += 2)
        _mm256_storeu_si256((__m256i *)(void *)(out + 4 * g), narrow(sums[g], sums[g + 1]));
}

/* A comparison gives -1 where it holds. */
static code_vector count_equal(code_vector counts, code_vector codes, uint32_t twice) {
    __m256i equal = _mm256_cmpeq_epi16((__m256i)codes, _mm256_set1_epi32((int)twice));
    return (code_vector)_mm256_sub_epi16((__m256i)counts, equal);
}

const karma_i_path karma_i_path_avx2 = {.name = "avx2",
                                        .pairs = {tile_scratch, tile, exact_scratch, exact_tile},
                                        .map = map_tile,
                                        .map_exact = map_exact,
                                        .dot = dot,
                                        .axpy = axpy,
                                        .axpy_rows = axpy_rows,
                                        .gather = gather,
                                        .best_row = best_row,
                                        .best_partner = best_partner};
