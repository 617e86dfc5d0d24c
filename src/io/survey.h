/* What the texts of one column say about it: is it numbers or categories, and which levels has it? Every
 * reader that meets untyped text uses this, so that they all decide alike. */
#ifndef KARMA_I_SURVEY_H
#define KARMA_I_SURVEY_H

#include "io/dictionary.h"
#include "io/source.h"
#include "table/table.h"

/* The texts that mean "missing": the usual ones and the user's. */
typedef struct karma_i_missing {
    karma_i_text *tokens; /* none of them empty; an empty cell is missing anyway */
    size_t n_tokens;
    unsigned char starts[256]; /* true for the first byte of a token */
} karma_i_missing;

karma_status karma_i_missing_init(karma_i_missing *out, const karma_names *extra, karma_error *err);
void karma_i_missing_clear(karma_i_missing *missing);
int karma_i_missing_has_token(const karma_i_missing *missing, const char *text, size_t length);

static inline int karma_i_is_missing(const karma_i_missing *missing, const char *text, size_t length) {
    return length == 0 || (missing->starts[(unsigned char)*text] && karma_i_missing_has_token(missing, text, length));
}

/* A text worth telling the user about. */
typedef struct karma_i_sighting {
    size_t line; /* 0: none was seen */
    char text[KARMA_I_EXCERPT_SIZE];
} karma_i_sighting;

/* How the kind is found, and whether the spellings of numbers are kept (up to a limit, as class names). */
typedef enum karma_i_survey_mode {
    KARMA_I_SURVEY_INFER,
    KARMA_I_SURVEY_NUMBER,  /* forced */
    KARMA_I_SURVEY_CATEGORY /* forced */
} karma_i_survey_mode;

enum { KARMA_I_MAX_SPELLINGS = 1000 };

typedef struct karma_i_survey {
    karma_i_survey_mode mode;
    int keeps_spellings;
    int collects;   /* texts go to the dictionary */
    int incomplete; /* it turned out too late that they should: feed all texts to karma_i_survey_collect */
    size_t n_numbers;
    size_t n_others;
    karma_i_dictionary texts;
    karma_i_sighting first_other, first_infinite;
} karma_i_survey;

void karma_i_survey_init(karma_i_survey *survey, karma_i_survey_mode mode, int keeps_spellings);
void karma_i_survey_clear(karma_i_survey *survey);
/* Takes note of one cell that is not missing. */
karma_status karma_i_survey_add(karma_i_survey *survey, const char *text, size_t length, size_t line, karma_error *err);
/* The second look at an incomplete one. */
karma_status karma_i_survey_collect(karma_i_survey *survey, const char *text, size_t length, karma_error *err);
karma_column_kind karma_i_survey_kind(const karma_i_survey *survey);

/* "FILE: line L, column 'name': 'text' is not a number" (or: not a finite one), if the column must be numbers
 * and a text so far was not. */
karma_status karma_i_survey_check(const karma_i_survey *survey, const char *file, const char *column, karma_error *err);
/* Tells the user when a few texts made categories of what looks like numbers. */
void karma_i_survey_notice(const karma_i_survey *survey, const char *file, const char *column,
                           const karma_hooks *hooks);

/* When all is seen: the levels in ascending byte order (NULL and 0 where there are none to keep), to be
 * handed to a builder. */
karma_status karma_i_survey_levels(char ***levels, size_t *n_levels, karma_i_survey *survey, karma_error *err);
/* After that: the value of a cell that is not missing. */
double karma_i_survey_value(const karma_i_survey *survey, const char *text, size_t length);

#endif
