#include "table/review_levels.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { LONG_UNIT = 12, MOST_UNITS = 5 }; /* bytes of a unit, and different units of a column */
enum { LEAST_STEPS = 3 };                /* two levels have no order worth the name */

static const char DIGITS[] = "0123456789";

/* A sign stands at one end or in an exponent, and between several points or commas are groups of three digits:
 * 10.0.0.12 is an address, 978-3-16 a code. */
int karma_i_level_is_number(const char *text) {
    size_t digits = strcspn(text, DIGITS), length = strlen(text), last_mark = 0;
    if (digits == length || strspn(text, "+-0123456789.,eE") < length) return 0;
    for (size_t i = 1; i < length; i++) {
        int is_sign = text[i] == '+' || text[i] == '-', is_mark = text[i] == '.' || text[i] == ',';
        if (is_sign && i + 1 < length && text[i - 1] != 'e' && text[i - 1] != 'E') return 0;
        if (is_mark && last_mark && i - last_mark != 4) return 0;
        if (is_mark) last_mark = i;
    }
    return 1;
}

double karma_i_share_of_numbers(const karma_i_column *column) {
    size_t n = 0;
    for (size_t l = 0; l < column->n_levels; l++) n += karma_i_level_is_number(column->levels[l]) ? 1 : 0;
    return column->n_levels ? (double)n / (double)column->n_levels : 0.0;
}

/* --- units --------------------------------------------------------------------------------------------- */

/* The text before and after the number. */
typedef struct surroundings {
    const char *before, *after;
    size_t n_before, n_after;
} surroundings;

/* Signs, or a currency code and a blank. Other letters before a number make it a name: P0501, Room 12. */
static int may_stand_before(const char *text, size_t length) {
    size_t n_letters = 0;
    for (size_t i = 0; i < length; i++) n_letters += isalpha((unsigned char)text[i]) ? 1 : 0;
    if (n_letters == 0) return 1;
    return length == 4 && isupper((unsigned char)text[0]) && isupper((unsigned char)text[1]) &&
           isupper((unsigned char)text[2]) && text[3] == ' ';
}

/* False if the text has another form. */
static int find_surroundings(surroundings *out, const char *text) {
    size_t first = strcspn(text, DIGITS), length = strlen(text);
    if (first == length) return 0;
    size_t start = first > 0 && strchr("+-.", text[first - 1]) ? first - 1 : first;
    size_t end = first + strspn(text + first, "0123456789.,' ");
    while (end > first && !isdigit((unsigned char)text[end - 1])) end--;
    *out = (surroundings){text, text + end, start, length - end};
    return out->n_before <= LONG_UNIT && out->n_after <= LONG_UNIT && strcspn(text + end, DIGITS) == out->n_after &&
           out->n_before + out->n_after > 0 && may_stand_before(text, start);
}

static int is_same(const surroundings *a, const surroundings *b) {
    return a->n_before == b->n_before && a->n_after == b->n_after && memcmp(a->before, b->before, a->n_before) == 0 &&
           memcmp(a->after, b->after, a->n_after) == 0;
}

int karma_i_levels_have_units(size_t *other, const karma_i_column *column, int may_differ) {
    surroundings units[MOST_UNITS], own;
    size_t n_units = 0;
    *other = 0;
    if (column->n_levels < KARMA_I_LEAST_LEVELS) return 0;
    for (size_t l = 0; l < column->n_levels; l++) {
        size_t u = 0;
        if (!find_surroundings(&own, column->levels[l])) return 0;
        while (u < n_units && !is_same(&own, &units[u])) u++;
        if (u < n_units) continue;
        if (n_units == (may_differ ? MOST_UNITS : 1)) return 0;
        units[n_units++] = own;
        if (n_units == 2) *other = l;
    }
    return 1;
}

/* --- dates --------------------------------------------------------------------------------------------- */

static size_t count_digits(const char *text) {
    return strspn(text, DIGITS);
}

static size_t count_blanks(const char *text) {
    return strspn(text, " \t");
}

/* 31/12/2023, 2023-12-31, 31.12.23: three groups of digits. Groups of three are thousands. */
static int is_date(const char *text) {
    size_t at = 0;
    for (int group = 0; group < 3; group++) {
        size_t n = count_digits(text + at);
        if (n < 1 || n == 3 || n > 4 || (group < 2 && (text[at + n] == '\0' || !strchr("/-.", text[at + n])))) return 0;
        at += n + (group < 2 ? 1 : 0);
    }
    return text[at] == '\0' || text[at] == ' ' || text[at] == 'T';
}

/* 2023-12, 12/2023 */
static int is_month_number(const char *text) {
    size_t first = count_digits(text);
    if (first == 0 || text[first] == '\0' || !strchr("-/", text[first])) return 0;
    const char *rest = text + first + 1;
    size_t second = count_digits(rest);
    const char *year = first == 4 ? text : rest;
    int has_year = (first == 4 && second == 2) || (first <= 2 && second == 4);
    return rest[second] == '\0' && has_year && (strncmp(year, "19", 2) == 0 || strncmp(year, "20", 2) == 0);
}

/* Dec-23, December 2023 */
static int is_month_name(const char *text) {
    static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                         "jul", "aug", "sep", "oct", "nov", "dec"};
    char start[4] = "";
    size_t letters = 0;
    for (; isalpha((unsigned char)text[letters]); letters++)
        if (letters < 3) start[letters] = (char)tolower((unsigned char)text[letters]);
    size_t m = 0;
    while (m < 12 && strcmp(start, months[m]) != 0) m++;
    if (m == 12 || text[letters] == '\0' || !strchr(" -/'", text[letters])) return 0;
    size_t n = count_digits(text + letters + 1);
    return (n == 2 || n == 4) && text[letters + 1 + n] == '\0';
}

static int is_year(const char *text) {
    return count_digits(text) == 4 && (strncmp(text, "19", 2) == 0 || strncmp(text, "20", 2) == 0);
}

/* The bytes of Q1, W05, H2 or M11, the part of a year; 0: it is not one. */
static size_t read_period(const char *text) {
    size_t n = *text && strchr("QqWwHhMm", *text) ? count_digits(text + 1) : 0;
    return n == 1 || n == 2 ? 1 + n : 0;
}

/* 2020Q1, 2020-W05, Q1 2020 */
static int is_period(const char *text) {
    size_t n = is_year(text) ? 4 : read_period(text);
    int is_first = n && n < 4;
    if (n == 0) return 0;
    text += n;
    text += *text && strchr(" -/", *text) ? 1 : 0;
    n = is_first ? (is_year(text) ? 4 : 0) : read_period(text);
    return n && text[n] == '\0';
}

/* The first letters of months in English and the languages around it. */
static int starts_as_month(const char *word) {
    static const char *const months[] = {
        "jan", "feb", "f\303\251v", "fev", "mar", "m\303\244r", "apr", "abr",        "avr", "may",        "mai", "mag",
        "maj", "mei", "jun",        "jui", "giu", "jul",        "lug", "aug",        "ago", "ao\303\273", "sep", "set",
        "oct", "okt", "out",        "ott", "nov", "dec",        "dez", "d\303\251c", "dic", "ene",        "gen"};
    for (size_t i = 0; i < sizeof months / sizeof months[0]; i++)
        if (strncasecmp(word, months[i], strlen(months[i])) == 0) return 1;
    return 0;
}

/* Mon, 01 Jan 2020; 1. Dezember 2020: a day, a year, the word of a month and no other digits. */
static int is_worded_date(const char *text) {
    int n_days = 0, n_years = 0, has_month = 0, was_letter = 0;
    while (*text) {
        size_t n = count_digits(text);
        if (n) {
            n_years += is_year(text);
            n_days += n <= 2;
            if (n > 2 && !is_year(text)) return 0;
            text += n;
            was_letter = 0;
            continue;
        }
        has_month |= !was_letter && starts_as_month(text);
        was_letter = isalpha((unsigned char)*text) || (unsigned char)*text >= 0x80;
        text++;
    }
    return n_days == 1 && n_years == 1 && has_month;
}

int karma_i_levels_are_dates(const karma_i_column *column) {
    size_t n = 0;
    for (size_t l = 0; l < column->n_levels; l++) {
        const char *text = column->levels[l];
        n += is_date(text) || is_month_number(text) || is_month_name(text) || is_period(text) || is_worded_date(text);
    }
    return column->n_levels >= KARMA_I_LEAST_LEVELS && 2 * n > column->n_levels;
}

/* 13h20, 13 h 20 min, 13H */
static int is_hours_and_minutes(const char *text) {
    size_t digits = count_digits(text);
    if (digits == 0 || digits > 5) return 0;
    text += digits;
    text += count_blanks(text);
    if (tolower((unsigned char)*text) != 'h') return 0;
    text += 1 + count_blanks(text + 1);
    digits = count_digits(text);
    if (digits == 0) return *text == '\0';
    text += digits;
    text += count_blanks(text);
    return digits <= 2 && (*text == '\0' || strcasecmp(text, "m") == 0 || strcasecmp(text, "min") == 0);
}

/* The bytes of a unit of time at the start of a text. */
static size_t read_time_unit(const char *text) {
    static const char *const units[] = {"y",      "yr",   "yrs",   "year", "years",  "mo",      "mon",    "month",
                                        "months", "m",    "min",   "mins", "minute", "minutes", "w",      "wk",
                                        "wks",    "week", "weeks", "d",    "day",    "days",    "h",      "hr",
                                        "hrs",    "hour", "hours", "s",    "sec",    "secs",    "second", "seconds"};
    size_t n = 0;
    while (isalpha((unsigned char)text[n])) n++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strlen(units[i]) == n && strncasecmp(text, units[i], n) == 0) return n;
    return 0;
}

/* 2y 7m, 5 years 3 months: at least two numbers with units of time. */
static int is_parts_of_time(const char *text) {
    size_t n_parts = 0;
    for (; *text; n_parts++) {
        size_t digits = count_digits(text), unit;
        if (digits == 0 || digits > 5) return 0;
        text += digits + count_blanks(text + digits);
        unit = read_time_unit(text);
        if (unit == 0) return 0;
        text += unit;
        text += strspn(text, " ,.");
    }
    return n_parts >= 2;
}

static int is_duration(const char *text) {
    if (is_hours_and_minutes(text) || is_parts_of_time(text)) return 1;
    size_t hours = count_digits(text);
    if (hours == 0 || hours > 5 || text[hours] != ':') return 0;
    text += hours + 1;
    if (count_digits(text) != 2) return 0;
    if (text[2] == '\0') return 1;
    return text[2] == ':' && count_digits(text + 3) == 2 && (text[5] == '\0' || text[5] == '.');
}

int karma_i_levels_are_durations(const karma_i_column *column) {
    for (size_t l = 0; l < column->n_levels; l++)
        if (!is_duration(column->levels[l])) return 0;
    return column->n_levels >= KARMA_I_LEAST_LEVELS;
}

/* --- steps --------------------------------------------------------------------------------------------- */

/* The bytes of digits with or without a fraction; *value is without it. */
static size_t read_number(double *value, const char *text) {
    size_t whole = count_digits(text), length = whole;
    if (whole == 0 || whole > 9) return 0;
    if (text[whole] == '.') length += 1 + count_digits(text + whole + 1);
    *value = 0.0;
    for (size_t i = 0; i < whole; i++) *value = 10.0 * *value + (double)(text[i] - '0');
    return length;
}

/* 46-55, 46 - 55, 46 to 55, with a hyphen or a dash: the first number is not the larger one. */
static int is_range(const char *text) {
    static const char *const between[] = {"-", "\xe2\x80\x93", "to"};
    double low, high;
    size_t n = read_number(&low, text);
    if (n == 0) return 0;
    text += n + count_blanks(text + n);
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++) {
        size_t length = strlen(between[i]);
        if (strncmp(text, between[i], length) != 0) continue;
        text += length + count_blanks(text + length);
        n = read_number(&high, text);
        return n && text[n] == '\0' && low <= high;
    }
    return 0;
}

/* 1st, 2nd, 3rd, 4th, 11th */
static int is_ordinal(const char *text) {
    size_t n = count_digits(text);
    return n > 0 && (!strcasecmp(text + n, "st") || !strcasecmp(text + n, "nd") || !strcasecmp(text + n, "rd") ||
                     !strcasecmp(text + n, "th"));
}

/* >65, >=65, 65+; not <18, because option 'ordered' cannot name a level with < in it */
static int is_bound(const char *text) {
    size_t sign = strspn(text, ">="), n;
    double value;
    text += sign + count_blanks(text + sign);
    n = read_number(&value, text);
    return n && (sign ? text[n] == '\0' : strcmp(text + n, "+") == 0);
}

int karma_i_levels_are_steps(const karma_i_column *column) {
    size_t n_steps = 0;
    for (size_t l = 0; l < column->n_levels; l++) {
        int is_step = is_range(column->levels[l]) || is_ordinal(column->levels[l]);
        if (!is_step && !is_bound(column->levels[l])) return 0;
        n_steps += is_step ? 1 : 0;
    }
    return column->n_levels >= LEAST_STEPS && 2 * n_steps >= column->n_levels;
}

/* --- several numbers in one cell ------------------------------------------------------------------------- */

enum { LONG_BETWEEN = 4, LONG_BEHIND = 4 }; /* bytes between two numbers and behind the last */

/* Whether `length` bytes join two numbers: 120/80, 1:3, 12 (30%), 10 x 20, [1, 2]. A dash makes a range or a code, a
 * comma or a point a number. */
static int is_between(const char *text, size_t length) {
    static const char *const words[] = {"x", "X", "of"};
    while (length && text[length - 1] == ' ') length--;
    while (length && *text == ' ') text++, length--;
    if (length == 0 || length > LONG_BETWEEN) return 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && memcmp(text, words[i], length) == 0) return 1;
    for (size_t i = 0; i < length; i++)
        if (isalnum((unsigned char)text[i]) || text[i] == '.' || text[i] == '\xe2') return 0; /* e2: other dashes */
    return length > 1 || *text != ',' || text[1] == ' ';
}

/* The bytes between two numbers; 0: the text has another form. */
static size_t read_between(const char *text) {
    size_t blanks = count_blanks(text), length = strcspn(text, "0123456789+-");
    if (strncmp(text + blanks, "+/-", 3) == 0) return blanks + 3 + count_blanks(text + blanks + 3);
    return is_between(text, length) ? length : 0;
}

static size_t read_signed(const char *text) {
    size_t sign = *text == '-' || *text == '+' ? 1 : 0, n = count_digits(text + sign);
    if (n == 0) return 0;
    size_t fraction = text[sign + n] == '.' ? count_digits(text + sign + n + 1) : 0;
    return sign + n + (fraction ? 1 + fraction : 0);
}

/* Two or three numbers. */
static int is_pair(const char *text) {
    text += strspn(text, "([{ ");
    for (size_t n_numbers = 1; n_numbers <= 3; n_numbers++) {
        size_t n = read_signed(text);
        if (n == 0) return 0;
        text += n;
        if (n_numbers > 1 && strcspn(text, DIGITS) == strlen(text)) return strlen(text) <= LONG_BEHIND;
        n = read_between(text);
        if (n == 0) return 0;
        text += n;
    }
    return 0;
}

int karma_i_levels_are_pairs(const karma_i_column *column) {
    for (size_t l = 0; l < column->n_levels; l++)
        if (!is_pair(column->levels[l])) return 0;
    return column->n_levels >= KARMA_I_LEAST_LEVELS;
}

/* --- levels that may mean the same ----------------------------------------------------------------------- */

int karma_i_levels_are_alike(const char *a, const char *b) {
    size_t from_a = count_blanks(a), from_b = count_blanks(b), length_a = strlen(a), length_b = strlen(b);
    while (length_a > from_a && strchr(" \t", a[length_a - 1])) length_a--;
    while (length_b > from_b && strchr(" \t", b[length_b - 1])) length_b--;
    return length_a - from_a == length_b - from_b && strncasecmp(a + from_a, b + from_b, length_a - from_a) == 0;
}

/* 1: yes, -1: no, 0: another word. */
static int answer(const char *text) {
    static const char *const yes[] = {"yes", "y", "true", "t"}, *const no[] = {"no", "n", "false", "f"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        if (karma_i_levels_are_alike(text, yes[i])) return 1;
        if (karma_i_levels_are_alike(text, no[i])) return -1;
    }
    return 0;
}

int karma_i_levels_are_answers(const karma_i_column *column) {
    for (size_t l = 0; l < column->n_levels; l++)
        if (answer(column->levels[l]) == 0) return 0;
    return column->n_levels > 2;
}

int karma_i_answers_are_alike(const char *a, const char *b) {
    return answer(a) == answer(b) && (strlen(a) > 1 || strlen(b) > 1);
}

int karma_i_level_is_mark(const char *text) {
    size_t length = strlen(text), blanks = count_blanks(text);
    return length > blanks && strspn(text, "-. \xe2\x80\x93\x94") == length; /* also – and — */
}
