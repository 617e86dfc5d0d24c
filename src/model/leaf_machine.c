#include "model/leaf_machine.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/solve_grid.h"
#include "solve/primal.h"

/* Up to this many rows a kernel matrix is as fast, and there are fewer support rows than leaves. */
enum { MOST_MATRIX_ROWS = 4000, PASSES_BY_DEFAULT = 2000 };
/* Predictions cost a comparison for each tree and leaf; with more leaves, landmarks are faster. */
enum { MOST_LEAVES = 20000 };

/* Limit in bytes for the sums of a pass, which bounds the number of outputs solved side by side. A pass has
 * up to 32 sums for each output, and machines need some more vectors. */
static const double SUM_BYTES = 4e8, SUMS_PER_OUTPUT = 48.0;

const karma_i_forest *karma_i_leaf_forest(const karma_model *model, size_t member, size_t n_rows,
                                          const karma_fit_options *options) {
    const karma_i_plan_kernel *kernel = &model->plan.members[member].kernel;
    int is_primal = options->solver == KARMA_SOLVER_PRIMAL;
    int is_boosted = model->plan.members[member].machines.factors[0] == 0.0;
    if (kernel->n_factors != 1 || kernel->factors[0].map.kind != KARMA_OUTER_IDENTITY) return NULL;
    if (!is_boosted && !is_primal && (options->solver != KARMA_SOLVER_AUTO || n_rows <= MOST_MATRIX_ROWS)) return NULL;
    const karma_i_forest *forest = model->encoder.recipes[kernel->factors[0].encoding]->forest;
    return forest && (is_primal || is_boosted || forest->leaf_start[forest->n_trees] <= MOST_LEAVES) ? forest : NULL;
}

int karma_i_is_boosted_alone(const karma_i_plan_member *member) {
    return member->machines.n == 1 && member->machines.factors[0] == 0.0 && member->kernel.n_factors == 1 &&
           member->kernel.factors[0].map.kind == KARMA_OUTER_IDENTITY;
}

/* For each row, the indices of its leaves among the leaves of all trees. */
static karma_status number_leaves(uint32_t **out, const karma_i_forest *forest, const karma_i_rows *rows,
                                  karma_error *err) {
    size_t T = forest->n_trees;
    uint32_t *codes = karma_i_alloc(rows->n_rows, T * sizeof *codes);
    if (!codes) return karma_i_fail_memory(err);
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t t = 0; t < T; t++)
            codes[i * T + t] = (uint32_t)(forest->leaf_start[t] + karma_i_rows_codes(rows, i)[t] - 1);
    *out = codes;
    return KARMA_OK;
}

static void fill_info(karma_fit_info *info, const karma_i_primal_result *result, double C, size_t n_rows) {
    karma_fit_info one = {.solver = KARMA_SOLVER_PRIMAL, .C = C, .rho = 1.0 / C, .stop = result->stop};
    one.primal = result->primal;
    one.dual = result->dual;
    one.rounds = (size_t)(result->passes * (double)n_rows);
    karma_i_info_add(info, &one);
}

/* The values of the boosted trees themselves, with a share of the constant in each tree. The score of a row is the sum
 * of value² · coefficient over its leaves. */
static void add_boosted(double *coefficients, const karma_i_forest *forest, double share, double value) {
    size_t K = forest->n_outputs, T = forest->n_trees;
    for (size_t l = 0; l < forest->leaf_start[T]; l++)
        for (size_t k = 0; k < K; k++)
            coefficients[l * K + k] +=
                share * ((double)forest->values[l * K + k] + forest->base[k] / (double)T) / (value * value);
}

/* One C after the other, each from the solution of the one before. */
static karma_status walk(double *coefficients, karma_fit_info *info, const karma_i_features *features, double value,
                         const karma_i_leaf_problem *leaves, const karma_hooks *hooks, karma_error *err) {
    const karma_i_C_grid *path = leaves->path;
    const karma_i_problem *problem = leaves->problem;
    const karma_fit_options *options = leaves->options;
    size_t p = features->n_features, K = problem->n_outputs, n = features->n_rows;
    double C = options->C == KARMA_AUTO ? (double)n / problem->kernel->terms[0].weight : options->C;
    double side_by_side = fmax(1.0, SUM_BYTES / ((double)p * SUMS_PER_OUTPUT * sizeof(double)));
    karma_i_primal_problem primal = {.features = features,
                                     .n_outputs = K,
                                     .targets = problem->targets,
                                     .row_weights = problem->row_weights,
                                     .losses = problem->losses,
                                     .tolerance = options->tolerance,
                                     .most_passes = options->passes == (int64_t)KARMA_AUTO ? PASSES_BY_DEFAULT
                                                                                           : (double)options->passes,
                                     .factor_memory = side_by_side * (double)p * (double)p * sizeof(double),
                                     .threads = karma_i_threads(options->threads)};
    double *weights = karma_i_zalloc(p, K * sizeof *weights);
    karma_status st = weights ? KARMA_OK : karma_i_fail_memory(err);
    for (size_t c = 0; st == KARMA_OK && c < path->n; c++) {
        karma_i_primal_result result;
        if (path->factors[c] == 0.0) continue; /* those are there already */
        primal.C = C * path->factors[c];
        st = karma_i_solve_primal(weights, &result, &primal, hooks, err);
        if (st != KARMA_OK) break;
        fill_info(info, &result, primal.C, n);
        for (size_t k = 0; k < K; k++)
            for (size_t f = 0; f < p; f++)
                coefficients[f * K + k] += path->weights[c] / leaves->total_weight * weights[k * p + f] / value;
    }
    karma_i_free(weights);
    return st;
}

karma_status karma_i_leaf_machine_learn(double **out, karma_fit_info *info, const karma_i_leaf_problem *leaves,
                                        const karma_hooks *hooks, karma_error *err) {
    const karma_i_forest *forest = leaves->forest;
    const karma_i_C_grid *path = leaves->path;
    const karma_i_problem *problem = leaves->problem;
    size_t T = forest->n_trees, p = forest->leaf_start[T], n = problem->rows->n_rows;
    double value = sqrt(problem->kernel->terms[0].weight / (double)T);
    uint32_t *codes = NULL;
    karma_i_features *features = NULL;
    double *coefficients = karma_i_zalloc(p, problem->n_outputs * sizeof *coefficients);
    karma_status st = coefficients ? KARMA_OK : karma_i_fail_memory(err);
    *info = (karma_fit_info){.solver = KARMA_SOLVER_PRIMAL};
    if (st == KARMA_OK && path->factors[0] == 0.0) {
        add_boosted(coefficients, forest, path->weights[0] / leaves->total_weight, value);
        karma_i_info_add(info, &(karma_fit_info){.solver = KARMA_SOLVER_PRIMAL, .rounds = T});
    }
    int is_solved = path->n == 1 && path->factors[0] == 0.0; /* then nothing is needed of the rows */
    if (st == KARMA_OK && !is_solved)
        st = number_leaves(&codes, forest, karma_i_rows_encoding(problem->rows, leaves->encoding), err);
    if (st == KARMA_OK && !is_solved) st = karma_i_features_codes(&features, codes, n, T, p, value, err);
    if (st == KARMA_OK && !is_solved) st = walk(coefficients, info, features, value, leaves, hooks, err);
    karma_i_features_free(features);
    karma_i_free(codes);
    if (st == KARMA_OK)
        *out = coefficients;
    else
        karma_i_free(coefficients);
    return st;
}

karma_status karma_i_leaf_rows_append(karma_i_rows *support, const karma_i_forest *forest, size_t encoding,
                                      karma_error *err) {
    karma_i_rows *one = NULL;
    KARMA_TRY(karma_i_rows_new_like(&one, support, 1, err));
    karma_i_rows *own = one;
    for (size_t e = 0; e < encoding && own->next; e++) own = own->next;
    one->n_rows = 1;
    for (karma_i_rows *r = one->next; r; r = r->next) r->n_rows = 1;
    karma_status st = KARMA_OK;
    for (size_t t = 0; st == KARMA_OK && t < forest->n_trees; t++) {
        karma_i_mask_set(karma_i_rows_mask(own, 0), t);
        for (size_t l = 1; st == KARMA_OK && l <= karma_i_forest_n_leaves(forest, t); l++) {
            karma_i_rows_codes(own, 0)[t] = (uint16_t)l;
            st = karma_i_rows_append(support, one, 0, err);
        }
        own->ops->hide(own, 0, t); /* of this encoding alone */
    }
    karma_i_rows_free(one);
    return st;
}
