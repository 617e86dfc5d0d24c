/* Predictions beside the truth, the same for classes and numbers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

void outcome_clear(outcome *o) {
    free((void *)o->classes);
    free(o->row);
    free(o->truth);
    free(o->answer);
    free(o->likely);
    free(o->low);
    free(o->high);
    *o = (outcome){0};
}

int outcome_allocate(outcome *o, size_t n, int has_interval) {
    size_t K = o->n_classes;
    o->row = malloc((n + 1) * sizeof *o->row);
    o->truth = malloc((n + 1) * sizeof *o->truth);
    o->answer = malloc((n + 1) * sizeof *o->answer);
    if (K) o->likely = malloc((n + 1) * K * sizeof *o->likely);
    if (K && !o->classes) o->classes = malloc(K * sizeof *o->classes);
    if (has_interval) o->low = malloc((n + 1) * sizeof *o->low);
    if (has_interval) o->high = malloc((n + 1) * sizeof *o->high);
    return o->row && o->truth && o->answer && (!K || (o->likely && o->classes)) &&
           (!has_interval || (o->low && o->high));
}

/* Two classes have one score, positive for the second. */
static void fill_likely(double *likely, const karma_model *model, size_t target, const double *scores) {
    size_t K = karma_model_n_classes(model, target), first = karma_model_first_output(model, target);
    if (karma_model_probabilities(model, target, scores, likely)) return;
    if (karma_model_target_n_outputs(model, target) == 1) {
        likely[0] = -scores[first];
        likely[1] = scores[first];
    } else
        memcpy(likely, scores + first, K * sizeof *likely);
}

static void add_row(outcome *o, const karma_model *model, size_t target, const double *scores, size_t row,
                    double truth) {
    size_t i = o->n_rows, K = o->n_classes, first = karma_model_first_output(model, target);
    if (K && truth >= (double)K) {
        o->n_unknown++;
        return;
    }
    o->row[i] = row;
    o->truth[i] = truth;
    o->answer[i] = K ? (double)karma_model_decide(model, target, scores) : karma_model_number(model, target, scores);
    if (K) fill_likely(o->likely + i * K, model, target, scores);
    if (o->low && o->high) {
        o->low[i] = scores[first];
        o->high[i] = scores[first + karma_model_n_quantiles(model, target) - 1];
    }
    o->n_rows++;
}

karma_status outcome_init(outcome *out, const karma_model *model, size_t target, const karma_table *rows,
                          const double *scores, karma_error *err) {
    size_t n = karma_table_n_rows(rows), Q = karma_model_n_quantiles(model, target);
    outcome o = {.target = karma_model_target_name(model, target),
                 .n_classes = karma_model_n_classes(model, target),
                 .has_probabilities = karma_model_has_probabilities(model, target)};
    double *labels = malloc((n + 1) * sizeof *labels);
    karma_status st = labels && outcome_allocate(&o, n, Q > 1) ? KARMA_OK : out_of_memory(err);
    if (st == KARMA_OK) st = karma_model_labels(labels, model, target, rows, err);
    for (size_t k = 0; st == KARMA_OK && k < o.n_classes; k++) o.classes[k] = karma_model_class(model, target, k);
    for (size_t i = 0; st == KARMA_OK && i < n; i++)
        if (!isnan(labels[i])) add_row(&o, model, target, scores + i * karma_model_n_outputs(model), i, labels[i]);
    if (Q > 1) o.nominal = karma_model_quantile(model, target, Q - 1) - karma_model_quantile(model, target, 0);
    free(labels);
    if (st == KARMA_OK)
        *out = o;
    else
        outcome_clear(&o);
    return st;
}

double outcome_loss(const outcome *o, size_t i) {
    return o->n_classes ? (double)(o->answer[i] != o->truth[i]) : fabs(o->answer[i] - o->truth[i]);
}

const char *row_name(char text[160], const report *r, size_t row) {
    size_t number = (r->numbers ? r->numbers[row] : row) + 1;
    const char *id = karma_table_n_ids(r->rows) ? karma_table_id(r->rows, 0, row) : NULL;
    if (id && *id)
        (void)snprintf(text, 160, "%.120s (row %zu)", id, number);
    else
        (void)snprintf(text, 160, "row %zu", number);
    return text;
}
