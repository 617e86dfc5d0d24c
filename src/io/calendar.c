#include "io/calendar.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The rest of the text. */
typedef struct cursor {
    const char *p, *end;
} cursor;

static void skip_blanks(cursor *c) {
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t')) c->p++;
}

static int take(cursor *c, char wanted) {
    if (c->p == c->end || *c->p != wanted) return 0;
    c->p++;
    return 1;
}

/* A number of least to most digits, not followed by a further digit. */
static int take_number(cursor *c, int *out, int least, int most) {
    int value = 0, n = 0;
    while (c->p < c->end && isdigit((unsigned char)*c->p) && n < most) {
        value = 10 * value + (*c->p++ - '0');
        n++;
    }
    if (n < least || (c->p < c->end && isdigit((unsigned char)*c->p))) return 0;
    *out = value;
    return 1;
}

/* A month from jan to december, in any case: at least the first three letters of the name. */
static int take_month_name(cursor *c, int *out) {
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    size_t n = 0;
    while (c->p + n < c->end && isalpha((unsigned char)c->p[n])) n++;
    for (int m = 0; n >= 3 && m < 12; m++) {
        size_t i = 0;
        while (i < n && names[m][i] && tolower((unsigned char)c->p[i]) == names[m][i]) i++;
        if (i < n) continue;
        c->p += n;
        if (c->p < c->end && *c->p == '.') c->p++;
        *out = m + 1;
        return 1;
    }
    return 0;
}

static int days_of_month(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

static int is_date(const karma_i_moment *m) {
    return m->year >= 1 && m->month >= 1 && m->month <= 12 && m->day >= 1 && m->day <= days_of_month(m->year, m->month);
}

/* 2024-03-01, 2024/3/1 or 2024.3.1 */
static int take_year_first(cursor *c, karma_i_moment *m) {
    if (!take_number(c, &m->year, 4, 4) || c->p == c->end || !strchr("-/.", *c->p)) return 0;
    char mark = *c->p++;
    return take_number(c, &m->month, 1, 2) && take(c, mark) && take_number(c, &m->day, 1, 2);
}

/* 01.03.2024, 3/1/2024 or 1-3-2024 */
static int take_year_last(cursor *c, karma_i_moment *m, karma_i_day_order order) {
    int *first = order == KARMA_I_DAY_FIRST ? &m->day : &m->month, *second = first == &m->day ? &m->month : &m->day;
    if (!take_number(c, first, 1, 2) || c->p == c->end || !strchr("-/.", *c->p)) return 0;
    char mark = *c->p++;
    return take_number(c, second, 1, 2) && take(c, mark) && take_number(c, &m->year, 4, 4);
}

static void skip_marks(cursor *c) {
    while (c->p < c->end && strchr(" ,-", *c->p)) c->p++;
}

/* 1 Mar 2024 or Mar 1, 2024 */
static int take_named_month(cursor *c, karma_i_moment *m) {
    if (take_month_name(c, &m->month)) {
        skip_marks(c);
        if (!take_number(c, &m->day, 1, 2)) return 0;
    } else {
        if (!take_number(c, &m->day, 1, 2)) return 0;
        skip_marks(c);
        if (!take_month_name(c, &m->month)) return 0;
    }
    skip_marks(c);
    return take_number(c, &m->year, 4, 4);
}

static int take_date(cursor *c, karma_i_moment *m, karma_i_day_order order) {
    cursor start = *c;
    if (take_year_first(c, m) && is_date(m)) return 1;
    *c = start;
    if (take_year_last(c, m, order) && is_date(m)) return 1;
    *c = start;
    if (take_named_month(c, m) && is_date(m)) return 1;
    *c = start;
    return 0;
}

static int take_half_of_day(cursor *c, int *hour) {
    skip_blanks(c);
    if (c->end - c->p < 2 || tolower((unsigned char)c->p[1]) != 'm') return 1;
    char half = (char)tolower((unsigned char)*c->p);
    if (half != 'a' && half != 'p') return 1;
    if (*hour < 1 || *hour > 12) return 0;
    *hour = *hour % 12 + (half == 'p' ? 12 : 0);
    c->p += 2;
    return 1;
}

/* The time zone: Z, UTC, +01:00, +0100. */
static int skip_zone(cursor *c) {
    int number;
    skip_blanks(c);
    if (take(c, 'Z')) return 1;
    if (c->end - c->p >= 3 && memcmp(c->p, "UTC", 3) == 0) return c->p += 3, 1;
    if (c->p == c->end || (*c->p != '+' && *c->p != '-')) return 1;
    c->p++;
    cursor start = *c;
    if (take_number(c, &number, 4, 4)) return 1;
    *c = start;
    return take_number(c, &number, 2, 2) && (!take(c, ':') || take_number(c, &number, 2, 2));
}

/* 14:05, 14:05:30, 14:05:30.25, 2:05 PM */
static int take_time(cursor *c, karma_i_moment *m) {
    int hour, minute, second = 0;
    double fraction = 0.0, unit = 0.1;
    if (!take_number(c, &hour, 1, 2) || !take(c, ':') || !take_number(c, &minute, 2, 2)) return 0;
    if (take(c, ':') && !take_number(c, &second, 2, 2)) return 0;
    if (c->p < c->end && *c->p == '.') {
        for (c->p++; c->p < c->end && isdigit((unsigned char)*c->p); c->p++) {
            fraction += unit * (*c->p - '0');
            unit /= 10.0;
        }
    }
    if (!take_half_of_day(c, &hour) || !skip_zone(c)) return 0;
    if (hour > 23 || minute > 59 || second > 60) return 0;
    m->hour = fmin(hour + minute / 60.0 + (second + fraction) / 3600.0, 24.0 - 1e-9);
    return 1;
}

int karma_i_moment_parse(karma_i_moment *out, const char *text, size_t length, karma_i_day_order order) {
    cursor c = {text, text + length};
    karma_i_moment m = {0};
    skip_blanks(&c);
    m.has_date = take_date(&c, &m, order);
    if (m.has_date && c.p < c.end) {
        int separated = *c.p == ' ' || *c.p == 'T' || *c.p == ',';
        if (!separated) return 0;
        c.p++;
        skip_blanks(&c);
    }
    if (c.p < c.end) {
        if (!take_time(&c, &m)) return 0;
        m.has_time = 1;
    }
    skip_blanks(&c);
    if (c.p != c.end || (!m.has_date && !m.has_time)) return 0;
    *out = m;
    return 1;
}

/* Days from civil, after Howard Hinnant's algorithm: years begin in March, so that the leap day is their last. */
double karma_i_moment_days(const karma_i_moment *m) {
    long year = m->year - (m->month <= 2), era = (year >= 0 ? year : year - 399) / 400;
    long of_era = year - era * 400, of_year = (153 * (m->month + (m->month > 2 ? -3 : 9)) + 2) / 5 + m->day - 1;
    long days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return (double)days + m->hour / 24.0;
}

int karma_i_moment_weekday(const karma_i_moment *m) {
    long days = (long)floor(karma_i_moment_days(m)); /* 1970-01-01 was a Thursday */
    return (int)(((days + 3) % 7 + 7) % 7) + 1;
}
