#include "kernel/formula.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

enum { MOST_FACTORS = 32, LONGEST_WORD = 128, MOST_POWERS = 256 };

const char *karma_i_kernel_kind_name(karma_kernel_kind kind) {
    switch (kind) {
#define WORD(constant, word)                                                                                           \
    case constant:                                                                                                     \
        return word;
        KARMA_KERNEL_LIST(WORD)
#undef WORD
    case KARMA_N_KERNELS:
        break;
    }
    return "unknown";
}

void karma_i_formula_clear(karma_i_formula *formula) {
    for (size_t f = 0; formula->factors && f < formula->n_factors; f++)
        karma_i_free(formula->factors[f].map.coefficients);
    karma_i_free(formula->terms);
    karma_i_free(formula->factors);
    *formula = (karma_i_formula){0};
}

/* --- reading the text ---------------------------------------------------------------------------------- */

typedef struct parser {
    const char *text, *at;
    const karma_fit_options *options;
    karma_i_formula *formula;
    karma_error *err;
} parser;

static karma_status wrong(const parser *p, const char *what) {
    return karma_i_fail(p->err, KARMA_ERR_OPTION,
                        "--kernel '%.200s': %s at '%.20s'; an example: rank + 0.5*linear(gamma=1)", p->text, what,
                        *p->at ? p->at : "the end");
}

static void skip_spaces(parser *p) {
    while (*p->at == ' ' || *p->at == '\t') p->at++;
}

static int take(parser *p, char wanted) {
    skip_spaces(p);
    if (*p->at != wanted) return 0;
    p->at++;
    return 1;
}

/* The text up to one of `ends`, without spaces around it. */
static karma_status take_word(parser *p, char word[LONGEST_WORD], const char *ends) {
    skip_spaces(p);
    size_t length = strcspn(p->at, ends);
    const char *next = p->at + length;
    while (length > 0 && (p->at[length - 1] == ' ' || p->at[length - 1] == '\t')) length--;
    if (length == 0) return wrong(p, "a word is missing");
    if (length >= LONGEST_WORD) return wrong(p, "a word is too long");
    memcpy(word, p->at, length);
    word[length] = '\0';
    p->at = next;
    return KARMA_OK;
}

static int kind_named(const char *word) {
    for (int kind = 0; kind < KARMA_N_KERNELS; kind++)
        if (strcmp(word, karma_i_kernel_kind_name((karma_kernel_kind)kind)) == 0) return kind;
    return KARMA_N_KERNELS;
}

static karma_status fail_kind(const char *word, karma_error *err) {
    if (strcmp(word, "union") == 0)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "--kernel: 'union' stands alone; in a formula it is linear + 1*subspace(bias=0)");
    const char *names[KARMA_N_KERNELS];
    for (int kind = 0; kind < KARMA_N_KERNELS; kind++) names[kind] = karma_i_kernel_kind_name((karma_kernel_kind)kind);
    const char *nearest = karma_nearest_word(word, names, KARMA_N_KERNELS);
    char known[200] = "";
    for (int kind = 0; kind < KARMA_N_KERNELS; kind++) {
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", kind ? ", " : "", names[kind]);
    }
    if (nearest)
        return karma_i_fail(err, KARMA_ERR_OPTION, "--kernel: '%s' is unknown; did you mean '%s'?", word, nearest);
    return karma_i_fail(err, KARMA_ERR_OPTION, "--kernel: '%s' is unknown; there are %s", word, known);
}

/* "1:0.5:0.25" or with commas: coefficients of a power series, none of them negative, not all 0. */
static karma_status read_series(karma_i_map *map, const char *text, karma_error *err) {
    double values[MOST_POWERS];
    size_t n = 0;
    int some = 0;
    for (const char *at = text ? text : ""; *at;) {
        size_t length = strcspn(at, ",: ");
        if (n == MOST_POWERS || !karma_i_number_parse(&values[n], at, length) ||
            !(values[n] >= 0.0 && values[n] < 1e30))
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "--series '%.200s': at most %d coefficients a_0,a_1,..., none of them negative", text,
                                MOST_POWERS);
        some |= values[n++] > 0.0;
        at += length + (at[length] != '\0');
    }
    if (!some)
        return karma_i_fail(err, KARMA_ERR_OPTION, "--outer series needs --series a_0,a_1,... with a positive number");
    map->coefficients = karma_i_alloc(n, sizeof *map->coefficients);
    if (!map->coefficients) return karma_i_fail_memory(err);
    memcpy(map->coefficients, values, n * sizeof *values);
    map->degree = n - 1;
    return KARMA_OK;
}

static karma_status plan_factor(karma_i_factor_plan *plan, karma_kernel_kind kind, const karma_fit_options *o,
                                karma_error *err) {
    *plan = (karma_i_factor_plan){kind, 0, (size_t)o->gamma, o->scale, o->bias, {.kind = (karma_outer)o->outer}};
    plan->map.spread = 1.0;
    plan->map.offset = o->offset;
    plan->map.width = o->width;
    plan->map.degree = (size_t)o->degree;
    if (kind == KARMA_KERNEL_SUBSPACE) { /* completions are complete: all overlaps are the same */
        plan->gamma = 1;
        plan->scale = 1.0;
    }
    if (kind == KARMA_KERNEL_PRECOMPUTED) { /* the matrix is the kernel: what it was made of is not known here */
        plan->gamma = 1;
        plan->scale = 1.0;
        plan->bias = 0.0;
        if (o->outer != KARMA_OUTER_IDENTITY)
            return karma_i_fail(err, KARMA_ERR_OPTION, "a precomputed kernel takes no --outer map");
    }
    return o->outer == KARMA_OUTER_SERIES ? read_series(&plan->map, o->series, err) : KARMA_OK;
}

static int describes_factor(const char *name) {
    static const char *const names[] = {"gamma", "scale", "bias", "outer", "degree", "offset", "width", "series"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return 1;
    return 0;
}

static karma_status read_settings(parser *p, karma_fit_options *own) {
    do {
        char name[LONGEST_WORD], value[LONGEST_WORD];
        KARMA_TRY(take_word(p, name, "=,)"));
        if (!take(p, '=')) return wrong(p, "a setting has no value");
        KARMA_TRY(take_word(p, value, ",)"));
        if (!describes_factor(name))
            return karma_i_fail(p->err, KARMA_ERR_OPTION, "--kernel '%.200s': '%s' is not a setting of a factor",
                                p->text, name);
        KARMA_TRY(karma_option_set(karma_option_find(karma_fit_option_table(), name), own, value, p->err));
    } while (take(p, ','));
    return take(p, ')') ? KARMA_OK : wrong(p, "')' is missing");
}

static karma_status read_factor(parser *p) {
    karma_i_formula *f = p->formula;
    char name[LONGEST_WORD];
    KARMA_TRY(take_word(p, name, "(*+"));
    int kind = kind_named(name);
    if (kind == KARMA_N_KERNELS) return fail_kind(name, p->err);
    if (f->n_factors == MOST_FACTORS) return wrong(p, "there are too many factors");
    karma_fit_options own;
    KARMA_TRY(karma_options_copy(karma_fit_option_table(), &own, p->options, p->err));
    karma_status st = take(p, '(') ? read_settings(p, &own) : KARMA_OK;
    if (st == KARMA_OK) st = plan_factor(&f->factors[f->n_factors], (karma_kernel_kind)kind, &own, p->err);
    f->n_factors += st == KARMA_OK;
    karma_options_clear(karma_fit_option_table(), &own);
    return st;
}

static karma_status read_product(parser *p) {
    karma_i_term term = {1.0, p->formula->n_factors, 0};
    size_t length = strspn(p->at, "0123456789.eE+-");
    while (length > 0 && !karma_i_number_parse(&term.weight, p->at, length)) length--;
    if (length > 0) {
        if (!(term.weight >= 0.0 && term.weight <= 1e12)) return wrong(p, "a weight is negative or too large");
        p->at += length;
        if (!take(p, '*')) return wrong(p, "'*' is missing");
    }
    do {
        KARMA_TRY(read_factor(p));
        term.n_factors++;
    } while (take(p, '*'));
    p->formula->terms[p->formula->n_terms++] = term; /* there are never more terms than factors */
    return KARMA_OK;
}

static karma_status read_sum(parser *p) {
    do {
        skip_spaces(p);
        KARMA_TRY(read_product(p));
    } while (take(p, '+'));
    return *p->at ? wrong(p, "something is unexpected") : KARMA_OK;
}

/* --- what follows from it ------------------------------------------------------------------------------ */

void karma_i_formula_number(karma_i_formula *formula, karma_kernel_kind *kinds, size_t *n_kinds) {
    for (size_t f = 0; f < formula->n_factors; f++) {
        size_t e = 0;
        while (e < *n_kinds && kinds[e] != formula->factors[f].kind) e++;
        if (e == *n_kinds) kinds[(*n_kinds)++] = formula->factors[f].kind;
        formula->factors[f].encoding = e;
    }
}

karma_status karma_i_formula_parse(karma_i_formula *out, const char *text, const karma_fit_options *options,
                                   karma_error *err) {
    karma_i_formula f = {.terms = karma_i_zalloc(MOST_FACTORS, sizeof *f.terms),
                         .factors = karma_i_zalloc(MOST_FACTORS, sizeof *f.factors)};
    char meant[128];
    karma_status st = f.terms && f.factors ? KARMA_OK : karma_i_fail_memory(err);
    if (strcmp(text, "union") == 0) { /* of KARMA's class and F₀: its guarantee stays */
        (void)snprintf(meant, sizeof meant, "linear + %.17g*subspace(bias=0)", options->mu);
        text = meant;
    }
    parser p = {text, text, options, &f, err};
    if (st == KARMA_OK) st = read_sum(&p);
    if (st == KARMA_OK && f.n_factors > 1)
        for (size_t i = 0; i < f.n_factors; i++)
            if (f.factors[i].kind == KARMA_KERNEL_PRECOMPUTED)
                st = karma_i_fail(err, KARMA_ERR_OPTION, "--kernel: a precomputed kernel stands alone");
    karma_i_formula_number(&f, f.kinds, &f.n_kinds);
    if (st == KARMA_OK)
        *out = f;
    else
        karma_i_formula_clear(&f);
    return st;
}
