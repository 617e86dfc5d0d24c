/* The cache of kernel rows: it returns the rows of karma_i_kernel_block, whatever was asked for before and however
 * small it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "../numeric/randomrows.h"
#include "kernel/row_cache.h"
#include "representation.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"

typedef struct fixture {
    karma_i_rows *rows;
    karma_i_kernel kernel;
    float *gram; /* by karma_i_kernel_block */
} fixture;

static void open_fixture(fixture *f, size_t n, int sparse, uint64_t seed) {
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    row_shape shape = {n, 17, 0, 1, 0.4, 0};
    karma_i_rows *dense = draw_rows(&shape, &rng);
    f->rows = dense;
    if (sparse) {
        assert_int_equal(karma_i_rows_new_sparse(&f->rows, 17, n, NULL), KARMA_OK);
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < 17; j++)
                if (karma_i_mask_get(karma_i_rows_mask(dense, i), j))
                    assert_int_equal(karma_i_rows_add_cell(f->rows, j, karma_i_rows_values(dense, i)[j], NULL),
                                     KARMA_OK);
            assert_int_equal(karma_i_rows_end_sparse(f->rows, NULL), KARMA_OK);
        }
        karma_i_rows_free(dense);
    }
    assert_int_equal(karma_i_kernel_init(&f->kernel, 3, 6.0, 1.0, 17, NULL), KARMA_OK);
    f->gram = malloc(n * n * sizeof *f->gram);
    karma_i_view all = karma_i_rows_all(f->rows);
    assert_int_equal(karma_i_kernel_block(f->gram, n, &f->kernel, all, all, 2), KARMA_OK);
}

static void close_fixture(fixture *f) {
    karma_i_kernel_clear(&f->kernel);
    karma_i_rows_free(f->rows);
    free(f->gram);
}

/* Equal bit for bit on paths whose cells do not depend on their neighbours; OpenBLAS may round differently. */
static void check_row(const fixture *f, const float *got, size_t row) {
    size_t n = f->rows->n_rows;
    const float *wanted = f->gram + row * n;
    if (rows_are_sparse(f->rows) || strcmp(f->kernel.path->name, "portable") != 0) {
        assert_memory_equal(got, wanted, n * sizeof *got);
        return;
    }
    for (size_t j = 0; j < n; j++) assert_true(fabs((double)got[j] - (double)wanted[j]) <= 1e-4);
}

static karma_i_row_cache *new_cache(const fixture *f, size_t least, size_t most, int threads) {
    karma_i_row_cache *cache = NULL;
    assert_int_equal(karma_i_row_cache_new(&cache, &f->kernel, f->rows, least, most, threads, NULL), KARMA_OK);
    assert_true(karma_i_row_cache_evaluations(cache) == 0.0);
    return cache;
}

/* `count` different rows: mostly from a slowly changing set, as with a solver. */
static void draw_index(size_t *index, size_t count, size_t n, size_t round, karma_i_rng *rng) {
    unsigned char taken[512] = {0};
    for (size_t i = 0; i < count; i++) {
        size_t row;
        do {
            row = karma_i_rng_below(rng, 3) ? (round / 9 * 5 + karma_i_rng_below(rng, 2 * count)) % n
                                            : karma_i_rng_below(rng, n);
        } while (taken[row]);
        taken[row] = 1;
        index[i] = row;
    }
}

static void get_and_check(const fixture *f, karma_i_row_cache *cache, const size_t *index, size_t count) {
    const float *rows[512];
    assert_int_equal(karma_i_row_cache_get(rows, cache, index, count, NULL), KARMA_OK);
    for (size_t i = 0; i < count; i++) check_row(f, rows[i], index[i]);
}

static void rows_are_right_whatever_the_limit_and_the_order(void **state) {
    (void)state;
    static const struct {
        size_t n, least, most;
    } limits[] = {{40, 8, 40},     {40, 8, 100}, {40, 8, 11}, {40, 8, 0},   {40, 8, 8},
                  {300, 100, 130}, {300, 90, 0}, {1, 1, 0},   {130, 65, 66}};
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++)
        for (int sparse = 0; sparse < 2; sparse++) {
            fixture f;
            karma_i_rng rng;
            karma_i_rng_init(&rng, 50 + k);
            open_fixture(&f, limits[k].n, sparse, 1 + k);
            karma_i_row_cache *cache = new_cache(&f, limits[k].least, limits[k].most, 1 + (int)(k % 3));
            double before = 0.0;
            for (size_t round = 0; round < 120; round++) {
                size_t index[512], count = karma_i_rng_below(&rng, limits[k].least + 1); /* 0 too */
                draw_index(index, count, limits[k].n, round, &rng);
                get_and_check(&f, cache, index, count);
                double after = karma_i_row_cache_evaluations(cache), n = (double)limits[k].n;
                assert_true(after >= before && after <= before + (double)count * n && fmod(after, n) == 0.0);
                get_and_check(&f, cache, index, count); /* again: all are cached */
                assert_true(karma_i_row_cache_evaluations(cache) == after);
                before = after;
            }
            if (limits[k].most >= limits[k].n) assert_true(before <= (double)limits[k].n * (double)limits[k].n);
            karma_i_row_cache_free(cache);
            close_fixture(&f);
        }
}

/* A call that finds some of its rows, fills the last free slots, and evicts others for the rest. */
static void a_call_may_need_more_than_the_fresh_slots(void **state) {
    (void)state;
    fixture f;
    size_t first[7] = {0, 1, 2, 3, 4, 5, 6}, second[10] = {5, 20, 21, 6, 22, 23, 24, 25, 26, 27};
    open_fixture(&f, 60, 0, 9);
    karma_i_row_cache *cache = new_cache(&f, 10, 12, 2);
    get_and_check(&f, cache, first, 7);
    assert_true(karma_i_row_cache_evaluations(cache) == 7.0 * 60.0);
    get_and_check(&f, cache, second, 10); /* two found, five in free slots, three evict others */
    assert_true(karma_i_row_cache_evaluations(cache) == 15.0 * 60.0);
    get_and_check(&f, cache, second, 10);
    assert_true(karma_i_row_cache_evaluations(cache) == 15.0 * 60.0);
    get_and_check(&f, cache, first, 7); /* at least 5 and 6 are still cached */
    assert_true(karma_i_row_cache_evaluations(cache) <= 20.0 * 60.0);
    karma_i_row_cache_free(cache);
    close_fixture(&f);
}

/* Rows that occur in every call stay; others are evicted. */
static void rows_in_use_are_kept(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 200, 0, 10);
    karma_i_row_cache *cache = new_cache(&f, 20, 60, 1);
    size_t index[20];
    for (size_t round = 0; round < 100; round++) {
        for (size_t i = 0; i < 20; i++) index[i] = i < 15 ? i : 20 + (round * 5 + i) % 180;
        get_and_check(&f, cache, index, 20);
        assert_true(karma_i_row_cache_evaluations(cache) <= (double)(15 + 5 * (round + 1)) * 200.0);
    }
    karma_i_row_cache_free(cache);
    karma_i_row_cache_free(NULL);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_right_whatever_the_limit_and_the_order),
        cmocka_unit_test(a_call_may_need_more_than_the_fresh_slots),
        cmocka_unit_test(rows_in_use_are_kept),
    };
    return cmocka_run_group_tests_name("row_cache", tests, NULL, NULL);
}
