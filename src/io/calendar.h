/* Dates and times as people write them in tables. */
#ifndef KARMA_I_CALENDAR_H
#define KARMA_I_CALENDAR_H

#include <stddef.h>

/* The order of day and month if both are numbers and the year comes last. */
typedef enum karma_i_day_order { KARMA_I_DAY_FIRST, KARMA_I_MONTH_FIRST } karma_i_day_order;

typedef struct karma_i_moment {
    int has_date, has_time;
    int year, month, day; /* from 1; of the proleptic Gregorian calendar */
    double hour;          /* 0 to below 24, with minutes and seconds as a fraction */
} karma_i_moment;

/* True and *out if the text is a date, a time of day or both: 2024-03-01, 2024/3/1, 01.03.2024, 3/1/2024, 1 Mar 2024,
 * Mar 1, 2024, each alone or before a time, 14:05, 14:05:30.5, 2:05 PM, with or without a T, Z or +01:00 (which is
 * ignored). `order` decides what 3/1/2024 means. */
int karma_i_moment_parse(karma_i_moment *out, const char *text, size_t length, karma_i_day_order order);

/* Days since 1970-01-01, with the time of day as a fraction. */
double karma_i_moment_days(const karma_i_moment *moment);
/* 1 for Monday to 7 for Sunday. */
int karma_i_moment_weekday(const karma_i_moment *moment);

#endif
