/* Files of many blocks and several windows, read by several threads: every value follows from the way the text was
 * made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "readcase.h"

/* Together about 11 MB: more than a window of 8 MB, which has blocks of 512 KB. */
enum { N_ROWS = 40000, FILLER = 200, LONG_QUOTE = 700000, LONG_ROW = 12345 };

typedef struct text {
    char *bytes;
    size_t length;
    size_t line; /* of the next row */
} text;

static const char *const notes[] = {"plain", "with, comma", "two\nlines", "a \"quote\"", "5\" pipe\n\n\"x\",1,2"};
enum { N_NOTES = 5 };

static void put(text *t, const char *piece) {
    size_t n = strlen(piece);
    memcpy(t->bytes + t->length, piece, n);
    t->length += n;
    for (size_t i = 0; i < n; i++) t->line += piece[i] == '\n';
}

static void put_quoted(text *t, const char *piece) {
    char doubled[64];
    size_t used = 0;
    for (; *piece; piece++) {
        if (*piece == '"') doubled[used++] = '"';
        doubled[used++] = *piece;
    }
    doubled[used] = '\0';
    put(t, "\"");
    put(t, doubled);
    put(t, "\"");
}

static double x_of(size_t row) {
    return (double)row * 0.1234567 - 1000.0 / (double)(row + 3);
}
static int has_x(size_t row) {
    return row % 3 != 1;
}

/* Quotes around something like rows: a block that is cut here starts in the wrong place. */
static void put_filler(text *t, size_t row) {
    size_t n = row == LONG_ROW ? LONG_QUOTE : FILLER;
    put(t, row == LONG_ROW ? "\"" : "");
    for (size_t i = 0; i < n; i++) t->bytes[t->length++] = i % 40 == 39 && row == LONG_ROW ? '\n' : 'f';
    if (row == LONG_ROW) t->line += n / 40;
    put(t, row == LONG_ROW ? "\"" : "");
}

static void put_row(text *t, size_t row, const char *end) {
    char piece[128];
    (void)snprintf(piece, sizeof piece, "id%zu,", row);
    put(t, piece);
    (void)snprintf(piece, sizeof piece, "%.17g", x_of(row));
    put(t, has_x(row) ? piece : "");
    put(t, ",");
    put_quoted(t, notes[row % N_NOTES]);
    char late[32];
    (void)snprintf(late, sizeof late, "%zu", row % 7);
    (void)snprintf(piece, sizeof piece, ",%s,%zu-03-0%zu,", row < N_ROWS - 5 ? late : "late", 2000 + row % 20,
                   1 + row % 9);
    put(t, piece);
    put_filler(t, row);
    (void)snprintf(piece, sizeof piece, ",%zu,%s%s", 1 + row % 4, row % 5 == 0 ? "" : row % 2 ? "yes" : "no", end);
    put(t, piece);
}

/* `odd` replaces row `at`. */
static text make_text(const char *end, size_t at, const char *odd, size_t *line_of_odd) {
    text t = {malloc((size_t)N_ROWS * (FILLER + 120) + LONG_QUOTE), 0, 1};
    assert_non_null(t.bytes);
    put(&t, "who,x,note,late,when,filler,w,y");
    put(&t, end);
    for (size_t row = 0; row < N_ROWS; row++) {
        if (odd && row == at) {
            if (line_of_odd) *line_of_odd = t.line;
            put(&t, odd);
            continue;
        }
        put_row(&t, row, end);
    }
    return t;
}

static karma_read_options options_of(int64_t threads) {
    static char *target[] = {"y"}, *id[] = {"who"}, *ignored[] = {"filler"};
    karma_read_options o = read_defaults();
    o.threads = threads;
    o.target = (karma_names){target, 1};
    o.id = (karma_names){id, 1};
    o.ignore = (karma_names){ignored, 1};
    o.row_weight = "w";
    return o;
}

static void check_row(const reading *r, size_t row) {
    char id[32], late[32];
    (void)snprintf(id, sizeof id, "id%zu", row);
    (void)snprintf(late, sizeof late, "%zu", row % 7);
    if (row >= N_ROWS - 5) (void)snprintf(late, sizeof late, "late");
    assert_string_equal(karma_table_id(r->table, 0, row), id);
    double x = cell_of(r, row, 0);
    if (has_x(row) ? x != x_of(row) : !isnan(x)) fail_msg("row %zu: x is %.17g", row, x);
    assert_string_equal(level_of(r, row, 1), notes[row % N_NOTES]);
    assert_string_equal(level_of(r, row, 2), late);
    assert_true(cell_of(r, row, 3) == (double)(2000 + row % 20)); /* when.year */
    assert_true(karma_table_row_weight(r->table, row) == (double)(1 + row % 4));
    double y;
    int is_known = karma_table_target(r->table, 0, row, &y);
    assert_int_equal(is_known, row % 5 != 0);
    if (is_known) assert_string_equal(karma_table_class(r->table, 0, (size_t)y), row % 2 ? "yes" : "no");
}

static void check_table(const reading *r) {
    assert_read(r);
    assert_int_equal(karma_table_n_rows(r->table), N_ROWS);
    assert_int_equal(karma_table_n_levels(r->table, 1), N_NOTES);
    assert_int_equal(karma_table_n_levels(r->table, 2), 8);
    for (size_t row = 0; row < N_ROWS; row++) check_row(r, row);
}

static void all_rows_arrive_for_any_number_of_threads(void **state) {
    (void)state;
    text t = make_text("\n", 0, NULL, NULL);
    temp_file file, packed;
    temp_create(&file, ".csv", t.bytes, t.length);
    temp_create_gzip(&packed, ".csv.gz", t.bytes, t.length);
    for (int64_t threads = 1; threads <= 5; threads += 2) {
        karma_read_options o = options_of(threads);
        reading r;
        read_file(&r, threads == 3 ? &packed : &file, &o, NULL);
        check_table(&r);
        reading_clear(&r);
    }
    temp_remove(&file);
    temp_remove(&packed);
    free(t.bytes);
}

static void line_ends_of_windows_and_byte_order_marks(void **state) {
    (void)state;
    text t = make_text("\r\n", 0, NULL, NULL);
    char *marked = malloc(t.length + 3);
    assert_non_null(marked);
    memcpy(marked, "\xef\xbb\xbf", 3);
    memcpy(marked + 3, t.bytes, t.length);
    karma_read_options o = options_of(2);
    reading r;
    read_bytes(&r, ".csv", marked, t.length + 3, &o, NULL);
    check_table(&r);
    reading_clear(&r);
    free(marked);
    free(t.bytes);
}

/* The message about a fault deep in the file names its line, whichever thread finds it. */
static void errors_name_their_line(void **state) {
    (void)state;
    static const struct {
        const char *row, *sentence;
    } faults[] = {
        {"id,1,2\n", "line %zu: 3 fields, header has 8; if the line is not a row of the table, remove it"},
        {"id,1,plain,1,2001-03-01,f,-3,yes\n",
         "line %zu, column 'w': '-3' is not a row weight, 0 or a number from 1e-100 to 1e100"},
        {"id,1,\xff,1,2001-03-01,f,1,yes\n",
         "line %zu: byte 0xff is not UTF-8; convert the file to UTF-8, for example by iconv -f windows-1252 -t utf-8"},
        {"id,1,\"a\"b,1,2001-03-01,f,1,yes\n",
         "line %zu, column 9: text after a closing quote; a quote inside quotes is written twice"},
        {"id,1e999,a,1,2001-03-01,f,1,yes\n", "line %zu, column 'x': '1e999' is not a finite number; if it stands for "
                                              "a missing value, use option 'missing' '1e999'"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        for (size_t at = 9000; at < N_ROWS; at += 30000) {
            char sentence[200];
            size_t line = 0;
            text t = make_text("\n", at, faults[i].row, &line);
            karma_read_options o = options_of(i % 2 ? 1 : 4);
            reading r;
            read_bytes(&r, ".csv", t.bytes, t.length, &o, NULL);
            const char *place = strstr(faults[i].sentence, "%zu");
            (void)snprintf(sentence, sizeof sentence, "%.*s%zu%s", (int)(place - faults[i].sentence),
                           faults[i].sentence, line, place + 3);
            assert_refused(&r, i == 1 || i == 4 ? KARMA_ERR_DATA : KARMA_ERR_FORMAT, sentence);
            free(t.bytes);
        }
}

/* A quote that is never closed includes the rest of the file: the message names the line where it opens. */
static void open_quotes_are_found(void **state) {
    (void)state;
    size_t line = 0;
    text t = make_text("\n", 20000, "id,1,\"open,1,2001-03-01,f,1,yes\n", &line);
    /* no quote may follow it */
    char sentence[100];
    for (char *p = strstr(t.bytes, "\"open") + 1; p < t.bytes + t.length; p++)
        if (*p == '"') *p = '\'';
    karma_read_options o = options_of(3);
    reading r;
    read_bytes(&r, ".csv", t.bytes, t.length, &o, NULL);
    (void)snprintf(sentence, sizeof sentence, "line %zu: the quote that opens here is never closed", line);
    assert_refused(&r, KARMA_ERR_FORMAT, sentence);
    free(t.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_arrive_for_any_number_of_threads),
        cmocka_unit_test(line_ends_of_windows_and_byte_order_marks),
        cmocka_unit_test(errors_name_their_line),
        cmocka_unit_test(open_quotes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
