/* karma train: a table becomes a model file. */
#include <math.h>
#include <string.h>

#include "report_page.h"
#include "stream_run.h"

/* Of the columns that were learned from: those without an observed cell were left out. */
static double missing_share(const tool *t, const karma_model *model, const karma_table *table) {
    double n_rows = sum_of_all(t, (double)karma_table_n_rows(table));
    double n_observed = sum_of_all(t, (double)karma_table_n_observed(table));
    double cells = n_rows * (double)karma_model_n_attributes(model);
    return cells > 0.0 ? 1.0 - n_observed / cells : 0.0;
}

/* Share of training rows outside the most common class. */
static double majority_error(const karma_model *model, size_t target, const char **class_name) {
    size_t best = 0, total = 0;
    for (size_t k = 0; k < karma_model_n_classes(model, target); k++) {
        total += karma_model_class_count(model, target, k);
        if (karma_model_class_count(model, target, k) > karma_model_class_count(model, target, best)) best = k;
    }
    *class_name = karma_model_class(model, target, best);
    return 1.0 - (double)karma_model_class_count(model, target, best) / (double)total;
}

/* `key`: what its name is called there. */
static void add_target_json(json_t *object, const char *key, const karma_model *model, size_t target) {
    int classify = karma_model_task(model, target) == KARMA_TASK_CLASSIFY;
    (void)json_object_set_new(object, key, json_string(karma_model_target_name(model, target)));
    (void)json_object_set_new(object, "task", json_string(classify ? "classify" : "regress"));
    (void)json_object_set_new(object, "loss", json_string(karma_model_loss_name(model, target)));
    karma_coverage coverage;
    if (karma_left_out_coverage(&coverage, model, target, KARMA_AUTO, NULL) == KARMA_OK)
        (void)json_object_set_new(object, "certainty", coverage_json(&coverage, karma_model_task(model, target)));
    if (!classify) return;
    const char *name;
    double error = majority_error(model, target, &name);
    json_t *classes = json_array();
    for (size_t k = 0; k < karma_model_n_classes(model, target); k++)
        (void)json_array_append_new(classes, json_string(karma_model_class(model, target, k)));
    (void)json_object_set_new(object, "classes", classes);
    (void)json_object_set_new(object, "majority", json_real(1.0 - error));
}

/* The first target is in the object itself, and all targets are in its list. */
static json_t *summary_json(const tool *t, double missing, const karma_model *model, double seconds) {
    const karma_fit_info *info = karma_model_info(model);
    json_t *targets = json_array();
    for (size_t target = 0; target < karma_model_n_targets(model); target++) {
        json_t *own = json_object();
        add_target_json(own, "name", model, target);
        (void)json_array_append_new(targets, own);
    }
    if (karma_model_is_precomputed(model)) missing = NAN;
    json_t *o = json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:f, s:o}", "model", t->options.output, "rows",
                          (json_int_t)info->n_rows, "rows_without_label", (json_int_t)info->n_unlabelled, "rows_joined",
                          (json_int_t)info->n_joined, "attributes", (json_int_t)karma_model_n_attributes(model),
                          "missing", json_number_or_null(missing), "options",
                          options_json(karma_fit_option_table(), karma_model_options(model)), "seconds", seconds,
                          "estimated_bytes", t->estimated_bytes, "peak_bytes", peak_bytes(), "targets", targets);
    (void)json_object_update_new(o, solver_json(model));
    if (karma_model_search_info(model)) (void)json_object_set_new(o, "cv", search_json(karma_model_search_info(model)));
    add_target_json(o, "target", model, 0);
    return o;
}

/* The loss, if there is only one: several targets have theirs next to their names. */
static void print_solver(const karma_model *model) {
    printf("  solver         %s, ", karma_model_solver_name(model));
    if (karma_model_n_targets(model) == 1) printf("%s loss, ", karma_model_loss_name(model, 0));
    printf("C %.4g, ", karma_model_info(model)->C);
}

static void print_online(const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    char a[16], b[16];
    print_solver(model);
    printf("%zu rounds, %zu support rows\n", info->rounds, info->n_support);
    if (karma_model_task(model, 0) == KARMA_TASK_REGRESS) {
        printf("  loss           %.4g on average before each update, target in standard deviations\n", info->mean_loss);
        return;
    }
    const char *name, *of = karma_model_n_targets(model) > 1 ? " about " : "";
    double error = majority_error(model, 0, &name);
    printf("  errors         %s of the decisions%s%s taken before each update; always predicting '%s': %s\n",
           percent(a, info->error_rate), of, *of ? karma_model_target_name(model, 0) : "", name, percent(b, error));
}

static void print_batch(const karma_model *model, int is_verbose) {
    const karma_fit_info *info = karma_model_info(model);
    print_solver(model);
    printf("%zu support rows\n", info->n_support);
    if (!is_verbose && info->stop != KARMA_STOP_LIMIT) return;
    printf("  work           %.1f passes, %.3g kernel evaluations\n", (double)info->rounds / (double)info->n_rows,
           info->kernel_evaluations);
    printf("  optimum        between %.6g (dual) and %.6g (primal), a gap of %.2g", info->dual, info->primal,
           info->gap);
    puts(info->stop == KARMA_STOP_LIMIT ? " (stopped before --tolerance was reached; see --passes)" : "");
}

/* A model that was not chosen by a search: its kernel; the solver's figures only if requested or if it failed to
 * converge. */
static void print_fit(const tool *t, const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    fputs("  kernel         ", stdout);
    print_kernel(model);
    if (info->solver == KARMA_SOLVER_ONLINE)
        print_online(model);
    else
        print_batch(model, t->options.verbose);
}

static void print_certainty(const tool *t, const karma_model *model) {
    for (size_t target = 0; target < karma_model_n_targets(model); target++)
        if (karma_model_level_is_given(model, target) || t->options.verbose) print_left_out_coverage(model, target);
}

/* The file contains these rows. */
static void print_kept_rows(const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    size_t n = karma_model_n_rows_kept(model);
    if (n && !karma_model_is_precomputed(model))
        printf("  The file contains %zu of the %zu training rows%s.\n", n, info->n_rows,
               n > info->n_rows / 2 ? " (fewer with --compact)" : "");
}

static void print_next_steps(const tool *t, int has_score) {
    const char *words[] = {t->options.output, t->arguments[0], t->options.output};
    const char *texts[] = {"  Next: karma predict ", " NEW; karma cv ",
                           has_score ? " with the same options, for a score that is not optimistic; karma explain "
                                     : " with the same options, for a score; karma explain "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        fputs(texts[i], stdout);
        put_shell_word(stdout, words[i]);
    }
    puts(" HELD-OUT --importance.");
}

static void print_summary(const tool *t, double missing, const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    char a[16];
    size_t d = karma_model_n_attributes(model);
    begin_text();
    if (!karma_model_search_info(model)) print_warning(model); /* a search has its own notice */
    printf("%s: learned from %zu rows and ", t->options.output, info->n_rows);
    if (karma_model_is_precomputed(model))
        puts("their kernel values");
    else
        printf("%zu column%s, %s of the cells missing\n", d, d == 1 ? "" : "s", percent(a, missing));
    if (karma_model_search_info(model)) {
        print_outcome(model, karma_model_is_precomputed(model) ? 0.0 : missing);
        if (t->options.verbose) print_search(karma_model_search_info(model));
    } else {
        for (size_t target = 0; target < karma_model_n_targets(model); target++) print_target_line(model, target);
        print_fit(t, model);
    }
    print_certainty(t, model);
    print_kept_rows(model);
    print_next_steps(t, karma_model_search_info(model) != NULL);
}

static int save_and_report(tool *t, const karma_table *table, const karma_model *model, double started) {
    karma_error err;
    double missing = missing_share(t, model, table);
    if (!is_first_process(t)) return EXIT_DONE;
    if (karma_model_save(model, t->options.output, &err) != KARMA_OK) return fail(t->options.output, &err);
    int code = report_training(t, model, table);
    if (code != EXIT_DONE) return code;
    end_progress();
    const karma_search_info *search = karma_model_search_info(model);
    if (karma_model_info(model)->stop == KARMA_STOP_CANCELLED || (search && search->end == KARMA_SEARCH_INTERRUPTED))
        fprintf(stderr, "karma: interrupted; the best model so far is in %s\n", t->options.output);
    if (t->options.json) return print_json(summary_json(t, missing, model, now() - started));
    if (!t->options.quiet) print_summary(t, missing, model);
    return finish_stdout();
}

/* Landmarks are training rows, too, but few of them. */
static int make_compact(tool *t, const karma_table *table) {
    enum { LEAST = 20 };
    size_t n = karma_table_n_rows(table);
    if (!t->options.compact) return EXIT_DONE;
    if (t->fit.solver != KARMA_SOLVER_AUTO && t->fit.solver != KARMA_SOLVER_NYSTROM)
        return fail_usage(t, "--compact needs --solver nystrom, or none");
    t->fit.solver = KARMA_SOLVER_NYSTROM;
    if (t->fit.landmarks == (int64_t)KARMA_AUTO) t->fit.landmarks = n / 10 > LEAST ? (int64_t)(n / 10) : LEAST;
    int code = note_given(t, "solver");
    return code == EXIT_DONE ? note_given(t, "landmarks") : code;
}

/* The time limit is of the whole command: reading counts. */
static void start_clock(tool *t, double started) {
    const double least = karma_option_find(karma_search_option_table(), "time")->min;
    if (t->search.time > 0.0) t->search.time = fmax(least, t->search.time - (now() - started));
}

static int ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static int is_plain_csv(const tool *t) {
    const char *path = t->arguments[0];
    int is_csv = t->read.format == KARMA_FORMAT_CSV || ends_with(path, ".csv") || ends_with(path, ".tsv");
    return is_csv && !t->read.gram && !t->read.users && !t->read.cache;
}

/* What several processes learn together: a search of kernels, or the landmark solver. */
static const char *alone(tool *t) {
    int searches, is_nystrom = t->fit.solver == KARMA_SOLVER_NYSTROM;
    resolve_effort(t);
    searches = t->search.effort != KARMA_EFFORT_OFF;
    if (!is_nystrom && (!searches || t->fit.kernel || t->fit.solver != KARMA_SOLVER_AUTO))
        return "only --solver nystrom and a search without --kernel and --solver are split";
    if (!is_nystrom && !is_plain_csv(t)) return "only CSV files are split, without --gram, --users and --cache";
    if (searches && t->search.time > 0.0) return "--time is not split";
    if (t->options.go_on) return "--continue is not split";
    if (t->options.compact) return "--compact is not split";
    if (t->options.report) return "--report is not split";
    return strcmp(t->arguments[0], "-") == 0 ? "standard input cannot be split" : NULL;
}

static int run(tool *t) {
    double started = now();
    karma_error err;
    karma_table *table = NULL;
    karma_model *model = NULL;
    const char *path = t->arguments[0];
    if (!t->options.output) return fail_usage(t, "name the model file with -o MODEL");
    if (strcmp(t->options.output, "-") == 0)
        return fail_usage(t, "a model is written to a file, not to standard output");
    if (t->options.go_on) return continue_training(t);
    int code;
    resolve_effort(t);
    collect_notes(t);
    if (read_to_learn(&table, t, &err) != KARMA_OK)
        code = fail(path, &err);
    else if (karma_table_n_targets(table) == 0)
        code = fail_usage(t, "name the column of the label with --target COL%s",
                          t->read.format == KARMA_FORMAT_RATINGS ? ", or --item ID and --like THRESHOLD" : "");
    else if ((code = make_compact(t, table)) != EXIT_DONE)
        ; /* the reason was printed */
    else if ((code = agree(t, check_memory(t, table, 0.0, 0.0))) != EXIT_DONE)
        ;
    else if (start_clock(t, started), karma_search(&model, table, &t->fit, &t->search, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else {
        end_progress();
        code = save_and_report(t, table, model, started);
    }
    forget_notes();
    karma_model_free(model);
    karma_table_free(table);
    return code;
}

static const char *const tool_names[] = {"output", "continue", "report", "compact", "verbose", "json", "quiet", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    LEARNING_GROUPS,
};

const tool_command command_train = {
    .name = "train",
    .arguments = "DATA --target COL -o MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .summary = "learn a model from a table with missing values",
    .description =
        "Learns a classifier or a regressor from the rows of DATA that have a label, and writes it to MODEL. DATA is a "
        "CSV, TSV, ARFF or LIBSVM file or a file of ratings (--format ratings), gzipped or not, or a table of a "
        "database (sqlite:FILE?table=NAME); - is standard input. Cells may be missing in any pattern: they are never "
        "filled in. Ctrl-C stops early and keeps the model learned so far.\n\n"
        "Unless options of the kernel or the solver are given, kernels and values of C are tried by cross-validation, "
        "and the model is the average of those that do as well as the best (--effort, --time, --goal, --choose). "
        "Options given together with --effort are kept, and the rest is chosen.",
    .example = "  karma train patients.csv --target outcome --id patient -o patients.karma\n"
               "  karma train patients.csv --target outcome --probabilities sigmoid -o patients.karma\n"
               "  karma train patients.csv --target stay --loss pinball --quantile 0.1,0.5,0.9 -o stay.karma\n"
               "  karma train ratings.csv --format ratings --users users.csv --target gender -o gender.karma\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .stops_gently = 1,
    .alone = alone,
    .run = run,
};
