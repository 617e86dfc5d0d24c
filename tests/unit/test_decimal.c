/* Reading numbers against the C library, to the last bit, on millions of spellings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "base/number.h"
#include "base/rng.h"

enum { N_SPELLINGS = 400000 };

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The text stands between other digits, so that reading beyond its end is seen. */
static void check(const char *text) {
    char framed[256];
    size_t length = strlen(text);
    double got = -7.0, scanned = -7.0, expected = strtod(text, NULL);
    assert_true(length + 20 < sizeof framed);
    (void)snprintf(framed, sizeof framed, "%s9999999999", text);
    if (!karma_i_number_parse(&got, framed, length)) fail_msg("'%s' is refused", text);
    if (bits_of(got) != bits_of(expected)) fail_msg("'%s' is read as %.17g", text, got);
    (void)snprintf(framed, sizeof framed, "%s,9999999999", text);
    const char *behind = karma_i_number_scan(&scanned, framed, framed + strlen(framed));
    if (!behind) return; /* it may leave a number to the slow reader */
    assert_ptr_equal(behind, framed + length);
    if (bits_of(scanned) != bits_of(expected)) fail_msg("'%s' is scanned as %.17g", text, scanned);
}

/* Doubles of all kinds, written with 1 to 17 digits. */
static void doubles_are_read_back(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 1);
    for (size_t i = 0; i < N_SPELLINGS; i++) {
        char text[64];
        uint64_t bits = karma_i_rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (i % 2) value = ldexp(karma_i_rng_normal(&rng), (int)karma_i_rng_below(&rng, 200) - 100);
        if (!isfinite(value)) continue;
        (void)snprintf(text, sizeof text, "%.*g", i % 3 ? 17 : 1 + (int)karma_i_rng_below(&rng, 17), value);
        check(text);
        (void)snprintf(text, sizeof text, "%.*e", (int)karma_i_rng_below(&rng, 20), value);
        check(text);
    }
}

/* Any digits: 1 to 24 of them, zeros in front, the point anywhere, with and without exponent. */
static void spellings_of_all_kinds_are_read(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 2);
    for (size_t i = 0; i < N_SPELLINGS; i++) {
        char text[64];
        size_t used = 0, n_zeros = karma_i_rng_below(&rng, 6), n = 1 + karma_i_rng_below(&rng, 24);
        size_t point = karma_i_rng_below(&rng, n_zeros + n + 3);
        if (i % 4 == 0) text[used++] = i % 8 ? '-' : '+';
        for (size_t j = 0; j < n_zeros + n; j++) {
            if (j == point) text[used++] = '.';
            text[used++] = (char)('0' + (j < n_zeros ? 0 : karma_i_rng_below(&rng, 10)));
        }
        text[used] = '\0';
        int spread = i % 5 ? 40 : 700;
        if (i % 3)
            (void)snprintf(text + used, sizeof text - used, "%c%d", i % 2 ? 'e' : 'E',
                           (int)karma_i_rng_below(&rng, (size_t)spread) - spread / 2);
        check(text);
    }
}

/* Halfway between two neighbours, and one unit in the last place beside it: the cases where rounding is decided late.
 * Whole numbers beyond 2^53 have such midpoints among them. */
static void midpoints_are_rounded_to_even(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 3);
    for (size_t i = 0; i < N_SPELLINGS; i++) {
        char text[64];
        int beyond = 1 + (int)karma_i_rng_below(&rng, 10);
        uint64_t significand = UINT64_C(1) << 52 | (karma_i_rng_next(&rng) >> 12);
        uint64_t midpoint = (significand << 1 | 1) << (beyond - 1);
        for (int off = -1; off <= 1; off++) {
            (void)snprintf(text, sizeof text, "%" PRIu64, midpoint + (uint64_t)(int64_t)off);
            check(text);
            (void)snprintf(text, sizeof text, "%" PRIu64 "e%d", midpoint + (uint64_t)(int64_t)off,
                           (int)karma_i_rng_below(&rng, 60) - 30);
            check(text);
        }
    }
}

/* Midpoints with a fraction: n + 1/2^k written out, of which the last digit is 5. */
static void fractions_that_are_midpoints_are_rounded_to_even(void **state) {
    (void)state;
    karma_i_rng rng;
    karma_i_rng_init(&rng, 4);
    for (size_t i = 0; i < N_SPELLINGS; i++) {
        char text[80];
        int below = 1 + (int)karma_i_rng_below(&rng, 20);
        uint64_t whole = (UINT64_C(1) << (53 - below)) | (karma_i_rng_next(&rng) >> (12 + below));
        uint64_t parts = karma_i_rng_next(&rng) >> (64 - below);
        long double midpoint = (long double)whole + ldexpl((long double)(2 * parts + 1), -below - 1);
        (void)snprintf(text, sizeof text, "%.*Lf", below + 1, midpoint);
        check(text);
        text[strlen(text) - 1] = '6';
        check(text);
        text[strlen(text) - 1] = '4';
        check(text);
    }
}

/* All exponents, and the digits at both ends of the range. */
static void every_exponent_is_read(void **state) {
    (void)state;
    static const uint64_t digits[] = {
        1, 5, 9, 10, 9007199254740991, 9007199254740993, UINT64_C(9999999999999999999), UINT64_C(1000000000000000001)};
    size_t n_direct = 0;
    for (int exponent = -400; exponent <= 400; exponent++)
        for (size_t i = 0; i < sizeof digits / sizeof digits[0]; i++) {
            char text[64];
            double value;
            (void)snprintf(text, sizeof text, "%" PRIu64 "e%d", digits[i], exponent);
            check(text);
            n_direct += karma_i_decimal_value(&value, digits[i], exponent) != 0;
        }
    assert_true(n_direct > 900); /* the fast path was taken */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_read_back),
        cmocka_unit_test(spellings_of_all_kinds_are_read),
        cmocka_unit_test(midpoints_are_rounded_to_even),
        cmocka_unit_test(fractions_that_are_midpoints_are_rounded_to_even),
        cmocka_unit_test(every_exponent_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
