/* Equal rows become neighbours by sorting: first by a hash of their cells and labels, which settles nearly all
 * comparisons, then by these themselves. A hash table would be a trap for rows made to have the same hash. */
#include "table/copies.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* A row to be sorted; `place` is its index in the list of rows. */
typedef struct sorted_row {
    uint64_t hash;
    size_t row, place;
    const karma_table *table;
} sorted_row;

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 32);
}

/* Equal numbers have equal bits, except for the two zeros. */
static uint64_t mix_number(uint64_t hash, double value) {
    uint64_t bits;
    double number = value == 0.0 ? 0.0 : value;
    memcpy(&bits, &number, sizeof bits);
    return mix(hash, isnan(value) ? UINT64_MAX : bits);
}

static uint64_t hash_of(const karma_table *table, size_t row) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    uint64_t hash = cells.count;
    for (size_t k = 0; k < cells.count; k++) hash = mix_number(mix(hash, cells.attribute[k]), cells.value[k]);
    for (size_t t = 0; t < table->n_targets; t++) hash = mix_number(hash, table->targets[t].value[row]);
    return hash;
}

/* NaN, a missing label, comes last and is equal to itself. */
static int compare_numbers(double a, double b) {
    if (isnan(a) || isnan(b)) return (isnan(a) != 0) - (isnan(b) != 0);
    return (a > b) - (a < b);
}

static int compare_rows(const karma_table *table, size_t a, size_t b) {
    karma_i_row_cells x = karma_i_table_cells(table, a), y = karma_i_table_cells(table, b);
    int order = (x.count > y.count) - (x.count < y.count);
    for (size_t k = 0; order == 0 && k < x.count; k++) {
        order = (x.attribute[k] > y.attribute[k]) - (x.attribute[k] < y.attribute[k]);
        if (order == 0) order = compare_numbers(x.value[k], y.value[k]);
    }
    for (size_t t = 0; order == 0 && t < table->n_targets; t++)
        order = compare_numbers(table->targets[t].value[a], table->targets[t].value[b]);
    return order;
}

static int compare_content(const sorted_row *x, const sorted_row *y) {
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return compare_rows(x->table, x->row, y->row);
}

static int by_content(const void *a, const void *b) {
    const sorted_row *x = a, *y = b;
    int order = compare_content(x, y);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* 1, or less where sums of weights could overflow: a power of two, which changes no proportion. */
static double unit_of(const double *weights, size_t n) {
    int exponent;
    double largest = 0.0;
    for (size_t i = 0; i < n; i++) largest = fmax(largest, weights[i]);
    (void)frexp((double)n, &exponent);
    return largest <= DBL_MAX / (double)n ? 1.0 : ldexp(1.0, -exponent);
}

/* first[place]: the place of the first row that is equal to this one. Returns how many are not their own. */
static size_t find_first(size_t *first, const sorted_row *sorted, size_t n) {
    size_t n_copies = 0;
    for (size_t i = 0; i < n; i++) {
        int is_copy = i > 0 && compare_content(&sorted[i - 1], &sorted[i]) == 0;
        first[sorted[i].place] = is_copy ? first[sorted[i - 1].place] : sorted[i].place;
        n_copies += (size_t)is_copy;
    }
    return n_copies;
}

karma_status karma_i_drop_copies(size_t *rows, size_t *n, double **weights, const karma_table *table,
                                 karma_error *err) {
    size_t kept = 0, *first = karma_i_alloc(*n, sizeof *first);
    sorted_row *sorted = karma_i_alloc(*n, sizeof *sorted);
    double *sums = NULL, unit = unit_of(table->row_weight, table->n_rows);
    karma_status st = first && sorted ? KARMA_OK : karma_i_fail_memory(err);
    *weights = NULL;
    for (size_t i = 0; st == KARMA_OK && i < *n; i++)
        sorted[i] = (sorted_row){hash_of(table, rows[i]), rows[i], i, table};
    if (st == KARMA_OK && *n > 1) qsort(sorted, *n, sizeof *sorted, by_content);
    size_t n_copies = st == KARMA_OK ? find_first(first, sorted, *n) : 0;
    karma_i_free(sorted);
    if (n_copies > 0) {
        sums = karma_i_zalloc(*n, sizeof *sums);
        st = sums ? KARMA_OK : karma_i_fail_memory(err);
    }
    for (size_t i = 0; sums && i < *n; i++) sums[first[i]] += unit * table->row_weight[rows[i]];
    for (size_t i = 0; sums && i < *n; i++) {
        if (first[i] != i) continue;
        sums[kept] = sums[i];
        rows[kept++] = rows[i];
    }
    if (sums) *n = kept;
    *weights = sums;
    karma_i_free(first);
    return st;
}
