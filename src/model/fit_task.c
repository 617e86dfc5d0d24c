#include "model/fit_task.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/leaf_machine.h"
#include "model/solve_grid.h"
#include "model/supervise.h"
#include "table/reading.h"
#include "solve/nystrom.h"
#include "table/table_split.h"

/* Up to this number of rows members are learned in parallel: each has its kernel matrix in memory. */
enum { SIDE_BY_SIDE_ROWS = 4000 };

/* Rows to learn from, which may be split over processes. */
typedef struct lesson_rows {
    const karma_table *table;
    const karma_i_encoder *encoder;
    const karma_i_rows *rows; /* of the table */
    karma_i_partition split;
    const karma_table *first;       /* the first row of all */
    const unsigned char *is_needed; /* the encodings that need more than that row */
} lesson_rows;

/* A karma_i_row_source: encoded copies of rows that may be in other processes. */
static karma_status fetch_rows(karma_i_rows **out, const void *payload, const size_t *index, size_t count,
                               karma_error *err) {
    const lesson_rows *from = payload;
    karma_table *table = NULL;
    KARMA_TRY(karma_i_table_gather(&table, from->table, index, count, err));
    karma_status st = karma_i_encoder_apply_some(out, from->encoder, from->is_needed, table, from->first, NULL, err);
    karma_table_free(table);
    return st;
}

static karma_status learn_kernel(karma_i_kernel *kernel, const karma_i_plan_kernel *plan, const lesson_rows *from,
                                 int threads, karma_error *err) {
    size_t index[KARMA_I_DISTANCE_ROWS], n = karma_i_distance_rows(index, from->split.n_rows);
    karma_i_rows *sample = NULL;
    if (from->split.ranks->size == 1 || !from->is_needed[plan->factors[0].encoding])
        return karma_i_kernel_learn(kernel, plan, from->rows, threads, err);
    KARMA_TRY(fetch_rows(&sample, from, index, n, err));
    karma_status st = karma_i_kernel_learn_split(kernel, plan, from->rows, &from->split, sample, threads, err);
    karma_i_rows_free(sample);
    return st;
}

static int is_used(const karma_model *model, size_t row) {
    for (size_t m = 0; m < model->n_members; m++)
        for (size_t k = 0; k < model->task.n_outputs; k++)
            if (model->members[m].coefficients[row * model->task.n_outputs + k] != 0.0) return 1;
    return 0;
}

/* Adds coefficients for more support rows: the leaves of this member's trees, starting at `first_leaf`. */
static karma_status lengthen(karma_i_member *member, size_t kept, size_t n_support, size_t first_leaf, size_t n_leaves,
                             size_t n_outputs, karma_error *err) {
    double *longer = karma_i_zalloc(n_support, n_outputs * sizeof *longer);
    if (!longer) return karma_i_fail_memory(err);
    memcpy(longer, member->coefficients, kept * n_outputs * sizeof *longer);
    if (n_leaves)
        memcpy(longer + first_leaf * n_outputs, member->leaf_coefficients, n_leaves * n_outputs * sizeof *longer);
    karma_i_free(member->coefficients);
    karma_i_free(member->leaf_coefficients);
    member->coefficients = longer;
    member->leaf_coefficients = NULL;
    return KARMA_OK;
}

/* Members with weights of leaves have one support row per leaf, after the support rows that were kept. */
static karma_status keep_leaves(karma_model *model, size_t kept, karma_error *err) {
    size_t first = kept;
    for (size_t m = 0; m < model->n_members; m++) {
        size_t encoding = model->plan.members[m].kernel.factors[0].encoding;
        if (model->members[m].leaf_coefficients)
            KARMA_TRY(
                karma_i_leaf_rows_append(model->support, model->encoder.recipes[encoding]->forest, encoding, err));
    }
    model->info.n_support = model->support->n_rows;
    for (size_t m = 0; model->info.n_support > kept && m < model->n_members; m++) {
        karma_i_member *member = &model->members[m];
        const karma_i_forest *forest =
            model->encoder.recipes[model->plan.members[m].kernel.factors[0].encoding]->forest;
        size_t n_leaves = member->leaf_coefficients ? forest->leaf_start[forest->n_trees] : 0;
        KARMA_TRY(lengthen(member, kept, model->info.n_support, first, n_leaves, model->task.n_outputs, err));
        first += n_leaves;
    }
    return KARMA_OK;
}

/* Boosted trees have their own values: unless they are weighed again, the leaves of the training rows are not
 * needed. The first encoding is needed unless it is the only one, because solvers count its rows. */
static void mark_needed(unsigned char *is_needed, const karma_i_plan *plan) {
    memset(is_needed, 0, plan->n_kinds);
    is_needed[0] = plan->n_kinds > 1;
    for (size_t m = 0; m < plan->n_members; m++) {
        const karma_i_plan_member *member = &plan->members[m];
        if (karma_i_is_boosted_alone(member)) continue;
        for (size_t f = 0; f < member->kernel.n_factors; f++) is_needed[member->kernel.factors[f].encoding] = 1;
    }
}

/* Keeps the rows that any output of any member uses: before, the members' coefficients are for all rows;
 * afterwards, for the support rows. */
static karma_status keep_support(karma_model *model, const karma_i_rows *rows, karma_error *err) {
    size_t n_outputs = model->task.n_outputs, kept = 0;
    KARMA_TRY(karma_i_rows_new_like(&model->support, rows, 0, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (!is_used(model, i)) continue;
        KARMA_TRY(karma_i_rows_append(model->support, rows, i, err));
        for (size_t m = 0; m < model->n_members; m++) {
            double *coefficients = model->members[m].coefficients;
            memmove(coefficients + kept * n_outputs, coefficients + i * n_outputs, n_outputs * sizeof *coefficients);
        }
        kept++;
    }
    return keep_leaves(model, kept, err);
}

/* Coefficients of the support rows of all processes, which are in the order of the rows. */
static karma_status share_coefficients(karma_i_member *member, size_t n, const karma_ranks *ranks, karma_error *err) {
    karma_i_gathered all;
    KARMA_TRY(karma_i_ranks_gather(&all, member->coefficients, n * sizeof *member->coefficients, ranks, err));
    karma_i_free(member->coefficients);
    member->coefficients = (double *)(void *)all.bytes;
    karma_i_free(all.start);
    return KARMA_OK;
}

/* The support rows, which may be in any process. */
static karma_status copy_support(karma_model *model, const lesson_rows *from, const size_t *index, size_t count,
                                 karma_error *err) {
    karma_i_rows *rows = NULL;
    KARMA_TRY(fetch_rows(&rows, from, index, count, err));
    karma_status st = karma_i_rows_new_like(&model->support, rows, 0, err);
    for (size_t i = 0; st == KARMA_OK && i < count; i++) st = karma_i_rows_append(model->support, rows, i, err);
    karma_i_rows_free(rows);
    return st;
}

/* The same where rows are split: every process gets the support rows of all. */
static karma_status keep_support_of_all(karma_model *model, const lesson_rows *from, karma_error *err) {
    size_t n_outputs = model->task.n_outputs, kept = 0, *used = karma_i_alloc(from->rows->n_rows, sizeof *used);
    karma_i_gathered all = {0};
    if (!used) return karma_i_fail_memory(err);
    for (size_t i = 0; i < from->rows->n_rows; i++) {
        if (!is_used(model, i)) continue;
        for (size_t m = 0; m < model->n_members; m++) {
            double *coefficients = model->members[m].coefficients;
            memmove(coefficients + kept * n_outputs, coefficients + i * n_outputs, n_outputs * sizeof *coefficients);
        }
        used[kept++] = from->split.first + i;
    }
    karma_status st = karma_i_ranks_gather(&all, used, kept * sizeof *used, from->split.ranks, err);
    karma_i_free(used);
    for (size_t m = 0; st == KARMA_OK && m < model->n_members; m++)
        st = share_coefficients(&model->members[m], kept * n_outputs, from->split.ranks, err);
    if (st == KARMA_OK) kept = all.start[from->split.ranks->size] / sizeof *used;
    if (st == KARMA_OK) st = copy_support(model, from, (const size_t *)(void *)all.bytes, kept, err);
    karma_i_gathered_clear(&all);
    return st == KARMA_OK ? keep_leaves(model, kept, err) : st;
}

/* Weighted sums over the machines. `all` may be the same array if there is one machine. */
static void add_machines(double *coefficients, const double *all, size_t n_rows, size_t K, const karma_i_C_grid *path,
                         double total_weight) {
    for (size_t i = 0; i < n_rows; i++)
        for (size_t k = 0; k < K; k++) {
            double sum = 0.0;
            for (size_t c = 0; c < path->n; c++)
                sum += path->weights[c] / total_weight * all[(i * path->n + c) * K + k];
            coefficients[i * K + k] = sum;
        }
}

/* A member's kernel and its machines, whose weighted sum is one machine: they share the kernel. */
static karma_status learn_member(karma_model *model, size_t which, karma_fit_info *info, const karma_i_outputs *outputs,
                                 const lesson_rows *from, const karma_fit_options *options, const karma_hooks *hooks,
                                 karma_error *err) {
    const karma_i_rows *rows = from->rows;
    karma_i_member *member = &model->members[which];
    const karma_i_plan_member *planned = &model->plan.members[which];
    const karma_i_C_grid *path = &planned->machines;
    const karma_i_head *first = &model->task.heads[0];
    size_t K = model->task.n_outputs;
    karma_i_problem problem = {.kernel = &member->kernel,
                               .rows = rows,
                               .n_outputs = K,
                               .targets = outputs->targets,
                               .row_weights = outputs->weights,
                               .losses = outputs->losses,
                               .is_repeat = which > 0,
                               .source = {fetch_rows, from}};
    if (from->split.ranks->size > 1) problem.split = from->split;
    problem.n_deciding = first->labels.task == KARMA_TASK_CLASSIFY ? first->n_outputs : 0;
    double total_weight = karma_i_plan_total_weight(&model->plan);
    KARMA_TRY(learn_kernel(&member->kernel, &planned->kernel, from, karma_i_threads(options->threads), err));
    member->coefficients = karma_i_zalloc(rows->n_rows, K * sizeof *member->coefficients);
    double *own = path->n > 1 ? karma_i_alloc(rows->n_rows, path->n * K * sizeof *own) : NULL;
    double *all = path->n > 1 ? own : member->coefficients;
    karma_status st = member->coefficients && all ? KARMA_OK : karma_i_fail_memory(err);
    const karma_i_forest *forest = karma_i_leaf_forest(model, which, from->split.n_rows, options);
    if (st == KARMA_OK && forest) {
        const karma_i_leaf_problem leaves = {forest, planned->kernel.factors[0].encoding, path, total_weight, &problem,
                                             options};
        karma_i_free(own);
        return karma_i_leaf_machine_learn(&member->leaf_coefficients, info, &leaves, hooks, err);
    }
    *info = (karma_fit_info){.solver = karma_i_choose_solver(options, &problem)};
    if (options->solver == KARMA_SOLVER_AUTO && info->solver == KARMA_SOLVER_NYSTROM && which == 0)
        karma_i_notice(hooks,
                       "%zu rows are too many for an exact solution: all of them are learned from, and the model is "
                       "built from %zu of them (option 'solver=nystrom', option 'landmarks')",
                       rows->n_rows, karma_i_count_landmarks(options, rows->n_rows));
    if (st == KARMA_OK) st = karma_i_solve_grid(all, info, path, &problem, options, hooks, err);
    if (st == KARMA_OK) add_machines(member->coefficients, all, rows->n_rows, K, path, total_weight);
    karma_i_free(own);
    return st;
}

/* Learns all members. With several members and few rows, each thread learns one member at a time, because
 * their problems are too small for several threads. The result does not depend on the assignment; the hooks
 * are asked from the caller's thread only. */
static karma_status learn_all_members(karma_model *model, const karma_i_outputs *outputs, const lesson_rows *from,
                                      const karma_hooks *hooks, karma_error *err) {
    size_t n = model->n_members;
    int side_by_side = n > 1 && from->rows->n_rows <= SIDE_BY_SIDE_ROWS && from->split.ranks->size == 1;
    karma_fit_options options = model->task.options; /* borrows its texts */
    karma_fit_info *infos = karma_i_zalloc(n, sizeof *infos);
    karma_error *errors = karma_i_zalloc(n, sizeof *errors);
    karma_status st = infos && errors ? KARMA_OK : karma_i_fail_memory(err);
    if (side_by_side) options.threads = 1;
    if (st == KARMA_OK) {
#pragma omp parallel for schedule(dynamic) num_threads(side_by_side ? karma_i_threads(model->task.options.threads) : 1)
        for (size_t m = 0; m < n; m++)
            (void)learn_member(model, m, &infos[m], outputs, from, &options, omp_get_thread_num() == 0 ? hooks : NULL,
                               &errors[m]);
    }
    for (size_t m = 0; st == KARMA_OK && m < n; m++) {
        st = errors[m].status;
        if (st != KARMA_OK && err) *err = errors[m];
        karma_i_info_add(&model->info, &infos[m]);
    }
    karma_i_free(infos);
    karma_i_free(errors);
    return st;
}

static karma_status solve(karma_model *model, const karma_i_outputs *outputs, const lesson_rows *from,
                          const karma_hooks *hooks, karma_error *err) {
    KARMA_TRY(learn_all_members(model, outputs, from, hooks, err));
    model->info.scale = model->members[0].kernel.factors[0].scale;
    model->info.log_norm = model->members[0].kernel.factors[0].log_norm;
    return from->split.ranks->size == 1 ? keep_support(model, from->rows, err) : keep_support_of_all(model, from, err);
}

static karma_status learn_members(karma_model *model, const karma_i_outputs *outputs, const lesson_rows *from,
                                  const karma_hooks *hooks, karma_error *err) {
    int stop = 0;
    model->members = karma_i_zalloc(model->plan.n_members, sizeof *model->members);
    if (!model->members) return karma_i_fail_memory(err);
    model->n_members = model->plan.n_members;
    stop = karma_i_progress(hooks, "learning", 0, 0);
    KARMA_TRY(karma_i_ranks_any(&stop, from->split.ranks, err));
    if (stop) return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before anything was learned");
    return solve(model, outputs, from, hooks, err);
}

karma_status karma_i_fit_rows(karma_model *model, const karma_table *table, const karma_i_forest *grown,
                              const karma_hooks *hooks, const karma_hooks *solving, karma_error *err) {
    const karma_i_plan *plan = &model->plan;
    karma_i_outputs outputs = {0};
    karma_i_rows *rows = NULL;
    karma_table *first = NULL;
    unsigned char is_needed[KARMA_N_KERNELS];
    mark_needed(is_needed, plan);
    if (table->reading) KARMA_TRY(karma_i_reading_new(&model->reading, table->reading, err));
    model->info.n_rows = karma_i_table_n_all(table);
    model->info.n_columns = table->n_attributes;
    karma_status st = karma_i_outputs_fill(&outputs, &model->task, table, err);
    const karma_i_lesson lesson = {&model->task, table, &outputs, grown};
    if (st == KARMA_OK)
        st = karma_i_learn_recipes(&model->encoder, NULL, plan->kinds, plan->n_kinds, &lesson, hooks, err);
    if (st == KARMA_OK) st = karma_i_table_gather(&first, table, (const size_t[]){0}, 1, err);
    if (st == KARMA_OK) st = karma_i_encoder_apply_some(&rows, &model->encoder, is_needed, table, first, NULL, err);
    lesson_rows from = {table, &model->encoder, rows, karma_i_table_split(table), first, is_needed};
    if (st == KARMA_OK) st = learn_members(model, &outputs, &from, solving, err);
    karma_i_rows_free(rows);
    karma_table_free(first);
    karma_i_outputs_clear(&outputs);
    return st;
}

/* A copy of the plan, and its text. */
static karma_status set_plan(karma_model *model, const karma_i_plan *plan, karma_error *err) {
    char *text = NULL;
    KARMA_TRY(karma_i_plan_copy(&model->plan, plan, err));
    KARMA_TRY(karma_i_plan_print(&text, plan, err));
    karma_i_free(model->task.options.kernel);
    model->task.options.kernel = text;
    return KARMA_OK;
}

karma_status karma_i_fit_task(karma_model **out, const karma_i_task *task, const karma_i_plan *plan,
                              const karma_table *table, const karma_i_forest *grown, const karma_hooks *hooks,
                              const karma_hooks *solving, karma_error *err) {
    karma_model *model = karma_i_zalloc(1, sizeof *model);
    if (!model) return karma_i_fail_memory(err);
    karma_status st = karma_i_task_relearn(&model->task, task, table, err);
    if (st == KARMA_OK) st = set_plan(model, plan, err);
    if (st == KARMA_OK) st = karma_i_fit_rows(model, table, grown, hooks, solving, err);
    if (st == KARMA_OK)
        *out = model;
    else
        karma_model_free(model);
    return st;
}
