/* A seeded generator (xoshiro256**, seeded by splitmix64), always passed in: no hidden state, and the same
 * numbers on every machine. */
#ifndef KARMA_I_RNG_H
#define KARMA_I_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct karma_i_rng {
    uint64_t state[4];
    double spare; /* the second normal of a pair */
    int has_spare;
} karma_i_rng;

void karma_i_rng_init(karma_i_rng *rng, uint64_t seed);
uint64_t karma_i_rng_next(karma_i_rng *rng);
/* Uniform in [0, 1). */
double karma_i_rng_uniform(karma_i_rng *rng);
/* Uniform in {0, ..., n-1} without modulo bias; n > 0. */
size_t karma_i_rng_below(karma_i_rng *rng, size_t n);
double karma_i_rng_normal(karma_i_rng *rng);
/* Fisher-Yates. */
void karma_i_rng_shuffle(karma_i_rng *rng, size_t *items, size_t n);
/* out[0..count) becomes different numbers below n in random order; count <= n / 2. Time and memory go with count.
 * False: out of memory. */
int karma_i_rng_draw(karma_i_rng *rng, size_t *out, size_t count, size_t n);

#endif
