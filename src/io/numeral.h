/* Numbers as people write them in tables: 3.14, 3,14, 1,234.5, 1 234, >100. */
#ifndef KARMA_I_NUMERAL_H
#define KARMA_I_NUMERAL_H

#include <stddef.h>

/* How a number was written, beyond the plain way: bits that may be set together. */
enum {
    KARMA_I_NUMERAL_GROUPED = 1,  /* with separators between thousands */
    KARMA_I_NUMERAL_CENSORED = 2, /* with < or > before it or + after it: the number is a bound */
    KARMA_I_NUMERAL_PERCENT = 4,  /* with % after it, which is left out: 12% is 12 */
    KARMA_I_NUMERAL_DOLLAR = 8,   /* with a currency sign before or after it, which is left out */
    KARMA_I_NUMERAL_EURO = 16,
    KARMA_I_NUMERAL_POUND = 32,
    KARMA_I_NUMERAL_YEN = 64,
    KARMA_I_NUMERAL_RUPEE = 128,
    KARMA_I_NUMERAL_FRANC = 256,
    KARMA_I_NUMERAL_KRONE = 512,
    KARMA_I_NUMERAL_CURRENCY = 8 | 16 | 32 | 64 | 128 | 256 | 512,
    KARMA_I_NUMERAL_ACCOUNTING = 1024 /* in parentheses or with a minus sign at the end: (5) and 5- are -5 */
};

/* True and *out if the text is a number. The decimal mark is '.' or ','; the other one may then separate thousands, as
 * may a space, a no-break space or an apostrophe, if every group but the first has three digits and the first does not
 * start with 0; in 1,23,456 the last group has three digits and those before it two, as in India. A sign < >
 * <= >= before the number, a + or % after it, $, €, £, ¥ or ₹ on either side, and a code such as EUR with a
 * blank are dropped. Parentheses around a number without a sign make it negative, and so does a minus sign
 * after it.
 * *how gets the bits above. */
int karma_i_numeral_parse(double *out, unsigned *how, const char *text, size_t length, char decimal_mark);

/* What a text shows about the decimal mark of its file: '.' or ',' if it is a number with that mark only
 * ("3.14", "0,5"); 0 if it is not a number, or is one with either mark ("12", "1,234", which is 1234 or
 * 1.234). */
char karma_i_numeral_mark(const char *text, size_t length);

#endif
