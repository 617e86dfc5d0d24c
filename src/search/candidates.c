#include "search/candidates.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* One candidate: up to two factors. What the user keeps is left to the options. */
typedef struct factor_plan {
    const char *kind;  /* NULL: there is no such factor */
    const char *gamma; /* or NULL, as in the subspace, where it has no meaning */
    const char *outer, *width, *degree;
    const char *scale, *bias; /* NULL: the default */
} factor_plan;

/* The least effort that a plan is tried with. Where rows are few a candidate costs little, and more of them were better
 * throughout: the normal search then has more. */
typedef enum tier { QUICK, NORMAL, FEW_ROWS, THOROUGH } tier;

/* Thirty kernels at five values of C take on so many rows about what thirteen at three take on twice as many. */
enum { MOST_FEW_ROWS = 700 };

typedef struct plan {
    tier tier;
    factor_plan first;
    const char *weight; /* of the second factor */
    factor_plan second;
} plan;

#define PLAIN(kind, gamma)                                                                                             \
    { kind, gamma, NULL, NULL, NULL, NULL, NULL }
#define RBF(kind, gamma, width)                                                                                        \
    { kind, gamma, "rbf", width, NULL, NULL, NULL }
#define LAPLACE(kind, gamma, width)                                                                                    \
    { kind, gamma, "laplace", width, NULL, NULL, NULL }
#define POLY(kind, gamma, degree)                                                                                      \
    { kind, gamma, "poly", NULL, degree, NULL, NULL }
#define SCALED(kind, gamma, scale)                                                                                     \
    { kind, gamma, NULL, NULL, NULL, scale, NULL }
#define BIASED(kind, gamma, bias)                                                                                      \
    { kind, gamma, NULL, NULL, NULL, NULL, bias }
#define NONE                                                                                                           \
    { NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/* In the order in which they are tried: where time is short the first ones count. */
static const plan plans[] = {
    {QUICK, PLAIN("linear", "1"), NULL, NONE},
    {QUICK, RBF("rank", "1", "1"), NULL, NONE},
    {QUICK, PLAIN("rank", "1"), NULL, NONE},
    {QUICK, RBF("linear", "1", "1"), NULL, NONE},
    {QUICK, PLAIN("subspace", NULL), NULL, NONE},
    {QUICK, RBF("rank", "1", "2"), NULL, NONE},
    {QUICK, PLAIN("linear", "2"), NULL, NONE},
    {QUICK, PLAIN("linear", "1"), "10", PLAIN("subspace", NULL)},
    {NORMAL, RBF("rank", "1", "1"), "1", RBF("subspace", NULL, "1")},
    {NORMAL, RBF("relevance", "1", "1"), NULL, NONE},
    {NORMAL, LAPLACE("rank", "1", "1"), NULL, NONE},
    {NORMAL, POLY("rank", "1", "2"), NULL, NONE},
    {NORMAL, LAPLACE("linear", "1", "1"), NULL, NONE},
    {FEW_ROWS, RBF("linear", "1", "1"), "1", RBF("rank", "1", "1")},
    {FEW_ROWS, RBF("rank", "2", "1"), NULL, NONE},
    {FEW_ROWS, RBF("linear", "1", "2"), NULL, NONE},
    {FEW_ROWS, RBF("subspace", NULL, "1"), NULL, NONE},
    {FEW_ROWS, LAPLACE("rank", "1", "2"), NULL, NONE},
    {FEW_ROWS, PLAIN("linear", "1"), "1", PLAIN("rank", "1")},
    {FEW_ROWS, PLAIN("linear", "1"), "1", RBF("rank", "1", "1")},
    {FEW_ROWS, PLAIN("rank", "2"), NULL, NONE},
    {FEW_ROWS, PLAIN("linear", "4"), NULL, NONE},
    {FEW_ROWS, PLAIN("rank", "4"), NULL, NONE},
    {FEW_ROWS, RBF("linear", "2", "1"), NULL, NONE},
    {FEW_ROWS, RBF("rank", "4", "1"), NULL, NONE},
    {FEW_ROWS, RBF("rank", "1", "0.5"), NULL, NONE},
    {FEW_ROWS, RBF("linear", "1", "0.5"), NULL, NONE},
    {FEW_ROWS, POLY("linear", "1", "2"), NULL, NONE},
    {FEW_ROWS, POLY("rank", "1", "3"), NULL, NONE},
    {FEW_ROWS, PLAIN("linear", "1"), "100", PLAIN("subspace", NULL)},
    {FEW_ROWS, PLAIN("linear", "2"), "10", PLAIN("subspace", NULL)},
    {FEW_ROWS, PLAIN("relevance", "1"), NULL, NONE},
    {THOROUGH, PLAIN("linear", "1"), "1", PLAIN("subspace", NULL)},
    {THOROUGH, RBF("rank", "1", "4"), NULL, NONE},
    {THOROUGH, RBF("linear", "1", "4"), NULL, NONE},
    {THOROUGH, RBF("linear", "4", "1"), NULL, NONE},
    {THOROUGH, RBF("rank", "2", "0.5"), NULL, NONE},
    {THOROUGH, RBF("rank", "2", "2"), NULL, NONE},
    {THOROUGH, LAPLACE("rank", "2", "1"), NULL, NONE},
    {THOROUGH, LAPLACE("rank", "1", "0.5"), NULL, NONE},
    {THOROUGH, LAPLACE("linear", "1", "2"), NULL, NONE},
    {THOROUGH, RBF("subspace", NULL, "2"), NULL, NONE},
    {THOROUGH, RBF("subspace", NULL, "0.5"), NULL, NONE},
    {THOROUGH, RBF("linear", "1", "1"), "1", RBF("subspace", NULL, "1")},
    {THOROUGH, PLAIN("linear", "1"), "1", RBF("linear", "1", "1")},
    {THOROUGH, POLY("linear", "1", "3"), NULL, NONE},
    {THOROUGH, POLY("linear", "2", "2"), NULL, NONE},
    {THOROUGH, PLAIN("linear", "8"), NULL, NONE},
    {THOROUGH, PLAIN("rank", "8"), NULL, NONE},
    {THOROUGH, SCALED("linear", "2", "paper"), NULL, NONE},
    {THOROUGH, SCALED("rank", "2", "paper"), NULL, NONE},
    {THOROUGH, PLAIN("relevance", "2"), NULL, NONE},
    {THOROUGH, RBF("relevance", "1", "2"), NULL, NONE},
    {THOROUGH, RBF("relevance", "2", "1"), NULL, NONE},
    {THOROUGH, LAPLACE("relevance", "1", "1"), NULL, NONE},
    {THOROUGH, POLY("relevance", "1", "2"), NULL, NONE},
    {THOROUGH, BIASED("linear", "2", "3"), NULL, NONE},
    {THOROUGH, BIASED("linear", "1", "0"), NULL, NONE},
};

/* What the table and the user leave to choose from. */
typedef struct scope {
    const karma_names *fixed;
    const karma_fit_options *options;
    int has_numbers, has_holes, has_subspace;
    int is_fine; /* many values of C: for the patient, and where there are few kernels */
} scope;

static int is_fixed(const scope *s, const char *name) {
    for (size_t i = 0; i < s->fixed->count; i++)
        if (strcmp(s->fixed->items[i], name) == 0) return 1;
    return 0;
}

/* A subspace needs columns that could say something of one another; its cost grows with the cube of indicators. */
enum { MOST_SUBSPACE_FEATURES = 1000 };

static scope look_at(const karma_i_race *race, const karma_names *fixed) {
    const karma_table *table = race->table;
    scope s = {.fixed = fixed, .options = &race->like->options};
    size_t n_features = 0, n_numbers = 0;
    for (size_t j = 0; j < table->n_attributes; j++) {
        int is_number = table->attributes[j].kind == KARMA_COLUMN_NUMBER;
        n_numbers += is_number != 0;
        n_features += is_number ? 1 : table->attributes[j].n_levels;
    }
    s.has_numbers = n_numbers > 0;
    s.has_holes = table->row_start[table->n_rows] < table->n_rows * table->n_attributes;
    s.has_subspace = n_features > 2 && n_features <= MOST_SUBSPACE_FEATURES;
    return s;
}

/* --- texts --------------------------------------------------------------------------------------------- */

static void add_setting(char *text, size_t size, const char *name, const char *value, const scope *s) {
    size_t used = strlen(text);
    if (!value || is_fixed(s, name)) return;
    (void)snprintf(text + used, size - used, "%s%s=%s", text[used - 1] == '(' ? "" : ",", name, value);
}

static void add_factor(char *text, size_t size, const factor_plan *f, const scope *s) {
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s(", f->kind);
    add_setting(text, size, "gamma", f->gamma, s);
    add_setting(text, size, "outer", f->outer, s);
    add_setting(text, size, "width", f->width, s);
    add_setting(text, size, "degree", f->degree, s);
    add_setting(text, size, "scale", f->scale, s);
    add_setting(text, size, "bias", f->bias, s);
    used = strlen(text);
    if (text[used - 1] == '(')
        text[used - 1] = '\0';
    else
        (void)snprintf(text + used, size - used, ")");
}

static void write_plan(char *text, size_t size, const plan *p, const scope *s) {
    text[0] = '\0';
    add_factor(text, size, &p->first, s);
    if (!p->second.kind) return;
    size_t used = strlen(text);
    char mu[32];
    int is_union = strcmp(p->second.kind, "subspace") == 0 && !p->second.outer;
    (void)snprintf(mu, sizeof mu, "%g", s->options->mu);
    (void)snprintf(text + used, size - used, " + %s*", is_union && is_fixed(s, "mu") ? mu : p->weight);
    add_factor(text, size, &p->second, s);
}

/* --- which of them ------------------------------------------------------------------------------------- */

static int is_of(const factor_plan *f, const char *kind) {
    return f->kind && strcmp(f->kind, kind) == 0;
}

static int uses_kind(const plan *p, const char *kind) {
    return is_of(&p->first, kind) || is_of(&p->second, kind);
}

/* F_0 ∪ F_γ: weighted sums of both kernels and, unless the user keeps the weight, each alone, which are their limits.
 */
static int fits_union(const plan *p, const scope *s) {
    if (p->first.outer || p->second.outer) return 0;
    if (p->second.kind) return is_of(&p->first, "linear") && is_of(&p->second, "subspace");
    return !is_fixed(s, "mu") && (is_of(&p->first, "linear") || is_of(&p->first, "subspace"));
}

/* Whether a plan is of the kernel that the user keeps. */
static int fits_kernel(const plan *p, const char *kernel, const scope *s) {
    if (strcmp(kernel, "union") == 0) return fits_union(p, s);
    return !p->second.kind && is_of(&p->first, kernel);
}

static int is_word(const char *kernel) {
    static const char *const words[] = {"linear", "rank", "subspace", "union", "relevance"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(kernel, words[i]) == 0) return 1;
    return 0;
}

static int is_worth_it(const plan *p, const scope *s) {
    const char *gamma = p->first.gamma;
    if (!s->has_numbers && uses_kind(p, "rank") && !is_fixed(s, "kernel")) return 0;
    if (!s->has_holes && gamma && strcmp(gamma, "1") != 0) return 0;
    if (!s->has_subspace && (uses_kind(p, "subspace") || uses_kind(p, "relevance"))) return 0;
    if (is_fixed(s, "outer") && (p->first.outer || p->second.outer)) {
        /* the map is the user's: a plan of another map is that of a plan without one */
        karma_outer own = (karma_outer)s->options->outer;
        int has_width = own == KARMA_OUTER_RBF || own == KARMA_OUTER_LAPLACE;
        if (!(has_width && p->first.width) && !(own == KARMA_OUTER_POLY && p->first.degree)) return 0;
    }
    return 1;
}

/* What an effort affords with these rows. */
static tier largest_tier(karma_effort effort, size_t n_rows) {
    if (effort == KARMA_EFFORT_QUICK) return QUICK;
    if (effort == KARMA_EFFORT_THOROUGH) return THOROUGH;
    return n_rows <= MOST_FEW_ROWS ? FEW_ROWS : NORMAL;
}

static int stands_already(const karma_i_race *race, const char *kernel) {
    for (size_t e = 0; e < race->n_entries; e++)
        if (strcmp(race->entries[e].kernel, kernel) == 0) return 1;
    return 0;
}

/* Multiples of the default C. Many kernels need few of them: on the sets of docs/search.md a committee of 13 kernels at
 * three values was nearly as good as one of 30 at five. */
static karma_status add_kernel(karma_i_race *race, const char *kernel, int is_mapped, const scope *s,
                               karma_error *err) {
    static const karma_i_C_path linear[] = {{3, {0.1, 1, 10}, {0}}, {5, {0.01, 0.1, 1, 10, 100}, {0}}};
    static const karma_i_C_path mapped[] = {{3, {1, 10, 100}, {0}}, {5, {0.1, 1, 10, 100, 1000}, {0}}};
    static const karma_i_C_path given = {1, {1}, {0}};
    if (stands_already(race, kernel)) return KARMA_OK;
    const karma_i_C_path *path = is_mapped ? &mapped[s->is_fine] : &linear[s->is_fine];
    return karma_i_race_add(race, kernel, is_fixed(s, "C") ? &given : path, err);
}

karma_status karma_i_candidates_add(karma_i_race *race, karma_effort effort, const karma_names *fixed,
                                    karma_error *err) {
    scope s = look_at(race, fixed);
    const char *kernel = race->like->options.kernel ? race->like->options.kernel : "linear";
    int keeps_kernel = is_fixed(&s, "kernel") || race->table->gram;
    tier most =
        keeps_kernel ? THOROUGH : largest_tier(effort, race->table->n_rows); /* who asks for one gets all of it */
    s.is_fine = most >= FEW_ROWS;
    if (keeps_kernel && strchr(kernel, '|'))
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "a committee is chosen, not searched: leave --kernel or --effort out");
    if (keeps_kernel && !is_word(kernel))
        return add_kernel(race, kernel, race->like->options.outer != KARMA_OUTER_IDENTITY, &s, err);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        const plan *p = &plans[i];
        char text[256];
        if (p->tier > most || !is_worth_it(p, &s)) continue;
        if (keeps_kernel && !fits_kernel(p, kernel, &s)) continue;
        write_plan(text, sizeof text, p, &s);
        KARMA_TRY(add_kernel(race, text, p->first.outer != NULL || p->second.outer != NULL, &s, err));
    }
    if (race->n_entries == 0) /* what is kept leaves nothing to choose but C */
        return add_kernel(race, kernel, race->like->options.outer != KARMA_OUTER_IDENTITY, &s, err);
    return KARMA_OK;
}

int karma_i_candidate_uses(const char *kernel) {
    int uses = 0;
    for (const char *at = kernel; (at = strstr(at, "gamma=")); at++)
        if (strncmp(at, "gamma=1,", 8) != 0 && strncmp(at, "gamma=1)", 8) != 0) uses |= KARMA_I_USES_GAMMA;
    if (strstr(kernel, "rank") || strstr(kernel, "relevance")) uses |= KARMA_I_USES_RANK;
    if (strstr(kernel, "subspace") || strstr(kernel, "union")) uses |= KARMA_I_USES_SUBSPACE;
    if (strstr(kernel, "outer=")) uses |= KARMA_I_USES_MAP;
    return uses;
}
