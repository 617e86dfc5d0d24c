/* Reads one text, keeps the result, and checks it. Include after cmocka.h. */
#ifndef KARMA_TEST_READCASE_H
#define KARMA_TEST_READCASE_H

#include <stdio.h>
#include <string.h>

#include "io/reader.h"
#include "tempfile.h"

/* A list of names for an option: (karma_names)NAMES("a", "b"). */
#define NAMES(...)                                                                                                     \
    { (char *[]){__VA_ARGS__}, sizeof((char *[]){__VA_ARGS__}) / sizeof(char *) }

typedef struct reading {
    karma_status status;
    karma_error err;
    karma_table *table;
    char path[320];
    size_t n_notices;
    char notice[480]; /* the last one */
} reading;

static inline void reading_notice(void *payload, const char *sentence) {
    reading *r = payload;
    r->n_notices++;
    (void)snprintf(r->notice, sizeof r->notice, "%s", sentence);
}

static inline karma_read_options read_defaults(void) {
    karma_read_options o;
    karma_options_init(karma_read_option_table(), &o);
    return o;
}

/* `options` NULL: the defaults. A table that was read must be valid; a failure must leave the output unchanged. */
static inline void read_file(reading *r, const temp_file *file, const karma_read_options *options,
                             const karma_i_expectation *expectation) {
    *r = (reading){0};
    karma_hooks hooks = {NULL, reading_notice, r};
    (void)snprintf(r->path, sizeof r->path, "%s", file->path);
    r->status = karma_i_table_read(&r->table, file->path, options, expectation, &hooks, &r->err);
    if (r->status == KARMA_OK) {
        karma_error err;
        if (karma_table_validate(r->table, &err) != KARMA_OK) fail_msg("invalid table: %s", err.message);
        assert_true(karma_table_n_rows(r->table) > 0);
    } else {
        assert_null(r->table);
        assert_int_equal(r->err.status, r->status);
    }
}

static inline void read_bytes(reading *r, const char *ending, const void *bytes, size_t length,
                              const karma_read_options *options, const karma_i_expectation *expectation) {
    temp_file file;
    temp_create(&file, ending, bytes, length);
    read_file(r, &file, options, expectation);
    temp_remove(&file);
}

static inline void reading_clear(reading *r) {
    karma_table_free(r->table);
    r->table = NULL;
}

static inline void assert_read(const reading *r) {
    if (r->status != KARMA_OK) fail_msg("%s", r->err.message);
}

/* The message is "PATH: " and then exactly `sentence`. */
static inline void assert_refused(const reading *r, karma_status status, const char *sentence) {
    char whole[900];
    (void)snprintf(whole, sizeof whole, "%s: %s", r->path, sentence);
    assert_int_not_equal(r->status, KARMA_OK);
    assert_string_equal(r->err.message, whole);
    assert_int_equal(r->status, status);
}

/* A cell's number; NaN if it is missing. */
static inline double cell_of(const reading *r, size_t row, size_t attribute) {
    double value;
    return karma_table_cell(r->table, row, attribute, &value) ? value : (double)NAN;
}

/* A cell's level; "" if it is missing. */
static inline const char *level_of(const reading *r, size_t row, size_t attribute) {
    double value;
    if (!karma_table_cell(r->table, row, attribute, &value)) return "";
    return karma_table_level(r->table, attribute, (size_t)value);
}

static inline double target_of(const reading *r, size_t row) {
    double value;
    return karma_table_target(r->table, 0, row, &value) ? value : (double)NAN;
}

/* Attribute names joined by commas. */
static inline const char *names_of(const reading *r, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t j = 0; j < karma_table_n_attributes(r->table) && used < size; j++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", j ? "," : "", karma_table_attribute_name(r->table, j));
    return text;
}

#endif
