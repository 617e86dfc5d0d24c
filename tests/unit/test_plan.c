/* Plans: what a text becomes, and the message for one that is wrong; printing; and models that are the weighted mean
 * of the machines of a plan. The oracle for these learns each machine separately. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/plan.h"
#include "labelled.h"
#include "model/model.h"
#include "tempfile.h"

static karma_fit_options options_for(const char *kernel) {
    karma_fit_options o;
    karma_options_init(karma_fit_option_table(), &o);
    o.kernel = (char *)(uintptr_t)kernel; /* never cleared, so not owned */
    o.threads = 1;
    return o;
}

static karma_i_plan parse(const karma_fit_options *options) {
    karma_i_plan plan;
    karma_error err;
    if (karma_i_plan_parse(&plan, options->kernel, options, &err) != KARMA_OK)
        fail_msg("'%s': %s", options->kernel, err.message);
    return plan;
}

static karma_i_plan parse_text(const char *text) {
    karma_fit_options o = options_for(text);
    return parse(&o);
}

/* --- kinds --------------------------------------------------------------------------------------------- */

static void every_kind_has_a_record(void **state) {
    (void)state;
    for (int kind = 0; kind < KARMA_N_KERNELS; kind++) {
        const karma_i_kind *record = karma_i_kind_of((karma_kernel_kind)kind);
        assert_true(record->name && record->name[0] && strcmp(record->name, "union") != 0);
        if (!record->is_subspace) /* no other name is there twice */
            assert_int_equal(karma_i_kind_named(record->name), kind);
        assert_int_equal(record->settings & ~(unsigned)KARMA_I_ALL_SETTINGS, 0);
        karma_fit_options o = options_for(record->name);
        o.space = record->has_scores ? KARMA_SPACE_RANKS : KARMA_SPACE_VALUES;
        karma_i_plan plan = parse(&o);
        assert_int_equal(plan.members[0].kernel.factors[0].kind, kind);
        karma_i_plan_clear(&plan);
    }
    assert_int_equal(karma_i_kind_named("lin"), KARMA_N_KERNELS);
    unsigned all = 0;
    for (size_t i = 0; i < KARMA_I_N_SETTINGS; i++) { /* settings are options, each once */
        const karma_i_setting_name *setting = &karma_i_setting_names[i];
        assert_int_equal(all & setting->setting, 0);
        assert_non_null(karma_option_find(karma_fit_option_table(), setting->name));
        all |= setting->setting;
    }
    assert_int_equal(all, KARMA_I_ALL_SETTINGS);
}

/* --- right texts --------------------------------------------------------------------------------------- */

/* Terms as "weight:kinds", kinds by their first letters. */
static void describe(char *text, size_t size, const karma_i_plan_kernel *f) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t t = 0; t < f->n_terms; t++) {
        used += (size_t)snprintf(text + used, size - used, "%s%g:", t ? " " : "", f->terms[t].weight);
        for (size_t n = 0; n < f->terms[t].n_factors; n++)
            used += (size_t)snprintf(text + used, size - used, "%c",
                                     karma_i_kind_of(f->factors[f->terms[t].first_factor + n].kind)->name[0]);
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
        karma_i_plan plan = parse_text(cases[c].text);
        karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
        char terms[200];
        describe(terms, sizeof terms, &f);
        assert_string_equal(terms, cases[c].terms);
        assert_int_equal(f.n_factors, cases[c].n_factors);
        size_t next = 0; /* factors are in the order of the text */
        for (size_t t = 0; t < f.n_terms; t++) {
            assert_int_equal(f.terms[t].first_factor, next);
            next += f.terms[t].n_factors;
        }
        assert_int_equal(next, f.n_factors);
        karma_i_plan_clear(&plan);
    }
}

static void every_kind_is_one_encoding(void **state) {
    (void)state;
    static const size_t wanted[] = {0, 1, 0, 1};
    karma_i_plan plan = parse_text("rank * linear(gamma=1) + rank(gamma=5) + 3*linear");
    karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
    assert_int_equal(plan.n_kinds, 2);
    assert_int_equal(plan.kinds[0], KARMA_KERNEL_RANK);
    assert_int_equal(plan.kinds[1], KARMA_KERNEL_LINEAR);
    for (size_t i = 0; i < 4; i++) assert_int_equal(f.factors[i].encoding, wanted[i]);
    karma_i_plan_clear(&plan);
}

static void without_a_text_the_kernel_is_linear(void **state) {
    (void)state;
    karma_i_plan plan = parse_text(NULL);
    karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
    assert_true(f.n_terms == 1 && f.n_factors == 1 && plan.n_kinds == 1 && plan.kinds[0] == KARMA_KERNEL_LINEAR);
    assert_true(f.terms[0].weight == 1.0 && f.factors[0].map.kind == KARMA_OUTER_IDENTITY);
    karma_i_plan_clear(&plan);
}

/* The setting of the factor, or else that of the options. */
static void settings_are_a_factors_own(void **state) {
    (void)state;
    char series[] = "2,1";
    karma_fit_options o =
        options_for("rank + linear(gamma=7, scale=paper, bias=0.25, outer=poly, degree=5, offset=2.5) + "
                    "rank(outer=laplace, width=1e-2, scale=4.5) + linear(series=0:0.5:1e-3)");
    o.gamma = 3, o.bias = 2.0, o.width = 0.7, o.outer = KARMA_OUTER_SERIES, o.series = series;
    karma_i_plan plan = parse(&o);
    karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
    const karma_i_plan_factor *p = f.factors;
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
    karma_i_plan_clear(&plan);
}

/* The matrix is the kernel; it is not known what it was made from. */
static void a_precomputed_kernel_is_taken_as_it_is(void **state) {
    (void)state;
    karma_fit_options o = options_for("0.5*precomputed");
    o.gamma = 5, o.bias = 2.0, o.scale = 7.0;
    karma_i_plan plan = parse(&o);
    karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
    assert_true(f.terms[0].weight == 0.5 && f.factors[0].kind == KARMA_KERNEL_PRECOMPUTED);
    assert_true(f.factors[0].gamma == 1 && f.factors[0].scale == 1.0 && f.factors[0].bias == 0.0);
    karma_i_plan_clear(&plan);
}

/* "rank<joint>rank<joint>..." */
static void repeat(char *text, size_t size, const char *joint, size_t n) {
    size_t used = 0;
    for (size_t i = 0; i < n; i++) used += (size_t)snprintf(text + used, size - used, "%s%s", i ? joint : "", "rank");
    assert_true(used < size);
}

static void the_largest_number_of_factors(void **state) {
    (void)state;
    char text[500];
    repeat(text, sizeof text, " + ", KARMA_I_MOST_FACTORS);
    karma_i_plan plan = parse_text(text);
    karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
    assert_true(f.n_factors == KARMA_I_MOST_FACTORS && f.n_terms == KARMA_I_MOST_FACTORS);
    karma_i_plan_clear(&plan);
    repeat(text, sizeof text, "*", KARMA_I_MOST_FACTORS);
    plan = parse_text(text);
    f = plan.members[0].kernel;
    assert_true(f.n_factors == KARMA_I_MOST_FACTORS && f.n_terms == 1);
    karma_i_plan_clear(&plan);
}

/* --- wrong texts --------------------------------------------------------------------------------------- */

/* The message contains each part of `says`, separated by '|', and there is no output. */
static void assert_refused(const karma_fit_options *options, const char *says) {
    karma_i_plan f;
    memset(&f, 7, sizeof f);
    karma_i_plan before = f;
    karma_error err = {0};
    karma_status st = karma_i_plan_parse(&f, options->kernel, options, &err);
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
        {"rank + union", "'union' cannot be part of a formula"},
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
        {"rank(gamma=2 + linear", "option 'gamma' |'2 + linear'"},
        {"rank(gamma=2))", "unexpected text|at ')'"},
        {"rank(gamma=2) linear", "unexpected text|at 'linear'"},
        {"rank)", "'rank)' is unknown"},
        {"rank()", "missing|at ')'"},
        {"rank(gamma)", "a setting has no value"},
        {"rank(gamma=)", "missing|at ')'"},
        {"rank(=2)", "missing|at '=2)'"},
        {"rank(gamma=2,)", "missing|at ')'"},
        {"rank(loss=hinge)", "'loss' is not a setting of a factor"},
        {"rank(kernel=linear)", "'kernel' is not a setting of a factor"},
        {"rank(gama=2)", "'gama' is not a setting of a factor"},
        {"rank(space=ranks)", "only subspace has a space"},
        {"subspace(space=rank)", "rank"},
        {"rank(gamma=0)", "option 'gamma' |from 1 to 1024|'0'"},
        {"rank(gamma=1.5)", "option 'gamma' |'1.5'"},
        {"rank(scale=0)", "option 'scale' |'0'"},
        {"rank(bias=-1)", "option 'bias' |'-1'"},
        {"rank(bias=nan)", "option 'bias' |'nan'"},
        {"rank(outer=gauss)", "option 'outer' |identity|series|'gauss'"},
        {"rank(outer=poly, degree=65)", "option 'degree' |'65'"},
        {"rank(outer=poly, offset=-0.1)", "option 'offset' |'-0.1'"},
        {"rank(outer=rbf, width=0)", "option 'width' |'0'"},
        {"linear + precomputed", "a precomputed kernel cannot be combined with others"},
        {"precomputed * linear", "a precomputed kernel cannot be combined with others"},
        {"precomputed(outer=rbf)", "precomputed takes no outer map"},
        {"rank(outer=series)", "the outer map series needs option 'series'"},
        {"rank(outer=series, series=0:0)", "the outer map series needs option 'series'"},
        {"rank(outer=series, series=1:-2)", "option 'series' |'1:-2'|negative"},
        {"rank(outer=series, series=1:x)", "option 'series' |'1:x'"},
        {"rank(outer=series, series=1::2)", "option 'series' |'1::2'"},
        {"rank(outer=series, series=1:1e30)", "option 'series' |'1:1e30'"},
        {"rank(outer=series, series=inf)", "option 'series' |'inf'"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) refuses(cases[c].text, cases[c].says);
}

static void series_of_the_options_are_checked(void **state) {
    (void)state;
    karma_fit_options o = options_for("linear");
    char negative[] = "1,-1", many[1000] = "1";
    o.outer = KARMA_OUTER_SERIES;
    assert_refused(&o, "the outer map series needs option 'series'");
    o.series = negative;
    assert_refused(&o, "option 'series' |'1,-1'|negative");
    for (size_t i = 1; i <= 256; i++) (void)strcat(many, ",1");
    o.series = many;
    assert_refused(&o, "option 'series'|at most 256 coefficients");
    many[strlen(many) - 2] = '\0';
    karma_i_plan plan = parse(&o);
    karma_i_plan_kernel f = plan.members[0].kernel; /* borrowed */
    assert_int_equal(f.factors[0].map.degree, 255);
    karma_i_plan_clear(&plan);
}

/* Whatever the text, the problem comes before a message is cut. */
static void long_texts_are_refused(void **state) {
    (void)state;
    char text[20000], word[200] = "";
    repeat(text, sizeof text, " + ", KARMA_I_MOST_FACTORS + 1);
    refuses(text, "too many factors");
    repeat(text, sizeof text, "*", KARMA_I_MOST_FACTORS + 1);
    refuses(text, "too many factors");
    repeat(text, sizeof text, " + ", 2400);
    refuses(text, "the formula is too long");
    memset(word, 'r', 150);
    refuses(word, "a word is too long");
    (void)snprintf(text, sizeof text, "rank(%s=1)", word);
    refuses(text, "a word is too long");
    (void)snprintf(text, sizeof text, "rank(gamma=%s)", word);
    refuses(text, "a word is too long");
    memset(text, ' ', 1000); /* the error is near the end */
    (void)strcpy(text + 1000, "rank(loss=hinge)");
    refuses(text, "'loss' is not a setting of a factor");
    (void)strcpy(text + 1000, "rank +");
    refuses(text, "missing|the end");
}

/* --- members and machines ------------------------------------------------------------------------------ */

/* A text, and how it must be understood: machines as "member:factor:weight", weights before they sum to 1. */
typedef struct text_reading {
    const char *text;
    size_t n_members, n_machines, n_kinds;
    struct {
        size_t member;
        double factor, weight;
    } machines[4];
} text_reading;

static void texts_are_taken_apart(void **state) {
    (void)state;
    static const text_reading readings[] = {
        {"linear", 1, 1, 1, {{0, 1, 1}}},
        {"linear@10", 1, 1, 1, {{0, 10, 1}}},
        {" linear @ 1 , 10:0.5 ", 1, 2, 1, {{0, 1, 1}, {0, 10, 0.5}}},
        {"rank(outer=rbf) @ 1,10:0.5 | linear", 2, 3, 2, {{0, 1, 1}, {0, 10, 0.5}, {1, 1, 1}}},
        {"linear | rank | linear(gamma=1) @ 1e-3:2", 3, 3, 2, {{0, 1, 1}, {1, 1, 1}, {2, 1e-3, 2}}},
        {"linear + 0.5*rank @ 2:3\t|\tsubspace @ 0.1:1,0.2:2", 2, 3, 3, {{0, 2, 3}, {1, 0.1, 1}, {1, 0.2, 2}}},
        {"union | rank", 2, 2, 3, {{0, 1, 1}, {1, 1, 1}}},
    };
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        const text_reading *r = &readings[i];
        karma_fit_options o = options_for(r->text);
        karma_i_plan plan = parse(&o);
        assert_int_equal(plan.n_members, r->n_members);
        assert_int_equal(plan.n_kinds, r->n_kinds);
        assert_int_equal(karma_i_plan_n_machines(&plan), r->n_machines);
        double sum = 0.0, all = 0.0;
        for (size_t k = 0; k < r->n_machines; k++) sum += r->machines[k].weight;
        size_t at = 0;
        for (size_t m = 0; m < plan.n_members; m++)
            for (size_t k = 0; k < plan.members[m].machines.n; k++, at++) {
                double share = plan.members[m].machines.weights[k] / karma_i_plan_total_weight(&plan);
                assert_true(at < r->n_machines && r->machines[at].member == m);
                assert_true(plan.members[m].machines.factors[k] == r->machines[at].factor);
                assert_true(fabs(share - r->machines[at].weight / sum) < 1e-15);
                all += share;
            }
        assert_int_equal(at, r->n_machines);
        assert_true(fabs(all - 1.0) < 1e-14);
        for (size_t m = 0; m < plan.n_members; m++) /* encodings are numbered for all members together */
            for (size_t f = 0; f < plan.members[m].kernel.n_factors; f++) {
                const karma_i_plan_factor *factor = &plan.members[m].kernel.factors[f];
                assert_int_equal(plan.kinds[factor->encoding], factor->kind);
            }
        karma_i_plan_clear(&plan);
    }
}

static void wrong_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } wrongs[] = {
        {"linear @", "ascending multiples"},
        {"linear @ ", "ascending multiples"},
        {"linear @ x", "'x' after '@'"},
        {"linear @ 0", "only the kernel boost"},
        {"boost(outer=rbf) @ 0", "only the kernel boost"},
        {"boost + linear @ 0,1", "only the kernel boost"},
        {"boost @ 1,0", "ascending multiples"},
        {"linear @ -1", "ascending multiples"},
        {"linear @ nan", "ascending multiples"},
        {"linear @ inf", "ascending multiples"},
        {"linear @ 1,1", "ascending multiples"},
        {"linear @ 2,1", "ascending multiples"},
        {"linear @ 1,", "ascending multiples"},
        {"linear @ 1:0", "ascending multiples"},
        {"linear @ 1:-2", "ascending multiples"},
        {"linear @ 1:", "ascending multiples"},
        {"linear @ 1:2:3", "ascending multiples"},
        {"linear @ 1 @ 2", "ascending multiples"},
        {"linear @ 1e300", "ascending multiples"},
        {"linear @ 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "at most 16"},
        {"@ 1", "option 'kernel'"},
        {"", "option 'kernel'"},
        {"linear |", "option 'kernel'"},
        {"| linear", "option 'kernel'"},
        {"linear || rank", "option 'kernel'"},
        {"linear | cubic", "cubic"},
        {"linear | precomputed", "a precomputed kernel cannot be combined with others"},
    };
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        karma_fit_options o = options_for(wrongs[i].text);
        karma_i_plan plan = {.n_members = 77};
        karma_error err;
        if (karma_i_plan_parse(&plan, o.kernel, &o, &err) != KARMA_ERR_OPTION)
            fail_msg("'%s' is taken", wrongs[i].text);
        assert_int_equal(plan.n_members, 77);
        if (!strstr(err.message, wrongs[i].says)) fail_msg("'%s': %s", wrongs[i].text, err.message);
    }
}

static void too_many_members_are_refused(void **state) {
    (void)state;
    char text[64 * 10 + 16] = "linear";
    for (size_t m = 1; m < 64; m++) strcat(text, "|linear");
    karma_fit_options o = options_for(text);
    karma_i_plan plan;
    karma_error err;
    assert_int_equal(karma_i_plan_parse(&plan, o.kernel, &o, &err), KARMA_OK);
    assert_int_equal(plan.n_members, 64);
    karma_i_plan_clear(&plan);
    strcat(text, "|rank");
    assert_int_equal(karma_i_plan_parse(&plan, o.kernel, &o, &err), KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "more than 64 members"));
    char *longer = calloc(20001, 1);
    memset(longer, ' ', 20000);
    memcpy(longer, "linear", 6);
    o = options_for(longer);
    assert_int_equal(karma_i_plan_parse(&plan, o.kernel, &o, &err), KARMA_ERR_OPTION);
    assert_non_null(strstr(err.message, "too long"));
    free(longer);
}

/* --- plans as text, copies, equality ------------------------------------------------------------------- */

/* Texts as they are printed. */
static const char *const canonical[] = {
    "linear @ 1",
    "union @ 1",
    "precomputed @ 0.1",
    "linear(gamma=1) + 10*subspace @ 0.1:0.25,1:0.5 | rank(gamma=1,outer=rbf,width=0.5) @ 1000:0.25",
    "2*rank(gamma=1024) * linear(outer=poly,degree=3,offset=0) + 0.1*linear(scale=paper,bias=0) @ 1e-12",
    "rank(outer=series,series=0:0.5:1e-300:0.333333333333333315) @ 1:0.1234 | rank @ 1:0.1234",
    "linear(outer=laplace,width=1e-06,scale=mean) + 0*subspace(outer=cosine,bias=3) @ 10",
    "subspace + 1*subspace(outer=rbf,space=ranks) @ 1",
    "relevance(gamma=2) @ 0.3333333333333333",
};
enum { N_CANONICAL = sizeof canonical / sizeof canonical[0] };

static char *print(const karma_i_plan *plan) {
    char *text = NULL;
    assert_int_equal(karma_i_plan_print(&text, plan, NULL), KARMA_OK);
    return text;
}

static void plans_are_printed_as_they_are_read(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CANONICAL; i++) {
        karma_i_plan plan = parse_text(canonical[i]);
        char *text = print(&plan);
        karma_i_plan again = parse_text(text);
        assert_true(karma_i_plan_equal(&plan, &again));
        if (!strstr(canonical[i], "333333333333333")) assert_string_equal(text, canonical[i]);
        free(text);
        karma_i_plan_clear(&plan);
        karma_i_plan_clear(&again);
    }
}

/* Settings that the user omits stay omitted, and those without effect are removed. */
static void other_texts_become_canonical(void **state) {
    (void)state;
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {NULL, "linear @ 1"},
        {" linear ", "linear @ 1"},
        {"rank+linear", "rank + 1*linear @ 1"},
        {"linear*rank(bias=1e0 , gamma=2)@10", "linear * rank(gamma=2,bias=1) @ 10"},
        {"linear | rank", "linear @ 1:1 | rank @ 1:1"},
        {"subspace(gamma=3, scale=2, bias=0)", "subspace(bias=0) @ 1"},
        {"precomputed(gamma=3)", "precomputed @ 1"},
        {"linear(series=1:2)", "linear @ 1"},
        {"linear(outer=series, series=1:2, degree=7)", "linear(outer=series,series=1:2) @ 1"},
        {"linear(scale=1)", "linear(scale=paper) @ 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        karma_i_plan plan = parse_text(cases[i].text);
        char *text = print(&plan);
        assert_string_equal(text, cases[i].printed);
        free(text);
        karma_i_plan_clear(&plan);
    }
}

/* 256 coefficients of 17 digits are read back too. */
static void the_longest_series_is_read_back(void **state) {
    (void)state;
    karma_fit_options o = options_for("linear(outer=series)");
    char series[256 * 25] = "";
    for (size_t i = 0, used = 0; i < 256; i++)
        used += (size_t)snprintf(series + used, sizeof series - used, "%s%.17g", i ? "," : "", 1.0 / (3.0 + (double)i));
    o.series = series;
    karma_i_plan plan = parse(&o);
    plan.members[0].kernel.factors[0].own |= KARMA_I_SETTING_SERIES;
    char *text = print(&plan);
    o.series = NULL;
    o.kernel = text;
    karma_i_plan again = parse(&o);
    assert_int_equal(again.members[0].kernel.factors[0].map.degree, 255);
    assert_true(karma_i_plan_equal(&plan, &again));
    free(text);
    karma_i_plan_clear(&plan);
    karma_i_plan_clear(&again);
}

static void a_kernel_is_printed_into_any_size(void **state) {
    (void)state;
    static const char wanted[] = "linear(gamma=1) + 10*subspace";
    karma_i_plan plan = parse_text(wanted);
    for (size_t size = 0; size < sizeof wanted + 3; size++) {
        char text[sizeof wanted + 4];
        memset(text, '#', sizeof text);
        assert_int_equal(karma_i_plan_kernel_print(text, size, &plan.members[0].kernel), sizeof wanted - 1);
        if (size > 0) {
            size_t length = size - 1 < sizeof wanted - 1 ? size - 1 : sizeof wanted - 1;
            assert_memory_equal(text, wanted, length);
            assert_true(text[length] == '\0');
        }
        assert_true(text[size > sizeof wanted ? sizeof wanted : size] == '#');
    }
    char *text = karma_i_plan_kernel_text(&plan.members[0].kernel);
    assert_string_equal(text, wanted);
    free(text);
    karma_i_plan_clear(&plan);
}

static void a_copy_is_equal_and_shares_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < N_CANONICAL; i++) {
        karma_i_plan plan = parse_text(canonical[i]), copy = {0};
        assert_int_equal(karma_i_plan_copy(&copy, &plan, NULL), KARMA_OK);
        assert_true(karma_i_plan_equal(&plan, &copy));
        assert_int_equal(copy.n_kinds, plan.n_kinds);
        char *before = print(&plan);
        karma_i_plan_clear(&plan);
        char *after = print(&copy);
        assert_string_equal(before, after);
        free(before);
        free(after);
        karma_i_plan_clear(&copy);
    }
}

/* No two of these are equal. */
static void different_plans_are_not_equal(void **state) {
    (void)state;
    static const char *const texts[] = {
        "linear",
        "rank",
        "linear(gamma=2)", /* the default value, but set by the factor */
        "linear(gamma=3)",
        "linear(bias=0)",
        "linear(scale=paper)",
        "linear(outer=rbf)",
        "linear(outer=rbf,width=2)",
        "linear(outer=poly,degree=3)",
        "linear(outer=poly,offset=3)",
        "linear(outer=series,series=1:2)",
        "linear(outer=series,series=1:3)",
        "linear(outer=series,series=1:2:3)",
        "2*linear",
        "linear*linear",
        "linear + linear",
        "linear + 2*linear",
        "linear @ 2",
        "linear @ 1,2",
        "linear @ 1:2",
        "linear | linear",
        "union",
        "linear + subspace(bias=0)",
    };
    enum { N = sizeof texts / sizeof texts[0] };
    karma_i_plan plans[N];
    for (size_t i = 0; i < N; i++) plans[i] = parse_text(texts[i]);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            if (karma_i_plan_equal(&plans[i], &plans[j]) != (i == j)) fail_msg("'%s' and '%s'", texts[i], texts[j]);
    for (size_t i = 0; i < N; i++) karma_i_plan_clear(&plans[i]);
}

static void plans_answer_questions(void **state) {
    (void)state;
    enum { SUBSPACE = 1, RANKED = 2, SLOW = 4, GAMMA = 8, OUTER = 16, WORD = 32, ZERO = 64 };
    static const struct {
        const char *text;
        int is;
    } cases[] = {
        {"linear", WORD},
        {"rank", WORD | RANKED},
        {"relevance", WORD | RANKED},
        {"subspace", WORD | SUBSPACE | SLOW},
        {"precomputed", WORD},
        {"union", SUBSPACE | SLOW},
        {"2*linear", 0},
        {"linear(gamma=1)", ZERO},
        {"linear(gamma=1,bias=0)", 0},
        {"linear(gamma=1,outer=rbf)", OUTER},
        {"linear(gamma=1,outer=identity)", ZERO},
        {"linear(gamma=2)", GAMMA},
        {"linear(gamma=1) + rank(gamma=4)", RANKED | GAMMA},
        {"linear(gamma=1) * linear(gamma=1)", 0},
        {"subspace(gamma=4)", WORD | SUBSPACE | SLOW},
        {"subspace(space=ranks)", SUBSPACE | SLOW},
        {"linear + rank * subspace(outer=rbf)", SUBSPACE | RANKED | SLOW | OUTER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        karma_i_plan plan = parse_text(cases[i].text);
        const karma_i_plan_kernel *k = &plan.members[0].kernel;
        int is = 0;
        is |= karma_i_plan_kernel_has_subspace(k) ? SUBSPACE : 0;
        is |= karma_i_plan_kernel_is_ranked(k) ? RANKED : 0;
        is |= karma_i_plan_kernel_is_slow(k) ? SLOW : 0;
        is |= karma_i_plan_kernel_sets_gamma(k) ? GAMMA : 0;
        is |= karma_i_plan_kernel_sets_outer(k) ? OUTER : 0;
        is |= karma_i_plan_kernel_is_word(k) ? WORD : 0;
        is |= karma_i_plan_kernel_is_zero_imputation(k) ? ZERO : 0;
        if (is != cases[i].is) fail_msg("'%s': %d, wanted %d", cases[i].text, is, cases[i].is);
        assert_int_equal(karma_i_plan_is_precomputed(&plan), strcmp(cases[i].text, "precomputed") == 0);
        karma_i_plan_clear(&plan);
    }
    /* settings of the options count for questions about what is computed */
    karma_fit_options o = options_for("linear");
    o.gamma = 1;
    karma_i_plan plan = parse(&o);
    assert_true(karma_i_plan_kernel_is_zero_imputation(&plan.members[0].kernel));
    karma_i_plan_clear(&plan);
    o.outer = KARMA_OUTER_RBF;
    plan = parse(&o);
    assert_false(karma_i_plan_kernel_is_zero_imputation(&plan.members[0].kernel));
    assert_false(karma_i_plan_kernel_sets_outer(&plan.members[0].kernel));
    karma_i_plan_clear(&plan);
}

static void every_C_is_multiplied(void **state) {
    (void)state;
    karma_i_plan plan = parse_text("linear @ 1,10 | rank @ 4"), wanted = parse_text("linear @ 0.5,5 | rank @ 2");
    karma_i_plan_multiply_C(&plan, 0.5);
    assert_true(karma_i_plan_equal(&plan, &wanted));
    karma_i_plan_clear(&plan);
    karma_i_plan_clear(&wanted);
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

/* --- the mean of machines ------------------------------------------------------------------------------ */

static karma_model *fitted(const karma_table *table, const char *kernel) {
    karma_fit_options o = options_for(kernel);
    karma_model *model = NULL;
    karma_error err;
    o.tolerance = 1e-10;
    o.passes = 100000;
    o.subspace_rank = 2;
    if (karma_fit(&model, table, &o, NULL, &err) != KARMA_OK) fail_msg("'%s': %s", kernel, err.message);
    assert_int_equal(karma_model_info(model)->stop, KARMA_STOP_CONVERGED);
    return model;
}

static double *scores_of(const karma_model *model, const karma_table *table) {
    double *scores = malloc(karma_table_n_rows(table) * karma_model_n_outputs(model) * sizeof *scores);
    assert_int_equal(karma_predict(scores, model, table, 1, NULL, NULL), KARMA_OK);
    return scores;
}

static const char COMMITTEE[] =
    "linear(gamma=1) @ 0.1,10:0.5 | rank(outer=rbf) @ 1:2 | linear(gamma=3) + 0.5*subspace @ 3";
static const struct {
    const char *kernel;
    double weight;
} machines[] = {{"linear(gamma=1) @ 0.1", 1.0},
                {"linear(gamma=1) @ 10", 0.5},
                {"rank(outer=rbf) @ 1", 2.0},
                {"linear(gamma=3) + 0.5*subspace @ 3", 1.0}};

static void check_mean(const karma_table *table, const karma_table *later) {
    karma_model *together = fitted(table, COMMITTEE);
    size_t n = karma_table_n_rows(later) * karma_model_n_outputs(together);
    double *got = scores_of(together, later), *wanted = calloc(n, sizeof *wanted), spread = 0.0;
    assert_int_equal(together->n_members, 3);
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        karma_model *alone = fitted(table, machines[m].kernel);
        double *own = scores_of(alone, later);
        for (size_t i = 0; i < n; i++) wanted[i] += machines[m].weight / 4.5 * own[i];
        free(own);
        karma_model_free(alone);
    }
    for (size_t i = 0; i < n; i++) spread = fmax(spread, fabs(wanted[i] - wanted[i % karma_model_n_outputs(together)]));
    assert_true(spread > 0.1); /* they are informative */
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - wanted[i]) <= 1e-4 * fmax(1.0, spread)))
            fail_msg("score %zu is %.9g, the mean of the machines' %.9g", i, got[i], wanted[i]);
    free(got);
    free(wanted);
    karma_model_free(together);
}

static karma_table *several_targets(size_t n_rows, uint64_t seed) {
    table_plan plan = {n_rows, 4, 1, 6, 0.75, 0, 1.0};
    karma_i_rng rng;
    karma_i_rng_init(&rng, seed);
    double *hidden = malloc(n_rows * sizeof *hidden);
    karma_table *table = draw_attributes(&plan, hidden, &rng);
    add_drawn_target(table, "two", 2, 1.0, hidden, &rng);
    add_drawn_target(table, "number", 0, 2.0, hidden, &rng);
    add_drawn_target(table, "three", 3, 1.0, hidden, &rng);
    free(hidden);
    return table;
}

static void scores_are_the_mean_of_the_machines(void **state) {
    (void)state;
    static const size_t n_classes[] = {2, 3, 0};
    for (size_t k = 0; k < 3; k++) {
        table_plan plan = {45, 4, 1, 6, 0.75, n_classes[k], 1.5};
        karma_table *table = draw_labelled(&plan, 5 + k), *later = draw_labelled(&plan, 50 + k);
        check_mean(table, later);
        karma_table_free(table);
        karma_table_free(later);
    }
    karma_table *table = several_targets(45, 8), *later = several_targets(20, 9);
    check_mean(table, later);
    karma_table_free(table);
    karma_table_free(later);
}

/* One machine with a weight equals that machine, and so do two equal machines. */
static void weights_of_equal_machines_do_not_matter(void **state) {
    (void)state;
    table_plan plan = {45, 4, 1, 6, 0.75, 2, 1.5};
    karma_table *table = draw_labelled(&plan, 5);
    karma_model *one = fitted(table, "linear @ 3"), *weighted = fitted(table, "linear @ 3:0.1"),
                *twice = fitted(table, "linear @ 3:0.1 | linear @ 3:7");
    double *a = scores_of(one, table), *b = scores_of(weighted, table), *c = scores_of(twice, table);
    for (size_t i = 0; i < 45; i++) {
        assert_true(a[i] == b[i]);
        assert_true(fabs(a[i] - c[i]) < 1e-12 * (1.0 + fabs(a[i])));
    }
    free(a);
    free(b);
    free(c);
    karma_model_free(one);
    karma_model_free(weighted);
    karma_model_free(twice);
    karma_table_free(table);
}

/* The matrix that is computed once for all C of a kernel may not fit: rows are then computed when they are needed. */
static void memory_does_not_matter(void **state) {
    (void)state;
    table_plan plan = {60, 4, 1, 6, 0.75, 2, 1.5};
    karma_table *table = draw_labelled(&plan, 6);
    double *scores[2];
    for (int little = 0; little < 2; little++) {
        karma_fit_options o = options_for("linear @ 0.1,1,10 | rank");
        karma_model *model = NULL;
        o.tolerance = 1e-10;
        o.solver = KARMA_SOLVER_BATCH;
        if (little) o.memory = 1e-5; /* ten kilobytes, 60 rows want 14 */
        assert_int_equal(karma_fit(&model, table, &o, NULL, NULL), KARMA_OK);
        scores[little] = scores_of(model, table);
        karma_model_free(model);
    }
    for (size_t i = 0; i < 60; i++) assert_true(fabs(scores[0][i] - scores[1][i]) < 1e-4);
    free(scores[0]);
    free(scores[1]);
    karma_table_free(table);
}

/* --- files --------------------------------------------------------------------------------------------- */

static void files_keep_every_bit(void **state) {
    (void)state;
    karma_table *table = several_targets(45, 8), *later = several_targets(20, 9);
    karma_model *model = fitted(table, COMMITTEE), *again = NULL;
    temp_file file;
    karma_error err;
    temp_create(&file, ".karma", "", 0);
    assert_int_equal(karma_model_save(model, file.path, NULL), KARMA_OK);
    if (karma_model_load(&again, file.path, &err) != KARMA_OK) fail_msg("%s", err.message);
    double *a = scores_of(model, later), *b = scores_of(again, later);
    assert_memory_equal(a, b, 20 * karma_model_n_outputs(model) * sizeof *a);
    assert_int_equal(again->n_members, 3);
    assert_string_equal(karma_model_options(again)->kernel, COMMITTEE);
    assert_null(karma_model_search_info(again));
    free(a);
    free(b);
    temp_remove(&file);
    karma_model_free(model);
    karma_model_free(again);
    karma_table_free(table);
    karma_table_free(later);
}

/* --- explanations -------------------------------------------------------------------------------------- */

/* Contributions to plain kernels are exact; to other kernels they are Shapley values. Both sum to the score. */
static void explanations_sum_to_the_score(void **state) {
    (void)state;
    static const struct {
        const char *kernel;
        int is_split;
    } cases[] = {{"linear(gamma=1) @ 0.1,10:0.5 | rank(gamma=2) @ 3:2 | linear", 1},
                 {"linear(gamma=1) | rank(outer=rbf) @ 1,10", 0}};
    static const karma_explain_options explaining = {
        .struct_size = sizeof(karma_explain_options), .samples = 4, .repeats = 2, .seed = 1, .threads = 1};
    karma_table *table = several_targets(45, 8);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        karma_model *model = fitted(table, cases[k].kernel);
        size_t K = karma_model_n_outputs(model);
        double *scores = scores_of(model, table);
        karma_explanations e;
        assert_int_equal(karma_explain(&e, model, table, &explaining, NULL, NULL), KARMA_OK);
        assert_int_equal(e.is_split, cases[k].is_split);
        assert_int_equal(e.start[45], karma_table_n_observed(table));
        for (size_t i = 0; i < 45; i++)
            for (size_t o = 0; o < K; o++) {
                double sum = e.bias[i * K + o];
                for (size_t p = e.start[i]; p < e.start[i + 1]; p++) sum += e.contribution[p * K + o];
                if (!(fabs(sum - scores[i * K + o]) <= 1e-4 * fmax(1.0, fabs(sum))))
                    fail_msg("'%s': row %zu, output %zu: parts sum to %.9g, the score is %.9g", cases[k].kernel, i, o,
                             sum, scores[i * K + o]);
            }
        karma_explanations_clear(&e);
        free(scores);
        karma_model_free(model);
    }
    karma_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_a_record),
        cmocka_unit_test(terms_and_factors_are_those_of_the_text),
        cmocka_unit_test(every_kind_is_one_encoding),
        cmocka_unit_test(without_a_text_the_kernel_is_linear),
        cmocka_unit_test(settings_are_a_factors_own),
        cmocka_unit_test(a_precomputed_kernel_is_taken_as_it_is),
        cmocka_unit_test(the_largest_number_of_factors),
        cmocka_unit_test(the_message_names_the_problem),
        cmocka_unit_test(series_of_the_options_are_checked),
        cmocka_unit_test(long_texts_are_refused),
        cmocka_unit_test(a_copy_of_options_shares_nothing),
        cmocka_unit_test(texts_are_taken_apart),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(too_many_members_are_refused),
        cmocka_unit_test(plans_are_printed_as_they_are_read),
        cmocka_unit_test(other_texts_become_canonical),
        cmocka_unit_test(the_longest_series_is_read_back),
        cmocka_unit_test(a_kernel_is_printed_into_any_size),
        cmocka_unit_test(a_copy_is_equal_and_shares_nothing),
        cmocka_unit_test(different_plans_are_not_equal),
        cmocka_unit_test(plans_answer_questions),
        cmocka_unit_test(every_C_is_multiplied),
        cmocka_unit_test(scores_are_the_mean_of_the_machines),
        cmocka_unit_test(weights_of_equal_machines_do_not_matter),
        cmocka_unit_test(memory_does_not_matter),
        cmocka_unit_test(files_keep_every_bit),
        cmocka_unit_test(explanations_sum_to_the_score),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
