/* A column of categories almost always shows in its first cell, and is collected from there on. Only where
 * numbers come first and a word later must the texts be gone through once more. */
#include "io/survey.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

static const char *const usual_tokens[] = {"NA", "N/A", "NaN", "nan", "?", "null", "NULL", "None"};
enum { N_USUAL = sizeof usual_tokens / sizeof usual_tokens[0] };

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Cells are compared after trimming, so a token must be trimmed too. */
static karma_i_text trimmed(const char *text) {
    size_t length = strlen(text);
    while (length && is_blank(*text)) text++, length--;
    while (length && is_blank(text[length - 1])) length--;
    return (karma_i_text){text, length};
}

karma_status karma_i_missing_init(karma_i_missing *out, const karma_names *extra, karma_error *err) {
    *out = (karma_i_missing){0};
    if (extra->count > PTRDIFF_MAX - N_USUAL) return karma_i_fail_memory(err);
    out->tokens = karma_i_alloc(N_USUAL + extra->count, sizeof *out->tokens);
    if (!out->tokens) return karma_i_fail_memory(err);
    for (size_t i = 0; i < N_USUAL + extra->count; i++) {
        karma_i_text token = trimmed(i < N_USUAL ? usual_tokens[i] : extra->items[i - N_USUAL]);
        if (token.length == 0) continue;
        out->starts[(unsigned char)token.text[0]] = 1;
        out->tokens[out->n_tokens++] = token;
    }
    return KARMA_OK;
}

void karma_i_missing_clear(karma_i_missing *missing) {
    karma_i_free(missing->tokens);
    *missing = (karma_i_missing){0};
}

int karma_i_missing_has_token(const karma_i_missing *missing, const char *text, size_t length) {
    for (size_t i = 0; i < missing->n_tokens; i++)
        if (missing->tokens[i].length == length && memcmp(missing->tokens[i].text, text, length) == 0) return 1;
    return 0;
}

void karma_i_survey_init(karma_i_survey *survey, karma_i_survey_mode mode, int keeps_spellings) {
    *survey = (karma_i_survey){.mode = mode, .keeps_spellings = keeps_spellings};
    survey->collects = mode == KARMA_I_SURVEY_CATEGORY || keeps_spellings;
}

void karma_i_survey_clear(karma_i_survey *survey) {
    karma_i_dictionary_clear(&survey->texts);
}

karma_column_kind karma_i_survey_kind(const karma_i_survey *survey) {
    if (survey->mode == KARMA_I_SURVEY_NUMBER) return KARMA_COLUMN_NUMBER;
    if (survey->mode == KARMA_I_SURVEY_CATEGORY) return KARMA_COLUMN_CATEGORY;
    return survey->n_others ? KARMA_COLUMN_CATEGORY : KARMA_COLUMN_NUMBER;
}

static void sight(karma_i_sighting *sighting, const char *text, size_t length, size_t line) {
    if (sighting->line) return;
    sighting->line = line;
    (void)karma_i_excerpt(sighting->text, text, length);
}

/* A word: from now on the column is categories, unless it is forced to be numbers. */
static void add_other(karma_i_survey *s, const char *text, size_t length, size_t line) {
    sight(&s->first_other, text, length, line);
    if (s->n_others++ || s->mode != KARMA_I_SURVEY_INFER || s->collects) return;
    s->collects = s->n_numbers == 0;
    s->incomplete = !s->collects;
}

karma_status karma_i_survey_add(karma_i_survey *survey, const char *text, size_t length, size_t line,
                                karma_error *err) {
    karma_i_survey *s = survey;
    double value;
    if (s->mode != KARMA_I_SURVEY_CATEGORY) {
        if (karma_i_number_parse(&value, text, length)) {
            s->n_numbers++;
            if (isinf(value)) sight(&s->first_infinite, text, length, line);
        } else {
            add_other(s, text, length, line);
        }
    }
    if (!s->collects) return KARMA_OK;
    KARMA_TRY(karma_i_dictionary_add(NULL, &s->texts, text, length, err));
    if (s->texts.count > KARMA_I_MAX_SPELLINGS && karma_i_survey_kind(s) == KARMA_COLUMN_NUMBER) {
        karma_i_dictionary_clear(&s->texts);
        s->collects = s->keeps_spellings = 0;
    }
    return KARMA_OK;
}

karma_status karma_i_survey_collect(karma_i_survey *survey, const char *text, size_t length, karma_error *err) {
    return karma_i_dictionary_add(NULL, &survey->texts, text, length, err);
}

karma_status karma_i_survey_check(const karma_i_survey *survey, const char *file, const char *column,
                                  karma_error *err) {
    char name[KARMA_I_EXCERPT_SIZE];
    if (karma_i_survey_kind(survey) != KARMA_COLUMN_NUMBER) return KARMA_OK;
    const karma_i_sighting *bad = survey->first_other.line ? &survey->first_other : &survey->first_infinite;
    if (bad->line == 0) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: line %zu, column '%s': '%s' is not a %snumber", file, bad->line,
                        karma_i_excerpt(name, column, strlen(column)), bad->text,
                        bad == &survey->first_other ? "" : "finite ");
}

void karma_i_survey_notice(const karma_i_survey *survey, const char *file, const char *column,
                           const karma_hooks *hooks) {
    size_t numbers = survey->n_numbers, cells = numbers + survey->n_others;
    if (survey->mode != KARMA_I_SURVEY_INFER || survey->n_others == 0) return;
    if (numbers < 10 || numbers / 9 < survey->n_others) return; /* 90% is nine numbers to one word */
    char name[KARMA_I_EXCERPT_SIZE];
    (void)karma_i_excerpt(name, column, strlen(column));
    karma_i_notice(hooks,
                   "%s: column '%s' is read as categories because of '%s' (line %zu), although %zu of its "
                   "%zu cells are numbers; if that text means missing say --missing '%s', if all must be "
                   "numbers say --numeric '%s'",
                   file, name, survey->first_other.text, survey->first_other.line, numbers, cells,
                   survey->first_other.text, name);
}

karma_status karma_i_survey_levels(char ***levels, size_t *n_levels, karma_i_survey *survey, karma_error *err) {
    char **texts;
    karma_i_dictionary_sort(&survey->texts);
    KARMA_TRY(karma_i_dictionary_texts(&texts, &survey->texts, err));
    *levels = texts;
    *n_levels = survey->texts.count;
    return KARMA_OK;
}

double karma_i_survey_value(const karma_i_survey *survey, const char *text, size_t length) {
    double value;
    size_t level;
    if (karma_i_survey_kind(survey) == KARMA_COLUMN_NUMBER)
        return karma_i_number_parse(&value, text, length) ? value : NAN;
    return karma_i_dictionary_find(&level, &survey->texts, text, length) ? (double)level : NAN;
}
