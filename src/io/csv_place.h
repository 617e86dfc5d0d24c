/* Where records of delimited text end, character by character and without a scan of the fields: for text that starts
 * somewhere, or is not all there yet. The rules are those of csv_scan.c. */
#ifndef KARMA_I_CSV_PLACE_H
#define KARMA_I_CSV_PLACE_H

/* The state between two characters: at the start of a field, in a field without quotes, in a quoted field, or
 * after a quote in it, which ends the field or is doubled. Also inside a no-break space, the bytes c2 a0,
 * which counts as a blank at the start. A line feed ends a record in every state but the third. */
typedef enum karma_i_csv_place {
    KARMA_I_FIELD_START,
    KARMA_I_IN_SPACE,
    KARMA_I_IN_FIELD,
    KARMA_I_IN_QUOTES,
    KARMA_I_BEHIND_QUOTE,
    KARMA_I_N_PLACES
} karma_i_csv_place;

/* `ends_field`: of every byte, whether it is a delimiter, CR, LF or '\0'. */
static inline int karma_i_csv_is_blank(char c, const unsigned char *ends_field) {
    return (c == ' ' || c == '\t') && !ends_field[(unsigned char)c];
}

/* The state behind `c`. A quote is special at the start of a field only, where blanks may precede it. */
static inline karma_i_csv_place karma_i_csv_step(karma_i_csv_place at, char c, const unsigned char *ends_field) {
    if (at == KARMA_I_IN_QUOTES) return c == '"' ? KARMA_I_BEHIND_QUOTE : KARMA_I_IN_QUOTES;
    if (at == KARMA_I_BEHIND_QUOTE && c == '"') return KARMA_I_IN_QUOTES;
    if (ends_field[(unsigned char)c]) return KARMA_I_FIELD_START;
    if (at == KARMA_I_IN_SPACE && c == '\xa0') return KARMA_I_FIELD_START;
    if (at == KARMA_I_FIELD_START && c == '\xc2') return KARMA_I_IN_SPACE;
    if (at != KARMA_I_FIELD_START) return KARMA_I_IN_FIELD;
    if (c == '"') return KARMA_I_IN_QUOTES;
    return karma_i_csv_is_blank(c, ends_field) ? KARMA_I_FIELD_START : KARMA_I_IN_FIELD;
}

#endif
