/* From text to plans. The grammar is in plan.h. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "kernel/plan.h"

/* A value can be a series of 256 coefficients. */
enum { LONGEST_TEXT = 16384, LONGEST_WORD = 128, LONGEST_VALUE = 8192 };

/* --- kernels ------------------------------------------------------------------------------------------- */

typedef struct parser {
    const char *text, *at;
    const karma_fit_options *options;
    karma_i_plan_kernel *kernel;
    karma_error *err;
} parser;

static karma_status wrong(const parser *p, const char *what) {
    return karma_i_fail(p->err, KARMA_ERR_OPTION,
                        "option 'kernel': %s at '%.20s' in '%.200s'; an example: rank + 0.5*linear(gamma=1)", what,
                        *p->at ? p->at : "the end", p->text);
}

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void skip_blanks(parser *p) {
    while (is_blank(*p->at)) p->at++;
}

static int take(parser *p, char wanted) {
    skip_blanks(p);
    if (*p->at != wanted) return 0;
    p->at++;
    return 1;
}

/* The text up to one of `ends`, without blanks around it. */
static karma_status take_word(parser *p, char *word, size_t size, const char *ends) {
    skip_blanks(p);
    size_t length = strcspn(p->at, ends);
    const char *next = p->at + length;
    while (length > 0 && is_blank(p->at[length - 1])) length--;
    if (length == 0) return wrong(p, "a word is missing");
    if (length >= size) return wrong(p, "a word is too long");
    memcpy(word, p->at, length);
    word[length] = '\0';
    p->at = next;
    return KARMA_OK;
}

static karma_status fail_kind(const char *word, karma_error *err) {
    if (strcmp(word, "union") == 0)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "option 'kernel': 'union' cannot be part of a formula; write linear + 1*subspace(bias=0)");
    const char *names[KARMA_N_KERNELS];
    char known[200] = "";
    size_t n_names = 0;
    for (int kind = 0; kind < KARMA_N_KERNELS; kind++) {
        size_t used = strlen(known);
        const char *name = karma_i_kind_of((karma_kernel_kind)kind)->name;
        if (karma_i_kind_named(name) != (karma_kernel_kind)kind) continue;
        (void)snprintf(known + used, sizeof known - used, "%s%s", kind ? ", " : "", name);
        names[n_names++] = name;
    }
    const char *nearest = karma_nearest_word(word, names, n_names);
    if (nearest)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': '%s' is unknown; did you mean '%s'?", word,
                            nearest);
    return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': '%s' is unknown; there are %s", word, known);
}

/* 0 if no setting has this name. */
static unsigned setting_named(const char *name) {
    for (size_t i = 0; i < KARMA_I_N_SETTINGS; i++)
        if (strcmp(name, karma_i_setting_names[i].name) == 0) return karma_i_setting_names[i].setting;
    return 0;
}

static karma_status read_settings(parser *p, karma_fit_options *settings, unsigned *own) {
    do {
        char name[LONGEST_WORD], value[LONGEST_VALUE];
        KARMA_TRY(take_word(p, name, sizeof name, "=,)"));
        if (!take(p, '=')) return wrong(p, "a setting has no value");
        unsigned setting = setting_named(name);
        KARMA_TRY(take_word(p, value, setting == KARMA_I_SETTING_SERIES ? LONGEST_VALUE : LONGEST_WORD, ",)"));
        if (!setting)
            return karma_i_fail(p->err, KARMA_ERR_OPTION,
                                "option 'kernel': '%s' is not a setting of a factor in '%.200s'", name, p->text);
        KARMA_TRY(karma_option_set(karma_option_find(karma_fit_option_table(), name), settings, value, p->err));
        *own |= setting;
    } while (take(p, ','));
    return take(p, ')') ? KARMA_OK : wrong(p, "')' is missing");
}

static karma_status read_factor(parser *p) {
    char name[LONGEST_WORD];
    KARMA_TRY(take_word(p, name, sizeof name, "(*+"));
    karma_kernel_kind kind = karma_i_kind_named(name);
    if (kind == KARMA_N_KERNELS) return fail_kind(name, p->err);
    karma_fit_options settings;
    unsigned own = 0;
    KARMA_TRY(karma_options_copy(karma_fit_option_table(), &settings, p->options, p->err));
    karma_status st = take(p, '(') ? read_settings(p, &settings, &own) : KARMA_OK;
    if (st == KARMA_OK && own & ~karma_i_kind_of(kind)->settings & KARMA_I_SETTING_SPACE)
        st = karma_i_fail(p->err, KARMA_ERR_OPTION, "option 'kernel': only subspace has a space, %s has none", name);
    if (st == KARMA_OK) st = karma_i_plan_kernel_add_factor(p->kernel, kind, &settings, own, p->err);
    karma_options_clear(karma_fit_option_table(), &settings);
    return st;
}

static karma_status read_product(parser *p) {
    double weight = 1.0;
    size_t length = strspn(p->at, "0123456789.eE+-");
    while (length > 0 && !karma_i_number_parse(&weight, p->at, length)) length--;
    if (length > 0) {
        if (!(weight >= 0.0 && weight <= 1e12)) return wrong(p, "a weight is negative or too large");
        p->at += length;
        if (!take(p, '*')) return wrong(p, "'*' is missing");
    }
    KARMA_TRY(karma_i_plan_kernel_add_term(p->kernel, weight, p->err));
    do KARMA_TRY(read_factor(p));
    while (take(p, '*'));
    return KARMA_OK;
}

static karma_status read_sum(parser *p) {
    do {
        skip_blanks(p);
        KARMA_TRY(read_product(p));
    } while (take(p, '+'));
    return *p->at ? wrong(p, "unexpected text") : KARMA_OK;
}

/* F_γ and F₀ together: the guarantees of both hold. */
static karma_status make_union(karma_i_plan_kernel *kernel, const karma_fit_options *options, karma_error *err) {
    karma_fit_options without_bias = *options; /* borrows its texts */
    without_bias.bias = 0.0;
    kernel->is_union = 1;
    KARMA_TRY(karma_i_plan_kernel_add_term(kernel, 1.0, err));
    KARMA_TRY(karma_i_plan_kernel_add_factor(kernel, KARMA_KERNEL_LINEAR, options, 0, err));
    KARMA_TRY(karma_i_plan_kernel_add_term(kernel, options->mu, err));
    return karma_i_plan_kernel_add_factor(kernel, KARMA_KERNEL_SUBSPACE, &without_bias, KARMA_I_SETTING_BIAS, err);
}

static karma_status read_kernel(karma_i_plan_kernel *kernel, const char *text, const karma_fit_options *options,
                                karma_error *err) {
    if (strcmp(text, "union") == 0) return make_union(kernel, options, err);
    parser p = {text, text, options, kernel, err};
    return read_sum(&p);
}

/* --- machines ------------------------------------------------------------------------------------------ */

static char *trim(char *text) {
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) text[--length] = '\0';
    return text;
}

/* A number between blanks. */
static int read_number(double *out, const char *text, size_t length) {
    while (length > 0 && is_blank(*text)) text++, length--;
    while (length > 0 && is_blank(text[length - 1])) length--;
    return karma_i_number_parse(out, text, length);
}

static int read_positive(double *out, const char *text, size_t length) {
    return read_number(out, text, length) && *out >= 1e-12 && *out <= 1e12;
}

/* C = 0: trees with the values of boosting. */
static int read_zero(double *out, const char *text, size_t length) {
    return read_number(out, text, length) && *out == 0.0;
}

/* "10" or "10:0.5" */
static int read_machine(karma_i_C_grid *machines, const char *text, size_t length) {
    size_t colon = 0;
    if (machines->n == KARMA_I_MOST_C) return 0;
    while (colon < length && text[colon] != ':') colon++;
    double *factor = &machines->factors[machines->n], *weight = &machines->weights[machines->n];
    *weight = 1.0;
    if (!(read_positive(factor, text, colon) || (machines->n == 0 && read_zero(factor, text, colon))) ||
        (machines->n && *factor <= machines->factors[machines->n - 1]))
        return 0;
    if (colon < length && !read_positive(weight, text + colon + 1, length - colon - 1)) return 0;
    machines->n++;
    return 1;
}

/* Cuts the machines off "kernel @ machines". */
static karma_status read_machines(karma_i_C_grid *out, char *text, karma_error *err) {
    char *at = strchr(text, '@');
    *out = (karma_i_C_grid){1, {1.0}, {1.0}};
    if (!at) return KARMA_OK;
    *at++ = '\0';
    out->n = 0;
    for (const char *machine = at;; machine++) {
        size_t length = strcspn(machine, ",");
        if (!read_machine(out, machine, length))
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "option 'kernel': '%.60s' after '@' is not a list of ascending multiples of C, at most "
                                "%d, each with or without a weight; an example: rank(outer=rbf) @ 1, 10:0.5",
                                trim(at), KARMA_I_MOST_C);
        machine += length;
        if (!*machine) return KARMA_OK;
    }
}

/* --- plans --------------------------------------------------------------------------------------------- */

static int is_boosted(const karma_i_plan_kernel *kernel) {
    return kernel->n_factors == 1 && kernel->factors[0].kind == KARMA_KERNEL_BOOST &&
           kernel->factors[0].map.kind == KARMA_OUTER_IDENTITY;
}

static karma_status read_member(karma_i_plan *plan, char *text, const karma_fit_options *options, karma_error *err) {
    karma_i_plan_kernel kernel = {0};
    karma_i_C_grid machines;
    KARMA_TRY(read_machines(&machines, text, err));
    karma_status st = read_kernel(&kernel, trim(text), options, err);
    if (st == KARMA_OK && machines.factors[0] == 0.0 && !is_boosted(&kernel))
        st = karma_i_fail(err, KARMA_ERR_OPTION,
                          "option 'kernel': 0 after '@' means the boosted trees themselves, so only the kernel boost "
                          "alone can have it");
    if (st == KARMA_OK) st = karma_i_plan_add_member(plan, &kernel, &machines, err);
    karma_i_plan_kernel_clear(&kernel);
    return st;
}

karma_status karma_i_plan_parse(karma_i_plan *out, const char *text, const karma_fit_options *options,
                                karma_error *err) {
    if (!text) text = karma_option_find(karma_fit_option_table(), "kernel")->initial_text;
    if (strlen(text) >= LONGEST_TEXT)
        return karma_i_fail(err, KARMA_ERR_OPTION, "option 'kernel': the formula is too long");
    char *copy = karma_i_strdup(text);
    karma_i_plan plan = {0};
    karma_status st = copy ? KARMA_OK : karma_i_fail_memory(err);
    for (char *at = copy, *next; st == KARMA_OK && at; at = next) {
        next = strchr(at, '|');
        if (next) *next++ = '\0';
        st = read_member(&plan, at, options, err);
    }
    karma_i_free(copy);
    if (st == KARMA_OK)
        *out = plan;
    else
        karma_i_plan_clear(&plan);
    return st;
}
