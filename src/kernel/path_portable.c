/* Plain C for any machine: OpenBLAS for the product, and bits counted by adding them in parallel. */
#include "kernel/path_body.h"

#include "kernel/path_list.h"
#include "linalg/linalg.h"

static unsigned count_bits(uint64_t x) {
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* |o ∩ o' ∩ ranked| - rank_step · Σ |rank - rank'| */
static float rank_part(const karma_i_pairs *p, size_t i, size_t j) {
    const uint8_t *u = p->ranks_a + i * p->rank_stride, *v = p->ranks_b + j * p->rank_stride;
    const uint64_t *a = p->masks_a + i * p->n_words, *b = p->masks_b + j * p->n_words;
    unsigned count = 0, sum = 0;
    for (size_t w = 0; w < p->n_words; w++) count += count_bits(a[w] & b[w] & p->ranked[w]);
    for (size_t k = 0; k < p->rank_stride; k++) {
        unsigned difference = u[k] > v[k] ? (unsigned)(u[k] - v[k]) : (unsigned)(v[k] - u[k]);
        sum += u[k] && v[k] ? difference : 0;
    }
    return (float)count - p->rank_step * (float)sum;
}

static void tile(float *out, size_t ld, const karma_i_pairs *p) {
    karma_i_gemm_nt(out, ld, p->values_a, p->n_features, p->n_a, p->values_b, p->n_features, p->n_b, p->n_features);
    for (size_t i = 0; i < p->n_a; i++)
        for (size_t j = 0; j < p->n_b; j++) {
            const uint64_t *a = p->masks_a + i * p->n_words, *b = p->masks_b + j * p->n_words;
            size_t c = 0;
            for (size_t w = 0; w < p->n_words; w++) c += count_bits(a[w] & b[w]);
            float sum = out[i * ld + j] + p->add;
            if (p->rank_stride) sum += rank_part(p, i, j);
            out[i * ld + j] = sum * p->weight[c];
        }
}

const karma_i_path karma_i_path_portable = {"portable", tile, map_tile, dot, axpy};
