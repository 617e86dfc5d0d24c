/* Neighbours: a missing cell gets the mean over the k training rows that are nearest among those that have the cell
 * (Troyanskaya et al., Missing value estimation methods for DNA microarrays, 2001); with k = 1 that is a hot deck with
 * the nearest donor. Distances are computed over the attributes that two rows share, scaled up to all d
 * attributes (Dixon, Pattern recognition with partly missing data, 1979):
 *
 *     D(x, x')² = d/|o ∩ o'| · Σ over j in o ∩ o' of |x_j - x'_j|²,   x_j the standardised features of an attribute.
 *
 * A row that shares no attribute with any donor gets the mean. Ties in distance go to the first row. Cost:
 * the product of both numbers of rows and the number of features. */
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "baseline/imputer.h"

enum { ROWS_PER_REPORT = 256, LANES = 8 };

/* A training row and its D². */
typedef struct neighbour {
    double distance;
    size_t row;
} neighbour;

static int by_distance(const void *a, const void *b) {
    const neighbour *p = a, *q = b;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

/* The features that rows have, as 0 and 1, and their attributes, as bits, so that distances are sums without
 * branches. */
typedef struct held {
    double *feature;
    uint64_t *mask;
    size_t n_words;
} held;

static void clear_held(held *h) {
    karma_i_free(h->feature);
    karma_i_free(h->mask);
}

/* Clear it even if this fails. */
static karma_status take_held(held *h, const karma_i_grid *rows, karma_error *err) {
    h->n_words = karma_i_mask_words(rows->n_attributes);
    h->feature = karma_i_zalloc(rows->n_rows, rows->n_features * sizeof *h->feature);
    h->mask = karma_i_zalloc(rows->n_rows, h->n_words * sizeof *h->mask);
    if (!h->feature || !h->mask) return karma_i_fail_memory(err);
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t j = 0; j < rows->n_attributes; j++) {
            if (!karma_i_grid_has(rows, i, j)) continue;
            karma_i_mask_set(h->mask + i * h->n_words, j);
            for (size_t k = rows->first[j]; k < rows->first[j + 1]; k++) h->feature[i * rows->n_features + k] = 1.0;
        }
    return KARMA_OK;
}

/* Σ over the features that both have of (a - b)², in LANES sums that the processor can keep side by side. */
static double squared_difference(const double *a, const double *a_held, const double *b, const double *b_held,
                                 size_t n) {
    double sum[LANES] = {0}, total = 0.0;
    size_t k = 0;
    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; l++) {
            double difference = (a[k + l] - b[k + l]) * (a_held[k + l] * b_held[k + l]);
            sum[l] += difference * difference;
        }
    for (; k < n; k++) total += a_held[k] * b_held[k] * (a[k] - b[k]) * (a[k] - b[k]);
    for (size_t l = 0; l < LANES; l++) total += sum[l];
    return total;
}

/* Both sides of a search. */
typedef struct search {
    const karma_i_grid *train, *rows;
    held train_held, rows_held;
    neighbour *near; /* room for all training rows */
} search;

/* D²; NaN if the rows share no attribute. */
static double distance_between(const search *s, size_t row, size_t other) {
    size_t p = s->train->n_features, n_words = s->train_held.n_words;
    size_t n_shared =
        karma_i_mask_overlap(s->rows_held.mask + row * n_words, s->train_held.mask + other * n_words, n_words);
    if (n_shared == 0) return NAN;
    double sum = squared_difference(s->rows->x + row * p, s->rows_held.feature + row * p, s->train->x + other * p,
                                    s->train_held.feature + other * p, p);
    return sum * (double)s->train->n_attributes / (double)n_shared;
}

/* The mean over the first k of the neighbours, which are in order, that have the attribute. */
static void fill_cell(double *x, size_t k, const karma_i_grid *train, size_t attribute, const neighbour *near,
                      size_t n_near) {
    size_t n_donors = 0, first = train->first[attribute], last = train->first[attribute + 1];
    for (size_t c = 0; c < n_near && n_donors < k; c++) {
        if (!karma_i_grid_has(train, near[c].row, attribute)) continue;
        for (size_t j = first; j < last; j++) x[j] += train->x[near[c].row * train->n_features + j];
        n_donors++;
    }
    for (size_t j = first; n_donors && j < last; j++) x[j] /= (double)n_donors;
}

static int has_holes(const karma_i_grid *rows, size_t row) {
    for (size_t j = 0; j < rows->n_attributes; j++)
        if (!karma_i_grid_has(rows, row, j)) return 1;
    return 0;
}

static void fill_row(double *x, size_t k, search *s, size_t row) {
    size_t n_near = 0;
    if (!has_holes(s->rows, row)) return;
    for (size_t i = 0; i < s->train->n_rows; i++) {
        double distance = distance_between(s, row, i);
        if (!isnan(distance)) s->near[n_near++] = (neighbour){distance, i};
    }
    if (n_near) qsort(s->near, n_near, sizeof *s->near, by_distance);
    for (size_t j = 0; j < s->train->n_attributes; j++)
        if (!karma_i_grid_has(s->rows, row, j)) fill_cell(x, k, s->train, j, s->near, n_near);
}

static karma_status fill_by(size_t k, double *x, const karma_i_grid *train, const karma_i_grid *rows,
                            const karma_hooks *hooks, karma_error *err) {
    search s = {.train = train, .rows = rows, .near = karma_i_alloc(train->n_rows, sizeof *s.near)};
    karma_status st = s.near ? take_held(&s.train_held, train, err) : karma_i_fail_memory(err);
    if (st == KARMA_OK) st = take_held(&s.rows_held, rows, err);
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++) {
        fill_row(x + i * train->n_features, k, &s, i);
        if (i % ROWS_PER_REPORT == 0) st = karma_i_impute_progress(hooks, i, rows->n_rows, err);
    }
    clear_held(&s.train_held);
    clear_held(&s.rows_held);
    karma_i_free(s.near);
    return st;
}

static karma_status fill_by_neighbours(double *x, const karma_i_imputer *imputer, const karma_i_grid *rows,
                                       const karma_hooks *hooks, karma_error *err) {
    if (imputer->options.neighbours == 0)
        return karma_i_fail(err, KARMA_ERR_OPTION, "at least one neighbour is needed");
    return fill_by(imputer->options.neighbours, x, &imputer->train, rows, hooks, err);
}

static karma_status fill_by_nearest(double *x, const karma_i_imputer *imputer, const karma_i_grid *rows,
                                    const karma_hooks *hooks, karma_error *err) {
    return fill_by(1, x, &imputer->train, rows, hooks, err);
}

const karma_i_imputer_kind karma_i_imputer_knn = {
    "knn", "a missing value is the mean of the nearest training rows that have it", 0, NULL, fill_by_neighbours, NULL};
const karma_i_imputer_kind karma_i_imputer_nearest_donor = {
    "hot-deck-nearest",
    "a missing value is copied from the nearest training row that has it",
    0,
    NULL,
    fill_by_nearest,
    NULL};
