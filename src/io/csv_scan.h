/* Splits delimited text into fields: RFC 4180 quoting, lines ending in LF or CRLF. */
#ifndef KARMA_I_CSV_SCAN_H
#define KARMA_I_CSV_SCAN_H

#include "io/source.h"

typedef struct karma_i_csv_scan {
    const karma_i_source *source; /* checked text */
    const char *next;
    size_t line; /* of `next`, from 1 */
    char delimiter;
    size_t delimiter_length;       /* 2: it is two characters */
    unsigned char ends_field[256]; /* the delimiter, CR, LF and the '\0' after the text */
    char *unquoted;                /* the last field that had doubled quotes */
    size_t unquoted_capacity;
    int counts_records; /* a line feed inside quotes does not end a line */
    int ran_out;        /* the text ended before a closing quote */
} karma_i_csv_scan;

typedef struct karma_i_csv_field {
    const char *text; /* valid until the next field is read */
    size_t length;
    size_t line; /* where it starts */
    int quoted;
    int last; /* of its record */
} karma_i_csv_field;

/* Guesses the delimiter, one of , ; tab | and ::, from the records from `first` on. Among delimiters that
 * give every record the same number of fields, the one with most fields; failing that, the first that splits
 * the first record at all, so that a ragged file is reported as ragged; failing that, a comma. Two colons,
 * which occur in prose and code too, must make three fields and rank after any other delimiter that splits
 * all records alike. Fails with KARMA_ERR_MEMORY only. */
karma_status karma_i_csv_guess_delimiter(int *out, const karma_i_source *source, const char *first, karma_error *err);

/* The number of fields of the record at `first`; 0 if it cannot be split. */
size_t karma_i_csv_count_fields(const karma_i_source *source, const char *first, int delimiter);

/* `delimiter` as in karma_read_options, but not 0. */
void karma_i_csv_scan_init(karma_i_csv_scan *scan, const karma_i_source *source, int delimiter);
void karma_i_csv_scan_clear(karma_i_csv_scan *scan);

/* Between records: whether there are no more. */
static inline int karma_i_csv_at_end(const karma_i_csv_scan *scan) {
    return scan->next == scan->source->text + scan->source->length;
}

karma_status karma_i_csv_next(karma_i_csv_field *out, karma_i_csv_scan *scan, karma_error *err);

/* Whether the first field of a record shows that its line is empty. */
static inline int karma_i_csv_is_empty_line(const karma_i_csv_field *first) {
    return first->last && !first->quoted && first->length == 0;
}

#endif
