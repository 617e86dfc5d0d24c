#include "kernel/plan.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

enum { MOST_POWERS = 256 };

const karma_i_setting_name karma_i_setting_names[KARMA_I_N_SETTINGS] = {
    {KARMA_I_SETTING_GAMMA, "gamma"},   {KARMA_I_SETTING_OUTER, "outer"},   {KARMA_I_SETTING_WIDTH, "width"},
    {KARMA_I_SETTING_DEGREE, "degree"}, {KARMA_I_SETTING_OFFSET, "offset"}, {KARMA_I_SETTING_SERIES, "series"},
    {KARMA_I_SETTING_SCALE, "scale"},   {KARMA_I_SETTING_BIAS, "bias"},     {KARMA_I_SETTING_SPACE, "space"},
};

/* --- kernels ------------------------------------------------------------------------------------------- */

void karma_i_plan_kernel_clear(karma_i_plan_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++) karma_i_free(kernel->factors[f].map.coefficients);
    karma_i_free(kernel->terms);
    karma_i_free(kernel->factors);
    *kernel = (karma_i_plan_kernel){0};
}

static karma_status make_room(karma_i_plan_kernel *kernel, karma_error *err) {
    if (!kernel->terms) kernel->terms = karma_i_zalloc(KARMA_I_MOST_FACTORS, sizeof *kernel->terms);
    if (!kernel->factors) kernel->factors = karma_i_zalloc(KARMA_I_MOST_FACTORS, sizeof *kernel->factors);
    return kernel->terms && kernel->factors ? KARMA_OK : karma_i_fail_memory(err);
}

static karma_status fail_too_many(karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': there are too many factors, more than %d",
                        KARMA_I_MOST_FACTORS);
}

karma_status karma_i_plan_kernel_add_term(karma_i_plan_kernel *kernel, double weight, karma_error *err) {
    KARMA_TRY(make_room(kernel, err));
    if (kernel->n_terms == KARMA_I_MOST_FACTORS) return fail_too_many(err);
    kernel->terms[kernel->n_terms++] = (karma_i_term){weight, kernel->n_factors, 0};
    return KARMA_OK;
}

/* "1:0.5:0.25" or with commas: coefficients of a power series, not negative and not all 0. */
static karma_status read_series(karma_i_map *map, const char *text, karma_error *err) {
    double values[MOST_POWERS];
    size_t n = 0;
    int some = 0;
    for (const char *at = text ? text : ""; *at;) {
        size_t length = strcspn(at, ",: ");
        if (n == MOST_POWERS || !karma_i_number_parse(&values[n], at, length) ||
            !(values[n] >= 0.0 && values[n] < 1e30))
            return karma_i_fail(
                err, KARMA_ERR_OPTION,
                "option 'series' takes at most %d coefficients a_0,a_1,..., none negative; it cannot be '%.200s'",
                MOST_POWERS, text);
        some |= values[n++] > 0.0;
        at += length + (at[length] != '\0');
    }
    if (!some)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "the outer map series needs option 'series', a_0,a_1,..., with a positive number");
    map->coefficients = karma_i_alloc(n, sizeof *map->coefficients);
    if (!map->coefficients) return karma_i_fail_memory(err);
    memcpy(map->coefficients, values, n * sizeof *values);
    map->degree = n - 1;
    return KARMA_OK;
}

/* Settings that a kind ignores get their neutral value. */
static karma_status fill_factor(karma_i_plan_factor *factor, karma_kernel_kind kind, const karma_fit_options *o,
                                unsigned own, karma_error *err) {
    kind = karma_i_kind_with(kind, o->space == KARMA_SPACE_RANKS);
    const karma_i_kind *record = karma_i_kind_of(kind);
    unsigned takes = record->settings;
    *factor = (karma_i_plan_factor){.kind = kind,
                                    .own = own & takes,
                                    .gamma = takes & KARMA_I_SETTING_GAMMA ? (size_t)o->gamma : 1,
                                    .scale = takes & KARMA_I_SETTING_SCALE ? o->scale : 1.0,
                                    .bias = takes & KARMA_I_SETTING_BIAS ? o->bias : 0.0,
                                    .map = {.kind = (karma_outer)o->outer,
                                            .spread = 1.0,
                                            .offset = o->offset,
                                            .width = o->width,
                                            .degree = (size_t)o->degree}};
    factor->own &= ~(unsigned)(o->outer == KARMA_OUTER_SERIES ? KARMA_I_SETTING_DEGREE : KARMA_I_SETTING_SERIES);
    if (o->outer != KARMA_OUTER_IDENTITY && !(takes & KARMA_I_SETTING_OUTER))
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': %s takes no outer map", record->name);
    return o->outer == KARMA_OUTER_SERIES ? read_series(&factor->map, o->series, err) : KARMA_OK;
}

karma_status karma_i_plan_kernel_add_factor(karma_i_plan_kernel *kernel, karma_kernel_kind kind,
                                            const karma_fit_options *settings, unsigned own, karma_error *err) {
    if (kernel->n_factors == KARMA_I_MOST_FACTORS) return fail_too_many(err);
    KARMA_TRY(fill_factor(&kernel->factors[kernel->n_factors], kind, settings, own, err));
    kernel->n_factors++;
    kernel->terms[kernel->n_terms - 1].n_factors++;
    return KARMA_OK;
}

karma_status karma_i_plan_kernel_copy(karma_i_plan_kernel *out, const karma_i_plan_kernel *kernel, karma_error *err) {
    KARMA_TRY(make_room(out, err));
    memcpy(out->terms, kernel->terms, kernel->n_terms * sizeof *kernel->terms);
    out->n_terms = kernel->n_terms;
    out->is_union = kernel->is_union;
    for (size_t f = 0; f < kernel->n_factors; f++) {
        const karma_i_map *map = &kernel->factors[f].map;
        karma_i_plan_factor *copy = &out->factors[out->n_factors++];
        *copy = kernel->factors[f];
        if (!map->coefficients) continue;
        copy->map.coefficients = karma_i_alloc(map->degree + 1, sizeof *map->coefficients);
        if (!copy->map.coefficients) return karma_i_fail_memory(err);
        memcpy(copy->map.coefficients, map->coefficients, (map->degree + 1) * sizeof *map->coefficients);
    }
    return KARMA_OK;
}

void karma_i_plan_kernel_number(karma_i_plan_kernel *kernel, karma_kernel_kind *kinds, size_t *n_kinds) {
    for (size_t f = 0; f < kernel->n_factors; f++) {
        size_t e = 0;
        while (e < *n_kinds && kinds[e] != kernel->factors[f].kind) e++;
        if (e == *n_kinds) kinds[(*n_kinds)++] = kernel->factors[f].kind;
        kernel->factors[f].encoding = e;
    }
}

/* --- plans --------------------------------------------------------------------------------------------- */

void karma_i_plan_clear(karma_i_plan *plan) {
    for (size_t m = 0; m < plan->n_members; m++) karma_i_plan_kernel_clear(&plan->members[m].kernel);
    karma_i_free(plan->members);
    *plan = (karma_i_plan){0};
}

karma_status karma_i_plan_add_member(karma_i_plan *plan, const karma_i_plan_kernel *kernel,
                                     const karma_i_C_grid *machines, karma_error *err) {
    if (!plan->members) plan->members = karma_i_zalloc(KARMA_I_MOST_MEMBERS, sizeof *plan->members);
    if (!plan->members) return karma_i_fail_memory(err);
    if (plan->n_members == KARMA_I_MOST_MEMBERS)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': more than %d members", KARMA_I_MOST_MEMBERS);
    karma_i_plan_member *member = &plan->members[plan->n_members++];
    member->machines = *machines;
    KARMA_TRY(karma_i_plan_kernel_copy(&member->kernel, kernel, err));
    karma_i_plan_kernel_number(&member->kernel, plan->kinds, &plan->n_kinds);
    for (size_t k = 0; k < plan->n_kinds; k++) {
        const karma_i_kind *kind = karma_i_kind_of(plan->kinds[k]);
        if (kind->stands_alone && (plan->n_kinds > 1 || member->kernel.n_factors > 1))
            return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': a %s kernel cannot be combined with others",
                                kind->name);
    }
    return KARMA_OK;
}

karma_status karma_i_plan_copy(karma_i_plan *out, const karma_i_plan *plan, karma_error *err) {
    for (size_t m = 0; m < plan->n_members; m++)
        KARMA_TRY(karma_i_plan_add_member(out, &plan->members[m].kernel, &plan->members[m].machines, err));
    return KARMA_OK;
}

void karma_i_plan_multiply_C(karma_i_plan *plan, double factor) {
    for (size_t m = 0; m < plan->n_members; m++)
        for (size_t c = 0; c < plan->members[m].machines.n; c++) plan->members[m].machines.factors[c] *= factor;
}

size_t karma_i_plan_n_machines(const karma_i_plan *plan) {
    size_t n = 0;
    for (size_t m = 0; m < plan->n_members; m++) n += plan->members[m].machines.n;
    return n;
}

double karma_i_plan_total_weight(const karma_i_plan *plan) {
    double sum = 0.0;
    for (size_t m = 0; m < plan->n_members; m++)
        for (size_t c = 0; c < plan->members[m].machines.n; c++) sum += plan->members[m].machines.weights[c];
    return sum;
}

/* --- queries ----------------------------------------------------------------------------------------- */

static int are_equal_maps(const karma_i_map *a, const karma_i_map *b) {
    if (a->kind != b->kind || a->offset != b->offset || a->width != b->width || a->degree != b->degree) return 0;
    for (size_t p = 0; a->coefficients && p <= a->degree; p++)
        if (a->coefficients[p] != b->coefficients[p]) return 0;
    return 1;
}

static int are_equal_factors(const karma_i_plan_factor *a, const karma_i_plan_factor *b) {
    return a->kind == b->kind && a->own == b->own && a->gamma == b->gamma && a->scale == b->scale &&
           a->bias == b->bias && are_equal_maps(&a->map, &b->map);
}

int karma_i_plan_kernel_equal(const karma_i_plan_kernel *a, const karma_i_plan_kernel *b) {
    if (a->n_terms != b->n_terms || a->n_factors != b->n_factors || a->is_union != b->is_union) return 0;
    for (size_t t = 0; t < a->n_terms; t++)
        if (a->terms[t].weight != b->terms[t].weight || a->terms[t].n_factors != b->terms[t].n_factors) return 0;
    for (size_t f = 0; f < a->n_factors; f++)
        if (!are_equal_factors(&a->factors[f], &b->factors[f])) return 0;
    return 1;
}

static int are_equal_grids(const karma_i_C_grid *a, const karma_i_C_grid *b) {
    if (a->n != b->n) return 0;
    for (size_t c = 0; c < a->n; c++)
        if (a->factors[c] != b->factors[c] || a->weights[c] != b->weights[c]) return 0;
    return 1;
}

int karma_i_plan_equal(const karma_i_plan *a, const karma_i_plan *b) {
    if (a->n_members != b->n_members) return 0;
    for (size_t m = 0; m < a->n_members; m++)
        if (!are_equal_grids(&a->members[m].machines, &b->members[m].machines) ||
            !karma_i_plan_kernel_equal(&a->members[m].kernel, &b->members[m].kernel))
            return 0;
    return 1;
}

int karma_i_plan_kernel_has_kind(const karma_i_plan_kernel *kernel, karma_kernel_kind kind) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (kernel->factors[f].kind == kind) return 1;
    return 0;
}

int karma_i_plan_kernel_has_subspace(const karma_i_plan_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (karma_i_kind_of(kernel->factors[f].kind)->is_subspace) return 1;
    return 0;
}

int karma_i_plan_kernel_is_ranked(const karma_i_plan_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (karma_i_kind_of(kernel->factors[f].kind)->is_ranked) return 1;
    return 0;
}

int karma_i_plan_kernel_has_trees(const karma_i_plan_kernel *kernel) {
    return karma_i_plan_kernel_has_kind(kernel, KARMA_KERNEL_BOOST) ||
           karma_i_plan_kernel_has_kind(kernel, KARMA_KERNEL_FOREST);
}

int karma_i_plan_kernel_is_slow(const karma_i_plan_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (karma_i_kind_of(kernel->factors[f].kind)->is_slow) return 1;
    return 0;
}

int karma_i_plan_kernel_sets_gamma(const karma_i_plan_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (kernel->factors[f].own & KARMA_I_SETTING_GAMMA && kernel->factors[f].gamma > 1) return 1;
    return 0;
}

int karma_i_plan_kernel_sets_outer(const karma_i_plan_kernel *kernel) {
    for (size_t f = 0; f < kernel->n_factors; f++)
        if (kernel->factors[f].own & KARMA_I_SETTING_OUTER && kernel->factors[f].map.kind != KARMA_OUTER_IDENTITY)
            return 1;
    return 0;
}

int karma_i_plan_kernel_is_word(const karma_i_plan_kernel *kernel) {
    return kernel->n_factors == 1 && kernel->terms[0].weight == 1.0 && kernel->factors[0].own == 0;
}

int karma_i_plan_kernel_is_zero_imputation(const karma_i_plan_kernel *kernel) {
    const karma_i_plan_factor *factor = &kernel->factors[0];
    return kernel->n_factors == 1 && kernel->terms[0].weight == 1.0 && factor->kind == KARMA_KERNEL_LINEAR &&
           factor->gamma == 1 && factor->map.kind == KARMA_OUTER_IDENTITY && !(factor->own & KARMA_I_SETTING_BIAS);
}

int karma_i_plan_is_precomputed(const karma_i_plan *plan) {
    return plan->n_kinds == 1 && plan->kinds[0] == KARMA_KERNEL_PRECOMPUTED;
}
