/* Two passes: the first checks every line, finds the largest index and surveys the labels, the second fills
 * the table. Attributes are named by their index, "1" to "d"; the label is named "target". */
#include "io/reader.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "io/missing.h"
#include "io/survey.h"
#include "table/builder.h"

static const char target_name[] = "target";
enum { MAX_INDEX = 2147483647 };

typedef struct svm_file {
    const karma_i_read_request *request;
    const char *name; /* for messages */
    const char *next; /* number of the next line */
    size_t next_line;
    size_t n_rows;
    size_t largest;      /* index, in the file or expected */
    size_t largest_line; /* where it was seen; 0: expected */
    int has_target;
    karma_i_survey labels;
    karma_i_missing missing;
    uint32_t *places; /* attribute of index i at i - 1, or IGNORED; NULL: i - 1 */
    karma_i_builder builder;
} svm_file;

#define IGNORED UINT32_MAX

typedef struct svm_line {
    const char *next, *end; /* the rest of the line, without the comment */
    size_t number;
    karma_i_text label;
} svm_line;

typedef struct svm_pair {
    size_t index;
    double value; /* NaN: missing */
} svm_pair;

/* --- lines, tokens, pairs ------------------------------------------------------------------------------ */

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static int next_token(karma_i_text *token, svm_line *line) {
    const char *p = line->next;
    while (p < line->end && is_blank(*p)) p++;
    token->text = p;
    while (p < line->end && !is_blank(*p)) p++;
    token->length = (size_t)(p - token->text);
    line->next = p;
    return token->length > 0;
}

static void rewind_file(svm_file *file) {
    file->next = file->request->source->text;
    file->next_line = 1;
}

/* Moves to the next line with content and reads its label; false at the end of the file. */
static int next_line(svm_line *line, svm_file *file) {
    const char *end = file->request->source->text + file->request->source->length;
    while (file->next < end) {
        const char *start = file->next;
        const char *feed = memchr(start, '\n', (size_t)(end - start));
        const char *stop = feed ? feed : end;
        const char *comment = memchr(start, '#', (size_t)(stop - start));
        *line = (svm_line){.next = start, .end = comment ? comment : stop, .number = file->next_line++};
        file->next = feed ? feed + 1 : end;
        if (next_token(&line->label, line)) return 1;
    }
    return 0;
}

/* "FILE: line L: 'token' ..." */
static karma_status fail_token(const svm_file *file, const svm_line *line, karma_i_text token, const char *what,
                               karma_error *err) {
    char excerpt[KARMA_I_EXCERPT_SIZE];
    return karma_i_fail(err, KARMA_ERR_FORMAT, "%s: line %zu: '%s' %s", file->name, line->number,
                        karma_i_excerpt(excerpt, token.text, token.length), what);
}

static int is_nan(karma_i_text text) {
    return text.length == 3 && (text.text[0] | 0x20) == 'n' && (text.text[1] | 0x20) == 'a' &&
           (text.text[2] | 0x20) == 'n';
}

/* An empty value is an error, not a missing one. */
static int means_missing(const svm_file *file, karma_i_text text) {
    return text.length && (is_nan(text) || karma_i_is_missing(&file->missing, text.text, text.length));
}

static karma_status parse_value(double *out, const svm_file *file, const svm_line *line, karma_i_text token,
                                karma_i_text text, karma_error *err) {
    double value = NAN;
    if (!means_missing(file, text)) {
        if (!karma_i_number_parse(&value, text.text, text.length))
            return fail_token(file, line, token, "has a value that is not a number", err);
        if (isinf(value)) return fail_token(file, line, token, "has a value that is not finite", err);
    }
    *out = value;
    return KARMA_OK;
}

/* Reads "index:value"; `before` is the index of the previous pair, 0 for the first one. */
static karma_status parse_pair(svm_pair *out, const svm_file *file, const svm_line *line, karma_i_text token,
                               size_t before, karma_error *err) {
    const char *colon = memchr(token.text, ':', token.length);
    if (!colon) return fail_token(file, line, token, "is not of the form index:value", err);
    size_t n = (size_t)(colon - token.text), index;
    karma_i_text text = {colon + 1, token.length - n - 1};
    if (n == 3 && memcmp(token.text, "qid", 3) == 0)
        return fail_token(file, line, token, "belongs to ranking data, which are not supported", err);
    if (!karma_i_number_parse_index(&index, token.text, n, MAX_INDEX))
        return fail_token(file, line, token, "has an index that is not a whole number from 1 to 2147483647", err);
    if (index == 0) return fail_token(file, line, token, "has index 0; indices start at 1", err);
    if (index == before) return fail_token(file, line, token, "repeats an index of this line", err);
    if (index < before) return fail_token(file, line, token, "follows a larger index; indices must ascend", err);
    KARMA_TRY(parse_value(&out->value, file, line, token, text, err));
    out->index = index;
    return KARMA_OK;
}

/* --- options ------------------------------------------------------------------------------------------- */

/* The only possible target is the label. */
static karma_status check_target(const svm_file *file, const karma_names *target, karma_error *err) {
    char asked[KARMA_I_EXCERPT_SIZE];
    for (size_t i = 0; i < target->count; i++)
        if (strcmp(target->items[i], target_name) != 0)
            return karma_i_fail(err, KARMA_ERR_DATA, "%s: no column '%s'; the label of a LIBSVM file is called '%s'",
                                file->name, karma_i_excerpt(asked, target->items[i], strlen(target->items[i])),
                                target_name);
    if (target->count <= 1) return KARMA_OK;
    return karma_i_fail(err, KARMA_ERR_OPTION, "%s: column '%s' is named twice by option 'target'", file->name,
                        target_name);
}

static karma_status check_options(const svm_file *file, karma_error *err) {
    const karma_read_options *o = file->request->options;
    if (o->absent == KARMA_ABSENT_UNSET)
        return karma_i_fail(
            err, KARMA_ERR_OPTION,
            "%s: set option 'absent=zero' or option 'absent=missing': an index that a LIBSVM line leaves "
            "out may mean zero or an unknown value, and the file does not show which",
            file->name);
    if (o->category.count || o->id.count)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "%s: %s does not apply to LIBSVM files, whose attributes are all numbers", file->name,
                            o->category.count ? "option 'category'" : "option 'id'");
    if (o->row_weight)
        return karma_i_fail(err, KARMA_ERR_OPTION,
                            "%s: option 'row-weight' does not apply to LIBSVM files, which have no column of weights",
                            file->name);
    return check_target(file, &o->target, err);
}

/* True if `text` is the index of an attribute, written as in its name. */
static int parse_attribute(size_t *index, const char *text, size_t largest) {
    return text[0] != '0' && karma_i_number_parse_index(index, text, strlen(text), largest);
}

static int names_has(const karma_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0) return 1;
    return 0;
}

/* Called when the largest index is known. */
static karma_status check_names(const svm_file *file, const karma_names *names, karma_error *err) {
    size_t index;
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->items[i], target_name) == 0) continue;
        if (parse_attribute(&index, names->items[i], file->largest)) continue;
        char excerpt[KARMA_I_EXCERPT_SIZE];
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: no column '%s'; those of a LIBSVM file are 1 to %zu and '%s'",
                            file->name, karma_i_excerpt(excerpt, names->items[i], strlen(names->items[i])),
                            file->largest, target_name);
    }
    return KARMA_OK;
}

/* An ignored attribute is not in the table, and those after it move up. */
static karma_status assign_places(svm_file *file, karma_error *err) {
    const karma_read_options *o = file->request->options;
    size_t index;
    KARMA_TRY(check_names(file, &o->numeric, err));
    KARMA_TRY(check_names(file, &o->ignore, err));
    for (size_t i = 0; i < o->ignore.count; i++)
        if (names_has(&o->numeric, o->ignore.items[i]))
            return karma_i_fail(err, KARMA_ERR_OPTION,
                                "%s: column '%s' cannot be both option 'ignore' and option 'numeric'", file->name,
                                o->ignore.items[i]);
    if (!file->has_target && o->target.count)
        return karma_i_fail(err, KARMA_ERR_OPTION, "%s: column '%s' cannot be both option 'target' and option 'ignore'",
                            file->name, target_name);
    if (o->ignore.count == 0) return KARMA_OK;
    file->places = karma_i_zalloc(file->largest, sizeof *file->places);
    if (!file->places) return karma_i_fail_memory(err);
    for (size_t i = 0; i < o->ignore.count; i++)
        if (parse_attribute(&index, o->ignore.items[i], file->largest)) file->places[index - 1] = IGNORED;
    uint32_t place = 0;
    for (size_t i = 0; i < file->largest; i++)
        if (file->places[i] != IGNORED) file->places[i] = place++;
    return KARMA_OK;
}

/* A model with attributes "1" to "d" needs them all, even if the largest index of this file is smaller. */
static void apply_expectation(svm_file *file) {
    const karma_i_expectation *expectation = file->request->expectation;
    size_t index;
    for (size_t i = 0; expectation && i < expectation->n_columns; i++)
        if (parse_attribute(&index, expectation->columns[i].name, MAX_INDEX) && index > file->largest)
            file->largest = index;
}

/* --- first pass ---------------------------------------------------------------------------------------- */

static karma_status survey_label(svm_file *file, const svm_line *line, karma_error *err) {
    karma_i_text label = line->label;
    if (memchr(label.text, ':', label.length))
        return fail_token(file, line, label, "stands where the label should be", err);
    if (!file->has_target || means_missing(file, label)) return KARMA_OK;
    KARMA_TRY(karma_i_survey_add(&file->labels, NULL, label.text, label.length, line->number, err));
    if (file->labels.mode != KARMA_I_SURVEY_NUMBER) return KARMA_OK;
    return karma_i_survey_check(&file->labels, file->name, target_name, err);
}

static karma_status survey_line(svm_file *file, svm_line *line, karma_error *err) {
    svm_pair pair = {0, 0.0};
    karma_i_text token;
    KARMA_TRY(survey_label(file, line, err));
    while (next_token(&token, line)) KARMA_TRY(parse_pair(&pair, file, line, token, pair.index, err));
    if (pair.index > file->largest) {
        file->largest = pair.index;
        file->largest_line = line->number;
    }
    file->n_rows++;
    return KARMA_OK;
}

static karma_status collect_labels(svm_file *file, karma_error *err) {
    svm_line line;
    rewind_file(file);
    while (next_line(&line, file))
        if (!means_missing(file, line.label))
            KARMA_TRY(karma_i_survey_collect(&file->labels, line.label.text, line.label.length, err));
    return KARMA_OK;
}

static karma_status survey_lines(svm_file *file, karma_error *err) {
    svm_line line;
    rewind_file(file);
    while (next_line(&line, file)) KARMA_TRY(survey_line(file, &line, err));
    if (file->n_rows == 0) return karma_i_fail(err, KARMA_ERR_DATA, "%s: no rows", file->name);
    KARMA_TRY(karma_i_survey_check(&file->labels, file->name, target_name, err));
    karma_i_survey_settle(&file->labels);
    if (file->labels.incomplete) KARMA_TRY(collect_labels(file, err));
    karma_i_survey_notice(&file->labels, file->name, target_name, file->request->hooks);
    return KARMA_OK;
}

/* Any file may have this many attributes (features hashed to 24 bits); more are allowed if the file has as
 * many bytes. */
enum { FEW_ATTRIBUTES = 1 << 24 };

/* One line can ask for two thousand million attributes. A table that clearly does not fit in memory, or that
 * takes gigabytes for a few bytes, is refused with a message before the system kills the process. */
static karma_status check_size(const svm_file *file, karma_error *err) {
    const size_t attribute_bytes = sizeof(karma_i_column) + 32; /* and its name on the heap */
    const size_t cell_bytes = sizeof(uint32_t) + sizeof(double);
    size_t limit = karma_i_memory_limit() / 2; /* growing arrays are copied */
    const karma_i_expectation *expectation = file->request->expectation;
    size_t most = FEW_ATTRIBUTES + file->request->source->length + (expectation ? expectation->n_columns : 0);
    char where[48] = "the model";
    if (file->largest_line) (void)snprintf(where, sizeof where, "line %zu", file->largest_line);
    if (file->largest > limit / attribute_bytes)
        return karma_i_fail(err, KARMA_ERR_MEMORY, "%s: %s: index %zu makes more attributes than fit in memory",
                            file->name, where, file->largest);
    if (file->largest_line && file->largest > most)
        return karma_i_fail(err, KARMA_ERR_DATA, "%s: %s: index %zu is above %zu, the most in a file of %zu bytes",
                            file->name, where, file->largest, most, file->request->source->length);
    if (file->request->options->absent == KARMA_ABSENT_ZERO && file->largest > limit / cell_bytes / file->n_rows)
        return karma_i_fail(err, KARMA_ERR_MEMORY,
                            "%s: %zu rows of %zu attributes do not fit in memory when absent ones are zeros",
                            file->name, file->n_rows, file->largest);
    return KARMA_OK;
}

/* --- second pass --------------------------------------------------------------------------------------- */

static karma_status make_columns(svm_file *file, karma_error *err) {
    char **levels, name[32];
    size_t n_levels;
    if (file->has_target) {
        karma_column_kind kind = karma_i_survey_kind_of(&file->labels) == KARMA_I_SURVEYED_NUMBER
                                     ? KARMA_COLUMN_NUMBER
                                     : KARMA_COLUMN_CATEGORY;
        KARMA_TRY(karma_i_survey_levels(&levels, &n_levels, &file->labels, NULL, err));
        KARMA_TRY(karma_i_builder_add_target(&file->builder, target_name, kind, levels, n_levels, err));
    }
    for (size_t index = 1; index <= file->largest; index++) {
        if (file->places && file->places[index - 1] == IGNORED) continue;
        (void)snprintf(name, sizeof name, "%zu", index);
        KARMA_TRY(karma_i_builder_add_attribute(&file->builder, name, KARMA_COLUMN_NUMBER, NULL, 0, err));
    }
    return KARMA_OK;
}

static karma_status add_cell(svm_file *file, size_t index, double value, karma_error *err) {
    size_t place = file->places ? file->places[index - 1] : index - 1;
    if (isnan(value) || place == IGNORED) return KARMA_OK;
    return karma_i_builder_add_cell(&file->builder, place, value, err);
}

/* Sets attributes first to end - 1 to the value of an absent index. */
static karma_status add_absent(svm_file *file, size_t first, size_t end, karma_error *err) {
    if (file->request->options->absent != KARMA_ABSENT_ZERO) return KARMA_OK;
    for (size_t index = first; index < end; index++) KARMA_TRY(add_cell(file, index, 0.0, err));
    return KARMA_OK;
}

static karma_status fill_line(svm_file *file, svm_line *line, karma_error *err) {
    double target = NAN;
    svm_pair pair = {0, 0.0};
    karma_i_text token;
    if (file->has_target && !means_missing(file, line->label)) {
        (void)karma_i_survey_value(&target, &file->labels, line->label.text, line->label.length);
    }
    while (next_token(&token, line)) {
        size_t before = pair.index;
        KARMA_TRY(parse_pair(&pair, file, line, token, before, err));
        KARMA_TRY(add_absent(file, before + 1, pair.index, err));
        KARMA_TRY(add_cell(file, pair.index, pair.value, err));
    }
    KARMA_TRY(add_absent(file, pair.index + 1, file->largest + 1, err));
    return karma_i_builder_end_row(&file->builder, &target, 1.0, NULL, err);
}

static karma_status fill_table(svm_file *file, karma_error *err) {
    svm_line line;
    KARMA_TRY(karma_i_builder_init(&file->builder, err));
    KARMA_TRY(make_columns(file, err));
    rewind_file(file);
    while (next_line(&line, file)) KARMA_TRY(fill_line(file, &line, err));
    return KARMA_OK;
}

static karma_status read_libsvm(karma_table **out, const karma_i_read_request *request, karma_error *err) {
    svm_file file = {.request = request, .name = request->source->name};
    int numeric = names_has(&request->options->numeric, target_name);
    file.has_target = !names_has(&request->options->ignore, target_name);
    karma_i_survey_init(&file.labels, numeric ? KARMA_I_SURVEY_NUMBER : KARMA_I_SURVEY_INFER, 1,
                        (karma_i_survey_style){'.', 0, -1, 0, 0});
    karma_status st = check_options(&file, err);
    if (st == KARMA_OK) st = karma_i_missing_init(&file.missing, &request->options->missing, err);
    if (st == KARMA_OK) st = survey_lines(&file, err);
    if (st == KARMA_OK) apply_expectation(&file);
    if (st == KARMA_OK) st = check_size(&file, err);
    if (st == KARMA_OK) st = assign_places(&file, err);
    if (st == KARMA_OK) st = fill_table(&file, err);
    if (st == KARMA_OK) karma_i_builder_finish(out, &file.builder);
    karma_i_survey_clear(&file.labels);
    karma_i_missing_clear(&file.missing);
    karma_i_free(file.places);
    karma_i_builder_clear(&file.builder);
    return st;
}

KARMA_I_READER(libsvm) = {
    .format = KARMA_FORMAT_LIBSVM, .endings = {".libsvm", ".svm", ".svmlight"}, .read = read_libsvm};
