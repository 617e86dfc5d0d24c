/* Which attributes are linked by the rows: patterns with a known answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "karma/karma.h"
#include "prep/recipe.h"
#include "subspace/linkage.h"

enum { MOST_COLUMNS = 16, ROWS = 40 };

/* Encoded rows in which row i observes the columns that sees(i, j) says. */
static karma_i_rows *rows_of(size_t d, int (*sees)(size_t row, size_t column)) {
    static double values[ROWS * MOST_COLUMNS];
    karma_table *table = NULL;
    karma_i_recipe *recipe = NULL;
    karma_i_rows *rows = NULL;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < d; j++) values[i * d + j] = sees(i, j) ? (double)((i * 7 + j * 3) % 11) : NAN;
    assert_int_equal(karma_table_from_array(&table, values, ROWS, d, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_i_recipe_learn_indicators(&recipe, table, NULL), KARMA_OK);
    assert_int_equal(karma_i_recipe_encode(&rows, NULL, recipe, table, NULL, NULL), KARMA_OK);
    karma_i_recipe_free(recipe);
    karma_table_free(table);
    return rows;
}

static karma_i_linkage linkage_of(karma_i_rows *rows, size_t rank) {
    karma_i_linkage linkage = {0};
    karma_i_partition whole = karma_i_partition_whole(rows->n_rows);
    assert_int_equal(karma_i_linkage_find(&linkage, rows, &whole, rank, NULL), KARMA_OK);
    return linkage;
}

static void check_pairs(const karma_i_rows *rows, size_t n_pairs, size_t n_together) {
    karma_i_pair_count count;
    assert_int_equal(karma_i_count_pairs(&count, rows, NULL), KARMA_OK);
    assert_int_equal(count.n_pairs, n_pairs);
    assert_int_equal(count.n_together, n_together);
}

static int sees_all(size_t row, size_t column) {
    (void)row, (void)column;
    return 1;
}

static int sees_block(size_t row, size_t column) { /* one of four blocks of four columns */
    return column / 4 == row % 4;
}

static int sees_chain(size_t row, size_t column) { /* blocks 0-5, 4-9, 8-13: neighbours share two columns */
    size_t first = row % 3 * 4;
    return column >= first && column < first + 6;
}

/* the last column is observed together with the others in two rows only */
static int sees_rarely(size_t row, size_t column) {
    return column < 3 || row < 2;
}

static void complete_rows_are_one_group(void **state) {
    (void)state;
    karma_i_rows *rows = rows_of(6, sees_all);
    for (size_t rank = 0; rank <= 6; rank++) {
        karma_i_linkage linkage = linkage_of(rows, rank);
        assert_int_equal(linkage.n_groups, 1);
        assert_null(linkage.group);
        assert_true(karma_i_linkage_joins(&linkage, 0, 5));
        karma_i_linkage_clear(&linkage);
    }
    check_pairs(rows, 15, 15);
    karma_i_rows_free(rows);
}

static void blocks_never_seen_together_are_groups(void **state) {
    (void)state;
    karma_i_rows *rows = rows_of(16, sees_block);
    karma_i_linkage linkage = linkage_of(rows, 2);
    assert_int_equal(linkage.n_groups, 4);
    for (size_t a = 0; a < 16; a++)
        for (size_t b = 0; b < 16; b++) assert_int_equal(karma_i_linkage_joins(&linkage, a, b), a / 4 == b / 4);
    karma_i_linkage_clear(&linkage);
    check_pairs(rows, 120, 24);
    karma_i_rows_free(rows);
}

/* Two shared columns carry a rank of 2 from block to block, but not one of 3. */
static void overlap_carries_as_much_rank_as_it_has_columns(void **state) {
    (void)state;
    karma_i_rows *rows = rows_of(14, sees_chain);
    for (size_t rank = 1; rank <= 3; rank++) {
        karma_i_linkage linkage = linkage_of(rows, rank);
        assert_int_equal(linkage.n_groups == 1, rank <= 2);
        assert_int_equal(karma_i_linkage_joins(&linkage, 0, 13), rank <= 2);
        karma_i_linkage_clear(&linkage);
    }
    karma_i_rows_free(rows);
}

static void two_rows_are_too_few(void **state) {
    (void)state;
    karma_i_rows *rows = rows_of(4, sees_rarely);
    karma_i_linkage linkage = linkage_of(rows, 1);
    assert_int_equal(linkage.n_groups, 2);
    assert_false(karma_i_linkage_joins(&linkage, 0, 3));
    karma_i_linkage_clear(&linkage);
    check_pairs(rows, 6, 6);
    karma_i_rows_free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_rows_are_one_group),
        cmocka_unit_test(blocks_never_seen_together_are_groups),
        cmocka_unit_test(overlap_carries_as_much_rank_as_it_has_columns),
        cmocka_unit_test(two_rows_are_too_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
