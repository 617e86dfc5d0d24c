/* Results for people (aligned text) and for programs (one JSON object). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool.h"

json_t *json_number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

const char *number_of_log(char text[64], double log_value) {
    double log10_value = log_value / log(10.0);
    if (fabs(log10_value) < 7.0)
        (void)snprintf(text, 64, "%.6g", exp(log_value));
    else if (log10_value < 1e6) {
        double exponent = floor(log10_value);
        (void)snprintf(text, 64, "%.3g x 10^%.0f", pow(10.0, log10_value - exponent), exponent);
    } else
        (void)snprintf(text, 64, "10^%.6g", log10_value);
    return text;
}

int finish_stdout(void) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_DONE;
    fprintf(stderr, "karma: cannot write to standard output: %s\n", strerror(errno ? errno : EIO));
    return EXIT_FAILED;
}

int writes_stdout(const tool *t) {
    return !t->options.output || strcmp(t->options.output, "-") == 0;
}

/* Jansson leaves out a part that it has no memory for. Objects are put together in many places, so that this happened
 * is noticed here, and print_json says it. A program may have global state; a library must not. */
static int json_is_incomplete;

static void *json_memory(size_t size) {
    void *memory = malloc(size);
    if (!memory) json_is_incomplete = 1;
    return memory;
}

void watch_json_memory(void) {
    json_set_alloc_funcs(json_memory, free);
}

static int fail_json(void) {
    fputs("karma: cannot write the JSON: out of memory, or a name is not valid UTF-8\n", stderr);
    return EXIT_FAILED;
}

int print_json(json_t *object) {
    if (!object || json_is_incomplete) {
        json_decref(object);
        return fail_json();
    }
    int is_whole = json_dumpf(object, stdout, JSON_INDENT(2)) == 0 || ferror(stdout);
    if (is_whole) (void)fputc('\n', stdout);
    json_decref(object);
    return is_whole ? finish_stdout() : fail_json();
}

json_t *options_json(const karma_option_table *table, const void *options) {
    json_t *object = json_object();
    for (size_t i = 0; i < table->count; i++) {
        const karma_option *o = &table->options[i];
        const void *field = (const char *)options + o->offset;
        size_t size = (size_t)karma_option_text(o, options, NULL, 0) + 1;
        char *text = malloc(size);
        if (text) (void)karma_option_text(o, options, text, size);
        json_t *value = json_string(text);
        int is_word = text && text[0] >= 'a' && text[0] <= 'z';
        if (o->kind == KARMA_OPTION_INTEGER && !is_word) {
            json_decref(value);
            value = json_integer(*(const int64_t *)field);
        } else if (o->kind == KARMA_OPTION_REAL && !is_word) {
            json_decref(value);
            value = json_real(*(const double *)field);
        } else if (o->kind == KARMA_OPTION_SWITCH) {
            json_decref(value);
            value = json_boolean(*(const int *)field);
        }
        (void)json_object_set_new(object, o->name, value);
        free(text);
    }
    return object;
}

/* A gap above this may show in predictions. It is (P - D) / P, and the minimum is not below D: P is at most gap / (1 -
 * gap) above it. */
static const double MOST_SILENT_GAP = 0.02;

static int is_far_from_optimum(const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    return info->solver != KARMA_SOLVER_ONLINE && info->stop != KARMA_STOP_CONVERGED && info->gap > MOST_SILENT_GAP;
}

static void put_warning(char *text, size_t size, const karma_model *model) {
    double gap = karma_model_info(model)->gap;
    char how_far[64] = "far";
    if (gap < 0.5) (void)snprintf(how_far, sizeof how_far, "up to %.0f%%", 100.0 * gap / (1.0 - gap));
    (void)snprintf(text, size,
                   "the model did not converge: its objective may be %s above the minimum, and its predictions may be "
                   "worse than those of a converged model. More passes (--passes 100000)%s, a smaller --C or --solver "
                   "nystrom help",
                   how_far, karma_model_search_info(model) ? " or time (--time)" : "");
}

void print_warning(const karma_model *model) {
    char text[300];
    if (!is_far_from_optimum(model)) return;
    put_warning(text, sizeof text, model);
    printf("warning: %s\n", text);
}

json_t *solver_json(const karma_model *model) {
    const karma_fit_info *info = karma_model_info(model);
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:I, s:f, s:I, s:f, s:f, s:f, s:f, s:f}", "solver", karma_model_solver_name(model),
                  "stop", karma_stop_name(info->stop), "loss", karma_model_loss_name(model, 0), "rounds",
                  (json_int_t)info->rounds, "passes", (double)info->rounds / (double)info->n_rows, "support_rows",
                  (json_int_t)info->n_support, "kernel_evaluations", info->kernel_evaluations, "C", info->C, "rho",
                  info->rho, "scale", info->scale, "log_norm", info->log_norm);
    if (info->solver != KARMA_SOLVER_ONLINE)
        (void)json_object_update_new(
            o, json_pack("{s:f, s:f, s:f}", "primal", info->primal, "dual", info->dual, "gap", info->gap));
    else
        (void)json_object_set_new(o, "mean_loss", json_real(info->mean_loss));
    if (is_far_from_optimum(model)) {
        char text[300];
        put_warning(text, sizeof text, model);
        (void)json_object_set_new(o, "warning", json_string(text));
    }
    if (info->solver == KARMA_SOLVER_NYSTROM)
        (void)json_object_set_new(o, "landmarks",
                                  json_pack("{s:I, s:f, s:{s:f, s:f}}", "count", (json_int_t)info->n_landmarks,
                                            "held_out_loss", info->held_out_loss, "half", "held_out_loss",
                                            info->half_held_out_loss, "excess", info->half_excess));
    if (info->solver == KARMA_SOLVER_ONLINE && karma_model_task(model, 0) == KARMA_TASK_CLASSIFY)
        (void)json_object_set_new(o, "progressive_error", json_real(info->error_rate));
    if (karma_model_is_precomputed(model)) {
        (void)json_object_set_new(o, "scale", json_null());
        (void)json_object_set_new(o, "log_norm", json_null());
    }
    return o;
}

/* "cosine", as a user writes it. */
static const char *option_word(char text[32], const char *name, const karma_fit_options *options) {
    (void)karma_option_text(karma_option_find(karma_fit_option_table(), name), options, text, 32);
    return text;
}

void print_kernel(const karma_model *model) {
    const karma_fit_options *options = karma_model_options(model);
    const char *formula = options->kernel ? options->kernel : "linear";
    char outer[32], scale[32];
    int mapped = options->outer != KARMA_OUTER_IDENTITY;
    option_word(outer, "outer", options);
    fputs(formula, stdout);
    if (karma_model_is_precomputed(model))
        putchar('\n');
    else if (!karma_model_has_plain_kernel(model))
        printf("; defaults%s%s%s gamma %lld, scale %s, bias %g\n", mapped ? " outer " : "", mapped ? outer : "",
               mapped ? "," : "", (long long)options->gamma, option_word(scale, "scale", options), options->bias);
    else
        printf("%s%s, gamma %lld, scale %.4g, bias %g\n", mapped ? " under " : "", mapped ? outer : "",
               (long long)options->gamma, karma_model_info(model)->scale, options->bias);
}

json_t *target_names_json(const karma_model *model) {
    json_t *names = json_array();
    for (size_t t = 0; t < karma_model_n_targets(model); t++)
        (void)json_array_append_new(names, json_string(karma_model_target_name(model, t)));
    return names;
}

void write_id_names(FILE *stream, const karma_table *table) {
    for (size_t i = 0; i < karma_table_n_ids(table); i++) {
        karma_csv_write_field(stream, karma_table_id_name(table, i));
        fputc(',', stream);
    }
}

void write_ids(FILE *stream, const karma_table *table, size_t row) {
    for (size_t i = 0; i < karma_table_n_ids(table); i++) {
        karma_csv_write_field(stream, karma_table_id(table, i, row));
        fputc(',', stream);
    }
}

void add_ids_json(json_t *object, const karma_table *table, size_t row) {
    for (size_t i = 0; i < karma_table_n_ids(table); i++)
        (void)json_object_set_new(object, karma_table_id_name(table, i), json_string(karma_table_id(table, i, row)));
}

int write_output(const tool *t, void (*write)(FILE *stream, const void *what), const void *what) {
    karma_error err;
    karma_output *output = NULL;
    if (karma_output_open(&output, t->options.output, &err) != KARMA_OK) return fail(t->options.output, &err);
    write(karma_output_stream(output), what);
    if (karma_output_commit(output, &err) != KARMA_OK) return fail(t->options.output, &err);
    return EXIT_DONE;
}

const char *percent(char text[16], double share) {
    (void)snprintf(text, 16, isfinite(share) ? "%.1f%%" : "-", 100.0 * share);
    return text;
}

/* --- metrics ------------------------------------------------------------------------------------------- */

static json_t *confusion_json(const karma_model *model, size_t target, const karma_metrics *m) {
    json_t *rows = json_object();
    for (size_t i = 0; i <= m->n_classes; i++) {
        json_t *row = json_object();
        size_t total = 0;
        for (size_t j = 0; j < m->n_classes; j++) {
            size_t count = m->confusion[i * m->n_classes + j];
            total += count;
            (void)json_object_set_new(row, karma_model_class(model, target, j), json_integer((json_int_t)count));
        }
        if (i < m->n_classes || total > 0)
            (void)json_object_set(
                rows, i < m->n_classes ? karma_model_class(model, target, i) : "(unknown to the model)", row);
        json_decref(row);
    }
    return rows;
}

static json_t *quantiles_json(const karma_model *model, size_t target, const karma_metrics *m) {
    json_t *rows = json_array();
    for (size_t q = 0; q < m->n_quantiles; q++)
        (void)json_array_append_new(rows,
                                    json_pack("{s:f, s:f, s:f}", "quantile", karma_model_quantile(model, target, q),
                                              "pinball", m->pinball[q], "coverage", m->coverage[q]));
    return rows;
}

/* Of classes, what a constant prediction reaches comes after the metric; of numbers, after all metrics. */
static void add_values_json(json_t *object, const karma_metrics *m, karma_task task) {
    int constants_are_last = task == KARMA_TASK_REGRESS;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < m->n_values; i++) {
            const karma_metric *metric = karma_metric_at(i);
            if (metric->task != task || !metric->title) continue;
            if (pass == 0) (void)json_object_set_new(object, metric->key, json_number_or_null(m->values[i]));
            if (pass == constants_are_last && metric->constant_key)
                (void)json_object_set_new(object, metric->constant_key, json_number_or_null(m->constants[i]));
        }
}

static json_t *metrics_json(const karma_model *model, size_t target, const karma_metrics *m) {
    json_t *object = json_pack("{s:s, s:I, s:I}", "target", karma_model_target_name(model, target), "rows",
                               (json_int_t)m->n_rows, "rows_without_label", (json_int_t)m->n_left_out);
    int classify = karma_model_task(model, target) == KARMA_TASK_CLASSIFY;
    (void)json_object_set_new(object, "task", json_string(classify ? "classify" : "regress"));
    add_values_json(object, m, karma_model_task(model, target));
    if (classify) (void)json_object_set_new(object, "confusion", confusion_json(model, target, m));
    if (m->n_quantiles) {
        (void)json_object_set_new(object, "quantiles", quantiles_json(model, target, m));
        (void)json_object_set_new(object, "interval_coverage", json_number_or_null(m->interval_coverage));
    }
    return object;
}

static void print_share(const char *title, double share, const char *remark) {
    char text[16];
    if (isfinite(share)) printf("  %-20s %8s%s%s\n", title, percent(text, share), *remark ? "   " : "", remark);
}

/* Columns of numbers are wider than those of classes. */
static void print_plain(const karma_metric *metric, double value, const char *remark) {
    int width = metric->task == KARMA_TASK_REGRESS ? 10 : 8;
    if (isfinite(value)) printf("  %-20s %*.4f%s%s\n", metric->title, width, value, *remark ? "   " : "", remark);
}

static void print_metric(const karma_metric *metric, double value, double constant, size_t n_classes) {
    const char *remark = n_classes >= metric->remark_from ? metric->remark : "";
    char text[40];
    switch (metric->unit) {
    case KARMA_METRIC_SHARE:
        print_share(metric->title, value, remark);
        if (metric->constant_key) print_share(metric->constant_title, constant, metric->constant_remark);
        break;
    case KARMA_METRIC_PLAIN:
        print_plain(metric, value, remark);
        break;
    case KARMA_METRIC_TARGET:
        printf("  %-20s %10s", metric->title, readable(text, value));
        if (metric->constant_key) printf("   %s: %s", metric->constant_title, readable(text, constant));
        putchar('\n');
        break;
    }
}

static void print_values(const karma_metrics *m, karma_task task) {
    for (size_t i = 0; i < m->n_values; i++) {
        const karma_metric *metric = karma_metric_at(i);
        if (metric->task == task && metric->title) print_metric(metric, m->values[i], m->constants[i], m->n_classes);
    }
}

static void print_quantiles(const karma_model *model, size_t target, const karma_metrics *m) {
    char share[16], name[KARMA_NUMBER_SIZE], loss[40];
    if (m->n_quantiles) printf("\n  %-20s %10s %10s   share of rows at or below it\n", "quantile", "loss", "coverage");
    for (size_t q = 0; q < m->n_quantiles; q++)
        printf("  %-20s %10s %10s\n", karma_number_text(name, karma_model_quantile(model, target, q)),
               readable(loss, m->pinball[q]), percent(share, m->coverage[q]));
    if (isfinite(m->interval_coverage))
        printf("  between the first and the last: %s of the rows\n", percent(share, m->interval_coverage));
}

static void print_metrics(const karma_model *model, size_t target, const karma_metrics *m) {
    printf("%zu rows", m->n_rows);
    if (m->n_left_out) printf(" (%zu more have no label)", m->n_left_out);
    printf(", target '%s'\n", karma_model_target_name(model, target));
    print_values(m, karma_model_task(model, target));
    if (karma_model_task(model, target) == KARMA_TASK_CLASSIFY)
        print_confusion(model, target, m);
    else
        print_quantiles(model, target, m);
}

static json_t *judged_json(const karma_model *model, size_t target, const judged_target *judged) {
    karma_task task = karma_model_task(model, target);
    json_t *object = metrics_json(model, target, &judged->metrics);
    if (judged->coverage.level > 0.0)
        (void)json_object_set_new(object, "certainty", coverage_json(&judged->coverage, task));
    if (judged->n_points)
        (void)json_object_set_new(object, "abstention", abstention_json(judged->points, judged->n_points, task));
    return object;
}

static void print_judged(const karma_model *model, size_t target, const judged_target *judged) {
    karma_task task = karma_model_task(model, target);
    print_metrics(model, target, &judged->metrics);
    if (judged->coverage.level > 0.0) print_coverage(&judged->coverage, task, "");
    if (judged->n_points) print_abstention(judged->points, judged->n_points, task);
}

static json_t *all_metrics_json(const karma_model *model, const judged_target *judged) {
    size_t n = karma_model_n_targets(model);
    if (n == 1) return judged_json(model, 0, judged);
    json_t *targets = json_object();
    for (size_t target = 0; target < n; target++)
        (void)json_object_set_new(targets, karma_model_target_name(model, target),
                                  judged_json(model, target, &judged[target]));
    return json_pack("{s:o}", "targets", targets);
}

int report_metrics(tool *t, const karma_model *model, const judged_target *judged, const abstention *left_out,
                   size_t n_rows) {
    double coverage = 1.0 - (double)left_out->count / (double)n_rows;
    if (t->options.json) {
        json_t *object = all_metrics_json(model, judged);
        if (left_out->flags)
            (void)json_object_update_new(
                object, json_pack("{s:I, s:f}", "abstained", (json_int_t)left_out->count, "coverage", coverage));
        return print_json(object);
    }
    char share[16];
    begin_text();
    if (left_out->flags)
        printf("abstained from %zu of %zu rows, coverage %s\n", left_out->count, n_rows, percent(share, coverage));
    for (size_t target = 0; target < karma_model_n_targets(model); target++) {
        if (target) putchar('\n');
        print_judged(model, target, &judged[target]);
    }
    return finish_stdout();
}
