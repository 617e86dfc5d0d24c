#include "model/solve_grid.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "solve/nystrom.h"
#include "table/rows_matrix.h"

/* Up to this many rows the whole matrix is worth computing: with more, most rows are never needed. */
static const double MATRIX_ROWS = 5000.0;

void karma_i_info_add(karma_fit_info *sum, const karma_fit_info *one) {
    if (sum->rounds == 0) { /* fields that cannot be added come from the first */
        sum->C = one->C;
        sum->rho = one->rho;
        sum->mean_loss = one->mean_loss;
        sum->error_rate = one->error_rate;
        sum->solver = one->solver;
        sum->n_landmarks = one->n_landmarks;
        sum->held_out_loss = one->held_out_loss;
        sum->half_held_out_loss = one->half_held_out_loss;
        sum->half_excess = one->half_excess;
    }
    sum->rounds += one->rounds;
    sum->kernel_evaluations += one->kernel_evaluations;
    sum->primal += one->primal;
    sum->dual += one->dual;
    sum->gap = sum->primal > 0.0 ? (sum->primal - sum->dual) / sum->primal : 0.0;
    if (one->stop > sum->stop) sum->stop = one->stop;
}

static void add_values(double *sum, const void *values, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) *sum += ((const double *)values)[i];
}

/* Coefficients are at most about as large as C, and those of model files at most 1e250. */
static const double LARGEST_C = 1e200;

/* The C of the options; for auto, the value that gives the average row the weight of a unit vector in the
 * objective: m / mean k(x,x). */
static karma_status choose_C(double *C, const karma_fit_options *options, const karma_i_problem *problem,
                             karma_error *err) {
    *C = options->C;
    if (options->C != KARMA_AUTO) return KARMA_OK;
    karma_i_partition split = karma_i_problem_split(problem);
    double *diagonal = karma_i_alloc(split.count, sizeof *diagonal), sum = 0.0, n = (double)split.n_rows;
    if (!diagonal) return karma_i_fail_memory(err);
    karma_i_kernel_diagonal(diagonal, problem->kernel, karma_i_rows_all(problem->rows));
    karma_status st = karma_i_partition_sum(&sum, 1, &split, add_values, diagonal, err);
    karma_i_free(diagonal);
    if (st == KARMA_OK) *C = sum > 0.0 ? n * n / sum : 1.0;
    if (st == KARMA_OK && !(*C <= LARGEST_C))
        st = karma_i_fail(err, KARMA_ERR_DATA,
                          "the values are too small to learn from: the mean of k(x,x) is %.3g (option 'standardise=on' "
                          "gives columns a standard deviation of 1)",
                          sum / n);
    return st;
}

/* Solves the machines one after the other, for a problem with its kernel. `reduction` NULL: by the solver
 * itself. */
static karma_status walk(double *coefficients, karma_fit_info *info, const karma_i_reduction *reduction,
                         const karma_i_C_grid *path, karma_i_problem *problem, karma_fit_options *options,
                         const karma_hooks *hooks, karma_error *err) {
    size_t n = problem->rows->n_rows, K = problem->n_outputs;
    int has_next = path->n > 1; /* a single machine is solved in its place: with many classes arrays are large */
    double C = options->C, *own = has_next ? karma_i_alloc(n, K * sizeof *own) : coefficients,
           *start = has_next ? karma_i_alloc(n, K * sizeof *start) : NULL;
    karma_status st = own && (start || !has_next) ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t c = 0; st == KARMA_OK && c < path->n; c++) {
        karma_fit_info step = {.C = C * path->factors[c], .solver = info->solver};
        options->C = step.C;
        st = reduction ? karma_i_solve_reduced(own, &step, reduction, problem, options, hooks, err)
                       : karma_i_solver(info->solver)(own, &step, problem, options, hooks, err);
        if (st != KARMA_OK) break;
        karma_i_info_add(info, &step);
        if (!has_next) break;
        for (size_t i = 0; i < n; i++) memcpy(coefficients + (i * path->n + c) * K, own + i * K, K * sizeof *own);
        memcpy(start, own, n * K * sizeof *own);
        problem->start = start;
    }
    if (has_next) karma_i_free(own);
    karma_i_free(start);
    return st;
}

/* The same over the kernel matrix of all rows. */
static karma_status walk_matrix(double *coefficients, karma_fit_info *info, const karma_i_C_grid *path,
                                const karma_i_problem *problem, karma_fit_options *options, const karma_hooks *hooks,
                                karma_error *err) {
    size_t n = problem->rows->n_rows;
    karma_i_rows *rows = NULL;
    karma_i_kernel matrix;
    KARMA_TRY(karma_i_kernel_init(&matrix, 1, 1.0, 0.0, 0, err));
    float *gram = karma_i_alloc_large(n, n * sizeof *gram);
    karma_status st = gram ? karma_i_rows_new_matrix(&rows, gram, n, n, err) : karma_i_fail_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) st = karma_i_rows_add_matrix_row(rows, i, i, err);
    if (st == KARMA_OK && karma_i_kernel_gram(gram, n, problem->kernel, karma_i_rows_all(problem->rows),
                                              karma_i_threads(options->threads)) != KARMA_OK)
        st = karma_i_fail_memory(err);
    karma_i_problem over_matrix = *problem;
    over_matrix.kernel = &matrix;
    over_matrix.rows = rows;
    if (st == KARMA_OK) st = walk(coefficients, info, NULL, path, &over_matrix, options, hooks, err);
    karma_i_rows_free(rows);
    karma_i_kernel_clear(&matrix);
    karma_i_free(gram);
    return st;
}

/* The same over features, which all machines share. */
static karma_status walk_reduced(double *coefficients, karma_fit_info *info, const karma_i_C_grid *path,
                                 karma_i_problem *problem, karma_fit_options *options, const karma_hooks *hooks,
                                 karma_error *err) {
    karma_i_reduction reduction = {0};
    karma_status st = KARMA_OK;
    if (info->solver == KARMA_SOLVER_PRIMAL) {
        st = karma_i_reduce_exactly(&reduction, problem->kernel, problem->rows, options, err);
        /* too many dimensions after all, which is an error if this solver was asked for */
        if (st == KARMA_OK && !reduction.features && options->solver == KARMA_SOLVER_AUTO)
            info->solver = karma_i_choose_other_solver(options, problem);
    }
    if (st == KARMA_OK && info->solver == KARMA_SOLVER_NYSTROM) st = karma_i_reduce(&reduction, problem, options, err);
    if (st == KARMA_OK)
        st = walk(coefficients, info, reduction.features ? &reduction : NULL, path, problem, options, hooks, err);
    karma_i_reduction_clear(&reduction);
    return st;
}

karma_status karma_i_solve_grid(double *coefficients, karma_fit_info *info, const karma_i_C_grid *path,
                                const karma_i_problem *problem, const karma_fit_options *options,
                                const karma_hooks *hooks, karma_error *err) {
    karma_i_problem own = *problem;
    karma_fit_options resolved = *options; /* borrows its texts */
    double n = (double)problem->rows->n_rows;
    KARMA_TRY(choose_C(&resolved.C, options, problem, err));
    if (info->solver == KARMA_SOLVER_PRIMAL || info->solver == KARMA_SOLVER_NYSTROM)
        return walk_reduced(coefficients, info, path, &own, &resolved, hooks, err);
    if (path->n > 1 && info->solver == KARMA_SOLVER_BATCH && n <= MATRIX_ROWS &&
        n * n * sizeof(float) <= karma_i_memory_bytes(options))
        return walk_matrix(coefficients, info, path, &own, &resolved, hooks, err);
    return walk(coefficients, info, NULL, path, &own, &resolved, hooks, err);
}
