/* karma gram: the kernel matrix of a table as plain CSV numbers. */
#include <stdlib.h>

#include "tool.h"

/* Rows computed at a time. */
enum { BATCH = 64 };

static void write_numbers(FILE *stream, const float *values, size_t n) {
    char text[KARMA_NUMBER_SIZE];
    for (size_t j = 0; j < n; j++) {
        (void)snprintf(text, sizeof text, "%.9g", (double)values[j]); /* nine digits distinguish all floats */
        if (j) fputc(',', stream);
        fputs(text, stream);
    }
    fputc('\n', stream);
}

static int write_gram(tool *t, const karma_gram *gram, FILE *stream) {
    size_t n = karma_gram_n_rows(gram), width = karma_gram_n_columns(gram);
    float *rows = malloc(BATCH * width * sizeof *rows + 1);
    if (!rows) return fail(NULL, &(karma_error){KARMA_ERR_MEMORY, "out of memory"});
    karma_error err = {KARMA_OK, ""};
    for (size_t first = 0; first < n && err.status == KARMA_OK; first += BATCH) {
        size_t count = n - first < BATCH ? n - first : BATCH;
        if (t->hooks.progress(t->hooks.payload, "rows", first, n))
            err = (karma_error){KARMA_ERR_CANCELLED, "interrupted; the matrix is not complete"};
        else if (karma_gram_rows(rows, gram, first, count, &err) == KARMA_OK)
            for (size_t i = 0; i < count; i++) write_numbers(stream, rows + i * width, width);
    }
    free(rows);
    end_progress();
    return err.status == KARMA_OK ? EXIT_DONE : fail(NULL, &err);
}

/* A description of the matrix; and the matrix itself if it is not written to a file. */
static int describe_json(const tool *t, const karma_gram *gram) {
    size_t n = karma_gram_n_rows(gram), width = karma_gram_n_columns(gram);
    json_t *object = json_pack("{s:s?, s:I, s:I, s:f, s:f}", "output", writes_stdout(t) ? NULL : t->options.output,
                               "rows", (json_int_t)n, "columns", (json_int_t)width, "scale", karma_gram_scale(gram),
                               "log_norm", karma_gram_log_norm(gram));
    if (!writes_stdout(t)) return print_json(object);
    float *row = malloc(width * sizeof *row + 1);
    json_t *matrix = json_array();
    karma_error err = {KARMA_ERR_MEMORY, "out of memory"};
    int ok = row != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        json_t *values = json_array();
        ok = karma_gram_rows(row, gram, i, 1, &err) == KARMA_OK;
        for (size_t j = 0; ok && j < width; j++) ok = json_array_append_new(values, json_real((double)row[j])) == 0;
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

static void note_normalisation(const tool *t, const karma_gram *gram) {
    char text[160];
    if (!(karma_gram_log_norm(gram) > 0.0) || !t->hooks.notice) return;
    (void)snprintf(text, sizeof text, "w(c) would overflow: all entries are divided by exp(%.6g)",
                   karma_gram_log_norm(gram));
    t->hooks.notice(t->hooks.payload, text);
}

/* DATA and, if --against names it, the other table, which sets the types of DATA's columns. */
static karma_status read_tables(karma_table **table, karma_table **against, tool *t, const char **failing,
                                karma_error *err) {
    const char *path = t->arguments[0], *other = t->options.against;
    *failing = other ? other : path;
    if (!other) return karma_table_read(table, path, &t->read, &t->hooks, err);
    karma_status st = karma_table_read(against, other, &t->read, &t->hooks, err);
    if (st != KARMA_OK) return st;
    *failing = path;
    karma_read_options own = t->read; /* borrows its texts; the other table sets the types of columns */
    own.target = own.numeric = own.category = own.ordered = (karma_names){NULL, 0};
    own.row_weight = NULL;
    return karma_table_read_like(table, path, *against, &own, &t->hooks, err);
}

static int run(tool *t) {
    const char *failing;
    karma_error err;
    karma_table *table = NULL, *against = NULL;
    karma_gram *gram = NULL;
    int code = EXIT_DONE;
    if (read_tables(&table, &against, t, &failing, &err) != KARMA_OK ||
        karma_gram_new(&gram, table, against, &t->fit, &t->hooks, &err) != KARMA_OK)
        code = fail(failing, &err);
    else {
        note_normalisation(t, gram);
        if (!t->options.json || !writes_stdout(t)) code = write_file(t, gram);
        if (code == EXIT_DONE && t->options.json) code = describe_json(t, gram);
    }
    karma_gram_free(gram);
    karma_table_free(table);
    karma_table_free(against);
    return code;
}

/* The kernel of the paper has no bias; a row with nothing observed has zeros. */
static void prepare(tool *t) {
    t->fit.bias = 0.0;
}

static const char *const tool_names[] = {"output", "against", "json", "quiet", NULL};
static const char *const work_names[] = {"seed", "threads", "memory", NULL};
static const option_group groups[] = {
    {"Output", tool_option_table, offsetof(tool, options), tool_names},
    {"Columns", karma_read_option_table, offsetof(tool, read), column_option_names},
    {"Reading the data", karma_read_option_table, offsetof(tool, read), file_option_names},
    {"Kernel", karma_fit_option_table, offsetof(tool, fit), kernel_option_names},
    {"Work", karma_fit_option_table, offsetof(tool, fit), work_names},
};

const tool_command command_gram = {
    .name = "gram",
    .arguments = "DATA",
    .min_arguments = 1,
    .max_arguments = 1,
    .summary = "write the kernel matrix of a table",
    .description =
        "Writes the Gram matrix of the rows of DATA as plain numbers, one CSV line per row, for use with any tool that "
        "takes a precomputed kernel; with --json and no -o the matrix is in the object. Without a bias (the default "
        "here) a row with nothing observed has zeros. Name labels with --target and weights with --row-weight to keep "
        "them out of the kernel. With --against FILE, the line of a row of DATA holds its values with every row of "
        "FILE, under the kernel learned from FILE's rows: what predict needs for a model that was trained with --gram.",
    .example = "  karma gram patients.csv --target outcome --gamma 3 -o gram.csv\n"
               "  karma gram new.csv --against patients.csv --target outcome --gamma 3 -o new-gram.csv\n",
    .groups = groups,
    .n_groups = sizeof groups / sizeof groups[0],
    .prepare = prepare,
    .stops_gently = 1,
    .run = run,
};
