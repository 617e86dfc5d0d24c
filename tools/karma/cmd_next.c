/* karma next: which missing cells are worth measuring. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

/* What to write. */
typedef struct next_report {
    const tool *t;
    const karma_model *model;
    const karma_table *table;
    const karma_next_cells *cells;
} next_report;

static size_t n_shown(const next_report *r, size_t row) {
    size_t n = r->cells->start[row + 1] - r->cells->start[row], most = (size_t)r->t->options.top;
    return most && n > most ? most : n;
}

static void write_next(FILE *stream, const void *what) {
    const next_report *r = what;
    char text[KARMA_NUMBER_SIZE];
    int has_ids = karma_table_n_ids(r->table) > 0;
    if (has_ids)
        write_id_names(stream, r->table);
    else
        fputs("row,", stream);
    fputs("place,column,gain,cost,gain_per_cost,change\n", stream);
    for (size_t i = 0; i < r->cells->n_rows; i++)
        for (size_t k = 0; k < n_shown(r, i); k++) {
            const karma_next_cell *c = &r->cells->cells[r->cells->start[i] + k];
            if (has_ids)
                write_ids(stream, r->table, i);
            else
                fprintf(stream, "%zu,", i + 1);
            fprintf(stream, "%zu,", k + 1);
            karma_csv_write_field(stream, karma_model_attribute_name(r->model, c->attribute));
            const double numbers[] = {c->gain, c->cost, c->per_cost, c->change};
            for (size_t v = 0; v < 4; v++) fprintf(stream, ",%s", karma_number_text(text, numbers[v]));
            fputc('\n', stream);
        }
}

static json_t *row_json(const next_report *r, size_t row) {
    json_t *object = json_object(), *cells = json_array();
    add_ids_json(object, r->table, row);
    (void)json_object_set_new(object, "uncertainty", json_number_or_null(r->cells->uncertainty[row]));
    for (size_t k = 0; k < n_shown(r, row); k++) {
        const karma_next_cell *c = &r->cells->cells[r->cells->start[row] + k];
        (void)json_array_append_new(
            cells, json_pack("{s:s, s:f, s:f, s:f, s:f}", "column", karma_model_attribute_name(r->model, c->attribute),
                             "gain", c->gain, "cost", c->cost, "gain_per_cost", c->per_cost, "change", c->change));
    }
    (void)json_object_set_new(object, "next", cells);
    return object;
}

static json_t *report_json(const next_report *r) {
    json_t *rows = json_array();
    for (size_t i = 0; i < r->cells->n_rows; i++) (void)json_array_append_new(rows, row_json(r, i));
    return json_pack("{s:s, s:o}", "target", karma_model_target_name(r->model, 0), "rows", rows);
}

/* COL=NUMBER; the name may contain = as well. */
static int set_cost(double *costs, const tool *t, const karma_model *model, const char *text) {
    const char *equals = strrchr(text, '=');
    size_t n = karma_model_n_attributes(model), j = 0, length = equals ? (size_t)(equals - text) : 0;
    char *end = NULL;
    double cost = equals ? strtod(equals + 1, &end) : NAN;
    if (!equals || end == equals + 1 || *end || !(cost > 0.0 && isfinite(cost)))
        return fail_usage(t, "--cost takes COL=NUMBER with a number above 0; it cannot be '%s'", text);
    while (j < n && (strlen(karma_model_attribute_name(model, j)) != length ||
                     strncmp(karma_model_attribute_name(model, j), text, length) != 0))
        j++;
    if (j == n) return fail_usage(t, "--cost %s: the model has no column '%.*s'", text, (int)length, text);
    costs[j] = cost;
    return EXIT_DONE;
}

static int find_costs(double **out, const tool *t, const karma_model *model) {
    size_t n = karma_model_n_attributes(model);
    double *costs = malloc((n + 1) * sizeof *costs);
    if (!costs) return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    int code = EXIT_DONE;
    for (size_t j = 0; j < n; j++) costs[j] = 1.0;
    for (size_t i = 0; code == EXIT_DONE && i < t->options.cost.count; i++)
        code = set_cost(costs, t, model, t->options.cost.items[i]);
    if (code == EXIT_DONE)
        *out = costs;
    else
        free(costs);
    return code;
}

static int report_next(tool *t, const karma_model *model, const karma_table *table) {
    karma_next_cells cells;
    karma_error err;
    double *costs = NULL;
    int code = find_costs(&costs, t, model);
    if (code != EXIT_DONE) return code;
    if (karma_measure_next(&cells, model, 0, table, costs, (size_t)t->fit.threads, &t->hooks, &err) != KARMA_OK)
        code = fail(t->arguments[0], &err);
    else {
        next_report report = {t, model, table, &cells};
        end_progress();
        code = t->options.json ? print_json(report_json(&report)) : write_output(t, write_next, &report);
        karma_next_cells_clear(&cells);
    }
    free(costs);
    return code;
}

static int run(tool *t) {
    return with_inputs(t, report_next);
}

static const char *const tool_names[] = {"output", "cost", "top", "json", "quiet", NULL};
static const char *const role_names[] = {"id", "ignore", NULL};
static const char *const fit_names[] = {"threads", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    MODEL_GROUPS(role_names, fit_names),
};

const tool_command command_next = {
    .name = "next",
    .arguments = "MODEL DATA",
    .min_arguments = 2,
    .max_arguments = 2,
    .summary = "say which missing cells of a row are worth measuring",
    .description =
        "Writes a CSV with the missing cells of every row of DATA, best first: those that are expected to reduce the "
        "uncertainty of the prediction most for their cost (--cost COL=NUMBER, 1 by default). The values that a cell "
        "may have, given the observed cells of its row, come from the model's subspace: karma train --kernel union or "
        "--kernel subspace makes such models. gain is the expected decrease of the uncertainty: of the entropy of the "
        "classes in bits; of a number, the variance of the predictions over these values. change is the probability "
        "that the predicted class changes, or the mean absolute change of the number. With several targets the first "
        "one is used. The gain is that of one cell alone: measure the best cell, then run the command again.",
    .example = "  karma train patients.csv --target outcome --kernel union --probabilities sigmoid -o patients.karma\n"
               "  karma next patients.karma new.csv --id patient --cost troponin=20 --cost crp=5 --top 3\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .stops_gently = 1,
    .run = run,
};
