/* What a solver is given and what it returns. */
#ifndef KARMA_I_SOLVER_H
#define KARMA_I_SOLVER_H

#include "base/partition.h"
#include "base/threads.h"
#include "karma/learn.h"
#include "kernel/kernel.h"
#include "solve/loss.h"

/* Up to this many rows the exact minimum is worth a kernel matrix. */
enum { KARMA_I_MOST_BATCH_ROWS = 10000 };

/* Copies of rows that may be in other processes: index[0..count) counts through all of them. */
typedef struct karma_i_row_source {
    karma_status (*fetch)(karma_i_rows **out, const void *payload, const size_t *index, size_t count, karma_error *err);
    const void *payload;
} karma_i_row_source;

/* min over v of ½|v|² + (C/m) Σ_i s_i ℓ(v·φ(x_i), y_i), once for each output, all over the same rows. */
typedef struct karma_i_problem {
    const karma_i_kernel *kernel;
    const karma_i_rows *rows;
    const double *targets; /* row-major, n_outputs per row; -1 or 1 to classify */
    size_t n_outputs;
    karma_i_loss loss;          /* of all outputs, */
    const karma_i_loss *losses; /* unless each has its own */
    const double *row_weights;  /* s_i >= 0, row-major, n_outputs per row; NULL: all 1 */
    /* Coefficients near the solution; NULL: none are known. The solution is the same: they only save time. */
    const double *start;
    /* Another machine of the same model was solved before: what a solver finds out about its own accuracy was then. */
    int is_repeat;
    /* The first n_deciding outputs decide together between classes; 0: the task is not to classify. */
    size_t n_deciding;
    /* For rows split over processes (model/splittable.h): how they are split, and where to get others from. ranks
     * NULL: all rows are here. */
    karma_i_partition split;
    karma_i_row_source source;
} karma_i_problem;

static inline karma_i_partition karma_i_problem_split(const karma_i_problem *problem) {
    return problem->split.ranks ? problem->split : karma_i_partition_whole(problem->rows->n_rows);
}

static inline const karma_i_loss *karma_i_problem_loss(const karma_i_problem *problem, size_t output) {
    return problem->losses ? &problem->losses[output] : &problem->loss;
}
static inline double karma_i_problem_row_weight(const karma_i_problem *problem, size_t row, size_t output) {
    return problem->row_weights ? problem->row_weights[row * problem->n_outputs + output] : 1.0;
}

/* Fills coefficients[row * n_outputs + output], v = Σ coefficients φ(row), and the fields of `info` that it
 * knows. C is a number in `options`, never KARMA_AUTO. */
typedef karma_status (*karma_i_solve_fn)(double *coefficients, karma_fit_info *info, const karma_i_problem *problem,
                                         const karma_fit_options *options, const karma_hooks *hooks, karma_error *err);

/* A solver is one record in its own file, KARMA_I_SOLVER(KARMA_SOLVER_BATCH) = {solve}; solver.c finds it by its
 * constant in KARMA_SOLVER_LIST. */
typedef struct karma_i_solver_record {
    karma_i_solve_fn solve;
} karma_i_solver_record;
#define KARMA_I_SOLVER(constant) const karma_i_solver_record karma_i_record_of_##constant

/* The solver that the options name. For auto: primal where the kernel has few dimensions; batch while rows are few
 * enough for a kernel matrix, and nystrom above that. */
karma_solver_kind karma_i_choose_solver(const karma_fit_options *options, const karma_i_problem *problem);
/* The same without primal. */
karma_solver_kind karma_i_choose_other_solver(const karma_fit_options *options, const karma_i_problem *problem);
/* The function of a kind; NULL for KARMA_SOLVER_AUTO. */
karma_i_solve_fn karma_i_solver(karma_solver_kind kind);

/* The word for a solver: "batch". */
const char *karma_i_solver_name(karma_solver_kind kind);

/* The memory limit for kernel rows in bytes. */
double karma_i_memory_bytes(const karma_fit_options *options);

/* The class that scores predict: the sign of one output, or the largest of several; ties go to the first. */
static inline size_t karma_i_decide(const double *scores, size_t n_outputs) {
    if (n_outputs == 1) return scores[0] > 0.0;
    size_t best = 0;
    for (size_t k = 1; k < n_outputs; k++)
        if (scores[k] > scores[best]) best = k;
    return best;
}

#endif
