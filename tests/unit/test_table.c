/* Tables and encoded rows: construction, refusals, and checks that find every broken rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "table/rows_dense.h"
#include "table/rows_sparse.h"
#include "table/builder.h"

static void assert_valid(const karma_table *table) {
    karma_error err;
    if (karma_table_validate(table, &err) != KARMA_OK) fail_msg("%s", err.message);
}

static double cell_of(const karma_table *table, size_t row, size_t attribute) {
    double value;
    return karma_table_cell(table, row, attribute, &value) ? value : (double)NAN;
}

static char **levels_of(const char *first, const char *second, const char *third) {
    char **levels = karma_i_alloc(3, sizeof *levels);
    levels[0] = karma_i_strdup(first);
    levels[1] = karma_i_strdup(second);
    levels[2] = karma_i_strdup(third);
    return levels;
}

/* Four weighted rows of a number, a category and a number, a target of classes, one of numbers and one id; row 2
 * observes nothing. */
static karma_table *small_table(void) {
    karma_i_builder b;
    karma_table *table = NULL;
    assert_int_equal(karma_i_builder_init(&b, NULL), KARMA_OK);
    assert_int_equal(karma_i_builder_add_attribute(&b, "size", KARMA_COLUMN_NUMBER, NULL, 0, NULL), KARMA_OK);
    assert_int_equal(
        karma_i_builder_add_attribute(&b, "colour", KARMA_COLUMN_CATEGORY, levels_of("blue", "green", "red"), 3, NULL),
        KARMA_OK);
    assert_int_equal(karma_i_builder_add_attribute(&b, "price", KARMA_COLUMN_NUMBER, NULL, 0, NULL), KARMA_OK);
    assert_int_equal(karma_i_builder_add_target(&b, "y", KARMA_COLUMN_CATEGORY, levels_of("a", "b", "c"), 3, NULL),
                     KARMA_OK);
    assert_int_equal(karma_i_builder_add_target(&b, "z", KARMA_COLUMN_NUMBER, NULL, 0, NULL), KARMA_OK);
    assert_int_equal(karma_i_builder_set_weighted(&b, "count", NULL), KARMA_OK);
    assert_int_equal(karma_i_builder_add_id(&b, "name", NULL), KARMA_OK);
    static const double cells[4][3] = {{1.5, 2, NAN}, {NAN, 0, -3}, {NAN, NAN, NAN}, {4, NAN, 7}};
    static const double targets[4][2] = {{0, 10.5}, {NAN, -1}, {2, NAN}, {1, 3}}, weights[] = {1, 0, 2.5, 4};
    static const char *const names[] = {"first", "", "third row", "x"};
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 3; j++)
            if (!isnan(cells[i][j])) assert_int_equal(karma_i_builder_add_cell(&b, j, cells[i][j], NULL), KARMA_OK);
        karma_i_text id = {names[i], strlen(names[i])};
        assert_int_equal(karma_i_builder_end_row(&b, targets[i], weights[i], &id, NULL), KARMA_OK);
    }
    karma_i_builder_finish(&table, &b);
    assert_null(b.table);
    karma_i_builder_clear(&b); /* it is empty */
    return table;
}

/* --- construction -------------------------------------------------------------------------------------- */

static void tables_have_the_given_cells(void **state) {
    (void)state;
    karma_table *t = small_table();
    double value;
    assert_valid(t);
    assert_int_equal(karma_table_n_rows(t), 4);
    assert_int_equal(karma_table_n_attributes(t), 3);
    assert_int_equal(karma_table_n_observed(t), 6);
    assert_string_equal(karma_table_attribute_name(t, 1), "colour");
    assert_int_equal(karma_table_attribute_kind(t, 1), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_n_levels(t, 1), 3);
    assert_int_equal(karma_table_n_levels(t, 0), 0);
    assert_string_equal(karma_table_level(t, 1, 2), "red");
    assert_true(cell_of(t, 0, 0) == 1.5 && cell_of(t, 0, 1) == 2.0 && isnan(cell_of(t, 0, 2)));
    assert_true(isnan(cell_of(t, 1, 0)) && cell_of(t, 1, 2) == -3.0 && isnan(cell_of(t, 2, 1)) &&
                cell_of(t, 3, 2) == 7.0);
    assert_int_equal(karma_table_n_targets(t), 2);
    assert_string_equal(karma_table_target_name(t, 0), "y");
    assert_int_equal(karma_table_n_classes(t, 0), 3);
    assert_string_equal(karma_table_class(t, 0, 1), "b");
    assert_true(karma_table_target(t, 0, 2, &value) && value == 2.0);
    assert_false(karma_table_target(t, 0, 1, &value));
    assert_string_equal(karma_table_target_name(t, 1), "z");
    assert_int_equal(karma_table_target_kind(t, 1), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_n_classes(t, 1), 0);
    assert_true(karma_table_target(t, 1, 0, &value) && value == 10.5);
    assert_false(karma_table_target(t, 1, 2, &value));
    assert_false(karma_table_target(t, 2, 0, &value)); /* there is no third target */
    assert_string_equal(karma_table_weight_name(t), "count");
    assert_true(karma_table_row_weight(t, 1) == 0.0 && karma_table_row_weight(t, 2) == 2.5);
    assert_int_equal(karma_table_n_ids(t), 1);
    assert_string_equal(karma_table_id_name(t, 0), "name");
    assert_string_equal(karma_table_id(t, 0, 2), "third row");
    karma_table_free(t);
    karma_table_free(NULL);
}

/* Many cells, rows and targets: growth loses nothing. */
static void builders_grow(void **state) {
    (void)state;
    karma_i_builder b;
    karma_table *t = NULL;
    assert_int_equal(karma_i_builder_init(&b, NULL), KARMA_OK);
    for (size_t j = 0; j < 100; j++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x%zu", j);
        assert_int_equal(karma_i_builder_add_attribute(&b, name, KARMA_COLUMN_NUMBER, NULL, 0, NULL), KARMA_OK);
    }
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(
            karma_i_builder_add_target(&b, k ? k > 1 ? "w" : "v" : "u", KARMA_COLUMN_NUMBER, NULL, 0, NULL), KARMA_OK);
    for (size_t i = 0; i < 300; i++) {
        for (size_t j = i % 7; j < 100; j += 1 + i % 5)
            assert_int_equal(karma_i_builder_add_cell(&b, j, (double)(1000 * i + j), NULL), KARMA_OK);
        const double targets[] = {(double)i, -(double)i, NAN};
        assert_int_equal(karma_i_builder_end_row(&b, targets, 7.0, NULL, NULL), KARMA_OK);
    }
    karma_i_builder_finish(&t, &b);
    assert_valid(t);
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < 100; j++) {
            int there = j >= i % 7 && (j - i % 7) % (1 + i % 5) == 0;
            double value = cell_of(t, i, j);
            assert_true(there ? value == (double)(1000 * i + j) : isnan(value));
        }
    for (size_t i = 0; i < 300; i++) {
        double u, v, w;
        assert_true(karma_table_target(t, 0, i, &u) && u == (double)i);
        assert_true(karma_table_target(t, 1, i, &v) && v == -(double)i);
        assert_false(karma_table_target(t, 2, i, &w));
        assert_true(karma_table_row_weight(t, i) == 1.0); /* no row weights were given */
    }
    assert_null(karma_table_weight_name(t));
    karma_table_free(t);
}

static void arrays_become_tables(void **state) {
    (void)state;
    static const double cells[] = {1, NAN, 0, -2.5, 1e300, NAN}, bad[] = {1, 2, 3, INFINITY}, worse[] = {-INFINITY};
    static const char *const names[] = {"u", "v", "w"};
    karma_table *t = NULL;
    karma_error err = {0};
    assert_int_equal(karma_table_from_array(&t, cells, 2, 3, names, NULL), KARMA_OK);
    assert_valid(t);
    assert_int_equal(karma_table_n_observed(t), 4);
    assert_string_equal(karma_table_attribute_name(t, 2), "w");
    for (size_t i = 0; i < 6; i++) {
        double value = cell_of(t, i / 3, i % 3);
        assert_true(isnan(cells[i]) ? isnan(value) : value == cells[i]); /* an observed 0 is observed */
    }
    karma_table_free(t);
    assert_int_equal(karma_table_from_array(&t, cells, 3, 2, NULL, NULL), KARMA_OK);
    assert_string_equal(karma_table_attribute_name(t, 0), "c1");
    assert_string_equal(karma_table_attribute_name(t, 1), "c2");
    karma_table_free(t);
    t = NULL;
    assert_int_equal(karma_table_from_array(&t, bad, 2, 2, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "row 2, column 2"));
    assert_int_equal(karma_table_from_array(&t, worse, 1, 1, NULL, &err), KARMA_ERR_DATA);
    assert_null(t);
    assert_int_equal(karma_table_from_array(&t, cells, 0, 3, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_rows(t), 0);
    assert_int_equal(karma_table_n_observed(t), 0);
    karma_table_free(t);
}

static void targets_can_be_added_and_replaced(void **state) {
    (void)state;
    static const double cells[] = {1, 2, 3, 4}, numbers[] = {5, NAN, -1, 0}, bad[] = {1, 2, INFINITY, 3};
    static const char *const classes[] = {"pear", NULL, "apple", "pear"};
    karma_table *t = NULL;
    karma_error err = {0};
    double value;
    assert_int_equal(karma_table_from_array(&t, cells, 4, 1, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_targets(t), 0);
    assert_false(karma_table_target(t, 0, 0, &value));
    assert_int_equal(karma_table_add_target_classes(t, "fruit", classes, NULL), KARMA_OK);
    assert_valid(t);
    assert_int_equal(karma_table_n_classes(t, 0), 2);
    assert_string_equal(karma_table_class(t, 0, 0), "apple");
    assert_true(karma_table_target(t, 0, 0, &value) && value == 1.0);
    assert_false(karma_table_target(t, 0, 1, &value));
    assert_true(karma_table_target(t, 0, 2, &value) && value == 0.0);
    assert_int_equal(karma_table_add_target_numbers(t, "n", bad, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "row 3"));
    assert_int_equal(karma_table_n_targets(t), 1); /* untouched */
    assert_int_equal(karma_table_add_target_numbers(t, "n", numbers, NULL), KARMA_OK);
    assert_valid(t);
    assert_int_equal(karma_table_n_targets(t), 2);
    assert_string_equal(karma_table_target_name(t, 1), "n");
    assert_int_equal(karma_table_target_kind(t, 1), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_n_classes(t, 1), 0);
    assert_true(karma_table_target(t, 1, 0, &value) && value == 5.0);
    assert_false(karma_table_target(t, 1, 1, &value));
    assert_true(karma_table_target(t, 0, 0, &value) && value == 1.0);
    assert_int_equal(karma_table_add_target_numbers(t, "fruit", numbers, NULL), KARMA_OK); /* in its old position */
    assert_valid(t);
    assert_int_equal(karma_table_n_targets(t), 2);
    assert_string_equal(karma_table_target_name(t, 0), "fruit");
    assert_int_equal(karma_table_target_kind(t, 0), KARMA_COLUMN_NUMBER);
    assert_true(karma_table_target(t, 0, 0, &value) && value == 5.0);
    karma_table_free(t);
}

static void refuse_weights(karma_table *t, const double *weights, const char *sentence) {
    karma_error err = {0};
    assert_int_equal(karma_table_set_row_weights(t, weights, &err), KARMA_ERR_DATA);
    assert_string_equal(err.message, sentence);
}

static void weights_can_be_given_and_replaced(void **state) {
    (void)state;
    static const double cells[] = {1, 2, 3}, weights[] = {0, 1e100, 0.5}, others[] = {3, 0, 0};
    karma_table *t = NULL;
    assert_int_equal(karma_table_from_array(&t, cells, 3, 1, NULL, NULL), KARMA_OK);
    assert_true(karma_table_row_weight(t, 2) == 1.0);
    refuse_weights(t, (double[]){1, -1e-300, 1}, "row 2: the row weight is not 0 or a number from 1e-100 to 1e100");
    refuse_weights(t, (double[]){1, 1, NAN}, "row 3: the row weight is not 0 or a number from 1e-100 to 1e100");
    refuse_weights(t, (double[]){INFINITY, 1, 1}, "row 1: the row weight is not 0 or a number from 1e-100 to 1e100");
    refuse_weights(t, (double[]){1e308, 1e308, 1}, "row 1: the row weight is not 0 or a number from 1e-100 to 1e100");
    refuse_weights(t, (double[]){1, 1, 5e-324}, "row 3: the row weight is not 0 or a number from 1e-100 to 1e100");
    refuse_weights(t, (double[]){0, 0, 0}, "all row weights are 0");
    assert_null(karma_table_weight_name(t)); /* untouched */
    assert_int_equal(karma_table_set_row_weights(t, weights, NULL), KARMA_OK);
    assert_valid(t);
    assert_string_equal(karma_table_weight_name(t), "row_weight");
    for (size_t i = 0; i < 3; i++) assert_true(karma_table_row_weight(t, i) == weights[i]);
    assert_int_equal(karma_table_set_row_weights(t, others, NULL), KARMA_OK);
    for (size_t i = 0; i < 3; i++) assert_true(karma_table_row_weight(t, i) == others[i]);
    karma_table_free(t);
    t = small_table(); /* its weights keep the name of their column */
    assert_int_equal(karma_table_set_row_weights(t, (double[]){1, 2, 3, 4}, NULL), KARMA_OK);
    assert_string_equal(karma_table_weight_name(t), "count");
    assert_true(karma_table_row_weight(t, 1) == 2.0);
    karma_table_free(t);
}

static void selections_copy_rows(void **state) {
    (void)state;
    static const size_t rows[] = {3, 0, 3, 2, 1}, bad[] = {0, 4};
    karma_table *t = small_table(), *part = NULL;
    assert_int_equal(karma_table_select(&part, t, rows, 5, NULL), KARMA_OK);
    assert_valid(part);
    assert_int_equal(karma_table_n_rows(part), 5);
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 3; j++) {
            double a = cell_of(part, i, j), b = cell_of(t, rows[i], j);
            assert_true(isnan(a) ? isnan(b) : a == b);
        }
        for (size_t k = 0; k < 2; k++) {
            double y, z;
            assert_int_equal(karma_table_target(part, k, i, &y), karma_table_target(t, k, rows[i], &z));
            if (karma_table_target(t, k, rows[i], &z)) assert_true(karma_table_target(part, k, i, &y) && y == z);
        }
        assert_true(karma_table_row_weight(part, i) == karma_table_row_weight(t, rows[i]));
        assert_string_equal(karma_table_id(part, 0, i), karma_table_id(t, 0, rows[i]));
    }
    assert_string_equal(karma_table_level(part, 1, 0), "blue");
    assert_string_equal(karma_table_class(part, 0, 2), "c");
    assert_string_equal(karma_table_target_name(part, 1), "z");
    assert_string_equal(karma_table_weight_name(part), "count");
    karma_table_free(part);
    part = NULL;
    assert_int_equal(karma_table_select(&part, t, bad, 2, NULL), KARMA_ERR_DATA);
    assert_null(part);
    assert_int_equal(karma_table_select(&part, t, rows, 0, NULL), KARMA_OK);
    assert_int_equal(karma_table_n_rows(part), 0);
    assert_valid(part);
    karma_table_free(part);
    karma_table_free(t);
}

static void levels_are_found_by_their_whole_text(void **state) {
    (void)state;
    char *levels[] = {"", "a", "ab", "abc", "b", "é"};
    karma_i_column column = {.name = "c", .kind = KARMA_COLUMN_CATEGORY, .levels = levels, .n_levels = 6};
    for (size_t l = 0; l < 6; l++)
        assert_int_equal(karma_i_column_find_level(&column, levels[l], strlen(levels[l])), l);
    assert_int_equal(karma_i_column_find_level(&column, "abcd", 4), 6);
    assert_int_equal(karma_i_column_find_level(&column, "abcd", 2), 2); /* the first two bytes of a longer text */
    assert_int_equal(karma_i_column_find_level(&column, "B", 1), 6);
    assert_int_equal(karma_i_column_find_level(&column, "zz", 2), 6);
}

/* --- broken tables ------------------------------------------------------------------------------------- */

static void expect_invalid(void (*damage)(karma_table *), const char *word) {
    karma_table *t = small_table();
    karma_error err = {0};
    assert_valid(t);
    damage(t);
    assert_int_equal(karma_table_validate(t, &err), KARMA_ERR_DATA);
    if (!strstr(err.message, word)) fail_msg("'%s' does not say '%s'", err.message, word);
    karma_table_free(t);
}

/* cells: row 0: size, colour; row 1: colour, price; row 3: size, price */
static void swap_attributes(karma_table *t) {
    t->cell_owner[2] = 2, t->cell_owner[3] = 1;
}
static void repeat_attribute(karma_table *t) {
    t->cell_owner[5] = 0;
}
static void unknown_attribute(karma_table *t) {
    t->cell_owner[5] = 3;
}
static void nan_cell(karma_table *t) {
    t->cell_value[0] = NAN;
}
static void infinite_cell(karma_table *t) {
    t->cell_value[5] = -INFINITY;
}
static void level_too_large(karma_table *t) {
    t->cell_value[1] = 3;
}
static void level_negative(karma_table *t) {
    t->cell_value[1] = -1;
}
static void level_fraction(karma_table *t) {
    t->cell_value[2] = 0.5;
}
static void level_nan(karma_table *t) {
    t->cell_value[2] = NAN;
}
static void class_too_large(karma_table *t) {
    t->targets[0].value[3] = 3;
}
static void class_fraction(karma_table *t) {
    t->targets[0].value[0] = 1.25;
}
static void label_infinite(karma_table *t) {
    t->targets[0].value[2] = INFINITY;
}
static void second_label_infinite(karma_table *t) {
    t->targets[1].value[1] = -INFINITY;
}
static void weight_negative(karma_table *t) {
    t->row_weight[1] = -1;
}
static void weight_nan(karma_table *t) {
    t->row_weight[2] = NAN;
}
static void weight_infinite(karma_table *t) {
    t->row_weight[3] = INFINITY;
}
static void backward_row(karma_table *t) {
    t->row_start[3] = 3;
}
static void crossing_rows(karma_table *t) {
    t->row_start[2] = 1;
}

static void every_broken_rule_is_seen(void **state) {
    (void)state;
    expect_invalid(swap_attributes, "row 2");
    expect_invalid(repeat_attribute, "row 4");
    expect_invalid(unknown_attribute, "row 4");
    expect_invalid(nan_cell, "'size'");
    expect_invalid(infinite_cell, "'price'");
    expect_invalid(level_too_large, "'colour'");
    expect_invalid(level_negative, "'colour'");
    expect_invalid(level_fraction, "'colour'");
    expect_invalid(level_nan, "'colour'");
    expect_invalid(class_too_large, "row 4");
    expect_invalid(class_fraction, "row 1");
    expect_invalid(label_infinite, "row 3, target 'y'");
    expect_invalid(second_label_infinite, "row 2, target 'z'");
    expect_invalid(weight_negative, "row 2: the row weight");
    expect_invalid(weight_nan, "row 3: the row weight");
    expect_invalid(weight_infinite, "row 4: the row weight");
    expect_invalid(backward_row, "row 3");
    expect_invalid(crossing_rows, "row 2");
}

/* --- patterns ------------------------------------------------------------------------------------------ */

static uint64_t pattern_of(const karma_table *t, size_t row) {
    uint64_t bits = 0;
    for (size_t j = 0; j < karma_table_n_attributes(t); j++) bits |= (uint64_t)!isnan(cell_of(t, row, j)) << j;
    return bits;
}

static void patterns_equal_a_plain_count(void **state) {
    (void)state;
    enum { ROWS = 200 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 21);
    for (size_t trial = 0; trial < 12; trial++) {
        size_t d = 1 + trial % 6;
        double cells[ROWS * 6];
        for (size_t i = 0; i < ROWS * d; i++)
            cells[i] = karma_i_rng_uniform(&rng) < 0.1 * (double)trial ? (double)NAN : 1.0;
        karma_table *t = NULL;
        assert_int_equal(karma_table_from_array(&t, cells, ROWS, d, NULL, NULL), KARMA_OK);
        /* by brute force: count each pattern where it is first seen */
        size_t count[ROWS] = {0}, first[ROWS], n_distinct = 0, n_wanted = 0, observed[6], by_hand[6] = {0};
        for (size_t i = 0; i < ROWS; i++) {
            first[i] = i;
            for (size_t k = 0; k < i && first[i] == i; k++)
                if (pattern_of(t, k) == pattern_of(t, i)) first[i] = k;
            count[first[i]]++;
            n_wanted += first[i] == i;
            for (size_t j = 0; j < d; j++) by_hand[j] += isnan(cells[i * d + j]) ? 0 : 1;
        }
        karma_pattern found[ROWS + 1];
        memset(found, 7, sizeof found);
        size_t room = trial % 2 ? 3 : ROWS;
        assert_int_equal(karma_table_patterns(t, found, room, &n_distinct, NULL), KARMA_OK);
        assert_int_equal(n_distinct, n_wanted);
        for (size_t p = 0; p < room && p < n_distinct; p++) {
            size_t best = 0; /* the most common, first seen first */
            for (size_t i = 0; i < ROWS; i++)
                if (count[i] > count[best]) best = i;
            assert_int_equal(found[p].n_rows, count[best]);
            assert_int_equal(found[p].example, best);
            assert_int_equal(found[p].n_missing, d - karma_i_popcount(pattern_of(t, best)));
            count[best] = 0;
        }
        if (room < n_distinct) assert_int_equal(((unsigned char *)&found[room])[0], 7); /* no more than requested */
        karma_table_count_observed(t, observed);
        for (size_t j = 0; j < d; j++) assert_int_equal(observed[j], by_hand[j]);
        karma_table_free(t);
    }
}

/* --- encoded rows -------------------------------------------------------------------------------------- */

/* Three attributes with 1, 2 and 1 features. */
static karma_i_rows *small_rows(void) {
    static const size_t start[] = {0, 1, 3, 4};
    static const float values[] = {1.5F, 0, 0, 2, 0, 0.25F, -0.25F, 0, 0, 0, 0, 0};
    static const uint64_t masks[] = {5, 2, 0};
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_rows_new(&rows, 3, start, 3, NULL), KARMA_OK);
    assert_int_equal(rows->n_rows, 0);
    for (size_t i = 0; i < 12; i++) assert_true(karma_i_dense_of(rows)->values[i] == 0.0F);
    for (size_t i = 0; i < 3; i++) assert_int_equal(karma_i_dense_of(rows)->mask[i], 0);
    memcpy(karma_i_dense_of(rows)->values, values, sizeof values);
    memcpy(karma_i_dense_of(rows)->mask, masks, sizeof masks);
    rows->n_rows = 3;
    return rows;
}

static void expect_invalid_rows(size_t value_at, float value, size_t row, uint64_t mask, const char *word) {
    karma_i_rows *rows = small_rows();
    karma_error err = {0};
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    karma_i_dense_of(rows)->values[value_at] = value;
    karma_i_dense_of(rows)->mask[row] = mask;
    assert_int_equal(karma_i_rows_validate(rows, &err), KARMA_ERR_DATA);
    if (!strstr(err.message, word)) fail_msg("'%s' does not say '%s'", err.message, word);
    karma_i_rows_free(rows);
}

static void broken_rows_are_seen(void **state) {
    (void)state;
    expect_invalid_rows(0, 1.5F, 0, 4, "unobserved");   /* a value without its bit */
    expect_invalid_rows(4, 1e-30F, 1, 2, "unobserved"); /* a value under a missing cell */
    expect_invalid_rows(4, NAN, 1, 2, "unobserved");    /* and NaN is refused */
    expect_invalid_rows(0, NAN, 0, 5, "finite");
    expect_invalid_rows(6, -INFINITY, 1, 2, "finite");
    expect_invalid_rows(0, 1.5F, 0, 5 | 8, "beyond"); /* there is no fourth attribute */
    expect_invalid_rows(0, 1.5F, 2, UINT64_C(1) << 63, "beyond");
}

static void assert_same_row(const karma_i_rows *a, size_t i, const karma_i_rows *b, size_t j) {
    assert_memory_equal(karma_i_rows_values(a, i), karma_i_rows_values(b, j), a->n_features * sizeof(float));
    assert_memory_equal(karma_i_rows_mask(a, i), karma_i_rows_mask(b, j),
                        karma_i_dense_of(a)->n_words * sizeof(uint64_t));
}

static void rows_are_appended_and_gathered(void **state) {
    (void)state;
    static const size_t index[] = {2, 0, 0, 1, 2, 1}, fewer[] = {1};
    karma_i_rows *source = small_rows(), *rows = NULL;
    assert_int_equal(karma_i_rows_new(&rows, 3, source->feature_start, 0, NULL), KARMA_OK);
    for (size_t i = 0; i < 500; i++) assert_int_equal(karma_i_rows_append(rows, source, (i * i) % 3, NULL), KARMA_OK);
    assert_int_equal(rows->n_rows, 500);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    for (size_t i = 0; i < 500; i++) assert_same_row(rows, i, source, (i * i) % 3);
    assert_int_equal(karma_i_rows_gather(rows, source, index, 6, NULL), KARMA_OK);
    assert_int_equal(rows->n_rows, 6);
    for (size_t i = 0; i < 6; i++) assert_same_row(rows, i, source, index[i]);
    assert_int_equal(karma_i_rows_gather(rows, source, fewer, 1, NULL), KARMA_OK);
    assert_int_equal(rows->n_rows, 1);
    assert_same_row(rows, 0, source, 1);
    karma_i_rows_free(rows);
    assert_int_equal(karma_i_rows_new(&rows, 3, source->feature_start, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_gather(rows, source, index, 6, NULL), KARMA_OK); /* grows */
    for (size_t i = 0; i < 6; i++) assert_same_row(rows, i, source, index[i]);
    karma_i_rows_free(rows);
    karma_i_rows_free(source);
    karma_i_rows_free(NULL);
}

/* Four attributes: a number, a coded one, a coded one with a term and a ranked one with a term; the second row observes
 * the last three. */
static karma_i_rows *rows_with_traits(void) {
    static const size_t start[] = {0, 1, 1, 1, 1};
    static const uint8_t traits[] = {0, KARMA_I_CODED, KARMA_I_CODED | KARMA_I_HAS_TERM,
                                     KARMA_I_RANKED | KARMA_I_HAS_TERM};
    const karma_i_rows_layout layout = {4, start, traits, 1};
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_rows_new_layout(&rows, &layout, 2, NULL), KARMA_OK);
    assert_true(rows->n_features == 1 && karma_i_dense_of(rows)->n_codes == 2 && karma_i_dense_of(rows)->n_terms == 2 &&
                karma_i_dense_of(rows)->n_values == 5);
    assert_true(karma_i_dense_of(rows)->rank_base == 0.0 && karma_i_dense_of(rows)->rank_step == 3.0 / 254.0 &&
                karma_i_dense_of(rows)->rank_stride == 8);
    rows->n_rows = 2;
    karma_i_dense_of(rows)->mask[1] = 14;
    *karma_i_rows_code(rows, 1, 1) = KARMA_I_MOST_CODES;
    *karma_i_rows_code(rows, 1, 2) = 7;
    karma_i_dense_of(rows)->ranks[8 + 3] = 255;
    karma_i_rows_set_term(rows, 1, 2, -0.25F);
    karma_i_rows_set_term(rows, 1, 3, 0.75F);
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    return rows;
}

static void broken_traits_are_seen(void **state) {
    (void)state;
    for (int which = 0; which < 12; which++) {
        karma_i_rows *rows = rows_with_traits();
        static const char *const words[] = {"code", "code", "code", "code", "rank", "rank",
                                            "rank", "term", "term", "term", "term", "term"};
        uint16_t *codes = karma_i_dense_of(rows)->codes + karma_i_dense_of(rows)->n_codes;
        float *terms =
            karma_i_dense_of(rows)->values + karma_i_dense_of(rows)->n_values + rows->n_features; /* Q, Q, O, O */
        switch (which) {
        case 0:
            codes[0] = 0;
            break; /* observed, but without a code */
        case 1:
            codes[1] = UINT16_MAX;
            break; /* values that the kernel defines */
        case 2:
            karma_i_dense_of(rows)->mask[1] &= ~UINT64_C(2);
            break; /* a code under a missing cell */
        case 3:
            karma_i_dense_of(rows)->codes[1] = 1;
            break;
        case 4:
            karma_i_dense_of(rows)->ranks[8 + 3] = 0;
            break;
        case 5:
            karma_i_dense_of(rows)->ranks[3] = 9;
            break;
        case 6:
            karma_i_dense_of(rows)->ranks[8 + 1] = 9;
            break; /* not a ranked attribute */
        case 7:
            terms[0] = NAN;
            break;
        case 8:
            terms[2] = 0.0F;
            break;
        case 9:
            terms[3] = 2.0F;
            break;
        case 10:
            karma_i_dense_of(rows)->values[1] = 0.5F;
            break; /* a term under a missing cell */
        case 11:
            karma_i_dense_of(rows)->values[4] = 1.0F;
            break;
        }
        karma_error err = {0};
        assert_int_equal(karma_i_rows_validate(rows, &err), KARMA_ERR_DATA);
        if (!strstr(err.message, words[which]))
            fail_msg("%d: '%s' does not say '%s'", which, err.message, words[which]);
        karma_i_rows_free(rows);
    }
}

static void traits_are_copied_with_their_rows(void **state) {
    (void)state;
    static const size_t index[] = {1, 0, 1, 1, 0, 1};
    karma_i_rows *source = rows_with_traits(), *rows = NULL;
    assert_int_equal(karma_i_rows_new_like(&rows, source, 0, NULL), KARMA_OK);
    assert_true(karma_i_dense_of(rows)->centred_ranks && karma_i_dense_of(rows)->n_values == 5 &&
                karma_i_dense_of(rows)->n_codes == 2);
    for (size_t i = 0; i < 200; i++) assert_int_equal(karma_i_rows_append(rows, source, i % 2, NULL), KARMA_OK);
    for (int gathered = 0; gathered < 2; gathered++) {
        if (gathered) assert_int_equal(karma_i_rows_gather(rows, source, index, 6, NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
        for (size_t i = 0; i < rows->n_rows; i++) {
            size_t from = gathered ? index[i] : i % 2;
            assert_memory_equal(karma_i_rows_values(rows, i), karma_i_rows_values(source, from), 5 * sizeof(float));
            assert_memory_equal(karma_i_rows_codes(rows, i), karma_i_rows_codes(source, from), 2 * sizeof(uint16_t));
            assert_memory_equal(karma_i_rows_ranks(rows, i), karma_i_rows_ranks(source, from), 8);
            assert_int_equal(karma_i_rows_n_observed(rows, i), from ? 3 : 0);
            /* two equal codes, a centred rank, twice the terms */
            assert_true(karma_i_rows_square(rows, i) == (from ? 2.0 + 2.0 * (0.75 - 0.25) : 0.0));
        }
    }
    karma_i_rows_free(rows);
    karma_i_rows_free(source);
}

/* Two rows of four attributes with every trait, both fully observed: a number, a category of two
 * indicators, a centred rank, a centred code; and the same attributes as lists of cells. */
static karma_i_rows *full_rows(void) {
    static const size_t start[] = {0, 1, 3, 3, 3};
    static const uint8_t traits[] = {0, 0, KARMA_I_RANKED | KARMA_I_HAS_TERM, KARMA_I_CODED | KARMA_I_HAS_TERM};
    const karma_i_rows_layout layout = {4, start, traits, 1};
    karma_i_rows *rows = NULL;
    assert_int_equal(karma_i_rows_new_layout(&rows, &layout, 2, NULL), KARMA_OK);
    assert_int_equal(karma_i_rows_new_sparse(&rows->next, 4, 0, NULL), KARMA_OK);
    rows->n_rows = 2;
    for (size_t i = 0; i < 2; i++) {
        karma_i_dense_of(rows)->mask[i] = 15;
        for (size_t f = 0; f < 3; f++) karma_i_rows_values(rows, i)[f] = (float)(1 + i + f);
        karma_i_rows_ranks(rows, i)[2] = (uint8_t)(7 + i);
        *karma_i_rows_code(rows, i, 3) = (uint16_t)(3 + i);
        for (size_t j = 2; j < 4; j++) karma_i_rows_set_term(rows, i, j, -0.25F);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(karma_i_rows_add_cell(rows->next, j, (float)(10 * i + j), NULL), KARMA_OK);
        assert_int_equal(karma_i_rows_end_sparse(rows->next, NULL), KARMA_OK);
    }
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
    return rows;
}

/* Exactly the attributes of `wanted` are observed, in both encodings, and their cells are those of full_rows. */
static void assert_observes(const karma_i_rows *rows, size_t row, uint64_t wanted) {
    const karma_i_rows *cells = rows->next;
    size_t n = karma_i_popcount(wanted), dense[4], sparse[4], k = 0;
    assert_int_equal(karma_i_rows_n_observed(rows, row), n);
    assert_int_equal(karma_i_rows_n_observed(cells, row), n);
    karma_i_rows_list_observed(dense, rows, row);
    karma_i_rows_list_observed(sparse, cells, row);
    for (size_t j = 0; j < 4; j++) {
        if (!(wanted >> j & 1)) continue;
        assert_int_equal(dense[k], j);
        assert_int_equal(sparse[k], j);
        assert_true(karma_i_sparse_of(cells)->cell_value[karma_i_sparse_of(cells)->cell_start[row] + k] ==
                    (float)(10 * row + j));
        k++;
    }
}

static void hidden_attributes_are_missing(void **state) {
    (void)state;
    for (uint64_t hidden = 0; hidden < 16; hidden++)
        for (size_t row = 0; row < 2; row++) {
            karma_i_rows *rows = full_rows();
            karma_error err;
            for (size_t j = 0; j < 4; j++)
                if (hidden >> j & 1) karma_i_rows_hide(rows, row, j);
            if (hidden) karma_i_rows_hide(rows, row, hidden == 8 ? 3 : hidden & 1 ? 0 : hidden & 2 ? 1 : 2); /* again */
            if (karma_i_rows_validate(rows, &err) != KARMA_OK) fail_msg("%s", err.message);
            assert_observes(rows, row, 15 & ~hidden);
            assert_observes(rows, 1 - row, 15);
            for (const karma_i_rows *r = rows; r; r = r->next)
                assert_int_equal(karma_i_rows_overlap(r, row, r, 1 - row), karma_i_popcount(15 & ~hidden));
            assert_int_equal(karma_i_rows_append(rows, rows, row, NULL), KARMA_OK); /* from themselves, and they grow */
            assert_int_equal(karma_i_rows_n_observed(rows, 2), karma_i_popcount(15 & ~hidden));
            assert_int_equal(karma_i_rows_n_observed(rows->next, 2), karma_i_popcount(15 & ~hidden));
            assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_OK);
            karma_i_rows_free(rows);
        }
}

/* A mask of several words: bits on both sides of every border. */
static void masks_of_many_words(void **state) {
    (void)state;
    size_t start[131];
    karma_i_rows *rows = NULL;
    karma_error err;
    for (size_t j = 0; j <= 130; j++) start[j] = j;
    assert_int_equal(karma_i_rows_new(&rows, 130, start, 1, NULL), KARMA_OK);
    assert_int_equal(karma_i_dense_of(rows)->n_words, 3);
    rows->n_rows = 1;
    static const size_t bits[] = {0, 63, 64, 127, 128, 129};
    for (size_t k = 0; k < 6; k++) {
        karma_i_dense_of(rows)->values[bits[k]] = 1.0F;
        assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_ERR_DATA);
        karma_i_mask_set(karma_i_dense_of(rows)->mask, bits[k]);
        if (karma_i_rows_validate(rows, &err) != KARMA_OK) fail_msg("%s", err.message);
    }
    karma_i_dense_of(rows)->mask[2] |= 4; /* bit 130 */
    assert_int_equal(karma_i_rows_validate(rows, NULL), KARMA_ERR_DATA);
    karma_i_rows_free(rows);
}

static void summaries_are_those_of_the_observed_cells(void **state) {
    (void)state;
    const double cells[] = {1.0, NAN, -3.0, 4.0, NAN, 5.0, 7.5, NAN, NAN};
    karma_table *table = NULL;
    karma_column_summary s[3];
    assert_int_equal(karma_table_from_array(&table, cells, 3, 3, NULL, NULL), KARMA_OK);
    karma_table_summarise(table, s);
    assert_int_equal(s[0].n_observed, 3);
    assert_true(s[0].low == 1.0 && s[0].high == 7.5 && fabs(s[0].mean - 12.5 / 3.0) < 1e-15);
    assert_int_equal(s[1].n_observed, 0);
    assert_true(isnan(s[1].low) && isnan(s[1].high) && isnan(s[1].mean));
    assert_true(s[2].n_observed == 2 && s[2].low == -3.0 && s[2].high == 5.0 && s[2].mean == 1.0);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_are_those_of_the_observed_cells),
        cmocka_unit_test(tables_have_the_given_cells),
        cmocka_unit_test(builders_grow),
        cmocka_unit_test(arrays_become_tables),
        cmocka_unit_test(targets_can_be_added_and_replaced),
        cmocka_unit_test(weights_can_be_given_and_replaced),
        cmocka_unit_test(selections_copy_rows),
        cmocka_unit_test(levels_are_found_by_their_whole_text),
        cmocka_unit_test(every_broken_rule_is_seen),
        cmocka_unit_test(patterns_equal_a_plain_count),
        cmocka_unit_test(broken_rows_are_seen),
        cmocka_unit_test(rows_are_appended_and_gathered),
        cmocka_unit_test(broken_traits_are_seen),
        cmocka_unit_test(traits_are_copied_with_their_rows),
        cmocka_unit_test(hidden_attributes_are_missing),
        cmocka_unit_test(masks_of_many_words),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
