/* From a model and a table to a page: scores, labels and notices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

/* Larger tables are judged by a sample of their rows, and the page says so. */
enum { MOST_JUDGED = 50000, MOST_NOTES = 50 };

/* A program may have global state; a library must not. */
static char *notes[MOST_NOTES];
static size_t n_notes;
static karma_notice_fn shown_by;

static void note(void *payload, const char *sentence) {
    char *copy = n_notes < MOST_NOTES ? strdup(sentence) : NULL;
    if (copy) notes[n_notes++] = with_flags(copy);
    shown_by(payload, sentence);
}

void collect_notes(tool *t) {
    shown_by = t->hooks.notice;
    t->hooks.notice = note;
}

void note_beside_page(const tool *t, const char *sentence) {
    (t->hooks.notice == note ? shown_by : t->hooks.notice)(t->hooks.payload, sentence);
}

size_t collected_notes(const char *const **out) {
    *out = (const char *const *)notes;
    return n_notes;
}

void forget_notes(void) {
    while (n_notes) free(notes[--n_notes]);
}

/* This is not certain, but the same number of rows with the same labels is hardly a coincidence. */
static int looks_like_training(const karma_model *model, const karma_table *table, const outcome *o) {
    size_t n = o->n_rows;
    double mean = 0.0;
    if (n != karma_model_info(model)->n_rows || karma_table_n_rows(table) < n || o->n_unknown) return 0;
    for (size_t k = 0; k < o->n_classes; k++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) count += o->truth[i] == (double)k;
        if (count != karma_model_class_count(model, 0, k)) return 0;
    }
    for (size_t i = 0; i < n; i++) mean += o->truth[i] / (double)n;
    double known = karma_model_target_mean(model, 0);
    return o->n_classes || fabs(mean - known) <= 1e-6 * (fabs(known) + 1e-12);
}

/* Outcomes of all targets that the rows have labels of, in the order of the model. */
static karma_status judge(outcome *outcomes, size_t *n, const report *r, karma_error *err) {
    for (size_t target = 0; target < karma_model_n_targets(r->model); target++) {
        karma_status st = outcome_init(&outcomes[*n], r->model, target, r->rows, r->scores, err);
        if (st == KARMA_ERR_MEMORY) return st;
        if (st != KARMA_OK) continue; /* no such labels */
        if (outcomes[*n].n_rows)
            (*n)++;
        else
            outcome_clear(&outcomes[*n]);
    }
    return KARMA_OK;
}

typedef struct inputs {
    karma_table *sample;
    size_t *numbers;
    double *scores;
    karma_overlap *overlaps;
    karma_cell_flags flags;
    outcome *outcomes;
    size_t n_outcomes;
} inputs;

static void clear_inputs(inputs *in) {
    for (size_t i = 0; i < in->n_outcomes; i++) outcome_clear(&in->outcomes[i]);
    free(in->outcomes);
    free(in->overlaps);
    free(in->scores);
    free(in->numbers);
    karma_cell_flags_clear(&in->flags);
    karma_table_free(in->sample);
}

static karma_status predict_rows(inputs *in, report *r, karma_error *err) {
    const karma_model *model = r->model;
    karma_status st = sample_rows(&in->sample, &in->numbers, r->table, MOST_JUDGED, err);
    if (st != KARMA_OK) return st;
    r->rows = in->sample ? in->sample : r->table;
    r->numbers = in->numbers;
    size_t n = karma_table_n_rows(r->rows);
    in->scores = malloc((n + 1) * karma_model_n_outputs(model) * sizeof *in->scores);
    in->overlaps = malloc((n + 1) * sizeof *in->overlaps);
    in->outcomes = calloc(karma_model_n_targets(model), sizeof *in->outcomes);
    if (!in->scores || !in->overlaps || !in->outcomes) return out_of_memory(err);
    st = karma_predict(in->scores, model, r->rows, (size_t)r->t->fit.threads, &r->t->hooks, err);
    if (st != KARMA_OK) return st;
    r->scores = in->scores;
    if (!karma_model_is_precomputed(model)) {
        if (karma_measure_overlap(in->overlaps, model, r->rows, NULL, err) == KARMA_OK) r->overlaps = in->overlaps;
        if (karma_flag_cells(&in->flags, model, r->rows, err) == KARMA_OK) r->flags = &in->flags;
    }
    st = judge(in->outcomes, &in->n_outcomes, r, err);
    r->outcomes = in->outcomes;
    r->n_outcomes = in->n_outcomes;
    return st;
}

static int write_model_page(report *r, const char *path) {
    char title[256], lead[400];
    const char *file = r->t->arguments[0];
    int names_data = r->data && strcmp(r->data, file) != 0;
    (void)snprintf(title, sizeof title, "Report on a model of \xE2\x80\x9C%.150s\xE2\x80\x9D",
                   karma_model_target_name(r->model, 0));
    (void)snprintf(lead, sizeof lead, "What a person should know before trusting %.150s%s%.150s.",
                   names_data ? file : "this model", names_data ? " on rows like those of " : ", learned from ",
                   r->data ? path_text(r->data) : file);
    if (!r->data) (void)snprintf(lead, sizeof lead, "What the file %.150s knows about its model.", file);
    r->n_notes = collected_notes(&r->notes);
    return write_report(r, path, title, lead);
}

int report_model(tool *t, const karma_model *model, const karma_table *table, const char *data, const char *path) {
    report r = {.t = t, .model = model, .table = table, .data = data};
    inputs in = {0};
    karma_error err;
    int code;
    if (table && predict_rows(&in, &r, &err) != KARMA_OK)
        code = fail(data, &err);
    else {
        r.is_training = r.n_outcomes && looks_like_training(model, r.rows, &r.outcomes[0]);
        code = write_model_page(&r, path);
    }
    clear_inputs(&in);
    return code;
}

/* The number of columns that each row observes, which is known without a model of all rows. */
static karma_overlap *count_observed(const karma_table *table) {
    size_t n = karma_table_n_rows(table);
    karma_overlap *overlaps = calloc(n + 1, sizeof *overlaps);
    double value;
    for (size_t i = 0; overlaps && i < n; i++)
        for (size_t j = 0; j < karma_table_n_attributes(table); j++)
            overlaps[i].observed += karma_table_cell(table, i, j, &value) ? 1 : 0;
    return overlaps;
}

/* Quality on the training rows is not informative: rows that the search left out are used instead. */
int report_training(tool *t, const karma_model *model, const karma_table *table) {
    report r = {.t = t, .model = model, .table = table, .rows = table, .data = t->arguments[0], .is_training = 1};
    inputs in = {0};
    karma_error err;
    karma_status st = KARMA_OK;
    if (!t->options.report) return EXIT_DONE;
    in.outcomes = calloc(karma_model_n_targets(model), sizeof *in.outcomes);
    in.overlaps = count_observed(table);
    if (!in.outcomes || !in.overlaps) st = out_of_memory(&err);
    for (size_t target = 0; st == KARMA_OK && target < karma_model_n_targets(model); target++) {
        st = outcome_of_search(&in.outcomes[in.n_outcomes], model, target, table, &err);
        in.n_outcomes += st == KARMA_OK && in.outcomes[in.n_outcomes].n_rows > 0;
    }
    r.outcomes = in.outcomes;
    r.n_outcomes = in.n_outcomes;
    r.overlaps = in.n_outcomes ? in.overlaps : NULL;
    r.is_left_out = in.n_outcomes > 0;
    int code = st == KARMA_OK ? write_model_page(&r, t->options.report) : fail(r.data, &err);
    clear_inputs(&in);
    return code;
}

int report_folds(tool *t, const karma_cv *cv, const outcome_folds *folds, const karma_table *table) {
    report r = {.t = t, .table = table, .rows = table, .data = t->arguments[0], .cv = cv, .is_left_out = 1};
    inputs in = {0};
    karma_error err;
    karma_status st = KARMA_OK;
    if (!t->options.report) return EXIT_DONE;
    in.outcomes = calloc(folds->n_targets + 1, sizeof *in.outcomes);
    in.overlaps = count_observed(table);
    if (!in.outcomes || !in.overlaps) st = out_of_memory(&err);
    for (size_t target = 0; st == KARMA_OK && target < folds->n_targets; target++) {
        st = outcome_folds_join(&in.outcomes[in.n_outcomes], folds, target, &err);
        in.n_outcomes += st == KARMA_OK;
    }
    r.outcomes = in.outcomes;
    r.n_outcomes = in.n_outcomes;
    r.overlaps = in.overlaps;
    int code = st == KARMA_OK ? report_result(&r, "Cross-validation") : fail(r.data, &err);
    clear_inputs(&in);
    return code;
}

int report_result(report *r, const char *title) {
    char lead[300];
    if (!r->t->options.report) return EXIT_DONE;
    (void)snprintf(lead, sizeof lead, "Made by karma %s%s%.200s.", r->t->command->name, r->data ? " from " : "",
                   r->data ? path_text(r->data) : "");
    r->n_notes = collected_notes(&r->notes);
    return write_report(r, r->t->options.report, title, lead);
}
