/* Hot deck with random donors: a missing cell gets the value of a training row, drawn with equal probability
 * from the rows that have the cell. Each missing cell of a row has its own donor. Every call starts the
 * generator from the seed, so the same rows in the same order get the same values. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "baseline/imputer.h"

/* For every attribute the training rows that have it: first[j] to first[j + 1]. */
typedef struct donors {
    size_t *first, *row;
} donors;

static void forget(void *state) {
    donors *d = state;
    karma_i_free(d->first);
    karma_i_free(d->row);
    karma_i_free(d);
}

static karma_status learn(void **state, const karma_i_imputer *imputer, const karma_hooks *hooks, karma_error *err) {
    (void)hooks;
    const karma_i_grid *train = &imputer->train;
    size_t n = 0;
    donors *d = karma_i_zalloc(1, sizeof *d);
    if (!d) return karma_i_fail_memory(err);
    for (size_t j = 0; j < train->n_attributes; j++) n += train->n_rows - imputer->n_missing[j];
    d->first = karma_i_zalloc(train->n_attributes + 1, sizeof *d->first);
    d->row = karma_i_alloc(n, sizeof *d->row);
    if (!d->first || !d->row) {
        forget(d);
        return karma_i_fail_memory(err);
    }
    n = 0;
    for (size_t j = 0; j < train->n_attributes; j++) {
        for (size_t i = 0; i < train->n_rows; i++)
            if (karma_i_grid_has(train, i, j)) d->row[n++] = i;
        d->first[j + 1] = n;
    }
    *state = d;
    return KARMA_OK;
}

static karma_status fill(double *x, const karma_i_imputer *imputer, const karma_i_grid *rows, const karma_hooks *hooks,
                         karma_error *err) {
    (void)hooks, (void)err;
    const karma_i_grid *train = &imputer->train;
    const donors *d = imputer->state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, imputer->options.seed);
    for (size_t i = 0; i < rows->n_rows; i++) {
        for (size_t j = 0; j < train->n_attributes; j++) {
            if (karma_i_grid_has(rows, i, j)) continue;
            size_t which = d->first[j] + karma_i_rng_below(&rng, d->first[j + 1] - d->first[j]);
            memcpy(x + i * train->n_features + train->first[j],
                   train->x + d->row[which] * train->n_features + train->first[j],
                   (train->first[j + 1] - train->first[j]) * sizeof *x);
        }
    }
    return KARMA_OK;
}

const karma_i_imputer_kind karma_i_imputer_random_donor = {
    "hot-deck-random", "a missing value is copied from a random training row that has it", 0, learn, fill, forget};
