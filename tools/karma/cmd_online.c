/* karma online. With --regret: Algorithm 1 on a regular sequence, the best predictor in hindsight, and the bound. */
#include <math.h>

#include "report_page.h"
#include "stream_run.h"

static json_t *point_json(const karma_regret_point *point) {
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:b}", "rounds", (json_int_t)point->rounds, "learner",
                     point->learner, "best", point->best, "best_at_least", point->best_at_least, "regret",
                     point->regret, "log10_bound", point->log_bound / log(10.0), "within",
                     point->regret <= exp(point->log_bound));
}

static json_t *to_json(const karma_regret_options *o, const karma_regret *regret) {
    const double ln10 = log(10.0);
    json_t *points = json_array();
    for (size_t p = 0; p < regret->n_points; p++) (void)json_array_append_new(points, point_json(&regret->points[p]));
    return json_pack("{s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "options",
                     options_json(karma_regret_option_table(), o), "gamma", (json_int_t)regret->gamma, "log10_Gamma",
                     regret->log_big_gamma / ln10, "log10_rho", regret->log_rho / ln10, "smallest_lambda",
                     regret->lambda, "magnitude", regret->magnitude, "missing", regret->missing, "checkpoints", points);
}

/* Checkpoints whose regret is above the bound: by the theorem there are none. */
static size_t count_above(const karma_regret *regret) {
    size_t count = 0;
    for (size_t p = 0; p < regret->n_points; p++)
        count += !(regret->points[p].regret <= exp(regret->points[p].log_bound));
    return count;
}

static void print_table(const karma_regret *regret) {
    printf("%8s %12s %12s %12s %16s\n", "rounds", "learner", "best", "regret", "bound");
    for (size_t p = 0; p < regret->n_points; p++) {
        const karma_regret_point *point = &regret->points[p];
        char bound[64];
        printf("%8zu %12.6g %12.6g %12.6g %16s\n", point->rounds, point->learner, point->best, point->regret,
               number_of_log(bound, point->log_bound));
    }
}

/* Why a learner may lose less than the best predictor: it is not one of the predictors it is compared with. */
static void explain_gain(const karma_regret_point *last) {
    if (last->regret < 0.0)
        printf("It is negative, for the learner is not bound to |w| <= 1 as those predictors are.\n");
}

static void print_verdict(const karma_regret *regret) {
    const karma_regret_point *last = &regret->points[regret->n_points - 1];
    char bound[64], share[64];
    size_t n_above = count_above(regret);
    if (n_above)
        printf("The learner's regret is above the bound at %zu of %zu checkpoints, which contradicts the theorem.\n",
               n_above, regret->n_points);
    else
        printf("The learner's regret is within the bound at every checkpoint: after %zu rounds it is %.6g, and\n"
               "theorem regret allows %s.\n",
               last->rounds, last->regret, number_of_log(bound, last->log_bound));
    explain_gain(last);
    double log_share = last->log_bound - log((double)last->rounds);
    printf("The bound is %s per round. %s\n", number_of_log(share, log_share),
           log_share < 0.0 ? "Always answering 0 loses 1 per round, so the bound is informative here."
                           : "Always answering 0 loses only 1 per round: for so few rounds the bound holds\n"
                             "but promises nothing.");
}

static void print_text(const karma_regret_options *o, const karma_regret *regret) {
    char big_gamma[64], rho[64], missing[16];
    print_table(regret);
    printf("\nCumulative hinge losses of Algorithm 1 (learner) and of the best f_{w,Q*}, |w| <= 1, which knows\n"
           "the subspace and all rows so far (best). Rows lie in a random subspace of dimension %lld in %lld\n"
           "attributes, %s of the cells are missing, every row is regular with lambda at least %g,\n"
           "and their order is %s.\n",
           (long long)o->rank, (long long)o->dim, percent(missing, regret->missing), o->lambda,
           o->order == KARMA_ORDER_ADVERSARIAL ? "chosen against the learner" : "random");
    printf("gamma %zu, Gamma %s, rho %s, X %.4g, B = gamma.\n", regret->gamma,
           number_of_log(big_gamma, regret->log_big_gamma), number_of_log(rho, regret->log_rho), regret->magnitude);
    print_verdict(regret);
}

static const char *const tool_names[] = {"output", "checkpoint", "continue", "json", "quiet", "regret", "report", NULL};
static const char *const stream_file_names[] = {"missing", "delimiter",  "header", "decimal",
                                                "dates",   "date-order", NULL};
static const char *const stream_column_names[] = {"target", "numeric", "category", "ordered", "ignore", "id", NULL};
static const char *const learner_names[] = {"task", "loss", "class-weight", "kernel", NULL};
static const char *const stream_names[] = {"checkpoint", "continue", "budget", "warm-up", NULL};
static const char *const regret_names[] = {"dim", "rank", "lambda", "gamma", "rounds", "order", "label-noise", NULL};

/* An option that has no effect is refused rather than ignored. */
static int refuse(const tool *t, const char *const *names, const char *what_for) {
    for (; *names; names++)
        if (was_given(t, *names)) return fail_usage(t, "--%s is for %s", *names, what_for);
    return EXIT_DONE;
}

static int run(tool *t) {
    karma_error err;
    karma_regret *regret = NULL;
    if (!t->options.regret) {
        int code = refuse(t, regret_names, "--regret, and not for a stream");
        return code == EXIT_DONE ? run_stream(t) : code;
    }
    if (t->n_arguments) return fail_usage(t, "--regret makes its own rows: leave %s out", t->arguments[0]);
    if (t->options.output) return fail_usage(t, "-o is for a stream, and not for --regret");
    const char *const *const lists[] = {stream_names, stream_column_names, stream_file_names, learner_names};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (refuse(t, lists[i], "a stream, and not for --regret") != EXIT_DONE) return EXIT_USAGE;
    if (karma_regret_run(&regret, &t->regret, &t->hooks, &err) != KARMA_OK) return fail(NULL, &err);
    int code = EXIT_DONE;
    if (t->options.json)
        code = print_json(to_json(&t->regret, regret));
    else {
        end_progress();
        begin_text();
        print_text(&t->regret, regret);
        code = finish_stdout();
    }
    if (code == EXIT_DONE) code = report_result(&(report){.t = t, .regret = regret}, "Regret of the online learner");
    karma_regret_free(regret);
    return code;
}

static const option_group groups[] = {
    {"What and how", tool_option_table, offsetof(tool, options), tool_names},
    {"Columns", karma_read_option_table, offsetof(tool, read), stream_column_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), stream_file_names},
    {"Learning from a stream", karma_online_option_table, offsetof(tool, online), NULL},
    {"What to learn", karma_fit_option_table, offsetof(tool, fit), learner_names},
    {"The sequence of --regret; seed and threads are also for streams", karma_regret_option_table,
     offsetof(tool, regret), NULL},
};

const tool_command command_online = {
    .name = "online",
    .arguments = "[DATA] --target COL -o MODEL",
    .max_arguments = 1,
    .summary = "learn from a stream of rows without end, or measure the regret of Algorithm 1",
    .description =
        "Reads rows from DATA or standard input as long as they come, predicts each before it is learned, and prints "
        "the mean loss and the share of errors of these predictions. Memory does not grow with the stream: the model "
        "is built of at most --budget of its rows. "
        "--checkpoint writes the model from time to time, and --continue goes on from it: given the rows that come "
        "next, "
        "the result is the same, byte for byte, as without the interruption. DATA is delimited text, gzipped or "
        "not. Ctrl-C and SIGTERM end the stream and "
        "keep the model. On a stream --kernel is rank and --loss logistic (huber for numbers) unless they are "
        "given.\n\n"
        "With --regret, makes a sequence of rows with missing cells that is regular in the sense of the paper, runs "
        "Algorithm 1 on it, row by row, and reports at logarithmic checkpoints its cumulative loss, that of the best "
        "predictor in hindsight which knows the subspace, and the bound of theorem regret on the difference. "
        "The order of the rows is random or adversarial: of the next 256 rows the one on which the learner "
        "loses most always comes first.",
    .example = "  karma online sensors.csv --target alarm --checkpoint 10000 -o alarm.karma\n"
               "  karma online more.csv --continue alarm.karma -o alarm.karma\n"
               "  tail -n +1 -f sensors.csv | karma online --target alarm --checkpoint 60s -o alarm.karma\n"
               "  karma online --regret --dim 5 --rank 2 --lambda 0.3 --gamma 2 --rounds 1000 --order adversarial\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .stops_gently = 1,
    .run = run,
};
