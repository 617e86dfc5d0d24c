/* What is likely to be wrong with labels: columns that determine them, missing cells that go with them, classes that
 * are numbers or have one row only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/review.h"

enum { MANY_CLASSES = 20 }; /* more than most tables have */
/* In tables with more rows than this, a sample of rows is examined first. */
enum { MANY_ROWS = 200000, LEAK_SAMPLE = 20000 };
/* Two rates of missing cells differ if their difference is at least this large, and at least this many
 * standard errors. */
static const double HOLE_DIFFERENCE = 0.1, HOLE_ERRORS = 5.0;

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
    if (used < KARMA_I_LEAST_REVIEWED || is_equal) return 1;
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
karma_status karma_i_review_leak(karma_i_review_state *s, size_t j, const double *labels, karma_error *err) {
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
    int is_common = 10 * used >= 9 * n_labels || (5 * used >= n_labels && used >= common + KARMA_I_LEAST_REVIEWED);
    int is_leak = used >= KARMA_I_LEAST_REVIEWED && is_common && common < used && 100 * (used - explained) <= used &&
                  10 * (used - explained) <= used - common && (is_equal || 5 * n_values <= used);
    return is_leak ? karma_i_review_find(s, KARMA_FINDING_LEAK, j, 0, (double)explained / (double)used, err) : KARMA_OK;
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
    if (rows[0] < KARMA_I_LEAST_REVIEWED || rows[1] < KARMA_I_LEAST_REVIEWED) return 0;
    double p = (holes[0] + holes[1]) / (rows[0] + rows[1]);
    double error = sqrt(p * (1.0 - p) * (1.0 / rows[0] + 1.0 / rows[1]));
    *difference = holes[1] / rows[1] - holes[0] / rows[0];
    return fabs(*difference) >= HOLE_DIFFERENCE && fabs(*difference) >= HOLE_ERRORS * error;
}

karma_status karma_i_review_holes(karma_i_review_state *s, size_t j, const karma_i_target *target,
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
    return largest != 0.0 ? karma_i_review_find(s, KARMA_FINDING_TELLING_HOLES, j, 0, fabs(largest), err) : KARMA_OK;
}

/* Many classes that begin with a digit are probably a quantity: 58/100, 12 kg. */
karma_status karma_i_review_class_numbers(karma_i_review_state *s, size_t t, karma_error *err) {
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
    return karma_i_review_find(s, KARMA_FINDING_CLASS_NUMBERS, t, first, (double)column->n_levels, err);
}

karma_status karma_i_review_classes(karma_i_review_state *s, size_t t, karma_error *err) {
    const karma_i_target *target = &s->table->targets[t];
    size_t n_levels = target->column.n_levels, n_single = 0;
    if (target->column.kind != KARMA_COLUMN_CATEGORY) return KARMA_OK;
    size_t *count = karma_i_zalloc(n_levels, sizeof *count);
    if (!count) return karma_i_fail_memory(err);
    for (size_t i = 0; i < s->table->n_rows; i++)
        if (!isnan(target->value[i])) count[(size_t)target->value[i]]++;
    for (size_t l = 0; l < n_levels; l++) n_single += count[l] == 1;
    karma_i_free(count);
    return n_single ? karma_i_review_find(s, KARMA_FINDING_SINGLE_CLASS, t, 0, (double)n_single, err) : KARMA_OK;
}
