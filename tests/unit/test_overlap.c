/* Overlap with the support rows: counted by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "karma/karma.h"

enum { COLUMNS = 4 };

static karma_table *table_of(const double *cells, size_t n_rows) {
    karma_table *table = NULL;
    assert_int_equal(karma_table_from_array(&table, cells, n_rows, COLUMNS, NULL, NULL), KARMA_OK);
    return table;
}

/* With the absolute loss, every row whose score is not its target becomes a support row of the online solver. */
static karma_model *fit(const double *cells, size_t n_rows, char *kernel) {
    karma_table *table = table_of(cells, n_rows);
    double *labels = malloc(n_rows * sizeof *labels);
    karma_fit_options o;
    karma_model *model = NULL;
    assert_non_null(labels);
    for (size_t i = 0; i < n_rows; i++) labels[i] = sin(1.0 + 2.7 * (double)i);
    assert_int_equal(karma_table_add_target_numbers(table, "y", labels, NULL), KARMA_OK);
    karma_options_init(karma_fit_option_table(), &o);
    static const float unit[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}; /* of three rows */
    if (kernel && strcmp(kernel, "precomputed") == 0)
        assert_int_equal(karma_table_set_gram(table, unit, 3, NULL), KARMA_OK);
    o.task = KARMA_TASK_REGRESS;
    o.loss = KARMA_LOSS_ABSOLUTE;
    o.solver = KARMA_SOLVER_ONLINE;
    o.passes = 2;
    o.kernel = kernel;
    assert_int_equal(karma_fit(&model, table, &o, NULL, NULL), KARMA_OK);
    assert_int_equal(karma_model_info(model)->n_support, n_rows);
    free(labels);
    karma_table_free(table);
    return model;
}

static void sharing_is_at_least_half(void **state) {
    (void)state;
    static const double train[] = {
        1,   2,   NAN, NAN, /* a b */
        2,   1,   3,   NAN, /* a b c */
        NAN, NAN, 1,   NAN, /*     c */
        4,   NAN, NAN, NAN, /* a */
        3,   5,   2,   NAN, /* a b c */
        NAN, NAN, NAN, 1,   /*       d */
    };
    static const double query[] = {
        1,   1,   1,   1,   /* two of four: rows 0, 1, 4 */
        1,   1,   1,   NAN, /* two of three: the same */
        1,   1,   NAN, NAN, /* one of two: 0, 1, 3, 4 */
        NAN, NAN, 1,   NAN, /* c: 1, 2, 4 */
        NAN, NAN, 1,   1,   /* c or d: 1, 2, 4, 5 */
        NAN, NAN, NAN, NAN,
    };
    static const size_t observed[] = {4, 3, 2, 1, 2, 0}, sharing[] = {3, 3, 4, 3, 4, 0};
    karma_table *table = table_of(query, 6);
    static char linear[] = "linear", both[] = "rank + linear";
    for (int composed = 0; composed < 2; composed++) {
        karma_model *model = fit(train, 6, composed ? both : linear);
        karma_overlap o[6];
        assert_int_equal(karma_measure_overlap(o, model, table, NULL, NULL), KARMA_OK);
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(o[i].observed, observed[i]);
            assert_int_equal(o[i].sharing, sharing[i]);
            assert_true(o[i].share == (double)sharing[i] / 6.0);
            assert_int_equal(o[i].level, i < 5 ? KARMA_OVERLAP_VERY_THIN : KARMA_OVERLAP_NOTHING);
        }
        karma_model_free(model);
    }
    karma_table_free(table);
}

/* n rows that observe a, and `others` rows that observe only b. */
static karma_overlap_level level_with(size_t n, size_t others) {
    static const double query[COLUMNS] = {1, NAN, NAN, NAN};
    double *cells = malloc((n + others) * COLUMNS * sizeof *cells);
    assert_non_null(cells);
    for (size_t i = 0; i < (n + others) * COLUMNS; i++) cells[i] = NAN;
    for (size_t i = 0; i < n + others; i++) cells[i * COLUMNS + (i < n ? 0 : 1)] = cos(3.1 * (double)i);
    karma_model *model = fit(cells, n + others, NULL);
    karma_table *table = table_of(query, 1);
    karma_overlap o;
    assert_int_equal(karma_measure_overlap(&o, model, table, NULL, NULL), KARMA_OK);
    assert_int_equal(o.sharing, n);
    karma_table_free(table);
    karma_model_free(model);
    free(cells);
    return o.level;
}

static void levels_are_where_they_should_be(void **state) {
    (void)state;
    assert_int_equal(level_with(4, 1), KARMA_OVERLAP_VERY_THIN); /* fewer than five rows */
    assert_int_equal(level_with(5, 1), KARMA_OVERLAP_THIN);
    assert_int_equal(level_with(29, 1), KARMA_OVERLAP_THIN); /* fewer than thirty */
    assert_int_equal(level_with(30, 1), KARMA_OVERLAP_GOOD);
    assert_int_equal(level_with(30, 2970), KARMA_OVERLAP_GOOD); /* one in a hundred */
    assert_int_equal(level_with(30, 2971), KARMA_OVERLAP_THIN);
}

/* A column that the model does not know, and a level that it does not, are not observed. */
static void only_what_the_model_knows_counts(void **state) {
    (void)state;
    static const double train[] = {1, 2, NAN, NAN, 3, 5, NAN, NAN, 2, NAN, NAN, NAN}, query[] = {1, NAN, 2, 3};
    karma_model *model = fit(train, 3, NULL);
    karma_table *table = table_of(query, 1);
    karma_overlap o;
    assert_int_equal(karma_measure_overlap(&o, model, table, NULL, NULL), KARMA_OK);
    assert_int_equal(o.observed, 1);
    assert_int_equal(o.sharing, 3);
    karma_table_free(table);
    karma_model_free(model);
}

static void a_precomputed_kernel_is_refused(void **state) {
    (void)state;
    static const double train[] = {1, 2, 3, 4, 3, 5, 1, 1, 2, 8, 1, 3};
    static char precomputed[] = "precomputed";
    karma_model *model = fit(train, 3, precomputed);
    karma_table *table = table_of(train, 3);
    karma_overlap o[3];
    karma_error err;
    assert_int_equal(karma_measure_overlap(o, model, table, NULL, &err), KARMA_ERR_DATA);
    assert_non_null(strstr(err.message, "precomputed"));
    karma_table_free(table);
    karma_model_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sharing_is_at_least_half),
        cmocka_unit_test(levels_are_where_they_should_be),
        cmocka_unit_test(only_what_the_model_knows_counts),
        cmocka_unit_test(a_precomputed_kernel_is_refused),
    };
    return cmocka_run_group_tests_name("overlap", tests, NULL, NULL);
}
