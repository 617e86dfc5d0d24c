/* karma theory: the paper's quantities for given parameters. */
#include <math.h>

#include "tool.h"

/* One bound on the regret and its parameters. */
typedef struct regret_bound {
    double gamma, log_B, log_rho, log_bound;
} regret_bound;

typedef struct quantities {
    double gamma, log_big_gamma, approximation;
    double log_sample_size, log_paper_sample_size; /* with B = gamma, and with the paper's B = Gamma */
    regret_bound here, paper; /* for gamma(epsilon): with the B of the options, and with the paper's */
    regret_bound at_log_T;    /* with gamma = ln(T)/lambda, as theorem regret takes it */
    int is_proven;            /* B >= gamma: the bound holds against every f_{w,Q*} with |w| <= 1 */
} quantities;

static regret_bound bound_regret(const karma_theory_options *o, double gamma, double log_B) {
    karma_regret_terms terms = {.lipschitz = o->lipschitz,
                                .magnitude = o->magnitude,
                                .log_big_gamma = karma_theory_log_big_gamma((size_t)o->dim, gamma),
                                .log_B = log_B,
                                .lambda = o->lambda,
                                .gamma = gamma,
                                .rounds = (double)o->rounds};
    regret_bound r = {gamma, log_B, karma_theory_log_rho(&terms), 0.0};
    r.log_bound = karma_theory_log_regret_bound(&terms, r.log_rho);
    return r;
}

/* The B of the options, or what is proven to be enough for this gamma. */
static double log_B_for(const karma_theory_options *o, double gamma) {
    return log(o->B == KARMA_AUTO ? gamma : o->B);
}

static quantities compute(const karma_theory_options *o) {
    quantities q;
    q.gamma = karma_theory_gamma(o->lambda, o->epsilon, o->lipschitz);
    q.log_big_gamma = karma_theory_log_big_gamma((size_t)o->dim, q.gamma);
    q.log_sample_size = karma_theory_log_sample_size(q.log_big_gamma, log(q.gamma), o->epsilon, o->lipschitz, o->delta);
    q.log_paper_sample_size =
        karma_theory_log_sample_size(q.log_big_gamma, q.log_big_gamma, o->epsilon, o->lipschitz, o->delta);
    q.approximation = karma_theory_approximation_bound(o->lambda, q.gamma);
    double log_T_gamma = fmax(1.0, ceil(log((double)o->rounds) / o->lambda));
    q.here = bound_regret(o, q.gamma, log_B_for(o, q.gamma));
    q.paper = bound_regret(o, q.gamma, q.log_big_gamma);
    q.at_log_T = bound_regret(o, log_T_gamma, log_B_for(o, log_T_gamma));
    q.is_proven = o->B == KARMA_AUTO || o->B >= q.gamma;
    return q;
}

static json_t *to_json(const karma_theory_options *o, const quantities *q) {
    const double ln10 = log(10.0);
    json_t *object =
        json_pack("{s:o, s:f, s:f, s:f, s:f, s:f}", "options", options_json(karma_theory_option_table(), o), "gamma",
                  q->gamma, "log10_Gamma", q->log_big_gamma / ln10, "log10_sample_size", q->log_sample_size / ln10,
                  "log10_paper_sample_size", q->log_paper_sample_size / ln10, "approximation_bound", q->approximation);
    (void)json_object_update_new(
        object, json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "B", o->B == KARMA_AUTO ? q->gamma : o->B,
                          "log10_rho", q->here.log_rho / ln10, "log10_regret_bound", q->here.log_bound / ln10,
                          "log10_paper_regret_bound", q->paper.log_bound / ln10, "regret_gamma", q->at_log_T.gamma,
                          "log10_rho_at_regret_gamma", q->at_log_T.log_rho / ln10, "log10_regret_bound_at_regret_gamma",
                          q->at_log_T.log_bound / ln10, "bound_is_proven", q->is_proven));
    return object;
}

static void print_regret(const karma_theory_options *o, const quantities *q) {
    char a[64], b[64];
    printf("regret bound     %s over %lld rounds, with rho %s\n", number_of_log(a, q->here.log_bound),
           (long long)o->rounds, number_of_log(b, q->here.log_rho));
    if (q->is_proven)
        printf("  No sequence of rows, not even a hostile one, makes Algorithm 1 lose more than this beyond the\n"
               "  best predictor with the best subspace and |w| <= 1. B = %s is enough for that: |v|^2 <= gamma\n"
               "  (docs/mathematics.md). The paper takes B = Gamma, and its bound is %s.\n",
               o->B == KARMA_AUTO ? "gamma" : number_of_log(b, q->here.log_B), number_of_log(a, q->paper.log_bound));
    else
        printf("  B = %g is below gamma = %.0f, so this bounds the regret only against predictors v with\n"
               "  |v|^2 <= B. Against the best predictor with the best subspace and |w| <= 1 it is not proven: that\n"
               "  one may have |v|^2 up to gamma. --B auto takes B = gamma.\n",
               o->B, q->gamma);
    printf("  With gamma = ln(T)/lambda = %.0f, as theorem regret takes it: %s.\n", q->at_log_T.gamma,
           number_of_log(a, q->at_log_T.log_bound));
    if (q->is_proven)
        puts(q->here.log_bound > log((double)o->rounds * o->lipschitz)
                 ? "  The bound exceeds L T, so it promises nothing yet: T is too small for this d and lambda."
                 : "  The bound is below L T, so it is informative.");
}

static void print_text(const karma_theory_options *o, const quantities *q) {
    char a[64];
    printf(
        "gamma(epsilon)   %.0f\n  Sequences of up to %.0f attributes bring the class of the embedding within %.3g of\n"
        "  the best linear function of the complete rows (theorem main, lemma approximation).\n",
        q->gamma, q->gamma, q->approximation);
    printf("Gamma            %s\n  The embedding has that many coordinates; the kernel never forms them.\n",
           number_of_log(a, q->log_big_gamma));
    printf("sample size      about %s rows\n  Enough, up to a constant that the paper leaves open, for an excess loss "
           "of %g with\n  probability %g whatever the distribution (theorem main). A large margin needs far fewer.\n",
           number_of_log(a, q->log_sample_size), o->epsilon, 1.0 - o->delta);
    printf("  The paper has %s: Gamma^2 where Gamma gamma is enough (docs/mathematics.md).\n",
           number_of_log(a, q->log_paper_sample_size));
    print_regret(o, q);
}

static int run(tool *t) {
    karma_error err;
    if (karma_options_check(karma_theory_option_table(), &t->theory, &err) != KARMA_OK) return fail(NULL, &err);
    quantities q = compute(&t->theory);
    if (t->options.json) return print_json(to_json(&t->theory, &q));
    begin_text();
    print_text(&t->theory, &q);
    return finish_stdout();
}

static const char *const tool_names[] = {"json", "quiet", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Parameters", karma_theory_option_table, offsetof(tool, theory), NULL},
};

const tool_command command_theory = {
    .name = "theory",
    .arguments = "",
    .summary = "the paper's guarantees for given parameters",
    .description =
        "Prints gamma(epsilon), the dimension Gamma of the embedding, the sample size of the main theorem and the "
        "regret bound of Algorithm 1, as logarithms where the numbers are huge, and explains them.",
    .example = "  karma theory --lambda 0.5 --epsilon 0.1 --lipschitz 1 --dim 10 --delta 0.05\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
