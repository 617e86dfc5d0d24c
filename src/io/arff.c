/* The rows are rewritten as CSV and read by the CSV reader with the types that the header declares. Each row
 * keeps its line number, so that messages name the right line. */
#include "io/reader.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/csv.h"
#include "io/dictionary.h"
#include "io/missing.h"

typedef enum arff_type { ARFF_NUMBER, ARFF_CATEGORY, ARFF_DATE } arff_type;

typedef struct arff_attribute {
    char *name;
    arff_type type;
    karma_i_dictionary levels; /* of a nominal attribute; a value that a sparse row leaves out is the first */
} arff_attribute;

typedef struct arff_file {
    const char *name; /* for messages */
    const char *next, *end;
    size_t line;        /* of the line being read, from 1 */
    size_t lines_above; /* lines between the names and the rows, not in `text` */
    arff_attribute *attributes;
    size_t n_attributes, capacity;
    karma_i_dictionary names; /* of the attributes */
    char *text;               /* the CSV */
    size_t length, text_capacity;
    char **values; /* of a sparse row; NULL: left out */
    karma_i_missing missing;
} arff_file;

/* Part of one line. */
typedef struct span {
    const char *p, *end;
} span;

/* --- text ---------------------------------------------------------------------------------------------- */

static karma_status fail_line(const arff_file *f, const char *what, karma_error *err) {
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: %s", f->name, f->line, what);
}

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(span *s) {
    while (s->p < s->end && is_blank(*s->p)) s->p++;
}

static int next_line(arff_file *f, span *line) {
    if (f->next >= f->end) return 0;
    const char *feed = memchr(f->next, '\n', (size_t)(f->end - f->next));
    *line = (span){f->next, feed ? feed : f->end};
    f->next = feed ? feed + 1 : f->end;
    f->line++;
    skip_blanks(line);
    while (line->end > line->p && is_blank(line->end[-1])) line->end--;
    return 1;
}

static int is_comment(span line) {
    return line.p == line.end || *line.p == '%';
}

static int starts_with(span line, const char *lower_word) {
    size_t n = strlen(lower_word);
    if ((size_t)(line.end - line.p) < n) return 0;
    for (size_t i = 0; i < n; i++)
        if (tolower((unsigned char)line.p[i]) != lower_word[i]) return 0;
    return 1;
}

/* A word or a quoted text up to one of `stops`, unquoted, as a new string; NULL: out of memory. A quote
 * within quotes follows a backslash or is doubled. *closed: whether the closing quote was found. */
static char *take_text(span *s, const char *stops, int *closed) {
    char *out = karma_i_alloc((size_t)(s->end - s->p) + 1, 1);
    size_t used = 0;
    *closed = 1;
    if (!out) return NULL;
    char quote = s->p < s->end && (*s->p == '\'' || *s->p == '"') ? *s->p++ : '\0';
    *closed = !quote;
    while (s->p < s->end) {
        int is_quote = quote && *s->p == quote;
        if (is_quote && !(s->p + 1 < s->end && s->p[1] == quote)) {
            *closed = 1;
            s->p++;
            break;
        }
        if (!quote && strchr(stops, *s->p)) break;
        if (is_quote || (*s->p == '\\' && s->p + 1 < s->end)) s->p++;
        out[used++] = *s->p++;
    }
    while (!quote && used && is_blank(out[used - 1])) used--;
    out[used] = '\0';
    return out;
}

static karma_status take_field(char **out, arff_file *f, span *s, const char *stops, karma_error *err) {
    int closed;
    skip_blanks(s);
    char *text = take_text(s, stops, &closed);
    if (!text) return karma_i_fail_memory(err);
    if (!closed) {
        karma_i_free(text);
        return fail_line(f, "a quote is never closed", err);
    }
    skip_blanks(s);
    *out = text;
    return KARMA_OK;
}

/* --- the header ---------------------------------------------------------------------------------------- */

/* {A, B, C}, after the opening brace. */
static karma_status read_levels(arff_attribute *a, arff_file *f, span *s, karma_error *err) {
    for (;;) {
        char *level = NULL;
        size_t number;
        KARMA_TRY(take_field(&level, f, s, ",}", err));
        karma_status st = karma_i_dictionary_add(&number, &a->levels, level, strlen(level), err);
        karma_i_free(level);
        KARMA_TRY(st);
        if (s->p == s->end) return fail_line(f, "a set of values has no closing brace", err);
        if (*s->p++ == '}') return KARMA_OK;
    }
}

static karma_status read_type(arff_attribute *a, arff_file *f, span *s, karma_error *err) {
    skip_blanks(s);
    if (s->p < s->end && *s->p == '{') {
        s->p++;
        a->type = ARFF_CATEGORY;
        return read_levels(a, f, s, err);
    }
    if (starts_with(*s, "numeric") || starts_with(*s, "real") || starts_with(*s, "integer"))
        a->type = ARFF_NUMBER;
    else if (starts_with(*s, "string"))
        a->type = ARFF_CATEGORY;
    else if (starts_with(*s, "date"))
        a->type = ARFF_DATE;
    else
        return fail_line(f, "the attribute's type is not one of numeric, real, integer, string, date and {A,B,C}", err);
    return KARMA_OK;
}

static karma_status read_attribute(arff_file *f, span line, karma_error *err) {
    arff_attribute a = {0};
    line.p += strlen("@attribute");
    if (!karma_i_reserve(&f->attributes, &f->capacity, f->n_attributes + 1, sizeof *f->attributes))
        return karma_i_fail_memory(err);
    KARMA_TRY(take_field(&a.name, f, &line, " \t{", err));
    size_t number = f->n_attributes;
    karma_status st = *a.name ? read_type(&a, f, &line, err) : fail_line(f, "an attribute has no name", err);
    if (st == KARMA_OK) st = karma_i_dictionary_add(&number, &f->names, a.name, strlen(a.name), err);
    if (st == KARMA_OK && number < f->n_attributes) st = fail_line(f, "an attribute before has the same name", err);
    f->attributes[f->n_attributes++] = a; /* even if its type is wrong, so that it is freed with the others */
    return st;
}

static karma_status read_header(arff_file *f, karma_error *err) {
    span line;
    while (next_line(f, &line)) {
        if (is_comment(line) || starts_with(line, "@relation")) continue;
        if (starts_with(line, "@data")) {
            if (f->n_attributes) return KARMA_OK;
            return fail_line(f, "@data comes before the first @attribute", err);
        }
        if (!starts_with(line, "@attribute")) return fail_line(f, "this is neither @attribute nor @data", err);
        KARMA_TRY(read_attribute(f, line, err));
    }
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: there is no @data line", f->name);
}

/* --- rows as CSV --------------------------------------------------------------------------------------- */

static karma_status put(arff_file *f, const char *bytes, size_t n, karma_error *err) {
    if (!karma_i_reserve(&f->text, &f->text_capacity, f->length + n + 1, 1)) return karma_i_fail_memory(err);
    memcpy(f->text + f->length, bytes, n);
    f->length += n;
    f->text[f->length] = '\0';
    return KARMA_OK;
}

static karma_status put_field(arff_file *f, const char *text, int is_first, karma_error *err) {
    if (!is_first) KARMA_TRY(put(f, ",", 1, err));
    KARMA_TRY(put(f, "\"", 1, err));
    for (; *text; text++) {
        KARMA_TRY(put(f, text, 1, err));
        if (*text == '"') KARMA_TRY(put(f, "\"", 1, err));
    }
    return put(f, "\"", 1, err);
}

/* The names are in the first line, followed by empty lines up to the first row; a file with one column has no
 * empty lines, which would be rows. */
static karma_status put_names(arff_file *f, karma_error *err) {
    for (size_t j = 0; j < f->n_attributes; j++) KARMA_TRY(put_field(f, f->attributes[j].name, j == 0, err));
    KARMA_TRY(put(f, "\n", 1, err));
    if (f->n_attributes == 1) f->lines_above = f->line - 1;
    for (size_t k = 1; f->n_attributes > 1 && k < f->line; k++) KARMA_TRY(put(f, "\n", 1, err));
    return KARMA_OK;
}

/* A value of a nominal attribute must be among those that the header declares. */
static karma_status check_value(const arff_file *f, size_t attribute, const char *value, karma_error *err) {
    const arff_attribute *a = &f->attributes[attribute];
    char text[KARMA_I_EXCERPT_SIZE], name[KARMA_I_EXCERPT_SIZE];
    size_t level, length = strlen(value);
    if (a->levels.count == 0 || karma_i_dictionary_find(&level, &a->levels, value, length) ||
        karma_i_is_missing(&f->missing, value, length))
        return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: '%s' is not among the declared values of '%s'", f->name,
                        f->line, karma_i_excerpt(text, value, length), karma_i_excerpt(name, a->name, strlen(a->name)));
}

static karma_status put_dense_row(arff_file *f, span line, karma_error *err) {
    size_t n = 0;
    int is_weight = 0;
    for (;; n++) {
        char *value = NULL;
        KARMA_TRY(take_field(&value, f, &line, ",", err));
        karma_status st = n < f->n_attributes ? check_value(f, n, value, err) : KARMA_OK;
        is_weight = n == f->n_attributes && value[0] == '{';
        if (st == KARMA_OK) st = put_field(f, value, n == 0, err);
        karma_i_free(value);
        KARMA_TRY(st);
        if (line.p == line.end) break;
        if (*line.p != ',') return fail_line(f, "text after a closing quote", err);
        line.p++;
    }
    return n + 1 == f->n_attributes
               ? KARMA_OK
               : karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: %zu value%s, but there are %zu attributes%s",
                              f->name, f->line, n + 1, n ? "s" : "", f->n_attributes,
                              is_weight ? ". The weight of a row is not read in braces: make it an attribute, and name "
                                          "it in option 'row-weight'"
                                        : "");
}

static karma_status read_pair(arff_file *f, span *line, karma_error *err) {
    size_t index = 0, n_digits = 0;
    skip_blanks(line);
    for (; line->p < line->end && isdigit((unsigned char)*line->p) && n_digits < 10; line->p++, n_digits++)
        index = 10 * index + (size_t)(*line->p - '0');
    if (n_digits == 0) return fail_line(f, "in a sparse row an index, from 0 on, comes before each value", err);
    if (index >= f->n_attributes)
        return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: index %zu, but the last attribute has index %zu",
                            f->name, f->line, index, f->n_attributes - 1);
    if (f->values[index]) return fail_line(f, "a sparse row has an index twice", err);
    KARMA_TRY(take_field(&f->values[index], f, line, ",}", err));
    return check_value(f, index, f->values[index], err);
}

/* {1 x, 4 y}: a value that is left out is 0, or the first value of a nominal attribute. */
static karma_status read_sparse_row(arff_file *f, span line, karma_error *err) {
    line.p++;
    skip_blanks(&line);
    while (line.p < line.end && *line.p != '}') {
        KARMA_TRY(read_pair(f, &line, err));
        if (line.p < line.end && *line.p == ',') line.p++;
        skip_blanks(&line);
    }
    if (line.p == line.end) return fail_line(f, "a sparse row has no closing brace", err);
    for (size_t j = 0; j < f->n_attributes; j++) {
        const arff_attribute *a = &f->attributes[j];
        const char *absent = a->levels.count ? a->levels.entries[0].text : a->type == ARFF_NUMBER ? "0" : "";
        KARMA_TRY(put_field(f, f->values[j] ? f->values[j] : absent, j == 0, err));
    }
    return KARMA_OK;
}

static void forget_values(arff_file *f) {
    for (size_t j = 0; f->values && j < f->n_attributes; j++) {
        karma_i_free(f->values[j]);
        f->values[j] = NULL;
    }
}

static karma_status put_rows(arff_file *f, karma_error *err) {
    span line;
    f->values = karma_i_zalloc(f->n_attributes, sizeof *f->values);
    if (!f->values) return karma_i_fail_memory(err);
    while (next_line(f, &line)) {
        if (!is_comment(line)) {
            KARMA_TRY(*line.p == '{' ? read_sparse_row(f, line, err) : put_dense_row(f, line, err));
            forget_values(f);
        } else if (f->n_attributes == 1)
            continue; /* if an empty line would be a row */
        KARMA_TRY(put(f, "\n", 1, err));
    }
    return KARMA_OK;
}

/* --- the table ----------------------------------------------------------------------------------------- */

static int is_among(const karma_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return 1;
    return 0;
}

/* Whether the options already give the type of the column. */
static int is_settled(const karma_read_options *o, const char *name) {
    return is_among(&o->numeric, name) || is_among(&o->category, name) || is_among(&o->id, name) ||
           is_among(&o->ignore, name) || (o->row_weight && strcmp(o->row_weight, name) == 0);
}

/* Passes the types on as options, except for columns of a model, which knows their types. */
static karma_status declare_types(karma_read_options *options, const arff_file *f, karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    for (size_t j = 0; j < f->n_attributes; j++) {
        const arff_attribute *a = &f->attributes[j];
        if (a->type == ARFF_DATE || is_settled(options, a->name)) continue;
        const char *option = a->type == ARFF_NUMBER ? "numeric" : "category";
        KARMA_TRY(karma_option_set(karma_option_find(table, option), options, a->name, err));
    }
    return KARMA_OK;
}

static karma_status read_as_csv(karma_table **out, const arff_file *f, const karma_i_read_request *request,
                                karma_error *err) {
    const karma_option_table *table = karma_read_option_table();
    karma_read_options options;
    KARMA_TRY(karma_options_copy(table, &options, request->options, err));
    options.header = 1;
    options.delimiter = ',';
    options.decimal = KARMA_DECIMAL_POINT;
    karma_status st = request->expectation ? KARMA_OK : declare_types(&options, f, err);
    karma_i_source text = {f->name, f->text, f->length};
    karma_i_read_request rows = *request;
    rows.source = &text;
    rows.options = &options;
    rows.lines_above = f->lines_above;
    if (st == KARMA_OK) st = karma_i_csv_read(out, &rows, err);
    karma_options_clear(table, &options);
    return st;
}

static void clear_file(arff_file *f) {
    forget_values(f);
    karma_i_free(f->values);
    for (size_t j = 0; j < f->n_attributes; j++) {
        karma_i_free(f->attributes[j].name);
        karma_i_dictionary_clear(&f->attributes[j].levels);
    }
    karma_i_free(f->attributes);
    karma_i_dictionary_clear(&f->names);
    karma_i_free(f->text);
    karma_i_missing_clear(&f->missing);
}

static karma_status read_arff(karma_table **out, const karma_i_read_request *request, karma_error *err) {
    const karma_i_source *source = request->source;
    arff_file f = {.name = source->name, .next = source->text, .end = source->text + source->length};
    karma_status st = karma_i_missing_init(&f.missing, &request->options->missing, err);
    if (st == KARMA_OK) st = read_header(&f, err);
    if (st == KARMA_OK) st = put_names(&f, err);
    if (st == KARMA_OK) st = put_rows(&f, err);
    if (st == KARMA_OK) st = read_as_csv(out, &f, request, err);
    clear_file(&f);
    return st;
}

/* Recognises comments followed by @relation or @attribute. */
static int looks_like_arff(const karma_i_source *source) {
    arff_file f = {.next = source->text, .end = source->text + source->length};
    span line;
    while (next_line(&f, &line))
        if (!is_comment(line)) return starts_with(line, "@relation") || starts_with(line, "@attribute");
    return 0;
}

KARMA_I_READER(arff) = {
    .format = KARMA_FORMAT_ARFF, .endings = {".arff"}, .recognises = looks_like_arff, .read = read_arff};
