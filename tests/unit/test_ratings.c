/* Reading ratings, with and without a file of users. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "readcase.h"

static karma_read_options rating_options(void) {
    karma_read_options o = read_defaults();
    o.format = KARMA_FORMAT_RATINGS;
    return o;
}

static karma_read_options liking(char *item, double threshold) {
    karma_read_options o = rating_options();
    o.item = item;
    o.like = threshold;
    return o;
}

/* `options` NULL: only the format. */
static void read_text(reading *r, const char *text, const karma_read_options *options) {
    karma_read_options o = options ? *options : rating_options();
    read_bytes(r, ".csv", text, strlen(text), &o, NULL);
}

/* With a file of users, whose path is left in `path` if that is not NULL. */
static void read_both(reading *r, const char *ratings, const char *users, const karma_read_options *options,
                      const karma_i_expectation *expectation, char path[320]) {
    karma_read_options o = options ? *options : rating_options();
    temp_file file;
    temp_create(&file, "-users.csv", users, strlen(users));
    o.users = file.path;
    read_bytes(r, ".csv", ratings, strlen(ratings), &o, expectation);
    temp_remove(&file);
    if (path) memcpy(path, file.path, sizeof file.path);
}

static void refuse(const char *text, const karma_read_options *options, karma_status status, const char *sentence) {
    reading r;
    read_text(&r, text, options);
    assert_refused(&r, status, sentence);
}

/* The message is about the file of users; %s stands for the path of the ratings. */
static void refuse_users(const char *ratings, const char *users, const karma_read_options *options, karma_status status,
                         const char *before, const char *after) {
    reading r;
    char path[320], whole[900];
    read_both(&r, ratings, users, options, NULL, path);
    (void)snprintf(whole, sizeof whole, "%s: %s%s%s", path, before, after ? r.path : "", after ? after : "");
    assert_string_equal(r.err.message, whole);
    assert_int_equal(r.status, status);
}

static const char *id_of(const reading *r, size_t row) {
    return karma_table_id(r->table, 0, row);
}

static void check_items(const char *text, const karma_read_options *options, const char *names) {
    reading r;
    char joined[256];
    read_text(&r, text, options);
    assert_read(&r);
    assert_string_equal(names_of(&r, joined, sizeof joined), names);
    reading_clear(&r);
}

static const char sample[] = "viewer,film,stars,when\n7,20,4,x\n7,3,5,y\n2,100,NA,z\n9,3,1.5,\n7,100,-2,\n";
static const char people[] = "id,sex,age\n9,f,30\n1,m,\n7,m,50\n";

/* --- ratings alone ------------------------------------------------------------------------------------- */

static void test_simple(void **state) {
    (void)state;
    reading r;
    char names[64];
    read_text(&r, sample, NULL);
    assert_read(&r);
    assert_int_equal(r.n_notices, 0);
    assert_int_equal(karma_table_n_rows(r.table), 3);
    assert_string_equal(names_of(&r, names, sizeof names), "3,20,100");
    assert_int_equal(karma_table_n_observed(r.table), 4);
    assert_true(cell_of(&r, 0, 0) == 5.0 && cell_of(&r, 0, 1) == 4.0 && cell_of(&r, 0, 2) == -2.0);
    assert_true(isnan(cell_of(&r, 1, 2)) && cell_of(&r, 2, 0) == 1.5);
    assert_int_equal(karma_table_n_ids(r.table), 1);
    assert_string_equal(karma_table_id_name(r.table, 0), "viewer");
    assert_string_equal(id_of(&r, 0), "7");
    assert_string_equal(id_of(&r, 1), "2");
    assert_string_equal(id_of(&r, 2), "9");
    assert_int_equal(karma_table_n_targets(r.table), 0);
    reading_clear(&r);
}

static void test_order_of_items(void **state) {
    (void)state;
    check_items("u,i,r\n1,10,1\n1,9,1\n2,-1,1\n2,9.5,1\n", NULL, "-1,9,9.5,10");
    check_items("u,i,r\n1,1,1\n1,01,1\n2,0,1\n", NULL, "0,01,1");
    check_items("u,i,r\n1,10,1\n1,9,1\n2,b,1\n2,B,1\n", NULL, "10,9,B,b");
    check_items("u,i,r\n1,\"b, \"\"c\"\"\",1\n1,é,1\n1,a,\n", NULL, "a,b, \"c\",é");
}

static void test_layouts(void **state) {
    (void)state;
    static const char *const texts[] = {"u,i,r\n1,a,5\n2,b,3\n",       "\xef\xbb\xbfu,i,r\r\n1,a,5\r\n\r\n2,b,3",
                                        "u\ti\tr\n1\ta\t5\n2\tb\t3",   "u|i|r|t\n1|a|5|9\n2|b|3|9\n",
                                        "u::i::r\n1::a::5\n2::b::3\n", "u;i;r\n\"1\";\"a\";\"5\"\n 2 ; b ; 3 \n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        reading r;
        read_text(&r, texts[i], NULL);
        assert_read(&r);
        assert_int_equal(karma_table_n_rows(r.table), 2);
        assert_true(cell_of(&r, 0, 0) == 5.0 && isnan(cell_of(&r, 0, 1)) && cell_of(&r, 1, 1) == 3.0);
        assert_string_equal(id_of(&r, 1), "2");
        reading_clear(&r);
    }
}

static void test_no_header(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.header = 0;
    reading r;
    char names[64];
    read_text(&r, "1::1193::5::978300760\n1::661::3::978302109\n2::661::3::978298413\n", &o);
    assert_read(&r);
    assert_int_equal(r.n_notices, 0);
    assert_int_equal(karma_table_n_rows(r.table), 2);
    assert_string_equal(names_of(&r, names, sizeof names), "661,1193");
    assert_string_equal(karma_table_id_name(r.table, 0), "user");
    reading_clear(&r);
    read_text(&r, "196\t242\t3\n186\t302\t3\n", NULL);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 1);
    assert_int_equal(r.n_notices, 1);
    assert_non_null(strstr(r.notice, "the first record is taken for the header, although it looks like a rating; if "
                                     "it is one set option 'header=off'"));
    reading_clear(&r);
    refuse("3\t5\t3\n1\t2\t3\n", NULL, KARMA_ERR_FORMAT,
           "line 1: columns 1 and 3 are both called '3'; if it is a row, set option 'header=off'");
}

static void test_gzip(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    temp_file file;
    reading r;
    temp_create_gzip(&file, ".csv.gz", sample, sizeof sample - 1);
    read_file(&r, &file, &o, NULL);
    temp_remove(&file);
    assert_read(&r);
    assert_int_equal(karma_table_n_observed(r.table), 4);
    reading_clear(&r);
}

static void test_repeated(void **state) {
    (void)state;
    reading r;
    read_text(&r, "u,i,r\n1,a,5\n2,a,1\n1,b,2\n1,a,4\n1,a,3\n2,a,\n", NULL);
    assert_read(&r);
    assert_true(cell_of(&r, 0, 0) == 3.0 && cell_of(&r, 0, 1) == 2.0 && isnan(cell_of(&r, 1, 0)));
    assert_int_equal(r.n_notices, 1);
    assert_non_null(strstr(
        r.notice, ": 3 ratings are followed by another of the same user for the same item; the last one is used"));
    reading_clear(&r);
    read_text(&r, "u,i,r\n1,a,5\n1,a,4\n", NULL);
    assert_read(&r);
    assert_non_null(strstr(r.notice, ": 1 rating is followed by another"));
    reading_clear(&r);
}

static void test_missing(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.missing = (karma_names)NAMES("99");
    reading r;
    read_text(&r, "u,i,r\n1,a,99\n1,NA,2\nNA,a,?\n", &o);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 2);
    assert_int_equal(karma_table_n_observed(r.table), 1);
    assert_string_equal(id_of(&r, 1), "NA"); /* an ID is a name, even if it looks like a number */
    reading_clear(&r);
}

static void test_ignore(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.ignore = (karma_names)NAMES("20");
    o.numeric = (karma_names)NAMES("3");
    check_items(sample, &o, "3,100");
}

static void test_bad_ratings(void **state) {
    (void)state;
    refuse("u,i,r\n1,a,5\n1,b,good\n", NULL, KARMA_ERR_DATA, "line 3, column 'r': 'good' is not a number");
    refuse("u,i,r\n1,a,inf\n", NULL, KARMA_ERR_DATA,
           "line 2, column 'r': 'inf' is not a finite number; if it stands for a missing value, use option 'missing' "
           "'inf'");
    refuse("u,i,r\n1,a,good,9\n", NULL, KARMA_ERR_FORMAT,
           "line 2: 4 fields, header has 3; if every line starts with the name of its row, as R writes tables, give "
           "these names a "
           "column in the header; otherwise a text that contains the delimiter must be in double quotes");
    refuse("u,i,r\n1,a\n", NULL, KARMA_ERR_FORMAT,
           "line 2: 2 fields, header has 3; if the line is not a row of the table, remove it");
    refuse("u,i,r\n,a,1\n", NULL, KARMA_ERR_DATA, "line 2, column 'u': an ID is missing");
    refuse("u,i,r\n1,\"\",1\n", NULL, KARMA_ERR_DATA, "line 2, column 'i': an ID is missing");
    refuse("u\n1\n", NULL, KARMA_ERR_FORMAT, "1 column, but rating data need three: user, item, rating");
    refuse("u,i\n1,2\n", NULL, KARMA_ERR_FORMAT, "2 columns, but rating data need three: user, item, rating");
    refuse("", NULL, KARMA_ERR_DATA, "the file is empty");
    refuse("\n\n", NULL, KARMA_ERR_DATA, "no rows");
    refuse("u,i,r\n", NULL, KARMA_ERR_DATA, "no rows");
    refuse("u,i,r\n1,\"a,1\n", NULL, KARMA_ERR_FORMAT, "line 2: the quote that opens here is never closed");
    refuse("u,i,r\n1,\xff,1\n", NULL, KARMA_ERR_FORMAT,
           "line 2: byte 0xff is not UTF-8; convert the file to UTF-8, for example by iconv -f windows-1252 -t utf-8");
    karma_read_options o = rating_options();
    reading r;
    read_bytes(&r, ".csv", "u,i,r\n1,\0,1\n", 12, &o, NULL);
    assert_refused(&r, KARMA_ERR_FORMAT, "line 2: a NUL byte; the file is not text in UTF-8");
}

static void test_huge_id(void **state) {
    (void)state;
    enum { N = 300000 };
    char *text = malloc(2 * N + 32);
    assert_non_null(text);
    size_t used = (size_t)sprintf(text, "u,i,r\n");
    memset(text + used, 'u', N);
    text[used += N] = ',';
    memset(text + used + 1, 'i', N);
    memcpy(text + used + 1 + N, ",1\n", 4);
    karma_read_options o = liking("x", 3.0);
    reading r;
    read_text(&r, text, NULL);
    assert_read(&r);
    assert_int_equal(strlen(id_of(&r, 0)), N);
    assert_int_equal(strlen(karma_table_attribute_name(r.table, 0)), N);
    reading_clear(&r);
    read_text(&r, text, &o);
    assert_refused(&r, KARMA_ERR_DATA, "no item 'x'");
    free(text);
}

/* --- likes --------------------------------------------------------------------------------------------- */

static void test_like(void **state) {
    (void)state;
    karma_read_options o = liking("a", 4.0);
    reading r;
    char names[64];
    read_text(&r, "u,i,r\n1,a,5\n1,b,2\n2,a,3.9\n3,b,1\n4,a,4\n5,a,?\n4,a,4\n", &o);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "b");
    assert_int_equal(karma_table_n_rows(r.table), 5);
    assert_string_equal(karma_table_target_name(r.table, 0), "like:a");
    assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_CATEGORY);
    assert_int_equal(karma_table_n_classes(r.table, 0), 2);
    assert_string_equal(karma_table_class(r.table, 0, 0), "no");
    assert_string_equal(karma_table_class(r.table, 0, 1), "yes");
    assert_true(target_of(&r, 0) == 1.0 && target_of(&r, 1) == 0.0 && target_of(&r, 3) == 1.0);
    assert_true(isnan(target_of(&r, 2)) && isnan(target_of(&r, 4)));
    reading_clear(&r);
}

static void test_like_of_users(void **state) {
    (void)state;
    karma_read_options o = liking("3", 2.0);
    reading r;
    char names[64];
    read_both(&r, sample, people, &o, NULL, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "sex,age,20,100");
    assert_true(target_of(&r, 0) == 0.0 && isnan(target_of(&r, 1)) && target_of(&r, 2) == 1.0 &&
                isnan(target_of(&r, 3)));
    reading_clear(&r);
}

static void test_unknown_item(void **state) {
    (void)state;
    karma_read_options o = liking("itly", 4.0);
    refuse("u,i,r\n1,italy,5\n1,spain,2\n", &o, KARMA_ERR_DATA, "no item 'itly'; did you mean 'italy'?");
    o.item = "peru";
    refuse("u,i,r\n1,italy,5\n1,spain,2\n", &o, KARMA_ERR_DATA, "no item 'peru'");
}

/* --- users --------------------------------------------------------------------------------------------- */

static void test_users(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.target = (karma_names)NAMES("sex");
    reading r;
    char names[64];
    read_both(&r, sample, people, &o, NULL, NULL);
    assert_read(&r);
    assert_int_equal(r.n_notices, 0);
    assert_string_equal(names_of(&r, names, sizeof names), "age,3,20,100");
    static const char *const ids[] = {"9", "1", "7", "2"};
    assert_int_equal(karma_table_n_rows(r.table), 4);
    for (size_t i = 0; i < 4; i++) assert_string_equal(id_of(&r, i), ids[i]);
    assert_string_equal(karma_table_id_name(r.table, 0), "viewer");
    assert_string_equal(karma_table_target_name(r.table, 0), "sex");
    assert_true(target_of(&r, 0) == 0.0 && target_of(&r, 1) == 1.0 && target_of(&r, 2) == 1.0 &&
                isnan(target_of(&r, 3)));
    assert_true(cell_of(&r, 0, 0) == 30.0 && cell_of(&r, 0, 1) == 1.5 && cell_of(&r, 2, 2) == 4.0);
    assert_true(isnan(cell_of(&r, 1, 0)) && isnan(cell_of(&r, 1, 1)) && isnan(cell_of(&r, 1, 3)));
    reading_clear(&r);
}

static void test_id_column(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.id = (karma_names)NAMES("id");
    o.category = (karma_names)NAMES("age");
    o.delimiter = ','; /* of the ratings */
    reading r;
    char names[64];
    read_both(&r, sample, "sex\tid\tage\nf\t9\t30\nm\t7\t50\n", &o, NULL, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "sex,age,3,20,100");
    assert_string_equal(level_of(&r, 1, 1), "50");
    assert_string_equal(id_of(&r, 0), "9");
    reading_clear(&r);
    refuse_users(sample, "sex,ID\nf,9\n", &o, KARMA_ERR_DATA, "no column 'id'; did you mean 'ID'?", NULL);
    o.id = (karma_names)NAMES("id", "sex");
    read_both(&r, sample, people, &o, NULL, NULL);
    assert_refused(&r, KARMA_ERR_OPTION,
                   "option 'id' names the column of user IDs in the users file; give one name only");
}

static void test_users_without_header(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.header = 0;
    o.target = (karma_names)NAMES("c2");
    reading r;
    char names[64];
    read_both(&r, "1::5::3::0\n3::6::2::0\n", "1::F::1::10\n2::M::56::16\n", &o, NULL, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "c3,c4,5,6");
    assert_string_equal(karma_table_id_name(r.table, 0), "user");
    assert_int_equal(karma_table_n_rows(r.table), 3);
    reading_clear(&r);
}

static void test_users_without_ratings(void **state) {
    (void)state;
    reading r;
    read_both(&r, sample, "id,x\nu9,1\n", NULL, NULL, NULL);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), 4);
    assert_int_equal(r.n_notices, 1);
    assert_non_null(strstr(r.notice, "none of the users in "));
    assert_non_null(strstr(r.notice, " has a rating; are the IDs spelled alike in both files?"));
    reading_clear(&r);
}

static void test_clash(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    reading r;
    char names[64];
    refuse_users("u,i,r\n1,age,4\n", "id,age\n1,30\n", NULL, KARMA_ERR_DATA, "column 'age' has the name of an item of ",
                 "; leave the column out with option 'ignore' 'age'");
    o.ignore = (karma_names)NAMES("age");
    read_both(&r, "u,i,r\n1,age,4\n", "id,age\n1,30\n", &o, NULL, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "age");
    assert_true(cell_of(&r, 0, 0) == 4.0);
    reading_clear(&r);
    o.ignore = (karma_names)NAMES("age", "20"); /* one of each kind */
    read_both(&r, sample, people, &o, NULL, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "sex,3,100");
    reading_clear(&r);
}

static void test_bad_users(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    refuse_users(sample, "id,x\n1,2\n,3\n", NULL, KARMA_ERR_DATA, "row 2 has no user ID", NULL);
    refuse_users(sample, "id,x\n1,2\n2,2\n1,3\n", NULL, KARMA_ERR_DATA, "rows 1 and 3 both belong to user '1'", NULL);
    refuse_users(sample, "id,x\n1\n", NULL, KARMA_ERR_FORMAT,
                 "line 2: 1 field, header has 2; if the line is not a row of the table, remove it", NULL);
    refuse_users(sample, "id,x\n", NULL, KARMA_ERR_DATA, "no rows", NULL);
    refuse_users(sample, "", NULL, KARMA_ERR_DATA, "the file is empty", NULL);
    o.target = (karma_names)NAMES("sx");
    refuse_users(sample, people, &o, KARMA_ERR_DATA, "no column 'sx'; the columns are 'id', 'sex', 'age'", NULL);
    o.target = (karma_names)NAMES("id");
    refuse_users(sample, people, &o, KARMA_ERR_OPTION, "column 'id' cannot be both option 'target' and option 'id'",
                 NULL);
    reading r;
    o = rating_options();
    o.users = "/nonexistent/users.csv";
    read_text(&r, sample, &o);
    assert_int_equal(r.status, KARMA_ERR_IO);
    assert_non_null(strstr(r.err.message, "/nonexistent/users.csv"));
}

static void test_expectation(void **state) {
    (void)state;
    karma_i_column columns[] = {{.name = "age", .kind = KARMA_COLUMN_CATEGORY},
                                {.name = "20", .kind = KARMA_COLUMN_NUMBER}};
    karma_i_expectation e = {columns, 2, (const char *[]){"sex"}, 1, NULL};
    reading r;
    char names[64];
    read_both(&r, sample, people, NULL, &e, NULL);
    assert_read(&r);
    assert_string_equal(karma_table_target_name(r.table, 0), "sex");
    assert_string_equal(names_of(&r, names, sizeof names), "age,3,20,100");
    assert_string_equal(level_of(&r, 0, 0), "30");
    reading_clear(&r);
    karma_read_options o = liking("3", 2.0); /* takes precedence over what the model expects */
    read_both(&r, sample, people, &o, &e, NULL);
    assert_read(&r);
    assert_string_equal(karma_table_target_name(r.table, 0), "like:3");
    reading_clear(&r);
    e.targets = (const char *[]){"like:20"}; /* is not an attribute, although no option defines liking */
    read_both(&r, sample, people, NULL, &e, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "sex,age,3,100");
    assert_int_equal(karma_table_n_targets(r.table), 0);
    reading_clear(&r);
}

/* --- several targets, weights -------------------------------------------------------------------------- */

static const char weighed[] = "id,sex,n,age\n9,f,0.5,30\n1,m,0,\n7,,3,50\n";

static double label_of(const reading *r, size_t target, size_t row) {
    double value;
    return karma_table_target(r->table, target, row, &value) ? value : (double)NAN;
}

static void test_two_targets(void **state) {
    (void)state;
    karma_names ways[] = {NAMES("age,sex"), NAMES("age", "sex")};
    for (size_t i = 0; i < 2; i++) {
        karma_read_options o = rating_options();
        o.target = ways[i];
        reading r;
        char names[64];
        read_both(&r, sample, weighed, &o, NULL, NULL);
        assert_read(&r);
        assert_string_equal(names_of(&r, names, sizeof names), "n,3,20,100");
        assert_int_equal(karma_table_n_targets(r.table), 2); /* as named, not as in the file */
        assert_string_equal(karma_table_target_name(r.table, 0), "age");
        assert_string_equal(karma_table_target_name(r.table, 1), "sex");
        assert_int_equal(karma_table_target_kind(r.table, 0), KARMA_COLUMN_NUMBER);
        assert_int_equal(karma_table_target_kind(r.table, 1), KARMA_COLUMN_CATEGORY);
        assert_string_equal(karma_table_class(r.table, 1, 1), "m");
        assert_true(label_of(&r, 0, 0) == 30.0 && isnan(label_of(&r, 0, 1)) && label_of(&r, 0, 2) == 50.0);
        assert_true(label_of(&r, 1, 0) == 0.0 && label_of(&r, 1, 1) == 1.0 && isnan(label_of(&r, 1, 2)));
        assert_true(isnan(label_of(&r, 0, 3)) && isnan(label_of(&r, 1, 3))); /* not in the file of users */
        assert_true(cell_of(&r, 0, 0) == 0.5 && cell_of(&r, 0, 1) == 1.5 && isnan(cell_of(&r, 3, 0)));
        assert_null(karma_table_weight_name(r.table));
        reading_clear(&r);
    }
}

static void test_weights(void **state) {
    (void)state;
    for (int liked = 0; liked < 2; liked++) {
        karma_read_options o = liked ? liking("3", 2.0) : rating_options();
        o.target = liked ? (karma_names){0} : (karma_names)NAMES("sex,age");
        o.row_weight = "n";
        reading r;
        char names[64];
        read_both(&r, sample, weighed, &o, NULL, NULL);
        assert_read(&r);
        assert_string_equal(names_of(&r, names, sizeof names), liked ? "sex,age,20,100" : "3,20,100");
        assert_int_equal(karma_table_n_targets(r.table), liked ? 1 : 2);
        assert_string_equal(karma_table_weight_name(r.table), "n");
        static const double weights[] = {0.5, 0.0, 3.0, 1.0}; /* the last one is not in the file of users */
        assert_int_equal(karma_table_n_rows(r.table), 4);
        for (size_t row = 0; row < 4; row++) assert_true(karma_table_row_weight(r.table, row) == weights[row]);
        reading_clear(&r);
    }
}

/* Targets and weights are not attributes, so they may have the names of items. */
static void test_names_of_items(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.target = (karma_names)NAMES("3,100");
    o.row_weight = "20";
    reading r;
    char names[64];
    read_both(&r, sample, "id,3,20,100\n7,1,2,3\n9,4,5,6\n", &o, NULL, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "3,20,100");
    assert_true(cell_of(&r, 0, 0) == 5.0 && label_of(&r, 0, 0) == 1.0 && label_of(&r, 1, 1) == 6.0);
    assert_true(karma_table_row_weight(r.table, 1) == 5.0);
    reading_clear(&r);
}

static void test_bad_targets_and_weights(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    o.target = (karma_names)NAMES("sex,agee");
    refuse_users(sample, weighed, &o, KARMA_ERR_DATA, "no column 'agee'; did you mean 'age'?", NULL);
    o.target = (karma_names)NAMES("sex", "age,sex");
    refuse_users(sample, weighed, &o, KARMA_ERR_OPTION, "column 'sex' is named twice by option 'target'", NULL);
    o = rating_options();
    o.row_weight = "n";
    refuse(sample, &o, KARMA_ERR_OPTION,
           "option 'row-weight' names a column of the users file and needs option 'users'");
    refuse_users(sample, people, &o, KARMA_ERR_DATA, "no column 'n'; the columns are 'id', 'sex', 'age'", NULL);
    refuse_users(sample, "id,n\n7,1\n9,\n", &o, KARMA_ERR_DATA, "line 3, column 'n': the row weight is missing", NULL);
    refuse_users(sample, "id,n\n7,-1\n", &o, KARMA_ERR_DATA,
                 "line 2, column 'n': '-1' is not a row weight, 0 or a number from 1e-100 to 1e100", NULL);
    refuse_users(sample, "id,n\n7,0\n9,0\n", &o, KARMA_ERR_DATA, "column 'n': all row weights are 0", NULL);
    o.target = (karma_names)NAMES("sex,n");
    refuse_users(sample, weighed, &o, KARMA_ERR_OPTION,
                 "column 'n' cannot be both option 'target' and option 'row-weight'", NULL);
    o.target = (karma_names){0};
    o.row_weight = "id";
    refuse_users(sample, weighed, &o, KARMA_ERR_OPTION,
                 "column 'id' cannot be both option 'row-weight' and option 'id'", NULL);
}

static void test_expected_targets(void **state) {
    (void)state;
    karma_i_expectation e = {.targets = (const char *[]){"age", "absent", "like:20", "sex"}, .n_targets = 4};
    karma_read_options o = rating_options();
    o.row_weight = "n";
    reading r;
    char names[64];
    read_both(&r, sample, weighed, &o, &e, NULL);
    assert_read(&r);
    assert_string_equal(names_of(&r, names, sizeof names), "3,100");
    assert_int_equal(karma_table_n_targets(r.table), 2);
    assert_string_equal(karma_table_target_name(r.table, 0), "age");
    assert_string_equal(karma_table_target_name(r.table, 1), "sex");
    reading_clear(&r);
}

/* --- options ------------------------------------------------------------------------------------------- */

static void test_options(void **state) {
    (void)state;
    karma_read_options o = liking("3", 2.0);
    o.target = (karma_names)NAMES("sex");
    refuse(sample, &o, KARMA_ERR_OPTION, "option 'item' and option 'target' both name the label");
    o = rating_options();
    o.item = "3";
    refuse(sample, &o, KARMA_ERR_OPTION, "option 'item' needs option 'like', the least rating of those who like it");
    o = rating_options();
    o.like = 3.0;
    refuse(sample, &o, KARMA_ERR_OPTION, "option 'like' needs option 'item', the item that is liked");
    o = rating_options();
    o.target = (karma_names)NAMES("sex");
    refuse(sample, &o, KARMA_ERR_OPTION,
           "option 'target' names a column of the users file and needs option 'users'; to learn whether an item is "
           "liked, use option 'item' and option 'like'");
    o = rating_options();
    o.id = (karma_names)NAMES("viewer");
    refuse(sample, &o, KARMA_ERR_OPTION,
           "option 'id' names the column of user IDs in the users file and needs option 'users'");
    o = rating_options();
    o.absent = KARMA_ABSENT_ZERO;
    refuse(sample, &o, KARMA_ERR_OPTION,
           "option 'absent=zero' does not apply to ratings: a rating that was not given is missing");
    o = rating_options();
    o.category = (karma_names)NAMES("3");
    refuse(sample, &o, KARMA_ERR_OPTION, "option 'category' does not apply to item '3': ratings are numbers");
    o = rating_options();
    o.like = NAN;
    reading r;
    read_text(&r, sample, &o);
    assert_int_equal(r.status, KARMA_ERR_OPTION);
}

static void test_unknown_names(void **state) {
    (void)state;
    karma_read_options o = rating_options();
    reading r;
    o.ignore = (karma_names)NAMES("1000");
    refuse(sample, &o, KARMA_ERR_DATA, "no item '1000'; did you mean '100'?");
    o.ignore = (karma_names)NAMES("sexx");
    read_both(&r, sample, people, &o, NULL, NULL);
    assert_refused(&r, KARMA_ERR_DATA, "no item or column of users 'sexx'; did you mean 'sex'?");
    o = rating_options();
    o.numeric = (karma_names)NAMES("weight");
    read_both(&r, sample, people, &o, NULL, NULL);
    assert_refused(&r, KARMA_ERR_DATA, "no item or column of users 'weight'");
}

static void test_other_formats(void **state) {
    (void)state;
    static const int formats[] = {KARMA_FORMAT_AUTO, KARMA_FORMAT_CSV, KARMA_FORMAT_LIBSVM};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        karma_read_options o = liking("3", 2.0);
        o.format = formats[i];
        refuse(sample, &o, KARMA_ERR_OPTION, "option 'item' is for rating data, which need option 'format=ratings'");
        o.item = NULL;
        refuse(sample, &o, KARMA_ERR_OPTION, "option 'like' is for rating data, which need option 'format=ratings'");
        o.users = "users.csv";
        refuse(sample, &o, KARMA_ERR_OPTION, "option 'users' is for rating data, which need option 'format=ratings'");
    }
}

static void test_mutations(void **state) {
    (void)state;
    static const char valid[] = "u,i,r,t\n1,a,5,0\n2,b,3,0\n\"1\",\"b\",2,0\r\n3,a,NA,0\n1,a,4,0\n";
    static const char liked[] = ",;:\"\t\n\r|019-.einab\0\xff";
    enum { ROUNDS = 3000 };
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    size_t n_read = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        char bytes[sizeof valid];
        memcpy(bytes, valid, sizeof valid);
        for (size_t n = 1 + karma_i_rng_below(&rng, 3); n > 0; n--)
            bytes[karma_i_rng_below(&rng, sizeof valid - 1)] = liked[karma_i_rng_below(&rng, sizeof liked - 1)];
        size_t length = karma_i_rng_below(&rng, 4) ? sizeof valid - 1 : karma_i_rng_below(&rng, sizeof valid);
        karma_read_options o = round % 2 ? rating_options() : liking("a", 4.0);
        o.header = round % 3 != 0;
        reading r;
        read_bytes(&r, ".csv", bytes, length, &o, NULL);
        n_read += r.status == KARMA_OK;
        reading_clear(&r);
    }
    assert_true(n_read > ROUNDS / 10 && n_read < ROUNDS);
}

/* Random ratings in random order against a full matrix. */
static void test_many(void **state) {
    (void)state;
    enum { USERS = 40, ITEMS = 30, RATINGS = 2000 };
    static double truth[USERS][ITEMS];
    static char text[RATINGS * 16 + 16];
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    size_t used = (size_t)sprintf(text, "u,i,r\n");
    for (size_t u = 0; u < USERS; u++)
        for (size_t i = 0; i < ITEMS; i++) truth[u][i] = NAN;
    for (size_t k = 0; k < RATINGS; k++) {
        size_t u = karma_i_rng_below(&rng, USERS), i = karma_i_rng_below(&rng, ITEMS), v = karma_i_rng_below(&rng, 6);
        truth[u][i] = v ? (double)v : (double)NAN;
        used += (size_t)sprintf(text + used, v ? "%zu,%zu,%zu\n" : "%zu,%zu,\n", u, i, v);
    }
    reading r;
    read_text(&r, text, NULL);
    assert_read(&r);
    assert_int_equal(karma_table_n_rows(r.table), USERS);
    assert_int_equal(karma_table_n_attributes(r.table), ITEMS);
    for (size_t row = 0; row < USERS; row++) {
        const double *wanted = truth[strtoul(id_of(&r, row), NULL, 10)];
        for (size_t i = 0; i < ITEMS; i++) {
            double got = cell_of(&r, row, i);
            assert_true(isnan(wanted[i]) ? isnan(got) : got == wanted[i]);
        }
    }
    reading_clear(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple),
        cmocka_unit_test(test_order_of_items),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_no_header),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_ignore),
        cmocka_unit_test(test_bad_ratings),
        cmocka_unit_test(test_huge_id),
        cmocka_unit_test(test_like),
        cmocka_unit_test(test_like_of_users),
        cmocka_unit_test(test_unknown_item),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_id_column),
        cmocka_unit_test(test_users_without_header),
        cmocka_unit_test(test_users_without_ratings),
        cmocka_unit_test(test_clash),
        cmocka_unit_test(test_bad_users),
        cmocka_unit_test(test_expectation),
        cmocka_unit_test(test_two_targets),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_names_of_items),
        cmocka_unit_test(test_bad_targets_and_weights),
        cmocka_unit_test(test_expected_targets),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_unknown_names),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
