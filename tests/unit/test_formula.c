/* Kernel formulas: what a text becomes, and what is said about one that is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/committee.h"

static karma_fit_options options_for(const char *formula) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)(uintptr_t)formula; /* never cleared, so not owned */
    return o;
}

static karma_i_formula parse(const karma_fit_options *options) {
    karma_i_formula f;
    karma_error err;
    if (karma_i_formula_parse(&f, options->kernel ? options->kernel : "linear", options, &err) != KARMA_OK)
        fail_msg("%s", err.message);
    return f;
}

static karma_i_formula parse_text(const char *text) {
    karma_fit_options o = options_for(text);
    return parse(&o);
}

/* --- right texts --------------------------------------------------------------------------------------- */

/* Terms as "weight:kinds", kinds by their first letters. */
static void describe(char *text, size_t size, const karma_i_formula *f) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t t = 0; t < f->n_terms; t++) {
        used += (size_t)snprintf(text + used, size - used, "%s%g:", t ? " " : "", f->terms[t].weight);
        for (size_t n = 0; n < f->terms[t].n_factors; n++)
            used += (size_t)snprintf(text + used, size - used, "%c",
                                     karma_i_kernel_kind_name(f->factors[f->terms[t].first_factor + n].kind)[0]);
        assert_true(used < size);
    }
}

static void terms_and_factors_are_those_of_the_text(void **state) {
    (void)state;
    static const struct {
        const char *text, *terms;
        size_t n_factors;
    } cases[] = {
        {"linear", "1:l", 1},
        {"precomputed", "1:p", 1},
        {"rank+linear", "1:r 1:l", 2},
        {" \trank  +\tlinear ", "1:r 1:l", 2},
        {"rank*linear*rank", "1:rlr", 3},
        {"rank + 0.5*linear(gamma=1)", "1:r 0.5:l", 2},
        {"1e-3*rank*linear + 2 * rank + 0 * linear", "0.001:rl 2:r 0:l", 4},
        {"1E+2*rank+1e2*rank + .5*linear", "100:r 100:r 0.5:l", 3},
        {"linear ( gamma = 3 , bias = 0 ) * rank( outer = rbf )", "1:lr", 2},
        {"1e12*rank", "1e+12:r", 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        karma_i_formula f = parse_text(cases[c].text);
        char terms[200];
        describe(terms, sizeof terms, &f);
        assert_string_equal(terms, cases[c].terms);
        assert_int_equal(f.n_factors, cases[c].n_factors);
        size_t next = 0; /* factors stand in the order of the text */
        for (size_t t = 0; t < f.n_terms; t++) {
            assert_int_equal(f.terms[t].first_factor, next);
            next += f.terms[t].n_factors;
        }
        assert_int_equal(next, f.n_factors);
        karma_i_formula_clear(&f);
    }
}

static void every_kind_is_one_encoding(void **state) {
    (void)state;
    static const size_t wanted[] = {0, 1, 0, 1};
    karma_i_formula f = parse_text("rank * linear(gamma=1) + rank(gamma=5) + 3*linear");
    assert_int_equal(f.n_kinds, 2);
    assert_int_equal(f.kinds[0], KARMA_KERNEL_RANK);
    assert_int_equal(f.kinds[1], KARMA_KERNEL_LINEAR);
    for (size_t i = 0; i < 4; i++) assert_int_equal(f.factors[i].encoding, wanted[i]);
    karma_i_formula_clear(&f);
}

static void without_a_text_the_kernel_is_linear(void **state) {
    (void)state;
    karma_i_formula f = parse_text(NULL);
    assert_true(f.n_terms == 1 && f.n_factors == 1 && f.n_kinds == 1 && f.kinds[0] == KARMA_KERNEL_LINEAR);
    assert_true(f.terms[0].weight == 1.0 && f.factors[0].map.kind == KARMA_OUTER_IDENTITY);
    karma_i_formula_clear(&f);
}

/* A factor's own setting, else that of the options. */
static void settings_are_a_factors_own(void **state) {
    (void)state;
    char series[] = "2,1";
    karma_fit_options o =
        options_for("rank + linear(gamma=7, scale=paper, bias=0.25, outer=poly, degree=5, offset=2.5) + "
                    "rank(outer=laplace, width=1e-2, scale=4.5) + linear(series=0:0.5:1e-3)");
    o.gamma = 3, o.bias = 2.0, o.width = 0.7, o.outer = KARMA_OUTER_SERIES, o.series = series;
    karma_i_formula f = parse(&o);
    const karma_i_factor_plan *p = f.factors;
    assert_int_equal(f.n_factors, 4);
    assert_true(p[0].gamma == 3 && p[0].scale == KARMA_SCALE_MEAN && p[0].bias == 2.0);
    assert_true(p[0].map.kind == KARMA_OUTER_SERIES && p[0].map.degree == 1 && p[0].map.width == 0.7);
    assert_true(p[0].map.coefficients[0] == 2.0 && p[0].map.coefficients[1] == 1.0);
    assert_true(p[1].gamma == 7 && p[1].scale == 1.0 && p[1].bias == 0.25 && !p[1].map.coefficients);
    assert_true(p[1].map.kind == KARMA_OUTER_POLY && p[1].map.degree == 5 && p[1].map.offset == 2.5);
    assert_true(p[2].gamma == 3 && p[2].scale == 4.5 && p[2].bias == 2.0);
    assert_true(p[2].map.kind == KARMA_OUTER_LAPLACE && p[2].map.width == 1e-2);
    assert_true(p[3].map.kind == KARMA_OUTER_SERIES && p[3].map.degree == 2);
    assert_true(p[3].map.coefficients[0] == 0.0 && p[3].map.coefficients[1] == 0.5 && p[3].map.coefficients[2] == 1e-3);
    assert_string_equal(o.series, "2,1");
    karma_i_formula_clear(&f);
}

/* The matrix is the kernel: what it was made of is not known. */
static void a_precomputed_kernel_is_taken_as_it_is(void **state) {
    (void)state;
    karma_fit_options o = options_for("0.5*precomputed");
    o.gamma = 5, o.bias = 2.0, o.scale = 7.0;
    karma_i_formula f = parse(&o);
    assert_true(f.terms[0].weight == 0.5 && f.factors[0].kind == KARMA_KERNEL_PRECOMPUTED);
    assert_true(f.factors[0].gamma == 1 && f.factors[0].scale == 1.0 && f.factors[0].bias == 0.0);
    karma_i_formula_clear(&f);
}

enum { MOST_FACTORS = 32 };

/* "rank<joint>rank<joint>..." */
static void repeat(char *text, size_t size, const char *joint, size_t n) {
    size_t used = 0;
    for (size_t i = 0; i < n; i++) used += (size_t)snprintf(text + used, size - used, "%s%s", i ? joint : "", "rank");
    assert_true(used < size);
}

static void as_many_factors_as_allowed(void **state) {
    (void)state;
    char text[500];
    repeat(text, sizeof text, " + ", MOST_FACTORS);
    karma_i_formula f = parse_text(text);
    assert_true(f.n_factors == MOST_FACTORS && f.n_terms == MOST_FACTORS);
    karma_i_formula_clear(&f);
    repeat(text, sizeof text, "*", MOST_FACTORS);
    f = parse_text(text);
    assert_true(f.n_factors == MOST_FACTORS && f.n_terms == 1);
    karma_i_formula_clear(&f);
}

/* --- wrong texts --------------------------------------------------------------------------------------- */

/* All of `says`, separated by '|', is in the message; and nothing was given back. */
static void assert_refused(const karma_fit_options *options, const char *says) {
    karma_i_committee f;
    memset(&f, 7, sizeof f);
    karma_i_committee before = f;
    karma_error err = {0};
    karma_status st = karma_i_committee_parse(&f, options, &err);
    if (st != KARMA_ERR_OPTION) fail_msg("'%s': status %d, '%s'", options->kernel, (int)st, err.message);
    assert_int_equal(err.status, KARMA_ERR_OPTION);
    assert_memory_equal(&f, &before, sizeof f);
    char words[300];
    (void)snprintf(words, sizeof words, "%s", says);
    for (char *word = strtok(words, "|"); word; word = strtok(NULL, "|"))
        if (!strstr(err.message, word)) fail_msg("'%s': '%s' does not say '%s'", options->kernel, err.message, word);
}

static void refuses(const char *text, const char *says) {
    karma_fit_options o = options_for(text);
    assert_refused(&o, says);
}

static void the_message_names_the_problem(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "missing|the end"},
        {"   ", "missing|the end"},
        {"rnk", "'rnk' is unknown|did you mean 'rank'"},
        {"linaer + rank", "'linaer' is unknown|did you mean 'linear'"},
        {"gaussian", "'gaussian' is unknown|there are linear, rank, subspace, precomputed"},
        {"rank + union", "'union' stands alone"},
        {"rank linear", "'rank linear' is unknown"},
        {"rank +", "missing|the end"},
        {"rank + + linear", "missing|at '+ linear'"},
        {"+ rank", "missing|at '+ rank'"},
        {"rank * ", "missing|the end"},
        {"* rank", "missing|at '* rank'"},
        {"0.5 rank", "'*' is missing|at 'rank'"},
        {"0.5", "'*' is missing|the end"},
        {"rank*0.5", "'0.5' is unknown"},
        {"-1*rank", "a weight is negative or too large|at '-1*rank'"},
        {"rank + -0.5*linear", "a weight is negative or too large|at '-0.5*linear'"},
        {"1e13*rank", "a weight is negative or too large"},
        {"1e999*rank", "a weight is negative or too large"},
        {"nan*rank", "'nan' is unknown"},
        {"rank(gamma=2", "')' is missing|the end"},
        {"rank(gamma=2 + linear", "--gamma|'2 + linear'"},
        {"rank(gamma=2))", "something is unexpected|at ')'"},
        {"rank(gamma=2) linear", "something is unexpected|at 'linear'"},
        {"rank)", "'rank)' is unknown"},
        {"rank()", "missing|at ')'"},
        {"rank(gamma)", "a setting has no value"},
        {"rank(gamma=)", "missing|at ')'"},
        {"rank(=2)", "missing|at '=2)'"},
        {"rank(gamma=2,)", "missing|at ')'"},
        {"rank(loss=hinge)", "'loss' is not a setting of a factor"},
        {"rank(kernel=linear)", "'kernel' is not a setting of a factor"},
        {"rank(gama=2)", "'gama' is not a setting of a factor"},
        {"rank(gamma=0)", "--gamma|from 1 to 1024|'0'"},
        {"rank(gamma=1.5)", "--gamma|'1.5'"},
        {"rank(scale=0)", "--scale|'0'"},
        {"rank(bias=-1)", "--bias|'-1'"},
        {"rank(bias=nan)", "--bias|'nan'"},
        {"rank(outer=gauss)", "--outer|identity|series|'gauss'"},
        {"rank(outer=poly, degree=65)", "--degree|'65'"},
        {"rank(outer=poly, offset=-0.1)", "--offset|'-0.1'"},
        {"rank(outer=rbf, width=0)", "--width|'0'"},
        {"linear + precomputed", "a precomputed kernel stands alone"},
        {"precomputed * linear", "a precomputed kernel stands alone"},
        {"precomputed(outer=rbf)", "a precomputed kernel takes no --outer"},
        {"rank(outer=series)", "--outer series needs --series"},
        {"rank(outer=series, series=0:0)", "--outer series needs --series"},
        {"rank(outer=series, series=1:-2)", "--series '1:-2'|negative"},
        {"rank(outer=series, series=1:x)", "--series '1:x'"},
        {"rank(outer=series, series=1::2)", "--series '1::2'"},
        {"rank(outer=series, series=1:1e30)", "--series '1:1e30'"},
        {"rank(outer=series, series=inf)", "--series 'inf'"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) refuses(cases[c].text, cases[c].says);
}

static void series_of_the_options_are_checked(void **state) {
    (void)state;
    karma_fit_options o = options_for("linear");
    char negative[] = "1,-1", many[1000] = "1";
    o.outer = KARMA_OUTER_SERIES;
    assert_refused(&o, "--outer series needs --series");
    o.series = negative;
    assert_refused(&o, "--series '1,-1'|negative");
    for (size_t i = 1; i <= 256; i++) (void)strcat(many, ",1");
    o.series = many;
    assert_refused(&o, "--series|at most 256 coefficients");
    many[strlen(many) - 2] = '\0';
    karma_i_formula f = parse(&o);
    assert_int_equal(f.factors[0].map.degree, 255);
    karma_i_formula_clear(&f);
}

/* Whatever the text, the problem comes before a message is cut. */
static void long_texts_are_refused(void **state) {
    (void)state;
    char text[20000], word[200] = "";
    repeat(text, sizeof text, " + ", MOST_FACTORS + 1);
    refuses(text, "too many factors");
    repeat(text, sizeof text, "*", MOST_FACTORS + 1);
    refuses(text, "too many factors");
    repeat(text, sizeof text, " + ", 2400);
    refuses(text, "the formula is too long");
    memset(word, 'r', 150);
    refuses(word, "a word is too long");
    (void)snprintf(text, sizeof text, "rank(%s=1)", word);
    refuses(text, "a word is too long");
    (void)snprintf(text, sizeof text, "rank(gamma=%s)", word);
    refuses(text, "a word is too long");
    memset(text, ' ', 1000); /* what is wrong stands far behind */
    (void)strcpy(text + 1000, "rank(loss=hinge)");
    refuses(text, "'loss' is not a setting of a factor");
    (void)strcpy(text + 1000, "rank +");
    refuses(text, "missing|the end");
}

/* --- copies of options --------------------------------------------------------------------------------- */

static void a_copy_of_options_shares_nothing(void **state) {
    (void)state;
    const karma_option_table *fit = karma_fit_option_table(), *reading = karma_read_option_table();
    karma_fit_options a, b;
    int payload;
    karma_options_init(fit, &a);
    a.gamma = 9, a.outer = KARMA_OUTER_RBF, a.step_payload = &payload;
    assert_int_equal(karma_option_set(karma_option_find(fit, "kernel"), &a, "rank + linear", NULL), KARMA_OK);
    memset(&b, 7, sizeof b); /* not looked at */
    assert_int_equal(karma_options_copy(fit, &b, &a, NULL), KARMA_OK);
    assert_true(b.gamma == 9 && b.outer == KARMA_OUTER_RBF && b.step_payload == &payload && !b.series);
    assert_string_equal(b.kernel, "rank + linear");
    assert_ptr_not_equal(a.kernel, b.kernel);
    karma_options_clear(fit, &a);
    assert_string_equal(b.kernel, "rank + linear");
    karma_options_clear(fit, &b);

    karma_read_options r, s;
    karma_options_init(reading, &r);
    assert_int_equal(karma_option_set(karma_option_find(reading, "ignore"), &r, "one", NULL), KARMA_OK);
    assert_int_equal(karma_option_set(karma_option_find(reading, "ignore"), &r, "two", NULL), KARMA_OK);
    assert_int_equal(karma_options_copy(reading, &s, &r, NULL), KARMA_OK);
    karma_options_clear(reading, &r);
    assert_true(s.ignore.count == 2 && s.id.count == 0 && !s.users);
    assert_string_equal(s.ignore.items[0], "one");
    assert_string_equal(s.ignore.items[1], "two");
    karma_options_clear(reading, &s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terms_and_factors_are_those_of_the_text),
        cmocka_unit_test(every_kind_is_one_encoding),
        cmocka_unit_test(without_a_text_the_kernel_is_linear),
        cmocka_unit_test(settings_are_a_factors_own),
        cmocka_unit_test(a_precomputed_kernel_is_taken_as_it_is),
        cmocka_unit_test(as_many_factors_as_allowed),
        cmocka_unit_test(the_message_names_the_problem),
        cmocka_unit_test(series_of_the_options_are_checked),
        cmocka_unit_test(long_texts_are_refused),
        cmocka_unit_test(a_copy_of_options_shares_nothing),
    };
    return cmocka_run_group_tests_name("formula", tests, NULL, NULL);
}
