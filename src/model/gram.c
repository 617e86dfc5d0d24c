/* The Gram matrix of a table, for users who bring their own learner, and the check of the norm assumption. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "model/model.h"
#include "solve/solver.h"
#include "table/table_split.h"

struct karma_gram {
    karma_i_rows *rows;
    karma_i_rows *others; /* NULL: the rows themselves */
    karma_i_kernel kernel;
    int threads;
    float *whole; /* the matrix, if it fits the memory limit: half of it is then computed */
};

void karma_gram_free(karma_gram *gram) {
    if (!gram) return;
    karma_i_rows_free(gram->rows);
    karma_i_rows_free(gram->others);
    karma_i_kernel_clear(&gram->kernel);
    karma_i_free(gram->whole);
    karma_i_free(gram);
}

static karma_status compute_whole(karma_gram *gram, const karma_fit_options *options, karma_error *err) {
    size_t n = gram->rows->n_rows;
    if ((double)n * (double)n * sizeof(float) > karma_i_memory_bytes(options)) return KARMA_OK; /* row by row, then */
    gram->whole = karma_i_alloc_large(n, n * sizeof *gram->whole);
    if (!gram->whole) return karma_i_fail_memory(err);
    karma_status st = karma_i_kernel_gram(gram->whole, n, &gram->kernel, karma_i_rows_all(gram->rows), gram->threads);
    return st == KARMA_OK ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status learn(karma_gram *gram, const karma_table *table, const karma_table *against,
                          const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_i_encoder encoder = {0};
    karma_i_plan plan;
    karma_i_rows **learned = against ? &gram->others : &gram->rows;
    KARMA_TRY(karma_i_plan_parse(&plan, options->kernel, options, err));
    karma_status st = KARMA_OK;
    if (plan.n_members > 1)
        st = karma_i_fail(err, KARMA_ERR_OPTION,
                          "option 'kernel': each member of a committee has its own matrix; give a single kernel");
    for (size_t k = 0; st == KARMA_OK && k < plan.n_kinds; k++)
        if (karma_i_kind_of(plan.kinds[k])->needs_labels)
            st = karma_i_fail(err, KARMA_ERR_OPTION,
                              "option 'kernel': %s is learned from labels, and a Gram matrix has none",
                              karma_i_kind_of(plan.kinds[k])->name);
    const karma_table *training = against ? against : table;
    if (st == KARMA_OK) st = karma_i_encoder_learn(&encoder, training, plan.kinds, plan.n_kinds, options, hooks, err);
    if (st == KARMA_OK) st = karma_i_encoder_apply(learned, &encoder, training, NULL, err);
    if (st == KARMA_OK) st = karma_i_kernel_learn(&gram->kernel, &plan.members[0].kernel, *learned, gram->threads, err);
    if (st == KARMA_OK && against) st = karma_i_encoder_check_matrix(&encoder, against->n_attributes, table, err);
    if (st == KARMA_OK && against) st = karma_i_encoder_apply(&gram->rows, &encoder, table, hooks, err);
    karma_i_encoder_clear(&encoder);
    karma_i_plan_clear(&plan);
    return st;
}

karma_status karma_gram_new(karma_gram **out, const karma_table *table, const karma_table *against,
                            const karma_fit_options *options, const karma_hooks *hooks, karma_error *err) {
    karma_fit_options own;
    KARMA_TRY(karma_i_table_check_whole(table, err));
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own, options, err));
    options = &own;
    karma_gram *gram = karma_i_zalloc(1, sizeof *gram);
    if (!gram) return karma_i_fail_memory(err);
    gram->threads = karma_i_threads(options->threads);
    karma_status st = learn(gram, table, against, options, hooks, err);
    if (st == KARMA_OK && !against) st = compute_whole(gram, options, err);
    if (st == KARMA_OK)
        *out = gram;
    else
        karma_gram_free(gram);
    return st;
}

size_t karma_gram_n_columns(const karma_gram *gram) {
    return gram->others ? gram->others->n_rows : gram->rows->n_rows;
}
size_t karma_gram_n_rows(const karma_gram *gram) {
    return gram->rows->n_rows;
}
double karma_gram_log_norm(const karma_gram *gram) {
    return gram->kernel.factors[0].log_norm;
}
double karma_gram_scale(const karma_gram *gram) {
    return gram->kernel.factors[0].scale;
}

karma_status karma_gram_rows(float *out, const karma_gram *gram, size_t first, size_t count, karma_error *err) {
    size_t n = karma_gram_n_columns(gram), n_rows = gram->rows->n_rows;
    if (first > n_rows || count > n_rows - first)
        return karma_i_fail(err, KARMA_ERR_DATA, "rows %zu to %zu of a matrix of %zu rows", first, first + count,
                            n_rows);
    if (gram->whole) {
        memcpy(out, gram->whole + first * n, count * n * sizeof *out);
        return KARMA_OK;
    }
    karma_i_view part = {gram->rows, first, count};
    const karma_i_rows *others = gram->others ? gram->others : gram->rows;
    karma_status st = karma_i_kernel_block(out, n, &gram->kernel, part, karma_i_rows_all(others), gram->threads);
    return st == KARMA_OK ? KARMA_OK : karma_i_fail_memory(err);
}

karma_status karma_check_norms(karma_norm_check *out, const karma_table *table, const karma_fit_options *options,
                               karma_error *err) {
    karma_fit_options own;
    KARMA_TRY(karma_i_options_accept(karma_fit_option_table(), &own, options, err));
    options = &own;
    karma_i_rows *rows = NULL;
    karma_i_recipe *recipe = NULL;
    KARMA_TRY(karma_i_recipe_learn(&recipe, table, KARMA_KERNEL_LINEAR, options, NULL, err));
    karma_status st = karma_i_recipe_apply(&rows, recipe, table, NULL, err);
    karma_i_recipe_free(recipe);
    if (st != KARMA_OK) return st;
    karma_i_norms norms = karma_i_rows_norms(rows);
    *out = (karma_norm_check){norms.largest, norms.n_above_one, rows->n_rows};
    karma_i_rows_free(rows);
    return KARMA_OK;
}
