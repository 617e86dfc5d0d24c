/* An upper estimate of the memory of a run, from only the size of the table and the options.
 *
 *   peak = process + table × copies + encoded rows × encodings + max(search, last fit)
 *
 * The search holds kernel matrices of its sample, the last fit those of all rows or of the landmarks, bounded by
 * --memory; each term has the sizes of the arrays that the code allocates. Sizes are rounded up, and a share
 * is added for allocators and threads. tests/cli/cases_limits.py compares it with measured peaks.
 */
#include "search/estimate.h"

#include <math.h>

#include "base/mem.h"
#include "base/options_accept.h"
#include "base/threads.h"
#include "karma/search.h"
#include "solve/nystrom.h"
#include "solve/solver.h"
#include "table/table.h"

static const size_t most_rows[KARMA_N_EFFORTS] = {
    [KARMA_EFFORT_QUICK] = 1000,
    [KARMA_EFFORT_NORMAL] = 2000,
    [KARMA_EFFORT_THOROUGH] = 4000,
};

/* The program, its libraries and small arrays. */
static const double PROCESS = 40e6;
/* Overhead of allocators. */
static const double SLACK = 1.15;
/* Matrices of sample × sample in memory: the shared parts of a fold, and for each thread those of a
 * candidate. */
static const double SHARED_MATRICES = 3.0, OWN_MATRICES = 2.0;
enum { LEAST_SAMPLE = 200, LEAST_OF_SPARSE = 256 };
/* Up to this many rows the members of a committee are learned in parallel (model/fit_task.c). */
static const double SIDE_BY_SIDE_ROWS = 4000.0;
/* Features of exact coordinates (solve/nystrom.c), and bytes for each entry of matrices of landmarks. */
static const double MOST_EXACT = 1000.0, EXACT_SHARE = 0.5, MATRIX_BYTES = 48.0;
/* Distinct values are counted in this many rows. */
enum { FIRST_ROWS = 300 };
/* The largest γ that is tried. */
enum { MOST_GAMMA = 8 };
/* The number of machines that a search tries, whose scores of the sample are kept; and the number in a
 * choice. */
static const double tried_machines[KARMA_N_EFFORTS] = {
    [KARMA_EFFORT_QUICK] = 27.0,
    [KARMA_EFFORT_NORMAL] = 48.0,
    [KARMA_EFFORT_THOROUGH] = 325.0,
};
static const double CHOSEN_MACHINES = 6.0, PATH_MACHINES = 5.0;
/* Encodings of a search's committee: numbers, ranks, coordinates of the subspace, leaves. */
static const double SEARCHED_ENCODINGS = 4.0, STATED_ENCODINGS = 2.0;

size_t karma_i_sample_rows(const karma_fit_options *fit, int effort) {
    double matrices = SHARED_MATRICES + OWN_MATRICES * karma_i_threads(fit->threads);
    double affordable = sqrt(karma_i_memory_bytes(fit) / (matrices * sizeof(float)));
    return (size_t)fmin((double)most_rows[effort], fmax(affordable, LEAST_SAMPLE));
}

/* The bytes of the table in memory; cells in mapped files do not count. */
static double table_bytes(const karma_table *table) {
    double n = (double)table->n_rows, cells = (double)karma_table_n_observed(table);
    double per_row = (table->storage ? 0.0 : sizeof *table->row_start) + (double)table->n_targets * sizeof(double) +
                     (table->row_weight ? sizeof(double) : 0.0) + 48.0 * (double)table->n_ids;
    double cell = table->storage ? 0.0 : sizeof *table->cell_owner + sizeof *table->cell_value;
    double gram = (double)table->n_gram_columns * sizeof *table->gram;
    return cells * cell + n * (per_row + gram);
}

/* The bytes of the rows in one encoding: values, terms, masks and ranks of dense rows, or lists of cells. */
static double row_bytes(const karma_table *table) {
    double n = (double)table->n_rows, d = (double)table->n_attributes, cells = (double)karma_table_n_observed(table);
    double features = 0.0;
    for (size_t i = 0; i < table->n_attributes; i++)
        features += table->attributes[i].n_levels > 1 ? fmin((double)table->attributes[i].n_levels, 3.0) : 1.0;
    double dense = n * (sizeof(float) * (features + 34.0) + 2.0 * d + d / 8.0 + 16.0);
    double sparse = n * 2.0 * sizeof(size_t) + cells * (sizeof(float) + sizeof(uint32_t));
    return d >= LEAST_OF_SPARSE && cells <= 0.1 * n * d ? sparse : dense;
}

static double outputs_of(const karma_table *table) {
    double outputs = 0.0;
    for (size_t t = 0; t < table->n_targets; t++)
        outputs += table->targets[t].column.n_levels > 2 ? (double)table->targets[t].column.n_levels : 1.0;
    return fmax(outputs, 1.0);
}

/* Distinct numbers of each column among the first rows, summed over columns; at most the number of values of
 * a rank. */
static double count_values(const karma_table *table) {
    size_t d = table->n_attributes, n = table->n_rows < FIRST_ROWS ? table->n_rows : FIRST_ROWS;
    double *seen = karma_i_alloc(d, FIRST_ROWS * sizeof *seen), sum = 0.0;
    size_t *n_seen = karma_i_zalloc(d, sizeof *n_seen);
    for (size_t c = 0; seen && n_seen && c < table->row_start[n]; c++) {
        size_t j = table->cell_owner[c], at = 0;
        double *own = seen + j * FIRST_ROWS;
        while (at < n_seen[j] && own[at] != table->cell_value[c]) at++;
        if (at == n_seen[j]) own[n_seen[j]++] = table->cell_value[c];
    }
    for (size_t j = 0; n_seen && j < d; j++) sum += (double)n_seen[j];
    karma_i_free(seen);
    karma_i_free(n_seen);
    return sum;
}

/* The largest number of exact coordinates of a kernel (kernel/features_exact.c): (features + 1) C(d + γ - 1,
 * γ - 1) for a linear one, plus one for each value of ranks. More than the limit are never made. */
static double most_coordinates(const karma_table *table) {
    double n = (double)table->n_rows, d = (double)table->n_attributes, limit = fmin(MOST_EXACT, EXACT_SHARE * n);
    double features = 1.0, most = 0.0;
    for (size_t i = 0; i < table->n_attributes; i++)
        features += table->attributes[i].n_levels > 1 ? (double)table->attributes[i].n_levels : 1.0;
    double rank = features;
    for (size_t gamma = 1; rank <= limit && gamma <= MOST_GAMMA; gamma++) {
        most = rank;
        rank *= (d + (double)gamma) / (double)gamma;
    }
    return most > 0.0 && count_values(table) <= limit ? limit : most;
}

/* The kernel matrix of the rows that an exact fit learns from: all rows, or all but the sample that checks
 * it. 0: both are too many. */
static double matrix_bytes(double n, double n_sample, const karma_fit_options *fit, double machines_at_once) {
    double most = fit->solver == KARMA_SOLVER_BATCH ? INFINITY : KARMA_I_MOST_BATCH_ROWS;
    double rows = n <= most ? n : n - n_sample;
    if (rows > most || fit->solver == KARMA_SOLVER_NYSTROM) return 0.0;
    return rows * rows * sizeof(float) * (rows <= SIDE_BY_SIDE_ROWS ? machines_at_once : 1.0);
}

/* The kernel values of the last fit by the method that needs the most memory: exact coordinates of all rows,
 * their kernel matrix, or values against landmarks. */
static double solver_bytes(const karma_table *table, const karma_fit_options *fit, double n_sample,
                           double machines_at_once) {
    double n = (double)table->n_rows, memory = karma_i_memory_bytes(fit), features = most_coordinates(table);
    int is_open = fit->solver == KARMA_SOLVER_AUTO || fit->solver == KARMA_SOLVER_PRIMAL;
    double coordinates = is_open && n * features * sizeof(double) <= memory ? n * features * sizeof(double) : 0.0;
    double m = (double)karma_i_count_landmarks(fit, table->n_rows), landmarks = 0.0;
    if (fit->solver == KARMA_SOLVER_NYSTROM || (n > KARMA_I_MOST_BATCH_ROWS && is_open))
        landmarks = MATRIX_BYTES * m * m + fmin(fit->memory == KARMA_AUTO ? 1e9 : 0.5 * memory, n * m * sizeof(float));
    double kernel = fmax(matrix_bytes(n, n_sample, fit, machines_at_once), landmarks);
    return fmax(coordinates, fmin(kernel, memory * machines_at_once)) +
           (10.0 + CHOSEN_MACHINES) * n * outputs_of(table) * sizeof(double);
}

static double estimate(const karma_table *table, const karma_fit_options *fit, const karma_search_options *search) {
    int effort = search->effort == KARMA_EFFORT_AUTO ? KARMA_EFFORT_NORMAL : search->effort;
    int is_searched = effort != KARMA_EFFORT_OFF;
    double n = (double)table->n_rows, threads = karma_i_threads(fit->threads);
    double encodings = is_searched ? SEARCHED_ENCODINGS : STATED_ENCODINGS, copies = is_searched ? 2.0 : 1.0;
    if (table->row_weight) copies += 1.0; /* rows that are given in parts are put together in another table */
    double s = is_searched ? fmin(n, (double)karma_i_sample_rows(fit, effort)) : 0.0;
    double scores = s * outputs_of(table) * (sizeof(float) * tried_machines[effort] + 16.0 * PATH_MACHINES * threads);
    double trying = (SHARED_MATRICES + OWN_MATRICES * threads) * s * s * sizeof(float);
    double trees = is_searched ? n * ((double)table->n_attributes + 48.0 + 16.0 * outputs_of(table)) : 0.0;
    double last = solver_bytes(table, fit, s, is_searched ? threads : 1.0) + trees;
    return PROCESS + SLACK * (table_bytes(table) * copies + row_bytes(table) * encodings + scores + fmax(trying, last));
}

double karma_estimate_memory(const karma_table *table, const karma_fit_options *fit,
                             const karma_search_options *search) {
    karma_fit_options own_fit;
    karma_search_options own_search;
    if (karma_i_options_accept(karma_fit_option_table(), &own_fit, fit, NULL) != KARMA_OK ||
        karma_i_options_accept(karma_search_option_table(), &own_search, search, NULL) != KARMA_OK)
        return NAN;
    return estimate(table, &own_fit, &own_search);
}
