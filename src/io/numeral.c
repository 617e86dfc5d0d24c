#include "io/numeral.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

enum { MOST_BYTES = 64 }; /* of a number that is not written plainly */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The bytes of the thousands separator at the start of the text; 0: there is none. */
static size_t separator_length(const char *text, size_t length, char decimal_mark) {
    char other = decimal_mark == '.' ? ',' : '.';
    if (length == 0) return 0;
    if (*text == other || *text == ' ' || *text == '\'') return 1;
    if (length >= 2 && memcmp(text, "\xc2\xa0", 2) == 0) return 2;     /* no-break space */
    if (length >= 3 && memcmp(text, "\xe2\x80\xaf", 3) == 0) return 3; /* narrow no-break space */
    if (length >= 3 && memcmp(text, "\xe2\x80\x99", 3) == 0) return 3; /* typographic apostrophe */
    return 0;
}

static size_t count_digits(const char *text, size_t length) {
    size_t n = 0;
    while (n < length && is_digit(text[n])) n++;
    return n;
}

/* Copies the integer part without its separators to out: one to three digits, then groups of three, all with
 * the same separator. Returns the number of bytes read and adds those written to *used; 0 if the text has no
 * such groups. */
static size_t copy_groups(char *out, size_t *used, const char *text, size_t length, char decimal_mark) {
    size_t first = count_digits(text, length), at = first, n = first;
    size_t width = separator_length(text + at, length - at, decimal_mark);
    if (first < 1 || first > 3 || width == 0 || *text == '0') return 0; /* 0,125 is not 125 */
    const char *separator = text + at;
    memcpy(out, text, first);
    while (length - at >= width + 3 && memcmp(text + at, separator, width) == 0) {
        if (count_digits(text + at + width, length - at - width) != 3) return 0;
        memcpy(out + n, text + at + width, 3);
        n += 3;
        at += width + 3;
    }
    if (at == first) return 0;
    *used += n;
    return at;
}

/* 12,34,567: one or two digits, groups of two, and the last group of three. Returns the bytes read; 0 if the text has
 * no such groups. */
static size_t copy_indian_groups(char *out, size_t *used, const char *text, size_t length, char decimal_mark) {
    size_t at = count_digits(text, length), n = at;
    if (decimal_mark != '.' || at < 1 || at > 2 || *text == '0') return 0;
    memcpy(out, text, at);
    while (at < length && text[at] == ',') {
        size_t group = count_digits(text + at + 1, length - at - 1);
        if (group != 2 && group != 3) return 0;
        memcpy(out + n, text + at + 1, group);
        n += group;
        at += 1 + group;
        if (group == 2) continue;
        *used += n;
        return at;
    }
    return 0;
}

/* The bytes of a plus or minus sign, also a typographic one, at the start of the text; *sign is its plain
 * form. */
static size_t sign_length(char *sign, const char *text, size_t length) {
    *sign = '-';
    if (length >= 3 && memcmp(text, "\xe2\x88\x92", 3) == 0) return 3; /* U+2212 */
    if (length == 0 || (*text != '-' && *text != '+')) return 0;
    *sign = *text;
    return 1;
}

typedef struct named_currency {
    const char *sign;
    unsigned bit;
} named_currency;

/* The bytes of the currency at the start of the text, and its bit. */
static size_t find_currency(unsigned *how, const char *text, size_t length, const named_currency *list, size_t n_list) {
    for (size_t i = 0; i < n_list; i++) {
        size_t n = strlen(list[i].sign);
        if (length < n || memcmp(text, list[i].sign, n) != 0) continue;
        *how |= list[i].bit;
        return n;
    }
    return 0;
}

static size_t currency_length(unsigned *how, const char *text, size_t length) {
    static const named_currency signs[] = {{"$", KARMA_I_NUMERAL_DOLLAR},
                                           {"\xe2\x82\xac", KARMA_I_NUMERAL_EURO},
                                           {"\xc2\xa3", KARMA_I_NUMERAL_POUND},
                                           {"\xc2\xa5", KARMA_I_NUMERAL_YEN},
                                           {"\xe2\x82\xb9", KARMA_I_NUMERAL_RUPEE}};
    return find_currency(how, text, length, signs, sizeof signs / sizeof signs[0]);
}

/* The same for a currency code, which needs a blank before the number: EUR5 may be a name. */
static size_t currency_code_length(unsigned *how, const char *text, size_t length) {
    static const named_currency codes[] = {
        {"USD", KARMA_I_NUMERAL_DOLLAR}, {"EUR", KARMA_I_NUMERAL_EURO},  {"GBP", KARMA_I_NUMERAL_POUND},
        {"JPY", KARMA_I_NUMERAL_YEN},    {"INR", KARMA_I_NUMERAL_RUPEE}, {"Rs.", KARMA_I_NUMERAL_RUPEE},
        {"Rs", KARMA_I_NUMERAL_RUPEE},   {"CHF", KARMA_I_NUMERAL_FRANC}, {"Fr.", KARMA_I_NUMERAL_FRANC},
        {"kr.", KARMA_I_NUMERAL_KRONE},  {"kr", KARMA_I_NUMERAL_KRONE}};
    return find_currency(how, text, length, codes, sizeof codes / sizeof codes[0]);
}

static size_t blanks_length(const char *text, size_t length) {
    size_t n = 0;
    while (n < length && text[n] == ' ') n++;
    if (length - n >= 2 && memcmp(text + n, "\xc2\xa0", 2) == 0) n += 2; /* no-break space */
    return n;
}

/* Sign and currency in front, in either order: -$5, $-5, € 5. Returns the bytes read; the sign goes to `out`. */
static size_t copy_front(char *out, size_t *used, unsigned *how, const char *text, size_t length) {
    char sign;
    size_t at = sign_length(&sign, text, length);
    if (at) out[(*used)++] = sign;
    unsigned own = 0;
    size_t currency = currency_length(&own, text + at, length - at), blanks;
    int is_code = currency == 0;
    if (is_code) currency = currency_code_length(&own, text + at, length - at);
    blanks = blanks_length(text + at + currency, length - at - currency);
    if (currency == 0 || (is_code && blanks == 0)) return at;
    *how |= own;
    at += currency + blanks;
    if (*used) return at;
    size_t second = sign_length(&sign, text + at, length - at);
    if (second) out[(*used)++] = sign;
    return at + second;
}

/* The text in plain form: with a decimal point and without separators. 0: it cannot be a number. */
static size_t make_plain(char *out, unsigned *how, const char *text, size_t length, char decimal_mark) {
    size_t used = 0, at = copy_front(out, &used, how, text, length);
    if (at < length && (text[at] == '-' || text[at] == '+')) return 0; /* one sign is enough */
    size_t grouped = copy_groups(out + used, &used, text + at, length - at, decimal_mark);
    if (!grouped) grouped = copy_indian_groups(out + used, &used, text + at, length - at, decimal_mark);
    if (grouped) *how |= KARMA_I_NUMERAL_GROUPED;
    at += grouped;
    for (; at < length; at++) {
        char c = text[at];
        if (c == decimal_mark)
            c = '.';
        else if (c == '.' || (grouped && !is_digit(c) && c != 'e' && c != 'E' && c != '-' && c != '+'))
            return 0; /* the other mark, or a group of another length */
        out[used++] = c;
    }
    return used;
}

/* The bytes of < > <= >= and the blanks after it. */
static size_t bound_length(const char *text, size_t length) {
    size_t at = 0;
    if (length >= 3 && (memcmp(text, "\xe2\x89\xa4", 3) == 0 || memcmp(text, "\xe2\x89\xa5", 3) == 0))
        at = 3; /* one character */
    else if (length && (*text == '<' || *text == '>'))
        at = length > 1 && text[1] == '=' ? 2 : 1;
    if (at == 0) return 0;
    while (at < length && text[at] == ' ') at++;
    return at;
}

/* The length without blanks at the end. */
static size_t strip_blanks(const char *text, size_t length) {
    if (length >= 2 && memcmp(text + length - 2, "\xc2\xa0", 2) == 0) return length - 2; /* no-break space */
    while (length && text[length - 1] == ' ') length--;
    return length;
}

/* The length without a percent sign or a currency at the end and the blanks before it. */
static size_t strip_unit(unsigned *how, const char *text, size_t length) {
    if (length >= 2 && text[length - 1] == '%') {
        *how |= KARMA_I_NUMERAL_PERCENT;
        return strip_blanks(text, length - 1);
    }
    for (size_t n = 1; n <= 3 && n < length; n++) {
        unsigned own = 0;
        size_t before = strip_blanks(text, length - n);
        if (currency_length(how, text + length - n, n) == n) return before;
        if (before == length - n || currency_code_length(&own, text + length - n, n) != n) continue;
        *how |= own;
        return before;
    }
    return length;
}

/* A number without parentheses. */
static int parse_bare(double *out, unsigned *how, const char *text, size_t length, char decimal_mark) {
    char plain[MOST_BYTES];
    unsigned found = 0;
    *how = 0;
    if (decimal_mark == '.' && karma_i_number_parse(out, text, length)) return 1;
    if (length >= sizeof plain) return 0;
    size_t bound = bound_length(text, length);
    text += bound;
    length = strip_unit(&found, text, length - bound);
    if (!bound && length > 1 && text[length - 1] == '+') bound = 1, length--;
    size_t used = make_plain(plain, &found, text, length, decimal_mark);
    if (used == 0 || !karma_i_number_parse(out, plain, used)) return 0;
    *how = found | (bound ? KARMA_I_NUMERAL_CENSORED : 0);
    return 1;
}

/* A minus sign at the end, as accounting systems write it (1.234,50-), also before a currency. */
static int parse_minus_behind(double *out, unsigned *how, const char *text, size_t length, char decimal_mark) {
    unsigned found = 0;
    size_t end = strip_unit(&found, text, length);
    if (end < 2 || end >= MOST_BYTES || text[end - 1] != '-' || !is_digit(text[end - 2])) return 0;
    if (!parse_bare(out, how, text, end - 1, decimal_mark)) return 0;
    if (signbit(*out) || *text == '+' || *how & (KARMA_I_NUMERAL_CENSORED | found)) return 0;
    *out = -*out;
    *how |= found | KARMA_I_NUMERAL_ACCOUNTING;
    return 1;
}

int karma_i_numeral_parse(double *out, unsigned *how, const char *text, size_t length, char decimal_mark) {
    while (length && (*text == ' ' || *text == '\t')) text++, length--; /* of quoted cells; others have none */
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    if (length < 3 || *text != '(' || text[length - 1] != ')')
        return parse_bare(out, how, text, length, decimal_mark) ||
               parse_minus_behind(out, how, text, length, decimal_mark);
    if (!parse_bare(out, how, text + 1, length - 2, decimal_mark)) return 0;
    if (signbit(*out) || text[1] == '+' || *how & KARMA_I_NUMERAL_CENSORED) return 0;
    *out = -*out;
    *how |= KARMA_I_NUMERAL_ACCOUNTING;
    return 1;
}

char karma_i_numeral_mark(const char *text, size_t length) {
    double value;
    unsigned how;
    int point = karma_i_numeral_parse(&value, &how, text, length, '.');
    int comma = karma_i_numeral_parse(&value, &how, text, length, ',');
    if (point == comma) return 0;
    return point ? '.' : ',';
}
