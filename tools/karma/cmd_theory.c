/* karma theory: the paper's quantities for given parameters. */
#include <math.h>

#include "tool.h"

typedef struct quantities {
    double gamma, log_big_gamma, log_sample_size, approximation;
    double log_rho, log_regret;       /* for gamma(epsilon) */
    double regret_gamma;              /* ln(T)/lambda, as theorem regret takes it */
    double log_regret_rho, log_bound; /* with that gamma */
} quantities;

static quantities compute(const karma_theory_options *o) {
    quantities q;
    q.gamma = karma_theory_gamma(o->lambda, o->epsilon, o->lipschitz);
    q.log_big_gamma = karma_theory_log_big_gamma((size_t)o->dim, q.gamma);
    q.log_sample_size = karma_theory_log_sample_size(q.log_big_gamma, o->epsilon, o->lipschitz, o->delta);
    q.approximation = karma_theory_approximation_bound(o->lambda, q.gamma);
    karma_regret_terms terms = {o->lipschitz, o->magnitude, q.log_big_gamma,  o->B,
                                o->lambda,    q.gamma,      (double)o->rounds};
    q.log_rho = karma_theory_log_rho(&terms);
    q.log_regret = karma_theory_log_regret_bound(&terms, q.log_rho);
    q.regret_gamma = fmax(1.0, ceil(log((double)o->rounds) / o->lambda));
    terms.gamma = q.regret_gamma;
    terms.log_big_gamma = karma_theory_log_big_gamma((size_t)o->dim, q.regret_gamma);
    q.log_regret_rho = karma_theory_log_rho(&terms);
    q.log_bound = karma_theory_log_regret_bound(&terms, q.log_regret_rho);
    return q;
}

static json_t *to_json(const karma_theory_options *o, const quantities *q) {
    const double ln10 = log(10.0);
    return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "options",
                     options_json(karma_theory_option_table(), o), "gamma", q->gamma, "log10_Gamma",
                     q->log_big_gamma / ln10, "log10_sample_size", q->log_sample_size / ln10, "approximation_bound",
                     q->approximation, "log10_rho", q->log_rho / ln10, "log10_regret_bound", q->log_regret / ln10,
                     "regret_gamma", q->regret_gamma, "log10_rho_at_regret_gamma", q->log_regret_rho / ln10,
                     "log10_regret_bound_at_regret_gamma", q->log_bound / ln10);
}

static void print_text(const karma_theory_options *o, const quantities *q) {
    char a[64], b[64];
    printf(
        "gamma(epsilon)   %.0f\n  Sequences of up to %.0f attributes bring the class of the embedding within %.3g of\n"
        "  the best linear function of the complete rows (theorem main, lemma approximation).\n",
        q->gamma, q->gamma, q->approximation);
    printf("Gamma            %s\n  The embedding has that many coordinates; the kernel never forms them.\n",
           number_of_log(a, q->log_big_gamma));
    printf("sample size      about %s rows\n  Enough, up to a constant that the paper leaves open, for an excess loss "
           "of %g with\n  probability %g whatever the distribution (theorem main). A large margin needs far fewer.\n",
           number_of_log(a, q->log_sample_size), o->epsilon, 1.0 - o->delta);
    printf("regret bound     %s over %lld rounds, with rho %s\n", number_of_log(a, q->log_regret), (long long)o->rounds,
           number_of_log(b, q->log_rho));
    printf("  With gamma = ln(T)/lambda = %.0f, as theorem regret takes it: %s.\n", q->regret_gamma,
           number_of_log(a, q->log_bound));
    printf("  No sequence of rows, not even a hostile one, makes Algorithm 1 lose more than this beyond the\n"
           "  best predictor with the best subspace. %s\n",
           q->log_regret > log((double)o->rounds * o->lipschitz)
               ? "Here it passes L T, so it promises nothing yet: T is too\n  small for this d and lambda."
               : "Here it is below L T, so it is informative.");
}

static int run(tool *t) {
    karma_error err;
    if (karma_options_check(karma_theory_option_table(), &t->theory, &err) != KARMA_OK) return fail(NULL, &err);
    quantities q = compute(&t->theory);
    if (t->options.json) return print_json(to_json(&t->theory, &q));
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
