/* Reading LIBSVM text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "readcase.h"

static karma_read_options absent_as(int absent) {
    karma_read_options o = read_defaults();
    o.absent = absent;
    return o;
}

static void read_text(reading *r, const char *text, const karma_read_options *options) {
    read_bytes(r, ".svm", text, strlen(text), options, NULL);
}

static void refuse(const char *text, karma_status status, const char *sentence) {
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    reading r;
    read_text(&r, text, &o);
    assert_refused(&r, status, sentence);
}

static void refuse_options(const karma_read_options *o, karma_status status, const char *sentence) {
    reading r;
    read_text(&r, "1 1:1 3:1\n", o);
    assert_refused(&r, status, sentence);
}

static const char sample[] = "# a comment\n+1 1:0.5 3:-2 # tail\n\n  -1 2:nan\t4:1e2  \r\n?\n   # more\n+1 4:NaN";

static void test_absent_missing(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    reading r;
    char names[64];
    read_text(&r, sample, &o);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 4);
    assert_string_equal(names_of(&r, names, sizeof names), "1,2,3,4");
    assert_int_equal(karma_table_n_observed(r.table), 3);
    assert_true(cell_of(&r, 0, 0) == 0.5 && cell_of(&r, 0, 2) == -2.0 && cell_of(&r, 1, 3) == 100.0);
    assert_true(isnan(cell_of(&r, 1, 1)) && isnan(cell_of(&r, 3, 3)));
    assert_string_equal(karma_table_target_name(r.table, 0), "target");
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_n_classes(r.table, 0), 2);
    assert_string_equal(karma_table_class(r.table, 0, 0), "+1");
    assert_true(target_of(&r, 0) == 1.0 && target_of(&r, 1) == -1.0 && isnan(target_of(&r, 2)));
    reading_clear(&r);
}

static void test_absent_zero(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_ZERO);
    reading r;
    read_text(&r, sample, &o);
    assert_read(&r);
    assert_int_equal(karma_table_n_observed(r.table), 16 - 2); /* all but the two cells `nan` */
    assert_true(cell_of(&r, 0, 0) == 0.5 && cell_of(&r, 0, 1) == 0.0 && cell_of(&r, 0, 3) == 0.0);
    assert_true(isnan(cell_of(&r, 1, 1)) && isnan(cell_of(&r, 3, 3)));
    assert_true(cell_of(&r, 2, 0) == 0.0 && cell_of(&r, 2, 3) == 0.0);
    reading_clear(&r);
}

static void test_absent_not_given(void **state) {
    (void)state;
    reading r;
    static const char *const endings[] = {".svm", ".libsvm", ".svmlight", ".svm.gz", ".LIBSVM.GZ"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        read_bytes(&r, endings[i], "1 1:1\n", 6, NULL, NULL);
        assert_int_equal(r.status, KARMA_ERR_OPTION);
        assert_non_null(strstr(r.err.message, "set option 'absent=zero' or option 'absent=missing': "));
    }
    karma_read_options o = absent_as(KARMA_ABSENT_ZERO);
    o.format = KARMA_FORMAT_LIBSVM; /* whatever the name */
    read_bytes(&r, ".txt", "1 1:1\n", 6, &o, NULL);
    assert_read(&r);
    reading_clear(&r);
    o.format = KARMA_FORMAT_CSV;
    read_bytes(&r, ".svm", "a\n1\n", 4, &o, NULL);
    assert_read(&r);
    assert_string_equal(karma_table_attribute_name(r.table, 0), "a");
    reading_clear(&r);
}

static void test_gzip(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    temp_file file;
    reading r;
    temp_create_gzip(&file, ".svm.gz", "1 2:3\n", 6);
    read_file(&r, &file, &o, NULL);
    temp_remove(&file);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 1) == 3.0);
    reading_clear(&r);
}

static void test_class_labels(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    o.missing = (karma_names)NAMES("unknown");
    reading r;
    read_text(&r, "spam 1:1\nham 1:2\nunknown 1:unknown\nspam\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_n_classes(r.table, 0), 2);
    assert_string_equal(karma_table_class(r.table, 0, 0), "ham");
    assert_true(target_of(&r, 0) == 1.0 && target_of(&r, 1) == 0.0 && isnan(target_of(&r, 2)));
    assert_true(isnan(cell_of(&r, 2, 0)));
    reading_clear(&r);
}

static void test_late_word_among_labels(void **state) {
    (void)state;
    enum { N = 1500 };
    char *text = malloc(N * 8 + 16);
    assert_non_null(text);
    size_t used = 0;
    for (size_t i = 0; i < N; i++) used += (size_t)sprintf(text + used, "%zu\n", i);
    (void)sprintf(text + used, "word 1:1");
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    reading r;
    read_text(&r, text, &o);
    free(text);
    assert_read(&r);
    assert_int_equal(karma_table_n_classes(r.table, 0), N + 1);
    assert_int_equal(r.n_notices, 1);
    assert_non_null(
        strstr(r.notice, "column 'target' is read as categories: 1500 cells are numbers, but 1 is not ('word')"));
    reading_clear(&r);
}

static void test_bad_lines(void **state) {
    (void)state;
    refuse("1 1:1\n1 0:2\n", KARMA_ERR_FORMAT, "line 2: '0:2' has index 0; indices start at 1");
    refuse("1 x:2\n", KARMA_ERR_FORMAT, "line 1: 'x:2' has an index that is not a whole number from 1 to 2147483647");
    refuse("1 1.5:2\n", KARMA_ERR_FORMAT,
           "line 1: '1.5:2' has an index that is not a whole number from 1 to 2147483647");
    refuse("1 -1:2\n", KARMA_ERR_FORMAT, "line 1: '-1:2' has an index that is not a whole number from 1 to 2147483647");
    refuse("1 2147483648:2\n", KARMA_ERR_FORMAT,
           "line 1: '2147483648:2' has an index that is not a whole number from 1 to 2147483647");
    refuse("1 :2\n", KARMA_ERR_FORMAT, "line 1: ':2' has an index that is not a whole number from 1 to 2147483647");
    refuse("1 1:1\n1 2:1 2:3\n", KARMA_ERR_FORMAT, "line 2: '2:3' repeats an index of this line");
    refuse("1 5:1 2:3\n", KARMA_ERR_FORMAT, "line 1: '2:3' follows a larger index; indices must ascend");
    refuse("1 5:abc\n", KARMA_ERR_FORMAT, "line 1: '5:abc' has a value that is not a number");
    refuse("1 5:\n", KARMA_ERR_FORMAT, "line 1: '5:' has a value that is not a number");
    refuse("1 5:1:2\n", KARMA_ERR_FORMAT, "line 1: '5:1:2' has a value that is not a number");
    refuse("1 5:-inf\n", KARMA_ERR_FORMAT, "line 1: '5:-inf' has a value that is not finite");
    refuse("1 5:1e999\n", KARMA_ERR_FORMAT, "line 1: '5:1e999' has a value that is not finite");
    refuse("1 word\n", KARMA_ERR_FORMAT, "line 1: 'word' is not of the form index:value");
    refuse("\n1 qid:3 1:2\n", KARMA_ERR_FORMAT, "line 2: 'qid:3' belongs to ranking data, which are not supported");
    refuse("1:1 2:2\n", KARMA_ERR_FORMAT, "line 1: '1:1' stands where the label should be");
    refuse("1 1:1\ninf 1:1\n", KARMA_ERR_DATA,
           "line 2, column 'target': 'inf' is not a finite number; if it stands for a missing value, use option "
           "'missing' 'inf'");
    refuse("# nothing\n\n", KARMA_ERR_DATA, "no rows");
    refuse("1 1:\xff\n", KARMA_ERR_FORMAT,
           "line 1: byte 0xff is not UTF-8; convert the file to UTF-8, for example by iconv -f windows-1252 -t utf-8");
}

static void test_options(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    o.target = (karma_names)NAMES("y");
    refuse_options(&o, KARMA_ERR_DATA, "no column 'y'; the label of a LIBSVM file is called 'target'");
    o.target = (karma_names)NAMES("target", "1");
    refuse_options(&o, KARMA_ERR_DATA, "no column '1'; the label of a LIBSVM file is called 'target'");
    o.target = (karma_names)NAMES("target,1");
    refuse_options(&o, KARMA_ERR_DATA, "no column 'target,1'; the label of a LIBSVM file is called 'target'");
    o.target = (karma_names)NAMES("target", "target");
    refuse_options(&o, KARMA_ERR_OPTION, "column 'target' is named twice by option 'target'");
    o.target = (karma_names)NAMES("target");
    o.ignore = (karma_names)NAMES("target");
    refuse_options(&o, KARMA_ERR_OPTION, "column 'target' cannot be both option 'target' and option 'ignore'");
    o.ignore = (karma_names)NAMES("4");
    refuse_options(&o, KARMA_ERR_DATA, "no column '4'; those of a LIBSVM file are 1 to 3 and 'target'");
    o.ignore = (karma_names)NAMES("01");
    refuse_options(&o, KARMA_ERR_DATA, "no column '01'; those of a LIBSVM file are 1 to 3 and 'target'");
    o.ignore = o.numeric = (karma_names)NAMES("1");
    refuse_options(&o, KARMA_ERR_OPTION, "column '1' cannot be both option 'ignore' and option 'numeric'");
    o = absent_as(KARMA_ABSENT_MISSING);
    o.category = (karma_names)NAMES("1");
    refuse_options(&o, KARMA_ERR_OPTION,
                   "option 'category' does not apply to LIBSVM files, whose attributes are all numbers");
    o = absent_as(KARMA_ABSENT_MISSING);
    o.id = (karma_names)NAMES("1");
    refuse_options(&o, KARMA_ERR_OPTION,
                   "option 'id' does not apply to LIBSVM files, whose attributes are all numbers");
    o = absent_as(KARMA_ABSENT_MISSING);
    o.row_weight = "1";
    refuse_options(&o, KARMA_ERR_OPTION,
                   "option 'row-weight' does not apply to LIBSVM files, which have no column of weights");
    o = absent_as(KARMA_ABSENT_MISSING);
    o.numeric = (karma_names)NAMES("target", "1");
    reading r;
    read_text(&r, "1 1:1\nx 1:1\n", &o);
    assert_refused(&r, KARMA_ERR_DATA, "line 2, column 'target': 'x' is not a number");
}

static void test_ignore(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_ZERO);
    o.ignore = (karma_names)NAMES("2", "target");
    reading r;
    char names[64];
    read_text(&r, "1 1:5 2:6 3:7\nx 3:8\n", &o);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "1,3");
    assert_int_equal(karma_table_n_targets(r.table), 0);
    assert_true(cell_of(&r, 0, 0) == 5.0 && cell_of(&r, 0, 1) == 7.0);
    assert_true(cell_of(&r, 1, 0) == 0.0 && cell_of(&r, 1, 1) == 8.0);
    reading_clear(&r);
}

static void test_expectation(void **state) {
    (void)state;
    karma_i_column columns[] = {{.name = "1", .kind = KARMA_COLUMN_NUMBER},
                                {.name = "5", .kind = KARMA_COLUMN_NUMBER},
                                {.name = "bias", .kind = KARMA_COLUMN_NUMBER}};
    karma_i_expectation e = {columns, 3, (const char *[]){"target"}, 1, NULL};
    karma_read_options o = absent_as(KARMA_ABSENT_ZERO);
    reading r;
    char names[64];
    read_bytes(&r, ".svm", "1 2:1\n", 6, &o, &e);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "1,2,3,4,5");
    assert_int_equal(karma_table_n_observed(r.table), 5);
    reading_clear(&r);
}

static void test_large_indices(void **state) {
    (void)state;
    karma_read_options o = absent_as(KARMA_ABSENT_MISSING);
    reading r;
    read_text(&r, "1 100000:1\n2 60000:2\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_n_attributes(r.table), 100000);
    assert_int_equal(karma_table_n_observed(r.table), 2);
    assert_true(cell_of(&r, 1, 59999) == 2.0);
    reading_clear(&r);
    refuse("1 20000000:1\n", KARMA_ERR_DATA,
           "line 1: index 20000000 is above 16777229, the most in a file of 13 bytes");
    if (karma_i_memory_limit() > (size_t)1 << 37) skip(); /* here it would be valid */
    refuse("1 1:1\n1 2147483647:1\n", KARMA_ERR_MEMORY,
           "line 2: index 2147483647 makes more attributes than fit in memory");
    o.absent = KARMA_ABSENT_ZERO;
    enum { N = 100000 };
    char *text = malloc(N * 2 + 32);
    assert_non_null(text);
    for (size_t i = 0; i < N; i++) memcpy(text + 2 * i, "1\n", 2);
    memcpy(text + 2 * N, "1 1000000:1\n", 13);
    read_text(&r, text, &o);
    free(text);
    assert_refused(&r, KARMA_ERR_MEMORY,
                   "100001 rows of 1000000 attributes do not fit in memory when absent ones are zeros");
}

static void test_mutations(void **state) {
    (void)state;
    static const char valid[] = "+1 1:0.5 3:-2 # tail\n-1 2:nan 4:1e2\n\n? 1:7\n+1 4:0.25 6:3\n";
    static const char liked[] = ":# \t\n\r0129-.enaiq?\0\xff";
    enum { ROUNDS = 5000 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    size_t n_read = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        char bytes[sizeof valid];
        memcpy(bytes, valid, sizeof valid);
        for (size_t n = 1 + karma_i_rng_below(&rng, 3); n > 0; n--)
            bytes[karma_i_rng_below(&rng, sizeof valid - 1)] = liked[karma_i_rng_below(&rng, sizeof liked - 1)];
        size_t length = karma_i_rng_below(&rng, 4) ? sizeof valid - 1 : karma_i_rng_below(&rng, sizeof valid);
        karma_read_options o = absent_as(round % 2 ? KARMA_ABSENT_ZERO : KARMA_ABSENT_MISSING);
        reading r;
        read_bytes(&r, ".svm", bytes, length, &o, NULL);
        n_read += r.status == KARMA_OK;
        reading_clear(&r);
    }
    assert_true(n_read > ROUNDS / 10 && n_read < ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent_missing),   cmocka_unit_test(test_absent_zero),
        cmocka_unit_test(test_absent_not_given), cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_class_labels),     cmocka_unit_test(test_late_word_among_labels),
        cmocka_unit_test(test_bad_lines),        cmocka_unit_test(test_options),
        cmocka_unit_test(test_ignore),           cmocka_unit_test(test_expectation),
        cmocka_unit_test(test_large_indices),    cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
