#include "kernel/parts.h"

#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"

void karma_i_parts_clear(karma_i_parts *parts) {
    for (size_t e = 0; parts->overlaps && e < parts->n_encodings; e++) {
        int shared = 0;
        for (size_t before = 0; before < e; before++) shared |= parts->overlaps[before] == parts->overlaps[e];
        if (!shared) karma_i_free(parts->overlaps[e]);
    }
    for (size_t e = 0; parts->sums && e < parts->n_encodings; e++) karma_i_free(parts->sums[e]);
    karma_i_free(parts->sums);
    karma_i_free(parts->overlaps);
    karma_i_rows_free(parts->train);
    karma_i_rows_free(parts->others);
    *parts = (karma_i_parts){0};
}

static int have_same_holes(const karma_i_rows *a, const karma_i_rows *b) {
    return !a->is_sparse && !b->is_sparse && a->n_attributes == b->n_attributes &&
           memcmp(a->mask, b->mask, a->n_rows * a->n_words * sizeof *a->mask) == 0;
}

/* Σκ is the kernel with γ = 1 and no bias. */
static karma_status compute_sums(float *out, const karma_i_rows *rows, const karma_i_rows *train, int threads,
                                 karma_error *err) {
    karma_i_rows alone = *rows; /* this encoding only */
    alone.next = NULL;
    karma_i_kernel kernel;
    KARMA_TRY(karma_i_kernel_init(&kernel, 1, 1.0, 0.0, rows->n_attributes, err));
    karma_status st =
        karma_i_kernel_block(out, train->n_rows, &kernel, karma_i_rows_all(&alone), karma_i_rows_all(train), threads);
    karma_i_kernel_clear(&kernel);
    return st == KARMA_OK ? KARMA_OK : karma_i_fail_memory(err);
}

static void compute_overlaps(uint16_t *out, const karma_i_rows *rows, const karma_i_rows *train, int threads) {
    size_t n = train->n_rows, n_words = rows->n_words;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < rows->n_rows; i++) {
        uint16_t *own = out + i * n;
        if (rows->is_sparse)
            for (size_t j = 0; j < n; j++) own[j] = (uint16_t)karma_i_rows_overlap(rows, i, train, j);
        else
            for (size_t j = 0; j < n; j++) /* no call inside: the compiler makes vectors of it */
                own[j] = (uint16_t)karma_i_mask_overlap(karma_i_rows_mask(rows, i), train->mask + j * n_words, n_words);
    }
}

static karma_status compute_encoding(karma_i_parts *p, size_t e, const karma_i_rows *rows, const size_t *index,
                                     size_t n_train, int threads, karma_error *err) {
    karma_i_rows alone = *karma_i_rows_encoding(rows, e), *train = NULL;
    alone.next = NULL;
    if (!(p->sums[e] = karma_i_alloc_aligned(rows->n_rows, n_train * sizeof *p->sums[e])))
        return karma_i_fail_memory(err);
    for (size_t before = 0; before < e && !p->overlaps[e]; before++)
        if (have_same_holes(&alone, karma_i_rows_encoding(rows, before))) p->overlaps[e] = p->overlaps[before];
    int overlaps_known = p->overlaps[e] != NULL;
    if (!overlaps_known && !(p->overlaps[e] = karma_i_alloc(rows->n_rows, n_train * sizeof *p->overlaps[e])))
        return karma_i_fail_memory(err);
    karma_status st = karma_i_rows_new_like(&train, &alone, n_train, err);
    if (st == KARMA_OK) st = karma_i_rows_gather(train, &alone, index, n_train, err);
    if (st == KARMA_OK) st = compute_sums(p->sums[e], &alone, train, threads, err);
    if (st == KARMA_OK && !overlaps_known) compute_overlaps(p->overlaps[e], &alone, train, threads);
    karma_i_rows_free(train);
    return st;
}

/* The training rows, or all others, as rows of the matrices. */
static karma_status make_rows(karma_i_rows **out, const karma_i_parts *p, const karma_i_rows *rows,
                              const unsigned char *is_train, size_t n_train, int want_train, karma_error *err) {
    for (size_t e = 0; e < p->n_encodings; e++, out = &(*out)->next) {
        const karma_i_rows *original = karma_i_rows_encoding(rows, e);
        KARMA_TRY(karma_i_rows_new_matrix(out, p->sums[e], n_train, rows->n_rows, err));
        (*out)->overlap = p->overlaps[e];
        (*out)->original = original;
        (*out)->n_attributes = original->n_attributes;
        for (size_t i = 0, place = 0; i < rows->n_rows; place += is_train[i++] != 0)
            if ((is_train[i] != 0) == want_train)
                KARMA_TRY(karma_i_rows_add_matrix_row(*out, i, want_train ? place : 0, err));
    }
    return KARMA_OK;
}

karma_status karma_i_parts_compute(karma_i_parts *out, const karma_i_rows *rows, const unsigned char *is_train,
                                   int threads, karma_error *err) {
    size_t n = rows->n_rows, n_train = 0, n_encodings = 0;
    for (const karma_i_rows *e = rows; e; e = e->next) n_encodings++;
    *out = (karma_i_parts){n_encodings, karma_i_zalloc(n_encodings, sizeof(float *)),
                           karma_i_zalloc(n_encodings, sizeof(uint16_t *)), NULL, NULL};
    size_t *index = karma_i_alloc(n, sizeof *index);
    karma_status st = out->sums && out->overlaps && index ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        if (is_train[i]) index[n_train++] = i;
    for (size_t e = 0; st == KARMA_OK && e < n_encodings; e++)
        st = compute_encoding(out, e, rows, index, n_train, threads, err);
    if (st == KARMA_OK) st = make_rows(&out->train, out, rows, is_train, n_train, 1, err);
    if (st == KARMA_OK) st = make_rows(&out->others, out, rows, is_train, n_train, 0, err);
    karma_i_free(index);
    return st;
}
