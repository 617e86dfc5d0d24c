/* Likely problems of a table, found before learning from it. Every check looks at one column, or at one
 * column against the target, on columns laid out one value per row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/review.h"
#include "table/review_levels.h"

enum {
    LEAST_ROWS = 20,                /* fewer rows are not enough evidence */
    LEAST_CODES = 3,                /* rows with the same number, if it is a code */
    MANY_CLASSES = 20,              /* more than most tables have */
    LONG_TEXT = 25,                 /* levels of this average length or more are free text */
    MOST_SPELLINGS = 500,           /* more levels are not compared with each other */
    SAMPLE_ROWS = 256,              /* rows in which pairs of columns are compared first */
    MOST_PAIRED_COLUMNS = 4000,     /* more are not compared with each other */
    MOST_PAIRED_CELLS = 20000000,   /* of pairs that agree in the sample, as all rare indicators do */
    MOST_REVIEWED_CELLS = 200000000 /* a larger table is not examined */
};
/* In tables with more rows than this, a sample of rows is examined first. */
enum { MANY_ROWS = 200000, LEAK_SAMPLE = 20000 };
/* Two rates of missing cells differ if their difference is at least this large, and at least this many
 * standard errors. */
static const double HOLE_DIFFERENCE = 0.1, HOLE_ERRORS = 5.0;

typedef struct review_state {
    karma_review *review;
    const karma_table *table;
    double *column;   /* the values of the current column, one per row; NaN: missing */
    double *other;    /* those of a second column */
    uint64_t *digest; /* of every column's cells, to find equal ones */
    size_t capacity;
} review_state;

static karma_status find(review_state *s, karma_finding_kind kind, size_t column, size_t other, double value,
                         karma_error *err) {
    karma_review *r = s->review;
    if (!karma_i_reserve(&r->findings, &s->capacity, r->n_findings + 1, sizeof *r->findings))
        return karma_i_fail_memory(err);
    r->findings[r->n_findings++] = (karma_finding){kind, column, other, value};
    return KARMA_OK;
}

/* --- one column ---------------------------------------------------------------------------------------- */

static void fetch_column(double *values, const karma_table *table, size_t column) {
    for (size_t i = 0; i < table->n_rows; i++)
        if (!karma_table_cell(table, i, column, &values[i])) values[i] = NAN;
}

/* Counts observed cells and changes between neighbours, and whether values only rise, to detect constants and
 * counters. */
typedef struct column_facts {
    size_t n_observed;
    int is_constant, is_rising, is_whole, is_huge; /* huge: doubles do not hold all whole numbers there */
    double first;
} column_facts;

static column_facts look_at(const double *values, size_t n) {
    column_facts f = {.is_constant = 1, .is_rising = 1, .is_whole = 1, .is_huge = 1};
    double last = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i])) continue;
        if (f.n_observed++ == 0) f.first = values[i];
        f.is_constant &= values[i] == f.first;
        f.is_rising &= values[i] > last;
        f.is_whole &= values[i] == floor(values[i]);
        f.is_huge &= fabs(values[i]) >= 9007199254740992.0 && fabs(values[i]) < 1e20;
        last = values[i];
    }
    return f;
}

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

static karma_status review_spellings(review_state *s, const karma_i_column *column, karma_finding_kind kind,
                                     size_t number, karma_error *err) {
    size_t a, b;
    if (column->kind != KARMA_COLUMN_CATEGORY || !find_spellings(&a, &b, column)) return KARMA_OK;
    return find(s, kind, number, a, (double)b, err);
}

static karma_status review_marks(review_state *s, size_t j, karma_error *err) {
    const karma_i_column *column = &s->table->attributes[j];
    if (column->kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    for (size_t l = 0; l < column->n_levels; l++)
        if (karma_i_level_is_mark(column->levels[l])) return find(s, KARMA_FINDING_MARK, j, l, 0.0, err);
    return KARMA_OK;
}

/* Numbers that surveys and instruments write for a missing value. */
static const double codes[] = {9, 88, 98, 99, 888, 998, 999, 9998, 9999, 99999, -9, -88, -98, -99, -999, -9999, -99999};

static int is_code(double value) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (value == codes[i]) return 1;
    return 0;
}

/* Codes that are farther from the other values than these are from each other: 98 and 99 beside 1 to 5. */
static karma_status review_codes(review_state *s, size_t j, karma_error *err) {
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
        if (count >= LEAST_CODES) KARMA_TRY(find(s, KARMA_FINDING_CODE, j, count, codes[c], err));
    }
    return KARMA_OK;
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

static karma_status review_column(review_state *s, size_t j, karma_error *err) {
    const karma_i_column *column = &s->table->attributes[j];
    column_facts f = look_at(s->column, s->table->n_rows);
    if (f.n_observed == 0) return find(s, KARMA_FINDING_EMPTY, j, 0, 0.0, err);
    if (f.is_constant && f.n_observed > 1)
        return is_part_of_dates(s->table, j) ? KARMA_OK : find(s, KARMA_FINDING_CONSTANT, j, 0, 0.0, err);
    if (f.n_observed < LEAST_ROWS) return KARMA_OK;
    if (column->kind == KARMA_COLUMN_CATEGORY) {
        double share = (double)column->n_levels / (double)f.n_observed;
        size_t other;
        if (karma_i_levels_are_dates(column)) return find(s, KARMA_FINDING_DATES, j, 0, share, err);
        if (karma_i_levels_are_durations(column)) return find(s, KARMA_FINDING_DURATIONS, j, 0, share, err);
        if (karma_i_levels_have_units(&other, column, share > 0.2))
            return find(s, KARMA_FINDING_UNITS, j, other, share, err);
        double numbers = karma_i_share_of_numbers(column); /* before the length: one cell may be very long */
        if (numbers >= 0.5 && column->n_levels >= KARMA_I_LEAST_LEVELS && share > 0.2)
            return find(s, KARMA_FINDING_NUMBERS, j, 0, numbers, err);
        if (share > 0.5 && mean_length(column) >= LONG_TEXT) return find(s, KARMA_FINDING_TEXT, j, 0, share, err);
        if (share > 0.9) return find(s, KARMA_FINDING_ID, j, 0, share, err);
    } else if (f.is_whole && (f.is_huge || (f.is_rising && f.n_observed == s->table->n_rows)))
        return find(s, KARMA_FINDING_ID, j, 0, 1.0, err);
    return column->kind == KARMA_COLUMN_NUMBER ? review_codes(s, j, err) : KARMA_OK;
}

/* FNV-1a over rows and values: equal columns have equal digests, others almost certainly not. */
static uint64_t digest_of(const double *values, size_t n) {
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        double value = isnan(values[i]) ? NAN : values[i] + 0.0; /* one zero, one NaN */
        if (isnan(value))
            bits = UINT64_C(0x7ff8000000000000);
        else
            memcpy(&bits, &value, sizeof bits);
        for (int k = 0; k < 8; k++) hash = (hash ^ (bits >> (8 * k) & 255)) * UINT64_C(1099511628211);
    }
    return hash;
}

typedef struct digest_place {
    uint64_t digest;
    size_t column;
} digest_place;

static int by_digest(const void *a, const void *b) {
    const digest_place *x = a, *y = b;
    if (x->digest != y->digest) return x->digest < y->digest ? -1 : 1;
    return (x->column > y->column) - (x->column < y->column);
}

static int same_values(const review_state *s) {
    for (size_t i = 0; i < s->table->n_rows; i++)
        if (s->column[i] != s->other[i] && !(isnan(s->column[i]) && isnan(s->other[i]))) return 0;
    return 1;
}

/* Columns with the same cells and, for categories, the same number of levels. */
static karma_status find_copies(review_state *s, karma_error *err) {
    size_t d = s->table->n_attributes;
    digest_place *places = karma_i_alloc(d, sizeof *places);
    if (!places) return karma_i_fail_memory(err);
    for (size_t j = 0; j < d; j++) places[j] = (digest_place){s->digest[j], j};
    if (d > 1) qsort(places, d, sizeof *places, by_digest);
    karma_status st = KARMA_OK;
    for (size_t k = 1; st == KARMA_OK && k < d; k++) {
        size_t a = places[k - 1].column, b = places[k].column;
        const karma_i_column *x = &s->table->attributes[a], *y = &s->table->attributes[b];
        if (places[k].digest != places[k - 1].digest || x->kind != y->kind || x->n_levels != y->n_levels) continue;
        fetch_column(s->column, s->table, a);
        fetch_column(s->other, s->table, b);
        column_facts f = look_at(s->column, s->table->n_rows);
        if (f.n_observed >= LEAST_ROWS && !f.is_constant && same_values(s))
            st = find(s, KARMA_FINDING_COPY, b, a, 0.0, err);
    }
    karma_i_free(places);
    return st;
}

/* --- columns that are equal but for missing cells ------------------------------------------------------- */

/* Values of columns in some rows, one column after the other. */
typedef struct column_sample {
    double *values;
    size_t n_rows, n_columns;
} column_sample;

static karma_status take_sample(column_sample *out, const karma_table *table, karma_error *err) {
    size_t n = table->n_rows < SAMPLE_ROWS ? table->n_rows : SAMPLE_ROWS;
    *out = (column_sample){karma_i_alloc(n * table->n_attributes, sizeof(double)), n, table->n_attributes};
    if (!out->values) return karma_i_fail_memory(err);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < table->n_attributes; j++) {
            double *value = &out->values[j * n + k];
            if (!karma_table_cell(table, k * table->n_rows / n, j, value)) *value = NAN;
        }
    return KARMA_OK;
}

/* Levels are numbered column by column, so they are compared by their texts. */
static int same_cell(const karma_i_column *x, double a, const karma_i_column *y, double b) {
    if (x->kind == KARMA_COLUMN_NUMBER) return a == b;
    return strcmp(x->levels[(size_t)a], y->levels[(size_t)b]) == 0;
}

static int may_be_copies(const column_sample *sample, const karma_table *table, size_t a, size_t b) {
    const double *x = sample->values + a * sample->n_rows, *y = sample->values + b * sample->n_rows;
    size_t both = 0;
    for (size_t k = 0; k < sample->n_rows; k++) {
        if (isnan(x[k]) || isnan(y[k])) continue;
        if (!same_cell(&table->attributes[a], x[k], &table->attributes[b], y[k])) return 0;
        both++;
    }
    return both > 0;
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number of occurrences of the most common of n values; sorts them. */
static size_t count_mode(double *values, size_t n) {
    size_t most = 0, run = 0;
    if (n > 1) qsort(values, n, sizeof *values, by_number);
    for (size_t i = 0; i < n; i++) {
        run = i && values[i] == values[i - 1] ? run + 1 : 1;
        if (run > most) most = run;
    }
    return most;
}

/* Columns with few values can be equal by chance, so enough common rows must have a value other than the most
 * common one. The common rows must be at least half of the rows of one column; columns without missing cells
 * were compared before. */
static karma_status compare_columns(review_state *s, size_t a, size_t b, karma_error *err) {
    const karma_i_column *x = &s->table->attributes[a], *y = &s->table->attributes[b];
    size_t both = 0, n_x = 0, n_y = 0;
    fetch_column(s->column, s->table, a);
    fetch_column(s->other, s->table, b);
    for (size_t i = 0; i < s->table->n_rows; i++) {
        int in_x = !isnan(s->column[i]), in_y = !isnan(s->other[i]);
        n_x += in_x ? 1 : 0;
        n_y += in_y ? 1 : 0;
        if (!in_x || !in_y) continue;
        if (!same_cell(x, s->column[i], y, s->other[i])) return KARMA_OK;
        s->column[both++] = s->column[i];
    }
    size_t fewer = n_x < n_y ? n_x : n_y;
    if (2 * both < fewer || (both == n_x && both == n_y)) return KARMA_OK;
    if (both - count_mode(s->column, both) < LEAST_ROWS) return KARMA_OK;
    return find(s, KARMA_FINDING_PART_COPY, b, a, (double)both, err);
}

static karma_status find_part_copies(review_state *s, karma_error *err) {
    const karma_table *table = s->table;
    column_sample sample;
    size_t n_cells = 0;
    if (table->n_rows < LEAST_ROWS || table->n_attributes > MOST_PAIRED_COLUMNS) return KARMA_OK;
    KARMA_TRY(take_sample(&sample, table, err));
    karma_status st = KARMA_OK;
    for (size_t b = 1; st == KARMA_OK && b < table->n_attributes; b++) {
        size_t before = s->review->n_findings;
        for (size_t a = 0; st == KARMA_OK && a < b && s->review->n_findings == before; a++) {
            if (s->digest[a] == s->digest[b] || table->attributes[a].kind != table->attributes[b].kind) continue;
            if (n_cells > MOST_PAIRED_CELLS || !may_be_copies(&sample, table, a, b)) continue;
            n_cells += 2 * table->n_rows;
            st = compare_columns(s, a, b, err);
        }
    }
    karma_i_free(sample.values);
    return st;
}

/* --- a column against the target ------------------------------------------------------------------------ */

typedef struct label_pair {
    double value, label;
} label_pair;

static int by_value(const void *a, const void *b) {
    const label_pair *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* The number of rows whose label is the most common one among rows with the same value; pairs are sorted. */
static size_t count_explained(size_t *n_values, const label_pair *pairs, size_t n) {
    size_t explained = 0, most = 0, run = 0;
    *n_values = 0;
    for (size_t k = 0; k < n; k++) {
        int is_new = k == 0 || pairs[k].value != pairs[k - 1].value;
        if (is_new) explained += most, most = 0;
        *n_values += is_new ? 1 : 0;
        run = is_new || pairs[k].label != pairs[k - 1].label ? 1 : run + 1;
        if (run > most) most = run;
    }
    return explained + most;
}

static size_t count_commonest(label_pair *pairs, size_t n) {
    size_t most = 0, run = 0;
    for (size_t k = 0; k < n; k++) pairs[k].value = 0.0;
    if (n > 1) qsort(pairs, n, sizeof *pairs, by_value);
    for (size_t k = 0; k < n; k++) {
        run = k == 0 || pairs[k].label != pairs[k - 1].label ? 1 : run + 1;
        if (run > most) most = run;
    }
    return most;
}

/* A sample can show that a column with very many rows is not a leak: it has too many exceptions, or so few
 * repeated values among n of N rows that there must be more than N/5 values (with D values, about n²/2D
 * repeats are expected). This saves sorting all rows. */
static int may_be_leak(label_pair *pairs, const double *column, const double *labels, size_t n_rows) {
    size_t used = 0, n_values = 0;
    int is_equal = 1;
    for (size_t k = 0; k < LEAK_SAMPLE; k++) {
        size_t i = (size_t)((double)k * (double)n_rows / LEAK_SAMPLE);
        if (isnan(labels[i]) || isnan(column[i])) continue;
        pairs[used++] = (label_pair){column[i], labels[i]};
        is_equal &= column[i] == labels[i];
    }
    if (used < LEAST_ROWS || is_equal) return 1;
    qsort(pairs, used, sizeof *pairs, by_value);
    size_t explained = count_explained(&n_values, pairs, used);
    double drawn = (double)used, repeated = (double)(used - n_values);
    double share = drawn / LEAK_SAMPLE, expected = 2.5 * drawn * drawn / (share * (double)n_rows);
    return (double)(used - explained) <= 0.05 * drawn && repeated >= 0.5 * expected;
}

/* Almost every value of the column has a single label, and there are few enough values for this to be
 * evidence. A column with many missing cells must show it in enough rows without the most common label. At
 * most a tenth of the rows without the most common label are exceptions, and at most a hundredth of all
 * rows. */
static karma_status find_leak(review_state *s, size_t j, const double *labels, karma_error *err) {
    size_t n = s->table->n_rows, used = 0, n_values = 0, n_labels = 0;
    label_pair *pairs = karma_i_alloc(n, sizeof *pairs);
    if (!pairs) return karma_i_fail_memory(err);
    int is_equal = 1;
    if (n >= MANY_ROWS && !may_be_leak(pairs, s->column, labels, n)) {
        karma_i_free(pairs);
        return KARMA_OK;
    }
    for (size_t i = 0; i < n; i++) {
        n_labels += isnan(labels[i]) ? 0 : 1;
        if (isnan(labels[i]) || isnan(s->column[i])) continue;
        pairs[used++] = (label_pair){s->column[i], labels[i]};
        is_equal &= s->column[i] == labels[i];
    }
    if (used > 1) qsort(pairs, used, sizeof *pairs, by_value);
    size_t explained = count_explained(&n_values, pairs, used), common = count_commonest(pairs, used);
    karma_i_free(pairs);
    int is_common = 10 * used >= 9 * n_labels || (5 * used >= n_labels && used >= common + LEAST_ROWS);
    int is_leak = used >= LEAST_ROWS && is_common && common < used && 100 * (used - explained) <= used &&
                  10 * (used - explained) <= used - common && (is_equal || 5 * n_values <= used);
    return is_leak ? find(s, KARMA_FINDING_LEAK, j, 0, (double)explained / (double)used, err) : KARMA_OK;
}

/* Compares missing rates: each class against all others, or the upper half of numbers against the lower
 * half. */
static int holes_differ(double *difference, const double *values, const unsigned char *in_group, const double *labels,
                        size_t n) {
    double rows[2] = {0, 0}, holes[2] = {0, 0};
    for (size_t i = 0; i < n; i++) {
        if (isnan(labels[i])) continue;
        rows[in_group[i]] += 1.0;
        holes[in_group[i]] += isnan(values[i]) ? 1.0 : 0.0;
    }
    if (rows[0] < LEAST_ROWS || rows[1] < LEAST_ROWS) return 0;
    double p = (holes[0] + holes[1]) / (rows[0] + rows[1]);
    double error = sqrt(p * (1.0 - p) * (1.0 / rows[0] + 1.0 / rows[1]));
    *difference = holes[1] / rows[1] - holes[0] / rows[0];
    return fabs(*difference) >= HOLE_DIFFERENCE && fabs(*difference) >= HOLE_ERRORS * error;
}

static karma_status find_informative_holes(review_state *s, size_t j, const karma_i_target *target,
                                           unsigned char *in_group, karma_error *err) {
    size_t n = s->table->n_rows, n_groups = target->column.kind == KARMA_COLUMN_CATEGORY ? target->column.n_levels : 1;
    double mean = 0.0, count = 0.0, difference, largest = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(target->value[i])) mean += target->value[i], count += 1.0;
    mean = count > 0.0 ? mean / count : 0.0;
    for (size_t g = 0; g < n_groups && g < 50; g++) {
        for (size_t i = 0; i < n; i++)
            in_group[i] =
                target->column.kind == KARMA_COLUMN_CATEGORY ? target->value[i] == (double)g : target->value[i] > mean;
        if (holes_differ(&difference, s->column, in_group, target->value, n) && fabs(difference) > fabs(largest))
            largest = difference;
    }
    return largest != 0.0 ? find(s, KARMA_FINDING_TELLING_HOLES, j, 0, fabs(largest), err) : KARMA_OK;
}

/* Many classes that begin with a digit are probably a quantity: 58/100, 12 kg. */
static karma_status review_class_numbers(review_state *s, size_t t, karma_error *err) {
    const karma_i_column *column = &s->table->targets[t].column;
    size_t n_numbers = 0, first = 0;
    if (column->kind != KARMA_COLUMN_CATEGORY || column->n_levels < MANY_CLASSES) return KARMA_OK;
    for (size_t l = column->n_levels; l-- > 0;) {
        const char *digit = column->levels[l] + strspn(column->levels[l], "+-. $<>");
        if (*digit < '0' || *digit > '9') continue;
        n_numbers++;
        first = l;
    }
    if (2 * n_numbers <= column->n_levels) return KARMA_OK;
    return find(s, KARMA_FINDING_CLASS_NUMBERS, t, first, (double)column->n_levels, err);
}

static karma_status review_classes(review_state *s, size_t t, karma_error *err) {
    const karma_i_target *target = &s->table->targets[t];
    size_t n_levels = target->column.n_levels, n_single = 0;
    if (target->column.kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    size_t *count = karma_i_zalloc(n_levels, sizeof *count);
    if (!count) return karma_i_fail_memory(err);
    for (size_t i = 0; i < s->table->n_rows; i++)
        if (!isnan(target->value[i])) count[(size_t)target->value[i]]++;
    for (size_t l = 0; l < n_levels; l++) n_single += count[l] == 1;
    karma_i_free(count);
    return n_single ? find(s, KARMA_FINDING_SINGLE_CLASS, t, 0, (double)n_single, err) : KARMA_OK;
}

/* --- rows ---------------------------------------------------------------------------------------------- */

static int is_total(const char *text) {
    static const char *const words[] = {"total",  "totals", "grand total", "sum",     "subtotal",   "average", "mean",
                                        "summe",  "gesamt", "insgesamt",   "somme",   "mittelwert", "totale",  "suma",
                                        "totaal", "summa",  "razem",       "moyenne", "promedio",   "media"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0) return 1;
    return 0;
}

const char *karma_i_table_total(const karma_table *table) {
    size_t last = table->n_rows - 1;
    double value, other;
    for (size_t k = 0; k < table->n_ids; k++)
        if (is_total(table->ids[last * table->n_ids + k])) return table->ids[last * table->n_ids + k];
    for (size_t j = 0; j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        if (column->kind != KARMA_COLUMN_CATEGORY || !karma_table_cell(table, last, j, &value)) continue;
        if (!is_total(column->levels[(size_t)value])) continue;
        size_t i = 0;
        while (i < last && !(karma_table_cell(table, i, j, &other) && other == value)) i++;
        if (i == last) return column->levels[(size_t)value];
    }
    return NULL;
}

/* Columns of numbers, except for a text in the first row. */
static size_t count_titles(const karma_table *table) {
    size_t n = 0;
    double value;
    for (size_t j = 0; j < table->n_attributes; j++) {
        const karma_i_column *column = &table->attributes[j];
        if (column->kind != KARMA_COLUMN_CATEGORY || column->n_levels < KARMA_I_LEAST_LEVELS) continue;
        if (!karma_table_cell(table, 0, j, &value) || karma_i_level_is_number(column->levels[(size_t)value])) continue;
        n += karma_i_share_of_numbers(column) * (double)column->n_levels + 1.5 > (double)column->n_levels;
    }
    return n;
}

/* Whether the category is the column's own name. */
static int repeats_name(const karma_i_column *column, double value) {
    return column->kind == KARMA_COLUMN_CATEGORY && value >= 0.0 &&
           strcmp(column->levels[(size_t)value], column->name) == 0;
}

/* Rows whose cells are the names of their columns, as in concatenated files; *first is the first such row. */
static size_t count_headers(size_t *first, const karma_table *table) {
    size_t n = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        size_t n_names = 0, n_others = 0;
        for (size_t c = table->row_start[i]; c < table->row_start[i + 1] && n_others == 0; c++)
            *(repeats_name(&table->attributes[table->cell_owner[c]], table->cell_value[c]) ? &n_names : &n_others) += 1;
        for (size_t t = 0; t < table->n_targets && n_others == 0; t++)
            n_names += !isnan(table->targets[t].value[i]) &&
                       repeats_name(&table->targets[t].column, table->targets[t].value[i]);
        if (n_others > 0 || n_names < 2) continue;
        if (n++ == 0) *first = i;
    }
    return n;
}

/* Rows with only delimiters, as spreadsheets write them below a table. */
static size_t count_empty_rows(const karma_table *table) {
    size_t n = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        int any = table->row_start[i + 1] > table->row_start[i];
        for (size_t t = 0; t < table->n_targets; t++) any |= !isnan(table->targets[t].value[i]);
        n += any ? 0 : 1;
    }
    return n;
}

static karma_status review_rows(review_state *s, karma_error *err) {
    const karma_table *table = s->table;
    size_t n_titles = table->n_rows >= LEAST_ROWS ? count_titles(table) : 0;
    if (n_titles > 1) KARMA_TRY(find(s, KARMA_FINDING_HEADER, 0, 0, (double)n_titles, err));
    size_t first = 0, n_headers = count_headers(&first, table), n_empty = count_empty_rows(table);
    if (n_headers) KARMA_TRY(find(s, KARMA_FINDING_HEADER, 0, first + 1, (double)n_headers, err));
    if (n_empty && n_empty < table->n_rows) KARMA_TRY(find(s, KARMA_FINDING_EMPTY_ROWS, 0, 0, (double)n_empty, err));
    if (table->n_rows > 1 && karma_i_table_total(table)) KARMA_TRY(find(s, KARMA_FINDING_TOTAL, 0, 0, 0.0, err));
    for (size_t t = 0; t < table->n_targets; t++) {
        size_t n = 0;
        for (size_t i = 0; i < table->n_rows; i++) n += isnan(table->targets[t].value[i]) ? 1 : 0;
        if (n) KARMA_TRY(find(s, KARMA_FINDING_NO_LABEL, t, 0, (double)n, err));
        if (look_at(table->targets[t].value, table->n_rows).is_constant && n + 1 < table->n_rows)
            KARMA_TRY(find(s, KARMA_FINDING_ONE_CLASS, t, 0, 0.0, err));
        KARMA_TRY(review_spellings(s, &table->targets[t].column, KARMA_FINDING_CLASS_SPELLINGS, t, err));
    }
    return KARMA_OK;
}

/* --- all ----------------------------------------------------------------------------------------------- */

static karma_status review_all(review_state *s, unsigned char *in_group, karma_error *err) {
    const karma_table *table = s->table;
    for (size_t j = 0; j < table->n_attributes; j++) {
        fetch_column(s->column, table, j);
        s->digest[j] = digest_of(s->column, table->n_rows);
        KARMA_TRY(review_column(s, j, err));
        KARMA_TRY(review_spellings(s, &table->attributes[j], KARMA_FINDING_SPELLINGS, j, err));
        KARMA_TRY(review_marks(s, j, err));
        if (table->n_targets == 0) continue;
        KARMA_TRY(find_leak(s, j, table->targets[0].value, err));
        KARMA_TRY(find_informative_holes(s, j, &table->targets[0], in_group, err));
    }
    KARMA_TRY(find_copies(s, err));
    KARMA_TRY(find_part_copies(s, err));
    KARMA_TRY(review_rows(s, err));
    for (size_t t = 0; t < table->n_targets; t++) {
        KARMA_TRY(review_class_numbers(s, t, err));
        KARMA_TRY(review_classes(s, t, err));
    }
    return KARMA_OK;
}

karma_status karma_table_review(karma_review *out, const karma_table *table, karma_error *err) {
    karma_review review = {NULL, 0};
    if ((double)table->n_rows * (double)table->n_attributes > MOST_REVIEWED_CELLS) {
        *out = review;
        return KARMA_OK;
    }
    review_state s = {.review = &review, .table = table};
    s.column = karma_i_alloc(table->n_rows, sizeof *s.column);
    s.other = karma_i_alloc(table->n_rows, sizeof *s.other);
    s.digest = karma_i_alloc(table->n_attributes, sizeof *s.digest);
    unsigned char *in_group = karma_i_zalloc(table->n_rows, 1);
    karma_status st =
        s.column && s.other && s.digest && in_group ? review_all(&s, in_group, err) : karma_i_fail_memory(err);
    karma_i_free(s.column);
    karma_i_free(s.other);
    karma_i_free(s.digest);
    karma_i_free(in_group);
    if (st == KARMA_OK)
        *out = review;
    else
        karma_review_clear(&review);
    return st;
}

void karma_review_clear(karma_review *review) {
    karma_i_free(review->findings);
    *review = (karma_review){NULL, 0};
}
