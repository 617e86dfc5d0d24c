/* ARFF files: types, nominal sets, quotes, sparse rows, missing values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "readcase.h"

static void read_arff(reading *r, const char *text, karma_read_options *options) {
    read_bytes(r, ".arff", text, strlen(text), options, NULL);
}

static const char example[] = "% a comment\n@RELATION t\n\n@ATTRIBUTE 'age of patient' NUMERIC\n"
                              "@attribute colour {red, 'light blue', \"gr,een\"}\n@attribute note string\n"
                              "@attribute code {1,2,3}\n@DATA\n"
                              "34, red, 'it\\'s', 1\n%\n?, 'light blue', ?, 2\n{0 5, 3 3}\n3,\"gr,een\",x,?\n";

static void test_types(void **state) {
    (void)state;
    reading r;
    char names[64];
    read_arff(&r, example, NULL);
    assert_read(&r);
    assert_int_equal(r.n_notices, 0);
    assert_int_equal(karma_table_n_rows(r.table), 4);
    assert_string_equal(names_of(&r, names, sizeof names), "age of patient,colour,note,code");
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_attribute_kind(r.table, 3), KARMA_COLUMN_CATEGORY); /* as declared */
    assert_true(cell_of(&r, 0, 0) == 34.0 && isnan(cell_of(&r, 1, 0)));
    assert_string_equal(level_of(&r, 1, 1), "light blue");
    assert_string_equal(level_of(&r, 3, 1), "gr,een");
    assert_string_equal(level_of(&r, 0, 2), "it's");
    assert_true(isnan(cell_of(&r, 3, 3)));
    reading_clear(&r);
    read_arff(&r, "@relation r\n@attribute a string\n@attribute b string\n@data\n'it''s','\"\"'\n\"a\"\"b\",''\n",
              NULL);
    assert_read(&r);
    assert_string_equal(level_of(&r, 0, 0), "it's");
    assert_string_equal(level_of(&r, 0, 1), "\"\"");
    assert_string_equal(level_of(&r, 1, 0), "a\"b");
    assert_true(isnan(cell_of(&r, 1, 1)));
    reading_clear(&r);
}

/* An attribute that a sparse row omits is 0, or the first value of a nominal attribute. */
static void test_sparse_rows(void **state) {
    (void)state;
    reading r;
    read_arff(&r, example, NULL);
    assert_read(&r);
    assert_true(cell_of(&r, 2, 0) == 5.0);
    assert_string_equal(level_of(&r, 2, 1), "red");
    assert_string_equal(level_of(&r, 2, 3), "3");
    reading_clear(&r);
    read_arff(&r, "@relation r\n@attribute a real\n@attribute b real\n@data\n{}\n{1 2.5}\n", NULL);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 0) == 0.0 && cell_of(&r, 0, 1) == 0.0 && cell_of(&r, 1, 1) == 2.5);
    reading_clear(&r);
}

static void test_roles_and_names(void **state) {
    (void)state;
    reading r;
    char names[64];
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("code");
    o.ignore = (karma_names)NAMES("note");
    read_bytes(&r, ".csv", example, strlen(example), &o, NULL); /* recognised by its text, whatever its name is */
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "age of patient,colour");
    assert_int_equal(karma_table_n_classes(r.table, 0), 3);
    reading_clear(&r);
}

static void refuse_arff(const char *text, const char *message) {
    reading r;
    read_arff(&r, text, NULL);
    assert_refused(&r,
                   strstr(message, "is not a number") || strstr(message, "no rows") ? KARMA_ERR_DATA : KARMA_ERR_FORMAT,
                   message);
}

static void test_bad_files(void **state) {
    (void)state;
    refuse_arff("@relation r\n@attribute a real\n", "there is no @data line");
    refuse_arff("@relation r\n@data\n1\n", "line 2: @data comes before the first @attribute");
    refuse_arff("@relation r\n@attribute a colour\n@data\n1\n",
                "line 2: the attribute's type is not one of numeric, real, integer, string, date and {A,B,C}");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n1,2\n1\n",
                "line 6: 1 value, but there are 2 attributes");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n1,2,{5}\n",
                "line 5: 3 values, but there are 2 attributes. The weight of a row is not read in braces: make it an "
                "attribute, and name it in option 'row-weight'");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n1,'x\n", "line 5: a quote is never closed");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n{2 5}\n",
                "line 5: index 2, but the last attribute has index 1");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n{x 5}\n",
                "line 5: in a sparse row an index, from 0 on, comes before each value");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@attribute a real\n@data\n1,2,3\n",
                "line 4: an attribute before has the same name");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n{0 5, 0 6}\n",
                "line 5: a sparse row has an index twice");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n{0 5\n",
                "line 5: a sparse row has no closing brace");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n1,2\nx,3\n",
                "line 6, column 'a': 'x' is not a number");
    refuse_arff("@relation r\n@attribute a real\n@attribute b real\n@data\n", "no rows");
    refuse_arff("@relation r\n@attribute a {x,'y z'}\n@attribute b real\n@data\nx,1\n?,2\n'y z',3\nz,4\n",
                "line 8: 'z' is not among the declared values of 'a'");
    refuse_arff("@relation r\n@attribute a {x,y}\n@attribute b real\n@data\n{0 y}\n{0 z}\n",
                "line 6: 'z' is not among the declared values of 'a'");
    refuse_arff("@relation r\n@attribute a {x,y\n@data\nx\n", "line 2: a set of values has no closing brace");
    refuse_arff("@relation r\nhello\n", "line 2: this is neither @attribute nor @data");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_sparse_rows),
        cmocka_unit_test(test_roles_and_names),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests_name("arff", tests, NULL, NULL);
}
