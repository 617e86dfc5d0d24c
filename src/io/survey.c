/* The first cell almost always shows that a column has categories, and its texts are collected from there on.
 * Only if numbers or dates come first and a word later are the texts read a second time. */
#include "io/survey.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/missing.h"
#include "io/numeral.h"

void karma_i_survey_init(karma_i_survey *survey, karma_i_survey_mode mode, int is_target, karma_i_survey_style style) {
    *survey = (karma_i_survey){.mode = mode, .is_target = is_target, .style = style};
    survey->collects = mode == KARMA_I_SURVEY_CATEGORY || is_target;
}

void karma_i_survey_clear(karma_i_survey *survey) {
    karma_i_dictionary_clear(&survey->texts);
}

/* --- the kind ------------------------------------------------------------------------------------------ */

static size_t count_numbers(const karma_i_survey *s) {
    return s->n_plain + s->n_grouped;
}

/* Bounds (">100") are numbers only among numbers: "<50" and ">=50" alone are two categories. */
static int is_number_column(const karma_i_survey *s) {
    if (s->n_others) return 0;
    if (s->n_censored && (s->is_target || s->n_censored > count_numbers(s))) return 0;
    return s->n_holes == 0 || count_numbers(s) > 0;
}

static int is_date_column(const karma_i_survey *s) {
    if (!s->style.finds_dates || s->is_target || s->n_others == 0 || count_numbers(s) + s->n_censored) return 0;
    return s->n_day_first == s->n_others || s->n_month_first == s->n_others;
}

karma_i_survey_kind karma_i_survey_kind_of(const karma_i_survey *survey) {
    switch (survey->mode) {
    case KARMA_I_SURVEY_NUMBER:
    case KARMA_I_SURVEY_MODEL_NUMBER:
        return KARMA_I_SURVEYED_NUMBER;
    case KARMA_I_SURVEY_MODEL_DATE:
        return KARMA_I_SURVEYED_DATE;
    case KARMA_I_SURVEY_CATEGORY:
        return KARMA_I_SURVEYED_CATEGORY;
    case KARMA_I_SURVEY_INFER:
        break;
    }
    if (is_date_column(survey)) return KARMA_I_SURVEYED_DATE;
    return is_number_column(survey) ? KARMA_I_SURVEYED_NUMBER : KARMA_I_SURVEYED_CATEGORY;
}

karma_i_day_order karma_i_survey_day_order(const karma_i_survey *survey) {
    if (survey->style.day_order >= 0) return (karma_i_day_order)survey->style.day_order;
    if (survey->n_day_first != survey->n_month_first)
        return survey->n_day_first > survey->n_month_first ? KARMA_I_DAY_FIRST : KARMA_I_MONTH_FIRST;
    return survey->n_dotted && survey->n_dotted == survey->n_ambiguous ? KARMA_I_DAY_FIRST : KARMA_I_MONTH_FIRST;
}

/* --- cells --------------------------------------------------------------------------------------------- */

static void sight(karma_i_sighting *sighting, const char *text, size_t length, size_t line) {
    if (sighting->line) return;
    sighting->line = line;
    (void)karma_i_excerpt(sighting->text, text, length);
}

static void keep_example(karma_i_survey *s, const char *text, size_t length) {
    char excerpt[KARMA_I_EXCERPT_SIZE];
    if (s->n_examples == KARMA_I_MOST_EXAMPLES) return;
    (void)karma_i_excerpt(excerpt, text, length);
    for (size_t i = 0; i < s->n_examples; i++)
        if (strcmp(s->examples[i], excerpt) == 0) return;
    memcpy(s->examples[s->n_examples++], excerpt, sizeof excerpt);
}

/* Dates are looked for only while all cells so far were dates. */
static void look_for_date(karma_i_survey *s, const char *text, size_t length) {
    karma_i_moment moment;
    int wanted = s->mode == KARMA_I_SURVEY_MODEL_DATE ||
                 (s->style.finds_dates && !s->is_target && s->mode == KARMA_I_SURVEY_INFER &&
                  (s->n_day_first == s->n_others || s->n_month_first == s->n_others));
    if (!wanted) return;
    karma_i_moment other;
    int day_first =
        s->style.day_order != KARMA_I_MONTH_FIRST && karma_i_moment_parse(&moment, text, length, KARMA_I_DAY_FIRST);
    int month_first =
        s->style.day_order != KARMA_I_DAY_FIRST && karma_i_moment_parse(&other, text, length, KARMA_I_MONTH_FIRST);
    if (!day_first && !month_first) return;
    if (day_first && month_first && moment.day != other.day) {
        s->n_ambiguous++;
        s->n_dotted += memchr(text, '.', length) ? 1 : 0;
    }
    if (!day_first) moment = other;
    s->n_dates += moment.has_date ? 1 : 0;
    s->n_times += moment.has_time ? 1 : 0;
    s->n_day_first += day_first ? 1 : 0;
    s->n_month_first += month_first ? 1 : 0;
}

static char other_mark(const karma_i_survey *s) {
    return s->style.decimal_mark == '.' ? ',' : '.';
}

/* A text that is a number with the other decimal mark only: 0,5 or, with groups of thousands, 1.000.000. */
static int has_other_mark(const karma_i_survey *s, const char *text, size_t length) {
    const char *own = memchr(text, s->style.decimal_mark, length);
    int is_repeated = own && memchr(own + 1, s->style.decimal_mark, length - (size_t)(own + 1 - text));
    double value;
    unsigned how;
    return (is_repeated || memchr(text, other_mark(s), length)) &&
           karma_i_numeral_parse(&value, &how, text, length, other_mark(s));
}

/* A word: from now on the column has categories, unless another kind is set or it has dates. */
static void add_other(karma_i_survey *s, const char *text, size_t length, size_t line) {
    look_for_date(s, text, length);
    sight(&s->first_other, text, length, line);
    keep_example(s, text, length);
    s->n_other_mark += has_other_mark(s, text, length) ? 1 : 0;
    if (s->n_others++ || s->mode != KARMA_I_SURVEY_INFER || s->collects) return;
    s->collects = count_numbers(s) + s->n_censored + s->n_holes == 0 && !is_date_column(s);
}

/* A label with more digits than a double can hold is a name: as a number it could fall into the same class as
 * its neighbour. Other spellings (1e20) are quantities. */
static int is_long_label(const karma_i_survey *s, double value, const char *text, size_t length) {
    if (!s->is_target || s->mode != KARMA_I_SURVEY_INFER || !(fabs(value) >= 9007199254740992.0)) return 0;
    size_t n_digits = 0;
    while (n_digits < length && text[length - 1 - n_digits] >= '0' && text[length - 1 - n_digits] <= '9') n_digits++;
    return n_digits == length || (n_digits + 1 == length && (text[0] == '-' || text[0] == '+'));
}

/* Cells such as 52.000 may be thousands: the fewest that are worth a notice, and how many prove that they are
 * fractions.
 */
enum { LEAST_GROUPS = 3, ENOUGH_GROUPS = 100 };

/* Digits at the start of a text. */
static size_t count_digits(const char *text, size_t length) {
    size_t n = 0;
    while (n < length && text[n] >= '0' && text[n] <= '9') n++;
    return n;
}

/* 01234 may be a code and not a quantity; 0.5 and 0 are numbers. */
static int starts_with_zero(const char *text, size_t length) {
    if (length < 2 || text[0] != '0') return 0;
    return count_digits(text, length) == length;
}

/* 52.000 is 52 with a decimal point, but 52 thousand if a point separates thousands: one to three digits, the
 * first not 0, then three more. Any other fraction shows that the point is decimal. */
static void look_at_fraction(karma_i_survey *s, const char *text, size_t length, size_t line) {
    size_t sign = length && (text[0] == '-' || text[0] == '+') ? 1 : 0, n = count_digits(text + sign, length - sign);
    int is_group = n >= 1 && n <= 3 && text[sign] != '0' && length == sign + n + 4 &&
                   text[sign + n] == s->style.decimal_mark && count_digits(text + sign + n + 1, 3) == 3;
    if (!is_group) {
        s->has_fractions |= memchr(text, s->style.decimal_mark, length) != NULL;
        return;
    }
    s->n_mark_groups++;
    s->n_round_groups += text[length - 1] == '0' ? 1 : 0;
    sight(&s->first_mark_group, text, length, line);
    s->has_fractions = s->n_mark_groups >= ENOUGH_GROUPS && 4 * s->n_round_groups < s->n_mark_groups;
}

/* The cell's number, or NaN. */
static double classify_cell(karma_i_survey *s, const char *text, size_t length, size_t line) {
    double value;
    unsigned how;
    if (karma_i_numeral_parse(&value, &how, text, length, s->style.decimal_mark) &&
        !is_long_label(s, value, text, length)) {
        if (isinf(value)) sight(&s->first_infinite, text, length, line);
        s->n_percent += how & KARMA_I_NUMERAL_PERCENT ? 1 : 0;
        s->n_currency += how & KARMA_I_NUMERAL_CURRENCY ? 1 : 0;
        s->currencies |= how & KARMA_I_NUMERAL_CURRENCY;
        s->n_accounting += how & KARMA_I_NUMERAL_ACCOUNTING ? 1 : 0;
        if (starts_with_zero(text, length)) {
            s->n_zero_first++;
            sight(&s->first_zero, text, length, line);
        }
        if (how & KARMA_I_NUMERAL_GROUPED && s->style.doubts_commas && has_other_mark(s, text, length)) {
            s->n_comma_groups++;
            sight(&s->first_group, text, length, line);
        }
        if (!s->has_fractions) look_at_fraction(s, text, length, line);
        *(how & KARMA_I_NUMERAL_CENSORED ? &s->n_censored : how ? &s->n_grouped : &s->n_plain) += 1;
        return value;
    }
    if (karma_i_is_missing_number(text, length)) {
        sight(&s->first_hole, text, length, line);
        s->n_holes++;
    } else {
        add_other(s, text, length, line);
    }
    return NAN;
}

/* Drops the spellings if there are too many different numbers. */
static void limit_spellings(karma_i_survey *s) {
    if (s->texts.count <= KARMA_I_MAX_SPELLINGS || karma_i_survey_kind_of(s) != KARMA_I_SURVEYED_NUMBER) return;
    karma_i_dictionary_clear(&s->texts);
    s->collects = 0;
    s->n_collected = 0;
}

karma_status karma_i_survey_add(karma_i_survey *survey, double *value, const char *text, size_t length, size_t line,
                                karma_error *err) {
    karma_i_survey *s = survey;
    size_t n_holes = s->n_holes, number;
    double own = NAN;
    if (s->mode != KARMA_I_SURVEY_CATEGORY) own = classify_cell(s, text, length, line);
    if (value) *value = own;
    if (!s->collects || s->n_holes > n_holes) return KARMA_OK; /* missing cells may be collected later, as levels */
    KARMA_TRY(karma_i_dictionary_add(&number, &s->texts, text, length, err));
    s->n_collected++;
    if (value && isnan(own)) *value = karma_i_code((uint32_t)number);
    limit_spellings(s);
    return KARMA_OK;
}

/* --- parts --------------------------------------------------------------------------------------------- */

static void merge_sighting(karma_i_sighting *into, const karma_i_sighting *part, size_t first_line) {
    if (into->line || !part->line) return;
    *into = *part;
    into->line += first_line - 1;
}

static void merge_counts(karma_i_survey *into, const karma_i_survey *part) {
    into->n_plain += part->n_plain;
    into->n_grouped += part->n_grouped;
    into->n_censored += part->n_censored;
    into->n_percent += part->n_percent;
    into->n_currency += part->n_currency;
    into->n_accounting += part->n_accounting;
    into->n_zero_first += part->n_zero_first;
    into->currencies |= part->currencies;
    into->n_comma_groups += part->n_comma_groups;
    into->n_mark_groups += part->n_mark_groups;
    into->n_round_groups += part->n_round_groups;
    into->has_fractions |= part->has_fractions;
    into->n_other_mark += part->n_other_mark;
    into->n_holes += part->n_holes;
    into->n_others += part->n_others;
    into->n_day_first += part->n_day_first;
    into->n_month_first += part->n_month_first;
    into->n_ambiguous += part->n_ambiguous;
    into->n_dotted += part->n_dotted;
    into->n_dates += part->n_dates;
    into->n_times += part->n_times;
    into->n_collected += part->n_collected;
}

static int keeps_texts(const karma_i_survey *s) {
    return s->mode == KARMA_I_SURVEY_CATEGORY || s->is_target;
}

karma_status karma_i_survey_merge(karma_i_survey *survey, uint32_t *codes, const karma_i_survey *part,
                                  size_t first_line, karma_error *err) {
    karma_i_survey *s = survey;
    merge_counts(s, part);
    merge_sighting(&s->first_other, &part->first_other, first_line);
    merge_sighting(&s->first_infinite, &part->first_infinite, first_line);
    merge_sighting(&s->first_hole, &part->first_hole, first_line);
    merge_sighting(&s->first_group, &part->first_group, first_line);
    merge_sighting(&s->first_zero, &part->first_zero, first_line);
    merge_sighting(&s->first_mark_group, &part->first_mark_group, first_line);
    for (size_t i = 0; i < part->n_examples; i++) keep_example(s, part->examples[i], strlen(part->examples[i]));
    if (keeps_texts(s) && (!s->collects || !part->collects)) {
        karma_i_dictionary_clear(&s->texts);
        s->collects = 0;
        s->n_collected = 0;
        return KARMA_OK;
    }
    s->collects |= part->collects;
    for (size_t i = 0; i < part->texts.count; i++) {
        size_t number;
        KARMA_TRY(karma_i_dictionary_add(&number, &s->texts, part->texts.entries[i].text, part->texts.entries[i].length,
                                         err));
        codes[i] = (uint32_t)number;
    }
    limit_spellings(s);
    return KARMA_OK;
}

int karma_i_survey_is_complete(const karma_i_survey *survey) {
    switch (karma_i_survey_kind_of(survey)) {
    case KARMA_I_SURVEYED_NUMBER:
        return 1;
    case KARMA_I_SURVEYED_CATEGORY:
        return survey->mode == KARMA_I_SURVEY_CATEGORY ||
               (survey->n_collected == survey->n_others &&
                count_numbers(survey) + survey->n_censored + survey->n_holes == 0);
    case KARMA_I_SURVEYED_DATE:
        break;
    }
    return 0;
}

/* --- the end ------------------------------------------------------------------------------------------- */

void karma_i_survey_settle(karma_i_survey *survey) {
    karma_i_survey *s = survey;
    if (karma_i_survey_kind_of(s) != KARMA_I_SURVEYED_CATEGORY) {
        int keeps = s->is_target && s->n_grouped + s->n_censored == 0 && s->style.decimal_mark == '.';
        if (!keeps) karma_i_dictionary_clear(&s->texts); /* spellings that do not read back */
        return;
    }
    s->incomplete = s->mode == KARMA_I_SURVEY_INFER && (!s->collects || s->n_holes > 0);
}

karma_status karma_i_survey_collect(karma_i_survey *survey, const char *text, size_t length, karma_error *err) {
    return karma_i_dictionary_add(NULL, &survey->texts, text, length, err);
}

karma_status karma_i_survey_check(const karma_i_survey *survey, const char *file, const char *column,
                                  karma_error *err) {
    char name[KARMA_I_EXCERPT_SIZE];
    if (karma_i_survey_kind_of(survey) != KARMA_I_SURVEYED_NUMBER) return KARMA_OK;
    int must = survey->mode == KARMA_I_SURVEY_NUMBER;
    const karma_i_sighting *bad = must && survey->first_other.line ? &survey->first_other : &survey->first_infinite;
    if (bad->line == 0) return KARMA_OK;
    (void)karma_i_excerpt(name, column, strlen(column));
    const char *unit = survey->style.counts_rows ? "row" : "line";
    if (bad == &survey->first_other)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: %s %zu, column '%s': '%s' is not a number", file, unit, bad->line,
                            name, bad->text);
    return karma_i_fail(err, KARMA_ERR_DATA,
                        "%s: %s %zu, column '%s': '%s' is not a finite number; if it stands for a missing value, use "
                        "option 'missing' '%s'",
                        file, unit, bad->line, name, bad->text, bad->text);
}

/* --- notices ------------------------------------------------------------------------------------------- */

/* "'a', 'b', 'c' and others" */
static void list_examples(char *out, size_t size, const karma_i_survey *s) {
    size_t used = 0;
    for (size_t i = 0; i < s->n_examples && used < size; i++) {
        int n = snprintf(out + used, size - used, "%s'%s'", i ? ", " : "", s->examples[i]);
        if (n < 0 || (used += (size_t)n) >= size) return;
    }
    if (s->n_examples == KARMA_I_MOST_EXAMPLES && used < size) (void)snprintf(out + used, size - used, ", ...");
}

static const char *mark_name(char mark) {
    return mark == ',' ? "commas" : "points";
}

/* Texts that would be numbers with the other decimal mark. */
static void notice_marks(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    char examples[220];
    list_examples(examples, sizeof examples, s);
    karma_i_notice(hooks,
                   "%s: column '%s' is read as categories: %zu cell%s with decimal %s (%s), but the file is "
                   "read with decimal %s. See option 'decimal'",
                   file, name, s->n_other_mark, s->n_other_mark == 1 ? " is a number" : "s are numbers",
                   mark_name(other_mark(s)), examples, mark_name(s->style.decimal_mark));
}

static void notice_mixture(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    char examples[220];
    size_t n = count_numbers(s) + s->n_censored;
    list_examples(examples, sizeof examples, s);
    if (s->n_others > n) /* a few numbers among texts */
        karma_i_notice(hooks,
                       "%s: column '%s' is read as categories: %zu cells are texts (%s), but %zu %s. If categories are "
                       "right, set option 'category' '%s'",
                       file, name, s->n_others, examples, n, n == 1 ? "is a number" : "are numbers", name);
    else
        karma_i_notice(hooks,
                       "%s: column '%s' is read as categories: %zu cell%s, but %zu %s not (%s). If %s, "
                       "use option 'missing' '%s'; if all cells must be numbers, option 'numeric' '%s'; if categories "
                       "are right, option 'category' '%s'",
                       file, name, n, n == 1 ? " is a number" : "s are numbers", s->n_others,
                       s->n_others == 1 ? "is" : "are", examples,
                       s->n_others == 1 ? "it means missing" : "these mean missing", s->first_other.text, name, name);
}

static void notice_texts(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    if (s->mode != KARMA_I_SURVEY_INFER || s->n_others == 0) return;
    if (2 * s->n_other_mark > s->n_others)
        notice_marks(s, file, name, hooks);
    else if (count_numbers(s) + s->n_censored)
        notice_mixture(s, file, name, hooks);
}

enum { MOST_CLASS_CODES = 30 };

/* Amounts often end with 0, measurements with three decimals in one of ten cases. */
static int looks_like_thousands(const karma_i_survey *s) {
    return !s->has_fractions && s->n_mark_groups >= LEAST_GROUPS && 2 * s->n_round_groups >= s->n_mark_groups;
}

/* Signs that were dropped from numbers. */
static void notice_signs(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    size_t n = count_numbers(s) + s->n_censored;
    if (s->n_percent && s->n_percent < n)
        karma_i_notice(hooks,
                       "%s: column '%s' is numbers: %zu of %zu have a percent sign, which is left out: 12%% and 12 are "
                       "the same",
                       file, name, s->n_percent, n);
    if (s->currencies & (s->currencies - 1))
        karma_i_notice(hooks,
                       "%s: column '%s' is numbers with signs of several currencies, which are left out: $5 and "
                       "\xe2\x82\xac"
                       "5 are the same",
                       file, name);
    else if (s->n_currency)
        karma_i_notice(hooks, "%s: column '%s' is numbers: the currency sign of %zu cell%s is left out", file, name,
                       s->n_currency, s->n_currency == 1 ? "" : "s");
    if (s->n_accounting)
        karma_i_notice(
            hooks,
            "%s: column '%s' is numbers: %zu cell%s in parentheses or with a minus sign behind %s read as negative. "
            "Use option 'category' '%s' if they are names",
            file, name, s->n_accounting, s->n_accounting == 1 ? "" : "s", s->n_accounting == 1 ? "is" : "are", name);
    if (s->n_comma_groups)
        karma_i_notice(hooks,
                       "%s: column '%s' is numbers: %zu cell%s such as '%s' %s read with a separator of thousands, not "
                       "with a decimal comma. See option 'decimal'",
                       file, name, s->n_comma_groups, s->n_comma_groups == 1 ? "" : "s", s->first_group.text,
                       s->n_comma_groups == 1 ? "is" : "are");
    if (s->mode == KARMA_I_SURVEY_INFER && looks_like_thousands(s))
        karma_i_notice(
            hooks,
            "%s: column '%s' is numbers: %zu cells such as '%s' are read with a decimal %s, as small numbers. "
            "If it separates thousands, see option 'decimal'",
            file, name, s->n_mark_groups, s->first_mark_group.text, s->style.decimal_mark == '.' ? "point" : "comma");
}

/* Postal codes or patient numbers are read as quantities unless the user decides otherwise. */
static void notice_zeros(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    if (s->n_zero_first == 0 || s->mode != KARMA_I_SURVEY_INFER) return;
    if (s->is_target && s->collects && s->texts.count <= MOST_CLASS_CODES)
        return; /* classes are named as they are written */
    karma_i_notice(
        hooks,
        "%s: column '%s' is read as numbers, but %zu cell%s such as '%s' start%s with 0, as codes do. If they "
        "are codes, use option 'category' '%s'; if quantities, option 'numeric' '%s'",
        file, name, s->n_zero_first, s->n_zero_first == 1 ? "" : "s", s->first_zero.text,
        s->n_zero_first == 1 ? "s" : "", name, name);
}

static void notice_numbers(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    if (s->mode == KARMA_I_SURVEY_MODEL_NUMBER && s->n_others) {
        char examples[220];
        list_examples(examples, sizeof examples, s);
        karma_i_notice(hooks, "%s: column '%s' has %zu cell%s (%s), read as missing%s", file, name, s->n_others,
                       s->n_others == 1 ? " that is not a number" : "s that are not numbers", examples,
                       2 * s->n_other_mark > s->n_others ? ". See option 'decimal'" : "");
    }
    if (s->n_holes)
        karma_i_notice(hooks, "%s: column '%s' is numbers: %zu cell%s such as '%s' %s read as missing", file, name,
                       s->n_holes, s->n_holes == 1 ? "" : "s", s->first_hole.text, s->n_holes == 1 ? "is" : "are");
    notice_signs(s, file, name, hooks);
    notice_zeros(s, file, name, hooks);
    if (s->n_censored)
        karma_i_notice(hooks, "%s: column '%s' is numbers: %zu cell%s with <, > or + %s read as the number itself",
                       file, name, s->n_censored, s->n_censored == 1 ? "" : "s", s->n_censored == 1 ? "is" : "are");
}

static void notice_dates(const karma_i_survey *s, const char *file, const char *name, const karma_hooks *hooks) {
    if (s->mode == KARMA_I_SURVEY_MODEL_DATE) {
        size_t n_read = s->n_day_first > s->n_month_first ? s->n_day_first : s->n_month_first;
        size_t n_texts = s->n_others - n_read + count_numbers(s);
        if (n_texts)
            karma_i_notice(hooks, "%s: column '%s' has %zu cell%s, read as missing", file, name, n_texts,
                           n_texts == 1 ? " that is not a date" : "s that are not dates");
        return;
    }
    int is_ambiguous = s->style.day_order < 0 && s->n_ambiguous && s->n_day_first == s->n_month_first;
    const char *order = karma_i_survey_day_order(s) == KARMA_I_DAY_FIRST ? "day" : "month";
    karma_i_notice(hooks, "%s: column '%s' is read as %s%s%s%s; option 'dates=off' reads it as texts", file, name,
                   s->n_dates ? "dates" : "times of day", is_ambiguous ? ", the " : "", is_ambiguous ? order : "",
                   is_ambiguous ? " first (see option 'date-order')" : "");
}

void karma_i_survey_notice(const karma_i_survey *survey, const char *file, const char *column,
                           const karma_hooks *hooks) {
    char name[KARMA_I_EXCERPT_SIZE];
    (void)karma_i_excerpt(name, column, strlen(column));
    switch (karma_i_survey_kind_of(survey)) {
    case KARMA_I_SURVEYED_NUMBER:
        notice_numbers(survey, file, name, hooks);
        break;
    case KARMA_I_SURVEYED_CATEGORY:
        notice_texts(survey, file, name, hooks);
        break;
    case KARMA_I_SURVEYED_DATE:
        notice_dates(survey, file, name, hooks);
        break;
    }
}

/* --- values -------------------------------------------------------------------------------------------- */

karma_status karma_i_survey_levels(char ***levels, size_t *n_levels, karma_i_survey *survey, uint32_t *ranks,
                                   karma_error *err) {
    char **texts;
    karma_i_dictionary_sort(&survey->texts, ranks);
    KARMA_TRY(karma_i_dictionary_texts(&texts, &survey->texts, err));
    *levels = texts;
    *n_levels = survey->texts.count;
    return KARMA_OK;
}

int karma_i_survey_value(double *out, const karma_i_survey *survey, const char *text, size_t length) {
    unsigned how;
    size_t level;
    if (karma_i_survey_kind_of(survey) == KARMA_I_SURVEYED_NUMBER)
        return karma_i_numeral_parse(out, &how, text, length, survey->style.decimal_mark);
    if (!karma_i_dictionary_find(&level, &survey->texts, text, length)) return 0;
    *out = (double)level;
    return 1;
}

int karma_i_survey_moment(karma_i_moment *out, const karma_i_survey *survey, const char *text, size_t length) {
    return karma_i_moment_parse(out, text, length, karma_i_survey_day_order(survey));
}
