/* Numbers, dates and missing values as people write them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "io/calendar.h"
#include "io/missing.h"
#include "io/numeral.h"

static void check_number(const char *text, char mark, double expected, unsigned expected_how) {
    double value = NAN;
    unsigned how = 99;
    if (!karma_i_numeral_parse(&value, &how, text, strlen(text), mark)) fail_msg("'%s' is not a number", text);
    if (value != expected || how != expected_how) fail_msg("'%s' is %.17g, %u", text, value, how);
}

static void check_no_number(const char *text, char mark) {
    double value;
    unsigned how;
    if (karma_i_numeral_parse(&value, &how, text, strlen(text), mark)) fail_msg("'%s' is %.17g", text, value);
}

static void plain_numbers(void **state) {
    (void)state;
    check_number("12", '.', 12, 0);
    check_number("-3.25e2", '.', -325, 0);
    check_number("0,5", ',', 0.5, 0);
    check_number("-1,5e3", ',', -1500, 0);
    check_number("12", ',', 12, 0);
    check_no_number("0,5", '.');
    check_no_number("0.5", ',');
    check_no_number("", '.');
    check_no_number("", ',');
    check_no_number("abc", '.');
    check_no_number("1.2.3", '.');
}

static void thousands(void **state) {
    (void)state;
    check_number("1,234", '.', 1234, KARMA_I_NUMERAL_GROUPED);
    check_number("-12,345,678.5", '.', -12345678.5, KARMA_I_NUMERAL_GROUPED);
    check_number("1.234.567,25", ',', 1234567.25, KARMA_I_NUMERAL_GROUPED);
    check_number("1 234 567", '.', 1234567, KARMA_I_NUMERAL_GROUPED);
    check_number("1\xc2\xa0"
                 "234,5",
                 ',', 1234.5, KARMA_I_NUMERAL_GROUPED);
    check_number("1'234.5", '.', 1234.5, KARMA_I_NUMERAL_GROUPED);
    check_no_number("1,23", '.');
    check_no_number("12,3456", '.');
    check_no_number("1234,567", '.');
    check_no_number("1,234,56", '.');
    check_no_number("1,234 567", '.');
    check_no_number("555-1234", '.');
    check_no_number("1 2 3", '.');
}

static void percentages(void **state) {
    (void)state;
    check_number("12%", '.', 12, KARMA_I_NUMERAL_PERCENT);
    check_number("12.5 %", '.', 12.5, KARMA_I_NUMERAL_PERCENT);
    check_number("-0,5\xc2\xa0%", ',', -0.5, KARMA_I_NUMERAL_PERCENT);
    check_number("1,250 %", '.', 1250, KARMA_I_NUMERAL_PERCENT | KARMA_I_NUMERAL_GROUPED);
    check_number("<5%", '.', 5, KARMA_I_NUMERAL_PERCENT | KARMA_I_NUMERAL_CENSORED);
    check_no_number("%", '.');
    check_no_number(" %", '.');
    check_no_number("12%%", '.');
    check_no_number("12 kg", '.');
}

static void currencies(void **state) {
    (void)state;
    check_number("$12", '.', 12, KARMA_I_NUMERAL_DOLLAR);
    check_number("-$12.5", '.', -12.5, KARMA_I_NUMERAL_DOLLAR);
    check_number("$-12.5", '.', -12.5, KARMA_I_NUMERAL_DOLLAR);
    check_number("\xe2\x82\xac 1.234,50", ',', 1234.5, KARMA_I_NUMERAL_EURO | KARMA_I_NUMERAL_GROUPED);
    check_number("12,5 \xe2\x82\xac", ',', 12.5, KARMA_I_NUMERAL_EURO);
    check_number("12\xc2\xa3", '.', 12, KARMA_I_NUMERAL_POUND);
    check_number("\xc2\xa5"
                 "100",
                 '.', 100, KARMA_I_NUMERAL_YEN);
    check_number(">$100", '.', 100, KARMA_I_NUMERAL_DOLLAR | KARMA_I_NUMERAL_CENSORED);
    check_no_number("$", '.');
    check_no_number("$$5", '.');
    check_no_number("-$-5", '.');
    check_no_number("5$6", '.');
}

/* A currency code needs a space before its number: EUR5 may be a name. */
static void named_currencies(void **state) {
    (void)state;
    check_number("CHF 1'077.80", '.', 1077.8, KARMA_I_NUMERAL_FRANC | KARMA_I_NUMERAL_GROUPED);
    check_number("-CHF 5", '.', -5, KARMA_I_NUMERAL_FRANC);
    check_number("12,50 EUR", ',', 12.5, KARMA_I_NUMERAL_EURO);
    check_number("USD\xc2\xa0"
                 "7",
                 '.', 7, KARMA_I_NUMERAL_DOLLAR);
    check_number("250 kr", '.', 250, KARMA_I_NUMERAL_KRONE);
    check_number("Rs. 1,07,780", '.', 107780, KARMA_I_NUMERAL_RUPEE | KARMA_I_NUMERAL_GROUPED);
    check_number("\xe2\x82\xb9"
                 "99",
                 '.', 99, KARMA_I_NUMERAL_RUPEE);
    check_no_number("EUR5", '.');
    check_no_number("5EUR", '.');
    check_no_number("EUR", '.');
    check_no_number("kr", '.');
    check_no_number("CHF EUR 5", '.');
    check_no_number("usd 5", '.');
}

static void indian_groups(void **state) {
    (void)state;
    check_number("1,07,780", '.', 107780, KARMA_I_NUMERAL_GROUPED);
    check_number("12,34,56,789.25", '.', 123456789.25, KARMA_I_NUMERAL_GROUPED);
    check_number("-3,11,470", '.', -311470, KARMA_I_NUMERAL_GROUPED);
    check_no_number("1,07,78", '.');
    check_no_number("1,077,80", '.');
    check_no_number("0,07,780", '.');
    check_no_number("123,45,678", '.');
    check_no_number("1.07.780", ',');
    check_no_number("1,07,780,5", '.');
    assert_int_equal(karma_i_numeral_mark("1,07,780", 8), '.');
}

static void trailing_minus_signs(void **state) {
    (void)state;
    check_number("5-", '.', -5, KARMA_I_NUMERAL_ACCOUNTING);
    check_number("3.114,70-", ',', -3114.7, KARMA_I_NUMERAL_ACCOUNTING | KARMA_I_NUMERAL_GROUPED);
    check_number("12.5- \xe2\x82\xac", '.', -12.5, KARMA_I_NUMERAL_ACCOUNTING | KARMA_I_NUMERAL_EURO);
    check_no_number("-5-", '.');
    check_no_number("+5-", '.');
    check_no_number(">5-", '.');
    check_no_number("5--", '.');
    check_no_number("-", '.');
    check_no_number("(5-)", '.');
    check_no_number("$5-$", '.');
    check_no_number("5-6", '.');
}

/* Typographic minus signs are minus signs, and a leading 0 does not begin groups of thousands. */
static void signs_and_zeros(void **state) {
    (void)state;
    check_number("\xe2\x88\x92"
                 "3.5",
                 '.', -3.5, 0);
    check_number("\xe2\x88\x92"
                 "1,234",
                 '.', -1234, KARMA_I_NUMERAL_GROUPED);
    check_no_number("0,125", '.');
    check_no_number("-0,125", '.');
    check_no_number("0 125", '.');
    check_number("-0,125", ',', -0.125, 0);
    assert_int_equal(karma_i_numeral_mark("0,125", 5), ',');
    assert_int_equal(karma_i_numeral_mark("1,125", 5), 0);
}

static void bounds(void **state) {
    (void)state;
    check_number(">100", '.', 100, KARMA_I_NUMERAL_CENSORED);
    check_number("<0.5", '.', 0.5, KARMA_I_NUMERAL_CENSORED);
    check_number("<= 0,5", ',', 0.5, KARMA_I_NUMERAL_CENSORED);
    check_number("\xe2\x89\xa5"
                 "1,000",
                 '.', 1000, KARMA_I_NUMERAL_CENSORED | KARMA_I_NUMERAL_GROUPED);
    check_number("10+", '.', 10, KARMA_I_NUMERAL_CENSORED);
    check_no_number("+", '.');
    check_no_number("<10+", '.');
    check_no_number(">50K", '.');
    check_no_number("<", '.');
    check_no_number("<>5", '.');
}

static void marks(void **state) {
    (void)state;
    assert_int_equal(karma_i_numeral_mark("3.14", 4), '.');
    assert_int_equal(karma_i_numeral_mark("3,14", 4), ',');
    assert_int_equal(karma_i_numeral_mark("1,234", 5), 0);
    assert_int_equal(karma_i_numeral_mark("12", 2), 0);
    assert_int_equal(karma_i_numeral_mark("word", 4), 0);
}

static void check_moment(const char *text, karma_i_day_order order, int year, int month, int day, double hour) {
    karma_i_moment m;
    if (!karma_i_moment_parse(&m, text, strlen(text), order)) fail_msg("'%s' is no date", text);
    if (m.has_date != (year > 0) || m.has_time != (hour >= 0))
        fail_msg("'%s': date %d, time %d", text, m.has_date, m.has_time);
    if (year > 0 && (m.year != year || m.month != month || m.day != day))
        fail_msg("'%s' is %d-%d-%d", text, m.year, m.month, m.day);
    if (hour >= 0 && fabs(m.hour - hour) > 1e-9) fail_msg("'%s' is at %.17g", text, m.hour);
}

static void dates_in_many_forms(void **state) {
    (void)state;
    karma_i_day_order d = KARMA_I_DAY_FIRST, m = KARMA_I_MONTH_FIRST;
    check_moment("2024-03-01", d, 2024, 3, 1, -1);
    check_moment("2024/3/1", m, 2024, 3, 1, -1);
    check_moment("2024-03-01T14:30:00Z", d, 2024, 3, 1, 14.5);
    check_moment("2024-03-01 14:30:36.5+01:00", d, 2024, 3, 1, 14 + 30.0 / 60 + 36.5 / 3600);
    check_moment("1.3.2024", d, 2024, 3, 1, -1);
    check_moment("3/1/2024", m, 2024, 3, 1, -1);
    check_moment("3/1/2024 2:05 PM", m, 2024, 3, 1, 14 + 5.0 / 60);
    check_moment("12/31/1999 12:00 am", m, 1999, 12, 31, 0.0);
    check_moment("1 Mar 2024", d, 2024, 3, 1, -1);
    check_moment("March 1, 2024", d, 2024, 3, 1, -1);
    check_moment("01-Mar-2024", d, 2024, 3, 1, -1);
    check_moment("08:15", d, 0, 0, 0, 8.25);
    check_moment("23:59:60", d, 0, 0, 0, 24.0 - 1e-9);
}

static void texts_that_are_not_dates(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",      "2024",  "20240301", "2024-13-01",  "2023-02-29", "31.4.2024",   "1/2/24", "12",       "1.5",
        "24:00", "12:60", "Mar",      "2024-03-01x", "1-2",        "192.168.1.1", "3:5",    "13:00 PM", "2024-3-1-2"};
    karma_i_moment m;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int order = 0; order < 2; order++)
            if (karma_i_moment_parse(&m, texts[i], strlen(texts[i]), (karma_i_day_order)order))
                fail_msg("'%s' is %d-%d-%d %g", texts[i], m.year, m.month, m.day, m.hour);
}

/* Against the system's own calendar, over four centuries. */
static void days_and_weekdays(void **state) {
    (void)state;
    for (long day = -80000; day < 80000; day += 37) {
        time_t seconds = (time_t)day * 86400;
        struct tm parts;
        assert_non_null(gmtime_r(&seconds, &parts));
        karma_i_moment m = {1, 0, parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, 0.0};
        assert_true(karma_i_moment_days(&m) == (double)day);
        assert_int_equal(karma_i_moment_weekday(&m), parts.tm_wday ? parts.tm_wday : 7);
    }
}

static void texts_that_mean_missing(void **state) {
    (void)state;
    static const char *const always[] = {"",     "NA",   "n/a",  "N/A",  "nan", "NaN",  "NULL",
                                         "null", "#N/A", "<NA>", "<na>", "?",   "None", "-999"};
    static const char *const never[] = {"none", "unknown", "missing", "-", ".", "0", "nano", "-99", "N", "#"};
    static const char *const in_numbers[] = {"-", ".", "missing", "Unknown", "none", "--", ".A", ".Z", "._", ".a"};
    static const char *const in_no_numbers[] = {"ok", ".5", ".AB", "A.", ".-", "_"};
    char *token = " -999 ";
    karma_names extra = {&token, 1};
    karma_i_missing missing;
    assert_int_equal(karma_i_missing_init(&missing, &extra, NULL), KARMA_OK);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        if (!karma_i_is_missing(&missing, always[i], strlen(always[i]))) fail_msg("'%s'", always[i]);
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (karma_i_is_missing(&missing, never[i], strlen(never[i]))) fail_msg("'%s'", never[i]);
    for (size_t i = 0; i < sizeof in_numbers / sizeof in_numbers[0]; i++)
        if (!karma_i_is_missing_number(in_numbers[i], strlen(in_numbers[i]))) fail_msg("'%s'", in_numbers[i]);
    for (size_t i = 0; i < sizeof in_no_numbers / sizeof in_no_numbers[0]; i++)
        if (karma_i_is_missing_number(in_no_numbers[i], strlen(in_no_numbers[i]))) fail_msg("'%s'", in_no_numbers[i]);
    karma_i_missing_clear(&missing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_numbers),
        cmocka_unit_test(thousands),
        cmocka_unit_test(percentages),
        cmocka_unit_test(currencies),
        cmocka_unit_test(named_currencies),
        cmocka_unit_test(indian_groups),
        cmocka_unit_test(trailing_minus_signs),
        cmocka_unit_test(signs_and_zeros),
        cmocka_unit_test(bounds),
        cmocka_unit_test(marks),
        cmocka_unit_test(dates_in_many_forms),
        cmocka_unit_test(texts_that_are_not_dates),
        cmocka_unit_test(days_and_weekdays),
        cmocka_unit_test(texts_that_mean_missing),
    };
    return cmocka_run_group_tests_name("numeral", tests, NULL, NULL);
}
