#include "io/missing.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* In lower case; compared without regard to case. */
static const char *const usual_tokens[] = {"na", "n/a", "nan", "null", "#n/a", "#na", "<na>", "?", "(null)"};
static const char *const number_tokens[] = {
    "-",       "--",   "---",  ".",  "..",           "missing",     "unknown", "unk", "none", "nil", "not available",
    "no data", "n.a.", "n.d.", "nd", "\xe2\x80\x93", "\xe2\x80\x94"}; /* the last two are dashes */
/* "none" may be a category, but what Python prints is a missing cell, as is what databases export. */
static const char *const exact_tokens[] = {"None", "\\N"};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int equals_any_case(const char *lower, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (tolower((unsigned char)text[i]) != (unsigned char)lower[i]) return 0; /* also where `lower` ends first */
    return lower[length] == '\0';
}

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* Cells are compared after trimming, so a token must be trimmed too. Only quoted cells can still have blanks
 * at their ends, from databases that pad columns of fixed width. */
static karma_i_text trimmed(const char *text, size_t length) {
    while (length && is_blank(*text)) text++, length--;
    while (length && is_blank(text[length - 1])) length--;
    return (karma_i_text){text, length};
}

karma_status karma_i_missing_init(karma_i_missing *out, const karma_names *extra, karma_error *err) {
    *out = (karma_i_missing){0};
    out->tokens = karma_i_alloc(extra->count, sizeof *out->tokens);
    if (!out->tokens) return karma_i_fail_memory(err);
    out->starts[' '] = out->starts['\t'] = 1;
    for (size_t i = 0; i < COUNT(usual_tokens); i++) {
        out->starts[(unsigned char)usual_tokens[i][0]] = 1;
        out->starts[toupper((unsigned char)usual_tokens[i][0])] = 1;
    }
    for (size_t i = 0; i < COUNT(exact_tokens); i++) out->starts[(unsigned char)exact_tokens[i][0]] = 1;
    for (size_t i = 0; i < extra->count; i++) {
        karma_i_text token = trimmed(extra->items[i], strlen(extra->items[i]));
        if (token.length == 0) continue;
        out->starts[(unsigned char)token.text[0]] = 1;
        out->tokens[out->n_tokens++] = token;
    }
    return KARMA_OK;
}

void karma_i_missing_clear(karma_i_missing *missing) {
    karma_i_free(missing->tokens);
    *missing = (karma_i_missing){0};
}

/* -999 matches -999.0 and -999.00 too, since programs write all numbers of a column with the same number of
 * decimals. Three zeros after a comma are thousands. */
static int is_token(karma_i_text token, const char *text, size_t length) {
    size_t n = token.length;
    if (length < n || memcmp(token.text, text, n) != 0) return 0;
    if (length == n) return 1;
    size_t digits = strspn(token.text, "+-") > 0 ? 1 : 0, zeros = length - n - 1;
    if (n == digits || digits + strspn(token.text + digits, "0123456789") < n || zeros == 0) return 0;
    for (size_t i = n + 1; i < length; i++)
        if (text[i] != '0') return 0;
    return text[n] == '.' || (text[n] == ',' && zeros < 3);
}

int karma_i_missing_has_token(const karma_i_missing *missing, const char *text, size_t length) {
    karma_i_text cell = trimmed(text, length);
    text = cell.text;
    length = cell.length;
    if (length == 0) return 1;
    for (size_t i = 0; i < COUNT(usual_tokens); i++)
        if (equals_any_case(usual_tokens[i], text, length)) return 1;
    for (size_t i = 0; i < COUNT(exact_tokens); i++)
        if (is_token((karma_i_text){exact_tokens[i], strlen(exact_tokens[i])}, text, length)) return 1;
    for (size_t i = 0; i < missing->n_tokens; i++)
        if (is_token(missing->tokens[i], text, length)) return 1;
    return 0;
}

/* .A to .Z and ._ of SAS, .a to .z of Stata: why a number is missing. */
static int is_missing_code(karma_i_text cell) {
    return cell.length == 2 && cell.text[0] == '.' && (isalpha((unsigned char)cell.text[1]) || cell.text[1] == '_');
}

/* What spreadsheets show for a formula without a value: #DIV/0!, #NAME?, #VALUE!, Err:502 */
static int is_spreadsheet_error(karma_i_text cell) {
    static const char *const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_";
    if (cell.length < 4) return 0;
    if (memcmp(cell.text, "Err:", 4) == 0) {
        for (size_t i = 4; i < cell.length; i++)
            if (!isdigit((unsigned char)cell.text[i])) return 0;
        return cell.length > 4;
    }
    char last = cell.text[cell.length - 1];
    if (cell.text[0] != '#' || (last != '!' && last != '?')) return 0;
    for (size_t i = 1; i + 1 < cell.length; i++)
        if (cell.text[i] == '\0' || !strchr(letters, toupper((unsigned char)cell.text[i]))) return 0;
    return 1;
}

int karma_i_is_missing_number(const char *text, size_t length) {
    karma_i_text cell = trimmed(text, length);
    if (is_missing_code(cell) || is_spreadsheet_error(cell)) return 1;
    for (size_t i = 0; i < COUNT(number_tokens); i++)
        if (equals_any_case(number_tokens[i], cell.text, cell.length)) return 1;
    return 0;
}
