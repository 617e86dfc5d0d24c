/* What kind of column the texts of one column make: is it numbers, dates or categories, and which levels has it? Every
 * reader that meets untyped text uses this, so that they all decide in the same way. */
#ifndef KARMA_I_SURVEY_H
#define KARMA_I_SURVEY_H

#include <string.h>

#include "io/calendar.h"
#include "io/dictionary.h"
#include "io/source.h"
#include "table/table.h"

/* A text that a notice shows to the user. */
typedef struct karma_i_sighting {
    size_t line; /* 0: none was seen */
    char text[KARMA_I_EXCERPT_SIZE];
} karma_i_sighting;

/* How the kind of a column is found. */
typedef enum karma_i_survey_mode {
    KARMA_I_SURVEY_INFER,
    KARMA_I_SURVEY_NUMBER,       /* set by the user: any other text is an error */
    KARMA_I_SURVEY_MODEL_NUMBER, /* set by the model: any other text is a missing cell, and is counted */
    KARMA_I_SURVEY_MODEL_DATE,   /* the same for dates */
    KARMA_I_SURVEY_CATEGORY      /* set by the user or the model */
} karma_i_survey_mode;

typedef enum karma_i_survey_kind {
    KARMA_I_SURVEYED_NUMBER,
    KARMA_I_SURVEYED_CATEGORY,
    KARMA_I_SURVEYED_DATE
} karma_i_survey_kind;

enum { KARMA_I_MAX_SPELLINGS = 1000, KARMA_I_MOST_EXAMPLES = 3 };

/* What the file and the options set for all columns. */
typedef struct karma_i_survey_style {
    char decimal_mark; /* '.' or ',' */
    int finds_dates;
    int day_order;     /* a karma_i_day_order, or -1: found from the cells */
    int doubts_commas; /* commas do not cut the fields, so 1,234 may be a decimal comma */
    int counts_rows;   /* a line is a row of a database */
} karma_i_survey_style;

typedef struct karma_i_survey {
    karma_i_survey_mode mode;
    karma_i_survey_style style;
    int is_target;  /* the spellings of its numbers are kept as class names, up to a limit */
    int collects;   /* texts go to the dictionary */
    int incomplete; /* it turned out too late that they should: feed all texts to karma_i_survey_collect */
    size_t n_plain, n_grouped, n_censored; /* numbers, by how they are written */
    size_t n_percent, n_currency;          /* those of them with a percent sign, with that of a currency */
    size_t n_accounting;                   /* those in parentheses or with a minus sign behind */
    size_t n_zero_first;                   /* those of digits alone that start with 0, as codes do: 01234 */
    unsigned currencies;                   /* bits of numeral.h: which ones */
    size_t n_comma_groups;                 /* those with groups of thousands that may be decimal commas: 1,234 */
    size_t n_mark_groups,
        n_round_groups;  /* numbers such as 52.000, which may be thousands; of these, those that end with 0 */
    int has_fractions;   /* a number was seen that can only be a fraction, or many that look like it */
    size_t n_other_mark; /* of the others, those that are numbers with the other decimal mark */
    size_t n_holes;      /* texts that are missing in a column of numbers */
    size_t n_others;     /* none of these */
    size_t n_day_first, n_month_first; /* of the others, those that are dates under either order */
    size_t n_ambiguous, n_dotted;      /* that are different dates under either; those written 1.2.2024 */
    size_t n_dates, n_times;           /* cells with a date, with a time of day */
    size_t n_collected;                /* cells whose text went to the dictionary */
    karma_i_dictionary texts;
    karma_i_sighting first_other, first_infinite, first_hole, first_group, first_zero, first_mark_group;
    char examples[KARMA_I_MOST_EXAMPLES][KARMA_I_EXCERPT_SIZE]; /* distinct other texts */
    size_t n_examples;
} karma_i_survey;

void karma_i_survey_init(karma_i_survey *survey, karma_i_survey_mode mode, int is_target, karma_i_survey_style style);
void karma_i_survey_clear(karma_i_survey *survey);
/* Takes note of one cell that is not missing in every column. *value, if not NULL, becomes its number; or, of a text
 * that is none and went to the dictionary, the text's number there as a karma_i_code; or NaN. */
karma_status karma_i_survey_add(karma_i_survey *survey, double *value, const char *text, size_t length, size_t line,
                                karma_error *err);
/* Takes in what `part` has seen: the cells that follow, of which the first line is `first_line` and not 1. codes[i]
 * becomes the number here of text i of `part`; it has room for all of them. */
karma_status karma_i_survey_merge(karma_i_survey *survey, uint32_t *codes, const karma_i_survey *part,
                                  size_t first_line, karma_error *err);
/* When all cells are seen: sets `incomplete` if the texts must be read a second time. */
void karma_i_survey_settle(karma_i_survey *survey);
/* The second look at an incomplete one. */
karma_status karma_i_survey_collect(karma_i_survey *survey, const char *text, size_t length, karma_error *err);
/* True if all cells are numbers, or all are texts in the dictionary: their values are then those that
 * karma_i_survey_add gave, and no second look is needed. */
int karma_i_survey_is_complete(const karma_i_survey *survey);
karma_i_survey_kind karma_i_survey_kind_of(const karma_i_survey *survey);

/* "FILE: line L, column 'name': 'text' is not a number" (or: not a finite one; or: row L), if the column must be
 * numbers and a text so far was not. */
karma_status karma_i_survey_check(const karma_i_survey *survey, const char *file, const char *column, karma_error *err);
/* Notifies the user of decisions that may be wrong: numbers and texts mixed, texts taken as missing, bounds taken
 * as numbers, dates. */
void karma_i_survey_notice(const karma_i_survey *survey, const char *file, const char *column,
                           const karma_hooks *hooks);

/* When all is seen: the levels in ascending byte order (NULL and 0 if there are none to keep), to be
 * handed to a builder. ranks[code], if not NULL, becomes the level of a karma_i_code. */
karma_status karma_i_survey_levels(char ***levels, size_t *n_levels, karma_i_survey *survey, uint32_t *ranks,
                                   karma_error *err);
/* After that: true and the value of a cell of numbers or categories; false: it is missing. */
int karma_i_survey_value(double *out, const karma_i_survey *survey, const char *text, size_t length);
/* The same for a date. */
int karma_i_survey_moment(karma_i_moment *out, const karma_i_survey *survey, const char *text, size_t length);
/* The order of day and month that the cells of a column of dates have. */
karma_i_day_order karma_i_survey_day_order(const karma_i_survey *survey);

/* A number of a text in place of a value, until the levels are known: one of the NaNs. */
static inline double karma_i_code(uint32_t number) {
    uint64_t bits = UINT64_C(0xfff8000100000000) | number;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int karma_i_is_code(uint32_t *number, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *number = (uint32_t)bits;
    return bits >> 32 == UINT64_C(0xfff80001);
}

#endif
