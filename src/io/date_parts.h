/* The attributes made from a column of dates: a column "visit" becomes the numbers "visit.year",
 * "visit.month" and so on. */
#ifndef KARMA_I_DATE_PARTS_H
#define KARMA_I_DATE_PARTS_H

#include "io/calendar.h"

typedef enum karma_i_date_part {
    KARMA_I_PART_YEAR,
    KARMA_I_PART_MONTH,   /* 1 to 12 */
    KARMA_I_PART_WEEKDAY, /* 1 for Monday to 7 for Sunday */
    KARMA_I_PART_HOUR,    /* of the day, with a fraction */
    KARMA_I_PART_DAYS,    /* since 1970-01-01, with a fraction */
    KARMA_I_N_DATE_PARTS
} karma_i_date_part;

/* Room for the name of a part of a column, "visit.year", with its '\0'. */
enum { KARMA_I_PART_NAME_EXTRA = 16 };

/* Writes the name of the part; `out` has room for strlen(column) + KARMA_I_PART_NAME_EXTRA bytes. Returns `out`. */
char *karma_i_date_part_name(char *out, const char *column, karma_i_date_part part);
/* Whether a column with or without dates and times of day has this part. */
int karma_i_has_date_part(karma_i_date_part part, int has_dates, int has_times);
/* Returns true and the value, unless this moment does not have that part. */
int karma_i_date_part_value(double *out, const karma_i_moment *moment, karma_i_date_part part);

#endif
