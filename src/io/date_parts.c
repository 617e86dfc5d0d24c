#include "io/date_parts.h"

#include <stdio.h>
#include <string.h>

static const char *const part_names[KARMA_I_N_DATE_PARTS] = {
    [KARMA_I_PART_YEAR] = "year", [KARMA_I_PART_MONTH] = "month", [KARMA_I_PART_WEEKDAY] = "weekday",
    [KARMA_I_PART_HOUR] = "hour", [KARMA_I_PART_DAYS] = "days",
};

char *karma_i_date_part_name(char *out, const char *column, karma_i_date_part part) {
    (void)snprintf(out, strlen(column) + KARMA_I_PART_NAME_EXTRA, "%s.%s", column, part_names[part]);
    return out;
}

int karma_i_has_date_part(karma_i_date_part part, int has_dates, int has_times) {
    return part == KARMA_I_PART_HOUR ? has_times : has_dates;
}

int karma_i_date_part_value(double *out, const karma_i_moment *moment, karma_i_date_part part) {
    if (!karma_i_has_date_part(part, moment->has_date, moment->has_time)) return 0;
    switch (part) {
    case KARMA_I_PART_YEAR:
        *out = moment->year;
        break;
    case KARMA_I_PART_MONTH:
        *out = moment->month;
        break;
    case KARMA_I_PART_WEEKDAY:
        *out = karma_i_moment_weekday(moment);
        break;
    case KARMA_I_PART_HOUR:
        *out = moment->hour;
        break;
    case KARMA_I_PART_DAYS:
        *out = karma_i_moment_days(moment);
        break;
    case KARMA_I_N_DATE_PARTS:
        return 0;
    }
    return 1;
}
