/* karma compare: methods that learn from rows with missing values, on the same folds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_page.h"

static double mean_constant(const karma_comparison *c) {
    double sum = 0.0;
    for (size_t f = 0; f < c->n_done; f++) sum += c->constant[f] / (double)c->n_done;
    return sum;
}

/* Means over the folds that a method was judged on. */
typedef struct mean_seconds {
    double tune, fit, predict;
} mean_seconds;

static mean_seconds seconds_of(const karma_compare_method *m, size_t n_done) {
    mean_seconds s = {0.0, 0.0, 0.0};
    for (size_t f = 0; f < n_done; f++) {
        s.tune += m->folds[f].tune_seconds / (double)n_done;
        s.fit += m->folds[f].fit_seconds / (double)n_done;
        s.predict += m->folds[f].predict_seconds / (double)n_done;
    }
    return s;
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

static json_t *folds_json(const karma_compare_method *m, size_t n_done) {
    json_t *array = json_array();
    for (size_t f = 0; f < n_done; f++) {
        const karma_compare_fold *fold = &m->folds[f];
        if (isnan(fold->value)) break;
        json_t *kernel = fold->kernel ? json_string(fold->kernel) : json_null();
        (void)json_array_append_new(array,
                                    json_pack("{s:f, s:o, s:o, s:f, s:f, s:f, s:b}", "score", fold->value, "strength",
                                              json_number_or_null(fold->strength), "kernel", kernel, "tune_seconds",
                                              fold->tune_seconds, "fit_seconds", fold->fit_seconds, "predict_seconds",
                                              fold->predict_seconds, "cut_short", fold->is_cut_short));
    }
    return array;
}

static void add_number(json_t *object, const char *name, double value) {
    (void)json_object_set_new(object, name, json_number_or_null(value));
}

static json_t *method_json(const karma_comparison *c, size_t which) {
    const karma_compare_method *m = &c->methods[which];
    mean_seconds s = seconds_of(m, c->n_done);
    json_t *failure = m->failure ? json_string(m->failure) : json_null();
    json_t *object = json_pack("{s:s, s:s, s:b, s:b, s:o}", "name", m->name, "help", m->help, "transductive",
                               m->is_transductive, "best", which == c->best, "failure", failure);
    add_number(object, "score", m->mean);
    add_number(object, "error", m->error);
    add_number(object, "difference", m->difference);
    add_number(object, "difference_error", m->difference_error);
    add_number(object, "t", m->t);
    add_number(object, "p", m->p_value);
    add_number(object, "adjusted_p", m->adjusted_p);
    (void)json_object_set_new(object, "worse", json_boolean(m->is_worse));
    add_number(object, "tune_seconds", m->failure ? NAN : s.tune);
    add_number(object, "fit_seconds", m->failure ? NAN : s.fit);
    add_number(object, "predict_seconds", m->failure ? NAN : s.predict);
    (void)json_object_set_new(object, "folds", folds_json(m, c->n_done));
    return object;
}

static json_t *comparison_json(const tool *t, const karma_comparison *c, const size_t *order) {
    json_t *methods = json_array(), *constants = json_array();
    for (size_t i = 0; i < c->n_methods; i++) (void)json_array_append_new(methods, method_json(c, order[i]));
    for (size_t f = 0; f < c->n_done; f++) (void)json_array_append_new(constants, json_number_or_null(c->constant[f]));
    return json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:f}", "goal", karma_goal_name(c->goal),
                     "less_is_better", karma_goal_is_loss(c->goal), "rows", (json_int_t)c->n_rows, "n_folds",
                     (json_int_t)c->n_folds, "n_rounds", (json_int_t)c->n_rounds, "n_inner", (json_int_t)c->n_inner,
                     "folds_judged", (json_int_t)c->n_done, "constant_answer", json_number_or_null(mean_constant(c)),
                     "constant_folds", constants, "methods", methods, "estimated_bytes", t->estimated_bytes);
}

/* --- CSV ----------------------------------------------------------------------------------------------- */

static void write_number(FILE *stream, double value) {
    char text[KARMA_NUMBER_SIZE];
    fprintf(stream, ",%s", isnan(value) ? "" : karma_number_text(text, value));
}

static void write_fold(FILE *stream, const karma_comparison *c, const karma_compare_method *m, size_t f) {
    const karma_compare_fold *fold = &m->folds[f];
    int is_judged = !isnan(fold->value);
    fprintf(stream, "%s,%zu,%zu", m->name, f / c->n_folds + 1, f % c->n_folds + 1);
    write_number(stream, fold->value);
    write_number(stream, fold->strength);
    (void)fputc(',', stream);
    karma_csv_write_field(stream, fold->kernel ? fold->kernel : "");
    write_number(stream, is_judged ? fold->tune_seconds : NAN);
    write_number(stream, is_judged ? fold->fit_seconds : NAN);
    write_number(stream, is_judged ? fold->predict_seconds : NAN);
    (void)fputc(',', stream);
    karma_csv_write_field(stream, m->failure && !is_judged ? m->failure : "");
    (void)fputc('\n', stream);
}

static void write_csv(FILE *stream, const void *what) {
    const karma_comparison *c = what;
    fputs("method,round,part,score,strength,kernel,tune_seconds,fit_seconds,predict_seconds,failure\n", stream);
    for (size_t m = 0; m < c->n_methods; m++)
        for (size_t f = 0; f < c->n_done; f++) write_fold(stream, c, &c->methods[m], f);
}

/* --- for people ---------------------------------------------------------------------------------------- */

/* The table as it fits the terminal: names as long as they are, and the parts of the time only where there is room. */
typedef struct compare_view {
    const karma_comparison *c;
    int name; /* columns of the screen */
    int has_parts;
} compare_view;

enum { USUAL_NAME = 18, BESIDE_NAMES = 2 + 1 + 8 + 1 + 11 + 1 + 10 + 2 + 2 + 8, PARTS = 1 + 8 + 1 + 9 };

static compare_view view_of(const karma_comparison *c) {
    compare_view v = {c, USUAL_NAME, 1};
    size_t screen = terminal_width(STDOUT_FILENO), longest = strlen("constant");
    if (screen == 0) return v;
    for (size_t m = 0; m < c->n_methods; m++) {
        size_t own = screen_width(c->methods[m].name);
        if (own > longest) longest = own;
    }
    v.has_parts = screen >= longest + BESIDE_NAMES + PARTS;
    v.name = (int)name_width(longest, BESIDE_NAMES + (v.has_parts ? PARTS : 0));
    return v;
}

static void print_name(const compare_view *v, const char *name) {
    fputs("  ", stdout);
    print_field(name, (size_t)v->name);
    putchar(' ');
}

static void print_method(const compare_view *v, size_t which) {
    const karma_compare_method *m = &v->c->methods[which];
    mean_seconds s = seconds_of(m, v->c->n_done);
    char difference[32];
    int decimals = score_decimals(m->mean);
    (void)snprintf(difference, sizeof difference, "%+.*f", decimals, m->difference);
    if (fabs(m->difference) < 0.00005) (void)snprintf(difference, sizeof difference, "0.0000"); /* and not a sign */
    char error[32] = "";
    if (!isnan(m->error)) (void)snprintf(error, sizeof error, "+- %.*f", decimals, m->error);
    print_name(v, m->name);
    printf("%8.*f %-11s %10s %s  %8.3f", decimals, m->mean, error, which == v->c->best ? "best" : difference,
           m->is_worse ? "*" : " ", s.tune + s.fit + s.predict);
    if (v->has_parts) printf(" %8.3f %9.3f", s.fit, s.predict);
    puts(m->is_transductive ? "  transductive" : "");
}

/* The line of the constant prediction is placed by its score. */
static void print_constant(const compare_view *v, double score) {
    print_name(v, "constant");
    printf("%8.*f\n", score_decimals(score), score);
}

static void print_failures(const compare_view *v) {
    for (size_t m = 0; m < v->c->n_methods; m++) {
        if (!v->c->methods[m].failure) continue;
        print_name(v, v->c->methods[m].name);
        printf("failed: %s\n", v->c->methods[m].failure);
    }
}

static int has_worse(const karma_comparison *c) {
    int any = 0;
    for (size_t m = 0; m < c->n_methods; m++) any |= c->methods[m].is_worse;
    return any;
}

static void print_cut_short(const compare_view *v) {
    const karma_comparison *c = v->c;
    for (size_t m = 0; m < c->n_methods; m++) {
        size_t n = 0;
        for (size_t f = 0; f < c->n_done && !c->methods[m].failure; f++) n += c->methods[m].folds[f].is_cut_short != 0;
        if (n == 0) continue;
        print_name(v, c->methods[m].name);
        printf("its search was cut short by the time limit in %zu of %zu folds\n", n, c->n_done);
    }
}

static void print_table(const karma_comparison *c, const size_t *order) {
    double constant = mean_constant(c), sign = karma_goal_is_loss(c->goal) ? -1.0 : 1.0;
    compare_view v = view_of(c);
    int is_said = isnan(constant);
    putchar('\n');
    print_name(&v, "method");
    printf("%20s %10s    %8s", karma_goal_name(c->goal), "difference", "total s");
    if (v.has_parts) printf(" %8s %9s", "fit s", "predict s");
    putchar('\n');
    for (size_t i = 0; i < c->n_methods; i++) {
        const karma_compare_method *m = &c->methods[order[i]];
        if (!is_said && (m->failure || sign * constant > sign * m->mean)) {
            print_constant(&v, constant);
            is_said = 1;
        }
        if (!m->failure) print_method(&v, order[i]);
    }
    if (!is_said) print_constant(&v, constant);
    print_failures(&v);
    print_cut_short(&v);
    printf("\ndifference: from the best%s; total s: tuning, fitting and predicting one fold\n",
           karma_goal_is_loss(c->goal) ? ", a loss, so positive is worse" : ", so negative is worse");
    if (c->best < c->n_methods && sign * constant >= sign * c->methods[c->best].mean)
        puts("no method is better than a constant prediction");
    if (c->best == c->n_methods || c->n_done < 2) return;
    if (has_worse(c))
        puts("* significantly worse than the best, at 5% over all methods; other differences may be chance");
    else
        puts("no method is significantly worse than the best");
}

static void print_comparison(const tool *t, const karma_comparison *c, const size_t *order) {
    begin_text();
    printf("%s: %zu rows, each left out %s, in %zu folds; strengths were chosen without them\n",
           path_text(t->arguments[0]), c->n_rows, times_text((char[TIMES_SIZE]){0}, c->n_rounds), c->n_folds);
    if (c->n_done < c->n_folds * c->n_rounds)
        printf("  interrupted after %zu fold%s\n", c->n_done, c->n_done == 1 ? "" : "s");
    print_table(c, order);
}

/* --- the command --------------------------------------------------------------------------------------- */

/* By more than the rounding of sums: equal scores stay in the order of the methods. */
static int is_before(const karma_comparison *c, size_t method, size_t other) {
    const karma_compare_method *a = &c->methods[method], *b = &c->methods[other];
    double sign = karma_goal_is_loss(c->goal) ? -1.0 : 1.0;
    if (a->failure || b->failure) return !a->failure && b->failure;
    return sign * (a->mean - b->mean) > 1e-12 * fmax(1.0, fabs(b->mean));
}

/* Methods by their scores, failures last. There are a few: insertion is enough. */
static void sort_methods(size_t *order, const karma_comparison *c) {
    for (size_t m = 0; m < c->n_methods; m++) {
        size_t at = m;
        for (; at > 0 && is_before(c, m, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = m;
    }
}

/* -o - uses standard output for the CSV; --quiet leaves the table out if a file has everything. */
static int wants_table(const tool *t) {
    return !t->options.output || !(t->options.quiet || writes_stdout(t));
}

static int print_report(const tool *t, const karma_comparison *c, const size_t *order) {
    if (t->options.json) return print_json(comparison_json(t, c, order));
    if (!wants_table(t)) return EXIT_DONE;
    print_comparison(t, c, order);
    return finish_stdout();
}

/* The table is printed even if the file cannot be written. */
static int report_sorted(const tool *t, const karma_comparison *c, const size_t *order) {
    int written = t->options.output ? write_output(t, write_csv, c) : EXIT_DONE;
    int printed = print_report(t, c, order);
    return written != EXIT_DONE ? written : printed;
}

static int report_all(const tool *t, const karma_comparison *c) {
    size_t *order = calloc(c->n_methods, sizeof *order);
    if (!order) return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    sort_methods(order, c);
    int code = report_sorted(t, c, order);
    free(order);
    return code;
}

/* Matrices of all cells that imputers fill, as copies of a table whose cells have 12 bytes each. */
static const double FILLED_COPIES = 6.0;

static int run(tool *t) {
    karma_error err;
    karma_table *table = NULL;
    karma_comparison comparison = {0};
    tree_methods trees;
    const char *path = t->arguments[0];
    if (t->options.json && t->options.output && writes_stdout(t))
        return fail_usage(t, "-o - and --json both need standard output: use -o FILE");
    collect_notes(t);
    int code = find_trees(&trees, t);
    if (code != EXIT_DONE)
        ; /* the notice has been shown */
    else if (read_to_learn(&table, t, &err) != KARMA_OK)
        code = fail(path, &err);
    else if (karma_table_n_targets(table) == 0)
        code = fail_usage(t, "name the column of the label with --target COL");
    else if ((code = check_memory(t, table, 1.0, FILLED_COPIES)) != EXIT_DONE)
        ;
    else if (karma_compare_with(&comparison, table, &t->fit, &t->search, &t->compare, trees.items, trees.count,
                                &t->hooks, &err) != KARMA_OK)
        code = err.status == KARMA_ERR_OPTION ? fail_usage(t, "%s", err.message) : fail(path, &err);
    else {
        end_progress();
        code = report_all(t, &comparison);
        if (code == EXIT_DONE)
            code = report_result(&(report){.t = t, .table = table, .data = path, .comparison = &comparison},
                                 "Comparison of methods");
    }
    forget_notes();
    karma_comparison_clear(&comparison);
    clear_trees(&trees);
    karma_table_free(table);
    return code;
}

static const char *const tool_names[] = {"output", "report", "json", "quiet", NULL};
static const char *const tree_names[] = {"with-trees", "python", NULL};
static const char *const search_names[] = {"goal", "effort", "choose", NULL};
static const char *const label_names[] = {"task", "loss", "tube", "huber", "quantile", "class-weight", NULL};
static const char *const work_names[] = {"tolerance", "memory", "seed", "threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Comparison", karma_compare_option_table, offsetof(tool, compare), NULL},
    {"Gradient-boosted trees", tool_option_table, offsetof(tool, options), tree_names},
    {"Choosing a model", karma_search_option_table, offsetof(tool, search), search_names},
    {"Columns", karma_read_option_table, offsetof(tool, read), column_option_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), file_option_names},
    {"What to learn", karma_fit_option_table, offsetof(tool, fit), label_names},
    {"Work", karma_fit_option_table, offsetof(tool, fit), work_names},
};

const tool_command command_compare = {
    .name = "compare",
    .arguments = "DATA --target COL",
    .min_arguments = 1,
    .max_arguments = 1,
    .summary = "compare methods for missing values on the same rows",
    .description =
        "Compares methods by cross-validation, on the same --folds folds for all of them. Prints the score "
        "of each with a standard error, its difference from the best method, and the seconds that one fit "
        "and one prediction took. A * marks a method that is significantly worse than the best: a paired "
        "t-test over the folds, corrected for the training rows that folds share and for the number of "
        "methods. A method that fails is shown with its reason.\n\n"
        "All methods are tuned in the same way: by cross-validation on the training rows of each fold, with --inner "
        "folds, each method takes the best of the values 0.1, 1, 10 and 100 for the strength, the weight of "
        "the loss relative to the regulariser.\n\n"
        "Baselines: complete-case, horvitz-thompson, zero, mean, mean-indicator, regression, "
        "hot-deck-nearest, hot-deck-random, knn, soft-impute, mc-1, mc-b, geom, polar. karma's own: "
        "karma-1, karma-2 and karma-4 by gamma, karma-rank, karma-subspace, karma-union, karma-auto, which "
        "chooses as karma train does with this --effort. --with-trees adds trees-sklearn and trees-xgboost: "
        "gradient-boosted trees of Python's libraries, in a separate process, with settings chosen on the "
        "same inner folds. -o writes a CSV file with a line for each method and fold.",
    .example =
        "  karma compare patients.csv --target outcome\n"
        "  karma compare patients.csv --target outcome --methods zero,mean,knn,karma-auto --rounds 5 -o folds.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .stops_gently = 1,
    .run = run,
};
