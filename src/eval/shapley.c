#include "eval/shapley.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

/* So many sets are scored at a time, if orders are short enough: work for all threads, little memory. */
enum { SETS_AT_A_TIME = 1024 };

void karma_i_game_clear(karma_i_game *game) {
    karma_i_rows_free(game->work);
    karma_i_free(game->scores);
    game->work = NULL;
    game->scores = NULL;
}

karma_status karma_i_game_init(karma_i_game *game, karma_error *err) {
    game->work = NULL;
    game->scores = NULL;
    game->score_capacity = 0;
    return karma_i_rows_new_like(&game->work, game->rows, SETS_AT_A_TIME, err);
}

/* The first of the work rows is the whole row; there are no others yet. */
static karma_status start_sets(karma_i_game *game, size_t row, karma_error *err) {
    return karma_i_rows_gather(game->work, game->rows, &row, 1, err);
}

/* One more set: that of work row `from` without `attribute`. */
static karma_status add_set_without(karma_i_game *game, size_t from, size_t attribute, karma_error *err) {
    KARMA_TRY(karma_i_rows_append(game->work, game->work, from, err));
    karma_i_rows_hide(game->work, game->work->n_rows - 1, attribute);
    return KARMA_OK;
}

/* v of all sets that were added; scores[set * n_outputs + output]. */
static karma_status score_sets(karma_i_game *game, karma_error *err) {
    size_t needed = game->work->n_rows * game->model->task.n_outputs;
    if (!karma_i_reserve(&game->scores, &game->score_capacity, needed, sizeof *game->scores))
        return karma_i_fail_memory(err);
    karma_i_placed placed;
    KARMA_TRY(karma_i_encoder_place(&placed, &game->model->encoder, game->work, game->threads, err));
    karma_status st = karma_i_model_scores(game->scores, game->model, placed.rows, game->threads, err);
    karma_i_placed_clear(&placed);
    return st;
}

/* --- all sets ------------------------------------------------------------------------------------------ */

/* Sets are bits of a number, and come in descending order: set m stands at place all - m, and each is the set before it
 * that has one more attribute, the first that m lacks. */
static karma_status add_all_sets(karma_i_game *game, size_t row, const size_t *attributes, size_t n, karma_error *err) {
    size_t all = ((size_t)1 << n) - 1;
    KARMA_TRY(start_sets(game, row, err));
    for (size_t m = all; m-- > 0;) {
        size_t lacks = 0;
        while (m >> lacks & 1) lacks++;
        KARMA_TRY(add_set_without(game, all - (m | (size_t)1 << lacks), attributes[lacks], err));
    }
    return KARMA_OK;
}

/* |S|! (n - 1 - |S|)!/n! = 1/(n · C(n - 1, |S|)) */
static double set_weight(size_t n, size_t size) {
    double choices = 1.0;
    for (size_t k = 0; k < size; k++) choices *= (double)(n - 1 - k) / (double)(k + 1);
    return 1.0 / ((double)n * choices);
}

karma_status karma_i_shapley_exact(double *values, double *errors, karma_i_game *game, size_t row,
                                   const size_t *attributes, size_t n, karma_error *err) {
    size_t K = game->model->task.n_outputs, all = ((size_t)1 << n) - 1;
    KARMA_TRY(add_all_sets(game, row, attributes, n, err));
    KARMA_TRY(score_sets(game, err));
    memset(values, 0, n * K * sizeof *values);
    memset(errors, 0, n * K * sizeof *errors);
    for (size_t m = 0; m < all; m++) {
        double weight = set_weight(n, karma_i_popcount(m));
        const double *without = game->scores + (all - m) * K;
        for (size_t k = 0; k < n; k++) {
            if (m >> k & 1) continue;
            const double *with = game->scores + (all - (m | (size_t)1 << k)) * K;
            for (size_t o = 0; o < K; o++) values[k * K + o] += weight * (with[o] - without[o]);
        }
    }
    memcpy(values + n * K, game->scores + all * K, K * sizeof *values);
    return KARMA_OK;
}

/* --- some orders --------------------------------------------------------------------------------------- */

/* Sampling of one row. The sets of an order that are neither empty nor all stand in the work rows from large to small,
 * those of its reverse behind them. */
typedef struct sampling {
    size_t n, n_outputs;
    size_t *order;     /* the orders of a batch, n items each */
    double *ends;      /* v(all), then v(∅) */
    double *gain;      /* of a pair, a part and output each */
    double *mean, *m2; /* over the pairs so far, and the sum of squared deviations from it */
    size_t n_pairs;
} sampling;

static void free_sampling(sampling *s) {
    karma_i_free(s->order);
    karma_i_free(s->ends);
    karma_i_free(s->gain);
    karma_i_free(s->mean);
    karma_i_free(s->m2);
}

static karma_status new_sampling(sampling *s, size_t n, size_t n_outputs, size_t batch, karma_error *err) {
    size_t item = n_outputs * sizeof(double);
    *s = (sampling){.n = n,
                    .n_outputs = n_outputs,
                    .order = karma_i_alloc(batch, n * sizeof *s->order),
                    .ends = karma_i_alloc(2, item),
                    .gain = karma_i_alloc(n, item),
                    .mean = karma_i_zalloc(n, item),
                    .m2 = karma_i_zalloc(n, item)};
    return s->order && s->ends && s->gain && s->mean && s->m2 ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status score_ends(sampling *s, karma_i_game *game, size_t row, const size_t *attributes,
                               karma_error *err) {
    KARMA_TRY(start_sets(game, row, err));
    KARMA_TRY(karma_i_rows_append(game->work, game->work, 0, err));
    for (size_t k = 0; k < s->n; k++) karma_i_rows_hide(game->work, 1, attributes[k]);
    KARMA_TRY(score_sets(game, err));
    memcpy(s->ends, game->scores, 2 * s->n_outputs * sizeof *s->ends);
    return KARMA_OK;
}

/* The attributes that come at place p of an order or of its reverse. */
static size_t at_place(const size_t *order, size_t n, size_t p, int reversed) {
    return reversed ? order[n - 1 - p] : order[p];
}

/* The last of the order goes first, until one is left. */
static karma_status add_order(karma_i_game *game, const size_t *attributes, const size_t *order, size_t n, int reversed,
                              karma_error *err) {
    size_t from = 0;
    for (size_t p = n; p-- > 1;) {
        KARMA_TRY(add_set_without(game, from, attributes[at_place(order, n, p, reversed)], err));
        from = game->work->n_rows - 1;
    }
    return KARMA_OK;
}

/* Adds half of what every attribute of an order adds to those before it. `sets` are the scores of the order's sets. */
static void add_gains(sampling *s, const double *sets, const size_t *order, int reversed) {
    size_t n = s->n, K = s->n_outputs;
    const double *with = s->ends;
    for (size_t p = n; p-- > 0;) {
        const double *without = p > 0 ? sets + (n - 1 - p) * K : s->ends + K;
        double *gain = s->gain + at_place(order, n, p, reversed) * K;
        for (size_t o = 0; o < K; o++) gain[o] += 0.5 * (with[o] - without[o]);
        with = without;
    }
}

/* Takes the gains of one more pair into mean and deviations (Welford). */
static void take_pair(sampling *s, const double *sets, const size_t *order) {
    size_t n = s->n, K = s->n_outputs;
    memset(s->gain, 0, n * K * sizeof *s->gain);
    add_gains(s, sets, order, 0);
    add_gains(s, sets + (n - 1) * K, order, 1);
    s->n_pairs++;
    for (size_t k = 0; k < n * K; k++) {
        double off = s->gain[k] - s->mean[k];
        s->mean[k] += off / (double)s->n_pairs;
        s->m2[k] += off * (s->gain[k] - s->mean[k]);
    }
}

static karma_status play_batch(sampling *s, karma_i_game *game, size_t row, const size_t *attributes, size_t n_pairs,
                               karma_i_rng *rng, karma_error *err) {
    size_t n = s->n, sets_a_pair = 2 * (n - 1);
    KARMA_TRY(start_sets(game, row, err));
    for (size_t pair = 0; pair < n_pairs; pair++) {
        size_t *order = s->order + pair * n;
        for (size_t k = 0; k < n; k++) order[k] = k;
        karma_i_rng_shuffle(rng, order, n);
        KARMA_TRY(add_order(game, attributes, order, n, 0, err));
        KARMA_TRY(add_order(game, attributes, order, n, 1, err));
    }
    KARMA_TRY(score_sets(game, err));
    for (size_t pair = 0; pair < n_pairs; pair++) /* behind the whole row */
        take_pair(s, game->scores + (1 + pair * sets_a_pair) * s->n_outputs, s->order + pair * n);
    return KARMA_OK;
}

karma_status karma_i_shapley_sample(double *values, double *errors, karma_i_game *game, size_t row,
                                    const size_t *attributes, size_t n, size_t samples, uint64_t seed,
                                    karma_error *err) {
    size_t n_pairs = (samples + 1) / 2, batch = SETS_AT_A_TIME / (2 * n), K = game->model->task.n_outputs;
    if (batch == 0) batch = 1;
    if (batch > n_pairs) batch = n_pairs;
    karma_i_rng rng;
    sampling s;
    karma_i_rng_init(&rng, seed);
    karma_status st = new_sampling(&s, n, K, batch, err);
    if (st == KARMA_OK) st = score_ends(&s, game, row, attributes, err);
    for (size_t done = 0; st == KARMA_OK && done < n_pairs; done += batch)
        st = play_batch(&s, game, row, attributes, n_pairs - done < batch ? n_pairs - done : batch, &rng, err);
    if (st == KARMA_OK) {
        memcpy(values, s.mean, n * K * sizeof *values);
        memcpy(values + n * K, s.ends + K, K * sizeof *values);
        for (size_t k = 0; k < n * K; k++) errors[k] = sqrt(s.m2[k] / ((double)(n_pairs - 1) * (double)n_pairs));
    }
    free_sampling(&s);
    return st;
}
