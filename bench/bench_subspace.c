/* Times one EM pass and a whole fit of the subspace, and prints one JSON object.
 *
 *   bench_subspace ROWS DIM RANK REPEATS THREADS [MISSING]
 *
 * Rows of this rank with noise, MISSING of the cells (0.5) hidden at random. Prints the seconds of every
 * repetition, after one that is not counted: with one thread, of processor time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "subspace/posterior.h"
#include "subspace/ppca.h"
#include "table/rows_dense.h"
#include "timing.h"

static const double NOISE = 0.3;

static karma_i_rows *draw_rows(size_t n, size_t d, size_t r, double missing) {
    karma_i_rows *rows = NULL;
    karma_i_rng rng;
    karma_error err = {0};
    size_t *start = karma_i_alloc(d + 1, sizeof *start);
    double *basis = karma_i_alloc(d * r, sizeof *basis), *z = karma_i_alloc(r, sizeof *z);
    must(start && basis && z, "out of memory");
    for (size_t j = 0; j <= d; j++) start[j] = j;
    check(karma_i_rows_new(&rows, d, start, n, &err), &err);
    karma_i_rng_init(&rng, 3);
    for (size_t k = 0; k < d * r; k++) basis[k] = karma_i_rng_normal(&rng) / sqrt((double)r);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < r; k++) z[k] = karma_i_rng_normal(&rng);
        for (size_t j = 0; j < d; j++) {
            double x = NOISE * karma_i_rng_normal(&rng);
            for (size_t k = 0; k < r; k++) x += basis[j * r + k] * z[k];
            if (karma_i_rng_uniform(&rng) < missing) continue;
            karma_i_mask_set(karma_i_rows_mask(rows, i), j);
            karma_i_dense_of(rows)->values[i * d + j] = (float)x;
        }
    }
    rows->n_rows = n;
    karma_i_free(start);
    karma_i_free(basis);
    karma_i_free(z);
    return rows;
}

static void print_seconds(const char *name, double seconds, size_t repeat, size_t repeats) {
    if (repeat == 1) printf("\"%s\": [", name);
    if (repeat >= 1) printf("%.6f%s", seconds, repeat == repeats ? "], " : ", ");
}

/* Processor time of one thread, which other programs on the machine do not change; of several, time on the clock. */
static double seconds(int threads) {
    return threads == 1 ? processor_now() : now();
}

static void time_passes(const karma_i_rows *rows, size_t rank, size_t repeats, int threads) {
    karma_i_ppca_stats *stats = NULL;
    karma_i_subspace *subspace = NULL;
    karma_error err = {0};
    check(karma_i_ppca_start(&subspace, karma_i_rows_all(rows), rank, threads, &err), &err);
    check(karma_i_ppca_stats_new(&stats, rows, rank, threads, &err), &err);
    for (size_t k = 0; k <= repeats; k++) {
        double start = seconds(threads);
        karma_i_ppca_begin(stats, subspace);
        check(karma_i_ppca_add_rows(stats, karma_i_rows_all(rows), &err), &err);
        karma_i_ppca_finish(subspace, stats, 0);
        print_seconds("pass", seconds(threads) - start, k, repeats);
    }
    karma_i_ppca_stats_free(stats);
    karma_i_subspace_free(subspace);
}

static void time_fits(const karma_i_rows *rows, size_t rank, size_t repeats, int threads) {
    karma_i_ppca_options options = karma_i_ppca_defaults(rank);
    karma_i_subspace *subspace = NULL;
    karma_error err = {0};
    options.threads = threads;
    for (size_t k = 0; k <= repeats; k++) {
        karma_i_subspace_free(subspace);
        double start = seconds(threads);
        check(karma_i_ppca_fit(&subspace, karma_i_rows_all(rows), &options, &err), &err);
        print_seconds("fit", seconds(threads) - start, k, repeats);
    }
    printf("\"passes\": %zu, \"converged\": %d, \"sigma\": %.6f, \"log_likelihood\": %.10g, ", subspace->n_passes,
           subspace->is_converged, sqrt(subspace->sigma2), subspace->log_likelihood);
    karma_i_subspace_free(subspace);
}

int main(int argc, char **argv) {
    must(argc == 6 || argc == 7, "see the head of bench_subspace.c");
    size_t n = strtoul(argv[1], NULL, 10), d = strtoul(argv[2], NULL, 10), r = strtoul(argv[3], NULL, 10);
    size_t repeats = strtoul(argv[4], NULL, 10);
    int threads = (int)strtol(argv[5], NULL, 10);
    must(n > 0 && d > 0 && r > 0 && repeats > 0 && threads > 0, "every number is at least 1");
    karma_i_rows *rows = draw_rows(n, d, r, argc == 7 ? strtod(argv[6], NULL) : 0.5);
    printf("{");
    time_passes(rows, r, repeats, threads);
    time_fits(rows, r, repeats, threads);
    printf("\"path\": \"%s\"}\n", karma_i_posterior_paths()[0]->name);
    karma_i_rows_free(rows);
    return 0;
}
