#include "search/choice_fit.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/fit_task.h"
#include "model/splittable.h"
#include "solve/solver.h"
#include "table/table_split.h"

/* The cost, in rows × rows × passes, allowed for each machine of an exact fit. Solvers for more rows have
 * their own limits.
 */
static const double MOST_VISITED_PAIRS = 2e10, CHEAP_PAIRS = 2e9;
enum { MOST_PASSES = 300, MOST_CHEAP_PASSES = 100000 };

/* Up to this many rows it costs little that every process learns from all of them, and no notice says so. */
enum { MOST_SILENT_ROWS = 8000 };

/* Up to this many rows the matrix of a kernel is computed faster than its features; measured up to 2000. */
enum { MOST_MATRIX_ROWS = 5000 };

/* A gap above this, relative to the objective, is not a solution: scores may be worse than those of a constant
 * prediction.
 */
static const double MOST_USABLE_GAP = 0.1;
/* --- hooks ------------------------------------------------------------------------------------------------- */

/* The last fit stops when the time is over, and keeps its result so far. */
typedef struct timed_hooks {
    const karma_hooks *hooks;
    double deadline;
    size_t n_asked;
    int ran_out, is_interrupted;
} timed_hooks;

/* A user who stops the search wants the best model so far: only the time limit stops the last fit, not the
 * same request.
 */
static int progress_in_time(void *payload, const char *stage, size_t done, size_t total) {
    timed_hooks *t = payload;
    int asked = karma_i_progress(t->hooks, stage, done, total);
    if (t->n_asked++ > 0 && karma_i_now() > t->deadline) return t->ran_out = 1; /* something must be learned */
    return asked && !t->is_interrupted;
}

/* Steps before the solvers are completed, but there may be fewer trees. */
static int progress_of_encoding(void *payload, const char *stage, size_t done, size_t total) {
    const timed_hooks *t = payload;
    if (karma_i_progress(t->hooks, stage, done, total) && !t->is_interrupted) return 1;
    return karma_i_now() > t->deadline ? KARMA_I_ENOUGH : 0;
}

static void pass_notice(void *payload, const char *sentence) {
    const timed_hooks *t = payload;
    t->hooks->notice(t->hooks->payload, sentence);
}

/* --- the fit ----------------------------------------------------------------------------------------------- */

/* The cost of a pass grows with the square of the number of rows. With few rows there is no limit, since
 * passes are cheap. */
static int64_t count_passes(size_t n_rows, int solver) {
    double pairs = (double)n_rows * (double)n_rows;
    if (n_rows > KARMA_I_MOST_BATCH_ROWS || solver == KARMA_SOLVER_NYSTROM) return (int64_t)KARMA_AUTO;
    double passes = fmin(MOST_VISITED_PAIRS / pairs, MOST_PASSES);
    return (int64_t)fmax(passes, fmin(CHEAP_PAIRS / pairs, MOST_CHEAP_PASSES));
}

/* Members of a committee that were tried on all rows are learned as they were tried, from their kernel
 * matrix: for so few rows it is faster than the features of a kernel with few dimensions. */
static int solver_of(const karma_i_last_fit *f, const karma_table *table, int solver) {
    double n = (double)table->n_rows;
    int fits = n <= MOST_MATRIX_ROWS && n * n * sizeof(float) <= karma_i_memory_bytes(&f->task->options);
    int is_as_tried = !f->samples && karma_i_plan_n_machines(f->plan) > 1;
    return solver == KARMA_SOLVER_AUTO && is_as_tried && fits ? KARMA_SOLVER_BATCH : solver;
}

/* Rows that are split over processes, all of them in each, if the kernels or the solver need that, or if they are so
 * few that exchanging sums would take longer. NULL: not needed. */
static karma_status gather_rows(karma_table **out, const karma_i_last_fit *f, const karma_table *table, int solver,
                                karma_error *err) {
    karma_fit_options options = f->task->options; /* borrows its texts */
    karma_error why = {0};
    size_t n = karma_i_table_n_all(table);
    *out = NULL;
    options.solver = solver;
    if (karma_i_table_ranks(table)->size == 1) return KARMA_OK;
    karma_status st = karma_i_check_splittable(f->plan, &options, table, &why);
    if (st == KARMA_OK && n > MOST_HURRIED_ROWS) return KARMA_OK;
    if (n > MOST_SILENT_ROWS)
        karma_i_notice(f->hooks, "every process gets all %zu rows and does the same work: %s", n, why.message);
    size_t *index = karma_i_alloc(n, sizeof *index);
    if (!index) return karma_i_fail_memory(err);
    for (size_t i = 0; i < n; i++) index[i] = i;
    st = karma_i_table_gather(out, table, index, n, err);
    karma_i_free(index);
    return st;
}

/* Machines that a solver learns: boosted trees with their own values need none. */
static size_t count_solved(const karma_i_plan *plan) {
    size_t n = 0;
    for (size_t m = 0; m < plan->n_members; m++)
        for (size_t c = 0; c < plan->members[m].machines.n; c++) n += plan->members[m].machines.factors[c] != 0.0;
    return n;
}

karma_status karma_i_choice_fit(karma_model **out, const karma_i_last_fit *f, const karma_table *table,
                                const karma_i_fit_settings *how, karma_error *err) {
    timed_hooks timed = {f->hooks, how->deadline, 0, 0, f->is_interrupted};
    karma_notice_fn notice = f->hooks && f->hooks->notice && !how->is_quiet ? pass_notice : NULL;
    karma_hooks encoding = {progress_of_encoding, notice, &timed}, solving = {progress_in_time, notice, &timed};
    karma_fit_options *options = &f->task->options;
    int solver = options->solver;
    double tolerance = options->tolerance;
    options->subspace_rank = f->race->subspace_rank;
    options->solver = solver_of(f, table, how->solver);
    if (count_solved(f->plan) == 1) options->tolerance = f->tolerance;
    if (f->passes_are_ours) options->passes = count_passes(karma_i_table_n_all(table), how->solver);
    karma_table *all = NULL;
    karma_status st = gather_rows(&all, f, table, options->solver, err);
    if (st == KARMA_OK)
        st = karma_i_fit_task(out, f->task, f->plan, all ? all : table, how->grown, &encoding, &solving, err);
    karma_table_free(all);
    options->solver = solver;
    options->tolerance = tolerance;
    if (st != KARMA_OK) return st;
    (*out)->task.options.solver = solver;
    if (timed.ran_out && (*out)->info.stop == KARMA_STOP_CANCELLED) (*out)->info.stop = KARMA_STOP_LIMIT;
    return KARMA_OK;
}

int karma_i_choice_fit_is_usable(const karma_model *model) {
    return model->info.stop != KARMA_STOP_LIMIT || model->info.gap <= MOST_USABLE_GAP;
}
