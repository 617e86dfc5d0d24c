/* Numbers as text, independent of the locale. */
#ifndef KARMA_I_NUMBER_H
#define KARMA_I_NUMBER_H

#include <stddef.h>

/* Reads the whole of text[0..length) as a decimal number: sign, digits, point, exponent; or inf, infinity.
 * True on success. At most 1000 characters where the value needs more than 19 digits. Overflow gives an infinity,
 * underflow 0 or a subnormal. "nan" is not a number. */
int karma_i_number_parse(double *out, const char *text, size_t length);

/* The number that text[0..end) starts with, and the byte after it; NULL if it does not start with a number, or with one
 * that karma_i_number_parse must read: more than 19 digits, a large exponent, an infinity. */
const char *karma_i_number_scan(double *out, const char *text, const char *end);

/* The same for a whole number from 0 to `max`, digits only. */
int karma_i_number_parse_index(size_t *out, const char *text, size_t length, size_t max);

/* A power of two u such that u * largest is near 1: squares of numbers up to `largest` do not overflow or vanish when
 * they are multiplied by u first, and the product does not round. 1 if `largest` is 0 or not finite. */
double karma_i_unit_of(double largest);

#endif
