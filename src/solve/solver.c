#include "solve/solver.h"

#include <omp.h>

static const struct {
    karma_solver_kind kind;
    karma_i_solve_fn solve;
} solvers[] = {
    {KARMA_SOLVER_ONLINE, karma_i_solve_online},
};

karma_i_solve_fn karma_i_solver(karma_solver_kind kind) {
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++)
        if (solvers[i].kind == kind) return solvers[i].solve;
    return NULL;
}

int karma_i_threads(int64_t wanted) { return wanted > 0 ? (int)wanted : omp_get_num_procs(); }
