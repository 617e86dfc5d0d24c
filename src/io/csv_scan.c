#include "io/csv_scan.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "karma/options.h"

enum { N_GUESS_RECORDS = 20 };

void karma_i_csv_scan_init(karma_i_csv_scan *scan, const karma_i_source *source, int delimiter) {
    *scan = (karma_i_csv_scan){.source = source, .next = source->text, .line = 1, .delimiter_length = 1};
    scan->delimiter = (char)delimiter;
    if (delimiter == KARMA_COLONS) scan->delimiter = ':', scan->delimiter_length = 2;
    scan->ends_field[(unsigned char)scan->delimiter] = 1;
    scan->ends_field['\t'] |= delimiter == ' ';
    scan->ends_field['\r'] = scan->ends_field['\n'] = scan->ends_field['\0'] = 1;
}

void karma_i_csv_scan_clear(karma_i_csv_scan *scan) {
    karma_i_free(scan->unquoted);
    scan->unquoted = NULL;
    scan->unquoted_capacity = 0;
}

static int is_blank(const karma_i_csv_scan *scan, char c) {
    return (c == ' ' || c == '\t') && !scan->ends_field[(unsigned char)c];
}

/* Blanks and no-break spaces, which spreadsheets and web pages leave around cells. */
static const char *skip_blanks(const karma_i_csv_scan *scan, const char *p) {
    for (;;) {
        if (is_blank(scan, *p))
            p++;
        else if ((unsigned char)p[0] == 0xc2 && (unsigned char)p[1] == 0xa0)
            p += 2;
        else
            return p;
    }
}

static const char *skip_blanks_back(const karma_i_csv_scan *scan, const char *first, const char *end) {
    for (;;) {
        if (end > first && is_blank(scan, end[-1]))
            end--;
        else if (end - first >= 2 && memcmp(end - 2, "\xc2\xa0", 2) == 0)
            end -= 2;
        else
            return end;
    }
}

/* Counted in characters from 1, as an editor shows it. */
static size_t column_of(const karma_i_csv_scan *scan, const char *p) {
    size_t column = 1;
    while (p > scan->source->text && p[-1] != '\n') column += (*--p & 0xc0) != 0x80;
    return column;
}

/* Half of a two-character delimiter is ordinary text. */
static int ends_field(const karma_i_csv_scan *scan, const char *p) {
    if (!scan->ends_field[(unsigned char)*p]) return 0;
    return scan->delimiter_length == 1 || *p != scan->delimiter || p[1] == *p;
}

/* If the delimiter is a blank, any number of blanks and tabs is one delimiter, and none at the end of a
 * line. */
static const char *skip_separator(const karma_i_csv_scan *scan, const char *p) {
    if (scan->delimiter != ' ') return p;
    const char *behind = p;
    while (*behind == ' ' || *behind == '\t') behind++;
    int ends_line = *behind == '\r' || *behind == '\n' || behind == scan->source->text + scan->source->length;
    return ends_line || behind == p ? behind : behind - 1;
}

/* `p` is after a field; skips the delimiter or the end of the line. */
static karma_status end_field(karma_i_csv_field *field, karma_i_csv_scan *scan, const char *p, karma_error *err) {
    const char *end = scan->source->text + scan->source->length;
    p = skip_separator(scan, p);
    field->last = p == end || (*p != scan->delimiter && !(scan->delimiter == ' ' && *p == '\t'));
    if (*p == '\r') {
        p++;
        if (p != end && *p != '\n')
            return karma_i_fail(err, KARMA_ERR_FORMAT,
                                "%s: line %zu, column %zu: a carriage return without a line feed; lines must "
                                "end in LF or CRLF. Convert the file, for example by tr '\\r' '\\n'",
                                scan->source->name, scan->line, column_of(scan, p - 1));
    }
    if (!field->last)
        p += scan->delimiter_length;
    else if (p != end)
        scan->line += *p++ == '\n';
    scan->next = p;
    return KARMA_OK;
}

/* The content between the quotes without the doubling. */
static karma_status undouble(karma_i_csv_field *field, karma_i_csv_scan *scan, const char *first, const char *end,
                             karma_error *err) {
    void *room = scan->unquoted;
    if (!karma_i_reserve(&room, &scan->unquoted_capacity, (size_t)(end - first), 1)) return karma_i_fail_memory(err);
    scan->unquoted = room;
    char *to = scan->unquoted;
    for (const char *p = first; p < end; p++) {
        *to++ = *p;
        if (*p == '"') p++; /* the second of a doubled quote */
    }
    field->text = scan->unquoted;
    field->length = (size_t)(to - scan->unquoted);
    return KARMA_OK;
}

/* `p` is after the opening quote. */
static karma_status quoted_field(karma_i_csv_field *field, karma_i_csv_scan *scan, const char *p, karma_error *err) {
    const char *first = p, *end = scan->source->text + scan->source->length;
    int doubled = 0;
    for (; *p != '"' || p[1] == '"'; p++) {
        if (p == end) {
            scan->ran_out = 1;
            return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: the quote that opens here is never closed",
                                scan->source->name, field->line);
        }
        if (*p == '"') doubled = 1, p++;
        scan->line += *p == '\n' && !scan->counts_records;
    }
    field->quoted = 1;
    field->text = first;
    field->length = (size_t)(p - first);
    if (doubled) KARMA_TRY(undouble(field, scan, first, p, err));
    const char *behind = p + 1;
    p = skip_blanks(scan, behind);
    if (!ends_field(scan, p))
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu, column %zu: text after a closing quote; %s",
                            scan->source->name, scan->line, column_of(scan, p),
                            p > behind ? "if blanks separate the fields, set option 'delimiter=space'"
                                       : "a quote inside quotes is written twice");
    return end_field(field, scan, p, err);
}

karma_status karma_i_csv_next(karma_i_csv_field *out, karma_i_csv_scan *scan, karma_error *err) {
    const char *p = scan->next;
    out->line = scan->line;
    if (scan->delimiter == ' ') p += strspn(p, " \t"); /* only the first field of a line has some */
    p = skip_blanks(scan, p);
    if (*p == '"') return quoted_field(out, scan, p + 1, err);
    const char *first = p;
    while (!ends_field(scan, p)) p++;
    const char *end = skip_blanks_back(scan, first, p);
    out->quoted = 0;
    out->text = first;
    out->length = (size_t)(end - first);
    return end_field(out, scan, p, err);
}

/* How many fields the first record has, and whether the next records have as many. */
typedef struct fit {
    size_t n_fields;
    int even;
} fit;

/* Records that cannot be read count as different; they are reported once the delimiter is known. */
static karma_status count_fields(size_t *out, karma_i_csv_scan *scan, int *empty_line) {
    karma_i_csv_field field = {0};
    size_t n = 0;
    do {
        KARMA_TRY(karma_i_csv_next(&field, scan, NULL));
        n++;
    } while (!field.last);
    *empty_line = n == 1 && karma_i_csv_is_empty_line(&field);
    *out = n;
    return KARMA_OK;
}

/* Fails with KARMA_ERR_MEMORY only. */
static karma_status try_delimiter(fit *out, const karma_i_source *source, const char *first, int delimiter) {
    karma_i_csv_scan scan;
    karma_i_csv_scan_init(&scan, source, delimiter);
    scan.next = first;
    karma_status st = KARMA_OK;
    size_t n = 0, n_records = 0;
    int empty_line = 0;
    *out = (fit){0, 1};
    while (n_records < N_GUESS_RECORDS && !karma_i_csv_at_end(&scan)) {
        st = count_fields(&n, &scan, &empty_line);
        if (st != KARMA_OK) break;
        if (empty_line) continue;
        if (n_records++ == 0) out->n_fields = n;
        if (n != out->n_fields) out->even = 0;
    }
    karma_i_csv_scan_clear(&scan);
    if (st != KARMA_OK) out->even = 0;
    return st == KARMA_ERR_MEMORY ? st : KARMA_OK;
}

size_t karma_i_csv_count_fields(const karma_i_source *source, const char *first, int delimiter) {
    karma_i_csv_scan scan;
    size_t n = 0;
    int empty_line;
    karma_i_csv_scan_init(&scan, source, delimiter);
    scan.next = first;
    if (count_fields(&n, &scan, &empty_line) != KARMA_OK) n = 0;
    karma_i_csv_scan_clear(&scan);
    return n;
}

karma_status karma_i_csv_guess_delimiter(int *out, const karma_i_source *source, const char *first, karma_error *err) {
    static const int candidates[] = {',', ';', '\t', '|', KARMA_COLONS};
    int best = ',';
    fit best_fit = {1, 0};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        fit f;
        if (try_delimiter(&f, source, first, candidates[i]) != KARMA_OK) return karma_i_fail_memory(err);
        int colons = candidates[i] == KARMA_COLONS;
        int outdone = best_fit.even && (colons || f.n_fields <= best_fit.n_fields);
        int better = f.even ? !outdone : best_fit.n_fields < 2;
        if (f.n_fields < (colons ? 3 : 2) || !better) continue;
        best = candidates[i];
        best_fit = f;
    }
    *out = best;
    return KARMA_OK;
}
