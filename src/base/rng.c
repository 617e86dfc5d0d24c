#include "base/rng.h"

#include <math.h>

#include "base/mem.h"

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void karma_i_rng_init(karma_i_rng *rng, uint64_t seed) {
    for (int i = 0; i < 4; i++) rng->state[i] = splitmix64(&seed);
    rng->spare = 0.0;
    rng->has_spare = 0;
}

static uint64_t rotate_left(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

uint64_t karma_i_rng_next(karma_i_rng *rng) {
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double karma_i_rng_uniform(karma_i_rng *rng) {
    return (double)(karma_i_rng_next(rng) >> 11) * 0x1.0p-53;
}

size_t karma_i_rng_below(karma_i_rng *rng, size_t n) {
    uint64_t bound = (uint64_t)n;
    uint64_t reject = (0 - bound) % bound; /* 2^64 mod n: smaller draws are rejected, to avoid a bias */
    uint64_t draw;
    do draw = karma_i_rng_next(rng);
    while (draw < reject);
    return (size_t)(draw % bound);
}

/* Marsaglia's polar method: logarithm and square root only. */
double karma_i_rng_normal(karma_i_rng *rng) {
    if (rng->has_spare) {
        rng->has_spare = 0;
        return rng->spare;
    }
    double u, v, s;
    do {
        u = 2.0 * karma_i_rng_uniform(rng) - 1.0;
        v = 2.0 * karma_i_rng_uniform(rng) - 1.0;
        s = u * u + v * v;
    } while (!(s > 0.0 && s < 1.0));
    double factor = sqrt(-2.0 * log(s) / s);
    rng->spare = v * factor;
    rng->has_spare = 1;
    return u * factor;
}

void karma_i_rng_shuffle(karma_i_rng *rng, size_t *items, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t j = karma_i_rng_below(rng, i);
        size_t swap = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swap;
    }
}

/* Repeats are drawn again: less than once on average. */
int karma_i_rng_draw(karma_i_rng *rng, size_t *out, size_t count, size_t n) {
    size_t size = 4;
    while (size < 2 * count) size *= 2;
    size_t *slots = karma_i_zalloc(size, sizeof *slots); /* a number + 1, or 0: free */
    if (!slots) return 0;
    for (size_t i = 0; i < count;) {
        size_t number = karma_i_rng_below(rng, n);
        size_t slot = (size_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (size - 1);
        while (slots[slot] && slots[slot] != number + 1) slot = (slot + 1) & (size - 1);
        if (slots[slot]) continue;
        slots[slot] = number + 1;
        out[i++] = number;
    }
    karma_i_free(slots);
    return 1;
}
