#include "model/model_format.h"

#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/search_info.h"
#include "solve/solver.h"
#include "table/reading.h"

/* A kernel value is at most FLT_MAX, so scores stay finite with coefficients up to here. */
static const double LARGEST_COEFFICIENT = 1e250;

/* --- options ------------------------------------------------------------------------------------------- */

/* Options about how a model is computed (threads, memory) are not stored: the same data, options and seed
 * give the same bytes. */
static int is_kept(const karma_option *option) {
    return strcmp(option->name, "threads") != 0;
}

static karma_status write_option(karma_i_archive *a, const karma_option *option, const karma_fit_options *options) {
    size_t size = (size_t)karma_option_text(option, options, NULL, 0) + 1;
    if (size == 1) return KARMA_OK; /* a text that was not given */
    char *text = karma_i_alloc(size, 1);
    if (!text) return karma_i_archive_fail_memory(a);
    (void)karma_option_text(option, options, text, size);
    karma_status st = karma_i_archive_text(a, option->name, &text);
    karma_i_free(text);
    return st;
}

/* Options that the file lacks keep their default. */
static karma_status read_option(karma_i_archive *a, const karma_option *option, karma_fit_options *options) {
    char *text = NULL;
    karma_error fault = {0};
    int is_there = 0;
    karma_i_archive_find(a, option->name, &is_there);
    if (!is_there) return KARMA_OK;
    KARMA_TRY(karma_i_archive_text(a, option->name, &text));
    karma_status st = karma_option_set(option, options, text, &fault);
    karma_i_free(text);
    if (st == KARMA_ERR_MEMORY) return karma_i_archive_fail_memory(a);
    return st == KARMA_OK ? KARMA_OK : karma_i_archive_fail(a, "%s", fault.message);
}

static karma_status archive_options(karma_i_archive *a, karma_fit_options *options) {
    const karma_option_table *table = karma_fit_option_table();
    int is_reading = karma_i_archive_is_reading(a);
    if (is_reading) karma_options_init_size(table, options, table->struct_size);
    KARMA_TRY(karma_i_archive_enter(a, "options"));
    for (size_t i = 0; i < table->count; i++) {
        if (!is_kept(&table->options[i])) continue;
        KARMA_TRY(is_reading ? read_option(a, &table->options[i], options)
                             : write_option(a, &table->options[i], options));
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

/* --- how training went --------------------------------------------------------------------------------- */

static karma_status archive_words(karma_i_archive *a, karma_fit_info *info) {
    const char *solvers[KARMA_N_SOLVERS] = {0}, *stops[KARMA_STOP_CANCELLED + 1];
    int solver = (int)info->solver, stop = (int)info->stop;
    for (int s = KARMA_SOLVER_AUTO + 1; s < KARMA_N_SOLVERS; s++)
        solvers[s] = karma_i_solver_name((karma_solver_kind)s);
    for (int s = KARMA_STOP_FINISHED; s <= KARMA_STOP_CANCELLED; s++) stops[s] = karma_stop_name((karma_stop)s);
    KARMA_TRY(karma_i_archive_word(a, "solver", &solver, solvers, KARMA_N_SOLVERS));
    KARMA_TRY(karma_i_archive_word(a, "stop", &stop, stops, KARMA_STOP_CANCELLED + 1));
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    info->solver = (karma_solver_kind)solver;
    info->stop = (karma_stop)stop;
    return KARMA_OK;
}

static karma_status archive_info(karma_i_archive *a, karma_fit_info *info) {
    const struct {
        const char *name;
        size_t *value;
    } sizes[] = {{"n_rows", &info->n_rows},           {"n_unlabelled", &info->n_unlabelled},
                 {"n_columns", &info->n_columns},     {"n_support", &info->n_support},
                 {"n_landmarks", &info->n_landmarks}, {"rounds", &info->rounds}};
    const struct {
        const char *name;
        double *value;
    } numbers[] = {{"kernel_evaluations", &info->kernel_evaluations},
                   {"C", &info->C},
                   {"rho", &info->rho},
                   {"mean_loss", &info->mean_loss},
                   {"error_rate", &info->error_rate},
                   {"primal", &info->primal},
                   {"dual", &info->dual},
                   {"gap", &info->gap},
                   {"held_out_loss", &info->held_out_loss},
                   {"half_held_out_loss", &info->half_held_out_loss},
                   {"half_excess", &info->half_excess}};
    KARMA_TRY(karma_i_archive_enter(a, "info"));
    KARMA_TRY(archive_words(a, info));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        KARMA_TRY(karma_i_archive_size(a, sizes[i].name, sizes[i].value, 0, SIZE_MAX));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        KARMA_TRY(karma_i_archive_number(a, numbers[i].name, numbers[i].value, -DBL_MAX, DBL_MAX));
    karma_i_archive_leave(a);
    return KARMA_OK;
}

/* --- targets ------------------------------------------------------------------------------------------- */

/* The outputs of a target follow those of the one before. */
static void number_outputs(karma_i_task *task) {
    task->n_outputs = 0;
    for (size_t t = 0; t < task->n_heads; t++) {
        karma_i_head *head = &task->heads[t];
        head->first_output = task->n_outputs;
        head->n_outputs = karma_i_head_count_outputs(head);
        task->n_outputs += head->n_outputs;
    }
}

static karma_status archive_head(karma_i_archive *a, void *head) {
    return karma_i_head_archive(a, head);
}

static karma_status archive_heads(karma_i_archive *a, karma_i_task *task) {
    KARMA_TRY(karma_i_archive_list(a, "targets", &task->heads, &task->n_heads, sizeof *task->heads, archive_head));
    if (task->n_heads == 0) return karma_i_archive_fail(a, "it has no target");
    if (karma_i_archive_is_reading(a)) number_outputs(task);
    return KARMA_OK;
}

/* --- members ------------------------------------------------------------------------------------------- */

static karma_status archive_factors(karma_i_archive *a, karma_i_factor_facts *facts, const karma_i_plan_kernel *plan,
                                    const karma_i_rows *support) {
    size_t n = plan->n_factors;
    KARMA_TRY(karma_i_archive_enter_list(a, "factors", &n));
    if (n != plan->n_factors) return karma_i_archive_fail(a, "its factors are not those of its kernel");
    for (size_t f = 0; f < n; f++) {
        const karma_i_plan_factor *factor = &plan->factors[f];
        KARMA_TRY(karma_i_archive_item(a, f));
        KARMA_TRY(karma_i_facts_archive(a, &facts[f], factor, karma_i_rows_encoding(support, factor->encoding)));
        karma_i_archive_leave(a);
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

static karma_status archive_kernel(karma_i_archive *a, karma_i_kernel *kernel, const karma_i_plan_kernel *plan,
                                   const karma_i_rows *support) {
    int is_reading = karma_i_archive_is_reading(a);
    karma_i_factor_facts *facts = karma_i_alloc(plan->n_factors, sizeof *facts);
    if (!facts) return karma_i_archive_fail_memory(a);
    for (size_t f = 0; !is_reading && f < plan->n_factors; f++) facts[f] = karma_i_factor_known(&kernel->factors[f]);
    karma_status st = archive_factors(a, facts, plan, support);
    if (st == KARMA_OK && is_reading && karma_i_kernel_restore(kernel, plan, facts, NULL) != KARMA_OK)
        st = karma_i_archive_fail_memory(a);
    karma_i_free(facts);
    return st;
}

static karma_status archive_members(karma_i_archive *a, karma_model *m) {
    size_t n = m->plan.n_members;
    KARMA_TRY(karma_i_archive_enter_list(a, "members", &n));
    if (n != m->plan.n_members) return karma_i_archive_fail(a, "its members are not those of its kernel");
    if (karma_i_archive_is_reading(a)) {
        if (!(m->members = karma_i_zalloc(n, sizeof *m->members))) return karma_i_archive_fail_memory(a);
        m->n_members = n;
    }
    karma_i_shape shape = karma_i_matrix_shape(m->info.n_support, m->task.n_outputs);
    for (size_t k = 0; k < n; k++) {
        karma_i_member *member = &m->members[k];
        KARMA_TRY(karma_i_archive_item(a, k));
        KARMA_TRY(karma_i_archive_f64(a, "coefficients", &member->coefficients, shape, LARGEST_COEFFICIENT));
        KARMA_TRY(archive_kernel(a, &member->kernel, &m->plan.members[k].kernel, m->support));
        karma_i_archive_leave(a);
    }
    karma_i_archive_leave(a);
    return KARMA_OK;
}

/* --- the whole ----------------------------------------------------------------------------------------- */

/* The plan's text is an option. */
static karma_status read_plan(karma_i_archive *a, karma_i_plan *plan, const karma_fit_options *options) {
    karma_error fault = {0};
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    karma_status st = karma_i_plan_parse(plan, options->kernel, options, &fault);
    if (st == KARMA_ERR_MEMORY) return karma_i_archive_fail_memory(a);
    return st == KARMA_OK ? KARMA_OK : karma_i_archive_fail(a, "%s", fault.message);
}

karma_status karma_i_model_archive(karma_i_archive *a, karma_model *m) {
    KARMA_TRY(archive_options(a, &m->task.options));
    KARMA_TRY(archive_info(a, &m->info));
    KARMA_TRY(karma_i_reading_archive(a, &m->reading));
    KARMA_TRY(archive_heads(a, &m->task));
    KARMA_TRY(read_plan(a, &m->plan, &m->task.options));
    KARMA_TRY(karma_i_encoder_archive(a, &m->encoder, m->plan.kinds, m->plan.n_kinds));
    KARMA_TRY(karma_i_encoder_archive_rows(a, &m->support, &m->encoder, m->info.n_support));
    KARMA_TRY(archive_members(a, m));
    KARMA_TRY(karma_i_search_info_archive(a, &m->search));
    KARMA_TRY(karma_i_stream_part_archive(a, &m->stream, &m->encoder, m->support, m->task.n_outputs,
                                          m->task.heads[0].labels.n_classes));
    if (!karma_i_archive_is_reading(a)) return KARMA_OK;
    m->info.scale = m->members[0].kernel.factors[0].scale;
    m->info.log_norm = m->members[0].kernel.factors[0].log_norm;
    return KARMA_OK;
}
