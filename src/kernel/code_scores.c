/* Scores of rows that have only codes, such as leaves of trees. The kernel is then a sum over attributes,
 *
 *     Σ_j α_j k(a, b_j) = Σ_t s_t(code_t(a)),   s_t(c) = weight · Σ_j α_j [code_t(b_j) = c]
 *
 * so the rows b are summed once, code by code. Then every row a costs one addition per attribute for any
 * number of rows b. */
#include "kernel/code_scores.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* The codes of a kernel's rows; NULL if the rows have more than codes, or the kernel is not just their
 * sum. */
static const uint16_t *codes_of(size_t *n_codes, const karma_i_kernel *kernel, karma_i_view view) {
    const karma_i_rows *rows = karma_i_rows_encoding(view.rows, kernel->factors[0].encoding);
    const uint16_t *codes = rows->ops->only_codes ? rows->ops->only_codes(n_codes, rows) : NULL;
    return codes ? codes + view.first * *n_codes : NULL;
}

int karma_i_code_scores_suit(const karma_i_kernel *kernel, karma_i_view a, karma_i_view b) {
    size_t n_a, n_b;
    return karma_i_kernel_is_plain(kernel) && kernel->factors[0].gamma == 1 && kernel->factors[0].bias == 0.0 &&
           codes_of(&n_a, kernel, a) && codes_of(&n_b, kernel, b) && n_a == n_b;
}

/* start[t]: where the sums of attribute t begin; its codes from 0 to the largest of b have a place. */
static size_t lay_out(size_t *start, const uint16_t *codes, size_t n_rows, size_t n_codes) {
    memset(start, 0, (n_codes + 1) * sizeof *start);
    for (size_t j = 0; j < n_rows; j++)
        for (size_t t = 0; t < n_codes; t++)
            if (codes[j * n_codes + t] > start[t + 1]) start[t + 1] = codes[j * n_codes + t];
    for (size_t t = 0; t < n_codes; t++) start[t + 1] += start[t] + 1;
    return start[n_codes];
}

static void add_up(double *sums, const size_t *start, const uint16_t *codes, size_t n_rows, size_t n_codes,
                   const double *coefficients, size_t n_outputs) {
    for (size_t j = 0; j < n_rows; j++) {
        const double *own = coefficients + j * n_outputs;
        int is_used = 0;
        for (size_t o = 0; o < n_outputs; o++) is_used |= own[o] != 0.0;
        for (size_t t = 0; is_used && t < n_codes; t++) {
            size_t code = codes[j * n_codes + t];
            if (code == 0) continue;
            double *to = sums + (start[t] + code) * n_outputs;
            for (size_t o = 0; o < n_outputs; o++) to[o] += own[o];
        }
    }
}

static void score_row(double *scores, const double *sums, const size_t *start, const uint16_t *codes, size_t n_codes,
                      size_t n_outputs, double weight) {
    memset(scores, 0, n_outputs * sizeof *scores);
    for (size_t t = 0; t < n_codes; t++) {
        size_t place = start[t] + codes[t];
        if (codes[t] == 0 || place >= start[t + 1]) continue; /* missing, or a code that no row of b has */
        for (size_t o = 0; o < n_outputs; o++) scores[o] += sums[place * n_outputs + o];
    }
    for (size_t o = 0; o < n_outputs; o++) scores[o] *= weight;
}

karma_status karma_i_code_scores(double *scores, const karma_i_kernel *kernel, karma_i_view a, karma_i_view b,
                                 const double *coefficients, size_t n_outputs, int threads, karma_error *err) {
    size_t n_codes = 0;
    const uint16_t *asked = codes_of(&n_codes, kernel, a), *learned = codes_of(&n_codes, kernel, b);
    const karma_i_factor *factor = &kernel->factors[0];
    /* w of any overlap, for γ = 1, in double precision */
    double weight = kernel->terms[0].weight * karma_i_weight(0, 1, factor->scale, factor->log_norm);
    size_t *start = karma_i_alloc(n_codes + 1, sizeof *start);
    size_t n_sums = start ? lay_out(start, learned, b.count, n_codes) : 0;
    double *sums = karma_i_zalloc(n_sums, n_outputs * sizeof *sums);
    karma_status st = start && sums ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK) {
        add_up(sums, start, learned, b.count, n_codes, coefficients, n_outputs);
#pragma omp parallel for num_threads(threads) schedule(static) if (a.count * n_codes > 100000)
        for (size_t i = 0; i < a.count; i++)
            score_row(scores + i * n_outputs, sums, start, asked + i * n_codes, n_codes, n_outputs, weight);
    }
    karma_i_free(start);
    karma_i_free(sums);
    return st;
}
