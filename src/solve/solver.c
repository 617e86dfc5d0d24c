#include "solve/solver.h"

#include "base/mem.h"
#include "solve/nystrom.h"

KARMA_I_SOLVER(KARMA_SOLVER_AUTO) = {NULL}; /* karma_i_choose_solver replaces it */

#define DECLARE(constant, word) extern KARMA_I_SOLVER(constant);
#define ITEM(constant, word)    [constant] = &karma_i_record_of_##constant,
KARMA_SOLVER_LIST(DECLARE)
static const karma_i_solver_record *const solvers[KARMA_N_SOLVERS] = {KARMA_SOLVER_LIST(ITEM)};

karma_i_solve_fn karma_i_solver(karma_solver_kind kind) {
    return solvers[kind]->solve;
}

double karma_i_memory_bytes(const karma_fit_options *options) {
    return options->memory == KARMA_AUTO ? 0.25 * (double)karma_i_memory_limit() : 1e9 * options->memory;
}

karma_solver_kind karma_i_choose_other_solver(const karma_fit_options *options, const karma_i_problem *problem) {
    double n = (double)problem->rows->n_rows;
    int fits = n <= KARMA_I_MOST_BATCH_ROWS && n * n * sizeof(float) <= karma_i_memory_bytes(options);
    return fits ? KARMA_SOLVER_BATCH : KARMA_SOLVER_NYSTROM;
}

karma_solver_kind karma_i_choose_solver(const karma_fit_options *options, const karma_i_problem *problem) {
    if (options->solver != KARMA_SOLVER_AUTO) return (karma_solver_kind)options->solver;
    return karma_i_is_reducible(problem->kernel, problem->rows, options)
               ? KARMA_SOLVER_PRIMAL
               : karma_i_choose_other_solver(options, problem);
}

const char *karma_i_solver_name(karma_solver_kind kind) {
    switch (kind) {
#define WORD(constant, word)                                                                                           \
    case constant:                                                                                                     \
        return word;
        KARMA_SOLVER_LIST(WORD)
#undef WORD
    case KARMA_N_SOLVERS:
        break;
    }
    return "unknown";
}

const char *karma_stop_name(karma_stop stop) {
    switch (stop) {
    case KARMA_STOP_FINISHED:
        return "finished";
    case KARMA_STOP_CONVERGED:
        return "converged";
    case KARMA_STOP_LIMIT:
        return "limit";
    case KARMA_STOP_CANCELLED:
        return "cancelled";
    }
    return "unknown";
}
