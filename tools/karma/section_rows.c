/* The rows about which the model is least certain, and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_page.h"

enum { MOST_ROWS = 10, SAMPLES = 20, MOST_EXPLAINED_COLUMNS = 100 };

static int applies(const report *r) {
    return r->model && r->scores && r->overlaps && karma_table_n_rows(r->rows) > 0;
}

typedef struct unsure {
    double certainty;
    size_t row;
} unsure;

/* Of every row, where a number has them: the outer quantiles, or those that keep their level on rows that were left
 * out. NULL otherwise. */
typedef struct intervals {
    double *low, *high;
} intervals;

static karma_status find_intervals(intervals *out, const report *r, karma_error *err) {
    const karma_model *model = r->model;
    size_t n = karma_table_n_rows(r->rows), O = karma_model_n_outputs(model), Q = karma_model_n_quantiles(model, 0);
    if (karma_model_n_classes(model, 0) || (Q < 2 && karma_model_n_left_out(model, 0) == 0)) return KARMA_OK;
    out->low = calloc(n + 1, sizeof *out->low);
    out->high = calloc(n + 1, sizeof *out->high);
    if (!out->low || !out->high) return out_of_memory(err);
    if (Q < 2) return karma_predict_intervals(out->low, out->high, model, 0, r->rows, r->scores, KARMA_AUTO, err);
    const double *first = r->scores + karma_model_first_output(model, 0);
    for (size_t i = 0; i < n; i++) out->low[i] = first[i * O], out->high[i] = first[i * O + Q - 1];
    return KARMA_OK;
}

static int by_certainty(const void *a, const void *b) {
    const unsure *x = a, *y = b;
    if (x->certainty != y->certainty) return x->certainty < y->certainty ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Of classes the distance between the two most likely; of quantiles and intervals minus the width; of other numbers the
 * share of the support rows that observe the same columns. */
static double certainty_of(const report *r, size_t row, const intervals *in, double *room) {
    const karma_model *model = r->model;
    const double *scores = r->scores + row * karma_model_n_outputs(model);
    size_t K = karma_model_n_classes(model, 0), first = karma_model_first_output(model, 0);
    size_t n = karma_model_target_n_outputs(model, 0);
    if (K == 0) return in->low ? in->low[row] - in->high[row] : r->overlaps[row].share;
    if (!karma_model_probabilities(model, 0, scores, room)) {
        if (n == 1) return fabs(scores[first]);
        memcpy(room, scores + first, K * sizeof *room);
    }
    double best = -INFINITY, second = -INFINITY;
    for (size_t k = 0; k < K; k++) {
        if (room[k] > best)
            second = best, best = room[k];
        else
            second = fmax(second, room[k]);
    }
    return best - second;
}

/* --- why ----------------------------------------------------------------------------------------------- */

static const char *const level_words[] = {"", "few training rows have its columns",
                                          "hardly any training row has its columns",
                                          "no column of the model is observed"};

static size_t count_flags_of(const report *r, size_t row) {
    size_t n = 0;
    for (size_t i = 0; r->flags && i < r->flags->n_cells; i++) n += r->flags->cells[i].row == row;
    return n;
}

/* The strongest contribution of a sign: its column, or NULL. */
static const char *strongest(const report *r, const karma_explanations *e, size_t i, size_t output, double sign) {
    double best = 0.0;
    const char *name = NULL;
    for (size_t k = e->start[i]; k < e->start[i + 1]; k++) {
        double part = sign * e->contribution[k * e->n_outputs + output];
        if (part > best) {
            best = part;
            name = karma_model_attribute_name(r->model, e->attribute[k]);
        }
    }
    return name;
}

static void write_why(report *r, const karma_explanations *e, size_t i, size_t row) {
    size_t n_flags = count_flags_of(r, row), K = karma_model_n_classes(r->model, 0);
    size_t output = karma_model_first_output(r->model, 0);
    char text[600] = "", unlike[80] = "";
    const double *scores = r->scores + row * karma_model_n_outputs(r->model);
    if (K > 2) output += karma_model_decide(r->model, 0, scores);
    if (n_flags)
        (void)snprintf(unlike, sizeof unlike, "%zu value%s unlike the training rows", n_flags, n_flags == 1 ? "" : "s");
    const char *up = e ? strongest(r, e, i, output, 1.0) : NULL, *down = e ? strongest(r, e, i, output, -1.0) : NULL;
    const char *toward =
        K ? karma_model_class(r->model, 0, K > 2 ? output - karma_model_first_output(r->model, 0) : 1) : "more";
    if (up && down)
        (void)snprintf(text, sizeof text, "%.80s is evidence for %.80s, %.80s against it", up, toward, down);
    else if (up || down)
        (void)snprintf(text, sizeof text, "mostly %.80s", up ? up : down);
    const char *parts[] = {level_words[r->overlaps[row].level], unlike, text};
    char all[800] = "";
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (*parts[k]) (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", *all ? "; " : "", parts[k]);
    page_cell(&r->page, "%s", all);
}

/* --- the table ----------------------------------------------------------------------------------------- */

static void write_answer(report *r, size_t row, const unsure *u, const intervals *in) {
    const karma_model *model = r->model;
    const double *scores = r->scores + row * karma_model_n_outputs(model);
    char a[40], b[40];
    if (karma_model_n_classes(model, 0)) {
        page_cell(&r->page, "%s", karma_model_class(model, 0, karma_model_decide(model, 0, scores)));
        page_number(&r->page, u->certainty, "%.3f", u->certainty);
    } else {
        page_cell(&r->page, "%s", short_number(a, karma_model_number(model, 0, scores)));
        if (in->low)
            page_number(&r->page, -u->certainty, "%s to %s", short_number(a, in->low[row]),
                        short_number(b, in->high[row]));
        else
            page_number(&r->page, u->certainty, "%.1f%%", 100.0 * u->certainty);
    }
}

static void write_truth(report *r, size_t row) {
    const outcome *o = r->n_outcomes ? &r->outcomes[0] : NULL;
    for (size_t i = 0; o && i < o->n_rows; i++)
        if (o->row[i] == row) {
            char text[40];
            page_cell(&r->page, "%s", o->n_classes ? o->classes[(size_t)o->truth[i]] : short_number(text, o->truth[i]));
            return;
        }
    page_cell(&r->page, " ");
}

static const char *certainty_words(const karma_model *model, const intervals *in) {
    if (karma_model_n_classes(model, 0))
        return karma_model_has_probabilities(model, 0) ? "lead over the next class" : "lead of the score";
    return in->low ? "interval" : "training rows that share its columns";
}

static void write_rows(report *r, const unsure *list, size_t n, const karma_explanations *e, const intervals *in) {
    const table_column columns[] = {{"row", 0},   {"prediction", 0},       {certainty_words(r->model, in), 1},
                                    {"truth", 0}, {"observed columns", 1}, {"why", 0}};
    page_table_begin(&r->page, "The rows about which the model is least certain", columns, 6);
    for (size_t i = 0; i < n; i++) {
        char name[160];
        size_t row = list[i].row;
        page_table_line(&r->page);
        page_cell(&r->page, "%s", row_name(name, r, row));
        write_answer(r, row, &list[i], in);
        write_truth(r, row);
        page_number(&r->page, (double)r->overlaps[row].observed, "%zu of %zu", r->overlaps[row].observed,
                    karma_model_n_attributes(r->model));
        write_why(r, e, i, row);
    }
    page_table_end(&r->page);
}

/* Contributions to the answers, if they do not take too long; otherwise *out has no rows. */
static karma_status explain_rows(karma_explanations *out, report *r, const unsure *list, size_t n, karma_error *err) {
    size_t rows[MOST_ROWS];
    karma_table *few = NULL;
    karma_explain_options options;
    if (karma_model_n_attributes(r->model) > MOST_EXPLAINED_COLUMNS) return KARMA_OK;
    for (size_t i = 0; i < n; i++) rows[i] = list[i].row;
    karma_options_init(karma_explain_option_table(), &options);
    options.samples = SAMPLES;
    options.threads = r->t->fit.threads;
    karma_status st = karma_table_select(&few, r->rows, rows, n, err);
    karma_hooks quiet = {r->t->hooks.progress, NULL, r->t->hooks.payload};
    if (st == KARMA_OK) st = karma_explain(out, r->model, few, &options, &quiet, err);
    karma_table_free(few);
    return st;
}

/* The table, unless no row is less certain than another. */
static karma_status list_rows(report *r, unsure *list, size_t n, const intervals *in, karma_error *err) {
    size_t shown = n < MOST_ROWS ? n : MOST_ROWS;
    karma_explanations e = {0};
    qsort(list, n, sizeof *list, by_certainty);
    double least = list[0].certainty, most = list[n - 1].certainty; /* infinite where intervals are unlimited */
    if (n > 1 && (least == most || most - least <= 1e-9 * fabs(least))) {
        page_paragraph(&r->page, "The model is equally certain of all %zu rows%s.", n,
                       in->low ? ": their intervals have the same width" : "");
        return KARMA_OK;
    }
    karma_status st = explain_rows(&e, r, list, shown, err);
    if (st == KARMA_OK) write_rows(r, list, shown, e.n_rows ? &e : NULL, in);
    if (st == KARMA_OK && e.n_rows == 0)
        page_paragraph(
            &r->page,
            "Columns that are evidence for and against are not listed for models of more than %d columns; karma "
            "explain finds them.",
            MOST_EXPLAINED_COLUMNS);
    if (e.n_rows) karma_explanations_clear(&e);
    return st;
}

static karma_status write_section(report *r, karma_error *err) {
    size_t n = karma_table_n_rows(r->rows);
    unsure *list = malloc(n * sizeof *list);
    double *room = malloc((karma_model_n_classes(r->model, 0) + 1) * sizeof *room);
    intervals in = {NULL, NULL};
    karma_status st = list && room ? find_intervals(&in, r, err) : out_of_memory(err);
    for (size_t i = 0; st == KARMA_OK && i < n; i++) list[i] = (unsure){certainty_of(r, i, &in, room), i};
    if (st == KARMA_OK) st = list_rows(r, list, n, &in, err);
    free(in.low);
    free(in.high);
    free(list);
    free(room);
    return st;
}

const report_section section_rows = {"rows", "The least certain rows", applies, write_section};
