/* Text for HTML and SVG. Whatever comes from data passes through put_text; no other function writes it. */
#ifndef PAGE_MARKUP_H
#define PAGE_MARKUP_H

#include <stddef.h>
#include <stdio.h>

/* Writes `text` so that it is text and nothing else, between tags and inside quoted attributes: & < > " ' become
 * references. Bytes that are not UTF-8, control characters and those that turn the direction of writing become U+FFFD,
 * so a name can neither break out of its place nor look like another one. */
void put_text(FILE *stream, const char *text);
/* At most `most` characters of it; an ellipsis stands for those in the middle, because names often differ at their
 * ends. */
void put_short_text(FILE *stream, const char *text, size_t most);
/* Characters, not bytes. */
size_t count_characters(const char *text);

#endif
