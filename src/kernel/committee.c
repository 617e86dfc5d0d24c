#include "kernel/committee.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

enum { LONGEST_TEXT = 16384 };

void karma_i_committee_clear(karma_i_committee *committee) {
    for (size_t m = 0; committee->formulas && m < committee->n; m++) karma_i_formula_clear(&committee->formulas[m]);
    karma_i_free(committee->formulas);
    karma_i_free(committee->paths);
    *committee = (karma_i_committee){0};
}

static char *trim(char *text) {
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) text[--length] = '\0';
    return text;
}

/* A number between blanks. */
static int is_positive(double *out, const char *text, size_t length) {
    while (length > 0 && (*text == ' ' || *text == '\t')) text++, length--;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    return karma_i_number_parse(out, text, length) && *out >= 1e-12 && *out <= 1e12;
}

/* "10" or "10:0.5" */
static int take_machine(karma_i_C_path *path, const char *text, size_t length) {
    size_t colon = 0;
    if (path->n == KARMA_I_MOST_C) return 0;
    while (colon < length && text[colon] != ':') colon++;
    double *factor = &path->factors[path->n], *weight = &path->weights[path->n];
    *weight = 1.0;
    if (!is_positive(factor, text, colon) || (path->n && *factor <= path->factors[path->n - 1])) return 0;
    if (colon < length && !is_positive(weight, text + colon + 1, length - colon - 1)) return 0;
    path->n++;
    return 1;
}

/* "formula @ machines": they are cut off. */
static karma_status take_path(karma_i_C_path *out, char *text, karma_error *err) {
    char *at = strchr(text, '@');
    *out = (karma_i_C_path){1, {1.0}, {1.0}};
    if (!at) return KARMA_OK;
    *at++ = '\0';
    out->n = 0;
    for (const char *machine = at;; machine++) {
        size_t length = strcspn(machine, ",");
        if (!take_machine(out, machine, length))
            return karma_i_fail(
                err, KARMA_ERR_OPTION,
                "--kernel: '%.60s' after '@' are not ascending multiples of C, at most %d, each alone or "
                "with a weight; an example: rank(outer=rbf) @ 1, 10:0.5",
                trim(at), KARMA_I_MOST_C);
        machine += length;
        if (!*machine) return KARMA_OK;
    }
}

static karma_status add_member(karma_i_committee *c, char *text, const karma_fit_options *options, karma_error *err) {
    if (c->n == KARMA_I_MOST_MEMBERS)
        return karma_i_fail(err, KARMA_ERR_OPTION, "--kernel: more than %d members", KARMA_I_MOST_MEMBERS);
    KARMA_TRY(take_path(&c->paths[c->n], text, err));
    KARMA_TRY(karma_i_formula_parse(&c->formulas[c->n], trim(text), options, err));
    karma_i_formula_number(&c->formulas[c->n++], c->kinds, &c->n_kinds);
    return KARMA_OK;
}

static void make_weights_sum_to_one(karma_i_committee *c) {
    double sum = 0.0;
    for (size_t m = 0; m < c->n; m++)
        for (size_t i = 0; i < c->paths[m].n; i++) sum += c->paths[m].weights[i];
    for (size_t m = 0; m < c->n; m++)
        for (size_t i = 0; i < c->paths[m].n; i++) c->paths[m].weights[i] /= sum;
}

karma_status karma_i_committee_parse(karma_i_committee *out, const karma_fit_options *options, karma_error *err) {
    karma_i_committee c = {.formulas = karma_i_zalloc(KARMA_I_MOST_MEMBERS, sizeof *c.formulas),
                           .paths = karma_i_zalloc(KARMA_I_MOST_MEMBERS, sizeof *c.paths)};
    char *text = karma_i_alloc(LONGEST_TEXT, 1);
    karma_status st = c.formulas && c.paths && text ? KARMA_OK : karma_i_fail_memory(err);
    if (st == KARMA_OK && karma_option_text(karma_option_find(karma_fit_option_table(), "kernel"), options, text,
                                            LONGEST_TEXT) >= LONGEST_TEXT)
        st = karma_i_fail(err, KARMA_ERR_OPTION, "--kernel: the formula is too long");
    for (char *at = text, *next; st == KARMA_OK && at; at = next) {
        next = strchr(at, '|');
        if (next) *next++ = '\0';
        st = add_member(&c, at, options, err);
    }
    for (size_t e = 0; st == KARMA_OK && e < c.n_kinds; e++)
        if (c.kinds[e] == KARMA_KERNEL_PRECOMPUTED && c.n_kinds > 1)
            st = karma_i_fail(err, KARMA_ERR_OPTION, "--kernel: a precomputed kernel stands alone");
    make_weights_sum_to_one(&c);
    karma_i_free(text);
    if (st == KARMA_OK)
        *out = c;
    else
        karma_i_committee_clear(&c);
    return st;
}
