/* Lines for people that fit the terminal: long lines are broken between words. Lines in a pipe are not broken. */
#define _GNU_SOURCE /* fopencookie */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* The last column of a table needs this many columns of the screen, or a line goes on below its start. */
enum { LEAST_COLUMN = 20, STEP = 2 };

/* Where the next lines of a long line begin: below its last column, that is behind two blanks or more. */
static size_t hanging_indent(const char *line, size_t width) {
    size_t start = strspn(line, " "), indent = start + STEP;
    for (const char *c = line + start; (c = strstr(c, "  ")) != NULL;) {
        c += strspn(c, " ");
        size_t at = screen_width(line) - screen_width(c);
        if (*c && at + LEAST_COLUMN <= width) indent = at;
    }
    return indent;
}

/* Bytes of the line up to the blank where it is broken: the last one that leaves at most `room` columns before it, or
 * the first one if a word is longer; never before `least` bytes. 0: there is none. */
static size_t break_at(const char *line, size_t least, size_t room) {
    size_t found = 0;
    for (const char *c = strchr(line + least, ' '); c; c = strchr(c + 1, ' ')) {
        if (c[1] == ' ' || (c > line && c[-1] == ' ')) continue; /* columns stay together */
        if (found && screen_width(line) - screen_width(c) > room) break;
        found = (size_t)(c - line);
        if (screen_width(line) - screen_width(c) > room) break;
    }
    return found;
}

void put_wrapped(FILE *stream, const char *line, size_t width) {
    size_t indent = width ? hanging_indent(line, width) : 0, room = width, least = cut_bytes(line, indent);
    while (width && screen_width(line) > room) {
        size_t end = break_at(line, least, room);
        if (end == 0) break;
        fprintf(stream, "%.*s\n%*s", (int)end, line, (int)indent, "");
        line += end + 1;
        room = width > indent ? width - indent : 1;
        least = 0;
    }
    fputs(line, stream);
}

#ifdef __GLIBC__
/* Standard output while it is wrapped: the original stream, and the incomplete line. */
static FILE *terminal;
static char *open_line;
static size_t open_size;

static void end_open_line(void) {
    (void)fflush(stdout);
    if (open_size) put_wrapped(terminal, open_line, terminal_width(STDOUT_FILENO));
    open_size = 0;
    (void)fflush(terminal);
}

/* Keeps bytes of a line until it is whole. 0: no memory. */
static int keep(const char *bytes, size_t size) {
    char *longer = realloc(open_line, open_size + size + 1);
    if (!longer) return 0;
    open_line = longer;
    memcpy(open_line + open_size, bytes, size);
    open_size += size;
    open_line[open_size] = '\0';
    return 1;
}

static ssize_t write_lines(void *cookie, const char *bytes, size_t size) {
    size_t done = 0;
    (void)cookie;
    while (done < size) {
        const char *end = memchr(bytes + done, '\n', size - done);
        size_t length = end ? (size_t)(end - bytes) - done : size - done;
        if (!keep(bytes + done, length)) return 0;
        done += length + (end ? 1 : 0);
        if (!end) break;
        put_wrapped(terminal, open_line, terminal_width(STDOUT_FILENO));
        (void)fputc('\n', terminal);
        open_size = 0;
    }
    return fflush(terminal) == 0 && !ferror(terminal) ? (ssize_t)size : 0;
}

void begin_text(void) {
    if (terminal || !isatty(STDOUT_FILENO)) return;
    FILE *wrapped = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_lines});
    if (!wrapped) return; /* then the terminal has to break long lines */
    terminal = stdout;
    stdout = wrapped;
    (void)atexit(end_open_line);
}
#else
void begin_text(void) {}
#endif
