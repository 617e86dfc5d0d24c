/* UTF-8 as the standard defines it. */
#ifndef KARMA_I_UTF8_H
#define KARMA_I_UTF8_H

#include <stddef.h>

static inline int karma_i_utf8_continues(unsigned char c) {
    return (c & 0xc0) == 0x80;
}

/* The length of the character at `p`, or 0 if it is not valid (overlong, a surrogate, beyond U+10FFFF). The '\0' behind
 * a text is not a continuation, so nothing is read past it. */
static inline size_t karma_i_utf8_length(const unsigned char *p) {
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4 || !karma_i_utf8_continues(p[1])) return 0;
    if (p[0] < 0xe0) return 2;
    if (!karma_i_utf8_continues(p[2])) return 0;
    if (p[0] < 0xf0) return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ? 0 : 3;
    if (!karma_i_utf8_continues(p[3])) return 0;
    return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) ? 0 : 4;
}

static inline int karma_i_is_utf8(const char *text) {
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        size_t n = karma_i_utf8_length(p);
        if (n == 0) return 0;
        p += n;
    }
    return 1;
}

#endif
