/* A reader of files: any bytes end in a table that keeps its invariants, or in an error with a message. Built once for
 * each format, FUZZ_FORMAT. */
#include "fuzz.h"

#include <string.h>

#include "table/table.h"

static int is_about_target(karma_finding_kind kind) {
    return kind == KARMA_FINDING_SINGLE_CLASS || kind == KARMA_FINDING_CLASS_SPELLINGS ||
           kind == KARMA_FINDING_NO_LABEL || kind == KARMA_FINDING_ONE_CLASS || kind == KARMA_FINDING_CLASS_NUMBERS ||
           kind == KARMA_FINDING_CLASS_MARK;
}

static int names_level(karma_finding_kind kind) {
    return kind == KARMA_FINDING_UNITS || kind == KARMA_FINDING_SPELLINGS || kind == KARMA_FINDING_CLASS_SPELLINGS ||
           kind == KARMA_FINDING_MARK || kind == KARMA_FINDING_CLASS_MARK || kind == KARMA_FINDING_CLASS_NUMBERS;
}

/* What is worth a look is about columns and levels that exist. */
static void look_at(const karma_table *table) {
    karma_review review = {0};
    karma_error err = {0};
    if (karma_table_review(&review, table, &err) != KARMA_OK) fuzz_fail(err.message);
    for (size_t i = 0; i < review.n_findings; i++) {
        const karma_finding *f = &review.findings[i];
        int is_target = is_about_target(f->kind) || (f->kind == KARMA_FINDING_NAMES && f->other == 1);
        size_t n_columns = is_target ? karma_table_n_targets(table) : karma_table_n_attributes(table);
        if (f->kind == KARMA_FINDING_TOTAL || f->kind == KARMA_FINDING_EMPTY_ROWS || f->kind == KARMA_FINDING_HEADER)
            continue;
        FUZZ_CHECK(f->column < n_columns, "a finding about a column that is not there");
        if (!names_level(f->kind)) continue;
        size_t n_levels =
            is_target ? table->targets[f->column].column.n_levels : karma_table_n_levels(table, f->column);
        FUZZ_CHECK(f->other < n_levels, "a finding about a level that is not there");
        if (f->kind == KARMA_FINDING_SPELLINGS || f->kind == KARMA_FINDING_CLASS_SPELLINGS)
            FUZZ_CHECK(f->value >= 0.0 && f->value < (double)n_levels, "a finding about a level that is not there");
    }
    karma_review_clear(&review);
}

static void read_with(const fuzz_file *file, const karma_read_options *options) {
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = karma_table_read(&table, file->path, options, NULL, &err);
    if (st == KARMA_OK) {
        FUZZ_CHECK(karma_table_validate(table, NULL) == KARMA_OK, "the table breaks its invariants");
        look_at(table);
    } else {
        FUZZ_CHECK(table == NULL, "an error, and a table");
        FUZZ_CHECK(err.message[0] != '\0', "an error without a message");
    }
    karma_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char *target[] = {(char *)"y"}, *id[] = {(char *)"id"};
    fuzz_file file = fuzz_file_open(bytes, size);
    karma_read_options options;
    karma_options_init(karma_read_option_table(), &options);
    options.format = FUZZ_FORMAT;
    options.threads = 1;
    if (FUZZ_FORMAT == KARMA_FORMAT_LIBSVM) options.absent = KARMA_ABSENT_MISSING;
    read_with(&file, &options);
    if (FUZZ_FORMAT == KARMA_FORMAT_LIBSVM)
        options.absent = KARMA_ABSENT_ZERO;
    else if (FUZZ_FORMAT == KARMA_FORMAT_RATINGS)
        options.item = (char *)"1", options.like = 3.0;
    else
        options.target = (karma_names){target, 1}, options.id = (karma_names){id, 1};
    read_with(&file, &options);
    fuzz_file_close(&file);
    return 0;
}
