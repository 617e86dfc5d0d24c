/* Which columns go most with the predictions: a cheap look at tables of so many columns that permuting each of them
 * would take minutes.
 *
 * The rows that observe a column are divided into groups of neighbouring values, with g groups of n rows. With η² the
 * share of a score's variance that lies between the groups, the measure is Kelley's ε² = 1 - (1 - η²)(n - 1)/(n - g),
 * which is 0 on average for a column that has nothing to do with the score, times the share of the rows that observe
 * the column. Of several scores the largest counts. It sees effects of any shape of one column, but not columns that
 * matter only together with others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

enum { MOST_GROUPS = 8, MOST_ROWS = 1000 };

typedef struct placed {
    double value;
    size_t row;
} placed;

static int by_value(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* group[i] of cell i, which are sorted. Equal values are in one group, and a group has an eighth of the rows at least.
 * Returns the number of groups. */
static size_t divide(size_t *group, const placed *cells, size_t n) {
    size_t g = 0, first = 0;
    for (size_t i = 0; i < n; i++) {
        int can_end = i > 0 && cells[i].value != cells[i - 1].value && (i - first) * MOST_GROUPS >= n;
        if (can_end) g++, first = i;
        group[i] = g;
    }
    return n ? g + 1 : 0;
}

/* ε² of one score. */
static double explained(const placed *cells, const size_t *group, size_t n, size_t g, const double *scores, size_t K) {
    double sum[MOST_GROUPS] = {0.0}, size[MOST_GROUPS] = {0.0}, mean = 0.0, total = 0.0, between = 0.0;
    for (size_t i = 0; i < n; i++) mean += scores[cells[i].row * K] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = scores[cells[i].row * K] - mean;
        total += off * off;
        sum[group[i]] += off;
        size[group[i]] += 1.0;
    }
    if (!(total > 0.0) || n <= g) return 0.0;
    for (size_t k = 0; k < g; k++) between += sum[k] * sum[k] / size[k];
    return 1.0 - (1.0 - between / total) * (double)(n - 1) / (double)(n - g);
}

typedef struct candidate {
    double strength;
    size_t attribute;
} candidate;

static int by_strength(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->strength != y->strength) return x->strength < y->strength ? 1 : -1;
    return (x->attribute > y->attribute) - (x->attribute < y->attribute);
}

/* Room for the rows that are looked at: every step-th of the page's rows. */
typedef struct look {
    const report *r;
    size_t step, n_rows, *group;
    placed *cells;
} look;

static double strength_of(const look *l, size_t column) {
    size_t n = 0, K = karma_model_n_outputs(l->r->model), all = karma_table_n_rows(l->r->rows);
    double value, best = 0.0;
    for (size_t i = 0; i < all; i += l->step)
        if (karma_table_cell(l->r->rows, i, column, &value)) l->cells[n++] = (placed){value, i};
    qsort(l->cells, n, sizeof *l->cells, by_value);
    size_t g = divide(l->group, l->cells, n);
    for (size_t o = 0; g > 1 && o < K; o++) best = fmax(best, explained(l->cells, l->group, n, g, l->r->scores + o, K));
    return best * (double)n / (double)l->n_rows;
}

size_t find_column(const karma_table *table, const char *name, size_t from) {
    size_t n = karma_table_n_attributes(table);
    for (size_t k = 0; k < n; k++)
        if (strcmp(karma_table_attribute_name(table, (from + k) % n), name) == 0) return (from + k) % n;
    return n;
}

karma_status rank_columns(size_t *order, const report *r, karma_error *err) {
    size_t d = karma_model_n_attributes(r->model), all = karma_table_n_rows(r->rows), column = 0;
    look l = {.r = r, .step = all / MOST_ROWS + 1};
    l.n_rows = (all + l.step - 1) / l.step;
    l.group = malloc((l.n_rows + 1) * sizeof *l.group);
    l.cells = malloc((l.n_rows + 1) * sizeof *l.cells);
    candidate *list = malloc((d + 1) * sizeof *list);
    karma_status st = l.group && l.cells && list ? KARMA_OK : out_of_memory(err);
    for (size_t j = 0; st == KARMA_OK && j < d; j++) {
        column = find_column(r->rows, karma_model_attribute_name(r->model, j), column);
        int is_there = column < karma_table_n_attributes(r->rows);
        list[j] = (candidate){is_there ? strength_of(&l, column) : 0.0, j};
        column = is_there ? column + 1 : 0; /* the next one is usually the next one there */
    }
    if (st == KARMA_OK) qsort(list, d, sizeof *list, by_strength);
    for (size_t j = 0; st == KARMA_OK && j < d; j++) order[j] = list[j].attribute;
    free(l.group);
    free(l.cells);
    free(list);
    return st;
}
