/* Findings about a table before learning. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "readcase.h"

enum { ROWS = 60 };

/* Columns that cause every kind of finding, and two that cause none: `plain` and `word`. */
static void read_suspects(reading *r) {
    char text[ROWS * 120 + 100];
    size_t used = (size_t)snprintf(text, sizeof text, "row,name,plain,copy,same,leak,note,word,holes,none,y\n");
    for (size_t i = 0; i < ROWS; i++) {
        int yes = i % 3 == 0;
        const char *hole = yes || i % 10 == 1 ? "" : "1.5";
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%zu,n%zu,%.3f,%.3f,7,%s,a long remark that nobody wrote twice %zu,%s,%s,,%s\n", i + 1,
                                 i * 7919 % 1000, sin((double)i), sin((double)i), yes ? "dead" : "alive", i,
                                 i % 2 ? "a" : "b", hole,
                                 i == 1 ? "maybe"
                                 : yes  ? "yes"
                                        : "no");
    }
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    read_bytes(r, ".csv", text, strlen(text), &o, NULL);
    assert_read(r);
}

/* The number of findings of a kind about a column. */
static size_t count(const karma_review *review, const karma_table *table, karma_finding_kind kind, const char *column) {
    size_t n = 0;
    for (size_t k = 0; k < review->n_findings; k++)
        n += review->findings[k].kind == kind &&
             strcmp(karma_table_attribute_name(table, review->findings[k].column), column) == 0;
    return n;
}

static void every_suspect_is_found_once(void **state) {
    (void)state;
    reading r;
    karma_review review;
    read_suspects(&r);
    assert_int_equal(karma_table_review(&review, r.table, NULL), KARMA_OK);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_ID, "row"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_ID, "name"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_COPY, "copy"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_CONSTANT, "same"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_TEXT, "note"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_TELLING_HOLES, "holes"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_EMPTY, "none"), 1);
    size_t n_single = 0;
    for (size_t k = 0; k < review.n_findings; k++) {
        char text[400];
        size_t column = review.findings[k].column;
        assert_true(karma_finding_text(text, sizeof text, &review.findings[k], r.table) > 20);
        n_single += review.findings[k].kind == KARMA_FINDING_SINGLE_CLASS;
        if (review.findings[k].kind == KARMA_FINDING_SINGLE_CLASS) continue;
        assert_string_not_equal(karma_table_attribute_name(r.table, column), "plain");
        assert_string_not_equal(karma_table_attribute_name(r.table, column), "word");
    }
    assert_int_equal(n_single, 1);
    karma_review_clear(&review);
    reading_clear(&r);
}

/* The third class breaks the copy of the label; without that row it is a copy, for classes and for numbers. */
static void copies_of_the_label_are_found(void **state) {
    (void)state;
    for (int numbers = 0; numbers < 2; numbers++) {
        char text[ROWS * 40 + 40];
        size_t used = (size_t)snprintf(text, sizeof text, "a,leak,y\n");
        for (size_t i = 0; i < ROWS; i++) {
            double y = numbers ? cos((double)i) : (double)(i % 3);
            used += (size_t)snprintf(text + used, sizeof text - used, "%.3f,%.6f,%.6f\n", sin((double)(i * i)), y, y);
        }
        karma_read_options o = read_defaults();
        o.target = (karma_names)NAMES("y");
        reading r;
        karma_review review;
        read_bytes(&r, ".csv", text, strlen(text), &o, NULL);
        assert_read(&r);
        assert_int_equal(karma_table_review(&review, r.table, NULL), KARMA_OK);
        assert_int_equal(count(&review, r.table, KARMA_FINDING_LEAK, "leak"), 1);
        assert_int_equal(count(&review, r.table, KARMA_FINDING_LEAK, "a"), 0);
        karma_review_clear(&review);
        reading_clear(&r);
    }
}

/* Very many rows, which are looked at in a sample first: a code of the label, numbers that each occur with one
 * label, the same with one exception in 50, and uninformative numbers. */
static void leaks_of_many_rows_are_found(void **state) {
    (void)state;
    enum { MANY = 210000 };
    size_t size = (size_t)MANY * 64 + 100, used = 0;
    char *text = malloc(size);
    assert_non_null(text);
    used += (size_t)snprintf(text, size, "code,group,almost,plain,y\n");
    for (size_t i = 0; i < MANY; i++) {
        int yes = (i * UINT64_C(11400714819323198485) >> 40) % 1000 < 400;
        size_t group = 2 * (i * 40503U % 15000) + (size_t)yes;
        used += (size_t)snprintf(text + used, size - used, "%d,%zu.5,%zu,%zu.25,%s\n", 7 + yes, group,
                                 2 * (i % 1000) + (size_t)(i / 1000 % 50 ? yes : !yes), i * 48271U % 5000000,
                                 yes ? "yes" : "no");
    }
    reading r;
    karma_review review;
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    read_bytes(&r, ".csv", text, used, &o, NULL);
    assert_read(&r);
    assert_int_equal(karma_table_review(&review, r.table, NULL), KARMA_OK);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_LEAK, "code"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_LEAK, "group"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_LEAK, "almost"), 0);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_LEAK, "plain"), 0);
    karma_review_clear(&review);
    reading_clear(&r);
    free(text);
}

/* Equal wherever both are observed: numbers, and categories whose levels have other numbers. A column that differs
 * in one cell is not a copy, and two columns that are mostly one value are not reported. */
static void copies_with_missing_cells(void **state) {
    (void)state;
    char text[200 * 60 + 100];
    size_t used = (size_t)snprintf(text, sizeof text, "a,b,c,d,e,f,g,y\n");
    for (size_t i = 0; i < 200; i++) {
        char number[32], other[32], word[32];
        (void)snprintf(number, sizeof number, "%.4f", sin((double)(i * i)));
        (void)snprintf(other, sizeof other, "%.4f", i == 77 ? 5.0 : sin((double)(i * i)));
        (void)snprintf(word, sizeof word, "w%zu", i * 7 % 10);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s,%s,%s,%s,%s,%s,%s,%s\n", number, i % 3 ? number : "",
                             i % 5 ? other : "", word, i * 7 % 10 > 1 ? word : "", i == 3 ? "1" : "0",
                             i == 3  ? "1"
                             : i % 2 ? "0"
                                     : "",
                             i % 7 < 3 ? "p" : "q");
    }
    karma_read_options o = read_defaults();
    o.target = (karma_names)NAMES("y");
    reading r;
    karma_review review;
    read_bytes(&r, ".csv", text, strlen(text), &o, NULL);
    assert_read(&r);
    assert_int_equal(karma_table_review(&review, r.table, NULL), KARMA_OK);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_PART_COPY, "b"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_PART_COPY, "e"), 1);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_PART_COPY, "c"), 0);
    assert_int_equal(count(&review, r.table, KARMA_FINDING_PART_COPY, "g"), 0);
    for (size_t k = 0; k < review.n_findings; k++) {
        char sentence[400];
        if (review.findings[k].kind != KARMA_FINDING_PART_COPY) continue;
        (void)karma_finding_text(sentence, sizeof sentence, &review.findings[k], r.table);
        assert_non_null(strstr(sentence, "except for missing values"));
    }
    karma_review_clear(&review);
    reading_clear(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_suspect_is_found_once),
        cmocka_unit_test(copies_of_the_label_are_found),
        cmocka_unit_test(leaks_of_many_rows_are_found),
        cmocka_unit_test(copies_with_missing_cells),
    };
    return cmocka_run_group_tests_name("review", tests, NULL, NULL);
}
