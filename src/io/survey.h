/* Finds the kind of a column from its texts: numbers, dates or categories, and its levels. Every reader of
 * untyped text uses this, so that all decide in the same way. */
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
    KARMA_I_SURVEY_MODEL_NUMBER, /* set by the model: any other text is a missing cell, which is counted */
    KARMA_I_SURVEY_MODEL_DATE,   /* the same for dates */
    KARMA_I_SURVEY_CATEGORY      /* set by the user or the model */
} karma_i_survey_mode;

typedef enum karma_i_survey_kind {
    KARMA_I_SURVEYED_NUMBER,
    KARMA_I_SURVEYED_CATEGORY,
    KARMA_I_SURVEYED_DATE
} karma_i_survey_kind;

enum { KARMA_I_MAX_SPELLINGS = 1000, KARMA_I_MOST_EXAMPLES = 3 };

/* Settings of the file and the options for all columns. */
typedef struct karma_i_survey_style {
    char decimal_mark; /* '.' or ',' */
    int finds_dates;
    int day_order;     /* a karma_i_day_order, or -1: found from the cells */
    int doubts_commas; /* commas do not separate fields, so 1,234 may have a decimal comma */
    int counts_rows;   /* a line is a row of a database */
} karma_i_survey_style;

typedef struct karma_i_survey {
    karma_i_survey_mode mode;
    karma_i_survey_style style;
    int is_target;  /* the spellings of its numbers are kept as class names, up to a limit */
    int collects;   /* texts go to the dictionary */
    int incomplete; /* they should have, which was known too late: feed all texts to karma_i_survey_collect */
    size_t n_plain, n_grouped, n_censored; /* numbers, by how they are written */
    size_t n_percent, n_currency;          /* those of them with a percent sign, with that of a currency */
    size_t n_accounting;                   /* those in parentheses or with a minus sign at the end */
    size_t n_zero_first;                   /* those of digits alone that start with 0, as codes do: 01234 */
    unsigned currencies;                   /* bits of numeral.h: which ones */
    size_t n_comma_groups;                 /* those with groups of thousands that may be decimal commas: 1,234 */
    size_t n_mark_groups,
        n_round_groups;  /* numbers such as 52.000, which may be thousands; of these, those that end with 0 */
    int has_fractions;   /* a number was seen that must be a fraction, or many that look like fractions */
    size_t n_other_mark; /* of the others, those that are numbers with the other decimal mark */
    size_t n_holes;      /* texts that are missing in a column of numbers */
    size_t n_others;     /* none of these */
    size_t n_day_first, n_month_first; /* of the others, those that are dates under either order */
    size_t n_ambiguous, n_dotted;      /* those that differ between the two; those written 1.2.2024 */
    size_t n_dates, n_times;           /* cells with a date, with a time of day */
    size_t n_collected;                /* cells whose text went to the dictionary */
    karma_i_dictionary texts;
    karma_i_sighting first_other, first_infinite, first_hole, first_group, first_zero, first_mark_group;
    char examples[KARMA_I_MOST_EXAMPLES][KARMA_I_EXCERPT_SIZE]; /* distinct other texts */
    size_t n_examples;
} karma_i_survey;

void karma_i_survey_init(karma_i_survey *survey, karma_i_survey_mode mode, int is_target, karma_i_survey_style style);
void karma_i_survey_clear(karma_i_survey *survey);
/* Adds one cell whose text does not mean "missing" in every column. *value, if not NULL, becomes its number;
 * for another text that went to the dictionary, its number there as a karma_i_code; otherwise NaN. */
karma_status karma_i_survey_add(karma_i_survey *survey, double *value, const char *text, size_t length, size_t line,
                                karma_error *err);
/* Merges `part`, which has seen the cells that follow; its first line is `first_line`, not 1. codes[i], with
 * room for all texts of `part`, becomes the number here of its text i. */
karma_status karma_i_survey_merge(karma_i_survey *survey, uint32_t *codes, const karma_i_survey *part,
                                  size_t first_line, karma_error *err);
/* After all cells: sets `incomplete` if the texts must be read a second time. */
void karma_i_survey_settle(karma_i_survey *survey);
/* The second pass over an incomplete survey. */
karma_status karma_i_survey_collect(karma_i_survey *survey, const char *text, size_t length, karma_error *err);
/* True if all cells are numbers, or all are texts in the dictionary: their values are then those that
 * karma_i_survey_add gave, and no second pass is needed. */
int karma_i_survey_is_complete(const karma_i_survey *survey);
karma_i_survey_kind karma_i_survey_kind_of(const karma_i_survey *survey);

/* "FILE: line L, column 'name': 'text' is not a number" (or: not a finite one; or: row L), if the column must be
 * numbers and a text so far was not. */
karma_status karma_i_survey_check(const karma_i_survey *survey, const char *file, const char *column, karma_error *err);
/* Notifies the user of decisions that may be wrong: numbers and texts mixed, texts taken as missing, bounds taken
 * as numbers, dates. */
void karma_i_survey_notice(const karma_i_survey *survey, const char *file, const char *column,
                           const karma_hooks *hooks);

/* After all cells: the levels in ascending byte order (NULL and 0 if there are none to keep), to be
 * handed to a builder. ranks[code], if not NULL, becomes the level of a karma_i_code. */
karma_status karma_i_survey_levels(char ***levels, size_t *n_levels, karma_i_survey *survey, uint32_t *ranks,
                                   karma_error *err);
/* After that: true and the value of a cell of numbers or categories; false: it is missing. */
int karma_i_survey_value(double *out, const karma_i_survey *survey, const char *text, size_t length);
/* The same for a date. */
int karma_i_survey_moment(karma_i_moment *out, const karma_i_survey *survey, const char *text, size_t length);
/* The order of day and month that the cells of a column of dates have. */
karma_i_day_order karma_i_survey_day_order(const karma_i_survey *survey);

/* The number of a text in place of a value until the levels are known: a NaN. */
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
