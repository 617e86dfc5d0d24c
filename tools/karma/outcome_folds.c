/* Predictions of rows that were left out: of a search, or of the folds of a cross-validation put together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

karma_status outcome_of_search(outcome *out, const karma_model *model, size_t target, const karma_table *table,
                               karma_error *err) {
    const size_t *rows;
    const double *scores;
    size_t n = karma_search_left_out(model, &rows, &scores);
    karma_table *left_out = NULL;
    *out = (outcome){0};
    if (n == 0) return KARMA_OK;
    karma_status st = karma_table_select(&left_out, table, rows, n, err);
    if (st == KARMA_OK) st = outcome_init(out, model, target, left_out, scores, err);
    for (size_t i = 0; st == KARMA_OK && i < out->n_rows; i++) out->row[i] = rows[out->row[i]];
    karma_table_free(left_out);
    return st;
}

/* --- folds ----------------------------------------------------------------------------------------------- */

void outcome_folds_clear(outcome_folds *f) {
    for (size_t i = 0; i < f->n; i++) {
        for (size_t k = 0; k < f->items[i].n_classes; k++) free((char *)f->items[i].classes[k]);
        outcome_clear(&f->items[i]);
    }
    free(f->items);
    free(f->is_seen);
    *f = (outcome_folds){0};
}

/* The names of classes are copied, because they belong to the model of the fold, which is freed. */
static karma_status own_names(outcome *o, karma_error *err) {
    int whole = 1;
    for (size_t k = 0; k < o->n_classes; k++) whole &= (o->classes[k] = strdup(o->classes[k])) != NULL;
    return whole ? KARMA_OK : out_of_memory(err);
}

karma_status outcome_folds_add(void *payload, const karma_model *model, const karma_table *test, const size_t *rows,
                               const double *scores, karma_error *err) {
    outcome_folds *f = payload;
    size_t n = karma_table_n_rows(test), n_targets = karma_model_n_targets(model);
    if (!f->is_seen) f->is_seen = calloc(karma_table_n_rows(f->table) + 1, 1);
    if (!f->is_seen) return out_of_memory(err);
    if (n == 0 || f->is_seen[rows[0]]) return KARMA_OK; /* a repeat: every row counts once */
    for (size_t i = 0; i < n; i++) f->is_seen[rows[i]] = 1;
    outcome *items = realloc(f->items, (f->n + n_targets) * sizeof *items);
    if (!items) return out_of_memory(err);
    f->items = items;
    f->n_targets = n_targets;
    for (size_t t = 0; t < n_targets; t++) {
        outcome *o = &f->items[f->n];
        karma_status st = outcome_init(o, model, t, test, scores, err);
        if (st == KARMA_OK) f->n++;
        if (st == KARMA_OK) st = own_names(o, err);
        if (st != KARMA_OK) return st;
        o->target = karma_table_target_name(f->table, t);
        for (size_t i = 0; i < o->n_rows; i++) o->row[i] = rows[o->row[i]];
    }
    return KARMA_OK;
}

/* --- together -------------------------------------------------------------------------------------------- */

static size_t number_of(const outcome *o, const char *name) {
    size_t k = 0;
    while (k < o->n_classes && (!o->classes[k] || !name || strcmp(o->classes[k], name) != 0)) k++;
    return k;
}

/* A class that a fold did not learn from is the least likely there. */
static double least_likely(const outcome *o) {
    double least = 0.0;
    for (size_t i = 0; !o->has_probabilities && i < o->n_rows * o->n_classes; i++)
        least = fmin(least, o->likely[i] - 1.0);
    return least;
}

static void add_fold(outcome *all, const outcome *o) {
    size_t K = all->n_classes;
    double least = K ? least_likely(o) : 0.0;
    for (size_t i = 0; i < o->n_rows; i++, all->n_rows++) {
        size_t at = all->n_rows;
        all->row[at] = o->row[i];
        all->truth[at] = K ? (double)number_of(all, o->classes[(size_t)o->truth[i]]) : o->truth[i];
        all->answer[at] = K ? (double)number_of(all, o->classes[(size_t)o->answer[i]]) : o->answer[i];
        for (size_t k = 0; k < K; k++) all->likely[at * K + k] = least;
        for (size_t k = 0; k < o->n_classes; k++)
            all->likely[at * K + number_of(all, o->classes[k])] = o->likely[i * o->n_classes + k];
        if (all->low && all->high) {
            all->low[at] = o->low[i];
            all->high[at] = o->high[i];
        }
    }
    all->n_unknown += o->n_unknown;
}

/* Room for the rows of all folds; the names of classes are borrowed from the folds. */
static karma_status start(outcome *all, const outcome_folds *f, size_t target, karma_error *err) {
    size_t n = 0, most = 0;
    *all = (outcome){.target = f->items[target].target, .has_probabilities = 1, .nominal = f->items[target].nominal};
    for (size_t i = target; i < f->n; i += f->n_targets) {
        n += f->items[i].n_rows;
        most += f->items[i].n_classes;
        all->has_probabilities &= f->items[i].has_probabilities;
    }
    if (most && !(all->classes = calloc(most, sizeof *all->classes))) return out_of_memory(err);
    for (size_t i = target; i < f->n; i += f->n_targets)
        for (size_t k = 0; k < f->items[i].n_classes; k++)
            if (number_of(all, f->items[i].classes[k]) == all->n_classes)
                all->classes[all->n_classes++] = f->items[i].classes[k];
    return outcome_allocate(all, n, f->items[target].low != NULL) ? KARMA_OK : out_of_memory(err);
}

karma_status outcome_folds_join(outcome *out, const outcome_folds *f, size_t target, karma_error *err) {
    karma_status st = start(out, f, target, err);
    for (size_t i = target; st == KARMA_OK && i < f->n; i += f->n_targets) add_fold(out, &f->items[i]);
    if (st != KARMA_OK) outcome_clear(out);
    return st;
}
