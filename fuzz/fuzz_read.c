/* A reader of files: any bytes end in a table that keeps its invariants, or in an error with a message. Built once for
 * each format, FUZZ_FORMAT. */
#include "fuzz.h"

#include <string.h>

static void read_with(const fuzz_file *file, const karma_read_options *options) {
    karma_table *table = NULL;
    karma_error err = {0};
    karma_status st = karma_table_read(&table, file->path, options, NULL, &err);
    if (st == KARMA_OK) {
        FUZZ_CHECK(karma_table_validate(table, NULL) == KARMA_OK, "the table breaks its invariants");
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
