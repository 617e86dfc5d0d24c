/* Reading and writing delimited text through the public interface. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "karma/base.h"
#include "base/rng.h"
#include "io/feed.h"
#include "io/source.h"
#include "readcase.h"

/* Reads `text` as a file called table.csv. */
static void read_text(reading *r, const char *text, const karma_read_options *options) {
    read_bytes(r, ".csv", text, strlen(text), options, NULL);
}

static void refuse(const char *text, const karma_read_options *options, karma_status status, const char *sentence) {
    reading r;
    read_text(&r, text, options);
    assert_refused(&r, status, sentence);
}

static void check_names(const char *text, const karma_read_options *options, const char *names) {
    reading r;
    char joined[256];
    read_text(&r, text, options);
    assert_read(&r);
    assert_string_equal(names_of(&r, joined, sizeof joined), names);
    reading_clear(&r);
}

/* --- what is read -------------------------------------------------------------------------------------- */

static void test_simple(void **state) {
    (void)state;
    reading r;
    read_text(&r, "a,b,c\n1,x,\n-2.5e1,,7\n", NULL);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 2);
    assert_int_equal(karma_table_n_attributes(r.table), 3);
    assert_int_equal(karma_table_n_observed(r.table), 4);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_attribute_kind(r.table, 1), KARMA_COLUMN_CATEGORY);
    assert_true(cell_of(&r, 0, 0) == 1.0 && cell_of(&r, 1, 0) == -25.0 && cell_of(&r, 1, 2) == 7.0);
    assert_true(isnan(cell_of(&r, 0, 2)));
    assert_string_equal(level_of(&r, 0, 1), "x");
    assert_int_equal(karma_table_n_targets(r.table), 0);
    reading_clear(&r);
}

static void test_line_ends(void **state) {
    (void)state;
    static const char *const texts[] = {"a,b\n1,2\n3,4\n",       "a,b\n1,2\n3,4",
                                        "a,b\r\n1,2\r\n3,4\r\n", "a,b\r\n1,2\r\n3,4",
                                        "a,b\n1,2\r\n3,4\r",     "\n\na,b\n\n1,2\n \n3,4\n\n",
                                        "\r\na,b\r\n1,2\n3,4\n", "\xef\xbb\xbf\141,b\n1,2\n3,4"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        reading r;
        char names[64];
        read_text(&r, texts[i], NULL);
        assert_read(&r);
        assert_string_equal(names_of(&r, names, sizeof names), "a,b");
        assert_int_equal(karma_table_n_rows(r.table), 2);
        assert_true(cell_of(&r, 0, 0) == 1.0 && cell_of(&r, 1, 1) == 4.0);
        reading_clear(&r);
    }
    refuse("a,b\n1,2\r3,4\r", NULL, KARMA_ERR_FORMAT,
           "line 2, column 4: a carriage return without a line feed; lines must end in LF or CRLF. Convert the file, "
           "for example by tr '\\r' '\\n'");
}

static void test_quotes(void **state) {
    (void)state;
    reading r;
    char names[64];
    read_text(&r, "\"a,b\",\"c \"\"d\"\"\" ,e\n \"x\ny\" ,\" z \",\"1\"\n\"\",\"NA\",2\n\"\"\"\",q\"q, 3 \n", NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "a,b,c \"d\",e");
    assert_int_equal(karma_table_n_attributes(r.table), 3);
    assert_string_equal(level_of(&r, 0, 0), "x\ny");
    assert_string_equal(level_of(&r, 0, 1), " z ");
    assert_true(cell_of(&r, 0, 2) == 1.0 && cell_of(&r, 1, 2) == 2.0 && cell_of(&r, 2, 2) == 3.0);
    assert_true(isnan(cell_of(&r, 1, 0)) && isnan(cell_of(&r, 1, 1)));
    assert_string_equal(level_of(&r, 2, 0), "\"");
    assert_string_equal(level_of(&r, 2, 1), "q\"q");
    reading_clear(&r);
}

static void test_bad_quotes(void **state) {
    (void)state;
    refuse("a,b\n1,2\n3,\"x\n5,6\n", NULL, KARMA_ERR_FORMAT, "line 3: the quote that opens here is never closed");
    refuse("a,b\n1,\"x\ny\"\n3,\"\"\"", NULL, KARMA_ERR_FORMAT, "line 4: the quote that opens here is never closed");
    refuse("a,b\n1,\"x\"y\n", NULL, KARMA_ERR_FORMAT,
           "line 2, column 6: text after a closing quote; a quote inside quotes is written twice");
    refuse("a,b\n\"\xc3\xa4\n\xc3\xa4\" y,1\n", NULL, KARMA_ERR_FORMAT,
           "line 3, column 4: text after a closing quote; if blanks separate the fields, set option 'delimiter=space'");
}

static void test_missing_tokens(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.missing = (karma_names)NAMES("-999", " unknown ", "");
    reading r;
    read_text(&r, "a\n1\n\nNA\nN/A\nNaN\nnan\n?\nnull\nNULL\nNone\n-999\n unknown \n\"unknown\"\n-998\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 14);
    assert_int_equal(karma_table_n_observed(r.table), 2);
    assert_true(cell_of(&r, 13, 0) == -998.0);
    reading_clear(&r);
    read_text(&r, "a,b\nna,-\nNan,unknown\nred,+\n#n/a,none\n", NULL); /* the usual tokens in upper and lower case */
    assert_read(&r);
    assert_int_equal(karma_table_n_levels(r.table, 0), 1);
    assert_int_equal(karma_table_n_levels(r.table, 1), 4); /* a category, since these are not numbers */
    reading_clear(&r);
    read_text(&r, "a,b\n1,-\n-,2\nunknown,.\n4,none\n", NULL); /* missing cells among numbers */
    assert_read(&r);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_n_observed(r.table), 3);
    assert_int_equal(r.n_notices, 2);
    reading_clear(&r);
    read_text(&r, "a,b\n,\n?,NA\n", NULL);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 2);
    assert_int_equal(karma_table_n_observed(r.table), 0);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    reading_clear(&r);
}

static void test_delimiters(void **state) {
    (void)state;
    check_names("a,b\n1,2\n", NULL, "a,b");
    check_names("a;b\n1,5;2,5\n", NULL, "a,b");
    check_names("a\tb\n1\t2\n", NULL, "a,b");
    check_names("a|b|c\n1|2,3|4\n", NULL, "a,b,c");
    check_names("a;b,c;d\n1;2,3;4\n", NULL, "a,b,c,d");
    check_names("\"a;x\",b\n\"1;2\",3\n", NULL, "a;x,b");
    check_names("word\nx;y\nz\n", NULL, "word");
    check_names("a::b:c::d\n1::2::3\n", NULL, "a,b:c,d");
    check_names("a::b\n1::2\n", NULL, "a::b");
    check_names("std::a::b,c\n1,2\n", NULL, "std::a::b,c");
    check_names("std::a::b,c\nx::y::z,2\n", NULL, "std::a::b,c");
    check_names("a::b, c::d\n1::2::3\n", NULL, "a,b, c,d");
    refuse("a::b::c\n1::2::3\n4::5\n", NULL, KARMA_ERR_FORMAT,
           "line 3: 2 fields, header has 3; if the line is not a row of the table, remove it");
    refuse("a;b\n1;2\n3\n", NULL, KARMA_ERR_FORMAT,
           "line 3: 1 field, header has 2; if the line is not a row of the table, remove it");
    karma_read_options o = read_defaults();
    o.delimiter = '\t';
    check_names(" a \tb c\n1\t2\n", &o, "a,b c");
    o.delimiter = ' ';
    check_names("a b\n1 2\n", &o, "a,b");
    o.delimiter = KARMA_COLONS;
    check_names("a :: \"b::\" ::c:\n1::2:: 3\n", &o, "a,b::,c:");
    check_names(":a:::b\n1::2\n", &o, ":a,:b");
    refuse("a::\"b\":c\n1::2\n", &o, KARMA_ERR_FORMAT,
           "line 1, column 7: text after a closing quote; a quote inside quotes is written twice");
    o.delimiter = ',';
    check_names("a;b\n1;2\n", &o, "a;b");
    o.delimiter = '"';
    reading r;
    read_text(&r, "a\n1\n", &o);
    assert_int_equal(r.status, KARMA_ERR_OPTION);
}

static void test_names_by_ending(void **state) {
    (void)state;
    reading r;
    char names[64];
    static const char *const endings[] = {".tsv", ".tab", ".TSV", ".tsv.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        read_bytes(&r, endings[i], "a,b,c\n1,2,3\n", 12, NULL, NULL);
        assert_read(&r);
        assert_string_equal(names_of(&r, names, sizeof names), "a,b,c");
        assert_int_equal(karma_table_n_attributes(r.table), 1);
        reading_clear(&r);
    }
}

static void test_header(void **state) {
    (void)state;
    check_names("a,,c,\n1,2,3,4\n", NULL, "a,c2,c,c4");
    refuse("a,b,x,b\n1,2,3,4\n", NULL, KARMA_ERR_FORMAT,
           "line 1: columns 2 and 4 are both called 'b'; rename one of them");
    refuse("\nc2,\n1,2\n", NULL, KARMA_ERR_FORMAT, "line 2: columns 1 and 2 are both called 'c2'; rename one of them");
    karma_read_options o = read_defaults();
    o.header = 0;
    check_names("1,2,3\n4,5,6\n", &o, "c1,c2,c3");
    refuse("1,2,3\n4,5\n", &o, KARMA_ERR_FORMAT, "line 2: 2 fields, the first record has 3");
    reading r;
    read_text(&r, "\n5\n\n", &o); /* one column: empty lines are missing cells */
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 3);
    assert_int_equal(karma_table_n_observed(r.table), 1);
    reading_clear(&r);
}

static void test_ragged(void **state) {
    (void)state;
    refuse("a,b\n1,2\n1,2,3\n", NULL, KARMA_ERR_FORMAT,
           "line 3: 3 fields, header has 2; a text that contains the delimiter must be in double quotes");
    refuse("a,b\n\"1\n\",2\n\n1\n", NULL, KARMA_ERR_FORMAT,
           "line 5: 1 field, header has 2; if the line is not a row of the table, remove it");
    karma_read_options o = read_defaults();
    o.numeric = (karma_names)NAMES("a", "b");
    refuse("a,b\nx,1,2\n", &o, KARMA_ERR_FORMAT,
           "line 2: 3 fields, header has 2; if every line starts with the name of its row, as R writes tables, give "
           "these names a "
           "column in the header; otherwise a text that contains the delimiter must be in double quotes");
}

static void test_no_rows(void **state) {
    (void)state;
    refuse("a,b\n", NULL, KARMA_ERR_DATA, "no rows");
    refuse("a,b", NULL, KARMA_ERR_DATA, "no rows");
    refuse("\n\n", NULL, KARMA_ERR_DATA, "no rows");
    refuse("a,b\n\n\n", NULL, KARMA_ERR_DATA, "no rows");
    refuse("", NULL, KARMA_ERR_DATA, "the file is empty");
    refuse("\xef\xbb\xbf", NULL, KARMA_ERR_DATA, "the file is empty");
}

static void test_encoding(void **state) {
    (void)state;
    refuse("\xff\xfe"
           "ab",
           NULL, KARMA_ERR_FORMAT,
           "line 1: the text is UTF-16; convert the file to UTF-8, for example by iconv -f utf-16 -t utf-8");
    refuse("\xfe\xff"
           "ab",
           NULL, KARMA_ERR_FORMAT,
           "line 1: the text is UTF-16; convert the file to UTF-8, for example by iconv -f utf-16 -t utf-8");
    refuse("a,b\n1,M\xfcnchen\n", NULL, KARMA_ERR_FORMAT,
           "line 2: byte 0xfc is not UTF-8; convert the file to UTF-8, for example by iconv -f windows-1252 -t utf-8");
    static const char *const bad[] = {"\xc0\x80",         "\xe0\x80\x80", "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80", "\x80",         "\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        reading r;
        (void)snprintf(text, sizeof text, "a,b\n1,2\n3,%s", bad[i]);
        read_text(&r, text, NULL);
        assert_int_equal(r.status, KARMA_ERR_FORMAT);
        assert_non_null(strstr(r.err.message, ": line 3: byte 0x"));
    }
    check_names("\xc3\xa4,\xe2\x82\xac,\xf0\x9f\x98\x80\n1,2,3\n", NULL, "\xc3\xa4,\xe2\x82\xac,\xf0\x9f\x98\x80");
    reading r;
    read_bytes(&r, ".csv", "a,b\n1,2\n3,\0004\n", 13, NULL, NULL);
    assert_refused(&r, KARMA_ERR_FORMAT, "line 3: a NUL byte; the file is not text in UTF-8");
}

/* --- kinds and roles ----------------------------------------------------------------------------------- */

static void test_levels_are_sorted(void **state) {
    (void)state;
    reading r;
    read_text(&r, "a,b\n2,zeta\n1,Beta\n10,\xc3\xa4\nx,beta\n2,Beta\n", NULL); /* a: numbers first, a word late */
    assert_read(&r);
    static const char *const a[] = {"1", "10", "2", "x"}, *const b[] = {"Beta", "beta", "zeta", "\xc3\xa4"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(karma_table_level(r.table, 0, i), a[i]);
        assert_string_equal(karma_table_level(r.table, 1, i), b[i]);
    }
    assert_string_equal(level_of(&r, 0, 0), "2");
    assert_string_equal(level_of(&r, 3, 0), "x");
    assert_string_equal(level_of(&r, 4, 1), "Beta");
    reading_clear(&r);
}

static void test_forced_kinds(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.numeric = (karma_names)NAMES("a");
    o.category = (karma_names)NAMES("b");
    reading r;
    read_text(&r, "a,b\n1,2\nNA,1\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_attribute_kind(r.table, 1), KARMA_COLUMN_CATEGORY);
    assert_string_equal(level_of(&r, 0, 1), "2");
    reading_clear(&r);
    refuse("a,b\n1,2\nsome\ttext,1\n", &o, KARMA_ERR_DATA, "line 3, column 'a': 'some?text' is not a number");
    refuse("a,b\n1,2\n\"x\ny\",1\n", &o, KARMA_ERR_DATA, "line 3, column 'a': 'x?y' is not a number");
}

static void test_infinities(void **state) {
    (void)state;
    refuse("a,b\n1,2\n1,inf\n", NULL, KARMA_ERR_DATA,
           "line 3, column 'b': 'inf' is not a finite number; if it stands for a missing value, use option 'missing' "
           "'inf'");
    refuse("a,b\n1,2\n1,-1e999\n", NULL, KARMA_ERR_DATA,
           "line 3, column 'b': '-1e999' is not a finite number; if it stands for a missing value, use option "
           "'missing' '-1e999'");
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("b");
    refuse("a,b\n1,Infinity\n", &o, KARMA_ERR_DATA,
           "line 2, column 'b': 'Infinity' is not a finite number; if it stands for a missing value, use option "
           "'missing' 'Infinity'");
    check_names("a,b\n1,inf\n1,word\n", NULL, "a,b"); /* an ordinary level */
    o.target = (karma_names){0};
    o.ignore = (karma_names)NAMES("b");
    check_names("a,b\n1,inf\n", &o, "a");
}

static void test_roles(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    o.id = (karma_names)NAMES("name", "key");
    o.ignore = (karma_names)NAMES("junk", "junk");
    reading r;
    char names[64];
    read_text(&r, "key,a,y,junk,name,b\n007,1,u,x,\"say \"\"hi\"\"\",2\nNA,3,NA,y,,4\n", &o);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "a,b");
    assert_int_equal(karma_table_n_ids(r.table), 2);
    assert_string_equal(karma_table_id_name(r.table, 0), "key");
    assert_string_equal(karma_table_id(r.table, 0, 0), "007");
    assert_string_equal(karma_table_id(r.table, 1, 0), "say \"hi\"");
    assert_string_equal(karma_table_id(r.table, 0, 1), "NA");
    assert_string_equal(karma_table_id(r.table, 1, 1), "");
    assert_string_equal(karma_table_target_name(r.table, 0), "y");
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_true(target_of(&r, 0) == 0.0 && isnan(target_of(&r, 1)));
    assert_true(cell_of(&r, 1, 1) == 4.0);
    reading_clear(&r);
}

static void test_unknown_columns(void **state) {
    (void)state;
    const char *text = "height,weight,sex\n1,2,f\n";
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("wieght");
    refuse(text, &o, KARMA_ERR_DATA, "no column 'wieght'; did you mean 'weight'?");
    o.target = (karma_names)NAMES("colour");
    refuse(text, &o, KARMA_ERR_DATA, "no column 'colour'; the columns are 'height', 'weight', 'sex'");
    o.target = (karma_names){0};
    o.ignore = (karma_names)NAMES("Sex");
    refuse(text, &o, KARMA_ERR_DATA, "no column 'Sex'; did you mean 'sex'?");
}

static void test_contradictions(void **state) {
    (void)state;
    const char *text = "a,b\n1,2\n";
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("a");
    o.id = (karma_names)NAMES("a");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'a' cannot be both option 'target' and option 'id'");
    o.target = (karma_names){0};
    o.ignore = (karma_names)NAMES("a");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'a' cannot be both option 'id' and option 'ignore'");
    o = read_defaults();
    o.numeric = (karma_names)NAMES("b");
    o.category = (karma_names)NAMES("a", "b");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'b' cannot be both option 'numeric' and option 'category'");
    o.target = (karma_names)NAMES("b");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'b' cannot be both option 'numeric' and option 'category'");
    o.category.count = 1;
    check_names(text, &o, "a");
}

/* Target names joined by commas, in the order of the table. */
static const char *targets_of(const reading *r, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < karma_table_n_targets(r->table) && used < size; k++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", k ? "|" : "", karma_table_target_name(r->table, k));
    return text;
}

static void check_targets(const char *text, karma_names target, const char *targets, const char *attributes) {
    karma_read_options o = read_defaults();
    o.target = target;
    reading r;
    char joined[256];
    read_text(&r, text, &o);
    assert_read(&r);
    assert_string_equal(targets_of(&r, joined, sizeof joined), targets);
    assert_string_equal(names_of(&r, joined, sizeof joined), attributes);
    reading_clear(&r);
}

static void test_several_targets(void **state) {
    (void)state;
    const char *text = "a,b,c,d\n1,2,3,4\n";
    check_targets(text, (karma_names)NAMES("b,d"), "b|d", "a,c");
    check_targets(text, (karma_names)NAMES("d", "b"), "d|b", "a,c"); /* in the order of the option, not of the file */
    check_targets(text, (karma_names)NAMES("d,a", "b"), "d|a|b", "c");
    const char *commas = "\"a,b\",a,b,\"c,\"\n1,2,3,4\n";
    check_targets(commas, (karma_names)NAMES("a,b"), "a,b", "a,b,c,"); /* a whole column name comes first */
    check_targets(commas, (karma_names)NAMES("b,a", "a,b"), "b|a|a,b", "c,");
    check_targets(commas, (karma_names)NAMES("c,"), "c,", "a,b,a,b");
}

static void test_several_targets_are_read(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("kind,size");
    o.numeric = (karma_names)NAMES("size");
    reading r;
    double value;
    read_text(&r, "size,x,kind\n1.5,7,tree\n,8,bush\n3,9,NA\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_n_targets(r.table), 2);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_target_kind(r.table, 1), KARMA_COLUMN_NUMBER);
    assert_string_equal(karma_table_class(r.table, 0, 1), "tree");
    assert_true(karma_table_target(r.table, 0, 0, &value) && value == 1.0);
    assert_true(karma_table_target(r.table, 0, 1, &value) && value == 0.0);
    assert_false(karma_table_target(r.table, 0, 2, &value));
    assert_true(karma_table_target(r.table, 1, 0, &value) && value == 1.5);
    assert_false(karma_table_target(r.table, 1, 1, &value)); /* a label is not kept for the next row */
    assert_true(karma_table_target(r.table, 1, 2, &value) && value == 3.0);
    reading_clear(&r);
}

static void test_bad_targets(void **state) {
    (void)state;
    const char *text = "height,weight,sex\n1,2,f\n";
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("sex,wieght");
    refuse(text, &o, KARMA_ERR_DATA, "no column 'wieght'; did you mean 'weight'?");
    o.target = (karma_names)NAMES("sex,");
    refuse(text, &o, KARMA_ERR_DATA, "no column ''; the columns are 'height', 'weight', 'sex'");
    o.target = (karma_names)NAMES("sex,weight,sex");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'sex' is named twice by option 'target'");
    o.target = (karma_names)NAMES("sex", "sex");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'sex' is named twice by option 'target'");
    o.target = (karma_names)NAMES("sex,weight");
    o.id = (karma_names)NAMES("weight");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'weight' cannot be both option 'target' and option 'id'");
    o.id = (karma_names){0};
    o.ignore = (karma_names)NAMES("sex");
    refuse(text, &o, KARMA_ERR_OPTION, "column 'sex' cannot be both option 'target' and option 'ignore'");
    o.ignore = (karma_names){0};
    o.row_weight = "weight";
    refuse(text, &o, KARMA_ERR_OPTION, "column 'weight' cannot be both option 'target' and option 'row-weight'");
}

static void test_row_weights(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.row_weight = "w";
    o.target = (karma_names)NAMES("y");
    reading r;
    char names[64];
    read_text(&r, "a,w,y\n1,0,u\n2,2.5,v\n3,1e3,\n", &o);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "a");
    assert_string_equal(karma_table_weight_name(r.table), "w");
    assert_true(karma_table_row_weight(r.table, 0) == 0.0 && karma_table_row_weight(r.table, 1) == 2.5 &&
                karma_table_row_weight(r.table, 2) == 1000.0);
    reading_clear(&r);
}

static void test_bad_row_weights(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.row_weight = "w";
    refuse("a,w\n1,1\n2,\n", &o, KARMA_ERR_DATA, "line 3, column 'w': the row weight is missing");
    refuse("a,w\n1,NA\n", &o, KARMA_ERR_DATA, "line 2, column 'w': the row weight is missing");
    refuse("a,w\n1,1\n2,-0.5\n", &o, KARMA_ERR_DATA,
           "line 3, column 'w': '-0.5' is not a row weight, 0 or a number from 1e-100 to 1e100");
    refuse("a,w\n1,inf\n", &o, KARMA_ERR_DATA,
           "line 2, column 'w': 'inf' is not a row weight, 0 or a number from 1e-100 to 1e100");
    refuse("a,w\n1,1e999\n", &o, KARMA_ERR_DATA,
           "line 2, column 'w': '1e999' is not a row weight, 0 or a number from 1e-100 to 1e100");
    refuse("a,w\n1,much\n", &o, KARMA_ERR_DATA,
           "line 2, column 'w': 'much' is not a row weight, 0 or a number from 1e-100 to 1e100");
    refuse("a,w\n1,0\n2,0.0\n", &o, KARMA_ERR_DATA, "column 'w': all row weights are 0");
    refuse("w,a\n-1,1,2\n", &o, KARMA_ERR_FORMAT,
           /* its message explains more */
           "line 2: 3 fields, header has 2; if every line starts with the name of its row, as R writes tables, give "
           "these names a "
           "column in the header; otherwise a text that contains the delimiter must be in double quotes");
    refuse("a,weight\n1,2\n", &o, KARMA_ERR_DATA, "no column 'w'; the columns are 'a', 'weight'");
    o.row_weight = "wieght";
    refuse("a,weight\n1,2\n", &o, KARMA_ERR_DATA, "no column 'wieght'; did you mean 'weight'?");
    o.row_weight = "a";
    o.id = (karma_names)NAMES("a");
    refuse("a,b\n1,2\n", &o, KARMA_ERR_OPTION, "column 'a' cannot be both option 'row-weight' and option 'id'");
    o.id = (karma_names){0};
    o.category = (karma_names)NAMES("a");
    refuse("a,b\n1,2\n", &o, KARMA_ERR_OPTION, "column 'a' cannot be both option 'row-weight' and option 'category'");
}

static void test_target_levels(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    reading r;
    read_text(&r, "a,y\n1,+1\n2,-1\n3,01\n4,?\n5,-1\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_n_classes(r.table, 0), 3);
    assert_string_equal(karma_table_class(r.table, 0, 0), "+1");
    assert_string_equal(karma_table_class(r.table, 0, 1), "-1");
    assert_string_equal(karma_table_class(r.table, 0, 2), "01");
    assert_true(target_of(&r, 2) == 1.0 && isnan(target_of(&r, 3)) && target_of(&r, 4) == -1.0);
    reading_clear(&r);
    o.category = (karma_names)NAMES("y");
    read_text(&r, "a,y\n1,2\n2,1\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_true(target_of(&r, 0) == 1.0 && target_of(&r, 1) == 0.0);
    reading_clear(&r);
}

/* `n` rows with the label 1, 2, ..., and one more with the label `last`. */
static void read_labels(reading *r, size_t n, const char *last) {
    size_t used = 0, size = 20 * n + 100;
    char *text = malloc(size);
    assert_non_null(text);
    used += (size_t)snprintf(text, size, "a,y\n");
    for (size_t i = 0; i < n; i++) used += (size_t)snprintf(text + used, size - used, "0,%zu\n", i + 1);
    (void)snprintf(text + used, size - used, "0,%s\n", last);
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    read_text(r, text, &o);
    free(text);
    assert_read(r);
}

static void test_many_target_levels(void **state) {
    (void)state;
    reading r;
    read_labels(&r, 1000, "1");
    assert_int_equal(karma_table_n_classes(r.table, 0), 1000);
    reading_clear(&r);
    read_labels(&r, 1000, "1001");
    assert_int_equal(karma_table_n_classes(r.table, 0), 0);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_true(target_of(&r, 1000) == 1001.0);
    reading_clear(&r);
    read_labels(&r, 2000, "word"); /* numbers were no longer collected when the word was read */
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_n_classes(r.table, 0), 2001);
    assert_string_equal(karma_table_class(r.table, 0, (size_t)target_of(&r, 1999)), "2000");
    assert_int_equal(r.n_notices, 1);
    reading_clear(&r);
}

static void test_notice(void **state) {
    (void)state;
    reading r;
    read_text(&r, "a,b\n1,1\nlow,2\nhigh,3\nlow,4\nmid,5\nx,6\n", NULL); /* one number in six is enough */
    assert_read(&r);
    assert_int_equal(r.n_notices, 1);
    assert_non_null(strstr(r.notice, "table.csv: column 'a' is read as categories: 5 cells are texts"));
    assert_non_null(strstr(r.notice, "('low', 'high', 'mid', ...), but 1 is a number"));
    assert_non_null(strstr(r.notice, "option 'category' 'a'"));
    reading_clear(&r);
    karma_read_options o = read_defaults();
    o.category = (karma_names)NAMES("a");
    read_text(&r, "a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n-\n", &o);
    assert_read(&r);
    assert_int_equal(r.n_notices, 0); /* as requested */
    reading_clear(&r);
}

/* Spreadsheets of many countries: semicolons between fields, decimal commas. */
static void test_decimal_commas(void **state) {
    (void)state;
    reading r;
    read_text(&r, "a;b;c\n0,5;1.234,5;x\n-3,25;7;y\n", NULL);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 0) == 0.5 && cell_of(&r, 1, 0) == -3.25 && cell_of(&r, 0, 1) == 1234.5);
    assert_int_equal(r.n_notices, 1);
    assert_non_null(strstr(r.notice, "decimal commas"));
    reading_clear(&r);
    karma_read_options o = read_defaults();
    o.decimal = KARMA_DECIMAL_POINT;
    read_text(&r, "a;b\n0,5;1\n1,25;2\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    reading_clear(&r);
    read_text(&r, "a;b\n0.5;1\n1.25;2\n", NULL); /* decimal points are still read */
    assert_read(&r);
    assert_true(cell_of(&r, 1, 0) == 1.25);
    assert_int_equal(r.n_notices, 0);
    reading_clear(&r);
    read_text(&r, "a,b\n\"1,234\",1\n\"12,345.5\",2\n", NULL); /* groups of thousands, if commas are not delimiters */
    assert_read(&r);
    assert_true(cell_of(&r, 0, 0) == 1234.0 && cell_of(&r, 1, 0) == 12345.5);
    reading_clear(&r);
}

static void test_bounds_are_numbers_among_numbers(void **state) {
    (void)state;
    reading r;
    read_text(&r, "a,b\n>100,<50\n7,>=50\n8,<50\n", NULL);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 0) == 100.0);
    assert_int_equal(karma_table_attribute_kind(r.table, 1), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_n_levels(r.table, 1), 2);
    reading_clear(&r);
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    read_text(&r, "a,y\n1,<50\n2,60\n3,70\n", &o); /* a label is never a bound */
    assert_read(&r);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    reading_clear(&r);
}

static void test_dates(void **state) {
    (void)state;
    reading r;
    char names[128];
    read_text(&r, "d,t,n\n1970-01-02,08:30,1\n,09:00,2\n2024-02-29,,3\n", NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "d.year,d.month,d.weekday,d.days,t.hour,n");
    assert_true(cell_of(&r, 0, 0) == 1970.0 && cell_of(&r, 0, 2) == 5.0 && cell_of(&r, 0, 3) == 1.0);
    assert_true(isnan(cell_of(&r, 1, 0)) && cell_of(&r, 1, 4) == 9.0 && cell_of(&r, 2, 1) == 2.0);
    reading_clear(&r);
    read_text(&r, "d\n3/1/2024\n13/1/2024\n", NULL); /* one cell determines the order */
    assert_read(&r);
    assert_true(cell_of(&r, 0, 1) == 1.0);
    reading_clear(&r);
    read_text(&r, "d\n3/1/2024\n4/2/2024\n", NULL);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 1) == 3.0);
    assert_non_null(strstr(r.notice, "the month first (see option 'date-order')"));
    reading_clear(&r);
    karma_read_options o = read_defaults();
    o.date_order = KARMA_DATE_ORDER_DAY;
    read_text(&r, "d\n3/1/2024\n4/2/2024\n", &o);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 1) == 1.0);
    reading_clear(&r);
    o.dates = 0;
    read_text(&r, "d\n3/1/2024\n4/2/2024\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    reading_clear(&r);
    refuse("d,d.year\n2024-01-01,1\n", NULL, KARMA_ERR_DATA,
           "dates in column 'd' would make a column 'd.year', which already exists: use option 'ignore' for one of "
           "them, or option 'dates=off'");
}

/* A model that was learned from dates reads dates again, even if a few cells are something else. */
static void test_expected_dates(void **state) {
    (void)state;
    karma_i_column columns[] = {{.name = "d.month", .kind = KARMA_COLUMN_NUMBER},
                                {.name = "d.days", .kind = KARMA_COLUMN_NUMBER}};
    karma_i_expectation e = {columns, 2, NULL, 0, NULL};
    reading r;
    char names[64];
    read_bytes(&r, ".csv", "d\n1970-02-01\nsoon\n", 18, NULL, &e);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "d.month,d.days");
    assert_true(cell_of(&r, 0, 1) == 31.0 && isnan(cell_of(&r, 1, 1)));
    assert_non_null(strstr(r.notice, "1 cell that is not a date"));
    reading_clear(&r);
}

/* 2^53 + 1 is not a double: as numbers the two labels would be one class. */
static void test_large_labels_stay_apart(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    reading r;
    read_text(&r, "a,y\n1,9007199254740993\n2,9007199254740992\n3,9007199254740994\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_n_classes(r.table, 0), 3);
    reading_clear(&r);
}

static void test_expectation(void **state) {
    (void)state;
    karma_i_column columns[] = {{.name = "n", .kind = KARMA_COLUMN_NUMBER},
                                {.name = "c", .kind = KARMA_COLUMN_CATEGORY},
                                {.name = "absent", .kind = KARMA_COLUMN_CATEGORY}};
    karma_i_expectation e = {columns, 3, (const char *[]){"y"}, 1, NULL};
    reading r;
    char names[64];
    read_bytes(&r, ".csv", "y,c,n,z\n1,2,3,4\n", 16, NULL, &e);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "c,n,z");
    assert_string_equal(karma_table_target_name(r.table, 0), "y");
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_attribute_kind(r.table, 2), KARMA_COLUMN_NUMBER);
    reading_clear(&r);
    read_bytes(&r, ".csv", "c,n\n1,2\n3,x\n", 12, NULL, &e); /* a text among the model's numbers is missing */
    assert_read(&r);
    assert_true(cell_of(&r, 0, 1) == 2.0 && isnan(cell_of(&r, 1, 1)));
    assert_int_equal(r.n_notices, 1);
    assert_non_null(strstr(r.notice, "column 'n' has 1 cell that is not a number ('x'), read as missing"));
    reading_clear(&r);
    karma_read_options strict = read_defaults();
    strict.strict = 1;
    read_bytes(&r, ".csv", "c,n\n1,2\n3,x\n", 12, &strict, &e);
    assert_refused(&r, KARMA_ERR_DATA, "line 3, column 'n': 'x' is not a number");
    karma_read_options o = read_defaults();
    o.category = (karma_names)NAMES("n");
    o.numeric = (karma_names)NAMES("c");
    o.ignore = (karma_names)NAMES("y");
    read_bytes(&r, ".csv", "y,c,n\n1,2,3\n", 12, &o, &e); /* the options win */
    assert_read(&r);
    assert_int_equal(karma_table_n_targets(r.table), 0);
    assert_int_equal(karma_table_attribute_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    assert_int_equal(karma_table_attribute_kind(r.table, 1), KARMA_COLUMN_CATEGORY);
    reading_clear(&r);
    o = read_defaults();
    o.target = (karma_names)NAMES("c");
    read_bytes(&r, ".csv", "y,c,n\n1,2,3\n", 12, &o, &e);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "y,n");
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_NUMBER);
    reading_clear(&r);
}

static void test_expected_targets(void **state) {
    (void)state;
    karma_i_column columns[] = {{.name = "n", .kind = KARMA_COLUMN_NUMBER}};
    karma_i_expectation e = {columns, 1, (const char *[]){"z", "absent", "y"}, 3, NULL};
    const char text[] = "y,n,z,w\n1,2,3,4\n";
    reading r;
    char names[64];
    read_bytes(&r, ".csv", text, sizeof text - 1, NULL, &e);
    assert_read(&r);
    assert_string_equal(targets_of(&r, names, sizeof names), "z|y"); /* in the expected order, not that of the file */
    assert_string_equal(names_of(&r, names, sizeof names), "n,w");
    assert_true(target_of(&r, 0) == 3.0);
    assert_null(karma_table_weight_name(r.table));
    reading_clear(&r);
    karma_read_options o = read_defaults();
    o.row_weight = "z"; /* the options win */
    read_bytes(&r, ".csv", text, sizeof text - 1, &o, &e);
    assert_read(&r);
    assert_string_equal(targets_of(&r, names, sizeof names), "y");
    assert_true(karma_table_row_weight(r.table, 0) == 3.0);
    reading_clear(&r);
    o.row_weight = "v"; /* it was asked for, so it is required */
    read_bytes(&r, ".csv", text, sizeof text - 1, &o, &e);
    assert_refused(&r, KARMA_ERR_DATA, "no column 'v'; the columns are 'y', 'n', 'z', 'w'");
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const words[] = {"target", "age", "income", "AGE"};
    assert_string_equal(karma_nearest_word("taregt", words, 4), "target");
    assert_string_equal(karma_nearest_word("incom", words, 4), "income");
    assert_string_equal(karma_nearest_word("ages", words, 4), "age");
    assert_string_equal(karma_nearest_word("Age", words, 4), "age");
    assert_null(karma_nearest_word("x", words, 4));
    assert_null(karma_nearest_word("", words, 4));
    assert_null(karma_nearest_word("colour", words, 4));
    char lengthy[200] = {0};
    memset(lengthy, 'a', sizeof lengthy - 1);
    const char *const same[] = {lengthy};
    assert_null(karma_nearest_word(lengthy, same, 1));
}

/* --- sources ------------------------------------------------------------------------------------------- */

static void test_files(void **state) {
    (void)state;
    karma_table *table = NULL;
    karma_error err;
    temp_file file;
    temp_create(&file, ".csv", "a\n1\n", 4);
    assert_int_equal(karma_table_read(&table, file.directory, NULL, NULL, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, ": is a directory, not a file"));
    assert_int_equal(karma_table_read(&table, file.path, NULL, NULL, NULL), KARMA_OK);
    karma_table_free(table);
    table = NULL;
    assert_non_null(freopen(file.path, "rb", stdin));
    assert_int_equal(karma_table_read(&table, "-", NULL, NULL, &err), KARMA_OK);
    karma_table_free(table);
    table = NULL;
    assert_int_equal(karma_table_read(&table, "-", NULL, NULL, &err), KARMA_ERR_DATA);
    assert_string_equal(err.message, "standard input: the file is empty");
    temp_remove(&file);
    assert_int_equal(karma_table_read(&table, file.path, NULL, NULL, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "/table.csv: there is no such file"));
    assert_int_equal(karma_table_read(&table, file.path, NULL, NULL, NULL), KARMA_ERR_IO);
    assert_null(table);
}

/* The bytes of `text` compressed by gzip; the caller frees them. */
static char *packed(const char *text, size_t *length) {
    temp_file file;
    temp_create_gzip(&file, ".gz", text, strlen(text));
    FILE *stream = fopen(file.path, "rb");
    char *bytes = malloc(4096);
    assert_true(stream && bytes);
    *length = fread(bytes, 1, 4096, stream);
    (void)fclose(stream);
    temp_remove(&file);
    return bytes;
}

static void test_gzip(void **state) {
    (void)state;
    size_t n_first, n_second;
    char *first = packed("a,b\n1,2\n", &n_first), *second = packed("3,4\n", &n_second);
    char bytes[1024] = {0};
    memcpy(bytes, first, n_first);
    memcpy(bytes + n_first, second, n_second);
    size_t n = n_first + n_second;
    reading r;
    for (size_t padding = 0; padding <= 16; padding += 16) { /* two members, and zeros after them */
        read_bytes(&r, ".csv.gz", bytes, n + padding, NULL, NULL);
        assert_read(&r);
        assert_int_equal(karma_table_n_rows(r.table), 2);
        assert_true(cell_of(&r, 1, 1) == 4.0);
        reading_clear(&r);
    }
    for (size_t cut = 2; cut < n; cut++) { /* at the end of a member the file is complete */
        read_bytes(&r, ".csv", bytes, cut, NULL, NULL);
        if (cut == n_first)
            assert_read(&r);
        else
            assert_int_equal(r.status, KARMA_ERR_FORMAT);
        if (cut == n - 1) assert_refused(&r, KARMA_ERR_FORMAT, "the gzip data end too early; the file is cut short");
        reading_clear(&r);
    }
    memset(bytes + n, 0x7f, 4); /* no padding */
    read_bytes(&r, ".csv.gz", bytes, n + 4, NULL, NULL);
    assert_refused(&r, KARMA_ERR_FORMAT, "there is more after the end of the gzip data");
    bytes[n_first - 6] ^= 1; /* the check sum */
    read_bytes(&r, ".csv.gz", bytes, n, NULL, NULL);
    assert_refused(&r, KARMA_ERR_FORMAT, "the gzip data are damaged (incorrect data check)");
    free(first);
    free(second);
    first = packed("", &n_first);
    read_bytes(&r, ".csv.gz", first, n_first, NULL, NULL);
    assert_refused(&r, KARMA_ERR_DATA, "the file is empty");
    free(first);
}

static void test_wide(void **state) {
    (void)state;
    enum { N = 50000 };
    size_t size = N * 16, used = 0;
    char *text = malloc(size);
    karma_i_column *columns = calloc(N, sizeof *columns);
    assert_true(text && columns);
    for (size_t j = 0; j < N; j++) {
        char name[16];
        (void)snprintf(name, sizeof name, "x%zu", j);
        columns[j].name = strdup(name);
        columns[j].kind = j % 2 ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER;
        used += (size_t)snprintf(text + used, size - used, "%s%s", j ? "," : "", name);
    }
    text[used++] = '\n';
    for (size_t j = 0; j < N; j++) used += (size_t)snprintf(text + used, size - used, "%s%zu", j ? "," : "", j % 7);
    reading r;
    karma_i_expectation e = {.columns = columns, .n_columns = N};
    read_bytes(&r, ".csv", text, used, NULL, &e);
    assert_read(&r);
    assert_int_equal(karma_table_n_attributes(r.table), N);
    assert_int_equal(karma_table_n_observed(r.table), N);
    assert_int_equal(karma_table_attribute_kind(r.table, N - 1), KARMA_COLUMN_CATEGORY);
    assert_string_equal(karma_table_attribute_name(r.table, N - 1), "x49999");
    reading_clear(&r);
    for (size_t j = 0; j < N; j++) free(columns[j].name);
    free(columns);
    free(text);
}

static void test_many_levels(void **state) {
    (void)state;
    enum { N = 30000 };
    size_t size = N * 16, used = 0;
    char *text = malloc(size);
    assert_non_null(text);
    used += (size_t)snprintf(text, size, "a\n");
    for (size_t i = 0; i < N; i++) used += (size_t)snprintf(text + used, size - used, "level%zu\n", i * 7919 % N);
    reading r;
    read_bytes(&r, ".csv", text, used, NULL, NULL);
    assert_read(&r);
    assert_int_equal(karma_table_n_levels(r.table, 0), N);
    for (size_t i = 0; i < N; i++) {
        char expected[16];
        (void)snprintf(expected, sizeof expected, "level%zu", i * 7919 % N);
        assert_string_equal(level_of(&r, i, 0), expected);
    }
    reading_clear(&r);
    free(text);
}

/* --- writing ------------------------------------------------------------------------------------------- */

/* The table as CSV text; the caller frees it. */
static char *written(const karma_table *table) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    assert_int_equal(karma_table_write_csv(table, stream, NULL), KARMA_OK);
    (void)fclose(stream);
    return text;
}

/* What was written is read and written again as the same text. */
static void reads_back(const char *text, const karma_read_options *options) {
    reading again;
    read_text(&again, text, options);
    assert_read(&again);
    char *twice = written(again.table);
    assert_string_equal(twice, text);
    free(twice);
    reading_clear(&again);
}

static void test_write(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    o.id = (karma_names)NAMES("id");
    reading r;
    read_text(&r, "y,a,id,\"b,c\"\nu,0.10,k 1,\" x\"\n?,,\"k\"\"2\",\"p;q\"\nv,1e-07,,\"n\nl\"\n", &o);
    assert_read(&r);
    char *text = written(r.table);
    assert_string_equal(text, "id,a,\"b,c\",y\nk 1,0.1,\" x\",u\n\"k\"\"2\",,\"p;q\",\n,1e-07,\"n\nl\",v\n");
    reads_back(text, &o);
    free(text);
    reading_clear(&r);
}

static void test_write_targets_and_weights(void **state) {
    (void)state;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y,z");
    o.row_weight = "n, times";
    reading r;
    read_text(&r, "z,\"n, times\",y,a\n1.50,2,u,1\n,0.25,v,\n3,0,,2\n", &o);
    assert_read(&r);
    char *text = written(r.table);
    assert_string_equal(text, "a,y,z,\"n, times\"\n1,u,1.5,2\n,v,,0.25\n2,,3,0\n");
    reads_back(text, &o);
    free(text);
    reading_clear(&r);
}

static void test_write_one_column(void **state) {
    (void)state;
    reading r;
    read_text(&r, "a\n1\n\n2\n\n", NULL);
    assert_read(&r);
    char *text = written(r.table);
    assert_string_equal(text, "a\n1\n\"\"\n2\n\"\"\n");
    reading again;
    read_text(&again, text, NULL);
    assert_read(&again);
    assert_int_equal(karma_table_n_rows(again.table), 4);
    assert_int_equal(karma_table_n_observed(again.table), 2);
    free(text);
    reading_clear(&r);
    reading_clear(&again);
}

static void test_write_error(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "wb");
    if (!full) skip();
    reading r;
    karma_error err;
    read_text(&r, "a\n1\n", NULL);
    assert_read(&r);
    assert_int_equal(karma_table_write_csv(r.table, full, &err), KARMA_ERR_IO);
    assert_non_null(strstr(err.message, "cannot write"));
    (void)fclose(full);
    reading_clear(&r);
}

/* --- hostile input ------------------------------------------------------------------------------------- */

/* Bytes with a meaning for the reader are tried more often than others. */
static char mutant(karma_i_rng *rng) {
    static const char liked[] = ",;|\t\"\r\n \0"
                                "0-.eNinf?\xc3\xff";
    if (karma_i_rng_below(rng, 4) == 0) return (char)karma_i_rng_below(rng, 256);
    return liked[karma_i_rng_below(rng, sizeof liked - 1)];
}

static void test_mutations(void **state) {
    (void)state;
    static const char valid[] = "id,a,b,\"c d\",w,y\n1,2.5,x,\"p \"\"q\"\"\",1,u\n2,,y,\"r\ns\",2,v\n3,1e3,NA,t,0,u\n";
    enum { ROUNDS = 5000 };
    karma_read_options plain = read_defaults(), roles = read_defaults();
    roles.target = (karma_names)NAMES("y");
    roles.id = (karma_names)NAMES("id");
    roles.numeric = (karma_names)NAMES("a");
    roles.row_weight = "w";
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    size_t n_read = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        char bytes[sizeof valid];
        memcpy(bytes, valid, sizeof valid);
        for (size_t n = 1 + karma_i_rng_below(&rng, 4); n > 0; n--)
            bytes[karma_i_rng_below(&rng, sizeof valid - 1)] = mutant(&rng);
        size_t length = karma_i_rng_below(&rng, 4) ? sizeof valid - 1 : karma_i_rng_below(&rng, sizeof valid);
        reading r;
        read_bytes(&r, ".csv", bytes, length, round % 2 ? &plain : &roles, NULL);
        n_read += r.status == KARMA_OK;
        if (r.status != KARMA_OK) assert_non_null(strstr(r.err.message, "table.csv: "));
        if (r.table) free(written(r.table));
        reading_clear(&r);
    }
    assert_true(n_read > ROUNDS / 10 && n_read < ROUNDS);
}

/* A text of any length, of letters or of characters of several bytes, is cut to whole characters in its buffer. */
static void test_excerpts_stay_in_their_buffer(void **state) {
    (void)state;
    static const char *const letters[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    char text[4 * 80], out[2 * KARMA_I_EXCERPT_SIZE];
    for (size_t size = 1; size <= 4; size++)
        for (size_t n = 0; n <= 80; n++) {
            size_t length = n * size, kept = (KARMA_I_EXCERPT_SIZE - 4) / size * size;
            for (size_t i = 0; i < n; i++) memcpy(text + i * size, letters[size - 1], size);
            memset(out, 'z', sizeof out);
            (void)karma_i_excerpt(out, text, length);
            int is_cut = length >= KARMA_I_EXCERPT_SIZE;
            assert_int_equal(strlen(out), is_cut ? kept + 3 : length);
            assert_memory_equal(out, text, is_cut ? kept : length);
            if (is_cut) assert_string_equal(out + kept, "...");
            for (size_t i = KARMA_I_EXCERPT_SIZE; i < sizeof out; i++) assert_int_equal(out[i], 'z');
        }
}

/* A text without lines, and one with a line of half a GB now and then. */
typedef struct endless_text {
    size_t line, written; /* a line ends after so many bytes; 0: never */
} endless_text;

static karma_status write_text(void *self, size_t *got, char *to, size_t room, karma_error *err) {
    endless_text *t = self;
    (void)err;
    memset(to, 'x', room);
    if (t->line && t->written / t->line != (t->written + room) / t->line) to[0] = '\n';
    t->written += room;
    *got = room;
    return KARMA_OK;
}

/* The text that was passed is forgotten, but not how long its line is: so this takes little memory. */
static void test_lines_of_a_gigabyte(void **state) {
    (void)state;
    enum { STEP = 1 << 24 };
    const size_t gigabyte = (size_t)1 << 30;
    for (int has_lines = 0; has_lines < 2; has_lines++) {
        endless_text text = {has_lines ? gigabyte / 2 : 0, 0};
        karma_i_feed *feed = NULL;
        karma_error err = {0};
        karma_status st =
            karma_i_feed_open_supply(&feed, "endless", (karma_i_supply){.read = write_text, .self = &text}, &err);
        while (st == KARMA_OK && text.written < gigabyte + 8 * (size_t)STEP) {
            size_t length = 0;
            st = karma_i_feed_fill(feed, STEP, 1, &err);
            if (st == KARMA_OK) (void)karma_i_feed_text(feed, &length);
            karma_i_feed_pass(feed, length);
        }
        assert_int_equal(st, has_lines ? KARMA_OK : KARMA_ERR_FORMAT);
        if (!has_lines) assert_string_equal(err.message, "endless: a line is longer than 1 GB: it is not a table");
        if (!has_lines) assert_in_range(text.written, gigabyte, gigabyte + 4 * (size_t)STEP);
        karma_i_feed_close(feed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_bad_quotes),
        cmocka_unit_test(test_missing_tokens),
        cmocka_unit_test(test_delimiters),
        cmocka_unit_test(test_names_by_ending),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_levels_are_sorted),
        cmocka_unit_test(test_forced_kinds),
        cmocka_unit_test(test_infinities),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_unknown_columns),
        cmocka_unit_test(test_contradictions),
        cmocka_unit_test(test_several_targets),
        cmocka_unit_test(test_several_targets_are_read),
        cmocka_unit_test(test_bad_targets),
        cmocka_unit_test(test_row_weights),
        cmocka_unit_test(test_bad_row_weights),
        cmocka_unit_test(test_target_levels),
        cmocka_unit_test(test_many_target_levels),
        cmocka_unit_test(test_notice),
        cmocka_unit_test(test_decimal_commas),
        cmocka_unit_test(test_bounds_are_numbers_among_numbers),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_expected_dates),
        cmocka_unit_test(test_large_labels_stay_apart),
        cmocka_unit_test(test_expectation),
        cmocka_unit_test(test_expected_targets),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_many_levels),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_write_targets_and_weights),
        cmocka_unit_test(test_write_one_column),
        cmocka_unit_test(test_write_error),
        cmocka_unit_test(test_excerpts_stay_in_their_buffer),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_lines_of_a_gigabyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
