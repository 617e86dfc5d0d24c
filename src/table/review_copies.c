/* Columns that are equal, or equal except for missing cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/review.h"

enum {
    SAMPLE_ROWS = 256,           /* rows in which pairs of columns are compared first */
    MOST_PAIRED_COLUMNS = 4000,  /* more are not compared with each other */
    MOST_PAIRED_CELLS = 20000000 /* of pairs that agree in the sample, as all rare indicators do */
};

/* FNV-1a over rows and values: equal columns have equal digests, others almost certainly not. */
uint64_t karma_i_column_digest(const double *values, size_t n) {
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

static int same_values(const karma_i_review_state *s) {
    for (size_t i = 0; i < s->table->n_rows; i++)
        if (s->column[i] != s->other[i] && !(isnan(s->column[i]) && isnan(s->other[i]))) return 0;
    return 1;
}

/* Columns with the same cells and, for categories, the same number of levels. */
karma_status karma_i_review_copies(karma_i_review_state *s, karma_error *err) {
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
        karma_i_fetch_column(s->column, s->table, a);
        karma_i_fetch_column(s->other, s->table, b);
        karma_i_column_facts f = karma_i_look_at(s->column, s->table->n_rows);
        if (f.n_observed >= KARMA_I_LEAST_REVIEWED && !f.is_constant && same_values(s))
            st = karma_i_review_find(s, KARMA_FINDING_COPY, b, a, 0.0, err);
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
static karma_status compare_columns(karma_i_review_state *s, size_t a, size_t b, karma_error *err) {
    const karma_i_column *x = &s->table->attributes[a], *y = &s->table->attributes[b];
    size_t both = 0, n_x = 0, n_y = 0;
    karma_i_fetch_column(s->column, s->table, a);
    karma_i_fetch_column(s->other, s->table, b);
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
    if (both - count_mode(s->column, both) < KARMA_I_LEAST_REVIEWED) return KARMA_OK;
    return karma_i_review_find(s, KARMA_FINDING_PART_COPY, b, a, (double)both, err);
}

karma_status karma_i_review_part_copies(karma_i_review_state *s, karma_error *err) {
    const karma_table *table = s->table;
    column_sample sample;
    size_t n_cells = 0;
    if (table->n_rows < KARMA_I_LEAST_REVIEWED || table->n_attributes > MOST_PAIRED_COLUMNS) return KARMA_OK;
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
