/* Rows for a model from cells in memory. They are turned into delimited text and read like files, so that a
 * cell means the same wherever it comes from. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "io/cell_text.h"
#include "io/date_parts.h"
#include "model/row_stream.h"

struct karma_row_reader {
    karma_i_model_stream stream;
    karma_read_options options;
    karma_i_cell_text text; /* text from `given` on has not been read by the stream */
    size_t given;
    size_t n_rows; /* rows added but not returned in a table yet */
    int failed;
};

static karma_status take_text(void *self, size_t *got, char *to, size_t room, karma_error *err) {
    karma_row_reader *r = self;
    size_t left = r->text.length - r->given;
    (void)err;
    *got = left < room ? left : room;
    if (*got) memcpy(to, r->text.bytes + r->given, *got);
    r->given += *got;
    if (r->given == r->text.length) r->given = r->text.length = 0;
    return KARMA_OK;
}

/* There is nothing to read until the caller adds a row. */
static int has_no_text(void *self) {
    const karma_row_reader *r = self;
    return r->given == r->text.length;
}

static karma_status add_names(karma_row_reader *r, const char *const *names, size_t n_columns, karma_error *err) {
    if (n_columns == 0) return karma_i_fail(err, KARMA_ERR_OPTION, "there are no columns");
    r->text.n_columns = n_columns;
    for (size_t j = 0; j < n_columns; j++) {
        if (!karma_i_is_utf8(names[j]))
            return karma_i_fail(err, KARMA_ERR_DATA, "the name of column %zu is not UTF-8", j + 1);
        for (size_t k = 0; k < j; k++)
            if (strcmp(names[j], names[k]) == 0)
                return karma_i_fail(err, KARMA_ERR_DATA, "columns %zu and %zu are both called '%.60s'", k + 1, j + 1,
                                    names[j]);
        if (!karma_i_cell_text_add_text(&r->text, names[j], strlen(names[j]))) return karma_i_fail_memory(err);
    }
    return KARMA_OK;
}

karma_status karma_row_reader_new(karma_row_reader **out, const karma_model *model, const char *const *names,
                                  size_t n_columns, size_t threads, karma_error *err) {
    karma_row_reader *r = karma_i_zalloc(1, sizeof *r);
    if (!r) return karma_i_fail_memory(err);
    karma_options_init(karma_read_option_table(), &r->options);
    r->options.threads = (int64_t)threads;
    karma_status st = karma_i_model_expect(&r->stream, model, err);
    if (st == KARMA_OK && karma_model_is_precomputed(model))
        st = karma_i_fail(err, KARMA_ERR_DATA, "the model has no columns: it was learned from kernel values");
    if (st == KARMA_OK) st = add_names(r, names, n_columns, err);
    if (st == KARMA_OK)
        *out = r;
    else
        karma_row_reader_free(r);
    return st;
}

void karma_row_reader_free(karma_row_reader *reader) {
    if (!reader) return;
    karma_i_model_stream_clear(&reader->stream);
    karma_i_cell_text_clear(&reader->text);
    karma_i_free(reader);
}

/* --- cells --------------------------------------------------------------------------------------------- */

static karma_status end_cell(karma_row_reader *r, int fits, karma_error *err) {
    if (!fits) return karma_i_fail_memory(err);
    r->n_rows += r->text.n_cells == 0;
    return KARMA_OK;
}

karma_status karma_row_reader_add_missing(karma_row_reader *reader, karma_error *err) {
    return end_cell(reader, karma_i_cell_text_add_missing(&reader->text), err);
}

karma_status karma_row_reader_add_integer(karma_row_reader *reader, int64_t value, karma_error *err) {
    return end_cell(reader, karma_i_cell_text_add_integer(&reader->text, value), err);
}

karma_status karma_row_reader_add_number(karma_row_reader *reader, double value, karma_error *err) {
    return end_cell(reader, karma_i_cell_text_add_real(&reader->text, value), err);
}

karma_status karma_row_reader_add_text(karma_row_reader *reader, const char *text, size_t length, karma_error *err) {
    size_t column = reader->text.n_cells + 1;
    if (memchr(text, '\0', length))
        return karma_i_fail(err, KARMA_ERR_DATA, "the text of column %zu has a NUL byte", column);
    for (size_t i = 0, n; i < length; i += n)
        if ((n = karma_i_utf8_length((const unsigned char *)text + i)) == 0 || n > length - i)
            return karma_i_fail(err, KARMA_ERR_DATA, "the text of column %zu is not UTF-8", column);
    return end_cell(reader, karma_i_cell_text_add_text(&reader->text, text, length), err);
}

/* --- tables -------------------------------------------------------------------------------------------- */

static karma_status read_next(karma_table **out, karma_row_reader *r, karma_error *err) {
    if (!r->stream.tables) {
        karma_i_supply supply = {.read = take_text, .would_wait = has_no_text, .self = r};
        KARMA_TRY(karma_i_table_stream_open_supply(&r->stream.tables, "the row", supply, &r->options,
                                                   &r->stream.expectation, NULL, err));
    }
    return karma_i_table_stream_next(out, r->stream.tables, err);
}

karma_status karma_row_reader_read(karma_table **out, karma_row_reader *reader, karma_error *err) {
    if (reader->text.n_cells) return karma_i_fail(err, KARMA_ERR_DATA, "the last row is not whole");
    if (reader->failed) return karma_i_fail(err, KARMA_ERR_DATA, "an earlier row could not be read");
    *out = NULL;
    if (reader->n_rows == 0) return KARMA_OK;
    karma_status st = read_next(out, reader, err);
    reader->failed = st != KARMA_OK;
    if (st == KARMA_OK && *out) reader->n_rows -= karma_table_n_rows(*out);
    return st;
}

/* --- names --------------------------------------------------------------------------------------------- */

/* Whether the attribute is this part of the same column as `first` ("visit.year"). */
static int is_part(const karma_i_recipe *recipe, size_t attribute, const char *first, karma_i_date_part part) {
    char ending[KARMA_I_PART_NAME_EXTRA];
    size_t length = strlen(first) - strlen(karma_i_date_part_name(ending, "", KARMA_I_PART_YEAR));
    if (attribute >= recipe->n_attributes) return 0;
    const char *name = recipe->columns[attribute].name;
    return strncmp(name, first, length) == 0 && strcmp(name + length, karma_i_date_part_name(ending, "", part)) == 0;
}

/* The number of attributes made from one column: for dates their parts, in order, with or without the
 * hour. */
static size_t count_parts(const karma_i_recipe *recipe, size_t attribute) {
    const char *first = recipe->columns[attribute].name;
    char ending[KARMA_I_PART_NAME_EXTRA];
    size_t length = strlen(first), tail = strlen(karma_i_date_part_name(ending, "", KARMA_I_PART_YEAR)), n = 1;
    if (length <= tail || strcmp(first + length - tail, ending) != 0) return 1;
    if (!is_part(recipe, attribute + n++, first, KARMA_I_PART_MONTH)) return 1;
    if (!is_part(recipe, attribute + n++, first, KARMA_I_PART_WEEKDAY)) return 1;
    if (is_part(recipe, attribute + n, first, KARMA_I_PART_HOUR)) n++;
    return is_part(recipe, attribute + n, first, KARMA_I_PART_DAYS) ? n + 1 : 1;
}

size_t karma_model_n_source_columns(const karma_model *model) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    size_t n = 0;
    for (size_t j = 0; j < recipe->n_attributes; j += count_parts(recipe, j)) n++;
    return n;
}

size_t karma_model_source_column(char *text, size_t size, const karma_model *model, size_t column) {
    const karma_i_recipe *recipe = karma_i_model_recipe(model);
    char ending[KARMA_I_PART_NAME_EXTRA];
    size_t j = 0;
    while (column--) j += count_parts(recipe, j);
    const char *name = recipe->columns[j].name;
    size_t length = strlen(name);
    if (count_parts(recipe, j) > 1) length -= strlen(karma_i_date_part_name(ending, "", KARMA_I_PART_YEAR));
    if (size) (void)snprintf(text, size, "%.*s", (int)length, name);
    return length;
}
