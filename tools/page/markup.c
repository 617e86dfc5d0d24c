/* Text for HTML and SVG: UTF-8 is decoded strictly, and what could be markup is written as a reference. */
#include "markup.h"

#define REPLACEMENT 0xFFFDUL

/* The character at *text, which moves behind it. Overlong forms, surrogates and codes above U+10FFFF are not UTF-8; one
 * byte of them is taken. */
static unsigned long next_character(const unsigned char **text) {
    const unsigned char *c = *text;
    size_t n = *c < 0x80                 ? 1
               : *c >= 0xC2 && *c < 0xE0 ? 2
               : *c >= 0xE0 && *c < 0xF0 ? 3
               : *c >= 0xF0 && *c < 0xF5 ? 4
                                         : 0;
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned long code = n == 1 ? *c : n ? *c & (0xFFU >> (n + 1)) : REPLACEMENT;
    for (size_t i = 1; i < n; i++) {
        if ((c[i] & 0xC0) != 0x80) n = 0;
        code = n ? code << 6 | (c[i] & 0x3FU) : REPLACEMENT;
    }
    if (n && (code < least[n] || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF)) n = 0;
    *text += n ? n : 1;
    return n ? code : REPLACEMENT;
}

/* Characters that are not to be seen, or that change how others are seen. */
static int is_control(unsigned long code) {
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0) ||
           (code >= 0x200E && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF || (code & 0xFFFE) == 0xFFFE;
}

static void put_character(FILE *stream, unsigned long code) {
    if (is_control(code)) code = REPLACEMENT;
    if (code == '&' || code == '<' || code == '>' || code == '"' || code == '\'')
        fprintf(stream, "&#%lu;", code);
    else if (code < 0x80)
        fputc((int)code, stream);
    else if (code < 0x800)
        fprintf(stream, "%c%c", (int)(0xC0 | code >> 6), (int)(0x80 | (code & 0x3F)));
    else if (code < 0x10000)
        fprintf(stream, "%c%c%c", (int)(0xE0 | code >> 12), (int)(0x80 | (code >> 6 & 0x3F)),
                (int)(0x80 | (code & 0x3F)));
    else
        fprintf(stream, "%c%c%c%c", (int)(0xF0 | code >> 18), (int)(0x80 | (code >> 12 & 0x3F)),
                (int)(0x80 | (code >> 6 & 0x3F)), (int)(0x80 | (code & 0x3F)));
}

void put_text(FILE *stream, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c;) put_character(stream, next_character(&c));
}

size_t count_characters(const char *text) {
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; n++) (void)next_character(&c);
    return n;
}

void put_short_text(FILE *stream, const char *text, size_t most) {
    enum { ELLIPSIS = 0x2026 };
    size_t n = count_characters(text), head = n > most ? most / 2 : n, tail = n > most ? most - head - 1 : 0;
    const unsigned char *c = (const unsigned char *)text;
    for (size_t i = 0; i < n; i++) {
        unsigned long code = next_character(&c);
        if (i == head) put_character(stream, ELLIPSIS);
        if (i < head || i >= n - tail) put_character(stream, code);
    }
}
