/* The columns of intervals and sets that predict writes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

void free_certain_columns(certain_columns *columns, size_t n_targets) {
    for (size_t i = 0; columns && i < n_targets; i++) {
        free(columns[i].low);
        free(columns[i].high);
        free(columns[i].sets);
    }
    free(columns);
}

static int fill_columns(certain_columns *c, const tool *t, const karma_model *model, size_t target,
                        const karma_table *table, const double *scores, karma_error *err) {
    size_t n = karma_table_n_rows(table), K = karma_model_n_classes(model, target);
    double level = asked_level(t, model, target) > 0.0 ? asked_level(t, model, target) : KARMA_AUTO;
    c->is_there = 1;
    if (K) {
        c->sets = calloc(n + 1, K);
        return c->sets && karma_predict_sets(c->sets, model, target, table, scores, level, err) == KARMA_OK;
    }
    c->low = calloc(n + 1, sizeof *c->low);
    c->high = calloc(n + 1, sizeof *c->high);
    return c->low && c->high &&
           karma_predict_intervals(c->low, c->high, model, target, table, scores, level, err) == KARMA_OK;
}

int find_certain_columns(certain_columns **out, const tool *t, const karma_model *model, const karma_table *table,
                         const double *scores, karma_error *err) {
    size_t n = karma_model_n_targets(model);
    certain_columns *columns = calloc(n, sizeof *columns);
    *err = (karma_error){KARMA_ERR_MEMORY, "out of memory"};
    int ok = columns != NULL;
    for (size_t target = 0; ok && target < n; target++)
        if (has_certain_columns(t, model, target))
            ok = fill_columns(&columns[target], t, model, target, table, scores, err);
    if (ok)
        *out = columns;
    else
        free_certain_columns(columns, n);
    return ok;
}

/* An end that no rows bound is an empty field. */
static void write_end(FILE *stream, double value) {
    char text[KARMA_NUMBER_SIZE];
    fprintf(stream, ",%s", isfinite(value) ? karma_number_text(text, value) : "");
}

/* Names separated by |; a name that contains | or a quote is quoted, as in CSV fields. */
static char *set_text(const karma_model *model, size_t target, const unsigned char *set) {
    size_t size = 1, at = 0, K = karma_model_n_classes(model, target);
    for (size_t k = 0; k < K; k++) size += set[k] ? 2 * strlen(karma_model_class(model, target, k)) + 3 : 0;
    char *text = malloc(size);
    for (size_t k = 0; text && k < K; k++) {
        const char *name = karma_model_class(model, target, k);
        if (!set[k]) continue;
        int is_quoted = strpbrk(name, "|\"") != NULL;
        if (at) text[at++] = '|';
        if (is_quoted) text[at++] = '"';
        for (; *name; name++) {
            if (*name == '"') text[at++] = '"';
            text[at++] = *name;
        }
        if (is_quoted) text[at++] = '"';
    }
    if (text) text[at] = '\0';
    return text;
}

void write_certain_columns(FILE *stream, const certain_columns *c, const karma_model *model, size_t target,
                           size_t row) {
    if (!c->is_there) return;
    if (!c->sets) {
        write_end(stream, c->low[row]);
        write_end(stream, c->high[row]);
        return;
    }
    char *text = set_text(model, target, c->sets + row * karma_model_n_classes(model, target));
    fputc(',', stream);
    karma_csv_write_field(stream, text ? text : "");
    free(text);
}

int add_certain_json(json_t *object, const certain_columns *c, const karma_model *model, size_t target, size_t row) {
    size_t K = karma_model_n_classes(model, target);
    if (!c->is_there) return 1;
    if (!c->sets)
        return json_object_set_new(object, "low", json_number_or_null(c->low[row])) == 0 &&
               json_object_set_new(object, "high", json_number_or_null(c->high[row])) == 0;
    json_t *set = json_array();
    int ok = set != NULL;
    for (size_t k = 0; ok && k < K; k++)
        if (c->sets[row * K + k])
            ok = json_array_append_new(set, json_string(karma_model_class(model, target, k))) == 0;
    return json_object_set_new(object, "set", set) == 0 && ok;
}
