/* Sizes near 2^31, 2^32 and 2^64: products of rows, columns and classes are computed right or refused, and nothing of
 * that size is allocated or read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/partition.h"
#include "karma/karma.h"
#include "linalg/packed.h"

/* 2^31 and 2^32, with their neighbours. */
static const size_t EDGES[] = {2147483647, 2147483648, 2147483649, 4294967295, 4294967296, 4294967297};
enum { N_EDGES = sizeof EDGES / sizeof EDGES[0] };

/* Rows × columns × 8 bytes are more than 2^64 for all of them, whatever their low bits are. */
static void products_do_not_wrap(void **state) {
    (void)state;
    for (size_t a = 0; a < N_EDGES; a++)
        for (size_t b = 0; b < N_EDGES; b++) {
            volatile size_t rows = EDGES[a], columns = EDGES[b]; /* hidden from the compiler, which would warn */
            double *items = NULL;
            size_t capacity = 0;
            assert_null(karma_i_alloc(rows, columns * 8));
            assert_null(karma_i_zalloc(rows, columns * 8));
            assert_null(karma_i_alloc_aligned(rows, columns * 8));
            assert_null(karma_i_realloc(NULL, rows, columns * 8));
            assert_false(karma_i_reserve(&items, &capacity, rows, columns * 8));
            assert_null(items);
        }
}

/* n (n + 1) / 2 as a sum of two products that cannot overflow. */
static void triangles_have_their_size(void **state) {
    (void)state;
    for (size_t a = 0; a < N_EDGES; a++) {
        size_t n = EDGES[a], exact = n % 2 ? n * ((n + 1) / 2) : n / 2 * (n + 1);
        if (n <= 4294967295) assert_int_equal(karma_i_packed_size(n), exact);
    }
    assert_int_equal(karma_i_packed_size(65536), 2147516416);
    assert_int_equal(karma_i_packed_size(92682), 4295022903);
}

/* Every row belongs to exactly one process, and granules cover all rows. */
static void parts_cover_all_rows(void **state) {
    (void)state;
    static const size_t ranks[] = {1, 2, 3, 7, 64, 1000};
    for (size_t a = 0; a < N_EDGES; a++)
        for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; r++)
            for (size_t factor = 1; factor <= 1000; factor *= 10) {
                size_t n = EDGES[a] * factor, granule = karma_i_granule_rows(n);
                assert_int_equal(karma_i_partition_start(n, 0, ranks[r]), 0);
                assert_int_equal(karma_i_partition_start(n, ranks[r], ranks[r]), n);
                for (size_t k = 0; k < ranks[r]; k++) {
                    size_t first = karma_i_partition_start(n, k, ranks[r]);
                    assert_true(first <= karma_i_partition_start(n, k + 1, ranks[r]));
                    assert_true(first == n || first % granule == 0);
                }
                assert_true((n + granule - 1) / granule <= KARMA_I_MOST_GRANULES);
            }
}

/* Indices of columns have 32 bits: more of them are refused before a name is made or a cell is read. */
static void columns_beyond_their_index(void **state) {
    (void)state;
    static const size_t counts[] = {4294967296, 4294967297, SIZE_MAX / 8 + 2, SIZE_MAX / 2 + 2, SIZE_MAX};
    const double cell[1] = {1.0};
    const int64_t column[1] = {0}, starts[2] = {0, 1};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        karma_table *table = NULL;
        karma_error err = {0};
        assert_int_equal(karma_table_from_array(&table, cell, 1, counts[i], NULL, &err), KARMA_ERR_MEMORY);
        assert_int_equal(karma_table_from_strided(&table, cell, KARMA_FLOAT64, 1, counts[i], 0, 0, NULL, &err),
                         KARMA_ERR_MEMORY);
        assert_int_equal(
            karma_table_from_csr(&table, cell, column, starts, 1, counts[i], KARMA_ABSENT_ZERO, NULL, &err),
            KARMA_ERR_MEMORY);
        assert_null(table);
        assert_true(err.message[0] != '\0');
    }
}

/* An index with the same low 32 bits as a valid one is not accepted in its place. */
static void indices_are_not_cut(void **state) {
    (void)state;
    const double value[1] = {1.0};
    const int64_t starts[2] = {0, 1}, bad[] = {4294967296, 4294967297, INT64_MAX, INT64_MIN, -1, -4294967296};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        karma_table *table = NULL;
        assert_int_equal(karma_table_from_csr(&table, value, &bad[i], starts, 1, 3, KARMA_ABSENT_MISSING, NULL, NULL),
                         KARMA_ERR_DATA);
        assert_null(table);
    }
}

/* Sizes of the embedding: exact where they fit, 0 where they do not. Σ_{k<=γ} d^k. */
static void embeddings_have_their_size(void **state) {
    (void)state;
    assert_int_equal(karma_theory_embedding_size(46340, 2), (size_t)46340 + (size_t)46340 * 46340);
    assert_int_equal(karma_theory_embedding_size(46341, 2), (size_t)46341 + (size_t)46341 * 46341);
    assert_int_equal(karma_theory_embedding_size(65536, 2), (size_t)4294967296 + 65536);
    assert_int_equal(karma_theory_embedding_size(4294967295, 2), (size_t)4294967295 + (size_t)4294967295 * 4294967295);
    assert_int_equal(karma_theory_embedding_size(4294967296, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_do_not_wrap), cmocka_unit_test(triangles_have_their_size),
        cmocka_unit_test(parts_cover_all_rows), cmocka_unit_test(columns_beyond_their_index),
        cmocka_unit_test(indices_are_not_cut),  cmocka_unit_test(embeddings_have_their_size),
    };
    return cmocka_run_group_tests_name("large", tests, NULL, NULL);
}
