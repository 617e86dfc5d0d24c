#include "table/folds.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* --- dealing ------------------------------------------------------------------------------------------- */

static size_t stratum_of(const size_t *stratum, size_t n_strata, size_t row) {
    if (!stratum) return 0;
    return stratum[row] < n_strata ? stratum[row] : n_strata;
}

/* Rows stratum by stratum, ascending within each. Stratum s then begins at start[s], s <= n_strata, and the last ends
 * at start[n_strata+1]; `start` is zeroed before and has n_strata + 2 items. */
static void sort_by_stratum(size_t *rows, size_t *start, const size_t *stratum, size_t n_strata, size_t n_rows) {
    for (size_t i = 0; i < n_rows; i++) start[stratum_of(stratum, n_strata, i) + 1]++;
    for (size_t s = 0; s <= n_strata; s++) start[s + 1] += start[s];
    for (size_t i = 0; i < n_rows; i++) rows[start[stratum_of(stratum, n_strata, i)]++] = i;
    for (size_t s = n_strata + 1; s > 0; s--) start[s] = start[s - 1]; /* each had moved to its end */
    start[0] = 0;
}

karma_status karma_i_folds_assign(size_t *fold, size_t n_rows, size_t n_folds, const size_t *stratum, size_t n_strata,
                                  uint64_t seed, karma_error *err) {
    if (!(n_folds >= 2 && n_folds <= n_rows))
        return karma_i_fail(err, KARMA_ERR_DATA, "%zu folds cannot be made of %zu rows", n_folds, n_rows);
    if (!stratum) n_strata = 1;
    size_t *rows = karma_i_alloc(n_rows, sizeof *rows), *start = karma_i_zalloc(n_strata + 2, sizeof *start);
    if (rows && start) {
        karma_i_rng rng;
        karma_i_rng_init(&rng, seed);
        sort_by_stratum(rows, start, stratum, n_strata, n_rows);
        for (size_t s = 0; s <= n_strata; s++) karma_i_rng_shuffle(&rng, rows + start[s], start[s + 1] - start[s]);
        /* folds are assigned in turn through all strata, so every stratum is spread evenly */
        for (size_t i = 0; i < n_rows; i++) fold[rows[i]] = i % n_folds;
    }
    karma_status st = rows && start ? KARMA_OK : karma_i_fail_memory(err);
    karma_i_free(rows);
    karma_i_free(start);
    return st;
}

/* --- bins of a number ---------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    size_t row;
} ranked;

static int by_value(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* The bin of 0, ..., n-1 that `rank` falls in: the first n mod n_bins bins have one more than the others. */
static size_t bin_of(size_t rank, size_t n, size_t n_bins) {
    size_t size = n / n_bins, n_larger = n % n_bins, in_larger = n_larger * (size + 1);
    return rank < in_larger ? rank / (size + 1) : n_larger + (rank - in_larger) / size;
}

karma_status karma_i_folds_bins(size_t *stratum, const double *target, size_t n_rows, size_t n_bins, karma_error *err) {
    ranked *order = karma_i_alloc(n_rows, sizeof *order);
    if (!order) return karma_i_fail_memory(err);
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        stratum[i] = n_bins;
        if (!isnan(target[i])) order[n++] = (ranked){target[i], i};
    }
    if (n > 1) qsort(order, n, sizeof *order, by_value);
    for (size_t rank = 0; rank < n; rank++) stratum[order[rank].row] = bin_of(rank, n, n_bins);
    karma_i_free(order);
    return KARMA_OK;
}

/* --- rows of a fold --------------------------------------------------------------------------------------------- */

void karma_i_folds_split(size_t *train, size_t *n_train, size_t *test, size_t *n_test, const size_t *fold,
                         size_t n_rows, size_t which) {
    *n_train = *n_test = 0;
    for (size_t i = 0; i < n_rows; i++)
        if (fold[i] == which)
            test[(*n_test)++] = i;
        else
            train[(*n_train)++] = i;
}
