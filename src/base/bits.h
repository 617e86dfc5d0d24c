/* Masks: one bit per attribute, packed into 64-bit words; bits beyond the last attribute are 0. */
#ifndef KARMA_I_BITS_H
#define KARMA_I_BITS_H

#include <stddef.h>
#include <stdint.h>

static inline size_t karma_i_mask_words(size_t n_bits) {
    return (n_bits + 63) / 64;
}

static inline int karma_i_mask_get(const uint64_t *mask, size_t bit) {
    return (int)(mask[bit / 64] >> (bit % 64) & 1);
}

static inline void karma_i_mask_set(uint64_t *mask, size_t bit) {
    mask[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void karma_i_mask_clear(uint64_t *mask, size_t bit) {
    mask[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/* By sums of neighbours: twos, fours, bytes, then all bytes. Where the processor has no instruction for it, compilers
 * call a function, which is slower and cannot be vectorised. */
static inline unsigned karma_i_popcount(uint64_t word) {
#if defined(__POPCNT__)
    return (unsigned)__builtin_popcountll(word);
#else
    word -= (word >> 1) & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)((word * UINT64_C(0x0101010101010101)) >> 56);
#endif
}

/* The place of the lowest bit of a word that is not 0. */
static inline size_t karma_i_lowest_bit(uint64_t word) {
#if defined(__GNUC__)
    return (size_t)__builtin_ctzll(word);
#else
    size_t place = 0;
    for (; !(word & 1); word >>= 1) place++;
    return place;
#endif
}

/* |o ∩ o'| */
static inline size_t karma_i_mask_overlap(const uint64_t *a, const uint64_t *b, size_t n_words) {
    size_t n = 0;
    for (size_t w = 0; w < n_words; w++) n += karma_i_popcount(a[w] & b[w]);
    return n;
}

#endif
