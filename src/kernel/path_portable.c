/* Plain C for any machine: OpenBLAS for the product, and bits counted by adding them in parallel. */
#include "kernel/path_body.h"
#include "kernel/path_exact.h"

#include "kernel/path_list.h"
#include "linalg/linalg.h"

static unsigned count_bits(uint64_t x) {
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* rank_base · |o ∩ o' ∩ ranked| - rank_step · Σ |rank - rank'| */
static float rank_part(const karma_i_pairs *p, size_t i, size_t j) {
    const uint8_t *u = p->ranks_a + i * p->rank_stride, *v = p->ranks_b + j * p->rank_stride;
    const uint64_t *a = p->masks_a + i * p->n_words, *b = p->masks_b + j * p->n_words;
    unsigned count = 0, sum = 0;
    for (size_t w = 0; w < p->n_words; w++) count += count_bits(a[w] & b[w] & p->ranked[w]);
    for (size_t k = 0; k < p->rank_stride; k++) {
        unsigned difference = u[k] > v[k] ? (unsigned)(u[k] - v[k]) : (unsigned)(v[k] - u[k]);
        sum += u[k] && v[k] ? difference : 0;
    }
    return (float)p->rank_base * (float)count - (float)p->rank_step * (float)sum;
}

/* Features, Q·O' and O·Q'. */
static void multiply(float *out, size_t ld, const karma_i_pairs *p) {
    size_t n = karma_i_pairs_n_values(p), q = p->n_features, o = q + p->n_terms;
    karma_i_gemm_nt(out, ld, p->values_a, n, p->n_a, p->values_b, n, p->n_b, p->n_features);
    karma_i_gemm_nt_add(out, ld, p->values_a + q, n, p->n_a, p->values_b + o, n, p->n_b, p->n_terms);
    karma_i_gemm_nt_add(out, ld, p->values_a + o, n, p->n_a, p->values_b + q, n, p->n_b, p->n_terms);
}

/* Σ [code = code'] over some slots, against some rows of b at a time, whose codes of one slot stand side by side. */
enum { CODE_ROWS = 256, CODE_SLOTS = 64 };

typedef uint16_t code_block[CODE_ROWS];

static void add_some_codes(float *out, size_t ld, const karma_i_pairs *p, size_t j, size_t n_rows, size_t k,
                           size_t n_slots, code_block *other) {
    for (size_t r = 0; r < n_rows; r++)
        for (size_t s = 0; s < n_slots; s++) other[s][r] = comparable(p->codes_b[(j + r) * p->n_codes + k + s]);
    for (size_t i = 0; i < p->n_a; i++) {
        const uint16_t *own = p->codes_a + i * p->n_codes + k;
        uint16_t counts[CODE_ROWS] = {0};
        for (size_t s = 0; s < n_slots; s++)
            for (size_t r = 0; r < CODE_ROWS; r++) counts[r] = (uint16_t)(counts[r] + (other[s][r] == own[s]));
        for (size_t r = 0; r < n_rows; r++) out[i * ld + j + r] += (float)counts[r];
    }
}

static void add_codes(float *out, size_t ld, const karma_i_pairs *p, code_block *scratch) {
    for (size_t j = 0; j < p->n_b; j += CODE_ROWS)
        for (size_t k = 0; k < p->n_codes; k += CODE_SLOTS) {
            size_t n_rows = p->n_b - j < CODE_ROWS ? p->n_b - j : CODE_ROWS;
            size_t n_slots = p->n_codes - k < CODE_SLOTS ? p->n_codes - k : CODE_SLOTS;
            add_some_codes(out, ld, p, j, n_rows, k, n_slots, scratch);
        }
}

static size_t tile_scratch(const karma_i_pairs *p) {
    return (p->n_codes < CODE_SLOTS ? p->n_codes : CODE_SLOTS) * sizeof(code_block);
}

static void tile(float *out, size_t ld, const karma_i_pairs *p, void *scratch) {
    multiply(out, ld, p);
    add_codes(out, ld, p, scratch);
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

const karma_i_path karma_i_path_portable = {.name = "portable",
                                            .pairs = {tile_scratch, tile, exact_scratch, exact_tile},
                                            .map = map_tile,
                                            .map_exact = map_exact,
                                            .dot = dot,
                                            .axpy = axpy,
                                            .axpy_rows = axpy_rows,
                                            .gather = gather,
                                            .best_row = best_row,
                                            .best_partner = best_partner};
