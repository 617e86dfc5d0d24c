/* Contributions to scores: as CSV, one line per part; as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* One part of a score, ready to be shown. */
typedef struct shown {
    size_t attribute; /* of the model */
    double contribution, error;
} shown;

typedef struct parts_report {
    const karma_model *model;
    const karma_table *table;
    const karma_explanations *e;
    size_t *columns; /* of the table, for each attribute of the model */
    shown *parts;    /* room for those of one score */
    size_t top;      /* how many to show; 0: all */
    int has_class, has_quantile;
} parts_report;

/* The largest first; of equal ones that of the first column. */
static int by_size(const void *a, const void *b) {
    const shown *x = a, *y = b;
    double p = fabs(x->contribution), q = fabs(y->contribution);
    if (p != q) return p < q ? 1 : -1;
    return (x->attribute > y->attribute) - (x->attribute < y->attribute);
}

/* Sorts the parts of a score into r->parts and returns how many are to be shown; the others are summed in *other: their
 * errors are added, which is an upper bound. */
static size_t sort_parts(const parts_report *r, size_t row, size_t output, shown *other) {
    size_t first = r->e->start[row], n = r->e->start[row + 1] - first, K = r->e->n_outputs;
    for (size_t k = 0; k < n; k++)
        r->parts[k] = (shown){r->e->attribute[first + k], r->e->contribution[(first + k) * K + output],
                              r->e->error[(first + k) * K + output]};
    if (n > 1) qsort(r->parts, n, sizeof *r->parts, by_size);
    size_t top = r->top && r->top < n ? r->top : n;
    *other = (shown){0, 0.0, 0.0};
    for (size_t k = top; k < n; k++) {
        other->contribution += r->parts[k].contribution;
        other->error += r->parts[k].error;
    }
    return top;
}

static int has_other(const parts_report *r, size_t row) {
    return r->top && r->top < r->e->start[row + 1] - r->e->start[row];
}

/* The class that a positive output means; of two classes the second. NULL: the output is a number. */
static const char *class_of(const karma_model *model, size_t target, size_t own) {
    if (karma_model_task(model, target) != KARMA_TASK_CLASSIFY) return NULL;
    return karma_model_class(model, target, karma_model_target_n_outputs(model, target) == 1 ? 1 : own);
}
static int has_quantiles(const karma_model *model, size_t target) {
    return karma_model_n_quantiles(model, target) > 1;
}

/* --- CSV ----------------------------------------------------------------------------------------------- */

/* The level of a category; those with an order count from 1. NULL: the column is numbers. */
static const char *level_of(const karma_table *table, size_t column, double value) {
    if (karma_table_n_levels(table, column) == 0) return NULL;
    int is_ordered = karma_table_attribute_kind(table, column) == KARMA_COLUMN_NUMBER;
    return karma_table_level(table, column, (size_t)value - (is_ordered ? 1 : 0));
}

/* A cell as text: the level of a category, or its number. */
static const char *cell_text(char text[KARMA_NUMBER_SIZE], const parts_report *r, size_t row, size_t attribute) {
    size_t column = r->columns[attribute];
    double value;
    if (!karma_table_cell(r->table, row, column, &value)) return "";
    const char *level = level_of(r->table, column, value);
    return level ? level : karma_number_text(text, value);
}

/* The place of a line. */
typedef struct place {
    size_t row, target, own; /* own: which of the target's outputs */
} place;

static void write_place(FILE *stream, const parts_report *r, const place *p) {
    char text[KARMA_NUMBER_SIZE];
    const char *name = class_of(r->model, p->target, p->own);
    write_ids(stream, r->table, p->row);
    fprintf(stream, "%zu,", p->row + 1);
    if (karma_model_n_targets(r->model) > 1) {
        karma_csv_write_field(stream, karma_model_target_name(r->model, p->target));
        fputc(',', stream);
    }
    if (r->has_class) {
        if (name) karma_csv_write_field(stream, name);
        fputc(',', stream);
    }
    if (r->has_quantile) {
        if (has_quantiles(r->model, p->target))
            fputs(karma_number_text(text, karma_model_quantile(r->model, p->target, p->own)), stream);
        fputc(',', stream);
    }
}

static void write_line(FILE *stream, const parts_report *r, const place *p, const char *name, const char *value,
                       double contribution, double error) {
    char text[KARMA_NUMBER_SIZE];
    write_place(stream, r, p);
    karma_csv_write_field(stream, name);
    fputc(',', stream);
    karma_csv_write_field(stream, value);
    fprintf(stream, ",%s", karma_number_text(text, contribution));
    fprintf(stream, ",%s\n", karma_number_text(text, error));
}

static void write_score(FILE *stream, const parts_report *r, const place *p) {
    size_t output = karma_model_first_output(r->model, p->target) + p->own;
    char text[KARMA_NUMBER_SIZE];
    shown other;
    size_t n = sort_parts(r, p->row, output, &other);
    for (size_t k = 0; k < n; k++)
        write_line(stream, r, p, karma_model_attribute_name(r->model, r->parts[k].attribute),
                   cell_text(text, r, p->row, r->parts[k].attribute), r->parts[k].contribution, r->parts[k].error);
    if (has_other(r, p->row)) write_line(stream, r, p, "(other)", "", other.contribution, other.error);
    write_line(stream, r, p, "(bias)", "", r->e->bias[p->row * r->e->n_outputs + output], 0.0);
}

static void write_csv(FILE *stream, const void *what) {
    const parts_report *r = what;
    write_id_names(stream, r->table);
    fprintf(stream, "row,%s%s%sattribute,value,contribution,se\n", karma_model_n_targets(r->model) > 1 ? "target," : "",
            r->has_class ? "class," : "", r->has_quantile ? "quantile," : "");
    for (place p = {0, 0, 0}; p.row < karma_table_n_rows(r->table); p.row++)
        for (p.target = 0; p.target < karma_model_n_targets(r->model); p.target++)
            for (p.own = 0; p.own < karma_model_target_n_outputs(r->model, p.target); p.own++)
                write_score(stream, r, &p);
}

/* --- JSON ---------------------------------------------------------------------------------------------- */

static json_t *value_json(const parts_report *r, size_t row, size_t attribute) {
    size_t column = r->columns[attribute];
    double value;
    if (!karma_table_cell(r->table, row, column, &value)) return json_null();
    const char *level = level_of(r->table, column, value);
    return level ? json_string(level) : json_real(value);
}

static json_t *score_json(const parts_report *r, const place *p) {
    size_t output = karma_model_first_output(r->model, p->target) + p->own;
    shown other;
    size_t n = sort_parts(r, p->row, output, &other);
    double bias = r->e->bias[p->row * r->e->n_outputs + output], score = bias + other.contribution;
    const char *name = class_of(r->model, p->target, p->own);
    json_t *object = json_pack("{s:s}", "target", karma_model_target_name(r->model, p->target)), *parts = json_array();
    if (name) (void)json_object_set_new(object, "class", json_string(name));
    if (has_quantiles(r->model, p->target))
        (void)json_object_set_new(object, "quantile", json_real(karma_model_quantile(r->model, p->target, p->own)));
    for (size_t k = 0; k < n; k++) {
        const shown *part = &r->parts[k];
        score += part->contribution;
        (void)json_array_append_new(parts, json_pack("{s:s, s:o, s:f, s:f}", "attribute",
                                                     karma_model_attribute_name(r->model, part->attribute), "value",
                                                     value_json(r, p->row, part->attribute), "contribution",
                                                     part->contribution, "se", part->error));
    }
    (void)json_object_update_new(object, json_pack("{s:f, s:f, s:o}", "score", score, "bias", bias, "parts", parts));
    if (has_other(r, p->row))
        (void)json_object_set_new(object, "other",
                                  json_pack("{s:f, s:f}", "contribution", other.contribution, "se", other.error));
    return object;
}

static json_t *row_json(const parts_report *r, size_t row) {
    json_t *object = json_object(), *scores = json_array();
    add_ids_json(object, r->table, row);
    for (place p = {row, 0, 0}; p.target < karma_model_n_targets(r->model); p.target++)
        for (p.own = 0; p.own < karma_model_target_n_outputs(r->model, p.target); p.own++)
            (void)json_array_append_new(scores, score_json(r, &p));
    (void)json_object_update_new(object, json_pack("{s:I, s:o}", "row", (json_int_t)row + 1, "scores", scores));
    return object;
}

static json_t *result_json(const tool *t, const parts_report *r) {
    json_t *object = json_pack("{s:o, s:s, s:I}", "targets", target_names_json(r->model), "method",
                               r->e->is_split ? "split" : "shapley", "rows", (json_int_t)karma_table_n_rows(r->table));
    if (!writes_stdout(t)) {
        (void)json_object_set_new(object, "output", json_string(t->options.output));
        return object;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < karma_table_n_rows(r->table); i++) (void)json_array_append_new(rows, row_json(r, i));
    (void)json_object_set_new(object, "explanations", rows);
    return object;
}

/* --- both ---------------------------------------------------------------------------------------------- */

/* The table's column of each attribute of the model; without meaning where it has none, for then no row observes it.
 * Columns mostly come in the same order, so the search begins behind the last one found. */
static void match_columns(size_t *columns, const karma_model *model, const karma_table *table) {
    size_t n = karma_table_n_attributes(table), at = 0;
    for (size_t j = 0; j < karma_model_n_attributes(model); j++) {
        const char *name = karma_model_attribute_name(model, j);
        size_t tried = 0;
        while (tried < n && strcmp(karma_table_attribute_name(table, (at + tried) % n), name) != 0) tried++;
        columns[j] = n ? (at + tried) % n : 0;
        at = columns[j] + 1;
    }
}

int report_explanations(tool *t, const karma_model *model, const karma_table *table, const karma_explanations *e) {
    size_t n = karma_model_n_attributes(model);
    parts_report r = {.model = model, .table = table, .e = e, .top = (size_t)t->options.top};
    r.columns = malloc((n + 1) * sizeof *r.columns);
    r.parts = malloc((n + 1) * sizeof *r.parts);
    int code = EXIT_DONE;
    for (size_t target = 0; target < karma_model_n_targets(model); target++) {
        r.has_class |= karma_model_task(model, target) == KARMA_TASK_CLASSIFY;
        r.has_quantile |= has_quantiles(model, target);
    }
    if (r.columns && r.parts) {
        match_columns(r.columns, model, table);
        if (!t->options.json || !writes_stdout(t)) code = write_output(t, write_csv, &r);
        if (code == EXIT_DONE && t->options.json) code = print_json(result_json(t, &r));
    } else
        code = fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    free(r.columns);
    free(r.parts);
    return code;
}
