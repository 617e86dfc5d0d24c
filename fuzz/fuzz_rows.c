/* The ways to read a CSV file give the same rows: at once, by several processes, for a model at once, and for a model
 * part by part. The first bytes draw the options, the rest is the text. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "table/table.h"
#include "unit/threadranks.h"

enum { MOST_PROCESSES = 4, MOST_ROWS = 100, MOST_COLUMNS = 20 };

typedef struct job {
    const char *path;
    const karma_read_options *options;
    const karma_model *model; /* NULL: a table to learn from */
    karma_table *tables[MOST_PROCESSES];
} job;

/* --- comparing --------------------------------------------------------------------------------------------- */

static void compare_column(const karma_i_column *one, const karma_i_column *two) {
    FUZZ_CHECK(strcmp(one->name, two->name) == 0 && one->kind == two->kind, "a column differs");
    FUZZ_CHECK(one->n_levels == two->n_levels, "a column has other levels");
    for (size_t l = 0; l < one->n_levels; l++)
        FUZZ_CHECK(strcmp(one->levels[l], two->levels[l]) == 0, "a level differs");
}

static void compare_columns(const karma_table *one, const karma_table *two) {
    FUZZ_CHECK(one->n_attributes == two->n_attributes && one->n_targets == two->n_targets, "other columns");
    for (size_t j = 0; j < one->n_attributes; j++) compare_column(&one->attributes[j], &two->attributes[j]);
    for (size_t t = 0; t < one->n_targets; t++) compare_column(&one->targets[t].column, &two->targets[t].column);
}

static int is_same(double one, double two) {
    return isnan(one) ? isnan(two) : one == two;
}

/* The rows of a part are those of the whole from `first` on. */
static void compare_rows(const karma_table *part, const karma_table *whole, size_t first) {
    FUZZ_CHECK(first + part->n_rows <= whole->n_rows, "more rows in parts");
    for (size_t i = 0; i < part->n_rows; i++) {
        karma_i_row_cells own = karma_i_table_cells(part, i), other = karma_i_table_cells(whole, first + i);
        FUZZ_CHECK(own.count == other.count, "other cells in a row");
        for (size_t c = 0; c < own.count; c++)
            FUZZ_CHECK(own.attribute[c] == other.attribute[c] && own.value[c] == other.value[c], "a cell differs");
        for (size_t t = 0; t < part->n_targets; t++)
            FUZZ_CHECK(is_same(part->targets[t].value[i], whole->targets[t].value[first + i]), "a label differs");
        FUZZ_CHECK(karma_table_row_weight(part, i) == karma_table_row_weight(whole, first + i), "a weight differs");
    }
}

/* --- several processes ------------------------------------------------------------------------------------- */

static void read_part(member *m) {
    job *j = m->payload;
    m->status = karma_table_read_split(&j->tables[m->ranks.rank], j->path, j->options, &m->ranks, NULL, &m->err);
}

static void read_together(job *j, size_t n_processes, const karma_table *whole) {
    member members[MOST_RANKS];
    size_t next = 0;
    run_together(members, n_processes, read_part, j);
    for (size_t k = 0; k < n_processes; k++) {
        if (whole && members[k].status != KARMA_OK) fuzz_fail(members[k].err.message);
        FUZZ_CHECK(whole || members[k].status != KARMA_OK, "several processes read what one refuses");
        FUZZ_CHECK(members[k].status == KARMA_OK || members[k].err.message[0] != '\0', "an error without a message");
        if (whole) {
            compare_columns(j->tables[k], whole);
            compare_rows(j->tables[k], whole, next);
            next += j->tables[k]->n_rows;
        }
        karma_table_free(j->tables[k]);
    }
    FUZZ_CHECK(!whole || next == whole->n_rows, "fewer rows in parts");
}

/* --- for a model ------------------------------------------------------------------------------------------- */

static void read_parts(const job *j, const karma_table *whole) {
    karma_row_stream *rows = NULL;
    karma_table *part = NULL;
    karma_error err = {0};
    size_t next = 0;
    karma_status st = karma_row_stream_open(&rows, j->model, j->path, j->options, NULL, &err);
    while (st == KARMA_OK && (st = karma_row_stream_next(&part, rows, &err)) == KARMA_OK && part) {
        FUZZ_CHECK(whole != NULL, "parts are read of what is refused at once");
        compare_columns(part, whole);
        compare_rows(part, whole, next);
        next += part->n_rows;
        karma_table_free(part);
        part = NULL;
    }
    if (whole && st != KARMA_OK) fuzz_fail(err.message);
    FUZZ_CHECK(!whole || next == whole->n_rows, "fewer rows in parts");
    karma_row_stream_free(rows);
}

static void read_for_model(const char *path, const karma_table *table) {
    karma_model *model = NULL;
    karma_table *whole = NULL;
    karma_fit_options fit;
    karma_read_options plain;
    if (karma_table_n_rows(table) > MOST_ROWS || karma_table_n_attributes(table) > MOST_COLUMNS) return;
    karma_options_init(karma_fit_option_table(), &fit);
    fit.threads = 1;
    fit.passes = 1;
    if (table->n_targets && karma_fit(&model, table, &fit, NULL, NULL) == KARMA_OK) {
        karma_options_init(karma_read_option_table(), &plain);
        plain.threads = 1;
        if (karma_model_read_table(&whole, model, path, &plain, NULL, NULL) == KARMA_OK)
            FUZZ_CHECK(karma_table_validate(whole, NULL) == KARMA_OK, "the table breaks its invariants");
        read_parts(&(job){.path = path, .options = &plain, .model = model}, whole);
    }
    karma_table_free(whole);
    karma_model_free(model);
}

/* --- one input --------------------------------------------------------------------------------------------- */

static char *target[] = {(char *)"y"}, *ignored[] = {(char *)"a"}, *words[] = {(char *)"b"};

static void draw(karma_read_options *options, fuzz_source *source) {
    unsigned bits = fuzz_byte(source), more = fuzz_byte(source);
    karma_options_init(karma_read_option_table(), options);
    options->format = KARMA_FORMAT_CSV;
    options->threads = 1;
    if (bits & 1) options->target = (karma_names){target, 1};
    if (bits & 2) options->ignore = (karma_names){ignored, 1};
    if (bits & 4) options->category = (karma_names){words, 1};
    if (bits & 8) options->numeric = (karma_names){words, 1};
    if (bits & 16) options->missing = (karma_names){words, 1};
    if (bits & 32) options->dates = 0;
    if (bits & 64) options->row_weight = (char *)"w";
    if (bits & 128) options->header = 0;
    options->decimal = (int)(more % KARMA_N_DECIMALS);
    options->date_order = (int)(more / 8 % KARMA_N_DATE_ORDERS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_source source = {bytes, size};
    karma_read_options options;
    karma_table *table = NULL;
    size_t n_processes = 2 + fuzz_byte(&source) % (MOST_PROCESSES - 1);
    draw(&options, &source);
    fuzz_file file = fuzz_file_open(source.next, source.left);
    job j = {.path = file.path, .options = &options};
    (void)karma_table_read(&table, file.path, &options, NULL, NULL);
    read_together(&j, n_processes, table);
    if (table) read_for_model(file.path, table);
    karma_table_free(table);
    fuzz_file_close(&file);
    return 0;
}
