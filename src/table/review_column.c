/* What is likely to be wrong with a column by itself: constant, an identifier, texts that should be numbers, spellings
 * of one level, codes and marks for missing values. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "table/review.h"
#include "table/review_levels.h"

enum {
    LEAST_CODES = 3,     /* rows with the same number, if it is a code */
    LONG_TEXT = 25,      /* levels of this average length or more are free text */
    MOST_SPELLINGS = 500 /* more levels are not compared with each other */
};

static double mean_length(const karma_i_column *column) {
    double sum = 0.0;
    for (size_t l = 0; l < column->n_levels; l++) sum += (double)strlen(column->levels[l]);
    return column->n_levels ? sum / (double)column->n_levels : 0.0;
}

/* The first two of the levels that may be one; false: there are none. */
static int find_spellings(size_t *first, size_t *second, const karma_i_column *column) {
    if (column->n_levels > MOST_SPELLINGS) return 0;
    int is_answer = karma_i_levels_are_answers(column);
    for (size_t a = 0; a < column->n_levels; a++)
        for (size_t b = a + 1; b < column->n_levels; b++)
            if (is_answer ? karma_i_answers_are_alike(column->levels[a], column->levels[b])
                          : karma_i_levels_are_alike(column->levels[a], column->levels[b])) {
                *first = a, *second = b;
                return 1;
            }
    return 0;
}

karma_status karma_i_review_spellings(karma_i_review_state *s, const karma_i_column *column, karma_finding_kind kind,
                                      size_t number, karma_error *err) {
    size_t a, b;
    if (column->kind != KARMA_COLUMN_CATEGORY || !find_spellings(&a, &b, column)) return KARMA_OK;
    return karma_i_review_find(s, kind, number, a, (double)b, err);
}

/* The level that is a mark such as -; n_levels: there is none. Beside + it is a sign. */
static size_t find_mark(const karma_i_column *column) {
    size_t mark = column->n_levels;
    for (size_t l = column->n_levels; l-- > 0;) {
        if (strspn(column->levels[l], "+") == strlen(column->levels[l])) return column->n_levels;
        if (karma_i_level_is_mark(column->levels[l])) mark = l;
    }
    return mark;
}

karma_status karma_i_review_marks(karma_i_review_state *s, size_t j, karma_error *err) {
    const karma_i_column *column = &s->table->attributes[j];
    if (column->kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    size_t mark = find_mark(column);
    return mark < column->n_levels ? karma_i_review_find(s, KARMA_FINDING_MARK, j, mark, 0.0, err) : KARMA_OK;
}

karma_status karma_i_review_class_marks(karma_i_review_state *s, size_t t, karma_error *err) {
    const karma_i_column *column = &s->table->targets[t].column;
    if (column->kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    size_t mark = find_mark(column);
    return mark < column->n_levels ? karma_i_review_find(s, KARMA_FINDING_CLASS_MARK, t, mark, 0.0, err) : KARMA_OK;
}

/* Numbers that surveys and instruments write for a missing value. */
static const double codes[] = {9, 88, 98, 99, 888, 998, 999, 9998, 9999, 99999, -9, -88, -98, -99, -999, -9999, -99999};

static int is_code(double value) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (value == codes[i]) return 1;
    return 0;
}

/* Codes that are farther from the other values than these are from each other: 98 and 99 beside 1 to 5. */
static karma_status review_codes(karma_i_review_state *s, karma_finding_kind kind, size_t j, karma_error *err) {
    double least = INFINITY, most = -INFINITY;
    size_t n = s->table->n_rows;
    for (size_t i = 0; i < n; i++) {
        if (isnan(s->column[i]) || is_code(s->column[i])) continue;
        least = fmin(least, s->column[i]);
        most = fmax(most, s->column[i]);
    }
    for (size_t c = 0; most > least && c < sizeof codes / sizeof codes[0]; c++) {
        size_t count = 0;
        if (fmax(codes[c] - most, least - codes[c]) < most - least) continue;
        for (size_t i = 0; i < n; i++) count += s->column[i] == codes[c];
        if (count >= LEAST_CODES) KARMA_TRY(karma_i_review_find(s, kind, j, count, codes[c], err));
    }
    return KARMA_OK;
}

karma_status karma_i_review_label_codes(karma_i_review_state *s, size_t t, karma_error *err) {
    const karma_i_target *target = &s->table->targets[t];
    if (target->column.kind != KARMA_COLUMN_NUMBER) return KARMA_OK;
    memcpy(s->column, target->value, s->table->n_rows * sizeof *s->column);
    karma_i_column_facts f = karma_i_look_at(s->column, s->table->n_rows);
    return f.n_observed < KARMA_I_LEAST_REVIEWED ? KARMA_OK : review_codes(s, KARMA_FINDING_LABEL_CODE, t, err);
}

/* Whether an attribute is the year, month or weekday of dates; that all dates are in one year is not a
 * finding. */
static int is_part_of_dates(const karma_table *table, size_t j) {
    const char *name = table->attributes[j].name, *part = strrchr(name, '.');
    int is_part = part && (!strcmp(part, ".year") || !strcmp(part, ".month") || !strcmp(part, ".weekday"));
    for (size_t k = j + 1; is_part && k < table->n_attributes && k <= j + 4; k++) {
        const char *other = table->attributes[k].name;
        if (strncmp(other, name, (size_t)(part - name)) == 0 && strcmp(other + (part - name), ".days") == 0) return 1;
    }
    return 0;
}

/* Whether all numbers are days written as 20231231. */
static int are_days(const double *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        double day = fmod(values[i], 100.0), month = fmod(floor(values[i] / 100.0), 100.0);
        if (!(values[i] >= 19000101.0 && values[i] <= 20991231.0) || !(day >= 1.0 && day <= 31.0) ||
            !(month >= 1.0 && month <= 12.0))
            return 0;
    }
    return 1;
}

karma_status karma_i_review_column(karma_i_review_state *s, size_t j, karma_error *err) {
    const karma_i_column *column = &s->table->attributes[j];
    karma_i_column_facts f = karma_i_look_at(s->column, s->table->n_rows);
    if (f.n_observed == 0) return karma_i_review_find(s, KARMA_FINDING_EMPTY, j, 0, 0.0, err);
    if (f.is_constant && f.n_observed > 1)
        return is_part_of_dates(s->table, j) ? KARMA_OK
                                             : karma_i_review_find(s, KARMA_FINDING_CONSTANT, j, 0, 0.0, err);
    if (f.n_observed < KARMA_I_LEAST_REVIEWED) return KARMA_OK;
    if (column->kind == KARMA_COLUMN_CATEGORY) {
        double share = (double)column->n_levels / (double)f.n_observed;
        size_t other;
        if (karma_i_levels_are_dates(column)) return karma_i_review_find(s, KARMA_FINDING_DATES, j, 0, share, err);
        if (karma_i_levels_are_durations(column))
            return karma_i_review_find(s, KARMA_FINDING_DURATIONS, j, 0, share, err);
        if (karma_i_levels_are_steps(column)) return karma_i_review_find(s, KARMA_FINDING_STEPS, j, 0, share, err);
        if (karma_i_levels_are_pairs(column)) return karma_i_review_find(s, KARMA_FINDING_PAIRS, j, 0, share, err);
        if (karma_i_levels_have_units(&other, column, share > 0.2))
            return karma_i_review_find(s, KARMA_FINDING_UNITS, j, other, share, err);
        double numbers = karma_i_share_of_numbers(column); /* before the length: one cell may be very long */
        if (numbers >= 0.5 && column->n_levels >= KARMA_I_LEAST_LEVELS && share > 0.2)
            return karma_i_review_find(s, KARMA_FINDING_NUMBERS, j, 0, numbers, err);
        if (share > 0.5 && mean_length(column) >= LONG_TEXT)
            return karma_i_review_find(s, KARMA_FINDING_TEXT, j, 0, share, err);
        if (share > 0.9) return karma_i_review_find(s, KARMA_FINDING_ID, j, 0, share, err);
    } else if (column->kind == KARMA_COLUMN_NUMBER && f.is_whole && are_days(s->column, s->table->n_rows))
        return karma_i_review_find(s, KARMA_FINDING_DATES, j, 0, f.first, err);
    else if (f.is_whole && (f.is_huge || (f.is_rising && f.n_observed == s->table->n_rows)))
        return karma_i_review_find(s, KARMA_FINDING_ID, j, 0, 1.0, err);
    return column->kind == KARMA_COLUMN_NUMBER ? review_codes(s, KARMA_FINDING_CODE, j, err) : KARMA_OK;
}
