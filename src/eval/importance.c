/* Importance by permutation (Breiman 2001; Fisher, Rudin and Dominici 2019): the fall of a metric when the observed
 * cells of one attribute are permuted among the rows that observe it. Which cells are missing does not change, so this
 * measures the importance of the values, not of their being observed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/options_accept.h"
#include "base/rng.h"
#include "eval/metric_table.h"
#include "karma/explain.h"
#include "model/model.h"

void karma_importances_clear(karma_importances *importances) {
    if (!importances) return;
    karma_i_free(importances->metric);
    karma_i_free(importances->items);
    *importances = (karma_importances){0};
}

/* --- one attribute ------------------------------------------------------------------------------------- */

/* Shared by all attributes. */
typedef struct trial {
    const karma_model *model;
    const karma_table *table; /* rows with a label */
    const karma_explain_options *options;
    const size_t *attributes; /* those to permute; NULL: all */
    karma_i_rng rng;
    double *scores;  /* of the table as it is */
    double *changed; /* of the table with one attribute permuted */
} trial;

/* Only the rows that observe an attribute, and the values of their cells. */
typedef struct column {
    size_t n;
    size_t *rows;       /* of the trial's table */
    karma_table *table; /* these rows */
    size_t *place;      /* index of the cell of each row among those of the table */
    double *values;     /* the original values of the cells */
    size_t *order;      /* cell i gets values[order[i]] */
    double *scores;
} column;

static void free_column(column *c) {
    karma_i_free(c->rows);
    karma_i_free(c->place);
    karma_i_free(c->values);
    karma_i_free(c->order);
    karma_i_free(c->scores);
    karma_table_free(c->table);
}

/* The index of a table's attribute of this name; n_attributes: it has none. */
static size_t find_attribute(const karma_table *table, const char *name) {
    size_t j = 0;
    while (j < table->n_attributes && strcmp(table->attributes[j].name, name) != 0) j++;
    return j;
}

/* Lists the rows that observe an attribute of the table. */
static karma_status find_rows(column *c, const karma_table *table, size_t attribute, karma_error *err) {
    double value;
    c->rows = karma_i_alloc(table->n_rows, sizeof *c->rows);
    if (!c->rows) return karma_i_fail_memory(err);
    for (size_t i = 0; attribute < table->n_attributes && i < table->n_rows; i++)
        if (karma_table_cell(table, i, attribute, &value)) c->rows[c->n++] = i;
    return KARMA_OK;
}

static karma_status take_cells(column *c, const karma_table *table, size_t attribute, size_t n_outputs,
                               karma_error *err) {
    KARMA_TRY(karma_table_select(&c->table, table, c->rows, c->n, err));
    c->place = karma_i_alloc(c->n, sizeof *c->place);
    c->values = karma_i_alloc(c->n, sizeof *c->values);
    c->order = karma_i_alloc(c->n, sizeof *c->order);
    c->scores = karma_i_alloc(c->n, n_outputs * sizeof *c->scores);
    if (!c->place || !c->values || !c->order || !c->scores) return karma_i_fail_memory(err);
    for (size_t i = 0; i < c->n; i++) {
        size_t k = c->table->row_start[i];
        while (c->table->cell_owner[k] != attribute) k++;
        c->place[i] = k;
        c->values[i] = c->table->cell_value[k];
        c->order[i] = i;
    }
    return KARMA_OK;
}

/* Permutes the values, and scores the trial's rows with them. */
static karma_status permute(trial *t, column *c, karma_error *err) {
    size_t K = t->model->task.n_outputs;
    karma_i_rng_shuffle(&t->rng, c->order, c->n);
    for (size_t i = 0; i < c->n; i++) c->table->cell_value[c->place[i]] = c->values[c->order[i]];
    KARMA_TRY(karma_predict(c->scores, t->model, c->table, (size_t)t->options->threads, NULL, err));
    memcpy(t->changed, t->scores, t->table->n_rows * K * sizeof *t->changed);
    for (size_t i = 0; i < c->n; i++) memcpy(t->changed + c->rows[i] * K, c->scores + i * K, K * sizeof *t->changed);
    return KARMA_OK;
}

static karma_status metric_of(double *out, const trial *t, size_t target, const double *scores, karma_error *err) {
    int classify = karma_model_task(t->model, target) == KARMA_TASK_CLASSIFY;
    const karma_i_metric *metric = karma_i_metric_of_goal(classify ? KARMA_GOAL_ACCURACY : KARMA_GOAL_R2);
    KARMA_TRY(karma_i_metric_value(out, metric, &t->model->task, target, t->table, scores, err));
    if (isfinite(*out)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_DATA, "all labels in column '%s' are the same, so R2 is not defined",
                        karma_model_target_name(t->model, target));
}

/* Updates the mean and the sum of squared deviations, kept in `error`, by one more permutation (Welford). */
static karma_status take_repeat(karma_importances *out, const trial *t, size_t place, size_t n_before,
                                karma_error *err) {
    for (size_t target = 0; target < out->n_targets; target++) {
        karma_importance *item = &out->items[target * out->n_attributes + place];
        double metric;
        KARMA_TRY(metric_of(&metric, t, target, t->changed, err));
        double fall = out->metric[target] - metric, off = fall - item->importance;
        item->importance += off / (double)(n_before + 1);
        item->error += off * (fall - item->importance);
    }
    return KARMA_OK;
}

/* `place`: among the attributes to permute. */
static karma_status measure_attribute(karma_importances *out, trial *t, size_t place, karma_error *err) {
    size_t attribute = t->attributes ? t->attributes[place] : place;
    size_t own = find_attribute(t->table, karma_model_attribute_name(t->model, attribute));
    size_t repeats = (size_t)t->options->repeats;
    column c = {0};
    karma_status st = find_rows(&c, t->table, own, err);
    int can_differ = c.n > 1;
    if (st == KARMA_OK && can_differ) st = take_cells(&c, t->table, own, t->model->task.n_outputs, err);
    for (size_t r = 0; st == KARMA_OK && can_differ && r < repeats; r++) {
        st = permute(t, &c, err);
        if (st == KARMA_OK) st = take_repeat(out, t, place, r, err);
    }
    free_column(&c);
    for (size_t target = 0; target < out->n_targets; target++) {
        karma_importance *item = &out->items[target * out->n_attributes + place];
        item->attribute = attribute;
        item->error = sqrt(item->error / ((double)(repeats - 1) * (double)repeats));
    }
    return st;
}

/* --- all of them --------------------------------------------------------------------------------------- */

/* Ties go to the first. */
static int by_importance(const void *a, const void *b) {
    const karma_importance *x = a, *y = b;
    if (x->importance != y->importance) return x->importance < y->importance ? 1 : -1;
    return (x->attribute > y->attribute) - (x->attribute < y->attribute);
}

static karma_status measure_attributes(karma_importances *out, trial *t, const karma_hooks *hooks, karma_error *err) {
    size_t n = out->n_attributes;
    for (size_t target = 0; target < out->n_targets; target++)
        KARMA_TRY(metric_of(&out->metric[target], t, target, t->scores, err));
    for (size_t j = 0; j < n; j++) {
        if (karma_i_progress(hooks, "permuting columns", j, n))
            return karma_i_fail(err, KARMA_ERR_CANCELLED, "interrupted before all columns were permuted");
        KARMA_TRY(measure_attribute(out, t, j, err));
    }
    for (size_t target = 0; target < out->n_targets; target++)
        qsort(out->items + target * n, n, sizeof *out->items, by_importance);
    return KARMA_OK;
}

/* The rows that have a label of some target. A new table. */
static karma_status select_labelled(karma_table **out, const karma_table *table, karma_error *err) {
    size_t *rows = karma_i_alloc(table->n_rows, sizeof *rows), n = 0;
    double label;
    if (!rows) return karma_i_fail_memory(err);
    for (size_t i = 0; i < table->n_rows; i++) {
        size_t target = 0;
        while (target < table->n_targets && !karma_table_target(table, target, i, &label)) target++;
        if (target < table->n_targets) rows[n++] = i;
    }
    karma_status st = KARMA_OK;
    if (n > 0)
        st = karma_table_select(out, table, rows, n, err);
    else
        st = karma_i_fail(err, KARMA_ERR_DATA, "no row has a label to compare with");
    karma_i_free(rows);
    return st;
}

static karma_status measure(karma_importances *out, trial *t, const karma_hooks *hooks, karma_error *err) {
    size_t n = t->table->n_rows, item = t->model->task.n_outputs * sizeof(double);
    out->n_targets = t->model->task.n_heads;
    out->n_rows = n;
    out->metric = karma_i_zalloc(out->n_targets, sizeof *out->metric);
    out->items = karma_i_zalloc(out->n_targets, out->n_attributes * sizeof *out->items);
    t->scores = karma_i_alloc(n, item);
    t->changed = karma_i_alloc(n, item);
    if (!out->metric || !out->items || !t->scores || !t->changed) return karma_i_fail_memory(err);
    KARMA_TRY(karma_predict(t->scores, t->model, t->table, (size_t)t->options->threads, hooks, err));
    return measure_attributes(out, t, hooks, err);
}

karma_status karma_measure_importance(karma_importances *out, const karma_model *model, const karma_table *table,
                                      const karma_explain_options *options, const karma_hooks *hooks,
                                      karma_error *err) {
    return karma_measure_importance_of(out, model, table, NULL, 0, options, hooks, err);
}

karma_status karma_measure_importance_of(karma_importances *out, const karma_model *model, const karma_table *table,
                                         const size_t *attributes, size_t n_attributes,
                                         const karma_explain_options *options, const karma_hooks *hooks,
                                         karma_error *err) {
    karma_explain_options own;
    KARMA_TRY(karma_i_options_accept(karma_explain_option_table(), &own, options, err));
    options = &own;
    KARMA_TRY(karma_i_model_needs_attributes(model, err));
    size_t n_known = karma_model_n_attributes(model);
    for (size_t k = 0; attributes && k < n_attributes; k++)
        if (attributes[k] >= n_known)
            return karma_i_fail(err, KARMA_ERR_OPTION, "column %zu of a model of %zu columns", attributes[k], n_known);
    karma_table *labelled = NULL;
    KARMA_TRY(select_labelled(&labelled, table, err));
    trial t = {.model = model, .table = labelled, .options = options, .attributes = attributes};
    karma_importances importances = {.n_attributes = attributes ? n_attributes : n_known};
    karma_i_rng_init(&t.rng, (uint64_t)options->seed);
    karma_status st = measure(&importances, &t, hooks, err);
    karma_i_free(t.scores);
    karma_i_free(t.changed);
    karma_table_free(labelled);
    if (st == KARMA_OK)
        *out = importances;
    else
        karma_importances_clear(&importances);
    return st;
}
