#include "search/candidates.h"

#include <string.h>

#include "base/error.h"

/* A factor of a candidate: a kind, and settings in place of the options'. */
typedef struct factor_sketch {
    karma_kernel_kind kind; /* KARMA_N_KERNELS: there is no such factor */
    unsigned settings;      /* bits of karma_i_setting: which of these it sets */
    int64_t gamma;
    karma_outer outer;
    double width;
    int64_t degree;
    double scale, bias;
} factor_sketch;

/* The lowest effort at which a sketch is tried. With few rows a candidate costs little, and more candidates
 * were always better, so the normal effort then tries more. */
typedef enum tier { QUICK, NORMAL, FEW_ROWS, THOROUGH } tier;

/* With this many rows, the kernels for few rows at five values of C take about as long as the kernels of
 * NORMAL at three values with twice as many rows. */
enum { MOST_FEW_ROWS = 700 };

/* One candidate: one factor, or the sum of two. */
typedef struct sketch {
    tier tier;
    factor_sketch first;
    double weight; /* of the second factor */
    factor_sketch second;
} sketch;

enum {
    GAMMA = KARMA_I_SETTING_GAMMA,
    OUTER = KARMA_I_SETTING_OUTER,
    WIDTH = KARMA_I_SETTING_WIDTH,
    DEGREE = KARMA_I_SETTING_DEGREE,
    SCALE = KARMA_I_SETTING_SCALE,
    BIAS = KARMA_I_SETTING_BIAS
};

#define PLAIN(kind, gamma)                                                                                             \
    { KARMA_KERNEL_##kind, GAMMA, gamma, KARMA_OUTER_IDENTITY, 0, 0, 0, 0 }
#define RBF(kind, gamma, width)                                                                                        \
    { KARMA_KERNEL_##kind, GAMMA | OUTER | WIDTH, gamma, KARMA_OUTER_RBF, width, 0, 0, 0 }
#define LAPLACE(kind, gamma, width)                                                                                    \
    { KARMA_KERNEL_##kind, GAMMA | OUTER | WIDTH, gamma, KARMA_OUTER_LAPLACE, width, 0, 0, 0 }
#define POLY(kind, gamma, degree)                                                                                      \
    { KARMA_KERNEL_##kind, GAMMA | OUTER | DEGREE, gamma, KARMA_OUTER_POLY, 0, degree, 0, 0 }
#define SCALED(kind, gamma, scale)                                                                                     \
    { KARMA_KERNEL_##kind, GAMMA | SCALE, gamma, KARMA_OUTER_IDENTITY, 0, 0, scale, 0 }
#define BIASED(kind, gamma, bias)                                                                                      \
    { KARMA_KERNEL_##kind, GAMMA | BIAS, gamma, KARMA_OUTER_IDENTITY, 0, 0, 0, bias }
#define NONE                                                                                                           \
    { KARMA_N_KERNELS, 0, 1, KARMA_OUTER_IDENTITY, 0, 0, 0, 0 }

/* In the order of trying: if time is short, only the first ones are tried. γ has no meaning for a
 * subspace. */
static const sketch sketches[] = {
    {QUICK, PLAIN(LINEAR, 1), 0, NONE},
    {QUICK, RBF(RANK, 1, 1), 0, NONE},
    {QUICK, PLAIN(BOOST, 1), 0, NONE},
    {QUICK, PLAIN(RANK, 1), 0, NONE},
    {QUICK, RBF(LINEAR, 1, 1), 0, NONE},
    {QUICK, PLAIN(SUBSPACE, 1), 0, NONE},
    {QUICK, RBF(RANK, 1, 2), 0, NONE},
    {QUICK, PLAIN(LINEAR, 2), 0, NONE},
    {QUICK, PLAIN(LINEAR, 1), 10, PLAIN(SUBSPACE, 1)},
    {NORMAL, RBF(RANK, 1, 1), 1, RBF(SUBSPACE, 1, 1)},
    {NORMAL, PLAIN(FOREST, 1), 0, NONE},
    {NORMAL, RBF(SUBSPACE, 1, 1), 0, NONE},
    {NORMAL, RBF(RELEVANCE, 1, 1), 0, NONE},
    {NORMAL, LAPLACE(RANK, 1, 1), 0, NONE},
    {NORMAL, POLY(RANK, 1, 2), 0, NONE},
    {NORMAL, LAPLACE(LINEAR, 1, 1), 0, NONE},
    {FEW_ROWS, RBF(LINEAR, 1, 1), 1, RBF(RANK, 1, 1)},
    {FEW_ROWS, RBF(RANK, 2, 1), 0, NONE},
    {FEW_ROWS, RBF(LINEAR, 1, 2), 0, NONE},
    {FEW_ROWS, LAPLACE(RANK, 1, 2), 0, NONE},
    {FEW_ROWS, PLAIN(LINEAR, 1), 1, PLAIN(RANK, 1)},
    {FEW_ROWS, PLAIN(LINEAR, 1), 1, RBF(RANK, 1, 1)},
    {FEW_ROWS, PLAIN(RANK, 2), 0, NONE},
    {FEW_ROWS, PLAIN(LINEAR, 4), 0, NONE},
    {FEW_ROWS, PLAIN(RANK, 4), 0, NONE},
    {FEW_ROWS, RBF(LINEAR, 2, 1), 0, NONE},
    {FEW_ROWS, RBF(RANK, 4, 1), 0, NONE},
    {FEW_ROWS, RBF(RANK, 1, 0.5), 0, NONE},
    {FEW_ROWS, RBF(LINEAR, 1, 0.5), 0, NONE},
    {FEW_ROWS, POLY(LINEAR, 1, 2), 0, NONE},
    {FEW_ROWS, POLY(RANK, 1, 3), 0, NONE},
    {FEW_ROWS, PLAIN(LINEAR, 1), 100, PLAIN(SUBSPACE, 1)},
    {FEW_ROWS, PLAIN(LINEAR, 2), 10, PLAIN(SUBSPACE, 1)},
    {FEW_ROWS, PLAIN(RELEVANCE, 1), 0, NONE},
    {THOROUGH, PLAIN(LINEAR, 1), 1, PLAIN(SUBSPACE, 1)},
    {THOROUGH, RBF(RANK, 1, 4), 0, NONE},
    {THOROUGH, RBF(LINEAR, 1, 4), 0, NONE},
    {THOROUGH, RBF(LINEAR, 4, 1), 0, NONE},
    {THOROUGH, RBF(RANK, 2, 0.5), 0, NONE},
    {THOROUGH, RBF(RANK, 2, 2), 0, NONE},
    {THOROUGH, LAPLACE(RANK, 2, 1), 0, NONE},
    {THOROUGH, LAPLACE(RANK, 1, 0.5), 0, NONE},
    {THOROUGH, LAPLACE(LINEAR, 1, 2), 0, NONE},
    {THOROUGH, RBF(SUBSPACE, 1, 2), 0, NONE},
    {THOROUGH, RBF(SUBSPACE, 1, 0.5), 0, NONE},
    {THOROUGH, RBF(LINEAR, 1, 1), 1, RBF(SUBSPACE, 1, 1)},
    {THOROUGH, PLAIN(LINEAR, 1), 1, RBF(LINEAR, 1, 1)},
    {THOROUGH, POLY(LINEAR, 1, 3), 0, NONE},
    {THOROUGH, POLY(LINEAR, 2, 2), 0, NONE},
    {THOROUGH, PLAIN(LINEAR, 8), 0, NONE},
    {THOROUGH, PLAIN(RANK, 8), 0, NONE},
    {THOROUGH, SCALED(LINEAR, 2, KARMA_SCALE_PAPER), 0, NONE},
    {THOROUGH, SCALED(RANK, 2, KARMA_SCALE_PAPER), 0, NONE},
    {THOROUGH, PLAIN(RELEVANCE, 2), 0, NONE},
    {THOROUGH, RBF(RELEVANCE, 1, 2), 0, NONE},
    {THOROUGH, RBF(RELEVANCE, 2, 1), 0, NONE},
    {THOROUGH, LAPLACE(RELEVANCE, 1, 1), 0, NONE},
    {THOROUGH, POLY(RELEVANCE, 1, 2), 0, NONE},
    {THOROUGH, BIASED(LINEAR, 2, 3), 0, NONE},
    {THOROUGH, BIASED(LINEAR, 1, 0), 0, NONE},
};

/* The choices left by the table and the user's options. */
typedef struct scope {
    const karma_names *fixed;
    unsigned fixed_settings; /* bits of karma_i_setting: these are fixed by the options */
    const karma_fit_options *options;
    int has_ranks, has_holes, has_subspace, has_forest;
    int is_fine; /* many values of C: for high efforts, and if there are few kernels */
} scope;

static int is_fixed(const scope *s, const char *name) {
    for (size_t i = 0; i < s->fixed->count; i++)
        if (strcmp(s->fixed->items[i], name) == 0) return 1;
    return 0;
}

/* A subspace needs columns that could predict one another; its cost grows with the cube of indicators. */
enum { MOST_SUBSPACE_FEATURES = 1000 };

/* Every tree examines every value of half of the columns; with more columns the other kernels are much
 * faster. */
enum { MOST_FOREST_COLUMNS = 1000 };

/* Linear kernels visit only the cells that two rows have in common; ranks, all columns. In wide tables that are mostly
 * empty, such as ratings, they would take nearly all of the time. */
enum { MOST_RANK_COLUMNS = 1000 };
static const double MOSTLY_EMPTY = 0.1;

static scope look_at(const karma_i_race *race, const karma_names *fixed) {
    const karma_table *table = race->table;
    scope s = {.fixed = fixed, .options = &race->task->options};
    size_t n_features = 0, n_numbers = 0;
    for (size_t j = 0; j < table->n_attributes; j++) {
        int is_number = table->attributes[j].kind == KARMA_COLUMN_NUMBER;
        n_numbers += is_number != 0;
        n_features += is_number ? 1 : table->attributes[j].n_levels;
    }
    double cells = (double)table->n_rows * (double)table->n_attributes;
    int is_empty = (double)table->row_start[table->n_rows] < MOSTLY_EMPTY * cells;
    s.has_ranks = n_numbers > 0 && (table->n_attributes <= MOST_RANK_COLUMNS || !is_empty);
    s.has_holes = table->row_start[table->n_rows] < table->n_rows * table->n_attributes;
    s.has_forest = table->n_attributes <= MOST_FOREST_COLUMNS || is_fixed(&s, "kernel");
    s.has_subspace = n_features > 2 && n_features <= MOST_SUBSPACE_FEATURES;
    for (size_t i = 0; i < KARMA_I_N_SETTINGS; i++)
        if (is_fixed(&s, karma_i_setting_names[i].name)) s.fixed_settings |= karma_i_setting_names[i].setting;
    return s;
}

/* --- from sketches to kernels -------------------------------------------------------------------------- */

static karma_status add_factor(karma_i_plan_kernel *kernel, double weight, const factor_sketch *f, const scope *s,
                               karma_error *err) {
    karma_fit_options settings = *s->options; /* borrows its texts */
    unsigned own = f->settings & ~s->fixed_settings;
    if (own & GAMMA) settings.gamma = f->gamma;
    if (own & OUTER) settings.outer = (int)f->outer;
    if (own & WIDTH) settings.width = f->width;
    if (own & DEGREE) settings.degree = f->degree;
    if (own & SCALE) settings.scale = f->scale;
    if (own & BIAS) settings.bias = f->bias;
    KARMA_TRY(karma_i_plan_kernel_add_term(kernel, weight, err));
    return karma_i_plan_kernel_add_factor(kernel, f->kind, &settings, own, err);
}

static int has_second(const sketch *k) {
    return k->second.kind != KARMA_N_KERNELS;
}

static int is_mapped(const sketch *k) {
    return ((k->first.settings | k->second.settings) & OUTER) != 0;
}

static karma_status draw_up(karma_i_plan_kernel *kernel, const sketch *k, const scope *s, karma_error *err) {
    KARMA_TRY(add_factor(kernel, 1.0, &k->first, s, err));
    if (!has_second(k)) return KARMA_OK;
    int is_union = karma_i_kind_of(k->second.kind)->is_subspace && !(k->second.settings & OUTER);
    return add_factor(kernel, is_union && is_fixed(s, "mu") ? s->options->mu : k->weight, &k->second, s, err);
}

/* --- which of them ------------------------------------------------------------------------------------- */

static int uses_kind(const sketch *k, karma_kernel_kind kind) {
    return k->first.kind == kind || k->second.kind == kind;
}

/* F_0 ∪ F_γ: weighted sums of both kernels and, unless the user keeps the weight, each alone, which are their limits.
 */
static int fits_union(const sketch *k, const scope *s) {
    if (is_mapped(k)) return 0;
    if (has_second(k)) return k->first.kind == KARMA_KERNEL_LINEAR && k->second.kind == KARMA_KERNEL_SUBSPACE;
    return !is_fixed(s, "mu") && (k->first.kind == KARMA_KERNEL_LINEAR || k->first.kind == KARMA_KERNEL_SUBSPACE);
}

/* Whether a sketch fits the kernel that the user keeps. */
static int fits_kernel(const sketch *k, const karma_i_plan_kernel *kept, const scope *s) {
    if (kept->is_union) return fits_union(k, s);
    karma_kernel_kind kind = kept->factors[0].kind;
    return !has_second(k) && karma_i_kind_with(k->first.kind, karma_i_kind_of(kind)->has_scores) == kind;
}

/* If the user fixes the outer map, it applies to sketches without one and to those whose settings belong to it;
 * sketches with another map would repeat them. */
static int fits_outer(const sketch *k, karma_outer kept) {
    if (kept == KARMA_OUTER_RBF || kept == KARMA_OUTER_LAPLACE) return (k->first.settings & WIDTH) != 0;
    return kept == KARMA_OUTER_POLY && k->first.settings & DEGREE;
}

static int is_worth_it(const sketch *k, const scope *s) {
    if (!s->has_ranks && uses_kind(k, KARMA_KERNEL_RANK) && !is_fixed(s, "kernel")) return 0;
    if (!s->has_holes && k->first.gamma != 1) return 0;
    if (!s->has_forest && (uses_kind(k, KARMA_KERNEL_BOOST) || uses_kind(k, KARMA_KERNEL_FOREST))) return 0;
    if (!s->has_subspace && (uses_kind(k, KARMA_KERNEL_SUBSPACE) || uses_kind(k, KARMA_KERNEL_RELEVANCE))) return 0;
    return !is_mapped(k) || !is_fixed(s, "outer") || fits_outer(k, (karma_outer)s->options->outer);
}

/* What an effort allows for this number of rows. */
static tier largest_tier(karma_effort effort, size_t n_rows) {
    if (effort == KARMA_EFFORT_QUICK) return QUICK;
    if (effort == KARMA_EFFORT_THOROUGH) return THOROUGH;
    return n_rows <= MOST_FEW_ROWS ? FEW_ROWS : NORMAL;
}

/* --- all of them --------------------------------------------------------------------------------------- */

static int is_there(const karma_i_race *race, const karma_i_plan_kernel *kernel) {
    for (size_t e = 0; e < race->n_entries; e++)
        if (karma_i_plan_kernel_equal(&race->entries[e].kernel, kernel)) return 1;
    return 0;
}

/* Multiples of the default C. If there are many kernels, few values are enough: on the sets of docs/search.md
 * a committee of 13 kernels at three values was nearly as good as one of 30 at five. */
static karma_status add_kernel(karma_i_race *race, const karma_i_plan_kernel *kernel, int has_map, const scope *s,
                               karma_error *err) {
    static const karma_i_C_grid linear[] = {{3, {0.1, 1, 10}, {0}}, {5, {0.01, 0.1, 1, 10, 100}, {0}}};
    static const karma_i_C_grid mapped[] = {{3, {1, 10, 100}, {0}}, {5, {0.1, 1, 10, 100, 1000}, {0}}};
    static const karma_i_C_grid given = {1, {1}, {0}};
    if (is_there(race, kernel)) return KARMA_OK;
    const karma_i_C_grid *path = has_map ? &mapped[s->is_fine] : &linear[s->is_fine];
    KARMA_TRY(karma_i_race_add(race, kernel, is_fixed(s, "C") ? &given : path, err));
    race->entries[race->n_entries - 1].is_kept = karma_i_plan_kernel_is_zero_imputation(kernel);
    return KARMA_OK;
}

/* Adds the sketches of these tiers; if the user keeps a kernel, only sketches of that kernel. */
static karma_status add_sketches(karma_i_race *race, tier least, tier most, const karma_i_plan_kernel *kept,
                                 const scope *s, karma_error *err) {
    karma_status st = KARMA_OK;
    for (size_t i = 0; st == KARMA_OK && i < sizeof sketches / sizeof sketches[0]; i++) {
        const sketch *k = &sketches[i];
        karma_i_plan_kernel kernel = {0};
        if (k->tier < least || k->tier > most || !is_worth_it(k, s) || (kept && !fits_kernel(k, kept, s))) continue;
        st = draw_up(&kernel, k, s, err);
        size_t n_before = race->n_entries;
        if (st == KARMA_OK) st = add_kernel(race, &kernel, is_mapped(k), s, err);
        if (race->n_entries > n_before) race->entries[n_before].is_early = k->tier == QUICK;
        karma_i_plan_kernel_clear(&kernel);
    }
    return st;
}

/* A kernel given by name gets all its candidates. A formula is one candidate, and so is a kernel if only C is
 * to be chosen. */
static karma_status add_kept(karma_i_race *race, const karma_i_plan *plan, scope *s, karma_error *err) {
    const karma_i_plan_kernel *kernel = &plan->members[0].kernel;
    const karma_i_C_grid *machines = &plan->members[0].machines;
    s->is_fine = 1;
    if (plan->n_members > 1)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a search chooses the committee itself: set option 'kernel' or option 'effort', not both");
    if (machines->n > 1 || machines->factors[0] != 1.0)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "option 'kernel': a search chooses the values of C; leave out what follows '@', or set "
                            "option 'effort=off'");
    if (kernel->is_union || karma_i_plan_kernel_is_word(kernel))
        KARMA_TRY(add_sketches(race, QUICK, THOROUGH, kernel, s, err));
    if (race->n_entries > 0) return KARMA_OK;
    return add_kernel(race, kernel, s->options->outer != KARMA_OUTER_IDENTITY, s, err);
}

karma_status karma_i_candidates_add(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                    karma_error *err) {
    scope s = look_at(race, fixed);
    if (is_fixed(&s, "kernel") || race->table->gram) {
        karma_i_plan plan = {0};
        karma_status st = karma_i_plan_parse(&plan, s.options->kernel, s.options, err);
        if (st == KARMA_OK) st = add_kept(race, &plan, &s, err);
        karma_i_plan_clear(&plan);
        return st;
    }
    tier most = largest_tier(effort, race->table->n_rows);
    s.is_fine = most >= FEW_ROWS;
    return add_sketches(race, QUICK, most, NULL, &s, err);
}

karma_status karma_i_candidates_add_more(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                         karma_error *err) {
    scope s = look_at(race, fixed);
    tier most = largest_tier(effort, race->table->n_rows);
    if (is_fixed(&s, "kernel") || race->table->gram || most == QUICK) return KARMA_OK;
    return add_sketches(race, NORMAL, most, NULL, &s, err);
}
