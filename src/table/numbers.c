#include "table/numbers.h"

#include <math.h>
#include <string.h>

double karma_i_number_at(const void *place, karma_number_type type) {
    switch (type) {
#define CASE(constant, c_type)                                                                                         \
    case constant: {                                                                                                   \
        c_type value;                                                                                                  \
        memcpy(&value, place, sizeof value);                                                                           \
        return (double)value;                                                                                          \
    }
        KARMA_NUMBER_TYPE_LIST(CASE)
#undef CASE
    }
    return NAN;
}
