/* Tables from compressed sparse rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "karma/data.h"

/* Three rows: {., 2, .}, {NaN, ., -1}, {}. */
static const double values[] = {2.0, NAN, -1.0};
static const int64_t columns[] = {1, 0, 2}, row_start[] = {0, 1, 3, 3};

static karma_table *make(karma_absent absent, const char *const *names) {
    karma_table *table = NULL;
    karma_error err;
    if (karma_table_from_csr(&table, values, columns, row_start, 3, 3, absent, names, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    assert_int_equal(karma_table_validate(table, NULL), KARMA_OK);
    return table;
}

static void assert_cells(const karma_table *table, const double *expected) {
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            double value = 0.0;
            assert_int_equal(karma_table_cell(table, i, j, &value), !isnan(expected[3 * i + j]));
            if (!isnan(expected[3 * i + j])) assert_true(value == expected[3 * i + j]);
        }
}

static void absent_cells_follow_the_option(void **state) {
    (void)state;
    static const double missing[] = {NAN, 2, NAN, NAN, NAN, -1, NAN, NAN, NAN};
    static const double zero[] = {0, 2, 0, NAN, 0, -1, 0, 0, 0};
    karma_table *table = make(KARMA_ABSENT_MISSING, NULL);
    assert_int_equal(karma_table_n_observed(table), 2);
    assert_cells(table, missing);
    assert_string_equal(karma_table_attribute_name(table, 2), "c3");
    karma_table_free(table);
    static const char *const names[] = {"a", "b", "c"};
    table = make(KARMA_ABSENT_ZERO, names);
    assert_cells(table, zero);
    assert_string_equal(karma_table_attribute_name(table, 2), "c");
    karma_table_free(table);
}

static void refuse(const double *v, const int64_t *c, const int64_t *start, karma_absent absent, karma_status status,
                   const char *says) {
    karma_table *table = NULL;
    karma_error err;
    assert_int_equal(karma_table_from_csr(&table, v, c, start, 3, 3, absent, NULL, &err), status);
    assert_null(table);
    if (!strstr(err.message, says)) fail_msg("'%s' does not say '%s'", err.message, says);
}

static void broken_matrices_are_refused(void **state) {
    (void)state;
    static const int64_t beyond[] = {1, 0, 3}, negative[] = {-1, 0, 2}, unsorted[] = {1, 2, 0}, twice[] = {1, 2, 2};
    static const int64_t backwards[] = {0, 1, 0, 3}, far[] = {0, 1000000, 2, 3}, early[] = {-4, 1, 2, 3};
    static const double infinite[] = {2.0, INFINITY, 1.0};
    karma_absent missing = KARMA_ABSENT_MISSING;
    refuse(values, beyond, row_start, missing, KARMA_ERR_DATA, "row 2: column index 3 is not below 3");
    refuse(values, negative, row_start, missing, KARMA_ERR_DATA, "row 1: column index -1");
    refuse(values, unsorted, row_start, missing, KARMA_ERR_DATA, "row 2: column indices are not in ascending order");
    refuse(values, twice, row_start, missing, KARMA_ERR_DATA, "ascending");
    refuse(values, columns, backwards, missing, KARMA_ERR_DATA, "row 2 ends before it starts");
    refuse(values, columns, far, missing, KARMA_ERR_DATA, "row 2 ends before it starts"); /* nothing is read there */
    refuse(values, columns, early, missing, KARMA_ERR_DATA, "row 1 starts at cell -4");
    refuse(infinite, columns, row_start, missing, KARMA_ERR_DATA, "row 2, column 1: the value is infinite");
    refuse(values, columns, row_start, KARMA_ABSENT_UNSET, KARMA_ERR_OPTION, "zero or missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_cells_follow_the_option),
        cmocka_unit_test(broken_matrices_are_refused),
    };
    return cmocka_run_group_tests_name("csr", tests, NULL, NULL);
}
