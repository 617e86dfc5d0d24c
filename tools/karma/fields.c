/* Texts and numbers in columns: widths are those of characters on a screen, not of bytes. */
#define _DEFAULT_SOURCE /* struct winsize */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool.h"

/* Bytes of the character at `text`, at least 1; invalid UTF-8 is taken byte by byte. */
static size_t character_size(const unsigned char *text) {
    size_t n = *text < 0xC0 ? 1 : *text < 0xE0 ? 2 : *text < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xC0) != 0x80) return 1;
    return n;
}

/* Columns that a character takes: none for combining accents, two for East Asian letters and pictures. */
static size_t character_width(const unsigned char *text, size_t size) {
    unsigned long code = *text;
    if (size == 2) code = (code & 0x1FU) << 6 | (text[1] & 0x3FU);
    if (size == 3) code = (code & 0x0FU) << 12 | (text[1] & 0x3FU) << 6 | (text[2] & 0x3FU);
    if (size == 4) code = (code & 0x07U) << 18 | (text[1] & 0x3FU) << 12 | (text[2] & 0x3FU) << 6 | (text[3] & 0x3FU);
    if (code >= 0x300 && code <= 0x36F) return 0;
    int is_wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
                  (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
                  (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
                  (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
    return is_wide ? 2 : 1;
}

size_t screen_width(const char *text) {
    size_t width = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; c += character_size(c))
        width += character_width(c, character_size(c));
    return width;
}

/* The text up to `width` columns; returns how many it took. */
static size_t print_part(const char *text, size_t width) {
    size_t used = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t size = character_size(c), own = character_width(c, size);
        if (used + own > width) break;
        fwrite(c, 1, size, stdout);
        used += own;
        c += size;
    }
    return used;
}

void print_field(const char *text, size_t width) {
    int is_cut = screen_width(text) > width;
    size_t used = print_part(text, is_cut && width > 3 ? width - 3 : width);
    if (is_cut && width > 3) used += print_part("...", 3);
    for (; used < width; used++) putchar(' ');
}

void print_field_right(const char *text, size_t width) {
    size_t own = screen_width(text);
    for (size_t used = own < width ? own : width; used < width; used++) putchar(' ');
    print_field(text, own < width ? own : width);
}

void print_class_count(const char *name, size_t n_rows) {
    enum { MOST_COLUMNS = 40 };
    size_t own = screen_width(name);
    print_field(name, own < MOST_COLUMNS ? own : MOST_COLUMNS);
    printf(" %zu", n_rows);
}

/* --- terminals ------------------------------------------------------------------------------------------- */

enum { LEAST_WIDTH = 40, USUAL_WIDTH = 80, LEAST_NAME = 12, USUAL_NAME = 24 };

size_t terminal_width(int descriptor) {
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    size_t width = columns ? (size_t)strtoul(columns, NULL, 10) : 0;
    if (!isatty(descriptor)) return 0;
    if (width == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
    if (width == 0) width = USUAL_WIDTH;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

size_t name_width(size_t longest, size_t others) {
    size_t width = terminal_width(STDOUT_FILENO);
    if (width == 0) return USUAL_NAME;
    size_t room = width > others + LEAST_NAME ? width - others : LEAST_NAME;
    return longest < LEAST_NAME ? LEAST_NAME : longest < room ? longest : room;
}

size_t label_width(size_t usual, size_t others) {
    size_t width = terminal_width(STDOUT_FILENO);
    if (width == 0 || width >= usual + others) return usual;
    return width > others + LEAST_NAME ? width - others : LEAST_NAME;
}

void print_to_width(const char *line) {
    size_t width = terminal_width(STDOUT_FILENO), own = screen_width(line);
    print_field(line, width && own > width ? width : own);
    putchar('\n');
}

size_t cut_bytes(const char *text, size_t width) {
    size_t used = 0, bytes = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t size = character_size(c), own = character_width(c, size);
        if (used + own > width) break;
        used += own;
        bytes += size;
        c += size;
    }
    return bytes;
}

int score_decimals(double score) {
    double size = fabs(score);
    return size < 100.0 || !isfinite(size) ? 4 : size < 1e3 ? 3 : size < 1e4 ? 2 : size < 1e5 ? 1 : 0;
}

const char *readable(char text[40], double value) {
    double size = fabs(value);
    (void)snprintf(text, 40, size >= 1e4 && size < 1e15 ? "%.0f" : "%.4g", value);
    return text;
}
