/* Texts that mean "missing". */
#ifndef KARMA_I_MISSING_H
#define KARMA_I_MISSING_H

#include "table/table.h"

/* The usual ones, in any case, and the user's own, spelt exactly. */
typedef struct karma_i_missing {
    karma_i_text *tokens; /* the user's; none of them empty: an empty cell is missing anyway */
    size_t n_tokens;
    unsigned char starts[256]; /* true for the first byte of a text that may be missing */
} karma_i_missing;

karma_status karma_i_missing_init(karma_i_missing *out, const karma_names *extra, karma_error *err);
void karma_i_missing_clear(karma_i_missing *missing);
int karma_i_missing_has_token(const karma_i_missing *missing, const char *text, size_t length);

/* Missing in every column: empty, NA, N/A, NaN, null, #N/A, <NA>, ?, None and the user's own. */
static inline int karma_i_is_missing(const karma_i_missing *missing, const char *text, size_t length) {
    return length == 0 || (missing->starts[(unsigned char)*text] && karma_i_missing_has_token(missing, text, length));
}

/* Missing in a column of numbers, but perhaps a category elsewhere: - -- . missing unknown none and similar texts. */
int karma_i_is_missing_number(const char *text, size_t length);

#endif
