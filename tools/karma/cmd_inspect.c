/* karma inspect: describes a table or a model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

enum { MOST_PATTERNS = 10, MOST_NAMES = 6, MOST_COLUMNS = 300, MOST_CLASSES = 8, MOST_FINDINGS = 20 };

/* A model starts with the length of its header and a brace; no text file does. A pipe cannot be inspected. */
static int looks_like_model(const char *path) {
    unsigned char head[9];
    struct stat info;
    FILE *stream = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (!stream) return 0;
    size_t n = fread(head, 1, sizeof head, stream);
    (void)fclose(stream);
    return n == sizeof head && head[8] == '{' && head[5] == 0 && head[6] == 0 && head[7] == 0;
}

static const char *kind_name(karma_column_kind kind) {
    return kind == KARMA_COLUMN_NUMBER ? "number" : "category";
}

/* Numbers that have levels are the places of ordered categories. */
static const char *type_name(karma_column_kind kind, size_t n_levels) {
    return kind == KARMA_COLUMN_NUMBER && n_levels ? "ordered" : kind_name(kind);
}

/* --- a table ------------------------------------------------------------------------------------------- */

static double share(size_t part, size_t whole) {
    return whole ? (double)part / (double)whole : 0.0;
}

/* Names of the attributes that are missing in a pattern's example row, the first few. */
static void list_missing(char *text, size_t size, const karma_table *table, const karma_pattern *pattern) {
    size_t used = 0, shown = 0;
    double value;
    text[0] = '\0';
    for (size_t j = 0; j < karma_table_n_attributes(table) && shown < MOST_NAMES && used < size; j++) {
        if (karma_table_cell(table, pattern->example, j, &value)) continue;
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", shown ? ", " : "", karma_table_attribute_name(table, j));
        shown++;
    }
    if (pattern->n_missing > shown && used < size) (void)snprintf(text + used, size - used, ", ...");
}

typedef struct table_view {
    const karma_table *table;
    karma_column_summary *summaries;
    karma_pattern patterns[MOST_PATTERNS];
    size_t n_patterns, n_distinct;
    int norms_known;
    karma_norm_check norms;
    karma_review review;
} table_view;

/* The first two levels, each on one line and not too long. */
static void put_levels(FILE *line, const karma_table *table, size_t j) {
    enum { LONGEST_LEVEL = 30 };
    size_t n = karma_table_n_levels(table, j);
    fprintf(line, "%zu level%s: ", n, n == 1 ? "" : "s");
    for (size_t l = 0; l < n && l < 2; l++) {
        char text[64];
        size_t used = 0;
        for (const char *c = karma_table_level(table, j, l); *c && used + 1 < sizeof text; c++)
            text[used++] = (unsigned char)*c < ' ' ? ' ' : *c;
        text[used] = '\0';
        int is_cut = screen_width(text) > LONGEST_LEVEL;
        size_t shown = cut_bytes(text, is_cut ? LONGEST_LEVEL - 3 : LONGEST_LEVEL);
        fprintf(line, "%s%.*s%s", l ? ", " : "", (int)shown, text, is_cut ? "..." : "");
    }
    fputs(n > 2 ? ", ..." : "", line);
}

/* BESIDE_NAMES: columns of a terminal before the values, without the name; LEAST_VALUES: for the values. */
enum { BAR = 10, BESIDE_NAMES = 2 + 1 + 9 + 1 + 8 + BAR + 1 + 3, LEAST_VALUES = 24 };

/* A share as a bar, on terminals only, so that the lines in a pipe do not change. */
static const char *bar(char text[BAR + 2], double value) {
    text[0] = '\0';
    if (!isatty(STDOUT_FILENO)) return text;
    size_t filled = (size_t)ceil(value * BAR); /* a small share still gets a mark */
    for (size_t i = 0; i < BAR; i++) text[1 + i] = i < filled ? '#' : '.';
    text[0] = ' ';
    text[BAR + 1] = '\0';
    return text;
}

/* The last column of the table of columns. */
static void put_values(FILE *line, const table_view *v, size_t j) {
    char low[40], high[40], mean[40];
    if (v->summaries[j].n_observed == 0)
        fputs("none observed", line);
    else if (karma_table_n_levels(v->table, j) == 0)
        fprintf(line, "%s to %s, mean %s", readable(low, v->summaries[j].low), readable(high, v->summaries[j].high),
                readable(mean, v->summaries[j].mean));
    else
        put_levels(line, v->table, j);
}

static void print_column(const table_view *v, size_t j, size_t width) {
    char text[16], drawn[BAR + 2], *values = NULL;
    size_t size, n_rows = karma_table_n_rows(v->table), screen = terminal_width(STDOUT_FILENO);
    double missing = share(n_rows - v->summaries[j].n_observed, n_rows);
    FILE *line = open_memstream(&values, &size);
    if (line) put_values(line, v, j);
    if (!line || fclose(line) != 0) return;
    fputs("  ", stdout);
    print_field(karma_table_attribute_name(v->table, j), width);
    printf(" %-9s %8s%s   ", type_name(karma_table_attribute_kind(v->table, j), karma_table_n_levels(v->table, j)),
           percent(text, missing), bar(drawn, missing));
    size_t taken = width + BESIDE_NAMES, own = screen_width(values);
    print_field(values, screen > taken && own > screen - taken ? screen - taken : own);
    putchar('\n');
    free(values);
}

static void print_columns(const table_view *v) {
    const karma_table *table = v->table;
    size_t d = karma_table_n_attributes(table), shown = d < MOST_COLUMNS ? d : MOST_COLUMNS, longest = 0;
    if (d == 0) return;
    for (size_t j = 0; j < shown; j++) {
        size_t own = screen_width(karma_table_attribute_name(table, j));
        if (own > longest) longest = own;
    }
    size_t width = name_width(longest, BESIDE_NAMES + LEAST_VALUES);
    printf("\n  %-*s %-9s %8s%*s   %s\n", (int)width, "column", "type", "missing", isatty(STDOUT_FILENO) ? BAR + 1 : 0,
           "", "values");
    for (size_t j = 0; j < shown; j++) print_column(v, j, width);
    if (d > shown) printf("  and %zu more: see --json\n", d - shown);
}

static void print_patterns(const table_view *v) {
    size_t n_rows = karma_table_n_rows(v->table);
    if (karma_table_n_attributes(v->table) == 0) return;
    printf("\n  %zu pattern%s of missing values; the most common:\n", v->n_distinct, v->n_distinct == 1 ? "" : "s");
    for (size_t p = 0; p < v->n_patterns; p++) {
        char names[200], text[16], line[320];
        list_missing(names, sizeof names, v->table, &v->patterns[p]);
        (void)snprintf(line, sizeof line, "  %8zu %s %7s  %zu missing%s%s", v->patterns[p].n_rows,
                       v->patterns[p].n_rows == 1 ? "row " : "rows",
                       percent(text, share(v->patterns[p].n_rows, n_rows)), v->patterns[p].n_missing,
                       v->patterns[p].n_missing ? ": " : "", names);
        print_to_width(line);
    }
}

/* How many rows each class has: the most common ones. */
static void print_classes(const karma_table *table, size_t target) {
    size_t n_classes = karma_table_n_classes(table, target), n_rows = karma_table_n_rows(table), shown = 0;
    size_t *count = calloc(n_classes + 1, sizeof *count);
    double value;
    for (size_t i = 0; count && i < n_rows; i++)
        if (karma_table_target(table, target, i, &value)) count[(size_t)value]++;
    for (; count && shown < n_classes && shown < MOST_CLASSES; shown++) {
        size_t best = 0;
        for (size_t k = 1; k < n_classes; k++)
            if (count[k] > count[best]) best = k;
        fputs(shown ? ", " : ": ", stdout);
        print_class_count(karma_table_class(table, target, best), count[best]);
        count[best] = 0;
    }
    puts(n_classes > shown ? ", ..." : "");
    free(count);
}

/* Numbers: their range, the counts of two values, and whether train takes them as classes. */
static void print_number_target(const karma_table *table, size_t target) {
    double low = INFINITY, high = -INFINITY, value;
    size_t n = 0, n_low = 0, n_high = 0, n_distinct = 0;
    karma_task task;
    char a[40], b[40];
    for (size_t i = 0; i < karma_table_n_rows(table); i++)
        if (karma_table_target(table, target, i, &value)) {
            n++;
            n_low = value < low ? 1 : n_low + (value == low);
            n_high = value > high ? 1 : n_high + (value == high);
            low = fmin(low, value);
            high = fmax(high, value);
        }
    if (n == 0)
        puts("no label");
    else if (low < high && n_low + n_high == n)
        printf("2 numbers, taken as classes: %s %zu, %s %zu\n", readable(a, low), n_low, readable(b, high), n_high);
    else if (karma_auto_task(&task, &n_distinct, table, target, NULL) == KARMA_OK && task == KARMA_TASK_CLASSIFY &&
             n_distinct > 1)
        printf("%zu numbers, %s to %s, taken as classes (--task regress: as a quantity)\n", n_distinct,
               readable(a, low), readable(b, high));
    else
        printf("numbers, %s to %s\n", readable(a, low), readable(b, high));
}

static void print_target(const karma_table *table, size_t target) {
    printf("  target %s: ", karma_table_target_name(table, target));
    if (karma_table_target_kind(table, target) == KARMA_COLUMN_NUMBER) {
        print_number_target(table, target);
        return;
    }
    size_t n_classes = karma_table_n_classes(table, target);
    printf("%zu class%s", n_classes, n_classes == 1 ? "" : "es");
    print_classes(table, target);
}

static void print_review(const table_view *v) {
    if (v->review.n_findings) puts("\n  Worth a look:");
    for (size_t k = 0; k < v->review.n_findings && k < MOST_FINDINGS; k++) {
        char text[400];
        (void)karma_finding_text(text, sizeof text, &v->review.findings[k], v->table);
        fputs("  * ", stdout);
        print_with_flags(stdout, text);
        putchar('\n');
    }
    if (v->review.n_findings > MOST_FINDINGS)
        printf("  and %zu more: see --json\n", v->review.n_findings - MOST_FINDINGS);
}

static void print_table(const table_view *v, const char *path) {
    const karma_table *table = v->table;
    size_t n_rows = karma_table_n_rows(table), d = karma_table_n_attributes(table);
    char text[16];
    printf("%s: %zu row%s, %zu column%s to learn from", path_text(path), n_rows, n_rows == 1 ? "" : "s", d,
           d == 1 ? "" : "s");
    if (d) printf(", %s of their cells missing", percent(text, 1.0 - share(karma_table_n_observed(table), n_rows * d)));
    putchar('\n');
    for (size_t k = 0; k < karma_table_n_targets(table); k++) print_target(table, k);
    if (karma_table_weight_name(table)) printf("  row weight %s\n", karma_table_weight_name(table));
    print_columns(v);
    print_patterns(v);
    print_review(v);
    if (v->norms_known)
        printf("\n  The paper assumes rows of norm at most 1. Encoded as train would: largest %.4g, %zu of %zu above "
               "1%s.\n",
               v->norms.largest, v->norms.n_above_one, v->norms.n_rows,
               v->norms.n_above_one ? " (--unit-ball on shrinks them)" : "");
}

/* The columns that are not learned from, by what they are; `target` is the first of `targets`. */
static json_t *roles_json(const karma_table *table) {
    json_t *object = json_object(), *targets = json_array();
    for (size_t k = 0; k < karma_table_n_targets(table); k++)
        (void)json_array_append_new(targets, json_pack("{s:s, s:s}", "name", karma_table_target_name(table, k), "type",
                                                       kind_name(karma_table_target_kind(table, k))));
    if (json_array_size(targets)) (void)json_object_set(object, "target", json_array_get(targets, 0));
    (void)json_object_set_new(object, "targets", targets);
    if (karma_table_weight_name(table))
        (void)json_object_set_new(object, "row_weight", json_string(karma_table_weight_name(table)));
    return object;
}

static json_t *review_json(const table_view *v) {
    json_t *list = json_array();
    for (size_t k = 0; k < v->review.n_findings; k++) {
        char text[400];
        (void)karma_finding_text(text, sizeof text, &v->review.findings[k], v->table);
        (void)json_array_append_new(list, json_string(text));
    }
    return list;
}

static json_t *table_json(const table_view *v) {
    const karma_table *table = v->table;
    size_t n_rows = karma_table_n_rows(table), d = karma_table_n_attributes(table);
    json_t *columns = json_array(), *patterns = json_array();
    for (size_t j = 0; j < d; j++) {
        karma_column_kind kind = karma_table_attribute_kind(table, j);
        json_t *column = json_pack("{s:s, s:s, s:I, s:f}", "name", karma_table_attribute_name(table, j), "type",
                                   type_name(kind, karma_table_n_levels(table, j)), "observed",
                                   (json_int_t)v->summaries[j].n_observed, "missing",
                                   share(n_rows - v->summaries[j].n_observed, n_rows));
        if (karma_table_n_levels(table, j))
            (void)json_object_set_new(column, "levels", json_integer((json_int_t)karma_table_n_levels(table, j)));
        if (kind == KARMA_COLUMN_NUMBER && v->summaries[j].n_observed)
            (void)json_object_update_new(column, json_pack("{s:f, s:f, s:f}", "min", v->summaries[j].low, "max",
                                                           v->summaries[j].high, "mean", v->summaries[j].mean));
        (void)json_array_append_new(columns, column);
    }
    for (size_t p = 0; p < v->n_patterns; p++) {
        json_t *names = json_array();
        double value;
        for (size_t j = 0; j < d; j++)
            if (!karma_table_cell(table, v->patterns[p].example, j, &value))
                (void)json_array_append_new(names, json_string(karma_table_attribute_name(table, j)));
        (void)json_array_append_new(
            patterns, json_pack("{s:I, s:o}", "rows", (json_int_t)v->patterns[p].n_rows, "missing", names));
    }
    json_t *object =
        json_pack("{s:s, s:I, s:I, s:f, s:o, s:I, s:o}", "kind", "table", "rows", (json_int_t)n_rows, "attributes",
                  (json_int_t)d, "missing", 1.0 - share(karma_table_n_observed(table), n_rows * d), "columns", columns,
                  "distinct_patterns", (json_int_t)v->n_distinct, "patterns", patterns);
    (void)json_object_update_new(object, roles_json(table));
    (void)json_object_set_new(object, "findings", review_json(v));
    if (v->norms_known)
        (void)json_object_set_new(object, "norms",
                                  json_pack("{s:f, s:I, s:I}", "largest", v->norms.largest, "above_one",
                                            (json_int_t)v->norms.n_above_one, "rows", (json_int_t)v->norms.n_rows));
    return object;
}

static int inspect_table(tool *t, const char *path) {
    karma_error err;
    karma_table *table = NULL;
    if (karma_table_read(&table, path, &t->read, &t->hooks, &err) != KARMA_OK) return fail(path, &err);
    table_view v = {.table = table};
    int code = EXIT_DONE;
    v.summaries = calloc(karma_table_n_attributes(table) + 1, sizeof *v.summaries);
    if (v.summaries) karma_table_summarise(table, v.summaries);
    if (!v.summaries)
        code = fail(path, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    else if (karma_table_patterns(table, v.patterns, MOST_PATTERNS, &v.n_distinct, &err) != KARMA_OK ||
             karma_table_review(&v.review, table, &err) != KARMA_OK)
        code = fail(path, &err);
    else {
        v.n_patterns = v.n_distinct < MOST_PATTERNS ? v.n_distinct : MOST_PATTERNS;
        v.norms_known = karma_check_norms(&v.norms, table, &t->fit, NULL) == KARMA_OK; /* not for empty tables */
        if (t->options.json) {
            code = print_json(table_json(&v));
        } else {
            begin_text();
            print_table(&v, path);
            code = finish_stdout();
        }
    }
    free(v.summaries);
    karma_review_clear(&v.review);
    karma_table_free(table);
    return code;
}

/* --- a model ------------------------------------------------------------------------------------------- */

static const char *task_name(const karma_model *model, size_t target) {
    return karma_model_task(model, target) == KARMA_TASK_CLASSIFY ? "classify" : "regress";
}

static json_t *class_counts_json(const karma_model *model, size_t target) {
    json_t *classes = json_object();
    for (size_t k = 0; k < karma_model_n_classes(model, target); k++)
        (void)json_object_set_new(classes, karma_model_class(model, target, k),
                                  json_integer((json_int_t)karma_model_class_count(model, target, k)));
    return classes;
}

static json_t *targets_json(const karma_model *model) {
    json_t *targets = json_array();
    for (size_t t = 0; t < karma_model_n_targets(model); t++)
        (void)json_array_append_new(
            targets, json_pack("{s:s, s:s, s:s, s:o, s:b}", "name", karma_model_target_name(model, t), "task",
                               task_name(model, t), "loss", karma_model_loss_name(model, t), "classes",
                               class_counts_json(model, t), "probabilities", karma_model_has_probabilities(model, t)));
    return targets;
}

static const char *attribute_type(const karma_model *model, size_t attribute) {
    return type_name(karma_model_attribute_kind(model, attribute), karma_model_attribute_n_levels(model, attribute));
}

/* Calls `report` for every option that reading new files takes from the model and that is not at its default. */
static void each_reading(const karma_model *model, void (*report)(void *payload, const char *name, const char *value),
                         void *payload) {
    const karma_option_table *table = karma_read_option_table();
    const karma_read_options *reading = karma_model_reading(model);
    karma_read_options plain;
    karma_options_init(table, &plain);
    for (size_t i = 0; reading && i < table->count; i++) {
        char value[200], usual[200];
        (void)karma_option_text(&table->options[i], reading, value, sizeof value);
        (void)karma_option_text(&table->options[i], &plain, usual, sizeof usual);
        if (strcmp(value, usual) != 0) report(payload, table->options[i].name, value);
    }
}

static void add_reading(void *payload, const char *name, const char *value) {
    (void)json_object_set_new(payload, name, json_string(value));
}

static void print_reading(void *payload, const char *name, const char *value) {
    int *is_first = payload;
    printf("%s--%s '%s'", *is_first ? "  reads new files with " : ", ", name, value);
    *is_first = 0;
}

static json_t *model_json(const karma_model *model) {
    json_t *columns = json_array();
    for (size_t j = 0; j < karma_model_n_attributes(model); j++)
        (void)json_array_append_new(columns, json_pack("{s:s, s:s}", "name", karma_model_attribute_name(model, j),
                                                       "type", attribute_type(model, j)));
    json_t *object = json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:o}", "kind", "model", "target",
                               karma_model_target_name(model, 0), "task", task_name(model, 0), "classes",
                               class_counts_json(model, 0), "targets", targets_json(model), "rows",
                               (json_int_t)karma_model_info(model)->n_rows, "columns", columns, "options",
                               options_json(karma_fit_option_table(), karma_model_options(model)));
    json_t *reading = json_object();
    each_reading(model, add_reading, reading);
    (void)json_object_set_new(object, "reading", reading);
    (void)json_object_update_new(object, solver_json(model));
    if (karma_model_search_info(model))
        (void)json_object_set_new(object, "cv", search_json(karma_model_search_info(model)));
    return object;
}

static void print_model_target(const karma_model *model, size_t target) {
    size_t K = karma_model_n_classes(model, target), Q = karma_model_n_quantiles(model, target);
    char text[KARMA_NUMBER_SIZE];
    printf("\n  target '%s': %s, %s loss%s\n", karma_model_target_name(model, target), K ? "classes" : "a number",
           karma_model_loss_name(model, target),
           karma_model_has_probabilities(model, target) ? ", with probabilities" : "");
    for (size_t q = 0; q < Q; q++)
        printf("%s%s%s", q ? ", " : "  quantiles ", karma_number_text(text, karma_model_quantile(model, target, q)),
               q + 1 == Q ? "\n" : "");
    if (K) printf("  %-24s %s\n", "class", "training rows");
    for (size_t k = 0; k < K; k++) {
        fputs("  ", stdout);
        print_field(karma_model_class(model, target, k), 24);
        printf(" %zu\n", karma_model_class_count(model, target, k));
    }
    print_left_out_coverage(model, target);
}

static void print_model(const karma_model *model, const char *path) {
    const karma_fit_info *info = karma_model_info(model);
    printf("%s: a model that predicts '%s'", path, karma_model_target_name(model, 0));
    if (karma_model_n_targets(model) > 1) printf(" and %zu more", karma_model_n_targets(model) - 1);
    size_t d = karma_model_n_attributes(model);
    if (karma_model_is_precomputed(model))
        puts(" from kernel values against its training rows");
    else
        printf(" from %zu column%s\n", d, d == 1 ? "" : "s");
    printf("  learned from %zu rows, keeps %zu of them; %s solver (%s), C %.4g\n", info->n_rows,
           karma_model_n_rows_kept(model), karma_model_solver_name(model), karma_stop_name(info->stop), info->C);
    int is_first = 1;
    each_reading(model, print_reading, &is_first);
    if (!is_first) putchar('\n');
    if (karma_model_search_info(model)) {
        print_outcome(model, NAN);
        print_search(karma_model_search_info(model));
    } else {
        fputs("  kernel: ", stdout);
        print_kernel(model);
    }
    for (size_t target = 0; target < karma_model_n_targets(model); target++) print_model_target(model, target);
    if (d) printf("\n  %-24s %s\n", "column", "type");
    for (size_t j = 0; j < d; j++) {
        fputs("  ", stdout);
        print_field(karma_model_attribute_name(model, j), 24);
        printf(" %s", attribute_type(model, j));
        if (karma_model_attribute_n_levels(model, j))
            printf("%s of %zu levels", karma_model_attribute_kind(model, j) == KARMA_COLUMN_NUMBER ? " category" : "",
                   karma_model_attribute_n_levels(model, j));
        putchar('\n');
    }
}

static int inspect_model(tool *t, const char *path) {
    karma_error err;
    karma_model *model = NULL;
    int code;
    if (karma_model_load(&model, path, &err) != KARMA_OK) return fail(path, &err);
    if (t->options.json) {
        code = print_json(model_json(model));
    } else {
        begin_text();
        print_model(model, path);
        code = finish_stdout();
    }
    karma_model_free(model);
    return code;
}

static int run(tool *t) {
    const char *path = t->arguments[0];
    int is_model = looks_like_model(path);
    if (t->options.lowrank && is_model) return fail_usage(t, "--lowrank needs a table, but %s is a model", path);
    if (t->options.output && !t->options.lowrank) return fail_usage(t, "-o needs --lowrank");
    if (t->options.lowrank) return inspect_lowrank(t, path);
    return is_model ? inspect_model(t, path) : inspect_table(t, path);
}

static const char *const tool_names[] = {"lowrank", "output", "json", "quiet", NULL};
static const char *const fit_names[] = {"standardise", "unit-ball", "subspace-rank", "subspace-noise",
                                        "space",       "seed",      "threads",       NULL};
static const char *const theory_names[] = {"epsilon", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Columns", karma_read_option_table, offsetof(tool, read), column_option_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), file_option_names},
    {"Encoding, for the check of norms, and the subspace", karma_fit_option_table, offsetof(tool, fit), fit_names},
    {"Bounds of --lowrank", karma_theory_option_table, offsetof(tool, theory), theory_names},
};

const tool_command command_inspect = {
    .name = "inspect",
    .arguments = "DATA|MODEL",
    .min_arguments = 1,
    .max_arguments = 1,
    .summary = "show what a table or a model contains",
    .description =
        "For a table: its columns, their types and missing rates, the most common patterns of missing values, what is "
        "worth a look, and whether its rows satisfy the paper's assumption on their norm. For a model: what it "
        "predicts, from which columns, and how it was learned.\n\n"
        "With --lowrank: whether the rows of a table lie near a subspace of few dimensions. The rank and the ranks "
        "that were tried, the spectrum, how well completions predict hidden cells; how much of the subspace each row "
        "shows (lambda), the gamma that follows for epsilon, and the columns on which rows depend most. -o FILE writes "
        "row, observed cells, lambda and whether the row is reconstructible.",
    .example = "  karma inspect patients.csv --target outcome\n"
               "  karma inspect patients.csv --target outcome --lowrank -o rows.csv\n"
               "  karma inspect patients.karma\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .run = run,
};
