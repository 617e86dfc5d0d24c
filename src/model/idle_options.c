#include "model/idle_options.h"

#include <stdint.h>

#include "base/error.h"
#include "base/options_accept.h"

/* --- what a model uses --------------------------------------------------------------------------------- */

/* Whether a factor of the plan has the property that `asks` asks for. */
static int any_factor(const karma_model *model, int (*asks)(const karma_i_plan_factor *factor, int wanted),
                      int wanted) {
    for (size_t m = 0; m < model->plan.n_members; m++) {
        const karma_i_plan_kernel *kernel = &model->plan.members[m].kernel;
        for (size_t f = 0; f < kernel->n_factors; f++)
            if (asks(&kernel->factors[f], wanted)) return 1;
    }
    return 0;
}

static int has_outer(const karma_i_plan_factor *factor, int outer) {
    return (int)factor->map.kind == outer;
}

static int takes_setting(const karma_i_plan_factor *factor, int setting) {
    return (karma_i_kind_of(factor->kind)->settings & (unsigned)setting) != 0;
}

static int is_of_kind(const karma_i_plan_factor *factor, int kind) {
    return (int)factor->kind == kind;
}

static int is_subspace(const karma_i_plan_factor *factor, int wanted) {
    return karma_i_kind_of(factor->kind)->is_subspace == wanted;
}

static int any_loss(const karma_model *model, karma_loss_kind loss) {
    for (size_t h = 0; h < model->task.n_heads; h++)
        if (model->task.heads[h].loss == loss) return 1;
    return 0;
}

static int uses_poly(const karma_model *model) {
    return any_factor(model, has_outer, KARMA_OUTER_POLY);
}

static int uses_width(const karma_model *model) {
    return any_factor(model, has_outer, KARMA_OUTER_RBF) || any_factor(model, has_outer, KARMA_OUTER_LAPLACE);
}

static int uses_series(const karma_model *model) {
    return any_factor(model, has_outer, KARMA_OUTER_SERIES);
}

static int uses_overlaps(const karma_model *model) {
    return any_factor(model, takes_setting, KARMA_I_SETTING_GAMMA);
}

static int uses_ranks(const karma_model *model) {
    return any_factor(model, is_of_kind, KARMA_KERNEL_RANK);
}

static int uses_subspace(const karma_model *model) {
    return any_factor(model, is_subspace, 1);
}

static int uses_union(const karma_model *model) {
    for (size_t m = 0; m < model->plan.n_members; m++)
        if (model->plan.members[m].kernel.is_union) return 1;
    return 0;
}

static int uses_trees(const karma_model *model) {
    return any_factor(model, is_of_kind, KARMA_KERNEL_BOOST) || any_factor(model, is_of_kind, KARMA_KERNEL_FOREST);
}

static int uses_tube(const karma_model *model) {
    return any_loss(model, KARMA_LOSS_EPSILON_INSENSITIVE);
}

static int uses_huber(const karma_model *model) {
    return any_loss(model, KARMA_LOSS_HUBER);
}

static int uses_landmarks(const karma_model *model) {
    return model->info.solver == KARMA_SOLVER_NYSTROM;
}

static int uses_passes_in_order(const karma_model *model) {
    return model->info.solver == KARMA_SOLVER_ONLINE;
}

static int uses_rho(const karma_model *model) {
    return uses_passes_in_order(model) && model->task.options.schedule == KARMA_SCHEDULE_REGRET;
}

static int uses_B(const karma_model *model) {
    return uses_rho(model) && model->task.options.rho == KARMA_AUTO;
}

static int stops_at_a_gap(const karma_model *model) {
    return !uses_passes_in_order(model);
}

/* --- the list ------------------------------------------------------------------------------------------ */

static const struct {
    const char *option, *belongs_to;
    int (*is_used)(const karma_model *model);
} dependent[] = {
    {"degree", "option 'outer=poly'", uses_poly},
    {"offset", "option 'outer=poly'", uses_poly},
    {"width", "option 'outer=rbf' and laplace", uses_width},
    {"series", "option 'outer=series'", uses_series},
    {"gamma", "kernels that count the columns two rows share", uses_overlaps},
    {"scale", "kernels that count the columns two rows share", uses_overlaps},
    {"rank-form", "option 'kernel=rank'", uses_ranks},
    {"mu", "option 'kernel=union'", uses_union},
    {"subspace-rank", "kernels with a subspace", uses_subspace},
    {"subspace-noise", "kernels with a subspace", uses_subspace},
    {"space", "kernels with a subspace", uses_subspace},
    {"refine", "kernels with a subspace", uses_subspace},
    {"trees", "option 'kernel=boost' and forest", uses_trees},
    {"leaves", "option 'kernel=boost' and forest", uses_trees},
    {"tube", "option 'loss=epsilon-insensitive'", uses_tube},
    {"huber", "option 'loss=huber'", uses_huber},
    {"landmarks", "option 'solver=nystrom'", uses_landmarks},
    {"schedule", "option 'solver=online'", uses_passes_in_order},
    {"shuffle", "option 'solver=online'", uses_passes_in_order},
    {"average", "option 'solver=online'", uses_passes_in_order},
    {"rho", "option 'solver=online' with option 'schedule=regret'", uses_rho},
    {"B", "option 'schedule=regret' with option 'rho=auto'", uses_B},
    {"tolerance", "all solvers but online", stops_at_a_gap},
};

void karma_i_notice_idle_options(const karma_model *model, const karma_hooks *hooks) {
    for (size_t i = 0; i < sizeof dependent / sizeof dependent[0]; i++) {
        const karma_option *option = karma_option_find(karma_fit_option_table(), dependent[i].option);
        if (dependent[i].is_used(model) || karma_i_option_is_default(option, &model->task.options)) continue;
        karma_i_notice(hooks, "option '%s' has no effect on this model: it is for %s", dependent[i].option,
                       dependent[i].belongs_to);
    }
}
