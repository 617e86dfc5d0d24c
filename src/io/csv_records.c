#include "io/csv_records.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

karma_status karma_i_csv_fail_no_rows(const karma_i_csv_records *records, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: no rows", records->file);
}

karma_status karma_i_csv_fail_unknown(const char *file, const char *what, const char *name,
                                      const karma_i_dictionary *names, karma_error *err) {
    char asked[KARMA_I_EXCERPT_SIZE], meant[KARMA_I_EXCERPT_SIZE];
    const char *nearest = karma_i_dictionary_nearest(names, name);
    (void)karma_i_excerpt(asked, name, strlen(name));
    if (!nearest) return karma_i_fail(err, KARMA_ERR_DATA, "%s: no %s '%s'", file, what, asked);
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: no %s '%s'; is '%s' meant?", file, what, asked,
                        karma_i_excerpt(meant, nearest, strlen(nearest)));
}

/* --- names --------------------------------------------------------------------------------------------- */

static karma_status add_name(karma_i_csv_records *records, const char *text, size_t length, size_t line,
                             karma_error *err) {
    size_t number = records->names.count, found;
    char generated[32], excerpt[KARMA_I_EXCERPT_SIZE];
    if (length == 0) {
        length = (size_t)snprintf(generated, sizeof generated, "c%zu", number + 1);
        text = generated;
    }
    KARMA_TRY(karma_i_dictionary_add(&found, &records->names, text, length, err));
    if (found == number) return KARMA_OK;
    double value;
    const char *hint = karma_i_number_parse(&value, text, length) ? "; if it is a row, set option 'header=off'" : "";
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: columns %zu and %zu are both called '%s'%s",
                        records->file, line, found + 1, number + 1, karma_i_excerpt(excerpt, text, length), hint);
}

static karma_status read_names(karma_i_csv_records *records, karma_error *err) {
    karma_i_csv_scan *scan = &records->scan;
    records->first_row = scan->next;
    records->first_line = scan->line;
    while (records->names.count == 0) {
        karma_i_csv_field field;
        if (karma_i_csv_at_end(scan)) return karma_i_csv_fail_no_rows(records, err);
        do {
            KARMA_TRY(karma_i_csv_next(&field, scan, err));
            if (records->names.count == 0 && karma_i_csv_is_empty_line(&field)) break;
            KARMA_TRY(add_name(records, field.text, records->header ? field.length : 0, field.line, err));
        } while (!field.last);
    }
    if (records->header) {
        records->first_row = scan->next;
        records->first_line = scan->line;
    }
    return KARMA_OK;
}

karma_status karma_i_csv_open(karma_i_csv_records *records, const karma_i_read_request *request, karma_error *err) {
    int delimiter = request->options->delimiter;
    *records = (karma_i_csv_records){.file = request->source->name, .header = request->options->header};
    if (!delimiter) delimiter = request->likely_delimiter;
    if (!delimiter) KARMA_TRY(karma_i_csv_guess_delimiter(&delimiter, request->source, err));
    karma_i_csv_scan_init(&records->scan, request->source, delimiter);
    return read_names(records, err);
}

void karma_i_csv_close(karma_i_csv_records *records) {
    karma_i_dictionary_clear(&records->names);
    karma_i_csv_scan_clear(&records->scan);
}

/* --- rows ---------------------------------------------------------------------------------------------- */

karma_status karma_i_csv_fail_ragged(const karma_i_csv_records *records, size_t line, size_t n_fields,
                                     karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: %zu field%s, %s has %zu", records->file, line, n_fields,
                        n_fields == 1 ? "" : "s", records->header ? "header" : "the first record",
                        records->names.count);
}

karma_status karma_i_csv_walk(karma_i_csv_records *records, karma_i_csv_cell_fn cell, karma_i_csv_row_fn end_row,
                              void *payload, karma_error *err) {
    karma_i_csv_scan *scan = &records->scan;
    size_t n_columns = records->names.count;
    scan->next = records->first_row;
    scan->line = records->first_line;
    while (!karma_i_csv_at_end(scan)) {
        size_t line = scan->line, n = 0;
        karma_i_csv_field field;
        KARMA_TRY(karma_i_csv_next(&field, scan, err));
        if (n_columns > 1 && karma_i_csv_is_empty_line(&field)) continue;
        for (;; n++) {
            if (n < n_columns) KARMA_TRY(cell(payload, n, &field, err));
            if (field.last) break;
            KARMA_TRY(karma_i_csv_next(&field, scan, err));
        }
        if (n + 1 != n_columns) return karma_i_csv_fail_ragged(records, line, n + 1, err);
        KARMA_TRY(end_row(payload, err));
    }
    return KARMA_OK;
}
