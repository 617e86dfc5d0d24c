#include "kernel/reveal.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

double karma_i_reveal_bytes(const karma_i_kernel *kernel, size_t n_attributes, size_t n_rows) {
    return (double)n_attributes * (double)n_rows * (double)(kernel->n_factors * sizeof(float) + 1);
}

void karma_i_reveal_table_clear(karma_i_reveal_table *t) {
    karma_i_free(t->kappa);
    karma_i_free(t->shared);
    karma_i_free(t->own);
    karma_i_free(t->square);
    karma_i_free(t->flat);
    *t = (karma_i_reveal_table){0};
}

static karma_status make_room(karma_i_reveal_table *t, karma_error *err) {
    size_t n = t->n_attributes, m = t->n_rows, F = t->kernel->n_factors;
    t->kappa = karma_i_alloc(F * n, m * sizeof *t->kappa);
    t->shared = karma_i_zalloc(n, m);
    t->own = karma_i_alloc(F, n * sizeof *t->own);
    t->square = karma_i_alloc(F, m * sizeof *t->square);
    t->flat = karma_i_alloc(F, sizeof *t->flat);
    return t->kappa && t->shared && t->own && t->square && t->flat ? KARMA_OK : karma_i_fail_memory(err);
}

/* A new row may observe more than any support row, for which there is no entry. */
static double weight_of(const karma_i_factor *factor, size_t n) {
    if (n <= factor->largest_overlap) return (double)factor->weight[n];
    return karma_i_weight(n + (factor->bias != 0.0), factor->gamma, factor->scale, factor->log_norm);
}

static void fill_factor(karma_i_reveal_table *t, size_t f, const karma_i_rows *rows, size_t row,
                        const size_t *attributes, karma_i_view b, int threads) {
    const karma_i_factor *factor = &t->kernel->factors[f];
    const karma_i_rows *own = karma_i_rows_encoding(rows, factor->encoding);
    const karma_i_rows *other = karma_i_rows_encoding(b.rows, factor->encoding);
    size_t n = t->n_attributes, m = t->n_rows;
    t->flat[f] = factor->bias * factor->bias;
    for (size_t k = 0; k < n; k++) t->own[f * n + k] = karma_i_kappa(own, row, own, row, attributes[k]);
    for (size_t j = 0; j < m; j++) t->square[f * m + j] = karma_i_factor_square(factor, other, b.first + j);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < m; j++)
            t->kappa[(f * n + k) * m + j] = (float)karma_i_kappa(own, row, other, b.first + j, attributes[k]);
}

karma_status karma_i_reveal_table_init(karma_i_reveal_table *out, const karma_i_kernel *kernel,
                                       const karma_i_rows *rows, size_t row, const size_t *attributes, size_t n,
                                       karma_i_view b, int threads, karma_error *err) {
    karma_i_reveal_table t = {.kernel = kernel, .n_attributes = n, .n_rows = b.count};
    karma_status st = make_room(&t, err);
    if (st != KARMA_OK) {
        karma_i_reveal_table_clear(&t);
        return st;
    }
    const karma_i_rows *other = karma_i_rows_encoding(b.rows, kernel->factors[0].encoding); /* all observe the same */
    for (size_t j = 0; j < b.count; j++)
        for (size_t k = 0; k < n; k++) {
            karma_i_cell cell;
            t.shared[k * b.count + j] =
                karma_i_rows_next_cell(&cell, other, b.first + j, attributes[k]) && cell.attribute == attributes[k];
        }
    for (size_t f = 0; f < kernel->n_factors; f++) fill_factor(&t, f, rows, row, attributes, b, threads);
    *out = t;
    return KARMA_OK;
}

/* --- sets ---------------------------------------------------------------------------------------------- */

karma_status karma_i_reveal_init(karma_i_reveal *out, const karma_i_reveal_table *table, karma_error *err) {
    size_t F = table->kernel->n_factors, m = table->n_rows;
    karma_i_reveal g = {.sum = karma_i_alloc(F, m * sizeof *g.sum),
                        .common = karma_i_alloc(m, sizeof *g.common),
                        .own = karma_i_alloc(F, sizeof *g.own)};
    if (!g.sum || !g.common || !g.own) {
        karma_i_reveal_clear(&g);
        return karma_i_fail_memory(err);
    }
    *out = g;
    return KARMA_OK;
}

void karma_i_reveal_clear(karma_i_reveal *g) {
    karma_i_free(g->sum);
    karma_i_free(g->common);
    karma_i_free(g->own);
    *g = (karma_i_reveal){0};
}

void karma_i_reveal_start(karma_i_reveal *g, const karma_i_reveal_table *t) {
    size_t m = t->n_rows;
    g->n = 0;
    memset(g->common, 0, m * sizeof *g->common);
    for (size_t f = 0; f < t->kernel->n_factors; f++) {
        g->own[f] = t->flat[f];
        for (size_t j = 0; j < m; j++) g->sum[f * m + j] = t->flat[f];
    }
}

void karma_i_reveal_add(karma_i_reveal *g, const karma_i_reveal_table *t, size_t place) {
    size_t n = t->n_attributes, m = t->n_rows;
    const unsigned char *shared = t->shared + place * m;
    g->n++;
    for (size_t j = 0; j < m; j++) g->common[j] += shared[j];
    for (size_t f = 0; f < t->kernel->n_factors; f++) {
        const float *kappa = t->kappa + (f * n + place) * m;
        double *sum = g->sum + f * m;
        g->own[f] += t->own[f * n + place];
        for (size_t j = 0; j < m; j++) sum[j] += (double)kappa[j];
    }
}

/* The value of a factor with its outer map. */
static double factor_value(const karma_i_reveal *g, const karma_i_reveal_table *t, size_t f, size_t j) {
    const karma_i_factor *factor = &t->kernel->factors[f];
    double xy = (double)factor->weight[g->common[j]] * g->sum[f * t->n_rows + j];
    if (factor->map.kind == KARMA_OUTER_IDENTITY) return xy;
    return karma_i_map_value(&factor->map, xy, weight_of(factor, g->n) * g->own[f], t->square[f * t->n_rows + j]);
}

void karma_i_reveal_score(double *scores, const karma_i_reveal *g, const karma_i_reveal_table *t,
                          const double *coefficients, size_t n_outputs) {
    const karma_i_kernel *kernel = t->kernel;
    for (size_t j = 0; j < t->n_rows; j++) {
        double value = 0.0;
        for (size_t i = 0; i < kernel->n_terms; i++) {
            double product = kernel->terms[i].weight;
            for (size_t f = 0; f < kernel->terms[i].n_factors; f++)
                product *= factor_value(g, t, kernel->terms[i].first_factor + f, j);
            value += product;
        }
        for (size_t o = 0; o < n_outputs; o++) scores[o] += value * coefficients[j * n_outputs + o];
    }
}
