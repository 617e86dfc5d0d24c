/* Reads a whole file and checks that it is text. */
#include "io/source.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

karma_status karma_i_source_load_feed(karma_i_source *out, karma_i_feed *feed, karma_error *err) {
    karma_i_source source = {.name = karma_i_feed_name(feed)};
    karma_i_feed_hold(feed);
    KARMA_TRY(karma_i_feed_fill(feed, SIZE_MAX, 1, err));
    source.text = karma_i_feed_take(feed, &source.length);
    if (source.length == 0) {
        karma_i_source_clear(&source);
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: the file is empty", source.name);
    }
    *out = source;
    return KARMA_OK;
}

karma_status karma_i_source_load(karma_i_source *out, const char *path, karma_error *err) {
    karma_i_feed *feed;
    KARMA_TRY(karma_i_feed_open(&feed, path, err));
    karma_status st = karma_i_source_load_feed(out, feed, err);
    karma_i_feed_close(feed);
    return st;
}

void karma_i_source_clear(karma_i_source *source) {
    karma_i_free(source->text);
    source->text = NULL;
    source->length = 0;
}

/* Index of the first byte that does not belong in a text, or `length`. */
static size_t find_foreign_byte(const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        uint64_t word;
        if (length - i >= sizeof word) { /* eight ASCII characters, none of them NUL, in one step */
            memcpy(&word, text + i, sizeof word);
            uint64_t high = word | (word - UINT64_C(0x0101010101010101));
            if (!(high & UINT64_C(0x8080808080808080))) {
                i += sizeof word;
                continue;
            }
        }
        size_t n = text[i] ? karma_i_utf8_length((const unsigned char *)text + i) : 0;
        if (n == 0) return i;
        i += n;
    }
    return length;
}

static size_t line_of(const char *text, size_t position) {
    size_t line = 1;
    for (size_t i = 0; i < position; i++) line += text[i] == '\n';
    return line;
}

karma_status karma_i_check_text(const char *name, const char *text, size_t length, size_t first_line,
                                karma_error *err) {
    size_t i = find_foreign_byte(text, length);
    if (i == length) return KARMA_OK;
    size_t line = first_line - 1 + line_of(text, i);
    if (text[i] == '\0')
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: a NUL byte; the file is not text in UTF-8", name,
                            line);
    return karma_i_fail(err, KARMA_ERR_FORMAT,
                        "%s: line %zu: byte 0x%02x is not UTF-8; convert the file to UTF-8, for example by iconv -f "
                        "windows-1252 -t utf-8",
                        name, line, (unsigned)(unsigned char)text[i]);
}

/* How other files start, and advice on them. */
static const struct {
    const char *start;
    size_t length;
    const char *what;
} other_formats[] = {
    {"PK\3\4", 4, "a ZIP archive, as .xlsx and .ods files are; save the sheet as CSV, or unpack the archive"},
    {"\xd0\xcf\x11\xe0", 4, "an Excel workbook (.xls); save the sheet as CSV"},
    {"PAR1", 4, "a Parquet file; convert it to CSV, or use the Python package"},
    {"ARROW1", 6, "an Arrow file; convert it to CSV, or use the Python package"},
    {"SQLite format 3", 15, "an SQLite database; export the table as CSV"},
    {"\x89HDF", 4, "an HDF5 file; convert it to CSV"},
    {"BZh", 3, "compressed by bzip2; unpack it, or compress it by gzip"},
    {"\xfd"
     "7zXZ",
     5, "compressed by xz; unpack it, or compress it by gzip"},
    {"\x28\xb5\x2f\xfd", 4, "compressed by zstd; unpack it, or compress it by gzip"},
    {"%PDF-", 5, "a PDF document; export the table as CSV"},
    {"<!DOCTYPE", 9, "a web page, not a table; the download may have failed"},
    {"<!doctype", 9, "a web page, not a table; the download may have failed"},
    {"<html", 5, "a web page, not a table; the download may have failed"},
    {"<?xml", 5, "XML; export the table as CSV"},
};

/* { or [ and what may follow it there. */
static int is_json(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && strchr(" \t\r\n", text[i]) && text[i]) i++;
    if (i == length || (text[i] != '{' && text[i] != '[')) return 0;
    for (i++; i < length && strchr(" \t\r\n[", text[i]) && text[i];) i++;
    return i < length && (text[i] == '"' || text[i] == '{');
}

static karma_status check_format(const char *name, const char *text, size_t length, karma_error *err) {
    for (size_t i = 0; i < sizeof other_formats / sizeof other_formats[0]; i++)
        if (length >= other_formats[i].length && memcmp(text, other_formats[i].start, other_formats[i].length) == 0)
            return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the file is %s", name, other_formats[i].what);
    if (!is_json(text, length)) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the file is JSON; convert it to CSV", name);
}

static karma_status fail_utf16(const char *name, const char *bytes_order, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_FORMAT,
                        "%s: line 1: the text is UTF-16; convert the file to UTF-8, for example by iconv -f utf-16%s "
                        "-t utf-8",
                        name, bytes_order);
}

/* UTF-16: every second byte of plain letters is 0, the first or the second of each pair. */
static int is_bare_utf16(const char *text, size_t length, size_t zero) {
    return length >= 4 && !text[zero] && !text[zero + 2] && text[1 - zero] && text[3 - zero];
}

karma_status karma_i_check_start(size_t *skipped, const char *name, const char *text, size_t length, karma_error *err) {
    const unsigned char *start = (const unsigned char *)text;
    if (length >= 2 && ((start[0] == 0xff && start[1] == 0xfe) || (start[0] == 0xfe && start[1] == 0xff)))
        return fail_utf16(name, "", err);
    if (is_bare_utf16(text, length, 0)) return fail_utf16(name, "be", err);
    if (is_bare_utf16(text, length, 1)) return fail_utf16(name, "le", err);
    static const char sqlite[] = "SQLite format 3"; /* and a NUL byte */
    if (length >= sizeof sqlite && memcmp(text, sqlite, sizeof sqlite) == 0)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: the file is a SQLite database; %s", name,
                            KARMA_I_READS_SQLITE ? "name it sqlite:FILE?table=NAME"
                                                 : "this build cannot read it: write its table to a CSV file");
    *skipped = length >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (length == *skipped) return karma_i_fail(err, KARMA_ERR_DATA, "%s: the file is empty", name);
    return check_format(name, text + *skipped, length - *skipped, err);
}

karma_status karma_i_source_check_text(karma_i_source *source, karma_error *err) {
    size_t skipped;
    KARMA_TRY(karma_i_check_start(&skipped, source->name, source->text, source->length, err));
    source->length -= skipped;
    if (skipped) memmove(source->text, source->text + skipped, source->length + 1);
    return karma_i_check_text(source->name, source->text, source->length, 1, err);
}

char *karma_i_excerpt(char out[KARMA_I_EXCERPT_SIZE], const char *text, size_t length) {
    size_t n = length;
    if (n >= KARMA_I_EXCERPT_SIZE) {
        n = KARMA_I_EXCERPT_SIZE - 4;
        while (n > 0 && karma_i_utf8_continues((unsigned char)text[n])) n--;
    }
    for (size_t i = 0; i < n; i++) out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    if (n == length)
        out[n] = '\0';
    else
        memcpy(out + n, "...", 4);
    return out;
}
