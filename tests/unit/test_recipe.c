/* From tables to encoded rows: every number is recomputed from the raw cells, also for tables other than the one
 * that the recipe was learned from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/rng.h"
#include "karma/karma.h"
#include "prep/recipe.h"
#include "table/rows_dense.h"
#include "tempfile.h"
#include "table/builder.h"

static karma_fit_options fit_defaults(void) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    return o;
}

/* Every column is an attribute; `category` (or NULL) is read as categories. */
static karma_table *table_of(const char *csv, const char *category) {
    temp_file file;
    karma_read_options o;
    karma_table *table = NULL;
    karma_error err;
    karma_options_init(karma_read_option_table(), &o);
    if (category)
        assert_int_equal(karma_option_set(karma_option_find(karma_read_option_table(), "category"), &o, category, NULL),
                         KARMA_OK);
    temp_create(&file, ".csv", csv, strlen(csv));
    if (karma_table_read(&table, file.path, &o, NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    temp_remove(&file);
    karma_options_clear(karma_read_option_table(), &o);
    return table;
}

typedef struct notices {
    size_t count;
    char all[2000];
} notices;

static void collect(void *payload, const char *sentence) {
    notices *n = payload;
    n->count++;
    strncat(n->all, sentence, sizeof n->all - strlen(n->all) - 2);
    strcat(n->all, "\n");
}

static karma_i_recipe *learn(const karma_table *table, const karma_fit_options *options, notices *n) {
    karma_i_recipe *recipe = NULL;
    karma_error err;
    karma_hooks hooks = {NULL, collect, n};
    if (karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_LINEAR, options, n ? &hooks : NULL, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    return recipe;
}

static karma_i_rows *apply(const karma_i_recipe *recipe, const karma_table *table, notices *n) {
    karma_i_rows *rows = NULL;
    karma_error err;
    karma_hooks hooks = {NULL, collect, n};
    if (karma_i_recipe_apply(&rows, recipe, table, n ? &hooks : NULL, &err) != KARMA_OK) fail_msg("%s", err.message);
    if (karma_i_rows_validate(rows, &err) != KARMA_OK) fail_msg("%s", err.message);
    assert_int_equal(rows->n_rows, karma_table_n_rows(table));
    return rows;
}

/* Learns and applies on the same table. */
static karma_i_rows *encode(const karma_table *table, const karma_fit_options *options, karma_i_recipe **keep) {
    karma_i_recipe *recipe = learn(table, options, NULL);
    karma_i_rows *rows = apply(recipe, table, NULL);
    if (keep)
        *keep = recipe;
    else
        karma_i_recipe_free(recipe);
    return rows;
}

static double value_at(const karma_i_rows *rows, size_t row, size_t feature) {
    return (double)karma_i_rows_values(rows, row)[feature];
}

static int observed_at(const karma_i_rows *rows, size_t row, size_t attribute) {
    return karma_i_mask_get(karma_i_rows_mask(rows, row), attribute);
}

static void assert_close(double got, double wanted) {
    if (!(fabs(got - wanted) <= 1e-6 * fmax(1.0, fabs(wanted)))) fail_msg("got %.9g, wanted %.9g", got, wanted);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

/* Mean and population standard deviation of the observed cells of each column, by hand. */
static void numbers_are_standardised_over_observed_cells(void **state) {
    (void)state;
    enum { ROWS = 60, COLUMNS = 4 };
    double cells[ROWS * COLUMNS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        cells[i] = karma_i_rng_uniform(&rng) < 0.4
                       ? (double)NAN
                       : pow(10.0, (double)(i % COLUMNS)) * (3.0 + karma_i_rng_normal(&rng));
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    karma_fit_options o = fit_defaults();
    karma_i_rows *rows = encode(table, &o, NULL);
    assert_int_equal(rows->n_attributes, COLUMNS);
    assert_int_equal(rows->n_features, COLUMNS);
    for (size_t j = 0; j < COLUMNS; j++) {
        double n = 0.0, mean = 0.0, spread = 0.0;
        for (size_t i = 0; i < ROWS; i++)
            if (!isnan(cells[i * COLUMNS + j])) mean += cells[i * COLUMNS + j], n += 1.0;
        mean /= n;
        for (size_t i = 0; i < ROWS; i++)
            if (!isnan(cells[i * COLUMNS + j])) spread += pow(cells[i * COLUMNS + j] - mean, 2) / n;
        for (size_t i = 0; i < ROWS; i++) {
            double raw = cells[i * COLUMNS + j];
            assert_int_equal(observed_at(rows, i, j), !isnan(raw));
            assert_close(value_at(rows, i, j), isnan(raw) ? 0.0 : (raw - mean) / sqrt(spread));
        }
    }
    karma_i_rows_free(rows);
    o.standardise = 0;
    rows = encode(table, &o, NULL);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        assert_true(karma_i_dense_of(rows)->values[i] == (isnan(cells[i]) ? 0.0F : (float)cells[i]));
    karma_i_rows_free(rows);
    karma_table_free(table);
}

static void constant_columns_become_zero_and_stay_observed(void **state) {
    (void)state;
    karma_table *table = table_of("a,b,c\n5,0.1,1\n,0.1,2\n5,,3\n5,0.1,4\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe;
    karma_i_rows *rows = encode(table, &o, &recipe);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 2; j++) assert_true(fabs(value_at(rows, i, j)) < 1e-12);
    assert_true(observed_at(rows, 0, 0) && !observed_at(rows, 1, 0) && observed_at(rows, 0, 1));
    assert_true(recipe->factor[0] == 1.0 && recipe->factor[1] == 1.0); /* sd 1 where it is 0 */
    karma_i_rows_free(rows);
    karma_table *later = table_of("a,b,c\n7,0.6,1\n", NULL);
    rows = apply(recipe, later, NULL);
    assert_close(value_at(rows, 0, 0), 2.0);
    assert_close(value_at(rows, 0, 1), 0.5);
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    karma_table_free(table);
    karma_table_free(later);
}

/* Cells far from 0 with a small spread: two passes keep their precision. */
static void a_large_offset_loses_no_precision(void **state) {
    (void)state;
    karma_table *table = table_of("a\n1000000001\n1000000002\n1000000003\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_i_rows *rows = encode(table, &o, NULL);
    assert_close(value_at(rows, 0, 0), -sqrt(1.5));
    assert_close(value_at(rows, 1, 0), 0.0);
    assert_close(value_at(rows, 2, 0), sqrt(1.5));
    karma_i_rows_free(rows);
    karma_table_free(table);
}

static void huge_values_are_clamped_or_refused(void **state) {
    (void)state;
    karma_table *table = table_of("a,b\n1,1\n2,0\n3,1\n", NULL), *huge = table_of("a,b\n1e300,-1e308\n-1e20,1\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe = learn(table, &o, NULL);
    karma_i_rows *rows = apply(recipe, huge, NULL);
    assert_true(value_at(rows, 0, 0) == 1e9 && value_at(rows, 0, 1) == -1e9 && value_at(rows, 1, 0) == -1e9);
    assert_true(fabs(value_at(rows, 1, 1)) < 2.0);
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    /* learning works: squares of these would overflow, but they are not squared */
    rows = encode(huge, &o, NULL);
    assert_close(value_at(rows, 0, 0), 1.0);
    assert_close(value_at(rows, 1, 0), -1.0);
    karma_i_rows_free(rows);
    karma_table_free(huge);
    /* the range of these overflows */
    huge = table_of("a,b\n1e308,1\n-1e308,2\n", NULL);
    karma_error err = {0};
    recipe = NULL;
    assert_int_equal(karma_i_recipe_learn(&recipe, huge, KARMA_KERNEL_LINEAR, &o, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "'a'"));
    karma_table_free(huge);
    /* without standardising 1e9 is the limit */
    o.standardise = 0;
    huge = table_of("a,b\n1,2\n2,1000000001\n", NULL);
    assert_int_equal(karma_i_recipe_learn(&recipe, huge, KARMA_KERNEL_LINEAR, &o, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "'b'"));
    assert_non_null(strstr(err.message, "standardise"));
    assert_null(recipe);
    karma_table_free(huge);
    huge = table_of("a,b\n1,2\n2,-1e9\n", NULL);
    rows = encode(huge, &o, NULL);
    assert_true(value_at(rows, 1, 1) == -1e9);
    karma_i_rows_free(rows);
    karma_table_free(huge);
    karma_table_free(table);
}

/* --- categories ---------------------------------------------------------------------------------------- */

static const char *const COLOURS = "x,colour\n1,red\n2,blue\n3,\n4,red\n5,green\n6,red\n";

static void categories_are_centred_indicators(void **state) {
    (void)state;
    static const double level[] = {2, 0, -1, 2, 1, 2}; /* blue, green, red; -1: missing */
    static const double share[] = {0.2, 0.2, 0.6};
    karma_table *table = table_of(COLOURS, NULL);
    for (int standardise = 0; standardise < 2; standardise++) {
        karma_fit_options o = fit_defaults();
        o.standardise = standardise;
        karma_i_rows *rows = encode(table, &o, NULL);
        assert_int_equal(rows->n_attributes, 2);
        assert_int_equal(rows->n_features, 4);
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(observed_at(rows, i, 1), level[i] >= 0.0);
            for (size_t l = 0; l < 3; l++) {
                double plain = level[i] == (double)l, wanted = standardise ? plain - share[l] : plain;
                assert_close(value_at(rows, i, 1 + l), level[i] < 0.0 ? 0.0 : wanted);
            }
        }
        karma_i_rows_free(rows);
    }
    karma_table_free(table);
}

static void a_level_that_training_did_not_know_is_missing(void **state) {
    (void)state;
    karma_table *table = table_of(COLOURS, NULL),
                *later = table_of("x,colour\n1,red\n2,purple\n3,blu\n4,redder\n5,green\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe = learn(table, &o, NULL);
    karma_i_rows *rows = apply(recipe, later, NULL);
    static const int known[] = {1, 0, 0, 0, 1};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(observed_at(rows, i, 1), known[i]);
        assert_int_equal(observed_at(rows, i, 0), 1);
    }
    assert_close(value_at(rows, 0, 3), 1.0 - 0.6); /* red is still the third */
    assert_close(value_at(rows, 4, 2), 1.0 - 0.2);
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    karma_table_free(table);
    karma_table_free(later);
}

/* A level that occurs only in other rows of the same file is not a level of the recipe. */
static void levels_that_do_not_occur_are_left_out(void **state) {
    (void)state;
    static const size_t part[] = {0, 1, 2, 3, 5}; /* without green */
    karma_table *table = table_of(COLOURS, NULL), *training = NULL;
    assert_int_equal(karma_table_select(&training, table, part, 5, NULL), KARMA_OK);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe = learn(training, &o, NULL);
    assert_int_equal(recipe->columns[1].n_levels, 2);
    assert_string_equal(recipe->columns[1].levels[0], "blue");
    assert_string_equal(recipe->columns[1].levels[1], "red");
    karma_i_rows *rows = apply(recipe, table, NULL);
    assert_int_equal(observed_at(rows, 4, 1), 0);
    assert_close(value_at(rows, 0, 2), 1.0 - 0.75);
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    karma_table_free(training);
    karma_table_free(table);
}

/* Five levels a to e with the shares 4, 3, 1, 1, 1 of 10; f is known to the file only. */
static const char *const LETTERS = "x,letter\n1,a\n2,b\n3,a\n4,c\n5,\n6,b\n7,a\n8,d\n9,b\n10,e\n11,a\n12,f\n";

static karma_table *without_last_row(const karma_table *table) {
    size_t rows[100], n = karma_table_n_rows(table) - 1;
    karma_table *part = NULL;
    for (size_t i = 0; i < n; i++) rows[i] = i;
    assert_int_equal(karma_table_select(&part, table, rows, n, NULL), KARMA_OK);
    return part;
}

static void categories_with_many_levels_are_codes(void **state) {
    (void)state;
    static const uint16_t code[] = {1, 2, 1, 3, 0, 2, 1, 4, 2, 5, 1, 0}; /* of the last row, f: missing */
    static const double share[] = {0.4, 0.3, 0.1, 0.1, 0.1}, s = 0.16 + 0.09 + 0.03;
    karma_table *table = table_of(LETTERS, NULL), *training = without_last_row(table);
    for (int standardise = 0; standardise < 2; standardise++) {
        karma_fit_options o = fit_defaults();
        o.standardise = standardise;
        karma_i_recipe *recipe = learn(training, &o, NULL);
        karma_i_rows *rows = apply(recipe, table, NULL);
        assert_int_equal(recipe->columns[1].n_levels, 5);
        assert_true(rows->n_features == 1 && karma_i_dense_of(rows)->n_codes == 1 &&
                    karma_i_dense_of(rows)->n_terms == (size_t)standardise);
        for (size_t i = 0; i < 12; i++) {
            assert_int_equal(observed_at(rows, i, 1), code[i] != 0);
            assert_int_equal(karma_i_dense_of(rows)->codes[i], code[i]);
            if (!standardise) continue;
            assert_close(value_at(rows, i, 1), code[i] ? s / 2.0 - share[code[i] - 1] : 0.0);
            assert_close(value_at(rows, i, 2), code[i] ? 1.0 : 0.0);
        }
        karma_i_rows_free(rows);
        karma_i_recipe_free(recipe);
    }
    /* rows are shrunk, codes cannot be */
    karma_fit_options o = fit_defaults();
    o.unit_ball = 1;
    karma_i_rows *rows = encode(training, &o, NULL);
    assert_true(rows->n_features == 6 && karma_i_dense_of(rows)->n_codes == 0 && karma_i_dense_of(rows)->n_terms == 0);
    assert_close(karma_i_rows_norms(rows).largest, 1.0);
    karma_i_rows_free(rows);
    karma_table_free(training);
    karma_table_free(table);
}

/* |P_o x|² has 1 - 2p + s for a coded cell, as it would for its indicators. */
static void norms_count_codes(void **state) {
    (void)state;
    karma_table *table = table_of("letter\na\na\nb\nc\nd\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_norm_check check;
    assert_int_equal(karma_check_norms(&check, table, &o, NULL), KARMA_OK);
    assert_close(check.largest, sqrt(1.0 - 2.0 * 0.2 + 0.28));
    o.standardise = 0;
    assert_int_equal(karma_check_norms(&check, table, &o, NULL), KARMA_OK);
    assert_close(check.largest, 1.0);
    karma_table_free(table);
}

/* A category in which every row has its own level. */
static karma_table *table_of_names(size_t n) {
    karma_i_builder builder;
    karma_table *table = NULL;
    char **levels = malloc(n * sizeof *levels);
    assert_non_null(levels);
    for (size_t l = 0; l < n; l++) {
        levels[l] = malloc(16);
        snprintf(levels[l], 16, "n%06zu", l);
    }
    assert_int_equal(karma_i_builder_init(&builder, NULL), KARMA_OK);
    assert_int_equal(karma_i_builder_add_attribute(&builder, "name", KARMA_COLUMN_CATEGORY, levels, n, NULL), KARMA_OK);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(karma_i_builder_add_cell(&builder, 0, (double)i, NULL), KARMA_OK);
        assert_int_equal(karma_i_builder_end_row(&builder, NULL, 1.0, NULL, NULL), KARMA_OK);
    }
    karma_i_builder_finish(&table, &builder);
    return table;
}

static void many_levels_are_cheap_and_too_many_are_refused(void **state) {
    (void)state;
    karma_fit_options o = fit_defaults();
    karma_table *table = table_of_names(KARMA_I_MOST_CODES);
    karma_i_recipe *recipe;
    karma_i_rows *rows = encode(table, &o, &recipe);
    assert_true(karma_i_dense_of(rows)->n_values == 2 &&
                karma_i_dense_of(rows)->n_codes == 1); /* ten bytes per row, not a quarter of a megabyte */
    assert_int_equal(karma_i_dense_of(rows)->codes[KARMA_I_MOST_CODES - 1], KARMA_I_MOST_CODES);
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    karma_table_free(table);
    table = table_of_names(KARMA_I_MOST_CODES + 1);
    karma_error err = {0};
    recipe = NULL;
    assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_LINEAR, &o, NULL, &err), KARMA_ERR_DATA);
    assert_null(recipe);
    assert_non_null(strstr(err.message, "'name'"));
    assert_non_null(strstr(err.message, "65535 levels"));
    karma_table_free(table);
}

/* --- other tables -------------------------------------------------------------------------------------- */

static void attributes_are_matched_by_name(void **state) {
    (void)state;
    karma_table *table = table_of("a,colour,b\n1,red,4\n2,blue,\n3,red,7\n", NULL);
    karma_table *other = table_of("b,a,colour\n4,1,red\n,2,blue\n7,3,red\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe = learn(table, &o, NULL);
    notices n = {0};
    karma_i_rows *rows = apply(recipe, table, &n), *again = apply(recipe, other, &n);
    assert_int_equal(n.count, 0);
    assert_int_equal(rows->n_features, again->n_features);
    assert_memory_equal(karma_i_dense_of(rows)->values, karma_i_dense_of(again)->values,
                        3 * rows->n_features * sizeof *karma_i_dense_of(rows)->values);
    assert_memory_equal(karma_i_dense_of(rows)->mask, karma_i_dense_of(again)->mask,
                        3 * sizeof *karma_i_dense_of(rows)->mask);
    karma_i_rows_free(rows);
    karma_i_rows_free(again);
    karma_i_recipe_free(recipe);
    karma_table_free(table);
    karma_table_free(other);
}

static void differences_are_reported(void **state) {
    (void)state;
    karma_table *table = table_of("a,b,c\n1,4,2\n2,,3\n3,7,1\n", NULL);
    karma_table *other = table_of("b,zebra,a,yak\n4,1,1,2\n5,2,2,3\n", NULL), *alien = table_of("x,y\n1,2\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe = learn(table, &o, NULL);
    notices n = {0};
    karma_i_rows *rows = apply(recipe, other, &n);
    assert_int_equal(n.count, 2);
    assert_non_null(strstr(n.all, "'zebra', 'yak'"));
    assert_non_null(strstr(n.all, "'c'"));
    assert_null(strstr(n.all, "'a'"));
    for (size_t i = 0; i < 2; i++) {
        assert_true(observed_at(rows, i, 0) && observed_at(rows, i, 1) && !observed_at(rows, i, 2));
        assert_true(value_at(rows, i, 2) == 0.0);
    }
    karma_i_rows_free(rows);
    rows = NULL;
    karma_error err = {0};
    assert_int_equal(karma_i_recipe_apply(&rows, recipe, alien, NULL, &err), KARMA_ERR_DATA);
    assert_null(rows);
    assert_non_null(strstr(err.message, "'a', 'b', 'c'"));
    karma_i_recipe_free(recipe);
    karma_table_free(table);
    karma_table_free(other);
    karma_table_free(alien);
}

static void a_column_of_another_kind_is_refused(void **state) {
    (void)state;
    karma_table *numbers = table_of("a,b\n1,4\n2,5\n", NULL), *texts = table_of("a,b\n1,x\n2,y\n", NULL);
    karma_fit_options o = fit_defaults();
    for (int way = 0; way < 2; way++) {
        karma_i_recipe *recipe = learn(way ? texts : numbers, &o, NULL);
        karma_i_rows *rows = NULL;
        karma_error err = {0};
        assert_int_equal(karma_i_recipe_apply(&rows, recipe, way ? numbers : texts, NULL, &err), KARMA_ERR_DATA);
        assert_non_null(strstr(err.message, "'b'"));
        assert_null(rows);
        karma_i_recipe_free(recipe);
    }
    karma_table_free(numbers);
    karma_table_free(texts);
}

static void an_attribute_never_observed_is_dropped(void **state) {
    (void)state;
    static const double cells[] = {1, NAN, 3, 2, NAN, 4, 5, NAN, 9};
    static const char *const names[] = {"first", "empty", "last"};
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, 3, 3, names, NULL), KARMA_OK);
    karma_fit_options o = fit_defaults();
    notices n = {0};
    karma_i_recipe *recipe = learn(table, &o, &n);
    assert_int_equal(n.count, 1);
    assert_non_null(strstr(n.all, "'empty'"));
    assert_int_equal(recipe->n_attributes, 2);
    assert_string_equal(recipe->columns[1].name, "last");
    karma_i_rows *rows = apply(recipe, table, NULL);
    assert_int_equal(rows->n_attributes, 2);
    assert_true(value_at(rows, 2, 1) > 1.0);
    karma_i_rows_free(rows);
    karma_i_recipe_free(recipe);
    karma_table_free(table);
}

static void nothing_observed_at_all_is_an_error(void **state) {
    (void)state;
    static const double cells[] = {NAN, NAN, NAN, NAN};
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, 2, 2, NULL, NULL), KARMA_OK);
    karma_fit_options o = fit_defaults();
    karma_i_recipe *recipe = NULL;
    assert_int_equal(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_LINEAR, &o, NULL, NULL), KARMA_ERR_DATA);
    assert_null(recipe);
    karma_table_free(table);
}

/* Learned on a part: applying to all gives the part the same numbers, and other rows do not matter. */
static void test_rows_do_not_influence(void **state) {
    (void)state;
    static const size_t part[] = {0, 1, 2, 3};
    static const char *const files[] = {"a,c\n1,u\n2,v\n4,u\n,v\n5,u\n", "a,c\n1,u\n2,v\n4,u\n,v\n-999,w\n"};
    karma_i_rows *rows[2];
    for (int v = 0; v < 2; v++) {
        karma_table *all = table_of(files[v], NULL), *training = NULL;
        assert_int_equal(karma_table_select(&training, all, part, 4, NULL), KARMA_OK);
        karma_fit_options o = fit_defaults();
        o.unit_ball = 1;
        karma_i_recipe *recipe = learn(training, &o, NULL);
        rows[v] = apply(recipe, all, NULL);
        karma_i_recipe_free(recipe);
        karma_table_free(all);
        karma_table_free(training);
    }
    assert_int_equal(rows[0]->n_features, 3);
    assert_int_equal(rows[1]->n_features, 3);
    assert_memory_equal(karma_i_dense_of(rows[0])->values, karma_i_dense_of(rows[1])->values, 4 * 3 * sizeof(float));
    karma_i_rows_free(rows[0]);
    karma_i_rows_free(rows[1]);
}

/* --- the unit ball ------------------------------------------------------------------------------------- */

static void rows_are_shrunk_into_the_unit_ball(void **state) {
    (void)state;
    enum { ROWS = 80, COLUMNS = 5 };
    double cells[ROWS * COLUMNS];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        cells[i] = karma_i_rng_uniform(&rng) < 0.3 ? (double)NAN : 2.0 + 7.0 * karma_i_rng_normal(&rng);
    karma_table *table = NULL, *later = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
    for (int standardise = 0; standardise < 2; standardise++) {
        karma_fit_options o = fit_defaults();
        o.standardise = standardise;
        karma_i_rows *plain = encode(table, &o, NULL);
        o.unit_ball = 1;
        karma_i_recipe *recipe;
        karma_i_rows *rows = encode(table, &o, &recipe);
        double largest = karma_i_rows_norms(plain).largest;
        assert_true(largest > 2.0);
        assert_int_equal(karma_i_rows_norms(plain).n_above_one > 0, 1);
        assert_close(karma_i_rows_norms(rows).largest, 1.0);
        assert_int_equal(karma_i_rows_norms(rows).n_above_one, 0);
        /* one factor for all training rows: directions and ratios stay */
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            assert_close((double)karma_i_dense_of(rows)->values[i],
                         (double)karma_i_dense_of(plain)->values[i] / largest);
        /* rows that are far outside */
        for (size_t i = 0; i < COLUMNS; i++) cells[i] = 1e6 * ((double)i - 2.3);
        assert_int_equal(karma_table_from_array(&later, cells, ROWS, COLUMNS, NULL, NULL), KARMA_OK);
        karma_i_rows *new_rows = apply(recipe, later, NULL);
        assert_close(karma_i_rows_norms(new_rows).largest, 1.0);
        assert_int_equal(karma_i_rows_norms(new_rows).n_above_one, 0);
        karma_table_free(later);
        karma_i_rows_free(new_rows);
        karma_i_rows_free(rows);
        karma_i_rows_free(plain);
        karma_i_recipe_free(recipe);
    }
    karma_table_free(table);
}

static void norms_count_what_is_outside(void **state) {
    (void)state;
    karma_table *table = table_of("a,b\n0.6,0.8\n3,4\n,0.5\n1.5,\n", NULL);
    karma_fit_options o = fit_defaults();
    karma_norm_check check;
    o.standardise = 0;
    assert_int_equal(karma_check_norms(&check, table, &o, NULL), KARMA_OK);
    assert_close(check.largest, 5.0);
    assert_int_equal(check.n_above_one, 2);
    assert_int_equal(check.n_rows, 4);
    karma_table_free(table);
}

/* --- decoding ------------------------------------------------------------------------------------------ */

/* Encoding a table and decoding the features of each row gives the observed cells, for every encoding that has only
 * features. */
static void decoding_inverts_encoding(void **state) {
    (void)state;
    const char *csv = "a,b,c\n1.5,u,red\n-2,v,\n,w,blue\n40,u,blue\n7,x,red\n-0.25,,green\n3,w,red\n";
    for (int way = 0; way < 4; way++) {
        karma_table *table = table_of(csv, NULL);
        karma_fit_options o = fit_defaults();
        karma_i_recipe *recipe = NULL;
        karma_i_rows *rows = NULL;
        double divisors[7];
        o.standardise = way != 1;
        o.unit_ball = 1; /* so that no category is a code */
        if (way == 2) o.encoding = KARMA_ENCODING_POLAR;
        assert_int_equal(way == 3 ? karma_i_recipe_learn_indicators(&recipe, table, NULL)
                                  : karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_LINEAR, &o, NULL, NULL),
                         KARMA_OK);
        assert_int_equal(karma_i_recipe_encode(&rows, divisors, recipe, table, NULL, NULL), KARMA_OK);
        for (size_t i = 0; i < table->n_rows; i++) {
            double features[16], errors[16];
            for (size_t f = 0; f < rows->n_features; f++) features[f] = value_at(rows, i, f), errors[f] = 0.5;
            karma_i_row_cells cells = karma_i_table_cells(table, i);
            for (size_t k = 0; k < cells.count; k++) {
                size_t j = cells.attribute[k], first = recipe->feature_start[j];
                karma_i_decoded cell = karma_i_recipe_decode(recipe, j, features, errors, divisors[i]);
                assert_close(cell.value, cells.value[k]);
                /* an observed level has the share 1; the error of a number is scaled like the number */
                double step = features[first] + 1.0, *x = features + first;
                if (recipe->columns[j].kind == KARMA_COLUMN_CATEGORY)
                    assert_true(cell.error >= 0.0 && cell.error < 1e-6);
                else {
                    *x = step;
                    double moved = karma_i_recipe_decode(recipe, j, features, NULL, divisors[i]).value;
                    assert_close(cell.error, 0.5 * fabs(moved - cell.value));
                    *x = step - 1.0;
                }
                assert_true(karma_i_recipe_decode(recipe, j, features, NULL, divisors[i]).error < 1e-6);
            }
        }
        karma_i_rows_free(rows);
        karma_i_recipe_free(recipe);
        karma_table_free(table);
    }
}

/* Shares that lie outside [0, 1] or are equal: the largest wins, the first of equal ones, and errors stay in [0, 1]. */
static void decoded_categories_are_the_largest_share(void **state) {
    (void)state;
    karma_table *table = table_of("c\nu\nv\nw\nu\n", NULL);
    karma_i_recipe *recipe = NULL;
    assert_int_equal(karma_i_recipe_learn_indicators(&recipe, table, NULL), KARMA_OK);
    const double share[] = {0.5, 0.25, 0.25};
    const struct {
        double decoded[3], value, error;
    } cases[] = {{{0.2, 0.5, 0.3}, 1.0, 0.5},
                 {{0.4, 0.4, 0.2}, 0.0, 0.6},
                 {{-0.3, 0.1, 1.2}, 2.0, 0.0},
                 {{-3.0, -2.0, -2.0}, 1.0, 1.0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        double features[3];
        for (size_t f = 0; f < 3; f++) features[f] = cases[c].decoded[f] - share[f];
        karma_i_decoded cell = karma_i_recipe_decode(recipe, 0, features, NULL, 1.0);
        assert_close(cell.value, cases[c].value);
        assert_close(cell.error, cases[c].error);
    }
    karma_i_recipe_free(recipe);
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_standardised_over_observed_cells),
        cmocka_unit_test(constant_columns_become_zero_and_stay_observed),
        cmocka_unit_test(a_large_offset_loses_no_precision),
        cmocka_unit_test(huge_values_are_clamped_or_refused),
        cmocka_unit_test(categories_are_centred_indicators),
        cmocka_unit_test(categories_with_many_levels_are_codes),
        cmocka_unit_test(norms_count_codes),
        cmocka_unit_test(many_levels_are_cheap_and_too_many_are_refused),
        cmocka_unit_test(a_level_that_training_did_not_know_is_missing),
        cmocka_unit_test(levels_that_do_not_occur_are_left_out),
        cmocka_unit_test(attributes_are_matched_by_name),
        cmocka_unit_test(differences_are_reported),
        cmocka_unit_test(a_column_of_another_kind_is_refused),
        cmocka_unit_test(an_attribute_never_observed_is_dropped),
        cmocka_unit_test(nothing_observed_at_all_is_an_error),
        cmocka_unit_test(test_rows_do_not_influence),
        cmocka_unit_test(rows_are_shrunk_into_the_unit_ball),
        cmocka_unit_test(norms_count_what_is_outside),
        cmocka_unit_test(decoding_inverts_encoding),
        cmocka_unit_test(decoded_categories_are_the_largest_share),
    };
    return cmocka_run_group_tests_name("recipe", tests, NULL, NULL);
}
