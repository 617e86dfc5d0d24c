#include "table/numbers.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

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

karma_status karma_i_check_number_type(karma_number_type type, karma_error *err) {
    switch (type) {
#define CASE(constant, c_type) case constant:
        KARMA_NUMBER_TYPE_LIST(CASE)
#undef CASE
        return KARMA_OK;
    }
    return karma_i_fail(err, KARMA_ERR_OPTION, "this library does not know number type %d", (int)type);
}
