/* Equal rows become neighbours by sorting digests of their cells and labels, which costs n log n whatever the rows
 * are; neighbours are then compared cell by cell. */
#include "table/row_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "table/table_split.h"

/* Weights as decimals of six digits add up to a whole number only about. */
static const double TOLERANCE = 1e-5;

/* Rows that differ, in a table that is given several times. */
enum { LEAST_DISTINCT = 10 };

/* The weight of a row that is a part of another one. */
static const double JOINED = -1.0;

/* A listed row; `place` counts through those of all processes. */
typedef struct listed_row {
    uint64_t digest[2];
    double weight;
    size_t place;
} listed_row;

/* The listed rows of all processes. */
typedef struct row_list {
    listed_row *items;
    size_t count;
    const karma_table *table; /* NULL: it is split, and rows of other processes cannot be compared by cells */
    const size_t *rows;       /* of each place, if there is a table */
} row_list;

/* --- equal rows ---------------------------------------------------------------------------------------- */

static void mix(uint64_t digest[2], uint64_t more) {
    digest[0] = (digest[0] ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    digest[0] ^= digest[0] >> 29;
    digest[1] = (digest[1] ^ (more << 32 | more >> 32)) * UINT64_C(0xff51afd7ed558ccd);
    digest[1] ^= digest[1] >> 31;
}

/* Equal numbers have equal bits, except for the two zeros. */
static void mix_number(uint64_t digest[2], double value) {
    uint64_t bits;
    double number = value == 0.0 ? 0.0 : value;
    memcpy(&bits, &number, sizeof bits);
    mix(digest, isnan(value) ? UINT64_MAX : bits);
}

static void take_digest(uint64_t digest[2], const karma_table *table, size_t row) {
    karma_i_row_cells cells = karma_i_table_cells(table, row);
    digest[0] = digest[1] = cells.count;
    for (size_t k = 0; k < cells.count; k++) {
        mix(digest, cells.attribute[k]);
        mix_number(digest, cells.value[k]);
    }
    for (size_t t = 0; t < table->n_targets; t++) mix_number(digest, table->targets[t].value[row]);
}

static int same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static int same_row(const karma_table *table, size_t a, size_t b) {
    karma_i_row_cells x = karma_i_table_cells(table, a), y = karma_i_table_cells(table, b);
    if (x.count != y.count) return 0;
    for (size_t k = 0; k < x.count; k++)
        if (x.attribute[k] != y.attribute[k] || x.value[k] != y.value[k]) return 0;
    for (size_t t = 0; t < table->n_targets; t++)
        if (!same_number(table->targets[t].value[a], table->targets[t].value[b])) return 0;
    return 1;
}

static int compare_digests(const listed_row *x, const listed_row *y) {
    for (int k = 0; k < 2; k++)
        if (x->digest[k] != y->digest[k]) return x->digest[k] < y->digest[k] ? -1 : 1;
    return 0;
}

static int by_content(const void *a, const void *b) {
    const listed_row *x = a, *y = b;
    int order = compare_digests(x, y);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_content_and_weight(const void *a, const void *b) {
    const listed_row *x = a, *y = b;
    int order = compare_digests(x, y);
    if (order == 0) order = (x->weight > y->weight) - (x->weight < y->weight);
    return order != 0 ? order : (x->place > y->place) - (x->place < y->place);
}

/* The end of the equal rows that begin at item `first` of a sorted list. */
static size_t end_of_equal(const row_list *all, size_t first, int with_weight) {
    const listed_row *x = &all->items[first];
    size_t end = first + 1;
    for (; end < all->count; end++) {
        const listed_row *y = &all->items[end];
        if (compare_digests(x, y) != 0 || (with_weight && x->weight != y->weight)) break;
        if (all->table && !same_row(all->table, all->rows[x->place], all->rows[y->place])) break;
    }
    return end;
}

static void sort_rows(row_list *all, int (*order)(const void *, const void *)) {
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, order);
}

/* --- a table that is given several times ----------------------------------------------------------------- */

static int weights_differ(const row_list *all) {
    for (size_t i = 1; i < all->count; i++)
        if (all->items[i].weight != all->items[0].weight) return 1;
    return 0;
}

static size_t common_divisor(size_t a, size_t b) {
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Writes the weights that change to weight[place], and leaves the rows that stay in the list. Returns whether any
 * changed. */
static int join_repeats(double *weight, row_list *all) {
    size_t m = 0, n_distinct = 0, kept = 0;
    if (!weights_differ(all)) return 0;
    sort_rows(all, by_content_and_weight);
    for (size_t i = 0, end; i < all->count && m != 1; i = end) {
        end = end_of_equal(all, i, 1);
        m = common_divisor(end - i, m);
        n_distinct++;
    }
    if (m < 2 || n_distinct < LEAST_DISTINCT) return 0;
    for (size_t i = 0, end; i < all->count; i = end) {
        end = end_of_equal(all, i, 1);
        for (size_t k = i; k < end; k++) {
            listed_row row = all->items[k];
            row.weight = (k - i) % m ? JOINED : row.weight * (double)m;
            weight[row.place] = row.weight;
            if ((k - i) % m == 0) all->items[kept++] = row; /* behind what is still to be read */
        }
    }
    all->count = kept;
    return 1;
}

/* --- parts of rows of weight 1 ------------------------------------------------------------------------- */

static int is_part(const listed_row *row) {
    return row->weight > 0.0 && row->weight < 1.0;
}

typedef struct part_sum {
    size_t count;
    double weight;
} part_sum;

static part_sum sum_parts(const row_list *all, size_t first, size_t end) {
    part_sum sum = {0, 0.0};
    for (size_t i = first; i < end; i++) {
        if (!is_part(&all->items[i])) continue;
        sum.count++;
        sum.weight += all->items[i].weight;
    }
    return sum;
}

/* Whether there are parts, and all of them make whole rows. */
static int are_rows_in_parts(const row_list *all) {
    int any = 0;
    for (size_t i = 0, end; i < all->count; i = end) {
        end = end_of_equal(all, i, 0);
        part_sum sum = sum_parts(all, i, end);
        if (sum.count < 2) continue;
        if (sum.weight < 0.5 || fabs(sum.weight - round(sum.weight)) > TOLERANCE) return 0;
        any = 1;
    }
    return any;
}

/* Of equal rows: a whole row stands where its weight begins, as the parts are added up in their order. */
static void join_group(double *weight, const row_list *all, size_t first, size_t end) {
    part_sum sum = sum_parts(all, first, end);
    double before = 0.0, begun = 0.0, whole = round(sum.weight);
    for (size_t i = first; sum.count > 1 && i < end; i++) {
        const listed_row *row = &all->items[i];
        if (!is_part(row)) continue;
        int begins = begun < whole && before >= begun - TOLERANCE;
        weight[row->place] = begins ? 1.0 : JOINED;
        begun += begins ? 1.0 : 0.0;
        before += row->weight;
    }
}

static int join_parts(double *weight, row_list *all) {
    int any = 0;
    for (size_t i = 0; i < all->count; i++) any |= is_part(&all->items[i]);
    if (!any) return 0;
    sort_rows(all, by_content);
    if (!are_rows_in_parts(all)) return 0;
    for (size_t i = 0, end; i < all->count; i = end) {
        end = end_of_equal(all, i, 0);
        join_group(weight, all, i, end);
    }
    return 1;
}

/* --- the whole ----------------------------------------------------------------------------------------- */

/* Weights that are all 1, as most are, need no digests. */
static karma_status may_have_parts(int *may, const size_t *rows, size_t n, const karma_table *table, karma_error *err) {
    *may = 0;
    for (size_t i = 0; i < n; i++) *may |= table->row_weight[rows[i]] != 1.0;
    return karma_i_ranks_any(may, karma_i_table_ranks(table), err);
}

/* The listed rows of all processes; own_first: the place of the first one here. */
static karma_status list_rows(karma_i_gathered *all, size_t *own_first, const size_t *rows, size_t n,
                              const karma_table *table, karma_error *err) {
    const karma_ranks *ranks = karma_i_table_ranks(table);
    listed_row *own = karma_i_zalloc(n, sizeof *own);
    if (!own) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) {
        take_digest(own[i].digest, table, rows[i]);
        own[i].weight = table->row_weight[rows[i]];
    }
    karma_status st = karma_i_ranks_gather(all, own, n * sizeof *own, ranks, err);
    karma_i_free(own);
    if (st == KARMA_OK) *own_first = all->start[ranks->rank] / sizeof *own;
    return st;
}

/* Keeps the rows that are not parts of others. */
static void keep_rows(double *kept_weights, size_t *rows, size_t *n, const double *weight) {
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (weight[i] == JOINED) continue;
        kept_weights[kept] = weight[i];
        rows[kept++] = rows[i];
    }
    *n = kept;
}

static karma_status join_all(double **weights, size_t *rows, size_t *n, row_list *all, size_t own_first,
                             karma_error *err) {
    double *weight = karma_i_alloc(all->count, sizeof *weight), *own = karma_i_alloc(*n, sizeof *own);
    if (!weight || !own) {
        karma_i_free(weight);
        karma_i_free(own);
        return karma_i_fail_memory(err);
    }
    for (size_t i = 0; i < all->count; i++) {
        all->items[i].place = i;
        weight[i] = all->items[i].weight;
    }
    int any = join_repeats(weight, all);
    any |= join_parts(weight, all);
    if (any)
        keep_rows(*weights = own, rows, n, weight + own_first);
    else
        karma_i_free(own);
    karma_i_free(weight);
    return KARMA_OK;
}

karma_status karma_i_row_parts_join(double **weights, size_t *rows, size_t *n, const karma_table *table,
                                    karma_error *err) {
    const karma_ranks *ranks = karma_i_table_ranks(table);
    karma_i_gathered gathered = {0};
    size_t own_first = 0;
    int may;
    *weights = NULL;
    KARMA_TRY(may_have_parts(&may, rows, *n, table, err));
    if (!may) return KARMA_OK;
    KARMA_TRY(list_rows(&gathered, &own_first, rows, *n, table, err));
    row_list all = {(listed_row *)(void *)gathered.bytes, gathered.start[ranks->size] / sizeof *all.items,
                    ranks->size == 1 ? table : NULL, rows};
    karma_status st = join_all(weights, rows, n, &all, own_first, err);
    karma_i_gathered_clear(&gathered);
    return st;
}
