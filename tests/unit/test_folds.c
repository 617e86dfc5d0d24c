/* Folds: balance, strata, and the same folds for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "table/folds.h"

enum { MOST_ROWS = 300, MOST_FOLDS = 12, MOST_STRATA = 7 };

static void assign(size_t *fold, size_t n_rows, size_t n_folds, const size_t *stratum, size_t n_strata, uint64_t seed) {
    karma_error err;
    if (karma_i_folds_assign(fold, n_rows, n_folds, stratum, n_strata, seed, &err) != KARMA_OK)
        fail_msg("%s", err.message);
}

/* The folds have equal numbers of rows of stratum `which` (SIZE_MAX: of all rows), give or take 1. */
static void assert_even(const size_t *fold, size_t n_rows, size_t n_folds, const size_t *stratum, size_t which) {
    size_t count[MOST_FOLDS] = {0}, least = SIZE_MAX, most = 0;
    for (size_t i = 0; i < n_rows; i++) {
        assert_true(fold[i] < n_folds);
        count[fold[i]] += which == SIZE_MAX || stratum[i] == which;
    }
    for (size_t f = 0; f < n_folds; f++) {
        least = count[f] < least ? count[f] : least;
        most = count[f] > most ? count[f] : most;
    }
    assert_true(most - least <= 1);
}

static void folds_and_strata_are_even(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (uint64_t round = 0; round < 300; round++) {
        size_t fold[MOST_ROWS], stratum[MOST_ROWS], n_folds = 2 + karma_i_rng_below(&rng, MOST_FOLDS - 1);
        size_t n_rows = n_folds + karma_i_rng_below(&rng, MOST_ROWS - n_folds);
        size_t n_strata = 1 + karma_i_rng_below(&rng, MOST_STRATA);
        for (size_t i = 0; i < n_rows; i++) stratum[i] = karma_i_rng_below(&rng, n_strata + 1); /* n_strata: unknown */
        assign(fold, n_rows, n_folds, stratum, n_strata, round);
        assert_even(fold, n_rows, n_folds, NULL, SIZE_MAX);
        for (size_t s = 0; s <= n_strata; s++) assert_even(fold, n_rows, n_folds, stratum, s);
        assign(fold, n_rows, n_folds, NULL, 0, round);
        assert_even(fold, n_rows, n_folds, NULL, SIZE_MAX);
    }
}

/* Computed by a Python copy of generator and shuffle. A change here would change the cross-validation of every user. */
static void a_seed_gives_these_folds(void **state) {
    (void)state;
    static const size_t stratum[] = {0, 0, 0, 0, 1, 1, 1, 99}, wanted_plain[] = {0, 0, 1, 1, 2, 2, 1, 0},
                        wanted_strata[] = {2, 1, 0, 0, 2, 1, 0, 1};
    size_t fold[8];
    assign(fold, 8, 3, NULL, 0, 42);
    assert_memory_equal(fold, wanted_plain, sizeof fold);
    assign(fold, 8, 3, stratum, 2, 42);
    assert_memory_equal(fold, wanted_strata, sizeof fold);
}

/* In two folds of 20 rows, two rows share a fold with probability 9/19: 400 seeds show whether the shuffle is
 * random. */
static void seeds_differ_and_rows_mix(void **state) {
    (void)state;
    size_t fold[20], together = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        assign(fold, 20, 2, NULL, 0, seed);
        together += fold[0] == fold[1];
    }
    assert_true(together > 400 * 9 / 19 - 40 && together < 400 * 9 / 19 + 40); /* four standard deviations */
}

static void impossible_folds_are_refused(void **state) {
    (void)state;
    size_t fold[3] = {7, 7, 7};
    assert_int_equal(karma_i_folds_assign(fold, 3, 4, NULL, 0, 1, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_i_folds_assign(fold, 3, 1, NULL, 0, 1, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_i_folds_assign(fold, 3, 0, NULL, 0, 1, NULL), KARMA_ERR_DATA);
    assert_int_equal(karma_i_folds_assign(fold, 0, 2, NULL, 0, 1, NULL), KARMA_ERR_DATA);
    assert_int_equal(fold[0], 7);
}

static void bins_by_hand(void **state) {
    (void)state;
    static const double target[] = {5, 1, NAN, 1, -INFINITY, 9, 5, 5};
    static const size_t three[] = {1, 0, 3, 0, 0, 2, 1, 2}; /* -inf 1 1 | 5 5 | 5 9: seven numbers in bins of 3, 2, 2 */
    static const size_t many[] = {3, 1, 20, 2, 0, 6, 4, 5};
    size_t stratum[8];
    assert_int_equal(karma_i_folds_bins(stratum, target, 8, 3, NULL), KARMA_OK);
    assert_memory_equal(stratum, three, sizeof stratum);
    assert_int_equal(karma_i_folds_bins(stratum, target, 8, 20, NULL), KARMA_OK);
    assert_memory_equal(stratum, many, sizeof stratum);
}

static void bins_are_even_and_ascend(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (int round = 0; round < 100; round++) {
        double target[MOST_ROWS];
        size_t stratum[MOST_ROWS], n = 1 + karma_i_rng_below(&rng, MOST_ROWS), n_bins = 1 + karma_i_rng_below(&rng, 11);
        for (size_t i = 0; i < n; i++) target[i] = floor(5.0 * karma_i_rng_normal(&rng));
        assert_int_equal(karma_i_folds_bins(stratum, target, n, n_bins, NULL), KARMA_OK);
        assert_even(stratum, n, n_bins, NULL, SIZE_MAX);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (target[i] < target[j] || (target[i] == target[j] && i < j)) assert_true(stratum[i] <= stratum[j]);
    }
}

static void splits_divide_the_rows(void **state) {
    (void)state;
    static const size_t fold[] = {2, 0, 1, 0, 2}, wanted_train[] = {0, 2, 4}, wanted_test[] = {1, 3};
    size_t train[5], test[5], n_train, n_test;
    karma_i_folds_split(train, &n_train, test, &n_test, fold, 5, 0);
    assert_int_equal(n_train, 3);
    assert_int_equal(n_test, 2);
    assert_memory_equal(train, wanted_train, sizeof wanted_train);
    assert_memory_equal(test, wanted_test, sizeof wanted_test);
    karma_i_folds_split(train, &n_train, test, &n_test, fold, 5, 9);
    assert_int_equal(n_train, 5);
    assert_int_equal(n_test, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_and_strata_are_even),
        cmocka_unit_test(a_seed_gives_these_folds),
        cmocka_unit_test(seeds_differ_and_rows_mix),
        cmocka_unit_test(impossible_folds_are_refused),
        cmocka_unit_test(bins_by_hand),
        cmocka_unit_test(bins_are_even_and_ascend),
        cmocka_unit_test(splits_divide_the_rows),
    };
    return cmocka_run_group_tests_name("folds", tests, NULL, NULL);
}
