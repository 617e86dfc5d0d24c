#include "model/left_out.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/answers.h"

/* --- what is asked for --------------------------------------------------------------------------------- */

static int is_given(double level) {
    return level > 0.0;
}

static int has_classes(const karma_i_task *task) {
    for (size_t t = 0; t < task->n_heads; t++)
        if (task->heads[t].labels.task == KARMA_TASK_CLASSIFY) return 1;
    return 0;
}

/* A class with fewer rows is missing from some folds: their scores carry no information about it, and
 * decisions by such probabilities can be worse than decisions by scores. */
enum { LEAST_CLASS_ROWS = 5 };

static int is_every_class_frequent(const karma_i_task *task) {
    for (size_t t = 0; t < task->n_heads; t++)
        for (size_t k = 0; k < task->heads[t].labels.n_classes; k++)
            if (task->heads[t].labels.class_count[k] < LEAST_CLASS_ROWS) return 0;
    return 1;
}

karma_calibration karma_i_wanted_calibration(const karma_i_task *task, int is_free) {
    const karma_fit_options *o = &task->options;
    if (!has_classes(task)) return KARMA_CALIBRATE_OFF;
    if (o->probabilities != KARMA_CALIBRATE_AUTO) return (karma_calibration)o->probabilities;
    int is_wanted = is_given(o->sets) || o->certainty == KARMA_CERTAINTY_ON;
    return is_wanted || (is_free && is_every_class_frequent(task)) ? KARMA_CALIBRATE_SIGMOID : KARMA_CALIBRATE_OFF;
}

int karma_i_wants_certainty(const karma_i_task *task, int is_free) {
    const karma_fit_options *o = &task->options;
    if (o->certainty != KARMA_CERTAINTY_AUTO) return o->certainty == KARMA_CERTAINTY_ON;
    for (size_t t = 0; t < task->n_heads; t++)
        if (task->heads[t].n_quantiles > 1) return 1;
    return is_free || is_given(o->intervals) || is_given(o->sets) || o->coverage_by == KARMA_COVERAGE_BY_MISSING ||
           karma_i_wanted_calibration(task, is_free) != KARMA_CALIBRATE_OFF;
}

int karma_i_wants_copies(const karma_i_task *task, int is_free) {
    return task->options.coverage_by == KARMA_COVERAGE_BY_MISSING && karma_i_wants_certainty(task, is_free);
}

/* --- learning ------------------------------------------------------------------------------------------ */

/* Rows or copies with the scores and labels of one head. */
typedef struct scored {
    const karma_table *table;
    const double *scores;
    const size_t *observed; /* cells of each; NULL: the table's rows have them */
    size_t *classes;        /* NULL for numbers */
    size_t stride, target;
} scored;

static int is_used(const scored *s, const karma_i_head *head, size_t row) {
    if (!(karma_table_row_weight(s->table, row) > 0.0)) return 0;
    return s->classes ? s->classes[row] < head->labels.n_classes : !isnan(s->table->targets[s->target].value[row]);
}

static size_t count_used(const scored *s, const karma_i_head *head) {
    size_t n = 0;
    for (size_t i = 0; s->table && i < s->table->n_rows; i++) n += is_used(s, head, i) ? 1 : 0;
    return n;
}

static void fill_values(double *values, const karma_i_head *head, const scored *s, size_t row) {
    const double *scores = s->scores + row * s->stride, *own = scores + head->first_output;
    if (s->classes) {
        (void)karma_i_head_probabilities(values, head, scores);
        values[head->labels.n_classes] = (double)s->classes[row];
        return;
    }
    for (size_t o = 0; o < head->n_outputs; o++) values[o] = s->table->targets[s->target].value[row] - own[o];
    if (head->n_outputs > 1) values[head->n_outputs] = own[head->n_outputs - 1] - own[0];
}

/* From place `first` on. */
static void fill_rows(karma_i_certainty *c, const karma_i_head *head, const scored *s, size_t first) {
    for (size_t i = 0; s->table && i < s->table->n_rows; i++) {
        if (!is_used(s, head, i)) continue;
        fill_values(c->values + first * c->n_values, head, s, i);
        c->weights[first] = karma_table_row_weight(s->table, i);
        c->observed[first++] = s->observed ? s->observed[i] : karma_i_table_cells(s->table, i).count;
    }
}

static void scale_weights(karma_i_certainty *c) {
    double sum = 0.0;
    for (size_t i = 0; i < c->n_rows; i++) sum += c->weights[i] / (double)c->n_rows;
    for (size_t i = 0; i < c->n_rows + c->n_masked; i++) c->weights[i] /= sum;
}

static karma_status form_groups(karma_i_certainty *c, karma_error *err) {
    size_t *room = karma_i_alloc(c->n_rows, sizeof *room);
    if (!room) return karma_i_fail_memory(err);
    c->n_groups = karma_i_certainty_groups(c->group_most, c->observed, c->n_rows, room);
    karma_i_free(room);
    return KARMA_OK;
}

static int all_finite(const karma_i_certainty *c) {
    for (size_t i = 0; i < (c->n_rows + c->n_masked) * c->n_values; i++)
        if (!isfinite(c->values[i])) return 0;
    return 1;
}

static karma_status fill_certainty(karma_i_head *head, const scored *rows, const scored *copies, int by_missing,
                                   karma_error *err) {
    karma_i_certainty c = {0};
    size_t n = count_used(rows, head), n_copies = n ? count_used(copies, head) : 0;
    if (n == 0) return KARMA_OK;
    KARMA_TRY(karma_i_certainty_new(&c, n, n_copies, karma_i_head_n_values(head), err));
    fill_rows(&c, head, rows, 0);
    if (n_copies) fill_rows(&c, head, copies, n);
    scale_weights(&c);
    karma_status st = by_missing ? form_groups(&c, err) : KARMA_OK;
    if (st != KARMA_OK || !all_finite(&c)) { /* labels near the largest number: their errors overflow */
        karma_i_certainty_clear(&c);
        return st;
    }
    karma_i_certainty_clear(&head->certainty);
    head->certainty = c;
    return KARMA_OK;
}

static karma_status find_classes(scored *s, const karma_i_head *head, karma_error *err) {
    if (!s->table || head->labels.task != KARMA_TASK_CLASSIFY) return KARMA_OK;
    s->classes = karma_i_alloc(s->table->n_rows, sizeof *s->classes);
    if (!s->classes) return karma_i_fail_memory(err);
    return karma_i_labels_classes(s->classes, &head->labels, &s->table->targets[s->target], s->table->n_rows, err);
}

static karma_status learn_head(karma_i_task *task, size_t t, const karma_i_left_out *rows, karma_error *err) {
    karma_i_head *head = &task->heads[t];
    const karma_i_copies *c = rows->copies;
    scored own = {rows->table, rows->scores, rows->observed, NULL, task->n_outputs, t};
    scored copies = {c ? c->table : NULL, c ? c->scores : NULL, c ? c->observed : NULL, NULL, task->n_outputs, t};
    if (head->labels.task == KARMA_TASK_CLASSIFY && !karma_i_head_has_probabilities(head)) return KARMA_OK;
    karma_status st = find_classes(&own, head, err);
    if (st == KARMA_OK) st = find_classes(&copies, head, err);
    if (st == KARMA_OK)
        st = fill_certainty(head, &own, &copies, task->options.coverage_by == KARMA_COVERAGE_BY_MISSING, err);
    karma_i_free(own.classes);
    karma_i_free(copies.classes);
    return st;
}

karma_status karma_i_certainty_learn(karma_i_task *task, const karma_i_left_out *rows, karma_error *err) {
    for (size_t t = 0; t < task->n_heads; t++) KARMA_TRY(learn_head(task, t, rows, err));
    return KARMA_OK;
}
