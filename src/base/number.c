/* Reading: a decimal with at most 19 digits and a small exponent is exact in one multiplication or division
 * (Clinger's fast path); anything else goes to strtod, which gets the text in the locale's own spelling.
 * Writing: the shortest of 15, 16 and 17 significant digits that reads back. */
#include "base/number.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "karma/base.h"

/* Texts beyond this are no numbers that anyone wrote down. */
enum { LONGEST_NUMBER = 1000 };

typedef struct decimal {
    uint64_t digits; /* the first 19 significant digits */
    int exponent;    /* value = digits * 10^exponent when `exact` */
    int negative;
    int exact; /* no digit was left out */
} decimal;

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* True when text is sign? (digits point? digits? | point digits) (e sign? digits)? and nothing else. */
static int scan_decimal(decimal *out, const char *text, size_t length) {
    const char *p = text, *end = text + length;
    decimal d = {0, 0, 0, 1};
    size_t n_digits = 0;
    int n_kept = 0, seen_point = 0;
    if (p < end && (*p == '-' || *p == '+')) d.negative = *p++ == '-';
    for (; p < end && (is_digit(*p) || (*p == '.' && !seen_point)); p++) {
        if (*p == '.') {
            seen_point = 1;
            continue;
        }
        n_digits++;
        if (n_kept < 19) {
            d.digits = d.digits * 10 + (uint64_t)(*p - '0');
            if (d.digits) n_kept++;
            if (seen_point) d.exponent--;
        } else {
            d.exact = 0;
        }
    }
    if (n_digits == 0) return 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int sign = 1, e = 0;
        p++;
        if (p < end && (*p == '-' || *p == '+')) sign = *p++ == '-' ? -1 : 1;
        if (p == end || !is_digit(*p)) return 0;
        for (; p < end && is_digit(*p); p++)
            if (e < 100000) e = e * 10 + (*p - '0');
        d.exponent += sign * e;
    }
    *out = d;
    return p == end;
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

int karma_i_number_parse(double *out, const char *text, size_t length) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    decimal d;
    int negative;
    if (!scan_decimal(&d, text, length)) {
        if (!is_infinity(text, length, &negative)) return 0;
        *out = negative ? -INFINITY : INFINITY;
        return 1;
    }
    if (d.exact && d.digits <= UINT64_C(1) << 53 && d.exponent >= -22 && d.exponent <= 22) {
        double value = (double)d.digits;
        value = d.exponent < 0 ? value / powers[-d.exponent] : value * powers[d.exponent];
        *out = d.negative ? -value : value;
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
