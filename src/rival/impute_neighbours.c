/* Neighbours: a hole gets the mean over the k training rows that are nearest among those that have the cell
 * (Troyanskaya et al., Missing value estimation methods for DNA microarrays, 2001); with k = 1 that is a hot deck with
 * the nearest donor. Distances are over what two rows share, scaled up to all d attributes (Dixon, Pattern recognition
 * with partly missing data, 1979):
 *
 *     D(x, x')² = d/|o ∩ o'| · Σ over j in o ∩ o' of |x_j - x'_j|²,   x_j the standardised features of an attribute.
 *
 * A row that shares nothing with any donor gets the mean. Equal distances: the first row. Cost: the product of both
 * numbers of rows and the number of features. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "rival/imputer.h"

enum { ROWS_PER_REPORT = 256 };

/* The k nearest so far, in ascending order. */
typedef struct nearest {
    size_t count, most;
    size_t *row;
    double *distance;
} nearest;

static void consider(nearest *near, size_t row, double distance) {
    size_t place = near->count;
    if (place == near->most && distance >= near->distance[place - 1]) return;
    if (place == near->most) place--;
    for (; place > 0 && near->distance[place - 1] > distance; place--) {
        near->distance[place] = near->distance[place - 1];
        near->row[place] = near->row[place - 1];
    }
    near->distance[place] = distance;
    near->row[place] = row;
    if (near->count < near->most) near->count++;
}

/* D² of a row to a training row; NaN where they share nothing. */
static double distance_to(const karma_i_grid *rows, size_t row, const karma_i_grid *train, size_t other) {
    const karma_i_frame *f = train->frame;
    const double *a = rows->x + row * f->n_features, *b = train->x + other * f->n_features;
    size_t n_shared = 0;
    double sum = 0.0;
    for (size_t j = 0; j < f->n_attributes; j++) {
        if (!karma_i_grid_has(rows, row, j) || !karma_i_grid_has(train, other, j)) continue;
        n_shared++;
        for (size_t k = f->first[j]; k < f->first[j + 1]; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return n_shared ? sum * (double)f->n_attributes / (double)n_shared : NAN;
}

static void fill_cell(double *x, const karma_i_grid *train, size_t attribute, const double *distance, nearest *near) {
    const karma_i_frame *f = train->frame;
    near->count = 0;
    for (size_t i = 0; i < train->n_rows; i++)
        if (!isnan(distance[i]) && karma_i_grid_has(train, i, attribute)) consider(near, i, distance[i]);
    for (size_t k = f->first[attribute]; k < f->first[attribute + 1]; k++) {
        double sum = 0.0;
        for (size_t c = 0; c < near->count; c++) sum += train->x[near->row[c] * f->n_features + k];
        x[k] = near->count ? sum / (double)near->count : 0.0;
    }
}

static int has_holes(const karma_i_grid *rows, size_t row) {
    for (size_t j = 0; j < rows->frame->n_attributes; j++)
        if (!karma_i_grid_has(rows, row, j)) return 1;
    return 0;
}

static void fill_row(double *x, const karma_i_grid *train, const karma_i_grid *rows, size_t row, double *distance,
                     nearest *near) {
    if (!has_holes(rows, row)) return;
    for (size_t i = 0; i < train->n_rows; i++) distance[i] = distance_to(rows, row, train, i);
    for (size_t j = 0; j < train->frame->n_attributes; j++)
        if (!karma_i_grid_has(rows, row, j)) fill_cell(x, train, j, distance, near);
}

static karma_status fill_by(size_t k, double *x, const karma_i_grid *train, const karma_i_grid *rows,
                            const karma_hooks *hooks, karma_error *err) {
    nearest near = {
        .most = k, .row = karma_i_alloc(k, sizeof *near.row), .distance = karma_i_alloc(k, sizeof *near.distance)};
    double *distance = karma_i_alloc(train->n_rows, sizeof *distance);
    karma_status st = near.row && near.distance && distance ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < rows->n_rows; i++) {
        fill_row(x + i * train->frame->n_features, train, rows, i, distance, &near);
        if (i % ROWS_PER_REPORT == 0) st = karma_i_impute_progress(hooks, i, rows->n_rows, err);
    }
    karma_i_free(near.row);
    karma_i_free(near.distance);
    karma_i_free(distance);
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
    "knn", "holes get the mean of the nearest training rows that have the cell", 0, NULL, fill_by_neighbours, NULL};
const karma_i_imputer_kind karma_i_imputer_nearest_donor = {
    "hot-deck-nearest", "holes get the value of the nearest training row that has it", 0, NULL, fill_by_nearest, NULL};
