#include "io/csv_records.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

karma_status karma_i_csv_fail_no_rows(const karma_i_csv_records *records, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: no rows", records->file);
}

/* Makes names for columns whose name is empty in the header. */
static size_t count_unnamed(const karma_i_dictionary *names) {
    size_t n = 0;
    for (size_t i = 0; i < names->count; i++) {
        char generated[32];
        size_t length = (size_t)snprintf(generated, sizeof generated, "c%zu", i + 1);
        n += names->entries[i].length == length && memcmp(names->entries[i].text, generated, length) == 0;
    }
    return n;
}

static int is_mostly_unnamed(const karma_i_dictionary *names) {
    return names->count >= 3 && 2 * count_unnamed(names) > names->count;
}

/* A label and pairs of index and value: "+1 3:0.5 7:1". */
static int looks_like_libsvm(const char *text, size_t length) {
    const char *end = text + length, *blank = memchr(text, ' ', length);
    double value;
    if (!blank || !karma_i_number_parse(&value, text, (size_t)(blank - text))) return 0;
    const char *at = blank + 1, *colon = memchr(at, ':', (size_t)(end - at));
    if (!colon || colon == at) return 0;
    blank = memchr(colon, ' ', (size_t)(end - colon));
    for (const char *p = at; p < colon; p++)
        if (*p < '0' || *p > '9') return 0;
    return karma_i_number_parse(&value, colon + 1, (size_t)((blank ? blank : end) - colon - 1));
}

/* "; the columns are 'a', 'b', 'c' and 4 more" */
static void list_names(char *out, size_t size, const karma_i_dictionary *names) {
    enum { MOST_NAMES = 6 };
    char name[KARMA_I_EXCERPT_SIZE];
    size_t used = (size_t)snprintf(out, size, "%s", names->count == 1 ? "; the only column is " : "; the columns are ");
    for (size_t i = 0; i < names->count && i < MOST_NAMES && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s'%s'", i ? ", " : "",
                                 karma_i_excerpt(name, names->entries[i].text, names->entries[i].length));
    if (names->count > MOST_NAMES && used < size)
        (void)snprintf(out + used, size - used, " and %zu more", names->count - MOST_NAMES);
    if (names->count == 1 && used < size && looks_like_libsvm(names->entries[0].text, names->entries[0].length))
        (void)snprintf(out + used, size - used, ". If the file is LIBSVM, set option 'format=libsvm'");
    else if (names->count == 1 && used < size)
        (void)snprintf(
            out + used, size - used,
            ". If the fields are separated by something else, set option 'delimiter' ('space' for blanks); if "
            "lines above the header describe the file, remove them");
    else if (is_mostly_unnamed(names) && used < size)
        (void)snprintf(out + used, size - used, ". If lines above the header describe the file, remove them");
}

karma_status karma_i_csv_fail_unknown(const char *file, const char *what, const char *name,
                                      const karma_i_dictionary *names, karma_error *err) {
    char asked[KARMA_I_EXCERPT_SIZE], meant[KARMA_I_EXCERPT_SIZE], all[600];
    const char *nearest = karma_i_dictionary_nearest(names, name);
    (void)karma_i_excerpt(asked, name, strlen(name));
    if (nearest)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: no %s '%s'; did you mean '%s'?", file, what, asked,
                            karma_i_excerpt(meant, nearest, strlen(nearest)));
    all[0] = '\0';
    if (strcmp(what, "column") == 0 && names->count) list_names(all, sizeof all, names);
    return karma_i_fail(err, KARMA_ERR_DATA, "%s: no %s '%s'%s%s", file, what, asked, all,
                        strchr(name, ',') ? "; for several, give the option once for each" : "");
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
    const char *hint = karma_i_number_parse(&value, text, length) ? "; if it is a row, set option 'header=off'"
                                                                  : "; rename one of them";
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

static size_t count_words(const char *text) {
    size_t n = 0;
    for (text += strspn(text, " \t"); *text; n++) {
        text += strcspn(text, " \t");
        text += strspn(text, " \t");
    }
    return n;
}

/* Names in single quotes, and lines that are one field because they are separated by something else. */
static void notice_form(const karma_i_csv_records *records, const karma_hooks *hooks) {
    const karma_i_dictionary *names = &records->names;
    const char *text = names->entries[0].text;
    size_t n_quoted = 0, length = names->entries[0].length;
    for (size_t i = 0; i < names->count; i++)
        n_quoted += names->entries[i].length > 1 && names->entries[i].text[0] == '\'' &&
                    names->entries[i].text[names->entries[i].length - 1] == '\'';
    if (n_quoted == names->count)
        karma_i_notice(hooks,
                       "%s: single quotes around names and cells belong to them; if they are quotes of the file, "
                       "replace them by double quotes, for example by tr \\' '\"'",
                       records->file);
    if (names->count > 1 || !records->header || karma_i_csv_at_end(&records->scan)) return;
    size_t n_words = count_words(text),
           n_fields = karma_i_csv_count_fields(records->scan.source, records->first_row, ' ');
    if (looks_like_libsvm(text, length))
        karma_i_notice(hooks, "%s: the lines look like LIBSVM; if they are, set option 'format=libsvm'", records->file);
    else if (n_words > 1 && (n_fields == n_words || n_fields == n_words + 1))
        karma_i_notice(hooks,
                       "%s: the only column is '%.60s'; if blanks separate the fields, set option 'delimiter=space'",
                       records->file, text);
}

void karma_i_csv_notice_header(const karma_i_csv_records *records, const karma_hooks *hooks) {
    size_t n_numbers = 0, n = records->names.count;
    notice_form(records, hooks);
    if (records->header && is_mostly_unnamed(&records->names))
        karma_i_notice(hooks, "%s: most columns have no name; if lines above the header describe the file, remove them",
                       records->file);
    double value, last = 0.0;
    int rises = 1, falls = 1, has_minus = 0;
    for (size_t i = 0; i < n; i++) {
        if (!karma_i_number_parse(&value, records->names.entries[i].text, records->names.entries[i].length)) continue;
        if (n_numbers++) rises &= value > last, falls &= value < last;
        has_minus |= value < 0.0;
        last = value;
    }
    int is_series = (rises || falls) && !(has_minus && n_numbers == 2);
    if (!records->header || 2 * n_numbers < n || n_numbers < 2 || is_series) return;
    karma_i_notice(hooks, "%s: most names of columns are numbers; if the first line is a row, set option 'header=off'",
                   records->file);
}

/* --- lines above the header ----------------------------------------------------------------------------- */

static const char *line_end(const karma_i_source *source, const char *at) {
    const char *end = source->text + source->length, *feed = memchr(at, '\n', (size_t)(end - at));
    return feed ? feed + 1 : end;
}

/* The first line from `at` on that does not start with #; *n counts those before it, *last is the last of them. */
static const char *skip_marked(size_t *n, const char **last, const karma_i_source *source, const char *at) {
    const char *end = source->text + source->length;
    *last = at;
    for (*n = 0; at < end && *at == '#'; (*n)++) *last = at, at = line_end(source, at);
    return at;
}

/* Spreadsheets may write a line "sep=;". Returns the delimiter that it names; 0 if the line is another. */
static int named_delimiter(const karma_i_source *source, const char *at) {
    size_t length = (size_t)(line_end(source, at) - at);
    while (length && (at[length - 1] == '\n' || at[length - 1] == '\r')) length--;
    return length == 5 && memcmp(at, "sep=", 4) == 0 ? at[4] : 0;
}

/* Skips comment lines (# in front). The last of them is the header if it has as many fields as the line after it. */
static karma_status skip_comments(karma_i_csv_records *records, int *delimiter, size_t n_above,
                                  const karma_hooks *hooks, karma_error *err) {
    karma_i_csv_scan *scan = &records->scan;
    const karma_i_source *source = scan->source;
    const char *last, *end = source->text + source->length;
    size_t n;
    const char *at = skip_marked(&n, &last, source, scan->next);
    if (at == end) at = scan->next, n = 0; /* the file has only such lines: they are not comments */
    if (!*delimiter) KARMA_TRY(karma_i_csv_guess_delimiter(delimiter, source, at, err));
    size_t n_fields = n ? karma_i_csv_count_fields(source, at, *delimiter) : 0;
    if (n_fields > 1 && karma_i_csv_count_fields(source, last, *delimiter) == n_fields) at = last, n--;
    scan->next = at;
    scan->line += n;
    n += n_above;
    if (n)
        karma_i_notice(hooks, "%s: %zu line%s above the header that start%s with # %s skipped", records->file, n,
                       n == 1 ? "" : "s", n == 1 ? "s" : "", n == 1 ? "is" : "are");
    return KARMA_OK;
}

karma_status karma_i_csv_open(karma_i_csv_records *records, const karma_i_read_request *request, karma_error *err) {
    const karma_i_source *source = request->source;
    size_t n_above = 0;
    const char *last, *start = source->text;
    if (!request->is_database) start = skip_marked(&n_above, &last, source, start);
    int delimiter = request->options->delimiter, named = request->is_database ? 0 : named_delimiter(source, start);
    if (!named) start = source->text, n_above = 0; /* the comments may end in the header */
    *records = (karma_i_csv_records){.file = source->name, .header = request->options->header};
    if (!delimiter) delimiter = named ? named : request->likely_delimiter;
    records->scan.source = source;
    records->scan.next = named ? line_end(source, start) : start;
    records->scan.line = named ? n_above + 2 : 1;
    if (!request->is_database) KARMA_TRY(skip_comments(records, &delimiter, n_above, request->hooks, err));
    const char *first = records->scan.next;
    size_t line = records->scan.line;
    karma_i_csv_scan_init(&records->scan, source, delimiter);
    records->scan.next = first;
    records->scan.line = line;
    if (request->is_database) { /* "row 1" follows the header */
        records->scan.line = 0;
        records->scan.counts_records = 1;
    }
    return read_names(records, err);
}

void karma_i_csv_close(karma_i_csv_records *records) {
    karma_i_dictionary_clear(&records->names);
    karma_i_csv_scan_clear(&records->scan);
}

/* --- rows ---------------------------------------------------------------------------------------------- */

static const char *ragged_hint(const karma_i_csv_records *records, size_t line, size_t n_fields, int ends_empty) {
    size_t n = records->names.count;
    if (!records->header) return "";
    if (n == 1) return "; if lines above the header describe the file, remove them";
    if (n_fields < n) return "; if the line is not a row of the table, remove it";
    if (n_fields == n + 1 && ends_empty)
        return "; the line ends in a delimiter: remove it, or add one to the end of the header";
    if (n_fields == n + 1 && line == records->first_line)
        return "; if every line starts with the name of its row, as R writes tables, give these names a column in the "
               "header; otherwise a text that contains the delimiter must be in double quotes";
    return "; a text that contains the delimiter must be in double quotes";
}

karma_status karma_i_csv_fail_ragged(const karma_i_csv_records *records, size_t line, size_t n_fields, int ends_empty,
                                     karma_error *err) {
    const char *hint = ragged_hint(records, line, n_fields, ends_empty);
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: %zu field%s, %s has %zu%s", records->file, line, n_fields,
                        n_fields == 1 ? "" : "s", records->header ? "header" : "the first record", records->names.count,
                        hint);
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
        if (n + 1 != n_columns) return karma_i_csv_fail_ragged(records, line, n + 1, field.length == 0, err);
        KARMA_TRY(end_row(payload, err));
    }
    return KARMA_OK;
}
