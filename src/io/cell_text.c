#include "io/cell_text.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

enum { MOST_DIGITS = 15 };

void karma_i_cell_text_clear(karma_i_cell_text *text) {
    karma_i_free(text->bytes);
    *text = (karma_i_cell_text){0};
}

/* Reserves memory for a cell of this many bytes, its quotes and what follows it. */
static int reserve(karma_i_cell_text *t, size_t length) {
    return length < SIZE_MAX / 2 - t->length && karma_i_reserve(&t->bytes, &t->capacity, t->length + length + 4, 1);
}

static void end_cell(karma_i_cell_text *t) {
    int last = ++t->n_cells == t->n_columns;
    t->bytes[t->length++] = last ? '\n' : ',';
    if (last) t->n_cells = 0;
}

static int add_bytes(karma_i_cell_text *t, const char *bytes, size_t length) {
    if (!reserve(t, length)) return 0;
    memcpy(t->bytes + t->length, bytes, length);
    t->length += length;
    end_cell(t);
    return 1;
}

/* An empty cell alone on its line is quoted, because readers may skip an empty line. */
int karma_i_cell_text_add_missing(karma_i_cell_text *text) {
    return add_bytes(text, "\"\"", text->n_columns == 1 ? 2 : 0);
}

/* --- numbers ------------------------------------------------------------------------------------------- */

/* Writes the digits so that they end before `end`; at least `least` of them. Returns where they start. */
static char *put_digits(char *end, uint64_t value, size_t least) {
    char *p = end;
    do {
        *--p = (char)('0' + value % 10);
        value /= 10;
    } while (value || (size_t)(end - p) < least);
    return p;
}

int karma_i_cell_text_add_integer(karma_i_cell_text *text, int64_t value) {
    char digits[24], *end = digits + sizeof digits;
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *p = put_digits(end, size, 1);
    if (value < 0) *--p = '-';
    return add_bytes(text, p, (size_t)(end - p));
}

/* The usual case, without a search for the digits: n / 10^k for the smallest k from 1 to 15 that gives the
 * number. n has at most 15 digits, so n and 10^k are exact and the quotient is rounded once, like the decimal
 * itself. */
static size_t short_decimal(char *out, double value) {
    double size = fabs(value), power = 1.0;
    if (!(size < 1e14 && (size >= 1e-4 || size == 0.0))) return 0;
    for (size_t k = 1; k <= MOST_DIGITS; k++) {
        power *= 10.0;
        double n = nearbyint(size * power);
        if (n >= 1e15) return 0;
        if (n / power != size) continue;
        char digits[32], *end = digits + sizeof digits, *p = put_digits(end, (uint64_t)n, k + 1);
        size_t whole = (size_t)(end - p) - k, sign = signbit(value) ? 1 : 0;
        if (sign) *out = '-';
        memcpy(out + sign, p, whole);
        out[sign + whole] = '.';
        memcpy(out + sign + whole + 1, p + whole, k);
        return sign + whole + 1 + k;
    }
    return 0;
}

/* "1" and "1e+20" become "1.0" and "1.0e+20". */
static size_t with_point(char *text) {
    size_t length = strlen(text), mantissa = strcspn(text, "e");
    if (strspn(text, "-0123456789") < mantissa) return length;
    memmove(text + mantissa + 2, text + mantissa, length - mantissa);
    text[mantissa] = '.';
    text[mantissa + 1] = '0';
    return length + 2;
}

int karma_i_cell_text_add_real(karma_i_cell_text *text, double value) {
    char number[KARMA_NUMBER_SIZE + 4];
    if (isnan(value)) return karma_i_cell_text_add_missing(text);
    size_t length = short_decimal(number, value);
    if (length == 0) {
        (void)karma_number_text(number, value);
        length = isinf(value) ? strlen(number) : with_point(number);
    }
    return add_bytes(text, number, length);
}

/* --- texts --------------------------------------------------------------------------------------------- */

/* Quotes as exports of databases do; they leave blanks at the ends outside the quotes, and the reader trims
 * them. */
static int needs_quotes(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == ',' || bytes[i] == '"' || bytes[i] == '\n' || bytes[i] == '\r') return 1;
    return 0;
}

int karma_i_cell_text_add_text(karma_i_cell_text *text, const char *bytes, size_t length) {
    if (length == 0) return karma_i_cell_text_add_missing(text);
    if (!needs_quotes(bytes, length)) return add_bytes(text, bytes, length);
    if (length > SIZE_MAX / 4 || !reserve(text, 2 * length)) return 0;
    char *to = text->bytes + text->length;
    *to++ = '"';
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"') *to++ = '"';
        *to++ = bytes[i];
    }
    *to++ = '"';
    text->length = (size_t)(to - text->bytes);
    end_cell(text);
    return 1;
}
