/* Reading: a decimal of at most 19 digits and a moderate exponent is rounded by decimal.c; anything else goes to
 * strtod, which gets the text in the locale's own spelling.
 * Writing: the shortest of 15, 16 and 17 significant digits that reads back. */
#include "base/number.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"
#include "karma/base.h"

/* Texts beyond this are not numbers that anyone wrote down. */
enum { LONGEST_NUMBER = 1000 };

typedef struct decimal {
    uint64_t digits; /* the significant digits, when there are at most 19 of them */
    int exponent;    /* value = digits * 10^exponent when `exact` */
    int negative;
    int exact; /* no digit was left out */
} decimal;

enum { MOST_DIGITS = 19 };

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* True if all eight bytes are digits, which are then appended to *digits. One multiplication each joins
 * pairs, then fours, then all eight. */
static inline int take_eight(uint64_t *digits, const char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    uint64_t high = word & UINT64_C(0xf0f0f0f0f0f0f0f0),
             carried = (word + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0);
    if (high != UINT64_C(0x3030303030303030) || carried != UINT64_C(0x3030303030303030)) return 0;
    word = (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) * (10 * 256 + 1) >> 8;
    word = (word & UINT64_C(0x00ff00ff00ff00ff)) * (100 * 65536 + 1) >> 16;
    word = (word & UINT64_C(0x0000ffff0000ffff)) * (UINT64_C(10000) * 4294967296 + 1) >> 32;
    *digits = *digits * 100000000 + word;
    return 1;
}
#else
static inline int take_eight(uint64_t *digits, const char *text) {
    (void)digits, (void)text;
    return 0;
}
#endif

/* Appends all digits from `p` on to *digits (modulo 2^64); returns the byte after them. */
static inline const char *take_digits(uint64_t *digits, const char *p, const char *end) {
    while (end - p >= 8 && take_eight(digits, p)) p += 8;
    for (; p < end && is_digit(*p); p++) *digits = *digits * 10 + (uint64_t)(*p - '0');
    return p;
}

/* Adds the exponent that starts with "e" to *exponent; NULL if it is not valid. */
static const char *take_exponent(int *exponent, const char *p, const char *end) {
    int sign = 1, e = 0;
    p++;
    if (p < end && (*p == '-' || *p == '+')) sign = *p++ == '-' ? -1 : 1;
    if (p == end || !is_digit(*p)) return NULL;
    for (; p < end && is_digit(*p); p++)
        if (e < 100000) e = e * 10 + (*p - '0');
    *exponent += sign * e;
    return p;
}

/* Reads sign? (digits point? digits? | point digits) (e sign? digits)? and returns the byte after it; NULL if the text
 * does not start with a number. */
static inline const char *scan_decimal(decimal *out, const char *text, const char *end) {
    const char *p = text;
    decimal d = {0, 0, 0, 1};
    if (p < end && (*p == '-' || *p == '+')) d.negative = *p++ == '-';
    const char *first = p, *point = NULL;
    p = take_digits(&d.digits, p, end);
    if (p < end && *p == '.') {
        point = p;
        p = take_digits(&d.digits, p + 1, end);
    }
    ptrdiff_t n_digits = p - first - (point != NULL);
    if (n_digits == 0) return NULL;
    ptrdiff_t n_fraction = point ? p - point - 1 : 0;
    if (n_digits > MOST_DIGITS) { /* leading zeros do not count */
        for (; first < p && (*first == '0' || *first == '.'); first++) n_digits -= *first == '0';
        d.exact = n_digits <= MOST_DIGITS;
    }
    if (n_fraction > LONGEST_NUMBER) d.exact = 0;
    d.exponent = n_fraction > LONGEST_NUMBER ? 0 : -(int)n_fraction;
    if (p < end && (*p == 'e' || *p == 'E')) p = take_exponent(&d.exponent, p, end);
    *out = d;
    return p;
}

static int is_infinity(const char *text, size_t length, int *negative) {
    *negative = length && *text == '-';
    if (length && (*text == '-' || *text == '+')) text++, length--;
    static const char *const names[] = {"inf", "infinity"};
    for (size_t n = 0; n < 2; n++) {
        if (strlen(names[n]) != length) continue;
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == names[n][i]) i++;
        if (i == length) return 1;
    }
    return 0;
}

/* strtod on a copy whose point is the locale's (which is at most a few bytes). */
static void parse_slowly(double *out, const char *text, size_t length) {
    const char *point = localeconv()->decimal_point;
    size_t n_point = strlen(point);
    char copy[LONGEST_NUMBER + 64];
    const char *dot = memchr(text, '.', length);
    size_t before = dot ? (size_t)(dot - text) : length, used = before;
    memcpy(copy, text, before);
    if (dot) {
        memcpy(copy + used, point, n_point);
        used += n_point;
        memcpy(copy + used, dot + 1, length - before - 1);
        used += length - before - 1;
    }
    copy[used] = '\0';
    *out = strtod(copy, NULL);
}

const char *karma_i_number_scan(double *out, const char *text, const char *end) {
    decimal d;
    double value;
    const char *behind = scan_decimal(&d, text, end);
    if (!behind || !d.exact || !karma_i_decimal_value(&value, d.digits, d.exponent)) return NULL;
    *out = d.negative ? -value : value;
    return behind;
}

int karma_i_number_parse(double *out, const char *text, size_t length) {
    decimal d = {0};
    int negative;
    const char *behind = scan_decimal(&d, text, text + length);
    if (!behind || behind != text + length) {
        if (!is_infinity(text, length, &negative)) return 0;
        *out = negative ? -INFINITY : INFINITY;
        return 1;
    }
    if (d.exact && karma_i_decimal_value(out, d.digits, d.exponent)) {
        if (d.negative) *out = -*out;
        return 1;
    }
    if (length > LONGEST_NUMBER) return 0;
    parse_slowly(out, text, length);
    return 1;
}

int karma_i_number_parse_index(size_t *out, const char *text, size_t length, size_t max) {
    size_t value = 0;
    if (length == 0) return 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i])) return 0;
        size_t digit = (size_t)(text[i] - '0');
        if (digit > max || value > (max - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return 1;
}

char *karma_number_text(char *text, double value) {
    if (isnan(value)) return memcpy(text, "nan", 4);
    if (isinf(value)) return memcpy(text, value < 0 ? "-inf" : "inf\0", 5);
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, KARMA_NUMBER_SIZE, "%.*g", precision, value);
        if (strtod(text, NULL) == value) break;
    }
    const char *point = localeconv()->decimal_point;
    char *found = strcmp(point, ".") == 0 ? NULL : strstr(text, point);
    if (found) {
        size_t n = strlen(point);
        *found = '.';
        memmove(found + 1, found + n, strlen(found + n) + 1);
    }
    return text;
}

double karma_i_unit_of(double largest) {
    int exponent = 0;
    if (isfinite(largest)) (void)frexp(largest, &exponent);
    return ldexp(1.0, exponent < -1000 ? 1000 : exponent > 1000 ? -1000 : -exponent);
}
