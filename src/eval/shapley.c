#include "eval/shapley.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kernel/reveal.h"

/* Most parts of the kernel kept for one row. */
#define MOST_PART_BYTES 536870912.0
/* This many sets are scored at a time, if orders are short enough: work for all threads, little memory. */
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
    game->reuses_parts = 1;
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

int karma_i_member_is_placed(const karma_model *model, size_t member) {
    const karma_i_kernel *kernel = &model->members[member].kernel;
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (karma_i_recipe_is_placed(model->encoder.recipes[kernel->factors[f].encoding])) return 1;
    return 0;
}

/* Whether the orders of a row need the sets themselves, for some member, or the parts suffice. */
static int needs_sets(const karma_i_game *game) {
    for (size_t m = 0; m < game->model->n_members; m++)
        if (!game->reuses_parts || karma_i_member_is_placed(game->model, m)) return 1;
    return 0;
}

/* Adds the scores of the members that are placed in a subspace. */
static karma_status score_placed_members(double *scores, const karma_i_game *game, const karma_i_rows *rows,
                                         karma_error *err) {
    const karma_model *model = game->model;
    size_t n = rows->n_rows * model->task.n_outputs;
    double *own = karma_i_alloc(n, sizeof *own);
    karma_status st = own ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t m = 0; st == KARMA_OK && m < model->n_members; m++) {
        if (!karma_i_member_is_placed(model, m)) continue;
        st = karma_i_kernel_scores(own, &model->members[m].kernel, karma_i_rows_all(rows),
                                   karma_i_rows_all(model->support), model->members[m].coefficients,
                                   model->task.n_outputs, game->threads, err);
        for (size_t i = 0; st == KARMA_OK && i < n; i++) scores[i] += own[i];
    }
    karma_i_free(own);
    return st;
}

/* v of all sets that were added; scores[set * n_outputs + output]. `all`: of all members, otherwise only of
 * those placed in a subspace. */
static karma_status score_sets(karma_i_game *game, int all, karma_error *err) {
    size_t needed = game->work->n_rows * game->model->task.n_outputs;
    if (!karma_i_reserve(&game->scores, &game->score_capacity, needed, sizeof *game->scores))
        return karma_i_fail_memory(err);
    karma_i_placed placed;
    KARMA_TRY(karma_i_encoder_place(&placed, &game->model->encoder, game->work, game->threads, err));
    karma_status st = KARMA_OK;
    if (all)
        st = karma_i_model_scores(game->scores, game->model, placed.rows, game->threads, err);
    else {
        memset(game->scores, 0, needed * sizeof *game->scores);
        st = score_placed_members(game->scores, game, placed.rows, err);
    }
    karma_i_placed_clear(&placed);
    return st;
}

/* --- all sets ------------------------------------------------------------------------------------------ */

/* Sets are the bits of a number, in descending order: set m is at place all - m and is made from an earlier
 * set, which has one more attribute, the first that m lacks. */
static karma_status add_all_sets(karma_i_game *game, const karma_i_players *players, karma_error *err) {
    size_t all = ((size_t)1 << players->n) - 1;
    KARMA_TRY(start_sets(game, players->row, err));
    for (size_t m = all; m-- > 0;) {
        size_t lacks = 0;
        while (m >> lacks & 1) lacks++;
        KARMA_TRY(add_set_without(game, all - (m | (size_t)1 << lacks), players->attributes[lacks], err));
    }
    return KARMA_OK;
}

/* |S|! (n - 1 - |S|)!/n! = 1/(n · C(n - 1, |S|)) */
static double set_weight(size_t n, size_t size) {
    double choices = 1.0;
    for (size_t k = 0; k < size; k++) choices *= (double)(n - 1 - k) / (double)(k + 1);
    return 1.0 / ((double)n * choices);
}

karma_status karma_i_shapley_exact(double *values, double *errors, karma_i_game *game, const karma_i_players *players,
                                   karma_error *err) {
    size_t K = game->model->task.n_outputs, n = players->n, all = ((size_t)1 << n) - 1;
    KARMA_TRY(add_all_sets(game, players, err));
    KARMA_TRY(score_sets(game, 1, err));
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
 * those of its reverse after them. */
typedef struct sampling {
    size_t n, n_outputs;
    size_t *order;     /* the orders of a batch, n items each */
    double *ends;      /* v(all), then v(∅) */
    double *gain;      /* of a pair, one per part and output */
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

/* `all`: of all members, otherwise of those alone that are placed in a subspace. */
static karma_status score_ends(sampling *s, karma_i_game *game, const karma_i_players *players, int all,
                               karma_error *err) {
    KARMA_TRY(start_sets(game, players->row, err));
    KARMA_TRY(karma_i_rows_append(game->work, game->work, 0, err));
    for (size_t k = 0; k < s->n; k++) karma_i_rows_hide(game->work, 1, players->attributes[k]);
    KARMA_TRY(score_sets(game, all, err));
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

/* Parts of kernel values: a table for every member that is not placed in a subspace. */
typedef struct part_tables {
    karma_i_reveal_table *tables; /* by member; zeroed where it has none */
    size_t n;
} part_tables;

static void free_parts(part_tables *p) {
    for (size_t m = 0; p->tables && m < p->n; m++) karma_i_reveal_table_clear(&p->tables[m]);
    karma_i_free(p->tables);
    *p = (part_tables){NULL, 0};
}

static double bytes_of_parts(const karma_model *model, size_t n) {
    double bytes = 0.0;
    for (size_t m = 0; m < model->n_members; m++)
        if (!karma_i_member_is_placed(model, m))
            bytes += karma_i_reveal_bytes(&model->members[m].kernel, n, model->support->n_rows);
    return bytes;
}

static karma_status make_parts(part_tables *p, const karma_i_game *game, const karma_i_players *players,
                               karma_error *err) {
    const karma_model *model = game->model;
    *p = (part_tables){karma_i_zalloc(model->n_members, sizeof *p->tables), model->n_members};
    karma_status st = p->tables ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t m = 0; st == KARMA_OK && m < p->n; m++)
        if (!karma_i_member_is_placed(model, m))
            st = karma_i_reveal_table_init(&p->tables[m], &model->members[m].kernel, game->rows, players->row,
                                           players->attributes, players->n, karma_i_rows_all(model->support),
                                           game->threads, err);
    if (st != KARMA_OK) free_parts(p);
    return st;
}

/* v(all) and v(∅) from the parts: the parts and the fast kernel differ in the last digits of single
 * precision, which must not count as contributions. */
static karma_status grow_ends(sampling *s, karma_i_game *game, const part_tables *parts, const karma_i_players *players,
                              karma_error *err) {
    karma_status st = score_ends(s, game, players, 0, err);
    for (size_t m = 0; st == KARMA_OK && m < parts->n; m++) {
        const karma_i_reveal_table *table = &parts->tables[m];
        const double *coefficients = game->model->members[m].coefficients;
        karma_i_reveal grow;
        if (!table->kernel) continue;
        st = karma_i_reveal_init(&grow, table, err);
        if (st != KARMA_OK) break;
        karma_i_reveal_start(&grow, table);
        karma_i_reveal_score(s->ends + s->n_outputs, &grow, table, coefficients, s->n_outputs);
        for (size_t k = 0; k < s->n; k++) karma_i_reveal_add(&grow, table, k);
        karma_i_reveal_score(s->ends, &grow, table, coefficients, s->n_outputs);
        karma_i_reveal_clear(&grow);
    }
    return st;
}

/* Adds one member's scores of the sets of an order, which stand from large to small. */
static void grow_order(double *sets, karma_i_reveal *grow, const karma_i_reveal_table *table,
                       const karma_i_member *member, const size_t *order, size_t n, int reversed, size_t K) {
    karma_i_reveal_start(grow, table);
    for (size_t p = 0; p + 1 < n; p++) {
        karma_i_reveal_add(grow, table, at_place(order, n, p, reversed));
        karma_i_reveal_score(sets + (n - 2 - p) * K, grow, table, member->coefficients, K);
    }
}

/* The same for all orders of a batch and their reverses, each a piece of work for one thread. */
static karma_status grow_orders(double *sets, const karma_i_game *game, const part_tables *parts, const sampling *s,
                                size_t n_pairs, karma_error *err) {
    size_t n = s->n, K = s->n_outputs;
    int failed = 0;
#pragma omp parallel for num_threads(game->threads) schedule(dynamic) reduction(| : failed)
    for (size_t w = 0; w < 2 * n_pairs; w++)
        for (size_t m = 0; m < parts->n; m++) {
            karma_i_reveal grow;
            if (!parts->tables[m].kernel) continue;
            if (karma_i_reveal_init(&grow, &parts->tables[m], NULL) != KARMA_OK) {
                failed = 1;
                continue;
            }
            grow_order(sets + w * (n - 1) * K, &grow, &parts->tables[m], &game->model->members[m], s->order + w / 2 * n,
                       n, (int)(w % 2), K);
            karma_i_reveal_clear(&grow);
        }
    return failed ? karma_i_fail_memory(err) : KARMA_OK;
}

/* Scores of all sets of a batch of orders into game->scores, behind those of the whole row. */
static karma_status score_orders(karma_i_game *game, const sampling *s, const karma_i_players *players,
                                 const part_tables *parts, size_t n_pairs, karma_error *err) {
    size_t n = s->n, n_sets = 1 + n_pairs * 2 * (n - 1), K = s->n_outputs;
    if (!parts->tables || needs_sets(game)) {
        KARMA_TRY(start_sets(game, players->row, err));
        for (size_t pair = 0; pair < n_pairs; pair++)
            for (int reversed = 0; reversed < 2; reversed++)
                KARMA_TRY(add_order(game, players->attributes, s->order + pair * n, n, reversed, err));
        KARMA_TRY(score_sets(game, !parts->tables, err));
    } else {
        if (!karma_i_reserve(&game->scores, &game->score_capacity, n_sets * K, sizeof *game->scores))
            return karma_i_fail_memory(err);
        memset(game->scores, 0, n_sets * K * sizeof *game->scores);
    }
    return parts->tables ? grow_orders(game->scores + K, game, parts, s, n_pairs, err) : KARMA_OK;
}

static karma_status play_batch(sampling *s, karma_i_game *game, const karma_i_players *players,
                               const part_tables *parts, size_t n_pairs, karma_i_rng *rng, karma_error *err) {
    size_t n = s->n, sets_a_pair = 2 * (n - 1);
    for (size_t pair = 0; pair < n_pairs; pair++) {
        size_t *order = s->order + pair * n;
        for (size_t k = 0; k < n; k++) order[k] = k;
        karma_i_rng_shuffle(rng, order, n);
    }
    KARMA_TRY(score_orders(game, s, players, parts, n_pairs, err));
    for (size_t pair = 0; pair < n_pairs; pair++) /* behind the whole row */
        take_pair(s, game->scores + (1 + pair * sets_a_pair) * s->n_outputs, s->order + pair * n);
    return KARMA_OK;
}

/* The means, which sum to values[0] up to single precision; each takes an equal share of the difference.
 */
static void spread_rest(double *values, const double *mean, size_t n, size_t K) {
    double rest = values[0];
    for (size_t k = 0; k < n; k++) rest -= mean[k * K];
    for (size_t k = 0; k < n; k++) values[k * K] = mean[k * K] + rest / (double)n;
}

karma_status karma_i_shapley_sample(double *values, double *errors, karma_i_game *game, const karma_i_players *players,
                                    size_t samples, uint64_t seed, karma_error *err) {
    size_t n_pairs = (samples + 1) / 2, n = players->n, batch = SETS_AT_A_TIME / (2 * n),
           K = game->model->task.n_outputs;
    if (batch == 0) batch = 1;
    if (batch > n_pairs) batch = n_pairs;
    karma_i_rng rng;
    sampling s;
    karma_i_rng_init(&rng, seed);
    part_tables parts = {NULL, 0};
    karma_status st = new_sampling(&s, n, K, batch, err);
    if (st == KARMA_OK) st = score_ends(&s, game, players, 1, err);
    for (size_t o = 0; st == KARMA_OK && o < K; o++) { /* v(∅); the first value holds the sum until the end */
        values[n * K + o] = s.ends[K + o];
        values[o] = s.ends[o] - s.ends[K + o];
    }
    if (st == KARMA_OK && game->reuses_parts && bytes_of_parts(game->model, n) <= MOST_PART_BYTES)
        st = make_parts(&parts, game, players, err);
    if (st == KARMA_OK && parts.tables) st = grow_ends(&s, game, &parts, players, err);
    for (size_t done = 0; st == KARMA_OK && done < n_pairs; done += batch)
        st = play_batch(&s, game, players, &parts, n_pairs - done < batch ? n_pairs - done : batch, &rng, err);
    if (st == KARMA_OK) {
        for (size_t o = 0; o < K; o++) spread_rest(values + o, s.mean + o, n, K);
        for (size_t k = 0; k < n * K; k++) errors[k] = sqrt(s.m2[k] / ((double)(n_pairs - 1) * (double)n_pairs));
    }
    free_parts(&parts);
    free_sampling(&s);
    return st;
}
