/* Delimited text as records with the same number of fields: delimiter, names of columns, rows. */
#ifndef KARMA_I_CSV_RECORDS_H
#define KARMA_I_CSV_RECORDS_H

#include "io/csv_scan.h"
#include "io/dictionary.h"
#include "io/reader.h"

typedef struct karma_i_csv_records {
    const char *file; /* its name, for messages */
    int header;
    karma_i_dictionary names; /* column i is entry i */
    karma_i_csv_scan scan;
    const char *first_row; /* behind the header */
    size_t first_line;
} karma_i_csv_records;

/* Determines the delimiter and reads the names: the first record that is not an empty line gives the names of
 * the columns or, without a header, their number. Close it even if this fails. */
karma_status karma_i_csv_open(karma_i_csv_records *records, const karma_i_read_request *request, karma_error *err);
/* Gives a notice if the names of columns are unordered numbers and therefore probably a row (wavelengths, years and
 * item numbers rise or fall), if they are in single quotes, or if the lines may be LIBSVM or separated by blanks. */
void karma_i_csv_notice_header(const karma_i_csv_records *records, const karma_hooks *hooks);
void karma_i_csv_close(karma_i_csv_records *records);

typedef karma_status (*karma_i_csv_cell_fn)(void *payload, size_t column, const karma_i_csv_field *field,
                                            karma_error *err);
typedef karma_status (*karma_i_csv_row_fn)(void *payload, karma_error *err);

/* Reports every cell and every end of a row, from the first row on. A row with more or fewer fields than
 * columns is an error, found at its end. Empty lines are not rows, except in a file with one column, where
 * they are missing cells. */
karma_status karma_i_csv_walk(karma_i_csv_records *records, karma_i_csv_cell_fn cell, karma_i_csv_row_fn end_row,
                              void *payload, karma_error *err);

/* "FILE: line L: 3 fields, header has 4" */
karma_status karma_i_csv_fail_ragged(const karma_i_csv_records *records, size_t line, size_t n_fields, int ends_empty,
                                     karma_error *err);
/* "FILE: no rows" */
karma_status karma_i_csv_fail_no_rows(const karma_i_csv_records *records, karma_error *err);
/* "FILE: no column 'nme'; did you mean 'name'?" if `what` is "column" and one of `names` is similar. */
karma_status karma_i_csv_fail_unknown(const char *file, const char *what, const char *name,
                                      const karma_i_dictionary *names, karma_error *err);

#endif
