/* Decimal numbers, correctly rounded and fast. */
#ifndef KARMA_I_DECIMAL_H
#define KARMA_I_DECIMAL_H

#include <stdint.h>

/* True and *out, the double nearest to digits * 10^exponent (ties to even); false if this needs a slower method, as
 * large exponents do. */
int karma_i_decimal_value(double *out, uint64_t digits, int exponent);

#endif
