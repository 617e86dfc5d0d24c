/* karma gram: the kernel matrix of a table as plain CSV numbers. */
#include <stdlib.h>

#include "tool.h"

/* Rows computed at a time. */
enum { BATCH = 64 };

static void write_numbers(FILE *stream, const float *values, size_t n) {
    char text[KARMA_NUMBER_SIZE];
    for (size_t j = 0; j < n; j++) {
        (void)snprintf(text, sizeof text, "%.9g", (double)values[j]); /* nine digits tell all floats apart */
        if (j) fputc(',', stream);
        fputs(text, stream);
    }
    fputc('\n', stream);
}

static int write_gram(tool *t, const karma_gram *gram, FILE *stream) {
    size_t n = karma_gram_n_rows(gram);
    float *rows = malloc(BATCH * n * sizeof *rows + 1);
    if (!rows) return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    karma_error err = {KARMA_OK, ""};
    for (size_t first = 0; first < n && err.status == KARMA_OK; first += BATCH) {
        size_t count = n - first < BATCH ? n - first : BATCH;
        if (t->hooks.progress(t->hooks.payload, "rows", first, n))
            err = (karma_error){KARMA_ERR_CANCELLED, "interrupted; the matrix is not complete"};
        else if (karma_gram_rows(rows, gram, first, count, &err) == KARMA_OK)
            for (size_t i = 0; i < count; i++) write_numbers(stream, rows + i * n, n);
    }
    free(rows);
    end_progress();
    return err.status == KARMA_OK ? EXIT_DONE : fail(NULL, &err);
}

/* About the matrix; and the matrix itself when no file has it. */
static int describe_json(const tool *t, const karma_gram *gram) {
    size_t n = karma_gram_n_rows(gram);
    json_t *object = json_pack("{s:s?, s:I, s:f, s:f}", "output", writes_stdout(t) ? NULL : t->options.output, "rows",
                               (json_int_t)n, "scale", karma_gram_scale(gram), "log_norm", karma_gram_log_norm(gram));
    if (!writes_stdout(t)) return print_json(object);
    float *row = malloc(n * sizeof *row + 1);
    json_t *matrix = json_array();
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    int ok = row != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        json_t *values = json_array();
        ok = karma_gram_rows(row, gram, i, 1, &err) == KARMA_OK;
        for (size_t j = 0; ok && j < n; j++) ok = json_array_append_new(values, json_real((double)row[j])) == 0;
        ok = json_array_append_new(matrix, values) == 0 && ok;
    }
    free(row);
    ok = json_object_set_new(object, "gram", matrix) == 0 && ok;
    if (ok) return print_json(object);
    json_decref(object);
    return fail(t->arguments[0], &err);
}

static int write_file(tool *t, const karma_gram *gram) {
    karma_error err;
    karma_output *output = NULL;
    if (karma_output_open(&output, t->options.output, &err) != KARMA_OK) return fail(t->options.output, &err);
    int code = write_gram(t, gram, karma_output_stream(output));
    if (code != EXIT_DONE)
        karma_output_discard(output);
    else if (karma_output_commit(output, &err) != KARMA_OK)
        code = fail(t->options.output, &err);
    return code;
}

static void tell_normalisation(const tool *t, const karma_gram *gram) {
    char text[160];
    if (!(karma_gram_log_norm(gram) > 0.0) || !t->hooks.notice) return;
    (void)snprintf(text, sizeof text, "w(c) would overflow: all entries are divided by exp(%.6g)",
                   karma_gram_log_norm(gram));
    t->hooks.notice(t->hooks.payload, text);
}

static int run(tool *t) {
    const char *path = t->arguments[0];
    karma_error err;
    karma_table *table = NULL;
    karma_gram *gram = NULL;
    int code = EXIT_DONE;
    if (karma_table_read(&table, path, &t->read, &t->hooks, &err) != KARMA_OK ||
        karma_gram_new(&gram, table, &t->fit, &t->hooks, &err) != KARMA_OK)
        code = fail(path, &err);
    else {
        tell_normalisation(t, gram);
        if (!t->options.json || !writes_stdout(t)) code = write_file(t, gram);
        if (code == EXIT_DONE && t->options.json) code = describe_json(t, gram);
    }
    karma_gram_free(gram);
    karma_table_free(table);
    return code;
}

/* The kernel of the paper has no bias; a row with nothing observed has zeros. */
static void prepare(tool *t) {
    t->fit.bias = 0.0;
}

static const char *const tool_names[] = {"output", "json", "quiet", NULL};
static const char *const fit_names[] = {"kernel", "gamma",  "scale",       "bias",      "outer",   "degree", "offset",
                                        "width",  "series", "standardise", "unit-ball", "threads", "memory", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), NULL},
    {"Kernel", karma_fit_option_table, offsetof(tool, fit), fit_names},
};

const tool_command command_gram = {
    .name = "gram",
    .arguments = "DATA",
    .min_arguments = 1,
    .max_arguments = 1,
    .summary = "write the kernel matrix of a table",
    .description =
        "Writes the Gram matrix of the rows of DATA as plain numbers, one CSV line a row, for use with any tool that "
        "takes a precomputed kernel; with --json and no -o the matrix is in the object. Without a bias (the default "
        "here) a row with nothing observed has zeros. Name "
        "the label with --target to keep it out of the kernel.",
    .example = "  karma gram patients.csv --target outcome --gamma 3 -o gram.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .prepare = prepare,
    .stops_gently = 1,
    .run = run,
};
