/* Importance of columns and overlap of rows: for people, as CSV, as JSON. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* --- importance ---------------------------------------------------------------------------------------- */

typedef struct importance_report {
    const karma_model *model;
    const karma_importances *found;
    size_t top; /* columns to show of each target */
} importance_report;

static const char *metric_name(const karma_model *model, size_t target) {
    return karma_model_task(model, target) == KARMA_TASK_CLASSIFY ? "accuracy" : "r2";
}

static const karma_importance *items_of(const importance_report *r, size_t target) {
    return r->found->items + target * r->found->n_attributes;
}

static void write_importance(FILE *stream, const void *what) {
    const importance_report *r = what;
    int several = r->found->n_targets > 1;
    char mean[KARMA_NUMBER_SIZE], error[KARMA_NUMBER_SIZE];
    fprintf(stream, "%sattribute,importance,se\n", several ? "target," : "");
    for (size_t target = 0; target < r->found->n_targets; target++)
        for (size_t k = 0; k < r->top; k++) {
            const karma_importance *item = &items_of(r, target)[k];
            if (several) {
                karma_csv_write_field(stream, karma_model_target_name(r->model, target));
                fputc(',', stream);
            }
            karma_csv_write_field(stream, karma_model_attribute_name(r->model, item->attribute));
            fprintf(stream, ",%s,%s\n", karma_number_text(mean, item->importance),
                    karma_number_text(error, item->error));
        }
}

static json_t *importance_json(const tool *t, const importance_report *r) {
    json_t *targets = json_array();
    for (size_t target = 0; target < r->found->n_targets; target++) {
        json_t *items = json_array();
        for (size_t k = 0; k < r->top; k++) {
            const karma_importance *item = &items_of(r, target)[k];
            (void)json_array_append_new(items, json_pack("{s:s, s:f, s:f}", "attribute",
                                                         karma_model_attribute_name(r->model, item->attribute),
                                                         "importance", item->importance, "se", item->error));
        }
        (void)json_array_append_new(
            targets, json_pack("{s:s, s:s, s:f, s:o}", "target", karma_model_target_name(r->model, target), "metric",
                               metric_name(r->model, target), "value", r->found->metric[target], "importances", items));
    }
    json_t *object = json_pack("{s:I, s:o}", "rows", (json_int_t)r->found->n_rows, "targets", targets);
    if (!writes_stdout(t)) (void)json_object_set_new(object, "output", json_string(t->options.output));
    return object;
}

enum { IMPORTANCE_BAR = 20, BESIDE_IMPORTANCE = 2 + 1 + 10 + 3 + 6 + 2 + IMPORTANCE_BAR };

/* On a terminal: # up to the value, then - for its standard error, relative to the longest. */
static void print_importance_bar(const karma_importance *item, double longest) {
    double end = item->importance + item->error;
    if (!isatty(STDOUT_FILENO) || !(longest > 0.0)) return;
    fputs("  ", stdout);
    for (int i = 0; i < IMPORTANCE_BAR; i++) {
        double at = ((double)i + 0.5) / IMPORTANCE_BAR * longest;
        if (at < end) putchar(at < item->importance ? '#' : '-');
    }
}

static void print_importances(const importance_report *r, size_t target) {
    double longest_bar = 0.0;
    size_t longest = 0;
    for (size_t k = 0; k < r->top; k++) {
        const karma_importance *item = &items_of(r, target)[k];
        size_t own = screen_width(karma_model_attribute_name(r->model, item->attribute));
        longest_bar = fmax(longest_bar, item->importance + item->error);
        if (own > longest) longest = own;
    }
    size_t width = name_width(longest, BESIDE_IMPORTANCE);
    printf("  %-*s %10s   %s\n", (int)width, "column", "importance", "standard error");
    for (size_t k = 0; k < r->top; k++) {
        const karma_importance *item = &items_of(r, target)[k];
        fputs("  ", stdout);
        print_field(karma_model_attribute_name(r->model, item->attribute), width);
        printf(" %10.4f ± %.4f", item->importance, item->error);
        print_importance_bar(item, longest_bar);
        putchar('\n');
    }
}

static void print_importance(const importance_report *r) {
    for (size_t target = 0; target < r->found->n_targets; target++) {
        int classes = karma_model_task(r->model, target) == KARMA_TASK_CLASSIFY;
        printf("%s%zu rows, target '%s': %s %.4f, and its decrease when a column is permuted\n", target ? "\n" : "",
               r->found->n_rows, karma_model_target_name(r->model, target), classes ? "accuracy" : "R2",
               r->found->metric[target]);
        print_importances(r, target);
    }
}

int report_importance(tool *t, const karma_model *model, const karma_importances *importances) {
    size_t n = importances->n_attributes, top = (size_t)t->options.top;
    importance_report r = {model, importances, top && top < n ? top : n};
    int code = EXIT_DONE;
    if (t->options.output && !(t->options.json && writes_stdout(t))) code = write_output(t, write_importance, &r);
    if (code == EXIT_DONE && t->options.json) return print_json(importance_json(t, &r));
    if (t->options.output) return code;
    begin_text();
    print_importance(&r);
    return finish_stdout();
}

/* --- overlap ------------------------------------------------------------------------------------------- */

typedef struct overlap_report {
    const karma_table *table;
    const karma_overlap *overlaps;
} overlap_report;

static void write_overlap(FILE *stream, const void *what) {
    const overlap_report *r = what;
    char share[KARMA_NUMBER_SIZE];
    write_id_names(stream, r->table);
    fputs("row,observed,sharing,share,level\n", stream);
    for (size_t i = 0; i < karma_table_n_rows(r->table); i++) {
        const karma_overlap *o = &r->overlaps[i];
        write_ids(stream, r->table, i);
        fprintf(stream, "%zu,%zu,%zu,%s,%d\n", i + 1, o->observed, o->sharing, karma_number_text(share, o->share),
                (int)o->level);
    }
}

static json_t *overlap_rows_json(const overlap_report *r) {
    json_t *rows = json_array();
    for (size_t i = 0; i < karma_table_n_rows(r->table); i++) {
        const karma_overlap *o = &r->overlaps[i];
        json_t *row = json_object();
        add_ids_json(row, r->table, i);
        (void)json_object_update_new(row, json_pack("{s:I, s:I, s:I, s:f, s:i}", "row", (json_int_t)i + 1, "observed",
                                                    (json_int_t)o->observed, "sharing", (json_int_t)o->sharing, "share",
                                                    o->share, "level", (int)o->level));
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *overlap_json(const tool *t, const karma_model *model, const overlap_report *r) {
    size_t counts[KARMA_OVERLAP_NOTHING + 1] = {0}, n = karma_table_n_rows(r->table);
    json_t *levels = json_array();
    for (size_t i = 0; i < n; i++) counts[r->overlaps[i].level]++;
    for (size_t level = 0; level <= KARMA_OVERLAP_NOTHING; level++)
        (void)json_array_append_new(levels, json_integer((json_int_t)counts[level]));
    json_t *object = json_pack("{s:I, s:I, s:o}", "rows", (json_int_t)n, "support_rows",
                               (json_int_t)karma_model_info(model)->n_support, "rows_by_level", levels);
    if (writes_stdout(t))
        (void)json_object_set_new(object, "overlap", overlap_rows_json(r));
    else
        (void)json_object_set_new(object, "output", json_string(t->options.output));
    return object;
}

int report_overlap(tool *t, const karma_model *model, const karma_table *table, const karma_overlap *overlaps) {
    overlap_report r = {table, overlaps};
    int code = EXIT_DONE;
    if (!t->options.json || !writes_stdout(t)) code = write_output(t, write_overlap, &r);
    return code == EXIT_DONE && t->options.json ? print_json(overlap_json(t, model, &r)) : code;
}
